// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

knBvhSceneDef knDefaultBvhSceneDef(void)
{
    knBvhSceneDef def = {
        .size = sizeof def,
        .build = kn_bvhBuildMidpoint,
        .update = kn_bvhUpdateRefit,
        .culling = kn_bvhCullExact,
        .instructions = kn_instructionsBest,
        .gridBits = 1,
        .gridLimit = 200,
        .restructureShare = 0.25f,
    };
    return def;
}

static knResult CheckDef(const knBvhSceneDef* def)
{
    if (def->size != sizeof *def)
    {
        return knFail(kn_errorArgument, "size is %zu, not %zu; start from knDefaultBvhSceneDef",
                      def->size, sizeof *def);
    }
    if ((unsigned)def->build >= kn_bvhBuildCount || (unsigned)def->update >= kn_bvhUpdateCount ||
        (unsigned)def->culling >= kn_bvhCullCount ||
        (unsigned)def->instructions >= kn_instructionsCount)
    {
        return knFail(kn_errorArgument,
                      "build %d, update %d, culling %d or instructions %d is none that there is",
                      (int)def->build, (int)def->update, (int)def->culling, (int)def->instructions);
    }
    if (def->gridBits < 1 || def->gridBits > 2)
    {
        return knFail(kn_errorArgument, "gridBits is %d; it must be 1 or 2", def->gridBits);
    }
    if (def->gridLimit < 64 || def->gridLimit > 1000000)
    {
        return knFail(kn_errorArgument, "gridLimit is %d; it must be from 64 to 1000000",
                      def->gridLimit);
    }
    if (!(def->restructureShare >= 0.0f && def->restructureShare <= 1.0f))
    {
        return knFail(kn_errorArgument, "restructureShare is %g; it must be from 0 to 1",
                      (double)def->restructureShare);
    }
    return kn_success;
}

const knBvhKernels* knChooseKernels(knInstructionSet set)
{
    const knBvhKernels* best = &knScalarBvhKernels;
#if defined(__SSE2__)
    bool hasAvx2 = __builtin_cpu_supports("avx2");
    best = hasAvx2 ? &knAvx2BvhKernels : &knSseBvhKernels;
    if (set == kn_instructionsSse)
    {
        return &knSseBvhKernels;
    }
    if (set == kn_instructionsAvx2)
    {
        return hasAvx2 ? &knAvx2BvhKernels : NULL;
    }
#else
    if (set == kn_instructionsSse || set == kn_instructionsAvx2)
    {
        return NULL;
    }
#endif
    return set == kn_instructionsScalar ? &knScalarBvhKernels : best;
}

static knResult InitScene(knBvhScene* s, const knBvhSceneDef* def)
{
    s->def = *def;
    s->kernels = knChooseKernels(def->instructions);
    if (!s->kernels)
    {
        return knFail(kn_errorArgument, "this processor lacks the instructions asked for; use "
                                        "kn_instructionsBest");
    }
    s->freePair = KN_NONE;
    s->freeTriangle = s->freeBlock = KN_LAST_FREE;
    s->nodeSlots = 2;
    s->isCommitted = true;
    s->orderIsValid = true;
    s->trust[0] = s->trust[1] = 1.0;
    knResult result = knReserveLeaves(s, 1);
    return result == kn_success ? knCreatePool(&s->bodies, sizeof(knBvhBody), 16, &s->allocator)
                                : result;
}

knResult knCreateBvhScene(knBvhScene** scene, const knBvhSceneDef* def,
                          const knAllocator* allocator)
{
    if (!scene || !def)
    {
        return knFail(kn_errorArgument, "a scene needs a place for its pointer and a definition");
    }
    knResult result = CheckDef(def);
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knAllocator outer = allocator ? *allocator : knDefaultAllocator();
    knBvhScene* s = knAllocate(&outer, 1, sizeof *s);
    if (!s)
    {
        return kn_errorMemory;
    }
    memset(s, 0, sizeof *s);
    s->allocator = knTrackingAllocator(&s->tracker, &outer);
    result = InitScene(s, def);
    if (result != kn_success)
    {
        knDestroyBvhScene(s);
        return result;
    }
    *scene = s;
    return kn_success;
}

