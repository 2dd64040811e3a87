// SPDX-License-Identifier: Zlib
// Breaking after a step: which hits are tried, what of it this step, what in the next ones.
#include "bullet_internal.h"

#include <string.h>

// Units of the budget that a body of a piece takes, and every node of it: mostly its mesh, of which
// 5 to 11 a node were measured.
#define BODY_UNITS 400
#define NODE_UNITS 9

knResult knWorld_SetBreakLimits(knWorld* w, const knBreakLimits* limits)
{
    knResult result = w ? knValidateBreakLimits(limits)
                        : knFail(kn_errorArgument, "knWorld_SetBreakLimits: null");
    if (result == kn_success)
    {
        w->breaks.limits = *limits;
        knWorld_RecordSettings(w, kn_callSetBreakLimits, knBreakSettings(), limits);
    }
    return result;
}

knResult knWorld_SetMaterial(knWorld* w, knFamilyId id, const knMaterial* material)
{
    knWorldFamily* family = knWorld_GetFamily(w, id);
    knResult result = family ? knValidateMaterial(material) : kn_errorHandle;
    if (result == kn_success)
    {
        family->material = *material;
        knWorld_RecordMaterial(w, id, material);
    }
    return result;
}

knResult knWorld_SetBreakable(knWorld* w, knFamilyId id, bool isBreakable)
{
    knWorldFamily* family = knWorld_GetFamily(w, id);
    if (!family)
    {
        return kn_errorHandle;
    }
    family->isBreakable = isBreakable;
    knWorld_RecordWords(w, kn_callSetBreakable, id, isBreakable, 0);
    return kn_success;
}

#define MOST_TURN 1.5708f // radians in a step

// A splinter that is hit off its middle spins faster than a step can follow: where it is then has
// nothing to do with its motion, and what it meets there gets energy from nothing. Engines turn
// bodies by no more than this anyway.
static void LimitSpin(const knBody* body, float dt)
{
    knBodyState state;
    knPortBody_State(body->port, &state);
    float turn = knLength(state.spin) * dt;
    if (body->piece && turn > MOST_TURN && state.mass > 0.0f)
    {
        knVec3 spin = knScale(MOST_TURN / turn, state.spin);
        knPortBody_SetVelocity(body->port, state.velocity, spin);
    }
}

void knWorld_LimitSpins(knWorld* w, float dt)
{
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        LimitSpin(knPool_Get(&w->bodies, id), dt);
    }
}

void knWorld_DropBreaks(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    const knAllocator* a = &w->allocator;
    while (b->liveCount > 0)
    {
        knWorld_EndEvent(w, b->liveCount - 1);
    }
    knDestroyPieceMeshWork(b->meshWork);
    knDestroyBreaker(b->breaker);
    knRelease(a, b->pushes, b->pushCapacity, sizeof(knPush));
    knRelease(a, b->hits, b->hitCapacity, sizeof(knHit));
    knRelease(a, b->pending, b->pendingCapacity, sizeof(knBlow));
    knRelease(a, b->live, b->liveCapacity, sizeof(knBreakEvent));
    knRelease(a, b->refunds, b->refundCapacity, sizeof(knRefundShare));
    knRelease(a, b->fractures, b->fractureCapacity, sizeof(knFractureEvent));
    knRelease(a, b->children, b->childCapacity, sizeof(knBodyId));
    knRelease(a, b->debris, b->debrisCapacity, sizeof(knDebrisEvent));
    knRelease(a, b->joints, b->jointCapacity, sizeof(knJointEvent));
    knRelease(a, b->contacts, b->contactCapacity, sizeof(knContactEvent));
    knRelease(a, b->touching[0], b->touchingCapacity[0], sizeof(knTouching));
    knRelease(a, b->touching[1], b->touchingCapacity[1], sizeof(knTouching));
    knRelease(a, b->islands, b->islandCapacity, sizeof(uint32_t));
    knRelease(a, b->energies, b->energyCapacity, sizeof(knIslandEnergy));
    knRelease(a, b->heirs.parents, 2 * KN_HEIR_COUNT, sizeof(knBodyId));
    knRelease(a, b->heirs.nexts, KN_HEIR_COUNT, sizeof(uint32_t));
    *b = (knWorldBreaks){0};
}

