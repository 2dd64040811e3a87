// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

#define REBUILD_GAIN 1.1 // how much worse than the last build a tree must be for another

void knSetHierarchyItem(knHierarchy* h, uint32_t item, uint32_t triangle)
{
    knBuildItem* it = &h->items[item];
    float lower[3], upper[3];
    bool isFinite = knFindTriangleBox(h->positions, h->triangles[triangle].v, lower, upper);
    for (int axis = 0; axis < 3; ++axis)
    {
        // halves first: the sum of two large floats is none
        it->center[axis] = isFinite ? 0.5f * lower[axis] + 0.5f * upper[axis] : 0.0f;
    }
    it->triangle = triangle;
}

uint32_t knCollectBalanced(knHierarchy* h, uint32_t node, uint32_t itemCount)
{
    if (node == KN_NONE)
    {
        return itemCount;
    }
    if (knIsBalancedLeaf(&h->nodes[node]))
    {
        knSetHierarchyItem(h, itemCount, h->nodes[node].left);
        return itemCount + 1;
    }
    itemCount = knCollectBalanced(h, h->nodes[node].left, itemCount);
    return knCollectBalanced(h, h->nodes[node].right, itemCount);
}

static void MergeChildren(knHierarchy* h, uint32_t node)
{
    knBalancedNode* n = &h->nodes[node];
    const knBalancedNode *a = &h->nodes[n->left], *b = &h->nodes[n->right];
#if defined(__SSE2__)
    knStore3(n->lower, _mm_min_ps(_mm_loadu_ps(a->lower), _mm_loadu_ps(b->lower)));
    knStore3(n->upper, _mm_max_ps(_mm_loadu_ps(a->upper), _mm_loadu_ps(b->upper)));
#else
    memcpy(n->lower, a->lower, sizeof n->lower);
    memcpy(n->upper, a->upper, sizeof n->upper);
    knGrowBox(n->lower, n->upper, b->lower, b->upper);
#endif
}

uint32_t knRefitBalanced(knHierarchy* h, uint32_t node)
{
    knBalancedNode* n = &h->nodes[node];
    if (knIsBalancedLeaf(n))
    {
        return !knFindTriangleBox(h->positions, h->triangles[n->left].v, n->lower, n->upper);
    }
    uint32_t broken = knRefitBalanced(h, n->left);
    broken += knRefitBalanced(h, n->right);
    MergeChildren(h, node);
    return broken;
}

static uint32_t RefitBody(knHierarchy* h, const knHierarchyBody* body)
{
    h->work.fitPrimitives += body->triangleCount;
    h->work.mergedBoxes += 2 * (uint64_t)(body->triangleCount - 1);
    return knRefitBalanced(h, body->root);
}

static double SquaredUnion(const knHierarchy* h, uint32_t a, uint32_t b)
{
    const knBalancedNode *p = &h->nodes[a], *q = &h->nodes[b];
    float lower[3], upper[3];
    memcpy(lower, p->lower, sizeof lower);
    memcpy(upper, p->upper, sizeof upper);
    knGrowBox(lower, upper, q->lower, q->upper);
    double volume = knPaddedVolume(lower, upper, h->padding);
    return volume * volume;
}

static bool AreBalanced(const knHierarchy* h, uint32_t a, uint32_t b)
{
    uint32_t x = h->links[a].height, y = h->links[b].height;
    return x <= y + 1 && y <= x + 1;
}

static void Adopt(knHierarchy* h, uint32_t node, uint32_t left, uint32_t right)
{
    uint32_t a = h->links[left].height, b = h->links[right].height;
    h->nodes[node].left = left;
    h->nodes[node].right = right;
    h->links[left].parent = h->links[right].parent = node;
    h->links[node].height = 1 + (a > b ? a : b);
    MergeChildren(h, node);
}

