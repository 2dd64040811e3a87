// SPDX-License-Identifier: Zlib
#include "bench/bvh_hash.h"

#include "bvh/bvh_predicates_internal.h"
#include "bvh/bvh_triangles_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct TriangleBox
{
    float lower[3], upper[3];
    int32_t from[3], to[3]; // cells
} TriangleBox;

struct SpatialHash
{
    TriangleBox* boxes;
    size_t boxCapacity;
    uint32_t* starts; // per bucket
    size_t bucketCapacity;
    uint32_t* entries;
    size_t entryCapacity;
};

SpatialHash* MakeSpatialHash(void)
{
    return calloc(1, sizeof(SpatialHash));
}

void FreeSpatialHash(SpatialHash* h)
{
    if (h)
    {
        free(h->boxes);
        free(h->starts);
        free(h->entries);
        free(h);
    }
}

static bool Grow(void** items, size_t* capacity, size_t needed, size_t size)
{
    if (needed > *capacity)
    {
        free(*items);
        *items = malloc(2 * needed * size);
        *capacity = *items ? 2 * needed : 0;
    }
    return *items != NULL;
}

static uint32_t BucketOf(int32_t x, int32_t y, int32_t z, uint32_t mask)
{
    return ((uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u) & mask;
}

static void SetBoxes(SpatialHash* h, const knVec3* positions, const knTriangle* triangles,
                     uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = triangles[i].v;
        knVec3 low = knMin(knMin(positions[v[0]], positions[v[1]]), positions[v[2]]);
        knVec3 high = knMax(knMax(positions[v[0]], positions[v[1]]), positions[v[2]]);
        h->boxes[i] = (TriangleBox){{low.x, low.y, low.z}, {high.x, high.y, high.z}, {0}, {0}};
        sum += (double)fmaxf(fmaxf(high.x - low.x, high.y - low.y), high.z - low.z);
    }
    float scale = count > 0 ? (float)(count / sum) : 1.0f;
    for (uint32_t i = 0; i < count; ++i)
    {
        for (int axis = 0; axis < 3; ++axis)
        {
            h->boxes[i].from[axis] = (int32_t)floorf(scale * h->boxes[i].lower[axis]);
            h->boxes[i].to[axis] = (int32_t)floorf(scale * h->boxes[i].upper[axis]);
        }
    }
}

typedef void VisitFcn(SpatialHash* h, uint32_t triangle, uint32_t bucket);

static void VisitCells(SpatialHash* h, uint32_t triangle, uint32_t mask, VisitFcn* visit)
{
    const TriangleBox* b = &h->boxes[triangle];
    for (int32_t x = b->from[0]; x <= b->to[0]; ++x)
    {
        for (int32_t y = b->from[1]; y <= b->to[1]; ++y)
        {
            for (int32_t z = b->from[2]; z <= b->to[2]; ++z)
            {
                visit(h, triangle, BucketOf(x, y, z, mask));
            }
        }
    }
}

static void CountEntry(SpatialHash* h, uint32_t triangle, uint32_t bucket)
{
    (void)triangle;
    h->starts[bucket + 1] += 1;
}

static void PlaceEntry(SpatialHash* h, uint32_t triangle, uint32_t bucket)
{
    h->entries[h->starts[bucket]++] = triangle;
}

static bool BoxesMeet(const TriangleBox* a, const TriangleBox* b)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        if (a->lower[axis] > b->upper[axis] || b->lower[axis] > a->upper[axis])
        {
            return false;
        }
    }
    return true;
}

// The bucket of the first cell that both are in: there the pair is tested and nowhere else.
static uint32_t HomeOf(const TriangleBox* a, const TriangleBox* b, uint32_t mask)
{
    int32_t cell[3];
    for (int axis = 0; axis < 3; ++axis)
    {
        cell[axis] = a->from[axis] > b->from[axis] ? a->from[axis] : b->from[axis];
    }
    return BucketOf(cell[0], cell[1], cell[2], mask);
}

static bool Meet(const knVec3* positions, knTriangle a, knTriangle b)
{
    knTrianglePair pair;
    uint64_t exactCount = 0;
    for (int i = 0; i < 3; ++i)
    {
        if (a.v[i] == b.v[0] || a.v[i] == b.v[1] || a.v[i] == b.v[2])
        {
            return false;
        }
        pair.aVertices[i] = a.v[i];
        pair.bVertices[i] = b.v[i];
        pair.a[i] = positions[a.v[i]];
        pair.b[i] = positions[b.v[i]];
    }
    return knMeetTriangles(&pair, 0, &exactCount) != 0;
}

// Two cells may fall into one bucket and bring a triangle twice: the list is in ascending order.
static size_t TestBucket(const SpatialHash* h, uint32_t bucket, uint32_t mask,
                         const knVec3* positions, const knTriangle* triangles)
{
    size_t count = 0;
    uint32_t first = bucket == 0 ? 0 : h->starts[bucket - 1], end = h->starts[bucket];
    for (uint32_t i = first; i < end; ++i)
    {
        uint32_t a = h->entries[i];
        bool isRepeated = i > first && h->entries[i - 1] == a;
        for (uint32_t k = i + 1; k < end && !isRepeated; ++k)
        {
            uint32_t b = h->entries[k];
            if (b != a && h->entries[k - 1] != b && BoxesMeet(&h->boxes[a], &h->boxes[b]) &&
                HomeOf(&h->boxes[a], &h->boxes[b], mask) == bucket)
            {
                count += Meet(positions, triangles[a], triangles[b]);
            }
        }
    }
    return count;
}

knResult SpatialHash_Run(SpatialHash* h, const knVec3* positions, const knTriangle* triangles,
                         uint32_t triangleCount, size_t* pairCount)
{
    uint32_t buckets = 64;
    while (buckets < 2 * triangleCount)
    {
        buckets *= 2;
    }
    if (!Grow((void**)&h->boxes, &h->boxCapacity, triangleCount, sizeof *h->boxes) ||
        !Grow((void**)&h->starts, &h->bucketCapacity, (size_t)buckets + 1, sizeof *h->starts))
    {
        return knFail(kn_errorMemory, "no memory for a spatial hash");
    }
    SetBoxes(h, positions, triangles, triangleCount);
    memset(h->starts, 0, ((size_t)buckets + 1) * sizeof *h->starts);
    for (uint32_t i = 0; i < triangleCount; ++i)
    {
        VisitCells(h, i, buckets - 1, CountEntry);
    }
    for (uint32_t i = 0; i < buckets; ++i)
    {
        h->starts[i + 1] += h->starts[i];
    }
    if (!Grow((void**)&h->entries, &h->entryCapacity, h->starts[buckets], sizeof *h->entries))
    {
        return knFail(kn_errorMemory, "no memory for a spatial hash");
    }
    for (uint32_t i = 0; i < triangleCount; ++i)
    {
        VisitCells(h, i, buckets - 1, PlaceEntry);
    }
    // placing moved every start to the next bucket's
    *pairCount = 0;
    for (uint32_t i = 0; i < buckets; ++i)
    {
        *pairCount += TestBucket(h, i, buckets - 1, positions, triangles);
    }
    return kn_success;
}
