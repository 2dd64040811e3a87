// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// All builds split a range of items in place, from the top. Near the leaves they take medians at
// multiples of eight, so that blocks are well filled whatever the method above.

#define MEDIAN_LIMIT 64   // a range this small is split by medians
#define MIN_SIDE     32   // a split by space must leave this many on each side
#define ROUND_LIMIT  8192 // larger ranges are split anywhere, and then
#define LARGE_SIDE   2048 // must leave this many on each side

typedef struct Range
{
    uint32_t node;
    uint32_t begin, end;
    uint32_t depth;
} Range;

typedef struct Bounds
{
    float lower[3], upper[3];
} Bounds;

size_t knLeafBound(const knBvhScene* scene, size_t triangleCount)
{
    // the grid: a range of n >= MIN_SIDE makes ceil(n / 8) leaves, n / 8 + 7 / 8 <= n * 39 / 256;
    // else the same for n >= LARGE_SIDE, and below that splits leave no gaps
    bool isGrid = scene->def.build == kn_bvhBuildGrid;
    size_t gaps = isGrid ? triangleCount * 7 / 256 + 4 : triangleCount / LARGE_SIDE + 1;
    return triangleCount / KN_LANES + 1 + gaps;
}

knResult knReserveItems(knBvhScene* scene, size_t count)
{
    // the grid sorts into a second half
    size_t halves = scene->def.build == kn_bvhBuildGrid ? 2 : 1;
    knResult result = knGrow(&scene->allocator, (void**)&scene->items, &scene->itemCapacity,
                             halves * count, sizeof *scene->items);
    return result == kn_success ? knGrow(&scene->allocator, (void**)&scene->sources,
                                         &scene->sourceCapacity, count, sizeof *scene->sources)
                                : result;
}

void knSetItem(knBvhScene* scene, uint32_t item, const knBuildSource* source)
{
    knBuildItem* it = &scene->items[item];
    const uint32_t* v = source->v;
    knVec3 a = scene->positions[v[0]], b = scene->positions[v[1]], c = scene->positions[v[2]];
    knVec3 lower = knMin(knMin(a, b), c), upper = knMax(knMax(a, b), c);
    // halves first: the sum of two large floats is none
    knVec3 center = knAdd(knScale(0.5f, lower), knScale(0.5f, upper));
    if (!knIsFinite(center))
    {
        center = knMakeVec3(0.0f, 0.0f, 0.0f);
    }
    it->center[0] = center.x;
    it->center[1] = center.y;
    it->center[2] = center.z;
    it->triangle = item;
    scene->sources[item] = *source;
}

static Bounds FindBounds(const knBuildItem* items, uint32_t begin, uint32_t end)
{
    Bounds b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
#if defined(__SSE2__)
    // the fourth lane is a number and not looked at
    __m128 lower = _mm_set1_ps(INFINITY), upper = _mm_set1_ps(-INFINITY);
    for (uint32_t i = begin; i < end; ++i)
    {
        __m128 center = _mm_loadu_ps(items[i].center);
        lower = _mm_min_ps(lower, center);
        upper = _mm_max_ps(upper, center);
    }
    float low[4], high[4];
    _mm_storeu_ps(low, lower);
    _mm_storeu_ps(high, upper);
    memcpy(b.lower, low, sizeof b.lower);
    memcpy(b.upper, high, sizeof b.upper);
#else
    for (uint32_t i = begin; i < end; ++i)
    {
        for (int axis = 0; axis < 3; ++axis)
        {
            float c = items[i].center[axis];
            b.lower[axis] = c < b.lower[axis] ? c : b.lower[axis];
            b.upper[axis] = c > b.upper[axis] ? c : b.upper[axis];
        }
    }
#endif
    return b;
}

static int FindLongest(const Bounds* b)
{
    float x = b->upper[0] - b->lower[0], y = b->upper[1] - b->lower[1];
    float z = b->upper[2] - b->lower[2];
    return x >= y && x >= z ? 0 : (y >= z ? 1 : 2);
}

int knLongestAxis(const knBuildItem* items, uint32_t begin, uint32_t end)
{
    Bounds b = FindBounds(items, begin, end);
    return FindLongest(&b);
}

static void SwapItems(knBuildItem* a, knBuildItem* b)
{
    knBuildItem t = *a;
    *a = *b;
    *b = t;
}

