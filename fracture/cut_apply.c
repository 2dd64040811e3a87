// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include <string.h>

void knCut_SortNumbers(uint32_t* numbers, uint32_t count, uint32_t* scratch)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        all |= numbers[i];
    }
    // an even number of passes ends where it began
    for (int shift = 0; shift < 32 && (all >> (shift & 16)) != 0; shift += 8)
    {
        uint32_t starts[257] = {0};
        for (uint32_t i = 0; i < count; ++i)
        {
            starts[(numbers[i] >> shift & 255) + 1] += 1;
        }
        for (int i = 0; i < 256; ++i)
        {
            starts[i + 1] += starts[i];
        }
        for (uint32_t i = 0; i < count; ++i)
        {
            scratch[starts[numbers[i] >> shift & 255]++] = numbers[i];
        }
        uint32_t* swap = numbers;
        numbers = scratch;
        scratch = swap;
    }
}

// Whether the plan parts the tetrahedron, asked once: from its first corner that leaves group 0,
// of which every parted one has some.
static bool IsCrossedFrom(const Plan* plan, uint32_t tet, uint32_t slot)
{
    const uint32_t* v = plan->mesh->tets[tet].v;
    uint32_t group = plan->groups[slot];
    uint32_t first = KN_NONE;
    bool crossed = false;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t other = SlotOf(plan, v[i]);
        if (other < plan->nodeCount)
        {
            first = first == KN_NONE && plan->groups[other] > 0 ? other : first;
            crossed |= plan->groups[other] != group;
        }
    }
    return crossed && first == slot;
}

static uint32_t ListCrossed(const Plan* plan, uint32_t* tets)
{
    const knCutMesh* c = plan->cutMesh;
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < plan->nodeCount; ++slot)
    {
        if (plan->stamps[slot] == KN_NONE || plan->groups[slot] == 0)
        {
            continue; // away from every crack, or seen from the other side
        }
        uint32_t node = plan->nodes[slot];
        for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
        {
            Fetch(&plan->mesh->tets[c->nodeTets[k]]);
        }
        for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
        {
            if (IsCrossedFrom(plan, c->nodeTets[k], slot))
            {
                tets[count++] = c->nodeTets[k];
            }
        }
    }
    return count;
}

static knResult CollectCrossed(Plan* plan)
{
    size_t mark = knArena_Mark(plan->arena);
    plan->crossedTets = knArena_Allocate(plan->arena, plan->tetLimit, sizeof(uint32_t));
    if (!plan->crossedTets)
    {
        return kn_errorMemory;
    }
    uint32_t count = ListCrossed(plan, plan->crossedTets);
    // gives back what the limit was too high; the same place, as nothing came in between
    knArena_Rewind(plan->arena, mark);
    plan->crossedTets = knArena_Allocate(plan->arena, (size_t)count + 1, sizeof(uint32_t));
    plan->addedPlanes = knArena_Allocate(plan->arena, (size_t)count + 1, sizeof(uint8_t));
    uint32_t* scratch = knArena_Allocate(plan->arena, (size_t)count + 1, sizeof(uint32_t));
    if (!plan->crossedTets || !plan->addedPlanes || !scratch)
    {
        return kn_errorMemory;
    }
    plan->crossedCount = count;
    knCut_SortNumbers(plan->crossedTets, count, scratch);
    return kn_success;
}

// The planes that the cut edges of a tetrahedron define, in the order they come.
typedef struct NewPlanes
{
    uint32_t groups[KN_MAX_TET_PLANES];
    float phi[KN_MAX_TET_PLANES][4];
    uint8_t region[KN_MAX_TET_PLANES];
    uint8_t below[KN_MAX_TET_PLANES];
    uint8_t count;
} NewPlanes;

static int FindPlane(NewPlanes* planes, uint32_t group)
{
    int place = 0;
    while (place < planes->count && planes->groups[place] < group)
    {
        place += 1;
    }
    if (place < planes->count && planes->groups[place] == group)
    {
        return place;
    }
    KN_ASSERT(planes->count < KN_MAX_TET_PLANES);
    if (planes->count == KN_MAX_TET_PLANES)
    {
        return KN_MAX_TET_PLANES - 1;
    }
    for (int i = planes->count; i > place; --i)
    {
        planes->groups[i] = planes->groups[i - 1];
        planes->region[i] = planes->region[i - 1];
        planes->below[i] = planes->below[i - 1];
        memcpy(planes->phi[i], planes->phi[i - 1], sizeof planes->phi[i]);
    }
    planes->groups[place] = group;
    planes->region[place] = planes->below[place] = 0;
    memset(planes->phi[place], 0, sizeof planes->phi[place]);
    planes->count += 1;
    return place;
}

