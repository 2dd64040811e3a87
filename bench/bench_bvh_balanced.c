// SPDX-License-Identifier: Zlib
#include "bench/benches.h"

#include "bench/tree_bench.h"
#include "bench/tree_cut.h"
#include "bench/tree_rebuild.h"
#include "bench/tree_scenes.h"

// The 2007 paper's measurements. Here Table 1 and Figure 7: a body at rest that is split in eleven
// steps, at three sizes; every phase of the restructuring, beside trees made anew.

#define STEPS 11

enum Phase
{
    phaseReplace,
    phaseInsert,
    phaseRefit,
    phaseOptimize,
    phaseRebuild, // and the two after it: RebuildKind
    PHASES = phaseRebuild + REBUILD_COUNT
};

typedef struct Split
{
    char name[64];
    CutMesh mesh;
    knHierarchy* hierarchies[2]; // with and without optimisation
    knId bodies[2];
    RebuildTree rival;
    double seconds[PHASES];             // of all steps
    double best[PHASES];                // over the repetitions
    double quality[2][STEPS + 1];       // with, without
    double rebuilt[STEPS + 1];          // by the median
    uint32_t heights[3];                // AVL, median, midpoint
    uint32_t old, pieces, faces, begin; // sums; triangles at first
    uint64_t hash;
} Split;

static knResult StartSplit(Split* s, uint32_t rows, uint32_t columns)
{
    if (!MakeCutMesh(&s->mesh, cutStatic, rows, columns, 1))
    {
        return knFail(kn_errorMemory, "no memory for the mesh");
    }
    const CutMesh* m = &s->mesh;
    s->begin = m->triangleCount;
    knResult result = kn_success;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        knHierarchyDef def = knDefaultHierarchyDef();
        def.optimize = i == 0;
        def.rebuildQuality = 0.0f;
        knHierarchy** h = &s->hierarchies[i];
        result = knCreateHierarchy(h, &def, NULL);
        result = result == kn_success
                     ? knHierarchy_AddVertices(*h, m->positions, m->vertexCount, NULL)
                     : result;
        result = result == kn_success
                     ? knHierarchy_AddBody(*h, m->triangles, m->triangleCount, NULL, &s->bodies[i])
                     : result;
        result = result == kn_success ? knHierarchy_Update(*h) : result;
        result = result == kn_success ? knHierarchy_Reserve(*h, s->begin, s->begin) : result;
    }
    return result;
}

static void EndSplit(Split* s)
{
    knDestroyHierarchy(s->hierarchies[0]);
    knDestroyHierarchy(s->hierarchies[1]);
    s->hierarchies[0] = s->hierarchies[1] = NULL;
    FreeCutMesh(&s->mesh);
}

// First pieces, which replace, and the rest, which is inserted: so that each is timed by itself.
static knResult Restructure(knHierarchy* h, knId body, const CutStep* c, double seconds[2])
{
    knTriangle* firsts = malloc((c->oldCount + 1) * sizeof *firsts);
    uint32_t* of = malloc((c->oldCount + 1) * sizeof *of);
    knTriangle* rest = malloc((c->pieceCount + c->faceCount + 1) * sizeof *rest);
    uint32_t firstCount = 0, restCount = 0;
    if (!firsts || !of || !rest)
    {
        free(firsts);
        free(of);
        free(rest);
        return knFail(kn_errorMemory, "no memory for a step");
    }
    for (uint32_t i = 0; i < c->pieceCount; ++i)
    {
        if (i == 0 || c->pieceOf[i] != c->pieceOf[i - 1])
        {
            of[firstCount] = c->pieceOf[i];
            firsts[firstCount++] = c->pieces[i];
        }
        else
        {
            rest[restCount++] = c->pieces[i];
        }
    }
    memcpy(rest + restCount, c->faces, c->faceCount * sizeof *rest);
    restCount += c->faceCount;
    knHierarchyCrack crack = {.body = body,
                              .oldTriangles = c->old,
                              .oldCount = c->oldCount,
                              .pieces = firsts,
                              .pieceOf = of,
                              .pieceCount = firstCount};
    double start = TreeSeconds();
    knResult result = knHierarchy_Crack(h, &crack, NULL);
    double middle = TreeSeconds();
    result =
        result == kn_success ? knHierarchy_InsertTriangles(h, body, rest, restCount, NULL) : result;
    seconds[0] += middle - start;
    seconds[1] += TreeSeconds() - middle;
    free(firsts);
    free(of);
    free(rest);
    return result;
}

