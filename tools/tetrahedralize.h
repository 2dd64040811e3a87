// SPDX-License-Identifier: Zlib
#pragma once

// From a sound closed surface to tetrahedra, with TetGen behind a wall.

#include "import.h"

typedef struct knTetOptions
{
    double radiusEdge;   // TetGen's quality bound; the paper used 1 to 2
    double maxEdge;      // m, of edges inside; 0 for twice the longest surface edge
    uint32_t targetTets; // 0 for none
    knContainLimits limits;
} knTetOptions;

typedef struct knTetStats
{
    int runCount;           // of TetGen
    double seconds;         // that they took together
    double radiusEdge;      // that it worked with at last; 0 when quality had to be given up
    double longestSurface;  // m
    double longestInterior; // m
    double maxEdge;         // m, the limit that was asked for
    uint32_t overlongEdges; // left longer than that
    uint32_t addedPoints;   // put inside to keep edges short
} knTetStats;

knTetOptions knDefaultTetOptions(void);

// The first nodes are the surface's positions, bit for bit, and the boundary is its triangles.
// `hasCavities`: some components bound a hollow. kn_errorProcess or kn_errorMesh say what TetGen
// did and what to try.
knResult knTetrahedralize(const knSoup* surface, bool hasCavities, const knTetOptions* options,
                          knTetSoup* tets, knTetStats* stats);
