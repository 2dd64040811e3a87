// SPDX-License-Identifier: Zlib
#pragma once

// One time step of a triangle surface, as it stands in the file: vertices and faces keep their
// numbers, and nothing is joined, dropped or reordered.

#include "knap/mesh.h"

typedef struct knFrame
{
    knAllocator allocator;
    knVec3* positions;
    knTriangle* triangles;
    size_t positionCount, positionCapacity;
    size_t triangleCount, triangleCapacity;
    size_t roundedCount; // coordinates that were no floats
} knFrame;

// PLY (ASCII, little- or big-endian) or OBJ, by the name's ending. Only triangles: a polygon would
// leave open which triangles are meant.
knResult knReadFrame(knFrame* frame, const char* path, const knAllocator* allocator);
void knDestroyFrame(knFrame* frame);

// For the readers: `bytes` has a zero behind it.
knResult knReadPly(knFrame* frame, const char* bytes, size_t size);
knResult knFrame_AddPosition(knFrame* frame, knVec3 position);
knResult knFrame_AddTriangle(knFrame* frame, const double* corners, size_t cornerCount);
