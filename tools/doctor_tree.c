// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

#define LEAF_SIZE  4
#define CURVE_BITS 11  // per axis; three passes of the radix sort
#define STACK_SIZE 256 // a tree of 2^26 items needs 3 * 25 + 1

typedef struct CurveKey
{
    uint64_t key;
    uint32_t item;
} CurveKey;

static uint64_t SpreadBits(uint32_t x)
{
    uint64_t v = x;
    v = (v | v << 16) & 0x0000FF0000FFu;
    v = (v | v << 8) & 0x00F00F00F00Fu;
    v = (v | v << 4) & 0x0C30C30C30C3u;
    v = (v | v << 2) & 0x249249249249u;
    return v;
}

static uint32_t Cell(double value, double lower, double size)
{
    double cell = size > 0.0 ? (value - lower) / size * (double)(1u << CURVE_BITS) : 0.0;
    double last = (double)((1u << CURVE_BITS) - 1);
    return (uint32_t)(cell < last ? cell : last);
}

static uint64_t CurveCode(knBox box, knBox bounds)
{
    uint32_t x = Cell(0.5 * ((double)box.lower.x + (double)box.upper.x), (double)bounds.lower.x,
                      (double)bounds.upper.x - (double)bounds.lower.x);
    uint32_t y = Cell(0.5 * ((double)box.lower.y + (double)box.upper.y), (double)bounds.lower.y,
                      (double)bounds.upper.y - (double)bounds.lower.y);
    uint32_t z = Cell(0.5 * ((double)box.lower.z + (double)box.upper.z), (double)bounds.lower.z,
                      (double)bounds.upper.z - (double)bounds.lower.z);
    return SpreadBits(x) | SpreadBits(y) << 1 | SpreadBits(z) << 2;
}

static void SortPass(const CurveKey* from, CurveKey* to, size_t count, unsigned shift)
{
    size_t starts[(1u << CURVE_BITS) + 1] = {0};
    const uint64_t mask = (1u << CURVE_BITS) - 1;
    for (size_t i = 0; i < count; ++i)
    {
        starts[(from[i].key >> shift & mask) + 1] += 1;
    }
    for (size_t i = 1; i <= mask; ++i)
    {
        starts[i] += starts[i - 1];
    }
    for (size_t i = 0; i < count; ++i)
    {
        to[starts[from[i].key >> shift & mask]++] = from[i];
    }
}

static void SortAlongCurve(knBoxTree* tree, CurveKey* keys, CurveKey* other)
{
    knBox bounds = knEmptyBox();
    for (size_t i = 0; i < tree->itemCount; ++i)
    {
        bounds = knBox_Union(bounds, tree->boxes[i]);
    }
    for (size_t i = 0; i < tree->itemCount; ++i)
    {
        keys[i] = (CurveKey){CurveCode(tree->boxes[i], bounds), (uint32_t)i};
    }
    SortPass(keys, other, tree->itemCount, 0);
    SortPass(other, keys, tree->itemCount, CURVE_BITS);
    SortPass(keys, other, tree->itemCount, 2 * CURVE_BITS);
    for (size_t i = 0; i < tree->itemCount; ++i)
    {
        tree->items[i] = other[i].item;
    }
}

static void FillNodes(knBoxTree* tree)
{
    for (size_t leaf = 0; leaf < tree->leafCount; ++leaf)
    {
        knBox box = knEmptyBox();
        for (size_t i = LEAF_SIZE * leaf; i < LEAF_SIZE * (leaf + 1) && i < tree->itemCount; ++i)
        {
            box = knBox_Union(box, tree->boxes[tree->items[i]]);
        }
        tree->nodes[tree->leafCount + leaf] = box;
    }
    for (size_t node = tree->leafCount; node-- > 1;)
    {
        tree->nodes[node] = knBox_Union(tree->nodes[2 * node], tree->nodes[2 * node + 1]);
    }
}

knResult knBuildBoxTree(knBoxTree* tree, const knBox* boxes, size_t count,
                        const knAllocator* allocator)
{
    knBoxTree built = {.allocator = *allocator, .boxes = boxes, .itemCount = count, .leafCount = 1};
    while (built.leafCount * LEAF_SIZE < count)
    {
        built.leafCount *= 2;
    }
    built.items = knTake(allocator, count, sizeof(uint32_t));
    built.nodes = knTake(allocator, 2 * built.leafCount, sizeof(knBox));
    CurveKey* keys = knTake(allocator, count, sizeof(CurveKey));
    CurveKey* other = knTake(allocator, count, sizeof(CurveKey));
    bool ok = built.items && built.nodes && keys && other;
    if (ok)
    {
        SortAlongCurve(&built, keys, other);
        FillNodes(&built);
        *tree = built;
    }
    else
    {
        knDestroyBoxTree(&built);
    }
    knGive(allocator, keys, count, sizeof(CurveKey));
    knGive(allocator, other, count, sizeof(CurveKey));
    return ok ? kn_success : kn_errorMemory;
}

void knDestroyBoxTree(knBoxTree* tree)
{
    knGive(&tree->allocator, tree->items, tree->itemCount, sizeof(uint32_t));
    knGive(&tree->allocator, tree->nodes, 2 * tree->leafCount, sizeof(knBox));
    *tree = (knBoxTree){0};
}

