// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

static uint32_t LowEnd(const knTopology* t, uint32_t half)
{
    uint32_t a = knTopology_Origin(t, half), b = knTopology_Target(t, half);
    return a < b ? a : b;
}

static uint32_t HighEnd(const knTopology* t, uint32_t half)
{
    uint32_t a = knTopology_Origin(t, half), b = knTopology_Target(t, half);
    return a < b ? b : a;
}

// Sums counts so that starts[k] is the end of bucket k; filling from the back then leaves the
// starts.
static void SumCounts(uint32_t* starts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= count; ++i)
    {
        sum += starts[i];
        starts[i] = sum;
    }
}

static void SortCorners(knTopology* t)
{
    size_t halves = 3 * t->triangleCount;
    for (uint32_t h = 0; h < halves; ++h)
    {
        t->cornerStarts[knTopology_Origin(t, h)] += 1;
    }
    SumCounts(t->cornerStarts, t->vertexCount);
    for (size_t h = halves; h-- > 0;)
    {
        t->corners[--t->cornerStarts[knTopology_Origin(t, (uint32_t)h)]] = (uint32_t)h;
    }
}

// Two stable counting passes, by the high end and then by the low one: O(n), and equal edges keep
// the order of their half-edges.
static void SortHalves(knTopology* t, uint32_t* byHigh, uint32_t* starts)
{
    size_t halves = 3 * t->triangleCount;
    for (uint32_t h = 0; h < halves; ++h)
    {
        starts[HighEnd(t, h)] += 1;
    }
    SumCounts(starts, t->vertexCount);
    for (size_t h = halves; h-- > 0;)
    {
        byHigh[--starts[HighEnd(t, (uint32_t)h)]] = (uint32_t)h;
    }
    memset(starts, 0, (t->vertexCount + 1) * sizeof(uint32_t));
    for (uint32_t h = 0; h < halves; ++h)
    {
        starts[LowEnd(t, h)] += 1;
    }
    SumCounts(starts, t->vertexCount);
    for (size_t i = halves; i-- > 0;)
    {
        t->edgeHalves[--starts[LowEnd(t, byHigh[i])]] = byHigh[i];
    }
}

static void NumberEdges(knTopology* t)
{
    size_t halves = 3 * t->triangleCount;
    for (size_t i = 0; i < halves; ++i)
    {
        uint32_t h = t->edgeHalves[i];
        uint32_t previous = i > 0 ? t->edgeHalves[i - 1] : h;
        bool same =
            i > 0 && LowEnd(t, previous) == LowEnd(t, h) && HighEnd(t, previous) == HighEnd(t, h);
        if (!same)
        {
            t->edgeStarts[t->edgeCount++] = (uint32_t)i;
        }
        t->halfEdges[h] = (uint32_t)(t->edgeCount - 1);
    }
    t->edgeStarts[t->edgeCount] = (uint32_t)halves;
}

knResult knBuildTopology(knTopology* topology, const knSoup* soup)
{
    const knAllocator* a = &soup->allocator;
    size_t halves = 3 * soup->triangleCount;
    size_t vertices = soup->positionCount;
    knTopology t = {.allocator = *a,
                    .triangleCount = soup->triangleCount,
                    .vertexCount = vertices,
                    .triangles = soup->triangles,
                    .edgeStarts = knTake(a, halves, sizeof(uint32_t)),
                    .edgeHalves = knTake(a, halves, sizeof(uint32_t)),
                    .halfEdges = knTake(a, halves, sizeof(uint32_t)),
                    .cornerStarts = knTake(a, vertices, sizeof(uint32_t)),
                    .corners = knTake(a, halves, sizeof(uint32_t))};
    uint32_t* byHigh = knTake(a, halves, sizeof(uint32_t));
    uint32_t* starts = knTake(a, vertices, sizeof(uint32_t));
    bool ok = t.edgeStarts && t.edgeHalves && t.halfEdges && t.cornerStarts && t.corners &&
              byHigh && starts;
    if (ok)
    {
        SortCorners(&t);
        SortHalves(&t, byHigh, starts);
        NumberEdges(&t);
        *topology = t;
    }
    else
    {
        knDestroyTopology(&t);
    }
    knGive(a, byHigh, halves, sizeof(uint32_t));
    knGive(a, starts, vertices, sizeof(uint32_t));
    return ok ? kn_success : kn_errorMemory;
}

