// SPDX-License-Identifier: Zlib
#pragma once

// TetGen behind a C function. It kills the process on many bad inputs: call it contained.

#include "knap/result.h"

typedef struct knTetgenInput
{
    const double* points; // 3 per point; points that no triangle uses are kept inside
    int pointCount;
    const int* triangles; // 3 per triangle
    int triangleCount;
    const double* holes; // 3 per hollow, a point inside it
    int holeCount;
    const char* switches; // "pYq1.414" and the like
} knTetgenInput;

typedef struct knTetgenOutput
{
    double* points; // the input points first, in their order
    int* tets;      // 4 per tetrahedron
    int* regions;   // per tetrahedron, with the switch A, else null
    int pointCount;
    int tetCount;
} knTetgenOutput;

#if defined(__cplusplus)
extern "C"
{
#endif

    // The output's memory is never given back: the process that called ends soon after.
    knResult knRunTetgen(const knTetgenInput* input, knTetgenOutput* output);

#if defined(__cplusplus)
}
#endif
