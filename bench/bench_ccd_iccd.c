// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#if defined(KN_BENCH_TOOLS)

#include "bench/ccd_scenes.h"
#include "bvh/bvh_ccd_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ICCD's measurements and FASTCD's of 6.2.1: ways to make the same steps, one after the other on
// each step, by processor time of one thread. All have the same solver, the papers' cubic.

typedef enum Way
{
    wayBase,     // all tests of all pairs of triangles whose boxes meet
    wayHigh,     // the same with normal cones and contours: high-level culling
    wayPaper,    // representatives and orphans as well: high and low
    wayOurs,     // features, exact culling, the wide filter
    wayNone,     // pairs with representatives, nothing culled
    wayConeOnly, // and the other kinds of culling: no contours
    wayBoundary, // contours of the surface's own boundary
    wayDual,     // binormal cones
    wayCount
} Way;

static const struct
{
    const char* name;
    knCcdMethod method;
    knCcdCulling culling;
} ways[wayCount] = {
    {"base: 15 tests a pair", kn_ccdEveryTest, kn_ccdCullNone},
    {"base with cones and contours", kn_ccdEveryTest, kn_ccdCullCones},
    {"pairs, orphans, cones", kn_ccdTriangles, kn_ccdCullCones},
    {"features, exact culling", kn_ccdFeatures, kn_ccdCullExact},
    {"pairs, orphans", kn_ccdTriangles, kn_ccdCullNone},
    {"pairs, orphans, cones without contours", kn_ccdTriangles, kn_ccdCullConesOnly},
    {"pairs, orphans, cones, own boundary", kn_ccdTriangles, kn_ccdCullBoundary},
    {"pairs, orphans, dual cones", kn_ccdTriangles, kn_ccdCullDualCones}};

// The paper's numbers of a scene; thousands of tests.
typedef struct Paper
{
    double speedup, baseTests, tests, adjacentTests, orphans;
} Paper;

static const Paper papers[kn_ccdSceneCount] = {
    {9.0, 7522.0, 216.0, 4400.0, 4.8}, {8.8, 932.0, 14.0, 2100.0, 2.0},
    {9.4, 1125.0, 16.0, 2300.0, 10.8}, {14.6, 3359.0, 188.0, 1500.0, 0.2},
    {12.6, 340.0, 8.0, 224.0, 0.114},  {21.4, 16199.0, 981.0, NAN, NAN}};

typedef struct Side
{
    knCcdStep* step;
    double seconds;
    double* perTriangle;
    uint64_t tests, contacts;
} Side;

typedef struct State
{
    knCcdScene scene;
    Side sides[wayCount];
    int stepCount, breakCount;
    double breakSeconds[2];   // ours, kept and built anew
    double worstBreak;        // seconds of a triangle or contact, kept
    double contourSeconds[2]; // with and without accelerations
    uint64_t orphans, adjacentTests;
} State;

static double ThreadSeconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static knCcdStepDef DefOf(const State* s, Way way)
{
    const knCcdScene* scene = &s->scene;
    knCcdStepDef def = knDefaultCcdStepDef();
    def.start = scene->start;
    def.end = scene->end;
    def.vertexCount = scene->vertexCount;
    def.triangles = scene->triangles;
    def.triangleCount = scene->triangleCount;
    def.solver = kn_ccdCubic;
    def.method = ways[way].method;
    def.culling = ways[way].culling;
    // as the paper has it: the base builds where faces may change
    def.rebuild = scene->breaks && way <= wayHigh;
    return def;
}

static knResult RunWay(State* s, Way way, int step)
{
    Side* side = &s->sides[way];
    size_t count;
    knCcdStepDef def = DefOf(s, way);
    double begin = ThreadSeconds();
    knResult result = knCcdStep_Run(side->step, &def);
    double seconds = ThreadSeconds() - begin;
    knCcdFunnel f = knCcdStep_Funnel(side->step);
    knCcdStep_Contacts(side->step, &count);
    side->seconds += seconds;
    side->tests += ways[way].method == kn_ccdFeatures ? f.exactTests
                                                      : f.edgeTests + f.faceTests + f.orphanTests;
    side->contacts += count;
    side->perTriangle[step] = seconds / (double)(s->scene.triangleCount + count);
    return result;
}

