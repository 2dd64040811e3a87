// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#include <string.h>

#define FULL_CAPACITY  2048 // contacts of a pair without selection
#define FIRST_CAPACITY 16

knPairsDef knDefaultPairsDef(void)
{
    return (knPairsDef){
        .size = sizeof(knPairsDef), .limits = knDefaultContactLimits(), .pairCapacity = 256};
}

static knResult CheckDef(const knPairsDef* def)
{
    if (!def || def->size != sizeof(knPairsDef))
    {
        return knFail(kn_errorArgument, "knCreatePairs: begin with knDefaultPairsDef");
    }
    knResult result = knValidateContactLimits(&def->limits);
    return result == kn_success ? knCheckTaskHooks(def->tasks) : result;
}

static knResult CreateWorkers(knPairs* p)
{
    p->workers = knAllocate(&p->allocator, (size_t)p->tasks.workerCount, sizeof(knPairWorker));
    if (!p->workers)
    {
        return kn_errorMemory;
    }
    memset(p->workers, 0, (size_t)p->tasks.workerCount * sizeof(knPairWorker));
    for (int i = 0; i < p->tasks.workerCount; ++i)
    {
        // an empty arena takes no memory, so this cannot fail
        (void)knCreateArena(&p->workers[i].scratch, 0, &p->allocator);
    }
    return kn_success;
}

// The blocks of the pairs follow the pool, slot by slot.
static knResult Reserve(knPairs* p, uint32_t capacity)
{
    size_t blockCapacity = p->blockCapacity, queueCapacity = p->queueCapacity;
    knResult result =
        knGrow(&p->allocator, (void**)&p->blocks, &p->blockCapacity, capacity, sizeof(knPairBlock));
    if (result == kn_success && p->blockCapacity > blockCapacity)
    {
        memset(p->blocks + blockCapacity, 0,
               (p->blockCapacity - blockCapacity) * sizeof(knPairBlock));
    }
    if (result == kn_success && capacity > queueCapacity)
    {
        result =
            knGrow(&p->allocator, (void**)&p->queue, &p->queueCapacity, capacity, sizeof(uint32_t));
    }
    return result == kn_success ? knPool_Reserve(&p->pool, capacity) : result;
}

knResult knCreatePairs(knPairs** out, const knPairsDef* def, const knAllocator* allocator)
{
    knResult result = out ? CheckDef(def) : knFail(kn_errorArgument, "knCreatePairs: null");
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    knPairs* p = result == kn_success ? knAllocate(allocator, 1, sizeof(knPairs)) : NULL;
    if (!p)
    {
        return result == kn_success ? kn_errorMemory : result;
    }
    *p = (knPairs){.allocator = allocator ? *allocator : knDefaultAllocator(),
                   .limits = def->limits,
                   .tasks = def->tasks ? *def->tasks : knSerialTasks()};
    result = knCreatePool(&p->pool, sizeof(knPair), 0, &p->allocator);
    result = result == kn_success ? Reserve(p, def->pairCapacity) : result;
    result = result == kn_success ? CreateWorkers(p) : result;
    if (result != kn_success)
    {
        knDestroyPairs(p);
        return result;
    }
    *out = p;
    return kn_success;
}

void knDestroyPairs(knPairs* p)
{
    if (!p)
    {
        return;
    }
    for (size_t i = 0; i < p->blockCapacity; ++i)
    {
        knRelease(&p->allocator, p->blocks[i].touches, p->blocks[i].capacity, sizeof(knTouch));
        knRelease(&p->allocator, p->blocks[i].kept, p->blocks[i].capacity, sizeof(knKeptTouch));
        knQueryFront_Release(&p->blocks[i].front, &p->allocator);
    }
    for (int i = 0; p->workers && i < p->tasks.workerCount; ++i)
    {
        knDestroyArena(&p->workers[i].scratch);
    }
    knAllocator allocator = p->allocator;
    knRelease(&allocator, p->workers, (size_t)p->tasks.workerCount, sizeof(knPairWorker));
    knRelease(&allocator, p->blocks, p->blockCapacity, sizeof(knPairBlock));
    knRelease(&allocator, p->queue, p->queueCapacity, sizeof(uint32_t));
    knDestroyPool(&p->pool);
    knRelease(&allocator, p, 1, sizeof(knPairs));
}