// By coordinate, then by source: no two are equal. Without a branch, which would be guessed wrong.
static bool IsBefore(const knBuildItem* a, const knBuildItem* b, int axis)
{
    return (a->center[axis] < b->center[axis]) |
           ((a->center[axis] == b->center[axis]) & (a->triangle < b->triangle));
}

static uint32_t FindMedianOfThree(const knBuildItem* items, uint32_t begin, uint32_t end, int axis)
{
    uint32_t a = begin, b = begin + (end - begin) / 2, c = end - 1;
    if (IsBefore(&items[b], &items[a], axis))
    {
        uint32_t t = a;
        a = b;
        b = t;
    }
    return IsBefore(&items[c], &items[a], axis) ? a : IsBefore(&items[c], &items[b], axis) ? c : b;
}

// The smallest `middle - begin` items come to the front.
void knSelectItems(knBuildItem* items, uint32_t begin, uint32_t end, uint32_t middle, int axis)
{
    while (end - begin > 1)
    {
        uint32_t at = FindMedianOfThree(items, begin, end, axis), last = end - 1, k = begin;
        SwapItems(&items[at], &items[last]);
        knBuildItem pivot = items[last];
        for (uint32_t i = begin; i < last; ++i)
        {
            knBuildItem t = items[i];
            items[i] = items[k];
            items[k] = t;
            k += IsBefore(&t, &pivot, axis);
        }
        SwapItems(&items[k], &items[last]);
        // items[k] is the pivot: what is before it stands before, what is behind it behind
        if (k == middle)
        {
            return;
        }
        begin = k < middle ? k + 1 : begin;
        end = k < middle ? end : k;
    }
}

static uint32_t SplitMedian(knBvhScene* scene, const Range* r, const Bounds* bounds)
{
    uint32_t count = r->end - r->begin;
    // two leaves share evenly; more are filled to multiples of eight
    uint32_t half =
        count <= 2 * KN_LANES ? count / 2 : (count + KN_LANES - 1) / KN_LANES / 2 * KN_LANES;
    int axis = FindLongest(bounds);
    if (scene->randomness && count > 2 * KN_LANES)
    {
        uint32_t leaves = (count + KN_LANES - 1) / KN_LANES;
        axis = (int)knRandom_Below(scene->randomness, 3);
        half = (leaves / 4 + knRandom_Below(scene->randomness, leaves / 2 + 1)) * KN_LANES;
        half = half == 0 ? KN_LANES : (half >= count ? (leaves - 1) * KN_LANES : half);
    }
    uint32_t middle = r->begin + half;
    knSelectItems(scene->items, r->begin, r->end, middle, axis);
    return middle;
}

static float Along(const knBuildItem* item, int axis, float sign)
{
    return sign * item->center[axis];
}

// Brings those of a range that are furthest along the axis to [begin, end), a few at its edge.
static void BringFurthest(knBuildItem* items, const Range* r, uint32_t begin, uint32_t end,
                          int axis)
{
    float sign = end == r->end ? 1.0f : -1.0f;
    uint32_t nearest = begin;
    for (uint32_t i = r->begin; i < r->end; ++i)
    {
        bool isInside = i >= begin && i < end;
        if (!isInside && Along(&items[i], axis, sign) > Along(&items[nearest], axis, sign))
        {
            SwapItems(&items[i], &items[nearest]);
        }
        else if (!isInside || i + 1 != end)
        {
            continue;
        }
        for (uint32_t k = begin; k < end; ++k)
        {
            bool isNearer = Along(&items[k], axis, sign) < Along(&items[nearest], axis, sign);
            nearest = isNearer ? k : nearest;
        }
    }
}

// The split moves to the next multiple of eight, so that blocks are full.
static uint32_t RoundSplit(knBuildItem* items, const Range* r, uint32_t split, int axis)
{
    uint32_t over = (split - r->begin) % KN_LANES;
    Range side = *r;
    if (over == 0)
    {
        return split;
    }
    if (over <= KN_LANES / 2)
    {
        side.end = split;
        BringFurthest(items, &side, split - over, split, axis);
        return split - over;
    }
    uint32_t rounded = split + KN_LANES - over;
    side.begin = split;
    BringFurthest(items, &side, split, rounded, axis);
    return rounded;
}

