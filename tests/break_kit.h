// SPDX-License-Identifier: Zlib
#pragma once

// What the tests of breaking share: plates and bars of any size with as many triangles as wanted,
// hits, and pieces judged from their triangles alone.

#include "kit.h"
#include "piece_checks.h"
#include "pieces.h"

#include "modes.h"

#include "knap/breaking.h"
#include "knap/random.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW 1
#else
#define IS_SLOW 0
#endif

// A prism over a polygon in the plane of x and y, cut into columns along x: the outline is given as
// lower and upper height at each of the columns' ends; depthCells along z.
typedef struct Profile
{
    const float* x;
    const float* lower;
    const float* upper;
    int columnEnds;
    int heightCells;
    float depth;
    int depthCells;
} Profile;

typedef struct OffText
{
    char* text;
    size_t size, capacity;
    int vertexCount, faceCount;
} OffText;

static inline void Append(OffText* off, const char* format, ...)
{
    va_list list;
    va_start(list, format);
    if (off->capacity - off->size < 256)
    {
        off->capacity = 2 * off->capacity + 4096;
        off->text = realloc(off->text, off->capacity);
        assert_non_null(off->text);
    }
    off->size += (size_t)vsnprintf(off->text + off->size, off->capacity - off->size, format, list);
    va_end(list);
}

static inline knVec3 ProfilePoint(const Profile* p, int i, int j, int k)
{
    float t = (float)j / (float)p->heightCells;
    return knMakeVec3(p->x[i], p->lower[i] + t * (p->upper[i] - p->lower[i]),
                      p->depth * ((float)k / (float)p->depthCells - 0.5f));
}

// The grid has (columnEnds) x (heightCells + 1) x (depthCells + 1) points; those inside are left
// out of the text, so every point gets a number in a table.
static inline TestModel OpenProfile(const char* name, const Profile* p, const knModeOptions* modes)
{
    int nx = p->columnEnds - 1, ny = p->heightCells, nz = p->depthCells;
    int* ids = malloc((size_t)(nx + 1) * (size_t)(ny + 1) * (size_t)(nz + 1) * sizeof *ids);
    assert_non_null(ids);
    OffText points = {0}, faces = {0};
#define ID(i, j, k) ids[((i) * (ny + 1) + (j)) * (nz + 1) + (k)]
    for (int i = 0; i <= nx; ++i)
    {
        for (int j = 0; j <= ny; ++j)
        {
            for (int k = 0; k <= nz; ++k)
            {
                bool isInside = i > 0 && i < nx && j > 0 && j < ny && k > 0 && k < nz;
                ID(i, j, k) = isInside ? -1 : points.vertexCount++;
                knVec3 q = ProfilePoint(p, i, j, k);
                if (!isInside)
                {
                    Append(&points, "%.9g %.9g %.9g\n", (double)q.x, (double)q.y, (double)q.z);
                }
            }
        }
    }
#define QUAD(a, b, c, d)                                                                           \
    Append(&faces, "3 %d %d %d\n3 %d %d %d\n", a, b, c, a, c, d), faces.faceCount += 2
    for (int i = 0; i < nx; ++i)
    {
        for (int j = 0; j < ny; ++j)
        {
            QUAD(ID(i, j, 0), ID(i, j + 1, 0), ID(i + 1, j + 1, 0), ID(i + 1, j, 0));
            QUAD(ID(i, j, nz), ID(i + 1, j, nz), ID(i + 1, j + 1, nz), ID(i, j + 1, nz));
        }
        for (int k = 0; k < nz; ++k)
        {
            QUAD(ID(i, 0, k), ID(i + 1, 0, k), ID(i + 1, 0, k + 1), ID(i, 0, k + 1));
            QUAD(ID(i, ny, k), ID(i, ny, k + 1), ID(i + 1, ny, k + 1), ID(i + 1, ny, k));
        }
    }
    for (int j = 0; j < ny; ++j)
    {
        for (int k = 0; k < nz; ++k)
        {
            QUAD(ID(0, j, k), ID(0, j, k + 1), ID(0, j + 1, k + 1), ID(0, j + 1, k));
            QUAD(ID(nx, j, k), ID(nx, j + 1, k), ID(nx, j + 1, k + 1), ID(nx, j, k + 1));
        }
    }
#undef QUAD
#undef ID
    OffText all = {0};
    all.capacity = points.size + faces.size + 4096;
    all.text = malloc(all.capacity);
    assert_non_null(all.text);
    all.size = (size_t)snprintf(all.text, all.capacity, "OFF\n%d %d 0\n", points.vertexCount,
                                faces.faceCount);
    memcpy(all.text + all.size, points.text, points.size);
    memcpy(all.text + all.size + points.size, faces.text, faces.size);
    all.text[all.size + points.size + faces.size] = 0;
    TestModel model = OpenOffModelWith(name, all.text, modes);
    free(points.text);
    free(faces.text);
    free(all.text);
    free(ids);
    return model;
}

