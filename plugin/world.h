// SPDX-License-Identifier: Zlib
#pragma once

// A world of bodies: pieces that break, and plain shapes around them. For games and prototypes in
// C; knap/bullet.h attaches the same to a Bullet world that a C++ game owns.
//
// Ids are values with a generation; zero is null. An id that is null, stale or of a world with
// another tag gives kn_errorHandle and changes nothing. One thread at a time may call into a world.
//
// The frame of a body is that of its shape. The frame of a piece has the axes of the asset and its
// origin in the piece's centre of mass; its render data is in that frame.

#include "knap/pairs.h"

typedef struct knWorld knWorld;
typedef knId knBodyId;
typedef knId knFamilyId;
typedef knId knJointId;

typedef struct knWorldDef
{
    size_t size;    // of this struct
    knVec3 gravity; // m/s^2; an attached world keeps its own
    knContactLimits limits;
    const knTaskHooks* tasks; // copied; null for one thread
    float separationSpeed;    // m/s; bodies that overlap are pushed apart no faster
    float slop;               // m; resting contacts may stay this deep
    int solverIterations;     // of a world of its own
    uint32_t bodyCapacity;    // room at first
    uint32_t pairCapacity;
    uint32_t tag; // below 4096, part of every id: worlds with different tags refuse each other's
} knWorldDef;

// The fields that a game tunes.
KN_API const knSettingTable* knWorldSettings(void);
KN_API knWorldDef knDefaultWorldDef(void);

// Names the field, the value and the range.
KN_API knResult knValidateWorldDef(const knWorldDef* def);

KN_API knResult knCreateWorld(knWorld** world, const knWorldDef* def, const knAllocator* allocator);

// Removes every body, joint and family of Knap's. An attached world of Bullet's is left as it was
// before.
KN_API void knDestroyWorld(knWorld* world);

// One step of `dt` seconds, from just above 0 to 1. kn_errorArgument in an attached world: the game
// steps that.
KN_API knResult knWorld_Step(knWorld* world, float dt);

KN_API knResult knWorld_SetGravity(knWorld* world, knVec3 gravity);
KN_API knResult knWorld_SetLimits(knWorld* world, const knContactLimits* limits);

typedef enum knBodyKind
{
    kn_bodyDynamic,
    kn_bodyStatic,
    kn_bodyKinematic, // moved by the game, pushes others
    kn_bodyKindCount
} knBodyKind;

typedef struct knBodyDef
{
    size_t size; // of this struct
    knBodyKind kind;
    knTransform transform; // of the body; for a family, of its asset's frame
    knVec3 velocity;       // m/s, of the centre of mass
    knVec3 spin;           // rad/s
    float density;         // kg/m^3 of a shape; a family has its asset's
    float friction;
    float restitution;
    float rollingFriction;
    float linearDamping; // share of the velocity lost in a second
    float angularDamping;
    int group; // filter: bodies meet when each one's group is in the other's mask
    int mask;
    bool noSleep;
    void* user;
} knBodyDef;

KN_API knBodyDef knDefaultBodyDef(void);

// An endless floor: everything below normal . p = offset is solid.
KN_API knResult knWorld_CreatePlane(knWorld* world, const knBodyDef* def, knVec3 normal,
                                    float offset, knBodyId* id);
KN_API knResult knWorld_CreateBox(knWorld* world, const knBodyDef* def, knVec3 halfExtents,
                                  knBodyId* id);
KN_API knResult knWorld_CreateSphere(knWorld* world, const knBodyDef* def, float radius,
                                     knBodyId* id);

// Along y; `halfHeight` is that of the segment between the ends' centres.
KN_API knResult knWorld_CreateCapsule(knWorld* world, const knBodyDef* def, float radius,
                                      float halfHeight, knBodyId* id);

// The convex hull of the points.
KN_API knResult knWorld_CreateHull(knWorld* world, const knBodyDef* def, const knVec3* points,
                                   uint32_t pointCount, knBodyId* id);

typedef struct knTriangleMesh
{
    const knVec3* positions;
    const knTriangle* triangles; // counter-clockwise from outside
    uint32_t positionCount;
    uint32_t triangleCount;
} knTriangleMesh;

// Static; the arrays are copied.
KN_API knResult knWorld_CreateMesh(knWorld* world, const knBodyDef* def, const knTriangleMesh* mesh,
                                   knBodyId* id);

// An object that can break, as one body at first. The model must outlive the world.
KN_API knResult knWorld_CreateFamily(knWorld* world, const knBodyDef* def,
                                     const knFamilyDef* familyDef, knFamilyId* family,
                                     knBodyId* body);

// Removes all its pieces.
KN_API knResult knWorld_DestroyFamily(knWorld* world, knFamilyId family);

// Its joints go with it. The last piece of a family does not end the family.
KN_API knResult knWorld_DestroyBody(knWorld* world, knBodyId body);

typedef struct knWorldSplit
{
    knSplitOutcome outcome;
    const knBodyId* bodies; // the heaviest first, until the next split or step; none unless
                            // kn_splitDone, and without memory for them: a later step makes them
    uint32_t bodyCount;
    double debrisMass; // kg, of pieces too small for a body
    double crackArea;  // m^2, one side of the new cracks
} knWorldSplit;

