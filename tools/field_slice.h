// SPDX-License-Identifier: Zlib
#pragma once

// A plane of samples through a broken object: which piece holds each and how deep it lies in it,
// once measured against the pieces' closed surfaces and once asked of the distance field.

#include "picture.h"

#include "knap/family.h"

#define KN_MAX_SLICE_PIECES 256
#define KN_NO_PIECE         UINT16_MAX

// Samples run along `across` in a row; rows run down the picture along `down`.
typedef struct knSlice
{
    int axis;         // 0..2, normal to the plane
    int across, down; // the other two
    knVec3 corner;    // of the first sample; its component along `axis` is that of all
    float step;       // m from sample to sample
    float downStep;   // the same, negative where the picture's up is the axis's up
    int columns, rows;
} knSlice;

// The plane through the middle of the box; the box and a margin fill so many samples.
knSlice knMakeSlice(knBox bounds, int axis, int columns, int rows);
knVec3 knSlice_Point(const knSlice* slice, int column, int row);

// A triangle to measure against.
typedef struct knTrueTriangle
{
    knDVec3 v[3]; // in the order of their ids, so that neighbours cut a shared edge alike
    knDVec3 center;
    knDVec3 normal; // unit; zero for a triangle without area
    double radius;
    bool isCrack;
} knTrueTriangle;

typedef struct knTruePiece
{
    knTrueTriangle* triangles;
    uint32_t triangleCount;
    uint32_t fragment;
} knTruePiece;

// The closed surfaces of the live pieces, apart from the family they came from.
typedef struct knTruth
{
    knTruePiece pieces[KN_MAX_SLICE_PIECES];
    uint32_t pieceCount;
} knTruth;

knResult knCreateTruth(knTruth* truth, const knFamily* family);
void knDestroyTruth(knTruth* truth);

typedef struct knSliceSample
{
    float depth;    // m below the piece's surface; 0 outside
    knVec3 way;     // unit, to the nearest point of the surface; zero where that is not known
    uint16_t piece; // place in the truth's list, or KN_NO_PIECE
    bool atCrack;   // the nearest point is on a crack; of the truth alone
} knSliceSample;

// Parity of the crossings along each row: watertight, and exact but for the rounding of the
// crossing points.
void knTruth_Label(const knTruth* truth, const knSlice* slice, const knTaskHooks* tasks,
                   knSliceSample* samples);

// The largest cross-section of the three through the middle.
knResult knTruth_LargestAxis(const knTruth* truth, knBox bounds, const knTaskHooks* tasks,
                             int* axis);

// What the plane through the middle of the bounds meets, flat along the axis.
knBox knTruth_SliceBox(const knTruth* truth, knBox bounds, int axis);

// The way to the nearest triangle, in double precision, of every labelled sample.
knResult knTruth_Measure(const knTruth* truth, const knSlice* slice, const knTaskHooks* tasks,
                         knSliceSample* samples);

// The same by knFieldQuery_Penetration alone.
void knAskField(const knFragmentField* field, const knTruth* truth, const knSlice* slice,
                const knTaskHooks* tasks, knSliceSample* samples);

typedef struct knSliceErrors
{
    double mean, worst; // m
    double deepest;     // m, of the truth
    uint64_t count;     // samples that the truth or the field puts inside a piece
    uint64_t astray;    // of these, put into different pieces, or by one of them into none
    uint64_t steps;     // from sample to neighbour on which the exact depth surely grows
    uint64_t falls;     // of these, the field's depth falls
    double worstFall;   // m, over one step
    double angle;       // degrees; 95 of 100 directions are nearer to the truth
    double crackAngle;  // the same near cracks
    uint64_t crackCount;
} knSliceErrors;

// A sample astray counts with the whole depth: nothing is left out. Directions are near a crack
// when it is the nearest of the surface and at most `near` away.
knSliceErrors knCompareSlices(const knSlice* slice, const knSliceSample* exact,
                              const knSliceSample* ours, float near);