// the items of a leaf are [LEAF_SIZE (node - leafCount), ...)
static size_t FirstItem(const knBoxTree* tree, uint32_t node)
{
    return LEAF_SIZE * (node - tree->leafCount);
}

static size_t EndItem(const knBoxTree* tree, uint32_t node)
{
    size_t end = FirstItem(tree, node) + LEAF_SIZE;
    return end < tree->itemCount ? end : tree->itemCount;
}

static bool VisitLeaf(const knBoxTree* tree, uint32_t node, knBox box, knBoxHitFcn* hit,
                      void* context)
{
    for (size_t i = FirstItem(tree, node); i < EndItem(tree, node); ++i)
    {
        uint32_t item = tree->items[i];
        if (knBox_Overlaps(tree->boxes[item], box) && !hit(item, context))
        {
            return false;
        }
    }
    return true;
}

void knBoxTree_Query(const knBoxTree* tree, knBox box, knBoxHitFcn* hit, void* context)
{
    uint32_t stack[STACK_SIZE];
    int top = 0;
    stack[top++] = 1;
    while (top > 0)
    {
        uint32_t node = stack[--top];
        if (!knBox_Overlaps(tree->nodes[node], box))
        {
            continue;
        }
        if (node < tree->leafCount)
        {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node;
        }
        else if (!VisitLeaf(tree, node, box, hit, context))
        {
            return;
        }
    }
}

// Does the segment come near the box? Separating axes of the box only: it may say yes too often.
static bool SegmentNearBox(const knVec3 ends[2], float margin, knBox box)
{
    const float o[3] = {ends[0].x, ends[0].y, ends[0].z};
    const float e[3] = {ends[1].x, ends[1].y, ends[1].z};
    const float low[3] = {box.lower.x - margin, box.lower.y - margin, box.lower.z - margin};
    const float high[3] = {box.upper.x + margin, box.upper.y + margin, box.upper.z + margin};
    double enter = 0.0, leave = 1.0;
    for (int k = 0; k < 3; ++k)
    {
        double d = (double)e[k] - (double)o[k];
        if (d == 0.0)
        {
            if (o[k] < low[k] || o[k] > high[k])
            {
                return false;
            }
            continue;
        }
        double s = ((double)low[k] - (double)o[k]) / d, t = ((double)high[k] - (double)o[k]) / d;
        enter = fmax(enter, fmin(s, t));
        leave = fmin(leave, fmax(s, t));
    }
    return enter <= leave;
}

void knBoxTree_QuerySegment(const knBoxTree* tree, const knVec3 ends[2], float margin,
                            knBoxHitFcn* hit, void* context)
{
    knBox everything = {{-FLT_MAX, -FLT_MAX, -FLT_MAX}, {FLT_MAX, FLT_MAX, FLT_MAX}};
    uint32_t stack[STACK_SIZE];
    int top = 0;
    stack[top++] = 1;
    while (top > 0)
    {
        uint32_t node = stack[--top];
        knBox box = tree->nodes[node];
        if (box.lower.x > box.upper.x || !SegmentNearBox(ends, margin, box))
        {
            continue;
        }
        if (node < tree->leafCount)
        {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node;
        }
        else if (!VisitLeaf(tree, node, everything, hit, context))
        {
            return;
        }
    }
}

static bool VisitLeafPair(const knBoxTree* tree, uint32_t a, uint32_t b, knBoxPairFcn* pair,
                          void* context)
{
    for (size_t i = FirstItem(tree, a); i < EndItem(tree, a); ++i)
    {
        for (size_t k = a == b ? i + 1 : FirstItem(tree, b); k < EndItem(tree, b); ++k)
        {
            uint32_t s = tree->items[i], t = tree->items[k];
            if (knBox_Overlaps(tree->boxes[s], tree->boxes[t]) && !pair(s, t, context))
            {
                return false;
            }
        }
    }
    return true;
}

typedef struct NodePair
{
    uint32_t a, b;
} NodePair;

void knBoxTree_SelfPairs(const knBoxTree* tree, knBoxPairFcn* pair, void* context)
{
    NodePair stack[STACK_SIZE];
    int top = 0;
    stack[top++] = (NodePair){1, 1};
    while (top > 0)
    {
        NodePair p = stack[--top];
        if (p.a != p.b && !knBox_Overlaps(tree->nodes[p.a], tree->nodes[p.b]))
        {
            continue;
        }
        // both nodes of a pair are always on one level
        if (p.a >= tree->leafCount)
        {
            if (!VisitLeafPair(tree, p.a, p.b, pair, context))
            {
                return;
            }
            continue;
        }
        stack[top++] = (NodePair){2 * p.a + 1, 2 * p.b + 1};
        stack[top++] = (NodePair){2 * p.a, 2 * p.b + 1};
        if (p.a != p.b)
        {
            stack[top++] = (NodePair){2 * p.a + 1, 2 * p.b};
        }
        stack[top++] = (NodePair){2 * p.a, 2 * p.b};
    }
}
