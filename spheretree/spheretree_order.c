// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

#include "knap/random.h"

// Maximum-distance ordering through a k-d tree that keeps, per node, the unchosen point furthest
// from the chosen ones. A new point changes only those that are closer to it than to any other, so
// boxes further away than their own maximum are left alone: about n log n updates in all. Bounds to
// boxes run the operations of knSphereDistance2 on smaller or larger operands, and rounding is
// monotonic: they bound the computed distances, not only the true ones, and ties come out exactly.

#define LEAF_SIZE 8

typedef struct Range
{
    uint32_t node;
    uint32_t begin, end; // slots
    uint32_t depth;
} Range;

static Range LeftOf(Range r)
{
    return (Range){2 * r.node + 1, r.begin, r.begin + (r.end - r.begin) / 2, r.depth + 1};
}

static Range RightOf(Range r)
{
    return (Range){2 * r.node + 2, r.begin + (r.end - r.begin) / 2, r.end, r.depth + 1};
}

static uint32_t DepthFor(uint32_t count)
{
    uint32_t depth = 0;
    for (uint32_t size = count; size > LEAF_SIZE; size = size - size / 2)
    {
        ++depth;
    }
    return depth;
}

size_t knSphereBuild_Layout(knSphereBuild* build, uint32_t count, void* block)
{
    size_t size = 0;
    uint32_t depth = DepthFor(count);
    *build = (knSphereBuild){.count = count, .depth = depth};
    build->order = knSphereCarve(block, &size, count, sizeof(uint32_t));
    build->parent = knSphereCarve(block, &size, count, sizeof(uint32_t));
    build->first = knSphereCarve(block, &size, count, sizeof(uint32_t));
    build->next = knSphereCarve(block, &size, count, sizeof(uint32_t));
    build->reach = knSphereCarve(block, &size, count, sizeof(float));
    build->nodes = knSphereCarve(block, &size, ((size_t)2 << depth) - 1, sizeof(knOrderNode));
    build->points = knSphereCarve(block, &size, count, sizeof(knVec3));
    build->ids = knSphereCarve(block, &size, count, sizeof(uint32_t));
    build->distance2 = knSphereCarve(block, &size, count, sizeof(double));
    build->closest = knSphereCarve(block, &size, count, sizeof(uint32_t));
    build->parentOf = knSphereCarve(block, &size, count, sizeof(uint32_t));
    return size;
}

