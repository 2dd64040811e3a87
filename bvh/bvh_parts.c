// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// How a surface hangs together, for culling by cones: which edges are its boundary, and whether the
// triangles of a node are one part. Found when asked for, and kept while nothing below changes.

static void SetMask(knBvhScene* s, uint32_t block)
{
    const knBvhBlock* b = &s->blocks[block];
    uint32_t mask = 0, count = s->nodes[s->blockNodes[block]].count;
    for (uint32_t i = 0; i < 3 * count; ++i)
    {
        uint32_t lane = i / 3, from = b->vertex[i % 3][lane], to = b->vertex[(i + 1) % 3][lane];
        // an edge of one or of more than two, as if the surface were cut there into manifolds
        mask |= (uint32_t)(knNeighbour(s, b->triangle[lane], from, to) == KN_NONE) << i;
    }
    s->boundaryMasks[block] = mask;
}

void knUpdateBoundary(knBvhScene* s)
{
    for (uint32_t block = 0; block < s->blockSlots; ++block)
    {
        bool isStale = s->linksAreStale || (s->boundaryMasks[block] & KN_STALE_MASK) != 0;
        if (isStale && !knIsBlockFree(s, block))
        {
            SetMask(s, block);
        }
    }
    for (uint32_t node = 0; node < s->nodeSlots && s->linksAreStale; ++node)
    {
        s->cullNodes[node].parts = kn_partsUnknown;
    }
    s->linksAreStale = false;
}

static bool IsBelow(const knBvhScene* s, uint32_t triangle, uint32_t top)
{
    uint32_t node = s->blockNodes[(s->places[triangle] & ~KN_MARK) / KN_LANES];
    while (node != top && node != KN_NONE)
    {
        node = s->cold[node].parent;
    }
    return node == top;
}

// The first leaf below, and the next; KN_NONE at the end.
static uint32_t NextLeaf(const knBvhScene* s, uint32_t node, uint32_t top)
{
    if (node != KN_NONE)
    {
        while (node != top && (node & 1) != 0)
        {
            node = s->cold[node].parent;
        }
        if (node == top)
        {
            return KN_NONE;
        }
        node += 1;
    }
    node = node == KN_NONE ? top : node;
    while (!knIsLeaf(&s->nodes[node]))
    {
        node = s->nodes[node].child;
    }
    return node;
}

static uint32_t NeighbourAt(const knBvhScene* s, const knBuildSource* t, int corner)
{
    return knNeighbour(s, t->triangle, t->v[corner], t->v[(corner + 1) % 3]);
}

// Does an edge of two join a triangle below one child with one below the other?
static bool HasLinkBetween(const knBvhScene* s, uint32_t a, uint32_t b)
{
    for (uint32_t leaf = NextLeaf(s, KN_NONE, a); leaf != KN_NONE; leaf = NextLeaf(s, leaf, a))
    {
        const knBvhNode* n = &s->nodes[leaf];
        for (uint32_t i = 0; i < 3 * n->count; ++i)
        {
            knBuildSource t = knSourceAt(s, n->child * KN_LANES + i / 3);
            uint32_t other = NeighbourAt(s, &t, (int)(i % 3));
            if (other != KN_NONE && s->places[other] / KN_LANES != n->child && IsBelow(s, other, b))
            {
                return true;
            }
        }
    }
    return false;
}

static void ClearMarks(knBvhScene* s, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        s->places[s->flood[i]] &= ~KN_MARK;
    }
}

// From the first triangle to all that it hangs together with below the node.
static bool ReachesAll(knBvhScene* s, uint32_t top)
{
    uint32_t leaf = NextLeaf(s, KN_NONE, top), count = 0;
    s->flood[count++] = s->blocks[s->nodes[leaf].child].triangle[0];
    s->places[s->flood[0]] |= KN_MARK;
    for (uint32_t done = 0; done < count; ++done)
    {
        knBuildSource t = knSourceAt(s, s->places[s->flood[done]] & ~KN_MARK);
        for (int corner = 0; corner < 3; ++corner)
        {
            uint32_t other = NeighbourAt(s, &t, corner);
            if (other != KN_NONE && (s->places[other] & KN_MARK) == 0 && IsBelow(s, other, top))
            {
                s->places[other] |= KN_MARK;
                s->flood[count++] = other;
            }
        }
    }
    ClearMarks(s, count);
    return count == s->cold[top].triangleCount;
}

// Two parts of one each make one when an edge joins them; only else all must be walked.
static bool IsOnePart(knBvhScene* s, uint32_t node)
{
    uint32_t child = s->nodes[node].child;
    bool areOne = !knIsLeaf(&s->nodes[node]) && s->cullNodes[child].parts == kn_partsOne &&
                  s->cullNodes[child + 1].parts == kn_partsOne;
    return areOne ? HasLinkBetween(s, child, child + 1) : ReachesAll(s, node);
}

static bool IsUnknown(const knBvhScene* s, uint32_t node)
{
    return s->cullNodes[node].parts == kn_partsUnknown;
}

// What is not known below is found first: a later change then costs the way up from it.
bool knIsOnePart(knBvhScene* s, uint32_t top)
{
    for (uint32_t node = top; IsUnknown(s, top);)
    {
        uint32_t child = s->nodes[node].child;
        bool isLeaf = knIsLeaf(&s->nodes[node]);
        if (!isLeaf && (IsUnknown(s, child) || IsUnknown(s, child + 1)))
        {
            node = IsUnknown(s, child) ? child : child + 1;
            continue;
        }
        s->cullNodes[node].parts = IsOnePart(s, node) ? kn_partsOne : kn_partsMore;
        node = s->cold[node].parent;
    }
    return s->cullNodes[top].parts == kn_partsOne;
}
