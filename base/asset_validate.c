// SPDX-License-Identifier: Zlib
#include "base/asset_internal.h"
#include "base/base_internal.h"

// One pass per array, scratch of five bytes per edge, one per node and tetrahedron. Each check
// names what the code behind it relies on: a file that passes cannot make it read out of bounds or
// run forever.

#define USED    1
#define FORWARD 2 // the edge was seen in the direction v[0] -> v[1] on the surface
#define BACK    4

static knResult Bad(const char* what, uint32_t index)
{
    return knFail(kn_errorFormat, "the cooked mesh is not sound: %s %u", what, index);
}

static knResult CheckNodes(const knTetMesh* m)
{
    for (uint32_t n = 0; n < m->nodeCount; ++n)
    {
        if (!knIsFinite(m->nodes[n]))
        {
            return Bad("not finite: node", n);
        }
    }
    return kn_success;
}

static knResult CheckTets(const knTetMesh* m)
{
    for (uint32_t t = 0; t < m->tetCount; ++t)
    {
        const uint32_t* v = m->tets[t].v;
        if (v[0] >= m->nodeCount || v[1] >= m->nodeCount || v[2] >= m->nodeCount ||
            v[3] >= m->nodeCount)
        {
            return Bad("a node is out of range in tetrahedron", t);
        }
        // positive volume also means four different nodes
        if (!(knTetVolume6(m->nodes[v[0]], m->nodes[v[1]], m->nodes[v[2]], m->nodes[v[3]]) > 0.0))
        {
            return Bad("flat or turned: tetrahedron", t);
        }
    }
    return kn_success;
}

static knResult CheckNeighbors(const knTetMesh* m)
{
    for (uint32_t face = 0; face < 4 * m->tetCount; ++face)
    {
        uint32_t other = m->neighbors[face / 4].t[face % 4];
        if (other == KN_NONE)
        {
            continue;
        }
        bool found = false;
        for (uint32_t i = 0; other < m->tetCount && i < 4; ++i)
        {
            found = found || (m->neighbors[other].t[i] == face / 4 &&
                              knFacesFaceEachOther(knTetMesh_BoundaryTriangle(m, face),
                                                   knTetMesh_BoundaryTriangle(m, 4 * other + i)));
        }
        if (!found)
        {
            return Bad("wrong neighbour of tetrahedron", face / 4);
        }
    }
    return kn_success;
}

static knResult CheckEdges(const knTetMesh* m)
{
    for (uint32_t e = 0; e < m->edgeCount; ++e)
    {
        const uint32_t* v = m->edges[e].v;
        bool ascends = e == 0 || m->edges[e - 1].v[0] < v[0] ||
                       (m->edges[e - 1].v[0] == v[0] && m->edges[e - 1].v[1] < v[1]);
        if (!ascends || v[0] >= v[1] || v[1] >= m->nodeCount)
        {
            return Bad("out of order or out of range: edge", e);
        }
    }
    return kn_success;
}

static bool EdgeJoins(const knTetMesh* m, uint32_t edge, uint32_t a, uint32_t b)
{
    const uint32_t* v = m->edges[edge].v;
    return (v[0] == a && v[1] == b) || (v[0] == b && v[1] == a);
}

static knResult CheckTetEdges(const knTetMesh* m, uint8_t* edgeFlags)
{
    for (uint32_t t = 0; t < m->tetCount; ++t)
    {
        for (int i = 0; i < 6; ++i)
        {
            uint32_t e = m->tetEdges[t].e[i];
            const uint8_t* corner = knTetEdgeCorners[i];
            if (e >= m->edgeCount ||
                !EdgeJoins(m, e, m->tets[t].v[corner[0]], m->tets[t].v[corner[1]]))
            {
                return Bad("wrong edge in tetrahedron", t);
            }
            edgeFlags[e] |= USED;
        }
    }
    for (uint32_t e = 0; e < m->edgeCount; ++e)
    {
        if (edgeFlags[e] != USED)
        {
            return Bad("no tetrahedron has edge", e);
        }
    }
    return kn_success;
}

// As many entries as edge ends, each list strictly ascending, each entry an edge of its node: so
// the lists are complete. No list is empty: so every node is in use.
static knResult CheckNodeEdges(const knTetMesh* m)
{
    if (m->nodeEdgeStarts[0] != 0 || m->nodeEdgeStarts[m->nodeCount] != 2 * m->edgeCount)
    {
        return Bad("wrong bounds of the edge lists of node", 0);
    }
    for (uint32_t n = 0; n < m->nodeCount; ++n)
    {
        uint32_t begin = m->nodeEdgeStarts[n];
        uint32_t end = m->nodeEdgeStarts[n + 1];
        if (begin >= end || end > 2 * m->edgeCount)
        {
            return Bad("wrong bounds of the edge list of node", n);
        }
        for (uint32_t i = begin; i < end; ++i)
        {
            uint32_t e = m->nodeEdges[i];
            if (e >= m->edgeCount || (i > begin && e <= m->nodeEdges[i - 1]) ||
                (m->edges[e].v[0] != n && m->edges[e].v[1] != n))
            {
                return Bad("wrong edge list of node", n);
            }
        }
    }
    return kn_success;
}

