// SPDX-License-Identifier: Zlib
#pragma once

// Ids by value with a generation, and the pool of fixed-size items that they name.

#include "knap/memory.h"

#include <stdbool.h>
#include <stdint.h>

// Zero is null. `index` counts from 1, so that a zeroed struct holds null ids.
typedef struct knId
{
    uint32_t index;
    uint32_t generation;
} knId;

static inline bool knId_IsNull(knId id)
{
    return id.index == 0;
}

static inline bool knId_Equals(knId a, knId b)
{
    return a.index == b.index && a.generation == b.generation;
}

// Items move only in Reserve. The lowest free index is not promised, but the order of ids depends
// on the order of calls alone.
typedef struct knPool
{
    knAllocator allocator;
    size_t itemSize; // bytes, rounded up to 16
    unsigned char* items;
    uint32_t* generations; // odd while the slot is in use
    uint32_t* nextFree;    // free list, 0 ends it
    uint32_t firstFree;
    uint32_t capacity;
    uint32_t usedSlots; // slots ever handed out
    uint32_t count;     // items in use
} knPool;

KN_API knResult knCreatePool(knPool* pool, size_t itemSize, uint32_t capacity,
                             const knAllocator* allocator);
KN_API void knDestroyPool(knPool* pool);

// The one call that allocates; moves the items when it grows.
KN_API knResult knPool_Reserve(knPool* pool, uint32_t capacity);

// A zeroed item; kn_errorLimit when the pool is full, and then nothing changes.
KN_API knResult knPool_Acquire(knPool* pool, knId* id, void** item);

// kn_errorHandle when the id is null, stale or never came from this pool.
KN_API knResult knPool_Release(knPool* pool, knId id);

// Null when the id does not name an item.
KN_API void* knPool_Get(const knPool* pool, knId id);

// Walks the items in index order: start with a null id, ends with a null id.
KN_API knId knPool_Next(const knPool* pool, knId id);

// Builds a pool as another one was: slot after slot, with its generation. An even one is free. Ends
// with knPool_SortFree. kn_errorArgument unless `id` is of the slot after the last.
KN_API knResult knPool_Place(knPool* pool, knId id, void** item);

// Free slots are handed out in ascending order from here on, whatever happened before.
KN_API void knPool_SortFree(knPool* pool);
