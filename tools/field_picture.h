// SPDX-License-Identifier: Zlib
#pragma once

// The picture of `knap field`: four panels of depth in two rows, after Figure 3 of the 2012 paper.

#include "field_slice.h"

#define KN_FIELD_SAMPLES 2 // per pixel and axis

// Where things stand for a picture of this size, in pixels.
typedef struct knFieldLayout
{
    int width, height;
    float textSize;
    int panelWidth, panelHeight;
    int panelX[2], panelY[2]; // of the columns and the rows
    int barX, barWidth;       // the scale of a row
} knFieldLayout;

knFieldLayout knMakeFieldLayout(int width, int height);

// One row: the truth, the field, and one scale for both.
typedef struct knFieldRow
{
    const knSliceSample* exact;
    const knSliceSample* ours;
    knSliceErrors errors;
    uint32_t pieceCount;
    float step; // m from sample to sample
} knFieldRow;

// `radius` is the object's, which errors are given as a share of.
knResult knDrawField(const knFieldLayout* layout, const knFieldRow rows[2], double radius,
                     knPicture* picture);
