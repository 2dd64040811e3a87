// SPDX-License-Identifier: Zlib
#pragma once

// One mesh on its way through TetGen: the frame, the points, and single contained runs.

#include "tetrahedralize.h"

// TetGen works in a frame of its own, with coordinates up to 1: its tolerances are absolute in
// places. The scale is a power of two, so that the way back is exact.
typedef struct knTetJob
{
    const knSoup* surface;
    const knTetOptions* options;
    knTetStats* stats;
    const knAllocator* allocator;
    knDVec3 origin;
    double scale;
    double* points; // surface first, then added ones
    size_t pointCount, pointCapacity;
    uint64_t* surfaceEdges; // lower vertex in the upper half, ascending; 3 per triangle, each twice
    size_t surfaceEdgeCount;
    double* holes; // 3 per hollow
    size_t holeCount, holeCapacity;
    char switches[64];
} knTetJob;

// What came back, still in TetGen's frame.
typedef struct knRawTets
{
    double* points;
    int* tets;
    int* regions;
    size_t pointCount, tetCount;
} knRawTets;

// Fills in the frame and the surface's points and edges.
knResult knTetJob_SetUp(knTetJob* job);
knResult knTetJob_AddPoint(knTetJob* job, knDVec3 p);
knVec3 knTetJob_FromFrame(const knTetJob* job, const double* p);

// Whether the surface itself has this edge, which nothing may split.
bool knTetJob_IsSurfaceEdge(const knTetJob* job, int a, int b);
void knDestroyTetJob(knTetJob* job);

// One run, contained. `raw` is empty on failure; the report tells how the child ended.
knResult knTetJob_Run(knTetJob* job, const char* switches, knRawTets* raw, knContainReport* report);
void knDestroyRawTets(const knTetJob* job, knRawTets* raw);

// Finds the longest edge inside and counts those over the limit; returns how many tetrahedra have
// one. tetgen_edges.c.
uint32_t knTetJob_MeasureEdges(knTetJob* job, const knRawTets* raw);

// Adds points for the next run: a lattice in all such tetrahedra, or the middles of such edges.
knResult knTetJob_AddLattice(knTetJob* job, const knRawTets* raw);
knResult knTetJob_AddMiddles(knTetJob* job, const knRawTets* raw);
