// SPDX-License-Identifier: Zlib
#include "cooked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void Require(bool condition)
{
    if (!condition)
    {
        abort();
    }
}

// One attribute per triangle: its normal, and texture coordinates that differ.
static void FillSurface(CookParts* parts)
{
    const knTetMesh* m = &parts->mesh;
    parts->triangles = calloc(m->boundaryFaceCount, sizeof(knTriangle));
    parts->corners = calloc(m->boundaryFaceCount, sizeof(knTriangle));
    parts->attributes = calloc(m->boundaryFaceCount, sizeof(knCornerAttribute));
    Require(parts->triangles && parts->corners && parts->attributes);
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        knTriangle triangle = knTetMesh_BoundaryTriangle(m, m->boundaryFaces[i]);
        knVec3 a = m->nodes[triangle.v[0]];
        knVec3 normal =
            knCross(knSub(m->nodes[triangle.v[1]], a), knSub(m->nodes[triangle.v[2]], a));
        parts->triangles[i] = triangle;
        parts->corners[i] = (knTriangle){{i, i, i}};
        parts->attributes[i] = (knCornerAttribute){knNormalize(normal), 0.25f, 0.5f};
    }
    parts->surface = (knSurfaceMesh){.positions = m->nodes,
                                     .triangles = parts->triangles,
                                     .cornerAttributes = parts->corners,
                                     .attributes = parts->attributes,
                                     .positionCount = m->surfaceNodeCount,
                                     .triangleCount = m->boundaryFaceCount,
                                     .attributeCount = m->boundaryFaceCount,
                                     .hasUv = true};
}

CookParts MakeCookParts(const TetShape* shape)
{
    CookParts parts = {.triangles = NULL};
    knResult result = knBuildTetMesh(&parts.store, shape->nodes, shape->nodeCount, shape->tets,
                                     shape->tetCount, NULL);
    Require(result == kn_success);
    parts.mesh = parts.store.mesh;
    parts.mesh.surfaceNodeCount = shape->surfaceNodeCount;
    FillSurface(&parts);
    // surface and tetMesh are set by the user: this struct moves
    parts.def = (knAssetDef){
        .source = "shape.obj", .material = "glass", .density = 2500.0, .componentCount = 1};
    return parts;
}

void DestroyCookParts(CookParts* parts)
{
    knDestroyTetMeshStore(&parts->store);
    free(parts->triangles);
    free(parts->corners);
    free(parts->attributes);
}

static Cooked AllocateCooked(size_t size)
{
    size_t rounded = (size_t)knAlignSection(size > 0 ? size : 1);
    Cooked cooked = {aligned_alloc(KN_SECTION_ALIGNMENT, rounded), size};
    Require(cooked.bytes != NULL);
    return cooked;
}

Cooked CookShape(const TetShape* shape)
{
    CookParts parts = MakeCookParts(shape);
    parts.def.surface = &parts.surface;
    parts.def.tetMesh = &parts.mesh;
    void* bytes = NULL;
    size_t size = 0;
    Require(knEncodeAsset(&parts.def, NULL, &bytes, &size) == kn_success);
    Cooked cooked = AllocateCooked(size);
    memcpy(cooked.bytes, bytes, size);
    knRelease(NULL, bytes, size, 1);
    DestroyCookParts(&parts);
    return cooked;
}

Cooked CopyCooked(const Cooked* cooked)
{
    Cooked copy = AllocateCooked(cooked->size);
    memcpy(copy.bytes, cooked->bytes, cooked->size);
    return copy;
}

void DestroyCooked(Cooked* cooked)
{
    free(cooked->bytes);
    *cooked = (Cooked){0};
}

knFileHeader* CookedHeader(Cooked* cooked)
{
    return (knFileHeader*)cooked->bytes;
}

knFileSection* CookedTable(Cooked* cooked)
{
    return (knFileSection*)(cooked->bytes + sizeof(knFileHeader));
}

void* CookedSection(Cooked* cooked, uint32_t tag)
{
    for (uint32_t i = 0; i < CookedHeader(cooked)->sectionCount; ++i)
    {
        if (CookedTable(cooked)[i].tag == tag)
        {
            return cooked->bytes + CookedTable(cooked)[i].offset;
        }
    }
    return NULL;
}

void FixChecksum(Cooked* cooked)
{
    CookedHeader(cooked)->fileSize = cooked->size;
    CookedHeader(cooked)->checksum = knFileChecksum(cooked->bytes, cooked->size);
}

static bool Finite(knVec3 p)
{
    return isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
}

static bool SharesFace(const knTetMesh* m, uint32_t t, uint32_t face, uint32_t other)
{
    int shared = 0;
    for (uint32_t i = 0; i < 16; ++i)
    {
        shared += i / 4 != face && m->tets[t].v[i / 4] == m->tets[other].v[i % 4];
    }
    return shared == 3;
}

