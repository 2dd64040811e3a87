// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#if defined(KN_BENCH_GMP)

#include "tests/ccd_oracle.h"
#include "tests/ccd_queries.h"

#include <string.h>

// Generated queries, a million of them, judged in rational arithmetic: what is missed and what is
// extra, and how many steps the conservative test takes. The tests do the same with fewer.

#define BINS 10 // steps 0, 1, 2, up to 4, 8, ... 256

typedef struct Tally
{
    size_t queries, touching, late, capped;
    size_t solverMissed[kn_ccdSolverCount], solverExtra[kn_ccdSolverCount];
    size_t bins[BINS];
} Tally;

static int BinOf(uint32_t steps)
{
    int bin = steps == 0 ? 0 : 1;
    for (uint32_t most = 1; steps > most && bin + 1 < BINS; most *= 2)
    {
        bin += 1;
    }
    return bin;
}

static knResult Judge(const knCcdTest* q, Tally* t)
{
    bool isTouch = DoFeaturesTouch(q);
    knResult result = kn_success;
    for (int solver = 0; solver < kn_ccdSolverCount && result == kn_success; ++solver)
    {
        knCcdAnswer answer;
        result = knRunCcdTest(q, (knCcdSolver)solver, &answer);
        t->solverMissed[solver] += isTouch && !answer.isContact;
        t->solverExtra[solver] += !isTouch && answer.isContact;
        if (solver == kn_ccdConservative)
        {
            t->late += isTouch && answer.isContact && DoFeaturesTouchBefore(q, answer.time);
            t->capped += answer.isCapped;
            t->bins[BinOf(answer.stepCount)] += 1;
        }
    }
    t->queries += 1;
    t->touching += isTouch;
    return result;
}

static void AddTally(Tally* sum, const Tally* t)
{
    sum->queries += t->queries;
    sum->touching += t->touching;
    sum->late += t->late;
    sum->capped += t->capped;
    for (int i = 0; i < kn_ccdSolverCount; ++i)
    {
        sum->solverMissed[i] += t->solverMissed[i];
        sum->solverExtra[i] += t->solverExtra[i];
    }
    for (int i = 0; i < BINS; ++i)
    {
        sum->bins[i] += t->bins[i];
    }
}

// Beside the papers' cubic, where there is a number of it.
static knResult AddCount(knBenchRun* run, const char* kind, const char* metric, size_t count,
                         const size_t* cubic)
{
    knBenchRow row = knBenchRun_MakeRow(run, kind, metric, "");
    row.ours = (double)count;
    if (cubic)
    {
        row.peer = (double)*cubic;
        snprintf(row.peerName, sizeof row.peerName, "cubic in double");
    }
    return knBenchRun_AddRow(run, &row);
}

static knResult AddRows(knBenchRun* run, const char* kind, const Tally* t)
{
    const size_t *missed = t->solverMissed, *extra = t->solverExtra;
    knResult result = AddCount(run, kind, "queries", t->queries, NULL);
    result = result == kn_success ? AddCount(run, kind, "touch", t->touching, NULL) : result;
    result = result == kn_success ? AddCount(run, kind, "missed", missed[0], &missed[kn_ccdCubic])
                                  : result;
    result =
        result == kn_success ? AddCount(run, kind, "extra", extra[0], &extra[kn_ccdCubic]) : result;
    result = result == kn_success ? AddCount(run, kind, "told too late", t->late, NULL) : result;
    return result == kn_success ? AddCount(run, kind, "capped", t->capped, NULL) : result;
}

static knResult AddSteps(knBenchRun* run, const Tally* t)
{
    knResult result = kn_success;
    for (int i = 0; i < BINS && result == kn_success; ++i)
    {
        char metric[32];
        snprintf(metric, sizeof metric, "of at most %d steps", i == 0 ? 0 : 1 << (i - 1));
        result = AddCount(run, "all", metric, t->bins[i], NULL);
    }
    return result;
}

static knResult Run(knBenchRun* run)
{
    static const char* const names[queryKindCount] = {
        "random",   "near",     "small whole", "contact", "grazing",
        "coplanar", "parallel", "shared",      "still",   "double root"};
    static const double scales[4] = {1.0, 0x1p100, 0x1p-100, 0x1p-1040};
    int each = (run->options.quick ? 20000 : 1000000) / queryKindCount;
    Tally sum = {0};
    knResult result = kn_success;
    for (int kind = 0; kind < queryKindCount && result == kn_success; ++kind)
    {
        QuerySource source = {(uint64_t)(100 + kind)};
        Tally t = {0};
        for (int i = 0; i < each && result == kn_success; ++i)
        {
            knCcdTest q = MakeQuery(&source, (QueryKind)kind, i);
            ScaleQuery(&q, scales[i / 7 % 4]);
            result = Judge(&q, &t);
        }
        AddTally(&sum, &t);
        result = result == kn_success ? AddRows(run, names[kind], &t) : result;
    }
    result = result == kn_success ? AddRows(run, "all", &sum) : result;
    result = result == kn_success ? AddSteps(run, &sum) : result;
    return result == kn_success && sum.solverMissed[kn_ccdConservative] + sum.late > 0
               ? knFail(kn_errorLimit, "a contact was missed, or told too late")
               : result;
}

#else

static knResult Run(knBenchRun* run)
{
    knBenchRun_Skip(run, "all rows", "GMP was not there when this was built");
    return kn_success;
}

#endif

const knBench knBenchCcdExact = {"ccd-exact", "generated queries judged by exact arithmetic", Run};
