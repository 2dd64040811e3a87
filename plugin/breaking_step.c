// SPDX-License-Identifier: Zlib
#include "breaking_internal.h"

#include <string.h>

// One event's time, and when its call must end.
typedef struct Step
{
    knBreaker* breaker;
    const knBreakBudget* budget;
    double start;
    uint64_t work;
    uint64_t count; // of faces looked for and cuts made
} Step;

// What following the cuts of a piece of so many nodes takes.
static uint64_t FollowUnits(uint32_t nodeCount, uint32_t pointCount)
{
    return KN_FOLLOW_UNITS + KN_NODE_UNITS * (uint64_t)nodeCount +
           KN_POINT_UNITS * (uint64_t)pointCount;
}

// What following the cuts so far will take.
static uint64_t PendingUnits(const knBreaker* b)
{
    uint32_t points = b->family->fragments.store->pointCount - b->mark.pointCount;
    return b->hasCuts ? FollowUnits(b->rootNodes, points) : 0;
}

// Everything that was cut from one piece since the mark.
static knResult FindDelta(knBreaker* b, knFractureDelta* delta)
{
    const knFragmentSet* set = knFamily_Coming(b->family);
    knArena_Reset(&b->arena);
    knResult result = knFragmentSet_DeltaSince(set, b->root, b->mark, &b->arena, delta);
    while (result == kn_errorMemory && b->arena.wantedBytes > 0)
    {
        result = knBreaker_ReserveArena(b, b->arena.capacity + 2 * b->arena.wantedBytes);
        result = result == kn_success
                     ? knFragmentSet_DeltaSince(set, b->root, b->mark, &b->arena, delta)
                     : result;
    }
    return result;
}

static knResult Update(Step* step)
{
    knBreaker* b = step->breaker;
    if (!b->hasCuts)
    {
        return kn_success;
    }
    knFractureDelta delta;
    knResult result = FindDelta(b, &delta);
    double start = knBreaker_Now(step->budget);
    if (result == kn_success)
    {
        knFamily_BringForth(b->family);
        b->isKeptBack = false;
        result = knFamily_Follow(b->family, &delta);
    }
    b->times.update += knBreaker_Now(step->budget) - start;
    step->work += result == kn_success ? PendingUnits(b) : 0;
    b->hasCuts = result != kn_success;
    return result;
}

// The piece that this one came from when the mark was set.
static uint32_t RootOf(const knBreaker* b, uint32_t fragment)
{
    const knFragment* fragments = b->family->fragments.fragments;
    while (fragment >= b->mark.fragmentCount)
    {
        fragment = fragments[fragment].parent;
    }
    return fragment;
}

// One delta tells of one piece and what came from it: before another is cut, the last is followed.
static knResult Enter(Step* step, uint32_t fragment)
{
    knBreaker* b = step->breaker;
    uint32_t root = b->root == KN_NONE ? fragment : RootOf(b, fragment);
    if (root == b->root)
    {
        return kn_success;
    }
    knResult result = Update(step);
    if (result == kn_success)
    {
        b->mark = knFragmentSet_Mark(&b->family->fragments);
        b->root = fragment;
        b->rootNodes = b->family->fragments.fragments[fragment].nodeCount;
    }
    return result;
}

// What a crack takes that was found: the cut, and what following it adds.
static uint64_t PlanUnits(const knBreaker* b)
{
    const knCrackPlan* plan = &b->plan;
    bool isOfRoot = b->root != KN_NONE && RootOf(b, plan->fragment) == b->root;
    if (isOfRoot && b->hasCuts)
    {
        return plan->work + KN_POINT_UNITS * (uint64_t)plan->pointCount;
    }
    uint32_t nodeCount = b->family->fragments.fragments[plan->fragment].nodeCount;
    return plan->work + FollowUnits(isOfRoot ? b->rootNodes : nodeCount, plan->pointCount);
}

// Whether the budget allows the next piece of work. The cuts are followed before the call ends, so
// that is counted ahead.
static bool HasRoom(const Step* step)
{
    const knBreaker* b = step->breaker;
    const knBreakBudget* budget = step->budget;
    if (!budget)
    {
        return true;
    }
    if (budget->slice > 0)
    {
        return step->count + 1 < budget->slice;
    }
    uint64_t ahead = PendingUnits(b);
    ahead += b->hasPlan ? PlanUnits(b) : knCracks_FindWork(b->cracks);
    bool overWork = budget->maxWork > 0 && step->work + ahead > budget->maxWork;
    bool overTime = false;
    if (budget->maxSeconds > 0.0 && budget->clock)
    {
        double seconds = (double)ahead * b->secondsPerUnit;
        overTime = knBreaker_Now(budget) - step->start + seconds > budget->maxSeconds;
    }
    return !overWork && !overTime;
}

