// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Which triangles meet at an edge, kept up to date as triangles come and go; only culling by cones
// needs it. An entry has the number of triangles and the exclusive or of their ids: enough to find
// the neighbour across an edge of two, and a crack leaves nothing behind.

#define MIN_SLOTS 64

static uint32_t HashEdge(uint32_t low, uint32_t high)
{
    uint64_t key = (uint64_t)low << 32 | high;
    return (uint32_t)(key * 0x9E3779B97F4A7C15u >> 32);
}

// The slot of the edge, or the empty one where it would be.
static size_t FindSlot(const knBvhScene* s, uint32_t low, uint32_t high)
{
    size_t mask = s->linkCapacity - 1, slot = HashEdge(low, high) & mask;
    while (s->links[slot].count > 0 && (s->links[slot].low != low || s->links[slot].high != high))
    {
        slot = (slot + 1) & mask;
    }
    return slot;
}

knResult knReserveLinks(knBvhScene* s, size_t triangleCount)
{
    size_t needed = 2 * (s->linkCount + 3 * triangleCount), capacity = s->linkCapacity;
    if (needed <= capacity)
    {
        return kn_success;
    }
    for (capacity = capacity > 0 ? capacity : MIN_SLOTS; capacity < needed; capacity *= 2)
    {
    }
    knBvhLink* links = knAllocate(&s->allocator, capacity, sizeof *links);
    if (!links)
    {
        return kn_errorMemory;
    }
    memset(links, 0, capacity * sizeof *links);
    knBvhLink* old = s->links;
    size_t oldCapacity = s->linkCapacity;
    s->links = links;
    s->linkCapacity = capacity;
    for (size_t i = 0; i < oldCapacity; ++i)
    {
        if (old[i].count > 0)
        {
            links[FindSlot(s, old[i].low, old[i].high)] = old[i];
        }
    }
    knRelease(&s->allocator, old, oldCapacity, sizeof *old);
    return kn_success;
}

// Those behind an emptied slot that would no longer be found move up.
static void EmptySlot(knBvhScene* s, size_t slot)
{
    size_t mask = s->linkCapacity - 1;
    for (size_t next = (slot + 1) & mask; s->links[next].count > 0; next = (next + 1) & mask)
    {
        size_t home = HashEdge(s->links[next].low, s->links[next].high) & mask;
        if (((next - home) & mask) >= ((next - slot) & mask))
        {
            s->links[slot] = s->links[next];
            slot = next;
        }
    }
    s->links[slot] = (knBvhLink){0, 0, 0, 0};
    s->linkCount -= 1;
}

// The other triangle of an edge of two is a neighbour more or less: its block is looked at again.
static void MarkNeighbour(knBvhScene* s, uint32_t triangle)
{
    uint32_t place = triangle < s->triangleSlots ? s->places[triangle] : KN_FREE;
    if ((place & KN_FREE) == 0)
    {
        s->boundaryMasks[(place & ~KN_MARK) / KN_LANES] |= KN_STALE_MASK;
    }
}

// An edge of two that gets a third, or the other way round, changes for triangles that the entry
// cannot name.
static void NoteCount(knBvhScene* s, uint32_t before, uint32_t after)
{
    s->linksAreStale |= (before == 2 && after == 3) || (before == 3 && after == 2);
}

static void AddSide(knBvhScene* s, uint32_t triangle, uint32_t low, uint32_t high)
{
    knBvhLink* link = &s->links[FindSlot(s, low, high)];
    s->linkCount += link->count == 0;
    if (link->count == 1)
    {
        MarkNeighbour(s, link->triangles);
    }
    NoteCount(s, link->count, link->count + 1);
    *link = (knBvhLink){low, high, link->count + 1, link->triangles ^ triangle};
}

static void RemoveSide(knBvhScene* s, uint32_t triangle, uint32_t low, uint32_t high)
{
    size_t slot = FindSlot(s, low, high);
    knBvhLink* link = &s->links[slot];
    NoteCount(s, link->count, link->count - 1);
    link->count -= 1;
    link->triangles ^= triangle;
    if (link->count == 1)
    {
        MarkNeighbour(s, link->triangles);
    }
    if (link->count == 0)
    {
        EmptySlot(s, slot);
    }
}

void knChangeLinks(knBvhScene* s, const knBuildSource* t, bool isNew)
{
    for (int k = 0; k < 3 && s->links; ++k)
    {
        uint32_t from = t->v[k], to = t->v[(k + 1) % 3];
        uint32_t low = from < to ? from : to, high = from < to ? to : from;
        isNew ? AddSide(s, t->triangle, low, high) : RemoveSide(s, t->triangle, low, high);
    }
}

uint32_t knNeighbour(const knBvhScene* s, uint32_t triangle, uint32_t from, uint32_t to)
{
    const knBvhLink* link = &s->links[FindSlot(s, from < to ? from : to, from < to ? to : from)];
    uint32_t other = link->triangles ^ triangle;
    // a triangle that has an edge twice is no neighbour of itself
    return link->count == 2 && link->triangles != 0 ? other : KN_NONE;
}