// Between steps. What a budget keeps back of a break elsewhere in the object comes forth first,
// told by fracture events until the next step. Ends the body and makes bodies of its parts, which
// move on as it did; debris gets none. Lengths in `def` are in the asset's frame.
KN_API knResult knWorld_SplitBody(knWorld* world, knBodyId body, const knSplitDef* def,
                                  knWorldSplit* split);

typedef struct knBodyState
{
    knTransform transform; // of the body's frame
    knVec3 velocity;       // m/s, of the centre of mass
    knVec3 spin;           // rad/s
    float mass;            // kg; 0 when it does not move
    bool isAwake;
} knBodyState;

KN_API knResult knWorld_BodyState(const knWorld* world, knBodyId body, knBodyState* state);
KN_API knResult knWorld_SetTransform(knWorld* world, knBodyId body, knTransform transform);
KN_API knResult knWorld_SetVelocity(knWorld* world, knBodyId body, knVec3 velocity, knVec3 spin);

// N s, at a point of the world.
KN_API knResult knWorld_ApplyImpulse(knWorld* world, knBodyId body, knVec3 impulse, knVec3 point);
KN_API knResult knWorld_SetFilter(knWorld* world, knBodyId body, int group, int mask);
KN_API void* knWorld_User(const knWorld* world, knBodyId body);

// The family, the fragment and the surface of a piece; kn_errorHandle for what is none.
typedef struct knBodyPiece
{
    knFamilyId family;
    uint32_t fragment;
    const knFamily* object;
    const knPieceMesh* mesh; // render data, in the body's frame
    uint32_t serial;         // differs whenever the render data does, in all of the world
} knBodyPiece;

KN_API knResult knWorld_BodyPiece(const knWorld* world, knBodyId body, knBodyPiece* piece);

// In order of creation as far as slots are not used again: start with null, ends with null.
KN_API knBodyId knWorld_NextBody(const knWorld* world, knBodyId body);
KN_API uint32_t knWorld_BodyCount(const knWorld* world);

// Joints hold two bodies, or one to the world when `b` is null. In the world's frame, as the bodies
// stand now.
KN_API knResult knWorld_CreatePointJoint(knWorld* world, knBodyId a, knBodyId b, knVec3 pivot,
                                         knJointId* id);
KN_API knResult knWorld_CreateHinge(knWorld* world, knBodyId a, knBodyId b, knVec3 pivot,
                                    knVec3 axis, knJointId* id);
KN_API knResult knWorld_DestroyJoint(knWorld* world, knJointId joint);

typedef struct knRayHit
{
    knBodyId body; // null for a body of the game's own
    knVec3 point;
    knVec3 normal;
    float fraction; // of the way
} knRayHit;

// The nearest hit among bodies whose group is in the mask. `isHit` false when there is none.
KN_API knResult knWorld_CastRay(const knWorld* world, knVec3 from, knVec3 to, int mask,
                                knRayHit* hit, bool* isHit);

// A ball that moves from one point to another.
KN_API knResult knWorld_CastSphere(const knWorld* world, knVec3 from, knVec3 to, float radius,
                                   int mask, knRayHit* hit, bool* isHit);

// Takes hold of the first dynamic body on the ray, where it is hit; `body` null when there is none.
// One at a time: an earlier hold is let go.
KN_API knResult knWorld_Pick(knWorld* world, knVec3 from, knVec3 to, knBodyId* body);

// Pulls the held point towards the target with a soft spring.
KN_API knResult knWorld_Drag(knWorld* world, knVec3 target);
KN_API knResult knWorld_Drop(knWorld* world);

// Where the held point is and where it is pulled to; false, and nothing written, when none is held.
KN_API bool knWorld_Held(const knWorld* world, knVec3* point, knVec3* target);

// A contact of the last step in which a piece takes part.
typedef struct knWorldContact
{
    knBodyId bodies[2]; // null for a body of the game's own
    knVec3 point;       // on body 1
    knVec3 normal;      // from body 1 to body 0
    float distance;     // m
    float impulse;      // N s, along the normal
    float friction;     // N s, along the surface
} knWorldContact;

// Fills at most `capacity`; `count` is how many there are.
KN_API knResult knWorld_Contacts(const knWorld* world, knWorldContact* contacts, uint32_t capacity,
                                 uint32_t* count);

// Of the last step.
typedef struct knWorldProfile
{
    double step;      // s, a world of its own only
    double collision; // s, in Knap's queries
    double contacts;  // s, handing them to the engine
    double fracture;  // s, stress, cracks and cutting
    double update;    // s, of field, forest and edges after it
} knWorldProfile;

typedef struct knWorldCounters
{
    uint32_t bodies, pieces, families, joints;
    uint32_t awake;
    knPairsCounters pairs; // of the last step
} knWorldCounters;

KN_API knWorldProfile knWorld_Profile(const knWorld* world);
KN_API knWorldCounters knWorld_Counters(const knWorld* world);

typedef struct knDebugDraw
{
    void (*line)(void* user, knVec3 a, knVec3 b, uint32_t color); // 0xRRGGBB
    void* user;
    bool surfaces, boxes, contacts;
} knDebugDraw;

KN_API knResult knWorld_Draw(const knWorld* world, const knDebugDraw* draw);
