// SPDX-License-Identifier: Zlib
// Small pieces grow old, fade and go, or are frozen where they rest.
#include "bullet_internal.h"

// Slower than this a piece rests, whatever the engine says of its sleep.
#define REST_SPEED 0.03f // m/s
#define REST_SPIN  0.3f  // rad/s

static bool IsDebris(const knWorld* w, const knBody* body)
{
    if (!body->piece || body->piece->fragment == 0 || body->breakId != 0)
    {
        return false;
    }
    const knFragmentSet* set =
        knFamily_Fragments(knWorld_GetFamily(w, body->piece->family)->family);
    double share =
        set->fragments[body->piece->fragment].mass.volume / set->fragments[0].mass.volume;
    return share < w->breaks.limits.debrisShare;
}

static void TakeOut(knWorld* w, knId id, const knBody* body, const knBodyState* state)
{
    knFamily* family = knWorld_GetFamily(w, body->piece->family)->family;
    uint32_t fragment = body->piece->fragment;
    const knMassProperties* mass = &knFamily_Fragments(family)->fragments[fragment].mass;
    knDebrisEvent event = {.family = body->piece->family,
                           .body = knWorld_Tagged(w, id),
                           .fragment = fragment,
                           .reason = kn_debrisOld,
                           .place = state->transform.position,
                           .velocity = state->velocity,
                           .spin = state->spin,
                           .mass = mass->mass,
                           .volume = mass->volume};
    knWorld_AddDebrisEvent(w, &event);
    (void)knWorld_DestroyBody(w, event.body);
}

static void Rest(knWorld* w, knBody* body, const knBodyState* state, float dt)
{
    const knBreakLimits* limits = &w->breaks.limits;
    bool isMoved = state->mass > 0.0f;
    bool rests = !state->isAwake ||
                 (knLength(state->velocity) < REST_SPEED && knLength(state->spin) < REST_SPIN);
    body->rest = isMoved && rests ? body->rest + dt : 0.0f;
    if (isMoved && body->jointCount == 0 && limits->freezeAfter > 0.0f &&
        body->rest >= limits->freezeAfter)
    {
        knPort_Freeze(w->port, body->port, true);
        body->isFrozen = true;
    }
}

void knWorld_AgeDebris(knWorld* w, float dt)
{
    const knBreakLimits* limits = &w->breaks.limits;
    if (!(limits->debrisLifetime > 0.0f) && !(limits->freezeAfter > 0.0f))
    {
        return;
    }
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        knBody* body = knPool_Get(&w->bodies, id);
        if (!knPortBody_IsIn(body->port) || !IsDebris(w, body))
        {
            continue;
        }
        knBodyState state;
        knPortBody_State(body->port, &state);
        body->age += dt;
        if (limits->debrisLifetime > 0.0f && body->age >= limits->debrisLifetime)
        {
            TakeOut(w, id, body, &state);
        }
        else
        {
            Rest(w, body, &state, dt);
        }
    }
}

float knWorld_Fade(const knWorld* w, knBodyId id)
{
    const knBody* body = knWorld_GetBody(w, id);
    const knBreakLimits* limits = w ? &w->breaks.limits : NULL;
    if (!body || !(limits->debrisLifetime > 0.0f) || !IsDebris(w, body))
    {
        return 1.0f;
    }
    float left = limits->debrisLifetime - body->age;
    return left >= limits->debrisFade ? 1.0f : fmaxf(left / limits->debrisFade, 0.0f);
}

static void Wake(const void* object, void* user)
{
    knWorld* w = user;
    knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, knWorld_BodyOf(w, object)));
    if (body && body->isFrozen)
    {
        body->isFrozen = false;
        body->rest = 0.0f;
        knPort_Freeze(w->port, body->port, false);
    }
    knPort_WakeObject(object);
}

// What rests on a body that goes must not hang in the air.
void knWorld_WakeNeighbours(knWorld* w, const knBody* body)
{
    if (body->port && knPortBody_IsIn(body->port))
    {
        knPort_EachNeighbour(w->port, body->port, Wake, w);
    }
}
