// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

// With halving, the parent of a slot is never above it, so a root is the lowest slot of its set.
static uint32_t FindRoot(uint32_t* parents, uint32_t slot)
{
    while (parents[slot] != slot)
    {
        parents[slot] = parents[parents[slot]];
        slot = parents[slot];
    }
    return slot;
}

static void Join(uint32_t* parents, uint32_t a, uint32_t b)
{
    if (parents[a] == parents[b])
    {
        return; // the common case
    }
    a = FindRoot(parents, a);
    b = FindRoot(parents, b);
    uint32_t low = a < b ? a : b;
    parents[a] = low;
    parents[b] = low;
}

// Joins the node to its higher neighbours of the same group, and lists the edges to the others.
static void JoinNeighbors(Plan* plan, uint32_t slot)
{
    const knTetMesh* mesh = plan->mesh;
    const uint32_t* runs = plan->cutMesh->nodeEdgeRuns + plan->nodes[slot];
    for (uint32_t e = runs[0]; e < runs[1]; ++e)
    {
        uint32_t other = SlotOf(plan, mesh->edges[e].v[1]);
        if (other >= plan->nodeCount)
        {
            continue; // of another fragment
        }
        if (plan->groups[slot] == plan->groups[other])
        {
            Join(plan->components, slot, other);
        }
        else
        {
            plan->partedEdges[plan->partedCount++] = e;
        }
    }
}

// Replaces roots by numbers 0, 1, ... in the order of the lowest slot.
static void NumberComponents(Plan* plan)
{
    uint32_t* parents = plan->components;
    plan->componentCount = 0;
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        if (parents[i] == i)
        {
            plan->stamps[i] = plan->componentCount++;
        }
        else
        {
            plan->stamps[i] = plan->stamps[FindRoot(parents, i)];
        }
    }
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        parents[i] = plan->stamps[i];
    }
}

static void ListSlots(Plan* plan)
{
    for (uint32_t c = 0; c <= plan->componentCount; ++c)
    {
        plan->starts[c] = 0;
    }
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        plan->starts[plan->components[i] + 1] += 1;
    }
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        plan->starts[c + 1] += plan->starts[c];
    }
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        plan->order[plan->starts[plan->components[i]]++] = i;
    }
    for (uint32_t c = plan->componentCount; c > 0; --c)
    {
        plan->starts[c] = plan->starts[c - 1];
    }
    plan->starts[0] = 0;
}

knResult knCut_FindComponents(Plan* plan)
{
    size_t mark = knArena_Mark(plan->arena);
    plan->partedCount = 0;
    plan->partedEdges = knArena_Allocate(plan->arena, plan->edgeLimit, sizeof(uint32_t));
    if (!plan->partedEdges)
    {
        return kn_errorMemory;
    }
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        plan->components[i] = i;
    }
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        JoinNeighbors(plan, i);
    }
    // gives back what the limit was too high; the same place, as nothing came in between
    knArena_Rewind(plan->arena, mark);
    plan->partedEdges =
        knArena_Allocate(plan->arena, (size_t)plan->partedCount + 1, sizeof(uint32_t));
    NumberComponents(plan);
    plan->starts =
        knArena_Allocate(plan->arena, (size_t)plan->componentCount + 1, sizeof(uint32_t));
    if (!plan->starts)
    {
        return kn_errorMemory;
    }
    ListSlots(plan);
    return kn_success;
}

uint8_t knCut_ComponentMask(const Plan* plan, uint32_t tet, uint32_t component)
{
    const uint32_t* v = plan->mesh->tets[tet].v;
    uint8_t mask = 0;
    for (int i = 0; i < 4; ++i)
    {
        bool inside = IsOwn(plan, v[i]) && plan->components[SlotOf(plan, v[i])] == component;
        mask |= (uint8_t)(inside << i);
    }
    return mask;
}
