// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"
#include "knap/bullet.h"

knBodyDef knDefaultBodyDef(void)
{
    return (knBodyDef){.size = sizeof(knBodyDef),
                       .transform = knIdentityTransform(),
                       .density = 1000.0f,
                       .friction = 0.5f,
                       .group = 1,
                       .mask = -1};
}

knResult knWorld_CheckBodyDef(const knBodyDef* def)
{
    if (!def || def->size != sizeof(knBodyDef))
    {
        return knFail(kn_errorArgument, "body: begin with knDefaultBodyDef");
    }
    knQuat q = def->transform.rotation;
    float length = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    if (!knIsFinite(def->transform.position) || !(length > 0.9f && length < 1.1f))
    {
        return knFail(kn_errorArgument, "transform: a finite place and a unit quaternion");
    }
    if (!knIsFinite(def->velocity) || !knIsFinite(def->spin))
    {
        return knFail(kn_errorArgument, "velocity or spin is not finite");
    }
    if ((unsigned)def->kind >= kn_bodyKindCount || !(def->density > 0.0f && def->density < 1e9f))
    {
        return knFail(kn_errorArgument, "kind is %d, density %g: above 0 to 1e9 makes sense",
                      (int)def->kind, (double)def->density);
    }
    if (!(def->friction >= 0.0f && def->friction < 1e6f) ||
        !(def->restitution >= 0.0f && def->restitution <= 1.0f) ||
        !(def->rollingFriction >= 0.0f && def->rollingFriction < 1e6f))
    {
        return knFail(kn_errorArgument,
                      "friction %g and rollingFriction %g must not be negative, restitution %g "
                      "from 0 to 1",
                      (double)def->friction, (double)def->rollingFriction,
                      (double)def->restitution);
    }
    if (!(def->linearDamping >= 0.0f && def->linearDamping <= 1.0f) ||
        !(def->angularDamping >= 0.0f && def->angularDamping <= 1.0f))
    {
        return knFail(kn_errorArgument, "damping %g, %g: shares from 0 to 1",
                      (double)def->linearDamping, (double)def->angularDamping);
    }
    return kn_success;
}

knBody* knWorld_GetBody(const knWorld* w, knBodyId id)
{
    knBody* body = w ? knPool_Get(&w->bodies, knWorld_Untagged(w, id)) : NULL;
    if (!body)
    {
        (void)knFail(kn_errorHandle, "no body of this world has the id %u, %u", id.index,
                     id.generation);
    }
    return body;
}

static knResult Acquire(knWorld* w, knPortBodyDef* def, knId* id, knBody** body)
{
    knResult result = knWorld_ReserveSlot(&w->bodies);
    void* item = NULL;
    result = result == kn_success ? knPool_Acquire(&w->bodies, id, &item) : result;
    if (result != kn_success)
    {
        return result;
    }
    *body = item;
    (*body)->user = def->def->user;
    def->slot = id->index;
    result = knPort_CreateBody(w->port, def, &(*body)->port);
    if (result != kn_success)
    {
        (void)knPool_Release(&w->bodies, *id);
    }
    return result;
}

knResult knWorld_AddBody(knWorld* w, const knBodyDef* def, const knPortShape* shape, knBodyId* out)
{
    knPortBodyDef port = {.def = def, .shape = shape, .frame = def->transform};
    knBody* body = NULL;
    knId id;
    knResult result = Acquire(w, &port, &id, &body);
    if (result == kn_success)
    {
        *out = knWorld_Tagged(w, id);
    }
    return result;
}

// The surface says piece by piece how much scratch it wants.
knResult knWorld_MakeMesh(knWorld* w, const knFamily* family, knPiece* piece)
{
    for (;;)
    {
        knArena_Reset(&w->scratch);
        knResult result = knCreatePieceMesh(&piece->mesh, family, piece->fragment, NULL,
                                            &w->scratch, &w->allocator);
        size_t wanted = w->scratch.wantedBytes;
        if (result != kn_errorMemory || wanted == 0)
        {
            return result;
        }
        wanted = 2 * (w->scratch.capacity + wanted);
        knArena_Reset(&w->scratch);
        if (knArena_Reserve(&w->scratch, wanted) != kn_success)
        {
            return kn_errorMemory;
        }
    }
}