void knDestroyBvhScene(knBvhScene* s)
{
    if (!s)
    {
        return;
    }
    const knAllocator* a = &s->allocator;
    knRelease(a, s->positions, s->vertexCapacity, sizeof *s->positions);
    knRelease(a, s->places, s->triangleCapacity, sizeof *s->places);
    knRelease(a, s->nodes, s->nodeCapacity, sizeof *s->nodes);
    knRelease(a, s->cold, s->coldCapacity, sizeof *s->cold);
    knRelease(a, s->histories, s->historyCapacity, sizeof *s->histories);
    knRelease(a, s->order, s->orderCapacity, sizeof *s->order);
    knRelease(a, s->blocks, s->blockCapacity, sizeof *s->blocks);
    knRelease(a, s->blockNodes, s->blockNodeCapacity, sizeof *s->blockNodes);
    knRelease(a, s->cullNodes, s->cullNodeCapacity, sizeof *s->cullNodes);
    knRelease(a, s->edges, s->edgeCapacity, sizeof *s->edges);
    knRelease(a, s->cones, s->coneCapacity, sizeof *s->cones);
    knRelease(a, s->boundaryMasks, s->boundaryMaskCapacity, sizeof *s->boundaryMasks);
    knRelease(a, s->links, s->linkCapacity, sizeof *s->links);
    knRelease(a, s->flood, s->floodCapacity, sizeof *s->flood);
    knRelease(a, s->items, s->itemCapacity, sizeof *s->items);
    knRelease(a, s->sources, s->sourceCapacity, sizeof *s->sources);
    knRelease(a, s->parts, s->partCapacity, sizeof *s->parts);
    knRelease(a, s->units, s->unitCapacity, sizeof *s->units);
    knRelease(a, s->partStarts, s->partStartCapacity, sizeof *s->partStarts);
    knRelease(a, s->changes, s->changeCapacity, sizeof *s->changes);
    if (s->bodies.items)
    {
        knDestroyPool(&s->bodies);
    }
    knAllocator outer = s->tracker.inner;
    knRelease(&outer, s, 1, sizeof *s);
}

knResult knBvhScene_AddVertices(knBvhScene* s, const knVec3* positions, uint32_t count,
                                uint32_t* first)
{
    if (!s || (!positions && count > 0))
    {
        return knFail(kn_errorArgument, "vertices need a scene and positions");
    }
    if (count > KN_MAX_MESH_SIZE - s->vertexCount)
    {
        return knFail(kn_errorLimit, "a scene holds at most %u vertices", KN_MAX_MESH_SIZE);
    }
    knResult result = knGrow(&s->allocator, (void**)&s->positions, &s->vertexCapacity,
                             (size_t)s->vertexCount + count, sizeof *s->positions);
    if (result != kn_success)
    {
        return result;
    }
    if (count > 0)
    {
        memcpy(s->positions + s->vertexCount, positions, count * sizeof *positions);
    }
    if (first)
    {
        *first = s->vertexCount;
    }
    s->vertexCount += count;
    return kn_success;
}

knResult knBvhScene_MoveVertices(knBvhScene* s, uint32_t first, uint32_t count,
                                 const knVec3* positions)
{
    if (!s || (!positions && count > 0))
    {
        return knFail(kn_errorArgument, "a move needs a scene and positions");
    }
    if (first > s->vertexCount || count > s->vertexCount - first)
    {
        return knFail(kn_errorArgument, "vertices %u to %u, but there are %u", first, first + count,
                      s->vertexCount);
    }
    if (count > 0)
    {
        memcpy(s->positions + first, positions, count * sizeof *positions);
        s->hasMoved = true;
        s->isCommitted = false;
    }
    return kn_success;
}

void knBvhScene_Info(const knBvhScene* s, knBvhSceneInfo* info)
{
    if (!s || !info)
    {
        return;
    }
    memset(info, 0, sizeof *info);
    info->vertexCount = s->vertexCount;
    info->triangleCount = s->triangleSlots - s->freeTriangleCount;
    info->bodyCount = s->bodies.count;
    info->leafCount = s->blockSlots - s->freeBlockCount;
    info->nodeCount = info->leafCount > 0 ? 2 * info->leafCount - 1 : 0;
    info->brokenCount = s->brokenCount;
    info->restructureCount = s->restructureCount;
    info->bytes = s->tracker.bytes + sizeof *s;
    info->bounds = knEmptyBox();
    if (s->hasRoot)
    {
        const knBvhNode* root = &s->nodes[0];
        info->interCost = (double)s->cold[0].interCost;
        info->selfCost = (double)s->cold[0].selfCost;
        info->bounds.lower = knMakeVec3(root->lower[0], root->lower[1], root->lower[2]);
        info->bounds.upper = knMakeVec3(root->upper[0], root->upper[1], root->upper[2]);
    }
}

static bool IsTriangle(const knBvhScene* s, uint32_t id)
{
    return s && id < s->triangleSlots && (s->places[id] & KN_FREE) == 0;
}

knTriangle knBvhScene_Triangle(const knBvhScene* s, uint32_t id)
{
    knTriangle none = {{KN_NONE, KN_NONE, KN_NONE}};
    if (!IsTriangle(s, id))
    {
        return none;
    }
    knBuildSource source = knSourceAt(s, s->places[id]);
    return (knTriangle){{source.v[0], source.v[1], source.v[2]}};
}

knId knBvhScene_TriangleBody(const knBvhScene* s, uint32_t id)
{
    knId none = {0, 0};
    if (!IsTriangle(s, id))
    {
        return none;
    }
    uint32_t index = s->cold[knLeafOf(s, id)].body;
    return (knId){index, s->bodies.generations[index - 1]};
}
