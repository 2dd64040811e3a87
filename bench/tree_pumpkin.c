// SPDX-License-Identifier: Zlib
#include "bench/tree_bench.h"
#include "bench/tree_cut.h"
#include "bench/tree_rebuild.h"
#include "bench/tree_scenes.h"

// Figure 6 and 8 of the 2007 paper: a pumpkin breaks at once into 2 to 12 pieces, which then move
// apart. Trees cloned and thinned out, beside trees made anew.

#define ROWS    50
#define COLUMNS 100
#define FRAMES  24

typedef struct Pumpkin
{
    CutMesh mesh;
    knHierarchy* hierarchies[2]; // restructured, rebuilt
    knBvhScene* scene;
    knBvhQuery* queries[3];
    RebuildTree rival;
    uint32_t partCount;
    uint32_t* parts;     // per triangle of the mesh
    uint32_t* names;     // original triangles
    uint32_t* nameParts; // and their parts
    knTriangle* fresh;
    uint32_t* freshParts;
    uint32_t* freshIds;
    uint32_t* vertexParts;
    uint32_t freshCount;
    knId body[3], bodies[3][2 * MAX_CUTS];
    double seconds[4]; // break, refit, optimise; rebuild by sorting
    double selection;  // rebuild by selection
    double quality[2]; // mean of the pieces
    double answers[3], updates[3];
    size_t pairs;
} Pumpkin;

static bool ReservePumpkin(Pumpkin* p)
{
    size_t n = p->mesh.capacity;
    p->parts = malloc(n * sizeof *p->parts);
    p->names = malloc(n * sizeof *p->names);
    p->nameParts = malloc(n * sizeof *p->nameParts);
    p->fresh = malloc(n * sizeof *p->fresh);
    p->freshParts = malloc(n * sizeof *p->freshParts);
    p->freshIds = malloc(n * sizeof *p->freshIds);
    p->vertexParts = calloc(n, sizeof *p->vertexParts);
    return p->parts && p->names && p->nameParts && p->fresh && p->freshParts && p->freshIds &&
           p->vertexParts;
}

static void FreePumpkin(Pumpkin* p)
{
    for (int i = 0; i < 3; ++i)
    {
        knDestroyBvhQuery(p->queries[i]);
    }
    knDestroyHierarchy(p->hierarchies[0]);
    knDestroyHierarchy(p->hierarchies[1]);
    knDestroyBvhScene(p->scene);
    FreeRebuild(&p->rival);
    FreeCutMesh(&p->mesh);
    free(p->parts);
    free(p->names);
    free(p->nameParts);
    free(p->fresh);
    free(p->freshParts);
    free(p->freshIds);
    free(p->vertexParts);
    free(p);
}

static knResult Start(Pumpkin* p)
{
    const CutMesh* m = &p->mesh;
    knResult result = kn_success;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        knHierarchyDef def = knDefaultHierarchyDef();
        def.rebuildQuality = 0.0f;
        def.optimize = i == 0;
        knHierarchy** h = &p->hierarchies[i];
        result = knCreateHierarchy(h, &def, NULL);
        result = result == kn_success
                     ? knHierarchy_AddVertices(*h, m->positions, m->vertexCount, NULL)
                     : result;
        result = result == kn_success
                     ? knHierarchy_AddBody(*h, m->triangles, m->triangleCount, NULL, &p->body[i])
                     : result;
        result = result == kn_success ? knHierarchy_Update(*h) : result;
    }
    knBvhSceneDef def = knDefaultBvhSceneDef();
    result = result == kn_success ? knCreateBvhScene(&p->scene, &def, NULL) : result;
    result = result == kn_success
                 ? knBvhScene_AddVertices(p->scene, m->positions, m->vertexCount, NULL)
                 : result;
    result = result == kn_success
                 ? knBvhScene_AddBody(p->scene, m->triangles, m->triangleCount, NULL, &p->body[2])
                 : result;
    for (int i = 0; i < 3 && result == kn_success; ++i)
    {
        result = knCreateBvhQuery(&p->queries[i], NULL);
    }
    return result;
}

// What breaks ends; its pieces and the walls are new.
static void DescribeBreak(Pumpkin* p)
{
    CutMesh* m = &p->mesh;
    for (int cut = 0; cut < m->cutCount; ++cut)
    {
        ClearStep(m);
        CutByPlane(m, cut, -10.0, 10.0);
        FinishStep(m);
    }
    p->partCount = FindSectors(m, p->parts);
    for (uint32_t i = 0; i < m->triangleCount; ++i)
    {
        if (i < m->originalCount)
        {
            p->names[i] = i;
            p->nameParts[i] = m->isCut[i] ? KN_NONE : p->parts[i];
        }
        if (m->isCut[i])
        {
            p->freshParts[p->freshCount] = p->parts[i];
            p->fresh[p->freshCount++] = m->triangles[i];
        }
        for (int k = 0; k < 3; ++k)
        {
            p->vertexParts[m->triangles[i].v[k]] = p->parts[i];
        }
    }
}

