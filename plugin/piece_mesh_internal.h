// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/piece_mesh.h"

#define KN_TREE_LEAF  4  // triangles
#define KN_TREE_STACK 64 // halving 2^26 triangles gives a depth of 25

// What waits on the stack: a range, and the node whose right child it is.
typedef struct knTreeRange
{
    uint32_t first, count, parent;
} knTreeRange;

// A tree over boxes while it is built: at most 2 * count nodes, of which it takes the half behind
// the tree as scratch. Depends on the boxes alone.
typedef struct knTreeWork
{
    const knBox* boxes;
    knMeshNode* nodes;
    uint32_t* order;
    uint32_t count, nodeCount;
    knTreeRange stack[KN_TREE_STACK];
    int depth;
} knTreeWork;

knTreeWork knBeginMeshTree(const knBox* boxes, uint32_t count, knMeshNode* nodes, uint32_t* order);

// Parts ranges with about so many boxes together, at least one; true at the end.
bool knMeshTree_Step(knTreeWork* work, uint64_t count, uint64_t* parted);

// Fills the boxes of the nodes; returns how many there are.
uint32_t knMeshTree_End(knTreeWork* work);

// All of it at once.
uint32_t knBuildMeshTree(const knBox* boxes, uint32_t count, knMeshNode* nodes, uint32_t* order);

// Fills the groups of points; `table` is scratch, `mask` + 1 entries, a power of two above twice
// the number of points.
knResult knPieceMesh_Group(knPieceMesh* mesh, uint32_t* table, uint32_t mask);

// Fills the groups of corners: the points with ids from `first` on.
knResult knPieceMesh_GroupCorners(knPieceMesh* mesh, uint32_t first, uint32_t* table,
                                  uint32_t mask);

// The nearest triangle to a point and the point on it; false when it is further than the limit.
bool knPieceMesh_Nearest(const knPieceMesh* mesh, knVec3 p, float limit, knVec3* point,
                         uint32_t* triangle);
