// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "bench/bvh_keep.h"

#include "bench/bvh_hash.h"
#include "bvh/bvh_internal.h"

#include <time.h>

#define WAYS      7
#define VOLUMES   1
#define NO_FAST   2
#define REBUILDS  5
#define DRIFT_END 100 // frames at each end of a long run

typedef struct Study
{
    knKeepScene* scene;
    knKeeper keepers[WAYS];
    int order[WAYS]; // of those that take part
    int wayCount;
    SpatialHash* hash;
    double* hashSeconds;
    size_t *pairCounts, lastCount;
} Study;

static const knKeeper ways[WAYS] = {
    {.name = "ours", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateSelective},
    {.name = "paper's: volumes of children 0.9, median build",
     .build = kn_bvhBuildMedian,
     .update = kn_bvhUpdateSelective,
     .volumeRatio = 0.9f},
    {.name = "paper's: ours with median build",
     .build = kn_bvhBuildMedian,
     .update = kn_bvhUpdateSelective},
    {.name = "best: grid, refit only", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateRefit},
    {.name = "best: the default, midpoint and refit",
     .build = kn_bvhBuildMidpoint,
     .update = kn_bvhUpdateRefit},
    {.name = "rebuild, midpoint", .build = kn_bvhBuildMidpoint, .update = kn_bvhUpdateRebuild},
    {.name = "rebuild, median", .build = kn_bvhBuildMedian, .update = kn_bvhUpdateRebuild}};

// Of the processor: frames cannot be repeated, and other programs must not count.
static double ProcessorSeconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool IsBreak(const knKeepScene* s, int frame)
{
    return s->isBreak && s->isBreak(s, frame);
}

static knResult StartKeeper(knKeepScene* s, knKeeper* k)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.build = k->build;
    def.update = k->update;
    k->seconds = calloc((size_t)s->frameCount, sizeof *k->seconds);
    k->bodies = calloc(s->bodyCapacity, sizeof *k->bodies);
    if (!k->seconds || !k->bodies)
    {
        return knFail(kn_errorMemory, "no memory for %s", k->name);
    }
    knResult result = knCreateBvhScene(&k->scene, &def, NULL);
    result = result == kn_success ? knCreateBvhQuery(&k->query, NULL) : result;
    if (result == kn_success)
    {
        k->scene->volumeRatio = k->volumeRatio;
        result = s->start(s, k);
    }
    return result;
}

static void AddCounts(knBvhFunnel* sum, const knBvhFunnel* f)
{
    sum->nodeTests += f->nodeTests;
    sum->boxPairs += f->boxPairs;
    sum->filterPairs += f->filterPairs;
    sum->reportedPairs += f->reportedPairs;
}

static knResult StepKeeper(knKeepScene* s, knKeeper* k, int frame, size_t* pairCount)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipAdjacent = true;
    double times[kn_keepPhaseCount + 1] = {ProcessorSeconds()};
    knResult result = s->change ? s->change(s, k, frame) : kn_success;
    times[1] = ProcessorSeconds();
    if (result == kn_success)
    {
        result = knBvhScene_MoveVertices(k->scene, 0, s->vertexCount, s->positions);
    }
    result = result == kn_success ? knBvhScene_Commit(k->scene, NULL) : result;
    times[2] = ProcessorSeconds();
    result = result == kn_success ? knBvhQuery_Run(k->query, k->scene, &def) : result;
    times[3] = ProcessorSeconds();
    knBvhQuery_Pairs(k->query, pairCount);
    knBvhFunnel funnel = knBvhQuery_Funnel(k->query);
    AddCounts(&k->sum, &funnel);
    k->seconds[frame] = times[3] - times[0];
    for (int i = 0; i < kn_keepPhaseCount; ++i)
    {
        k->phases[0][i] += times[i + 1] - times[i];
        k->phases[1][i] += IsBreak(s, frame) ? times[i + 1] - times[i] : 0.0;
    }
    return result;
}

static knResult StepHash(Study* y, int frame, size_t* pairCount)
{
    knKeepScene* s = y->scene;
    double start = ProcessorSeconds();
    knResult result =
        SpatialHash_Run(y->hash, s->positions, s->triangles, s->triangleCount, pairCount);
    y->hashSeconds[frame] = ProcessorSeconds() - start;
    return result;
}

static knResult StepAll(Study* y, int frame)
{
    size_t expected = SIZE_MAX;
    y->scene->advance(y->scene, frame);
    knResult result = y->hash ? StepHash(y, frame, &expected) : kn_success;
    for (int i = 0; i < y->wayCount && result == kn_success; ++i)
    {
        // each goes first in turn
        knKeeper* k = &y->keepers[y->order[(i + frame) % y->wayCount]];
        size_t count = 0;
        result = StepKeeper(y->scene, k, frame, &count);
        expected = expected == SIZE_MAX ? count : expected;
        if (result == kn_success && count != expected)
        {
            result = knFail(kn_errorMesh, "%s, frame %d: %s found %zu pairs, the one before %zu",
                            y->scene->name, frame, k->name, count, expected);
        }
    }
    y->lastCount = expected;
    y->pairCounts[frame] = expected;
    return result;
}

