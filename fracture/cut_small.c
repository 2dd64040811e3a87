// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include <string.h>

// The longest side.
float knCut_BoxSize(const Plan* plan, uint32_t component)
{
    knVec3 extent = knBox_Extent(plan->moments[component].box);
    return fmaxf(extent.x, fmaxf(extent.y, extent.z));
}

bool knCut_IsSmall(const Plan* plan, uint32_t component)
{
    const knSplitDef* def = plan->def;
    return plan->moments[component].sums.volume < def->minVolume ||
           (def->minSize > 0.0f && knCut_BoxSize(plan, component) < def->minSize);
}

typedef void CrackFcn(const Plan* plan, uint32_t tet, const knTetRegion* region, int face,
                      void* context);

// Every crack face of one component, old and new.
static void VisitCracks(const Plan* plan, uint32_t component, CrackFcn* visit, void* context)
{
    const knCutMesh* c = plan->cutMesh;
    for (uint32_t i = plan->starts[component]; i < plan->starts[component + 1]; ++i)
    {
        uint32_t node = plan->nodes[plan->order[i]];
        for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
        {
            uint32_t tet = c->nodeTets[k];
            uint8_t mask = knCut_ComponentMask(plan, tet, component);
            int lowest = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
            if (plan->store->tetCuts[tet] == KN_NONE || plan->mesh->tets[tet].v[lowest] != node)
            {
                continue;
            }
            knTetRegion region;
            knCutStore_Region(plan->store, plan->mesh, tet, mask, &region);
            for (int f = 0; f < region.faceCount; ++f)
            {
                if (region.faces[f].source >= 4)
                {
                    visit(plan, tet, &region, f, context);
                }
            }
        }
    }
}

// Shares the area of a crack face among the components behind it.
static void AddShared(const Plan* plan, uint32_t tet, const knTetRegion* region, int face,
                      void* context)
{
    double* areas = context;
    const knTetCut* cut = &plan->store->cuts[plan->store->tetCuts[tet]];
    int p = region->faces[face].source - 4;
    uint8_t behind =
        region->mask & cut->below[p] ? (uint8_t)(cut->region[p] & ~cut->below[p]) : cut->below[p];
    const uint32_t* v = plan->mesh->tets[tet].v;
    int count = 0;
    for (int i = 0; i < 4; ++i)
    {
        count += behind >> i & 1 && IsOwn(plan, v[i]);
    }
    double area = 0.5 * knDLength(knCut_FaceArea2(region, &region->faces[face]));
    for (int i = 0; i < 4; ++i)
    {
        if (behind >> i & 1 && IsOwn(plan, v[i]))
        {
            areas[plan->components[SlotOf(plan, v[i])]] += area / count;
        }
    }
}

// KN_NONE when it touches no other component of this plan.
static uint32_t BestNeighbor(const Plan* plan, uint32_t component, double* areas)
{
    memset(areas, 0, plan->componentCount * sizeof(double));
    VisitCracks(plan, component, AddShared, areas);
    uint32_t best = KN_NONE;
    double most = 0.0;
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        if (c != component && areas[c] > most)
        {
            most = areas[c];
            best = c;
        }
    }
    return best;
}

static uint32_t SmallestOpen(const Plan* plan, const uint8_t* done)
{
    uint32_t best = KN_NONE;
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        if (!done[c] && knCut_IsSmall(plan, c) &&
            (best == KN_NONE || plan->moments[c].sums.volume < plan->moments[best].sums.volume))
        {
            best = c;
        }
    }
    return best;
}

// Gives the nodes of small components the group of their neighbour, the smallest first; the split
// is then planned again. A component that has taken another in stays as it is until the next round.
uint32_t knCut_MergeSmall(Plan* plan)
{
    uint32_t count = plan->componentCount;
    double* areas = knArena_Allocate(plan->arena, count, sizeof(double));
    uint8_t* done = knArena_Allocate(plan->arena, count, sizeof(uint8_t));
    if (!areas || !done)
    {
        return KN_NONE;
    }
    memset(done, 0, count);
    uint32_t mergedCount = 0;
    for (uint32_t c = SmallestOpen(plan, done); c != KN_NONE; c = SmallestOpen(plan, done))
    {
        done[c] = 1;
        uint32_t neighbor = BestNeighbor(plan, c, areas);
        if (neighbor == KN_NONE)
        {
            continue;
        }
        uint32_t group = plan->groups[plan->order[plan->starts[neighbor]]];
        for (uint32_t i = plan->starts[c]; i < plan->starts[c + 1]; ++i)
        {
            plan->groups[plan->order[i]] = group;
        }
        done[neighbor] = 1;
        mergedCount += 1;
    }
    return mergedCount;
}

static void AddDirection(const Plan* plan, uint32_t tet, const knTetRegion* region, int face,
                         void* context)
{
    (void)plan;
    (void)tet;
    knDVec3* sum = context;
    *sum = knDAdd(*sum, knCut_FaceArea2(region, &region->faces[face]));
}

knVec3 knCut_DebrisDirection(const Plan* plan, uint32_t component)
{
    knDVec3 sum = {0.0, 0.0, 0.0};
    VisitCracks(plan, component, AddDirection, &sum);
    double length = knDLength(sum);
    return length > 0.0 ? knToFloat(knDScale(-1.0 / length, sum)) : knMakeVec3(0.0f, 0.0f, 0.0f);
}
