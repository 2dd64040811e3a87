// SPDX-License-Identifier: Zlib
#include "bench/bvh_keep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(KN_BENCH_TOOLS)
#include "bench/bvh_peer.h"
#endif

// A shell that explodes in four events, balls that pass through each other, and the cloth.

#define CELL        16 // squares along the side of a cell
#define CELL_POINTS ((CELL + 1) * (CELL + 1))
#define EVENTS      4

typedef struct Shell
{
    uint32_t side; // cells along each axis of the grid on the sphere
    uint32_t cellCount;
    knVec3* rest;
    uint32_t* ids; // of a split
    uint32_t* parts;
} Shell;

// Cells keep off each other by a little, or every seam would be a contact.
static knVec3 PlaceVertex(const Shell* e, uint32_t cell, uint32_t i)
{
    const double turn = 6.283185307179586;
    double u = 0.5 + 0.998 * ((double)(i / (CELL + 1)) / CELL - 0.5) + cell / e->side;
    double v = 0.5 + 0.998 * ((double)(i % (CELL + 1)) / CELL - 0.5) + cell % e->side;
    double polar = 0.5 * turn * (0.02 + 0.96 * u / e->side), around = turn * v / e->side;
    double radius = 1.0 + 0.05 * sin(9.0 * polar) * sin(12.0 * around);
    return knMakeVec3((float)(radius * sin(polar) * cos(around)),
                      (float)(radius * sin(polar) * sin(around)), (float)(radius * cos(polar)));
}

static int EventFrame(const knKeepScene* s, uint32_t event)
{
    return (int)(event + 1) * s->frameCount / (EVENTS + 2);
}

static bool IsShellBreak(const knKeepScene* s, int frame)
{
    bool isBreak = false;
    for (uint32_t event = 0; event < EVENTS; ++event)
    {
        isBreak |= frame == EventFrame(s, event);
    }
    return isBreak;
}

// Cells of an event fly outwards, turning a little, from its frame on.
static void AdvanceShell(knKeepScene* s, int frame)
{
    const Shell* e = s->data;
    for (uint32_t cell = 0; cell < e->cellCount; ++cell)
    {
        int age = frame - EventFrame(s, cell % EVENTS);
        knVec3 middle = e->rest[cell * CELL_POINTS + CELL_POINTS / 2];
        float t = age > 0 ? 0.8f * (float)age / (float)s->frameCount : 0.0f;
        knVec3 away = knScale(t * (1.0f + 0.1f * (float)(cell % 7)), middle);
        knQuat turn = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 2.0f * t * (float)(cell % 5));
        for (uint32_t i = cell * CELL_POINTS; i < (cell + 1) * CELL_POINTS; ++i)
        {
            knVec3 offset = knRotate(turn, knSub(e->rest[i], middle));
            s->positions[i] = knAdd(knAdd(middle, offset), away);
        }
    }
}

// The shell splits into what stays and one body for each cell that goes.
static knResult ChangeShell(knKeepScene* s, knKeeper* k, int frame)
{
    const Shell* e = s->data;
    knResult result = kn_success;
    for (uint32_t event = 0; event < EVENTS && result == kn_success; ++event)
    {
        knBvhSplit split = {k->bodies[0], e->ids, e->parts, 0, 1};
        for (uint32_t cell = 0; cell < e->cellCount && frame == EventFrame(s, event); ++cell)
        {
            bool goes = cell % EVENTS == event, isThere = cell % EVENTS >= event;
            uint32_t part = goes ? split.partCount++ : 0, first = cell * 2 * CELL * CELL;
            for (uint32_t i = first; i < first + 2 * CELL * CELL && isThere; ++i)
            {
                e->ids[split.triangleCount] = i;
                e->parts[split.triangleCount++] = part;
            }
        }
        result = frame == EventFrame(s, event) ? knBvhScene_SplitBody(k->scene, &split, k->bodies)
                                               : kn_success;
    }
    return result;
}

static knResult StartWhole(knKeepScene* s, knKeeper* k)
{
    knResult result = knBvhScene_AddVertices(k->scene, s->positions, s->vertexCount, NULL);
    return result == kn_success
               ? knBvhScene_AddBody(k->scene, s->triangles, s->triangleCount, NULL, &k->bodies[0])
               : result;
}