static void FreeStudy(Study* y)
{
    for (int i = 0; i < WAYS; ++i)
    {
        knDestroyBvhScene(y->keepers[i].scene);
        knDestroyBvhQuery(y->keepers[i].query);
        free(y->keepers[i].seconds);
        free(y->keepers[i].bodies);
    }
    FreeSpatialHash(y->hash);
    free(y->hashSeconds);
    free(y->pairCounts);
}

static knResult RunStudy(Study* y)
{
    knKeepScene* s = y->scene;
    knResult result = kn_success;
    y->hashSeconds = calloc((size_t)s->frameCount, sizeof *y->hashSeconds);
    y->pairCounts = calloc((size_t)s->frameCount, sizeof *y->pairCounts);
    if (!y->hashSeconds || !y->pairCounts)
    {
        return knFail(kn_errorMemory, "no memory for %s", s->name);
    }
    memcpy(y->keepers, ways, sizeof ways);
    for (int i = 0; i < y->wayCount && result == kn_success; ++i)
    {
        result = StartKeeper(s, &y->keepers[y->order[i]]);
    }
    for (int frame = 0; frame < s->frameCount && result == kn_success; ++frame)
    {
        result = StepAll(y, frame);
    }
    return result;
}

// Frames from `begin` on, or only those with a break.
static double MeanOf(const knKeepScene* s, const double* seconds, int begin, int end, bool breaks)
{
    double sum = 0.0;
    int count = 0;
    for (int i = begin; i < end; ++i)
    {
        bool isTaken = !breaks || IsBreak(s, i);
        sum += isTaken ? seconds[i] : 0.0;
        count += isTaken;
    }
    return count > 0 ? 1e3 * sum / count : (double)NAN;
}

static int CompareDoubles(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// In milliseconds; the samples are put in order.
static double Percentile(double* seconds, int count, double share)
{
    qsort(seconds, (size_t)count, sizeof *seconds, CompareDoubles);
    int at = (int)(share * (double)(count - 1) + 0.5);
    return 1e3 * seconds[at];
}

typedef struct Rival
{
    const char* name;
    double* seconds;
    double paper[2]; // how many times better: mean, frames with a break; 0: not said
} Rival;

static knResult AddTime(knBenchRun* run, const Study* y, const char* metric, const double ms[2],
                        const Rival* rival, double paper)
{
    knBenchRow row = knBenchRun_MakeRow(run, y->scene->name, metric, "ms");
    row.ours = ms[0];
    row.peer = ms[1];
    row.ratio = knBetterRatio(ms[0], ms[1], false);
    snprintf(row.peerName, sizeof row.peerName, "%s", rival->name);
    snprintf(row.note, sizeof row.note, "processor time; as many pairs in every frame");
    if (paper > 0.0)
    {
        snprintf(row.note, sizeof row.note, "processor time; the paper's ratio is %g", paper);
    }
    return isfinite(ms[1]) ? knBenchRun_AddRow(run, &row) : kn_success;
}

static knResult AddRival(knBenchRun* run, Study* y, const Rival* rival)
{
    const knKeepScene* s = y->scene;
    int end = s->frameCount;
    double* ours = y->keepers[0].seconds;
    double mean[2] = {MeanOf(s, ours, 0, end, false), MeanOf(s, rival->seconds, 0, end, false)};
    double breaks[2] = {MeanOf(s, ours, 0, end, true), MeanOf(s, rival->seconds, 0, end, true)};
    // copies: the order of frames is still needed
    double* sorted[2] = {malloc((size_t)end * sizeof(double)),
                         malloc((size_t)end * sizeof(double))};
    knResult result = sorted[0] && sorted[1] ? kn_success : kn_errorMemory;
    double late[2] = {0.0, 0.0}, worst[2] = {0.0, 0.0};
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        memcpy(sorted[i], i == 0 ? ours : rival->seconds, (size_t)end * sizeof(double));
        late[i] = Percentile(sorted[i], end, 0.99);
        worst[i] = 1e3 * sorted[i][end - 1];
    }
    result =
        result == kn_success ? AddTime(run, y, "step, mean", mean, rival, rival->paper[0]) : result;
    result = result == kn_success ? AddTime(run, y, "step, p99", late, rival, 0.0) : result;
    result = result == kn_success ? AddTime(run, y, "step, worst", worst, rival, 0.0) : result;
    result = result == kn_success
                 ? AddTime(run, y, "frames with a break", breaks, rival, rival->paper[1])
                 : result;
    free(sorted[0]);
    free(sorted[1]);
    return result;
}

