// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include <string.h>

// The edges that the components part, by the group whose leaving cuts them, in the order of the
// lower ends.
knResult knCut_CollectCutEdges(Plan* plan)
{
    uint32_t count = plan->partedCount;
    uint32_t* cursors = knArena_Allocate(plan->arena, plan->groupCount, sizeof(uint32_t));
    plan->edgeCuts = knArena_Allocate(plan->arena, (size_t)count + 1, sizeof(EdgeCut));
    uint32_t* groups = knArena_Allocate(plan->arena, (size_t)count + 1, sizeof(uint32_t));
    if (!cursors || !plan->edgeCuts || !groups)
    {
        return kn_errorMemory;
    }
    plan->edgeCutCount = count;
    memset(cursors, 0, plan->groupCount * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = plan->mesh->edges[plan->partedEdges[i]].v;
        groups[i] = knCut_PartingGroup(plan->parents, plan->groups[SlotOf(plan, v[0])],
                                       plan->groups[SlotOf(plan, v[1])]);
        cursors[groups[i]] += 1;
    }
    uint32_t place = 0;
    for (uint32_t g = 0; g < plan->groupCount; ++g)
    {
        uint32_t size = cursors[g];
        cursors[g] = place;
        place += size;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        plan->edgeCuts[cursors[groups[i]]++] =
            (EdgeCut){.edge = plan->partedEdges[i], .group = groups[i]};
    }
    return kn_success;
}

// The group on a node's own path that leaves with `group`: negative there, positive in the rest.
static bool LeavesWith(const Plan* plan, uint32_t slot, uint32_t group)
{
    uint32_t g = plan->groups[slot];
    while (g > group)
    {
        g = plan->parents[g];
    }
    return g == group;
}

// Sets phi at the ends of a run of edges that one function cuts; returns the largest size.
static float EvaluateRun(Plan* plan, const EdgeCut* cuts, uint32_t count)
{
    float most = 0.0f;
    for (uint32_t i = 0; i < 2 * count; ++i)
    {
        uint32_t slot = SlotOf(plan, plan->mesh->edges[cuts[i / 2].edge].v[i % 2]);
        if (plan->stamps[slot] != cuts->group)
        {
            plan->stamps[slot] = cuts->group;
            float size = fabsf(knCut_EvaluateCut(plan, cuts->group, slot));
            size = size < FLT_MAX ? size : FLT_MAX; // a NaN as well
            plan->phi[slot] = LeavesWith(plan, slot, cuts->group) ? -size : size;
            most = fmaxf(most, size);
        }
    }
    return most;
}

// To [1e-6, 1]: the scale of a function does not matter, and nothing is zero from here on.
static void NormalizeRun(Plan* plan, const EdgeCut* cuts, uint32_t count, float most)
{
    for (uint32_t i = 0; i < 2 * count; ++i)
    {
        uint32_t slot = SlotOf(plan, plan->mesh->edges[cuts[i / 2].edge].v[i % 2]);
        if (plan->stamps[slot] == cuts->group)
        {
            float size = most > 0.0f ? fabsf(plan->phi[slot]) / most : 1.0f;
            bool below = LeavesWith(plan, slot, cuts->group);
            size = fmaxf(size, 1e-6f);
            plan->phi[slot] = below ? -size : size;
            plan->stamps[slot] = KN_NONE - 1; // done, and still known to be at a crack
        }
    }
}

static bool Raise(float* phi, float least)
{
    if (fabsf(*phi) >= least)
    {
        return false;
    }
    *phi = *phi < 0.0f ? -least : least;
    return true;
}

// Raises the smaller end of each edge until no cut lies too near to a node. A value only grows, and
// only towards a fixed share of another, so the order of edges does not matter and it ends.
static void ClampRun(Plan* plan, const EdgeCut* cuts, uint32_t count)
{
    float share = plan->def->minCutShare;
    float ratio = share / (1.0f - share);
    bool changed = true;
    for (int pass = 0; changed && pass < 64; ++pass)
    {
        changed = false;
        for (uint32_t i = 0; i < count; ++i)
        {
            const uint32_t* v = plan->mesh->edges[cuts[i].edge].v;
            float* a = &plan->phi[SlotOf(plan, v[0])];
            float* b = &plan->phi[SlotOf(plan, v[1])];
            changed |= Raise(a, ratio * fabsf(*b));
            changed |= Raise(b, ratio * fabsf(*a));
        }
    }
}

static void PlaceRun(Plan* plan, EdgeCut* cuts, uint32_t count)
{
    knCutStore* store = plan->store;
    for (uint32_t i = 0; i < count; ++i)
    {
        EdgeCut* cut = &cuts[i];
        const uint32_t* v = plan->mesh->edges[cut->edge].v;
        cut->phi[0] = plan->phi[SlotOf(plan, v[0])];
        cut->phi[1] = plan->phi[SlotOf(plan, v[1])];
        double share = knCutShare((double)cut->phi[0], (double)cut->phi[1]);
        knVec3 low = plan->mesh->nodes[v[0]];
        knVec3 high = plan->mesh->nodes[v[1]];
        knVec3 p = knCutPosition(low, high, share);
        plan->tooFine |= knLengthSquared(knSub(p, low)) == 0.0f;
        plan->tooFine |= knLengthSquared(knSub(p, high)) == 0.0f;
        KN_ASSERT(store->edgeCuts[cut->edge] == KN_NONE);
        store->edgeCuts[cut->edge] = store->pointCount;
        store->points[store->pointCount++] = (knCutPoint){cut->edge, (float)share, p};
    }
}

void knCut_ClampAndPlacePoints(Plan* plan)
{
    memset(plan->stamps, 0xFF, plan->nodeCount * sizeof(uint32_t));
    for (uint32_t first = 0; first < plan->edgeCutCount;)
    {
        EdgeCut* cuts = plan->edgeCuts + first;
        uint32_t count = 1;
        while (first + count < plan->edgeCutCount && cuts[count].group == cuts->group)
        {
            count += 1;
        }
        float most = EvaluateRun(plan, cuts, count);
        NormalizeRun(plan, cuts, count, most);
        ClampRun(plan, cuts, count);
        PlaceRun(plan, cuts, count);
        first += count;
    }
}