knPortBodyDef knPiece_PortDef(const knFamily* family, const knPiece* piece, const knBodyDef* def,
                              knPortShape* shape)
{
    const knMassProperties* mass = &knFamily_Fragments(family)->fragments[piece->fragment].mass;
    knBox box = knFragmentField_Box(knFamily_Field(family), piece->fragment);
    knVec3 center = piece->mesh.center;
    *shape = (knPortShape){.kind = kn_portPiece,
                           .family = family,
                           .fragment = piece->fragment,
                           .surface = &piece->mesh,
                           .box = {knSub(box.lower, center), knSub(box.upper, center)}};
    knPortBodyDef port = {.def = def, .shape = shape, .frame = def->transform, .mass = mass->mass};
    knPrincipalAxes(&mass->inertia, &port.axes, &port.inertia);
    return port;
}

knResult knWorld_AddPiece(knWorld* w, const knBodyDef* def, knFamilyId familyId, uint32_t fragment,
                          knPieceMesh* ready, knBodyId* out)
{
    const knFamily* family = knWorld_GetFamily(w, familyId)->family;
    knPiece* piece = knAllocate(&w->allocator, 1, sizeof *piece);
    if (!piece)
    {
        return kn_errorMemory;
    }
    *piece = (knPiece){.family = familyId, .fragment = fragment, .serial = w->serial + 1};
    knResult result = kn_success;
    if (ready)
    {
        piece->mesh = *ready;
    }
    else
    {
        result = knWorld_MakeMesh(w, family, piece);
    }
    if (result != kn_success)
    {
        knRelease(&w->allocator, piece, 1, sizeof *piece);
        return result;
    }
    knPortShape shape;
    knPortBodyDef port = knPiece_PortDef(family, piece, def, &shape);
    knBody* body = NULL;
    knId id;
    result = Acquire(w, &port, &id, &body);
    if (result != kn_success)
    {
        if (!ready)
        {
            knDestroyPieceMesh(&piece->mesh);
        }
        knRelease(&w->allocator, piece, 1, sizeof *piece);
        return result;
    }
    if (ready)
    {
        *ready = (knPieceMesh){0};
    }
    body->piece = piece;
    w->serial += 1;
    w->pieceCount += 1;
    knWorld_GetFamily(w, familyId)->pieceCount += 1;
    *out = knWorld_Tagged(w, id);
    return kn_success;
}

static void RemoveJoints(knWorld* w, knBodyId id)
{
    for (knId j = knPool_Next(&w->joints, (knId){0}); !knId_IsNull(j);
         j = knPool_Next(&w->joints, j))
    {
        const knJoint* joint = knPool_Get(&w->joints, j);
        if (knId_Equals(joint->bodies[0], id) || knId_Equals(joint->bodies[1], id))
        {
            (void)knWorld_DestroyJoint(w, knWorld_Tagged(w, j));
        }
    }
}

void knWorld_RemoveBody(knWorld* w, knBodyId id)
{
    knBody* body = knWorld_GetBody(w, id);
    if (w->drag && knId_Equals(w->dragged, id))
    {
        (void)knWorld_Drop(w);
    }
    if (body->jointCount > 0)
    {
        RemoveJoints(w, id);
    }
    knWorld_ForgetStriker(w, id);
    knWorld_WakeNeighbours(w, body);
    knPort_DestroyBody(w->port, body->port);
    if (body->piece)
    {
        knWorldFamily* family = knWorld_GetFamily(w, body->piece->family);
        knDestroyPieceMesh(&body->piece->mesh);
        knRelease(&w->allocator, body->piece, 1, sizeof *body->piece);
        w->pieceCount -= 1;
        family->pieceCount -= 1;
    }
    (void)knPool_Release(&w->bodies, knWorld_Untagged(w, id));
}

knResult knWorld_DestroyBody(knWorld* w, knBodyId id)
{
    knBody* body = knWorld_GetBody(w, id);
    if (!body)
    {
        return kn_errorHandle;
    }
    if (body->piece)
    {
        knWorldFamily* family = knWorld_GetFamily(w, body->piece->family);
        knFamily_Remove(family->family, body->piece->fragment);
        knWorldFamily_TellRemoval(family, body->piece->fragment);
    }
    knWorld_RemoveBody(w, id);
    knWorld_RecordIds(w, kn_callDestroyBody, &id, 1);
    return kn_success;
}

knResult knWorld_BodyState(const knWorld* w, knBodyId id, knBodyState* state)
{
    const knBody* body = knWorld_GetBody(w, id);
    if (!body || !state)
    {
        return body ? knFail(kn_errorArgument, "knWorld_BodyState: null") : kn_errorHandle;
    }
    knPortBody_State(body->port, state);
    return kn_success;
}

