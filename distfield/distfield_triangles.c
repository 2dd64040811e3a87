// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#define LEAF_SIZE 4

// Ericson, Real-Time Collision Detection, 5.1.5: by the region of the triangle that p projects to.
knDVec3 knClosestOnTriangle(knDVec3 p, knDVec3 a, knDVec3 b, knDVec3 c)
{
    knDVec3 ab = knDSub(b, a), ac = knDSub(c, a), ap = knDSub(p, a);
    double d1 = knDDot(ab, ap), d2 = knDDot(ac, ap);
    if (d1 <= 0.0 && d2 <= 0.0)
    {
        return a;
    }
    knDVec3 bp = knDSub(p, b);
    double d3 = knDDot(ab, bp), d4 = knDDot(ac, bp);
    if (d3 >= 0.0 && d4 <= d3)
    {
        return b;
    }
    double vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 && d1 > d3)
    {
        return knDAdd(a, knDScale(d1 / (d1 - d3), ab));
    }
    knDVec3 cp = knDSub(p, c);
    double d5 = knDDot(ab, cp), d6 = knDDot(ac, cp);
    if (d6 >= 0.0 && d5 <= d6)
    {
        return c;
    }
    double vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 && d2 > d6)
    {
        return knDAdd(a, knDScale(d2 / (d2 - d6), ac));
    }
    double va = d3 * d6 - d5 * d4;
    double along = (d4 - d3) + (d5 - d6);
    if (va <= 0.0 && d4 >= d3 && d5 >= d6 && along > 0.0)
    {
        return knDAdd(b, knDScale((d4 - d3) / along, knDSub(c, b)));
    }
    double sum = va + vb + vc;
    if (!(sum > 0.0))
    {
        return a; // a triangle without area whose edges were dealt with above
    }
    return knDAdd(a, knDAdd(knDScale(vb / sum, ab), knDScale(vc / sum, ac)));
}

static void Corners(const knTetMesh* mesh, uint32_t triangle, knVec3 out[3])
{
    knTriangle t = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[triangle]);
    for (int k = 0; k < 3; ++k)
    {
        out[k] = mesh->nodes[t.v[k]];
    }
}

static knVec3 Middle(const knTetMesh* mesh, uint32_t triangle)
{
    knVec3 c[3];
    Corners(mesh, triangle, c);
    return knAdd(c[0], knAdd(c[1], c[2]));
}

typedef struct SplitKey
{
    const knTetMesh* mesh;
    uint32_t axis;
} SplitKey;

static bool Before(const SplitKey* key, uint32_t a, uint32_t b)
{
    float x = knAxis(Middle(key->mesh, a), key->axis);
    float y = knAxis(Middle(key->mesh, b), key->axis);
    return x < y || (x == y && a < b);
}

// Hoare's selection: everything left of `nth` comes before it.
static void Select(const SplitKey* key, uint32_t* order, uint32_t count, uint32_t nth)
{
    uint32_t low = 0, high = count - 1;
    while (low < high)
    {
        uint32_t pivot = order[low + (high - low) / 2];
        uint32_t i = low, j = high;
        while (i <= j)
        {
            while (Before(key, order[i], pivot))
            {
                ++i;
            }
            while (Before(key, pivot, order[j]))
            {
                --j;
            }
            if (i <= j)
            {
                uint32_t t = order[i];
                order[i++] = order[j];
                order[j] = t;
                if (j == 0)
                {
                    break;
                }
                --j;
            }
        }
        if (nth <= j)
        {
            high = j;
        }
        else if (nth >= i)
        {
            low = i;
        }
        else
        {
            return;
        }
    }
}

