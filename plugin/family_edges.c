// SPDX-License-Identifier: Zlib
#include "family_edges_internal.h"

#include <string.h>

// The sharp edges of the pieces, all in one pool, a run for each. A break hands the parent's edges
// on: an original edge keeps its angle and goes to the piece of its nodes, in two parts when it was
// cut; an edge of an old crack goes with its node unless a tetrahedron it lies in was crossed. What
// is new lies around the crack faces of the crossed tetrahedra.

// No more new edges per crossed tetrahedron than its crack faces have corners: two sides of a quad,
// or what four parts of several planes can have.
#define MOST_OF_ONE_PLANE 8
#define MOST_OF_MORE      60

void knFamily_DropEdges(knFamily* family, uint32_t fragment)
{
    if (fragment < family->edgeCapacity)
    {
        family->edges[fragment] = (knPieceEdges){0};
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

static void ReleasePool(knFamily* f, knPieceEdge** pool, size_t* capacity)
{
    knRelease(&f->allocator, *pool, *capacity, sizeof(knPieceEdge));
    *pool = NULL;
    *capacity = 0;
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
    if (result == kn_success && wanted > f->spareCapacity)
    {
        // nothing is in it yet: no need to copy; by half more, for the splits that may follow
        wanted += wanted / 2;
        knPieceEdge* room = knAllocate(&f->allocator, wanted, sizeof(knPieceEdge));
        if (!room)
        {
            // earlier splits of the event still count on what there is
            return kn_errorMemory;
        }
        ReleasePool(f, &f->spareEdges, &f->spareCapacity);
        f->spareEdges = room;
        f->spareCapacity = wanted;
    }
    f->pendingEdges += result == kn_success ? added : 0;
    return result;
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

static void AddWhole(Edges* e, const knModelEdge* known)
{
    const uint32_t* v = e->mesh->edges[known->edge].v;
    AddEdge(e, (knPieceEdge){.a = e->mesh->nodes[v[0]],
                             .b = e->mesh->nodes[v[1]],
                             .normals = {known->normals[0], known->normals[1]},
                             .id = EdgeId(v[0], v[1]),
                             .node = v[0],
                             .source = ORIGINAL | known->edge});
}

static void AddHalves(Edges* e, const knPieceEdge* whole)
{
    uint32_t edge = whole->source & ~ORIGINAL;
    uint32_t point = e->cuts->edgeCuts[edge];
    for (uint32_t side = 0; side < 2; ++side)
    {
        uint32_t node = e->mesh->edges[edge].v[side];
        AddEdge(e, (knPieceEdge){.a = e->mesh->nodes[node],
                                 .b = e->cuts->points[point].position,
                                 .normals = {whole->normals[0], whole->normals[1]},
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
            AddWhole(&e, &all->edges[i]);
        }
    }
    f->edges[0] = (knPieceEdges){.edges = e.pool, .count = e.count};
    return kn_success;
}

// ---- what a break changes

static void HandOn(Edges* e, const knPieceEdge* old)
{
    if (old->source & ORIGINAL)
    {
        uint32_t edge = old->source & ~ORIGINAL;
        uint32_t point = e->cuts->edgeCuts[edge];
        if (point >= e->delta->firstPoint && point != KN_NONE)
        {
            AddHalves(e, old);
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
    knEdges_FindNormals(&e);
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        knEdges_AddCrossed(&e, delta->crossedTets[i]);
    }
    SortEdges(&e, first);
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        f->edges[delta->fragments[i]].isNew = false;
    }
    SwapPools(f, e.count);
    f->pendingEdges = 0;
}