knResult knWorld_SetTransform(knWorld* w, knBodyId id, knTransform transform)
{
    knBody* body = knWorld_GetBody(w, id);
    if (!body)
    {
        return kn_errorHandle;
    }
    knBodyDef check = knDefaultBodyDef();
    check.transform = transform;
    knResult result = knWorld_CheckBodyDef(&check);
    if (result == kn_success)
    {
        knPortBody_SetTransform(w->port, body->port, transform);
        knWorld_RecordTransform(w, id, transform);
    }
    return result;
}

knResult knWorld_SetVelocity(knWorld* w, knBodyId id, knVec3 velocity, knVec3 spin)
{
    knBody* body = knWorld_GetBody(w, id);
    if (!body || !knIsFinite(velocity) || !knIsFinite(spin))
    {
        return body ? knFail(kn_errorArgument, "velocity or spin is not finite") : kn_errorHandle;
    }
    knPortBody_SetVelocity(body->port, velocity, spin);
    knWorld_RecordVectors(w, kn_callSetVelocity, id, velocity, spin);
    return kn_success;
}

knResult knWorld_ApplyImpulse(knWorld* w, knBodyId id, knVec3 impulse, knVec3 point)
{
    knBody* body = knWorld_GetBody(w, id);
    if (!body || !knIsFinite(impulse) || !knIsFinite(point))
    {
        return body ? knFail(kn_errorArgument, "impulse or point is not finite") : kn_errorHandle;
    }
    knPortBody_ApplyImpulse(body->port, impulse, point);
    knWorld_RecordVectors(w, kn_callApplyImpulse, id, impulse, point);
    return kn_success;
}

knResult knWorld_SetFilter(knWorld* w, knBodyId id, int group, int mask)
{
    knBody* body = knWorld_GetBody(w, id);
    if (!body)
    {
        return kn_errorHandle;
    }
    knPortBody_SetFilter(w->port, body->port, group, mask);
    knWorld_RecordWords(w, kn_callSetFilter, id, (uint32_t)group, (uint32_t)mask);
    return kn_success;
}

void* knWorld_User(const knWorld* w, knBodyId id)
{
    const knBody* body = knWorld_GetBody(w, id);
    return body ? body->user : NULL;
}

knResult knWorld_BodyPiece(const knWorld* w, knBodyId id, knBodyPiece* out)
{
    const knBody* body = knWorld_GetBody(w, id);
    if (!body || !body->piece)
    {
        return body ? knFail(kn_errorHandle, "the body is a shape, not a piece") : kn_errorHandle;
    }
    if (!out)
    {
        return knFail(kn_errorArgument, "knWorld_BodyPiece: null");
    }
    *out = (knBodyPiece){.family = body->piece->family,
                         .fragment = body->piece->fragment,
                         .object = knWorld_GetFamily(w, body->piece->family)->family,
                         .mesh = &body->piece->mesh,
                         .serial = body->piece->serial};
    return kn_success;
}

knBodyId knWorld_NextBody(const knWorld* w, knBodyId id)
{
    knId next = {0};
    if (w)
    {
        next = knPool_Next(&w->bodies, knId_IsNull(id) ? id : knWorld_Untagged(w, id));
    }
    return w ? knWorld_Tagged(w, next) : next;
}

uint32_t knWorld_BodyCount(const knWorld* w)
{
    return w ? w->bodies.count : 0;
}

btRigidBody* knWorld_BulletBody(const knWorld* w, knBodyId id)
{
    const knBody* body = knWorld_GetBody(w, id);
    return body ? knPortBody_Object(body->port) : NULL;
}

// What an object says about its slot may be the game's own number, so it is checked.
knBodyId knWorld_BodyOf(const knWorld* w, const void* object)
{
    knId none = {0};
    uint32_t slot = object ? knPort_SlotOf(object) : 0;
    if (slot == 0 || slot > w->bodies.usedSlots)
    {
        return none;
    }
    knId id = {slot, w->bodies.generations[slot - 1]};
    const knBody* body = knPool_Get(&w->bodies, id);
    return body && knPortBody_Object(body->port) == object ? knWorld_Tagged(w, id) : none;
}

knBodyId knWorld_FindBody(const knWorld* w, const btCollisionObject* object)
{
    return w ? knWorld_BodyOf(w, object) : (knBodyId){0};
}