static knResult BreakHierarchy(Pumpkin* p, int which)
{
    const CutMesh* m = &p->mesh;
    knHierarchyBreak e = {.body = p->body[which],
                          .triangles = p->names,
                          .parts = p->nameParts,
                          .triangleCount = m->originalCount,
                          .newTriangles = p->fresh,
                          .newParts = p->freshParts,
                          .newCount = p->freshCount,
                          .partCount = p->partCount};
    return knHierarchy_Break(p->hierarchies[which], &e, p->bodies[which], NULL);
}

static knResult BreakRestructured(Pumpkin* p)
{
    knHierarchy* h = p->hierarchies[0];
    double start = TreeSeconds();
    knResult result = BreakHierarchy(p, 0);
    p->seconds[0] = TreeSeconds() - start;
    for (uint32_t i = 0; i < p->partCount && result == kn_success; ++i)
    {
        knHierarchyBody* body = knGetHierarchyBody(h, p->bodies[0][i].index);
        double before = TreeSeconds();
        knRefitBalanced(h, body->root);
        double middle = TreeSeconds();
        knOptimizeBalanced(h, body->root);
        p->seconds[1] += middle - before;
        p->seconds[2] += TreeSeconds() - middle;
        p->quality[0] += knBalancedQuality(h, body->root) / p->partCount;
        body->isChanged = false;
    }
    return result;
}

static knResult BreakRebuilt(Pumpkin* p)
{
    knHierarchy* h = p->hierarchies[1];
    knResult result = BreakHierarchy(p, 1);
    for (uint32_t i = 0; i < p->partCount && result == kn_success; ++i)
    {
        knHierarchyBody* body = knGetHierarchyBody(h, p->bodies[1][i].index);
        if (!Rebuild(&p->rival, h, body->slot, rebuildSort)) // warms up
        {
            return knFail(kn_errorMemory, "no memory for a rebuild");
        }
        double start = TreeSeconds();
        Rebuild(&p->rival, h, body->slot, rebuildSort);
        p->seconds[3] += TreeSeconds() - start;
        p->quality[1] += RebuildQuality(&p->rival, h->padding) / p->partCount;
        start = TreeSeconds();
        uint32_t count = knCollectBalanced(h, body->root, 0);
        knReleaseBalanced(h, body->root);
        knBuildBalanced(h, body, count);
        knRefitBalanced(h, body->root);
        p->selection += TreeSeconds() - start;
        body->isChanged = false;
    }
    return result;
}

static knResult BreakScene(Pumpkin* p)
{
    CutMesh* m = &p->mesh;
    uint32_t deadCount = 0, count = 0;
    double start = TreeSeconds();
    knResult result =
        knBvhScene_InsertTriangles(p->scene, p->body[2], p->fresh, p->freshCount, p->freshIds);
    uint32_t* dead = m->step.old; // scratch by now
    for (uint32_t i = 0; i < m->originalCount; ++i)
    {
        if (p->nameParts[i] == KN_NONE)
        {
            dead[deadCount++] = i;
        }
        else
        {
            p->names[count] = i;
            p->nameParts[count++] = p->nameParts[i];
        }
    }
    result = result == kn_success ? knBvhScene_DeleteTriangles(p->scene, dead, deadCount) : result;
    memcpy(p->names + count, p->freshIds, p->freshCount * sizeof *p->names);
    memcpy(p->nameParts + count, p->freshParts, p->freshCount * sizeof *p->nameParts);
    knBvhSplit split = {p->body[2], p->names, p->nameParts, count + p->freshCount, p->partCount};
    result = result == kn_success ? knBvhScene_SplitBody(p->scene, &split, p->bodies[2]) : result;
    result = result == kn_success ? knBvhScene_Commit(p->scene, NULL) : result;
    p->updates[2] += TreeSeconds() - start;
    return result;
}

// Pieces leave the axis and turn a little; the surface is still close to itself at first.
static void MovePieces(Pumpkin* p, int frame)
{
    CutMesh* m = &p->mesh;
    double time = 0.004 * frame;
    for (uint32_t i = 0; i < m->vertexCount; ++i)
    {
        knDVec3 rest = m->vertices[i].rest;
        double turn = 6.283185307179586 * p->vertexParts[i] / p->partCount;
        double tilt = time * SceneSine(3.0 * turn + 1.0), c = SceneCosine(tilt),
               s = SceneSine(tilt);
        knDVec3 x = knMakeDVec3(c * rest.x - s * rest.y, s * rest.x + c * rest.y, rest.z);
        x = knDAdd(x, knMakeDVec3(time * SceneCosine(turn), 0.0, time * SceneSine(turn)));
        m->positions[i] = knToFloat(x);
    }
}

