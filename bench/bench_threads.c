// SPDX-License-Identifier: Zlib
#include "bench/benches.h"
#include "bench/files.h"
#include "bench/pile_scene.h"

#include <math.h>

// Collision time with one thread and with two, and how the step grows with the number of pieces.

#define STEP_SECONDS 0.005f
#define CELLS        6

typedef struct Sums
{
    double collision, total; // s
} Sums;

static knResult StepWorlds(knPileWorld* const* worlds, int count, uint32_t steps, Sums* sums)
{
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < steps; ++i)
    {
        for (int k = 0; result == kn_success && k < count; ++k)
        {
            knPileStep step;
            result = knPileWorld_Step(worlds[k], STEP_SECONDS, &step);
            sums[k].collision += step.collision;
            sums[k].total += step.total;
        }
    }
    return result;
}

static knResult MakeScene(knPileScene* scene, const knModel* model, uint32_t objectCount)
{
    knPileSceneDef def = {.name = "bunny pieces",
                          .model = model,
                          .cellCount = CELLS,
                          .objectCount = objectCount,
                          .columns = (uint32_t)ceil(cbrt((double)objectCount)),
                          .spacing = {0.3f, 0.3f, 0.3f},
                          .spread = 1.7f,
                          .isTurned = true};
    return knCreatePileScene(scene, &def);
}

// The same pile twice, in turns, by one thread and by two.
static knResult RunPair(knBenchRun* run, const knModel* model)
{
    knPileScene scene;
    knTaskPool* pool = NULL;
    knPileWorld* worlds[2] = {NULL, NULL};
    Sums sums[2] = {{0.0, 0.0}, {0.0, 0.0}};
    knResult result = MakeScene(&scene, model, 27);
    if (result != kn_success)
    {
        return result;
    }
    result = knCreateTaskPool(&pool, 2, NULL);
    knTaskHooks hooks = {0};
    for (int i = 0; result == kn_success && i < 2; ++i)
    {
        hooks = knTaskPool_Hooks(pool);
        knPileWorldDef def = {.method = kn_pileKnap, .tasks = i == 1 ? &hooks : NULL};
        result = knCreatePileWorld(&worlds[i], &def);
        result = result == kn_success ? knPileScene_Fill(&scene, worlds[i]) : result;
    }
    uint32_t steps = run->options.quick ? 120 : 600;
    result = result == kn_success ? StepWorlds(worlds, 2, steps, sums) : result;
    for (int i = 0; i < 2; ++i)
    {
        knDestroyPileWorld(worlds[i]);
    }
    knDestroyTaskPool(pool);
    knDestroyPileScene(&scene);
    if (result != kn_success)
    {
        return result;
    }
    knBenchRow row = knBenchRun_MakeRow(run, "162-fragments/2-threads", "collision", "ms");
    row.ours = 1e3 * sums[1].collision / steps;
    row.peer = 1e3 * sums[0].collision / steps;
    row.ratio = knBetterRatio(row.ours, row.peer, false);
    snprintf(row.peerName, sizeof row.peerName, "1 thread");
    return knBenchRun_AddRow(run, &row);
}

static knResult RunGrowth(knBenchRun* run, const knModel* model, uint32_t objectCount)
{
    knPileScene scene;
    knResult result = MakeScene(&scene, model, objectCount);
    if (result != kn_success)
    {
        return result;
    }
    knPileWorldDef def = {.method = kn_pileKnap};
    knPileWorld* world = NULL;
    Sums sums = {0.0, 0.0};
    uint32_t steps = run->options.quick ? 100 : 400, pieces = knPileScene_PieceCount(&scene);
    result = knCreatePileWorld(&world, &def);
    result = result == kn_success ? knPileScene_Fill(&scene, world) : result;
    result = result == kn_success ? StepWorlds(&world, 1, steps, &sums) : result;
    knDestroyPileWorld(world);
    knDestroyPileScene(&scene);
    if (result != kn_success)
    {
        return result;
    }
    char name[64];
    snprintf(name, sizeof name, "%u-pieces", pieces);
    const double values[2] = {1e3 * sums.collision / steps, 1e3 * sums.total / steps};
    for (int i = 0; result == kn_success && i < 2; ++i)
    {
        knBenchRow row = knBenchRun_MakeRow(run, name, i == 0 ? "collision" : "total", "ms");
        row.ours = values[i];
        snprintf(row.note, sizeof row.note, "%g us a piece", 1e3 * values[i] / pieces);
        result = knBenchRun_AddRow(run, &row);
    }
    return result;
}

static knResult RunThreads(knBenchRun* run)
{
    static const uint32_t counts[] = {8, 27, 85, 170, 334};
    knBenchModel model = {0};
    char path[PATH_MAX];
    knResult result = knFindMesh(path, run->options.meshPath, "bunny.obj");
    result = result == kn_success ? knCookBenchModel(&model, path, 0, 0.0) : result;
    result = result == kn_success ? RunPair(run, model.model) : result;
    for (size_t i = 0; result == kn_success && i < (run->options.quick ? 3u : 5u); ++i)
    {
        result = RunGrowth(run, model.model, counts[i]);
    }
    knDestroyBenchModel(&model);
    return result;
}

const knBench knBenchThreads = {"threads", "collision on two threads, and growth with the pieces",
                                RunThreads};
