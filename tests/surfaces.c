// SPDX-License-Identifier: Zlib
#include "surfaces.h"

#include "knap/random.h"
#include "pair_oracle.h"

#include <math.h>

#define PI 3.14159265f

static Surface NewSurface(const char* name, uint32_t positionCount, uint32_t triangleCount)
{
    Surface s = {.name = name};
    s.positions = calloc(positionCount, sizeof *s.positions);
    s.triangles = calloc(triangleCount, sizeof *s.triangles);
    return s;
}

void FreeSurface(Surface* s)
{
    free(s->positions);
    free(s->triangles);
}

static void AddVertex(Surface* s, float x, float y, float z)
{
    s->positions[s->positionCount++] = knMakeVec3(x, y, z);
}

static void AddFace(Surface* s, uint32_t a, uint32_t b, uint32_t c)
{
    s->triangles[s->triangleCount++] = (knTriangle){{a, b, c}};
}

// Squares over a grid of (columns + 1) x (rows + 1) vertices.
static void AddSquares(Surface* s, uint32_t columns, uint32_t rows)
{
    for (uint32_t i = 0; i < columns * rows; ++i)
    {
        uint32_t a = i / rows * (rows + 1) + i % rows, b = a + rows + 1;
        AddFace(s, a, b, a + 1);
        AddFace(s, b, b + 1, a + 1);
    }
}

Surface MakeSheet(uint32_t n, float noise, uint64_t seed)
{
    Surface s = NewSurface("sheet", (n + 1) * (n + 1), 2 * n * n);
    knRandom r = knMakeRandom(seed);
    for (uint32_t i = 0; i < (n + 1) * (n + 1); ++i)
    {
        knVec3 d = knScale(noise, knRandom_UnitVec3(&r));
        AddVertex(&s, (float)(i / (n + 1)) + d.x, (float)(i % (n + 1)) + d.y, d.z);
    }
    AddSquares(&s, n, n);
    return s;
}

static Surface MakeCrumpledSheet(void)
{
    Surface s = MakeSheet(10, 0.8f, 1);
    s.name = "crumpled sheet";
    return s;
}

// A part of a sheet that every direction sees from its front: nothing may be found, nothing missed.
static Surface MakeCalmSheet(void)
{
    Surface s = MakeSheet(12, 0.2f, 2);
    s.name = "calm sheet";
    return s;
}

// All in one plane and on the lattice: most pairs touch or overlap in the plane.
static Surface MakeFlatSheet(void)
{
    Surface s = MakeSheet(9, 0.0f, 3);
    s.name = "flat sheet with a second one half a square beside it";
    Surface both = NewSurface(s.name, 2 * s.positionCount, 2 * s.triangleCount);
    for (uint32_t k = 0; k < 2; ++k)
    {
        for (uint32_t i = 0; i < s.triangleCount; ++i)
        {
            const uint32_t *v = s.triangles[i].v, o = k * s.positionCount;
            AddFace(&both, v[0] + o, v[1] + o, v[2] + o);
        }
        for (uint32_t i = 0; i < s.positionCount; ++i)
        {
            float shift = k == 0 ? 0.0f : 4.5f;
            AddVertex(&both, s.positions[i].x + shift, s.positions[i].y + shift, 0.0f);
        }
    }
    FreeSurface(&s);
    return both;
}

// A pipe whose one end is pushed through its own wall (FASTCD, Figure 4).
static Surface MakePenetratingPipe(void)
{
    Surface s = NewSurface("penetrating pipe", 31 * 9, 2 * 30 * 8);
    for (int i = 0; i <= 30; ++i)
    {
        float along = 1.1f * 2.0f * PI * (float)i / 30.0f, height = 0.2f * (float)i / 30.0f;
        for (int k = 0; k <= 8; ++k)
        {
            float around = 2.0f * PI * (float)k / 8.0f, radius = 2.0f + 0.5f * cosf(around);
            AddVertex(&s, radius * cosf(along), radius * sinf(along), height + 0.5f * sinf(around));
        }
    }
    AddSquares(&s, 30, 8);
    return s;
}

