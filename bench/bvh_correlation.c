// SPDX-License-Identifier: Zlib
#include "bench/bvh_keep.h"
#include "bvh/bvh_internal.h"

#include <math.h>

// Trees of random planes over seven generated models; the costs of Equations 6 and 7 beside the
// number of boxes that queries compare.

#define MODELS    7
#define COLUMNS   48
#define ROWS      24
#define VERTICES  (COLUMNS * ROWS)
#define TRIANGLES (2 * COLUMNS * (ROWS - 1))
#define POSES     100
#define TREES     500

static const char* const names[MODELS] = {"ball", "pipe",   "club", "gear",
                                          "vase", "spring", "cloth"};

// A point at (u around, v along), both from 0 to 1.
static knVec3 PlaceVertex(int model, float u, float v)
{
    const float turn = 6.28318531f;
    float a = turn * u, z = 2.0f * v - 1.0f, r = 0.3f;
    switch (model)
    {
    case 0:
        r = sqrtf(fmaxf(0.0f, 1.0f - z * z));
        break;
    case 2:
        r = 0.15f + 0.5f * v * v;
        break;
    case 3:
        r = 0.7f + 0.2f * (sinf(8.0f * a) > 0.0f ? 1.0f : 0.0f);
        z *= 0.2f;
        break;
    case 4:
        r = 0.4f + 0.25f * sinf(7.0f * z);
        break;
    case 5:
        return knMakeVec3((0.6f + 0.1f * cosf(a)) * cosf(3.0f * turn * v),
                          (0.6f + 0.1f * cosf(a)) * sinf(3.0f * turn * v), z + 0.1f * sinf(a));
    case 6:
        return knMakeVec3(2.0f * u - 1.0f, z,
                          0.15f * sinf(11.0f * u + 7.0f * v) + 0.1f * sinf(17.0f * v));
    default:
        break;
    }
    return knMakeVec3(r * cosf(a), r * sinf(a), z);
}

static void MakeModel(int model, knVec3* positions, knTriangle* triangles)
{
    for (uint32_t i = 0; i < VERTICES; ++i)
    {
        positions[i] = PlaceVertex(model, (float)(i % COLUMNS) / COLUMNS,
                                   (float)(i / COLUMNS) / (float)(ROWS - 1));
    }
    for (uint32_t i = 0; i < TRIANGLES / 2; ++i)
    {
        // closed around; the cloth has long triangles there
        uint32_t a = i, b = i / COLUMNS * COLUMNS + (i + 1) % COLUMNS;
        triangles[2 * i] = (knTriangle){{a, b, a + COLUMNS}};
        triangles[2 * i + 1] = (knTriangle){{b, b + COLUMNS, a + COLUMNS}};
    }
}

typedef struct Study
{
    knBvhScene* scene;
    knBvhQuery* query;
    knRandom random;
    knVec3 positions[VERTICES];
    knTriangle triangles[TRIANGLES];
    knId poses[POSES];
    int poseCount, treeCount;
    double costs[2][TREES], tests[2][TREES]; // self, inter
} Study;

// The other model, turned and moved at random; every pose is a body of the scene.
static knResult AddPose(Study* s, int model, knId* body)
{
    uint32_t first = 0;
    MakeModel(model, s->positions, s->triangles);
    knQuat turn = knMakeQuat(knRandom_UnitVec3(&s->random), 6.0f * knRandom_Float(&s->random));
    knVec3 shift = knScale(1.2f * knRandom_Float(&s->random), knRandom_UnitVec3(&s->random));
    for (uint32_t i = 0; i < VERTICES; ++i)
    {
        s->positions[i] = knAdd(knRotate(turn, s->positions[i]), shift);
    }
    knResult result = knBvhScene_AddVertices(s->scene, s->positions, VERTICES, &first);
    for (uint32_t i = 0; i < TRIANGLES; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            s->triangles[i].v[k] += first;
        }
    }
    return result == kn_success ? knBvhScene_AddBody(s->scene, s->triangles, TRIANGLES, NULL, body)
                                : result;
}

static knResult MeasureTree(Study* s, int tree)
{
    knId body;
    knBvhQueryDef def = knDefaultBvhQueryDef();
    s->scene->randomness = &s->random;
    knResult result = knBvhScene_AddBody(s->scene, s->triangles, TRIANGLES, NULL, &body);
    s->scene->randomness = NULL;
    result = result == kn_success ? knBvhScene_Commit(s->scene, NULL) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t root = knGetBody(s->scene, body.index)->node;
    s->costs[1][tree] = (double)s->scene->cold[root].interCost;
    s->tests[1][tree] = 0.0;
    for (int i = 0; i < s->poseCount && result == kn_success; ++i)
    {
        result = knBvhQuery_RunBodies(s->query, s->scene, body, s->poses[i], &def);
        s->tests[1][tree] += (double)knBvhQuery_Funnel(s->query).nodeTests / s->poseCount;
    }
    return result == kn_success ? knBvhScene_DeleteBody(s->scene, body) : result;
}

