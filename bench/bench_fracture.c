// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // the clock of the thread

#include "bench/benches.h"
#include "bench/breakage.h"
#include "bench/files.h"

#include "knap/breaking.h"
#include "plugin/family_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

// Table 3 of the paper: what one event costs by phase. Each hit is repeated; its time is the least
// of the repetitions, in processor time, so that other programs are not in it. Every event has a
// fresh family, in memory that was used before: a game's pool, not the system's untouched pages.

#define SEED        2012
#define HITS        12
#define ROUNDS      5
#define QUICK_HITS  4
#define AREA_SHARE  0.4 // of the surface, that the hit's energy pays for in cracks
#define BUDGET_WORK 150000
#define POOL_BYTES  ((size_t)256 << 20)

typedef enum Phase
{
    phaseStress,
    phaseCrack,
    phaseCut,
    phaseField,
    phaseTree,
    phaseEdges,
    phaseTotal,
    phaseCount
} Phase;

static const char* const phaseNames[phaseCount] = {"stress", "crack", "cut and mass", "field",
                                                   "tree",   "edges", "event"};

typedef struct Bench
{
    knBenchRun* run;
    char folder[PATH_MAX]; // of the meshes
    const char* caseName;
    knBenchModel model;
    const knMaterial* material;
    knImpact hits[HITS];
    double impulses[HITS];
    int hitCount;
    knCracks* cracks;
    knArena arena;
    char* pool; // of the one family there is
    size_t poolUsed;
    double best[HITS][phaseCount]; // ms
    knCrackReport reports[HITS];
} Bench;

