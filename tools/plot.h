// SPDX-License-Identifier: Zlib
#pragma once

// Curves from columns of a CSV file, as a picture.

#include "picture.h"

#define KN_MAX_COLUMNS 64
#define KN_MAX_CURVES  6

// Rows of numbers under a line of names; a field that is empty or no number is NaN.
typedef struct knColumns
{
    char names[KN_MAX_COLUMNS][32];
    uint32_t columnCount, rowCount;
    double* values; // row by row
    size_t capacity;
} knColumns;

// `columns` is untouched on failure.
knResult knReadColumns(knColumns* columns, const char* path);
void knDestroyColumns(knColumns* columns);

// KN_NONE when there is none of that name.
uint32_t knColumns_Find(const knColumns* columns, const char* name);

typedef struct knPlotDef
{
    const knColumns* columns;
    uint32_t x;
    uint32_t curves[KN_MAX_CURVES];
    uint32_t curveCount;
    const char* title;
    int width, height;
    bool hasDots; // a dot at every value
} knPlotDef;

knResult knDrawPlot(const knPlotDef* def, knPicture* picture);
