// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#include <string.h>

knResult knWorld_SetBreakLimits(knWorld* w, const knBreakLimits* limits)
{
    knResult result = w ? knValidateBreakLimits(limits)
                        : knFail(kn_errorArgument, "knWorld_SetBreakLimits: null");
    if (result == kn_success)
    {
        w->breaks.limits = *limits;
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
    return kn_success;
}

const knFractureEvent* knWorld_Fractures(const knWorld* w, uint32_t* count)
{
    *count = w ? w->breaks.eventCount : 0;
    return w ? w->breaks.events : NULL;
}

const knBodyId* knWorld_Children(const knWorld* w, uint32_t* count)
{
    *count = w ? w->breaks.childCount : 0;
    return w ? w->breaks.children : NULL;
}

void knWorld_NoteVelocities(knWorld* w)
{
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        knBody* body = knPool_Get(&w->bodies, id);
        knBodyState state;
        knPortBody_State(body->port, &state);
        body->velocity = state.velocity;
        body->spin = state.spin;
    }
}

void knWorld_DropBreaks(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    knDestroyBreaker(b->breaker);
    knRelease(&w->allocator, b->pushes, b->pushCapacity, sizeof(knPush));
    knRelease(&w->allocator, b->hits, b->hitCapacity, sizeof(knHit));
    knRelease(&w->allocator, b->broken, b->brokenCapacity, sizeof(knBroken));
    knRelease(&w->allocator, b->brokenPieces, b->pieceCapacity, sizeof(knBrokenPiece));
    knRelease(&w->allocator, b->islands, b->islandCapacity, sizeof(uint32_t));
    knRelease(&w->allocator, b->events, b->eventCapacity, sizeof(knFractureEvent));
    knRelease(&w->allocator, b->children, b->childCapacity, sizeof(knBodyId));
    *b = (knWorldBreaks){0};
}

// ---- one body

// The hits of one body in this step.
typedef struct Blow
{
    uint32_t first, count; // hits
    knId id;
    knBody* body;
    double impulse; // N s, of all
    double energy;  // J that the contacts took
    bool isImpact;  // something met it with speed
    knBodyState state;
} Blow;

static Blow GatherBlow(const knWorld* w, uint32_t first)
{
    const knWorldBreaks* b = &w->breaks;
    Blow blow = {.first = first, .id = b->hits[first].body};
    blow.body = knPool_Get(&w->bodies, blow.id);
    knPortBody_State(blow.body->port, &blow.state);
    while (first + blow.count < b->hitCount &&
           b->hits[first + blow.count].body.index == blow.id.index)
    {
        const knHit* hit = &b->hits[first + blow.count++];
        const knPush* push = &b->pushes[hit->push];
        blow.impulse += (double)hit->size;
        blow.isImpact = blow.isImpact || push->approach > b->limits.minApproach;
        // what is met at speed a and left at speed l takes the mean of both along the impulse
        blow.energy +=
            0.5 * (double)hit->size * fmax((double)push->approach + (double)push->left, 0.0);
    }
    return blow;
}

// A body at rest is asked only when something presses it far harder than its weight.
static bool IsWorthTrying(const knWorld* w, const Blow* blow, float dt)
{
    const knBreakLimits* limits = &w->breaks.limits;
    if (blow->impulse <= blow->body->enduredImpulse)
    {
        return false;
    }
    double weight = (double)knLength(w->def.gravity) * (double)blow->state.mass;
    return blow->isImpact || blow->impulse > (double)limits->steadyLoad * weight * (double)dt;
}

static uint32_t MakeImpacts(const knWorld* w, const Blow* blow, float dt,
                            knImpact impacts[KN_MAX_CRACK_HITS])
{
    const knWorldBreaks* b = &w->breaks;
    knTransform frame = blow->state.transform;
    uint32_t count = blow->count < KN_MAX_CRACK_HITS ? blow->count : KN_MAX_CRACK_HITS;
    for (uint32_t i = 0; i < count; ++i)
    {
        const knHit* hit = &b->hits[blow->first + i];
        const knPush* push = &b->pushes[hit->push];
        knVec3 point = knInvTransformPoint(frame, push->points[hit->side]);
        knVec3 impulse = hit->side == 0 ? push->impulse : knNeg(push->impulse);
        // when something hits, what supports the body on the other side answers as fast
        impacts[i] = (knImpact){.kind = blow->isImpact ? kn_loadImpact : kn_loadSteady,
                                .point = knAdd(point, blow->body->piece->mesh.center),
                                .impulse = knInvRotate(frame.rotation, impulse),
                                .duration = blow->isImpact ? 0.0f : dt};
    }
    return count;
}

