// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#include "bench/tree_bench.h"
#include "bench/tree_rivals.h"
#include "bench/tree_scenes.h"

// The scenes of the 2006 paper at its three levels of detail: DBVH (lazy) and SWIPER beside the
// rivals that the paper has and beside the module's own method. The script has as many frames as
// the paper's; stretches of it are run, all contenders in turn on each frame.

#define SCRIPT_FRAMES 272
#define STRETCHES     6
#define MAX_LENGTH    6
#define BETWEEN_STEP  3 // frames from one to the next that is not timed
#define MAX_SAMPLES   (STRETCHES * MAX_LENGTH)
#define MAX_KEYS      (1u << 22)

enum ContenderIndex
{
    lazyOne,
    swiperOne,
    moduleOne,    // knBvhScene as it comes
    selectiveOne, // and with selective restructuring
    octreeOne,
    sapOne,
    CONTENDERS
};

static const char* const contenderNames[CONTENDERS] = {"DBVH",
                                                       "SWIPER",
                                                       "module's default",
                                                       "module, selective",
                                                       "octree, anew each frame",
                                                       "sweep and prune, search tree"};

typedef struct Contender
{
    double seconds[MAX_SAMPLES], updates[MAX_SAMPLES];
    bool isIn;
} Contender;

typedef struct Case
{
    char name[64];
    TreeScene scene;
    bool within; // pairs of a body with itself too
    int detail;
    knHierarchy* hierarchies[2]; // lazy, swiper
    knBvhScene* modules[2];      // default, selective
    knBvhQuery* queries[4];
    Octree* octree;
    int octreeDepth;
    Sap* sap;
    knPairSink sink; // of the rivals
    Contender contenders[CONTENDERS];
    int samples;
    size_t pairSum, pairCount;
    double nodeSum, byteSum;
    knHierarchyWork work;
    uint64_t hash;
} Case;

// Over all cases.
typedef struct Totals
{
    GeometricMean lazy, swiper;                   // against the default
    GeometricMean lazySelective, swiperSelective; // against selective restructuring
} Totals;

static knResult StartHierarchy(Case* c, int index)
{
    knHierarchyDef def = knDefaultHierarchyDef();
    def.method = index == lazyOne ? kn_hierarchyLazy : kn_hierarchySwiper;
    knHierarchy** h = &c->hierarchies[index];
    knResult result = knCreateHierarchy(h, &def, NULL);
    const TreeScene* s = &c->scene;
    result = result == kn_success ? knHierarchy_AddVertices(*h, s->positions, s->vertexCount, NULL)
                                  : result;
    for (uint32_t i = 0; i < s->bodyCount && result == kn_success; ++i)
    {
        knId body;
        result = knHierarchy_AddBody(*h, s->triangles + i * s->bodyTriangles, s->bodyTriangles,
                                     NULL, &body);
    }
    return result;
}

static knResult StartModule(Case* c, int index)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhScene** module = &c->modules[index];
    def.update = index == 0 ? def.update : kn_bvhUpdateSelective;
    const TreeScene* s = &c->scene;
    knResult result = knCreateBvhScene(module, &def, NULL);
    result = result == kn_success
                 ? knBvhScene_AddVertices(*module, s->positions, s->vertexCount, NULL)
                 : result;
    for (uint32_t i = 0; i < s->bodyCount && result == kn_success; ++i)
    {
        knId body;
        result = knBvhScene_AddBody(*module, s->triangles + i * s->bodyTriangles, s->bodyTriangles,
                                    NULL, &body);
    }
    return result;
}

