// SPDX-License-Identifier: Zlib
#pragma once

// What the C side of the plugin asks of Bullet. bullet_shim.cpp answers; no C++ type and no
// exception crosses.

#include "knap/world.h"

#if defined(__cplusplus)
extern "C"
{
#endif

    typedef struct knPort knPort;           // one Bullet world
    typedef struct knPortBody knPortBody;   // a rigid body and its shape
    typedef struct knPortJoint knPortJoint; // a constraint

    typedef struct knPortDef
    {
        const knWorldDef* world;
        void* bullet; // btDiscreteDynamicsWorld* of the game; null to make one
        knPairs* pairs;
        const knAllocator* allocator;
        void (*onStep)(void* user); // at the end of each of the engine's steps
        void* user;
    } knPortDef;

    knResult knCreatePort(knPort** port, const knPortDef* def);

    // After all its bodies and joints.
    void knDestroyPort(knPort* port);
    bool knPort_IsOwner(const knPort* port);
    void knPort_SetGravity(knPort* port, knVec3 gravity);
    knVec3 knPort_Gravity(const knPort* port);
    void knPort_Step(knPort* port, float dt);

    typedef enum knPortShapeKind
    {
        kn_portPlane,
        kn_portBox,
        kn_portSphere,
        kn_portCapsule,
        kn_portHull,
        kn_portMesh,
        kn_portPiece
    } knPortShapeKind;

    typedef struct knPortShape
    {
        knPortShapeKind kind;
        knVec3 size; // half extents of a box; normal of a plane
        float radius;
        float length; // half height of a capsule; offset of a plane
        const knVec3* points;
        uint32_t pointCount;
        const knTriangleMesh* mesh;
        const knFamily* family; // piece
        uint32_t fragment;
        const knPieceMesh* surface;
        knBox box; // of the piece, in the frame of its surface
    } knPortShape;

    typedef struct knPortBodyDef
    {
        const knBodyDef* def;
        const knPortShape* shape;
        uint32_t slot;     // of the body in its pool, to find it again
        knTransform frame; // of the body in the world
        double mass;       // of a piece; shapes have the density of def
        knQuat axes;       // of inertia, in the body's frame
        knVec3 inertia;    // about them
        bool startsAsleep;
    } knPortBodyDef;

    knResult knPort_CreateBody(knPort* port, const knPortBodyDef* def, knPortBody** body);
    void knPort_DestroyBody(knPort* port, knPortBody* body);
    void* knPortBody_Object(const knPortBody* body); // btRigidBody*
    void knPortBody_State(const knPortBody* body, knBodyState* state);

    // What the children of a split piece take over.
    void knPortBody_Def(const knPortBody* body, knBodyDef* def);
    void knPortBody_SetTransform(knPort* port, knPortBody* body, knTransform transform);
    void knPortBody_SetVelocity(knPortBody* body, knVec3 velocity, knVec3 spin);
    void knPortBody_ApplyImpulse(knPortBody* body, knVec3 impulse, knVec3 point);
    void knPortBody_SetFilter(knPort* port, knPortBody* body, int group, int mask);
    void knPortBody_Wake(knPortBody* body);

    // The shape that it was made with, in arrays of its own; a piece has only its kind.
    const knPortShape* knPortBody_Shape(const knPortBody* body);

    // How near it is to sleep, and whether it sleeps.
    typedef struct knPortSleep
    {
        float seconds;
        bool isAsleep;
    } knPortSleep;

    knPortSleep knPortBody_Sleep(const knPortBody* body);
    void knPortBody_SetSleep(knPortBody* body, knPortSleep sleep);

    // Out of the engine, with all that it knows of contacts; its state stays.
    void knPort_TakeOut(knPort* port, knPortBody* body);
    bool knPortBody_IsIn(const knPortBody* body);

    // A piece becomes static where it is, or moves again.
    void knPort_Freeze(knPort* port, knPortBody* body, bool isFrozen);

    // No contacts between a body that has none yet and an object, which is never followed.
    void knPortBody_Ignore(knPortBody* body, const void* object, bool isIgnored);

    // The same where there are contacts: they go.
    void knPort_Separate(knPort* port, knPortBody* body, const void* object);

    // Whether an object is in the engine; it is not followed.
    bool knPort_Holds(const knPort* port, const void* object);

    // The same, and its place among the engine's objects; `index` is where it was.
    bool knPort_FindIndex(const knPort* port, const void* object, uint32_t* index);
    uint32_t knPort_ObjectCount(const knPort* port);
    bool knPort_CanMove(const void* object);

    typedef void knPortObjectFcn(const void* object, void* user);

    // Everything that is near a piece as the engine knows it.
    void knPort_EachNeighbour(knPort* port, const knPortBody* body, knPortObjectFcn* callback,
                              void* user);
    void knPort_WakeObject(const void* object);

    // Takes constraints that are not Knap's off a body and tells them.
    void knPort_ReleaseConstraints(knPort* port, knPortBody* body,
                                   void (*callback)(void* constraint, void* user), void* user);

    // The slot that an object of Bullet's claims to have; the caller checks that it is true.
    uint32_t knPort_SlotOf(const void* object);

    typedef enum knPortJointKind
    {
        kn_portPoint,
        kn_portHinge,
        kn_portDrag // a soft point joint
    } knPortJointKind;

    typedef struct knPortJointDef
    {
        knPortJointKind kind;
        knPortBody* a;
        knPortBody* b;    // null for the world
        knVec3 pivots[2]; // in the world, of either side
        knVec3 axes[2];
    } knPortJointDef;

    knResult knPort_CreateJoint(knPort* port, const knPortJointDef* def, knPortJoint** joint);
    void knPort_DestroyJoint(knPort* port, knPortJoint* joint);
    void knPortJoint_SetTarget(knPortJoint* joint, knVec3 target);

    typedef struct knPortHit
    {
        const void* object; // null when nothing was hit
        knVec3 point, normal;
        float fraction;
    } knPortHit;

    // A radius above 0 makes it a sweep.
    void knPort_Cast(const knPort* port, knVec3 from, knVec3 to, float radius, int mask,
                     knPortHit* hit);

    typedef struct knPortContact
    {
        const void* objects[2];
        uint64_t key;           // of the pair, the same as long as the bodies last
        knWorldContact contact; // without bodies
        knVec3 points[2];       // where the engine applied the impulse to either
        knVec3 impulse;         // on object 0, friction included, N s
    } knPortContact;

    typedef void knPortContactFcn(const knPortContact* contact, void* user);
    // Does nothing to what cannot move.
    void knPort_Push(const void* object, knVec3 impulse, knVec3 point);
    // Of two objects along a direction, at a point of each: the impulse that changes their speed
    // against each other by 1 m/s, kg. Infinite when neither can move.
    float knPort_EffectiveMass(const void* const objects[2], const knVec3 points[2], knVec3 way);
    void knPort_EachContact(const knPort* port, knPortContactFcn* callback, void* user);

    // How an object moved before the engine's last step; not at all where that is not known.
    void knPort_Before(const knPort* port, const void* object, knVec3* velocity, knVec3* spin);
    void knPort_After(const void* object, knVec3* velocity, knVec3* spin, knVec3* center);

    // A body that can move.
    typedef struct knPortMover
    {
        const void* object;
        uint32_t index;   // among the engine's objects
        double energy;    // J, of its motion
        double available; // J, the same before the steps since the last knPort_ForgetStarts, and
                          // what weight has done since
    } knPortMover;

    typedef void knPortMoverFcn(const knPortMover* mover, void* user);
    void knPort_EachMover(const knPort* port, knPortMoverFcn* callback, void* user);
    void knPort_ForgetStarts(knPort* port);

    // Of the last step.
    void knPort_Times(const knPort* port, double* query, double* contacts);
    double knPort_Now(void); // s

#if defined(__cplusplus)
}
#endif
