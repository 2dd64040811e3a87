// SPDX-License-Identifier: Zlib
#include "bench/tree_bench.h"
#include "bench/tree_cut.h"
#include "bench/tree_rebuild.h"
#include "bench/tree_scenes.h"

// Figure 5 and 8 of the 2007 paper: strips of an apple's peel are cut from the top down and curl
// outwards. A tree that is restructured, one that is made anew at each step of the cuts, and the
// module's own, all with the same surface.

#define ROWS       44
#define COLUMNS    70
#define CUTS       11
#define STEPS      60 // of the cuts
#define MAX_FRAMES 480

enum Side
{
    restructured,
    rebuilt,
    module,
    SIDES
};

typedef struct Apple
{
    CutMesh mesh;
    knHierarchy* hierarchies[2];
    knId bodies[3];
    knBvhScene* scene;
    knBvhQuery* queries[SIDES];
    RebuildTree rival;
    double updates[SIDES][MAX_FRAMES], answers[SIDES][MAX_FRAMES];
    double sorted[MAX_FRAMES]; // rebuild by sorting
    bool isStep[MAX_FRAMES];
    int frameCount;
    uint64_t rebuilds, pairs;
    uint32_t begin;
    knTriangle* fresh; // scratch
} Apple;

static knResult StartApple(Apple* a)
{
    const CutMesh* m = &a->mesh;
    knResult result = kn_success;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        knHierarchyDef def = knDefaultHierarchyDef();
        def.optimize = i == restructured;
        def.rebuildQuality = i == restructured ? def.rebuildQuality : 0.0f;
        knHierarchy** h = &a->hierarchies[i];
        result = knCreateHierarchy(h, &def, NULL);
        result = result == kn_success
                     ? knHierarchy_AddVertices(*h, m->positions, m->vertexCount, NULL)
                     : result;
        result = result == kn_success
                     ? knHierarchy_AddBody(*h, m->triangles, m->triangleCount, NULL, &a->bodies[i])
                     : result;
        result = result == kn_success ? knHierarchy_Reserve(*h, m->triangleCount, m->triangleCount)
                                      : result;
    }
    knBvhSceneDef def = knDefaultBvhSceneDef();
    result = result == kn_success ? knCreateBvhScene(&a->scene, &def, NULL) : result;
    result = result == kn_success
                 ? knBvhScene_AddVertices(a->scene, m->positions, m->vertexCount, NULL)
                 : result;
    result = result == kn_success ? knBvhScene_AddBody(a->scene, m->triangles, m->triangleCount,
                                                       NULL, &a->bodies[module])
                                  : result;
    for (int i = 0; i < SIDES && result == kn_success; ++i)
    {
        result = knCreateBvhQuery(&a->queries[i], NULL);
    }
    return result;
}

static knResult Crack(knHierarchy* h, knId body, const CutStep* c)
{
    knHierarchyCrack crack = {.body = body,
                              .oldTriangles = c->old,
                              .oldCount = c->oldCount,
                              .pieces = c->pieces,
                              .pieceOf = c->pieceOf,
                              .pieceCount = c->pieceCount,
                              .faces = c->faces,
                              .faceCount = c->faceCount};
    return knHierarchy_Crack(h, &crack, NULL);
}

static knResult CrackScene(Apple* a, const CutStep* c)
{
    knResult result = kn_success;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->pieceCount && result == kn_success; ++i)
    {
        if (i == 0 || c->pieceOf[i] != c->pieceOf[i - 1])
        {
            result = knBvhScene_ReplaceTriangle(a->scene, c->old[c->pieceOf[i]], c->pieces[i]);
        }
        else
        {
            a->fresh[count++] = c->pieces[i];
        }
    }
    memcpy(a->fresh + count, c->faces, c->faceCount * sizeof *a->fresh);
    count += c->faceCount;
    return result == kn_success
               ? knBvhScene_InsertTriangles(a->scene, a->bodies[module], a->fresh, count, NULL)
               : result;
}

// The tree of the second hierarchy, made anew by the median.
static void RebuildBody(knHierarchy* h, knId id)
{
    knHierarchyBody* body = knGetHierarchyBody(h, id.index);
    uint32_t count = knCollectBalanced(h, body->root, 0);
    knReleaseBalanced(h, body->root);
    knBuildBalanced(h, body, count);
    body->isChanged = false;
}

