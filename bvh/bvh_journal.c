// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// What has been done to the bodies and triangles of a scene, step by step. The entries of the step
// that the last commit closed come first, behind them those that wait for the next one.

knResult knReserveChanges(knBvhScene* s, size_t count)
{
    return knGrow(&s->allocator, (void**)&s->changes, &s->changeCapacity, s->changeCount + count,
                  sizeof *s->changes);
}

void knNoteChange(knBvhScene* s, knBvhChangeKind kind, uint32_t index, uint32_t generation)
{
    KN_ASSERT(s->changeCount < s->changeCapacity);
    s->changes[s->changeCount++] = (knBvhChange){kind, index, generation};
}

void knCloseJournal(knBvhScene* s)
{
    uint32_t open = (uint32_t)s->changeCount - s->closedCount;
    if (open > 0 && s->closedCount > 0)
    {
        memmove(s->changes, s->changes + s->closedCount, open * sizeof *s->changes);
    }
    s->changeCount = s->closedCount = open;
}

const knBvhChange* knBvhScene_Journal(const knBvhScene* s, uint32_t* count)
{
    if (count)
    {
        *count = s ? s->closedCount : 0;
    }
    return s ? s->changes : NULL;
}