static knResult RunFrame(Pumpkin* p, int frame)
{
    const CutMesh* m = &p->mesh;
    knBvhQueryDef def = knDefaultBvhQueryDef();
    def.skipWithin = true;
    knResult result = kn_success;
    size_t counts[3] = {0};
    for (int i = 0; i < 3 && result == kn_success; ++i)
    {
        double start = TreeSeconds();
        if (i == 2)
        {
            result = knBvhScene_MoveVertices(p->scene, 0, m->vertexCount, m->positions);
            result = result == kn_success ? knBvhScene_Commit(p->scene, NULL) : result;
        }
        else
        {
            knHierarchy* h = p->hierarchies[i];
            result = knHierarchy_MoveVertices(h, 0, m->vertexCount, m->positions);
            result = result == kn_success ? knHierarchy_Update(h) : result;
        }
        double middle = TreeSeconds();
        if (result == kn_success)
        {
            result = i == 2 ? knBvhQuery_Run(p->queries[i], p->scene, &def)
                            : knBvhQuery_RunHierarchy(p->queries[i], p->hierarchies[i], &def);
        }
        p->updates[i] += middle - start;
        p->answers[i] += TreeSeconds() - middle;
        knBvhQuery_Pairs(p->queries[i], &counts[i]);
        if (result == kn_success && counts[i] != counts[0])
        {
            result = knFail(kn_errorMesh, "pumpkin, frame %d: %zu pairs and %zu", frame, counts[i],
                            counts[0]);
        }
    }
    p->pairs += counts[0];
    return result;
}

static knResult AddRows(knBenchRun* run, const Pumpkin* p, GeometricMean* mean)
{
    char name[64], note[200];
    snprintf(name, sizeof name, "pumpkin, %u pieces, %u to %u", p->partCount, p->mesh.originalCount,
             p->mesh.triangleCount);
    double total = p->seconds[0] + p->seconds[1] + p->seconds[2];
    snprintf(note, sizeof note, "clone, delete and insert %.2f, refit %.2f, optimise %.2f ms",
             1e3 * p->seconds[0], 1e3 * p->seconds[1], 1e3 * p->seconds[2]);
    double ours = total + p->updates[0] + p->answers[0], theirs = p->updates[2] + p->answers[2];
    AddToMean(mean, theirs / ours);
    const struct
    {
        const char* metric;
        const char* unit;
        double ours, peer;
        const char* peerName;
        double paper;
        const char* note;
    } rows[] = {
        {"break", "ms", 1e3 * total, 1e3 * p->seconds[3], "rebuild, median by sorting",
         p->partCount == 8 ? 1.0 : (double)NAN, note},
        {"break", "ms", 1e3 * total, 1e3 * p->selection, "rebuild, median by selection", NAN, ""},
        {"Q, mean of the pieces", "", p->quality[0], p->quality[1], "rebuild, median", NAN, ""},
        {"query, mean", "ms", 1e3 * p->answers[0] / FRAMES, 1e3 * p->answers[1] / FRAMES,
         "trees made anew", p->partCount == 8 ? 18.6 / 23.7 : (double)NAN,
         p->partCount == 8 ? "paper: 27 % more time" : ""},
        {"break, updates, queries", "ms", 1e3 * ours, 1e3 * theirs, "module's default", NAN, ""}};
    knResult result = kn_success;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && result == kn_success; ++i)
    {
        TreeRow row = MakeTreeRow(name, rows[i].metric, rows[i].unit);
        row.ours = rows[i].ours;
        row.peer = rows[i].peer;
        row.peerName = rows[i].peerName;
        row.paper = rows[i].paper;
        row.note = rows[i].note;
        result = AddTreeRow(run, &row);
    }
    return result;
}

static knResult MeasurePieces(knBenchRun* run, int cuts, GeometricMean* mean)
{
    Pumpkin* p = calloc(1, sizeof *p);
    if (!p || !MakeCutMesh(&p->mesh, cutPumpkin, ROWS, COLUMNS, cuts) || !ReservePumpkin(p))
    {
        if (p)
        {
            FreePumpkin(p);
        }
        return knFail(kn_errorMemory, "no memory for the pumpkin");
    }
    CutMesh* m = &p->mesh;
    knResult result = Start(p);
    uint32_t before = m->vertexCount;
    DescribeBreak(p);
    uint32_t count = m->vertexCount - before;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        result = knHierarchy_AddVertices(p->hierarchies[i], m->positions + before, count, NULL);
    }
    result = result == kn_success
                 ? knBvhScene_AddVertices(p->scene, m->positions + before, count, NULL)
                 : result;
    result = result == kn_success ? BreakRestructured(p) : result;
    result = result == kn_success ? BreakRebuilt(p) : result;
    result = result == kn_success ? BreakScene(p) : result;
    for (int frame = 1; frame <= FRAMES && result == kn_success; ++frame)
    {
        MovePieces(p, frame);
        result = RunFrame(p, frame);
    }
    result = result == kn_success ? AddRows(run, p, mean) : result;
    FreePumpkin(p);
    return result;
}

knResult MeasurePumpkin(knBenchRun* run, GeometricMean* mean)
{
    knResult result = kn_success;
    for (int cuts = 1; cuts <= 6 && result == kn_success; ++cuts)
    {
        result = MeasurePieces(run, cuts, mean);
    }
    return result;
}
