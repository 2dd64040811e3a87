// SPDX-License-Identifier: Zlib
#include "demos/options.h"

#include "demos/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void knPrintUsage(void)
{
    puts("usage: knap-demo [options] SCENE | all\n"
         "\n"
         "  --headless       no window: runs the script as fast as it goes\n"
         "  --config FILE    a knap.ini over the scene's own values; a window reads it again\n"
         "                   whenever it changes\n"
         "  --steps N        of the simulation (headless; the scene's own length)\n"
         "  --stats FILE     the run's statistics as JSON (headless)\n"
         "  --csv FILE       one row a step (headless)\n"
         "  --table          the paper's Tables 2 and 3, its figures beside ours (headless)\n"
         "  --full           counts all colliding points beside those that were selected\n"
         "  --png PATTERN    pictures, 'frame-%04d.png' (headless), or one of the window\n"
         "  --every N        steps between pictures (10)\n"
         "  --size WxH       of the picture (1280x800)\n"
         "  --show LIST      overlays in pictures or window: contacts,cracks,spheres,field,\n"
         "                   wireframe,xray\n"
         "  --frames N       the window closes after so many\n"
         "  --record FILE    keeps what script and user do (in a window since the last reset)\n"
         "  --replay FILE    goes through it again and compares every step, to the bit\n"
         "  --state FILE     what the user did in the window so far, as JSON\n"
         "  --seed N         of what is random in the scene (1)\n"
         "  --threads N      for collision (the config's, 1)\n"
         "  --assets DIR     of the cooked files (demos/out)\n"
         "  --help           this text\n"
         "\n"
         "With 'all', FILE and PATTERN of --stats, --csv and --png need a %s for the scene.\n"
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

// Names with commas between them.
static bool ReadOverlays(const char* text, knOverlays* o)
{
    const struct
    {
        const char* name;
        bool* value;
    } table[] = {{"contacts", &o->contacts}, {"cracks", &o->cracks},
                 {"spheres", &o->spheres},   {"field", &o->field},
                 {"xray", &o->isXray},       {"wireframe", &o->isWireframe}};
    for (const char* at = text;; ++at)
    {
        size_t length = strcspn(at, ","), i = 0;
        size_t count = sizeof table / sizeof table[0];
        while (i < count &&
               (strlen(table[i].name) != length || strncmp(table[i].name, at, length) != 0))
        {
            ++i;
        }
        if (i == count)
        {
            return false;
        }
        *table[i].value = true;
        at += length;
        if (*at == 0)
        {
            return true;
        }
    }
}

static bool ReadSize(const char* text, knOptions* o)
{
    char* end;
    o->width = strtol(text, &end, 10);
    o->height = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
    return *end == 0 && o->width >= 16 && o->height >= 16 && o->width <= 8192 && o->height <= 8192;
}

static int Refuse(const char* name, const char* what)
{
    fprintf(stderr, "knap-demo: %s takes %s; see --help\n", name, what);
    return -1;
}

// 1 for an option with its value, 0 for what is none, -1 and a sentence when the value is wrong.
static int ReadValue(knOptions* o, const char* name, const char* value)
{
    const struct
    {
        const char* name;
        const char** text;
        long* number;
        long low, high;
    } table[] = {
        {"--stats", &o->stats, NULL, 0, 0},
        {"--csv", &o->csv, NULL, 0, 0},
        {"--png", &o->png, NULL, 0, 0},
        {"--assets", &o->assets, NULL, 0, 0},
        {"--config", &o->config, NULL, 0, 0},
        {"--state", &o->state, NULL, 0, 0},
        {"--record", &o->record, NULL, 0, 0},
        {"--replay", &o->replay, NULL, 0, 0},
        {"--steps", NULL, &o->steps, 1, 10000000},
        {"--every", NULL, &o->every, 1, 1000000},
        {"--seed", NULL, &o->seed, 0, 2147483647},
        {"--threads", NULL, &o->threads, 1, 64},
        {"--frames", NULL, &o->frames, 1, 100000000},
    };
    if (strcmp(name, "--size") == 0)
    {
        return value && ReadSize(value, o) ? 1 : Refuse(name, "WIDTHxHEIGHT, 16 to 8192");
    }
    if (strcmp(name, "--show") == 0)
    {
        return value && ReadOverlays(value, &o->overlays) ? 1 : Refuse(name, "names of overlays");
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (strcmp(name, table[i].name) != 0)
        {
            continue;
        }
        if (table[i].text)
        {
            *table[i].text = value;
            return value ? 1 : Refuse(name, "a name");
        }
        char range[96];
        snprintf(range, sizeof range, "a whole number from %ld to %ld", table[i].low,
                 table[i].high);
        bool good = value && ReadNumber(value, table[i].low, table[i].high, table[i].number);
        return good ? 1 : Refuse(name, range);
    }
    return 0;
}

static bool ReadSwitch(knOptions* o, const char* name)
{
    const struct
    {
        const char* name;
        bool* value;
    } table[] = {{"--headless", &o->headless},
                 {"--table", &o->table},
                 {"--full", &o->full},
                 {"--list", &o->help},
                 {"--help", &o->help}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (strcmp(name, table[i].name) == 0)
        {
            *table[i].value = true;
            return true;
        }
    }
    return false;
}

// At most one %d with up to two digits before the d, and with `isAll` exactly one %s.
static bool PatternIsGood(const char* pattern, bool takesNumber, bool isAll)
{
    int numbers = 0, names = 0;
    for (const char* p = strchr(pattern, '%'); p; p = strchr(p + 1, '%'))
    {
        size_t digits = strspn(p + 1, "0123456789");
        bool isNumber = digits <= 2 && p[1 + digits] == 'd';
        bool isName = p[1] == 's';
        if (!isNumber && !isName)
        {
            return false;
        }
        numbers += isNumber;
        names += isName;
    }
    return numbers <= (takesNumber ? 1 : 0) && (isAll ? names == 1 : names <= 1);
}

// What only one kind of run has is refused in the other, rather than left out in silence.
static bool CheckKind(const knOptions* o)
{
    const struct
    {
        const char* name;
        bool given, isHeadless;
    } table[] = {{"--steps", o->steps > 0, true}, {"--stats", o->stats, true},
                 {"--csv", o->csv, true},         {"--table", o->table, true},
                 {"--full", o->full, true},       {"--frames", o->frames > 0, false},
                 {"--state", o->state, false}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    {
        if (table[i].given && table[i].isHeadless != o->headless)
        {
            fprintf(stderr, "knap-demo: %s is for runs %s\n", table[i].name,
                    table[i].isHeadless ? "with --headless" : "in a window");
            return false;
        }
    }
    return true;
}

static bool CheckPatterns(const knOptions* o)
{
    bool isAll = o->scene && strcmp(o->scene, "all") == 0;
    const char* const patterns[3] = {o->stats, o->csv, o->png};
    static const char* const names[3] = {"--stats", "--csv", "--png"};
    for (int i = 0; i < 3; ++i)
    {
        if (patterns[i] && !PatternIsGood(patterns[i], i == 2, isAll))
        {
            fprintf(stderr, "knap-demo: %s takes a name%s%s\n", names[i],
                    i == 2 ? " with at most one %04d in it" : "",
                    isAll ? ", and of all scenes one %s" : "");
            return false;
        }
    }
    if (isAll && (!o->headless || o->record || o->replay))
    {
        fprintf(stderr, "knap-demo: all scenes run --headless, and are not recorded\n");
        return false;
    }
    if (!isAll && o->scene && !knFindScene(o->scene))
    {
        fprintf(stderr, "knap-demo: there is no scene '%s'; see --help\n", o->scene);
        return false;
    }
    return true;
}

bool knReadOptions(knOptions* o, int argc, char** argv)
{
    long standardThreads = o->threads;
    o->threads = 0;
    for (int i = 1; i < argc; ++i)
    {
        int read = ReadValue(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (read == 1)
        {
            ++i;
        }
        else if (read < 0)
        {
            return false;
        }
        else if (ReadSwitch(o, argv[i]))
        {
            continue;
        }
        else if (argv[i][0] == '-' || o->scene)
        {
            fprintf(stderr, "knap-demo: what is %s? see --help\n", argv[i]);
            return false;
        }
        else
        {
            o->scene = argv[i];
        }
    }
    o->hasThreads = o->threads > 0;
    o->threads = o->hasThreads ? o->threads : standardThreads;
    return CheckKind(o) && CheckPatterns(o);
}
