// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/tasks.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define MAX_ITEMS 20000

typedef struct Loop
{
    atomic_int visits[MAX_ITEMS];
    atomic_int busy[KN_MAX_WORKERS]; // a worker's scratch: nobody else may be in it
    atomic_int clashes;
    int workerCount;
    int rangeSize;
    int count;
} Loop;

static void Visit(int begin, int end, int worker, void* context)
{
    Loop* loop = context;
    bool good = worker >= 0 && worker < loop->workerCount && begin >= 0 && begin < end &&
                end <= loop->count && end - begin <= loop->rangeSize;
    if (!good || atomic_exchange(&loop->busy[worker], 1) != 0)
    {
        atomic_fetch_add(&loop->clashes, 1);
        return;
    }
    for (int i = begin; i < end; ++i)
    {
        atomic_fetch_add(&loop->visits[i], 1);
    }
    if (begin % 7 == 0)
    {
        sched_yield();
    }
    atomic_store(&loop->busy[worker], 0);
}

static void PrepareLoop(Loop* loop, int workerCount, int count, int rangeSize)
{
    memset(loop, 0, sizeof *loop);
    loop->workerCount = workerCount;
    loop->rangeSize = rangeSize < 1 ? 1 : rangeSize;
    loop->count = count;
}

static void CheckVisits(const Loop* loop, int count)
{
    assert_int_equal(atomic_load(&loop->clashes), 0);
    for (int i = 0; i < MAX_ITEMS; ++i)
    {
        assert_int_equal(atomic_load(&loop->visits[i]), i < count ? 1 : 0);
    }
}

static void CheckLoop(const knTaskHooks* hooks, Loop* loop, int count, int rangeSize)
{
    PrepareLoop(loop, hooks ? hooks->workerCount : 1, count, rangeSize);
    knParallelFor(hooks, count, rangeSize, Visit, loop);
    CheckVisits(loop, count);
}

// Another module may call the hooks itself, without the short cuts of knParallelFor.
static void CheckHooks(knTaskHooks hooks, Loop* loop, int count, int rangeSize)
{
    PrepareLoop(loop, hooks.workerCount, count, rangeSize);
    hooks.parallelFor(hooks.user, count, rangeSize, Visit, loop);
    CheckVisits(loop, count);
}

static void EachItemIsVisitedOnceAndNoWorkerIsShared(void** state)
{
    (void)state;
    const int workerCounts[] = {1, 2, 3, 8, KN_MAX_WORKERS};
    const int counts[] = {0, 1, 2, 63, 64, 65, 1000, MAX_ITEMS};
    const int rangeSizes[] = {1, 7, 64, 1000, INT_MAX};
    Loop* loop = malloc(sizeof(Loop));
    for (size_t w = 0; w < COUNT_OF(workerCounts); ++w)
    {
        knTaskPool* pool = NULL;
        assert_int_equal(knCreateTaskPool(&pool, workerCounts[w], NULL), kn_success);
        knTaskHooks hooks = knTaskPool_Hooks(pool);
        assert_int_equal(knCheckTaskHooks(&hooks), kn_success);
        assert_true(hooks.workerCount >= 1 && hooks.workerCount <= workerCounts[w]);
        for (size_t i = 0; i < COUNT_OF(counts) * COUNT_OF(rangeSizes); ++i)
        {
            CheckLoop(&hooks, loop, counts[i % COUNT_OF(counts)], rangeSizes[i / COUNT_OF(counts)]);
        }
        knDestroyTaskPool(pool);
    }
    free(loop);
}

static void SerialHooksAndNoHooksDoTheSame(void** state)
{
    (void)state;
    Loop* loop = malloc(sizeof(Loop));
    knTaskHooks serial = knSerialTasks();
    assert_int_equal(serial.workerCount, 1);
    knTaskHooks none = knTaskPool_Hooks(NULL);
    assert_int_equal(none.workerCount, 1);
    CheckLoop(&serial, loop, 1000, 17);
    CheckHooks(serial, loop, 1000, 17);
    CheckLoop(&none, loop, 1000, 17);
    CheckLoop(NULL, loop, 1000, 17);
    CheckLoop(NULL, loop, 1000, 0);
    CheckLoop(NULL, loop, 1000, -5);
    CheckLoop(NULL, loop, -5, 10);
    free(loop);
}

