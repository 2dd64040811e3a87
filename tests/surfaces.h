// SPDX-License-Identifier: Zlib
#pragma once

// Small surfaces that are hard on collision detection, and their true pairs.

#include "kit.h"
#include "knap/bvh.h"

typedef struct Surface
{
    const char* name;
    knVec3* positions;
    knTriangle* triangles;
    uint32_t positionCount, triangleCount;
} Surface;

typedef Surface MakeSurfaceFcn(void);

#define SURFACE_COUNT 21
extern MakeSurfaceFcn* const surfaceMakers[SURFACE_COUNT];

void FreeSurface(Surface* surface);

// A sheet of n x n squares, every vertex moved by up to `noise` squares.
Surface MakeSheet(uint32_t n, float noise, uint64_t seed);

// The pairs that are to be reported, by rational arithmetic over all pairs whose boxes meet.
typedef struct TruePairs
{
    knBvhPair* pairs; // flags are not set
    size_t count;
} TruePairs;

TruePairs FindTruePairs(const Surface* surface);
void FreeTruePairs(TruePairs* truth);

// A committed scene with the surface as its only body.
knBvhScene* MakeScene(const Surface* surface, const knBvhSceneDef* def);

// Runs the query and counts the pairs that are missing or too many.
size_t CountWrongPairs(const knBvhScene* scene, const knBvhQueryDef* def, const TruePairs* truth,
                       const Surface* surface);
