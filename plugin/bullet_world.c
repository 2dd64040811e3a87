// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"
#include "knap/bullet.h"

#include <string.h>

#define MAX_TAG (1u << (32 - KN_TAG_SHIFT))

knWorldDef knDefaultWorldDef(void)
{
    knWorldDef def = {.size = sizeof(knWorldDef),
                      .gravity = {0.0f, -9.81f, 0.0f},
                      .limits = knDefaultContactLimits(),
                      .bodyCapacity = 64,
                      .pairCapacity = 256};
    knSettings_Reset(knWorldSettings(), &def);
    return def;
}

knResult knValidateWorldDef(const knWorldDef* def)
{
    if (!def || def->size != sizeof(knWorldDef))
    {
        return knFail(kn_errorArgument, "world: begin with knDefaultWorldDef");
    }
    if (!knIsFinite(def->gravity))
    {
        return knFail(kn_errorArgument, "gravity is not finite");
    }
    if (def->tag >= MAX_TAG)
    {
        return knFail(kn_errorArgument, "tag is %u, below %u it must be", def->tag, MAX_TAG);
    }
    knResult result = knValidateSettings(knWorldSettings(), def);
    result = result == kn_success ? knValidateContactLimits(&def->limits) : result;
    return result == kn_success ? knCheckTaskHooks(def->tasks) : result;
}

static knResult CreateParts(knWorld* w, void* bullet)
{
    knPairsDef pairs = knDefaultPairsDef();
    pairs.limits = w->def.limits;
    pairs.tasks = w->def.tasks;
    pairs.pairCapacity = w->def.pairCapacity;
    knResult result = knCreatePairs(&w->pairs, &pairs, &w->allocator);
    result = result == kn_success
                 ? knCreatePool(&w->bodies, sizeof(knBody), w->def.bodyCapacity, &w->allocator)
                 : result;
    result = result == kn_success
                 ? knCreatePool(&w->families, sizeof(knWorldFamily), 16, &w->allocator)
                 : result;
    result = result == kn_success ? knCreatePool(&w->joints, sizeof(knJoint), 16, &w->allocator)
                                  : result;
    result = result == kn_success ? knCreateArena(&w->scratch, 0, &w->allocator) : result;
    result = result == kn_success ? knCreateArena(&w->splitScratch, 0, &w->allocator) : result;
    result = result == kn_success ? knWorld_ReserveBreaks(w) : result;
    knPortDef port = {.world = &w->def,
                      .bullet = bullet,
                      .pairs = w->pairs,
                      .allocator = &w->allocator,
                      .onStep = knWorld_CollectPushes,
                      .user = w};
    return result == kn_success ? knCreatePort(&w->port, &port) : result;
}

static knResult Create(knWorld** out, const knWorldDef* def, void* bullet,
                       const knAllocator* allocator)
{
    knResult result = knValidateWorldDef(def);
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    knWorld* w = result == kn_success ? knAllocate(allocator, 1, sizeof(knWorld)) : NULL;
    if (!w)
    {
        return result == kn_success ? kn_errorMemory : result;
    }
    *w = (knWorld){.allocator = allocator ? *allocator : knDefaultAllocator(), .def = *def};
    w->breaks.limits = knDefaultBreakLimits();
    result = CreateParts(w, bullet);
    if (result != kn_success)
    {
        knDestroyWorld(w);
        return result;
    }
    *out = w;
    return kn_success;
}

knResult knCreateWorld(knWorld** world, const knWorldDef* def, const knAllocator* allocator)
{
    if (!world)
    {
        return knFail(kn_errorArgument, "knCreateWorld: null");
    }
    return Create(world, def, NULL, allocator);
}

knResult knAttachWorld(knWorld** world, btDiscreteDynamicsWorld* bullet, const knWorldDef* def,
                       const knAllocator* allocator)
{
    if (!world || !bullet)
    {
        return knFail(kn_errorArgument, "knAttachWorld: null");
    }
    return Create(world, def, bullet, allocator);
}