knResult knPairs_SetLimits(knPairs* p, const knContactLimits* limits)
{
    knResult result = knValidateContactLimits(limits);
    if (result == kn_success)
    {
        p->limits = *limits;
        knPairs_Forget(p);
    }
    return result;
}

void knPairs_Forget(knPairs* p)
{
    for (knId id = knPool_Next(&p->pool, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&p->pool, id))
    {
        ((knPair*)knPool_Get(&p->pool, id))->cache = (knPairCache){0};
        p->blocks[id.index - 1].front.isKnown = false;
    }
}

const knContactLimits* knPairs_Limits(const knPairs* p)
{
    return &p->limits;
}

knResult knPairs_Add(knPairs* p, knId* id)
{
    knResult result = kn_success;
    if (p->pool.count == p->pool.capacity)
    {
        result = Reserve(p, p->pool.capacity < 8 ? 16 : 2 * p->pool.capacity);
    }
    void* item = NULL;
    result = result == kn_success ? knPool_Acquire(&p->pool, id, &item) : result;
    if (result == kn_success)
    {
        p->blocks[id->index - 1].count = 0;
        p->blocks[id->index - 1].front.isKnown = false;
    }
    return result;
}

void knPairs_Remove(knPairs* p, knId id)
{
    if (knPool_Get(&p->pool, id))
    {
        (void)knPool_Release(&p->pool, id);
    }
}

// Contacts that the next query of the pair can give.
static uint32_t WantedContacts(const knPairs* p, const knPair* pair)
{
    if (p->limits.full)
    {
        return FULL_CAPACITY;
    }
    uint32_t m =
        pair->state.contacts > p->limits.contacts ? pair->state.contacts : p->limits.contacts;
    m += p->limits.growth;
    m = m < p->limits.maxContacts ? m : p->limits.maxContacts;
    m = m < FIRST_CAPACITY ? FIRST_CAPACITY : m;
    return m + KN_MAX_SWEEP_CONTACTS;
}

// Only before a query: what the last one gave is dropped.
static knResult ReserveBlock(knPairs* p, knPairBlock* block, uint32_t wanted)
{
    knQueryFront_Reserve(&block->front, &p->allocator);
    if (wanted <= block->capacity)
    {
        return kn_success;
    }
    uint32_t capacity = 2 * block->capacity > wanted ? 2 * block->capacity : wanted;
    knTouch* grown = knAllocate(&p->allocator, capacity, sizeof *grown);
    knKeptTouch* kept = knAllocate(&p->allocator, capacity, sizeof *kept);
    if (!grown || !kept)
    {
        knRelease(&p->allocator, grown, capacity, sizeof *grown);
        knRelease(&p->allocator, kept, capacity, sizeof *kept);
        return kn_errorMemory;
    }
    // what was kept may still be an answer
    for (uint32_t i = 0; i < block->capacity; ++i)
    {
        kept[i] = block->kept[i];
    }
    knRelease(&p->allocator, block->touches, block->capacity, sizeof *grown);
    knRelease(&p->allocator, block->kept, block->capacity, sizeof *kept);
    block->touches = grown;
    block->kept = kept;
    block->capacity = capacity;
    block->count = 0;
    return kn_success;
}

void knPairs_Begin(knPairs* p)
{
    p->queueCount = 0;
    p->scratchBytes = 0;
    p->round += 1;
}

knResult knPairs_Submit(knPairs* p, knId id, const knPairInput* input)
{
    knPair* pair = knPool_Get(&p->pool, id);
    if (!pair)
    {
        return knFail(kn_errorHandle, "knPairs_Submit: no pair has this id");
    }
    if (ReserveBlock(p, &p->blocks[id.index - 1], WantedContacts(p, pair)) != kn_success)
    {
        p->counters.deferred += 1;
        return kn_errorMemory;
    }
    pair->input = *input;
    pair->round = p->round;
    pair->hasAnswer = false;
    size_t bytes = knPairBytes(input, p->blocks[id.index - 1].capacity);
    p->scratchBytes = bytes > p->scratchBytes ? bytes : p->scratchBytes;
    p->queue[p->queueCount++] = id.index;
    return kn_success;
}

