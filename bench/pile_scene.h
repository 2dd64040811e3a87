// SPDX-License-Identifier: Zlib
#pragma once

// Piles of whole objects and of their pieces, for the benches of the plugin.

#include "bench/breakage.h"
#include "bench/pile_world.h"
#include "knap/query.h"

#define KN_PILE_MAX_PIECES 32

typedef struct knPileScene
{
    const char* name;
    knPileKind kind;
    knFamily* family;
    uint32_t fragments[KN_PILE_MAX_PIECES];
    knPieceMesh meshes[KN_PILE_MAX_PIECES];
    knVec3 sites[KN_PILE_MAX_PIECES];
    uint32_t objectCount;
    uint32_t columns; // objects stand in a lattice of columns by columns, layer on layer
    knVec3 spacing;   // m
    float spread;     // pieces start this many times further from the object's centre
    bool isTurned;    // each object in an orientation of its own
    uint32_t ballCount;
    float ballRadius; // m
    knArena scratch;  // of queries
} knPileScene;

typedef struct knPileSceneDef
{
    const char* name;
    const knModel* model;
    uint32_t cellCount; // 1 for whole objects
    uint32_t objectCount;
    uint32_t columns;
    knVec3 spacing;
    float spread;
    bool isTurned;
    uint32_t ballCount;
    float ballRadius;
} knPileSceneDef;

knResult knCreatePileScene(knPileScene* scene, const knPileSceneDef* def);
void knDestroyPileScene(knPileScene* scene);

uint32_t knPileScene_PieceCount(const knPileScene* scene);

// Objects and balls in their places.
knResult knPileScene_Fill(const knPileScene* scene, knPileWorld* world);

// The deepest that any piece is in another or in the floor, m: by every point of the true shapes,
// whatever the method that put them there.
knResult knPileScene_Penetration(knPileScene* scene, const knTransform* transforms, double* depth);