// What the checks mark; all zero at first.
typedef struct Scratch
{
    uint32_t* apexes; // per edge, the node opposite it in the surface triangle met first
    uint8_t* edgeFlags;
    uint8_t* tetFlags; // per tetrahedron, a bit per face
    uint8_t* nodeFlags;
} Scratch;

// Marks the three edges of a face in the direction that the triangle runs; false when one was run
// in that direction before, or when the triangle across it is the same one seen from behind: a face
// inside that both its tetrahedra disown.
static bool MarkSurfaceEdges(const knTetMesh* m, uint32_t face, const Scratch* scratch)
{
    knTriangle triangle = knTetMesh_BoundaryTriangle(m, face);
    for (int i = 0; i < 6; ++i)
    {
        const uint8_t* corner = knTetEdgeCorners[i];
        if (corner[0] == face % 4 || corner[1] == face % 4)
        {
            continue;
        }
        uint32_t e = m->tetEdges[face / 4].e[i];
        const uint32_t* v = m->edges[e].v;
        bool forward = (triangle.v[0] == v[0] && triangle.v[1] == v[1]) ||
                       (triangle.v[1] == v[0] && triangle.v[2] == v[1]) ||
                       (triangle.v[2] == v[0] && triangle.v[0] == v[1]);
        uint8_t flag = forward ? FORWARD : BACK;
        uint32_t apex = triangle.v[0] ^ triangle.v[1] ^ triangle.v[2] ^ v[0] ^ v[1];
        uint8_t seen = scratch->edgeFlags[e];
        if ((seen & flag) || ((seen & (FORWARD | BACK)) && scratch->apexes[e] == apex))
        {
            return false;
        }
        scratch->apexes[e] = apex;
        scratch->edgeFlags[e] |= flag;
    }
    return true;
}

static bool SameTriangle(knTriangle a, knTriangle b)
{
    return a.v[0] == b.v[0] && a.v[1] == b.v[1] && a.v[2] == b.v[2];
}

// Triangles are the boundary faces, each once, and every edge of theirs has two of them that run
// against each other: the surface is closed and 2-manifold along its edges.
static knResult CheckSurface(const knAsset* asset, const Scratch* scratch)
{
    const knTetMesh* m = &asset->tetMesh;
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        uint32_t face = m->boundaryFaces[i];
        uint8_t bit = (uint8_t)(1u << (face % 4));
        if (face / 4 >= m->tetCount || m->neighbors[face / 4].t[face % 4] != KN_NONE ||
            (scratch->tetFlags[face / 4] & bit) ||
            !SameTriangle(knTetMesh_BoundaryTriangle(m, face), asset->surface.triangles[i]))
        {
            return Bad("not a face of the boundary: triangle", i);
        }
        scratch->tetFlags[face / 4] |= bit;
        if (!MarkSurfaceEdges(m, face, scratch))
        {
            return Bad("more than two triangles, or two that disagree, at an edge of triangle", i);
        }
    }
    for (uint32_t e = 0; e < m->edgeCount; ++e)
    {
        if (((scratch->edgeFlags[e] & FORWARD) == 0) != ((scratch->edgeFlags[e] & BACK) == 0))
        {
            return Bad("the surface is open at edge", e);
        }
    }
    return kn_success;
}

static uint32_t CountBoundary(const knTetMesh* m)
{
    uint32_t count = 0;
    for (uint32_t face = 0; face < 4 * m->tetCount; ++face)
    {
        count += m->neighbors[face / 4].t[face % 4] == KN_NONE;
    }
    return count;
}

// Surface nodes come first: exactly the nodes below the count are corners of triangles.
static knResult CheckSurfaceNodes(const knAsset* asset, uint8_t* nodeFlags)
{
    const knSurfaceMesh* s = &asset->surface;
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            uint32_t v = s->triangles[i].v[k];
            if (v >= s->positionCount)
            {
                return Bad("a corner is no surface node in triangle", i);
            }
            nodeFlags[v] = USED;
        }
    }
    for (uint32_t n = 0; n < s->positionCount; ++n)
    {
        if (!nodeFlags[n])
        {
            return Bad("no triangle has surface node", n);
        }
    }
    return kn_success;
}

