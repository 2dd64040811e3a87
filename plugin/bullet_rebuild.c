// SPDX-License-Identifier: Zlib
// The barrier of a save: a new engine with the same bodies, in order of their ids.
#include "bullet_internal.h"
#include "pairs_internal.h"

#include <string.h>
#include <xxhash.h>

// The old engine, until the new one is whole.
typedef struct Old
{
    knPort* port;
    knPairs* pairs;
    knPortBody** bodies; // by slot
    knPortJoint** joints;
    knPortJoint* drag;
} Old;

knBodyRecord knWorld_CaptureBody(const knWorld* w, knId id)
{
    const knBody* body = knPool_Get(&w->bodies, id);
    knBodyRecord record = {.shape = knPortBody_Shape(body->port),
                           .sleep = knPortBody_Sleep(body->port),
                           .enduredImpulse = body->enduredImpulse,
                           .age = body->age,
                           .rest = body->rest,
                           .isFrozen = body->isFrozen};
    knBodyState state;
    knPortBody_State(body->port, &state);
    record.def = knDefaultBodyDef();
    knPortBody_Def(body->port, &record.def);
    record.def.transform = state.transform;
    record.def.velocity = state.velocity;
    record.def.spin = state.spin;
    if (body->isFrozen)
    {
        record.def.kind = kn_bodyDynamic;
    }
    if (body->piece)
    {
        record.family = body->piece->family;
        record.fragment = body->piece->fragment;
    }
    return record;
}

knResult knWorld_BuildBody(knWorld* w, knId id, const knBodyRecord* record)
{
    knBody* body = knPool_Get(&w->bodies, id);
    knPortShape shape;
    knPortBodyDef def = {.def = &record->def, .shape = record->shape};
    if (body->piece)
    {
        const knFamily* family = knWorld_GetFamily(w, record->family)->family;
        def = knPiece_PortDef(family, body->piece, &record->def, &shape);
    }
    def.frame = record->def.transform;
    def.slot = id.index;
    knResult result = knPort_CreateBody(w->port, &def, &body->port);
    if (result == kn_success)
    {
        if (record->isFrozen)
        {
            knPort_Freeze(w->port, body->port, true);
        }
        knPortBody_SetSleep(body->port, record->sleep);
    }
    return result;
}

static void FreeOld(const knWorld* w, Old* old)
{
    knRelease(&w->allocator, old->bodies, w->bodies.usedSlots + 1, sizeof(void*));
    knRelease(&w->allocator, old->joints, w->joints.usedSlots + 1, sizeof(void*));
}

static knResult MakeOld(const knWorld* w, Old* old)
{
    *old = (Old){.port = w->port, .pairs = w->pairs, .drag = w->drag};
    old->bodies = knAllocate(&w->allocator, w->bodies.usedSlots + 1, sizeof(void*));
    old->joints = knAllocate(&w->allocator, w->joints.usedSlots + 1, sizeof(void*));
    if (!old->bodies || !old->joints)
    {
        FreeOld(w, old);
        return kn_errorMemory;
    }
    memset(old->bodies, 0, (w->bodies.usedSlots + 1) * sizeof(void*));
    memset(old->joints, 0, (w->joints.usedSlots + 1) * sizeof(void*));
    return kn_success;
}

static knResult BuildBodies(knWorld* w, Old* old)
{
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        knBody* body = knPool_Get(&w->bodies, id);
        knBodyRecord record = knWorld_CaptureBody(w, id);
        knPortBody* before = body->port;
        knResult result = knWorld_BuildBody(w, id, &record);
        if (result != kn_success)
        {
            body->port = before;
            return result;
        }
        old->bodies[id.index] = before;
    }
    return kn_success;
}

knResult knWorld_BuildDrag(knWorld* w)
{
    const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, w->dragged));
    if (!body)
    {
        return kn_success;
    }
    knBodyState state;
    knPortBody_State(body->port, &state);
    knVec3 place = knTransformPoint(state.transform, w->dragPivot);
    knPortJointDef def = {.kind = kn_portDrag, .a = body->port, .pivots = {place, place}};
    knResult result = knPort_CreateJoint(w->port, &def, &w->drag);
    if (result == kn_success)
    {
        knPortJoint_SetTarget(w->drag, w->dragTarget);
    }
    return result;
}

static knResult BuildJoints(knWorld* w, Old* old)
{
    for (knId id = knPool_Next(&w->joints, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->joints, id))
    {
        knJoint* joint = knPool_Get(&w->joints, id);
        knPortJoint* before = joint->port;
        joint->port = NULL;
        knResult result = knWorld_Tie(w, joint);
        if (result != kn_success)
        {
            joint->port = before;
            return result;
        }
        old->joints[id.index] = before;
    }
    w->drag = NULL;
    return knWorld_BuildDrag(w);
}

