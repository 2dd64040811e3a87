// SPDX-License-Identifier: Zlib
#include "bench/tree_scenes.h"

#include "knap/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI     3.14159265358979323846
#define SHRINK 0.97 // triangles keep off their neighbours, or every edge would be a contact

double SceneSine(double x)
{
    x -= 2.0 * PI * floor(x / (2.0 * PI) + 0.5);
    x = x > 0.5 * PI ? PI - x : (x < -0.5 * PI ? -PI - x : x);
    double square = x * x, term = x, sum = x;
    for (int i = 2; i < 20; i += 2)
    {
        term *= -square / (double)(i * (i + 1));
        sum += term;
    }
    return sum;
}

double SceneCosine(double x)
{
    return SceneSine(x + 0.5 * PI);
}

uint64_t HashPositions(const knVec3* positions, uint32_t count)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t i = 0; i < 3 * count; ++i)
    {
        uint32_t bits;
        memcpy(&bits, (const unsigned char*)positions + 4 * (size_t)i, sizeof bits);
        hash = (hash ^ bits) * 0x100000001B3u;
        hash ^= hash >> 29;
    }
    return hash;
}

const char* TreeSceneName(TreeSceneKind kind)
{
    static const char* const names[TREE_SCENE_COUNT] = {"spheres", "bunnies", "teapot"};
    return names[kind];
}

// A lathe: u along the profile, v around, both in [0, 1].
static knDVec3 LathePoint(TreeSceneKind kind, double u, double v)
{
    double around = 2.0 * PI * v, polar = PI * (0.02 + 0.96 * u);
    double radius = SceneSine(polar), height = SceneCosine(polar);
    if (kind == treeTeapot)
    {
        radius *= 1.0 + 0.25 * SceneSine(3.0 * polar); // belly, shoulder and lid
        height *= 0.8;
    }
    else
    {
        // two long lobes on top and a bumpy body
        double lobe = SceneSine(2.0 * around);
        double top = 1.0 - u;
        radius *= 1.0 + 0.15 * SceneSine(5.0 * polar) * SceneCosine(3.0 * around);
        height += 0.8 * lobe * lobe * top * top * top * top;
    }
    return knMakeDVec3(radius * SceneCosine(around), height, radius * SceneSine(around));
}

static void SetCorners(TreeScene* s, uint32_t triangle, const knDVec3 p[3])
{
    knDVec3 middle = knDScale(1.0 / 3.0, knDAdd(knDAdd(p[0], p[1]), p[2]));
    for (uint32_t k = 0; k < 3; ++k)
    {
        knDVec3 corner = knDAdd(middle, knDScale(SHRINK, knDSub(p[k], middle)));
        s->rest[3 * (size_t)triangle + k] = knToFloat(corner);
    }
}

static void FillLathe(TreeScene* s, uint32_t first, uint32_t rows, uint32_t columns)
{
    for (uint32_t i = 0; i < rows * columns; ++i)
    {
        knDVec3 p[4];
        for (uint32_t k = 0; k < 4; ++k)
        {
            double u = (double)(i / columns + k / 2) / rows;
            double v = (double)(i % columns + k % 2) / columns;
            p[k] = LathePoint(s->kind, u, v);
        }
        SetCorners(s, first + 2 * i, (const knDVec3[3]){p[0], p[1], p[2]});
        SetCorners(s, first + 2 * i + 1, (const knDVec3[3]){p[1], p[3], p[2]});
    }
}

static knDVec3 OnSphere(knDVec3 a, knDVec3 b)
{
    knDVec3 m = knDAdd(a, b);
    return knDScale(1.0 / knDLength(m), m);
}

static void Subdivide(TreeScene* s, uint32_t* next, const knDVec3 p[3], int depth)
{
    if (depth == 0)
    {
        SetCorners(s, (*next)++, p);
        return;
    }
    knDVec3 a = OnSphere(p[0], p[1]), b = OnSphere(p[1], p[2]), c = OnSphere(p[2], p[0]);
    Subdivide(s, next, (const knDVec3[3]){p[0], a, c}, depth - 1);
    Subdivide(s, next, (const knDVec3[3]){a, p[1], b}, depth - 1);
    Subdivide(s, next, (const knDVec3[3]){c, b, p[2]}, depth - 1);
    Subdivide(s, next, (const knDVec3[3]){a, b, c}, depth - 1);
}

