// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#if defined(KN_BENCH_TOOLS)

#include "bench/ccd_peer.h"
#include "bvh/bvh_ccd_internal.h"

#include <math.h>
#include <string.h>

// A whole step (update, search, all contacts, sorted) beside FCL's, one thread, and the time of one
// elementary test. The contacts are compared with the exact answers that come with the frames.

typedef struct State
{
    knPeerMesh mesh;
    knCcdStep* step;
    knCcdStepDef def;
    knCcdPeer* peer;
    size_t peerPairs;
    knCcdTest* tests; // candidates of the step
    size_t testCount;
    knCcdSolver solver;
    size_t contacts;
} State;

static knResult RunOurs(void* context)
{
    State* s = context;
    return knCcdStep_Run(s->step, &s->def);
}

#if defined(KN_BENCH_FCL)

static knResult RestPeer(void* context)
{
    knCcdPeer_Rest(((State*)context)->peer);
    return kn_success;
}

static knResult RunPeer(void* context)
{
    State* s = context;
    s->peerPairs = knCcdPeer_Run(s->peer);
    return kn_success;
}

static knResult TestPeer(void* context)
{
    State* s = context;
    s->contacts = 0;
    for (size_t i = 0; i < s->testCount; ++i)
    {
        s->contacts += knRunPeerTest(&s->tests[i]);
    }
    return kn_success;
}

#endif

static void SetMeasure(knMeasureDef* def, const State* s, const char* metric)
{
    def->caseName = s->mesh.name;
    def->metric = metric;
    def->context = (void*)s;
    def->threadTime = true;
}

#if defined(KN_BENCH_FCL)

// After a measurement: both have run.
static knResult AddPeerVerdict(knBenchRun* run, State* s)
{
    size_t missed;
    knResult result = knCountPeerMissed(s->peer, &s->mesh, s->step, &missed);
    knBenchRow row = knBenchRun_MakeRow(run, s->mesh.name, "contacts the peer misses", "");
    row.peer = (double)missed;
    snprintf(row.peerName, sizeof row.peerName, "FCL, AABB, refit, Newton");
    snprintf(row.note, sizeof row.note, "of ours: no triangles of the features are among its %zu",
             s->peerPairs);
    return result == kn_success ? knBenchRun_AddRow(run, &row) : result;
}

#endif

static knResult MeasureStep(knBenchRun* run, State* s)
{
    knMeasureDef def = knDefaultMeasureDef(run);
    SetMeasure(&def, s, "whole step");
    def.ours = RunOurs;
#if defined(KN_BENCH_FCL)
    s->peer = knCreateCcdPeer(&s->mesh);
    if (!s->peer)
    {
        return knFail(kn_errorMemory, "no memory for the peer");
    }
    def.peer = RunPeer;
    def.beforeRun = RestPeer;
    def.repetitions = 3; // the peer takes seconds
    def.peerName = "FCL, AABB, refit, Newton";
#else
    knBenchRun_Skip(run, "FCL", "not there when this was built");
#endif
    knResult result = knBenchRun_Measure(run, &def);
#if defined(KN_BENCH_FCL)
    result = result == kn_success ? AddPeerVerdict(run, s) : result;
    knDestroyCcdPeer(s->peer);
    s->peer = NULL;
#endif
    return result;
}

static knResult RunAlone(void* context)
{
    State alone = *(State*)context;
    alone.def.tasks = NULL;
    return RunOurs(&alone);
}

// By the clock, as two processors work.
static knResult MeasureThreads(knBenchRun* run, State* s)
{
    knTaskPool* pool = NULL;
    knResult result = knCreateTaskPool(&pool, 2, NULL);
    if (result != kn_success)
    {
        return result;
    }
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    State threaded = *s;
    threaded.def.tasks = &hooks;
    knMeasureDef def = knDefaultMeasureDef(run);
    SetMeasure(&def, &threaded, "whole step, 2 threads");
    def.threadTime = false;
    def.processors = 2;
    def.ours = RunOurs;
    def.peer = RunAlone;
    def.peerName = "ours, 1 thread";
    result = knBenchRun_Measure(run, &def);
    knDestroyTaskPool(pool);
    return result;
}

