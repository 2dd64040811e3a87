// SPDX-License-Identifier: Zlib
#include "fracture/surface_internal.h"

#include <string.h>

// A whole face of a whole tetrahedron comes without a region, and most of a surface is such: `face`
// is then the triangle.
typedef void PolygonFcn(Build* build, uint32_t tet, const knTetRegion* region, int face);

static uint32_t TriangleOfFace(const knCutMesh* c, uint32_t tet, uint32_t face)
{
    for (uint32_t k = c->tetTriangleStarts[tet]; k < c->tetTriangleStarts[tet + 1]; ++k)
    {
        if (c->mesh->boundaryFaces[c->tetTriangles[k]] % 4 == face)
        {
            return c->tetTriangles[k];
        }
    }
    return KN_NONE;
}

static void VisitCut(Build* build, uint32_t tet, uint8_t mask, PolygonFcn* visit)
{
    knTetRegion region;
    const knTetMesh* mesh = build->cutMesh->mesh;
    knCutStore_Region(build->store, mesh, tet, mask, &region);
    for (int f = 0; f < region.faceCount; ++f)
    {
        uint8_t source = region.faces[f].source;
        if (source >= 4 || mesh->neighbors[tet].t[source] == KN_NONE)
        {
            visit(build, tet, &region, f);
        }
    }
}

// Whole faces of the tetrahedra whose first corner a node is and that nothing cuts.
static void VisitWhole(Build* build, uint32_t node, PolygonFcn* visit)
{
    const knCutMesh* c = build->cutMesh;
    for (uint32_t k = c->nodeFaceStarts[node]; k < c->nodeFaceStarts[node + 1]; ++k)
    {
        uint32_t triangle = c->nodeFaces[k], tet = c->mesh->boundaryFaces[triangle] / 4;
        visit(build, tet, NULL, (int)triangle);
    }
}

// The same for one tetrahedron.
static void VisitWholeTet(Build* build, uint32_t tet, PolygonFcn* visit)
{
    for (uint32_t f = 0; f < 4; ++f)
    {
        if (build->cutMesh->mesh->neighbors[tet].t[f] == KN_NONE)
        {
            visit(build, tet, NULL, (int)TriangleOfFace(build->cutMesh, tet, f));
        }
    }
}

static void VisitStar(Build* build, uint32_t node, PolygonFcn* visit)
{
    const knCutMesh* c = build->cutMesh;
    for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
    {
        uint32_t tet = c->nodeTets[k];
        if (build->store->tetCuts[tet] == KN_NONE)
        {
            if (c->mesh->tets[tet].v[0] == node)
            {
                VisitWholeTet(build, tet, visit);
            }
            continue;
        }
        uint8_t mask = knCutStore_Mask(build->store, c->mesh, tet, build->fragment);
        int lowest = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
        if (c->mesh->tets[tet].v[lowest] == node)
        {
            VisitCut(build, tet, mask, visit);
        }
    }
}

// Every polygon of the piece's surface: parts of the boundary, and crack faces. Only a tetrahedron
// with a boundary face or a cut has any. Each is visited from its first corner in the piece.
static void VisitPolygons(Build* build, uint32_t first, uint32_t end, PolygonFcn* visit)
{
    for (uint32_t i = first; i < end; ++i)
    {
        uint32_t node = build->nodes[i];
        if (build->set->cutCounts[node] == 0)
        {
            VisitWhole(build, node, visit);
        }
        else
        {
            VisitStar(build, node, visit);
        }
    }
}

static void CountPolygon(Build* build, uint32_t tet, const knTetRegion* region, int face)
{
    (void)tet;
    if (!region)
    {
        build->triangleLimit += 1;
        return;
    }
    const knRegionFace* f = &region->faces[face];
    build->triangleLimit += (uint32_t)f->count - 2;
    for (int i = 0; i < f->count; ++i)
    {
        build->cutCornerCount += region->vertices[f->loop[i]].kind != kn_regionNode;
    }
}

static uint32_t AddVertex(Build* build, uint32_t id, knVec3 position)
{
    uint32_t index = build->vertexCount++;
    build->pointIds[index] = id;
    build->positions[index] = position;
    return index;
}

static uint32_t FindNode(Build* build, uint32_t node)
{
    uint32_t slot = build->set->slots[node] - build->set->fragments[build->fragment].firstNode;
    if (build->nodeVertices[slot] == KN_NONE)
    {
        build->nodeVertices[slot] = AddVertex(build, node, build->cutMesh->mesh->nodes[node]);
    }
    return build->nodeVertices[slot];
}

