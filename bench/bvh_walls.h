// SPDX-License-Identifier: Zlib
#pragma once

// Eight walls that a ball dents and breaks one after the other, as in FASTCD: 44K to 145K
// triangles.

#include "knap/bvh.h"

#define WALLS         8
#define WALL_SQUARES  36 // along each side
#define PIECE_SQUARES 4
#define PIECES        (WALL_SQUARES / PIECE_SQUARES * (WALL_SQUARES / PIECE_SQUARES)) // of a wall

// Triangles and vertices as they are after the last broken wall; old ones stay unused.
typedef struct Walls
{
    knVec3* rest;
    knVec3* positions;
    uint32_t vertexCount;
    knTriangle* triangles; // of the bodies that are there now
    uint32_t* bodies;      // of each triangle: wall, or WALLS + piece
    uint32_t triangleCount;
    uint32_t pieceFirst[WALLS]; // vertex of the first piece of a broken wall
    int brokenCount;
} Walls;

// False when there is no memory.
bool MakeWalls(Walls* walls);
void FreeWalls(Walls* walls);

// Vertices and triangles of one piece; every piece has as many.
uint32_t PieceVertexCount(void);
uint32_t PieceTriangleCount(void);
uint32_t WallVertexCount(void);
uint32_t WallTriangleCount(void);

// The next wall is replaced by its pieces, at the end of the vertices and the triangles.
void BreakWall(Walls* walls);

// Positions of the frame: a wall breaks in the middle of each period.
void MoveWalls(Walls* walls, int frame, int period);
