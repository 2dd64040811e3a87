// SPDX-License-Identifier: Zlib
#include "bench/lattice.h"

#include "knap/asset.h"
#include "knap/random.h"

static bool IsOnSurface(uint32_t cells, uint32_t x, uint32_t y, uint32_t z)
{
    return x == 0 || y == 0 || z == 0 || x == cells || y == cells || z == cells;
}

// One pass for the surface, one for the inside; `ids` maps grid places to nodes.
static uint32_t AddNodes(knLattice* l, uint32_t* ids, uint32_t cells, bool surface)
{
    float step = 1.0f / (float)cells;
    uint32_t place = 0;
    for (uint32_t z = 0; z <= cells; ++z)
    {
        for (uint32_t y = 0; y <= cells; ++y)
        {
            for (uint32_t x = 0; x <= cells; ++x, ++place)
            {
                if (IsOnSurface(cells, x, y, z) == surface)
                {
                    ids[place] = l->nodeCount;
                    l->nodes[l->nodeCount++] =
                        knMakeVec3(step * (float)x, step * (float)y, step * (float)z);
                }
            }
        }
    }
    return l->nodeCount;
}

// Each order of the axes is a walk from one end of the cell's diagonal to the other.
static void AddCell(knLattice* l, const uint32_t* ids, uint32_t place, const uint32_t strides[3])
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                         {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < 6; ++i)
    {
        uint32_t a = place + strides[orders[i][0]];
        uint32_t b = a + strides[orders[i][1]];
        uint32_t c = b + strides[orders[i][2]];
        // odd orders turn the other way
        bool odd = i >= 3;
        l->tets[l->tetCount++] = (knTet){{ids[place], ids[odd ? b : a], ids[odd ? a : b], ids[c]}};
    }
}

knResult knCreateLattice(knLattice* lattice, uint32_t cells)
{
    if (cells == 0 || cells > 200)
    {
        return knFail(kn_errorArgument, "a lattice has 1 to 200 cells per axis, got %u", cells);
    }
    size_t side = (size_t)cells + 1;
    size_t cellCount = (size_t)cells * cells * cells;
    knLattice l = {.nodes = knAllocate(NULL, side * side * side, sizeof(knVec3)),
                   .tets = knAllocate(NULL, 6 * cellCount, sizeof(knTet))};
    uint32_t* ids = knAllocate(NULL, side * side * side, sizeof(uint32_t));
    if (!l.nodes || !l.tets || !ids)
    {
        knRelease(NULL, ids, side * side * side, sizeof(uint32_t));
        knRelease(NULL, l.nodes, side * side * side, sizeof(knVec3));
        knRelease(NULL, l.tets, 6 * cellCount, sizeof(knTet));
        return kn_errorMemory;
    }
    l.surfaceNodeCount = AddNodes(&l, ids, cells, true);
    AddNodes(&l, ids, cells, false);
    const uint32_t strides[3] = {1, cells + 1, (cells + 1) * (cells + 1)};
    for (uint32_t z = 0; z < cells; ++z)
    {
        for (uint32_t y = 0; y < cells; ++y)
        {
            for (uint32_t x = 0; x < cells; ++x)
            {
                AddCell(&l, ids, x + y * strides[1] + z * strides[2], strides);
            }
        }
    }
    knRelease(NULL, ids, side * side * side, sizeof(uint32_t));
    *lattice = l;
    return kn_success;
}

void knDestroyLattice(knLattice* lattice)
{
    knRelease(NULL, lattice->nodes, lattice->nodeCount, sizeof(knVec3));
    knRelease(NULL, lattice->tets, lattice->tetCount, sizeof(knTet));
    *lattice = (knLattice){0};
}

static void ShuffleTets(knLattice* lattice, const uint32_t* newIds, knRandom* random)
{
    for (uint32_t count = lattice->tetCount; count > 0; --count)
    {
        uint32_t k = knRandom_Below(random, count);
        knTet tet = lattice->tets[k];
        lattice->tets[k] = lattice->tets[count - 1];
        for (int i = 0; i < 4; ++i)
        {
            lattice->tets[count - 1].v[i] = newIds[tet.v[i]];
        }
    }
}

