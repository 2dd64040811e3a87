// SPDX-License-Identifier: Zlib
#include "soup.h"

#include <string.h>

#define MAX_FAN_SAMPLES 512 // faces looked at per corner; keeps a hub of any valence affordable

knSoup knMakeSoup(const knAllocator* allocator)
{
    return (knSoup){.allocator = allocator ? *allocator : knDefaultAllocator()};
}

void knDestroySoup(knSoup* soup)
{
    if (!soup)
    {
        return;
    }
    const knAllocator* a = &soup->allocator;
    knRelease(a, soup->positions, soup->positionCapacity, sizeof(knVec3));
    knRelease(a, soup->vertexSources, soup->positionCapacity, sizeof(uint32_t));
    knRelease(a, soup->triangles, soup->triangleCapacity, sizeof(knTriangle));
    knRelease(a, soup->corners, soup->triangleCapacity, sizeof(knTriangle));
    knRelease(a, soup->sources, soup->triangleCapacity, sizeof(uint32_t));
    knRelease(a, soup->attributes, soup->attributeCapacity, sizeof(knCornerAttribute));
    knAllocator allocator = soup->allocator;
    *soup = (knSoup){.allocator = allocator};
}

static knResult CheckRoom(size_t count, const char* what)
{
    if (count >= KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "a mesh has at most %u %s", KN_MAX_MESH_SIZE, what);
    }
    return kn_success;
}

// arrays that share one capacity grow together or not at all
static knResult GrowTogether(const knAllocator* allocator, void** arrays[], const size_t sizes[],
                             int arrayCount, size_t* capacity, size_t needed)
{
    if (needed <= *capacity)
    {
        return kn_success;
    }
    void* grown[3] = {NULL, NULL, NULL};
    size_t newCapacity = needed < 2 * *capacity ? 2 * *capacity : needed;
    newCapacity = newCapacity < 16 ? 16 : newCapacity;
    for (int i = 0; i < arrayCount; ++i)
    {
        grown[i] = knAllocate(allocator, newCapacity, sizes[i]);
        if (!grown[i])
        {
            for (int k = 0; k < i; ++k)
            {
                knRelease(allocator, grown[k], newCapacity, sizes[k]);
            }
            return kn_errorMemory;
        }
    }
    for (int i = 0; i < arrayCount; ++i)
    {
        if (*arrays[i])
        {
            memcpy(grown[i], *arrays[i], *capacity * sizes[i]);
            knRelease(allocator, *arrays[i], *capacity, sizes[i]);
        }
        *arrays[i] = grown[i];
    }
    *capacity = newCapacity;
    return kn_success;
}

static knResult GrowPositions(knSoup* soup, size_t needed)
{
    void* positions = soup->positions;
    void* sources = soup->vertexSources;
    void** arrays[] = {&positions, &sources};
    const size_t sizes[] = {sizeof(knVec3), sizeof(uint32_t)};
    knResult result =
        GrowTogether(&soup->allocator, arrays, sizes, 2, &soup->positionCapacity, needed);
    soup->positions = positions;
    soup->vertexSources = sources;
    return result;
}

static knResult GrowTriangles(knSoup* soup, size_t needed)
{
    void* triangles = soup->triangles;
    void* corners = soup->corners;
    void* sources = soup->sources;
    void** arrays[] = {&triangles, &corners, &sources};
    const size_t sizes[] = {sizeof(knTriangle), sizeof(knTriangle), sizeof(uint32_t)};
    knResult result =
        GrowTogether(&soup->allocator, arrays, sizes, 3, &soup->triangleCapacity, needed);
    soup->triangles = triangles;
    soup->corners = corners;
    soup->sources = sources;
    return result;
}

static knResult GrowAttributes(knSoup* soup, size_t needed)
{
    void* attributes = soup->attributes;
    knResult result = knGrow(&soup->allocator, &attributes, &soup->attributeCapacity, needed,
                             sizeof(knCornerAttribute));
    soup->attributes = attributes;
    return result;
}

knResult knCloneSoup(knSoup* clone, const knSoup* soup)
{
    knSoup copy = knMakeSoup(&soup->allocator);
    knResult result = GrowPositions(&copy, soup->positionCount);
    result = result == kn_success ? GrowTriangles(&copy, soup->triangleCount) : result;
    result = result == kn_success ? GrowAttributes(&copy, soup->attributeCount) : result;
    if (result != kn_success)
    {
        knDestroySoup(&copy);
        return result;
    }
    if (soup->positionCount > 0)
    {
        memcpy(copy.positions, soup->positions, soup->positionCount * sizeof(knVec3));
        memcpy(copy.vertexSources, soup->vertexSources, soup->positionCount * sizeof(uint32_t));
    }
    if (soup->triangleCount > 0)
    {
        memcpy(copy.triangles, soup->triangles, soup->triangleCount * sizeof(knTriangle));
        memcpy(copy.corners, soup->corners, soup->triangleCount * sizeof(knTriangle));
        memcpy(copy.sources, soup->sources, soup->triangleCount * sizeof(uint32_t));
    }
    if (soup->attributeCount > 0)
    {
        memcpy(copy.attributes, soup->attributes, soup->attributeCount * sizeof(knCornerAttribute));
    }
    copy.positionCount = soup->positionCount;
    copy.triangleCount = soup->triangleCount;
    copy.attributeCount = soup->attributeCount;
    copy.hasUv = soup->hasUv;
    copy.hasNormals = soup->hasNormals;
    *clone = copy;
    return kn_success;
}