static knResult StartCase(Case* c)
{
    knResult result = StartHierarchy(c, lazyOne);
    result = result == kn_success ? StartHierarchy(c, swiperOne) : result;
    result = result == kn_success ? StartModule(c, 0) : result;
    result = result == kn_success ? StartModule(c, 1) : result;
    for (int i = 0; i < 4 && result == kn_success; ++i)
    {
        result = knCreateBvhQuery(&c->queries[i], NULL);
    }
    c->octree = MakeOctree();
    c->sap = MakeSap();
    c->sink.keys = malloc(MAX_KEYS * sizeof *c->sink.keys);
    c->sink.capacity = MAX_KEYS;
    c->contenders[lazyOne].isIn = true;
    c->contenders[moduleOne].isIn = c->contenders[selectiveOne].isIn = true;
    // SWIPER of all bodies would also find what is within them: it competes where that is asked
    c->contenders[swiperOne].isIn = c->contenders[sapOne].isIn = c->within;
    c->contenders[octreeOne].isIn = !c->within;
    return result == kn_success && (!c->octree || !c->sap || !c->sink.keys)
               ? knFail(kn_errorMemory, "no memory for the rivals")
               : result;
}

static void FreeCase(Case* c)
{
    knDestroyHierarchy(c->hierarchies[0]);
    knDestroyHierarchy(c->hierarchies[1]);
    knDestroyBvhScene(c->modules[0]);
    knDestroyBvhScene(c->modules[1]);
    for (int i = 0; i < 4; ++i)
    {
        knDestroyBvhQuery(c->queries[i]);
    }
    FreeOctree(c->octree);
    FreeSap(c->sap);
    free(c->sink.keys);
    FreeTreeScene(&c->scene);
    free(c);
}

static knResult StepMethod(Case* c, int which, double* update)
{
    const TreeScene* s = &c->scene;
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipWithin = !c->within;
    // the bunnies' two tasks: between bodies, or within each
    def.skipBetween = c->within;
    double start = TreeSeconds();
    knResult result;
    if (which >= moduleOne)
    {
        knBvhScene* module = c->modules[which - moduleOne];
        result = knBvhScene_MoveVertices(module, 0, s->vertexCount, s->positions);
        result = result == kn_success ? knBvhScene_Commit(module, NULL) : result;
        *update = TreeSeconds() - start;
        result = result == kn_success ? knBvhQuery_Run(c->queries[which], module, &def) : result;
    }
    else
    {
        knHierarchy* h = c->hierarchies[which];
        result = knHierarchy_MoveVertices(h, 0, s->vertexCount, s->positions);
        result = result == kn_success ? knHierarchy_Update(h) : result;
        *update = TreeSeconds() - start;
        result =
            result == kn_success ? knBvhQuery_RunHierarchy(c->queries[which], h, &def) : result;
    }
    knBvhQuery_Pairs(c->queries[which], &c->pairCount);
    return result;
}

static knResult StepRival(Case* c, int which)
{
    // the lazy hierarchy has the positions of the frame by now
    const knHierarchy* g = c->hierarchies[lazyOne];
    knResetSink(&c->sink, 16.0f, 0, false);
    bool good = which == octreeOne ? MeetByOctree(c->octree, g, c->octreeDepth, &c->sink)
                                   : MeetBySap(c->sap, g, &c->sink);
    c->pairCount = c->sink.count;
    return good ? kn_success : knFail(kn_errorMemory, "no memory for %s", contenderNames[which]);
}

// One frame of all contenders; `sample` of -1 is not timed.
static knResult StepAll(Case* c, int sample)
{
    size_t expected = 0;
    for (int i = 0; i < CONTENDERS; ++i)
    {
        Contender* p = &c->contenders[i];
        if (!p->isIn)
        {
            continue;
        }
        double start = TreeSeconds(), update = 0.0;
        knResult result = i >= octreeOne ? StepRival(c, i) : StepMethod(c, i, &update);
        if (result != kn_success)
        {
            return result;
        }
        if (i == lazyOne)
        {
            expected = c->pairCount;
        }
        else if (c->pairCount != expected)
        {
            return knFail(kn_errorMesh, "%s: %s found %zu pairs, DBVH %zu", c->name,
                          contenderNames[i], c->pairCount, expected);
        }
        if (sample >= 0)
        {
            p->seconds[sample] = TreeSeconds() - start;
            p->updates[sample] = update;
        }
    }
    c->pairCount = expected;
    return kn_success;
}

