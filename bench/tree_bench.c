// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "bench/tree_bench.h"

#include <math.h>
#include <time.h>

TreeRow MakeTreeRow(const char* caseName, const char* metric, const char* unit)
{
    TreeRow row = {caseName, metric, unit, NAN, NAN, "", NAN, NAN, NAN, ""};
    return row;
}

knResult AddTreeRow(knBenchRun* run, const TreeRow* r)
{
    knBenchRow row = knBenchRun_MakeRow(run, r->caseName, r->metric, r->unit);
    row.ours = r->ours;
    row.peer = r->peer;
    row.ratio = knBetterRatio(r->ours, r->peer, false);
    row.paper = r->paper;
    row.worst = r->worst;
    row.peerWorst = r->peerWorst;
    snprintf(row.peerName, sizeof row.peerName, "%s", r->peerName);
    snprintf(row.note, sizeof row.note, "%s", r->note);
    return knBenchRun_AddRow(run, &row);
}

double TreeSeconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void AddToMean(GeometricMean* mean, double ratio)
{
    if (ratio > 0.0)
    {
        mean->logs += log(ratio);
        mean->count += 1;
    }
}

double MeanOf(const GeometricMean* mean)
{
    return mean->count > 0 ? exp(mean->logs / mean->count) : (double)NAN;
}
