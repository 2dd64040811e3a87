// SPDX-License-Identifier: Zlib
#pragma once

// The answer of 'knap selfcollide': pairs of the file's faces.

#include "frame.h"
#include "knap/bvh.h"

typedef struct knFacePair
{
    uint32_t a, b; // faces, a < b
} knFacePair;

typedef struct knFacePairs
{
    knAllocator allocator;
    knFacePair* items; // sorted
    size_t count, capacity;
} knFacePairs;

// Two faces meet when a triangle of the one meets a triangle of the other. With `skipAdjacent`
// those are left out that share a vertex, also where their triangles do not.
knResult knGatherFacePairs(knFacePairs* pairs, const knBvhQuery* query, const knFrame* frame,
                           bool skipAdjacent);
void knDestroyFacePairs(knFacePairs* pairs);

// One 'a b' a line, to standard output without a path.
knResult knWriteFacePairs(const knFacePairs* pairs, const char* path);
