// SPDX-License-Identifier: Zlib
#include "family_internal.h"

#include <string.h>

// The sharp edges of the pieces, all in one pool, a run for each. A break hands the parent's edges
// on: an original edge keeps its angle and goes to the piece of its nodes, in two parts when it was
// cut; an edge of an old crack goes with its node unless a tetrahedron it lies in was crossed. What
// is new lies around the crack faces of the crossed tetrahedra.

#define ORIGINAL 0x80000000u // in `source`: an edge of the mesh
#define INSIDE   4u          // in place of a face: the edge concerns one tetrahedron

// No more new edges per crossed tetrahedron than its crack faces have corners: two sides of a quad,
// or what four parts of several planes can have.
#define MOST_OF_ONE_PLANE 8
#define MOST_OF_MORE      60

typedef struct Edges
{
    knFamily* family;
    const knFractureDelta* delta;
    const knCutStore* cuts;
    const knTetMesh* mesh;
    knPieceEdge* pool;
    uint32_t count;
    uint32_t capacity;
} Edges;

void knFamily_DropEdges(knFamily* family, uint32_t fragment)
{
    if (fragment < family->edgeCapacity)
    {
        family->edges[fragment] = (knPieceEdges){0};
    }
}

static uint32_t EdgeId(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static void AddEdge(Edges* e, knPieceEdge edge)
{
    KN_ASSERT(e->count < e->capacity);
    if (e->count < e->capacity)
    {
        e->pool[e->count++] = edge;
    }
}

// ---- room

static knResult GrowLabels(knFamily* f, size_t labelCount)
{
    size_t before = f->edgeCapacity;
    void* edges = f->edges;
    knResult result =
        knGrow(&f->allocator, &edges, &f->edgeCapacity, labelCount, sizeof(knPieceEdges));
    f->edges = edges;
    if (result == kn_success && f->edgeCapacity > before)
    {
        memset(f->edges + before, 0, (f->edgeCapacity - before) * sizeof(knPieceEdges));
    }
    return result;
}

static uint32_t CountEdges(const knFamily* f)
{
    uint32_t count = 0;
    for (size_t i = 0; i < f->edgeCapacity; ++i)
    {
        count += f->edges[i].count;
    }
    return count;
}

knResult knFamily_ReserveEdges(knFamily* f, const knFractureDelta* delta, uint32_t labelCount)
{
    // a cut original edge becomes two
    uint32_t added = delta->pointCount;
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        const knTetCut* cut = &f->cuts.cuts[f->cuts.tetCuts[delta->crossedTets[i]]];
        added += cut->planeCount == 1 ? MOST_OF_ONE_PLANE : MOST_OF_MORE;
    }
    size_t wanted = (size_t)CountEdges(f) + f->pendingEdges + added;
    knResult result = GrowLabels(f, labelCount);
    void* spare = f->spareEdges;
    result = result == kn_success
                 ? knGrow(&f->allocator, &spare, &f->spareCapacity, wanted, sizeof(knPieceEdge))
                 : result;
    f->spareEdges = spare;
    f->pendingEdges += result == kn_success ? added : 0;
    return result;
}

static void ReleasePool(knFamily* f, knPieceEdge** pool, size_t* capacity)
{
    knRelease(&f->allocator, *pool, *capacity, sizeof(knPieceEdge));
    *pool = NULL;
    *capacity = 0;
}

void knFamily_ReleaseEdges(knFamily* f)
{
    ReleasePool(f, &f->edgePool, &f->poolCapacity);
    ReleasePool(f, &f->spareEdges, &f->spareCapacity);
    knRelease(&f->allocator, f->edges, f->edgeCapacity, sizeof(knPieceEdges));
    f->edges = NULL;
    f->edgeCapacity = 0;
}

// Points the lists into the memory that now holds the pool.
static void MoveLists(knFamily* f, const knPieceEdge* from, knPieceEdge* to)
{
    for (size_t i = 0; i < f->edgeCapacity; ++i)
    {
        knPieceEdges* list = &f->edges[i];
        list->edges = list->count > 0 ? to + (list->edges - from) : NULL;
    }
}

