// SPDX-License-Identifier: Zlib
#include "piece_mesh_internal.h"

#include "family_internal.h"

#include <string.h>

#define FIRST_SCRATCH ((size_t)1 << 20) // bytes

static bool IsSame(const knMeshVertex* a, const knMeshVertex* b)
{
    return a->point == b->point && a->normal.x == b->normal.x && a->normal.y == b->normal.y &&
           a->normal.z == b->normal.z && a->u == b->u && a->v == b->v;
}

static uint32_t Hash(const knMeshVertex* v)
{
    uint32_t words[6];
    memcpy(words, &v->normal, sizeof v->normal);
    memcpy(words + 3, &v->u, 2 * sizeof(float));
    words[5] = v->point;
    uint64_t h = 0;
    for (int i = 0; i < 6; ++i)
    {
        h = (h ^ words[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 32);
}

// What is known while a mesh is made; all arrays in the scratch.
typedef struct Build
{
    knPieceSurface surface;
    knMeshVertex* vertices;
    knTriangle* triangles;
    uint32_t* table;
    knBox* boxes;
    uint32_t vertexCount;
    uint32_t tableMask;
} Build;

static bool Allocate(Build* b, knArena* scratch)
{
    size_t corners = 3 * (size_t)b->surface.triangleCount, size = 16;
    while (size < 2 * corners)
    {
        size *= 2;
    }
    b->tableMask = (uint32_t)(size - 1);
    b->vertices = knArena_Allocate(scratch, corners, sizeof(knMeshVertex));
    b->triangles = knArena_Allocate(scratch, b->surface.triangleCount, sizeof(knTriangle));
    b->boxes = knArena_Allocate(scratch, b->surface.triangleCount, sizeof(knBox));
    b->table = knArena_Allocate(scratch, size, sizeof(uint32_t));
    return b->vertices && b->triangles && b->boxes && b->table;
}

static uint32_t FindVertex(Build* b, const knMeshVertex* v)
{
    uint32_t place = Hash(v) & b->tableMask;
    while (b->table[place] != KN_NONE)
    {
        if (IsSame(&b->vertices[b->table[place]], v))
        {
            return b->table[place];
        }
        place = (place + 1) & b->tableMask;
    }
    b->vertices[b->vertexCount] = *v;
    b->table[place] = b->vertexCount;
    return b->vertexCount++;
}

// Joins corners that are drawn alike.
static void JoinCorners(Build* b, knVec3 center)
{
    const knPieceSurface* s = &b->surface;
    memset(b->table, 0xFF, ((size_t)b->tableMask + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < 3 * s->triangleCount; ++i)
    {
        uint32_t at = s->triangles[i / 3].v[i % 3];
        const knCornerAttribute* corner = &s->corners[i];
        knMeshVertex v = {knSub(s->positions[at], center), corner->normal, corner->u, corner->v,
                          s->pointIds[at]};
        b->triangles[i / 3].v[i % 3] = FindVertex(b, &v);
        knBox* box = &b->boxes[i / 3];
        *box = knBox_AddPoint(i % 3 == 0 ? knEmptyBox() : *box, v.position);
    }
}

static knResult Keep(knPieceMesh* m, const Build* b, uint32_t firstCorner)
{
    const knPieceSurface* s = &b->surface;
    m->vertexCapacity = b->vertexCount;
    m->vertexCount = b->vertexCount;
    m->triangleCount = s->triangleCount;
    m->vertices = knAllocate(&m->allocator, m->vertexCount, sizeof(knMeshVertex));
    m->triangles = knAllocate(&m->allocator, m->triangleCount, sizeof(knTriangle));
    m->sources = knAllocate(&m->allocator, m->triangleCount, sizeof(knMeshSource));
    m->order = knAllocate(&m->allocator, m->triangleCount, sizeof(uint32_t));
    m->nodes = knAllocate(&m->allocator, 2 * (size_t)m->triangleCount, sizeof(knMeshNode));
    if (m->triangleCount > 0 &&
        (!m->vertices || !m->triangles || !m->sources || !m->order || !m->nodes))
    {
        return kn_errorMemory;
    }
    for (uint32_t i = 0; i < m->triangleCount; ++i)
    {
        const knPieceTriangle* source = &s->sources[i];
        m->triangles[i] = b->triangles[i];
        m->sources[i] = (knMeshSource){source->triangle, source->tet, source->isCrack};
    }
    for (uint32_t i = 0; i < m->vertexCount; ++i)
    {
        m->vertices[i] = b->vertices[i];
        m->radius = fmaxf(m->radius, knLength(m->vertices[i].position));
    }
    m->nodeCount = knBuildMeshTree(b->boxes, m->triangleCount, m->nodes, m->order);
    // the table has done its work
    knResult result = knPieceMesh_Group(m, b->table, b->tableMask);
    return result == kn_success ? knPieceMesh_GroupCorners(m, firstCorner, b->table, b->tableMask)
                                : result;
}

static knResult Make(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                     const knPieceOptions* options, knArena* scratch)
{
    Build b = {0};
    knPieceOptions usual = knDefaultPieceOptions();
    knResult result = knFragmentSet_Surface(&family->fragments, fragment,
                                            options ? options : &usual, scratch, &b.surface);
    if (result != kn_success)
    {
        return result;
    }
    if (!Allocate(&b, scratch))
    {
        return knFail(kn_errorMemory, "the arena is too small for a mesh of %u triangles",
                      b.surface.triangleCount);
    }
    mesh->center = knToFloat(family->fragments.fragments[fragment].mass.center);
    JoinCorners(&b, mesh->center);
    return Keep(mesh, &b, family->cuts.nodeCount + 2 * family->cuts.edgeCount);
}

// With a scratch of its own that grows until the surface fits.
static knResult MakeAlone(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                          const knPieceOptions* options, const knAllocator* allocator)
{
    for (size_t bytes = FIRST_SCRATCH;;)
    {
        knArena scratch;
        knResult result = knCreateArena(&scratch, bytes, allocator);
        if (result != kn_success)
        {
            return result;
        }
        result = Make(mesh, family, fragment, options, &scratch);
        size_t wanted = scratch.usedBytes + scratch.wantedBytes;
        bool isTooSmall = result == kn_errorMemory && scratch.wantedBytes > 0;
        knDestroyArena(&scratch);
        if (!isTooSmall)
        {
            return result;
        }
        bytes = 2 * wanted;
    }
}

knResult knCreatePieceMesh(knPieceMesh* mesh, const knFamily* family, uint32_t fragment,
                           const knPieceOptions* options, knArena* scratch,
                           const knAllocator* allocator)
{
    if (!mesh || !family || fragment >= family->fragments.fragmentCount ||
        family->fragments.fragments[fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorArgument, "knCreatePieceMesh: null, or fragment %u is not alive",
                      fragment);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knPieceMesh made = {.allocator = allocator ? *allocator : knDefaultAllocator()};
    if (scratch)
    {
        size_t mark = knArena_Mark(scratch);
        result = Make(&made, family, fragment, options, scratch);
        knArena_Rewind(scratch, mark);
    }
    else
    {
        result = MakeAlone(&made, family, fragment, options, allocator);
    }
    if (result != kn_success)
    {
        knDestroyPieceMesh(&made);
        return result;
    }
    *mesh = made;
    return kn_success;
}

void knDestroyPieceMesh(knPieceMesh* m)
{
    if (m && m->allocator.allocate)
    {
        knRelease(&m->allocator, m->vertices, m->vertexCapacity, sizeof(knMeshVertex));
        knRelease(&m->allocator, m->triangles, m->triangleCount, sizeof(knTriangle));
        knRelease(&m->allocator, m->sources, m->triangleCount, sizeof(knMeshSource));
        knRelease(&m->allocator, m->order, m->triangleCount, sizeof(uint32_t));
        knRelease(&m->allocator, m->nodes, 2 * (size_t)m->triangleCount, sizeof(knMeshNode));
        knRelease(&m->allocator, m->groups, m->groupCapacity, sizeof(knPointGroup));
        knRelease(&m->allocator, m->corners, m->cornerGroupCount, sizeof(knCornerGroup));
        *m = (knPieceMesh){0};
    }
}

size_t knPieceMesh_Bytes(const knPieceMesh* mesh)
{
    size_t triangle =
        sizeof(knTriangle) + sizeof(knMeshSource) + sizeof(uint32_t) + 2 * sizeof(knMeshNode);
    return mesh->vertexCount * sizeof(knMeshVertex) + mesh->triangleCount * triangle +
           mesh->groupCapacity * sizeof(knPointGroup) +
           mesh->cornerGroupCount * sizeof(knCornerGroup);
}
