// SPDX-License-Identifier: Zlib
#pragma once

// The cooked asset: immutable, shared by all its instances, used in place in the memory of its
// file.
//
// A file is a header, a table of sections and the sections, all little-endian, each section aligned
// to KN_SECTION_ALIGNMENT, the gaps zero, the whole under one XXH3 checksum. docs/file-format.md
// has the layout. Loading checks everything before anything is used, the checksum being only the
// first check: a hostile file can have a right one.

#include "knap/material.h"
#include "knap/mesh.h"

#define KN_ASSET_VERSION     1
#define KN_SECTION_ALIGNMENT 64
#define KN_MAX_SECTIONS      64

#define KN_TAG(a, b, c, d)                                                                         \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

// What is known of the whole, as stored in the file.
typedef struct knAssetInfo
{
    char source[64]; // name of the mesh file, without its folder
    char material[KN_MAX_NAME];
    double density; // kg/m^3
    double volume;  // m^3
    double area;    // m^2, of the surface
    double mass;    // kg
    knDVec3 center;
    knDSym3 inertia; // about the centre, kg m^2
    knBox bounds;
    uint32_t surfaceNodeCount;
    uint32_t componentCount; // of the surface; cavities count
    uint32_t hasUv;          // 0 or 1
    uint32_t unused;
} knAssetInfo;

// A run of bytes in an asset; the modules check what is in theirs.
typedef struct knAssetSection
{
    uint32_t tag;
    uint32_t version; // of the section, for the module that reads it
    const void* data;
    uint64_t size; // bytes
} knAssetSection;

typedef struct knAsset knAsset;

// Reads the file into memory of the allocator.
KN_API knResult knLoadAsset(knAsset** asset, const char* path, const knAllocator* allocator);

// Uses the bytes in place, a memory-mapped file for example: aligned to KN_SECTION_ALIGNMENT, not
// written and not freed while the asset lives.
KN_API knResult knCreateAssetInPlace(knAsset** asset, const void* data, size_t size,
                                     const knAllocator* allocator);
KN_API void knDestroyAsset(knAsset* asset);

KN_API const knAssetInfo* knAsset_Info(const knAsset* asset);
KN_API const knSurfaceMesh* knAsset_Surface(const knAsset* asset);
KN_API const knTetMesh* knAsset_TetMesh(const knAsset* asset);

KN_API int knAsset_SectionCount(const knAsset* asset);
KN_API knAssetSection knAsset_Section(const knAsset* asset, int index);

// All zero when there is none of that tag.
KN_API knAssetSection knAsset_FindSection(const knAsset* asset, uint32_t tag);

// What goes into a file. The surface's positions are the first nodes of the mesh, and its triangles
// the boundary faces, in order.
typedef struct knAssetDef
{
    const char* source;
    const char* material;
    double density;
    const knSurfaceMesh* surface;
    const knTetMesh* tetMesh;
    uint32_t componentCount;
    const knAssetSection* sections; // of other modules
    int sectionCount;
} knAssetDef;

// Makes the bytes of a file: the same definition gives the same bytes. Release with knRelease(
// allocator, *bytes, *size, 1). The bytes have passed the loader's own checks.
KN_API knResult knEncodeAsset(const knAssetDef* def, const knAllocator* allocator, void** bytes,
                              size_t* size);
