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

// How the pairs of features are found. All give the same contacts. A step in which a triangle is
// not finite goes by features.
typedef enum knCcdMethod
{
    kn_ccdFeatures = 0, // features stand in the leaves of a tree of triangles, each in one
    kn_ccdTriangles,    // ICCD V: pairs of triangles, procedural representatives, orphan sets
    kn_ccdEveryTest,    // pairs of triangles with all their tests: the paper's base
    kn_ccdMethodCount
} knCcdMethod;

// Which parts of a surface are not searched for contacts within themselves. Without effect when
// there is a separation.
typedef enum knCcdCulling
{
    kn_ccdCullExact = 0, // normals and a contour that is a star, for the whole step: never misses
    kn_ccdCullNone,      //
    kn_ccdCullCones,     // ICCD IV: continuous normal cones and contour tests
    kn_ccdCullConesOnly, // the same without contour tests; misses
    kn_ccdCullBoundary,  // with contour tests of the surface's own boundary alone; can miss
    kn_ccdCullDualCones, // FASTCD 4.3: continuous normal and binormal cones; can miss
    kn_ccdCullingCount
} knCcdCulling;

// How the hierarchy is made. By connectivity it has two levels (ICCD VI): trees of objects, from
// their triangles upwards, and one above these. Where triangles change it is made anew.
typedef enum knCcdBuild
{
    kn_ccdByMedians = 0,
    kn_ccdByConnectivity,
    kn_ccdBuildCount
} knCcdBuild;

// What bounds its nodes, at both ends of the step.
typedef enum knCcdBound
{
    kn_ccdBoxes = 0,
    kn_ccdDops, // 18-DOPs, as the paper has them
    kn_ccdBoundCount
} knCcdBound;

// A step of a whole surface.
typedef struct knCcdStepDef
{
    size_t size; // of this struct, set by knDefaultCcdStepDef
    const knVec3* start;
    const knVec3* end;
    // Null, or what start and end are rounded from: then these count, and all that is said of them.
    const knDVec3* exactStart;
    const knDVec3* exactEnd;
    const knTriangle* triangles; // the connectivity of this step; others may have another
    uint32_t vertexCount;
    uint32_t triangleCount;
    double separation;
    knCcdSolver solver;
    knCcdMethod method;
    knCcdCulling culling;
    knCcdBuild build;
    knCcdBound bound;
    knInstructionSet instructions;
    bool firstOnly;           // only the contact that comes first
    bool rebuild;             // nothing is kept from the step before
    const knTaskHooks* tasks; // null: on the calling thread
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
    uint64_t culledNodes;
    uint64_t contourTests;         // nodes whose contour was looked at
    uint64_t trianglePairs;        // whose boxes meet, in the methods that make pairs of these
    uint64_t edgeTests, faceTests; // pairs of features whose boxes meet, each once; or, of pairs of
                                   // triangles, all that they make
    uint64_t exactTests;           // of these, left by the wide filter
    uint64_t orphanTests;          // of these, orphans
    uint64_t steps;                // of these tests together
    uint64_t cappedTests;
} knCcdFunnel;

typedef struct knCcdStep knCcdStep;

KN_API knCcdStepDef knDefaultCcdStepDef(void);

KN_API knResult knCreateCcdStep(knCcdStep** step, const knAllocator* allocator);
KN_API void knDestroyCcdStep(knCcdStep* step);

// Every pair of features without a common vertex is covered. A feature with a coordinate that is
// not finite touches nothing. What the connectivity gives is kept from run to run, and brought up
// to date where triangles have changed. After a failure there are no contacts.
KN_API knResult knCcdStep_Run(knCcdStep* step, const knCcdStepDef* def);

// Edges first, then vertices with faces; by a, then b.
KN_API const knCcdContact* knCcdStep_Contacts(const knCcdStep* step, size_t* count);

// Sorted by the higher vertex, then the lower; an edge's number is its place.
KN_API const knEdge* knCcdStep_Edges(const knCcdStep* step, size_t* count);
KN_API knCcdFunnel knCcdStep_Funnel(const knCcdStep* step);
