// SPDX-License-Identifier: Zlib
#pragma once

// What happened in the last step, as arrays that are the world's until the next step begins.

#include "knap/world.h"

// One body that broke. A break that goes on over several steps gives one event for each body that
// falls apart on the way; `breakId` is the same in all of them.
typedef struct knFractureEvent
{
    knFamilyId family;
    knBodyId parent;     // no longer there
    uint32_t firstChild; // into knWorld_Children
    uint32_t childCount; // the heaviest first
    knVec3 place;        // of the strongest contact, in the world
    float impulse;       // N s, of all contacts
    float share;         // of it that breaking took
    double energy;       // J spent on cracks
    double crackArea;    // m^2, one side
    double debrisMass;   // kg, of pieces too small for a body
    uint32_t debrisCount;
    uint32_t lostJoints; // that held the parent and hold none of the children
    uint32_t breakId;    // from 1
    bool mayGoOn;        // further cracks may come from this break, in the next steps
} knFractureEvent;

KN_API const knFractureEvent* knWorld_Fractures(const knWorld* world, uint32_t* count);
KN_API const knBodyId* knWorld_Children(const knWorld* world, uint32_t* count);

typedef enum knDebrisReason
{
    kn_debrisSmall, // never had a body
    kn_debrisOld,   // its lifetime ended
    kn_debrisReasonCount
} knDebrisReason;

// A piece that is not, or no longer, a body: what particles need.
typedef struct knDebrisEvent
{
    knFamilyId family;
    knBodyId body; // it came from, or was
    uint32_t fragment;
    knDebrisReason reason;
    knVec3 place, velocity, spin; // of its centre of mass, in the world
    double mass;                  // kg
    double volume;                // m^3
} knDebrisEvent;

KN_API const knDebrisEvent* knWorld_Debris(const knWorld* world, uint32_t* count);

// Two bodies, one of them a piece, began to touch or no longer do. Pieces of a break begin to touch
// each other with hardly any impulse.
typedef struct knContactEvent
{
    bool isEnd;
    knBodyId bodies[2];     // null for a body of the game's own; stale when it broke or is gone
    const void* objects[2]; // btCollisionObject; not to be followed when the body is gone
    knVec3 point, normal;   // of the strongest contact, from body 1 to body 0; zero at the end
    float impulse;          // N s, of all contacts between them
    float approach;         // m/s; how fast they met
    uint32_t contactCount;
} knContactEvent;

// In order of the bodies' creation in the engine.
KN_API const knContactEvent* knWorld_ContactEvents(const knWorld* world, uint32_t* count);

// A joint of a body that broke: it holds the piece with its pivot now, or nothing holds it.
typedef struct knJointEvent
{
    knJointId joint; // null for a constraint of the game's own; stays valid unless it is broken
    knBodyId from, to;
    bool isBroken;
    void* constraint; // btTypedConstraint of the game's own, out of the world now; else null
} knJointEvent;

KN_API const knJointEvent* knWorld_JointEvents(const knWorld* world, uint32_t* count);

typedef enum knNoticeKind
{
    kn_noticeBudget,   // a break goes on in the next step, or hits wait
    kn_noticeDeferred, // no memory; tried again in the next step
    kn_noticeLimit,    // as many pieces as allowed: a hit broke nothing
    kn_noticeDropped,  // a hit, or an event, was lost: too many wait, or no memory to keep it
    kn_noticeError,    // anything else
    kn_noticeKindCount
} knNoticeKind;

typedef struct knNotice
{
    knNoticeKind kind;
    knResult result;
    knBodyId body; // null when it is about none
    uint32_t count;
} knNotice;

// At most one of each kind and result in a step.
KN_API const knNotice* knWorld_Notices(const knWorld* world, uint32_t* count);

// The heaviest piece that is left of a body: itself while it is there, null when nothing is, or
// when it broke so long ago (thousands of breaks) that nobody knows.
KN_API knBodyId knWorld_Heir(const knWorld* world, knBodyId body);
