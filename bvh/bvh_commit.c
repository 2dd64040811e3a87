// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

#define REFIT_RANGE  256 // blocks to a task
#define EDGE_SAMPLES 1024

// Leaves of a range of blocks: the part of a refit that fetches vertices.
static void RefitLeaves(int begin, int end, int worker, void* context)
{
    knBvhScene* s = context;
    (void)worker;
    uint32_t mode = knBeginExact(), broken = 0;
    for (uint32_t block = (uint32_t)begin; block < (uint32_t)end; ++block)
    {
        if (!knIsBlockFree(s, block))
        {
            knBvhNode* leaf = &s->nodes[s->blockNodes[block]];
            broken += s->kernels->refitBlock(&s->blocks[block], s->positions, leaf);
        }
    }
    __atomic_add_fetch(&s->brokenCount, broken, __ATOMIC_RELAXED);
    knEndExact(mode);
}

static void RefitInner(knBvhScene* s)
{
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        knRefitNode(s, s->order[i]);
    }
}

static int CompareFloats(const void* a, const void* b)
{
    float x = *(const float*)a, y = *(const float*)b;
    return (x > y) - (x < y);
}

// A hundredth of the median edge, from a sample: a flat box would have no volume to compare.
static void SetPadding(knBvhScene* s)
{
    float lengths[EDGE_SAMPLES];
    int count = 0;
    uint32_t step = s->triangleSlots / EDGE_SAMPLES + 1;
    for (uint32_t i = 0; i < s->triangleSlots; i += step)
    {
        if ((s->places[i] & KN_FREE) == 0)
        {
            knBuildSource t = knSourceAt(s, s->places[i]);
            float length = knDistance(s->positions[t.v[0]], s->positions[t.v[1]]);
            lengths[count] = length;
            count += length > 0.0f && length <= FLT_MAX;
        }
    }
    qsort(lengths, (size_t)count, sizeof lengths[0], CompareFloats);
    s->padding = count > 0 ? 0.01f * lengths[count / 2] : 0.0f;
}

static void CountBroken(knBvhScene* s)
{
    s->brokenCount = 0;
    for (uint32_t block = 0; block < s->blockSlots; ++block)
    {
        uint32_t count = knIsBlockFree(s, block) ? 0 : s->nodes[s->blockNodes[block]].count;
        for (uint32_t lane = 0; lane < count; ++lane)
        {
            s->brokenCount += isnan(s->blocks[block].v[0][0][lane]) ? 1 : 0;
        }
    }
}

// Brings the hierarchy to the positions as they are now.
static void Refit(knBvhScene* s, const knTaskHooks* tasks)
{
    if (s->def.update == kn_bvhUpdateRebuild)
    {
        knRebuildAll(s);
        return;
    }
    s->brokenCount = 0;
    knParallelFor(tasks, (int)s->blockSlots, REFIT_RANGE, RefitLeaves, s);
    RefitInner(s);
    if (s->def.update == kn_bvhUpdateSelective)
    {
        knRestructureSelected(s);
    }
}

static void UpdateCulling(knBvhScene* s)
{
    if (s->def.culling == kn_bvhCullExact || s->def.culling == kn_bvhCullNormalCones)
    {
        knUpdateContours(s);
    }
    if (s->def.culling == kn_bvhCullExact)
    {
        knUpdateCulling(s);
    }
    if (s->def.culling > kn_bvhCullExact)
    {
        knUpdateCones(s);
    }
}

// What only builds need is kept where a commit may build.
static void ReleaseScratch(knBvhScene* s)
{
    if (s->def.update == kn_bvhUpdateRefit)
    {
        knRelease(&s->allocator, s->items, s->itemCapacity, sizeof *s->items);
        knRelease(&s->allocator, s->sources, s->sourceCapacity, sizeof *s->sources);
        s->items = NULL;
        s->sources = NULL;
        s->itemCapacity = s->sourceCapacity = 0;
    }
}

knResult knBvhScene_Commit(knBvhScene* s, const knTaskHooks* tasks)
{
    if (!s)
    {
        return knFail(kn_errorArgument, "a commit needs a scene");
    }
    knResult result = knCheckTaskHooks(tasks);
    if (result != kn_success)
    {
        return result;
    }
    bool mayRebuild = s->def.update != kn_bvhUpdateRefit && s->hasMoved;
    result = mayRebuild ? knReserveRebuild(s) : kn_success;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t mode = knBeginExact();
    s->commitCount += 1;
    bool hasNewShape = !s->orderIsValid;
    if (!s->orderIsValid)
    {
        knOrderNodes(s);
        SetPadding(s);
        RefitInner(s); // costs depend on the padding
    }
    if (s->hasMoved)
    {
        Refit(s, tasks);
    }
    bool hasTried = !s->orderIsValid; // to restructure, and did
    if (hasTried)
    {
        knOrderNodes(s);
    }
    if (hasNewShape || s->def.update == kn_bvhUpdateRebuild)
    {
        CountBroken(s);
        ReleaseScratch(s);
    }
    UpdateCulling(s);
    if (s->histories && (hasNewShape || hasTried))
    {
        knRememberCosts(s);
    }
    knCloseJournal(s);
    s->hasMoved = false;
    s->isCommitted = true;
    knEndExact(mode);
    return kn_success;
}
