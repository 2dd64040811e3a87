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

#define KN_FRONT_POINTS 128
#define KN_FRONT_EDGES  240

// What a walk found near the other piece: until the two have moved by the reach, only these points
// and edges can touch.
typedef struct knQueryFront
{
    float reach; // m; negative when it knows nothing
    uint8_t pointCount;
    uint8_t edgeCount;
    uint8_t pointSides[KN_FRONT_POINTS];
    uint8_t edgeSides[KN_FRONT_EDGES];
    uint32_t points[KN_FRONT_POINTS];
    uint32_t edges[KN_FRONT_EDGES];    // in the list of the piece
    knVec3 positions[KN_FRONT_POINTS]; // in the frame of the asset
} knQueryFront;

// All that a query between two pieces takes.
typedef struct knPairQuery
{
    const knQueryPiece* pieces[2];
    const knContactLimits* limits;
    knPairState* state;
    knArena* scratch;
    knPairContact* contacts;
    uint32_t capacity;
    knQueryFront* front; // null for none; one that knows something is used, another is made
    float frontReach;    // m, of one that is made
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
    knQueryFront* front; // that is being made, or null
    float frontReach;    // m
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

// Eight of the walk's batch or of a front, the lanes in use first.
void knQueryRun_TakeVisits(knQueryRun* run, const knQueryWalk* walk, const knVisits8* visits,
                           const uint32_t points[8]);

// Sharp edges of the sampled piece that cross the other with both ends outside.
void knQueryRun_TestEdges(knQueryRun* run, knQueryWalk* walk);
void knQueryRun_TestEdge(knQueryRun* run, knQueryWalk* walk, uint32_t index);

// The points where cracks meet.
void knQueryRun_TestCorners(knQueryRun* run, knQueryWalk* walk);

// In query_front.c. Lanes that may be near enough, by their own reach, join the front.
void knQueryRun_AddToFront(knQueryRun* run, knQueryWalk* walk, uint32_t base,
                           const knVisits8* visits);
void knQueryRun_AddCornersToFront(knQueryRun* run, const knQueryWalk* walk,
                                  const knCornerGroup* corners, uint8_t near);
void knQueryRun_AddEdgesToFront(knQueryRun* run, knQueryWalk* walk);
void knQueryRun_TestFront(knQueryRun* run, const knQueryFront* front);
