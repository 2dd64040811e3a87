// SPDX-License-Identifier: Zlib
#include "bench/tree_rivals.h"

#define LEAF_SIZE 8 // triangles that are not split any more

typedef struct Item
{
    float lower[3];
    uint32_t triangle;
    float upper[3];
    uint32_t body;
} Item;

typedef struct Cell
{
    float lower[3], upper[3];
} Cell;

struct Octree
{
    Item* items;     // of the frame, in overlap regions
    uint32_t* lists; // items of the cells on the way down, one behind the other
    size_t itemCapacity, listCapacity;
    knPairBatch batch;
    int maxDepth;
    bool hasMemory;
};

Octree* MakeOctree(void)
{
    return calloc(1, sizeof(Octree));
}

void FreeOctree(Octree* t)
{
    if (t)
    {
        free(t->items);
        free(t->lists);
        free(t);
    }
}

static bool GrowArray(void** items, size_t* capacity, size_t needed, size_t size)
{
    if (needed > *capacity)
    {
        void* grown = realloc(*items, 2 * needed * size);
        if (!grown)
        {
            return false;
        }
        *items = grown;
        *capacity = 2 * needed;
    }
    return true;
}

static void SetCell(Cell* c, bool isEmpty)
{
    for (int axis = 0; axis < 3 && isEmpty; ++axis)
    {
        c->lower[axis] = INFINITY;
        c->upper[axis] = -INFINITY;
    }
}

static bool Touches(const Item* it, const Cell* c)
{
    bool touches = true;
    for (int axis = 0; axis < 3; ++axis)
    {
        touches = touches && it->lower[axis] <= c->upper[axis] && c->lower[axis] <= it->upper[axis];
    }
    return touches;
}

// The corner where the boxes of two begin to overlap is in one cell only, which reports the pair.
static bool IsHome(const Item* a, const Item* b, const Cell* c)
{
    bool isHome = true;
    for (int axis = 0; axis < 3; ++axis)
    {
        float corner = a->lower[axis] > b->lower[axis] ? a->lower[axis] : b->lower[axis];
        isHome = isHome && c->lower[axis] <= corner && corner < c->upper[axis];
    }
    return isHome;
}

static void MeetInCell(Octree* t, const Cell* c, const uint32_t* list, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        const Item* a = &t->items[list[i]];
        for (uint32_t k = i + 1; k < count; ++k)
        {
            const Item* b = &t->items[list[k]];
            if (a->body != b->body && knBoxesOverlap(a->lower, a->upper, b->lower, b->upper) &&
                IsHome(a, b, c))
            {
                knPairBatch_Add(&t->batch, a->triangle, b->triangle);
            }
        }
    }
}

static bool HasTwoBodies(const Octree* t, const uint32_t* list, uint32_t count)
{
    bool hasTwo = false;
    for (uint32_t i = 1; i < count && !hasTwo; ++i)
    {
        hasTwo = t->items[list[i]].body != t->items[list[0]].body;
    }
    return hasTwo;
}

static void MeetBelow(Octree* t, const Cell* cell, size_t first, uint32_t count, int depth)
{
    if (!HasTwoBodies(t, t->lists + first, count))
    {
        return;
    }
    if (count <= LEAF_SIZE || depth == t->maxDepth)
    {
        MeetInCell(t, cell, t->lists + first, count);
        return;
    }
    for (int octant = 0; octant < 8 && t->hasMemory; ++octant)
    {
        Cell c;
        for (int axis = 0; axis < 3; ++axis)
        {
            float middle = 0.5f * cell->lower[axis] + 0.5f * cell->upper[axis];
            c.lower[axis] = octant >> axis & 1 ? middle : cell->lower[axis];
            c.upper[axis] = octant >> axis & 1 ? cell->upper[axis] : middle;
        }
        size_t begin = first + count, end = begin;
        t->hasMemory =
            GrowArray((void**)&t->lists, &t->listCapacity, begin + count, sizeof *t->lists);
        for (size_t i = first; i < begin && t->hasMemory; ++i)
        {
            t->lists[end] = t->lists[i];
            end += Touches(&t->items[t->lists[i]], &c);
        }
        MeetBelow(t, &c, begin, (uint32_t)(end - begin), depth + 1);
    }
}

static void AddToCell(Cell* c, const float lower[3], const float upper[3])
{
    for (int axis = 0; axis < 3; ++axis)
    {
        c->lower[axis] = fminf(c->lower[axis], lower[axis]);
        c->upper[axis] = fmaxf(c->upper[axis], upper[axis]);
    }
}

// Per body, the region that it shares with others; returns the root.
static Cell FindRegions(const Item* items, uint32_t count, Cell* bodies, Cell* regions, uint32_t n)
{
    Cell root;
    SetCell(&root, true);
    for (uint32_t i = 0; i < n; ++i)
    {
        SetCell(&bodies[i], true);
        SetCell(&regions[i], true);
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        AddToCell(&bodies[items[i].body], items[i].lower, items[i].upper);
    }
    for (uint32_t i = 0; i < n * n; ++i)
    {
        const Cell *a = &bodies[i / n], *b = &bodies[i % n];
        Cell common;
        bool overlap = i / n != i % n;
        for (int axis = 0; axis < 3; ++axis)
        {
            common.lower[axis] = fmaxf(a->lower[axis], b->lower[axis]);
            common.upper[axis] = fminf(a->upper[axis], b->upper[axis]);
            overlap = overlap && common.lower[axis] <= common.upper[axis];
        }
        if (overlap)
        {
            AddToCell(&regions[i / n], common.lower, common.upper);
            AddToCell(&root, common.lower, common.upper);
        }
    }
    return root;
}

bool MeetByOctree(Octree* t, const knHierarchy* g, int maxDepth, knPairSink* sink)
{
    Cell bodies[64], regions[64];
    uint32_t bodyCount = 0, count = 0;
    if (!GrowArray((void**)&t->items, &t->itemCapacity, g->triangleSlots, sizeof *t->items) ||
        !GrowArray((void**)&t->lists, &t->listCapacity, g->triangleSlots, sizeof *t->lists))
    {
        return false;
    }
    for (uint32_t i = 0; i < g->triangleSlots; ++i)
    {
        Item* it = &t->items[i];
        knFindTriangleBox(g->positions, g->triangles[i].v, it->lower, it->upper);
        it->triangle = i;
        it->body = g->triangles[i].body - 1;
        bodyCount = it->body + 1 > bodyCount ? it->body + 1 : bodyCount;
    }
    Cell root = FindRegions(t->items, g->triangleSlots, bodies, regions, bodyCount);
    for (uint32_t i = 0; i < g->triangleSlots; ++i)
    {
        t->lists[count] = i;
        count += Touches(&t->items[i], &regions[t->items[i].body]);
    }
    for (int axis = 0; axis < 3; ++axis)
    {
        root.upper[axis] = nextafterf(root.upper[axis], INFINITY); // cells are half open
    }
    t->batch = (knPairBatch){.hierarchy = g, .sink = sink, .limit = KN_LANES};
    t->maxDepth = maxDepth;
    t->hasMemory = true;
    MeetBelow(t, &root, 0, count, 0);
    knPairBatch_Flush(&t->batch);
    return t->hasMemory;
}
