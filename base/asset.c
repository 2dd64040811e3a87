// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // stat

#include "base/asset_internal.h"
#include "base/base_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <xxhash.h>

uint64_t knFileChecksum(const void* data, size_t size)
{
    size_t skipped = offsetof(knFileHeader, version);
    return XXH3_64bits((const unsigned char*)data + skipped, size - skipped);
}

static knResult CheckHeader(const unsigned char* data, size_t size)
{
    const knFileHeader* header = (const knFileHeader*)data;
    if (size < sizeof(knFileHeader) || memcmp(header->magic, KN_ASSET_MAGIC, 8) != 0)
    {
        return knFail(kn_errorFormat,
                      "not a cooked asset: make one with 'knap cook MESH -o X.knap'");
    }
    if (header->version != KN_ASSET_VERSION)
    {
        return knFail(kn_errorVersion,
                      "cooked for version %u of the format, this is version %u: cook it again",
                      header->version, KN_ASSET_VERSION);
    }
    if (header->fileSize != size)
    {
        return knFail(kn_errorFormat, "%zu bytes of a file of %llu: it was cut or grew", size,
                      (unsigned long long)header->fileSize);
    }
    if (header->checksum != knFileChecksum(data, size))
    {
        return knFail(kn_errorChecksum,
                      "the file was damaged after it was cooked: checksum differs");
    }
    if (header->sectionCount > KN_MAX_SECTIONS ||
        size < sizeof(knFileHeader) + header->sectionCount * sizeof(knFileSection))
    {
        return knFail(kn_errorFormat, "%u sections do not fit the file", header->sectionCount);
    }
    return kn_success;
}

static bool IsZero(const unsigned char* bytes, size_t count)
{
    for (size_t i = 0; i < count; ++i)
    {
        if (bytes[i] != 0)
        {
            return false;
        }
    }
    return true;
}

static bool TagIsNew(const knFileSection* table, uint32_t index)
{
    for (uint32_t i = 0; i < index; ++i)
    {
        if (table[i].tag == table[index].tag)
        {
            return false;
        }
    }
    return true;
}

// Sections stand one behind the other, aligned, with zeros between: one layout for given contents.
static knResult CheckTable(const unsigned char* data, size_t size)
{
    const knFileHeader* header = (const knFileHeader*)data;
    const knFileSection* table = (const knFileSection*)(data + sizeof(knFileHeader));
    uint64_t end = sizeof(knFileHeader) + header->sectionCount * sizeof(knFileSection);
    bool good = IsZero(header->zero, sizeof header->zero);
    for (uint32_t i = 0; good && i < header->sectionCount; ++i)
    {
        const knFileSection* s = &table[i];
        good = s->zero == 0 && TagIsNew(table, i) && s->offset == knAlignSection(end) &&
               s->offset <= size && s->size <= size - s->offset &&
               IsZero(data + end, s->offset - end);
        end = s->offset + s->size;
    }
    good = good && knAlignSection(end) == size && IsZero(data + end, size - end);
    return good ? kn_success : knFail(kn_errorFormat, "the table of sections is not sound");
}

knAssetSection knAsset_Section(const knAsset* asset, int index)
{
    if (!asset || index < 0 || (uint32_t)index >= asset->sectionCount)
    {
        return (knAssetSection){0};
    }
    const knFileSection* s = &asset->table[index];
    return (knAssetSection){s->tag, s->version, asset->data + s->offset, s->size};
}

knAssetSection knAsset_FindSection(const knAsset* asset, uint32_t tag)
{
    for (int i = 0; asset && i < (int)asset->sectionCount; ++i)
    {
        if (asset->table[i].tag == tag)
        {
            return knAsset_Section(asset, i);
        }
    }
    return (knAssetSection){0};
}

// An array of the mesh; null and a failure when it is missing, of another version or of odd size.
static const void* FindArray(const knAsset* asset, uint32_t tag, size_t itemSize, uint32_t* count)
{
    knAssetSection s = knAsset_FindSection(asset, tag);
    if (!s.data || s.version != KN_MESH_SECTION_VERSION || s.size == 0 || s.size % itemSize != 0 ||
        s.size / itemSize > 12 * (uint64_t)KN_MAX_MESH_SIZE)
    {
        knFail(kn_errorFormat, "section %c%c%c%c is missing or of the wrong size", tag & 0xFF,
               (tag >> 8) & 0xFF, (tag >> 16) & 0xFF, tag >> 24);
        return NULL;
    }
    *count = (uint32_t)(s.size / itemSize);
    return s.data;
}

