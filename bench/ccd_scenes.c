// SPDX-License-Identifier: Zlib
#include "bench/ccd_scenes.h"

#if defined(KN_BENCH_TOOLS)

#include "bench/bvh_peer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN   6.28318531f
#define CELLS  6 // of the shell, along a side
#define EVENTS 4 // cells of one more group stay, so that each event has something to break
#define UNUSED 0xFFFFFFFFu

static knResult Reserve(knCcdScene* s, uint32_t vertices, uint32_t triangles)
{
    s->vertexCapacity = vertices;
    s->start = malloc(vertices * sizeof *s->start);
    s->end = malloc(vertices * sizeof *s->end);
    s->rest = malloc(vertices * sizeof *s->rest);
    s->parts = calloc(vertices, sizeof *s->parts);
    s->triangles = malloc(triangles * sizeof *s->triangles);
    return s->start && s->end && s->rest && s->parts && s->triangles
               ? kn_success
               : knFail(kn_errorMemory, "no memory for a scene of %u triangles", triangles);
}

void knDestroyCcdScene(knCcdScene* s)
{
    free(s->start);
    free(s->end);
    free(s->rest);
    free(s->parts);
    free(s->triangles);
    free(s->poses[0]);
    free(s->poses[1]);
    free(s->balls);
    memset(s, 0, sizeof *s);
}

static knResult MakeReal(knCcdScene* s, knPeerScene scene)
{
    knPeerMesh m;
    knResult result = knMakePeerMesh(&m, scene);
    result = result == kn_success ? Reserve(s, m.positionCount, m.triangleCount) : result;
    if (result != kn_success)
    {
        return result;
    }
    s->vertexCount = m.positionCount;
    s->triangleCount = m.triangleCount;
    memcpy(s->triangles, m.triangles, m.triangleCount * sizeof *m.triangles);
    s->poses[0] = m.poses[0];
    s->poses[1] = m.poses[1];
    m.poses[0] = m.poses[1] = NULL;
    knDestroyPeerMesh(&m);
    return kn_success;
}

// A grid of rows and columns behind what is there, closed around; rest holds u, v and the part.
static void AddTube(knCcdScene* s, uint32_t rows, uint32_t columns, uint32_t part)
{
    uint32_t first = s->vertexCount;
    for (uint32_t i = 0; i < (rows + 1) * columns; ++i)
    {
        s->parts[s->vertexCount] = part;
        s->rest[s->vertexCount++] = knMakeVec3((float)(i / columns) / (float)rows,
                                               (float)(i % columns) / (float)columns, 0.0f);
    }
    for (uint32_t i = 0; i < rows * columns; ++i)
    {
        uint32_t a = first + i, b = first + i / columns * columns + (i + 1) % columns;
        s->triangles[s->triangleCount++] = (knTriangle){{a, a + columns, b}};
        s->triangles[s->triangleCount++] = (knTriangle){{b, a + columns, b + columns}};
    }
}

#define LAYERS 3
#define LEG    10 // parts from here on are legs

static knResult MakeGarment(knCcdScene* s, uint32_t layers, uint32_t rows, uint32_t columns)
{
    uint32_t legRows = rows / 2, legColumns = columns / 8;
    knResult result = Reserve(s, layers * (rows + 1) * columns + 2 * (legRows + 1) * legColumns,
                              2 * layers * rows * columns + 4 * legRows * legColumns);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t i = 0; i < layers; ++i)
    {
        AddTube(s, rows, columns, i);
    }
    AddTube(s, legRows, legColumns, LEG);
    AddTube(s, legRows, legColumns, LEG + 1);
    return kn_success;
}

// Folds grow downwards until they overturn; they turn and swing, one layer after the other.
static knVec3 PlaceCloth(knVec3 rest, uint32_t layer, float t)
{
    float down = rest.x, around = TURN * rest.y, swing = sinf(3.0f * t + 2.0f * down);
    float folds = 14.0f + 3.0f * (float)layer, phase = 1.3f * (float)layer + 2.0f * t;
    float wave = folds * around + phase;
    float over = (1.35f + 0.25f * sinf(2.0f * t)) * down / folds;
    float angle = around + over * sinf(wave) + 0.3f * down * sinf(t);
    float radius = 0.3f + (0.7f - 0.03f * (float)layer) * down + 0.09f * down * cosf(wave) +
                   0.02f * sinf(37.0f * around) * down;
    return knMakeVec3(radius * cosf(angle) + 0.1f * down * swing, radius * sinf(angle),
                      1.2f - 1.1f * down);
}

