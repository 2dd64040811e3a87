// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "bench/bvh_wall_bench.h"

#include "bench/bvh_hash.h"
#include "bench/bvh_walls.h"
#include "bvh/bvh_internal.h"

#include <time.h>

// The breaking walls of FASTCD: 80 frames, 8 of them with a wall that breaks. All ways to keep the
// hierarchy see the same changes and must find as many pairs as spatial hashing.

#define FRAMES  80
#define METHODS 6
#define HASH    (METHODS - 1) // the last one is no hierarchy
#define PERIOD  (FRAMES / WALLS)

enum Phase
{
    phaseMesh,
    phaseUpdate,
    phaseQuery,
    PHASE_COUNT
};

typedef struct Method
{
    const char* name;
    knBvhBuild build;
    knBvhUpdate update;
    float volumeRatio;
    knBvhScene* scene;
    knBvhQuery* query;
    knId walls[WALLS];
    double seconds[FRAMES];
    uint64_t nodeTests;
    double phases[2][PHASE_COUNT]; // of all frames, of those with a break
} Method;

typedef struct Bench
{
    Walls walls;
    Method methods[METHODS];
    SpatialHash* hash;
    size_t pairCount;
} Bench;

static double ProcessorSeconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool IsBreak(int frame)
{
    return frame % PERIOD == PERIOD / 2;
}

static knResult StartMethod(Bench* b, Method* m)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.build = m->build;
    def.update = m->update;
    knResult result = knCreateBvhScene(&m->scene, &def, NULL);
    result = result == kn_success ? knCreateBvhQuery(&m->query, NULL) : result;
    if (result == kn_success)
    {
        m->scene->volumeRatio = m->volumeRatio;
        result = knBvhScene_AddVertices(m->scene, b->walls.rest, b->walls.vertexCount, NULL);
    }
    for (uint32_t i = 0; i < WALLS && result == kn_success; ++i)
    {
        result = knBvhScene_AddBody(m->scene, b->walls.triangles + i * WallTriangleCount(),
                                    WallTriangleCount(), NULL, &m->walls[i]);
    }
    return result;
}

// The wall goes and its pieces come, the last triangles of the walls.
static knResult ReplaceWall(Bench* b, Method* m)
{
    const Walls* w = &b->walls;
    uint32_t count = PieceTriangleCount(), wall = (uint32_t)w->brokenCount - 1;
    knResult result = knBvhScene_DeleteBody(m->scene, m->walls[wall]);
    if (result == kn_success)
    {
        result = knBvhScene_AddVertices(m->scene, w->rest + w->pieceFirst[wall],
                                        PIECES * PieceVertexCount(), NULL);
    }
    for (uint32_t i = 0; i < PIECES && result == kn_success; ++i)
    {
        const knTriangle* first = w->triangles + w->triangleCount - (PIECES - i) * count;
        result = knBvhScene_AddBody(m->scene, first, count, NULL, NULL);
    }
    return result;
}

static knResult StepMethod(Bench* b, Method* m, int frame, size_t* pairCount)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipAdjacent = true;
    double times[PHASE_COUNT + 1] = {ProcessorSeconds()};
    knResult result = IsBreak(frame) ? ReplaceWall(b, m) : kn_success;
    times[1] = ProcessorSeconds();
    if (result == kn_success)
    {
        result = knBvhScene_MoveVertices(m->scene, 0, b->walls.vertexCount, b->walls.positions);
    }
    result = result == kn_success ? knBvhScene_Commit(m->scene, NULL) : result;
    times[2] = ProcessorSeconds();
    result = result == kn_success ? knBvhQuery_Run(m->query, m->scene, &def) : result;
    times[3] = ProcessorSeconds();
    knBvhQuery_Pairs(m->query, pairCount);
    m->nodeTests += knBvhQuery_Funnel(m->query).nodeTests;
    m->seconds[frame] = times[3] - times[0];
    for (int i = 0; i < PHASE_COUNT; ++i)
    {
        m->phases[0][i] += times[i + 1] - times[i];
        m->phases[1][i] += IsBreak(frame) ? times[i + 1] - times[i] : 0.0;
    }
    return result;
}

static knResult StepHash(Bench* b, int frame, size_t* pairCount)
{
    double start = ProcessorSeconds();
    knResult result = SpatialHash_Run(b->hash, b->walls.positions, b->walls.triangles,
                                      b->walls.triangleCount, pairCount);
    b->methods[HASH].seconds[frame] = ProcessorSeconds() - start;
    return result;
}

static knResult StepAll(Bench* b, int frame)
{
    size_t expected = 0;
    if (IsBreak(frame))
    {
        BreakWall(&b->walls);
    }
    MoveWalls(&b->walls, frame, PERIOD);
    knResult result = StepHash(b, frame, &expected);
    for (int i = 0; i < HASH && result == kn_success; ++i)
    {
        Method* m = &b->methods[(i + frame) % HASH];
        size_t count = 0;
        result = StepMethod(b, m, frame, &count);
        if (result == kn_success && count != expected)
        {
            result = knFail(kn_errorMesh, "frame %d: %s found %zu pairs, hashing %zu", frame,
                            m->name, count, expected);
        }
    }
    b->pairCount = expected;
    return result;
}

