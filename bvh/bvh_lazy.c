// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// The tree that exists only where queries go (2006, section 2). Primitives stand in the order of
// the tree, so a node's are in one piece and a subtree folds back without touching them.

#define MAX_CHILDREN  8
#define SHRINK_FACTOR 4  // memory that is used to less than this part is given back
#define SHRINK_MIN    64 // nodes that are kept in any case

static knResult GrowNodes(knHierarchy* h, size_t nodes)
{
    knResult result =
        knGrow(&h->allocator, (void**)&h->lazy, &h->lazyCapacity, nodes, sizeof *h->lazy);
    return result == kn_success && h->rigidCount > 0
               ? knGrow(&h->allocator, (void**)&h->rigidBoxes, &h->rigidBoxCapacity,
                        h->lazyCapacity, sizeof *h->rigidBoxes)
               : result;
}

knResult knReserveLazy(knHierarchy* h, size_t nodeCount)
{
    size_t nodes = h->lazySlots + nodeCount;
    return nodes > h->lazyCapacity || (h->rigidCount > 0 && nodes > h->rigidBoxCapacity)
               ? GrowNodes(h, nodes)
               : kn_success;
}

knResult knReservePrimitives(knHierarchy* h, knHierarchyBody* body, size_t count)
{
    return knGrow(&h->allocator, (void**)&body->primitives, &body->primitiveCapacity, count,
                  sizeof *body->primitives);
}

knResult knReserveSplit(knHierarchy* h, size_t count)
{
    knResult result = knGrow(&h->allocator, (void**)&h->splitItems, &h->splitItemCapacity, count,
                             sizeof *h->splitItems);
    return result == kn_success
               ? knGrow(&h->allocator, (void**)&h->items, &h->itemCapacity, count, sizeof *h->items)
               : result;
}

// A free block of the size, or the first part of a larger one, or new slots.
uint32_t knAcquireLazy(knHierarchy* h, uint32_t count)
{
    h->lazyUsed += count;
    for (uint32_t size = count; size <= MAX_CHILDREN; ++size)
    {
        uint32_t block = h->freeBlocks[size];
        if (block == KN_NONE)
        {
            continue;
        }
        h->freeBlocks[size] = h->lazy[block].box.child;
        if (size > count)
        {
            h->lazy[block + count].box.child = h->freeBlocks[size - count];
            h->freeBlocks[size - count] = block + count;
        }
        return block;
    }
    KN_ASSERT(h->lazySlots + count <= h->lazyCapacity);
    uint32_t block = h->lazySlots;
    h->lazySlots += count;
    return block;
}

static void ReleaseBlock(knHierarchy* h, uint32_t block, uint32_t count)
{
    h->lazyUsed -= count;
    h->lazy[block].box.child = h->freeBlocks[count];
    h->freeBlocks[count] = block;
}

void knStartLazy(knHierarchy* h, knHierarchyBody* body)
{
    if (body->primitiveCount == 0)
    {
        return;
    }
    body->root = knAcquireLazy(h, 1);
    h->lazy[body->root] = (knLazyNode){.count = body->primitiveCount};
}

static void ReleaseBelow(knHierarchy* h, uint32_t node)
{
    knBvhNode box = h->lazy[node].box;
    for (uint32_t i = box.child; i < box.child + box.count; ++i)
    {
        ReleaseBelow(h, i);
    }
    if (box.count > 0)
    {
        ReleaseBlock(h, box.child, box.count);
        h->lazy[node].box.count = 0;
    }
}

void knFoldLazy(knHierarchy* h, uint32_t node)
{
    if (h->lazy[node].box.count > 0)
    {
        h->work.foldPrimitives += h->lazy[node].count;
        ReleaseBelow(h, node);
    }
}

static void DropTree(knHierarchy* h, knHierarchyBody* body)
{
    if (body->root != KN_NONE)
    {
        ReleaseBelow(h, body->root);
        ReleaseBlock(h, body->root, 1);
        body->root = KN_NONE;
    }
}