static knVec3 PlaceLeg(knVec3 rest, bool isRight, float t)
{
    float down = rest.x, around = TURN * rest.y, side = isRight ? 1.0f : -1.0f;
    float step = side * sinf(3.0f * t) * 0.7f * down;
    return knMakeVec3(0.18f * side + 0.12f * cosf(around), step + 0.12f * sinf(around),
                      1.1f - 1.2f * down);
}

static const char* const letterRows[4] = {
    "#...##..#.#.#..##...#.#..#..#.#...#", // K, of five columns and seven rows
    "#...###..##.#.##..###...##...##...#", // N
    ".###.#...##...#######...##...##...#", // A
    "####.#...##...#####.#....#....#....", // P
};

#define LETTERS 24

static bool IsFilled(uint32_t letter, int x, int y, int z)
{
    return x >= 0 && x < 5 && y >= 0 && y < 7 && z == 0 && letterRows[letter % 4][5 * y + x] == '#';
}

// Corners of the cells of a letter, 6 by 8 by 2.
static uint32_t Corner(uint32_t first, const int p[3])
{
    return first + (uint32_t)(p[0] + 6 * (p[1] + 8 * p[2]));
}

// The side of a filled cell towards an axis, where the next one is not filled.
static void AddSide(knCcdScene* s, uint32_t letter, const int cell[3], int side)
{
    int axis = side / 2, towards = side % 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
    int next[3] = {cell[0], cell[1], cell[2]};
    next[axis] += towards ? 1 : -1;
    if (IsFilled(letter, next[0], next[1], next[2]))
    {
        return;
    }
    uint32_t corners[4];
    for (int i = 0; i < 4; ++i)
    {
        int p[3] = {cell[0], cell[1], cell[2]};
        p[axis] += towards;
        p[u] += i == 1 || i == 2;
        p[v] += i >= 2;
        corners[i] = Corner(letter * 96, p);
    }
    uint32_t b = corners[towards ? 1 : 3], d = corners[towards ? 3 : 1];
    s->triangles[s->triangleCount++] = (knTriangle){{corners[0], b, corners[2]}};
    s->triangles[s->triangleCount++] = (knTriangle){{corners[0], corners[2], d}};
}

// Leaves out corners of cells that are not filled.
static void DropUnused(knCcdScene* s)
{
    uint32_t* names = malloc(s->vertexCount * sizeof *names);
    uint32_t count = 0;
    for (uint32_t v = 0; v < s->vertexCount && names; ++v)
    {
        names[v] = UNUSED;
    }
    for (uint32_t i = 0; i < 3 * s->triangleCount && names; ++i)
    {
        names[s->triangles[i / 3].v[i % 3]] = 0;
    }
    for (uint32_t v = 0; v < s->vertexCount && names; ++v)
    {
        if (names[v] != UNUSED)
        {
            s->rest[count] = s->rest[v];
            s->parts[count] = s->parts[v];
            names[v] = count++;
        }
    }
    for (uint32_t i = 0; i < 3 * s->triangleCount && names; ++i)
    {
        s->triangles[i / 3].v[i % 3] = names[s->triangles[i / 3].v[i % 3]];
    }
    s->vertexCount = names ? count : s->vertexCount;
    free(names);
}

#define BOWL_ROWS    10
#define BOWL_COLUMNS 40

static knResult MakeLetters(knCcdScene* s)
{
    uint32_t bowl = (BOWL_ROWS + 1) * BOWL_COLUMNS;
    knResult result =
        Reserve(s, LETTERS * 96 + bowl, LETTERS * 35 * 12 + 2 * BOWL_ROWS * BOWL_COLUMNS);
    if (result != kn_success)
    {
        return result;
    }
    for (s->vertexCount = 0; s->vertexCount < LETTERS * 96; ++s->vertexCount)
    {
        uint32_t i = s->vertexCount % 96;
        s->parts[s->vertexCount] = s->vertexCount / 96;
        s->rest[s->vertexCount] =
            knMakeVec3((float)(i % 6) - 2.5f, 3.5f - (float)(i / 6 % 8), (float)(i / 48) - 0.5f);
    }
    for (uint32_t letter = 0; letter < LETTERS; ++letter)
    {
        for (int i = 0; i < 35 * 6; ++i)
        {
            const int cell[3] = {i / 6 % 5, i / 30, 0};
            if (IsFilled(letter, cell[0], cell[1], 0))
            {
                AddSide(s, letter, cell, i % 6);
            }
        }
    }
    DropUnused(s);
    AddTube(s, BOWL_ROWS, BOWL_COLUMNS, LETTERS);
    return kn_success;
}

