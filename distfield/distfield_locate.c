// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// The four volumes that make the barycentric weights, signs exact. Stops at the first negative one
// and returns its face, else 4.
static int FaceVolumes(const knTetMesh* mesh, uint32_t tet, knVec3 p, double volumes[4])
{
    const uint32_t* v = mesh->tets[tet].v;
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        volumes[i] =
            -knExactVolume6(mesh->nodes[v[c[0]]], mesh->nodes[v[c[1]]], mesh->nodes[v[c[2]]], p);
        if (volumes[i] < 0.0)
        {
            return i;
        }
    }
    return 4;
}

static void SetPoint(knTetPoint* point, uint32_t tet, const double volumes[4])
{
    point->tet = tet;
    double sum = (volumes[0] + volumes[1]) + (volumes[2] + volumes[3]);
    for (int i = 0; i < 4; ++i)
    {
        point->weights[i] = (float)(volumes[i] / sum);
    }
}

// Walks through the face that p lies most outside of. True when it ends strictly inside a
// tetrahedron, which is then the only one; on a face, or outside, the tree has to say.
static bool Walk(const knTetLocator* locator, knVec3 p, uint32_t hint, knTetPoint* point,
                 int* stepCount)
{
    const knTetMesh* mesh = locator->mesh;
    uint32_t tet = hint;
    for (int step = 0; step < KN_MAX_WALK_STEPS && tet < mesh->tetCount; ++step)
    {
        double volumes[4];
        int face = FaceVolumes(mesh, tet, p, volumes);
        if (face == 4)
        {
            *stepCount = step;
            if (volumes[0] > 0.0 && volumes[1] > 0.0 && volumes[2] > 0.0 && volumes[3] > 0.0)
            {
                SetPoint(point, tet, volumes);
                return true;
            }
            return false;
        }
        tet = mesh->neighbors[tet].t[face];
    }
    return false;
}

static bool FindInTree(const knTetLocator* locator, knVec3 p, knTetPoint* point)
{
    const knKdNode* nodes = locator->nodes;
    uint32_t index = 0;
    while (!knKdNode_IsLeaf(nodes[index]))
    {
        // cells are closed and their lists too, so on the plane either side will do
        bool right = knAxis(p, nodes[index].link & 3u) > knBitsToFloat(nodes[index].value);
        index = right ? nodes[index].link >> 2 : index + 1;
    }
    uint32_t first = nodes[index].value;
    uint32_t count = nodes[index].link >> 2;
    for (uint32_t i = first; i < first + count; ++i)
    {
        double volumes[4];
        if (FaceVolumes(locator->mesh, locator->references[i], p, volumes) == 4)
        {
            SetPoint(point, locator->references[i], volumes);
            return true;
        }
    }
    return false;
}

knLocatePath knTetLocator_Find(const knTetLocator* locator, knVec3 p, uint32_t hint,
                               knTetPoint* point)
{
    // also turns away what is not a number
    if (!knBox_Contains(locator->box, p))
    {
        *point = (knTetPoint){.tet = KN_NONE};
        return kn_locateOutside;
    }
    int steps = 0;
    if (hint != KN_NONE && Walk(locator, p, hint, point, &steps))
    {
        return steps == 0 ? kn_locateHint : kn_locateWalk;
    }
    if (FindInTree(locator, p, point))
    {
        return kn_locateTree;
    }
    *point = (knTetPoint){.tet = KN_NONE};
    return kn_locateOutside;
}

static knResult Bad(const char* what)
{
    return knFail(kn_errorFormat, "the section KDTR is not sound: %s", what);
}

typedef struct Range
{
    uint32_t begin, end;
} Range;

// The subtree of a node is the range behind it: every node is in exactly one place, so a descent
// ends, and within KN_KD_STACK levels.
static knResult CheckTree(const knTetLocator* l)
{
    Range stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = (Range){0, l->nodeCount};
    uint32_t nextReference = 0;
    while (depth > 0)
    {
        Range range = stack[--depth];
        knKdNode node = l->nodes[range.begin];
        uint32_t payload = node.link >> 2;
        if (knKdNode_IsLeaf(node))
        {
            if (range.end != range.begin + 1 || node.value != nextReference ||
                payload > l->referenceCount - nextReference)
            {
                return Bad("a leaf");
            }
            nextReference += payload;
            continue;
        }
        if (payload <= range.begin + 1 || payload >= range.end ||
            !isfinite(knBitsToFloat(node.value)) || depth + 2 > KN_KD_STACK)
        {
            return Bad("an inner node");
        }
        stack[depth++] = (Range){payload, range.end};
        stack[depth++] = (Range){range.begin + 1, payload};
    }
    return nextReference == l->referenceCount ? kn_success : Bad("leaves and references differ");
}

