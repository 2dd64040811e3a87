// SPDX-License-Identifier: Zlib
#include "bench/tree_rebuild.h"

static bool Reserve(RebuildTree* t, size_t count)
{
    if (count > t->capacity)
    {
        FreeRebuild(t);
        t->nodes = malloc(2 * count * sizeof *t->nodes);
        t->items = malloc(count * sizeof *t->items);
        t->capacity = count;
    }
    return t->nodes && t->items;
}

void FreeRebuild(RebuildTree* t)
{
    free(t->nodes);
    free(t->items);
    memset(t, 0, sizeof *t);
}

static int CompareAlong(const void* a, const void* b, int axis)
{
    const knBuildItem *p = a, *q = b;
    float x = p->center[axis], y = q->center[axis];
    return (x > y) - (x < y);
}

static int CompareX(const void* a, const void* b)
{
    return CompareAlong(a, b, 0);
}

static int CompareY(const void* a, const void* b)
{
    return CompareAlong(a, b, 1);
}

static int CompareZ(const void* a, const void* b)
{
    return CompareAlong(a, b, 2);
}

static uint32_t SplitAtMiddle(RebuildTree* t, uint32_t begin, uint32_t end, int axis)
{
    float low = INFINITY, high = -INFINITY;
    for (uint32_t i = begin; i < end; ++i)
    {
        low = fminf(low, t->items[i].center[axis]);
        high = fmaxf(high, t->items[i].center[axis]);
    }
    float middle = 0.5f * (low + high);
    uint32_t at = begin;
    for (uint32_t i = begin; i < end; ++i)
    {
        if (t->items[i].center[axis] < middle)
        {
            knBuildItem swap = t->items[i];
            t->items[i] = t->items[at];
            t->items[at++] = swap;
        }
    }
    return at > begin && at < end ? at : begin + (end - begin) / 2;
}

static uint32_t Split(RebuildTree* t, uint32_t begin, uint32_t end, RebuildKind kind)
{
    static int (*const compare[3])(const void*, const void*) = {CompareX, CompareY, CompareZ};
    int axis = knLongestAxis(t->items, begin, end);
    uint32_t middle = begin + (end - begin) / 2;
    switch (kind)
    {
    case rebuildSort:
        qsort(t->items + begin, end - begin, sizeof *t->items, compare[axis]);
        return middle;
    case rebuildMedian:
        knSelectItems(t->items, begin, end, middle, axis);
        return middle;
    default:
        return SplitAtMiddle(t, begin, end, axis);
    }
}

// Returns the height.
static uint32_t Build(RebuildTree* t, const knHierarchy* g, uint32_t begin, uint32_t end,
                      RebuildKind kind)
{
    uint32_t index = t->nodeCount++;
    knBalancedNode* n = &t->nodes[index];
    if (end - begin == 1)
    {
        n->left = t->items[begin].triangle;
        n->right = KN_NONE;
        knFindTriangleBox(g->positions, g->triangles[n->left].v, n->lower, n->upper);
        return 0;
    }
    uint32_t middle = Split(t, begin, end, kind);
    n->left = t->nodeCount;
    uint32_t a = Build(t, g, begin, middle, kind);
    n->right = t->nodeCount;
    uint32_t b = Build(t, g, middle, end, kind);
    memcpy(n->lower, t->nodes[n->left].lower, sizeof n->lower);
    memcpy(n->upper, t->nodes[n->left].upper, sizeof n->upper);
    knGrowBox(n->lower, n->upper, t->nodes[n->right].lower, t->nodes[n->right].upper);
    return 1 + (a > b ? a : b);
}

bool Rebuild(RebuildTree* t, const knHierarchy* g, uint32_t body, RebuildKind kind)
{
    if (!Reserve(t, g->triangleSlots))
    {
        return false;
    }
    t->nodeCount = t->itemCount = 0;
    for (uint32_t i = 0; i < g->triangleSlots; ++i)
    {
        if (g->triangles[i].body != 0 && (body == 0 || g->triangles[i].body == body))
        {
            float lower[3], upper[3];
            knBuildItem* it = &t->items[t->itemCount++];
            knFindTriangleBox(g->positions, g->triangles[i].v, lower, upper);
            for (int axis = 0; axis < 3; ++axis)
            {
                it->center[axis] = 0.5f * lower[axis] + 0.5f * upper[axis];
            }
            it->triangle = i;
        }
    }
    t->height = t->itemCount > 0 ? Build(t, g, 0, t->itemCount, kind) : 0;
    return true;
}

double RebuildQuality(const RebuildTree* t, float padding)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < t->nodeCount; ++i)
    {
        double volume = knPaddedVolume(t->nodes[i].lower, t->nodes[i].upper, padding);
        sum += volume * volume;
    }
    double root =
        t->nodeCount > 0 ? knPaddedVolume(t->nodes[0].lower, t->nodes[0].upper, padding) : 1.0;
    return sum / (root * root);
}