// Letters fall into a bowl, turning; they pass through each other there.
static knVec3 PlaceLetter(knVec3 rest, uint32_t part, float t)
{
    if (part == LETTERS)
    {
        float polar = 0.02f + 1.4f * rest.x, around = TURN * rest.y;
        return knMakeVec3(1.1f * sinf(polar) * cosf(around), 1.1f * sinf(polar) * sinf(around),
                          -1.1f * cosf(polar));
    }
    float number = (float)part, fall = t - 0.02f * number;
    knVec3 middle = knMakeVec3(0.5f * sinf(2.4f * number), 0.5f * cosf(2.4f * number),
                               -0.75f + fabsf(1.0f - 1.5f * fall) + 0.04f * number);
    knVec3 axis = knNormalize(knMakeVec3(sinf(number), cosf(number), 0.4f));
    return knAdd(middle, knRotate(knMakeQuat(axis, 3.0f * t + number), knScale(0.06f, rest)));
}

#define BALLS       188
#define BALL_ROWS   8
#define BALL_POINTS 10 // around
#define BALL_RADIUS 0.07f
#define ROOM        0.62f // half of the box that they are in

typedef struct knCcdBall
{
    knVec3 place, speed, axis;
    float angle, spin;
} knCcdBall;

// Where a sphere begins and ends, in rows: at its poles.
#define POLE (0.03f / 0.94f)

// The caps of the tube that was added last.
static void AddPoles(knCcdScene* s, uint32_t rows, uint32_t columns, uint32_t part)
{
    uint32_t pole = s->vertexCount, first = pole - (rows + 1) * columns, last = pole - columns;
    for (int end = 0; end < 2; ++end)
    {
        s->parts[s->vertexCount] = part;
        s->rest[s->vertexCount++] = knMakeVec3(end ? 1.0f + POLE : -POLE, 0.0f, 0.0f);
    }
    for (uint32_t i = 0; i < columns; ++i)
    {
        uint32_t k = (i + 1) % columns;
        s->triangles[s->triangleCount++] = (knTriangle){{pole, first + i, first + k}};
        s->triangles[s->triangleCount++] = (knTriangle){{pole + 1, last + k, last + i}};
    }
}

// Closed spheres of 180 triangles, 34K in all.
static knResult MakeBalls(knCcdScene* s)
{
    knResult result = Reserve(s, BALLS * ((BALL_ROWS + 1) * BALL_POINTS + 2),
                              BALLS * 2 * (BALL_ROWS + 1) * BALL_POINTS);
    s->balls = calloc(BALLS, sizeof *s->balls);
    if (result != kn_success || !s->balls)
    {
        return knFail(kn_errorMemory, "no memory for balls");
    }
    uint64_t state = 12;
    for (uint32_t i = 0; i < BALLS; ++i)
    {
        float r[9];
        for (int k = 0; k < 9; ++k)
        {
            state = state * 6364136223846793005u + 1442695040888963407u;
            r[k] = (float)(state >> 40) / 8388608.0f - 1.0f;
        }
        uint32_t x = i % 6, y = i / 6 % 6, z = i / 36;
        s->balls[i] = (knCcdBall){.place = knMakeVec3(0.2f * (float)x - 0.5f + 0.02f * r[0],
                                                      0.2f * (float)y - 0.5f + 0.02f * r[1],
                                                      0.2f * (float)z - 0.5f + 0.02f * r[2]),
                                  .speed = knScale(0.03f, knMakeVec3(r[3], r[4], r[5])),
                                  .axis = knNormalize(knMakeVec3(r[6], r[7], r[8] + 1.5f)),
                                  .spin = 0.3f * r[6]};
        AddTube(s, BALL_ROWS, BALL_POINTS, i);
        AddPoles(s, BALL_ROWS, BALL_POINTS, i);
    }
    return kn_success;
}

static void BounceOffWalls(knCcdBall* b)
{
    float *x = &b->place.x, *v = &b->speed.x;
    for (int k = 0; k < 3; ++k)
    {
        v[k] = (x[k] > ROOM && v[k] > 0.0f) || (x[k] < -ROOM && v[k] < 0.0f) ? -v[k] : v[k];
    }
}