// Where the faces have just changed: the same step again from a tree that was kept, and built anew.
static knResult RunBreak(State* s, knCcdStep* kept, knCcdStep* built)
{
    knResult result = kn_success;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        knCcdStepDef def = DefOf(s, wayOurs);
        def.rebuild = i == 1;
        double begin = ThreadSeconds();
        result = knCcdStep_Run(i ? built : kept, &def);
        double seconds = ThreadSeconds() - begin;
        size_t count;
        knCcdStep_Contacts(i ? built : kept, &count);
        s->breakSeconds[i] += seconds;
        double each = seconds / (double)(s->scene.triangleCount + count);
        s->worstBreak = i == 0 && each > s->worstBreak ? each : s->worstBreak;
    }
    return result;
}

// The contour tests alone: what culling takes, less what the cones take.
static knResult TimeContours(State* s)
{
    knCcdStep* step = s->sides[wayPaper].step;
    double seconds[3];
    knResult result = kn_success;
    for (int i = 0; i < 3 && result == kn_success; ++i)
    {
        step->isSlow = i == 1;
        step->def.culling = i == 2 ? kn_ccdCullConesOnly : kn_ccdCullCones;
        double begin = ThreadSeconds();
        result = knCullCcd(step);
        seconds[i] = ThreadSeconds() - begin;
    }
    step->isSlow = false;
    s->contourSeconds[0] += seconds[0] - seconds[2];
    s->contourSeconds[1] += seconds[1] - seconds[2];
    return result;
}

// Pairs of triangles that share one vertex make 9 tests, those that share an edge 4.
static void CountAdjacent(State* s)
{
    const knCcdStep* step = s->sides[wayPaper].step;
    uint64_t tests = 0;
    for (uint32_t t = 0; t < step->triangleCount; ++t)
    {
        for (int k = 0; k < 3; ++k)
        {
            uint32_t v = step->triangles[t].v[k];
            for (uint32_t i = step->fanStarts[v]; i < step->fanStarts[v + 1]; ++i)
            {
                const uint32_t* w = step->triangles[step->fans[i]].v;
                const uint32_t* u = step->triangles[t].v;
                int shared = 0;
                for (int c = 0; c < 9; ++c)
                {
                    shared += u[c / 3] == w[c % 3];
                }
                // a pair that shares an edge comes twice
                tests += step->fans[i] > t ? (shared == 1 ? 18 : (shared == 2 ? 4 : 0)) : 0;
            }
        }
    }
    s->adjacentTests = tests / 2;
    s->orphans = step->orphanCount;
}

static knResult RunSteps(State* s, int wayTotal)
{
    knResult result = kn_success;
    knCcdStep* built = NULL;
    result = knCreateCcdStep(&built, NULL);
    // the first step is made once more before, as it builds what is kept
    for (int step = -1; step < s->stepCount && result == kn_success; ++step)
    {
        bool hasBroken = step >= 0 && knCcdScene_SetStep(&s->scene, step);
        if (step < 0)
        {
            knCcdScene_SetStep(&s->scene, 0);
        }
        s->breakCount += hasBroken;
        if (hasBroken)
        {
            result = RunBreak(s, s->sides[wayOurs].step, built);
        }
        // but for the two slow ones: beside their tests what they build is nothing
        for (int way = step < 0 ? wayPaper : 0; way < wayTotal && result == kn_success; ++way)
        {
            result = RunWay(s, (Way)way, step < 0 ? 0 : step);
        }
        if (step < 0)
        {
            for (int way = 0; way < wayTotal; ++way)
            {
                s->sides[way].seconds = 0.0;
                s->sides[way].tests = s->sides[way].contacts = 0;
            }
            CountAdjacent(s);
            continue;
        }
        result = result == kn_success ? TimeContours(s) : result;
    }
    knDestroyCcdStep(built);
    return result;
}

