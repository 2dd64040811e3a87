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
        if (knTetTouchesCell(b->mesh, tet, cell))
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
    for (size_t i = 0; i < count; ++i)
    {
        uint32_t tet = b->stack[first + i];
        const uint32_t* t = b->mesh->neighbors[tet].t;
        bool surface = t[0] == KN_NONE || t[1] == KN_NONE || t[2] == KN_NONE || t[3] == KN_NONE;
        b->references[b->referenceCount + i] = surface ? tet | KN_AT_SURFACE : tet;
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

// As many halvings as the tree makes, of the longest side each time, and no more than there are
// words for: those of sheets and rods are not full.
static void ChooseLattice(const knBox* box, int depth, uint32_t shifts[3])
{
    knVec3 e = knBox_Extent(*box);
    depth = depth < KN_LATTICE_BITS ? depth : KN_LATTICE_BITS;
    shifts[0] = shifts[1] = shifts[2] = 0;
    for (int i = 0; i < depth; ++i)
    {
        uint32_t axis = e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
        float* side = &e.x;
        side[axis] *= 0.5f;
        shifts[axis] += 1;
        if (knLatticeWords(shifts) > KN_LATTICE_WORDS)
        {
            shifts[axis] -= 1;
            break;
        }
    }
}

// The lowest node around a cell: planes that run along its sides do not count.
static uint32_t FindEntry(const Builder* b, const knTetLocator* lattice, const uint32_t cell[3])
{
    const float *origin = &lattice->box.lower.x, *scale = &lattice->scale.x;
    uint32_t index = 0;
    while (!knKdNode_IsLeaf(b->nodes[index]))
    {
        uint32_t axis = b->nodes[index].link & 3u;
        double plane = (double)knBitsToFloat(b->nodes[index].value);
        double at = (plane - (double)origin[axis]) * (double)scale[axis] - (double)cell[axis];
        double border = 0.5 * (double)lattice->border;
        if (at > border && at < 1.0 - border)
        {
            break;
        }
        index = at <= border ? b->nodes[index].link >> 2 : index + 1;
    }
    return index;
}

// 0 for the one that holds p.
static double MiddleDistance2(const knTetMesh* mesh, uint32_t tet, knVec3 p)
{
    const uint32_t* v = mesh->tets[tet].v;
    knVec3 n[4] = {mesh->nodes[v[0]], mesh->nodes[v[1]], mesh->nodes[v[2]], mesh->nodes[v[3]]};
    bool inside = true;
    knDVec3 sum = {0.0, 0.0, 0.0};
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        inside = inside && knTetVolume6(n[c[0]], n[c[1]], n[c[2]], p) <= 0.0;
        sum = knDAdd(sum, knToDouble(n[i]));
    }
    knDVec3 d = knDSub(knDScale(0.25, sum), knToDouble(p));
    return inside ? 0.0 : knDDot(d, d);
}

// Of the tetrahedra around the middle of the cell the one whose own middle is nearest.
static uint32_t FindSeed(const Builder* b, const knTetLocator* lattice, const uint32_t cell[3],
                         uint32_t entry)
{
    const float *origin = &lattice->box.lower.x, *scale = &lattice->scale.x;
    float middle[3];
    for (int a = 0; a < 3; ++a)
    {
        middle[a] = origin[a] + ((float)cell[a] + 0.5f) / scale[a];
    }
    knVec3 p = {middle[0], middle[1], middle[2]};
    while (!knKdNode_IsLeaf(b->nodes[entry]))
    {
        knKdNode node = b->nodes[entry];
        bool right = knAxis(p, node.link & 3u) > knBitsToFloat(node.value);
        entry = right ? node.link >> 2 : entry + 1;
    }
    knKdNode leaf = b->nodes[entry];
    uint32_t seed = KN_NONE;
    double nearest = DBL_MAX;
    for (uint32_t i = leaf.value; i < leaf.value + (leaf.link >> 2); ++i)
    {
        uint32_t tet = b->references[i] & ~KN_AT_SURFACE;
        double distance = MiddleDistance2(b->mesh, tet, p);
        seed = distance < nearest ? tet : seed;
        nearest = distance < nearest ? distance : nearest;
    }
    return seed;
}

