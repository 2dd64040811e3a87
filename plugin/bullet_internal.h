// SPDX-License-Identifier: Zlib
#pragma once

#include "bullet_port.h"

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
} knBody;

typedef struct knWorldFamily
{
    knFamily* family;
} knWorldFamily;

typedef struct knJoint
{
    knPortJoint* port;
    knBodyId bodies[2];
} knJoint;

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
};

// Ids carry the world's tag; pools do not know it.
knId knWorld_Tagged(const knWorld* world, knId id);
knId knWorld_Untagged(const knWorld* world, knId id); // null when it is of another world

// Null, and kn_errorHandle in the last message, when there is none.
knBody* knWorld_GetBody(const knWorld* world, knBodyId id);
knWorldFamily* knWorld_GetFamily(const knWorld* world, knFamilyId id);

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
