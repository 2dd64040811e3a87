// SPDX-License-Identifier: Zlib
#include "piece_mesh_internal.h"

#include "shape_internal.h"

static float Key(const knBox* boxes, uint32_t i, int axis)
{
    const knBox* b = &boxes[i];
    return axis == 0   ? b->lower.x + b->upper.x
           : axis == 1 ? b->lower.y + b->upper.y
                       : b->lower.z + b->upper.z;
}

// By key, then by index: the same boxes give the same tree.
static bool IsLess(const knBox* boxes, uint32_t a, uint32_t b, int axis)
{
    float x = Key(boxes, a, axis), y = Key(boxes, b, axis);
    return x < y || (x == y && a < b);
}

// Puts the item of rank `middle` in its place, smaller ones before it.
static void Select(const knBox* boxes, uint32_t* order, uint32_t count, uint32_t middle, int axis)
{
    uint32_t low = 0, high = count - 1;
    while (low < high)
    {
        uint32_t pivot = order[(low + high) / 2];
        uint32_t i = low, k = high;
        while (i <= k)
        {
            while (IsLess(boxes, order[i], pivot, axis))
            {
                ++i;
            }
            while (IsLess(boxes, pivot, order[k], axis))
            {
                --k;
            }
            if (i <= k)
            {
                uint32_t swap = order[i];
                order[i++] = order[k];
                order[k] = swap;
                if (k == 0)
                {
                    break;
                }
                --k;
            }
        }
        if (middle <= k && k < high)
        {
            high = k;
        }
        else if (middle >= i)
        {
            low = i;
        }
        else
        {
            return;
        }
    }
}

static int LongestAxis(const knBox* boxes, const uint32_t* order, uint32_t count)
{
    knBox centers = knEmptyBox();
    for (uint32_t i = 0; i < count; ++i)
    {
        centers = knBox_AddPoint(centers, knBox_Center(boxes[order[i]]));
    }
    knVec3 e = knBox_Extent(centers);
    return e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
}

// What waits on the stack: a range, and the node whose right child it is.
typedef struct Range
{
    uint32_t first, count, parent;
} Range;

uint32_t knBuildMeshTree(const knBox* boxes, uint32_t count, knMeshNode* nodes, uint32_t* order)
{
    uint32_t nodeCount = 0;
    Range stack[KN_TREE_STACK];
    int depth = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        order[i] = i;
    }
    if (count > 0)
    {
        stack[depth++] = (Range){0, count, KN_NONE};
    }
    while (depth > 0)
    {
        Range range = stack[--depth];
        uint32_t index = nodeCount++;
        if (range.parent != KN_NONE)
        {
            nodes[range.parent].first = index;
        }
        knMeshNode* node = &nodes[index];
        *node = (knMeshNode){knEmptyBox(), range.first, range.count};
        for (uint32_t i = 0; i < range.count; ++i)
        {
            node->box = knBox_Union(node->box, boxes[order[range.first + i]]);
        }
        if (range.count > KN_TREE_LEAF)
        {
            uint32_t half = range.count / 2;
            uint32_t* items = order + range.first;
            Select(boxes, items, range.count, half, LongestAxis(boxes, items, range.count));
            node->count = 0;
            stack[depth++] = (Range){range.first + half, range.count - half, index};
            stack[depth++] = (Range){range.first, half, KN_NONE};
        }
    }
    return nodeCount;
}

// False when the callback has asked to stop.
static bool VisitLeaf(const knPieceMesh* mesh, const knMeshNode* node, knBox box,
                      knTriangleFcn* callback, void* user)
{
    for (uint32_t i = 0; i < node->count; ++i)
    {
        uint32_t triangle = mesh->order[node->first + i];
        knVec3 v[3];
        knPieceMesh_Corners(mesh, triangle, v);
        knBox around = {knMin(v[0], knMin(v[1], v[2])), knMax(v[0], knMax(v[1], v[2]))};
        if (knBox_Overlaps(around, box) && !callback(v, triangle, user))
        {
            return false;
        }
    }
    return true;
}

void knForEachTriangle(const knPieceMesh* mesh, knBox box, knTriangleFcn* callback, void* user)
{
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    if (mesh && callback && mesh->nodeCount > 0)
    {
        stack[depth++] = 0;
    }
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        if (!knBox_Overlaps(node->box, box))
        {
            continue;
        }
        if (node->count > 0)
        {
            if (!VisitLeaf(mesh, node, box, callback, user))
            {
                return;
            }
            continue;
        }
        stack[depth++] = node->first;
        stack[depth++] = index + 1;
    }
}

bool knPieceMesh_Nearest(const knPieceMesh* mesh, knVec3 p, float limit, knVec3* point,
                         uint32_t* triangle)
{
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    bool found = false;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        if (knBox_Distance(node->box, p) > limit)
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            knVec3 v[3];
            float weights[3];
            knPieceMesh_Corners(mesh, mesh->order[node->first + i], v);
            knVec3 q = knNearestOnTriangle(p, v, weights);
            if (knDistance(p, q) < limit)
            {
                found = true;
                limit = knDistance(p, q);
                *point = q;
                *triangle = mesh->order[node->first + i];
            }
        }
        if (node->count == 0)
        {
            bool isLeftFirst = knBox_Distance(mesh->nodes[index + 1].box, p) <=
                               knBox_Distance(mesh->nodes[node->first].box, p);
            stack[depth++] = isLeftFirst ? node->first : index + 1;
            stack[depth++] = isLeftFirst ? index + 1 : node->first;
        }
    }
    return found;
}
