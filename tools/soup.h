// SPDX-License-Identifier: Zlib
#pragma once

// A triangle mesh as it comes from a file, before anything is known about it. Owns its arrays.

#include "knap/mesh.h"

typedef struct knSoup
{
    knAllocator allocator;
    knVec3* positions;
    knTriangle* triangles;         // into positions
    knTriangle* corners;           // per triangle, three indices into attributes
    knCornerAttribute* attributes; // a zero normal means that the file gave none
    uint32_t* sources;             // per triangle, its index in the file, for messages
    uint32_t* vertexSources;       // per position, its index when it was added, for messages
    size_t positionCount, positionCapacity; // positions and vertexSources share them
    size_t triangleCount, triangleCapacity; // triangles, corners and sources share them
    size_t attributeCount, attributeCapacity;
    bool hasUv;
    bool hasNormals;
} knSoup;

knSoup knMakeSoup(const knAllocator* allocator);
void knDestroySoup(knSoup* soup);

// `clone` is untouched on failure.
knResult knCloneSoup(knSoup* clone, const knSoup* soup);

knResult knSoup_AddPosition(knSoup* soup, knVec3 position, uint32_t* index);
knResult knSoup_AddAttribute(knSoup* soup, knCornerAttribute attribute, uint32_t* index);
knResult knSoup_AddTriangle(knSoup* soup, knTriangle triangle, knTriangle corners, uint32_t source);

// Drops the triangles whose flag is set, and then every position and attribute without a triangle.
// `dropped` may be null: only the unreferenced go. Order is kept; untouched on failure.
knResult knSoup_Compact(knSoup* soup, const bool* dropped);

// Fills in zero normals: per corner, the area-weighted mean over the faces around the vertex that
// turn less than `creaseDegrees` from the corner's own. Indices must be in range.
knResult knSoup_MakeNormals(knSoup* soup, float creaseDegrees);