// Halves of space; KN_NONE when they are too uneven.
static uint32_t SplitMidpoint(knBvhScene* scene, const Range* r, const Bounds* bounds)
{
    int axis = FindLongest(bounds);
    float middle = 0.5f * bounds->lower[axis] + 0.5f * bounds->upper[axis];
    knBuildItem* items = scene->items;
    uint32_t split = r->begin;
    for (uint32_t i = r->begin; i < r->end; ++i)
    {
        knBuildItem t = items[i];
        items[i] = items[split];
        items[split] = t;
        split += t.center[axis] < middle;
    }
    bool isLarge = r->end - r->begin > ROUND_LIMIT;
    uint32_t least = isLarge ? LARGE_SIDE : MIN_SIDE;
    if (split - r->begin < least || r->end - split < least)
    {
        return KN_NONE;
    }
    return isLarge ? split : RoundSplit(items, r, split, axis);
}

static void MakeLeaf(knBvhScene* scene, const Range* r)
{
    uint32_t block = knAcquireBlock(scene, r->node);
    for (uint32_t i = r->begin; i < r->end; ++i)
    {
        knSetLane(scene, block, i - r->begin, &scene->sources[scene->items[i].triangle]);
    }
    for (uint32_t lane = r->end - r->begin; lane < KN_LANES; ++lane)
    {
        knClearLane(scene, block, lane);
    }
    knInvalidate(scene, r->node);
    scene->nodes[r->node].child = block;
    scene->nodes[r->node].count = r->end - r->begin;
}

// The cells of a grid over the centres, 2^bits along each axis. A cell's number interleaves the
// bits of its coordinates, so that halving the numbers again and again is the balanced tree above
// the grid.
static uint32_t FindCell(const knBuildItem* item, const Bounds* b, const float scale[3], int bits)
{
    uint32_t cell = 0, most = (1u << bits) - 1;
    for (int axis = 0; axis < 3; ++axis)
    {
        float x = (item->center[axis] - b->lower[axis]) * scale[axis];
        uint32_t c = x > 0.0f ? (uint32_t)(x < 3.0f ? x : 3.0f) : 0;
        c = c < most ? c : most;
        for (int bit = 0; bit < bits; ++bit)
        {
            cell |= (c >> bit & 1u) << (3 * bit + 2 - axis);
        }
    }
    return cell;
}

#define MAX_GRID_BITS 2
#define MAX_CELLS     (1 << (3 * MAX_GRID_BITS))

// A way down of MAX_DEPTH nodes passes MAX_DEPTH / (3 k) grids of 8^k parts each, or MAX_DEPTH
// halves: 704 at most, and medians behind them.
#define MAX_DEPTH  64
#define MAX_RANGES 1024

// Orders the items of the range by cell, one pass to count and one to place; starts[i] is the first
// item of cell i.
static void SortByCell(knBvhScene* scene, const Range* r, const Bounds* b, uint32_t* starts)
{
    int bits = scene->def.gridBits;
    uint32_t cells = 1u << (3 * bits);
    float scale[3];
    for (int axis = 0; axis < 3; ++axis)
    {
        float extent = b->upper[axis] - b->lower[axis];
        scale[axis] = extent > 0.0f ? (float)(1 << bits) / extent : 0.0f;
    }
    memset(starts, 0, (cells + 1) * sizeof *starts);
    knBuildItem *items = scene->items, *sorted = scene->items + scene->itemCapacity / 2;
    for (uint32_t i = r->begin; i < r->end; ++i)
    {
        starts[FindCell(&items[i], b, scale, bits) + 1] += 1;
    }
    starts[0] = r->begin;
    for (uint32_t i = 0; i < cells; ++i)
    {
        starts[i + 1] += starts[i];
    }
    for (uint32_t i = r->begin; i < r->end; ++i)
    {
        sorted[starts[FindCell(&items[i], b, scale, bits)]++] = items[i];
    }
    memmove(starts + 1, starts, cells * sizeof *starts);
    starts[0] = r->begin;
    memcpy(items + r->begin, sorted + r->begin, (r->end - r->begin) * sizeof *items);
}

typedef struct Stack
{
    Range ranges[MAX_RANGES];
    uint32_t count;
} Stack;

