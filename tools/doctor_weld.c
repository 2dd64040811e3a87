// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

static uint64_t HashPosition(knVec3 p)
{
    uint32_t bits[3];
    memcpy(bits, &p, sizeof(bits));
    uint64_t h = bits[0] * 0x9E3779B97F4A7C15u;
    h = (h ^ (h >> 29) ^ bits[1]) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 32) ^ bits[2]) * 0x94D049BB133111EBu;
    return h ^ (h >> 31);
}

static bool SamePosition(knVec3 a, knVec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// map[v] becomes the first vertex in the same place. Order by index: only lookups use the hash.
static void MapEqualVertices(const knSoup* soup, uint32_t* table, size_t tableSize, uint32_t* map)
{
    memset(table, 0xFF, tableSize * sizeof(uint32_t));
    for (size_t v = 0; v < soup->positionCount; ++v)
    {
        knVec3 p = soup->positions[v];
        size_t slot = HashPosition(p) & (tableSize - 1);
        while (table[slot] != KN_NONE && !SamePosition(soup->positions[table[slot]], p))
        {
            slot = (slot + 1) & (tableSize - 1);
        }
        if (table[slot] == KN_NONE)
        {
            table[slot] = (uint32_t)v;
        }
        map[v] = table[slot];
    }
}

static void ApplyMap(knSoup* soup, const uint32_t* map)
{
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        for (int k = 0; k < 3; ++k)
        {
            soup->triangles[t].v[k] = map[soup->triangles[t].v[k]];
        }
    }
}

static void ReportUnreferenced(knDoctor* doctor, bool* used)
{
    const knSoup* soup = doctor->soup;
    for (size_t c = 0; c < 3 * soup->triangleCount; ++c)
    {
        used[soup->triangles[c / 3].v[c % 3]] = true;
    }
    for (size_t v = 0; v < soup->positionCount; ++v)
    {
        if (!used[v])
        {
            knDoctor_FoundVertex(doctor, kn_defectUnreferenced, v);
        }
    }
    knDoctor_Judge(doctor, kn_defectUnreferenced, kn_actionNone, "they are left out");
}

static void ReportEqualVertices(knDoctor* doctor, const uint32_t* map)
{
    for (size_t v = 0; v < doctor->soup->positionCount; ++v)
    {
        if (map[v] != v)
        {
            knDoctor_FoundVertex(doctor, kn_defectDuplicateVertex, v);
        }
    }
    knDoctor_Judge(doctor, kn_defectDuplicateVertex, kn_actionNone,
                   "normal for STL and at texture seams: they are shared, each corner keeps its "
                   "texture coordinates");
}

// first, so that vertices which are not finite and not used do no harm further on
static knResult DropUnreferenced(knDoctor* doctor)
{
    knSoup* soup = doctor->soup;
    size_t count = soup->positionCount;
    bool* used = knTake(&soup->allocator, count, sizeof(bool));
    if (!used)
    {
        return kn_errorMemory;
    }
    ReportUnreferenced(doctor, used);
    knGive(&soup->allocator, used, count, sizeof(bool));
    return knSoup_Compact(soup, NULL);
}

knResult knDoctor_Weld(knDoctor* doctor)
{
    knSoup* soup = doctor->soup;
    const knAllocator* a = &soup->allocator;
    knResult result = DropUnreferenced(doctor);
    if (result != kn_success)
    {
        return result;
    }
    size_t count = soup->positionCount, tableSize = 16;
    while (tableSize < 2 * count)
    {
        tableSize *= 2;
    }
    uint32_t* table = knTake(a, tableSize, sizeof(uint32_t));
    uint32_t* map = knTake(a, count, sizeof(uint32_t));
    result = table && map ? kn_success : kn_errorMemory;
    for (size_t v = 0; v < count && result == kn_success; ++v)
    {
        // minus zero becomes zero: equal places must have equal bits for the hash
        soup->positions[v] = knAdd(soup->positions[v], knMakeVec3(0.0f, 0.0f, 0.0f));
    }
    if (result == kn_success)
    {
        MapEqualVertices(soup, table, tableSize, map);
        ReportEqualVertices(doctor, map);
        ApplyMap(soup, map);
        result = knSoup_Compact(soup, NULL);
    }
    knGive(a, table, tableSize, sizeof(uint32_t));
    knGive(a, map, count, sizeof(uint32_t));
    return result;
}

// The search for the vertex of another rim that a rim vertex can be joined with.
typedef struct RimSearch
{
    const knSoup* soup;
    const knTopology* topology;
    const uint32_t* rim;  // vertices on open edges, ascending
    uint32_t* leaders;    // per vertex; itself when it leads
    uint32_t* nextMember; // per vertex, in the list of its leader; KN_NONE ends it
    float tolerance;
    uint32_t vertex; // looks for
    uint32_t found;  // a leader, or KN_NONE
    float distance;
} RimSearch;

