// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include <string.h>

// Several splits of one piece seen as one. Nothing is kept for it while they happen: children take
// the places of their parent's nodes, and a tetrahedron was crossed when an edge of it was cut.

typedef struct Event
{
    const knFragmentSet* set;
    const knCutStore* store;
    const knTetMesh* mesh;
    uint32_t firstNode, endNode; // places in set->nodes
    uint32_t firstFragment;
    uint32_t firstPoint;
} Event;

// Where the nodes of a fragment and of all that came from it end.
static uint32_t EndOf(const knFragmentSet* set, uint32_t fragment)
{
    const knFragment* f = &set->fragments[fragment];
    while (f->state == kn_fragmentEnded)
    {
        // children lie one behind the other in the order of their ids
        f = &set->fragments[f->firstChild + f->childCount - 1];
    }
    return f->firstNode + f->nodeCount;
}

static bool IsDescendant(const Event* event, uint32_t fragment)
{
    const knFragment* f = &event->set->fragments[fragment];
    return f->state != kn_fragmentEnded && f->firstNode >= event->firstNode &&
           f->firstNode < event->endNode;
}

static uint32_t ListFragments(const Event* event, uint32_t* fragments)
{
    uint32_t count = 0;
    for (uint32_t f = event->firstFragment; f < event->set->fragmentCount; ++f)
    {
        if (IsDescendant(event, f))
        {
            if (fragments)
            {
                fragments[count] = f;
            }
            count += 1;
        }
    }
    return count;
}

// Whether the point is the first new one of the tetrahedron, which it belongs to.
static bool IsFirstOf(const Event* event, uint32_t tet, uint32_t point)
{
    bool found = false;
    for (int k = 0; k < 6; ++k)
    {
        uint32_t other = event->store->edgeCuts[event->mesh->tetEdges[tet].e[k]];
        found |= other == point;
        if (other < point && other >= event->firstPoint)
        {
            return false;
        }
    }
    return found;
}

static uint32_t StarSize(const knCutMesh* c, uint32_t node)
{
    return c->nodeTetStarts[node + 1] - c->nodeTetStarts[node];
}

static uint32_t ListCrossed(const Event* event, uint32_t* tets)
{
    const knCutMesh* c = event->set->cutMesh;
    uint32_t count = 0;
    for (uint32_t p = event->firstPoint; p < event->store->pointCount; ++p)
    {
        const uint32_t* v = event->mesh->edges[event->store->points[p].edge].v;
        uint32_t node = StarSize(c, v[0]) < StarSize(c, v[1]) ? v[0] : v[1];
        for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
        {
            if (IsFirstOf(event, c->nodeTets[k], p))
            {
                tets[count++] = c->nodeTets[k];
            }
        }
    }
    return count;
}

// Every point since then must be of this piece: points of a delta are a run.
static bool OwnsPoints(const Event* event)
{
    bool owns = true;
    for (uint32_t p = event->firstPoint; p < event->store->pointCount; ++p)
    {
        uint32_t place = event->set->slots[event->mesh->edges[event->store->points[p].edge].v[0]];
        owns = owns && place >= event->firstNode && place < event->endNode;
    }
    return owns;
}

// A crossed tetrahedron has two nodes of the piece at least.
static size_t CrossedLimit(const Event* event)
{
    size_t sum = 0;
    for (uint32_t i = event->firstNode; i < event->endNode; ++i)
    {
        sum += StarSize(event->set->cutMesh, event->set->nodes[i]);
    }
    return sum / 2 + 1;
}

static knResult FillDelta(const Event* event, knArena* arena, knFractureDelta* delta)
{
    uint32_t nodeCount = event->endNode - event->firstNode;
    uint32_t fragmentCount = ListFragments(event, NULL);
    uint32_t* fragments = knArena_Allocate(arena, fragmentCount, sizeof(uint32_t));
    uint32_t* nodes = knArena_Allocate(arena, nodeCount, sizeof(uint32_t));
    size_t mark = knArena_Mark(arena);
    uint32_t* tets = knArena_Allocate(arena, CrossedLimit(event), sizeof(uint32_t));
    if (!fragments || !nodes || !tets)
    {
        return kn_errorMemory;
    }
    uint32_t crossedCount = ListCrossed(event, tets);
    // gives back what the limit was too high; the same place, as nothing came in between
    knArena_Rewind(arena, mark);
    tets = knArena_Allocate(arena, (size_t)crossedCount + 1, sizeof(uint32_t));
    mark = knArena_Mark(arena);
    size_t most = nodeCount > crossedCount ? nodeCount : crossedCount;
    uint32_t* scratch = knArena_Allocate(arena, most, sizeof(uint32_t));
    if (!tets || !scratch)
    {
        return kn_errorMemory;
    }
    ListFragments(event, fragments);
    memcpy(nodes, event->set->nodes + event->firstNode, nodeCount * sizeof(uint32_t));
    knCut_SortNumbers(nodes, nodeCount, scratch);
    knCut_SortNumbers(tets, crossedCount, scratch);
    knArena_Rewind(arena, mark);
    *delta = (knFractureDelta){.parent = delta->parent,
                               .fragments = fragments,
                               .fragmentCount = fragmentCount,
                               .splitNodes = nodes,
                               .splitNodeCount = nodeCount,
                               .crossedTets = tets,
                               .crossedTetCount = crossedCount,
                               .firstPoint = event->firstPoint,
                               .pointCount = event->store->pointCount - event->firstPoint};
    return kn_success;
}

knResult knFragmentSet_DeltaSince(const knFragmentSet* set, uint32_t parent, knFragmentMark mark,
                                  knArena* arena, knFractureDelta* delta)
{
    if (!set || !set->nodes || !arena || !delta)
    {
        return knFail(kn_errorArgument, "knFragmentSet_DeltaSince: an argument is null");
    }
    if (parent >= mark.fragmentCount || mark.fragmentCount > set->fragmentCount ||
        mark.pointCount > set->store->pointCount ||
        set->fragments[parent].state != kn_fragmentEnded ||
        set->fragments[parent].firstChild < mark.fragmentCount)
    {
        return knFail(kn_errorHandle, "fragment %u was not split since the mark", parent);
    }
    Event event = {.set = set,
                   .store = set->store,
                   .mesh = set->cutMesh->mesh,
                   .firstNode = set->fragments[parent].firstNode,
                   .endNode = EndOf(set, parent),
                   .firstFragment = mark.fragmentCount,
                   .firstPoint = mark.pointCount};
    if (!OwnsPoints(&event))
    {
        return knFail(kn_errorArgument,
                      "other pieces than %u were split since the mark: follow each by itself",
                      parent);
    }
    size_t before = knArena_Mark(arena);
    knFractureDelta made = {.parent = parent};
    knResult result = FillDelta(&event, arena, &made);
    if (result != kn_success)
    {
        knArena_Rewind(arena, before);
        return knFail(result, "knFragmentSet_DeltaSince: the arena is too small");
    }
    *delta = made;
    return kn_success;
}
