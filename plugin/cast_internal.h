// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/cast.h"

#include "piece_mesh_internal.h"
#include "shape_internal.h"

// A convex body in one frame: up to three points, or a shape, with a ball around them.
typedef struct knConvex
{
    const knVec3* points; // null for a shape
    int count;
    const knShape* shape; // its core: without margin and without the radius of balls and capsules
    knMat3 rotation;      // of the shape
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

knConvex knMakeConvexShape(const knShape* shape, knTransform transform);
knConvex knMakeConvexPoints(const knVec3* points, int count);

// The nearest point of a triangle in double, with weights.
knDVec3 knDNearestOnTriangle(knDVec3 p, const knDVec3 v[3], double weights[3]);

knVec3 knTriangleNormal(const knVec3 v[3]);
