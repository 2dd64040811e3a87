// SPDX-License-Identifier: Zlib
#pragma once

// Part of the one translation unit that knows Bullet: included by bullet_shim.cpp alone.
// Joints.

#include "bullet_shim_port.h"

struct knPortJoint
{
    btTypedConstraint* constraint;
    knPortJointKind kind;
    size_t size;
    btRigidBody* bodies[2];
};

namespace
{

btVector3 LocalAxis(const btRigidBody* body, knVec3 axis)
{
    return body->getWorldTransform().getBasis().transpose() * ToBt(axis);
}

btVector3 LocalPoint(const btRigidBody* body, knVec3 p)
{
    return body->getWorldTransform().invXform(ToBt(p));
}

// The hand of knWorld_Pick.
btTypedConstraint* MakeDrag(knPort* port, const knPortJointDef* def)
{
    btRigidBody* a = def->a->body;
    btVector3 pivot = LocalPoint(a, def->pivots[0]);
    btPoint2PointConstraint* joint = Make<btPoint2PointConstraint>(port->allocator, *a, pivot);
    if (joint)
    {
        // Bullet takes the place of the body's own point; the world's may be a little off
        joint->setPivotB(ToBt(def->pivots[1]));
        // strong enough to lift it ten times over, too soft to throw it out of the world
        joint->m_setting.m_impulseClamp = 1.0f / a->getInvMass();
        joint->m_setting.m_tau = 0.02f;
    }
    return joint;
}

// x goes from the centre of mass to the pivot.
btTransform ArmFrame(const btRigidBody* body, knVec3 pivot)
{
    btVector3 arm = LocalPoint(body, pivot);
    btVector3 x = arm.fuzzyZero() ? btVector3(1.0f, 0.0f, 0.0f) : arm.normalized();
    btVector3 y, z;
    btPlaneSpace1(x, y, z);
    return btTransform(btMatrix3x3(x.x(), y.x(), z.x(), x.y(), y.y(), z.y(), x.z(), y.z(), z.z()),
                       arm);
}

// Rows along the arm and across it: they do not disturb one another. Bullet's own point joint has
// its rows along the axes of the world, so that a ball on a long cable, heavy along the arm and
// light across it, stretches the cable and swings higher than it began.
btTypedConstraint* MakePoint(knPort* port, const knPortJointDef* def)
{
    btRigidBody* a = def->a->body;
    btRigidBody* b = def->b ? def->b->body : &btTypedConstraint::getFixedBody();
    btTransform own = ArmFrame(a, def->pivots[0]);
    btTransform other = a->getWorldTransform() * own;
    other.setOrigin(ToBt(def->pivots[1]));
    other = b->getWorldTransform().inverse() * other;
    // Bullet takes the rows from the first body
    btGeneric6DofConstraint* joint =
        Make<btGeneric6DofConstraint>(port->allocator, *a, *b, own, other, true);
    if (!joint)
    {
        return nullptr;
    }
    joint->setLinearLowerLimit(btVector3(0.0f, 0.0f, 0.0f));
    joint->setLinearUpperLimit(btVector3(0.0f, 0.0f, 0.0f));
    // an upper limit below the lower one: free
    joint->setAngularLowerLimit(btVector3(1.0f, 1.0f, 1.0f));
    joint->setAngularUpperLimit(btVector3(-1.0f, -1.0f, -1.0f));
    return joint;
}

btTypedConstraint* MakeHinge(knPort* port, const knPortJointDef* def)
{
    btRigidBody* a = def->a->body;
    if (!def->b)
    {
        btHingeConstraint* hinge = Make<btHingeConstraint>(
            port->allocator, *a, LocalPoint(a, def->pivots[0]), LocalAxis(a, def->axes[0]));
        if (hinge)
        {
            hinge->getBFrame().setOrigin(ToBt(def->pivots[1]));
        }
        return hinge;
    }
    btRigidBody* b = def->b->body;
    return Make<btHingeConstraint>(port->allocator, *a, *b, LocalPoint(a, def->pivots[0]),
                                   LocalPoint(b, def->pivots[1]), LocalAxis(a, def->axes[0]),
                                   LocalAxis(b, def->axes[1]));
}

} // namespace

knResult knPort_CreateJoint(knPort* port, const knPortJointDef* def, knPortJoint** out)
{
    knPortJoint* joint = Make<knPortJoint>(port->allocator);
    if (!joint)
    {
        return kn_errorMemory;
    }
    joint->kind = def->kind;
    joint->bodies[0] = def->a->body;
    joint->bodies[1] = def->b ? def->b->body : nullptr;
    switch (def->kind)
    {
    case kn_portHinge:
        joint->size = sizeof(btHingeConstraint);
        joint->constraint = MakeHinge(port, def);
        break;
    case kn_portPoint:
        joint->size = sizeof(btGeneric6DofConstraint);
        joint->constraint = MakePoint(port, def);
        break;
    default:
        joint->size = sizeof(btPoint2PointConstraint);
        joint->constraint = MakeDrag(port, def);
    }
    if (!joint->constraint)
    {
        Unmake(port->allocator, joint);
        return kn_errorMemory;
    }
    port->world->addConstraint(joint->constraint, def->kind != kn_portDrag);
    joint->bodies[0]->activate(true);
    *out = joint;
    return kn_success;
}

void knPort_DestroyJoint(knPort* port, knPortJoint* joint)
{
    if (!joint)
    {
        return;
    }
    port->world->removeConstraint(joint->constraint);
    for (int i = 0; i < 2; ++i)
    {
        if (joint->bodies[i])
        {
            joint->bodies[i]->activate(true);
        }
    }
    joint->constraint->~btTypedConstraint();
    knRelease(&port->allocator, joint->constraint, 1, joint->size);
    Unmake(port->allocator, joint);
}

void knPortJoint_SetTarget(knPortJoint* joint, knVec3 target)
{
    static_cast<btPoint2PointConstraint*>(joint->constraint)->setPivotB(ToBt(target));
    joint->bodies[0]->activate(true);
}
