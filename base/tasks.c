// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // threads and the number of processors

#include "knap/tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

typedef struct Job
{
    knTaskFcn* task;
    void* context;
    int count;
    int rangeSize;
} Job;

struct knTaskPool
{
    knAllocator allocator;
    pthread_mutex_t mutex;
    pthread_cond_t wake; // a new job, or the end
    pthread_cond_t done; // the last worker left the job
    Job job;
    unsigned jobSerial; // a worker joins each serial once
    int activeCount;    // workers that have not yet left the current job
    bool stopping;
    int threadCount; // threads started; workers are these and the caller
    int workerCount;
    atomic_uint nextRange; // unsigned: workers that come too late may count past INT_MAX
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

static void* ThreadMain(void* argument)
{
    struct Seat* seat = argument;
    knTaskPool* pool = seat->pool;
    unsigned seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;)
    {
        while (!pool->stopping && pool->jobSerial == seen)
        {
            pthread_cond_wait(&pool->wake, &pool->mutex);
        }
        if (pool->stopping)
        {
            break;
        }
        seen = pool->jobSerial;
        Job job = pool->job;
        pthread_mutex_unlock(&pool->mutex);
        WorkOn(pool, &job, seat->worker);
        pthread_mutex_lock(&pool->mutex);
        pool->activeCount -= 1;
        if (pool->activeCount == 0)
        {
            pthread_cond_signal(&pool->done);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
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
    pthread_mutex_lock(&pool->mutex);
    pool->job = job;
    pool->jobSerial += 1;
    pool->activeCount = pool->threadCount;
    atomic_store_explicit(&pool->nextRange, 0, memory_order_relaxed);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    WorkOn(pool, &job, 0);
    // every worker must have left before the job's memory, which is the caller's, may go
    pthread_mutex_lock(&pool->mutex);
    while (pool->activeCount > 0)
    {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
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
    pool->workerCount = workerCount == 0 ? ProcessorCount() : workerCount;
    for (int i = 0; i + 1 < pool->workerCount; ++i)
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
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
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
