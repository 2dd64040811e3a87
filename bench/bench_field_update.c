// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // the clock of the thread

#include "bench/benches.h"
#include "bench/field_scene.h"
#include "bench/files.h"

#include <math.h>
#include <string.h>
#include <time.h>

// Figure 9 and section 6 of the paper: what a break costs when field and tree are updated, or made
// anew, and what queries then cost.

#define PIECES       14 // as the paper's piggy bank
#define POSES        200
#define SEED         2012
#define BREAKS       100
#define BREAK_STAGES 3
#define ROUNDS       11 // of rows without a peer

typedef struct Bench
{
    knBenchRun* run;
    char folder[PATH_MAX]; // of the meshes
    knBenchModel brick;
    knFieldScene scene;
    const char* caseName;
    char note[200];
} Bench;

static knResult CutFresh(void* context)
{
    Bench* b = context;
    knResult result = knBreakage_Restore(&b->scene.fresh);
    return result == kn_success ? knBreakage_CutCells(&b->scene.fresh) : result;
}

static knResult CutAndUpdateField(void* context)
{
    Bench* b = context;
    knResult result = CutFresh(context);
    return result == kn_success ? knBreakage_UpdateField(&b->scene.fresh) : result;
}

static knResult CutAndUpdate(void* context)
{
    Bench* b = context;
    knResult result = CutAndUpdateField(context);
    return result == kn_success ? knBreakage_UpdateForest(&b->scene.fresh) : result;
}

static knResult RestoreFresh(void* context)
{
    return knBreakage_Restore(&((Bench*)context)->scene.fresh);
}

static knResult CutCells(void* context)
{
    return knBreakage_CutCells(&((Bench*)context)->scene.fresh);
}

static knResult UpdateField(void* context)
{
    return knBreakage_UpdateField(&((Bench*)context)->scene.fresh);
}

static knResult UpdateForest(void* context)
{
    return knBreakage_UpdateForest(&((Bench*)context)->scene.fresh);
}

static knResult FindEdges(void* context)
{
    return knBreakage_FindEdges(&((Bench*)context)->scene.fresh);
}

static knResult UpdateBoth(void* context)
{
    knResult result = UpdateField(context);
    return result == kn_success ? UpdateForest(context) : result;
}

static knResult RecomputeFields(void* context)
{
    return knFieldScene_RecomputeFields(&((Bench*)context)->scene);
}

// From the updated forest, which the peer gets for nothing; nor is it asked to swap the trees in.
static knResult RebuildTrees(void* context)
{
    return knBreakage_RebuildTrees(&((Bench*)context)->scene.kept, false);
}

static knResult RecomputeBoth(void* context)
{
    knResult result = RecomputeFields(context);
    return result == kn_success ? RebuildTrees(context) : result;
}

static const knSceneQuery queryA = {.edges = true};
static const knSceneQuery queryC = {.edges = true, .rebuiltTrees = true};
static const knSceneQuery pointsA = {.edges = false};
static const knSceneQuery pointsB = {.recomputedFields = true};
static const knSceneQuery pointsD = {.recomputedFields = true, .rebuiltTrees = true};

static knResult QueryA(void* context)
{
    return knFieldScene_Query(&((Bench*)context)->scene, queryA, NULL);
}

static knResult QueryC(void* context)
{
    return knFieldScene_Query(&((Bench*)context)->scene, queryC, NULL);
}

static knResult PointsA(void* context)
{
    return knFieldScene_Query(&((Bench*)context)->scene, pointsA, NULL);
}

static knResult PointsB(void* context)
{
    return knFieldScene_Query(&((Bench*)context)->scene, pointsB, NULL);
}

static knResult PointsD(void* context)
{
    return knFieldScene_Query(&((Bench*)context)->scene, pointsD, NULL);
}

// One line of a table of measurements.
typedef struct Step
{
    const char* metric;
    knBenchFcn* beforeRun;
    knBenchFcn* ours;
    knBenchFcn* peer;
    const char* peerName;
} Step;

