// SPDX-License-Identifier: Zlib
#define _DEFAULT_SOURCE // the monotonic clock, resource usage

#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MIN_SAMPLE_SECONDS 1e-3
#define MAX_RUNS           (1 << 24) // per sample
#define MAX_SAMPLES        4096      // per side
#define MAX_SHORTAGE       0.25      // processors that the work may lack
#define MAX_TRIES          3

double knSecondsNow(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int CompareDoubles(const void* a, const void* b)
{
    double x = *(const double*)a;
    double y = *(const double*)b;
    return (x > y) - (x < y);
}

double knMedian(double* samples, size_t count)
{
    if (count == 0)
    {
        return (double)NAN;
    }
    qsort(samples, count, sizeof(double), CompareDoubles);
    return 0.5 * (samples[(count - 1) / 2] + samples[count / 2]);
}

double knWorst(const double* samples, size_t count)
{
    double worst = (double)NAN;
    for (size_t i = 0; i < count; ++i)
    {
        // fmax drops the NaN
        worst = fmax(worst, samples[i]);
    }
    return worst;
}

double knBetterRatio(double ours, double peer, bool higherIsBetter)
{
    if (!isfinite(ours) || !isfinite(peer) || ours <= 0.0 || peer <= 0.0)
    {
        return (double)NAN;
    }
    return higherIsBetter ? ours / peer : peer / ours;
}

knBenchRow knBenchRun_MakeRow(const knBenchRun* run, const char* caseName, const char* metric,
                              const char* unit)
{
    double none = (double)NAN;
    knBenchRow row = {.ours = none,
                      .peer = none,
                      .ratio = none,
                      .paper = none,
                      .worst = none,
                      .peerWorst = none,
                      .foreignLoad = none};
    snprintf(row.bench, sizeof row.bench, "%s", run->bench);
    snprintf(row.caseName, sizeof row.caseName, "%s", caseName);
    snprintf(row.metric, sizeof row.metric, "%s", metric);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    return row;
}

knResult knBenchRun_AddRow(knBenchRun* run, const knBenchRow* row)
{
    void* rows = run->rows;
    knResult result = knGrow(NULL, &rows, &run->rowCapacity, run->rowCount + 1, sizeof(knBenchRow));
    if (result == kn_success)
    {
        run->rows = rows;
        run->rows[run->rowCount++] = *row;
    }
    return result;
}

void knBenchRun_Skip(const knBenchRun* run, const char* what, const char* why)
{
    fprintf(stderr, "knap-bench: %s: skipped %s: %s\n", run->bench, what, why);
}

void knBenchRun_Release(knBenchRun* run)
{
    knRelease(NULL, run->rows, run->rowCapacity, sizeof(knBenchRow));
    run->rows = NULL;
    run->rowCount = 0;
    run->rowCapacity = 0;
}

knMeasureDef knDefaultMeasureDef(const knBenchRun* run)
{
    return (knMeasureDef){.caseName = "",
                          .metric = "time",
                          .unit = "ms",
                          .scale = 1e3,
                          .minSeconds = run->options.quick ? 0.02 : 0.3,
                          .repetitions = run->options.quick ? 5 : 21};
}

static knResult CallIfAny(knBenchFcn* function, void* context)
{
    return function ? function(context) : kn_success;
}

// Brings the side into its steady state: threads awake and spread, caches its own.
static knResult Settle(const knMeasureDef* def, knBenchFcn* side)
{
    knResult result = CallIfAny(def->beforeSample, def->context);
    double begin = knSecondsNow();
    while (result == kn_success && knSecondsNow() - begin < def->settleSeconds)
    {
        result = CallIfAny(def->beforeRun, def->context);
        result = result == kn_success ? side(def->context) : result;
    }
    return result == kn_success ? CallIfAny(def->afterSettle, def->context) : result;
}

// Other programs are in the time on the wall and not in that of the thread.
static double SampleClock(const knMeasureDef* def)
{
    if (!def->threadTime)
    {
        return knSecondsNow();
    }
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Seconds for so many runs, without what prepares them.
static knResult TimeSample(const knMeasureDef* def, knBenchFcn* side, int runs, double* seconds)
{
    knResult result = Settle(def, side);
    double total = 0.0;
    double begin = SampleClock(def);
    for (int i = 0; result == kn_success && i < runs; ++i)
    {
        if (def->beforeRun)
        {
            result = def->beforeRun(def->context);
            begin = SampleClock(def);
        }
        result = result == kn_success ? side(def->context) : result;
        if (def->beforeRun)
        {
            total += SampleClock(def) - begin;
        }
    }
    *seconds = def->beforeRun ? total : SampleClock(def) - begin;
    return result;
}

// The warm-up, too: at least three samples are run before one counts.
static knResult FindRunCount(const knMeasureDef* def, knBenchFcn* side, int* runs)
{
    double seconds = 0.0;
    int longCount = 0;
    *runs = 1;
    knResult result = TimeSample(def, side, *runs, &seconds);
    // twice in a row: one hiccup must not make all samples too short
    while (result == kn_success && longCount < 2 && *runs < MAX_RUNS)
    {
        result = TimeSample(def, side, *runs, &seconds);
        bool isLong = seconds >= MIN_SAMPLE_SECONDS;
        longCount = isLong ? longCount + 1 : 0;
        *runs *= isLong ? 1 : 2;
    }
    return result;
}

// Samples of both sides, index 0 ours; whoever goes second finds the caches of the other, so the
// two take turns at that as well.
static knResult TakeSamples(const knMeasureDef* def, double* samples[2], size_t* sampleCount)
{
    knBenchFcn* sides[2] = {def->ours, def->peer};
    int sideCount = def->peer ? 2 : 1;
    int runs[2] = {1, 1};
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < sideCount; ++i)
    {
        result = FindRunCount(def, sides[i], &runs[i]);
    }
    double begin = knSecondsNow();
    size_t least = def->repetitions > 1 ? (size_t)def->repetitions : 1;
    size_t n = 0;
    while (result == kn_success && n < MAX_SAMPLES &&
           (n < least || knSecondsNow() - begin < def->minSeconds))
    {
        for (int i = 0; result == kn_success && i < sideCount; ++i)
        {
            int side = sideCount == 2 && n % 2 == 1 ? 1 - i : i;
            double seconds = 0.0;
            result = TimeSample(def, sides[side], runs[side], &seconds);
            samples[side][n] = def->scale * seconds / runs[side];
        }
        ++n;
    }
    *sampleCount = n;
    return result;
}

static double OwnSeconds(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// Processor seconds that others had since the system began; NaN where it does not tell.
static double ForeignSeconds(void)
{
    FILE* file = fopen("/proc/stat", "r");
    double t[8] = {0.0}; // user, nice, system, idle, iowait, irq, softirq, steal
    int count = file ? fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2],
                              &t[3], &t[4], &t[5], &t[6], &t[7])
                     : 0;
    if (file)
    {
        fclose(file);
    }
    double busy = (t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / (double)sysconf(_SC_CLK_TCK);
    double own = OwnSeconds(RUSAGE_SELF) + OwnSeconds(RUSAGE_CHILDREN);
    return count == 8 ? busy - own : (double)NAN;
}

static knResult MeasureOnce(const knMeasureDef* def, knMeasurement* measurement)
{
    size_t sampleCount = 0;
    double* memory = knAllocate(NULL, 2 * MAX_SAMPLES, sizeof(double));
    if (!memory)
    {
        return kn_errorMemory;
    }
    double* samples[2] = {memory, memory + MAX_SAMPLES};
    double begin = knSecondsNow();
    double foreign = ForeignSeconds();
    knResult result = TakeSamples(def, samples, &sampleCount);
    foreign = (ForeignSeconds() - foreign) / (knSecondsNow() - begin);
    if (result == kn_success)
    {
        size_t peerCount = def->peer ? sampleCount : 0;
        measurement->worst = knWorst(samples[0], sampleCount);
        measurement->peerWorst = knWorst(samples[1], peerCount);
        measurement->ours = knMedian(samples[0], sampleCount);
        measurement->peer = knMedian(samples[1], peerCount);
        // the system counts in ticks, so it can come out a little below zero
        measurement->foreignLoad = foreign < 0.0 ? 0.0 : foreign;
    }
    knRelease(NULL, memory, 2 * MAX_SAMPLES, sizeof(double));
    return result;
}

bool knIsCrowded(const knMeasureDef* def, const knMeasurement* measurement)
{
    double spare = (double)sysconf(_SC_NPROCESSORS_ONLN) - def->processors;
    // a machine with too few processors is crowded by the work itself
    return def->processors > 0 && measurement->foreignLoad > spare + MAX_SHORTAGE;
}

knResult knMeasure(const knMeasureDef* def, knMeasurement* measurement)
{
    knResult result = MeasureOnce(def, measurement);
    for (int i = 1; i < MAX_TRIES && result == kn_success && knIsCrowded(def, measurement); ++i)
    {
        result = MeasureOnce(def, measurement);
    }
    return result;
}

knResult knBenchRun_Measure(knBenchRun* run, const knMeasureDef* def)
{
    knMeasurement m;
    knResult result = knMeasure(def, &m);
    if (result != kn_success)
    {
        return result;
    }
    if (knIsCrowded(def, &m))
    {
        knBenchRun_Skip(run, def->caseName, "other programs held the processors that it needs");
        return kn_success;
    }
    knBenchRow row = knBenchRun_MakeRow(run, def->caseName, def->metric, def->unit);
    row.ours = m.ours;
    row.worst = m.worst;
    row.peer = m.peer;
    row.peerWorst = m.peerWorst;
    row.ratio = knBetterRatio(m.ours, m.peer, false);
    row.foreignLoad = m.foreignLoad;
    snprintf(row.peerName, sizeof row.peerName, "%s", def->peerName ? def->peerName : "");
    snprintf(row.note, sizeof row.note, "%s", def->note ? def->note : "");
    return knBenchRun_AddRow(run, &row);
}
