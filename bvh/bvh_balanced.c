// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// An AVL tree over the triangles of a body (2007, section 3). Siblings have no order, so a rotation
// takes whichever child of the higher child is higher: the paper's swap before the rotation. Boxes
// are left as they are here; the update fits them.

knResult knReserveBalanced(knHierarchy* h, size_t nodeCount, size_t triangleCount)
{
    const knAllocator* a = &h->allocator;
    size_t fresh = nodeCount > h->freeNodeCount ? nodeCount - h->freeNodeCount : 0;
    size_t nodes = h->nodeSlots + fresh;
    if (nodes >= KN_NONE)
    {
        return knFail(kn_errorLimit, "%zu nodes; break into fewer parts at a time", nodes);
    }
    knResult result = knGrow(a, (void**)&h->nodes, &h->nodeCapacity, nodes, sizeof *h->nodes);
    if (result == kn_success)
    {
        result = knGrow(a, (void**)&h->links, &h->linkCapacity, nodes, sizeof *h->links);
    }
    // ids may go to the end of what is there, whichever slots are free
    size_t slots = h->triangleSlots + triangleCount;
    if (result == kn_success)
    {
        result = knGrow(a, (void**)&h->fans, &h->fanCapacity, 3 * slots, sizeof *h->fans);
    }
    if (result == kn_success)
    {
        // what waits, and for a search every triangle around
        result = knGrow(a, (void**)&h->queue, &h->queueCapacity, slots, sizeof *h->queue);
    }
    size_t old = h->pendingCapacity;
    if (result == kn_success)
    {
        result = knGrow(a, (void**)&h->isPending, &h->pendingCapacity, slots, 1);
    }
    if (h->pendingCapacity > old)
    {
        memset(h->isPending + old, 0, h->pendingCapacity - old);
    }
    return result == kn_success
               ? knGrow(a, (void**)&h->items, &h->itemCapacity, slots, sizeof *h->items)
               : result;
}

static uint32_t AcquireNode(knHierarchy* h)
{
    uint32_t node = h->freeNode;
    if (node != KN_NONE)
    {
        h->freeNode = h->nodes[node].left;
        h->freeNodeCount -= 1;
        return node;
    }
    KN_ASSERT(h->nodeSlots < h->nodeCapacity);
    return h->nodeSlots++;
}

static void ReleaseNode(knHierarchy* h, uint32_t node)
{
    h->nodes[node].left = h->freeNode;
    h->nodes[node].right = KN_NONE;
    h->freeNode = node;
    h->freeNodeCount += 1;
}

void knReleaseBalanced(knHierarchy* h, uint32_t node)
{
    if (node == KN_NONE)
    {
        return;
    }
    if (!knIsBalancedLeaf(&h->nodes[node]))
    {
        knReleaseBalanced(h, h->nodes[node].left);
        knReleaseBalanced(h, h->nodes[node].right);
    }
    ReleaseNode(h, node);
}

static void SetChildren(knHierarchy* h, uint32_t node, uint32_t left, uint32_t right)
{
    uint32_t a = h->links[left].height, b = h->links[right].height;
    h->nodes[node].left = left;
    h->nodes[node].right = right;
    h->links[left].parent = h->links[right].parent = node;
    h->links[node].height = 1 + (a > b ? a : b);
}

static uint32_t MakeLeaf(knHierarchy* h, uint32_t triangle)
{
    uint32_t leaf = AcquireNode(h);
    h->nodes[leaf].left = triangle;
    h->nodes[leaf].right = KN_NONE;
    h->links[leaf] = (knBalancedLink){KN_NONE, 0};
    h->triangles[triangle].place = leaf;
    return leaf;
}

// Halves of the items, so that heights of siblings differ by one at most.
static uint32_t BuildRange(knHierarchy* h, uint32_t begin, uint32_t end)
{
    if (end - begin == 1)
    {
        return MakeLeaf(h, h->items[begin].triangle);
    }
    uint32_t middle = begin + (end - begin) / 2, node = AcquireNode(h);
    knSelectItems(h->items, begin, end, middle, knLongestAxis(h->items, begin, end));
    uint32_t left = BuildRange(h, begin, middle);
    uint32_t right = BuildRange(h, middle, end);
    SetChildren(h, node, left, right);
    return node;
}

void knBuildBalanced(knHierarchy* h, knHierarchyBody* body, uint32_t itemCount)
{
    body->root = itemCount > 0 ? BuildRange(h, 0, itemCount) : KN_NONE;
    body->isChanged = true;
    if (itemCount > 0)
    {
        h->links[body->root].parent = KN_NONE;
    }
}

