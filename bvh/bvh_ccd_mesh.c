// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <stdlib.h>

// The connectivity of a step: edges by number, and triangles around vertices. It is kept as long as
// the triangles stay the same.

#define GROW(step, array, capacity, count)                                                         \
    knGrow(&(step)->allocator, (void**)&(step)->array, &(step)->capacity, (count) + 1,             \
           sizeof *(step)->array)

// A half-edge among those of its higher vertex.
typedef struct HalfEdgeItem
{
    uint32_t low, halfEdge; // 3 triangle + corner
} HalfEdgeItem;

static int CompareItems(const void* a, const void* b)
{
    const HalfEdgeItem *x = a, *y = b;
    return x->low != y->low ? (x->low > y->low ? 1 : -1)
                            : (x->halfEdge > y->halfEdge) - (x->halfEdge < y->halfEdge);
}

// There are few at most vertices.
static void SortItems(HalfEdgeItem* items, uint32_t count)
{
    if (count > 32)
    {
        qsort(items, count, sizeof *items, CompareItems);
        return;
    }
    for (uint32_t i = 1; i < count; ++i)
    {
        HalfEdgeItem item = items[i];
        uint32_t k = i;
        for (; k > 0 && items[k - 1].low > item.low; --k)
        {
            items[k] = items[k - 1];
        }
        items[k] = item;
    }
}

// Puts half-edges to their higher vertices; starts[v + 1] is where those of v end, then.
static void PutHalfEdges(knCcdStep* s, HalfEdgeItem* items, uint32_t* starts)
{
    memset(starts, 0, (s->vertexCount + (size_t)2) * sizeof *starts);
    for (int pass = 0; pass < 2; ++pass)
    {
        for (uint32_t t = 0; t < s->triangleCount; ++t)
        {
            const uint32_t* v = s->triangles[t].v;
            for (uint32_t k = 0; k < 3; ++k)
            {
                uint32_t a = v[k], b = v[k < 2 ? k + 1 : 0];
                uint32_t low = a < b ? a : b, high = a < b ? b : a;
                if (pass == 0)
                {
                    starts[high + 2] += low != high;
                }
                else if (low != high)
                {
                    items[starts[high + 1]++] = (HalfEdgeItem){low, 3 * t + k};
                }
                else
                {
                    s->triangleEdges[3 * (size_t)t + k] = KN_NONE;
                }
            }
        }
        for (uint32_t v = 0; v < s->vertexCount && pass == 0; ++v)
        {
            starts[v + 2] += starts[v + 1];
        }
    }
}

static knResult FindEdges(knCcdStep* s)
{
    size_t most = 3 * (size_t)s->triangleCount, room = 2 * most + s->vertexCount + 2;
    knResult result = GROW(s, edges, edgeCapacity, most);
    result = result == kn_success ? GROW(s, triangleEdges, triangleEdgeCapacity, most) : result;
    result = result == kn_success
                 ? GROW(s, scratch, scratchCapacity, knCcdWithSlack(room, s->scratchCapacity))
                 : result;
    if (result != kn_success)
    {
        return result;
    }
    HalfEdgeItem* items = (HalfEdgeItem*)(void*)s->scratch;
    uint32_t* starts = s->scratch + 2 * most;
    PutHalfEdges(s, items, starts);
    s->edgeCount = 0;
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        SortItems(items + starts[v], starts[v + 1] - starts[v]);
        for (uint32_t i = starts[v]; i < starts[v + 1]; ++i)
        {
            if (i == starts[v] || items[i].low != items[i - 1].low)
            {
                s->edges[s->edgeCount++] = (knEdge){{items[i].low, v}};
            }
            s->triangleEdges[items[i].halfEdge] = s->edgeCount - 1;
        }
    }
    return kn_success;
}

knResult knFindFans(knCcdStep* s)
{
    size_t most = 3 * (size_t)s->triangleCount;
    knResult result = GROW(s, fanStarts, fanStartCapacity, s->vertexCount + (size_t)2);
    result = result == kn_success ? GROW(s, fans, fanCapacity, most) : result;
    if (result != kn_success)
    {
        return result;
    }
    // a triangle that names a vertex twice stands in its fan once
    memset(s->fanStarts, 0, (s->vertexCount + (size_t)2) * sizeof *s->fanStarts);
    for (int pass = 0; pass < 2; ++pass)
    {
        for (uint32_t t = 0; t < s->triangleCount; ++t)
        {
            const uint32_t* v = s->triangles[t].v;
            for (int c = 0; c < 3; ++c)
            {
                bool isAgain = (c > 0 && v[c] == v[0]) || (c > 1 && v[c] == v[1]);
                if (!isAgain && pass == 0)
                {
                    s->fanStarts[v[c] + 2] += 1;
                }
                else if (!isAgain)
                {
                    s->fans[s->fanStarts[v[c] + 1]++] = t;
                }
            }
        }
        for (uint32_t v = 0; v < s->vertexCount && pass == 0; ++v)
        {
            s->fanStarts[v + 2] += s->fanStarts[v + 1];
        }
    }
    return kn_success;
}

