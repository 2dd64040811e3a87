// SPDX-License-Identifier: Zlib
#include "bullet_sources.h"

#include <string.h>
#include <xxhash.h>

#define CHUNK      128 // sources at one address
#define IDLE_HULLS 64  // kept though nobody uses them

struct knSources
{
    knAllocator allocator;
    knPairSource** chunks;
    size_t chunkCapacity;
    uint32_t chunkCount;
    knSharedHull** hulls;
    size_t hullCapacity;
    uint32_t hullCount;
    uint32_t idleCount;
};

knResult knCreateSources(knSources** out, const knAllocator* allocator)
{
    knSources* s = knAllocate(allocator, 1, sizeof(knSources));
    if (!s)
    {
        return kn_errorMemory;
    }
    *s = (knSources){.allocator = *allocator};
    *out = s;
    return kn_success;
}

static void DestroyHull(knSources* s, knSharedHull* hull)
{
    if (hull->isMade)
    {
        knDestroyHull(&hull->hull);
    }
    knRelease(&s->allocator, hull, 1, sizeof *hull);
}

void knDestroySources(knSources* s)
{
    if (!s)
    {
        return;
    }
    for (uint32_t i = 0; i < s->chunkCount; ++i)
    {
        for (int k = 0; k < CHUNK; ++k)
        {
            knPairSource* source = &s->chunks[i][k];
            knRelease(&s->allocator, source->triangles, source->capacity, sizeof(knMeshTriangle));
        }
        knRelease(&s->allocator, s->chunks[i], CHUNK, sizeof(knPairSource));
    }
    for (uint32_t i = 0; i < s->hullCount; ++i)
    {
        DestroyHull(s, s->hulls[i]);
    }
    knAllocator allocator = s->allocator;
    knRelease(&allocator, s->chunks, s->chunkCapacity, sizeof *s->chunks);
    knRelease(&allocator, s->hulls, s->hullCapacity, sizeof *s->hulls);
    knRelease(&allocator, s, 1, sizeof *s);
}

static knResult AddChunk(knSources* s)
{
    knResult result = knGrow(&s->allocator, (void**)&s->chunks, &s->chunkCapacity,
                             s->chunkCount + 1, sizeof *s->chunks);
    knPairSource* chunk =
        result == kn_success ? knAllocate(&s->allocator, CHUNK, sizeof *chunk) : NULL;
    if (!chunk)
    {
        return kn_errorMemory;
    }
    memset(chunk, 0, CHUNK * sizeof *chunk);
    s->chunks[s->chunkCount++] = chunk;
    return kn_success;
}

knResult knSources_Take(knSources* s, uint32_t index, knPairSource** out)
{
    while (index / CHUNK >= s->chunkCount)
    {
        if (AddChunk(s) != kn_success)
        {
            return kn_errorMemory;
        }
    }
    knPairSource* source = &s->chunks[index / CHUNK][index % CHUNK];
    knMeshTriangle* triangles = source->triangles;
    size_t capacity = source->capacity;
    *source = (knPairSource){.triangles = triangles, .capacity = capacity};
    *out = source;
    return kn_success;
}

void knSources_Drop(knSources* s, knPairSource* source)
{
    if (source->hull)
    {
        source->hull->userCount -= 1;
        s->idleCount += source->hull->userCount == 0;
        source->hull = NULL;
    }
}

// Nobody can be sure that an engine's shape is still the one of yesterday at the same address, so
// hulls are told apart by what they hold.
static uint64_t MakeKey(const knVec3* points, const float* radii, uint32_t count)
{
    uint64_t key = XXH3_64bits(points, count * sizeof *points);
    return radii ? XXH3_64bits_withSeed(radii, count * sizeof *radii, key) : key;
}

static void DropIdle(knSources* s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->hullCount; ++i)
    {
        if (s->hulls[i]->userCount > 0)
        {
            s->hulls[kept++] = s->hulls[i];
        }
        else
        {
            DestroyHull(s, s->hulls[i]);
        }
    }
    s->hullCount = kept;
    s->idleCount = 0;
}

knResult knSources_FindHull(knSources* s, const knVec3* points, const float* radii, uint32_t count,
                            knSharedHull** out)
{
    uint64_t key = MakeKey(points, radii, count);
    for (uint32_t i = 0; i < s->hullCount; ++i)
    {
        if (s->hulls[i]->key == key)
        {
            s->idleCount -= s->hulls[i]->userCount == 0;
            s->hulls[i]->userCount += 1;
            *out = s->hulls[i];
            return kn_success;
        }
    }
    if (s->idleCount > IDLE_HULLS)
    {
        DropIdle(s);
    }
    knResult result = knGrow(&s->allocator, (void**)&s->hulls, &s->hullCapacity, s->hullCount + 1,
                             sizeof *s->hulls);
    knSharedHull* hull = result == kn_success ? knAllocate(&s->allocator, 1, sizeof *hull) : NULL;
    if (!hull)
    {
        return kn_errorMemory;
    }
    *hull = (knSharedHull){.key = key, .userCount = 1};
    result = knCreateHull(&hull->hull, points, radii, count, &s->allocator);
    hull->isMade = result == kn_success;
    if (result != kn_success)
    {
        DestroyHull(s, hull);
        return result;
    }
    s->hulls[s->hullCount++] = hull;
    *out = hull;
    return kn_success;
}

bool knSources_AddTriangle(knSources* s, knPairSource* source, const knVec3 v[3], uint32_t id)
{
    uint32_t count = source->batch.count;
    if (knGrow(&s->allocator, (void**)&source->triangles, &source->capacity, count + 1,
               sizeof(knMeshTriangle)) != kn_success)
    {
        return false;
    }
    source->triangles[count] = (knMeshTriangle){{v[0], v[1], v[2]}, id};
    source->batch.count = count + 1;
    return true;
}
