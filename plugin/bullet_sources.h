// SPDX-License-Identifier: Zlib
#pragma once

// What stands on the other side of a pair when it is not a piece: a shape translated from the
// engine's, or triangles gathered around the piece. One per pair, at addresses that stay.

#include "knap/pairs.h"

#if defined(__cplusplus)
extern "C"
{
#endif

    // A hull shared by all pairs that meet the same points.
    typedef struct knSharedHull
    {
        knHull hull;
        uint64_t key;
        uint32_t userCount;
        bool isMade;
    } knSharedHull;

    typedef struct knPairSource
    {
        knShape shape;
        knSharedHull* hull;
        knTriangleBatch batch;
        knMeshTriangle* triangles;
        size_t capacity;
        knBox gathered; // where the triangles were looked for, in the mesh's frame
        uint32_t serial;
        bool isGathered;
    } knPairSource;

    typedef struct knSources knSources;

    knResult knCreateSources(knSources** sources, const knAllocator* allocator);
    void knDestroySources(knSources* sources);

    // By the index of the pair; its triangles' memory is kept for the next pair of that index.
    knResult knSources_Take(knSources* sources, uint32_t index, knPairSource** source);
    void knSources_Drop(knSources* sources, knPairSource* source);

    // The hull of the points; `radii` may be null. Found again by their bits.
    knResult knSources_FindHull(knSources* sources, const knVec3* points, const float* radii,
                                uint32_t count, knSharedHull** hull);

    // Adds a triangle; false when there is no memory for it.
    bool knSources_AddTriangle(knSources* sources, knPairSource* source, const knVec3 v[3],
                               uint32_t id);

#if defined(__cplusplus)
}
#endif