// The model alone against itself, from the same random numbers and so over the same tree.
static knResult MeasureSelf(Study* s, int tree, knRandom random)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhQueryDef queryDef = knDefaultBvhQueryDef();
    knBvhScene* scene = NULL;
    def.build = kn_bvhBuildMedian;
    def.culling = kn_bvhCullNothing;
    knResult result = knCreateBvhScene(&scene, &def, NULL);
    if (result == kn_success)
    {
        scene->randomness = &random;
        result = knBvhScene_AddVertices(scene, s->positions, VERTICES, NULL);
    }
    if (result == kn_success)
    {
        result = knBvhScene_AddBody(scene, s->triangles, TRIANGLES, NULL, NULL);
    }
    result = result == kn_success ? knBvhScene_Commit(scene, NULL) : result;
    result = result == kn_success ? knBvhQuery_Run(s->query, scene, &queryDef) : result;
    if (result == kn_success)
    {
        knBvhSceneInfo info;
        knBvhScene_Info(scene, &info);
        s->costs[0][tree] = info.selfCost;
        s->tests[0][tree] = (double)knBvhQuery_Funnel(s->query).nodeTests;
    }
    knDestroyBvhScene(scene);
    return result;
}

static double Correlate(const double* x, const double* y, int count)
{
    double mx = 0.0, my = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (int i = 0; i < count; ++i)
    {
        mx += x[i] / count;
        my += y[i] / count;
    }
    for (int i = 0; i < count; ++i)
    {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xy / sqrt(xx * yy);
}

static knResult MeasureModel(Study* s, int model)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.build = kn_bvhBuildMedian;
    def.culling = kn_bvhCullNothing;
    knResult result = knCreateBvhScene(&s->scene, &def, NULL);
    if (result == kn_success)
    {
        MakeModel(model, s->positions, s->triangles);
        result = knBvhScene_AddVertices(s->scene, s->positions, VERTICES, NULL);
    }
    for (int i = 0; i < s->poseCount && result == kn_success; ++i)
    {
        result = AddPose(s, (model + 1) % MODELS, &s->poses[i]);
    }
    MakeModel(model, s->positions, s->triangles);
    for (int tree = 0; tree < s->treeCount && result == kn_success; ++tree)
    {
        knRandom random = s->random;
        result = MeasureTree(s, tree);
        result = result == kn_success ? MeasureSelf(s, tree, random) : result;
    }
    knDestroyBvhScene(s->scene);
    s->scene = NULL;
    return result;
}

static knResult AddRow(knBenchRun* run, const char* name, const double r[2])
{
    static const char* const metrics[2] = {"correlation TCS", "correlation TCI"};
    static const double paper[2] = {0.48, 0.71};
    knResult result = kn_success;
    for (int i = 0; i < 2 && result == kn_success; ++i)
    {
        knBenchRow row = knBenchRun_MakeRow(run, name, metrics[i], "");
        row.ours = r[i];
        row.paper = paper[i];
        result = knBenchRun_AddRow(run, &row);
    }
    return result;
}

knResult knMeasureCorrelations(knBenchRun* run)
{
    Study* s = calloc(1, sizeof *s);
    knResult result = s ? knCreateBvhQuery(&s->query, NULL)
                        : knFail(kn_errorMemory, "no memory for the correlations");
    double mean[2] = {0.0, 0.0};
    for (int model = 0; model < MODELS && result == kn_success; ++model)
    {
        s->random = knMakeRandom(77 + (uint64_t)model);
        s->poseCount = run->options.quick ? 10 : POSES;
        s->treeCount = run->options.quick ? 50 : TREES;
        result = MeasureModel(s, model);
        double r[2] = {Correlate(s->costs[0], s->tests[0], s->treeCount),
                       Correlate(s->costs[1], s->tests[1], s->treeCount)};
        mean[0] += r[0] / MODELS;
        mean[1] += r[1] / MODELS;
        result = result == kn_success ? AddRow(run, names[model], r) : result;
    }
    result = result == kn_success ? AddRow(run, "mean of 7 models", mean) : result;
    if (s)
    {
        knDestroyBvhQuery(s->query);
    }
    free(s);
    return result;
}
