// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#if defined(KN_BENCH_TOOLS)

#include "bench/ccd_scenes.h"
#include "bvh/bvh_ccd_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ICCD's measurements and FASTCD's of 6.2: ways to make the same steps, one after the other on each
// step, by processor time of one thread. All have the same solver, the papers' cubic, and the
// papers' ways have the papers' hierarchy: two levels by connectivity, 18-DOPs. The slow ways run
// in a few steps only, and ratios are of the steps in which both have run.

typedef enum Way
{
    wayBase,  // all tests of all pairs of triangles whose 18-DOPs meet
    wayHigh,  // the same with normal cones and contours: high-level culling
    wayLow,   // representatives and orphans: low-level culling
    wayPaper, // both
    wayBoxes, // the same with boxes
    wayOurs,  // features, exact culling, the wide filter
    wayOursDops,
    wayOursConnected,
    wayOursPlain, // no culling
    wayFitted,    // ours, never built anew
    wayBroken,    // ours, built anew where it breaks and only there
    wayConeOnly,  // the paper's, and the other kinds of culling: no contours
    wayBoundary,  // contours of the surface's own boundary
    wayDual,      // binormal cones
    wayCount
} Way;

static const struct
{
    const char* name;
    knCcdMethod method;
    knCcdCulling culling;
    knCcdBuild build;
    knCcdBound bound;
} ways[wayCount] = {
    {"base: 15 tests a pair", kn_ccdEveryTest, kn_ccdCullNone, kn_ccdByMedians, kn_ccdDops},
    {"base, high-level", kn_ccdEveryTest, kn_ccdCullCones, kn_ccdByConnectivity, kn_ccdDops},
    {"base, low-level", kn_ccdTriangles, kn_ccdCullNone, kn_ccdByConnectivity, kn_ccdDops},
    {"paper's way", kn_ccdTriangles, kn_ccdCullCones, kn_ccdByConnectivity, kn_ccdDops},
    {"paper's way, boxes", kn_ccdTriangles, kn_ccdCullCones, kn_ccdByConnectivity, kn_ccdBoxes},
    {"ours", kn_ccdFeatures, kn_ccdCullExact, kn_ccdByMedians, kn_ccdBoxes},
    {"ours, 18-DOPs", kn_ccdFeatures, kn_ccdCullExact, kn_ccdByMedians, kn_ccdDops},
    {"ours, connectivity", kn_ccdFeatures, kn_ccdCullExact, kn_ccdByConnectivity, kn_ccdBoxes},
    {"ours, no culling", kn_ccdFeatures, kn_ccdCullNone, kn_ccdByMedians, kn_ccdBoxes},
    {"ours, only fitted", kn_ccdFeatures, kn_ccdCullExact, kn_ccdByMedians, kn_ccdBoxes},
    {"ours, built anew at breaks", kn_ccdFeatures, kn_ccdCullExact, kn_ccdByMedians, kn_ccdBoxes},
    {"cones without contours", kn_ccdTriangles, kn_ccdCullConesOnly, kn_ccdByConnectivity,
     kn_ccdDops},
    {"cones, own boundary", kn_ccdTriangles, kn_ccdCullBoundary, kn_ccdByConnectivity, kn_ccdDops},
    {"dual cones", kn_ccdTriangles, kn_ccdCullDualCones, kn_ccdByConnectivity, kn_ccdDops}};

#define SLOW_STEPS 4 // of the base and of high-level culling alone

// The paper's numbers of a scene; thousands of tests.
typedef struct Paper
{
    double speedup, baseTests, tests, adjacentTests, orphans;
} Paper;

static const Paper papers[kn_ccdSceneCount] = {
    {9.0, 7522.0, 216.0, 4400.0, 4.8},  {8.8, 932.0, 14.0, 2100.0, 2.0},
    {9.4, 1125.0, 16.0, 2300.0, 10.8},  {14.6, 3359.0, 188.0, 1500.0, 0.2},
    {14.6, 3359.0, 188.0, 1500.0, 0.2}, {12.6, 340.0, 8.0, 224.0, 0.114},
    {21.4, 16199.0, 981.0, NAN, NAN}};

// What a way took in one step; no time: it has not run.
typedef struct Taken
{
    double seconds;
    uint64_t tests, nodeTests, contacts;
} Taken;

