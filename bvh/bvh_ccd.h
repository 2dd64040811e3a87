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

// A step of a whole surface.
typedef struct knCcdStepDef
{
    size_t size; // of this struct, set by knDefaultCcdStepDef
    const knVec3* start;
    const knVec3* end;
    const knTriangle* triangles; // the connectivity of this step; others may have another
    uint32_t vertexCount;
    uint32_t triangleCount;
    double separation;
} knCcdStepDef;

// Features that touch. Vertex and face: a is the vertex, b the triangle. Edge and edge: a < b.
typedef struct knCcdContact
{
    knCcdKind kind;
    uint32_t a, b;
    double time; // there is no contact of these two before
} knCcdContact;

typedef struct knCcdFunnel
{
    uint64_t nodeTests;
    uint64_t edgeTests, faceTests; // elementary tests, none of them twice
    uint64_t steps;                // of these tests together
    uint64_t cappedTests;
} knCcdFunnel;

typedef struct knCcdStep knCcdStep;

KN_API knCcdStepDef knDefaultCcdStepDef(void);

// Every pair of features without a common vertex is covered. A feature with a coordinate that is
// not finite touches nothing.
KN_API knResult knRunCcdStep(knCcdStep** step, const knCcdStepDef* def,
                             const knAllocator* allocator);
KN_API void knDestroyCcdStep(knCcdStep* step);

// Edges first, then vertices with faces; by a, then b.
KN_API const knCcdContact* knCcdStep_Contacts(const knCcdStep* step, size_t* count);

// Sorted by the higher vertex, then the lower; an edge's number is its place.
KN_API const knEdge* knCcdStep_Edges(const knCcdStep* step, size_t* count);
KN_API knCcdFunnel knCcdStep_Funnel(const knCcdStep* step);
