// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/cast.h"

#include "piece_mesh_internal.h"
#include "shape_internal.h"

// A convex body in one frame: up to three points, or a shape, with a ball around them.
typedef struct knConvex
{
    const knVec3* points; // null for a shape and for a piece
    int count;
    const knPieceMesh* mesh; // the hull of a piece
    const knShape* shape; // its core: without margin and without the radius of balls and capsules
    knMat3 rotation;      // of the shape or the piece
    knVec3 position;
} knConvex;

// What lies between two convex bodies.
typedef struct knGap
{
    double distance; // 0 when they overlap
    double bound;    // proven: along the normal they are at least this far apart
    knDVec3 normal;  // unit, from b towards a; zero when they overlap
    knDVec3 pointA, pointB;
} knGap;

void knMeasureGap(const knConvex* a, const knConvex* b, knGap* gap);

// The same, begun with a direction from b to a and ended as soon as the bound is half the distance
// and above `enough`, or when the two are nearer than `least`.
typedef struct knGapSearch
{
    knVec3 guess; // zero for none
    double enough, least;
} knGapSearch;

void knSearchGap(const knConvex* a, const knConvex* b, const knGapSearch* search, knGap* gap);
knConvex knMakeConvexPiece(const knPieceMesh* mesh, knTransform transform);

knConvex knMakeConvexShape(const knShape* shape, knTransform transform);
knConvex knMakeConvexPoints(const knVec3* points, int count);

// The nearest point of a triangle in double, with weights.
knDVec3 knDNearestOnTriangle(knDVec3 p, const knDVec3 v[3], double weights[3]);

// A ray turned and sheared so that it runs along +z from the origin: the edge functions of two
// triangles along a shared edge are then exact negatives of each other, and no ray slips through.
typedef struct knRay
{
    knDVec3 from, way;
    double shear[2], scale; // of the two other axes, and of z
    int x, y, z;            // axes in the ray's order
    double inverse[3];
} knRay;

// False for a ray without length, or one that is not finite.
bool knMakeRay(knRay* ray, knVec3 from, knVec3 to);

// The share of the way at which the ray meets the triangle; edges and corners count.
bool knRay_HitTriangle(const knRay* ray, const knVec3 v[3], double* fraction);

// Where the ray enters the box, at most `limit`; false when it misses. Boxes grow a little, so that
// rounding loses nothing.
bool knRay_HitBox(const knRay* ray, const knBox* box, double limit, double* entry);

knVec3 knTriangleNormal(const knVec3 v[3]);
