// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#if defined(KN_BENCH_TOOLS)

#include "bench/bvh_peer.h"
#include "knap/bvh.h"

#include <math.h>
#include <string.h>

// Build, refit, query and a whole step beside other libraries, one thread, on the same surface and
// with the same output: pairs that meet and share no vertex, sorted.

typedef struct State
{
    knPeerMesh mesh;
    knBvhSceneDef def;
    knBvhScene* scene;
    knBvhQuery* query;
    knBvhQueryDef queryDef;
    const knBvhPeer* peer;
    void* peerData;
    const uint64_t* keys;
    size_t keyCount;
} State;

static knResult BuildOurs(void* context)
{
    State* s = context;
    knDestroyBvhScene(s->scene);
    s->scene = NULL;
    knResult result = knCreateBvhScene(&s->scene, &s->def, NULL);
    if (result == kn_success)
    {
        result = knBvhScene_AddVertices(s->scene, s->mesh.positions, s->mesh.positionCount, NULL);
    }
    if (result == kn_success)
    {
        result = knBvhScene_AddBody(s->scene, s->mesh.triangles, s->mesh.triangleCount, NULL, NULL);
    }
    return result == kn_success ? knBvhScene_Commit(s->scene, NULL) : result;
}

static knResult RefitOurs(void* context)
{
    State* s = context;
    knResult result =
        knBvhScene_MoveVertices(s->scene, 0, s->mesh.positionCount, s->mesh.positions);
    return result == kn_success ? knBvhScene_Commit(s->scene, NULL) : result;
}

static knResult QueryOurs(void* context)
{
    State* s = context;
    return knBvhQuery_Run(s->query, s->scene, &s->queryDef);
}

// To the second pose and back: both sides see both, whatever the order of the samples.
static knResult Alternate(State* s, knBenchFcn* step)
{
    knResult result = kn_success;
    for (int pose = 1; pose >= 0 && result == kn_success; --pose)
    {
        knPeerMesh_SetPose(&s->mesh, pose);
        result = step(s);
    }
    return result;
}

static knResult StepOurs(void* context)
{
    knResult result = RefitOurs(context);
    return result == kn_success ? QueryOurs(context) : result;
}

static knResult StepOursTwice(void* context)
{
    return Alternate(context, StepOurs);
}

static knResult RefitOursTwice(void* context)
{
    return Alternate(context, RefitOurs);
}

static knResult BuildPeer(void* context)
{
    State* s = context;
    s->peer->build(s->peerData);
    return kn_success;
}

static knResult RefitPeer(void* context)
{
    State* s = context;
    s->peer->refit(s->peerData);
    return kn_success;
}

static knResult QueryPeer(void* context)
{
    State* s = context;
    s->keyCount = s->peer->query(s->peerData, &s->keys);
    return kn_success;
}

static knResult StepPeer(void* context)
{
    State* s = context;
    s->peer->refit ? s->peer->refit(s->peerData) : s->peer->build(s->peerData);
    return QueryPeer(context);
}

static knResult StepPeerTwice(void* context)
{
    return Alternate(context, StepPeer);
}

static knResult RefitPeerTwice(void* context)
{
    return Alternate(context, RefitPeer);
}

static knResult FirstPose(void* context)
{
    State* s = context;
    knPeerMesh_SetPose(&s->mesh, 0);
    knResult result = RefitOurs(s);
    s->peer->refit ? s->peer->refit(s->peerData) : s->peer->build(s->peerData);
    return result;
}

static size_t CountDifferences(const State* s)
{
    if (!s->peer->query)
    {
        return 0;
    }
    size_t count, i = 0, k = 0, differences = 0;
    const knBvhPair* pairs = knBvhQuery_Pairs(s->query, &count);
    while (i < count || k < s->keyCount)
    {
        uint64_t ours = i < count ? (uint64_t)pairs[i].a << 32 | pairs[i].b : UINT64_MAX;
        uint64_t theirs = k < s->keyCount ? s->keys[k] : UINT64_MAX;
        differences += ours != theirs;
        i += ours <= theirs;
        k += theirs <= ours;
    }
    return differences;
}

static knResult Measure(knBenchRun* run, State* s, const char* metric, knBenchFcn* ours,
                        knBenchFcn* peer)
{
    knMeasureDef def = knDefaultMeasureDef(run);
    char note[200];
    size_t differences = CountDifferences(s);
    snprintf(note, sizeof note, "%s%s", s->peer->note, s->peer->query ? "; pairs equal" : "");
    if (differences > 0)
    {
        snprintf(note, sizeof note, "%s; %zu pairs differ", s->peer->note, differences);
    }
    def.caseName = s->mesh.name;
    def.metric = metric;
    def.ours = ours;
    def.peer = peer;
    def.context = s;
    def.peerName = s->peer->name;
    def.note = note;
    int most = run->options.quick || s->mesh.triangleCount > 200000 ? 3 : 9;
    def.repetitions = s->peer->repetitions < most ? s->peer->repetitions : most;
    def.threadTime = true;
    bool isTwice = strcmp(metric, "refit") == 0 || strcmp(metric, "update and query") == 0;
    def.scale *= isTwice ? 0.5 : 1.0;
    return knBenchRun_Measure(run, &def);
}

