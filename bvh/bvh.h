// SPDX-License-Identifier: Zlib
#pragma once

// Collisions of triangle surfaces that deform, tear and break: within one surface and between them.
//
// A scene holds vertices and bodies, sets of triangles over them. Changes are made at once; one
// Commit per step brings the hierarchy up to date, and queries answer after it. Queries do not
// write to the scene, so several may run at a time.
//
// Which pairs are reported. Triangles are closed sets: touching counts. Two triangles are adjacent
// when they share a vertex index. A pair is reported when the triangles have more in common than
// the vertices they share and what lies between those: for a shared edge, when they are folded onto
// each other in one plane; for a shared vertex, when they meet elsewhere too. A triangle without
// area is a segment or a point. The answer is exact for the float coordinates as given. A triangle
// with a coordinate that is not finite meets nothing.

#include "knap/mesh.h"
#include "knap/pool.h"
#include "knap/tasks.h"

typedef enum knBvhBuild
{
    kn_bvhBuildMidpoint = 0, // halves of space; medians near the leaves
    kn_bvhBuildMedian,       // halves of the triangles
    kn_bvhBuildGrid,         // several levels at once by a grid and hashing (FASTCD 5.5)
    kn_bvhBuildCount
} knBvhBuild;

typedef enum knBvhUpdate
{
    kn_bvhUpdateRefit = 0, // boxes only
    kn_bvhUpdateRebuild,   // everything from scratch at each commit
    kn_bvhUpdateSelective, // refit, and rebuild the parts that lost their quality (FASTCD 5.4)
    kn_bvhUpdateCount
} knBvhUpdate;

// Parts of a surface that cannot meet themselves are skipped.
typedef enum knBvhCulling
{
    kn_bvhCullNothing = 0,
    kn_bvhCullExact, // by normals and contour, without a miss
    // The papers' own, which may miss pairs: see knBvhQueryDef.searchAll for how many.
    kn_bvhCullDualCones,   // cones of normals and of boundary binormals (FASTCD 4)
    kn_bvhCullNormalCones, // cone of normals and contour test (Volino-Thalmann, Provot)
    kn_bvhCullCount
} knBvhCulling;

typedef enum knInstructionSet
{
    kn_instructionsBest = 0, // of this machine
    kn_instructionsScalar,
    kn_instructionsSse,
    kn_instructionsAvx2,
    kn_instructionsCount
} knInstructionSet;

typedef struct knBvhSceneDef
{
    size_t size; // of this struct, set by knDefaultBvhSceneDef
    knBvhBuild build;
    knBvhUpdate update;
    knBvhCulling culling;
    knInstructionSet instructions; // all give the same answers
    int gridBits;                  // k: 2^k cells along each axis of the grid, 1 or 2
    int gridLimit;                 // G: fewer triangles than this are split by medians
    float restructureShare;        // most work that a commit spends on restructuring, as a part of
                                   // the last query's
} knBvhSceneDef;

typedef struct knBvhScene knBvhScene;

// What a scene is and what keeping it has cost.
typedef struct knBvhSceneInfo
{
    uint32_t vertexCount;
    uint32_t triangleCount;
    uint32_t bodyCount;
    uint32_t nodeCount;
    uint32_t leafCount;
    uint32_t brokenCount;      // triangles with a coordinate that is not finite
    uint64_t restructureCount; // parts rebuilt since the scene was made
    double interCost;          // TCI of the root (FASTCD, Equation 6)
    double selfCost;           // TCS of the root (Equation 7)
    size_t bytes;              // held from the allocator
    knBox bounds;
} knBvhSceneInfo;

KN_API knBvhSceneDef knDefaultBvhSceneDef(void);
KN_API knResult knCreateBvhScene(knBvhScene** scene, const knBvhSceneDef* def,
                                 const knAllocator* allocator);
KN_API void knDestroyBvhScene(knBvhScene* scene);

// Vertices are numbered in the order they come and stay; several bodies may use one.
KN_API knResult knBvhScene_AddVertices(knBvhScene* scene, const knVec3* positions, uint32_t count,
                                       uint32_t* first);

// Positions for [first, first + count); the only change in a step without a break.
KN_API knResult knBvhScene_MoveVertices(knBvhScene* scene, uint32_t first, uint32_t count,
                                        const knVec3* positions);

// In a scene without deletions triangles are numbered in the order they come; the places of deleted
// ones are used again, the last freed first. `ids` may be null. A body may be empty.
KN_API knResult knBvhScene_AddBody(knBvhScene* scene, const knTriangle* triangles, uint32_t count,
                                   uint32_t* ids, knId* body);
KN_API knResult knBvhScene_DeleteBody(knBvhScene* scene, knId body);

// A body ends and `partCount` begin: triangle triangles[i] goes to part parts[i]. Every triangle of
// the body must be named once.
typedef struct knBvhSplit
{
    knId body;
    const uint32_t* triangles;
    const uint32_t* parts;
    uint32_t triangleCount;
    uint32_t partCount;
} knBvhSplit;

KN_API knResult knBvhScene_SplitBody(knBvhScene* scene, const knBvhSplit* split, knId* bodies);

// The bodies end and one with all their triangles begins.
KN_API knResult knBvhScene_MergeBodies(knBvhScene* scene, const knId* bodies, uint32_t count,
                                       knId* merged);

