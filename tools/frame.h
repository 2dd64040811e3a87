// SPDX-License-Identifier: Zlib
#pragma once

// One time step of a triangle surface, as it stands in the file: vertices and faces keep their
// numbers, and nothing is joined, dropped or reordered.

#include "knap/mesh.h"

typedef struct knFrame
{
    knAllocator allocator;
    knVec3* positions;
    knDVec3* exact;        // what these are rounded from, as the file has it
    knTriangle* triangles; // those of a face are the fan from its first corner
    uint32_t* faceOf;      // the face of each triangle; null: every face is one triangle
    size_t positionCount, positionCapacity, exactCapacity;
    size_t triangleCount, triangleCapacity, faceCount, faceOfCapacity;
    size_t roundedCount; // coordinates of doubles that were no floats
    bool isExact;        // no coordinate is rounded
    bool isTriangular;   // every face has three corners
} knFrame;

// PLY (ASCII, little- or big-endian) or OBJ, by the name's ending. A face of two corners is a
// segment, one of one a point, and one without corners keeps its number and is nothing.
knResult knReadFrame(knFrame* frame, const char* path, const knAllocator* allocator);
void knDestroyFrame(knFrame* frame);

// For the readers: `bytes` has a zero behind it.
knResult knReadPly(knFrame* frame, const char* bytes, size_t size);
knResult knFrame_AddPosition(knFrame* frame, knVec3 position, knDVec3 exact);
knResult knFrame_AddFace(knFrame* frame, const double* corners, size_t cornerCount);