// Every corner of a parted region is an end of an edge that the same function cuts.
static NewPlanes PlanesOf(const Plan* plan, uint32_t tet)
{
    NewPlanes planes = {.count = 0};
    const uint32_t* v = plan->mesh->tets[tet].v;
    for (int k = 0; k < 6; ++k)
    {
        uint32_t edge = plan->mesh->tetEdges[tet].e[k];
        uint32_t point = plan->store->edgeCuts[edge];
        if (point == KN_NONE || point < plan->firstPoint)
        {
            continue;
        }
        const EdgeCut* cut = &plan->edgeCuts[point - plan->firstPoint];
        int place = FindPlane(&planes, cut->group);
        for (int end = 0; end < 2; ++end)
        {
            uint8_t corner = knTetEdgeCorners[k][end];
            float phi = cut->phi[v[corner] == plan->mesh->edges[edge].v[1]];
            planes.phi[place][corner] = phi;
            planes.region[place] |= (uint8_t)(1 << corner);
            planes.below[place] |= (uint8_t)((phi < 0.0f) << corner);
        }
    }
    return planes;
}

// Keeps count of the cut tetrahedra around each node.
static void CountCut(const Plan* plan, uint32_t tet, uint32_t more)
{
    for (int i = 0; i < 4; ++i)
    {
        plan->set->cutCounts[plan->mesh->tets[tet].v[i]] += more;
    }
}

static uint8_t AddPlanes(const Plan* plan, uint32_t tet, const NewPlanes* planes)
{
    knCutStore* store = plan->store;
    if (store->tetCuts[tet] == KN_NONE)
    {
        CountCut(plan, tet, 1);
        store->tetCuts[tet] = store->cutCount;
        store->cuts[store->cutCount++] = (knTetCut){.planeCount = 0};
    }
    knTetCut* cut = &store->cuts[store->tetCuts[tet]];
    uint8_t added = 0;
    for (; added < planes->count && cut->planeCount < KN_MAX_TET_PLANES; ++added)
    {
        int i = cut->planeCount++;
        memcpy(cut->phi[i], planes->phi[added], sizeof cut->phi[i]);
        cut->region[i] = planes->region[added];
        cut->below[i] = planes->below[added];
    }
    KN_ASSERT(added == planes->count);
    return added;
}

static uint32_t CountNewRecords(const Plan* plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->crossedCount; ++i)
    {
        count += plan->store->tetCuts[plan->crossedTets[i]] == KN_NONE;
    }
    return count;
}

// Everything that can fail comes before the tetrahedra; the points are taken back by
// knCut_RollBack.
knResult knCut_ApplyCuts(Plan* plan)
{
    knCutStore* store = plan->store;
    plan->firstPoint = store->pointCount;
    plan->firstCut = store->cutCount;
    plan->crossedCount = 0;
    plan->tooFine = false;
    knResult result = knCut_CollectCutEdges(plan);
    if (result == kn_success && plan->edgeCutCount > store->pointCapacity - store->pointCount)
    {
        result = knCutStore_Reserve(store, plan->edgeCutCount, 0);
    }
    if (result != kn_success)
    {
        return result;
    }
    knCut_ClampAndPlacePoints(plan);
    result = CollectCrossed(plan);
    uint32_t recordCount = result == kn_success ? CountNewRecords(plan) : 0;
    if (result == kn_success && recordCount > store->cutCapacity - store->cutCount)
    {
        result = knCutStore_Reserve(store, 0, recordCount);
    }
    if (result != kn_success)
    {
        plan->crossedCount = 0;
        return result;
    }
    for (uint32_t i = 0; i < plan->crossedCount; ++i)
    {
        if (i + KN_CUT_AHEAD < plan->crossedCount)
        {
            Fetch(&plan->mesh->tetEdges[plan->crossedTets[i + KN_CUT_AHEAD]]);
        }
        NewPlanes planes = PlanesOf(plan, plan->crossedTets[i]);
        plan->addedPlanes[i] = AddPlanes(plan, plan->crossedTets[i], &planes);
    }
    return kn_success;
}

void knCut_RollBack(Plan* plan)
{
    knCutStore* store = plan->store;
    for (uint32_t i = plan->firstPoint; i < store->pointCount; ++i)
    {
        store->edgeCuts[store->points[i].edge] = KN_NONE;
    }
    store->pointCount = plan->firstPoint;
    for (uint32_t i = 0; i < plan->crossedCount; ++i)
    {
        uint32_t* record = &store->tetCuts[plan->crossedTets[i]];
        if (*record >= plan->firstCut)
        {
            *record = KN_NONE;
            CountCut(plan, plan->crossedTets[i], (uint32_t)-1);
            continue;
        }
        knTetCut* cut = &store->cuts[*record];
        for (uint8_t k = 0; k < plan->addedPlanes[i]; ++k)
        {
            // zero as before, so that a store taken back is the same to the byte
            int last = --cut->planeCount;
            memset(cut->phi[last], 0, sizeof cut->phi[last]);
            cut->region[last] = cut->below[last] = 0;
        }
    }
    store->cutCount = plan->firstCut;
    plan->crossedCount = 0;
}