typedef struct Side
{
    knCcdStep* step;
    Taken* taken; // per step
} Side;

// Where it breaks: the papers' ways and ours built anew, ours kept.
typedef enum BreakWay
{
    breakKept,
    breakBuilt,
    breakPaper,
    breakBoundary,
    breakCount
} BreakWay;

typedef struct State
{
    knCcdScene scene;
    Side sides[wayCount];
    int stepCount, breaks;
    double breakSeconds[breakCount];
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
    def.build = ways[way].build;
    def.bound = ways[way].bound;
    // as the paper has it: the base builds where faces may change
    def.rebuild = scene->breaks && way <= wayHigh;
    return def;
}

static knResult Run1(knCcdStep* step, const knCcdStepDef* def, Taken* taken)
{
    size_t count;
    double begin = ThreadSeconds();
    knResult result = knCcdStep_Run(step, def);
    double seconds = ThreadSeconds() - begin;
    knCcdFunnel f = knCcdStep_Funnel(step);
    knCcdStep_Contacts(step, &count);
    *taken = (Taken){seconds, f.exactTests, f.nodeTests, count};
    return result;
}

// Where the faces have just changed: the same step from what was kept, and from nothing.
static knResult RunBreak(State* s)
{
    static const Way of[breakCount] = {wayOurs, wayOurs, wayPaper, wayBoundary};
    knResult result = kn_success;
    for (int i = 0; i < breakCount && result == kn_success; ++i)
    {
        knCcdStepDef def = DefOf(s, of[i]);
        knCcdStep* step = i == breakKept ? s->sides[wayOurs].step : NULL;
        Taken taken;
        result = step ? kn_success : knCreateCcdStep(&step, NULL);
        result = result == kn_success ? Run1(step, &def, &taken) : result;
        if (result == kn_success)
        {
            double each = taken.seconds / (double)(s->scene.triangleCount + taken.contacts);
            s->breakSeconds[i] += taken.seconds;
            s->worstBreak = i == breakKept && each > s->worstBreak ? each : s->worstBreak;
        }
        if (i != breakKept)
        {
            knDestroyCcdStep(step);
        }
    }
    s->breaks += 1;
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

static bool IsMeasured(const State* s, Way way, int step)
{
    bool isCloth = s->scene.kind == kn_ccdSceneCloth;
    if (way == wayFitted || way == wayBroken)
    {
        return s->scene.breaks;
    }
    int every = s->stepCount > SLOW_STEPS ? s->stepCount / SLOW_STEPS : 1;
    return way <= wayHigh ? step % every == every / 2 : way < wayConeOnly || isCloth;
}

static knResult RunWays(State* s, int step, bool hasBroken)
{
    knResult result = kn_success;
    for (int way = 0; way < wayCount && result == kn_success; ++way)
    {
        if (IsMeasured(s, (Way)way, step))
        {
            knCcdStepDef def = DefOf(s, (Way)way);
            def.rebuild = def.rebuild || (way == wayBroken && hasBroken);
            result = Run1(s->sides[way].step, &def, &s->sides[way].taken[step]);
        }
    }
    return result;
}

static knResult RunSteps(State* s)
{
    s->sides[wayFitted].step->growth = s->sides[wayBroken].step->growth = (double)INFINITY;
    // the first step once before, as it builds what is kept; but for the two slow ways: beside
    // their tests what they build is nothing
    knCcdScene_SetStep(&s->scene, 0);
    knResult result = kn_success;
    for (int way = wayLow; way < wayCount && result == kn_success; ++way)
    {
        knCcdStepDef def = DefOf(s, (Way)way);
        result = knCcdStep_Run(s->sides[way].step, &def);
    }
    if (result == kn_success)
    {
        CountAdjacent(s);
    }
    for (int step = 0; step < s->stepCount && result == kn_success; ++step)
    {
        bool hasBroken = knCcdScene_SetStep(&s->scene, step);
        result = hasBroken ? RunBreak(s) : kn_success;
        result = result == kn_success ? RunWays(s, step, hasBroken) : result;
        result = result == kn_success ? TimeContours(s) : result;
    }
    return result;
}

typedef struct Sum
{
    double ms, tests, nodeTests, contacts; // of a step, on average
    int steps;
} Sum;

// Of the steps in which another way has run too.
static Sum SumOf(const State* s, Way way, Way other)
{
    Sum sum = {0};
    for (int i = 0; i < s->stepCount; ++i)
    {
        const Taken* t = &s->sides[way].taken[i];
        if (t->seconds > 0.0 && s->sides[other].taken[i].seconds > 0.0)
        {
            sum.ms += 1e3 * t->seconds;
            sum.tests += (double)t->tests;
            sum.nodeTests += (double)t->nodeTests;
            sum.contacts += (double)t->contacts;
            sum.steps += 1;
        }
    }
    double n = sum.steps > 0 ? (double)sum.steps : (double)NAN;
    return (Sum){sum.ms / n, sum.tests / n, sum.nodeTests / n, sum.contacts / n, sum.steps};
}

static knResult AddRow(knBenchRun* run, const State* s, const char* metric, const char* unit,
                       const double value[2], double paper, const char* peerName, const char* note)
{
    knBenchRow row = knBenchRun_MakeRow(run, s->scene.name, metric, unit);
    row.ours = value[0];
    row.peer = value[1];
    row.ratio = knBetterRatio(value[0], value[1], false);
    row.paper = paper;
    snprintf(row.peerName, sizeof row.peerName, "%s", peerName);
    snprintf(row.note, sizeof row.note, "%s", note);
    return knBenchRun_AddRow(run, &row);
}

static knResult AddTimes(knBenchRun* run, const State* s, Way way, Way rival, double paper)
{
    char metric[64], note[100];
    Sum a = SumOf(s, way, rival), b = SumOf(s, rival, way);
    const double ms[2] = {a.ms, b.ms};
    snprintf(metric, sizeof metric, "step: %s", ways[way].name);
    snprintf(note, sizeof note, "%u triangles, %d steps, %.0f contacts, lost %.0f",
             s->scene.triangleCount, a.steps, b.contacts, b.contacts - a.contacts);
    return AddRow(run, s, metric, "ms", ms, paper, ways[rival].name, note);
}

// Elementary tests (Table III), and what is left of them by each kind of culling (Figure 15).
static knResult AddTests(knBenchRun* run, const State* s, Way way, double paper)
{
    char metric[64], note[100];
    Sum a = SumOf(s, way, wayBase), b = SumOf(s, wayBase, way);
    const double tests[2] = {a.tests, b.tests};
    snprintf(metric, sizeof metric, "tests: %s", ways[way].name);
    snprintf(note, sizeof note, "%.2f %% of the base's", 100.0 * a.tests / b.tests);
    return AddRow(run, s, metric, "", tests, paper, ways[wayBase].name, note);
}

static knResult AddTables(knBenchRun* run, const State* s)
{
    const Paper* p = &papers[s->scene.kind];
    static const struct
    {
        Way way, rival;
        double paper; // 0: the scene's
    } times[] = {{wayPaper, wayBase, 0.0},         {wayOurs, wayBase, 0.0},
                 {wayPaper, wayBoxes, 1.11},       {wayOurs, wayOursDops, NAN},
                 {wayOurs, wayOursConnected, NAN}, {wayOurs, wayOursPlain, NAN}};
    static const Way tested[] = {wayPaper, wayHigh, wayLow, wayOurs};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof times / sizeof times[0] && result == kn_success; ++i)
    {
        double paper = times[i].paper == 0.0 ? p->speedup : times[i].paper;
        result = AddTimes(run, s, times[i].way, times[i].rival, paper);
    }
    for (size_t i = 0; i < sizeof tested / sizeof tested[0] && result == kn_success; ++i)
    {
        result = AddTests(run, s, tested[i],
                          tested[i] == wayPaper ? p->baseTests / p->tests : (double)NAN);
    }
    const double orphans[2] = {(double)s->orphans, (double)s->adjacentTests};
    const double contours[2] = {1e3 * s->contourSeconds[0] / s->stepCount,
                                1e3 * s->contourSeconds[1] / s->stepCount};
    result = result == kn_success ? AddRow(run, s, "orphans", "", orphans,
                                           p->adjacentTests / p->orphans, "adjacent tests", "")
                                  : result;
    return result == kn_success ? AddRow(run, s, "contour tests", "ms", contours,
                                         s->scene.kind == kn_ccdSceneCloth ? 1.93 : (double)NAN,
                                         "without accelerations", "")
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
        char note[100];
        Sum dual = SumOf(s, wayDual, wayLow), rival = SumOf(s, rivals[i].way, wayLow);
        Sum all = SumOf(s, wayLow, wayDual);
        const double ms[2] = {dual.ms, rival.ms};
        snprintf(note, sizeof note, "it misses %.0f of %.0f; it culls %.1f %% of the node tests",
                 all.contacts - rival.contacts, all.contacts,
                 100.0 - 100.0 * rival.nodeTests / all.nodeTests);
        result = AddRow(run, s, "step: dual cones", "ms", ms, rivals[i].paper,
                        ways[rivals[i].way].name, note);
    }
    return result;
}