// `seen` has a byte per tetrahedron.
static knResult CheckReferences(const knTetLocator* l, uint8_t* seen)
{
    for (uint32_t n = 0; n < l->nodeCount; ++n)
    {
        uint32_t first = l->nodes[n].value, count = l->nodes[n].link >> 2;
        for (uint32_t i = first; knKdNode_IsLeaf(l->nodes[n]) && i < first + count; ++i)
        {
            uint32_t tet = l->references[i];
            if (tet >= l->mesh->tetCount || (i > first && tet <= l->references[i - 1]))
            {
                return Bad("a reference is out of range or out of order");
            }
            seen[tet] = 1;
        }
    }
    return memchr(seen, 0, l->mesh->tetCount) ? Bad("a tetrahedron is in no leaf") : kn_success;
}

// As many entries as corners, strictly ascending, each a tetrahedron of its node: so complete.
static knResult CheckNodeTets(const knTetLocator* l)
{
    const knTetMesh* m = l->mesh;
    if (l->nodeTetStarts[0] != 0 || l->nodeTetStarts[m->nodeCount] != 4 * m->tetCount)
    {
        return Bad("bounds of the lists of nodes");
    }
    for (uint32_t n = 0; n < m->nodeCount; ++n)
    {
        uint32_t begin = l->nodeTetStarts[n], end = l->nodeTetStarts[n + 1];
        if (begin > end || end > 4 * m->tetCount)
        {
            return Bad("bounds of the list of a node");
        }
        for (uint32_t i = begin; i < end; ++i)
        {
            uint32_t t = l->nodeTets[i];
            if (t >= m->tetCount || (i > begin && t <= l->nodeTets[i - 1]))
            {
                return Bad("a list of a node is out of range or out of order");
            }
            const uint32_t* v = m->tets[t].v;
            if (v[0] != n && v[1] != n && v[2] != n && v[3] != n)
            {
                return Bad("a tetrahedron is in the list of a foreign node");
            }
        }
    }
    return kn_success;
}

static knResult CheckHeader(const knLocatorHeader* h, const knTetMesh* mesh, size_t size)
{
    if (h->version != KN_LOCATOR_VERSION)
    {
        return knFail(kn_errorVersion, "the section KDTR has version %u, not %u", h->version,
                      (unsigned)KN_LOCATOR_VERSION);
    }
    for (size_t i = 0; i < sizeof h->zero / sizeof h->zero[0]; ++i)
    {
        if (h->zero[i] != 0)
        {
            return Bad("unused bytes are not zero");
        }
    }
    // each array is whole lines, so the sum cannot overflow 64 bits
    uint64_t wanted = (uint64_t)sizeof *h + knRoundLine((size_t)h->nodeCount * sizeof(knKdNode)) +
                      knRoundLine((size_t)h->referenceCount * 4) +
                      knRoundLine(((size_t)h->meshNodeCount + 1) * 4) +
                      knRoundLine((size_t)h->meshTetCount * 16);
    bool fits = h->meshNodeCount == mesh->nodeCount && h->meshTetCount == mesh->tetCount &&
                h->nodeCount > 0 && h->nodeCount < (1u << 30) && h->referenceCount < (1u << 30) &&
                wanted == size;
    return fits ? kn_success : Bad("sizes");
}

static void LayOut(knTetLocator* l, const knLocatorHeader* h, const knTetMesh* mesh)
{
    const unsigned char* data = (const unsigned char*)(h + 1);
    *l = (knTetLocator){.mesh = mesh, .box = knBoundingBox(mesh->nodes, mesh->nodeCount)};
    l->nodeCount = h->nodeCount;
    l->referenceCount = h->referenceCount;
    l->nodes = (const knKdNode*)data;
    data += knRoundLine((size_t)h->nodeCount * sizeof(knKdNode));
    l->references = (const uint32_t*)data;
    data += knRoundLine((size_t)h->referenceCount * 4);
    l->nodeTetStarts = (const uint32_t*)data;
    data += knRoundLine(((size_t)h->meshNodeCount + 1) * 4);
    l->nodeTets = (const uint32_t*)data;
}

knResult knOpenTetLocator(knTetLocator* locator, const knTetMesh* mesh, const void* bytes,
                          size_t size, const knAllocator* allocator)
{
    if (!locator || !mesh || !bytes || mesh->tetCount == 0 || ((uintptr_t)bytes & 3u) != 0)
    {
        return knFail(kn_errorArgument, "knOpenTetLocator: null, empty or unaligned argument");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    const knLocatorHeader* header = bytes;
    result = size < sizeof *header ? Bad("too short") : CheckHeader(header, mesh, size);
    if (result != kn_success)
    {
        return result;
    }
    knTetLocator l;
    LayOut(&l, header, mesh);
    uint8_t* seen = knAllocate(allocator, mesh->tetCount, 1);
    if (!seen)
    {
        return kn_errorMemory;
    }
    memset(seen, 0, mesh->tetCount);
    result = CheckTree(&l);
    result = result == kn_success ? CheckReferences(&l, seen) : result;
    result = result == kn_success ? CheckNodeTets(&l) : result;
    knRelease(allocator, seen, mesh->tetCount, 1);
    if (result == kn_success)
    {
        *locator = l;
    }
    return result;
}