static knResult FindSurface(knAsset* asset)
{
    knSurfaceMesh* m = &asset->surface;
    uint32_t cornerCount = 0;
    m->triangles = FindArray(asset, KN_TAG_TRIANGLES, sizeof(knTriangle), &m->triangleCount);
    m->cornerAttributes = FindArray(asset, KN_TAG_CORNERS, sizeof(knTriangle), &cornerCount);
    m->attributes =
        FindArray(asset, KN_TAG_ATTRIBUTES, sizeof(knCornerAttribute), &m->attributeCount);
    if (!m->triangles || !m->cornerAttributes || !m->attributes)
    {
        return kn_errorFormat;
    }
    m->positions = asset->tetMesh.nodes;
    m->positionCount = asset->info->surfaceNodeCount;
    m->hasUv = asset->info->hasUv != 0;
    bool agree = cornerCount == m->triangleCount &&
                 m->triangleCount == asset->tetMesh.boundaryFaceCount &&
                 m->triangleCount <= KN_MAX_MESH_SIZE;
    return agree ? kn_success : knFail(kn_errorFormat, "the counts of the surface do not agree");
}

static knResult FindTetMesh(knAsset* asset)
{
    knTetMesh* m = &asset->tetMesh;
    uint32_t neighborCount = 0, tetEdgeCount = 0, startCount = 0, nodeEdgeCount = 0;
    m->nodes = FindArray(asset, KN_TAG_NODES, sizeof(knVec3), &m->nodeCount);
    m->tets = FindArray(asset, KN_TAG_TETS, sizeof(knTet), &m->tetCount);
    m->neighbors = FindArray(asset, KN_TAG_NEIGHBORS, sizeof(knTetNeighbors), &neighborCount);
    m->edges = FindArray(asset, KN_TAG_EDGES, sizeof(knEdge), &m->edgeCount);
    m->tetEdges = FindArray(asset, KN_TAG_TET_EDGES, sizeof(knTetEdges), &tetEdgeCount);
    m->nodeEdgeStarts = FindArray(asset, KN_TAG_NODE_EDGE_STARTS, sizeof(uint32_t), &startCount);
    m->nodeEdges = FindArray(asset, KN_TAG_NODE_EDGES, sizeof(uint32_t), &nodeEdgeCount);
    m->boundaryFaces =
        FindArray(asset, KN_TAG_BOUNDARY_FACES, sizeof(uint32_t), &m->boundaryFaceCount);
    if (!m->nodes || !m->tets || !m->neighbors || !m->edges || !m->tetEdges || !m->nodeEdgeStarts ||
        !m->nodeEdges || !m->boundaryFaces)
    {
        return kn_errorFormat;
    }
    m->surfaceNodeCount = asset->info->surfaceNodeCount;
    bool agree = neighborCount == m->tetCount && tetEdgeCount == m->tetCount &&
                 startCount == m->nodeCount + 1 && nodeEdgeCount == 2 * m->edgeCount &&
                 m->surfaceNodeCount <= m->nodeCount && m->nodeCount <= KN_MAX_MESH_SIZE &&
                 m->tetCount <= KN_MAX_MESH_SIZE;
    return agree ? kn_success : knFail(kn_errorFormat, "the counts of the mesh do not agree");
}

// The mesh views point into the bytes; nothing is believed before the validation has passed.
static knResult OpenSections(knAsset* asset)
{
    const knFileHeader* header = (const knFileHeader*)asset->data;
    asset->table = (const knFileSection*)(asset->data + sizeof(knFileHeader));
    asset->sectionCount = header->sectionCount;
    uint32_t infoCount = 0;
    asset->info = FindArray(asset, KN_TAG_INFO, sizeof(knAssetInfo), &infoCount);
    if (!asset->info || infoCount != 1)
    {
        return knFail(kn_errorFormat, "the section INFO is missing or not one record");
    }
    knResult result = FindTetMesh(asset);
    if (result == kn_success)
    {
        result = FindSurface(asset);
    }
    return result == kn_success ? knAsset_ValidateMesh(asset) : result;
}