static knResult CheckAttributes(const knSurfaceMesh* s)
{
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        const uint32_t* c = s->cornerAttributes[i].v;
        if (c[0] >= s->attributeCount || c[1] >= s->attributeCount || c[2] >= s->attributeCount)
        {
            return Bad("an attribute is out of range in triangle", i);
        }
    }
    for (uint32_t i = 0; i < s->attributeCount; ++i)
    {
        const knCornerAttribute* a = &s->attributes[i];
        float length = knLength(a->normal);
        if (!(length > 0.99f && length < 1.01f) || !isfinite(a->u) || !isfinite(a->v))
        {
            return Bad("no unit normal or not finite: attribute", i);
        }
    }
    return kn_success;
}

static bool Near(double a, double b, double scale)
{
    // also false when either is not finite
    return fabs(a - b) <= 1e-9 * scale;
}

static bool SameBox(knBox a, knBox b)
{
    return a.lower.x == b.lower.x && a.lower.y == b.lower.y && a.lower.z == b.lower.z &&
           a.upper.x == b.upper.x && a.upper.y == b.upper.y && a.upper.z == b.upper.z;
}

static bool InertiaAgrees(const knDSym3* a, const knDSym3* b)
{
    double scale = a->xx + a->yy + a->zz;
    return scale > 0.0 && Near(a->xx, b->xx, scale) && Near(a->yy, b->yy, scale) &&
           Near(a->zz, b->zz, scale) && Near(a->xy, b->xy, scale) && Near(a->xz, b->xz, scale) &&
           Near(a->yz, b->yz, scale);
}

static knResult CheckInfo(const knAsset* asset)
{
    const knAssetInfo* info = asset->info;
    const knTetMesh* m = &asset->tetMesh;
    bool named = memchr(info->source, 0, sizeof info->source) &&
                 memchr(info->material, 0, sizeof info->material);
    if (!named || info->hasUv > 1 || info->unused != 0 || info->componentCount == 0 ||
        info->componentCount > asset->surface.triangleCount)
    {
        return knFail(kn_errorFormat, "the section INFO is not sound");
    }
    if (!(info->density > 0.0) || !isfinite(info->density))
    {
        return knFail(kn_errorFormat, "the density must be positive and finite");
    }
    knMassProperties p = knTetMesh_MassProperties(m, info->density);
    knBox box = knBoundingBox(m->nodes, m->nodeCount);
    double size = knDLength(knToDouble(knBox_Extent(box)));
    double area = knSurfaceArea(asset->surface.positions, asset->surface.triangles,
                                asset->surface.triangleCount);
    bool agree = p.volume > 0.0 && Near(p.volume, info->volume, p.volume) &&
                 Near(p.mass, info->mass, p.mass) && Near(area, info->area, area) &&
                 Near(p.center.x, info->center.x, size) && Near(p.center.y, info->center.y, size) &&
                 Near(p.center.z, info->center.z, size) &&
                 InertiaAgrees(&p.inertia, &info->inertia) && SameBox(box, info->bounds);
    return agree ? kn_success
                 : knFail(kn_errorFormat, "volume, mass or bounds are not those of the mesh");
}

static knResult CheckWithScratch(const knAsset* asset, const Scratch* scratch)
{
    const knTetMesh* m = &asset->tetMesh;
    knResult result = CheckTetEdges(m, scratch->edgeFlags);
    result = result == kn_success ? CheckNodeEdges(m) : result;
    result = result == kn_success ? CheckSurface(asset, scratch) : result;
    if (result == kn_success && CountBoundary(m) != m->boundaryFaceCount)
    {
        result = Bad("faces of the boundary without triangle, of", m->boundaryFaceCount);
    }
    result = result == kn_success ? CheckSurfaceNodes(asset, scratch->nodeFlags) : result;
    result = result == kn_success ? CheckAttributes(&asset->surface) : result;
    return result == kn_success ? CheckInfo(asset) : result;
}

knResult knAsset_ValidateMesh(const knAsset* asset)
{
    const knTetMesh* m = &asset->tetMesh;
    knResult result = CheckNodes(m);
    result = result == kn_success ? CheckTets(m) : result;
    result = result == kn_success ? CheckNeighbors(m) : result;
    result = result == kn_success ? CheckEdges(m) : result;
    if (result != kn_success)
    {
        return result;
    }
    size_t apexBytes = m->edgeCount * sizeof(uint32_t);
    size_t size = apexBytes + m->edgeCount + m->tetCount + m->nodeCount;
    uint8_t* memory = knAllocate(&asset->allocator, size, 1);
    if (!memory)
    {
        return kn_errorMemory;
    }
    memset(memory, 0, size);
    Scratch scratch = {.apexes = (uint32_t*)memory, .edgeFlags = memory + apexBytes};
    scratch.tetFlags = scratch.edgeFlags + m->edgeCount;
    scratch.nodeFlags = scratch.tetFlags + m->tetCount;
    result = CheckWithScratch(asset, &scratch);
    knRelease(&asset->allocator, memory, size, 1);
    return result;
}
