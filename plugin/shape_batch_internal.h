// SPDX-License-Identifier: Zlib
#pragma once

#include "cast_internal.h"

// The triangles around a piece, joined where their corners fall together; all arrays in scratch.
typedef struct knBatch
{
    const knTriangleBatch* source;
    knVec3* normals;     // unit, per triangle
    knTriangle* welded;  // corners as ids of positions
    uint32_t* neighbors; // per triangle and side: the triangle across; KN_NONE where it ends
    uint8_t* sharpSides; // per triangle, bit i: side i can poke into a piece and is this one's
    uint8_t* isSharp;    // per position: on a sharp side, and not looked at yet
    knMeshNode* nodes;
    uint32_t* order;
    uint32_t nodeCount;
} knBatch;

// Bytes of the arrays.
size_t knBatchBytes(uint32_t triangleCount);

// False when the arena is too small.
bool knMakeBatch(knBatch* batch, const knTriangleBatch* source, knArena* scratch);

typedef struct knBatchPoint
{
    float distance; // without sign
    knVec3 point;   // nearest
    knVec3 normal;  // unit: of the face, or the mean over the faces around an edge or a corner
    bool isAtEnd;   // nearest to an edge at which the mesh ends
} knBatchPoint;

// `facing`: faces are turned towards this point first; null when their own normals count. False
// when there is nothing within the limit.
bool knBatch_Nearest(const knBatch* batch, knVec3 p, float limit, const knVec3* facing,
                     knBatchPoint* nearest);

// The first triangle between two points and where; KN_NONE when they see each other.
uint32_t knBatch_Between(const knBatch* batch, knVec3 from, knVec3 to, knVec3* point);