static knResult MeasureQueries(knBenchRun* run, State* s)
{
    knResult result = FirstPose(s);
    if (result == kn_success)
    {
        QueryPeer(s);
        result = QueryOurs(s);
    }
    result = result == kn_success ? Measure(run, s, "query", QueryOurs, QueryPeer) : result;
    return result == kn_success ? Measure(run, s, "update and query", StepOursTwice, StepPeerTwice)
                                : result;
}

static knResult MeasurePeer(knBenchRun* run, State* s)
{
    s->peerData = s->peer->create(&s->mesh);
    if (!s->peerData)
    {
        return knFail(kn_errorMemory, "%s could not be set up", s->peer->name);
    }
    s->peer->build(s->peerData);
    knResult result = s->peer->query ? MeasureQueries(run, s) : kn_success;
    if (result == kn_success && s->peer->refit)
    {
        result = Measure(run, s, "refit", RefitOursTwice, RefitPeerTwice);
    }
    if (result == kn_success && s->peer->hasBuild)
    {
        result = Measure(run, s, "build", BuildOurs, BuildPeer);
    }
    s->peer->destroy(s->peerData);
    return result;
}

static knResult AddCount(knBenchRun* run, const State* s, const char* metric, uint64_t count)
{
    knBenchRow row = knBenchRun_MakeRow(run, s->mesh.name, metric, "");
    row.ours = (double)count;
    return knBenchRun_AddRow(run, &row);
}

// The way from all pairs to those reported.
static knResult AddFunnel(knBenchRun* run, State* s)
{
    knResult result = BuildOurs(s);
    result = result == kn_success ? QueryOurs(s) : result;
    knBvhFunnel f = knBvhQuery_Funnel(s->query);
    knBvhSceneInfo info;
    knBvhScene_Info(s->scene, &info);
    const struct
    {
        const char* name;
        uint64_t count;
    } gates[] = {{"node tests", f.nodeTests},
                 {"culled nodes", f.culledNodes},
                 {"leaf pairs", f.leafPairs},
                 {"box pairs", f.boxPairs},
                 {"filter survivors", f.filterPairs},
                 {"exact signs", f.exactSigns},
                 {"pairs", f.reportedPairs},
                 {"bytes a triangle", info.bytes / (info.triangleCount + 1)}};
    for (size_t i = 0; i < sizeof gates / sizeof gates[0] && result == kn_success; ++i)
    {
        result = AddCount(run, s, gates[i].name, gates[i].count);
    }
    return result;
}

// Another way to do it ourselves, as a peer.
typedef struct Ablation
{
    State* state;
    knBvhScene* scene;
    knBvhQuery* query;
} Ablation;

static knResult StepBase(void* context)
{
    return StepOursTwice(((Ablation*)context)->state);
}

static knResult StepAblated(void* context)
{
    Ablation* a = context;
    const knPeerMesh* m = &a->state->mesh;
    knResult result = kn_success;
    for (int pose = 1; pose >= 0 && result == kn_success; --pose)
    {
        result = knBvhScene_MoveVertices(a->scene, 0, m->positionCount, m->poses[pose]);
        result = result == kn_success ? knBvhScene_Commit(a->scene, NULL) : result;
        result =
            result == kn_success ? knBvhQuery_Run(a->query, a->scene, &a->state->queryDef) : result;
    }
    return result;
}

static knResult MeasureAblation(knBenchRun* run, State* s, const knBvhSceneDef* other,
                                const char* name)
{
    Ablation a = {.state = s};
    const knPeerMesh* m = &s->mesh;
    knResult result = knCreateBvhScene(&a.scene, other, NULL);
    result = result == kn_success ? knCreateBvhQuery(&a.query, NULL) : result;
    if (result == kn_success)
    {
        result = knBvhScene_AddVertices(a.scene, m->positions, m->positionCount, NULL);
    }
    if (result == kn_success)
    {
        result = knBvhScene_AddBody(a.scene, m->triangles, m->triangleCount, NULL, NULL);
    }
    knMeasureDef def = knDefaultMeasureDef(run);
    def.caseName = m->name;
    def.metric = "update and query";
    def.ours = StepBase;
    def.peer = StepAblated;
    def.scale *= 0.5;
    def.context = &a;
    def.peerName = name;
    def.note = "ablation";
    def.threadTime = true;
    def.repetitions = run->options.quick || m->triangleCount > 200000 ? 3 : 9;
    result = result == kn_success ? knBenchRun_Measure(run, &def) : result;
    knDestroyBvhScene(a.scene);
    knDestroyBvhQuery(a.query);
    return result;
}

