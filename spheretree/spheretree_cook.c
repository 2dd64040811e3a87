// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

#include <string.h>

// The section: a header of 64 bytes, then the arrays, each aligned to KN_CACHE_LINE with zeros
// between. The length follows from the number of nodes alone.
typedef struct Header
{
    uint32_t tag;
    uint32_t version;
    uint32_t nodeCount;
    uint32_t levelCount;
    float meanReach;
    uint32_t zero[11];
} Header;

_Static_assert(sizeof(Header) == 64, "the header is one cache line");

typedef struct Arrays
{
    Header* header;
    uint32_t* order;
    uint32_t* parent;
    uint32_t* first;
    uint32_t* next;
    float* reach;
    uint8_t* level;
} Arrays;

static size_t Layout(Arrays* arrays, uint32_t count, void* block)
{
    size_t size = 0;
    arrays->header = knSphereCarve(block, &size, 1, sizeof(Header));
    arrays->order = knSphereCarve(block, &size, count, sizeof(uint32_t));
    arrays->parent = knSphereCarve(block, &size, count, sizeof(uint32_t));
    arrays->first = knSphereCarve(block, &size, count, sizeof(uint32_t));
    arrays->next = knSphereCarve(block, &size, count, sizeof(uint32_t));
    arrays->reach = knSphereCarve(block, &size, count, sizeof(float));
    arrays->level = knSphereCarve(block, &size, count, 1);
    return size;
}

// Node by node in ascending order, so that writer and reader add up to the same bits.
static float MeanReach(const float* reach, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t n = 0; n < count; ++n)
    {
        sum += (double)reach[n];
    }
    return (float)(sum / count);
}

static uint32_t ToNode(const knSphereBuild* b, uint32_t rank)
{
    return rank == KN_NONE ? KN_NONE : b->order[rank];
}

static void Write(const knSphereBuild* b, unsigned char* bytes, size_t size)
{
    Arrays a;
    memset(bytes, 0, size);
    Layout(&a, b->count, bytes);
    for (uint32_t rank = 0; rank < b->count; ++rank)
    {
        uint32_t node = b->order[rank];
        a.order[rank] = node;
        a.parent[node] = rank == 0 ? KN_SPHERE_ROOT : b->order[b->parent[rank]];
        a.first[node] = ToNode(b, b->first[rank]);
        a.next[node] = ToNode(b, b->next[rank]);
        a.reach[node] = b->reach[rank];
        a.level[node] = (uint8_t)knSphereLevel(rank);
    }
    *a.header = (Header){.tag = KN_TAG_SPHERE_TREE,
                         .version = KN_SPHERE_TREE_VERSION,
                         .nodeCount = b->count,
                         .levelCount = knSphereLevel(b->count - 1) + 1,
                         .meanReach = MeanReach(a.reach, b->count)};
}

static knResult Encode(const knTetMesh* mesh, const knAllocator* allocator, void** bytes,
                       size_t* size)
{
    Arrays arrays;
    knSphereBuild build;
    size_t total = Layout(&arrays, mesh->nodeCount, NULL);
    size_t workSize = knSphereBuild_Layout(&build, mesh->nodeCount, NULL);
    void* work = knAllocate(allocator, workSize, 1);
    void* section = work ? knAllocate(allocator, total, 1) : NULL;
    if (section)
    {
        knSphereBuild_Layout(&build, mesh->nodeCount, work);
        knSphereBuild_Order(&build, mesh->nodes);
        knSphereBuild_Link(&build, mesh->nodes);
        Write(&build, section, total);
        *bytes = section;
        *size = total;
    }
    knRelease(allocator, work, workSize, 1);
    return section ? kn_success : kn_errorMemory;
}

knResult knEncodeSphereTree(const knTetMesh* mesh, const knAllocator* allocator, void** bytes,
                            size_t* size)
{
    if (!mesh || !bytes || !size || !mesh->nodes || mesh->nodeCount == 0 ||
        mesh->nodeCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "knEncodeSphereTree: no mesh, no nodes or too many");
    }
    knResult result = knCheckAllocator(allocator);
    result = result == kn_success ? knCheckSpherePositions(mesh->nodes, mesh->nodeCount) : result;
    return result == kn_success ? Encode(mesh, allocator, bytes, size) : result;
}

static knResult Bad(const char* what, uint32_t index)
{
    return knFail(kn_errorFormat, "the cooked sphere tree is not sound: %s %u", what, index);
}