knResult knSoup_AddPosition(knSoup* soup, knVec3 position, uint32_t* index)
{
    knResult result = CheckRoom(soup->positionCount, "vertices");
    result = result == kn_success ? GrowPositions(soup, soup->positionCount + 1) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t added = (uint32_t)soup->positionCount++;
    soup->positions[added] = position;
    soup->vertexSources[added] = added;
    if (index)
    {
        *index = added;
    }
    return kn_success;
}

knResult knSoup_AddAttribute(knSoup* soup, knCornerAttribute attribute, uint32_t* index)
{
    // three corners per triangle may each have their own
    knResult result = CheckRoom(soup->attributeCount / 3, "triangles with their own attributes");
    result = result == kn_success ? GrowAttributes(soup, soup->attributeCount + 1) : result;
    if (result != kn_success)
    {
        return result;
    }
    soup->attributes[soup->attributeCount] = attribute;
    if (index)
    {
        *index = (uint32_t)soup->attributeCount;
    }
    soup->attributeCount += 1;
    return kn_success;
}

knResult knSoup_AddTriangle(knSoup* soup, knTriangle triangle, knTriangle corners, uint32_t source)
{
    knResult result = CheckRoom(soup->triangleCount, "triangles");
    result = result == kn_success ? GrowTriangles(soup, soup->triangleCount + 1) : result;
    if (result != kn_success)
    {
        return result;
    }
    soup->triangles[soup->triangleCount] = triangle;
    soup->corners[soup->triangleCount] = corners;
    soup->sources[soup->triangleCount] = source;
    soup->triangleCount += 1;
    return kn_success;
}

static void DropTriangles(knSoup* soup, const bool* dropped)
{
    size_t kept = 0;
    for (size_t i = 0; i < soup->triangleCount; ++i)
    {
        if (!dropped[i])
        {
            soup->triangles[kept] = soup->triangles[i];
            soup->corners[kept] = soup->corners[i];
            soup->sources[kept] = soup->sources[i];
            kept += 1;
        }
    }
    soup->triangleCount = kept;
}

// Turns marks (0 or not) into new indices and returns how many there are.
static size_t NumberMarked(uint32_t* marks, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i)
    {
        marks[i] = marks[i] ? (uint32_t)kept++ : KN_NONE;
    }
    return kept;
}

static void Renumber(knTriangle* triangles, size_t count, const uint32_t* map, size_t mapSize)
{
    for (size_t i = 0; i < count; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            uint32_t* v = &triangles[i].v[k];
            *v = *v < mapSize ? map[*v] : *v;
        }
    }
}

static void MarkUsed(const knTriangle* triangles, size_t count, uint32_t* marks, size_t markCount)
{
    for (size_t i = 0; i < count; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            if (triangles[i].v[k] < markCount)
            {
                marks[triangles[i].v[k]] = 1;
            }
        }
    }
}

static void CompactPositions(knSoup* soup, uint32_t* map)
{
    memset(map, 0, soup->positionCount * sizeof(uint32_t));
    MarkUsed(soup->triangles, soup->triangleCount, map, soup->positionCount);
    size_t kept = NumberMarked(map, soup->positionCount);
    for (size_t i = 0; i < soup->positionCount; ++i)
    {
        if (map[i] != KN_NONE)
        {
            soup->positions[map[i]] = soup->positions[i];
            soup->vertexSources[map[i]] = soup->vertexSources[i];
        }
    }
    Renumber(soup->triangles, soup->triangleCount, map, soup->positionCount);
    soup->positionCount = kept;
}

static void CompactAttributes(knSoup* soup, uint32_t* map)
{
    memset(map, 0, soup->attributeCount * sizeof(uint32_t));
    MarkUsed(soup->corners, soup->triangleCount, map, soup->attributeCount);
    size_t kept = NumberMarked(map, soup->attributeCount);
    for (size_t i = 0; i < soup->attributeCount; ++i)
    {
        if (map[i] != KN_NONE)
        {
            soup->attributes[map[i]] = soup->attributes[i];
        }
    }
    Renumber(soup->corners, soup->triangleCount, map, soup->attributeCount);
    soup->attributeCount = kept;
}

knResult knSoup_Compact(knSoup* soup, const bool* dropped)
{
    size_t most =
        soup->positionCount > soup->attributeCount ? soup->positionCount : soup->attributeCount;
    uint32_t* map = knAllocate(&soup->allocator, most + 1, sizeof(uint32_t));
    if (!map)
    {
        return kn_errorMemory;
    }
    if (dropped)
    {
        DropTriangles(soup, dropped);
    }
    CompactPositions(soup, map);
    CompactAttributes(soup, map);
    knRelease(&soup->allocator, map, most + 1, sizeof(uint32_t));
    return kn_success;
}