static bool MayJoin(const RimSearch* s, uint32_t leader)
{
    // joining the ends of an edge would make a triangle without area
    for (uint32_t m = leader; m != KN_NONE; m = s->nextMember[m])
    {
        if (knTopology_HasEdge(s->topology, m, s->vertex))
        {
            return false;
        }
    }
    return true;
}

static bool TryRimVertex(uint32_t item, void* context)
{
    RimSearch* s = context;
    uint32_t other = s->rim[item];
    if (other >= s->vertex || s->leaders[other] != other)
    {
        return true;
    }
    float d = knDistance(s->soup->positions[other], s->soup->positions[s->vertex]);
    bool nearer = d < s->distance || (d == s->distance && other < s->found);
    if (d <= s->tolerance && nearer && MayJoin(s, other))
    {
        s->found = other;
        s->distance = d;
    }
    return true;
}

static void JoinRims(knDoctor* doctor, RimSearch* s, const knBoxTree* tree, size_t rimCount)
{
    for (size_t i = 0; i < rimCount; ++i)
    {
        s->vertex = s->rim[i];
        s->found = KN_NONE;
        s->distance = FLT_MAX;
        knBoxTree_Query(tree, knBox_Expand(tree->boxes[i], s->tolerance), TryRimVertex, s);
        if (s->found != KN_NONE)
        {
            s->leaders[s->vertex] = s->found;
            s->nextMember[s->vertex] = s->nextMember[s->found];
            s->nextMember[s->found] = s->vertex;
            knDoctor_FoundVertex(doctor, kn_defectDuplicateVertex, s->vertex);
        }
    }
}

static size_t ListRim(const knTopology* topology, const bool* onRim, const knSoup* soup,
                      uint32_t* rim, knBox* boxes)
{
    size_t count = 0;
    for (size_t v = 0; v < topology->vertexCount; ++v)
    {
        if (onRim[v])
        {
            rim[count] = (uint32_t)v;
            boxes[count++] = (knBox){soup->positions[v], soup->positions[v]};
        }
    }
    return count;
}

static knResult SearchRims(knDoctor* doctor, const knTopology* topology, RimSearch* s,
                           uint32_t* rim, knBox* boxes, bool* onRim)
{
    knBoxTree tree;
    size_t openCount = knTopology_MarkRim(topology, onRim);
    size_t rimCount = ListRim(topology, onRim, doctor->soup, rim, boxes);
    doctor->rimless = openCount == 0;
    if (doctor->rimless)
    {
        return kn_success;
    }
    knResult result = knBuildBoxTree(&tree, boxes, rimCount, &doctor->soup->allocator);
    if (result == kn_success)
    {
        // what the exact weld told is normal; what is joined here is a defect
        knDefect exact = doctor->report->defects[kn_defectDuplicateVertex];
        doctor->report->defects[kn_defectDuplicateVertex] = (knDefect){0};
        JoinRims(doctor, s, &tree, rimCount);
        if (knDoctor_Has(doctor, kn_defectDuplicateVertex))
        {
            knDoctor_Judge(doctor, kn_defectDuplicateVertex, kn_actionRepair,
                           "rims that lie within %g m of each other are joined",
                           (double)doctor->tolerance);
            ApplyMap(doctor->soup, s->leaders);
            doctor->cleaned = false;
        }
        else
        {
            doctor->report->defects[kn_defectDuplicateVertex] = exact;
        }
        knDestroyBoxTree(&tree);
    }
    return result;
}

knResult knDoctor_WeldRims(knDoctor* doctor)
{
    knSoup* soup = doctor->soup;
    const knAllocator* a = &soup->allocator;
    size_t count = soup->positionCount;
    knTopology topology;
    knResult result = knBuildTopology(&topology, soup);
    if (result != kn_success)
    {
        return result;
    }
    bool* onRim = knTake(a, count, sizeof(bool));
    knBox* boxes = knTake(a, count, sizeof(knBox));
    uint32_t* rim = knTake(a, count, sizeof(uint32_t));
    uint32_t* leaders = knTake(a, count, sizeof(uint32_t));
    uint32_t* nextMember = knTake(a, count, sizeof(uint32_t));
    result = onRim && boxes && rim && leaders && nextMember ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        knInitSets(leaders, count);
        memset(nextMember, 0xFF, count * sizeof(uint32_t));
        RimSearch search = {.soup = soup,
                            .topology = &topology,
                            .rim = rim,
                            .leaders = leaders,
                            .nextMember = nextMember,
                            .tolerance = doctor->tolerance};
        result = SearchRims(doctor, &topology, &search, rim, boxes, onRim);
    }
    knGive(a, onRim, count, sizeof(bool));
    knGive(a, boxes, count, sizeof(knBox));
    knGive(a, rim, count, sizeof(uint32_t));
    knGive(a, leaders, count, sizeof(uint32_t));
    knGive(a, nextMember, count, sizeof(uint32_t));
    knDestroyTopology(&topology);
    return result == kn_success ? knSoup_Compact(soup, NULL) : result;
}
