// SPDX-License-Identifier: Zlib
#include "family_internal.h"

#include <string.h>

// How sharp the edges of the whole object are: known once for all instances, whatever angle they
// call sharp.

static knVec3 BoundaryNormal(const knTetMesh* mesh, uint32_t boundaryFace)
{
    knTriangle t = knTetMesh_BoundaryTriangle(mesh, boundaryFace);
    knVec3 o = mesh->nodes[t.v[0]];
    return knNormalize(knCross(knSub(mesh->nodes[t.v[1]], o), knSub(mesh->nodes[t.v[2]], o)));
}

// The cosine of the angle between the two triangles at an edge is 1 when it is not convex.
static knModelEdge MakeEdge(const knTetMesh* mesh, uint32_t edge, uint32_t face, uint32_t other)
{
    knModelEdge made = {edge, 1.0f, {BoundaryNormal(mesh, face), BoundaryNormal(mesh, other)}};
    knTriangle t = knTetMesh_BoundaryTriangle(mesh, other);
    const uint32_t* v = mesh->edges[edge].v;
    uint32_t apex = t.v[0] + t.v[1] + t.v[2] - v[0] - v[1];
    float height = knDot(made.normals[0], knSub(mesh->nodes[apex], mesh->nodes[v[0]]));
    made.cosine = height < 0.0f ? knDot(made.normals[0], made.normals[1]) : 1.0f;
    return made;
}

// Calls for each side of the boundary's triangles: the edge and the face.
static void AddFace(const knTetMesh* mesh, uint32_t face, uint32_t* faces, knModelEdges* list)
{
    for (int k = 0; k < 6; ++k)
    {
        const uint8_t* ends = knTetEdgeCorners[k];
        if (ends[0] == face % 4 || ends[1] == face % 4)
        {
            continue;
        }
        uint32_t edge = mesh->tetEdges[face / 4].e[k];
        if (faces[edge] == KN_NONE)
        {
            faces[edge] = face;
            continue;
        }
        knModelEdge made = MakeEdge(mesh, edge, faces[edge], face);
        if (made.cosine < 1.0f)
        {
            list->edges[list->count++] = made;
        }
    }
}

knResult knModelEdges_Find(knModelEdges* list, const knTetMesh* mesh, const knAllocator* allocator)
{
    uint32_t* faces = knAllocate(allocator, mesh->edgeCount, sizeof(uint32_t));
    // a side of a triangle is the second of its edge at most once
    list->capacity = 3 * mesh->boundaryFaceCount;
    list->edges = knAllocate(allocator, list->capacity, sizeof(knModelEdge));
    bool ok = faces && (list->edges || list->capacity == 0);
    if (ok)
    {
        memset(faces, 0xFF, mesh->edgeCount * sizeof(uint32_t));
        for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
        {
            AddFace(mesh, mesh->boundaryFaces[i], faces, list);
        }
    }
    knRelease(allocator, faces, mesh->edgeCount, sizeof(uint32_t));
    return ok ? kn_success : kn_errorMemory;
}

void knModelEdges_Drop(knModelEdges* list, const knAllocator* allocator)
{
    knRelease(allocator, list->edges, list->capacity, sizeof(knModelEdge));
    *list = (knModelEdges){0};
}