uint32_t knFindCcdEdge(const knCcdStep* s, uint32_t v, uint32_t w)
{
    uint32_t low = 0, high = s->edgeCount;
    uint64_t key = v > w ? (uint64_t)v << 32 | w : (uint64_t)w << 32 | v;
    while (low < high)
    {
        uint32_t middle = low + (high - low) / 2;
        uint64_t here = (uint64_t)s->edges[middle].v[1] << 32 | s->edges[middle].v[0];
        low = here < key ? middle + 1 : low;
        high = here < key ? high : middle;
    }
    bool isThere =
        low < s->edgeCount && ((uint64_t)s->edges[low].v[1] << 32 | s->edges[low].v[0]) == key;
    return isThere ? low : KN_NONE;
}

static bool IsSameMesh(const knCcdStep* s)
{
    return s->hasMesh && s->triangleCount == s->def.triangleCount &&
           s->vertexCount == s->def.vertexCount &&
           (s->triangleCount == 0 ||
            memcmp(s->triangles, s->def.triangles, s->triangleCount * sizeof *s->triangles) == 0);
}

// Marks the vertices of triangles that are others than before; all when nothing is known of before.
static knResult MarkChanges(knCcdStep* s)
{
    uint32_t most = s->def.vertexCount > s->vertexCount ? s->def.vertexCount : s->vertexCount;
    knResult result = GROW(s, marks, markCapacity, most);
    if (result != kn_success)
    {
        return result;
    }
    memset(s->marks, s->hasOrphans ? 0 : 1, most + (size_t)1);
    uint32_t count =
        s->def.triangleCount > s->triangleCount ? s->def.triangleCount : s->triangleCount;
    for (uint32_t t = 0; t < count && s->hasOrphans; ++t)
    {
        const knTriangle* was = t < s->triangleCount ? &s->triangles[t] : NULL;
        const knTriangle* is = t < s->def.triangleCount ? &s->def.triangles[t] : NULL;
        bool isSame = was && is && memcmp(was, is, sizeof *is) == 0;
        for (int k = 0; k < 3 && !isSame; ++k)
        {
            s->marks[was ? was->v[k] : is->v[k]] = 1;
            s->marks[is ? is->v[k] : was->v[k]] = 1;
        }
    }
    return kn_success;
}

// For contours: leaves whose triangles are others than before. Another number of triangles makes
// another tree.
static void MarkLeaves(knCcdStep* s)
{
    bool isKept = s->hasTree && s->hasContours && s->triangleCount == s->def.triangleCount;
    s->hasContours = s->hasContours && isKept;
    for (uint32_t t = 0; t < s->triangleCount && isKept; ++t)
    {
        if (memcmp(&s->triangles[t], &s->def.triangles[t], sizeof *s->triangles) != 0)
        {
            s->leafChanges[s->triangleLeaves[t]] = 1;
            s->haveLeavesChanged = true;
        }
    }
}

knResult knTakeCcdMesh(knCcdStep* s, bool* changed)
{
    *changed = !IsSameMesh(s);
    bool needsOrphans = s->def.method == kn_ccdTriangles && (*changed || !s->hasOrphans);
    s->hasOrphans = s->hasOrphans && s->hasMesh && !(*changed && !needsOrphans) && !s->def.rebuild;
    knResult result = needsOrphans || s->def.rebuild ? MarkChanges(s) : kn_success;
    if (result != kn_success)
    {
        s->hasMesh = s->hasOrphans = false;
        return result;
    }
    if (*changed)
    {
        s->hasMesh = false;
        result = GROW(s, triangles, triangleCapacity, s->def.triangleCount);
        if (result != kn_success)
        {
            return result;
        }
        MarkLeaves(s);
        s->triangleCount = s->def.triangleCount;
        s->vertexCount = s->def.vertexCount;
        if (s->triangleCount > 0)
        {
            memcpy(s->triangles, s->def.triangles, s->triangleCount * sizeof *s->triangles);
        }
        result = FindEdges(s);
        s->hasMesh = result == kn_success;
    }
    if (result == kn_success && s->def.method == kn_ccdTriangles &&
        (needsOrphans || !s->hasOrphans))
    {
        s->orphanCount = s->hasOrphans ? s->orphanCount : 0;
        result = knUpdateOrphans(s);
        s->hasOrphans = result == kn_success;
        s->hasOrphanLists = false;
    }
    return result;
}
