// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

// The distance from each ancestor to each point, kept with the child that leads to the point. A
// chain of parents is no longer than there are levels.
static void MeasureNeeds(knSphereBuild* b, const knVec3* positions, double* need2)
{
    for (uint32_t rank = 0; rank < b->count; ++rank)
    {
        need2[rank] = 0.0;
        knVec3 position = positions[b->order[rank]];
        uint32_t child = rank;
        for (uint32_t a = b->parent[rank]; a != KN_NONE; a = b->parent[a])
        {
            double distance2 = knSphereDistance2(positions[b->order[a]], position);
            need2[child] = distance2 > need2[child] ? distance2 : need2[child];
            child = a;
        }
    }
}

// From the last rank down, each child goes to the front of its list: lists ascend by rank and so by
// level, and the radius of the siblings behind is known.
void knSphereBuild_Link(knSphereBuild* b, const knVec3* positions)
{
    // the ordering is done with it
    double* need2 = b->distance2;
    MeasureNeeds(b, positions, need2);
    for (uint32_t rank = 0; rank < b->count; ++rank)
    {
        b->first[rank] = KN_NONE;
    }
    for (uint32_t rank = b->count; rank-- > 0;)
    {
        uint32_t parent = b->parent[rank];
        b->next[rank] = KN_NONE;
        b->reach[rank] = 0.0f;
        if (parent != KN_NONE)
        {
            uint32_t behind = b->first[parent];
            double rest = behind == KN_NONE ? 0.0 : need2[behind];
            need2[rank] = need2[rank] > rest ? need2[rank] : rest;
            b->reach[rank] = knRadiusUp(need2[rank]);
            b->next[rank] = behind;
            b->first[parent] = rank;
        }
    }
}
