// SPDX-License-Identifier: Zlib
#pragma once

// The exact test of one pair of triangles by the pair rules of bvh.h.

#include "knap/mesh.h"

// Test switches: each takes away something that correctness hangs on.
typedef enum knBvhSabotage
{
    kn_sabotageNothing = 0,
    kn_sabotageErrorBound = 1,   // signs in floating point are believed
    kn_sabotageSharedRule = 2,   // a shared vertex counts as a contact
    kn_sabotageContour = 4,      // normals alone decide what is culled
    kn_sabotageFloatBound = 8,   // the wide filter believes its signs
    kn_sabotageBesideBound = 16, // so it does beside edges
} knBvhSabotage;

typedef struct knTrianglePair
{
    knVec3 a[3], b[3];
    uint32_t aVertices[3], bVertices[3];
} knTrianglePair;

#define KN_PAIR_MEETS 16u // beside the public flags, which lie below

// 0 when the pair is not to be reported, else KN_PAIR_MEETS and the public flags. Adds to
// *exactCount the signs that floating point could not decide.
uint32_t knMeetTriangles(const knTrianglePair* pair, uint32_t sabotage, uint64_t* exactCount);
