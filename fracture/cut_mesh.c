// SPDX-License-Identifier: Zlib
#include "knap/cutting.h"

#include <string.h>

static knResult AllocateCutMesh(knCutMesh* c, const knTetMesh* mesh)
{
    const knAllocator* a = &c->allocator;
    c->nodeTetStarts = knAllocate(a, (size_t)mesh->nodeCount + 1, sizeof(uint32_t));
    c->nodeTets = knAllocate(a, 4 * (size_t)mesh->tetCount, sizeof(uint32_t));
    c->tetTriangleStarts = knAllocate(a, (size_t)mesh->tetCount + 1, sizeof(uint32_t));
    c->tetTriangles = knAllocate(a, mesh->boundaryFaceCount, sizeof(uint32_t));
    c->nodeFaceStarts = knAllocate(a, (size_t)mesh->nodeCount + 1, sizeof(uint32_t));
    c->nodeFaces = knAllocate(a, mesh->boundaryFaceCount, sizeof(uint32_t));
    c->nodeEdgeRuns = knAllocate(a, (size_t)mesh->nodeCount + 1, sizeof(uint32_t));
    c->tetMoments = knAllocate(a, mesh->tetCount, sizeof(knMoments));
    c->nodeMoments = knAllocate(a, mesh->nodeCount, sizeof(knMoments));
    bool ok = c->nodeEdgeRuns && c->tetMoments && c->nodeMoments && c->nodeTetStarts &&
              c->nodeTets && c->tetTriangleStarts && c->nodeFaceStarts &&
              ((c->tetTriangles && c->nodeFaces) || mesh->boundaryFaceCount == 0);
    return ok ? kn_success : kn_errorMemory;
}

// Turns counts, stored one place further on, into starts that the filling moves to their place.
static void SumCounts(uint32_t* starts, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        starts[i + 1] += starts[i];
    }
}

// After filling, starts[i] is where i ends: shift them back by one.
static void ShiftStarts(uint32_t* starts, uint32_t count)
{
    memmove(starts + 1, starts, count * sizeof(uint32_t));
    starts[0] = 0;
}