static double ProcessorSeconds(void* user)
{
    (void)user;
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* TakeFromPool(void* user, size_t size, size_t alignment)
{
    Bench* b = user;
    size_t first = (b->poolUsed + alignment - 1) / alignment * alignment;
    if (first + size > POOL_BYTES)
    {
        return NULL;
    }
    b->poolUsed = first + size;
    return b->pool + first;
}

// The last one can be used again; all of it when the next family is made.
static void LeaveInPool(void* user, void* memory, size_t size)
{
    Bench* b = user;
    size_t first = (size_t)((char*)memory - b->pool);
    b->poolUsed = first + size == b->poolUsed ? first : b->poolUsed;
}

static knFamily* MakeFamily(Bench* b)
{
    knFamilyDef def = knDefaultFamilyDef();
    def.model = b->model.model;
    def.pieceCount = 256;
    knFamily* family = NULL;
    b->poolUsed = 0;
    knAllocator allocator = {TakeFromPool, LeaveInPool, b};
    return knCreateFamily(&family, &def, &allocator) == kn_success ? family : NULL;
}

static knResult SolveStress(Bench* b, knFamily* f, int hit, knStressResult* stress)
{
    knModeSet modes;
    knResult result = knOpenModes(&modes, b->model.asset, false);
    knStressDef def = knDefaultStressDef();
    def.set = &f->fragments;
    def.modes = &modes;
    def.material = b->material;
    def.impacts = &b->hits[hit];
    def.impactCount = 1;
    knArena_Reset(&b->arena);
    result = result == kn_success ? knArena_Reserve(&b->arena, knStressBytes(&def)) : result;
    return result == kn_success ? knSolveStress(&def, &b->arena, stress) : result;
}

static knResult BeginCracks(Bench* b, knFamily* f, int hit, const knStressResult* stress)
{
    knCrackHit crackHit = {b->hits[hit].point, b->hits[hit].impulse};
    const knMaterial* m = b->material;
    knCrackDef def = knDefaultCrackDef();
    def.stress = stress->nodes;
    def.impulse = b->impulses[hit];
    def.strainEnergy = stress->strainEnergy;
    def.hits = &crackHit;
    def.hitCount = 1;
    def.strength = m->tensileStrength;
    def.fractureEnergy = m->fractureEnergy;
    def.length = m->youngsModulus * m->fractureEnergy / (m->tensileStrength * m->tensileStrength);
    def.seed = SEED;
    def.clock = ProcessorSeconds;
    return knCracks_Begin(b->cracks, &f->fragments, &def);
}

static knResult CutAll(Bench* b)
{
    knResult result = knArena_Reserve(&b->arena, knCracks_Bytes(b->cracks));
    while (result == kn_success && !knCracks_Report(b->cracks)->isDone)
    {
        knSplitResult split;
        knArena_Reset(&b->arena);
        result = knCracks_Next(b->cracks, &b->arena, &split);
    }
    knArena_Reset(&b->arena);
    return result;
}

// What knFamily_Follow does, step by step.
static knResult Update(Bench* b, knFamily* f, double times[phaseCount])
{
    knFractureDelta delta;
    double start = ProcessorSeconds(NULL);
    knFragmentMark mark = {1, 0};
    knResult result = knFragmentSet_DeltaSince(&f->fragments, 0, mark, &b->arena, &delta);
    result = result == kn_success ? knFragmentField_Update(f->field, &delta) : result;
    double field = ProcessorSeconds(NULL);
    knArena_Reset(&f->scratch);
    result = result == kn_success ? knSphereForest_Update(&f->forest, &delta, &f->cuts, &f->scratch)
                                  : result;
    double tree = ProcessorSeconds(NULL);
    if (result == kn_success)
    {
        knFamily_UpdateEdges(f, &delta);
        f->isBehind = false;
    }
    times[phaseField] = field - start;
    times[phaseTree] = tree - field;
    times[phaseEdges] = ProcessorSeconds(NULL) - tree;
    return result;
}

static knResult RunEvent(Bench* b, int hit, double times[phaseCount])
{
    knFamily* f = MakeFamily(b);
    if (!f)
    {
        return kn_errorMemory;
    }
    memset(times, 0, phaseCount * sizeof(double));
    knStressResult stress;
    double start = ProcessorSeconds(NULL);
    knResult result = SolveStress(b, f, hit, &stress);
    times[phaseStress] = ProcessorSeconds(NULL) - start;
    start = ProcessorSeconds(NULL);
    result = result == kn_success ? BeginCracks(b, f, hit, &stress) : result;
    knArena_Reset(&b->arena);
    result = result == kn_success ? CutAll(b) : result;
    if (result == kn_success)
    {
        b->reports[hit] = *knCracks_Report(b->cracks);
        times[phaseCut] = b->reports[hit].cutSeconds;
        times[phaseCrack] = ProcessorSeconds(NULL) - start - times[phaseCut];
    }
    if (result == kn_success && b->reports[hit].pieceCount > 1)
    {
        result = Update(b, f, times);
    }
    for (int i = 0; i < phaseTotal; ++i)
    {
        times[phaseTotal] += times[i];
    }
    knArena_Reset(&b->arena);
    knDestroyFamily(f);
    return result;
}

// Any triangle of the surface, hit along its normal, hard enough for a good heap of pieces.
static knResult ChooseHits(Bench* b)
{
    const knSurfaceMesh* s = knAsset_Surface(b->model.asset);
    knRandom random = knMakeRandom(SEED);
    for (int i = 0; i < b->hitCount; ++i)
    {
        const uint32_t* v = s->triangles[knRandom_Below(&random, s->triangleCount)].v;
        knVec3 p = s->positions[v[0]];
        knVec3 q = s->positions[v[1]];
        knVec3 r = s->positions[v[2]];
        knVec3 inwards = knNormalize(knCross(knSub(r, p), knSub(q, p)));
        b->hits[i] = (knImpact){.kind = kn_loadImpact,
                                .point = knScale(1.0f / 3.0f, knAdd(p, knAdd(q, r))),
                                .impulse = inwards};
        double times[phaseCount];
        b->impulses[i] = 1e-6;
        knResult result = RunEvent(b, i, times);
        if (result != kn_success)
        {
            return result;
        }
        const knCrackReport* report = &b->reports[i];
        double energy = AREA_SHARE * knAsset_Info(b->model.asset)->area;
        energy *= b->material->fractureEnergy;
        b->impulses[i] = fmax(1e-6 * sqrt(energy / report->energy), 1.5e-6 * report->breakingShare);
    }
    return kn_success;
}

static knResult AddPhase(Bench* b, int phase)
{
    double times[HITS];
    for (int i = 0; i < b->hitCount; ++i)
    {
        times[i] = b->best[i][phase];
    }
    knBenchRow row = knBenchRun_MakeRow(b->run, b->caseName, phaseNames[phase], "ms");
    row.worst = knWorst(times, (size_t)b->hitCount);
    row.ours = knMedian(times, (size_t)b->hitCount);
    double pieces[HITS], tries[HITS];
    for (int i = 0; i < b->hitCount; ++i)
    {
        pieces[i] = b->reports[i].pieceCount;
        tries[i] = b->reports[i].tryCount;
    }
    snprintf(row.note, sizeof row.note,
             "processor time; %d hits, %.0f pieces and %.0f tries, median", b->hitCount,
             knMedian(pieces, (size_t)b->hitCount), knMedian(tries, (size_t)b->hitCount));
    return knBenchRun_AddRow(b->run, &row);
}

static knResult MeasureEvents(Bench* b)
{
    for (int i = 0; i < b->hitCount; ++i)
    {
        for (int round = 0; round < ROUNDS; ++round)
        {
            double times[phaseCount];
            knResult result = RunEvent(b, i, times);
            if (result != kn_success)
            {
                return result;
            }
            for (int k = 0; k < phaseCount; ++k)
            {
                double ms = 1e3 * times[k];
                b->best[i][k] = round == 0 ? ms : fmin(b->best[i][k], ms);
            }
        }
    }
    knResult result = kn_success;
    for (int k = 0; result == kn_success && k < phaseCount; ++k)
    {
        result = AddPhase(b, k);
    }
    return result;
}

// One event in slices of fixed work: the longest slice.
static knResult RunSliced(Bench* b, knBreaker* breaker, int hit, double* worst, double* slices)
{
    knFamily* f = MakeFamily(b);
    knImpact impact = b->hits[hit];
    impact.impulse = knScale((float)b->impulses[hit], impact.impulse);
    knBreakDef def = knDefaultBreakDef();
    def.impacts = &impact;
    def.impactCount = 1;
    def.seed = SEED;
    knBreakBudget budget = {.maxWork = BUDGET_WORK};
    double start = ProcessorSeconds(NULL);
    knResult result = f ? knBreaker_Begin(breaker, f, &def, &budget) : kn_errorMemory;
    *worst = *slices = 0.0;
    bool done = false;
    while (result == kn_success && !done)
    {
        knBreakResult made;
        result = knBreaker_Continue(breaker, &budget, &made);
        double now = ProcessorSeconds(NULL);
        *worst = fmax(*worst, now - start);
        *slices += 1.0;
        start = now;
        done = result != kn_success || made.isDone;
    }
    knDestroyFamily(f);
    return result;
}

static knResult MeasureSlices(Bench* b)
{
    knBreaker* breaker = NULL;
    knResult result = knCreateBreaker(&breaker, NULL);
    double longest[HITS], slices[HITS];
    for (int i = 0; result == kn_success && i < b->hitCount; ++i)
    {
        longest[i] = HUGE_VAL;
        for (int round = 0; result == kn_success && round < ROUNDS; ++round)
        {
            double worst = 0.0;
            result = RunSliced(b, breaker, i, &worst, &slices[i]);
            longest[i] = fmin(longest[i], 1e3 * worst);
        }
    }
    knDestroyBreaker(breaker);
    if (result != kn_success)
    {
        return result;
    }
    knBenchRow row = knBenchRun_MakeRow(b->run, b->caseName, "longest slice", "ms");
    row.worst = knWorst(longest, (size_t)b->hitCount);
    row.ours = knMedian(longest, (size_t)b->hitCount);
    snprintf(row.note, sizeof row.note, "budget of %d units a call: %.0f calls, median",
             BUDGET_WORK, knMedian(slices, (size_t)b->hitCount));
    return knBenchRun_AddRow(b->run, &row);
}

static knResult BenchObject(Bench* b, const char* name)
{
    char file[64], path[PATH_MAX];
    snprintf(file, sizeof file, "%s.obj", name);
    knResult result = knJoinPath(path, b->folder, file);
    result = result == kn_success ? knCookGameModel(&b->model, path) : result;
    if (result != kn_success)
    {
        return result;
    }
    b->caseName = name;
    b->material = knFindMaterialPreset("ceramic");
    result = knCreateCracks(&b->cracks, knAsset_TetMesh(b->model.asset)->nodeCount, NULL);
    result = result == kn_success ? ChooseHits(b) : result;
    result = result == kn_success ? MeasureEvents(b) : result;
    result = result == kn_success ? MeasureSlices(b) : result;
    knDestroyCracks(b->cracks);
    b->cracks = NULL;
    knDestroyBenchModel(&b->model);
    return result;
}

static knResult Run(knBenchRun* run)
{
    static const char* const names[] = {"bunny", "plate", "brick", "piggy", "shelf"};
    static Bench b; // too large for the stack
    b = (Bench){.run = run, .hitCount = run->options.quick ? QUICK_HITS : HITS};
#ifndef KN_BENCH_TOOLS
    knBenchRun_Skip(run, "all rows", "built without the tools, which cook");
    return kn_success;
#endif
    const char* given = run->options.meshPath;
    snprintf(b.folder, sizeof b.folder, "%s", given ? given : "");
    if (!given && knFindUpwards(b.folder, "demos/assets") != kn_success)
    {
        knBenchRun_Skip(run, "all rows", "no demos/assets above knap-bench; name it with --meshes");
        return kn_success;
    }
    knResult result = knCreateArena(&b.arena, 0, NULL);
    b.pool = knAllocate(NULL, POOL_BYTES, 1);
    result = b.pool ? result : kn_errorMemory;
    if (b.pool)
    {
        memset(b.pool, 1, POOL_BYTES);
    }
    for (size_t i = 0; result == kn_success && i < sizeof names / sizeof names[0]; ++i)
    {
        result = BenchObject(&b, names[i]);
    }
    knRelease(NULL, b.pool, POOL_BYTES, 1);
    knDestroyArena(&b.arena);
    return result;
}

const knBench knBenchFracture = {"fracture", "one event by phase: stress, cracks, cut, update",
                                 Run};