knResult knLattice_Shuffle(knLattice* lattice, uint64_t seed)
{
    uint32_t nodeCount = lattice->nodeCount;
    uint32_t* newIds = knAllocate(NULL, nodeCount, sizeof(uint32_t));
    knVec3* nodes = knAllocate(NULL, nodeCount, sizeof(knVec3));
    if (!newIds || !nodes)
    {
        knRelease(NULL, newIds, nodeCount, sizeof(uint32_t));
        knRelease(NULL, nodes, nodeCount, sizeof(knVec3));
        return kn_errorMemory;
    }
    knRandom random = knMakeRandom(seed);
    for (uint32_t i = 0; i < nodeCount; ++i)
    {
        // the permutation grows by one at a random place
        uint32_t k = knRandom_Below(&random, i + 1);
        newIds[i] = k < i ? newIds[k] : i;
        newIds[k] = i;
    }
    for (uint32_t i = 0; i < nodeCount; ++i)
    {
        nodes[newIds[i]] = lattice->nodes[i];
    }
    ShuffleTets(lattice, newIds, &random);
    knRelease(NULL, newIds, nodeCount, sizeof(uint32_t));
    knRelease(NULL, lattice->nodes, nodeCount, sizeof(knVec3));
    lattice->nodes = nodes;
    lattice->surfaceNodeCount = nodeCount;
    return kn_success;
}

// Flat shading: one attribute per triangle.
static void FillSurface(const knTetMesh* mesh, knTriangle* triangles, knTriangle* corners,
                        knCornerAttribute* attributes)
{
    for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
    {
        knTriangle t = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i]);
        knVec3 a = mesh->nodes[t.v[0]];
        knVec3 u = knSub(mesh->nodes[t.v[1]], a);
        knVec3 v = knSub(mesh->nodes[t.v[2]], a);
        triangles[i] = t;
        corners[i] = (knTriangle){{i, i, i}};
        attributes[i] = (knCornerAttribute){knNormalize(knCross(u, v)), a.x + a.z, a.y + a.z};
    }
}

knResult knLattice_Encode(const knLattice* lattice, void** bytes, size_t* size)
{
    knTetMeshStore store;
    knResult result = knBuildTetMesh(&store, lattice->nodes, lattice->nodeCount, lattice->tets,
                                     lattice->tetCount, NULL);
    if (result != kn_success)
    {
        return result;
    }
    store.mesh.surfaceNodeCount = lattice->surfaceNodeCount;
    uint32_t count = store.mesh.boundaryFaceCount;
    knTriangle* triangles = knAllocate(NULL, 2 * (size_t)count, sizeof(knTriangle));
    knCornerAttribute* attributes = knAllocate(NULL, count, sizeof(knCornerAttribute));
    result = triangles && attributes ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        FillSurface(&store.mesh, triangles, triangles + count, attributes);
        knSurfaceMesh surface = {.positions = lattice->nodes,
                                 .triangles = triangles,
                                 .cornerAttributes = triangles + count,
                                 .attributes = attributes,
                                 .positionCount = lattice->surfaceNodeCount,
                                 .triangleCount = count,
                                 .attributeCount = count,
                                 .hasUv = true};
        knAssetDef def = {.source = "lattice",
                          .material = "stone",
                          .density = 2500.0,
                          .surface = &surface,
                          .tetMesh = &store.mesh,
                          .componentCount = 1};
        result = knEncodeAsset(&def, NULL, bytes, size);
    }
    knRelease(NULL, triangles, 2 * (size_t)count, sizeof(knTriangle));
    knRelease(NULL, attributes, count, sizeof(knCornerAttribute));
    knDestroyTetMeshStore(&store);
    return result;
}