static knResult Measure(Bench* b, const Step* step, double paper)
{
    knMeasureDef def = knDefaultMeasureDef(b->run);
    def.caseName = b->caseName;
    def.metric = step->metric;
    def.beforeRun = step->beforeRun;
    def.ours = step->ours;
    def.peer = step->peer;
    def.peerName = step->peerName;
    def.context = b;
    def.note = b->note;
    def.repetitions = b->run->options.quick ? 5 : 11;
    def.minSeconds = 0.0;
    def.threadTime = true; // all of it runs on this one
    size_t before = b->run->rowCount;
    knResult result = knBenchRun_Measure(b->run, &def);
    if (result == kn_success && b->run->rowCount > before)
    {
        b->run->rows[before].paper = paper;
    }
    return result;
}

static knResult AddNumber(Bench* b, const char* metric, const char* unit, double ours, double peer,
                          const char* peerName)
{
    knBenchRow row = knBenchRun_MakeRow(b->run, b->caseName, metric, unit);
    row.ours = ours;
    row.peer = peer;
    row.ratio = knBetterRatio(ours, peer, false);
    snprintf(row.peerName, sizeof row.peerName, "%s", peerName);
    snprintf(row.note, sizeof row.note, "%s", b->note);
    return knBenchRun_AddRow(b->run, &row);
}

static knResult CountVisits(Bench* b, knSceneQuery ours, knSceneQuery peer, const char* metric,
                            const char* peerName)
{
    knQueryCounters a = {0}, p = {0};
    knResult result = knFieldScene_Query(&b->scene, ours, &a);
    result = result == kn_success ? knFieldScene_Query(&b->scene, peer, &p) : result;
    snprintf(b->note, sizeof b->note, "all poses; contacts kept: %u, peer %u", (unsigned)a.kept,
             (unsigned)p.kept);
    return result == kn_success
               ? AddNumber(b, metric, "1", (double)a.visits, (double)p.visits, peerName)
               : result;
}

// The whole update, and its parts when `parts`.
static knResult MeasureUpdates(Bench* b, bool parts, double paper)
{
    static const Step steps[] = {
        {"update", CutFresh, UpdateBoth, RecomputeBoth, "field and trees made anew (d)"},
        {"update field", CutFresh, UpdateField, RecomputeFields, "exact fields made anew (b)"},
        {"update tree", CutAndUpdateField, UpdateForest, RebuildTrees, "trees rebuilt (c)"},
        {"edges", CutAndUpdate, FindEdges, NULL, NULL},
        {"cut", RestoreFresh, CutCells, NULL, NULL},
    };
    knGridCheck check = knFieldScene_CheckFields(&b->scene);
    if (check.meanError > 0.05 || check.otherSigns > 0.01)
    {
        return knFail(kn_errorMesh,
                      "%s: the peer's fields are wrong: mean error %g cells, %g of "
                      "the signs are not ours",
                      b->caseName, check.meanError, check.otherSigns);
    }
    uint32_t triangles = 0;
    size_t samples = 0;
    for (uint32_t i = 0; i < b->scene.pieceCount; ++i)
    {
        const uint32_t* size = b->scene.grids[i].size;
        triangles += b->scene.surfaces[i].triangleCount;
        samples += (size_t)size[0] * size[1] * size[2];
    }
    snprintf(b->note, sizeof b->note,
             "%u pieces, %u triangles, %zu samples; peer off by %.3f cells, %.2f at worst",
             b->scene.pieceCount, triangles, samples, check.meanError, check.worstError);
    size_t count = parts ? sizeof steps / sizeof steps[0] : 1;
    knResult result = kn_success;
    for (size_t i = 0; result == kn_success && i < count; ++i)
    {
        result = Measure(b, &steps[i], i == 0 ? paper : (double)NAN);
    }
    return result;
}

