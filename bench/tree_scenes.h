// SPDX-License-Identifier: Zlib
#pragma once

// Scenes in the manner of the 2006 paper: bodies of single triangles that first move as a whole and
// then fly apart, neighbours in opposite directions. Made from a seed, with sines of their own, so
// that every machine has the same floats.

#include "knap/mesh.h"

#include <stdbool.h>

typedef enum TreeSceneKind
{
    treeSpheres, // 12 bodies, searched for pairs between them
    treeBunnies, // 2 bodies, pairs between and within
    treeTeapot,  // 1 body, pairs within
    TREE_SCENE_COUNT
} TreeSceneKind;

typedef struct TreeScene
{
    TreeSceneKind kind;
    uint32_t bodyCount;
    uint32_t bodyTriangles; // of each
    uint32_t triangleCount, vertexCount;
    int frameCount;
    knVec3* rest;      // three to a triangle, in the body's frame
    knVec3* drift;     // per triangle, at full strength
    knVec3* positions; // of the frame
    knTriangle* triangles;
} TreeScene;

// `detail` of 1 to 3 as in the paper, 0 for tests. False without memory.
bool MakeTreeScene(TreeScene* scene, TreeSceneKind kind, int detail, int frameCount);
void FreeTreeScene(TreeScene* scene);
void SetTreeFrame(TreeScene* scene, int frame);
const char* TreeSceneName(TreeSceneKind kind);

// Of the positions of the frame.
uint64_t HashPositions(const knVec3* positions, uint32_t count);

// The same bits everywhere.
double SceneSine(double x);
double SceneCosine(double x);