static float Coordinate(knVec3 p, int axis)
{
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

// A total order, so that the tree does not depend on how equal coordinates are dealt out.
static bool Before(const knVec3* positions, int axis, uint32_t a, uint32_t b)
{
    float x = Coordinate(positions[a], axis);
    float y = Coordinate(positions[b], axis);
    return x < y || (x == y && a < b);
}

// Quickselect: the `middle` smallest of ids[begin, end) come first. Random pivots: no input is
// slow.
static void Select(uint32_t* ids, Range r, uint32_t middle, const knVec3* positions, int axis)
{
    knRandom random = knMakeRandom(r.node);
    uint32_t begin = r.begin;
    uint32_t end = r.end;
    while (end - begin > 1)
    {
        uint32_t pivot = ids[begin + knRandom_Below(&random, end - begin)];
        uint32_t i = begin;
        uint32_t j = end - 1;
        while (i <= j)
        {
            while (Before(positions, axis, ids[i], pivot))
            {
                ++i;
            }
            while (Before(positions, axis, pivot, ids[j]))
            {
                --j;
            }
            if (i <= j)
            {
                uint32_t swap = ids[i];
                ids[i++] = ids[j];
                ids[j] = swap;
                if (j == 0)
                {
                    break;
                }
                --j;
            }
        }
        // everything below i is at most the pivot, everything above j at least
        if (middle <= j)
        {
            end = j + 1;
        }
        else if (middle >= i)
        {
            begin = i;
        }
        else
        {
            return;
        }
    }
}

static int LongestAxis(knBox box)
{
    knVec3 e = knBox_Extent(box);
    return e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
}

static void BuildNodes(knSphereBuild* b, Range r, const knVec3* positions)
{
    knOrderNode* node = &b->nodes[r.node];
    node->box = knEmptyBox();
    node->lowestId = KN_NONE;
    for (uint32_t i = r.begin; i < r.end; ++i)
    {
        node->box = knBox_AddPoint(node->box, positions[b->ids[i]]);
        node->lowestId = b->ids[i] < node->lowestId ? b->ids[i] : node->lowestId;
    }
    if (r.depth < b->depth)
    {
        Select(b->ids, r, LeftOf(r).end, positions, LongestAxis(node->box));
        BuildNodes(b, LeftOf(r), positions);
        BuildNodes(b, RightOf(r), positions);
    }
}

// The furthest pair so far; a < b.
typedef struct Diameter
{
    double distance2;
    uint32_t a, b;
} Diameter;

static bool IsLowerPair(const Diameter* best, uint32_t p, uint32_t q)
{
    uint32_t a = p < q ? p : q;
    uint32_t b = p < q ? q : p;
    return a < best->a || (a == best->a && b < best->b);
}

static void OfferPair(Diameter* best, double distance2, uint32_t p, uint32_t q)
{
    if (distance2 > best->distance2 || (distance2 == best->distance2 && IsLowerPair(best, p, q)))
    {
        *best = (Diameter){distance2, p < q ? p : q, p < q ? q : p};
    }
}

static double FurthestAlong(float lowerA, float upperA, float lowerB, float upperB)
{
    double x = (double)upperA - (double)lowerB;
    double y = (double)upperB - (double)lowerA;
    return x > y ? x : y;
}

static double UpperBound(const knOrderNode* p, const knOrderNode* q)
{
    knBox a = p->box;
    knBox b = q->box;
    double x = FurthestAlong(a.lower.x, a.upper.x, b.lower.x, b.upper.x);
    double y = FurthestAlong(a.lower.y, a.upper.y, b.lower.y, b.upper.y);
    double z = FurthestAlong(a.lower.z, a.upper.z, b.lower.z, b.upper.z);
    return x * x + y * y + z * z;
}

// A pair of nodes can be left out when no pair of its points beats the best, by length or by ids.
static bool CanImprove(const knSphereBuild* b, const Diameter* best, Range p, Range q)
{
    if (p.begin == p.end || q.begin == q.end)
    {
        return false;
    }
    const knOrderNode* m = &b->nodes[p.node];
    const knOrderNode* n = &b->nodes[q.node];
    double bound = UpperBound(m, n);
    return bound > best->distance2 ||
           (bound == best->distance2 && IsLowerPair(best, m->lowestId, n->lowestId));
}

static void FurthestInLeaves(const knSphereBuild* b, Diameter* best, Range p, Range q)
{
    for (uint32_t i = p.begin; i < p.end; ++i)
    {
        for (uint32_t j = p.node == q.node ? i + 1 : q.begin; j < q.end; ++j)
        {
            OfferPair(best, knSphereDistance2(b->points[i], b->points[j]), b->ids[i], b->ids[j]);
        }
    }
}

static void FurthestBetween(const knSphereBuild* b, Diameter* best, Range p, Range q)
{
    if (!CanImprove(b, best, p, q))
    {
        return;
    }
    if (p.depth == b->depth && q.depth == b->depth)
    {
        FurthestInLeaves(b, best, p, q);
        return;
    }
    if (p.node == q.node)
    {
        FurthestBetween(b, best, LeftOf(p), RightOf(p));
        FurthestBetween(b, best, LeftOf(p), LeftOf(p));
        FurthestBetween(b, best, RightOf(p), RightOf(p));
        return;
    }
    // depths differ by at most one, so the shallower one can be split
    Range split = p.depth <= q.depth ? p : q;
    Range whole = p.depth <= q.depth ? q : p;
    Range left = LeftOf(split);
    Range right = RightOf(split);
    bool leftFirst = UpperBound(&b->nodes[left.node], &b->nodes[whole.node]) >=
                     UpperBound(&b->nodes[right.node], &b->nodes[whole.node]);
    FurthestBetween(b, best, leftFirst ? left : right, whole);
    FurthestBetween(b, best, leftFirst ? right : left, whole);
}

// Two sweeps give a pair that is nearly the furthest, so that the search below prunes at once.
static Diameter FindDiameter(const knSphereBuild* b, const knVec3* positions)
{
    Diameter best = {-1.0, KN_NONE, KN_NONE};
    uint32_t from = 0;
    for (int sweep = 0; sweep < 3; ++sweep)
    {
        Diameter longest = {-1.0, KN_NONE, KN_NONE};
        for (uint32_t i = 0; i < b->count; ++i)
        {
            if (i != from)
            {
                OfferPair(&longest, knSphereDistance2(positions[from], positions[i]), from, i);
            }
        }
        OfferPair(&best, longest.distance2, longest.a, longest.b);
        from = longest.a == from ? longest.b : longest.a;
    }
    Range all = {0, 0, b->count, 0};
    FurthestBetween(b, &best, all, all);
    return best;
}

static double DistanceAlong(float lower, float upper, float p)
{
    double below = (double)lower - (double)p;
    double above = (double)p - (double)upper;
    double outside = below > above ? below : above;
    return outside > 0.0 ? outside : 0.0;
}

static double LowerBound(knBox box, knVec3 p)
{
    double x = DistanceAlong(box.lower.x, box.upper.x, p.x);
    double y = DistanceAlong(box.lower.y, box.upper.y, p.y);
    double z = DistanceAlong(box.lower.z, box.upper.z, p.z);
    return x * x + y * y + z * z;
}

static void OfferSlot(const knSphereBuild* b, knOrderNode* node, double distance2, uint32_t slot)
{
    if (distance2 > node->best ||
        (distance2 == node->best && b->ids[slot] < b->ids[node->bestSlot]))
    {
        node->best = distance2;
        node->bestSlot = slot;
    }
}

// A chosen point as the tree sees it.
typedef struct Chosen
{
    knVec3 position;
    uint32_t slot;
    uint32_t rank;
} Chosen;

static void UpdateLeaf(knSphereBuild* b, Range r, const Chosen* chosen)
{
    knOrderNode* node = &b->nodes[r.node];
    node->best = -1.0;
    node->bestSlot = r.begin;
    for (uint32_t i = r.begin; i < r.end; ++i)
    {
        double distance2 = knSphereDistance2(b->points[i], chosen->position);
        if (distance2 < b->distance2[i])
        {
            b->distance2[i] = distance2;
            b->closest[i] = chosen->rank;
        }
        b->distance2[i] = i == chosen->slot ? -1.0 : b->distance2[i];
        OfferSlot(b, node, b->distance2[i], i);
    }
}

static void UpdateBelow(knSphereBuild* b, Range r, const Chosen* chosen)
{
    knOrderNode* node = &b->nodes[r.node];
    bool holds = chosen->slot >= r.begin && chosen->slot < r.end;
    if (r.begin == r.end || (!holds && LowerBound(node->box, chosen->position) >= node->best))
    {
        return;
    }
    if (r.depth == b->depth)
    {
        UpdateLeaf(b, r, chosen);
        return;
    }
    UpdateBelow(b, LeftOf(r), chosen);
    UpdateBelow(b, RightOf(r), chosen);
    const knOrderNode* left = &b->nodes[2 * r.node + 1];
    const knOrderNode* right = &b->nodes[2 * r.node + 2];
    node->best = left->best;
    node->bestSlot = left->bestSlot;
    OfferSlot(b, node, right->best, right->bestSlot);
}

static uint32_t SlotOf(const knSphereBuild* b, uint32_t id)
{
    uint32_t slot = 0;
    while (b->ids[slot] != id)
    {
        ++slot;
    }
    return slot;
}

// When a level is full its points are the parents of the next one's: remember who is closest now.
// Only a smaller distance replaces a predecessor, so ties have gone to the lowest rank.
static void Choose(knSphereBuild* b, uint32_t rank, uint32_t slot)
{
    Chosen chosen = {b->points[slot], slot, rank};
    b->order[rank] = b->ids[slot];
    b->parent[rank] = rank == 0 ? KN_NONE : b->parentOf[slot];
    UpdateBelow(b, (Range){0, 0, b->count, 0}, &chosen);
    uint32_t chosenCount = rank + 1;
    if ((chosenCount & (chosenCount - 1)) == 0)
    {
        for (uint32_t i = 0; i < b->count; ++i)
        {
            b->parentOf[i] = b->closest[i];
        }
    }
}

static void FillSlots(knSphereBuild* b, const knVec3* positions)
{
    for (uint32_t i = 0; i < b->count; ++i)
    {
        b->points[i] = positions[b->ids[i]];
        b->distance2[i] = (double)INFINITY;
        b->closest[i] = 0;
        b->parentOf[i] = 0;
    }
    for (uint32_t i = 0; i < ((uint32_t)2 << b->depth) - 1; ++i)
    {
        b->nodes[i].best = (double)INFINITY;
        b->nodes[i].bestSlot = 0;
    }
}

uint32_t knSphereBuild_BeginOrder(knSphereBuild* b, const knVec3* positions)
{
    for (uint32_t i = 0; i < b->count; ++i)
    {
        b->ids[i] = i;
    }
    BuildNodes(b, (Range){0, 0, b->count, 0}, positions);
    FillSlots(b, positions);
    if (b->count == 1)
    {
        Choose(b, 0, 0);
        return 1;
    }
    Diameter diameter = FindDiameter(b, positions);
    Choose(b, 0, SlotOf(b, diameter.a));
    Choose(b, 1, SlotOf(b, diameter.b));
    return 2;
}

void knSphereBuild_ContinueOrder(knSphereBuild* b, uint32_t rank, uint32_t end)
{
    for (; rank < end; ++rank)
    {
        Choose(b, rank, b->nodes[0].bestSlot);
    }
}

void knSphereBuild_Order(knSphereBuild* b, const knVec3* positions)
{
    knSphereBuild_ContinueOrder(b, knSphereBuild_BeginOrder(b, positions), b->count);
}

knResult knCheckSpherePositions(const knVec3* positions, uint32_t count)
{
    knBox box = knEmptyBox();
    for (uint32_t i = 0; i < count; ++i)
    {
        if (!knIsFinite(positions[i]))
        {
            return knFail(kn_errorArgument, "sphere tree: point %u is not finite", i);
        }
        box = knBox_AddPoint(box, positions[i]);
    }
    // a quarter of the range: the sum of a distance and a radius still fits a float
    knVec3 e = knBox_Extent(box);
    if (count > 0 && !(e.x < FLT_MAX / 8 && e.y < FLT_MAX / 8 && e.z < FLT_MAX / 8))
    {
        return knFail(kn_errorArgument, "sphere tree: the points are too far apart");
    }
    return kn_success;
}

knResult knOrderByMaximumDistance(const knVec3* positions, uint32_t count, uint32_t* order,
                                  const knAllocator* allocator)
{
    if (!positions || !order || count == 0 || count > 16 * KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "knOrderByMaximumDistance: no points, or too many");
    }
    knResult result = knCheckAllocator(allocator);
    result = result == kn_success ? knCheckSpherePositions(positions, count) : result;
    if (result != kn_success)
    {
        return result;
    }
    knSphereBuild build;
    size_t size = knSphereBuild_Layout(&build, count, NULL);
    void* block = knAllocate(allocator, size, 1);
    if (!block)
    {
        return kn_errorMemory;
    }
    knSphereBuild_Layout(&build, count, block);
    knSphereBuild_Order(&build, positions);
    for (uint32_t i = 0; i < count; ++i)
    {
        order[i] = build.order[i];
    }
    knRelease(allocator, block, size, 1);
    return kn_success;
}
