// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

#define EDGE_SAMPLES 96 // few, as every update takes them

knHierarchyDef knDefaultHierarchyDef(void)
{
    knHierarchyDef def = {
        .size = sizeof def,
        .method = kn_hierarchyBalanced,
        .instructions = kn_instructionsBest,
        .optimize = true,
        .rebuildQuality = 2.3f,
        .invalidRatio = 0.9f,
        .crowdedShare = 0.8f,
        .leafSize = KN_LANES,
        .restFrames = 8,
        .sortLimit = 8.0f,
        .sortFrames = 20,
        .seed = 1,
    };
    return def;
}

static knResult CheckRange(const char* name, float value, float low, float high)
{
    return value >= low && value <= high
               ? kn_success
               : knFail(kn_errorArgument, "%s is %g; it must be from %g to %g", name, (double)value,
                        (double)low, (double)high);
}

static knResult CheckDef(const knHierarchyDef* def)
{
    if (def->size != sizeof *def)
    {
        return knFail(kn_errorArgument, "size is %zu, not %zu; start from knDefaultHierarchyDef",
                      def->size, sizeof *def);
    }
    if ((unsigned)def->method >= kn_hierarchyMethodCount ||
        (unsigned)def->instructions >= kn_instructionsCount)
    {
        return knFail(kn_errorArgument, "method %d or instructions %d is none that there is",
                      (int)def->method, (int)def->instructions);
    }
    const struct
    {
        const char* name;
        float value, low, high;
    } ranges[] = {{"rebuildQuality", def->rebuildQuality, 0.0f, 1e30f},
                  {"invalidRatio", def->invalidRatio, 0.0f, 100.0f},
                  {"crowdedShare", def->crowdedShare, 0.5f, 0.95f},
                  {"leafSize", (float)def->leafSize, 1.0f, KN_LANES},
                  {"restFrames", (float)def->restFrames, 0.0f, 1e6f},
                  {"sortLimit", def->sortLimit, 0.0f, 1e6f},
                  {"sortFrames", (float)def->sortFrames, 1.0f, 1e6f}};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && result == kn_success; ++i)
    {
        result = CheckRange(ranges[i].name, ranges[i].value, ranges[i].low, ranges[i].high);
    }
    return result;
}

static knResult ReserveCache(knHierarchy* h)
{
    knResult result = knGrow(&h->allocator, (void**)&h->blocks, &h->blockCapacity, KN_BLOCK_CACHE,
                             sizeof *h->blocks);
    result = result == kn_success
                 ? knGrow(&h->allocator, (void**)&h->blockKeys, &h->blockKeyCapacity,
                          2 * KN_BLOCK_CACHE, sizeof *h->blockKeys)
                 : result;
    if (result == kn_success)
    {
        memset(h->blockKeys, 0xFF, h->blockKeyCapacity * sizeof *h->blockKeys);
    }
    return result;
}

static knResult InitHierarchy(knHierarchy* h, const knHierarchyDef* def)
{
    h->def = *def;
    h->kernels = knChooseKernels(def->instructions);
    if (!h->kernels)
    {
        return knFail(kn_errorArgument, "this processor lacks the instructions asked for; use "
                                        "kn_instructionsBest");
    }
    h->freeTriangle = h->freeNode = KN_NONE;
    memset(h->freeBlocks, 0xFF, sizeof h->freeBlocks);
    h->isUpdated = true;
    h->period = 1; // what was never marked is of 0
    h->swiper.random = knMakeRandom(def->seed);
    knResult result = def->method == kn_hierarchyLazy ? ReserveCache(h) : kn_success;
    return result == kn_success
               ? knCreatePool(&h->bodies, sizeof(knHierarchyBody), 16, &h->allocator)
               : result;
}

knResult knCreateHierarchy(knHierarchy** hierarchy, const knHierarchyDef* def,
                           const knAllocator* allocator)
{
    if (!hierarchy || !def)
    {
        return knFail(kn_errorArgument,
                      "a hierarchy needs a place for its pointer and a definition");
    }
    knResult result = CheckDef(def);
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knAllocator outer = allocator ? *allocator : knDefaultAllocator();
    knHierarchy* h = knAllocate(&outer, 1, sizeof *h);
    if (!h)
    {
        return kn_errorMemory;
    }
    memset(h, 0, sizeof *h);
    h->allocator = knTrackingAllocator(&h->tracker, &outer);
    result = InitHierarchy(h, def);
    if (result != kn_success)
    {
        knDestroyHierarchy(h);
        return result;
    }
    *hierarchy = h;
    return kn_success;
}

static void ReleaseSwiper(knHierarchy* h)
{
    const knAllocator* a = &h->allocator;
    knSwiper* s = &h->swiper;
    for (int axis = 0; axis < 3; ++axis)
    {
        knRelease(a, s->axes[axis].endpoints, s->axes[axis].capacity, sizeof(knEndpoint));
    }
    knRelease(a, s->boxes, s->boxCapacity, sizeof *s->boxes);
    knRelease(a, s->places, s->placeCapacity, sizeof *s->places);
    knRelease(a, s->open, s->openCapacity, sizeof *s->open);
    knRelease(a, s->openNames, s->openNameCapacity, sizeof *s->openNames);
}

