// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#define ITEM_ARRAYS 8 // of 4 bytes each, one after the other

static bool GrowItems(knFrontSide* side, const knAllocator* allocator)
{
    uint32_t capacity = side->wanted;
    float* memory = knAllocate(allocator, capacity, ITEM_ARRAYS * sizeof(float));
    if (!memory)
    {
        return false;
    }
    knRelease(allocator, side->x, side->capacity, ITEM_ARRAYS * sizeof(float));
    side->x = memory;
    side->y = memory + capacity;
    side->z = memory + 2 * (size_t)capacity;
    side->radius = memory + 3 * (size_t)capacity;
    side->bound = memory + 4 * (size_t)capacity;
    side->point = (uint32_t*)(void*)(memory + 5 * (size_t)capacity);
    side->cursor = (uint32_t*)(void*)(memory + 6 * (size_t)capacity);
    side->next = side->cursor + capacity;
    side->capacity = capacity;
    return true;
}

static void GrowEdges(knFrontSide* side, const knAllocator* allocator)
{
    float* bounds = knAllocate(allocator, side->edgesWanted, sizeof *bounds);
    if (bounds)
    {
        knRelease(allocator, side->edgeBounds, side->edgeCapacity, sizeof *bounds);
        side->edgeBounds = bounds;
        side->edgeCapacity = side->edgesWanted;
        side->edgeCount = 0;
    }
}

void knQueryFront_Reserve(knQueryFront* front, const knAllocator* allocator)
{
    for (int i = 0; i < 2; ++i)
    {
        knFrontSide* side = &front->sides[i];
        if (side->wanted > side->capacity && side->wanted <= KN_FRONT_MOST &&
            GrowItems(side, allocator))
        {
            front->isKnown = false;
        }
        if (side->edgesWanted > side->edgeCapacity)
        {
            GrowEdges(side, allocator);
        }
    }
}

void knQueryFront_Release(knQueryFront* front, const knAllocator* allocator)
{
    for (int i = 0; i < 2; ++i)
    {
        knFrontSide* side = &front->sides[i];
        knRelease(allocator, side->x, side->capacity, ITEM_ARRAYS * sizeof(float));
        knRelease(allocator, side->edgeBounds, side->edgeCapacity, sizeof(float));
    }
}
