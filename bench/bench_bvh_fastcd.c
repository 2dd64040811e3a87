// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "bench/benches.h"

#include "bench/bvh_wall_bench.h"
#include "knap/bvh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A displaced sphere that loses a quarter of its cells at each of four events, as the exploding
// dragon of FASTCD: ways to keep the hierarchy, frame by frame in turn on the same changes.

#define CELL        16 // squares along the side of a cell
#define CELL_POINTS ((CELL + 1) * (CELL + 1))
#define EVENTS      4
#define MAX_FRAMES  64
#define METHODS     4

typedef struct Method
{
    const char* name;
    knBvhBuild build;
    knBvhUpdate update;
    knBvhScene* scene;
    knBvhQuery* query;
    knId shell; // what has not yet flown off
    double seconds[MAX_FRAMES];
} Method;

typedef struct Explosion
{
    uint32_t side; // cells along each axis of the grid on the sphere
    uint32_t cellCount, positionCount, triangleCount;
    int frameCount;
    knVec3* rest;
    knVec3* positions;
    knTriangle* triangles;
    uint32_t* ids; // of a split
    uint32_t* parts;
    knId* bodies;
    Method methods[METHODS];
    size_t pairCount; // of the last frame
} Explosion;

// Cells keep off each other by a little, or every seam would be a contact.
static knVec3 PlaceVertex(const Explosion* e, uint32_t cell, uint32_t i)
{
    const double turn = 6.283185307179586;
    double u = 0.5 + 0.998 * ((double)(i / (CELL + 1)) / CELL - 0.5) + cell / e->side;
    double v = 0.5 + 0.998 * ((double)(i % (CELL + 1)) / CELL - 0.5) + cell % e->side;
    double polar = 0.5 * turn * (0.02 + 0.96 * u / e->side), around = turn * v / e->side;
    double radius = 1.0 + 0.05 * sin(9.0 * polar) * sin(12.0 * around);
    return knMakeVec3((float)(radius * sin(polar) * cos(around)),
                      (float)(radius * sin(polar) * sin(around)), (float)(radius * cos(polar)));
}

static knResult MakeExplosion(Explosion* e, bool quick)
{
    e->side = quick ? 6 : 22;
    e->frameCount = quick ? 16 : 40;
    e->cellCount = e->side * e->side;
    e->positionCount = e->cellCount * CELL_POINTS;
    e->triangleCount = e->cellCount * 2 * CELL * CELL;
    e->rest = malloc(e->positionCount * sizeof *e->rest);
    e->positions = malloc(e->positionCount * sizeof *e->positions);
    e->triangles = malloc(e->triangleCount * sizeof *e->triangles);
    e->ids = malloc(e->triangleCount * sizeof *e->ids);
    e->parts = malloc(e->triangleCount * sizeof *e->parts);
    e->bodies = malloc((e->cellCount + 1) * sizeof *e->bodies);
    if (!e->rest || !e->positions || !e->triangles || !e->ids || !e->parts || !e->bodies)
    {
        return knFail(kn_errorMemory, "no memory for the shell");
    }
    for (uint32_t i = 0; i < e->positionCount; ++i)
    {
        e->rest[i] = PlaceVertex(e, i / CELL_POINTS, i % CELL_POINTS);
    }
    for (uint32_t i = 0; i < e->triangleCount / 2; ++i)
    {
        uint32_t square = i % (CELL * CELL), base = i / (CELL * CELL) * CELL_POINTS;
        uint32_t a = base + square / CELL * (CELL + 1) + square % CELL, b = a + CELL + 1;
        e->triangles[2 * i] = (knTriangle){{a, b, a + 1}};
        e->triangles[2 * i + 1] = (knTriangle){{b, b + 1, a + 1}};
    }
    return kn_success;
}

static int EventFrame(const Explosion* e, uint32_t event)
{
    return (int)(event + 1) * e->frameCount / (EVENTS + 2);
}