void knReleaseLazy(knHierarchy* h, knHierarchyBody* body)
{
    DropTree(h, body);
    knRelease(&h->allocator, body->primitives, body->primitiveCapacity, sizeof *body->primitives);
    body->primitives = NULL;
    body->primitiveCapacity = 0;
    body->primitiveCount = body->deadCount = 0;
}

void knLocatePrimitives(knHierarchy* h, const knHierarchyBody* body)
{
    for (uint32_t i = 0; i < body->primitiveCount; ++i)
    {
        if (body->primitives[i] != KN_NONE)
        {
            h->triangles[body->primitives[i]].place = i;
        }
    }
}

// At the end of the order, and so in the last node of every level.
void knAppendPrimitive(knHierarchy* h, knHierarchyBody* body, uint32_t triangle)
{
    body->primitives[body->primitiveCount++] = triangle;
    h->triangles[triangle].place = body->primitiveCount - 1;
    if (body->root == KN_NONE)
    {
        knStartLazy(h, body);
        return;
    }
    uint32_t node = body->root;
    h->lazy[node].count += 1;
    while (h->lazy[node].box.count > 0)
    {
        node = h->lazy[node].box.child + h->lazy[node].box.count - 1;
        h->lazy[node].count += 1;
    }
}

// Leaves a hole, which the next update may close.
void knDeletePrimitive(knHierarchy* h, knHierarchyBody* body, uint32_t triangle)
{
    body->primitives[h->triangles[triangle].place] = KN_NONE;
    body->deadCount += 1;
}

static void CloseHoles(knHierarchy* h, knHierarchyBody* body)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->primitiveCount; ++i)
    {
        body->primitives[kept] = body->primitives[i];
        kept += body->primitives[i] != KN_NONE;
    }
    body->primitiveCount = kept;
    body->deadCount = 0;
    DropTree(h, body);
    knStartLazy(h, body);
}

#if defined(__SSE2__)
// Returns how many are not finite.
static uint32_t FitRange(const knHierarchy* h, const uint32_t* ids, uint32_t count, knBvhNode* box)
{
    __m128 lower = _mm_set1_ps(INFINITY), upper = _mm_set1_ps(-INFINITY);
    uint32_t broken = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        __m128 low, high;
        if (ids[i] == KN_NONE)
        {
            continue;
        }
        if (knFindTriangleBounds(h->positions, h->triangles[ids[i]].v, &low, &high))
        {
            lower = _mm_min_ps(lower, low);
            upper = _mm_max_ps(upper, high);
        }
        else
        {
            broken += 1;
        }
    }
    knStore3(box->lower, lower);
    knStore3(box->upper, upper);
    return broken;
}
#else
static uint32_t FitRange(const knHierarchy* h, const uint32_t* ids, uint32_t count, knBvhNode* box)
{
    float lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    uint32_t broken = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        float low[3], high[3];
        if (ids[i] != KN_NONE)
        {
            broken += !knFindTriangleBox(h->positions, h->triangles[ids[i]].v, low, high);
            knGrowBox(lower, upper, low, high);
        }
    }
    memcpy(box->lower, lower, sizeof lower);
    memcpy(box->upper, upper, sizeof upper);
    return broken;
}
#endif

void knFitLazy(knHierarchy* h, const knHierarchyBody* body, uint32_t node)
{
    knLazyNode* n = &h->lazy[node];
    h->brokenCount += FitRange(h, body->primitives + n->first, n->count, &n->box);
    h->work.fitPrimitives += n->count;
}

static void MergeChildren(knHierarchy* h, uint32_t node)
{
    knBvhNode* box = &h->lazy[node].box;
    const knBvhNode* first = &h->lazy[box->child].box;
    memcpy(box->lower, first->lower, sizeof box->lower);
    memcpy(box->upper, first->upper, sizeof box->upper);
    for (uint32_t i = box->child + 1; i < box->child + box->count; ++i)
    {
        knGrowBox(box->lower, box->upper, h->lazy[i].box.lower, h->lazy[i].box.upper);
    }
    h->work.mergedBoxes += box->count;
}

