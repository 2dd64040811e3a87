// SPDX-License-Identifier: Zlib
#include "kit.h"

#if defined(KN_TEST_GMP)

#include "bench/tree_cut.h"
#include "bench/tree_scenes.h"
#include "knap/bvh_hierarchy.h"
#include "surfaces.h"

// The scenes of the benches, smaller: on every frame every method has the pairs that rational
// arithmetic finds.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FRAMES 4
#else
#define FRAMES 10
#endif
#define CONTENDERS 4 // the three methods, and a lazy tree with room for all of it

typedef struct Contenders
{
    knHierarchy* hierarchies[CONTENDERS];
    knBvhQuery* query;
    knId bodies[CONTENDERS];
    uint32_t* ids[CONTENDERS]; // per triangle of the surface
    size_t mostPairs;
} Contenders;

static void Start(Contenders* c, uint32_t capacity)
{
    memset(c, 0, sizeof *c);
    assert_int_equal(knCreateBvhQuery(&c->query, NULL), kn_success);
    for (int i = 0; i < CONTENDERS; ++i)
    {
        knHierarchyDef def = knDefaultHierarchyDef();
        def.method = (knHierarchyMethod)(i % kn_hierarchyMethodCount);
        def.method = i == 3 ? kn_hierarchyLazy : def.method;
        def.preallocate = i == 3;
        assert_int_equal(knCreateHierarchy(&c->hierarchies[i], &def, NULL), kn_success);
        c->ids[i] = malloc(capacity * sizeof *c->ids[i]);
    }
}

static void End(Contenders* c)
{
    for (int i = 0; i < CONTENDERS; ++i)
    {
        knDestroyHierarchy(c->hierarchies[i]);
        free(c->ids[i]);
    }
    knDestroyBvhQuery(c->query);
}

