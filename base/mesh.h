// SPDX-License-Identifier: Zlib
#pragma once

// Meshes as plain data: the surface that is seen and the tetrahedra behind it. Views only: whoever
// fills them owns the memory (a cooked asset, or knTetMeshStore while cooking).

#include "knap/memory.h"
#include "knap/vecmath.h"

#include <stdint.h>

#define KN_NONE UINT32_MAX
#define KN_MAX_MESH_SIZE                                                                           \
    (1u << 26) // nodes, triangles or tetrahedra; keeps 32-bit ids of parts safe

typedef struct knTriangle
{
    uint32_t v[3]; // counter-clockwise from outside
} knTriangle;

typedef struct knTet
{
    uint32_t v[4]; // knTetVolume6 > 0
} knTet;

typedef struct knEdge
{
    uint32_t v[2]; // v[0] < v[1]
} knEdge;

// What a corner carries besides its position; crack faces make their own.
typedef struct knCornerAttribute
{
    knVec3 normal;
    float u, v;
} knCornerAttribute;

// Positions are shared across seams; each corner of a triangle names its attribute.
typedef struct knSurfaceMesh
{
    const knVec3* positions;
    const knTriangle* triangles;
    const knTriangle* cornerAttributes; // per triangle, three indices into attributes
    const knCornerAttribute* attributes;
    uint32_t positionCount;
    uint32_t triangleCount;
    uint32_t attributeCount;
    bool hasUv; // the source had texture coordinates
} knSurfaceMesh;

// The six edges and four faces of a tetrahedron by local corner. Face i lies opposite corner i and
// its corners are counter-clockwise from outside.
static const uint8_t knTetEdgeCorners[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
static const uint8_t knTetFaceCorners[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

typedef struct knTetNeighbors
{
    uint32_t t[4]; // across face i; KN_NONE on the boundary
} knTetNeighbors;

typedef struct knTetEdges
{
    uint32_t e[6]; // in the order of knTetEdgeCorners
} knTetEdges;

// Nodes [0, surfaceNodeCount) are the vertices of the surface, in its order; the rest lie inside.
// Triangle i of the surface is face boundaryFaces[i] % 4 of tetrahedron boundaryFaces[i] / 4.
typedef struct knTetMesh
{
    const knVec3* nodes;
    const knTet* tets;
    const knTetNeighbors* neighbors;
    const knEdge* edges; // sorted by v[0], then v[1]
    const knTetEdges* tetEdges;
    const uint32_t* nodeEdgeStarts; // nodeCount + 1; the edges of node n are
    const uint32_t* nodeEdges; // nodeEdges[nodeEdgeStarts[n] .. nodeEdgeStarts[n + 1]), ascending
    const uint32_t* boundaryFaces; // one per surface triangle
    uint32_t nodeCount;
    uint32_t surfaceNodeCount;
    uint32_t tetCount;
    uint32_t edgeCount;
    uint32_t boundaryFaceCount;
} knTetMesh;

typedef struct knMassProperties
{
    double volume; // m^3
    double mass;   // kg
    knDVec3 center;
    knDSym3 inertia; // about the centre, kg m^2
} knMassProperties;

// Sums over parts about one point near them, not about the frame's origin: a mesh far away would
// lose its inertia in rounding. Zero at first.
typedef struct knMoments
{
    double volume;
    knDVec3 first;
    knDSym3 second; // integral of r r^T
} knMoments;

// The corners are relative to the point; positive volume as knTetVolume6.
KN_API void knMoments_AddTet(knMoments* moments, const knDVec3 corners[4]);
KN_API knMassProperties knMoments_Finish(const knMoments* moments, knDVec3 origin, double density);

// Owns what knBuildTetMesh derives. The nodes and tetrahedra stay the caller's.
typedef struct knTetMeshStore
{
    knAllocator allocator;
    knTetMesh mesh;
    void* memory;
    size_t memorySize;
} knTetMeshStore;

// Derives neighbours, edges and boundary from nodes and tetrahedra in O(n log n). kn_errorMesh
// names the first tetrahedron that is flat, turned, out of range, or shares a face with two others.
// Boundary faces come in the order of (tetrahedron, face); `surfaceNodeCount` is left at nodeCount.
KN_API knResult knBuildTetMesh(knTetMeshStore* store, const knVec3* nodes, uint32_t nodeCount,
                               const knTet* tets, uint32_t tetCount, const knAllocator* allocator);
KN_API void knDestroyTetMeshStore(knTetMeshStore* store);

static inline knTriangle knTetMesh_BoundaryTriangle(const knTetMesh* mesh, uint32_t boundaryFace)
{
    const uint32_t* v = mesh->tets[boundaryFace / 4].v;
    const uint8_t* corner = knTetFaceCorners[boundaryFace % 4];
    knTriangle triangle = {{v[corner[0]], v[corner[1]], v[corner[2]]}};
    return triangle;
}

// Binary search; KN_NONE when the two nodes share no edge.
KN_API uint32_t knTetMesh_FindEdge(const knTetMesh* mesh, uint32_t a, uint32_t b);

// Exact up to rounding in double.
KN_API knMassProperties knTetMesh_MassProperties(const knTetMesh* mesh, double density);
KN_API double knSurfaceVolume(const knVec3* positions, const knTriangle* triangles, uint32_t count);
KN_API double knSurfaceArea(const knVec3* positions, const knTriangle* triangles, uint32_t count);
KN_API knBox knBoundingBox(const knVec3* positions, uint32_t count);
