// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Boundaries of the parts of a surface, as directed edges: those whose opposite is not in the part.
//
// Where an edge and its opposite meet on their ways up the tree is kept as one byte for each edge.
// It is found within patches, the largest nodes of at most KN_PATCH_SIZE triangles within one body:
// a change makes the patches that it touches be looked at again and no other. Moving a subtree
// changes nothing in it, because heights count from the leaf.
//
// Which of several opposites an edge is joined with does not matter: the boundary is the sum of the
// directed edges, and what is left of too unlucky a choice only looks like more boundary.

#define SLOTS      (4 * KN_PATCH_SIZE) // of a table of at most 3 * KN_PATCH_SIZE edges
#define MAX_HEIGHT 254
#define NO_EDGE    UINT64_MAX
#define TAKEN_EDGE (UINT64_MAX - 1)

knResult knReserveContours(knBvhScene* s, size_t nodeCount, size_t blockCount)
{
    size_t old = s->cullNodeCapacity;
    knResult result = knGrow(&s->allocator, (void**)&s->cullNodes, &s->cullNodeCapacity, nodeCount,
                             sizeof *s->cullNodes);
    if (s->cullNodeCapacity > old)
    {
        memset(s->cullNodes + old, 0, (s->cullNodeCapacity - old) * sizeof *s->cullNodes);
    }
    return result == kn_success ? knGrow(&s->allocator, (void**)&s->edges, &s->edgeCapacity,
                                         blockCount, sizeof *s->edges)
                                : result;
}

typedef struct PatchLeaf
{
    uint32_t node;
    uint32_t depth; // below the patch
} PatchLeaf;

// Edges that wait for their opposite: open addressing.
typedef struct Patch
{
    PatchLeaf leaves[KN_PATCH_SIZE];
    uint64_t keys[SLOTS];
    uint16_t owners[SLOTS]; // leaf * 24 + corner * 8 + lane
    uint32_t leafCount;
} Patch;

_Static_assert(KN_PATCH_SIZE * 3 * KN_LANES <= UINT16_MAX + 1, "an owner fits into 16 bits");

// The same for an edge and its opposite.
static uint32_t FirstSlot(uint32_t from, uint32_t to)
{
    uint32_t low = from < to ? from : to, high = from < to ? to : from;
    return ((low * 0x9E3779B1u) ^ (high * 0x85EBCA77u)) >> 12 & (SLOTS - 1);
}

// The waiting opposite leaves the table and is returned; without one the edge begins to wait.
static uint32_t TakeOpposite(Patch* p, uint32_t from, uint32_t to, uint32_t owner)
{
    uint64_t opposite = (uint64_t)to << 32 | from;
    uint32_t slot = FirstSlot(from, to), gap = SLOTS;
    for (; p->keys[slot] != NO_EDGE; slot = (slot + 1) & (SLOTS - 1))
    {
        if (p->keys[slot] == opposite)
        {
            p->keys[slot] = TAKEN_EDGE;
            return p->owners[slot];
        }
        gap = p->keys[slot] == TAKEN_EDGE && gap == SLOTS ? slot : gap;
    }
    gap = gap == SLOTS ? slot : gap;
    p->keys[gap] = (uint64_t)from << 32 | to;
    p->owners[gap] = (uint16_t)owner;
    return UINT32_MAX;
}

static uint8_t* HeightOf(knBvhScene* s, const Patch* p, uint32_t owner)
{
    uint32_t node = p->leaves[owner / (3 * KN_LANES)].node;
    uint32_t edge = owner % (3 * KN_LANES);
    return &s->edges[s->nodes[node].child].heights[edge / KN_LANES][edge % KN_LANES];
}

// Two edges are opposite: both get their way up to the lowest node above them.
static void JoinEdges(knBvhScene* s, const Patch* p, uint32_t a, uint32_t b)
{
    PatchLeaf x = p->leaves[a / (3 * KN_LANES)], y = p->leaves[b / (3 * KN_LANES)];
    uint32_t up[2] = {0, 0};
    while (x.node != y.node)
    {
        if (x.depth >= y.depth)
        {
            x.node = s->cold[x.node].parent;
            x.depth -= 1;
            up[0] += 1;
        }
        else
        {
            y.node = s->cold[y.node].parent;
            y.depth -= 1;
            up[1] += 1;
        }
    }
    // a height that does not fit is one of no opposite: the edge looks like boundary
    *HeightOf(s, p, a) = (uint8_t)(up[0] <= MAX_HEIGHT ? up[0] : KN_FAR_HEIGHT);
    *HeightOf(s, p, b) = (uint8_t)(up[1] <= MAX_HEIGHT ? up[1] : KN_FAR_HEIGHT);
}