// The spare becomes the pool, as large as it must be where memory allows.
static void SwapPools(knFamily* f, uint32_t count)
{
    ReleasePool(f, &f->edgePool, &f->poolCapacity);
    knPieceEdge* fitting = knAllocate(&f->allocator, count, sizeof(knPieceEdge));
    if (fitting || count == 0)
    {
        if (count > 0)
        {
            memcpy(fitting, f->spareEdges, count * sizeof(knPieceEdge));
        }
        MoveLists(f, f->spareEdges, fitting);
        ReleasePool(f, &f->spareEdges, &f->spareCapacity);
        f->edgePool = fitting;
        f->poolCapacity = count;
        return;
    }
    f->edgePool = f->spareEdges;
    f->poolCapacity = f->spareCapacity;
    f->spareEdges = NULL;
    f->spareCapacity = 0;
}

// ---- original edges

static void AddWhole(Edges* e, uint32_t edge)
{
    const uint32_t* v = e->mesh->edges[edge].v;
    AddEdge(e, (knPieceEdge){.a = e->mesh->nodes[v[0]],
                             .b = e->mesh->nodes[v[1]],
                             .id = EdgeId(v[0], v[1]),
                             .node = v[0],
                             .source = ORIGINAL | edge});
}

static void AddHalves(Edges* e, uint32_t edge)
{
    uint32_t point = e->cuts->edgeCuts[edge];
    for (uint32_t side = 0; side < 2; ++side)
    {
        uint32_t node = e->mesh->edges[edge].v[side];
        AddEdge(e, (knPieceEdge){.a = e->mesh->nodes[node],
                                 .b = e->cuts->points[point].position,
                                 .id = EdgeId(node, knCutStore_PointId(e->cuts, point, side)),
                                 .node = node,
                                 .source = ORIGINAL | edge});
    }
}

knResult knFamily_ListEdges(knFamily* f)
{
    const knModelEdges* all = &f->model->edges;
    knResult result = GrowLabels(f, 1);
    f->edgePool = knAllocate(&f->allocator, all->count, sizeof(knPieceEdge));
    f->poolCapacity = f->edgePool ? all->count : 0;
    if (result != kn_success || f->poolCapacity != all->count)
    {
        return kn_errorMemory;
    }
    Edges e = {.family = f,
               .mesh = f->model->cutMesh.mesh,
               .cuts = &f->cuts,
               .pool = f->edgePool,
               .capacity = all->count};
    for (uint32_t i = 0; i < all->count; ++i)
    {
        if (all->edges[i].cosine < f->edgeCosine)
        {
            AddWhole(&e, all->edges[i].edge);
        }
    }
    f->edges[0] = (knPieceEdges){.edges = e.pool, .count = e.count};
    return kn_success;
}

// ---- what a break changes

static bool IsCrossed(const Edges* e, uint32_t tet)
{
    const uint32_t* edges = e->mesh->tetEdges[tet].e;
    bool crossed = false;
    for (int k = 0; k < 6; ++k)
    {
        uint32_t point = e->cuts->edgeCuts[edges[k]];
        crossed |= point >= e->delta->firstPoint && point != KN_NONE;
    }
    return crossed;
}

static void HandOn(Edges* e, const knPieceEdge* old)
{
    if (old->source & ORIGINAL)
    {
        uint32_t edge = old->source & ~ORIGINAL;
        uint32_t point = e->cuts->edgeCuts[edge];
        if (point >= e->delta->firstPoint && point != KN_NONE)
        {
            AddHalves(e, edge);
        }
        else
        {
            AddEdge(e, *old);
        }
        return;
    }
    uint32_t tet = old->source / 8, face = old->source % 8;
    uint32_t other = face == INSIDE ? KN_NONE : e->mesh->neighbors[tet].t[face];
    if (!IsCrossed(e, tet) && (other == KN_NONE || !IsCrossed(e, other)))
    {
        AddEdge(e, *old);
    }
}