static void FillSphere(TreeScene* s, uint32_t first, int depth)
{
    static const int faces[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                     {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                     {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                     {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    const double t = 1.6180339887498949;
    const double c[12][3] = {{-1, t, 0}, {1, t, 0}, {-1, -t, 0}, {1, -t, 0},
                             {0, -1, t}, {0, 1, t}, {0, -1, -t}, {0, 1, -t},
                             {t, 0, -1}, {t, 0, 1}, {-t, 0, -1}, {-t, 0, 1}};
    uint32_t next = first;
    for (int i = 0; i < 20; ++i)
    {
        knDVec3 p[3];
        for (int k = 0; k < 3; ++k)
        {
            const double* q = c[faces[i][k]];
            knDVec3 v = knMakeDVec3(q[0], q[1], q[2]);
            p[k] = knDScale(1.0 / knDLength(v), v);
        }
        Subdivide(s, &next, p, depth);
    }
}

static void SetSizes(TreeScene* s, int detail, uint32_t rows[1], uint32_t columns[1])
{
    static const uint32_t lathe[TREE_SCENE_COUNT][4][2] = {
        {{0, 0}, {0, 0}, {0, 0}, {0, 0}},
        {{12, 8}, {64, 32}, {128, 64}, {256, 128}},
        {{12, 12}, {63, 32}, {127, 64}, {255, 128}}};
    static const uint32_t bodies[TREE_SCENE_COUNT] = {12, 2, 1};
    *rows = lathe[s->kind][detail][0];
    *columns = lathe[s->kind][detail][1];
    s->bodyCount = bodies[s->kind];
    s->bodyTriangles =
        s->kind == treeSpheres ? 20u << (detail > 0 ? 2 * (detail + 2) : 2) : 2 * *rows * *columns;
    s->triangleCount = s->bodyCount * s->bodyTriangles;
    s->vertexCount = 3 * s->triangleCount;
}

// Neighbours go opposite ways, in or out, and a little anywhere.
static void SetDrift(TreeScene* s)
{
    knRandom r = knMakeRandom(2006);
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 out = s->rest[3 * (size_t)i];
        float along = (i % 2 == 0 ? 1.0f : -1.0f) * knRandom_Range(&r, 0.2f, 0.8f);
        s->drift[i] = knAddScaled(knScale(along, out), 0.3f, knRandom_UnitVec3(&r));
    }
}

bool MakeTreeScene(TreeScene* s, TreeSceneKind kind, int detail, int frameCount)
{
    uint32_t rows, columns;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->frameCount = frameCount;
    SetSizes(s, detail, &rows, &columns);
    s->rest = malloc(s->vertexCount * sizeof *s->rest);
    s->positions = malloc(s->vertexCount * sizeof *s->positions);
    s->drift = malloc(s->triangleCount * sizeof *s->drift);
    s->triangles = malloc(s->triangleCount * sizeof *s->triangles);
    if (!s->rest || !s->positions || !s->drift || !s->triangles)
    {
        FreeTreeScene(s);
        return false;
    }
    for (uint32_t i = 0; i < s->bodyCount; ++i)
    {
        if (kind == treeSpheres)
        {
            FillSphere(s, i * s->bodyTriangles, detail > 0 ? detail + 2 : 1);
        }
        else
        {
            FillLathe(s, i * s->bodyTriangles, rows, columns);
        }
    }
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        s->triangles[i] = (knTriangle){{3 * i, 3 * i + 1, 3 * i + 2}};
    }
    SetDrift(s);
    SetTreeFrame(s, 0);
    return true;
}

void FreeTreeScene(TreeScene* s)
{
    free(s->rest);
    free(s->positions);
    free(s->drift);
    free(s->triangles);
    memset(s, 0, sizeof *s);
}

// Where a body is at time u of 0 to 1: apart at first, then among the others.
static knVec3 PlaceBody(const TreeScene* s, uint32_t body, double u)
{
    double turn = 2.0 * PI * body / s->bodyCount;
    double away = u < 0.5 ? 1.0 - u / 0.5 : 0.0;
    double rest = 0.5 * SceneSine(PI * u);
    switch (s->kind)
    {
    case treeSpheres:
        return knMakeVec3((float)((2.3 + 3.5 * away) * SceneCosine(turn)),
                          (float)((2.3 + 3.5 * away) * SceneSine(turn)),
                          (float)((body % 3 - 1.0) * (0.5 + away)));
    case treeBunnies:
        return knMakeVec3((float)((body == 0 ? -1.0 : 1.0) * (0.85 + 1.2 * away)), (float)rest,
                          0.0f);
    default:
        return knMakeVec3((float)(4.0 * u), (float)rest, 0.0f);
    }
}

void SetTreeFrame(TreeScene* s, int frame)
{
    double u = s->frameCount > 1 ? (double)frame / (s->frameCount - 1) : 0.0;
    double begin = s->kind == treeTeapot ? 125.0 / 272.0 : 0.4;
    double x = u > begin ? (u - begin) / (1.0 - begin) : 0.0;
    float strength = (float)(x * x * (3.0 - 2.0 * x));
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 place = PlaceBody(s, i / s->bodyTriangles, u);
        knVec3 move = knAddScaled(place, strength, s->drift[i]);
        for (uint32_t k = 3 * i; k < 3 * i + 3; ++k)
        {
            s->positions[k] = knAdd(s->rest[k], move);
        }
    }
}
