// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // nanosleep

#include "bench/benches.h"

#include "knap/tasks.h"

#include <math.h>
#include <time.h>

#if defined(KN_BENCH_OPENMP)

#define EMPTY_RANGES  64
#define MAX_WORKERS   2
#define COMPUTE_ITEMS 4096
#define COMPUTE_RANGE 64
#define PEER_NAME     "OpenMP, schedule(dynamic, 1)"

typedef struct State
{
    knTaskHooks hooks;
    int workers;
    int count;
    int rangeSize;
    knTaskFcn* task;
    int depth; // arithmetic per item
    float results[COMPUTE_ITEMS];
} State;

static void EmptyTask(int begin, int end, int worker, void* context)
{
    (void)begin;
    (void)end;
    (void)worker;
    knKeep(context);
}

// A chain of dependent operations: scales with cores and not with memory.
static void ComputeTask(int begin, int end, int worker, void* context)
{
    State* s = context;
    (void)worker;
    for (int i = begin; i < end; ++i)
    {
        float x = 1.0f + (float)i;
        for (int k = 0; k < s->depth; ++k)
        {
            x = sqrtf(x * x + 1.0f);
        }
        s->results[i] = x;
    }
}

static knResult RunOurs(void* context)
{
    State* s = context;
    knParallelFor(&s->hooks, s->count, s->rangeSize, s->task, s);
    return kn_success;
}

static knResult RunOpenMp(void* context)
{
    State* s = context;
    int ranges = (s->count - 1) / s->rangeSize + 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->workers)
    for (int range = 0; range < ranges; ++range)
    {
        int begin = range * s->rangeSize;
        int end = s->count - begin < s->rangeSize ? s->count : begin + s->rangeSize;
        s->task(begin, end, 0, s);
    }
    return kn_success;
}

// libgomp's threads spin for some 10 ms behind their last loop and would keep ours off the
// processor; the pause is longer than that.
static knResult LetThreadsSleep(void* context)
{
    (void)context;
    const struct timespec pause = {0, 30 * 1000 * 1000};
    nanosleep(&pause, NULL);
    return kn_success;
}

static void ChooseLoop(State* s, bool empty)
{
    s->task = empty ? EmptyTask : ComputeTask;
    s->count = empty ? EMPTY_RANGES : COMPUTE_ITEMS;
    s->rangeSize = empty ? 1 : COMPUTE_RANGE;
}

// Both sides settle with work that makes the system spread the threads over the processors: two
// that spin on one processor change places once in a time slice, and that is no overhead of a loop.
static knResult SleepThenCompute(void* context)
{
    ChooseLoop(context, false);
    return LetThreadsSleep(context);
}

static knResult ChooseEmptyLoop(void* context)
{
    ChooseLoop(context, true);
    return kn_success;
}

typedef enum Pace
{
    STEADY,    // loop behind loop
    AFTER_IDLE // one loop after a pause, as once in a frame: threads must wake first
} Pace;

static knMeasureDef MakeDef(const knBenchRun* run, State* s, bool empty, Pace pace)
{
    knMeasureDef def = knDefaultMeasureDef(run);
    def.metric = empty ? "time per loop" : "time";
    def.unit = empty ? "us" : "ms";
    def.scale = empty ? 1e6 : 1e3;
    def.beforeSample = SleepThenCompute;
    def.settleSeconds = pace == STEADY ? 0.04 : 0.0;
    def.afterSettle = empty ? ChooseEmptyLoop : NULL;
    def.ours = RunOurs;
    def.peer = RunOpenMp;
    def.context = s;
    def.peerName = PEER_NAME;
    def.processors = s->workers > 1 ? s->workers : 0;
    def.repetitions = run->options.quick ? 5 : (pace == AFTER_IDLE ? 61 : 21);
    return def;
}

static knResult MeasureLoop(knBenchRun* run, State* s, bool empty, Pace pace)
{
    char caseName[64];
    snprintf(caseName, sizeof caseName, "%s%s, %d worker%s", empty ? "64 empty ranges" : "compute",
             pace == AFTER_IDLE ? " after idle" : "", s->workers, s->workers == 1 ? "" : "s");
    knMeasureDef def = MakeDef(run, s, empty, pace);
    def.caseName = caseName;
    def.note = empty ? "its threads spin between loops, ours sleep and are woken" : "";
    if (pace == AFTER_IDLE)
    {
        def.note = "30 ms idle before each loop; two modes, as the system wakes the second thread "
                   "on a free processor or on the caller's";
    }
    return knBenchRun_Measure(run, &def);
}

static knResult RunSerial(void* context)
{
    State* s = context;
    s->task(0, s->count, 0, s);
    return kn_success;
}

// Each takes turns with the serial loop: a serial time from another moment, under another load,
// gave speed-ups of three with two workers.
static knResult MeasureSpeedUp(knBenchRun* run, State* s)
{
    knMeasurement ours, peer;
    knMeasureDef def = MakeDef(run, s, false, STEADY);
    def.peer = RunSerial;
    knResult result = knMeasure(&def, &ours);
    def.ours = RunOpenMp;
    result = result == kn_success ? knMeasure(&def, &peer) : result;
    if (result != kn_success)
    {
        return result;
    }
    if (knIsCrowded(&def, &ours) || knIsCrowded(&def, &peer))
    {
        knBenchRun_Skip(run, "the speed-up", "other programs held the processors that it needs");
        return kn_success;
    }
    knBenchRow row = knBenchRun_MakeRow(run, "compute, 2 workers", "speed-up", "x");
    row.ours = ours.peer / ours.ours;
    row.peer = peer.peer / peer.ours;
    row.ratio = knBetterRatio(row.ours, row.peer, true);
    row.foreignLoad = fmax(ours.foreignLoad, peer.foreignLoad);
    snprintf(row.peerName, sizeof row.peerName, "%s", PEER_NAME);
    snprintf(row.note, sizeof row.note, "over the serial loop, each beside its own");
    return knBenchRun_AddRow(run, &row);
}

static knResult MeasureWorkers(knBenchRun* run, State* s)
{
    knResult result = MeasureLoop(run, s, true, STEADY);
    result = result == kn_success ? MeasureLoop(run, s, false, STEADY) : result;
    if (result == kn_success && s->workers > 1)
    {
        result = MeasureLoop(run, s, false, AFTER_IDLE);
        result = result == kn_success ? MeasureSpeedUp(run, s) : result;
    }
    return result;
}

static knResult Run(knBenchRun* run)
{
    static State s;
    knResult result = kn_success;
    s.depth = run->options.quick ? 60 : 300;
    for (int workers = 1; result == kn_success && workers <= MAX_WORKERS; ++workers)
    {
        knTaskPool* pool = NULL;
        result = knCreateTaskPool(&pool, workers, NULL);
        s.hooks = knTaskPool_Hooks(pool);
        s.workers = workers;
        if (result == kn_success && s.hooks.workerCount != workers)
        {
            result = knFail(kn_errorProcess, "only %d of %d workers started", s.hooks.workerCount,
                            workers);
        }
        result = result == kn_success ? MeasureWorkers(run, &s) : result;
        knDestroyTaskPool(pool);
    }
    return result;
}

#else

static knResult Run(knBenchRun* run)
{
    knBenchRun_Skip(run, "all rows", "built without OpenMP");
    return kn_success;
}

#endif

const knBench knBenchTasks = {"tasks", "parallel loops: overhead and speed-up beside OpenMP", Run};
