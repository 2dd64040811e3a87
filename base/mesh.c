// SPDX-License-Identifier: Zlib
#include "knap/mesh.h"

#include "base/base_internal.h"

// Half a million faces sort in three counting passes: no comparison, no worst case, and the order
// depends on the ids alone.
typedef struct Record
{
    uint32_t v[3]; // ascending; edges leave v[2] at 0
    uint32_t id;   // tetrahedron times parts per tetrahedron, plus part
} Record;

typedef struct Builder
{
    const knAllocator* allocator;
    const knVec3* nodes;
    const knTet* tets;
    uint32_t nodeCount;
    uint32_t tetCount;
    Record* records; // 6 per tetrahedron
    Record* spare;
    uint32_t* counts; // nodeCount + 1
    uint32_t edgeCount;
    uint32_t boundaryFaceCount;
} Builder;

static void SortByCorner(Builder* b, uint32_t recordCount, int corner)
{
    memset(b->counts, 0, (b->nodeCount + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < recordCount; ++i)
    {
        b->counts[b->records[i].v[corner] + 1] += 1;
    }
    for (uint32_t i = 0; i < b->nodeCount; ++i)
    {
        b->counts[i + 1] += b->counts[i];
    }
    for (uint32_t i = 0; i < recordCount; ++i)
    {
        b->spare[b->counts[b->records[i].v[corner]]++] = b->records[i];
    }
    Record* sorted = b->spare;
    b->spare = b->records;
    b->records = sorted;
}

static void SwapIfGreater(uint32_t* a, uint32_t* b)
{
    uint32_t low = *a < *b ? *a : *b;
    uint32_t high = *a < *b ? *b : *a;
    *a = low;
    *b = high;
}

static bool SameKey(const Record* a, const Record* b)
{
    return a->v[0] == b->v[0] && a->v[1] == b->v[1] && a->v[2] == b->v[2];
}

static void SortFaces(Builder* b)
{
    for (uint32_t t = 0; t < b->tetCount; ++t)
    {
        for (uint32_t f = 0; f < 4; ++f)
        {
            const uint32_t* v = b->tets[t].v;
            const uint8_t* corner = knTetFaceCorners[f];
            Record r = {{v[corner[0]], v[corner[1]], v[corner[2]]}, 4 * t + f};
            SwapIfGreater(&r.v[0], &r.v[1]);
            SwapIfGreater(&r.v[1], &r.v[2]);
            SwapIfGreater(&r.v[0], &r.v[1]);
            b->records[4 * t + f] = r;
        }
    }
    for (int corner = 2; corner >= 0; --corner)
    {
        SortByCorner(b, 4 * b->tetCount, corner);
    }
}

static void SortEdges(Builder* b)
{
    for (uint32_t t = 0; t < b->tetCount; ++t)
    {
        for (uint32_t e = 0; e < 6; ++e)
        {
            const uint8_t* corner = knTetEdgeCorners[e];
            Record r = {{b->tets[t].v[corner[0]], b->tets[t].v[corner[1]], 0}, 6 * t + e};
            SwapIfGreater(&r.v[0], &r.v[1]);
            b->records[6 * t + e] = r;
        }
    }
    SortByCorner(b, 6 * b->tetCount, 1);
    SortByCorner(b, 6 * b->tetCount, 0);
}

static bool RecordsFaceEachOther(const Builder* b, uint32_t record)
{
    const knTetMesh mesh = {.tets = b->tets};
    return knFacesFaceEachOther(knTetMesh_BoundaryTriangle(&mesh, b->records[record].id),
                                knTetMesh_BoundaryTriangle(&mesh, b->records[record + 1].id));
}

// Counts the boundary and checks that every other face has exactly two sides.
static knResult CheckFaces(Builder* b)
{
    uint32_t count = 4 * b->tetCount;
    for (uint32_t i = 0; i < count;)
    {
        uint32_t end = i + 1;
        while (end < count && SameKey(&b->records[i], &b->records[end]))
        {
            ++end;
        }
        if (end - i > 2)
        {
            return knFail(kn_errorMesh, "tetrahedron %u: %u tetrahedra share the face %u %u %u",
                          b->records[i].id / 4, end - i, b->records[i].v[0], b->records[i].v[1],
                          b->records[i].v[2]);
        }
        if (end - i == 2 && !RecordsFaceEachOther(b, i))
        {
            return knFail(kn_errorMesh,
                          "tetrahedra %u and %u overlap: they lie on the same side "
                          "of the face %u %u %u",
                          b->records[i].id / 4, b->records[i + 1].id / 4, b->records[i].v[0],
                          b->records[i].v[1], b->records[i].v[2]);
        }
        b->boundaryFaceCount += end - i == 1;
        i = end;
    }
    return kn_success;
}

static void LinkFaces(const Builder* b, knTetNeighbors* neighbors)
{
    uint32_t count = 4 * b->tetCount;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t id = b->records[i].id;
        neighbors[id / 4].t[id % 4] = KN_NONE;
        if (i > 0 && SameKey(&b->records[i - 1], &b->records[i]))
        {
            uint32_t other = b->records[i - 1].id;
            neighbors[id / 4].t[id % 4] = other / 4;
            neighbors[other / 4].t[other % 4] = id / 4;
        }
    }
}

