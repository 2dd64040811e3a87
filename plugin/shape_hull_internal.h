// SPDX-License-Identifier: Zlib
#pragma once

#include "shape_internal.h"

#define KN_MAX_ROUND_POINTS 64 // spheres of one hull: planes are found by trying all triples

// Fills triangles, planes and edges of a hull whose points are set; drops points that lie inside.
// `work` has room for three edges per face.
void knHull_Wrap(knHull* hull, knEdge* work);

// The same for points in one plane, on one line or in one place.
void knHull_WrapFlat(knHull* hull, knVec3 normal, float tolerance, knEdge* work);

// Planes that touch three spheres from outside.
void knHull_WrapRound(knHull* hull);

// Keeps the points that triangles or edges name, in their order.
void knHull_DropUnused(knHull* hull, knEdge* work);