void knDestroyTopology(knTopology* topology)
{
    const knAllocator* a = &topology->allocator;
    size_t halves = 3 * topology->triangleCount;
    knGive(a, topology->edgeStarts, halves, sizeof(uint32_t));
    knGive(a, topology->edgeHalves, halves, sizeof(uint32_t));
    knGive(a, topology->halfEdges, halves, sizeof(uint32_t));
    knGive(a, topology->cornerStarts, topology->vertexCount, sizeof(uint32_t));
    knGive(a, topology->corners, halves, sizeof(uint32_t));
    *topology = (knTopology){0};
}

uint32_t knTopology_Mate(const knTopology* topology, uint32_t half)
{
    uint32_t edge = topology->halfEdges[half];
    if (knTopology_EdgeSize(topology, edge) != 2)
    {
        return KN_NO_HALF;
    }
    const uint32_t* pair = &topology->edgeHalves[topology->edgeStarts[edge]];
    return pair[0] == half ? pair[1] : pair[0];
}

bool knTopology_HasEdge(const knTopology* topology, uint32_t a, uint32_t b)
{
    for (uint32_t i = topology->cornerStarts[a]; i < topology->cornerStarts[a + 1]; ++i)
    {
        uint32_t next = knNextHalf(topology->corners[i]);
        if (knTopology_Origin(topology, next) == b || knTopology_Target(topology, next) == b)
        {
            return true;
        }
    }
    return false;
}

size_t knTopology_MarkRim(const knTopology* topology, bool* flags)
{
    size_t open = 0;
    for (uint32_t h = 0; h < 3 * topology->triangleCount; ++h)
    {
        if (knTopology_IsOpen(topology, h))
        {
            flags[knTopology_Origin(topology, h)] = true;
            flags[knTopology_Target(topology, h)] = true;
            open += 1;
        }
    }
    return open;
}

void knInitSets(uint32_t* sets, size_t count)
{
    for (size_t i = 0; i < count; ++i)
    {
        sets[i] = (uint32_t)i;
    }
}

uint32_t knFindSet(uint32_t* sets, uint32_t item)
{
    while (sets[item] != item)
    {
        sets[item] = sets[sets[item]];
        item = sets[item];
    }
    return item;
}

void knJoinSets(uint32_t* sets, uint32_t a, uint32_t b)
{
    a = knFindSet(sets, a);
    b = knFindSet(sets, b);
    if (a < b)
    {
        sets[b] = a;
    }
    else
    {
        sets[a] = b;
    }
}

// the corner of the half-edge's triangle at a vertex of the half-edge
static uint32_t CornerAt(const knTopology* t, uint32_t half, uint32_t vertex)
{
    return knTopology_Origin(t, half) == vertex ? half : knNextHalf(half);
}

void knJoinFans(const knTopology* topology, const uint32_t* mates, uint32_t* fans)
{
    knInitSets(fans, 3 * topology->triangleCount);
    for (uint32_t h = 0; h < 3 * topology->triangleCount; ++h)
    {
        uint32_t mate = mates ? mates[h] : knTopology_Mate(topology, h);
        if (mate == KN_NO_HALF || mate < h)
        {
            continue;
        }
        uint32_t a = knTopology_Origin(topology, h), b = knTopology_Target(topology, h);
        knJoinSets(fans, CornerAt(topology, h, a), CornerAt(topology, mate, a));
        knJoinSets(fans, CornerAt(topology, h, b), CornerAt(topology, mate, b));
    }
}

size_t knCountSplitVertices(const knTopology* topology, uint32_t* fans, bool* flags)
{
    size_t found = 0;
    for (size_t v = 0; v < topology->vertexCount; ++v)
    {
        uint32_t first = topology->cornerStarts[v], end = topology->cornerStarts[v + 1];
        bool split = false;
        for (uint32_t i = first + 1; i < end && !split; ++i)
        {
            split =
                knFindSet(fans, topology->corners[i]) != knFindSet(fans, topology->corners[first]);
        }
        flags[v] = split;
        found += split;
    }
    return found;
}

size_t knNumberComponents(const knTopology* topology, uint32_t* components)
{
    size_t count = 0;
    knInitSets(components, topology->triangleCount);
    for (size_t e = 0; e < topology->edgeCount; ++e)
    {
        const uint32_t* halves = &topology->edgeHalves[topology->edgeStarts[e]];
        for (uint32_t i = 1; i < knTopology_EdgeSize(topology, e); ++i)
        {
            knJoinSets(components, halves[0] / 3, halves[i] / 3);
        }
    }
    for (uint32_t t = 0; t < topology->triangleCount; ++t)
    {
        components[t] = knFindSet(components, t);
    }
    // a leader comes before its members, so its own entry already holds the number
    for (uint32_t t = 0; t < topology->triangleCount; ++t)
    {
        components[t] = components[t] == t ? (uint32_t)count++ : components[components[t]];
    }
    return count;
}
