// SPDX-License-Identifier: Zlib
#include "family_internal.h"

#include <string.h>

// One directed side of an edge: a triangle and where it starts in it.
typedef struct EdgeSide
{
    uint32_t low, high; // vertices
    uint32_t triangle;
} EdgeSide;

void knFamily_DropEdges(knFamily* family, uint32_t fragment)
{
    if (fragment < family->edgeCapacity)
    {
        knPieceEdges* list = &family->edges[fragment];
        knRelease(&family->allocator, list->edges, list->count, sizeof(knPieceEdge));
        *list = (knPieceEdges){0};
    }
}

static knResult GrowLabels(knFamily* family, uint32_t fragment)
{
    size_t before = family->edgeCapacity;
    void* edges = family->edges;
    knResult result = knGrow(&family->allocator, &edges, &family->edgeCapacity,
                             (size_t)fragment + 1, sizeof(knPieceEdges));
    family->edges = edges;
    if (result == kn_success && family->edgeCapacity > before)
    {
        memset(family->edges + before, 0, (family->edgeCapacity - before) * sizeof(knPieceEdges));
    }
    return result;
}

static knVec3 FaceNormal(const knPieceSurface* s, uint32_t triangle)
{
    const uint32_t* v = s->triangles[triangle].v;
    knVec3 o = s->positions[v[0]];
    return knNormalize(knCross(knSub(s->positions[v[1]], o), knSub(s->positions[v[2]], o)));
}

// Convex and sharper than the limit: only such an edge can cut into another piece by itself.
static bool IsSharp(const knPieceSurface* s, const EdgeSide* a, const EdgeSide* b, float cosine)
{
    knVec3 n = FaceNormal(s, a->triangle);
    knVec3 m = FaceNormal(s, b->triangle);
    const uint32_t* v = s->triangles[b->triangle].v;
    uint32_t apex = v[0] + v[1] + v[2] - b->low - b->high;
    float height = knDot(n, knSub(s->positions[apex], s->positions[b->low]));
    return knDot(n, m) < cosine && height < 0.0f;
}

// Buckets the sides by their lower vertex; returns how many there are.
static void SortSides(const knPieceSurface* s, EdgeSide* sides, uint32_t* starts)
{
    memset(starts, 0, (s->vertexCount + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < 3 * s->triangleCount; ++i)
    {
        const uint32_t* v = s->triangles[i / 3].v;
        uint32_t a = v[i % 3], b = v[(i + 1) % 3];
        starts[(a < b ? a : b)] += 1;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i <= s->vertexCount; ++i)
    {
        sum += starts[i];
        starts[i] = sum;
    }
    for (uint32_t i = 3 * s->triangleCount; i-- > 0;)
    {
        const uint32_t* v = s->triangles[i / 3].v;
        uint32_t a = v[i % 3], b = v[(i + 1) % 3];
        uint32_t low = a < b ? a : b;
        sides[--starts[low]] = (EdgeSide){low, a < b ? b : a, i / 3};
    }
}

static uint32_t EdgeId(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static uint32_t CollectEdges(const knPieceSurface* s, const EdgeSide* sides, const uint32_t* starts,
                             float cosine, knPieceEdge* edges)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        for (uint32_t i = starts[v]; i < starts[v + 1]; ++i)
        {
            for (uint32_t k = i + 1; k < starts[v + 1]; ++k)
            {
                if (sides[i].high == sides[k].high && IsSharp(s, &sides[i], &sides[k], cosine))
                {
                    uint32_t a = sides[i].low, b = sides[i].high;
                    edges[count++] = (knPieceEdge){s->positions[a], s->positions[b],
                                                   EdgeId(s->pointIds[a], s->pointIds[b])};
                }
            }
        }
    }
    return count;
}

// Everything temporary in the scratch; false when it is too small.
static bool ListEdges(knFamily* f, const knPieceSurface* s, knPieceEdge** edges, uint32_t* count)
{
    size_t sideCount = 3 * (size_t)s->triangleCount;
    EdgeSide* sides = knArena_Allocate(&f->scratch, sideCount, sizeof(EdgeSide));
    uint32_t* starts = knArena_Allocate(&f->scratch, s->vertexCount + 1, sizeof(uint32_t));
    *edges = knArena_Allocate(&f->scratch, sideCount, sizeof(knPieceEdge));
    if (!sides || !starts || !*edges)
    {
        return false;
    }
    SortSides(s, sides, starts);
    *count = CollectEdges(s, sides, starts, f->edgeCosine, *edges);
    return true;
}

static knResult KeepEdges(knFamily* f, uint32_t fragment, const knPieceEdge* edges, uint32_t count)
{
    knPieceEdge* kept = knAllocate(&f->allocator, count, sizeof(knPieceEdge));
    if (count > 0 && !kept)
    {
        return kn_errorMemory;
    }
    if (count > 0)
    {
        memcpy(kept, edges, count * sizeof(knPieceEdge));
    }
    knFamily_DropEdges(f, fragment);
    f->edges[fragment] = (knPieceEdges){kept, count};
    return kn_success;
}

knResult knFamily_FindEdges(knFamily* f, uint32_t fragment)
{
    knResult result = GrowLabels(f, fragment);
    knPieceOptions options = knDefaultPieceOptions();
    while (result == kn_success)
    {
        knPieceSurface surface;
        knPieceEdge* edges = NULL;
        uint32_t count = 0;
        knArena_Reset(&f->scratch);
        knResult made =
            knFragmentSet_Surface(&f->fragments, fragment, &options, &f->scratch, &surface);
        bool listed = made == kn_success && ListEdges(f, &surface, &edges, &count);
        if (listed)
        {
            return KeepEdges(f, fragment, edges, count);
        }
        if (f->scratch.wantedBytes == 0)
        {
            return made;
        }
        size_t wanted = 2 * (f->scratch.usedBytes + f->scratch.wantedBytes);
        knArena_Reset(&f->scratch);
        result = knArena_Reserve(&f->scratch, wanted);
    }
    return result;
}