// Room for the hits of a common step from the start: what a refused allocation would lose for good.
knResult knWorld_ReserveBreaks(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    const knAllocator* a = &w->allocator;
    knResult r = knGrow(a, (void**)&b->pushes, &b->pushCapacity, 256, sizeof(knPush));
    r = r == kn_success ? knGrow(a, (void**)&b->hits, &b->hitCapacity, 256, sizeof(knHit)) : r;
    r = r == kn_success ? knGrow(a, (void**)&b->pending, &b->pendingCapacity, 8, sizeof(knBlow))
                        : r;
    return r == kn_success
               ? knGrow(a, (void**)&b->refunds, &b->refundCapacity, 16, sizeof(knRefundShare))
               : r;
}

// ---- the budget of a step

double knWorld_Clock(void* user)
{
    (void)user;
    return knPort_Now();
}

// What is left for the next call; false when nothing is, and then as little as a call can do.
static bool NextBudget(knWorld* w, knBreakBudget* budget)
{
    const knBreakLimits* limits = &w->breaks.limits;
    const knBudget* spent = &w->breaks.budget;
    *budget = (knBreakBudget){.clock = knWorld_Clock};
    if (limits->workPerStep > 0)
    {
        bool isLeft = limits->workPerStep > spent->work;
        budget->maxWork = isLeft ? limits->workPerStep - spent->work : 1;
        if (!isLeft)
        {
            return false;
        }
    }
    if (limits->secondsPerStep > 0.0)
    {
        budget->maxSeconds = limits->secondsPerStep - (knPort_Now() - spent->start);
        if (!knWorld_Grant(w, budget->maxSeconds > 0.0))
        {
            budget->maxWork = 1;
            return false;
        }
    }
    if (limits->bodiesPerStep > 0)
    {
        // one crack a call, so that the bodies can be counted
        budget->maxWork = 1;
        return spent->bodies < limits->bodiesPerStep;
    }
    return true;
}

// ---- one body

static knResult BeginBreaker(knWorld* w, knBreakEvent* event)
{
    const knBlow* blow = &event->blow;
    knWorldBreaks* b = &w->breaks;
    const knBody* body = knWorld_GetBody(w, blow->body);
    knWorldFamily* family = knWorld_GetFamily(w, body->piece->family);
    knBreakDef def = knDefaultBreakDef();
    def.fragment = body->piece->fragment;
    def.material = &family->material;
    def.impacts = blow->impacts;
    def.impactCount = blow->impactCount;
    def.lostEnergy = blow->isImpact ? blow->energy : 0.0;
    def.maxPieces = b->limits.eventPieces;
    def.seed = b->limits.seed + ((uint64_t)blow->body.index << 32 | def.fragment);
    def.tuning.minVolumeShare = b->limits.minVolumeShare;
    def.tuning.small = kn_smallDebris;
    knBreakBudget budget = {.clock = knWorld_Clock};
    knResult result = b->breaker ? kn_success : knCreateBreaker(&b->breaker, &w->allocator);
    event->storyMark = family->story.size;
    // told first: what has been cut must be in the story
    result = result == kn_success ? knWorldFamily_TellBreak(family, &def) : result;
    return result == kn_success ? knBreaker_Begin(b->breaker, family->family, &def, &budget)
                                : result;
}

// At least what pays for the cracks: of contacts that took E, a share s of the impulses takes
// s (2 - s) E.
static double ShareOf(const knBreakEvent* event)
{
    const knBlow* blow = &event->blow;
    double share = fmin(fmax(event->breakingShare, 0.0), 1.0);
    double spent = blow->energy > 0.0 ? event->allEnergy / blow->energy : 1.0;
    double needed = 1.0 - sqrt(fmax(1.0 - spent, 0.0));
    return blow->isImpact ? fmax(share, needed) : 1.0;
}

static bool HasBudget(const knBreakLimits* limits)
{
    return limits->workPerStep > 0 || limits->secondsPerStep > 0.0 || limits->bodiesPerStep > 0;
}