static void BoundNode(knTriTree* tree, knTriNode* node, uint32_t first, uint32_t count,
                      SplitKey* key)
{
    knBox box = knEmptyBox(), middles = knEmptyBox();
    for (uint32_t i = first; i < first + count; ++i)
    {
        knVec3 c[3];
        Corners(tree->mesh, tree->order[i], c);
        box = knBox_AddPoint(knBox_AddPoint(knBox_AddPoint(box, c[0]), c[1]), c[2]);
        middles = knBox_AddPoint(middles, Middle(tree->mesh, tree->order[i]));
    }
    node->lower = box.lower;
    node->upper = box.upper;
    knVec3 e = knBox_Extent(middles);
    key->axis = e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
}

// Halves by count, so the depth is at most the logarithm of the number of triangles.
static uint32_t Build(knTriTree* tree, uint32_t first, uint32_t count)
{
    uint32_t index = tree->nodeCount++;
    knTriNode* node = &tree->nodes[index];
    SplitKey key = {.mesh = tree->mesh};
    BoundNode(tree, node, first, count, &key);
    node->first = first;
    node->count = count;
    if (count > LEAF_SIZE)
    {
        uint32_t half = count / 2;
        Select(&key, tree->order + first, count, half);
        node->count = 0;
        Build(tree, first, half);
        node->first = Build(tree, first + half, count - half);
    }
    return index;
}

knResult knCreateTriTree(knTriTree* tree, const knTetMesh* mesh, const knAllocator* allocator)
{
    knTriTree t = {.allocator = *allocator, .mesh = mesh, .triangleCount = mesh->boundaryFaceCount};
    t.nodeCapacity = 2 * (size_t)t.triangleCount;
    t.nodes = knAllocate(allocator, t.nodeCapacity, sizeof(knTriNode));
    t.order = knAllocate(allocator, t.triangleCount, sizeof(uint32_t));
    if (!t.nodes || !t.order)
    {
        knDestroyTriTree(&t);
        return kn_errorMemory;
    }
    for (uint32_t i = 0; i < t.triangleCount; ++i)
    {
        t.order[i] = i;
    }
    Build(&t, 0, t.triangleCount);
    *tree = t;
    return kn_success;
}

void knDestroyTriTree(knTriTree* tree)
{
    knRelease(&tree->allocator, tree->nodes, tree->nodeCapacity, sizeof(knTriNode));
    knRelease(&tree->allocator, tree->order, tree->triangleCount, sizeof(uint32_t));
    *tree = (knTriTree){0};
}

static double BoxDistance2(const knTriNode* node, knDVec3 p)
{
    double x = knHigher(0.0, knHigher((double)node->lower.x - p.x, p.x - (double)node->upper.x));
    double y = knHigher(0.0, knHigher((double)node->lower.y - p.y, p.y - (double)node->upper.y));
    double z = knHigher(0.0, knHigher((double)node->lower.z - p.z, p.z - (double)node->upper.z));
    return x * x + y * y + z * z;
}

static double LeafDistance2(const knTriTree* tree, const knTriNode* node, knDVec3 p, double best)
{
    for (uint32_t i = node->first; i < node->first + node->count; ++i)
    {
        knVec3 c[3];
        Corners(tree->mesh, tree->order[i], c);
        knDVec3 d =
            knDSub(p, knClosestOnTriangle(p, knToDouble(c[0]), knToDouble(c[1]), knToDouble(c[2])));
        best = knLower(best, knDDot(d, d));
    }
    return best;
}

double knTriTree_Distance(const knTriTree* tree, knVec3 point, double bound)
{
    knDVec3 p = knToDouble(point);
    // a little more, so that rounding in the bound cannot hide the nearest triangle
    double best = bound * bound * 1.000001;
    uint32_t stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knTriNode* node = &tree->nodes[index];
        if (BoxDistance2(node, p) > best)
        {
            continue;
        }
        if (node->count > 0)
        {
            best = LeafDistance2(tree, node, p, best);
            continue;
        }
        uint32_t near = index + 1, far = node->first;
        if (BoxDistance2(&tree->nodes[far], p) < BoxDistance2(&tree->nodes[near], p))
        {
            uint32_t t = near;
            near = far;
            far = t;
        }
        stack[depth++] = far;
        stack[depth++] = near;
    }
    return sqrt(best);
}
