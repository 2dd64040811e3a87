// SPDX-License-Identifier: Zlib
#pragma once

// Cooked files for tests: made from shapes, broken on purpose, and walked to the last index.

#include "base/asset_internal.h"
#include "tet_shapes.h"

// A file in memory that knCreateAssetInPlace takes, on the C library's heap.
typedef struct Cooked
{
    unsigned char* bytes; // aligned to KN_SECTION_ALIGNMENT
    size_t size;
} Cooked;

// Everything that a definition points to, in arrays of its own that a test may spoil.
typedef struct CookParts
{
    knTetMeshStore store;
    knSurfaceMesh surface;
    knTetMesh mesh;
    knTriangle* triangles;
    knTriangle* corners;
    knCornerAttribute* attributes;
    knAssetDef def;
} CookParts;

CookParts MakeCookParts(const TetShape* shape);
void DestroyCookParts(CookParts* parts);

// Aborts when the encoder refuses: the shapes of the tests are sound.
Cooked CookShape(const TetShape* shape);
Cooked CopyCooked(const Cooked* cooked);
void DestroyCooked(Cooked* cooked);

knFileHeader* CookedHeader(Cooked* cooked);
knFileSection* CookedTable(Cooked* cooked);

// The bytes of a section; null when there is none.
void* CookedSection(Cooked* cooked, uint32_t tag);

// Makes the header agree with the bytes again, as somebody who means harm would.
void FixChecksum(Cooked* cooked);

// Touches every array of the asset through every index it holds. Null when all of them lead where
// they should, else what is wrong. Follows no index that it has not checked.
const char* WalkEverything(const knAsset* asset);