// Equal masses: what they have along the line between them changes hands.
static void MoveBalls(knCcdScene* s)
{
    for (uint32_t i = 0; i < BALLS * BALLS; ++i)
    {
        knCcdBall *a = &s->balls[i / BALLS], *b = &s->balls[i % BALLS];
        knVec3 between = knSub(b->place, a->place);
        float distance = knLength(between);
        if (a < b && distance > 0.0f && distance < 2.0f * BALL_RADIUS)
        {
            knVec3 n = knScale(1.0f / distance, between);
            float closing = knDot(knSub(a->speed, b->speed), n);
            closing = closing > 0.0f ? closing : 0.0f;
            a->speed = knSub(a->speed, knScale(closing, n));
            b->speed = knAdd(b->speed, knScale(closing, n));
        }
    }
    for (uint32_t i = 0; i < BALLS; ++i)
    {
        knCcdBall* b = &s->balls[i];
        BounceOffWalls(b);
        b->place = knAdd(b->place, b->speed);
        b->angle += b->spin;
    }
}

static knVec3 PlaceBall(const knCcdBall* b, knVec3 rest)
{
    float polar = 0.5f * TURN * (0.03f + 0.94f * rest.x), around = TURN * rest.y;
    knVec3 p = knMakeVec3(sinf(polar) * cosf(around), sinf(polar) * sinf(around), cosf(polar));
    return knAdd(b->place, knScale(BALL_RADIUS, knRotate(knMakeQuat(b->axis, b->angle), p)));
}

static void PlaceBalls(knCcdScene* s, knVec3* out)
{
    for (uint32_t i = 0; i < s->vertexCount; ++i)
    {
        out[i] = PlaceBall(&s->balls[s->parts[i]], s->rest[i]);
    }
}

// Steps come one after the other; the first may come again.
static void SetBallStep(knCcdScene* s, int step)
{
    for (; s->ballStep < step; ++s->ballStep)
    {
        MoveBalls(s);
    }
    knCcdBall now[BALLS];
    PlaceBalls(s, s->start);
    memcpy(now, s->balls, sizeof now);
    MoveBalls(s);
    PlaceBalls(s, s->end);
    memcpy(s->balls, now, sizeof now);
}

// A displaced sphere, one surface; parts are the cells into which it will break.
static knResult MakeShell(knCcdScene* s, uint32_t squares)
{
    uint32_t side = CELLS * squares;
    uint32_t most = CELLS * CELLS * (squares + 1) * (squares + 1) + (side + 1) * side;
    s->size = squares;
    s->breaks = true;
    knResult result = Reserve(s, most, 2 * side * side);
    if (result == kn_success)
    {
        AddTube(s, side, side, 0);
    }
    return result;
}

static uint32_t CellOf(const knCcdScene* s, uint32_t triangle)
{
    uint32_t side = CELLS * s->size, square = triangle / 2;
    return square / side / s->size * CELLS + square % side / s->size;
}

static int EventStep(const knCcdScene* s, uint32_t event)
{
    return (int)(event + 1) * s->stepCount / (EVENTS + 1);
}

// A cell gets vertices of its own where it shared some; triangles stay at their places.
static void FreeCell(knCcdScene* s, uint32_t cell, uint32_t* now)
{
    const uint32_t own = 0, shared = 1; // or the new vertex, which is never one of these
    memset(now, 0, s->vertexCapacity * sizeof *now);
    for (uint32_t i = 0; i < 3 * s->triangleCount; ++i)
    {
        uint32_t v = s->triangles[i / 3].v[i % 3];
        now[v] = CellOf(s, i / 3) != cell ? shared : now[v];
    }
    for (uint32_t i = 0; i < 3 * s->triangleCount; ++i)
    {
        uint32_t* v = &s->triangles[i / 3].v[i % 3];
        if (CellOf(s, i / 3) != cell)
        {
            continue;
        }
        if (now[*v] == own)
        {
            s->parts[*v] = 1 + cell;
            continue;
        }
        if (now[*v] == shared)
        {
            now[*v] = s->vertexCount;
            s->rest[s->vertexCount] = s->rest[*v];
            s->parts[s->vertexCount++] = 1 + cell;
        }
        *v = now[*v];
    }
}

static void BreakShell(knCcdScene* s, uint32_t event)
{
    uint32_t* now = malloc(s->vertexCapacity * sizeof *now);
    for (uint32_t cell = event; cell < CELLS * CELLS && now; cell += EVENTS + 1)
    {
        FreeCell(s, cell, now);
    }
    free(now);
}

