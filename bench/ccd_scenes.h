// SPDX-License-Identifier: Zlib
#pragma once

// Surfaces that move and break, of the kinds that ICCD measures: two real steps, and generated ones
// in place of those that are not public.

#include "bench/bench.h"
#include "knap/mesh.h"

typedef enum knCcdSceneKind
{
    kn_ccdSceneCloth, // real
    kn_ccdSceneSkirt, // a tube with folds that overturn, around two legs
    kn_ccdSceneDress, // the same in three layers
    kn_ccdSceneBalls, // 188 that bounce off each other
    kn_ccdSceneNBody, // real, four times as many triangles as the paper's
    kn_ccdSceneLetters,
    kn_ccdSceneShell, // breaks into cells, in four events
    kn_ccdSceneCount
} knCcdSceneKind;

typedef struct knCcdScene
{
    knCcdSceneKind kind;
    const char* name;
    int stepCount;
    knVec3* start; // of the step now
    knVec3* end;
    knVec3* rest;
    uint32_t vertexCount, vertexCapacity;
    knTriangle* triangles;
    uint32_t triangleCount;
    uint32_t* parts;  // of each vertex: letter, or cell
    uint32_t size;    // squares along a side
    bool breaks;      // its faces change
    knVec3* poses[2]; // of a real step
    struct knCcdBall* balls;
    int ballStep; // the step that they have come to
} knCcdScene;

const char* knCcdSceneName(knCcdSceneKind kind);

// kn_errorFile when the frames of a real one are not there.
knResult knMakeCcdScene(knCcdScene* scene, knCcdSceneKind kind, bool quick);
void knDestroyCcdScene(knCcdScene* scene);

// Sets faces and both ends; true when the faces are others than in the step before.
bool knCcdScene_SetStep(knCcdScene* scene, int step);