// A nearly flat spiral: normals all up, more than one layer.
static Surface MakeSpiral(const char* name, float turns, float rise, float inner)
{
    Surface s = NewSurface(name, 41 * 4, 2 * 40 * 3);
    for (int i = 0; i <= 40; ++i)
    {
        float angle = turns * 2.0f * PI * (float)i / 40.0f;
        for (int k = 0; k <= 3; ++k)
        {
            float radius = inner + (1.0f - inner) * (float)k / 3.0f;
            AddVertex(&s, radius * cosf(angle), radius * sinf(angle), rise * (float)i / 40.0f);
        }
    }
    AddSquares(&s, 40, 3);
    return s;
}

static Surface MakeOverlappingSpiral(void)
{
    // steps of the radius let the layers cut each other
    Surface s = MakeSpiral("spiral through itself", 1.4f, 0.0f, 0.3f);
    for (uint32_t i = 0; i < s.positionCount; ++i)
    {
        s.positions[i].z = 0.01f * s.positions[i].x * (float)(i / 4 % 2) + 0.0002f * (float)(i % 4);
    }
    return s;
}

static Surface MakeAnnulus(void)
{
    return MakeSpiral("annulus", 1.0f, 0.0f, 0.6f);
}

static Surface MakeRamp(void)
{
    return MakeSpiral("ramp of two turns", 2.0f, 0.3f, 0.2f);
}

static Surface MakeMoebius(void)
{
    Surface s = NewSurface("Moebius strip", 41 * 4, 2 * 40 * 3);
    for (int i = 0; i <= 40; ++i)
    {
        float angle = 2.0f * PI * (float)i / 40.0f;
        for (int k = 0; k <= 3; ++k)
        {
            float w = 0.6f * ((float)k / 3.0f - 0.5f), half = 0.5f * angle;
            float radius = 1.0f + w * cosf(half);
            AddVertex(&s, radius * cosf(angle), radius * sinf(angle), w * sinf(half));
        }
    }
    AddSquares(&s, 40, 3);
    // the last row is the first, turned over
    for (uint32_t i = 0; i < s.triangleCount; ++i)
    {
        for (int c = 0; c < 3; ++c)
        {
            uint32_t v = s.triangles[i].v[c];
            s.triangles[i].v[c] = v >= 160 ? 3 - (v - 160) : v;
        }
    }
    return s;
}

// Twice around one vertex: normals agree and the contour winds twice.
static Surface MakeDoubleFan(void)
{
    Surface s = NewSurface("double-winding fan", 42, 40);
    AddVertex(&s, 0.0f, 0.0f, 0.5f);
    for (uint32_t i = 0; i <= 40; ++i)
    {
        float angle = 4.0f * PI * (float)i / 40.0f;
        AddVertex(&s, cosf(angle), sinf(angle), 0.1f * sinf(0.5f * angle));
    }
    for (uint32_t i = 0; i < 40; ++i)
    {
        AddFace(&s, 0, 1 + i, i == 39 ? 1 : 2 + i);
    }
    return s;
}

static Surface MakeTorusPatch(void)
{
    Surface s = NewSurface("torus patch", 21 * 11, 2 * 20 * 10);
    for (int i = 0; i <= 20; ++i)
    {
        float along = 1.9f * PI * (float)i / 20.0f;
        for (int k = 0; k <= 10; ++k)
        {
            float around = 1.5f * PI * (float)k / 10.0f, radius = 1.0f + 0.8f * cosf(around);
            AddVertex(&s, radius * cosf(along), radius * sinf(along), 0.8f * sinf(around));
        }
    }
    AddSquares(&s, 20, 10);
    return s;
}

// Two fans that hang together at one vertex and pass through each other.
static Surface MakeBowTie(void)
{
    Surface s = NewSurface("bow-tie vertex", 26, 24);
    AddVertex(&s, 0.0f, 0.0f, 0.0f);
    for (uint32_t fan = 0; fan < 2; ++fan)
    {
        for (uint32_t i = 0; i < 12; ++i)
        {
            float angle = 2.0f * PI * (float)i / 12.0f;
            float tilt = fan == 0 ? 0.2f : -0.2f;
            AddVertex(&s, cosf(angle), sinf(angle), 0.3f * (float)fan - 0.1f + tilt * cosf(angle));
        }
        for (uint32_t i = 0; i < 12; ++i)
        {
            AddFace(&s, 0, 1 + 12 * fan + i, 1 + 12 * fan + (i + 1) % 12);
        }
    }
    return s;
}