// What stays keeps off those that have gone by a little, or every seam would be a contact.
static knVec3 PlaceShell(const knCcdScene* s, uint32_t vertex, float t)
{
    uint32_t part = s->parts[vertex];
    knVec3 rest = s->rest[vertex];
    float polar = 0.5f * TURN * (0.02f + 0.96f * rest.x), around = TURN * rest.y;
    float radius = 1.0f + 0.05f * sinf(9.0f * polar + 2.0f * t) * sinf(12.0f * around);
    knVec3 p = knScale(
        radius, knMakeVec3(sinf(polar) * cosf(around), sinf(polar) * sinf(around), cosf(polar)));
    if (part == 0)
    {
        return p;
    }
    uint32_t cell = part - 1;
    float u = ((float)(cell / CELLS) + 0.5f) / CELLS, v = ((float)(cell % CELLS) + 0.5f) / CELLS;
    float middlePolar = 0.5f * TURN * (0.02f + 0.96f * u);
    knVec3 middle = knMakeVec3(sinf(middlePolar) * cosf(TURN * v),
                               sinf(middlePolar) * sinf(TURN * v), cosf(middlePolar));
    float age = t - (float)EventStep(s, cell % (EVENTS + 1)) / (float)s->stepCount;
    age = age > 0.0f ? age : 0.0f;
    knQuat turn = knMakeQuat(middle, 1.5f * age * (float)(cell % 5));
    knVec3 offset = knScale(0.998f, knRotate(turn, knSub(p, middle)));
    float away = cell % 3 == 0 ? -0.9f : 0.6f; // some go inwards and meet there
    return knAdd(knScale(1.0f + away * age, middle), offset);
}

static void Place(const knCcdScene* s, int step, knVec3* out)
{
    float t = (float)step / (float)s->stepCount;
    for (uint32_t i = 0; i < s->vertexCount; ++i)
    {
        uint32_t part = s->parts[i];
        out[i] = s->kind == kn_ccdSceneLetters ? PlaceLetter(s->rest[i], part, t)
                 : s->kind == kn_ccdSceneShell ? PlaceShell(s, i, t)
                 : part >= LEG                 ? PlaceLeg(s->rest[i], part > LEG, t)
                                               : PlaceCloth(s->rest[i], part, t);
    }
}

bool knCcdScene_SetStep(knCcdScene* s, int step)
{
    if (s->poses[0])
    {
        memcpy(s->start, s->poses[step % 2], s->vertexCount * sizeof *s->start);
        memcpy(s->end, s->poses[1 - step % 2], s->vertexCount * sizeof *s->end);
        return false;
    }
    if (s->balls)
    {
        SetBallStep(s, step);
        return false;
    }
    bool hasBroken = false;
    for (uint32_t event = 0; event < EVENTS && s->breaks; ++event)
    {
        if (step == EventStep(s, event))
        {
            BreakShell(s, event);
            hasBroken = true;
        }
    }
    Place(s, step, s->start);
    Place(s, step + 1, s->end);
    return hasBroken;
}

const char* knCcdSceneName(knCcdSceneKind kind)
{
    static const char* const names[kn_ccdSceneCount] = {
        "cloth (real)", "skirt", "dress", "balls", "n-body (real)", "letters", "shell"};
    return names[kind];
}

knResult knMakeCcdScene(knCcdScene* s, knCcdSceneKind kind, bool quick)
{
    *s = (knCcdScene){.kind = kind, .name = knCcdSceneName(kind)};
    bool isReal = kind == kn_ccdSceneCloth || kind == kn_ccdSceneNBody;
    s->stepCount =
        isReal ? (quick ? 1 : 4) : (quick ? 10 : (s->kind == kn_ccdSceneShell ? 40 : 20));
    knResult result = kn_success;
    switch (kind)
    {
    case kn_ccdSceneCloth:
        result = MakeReal(s, kn_peerCloth92);
        break;
    case kn_ccdSceneNBody:
        result = MakeReal(s, kn_peerNBody);
        break;
    case kn_ccdSceneSkirt:
        result = MakeGarment(s, 1, quick ? 40 : 80, quick ? 120 : 240);
        break;
    case kn_ccdSceneDress:
        result = MakeGarment(s, LAYERS, quick ? 20 : 40, quick ? 100 : 200);
        break;
    case kn_ccdSceneBalls:
        result = MakeBalls(s);
        break;
    case kn_ccdSceneLetters:
        result = MakeLetters(s);
        break;
    default:
        result = MakeShell(s, quick ? 16 : 59);
    }
    if (result != kn_success)
    {
        knDestroyCcdScene(s);
    }
    return result;
}

#endif