// The header, the length and the zeros between the arrays.
static knResult CheckFrame(const unsigned char* bytes, size_t size, uint32_t nodeCount)
{
    Header header;
    if (size < sizeof header || (uintptr_t)bytes % KN_CACHE_LINE != 0)
    {
        return Bad("too short or not aligned: bytes", (uint32_t)sizeof header);
    }
    memcpy(&header, bytes, sizeof header);
    if (header.tag != KN_TAG_SPHERE_TREE || header.version != KN_SPHERE_TREE_VERSION)
    {
        return knFail(kn_errorVersion, "not a sphere tree of version %d", KN_SPHERE_TREE_VERSION);
    }
    static const uint32_t zero[11] = {0};
    Arrays arrays;
    if (header.nodeCount != nodeCount || size != Layout(&arrays, nodeCount, NULL) ||
        header.levelCount != knSphereLevel(nodeCount - 1) + 1 ||
        memcmp(header.zero, zero, sizeof zero) != 0)
    {
        return Bad("not of this mesh: nodes", header.nodeCount);
    }
    size_t words = (sizeof(uint32_t) * (size_t)nodeCount) % KN_CACHE_LINE;
    for (size_t i = 0; words != 0 && i < 5; ++i)
    {
        size_t end = sizeof header + (i + 1) * ((4 * (size_t)nodeCount + 63) & ~(size_t)63);
        for (size_t k = end - (KN_CACHE_LINE - words); k < end; ++k)
        {
            if (bytes[k] != 0)
            {
                return Bad("not zero behind array", (uint32_t)i);
            }
        }
    }
    for (size_t k = size - (64 - nodeCount % 64) % 64; k < size; ++k)
    {
        if (bytes[k] != 0)
        {
            return Bad("not zero behind array", 5);
        }
    }
    return kn_success;
}

// A permutation whose parents come before their children and on an earlier level: no cycle, and no
// chain longer than there are levels.
static knResult CheckOrder(const Arrays* a, uint32_t count, uint32_t* rank)
{
    memset(rank, 0xFF, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t node = a->order[i];
        if (node >= count || rank[node] != KN_NONE || a->level[node] != knSphereLevel(i))
        {
            return Bad("out of order: rank", i);
        }
        rank[node] = i;
        uint32_t parent = a->parent[node];
        bool good =
            i == 0 ? parent == KN_SPHERE_ROOT
                   : parent < count && rank[parent] != KN_NONE && a->level[parent] < a->level[node];
        if (!good)
        {
            return Bad("wrong parent of node", node);
        }
    }
    return kn_success;
}

// Parents and order say what every list must be; `head` ends as the first children.
static knResult CheckLists(const Arrays* a, uint32_t count, uint32_t* head)
{
    memset(head, 0xFF, count * sizeof(uint32_t));
    for (uint32_t i = count; i-- > 1;)
    {
        uint32_t node = a->order[i];
        uint32_t behind = head[a->parent[node]];
        float rest = behind == KN_NONE ? 0.0f : a->reach[behind];
        // not a number fails too
        if (a->next[node] != behind || !(a->reach[node] >= rest) || !(a->reach[node] < FLT_MAX))
        {
            return Bad("wrong list or radius at node", node);
        }
        head[a->parent[node]] = node;
    }
    if (a->next[a->order[0]] != KN_NONE || !(a->reach[a->order[0]] == 0.0f))
    {
        return Bad("wrong root", a->order[0]);
    }
    return memcmp(head, a->first, count * sizeof(uint32_t)) == 0
               ? kn_success
               : Bad("wrong first children, of", count);
}

static knResult CheckRadii(const Arrays* a, const knTetMesh* mesh)
{
    for (uint32_t n = 0; n < mesh->nodeCount; ++n)
    {
        uint32_t child = n;
        for (uint32_t p = a->parent[n]; p != KN_SPHERE_ROOT; p = a->parent[p])
        {
            double reach = (double)a->reach[child];
            if (reach * reach < knSphereDistance2(mesh->nodes[p], mesh->nodes[n]))
            {
                return Bad("a radius does not hold node", n);
            }
            child = p;
        }
    }
    float mean = MeanReach(a->reach, mesh->nodeCount);
    return a->header->meanReach == mean ? kn_success : Bad("wrong mean reach of", mesh->nodeCount);
}

static knResult CheckAll(const Arrays* a, const knTetMesh* mesh, uint32_t* scratch)
{
    knResult result = CheckOrder(a, mesh->nodeCount, scratch);
    result = result == kn_success ? CheckLists(a, mesh->nodeCount, scratch) : result;
    return result == kn_success ? CheckRadii(a, mesh) : result;
}

knResult knOpenSphereTree(knSphereTree* tree, const void* bytes, size_t size, const knTetMesh* mesh,
                          const knAllocator* allocator)
{
    if (!tree || !bytes || !mesh || mesh->nodeCount == 0 || mesh->nodeCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "knOpenSphereTree: no tree, bytes or mesh");
    }
    knResult result = knCheckAllocator(allocator);
    result = result == kn_success ? CheckFrame(bytes, size, mesh->nodeCount) : result;
    if (result != kn_success)
    {
        return result;
    }
    Arrays a;
    // only read from here on
    Layout(&a, mesh->nodeCount, (void*)(uintptr_t)bytes);
    uint32_t* scratch = knAllocate(allocator, mesh->nodeCount, sizeof(uint32_t));
    if (!scratch)
    {
        return kn_errorMemory;
    }
    result = CheckAll(&a, mesh, scratch);
    knRelease(allocator, scratch, mesh->nodeCount, sizeof(uint32_t));
    if (result == kn_success)
    {
        *tree = (knSphereTree){.links = {a.parent, a.first, a.next, a.reach, a.level},
                               .order = a.order,
                               .nodeCount = mesh->nodeCount,
                               .levelCount = a.header->levelCount,
                               .meanReach = a.header->meanReach};
    }
    return result;
}