// Bodies that the step has to make so far, and what they cost.
static uint64_t UnitsOf(const knWorld* w, uint32_t* bodies)
{
    const knWorldBreaks* b = &w->breaks;
    uint64_t units = 0;
    *bodies = 0;
    for (uint32_t e = 0; e < b->liveCount; ++e)
    {
        const knFragmentSet* set =
            knFamily_Fragments(knWorld_GetFamily(w, b->live[e].family)->family);
        for (uint32_t i = 0; i < b->live[e].pieceCount; ++i)
        {
            const knEventPiece* piece = &b->live[e].pieces[i];
            bool isBody = piece->isNew && set->fragments[piece->fragment].state == kn_fragmentWhole;
            bool isReady = isBody && knBreakEvent_Ready(&b->live[e], piece->fragment);
            units += isBody ? BODY_UNITS : 0;
            units += isBody && !isReady
                         ? NODE_UNITS * (uint64_t)set->fragments[piece->fragment].nodeCount
                         : 0;
            *bodies += isBody;
        }
    }
    return units;
}

// The event that the breaker works on, or null.
static knBreakEvent* FindCutting(const knWorldBreaks* b)
{
    for (uint32_t i = 0; i < b->liveCount; ++i)
    {
        if (b->live[i].isCutting)
        {
            return &b->live[i];
        }
    }
    return NULL;
}

void knWorld_CountBodies(knWorld* w)
{
    knBudget* budget = &w->breaks.budget;
    budget->work = budget->cutting + UnitsOf(w, &budget->bodies);
}

// What a call of the breaker did.
static void TakeCut(knWorld* w, knBreakEvent* event, const knBreakResult* cut)
{
    knWorldBreaks* b = &w->breaks;
    b->budget.cutting += cut->work;
    event->breaks = cut->breaks;
    b->updateSeconds += cut->times.update - event->updateSeconds;
    event->updateSeconds = cut->times.update;
    event->breakingShare = cut->breakingShare;
    event->keptEnergy = cut->cracks.spentEnergy;
    event->allEnergy = cut->isDone ? cut->cracks.spentEnergy : cut->cracks.energy;
    event->keptArea = cut->cracks.crackArea;
    event->isKept = cut->isKeptBack;
    event->isLastCut = cut->isDone;
    event->isListed = false;
    event->slice = cut->slice;
    if (!cut->isKeptBack)
    {
        knBreakEvent_TakeKept(w, event);
    }
    knWorld_CountBodies(w);
}

static knResult CutSome(knWorld* w, knBreakEvent* event, knBreakBudget budget)
{
    knWorldBreaks* b = &w->breaks;
    knBreakResult cut = {0};
    bool isTimed = b->limits.secondsPerStep > 0.0;
    bool isGiven = isTimed && knWorld_GivenSlice(w, &budget.slice);
    // a call that went to the end
    budget = isGiven && budget.slice == 0 ? (knBreakBudget){.clock = knWorld_Clock} : budget;
    budget.keepsBack = HasBudget(&b->limits);
    knResult result = knBreaker_Continue(b->breaker, &budget, &cut);
    if (isTimed)
    {
        knWorld_NoteSlice(w, cut.slice);
    }
    if (result == kn_success && !cut.isKeptBack)
    {
        result = knBreakEvent_FindPieces(w, event);
    }
    if (result == kn_success)
    {
        TakeCut(w, event, &cut);
    }
    return result;
}

// Cracks, cuts and what is made ready for them, as far as the budget goes. A call that fails has
// changed nothing that the next one does not find again.
static knResult ContinueEvent(knWorld* w, knBreakEvent* event, bool mustGo)
{
    knResult result = kn_success;
    knBreakBudget budget;
    while (result == kn_success && event->isCutting && (NextBudget(w, &budget) || mustGo))
    {
        mustGo = false;
        result = event->isKept ? knBreakEvent_Prepare(w, event) : CutSome(w, event, budget);
    }
    return result;
}

knResult knWorld_BringForth(knWorld* w, knFamilyId family)
{
    knWorldBreaks* b = &w->breaks;
    knBreakEvent* event = FindCutting(b);
    if (!event || !knId_Equals(event->family, family))
    {
        return kn_success;
    }
    const knFamily* object = knWorld_GetFamily(w, family)->family;
    if (!event->isKept && knFamily_Coming(object) != knFamily_Fragments(object))
    {
        return knFail(kn_errorMemory, "the object is breaking and found no memory: try again after "
                                      "the next step");
    }
    knBreakLimits limits = b->limits;
    b->limits.workPerStep = 0;
    b->limits.secondsPerStep = 0.0;
    knResult result = kn_success;
    while (result == kn_success && event->isKept)
    {
        result = knBreakEvent_Prepare(w, event);
    }
    b->limits = limits;
    return result == kn_success ? knBreakEvent_Commit(w, event) : result;
}