static Surface MakeMixedOrientation(void)
{
    Surface s = MakeSheet(9, 0.6f, 9);
    s.name = "inconsistent orientation";
    for (uint32_t i = 0; i < s.triangleCount; i += 3)
    {
        uint32_t v = s.triangles[i].v[0];
        s.triangles[i].v[0] = s.triangles[i].v[1];
        s.triangles[i].v[1] = v;
    }
    return s;
}

static Surface MakeDuplicates(void)
{
    Surface sheet = MakeSheet(6, 0.5f, 4);
    Surface s = NewSurface("duplicate triangles", sheet.positionCount, 2 * sheet.triangleCount);
    memcpy(s.positions, sheet.positions, sheet.positionCount * sizeof *s.positions);
    s.positionCount = sheet.positionCount;
    for (uint32_t i = 0; i < 2 * sheet.triangleCount; ++i)
    {
        const uint32_t* v = sheet.triangles[i / 2].v;
        AddFace(&s, v[i % 2], v[(i % 2 + 1) % 3], v[(i % 2 + 2) % 3]);
    }
    FreeSurface(&sheet);
    return s;
}

static Surface MakeHub(void)
{
    Surface s = NewSurface("hub of valence 1000", 1001, 1000);
    knRandom r = knMakeRandom(8);
    AddVertex(&s, 0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < 1000; ++i)
    {
        float angle = 2.0f * PI * (float)i / 1000.0f;
        AddVertex(&s, cosf(angle), sinf(angle), knRandom_Range(&r, -0.003f, 0.003f));
    }
    for (uint32_t i = 0; i < 1000; ++i)
    {
        AddFace(&s, 0, 1 + i, 1 + (i + 1) % 1000);
    }
    return s;
}

// 3 to 50 faces on an edge; those that point the same way overlap in a plane.
static Surface MakeBook(void)
{
    Surface s = NewSurface("edge with fifty faces", 52, 50);
    AddVertex(&s, 0.0f, 0.0f, 0.0f);
    AddVertex(&s, 0.0f, 0.0f, 1.0f);
    for (uint32_t i = 0; i < 50; ++i)
    {
        AddVertex(&s, (float)(i % 5) - 2.0f, (float)(i / 5 % 5) - 2.0f, 0.1f * (float)(i % 7));
        AddFace(&s, 0, 1, 2 + i);
    }
    return s;
}

// Random triangles on a lattice, some without area, some with a vertex twice.
static Surface MakeLatticeSoup(void)
{
    Surface s = NewSurface("lattice soup", 60, 160);
    knRandom r = knMakeRandom(12);
    for (uint32_t i = 0; i < 60; ++i)
    {
        float x = (float)knRandom_Below(&r, 4), y = (float)knRandom_Below(&r, 4);
        AddVertex(&s, x, y, (float)knRandom_Below(&r, 4));
    }
    for (uint32_t i = 0; i < 160; ++i)
    {
        uint32_t a = knRandom_Below(&r, 60), b = knRandom_Below(&r, 60);
        AddFace(&s, a, b, knRandom_Below(&r, 60));
    }
    return s;
}

static knVec3 RandomIntegers(knRandom* r)
{
    float x = (float)knRandom_Below(r, 1u << 20), y = (float)knRandom_Below(r, 1u << 20);
    return knMakeVec3(x, y, (float)knRandom_Below(r, 1u << 20));
}

