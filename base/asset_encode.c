// SPDX-License-Identifier: Zlib
#include "base/asset_internal.h"
#include "base/base_internal.h"

#include <stdio.h>

#define MAX_SECTION_SIZE ((uint64_t)1 << 56) // bytes; sums of KN_MAX_SECTIONS of them cannot wrap

typedef struct Encoder
{
    knAssetSection sections[KN_MAX_SECTIONS];
    uint32_t count;
} Encoder;

static void AddSection(Encoder* encoder, uint32_t tag, const void* data, size_t count,
                       size_t itemSize)
{
    encoder->sections[encoder->count++] =
        (knAssetSection){tag, KN_MESH_SECTION_VERSION, data, count * itemSize};
}

static void AddMesh(Encoder* encoder, const knAssetDef* def)
{
    const knTetMesh* m = def->tetMesh;
    const knSurfaceMesh* s = def->surface;
    AddSection(encoder, KN_TAG_NODES, m->nodes, m->nodeCount, sizeof(knVec3));
    AddSection(encoder, KN_TAG_TETS, m->tets, m->tetCount, sizeof(knTet));
    AddSection(encoder, KN_TAG_NEIGHBORS, m->neighbors, m->tetCount, sizeof(knTetNeighbors));
    AddSection(encoder, KN_TAG_EDGES, m->edges, m->edgeCount, sizeof(knEdge));
    AddSection(encoder, KN_TAG_TET_EDGES, m->tetEdges, m->tetCount, sizeof(knTetEdges));
    AddSection(encoder, KN_TAG_NODE_EDGE_STARTS, m->nodeEdgeStarts, m->nodeCount + 1,
               sizeof(uint32_t));
    AddSection(encoder, KN_TAG_NODE_EDGES, m->nodeEdges, 2 * (size_t)m->edgeCount,
               sizeof(uint32_t));
    AddSection(encoder, KN_TAG_TRIANGLES, s->triangles, s->triangleCount, sizeof(knTriangle));
    AddSection(encoder, KN_TAG_BOUNDARY_FACES, m->boundaryFaces, m->boundaryFaceCount,
               sizeof(uint32_t));
    AddSection(encoder, KN_TAG_CORNERS, s->cornerAttributes, s->triangleCount, sizeof(knTriangle));
    AddSection(encoder, KN_TAG_ATTRIBUTES, s->attributes, s->attributeCount,
               sizeof(knCornerAttribute));
}

static void FillInfo(const knAssetDef* def, knAssetInfo* info)
{
    const knSurfaceMesh* s = def->surface;
    knMassProperties p = knTetMesh_MassProperties(def->tetMesh, def->density);
    memset(info, 0, sizeof *info);
    snprintf(info->source, sizeof info->source, "%s", def->source ? def->source : "");
    snprintf(info->material, sizeof info->material, "%s", def->material ? def->material : "");
    info->density = def->density;
    info->volume = p.volume;
    info->area = knSurfaceArea(s->positions, s->triangles, s->triangleCount);
    info->mass = p.mass;
    info->center = p.center;
    info->inertia = p.inertia;
    info->bounds = knBoundingBox(def->tetMesh->nodes, def->tetMesh->nodeCount);
    info->surfaceNodeCount = s->positionCount;
    info->componentCount = def->componentCount;
    info->hasUv = s->hasUv;
}

static uint64_t TotalSize(const Encoder* encoder)
{
    uint64_t end = sizeof(knFileHeader) + encoder->count * sizeof(knFileSection);
    for (uint32_t i = 0; i < encoder->count; ++i)
    {
        end = knAlignSection(end) + encoder->sections[i].size;
    }
    return knAlignSection(end);
}

static void WriteFile(const Encoder* encoder, unsigned char* bytes, size_t size)
{
    memset(bytes, 0, size);
    knFileHeader* header = (knFileHeader*)bytes;
    knFileSection* table = (knFileSection*)(bytes + sizeof(knFileHeader));
    memcpy(header->magic, KN_ASSET_MAGIC, 8);
    header->version = KN_ASSET_VERSION;
    header->sectionCount = encoder->count;
    header->fileSize = size;
    uint64_t end = sizeof(knFileHeader) + encoder->count * sizeof(knFileSection);
    for (uint32_t i = 0; i < encoder->count; ++i)
    {
        const knAssetSection* s = &encoder->sections[i];
        table[i] = (knFileSection){s->tag, s->version, knAlignSection(end), s->size, 0};
        if (s->size > 0)
        {
            memcpy(bytes + table[i].offset, s->data, s->size);
        }
        end = table[i].offset + s->size;
    }
    header->checksum = knFileChecksum(bytes, size);
}

