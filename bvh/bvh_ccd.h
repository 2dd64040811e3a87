// SPDX-License-Identifier: Zlib
#pragma once

// Continuous collision between two time steps: vertices move on straight lines, each at constant
// speed, and the features of the triangles between them (vertex and face, edge and edge) may touch.
//
// The default test never misses: whatever the rounding, the scale or the floating-point mode, a
// contact is reported, and never later than it happens (docs/ccd.md has the proof). It may report
// features that pass within rounding of each other. A surface that is penetrated from the start has
// no contact of features there, and is no contact here: that is what knBvhQuery finds.

#include "knap/bvh.h"

typedef enum knCcdKind
{
    kn_ccdVertexFace = 0, // points: v, f0, f1, f2
    kn_ccdEdgeEdge,       // points: a0, a1, b0, b1
} knCcdKind;

typedef enum knCcdSolver
{
    kn_ccdConservative = 0, // by directions that part the features, without a miss
    kn_ccdCubic,            // roots of the coplanarity cubic in double (ICCD III-B); can miss
    kn_ccdFiltered,         // the same behind the Bernstein non-penetration filter
    kn_ccdSolverCount
} knCcdSolver;

// One elementary test. Times go from 0 at the start to 1 at the end.
typedef struct knCcdTest
{
    knDVec3 start[4], end[4];
    knCcdKind kind;
    double separation; // contact is a distance of at most this
    double slack;      // what each coordinate may be off by, for data that are no doubles
} knCcdTest;

typedef struct knCcdAnswer
{
    bool isContact;
    bool isAtStart; // within rounding of contact at time 0
    bool isCapped;  // reported as the steps ran out
    uint32_t stepCount;
    double time; // conservative: there is no contact before; 1 when there is none
} knCcdAnswer;

// A coordinate that is not finite, a negative separation or slack fail.
KN_API knResult knRunCcdTest(const knCcdTest* test, knCcdSolver solver, knCcdAnswer* answer);
