// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#define LEAF_SIZE 10u

// Lists of the tetrahedra of the cells on the way down live on a stack: a cell's list is freed when
// its subtree is done.
typedef struct Builder
{
    knAllocator allocator;
    const knTetMesh* mesh;
    knKdNode* nodes;
    uint32_t* references;
    uint32_t* stack;
    size_t nodeCapacity, referenceCapacity, stackCapacity;
    size_t nodeCount, referenceCount, stackCount;
    int maxDepth;
} Builder;

static knBox TetBox(const knTetMesh* mesh, uint32_t tet)
{
    const uint32_t* v = mesh->tets[tet].v;
    knBox box = {mesh->nodes[v[0]], mesh->nodes[v[0]]};
    for (int i = 1; i < 4; ++i)
    {
        box = knBox_AddPoint(box, mesh->nodes[v[i]]);
    }
    return box;
}

// Box and face planes; keeps all that touch the closed cell and a few more. The slack is far above
// the rounding of these expressions and far below a cell.
static bool TouchesCell(const knTetMesh* mesh, uint32_t tet, knBox cell)
{
    if (!knBox_Overlaps(TetBox(mesh, tet), cell))
    {
        return false;
    }
    const uint32_t* v = mesh->tets[tet].v;
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        knDVec3 a = knToDouble(mesh->nodes[v[c[0]]]);
        knDVec3 n = knDCross(knDSub(knToDouble(mesh->nodes[v[c[1]]]), a),
                             knDSub(knToDouble(mesh->nodes[v[c[2]]]), a));
        knVec3 low = {n.x > 0.0 ? cell.lower.x : cell.upper.x,
                      n.y > 0.0 ? cell.lower.y : cell.upper.y,
                      n.z > 0.0 ? cell.lower.z : cell.upper.z};
        knDVec3 d = knDSub(knToDouble(low), a);
        double size = fabs(n.x * d.x) + fabs(n.y * d.y) + fabs(n.z * d.z);
        if (knDDot(n, d) > 1e-12 * size)
        {
            return false;
        }
    }
    return true;
}

static knResult Push(Builder* b, uint32_t tet)
{
    knResult result = knGrow(&b->allocator, (void**)&b->stack, &b->stackCapacity, b->stackCount + 1,
                             sizeof(uint32_t));
    if (result == kn_success)
    {
        b->stack[b->stackCount++] = tet;
    }
    return result;
}

// Pushes those of stack[first, first + count) that touch the cell.
static knResult PushTouching(Builder* b, size_t first, size_t count, knBox cell)
{
    knResult result = kn_success;
    for (size_t i = first; i < first + count && result == kn_success; ++i)
    {
        uint32_t tet = b->stack[i];
        if (TouchesCell(b->mesh, tet, cell))
        {
            result = Push(b, tet);
        }
    }
    return result;
}

static knResult AddLeaf(Builder* b, size_t node, size_t first, size_t count)
{
    knResult result = knGrow(&b->allocator, (void**)&b->references, &b->referenceCapacity,
                             b->referenceCount + count, sizeof(uint32_t));
    if (result != kn_success)
    {
        return result;
    }
    if (count > 0)
    {
        memcpy(b->references + b->referenceCount, b->stack + first, count * sizeof(uint32_t));
    }
    b->nodes[node] = (knKdNode){(uint32_t)b->referenceCount, (uint32_t)count << 2 | KN_KD_LEAF};
    b->referenceCount += count;
    return kn_success;
}

static void Halve(knBox cell, uint32_t* axis, float* plane, knBox halves[2])
{
    knVec3 e = knBox_Extent(cell);
    *axis = e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
    *plane = knAxis(knBox_Center(cell), *axis);
    halves[0] = halves[1] = cell;
    float* upper = &halves[0].upper.x;
    float* lower = &halves[1].lower.x;
    upper[*axis] = *plane;
    lower[*axis] = *plane;
}

static knResult BuildCell(Builder* b, knBox cell, size_t first, size_t count, int depth)
{
    knResult result = knGrow(&b->allocator, (void**)&b->nodes, &b->nodeCapacity, b->nodeCount + 1,
                             sizeof(knKdNode));
    if (result != kn_success)
    {
        return result;
    }
    size_t node = b->nodeCount++;
    uint32_t axis;
    float plane;
    knBox halves[2];
    Halve(cell, &axis, &plane, halves);
    size_t left = b->stackCount;
    result = count > LEAF_SIZE ? PushTouching(b, first, count, halves[0]) : kn_success;
    size_t right = b->stackCount;
    result = result == kn_success && count > LEAF_SIZE ? PushTouching(b, first, count, halves[1])
                                                       : result;
    size_t end = b->stackCount;
    bool stop = count <= LEAF_SIZE || depth >= b->maxDepth;
    if (result == kn_success && stop)
    {
        result = AddLeaf(b, node, first, count);
    }
    else if (result == kn_success)
    {
        result = BuildCell(b, halves[0], left, right - left, depth + 1);
        b->nodes[node] = (knKdNode){knFloatToBits(plane), (uint32_t)b->nodeCount << 2 | axis};
        result =
            result == kn_success ? BuildCell(b, halves[1], right, end - right, depth + 1) : result;
    }
    b->stackCount = left;
    return result;
}