static knResult MeasureQueries(Bench* b)
{
    static const Step steps[] = {
        {"query", NULL, QueryA, QueryC, "field updated, trees rebuilt (c)"},
        {"query points b", NULL, PointsA, PointsB, "fields made anew, tree updated (b)"},
        {"query points d", NULL, PointsA, PointsD, "field and trees made anew (d)"},
    };
    knResult result = knFieldScene_PosePairs(&b->scene, POSES, SEED);
    for (size_t i = 0; result == kn_success && i < sizeof steps / sizeof steps[0]; ++i)
    {
        snprintf(b->note, sizeof b->note, "%u poses near contact%s", b->scene.poseCount,
                 i > 0 ? "; without edges, which grids do not know" : "");
        result = Measure(b, &steps[i], (double)NAN);
    }
    result = result == kn_success ? CountVisits(b, queryA, queryC, "visited", steps[0].peerName)
                                  : result;
    result = result == kn_success ? CountVisits(b, pointsA, pointsB, "visited b", steps[1].peerName)
                                  : result;
    return result == kn_success ? CountVisits(b, pointsA, pointsD, "visited d", steps[2].peerName)
                                : result;
}

static knResult AddBytes(Bench* b, const knBenchModel* model)
{
    size_t broken = knFamily_Bytes(b->scene.kept.family);
    size_t grids = 0;
    for (uint32_t i = 0; i < b->scene.pieceCount; ++i)
    {
        const uint32_t* size = b->scene.grids[i].size;
        grids += (size_t)size[0] * size[1] * size[2] * sizeof(float);
    }
    knResult result = knBreakage_Restore(&b->scene.fresh);
    if (result != kn_success)
    {
        return result;
    }
    snprintf(b->note, sizeof b->note, "%u nodes", knAsset_TetMesh(model->asset)->nodeCount);
    double none = (double)NAN;
    result = AddNumber(b, "bytes asset", "B", (double)model->size, none, "");
    double whole = (double)knFamily_Bytes(b->scene.fresh.family);
    result = result == kn_success ? AddNumber(b, "bytes whole", "B", whole, none, "") : result;
    return result == kn_success ? AddNumber(b, "bytes broken", "B", (double)broken, (double)grids,
                                            "grids of all pieces alone")
                                : result;
}

static knResult BenchObject(Bench* b, const char* name, const knBenchModel* model)
{
    b->caseName = name;
    knResult result = knCreateFieldScene(&b->scene, model->model, b->brick.model, PIECES, SEED);
    if (result == kn_success)
    {
        result = MeasureUpdates(b, true, (double)NAN);
        result = result == kn_success ? MeasureQueries(b) : result;
        result = result == kn_success ? AddBytes(b, model) : result;
        knDestroyFieldScene(&b->scene);
    }
    return result;
}

static knResult CookDemo(const Bench* b, const char* name, uint32_t targetTets, knBenchModel* model)
{
    char file[64], path[PATH_MAX];
    snprintf(file, sizeof file, "%s.obj", name);
    knResult result = knJoinPath(path, b->folder, file);
    return result == kn_success ? knCookBenchModel(model, path, targetTets, 0.0) : result;
}

// Section 6: the sphere of Figure 8. The paper's numbers are of another machine.
static const struct
{
    const char* name;
    uint32_t rows; // 8 rows^2 triangles
    double maxEdge;
    double update, query;
} spheres[] = {
    {"sphere 2.5K, 4K inside", 18, 0.0183, 1.54, 1.16},
    {"sphere 10K, 4K inside", 35, 0.018, 1.8, 1.37},
    {"sphere 2.5K, 435 inside", 18, 0.0355, 0.46, 0.68},
};