static knResult MeasureScratch(knBenchRun* run, State* s)
{
    knMeasureDef def = knDefaultMeasureDef(run);
    SetMeasure(&def, s, "whole step, kept");
    def.ours = RunOurs;
    State scratch = *s;
    scratch.def.rebuild = true;
    knMeasurement kept, built;
    def.peerName = "ours, built anew";
    knResult result = knMeasure(&def, &kept);
    def.context = &scratch;
    result = result == kn_success ? knMeasure(&def, &built) : result;
    if (result != kn_success)
    {
        return result;
    }
    knBenchRow row = knBenchRun_MakeRow(run, s->mesh.name, def.metric, "ms");
    row.ours = kept.ours;
    row.worst = kept.worst;
    row.peer = built.ours;
    row.peerWorst = built.worst;
    row.ratio = knBetterRatio(kept.ours, built.ours, false);
    snprintf(row.peerName, sizeof row.peerName, "%s", def.peerName);
    return knBenchRun_AddRow(run, &row);
}

static knResult AddVerdict(knBenchRun* run, State* s, const char* folder, int frame)
{
    knCcdVerdict v;
    knResult result = RunOurs(s);
    if (result != kn_success ||
        knJudgeContacts(folder, frame, s->step, s->mesh.positionCount, &v) != kn_success)
    {
        knBenchRun_Skip(run, "exact answers", knLastError());
        return result;
    }
    knCcdFunnel f = knCcdStep_Funnel(s->step);
    knBenchRow row = knBenchRun_MakeRow(run, s->mesh.name, "missed contacts", "");
    row.ours = (double)v.missed;
    snprintf(row.note, sizeof row.note,
             "%zu true, %zu extra; %llu candidates, %llu left by the filter, %llu steps, %llu "
             "capped",
             v.trueCount, v.extra, (unsigned long long)(f.edgeTests + f.faceTests),
             (unsigned long long)f.exactTests, (unsigned long long)f.steps,
             (unsigned long long)f.cappedTests);
    return knBenchRun_AddRow(run, &row);
}

static knCcdTest TestOf(const State* s, const knEdge* edges, uint64_t key)
{
    const uint64_t mask = ((uint64_t)1 << KN_CCD_FEATURE_BITS) - 1;
    bool isFace = key >> (2 * KN_CCD_FEATURE_BITS) != 0;
    uint32_t a = (uint32_t)(key >> KN_CCD_FEATURE_BITS & mask), b = (uint32_t)(key & mask);
    const uint32_t* f = s->mesh.triangles[isFace ? b : 0].v;
    uint32_t v[4] = {a, f[0], f[1], f[2]};
    for (int i = 0; i < 4 && !isFace; ++i)
    {
        v[i] = edges[i < 2 ? a : b].v[i % 2];
    }
    knCcdTest test = {.kind = isFace ? kn_ccdVertexFace : kn_ccdEdgeEdge};
    for (int i = 0; i < 4; ++i)
    {
        test.start[i] = knToDouble(s->mesh.poses[0][v[i]]);
        test.end[i] = knToDouble(s->mesh.poses[1][v[i]]);
    }
    return test;
}