// Many short loops one after the other: a late worker must not take part in the wrong one.
static void LoopsDoNotLeakIntoOneAnother(void** state)
{
    (void)state;
    Loop* loop = malloc(sizeof(Loop));
    knTaskPool* pool = NULL;
    assert_int_equal(knCreateTaskPool(&pool, 4, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    memset(loop, 0, sizeof *loop);
    loop->workerCount = hooks.workerCount;
    loop->rangeSize = 1;
    for (int round = 1; round <= 3000; ++round)
    {
        loop->count = 2 + round % 5;
        knParallelFor(&hooks, loop->count, 1, Visit, loop);
        // both items are in every loop
        assert_int_equal(atomic_load(&loop->visits[0]), round);
        assert_int_equal(atomic_load(&loop->visits[1]), round);
    }
    assert_int_equal(atomic_load(&loop->clashes), 0);
    knDestroyTaskPool(pool);
    free(loop);
}

static void MixItems(int begin, int end, int worker, void* context)
{
    (void)worker;
    double* values = context;
    for (int i = begin; i < end; ++i)
    {
        double x = values[i];
        for (int k = 0; k < 20; ++k)
        {
            x = x * 1.0000001 + 1.0 / (1.0 + x * x);
        }
        values[i] = x;
    }
}

static void TheResultDoesNotDependOnTheWorkers(void** state)
{
    (void)state;
    const int workerCounts[] = {1, 2, 8};
    double* values[3];
    const int count = 10000;
    for (int w = 0; w < 3; ++w)
    {
        values[w] = malloc((size_t)count * sizeof(double));
        for (int i = 0; i < count; ++i)
        {
            values[w][i] = i * 0.37;
        }
        knTaskPool* pool = NULL;
        assert_int_equal(knCreateTaskPool(&pool, workerCounts[w], NULL), kn_success);
        knTaskHooks hooks = knTaskPool_Hooks(pool);
        for (int round = 0; round < 20; ++round)
        {
            knParallelFor(&hooks, count, 33 + round, MixItems, values[w]);
        }
        knDestroyTaskPool(pool);
    }
    assert_memory_equal(values[0], values[1], (size_t)count * sizeof(double));
    assert_memory_equal(values[0], values[2], (size_t)count * sizeof(double));
    for (int w = 0; w < 3; ++w)
    {
        free(values[w]);
    }
}

typedef struct Home
{
    pthread_t thread;
    bool stayed;
} Home;

static void NoteThread(int begin, int end, int worker, void* context)
{
    Home* home = context;
    home->stayed =
        begin == 0 && end == 10 && worker == 0 && pthread_equal(home->thread, pthread_self()) != 0;
}

static void ALoopOfOneRangeStaysOnTheCallingThread(void** state)
{
    (void)state;
    knTaskPool* pool = NULL;
    assert_int_equal(knCreateTaskPool(&pool, 4, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    for (int i = 0; i < 100; ++i)
    {
        Home home = {pthread_self(), false};
        knParallelFor(&hooks, 10, 10, NoteThread, &home);
        assert_true(home.stayed);
    }
    knDestroyTaskPool(pool);
}

static void ALoopMakesNoHeapCall(void** state)
{
    (void)state;
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    Loop* loop = malloc(sizeof(Loop));
    knTaskPool* pool = NULL;
    assert_int_equal(knCreateTaskPool(&pool, 4, &allocator), kn_success);
    size_t callCount = tracker.callCount;
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    CheckLoop(&hooks, loop, 5000, 3);
    assert_int_equal(tracker.callCount, callCount);
    knDestroyTaskPool(pool);
    assert_int_equal(tracker.liveCount, 0);
    free(loop);
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    knTaskPool* pool;
    MarkUntouched(&pool, sizeof pool);
    assert_int_equal(knCreateTaskPool(NULL, 2, NULL), kn_errorArgument);
    assert_int_equal(knCreateTaskPool(&pool, -1, NULL), kn_errorArgument);
    assert_int_equal(knCreateTaskPool(&pool, KN_MAX_WORKERS + 1, NULL), kn_errorArgument);
    knAllocator half = {0};
    assert_int_equal(knCreateTaskPool(&pool, 2, &half), kn_errorArgument);
    assert_true(IsUntouched(&pool, sizeof pool));
    assert_int_equal(knCreateTaskPool(&pool, 0, NULL), kn_success);
    assert_true(knTaskPool_Hooks(pool).workerCount >= 1);
    knDestroyTaskPool(pool);
    knDestroyTaskPool(NULL);
    knTaskHooks hooks = knSerialTasks();
    assert_int_equal(knCheckTaskHooks(NULL), kn_success);
    assert_int_equal(knCheckTaskHooks(&hooks), kn_success);
    hooks.workerCount = 0;
    assert_int_equal(knCheckTaskHooks(&hooks), kn_errorArgument);
    hooks = knSerialTasks();
    hooks.parallelFor = NULL;
    assert_int_equal(knCheckTaskHooks(&hooks), kn_errorArgument);
}

static knResult AttemptPool(const knAllocator* allocator, void* context)
{
    (void)context;
    knTaskPool* pool;
    MarkUntouched(&pool, sizeof pool);
    knResult result = knCreateTaskPool(&pool, 3, allocator);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&pool, sizeof pool));
        return result;
    }
    knDestroyTaskPool(pool);
    return result;
}

static void ATaskPoolSurvivesAllocationFailures(void** state)
{
    (void)state;
    SurviveAllocationFailures(AttemptPool, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EachItemIsVisitedOnceAndNoWorkerIsShared),
        cmocka_unit_test(SerialHooksAndNoHooksDoTheSame),
        cmocka_unit_test(LoopsDoNotLeakIntoOneAnother),
        cmocka_unit_test(TheResultDoesNotDependOnTheWorkers),
        cmocka_unit_test(ALoopOfOneRangeStaysOnTheCallingThread),
        cmocka_unit_test(ALoopMakesNoHeapCall),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(ATaskPoolSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
