// SPDX-License-Identifier: Zlib
#pragma once

// Where memory comes from: allocator hooks, a tracker that counts, and an arena for one step.

#include "knap/result.h"

#include <stddef.h>

#define KN_CACHE_LINE 64 // bytes; what the default allocator and the arena align to

// All memory of the library comes through these. `allocate` may return null; alignment is a power
// of two of at most KN_CACHE_LINE. `release` gets the size that was asked for.
typedef struct knAllocator
{
    void* (*allocate)(void* user, size_t size, size_t alignment);
    void (*release)(void* user, void* memory, size_t size);
    void* user;
} knAllocator;

// The C library's heap.
KN_API knAllocator knDefaultAllocator(void);

// Null means the default; a half-filled allocator is an error of the caller.
KN_API knResult knCheckAllocator(const knAllocator* allocator);

// Null with kn_errorMemory in the last message when it overflows or fails. A count of 0 gives null.
KN_API void* knAllocate(const knAllocator* allocator, size_t count, size_t itemSize);
KN_API void knRelease(const knAllocator* allocator, void* memory, size_t count, size_t itemSize);

// Grows a flat array at least to `needed` items, at least doubling it; untouched on failure.
KN_API knResult knGrow(const knAllocator* allocator, void** items, size_t* capacity, size_t needed,
                       size_t itemSize);

// Counts what passes through it; for budgets, tests and bytes per object. Safe across threads.
typedef struct knMemoryTracker
{
    knAllocator inner;
    size_t bytes;      // in use now
    size_t peakBytes;  // most that was in use
    size_t callCount;  // allocations ever made
    size_t liveCount;  // blocks in use now
    size_t failAtCall; // 1-based call that returns null, for tests; 0 for never
} knMemoryTracker;

// The tracker must outlive every block that came through the returned allocator.
KN_API knAllocator knTrackingAllocator(knMemoryTracker* tracker, const knAllocator* inner);

// Memory of one step: bump allocation, one reset. It never calls the heap between Create and
// Reserve: what does not fit gets null and is counted in `wantedBytes`, so that the owner can defer
// the work and reserve more between two steps.
typedef struct knArena
{
    knAllocator allocator;
    unsigned char* memory;
    size_t capacity;    // bytes
    size_t usedBytes;   // since the last reset
    size_t highWater;   // most bytes ever used or wanted between two resets
    size_t wantedBytes; // since the last reset, what did not fit
} knArena;

KN_API knResult knCreateArena(knArena* arena, size_t capacity, const knAllocator* allocator);
KN_API void knDestroyArena(knArena* arena);

// Aligned to KN_CACHE_LINE; null when it does not fit.
KN_API void* knArena_Allocate(knArena* arena, size_t count, size_t itemSize);

// Everything allocated after the mark is given back.
KN_API size_t knArena_Mark(const knArena* arena);
KN_API void knArena_Rewind(knArena* arena, size_t mark);
KN_API void knArena_Reset(knArena* arena);

// Only between steps: the arena must be empty.
KN_API knResult knArena_Reserve(knArena* arena, size_t capacity);
