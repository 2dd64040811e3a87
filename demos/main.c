// SPDX-License-Identifier: Zlib
#include "demos/headless.h"
#include "demos/replay.h"
#include "demos/table.h"
#include "demos/window.h"

#include <string.h>

enum
{
    EXIT_GOOD = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NO_WINDOW = 3 // demos/run goes on without one
};

static knResult RunScene(knOptions* o, const knScene* scene, knStats* stats)
{
    knStageDef def = {.scene = scene,
                      .assetFolder = o->assets,
                      .seed = (uint64_t)o->seed,
                      .config = knScene_Config(scene)};
    knResult result = o->config ? knLoadConfig(&def.config, o->config) : kn_success;
    o->threads = o->hasThreads ? o->threads : (long)def.config.threads;
    knTaskPool* pool = NULL;
    if (result == kn_success && o->threads > 1)
    {
        result = knCreateTaskPool(&pool, (int)o->threads, NULL);
    }
    knTaskHooks hooks = {0};
    if (pool)
    {
        hooks = knTaskPool_Hooks(pool);
        def.tasks = &hooks;
    }
    if (result == kn_success && o->replay)
    {
        result = knReplayFile(&def, o->replay, stdout);
    }
    else if (result == kn_success && o->headless)
    {
        result = knRunHeadless(o, &def, stats);
    }
    else if (result == kn_success)
    {
        knWindowDef window = {.stage = &def,
                              .width = (int)o->width,
                              .height = (int)o->height,
                              .frameCount = (uint32_t)o->frames,
                              .png = o->png,
                              .overlays = o->overlays,
                              .config = o->config,
                              .state = o->state,
                              .record = o->record};
        result = knRunWindow(&window);
    }
    knDestroyTaskPool(pool);
    return result;
}

static knResult RunAll(knOptions* o)
{
    static knStats stats[KN_MAX_SCENES];
    const knScene* run[KN_MAX_SCENES];
    uint32_t count = 0;
    knResult result = kn_success;
    bool isAll = strcmp(o->scene, "all") == 0;
    for (int i = 0; result == kn_success && knScenes[i]; ++i)
    {
        if (isAll || strcmp(o->scene, knScenes[i]->name) == 0)
        {
            result = RunScene(o, knScenes[i], &stats[count]);
            run[count++] = knScenes[i];
        }
    }
    if (result == kn_success && o->table)
    {
        knPrintTables(stdout, run, stats, count);
    }
    return result;
}

int main(int argc, char** argv)
{
    knOptions o = {.assets = "demos/out",
                   .every = 10,
                   .seed = 1,
                   .threads = 1,
                   .width = 1280,
                   .height = 800,
                   .overlays = knDefaultOverlays()};
    if (!knReadOptions(&o, argc, argv))
    {
        return EXIT_USAGE;
    }
    if (o.help)
    {
        knPrintUsage();
        return EXIT_GOOD;
    }
    o.scene = o.scene ? o.scene : "plates";
    knResult result = RunAll(&o);
    if (result == kn_success)
    {
        return EXIT_GOOD;
    }
    fprintf(stderr, "knap-demo: %s\n", knLastError());
    bool isWindow = !o.headless && !o.replay;
    return isWindow && result == kn_errorProcess ? EXIT_NO_WINDOW : EXIT_FAILED;
}