// Cells of an event fly outwards, turning a little, from its frame on.
static void SetPositions(Explosion* e, int frame)
{
    for (uint32_t cell = 0; cell < e->cellCount; ++cell)
    {
        int age = frame - EventFrame(e, cell % EVENTS);
        knVec3 middle = e->rest[cell * CELL_POINTS + CELL_POINTS / 2];
        float t = age > 0 ? 0.02f * (float)age : 0.0f;
        knVec3 away = knScale(t * (1.0f + 0.1f * (float)(cell % 7)), middle);
        knQuat turn = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 2.0f * t * (float)(cell % 5));
        for (uint32_t i = cell * CELL_POINTS; i < (cell + 1) * CELL_POINTS; ++i)
        {
            knVec3 offset = knRotate(turn, knSub(e->rest[i], middle));
            e->positions[i] = knAdd(knAdd(middle, offset), away);
        }
    }
}

static bool IsInShell(uint32_t cell, uint32_t event)
{
    return cell % EVENTS >= event;
}

// The shell splits into what stays and one body for each cell that goes.
static knResult SplitShell(Explosion* e, Method* m, uint32_t event)
{
    knBvhSplit split = {m->shell, e->ids, e->parts, 0, 1};
    for (uint32_t cell = 0; cell < e->cellCount; ++cell)
    {
        bool goes = cell % EVENTS == event;
        uint32_t part = goes ? split.partCount++ : 0, first = cell * 2 * CELL * CELL;
        for (uint32_t i = first; i < first + 2 * CELL * CELL && IsInShell(cell, event); ++i)
        {
            e->ids[split.triangleCount] = i;
            e->parts[split.triangleCount++] = part;
        }
    }
    knResult result = knBvhScene_SplitBody(m->scene, &split, e->bodies);
    m->shell = e->bodies[0];
    return result;
}

// Of the processor: frames cannot be repeated, and other programs must not count.
static double ProcessorSeconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static knResult StepMethod(Explosion* e, Method* m, int frame)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipAdjacent = true;
    knResult result = kn_success;
    double start = ProcessorSeconds();
    for (uint32_t event = 0; event < EVENTS && result == kn_success; ++event)
    {
        result = frame == EventFrame(e, event) ? SplitShell(e, m, event) : kn_success;
    }
    if (result == kn_success)
    {
        result = knBvhScene_MoveVertices(m->scene, 0, e->positionCount, e->positions);
    }
    result = result == kn_success ? knBvhScene_Commit(m->scene, NULL) : result;
    result = result == kn_success ? knBvhQuery_Run(m->query, m->scene, &def) : result;
    m->seconds[frame] = ProcessorSeconds() - start;
    return result;
}

static knResult StepAll(Explosion* e, int frame)
{
    knResult result = kn_success;
    SetPositions(e, frame);
    for (int i = 0; i < METHODS && result == kn_success; ++i)
    {
        // each goes first in turn
        Method* m = &e->methods[(i + frame) % METHODS];
        size_t count;
        result = StepMethod(e, m, frame);
        knBvhQuery_Pairs(m->query, &count);
        if (result == kn_success && i > 0 && count != e->pairCount)
        {
            result = knFail(kn_errorMesh, "frame %d: %s found %zu pairs, the one before %zu", frame,
                            m->name, count, e->pairCount);
        }
        e->pairCount = count;
    }
    return result;
}

static knResult StartMethod(Explosion* e, Method* m)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.build = m->build;
    def.update = m->update;
    knResult result = knCreateBvhScene(&m->scene, &def, NULL);
    result = result == kn_success ? knCreateBvhQuery(&m->query, NULL) : result;
    if (result == kn_success)
    {
        result = knBvhScene_AddVertices(m->scene, e->rest, e->positionCount, NULL);
    }
    return result == kn_success
               ? knBvhScene_AddBody(m->scene, e->triangles, e->triangleCount, NULL, &m->shell)
               : result;
}