static double Clock(void* user)
{
    (void)user;
    return knPort_Now();
}

static knResult RunBreaker(knWorld* w, const Blow* blow, float dt, knBreakResult* result)
{
    knWorldBreaks* b = &w->breaks;
    knWorldFamily* family = knWorld_GetFamily(w, blow->body->piece->family);
    knImpact impacts[KN_MAX_CRACK_HITS];
    knBreakDef def = knDefaultBreakDef();
    def.fragment = blow->body->piece->fragment;
    def.material = &family->material;
    def.impacts = impacts;
    def.impactCount = MakeImpacts(w, blow, dt, impacts);
    def.lostEnergy = blow->isImpact ? blow->energy : 0.0;
    def.maxPieces = b->limits.eventPieces;
    def.seed = b->limits.seed + ((uint64_t)blow->id.index << 32 | def.fragment);
    def.tuning.minVolumeShare = b->limits.minVolumeShare;
    def.tuning.small = kn_smallDebris;
    knBreakBudget budget = {.clock = Clock};
    knResult done = b->breaker ? kn_success : knCreateBreaker(&b->breaker, &w->allocator);
    done = done == kn_success ? knBreaker_Begin(b->breaker, family->family, &def, &budget) : done;
    result->isDone = false;
    while (done == kn_success && !result->isDone)
    {
        done = knBreaker_Continue(b->breaker, &budget, result);
        b->updateSeconds += result->times.update;
    }
    return done;
}

// At least what pays for the cracks: of contacts that took E, a share s of the impulses takes
// s (2 - s) E.
static double ShareOf(const Blow* blow, const knBreakResult* result)
{
    double share = fmin(fmax(result->breakingShare, 0.0), 1.0);
    double spent = blow->energy > 0.0 ? result->cracks.spentEnergy / blow->energy : 1.0;
    double needed = 1.0 - sqrt(fmax(1.0 - spent, 0.0));
    return blow->isImpact ? fmax(share, needed) : 1.0;
}

// Keeps what the breaker will forget, the heaviest piece first.
static void KeepPieces(knWorldBreaks* b, const knBreakResult* result, const knFragmentSet* set)
{
    knBrokenPiece* pieces = b->brokenPieces + b->pieceCount;
    for (uint32_t i = 0; i < result->pieceCount; ++i)
    {
        knBrokenPiece piece = {result->pieces[i], result->isHeld[i] != 0};
        double mass = set->fragments[piece.fragment].mass.mass;
        uint32_t k = i;
        // insertion: an event has dozens of pieces
        for (; k > 0 && set->fragments[pieces[k - 1].fragment].mass.mass < mass; --k)
        {
            pieces[k] = pieces[k - 1];
        }
        pieces[k] = piece;
    }
    b->pieceCount += result->pieceCount;
}

// Room for the pieces in all arrays, before anything depends on it.
static knResult MakeRoom(knWorld* w, uint32_t pieceCount)
{
    knWorldBreaks* b = &w->breaks;
    knResult result = knGrow(&w->allocator, (void**)&b->broken, &b->brokenCapacity,
                             b->brokenCount + 1, sizeof(knBroken));
    result = result == kn_success
                 ? knGrow(&w->allocator, (void**)&b->brokenPieces, &b->pieceCapacity,
                          b->pieceCount + pieceCount, sizeof(knBrokenPiece))
                 : result;
    result = result == kn_success ? knGrow(&w->allocator, (void**)&b->events, &b->eventCapacity,
                                           b->brokenCount + 1, sizeof(knFractureEvent))
                                  : result;
    return result == kn_success ? knGrow(&w->allocator, (void**)&b->children, &b->childCapacity,
                                         b->pieceCount + pieceCount, sizeof(knBodyId))
                                : result;
}

static uint32_t FamilyPieces(const knWorld* w, knFamilyId family)
{
    uint32_t count = 0;
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        const knBody* body = knPool_Get(&w->bodies, id);
        count += body->piece && knId_Equals(body->piece->family, family);
    }
    return count;
}