static knResult FitStep(Split* s, int step)
{
    for (int i = 0; i < 2; ++i)
    {
        knHierarchy* h = s->hierarchies[i];
        uint32_t root = knGetHierarchyBody(h, s->bodies[i].index)->root;
        double start = TreeSeconds();
        knRefitBalanced(h, root);
        double middle = TreeSeconds();
        if (i == 0)
        {
            knOptimizeBalanced(h, root);
            s->seconds[phaseOptimize] += TreeSeconds() - middle;
            s->seconds[phaseRefit] += middle - start;
            s->heights[0] = h->links[root].height;
        }
        s->quality[i][step] = knBalancedQuality(h, root);
    }
    return kn_success;
}

static knResult RebuildStep(Split* s, int step)
{
    const knHierarchy* h = s->hierarchies[0];
    for (int kind = 0; kind < REBUILD_COUNT; ++kind)
    {
        double start = TreeSeconds();
        if (!Rebuild(&s->rival, h, 0, (RebuildKind)kind))
        {
            return knFail(kn_errorMemory, "no memory for a rebuild");
        }
        s->seconds[phaseRebuild + kind] += TreeSeconds() - start;
        if (kind == rebuildMedian)
        {
            s->rebuilt[step] = RebuildQuality(&s->rival, h->padding);
            s->heights[1] = s->rival.height;
        }
        s->heights[2] = kind == rebuildMidpoint ? s->rival.height : s->heights[2];
    }
    return kn_success;
}

static knResult RunStep(Split* s, int step)
{
    CutMesh* m = &s->mesh;
    uint32_t before = m->vertexCount;
    double top = 2.3, height = 2.0 * top / STEPS;
    ClearStep(m);
    CutByPlane(m, 0, top - height * step, top - height * (step - 1));
    FinishStep(m);
    s->old += m->step.oldCount;
    s->pieces += m->step.pieceCount;
    s->faces += m->step.faceCount;
    knResult result = kn_success;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        double unused[2] = {0.0, 0.0};
        knHierarchy* h = s->hierarchies[i];
        result = knHierarchy_AddVertices(h, m->positions + before, m->vertexCount - before, NULL);
        result = result == kn_success
                     ? Restructure(h, s->bodies[i], &m->step, i == 0 ? s->seconds : unused)
                     : result;
    }
    result = result == kn_success ? FitStep(s, step) : result;
    return result == kn_success ? RebuildStep(s, step) : result;
}

static knResult RunSplit(Split* s, uint32_t rows, uint32_t columns)
{
    memset(s->seconds, 0, sizeof s->seconds);
    s->old = s->pieces = s->faces = 0;
    knResult result = StartSplit(s, rows, columns);
    if (result == kn_success)
    {
        result = FitStep(s, 0);
        memset(s->seconds, 0, sizeof s->seconds);
        result = result == kn_success ? RebuildStep(s, 0) : result;
        memset(s->seconds, 0, sizeof s->seconds);
    }
    for (int step = 1; step <= STEPS && result == kn_success; ++step)
    {
        result = RunStep(s, step);
    }
    for (int i = 0; i < PHASES; ++i)
    {
        s->best[i] = s->best[i] > 0.0 ? fmin(s->best[i], s->seconds[i]) : s->seconds[i];
    }
    s->hash = HashPositions(s->mesh.positions, s->mesh.vertexCount);
    return result;
}

static knResult AddPhases(knBenchRun* run, const Split* s, int size)
{
    static const char* const names[4] = {"replace", "insert", "refit", "optimise"};
    static const double paper[3][4] = {
        {0.01, 0.09, 2.60, 4.08}, {0.02, 0.18, 9.48, 15.99}, {0.04, 1.40, 37.02, 62.27}};
    knResult result = kn_success;
    for (int i = 0; i < 4 && result == kn_success; ++i)
    {
        char note[200];
        TreeRow row = MakeTreeRow(s->name, names[i], "ms a step");
        row.ours = 1e3 * s->best[i] / STEPS;
        row.paper = paper[size][i];
        snprintf(note, sizeof note, "a step: %.1f old, %.1f pieces, %.1f faces; hash %016llx",
                 (double)s->old / STEPS, (double)s->pieces / STEPS, (double)s->faces / STEPS,
                 (unsigned long long)s->hash);
        row.note = i == 0 ? note : "the paper's are times of 2007";
        result = AddTreeRow(run, &row);
    }
    return result;
}

