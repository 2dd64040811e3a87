// SPDX-License-Identifier: Zlib
#pragma once

// How the sharp edges of pieces follow a break.

#include "family_internal.h"

#define ORIGINAL 0x80000000u // in `source`: an edge of the mesh; else 8 * tetrahedron + face
#define INSIDE   4u          // in place of a face: the edge concerns one tetrahedron

typedef struct Edges
{
    knFamily* family;
    const knFractureDelta* delta;
    const knCutStore* cuts;
    const knTetMesh* mesh;
    knPieceEdge* pool;
    uint32_t count;
    uint32_t capacity;
    knVec3* normals; // by record: of crossed tetrahedra with one plane, out of the part below it
} Edges;

static inline uint32_t EdgeId(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static inline void AddEdge(Edges* e, knPieceEdge edge)
{
    KN_ASSERT(e->count < e->capacity);
    if (e->count < e->capacity)
    {
        e->pool[e->count++] = edge;
    }
}

// Whether the break that is followed gave the tetrahedron a plane.
static inline bool IsCrossed(const Edges* e, uint32_t tet)
{
    const uint32_t* edges = e->mesh->tetEdges[tet].e;
    bool crossed = false;
    for (int k = 0; k < 6; ++k)
    {
        uint32_t point = e->cuts->edgeCuts[edges[k]];
        crossed |= point >= e->delta->firstPoint && point != KN_NONE;
    }
    return crossed;
}

// New edges around the crack faces of a crossed tetrahedron; the normals first, for all.
void knEdges_FindNormals(Edges* e);
void knEdges_AddCrossed(Edges* e, uint32_t tet);
