// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

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

// Shell sort: most vertices have a dozen half-edges, a hub may have a million.
static void SortKeys(uint64_t* keys, size_t count)
{
    for (size_t gap = count > 1 ? count / 2 : 0; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    {
        for (size_t i = gap; i < count; ++i)
        {
            uint64_t moving = keys[i];
            size_t k = i;
            for (; k >= gap && keys[k - gap] > moving; k -= gap)
            {
                keys[k] = keys[k - gap];
            }
            keys[k] = moving;
        }
    }
}

static uint64_t EdgeKey(uint32_t highEnd, uint32_t half)
{
    return (uint64_t)highEnd << 32 | half;
}

// The half-edges whose low end is the vertex, by high end and then by index.
static size_t ListKeys(const knTopology* t, uint32_t vertex, uint64_t* keys)
{
    size_t count = 0;
    for (uint32_t i = t->cornerStarts[vertex]; i < t->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t out = t->corners[i], in = out % 3 == 0 ? out + 2 : out - 1;
        uint32_t target = knTopology_Target(t, out), origin = knTopology_Origin(t, in);
        if (target > vertex)
        {
            keys[count++] = EdgeKey(target, out);
        }
        if (origin > vertex)
        {
            keys[count++] = EdgeKey(origin, in);
        }
    }
    SortKeys(keys, count);
    return count;
}

// Vertex by vertex, so that memory is walked once: O(n) but for the sorting at hubs.
static void NumberEdges(knTopology* t, uint64_t* keys)
{
    uint32_t place = 0;
    for (uint32_t v = 0; v < t->vertexCount; ++v)
    {
        size_t count = ListKeys(t, v, keys);
        for (size_t i = 0; i < count; ++i)
        {
            uint32_t half = (uint32_t)keys[i];
            if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
            {
                t->edgeStarts[t->edgeCount++] = place;
            }
            t->edgeHalves[place++] = half;
            t->halfEdges[half] = (uint32_t)(t->edgeCount - 1);
        }
    }
    t->edgeStarts[t->edgeCount] = place;
}

static size_t LargestValence(const knTopology* t)
{
    size_t largest = 0;
    for (size_t v = 0; v < t->vertexCount; ++v)
    {
        size_t valence = t->cornerStarts[v + 1] - t->cornerStarts[v];
        largest = valence > largest ? valence : largest;
    }
    return largest;
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
    bool ok = t.edgeStarts && t.edgeHalves && t.halfEdges && t.cornerStarts && t.corners;
    if (ok)
    {
        SortCorners(&t);
        size_t keyCount = 2 * LargestValence(&t);
        uint64_t* keys = knTake(a, keyCount, sizeof(uint64_t));
        ok = keys != NULL;
        if (ok)
        {
            NumberEdges(&t, keys);
        }
        knGive(a, keys, keyCount, sizeof(uint64_t));
    }
    if (!ok)
    {
        knDestroyTopology(&t);
        return kn_errorMemory;
    }
    *topology = t;
    return kn_success;
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
