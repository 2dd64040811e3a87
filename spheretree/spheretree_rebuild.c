// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

#include <string.h>

struct knSphereRebuild
{
    knAllocator allocator;
    size_t size; // bytes of the whole block, this struct first
    knSphereBuild build;
    uint32_t* points;  // ids, ascending
    knVec3* positions; // of points
    uint32_t* dropped; // ids that leave the forest
    uint32_t pointCount;
    uint32_t droppedCount;
    uint32_t fragment;
    uint32_t generation; // of the fragment when it was copied
    uint32_t rank;       // points that have their place in the order
    bool hasRun;
};

// Takes the radii down to 0, then up again from every point to all its ancestors.
void knSphereForest_Shrink(knSphereForest* forest, uint32_t fragment, const knCutStore* cuts)
{
    if (!forest || !cuts || !forest->memory)
    {
        return;
    }
    knMutableLinks own = knSphereForest_Own(forest);
    uint32_t root = knSphereForest_Fragment(forest, fragment).firstRoot;
    for (uint32_t p = root; p != KN_NONE; p = knSphereForest_NextPoint(forest, p))
    {
        own.reach[p] = 0.0f;
    }
    for (uint32_t p = root; p != KN_NONE; p = knSphereForest_NextPoint(forest, p))
    {
        knSphereForest_GrowAbove(forest, cuts, p, knSpherePosition(forest->mesh, cuts, p));
    }
    if (root != KN_NONE)
    {
        ++forest->fragments[fragment].generation;
    }
}

static bool IsHidden(const knSphereForest* forest, uint32_t point)
{
    return point >= forest->mesh->surfaceNodeCount && point < forest->mesh->nodeCount;
}

// Nodes fill a fragment as densely as the whole, so a fresh tree of them looks like the lower
// levels of the cooked one and has its mean reach. Cut points come on top: k times the points are
// between k^-1/3 (volume) and k^-1/2 (surface) times as far apart. Roots only, so that a decision
// to rebuild falls alike on every machine.
static float FreshMeanReach(float cooked, uint32_t nodeCount, uint32_t pointCount)
{
    float share = pointCount > 0 ? (float)nodeCount / (float)pointCount : 0.0f;
    float fourth = sqrtf(sqrtf(share));
    return cooked * fourth * sqrtf(fourth);
}

knSphereQuality knSphereForest_Quality(const knSphereForest* forest, uint32_t fragment)
{
    knSphereFragment f = knSphereForest_Fragment(forest, fragment);
    knSphereQuality quality = {.rootCount = f.rootCount};
    uint32_t nodes = 0;
    double sum = 0.0;
    for (uint32_t p = f.firstRoot; p != KN_NONE; p = knSphereForest_NextPoint(forest, p))
    {
        sum += (double)forest->links.reach[p];
        nodes += p < forest->mesh->nodeCount;
        quality.hiddenCount += IsHidden(forest, p);
        ++quality.pointCount;
    }
    quality.meanReach = quality.pointCount > 0 ? (float)(sum / quality.pointCount) : 0.0f;
    quality.freshMeanReach = FreshMeanReach(forest->tree->meanReach, nodes, quality.pointCount);
    return quality;
}

bool knSphereQuality_IsPoor(const knSphereQuality* quality)
{
    return quality->rootCount > KN_POOR_ROOTS ||
           quality->meanReach > KN_POOR_REACH * quality->freshMeanReach;
}

static size_t Layout(knSphereRebuild* job, uint32_t kept, uint32_t dropped, unsigned char* block)
{
    size_t size = 0;
    knSphereCarve(block, &size, 1, sizeof(knSphereRebuild));
    job->points = knSphereCarve(block, &size, kept, sizeof(uint32_t));
    job->positions = knSphereCarve(block, &size, kept, sizeof(knVec3));
    job->dropped = knSphereCarve(block, &size, dropped, sizeof(uint32_t));
    return size + knSphereBuild_Layout(&job->build, kept, block ? block + size : NULL);
}

static void SiftDown(uint32_t* items, uint32_t i, uint32_t count)
{
    for (uint32_t child = 2 * i + 1; child < count; child = 2 * i + 1)
    {
        child += child + 1 < count && items[child + 1] > items[child];
        if (items[i] >= items[child])
        {
            return;
        }
        uint32_t swap = items[i];
        items[i] = items[child];
        items[child] = swap;
        i = child;
    }
}

// Heap sort: no memory, and no input is slow.
static void SortIds(uint32_t* items, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
    {
        SiftDown(items, i, count);
    }
    for (uint32_t end = count; end-- > 1;)
    {
        uint32_t swap = items[0];
        items[0] = items[end];
        items[end] = swap;
        SiftDown(items, 0, end);
    }
}

// Ascending ids: ties in the order go by id, whatever the links looked like.
static void CopyPoints(knSphereRebuild* job, const knSphereForest* forest, const knCutStore* cuts,
                       bool dropInterior)
{
    uint32_t p = forest->fragments[job->fragment].firstRoot;
    for (; p != KN_NONE; p = knSphereForest_NextPoint(forest, p))
    {
        if (dropInterior && IsHidden(forest, p))
        {
            job->dropped[job->droppedCount++] = p;
        }
        else
        {
            job->points[job->pointCount++] = p;
        }
    }
    SortIds(job->points, job->pointCount);
    for (uint32_t i = 0; i < job->pointCount; ++i)
    {
        job->positions[i] = knSpherePosition(forest->mesh, cuts, job->points[i]);
    }
}

