// SPDX-License-Identifier: Zlib
#include "demos/headless.h"

#include "demos/offscreen.h"
#include "demos/painter.h"
#include "demos/png.h"
#include "demos/replay.h"
#include "knap/world_save.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PATH 4096

typedef struct Headless
{
    const knOptions* options;
    knStage* stage;
    knOffscreen* offscreen; // only when pictures are asked for
    knView* view;
    knPainter* painter;
    uint8_t* pixels;
    FILE* csv;
    knStats* stats;
} Headless;

// The pattern with the scene's name for %s and the number for %d; the options were checked.
static void FillPattern(char path[MAX_PATH], const char* pattern, const char* scene, long number)
{
    size_t at = 0;
    for (const char* p = pattern; *p && at + 1 < MAX_PATH;)
    {
        size_t digits = *p == '%' ? strspn(p + 1, "0123456789") : 0;
        int written = 1;
        if (*p == '%' && p[1] == 's')
        {
            written = snprintf(path + at, MAX_PATH - at, "%s", scene);
            p += 2;
        }
        else if (*p == '%' && p[1 + digits] == 'd')
        {
            int width = (int)strtol(p + 1, NULL, 10);
            written = snprintf(path + at, MAX_PATH - at, "%0*ld", width, number);
            p += 2 + digits;
        }
        else
        {
            path[at] = *p++;
        }
        at += written > 0 ? (size_t)written : 0;
    }
    path[at < MAX_PATH ? at : MAX_PATH - 1] = 0;
}

static knResult OpenFile(const Headless* h, const char* pattern, FILE** file)
{
    char path[MAX_PATH];
    FillPattern(path, pattern, h->stage->scene->name, 0);
    *file = fopen(path, "w");
    return *file ? kn_success : knFail(kn_errorFile, "%s: cannot be written", path);
}

static knResult OpenPictures(Headless* h)
{
    const knOptions* o = h->options;
    knResult result = knCreateOffscreen(&h->offscreen);
    result = result == kn_success ? knCreateView(&h->view, (int)o->width, (int)o->height) : result;
    result = result == kn_success ? knCreatePainter(&h->painter, h->view) : result;
    h->pixels = knAllocate(NULL, (size_t)(3 * o->width * o->height), 1);
    return result == kn_success && !h->pixels ? kn_errorMemory : result;
}

static knResult Open(Headless* h, const knStageDef* def)
{
    knResult result = knCreateStage(&h->stage, def);
    if (result == kn_success && h->options->csv)
    {
        result = OpenFile(h, h->options->csv, &h->csv);
    }
    if (result == kn_success && h->csv)
    {
        // whole rows, so that a run can be followed and one that is ended leaves what it had
        (void)setvbuf(h->csv, NULL, _IOLBF, 4096);
        knWriteStatsHeader(h->csv);
    }
    return result == kn_success && h->options->png ? OpenPictures(h) : result;
}

static knResult Close(Headless* h)
{
    const knOptions* o = h->options;
    knRelease(NULL, h->pixels, (size_t)(3 * o->width * o->height), 1);
    knDestroyPainter(h->painter);
    knDestroyView(h->view);
    knDestroyOffscreen(h->offscreen);
    knDestroyStage(h->stage);
    return h->csv && fclose(h->csv) != 0 ? knFail(kn_errorFile, "%s: cannot be written", o->csv)
                                         : kn_success;
}

static knResult TakePicture(Headless* h, long number)
{
    const knOptions* o = h->options;
    const knScene* scene = h->stage->scene;
    knCamera camera = {scene->eye, scene->target, 0.7f, 0.0f};
    char path[MAX_PATH];
    knResult result = knPainter_Paint(h->painter, h->stage, &camera, &o->overlays, false);
    knView_ReadPixels(h->view, h->pixels);
    FillPattern(path, o->png, scene->name, number);
    return result == kn_success ? knSavePng(path, h->pixels, (int)o->width, (int)o->height)
                                : result;
}

static knResult RunSteps(Headless* h)
{
    const knOptions* o = h->options;
    long steps = o->steps > 0 ? o->steps : (long)h->stage->scene->steps;
    knResult result = kn_success;
    knStats_Begin(h->stats, h->stage, o->full);
    result = o->record ? knWorld_StartRecording(h->stage->world) : result;
    for (long i = 0; result == kn_success && i <= steps; ++i)
    {
        if (h->painter && (i % o->every == 0 || i == steps))
        {
            result = TakePicture(h, i);
        }
        if (result == kn_success && i < steps)
        {
            result = knStage_Step(h->stage);
            knStats_Add(h->stats, h->stage);
            if (h->csv)
            {
                knWriteStatsRow(h->csv, h->stats);
            }
        }
    }
    knJudge_Rest(&h->stats->judge, h->stage);
    return result;
}

static knResult WriteStats(const Headless* h)
{
    const knOptions* o = h->options;
    FILE* file = stdout;
    knResult result = o->stats ? OpenFile(h, o->stats, &file) : kn_success;
    if (result != kn_success || (!o->stats && o->table))
    {
        return result;
    }
    knWriteStatsJson(file, h->stats, h->stage, (uint64_t)o->seed, (int)o->threads);
    return o->stats && fclose(file) != 0 ? knFail(kn_errorFile, "%s: cannot be written", o->stats)
                                         : kn_success;
}

knResult knRunHeadless(const knOptions* options, const knStageDef* def, knStats* stats)
{
    Headless headless = {.options = options, .stats = stats};
    knResult result = Open(&headless, def);
    result = result == kn_success ? RunSteps(&headless) : result;
    result = result == kn_success ? WriteStats(&headless) : result;
    if (result == kn_success && options->record)
    {
        result = knStage_SaveRecording(headless.stage, options->record);
    }
    knResult closed = Close(&headless);
    return result == kn_success ? closed : result;
}