// Corners that lie in the middle of other triangles, to the last bit, in planes that no float
// arithmetic can tell them from.
static Surface MakeTouching(void)
{
    Surface s = NewSurface("corners in the middle of faces", 180, 60);
    knRandom r = knMakeRandom(14);
    for (uint32_t i = 0; i < 30; ++i)
    {
        knVec3 o = RandomIntegers(&r), u = RandomIntegers(&r), v = RandomIntegers(&r);
        knVec3 far = knScale(1e6f, knNormalize(knCross(u, v))), middle = knAdd(o, knAdd(u, v));
        const knVec3 corners[6] = {o,      knAddScaled(o, 4.0f, u), knAddScaled(o, 4.0f, v),
                                   middle, knAdd(middle, far),      knAdd(u, far)};
        for (int c = 0; c < 6; ++c)
        {
            AddVertex(&s, corners[c].x, corners[c].y, corners[c].z);
        }
        AddFace(&s, 6 * i, 6 * i + 1, 6 * i + 2);
        AddFace(&s, 6 * i + 3, 6 * i + 4, 6 * i + 5);
    }
    return s;
}

// a u + b v from the origin; exact for integers of this size.
static knVec3 PlacePoint(knVec3 o, knVec3 u, float a, knVec3 v, float b)
{
    return knAdd(o, knAdd(knScale(a, u), knScale(b, v)));
}

// Two triangles in one slanted plane, the corner of one on the edge of the other.
static Surface MakeTouchingBeside(void)
{
    Surface s = NewSurface("corners on edges in a plane", 360, 120);
    knRandom r = knMakeRandom(15);
    for (uint32_t i = 0; i < 60; ++i)
    {
        knVec3 o = knScale(-7.0f, RandomIntegers(&r)), u = RandomIntegers(&r);
        knVec3 v = RandomIntegers(&r);
        static const float places[6][2] = {{0, 0}, {5, 0}, {0, 5}, {3, 0}, {1, -3}, {4, -3}};
        for (uint32_t c = 0; c < 6; ++c)
        {
            // the corner lies on another edge each time
            uint32_t turn = (i + c) % 3 + c / 3 * 3;
            knVec3 p = PlacePoint(o, u, places[c][0], v, places[c][1]);
            s.positions[6 * i + turn] = p;
            s.positionCount += 1;
        }
        AddFace(&s, 6 * i, 6 * i + 1, 6 * i + 2);
        AddFace(&s, 6 * i + 3, 6 * i + 4, 6 * i + 5);
    }
    return s;
}

static Surface MakeWithNan(void)
{
    Surface s = MakeSheet(8, 0.8f, 5);
    s.name = "vertices that are not finite";
    s.positions[20].x = NAN;
    s.positions[41].y = INFINITY;
    s.positions[60].z = -INFINITY;
    return s;
}

static Surface MakeOneTriangle(void)
{
    Surface s = NewSurface("one triangle", 3, 1);
    AddVertex(&s, 0.0f, 0.0f, 0.0f);
    AddVertex(&s, 1.0f, 0.0f, 0.0f);
    AddVertex(&s, 0.0f, 1.0f, 0.0f);
    AddFace(&s, 0, 1, 2);
    return s;
}

static Surface MakeNothing(void)
{
    return NewSurface("no triangle", 1, 1);
}

MakeSurfaceFcn* const surfaceMakers[SURFACE_COUNT] = {
    MakeCrumpledSheet,     MakeCalmSheet,   MakeFlatSheet, MakePenetratingPipe,
    MakeOverlappingSpiral, MakeAnnulus,     MakeRamp,      MakeMoebius,
    MakeDoubleFan,         MakeTorusPatch,  MakeBowTie,    MakeMixedOrientation,
    MakeDuplicates,        MakeHub,         MakeBook,      MakeLatticeSoup,
    MakeWithNan,           MakeOneTriangle, MakeNothing,   MakeTouching,
    MakeTouchingBeside,
};

static knBox FaceBox(const Surface* s, uint32_t face)
{
    knBox box = knEmptyBox();
    for (int c = 0; c < 3; ++c)
    {
        box = knBox_AddPoint(box, s->positions[s->triangles[face].v[c]]);
    }
    return box;
}

static bool IsFiniteFace(const Surface* s, uint32_t face)
{
    const uint32_t* v = s->triangles[face].v;
    return knIsFinite(s->positions[v[0]]) && knIsFinite(s->positions[v[1]]) &&
           knIsFinite(s->positions[v[2]]);
}

