// SPDX-License-Identifier: Zlib
#pragma once

// Spatial hashing of triangles in a uniform grid (Teschner and others 2003), made as well as we
// can: cells of the mean box's size, counted and placed in two passes, a pair tested in one cell
// only.

#include "knap/mesh.h"
#include "knap/result.h"

typedef struct SpatialHash SpatialHash;

SpatialHash* MakeSpatialHash(void); // null without memory
void FreeSpatialHash(SpatialHash* hash);

// How many pairs meet and share no vertex.
knResult SpatialHash_Run(SpatialHash* hash, const knVec3* positions, const knTriangle* triangles,
                         uint32_t triangleCount, size_t* pairCount);
