// SPDX-License-Identifier: Zlib
#pragma once

// How the surface of a piece is put together.

#include "fracture/cutting_internal.h"

typedef struct Build
{
    const knFragmentSet* set;
    const knCutStore* store;
    const knCutMesh* cutMesh;
    knPieceOptions options;
    knArena* arena;
    uint32_t fragment;
    const uint32_t* nodes;
    uint32_t triangleLimit;
    uint32_t cutCornerCount; // corners of polygons that are not nodes
    knVec3* positions;
    uint32_t* pointIds;
    knTriangle* triangles;
    knPieceTriangle* sources;
    knCornerAttribute* corners;
    uint32_t vertexCount;
    uint32_t triangleCount;
    uint32_t crackTriangleCount;
    uint32_t* nodeVertices; // by place in the fragment
    uint32_t* table;        // vertices by hashed point id
    int tableShift;
    uint32_t nextNode; // by place in the fragment
    bool isEmitting;   // all polygons have been counted
    bool isDone;
    size_t mark; // of the arena behind the outputs
} Build;

// A face of a part of a tetrahedron that shows.
typedef struct Polygon
{
    const knTetRegion* region;
    const knRegionFace* face;
    uint32_t tet;
    uint32_t triangle; // of the surface; KN_NONE on a crack
} Polygon;

// Normals and texture coordinates, one per corner of the polygon: cut_corners.c
void knCut_MakeCorners(const Build* build, const Polygon* polygon, knCornerAttribute* corners);

// The same for a whole triangle of the surface and its nodes.
void knCut_MakeWholeCorners(const Build* build, const uint32_t nodes[3], uint32_t triangle,
                            knCornerAttribute corners[3]);
knResult knCut_SmoothCracks(Build* build);