static knResult AddPair(knBenchRun* run, const State* s, const char* metric, const double value[2],
                        double paper, const char* peerName)
{
    bool isTime = strncmp(metric, "step", 4) == 0 || strncmp(metric, "contour", 7) == 0;
    knBenchRow row = knBenchRun_MakeRow(run, s->scene.name, metric, isTime ? "ms" : "");
    row.ours = value[0];
    row.peer = value[1];
    row.ratio = knBetterRatio(value[0], value[1], false);
    row.paper = paper;
    snprintf(row.peerName, sizeof row.peerName, "%s", peerName);
    snprintf(row.note, sizeof row.note, "%u triangles, %d steps", s->scene.triangleCount,
             s->stepCount);
    return knBenchRun_AddRow(run, &row);
}

static double MsOf(const State* s, Way way)
{
    return 1e3 * s->sides[way].seconds / s->stepCount;
}

static double TestsOf(const State* s, Way way)
{
    return (double)s->sides[way].tests / s->stepCount;
}

static knResult AddTables(knBenchRun* run, const State* s)
{
    const Paper* p = &papers[s->scene.kind];
    const char* base = ways[wayBase].name;
    const double paperMs[2] = {MsOf(s, wayPaper), MsOf(s, wayBase)};
    const double oursMs[2] = {MsOf(s, wayOurs), MsOf(s, wayBase)};
    const double tests[2] = {TestsOf(s, wayPaper), TestsOf(s, wayBase)};
    const double oursTests[2] = {TestsOf(s, wayOurs), TestsOf(s, wayBase)};
    const double high[2] = {TestsOf(s, wayHigh), TestsOf(s, wayBase)};
    const double low[2] = {TestsOf(s, wayNone), TestsOf(s, wayBase)};
    const double orphans[2] = {(double)s->orphans, (double)s->adjacentTests};
    const double contours[2] = {1e3 * s->contourSeconds[0] / s->stepCount,
                                1e3 * s->contourSeconds[1] / s->stepCount};
    knResult result = AddPair(run, s, "step, paper's way", paperMs, p->speedup, base);
    result =
        result == kn_success ? AddPair(run, s, "step, ours", oursMs, p->speedup, base) : result;
    result = result == kn_success
                 ? AddPair(run, s, "tests, paper's way", tests, p->baseTests / p->tests, base)
                 : result;
    result = result == kn_success
                 ? AddPair(run, s, "tests, ours", oursTests, p->baseTests / p->tests, base)
                 : result;
    result =
        result == kn_success ? AddPair(run, s, "tests, high-level only", high, NAN, base) : result;
    result =
        result == kn_success ? AddPair(run, s, "tests, low-level only", low, NAN, base) : result;
    result = result == kn_success ? AddPair(run, s, "orphans", orphans,
                                            p->adjacentTests / p->orphans, "adjacent tests")
                                  : result;
    return result == kn_success ? AddPair(run, s, "contour tests", contours,
                                          s->scene.kind == kn_ccdSceneCloth ? 1.93 : (double)NAN,
                                          "without accelerations")
                                : result;
}

