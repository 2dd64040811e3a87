// SPDX-License-Identifier: Zlib
#pragma once

// Meshes from files: surfaces through Assimp, tetrahedra from TetGen's .node and .ele.

#include "contain.h"
#include "soup.h"

typedef struct knImportOptions
{
    double scale; // metres per unit of the file
    knContainLimits limits;
} knImportOptions;

// Reads a surface. The import runs contained: no file can bring the caller down. Vertices are as in
// the file, transforms of a scene applied, polygons split into triangles; nothing is repaired.
knResult knImportSurface(const char* path, const knImportOptions* options, knSoup* soup);

// A ready-made tetrahedral mesh, as it stands in the files.
typedef struct knTetSoup
{
    knAllocator allocator;
    knVec3* nodes;
    knTet* tets;
    size_t nodeCount, nodeCapacity;
    size_t tetCount, tetCapacity;
} knTetSoup;

// True for names that end in .node or .ele.
bool knIsTetFile(const char* path);

// Takes either name of the pair. Tetrahedra that are turned are turned back; indices may count from
// 0 or 1.
knResult knImportTets(const char* path, double scale, const knAllocator* allocator,
                      knTetSoup* tets);
void knDestroyTetSoup(knTetSoup* tets);
