// SPDX-License-Identifier: Zlib
// Meshes of the pieces that a cut will make, over as many steps as they take; meanwhile the body
// goes on whole.
#include "bullet_internal.h"

// As little as a step makes of meshes, about half of what cutting a crack takes: with less, pieces
// would be long in coming and not one step shorter.
#define LEAST_UNITS 15000

// ---- the list

static bool IsMeshWanted(const knFragmentSet* set, uint32_t fragment)
{
    return set->fragments[fragment].state == kn_fragmentWhole;
}

// New pieces have the highest ids. What a smallest size makes debris of is not known yet.
static knResult List(const knWorld* w, knBreakEvent* event, const knFamily* family)
{
    const knFragmentSet* set = knFamily_Coming(family);
    uint32_t first = knFamily_Fragments(family)->fragmentCount;
    knResult room = knGrow(&w->allocator, (void**)&event->ready, &event->readyCapacity,
                           event->readyCount + set->fragmentCount - first, sizeof(knReadyMesh));
    for (uint32_t i = first; room == kn_success && i < set->fragmentCount; ++i)
    {
        if (IsMeshWanted(set, i))
        {
            event->ready[event->readyCount++] = (knReadyMesh){.fragment = i};
        }
    }
    return room;
}

void knBreakEvent_DropReady(knWorld* w, knBreakEvent* event)
{
    for (uint32_t i = 0; i < event->madeCount; ++i)
    {
        knDestroyPieceMesh(&event->ready[i].mesh);
    }
    knRelease(&w->allocator, event->ready, event->readyCapacity, sizeof(knReadyMesh));
    event->ready = NULL;
    event->readyCapacity = 0;
    event->readyCount = event->madeCount = 0;
}

knPieceMesh* knBreakEvent_Ready(const knBreakEvent* event, uint32_t fragment)
{
    for (uint32_t i = 0; i < event->madeCount; ++i)
    {
        // a body that had to go again took its mesh along
        if (event->ready[i].fragment == fragment && event->ready[i].mesh.allocator.allocate)
        {
            return &event->ready[i].mesh;
        }
    }
    return NULL;
}

// ---- slices

// How many units a call of the mesh work may take: in a budget of seconds the clock is asked after
// each.
static uint64_t UnitsLeft(const knWorldBreaks* b)
{
    const knBreakLimits* limits = &b->limits;
    uint64_t left = limits->secondsPerStep > 0.0 ? LEAST_UNITS : UINT64_MAX;
    if (limits->workPerStep > 0)
    {
        uint64_t own =
            limits->workPerStep > b->budget.work ? limits->workPerStep - b->budget.work : 0;
        own = own > LEAST_UNITS ? own : LEAST_UNITS;
        left = own < left ? own : left;
    }
    return left;
}

// A part of the next mesh.
static knResult MakeSome(knWorld* w, knBreakEvent* event, uint64_t units, uint64_t* spent)
{
    knWorldBreaks* b = &w->breaks;
    const knFragmentSet* set = knFamily_Coming(knWorld_GetFamily(w, event->family)->family);
    knReadyMesh* next = &event->ready[event->madeCount];
    knResult result = b->meshWork ? kn_success : knCreatePieceMeshWork(&b->meshWork, &w->allocator);
    if (result == kn_success && !next->isBegun)
    {
        result = knPieceMeshWork_Begin(b->meshWork, set, next->fragment);
        next->isBegun = result == kn_success;
    }
    if (result == kn_success)
    {
        result = knPieceMeshWork_Step(b->meshWork, units, &next->mesh, spent);
        next->isBegun = !knPieceMeshWork_IsDone(b->meshWork);
        event->madeCount += result == kn_success && !next->isBegun;
    }
    return result;
}

void knBreakEvent_TakeKept(knWorld* w, knBreakEvent* event)
{
    knWorldFamily_TellSlice(knWorld_GetFamily(w, event->family), event->slice);
    event->energy = event->keptEnergy;
    event->area = event->keptArea;
    event->isKept = false;
    event->isCutting = !event->isLastCut;
}

// The pieces are there, and want bodies at the end of the step.
static knResult BringForth(knWorld* w, knBreakEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    knBreakBudget budget = {.clock = knWorld_Clock};
    knBreakTimes times;
    uint64_t work = 0;
    knResult result = knBreaker_Commit(b->breaker, &budget, &times, &work);
    if (result != kn_success)
    {
        return result;
    }
    b->budget.cutting += work;
    b->updateSeconds += times.update - event->updateSeconds;
    event->updateSeconds = times.update;
    knBreakEvent_TakeKept(w, event);
    return knBreakEvent_FindPieces(w, event);
}

knResult knBreakEvent_Prepare(knWorld* w, knBreakEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    knResult result = kn_success;
    if (!event->isListed)
    {
        result = List(w, event, knWorld_GetFamily(w, event->family)->family);
        event->isListed = result == kn_success;
    }
    uint64_t left = UnitsLeft(b);
    while (result == kn_success && event->madeCount < event->readyCount && left > 0)
    {
        uint64_t spent = 0;
        result = MakeSome(w, event, left, &spent);
        left -= spent < left ? spent : left;
        b->budget.cutting += spent;
    }
    bool isReady = result == kn_success && event->madeCount == event->readyCount;
    result = isReady ? BringForth(w, event) : result;
    knWorld_CountBodies(w);
    return result;
}
