// SPDX-License-Identifier: Zlib
#pragma once

// The closed surface of one piece as triangles, with a tree of boxes over them: what is drawn, and
// what rays, sweeps and an engine's own mesh code work on. Made once, when a piece is born.
//
// Positions are in the frame of the body: the asset's axes, the centre of mass at the origin.

#include "knap/family.h"

typedef struct knMeshVertex
{
    knVec3 position; // relative to the centre of mass
    knVec3 normal;
    float u, v;
    uint32_t point; // id of the point, the same as long as the object lives
} knMeshVertex;

// Where a triangle comes from.
typedef struct knMeshSource
{
    uint32_t triangle;   // of the original surface; KN_NONE on a crack
    uint32_t tet;        // tetrahedron that it bounds
    uint32_t isInterior; // shows the material's inside
} knMeshSource;

typedef struct knMeshNode
{
    knBox box;
    uint32_t first; // triangle in the order of the tree, or the right child; the left one follows
    uint32_t count; // triangles of a leaf; 0 inside
} knMeshNode;

#define KN_GROUP_POINTS 16

// Points of the surface that lie together.
typedef struct knPointGroup
{
    float x[KN_GROUP_POINTS], y[KN_GROUP_POINTS], z[KN_GROUP_POINTS];
    knVec3 center; // of a ball around them
    float radius;
} knPointGroup;

#define KN_CORNER_LANES 8

// Points where cracks meet inside a tetrahedron or on its face. They lie on no edge of the mesh, so
// the sphere tree does not have them; queries test them besides. In the frame of the asset.
typedef struct knCornerGroup
{
    float x[KN_CORNER_LANES], y[KN_CORNER_LANES], z[KN_CORNER_LANES];
    uint32_t points[KN_CORNER_LANES];
    uint32_t count;
    knVec3 center; // of a ball around them
    float radius;
} knCornerGroup;

// A vertex per corner of the drawing: corners with the same point, normal and texture share one.
typedef struct knPieceMesh
{
    knAllocator allocator;
    knVec3 center; // of mass, in the frame of the asset
    float radius;  // m; the furthest vertex from the centre of mass
    knMeshVertex* vertices;
    knTriangle* triangles; // into vertices, counter-clockwise from outside
    knMeshSource* sources; // per triangle
    knMeshNode* nodes;
    uint32_t* order;      // of the triangles in the tree's leaves
    knPointGroup* groups; // all points, for the support of the hull
    knCornerGroup* corners;
    uint32_t groupCount;
    uint32_t cornerGroupCount;
    uint32_t vertexCount;
    uint32_t triangleCount;
    uint32_t nodeCount;
    size_t vertexCapacity; // allocated
    size_t groupCapacity;  // allocated
} knPieceMesh;

// Scratch of the surface comes from the arena, which is given back what it had; kn_errorMemory
// when it is too small, its wantedBytes say by how much. Without one the call makes its own for the
// while. Options may be null.
KN_API knResult knCreatePieceMesh(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                                  const knPieceOptions* options, knArena* scratch,
                                  const knAllocator* allocator);
KN_API void knDestroyPieceMesh(knPieceMesh* mesh);
KN_API size_t knPieceMesh_Bytes(const knPieceMesh* mesh);

// Makes one mesh after the other in slices; the same to the bit. The fragments may not change until
// a mesh is done.
typedef struct knPieceMeshWork knPieceMeshWork;

KN_API knResult knCreatePieceMeshWork(knPieceMeshWork** work, const knAllocator* allocator);
KN_API void knDestroyPieceMeshWork(knPieceMeshWork* work);
KN_API knResult knPieceMeshWork_Begin(knPieceMeshWork* work, const knFragmentSet* set,
                                      uint32_t fragment);

// About so many units, at least a few; a unit is about 30 ns. The mesh is written when it is done.
// On failure the call may be repeated.
KN_API knResult knPieceMeshWork_Step(knPieceMeshWork* work, uint64_t units, knPieceMesh* mesh,
                                     uint64_t* spent);
KN_API bool knPieceMeshWork_IsDone(const knPieceMeshWork* work);

static inline void knPieceMesh_Corners(const knPieceMesh* mesh, uint32_t triangle, knVec3 v[3])
{
    for (int i = 0; i < 3; ++i)
    {
        v[i] = mesh->vertices[mesh->triangles[triangle].v[i]].position;
    }
}

// The point of the surface that lies furthest along a direction.
KN_API knVec3 knPieceMesh_Support(const knPieceMesh* mesh, knVec3 direction);

// Returns false to stop.
typedef bool knTriangleFcn(const knVec3 corners[3], uint32_t triangle, void* user);

// Calls for every triangle whose box overlaps the given one, in the order of the tree.
KN_API void knForEachTriangle(const knPieceMesh* mesh, knBox box, knTriangleFcn* callback,
                              void* user);