static void RunPair(knPairs* p, uint32_t index, knPairWorker* worker)
{
    knPair* pair = (knPair*)(void*)(p->pool.items + (index - 1) * p->pool.itemSize);
    knPairBlock* block = &p->blocks[index - 1];
    knPairJob job = {.limits = &p->limits,
                     .input = &pair->input,
                     .state = &pair->state,
                     .cache = &pair->cache,
                     .scratch = &worker->scratch,
                     .touches = block->touches,
                     .kept = block->kept,
                     .front = &block->front,
                     .capacity = block->capacity,
                     .counters = &worker->counters};
    knResult done = knPairJob_Run(&job, &block->count);
    knArena_Reset(&worker->scratch);
    pair->hasAnswer = done == kn_success;
    worker->counters.deferred += done != kn_success;
}

static void RunRange(int begin, int end, int worker, void* context)
{
    knPairs* p = context;
    for (int i = begin; i < end; ++i)
    {
        RunPair(p, p->queue[i], &p->workers[worker]);
    }
}

// The arenas are empty here. One that cannot grow defers its pairs.
static void ReserveScratch(knPairs* p, size_t bytes)
{
    for (int i = 0; i < p->tasks.workerCount; ++i)
    {
        knArena* arena = &p->workers[i].scratch;
        if (bytes > arena->capacity)
        {
            (void)knArena_Reserve(arena, bytes + bytes / 2);
        }
    }
}

void knPairs_Run(knPairs* p)
{
    ReserveScratch(p, p->scratchBytes);
    knParallelFor(&p->tasks, (int)p->queueCount, 1, RunRange, p);
    p->queueCount = 0;
}

static bool IsSameInput(const knPairInput* a, const knPairInput* b)
{
    for (int i = 0; i < 2; ++i)
    {
        const knPairSide* x = &a->sides[i];
        const knPairSide* y = &b->sides[i];
        if (x->family != y->family || x->fragment != y->fragment || x->shape != y->shape ||
            x->batch != y->batch || memcmp(&x->motion, &y->motion, sizeof x->motion) != 0)
        {
            return false;
        }
    }
    return true;
}

static void GiveTouches(const knPairs* p, knId id, const knTouch** touches, uint32_t* count)
{
    const knPairBlock* block = &p->blocks[id.index - 1];
    *touches = block->touches;
    *count = block->count;
}

bool knPairs_Take(knPairs* p, knId id, const knPairInput* input, const knTouch** touches,
                  uint32_t* count)
{
    knPair* pair = knPool_Get(&p->pool, id);
    if (!pair || pair->round != p->round || !pair->hasAnswer || !IsSameInput(&pair->input, input))
    {
        return false;
    }
    pair->hasAnswer = false;
    GiveTouches(p, id, touches, count);
    return true;
}

knResult knPairs_QueryNow(knPairs* p, knId id, const knPairInput* input, const knTouch** touches,
                          uint32_t* count)
{
    knPair* pair = knPool_Get(&p->pool, id);
    if (!pair)
    {
        return knFail(kn_errorHandle, "knPairs_QueryNow: no pair has this id");
    }
    knResult result = ReserveBlock(p, &p->blocks[id.index - 1], WantedContacts(p, pair));
    if (result != kn_success)
    {
        p->counters.deferred += 1;
        return result;
    }
    pair->input = *input;
    pair->round = p->round;
    pair->hasAnswer = false;
    ReserveScratch(p, knPairBytes(input, p->blocks[id.index - 1].capacity));
    RunPair(p, id.index, &p->workers[0]);
    p->counters.late += 1;
    if (!pair->hasAnswer)
    {
        return kn_errorMemory;
    }
    pair->hasAnswer = false;
    GiveTouches(p, id, touches, count);
    return kn_success;
}

knPairsCounters knPairs_Counters(const knPairs* p)
{
    knPairsCounters sum = p->counters;
    for (int i = 0; i < p->tasks.workerCount; ++i)
    {
        const knPairsCounters* one = &p->workers[i].counters;
        sum.pairs += one->pairs;
        sum.touching += one->touching;
        sum.contacts += one->contacts;
        sum.deferred += one->deferred;
        sum.mended += one->mended;
        sum.wedged += one->wedged;
        sum.kept += one->kept;
        sum.parted += one->parted;
        sum.swept += one->swept;
        sum.query.visits += one->query.visits;
        sum.query.points += one->query.points;
        sum.query.edges += one->query.edges;
        sum.query.found += one->query.found;
        sum.query.kept += one->query.kept;
    }
    return sum;
}

void knPairs_ResetCounters(knPairs* p)
{
    p->counters = (knPairsCounters){0};
    for (int i = 0; i < p->tasks.workerCount; ++i)
    {
        p->workers[i].counters = (knPairsCounters){0};
    }
}