static knResult TryBody(knWorld* w, const Blow* blow, float dt)
{
    knWorldBreaks* b = &w->breaks;
    knFamilyId familyId = blow->body->piece->family;
    if (w->pieceCount >= b->limits.worldPieces ||
        FamilyPieces(w, familyId) >= b->limits.familyPieces)
    {
        return kn_success;
    }
    knBreakResult result = {0};
    knResult done = RunBreaker(w, blow, dt, &result);
    if (done == kn_success && result.pieceCount < 2)
    {
        // it held: less need not be tried again, with some room for another place of the hit
        double breaking = result.breakingShare * blow->impulse;
        blow->body->enduredImpulse = fmax(blow->body->enduredImpulse, 0.1 * breaking);
        return kn_success;
    }
    done = done == kn_success ? MakeRoom(w, result.pieceCount) : done;
    if (done != kn_success)
    {
        return done;
    }
    b->broken[b->brokenCount++] = (knBroken){.body = blow->id,
                                             .firstHit = blow->first,
                                             .hitCount = blow->count,
                                             .firstPiece = b->pieceCount,
                                             .pieceCount = result.pieceCount,
                                             .impulse = (float)blow->impulse,
                                             .share = ShareOf(blow, &result),
                                             .energy = result.cracks.spentEnergy,
                                             .area = result.cracks.crackArea};
    KeepPieces(b, &result, knFamily_Fragments(knWorld_GetFamily(w, familyId)->family));
    return kn_success;
}

// ---- bodies for pieces

// What is too small, or finds no memory, is debris.
static void AddPieces(knWorld* w, const knParting* parting, const knBroken* broken,
                      knFractureEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    knFamily* family = knWorld_GetFamily(w, parting->familyId)->family;
    for (uint32_t i = 0; i < broken->pieceCount; ++i)
    {
        const knBrokenPiece* piece = &b->brokenPieces[broken->firstPiece + i];
        const knFragment* fragment = &knFamily_Fragments(family)->fragments[piece->fragment];
        knBodyDef def = knParting_Def(parting, knToFloat(fragment->mass.center));
        def.kind = piece->isHeld ? kn_bodyStatic : kn_bodyDynamic;
        knBodyId id;
        if (fragment->state == kn_fragmentWhole &&
            knWorld_AddPiece(w, &def, parting->familyId, piece->fragment, &id) == kn_success)
        {
            b->children[b->childCount++] = id;
            event->childCount += 1;
        }
        else
        {
            event->debrisMass += fragment->mass.mass;
            event->debrisCount += 1;
            knFamily_Remove(family, piece->fragment);
        }
    }
}

static void Replace(knWorld* w, const knBroken* broken)
{
    knWorldBreaks* b = &w->breaks;
    const knBody* body = knPool_Get(&w->bodies, broken->body);
    const knHit* hit = &b->hits[broken->firstHit];
    knParting parting = knWorld_MakeParting(body);
    knFractureEvent* event = &b->events[b->eventCount++];
    *event = (knFractureEvent){.family = parting.familyId,
                               .parent = knWorld_Tagged(w, broken->body),
                               .firstChild = b->childCount,
                               .place = b->pushes[hit->push].points[hit->side],
                               .impulse = broken->impulse,
                               .share = (float)broken->share,
                               .energy = broken->energy,
                               .crackArea = broken->area,
                               .lostJoints = body->jointCount};
    knWorld_RemoveBody(w, event->parent);
    AddPieces(w, &parting, broken, event);
}

// All that break in a step are found first: what one of them gives back, the others must not have
// lost yet.
static knResult BreakAll(knWorld* w, float dt)
{
    knWorldBreaks* b = &w->breaks;
    knResult result = kn_success;
    uint32_t tries = 0;
    for (uint32_t i = 0; i < b->hitCount;)
    {
        Blow blow = GatherBlow(w, i);
        i += blow.count;
        if (result == kn_success && tries < b->limits.breaksPerStep && IsWorthTrying(w, &blow, dt))
        {
            tries += 1;
            result = TryBody(w, &blow, dt);
        }
    }
    knResult refunded = knWorld_Refund(w);
    for (uint32_t i = 0; i < b->brokenCount; ++i)
    {
        Replace(w, &b->broken[i]);
    }
    return result == kn_success ? refunded : result;
}

knResult knWorld_Break(knWorld* w, float dt)
{
    if (!w || !(dt > 0.0f && dt <= 1.0f))
    {
        return knFail(kn_errorArgument, "knWorld_Break: a world, and its step in s");
    }
    knWorldBreaks* b = &w->breaks;
    double start = knPort_Now();
    b->pushCount = b->hitCount = b->brokenCount = b->pieceCount = 0;
    b->eventCount = b->childCount = 0;
    b->updateSeconds = 0.0;
    knResult result = kn_success;
    if (!b->limits.isOff)
    {
        knWorld_CollectHits(w);
        result = BreakAll(w, dt);
    }
    b->seconds = knPort_Now() - start - b->updateSeconds;
    if (!knPort_IsOwner(w->port))
    {
        knWorld_NoteVelocities(w);
    }
    return result;
}