static void TuneOctree(Case* c)
{
    double best = INFINITY;
    int bestDepth = 4;
    SetTreeFrame(&c->scene, SCRIPT_FRAMES / 2);
    if (knHierarchy_MoveVertices(c->hierarchies[lazyOne], 0, c->scene.vertexCount,
                                 c->scene.positions) != kn_success)
    {
        return;
    }
    for (int depth = 3; depth <= 9; ++depth)
    {
        c->octreeDepth = depth;
        double start = TreeSeconds();
        if (StepRival(c, octreeOne) == kn_success && TreeSeconds() - start < best)
        {
            best = TreeSeconds() - start;
            bestDepth = depth;
        }
    }
    c->octreeDepth = bestDepth;
}

static void NoteSample(Case* c)
{
    knHierarchyInfo info;
    knHierarchy_Info(c->hierarchies[lazyOne], &info);
    c->nodeSum += info.nodeCount;
    c->byteSum += (double)info.bytes;
    c->pairSum += c->pairCount;
}

static void AddWork(knHierarchyWork* sum, const knHierarchyWork* w)
{
    sum->primitiveTests += w->primitiveTests;
    sum->boxTests += w->boxTests;
    sum->fitPrimitives += w->fitPrimitives;
    sum->mergedBoxes += w->mergedBoxes;
    sum->splitPrimitives += w->splitPrimitives;
    sum->foldPrimitives += w->foldPrimitives;
}

// What restructures a part at a time has seen the frames between two stretches.
static knResult RunBetween(Case* c, int from, int to)
{
    knResult result = kn_success;
    for (int frame = from; frame < to && result == kn_success; frame += BETWEEN_STEP)
    {
        double unused;
        SetTreeFrame(&c->scene, frame);
        result = StepMethod(c, selectiveOne, &unused);
    }
    return result;
}

static knResult RunStretches(Case* c, int length)
{
    knResult result = kn_success;
    for (int i = 0, last = 0; i < STRETCHES && result == kn_success; ++i)
    {
        int first = i * (SCRIPT_FRAMES - length - 1) / (STRETCHES - 1);
        result = RunBetween(c, last, first);
        last = first + length;
        // the jump to the stretch is not timed, and sweep and prune starts from sorted lists
        FreeSap(c->sap);
        c->sap = MakeSap();
        result = c->sap ? result : knFail(kn_errorMemory, "no memory for sweep and prune");
        for (int k = 0; k <= length && result == kn_success; ++k)
        {
            SetTreeFrame(&c->scene, first + k);
            c->hash ^= HashPositions(c->scene.positions, c->scene.vertexCount) * (uint64_t)(k + 1);
            knHierarchy_TakeWork(c->hierarchies[lazyOne]);
            result = StepAll(c, k == 0 ? -1 : c->samples);
            if (k > 0 && result == kn_success)
            {
                knHierarchyWork work = knHierarchy_TakeWork(c->hierarchies[lazyOne]);
                AddWork(&c->work, &work);
                NoteSample(c);
                c->samples += 1;
            }
        }
    }
    return result;
}

typedef struct Times
{
    double mean, worst, best, update; // ms
} Times;

static Times TimesOf(const Case* c, int which)
{
    const Contender* p = &c->contenders[which];
    Times t = {0.0, 0.0, INFINITY, 0.0};
    for (int i = 0; i < c->samples; ++i)
    {
        double ms = 1e3 * p->seconds[i];
        t.mean += ms / c->samples;
        t.update += 1e3 * p->updates[i] / c->samples;
        t.worst = fmax(t.worst, ms);
        t.best = fmin(t.best, ms);
    }
    return t;
}

// The paper's speed-ups, mean and worst: by detail.
static void GetPaper(const Case* c, int which, int rival, double paper[2])
{
    static const double octree[2][3][2] = {{{9.5, 10.6}, {10.9, 12.1}, {12.7, 14.8}},
                                           {{4.5, 2.7}, {5.4, 3.8}, {5.8, 3.9}}};
    static const double sap[2][2][3][2] = {
        {{{0.3, 2.2}, {2.2, 15.7}, {28.6, 103.8}}, {{1.3, 3.0}, {7.2, 22.2}, {54.4, 98.3}}},
        {{{1.4, 7.5}, {4.7, 46.0}, {13.6, 63.6}}, {{1.6, 4.3}, {4.4, 8.1}, {12.0, 4.6}}}};
    paper[0] = paper[1] = NAN;
    const double* p = NULL;
    if (rival == octreeOne && which == lazyOne)
    {
        p = octree[c->scene.kind == treeBunnies][c->detail - 1];
    }
    else if (rival == sapOne)
    {
        p = sap[which == swiperOne][c->scene.kind == treeBunnies][c->detail - 1];
    }
    if (p)
    {
        memcpy(paper, p, 2 * sizeof *p);
    }
}