// Nodes by their place in the fragment, all other points by a table with linear probing.
static uint32_t FindVertex(Build* build, uint32_t tet, const knRegionVertex* v)
{
    uint32_t id = knCutStore_RegionPointId(build->store, build->cutMesh->mesh, tet, v);
    if (v->kind == kn_regionNode)
    {
        return FindNode(build, id);
    }
    uint32_t place = (id * 2654435769u) >> build->tableShift;
    while (build->table[place] != KN_NONE)
    {
        if (build->pointIds[build->table[place]] == id)
        {
            return build->table[place];
        }
        place = (place + 1) & ((1u << (32 - build->tableShift)) - 1);
    }
    build->table[place] = AddVertex(build, id, v->position);
    return build->table[place];
}

static void EmitWhole(Build* build, uint32_t tet, uint32_t triangle)
{
    const knTetMesh* mesh = build->cutMesh->mesh;
    uint32_t t = build->triangleCount++, face = mesh->boundaryFaces[triangle] % 4;
    build->sources[t] = (knPieceTriangle){.tet = tet, .triangle = triangle};
    uint32_t nodes[3];
    for (int k = 0; k < 3; ++k)
    {
        nodes[k] = mesh->tets[tet].v[knTetFaceCorners[face][k]];
        build->triangles[t].v[k] = FindNode(build, nodes[k]);
    }
    knCut_MakeWholeCorners(build, nodes, triangle, &build->corners[3 * (size_t)t]);
}

static void EmitPolygon(Build* build, uint32_t tet, const knTetRegion* region, int face)
{
    if (!region)
    {
        EmitWhole(build, tet, (uint32_t)face);
        return;
    }
    const knRegionFace* f = &region->faces[face];
    Polygon polygon = {.region = region, .face = f, .tet = tet, .triangle = KN_NONE};
    if (f->source < 4)
    {
        polygon.triangle = TriangleOfFace(build->cutMesh, tet, f->source);
    }
    knCornerAttribute corners[KN_MAX_REGION_LOOP];
    knCut_MakeCorners(build, &polygon, corners);
    uint32_t vertices[KN_MAX_REGION_LOOP];
    for (int i = 0; i < f->count; ++i)
    {
        vertices[i] = FindVertex(build, tet, &region->vertices[f->loop[i]]);
    }
    double quality;
    int apex = f->count == 3 ? 0 : knCut_BestFan(region, f, &quality);
    for (int i = 1; i + 1 < f->count; ++i)
    {
        int fan[3] = {apex, (apex + i) % f->count, (apex + i + 1) % f->count};
        uint32_t t = build->triangleCount++;
        build->sources[t] = (knPieceTriangle){.tet = tet, .triangle = polygon.triangle};
        build->sources[t].isCrack = f->source >= 4;
        build->sources[t].plane = f->source >= 4 ? (uint8_t)(f->source - 4) : 0;
        build->crackTriangleCount += f->source >= 4;
        for (int k = 0; k < 3; ++k)
        {
            build->triangles[t].v[k] = vertices[fan[k]];
            build->corners[3 * (size_t)t + (size_t)k] = corners[fan[k]];
        }
    }
}

static knResult AllocateOutputs(Build* build)
{
    knArena* arena = build->arena;
    // at least three triangles meet in a vertex of a closed surface, so there are fewer vertices
    size_t count = build->triangleLimit;
    build->positions = knArena_Allocate(arena, count, sizeof(knVec3));
    build->pointIds = knArena_Allocate(arena, count, sizeof(uint32_t));
    build->triangles = knArena_Allocate(arena, count, sizeof(knTriangle));
    build->sources = knArena_Allocate(arena, count, sizeof(knPieceTriangle));
    build->corners = knArena_Allocate(arena, 3 * count, sizeof(knCornerAttribute));
    bool ok =
        build->positions && build->pointIds && build->triangles && build->sources && build->corners;
    return ok ? kn_success : kn_errorMemory;
}

static knResult AllocateScratch(Build* build)
{
    uint32_t nodeCount = build->set->fragments[build->fragment].nodeCount;
    build->tableShift = 28;
    while (build->tableShift > 1 && 1u << (32 - build->tableShift) < 2 * build->cutCornerCount)
    {
        build->tableShift -= 1;
    }
    size_t tableSize = (size_t)1 << (32 - build->tableShift);
    build->nodeVertices = knArena_Allocate(build->arena, nodeCount, sizeof(uint32_t));
    build->table = knArena_Allocate(build->arena, tableSize, sizeof(uint32_t));
    if (!build->nodeVertices || !build->table)
    {
        return kn_errorMemory;
    }
    memset(build->nodeVertices, 0xFF, nodeCount * sizeof(uint32_t));
    memset(build->table, 0xFF, tableSize * sizeof(uint32_t));
    return kn_success;
}

static knResult BeginEmitting(Build* build)
{
    knResult result = AllocateOutputs(build);
    build->mark = knArena_Mark(build->arena);
    return result == kn_success ? AllocateScratch(build) : result;
}