knResult knBeginSphereRebuild(knSphereRebuild** rebuild, const knSphereForest* forest,
                              const knCutStore* cuts, uint32_t fragment, bool dropInterior,
                              const knAllocator* allocator)
{
    knSphereFragment f = {.pointCount = 0};
    if (forest && forest->mesh)
    {
        f = knSphereForest_Fragment(forest, fragment);
    }
    if (!rebuild || !cuts || f.pointCount == 0)
    {
        return knFail(kn_errorArgument, "knBeginSphereRebuild: no fragment %u", fragment);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knSphereQuality quality = knSphereForest_Quality(forest, fragment);
    // of a fragment that has only interior nodes they all stay
    dropInterior = dropInterior && quality.hiddenCount < quality.pointCount;
    uint32_t dropped = dropInterior ? quality.hiddenCount : 0;
    knSphereRebuild job = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                           .fragment = fragment,
                           .generation = f.generation};
    job.size = Layout(&job, quality.pointCount - dropped, dropped, NULL);
    unsigned char* block = knAllocate(&job.allocator, job.size, 1);
    if (!block)
    {
        return kn_errorMemory;
    }
    Layout(&job, quality.pointCount - dropped, dropped, block);
    CopyPoints(&job, forest, cuts, dropInterior);
    memcpy(block, &job, sizeof job);
    *rebuild = (knSphereRebuild*)block;
    return kn_success;
}

void knDestroySphereRebuild(knSphereRebuild* rebuild)
{
    if (rebuild)
    {
        knAllocator allocator = rebuild->allocator;
        knRelease(&allocator, rebuild, rebuild->size, 1);
    }
}

bool knSphereRebuild_Step(knSphereRebuild* rebuild, uint32_t units)
{
    knSphereBuild* b = &rebuild->build;
    if (rebuild->hasRun)
    {
        return true;
    }
    if (rebuild->rank == 0)
    {
        rebuild->rank = knSphereBuild_BeginOrder(b, rebuild->positions);
    }
    else if (rebuild->rank < b->count)
    {
        uint32_t left = b->count - rebuild->rank;
        uint32_t end = rebuild->rank + (units < left ? units : left);
        knSphereBuild_ContinueOrder(b, rebuild->rank, end);
        rebuild->rank = end;
    }
    else
    {
        knSphereBuild_Link(b, rebuild->positions);
        rebuild->hasRun = true;
    }
    return rebuild->hasRun;
}

void knSphereRebuild_Run(knSphereRebuild* rebuild)
{
    while (!knSphereRebuild_Step(rebuild, UINT32_MAX))
    {
    }
}

uint32_t knSphereRebuild_Fragment(const knSphereRebuild* rebuild)
{
    return rebuild->fragment;
}

static uint32_t ToPoint(const knSphereRebuild* job, uint32_t rank)
{
    return rank == KN_NONE ? KN_NONE : job->points[job->build.order[rank]];
}

static void Swap(const knSphereRebuild* job, const knMutableLinks* own)
{
    const knSphereBuild* b = &job->build;
    for (uint32_t rank = 0; rank < b->count; ++rank)
    {
        uint32_t point = ToPoint(job, rank);
        own->parent[point] =
            rank == 0 ? KN_SPHERE_ROOT | job->fragment : ToPoint(job, b->parent[rank]);
        own->first[point] = ToPoint(job, b->first[rank]);
        own->next[point] = ToPoint(job, b->next[rank]);
        own->reach[point] = b->reach[rank];
        own->level[point] = (uint8_t)knSphereLevel(rank);
        own->previous[point] = KN_NONE;
    }
    for (uint32_t rank = 0; rank < b->count; ++rank)
    {
        if (b->next[rank] != KN_NONE)
        {
            own->previous[ToPoint(job, b->next[rank])] = ToPoint(job, rank);
        }
    }
    for (uint32_t i = 0; i < job->droppedCount; ++i)
    {
        uint32_t point = job->dropped[i];
        own->parent[point] = KN_SPHERE_ABSENT;
        own->first[point] = own->next[point] = own->previous[point] = KN_NONE;
        own->reach[point] = 0.0f;
    }
}

bool knSphereRebuild_Commit(const knSphereRebuild* rebuild, knSphereForest* forest)
{
    if (!rebuild || !forest || !forest->memory || !rebuild->hasRun)
    {
        return false;
    }
    knSphereFragment f = knSphereForest_Fragment(forest, rebuild->fragment);
    if (f.generation != rebuild->generation || f.rootCount == 0)
    {
        return false;
    }
    knMutableLinks own = knSphereForest_Own(forest);
    Swap(rebuild, &own);
    forest->fragments[rebuild->fragment] = (knSphereFragment){.firstRoot = ToPoint(rebuild, 0),
                                                              .rootCount = 1,
                                                              .pointCount = rebuild->pointCount,
                                                              .generation = f.generation + 1};
    return true;
}