static knResult AddDuel(knBenchRun* run, const Case* c, int which, int rival)
{
    Times a = TimesOf(c, which), b = TimesOf(c, rival);
    char metric[3][32], note[200];
    double paper[2];
    GetPaper(c, which, rival, paper);
    snprintf(metric[0], sizeof metric[0], "%s, mean", contenderNames[which]);
    snprintf(metric[1], sizeof metric[1], "%s, worst frame", contenderNames[which]);
    snprintf(metric[2], sizeof metric[2], "%s, best frame", contenderNames[which]);
    snprintf(note, sizeof note, "update %.3g of it; %zu pairs a frame, equal in all; hash %016llx",
             a.update, c->pairSum / (size_t)c->samples, (unsigned long long)c->hash);
    const double values[3][3] = {
        {a.mean, b.mean, paper[0]}, {a.worst, b.worst, paper[1]}, {a.best, b.best, NAN}};
    knResult result = kn_success;
    for (int i = 0; i < 3 && result == kn_success; ++i)
    {
        TreeRow row = MakeTreeRow(c->name, metric[i], "ms");
        row.ours = values[i][0];
        row.peer = values[i][1];
        row.paper = values[i][2];
        row.peerName = contenderNames[rival];
        row.note = i == 0 ? note : "";
        result = AddTreeRow(run, &row);
    }
    return result;
}

// The numbers of Equations 3 to 5, a frame.
static knResult AddCosts(knBenchRun* run, const Case* c)
{
    const struct
    {
        const char* name;
        uint64_t count;
    } costs[] = {{"Np, primitive tests", c->work.primitiveTests},
                 {"Nb, box tests", c->work.boxTests},
                 {"Ng, primitives fitted", c->work.fitPrimitives},
                 {"Nu, boxes merged", c->work.mergedBoxes},
                 {"Ns, primitives split", c->work.splitPrimitives},
                 {"Nd, primitives folded", c->work.foldPrimitives}};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof costs / sizeof costs[0] && result == kn_success; ++i)
    {
        TreeRow row = MakeTreeRow(c->name, costs[i].name, "a triangle");
        row.ours = (double)costs[i].count / c->samples / c->scene.triangleCount;
        result = AddTreeRow(run, &row);
    }
    return result;
}

// Nodes of the tree that there is beside those of one that is split everywhere.
static knResult AddMemory(knBenchRun* run, Case* c)
{
    knHierarchy* h = c->hierarchies[lazyOne];
    knBvhQueryDef def = knDefaultBvhQueryDef();
    knHierarchyInfo full;
    def.skipBetween = true; // goes everywhere in every body
    knResult result = knBvhQuery_RunHierarchy(c->queries[lazyOne], h, &def);
    knHierarchy_Info(h, &full);
    TreeRow nodes = MakeTreeRow(c->name, "DBVH, nodes", "a triangle");
    nodes.ours = c->nodeSum / c->samples / c->scene.triangleCount;
    nodes.peer = (double)full.nodeCount / c->scene.triangleCount;
    nodes.peerName = "full tree";
    nodes.note = "48 bytes a node";
    result = result == kn_success ? AddTreeRow(run, &nodes) : result;
    knBvhSceneInfo info;
    knBvhScene_Info(c->modules[0], &info);
    TreeRow bytes = MakeTreeRow(c->name, "DBVH, memory", "bytes a tri.");
    bytes.ours = c->byteSum / c->samples / c->scene.triangleCount;
    bytes.peer = (double)info.bytes / c->scene.triangleCount;
    bytes.peerName = contenderNames[moduleOne];
    bytes.note = "all that is held: vertices, triangles, scratch";
    return result == kn_success ? AddTreeRow(run, &bytes) : result;
}