static knResult UpdateSide(Apple* a, int side, int frame)
{
    const CutMesh* m = &a->mesh;
    bool isStep = a->isStep[frame];
    knResult result = kn_success;
    if (side == rebuilt && isStep)
    {
        // its triangles come by cracks too, but only the rebuilding counts
        result = Crack(a->hierarchies[side], a->bodies[side], &m->step);
        if (!Rebuild(&a->rival, a->hierarchies[side], 0, rebuildSort)) // warms up
        {
            return knFail(kn_errorMemory, "no memory for a rebuild");
        }
        double sortStart = TreeSeconds();
        Rebuild(&a->rival, a->hierarchies[side], 0, rebuildSort);
        a->sorted[frame] = TreeSeconds() - sortStart;
    }
    double start = TreeSeconds();
    if (side == module)
    {
        result = isStep ? CrackScene(a, &m->step) : result;
        result = result == kn_success
                     ? knBvhScene_MoveVertices(a->scene, 0, m->vertexCount, m->positions)
                     : result;
        result = result == kn_success ? knBvhScene_Commit(a->scene, NULL) : result;
    }
    else
    {
        knHierarchy* h = a->hierarchies[side];
        result = isStep && side == restructured ? Crack(h, a->bodies[side], &m->step) : result;
        if (isStep && side == rebuilt && result == kn_success)
        {
            RebuildBody(h, a->bodies[side]);
        }
        result = result == kn_success ? knHierarchy_MoveVertices(h, 0, m->vertexCount, m->positions)
                                      : result;
        result = result == kn_success ? knHierarchy_Update(h) : result;
    }
    a->updates[side][frame] = TreeSeconds() - start;
    return result;
}

static knResult RunFrame(Apple* a, int frame)
{
    knBvhQueryDef def = knDefaultBvhQueryDef();
    size_t counts[SIDES] = {0};
    knResult result = kn_success;
    for (int i = 0; i < SIDES && result == kn_success; ++i)
    {
        result = UpdateSide(a, i, frame);
        double start = TreeSeconds();
        if (result == kn_success)
        {
            result = i == module ? knBvhQuery_Run(a->queries[i], a->scene, &def)
                                 : knBvhQuery_RunHierarchy(a->queries[i], a->hierarchies[i], &def);
        }
        a->answers[i][frame] = TreeSeconds() - start;
        knBvhQuery_Pairs(a->queries[i], &counts[i]);
        if (result == kn_success && counts[i] != counts[0])
        {
            result = knFail(kn_errorMesh, "apple, frame %d: %zu pairs and %zu", frame, counts[i],
                            counts[0]);
        }
    }
    a->pairs += counts[0];
    return result;
}

static knResult AddVertices(Apple* a, uint32_t before)
{
    const CutMesh* m = &a->mesh;
    uint32_t count = m->vertexCount - before;
    knResult result = knBvhScene_AddVertices(a->scene, m->positions + before, count, NULL);
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        result = knHierarchy_AddVertices(a->hierarchies[i], m->positions + before, count, NULL);
    }
    return result;
}

static knResult RunFrames(Apple* a)
{
    CutMesh* m = &a->mesh;
    knResult result = kn_success;
    for (int frame = 0; frame < a->frameCount && result == kn_success; ++frame)
    {
        int step = frame * STEPS / a->frameCount;
        a->isStep[frame] = frame > 0 && step != (frame - 1) * STEPS / a->frameCount;
        uint32_t before = m->vertexCount;
        if (a->isStep[frame])
        {
            m->depth = 0.12 + 2.55 * step / (STEPS - 1);
            ClearStep(m);
            for (int cut = 0; cut < CUTS; ++cut)
            {
                CutByPlane(m, cut, 0.0, m->depth);
            }
            FinishStep(m);
        }
        CurlStrips(m, 0.3 + 2.7 * frame / a->frameCount);
        result = AddVertices(a, before);
        result = result == kn_success ? RunFrame(a, frame) : result;
    }
    return result;
}

