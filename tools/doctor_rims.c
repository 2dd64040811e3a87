// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#define MAX_SPLIT_ROUNDS 8

// A vertex that splits an open half-edge at `part` of its length.
typedef struct RimSplit
{
    uint32_t half, vertex;
    float part;
} RimSplit;

typedef struct SplitSearch
{
    const knSoup* soup;
    const uint32_t* rim;
    RimSplit* splits;
    size_t count, capacity;
    uint32_t half; // looks for the vertices on
    float tolerance;
    bool full; // no memory
} SplitSearch;

static bool AddSplit(SplitSearch* s, RimSplit split)
{
    void* items = s->splits;
    s->full = knGrow(&s->soup->allocator, &items, &s->capacity, s->count + 1, sizeof(RimSplit)) !=
              kn_success;
    s->splits = items;
    if (!s->full)
    {
        s->splits[s->count++] = split;
    }
    return !s->full;
}

static bool TrySplit(uint32_t item, void* context)
{
    SplitSearch* s = context;
    uint32_t vertex = s->rim[item];
    const uint32_t* v = s->soup->triangles[s->half / 3].v;
    if (vertex == v[0] || vertex == v[1] || vertex == v[2])
    {
        return true;
    }
    knDVec3 a = knToDouble(s->soup->positions[v[s->half % 3]]);
    knDVec3 ab = knDSub(knToDouble(s->soup->positions[v[(s->half + 1) % 3]]), a);
    knDVec3 ap = knDSub(knToDouble(s->soup->positions[vertex]), a);
    double length = knDLength(ab), along = length > 0.0 ? knDDot(ab, ap) / length : 0.0;
    double tolerance = (double)s->tolerance;
    if (!(along > tolerance && along < length - tolerance))
    {
        return true;
    }
    knDVec3 off = knDSub(ap, knDScale(along / length, ab));
    if (knDLength(off) > tolerance)
    {
        return true;
    }
    RimSplit split = {s->half, vertex, (float)(along / length)};
    return AddSplit(s, split);
}