knResult knCreateAssetInPlace(knAsset** out, const void* data, size_t size,
                              const knAllocator* allocator)
{
    if (!out || !data || (uintptr_t)data % KN_SECTION_ALIGNMENT != 0)
    {
        return knFail(kn_errorArgument, "an asset in place needs data aligned to %d bytes",
                      KN_SECTION_ALIGNMENT);
    }
    knResult result = knCheckAllocator(allocator);
    result = result == kn_success ? CheckHeader(data, size) : result;
    result = result == kn_success ? CheckTable(data, size) : result;
    if (result != kn_success)
    {
        return result;
    }
    knAsset* asset = knAllocate(allocator, 1, sizeof(knAsset));
    if (!asset)
    {
        return kn_errorMemory;
    }
    *asset = (knAsset){.allocator = allocator ? *allocator : knDefaultAllocator(), .data = data};
    result = OpenSections(asset);
    if (result != kn_success)
    {
        knDestroyAsset(asset);
        return result;
    }
    *out = asset;
    return kn_success;
}

static knResult FileSize(FILE* file, const char* path, size_t* size)
{
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end < 0 || end == LONG_MAX || fseek(file, 0, SEEK_SET) != 0)
    {
        return knFail(kn_errorFile, "%s: not a file that can be read", path);
    }
    if ((size_t)end < sizeof(knFileHeader))
    {
        return knFail(kn_errorFormat, "%s: %ld bytes are too few for a cooked asset", path, end);
    }
    *size = (size_t)end;
    return kn_success;
}

static knResult ReadFile(const char* path, const knAllocator* allocator, void** data, size_t* size)
{
    // opening a pipe would wait for a writer for ever
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
    {
        return knFail(kn_errorFile, "%s: not a plain file", path);
    }
    FILE* file = fopen(path, "rb");
    if (!file)
    {
        return knFail(kn_errorFile, "%s: %s", path, strerror(errno));
    }
    void* bytes = NULL;
    knResult result = FileSize(file, path, size);
    if (result == kn_success)
    {
        bytes = knAllocate(allocator, *size, 1);
        result = bytes ? kn_success : kn_errorMemory;
    }
    if (result == kn_success && fread(bytes, 1, *size, file) != *size)
    {
        knRelease(allocator, bytes, *size, 1);
        result = knFail(kn_errorFile, "%s: could not be read to its end", path);
    }
    fclose(file);
    *data = result == kn_success ? bytes : NULL;
    return result;
}

knResult knLoadAsset(knAsset** out, const char* path, const knAllocator* allocator)
{
    if (!out || !path)
    {
        return knFail(kn_errorArgument, "knLoadAsset: asset or path is null");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    void* data = NULL;
    size_t size = 0;
    result = ReadFile(path, allocator, &data, &size);
    if (result != kn_success)
    {
        return result;
    }
    result = knCreateAssetInPlace(out, data, size, allocator);
    if (result != kn_success)
    {
        char reason[KN_MAX_MESSAGE];
        snprintf(reason, sizeof reason, "%s", knLastError());
        knRelease(allocator, data, size, 1);
        return knFail(result, "%s: %s", path, reason);
    }
    (*out)->ownedData = data;
    (*out)->ownedSize = size;
    return kn_success;
}

void knDestroyAsset(knAsset* asset)
{
    if (asset)
    {
        knAllocator allocator = asset->allocator;
        knRelease(&allocator, asset->ownedData, asset->ownedSize, 1);
        knRelease(&allocator, asset, 1, sizeof(knAsset));
    }
}

const knAssetInfo* knAsset_Info(const knAsset* asset)
{
    return asset ? asset->info : NULL;
}

const knSurfaceMesh* knAsset_Surface(const knAsset* asset)
{
    return asset ? &asset->surface : NULL;
}

const knTetMesh* knAsset_TetMesh(const knAsset* asset)
{
    return asset ? &asset->tetMesh : NULL;
}

int knAsset_SectionCount(const knAsset* asset)
{
    return asset ? (int)asset->sectionCount : 0;
}
