// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include <string.h>

// A round of merging joins at least one piece; what is small after so many stays small.
#define MAX_MERGE_ROUNDS 32

static knResult CheckValues(const knFragmentSet* set, uint32_t fragment, const knSplitDef* def)
{
    uint32_t count = set->fragments[fragment].nodeCount;
    for (uint32_t i = 0; i < count; ++i)
    {
        if (def->kind == kn_splitNodal && !isfinite(def->phi[i]))
        {
            return knFail(kn_errorArgument, "knSplitDef: phi[%u] is not finite", i);
        }
        if (def->kind == kn_splitLabels && def->labels[i] >= def->groupCount)
        {
            return knFail(kn_errorArgument, "knSplitDef: labels[%u] = %u, groupCount is %u", i,
                          def->labels[i], def->groupCount);
        }
    }
    return kn_success;
}

static knResult CheckFragment(const knFragmentSet* set, uint32_t fragment, const char* call)
{
    if (!set || !set->nodes)
    {
        return knFail(kn_errorArgument, "%s: the set is null or empty", call);
    }
    if (fragment >= set->fragmentCount || set->fragments[fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorHandle, "%s: fragment %u has ended or never was", call, fragment);
    }
    return kn_success;
}

// A cut edge and a crossed tetrahedron have two corners in the fragment at least.
static void FindLimits(const knFragmentSet* set, uint32_t fragment, uint32_t* edges, uint32_t* tets)
{
    const knCutMesh* c = set->cutMesh;
    const uint32_t* nodes = knFragmentSet_Nodes(set, fragment);
    uint32_t count = set->fragments[fragment].nodeCount;
    uint64_t edgeSum = 0, tetSum = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t n = nodes[i];
        edgeSum += c->mesh->nodeEdgeStarts[n + 1] - c->mesh->nodeEdgeStarts[n];
        tetSum += c->nodeTetStarts[n + 1] - c->nodeTetStarts[n];
    }
    *edges = (uint32_t)(edgeSum / 2 + 1);
    *tets = (uint32_t)(tetSum / 2 + 1);
}

static knResult PreparePlan(Plan* plan)
{
    uint32_t count = plan->nodeCount;
    FindLimits(plan->set, plan->fragment, &plan->edgeLimit, &plan->tetLimit);
    plan->splitNodes = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    plan->groups = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    plan->components = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    plan->order = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    plan->stamps = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    plan->phi = knArena_Allocate(plan->arena, count, sizeof(float));
    if (!plan->splitNodes || !plan->groups || !plan->components || !plan->order || !plan->stamps ||
        !plan->phi)
    {
        return kn_errorMemory;
    }
    memcpy(plan->splitNodes, plan->nodes, count * sizeof(uint32_t));
    return knCut_PrepareGroups(plan);
}

// Writes the cuts and measures what they make; the store is as before when it fails.
static knResult TryCuts(Plan* plan)
{
    knResult result = knCut_FindComponents(plan);
    if (result != kn_success || plan->componentCount < 2)
    {
        return result;
    }
    result = knCut_ApplyCuts(plan);
    result = result == kn_success ? knCut_MeasureComponents(plan) : result;
    if (result != kn_success)
    {
        knCut_RollBack(plan);
    }
    return result;
}

static knResult TryCutsUntilNoneIsSmall(Plan* plan, uint32_t* mergedCount)
{
    plan->roundMark = knArena_Mark(plan->arena);
    knResult result = TryCuts(plan);
    for (int round = 0; round < MAX_MERGE_ROUNDS; ++round)
    {
        if (result != kn_success || plan->componentCount < 2 || plan->def->small != kn_smallMerge)
        {
            break;
        }
        uint32_t merged = knCut_MergeSmall(plan);
        if (merged == 0)
        {
            break;
        }
        knCut_RollBack(plan);
        knArena_Rewind(plan->arena, plan->roundMark);
        if (merged == KN_NONE)
        {
            return kn_errorMemory;
        }
        *mergedCount += merged;
        result = TryCuts(plan);
    }
    return result;
}

// Components by falling volume; ties go to the lowest node.
static void RankComponents(const Plan* plan, uint32_t* ranked)
{
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        uint32_t place = c;
        while (place > 0 &&
               plan->moments[ranked[place - 1]].sums.volume < plan->moments[c].sums.volume)
        {
            ranked[place] = ranked[place - 1];
            place -= 1;
        }
        ranked[place] = c;
    }
}

static knFragment MakeFragment(const Plan* plan, uint32_t component, uint32_t firstNode)
{
    bool debris = plan->def->small == kn_smallDebris && knCut_IsSmall(plan, component);
    knFragment fragment = {.state = debris ? kn_fragmentDebris : kn_fragmentWhole,
                           .firstNode = firstNode,
                           .nodeCount = plan->starts[component + 1] - plan->starts[component],
                           .parent = plan->fragment};
    fragment.mass =
        knMoments_Finish(&plan->moments[component].sums, plan->cutMesh->origin, plan->set->density);
    return fragment;
}

