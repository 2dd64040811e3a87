// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // threads and the number of processors

#include "knap/tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define SPIN_COUNT 1000 // about 40 microseconds

typedef struct Job
{
    knTaskFcn* task;
    void* context;
    int count;
    int rangeSize;
} Job;

// A worker looks for the next job for a few microseconds before it goes to sleep: loops of a step
// follow one another closely, and waking a thread costs more than most of them.
struct knTaskPool
{
    knAllocator allocator;
    pthread_mutex_t mutex;
    pthread_cond_t wake;    // a new job, or the end
    pthread_cond_t done;    // the last worker left the job
    Job job;                // written before jobSerial, read after it
    atomic_uint jobSerial;  // a worker joins each serial once
    atomic_int activeCount; // workers that have not yet left the current job
    atomic_int sleeperCount;
    atomic_bool stopping;
    int threadCount; // threads started; workers are these and the caller
    atomic_uint nextRange;
    pthread_t threads[KN_MAX_WORKERS];
    struct Seat
    {
        knTaskPool* pool;
        int worker;
    } seats[KN_MAX_WORKERS];
};

static void RunRanges(knTaskFcn* task, void* context, int count, int rangeSize, int worker)
{
    int end = 0;
    for (int begin = 0; begin < count; begin = end)
    {
        end = count - begin < rangeSize ? count : begin + rangeSize;
        task(begin, end, worker, context);
    }
}

static void SerialFor(void* user, int count, int rangeSize, knTaskFcn* task, void* context)
{
    (void)user;
    RunRanges(task, context, count, rangeSize, 0);
}

knTaskHooks knSerialTasks(void)
{
    return (knTaskHooks){.parallelFor = SerialFor, .user = NULL, .workerCount = 1};
}

knResult knCheckTaskHooks(const knTaskHooks* hooks)
{
    if (hooks && (!hooks->parallelFor || hooks->workerCount < 1))
    {
        return knFail(kn_errorArgument,
                      "task hooks need parallelFor and a workerCount of at least 1, got %d",
                      hooks->workerCount);
    }
    return kn_success;
}

void knParallelFor(const knTaskHooks* hooks, int count, int rangeSize, knTaskFcn* task,
                   void* context)
{
    rangeSize = rangeSize < 1 ? 1 : rangeSize;
    if (count <= 0)
    {
        return;
    }
    if (!hooks || hooks->workerCount == 1 || count <= rangeSize)
    {
        RunRanges(task, context, count, rangeSize, 0);
        return;
    }
    hooks->parallelFor(hooks->user, count, rangeSize, task, context);
}

static void WorkOn(knTaskPool* pool, const Job* job, int worker)
{
    unsigned rangeCount = (unsigned)((job->count - 1) / job->rangeSize + 1);
    for (;;)
    {
        unsigned range = atomic_fetch_add_explicit(&pool->nextRange, 1, memory_order_relaxed);
        if (range >= rangeCount)
        {
            return;
        }
        int begin = (int)range * job->rangeSize;
        int end = job->count - begin < job->rangeSize ? job->count : begin + job->rangeSize;
        job->task(begin, end, worker, job->context);
    }
}

static void Pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool HasNews(knTaskPool* pool, unsigned seen)
{
    return atomic_load(&pool->jobSerial) != seen || atomic_load(&pool->stopping);
}

// Either the sleeper sees the new serial or the caller sees the sleeper: both sides write before
// they read, in one total order.
static void WaitForNews(knTaskPool* pool, unsigned seen)
{
    for (int i = 0; i < SPIN_COUNT; ++i)
    {
        if (HasNews(pool, seen))
        {
            return;
        }
        Pause();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleeperCount, 1);
    while (!HasNews(pool, seen))
    {
        pthread_cond_wait(&pool->wake, &pool->mutex);
    }
    atomic_fetch_sub(&pool->sleeperCount, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void* ThreadMain(void* argument)
{
    struct Seat* seat = argument;
    knTaskPool* pool = seat->pool;
    unsigned seen = 0;
    for (;;)
    {
        WaitForNews(pool, seen);
        if (atomic_load(&pool->stopping))
        {
            return NULL;
        }
        // no job follows before every worker has left this one, so it can be read without the lock
        seen = atomic_load(&pool->jobSerial);
        Job job = pool->job;
        WorkOn(pool, &job, seat->worker);
        if (atomic_fetch_sub(&pool->activeCount, 1) == 1)
        {
            pthread_mutex_lock(&pool->mutex);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->mutex);
        }
    }
}

// Every worker must have left before the job's memory, which is the caller's, may go.
static void WaitForWorkers(knTaskPool* pool)
{
    for (int i = 0; i < SPIN_COUNT; ++i)
    {
        if (atomic_load(&pool->activeCount) == 0)
        {
            return;
        }
        Pause();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->activeCount) > 0)
    {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static void Wake(knTaskPool* pool)
{
    if (atomic_load(&pool->sleeperCount) > 0)
    {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void PoolFor(void* user, int count, int rangeSize, knTaskFcn* task, void* context)
{
    knTaskPool* pool = user;
    if (pool->threadCount == 0)
    {
        RunRanges(task, context, count, rangeSize, 0);
        return;
    }
    Job job = {task, context, count, rangeSize};
    pool->job = job;
    atomic_store(&pool->nextRange, 0);
    atomic_store(&pool->activeCount, pool->threadCount);
    atomic_fetch_add(&pool->jobSerial, 1);
    Wake(pool);
    WorkOn(pool, &job, 0);
    WaitForWorkers(pool);
}

static int ProcessorCount(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (count > KN_MAX_WORKERS ? KN_MAX_WORKERS : (int)count);
}

knResult knCreateTaskPool(knTaskPool** out, int workerCount, const knAllocator* allocator)
{
    if (!out || workerCount < 0 || workerCount > KN_MAX_WORKERS)
    {
        return knFail(kn_errorArgument,
                      "a task pool has 0 (one per processor) to %d workers, got %d", KN_MAX_WORKERS,
                      workerCount);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knTaskPool* pool = knAllocate(allocator, 1, sizeof(knTaskPool));
    if (!pool)
    {
        return kn_errorMemory;
    }
    *pool = (knTaskPool){.allocator = allocator ? *allocator : knDefaultAllocator()};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    int wanted = workerCount == 0 ? ProcessorCount() : workerCount;
    for (int i = 0; i + 1 < wanted; ++i)
    {
        pool->seats[i].pool = pool;
        pool->seats[i].worker = i + 1;
        if (pthread_create(&pool->threads[i], NULL, ThreadMain, &pool->seats[i]) != 0)
        {
            // fewer threads than asked for is slower, never wrong
            break;
        }
        pool->threadCount += 1;
    }
    *out = pool;
    return kn_success;
}

void knDestroyTaskPool(knTaskPool* pool)
{
    if (!pool)
    {
        return;
    }
    atomic_store(&pool->stopping, true);
    Wake(pool);
    for (int i = 0; i < pool->threadCount; ++i)
    {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    knAllocator allocator = pool->allocator;
    knRelease(&allocator, pool, 1, sizeof(knTaskPool));
}

knTaskHooks knTaskPool_Hooks(knTaskPool* pool)
{
    if (!pool)
    {
        return knSerialTasks();
    }
    return (knTaskHooks){
        .parallelFor = PoolFor, .user = pool, .workerCount = pool->threadCount + 1};
}
