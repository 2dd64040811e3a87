// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// A node's primitives are dealt out to the eighths of its box by their midpoints (2006, 2.2). When
// one eighth gets too many the planes move to the middle of that eighth; when that does not help,
// halves of the primitives along the longest axis do.

typedef struct Split
{
    knHierarchy* hierarchy;
    const knHierarchyBody* body;
    uint32_t first, count;
    uint32_t counts[8];
    float planes[3];
} Split;

static void FetchItems(Split* s)
{
    knHierarchy* h = s->hierarchy;
    for (uint32_t i = 0; i < s->count; ++i)
    {
        knSplitItem* it = &h->splitItems[i];
        it->triangle = s->body->primitives[s->first + i];
        if (it->triangle != KN_NONE)
        {
            knFindTriangleBox(h->positions, h->triangles[it->triangle].v, it->lower, it->upper);
        }
        else
        {
            it->lower[0] = it->lower[1] = it->lower[2] = INFINITY;
            it->upper[0] = it->upper[1] = it->upper[2] = -INFINITY;
        }
    }
    h->work.splitPrimitives += s->count;
}

// Of what has no box the sum is no number, which lies above no plane.
static void DealOut(Split* s)
{
    memset(s->counts, 0, sizeof s->counts);
    for (uint32_t i = 0; i < s->count; ++i)
    {
        knSplitItem* it = &s->hierarchy->splitItems[i];
        uint32_t octant = 0;
        for (int axis = 0; axis < 3; ++axis)
        {
            float middle = 0.5f * it->lower[axis] + 0.5f * it->upper[axis];
            octant |= (uint32_t)(middle > s->planes[axis]) << axis;
        }
        it->octant = octant;
        s->counts[octant] += 1;
    }
}

// The eighth with more than its share, or -1.
static int FindCrowded(const Split* s)
{
    int most = 0;
    for (int i = 1; i < 8; ++i)
    {
        most = s->counts[i] > s->counts[most] ? i : most;
    }
    float limit = s->hierarchy->def.crowdedShare * (float)s->count;
    return (float)s->counts[most] > limit ? most : -1;
}

static void MovePlanes(Split* s, const knBvhNode* box, int crowded)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        float far = crowded >> axis & 1 ? box->upper[axis] : box->lower[axis];
        s->planes[axis] = 0.5f * s->planes[axis] + 0.5f * far;
    }
}

static void DealByMedian(Split* s)
{
    knHierarchy* h = s->hierarchy;
    for (uint32_t i = 0; i < s->count; ++i)
    {
        const knSplitItem* it = &h->splitItems[i];
        for (int axis = 0; axis < 3; ++axis)
        {
            float middle = 0.5f * it->lower[axis] + 0.5f * it->upper[axis];
            h->items[i].center[axis] = middle == middle ? middle : 0.0f;
        }
        h->items[i].triangle = i;
    }
    uint32_t half = s->count / 2;
    knSelectItems(h->items, 0, s->count, half, knLongestAxis(h->items, 0, s->count));
    for (uint32_t i = 0; i < s->count; ++i)
    {
        h->splitItems[h->items[i].triangle].octant = i >= half;
    }
    memset(s->counts, 0, sizeof s->counts);
    s->counts[0] = half;
    s->counts[1] = s->count - half;
}

static void Partition(Split* s, const knBvhNode* box)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        s->planes[axis] = 0.5f * box->lower[axis] + 0.5f * box->upper[axis];
    }
    DealOut(s);
    int crowded = FindCrowded(s);
    if (crowded >= 0)
    {
        s->hierarchy->work.rescues += 1;
        MovePlanes(s, box, crowded);
        DealOut(s);
        if (FindCrowded(s) >= 0)
        {
            s->hierarchy->work.medianRescues += 1;
            DealByMedian(s);
        }
    }
}

static uint32_t MakeChildren(Split* s, uint32_t node)
{
    knHierarchy* h = s->hierarchy;
    uint32_t childCount = 0, first = s->first, childOf[8];
    for (int i = 0; i < 8; ++i)
    {
        childCount += s->counts[i] > 0;
    }
    uint32_t child = knAcquireLazy(h, childCount);
    for (int i = 0, next = 0; i < 8; ++i)
    {
        childOf[i] = child + (uint32_t)next;
        if (s->counts[i] > 0)
        {
            knBvhNode empty = {.lower = {INFINITY, INFINITY, INFINITY},
                               .upper = {-INFINITY, -INFINITY, -INFINITY}};
            h->lazy[childOf[i]] = (knLazyNode){.box = empty, .first = first};
            first += s->counts[i];
            next += 1;
        }
    }
    for (uint32_t i = 0; i < s->count; ++i)
    {
        const knSplitItem* it = &h->splitItems[i];
        knLazyNode* c = &h->lazy[childOf[it->octant]];
        s->body->primitives[c->first + c->count++] = it->triangle;
        knGrowBox(c->box.lower, c->box.upper, it->lower, it->upper);
    }
    h->lazy[node].box.child = child;
    h->lazy[node].box.count = childCount;
    return childCount;
}

knResult knSplitLazy(knHierarchy* h, const knHierarchyBody* body, uint32_t node)
{
    knResult result = knReserveLazy(h, 8);
    if (result != kn_success)
    {
        return result;
    }
    Split s = {
        .hierarchy = h, .body = body, .first = h->lazy[node].first, .count = h->lazy[node].count};
    knBvhNode box = h->lazy[node].box;
    FetchItems(&s);
    Partition(&s, &box);
    MakeChildren(&s, node);
    h->work.splits += 1;
    // one large triangle makes children overlap however they are split: not again next time
    bool isMended = knLazyRatio(h, node) >= (double)h->def.invalidRatio;
    if (!isMended && h->def.restFrames > 0)
    {
        h->lazy[node].restUntil = h->period + h->def.restFrames;
        h->work.rests += 1;
    }
    return kn_success;
}

static knResult SplitAll(knHierarchy* h, const knHierarchyBody* body, uint32_t node)
{
    knResult result = kn_success;
    if (!knIsLazyLeaf(h, &h->lazy[node]))
    {
        result = knSplitLazy(h, body, node);
        knBvhNode box = h->lazy[node].box;
        for (uint32_t i = box.child; result == kn_success && i < box.child + box.count; ++i)
        {
            result = SplitAll(h, body, i);
        }
    }
    const knBvhNode* b = &h->lazy[node].box;
    h->rigidBoxes[node].lower = knMakeVec3(b->lower[0], b->lower[1], b->lower[2]);
    h->rigidBoxes[node].upper = knMakeVec3(b->upper[0], b->upper[1], b->upper[2]);
    h->lazy[node].restUntil = 0;
    return result;
}

knResult knSplitRigid(knHierarchy* h, const knHierarchyBody* body)
{
    knResult result = knReserveLazy(h, 8);
    uint32_t broken = h->brokenCount;
    if (result == kn_success && body->root != KN_NONE)
    {
        knFitLazy(h, body, body->root);
        result = SplitAll(h, body, body->root);
    }
    h->brokenCount = broken;
    return result;
}