static knResult MeasureAblations(knBenchRun* run, State* s)
{
    static const struct
    {
        const char* name;
        int culling, build, instructions; // -1: the default
    } ways[] = {{"ours, culling off", kn_bvhCullNothing, -1, -1},
                {"ours, dual cones", kn_bvhCullDualCones, -1, -1},
                {"ours, median build", -1, kn_bvhBuildMedian, -1},
                {"ours, grid build", -1, kn_bvhBuildGrid, -1},
                {"ours, SSE", -1, -1, kn_instructionsSse},
                {"ours, scalar", -1, -1, kn_instructionsScalar}};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && result == kn_success; ++i)
    {
        knBvhSceneDef def = s->def;
        def.culling = ways[i].culling < 0 ? def.culling : (knBvhCulling)ways[i].culling;
        def.build = ways[i].build < 0 ? def.build : (knBvhBuild)ways[i].build;
        def.instructions =
            ways[i].instructions < 0 ? def.instructions : (knInstructionSet)ways[i].instructions;
        result = MeasureAblation(run, s, &def, ways[i].name);
    }
    return result;
}

typedef struct Threads
{
    State* state;
    knTaskHooks hooks;
} Threads;

static knResult QueryWithWorkers(void* context)
{
    Threads* t = context;
    knBvhQueryDef def = t->state->queryDef;
    def.tasks = &t->hooks;
    return knBvhQuery_Run(t->state->query, t->state->scene, &def);
}

static knResult QueryAlone(void* context)
{
    return QueryOurs(((Threads*)context)->state);
}

static knResult MeasureThreads(knBenchRun* run, State* s)
{
    knTaskPool* pool = NULL;
    knResult result = knCreateTaskPool(&pool, 2, NULL);
    if (result != kn_success)
    {
        return result;
    }
    Threads threads = {s, knTaskPool_Hooks(pool)};
    knMeasureDef def = knDefaultMeasureDef(run);
    def.caseName = s->mesh.name;
    def.metric = "query, 2 workers";
    def.ours = QueryWithWorkers;
    def.peer = QueryAlone;
    def.peerName = "ours, 1 worker";
    def.context = &threads;
    def.processors = 2;
    result = knBenchRun_Measure(run, &def);
    knDestroyTaskPool(pool);
    return result;
}

static const knBvhPeer* const peers[] = {
#if defined(KN_BENCH_EMBREE)
    &knEmbreePeer, &knEmbreeRefitPeer,
#endif
#if defined(KN_BENCH_FCL)
    &knFclPeer,
#endif
#if defined(KN_BENCH_CGAL)
    &knCgalPeer,   &knCgalTreePeer,
#endif
    NULL};

static knResult MeasureScene(knBenchRun* run, State* s)
{
    knResult result = AddFunnel(run, s);
    for (int i = 0; peers[i] && result == kn_success; ++i)
    {
        s->peer = peers[i];
        result = MeasurePeer(run, s);
    }
    result = result == kn_success ? MeasureAblations(run, s) : result;
    return result == kn_success ? MeasureThreads(run, s) : result;
}

static knResult Run(knBenchRun* run)
{
    State s = {.def = knDefaultBvhSceneDef(), .queryDef = knDefaultBvhQueryDef()};
    s.queryDef.skipAdjacent = true;
    knResult result = knCreateBvhQuery(&s.query, NULL);
    for (int i = 0; i < kn_peerSceneCount && result == kn_success; ++i)
    {
        const char* only = run->options.caseName;
        bool isNamed = !only || strstr(knPeerSceneName((knPeerScene)i), only);
        if (!isNamed || (run->options.quick && !only && i != kn_peerCloth92))
        {
            continue;
        }
        if (knMakePeerMesh(&s.mesh, (knPeerScene)i) != kn_success)
        {
            knBenchRun_Skip(run, "a surface", knLastError());
            continue;
        }
        result = MeasureScene(run, &s);
        knDestroyBvhScene(s.scene);
        s.scene = NULL;
        knDestroyPeerMesh(&s.mesh);
    }
    knDestroyBvhQuery(s.query);
    return result;
}

#else

static knResult Run(knBenchRun* run)
{
    knBenchRun_Skip(run, "all rows", "built without the tools, which read the frames");
    return kn_success;
}

#endif

const knBench knBenchBvhPeers = {"bvh-peers", "pairs of triangle surfaces beside other libraries",
                                 Run};