// What MakeNormals works with; corner c is corner c % 3 of triangle c / 3.
typedef struct NormalScratch
{
    knVec3* areas;    // per triangle, twice its area along its normal
    uint32_t* starts; // positionCount + 1
    uint32_t* around; // corners by vertex
    float cosine;     // of the crease angle
} NormalScratch;

static void FillScratch(const knSoup* soup, NormalScratch* s)
{
    memset(s->starts, 0, (soup->positionCount + 1) * sizeof(uint32_t));
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        const uint32_t* v = soup->triangles[t].v;
        knDVec3 o = knToDouble(soup->positions[v[0]]);
        knDVec3 a = knDSub(knToDouble(soup->positions[v[1]]), o);
        knDVec3 b = knDSub(knToDouble(soup->positions[v[2]]), o);
        s->areas[t] = knToFloat(knDCross(a, b));
        for (int k = 0; k < 3; ++k)
        {
            s->starts[v[k]] += 1;
        }
    }
    uint32_t sum = 0;
    for (size_t i = 0; i <= soup->positionCount; ++i)
    {
        sum += s->starts[i];
        s->starts[i] = sum;
    }
    // filling from the back leaves each start where it belongs, and the corners ascending
    for (size_t c = 3 * soup->triangleCount; c-- > 0;)
    {
        s->around[--s->starts[soup->triangles[c / 3].v[c % 3]]] = (uint32_t)c;
    }
}

static knVec3 CornerNormal(const NormalScratch* s, uint32_t vertex, uint32_t corner)
{
    uint32_t first = s->starts[vertex];
    uint32_t count = s->starts[vertex + 1] - first;
    uint32_t stride = 1 + (count - 1) / MAX_FAN_SAMPLES;
    knVec3 own = knNormalize(s->areas[corner / 3]);
    // faces are summed in one order for all corners, so that a smooth vertex gets one normal
    knVec3 sum = stride > 1 ? s->areas[corner / 3] : knMakeVec3(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < count; i += stride)
    {
        knVec3 area = s->areas[s->around[first + i] / 3];
        bool same = s->around[first + i] / 3 == corner / 3;
        if ((same && stride == 1) || (!same && knDot(own, knNormalize(area)) > s->cosine))
        {
            sum = knAdd(sum, area);
        }
    }
    knVec3 normal = knNormalize(sum);
    // a face without area still needs a unit normal
    return knLengthSquared(normal) > 0.0f ? normal : knMakeVec3(0.0f, 0.0f, 1.0f);
}

static bool SameAttribute(const knCornerAttribute* a, const knCornerAttribute* b)
{
    return a->normal.x == b->normal.x && a->normal.y == b->normal.y && a->normal.z == b->normal.z &&
           a->u == b->u && a->v == b->v;
}

// Gives the corner its attribute, one that an earlier corner of the vertex made if it is the same.
static knResult SetNormal(knSoup* soup, const NormalScratch* s, uint32_t vertex, uint32_t at)
{
    uint32_t corner = s->around[at];
    uint32_t* slot = &soup->corners[corner / 3].v[corner % 3];
    knCornerAttribute attribute = soup->attributes[*slot];
    if (knLengthSquared(attribute.normal) > 0.0f)
    {
        return kn_success;
    }
    attribute.normal = CornerNormal(s, vertex, corner);
    uint32_t oldest = at - s->starts[vertex] > 16 ? at - 16 : s->starts[vertex];
    for (uint32_t i = oldest; i < at; ++i)
    {
        uint32_t other = soup->corners[s->around[i] / 3].v[s->around[i] % 3];
        if (SameAttribute(&soup->attributes[other], &attribute))
        {
            *slot = other;
            return kn_success;
        }
    }
    return knSoup_AddAttribute(soup, attribute, slot);
}

knResult knSoup_MakeNormals(knSoup* soup, float creaseDegrees)
{
    const knAllocator* a = &soup->allocator;
    size_t corners = 3 * soup->triangleCount;
    size_t vertices = soup->positionCount;
    NormalScratch s = {.areas = knAllocate(a, soup->triangleCount + 1, sizeof(knVec3)),
                       .starts = knAllocate(a, vertices + 1, sizeof(uint32_t)),
                       .around = knAllocate(a, corners + 1, sizeof(uint32_t)),
                       .cosine = cosf(creaseDegrees * 0.01745329252f)};
    knResult result = s.areas && s.starts && s.around ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        FillScratch(soup, &s);
    }
    for (uint32_t v = 0; result == kn_success && v < vertices; ++v)
    {
        for (uint32_t i = s.starts[v]; result == kn_success && i < s.starts[v + 1]; ++i)
        {
            result = SetNormal(soup, &s, v, i);
        }
    }
    knRelease(a, s.areas, soup->triangleCount + 1, sizeof(knVec3));
    knRelease(a, s.starts, vertices + 1, sizeof(uint32_t));
    knRelease(a, s.around, corners + 1, sizeof(uint32_t));
    return result == kn_success ? knSoup_Compact(soup, NULL) : result;
}
