// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

static bool TestNodes(knHierarchyWalk* w, const knBalancedNode* a, const knBalancedNode* b)
{
    w->sink->funnel.nodeTests += 1;
    return knBoxesOverlap(a->lower, a->upper, b->lower, b->upper);
}

// The larger is descended. Boxes of the two overlap; the depth is that of balanced trees.
static void MeetNodes(knHierarchyWalk* w, const knBalancedNode* a, const knBalancedNode* b)
{
    bool aLeaf = knIsBalancedLeaf(a), bLeaf = knIsBalancedLeaf(b);
    if (knIsDone(w))
    {
        return;
    }
    if (aLeaf && bLeaf)
    {
        w->sink->funnel.leafPairs += 1;
        knPairBatch_Add(&w->batch, a->left, b->left);
        return;
    }
    bool descendA =
        bLeaf || (!aLeaf && knBoxSpan(a->lower, a->upper) >= knBoxSpan(b->lower, b->upper));
    const knBalancedNode* whole = descendA ? b : a;
    const knBalancedNode* nodes = w->hierarchy->nodes;
    const knBalancedNode* left = &nodes[(descendA ? a : b)->left];
    const knBalancedNode* right = &nodes[(descendA ? a : b)->right];
    if (TestNodes(w, left, whole))
    {
        MeetNodes(w, left, whole);
    }
    if (TestNodes(w, right, whole))
    {
        MeetNodes(w, right, whole);
    }
}

static void MeetItself(knHierarchyWalk* w, const knBalancedNode* n)
{
    if (knIsBalancedLeaf(n) || knIsDone(w))
    {
        return;
    }
    const knBalancedNode* left = &w->hierarchy->nodes[n->left];
    const knBalancedNode* right = &w->hierarchy->nodes[n->right];
    MeetItself(w, left);
    MeetItself(w, right);
    if (TestNodes(w, left, right))
    {
        MeetNodes(w, left, right);
    }
}

void knWalkBalanced(knHierarchyWalk* w)
{
    const knHierarchy* h = w->hierarchy;
    for (uint32_t a = knNextBody(h, 0); a; a = knNextBody(h, a))
    {
        uint32_t root = knGetHierarchyBody(h, a)->root;
        if (root != KN_NONE && knWantsBodies(w, a, a))
        {
            MeetItself(w, &h->nodes[root]);
        }
        for (uint32_t b = root == KN_NONE ? 0 : knNextBody(h, a); b; b = knNextBody(h, b))
        {
            uint32_t other = knGetHierarchyBody(h, b)->root;
            if (other != KN_NONE && knWantsBodies(w, a, b) &&
                TestNodes(w, &h->nodes[root], &h->nodes[other]))
            {
                MeetNodes(w, &h->nodes[root], &h->nodes[other]);
            }
        }
    }
}