void knDestroyHierarchy(knHierarchy* h)
{
    if (!h)
    {
        return;
    }
    const knAllocator* a = &h->allocator;
    for (uint32_t slot = h->bodies.items ? knNextBody(h, 0) : 0; slot; slot = knNextBody(h, slot))
    {
        knHierarchyBody* body = knGetHierarchyBody(h, slot);
        knRelease(a, body->primitives, body->primitiveCapacity, sizeof *body->primitives);
    }
    knRelease(a, h->positions, h->vertexCapacity, sizeof *h->positions);
    knRelease(a, h->triangles, h->triangleCapacity, sizeof *h->triangles);
    knRelease(a, h->nodes, h->nodeCapacity, sizeof *h->nodes);
    knRelease(a, h->links, h->linkCapacity, sizeof *h->links);
    knRelease(a, h->fanHeads, h->fanHeadCapacity, sizeof *h->fanHeads);
    knRelease(a, h->fans, h->fanCapacity, sizeof *h->fans);
    knRelease(a, h->queue, h->queueCapacity, sizeof *h->queue);
    knRelease(a, h->isPending, h->pendingCapacity, sizeof *h->isPending);
    knRelease(a, h->lazy, h->lazyCapacity, sizeof *h->lazy);
    knRelease(a, h->rigidBoxes, h->rigidBoxCapacity, sizeof *h->rigidBoxes);
    knRelease(a, h->splitItems, h->splitItemCapacity, sizeof *h->splitItems);
    knRelease(a, h->blocks, h->blockCapacity, sizeof *h->blocks);
    knRelease(a, h->blockKeys, h->blockKeyCapacity, sizeof *h->blockKeys);
    knRelease(a, h->changes, h->changeCapacity, sizeof *h->changes);
    knRelease(a, h->items, h->itemCapacity, sizeof *h->items);
    ReleaseSwiper(h);
    if (h->bodies.items)
    {
        knDestroyPool(&h->bodies);
    }
    knAllocator outer = h->tracker.inner;
    knRelease(&outer, h, 1, sizeof *h);
}

knResult knReserveHierarchyVertices(knHierarchy* h, uint32_t count)
{
    if (count > KN_MAX_MESH_SIZE - h->vertexCount)
    {
        return knFail(kn_errorLimit, "a hierarchy holds at most %u vertices", KN_MAX_MESH_SIZE);
    }
    size_t needed = (size_t)h->vertexCount + count + 1;
    knResult result = knGrow(&h->allocator, (void**)&h->positions, &h->vertexCapacity, needed,
                             sizeof *h->positions);
    return result == kn_success && h->def.method == kn_hierarchyBalanced
               ? knGrow(&h->allocator, (void**)&h->fanHeads, &h->fanHeadCapacity, needed,
                        sizeof *h->fanHeads)
               : result;
}

knResult knHierarchy_AddVertices(knHierarchy* h, const knVec3* positions, uint32_t count,
                                 uint32_t* first)
{
    if (!h || (!positions && count > 0))
    {
        return knFail(kn_errorArgument, "vertices need a hierarchy and positions");
    }
    knResult result = knReserveHierarchyVertices(h, count);
    if (result != kn_success)
    {
        return result;
    }
    if (count > 0)
    {
        memcpy(h->positions + h->vertexCount, positions, count * sizeof *positions);
    }
    for (uint32_t i = 0; i < count && h->fanHeads; ++i)
    {
        h->fanHeads[h->vertexCount + i] = KN_NONE;
    }
    if (first)
    {
        *first = h->vertexCount;
    }
    h->vertexCount += count;
    return kn_success;
}

knResult knHierarchy_MoveVertices(knHierarchy* h, uint32_t first, uint32_t count,
                                  const knVec3* positions)
{
    if (!h || (!positions && count > 0))
    {
        return knFail(kn_errorArgument, "a move needs a hierarchy and positions");
    }
    if (first > h->vertexCount || count > h->vertexCount - first)
    {
        return knFail(kn_errorArgument, "vertices from %u, %u of them, but there are %u", first,
                      count, h->vertexCount);
    }
    if (count > 0)
    {
        memcpy(h->positions + first, positions, count * sizeof *positions);
        h->isUpdated = false;
    }
    return kn_success;
}