// A square plate of 0.2 m that lies flat, its top at y = thickness.
static inline TestModel OpenPlate(const char* name, float thickness, int cells)
{
    float x[65], lower[65], upper[65];
    for (int i = 0; i <= cells; ++i)
    {
        x[i] = 0.2f * ((float)i / (float)cells - 0.5f);
        lower[i] = 0.0f;
        upper[i] = thickness;
    }
    Profile profile = {x, lower, upper, cells + 1, 1, 0.2f, cells};
    knModeOptions modes = {.count = 0};
    return OpenProfile(name, &profile, &modes);
}

static inline knImpact MakeHit(knVec3 point, knVec3 impulse)
{
    return (knImpact){.kind = kn_loadImpact, .point = point, .impulse = impulse};
}

// Runs a whole event.
static inline knBreakResult BreakPiece(knBreaker* breaker, knFamily* family, const knBreakDef* def)
{
    assert_int_equal(knBreaker_Begin(breaker, family, def, NULL), kn_success);
    knBreakResult result;
    do
    {
        assert_int_equal(knBreaker_Continue(breaker, NULL, &result), kn_success);
    } while (!result.isDone);
    return result;
}

// One hit on a fresh instance of a ceramic thing.
static inline knBreakResult HitFresh(const TestModel* model, knBreaker* breaker, knImpact hit,
                                     uint64_t seed, knFamily** family)
{
    *family = MakeFamily(model);
    knBreakDef def = knDefaultBreakDef();
    def.impacts = &hit;
    def.impactCount = 1;
    def.seed = seed;
    return BreakPiece(breaker, *family, &def);
}

static inline knPieceSurface SurfaceOfPiece(const knFamily* family, uint32_t piece, knArena* arena)
{
    knPieceSurface surface;
    while (knFragmentSet_Surface(knFamily_Fragments(family), piece, NULL, arena, &surface) !=
           kn_success)
    {
        size_t capacity = 2 * arena->capacity + ((size_t)1 << 20);
        knArena_Reset(arena);
        assert_int_equal(knArena_Reserve(arena, capacity), kn_success);
    }
    return surface;
}

// Every piece is closed and 2-manifold and weighs what its surface says; together they are the
// whole.
static inline void AssertPiecesSound(const knFamily* family, knArena* arena)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    double volume = 0.0;
    for (uint32_t i = 0; i < set->fragmentCount; ++i)
    {
        if (set->fragments[i].state == kn_fragmentEnded)
        {
            continue;
        }
        knArena_Reset(arena);
        knPieceSurface s = SurfaceOfPiece(family, i, arena);
        PieceView view = {s.positions, s.triangles, s.vertexCount, s.triangleCount};
        const char* flaw = FindFlaw(view);
        if (flaw)
        {
            print_error("piece %u of %u: %s\n", i, set->fragmentCount, flaw);
            fail();
        }
        knMassProperties own = SurfaceMass(view, set->density);
        const knMassProperties* mass = &set->fragments[i].mass;
        assert_true(MassDifference(mass, &own, cbrt(mass->volume)) < 1e-3);
        volume += mass->volume;
    }
    ASSERT_NEAR(volume / set->fragments[0].mass.volume, 1.0, 1e-9);
}
