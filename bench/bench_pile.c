// SPDX-License-Identifier: Zlib
#include "bench/benches.h"
#include "bench/files.h"
#include "bench/pile_scene.h"

#include <math.h>
#include <string.h>

// Piles of bunnies and plates, whole and in pieces, by Knap and by what a game has without it. Both
// worlds take their steps in turns, so that whoever else uses the machine slows both.

#define STEP_SECONDS  0.005f
#define SHAPE_SECONDS 60.0
#define DEPTH_EVERY   50

static const char* const methodNames[kn_pileMethodCount] = {"knap", "gimpact", "hull", "hull42",
                                                            "decomposition"};

// What one method did in a run.
typedef struct Totals
{
    double collision, processor, total, contacts; // sums
    double collisionWorst, processorWorst;
    double depth; // of the samples in the last third
    uint32_t depthCount;
    double shapeSeconds;
} Totals;

typedef struct Match
{
    knPileScene* scene;
    knPileWorld* worlds[2];
    Totals totals[2];
    knTransform* transforms;
    uint32_t stepCount;
} Match;

static knResult SampleDepth(Match* m, int side)
{
    double depth;
    knPileWorld_Transforms(m->worlds[side], m->transforms);
    knResult result = knPileScene_Penetration(m->scene, m->transforms, &depth);
    m->totals[side].depth += result == kn_success ? depth : 0.0;
    m->totals[side].depthCount += 1;
    return result;
}

static knResult StepBoth(Match* m, uint32_t index)
{
    knResult result = kn_success;
    for (int side = 0; result == kn_success && side < 2; ++side)
    {
        Totals* t = &m->totals[side];
        knPileStep step;
        result = knPileWorld_Step(m->worlds[side], STEP_SECONDS, &step);
        t->collision += step.collision;
        t->collisionWorst = fmax(t->collisionWorst, step.collision);
        t->processor += step.processor;
        t->processorWorst = fmax(t->processorWorst, step.processor);
        t->total += step.total;
        t->contacts += step.contacts;
        if (result == kn_success && 3 * index >= 2 * m->stepCount && index % DEPTH_EVERY == 0)
        {
            result = SampleDepth(m, side);
        }
    }
    return result;
}

static knResult RunMatch(Match* m, knPileMethod peer)
{
    knPileWorldDef defs[2] = {{.method = kn_pileKnap},
                              {.method = peer, .shapeSeconds = SHAPE_SECONDS}};
    knResult result = kn_success;
    for (int side = 0; result == kn_success && side < 2; ++side)
    {
        result = knCreatePileWorld(&m->worlds[side], &defs[side]);
        result = result == kn_success ? knPileScene_Fill(m->scene, m->worlds[side]) : result;
    }
    for (uint32_t i = 0; result == kn_success && i < m->stepCount; ++i)
    {
        result = StepBoth(m, i);
    }
    for (int side = 0; side < 2; ++side)
    {
        m->totals[side].shapeSeconds =
            m->worlds[side] ? knPileWorld_ShapeSeconds(m->worlds[side]) : (double)NAN;
        knDestroyPileWorld(m->worlds[side]);
        m->worlds[side] = NULL;
    }
    return result;
}

typedef struct Metric
{
    const char* name;
    const char* unit;
    double ours, peer;
    bool isCost; // less is better; otherwise the row has no ratio
} Metric;

static knResult AddRows(knBenchRun* run, const Match* m, knPileMethod peer, double rebuild)
{
    const Totals* a = &m->totals[0];
    const Totals* b = &m->totals[1];
    double steps = (double)m->stepCount;
    const Metric metrics[] = {
        {"collision", "ms", 1e3 * a->collision / steps, 1e3 * b->collision / steps, true},
        {"collision-worst", "ms", 1e3 * a->collisionWorst, 1e3 * b->collisionWorst, true},
        {"processor", "ms", 1e3 * a->processor / steps, 1e3 * b->processor / steps, true},
        {"processor-worst", "ms", 1e3 * a->processorWorst, 1e3 * b->processorWorst, true},
        {"total", "ms", 1e3 * a->total / steps, 1e3 * b->total / steps, true},
        {"contacts", "", a->contacts / steps, b->contacts / steps, false},
        {"penetration", "mm", 1e3 * a->depth / a->depthCount, 1e3 * b->depth / b->depthCount, true},
        {"rebuild", "ms", 1e3 * rebuild, 1e3 * b->shapeSeconds, true},
    };
    char name[64];
    snprintf(name, sizeof name, "%s/%s", m->scene->name, methodNames[peer]);
    knResult result = kn_success;
    for (size_t i = 0; result == kn_success && i < sizeof metrics / sizeof metrics[0]; ++i)
    {
        knBenchRow row = knBenchRun_MakeRow(run, name, metrics[i].name, metrics[i].unit);
        row.ours = metrics[i].ours;
        row.peer = metrics[i].peer;
        row.ratio = metrics[i].isCost ? knBetterRatio(row.ours, row.peer, false) : (double)NAN;
        snprintf(row.peerName, sizeof row.peerName, "%s", methodNames[peer]);
        snprintf(row.note, sizeof row.note, "%u steps of %g ms, averages", m->stepCount,
                 1e3 * (double)STEP_SECONDS);
        result = knBenchRun_AddRow(run, &row);
    }
    return result;
}