// FASTCD 6.2.1: dual cones beside the three others, and what each misses.
static knResult AddCullings(knBenchRun* run, const State* s)
{
    static const struct
    {
        Way way;
        double paper;
    } rivals[4] = {{wayPaper, 1.25}, {wayBoundary, 1.06}, {wayConeOnly, 0.95}, {wayDual, NAN}};
    knResult result = kn_success;
    for (int i = 0; i < 4 && result == kn_success; ++i)
    {
        Way way = rivals[i].way;
        knBenchRow row = knBenchRun_MakeRow(run, s->scene.name, "dual cones, step", "ms");
        row.ours = MsOf(s, wayDual);
        row.peer = MsOf(s, way);
        row.ratio = knBetterRatio(row.ours, row.peer, false);
        row.paper = rivals[i].paper;
        snprintf(row.peerName, sizeof row.peerName, "%s", ways[way].name);
        snprintf(row.note, sizeof row.note, "it misses %lld of %llu; %.1f %% of the tests",
                 (long long)(s->sides[wayNone].contacts - s->sides[way].contacts),
                 (unsigned long long)s->sides[wayNone].contacts,
                 100.0 * TestsOf(s, way) / TestsOf(s, wayNone));
        result = knBenchRun_AddRow(run, &row);
    }
    return result;
}

static int CompareDoubles(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static knResult AddBreaks(knBenchRun* run, State* s)
{
    double* per = s->sides[wayOurs].perTriangle;
    const double ms[2] = {1e3 * s->breakSeconds[0] / s->breakCount,
                          1e3 * s->breakSeconds[1] / s->breakCount};
    knResult result = AddPair(run, s, "step in which it breaks", ms, NAN, "ours, built anew");
    qsort(per, (size_t)s->stepCount, sizeof *per, CompareDoubles);
    knBenchRow row = knBenchRun_MakeRow(run, s->scene.name, "at a break, per triangle", "ns");
    row.ours = 1e9 * s->worstBreak;
    row.peer = 1e9 * per[s->stepCount / 2];
    row.ratio = knBetterRatio(row.ours, row.peer, false);
    snprintf(row.peerName, sizeof row.peerName, "median of all steps");
    snprintf(row.note, sizeof row.note, "worst of %d breaks, per triangle and contact",
             s->breakCount);
    return result == kn_success ? knBenchRun_AddRow(run, &row) : result;
}

static knResult RunScene(knBenchRun* run, knCcdSceneKind kind)
{
    State s = {.stepCount = 0};
    if (knMakeCcdScene(&s.scene, kind, run->options.quick) != kn_success)
    {
        knBenchRun_Skip(run, "a scene", knLastError());
        return kn_success;
    }
    if (run->options.caseName && !strstr(s.scene.name, run->options.caseName))
    {
        knDestroyCcdScene(&s.scene);
        return kn_success;
    }
    s.stepCount = s.scene.stepCount;
    bool isCloth = kind == kn_ccdSceneCloth;
    int wayTotal = isCloth ? wayCount : wayNone + 1;
    knResult result = kn_success;
    for (int i = 0; i < wayCount && result == kn_success; ++i)
    {
        s.sides[i].perTriangle = calloc((size_t)s.stepCount, sizeof(double));
        result = s.sides[i].perTriangle ? knCreateCcdStep(&s.sides[i].step, NULL)
                                        : knFail(kn_errorMemory, "no memory for times");
    }
    result = result == kn_success ? RunSteps(&s, wayTotal) : result;
    result = result == kn_success ? AddTables(run, &s) : result;
    result = result == kn_success && isCloth ? AddCullings(run, &s) : result;
    result = result == kn_success && s.breakCount > 0 ? AddBreaks(run, &s) : result;
    for (int i = 0; i < wayCount; ++i)
    {
        knDestroyCcdStep(s.sides[i].step);
        free(s.sides[i].perTriangle);
    }
    knDestroyCcdScene(&s.scene);
    return result;
}

static knResult Run(knBenchRun* run)
{
    knResult result = kn_success;
    for (int kind = 0; kind < kn_ccdSceneCount && result == kn_success; ++kind)
    {
        result = RunScene(run, (knCcdSceneKind)kind);
    }
    return result;
}

#else

static knResult Run(knBenchRun* run)
{
    knBenchRun_Skip(run, "all rows", "built without the tools, which read the frames");
    return kn_success;
}

#endif

const knBench knBenchCcdIccd = {"ccd-iccd", "continuous collision beside ICCD's base", Run};
