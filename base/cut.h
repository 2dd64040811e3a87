// SPDX-License-Identifier: Zlib
#pragma once

// Where one instance of a mesh is cut, and what a break changed: written by the cutting, read by
// the distance field and the sphere tree.
//
// Every split has a nodal function phi, linear in each tetrahedron; its sign gives the side, and it
// is zero at the nodes of other fragments. So an edge is cut at most once in the whole life of the
// object, an old crack face never moves, and a tetrahedron needs at most three planes.

#include "knap/mesh.h"

#define KN_MAX_TET_PLANES 3

// A cut edge gives two points in the same place, one for the fragment of each end.
typedef struct knCutPoint
{
    uint32_t edge;
    float t; // from the edge's v[0] to its v[1]
    knVec3 position;
} knCutPoint;

// The planes of one tetrahedron in the order they came. Plane i splits the region that holds the
// corners `region[i]` into the part with the corners `below[i]` (phi < 0) and the rest.
typedef struct knTetCut
{
    float phi[KN_MAX_TET_PLANES][4]; // at the four corners
    uint8_t region[KN_MAX_TET_PLANES];
    uint8_t below[KN_MAX_TET_PLANES];
    uint8_t planeCount;
    uint8_t unused;
} knTetCut;

typedef struct knCutStore
{
    knAllocator allocator;
    uint32_t* labels;   // per node: its fragment
    uint32_t* edgeCuts; // per edge: index into points, or KN_NONE
    uint32_t* tetCuts;  // per tetrahedron: index into cuts, or KN_NONE
    knCutPoint* points;
    knTetCut* cuts;
    uint32_t nodeCount;
    uint32_t edgeCount;
    uint32_t tetCount;
    uint32_t pointCount;
    uint32_t cutCount;
    size_t pointCapacity;
    size_t cutCapacity;
} knCutStore;

// What one split did. Arrays live in the step's arena; counts index the cut store.
typedef struct knFractureDelta
{
    uint32_t parent;             // the fragment that ended
    const uint32_t* fragments;   // the fragments that began
    const uint32_t* splitNodes;  // nodes whose label changed, ascending
    const uint32_t* crossedTets; // tetrahedra that got a plane, ascending
    uint32_t fragmentCount;
    uint32_t splitNodeCount;
    uint32_t crossedTetCount;
    uint32_t firstPoint; // new cut points are [firstPoint, firstPoint + pointCount)
    uint32_t pointCount;
} knFractureDelta;

// Nothing is cut and every node belongs to fragment 0.
KN_API knResult knCreateCutStore(knCutStore* store, const knTetMesh* mesh,
                                 const knAllocator* allocator);
KN_API void knDestroyCutStore(knCutStore* store);

// Another of the same, with memory of its own from the same allocator.
KN_API knResult knCopyCutStore(knCutStore* copy, const knCutStore* store);

// Room for so many more cut points and cut tetrahedra, so that a step need not allocate.
KN_API knResult knCutStore_Reserve(knCutStore* store, uint32_t pointCount, uint32_t cutCount);

// The corners of the part that holds the point with these barycentric weights, as a bit mask.
static inline uint8_t knTetCut_Region(const knTetCut* cut, const float weights[4])
{
    uint8_t region = 0xF;
    for (int i = 0; i < cut->planeCount; ++i)
    {
        // a plane follows the one that made its region, so one pass reaches the leaf
        if (cut->region[i] == region)
        {
            const float* phi = cut->phi[i];
            float side = phi[0] * weights[0] + phi[1] * weights[1] + phi[2] * weights[2] +
                         phi[3] * weights[3];
            region = side < 0.0f ? cut->below[i] : (uint8_t)(region & ~cut->below[i]);
        }
    }
    return region;
}

// Ids of points in trees and surfaces: nodes first, then two per cut point; side 0 belongs to the
// fragment of the edge's v[0].
static inline uint32_t knCutStore_PointId(const knCutStore* store, uint32_t cutPoint, uint32_t side)
{
    return store->nodeCount + 2 * cutPoint + side;
}