static knResult EndEmitting(Build* build)
{
    knArena_Rewind(build->arena, build->mark);
    knResult result = kn_success;
    if (build->options.smoothCracks)
    {
        result = knCut_SmoothCracks(build);
        knArena_Rewind(build->arena, build->mark);
    }
    return result;
}

// Some more nodes of the first pass, which counts, or of the second.
static knResult StepSurface(Build* build, uint32_t nodeCount)
{
    uint32_t all = build->set->fragments[build->fragment].nodeCount;
    uint32_t left = all - build->nextNode;
    uint32_t first = build->nextNode, end = first + (nodeCount < left ? nodeCount : left);
    VisitPolygons(build, first, end, build->isEmitting ? EmitPolygon : CountPolygon);
    build->nextNode = end;
    if (end < all)
    {
        return kn_success;
    }
    build->nextNode = 0;
    build->isDone = build->isEmitting;
    build->isEmitting = true;
    return build->isDone ? EndEmitting(build) : BeginEmitting(build);
}

static knResult CheckSurfaceCall(const knFragmentSet* set, uint32_t fragment, const knArena* arena,
                                 const knPieceSurface* surface)
{
    if (!set || !set->nodes || !arena || !surface)
    {
        return knFail(kn_errorArgument, "knFragmentSet_Surface: set, arena or surface is null");
    }
    if (fragment >= set->fragmentCount || set->fragments[fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorHandle, "knFragmentSet_Surface: fragment %u has ended or never was",
                      fragment);
    }
    return kn_success;
}

static Build MakeBuild(const knFragmentSet* set, uint32_t fragment, const knPieceOptions* options,
                       knArena* arena)
{
    return (Build){.set = set,
                   .store = set->store,
                   .cutMesh = set->cutMesh,
                   .options = options ? *options : knDefaultPieceOptions(),
                   .arena = arena,
                   .fragment = fragment,
                   .nodes = knFragmentSet_Nodes(set, fragment)};
}

static knPieceSurface SurfaceOf(const Build* build)
{
    return (knPieceSurface){.positions = build->positions,
                            .pointIds = build->pointIds,
                            .triangles = build->triangles,
                            .sources = build->sources,
                            .corners = build->corners,
                            .vertexCount = build->vertexCount,
                            .triangleCount = build->triangleCount,
                            .crackTriangleCount = build->crackTriangleCount};
}

static knResult FailForRoom(knResult result, uint32_t fragment)
{
    return knFail(result, "knFragmentSet_Surface: the arena is too small for fragment %u",
                  fragment);
}

knResult knFragmentSet_Surface(const knFragmentSet* set, uint32_t fragment,
                               const knPieceOptions* options, knArena* arena,
                               knPieceSurface* surface)
{
    knResult result = CheckSurfaceCall(set, fragment, arena, surface);
    if (result != kn_success)
    {
        return result;
    }
    Build build = MakeBuild(set, fragment, options, arena);
    size_t mark = knArena_Mark(arena);
    while (result == kn_success && !build.isDone)
    {
        result = StepSurface(&build, KN_NONE);
    }
    if (result != kn_success)
    {
        knArena_Rewind(arena, mark);
        return FailForRoom(result, fragment);
    }
    *surface = SurfaceOf(&build);
    return kn_success;
}

// ---- the same in slices

struct knSurfaceWork
{
    Build build;
};

knResult knBeginSurface(knSurfaceWork** out, const knFragmentSet* set, uint32_t fragment,
                        const knPieceOptions* options, knArena* arena)
{
    knPieceSurface ignored;
    knResult result = out ? CheckSurfaceCall(set, fragment, arena, &ignored)
                          : knFail(kn_errorArgument, "knBeginSurface: null");
    if (result != kn_success)
    {
        return result;
    }
    knSurfaceWork* work = knArena_Allocate(arena, 1, sizeof *work);
    if (!work)
    {
        return FailForRoom(kn_errorMemory, fragment);
    }
    work->build = MakeBuild(set, fragment, options, arena);
    *out = work;
    return kn_success;
}

knResult knSurfaceWork_Step(knSurfaceWork* work, uint32_t nodeCount, bool* isDone)
{
    if (!work || nodeCount == 0 || !isDone || work->build.isDone)
    {
        return knFail(kn_errorArgument, "knSurfaceWork_Step: null, no nodes, or it is done");
    }
    knResult result = StepSurface(&work->build, nodeCount);
    *isDone = work->build.isDone;
    return result == kn_success ? result : FailForRoom(result, work->build.fragment);
}

knPieceSurface knSurfaceWork_Surface(const knSurfaceWork* work)
{
    return SurfaceOf(&work->build);
}