static bool IsFull(knWorld* w, const knBlow* blow)
{
    const knBreakLimits* limits = &w->breaks.limits;
    const knBody* body = knWorld_GetBody(w, blow->body);
    bool isFull = w->pieceCount >= limits->worldPieces ||
                  knWorld_GetFamily(w, body->piece->family)->pieceCount >= limits->familyPieces;
    if (isFull)
    {
        knWorld_Notice(w, kn_noticeLimit, kn_errorLimit, blow->body);
    }
    return isFull;
}

static void AddRefund(knWorld* w, const knBreakEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    // without room nothing is given back: the break costs more, which makes no energy
    if (knGrow(&w->allocator, (void**)&b->refunds, &b->refundCapacity, b->refundCount + 1,
               sizeof(knRefundShare)) == kn_success)
    {
        b->refunds[b->refundCount++] =
            (knRefundShare){knWorld_Untagged(w, event->blow.body).index, event->share,
                            event->blow.isImpact ? event->allEnergy : 0.0};
    }
}

// It held, or its cracks came to nothing: less need not be tried again, with some room for another
// place of the hit.
static void Endure(knWorld* w, const knBreakEvent* event)
{
    knBody* body = knWorld_GetBody(w, event->blow.body);
    double breaking = event->breakingShare * event->blow.impulse;
    body->enduredImpulse = fmax(body->enduredImpulse, 0.1 * breaking);
}

// It has paid for the break: until there are pieces it passes, as it passes these later on.
static void PassStrikers(const knWorld* w, const knBreakEvent* event)
{
    const knBody* body = knWorld_GetBody(w, event->blow.body);
    for (uint32_t i = 0; i < event->blow.strikerCount; ++i)
    {
        knPort_Separate(w->port, body->port, event->blow.strikers[i].object);
    }
}

// Decides at once; cuts as far as the budget goes. A blow of an earlier step has long been paid in
// full: nothing of it is given back.
static knResult TryBlow(knWorld* w, const knBlow* blow, bool isFresh)
{
    knWorldBreaks* b = &w->breaks;
    if (IsFull(w, blow))
    {
        return kn_success;
    }
    b->budget.tries += 1;
    knBreakEvent* event = NULL;
    knResult result = knWorld_BeginEvent(w, blow, &event);
    if (result != kn_success)
    {
        return result;
    }
    result = BeginBreaker(w, event);
    event->isCutting = result == kn_success;
    result = event->isCutting ? ContinueEvent(w, event, true) : result;
    if (!event->isCutting && !event->hasNews && !event->isStale)
    {
        if (result == kn_success)
        {
            Endure(w, event);
        }
        if (!event->breaks)
        {
            // nothing happened to the object
            knWorld_GetFamily(w, event->family)->story.size = event->storyMark;
        }
        knWorld_EndEvent(w, b->liveCount - 1);
        return result;
    }
    if (isFresh && result == kn_success)
    {
        event->share = ShareOf(event);
        AddRefund(w, event);
        if (event->isCutting)
        {
            PassStrikers(w, event);
        }
    }
    if (result != kn_success)
    {
        knWorld_Notice(w, kn_noticeDeferred, result, blow->body);
    }
    return kn_success;
}

// ---- the step

static bool MayBegin(knWorld* w)
{
    const knWorldBreaks* b = &w->breaks;
    knBreakBudget budget;
    return !FindCutting(b) && b->budget.tries < b->limits.breaksPerStep && NextBudget(w, &budget);
}

static void Fail(knWorld* w, const knBlow* blow, knResult result)
{
    if (result == kn_errorMemory)
    {
        knWorld_Notice(w, kn_noticeDeferred, result, blow->body);
        knWorld_Postpone(w, blow);
    }
    else if (result != kn_success)
    {
        knWorld_Notice(w, kn_noticeError, result, blow->body);
    }
}

// The hits of this step: only these can be given back, so they go first.
static void TryHits(knWorld* w, float dt)
{
    knWorldBreaks* b = &w->breaks;
    knBlow blow;
    for (uint32_t i = 0; i < b->hitCount && b->limits.breaksPerStep > 0;)
    {
        i += knWorld_GatherBlow(w, i, dt, &blow);
        if (blow.impactCount == 0)
        {
            continue;
        }
        if (MayBegin(w))
        {
            Fail(w, &blow, TryBlow(w, &blow, true));
        }
        else
        {
            knWorld_Postpone(w, &blow);
        }
    }
}