static void ListBoundary(const knTetNeighbors* neighbors, uint32_t tetCount, uint32_t* faces)
{
    uint32_t count = 0;
    for (uint32_t face = 0; face < 4 * tetCount; ++face)
    {
        if (neighbors[face / 4].t[face % 4] == KN_NONE)
        {
            faces[count++] = face;
        }
    }
}

static void NumberEdges(const Builder* b, knEdge* edges, knTetEdges* tetEdges)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 6 * b->tetCount; ++i)
    {
        const Record* r = &b->records[i];
        if (i == 0 || !SameKey(r - 1, r))
        {
            edges[count++] = (knEdge){{r->v[0], r->v[1]}};
        }
        tetEdges[r->id / 6].e[r->id % 6] = count - 1;
    }
}

static uint32_t CountEdges(const Builder* b)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 6 * b->tetCount; ++i)
    {
        count += i == 0 || !SameKey(&b->records[i - 1], &b->records[i]);
    }
    return count;
}

static void ListNodeEdges(const Builder* b, const knEdge* edges, uint32_t* starts, uint32_t* list)
{
    memset(starts, 0, (b->nodeCount + 1) * sizeof(uint32_t));
    for (uint32_t e = 0; e < b->edgeCount; ++e)
    {
        starts[edges[e].v[0] + 1] += 1;
        starts[edges[e].v[1] + 1] += 1;
    }
    for (uint32_t n = 0; n < b->nodeCount; ++n)
    {
        starts[n + 1] += starts[n];
    }
    memcpy(b->counts, starts, (b->nodeCount + 1) * sizeof(uint32_t));
    for (uint32_t e = 0; e < b->edgeCount; ++e)
    {
        list[b->counts[edges[e].v[0]]++] = e;
        list[b->counts[edges[e].v[1]]++] = e;
    }
}

static knResult CheckTets(const Builder* b)
{
    for (uint32_t t = 0; t < b->tetCount; ++t)
    {
        const uint32_t* v = b->tets[t].v;
        for (int i = 0; i < 4; ++i)
        {
            if (v[i] >= b->nodeCount || !knIsFinite(b->nodes[v[i]]))
            {
                return knFail(kn_errorMesh, "tetrahedron %u: node %u is out of range or not finite",
                              t, v[i]);
            }
        }
        if (!(knTetVolume6(b->nodes[v[0]], b->nodes[v[1]], b->nodes[v[2]], b->nodes[v[3]]) > 0.0))
        {
            return knFail(kn_errorMesh, "tetrahedron %u is flat or turned inside out", t);
        }
    }
    return kn_success;
}

// Carves the arrays of the mesh out of one block; with a null block it only adds up.
static size_t LayOut(const Builder* b, knTetMesh* mesh, unsigned char* block)
{
    size_t offset = 0;
    mesh->neighbors = knCarve(block, &offset, b->tetCount, sizeof(knTetNeighbors));
    mesh->edges = knCarve(block, &offset, b->edgeCount, sizeof(knEdge));
    mesh->tetEdges = knCarve(block, &offset, b->tetCount, sizeof(knTetEdges));
    mesh->nodeEdgeStarts = knCarve(block, &offset, b->nodeCount + 1, sizeof(uint32_t));
    mesh->nodeEdges = knCarve(block, &offset, 2 * (size_t)b->edgeCount, sizeof(uint32_t));
    mesh->boundaryFaces = knCarve(block, &offset, b->boundaryFaceCount, sizeof(uint32_t));
    return offset;
}

