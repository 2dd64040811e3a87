// SPDX-License-Identifier: Zlib
#pragma once

#include "bullet_port.h"
#include "knap/config.h"

#define KN_TAG_SHIFT 20 // of a world's tag in an id's index

// A piece with what must not move in memory while its body lives.
typedef struct knPiece
{
    knPieceMesh mesh;
    knFamilyId family;
    uint32_t fragment;
    uint32_t serial;
} knPiece;

typedef struct knBody
{
    knPortBody* port;
    knPiece* piece; // null for a shape
    void* user;
    uint32_t jointCount;
    knVec3 velocity, spin; // before the step
    double enduredImpulse; // N s; hits below it were tried and broke nothing
} knBody;

typedef struct knWorldFamily
{
    knFamily* family;
    knMaterial material;
    bool isBreakable;
} knWorldFamily;

typedef struct knJoint
{
    knPortJoint* port;
    knBodyId bodies[2];
} knJoint;

// A contact of the last step that carried an impulse and has a piece in it.
typedef struct knPush
{
    knId bodies[2];         // in the pool; null for a body of the game's own
    const void* objects[2]; // Bullet's
    knVec3 points[2];       // in the world, where either got it
    knVec3 impulse;         // on body 0, N s
    float approach;         // m/s along the impulse, before the step
    float left;             // the same after it
    bool isMoved[2];        // the body can move
} knPush;

// The same, as one of the pieces that can break sees it.
typedef struct knHit
{
    knId body;
    uint32_t push;
    uint8_t side;
    float size;  // N s
    float total; // N s, the largest on its body
} knHit;

// A piece that broke in this step and is still one body.
typedef struct knBroken
{
    knId body;
    uint32_t firstHit, hitCount;
    uint32_t firstPiece, pieceCount; // into brokenPieces
    float impulse;
    double share; // of the impulses that breaking needs
    double energy, area;
} knBroken;

typedef struct knBrokenPiece
{
    uint32_t fragment;
    bool isHeld;
} knBrokenPiece;

typedef struct knWorldBreaks
{
    knBreakLimits limits;
    knBreaker* breaker; // null until something is hit
    knPush* pushes;
    knHit* hits;
    knBroken* broken;
    knBrokenPiece* brokenPieces;
    knFractureEvent* events;
    knBodyId* children;
    uint32_t* islands; // by slot of the body, plus one of the game's own
    size_t pushCapacity, hitCapacity, brokenCapacity, pieceCapacity;
    size_t eventCapacity, childCapacity, islandCapacity;
    uint32_t pushCount, hitCount, brokenCount, pieceCount, eventCount, childCount;
    double seconds, updateSeconds; // of the last step
} knWorldBreaks;

struct knWorld
{
    knAllocator allocator;
    knWorldDef def;
    knPairs* pairs;
    knPort* port;
    knPool bodies;   // of knBody
    knPool families; // of knWorldFamily
    knPool joints;   // of knJoint
    knPortJoint* drag;
    knBodyId dragged;
    knArena scratch;       // surfaces
    knArena splitScratch;  // what a split tells, until its bodies are made
    knBodyId* splitBodies; // of the last split
    size_t splitCapacity;
    uint32_t pieceCount;
    uint32_t serial; // of render data
    double stepTime;
    knPairsCounters lastPairs;
    knWorldBreaks breaks;
    knMaterial materials[KN_CONFIG_MATERIALS]; // of a config, before the presets
    uint32_t materialCount;
};

// Ids carry the world's tag; pools do not know it.
knId knWorld_Tagged(const knWorld* world, knId id);
knId knWorld_Untagged(const knWorld* world, knId id); // null when it is of another world

// Null, and kn_errorHandle in the last message, when there is none.
knBody* knWorld_GetBody(const knWorld* world, knBodyId id);
knWorldFamily* knWorld_GetFamily(const knWorld* world, knFamilyId id);

// By the name that an asset gives; null when there is none.
const knMaterial* knWorld_FindMaterial(const knWorld* world, const char* name);

// Grows by doubling; between steps only.
knResult knWorld_ReserveSlot(knPool* pool);

// `shape` has everything but what a piece adds.
knResult knWorld_AddBody(knWorld* world, const knBodyDef* def, const knPortShape* shape,
                         knBodyId* id);

// Makes a body of a fragment; def->transform is of the body's frame here.
knResult knWorld_AddPiece(knWorld* world, const knBodyDef* def, knFamilyId family,
                          uint32_t fragment, knBodyId* id);
void knWorld_RemoveBody(knWorld* world, knBodyId id);
knResult knWorld_CheckBodyDef(const knBodyDef* def);

// Axes of inertia: a rotation to them and the moments about them.
void knPrincipalAxes(const knDSym3* inertia, knQuat* axes, knVec3* moments);

knBodyId knWorld_BodyOf(const knWorld* world, const void* object);

// What a part takes over from a body that breaks.
typedef struct knParting
{
    knFamilyId familyId;
    knBodyDef def;
    knBodyState state;
    knVec3 center; // of the parent, in the frame of the asset
} knParting;

knParting knWorld_MakeParting(const knBody* body);
knBodyDef knParting_Def(const knParting* parting, knVec3 center);

void knWorld_NoteVelocities(knWorld* world);
void knWorld_DropBreaks(knWorld* world);

// bullet_hits.c: who pushed whom in the last step, the hardest hit bodies first.
void knWorld_CollectHits(knWorld* world);

// Gives the impulses that breaking did not need back to both sides.
knResult knWorld_Refund(knWorld* world);
