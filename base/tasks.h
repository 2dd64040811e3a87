// SPDX-License-Identifier: Zlib
#pragma once

// Parallel loops: hooks that a game can route to its own job system, and a thread pool for those
// that have none.

#include "knap/memory.h"

// Works on items [begin, end). `worker` is in [0, workerCount) and no two calls that run at the
// same time share it, so it can pick scratch memory.
typedef void knTaskFcn(int begin, int end, int worker, void* context);

// `parallelFor` must call `task` on ranges that cover [0, count) exactly once, of at most
// `rangeSize` items each, and return when all are done. It may be called from one thread at a time.
typedef struct knTaskHooks
{
    void (*parallelFor)(void* user, int count, int rangeSize, knTaskFcn* task, void* context);
    void* user;
    int workerCount; // at least 1
} knTaskHooks;

// Runs everything on the calling thread.
KN_API knTaskHooks knSerialTasks(void);

// Null is fine and means serial; hooks that are there must be whole.
KN_API knResult knCheckTaskHooks(const knTaskHooks* hooks);

// Runs the loop through the hooks; null hooks run serially. A loop of one range stays on the
// calling thread. No heap call.
KN_API void knParallelFor(const knTaskHooks* hooks, int count, int rangeSize, knTaskFcn* task,
                          void* context);

typedef struct knTaskPool knTaskPool;

#define KN_MAX_WORKERS 64

// `workerCount` counts the calling thread, which works too; 0 means one per processor.
KN_API knResult knCreateTaskPool(knTaskPool** pool, int workerCount, const knAllocator* allocator);
KN_API void knDestroyTaskPool(knTaskPool* pool);
KN_API knTaskHooks knTaskPool_Hooks(knTaskPool* pool);
