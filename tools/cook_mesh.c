// SPDX-License-Identifier: Zlib
#include "cook_mesh.h"

#include <string.h>

// Marks in `numbers` the nodes of the boundary, then the other used ones, and numbers them in that
// order; KN_NONE for the unused. Returns how many are on the boundary.
static uint32_t NumberNodes(const knTetMesh* mesh, uint32_t* numbers, uint32_t* usedCount)
{
    enum
    {
        unused = 0,
        inside = 1,
        outside = 2
    };
    memset(numbers, 0, mesh->nodeCount * sizeof(uint32_t));
    for (uint32_t t = 0; t < 4 * mesh->tetCount; ++t)
    {
        numbers[mesh->tets[t / 4].v[t % 4]] = inside;
    }
    uint32_t surfaceCount = 0;
    for (uint32_t i = 0; i < 3 * mesh->boundaryFaceCount; ++i)
    {
        knTriangle triangle = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i / 3]);
        surfaceCount += numbers[triangle.v[i % 3]] == inside;
        numbers[triangle.v[i % 3]] = outside;
    }
    uint32_t nextOutside = 0, nextInside = surfaceCount;
    for (uint32_t n = 0; n < mesh->nodeCount; ++n)
    {
        uint32_t kind = numbers[n];
        numbers[n] = kind == outside ? nextOutside++ : (kind == inside ? nextInside++ : KN_NONE);
    }
    *usedCount = nextInside;
    return surfaceCount;
}

static knResult FillSurface(const knTetMesh* mesh, const uint32_t* numbers, const knVec3* nodes,
                            uint32_t surfaceCount, knSoup* surface)
{
    uint32_t index = 0;
    knResult result = knSoup_AddAttribute(surface, (knCornerAttribute){0}, &index);
    for (uint32_t n = 0; result == kn_success && n < surfaceCount; ++n)
    {
        result = knSoup_AddPosition(surface, nodes[n], &index);
    }
    for (uint32_t i = 0; result == kn_success && i < mesh->boundaryFaceCount; ++i)
    {
        knTriangle triangle = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i]);
        for (int k = 0; k < 3; ++k)
        {
            triangle.v[k] = numbers[triangle.v[k]];
        }
        result = knSoup_AddTriangle(surface, triangle, (knTriangle){{0, 0, 0}}, i);
    }
    return result;
}

static knResult Renumber(const knTetMesh* mesh, knTetSoup* tets, knSoup* surface)
{
    const knAllocator* a = &tets->allocator;
    size_t nodeCount = tets->nodeCount;
    uint32_t* numbers = knAllocate(a, nodeCount, sizeof(uint32_t));
    knVec3* nodes = knAllocate(a, nodeCount, sizeof(knVec3));
    knResult result = numbers && nodes ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        uint32_t usedCount = 0;
        uint32_t surfaceCount = NumberNodes(mesh, numbers, &usedCount);
        for (size_t n = 0; n < tets->nodeCount; ++n)
        {
            if (numbers[n] != KN_NONE)
            {
                nodes[numbers[n]] = tets->nodes[n];
            }
        }
        result = FillSurface(mesh, numbers, nodes, surfaceCount, surface);
        for (size_t i = 0; i < 4 * tets->tetCount; ++i)
        {
            uint32_t* v = &tets->tets[i / 4].v[i % 4];
            *v = numbers[*v];
        }
        memcpy(tets->nodes, nodes, usedCount * sizeof(knVec3));
        tets->nodeCount = usedCount;
    }
    knRelease(a, nodes, nodeCount, sizeof(knVec3));
    knRelease(a, numbers, nodeCount, sizeof(uint32_t));
    return result;
}

knResult knSurfaceOfTets(knTetSoup* tets, knSoup* surface)
{
    knTetMeshStore store;
    knResult result = knBuildTetMesh(&store, tets->nodes, (uint32_t)tets->nodeCount, tets->tets,
                                     (uint32_t)tets->tetCount, &tets->allocator);
    if (result == kn_success)
    {
        result = Renumber(&store.mesh, tets, surface);
        knDestroyTetMeshStore(&store);
    }
    return result;
}

// Finds boundary faces by their three nodes, whatever the order.
typedef struct FaceTable
{
    const knTetMesh* mesh;
    uint32_t* slots; // index into mesh->boundaryFaces plus 1; 0 is free
    size_t slotCount;
} FaceTable;

static void SortThree(uint32_t v[3])
{
    for (int i = 0; i < 3; ++i)
    {
        int a = i % 2, b = a + 1;
        uint32_t low = v[a] < v[b] ? v[a] : v[b];
        v[b] = v[a] < v[b] ? v[b] : v[a];
        v[a] = low;
    }
}

static size_t HashTriangle(knTriangle triangle, size_t slotCount)
{
    SortThree(triangle.v);
    uint64_t h = triangle.v[0];
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u + triangle.v[1];
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u + triangle.v[2];
    h = (h ^ (h >> 29)) * 0x94D049BB133111EBu;
    return (size_t)(h >> 20) & (slotCount - 1);
}

// How far `a` must be rotated to become `b`, or -1.
static int RotationTo(knTriangle a, knTriangle b)
{
    for (int shift = 0; shift < 3; ++shift)
    {
        if (a.v[shift] == b.v[0] && a.v[(shift + 1) % 3] == b.v[1] &&
            a.v[(shift + 2) % 3] == b.v[2])
        {
            return shift;
        }
    }
    return -1;
}