static double MeanOf(const Method* m, bool breaksOnly)
{
    double sum = 0.0;
    int count = 0;
    for (int i = 0; i < FRAMES; ++i)
    {
        bool isTaken = IsBreak(i) || !breaksOnly;
        sum += isTaken ? m->seconds[i] : 0.0;
        count += isTaken;
    }
    return 1e3 * sum / count;
}

// What there is to gain by a better tree.
static knResult AddNodeTests(knBenchRun* run, const Method* ours, const Method* peer)
{
    knBenchRow row = knBenchRun_MakeRow(run, "walls", "node tests a frame", "K");
    row.ours = 1e-3 * (double)ours->nodeTests / FRAMES;
    row.peer = 1e-3 * (double)peer->nodeTests / FRAMES;
    row.ratio = knBetterRatio(row.ours, row.peer, false);
    snprintf(row.peerName, sizeof row.peerName, "%s", peer->name);
    return peer->nodeTests > 0 ? knBenchRun_AddRow(run, &row) : kn_success;
}

static knResult AddRow(knBenchRun* run, const Bench* b, const char* metric, const Method* peer,
                       const double ms[2])
{
    char caseName[64];
    snprintf(caseName, sizeof caseName, "walls, to %uK, 8 of 80", b->walls.triangleCount / 1000);
    knBenchRow row = knBenchRun_MakeRow(run, caseName, metric, "ms");
    row.ours = ms[0];
    row.peer = ms[1];
    row.ratio = knBetterRatio(ms[0], ms[1], false);
    snprintf(row.peerName, sizeof row.peerName, "%s", peer->name);
    snprintf(row.note, sizeof row.note, "processor time; %zu pairs in the last frame, equal in all",
             b->pairCount);
    return knBenchRun_AddRow(run, &row);
}

static knResult AddShares(knBenchRun* run, const Method* m)
{
    static const char* const names[2][PHASE_COUNT] = {
        {"share of mesh update", "share of update", "share of query"},
        {"mesh update at breaks", "update at breaks", "query at breaks"}};
    static const double paper[2][PHASE_COUNT] = {{8.0, 24.0, 68.0}, {NAN, 35.0, NAN}};
    knResult result = kn_success;
    for (int i = 0; i < 2 * PHASE_COUNT && result == kn_success; ++i)
    {
        const double* p = m->phases[i / PHASE_COUNT];
        knBenchRow row =
            knBenchRun_MakeRow(run, "walls", names[i / PHASE_COUNT][i % PHASE_COUNT], "%");
        row.ours = 100.0 * p[i % PHASE_COUNT] / (p[0] + p[1] + p[2]);
        row.paper = paper[i / PHASE_COUNT][i % PHASE_COUNT];
        result = knBenchRun_AddRow(run, &row);
    }
    return result;
}

static knResult AddRows(knBenchRun* run, Bench* b)
{
    knResult result = AddShares(run, &b->methods[0]);
    for (int i = 1; i < METHODS && result == kn_success; ++i)
    {
        Method *ours = &b->methods[0], *m = &b->methods[i];
        double mean[2] = {MeanOf(ours, false), MeanOf(m, false)};
        double breaks[2] = {MeanOf(ours, true), MeanOf(m, true)};
        double worst[2] = {1e3 * knWorst(ours->seconds, FRAMES), 1e3 * knWorst(m->seconds, FRAMES)};
        result = AddNodeTests(run, ours, m);
        result = result == kn_success ? AddRow(run, b, "step, mean", m, mean) : result;
        result = result == kn_success ? AddRow(run, b, "event frames", m, breaks) : result;
        result = result == kn_success ? AddRow(run, b, "step, worst", m, worst) : result;
    }
    return result;
}

knResult knMeasureWalls(knBenchRun* run)
{
    static const Method methods[METHODS] = {
        {.name = "ours", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateSelective},
        {.name = "LM ratio 0.9, median build",
         .build = kn_bvhBuildMedian,
         .update = kn_bvhUpdateSelective,
         .volumeRatio = 0.9f},
        {.name = "refit only", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateRefit},
        {.name = "rebuild, median", .build = kn_bvhBuildMedian, .update = kn_bvhUpdateRebuild},
        {.name = "rebuild, midpoint", .build = kn_bvhBuildMidpoint, .update = kn_bvhUpdateRebuild},
        {.name = "spatial hashing"}};
    Bench* b = calloc(1, sizeof *b);
    knResult result = kn_success;
    if (!b || !MakeWalls(&b->walls) || !(b->hash = MakeSpatialHash()))
    {
        result = knFail(kn_errorMemory, "no memory for the walls");
    }
    else
    {
        memcpy(b->methods, methods, sizeof methods);
    }
    for (int i = 0; i < HASH && result == kn_success; ++i)
    {
        result = StartMethod(b, &b->methods[i]);
    }
    for (int frame = 0; frame < FRAMES && result == kn_success; ++frame)
    {
        result = StepAll(b, frame);
    }
    result = result == kn_success ? AddRows(run, b) : result;
    for (int i = 0; i < HASH && b; ++i)
    {
        knDestroyBvhScene(b->methods[i].scene);
        knDestroyBvhQuery(b->methods[i].query);
    }
    if (b)
    {
        FreeWalls(&b->walls);
        FreeSpatialHash(b->hash);
    }
    free(b);
    return result;
}