static knResult BenchSphere(Bench* b, size_t index, const char* path)
{
    knBenchModel model = {0};
    knResult result = knWriteSphereObj(path, spheres[index].rows);
    result =
        result == kn_success ? knCookBenchModel(&model, path, 0, spheres[index].maxEdge) : result;
    if (result != kn_success)
    {
        return result;
    }
    b->caseName = spheres[index].name;
    result = knCreateFieldScene(&b->scene, model.model, b->brick.model, PIECES, SEED);
    if (result == kn_success)
    {
        const knTetMesh* mesh = knAsset_TetMesh(model.asset);
        result = MeasureUpdates(b, false, spheres[index].update);
        result = result == kn_success ? knFieldScene_PoseNeighbors(&b->scene, SEED) : result;
        // a closed surface of genus 0
        uint32_t inside = mesh->nodeCount - (mesh->boundaryFaceCount / 2 + 2);
        snprintf(b->note, sizeof b->note, "%u triangles, %u points inside; all %u neighbours once",
                 mesh->boundaryFaceCount, inside, b->scene.poseCount);
        const Step step = {"query", NULL, QueryA, QueryC, "field updated, trees rebuilt (c)"};
        result = result == kn_success ? Measure(b, &step, spheres[index].query) : result;
        knDestroyFieldScene(&b->scene);
    }
    knDestroyBenchModel(&model);
    return result;
}

static knResult BenchSpheres(Bench* b)
{
    char folder[PATH_MAX], path[PATH_MAX];
    knResult result = knMakeScratchFolder(folder);
    if (result != kn_success)
    {
        return result;
    }
    result = knJoinPath(path, folder, "sphere.obj");
    for (size_t i = 0; result == kn_success && i < sizeof spheres / sizeof spheres[0]; ++i)
    {
        result = BenchSphere(b, i, path);
    }
    knRemoveScratchFolder(folder);
    return result;
}

// Rows without a peer are compared with rows taken a minute away, so other programs must not be in
// them: the time of the processor, which is that of the work, as it is on one thread.
static double ProcessorSeconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static knResult TimeUpdate(knBreakage* breakage, double* seconds)
{
    double begin = ProcessorSeconds();
    knResult result = knBreakage_UpdateField(breakage);
    result = result == kn_success ? knBreakage_UpdateForest(breakage) : result;
    *seconds = ProcessorSeconds() - begin;
    return result;
}

static knResult AddTimes(Bench* b, const char* name, double times[ROUNDS])
{
    knBenchRow row = knBenchRun_MakeRow(b->run, name, "update", "ms");
    row.worst = 1e3 * knWorst(times, ROUNDS);
    row.ours = 1e3 * knMedian(times, ROUNDS);
    snprintf(row.note, sizeof row.note, "%s", b->note);
    return knBenchRun_AddRow(b->run, &row);
}

// Ours alone, on a break into so many cells.
static knResult MeasureGrowth(Bench* b, const knBenchModel* model, uint32_t pieces)
{
    double times[ROUNDS], unused;
    knBreakage* fresh = &b->scene.fresh;
    knResult result = knCreateBreakage(fresh, model->model, pieces, SEED);
    for (int i = -1; result == kn_success && i < ROUNDS; ++i)
    {
        result = CutFresh(b);
        result = result == kn_success ? TimeUpdate(fresh, i < 0 ? &unused : &times[i]) : result;
    }
    if (result == kn_success)
    {
        char name[64];
        snprintf(name, sizeof name, "bunny of %u points, %u cells",
                 knAsset_TetMesh(model->asset)->nodeCount, pieces);
        snprintf(b->note, sizeof b->note, "processor time; %u pieces, %u cut points",
                 fresh->split.delta.fragmentCount, fresh->split.delta.pointCount);
        result = AddTimes(b, name, times);
    }
    knDestroyBreakage(fresh);
    return result;
}

static knResult TimeBreaks(knBreakage* breakage, uint64_t seed, double seconds[BREAKS],
                           uint32_t nodes[BREAKS])
{
    knRandom random = knMakeRandom(seed);
    knResult result = knBreakage_Restore(breakage);
    for (int i = 0; result == kn_success && i < BREAKS; ++i)
    {
        result = knBreakage_CutHeaviest(breakage, &random);
        nodes[i] = result == kn_success ? breakage->split.delta.splitNodeCount : 0;
        result = result == kn_success ? TimeUpdate(breakage, &seconds[i]) : result;
        result = result == kn_success ? knBreakage_FindEdges(breakage) : result;
    }
    return result;
}

