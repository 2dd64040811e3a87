// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/piece_mesh.h"

#define KN_TREE_LEAF  4  // triangles
#define KN_TREE_STACK 64 // halving 2^26 triangles gives a depth of 25

// Builds a tree over boxes: at most 2 * count nodes; `order` is filled. Depends on the boxes alone.
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