// Parted by the plane of the first so clearly that rounding in double cannot matter: spares the
// rationals.
static bool IsFarApart(const Surface* s, uint32_t i, uint32_t k)
{
    const uint32_t *v = s->triangles[i].v, *w = s->triangles[k].v;
    knDVec3 o = knToDouble(s->positions[v[0]]);
    knDVec3 e = knDSub(knToDouble(s->positions[v[1]]), o);
    knDVec3 f = knDSub(knToDouble(s->positions[v[2]]), o);
    knDVec3 n = knDCross(e, f);
    int above = 0, below = 0, shared = 0;
    for (int c = 0; c < 3; ++c)
    {
        bool isShared = w[c] == v[0] || w[c] == v[1] || w[c] == v[2];
        knDVec3 d = knDSub(knToDouble(s->positions[w[c]]), o);
        double height = knDDot(n, d), margin = 1e-9 * knDLength(e) * knDLength(f) * knDLength(d);
        shared += isShared;
        above += !isShared && height > margin;
        below += !isShared && height < -margin;
    }
    return shared < 3 && (above + shared == 3 || below + shared == 3);
}

static bool IsTruePair(const Surface* s, uint32_t i, uint32_t k)
{
    if (!IsFiniteFace(s, i) || !IsFiniteFace(s, k) || !knBox_Overlaps(FaceBox(s, i), FaceBox(s, k)))
    {
        return false;
    }
    if (IsFarApart(s, i, k) || IsFarApart(s, k, i))
    {
        return false;
    }
    const uint32_t *v = s->triangles[i].v, *w = s->triangles[k].v;
    const knVec3 a[3] = {s->positions[v[0]], s->positions[v[1]], s->positions[v[2]]};
    const knVec3 b[3] = {s->positions[w[0]], s->positions[w[1]], s->positions[w[2]]};
    return OracleMeets(a, v, b, w);
}

TruePairs FindTruePairs(const Surface* s)
{
    TruePairs truth = {NULL, 0};
    size_t capacity = 0;
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        for (uint32_t k = i + 1; k < s->triangleCount; ++k)
        {
            if (IsTruePair(s, i, k))
            {
                capacity = truth.count == capacity ? 2 * capacity + 64 : capacity;
                truth.pairs = realloc(truth.pairs, capacity * sizeof *truth.pairs);
                truth.pairs[truth.count++] = (knBvhPair){i, k, 0};
            }
        }
    }
    return truth;
}

void FreeTruePairs(TruePairs* truth)
{
    free(truth->pairs);
}

knBvhScene* MakeScene(const Surface* s, const knBvhSceneDef* def)
{
    knBvhScene* scene = NULL;
    assert_int_equal(knCreateBvhScene(&scene, def, NULL), kn_success);
    assert_int_equal(knBvhScene_AddVertices(scene, s->positions, s->positionCount, NULL),
                     kn_success);
    assert_int_equal(knBvhScene_AddBody(scene, s->triangles, s->triangleCount, NULL, NULL),
                     kn_success);
    assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
    return scene;
}

static bool ShareVertex(const Surface* s, const knBvhPair* p)
{
    for (int i = 0; i < 9; ++i)
    {
        if (s->triangles[p->a].v[i / 3] == s->triangles[p->b].v[i % 3])
        {
            return true;
        }
    }
    return false;
}

size_t CountWrongPairs(const knBvhScene* scene, const knBvhQueryDef* def, const TruePairs* truth,
                       const Surface* surface)
{
    knBvhQuery* query = NULL;
    assert_int_equal(knCreateBvhQuery(&query, NULL), kn_success);
    assert_int_equal(knBvhQuery_Run(query, scene, def), kn_success);
    size_t count, wrong = 0, k = 0;
    const knBvhPair* pairs = knBvhQuery_Pairs(query, &count);
    for (size_t i = 0; i < truth->count; ++i)
    {
        const knBvhPair* t = &truth->pairs[i];
        if (def->skipAdjacent && ShareVertex(surface, t))
        {
            continue;
        }
        bool found = k < count && pairs[k].a == t->a && pairs[k].b == t->b;
        wrong += !found;
        k += found;
    }
    wrong += count - k;
    knDestroyBvhQuery(query);
    return wrong;
}
