// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#define PIVOT_REACH 0.05f // of the object's radius: a pivot so near outside is still the piece's

static knTransform FrameOf(const knBody* body)
{
    knBodyState state;
    knPortBody_State(body->port, &state);
    return state.transform;
}

// Puts a joint whose bodies are both there into the engine.
knResult knWorld_Tie(knWorld* w, knJoint* joint)
{
    knPortJointDef def = {.kind = joint->kind};
    knPortBody* ports[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i)
    {
        def.pivots[i] = joint->pivots[i];
        def.axes[i] = joint->axes[i];
        if (knId_IsNull(joint->bodies[i]))
        {
            continue;
        }
        const knBody* body = knPool_Get(&w->bodies, knWorld_Untagged(w, joint->bodies[i]));
        if (!body || !knPortBody_IsIn(body->port))
        {
            return kn_errorHandle;
        }
        knTransform frame = FrameOf(body);
        def.pivots[i] = knTransformPoint(frame, joint->pivots[i]);
        def.axes[i] = knRotate(frame.rotation, joint->axes[i]);
        ports[i] = body->port;
    }
    def.a = ports[0];
    def.b = ports[1];
    return knPort_CreateJoint(w->port, &def, &joint->port);
}

static void SetFrames(knJoint* joint, int side, const knBody* body, knVec3 pivot, knVec3 axis)
{
    joint->pivots[side] = body ? knInvTransformPoint(FrameOf(body), pivot) : pivot;
    joint->axes[side] = body ? knInvRotate(FrameOf(body).rotation, axis) : axis;
}

static knResult CreateJoint(knWorld* w, const knJoint* def, knVec3 pivot, knVec3 axis,
                            knJointId* out)
{
    if (!w || !out || !knIsFinite(pivot) || !knIsFinite(axis))
    {
        return knFail(kn_errorArgument,
                      "a joint needs a world, finite numbers and room for its id");
    }
    bool isFree = knId_IsNull(def->bodies[1]);
    knBody* bodies[2] = {knWorld_GetBody(w, def->bodies[0]),
                         isFree ? NULL : knWorld_GetBody(w, def->bodies[1])};
    if (!bodies[0] || (!isFree && !bodies[1]))
    {
        return kn_errorHandle;
    }
    if (bodies[0] == bodies[1])
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
    *joint = *def;
    SetFrames(joint, 0, bodies[0], pivot, axis);
    SetFrames(joint, 1, bodies[1], pivot, axis);
    result = knWorld_Tie(w, joint);
    // a body that waits for memory is not in the engine: its joint waits with it
    if (result != kn_success && result != kn_errorHandle)
    {
        (void)knPool_Release(&w->joints, id);
        return result;
    }
    w->breaks.looseJoints += joint->port == NULL;
    bodies[0]->jointCount += 1;
    if (bodies[1])
    {
        bodies[1]->jointCount += 1;
    }
    *out = knWorld_Tagged(w, id);
    knWorld_RecordJoint(w, joint, pivot, axis);
    return kn_success;
}

knResult knWorld_CreatePointJoint(knWorld* w, knBodyId a, knBodyId b, knVec3 pivot, knJointId* id)
{
    knJoint def = {.kind = kn_portPoint, .bodies = {a, b}};
    return CreateJoint(w, &def, pivot, (knVec3){0.0f, 0.0f, 0.0f}, id);
}

knResult knWorld_CreateHinge(knWorld* w, knBodyId a, knBodyId b, knVec3 pivot, knVec3 axis,
                             knJointId* id)
{
    if (!(knLength(axis) > FLT_MIN))
    {
        return knFail(kn_errorArgument, "the axis of a hinge must not be 0");
    }
    knJoint def = {.kind = kn_portHinge, .bodies = {a, b}};
    return CreateJoint(w, &def, pivot, knNormalize(axis), id);
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
    w->breaks.looseJoints -= joint->port == NULL;
    knPort_DestroyJoint(w->port, joint->port);
    CountDown(w, joint->bodies[0]);
    CountDown(w, joint->bodies[1]);
    knWorld_RecordIds(w, kn_callDestroyJoint, &id, 1);
    return knPool_Release(&w->joints, knWorld_Untagged(w, id));
}

// ---- joints of bodies that break

void knWorld_LoosenJoints(knWorld* w, knBodyId body)
{
    for (knId id = knPool_Next(&w->joints, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->joints, id))
    {
        knJoint* joint = knPool_Get(&w->joints, id);
        bool isIts = knId_Equals(joint->bodies[0], body) || knId_Equals(joint->bodies[1], body);
        if (isIts && joint->port)
        {
            knPort_DestroyJoint(w->port, joint->port);
            joint->port = NULL;
            w->breaks.looseJoints += 1;
        }
    }
    if (w->drag && knId_Equals(w->dragged, body))
    {
        knPort_DestroyJoint(w->port, w->drag);
        w->drag = NULL;
    }
}