static void FindCrack(Step* step)
{
    knBreaker* b = step->breaker;
    double start = knBreaker_Now(step->budget);
    uint64_t before = knCracks_Report(b->cracks)->work;
    b->hasPlan = knCracks_Find(b->cracks, &b->plan);
    b->report = *knCracks_Report(b->cracks);
    b->isActive = !b->report.isDone;
    step->work += b->report.work - before;
    step->count += 1;
    b->times.cut += knBreaker_Now(step->budget) - start;
}

static bool KeepsBack(const Step* step)
{
    return step->budget && step->budget->keepsBack;
}

static knResult CutCrack(Step* step)
{
    knBreaker* b = step->breaker;
    knResult result = Enter(step, b->plan.fragment);
    result = result == kn_success && KeepsBack(step) ? knFamily_OpenDraft(b->family) : result;
    double start = knBreaker_Now(step->budget);
    uint64_t before = knCracks_Report(b->cracks)->work;
    knSplitResult split = {.outcome = kn_splitNothing};
    knArena_Reset(&b->arena);
    result = result == kn_success ? knCracks_Next(b->cracks, &b->arena, &split) : result;
    b->hasCuts |= split.outcome == kn_splitDone;
    // a crack that found no memory has changed nothing and is tried again by the next call
    b->hasPlan = result != kn_success;
    b->report = *knCracks_Report(b->cracks);
    b->isActive = result == kn_errorMemory || (result == kn_success && !b->report.isDone);
    step->work += b->report.work - before;
    step->count += 1;
    b->times.cut += knBreaker_Now(step->budget) - start;
    return result;
}

// What is kept back is of one piece: the next one's turn comes when it has been committed.
static bool MustStop(const Step* step)
{
    const knBreaker* b = step->breaker;
    return KeepsBack(step) && b->hasCuts && b->hasPlan && RootOf(b, b->plan.fragment) != b->root;
}

// At least one place is tried in a call, or one crack cut that was found, so that every event ends;
// but for the first call, when the beginning took the budget.
static knResult StepCracks(Step* step)
{
    knBreaker* b = step->breaker;
    knResult result = kn_success;
    bool mustGo = !b->isFresh && !(step->budget && step->budget->slice > 0);
    while (result == kn_success && b->isActive && (mustGo || HasRoom(step)) && !MustStop(step))
    {
        mustGo = false;
        if (b->hasPlan)
        {
            result = CutCrack(step);
        }
        else
        {
            FindCrack(step);
        }
    }
    if (KeepsBack(step))
    {
        // a crack that found no memory has not been cut
        b->keptSlice = b->isActive ? step->count + (result == kn_success) : 0;
        return result;
    }
    knResult updated = Update(step);
    return result == kn_success ? updated : result;
}

static knResult StepPattern(Step* step)
{
    knBreaker* b = step->breaker;
    knSplitDef def;
    knResult result = knBreaker_ReserveArena(b, knBreaker_PatternBytes(b));
    result = result == kn_success ? knBreaker_MakePattern(b, &def) : result;
    result = result == kn_success && KeepsBack(step) ? knFamily_OpenDraft(b->family) : result;
    knSplitResult split = {.outcome = kn_splitNothing};
    double start = knBreaker_Now(step->budget);
    b->mark = knFragmentSet_Mark(&b->family->fragments);
    b->root = b->def.fragment;
    b->rootNodes = b->nodeCount;
    result = result == kn_success ? knFragmentSet_Split(&b->family->fragments, b->def.fragment,
                                                        &def, &b->arena, &split)
                                  : result;
    b->times.cut += knBreaker_Now(step->budget) - start;
    b->isActive = false;
    step->work += 8 * (uint64_t)b->nodeCount;
    b->report.isDone = true;
    if (result == kn_success && split.outcome == kn_splitDone)
    {
        b->report.crackArea = split.crackArea;
        b->report.pieceCount = split.delta.fragmentCount;
        b->report.crackCount = split.delta.fragmentCount - 1;
        b->hasCuts = true;
        b->keptSlice = 0;
        result = KeepsBack(step) ? kn_success : Update(step);
    }
    return result;
}