static knVec3 CrackNormal(const knCrackFace* face)
{
    knVec3 a = face->points[0], sum = {0.0f, 0.0f, 0.0f};
    for (int i = 1; i + 1 < face->count; ++i)
    {
        sum = knAdd(sum, knCross(knSub(face->points[i], a), knSub(face->points[i + 1], a)));
    }
    return knNormalize(sum);
}

static knVec3 BoundaryNormal(const knTetMesh* mesh, uint32_t tet, uint32_t face)
{
    knTriangle t = knTetMesh_BoundaryTriangle(mesh, 4 * tet + face);
    knVec3 o = mesh->nodes[t.v[0]];
    return knNormalize(knCross(knSub(mesh->nodes[t.v[1]], o), knSub(mesh->nodes[t.v[2]], o)));
}

// One side of a crack face, as it is looked at.
typedef struct Side
{
    const knCrackFace* face;
    const knCrackRim* rim;
    knVec3 normal;
    uint32_t tet, label;
    int i, next; // its ends
} Side;

// Whether the crack goes on in the next tetrahedron at a sharp and convex angle.
static bool TurnsSharply(const Edges* e, const Side* side, uint32_t other)
{
    knCrackFaces cracks;
    knCrackRim rims[KN_MAX_TET_PLANES];
    knCutStore_CrackRims(e->cuts, e->mesh, other,
                         knCutStore_Mask(e->cuts, e->mesh, other, side->label), &cracks, rims);
    uint32_t a = side->rim->ids[side->i], b = side->rim->ids[side->next];
    for (uint32_t f = 0; f < cracks.count; ++f)
    {
        const knCrackFace* face = &cracks.faces[f];
        int last = face->count - 1;
        for (int i = 0; i < face->count; ++i)
        {
            // the neighbour runs along the edge the other way
            if (rims[f].ids[last] == b && rims[f].ids[i] == a)
            {
                knVec3 apex = face->points[i + 1 < face->count ? i + 1 : 0];
                float height = knDot(side->normal, knSub(apex, face->points[i]));
                return height < 0.0f &&
                       knDot(side->normal, CrackNormal(face)) < e->family->edgeCosine;
            }
            last = i;
        }
    }
    return false;
}

static void AddSide(Edges* e, const Side* side, uint8_t mask, uint32_t face)
{
    const uint32_t* v = e->mesh->tets[side->tet].v;
    int corner = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
    AddEdge(e, (knPieceEdge){.a = side->face->points[side->i],
                             .b = side->face->points[side->next],
                             .id = EdgeId(side->rim->ids[side->i], side->rim->ids[side->next]),
                             .node = v[corner],
                             .source = 8 * side->tet + face});
}

// The sides of a part's crack faces; one between two crossed tetrahedra is the lower one's.
static void AddPart(Edges* e, uint32_t tet, uint8_t mask, uint32_t label)
{
    knCrackFaces cracks;
    knCrackRim rims[KN_MAX_TET_PLANES];
    knVec3 normals[KN_MAX_TET_PLANES];
    knCutStore_CrackRims(e->cuts, e->mesh, tet, mask, &cracks, rims);
    for (uint32_t f = 0; f < cracks.count; ++f)
    {
        normals[f] = CrackNormal(&cracks.faces[f]);
    }
    for (uint32_t f = 0; f < cracks.count; ++f)
    {
        const knCrackFace* face = &cracks.faces[f];
        for (int i = 0; i < face->count; ++i)
        {
            Side side = {
                face, &rims[f], normals[f], tet, label, i, i + 1 < face->count ? i + 1 : 0};
            uint8_t across = rims[f].across[i];
            uint32_t other = across < 4 ? e->mesh->neighbors[tet].t[across] : KN_NONE;
            if (other != KN_NONE)
            {
                bool mine = tet < other || !IsCrossed(e, other);
                if (mine && TurnsSharply(e, &side, other))
                {
                    AddSide(e, &side, mask, across);
                }
                continue;
            }
            // two faces of one convex part: always convex
            knVec3 normal = across < 4 ? BoundaryNormal(e->mesh, tet, across) : side.normal;
            for (uint32_t g = 0; g < cracks.count; ++g)
            {
                // from the later of two planes
                bool isOther = across == 4 + cracks.faces[g].plane && g < f;
                normal = isOther ? normals[g] : normal;
            }
            if (knDot(side.normal, normal) < e->family->edgeCosine)
            {
                AddSide(e, &side, mask, INSIDE);
            }
        }
    }
}

