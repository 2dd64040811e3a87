// SPDX-License-Identifier: Zlib
#pragma once

// Rays, sweeps and closest points against the surface of a piece, and the contacts that stop a fast
// body before it passes through.
//
// Rays and casts are exact on the triangles of the piece, in the frame of its mesh: take the game's
// points there first. Sweeps are in the world. No call allocates.

#include "knap/piece_mesh.h"
#include "knap/shape.h"

typedef struct knCastHit
{
    float fraction;      // of the way
    knVec3 point;        // on the piece
    knVec3 normal;       // unit, out of the piece; against the way when it starts inside
    uint32_t triangle;   // of the mesh; KN_NONE when the cast starts inside
    uint32_t isInterior; // hit a crack face
} knCastHit;

// The first triangle on the way, from either side. False, and nothing written, when there is none.
KN_API bool knCastRay(const knPieceMesh* mesh, knVec3 from, knVec3 to, knCastHit* hit);

// Whether a point lies inside the closed surface.
KN_API bool knPieceMesh_Contains(const knPieceMesh* mesh, knVec3 p);

// How far a point inside the piece is from its surface, on the triangles themselves; 0 outside.
KN_API float knPieceMesh_Depth(const knPieceMesh* mesh, knVec3 p);

// A ball that moves without turning; fraction 0 when it touches at the start or starts inside.
KN_API bool knCastSphere(const knPieceMesh* mesh, knVec3 from, knVec3 to, float radius,
                         knCastHit* hit);

// A shape (not a plane) that moves from `start` by `move` without turning. Never passes: at the
// fraction it has not touched yet, or by no more than rounding, and is nearer than 1e-5 of the
// piece's radius.
KN_API bool knCastShape(const knPieceMesh* mesh, const knShape* shape, knTransform start,
                        knVec3 move, knCastHit* hit);

typedef struct knClosest
{
    float distance;     // 0 when they overlap
    knVec3 pointOnMesh; // in the frame of the mesh
    knVec3 pointOnOther;
    knVec3 normal; // unit, from the piece towards the other; zero when they overlap
    uint32_t triangle;
} knClosest;

// False, and nothing written, when nothing is as near as that.
KN_API bool knClosestToPoint(const knPieceMesh* mesh, knVec3 p, float maxDistance,
                             knClosest* closest);
KN_API bool knClosestToShape(const knPieceMesh* mesh, const knShape* shape, knTransform transform,
                             float maxDistance, knClosest* closest);

// How a body moves in a step, at constant velocities.
typedef struct knMotion
{
    knTransform start; // of the mesh's frame, so of the centre of mass: the engine's body
    knVec3 move;       // m, of the centre in the whole step
    knVec3 turn;       // radians about this axis in the whole step; at most pi / 2
} knMotion;

KN_API knTransform knMotion_At(const knMotion* motion, float time);

// What stops a before it enters b. For a solver: the approach of the two points along the normal,
// in this step, is to be at most `gap`; no restitution.
typedef struct knSweepContact
{
    knVec3 pointA;    // world, at the start: where the point of a that will touch is now
    knVec3 pointB;    // the same for b
    knVec3 normal;    // unit, from b towards a, at the time of impact
    float gap;        // m, what the points may come nearer along the normal; not negative
    float time;       // of impact, share of the step
    uint32_t feature; // lasts as long as the same triangles meet
    bool isCenter;    // the points are the centres of mass: holds the body back without turning it
} knSweepContact;

#define KN_MAX_SWEEP_CONTACTS 8

// Whether a sweep is worth while: nothing in reach can pass when the body moves less than a share
// of its own thickness in the step.
KN_API bool knMotion_IsFast(const knMotion* motion, const knPieceMesh* mesh);

// The contacts that two pieces make in a step if nothing stops them, by conservative advancement on
// pairs of triangles. Pairs that intersect at the start are left to the ordinary query. What would
// be hit after sliding along the first contact is there too. Returns how many, the earliest first.
KN_API uint32_t knSweepPair(const knPieceMesh* a, const knMotion* motionA, const knPieceMesh* b,
                            const knMotion* motionB,
                            knSweepContact contacts[KN_MAX_SWEEP_CONTACTS]);

// The same for a piece (a) and a shape (b), planes included.
KN_API uint32_t knSweepShape(const knPieceMesh* mesh, const knMotion* motion, const knShape* shape,
                             const knMotion* shapeMotion,
                             knSweepContact contacts[KN_MAX_SWEEP_CONTACTS]);

// The world's box that the body passes through.
KN_API knBox knMotion_Box(const knMotion* motion, const knPieceMesh* mesh);

// The same for a piece (a) and the triangles of a resting mesh (b) in that box.
KN_API uint32_t knSweepTriangles(const knPieceMesh* mesh, const knMotion* motion,
                                 const knTriangleBatch* batch,
                                 knSweepContact contacts[KN_MAX_SWEEP_CONTACTS]);