// Cracks that grow: single triangles come, go, or get other vertices.
KN_API knResult knBvhScene_InsertTriangles(knBvhScene* scene, knId body,
                                           const knTriangle* triangles, uint32_t count,
                                           uint32_t* ids);
KN_API knResult knBvhScene_DeleteTriangles(knBvhScene* scene, const uint32_t* ids, uint32_t count);
KN_API knResult knBvhScene_ReplaceTriangle(knBvhScene* scene, uint32_t id, knTriangle triangle);

// Brings the hierarchy up to date. The hooks may be null.
KN_API knResult knBvhScene_Commit(knBvhScene* scene, const knTaskHooks* tasks);

typedef enum knBvhChangeKind
{
    kn_bvhBodyBegan, // added, or a part of a split, or what a merge made
    kn_bvhBodyEnded, // deleted, split or merged
    kn_bvhTriangleInserted,
    kn_bvhTriangleDeleted,
    kn_bvhTriangleReplaced
} knBvhChangeKind;

typedef struct knBvhChange
{
    knBvhChangeKind kind;
    uint32_t index;      // of the body's id, or the triangle
    uint32_t generation; // of the body's id; 0 for a triangle
} knBvhChange;

// What was done between the last two commits, in order: for whoever keeps data of their own for
// bodies and triangles. Triangles come and go with their bodies without an entry of their own.
KN_API const knBvhChange* knBvhScene_Journal(const knBvhScene* scene, uint32_t* count);

KN_API void knBvhScene_Info(const knBvhScene* scene, knBvhSceneInfo* info);

// KN_NONE in all corners when there is no such triangle.
KN_API knTriangle knBvhScene_Triangle(const knBvhScene* scene, uint32_t id);

// Null when there is no such triangle.
KN_API knId knBvhScene_TriangleBody(const knBvhScene* scene, uint32_t id);

typedef enum knBvhPairFlag
{
    kn_pairSharesVertex = 1,
    kn_pairSharesEdge = 2,
    kn_pairDuplicate = 4,  // the same three vertices
    kn_pairCoincident = 8, // other vertices in the same places, as the two faces of a new crack
} knBvhPairFlag;

typedef struct knBvhPair
{
    uint32_t a, b; // triangles, a < b
    uint32_t flags;
} knBvhPair;

// The way from all pairs to those reported, and how often each gate was passed.
typedef struct knBvhFunnel
{
    uint64_t nodeTests;   // pairs of nodes whose boxes were compared
    uint64_t culledNodes; // nodes not searched for collisions within themselves
    uint64_t leafPairs;   // pairs of leaf blocks, a block with itself included
    uint64_t boxPairs;    // pairs of triangles whose boxes overlap, none left out
    uint64_t filterPairs; // of these, left by the wide filter in float
    uint64_t exactSigns;  // signs that double could not decide
    uint64_t reportedPairs;
} knBvhFunnel;

typedef struct knBvhQueryDef
{
    size_t size;              // of this struct, set by knDefaultBvhQueryDef
    const knTaskHooks* tasks; // null: the calling thread
    bool skipAdjacent;        // leave out pairs that share a vertex
    bool skipWithin;          // leave out pairs within one body
    bool skipBetween;         // leave out pairs of different bodies
    bool searchAll;           // also what culling would skip: tells what an inexact one misses
    bool anyOnly;             // stop at the first that is found: tells only whether there is one
} knBvhQueryDef;

// Holds the answer and the scratch of a query; used again, it allocates only when it must grow.
typedef struct knBvhQuery knBvhQuery;

KN_API knBvhQueryDef knDefaultBvhQueryDef(void);
KN_API knResult knCreateBvhQuery(knBvhQuery** query, const knAllocator* allocator);
KN_API void knDestroyBvhQuery(knBvhQuery* query);

// All pairs of the scene, sorted by (a, b), the same whatever the number of workers.
KN_API knResult knBvhQuery_Run(knBvhQuery* query, const knBvhScene* scene,
                               const knBvhQueryDef* def);

// The pairs of two bodies with each other.
KN_API knResult knBvhQuery_RunBodies(knBvhQuery* query, const knBvhScene* scene, knId first,
                                     knId second, const knBvhQueryDef* def);

// Of the last run. With anyOnly there is at most one pair, and which one depends on the hierarchy.
KN_API const knBvhPair* knBvhQuery_Pairs(const knBvhQuery* query, size_t* count);
KN_API knBvhFunnel knBvhQuery_Funnel(const knBvhQuery* query);

// Returns false to stop.
typedef bool knBvhPairFcn(const knBvhPair* pair, void* user);

// Hands on the pairs of the last run in their order.
KN_API void knBvhQuery_ForEach(const knBvhQuery* query, knBvhPairFcn* fcn, void* user);

typedef struct knBvhRay
{
    knVec3 origin;
    knVec3 direction; // need not be a unit vector
    float maxFraction;
} knBvhRay;

typedef struct knBvhRayHit
{
    uint32_t triangle; // KN_NONE when nothing was hit
    float fraction;    // of the direction
} knBvhRayHit;

// The first triangle along the ray, both sides counting; at equal fractions the lowest id.
KN_API knResult knBvhScene_CastRay(const knBvhScene* scene, const knBvhRay* ray, knBvhRayHit* hit);

// Ids of the triangles whose boxes meet the box, sorted. At most `capacity` are written; *count is
// how many there are.
KN_API knResult knBvhScene_FindInBox(const knBvhScene* scene, knBox box, uint32_t* ids,
                                     uint32_t capacity, uint32_t* count);