static void AddCrossed(Edges* e, uint32_t tet)
{
    const uint32_t* v = e->mesh->tets[tet].v;
    uint8_t done = 0;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t label = e->cuts->labels[v[i]];
        if (!(done >> i & 1) && e->family->edges[label].isNew)
        {
            uint8_t mask = knCutStore_Mask(e->cuts, e->mesh, tet, label);
            done |= mask;
            AddPart(e, tet, mask, label);
        }
    }
}

// Puts the edges from `first` on into runs by piece, in place.
static void SortEdges(Edges* e, uint32_t first)
{
    knPieceEdges* lists = e->family->edges;
    for (uint32_t i = first; i < e->count; ++i)
    {
        lists[e->cuts->labels[e->pool[i].node]].count += 1;
    }
    uint32_t place = first;
    for (uint32_t i = 0; i < e->delta->fragmentCount; ++i)
    {
        knPieceEdges* list = &lists[e->delta->fragments[i]];
        list->edges = e->pool + place;
        place += list->count;
        list->count = 0; // grows again as edges find their place
    }
    uint32_t end = first;
    for (uint32_t i = 0; i < e->delta->fragmentCount; ++i)
    {
        uint32_t label = e->delta->fragments[i];
        end = i + 1 < e->delta->fragmentCount
                  ? (uint32_t)(lists[e->delta->fragments[i + 1]].edges - e->pool)
                  : e->count;
        while (lists[label].edges + lists[label].count < e->pool + end)
        {
            knPieceEdge* at = &lists[label].edges[lists[label].count];
            knPieceEdges* home = &lists[e->cuts->labels[at->node]];
            knPieceEdge* to = &home->edges[home->count++];
            knPieceEdge swap = *to;
            *to = *at;
            *at = swap;
        }
    }
}

// The lists of all pieces that stay.
static void CopyLists(Edges* e)
{
    for (size_t i = 0; i < e->family->edgeCapacity; ++i)
    {
        knPieceEdges* list = &e->family->edges[i];
        if (list->count > 0 && i != e->delta->parent)
        {
            memcpy(e->pool + e->count, list->edges, list->count * sizeof(knPieceEdge));
            list->edges = e->pool + e->count;
            e->count += list->count;
        }
    }
}

void knFamily_UpdateEdges(knFamily* f, const knFractureDelta* delta)
{
    Edges e = {.family = f,
               .delta = delta,
               .cuts = &f->cuts,
               .mesh = f->model->cutMesh.mesh,
               .pool = f->spareEdges,
               .capacity = (uint32_t)f->spareCapacity};
    knPieceEdges parent = f->edges[delta->parent];
    f->edges[delta->parent] = (knPieceEdges){0};
    CopyLists(&e);
    uint32_t first = e.count;
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        f->edges[delta->fragments[i]] = (knPieceEdges){.isNew = true};
    }
    for (uint32_t i = 0; i < parent.count; ++i)
    {
        HandOn(&e, &parent.edges[i]);
    }
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        AddCrossed(&e, delta->crossedTets[i]);
    }
    SortEdges(&e, first);
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        f->edges[delta->fragments[i]].isNew = false;
    }
    SwapPools(f, e.count);
    f->pendingEdges = 0;
}
