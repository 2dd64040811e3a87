// SPDX-License-Identifier: Zlib
#include "demos/offscreen.h"
#include "demos/png.h"
#include "demos/window.h"

#include <stdlib.h>
#include <string.h>

enum
{
    EXIT_GOOD = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

typedef struct Arguments
{
    const char* scene;
    const char* assets;
    const char* stats;
    const char* csv;
    const char* png; // with %d in it when headless
    long steps, every, seed, threads, width, height, frames;
    bool headless, help, list;
} Arguments;

static void PrintHelp(void)
{
    puts("usage: knap-demo [options] SCENE\n"
         "\n"
         "  --headless       no window: runs the script as fast as it goes\n"
         "  --steps N        of the simulation (headless; the scene's own length)\n"
         "  --stats FILE     the run's statistics as JSON (headless)\n"
         "  --csv FILE       one row a step (headless)\n"
         "  --png PATTERN    pictures, 'frame-%04d.png' (headless), or one of the window\n"
         "  --every N        steps between pictures (10)\n"
         "  --size WxH       of the picture (1280x800)\n"
         "  --frames N       the window closes after so many\n"
         "  --seed N         of what is random in the scene (1)\n"
         "  --threads N      for collision (1)\n"
         "  --assets DIR     of the cooked files (the folder assets beside the program)\n"
         "  --list, --help\n"
         "\n"
         "scenes:");
    for (int i = 0; knScenes[i]; ++i)
    {
        printf("  %-14s %s\n", knScenes[i]->name, knScenes[i]->title);
    }
}

static bool ReadNumber(const char* text, long low, long high, long* value)
{
    char* end;
    long v = strtol(text, &end, 10);
    bool good = end != text && *end == 0 && v >= low && v <= high;
    *value = good ? v : *value;
    return good;
}

static bool ReadSize(const char* text, Arguments* a)
{
    char* end;
    a->width = strtol(text, &end, 10);
    a->height = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
    return *end == 0 && a->width >= 16 && a->height >= 16 && a->width <= 8192 && a->height <= 8192;
}

// 1 for an option with its value, 0 for what is none, -1 when the value is wrong.
static int ReadValue(Arguments* a, const char* name, const char* value)
{
    const struct
    {
        const char* name;
        const char** text;
        long* number;
        long low, high;
    } table[] = {
        {"--stats", &a->stats, NULL, 0, 0},
        {"--csv", &a->csv, NULL, 0, 0},
        {"--png", &a->png, NULL, 0, 0},
        {"--assets", &a->assets, NULL, 0, 0},
        {"--steps", NULL, &a->steps, 1, 10000000},
        {"--every", NULL, &a->every, 1, 1000000},
        {"--seed", NULL, &a->seed, 0, 2147483647},
        {"--threads", NULL, &a->threads, 1, 64},
        {"--frames", NULL, &a->frames, 1, 100000000},
    };
    if (strcmp(name, "--size") == 0)
    {
        return value && ReadSize(value, a) ? 1 : -1;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (strcmp(name, table[i].name) != 0)
        {
            continue;
        }
        if (value && table[i].text)
        {
            *table[i].text = value;
            return 1;
        }
        return value && ReadNumber(value, table[i].low, table[i].high, table[i].number) ? 1 : -1;
    }
    return 0;
}

static bool ReadArguments(Arguments* a, int argc, char** argv)
{
    for (int i = 1; i < argc; ++i)
    {
        int read = ReadValue(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (read == 1)
        {
            ++i;
        }
        else if (read < 0)
        {
            fprintf(stderr, "knap-demo: %s needs another value; see --help\n", argv[i]);
            return false;
        }
        else if (strcmp(argv[i], "--headless") == 0)
        {
            a->headless = true;
        }
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--list") == 0)
        {
            a->help = true;
        }
        else if (argv[i][0] == '-' || a->scene)
        {
            fprintf(stderr, "knap-demo: what is %s? see --help\n", argv[i]);
            return false;
        }
        else
        {
            a->scene = argv[i];
        }
    }
    return true;
}

typedef struct Headless
{
    const Arguments* arguments;
    knStage* stage;
    knOffscreen* offscreen; // only when pictures are asked for
    knView* view;
    knPainter* painter;
    uint8_t* pixels;
    FILE* csv;
    knStats stats;
} Headless;

static knResult OpenHeadless(Headless* h, const knStageDef* def)
{
    const Arguments* a = h->arguments;
    knResult result = knCreateStage(&h->stage, def);
    if (result == kn_success && a->csv)
    {
        h->csv = fopen(a->csv, "w");
        result = h->csv ? kn_success : knFail(kn_errorFile, "%s: cannot be written", a->csv);
    }
    if (result == kn_success && a->png)
    {
        int width = (int)a->width, height = (int)a->height;
        result = knCreateOffscreen(&h->offscreen);
        result = result == kn_success ? knCreateView(&h->view, width, height) : result;
        result = result == kn_success ? knCreatePainter(&h->painter, h->view) : result;
        h->pixels = knAllocate(NULL, (size_t)(3 * a->width * a->height), 1);
        result = result == kn_success && !h->pixels ? kn_errorMemory : result;
    }
    return result;
}

static void CloseHeadless(Headless* h)
{
    const Arguments* a = h->arguments;
    knRelease(NULL, h->pixels, (size_t)(3 * a->width * a->height), 1);
    knDestroyPainter(h->painter);
    knDestroyView(h->view);
    knDestroyOffscreen(h->offscreen);
    knDestroyStage(h->stage);
    if (h->csv)
    {
        fclose(h->csv);
    }
}

// The pattern has one %d, which ReadPattern made sure of.
static knResult TakePicture(Headless* h, long number)
{
    const Arguments* a = h->arguments;
    const knScene* scene = h->stage->scene;
    knCamera camera = {scene->eye, scene->target, 0.7f};
    knOverlays overlays = {0};
    char path[4096];
    knResult result = knPainter_Paint(h->painter, h->stage, &camera, &overlays, false);
    knView_ReadPixels(h->view, h->pixels);
    const char* percent = strchr(a->png, '%');
    if (percent)
    {
        long digits = strtol(percent + 1, NULL, 10);
        const char* rest = strchr(percent, 'd') + 1;
        snprintf(path, sizeof path, "%.*s%0*ld%s", (int)(percent - a->png), a->png, (int)digits,
                 number, rest);
    }
    else
    {
        snprintf(path, sizeof path, "%s", a->png);
    }
    return result == kn_success ? knSavePng(path, h->pixels, (int)a->width, (int)a->height)
                                : result;
}

// Either no % at all, or %d with at most two digits before the d.
static bool PatternIsGood(const char* pattern)
{
    const char* percent = strchr(pattern, '%');
    if (!percent)
    {
        return true;
    }
    size_t digits = strspn(percent + 1, "0123456789");
    return digits <= 2 && percent[1 + digits] == 'd' && !strchr(percent + 1, '%');
}

static knResult RunSteps(Headless* h)
{
    const Arguments* a = h->arguments;
    long steps = a->steps > 0 ? a->steps : (long)h->stage->scene->steps;
    knResult result = kn_success;
    if (h->csv)
    {
        knWriteStatsHeader(h->csv);
    }
    knStats_Begin(&h->stats, h->stage);
    for (long i = 0; result == kn_success && i <= steps; ++i)
    {
        if (h->painter && (i % a->every == 0 || i == steps))
        {
            result = TakePicture(h, i);
        }
        if (result == kn_success && i < steps)
        {
            result = knStage_Step(h->stage);
            knStats_Add(&h->stats, h->stage);
            if (h->csv)
            {
                knWriteStatsRow(h->csv, &h->stats);
            }
        }
    }
    return result;
}

static knResult WriteStats(const Headless* h)
{
    const Arguments* a = h->arguments;
    FILE* file = a->stats ? fopen(a->stats, "w") : stdout;
    if (!file)
    {
        return knFail(kn_errorFile, "%s: cannot be written", a->stats);
    }
    knWriteStatsJson(file, &h->stats, h->stage, (uint64_t)a->seed, (int)a->threads);
    if (file != stdout && fclose(file) != 0)
    {
        return knFail(kn_errorFile, "%s: cannot be written", a->stats);
    }
    return kn_success;
}

static knResult RunHeadless(const Arguments* a, const knStageDef* def)
{
    static Headless headless; // the statistics are large
    headless = (Headless){.arguments = a};
    knResult result = OpenHeadless(&headless, def);
    result = result == kn_success ? RunSteps(&headless) : result;
    result = result == kn_success ? WriteStats(&headless) : result;
    CloseHeadless(&headless);
    return result;
}

static knResult RunScene(const Arguments* a, const knScene* scene)
{
    knTaskPool* pool = NULL;
    knResult result = a->threads > 1 ? knCreateTaskPool(&pool, (int)a->threads, NULL) : kn_success;
    knTaskHooks hooks = {0};
    knStageDef def = {.scene = scene,
                      .assetFolder = a->assets,
                      .seed = (uint64_t)a->seed,
                      .world = knDefaultWorldDef()};
    if (pool)
    {
        hooks = knTaskPool_Hooks(pool);
        def.world.tasks = &hooks;
    }
    if (result == kn_success && a->headless)
    {
        result = RunHeadless(a, &def);
    }
    else if (result == kn_success)
    {
        knWindowDef window = {&def, (int)a->width, (int)a->height, (uint32_t)a->frames, a->png};
        result = knRunWindow(&window);
    }
    knDestroyTaskPool(pool);
    return result;
}

int main(int argc, char** argv)
{
    Arguments a = {
        .assets = "demos/out", .every = 10, .seed = 1, .threads = 1, .width = 1280, .height = 800};
    if (!ReadArguments(&a, argc, argv))
    {
        return EXIT_USAGE;
    }
    if (a.help)
    {
        PrintHelp();
        return EXIT_GOOD;
    }
    const knScene* scene = knFindScene(a.scene ? a.scene : "plates");
    if (!scene || (a.png && !PatternIsGood(a.png)))
    {
        fprintf(stderr, scene ? "knap-demo: --png takes a name with at most one %%04d in it\n"
                              : "knap-demo: there is no such scene; see --list\n");
        return EXIT_USAGE;
    }
    if (RunScene(&a, scene) != kn_success)
    {
        fprintf(stderr, "knap-demo: %s\n", knLastError());
        return EXIT_FAILED;
    }
    return EXIT_GOOD;
}
