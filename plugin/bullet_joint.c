// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

static knResult CreateJoint(knWorld* w, knPortJointDef* def, knBodyId a, knBodyId b, knJointId* out)
{
    if (!w || !out || !knIsFinite(def->pivot) || !knIsFinite(def->axis))
    {
        return knFail(kn_errorArgument,
                      "a joint needs a world, finite numbers and room for its id");
    }
    knBody* bodyA = knWorld_GetBody(w, a);
    knBody* bodyB = knId_IsNull(b) ? NULL : knWorld_GetBody(w, b);
    if (!bodyA || (!knId_IsNull(b) && !bodyB))
    {
        return kn_errorHandle;
    }
    if (bodyA == bodyB)
    {
        return knFail(kn_errorArgument, "a joint needs two different bodies");
    }
    knResult result = knWorld_ReserveSlot(&w->joints);
    knId id;
    void* item;
    result = result == kn_success ? knPool_Acquire(&w->joints, &id, &item) : result;
    if (result != kn_success)
    {
        return result;
    }
    knJoint* joint = item;
    joint->bodies[0] = a;
    joint->bodies[1] = b;
    def->a = bodyA->port;
    def->b = bodyB ? bodyB->port : NULL;
    result = knPort_CreateJoint(w->port, def, &joint->port);
    if (result != kn_success)
    {
        (void)knPool_Release(&w->joints, id);
        return result;
    }
    bodyA->jointCount += 1;
    if (bodyB)
    {
        bodyB->jointCount += 1;
    }
    *out = knWorld_Tagged(w, id);
    return kn_success;
}

knResult knWorld_CreatePointJoint(knWorld* w, knBodyId a, knBodyId b, knVec3 pivot, knJointId* id)
{
    knPortJointDef def = {.kind = kn_portPoint, .pivot = pivot};
    return CreateJoint(w, &def, a, b, id);
}

knResult knWorld_CreateHinge(knWorld* w, knBodyId a, knBodyId b, knVec3 pivot, knVec3 axis,
                             knJointId* id)
{
    if (!(knLength(axis) > FLT_MIN))
    {
        return knFail(kn_errorArgument, "the axis of a hinge must not be 0");
    }
    knPortJointDef def = {.kind = kn_portHinge, .pivot = pivot, .axis = knNormalize(axis)};
    return CreateJoint(w, &def, a, b, id);
}

static void CountDown(knWorld* w, knBodyId id)
{
    knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, id));
    if (body)
    {
        body->jointCount -= 1;
    }
}

knResult knWorld_DestroyJoint(knWorld* w, knJointId id)
{
    knJoint* joint = w ? knPool_Get(&w->joints, knWorld_Untagged(w, id)) : NULL;
    if (!joint)
    {
        return knFail(kn_errorHandle, "no joint of this world has the id %u, %u", id.index,
                      id.generation);
    }
    knPort_DestroyJoint(w->port, joint->port);
    CountDown(w, joint->bodies[0]);
    CountDown(w, joint->bodies[1]);
    return knPool_Release(&w->joints, knWorld_Untagged(w, id));
}

static knResult Cast(const knWorld* w, const knVec3 way[2], float radius, int mask, knRayHit* hit,
                     bool* isHit)
{
    if (!w || !hit || !isHit || !knIsFinite(way[0]) || !knIsFinite(way[1]) || !isfinite(radius))
    {
        return knFail(kn_errorArgument, "a cast needs a world, finite numbers and room for a hit");
    }
    knPortHit found;
    knPort_Cast(w->port, way[0], way[1], radius, mask, &found);
    *isHit = found.object != NULL;
    *hit = (knRayHit){.body = knWorld_BodyOf(w, found.object),
                      .point = found.point,
                      .normal = found.normal,
                      .fraction = found.fraction};
    return kn_success;
}

knResult knWorld_CastRay(const knWorld* w, knVec3 from, knVec3 to, int mask, knRayHit* hit,
                         bool* isHit)
{
    knVec3 way[2] = {from, to};
    return Cast(w, way, 0.0f, mask, hit, isHit);
}

knResult knWorld_CastSphere(const knWorld* w, knVec3 from, knVec3 to, float radius, int mask,
                            knRayHit* hit, bool* isHit)
{
    if (!(radius > 0.0f))
    {
        return knFail(kn_errorArgument, "a ball has a radius above 0, got %g", (double)radius);
    }
    knVec3 way[2] = {from, to};
    return Cast(w, way, radius, mask, hit, isHit);
}

knResult knWorld_Pick(knWorld* w, knVec3 from, knVec3 to, knBodyId* out)
{
    knRayHit hit;
    bool isHit;
    knResult result = out ? knWorld_CastRay(w, from, to, -1, &hit, &isHit)
                          : knFail(kn_errorArgument, "knWorld_Pick: null");
    if (result != kn_success)
    {
        return result;
    }
    (void)knWorld_Drop(w);
    *out = (knBodyId){0};
    if (!isHit || knId_IsNull(hit.body))
    {
        return kn_success;
    }
    knBody* body = knWorld_GetBody(w, hit.body);
    knBodyState state;
    knPortBody_State(body->port, &state);
    if (!(state.mass > 0.0f))
    {
        return kn_success;
    }
    knPortJointDef def = {.kind = kn_portDrag, .a = body->port, .pivot = hit.point};
    result = knPort_CreateJoint(w->port, &def, &w->drag);
    if (result == kn_success)
    {
        w->dragged = hit.body;
        *out = hit.body;
    }
    return result;
}

knResult knWorld_Drag(knWorld* w, knVec3 target)
{
    if (!w || !w->drag || !knIsFinite(target))
    {
        return knFail(kn_errorArgument, "knWorld_Drag: pick something first, and a finite target");
    }
    knPortJoint_SetTarget(w->drag, target);
    return kn_success;
}

knResult knWorld_Drop(knWorld* w)
{
    if (!w)
    {
        return knFail(kn_errorArgument, "knWorld_Drop: null");
    }
    knPort_DestroyJoint(w->port, w->drag);
    w->drag = NULL;
    w->dragged = (knBodyId){0};
    return kn_success;
}

typedef struct ContactList
{
    const knWorld* world;
    knWorldContact* contacts;
    uint32_t capacity;
    uint32_t count;
} ContactList;

static void ListContact(const knPortContact* c, void* user)
{
    ContactList* list = user;
    if (list->count < list->capacity)
    {
        knWorldContact* contact = &list->contacts[list->count];
        *contact = c->contact;
        contact->bodies[0] = knWorld_BodyOf(list->world, c->objects[0]);
        contact->bodies[1] = knWorld_BodyOf(list->world, c->objects[1]);
    }
    list->count += 1;
}

knResult knWorld_Contacts(const knWorld* w, knWorldContact* contacts, uint32_t capacity,
                          uint32_t* count)
{
    if (!w || !count || (!contacts && capacity > 0))
    {
        return knFail(kn_errorArgument, "knWorld_Contacts: null");
    }
    ContactList list = {.world = w, .contacts = contacts, .capacity = capacity};
    knPort_EachContact(w->port, ListContact, &list);
    *count = list.count;
    return kn_success;
}
