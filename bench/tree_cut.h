// SPDX-License-Identifier: Zlib
#pragma once

// Surfaces that are cut by planes, in the manner of the 2007 paper: triangles that the crack
// crosses are decomposed, and walls grow inwards from it, on both sides with vertices of their own.
// Triangles and vertices are only ever appended; the first piece of a triangle takes its number.

#include "knap/mesh.h"

#include <stdbool.h>

#define MAX_CUTS 16

typedef enum CutShape
{
    cutStatic,  // a lobed body, split in two along its length
    cutApple,   // strips of peel that curl outwards while they are cut
    cutPumpkin, // a ribbed sphere that breaks into sectors
} CutShape;

typedef struct CutVertex
{
    knDVec3 rest;
    uint32_t strip; // apple: which one it moves with
} CutVertex;

typedef struct CutEdge
{
    uint32_t low, high, cut; // vertices and plane; low of KN_NONE: free
    uint32_t made[2][2];     // side, on the surface or inside
} CutEdge;

// What one step of a crack does.
typedef struct CutStep
{
    uint32_t* old;
    knTriangle* pieces;
    uint32_t* pieceOf;
    knTriangle* faces;
    uint32_t* faceWalls; // what they are in CutMesh.walls
    uint32_t oldCount, pieceCount, faceCount;
} CutStep;

typedef struct CutMesh
{
    CutShape shape;
    CutVertex* vertices;
    knVec3* positions;
    knTriangle* triangles;
    uint32_t* walls; // per triangle: 0, or 1 + 2 * cut + side
    bool* isCut;     // per triangle: no longer as it was made
    uint32_t vertexCount, triangleCount, originalCount, capacity;
    CutEdge* edges; // hash table
    uint32_t edgeMask;
    knDVec3 normals[MAX_CUTS]; // of the planes, through the axis
    knDVec3 along[MAX_CUTS];   // the half that an apple is cut in
    int cutCount;
    CutStep step;
    double depth; // apple: polar angle that the cuts have reached
} CutMesh;

// Room for as many triangles again and a half; false without memory.
bool MakeCutMesh(CutMesh* mesh, CutShape shape, uint32_t rows, uint32_t columns, int cutCount);
void FreeCutMesh(CutMesh* mesh);

// A step begins with ClearStep, gathers what one or more planes do, and ends with FinishStep, which
// gives pieces and faces their numbers: the first piece that of its triangle, then the other
// pieces, then the faces.
void ClearStep(CutMesh* mesh);

// Decomposes what crosses plane `cut` with its middle's height in [low, high), or for an apple is
// nearer to the pole than `high`.
void CutByPlane(CutMesh* mesh, int cut, double low, double high);
void FinishStep(CutMesh* mesh);

// Apple: where everything is when the strips have curled so far.
void CurlStrips(CutMesh* mesh, double curl);

// Pumpkin: the sector of each triangle, from 0; returns their number.
uint32_t FindSectors(const CutMesh* mesh, uint32_t* parts);