double knLazyRatio(const knHierarchy* h, uint32_t node)
{
    const knBvhNode* box = &h->lazy[node].box;
    double sum = 0.0;
    for (uint32_t i = box->child; i < box->child + box->count; ++i)
    {
        sum += knPaddedVolume(h->lazy[i].box.lower, h->lazy[i].box.upper, h->padding);
    }
    return sum > 0.0 ? knPaddedVolume(box->lower, box->upper, h->padding) / sum : (double)INFINITY;
}

static bool HasActiveChild(const knHierarchy* h, uint32_t node)
{
    const knBvhNode* box = &h->lazy[node].box;
    bool isActive = false;
    for (uint32_t i = box->child; i < box->child + box->count; ++i)
    {
        isActive = isActive || h->lazy[i].activeIn == h->period;
    }
    return isActive;
}

// From the deepest active nodes upwards, in one pass: what is below them is too old and folds.
static void UpdateNode(knHierarchy* h, const knHierarchyBody* body, uint32_t node)
{
    if (!HasActiveChild(h, node))
    {
        knFoldLazy(h, node);
        knFitLazy(h, body, node);
        return;
    }
    knBvhNode box = h->lazy[node].box;
    for (uint32_t i = box.child; i < box.child + box.count; ++i)
    {
        UpdateNode(h, body, i);
    }
    MergeChildren(h, node);
    if (h->period >= h->lazy[node].restUntil && knLazyRatio(h, node) < (double)h->def.invalidRatio)
    {
        knFoldLazy(h, node);
        h->work.invalidations += 1;
    }
}

static void CopyNode(knHierarchy* h, knLazyNode* to, uint32_t* used, knLazyNode* node)
{
    uint32_t old = node->box.child, count = node->box.count;
    if (count > 0)
    {
        node->box.child = *used;
        memcpy(to + *used, h->lazy + old, count * sizeof *to);
        *used += count;
        for (uint32_t i = 0; i < count; ++i)
        {
            CopyNode(h, to, used, &to[node->box.child + i]);
        }
    }
}

// The tree has become small: the rest of the memory goes back. Without memory to copy to, all
// stays.
static void Shrink(knHierarchy* h)
{
    size_t capacity = 2 * (size_t)h->lazyUsed + SHRINK_MIN;
    if (h->def.preallocate || h->rigidCount > 0 || h->lazyCapacity < SHRINK_FACTOR * capacity)
    {
        return;
    }
    knLazyNode* nodes = knAllocate(&h->allocator, capacity, sizeof *nodes);
    if (!nodes)
    {
        return;
    }
    uint32_t used = 0;
    for (uint32_t slot = knNextBody(h, 0); slot; slot = knNextBody(h, slot))
    {
        knHierarchyBody* body = knGetHierarchyBody(h, slot);
        if (body->root != KN_NONE)
        {
            uint32_t root = used++;
            nodes[root] = h->lazy[body->root];
            body->root = root;
            CopyNode(h, nodes, &used, &nodes[root]);
        }
    }
    knRelease(&h->allocator, h->lazy, h->lazyCapacity, sizeof *h->lazy);
    h->lazy = nodes;
    h->lazyCapacity = capacity;
    h->lazySlots = used;
    memset(h->freeBlocks, 0xFF, sizeof h->freeBlocks);
}

knResult knUpdateLazy(knHierarchy* h)
{
    h->brokenCount = 0;
    for (uint32_t slot = knNextBody(h, 0); slot; slot = knNextBody(h, slot))
    {
        knHierarchyBody* body = knGetHierarchyBody(h, slot);
        if (body->isRigid || body->root == KN_NONE)
        {
            continue;
        }
        if (4 * body->deadCount > body->primitiveCount)
        {
            CloseHoles(h, body);
        }
        if (body->root != KN_NONE)
        {
            UpdateNode(h, body, body->root);
        }
    }
    Shrink(h);
    return kn_success;
}