static int ComparePairs(const void* a, const void* b)
{
    const knBvhPair *p = a, *q = b;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

// Ids of the hierarchy may differ from the surface's numbers: the truth is renamed.
static void JudgeOne(Contenders* c, int which, const TruePairs* truth, const char* what)
{
    size_t count;
    const uint32_t* ids = c->ids[which];
    knBvhQueryDef def = knDefaultBvhQueryDef();
    assert_int_equal(knHierarchy_Update(c->hierarchies[which]), kn_success);
    assert_int_equal(knBvhQuery_RunHierarchy(c->query, c->hierarchies[which], &def), kn_success);
    const knBvhPair* pairs = knBvhQuery_Pairs(c->query, &count);
    knBvhPair* renamed = malloc((truth->count + 1) * sizeof *renamed);
    for (size_t i = 0; i < truth->count; ++i)
    {
        uint32_t a = ids[truth->pairs[i].a], b = ids[truth->pairs[i].b];
        renamed[i] = (knBvhPair){a < b ? a : b, a < b ? b : a, 0};
    }
    qsort(renamed, truth->count, sizeof *renamed, ComparePairs);
    size_t wrong = count != truth->count;
    for (size_t i = 0; i < count && i < truth->count; ++i)
    {
        wrong += ComparePairs(&renamed[i], &pairs[i]) != 0;
    }
    free(renamed);
    if (wrong > 0)
    {
        fail_msg("%s, method %d: %zu pairs, should be %zu; %zu wrong", what, which, count,
                 truth->count, wrong);
    }
}

static void JudgeAll(Contenders* c, const Surface* s, const char* what)
{
    TruePairs truth = FindTruePairs(s);
    for (int i = 0; i < CONTENDERS; ++i)
    {
        assert_int_equal(
            knHierarchy_MoveVertices(c->hierarchies[i], 0, s->positionCount, s->positions),
            kn_success);
        JudgeOne(c, i, &truth, what);
    }
    c->mostPairs = truth.count > c->mostPairs ? truth.count : c->mostPairs;
    FreeTruePairs(&truth);
}

static void FlyingTrianglesAgree(void** state)
{
    (void)state;
    for (int kind = 0; kind < TREE_SCENE_COUNT; ++kind)
    {
        TreeScene scene;
        Contenders c;
        assert_true(MakeTreeScene(&scene, (TreeSceneKind)kind, 0, FRAMES));
        Start(&c, scene.triangleCount);
        for (int i = 0; i < CONTENDERS; ++i)
        {
            assert_int_equal(
                knHierarchy_AddVertices(c.hierarchies[i], scene.positions, scene.vertexCount, NULL),
                kn_success);
            for (uint32_t body = 0; body < scene.bodyCount; ++body)
            {
                uint32_t first = body * scene.bodyTriangles;
                assert_int_equal(knHierarchy_AddBody(c.hierarchies[i], scene.triangles + first,
                                                     scene.bodyTriangles, c.ids[i] + first,
                                                     &c.bodies[i]),
                                 kn_success);
            }
        }
        for (int frame = 0; frame < FRAMES; ++frame)
        {
            SetTreeFrame(&scene, frame);
            Surface s = {"scene", scene.positions, scene.triangles, scene.vertexCount,
                         scene.triangleCount};
            JudgeAll(&c, &s, TreeSceneName((TreeSceneKind)kind));
        }
        assert_true(c.mostPairs > 20);
        End(&c);
        FreeTreeScene(&scene);
    }
}

static void StartMesh(Contenders* c, const CutMesh* m)
{
    Start(c, m->capacity);
    for (int i = 0; i < CONTENDERS; ++i)
    {
        assert_int_equal(
            knHierarchy_AddVertices(c->hierarchies[i], m->positions, m->vertexCount, NULL),
            kn_success);
        assert_int_equal(knHierarchy_AddBody(c->hierarchies[i], m->triangles, m->triangleCount,
                                             c->ids[i], &c->bodies[i]),
                         kn_success);
    }
}

static void CrackAll(Contenders* c, const CutMesh* m, uint32_t verticesBefore)
{
    const CutStep* s = &m->step;
    for (int i = 0; i < CONTENDERS; ++i)
    {
        knHierarchyCrack crack = {.body = c->bodies[i],
                                  .oldTriangles = s->old,
                                  .oldCount = s->oldCount,
                                  .pieces = s->pieces,
                                  .pieceOf = s->pieceOf,
                                  .pieceCount = s->pieceCount,
                                  .faces = s->faces,
                                  .faceCount = s->faceCount};
        assert_int_equal(knHierarchy_AddVertices(c->hierarchies[i], m->positions + verticesBefore,
                                                 m->vertexCount - verticesBefore, NULL),
                         kn_success);
        assert_int_equal(knHierarchy_Crack(c->hierarchies[i], &crack, NULL), kn_success);
        // only appended: the ids are the mesh's numbers
        for (uint32_t k = 0; k < m->triangleCount; ++k)
        {
            c->ids[i][k] = k;
        }
    }
}

static void PeeledAppleAgrees(void** state)
{
    (void)state;
    CutMesh m;
    Contenders c;
    assert_true(MakeCutMesh(&m, cutApple, 12, 18, 5));
    StartMesh(&c, &m);
    uint32_t begin = m.triangleCount;
    for (int frame = 1; frame <= FRAMES; ++frame)
    {
        uint32_t before = m.vertexCount;
        m.depth = 0.12 + 2.4 * frame / FRAMES;
        ClearStep(&m);
        for (int cut = 0; cut < 5; ++cut)
        {
            CutByPlane(&m, cut, 0.0, m.depth);
        }
        FinishStep(&m);
        CurlStrips(&m, 3.0);
        CrackAll(&c, &m, before);
        Surface s = {"apple", m.positions, m.triangles, m.vertexCount, m.triangleCount};
        JudgeAll(&c, &s, "apple");
    }
    assert_true(m.triangleCount > begin + begin / 2 && c.mostPairs > 20);
    End(&c);
    FreeCutMesh(&m);
}

// Names the parts of a mesh whose cuts are done.
static void BreakAll(Contenders* c, CutMesh* m, uint32_t verticesBefore)
{
    uint32_t* parts = malloc(m->capacity * sizeof *parts);
    uint32_t* oldParts = malloc(m->capacity * sizeof *oldParts);
    uint32_t* newParts = malloc(m->capacity * sizeof *newParts);
    uint32_t* newIds = malloc(m->capacity * sizeof *newIds);
    knTriangle* fresh = malloc(m->capacity * sizeof *fresh);
    uint32_t count = 0, partCount = FindSectors(m, parts);
    assert_int_equal(partCount, 4);
    for (uint32_t i = 0; i < m->triangleCount; ++i)
    {
        if (i < m->originalCount)
        {
            oldParts[i] = m->isCut[i] ? KN_NONE : parts[i];
        }
        if (m->isCut[i])
        {
            newParts[count] = parts[i];
            fresh[count++] = m->triangles[i];
        }
    }
    for (int i = 0; i < CONTENDERS; ++i)
    {
        knId bodies[4];
        knHierarchyBreak e = {.body = c->bodies[i],
                              .triangles = c->ids[i],
                              .parts = oldParts,
                              .triangleCount = m->originalCount,
                              .newTriangles = fresh,
                              .newParts = newParts,
                              .newCount = count,
                              .partCount = partCount};
        assert_int_equal(knHierarchy_AddVertices(c->hierarchies[i], m->positions + verticesBefore,
                                                 m->vertexCount - verticesBefore, NULL),
                         kn_success);
        assert_int_equal(knHierarchy_Break(c->hierarchies[i], &e, bodies, newIds), kn_success);
        for (uint32_t k = 0, next = 0; k < m->triangleCount; ++k)
        {
            c->ids[i][k] = m->isCut[k] ? newIds[next++] : c->ids[i][k];
            knId body = knHierarchy_TriangleBody(c->hierarchies[i], c->ids[i][k]);
            assert_true(knId_Equals(body, bodies[parts[k]]));
        }
    }
    free(parts);
    free(oldParts);
    free(newParts);
    free(newIds);
    free(fresh);
}

static void BrokenPumpkinAgrees(void** state)
{
    (void)state;
    CutMesh m;
    Contenders c;
    assert_true(MakeCutMesh(&m, cutPumpkin, 10, 14, 2));
    StartMesh(&c, &m);
    uint32_t before = m.vertexCount;
    for (int cut = 0; cut < 2; ++cut)
    {
        ClearStep(&m);
        CutByPlane(&m, cut, -10.0, 10.0);
        FinishStep(&m);
    }
    BreakAll(&c, &m, before);
    for (int frame = 0; frame < FRAMES / 2; ++frame)
    {
        // at first crack faces lie in each other, then everything is sheared
        for (uint32_t i = 0; i < m.vertexCount && frame > 0; ++i)
        {
            knDVec3 p = m.vertices[i].rest;
            double shift = 0.05 * frame * SceneSine(7.0 * p.y + (double)(i % 4));
            m.positions[i] = knToFloat(knMakeDVec3(p.x + shift, p.y, p.z - 0.5 * shift));
        }
        Surface s = {"pumpkin", m.positions, m.triangles, m.vertexCount, m.triangleCount};
        JudgeAll(&c, &s, "pumpkin");
    }
    assert_true(c.mostPairs > 20);
    End(&c);
    FreeCutMesh(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(FlyingTrianglesAgree),
        cmocka_unit_test(PeeledAppleAgrees),
        cmocka_unit_test(BrokenPumpkinAgrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("not judged: the oracle needs GMP\n");
    return 0;
}

#endif
