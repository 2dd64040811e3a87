// SPDX-License-Identifier: Zlib
#pragma once

#include "query_select_internal.h"

#define KN_MAX_SLABS 3

// All of piece a lies above `a` along the axis, all of piece b below `b`: what they have in common
// lies between.
typedef struct knQuerySlab
{
    knVec3 axis; // unit, in the world
    float a, b;  // m
} knQuerySlab;

// A half-space in the frame of the sampled piece: beyond it there is nothing of the other.
typedef struct knQueryBound
{
    knVec3 normal;
    float limit;
} knQueryBound;

// All that a query between two pieces takes.
typedef struct knPairQuery
{
    const knQueryPiece* pieces[2];
    const knContactLimits* limits;
    knPairState* state;
    knArena* scratch;
    knPairContact* contacts;
    uint32_t capacity;
    uint32_t slabCount;
    knQuerySlab slabs[KN_MAX_SLABS];
} knPairQuery;

knResult knPairQuery_Run(const knPairQuery* query, knPairResult* result);

// One direction: the points of one piece against the field of the other.
typedef struct knQueryWalk
{
    const knQueryPiece* sampled;
    const knQueryPiece* other;
    knMat3 rotation; // from the sampled piece's frame to the other's
    knVec3 offset;
    float turn; // by how much at most a vector changes its direction; infinite for two objects
    knSphereQuery tree;
    knSphereBatch batch;
    knFieldQuery field;
    knQueryBound bounds[KN_MAX_SLABS];
    uint32_t boundCount;
    uint8_t side;
    bool isDone;
} knQueryWalk;

typedef struct knQueryRun
{
    knQueryWalk walks[2];
    const knContactLimits* limits;
    knSelection selection;
    knPairResult* result;
} knQueryRun;

static inline knVec3 knQueryWalk_ToOther(const knQueryWalk* walk, knVec3 p)
{
    return knAdd(knMulMV(walk->rotation, p), walk->offset);
}

// The box around the sampled piece's own box, in the other piece's frame, with room for rounding.
static inline knBox knQueryWalk_BoxInOther(const knQueryWalk* walk)
{
    const knFragmentField* field = knFamily_Field(walk->sampled->family);
    knBox box = knFragmentField_Box(field, walk->sampled->fragment);
    const knMat3* m = &walk->rotation;
    knVec3 c = knQueryWalk_ToOther(walk, knBox_Center(box));
    knVec3 e = knScale(0.5f, knBox_Extent(box));
    knVec3 r = {fabsf(m->cx.x) * e.x + fabsf(m->cy.x) * e.y + fabsf(m->cz.x) * e.z,
                fabsf(m->cx.y) * e.x + fabsf(m->cy.y) * e.y + fabsf(m->cz.y) * e.z,
                fabsf(m->cx.z) * e.x + fabsf(m->cy.z) * e.y + fabsf(m->cz.z) * e.z};
    float slack = 1e-5f * (fabsf(c.x) + fabsf(c.y) + fabsf(c.z) + e.x + e.y + e.z);
    return knBox_Expand((knBox){knSub(c, r), knAdd(c, r)}, slack);
}

// Whether a ball in the sampled piece's frame lies beyond all of the other.
static inline bool knQueryWalk_IsBeyond(const knQueryWalk* walk, knVec3 p, float radius)
{
    for (uint32_t i = 0; i < walk->boundCount; ++i)
    {
        if (knDot(walk->bounds[i].normal, p) - radius > walk->bounds[i].limit)
        {
            return true;
        }
    }
    return false;
}

// A contact at `p` in the other piece's frame; may stop the run.
void knQueryRun_Add(knQueryRun* run, const knQueryWalk* walk, knVec3 p,
                    const knFieldContact* contact, uint32_t feature, knContactKind kind);

// Sharp edges of the sampled piece that cross the other with both ends outside.
void knQueryRun_TestEdges(knQueryRun* run, knQueryWalk* walk);
