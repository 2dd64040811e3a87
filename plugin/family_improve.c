// SPDX-License-Identifier: Zlib
#include "family_internal.h"

#include <string.h>

// A forest grows poorer with every break: more roots, wider spheres. Here one piece at a time gets
// a fresh tree, in slices whose size the caller chooses, so that all of it is the same on every
// machine.

#define SCAN_SHARE 16 // points looked at for one unit of work

knResult knFamily_ReserveTrees(knFamily* f, uint32_t labelCount)
{
    size_t before = f->treeCapacity;
    void* items = f->freshTrees;
    knResult result = knGrow(&f->allocator, &items, &f->treeCapacity, labelCount, sizeof(uint32_t));
    f->freshTrees = items;
    if (result == kn_success && f->treeCapacity > before)
    {
        memset(f->freshTrees + before, 0xFF, (f->treeCapacity - before) * sizeof(uint32_t));
    }
    return result;
}

void knFamily_DropTrees(knFamily* f)
{
    knDestroySphereRebuild(f->rebuild);
    knRelease(&f->allocator, f->freshTrees, f->treeCapacity, sizeof(uint32_t));
    f->rebuild = NULL;
    f->freshTrees = NULL;
    f->treeCapacity = 0;
}

// Broken since it was last rebuilt, and still in the world.
static bool IsCandidate(const knFamily* f, uint32_t fragment)
{
    const knFragment* piece = &f->fragments.fragments[fragment];
    knBox box = knFragmentField_Box(f->field, fragment);
    knSphereFragment tree = knSphereForest_Fragment(&f->forest, fragment);
    bool isFresh = fragment < f->treeCapacity && f->freshTrees[fragment] == tree.generation;
    return piece->state != kn_fragmentEnded && box.lower.x <= box.upper.x && tree.pointCount > 0 &&
           !isFresh;
}

// How many times worse than what counts as poor; the larger of the two criteria.
static float Poorness(const knSphereQuality* q)
{
    float roots = (float)q->rootCount / KN_POOR_ROOTS;
    float reach =
        q->freshMeanReach > 0.0f ? q->meanReach / (KN_POOR_REACH * q->freshMeanReach) : 0.0f;
    return roots > reach ? roots : reach;
}

// KN_NONE when no tree is poor. Ties go to the lowest id.
static uint32_t FindPoorest(const knFamily* f, uint32_t* units)
{
    uint32_t poorest = KN_NONE, points = 0;
    float most = 0.0f;
    for (uint32_t i = 0; i < f->fragments.fragmentCount; ++i)
    {
        if (!IsCandidate(f, i))
        {
            continue;
        }
        knSphereQuality quality = knSphereForest_Quality(&f->forest, i);
        points += quality.pointCount;
        float poorness = Poorness(&quality);
        if (knSphereQuality_IsPoor(&quality) && poorness > most)
        {
            most = poorness;
            poorest = i;
        }
    }
    *units += points / SCAN_SHARE + 1;
    return poorest;
}

static void Finish(knFamily* f, knImproveReport* report)
{
    uint32_t fragment = knSphereRebuild_Fragment(f->rebuild);
    // a piece that broke meanwhile keeps what it has
    if (knSphereRebuild_Commit(f->rebuild, &f->forest))
    {
        f->freshTrees[fragment] = knSphereForest_Fragment(&f->forest, fragment).generation;
        report->swapped = fragment;
    }
    knDestroySphereRebuild(f->rebuild);
    f->rebuild = NULL;
}

static knResult BeginRebuild(knFamily* f, knImproveReport* report)
{
    report->fragment = FindPoorest(f, &report->units);
    f->mayBePoor = report->fragment != KN_NONE;
    if (!f->mayBePoor)
    {
        return kn_success;
    }
    knResult result = knFamily_ReserveTrees(f, f->fragments.fragmentCount);
    return result == kn_success ? knBeginSphereRebuild(&f->rebuild, &f->forest, &f->cuts,
                                                       report->fragment, true, &f->allocator)
                                : result;
}

knResult knFamily_Improve(knFamily* family, uint32_t units, knImproveReport* report)
{
    if (!family || !report || family->isBehind)
    {
        return knFail(kn_errorArgument, "knFamily_Improve: null, or cut and not yet followed");
    }
    *report = (knImproveReport){.fragment = KN_NONE, .swapped = KN_NONE};
    knResult result = kn_success;
    while (result == kn_success && report->units < units && report->swapped == KN_NONE)
    {
        if (!family->rebuild)
        {
            result = family->mayBePoor ? BeginRebuild(family, report) : kn_success;
            if (!family->rebuild)
            {
                break;
            }
            continue;
        }
        report->fragment = knSphereRebuild_Fragment(family->rebuild);
        uint32_t left = units - report->units;
        uint32_t slice = left < KN_REBUILD_SLICE ? left : KN_REBUILD_SLICE;
        report->units += slice;
        if (knSphereRebuild_Step(family->rebuild, slice))
        {
            Finish(family, report);
        }
    }
    return result;
}