// The grandchildren pair off in the way with the least q (Equation 3) that keeps both children
// balanced; the node then is too.
static void PermuteGrandchildren(knHierarchy* h, uint32_t left, uint32_t right)
{
    uint32_t a = h->nodes[left].left, b = h->nodes[left].right;
    uint32_t c = h->nodes[right].left, d = h->nodes[right].right;
    const uint32_t ways[3][4] = {{a, b, c, d}, {a, c, b, d}, {a, d, c, b}};
    int best = 0;
    double bestQ = SquaredUnion(h, a, b) + SquaredUnion(h, c, d);
    for (int i = 1; i < 3; ++i)
    {
        const uint32_t* w = ways[i];
        if (AreBalanced(h, w[0], w[1]) && AreBalanced(h, w[2], w[3]))
        {
            double q = SquaredUnion(h, w[0], w[1]) + SquaredUnion(h, w[2], w[3]);
            best = q < bestQ ? i : best;
            bestQ = q < bestQ ? q : bestQ;
        }
    }
    if (best != 0)
    {
        Adopt(h, left, ways[best][0], ways[best][1]);
        Adopt(h, right, ways[best][2], ways[best][3]);
        h->work.permutations += 1;
    }
}

void knOptimizeBalanced(knHierarchy* h, uint32_t node)
{
    uint32_t left = h->nodes[node].left, right = h->nodes[node].right;
    if (right == KN_NONE)
    {
        return;
    }
    knOptimizeBalanced(h, left);
    knOptimizeBalanced(h, right);
    if (!knIsBalancedLeaf(&h->nodes[left]) && !knIsBalancedLeaf(&h->nodes[right]))
    {
        PermuteGrandchildren(h, left, right);
    }
}

static double SumSquares(const knHierarchy* h, uint32_t node)
{
    const knBalancedNode* n = &h->nodes[node];
    double volume = knPaddedVolume(n->lower, n->upper, h->padding);
    double sum = volume * volume;
    return knIsBalancedLeaf(n) ? sum : sum + SumSquares(h, n->left) + SumSquares(h, n->right);
}

double knBalancedQuality(const knHierarchy* h, uint32_t root)
{
    if (root == KN_NONE)
    {
        return 0.0;
    }
    double volume = knPaddedVolume(h->nodes[root].lower, h->nodes[root].upper, h->padding);
    double sum = SumSquares(h, root);
    return volume > 0.0 && sum <= DBL_MAX ? sum / (volume * volume) : 0.0;
}

static void Rebuild(knHierarchy* h, knHierarchyBody* body)
{
    uint32_t count = knCollectBalanced(h, body->root, 0);
    knReleaseBalanced(h, body->root);
    knBuildBalanced(h, body, count);
    RefitBody(h, body);
    body->quality = body->builtQuality = knBalancedQuality(h, body->root);
    h->work.rebuilds += 1;
}

// What has changed its structure is optimised, and built anew when that does not do.
static void Improve(knHierarchy* h, knHierarchyBody* body)
{
    if (h->def.optimize)
    {
        knOptimizeBalanced(h, body->root);
    }
    body->quality = knBalancedQuality(h, body->root);
    double limit = (double)h->def.rebuildQuality;
    if (body->builtQuality == 0.0)
    {
        body->builtQuality = body->quality; // it was just built
    }
    // a tree that the builder cannot make better is not built at every change
    if (limit > 0.0 && body->quality > limit && body->quality > REBUILD_GAIN * body->builtQuality)
    {
        Rebuild(h, body);
    }
    body->isChanged = false;
}

knResult knUpdateBalanced(knHierarchy* h)
{
    h->brokenCount = 0;
    for (uint32_t slot = knNextBody(h, 0); slot; slot = knNextBody(h, slot))
    {
        knHierarchyBody* body = knGetHierarchyBody(h, slot);
        if (body->root == KN_NONE)
        {
            continue;
        }
        h->brokenCount += RefitBody(h, body);
        if (body->isChanged)
        {
            Improve(h, body);
        }
    }
    return kn_success;
}