static knResult AddNumber(knBenchRun* run, const Study* y, const char* metric, const char* unit,
                          const double values[2])
{
    knBenchRow row = knBenchRun_MakeRow(run, y->scene->name, metric, unit);
    row.ours = values[0];
    row.paper = values[1];
    return knBenchRun_AddRow(run, &row);
}

// What the frames are like, and where the time goes.
static knResult AddFacts(knBenchRun* run, const Study* y)
{
    static const char* const shares[2][kn_keepPhaseCount] = {
        {"share of mesh update", "share of update", "share of query"},
        {"mesh update at breaks", "update at breaks", "query at breaks"}};
    static const double paper[2][kn_keepPhaseCount] = {{8.0, 24.0, 68.0}, {NAN, 35.0, NAN}};
    const knKeeper* k = &y->keepers[0];
    double frames = (double)y->scene->frameCount, pairs = (double)k->sum.reportedPairs;
    knResult result = AddNumber(run, y, "pairs a frame", "", (double[2]){pairs / frames, NAN});
    // most of what reaches the test of two triangles comes to nothing
    double boxes = (double)k->sum.boxPairs, filtered = (double)k->sum.filterPairs;
    double falseShares[2] = {100.0 - 100.0 * pairs / boxes, 90.0};
    double exactShares[2] = {100.0 - 100.0 * pairs / filtered, NAN};
    result = result == kn_success ? AddNumber(run, y, "false box pairs", "%", falseShares) : result;
    result =
        result == kn_success ? AddNumber(run, y, "false exact tests", "%", exactShares) : result;
    for (int i = 0; i < 2 * kn_keepPhaseCount && result == kn_success; ++i)
    {
        const double* p = k->phases[i / kn_keepPhaseCount];
        double sum = p[0] + p[1] + p[2];
        double share[2] = {100.0 * p[i % kn_keepPhaseCount] / sum,
                           paper[i / kn_keepPhaseCount][i % kn_keepPhaseCount]};
        const char* name = shares[i / kn_keepPhaseCount][i % kn_keepPhaseCount];
        result = sum > 0.0 ? AddNumber(run, y, name, "%", share) : kn_success;
    }
    for (int i = 0; i < y->wayCount && result == kn_success; ++i)
    {
        const knKeeper* other = &y->keepers[y->order[i]];
        knBenchRow row = knBenchRun_MakeRow(run, y->scene->name, "node tests a frame", "K");
        row.ours = 1e-3 * (double)k->sum.nodeTests / frames;
        row.peer = 1e-3 * (double)other->sum.nodeTests / frames;
        row.ratio = knBetterRatio(row.ours, row.peer, false);
        snprintf(row.peerName, sizeof row.peerName, "%s", other->name);
        result = i > 0 ? knBenchRun_AddRow(run, &row) : kn_success;
    }
    return result;
}

knResult knMeasureKeeping(knBenchRun* run, knKeepScene* scene)
{
    Study y = {.scene = scene, .wayCount = WAYS, .order = {0, 1, 2, 3, 4, 5, 6}};
    y.hash = MakeSpatialHash();
    knResult result = y.hash ? RunStudy(&y) : knFail(kn_errorMemory, "no memory for hashing");
    result = result == kn_success ? AddFacts(run, &y) : result;
    for (int i = 1; i < WAYS && result == kn_success; ++i)
    {
        Rival rival = {y.keepers[i].name, y.keepers[i].seconds, {0.0, 0.0}};
        rival.paper[0] = i == VOLUMES ? scene->paperVolumeRule : 0.0;
        rival.paper[1] = i == NO_FAST ? scene->paperFastBuild : 0.0;
        result = AddRival(run, &y, &rival);
    }
    Rival hash = {"paper's: spatial hashing", y.hashSeconds, {scene->paperHash, 0.0}};
    result = result == kn_success ? AddRival(run, &y, &hash) : result;
    FreeStudy(&y);
    return result;
}

knResult knMeasureDrift(knBenchRun* run, knKeepScene* scene)
{
    Study y = {.scene = scene, .wayCount = 3, .order = {0, 4, REBUILDS}};
    knResult result = RunStudy(&y);
    int end = scene->frameCount;
    const double* rebuilt = y.keepers[REBUILDS].seconds;
    for (int i = 0; i < 4 && result == kn_success; ++i)
    {
        const knKeeper* k = &y.keepers[y.order[i / 2]];
        int begin = i % 2 == 0 ? 0 : end - DRIFT_END;
        double ms[2] = {MeanOf(scene, k->seconds, begin, begin + DRIFT_END, false),
                        MeanOf(scene, rebuilt, begin, begin + DRIFT_END, false)};
        Rival rival = {"rebuild, midpoint", NULL, {0.0, 0.0}};
        char metric[64];
        snprintf(metric, sizeof metric, "%s, %s 100 frames", i < 2 ? "ours" : "refit only",
                 i % 2 == 0 ? "first" : "last");
        result = AddTime(run, &y, metric, ms, &rival, 0.0);
    }
    FreeStudy(&y);
    return result;
}