// Needs plan->splitNodes: the nodes are rearranged in place.
static void CommitFragment(Plan* plan, uint32_t component, uint32_t id, uint32_t firstNode)
{
    knFragmentSet* set = plan->set;
    set->fragments[id] = MakeFragment(plan, component, firstNode);
    for (uint32_t i = plan->starts[component]; i < plan->starts[component + 1]; ++i)
    {
        uint32_t node = plan->splitNodes[plan->order[i]];
        uint32_t place = firstNode + i - plan->starts[component];
        set->nodes[place] = node;
        set->slots[node] = place;
        plan->store->labels[node] = id;
    }
}

// What a kept split hands out, in arrays behind everything else in the arena.
typedef struct Outputs
{
    uint32_t* fragments;
    knDebris* debris;
    uint32_t* ranked;
    uint32_t debrisCount;
} Outputs;

static knResult PrepareOutputs(Plan* plan, Outputs* outputs)
{
    size_t count = plan->componentCount;
    outputs->fragments = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    outputs->debris = knArena_Allocate(plan->arena, count, sizeof(knDebris));
    outputs->ranked = knArena_Allocate(plan->arena, count, sizeof(uint32_t));
    if (!outputs->fragments || !outputs->debris || !outputs->ranked)
    {
        return kn_errorMemory;
    }
    knFragmentSet* set = plan->set;
    void* items = set->fragments;
    knResult result = knGrow(&set->allocator, &items, &set->fragmentCapacity,
                             set->fragmentCount + count, sizeof(knFragment));
    set->fragments = items;
    return result;
}

static void ListDebris(const Plan* plan, Outputs* outputs)
{
    for (uint32_t i = 0; i < plan->componentCount; ++i)
    {
        uint32_t c = outputs->ranked[i];
        if (plan->def->small == kn_smallDebris && knCut_IsSmall(plan, c))
        {
            knMassProperties mass =
                knMoments_Finish(&plan->moments[c].sums, plan->cutMesh->origin, plan->set->density);
            outputs->debris[outputs->debrisCount++] =
                (knDebris){.fragment = plan->set->fragmentCount + i,
                           .mass = mass.mass,
                           .center = mass.center,
                           .direction = knCut_DebrisDirection(plan, c)};
        }
    }
}

static void Commit(Plan* plan, const Outputs* outputs)
{
    knFragmentSet* set = plan->set;
    uint32_t first = set->fragmentCount;
    uint32_t place = set->fragments[plan->fragment].firstNode;
    for (uint32_t i = 0; i < plan->componentCount; ++i)
    {
        outputs->fragments[i] = first + i;
        CommitFragment(plan, outputs->ranked[i], first + i, place);
        place += set->fragments[first + i].nodeCount;
    }
    knFragment* parent = &set->fragments[plan->fragment];
    parent->state = kn_fragmentEnded;
    parent->nodeCount = 0;
    parent->firstChild = first;
    parent->childCount = plan->componentCount;
    set->fragmentCount = first + plan->componentCount;
}

// Moves an array down to the arena's end. Arrays are taken in the order in which they lie, so none
// is overwritten before its turn.
static void* Keep(knArena* arena, const void* items, size_t count, size_t itemSize)
{
    void* kept = knArena_Allocate(arena, count, itemSize);
    if (kept)
    {
        memmove(kept, items, count * itemSize);
    }
    return kept;
}

static void FillResult(Plan* plan, const Outputs* outputs, size_t mark, knSplitResult* result)
{
    knArena* arena = plan->arena;
    knArena_Rewind(arena, mark);
    result->delta = (knFractureDelta){
        .parent = plan->fragment,
        .splitNodes = Keep(arena, plan->splitNodes, plan->nodeCount, sizeof(uint32_t)),
        .splitNodeCount = plan->nodeCount,
        .crossedTetCount = plan->crossedCount,
        .fragmentCount = plan->componentCount,
        .firstPoint = plan->firstPoint,
        .pointCount = plan->edgeCutCount};
    knFractureDelta* delta = &result->delta;
    delta->crossedTets = Keep(arena, plan->crossedTets, plan->crossedCount, sizeof(uint32_t));
    delta->fragments = Keep(arena, outputs->fragments, plan->componentCount, sizeof(uint32_t));
    result->debris = Keep(arena, outputs->debris, outputs->debrisCount, sizeof(knDebris));
    result->debrisCount = outputs->debrisCount;
}