static knResult TimeFollow(const knPileScene* scene, knArena* arena, double* seconds)
{
    knFamilyDef def = knDefaultFamilyDef();
    def.model = scene->kind.model;
    knFamily* family;
    knResult result = knCreateFamily(&family, &def, NULL);
    if (result != kn_success)
    {
        return result;
    }
    knSplitResult split;
    knArena_Reset(arena);
    result = knFragmentSet_Split(knFamily_Cutting(family), 0, &scene->kind.split, arena, &split);
    double start = knSecondsNow();
    result = result == kn_success ? knFamily_Follow(family, &split.delta) : result;
    *seconds = fmin(*seconds, knSecondsNow() - start);
    knDestroyFamily(family);
    return result;
}

// What a break costs Knap's shapes: field, forest and edges, best of three.
static knResult MeasureRebuild(const knPileScene* scene, double* seconds)
{
    knArena arena;
    knResult result = knCreateArena(&arena, (size_t)64 << 20, NULL);
    *seconds = INFINITY;
    for (int i = 0; result == kn_success && i < 3; ++i)
    {
        result = TimeFollow(scene, &arena, seconds);
    }
    knDestroyArena(&arena);
    return result;
}

static bool IsWanted(const knBenchRun* run, const char* scene, knPileMethod peer)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s", scene, methodNames[peer]);
    return !run->options.caseName || strstr(name, run->options.caseName);
}

static knResult RunScene(knBenchRun* run, const knPileSceneDef* def)
{
    bool wanted[kn_pileMethodCount], any = false;
    for (knPileMethod peer = kn_pileGimpact; peer < kn_pileMethodCount; ++peer)
    {
        wanted[peer] = IsWanted(run, def->name, peer);
        any = any || wanted[peer];
    }
    if (!any)
    {
        return kn_success;
    }
    knPileScene scene;
    knResult result = knCreatePileScene(&scene, def);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t count = knPileScene_PieceCount(&scene);
    knTransform* transforms = knAllocate(NULL, count, sizeof(knTransform));
    double rebuild = NAN;
    result = transforms ? kn_success : kn_errorMemory;
    if (result == kn_success && scene.kind.isBroken)
    {
        result = MeasureRebuild(&scene, &rebuild);
    }
    for (knPileMethod peer = kn_pileGimpact; result == kn_success && peer < kn_pileMethodCount;
         ++peer)
    {
        if (!wanted[peer])
        {
            continue;
        }
        Match match = {.scene = &scene, .transforms = transforms};
        match.stepCount = run->options.quick ? 120 : 600;
        if (RunMatch(&match, peer) == kn_success)
        {
            result = AddRows(run, &match, peer, rebuild);
        }
        else
        {
            char what[96];
            snprintf(what, sizeof what, "%s/%s", def->name, methodNames[peer]);
            knBenchRun_Skip(run, what, knLastError());
        }
    }
    knRelease(NULL, transforms, count, sizeof(knTransform));
    knDestroyPileScene(&scene);
    return result;
}

static knResult RunPile(knBenchRun* run)
{
    knBenchModel models[2] = {{0}};
    const char* names[2] = {"bunny.obj", "plate.obj"};
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < 2; ++i)
    {
        char path[PATH_MAX];
        result = knFindMesh(path, run->options.meshPath, names[i]);
        result = result == kn_success ? knCookBenchModel(&models[i], path, 0, 0.0) : result;
    }
    const knPileSceneDef defs[] = {
        {.name = "27-bunnies",
         .model = models[0].model,
         .cellCount = 1,
         .objectCount = 27,
         .columns = 3,
         .spacing = {0.2f, 0.2f, 0.2f},
         .spread = 1.0f,
         .isTurned = true},
        {.name = "162-fragments",
         .model = models[0].model,
         .cellCount = 6,
         .objectCount = 27,
         .columns = 3,
         .spacing = {0.3f, 0.3f, 0.3f},
         .spread = 1.7f,
         .isTurned = true},
        {.name = "4-plates",
         .model = models[1].model,
         .cellCount = 1,
         .objectCount = 4,
         .columns = 1,
         .spacing = {0.0f, 0.06f, 0.0f},
         .spread = 1.0f,
         .ballCount = 6,
         .ballRadius = 0.02f},
        {.name = "44-plate-fragments",
         .model = models[1].model,
         .cellCount = 11,
         .objectCount = 4,
         .columns = 1,
         .spacing = {0.0f, 0.06f, 0.0f},
         .spread = 1.3f,
         .ballCount = 6,
         .ballRadius = 0.02f},
    };
    for (size_t i = 0; result == kn_success && i < sizeof defs / sizeof defs[0]; ++i)
    {
        result = RunScene(run, &defs[i]);
    }
    for (int i = 0; i < 2; ++i)
    {
        knDestroyBenchModel(&models[i]);
    }
    return result;
}

const knBench knBenchPile = {"pile", "piles of objects and pieces beside Bullet's own shapes",
                             RunPile};