static knResult MakeFaceTable(const knTetMesh* mesh, const knAllocator* allocator, FaceTable* table)
{
    table->mesh = mesh;
    table->slotCount = 16;
    while (table->slotCount < 2 * (size_t)mesh->boundaryFaceCount)
    {
        table->slotCount *= 2;
    }
    table->slots = knAllocate(allocator, table->slotCount, sizeof(uint32_t));
    if (!table->slots)
    {
        return kn_errorMemory;
    }
    memset(table->slots, 0, table->slotCount * sizeof(uint32_t));
    for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
    {
        knTriangle triangle = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i]);
        size_t slot = HashTriangle(triangle, table->slotCount);
        while (table->slots[slot] != 0)
        {
            slot = (slot + 1) & (table->slotCount - 1);
        }
        table->slots[slot] = i + 1;
    }
    return kn_success;
}

// The boundary face with these corners in this direction; KN_NONE when there is none.
static uint32_t FindFace(const FaceTable* table, knTriangle triangle, int* rotation)
{
    size_t slot = HashTriangle(triangle, table->slotCount);
    for (; table->slots[slot] != 0; slot = (slot + 1) & (table->slotCount - 1))
    {
        uint32_t face = table->mesh->boundaryFaces[table->slots[slot] - 1];
        *rotation = RotationTo(triangle, knTetMesh_BoundaryTriangle(table->mesh, face));
        if (*rotation >= 0)
        {
            return face;
        }
    }
    return KN_NONE;
}

static knResult MatchSurface(knCookedMesh* mesh, const knSoup* surface, const FaceTable* table)
{
    for (size_t i = 0; i < surface->triangleCount; ++i)
    {
        int shift = 0;
        uint32_t face = FindFace(table, surface->triangles[i], &shift);
        if (face == KN_NONE)
        {
            return knFail(kn_errorMesh,
                          "the tetrahedra do not reach triangle %zu of the surface: "
                          "some parts overlap or lie on one another; see 'knap doctor'",
                          i);
        }
        const uint32_t* c = surface->corners[i].v;
        mesh->boundaryFaces[i] = face;
        mesh->triangles[i] = knTetMesh_BoundaryTriangle(table->mesh, face);
        mesh->corners[i] = (knTriangle){{c[shift], c[(shift + 1) % 3], c[(shift + 2) % 3]}};
    }
    return kn_success;
}

static knResult OrderSurface(knCookedMesh* mesh, const knSoup* surface)
{
    const knTetMesh* m = &mesh->store.mesh;
    const knAllocator* a = &mesh->store.allocator;
    if (m->boundaryFaceCount != surface->triangleCount)
    {
        return knFail(kn_errorMesh,
                      "the tetrahedra have %u boundary triangles, the surface %zu: "
                      "some parts overlap or lie on one another; see 'knap doctor'",
                      m->boundaryFaceCount, surface->triangleCount);
    }
    mesh->triangleCount = surface->triangleCount;
    mesh->triangles = knAllocate(a, mesh->triangleCount, sizeof(knTriangle));
    mesh->corners = knAllocate(a, mesh->triangleCount, sizeof(knTriangle));
    mesh->boundaryFaces = knAllocate(a, mesh->triangleCount, sizeof(uint32_t));
    if (!mesh->triangles || !mesh->corners || !mesh->boundaryFaces)
    {
        return kn_errorMemory;
    }
    FaceTable table;
    knResult result = MakeFaceTable(m, a, &table);
    if (result == kn_success)
    {
        result = MatchSurface(mesh, surface, &table);
        knRelease(a, table.slots, table.slotCount, sizeof(uint32_t));
    }
    return result;
}

knResult knMakeCookedMesh(knCookedMesh* mesh, const knSoup* surface, const knTetSoup* tets)
{
    knCookedMesh made = {0};
    knResult result = knBuildTetMesh(&made.store, tets->nodes, (uint32_t)tets->nodeCount,
                                     tets->tets, (uint32_t)tets->tetCount, &tets->allocator);
    result = result == kn_success ? OrderSurface(&made, surface) : result;
    if (result != kn_success)
    {
        knDestroyCookedMesh(&made);
        return result;
    }
    made.tetMesh = made.store.mesh;
    made.tetMesh.surfaceNodeCount = (uint32_t)surface->positionCount;
    made.tetMesh.boundaryFaces = made.boundaryFaces;
    made.surface = (knSurfaceMesh){.positions = tets->nodes,
                                   .triangles = made.triangles,
                                   .cornerAttributes = made.corners,
                                   .attributes = surface->attributes,
                                   .positionCount = (uint32_t)surface->positionCount,
                                   .triangleCount = (uint32_t)surface->triangleCount,
                                   .attributeCount = (uint32_t)surface->attributeCount,
                                   .hasUv = surface->hasUv};
    *mesh = made;
    return kn_success;
}

void knDestroyCookedMesh(knCookedMesh* mesh)
{
    const knAllocator* a = &mesh->store.allocator;
    knRelease(a, mesh->triangles, mesh->triangleCount, sizeof(knTriangle));
    knRelease(a, mesh->corners, mesh->triangleCount, sizeof(knTriangle));
    knRelease(a, mesh->boundaryFaces, mesh->triangleCount, sizeof(uint32_t));
    knDestroyTetMeshStore(&mesh->store);
}
