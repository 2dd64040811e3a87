// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/shape.h"

#include "query_select_internal.h"

// A query of one piece against a shape or a mesh: the same selection for both.
typedef struct knShapeRun
{
    const knQueryPiece* piece;
    const knPieceMesh* mesh; // of the piece; may be null
    const knShape* shape;
    const knContactLimits* limits;
    knTransform toWorld; // of the shape's frame
    knMat3 rotation;     // from the piece's frame to the shape's
    knVec3 offset;
    knSphereQuery tree;
    knSphereBatch batch;
    knFieldQuery field; // of the piece
    knBox box;          // of the piece, in its frame
    knSelection selection;
    uint32_t nextFeature;
    uint32_t featureCount;
    bool isWalked;
    knPairResult result;
} knShapeRun;

// Sets everything but the shape's part; `radius` is what shares refer to.
void knShapeRun_Begin(knShapeRun* run, const knQueryPiece* piece, knTransform transform,
                      float radius, knSphereQueryItem* items);

// A contact on side 0: a point of the piece in its own frame, the normal in the shape's.
void knShapeRun_AddPoint(knShapeRun* run, knVec3 p, float distance, knVec3 normal, uint32_t feature,
                         knContactKind kind);

// A contact on side 1: a point of the shape and its normal, both in the piece's frame.
void knShapeRun_AddFeature(knShapeRun* run, knVec3 p, const knFieldContact* contact,
                           uint32_t feature, knContactKind kind);

// A ball that moves along a feature of the shape, against the piece's field.
void knShapeRun_TestFeature(knShapeRun* run, const knShapeFeature* feature, uint32_t id);

knResult knCheckShapeQuery(const char* name, const knQueryPiece* piece, knTransform transform,
                           const knContactLimits* limits, const void* contacts, uint32_t capacity);

static inline bool knIsFiniteTransform(knTransform t)
{
    return knIsFinite(t.position) && isfinite(t.rotation.x) && isfinite(t.rotation.y) &&
           isfinite(t.rotation.z) && isfinite(t.rotation.w);
}

static inline knVec3 knShapeRun_ToShape(const knShapeRun* run, knVec3 p)
{
    return knAdd(knMulMV(run->rotation, p), run->offset);
}

static inline knVec3 knShapeRun_ToPiece(const knShapeRun* run, knVec3 p)
{
    return knMulMV(knTranspose(run->rotation), knSub(p, run->offset));
}

// Half the diagonal of a piece's box. m
float knQueryPieceRadius(const knQueryPiece* piece);

// The point of a triangle nearest to `p` and its weights; degenerate triangles are segments or
// points.
knVec3 knNearestOnTriangle(knVec3 p, const knVec3 v[3], float weights[3]);
knVec3 knNearestOnSegment(knVec3 p, knVec3 a, knVec3 b);

// A unit vector at a right angle to a unit vector.
knVec3 knPerpendicular(knVec3 v);

// A shape is a core and all that is nearer to it than its rounding: margins, and the radius of
// balls and capsules.
knVec3 knShape_CoreSupport(const knShape* shape, knVec3 direction);
float knShapeRounding(const knShape* shape);

// In shape_hull.c.
float knHull_Distance(const knHull* hull, knVec3 p, knVec3* gradient);
knVec3 knHull_Support(const knHull* hull, knVec3 direction);
