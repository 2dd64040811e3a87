// SPDX-License-Identifier: Zlib
#pragma once

// The peer of the field update: the signed distance to the closed surface of one piece, made anew
// on a regular grid over its box.
//
// Closest points are exact near the surface, from the triangles themselves, and are handed on from
// sample to sample behind that; signs come from crossings counted along rows (Bridson's way). All
// in wide rows, in memory that is kept from break to break.

#include "knap/cutting.h"

typedef struct knPieceGrid
{
    float* distances; // m, negative inside; x fastest
    size_t capacity;  // samples
    knVec3 origin;
    float spacing;    // m
    uint32_t size[3]; // samples along the axes
} knPieceGrid;

// Memory that all pieces of all breaks share.
typedef struct knPieceGridWork
{
    float* floats; // per sample: the way to the closest point and its square, in cells
    uint8_t* crossings;
    size_t floatCapacity;
    size_t crossingCapacity;
} knPieceGridWork;

void knDestroyPieceGrid(knPieceGrid* grid);
void knDestroyPieceGridWork(knPieceGridWork* work);

// Fills the grid, which is zero at first or one that may be used again. A margin of two cells.
knResult knPieceGrid_Build(knPieceGrid* grid, knPieceGridWork* work, const knPieceSurface* surface,
                           float spacing);

typedef struct knPieceSample
{
    float distance;  // negative inside
    float error;     // the true distance differs by at most this
    knVec3 gradient; // not unit
} knPieceSample;

knPieceSample knPieceGrid_Sample(const knPieceGrid* grid, knVec3 p);

// The distance to a surface triangle by triangle, without sign.
double knSurfaceDistance(const knPieceSurface* surface, knVec3 p);
