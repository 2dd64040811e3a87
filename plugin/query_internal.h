// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/query.h"

// One direction: the points of one piece against the field of the other.
typedef struct knQueryWalk
{
    const knQueryPiece* sampled;
    const knQueryPiece* other;
    knMat3 rotation; // from the sampled piece's frame to the other's
    knVec3 offset;
    knSphereQuery tree;
    knSphereBatch batch;
    knFieldQuery field;
    uint8_t side;
    bool isDone;
} knQueryWalk;

typedef struct knQueryRun
{
    knQueryWalk walks[2];
    const knContactLimits* limits;
    float epsilon;   // m
    float margin;    // m
    uint32_t target; // m
    uint32_t limit;  // contacts that fit now
    bool isDeep;     // m was reached: only what is deeper than epsilon counts
    bool isStopped;
    knPairContact* contacts;
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

// A contact at `p` in the other piece's frame; may stop the run.
void knQueryRun_Add(knQueryRun* run, const knQueryWalk* walk, knVec3 p,
                    const knFieldContact* contact, uint32_t feature, knContactKind kind);

// Sharp edges of the sampled piece that cross the other with both ends outside.
void knQueryRun_TestEdges(knQueryRun* run, knQueryWalk* walk);