// Candidates as they come from the boxes, at even distances.
static knResult CollectTests(State* s, size_t most)
{
    knCcdSink* sink = &s->step->sinks[0];
    knCcdFunnel f = knCcdStep_Funnel(s->step);
    size_t all = (size_t)(f.edgeTests + f.faceTests), edgeCount;
    knAllocator a = knDefaultAllocator();
    sink->log = knAllocate(&a, all, sizeof *sink->log);
    s->tests = knAllocate(&a, most, sizeof *s->tests);
    if (!sink->log || !s->tests)
    {
        return kn_errorMemory;
    }
    sink->logCapacity = all;
    s->step->sabotage = kn_sabotageCcdFilter;
    knResult result = RunOurs(s);
    s->step->sabotage = 0;
    const knEdge* edges = knCcdStep_Edges(s->step, &edgeCount);
    for (s->testCount = 0; s->testCount < most && result == kn_success; ++s->testCount)
    {
        s->tests[s->testCount] = TestOf(s, edges, sink->log[s->testCount * (all / most)]);
    }
    knRelease(&a, sink->log, sink->logCapacity, sizeof *sink->log);
    sink->log = NULL;
    sink->logCapacity = sink->logCount = 0;
    return result;
}

static knResult RunTests(void* context)
{
    State* s = context;
    s->contacts = 0;
    for (size_t i = 0; i < s->testCount; ++i)
    {
        knCcdAnswer answer;
        knRunCcdTest(&s->tests[i], s->solver, &answer);
        s->contacts += answer.isContact;
    }
    return kn_success;
}

static knResult MeasureTests(knBenchRun* run, State* s)
{
    static const char* const names[kn_ccdSolverCount] = {"test, conservative", "test, cubic",
                                                         "test, filtered cubic"};
    size_t most = run->options.quick ? 20000 : 200000;
    knResult result = CollectTests(s, most);
    for (int i = 0; i < kn_ccdSolverCount && result == kn_success; ++i)
    {
        s->solver = (knCcdSolver)i;
        result = RunTests(s);
        char note[100];
        snprintf(note, sizeof note, "%zu of %zu candidates touch", s->contacts, s->testCount);
        knMeasureDef def = knDefaultMeasureDef(run);
        SetMeasure(&def, s, names[i]);
        def.unit = "ns";
        def.scale = 1e9 / (double)s->testCount;
        def.ours = RunTests;
        def.note = note;
#if defined(KN_BENCH_FCL)
        def.peer = TestPeer;
        def.peerName = "FCL, Newton";
#endif
        result = result == kn_success ? knBenchRun_Measure(run, &def) : result;
    }
    knAllocator a = knDefaultAllocator();
    knRelease(&a, s->tests, most, sizeof *s->tests);
    s->tests = NULL;
    return result;
}

static knResult RunScene(knBenchRun* run, knPeerScene scene, const char* folder, int frame)
{
    State s = {.def = knDefaultCcdStepDef()};
    if (knMakePeerMesh(&s.mesh, scene) != kn_success)
    {
        knBenchRun_Skip(run, folder, knLastError());
        return kn_success;
    }
    s.def.start = s.mesh.poses[0];
    s.def.end = s.mesh.poses[1];
    s.def.triangles = s.mesh.triangles;
    s.def.vertexCount = s.mesh.positionCount;
    s.def.triangleCount = s.mesh.triangleCount;
    knResult result = knCreateCcdStep(&s.step, NULL);
    result = result == kn_success ? AddVerdict(run, &s, folder, frame) : result;
    result = result == kn_success ? MeasureStep(run, &s) : result;
    result = result == kn_success ? MeasureScratch(run, &s) : result;
    result = result == kn_success ? MeasureThreads(run, &s) : result;
    result = result == kn_success ? MeasureTests(run, &s) : result;
    knDestroyCcdStep(s.step);
    knDestroyPeerMesh(&s.mesh);
    return result;
}

static knResult Run(knBenchRun* run)
{
    knResult result = RunScene(run, kn_peerCloth92, "cloth-ball", 92);
    return result == kn_success ? RunScene(run, kn_peerNBody, "n-body", 18) : result;
}

#else

static knResult Run(knBenchRun* run)
{
    knBenchRun_Skip(run, "all rows", "built without the tools, which read the frames");
    return kn_success;
}

#endif

const knBench knBenchCcdPeers = {"ccd-peers", "continuous collision beside other libraries", Run};
