// SPDX-License-Identifier: Zlib
#pragma once

// Part of the one translation unit that knows Bullet: included by bullet_shim.cpp alone.
// How bodies moved before the engine's steps: afterwards Bullet knows only what the impulses made
// of it, and of the game's own bodies nobody else has kept it.

#include "bullet_shim_port.h"

namespace
{

MotionNote NoteOf(const btRigidBody* body)
{
    return {body, body->getLinearVelocity(), body->getAngularVelocity(),
            body->getCenterOfMassPosition()};
}

double KineticOf(const btRigidBody* body, const btVector3& velocity, const btVector3& spin)
{
    if (!(body->getInvMass() > 0.0f))
    {
        return 0.0;
    }
    btVector3 local = spin * body->getWorldTransform().getBasis();
    btScalar turning = (local * local).dot(body->getLocalInertia());
    return 0.5 * static_cast<double>(velocity.dot(velocity) / body->getInvMass() + turning);
}

// At the beginning of each step of the engine, before anything is solved.
void NoteMotions(knPort* port)
{
    const btCollisionObjectArray& objects = port->world->getCollisionObjectArray();
    int count = objects.size();
    port->notes.resize(count);
    port->starts.resize(count);
    for (int i = 0; i < count; ++i)
    {
        const btRigidBody* body = btRigidBody::upcast(objects[i]);
        port->notes[i] = body && !body->isStaticObject() ? NoteOf(body) : MotionNote();
        if (port->isFreshStart || port->starts[i].object != objects[i])
        {
            port->starts[i] = port->notes[i];
        }
    }
    port->isFreshStart = false;
}

// By its place in the world's array, which is another when others were removed since.
const MotionNote* FindNote(const btAlignedObjectArray<MotionNote>& notes,
                           const btCollisionObject* object)
{
    int i = object->getWorldArrayIndex();
    return i >= 0 && i < notes.size() && notes[i].object == object ? &notes[i] : nullptr;
}

} // namespace

void knPort_Before(const knPort* port, const void* object, knVec3* velocity, knVec3* spin)
{
    const btRigidBody* body = btRigidBody::upcast(static_cast<const btCollisionObject*>(object));
    const MotionNote* note = body ? FindNote(port->notes, body) : nullptr;
    *velocity = note ? FromBt(note->velocity) : knVec3{0.0f, 0.0f, 0.0f};
    *spin = note ? FromBt(note->spin) : knVec3{0.0f, 0.0f, 0.0f};
}

void knPort_After(const void* object, knVec3* velocity, knVec3* spin, knVec3* center)
{
    const btCollisionObject* o = static_cast<const btCollisionObject*>(object);
    const btRigidBody* body = btRigidBody::upcast(o);
    *velocity = body ? FromBt(body->getLinearVelocity()) : knVec3{0.0f, 0.0f, 0.0f};
    *spin = body ? FromBt(body->getAngularVelocity()) : knVec3{0.0f, 0.0f, 0.0f};
    *center = FromBt(o->getWorldTransform().getOrigin());
}

void knPort_EachMover(const knPort* port, knPortMoverFcn* callback, void* user)
{
    const btCollisionObjectArray& objects = port->world->getCollisionObjectArray();
    for (int i = 0; i < objects.size(); ++i)
    {
        const btRigidBody* body = btRigidBody::upcast(objects[i]);
        if (!body || !(body->getInvMass() > 0.0f))
        {
            continue;
        }
        knPortMover mover = {};
        mover.object = body;
        mover.index = static_cast<uint32_t>(i);
        mover.energy = KineticOf(body, body->getLinearVelocity(), body->getAngularVelocity());
        mover.available = mover.energy;
        const MotionNote* start = FindNote(port->starts, body);
        if (start)
        {
            btVector3 way = body->getCenterOfMassPosition() - start->center;
            mover.available = KineticOf(body, start->velocity, start->spin) +
                              static_cast<double>(body->getGravity().dot(way) / body->getInvMass());
        }
        callback(&mover, user);
    }
}

void knPort_ForgetStarts(knPort* port)
{
    port->isFreshStart = true;
}

bool knPort_FindIndex(const knPort* port, const void* object, uint32_t* index)
{
    // it may be gone, so it is not followed
    const btCollisionObjectArray& objects = port->world->getCollisionObjectArray();
    int count = objects.size();
    if (*index < static_cast<uint32_t>(count) && objects[static_cast<int>(*index)] == object)
    {
        return true;
    }
    for (int i = 0; i < count; ++i)
    {
        if (objects[i] == object)
        {
            *index = static_cast<uint32_t>(i);
            return true;
        }
    }
    return false;
}

uint32_t knPort_ObjectCount(const knPort* port)
{
    return static_cast<uint32_t>(port->world->getNumCollisionObjects());
}