// The records are sorted by edge when this is called, then by face.
static knResult FillStore(Builder* b, knTetMeshStore* store)
{
    knTetMesh* m = &store->mesh;
    store->memorySize = LayOut(b, m, NULL);
    store->memory = knAllocate(b->allocator, store->memorySize, 1);
    if (!store->memory)
    {
        return kn_errorMemory;
    }
    LayOut(b, m, store->memory);
    // the views are const for everybody but their builder
    NumberEdges(b, (knEdge*)m->edges, (knTetEdges*)m->tetEdges);
    ListNodeEdges(b, m->edges, (uint32_t*)m->nodeEdgeStarts, (uint32_t*)m->nodeEdges);
    SortFaces(b);
    LinkFaces(b, (knTetNeighbors*)m->neighbors);
    ListBoundary(m->neighbors, b->tetCount, (uint32_t*)m->boundaryFaces);
    m->nodes = b->nodes;
    m->tets = b->tets;
    m->nodeCount = b->nodeCount;
    m->surfaceNodeCount = b->nodeCount;
    m->tetCount = b->tetCount;
    m->edgeCount = b->edgeCount;
    m->boundaryFaceCount = b->boundaryFaceCount;
    return kn_success;
}

static knResult Build(Builder* b, knTetMeshStore* store)
{
    knResult result = CheckTets(b);
    if (result != kn_success)
    {
        return result;
    }
    SortFaces(b);
    result = CheckFaces(b);
    if (result != kn_success)
    {
        return result;
    }
    SortEdges(b);
    b->edgeCount = CountEdges(b);
    return FillStore(b, store);
}

knResult knBuildTetMesh(knTetMeshStore* store, const knVec3* nodes, uint32_t nodeCount,
                        const knTet* tets, uint32_t tetCount, const knAllocator* allocator)
{
    if (!store || !nodes || !tets || nodeCount == 0 || tetCount == 0)
    {
        return knFail(kn_errorArgument, "knBuildTetMesh: nothing to build from");
    }
    if (nodeCount > KN_MAX_MESH_SIZE || tetCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "%u nodes and %u tetrahedra: the limit is %u of each",
                      nodeCount, tetCount, KN_MAX_MESH_SIZE);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knTetMeshStore built = {.allocator = allocator ? *allocator : knDefaultAllocator()};
    Builder b = {&built.allocator, nodes, tets, nodeCount, tetCount, NULL, NULL, NULL, 0, 0};
    size_t recordCount = 6 * (size_t)tetCount;
    b.records = knAllocate(b.allocator, recordCount, sizeof(Record));
    b.spare = knAllocate(b.allocator, recordCount, sizeof(Record));
    b.counts = knAllocate(b.allocator, (size_t)nodeCount + 1, sizeof(uint32_t));
    result = b.records && b.spare && b.counts ? Build(&b, &built) : kn_errorMemory;
    knRelease(b.allocator, b.records, recordCount, sizeof(Record));
    knRelease(b.allocator, b.spare, recordCount, sizeof(Record));
    knRelease(b.allocator, b.counts, (size_t)nodeCount + 1, sizeof(uint32_t));
    if (result == kn_success)
    {
        *store = built;
    }
    return result;
}

void knDestroyTetMeshStore(knTetMeshStore* store)
{
    if (store)
    {
        knRelease(&store->allocator, store->memory, store->memorySize, 1);
        *store = (knTetMeshStore){0};
    }
}

uint32_t knTetMesh_FindEdge(const knTetMesh* mesh, uint32_t a, uint32_t b)
{
    SwapIfGreater(&a, &b);
    uint32_t low = 0;
    uint32_t high = mesh->edgeCount;
    while (low < high)
    {
        uint32_t middle = low + (high - low) / 2;
        const uint32_t* v = mesh->edges[middle].v;
        bool before = v[0] < a || (v[0] == a && v[1] < b);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    bool found = low < mesh->edgeCount && mesh->edges[low].v[0] == a && mesh->edges[low].v[1] == b;
    return found ? low : KN_NONE;
}
