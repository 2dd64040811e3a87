// SPDX-License-Identifier: Zlib
#pragma once

// The part of a cut tetrahedron that holds some of its corners, as a convex polytope.
//
// Which vertices and faces it has follows from the cuts alone, never from a rounded number: each
// vertex belongs to one corner of the part and lies on that corner's side of every later plane. A
// point on an edge or a face is computed from the data of that edge or face in ascending order of
// node ids, so neighbouring tetrahedra get the same bits.

#include "knap/cut.h"

#define KN_MAX_REGION_VERTICES 10
#define KN_MAX_REGION_FACES    (4 + KN_MAX_TET_PLANES)
#define KN_MAX_REGION_LOOP     (KN_MAX_REGION_FACES - 1)

typedef enum knRegionPoint
{
    kn_regionNode,    // a corner
    kn_regionEdge,    // where an edge is cut
    kn_regionFace,    // where two planes meet on a face
    kn_regionInterior // where three planes meet
} knRegionPoint;

typedef struct knRegionVertex
{
    double weights[4]; // barycentric, by corner of the tetrahedron; exactly 0 off its feature
    knVec3 position;
    uint8_t kind;    // knRegionPoint
    uint8_t feature; // the corner, edge (knTetEdgeCorners) or face (knTetFaceCorners); 0 inside
    uint8_t owner;   // the corner of the part that it belongs to
    uint8_t support; // bit mask of the corners with weight
} knRegionVertex;

// Counter-clockwise from outside.
typedef struct knRegionFace
{
    uint8_t source; // face 0..3 of the tetrahedron, or 4 + i for plane i
    uint8_t count;
    uint8_t loop[KN_MAX_REGION_LOOP];
} knRegionFace;

typedef struct knTetRegion
{
    knRegionVertex vertices[KN_MAX_REGION_VERTICES];
    knRegionFace faces[KN_MAX_REGION_FACES];
    uint8_t vertexCount;
    uint8_t faceCount;
    uint8_t mask;
} knTetRegion;

// `corners` are the positions and `nodes` the ids of the four corners; `cut` may be null for a
// whole tetrahedron. A mask that several later parts share gives the part as it was before they
// parted; an empty mask gives an empty part. O(1), no allocation.
KN_API void knMakeTetRegion(knTetRegion* region, const knVec3 corners[4], const uint32_t nodes[4],
                            const knTetCut* cut, uint8_t mask);

// The part of tetrahedron `tet` that holds the corners of `mask`.
KN_API void knCutStore_Region(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                              uint8_t mask, knTetRegion* region);

// One crack face of a part, counter-clockwise from outside.
typedef struct knCrackFace
{
    knVec3 points[KN_MAX_REGION_LOOP];
    uint8_t count;
    uint8_t plane; // of the tetrahedron's cut
} knCrackFace;

typedef struct knCrackFaces
{
    knCrackFace faces[KN_MAX_TET_PLANES];
    uint32_t count; // 0 for a whole tetrahedron
} knCrackFaces;

// The crack faces alone of the part that holds the corners of `mask`, as knCutStore_Region has
// them. A part that one plane bounds, as nine in ten, costs three or four look-ups in the store and
// no arithmetic: this is the way to ask for cracks. Needs the points of the tetrahedron in the
// store.
KN_API void knCutStore_CrackFaces(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                                  uint8_t mask, knCrackFaces* cracks);

// What lies around a crack face, point by point.
typedef struct knCrackRim
{
    uint32_t ids[KN_MAX_REGION_LOOP];   // knCutStore_RegionPointId
    uint8_t across[KN_MAX_REGION_LOOP]; // from point i to the next: face 0..3, or 4 + plane
} knCrackRim;

// The same crack faces with what they border on; `rims` has room for KN_MAX_TET_PLANES.
KN_API void knCutStore_CrackRims(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                                 uint8_t mask, knCrackFaces* cracks, knCrackRim* rims);

// The corners of tetrahedron `tet` that belong to `fragment`.
static inline uint8_t knCutStore_Mask(const knCutStore* store, const knTetMesh* mesh, uint32_t tet,
                                      uint32_t fragment)
{
    const uint32_t* v = mesh->tets[tet].v;
    const uint32_t* labels = store->labels;
    return (uint8_t)((labels[v[0]] == fragment) | (labels[v[1]] == fragment) << 1 |
                     (labels[v[2]] == fragment) << 2 | (labels[v[3]] == fragment) << 3);
}

// Where an edge from node `low` to node `high` (low < high) is cut by a function with these values
// of opposite sign: the share of the way from low to high.
static inline double knCutShare(double phiLow, double phiHigh)
{
    double range = phiLow - phiHigh;
    return range != 0.0 ? phiLow / range : 0.5;
}

// The same bits that knMakeTetRegion gives to the cut point of that edge.
KN_API knVec3 knCutPosition(knVec3 low, knVec3 high, double share);

// In m^3; exact up to rounding in double, from the weights and not from the rounded positions.
KN_API double knTetRegion_Volume(const knTetRegion* region, const knVec3 corners[4]);

// Ids of points where planes meet, beside those of knCutStore_PointId. They last as long as the
// object and never meet: the number of nodes, edges and tetrahedra bounds them.
KN_API uint32_t knCutStore_RegionPointId(const knCutStore* store, const knTetMesh* mesh,
                                         uint32_t tet, const knRegionVertex* vertex);
