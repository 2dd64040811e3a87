// SPDX-License-Identifier: Zlib
#pragma once

// One time step of a triangle surface, as it stands in the file: vertices and faces keep their
// numbers, and nothing is joined, dropped or reordered.

#include "knap/mesh.h"

typedef struct knFrame
{
    knAllocator allocator;
    knVec3* positions;
    knDVec3* exact; // what these are rounded from, as the file has it
    knTriangle* triangles;
    size_t positionCount, positionCapacity, exactCapacity;
    size_t triangleCount, triangleCapacity;
    size_t roundedCount; // coordinates of doubles that were no floats
    bool isExact;        // no coordinate is rounded
} knFrame;

// PLY (ASCII, little- or big-endian) or OBJ, by the name's ending. Only triangles: a polygon would
// leave open which triangles are meant.
knResult knReadFrame(knFrame* frame, const char* path, const knAllocator* allocator);
void knDestroyFrame(knFrame* frame);

// For the readers: `bytes` has a zero behind it.
knResult knReadPly(knFrame* frame, const char* bytes, size_t size);
knResult knFrame_AddPosition(knFrame* frame, knVec3 position, knDVec3 exact);
knResult knFrame_AddTriangle(knFrame* frame, const double* corners, size_t cornerCount);
