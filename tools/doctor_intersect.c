// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

typedef struct Search
{
    const knSoup* soup;
    double scale;
    bool* involved;
    size_t pairCount, pairLimit;
    uint32_t triangle; // looks for partners, when only some triangles do
} Search;

knBox knSoup_TriangleBox(const knSoup* soup, size_t triangle)
{
    knBox box = knEmptyBox();
    for (int k = 0; k < 3; ++k)
    {
        box = knBox_AddPoint(box, soup->positions[soup->triangles[triangle].v[k]]);
    }
    return box;
}

static bool TestPair(uint32_t a, uint32_t b, void* context)
{
    Search* search = context;
    const knTriangle* triangles = search->soup->triangles;
    if (knTrianglesMeet(search->soup, search->scale, triangles[a], triangles[b]))
    {
        search->involved[a] = true;
        search->involved[b] = true;
        search->pairCount += 1;
    }
    return search->pairCount < search->pairLimit;
}

static bool TestPartner(uint32_t other, void* context)
{
    Search* search = context;
    uint32_t triangle = search->triangle;
    // of two that both look for partners, the later finds the earlier
    return other >= triangle || TestPair(other, triangle, context);
}

knResult knFindIntersections(const knSoup* soup, double scale, size_t first, bool* involved,
                             size_t* pairCount)
{
    const knAllocator* a = &soup->allocator;
    knBoxTree tree;
    knBox* boxes = knTake(a, soup->triangleCount, sizeof(knBox));
    if (!boxes)
    {
        return kn_errorMemory;
    }
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        boxes[t] = knSoup_TriangleBox(soup, t);
        involved[t] = false;
    }
    // a heap of coincident triangles has n^2 pairs: nobody needs to know exactly
    Search search = {.soup = soup,
                     .scale = scale,
                     .involved = involved,
                     .pairLimit = 1000000 + 16 * soup->triangleCount};
    knResult result = knBuildBoxTree(&tree, boxes, soup->triangleCount, a);
    if (result == kn_success)
    {
        if (first == 0)
        {
            knBoxTree_SelfPairs(&tree, TestPair, &search);
        }
        for (size_t t = first; first > 0 && t < soup->triangleCount; ++t)
        {
            search.triangle = (uint32_t)t;
            knBoxTree_Query(&tree, boxes[t], TestPartner, &search);
        }
        *pairCount = search.pairCount;
        knDestroyBoxTree(&tree);
    }
    knGive(a, boxes, soup->triangleCount, sizeof(knBox));
    return result;
}