static const char* WalkTet(const knTetMesh* m, uint32_t t)
{
    for (uint32_t i = 0; i < 4; ++i)
    {
        uint32_t v = m->tets[t].v[i];
        uint32_t other = m->neighbors[t].t[i];
        if (v >= m->nodeCount || !Finite(m->nodes[v]))
        {
            return "a corner of a tetrahedron";
        }
        if (other != KN_NONE && (other >= m->tetCount || !SharesFace(m, t, i, other)))
        {
            return "a neighbour of a tetrahedron";
        }
    }
    for (uint32_t i = 0; i < 6; ++i)
    {
        uint32_t e = m->tetEdges[t].e[i];
        if (e >= m->edgeCount || m->edges[e].v[0] >= m->nodeCount ||
            m->edges[e].v[1] >= m->nodeCount)
        {
            return "an edge of a tetrahedron";
        }
        uint32_t a = m->tets[t].v[knTetEdgeCorners[i][0]];
        uint32_t b = m->tets[t].v[knTetEdgeCorners[i][1]];
        if (m->edges[e].v[0] + m->edges[e].v[1] != a + b || knTetMesh_FindEdge(m, a, b) != e)
        {
            return "the ends of an edge of a tetrahedron";
        }
    }
    return NULL;
}

static const char* WalkNode(const knTetMesh* m, uint32_t n)
{
    if (!Finite(m->nodes[n]))
    {
        return "a node";
    }
    uint32_t begin = m->nodeEdgeStarts[n];
    uint32_t end = m->nodeEdgeStarts[n + 1];
    if (begin >= end || end > 2 * (uint64_t)m->edgeCount)
    {
        return "the bounds of the edge list of a node";
    }
    for (uint32_t i = begin; i < end; ++i)
    {
        uint32_t e = m->nodeEdges[i];
        if (e >= m->edgeCount || (m->edges[e].v[0] != n && m->edges[e].v[1] != n))
        {
            return "the edge list of a node";
        }
    }
    return NULL;
}

static const char* WalkTriangle(const knAsset* asset, uint32_t i)
{
    const knSurfaceMesh* s = knAsset_Surface(asset);
    const knTetMesh* m = knAsset_TetMesh(asset);
    uint32_t face = m->boundaryFaces[i];
    if (face / 4 >= m->tetCount || m->neighbors[face / 4].t[face % 4] != KN_NONE)
    {
        return "a boundary face";
    }
    for (int k = 0; k < 3; ++k)
    {
        uint32_t v = s->triangles[i].v[k];
        uint32_t c = s->cornerAttributes[i].v[k];
        if (v >= s->positionCount || v != m->tets[face / 4].v[knTetFaceCorners[face % 4][k]] ||
            !Finite(s->positions[v]))
        {
            return "a corner of a triangle";
        }
        if (c >= s->attributeCount || !Finite(s->attributes[c].normal) ||
            !isfinite(s->attributes[c].u) || !isfinite(s->attributes[c].v))
        {
            return "an attribute";
        }
    }
    return NULL;
}

static const char* WalkSections(const knAsset* asset)
{
    unsigned sum = 0;
    for (int i = 0; i < knAsset_SectionCount(asset); ++i)
    {
        knAssetSection section = knAsset_Section(asset, i);
        const unsigned char* bytes = section.data;
        for (uint64_t k = 0; k < section.size; ++k)
        {
            sum += bytes[k];
        }
        if (knAsset_FindSection(asset, section.tag).data != section.data)
        {
            return "a section that is not found by its tag";
        }
    }
    // the sum is used, so that the reads stay
    return sum == 0xFFFFFFFFu ? "an unlikely sum" : NULL;
}

static const char* WalkInfo(const knAsset* asset)
{
    const knAssetInfo* info = knAsset_Info(asset);
    bool good = memchr(info->source, 0, sizeof info->source) != NULL &&
                memchr(info->material, 0, sizeof info->material) != NULL && info->density > 0.0 &&
                info->volume > 0.0 && info->mass > 0.0 && info->area > 0.0 &&
                isfinite(info->mass) && info->inertia.xx > 0.0 && info->inertia.yy > 0.0 &&
                info->inertia.zz > 0.0 && info->componentCount > 0 && info->hasUv < 2;
    return good ? NULL : "the info";
}

const char* WalkEverything(const knAsset* asset)
{
    const knTetMesh* m = knAsset_TetMesh(asset);
    const char* wrong = WalkInfo(asset);
    wrong = wrong ? wrong : WalkSections(asset);
    for (uint32_t n = 0; !wrong && n < m->nodeCount; ++n)
    {
        wrong = WalkNode(m, n);
    }
    for (uint32_t t = 0; !wrong && t < m->tetCount; ++t)
    {
        wrong = WalkTet(m, t);
    }
    for (uint32_t i = 0; !wrong && i < m->boundaryFaceCount; ++i)
    {
        wrong = WalkTriangle(asset, i);
    }
    return wrong;
}