static knResult AskForRoom(const Plan* plan)
{
    knFractureDelta delta = {.parent = plan->fragment,
                             .splitNodes = plan->splitNodes,
                             .splitNodeCount = plan->nodeCount,
                             .crossedTets = plan->crossedTets,
                             .crossedTetCount = plan->crossedCount,
                             .fragmentCount = plan->componentCount,
                             .firstPoint = plan->firstPoint,
                             .pointCount = plan->edgeCutCount};
    const knFragmentSet* set = plan->set;
    return set->makeRoom ? set->makeRoom(set->roomContext, &delta) : kn_success;
}

static knSplitOutcome Judge(const Plan* plan, const knSplitResult* result)
{
    if (plan->componentCount < 2)
    {
        return kn_splitNothing;
    }
    if (plan->tooFine)
    {
        return kn_splitTooFine;
    }
    bool tooLarge = plan->def->maxArea > 0.0 && result->crackArea > plan->def->maxArea;
    return tooLarge ? kn_splitTooLarge : kn_splitDone;
}

static knResult RunPlan(Plan* plan, size_t mark, knSplitResult* result)
{
    knResult status = PreparePlan(plan);
    if (status != kn_success)
    {
        return status;
    }
    knCut_AssignGroups(plan);
    status = TryCutsUntilNoneIsSmall(plan, &result->mergedCount);
    if (status != kn_success)
    {
        return status;
    }
    if (plan->componentCount >= 2)
    {
        result->crackArea = plan->crackArea;
    }
    result->outcome = Judge(plan, result);
    if (result->outcome == kn_splitNothing)
    {
        return kn_success;
    }
    Outputs outputs = {0};
    if (result->outcome == kn_splitDone)
    {
        status = PrepareOutputs(plan, &outputs);
        status = status == kn_success ? AskForRoom(plan) : status;
    }
    if (status != kn_success || result->outcome != kn_splitDone)
    {
        knCut_RollBack(plan);
        return status;
    }
    RankComponents(plan, outputs.ranked);
    ListDebris(plan, &outputs);
    Commit(plan, &outputs);
    FillResult(plan, &outputs, mark, result);
    return kn_success;
}

knResult knFragmentSet_Split(knFragmentSet* set, uint32_t fragment, const knSplitDef* def,
                             knArena* arena, knSplitResult* result)
{
    knResult status = CheckFragment(set, fragment, "knFragmentSet_Split");
    status = status == kn_success ? knValidateSplitDef(def) : status;
    if (status == kn_success && (!arena || !result))
    {
        status = knFail(kn_errorArgument, "knFragmentSet_Split: arena or result is null");
    }
    status = status == kn_success ? CheckValues(set, fragment, def) : status;
    if (status != kn_success)
    {
        return status;
    }
    Plan plan = {.set = set,
                 .store = set->store,
                 .cutMesh = set->cutMesh,
                 .mesh = set->cutMesh->mesh,
                 .def = def,
                 .arena = arena,
                 .fragment = fragment,
                 .nodes = knFragmentSet_Nodes(set, fragment),
                 .firstNode = set->fragments[fragment].firstNode,
                 .nodeCount = set->fragments[fragment].nodeCount};
    size_t mark = knArena_Mark(arena);
    knSplitResult made = {.outcome = kn_splitNothing};
    status = RunPlan(&plan, mark, &made);
    if (status != kn_success)
    {
        knArena_Rewind(arena, mark);
        return knFail(status, "knFragmentSet_Split: no room for the plan, the cuts or the pieces");
    }
    if (made.outcome != kn_splitDone)
    {
        knArena_Rewind(arena, mark);
    }
    *result = made;
    return kn_success;
}

static size_t Aligned(size_t bytes)
{
    return (bytes + KN_CACHE_LINE - 1) / KN_CACHE_LINE * KN_CACHE_LINE;
}

size_t knFragmentSet_SplitBytes(const knFragmentSet* set, uint32_t fragment, const knSplitDef* def)
{
    if (!set || !def || fragment >= set->fragmentCount)
    {
        return 0;
    }
    size_t count = set->fragments[fragment].nodeCount;
    uint32_t edgeCount, tetCount;
    FindLimits(set, fragment, &edgeCount, &tetCount);
    size_t groupCount = knCut_CountGroups(def);
    size_t perNode = 6 * sizeof(uint32_t);
    size_t perPiece = sizeof(Moments) + sizeof(knDebris) + sizeof(double) + 4 * sizeof(uint32_t);
    size_t perGroup = 3 * sizeof(uint32_t) + sizeof(float) + sizeof(double[2]);
    size_t perEdge = sizeof(EdgeCut) + 2 * sizeof(uint32_t);
    size_t perTet = 2 * sizeof(uint32_t) + 1;
    // no more pieces than nodes; each of the arrays may lose a cache line to alignment
    return Aligned(count * (perNode + perPiece) + groupCount * perGroup + edgeCount * perEdge +
                   tetCount * perTet) +
           32 * KN_CACHE_LINE;
}