// Swaps everything that is in `old` with what the world has; those without stay.
static void Swap(knWorld* w, Old* old)
{
    for (uint32_t i = 1; i <= w->bodies.usedSlots; ++i)
    {
        knBody* body = knPool_Get(&w->bodies, (knId){i, w->bodies.generations[i - 1]});
        if (body && old->bodies[i])
        {
            knPortBody* port = body->port;
            body->port = old->bodies[i];
            old->bodies[i] = port;
        }
    }
    for (uint32_t i = 1; i <= w->joints.usedSlots; ++i)
    {
        knJoint* joint = knPool_Get(&w->joints, (knId){i, w->joints.generations[i - 1]});
        if (joint && old->joints[i])
        {
            knPortJoint* port = joint->port;
            joint->port = old->joints[i];
            old->joints[i] = port;
        }
    }
    knPort* port = w->port;
    knPairs* pairs = w->pairs;
    knPortJoint* drag = w->drag;
    w->port = old->port;
    w->pairs = old->pairs;
    w->drag = old->drag;
    *old = (Old){port, pairs, old->bodies, old->joints, drag};
}

static void DestroyOld(knWorld* w, Old* old)
{
    if (old->port)
    {
        knPort_DestroyJoint(old->port, old->drag);
        for (uint32_t i = 1; i <= w->joints.usedSlots; ++i)
        {
            knPort_DestroyJoint(old->port, old->joints[i]);
        }
        for (uint32_t i = 1; i <= w->bodies.usedSlots; ++i)
        {
            knPort_DestroyBody(old->port, old->bodies[i]);
        }
    }
    knDestroyPort(old->port);
    knDestroyPairs(old->pairs);
    FreeOld(w, old);
}

static knResult MakeEngine(knWorld* w, const Old* old)
{
    knPairsDef pairs = knDefaultPairsDef();
    pairs.limits = *knPairs_Limits(old->pairs);
    pairs.tasks = &old->pairs->tasks;
    pairs.pairCapacity = w->def.pairCapacity;
    w->pairs = NULL;
    w->port = NULL;
    w->drag = NULL;
    knResult result = knCreatePairs(&w->pairs, &pairs, &w->allocator);
    knWorldDef def = w->def;
    def.gravity = knPort_Gravity(old->port);
    knPortDef port = {.world = &def,
                      .pairs = w->pairs,
                      .allocator = &w->allocator,
                      .onStep = knWorld_CollectPushes,
                      .user = w};
    return result == kn_success ? knCreatePort(&w->port, &port) : result;
}

knResult knWorld_Rebuild(knWorld* w)
{
    Old old;
    knResult result = MakeOld(w, &old);
    if (result != kn_success)
    {
        return result;
    }
    result = MakeEngine(w, &old);
    result = result == kn_success ? BuildBodies(w, &old) : result;
    result = result == kn_success ? BuildJoints(w, &old) : result;
    if (result != kn_success)
    {
        Swap(w, &old);
    }
    DestroyOld(w, &old);
    knPool_SortFree(&w->bodies);
    knPool_SortFree(&w->families);
    knPool_SortFree(&w->joints);
    // what it once grew to decides when pieces are ready, and a loaded world begins small
    knDestroyPieceMeshWork(w->breaks.meshWork);
    w->breaks.meshWork = NULL;
    // the engine's numbers are new: what touches is looked at afresh, and no begin is told
    w->breaks.touchingCount[0] = w->breaks.touchingCount[1] = 0;
    w->breaks.isQuiet = true;
    return result;
}

// ---- hash

static uint64_t HashBody(uint64_t hash, knId id, const knBody* body)
{
    knBodyState s;
    knPortBody_State(body->port, &s);
    const float numbers[] = {s.transform.position.x,
                             s.transform.position.y,
                             s.transform.position.z,
                             s.transform.rotation.x,
                             s.transform.rotation.y,
                             s.transform.rotation.z,
                             s.transform.rotation.w,
                             s.velocity.x,
                             s.velocity.y,
                             s.velocity.z,
                             s.spin.x,
                             s.spin.y,
                             s.spin.z,
                             s.mass,
                             body->age,
                             body->rest};
    const uint32_t words[] = {id.index,
                              id.generation,
                              s.isAwake,
                              body->piece ? body->piece->family.index : 0,
                              body->piece ? body->piece->fragment : 0,
                              body->isFrozen};
    hash = XXH64(numbers, sizeof numbers, hash);
    return XXH64(words, sizeof words, hash);
}

uint64_t knWorld_Hash(const knWorld* w)
{
    if (!w)
    {
        return 0;
    }
    // each hash is the seed of the next
    uint64_t hash = 0;
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        hash = HashBody(hash, id, knPool_Get(&w->bodies, id));
    }
    for (knId id = knPool_Next(&w->families, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->families, id))
    {
        const knFragmentSet* set =
            knFamily_Fragments(((knWorldFamily*)knPool_Get(&w->families, id))->family);
        const uint32_t words[] = {id.index, id.generation, set->fragmentCount,
                                  set->store->pointCount, set->store->cutCount};
        hash = XXH64(words, sizeof words, hash);
        hash = XXH64(set->store->labels, set->nodeCount * sizeof(uint32_t), hash);
    }
    const uint32_t words[] = {w->joints.count, w->breaks.lastId, w->breaks.pendingCount};
    return XXH64(words, sizeof words, hash);
}