// What waited, the hardest first; bodies that are gone or have broken meanwhile are forgotten. What
// is put back is not tried again in this step.
static void TryPending(knWorld* w, uint32_t count)
{
    knWorldBreaks* b = &w->breaks;
    for (uint32_t i = 0; i < count && b->pendingCount > 0 && MayBegin(w); ++i)
    {
        knBlow blow = b->pending[0];
        b->pendingCount -= 1;
        memmove(&b->pending[0], &b->pending[1], b->pendingCount * sizeof(knBlow));
        const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, blow.body));
        if (body && body->breakId == 0 && blow.impulse > body->enduredImpulse)
        {
            Fail(w, &blow, TryBlow(w, &blow, false));
        }
    }
}

// All that break in a step are found before bodies are replaced: what one of them gives back, the
// others must not have lost yet.
static void Commit(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    for (uint32_t i = 0; i < b->liveCount;)
    {
        knBreakEvent* event = &b->live[i];
        knBodyId body = event->blow.body;
        bool isWaiting = event->hasNews || event->isStale;
        knResult result = isWaiting ? knBreakEvent_Commit(w, event) : kn_success;
        if (result != kn_success)
        {
            knWorld_Notice(w, kn_noticeDeferred, result, body);
        }
        if (result == kn_success && !event->isCutting)
        {
            knWorld_EndEvent(w, i);
        }
        else
        {
            ++i;
        }
    }
}

static void GoOn(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    knBreakEvent* event = FindCutting(b);
    if (!event)
    {
        return;
    }
    knResult result = ContinueEvent(w, event, true);
    if (result != kn_success)
    {
        knWorld_Notice(w, result == kn_errorMemory ? kn_noticeDeferred : kn_noticeError, result,
                       event->blow.body);
        // only memory can come back
        if (result != kn_errorMemory)
        {
            knBreaker_Cancel(b->breaker);
            event->isCutting = event->isKept = false;
        }
    }
}

static void BreakStep(knWorld* w, float dt)
{
    knWorldBreaks* b = &w->breaks;
    uint32_t waiting = b->pendingCount;
    GoOn(w);
    if (!b->limits.isOff)
    {
        TryHits(w, dt);
        TryPending(w, waiting);
        knResult result = knWorld_Refund(w);
        if (result != kn_success)
        {
            knWorld_Notice(w, kn_noticeDropped, result, (knBodyId){0});
        }
    }
    Commit(w);
    const knBreakEvent* cutting = FindCutting(b);
    if (cutting || b->pendingCount > 0)
    {
        knBodyId body = cutting ? cutting->blow.body : b->pending[0].body;
        knWorld_Notice(w, kn_noticeBudget, kn_success, body);
    }
}

knResult knWorld_Break(knWorld* w, float dt)
{
    if (!w || !(dt > 0.0f && dt <= 1.0f))
    {
        return knFail(kn_errorArgument, "knWorld_Break: a world, and its step in s");
    }
    knWorldBreaks* b = &w->breaks;
    double start = knPort_Now();
    b->hitCount = b->refundCount = 0;
    b->updateSeconds = 0.0;
    b->budget = (knBudget){.start = start};
    knWorld_CollectHits(w);
    if (b->stepCount > 0)
    {
        knWorld_CompareContacts(w);
    }
    else
    {
        // called again without a step of the engine: what touches still touches
        knWorld_ResetEvents(w);
    }
    BreakStep(w, dt);
    if (b->looseJoints > 0)
    {
        knWorld_TieJoints(w);
    }
    knWorld_AgeDebris(w, dt);
    b->stepCount = b->pushCount = 0;
    knPort_ForgetStarts(w->port);
    b->seconds = knPort_Now() - start - b->updateSeconds;
    if (!knPort_IsOwner(w->port))
    {
        knWorld_LimitSpins(w, dt);
    }
    return kn_success;
}

void knWorld_FinishEvents(knWorld* w)
{
    w->breaks.budget = (knBudget){.start = knPort_Now()};
    GoOn(w);
    Commit(w);
    if (w->breaks.looseJoints > 0)
    {
        knWorld_TieJoints(w);
    }
}
