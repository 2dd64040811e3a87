// SPDX-License-Identifier: Zlib
// What hit one body in one step.
#include "bullet_internal.h"

#include <string.h>

// What cannot move pays nothing: pieces go on meeting it.
static void AddStriker(const knWorld* w, knBlow* blow, const void* object)
{
    for (uint32_t i = 0; i < blow->strikerCount; ++i)
    {
        if (blow->strikers[i].object == object)
        {
            return;
        }
    }
    if (blow->strikerCount < KN_MAX_STRIKERS && knPort_CanMove(object))
    {
        blow->strikers[blow->strikerCount++] =
            (knStriker){.body = knWorld_BodyOf(w, object), .object = object};
    }
}

static const void* FindObject(const knWorld* w, const knStriker* striker)
{
    if (!knId_IsNull(striker->body))
    {
        const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, striker->body));
        return body ? knPortBody_Object(body->port) : NULL;
    }
    return knPort_Holds(w->port, striker->object) ? striker->object : NULL;
}

void knWorld_FindStrikers(const knWorld* w, knBlow* blow)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < blow->strikerCount; ++i)
    {
        knStriker striker = blow->strikers[i];
        striker.object = FindObject(w, &striker);
        if (striker.object)
        {
            blow->strikers[count++] = striker;
        }
    }
    blow->strikerCount = count;
}

// All pushes count for the sums; the strongest are told to the fracture module.
static uint32_t SumHits(const knWorld* w, uint32_t first, knBlow* blow)
{
    const knWorldBreaks* b = &w->breaks;
    uint32_t count = 0, slot = b->hits[first].body.index;
    for (; first + count < b->hitCount && b->hits[first + count].body.index == slot; ++count)
    {
        const knHit* hit = &b->hits[first + count];
        const knPush* push = &b->pushes[hit->push];
        bool isFast = push->approach > b->limits.minApproach;
        blow->impulse += (double)hit->size;
        blow->isImpact = blow->isImpact || isFast;
        // what is met at speed a and left at speed l takes the mean of both along the impulse
        double left = push->whole > 1.0f ? 0.0 : (double)push->left;
        blow->energy += 0.5 * (double)hit->size * fmax((double)push->approach + left, 0.0);
        if (isFast)
        {
            AddStriker(w, blow, push->objects[1 - hit->side]);
        }
    }
    return count;
}

// A body at rest is asked only when something presses it far harder than its weight.
static bool IsWorthTrying(const knWorld* w, const knBlow* blow, float dt)
{
    const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, blow->body));
    if (!body || body->breakId != 0 || blow->impulse <= body->enduredImpulse)
    {
        return false;
    }
    const knFragmentSet* set =
        knFamily_Fragments(knWorld_GetFamily(w, body->piece->family)->family);
    double mass = set->fragments[body->piece->fragment].mass.mass;
    // without gravity any push would be many times its weight: there the earth's counts
    double gravity = (double)knLength(knPort_Gravity(w->port));
    double weight = (gravity > 0.0 ? gravity : 9.81) * mass;
    double steady = (double)w->breaks.limits.steadyLoad * weight * (double)dt;
    return blow->isImpact || blow->impulse > steady;
}

uint32_t knWorld_GatherBlow(const knWorld* w, uint32_t first, float dt, knBlow* blow)
{
    const knWorldBreaks* b = &w->breaks;
    const knHit* hits = &b->hits[first];
    memset(blow, 0, sizeof *blow);
    blow->body = knWorld_Tagged(w, hits[0].body);
    blow->place = b->pushes[hits[0].push].points[hits[0].side];
    uint32_t count = SumHits(w, first, blow);
    if (!IsWorthTrying(w, blow, dt))
    {
        return count;
    }
    const knBody* body = knPool_Get(&w->bodies, hits[0].body);
    knBodyState state;
    knPortBody_State(body->port, &state);
    blow->impactCount = count < KN_MAX_CRACK_HITS ? count : KN_MAX_CRACK_HITS;
    for (uint32_t i = 0; i < blow->impactCount; ++i)
    {
        const knPush* push = &b->pushes[hits[i].push];
        knVec3 point = knInvTransformPoint(state.transform, push->points[hits[i].side]);
        knVec3 impulse = knScale(hits[i].side == 0 ? push->whole : -push->whole, push->impulse);
        // when something hits, what supports the body on the other side answers as fast
        blow->impacts[i] = (knImpact){.kind = blow->isImpact ? kn_loadImpact : kn_loadSteady,
                                      .point = knAdd(point, body->piece->mesh.center),
                                      .impulse = knInvRotate(state.transform.rotation, impulse),
                                      .duration = blow->isImpact ? 0.0f : dt};
    }
    return count;
}

static uint32_t PlaceOf(const knWorldBreaks* b, const knBlow* blow)
{
    uint32_t i = 0;
    while (i < b->pendingCount && b->pending[i].impulse >= blow->impulse)
    {
        ++i;
    }
    return i;
}

void knWorld_Postpone(knWorld* w, const knBlow* blow)
{
    knWorldBreaks* b = &w->breaks;
    knBlow copy = *blow; // it may lie in the list
    for (uint32_t i = 0; i < b->pendingCount; ++i)
    {
        if (!knId_Equals(b->pending[i].body, copy.body))
        {
            continue;
        }
        // one blow a body: the harder one
        if (b->pending[i].impulse >= copy.impulse)
        {
            return;
        }
        b->pendingCount -= 1;
        memmove(&b->pending[i], &b->pending[i + 1], (b->pendingCount - i) * sizeof(knBlow));
        break;
    }
    uint32_t limit = b->limits.pendingBreaks, place = PlaceOf(b, &copy);
    bool isFull = b->pendingCount >= limit;
    knResult room = limit == 0
                        ? kn_errorLimit
                        : knGrow(&w->allocator, (void**)&b->pending, &b->pendingCapacity,
                                 isFull ? b->pendingCount : b->pendingCount + 1, sizeof(knBlow));
    if (room != kn_success || isFull)
    {
        knWorld_Notice(w, kn_noticeDropped, room == kn_success ? kn_errorLimit : room, copy.body);
    }
    if (room != kn_success || (isFull && place >= limit))
    {
        return;
    }
    b->pendingCount = isFull ? limit - 1 : b->pendingCount;
    memmove(&b->pending[place + 1], &b->pending[place], (b->pendingCount - place) * sizeof(knBlow));
    b->pending[place] = copy;
    b->pendingCount += 1;
}
