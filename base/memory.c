// SPDX-License-Identifier: Zlib
#include "knap/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t RoundUp(size_t size, size_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

static int Multiply(size_t a, size_t b, size_t* product)
{
    // leaves room for rounding up to a cache line
    if (b != 0 && a > (SIZE_MAX - KN_CACHE_LINE) / b)
    {
        return 0;
    }
    *product = a * b;
    return 1;
}

// a wish past the address space is no reason to wrap
static size_t AddSaturated(size_t a, size_t b)
{
    return b < SIZE_MAX - a ? a + b : SIZE_MAX;
}

static void* HeapAllocate(void* user, size_t size, size_t alignment)
{
    (void)user;
    return aligned_alloc(alignment, RoundUp(size, alignment));
}

static void HeapRelease(void* user, void* memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

knAllocator knDefaultAllocator(void)
{
    return (knAllocator){.allocate = HeapAllocate, .release = HeapRelease, .user = NULL};
}

knResult knCheckAllocator(const knAllocator* allocator)
{
    if (allocator && (!allocator->allocate || !allocator->release))
    {
        return knFail(kn_errorArgument, "an allocator needs both allocate and release");
    }
    return kn_success;
}

void* knAllocate(const knAllocator* allocator, size_t count, size_t itemSize)
{
    size_t size = 0;
    if (!Multiply(count, itemSize, &size))
    {
        knFail(kn_errorMemory, "%zu items of %zu bytes are more than can be addressed", count,
               itemSize);
        return NULL;
    }
    if (size == 0)
    {
        return NULL;
    }
    knAllocator heap = knDefaultAllocator();
    const knAllocator* a = allocator ? allocator : &heap;
    void* memory = a->allocate(a->user, size, KN_CACHE_LINE);
    if (!memory)
    {
        knFail(kn_errorMemory, "out of memory: the allocator refused %zu bytes", size);
    }
    return memory;
}

void knRelease(const knAllocator* allocator, void* memory, size_t count, size_t itemSize)
{
    if (!memory)
    {
        return;
    }
    knAllocator heap = knDefaultAllocator();
    const knAllocator* a = allocator ? allocator : &heap;
    a->release(a->user, memory, count * itemSize);
}

knResult knGrow(const knAllocator* allocator, void** items, size_t* capacity, size_t needed,
                size_t itemSize)
{
    if (needed <= *capacity)
    {
        return kn_success;
    }
    size_t grown = *capacity > SIZE_MAX / 2 ? needed : 2 * *capacity;
    grown = grown < needed ? needed : grown;
    grown = grown < 16 ? 16 : grown;
    void* memory = knAllocate(allocator, grown, itemSize);
    if (!memory)
    {
        return kn_errorMemory;
    }
    if (*items)
    {
        memcpy(memory, *items, *capacity * itemSize);
        knRelease(allocator, *items, *capacity, itemSize);
    }
    *items = memory;
    *capacity = grown;
    return kn_success;
}

static void* TrackedAllocate(void* user, size_t size, size_t alignment)
{
    knMemoryTracker* tracker = user;
    size_t call = __atomic_add_fetch(&tracker->callCount, 1, __ATOMIC_RELAXED);
    if (tracker->failAtCall != 0 && call == tracker->failAtCall)
    {
        return NULL;
    }
    void* memory = tracker->inner.allocate(tracker->inner.user, size, alignment);
    if (!memory)
    {
        return NULL;
    }
    __atomic_add_fetch(&tracker->liveCount, 1, __ATOMIC_RELAXED);
    size_t bytes = __atomic_add_fetch(&tracker->bytes, size, __ATOMIC_RELAXED);
    size_t peak = __atomic_load_n(&tracker->peakBytes, __ATOMIC_RELAXED);
    while (bytes > peak && !__atomic_compare_exchange_n(&tracker->peakBytes, &peak, bytes, 1,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    {
    }
    return memory;
}

static void TrackedRelease(void* user, void* memory, size_t size)
{
    knMemoryTracker* tracker = user;
    __atomic_sub_fetch(&tracker->bytes, size, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&tracker->liveCount, 1, __ATOMIC_RELAXED);
    tracker->inner.release(tracker->inner.user, memory, size);
}

knAllocator knTrackingAllocator(knMemoryTracker* tracker, const knAllocator* inner)
{
    *tracker = (knMemoryTracker){.inner = inner ? *inner : knDefaultAllocator()};
    return (knAllocator){.allocate = TrackedAllocate, .release = TrackedRelease, .user = tracker};
}

knResult knCreateArena(knArena* arena, size_t capacity, const knAllocator* allocator)
{
    if (!arena)
    {
        return knFail(kn_errorArgument, "knCreateArena: arena is null");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knArena created = {.allocator = allocator ? *allocator : knDefaultAllocator()};
    result = knArena_Reserve(&created, capacity);
    if (result == kn_success)
    {
        *arena = created;
    }
    return result;
}

void knDestroyArena(knArena* arena)
{
    if (arena)
    {
        knRelease(&arena->allocator, arena->memory, arena->capacity, 1);
        *arena = (knArena){0};
    }
}

void* knArena_Allocate(knArena* arena, size_t count, size_t itemSize)
{
    size_t size = 0;
    if (!Multiply(count, itemSize, &size) || size == 0)
    {
        return NULL;
    }
    size = RoundUp(size, KN_CACHE_LINE);
    int fits = size <= arena->capacity - arena->usedBytes;
    void* memory = fits ? arena->memory + arena->usedBytes : NULL;
    size_t* account = fits ? &arena->usedBytes : &arena->wantedBytes;
    *account = AddSaturated(*account, size);
    size_t total = AddSaturated(arena->usedBytes, arena->wantedBytes);
    arena->highWater = total > arena->highWater ? total : arena->highWater;
    return memory;
}

size_t knArena_Mark(const knArena* arena)
{
    return arena->usedBytes;
}

void knArena_Rewind(knArena* arena, size_t mark)
{
    KN_ASSERT(mark <= arena->usedBytes);
    arena->usedBytes = mark <= arena->usedBytes ? mark : arena->usedBytes;
}

void knArena_Reset(knArena* arena)
{
    arena->usedBytes = 0;
    arena->wantedBytes = 0;
}

knResult knArena_Reserve(knArena* arena, size_t capacity)
{
    if (arena->usedBytes != 0)
    {
        return knFail(kn_errorArgument, "an arena can only be resized when it is empty");
    }
    if (capacity <= arena->capacity)
    {
        return kn_success;
    }
    if (capacity > SIZE_MAX - KN_CACHE_LINE)
    {
        return knFail(kn_errorMemory, "an arena of %zu bytes cannot be addressed", capacity);
    }
    capacity = RoundUp(capacity, KN_CACHE_LINE);
    unsigned char* memory = knAllocate(&arena->allocator, capacity, 1);
    if (!memory)
    {
        return kn_errorMemory;
    }
    knRelease(&arena->allocator, arena->memory, arena->capacity, 1);
    arena->memory = memory;
    arena->capacity = capacity;
    return kn_success;
}
