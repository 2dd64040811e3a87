// SPDX-License-Identifier: Zlib
#pragma once

#include "cast_lanes_internal.h"
#include "cast_sweep_internal.h"

// A direction in which two things may be parted, from b to a.
typedef struct knSweepPlane
{
    knVec3 normal;
    knVec3 sizeA, sizeB;  // of it along the axes of the boxes, without signs
    float swingA, swingB; // how fast a point at a distance of one comes along it by turning
} knSweepPlane;

// Two pieces in one part of their ways, along the axes that b has when the part begins.
typedef struct knSweepView
{
    knSweep* sweep;
    knMat3 turnAxes, sizes; // of a; the same without signs
    knVec3 shift;           // to the centre of a
    knVec3 move;            // of a relative to b
    knVec3 turns[2];        // of a and of b
    knVec3 swings[2];       // of a and of b, along the axes of b
    knVec3 otherSwings[2];  // of a and of b, along the axes of a
    float gain;             // that any speed can have by the end, and on the way on the average
    float rounding;         // m
    knSweepPlane guesses[2];
} knSweepView;

void knSweepView_TakeGuesses(knSweepView* view);

// The triangles of a leaf, a lane each: corners and their speeds.
typedef struct knSweepLeaf
{
    knLanes3 corners[3], speeds[3], normals;
    knLanes low, high, slow, fast; // along the normals
    uint32_t triangles[KN_LANES];
    uint32_t count, node;
} knSweepLeaf;

void knSweepView_TakeLeaf(const knSweepView* view, int side, uint32_t at, knSweepLeaf* leaf);

// Every triangle of the one against every triangle of the other; none touch before `from`.
void knSweepView_TryLeaves(knSweepView* view, const knSweepLeaf* a, const knSweepLeaf* b,
                           float from);