static void ListNodeTets(knCutMesh* c)
{
    const knTetMesh* mesh = c->mesh;
    uint32_t* starts = c->nodeTetStarts;
    memset(starts, 0, ((size_t)mesh->nodeCount + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < 4 * mesh->tetCount; ++i)
    {
        starts[mesh->tets[i / 4].v[i % 4] + 1] += 1;
    }
    SumCounts(starts, mesh->nodeCount);
    for (uint32_t i = 0; i < 4 * mesh->tetCount; ++i)
    {
        c->nodeTets[starts[mesh->tets[i / 4].v[i % 4]]++] = i / 4;
    }
    ShiftStarts(starts, mesh->nodeCount);
}

static void ListTetTriangles(knCutMesh* c)
{
    const knTetMesh* mesh = c->mesh;
    uint32_t* starts = c->tetTriangleStarts;
    memset(starts, 0, ((size_t)mesh->tetCount + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
    {
        starts[mesh->boundaryFaces[i] / 4 + 1] += 1;
    }
    SumCounts(starts, mesh->tetCount);
    for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
    {
        c->tetTriangles[starts[mesh->boundaryFaces[i] / 4]++] = i;
    }
    ShiftStarts(starts, mesh->tetCount);
}

// Per node by tetrahedron and face.
static void ListNodeFaces(knCutMesh* c)
{
    const knTetMesh* mesh = c->mesh;
    uint32_t* starts = c->nodeFaceStarts;
    memset(starts, 0, ((size_t)mesh->nodeCount + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
    {
        starts[mesh->tets[mesh->boundaryFaces[i] / 4].v[0] + 1] += 1;
    }
    SumCounts(starts, mesh->nodeCount);
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        uint32_t first = c->tetTriangleStarts[t], end = c->tetTriangleStarts[t + 1];
        for (uint32_t face = 4 * t; first < end && face < 4 * t + 4; ++face)
        {
            for (uint32_t k = first; k < end; ++k)
            {
                uint32_t triangle = c->tetTriangles[k];
                if (mesh->boundaryFaces[triangle] == face)
                {
                    c->nodeFaces[starts[mesh->tets[t].v[0]]++] = triangle;
                }
            }
        }
    }
    ShiftStarts(starts, mesh->nodeCount);
}

// Edges are sorted by their lower ends.
static void ListEdgeRuns(knCutMesh* c)
{
    const knTetMesh* mesh = c->mesh;
    memset(c->nodeEdgeRuns, 0, ((size_t)mesh->nodeCount + 1) * sizeof(uint32_t));
    for (uint32_t e = 0; e < mesh->edgeCount; ++e)
    {
        c->nodeEdgeRuns[mesh->edges[e].v[0] + 1] += 1;
    }
    SumCounts(c->nodeEdgeRuns, mesh->nodeCount);
}

// Most of a piece is whole tetrahedra, and most of its nodes have only such: added up once here,
// and not at every break.
static void MeasureTets(knCutMesh* c)
{
    const knTetMesh* mesh = c->mesh;
    c->whole = knTetMesh_MassProperties(mesh, 1.0);
    c->origin = c->whole.center;
    memset(c->nodeMoments, 0, mesh->nodeCount * sizeof(knMoments));
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        knDVec3 r[4];
        for (int i = 0; i < 4; ++i)
        {
            r[i] = knDSub(knToDouble(mesh->nodes[mesh->tets[t].v[i]]), c->origin);
        }
        c->tetMoments[t] = (knMoments){0};
        knMoments_AddTet(&c->tetMoments[t], r);
        knMoments_AddTet(&c->nodeMoments[mesh->tets[t].v[0]], r);
    }
}

static bool SurfaceFits(const knTetMesh* mesh, const knSurfaceMesh* surface)
{
    if (surface->triangleCount != mesh->boundaryFaceCount)
    {
        return false;
    }
    for (uint32_t i = 0; i < surface->triangleCount; ++i)
    {
        knTriangle face = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i]);
        for (int k = 0; k < 3; ++k)
        {
            uint32_t v = surface->triangles[i].v[k];
            if (v != face.v[0] && v != face.v[1] && v != face.v[2])
            {
                return false;
            }
        }
    }
    return true;
}

knResult knCreateCutMesh(knCutMesh* cutMesh, const knTetMesh* mesh, const knSurfaceMesh* surface,
                         const knAllocator* allocator)
{
    if (!cutMesh || !mesh || mesh->nodeCount == 0 || mesh->tetCount == 0)
    {
        return knFail(kn_errorArgument, "knCreateCutMesh: output or mesh is null or empty");
    }
    if (surface && !SurfaceFits(mesh, surface))
    {
        return knFail(kn_errorMesh, "knCreateCutMesh: the surface is not the mesh's boundary");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knCutMesh created = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                         .mesh = mesh,
                         .surface = surface};
    result = AllocateCutMesh(&created, mesh);
    if (result != kn_success)
    {
        knDestroyCutMesh(&created);
        return result;
    }
    ListNodeTets(&created);
    ListTetTriangles(&created);
    ListNodeFaces(&created);
    ListEdgeRuns(&created);
    MeasureTets(&created);
    *cutMesh = created;
    return kn_success;
}

void knDestroyCutMesh(knCutMesh* cutMesh)
{
    if (!cutMesh || !cutMesh->mesh)
    {
        return;
    }
    const knAllocator* a = &cutMesh->allocator;
    const knTetMesh* mesh = cutMesh->mesh;
    knRelease(a, cutMesh->nodeTetStarts, (size_t)mesh->nodeCount + 1, sizeof(uint32_t));
    knRelease(a, cutMesh->nodeTets, 4 * (size_t)mesh->tetCount, sizeof(uint32_t));
    knRelease(a, cutMesh->tetTriangleStarts, (size_t)mesh->tetCount + 1, sizeof(uint32_t));
    knRelease(a, cutMesh->tetTriangles, mesh->boundaryFaceCount, sizeof(uint32_t));
    knRelease(a, cutMesh->nodeFaceStarts, (size_t)mesh->nodeCount + 1, sizeof(uint32_t));
    knRelease(a, cutMesh->nodeFaces, mesh->boundaryFaceCount, sizeof(uint32_t));
    knRelease(a, cutMesh->nodeEdgeRuns, (size_t)mesh->nodeCount + 1, sizeof(uint32_t));
    knRelease(a, cutMesh->nodeMoments, mesh->nodeCount, sizeof(knMoments));
    knRelease(a, cutMesh->tetMoments, mesh->tetCount, sizeof(knMoments));
    *cutMesh = (knCutMesh){0};
}