void knDestroyWorld(knWorld* w)
{
    if (!w)
    {
        return;
    }
    if (w->port)
    {
        (void)knWorld_Drop(w);
        while (w->breaks.liveCount > 0)
        {
            knWorld_EndEvent(w, w->breaks.liveCount - 1);
        }
        for (knId id = knPool_Next(&w->joints, (knId){0}); !knId_IsNull(id);
             id = knPool_Next(&w->joints, id))
        {
            knPort_DestroyJoint(w->port, ((knJoint*)knPool_Get(&w->joints, id))->port);
        }
        for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
             id = knPool_Next(&w->bodies, id))
        {
            ((knBody*)knPool_Get(&w->bodies, id))->jointCount = 0;
            knWorld_RemoveBody(w, knWorld_Tagged(w, id));
        }
        knDestroyPort(w->port);
    }
    for (knId id = knPool_Next(&w->families, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->families, id))
    {
        knWorldFamily* family = knPool_Get(&w->families, id);
        knDestroyFamily(family->family);
        knStream_Free(&family->story);
    }
    knWorld_DropBreaks(w);
    knWorld_DropRecorder(w);
    knDestroyPairs(w->pairs);
    knDestroyPool(&w->bodies);
    knDestroyPool(&w->families);
    knDestroyPool(&w->joints);
    knDestroyArena(&w->scratch);
    knDestroyArena(&w->splitScratch);
    knAllocator allocator = w->allocator;
    knRelease(&allocator, w, 1, sizeof *w);
}

knResult knWorld_Step(knWorld* w, float dt)
{
    if (!w || !(dt > 1e-7f && dt <= 1.0f))
    {
        return knFail(kn_errorArgument, "knWorld_Step: a world, and a step above 1e-7 to 1 s");
    }
    if (!knPort_IsOwner(w->port))
    {
        return knFail(kn_errorArgument,
                      "knWorld_Step: the world is attached; step Bullet's, Knap goes along");
    }
    double start = knPort_Now();
    w->recorder.muted += 1;
    knPairs_ResetCounters(w->pairs);
    knWorld_LimitSpins(w, dt);
    knPort_Step(w->port, dt);
    knResult result = knWorld_Break(w, dt);
    w->stepTime = knPort_Now() - start;
    w->recorder.muted -= 1;
    knWorld_RecordStep(w, dt);
    return result;
}

knResult knWorld_SetGravity(knWorld* w, knVec3 gravity)
{
    if (!w || !knIsFinite(gravity) || !knPort_IsOwner(w->port))
    {
        return knFail(kn_errorArgument,
                      "knWorld_SetGravity: a world that is not attached and finite numbers");
    }
    knPort_SetGravity(w->port, gravity);
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        knPortBody_Wake(((knBody*)knPool_Get(&w->bodies, id))->port);
    }
    knWorld_RecordVectors(w, kn_callSetGravity, (knId){0}, gravity, gravity);
    return kn_success;
}

knResult knWorld_SetLimits(knWorld* w, const knContactLimits* limits)
{
    knResult result = w ? knPairs_SetLimits(w->pairs, limits)
                        : knFail(kn_errorArgument, "knWorld_SetLimits: null");
    if (result == kn_success)
    {
        knWorld_RecordSettings(w, kn_callSetLimits, knContactSettings(), limits);
    }
    return result;
}

knId knWorld_Tagged(const knWorld* w, knId id)
{
    return knId_IsNull(id) ? id : (knId){id.index | w->def.tag << KN_TAG_SHIFT, id.generation};
}

knId knWorld_Untagged(const knWorld* w, knId id)
{
    bool isOurs = id.index >> KN_TAG_SHIFT == w->def.tag;
    return isOurs ? (knId){id.index & ((1u << KN_TAG_SHIFT) - 1), id.generation} : (knId){0, 0};
}

knResult knWorld_ReserveSlot(knPool* pool)
{
    if (pool->count < pool->capacity)
    {
        return kn_success;
    }
    uint32_t capacity = pool->capacity < 8 ? 16 : 2 * pool->capacity;
    if (capacity >> KN_TAG_SHIFT)
    {
        return knFail(kn_errorLimit, "a world has at most %u bodies", 1u << KN_TAG_SHIFT);
    }
    return knPool_Reserve(pool, capacity);
}

knWorldProfile knWorld_Profile(const knWorld* w)
{
    knWorldProfile profile = {0};
    if (w)
    {
        profile.step = w->stepTime;
        knPort_Times(w->port, &profile.collision, &profile.contacts);
        profile.fracture = w->breaks.seconds;
        profile.update = w->breaks.updateSeconds;
    }
    return profile;
}

knWorldCounters knWorld_Counters(const knWorld* w)
{
    knWorldCounters counters = {0};
    if (!w)
    {
        return counters;
    }
    counters.bodies = w->bodies.count;
    counters.pieces = w->pieceCount;
    counters.families = w->families.count;
    counters.joints = w->joints.count;
    counters.pairs = knPairs_Counters(w->pairs);
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        knBodyState state;
        knPortBody_State(((knBody*)knPool_Get(&w->bodies, id))->port, &state);
        counters.awake += state.isAwake && state.mass > 0.0f;
    }
    return counters;
}
