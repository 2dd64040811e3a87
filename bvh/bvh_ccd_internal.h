// SPDX-License-Identifier: Zlib
#pragma once

// What the files of continuous collision call in each other.

#include "bvh/bvh_internal.h"
#include "knap/bvh_ccd.h"

#define KN_CCD_STEPS     256  // of one test, then it is reported
#define KN_CCD_TOLERANCE 1e-6 // of the time: a part so short that is not free is a contact

// Mistakes that tests plant.
typedef enum knCcdSabotage
{
    kn_sabotageCcdBound = 1,   // no error bound
    kn_sabotageCcdOrphans = 2, // no orphans
    kn_sabotageCcdContour = 4, // culling by normals alone
} knCcdSabotage;

// The corners of the difference of two features: three for vertex and face (v - f_i), four for edge
// and edge (a0 - b0, a1 - b0, a0 - b1, a1 - b1). The features touch when the hull of the corners
// holds the origin.
typedef struct knCcdCorners
{
    double start[4][3], end[4][3];
    double separation;
    double slack; // of each coordinate of a corner
    uint32_t count;
    uint32_t sabotage;
} knCcdCorners;

// The conservative test; the floating-point mode must be the default one. Free before `until` is
// free.
knCcdAnswer knMeetCorners(const knCcdCorners* corners, double until);

// The papers' test, on the points themselves.
knCcdAnswer knMeetCubic(const knCcdTest* test, bool isFiltered);