// Both halves become children of the node, to be split further.
static void PushHalves(knBvhScene* scene, Stack* stack, const Range* r, uint32_t middle)
{
    uint32_t pair = knAcquireChildren(scene, r->node);
    stack->ranges[stack->count++] = (Range){pair + 1, middle, r->end, r->depth + 1};
    stack->ranges[stack->count++] = (Range){pair, r->begin, middle, r->depth + 1};
}

// One step of the grid: the balanced tree over its cells, an empty or tiny side left out. Parts
// that reach a single cell, or whose halves are too uneven, are pushed.
static void SplitGrid(knBvhScene* scene, Stack* stack, const Range* top, const uint32_t* starts)
{
    struct
    {
        Range range;
        uint32_t firstCell, cellCount;
    } parts[3 * MAX_GRID_BITS + 2];
    uint32_t count = 0;
    parts[count].range = *top;
    parts[count].firstCell = 0;
    parts[count++].cellCount = 1u << (3 * scene->def.gridBits);
    while (count > 0)
    {
        Range r = parts[--count].range;
        uint32_t first = parts[count].firstCell, half = parts[count].cellCount / 2;
        uint32_t middle = r.begin;
        while (half > 0 && (middle = starts[first + half], middle == r.begin || middle == r.end))
        {
            first += middle == r.begin ? half : 0;
            half /= 2;
        }
        bool isLarge = r.end - r.begin >= (uint32_t)scene->def.gridLimit;
        if (half == 0 || !isLarge || middle - r.begin < MIN_SIDE || r.end - middle < MIN_SIDE)
        {
            if (r.node == top->node)
            {
                // nothing gained from the grid here: a median moves on
                Bounds b = FindBounds(scene->items, r.begin, r.end);
                PushHalves(scene, stack, &r, SplitMedian(scene, &r, &b));
                return;
            }
            stack->ranges[stack->count++] = r;
            continue;
        }
        uint32_t pair = knAcquireChildren(scene, r.node);
        parts[count].range = (Range){pair + 1, middle, r.end, r.depth + 1};
        parts[count].firstCell = first + half;
        parts[count++].cellCount = half;
        parts[count].range = (Range){pair, r.begin, middle, r.depth + 1};
        parts[count].firstCell = first;
        parts[count++].cellCount = half;
    }
}

static void SplitRange(knBvhScene* scene, Stack* stack, const Range* r, uint32_t* cellStarts)
{
    uint32_t count = r->end - r->begin;
    Bounds bounds = FindBounds(scene->items, r->begin, r->end);
    uint32_t middle = KN_NONE;
    bool isDeep = r->depth >= MAX_DEPTH;
    if (scene->def.build == kn_bvhBuildGrid && count >= (uint32_t)scene->def.gridLimit && !isDeep)
    {
        SortByCell(scene, r, &bounds, cellStarts);
        SplitGrid(scene, stack, r, cellStarts);
        return;
    }
    if (scene->def.build == kn_bvhBuildMidpoint && count > MEDIAN_LIMIT && !isDeep)
    {
        middle = SplitMidpoint(scene, r, &bounds);
    }
    if (middle == KN_NONE)
    {
        middle = SplitMedian(scene, r, &bounds);
    }
    PushHalves(scene, stack, r, middle);
}

static void FitBelow(knBvhScene* scene, uint32_t top)
{
    uint32_t node = top;
    for (;;)
    {
        while (!knIsLeaf(&scene->nodes[node]))
        {
            node = scene->nodes[node].child;
        }
        knRefitNode(scene, node);
        while (node != top && (node & 1) != 0)
        {
            node = scene->cold[node].parent;
            knRefitNode(scene, node);
        }
        if (node == top)
        {
            return;
        }
        node += 1;
    }
}

void knBuildBelow(knBvhScene* scene, uint32_t node, uint32_t first, uint32_t count)
{
    uint32_t cellStarts[MAX_CELLS + 1];
    Stack stack;
    stack.count = 1;
    stack.ranges[0] = (Range){node, first, first + count, 0};
    while (stack.count > 0)
    {
        Range r = stack.ranges[--stack.count];
        if (r.end - r.begin <= KN_LANES)
        {
            MakeLeaf(scene, &r);
        }
        else
        {
            SplitRange(scene, &stack, &r, cellStarts);
        }
    }
    FitBelow(scene, node);
    knInvalidate(scene, node);
    knForgetHistory(scene, node);
}