static void NoteTotals(const Case* c, Totals* totals)
{
    double refit = TimesOf(c, moduleOne).mean, selective = TimesOf(c, selectiveOne).mean;
    double lazy = TimesOf(c, lazyOne).mean, swiper = TimesOf(c, swiperOne).mean;
    AddToMean(&totals->lazy, refit / lazy);
    AddToMean(&totals->lazySelective, selective / lazy);
    if (c->within)
    {
        AddToMean(&totals->swiper, refit / swiper);
        AddToMean(&totals->swiperSelective, selective / swiper);
    }
}

static knResult AddRows(knBenchRun* run, Case* c, Totals* totals)
{
    int rival = c->within ? sapOne : octreeOne;
    knResult result = AddDuel(run, c, lazyOne, rival);
    NoteTotals(c, totals);
    result = result == kn_success ? AddDuel(run, c, lazyOne, selectiveOne) : result;
    result = result == kn_success ? AddDuel(run, c, lazyOne, moduleOne) : result;
    if (c->within)
    {
        result = result == kn_success ? AddDuel(run, c, swiperOne, rival) : result;
        result = result == kn_success ? AddDuel(run, c, swiperOne, moduleOne) : result;
    }
    result = result == kn_success ? AddCosts(run, c) : result;
    return result == kn_success ? AddMemory(run, c) : result;
}

static knResult RunCase(knBenchRun* run, TreeSceneKind kind, bool within, int detail,
                        Totals* totals)
{
    Case* c = calloc(1, sizeof *c);
    if (!c || !MakeTreeScene(&c->scene, kind, detail, SCRIPT_FRAMES))
    {
        free(c);
        return knFail(kn_errorMemory, "no memory for the scene");
    }
    c->within = within;
    c->detail = detail;
    snprintf(c->name, sizeof c->name, "%s %s, LOD%d, %u x %u", TreeSceneName(kind),
             within ? "within" : "between", detail, c->scene.bodyCount, c->scene.bodyTriangles);
    knResult result = StartCase(c);
    if (result == kn_success && !within)
    {
        TuneOctree(c);
    }
    int length = run->options.quick ? 2 : (detail == 3 ? 2 : MAX_LENGTH);
    result = result == kn_success ? RunStretches(c, length) : result;
    result = result == kn_success ? AddRows(run, c, totals) : result;
    FreeCase(c);
    return result;
}

static knResult AddTotals(knBenchRun* run, const Totals* totals)
{
    const struct
    {
        const char* name;
        const GeometricMean* mean;
    } means[] = {{"DBVH / default", &totals->lazy},
                 {"DBVH / selective", &totals->lazySelective},
                 {"SWIPER / default", &totals->swiper},
                 {"SWIPER / selective", &totals->swiperSelective}};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof means / sizeof means[0] && result == kn_success; ++i)
    {
        TreeRow row = MakeTreeRow("all, geometric mean", means[i].name, "times faster");
        row.ours = MeanOf(means[i].mean);
        row.note = "update and query; below 1: the module is faster";
        result = AddTreeRow(run, &row);
    }
    return result;
}

static knResult Run(knBenchRun* run)
{
    static const struct
    {
        TreeSceneKind kind;
        bool within;
    } tasks[] = {
        {treeSpheres, false}, {treeBunnies, false}, {treeTeapot, true}, {treeBunnies, true}};
    Totals totals;
    memset(&totals, 0, sizeof totals);
    knResult result = kn_success;
    int details = run->options.quick ? 2 : 3;
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; ++i)
    {
        for (int detail = 1; detail <= details && result == kn_success; ++detail)
        {
            result = RunCase(run, tasks[i].kind, tasks[i].within, detail, &totals);
        }
    }
    return result == kn_success ? AddTotals(run, &totals) : result;
}

const knBench knBenchBvhDynamic = {"bvh-dynamic",
                                   "lazy hierarchies and SWIPER on bodies that fly apart", Run};