static double Sum(const double* seconds, const Apple* a, bool stepsOnly)
{
    double sum = 0.0;
    for (int i = 0; i < a->frameCount; ++i)
    {
        sum += a->isStep[i] || !stepsOnly ? seconds[i] : 0.0;
    }
    return sum;
}

static knResult AddRows(knBenchRun* run, const Apple* a, GeometricMean* mean)
{
    char name[64], note[200];
    snprintf(name, sizeof name, "apple, %u to %u, %d frames", a->begin, a->mesh.triangleCount,
             a->frameCount);
    double most[2] = {0.0, 0.0}, steps = STEPS - 1;
    for (int i = 0; i < a->frameCount; ++i)
    {
        most[0] =
            a->isStep[i] ? fmax(most[0], a->sorted[i] / a->updates[restructured][i]) : most[0];
        most[1] = a->isStep[i] ? fmax(most[1], a->updates[rebuilt][i] / a->updates[restructured][i])
                               : most[1];
    }
    double totals[SIDES];
    for (int i = 0; i < SIDES; ++i)
    {
        totals[i] =
            1e3 * (Sum(a->updates[i], a, false) + Sum(a->answers[i], a, false)) / a->frameCount;
    }
    AddToMean(mean, totals[module] / totals[restructured]);
    snprintf(note, sizeof note,
             "%llu pairs a frame; %llu rebuilds at Q > 2.3 (paper 9); best "
             "frame %.1f and %.1f times (paper 20 for sorting)",
             (unsigned long long)a->pairs / (unsigned)a->frameCount,
             (unsigned long long)a->rebuilds, most[0], most[1]);
    const double frames = a->frameCount;
    const struct
    {
        const char* metric;
        double ours, peer;
        const char* peerName;
        double paper;
        const char* note;
    } rows[] = {
        {"update at cuts", 1e3 * Sum(a->updates[restructured], a, true) / steps,
         1e3 * Sum(a->sorted, a, true) / steps, "rebuild, median by sorting", 20.0, note},
        {"update at cuts", 1e3 * Sum(a->updates[restructured], a, true) / steps,
         1e3 * Sum(a->updates[rebuilt], a, true) / steps, "rebuild, median by selection", NAN, ""},
        {"query", 1e3 * Sum(a->answers[restructured], a, false) / frames,
         1e3 * Sum(a->answers[rebuilt], a, false) / frames, "tree made anew", 138.3 / 142.8, ""},
        {"update and query", totals[restructured], totals[module], "module's default", NAN, ""}};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && result == kn_success; ++i)
    {
        TreeRow row = MakeTreeRow(name, rows[i].metric, "ms");
        row.ours = rows[i].ours;
        row.peer = rows[i].peer;
        row.peerName = rows[i].peerName;
        row.paper = rows[i].paper;
        row.note = rows[i].note;
        result = AddTreeRow(run, &row);
    }
    return result;
}

knResult MeasureApple(knBenchRun* run, GeometricMean* mean)
{
    Apple* a = calloc(1, sizeof *a);
    if (!a || !MakeCutMesh(&a->mesh, cutApple, ROWS, COLUMNS, CUTS))
    {
        free(a);
        return knFail(kn_errorMemory, "no memory for the apple");
    }
    a->frameCount = run->options.quick ? 120 : MAX_FRAMES;
    a->begin = a->mesh.triangleCount;
    a->mesh.depth = 0.12;
    a->fresh = malloc(a->mesh.capacity * sizeof *a->fresh);
    knResult result = a->fresh ? StartApple(a) : knFail(kn_errorMemory, "no memory for the apple");
    result = result == kn_success ? RunFrames(a) : result;
    if (result == kn_success)
    {
        a->rebuilds = knHierarchy_TakeWork(a->hierarchies[restructured]).rebuilds;
        result = AddRows(run, a, mean);
    }
    for (int i = 0; i < SIDES; ++i)
    {
        knDestroyBvhQuery(a->queries[i]);
    }
    knDestroyHierarchy(a->hierarchies[0]);
    knDestroyHierarchy(a->hierarchies[1]);
    knDestroyBvhScene(a->scene);
    FreeRebuild(&a->rival);
    FreeCutMesh(&a->mesh);
    free(a->fresh);
    free(a);
    return result;
}