static knResult AddTotals(knBenchRun* run, const Split* s, int size)
{
    static const char* const names[REBUILD_COUNT] = {
        "rebuild, median by sorting", "rebuild, median by selection", "rebuild, midpoint"};
    static const double paper[3][REBUILD_COUNT] = {
        {7.28, NAN, 3.76}, {8.80, NAN, 3.90}, {14.81, NAN, 4.08}};
    knResult result = kn_success;
    double total = 0.0;
    for (int i = 0; i < 4; ++i)
    {
        total += 1e3 * s->best[i] / STEPS;
    }
    for (int i = 0; i < REBUILD_COUNT && result == kn_success; ++i)
    {
        TreeRow row = MakeTreeRow(s->name, "restructure, total", "ms a step");
        row.ours = total;
        row.peer = 1e3 * s->best[phaseRebuild + i] / STEPS;
        row.peerName = names[i];
        row.paper = paper[size][i];
        result = AddTreeRow(run, &row);
    }
    return result;
}

static knResult AddQuality(knBenchRun* run, const Split* s)
{
    knResult result = kn_success;
    for (int step = 0; step <= STEPS && result == kn_success; ++step)
    {
        char metric[32];
        snprintf(metric, sizeof metric, "Q after step %d", step);
        TreeRow row = MakeTreeRow(s->name, metric, "");
        row.ours = s->quality[0][step];
        row.peer = s->quality[1][step];
        row.peerName = "without optimisation";
        row.note = step == STEPS ? "paper: 30 % better with" : "";
        result = AddTreeRow(run, &row);
    }
    TreeRow rebuilt = MakeTreeRow(s->name, "Q at the end", "");
    rebuilt.ours = s->quality[0][STEPS];
    rebuilt.peer = s->rebuilt[STEPS];
    rebuilt.peerName = "rebuild, median";
    result = result == kn_success ? AddTreeRow(run, &rebuilt) : result;
    TreeRow depth = MakeTreeRow(s->name, "height at the end", "");
    depth.ours = s->heights[0];
    depth.peer = s->heights[2];
    depth.peerName = "rebuild, midpoint";
    depth.paper = 3.0;
    depth.note = "paper: almost three times";
    return result == kn_success ? AddTreeRow(run, &depth) : result;
}

static knResult MeasureSplit(knBenchRun* run, int size)
{
    static const uint32_t sizes[3][2] = {{50, 57}, {100, 113}, {200, 226}};
    Split* s = calloc(1, sizeof *s);
    knResult result = s ? kn_success : knFail(kn_errorMemory, "no memory for the bench");
    int repetitions = run->options.quick ? 3 : 9;
    for (int i = 0; i < repetitions && result == kn_success; ++i)
    {
        result = RunSplit(s, sizes[size][0], sizes[size][1]);
        if (i + 1 < repetitions || result != kn_success)
        {
            EndSplit(s);
        }
    }
    if (result == kn_success)
    {
        snprintf(s->name, sizeof s->name, "split, %u to %u", s->begin, s->mesh.triangleCount);
        result = AddPhases(run, s, size);
        result = result == kn_success ? AddTotals(run, s, size) : result;
        result = result == kn_success ? AddQuality(run, s) : result;
        EndSplit(s);
    }
    if (s)
    {
        FreeRebuild(&s->rival);
    }
    free(s);
    return result;
}

static knResult Run(knBenchRun* run)
{
    knResult result = kn_success;
    GeometricMean mean = {0.0, 0};
    for (int size = 0; size < 3 && result == kn_success; ++size)
    {
        result = MeasureSplit(run, size);
    }
    result = result == kn_success ? MeasureApple(run, &mean) : result;
    result = result == kn_success ? MeasurePumpkin(run, &mean) : result;
    TreeRow row = MakeTreeRow("all, geometric mean", "balanced / default", "times faster");
    row.ours = MeanOf(&mean);
    row.note = "update and query; below 1: the module's default is faster";
    return result == kn_success ? AddTreeRow(run, &row) : result;
}

const knBench knBenchBvhBalanced = {"bvh-balanced", "balanced hierarchies of surfaces that crack",
                                    Run};