static knResult BuildTree(Builder* b)
{
    knResult result = kn_success;
    for (uint32_t t = 0; t < b->mesh->tetCount && result == kn_success; ++t)
    {
        result = Push(b, t);
    }
    // around a node of the mesh no split helps: about as many cells as tetrahedra are enough
    b->maxDepth = 1;
    while (b->maxDepth < KN_KD_STACK / 2 && (1u << b->maxDepth) < b->mesh->tetCount)
    {
        b->maxDepth += 1;
    }
    knBox box = knBoundingBox(b->mesh->nodes, b->mesh->nodeCount);
    return result == kn_success ? BuildCell(b, box, 0, b->mesh->tetCount, 0) : result;
}

static void DestroyBuilder(Builder* b)
{
    knRelease(&b->allocator, b->nodes, b->nodeCapacity, sizeof(knKdNode));
    knRelease(&b->allocator, b->references, b->referenceCapacity, sizeof(uint32_t));
    knRelease(&b->allocator, b->stack, b->stackCapacity, sizeof(uint32_t));
}

// Counting sort of the corners by node; tetrahedra come ascending.
static void FillNodeTets(const knTetMesh* mesh, uint32_t* starts, uint32_t* list)
{
    for (uint32_t i = 0; i < 4 * mesh->tetCount; ++i)
    {
        starts[mesh->tets[i / 4].v[i % 4]] += 1;
    }
    uint32_t sum = 0;
    for (uint32_t n = 0; n < mesh->nodeCount; ++n)
    {
        sum += starts[n];
        starts[n] = sum;
    }
    starts[mesh->nodeCount] = sum;
    for (uint32_t i = 4 * mesh->tetCount; i-- > 0;)
    {
        list[--starts[mesh->tets[i / 4].v[i % 4]]] = i / 4;
    }
}

static knResult Encode(const Builder* b, const knAllocator* allocator, void** bytes, size_t* size)
{
    const knTetMesh* m = b->mesh;
    size_t nodeSize = knRoundLine(b->nodeCount * sizeof(knKdNode));
    size_t referenceSize = knRoundLine(b->referenceCount * sizeof(uint32_t));
    size_t startSize = knRoundLine(((size_t)m->nodeCount + 1) * sizeof(uint32_t));
    size_t total = sizeof(knLocatorHeader) + nodeSize + referenceSize + startSize +
                   knRoundLine((size_t)m->tetCount * 16);
    if (b->nodeCount >= 1u << 30 || b->referenceCount >= 1u << 30)
    {
        return knFail(kn_errorLimit, "the k-d tree of the mesh is too large");
    }
    unsigned char* data = knAllocate(allocator, total, 1);
    if (!data)
    {
        return kn_errorMemory;
    }
    memset(data, 0, total);
    knLocatorHeader header = {.version = KN_LOCATOR_VERSION,
                              .nodeCount = (uint32_t)b->nodeCount,
                              .referenceCount = (uint32_t)b->referenceCount,
                              .meshNodeCount = m->nodeCount,
                              .meshTetCount = m->tetCount};
    memcpy(data, &header, sizeof header);
    unsigned char* at = data + sizeof header;
    memcpy(at, b->nodes, b->nodeCount * sizeof(knKdNode));
    memcpy(at + nodeSize, b->references, b->referenceCount * sizeof(uint32_t));
    FillNodeTets(m, (uint32_t*)(at + nodeSize + referenceSize),
                 (uint32_t*)(at + nodeSize + referenceSize + startSize));
    *bytes = data;
    *size = total;
    return kn_success;
}

knResult knCookTetLocator(const knTetMesh* mesh, const knAllocator* allocator, void** bytes,
                          size_t* size)
{
    if (!mesh || !bytes || !size || mesh->tetCount == 0 || mesh->tetCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "knCookTetLocator: null argument or no tetrahedra");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    Builder b = {.allocator = allocator ? *allocator : knDefaultAllocator(), .mesh = mesh};
    result = BuildTree(&b);
    if (result == kn_success)
    {
        result = Encode(&b, &b.allocator, bytes, size);
    }
    DestroyBuilder(&b);
    return result;
}
