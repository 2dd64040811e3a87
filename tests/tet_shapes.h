// SPDX-License-Identifier: Zlib
#pragma once

// Meshes of tetrahedra whose shape is known beforehand, made without the code under test.

#include "knap/mesh.h"

// Nodes on the outside come first, as a cooked asset wants them.
typedef struct TetShape
{
    knVec3* nodes;
    knTet* tets;
    uint32_t nodeCount;
    uint32_t surfaceNodeCount;
    uint32_t tetCount;
} TetShape;

// The corners (0,0,0), (1,0,0), (0,1,0), (0,0,1).
TetShape MakeSingleTet(void);

// A box of so many cells along each axis, each cell cut into the six tetrahedra of Kuhn.
TetShape MakeLatticeBox(const int cells[3], knVec3 lower, knVec3 upper);

// The same lattice, a cube of `cells` cells along each axis, pushed out to a ball.
TetShape MakeBall(int cells, float radius, knVec3 center);

void DestroyShape(TetShape* shape);

// Moves the nodes inside by up to `amount` along each axis; the outside stays where it is.
void JitterInside(TetShape* shape, float amount, uint64_t seed);

// Moves every node.
void JitterAll(TetShape* shape, float amount, uint64_t seed);

// Another order of nodes and tetrahedra, and turned corners, of the same mesh. Nodes of the outside
// are no longer first.
void ShuffleShape(TetShape* shape, uint64_t seed);

// Drops about this share of the tetrahedra: cavities, several parts, touching edges and vertices.
void DropTets(TetShape* shape, float share, uint64_t seed);