void knSetHierarchyPadding(knHierarchy* h)
{
    float lengths[EDGE_SAMPLES];
    int count = 0;
    uint32_t step = h->triangleSlots / EDGE_SAMPLES + 1;
    for (uint32_t i = 0; i < h->triangleSlots; i += step)
    {
        const knBvhTriangle* t = &h->triangles[i];
        float length = t->body ? knDistance(h->positions[t->v[0]], h->positions[t->v[1]]) : 0.0f;
        if (length > 0.0f && length <= FLT_MAX)
        {
            int k = count++;
            for (; k > 0 && lengths[k - 1] > length; --k)
            {
                lengths[k] = lengths[k - 1];
            }
            lengths[k] = length;
        }
    }
    h->padding = count > 0 ? 0.01f * lengths[count / 2] : 0.0f;
}

knResult knHierarchy_Update(knHierarchy* h)
{
    if (!h)
    {
        return knFail(kn_errorArgument, "an update needs a hierarchy");
    }
    uint32_t mode = knBeginExact();
    knSetHierarchyPadding(h);
    knResult result = h->def.method == kn_hierarchyBalanced ? knUpdateBalanced(h)
                      : h->def.method == kn_hierarchyLazy   ? knUpdateLazy(h)
                                                            : knUpdateSwiper(h);
    knEndExact(mode);
    if (result == kn_success)
    {
        h->period += 1;
        h->epoch += 1;
        h->isUpdated = true;
    }
    return result;
}

static uint32_t LazyHeight(const knHierarchy* h, uint32_t node)
{
    uint32_t height = 0;
    const knBvhNode* box = &h->lazy[node].box;
    for (uint32_t i = box->child; i < box->child + box->count; ++i)
    {
        uint32_t below = 1 + LazyHeight(h, i);
        height = below > height ? below : height;
    }
    return height;
}

static uint32_t CountActive(const knHierarchy* h, uint32_t node)
{
    const knLazyNode* n = &h->lazy[node];
    uint32_t count = n->activeIn == h->period;
    for (uint32_t i = n->box.child; i < n->box.child + n->box.count; ++i)
    {
        count += CountActive(h, i);
    }
    return count;
}

static void AddBodyInfo(const knHierarchy* h, const knHierarchyBody* body, knHierarchyInfo* info)
{
    if (body->root == KN_NONE)
    {
        return;
    }
    bool isBalanced = h->def.method == kn_hierarchyBalanced;
    uint32_t height = isBalanced ? h->links[body->root].height : LazyHeight(h, body->root);
    info->height = height > info->height ? height : info->height;
    info->activeCount += isBalanced ? 0 : CountActive(h, body->root);
    info->quality = body->quality > info->quality ? body->quality : info->quality;
}

void knHierarchy_Info(const knHierarchy* h, knHierarchyInfo* info)
{
    if (!h || !info)
    {
        return;
    }
    memset(info, 0, sizeof *info);
    info->vertexCount = h->vertexCount;
    info->triangleCount = h->triangleSlots - h->freeTriangleCount;
    info->bodyCount = h->bodies.count;
    info->nodeCount = h->nodeSlots - h->freeNodeCount + h->lazyUsed;
    info->brokenCount = h->brokenCount;
    info->bytes = h->tracker.bytes + sizeof *h;
    info->axis = h->swiper.axis;
    for (int axis = 0; axis < 3; ++axis)
    {
        const knSweepAxis* a = &h->swiper.axes[axis];
        info->overlaps[axis] = a->isSorted ? a->overlaps : UINT64_MAX;
    }
    for (uint32_t slot = knNextBody(h, 0); slot; slot = knNextBody(h, slot))
    {
        AddBodyInfo(h, knGetHierarchyBody(h, slot), info);
    }
}

knHierarchyWork knHierarchy_TakeWork(knHierarchy* h)
{
    knHierarchyWork work = {0};
    if (h)
    {
        work = h->work;
        memset(&h->work, 0, sizeof h->work);
    }
    return work;
}

static bool IsTriangle(const knHierarchy* h, uint32_t id)
{
    return h && id < h->triangleSlots && h->triangles[id].body != 0;
}

knTriangle knHierarchy_Triangle(const knHierarchy* h, uint32_t id)
{
    knTriangle none = {{KN_NONE, KN_NONE, KN_NONE}};
    if (!IsTriangle(h, id))
    {
        return none;
    }
    const uint32_t* v = h->triangles[id].v;
    return (knTriangle){{v[0], v[1], v[2]}};
}

knId knHierarchy_TriangleBody(const knHierarchy* h, uint32_t id)
{
    uint32_t slot = IsTriangle(h, id) ? h->triangles[id].body : 0;
    return slot ? (knId){slot, h->bodies.generations[slot - 1]} : (knId){0, 0};
}

knVec3 knHierarchy_Position(const knHierarchy* h, uint32_t triangle, int corner)
{
    if (!IsTriangle(h, triangle) || corner < 0 || corner > 2)
    {
        return knMakeVec3(NAN, NAN, NAN);
    }
    const knBvhTriangle* t = &h->triangles[triangle];
    const knHierarchyBody* body = knGetHierarchyBody(h, t->body);
    knVec3 p = h->positions[t->v[corner]];
    return body->isRigid ? knTransformPoint(body->pose, p) : p;
}
