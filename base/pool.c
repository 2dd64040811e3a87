// SPDX-License-Identifier: Zlib
#include "knap/pool.h"

#include <string.h>

#define LAST_GENERATION UINT32_MAX

knResult knCreatePool(knPool* pool, size_t itemSize, uint32_t capacity,
                      const knAllocator* allocator)
{
    if (!pool || itemSize == 0 || itemSize > SIZE_MAX / 2)
    {
        return knFail(kn_errorArgument, "knCreatePool: pool is null or item size %zu is not usable",
                      itemSize);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knPool created = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                      .itemSize = (itemSize + 15) & ~(size_t)15};
    result = knPool_Reserve(&created, capacity);
    if (result == kn_success)
    {
        *pool = created;
    }
    return result;
}

static void ReleaseArrays(const knPool* pool)
{
    knRelease(&pool->allocator, pool->items, pool->capacity, pool->itemSize);
    knRelease(&pool->allocator, pool->generations, pool->capacity, sizeof(uint32_t));
    knRelease(&pool->allocator, pool->nextFree, pool->capacity, sizeof(uint32_t));
}

void knDestroyPool(knPool* pool)
{
    if (pool)
    {
        ReleaseArrays(pool);
        *pool = (knPool){0};
    }
}

knResult knPool_Reserve(knPool* pool, uint32_t capacity)
{
    if (capacity <= pool->capacity)
    {
        return kn_success;
    }
    knPool grown = *pool;
    grown.capacity = capacity;
    grown.items = knAllocate(&pool->allocator, capacity, pool->itemSize);
    grown.generations = knAllocate(&pool->allocator, capacity, sizeof(uint32_t));
    grown.nextFree = knAllocate(&pool->allocator, capacity, sizeof(uint32_t));
    if (!grown.items || !grown.generations || !grown.nextFree)
    {
        ReleaseArrays(&grown);
        return kn_errorMemory;
    }
    if (pool->usedSlots > 0)
    {
        memcpy(grown.items, pool->items, pool->usedSlots * pool->itemSize);
        memcpy(grown.generations, pool->generations, pool->usedSlots * sizeof(uint32_t));
        memcpy(grown.nextFree, pool->nextFree, pool->usedSlots * sizeof(uint32_t));
    }
    ReleaseArrays(pool);
    *pool = grown;
    return kn_success;
}

knResult knPool_Acquire(knPool* pool, knId* id, void** item)
{
    uint32_t slot = pool->firstFree;
    if (slot != 0)
    {
        pool->firstFree = pool->nextFree[slot - 1];
    }
    else if (pool->usedSlots < pool->capacity)
    {
        slot = ++pool->usedSlots;
        pool->generations[slot - 1] = 0;
    }
    else
    {
        return knFail(kn_errorLimit, "the pool of %u items is full", pool->capacity);
    }
    pool->generations[slot - 1] += 1;
    pool->count += 1;
    void* memory = pool->items + (slot - 1) * pool->itemSize;
    memset(memory, 0, pool->itemSize);
    *id = (knId){slot, pool->generations[slot - 1]};
    if (item)
    {
        *item = memory;
    }
    return kn_success;
}

void* knPool_Get(const knPool* pool, knId id)
{
    bool alive = id.index != 0 && id.index <= pool->usedSlots && (id.generation & 1) == 1 &&
                 pool->generations[id.index - 1] == id.generation;
    return alive ? pool->items + (id.index - 1) * pool->itemSize : NULL;
}

knResult knPool_Release(knPool* pool, knId id)
{
    if (!knPool_Get(pool, id))
    {
        return knFail(kn_errorHandle, "id {%u, %u} is null, stale or of another pool", id.index,
                      id.generation);
    }
    pool->count -= 1;
    if (id.generation == LAST_GENERATION)
    {
        // the next generation would wrap to one that an old id may hold: retire the slot
        pool->generations[id.index - 1] = 0;
        return kn_success;
    }
    pool->generations[id.index - 1] += 1;
    pool->nextFree[id.index - 1] = pool->firstFree;
    pool->firstFree = id.index;
    return kn_success;
}

knId knPool_Next(const knPool* pool, knId id)
{
    for (uint32_t slot = id.index; slot < pool->usedSlots; ++slot)
    {
        if (pool->generations[slot] & 1)
        {
            return (knId){slot + 1, pool->generations[slot]};
        }
    }
    return (knId){0, 0};
}

knResult knPool_Place(knPool* pool, knId id, void** item)
{
    if (id.index != pool->usedSlots + 1 || id.index > pool->capacity)
    {
        return knFail(kn_errorArgument, "slot %u is not the next of a pool of %u", id.index,
                      pool->capacity);
    }
    pool->usedSlots += 1;
    pool->generations[id.index - 1] = id.generation;
    pool->nextFree[id.index - 1] = 0;
    pool->count += id.generation & 1;
    void* memory = pool->items + (id.index - 1) * pool->itemSize;
    memset(memory, 0, pool->itemSize);
    if (item)
    {
        *item = memory;
    }
    return kn_success;
}

void knPool_SortFree(knPool* pool)
{
    pool->firstFree = 0;
    for (uint32_t slot = pool->usedSlots; slot > 0; --slot)
    {
        if ((pool->generations[slot - 1] & 1) == 0)
        {
            pool->nextFree[slot - 1] = pool->firstFree;
            pool->firstFree = slot;
        }
    }
}
