// SPDX-License-Identifier: Zlib
#include "knap/cut.h"

#include <string.h>

static void FillNone(uint32_t* items, uint32_t count)
{
    if (items)
    {
        memset(items, 0xFF, count * sizeof(uint32_t));
    }
}

knResult knCreateCutStore(knCutStore* store, const knTetMesh* mesh, const knAllocator* allocator)
{
    if (!store || !mesh || mesh->nodeCount == 0 || mesh->edgeCount == 0 || mesh->tetCount == 0)
    {
        return knFail(kn_errorArgument, "knCreateCutStore: store or mesh is null or empty");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knCutStore created = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                          .nodeCount = mesh->nodeCount,
                          .edgeCount = mesh->edgeCount,
                          .tetCount = mesh->tetCount};
    created.labels = knAllocate(&created.allocator, mesh->nodeCount, sizeof(uint32_t));
    created.edgeCuts = knAllocate(&created.allocator, mesh->edgeCount, sizeof(uint32_t));
    created.tetCuts = knAllocate(&created.allocator, mesh->tetCount, sizeof(uint32_t));
    if (!created.labels || !created.edgeCuts || !created.tetCuts)
    {
        knDestroyCutStore(&created);
        return kn_errorMemory;
    }
    memset(created.labels, 0, mesh->nodeCount * sizeof(uint32_t));
    FillNone(created.edgeCuts, mesh->edgeCount);
    FillNone(created.tetCuts, mesh->tetCount);
    *store = created;
    return kn_success;
}

void knDestroyCutStore(knCutStore* store)
{
    if (!store)
    {
        return;
    }
    const knAllocator* a = &store->allocator;
    knRelease(a, store->labels, store->nodeCount, sizeof(uint32_t));
    knRelease(a, store->edgeCuts, store->edgeCount, sizeof(uint32_t));
    knRelease(a, store->tetCuts, store->tetCount, sizeof(uint32_t));
    knRelease(a, store->points, store->pointCapacity, sizeof(knCutPoint));
    knRelease(a, store->cuts, store->cutCapacity, sizeof(knTetCut));
    *store = (knCutStore){0};
}

static void* CopyItems(const knAllocator* a, const void* items, size_t count, size_t itemSize,
                       bool* isShort)
{
    void* copy = count > 0 ? knAllocate(a, count, itemSize) : NULL;
    *isShort = *isShort || (count > 0 && !copy);
    if (copy)
    {
        memcpy(copy, items, count * itemSize);
    }
    return copy;
}

knResult knCopyCutStore(knCutStore* copy, const knCutStore* store)
{
    if (!copy || !store || !store->labels)
    {
        return knFail(kn_errorArgument, "knCopyCutStore: null or empty");
    }
    const knAllocator* a = &store->allocator;
    bool isShort = false;
    knCutStore made = *store;
    made.pointCapacity = store->pointCount;
    made.cutCapacity = store->cutCount;
    made.labels = CopyItems(a, store->labels, store->nodeCount, sizeof(uint32_t), &isShort);
    made.edgeCuts = CopyItems(a, store->edgeCuts, store->edgeCount, sizeof(uint32_t), &isShort);
    made.tetCuts = CopyItems(a, store->tetCuts, store->tetCount, sizeof(uint32_t), &isShort);
    made.points = CopyItems(a, store->points, store->pointCount, sizeof(knCutPoint), &isShort);
    made.cuts = CopyItems(a, store->cuts, store->cutCount, sizeof(knTetCut), &isShort);
    if (isShort)
    {
        knDestroyCutStore(&made);
        return kn_errorMemory;
    }
    *copy = made;
    return kn_success;
}

knResult knCutStore_Reserve(knCutStore* store, uint32_t pointCount, uint32_t cutCount)
{
    // an edge is cut at most once, a tetrahedron has at most one record
    size_t points = (size_t)store->pointCount + pointCount;
    size_t cuts = (size_t)store->cutCount + cutCount;
    points = points < store->edgeCount ? points : store->edgeCount;
    cuts = cuts < store->tetCount ? cuts : store->tetCount;
    void* items = store->points;
    knResult result =
        knGrow(&store->allocator, &items, &store->pointCapacity, points, sizeof(knCutPoint));
    store->points = items;
    if (result != kn_success)
    {
        return result;
    }
    items = store->cuts;
    result = knGrow(&store->allocator, &items, &store->cutCapacity, cuts, sizeof(knTetCut));
    store->cuts = items;
    return result;
}