static uint32_t HigherChild(const knHierarchy* h, uint32_t node)
{
    const knBalancedNode* n = &h->nodes[node];
    return h->links[n->left].height >= h->links[n->right].height ? n->left : n->right;
}

static uint32_t OtherChild(const knHierarchy* h, uint32_t node, uint32_t child)
{
    const knBalancedNode* n = &h->nodes[node];
    return n->left == child ? n->right : n->left;
}

// The higher child's higher child comes up; the higher child goes down, with its other child and
// the lower one. The node keeps its slot, so nothing above changes.
static void Rotate(knHierarchy* h, uint32_t node)
{
    uint32_t high = HigherChild(h, node), low = OtherChild(h, node, high);
    uint32_t up = HigherChild(h, high), down = OtherChild(h, high, up);
    SetChildren(h, high, down, low);
    SetChildren(h, node, up, high);
    h->work.rotations += 1;
}

// Heights from the node to the root, as far as they change.
static void Rebalance(knHierarchy* h, uint32_t node)
{
    while (node != KN_NONE)
    {
        const knBalancedNode* n = &h->nodes[node];
        uint32_t before = h->links[node].height;
        uint32_t a = h->links[n->left].height, b = h->links[n->right].height;
        h->links[node].height = 1 + (a > b ? a : b);
        if (a > b + 1 || b > a + 1)
        {
            Rotate(h, node);
        }
        if (h->links[node].height == before)
        {
            return;
        }
        node = h->links[node].parent;
    }
}

// The child takes the place of `old` below the parent.
static void ReplaceChild(knHierarchy* h, knHierarchyBody* body, uint32_t parent, uint32_t old,
                         uint32_t child)
{
    h->links[child].parent = parent;
    if (parent == KN_NONE)
    {
        body->root = child;
    }
    else if (h->nodes[parent].left == old)
    {
        h->nodes[parent].left = child;
    }
    else
    {
        h->nodes[parent].right = child;
    }
}

void knInsertLeaf(knHierarchy* h, knHierarchyBody* body, uint32_t triangle, uint32_t beside)
{
    uint32_t leaf = MakeLeaf(h, triangle);
    knBalancedNode* n = &h->nodes[leaf];
    knFindTriangleBox(h->positions, h->triangles[triangle].v, n->lower, n->upper);
    body->isChanged = true;
    h->work.insertions += 1;
    if (body->root == KN_NONE)
    {
        body->root = leaf;
        return;
    }
    uint32_t node = AcquireNode(h), parent = h->links[beside].parent;
    h->nodes[node] = *n; // some box, until the update
    ReplaceChild(h, body, parent, beside, node);
    SetChildren(h, node, beside, leaf);
    Rebalance(h, parent);
}

void knDeleteLeaf(knHierarchy* h, knHierarchyBody* body, uint32_t leaf)
{
    uint32_t parent = h->links[leaf].parent;
    body->isChanged = true;
    h->work.deletions += 1;
    if (parent == KN_NONE)
    {
        body->root = KN_NONE;
        ReleaseNode(h, leaf);
        return;
    }
    uint32_t above = h->links[parent].parent;
    ReplaceChild(h, body, above, parent, OtherChild(h, parent, leaf));
    ReleaseNode(h, leaf);
    ReleaseNode(h, parent);
    Rebalance(h, above);
}

uint32_t knCloneBalanced(knHierarchy* h, uint32_t node, const uint32_t* partOf, uint32_t part,
                         uint32_t* queueCount)
{
    uint32_t copy = AcquireNode(h);
    h->nodes[copy] = h->nodes[node];
    h->links[copy] = h->links[node];
    h->work.clonedNodes += 1;
    if (!knIsBalancedLeaf(&h->nodes[node]))
    {
        uint32_t left = knCloneBalanced(h, h->nodes[node].left, partOf, part, queueCount);
        uint32_t right = knCloneBalanced(h, h->nodes[node].right, partOf, part, queueCount);
        SetChildren(h, copy, left, right);
        return copy;
    }
    uint32_t triangle = h->nodes[node].left;
    if (partOf[triangle] == part)
    {
        h->triangles[triangle].place = copy;
    }
    else
    {
        h->queue[(*queueCount)++] = copy;
    }
    return copy;
}

void knListOtherLeaves(knHierarchy* h, uint32_t node, const uint32_t* partOf, uint32_t part,
                       uint32_t* queueCount)
{
    if (node == KN_NONE)
    {
        return;
    }
    const knBalancedNode* n = &h->nodes[node];
    if (!knIsBalancedLeaf(n))
    {
        knListOtherLeaves(h, n->left, partOf, part, queueCount);
        knListOtherLeaves(h, n->right, partOf, part, queueCount);
    }
    else if (partOf[n->left] != part)
    {
        h->queue[(*queueCount)++] = node;
    }
}