// The new piece that holds a point of the asset's frame, or is the nearest to it within reach.
static knBodyId FindHolder(const knWorld* w, const knBreakEvent* event, uint32_t parent, knVec3 p)
{
    const knFamily* family = knWorld_GetFamily(w, event->family)->family;
    float nearest = PIVOT_REACH * knModel_Radius(knFamily_Model(family));
    knBodyId holder = {0};
    for (uint32_t i = 0; i < event->pieceCount; ++i)
    {
        const knEventPiece* piece = &event->pieces[i];
        if (!piece->isNew || piece->isDebris || piece->parent != parent)
        {
            continue;
        }
        const knPieceMesh* mesh = &knWorld_GetBody(w, piece->body)->piece->mesh;
        knVec3 local = knSub(p, mesh->center);
        knClosest closest;
        if (knPieceMesh_Contains(mesh, local))
        {
            return piece->body;
        }
        if (knClosestToPoint(mesh, local, nearest, &closest))
        {
            nearest = closest.distance;
            holder = piece->body;
        }
    }
    return holder;
}

static void HandOn(knWorld* w, knJoint* joint, int side, knBodyId to)
{
    const knBody* old = knWorld_GetBody(w, joint->bodies[side]);
    knBody* body = knWorld_GetBody(w, to);
    knVec3 shift = knSub(old->piece->mesh.center, body->piece->mesh.center);
    // both frames have the axes of the asset
    joint->pivots[side] = knAdd(joint->pivots[side], shift);
    joint->bodies[side] = to;
    body->jointCount += 1;
}

static void HandDragOn(knWorld* w, const knBreakEvent* event, uint32_t parent)
{
    const knBody* old = knWorld_GetBody(w, event->parents[parent].body);
    knVec3 p = knAdd(w->dragPivot, old->piece->mesh.center);
    knBodyId to = FindHolder(w, event, parent, p);
    knBody* body = knId_IsNull(to) ? NULL : knWorld_GetBody(w, to);
    w->dragged = (knBodyId){0};
    if (!body)
    {
        return;
    }
    w->dragPivot = knSub(p, body->piece->mesh.center);
    knVec3 place = knTransformPoint(FrameOf(body), w->dragPivot);
    knPortJointDef def = {.kind = kn_portDrag, .a = body->port, .pivots = {place, place}};
    knBodyState state;
    knPortBody_State(body->port, &state);
    if (state.mass > 0.0f && knPort_CreateJoint(w->port, &def, &w->drag) == kn_success)
    {
        w->dragged = to;
        knPortJoint_SetTarget(w->drag, w->dragTarget);
    }
}

void knWorld_HandJointsOn(knWorld* w, const knBreakEvent* event, uint32_t parent,
                          knFractureEvent* fracture)
{
    knBodyId from = event->parents[parent].body;
    knBody* old = knWorld_GetBody(w, from);
    if (knId_Equals(w->dragged, from))
    {
        HandDragOn(w, event, parent);
    }
    for (knId id = knPool_Next(&w->joints, (knId){0}); old->jointCount > 0 && !knId_IsNull(id);
         id = knPool_Next(&w->joints, id))
    {
        knJoint* joint = knPool_Get(&w->joints, id);
        int side = knId_Equals(joint->bodies[0], from) ? 0 : 1;
        if (!knId_Equals(joint->bodies[side], from))
        {
            continue;
        }
        knVec3 p = knAdd(joint->pivots[side], old->piece->mesh.center);
        knJointEvent told = {.joint = knWorld_Tagged(w, id), .from = from};
        told.to = FindHolder(w, event, parent, p);
        told.isBroken = knId_IsNull(told.to);
        if (told.isBroken)
        {
            fracture->lostJoints += 1;
            (void)knWorld_DestroyJoint(w, told.joint);
        }
        else
        {
            HandOn(w, joint, side, told.to);
            old->jointCount -= 1;
            // at once where both bodies are there; else with the other one, or with memory
            w->breaks.looseJoints -= knWorld_Tie(w, joint) == kn_success;
        }
        knWorld_AddJointEvent(w, &told);
    }
}

void knWorld_TieJoints(knWorld* w)
{
    for (knId id = knPool_Next(&w->joints, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->joints, id))
    {
        knJoint* joint = knPool_Get(&w->joints, id);
        if (joint->port)
        {
            continue;
        }
        knResult result = knWorld_Tie(w, joint);
        w->breaks.looseJoints -= result == kn_success;
        if (result != kn_success)
        {
            knWorld_Notice(w, kn_noticeDeferred, result, joint->bodies[0]);
        }
    }
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
    knWorld_RecordVectors(w, kn_callPick, (knBodyId){0}, from, to);
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
    knPortJointDef def = {.kind = kn_portDrag, .a = body->port, .pivots = {hit.point, hit.point}};
    result = knPort_CreateJoint(w->port, &def, &w->drag);
    if (result == kn_success)
    {
        w->dragged = hit.body;
        w->dragPivot = knInvTransformPoint(state.transform, hit.point);
        w->dragTarget = hit.point;
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
    w->dragTarget = target;
    knPortJoint_SetTarget(w->drag, target);
    knWorld_RecordVectors(w, kn_callDrag, (knBodyId){0}, target, target);
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
    knWorld_RecordIds(w, kn_callDrop, NULL, 0);
    return kn_success;
}

bool knWorld_Held(const knWorld* w, knVec3* point, knVec3* target)
{
    const knBody* body = w && w->drag ? knWorld_GetBody(w, w->dragged) : NULL;
    if (!body || !point || !target)
    {
        return false;
    }
    knBodyState state;
    knPortBody_State(body->port, &state);
    *point = knTransformPoint(state.transform, w->dragPivot);
    *target = w->dragTarget;
    return true;
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