static void MatchLeaf(knBvhScene* s, Patch* p, uint32_t leaf)
{
    const knBvhNode* n = &s->nodes[p->leaves[leaf].node];
    const knBvhBlock* b = &s->blocks[n->child];
    knBvhEdges* edges = &s->edges[n->child];
    memset(edges, 0, sizeof *edges);
    for (uint32_t i = 0; i < 3 * n->count; ++i)
    {
        uint32_t corner = i % 3, lane = i / 3;
        uint32_t from = b->vertex[corner][lane], to = b->vertex[(corner + 1) % 3][lane];
        uint32_t owner = (leaf * 3 + corner) * KN_LANES + lane;
        uint32_t opposite = TakeOpposite(p, from, to, owner);
        edges->heights[corner][lane] = KN_FAR_HEIGHT;
        if (opposite != UINT32_MAX)
        {
            JoinEdges(s, p, owner, opposite);
        }
    }
}

// Lists the leaves below and marks all nodes on the way as known.
static void ListLeaves(knBvhScene* s, Patch* p, uint32_t top)
{
    uint32_t node = top, depth = 0;
    p->leafCount = 0;
    for (;;)
    {
        s->cullNodes[node] = (knBvhCullNode){.isValid = 1};
        if (!knIsLeaf(&s->nodes[node]))
        {
            node = s->nodes[node].child;
            depth += 1;
            continue;
        }
        p->leaves[p->leafCount++] = (PatchLeaf){node, depth};
        while (node != top && (node & 1) != 0)
        {
            node = s->cold[node].parent;
            depth -= 1;
        }
        if (node == top)
        {
            return;
        }
        node += 1;
    }
}

static void MatchPatch(knBvhScene* s, uint32_t top)
{
    Patch patch;
    ListLeaves(s, &patch, top);
    memset(patch.keys, 0xFF, sizeof patch.keys);
    for (uint32_t i = 0; i < patch.leafCount; ++i)
    {
        MatchLeaf(s, &patch, i);
    }
}

void knUpdateContours(knBvhScene* s)
{
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        // a change marks all nodes above it: what is known has known nodes below
        bool isKnown = s->cullNodes[node].isValid;
        bool isPatch = knHasContour(s, node);
        if (!isKnown && isPatch)
        {
            MatchPatch(s, node);
        }
        s->cullNodes[node].isValid = 1;
        node = isKnown || isPatch ? knNextAside(s, node) : s->nodes[node].child;
    }
}

// Edges of a block with more than `height`, as bits.
static uint32_t FindBoundary(const knBvhEdges* edges, uint32_t height)
{
    const uint8_t* h = &edges->heights[0][0];
#if defined(__SSE2__)
    // what is above stays above 0 when the height is taken away
    __m128i level = _mm_set1_epi8((char)height), zero = _mm_setzero_si128();
    __m128i low = _mm_subs_epu8(_mm_loadu_si128((const __m128i*)h), level);
    __m128i high = _mm_subs_epu8(_mm_loadl_epi64((const __m128i*)(h + 16)), level);
    uint32_t none = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, zero));
    none |= (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, zero)) << 16;
    return ~none & 0xFFFFFFu;
#else
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 3 * KN_LANES; ++i)
    {
        bits |= (uint32_t)(h[i] > height) << i;
    }
    return bits;
#endif
}

static uint32_t GatherLeaf(const knBvhBlock* b, uint32_t bits, knHalfEdge* out, uint32_t count)
{
    for (; bits && count <= KN_MAX_CONTOUR; bits &= bits - 1)
    {
        uint32_t edge = (uint32_t)__builtin_ctz(bits);
        uint32_t corner = edge / KN_LANES, lane = edge % KN_LANES;
        if (count < KN_MAX_CONTOUR)
        {
            out[count] = (knHalfEdge){b->vertex[corner][lane], b->vertex[(corner + 1) % 3][lane]};
        }
        count += 1;
    }
    return count;
}

uint32_t knGatherContour(const knBvhScene* s, uint32_t top, knHalfEdge* out)
{
    uint32_t node = top, height = 0, count = 0;
    while (count <= KN_MAX_CONTOUR)
    {
        for (; !knIsLeaf(&s->nodes[node]); ++height)
        {
            node = s->nodes[node].child;
        }
        if (height > MAX_HEIGHT)
        {
            return KN_MAX_CONTOUR + 1;
        }
        uint32_t block = s->nodes[node].child;
        count = GatherLeaf(&s->blocks[block], FindBoundary(&s->edges[block], height), out, count);
        while (node != top && (node & 1) != 0)
        {
            node = s->cold[node].parent;
            height -= 1;
        }
        if (node == top)
        {
            return count;
        }
        node += 1;
    }
    return count;
}