static void FillEntries(const Builder* b, const uint32_t shifts[3], uint32_t* entries,
                        uint32_t* seeds)
{
    knTetLocator lattice = {.box = knBoundingBox(b->mesh->nodes, b->mesh->nodeCount)};
    knPlaceLattice(&lattice, shifts);
    uint32_t cell[3], i = 0;
    for (cell[2] = 0; cell[2] < lattice.dims[2]; ++cell[2])
    {
        for (cell[1] = 0; cell[1] < lattice.dims[1]; ++cell[1])
        {
            for (cell[0] = 0; cell[0] < lattice.dims[0]; ++cell[0])
            {
                entries[i] = FindEntry(b, &lattice, cell);
                seeds[i] = FindSeed(b, &lattice, cell, entries[i]);
                i += 1;
            }
        }
    }
}

// Sizes of the arrays of the section, in their order.
typedef struct Sizes
{
    size_t nodes, references, starts, lists, entries, coverStarts, coverMasks, coverWords, total;
} Sizes;

static Sizes MeasureSection(const Builder* b, const uint32_t shifts[3], size_t coverCount)
{
    const knTetMesh* m = b->mesh;
    Sizes s = {.nodes = knRoundLine(b->nodeCount * sizeof(knKdNode)),
               .references = knRoundLine(b->referenceCount * sizeof(uint32_t)),
               .starts = knRoundLine(((size_t)m->nodeCount + 1) * sizeof(uint32_t)),
               .lists = knRoundLine((size_t)m->tetCount * 16),
               .entries = knRoundLine(((size_t)4 << shifts[0]) << (shifts[1] + shifts[2])),
               .coverStarts = knRoundLine(((size_t)m->tetCount + 1) * sizeof(uint32_t)),
               .coverMasks = knRoundLine(coverCount * sizeof(uint64_t)),
               .coverWords = knRoundLine(coverCount * sizeof(uint16_t))};
    s.total = sizeof(knLocatorHeader) + s.nodes + s.references + s.starts + s.lists +
              2 * s.entries + s.coverStarts + s.coverMasks + s.coverWords;
    return s;
}

static void WriteSection(const Builder* b, const knLocatorHeader* header, const Sizes* sizes,
                         const knCovers* covers, unsigned char* at)
{
    memcpy(at, header, sizeof *header);
    at += sizeof *header;
    memcpy(at, b->nodes, b->nodeCount * sizeof(knKdNode));
    at += sizes->nodes;
    memcpy(at, b->references, b->referenceCount * sizeof(uint32_t));
    at += sizes->references;
    FillNodeTets(b->mesh, (uint32_t*)at, (uint32_t*)(at + sizes->starts));
    at += sizes->starts + sizes->lists;
    FillEntries(b, header->shifts, (uint32_t*)at, (uint32_t*)(at + sizes->entries));
    at += 2 * sizes->entries;
    memcpy(at, covers->starts, ((size_t)b->mesh->tetCount + 1) * sizeof(uint32_t));
    at += sizes->coverStarts;
    memcpy(at, covers->masks, covers->count * sizeof(uint64_t));
    at += sizes->coverMasks;
    memcpy(at, covers->words, covers->count * sizeof(uint16_t));
}

static knResult Encode(const Builder* b, const knAllocator* allocator, void** bytes, size_t* size)
{
    const knTetMesh* m = b->mesh;
    knBox box = knBoundingBox(m->nodes, m->nodeCount);
    knLocatorHeader header = {.version = KN_LOCATOR_VERSION,
                              .nodeCount = (uint32_t)b->nodeCount,
                              .referenceCount = (uint32_t)b->referenceCount,
                              .meshNodeCount = m->nodeCount,
                              .meshTetCount = m->tetCount};
    ChooseLattice(&box, b->maxDepth, header.shifts);
    if (b->nodeCount >= 1u << 30 || b->referenceCount >= 1u << 30)
    {
        return knFail(kn_errorLimit, "the k-d tree of the mesh is too large");
    }
    knCovers covers = {.allocator = *allocator};
    knResult result = knListCovers(&covers, m, header.shifts);
    header.coverCount = (uint32_t)covers.count;
    Sizes sizes = MeasureSection(b, header.shifts, covers.count);
    unsigned char* data = result == kn_success ? knAllocate(allocator, sizes.total, 1) : NULL;
    result = result == kn_success && !data ? kn_errorMemory : result;
    if (result == kn_success)
    {
        memset(data, 0, sizes.total);
        WriteSection(b, &header, &sizes, &covers, data);
        *bytes = data;
        *size = sizes.total;
    }
    knReleaseCovers(&covers, m->tetCount);
    return result;
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