static double MeanOf(const Explosion* e, const Method* m, bool eventsOnly)
{
    double sum = 0.0;
    int count = 0;
    for (int frame = 0; frame < e->frameCount; ++frame)
    {
        bool isEvent = false;
        for (uint32_t event = 0; event < EVENTS; ++event)
        {
            isEvent |= frame == EventFrame(e, event);
        }
        if (isEvent || !eventsOnly)
        {
            sum += m->seconds[frame];
            count += 1;
        }
    }
    return 1e3 * sum / count;
}

static knResult AddRow(knBenchRun* run, const Explosion* e, const char* metric, const double ms[2],
                       const char* peerName)
{
    char caseName[64];
    snprintf(caseName, sizeof caseName, "shell, %uK, 4 events in %d", e->triangleCount / 1000,
             e->frameCount);
    knBenchRow row = knBenchRun_MakeRow(run, caseName, metric, "ms");
    row.ours = ms[0];
    row.peer = ms[1];
    row.ratio = knBetterRatio(ms[0], ms[1], false);
    snprintf(row.peerName, sizeof row.peerName, "%s", peerName);
    snprintf(row.note, sizeof row.note, "processor time; %zu pairs in the last frame, equal in all",
             e->pairCount);
    return knBenchRun_AddRow(run, &row);
}

static knResult AddRows(knBenchRun* run, const Explosion* e)
{
    const Method* ours = &e->methods[0];
    knResult result = kn_success;
    for (int i = 1; i < METHODS && result == kn_success; ++i)
    {
        const Method* m = &e->methods[i];
        double mean[2] = {MeanOf(e, ours, false), MeanOf(e, m, false)};
        double events[2] = {MeanOf(e, ours, true), MeanOf(e, m, true)};
        double worst[2] = {1e3 * knWorst(ours->seconds, (size_t)e->frameCount),
                           1e3 * knWorst(m->seconds, (size_t)e->frameCount)};
        result = AddRow(run, e, "step, mean", mean, m->name);
        result = result == kn_success ? AddRow(run, e, "event frames", events, m->name) : result;
        result = result == kn_success ? AddRow(run, e, "step, worst", worst, m->name) : result;
    }
    return result;
}

static void FreeExplosion(Explosion* e)
{
    for (int i = 0; i < METHODS; ++i)
    {
        knDestroyBvhScene(e->methods[i].scene);
        knDestroyBvhQuery(e->methods[i].query);
    }
    free(e->rest);
    free(e->positions);
    free(e->triangles);
    free(e->ids);
    free(e->parts);
    free(e->bodies);
    free(e);
}

static knResult Run(knBenchRun* run)
{
    static const Method methods[METHODS] = {
        {.name = "ours", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateSelective},
        {.name = "refit only", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateRefit},
        {.name = "rebuild, grid", .build = kn_bvhBuildGrid, .update = kn_bvhUpdateRebuild},
        {.name = "rebuild, median", .build = kn_bvhBuildMedian, .update = kn_bvhUpdateRebuild}};
    Explosion* e = calloc(1, sizeof *e);
    if (!e)
    {
        return knFail(kn_errorMemory, "no memory for the bench");
    }
    memcpy(e->methods, methods, sizeof methods);
    knResult result = MakeExplosion(e, run->options.quick);
    for (int i = 0; i < METHODS && result == kn_success; ++i)
    {
        result = StartMethod(e, &e->methods[i]);
    }
    for (int frame = 0; frame < e->frameCount && result == kn_success; ++frame)
    {
        result = StepAll(e, frame);
    }
    result = result == kn_success ? AddRows(run, e) : result;
    FreeExplosion(e);
    result = result == kn_success ? knMeasureCorrelations(run) : result;
    return result == kn_success ? knMeasureWalls(run) : result;
}

const knBench knBenchBvhFastcd = {"bvh-fastcd", "ways to keep a hierarchy while a shell breaks",
                                  Run};
