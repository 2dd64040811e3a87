// SPDX-License-Identifier: Zlib
#pragma once

// The layout of a cooked file, shared by its writer, its reader and the tests that break it.

#include "knap/asset.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cooked files are used in place and are little-endian"
#endif

#define KN_ASSET_MAGIC "KNAPMESH"

typedef struct knFileHeader
{
    char magic[8];
    uint64_t checksum; // XXH3 of everything behind this field
    uint32_t version;
    uint32_t sectionCount;
    uint64_t fileSize; // bytes
    uint8_t zero[32];
} knFileHeader;

// The table follows the header; sections follow in its order.
typedef struct knFileSection
{
    uint32_t tag;
    uint32_t version;
    uint64_t offset; // from the start of the file
    uint64_t size;   // bytes, without the padding behind it
    uint64_t zero;
} knFileSection;

_Static_assert(sizeof(knFileHeader) == 64, "the header is 64 bytes");
_Static_assert(sizeof(knFileSection) == 32, "a table entry is 32 bytes");
_Static_assert(sizeof(knAssetInfo) == 240, "the info section has no padding");
_Static_assert(sizeof(knCornerAttribute) == 20, "an attribute is five floats");

#define KN_TAG_INFO             KN_TAG('I', 'N', 'F', 'O')
#define KN_TAG_NODES            KN_TAG('N', 'O', 'D', 'E')
#define KN_TAG_TETS             KN_TAG('T', 'E', 'T', 'S')
#define KN_TAG_NEIGHBORS        KN_TAG('T', 'N', 'B', 'R')
#define KN_TAG_EDGES            KN_TAG('E', 'D', 'G', 'E')
#define KN_TAG_TET_EDGES        KN_TAG('T', 'E', 'D', 'G')
#define KN_TAG_NODE_EDGE_STARTS KN_TAG('N', 'E', 'S', 'T')
#define KN_TAG_NODE_EDGES       KN_TAG('N', 'E', 'D', 'G')
#define KN_TAG_TRIANGLES        KN_TAG('S', 'T', 'R', 'I')
#define KN_TAG_BOUNDARY_FACES   KN_TAG('S', 'B', 'N', 'D')
#define KN_TAG_CORNERS          KN_TAG('S', 'C', 'R', 'N')
#define KN_TAG_ATTRIBUTES       KN_TAG('S', 'A', 'T', 'R')
#define KN_MESH_SECTIONS        12
#define KN_MESH_SECTION_VERSION 1

struct knAsset
{
    knAllocator allocator;
    void* ownedData; // null when used in place
    size_t ownedSize;
    const unsigned char* data;
    const knFileSection* table;
    uint32_t sectionCount;
    const knAssetInfo* info;
    knSurfaceMesh surface;
    knTetMesh tetMesh;
};

static inline uint64_t knAlignSection(uint64_t offset)
{
    return (offset + KN_SECTION_ALIGNMENT - 1) & ~(uint64_t)(KN_SECTION_ALIGNMENT - 1);
}

uint64_t knFileChecksum(const void* data, size_t size);

// Everything that a later reader may rely on, checked from the bytes alone; asset_validate.c.
knResult knAsset_ValidateMesh(const knAsset* asset);
