// SPDX-License-Identifier: Zlib
#pragma once

// What field-update measures on: a broken object in our structures, the same with rebuilt trees,
// its pieces in grids of their own, and poses near contact.

#include "bench/breakage.h"
#include "bench/grid_query.h"

#define KN_SCENE_PIECES 256
#define KN_SCENE_POSES  256

// Of the object's pieces, or the whole brick when `fragment` is KN_NONE.
typedef struct knScenePose
{
    uint32_t fragments[2];
    knTransform transforms[2];
} knScenePose;

typedef struct knFieldScene
{
    knBreakage fresh;   // cut anew before every timed update
    knBreakage kept;    // updated
    knBreakage rebuilt; // updated, then with fresh trees
    knBreakage brick;   // whole
    uint32_t pieces[KN_SCENE_PIECES];
    uint32_t pieceCount;
    knArena arena; // surfaces
    knPieceSurface surfaces[KN_SCENE_PIECES];
    knPieceGrid grids[KN_SCENE_PIECES];
    knPieceGrid brickGrid;
    knPieceGridWork work;
    knScenePose poses[KN_SCENE_POSES];
    uint32_t poseCount;
    knArena scratch; // of queries
} knFieldScene;

// Breaks the model into about so many pieces. The brick may be the same model.
knResult knCreateFieldScene(knFieldScene* scene, const knModel* model, const knModel* brick,
                            uint32_t pieceCount, uint64_t seed);
void knDestroyFieldScene(knFieldScene* scene);

// Half neighbours just after the break, half pieces that touch the brick.
knResult knFieldScene_PosePairs(knFieldScene* scene, uint32_t count, uint64_t seed);

// Every pair of neighbours once: the first step after a break.
knResult knFieldScene_PoseNeighbors(knFieldScene* scene, uint64_t seed);

// Exact fields of all pieces from their surfaces.
knResult knFieldScene_RecomputeFields(knFieldScene* scene);

// How the recomputed fields compare with distances taken triangle by triangle, and their signs with
// ours, at samples of all pieces.
typedef struct knGridCheck
{
    double worstError; // cells
    double meanError;
    double otherSigns; // share of samples further than a hundredth of a cell from the surface
} knGridCheck;

knGridCheck knFieldScene_CheckFields(const knFieldScene* scene);

typedef struct knSceneQuery
{
    bool rebuiltTrees;
    bool recomputedFields; // no edges then
    bool edges;
} knSceneQuery;

// All poses once; adds what was counted when `counters` is not null.
knResult knFieldScene_Query(knFieldScene* scene, knSceneQuery how, knQueryCounters* counters);