static void FillShell(knKeepScene* s, Shell* e)
{
    for (uint32_t i = 0; i < s->vertexCount; ++i)
    {
        s->positions[i] = e->rest[i] = PlaceVertex(e, i / CELL_POINTS, i % CELL_POINTS);
    }
    for (uint32_t i = 0; i < s->triangleCount / 2; ++i)
    {
        uint32_t square = i % (CELL * CELL), base = i / (CELL * CELL) * CELL_POINTS;
        uint32_t a = base + square / CELL * (CELL + 1) + square % CELL, b = a + CELL + 1;
        s->triangles[2 * i] = (knTriangle){{a, b, a + 1}};
        s->triangles[2 * i + 1] = (knTriangle){{b, b + 1, a + 1}};
    }
}

bool knMakeShell(knKeepScene* s, bool quick)
{
    Shell* e = calloc(1, sizeof *e);
    *s = (knKeepScene){.name = quick ? "shell, 18K, 4 of 40" : "shell, 247K, 4 of 250",
                       .frameCount = quick ? 40 : 250,
                       .data = e,
                       .advance = AdvanceShell,
                       .start = StartWhole,
                       .change = ChangeShell,
                       .isBreak = IsShellBreak,
                       .paperVolumeRule = 1.27,
                       .paperFastBuild = 1.84};
    if (!e)
    {
        return false;
    }
    e->side = quick ? 6 : 22;
    e->cellCount = e->side * e->side;
    s->bodyCapacity = e->cellCount + 1;
    s->vertexCount = e->cellCount * CELL_POINTS;
    s->triangleCount = e->cellCount * 2 * CELL * CELL;
    e->rest = malloc(s->vertexCount * sizeof *e->rest);
    e->ids = malloc(s->triangleCount * sizeof *e->ids);
    e->parts = malloc(s->triangleCount * sizeof *e->parts);
    s->positions = malloc(s->vertexCount * sizeof *s->positions);
    s->triangles = malloc(s->triangleCount * sizeof *s->triangles);
    bool isGood = e->rest && e->ids && e->parts && s->positions && s->triangles;
    if (isGood)
    {
        FillShell(s, e);
    }
    return isGood;
}

void knDestroyShell(knKeepScene* s)
{
    Shell* e = s->data;
    if (e)
    {
        free(e->rest);
        free(e->ids);
        free(e->parts);
    }
    free(e);
    free(s->positions);
    free(s->triangles);
}

#define BALLS          34
#define BALL_ROWS      20
#define BALL_COLUMNS   25
#define BALL_POINTS    ((BALL_ROWS + 1) * BALL_COLUMNS)
#define BALL_TRIANGLES (2 * BALL_ROWS * BALL_COLUMNS)

// Around the middle on ways that never repeat, through each other now and then.
static void AdvanceBalls(knKeepScene* s, int frame)
{
    for (uint32_t ball = 0; ball < BALLS; ++ball)
    {
        float t = 0.01f * (float)frame, phase = 1.7f * (float)ball;
        knVec3 middle =
            knMakeVec3(2.2f * sinf((1.0f + 0.07f * (float)(ball % 5)) * t + phase),
                       2.2f * sinf((1.1f + 0.05f * (float)(ball % 7)) * t + 2.0f * phase),
                       2.2f * sinf((0.9f + 0.03f * (float)(ball % 3)) * t + 3.0f * phase));
        knQuat turn = knMakeQuat(knMakeVec3(0.0f, 0.6f, 0.8f), t + phase);
        const knVec3* rest = s->data;
        for (uint32_t i = 0; i < BALL_POINTS; ++i)
        {
            s->positions[ball * BALL_POINTS + i] = knAdd(middle, knRotate(turn, rest[i]));
        }
    }
}

static knResult StartBalls(knKeepScene* s, knKeeper* k)
{
    knResult result = knBvhScene_AddVertices(k->scene, s->positions, s->vertexCount, NULL);
    for (uint32_t ball = 0; ball < BALLS && result == kn_success; ++ball)
    {
        result = knBvhScene_AddBody(k->scene, s->triangles + ball * BALL_TRIANGLES, BALL_TRIANGLES,
                                    NULL, &k->bodies[ball]);
    }
    return result;
}

