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

#define KN_FRONT_FIRST 128  // items of a side at first
#define KN_FRONT_MOST  4096 // a pair that needs more has no front

// Of the sampled piece as the other one sees it.
typedef struct knFrontPose
{
    knMat3 rotation;
    knVec3 offset;
} knFrontPose;

// One direction of a front. An item is a node of the sampled piece's trees with all that hangs
// below it from a child on, or a point alone; no point of it is nearer to the other piece than its
// bound.
typedef struct knFrontSide
{
    float *x, *y, *z; // in the frame of the asset
    float* radius;    // m, of the ball around the item; 0 for a point
    float* bound;     // m, as of the pose; negative for what may be inside
    uint32_t* point;
    uint32_t* cursor;  // the child that comes next, or KN_NONE
    uint32_t* next;    // of those that wait to be tested
    float* edgeBounds; // m, of the piece's sharp edges in the order of their list
    uint32_t count, capacity, wanted;
    uint32_t edgeCount; // 0 while nothing is known of them
    uint32_t edgeCapacity, edgesWanted;
    uint32_t freshCount; // items when it was made
    bool isFresh;        // made in this query
    bool isWhole;        // every point is in some item
    knFrontPose pose;
    knFrontPose edgePose;
} knFrontSide;

// What a pair remembers of its last walk; query_front.c.
typedef struct knQueryFront
{
    knFrontSide sides[2];
    bool isKnown; // by an earlier query between these two
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
    knQueryFront* front; // null for none
    float frontRoom;     // m; bounds of so much more than is needed are asked for
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

// Items of a front that wait, level by level.
typedef struct knFrontQueue
{
    uint64_t levels; // that have any, as bits
    uint32_t level;  // that it is at: what comes later goes there at the earliest
    uint32_t heads[KN_MAX_SPHERE_LEVELS];
    uint32_t tails[KN_MAX_SPHERE_LEVELS];
} knFrontQueue;

typedef struct knQueryRun
{
    knQueryWalk walks[2];
    const knContactLimits* limits;
    knSelection selection;
    knQueryFront* front; // or null
    float frontRoom;     // m; bounds of so much more than is needed are asked for
    knFrontQueue queues[2];
    float boundMargin; // m, that the half-spaces were moved out by
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

// Scratch that the edges of a piece take.
size_t knQueryCrossBytes(const knQueryPiece* piece);

// Sharp edges of both that cross or are about to.
void knQueryRun_TestCrossings(knQueryRun* run, knArena* scratch);

// The points where cracks meet.
void knQueryRun_TestCorners(knQueryRun* run, knQueryWalk* walk);

// Motion of the sampled piece since a pose: of a point, and how much more that of one at a distance
// of 1 m from it can be.
typedef struct knFrontMove
{
    knMat3 turn;
    knVec3 shift;
    float spread;
    float slack; // m, for rounding
} knFrontMove;

knFrontMove knMakeFrontMove(const knQueryWalk* walk, const knFrontPose* then);

// Points and nodes of both sides; false when they did not fit and the answer is not whole.
bool knQueryRun_TestFront(knQueryRun* run);

// What knQueryRun_TestEdges does, where bounds are used up.
void knQueryRun_TestFrontEdges(knQueryRun* run, knQueryWalk* walk);
