// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#include "knap/pool.h"
#include "knap/random.h"

#include <stdlib.h>

#define STEP_BLOCKS 512
#define POOL_ITEMS  1024
#define POOL_CHURN  4096
#define ITEM_SIZE   96 // bytes, about a piece

typedef struct State
{
    knArena arena;
    knPool pool;
    uint32_t sizes[STEP_BLOCKS];
    void* blocks[STEP_BLOCKS];
    uint32_t victims[POOL_CHURN]; // which item dies at each turn
    knId ids[POOL_ITEMS];
    void* items[POOL_ITEMS];
} State;

// Log-uniform, 16 bytes to 32 KiB: a few large arrays among many small ones, as a step has them.
static void ChooseSizes(State* s)
{
    knRandom random = knMakeRandom(1);
    for (int i = 0; i < STEP_BLOCKS; ++i)
    {
        uint32_t octave = 16u << knRandom_Below(&random, 11);
        s->sizes[i] = octave + knRandom_Below(&random, octave);
    }
    for (int i = 0; i < POOL_CHURN; ++i)
    {
        s->victims[i] = knRandom_Below(&random, POOL_ITEMS);
    }
}

static void Touch(void* block)
{
    *(volatile unsigned char*)block = 1;
}

static knResult StepArena(void* context)
{
    State* s = context;
    for (int i = 0; i < STEP_BLOCKS; ++i)
    {
        void* block = knArena_Allocate(&s->arena, s->sizes[i], 1);
        if (!block)
        {
            return knFail(kn_errorMemory, "the arena is too small for the bench");
        }
        Touch(block);
    }
    knArena_Reset(&s->arena);
    return kn_success;
}

static knResult StepMalloc(void* context)
{
    State* s = context;
    for (int i = 0; i < STEP_BLOCKS; ++i)
    {
        s->blocks[i] = malloc(s->sizes[i]);
        if (!s->blocks[i])
        {
            return knFail(kn_errorMemory, "malloc returned null");
        }
        Touch(s->blocks[i]);
    }
    for (int i = 0; i < STEP_BLOCKS; ++i)
    {
        free(s->blocks[i]);
    }
    return kn_success;
}

// One block taken and given back at once: scratch memory of an inner loop.
static knResult ScratchArena(void* context)
{
    State* s = context;
    for (int i = 0; i < STEP_BLOCKS; ++i)
    {
        size_t mark = knArena_Mark(&s->arena);
        void* block = knArena_Allocate(&s->arena, s->sizes[i], 1);
        if (!block)
        {
            return knFail(kn_errorMemory, "the arena is too small for the bench");
        }
        Touch(block);
        knArena_Rewind(&s->arena, mark);
    }
    return kn_success;
}

static knResult ScratchMalloc(void* context)
{
    State* s = context;
    for (int i = 0; i < STEP_BLOCKS; ++i)
    {
        void* block = malloc(s->sizes[i]);
        if (!block)
        {
            return knFail(kn_errorMemory, "malloc returned null");
        }
        Touch(block);
        free(block);
    }
    return kn_success;
}

static knResult ChurnPool(void* context)
{
    State* s = context;
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < POOL_CHURN; ++i)
    {
        uint32_t k = s->victims[i];
        void* item = NULL;
        result = knPool_Release(&s->pool, s->ids[k]);
        result = result == kn_success ? knPool_Acquire(&s->pool, &s->ids[k], &item) : result;
        knKeep(item);
    }
    return result;
}

// calloc, as the pool promises zeroed items.
static knResult ChurnCalloc(void* context)
{
    State* s = context;
    for (int i = 0; i < POOL_CHURN; ++i)
    {
        uint32_t k = s->victims[i];
        free(s->items[k]);
        s->items[k] = calloc(1, ITEM_SIZE);
        if (!s->items[k])
        {
            return knFail(kn_errorMemory, "calloc returned null");
        }
        knKeep(s->items[k]);
    }
    return kn_success;
}

static knResult SetUp(State* s)
{
    ChooseSizes(s);
    knResult result = knCreateArena(&s->arena, (size_t)STEP_BLOCKS * 33 * 1024, NULL);
    result = result == kn_success ? knCreatePool(&s->pool, ITEM_SIZE, POOL_ITEMS, NULL) : result;
    for (int i = 0; result == kn_success && i < POOL_ITEMS; ++i)
    {
        void* item = NULL;
        s->items[i] = calloc(1, ITEM_SIZE);
        result = s->items[i] ? knPool_Acquire(&s->pool, &s->ids[i], &item) : kn_errorMemory;
    }
    return result;
}

static knResult MeasureAll(knBenchRun* run, State* s)
{
    const struct
    {
        const char* caseName;
        knBenchFcn* ours;
        knBenchFcn* peer;
        const char* peerName;
        int count;
        const char* note;
    } cases[] = {
        {"step of 512 blocks", StepArena, StepMalloc, "malloc, free", STEP_BLOCKS,
         "16 B to 64 KiB, all freed at the end; ours is aligned to 64"},
        {"scratch block", ScratchArena, ScratchMalloc, "malloc, free", STEP_BLOCKS,
         "mark, allocate, rewind"},
        {"pool of 1024 x 96 B", ChurnPool, ChurnCalloc, "calloc, free", POOL_CHURN,
         "release and acquire of a random item; ours checks the id"},
    };
    knResult result = kn_success;
    for (size_t i = 0; result == kn_success && i < sizeof cases / sizeof cases[0]; ++i)
    {
        knMeasureDef def = knDefaultMeasureDef(run);
        def.caseName = cases[i].caseName;
        def.metric = "time per block";
        def.unit = "ns";
        def.scale = 1e9 / cases[i].count;
        def.ours = cases[i].ours;
        def.peer = cases[i].peer;
        def.peerName = cases[i].peerName;
        def.note = cases[i].note;
        def.context = s;
        result = knBenchRun_Measure(run, &def);
    }
    return result;
}

static knResult Run(knBenchRun* run)
{
    State* s = calloc(1, sizeof(State));
    if (!s)
    {
        return knFail(kn_errorMemory, "no memory for the bench");
    }
    knResult result = SetUp(s);
    result = result == kn_success ? MeasureAll(run, s) : result;
    for (int i = 0; i < POOL_ITEMS; ++i)
    {
        free(s->items[i]);
    }
    knDestroyPool(&s->pool);
    knDestroyArena(&s->arena);
    free(s);
    return result;
}

const knBench knBenchArena = {"arena", "step arena and pool beside the C library's heap", Run};