static void FillBalls(knKeepScene* s, knVec3* rest)
{
    for (uint32_t i = 0; i < BALL_POINTS; ++i)
    {
        float polar = 3.14159265f * (0.02f + 0.96f * (float)(i / BALL_COLUMNS) / BALL_ROWS);
        float around = 6.28318531f * (float)(i % BALL_COLUMNS) / BALL_COLUMNS;
        rest[i] = knScale(
            0.5f, knMakeVec3(sinf(polar) * cosf(around), sinf(polar) * sinf(around), cosf(polar)));
    }
    for (uint32_t i = 0; i < BALLS * BALL_TRIANGLES / 2; ++i)
    {
        uint32_t square = i % (BALL_TRIANGLES / 2), base = i / (BALL_TRIANGLES / 2) * BALL_POINTS;
        uint32_t row = base + square / BALL_COLUMNS * BALL_COLUMNS, column = square % BALL_COLUMNS;
        uint32_t a = row + column, b = row + (column + 1) % BALL_COLUMNS;
        s->triangles[2 * i] = (knTriangle){{a, a + BALL_COLUMNS, b}};
        s->triangles[2 * i + 1] = (knTriangle){{b, a + BALL_COLUMNS, b + BALL_COLUMNS}};
    }
}

bool knMakeBalls(knKeepScene* s, int frameCount)
{
    knVec3* rest = malloc(BALL_POINTS * sizeof *rest);
    *s = (knKeepScene){.name = "n-body, 34K",
                       .frameCount = frameCount,
                       .bodyCapacity = BALLS,
                       .vertexCount = BALLS * BALL_POINTS,
                       .triangleCount = BALLS * BALL_TRIANGLES,
                       .data = rest,
                       .advance = AdvanceBalls,
                       .start = StartBalls,
                       .paperHash = 7.0};
    s->positions = malloc(s->vertexCount * sizeof *s->positions);
    s->triangles = malloc(s->triangleCount * sizeof *s->triangles);
    bool isGood = rest && s->positions && s->triangles;
    if (isGood)
    {
        FillBalls(s, rest);
        AdvanceBalls(s, 0);
    }
    return isGood;
}

void knDestroyBalls(knKeepScene* s)
{
    free(s->data);
    free(s->positions);
    free(s->triangles);
}

#if defined(KN_BENCH_TOOLS)

// From one real frame to the next and back.
static void AdvanceCloth(knKeepScene* s, int frame)
{
    const knPeerMesh* m = s->data;
    int period = s->frameCount;
    float t = 2.0f * (float)(frame < period / 2 ? frame : period - frame) / (float)period;
    for (uint32_t i = 0; i < s->vertexCount; ++i)
    {
        s->positions[i] = knAddScaled(m->poses[0][i], t, knSub(m->poses[1][i], m->poses[0][i]));
    }
}

bool knMakeCloth(knKeepScene* s, bool quick)
{
    knPeerMesh* m = calloc(1, sizeof *m);
    *s = (knKeepScene){.name = "cloth, 92K",
                       .frameCount = quick ? 8 : 40,
                       .bodyCapacity = 1,
                       .data = m,
                       .advance = AdvanceCloth,
                       .start = StartWhole,
                       .paperHash = 1.56};
    if (!m || knMakePeerMesh(m, kn_peerCloth92) != kn_success)
    {
        return false;
    }
    s->positions = m->positions;
    s->vertexCount = m->positionCount;
    s->triangles = m->triangles;
    s->triangleCount = m->triangleCount;
    return true;
}

void knDestroyCloth(knKeepScene* s)
{
    if (s->data)
    {
        knDestroyPeerMesh(s->data);
        free(s->data);
    }
}

#else

bool knMakeCloth(knKeepScene* s, bool quick)
{
    (void)quick;
    memset(s, 0, sizeof *s);
    knFail(kn_errorFile, "built without the tools, which read the frames");
    return false;
}

void knDestroyCloth(knKeepScene* s)
{
    (void)s;
}

#endif
