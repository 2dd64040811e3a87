// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

#define DIGIT_BITS  11
#define DIGIT_COUNT (1 << DIGIT_BITS)

// One pass of a radix sort; false when all digits are equal and nothing had to move.
static bool SortDigit(const uint64_t* from, uint64_t* to, size_t count, int shift)
{
    size_t starts[DIGIT_COUNT] = {0};
    for (size_t i = 0; i < count; ++i)
    {
        starts[from[i] >> shift & (DIGIT_COUNT - 1)] += 1;
    }
    if (count == 0 || starts[from[0] >> shift & (DIGIT_COUNT - 1)] == count)
    {
        return false;
    }
    size_t sum = 0;
    for (int i = 0; i < DIGIT_COUNT; ++i)
    {
        size_t here = starts[i];
        starts[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; ++i)
    {
        to[starts[from[i] >> shift & (DIGIT_COUNT - 1)]++] = from[i];
    }
    return true;
}

// Returns the half that has the sorted keys. Keys differ in their ids, so flags need no sorting.
static const uint64_t* SortKeys(uint64_t* keys, uint64_t* other, size_t count)
{
    for (int shift = KN_FLAG_BITS; shift < 64; shift += DIGIT_BITS)
    {
        if (SortDigit(keys, other, count, shift))
        {
            uint64_t* t = keys;
            keys = other;
            other = t;
        }
    }
    return keys;
}

static void AddFunnel(knBvhFunnel* sum, const knBvhFunnel* f)
{
    sum->nodeTests += f->nodeTests;
    sum->culledNodes += f->culledNodes;
    sum->leafPairs += f->leafPairs;
    sum->boxPairs += f->boxPairs;
    sum->filterPairs += f->filterPairs;
    sum->exactSigns += f->exactSigns;
}

knResult knFinishPairs(knBvhQuery* q, int workerCount, size_t keyCount)
{
    knResult result =
        knGrow(&q->allocator, (void**)&q->keys, &q->keyCapacity, 2 * keyCount, sizeof *q->keys);
    if (result == kn_success)
    {
        result =
            knGrow(&q->allocator, (void**)&q->pairs, &q->pairCapacity, keyCount, sizeof *q->pairs);
    }
    if (result != kn_success)
    {
        return result;
    }
    size_t count = 0;
    for (int i = 0; i < workerCount; ++i)
    {
        const knPairSink* sink = &q->sinks[i];
        if (sink->count > 0)
        {
            memcpy(q->keys + count, sink->keys, sink->count * sizeof *q->keys);
        }
        count += sink->count;
        AddFunnel(&q->funnel, &sink->funnel);
    }
    const uint64_t* sorted = SortKeys(q->keys, q->keys + keyCount, count);
    const uint32_t idMask = (1u << KN_ID_BITS) - 1, flagMask = (1u << KN_FLAG_BITS) - 1;
    for (size_t i = 0; i < count; ++i)
    {
        q->pairs[i].a = (uint32_t)(sorted[i] >> (KN_ID_BITS + KN_FLAG_BITS));
        q->pairs[i].b = (uint32_t)(sorted[i] >> KN_FLAG_BITS) & idMask;
        q->pairs[i].flags = (uint32_t)sorted[i] & flagMask;
    }
    // a row of blocks may give several before the search for any stops
    q->pairCount = q->def.anyOnly && count > 1 ? 1 : count;
    q->funnel.reportedPairs = q->pairCount;
    return kn_success;
}

const knBvhPair* knBvhQuery_Pairs(const knBvhQuery* q, size_t* count)
{
    if (count)
    {
        *count = q ? q->pairCount : 0;
    }
    return q ? q->pairs : NULL;
}

knBvhFunnel knBvhQuery_Funnel(const knBvhQuery* q)
{
    knBvhFunnel none = {0};
    return q ? q->funnel : none;
}

void knBvhQuery_ForEach(const knBvhQuery* q, knBvhPairFcn* fcn, void* user)
{
    for (size_t i = 0; q && fcn && i < q->pairCount; ++i)
    {
        if (!fcn(&q->pairs[i], user))
        {
            return;
        }
    }
}
