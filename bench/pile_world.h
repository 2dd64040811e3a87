// SPDX-License-Identifier: Zlib
#pragma once

// The same pile of pieces in Bullet by several methods of collision: Knap's, and what a game has
// without it. Solver, bodies, masses and steps are the same; the shapes differ.

#include "knap/cutting.h"
#include "knap/piece_mesh.h"
#include "knap/tasks.h"

typedef enum knPileMethod
{
    kn_pileKnap,
    kn_pileGimpact,       // the pieces' triangles
    kn_pileHull,          // the whole convex hull of each piece
    kn_pileHull42,        // btShapeHull: at most 42 points of it
    kn_pileDecomposition, // HACD, a compound of hulls
    kn_pileMethodCount
} knPileMethod;

// An object and how it is broken; instances of it share everything but their place.
typedef struct knPileKind
{
    const knModel* model;
    knSplitDef split;
    bool isBroken;
    const knFamily* family;    // broken that way
    const uint32_t* fragments; // the pieces, ascending
    const knPieceMesh* meshes; // theirs, in the frame of the centre of mass
    uint32_t pieceCount;
} knPileKind;

typedef struct knPileWorld knPileWorld;

typedef struct knPileWorldDef
{
    knPileMethod method;
    bool fullDetection;       // Knap only: every point in contact
    const knTaskHooks* tasks; // Knap only; null for one thread
    double shapeSeconds;      // a shape that takes longer to make is given up
} knPileWorldDef;

#ifdef __cplusplus
extern "C"
{
#endif

    // kn_errorArgument when the program was built without what the method needs.
    knResult knCreatePileWorld(knPileWorld** world, const knPileWorldDef* def);
    void knDestroyPileWorld(knPileWorld* world);

    // The pieces of one instance, `transforms` from the asset's frame to the world for each.
    knResult knPileWorld_AddObject(knPileWorld* world, const knPileKind* kind,
                                   const knTransform* transforms);
    knResult knPileWorld_AddBall(knPileWorld* world, knVec3 center, float radius, float density);

    typedef struct knPileStep
    {
        double collision; // s, broad phase included
        double processor; // s, of it, of the thread that steps
        double total;     // s
        uint32_t contacts;
    } knPileStep;

    knResult knPileWorld_Step(knPileWorld* world, float dt, knPileStep* step);

    // From the asset's frame to the world, for the pieces of all objects in the order they were
    // added.
    void knPileWorld_Transforms(const knPileWorld* world, knTransform* transforms);

    // Seconds that the shapes of one broken object took; Knap's are part of the break itself.
    double knPileWorld_ShapeSeconds(const knPileWorld* world);

#ifdef __cplusplus
}
#endif