static int CompareDoubles(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// Of all steps, by triangle and contact.
static double MedianEach(const State* s)
{
    double each[64];
    int count = s->stepCount < 64 ? s->stepCount : 64;
    for (int i = 0; i < count; ++i)
    {
        const Taken* t = &s->sides[wayOurs].taken[i];
        each[i] = t->seconds / (double)(s->scene.triangleCount + t->contacts);
    }
    qsort(each, (size_t)count, sizeof *each, CompareDoubles);
    return each[count / 2];
}

// FASTCD 6.2.2 for continuous collision: the papers' ways begin anew where faces change.
static knResult AddBreaks(knBenchRun* run, const State* s)
{
    static const struct
    {
        const char* name;
        double paper;
    } rivals[breakCount] = {{NULL, NAN},
                            {"best rival: ours built anew", NAN},
                            {"paper's way from nothing", 260.0},
                            {"paper's way, own boundary, from nothing", 200.0}};
    char note[100];
    knResult result = kn_success;
    snprintf(note, sizeof note, "%d breaks of %u triangles", s->breaks, s->scene.triangleCount);
    for (int i = breakBuilt; i < breakCount && result == kn_success; ++i)
    {
        const double ms[2] = {1e3 * s->breakSeconds[breakKept] / s->breaks,
                              1e3 * s->breakSeconds[i] / s->breaks};
        result = AddRow(run, s, "step in which it breaks", "ms", ms, rivals[i].paper,
                        rivals[i].name, note);
    }
    // 27 % over other structures, over all steps
    result = result == kn_success ? AddTimes(run, s, wayOurs, wayBroken, 1.27) : result;
    result = result == kn_success ? AddTimes(run, s, wayOurs, wayFitted, NAN) : result;
    const double each[2] = {1e9 * s->worstBreak, 1e9 * MedianEach(s)};
    snprintf(note, sizeof note, "worst of %d breaks, per triangle and contact", s->breaks);
    return result == kn_success ? AddRow(run, s, "at a break, per triangle", "ns", each, NAN,
                                         "median of all steps", note)
                                : result;
}

static knResult RunScene(knBenchRun* run, knCcdSceneKind kind)
{
    State s = {.stepCount = 0};
    if (run->options.caseName && !strstr(knCcdSceneName(kind), run->options.caseName))
    {
        return kn_success;
    }
    if (knMakeCcdScene(&s.scene, kind, run->options.quick) != kn_success)
    {
        knBenchRun_Skip(run, knCcdSceneName(kind), knLastError());
        return kn_success;
    }
    s.stepCount = s.scene.stepCount;
    knResult result = kn_success;
    for (int i = 0; i < wayCount && result == kn_success; ++i)
    {
        s.sides[i].taken = calloc((size_t)s.stepCount, sizeof(Taken));
        result = s.sides[i].taken ? knCreateCcdStep(&s.sides[i].step, NULL)
                                  : knFail(kn_errorMemory, "no memory for times");
    }
    result = result == kn_success ? RunSteps(&s) : result;
    result = result == kn_success ? AddTables(run, &s) : result;
    result = result == kn_success && kind == kn_ccdSceneCloth ? AddCullings(run, &s) : result;
    result = result == kn_success && s.breaks > 0 ? AddBreaks(run, &s) : result;
    for (int i = 0; i < wayCount; ++i)
    {
        knDestroyCcdStep(s.sides[i].step);
        free(s.sides[i].taken);
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