// Shell sort by part, then vertex: the order must not depend on the tree.
static void SortSplits(RimSplit* splits, size_t count)
{
    for (size_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    {
        for (size_t i = gap; i < count; ++i)
        {
            RimSplit moving = splits[i];
            size_t k = i;
            while (k >= gap &&
                   (splits[k - gap].part > moving.part || (splits[k - gap].part == moving.part &&
                                                           splits[k - gap].vertex > moving.vertex)))
            {
                splits[k] = splits[k - gap];
                k -= gap;
            }
            splits[k] = moving;
        }
    }
}

// One edge per triangle and round: after it the other edges belong to other triangles.
static void FindSplits(const knTopology* topology, const knBoxTree* tree, SplitSearch* s)
{
    for (uint32_t t = 0; t < topology->triangleCount && !s->full; ++t)
    {
        size_t before = s->count;
        for (uint32_t k = 0; k < 3 && s->count == before && !s->full; ++k)
        {
            s->half = 3 * t + k;
            if (knTopology_IsOpen(topology, s->half))
            {
                const knVec3 ends[2] = {s->soup->positions[knTopology_Origin(topology, s->half)],
                                        s->soup->positions[knTopology_Target(topology, s->half)]};
                knBoxTree_QuerySegment(tree, ends, s->tolerance, TrySplit, s);
            }
        }
        if (s->count > before)
        {
            SortSplits(&s->splits[before], s->count - before);
        }
    }
}

// Cuts one triangle into a fan around the corner opposite the edge that is split.
static knResult ApplySplits(knSoup* soup, const RimSplit* splits, size_t count)
{
    uint32_t t = splits[0].half / 3, i = splits[0].half % 3, j = (i + 1) % 3, k = (i + 2) % 3;
    knTriangle whole = soup->triangles[t], corners = soup->corners[t];
    uint32_t from = whole.v[i], fromCorner = corners.v[i];
    knResult result = kn_success;
    for (size_t s = 0; s <= count && result == kn_success; ++s)
    {
        uint32_t to = whole.v[j], toCorner = corners.v[j];
        if (s < count)
        {
            to = splits[s].vertex;
            result =
                knSoup_MixAttribute(soup, corners.v[i], corners.v[j], splits[s].part, &toCorner);
        }
        knTriangle part = {{from, to, whole.v[k]}};
        knTriangle partCorners = {{fromCorner, toCorner, corners.v[k]}};
        if (result == kn_success && s == 0)
        {
            soup->triangles[t] = part;
            soup->corners[t] = partCorners;
        }
        else if (result == kn_success)
        {
            result = knSoup_AddTriangle(soup, part, partCorners, soup->sources[t]);
        }
        from = to;
        fromCorner = toCorner;
    }
    return result;
}

static knResult ApplyAll(knDoctor* doctor, const SplitSearch* s)
{
    knResult result = kn_success;
    for (size_t i = 0; i < s->count; ++i)
    {
        knDoctor_FoundTriangle(doctor, kn_defectTJunction, s->splits[i].half / 3);
    }
    for (size_t i = 0, end; i < s->count && result == kn_success; i = end)
    {
        for (end = i + 1; end < s->count && s->splits[end].half == s->splits[i].half; ++end)
        {
        }
        result = ApplySplits(doctor->soup, &s->splits[i], end - i);
    }
    return result;
}

static knResult SearchSplits(knDoctor* doctor, SplitSearch* s, uint32_t* rim, knBox* boxes,
                             bool* onRim)
{
    const knSoup* soup = doctor->soup;
    knTopology topology;
    knBoxTree tree;
    knResult result = knBuildTopology(&topology, soup);
    if (result != kn_success)
    {
        return result;
    }
    size_t rimCount = 0;
    if (knTopology_MarkRim(&topology, onRim) > 0)
    {
        for (size_t v = 0; v < soup->positionCount; ++v)
        {
            if (onRim[v])
            {
                rim[rimCount] = (uint32_t)v;
                boxes[rimCount++] = (knBox){soup->positions[v], soup->positions[v]};
            }
        }
        result = knBuildBoxTree(&tree, boxes, rimCount, &soup->allocator);
        if (result == kn_success)
        {
            FindSplits(&topology, &tree, s);
            knDestroyBoxTree(&tree);
        }
    }
    knDestroyTopology(&topology);
    return s->full ? kn_errorMemory : result;
}

static knResult SplitRound(knDoctor* doctor, bool* any)
{
    knSoup* soup = doctor->soup;
    const knAllocator* a = &soup->allocator;
    size_t count = soup->positionCount;
    bool* onRim = knTake(a, count, sizeof(bool));
    uint32_t* rim = knTake(a, count, sizeof(uint32_t));
    knBox* boxes = knTake(a, count, sizeof(knBox));
    SplitSearch s = {.soup = soup, .rim = rim, .tolerance = doctor->tolerance};
    knResult result =
        onRim && rim && boxes ? SearchSplits(doctor, &s, rim, boxes, onRim) : kn_errorMemory;
    if (result == kn_success)
    {
        *any = s.count > 0;
        doctor->cleaned &= !*any;
        result = ApplyAll(doctor, &s);
    }
    knRelease(a, s.splits, s.capacity, sizeof(RimSplit));
    knGive(a, onRim, count, sizeof(bool));
    knGive(a, rim, count, sizeof(uint32_t));
    knGive(a, boxes, count, sizeof(knBox));
    return result;
}

knResult knDoctor_SplitTJunctions(knDoctor* doctor)
{
    knResult result = kn_success;
    bool any = !doctor->rimless;
    for (int round = 0; any && round < MAX_SPLIT_ROUNDS && result == kn_success; ++round)
    {
        result = SplitRound(doctor, &any);
    }
    knDoctor_Judge(doctor, kn_defectTJunction, kn_actionRepair,
                   "the triangle of the open edge is split where the vertex lies");
    return result;
}