// The first, tenth and hundredth break of the heaviest piece.
static knResult MeasureBreaks(Bench* b, const knBenchModel* model)
{
    static const int stages[BREAK_STAGES] = {1, 10, 100};
    double times[BREAK_STAGES][ROUNDS];
    uint32_t nodes[BREAKS] = {0};
    knBreakage breakage;
    knResult result = knCreateBreakage(&breakage, model->model, 1, SEED);
    for (int i = -1; result == kn_success && i < ROUNDS; ++i)
    {
        double seconds[BREAKS] = {0.0};
        result = TimeBreaks(&breakage, SEED, seconds, nodes);
        for (int k = 0; i >= 0 && k < BREAK_STAGES; ++k)
        {
            times[k][i] = seconds[stages[k] - 1];
        }
    }
    for (int k = 0; result == kn_success && k < BREAK_STAGES; ++k)
    {
        char name[64];
        snprintf(name, sizeof name, "bunny, break %d", stages[k]);
        snprintf(b->note, sizeof b->note, "processor time; the heaviest in two; it had %u nodes",
                 nodes[stages[k] - 1]);
        result = AddTimes(b, name, times[k]);
    }
    knDestroyBreakage(&breakage);
    return result;
}

static knResult BenchGrowth(Bench* b)
{
    static const uint32_t targets[3] = {0, 50000, 120000};
    static const uint32_t pieces[3] = {2, 10, 50};
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < 3; ++i)
    {
        knBenchModel model = {0};
        result = CookDemo(b, "bunny", targets[i], &model);
        for (int k = 0; result == kn_success && k < 3; ++k)
        {
            // all numbers of pieces for the first, all densities for one number
            result = i == 0 || k == 1 ? MeasureGrowth(b, &model, pieces[k]) : result;
        }
        result = result == kn_success && i == 0 ? MeasureBreaks(b, &model) : result;
        knDestroyBenchModel(&model);
    }
    return result;
}

static knResult BenchObjects(Bench* b)
{
    static const char* const names[] = {"plate", "piggy", "bunny"};
    size_t count = b->run->options.quick ? 1 : sizeof names / sizeof names[0];
    knResult result = BenchObject(b, "brick", &b->brick);
    for (size_t i = 0; result == kn_success && i < count; ++i)
    {
        knBenchModel model = {0};
        result = CookDemo(b, names[i], 0, &model);
        result = result == kn_success ? BenchObject(b, names[i], &model) : result;
        knDestroyBenchModel(&model);
    }
    return result;
}

static knResult Run(knBenchRun* run)
{
    static Bench b; // too large for the stack
    b = (Bench){.run = run};
#ifndef KN_BENCH_TOOLS
    knBenchRun_Skip(run, "all rows", "built without the tools, which cook");
    return kn_success;
#endif
    const char* given = run->options.meshPath;
    snprintf(b.folder, sizeof b.folder, "%s", given ? given : "");
    if (!given && knFindUpwards(b.folder, "demos/assets") != kn_success)
    {
        knBenchRun_Skip(run, "all rows", "no demos/assets above knap-bench; name it with --meshes");
        return kn_success;
    }
    knResult result = CookDemo(&b, "brick", 0, &b.brick);
    result = result == kn_success ? BenchObjects(&b) : result;
    if (!run->options.quick)
    {
        result = result == kn_success ? BenchSpheres(&b) : result;
        result = result == kn_success ? BenchGrowth(&b) : result;
    }
    knDestroyBenchModel(&b.brick);
    return result;
}

const knBench knBenchFieldUpdate = {
    "field-update", "field and tree updated at a break, beside making them anew", Run};