// The loader is the judge of what a sound file is: one set of rules, and no file that cannot be
// read.
static knResult CheckBytes(const void* bytes, size_t size, const knAllocator* allocator)
{
    knAsset* asset = NULL;
    knResult result = knCreateAssetInPlace(&asset, bytes, size, allocator);
    if (result == kn_success)
    {
        knDestroyAsset(asset);
    }
    return result;
}

static bool HasArrays(const knAssetDef* def)
{
    const knTetMesh* m = def->tetMesh;
    const knSurfaceMesh* s = def->surface;
    return m->nodes && m->tets && m->neighbors && m->edges && m->tetEdges && m->nodeEdgeStarts &&
           m->nodeEdges && m->boundaryFaces && s->positions && s->triangles &&
           s->cornerAttributes && s->attributes && m->nodeCount > 0 && m->tetCount > 0;
}

// Mass and area are summed before the loader's checks have seen the mesh, so what the sums follow
// is checked first.
static knResult CheckIndices(const knAssetDef* def)
{
    const knTetMesh* m = def->tetMesh;
    const knSurfaceMesh* s = def->surface;
    for (uint32_t t = 0; t < m->tetCount; ++t)
    {
        const uint32_t* v = m->tets[t].v;
        if (v[0] >= m->nodeCount || v[1] >= m->nodeCount || v[2] >= m->nodeCount ||
            v[3] >= m->nodeCount)
        {
            return knFail(kn_errorMesh, "tetrahedron %u: a node is out of range", t);
        }
    }
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        const uint32_t* v = s->triangles[i].v;
        if (v[0] >= s->positionCount || v[1] >= s->positionCount || v[2] >= s->positionCount)
        {
            return knFail(kn_errorMesh, "triangle %u: a corner is out of range", i);
        }
    }
    return kn_success;
}

static knResult CheckDef(const knAssetDef* def)
{
    if (!HasArrays(def))
    {
        return knFail(kn_errorArgument, "knEncodeAsset: an array of the mesh is null or empty");
    }
    for (int i = 0; i < def->sectionCount; ++i)
    {
        const knAssetSection* s = &def->sections[i];
        if (s->size > MAX_SECTION_SIZE || (s->size > 0 && !s->data))
        {
            return knFail(kn_errorArgument, "knEncodeAsset: section %d has no data or a wild size",
                          i);
        }
    }
    return CheckIndices(def);
}

knResult knEncodeAsset(const knAssetDef* def, const knAllocator* allocator, void** bytes,
                       size_t* size)
{
    if (!def || !bytes || !size || !def->surface || !def->tetMesh || def->sectionCount < 0 ||
        def->sectionCount > KN_MAX_SECTIONS - KN_MESH_SECTIONS ||
        (def->sectionCount > 0 && !def->sections))
    {
        return knFail(kn_errorArgument,
                      "knEncodeAsset: a surface, a mesh, at most %d more sections",
                      KN_MAX_SECTIONS - KN_MESH_SECTIONS);
    }
    knResult result = knCheckAllocator(allocator);
    result = result == kn_success ? CheckDef(def) : result;
    if (result != kn_success)
    {
        return result;
    }
    knAssetInfo info;
    FillInfo(def, &info);
    Encoder encoder = {.count = 0};
    AddSection(&encoder, KN_TAG_INFO, &info, 1, sizeof info);
    AddMesh(&encoder, def);
    for (int i = 0; i < def->sectionCount; ++i)
    {
        encoder.sections[encoder.count++] = def->sections[i];
    }
    size_t total = (size_t)TotalSize(&encoder);
    unsigned char* file = knAllocate(allocator, total, 1);
    if (!file)
    {
        return kn_errorMemory;
    }
    WriteFile(&encoder, file, total);
    result = CheckBytes(file, total, allocator);
    if (result != kn_success)
    {
        knRelease(allocator, file, total, 1);
        return result;
    }
    *bytes = file;
    *size = total;
    return kn_success;
}
