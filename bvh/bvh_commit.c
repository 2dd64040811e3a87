// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

#define REFIT_RANGE  512 // nodes to a task
#define EDGE_SAMPLES 1024

// Leaves of a range of the order: the part of a refit that fetches vertices.
typedef struct LeafTask
{
    knBvhScene* scene;
} LeafTask;

static void RefitLeaves(int begin, int end, int worker, void* context)
{
    knBvhScene* s = ((LeafTask*)context)->scene;
    (void)worker;
    uint32_t mode = knBeginExact();
    for (int i = begin; i < end; ++i)
    {
        knBvhNode* n = &s->nodes[s->order[i]];
        if (knIsLeaf(n))
        {
            s->kernels->refitBlock(&s->blocks[n->child], s->positions, n);
        }
    }
    knEndExact(mode);
}

static void RefitInner(knBvhScene* s)
{
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        if (!knIsLeaf(&s->nodes[s->order[i]]))
        {
            knRefitNode(s, s->order[i]);
        }
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
        const knBvhTriangle* t = &s->triangles[i];
        float length = t->body ? knDistance(s->positions[t->v[0]], s->positions[t->v[1]]) : 0.0f;
        if (length > 0.0f && length <= FLT_MAX)
        {
            lengths[count++] = length;
        }
    }
    qsort(lengths, (size_t)count, sizeof lengths[0], CompareFloats);
    s->padding = count > 0 ? 0.01f * lengths[count / 2] : 0.0f;
}

static void CountBroken(knBvhScene* s)
{
    s->brokenCount = 0;
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        const knBvhNode* n = &s->nodes[s->order[i]];
        for (uint32_t lane = 0; lane < n->count; ++lane)
        {
            s->brokenCount += isnan(s->blocks[n->child].v[0][0][lane]) ? 1 : 0;
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
    LeafTask task = {s};
    knParallelFor(tasks, (int)s->orderCount, REFIT_RANGE, RefitLeaves, &task);
    RefitInner(s);
    if (s->def.update == kn_bvhUpdateSelective)
    {
        knRestructureSelected(s);
    }
}

static knResult UpdateCulling(knBvhScene* s)
{
    knResult result = kn_success;
    if (s->def.culling == kn_bvhCullExact || s->def.culling == kn_bvhCullNormalCones)
    {
        result = knUpdateContours(s);
    }
    if (s->def.culling == kn_bvhCullExact)
    {
        knUpdateCulling(s);
    }
    bool hasCones = s->def.culling > kn_bvhCullExact;
    return hasCones && result == kn_success ? knUpdateCones(s) : result;
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
    if (!s->orderIsValid)
    {
        knOrderNodes(s);
    }
    result = UpdateCulling(s);
    knRememberCosts(s);
    CountBroken(s);
    s->hasMoved = false;
    s->isCommitted = result == kn_success;
    knEndExact(mode);
    return result;
}