// The pieces lie in the run of nodes that was the fragment's, one behind the other.
static uint32_t ListPieces(knBreaker* b)
{
    const knFragmentSet* set = knFamily_Coming(b->family);
    uint32_t count = 0;
    for (uint32_t i = b->firstNode; i < b->firstNode + b->nodeCount;)
    {
        uint32_t piece = set->store->labels[set->nodes[i]];
        b->pieces[count] = piece;
        b->isHeld[count] = 0;
        count += 1;
        i += set->fragments[piece].nodeCount;
    }
    return count;
}

static uint32_t FindPiece(const knBreaker* b, uint32_t count, uint32_t slot)
{
    const knFragment* fragments = knFamily_Coming(b->family)->fragments;
    uint32_t low = 0;
    while (count > 1)
    {
        uint32_t half = count / 2;
        bool behind = fragments[b->pieces[low + half]].firstNode <= slot;
        low = behind ? low + half : low;
        count = behind ? count - half : half;
    }
    return low;
}

static knResult MarkHeld(knBreaker* b, uint32_t count)
{
    knAnchors anchors;
    knResult result = knOpenAnchors(&anchors, b->family->model->asset);
    for (uint32_t i = 0; result == kn_success && i < anchors.count; ++i)
    {
        uint32_t slot = knFamily_Coming(b->family)->slots[anchors.nodes[i]];
        if (slot - b->firstNode < b->nodeCount)
        {
            b->isHeld[FindPiece(b, count, slot)] = 1;
        }
    }
    return result;
}

// What a unit takes differs by machine, object and kind of work.
static void Calibrate(const Step* step, uint64_t workBefore)
{
    knBreaker* b = step->breaker;
    b->seconds += knBreaker_Now(step->budget) - step->start;
    b->allWork += step->work - workBefore;
    b->secondsPerUnit = b->allWork > 0 ? b->seconds / (double)b->allWork : 0.0;
}

static knResult FillResult(const Step* step, uint64_t slice, knBreakResult* result)
{
    knBreaker* b = step->breaker;
    uint32_t count = ListPieces(b);
    knResult status = MarkHeld(b, count);
    if (status == kn_success)
    {
        *result = (knBreakResult){.isDone = !b->isActive,
                                  .breaks = b->report.breaks,
                                  .isKeptBack = b->isKeptBack,
                                  .breakingShare = b->report.breakingShare,
                                  .cracks = b->report,
                                  .pieces = b->pieces,
                                  .isHeld = b->isHeld,
                                  .pieceCount = count,
                                  .work = step->work,
                                  .slice = slice,
                                  .times = b->times};
    }
    return status;
}

// The object is again as it was before the call, or goes on as it has become.
static void KeepBack(const Step* step)
{
    knBreaker* b = step->breaker;
    b->isKeptBack = KeepsBack(step) && b->hasCuts;
    if (b->isKeptBack)
    {
        knFamily_KeepBack(b->family);
    }
    else
    {
        knFamily_DropDraft(b->family);
    }
}

knResult knBreaker_Continue(knBreaker* b, const knBreakBudget* budget, knBreakResult* result)
{
    if (!b || !b->family || !result)
    {
        return knFail(kn_errorArgument, "knBreaker_Continue: null, or no event has begun");
    }
    Step step = {.breaker = b, .budget = budget, .start = knBreaker_Now(budget), .work = b->work};
    if (b->isKeptBack)
    {
        return FillResult(&step, b->keptSlice, result);
    }
    uint64_t workBefore = b->work;
    b->work = 0;
    // what an earlier call cut and found no memory to follow
    knResult status = Update(&step);
    b->root = b->hasCuts ? b->root : KN_NONE;
    if (status == kn_success && b->isActive)
    {
        status = b->def.pattern == kn_patternStress ? StepCracks(&step) : StepPattern(&step);
    }
    b->isFresh = false;
    Calibrate(&step, workBefore);
    KeepBack(&step);
    return status == kn_success ? FillResult(&step, b->isActive ? step.count + 1 : 0, result)
                                : status;
}

knResult knBreaker_Commit(knBreaker* b, const knBreakBudget* budget, knBreakTimes* times,
                          uint64_t* work)
{
    if (!b || !b->family || !times || !work)
    {
        return knFail(kn_errorArgument, "knBreaker_Commit: null, or no event has begun");
    }
    Step step = {.breaker = b, .budget = budget, .start = knBreaker_Now(budget)};
    knResult result = Update(&step);
    *times = b->times;
    *work = step.work;
    return result;
}

void knBreaker_Cancel(knBreaker* b)
{
    if (b && b->family)
    {
        knFamily_DropDraft(b->family);
        b->family = NULL;
        b->isActive = b->hasCuts = b->isKeptBack = false;
    }
}
