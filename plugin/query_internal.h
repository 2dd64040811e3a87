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

// A contact at `p` in the other piece's frame; may stop the run.
void knQueryRun_Add(knQueryRun* run, const knQueryWalk* walk, knVec3 p,
                    const knFieldContact* contact, uint32_t feature, knContactKind kind);

// Sharp edges of the sampled piece that cross the other with both ends outside.
void knQueryRun_TestEdges(knQueryRun* run, knQueryWalk* walk);
