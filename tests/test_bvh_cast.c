// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/bvh.h"
#include "knap/random.h"

#include <math.h>

#define SIDE           20
#define TRIANGLE_COUNT (2 * SIDE * SIDE)
#define VERTEX_COUNT   ((SIDE + 1) * (SIDE + 1))

// A wavy sheet over [0, SIDE]^2 without holes.
typedef struct Sheet
{
    knVec3 positions[VERTEX_COUNT];
    knTriangle triangles[TRIANGLE_COUNT];
    knBvhScene* scene;
} Sheet;

static int MakeSheet(void** state)
{
    Sheet* s = calloc(1, sizeof *s);
    knRandom r = knMakeRandom(3);
    for (uint32_t i = 0; i < VERTEX_COUNT; ++i)
    {
        s->positions[i] = knMakeVec3((float)(i / (SIDE + 1)), (float)(i % (SIDE + 1)),
                                     knRandom_Range(&r, -1.0f, 1.0f));
    }
    for (uint32_t i = 0; i < SIDE * SIDE; ++i)
    {
        uint32_t a = i / SIDE * (SIDE + 1) + i % SIDE, b = a + SIDE + 1;
        s->triangles[2 * i] = (knTriangle){{a, b, a + 1}};
        s->triangles[2 * i + 1] = (knTriangle){{b, b + 1, a + 1}};
    }
    knBvhSceneDef def = knDefaultBvhSceneDef();
    bool good =
        knCreateBvhScene(&s->scene, &def, NULL) == kn_success &&
        knBvhScene_AddVertices(s->scene, s->positions, VERTEX_COUNT, NULL) == kn_success &&
        knBvhScene_AddBody(s->scene, s->triangles, TRIANGLE_COUNT, NULL, NULL) == kn_success &&
        knBvhScene_Commit(s->scene, NULL) == kn_success;
    *state = s;
    return good ? 0 : 1;
}

static int FreeSheet(void** state)
{
    Sheet* s = *state;
    knDestroyBvhScene(s->scene);
    free(s);
    return 0;
}

// Solves for the point of the triangle's plane and its weights; -1 when the ray passes beside.
static double HitFraction(const Sheet* s, uint32_t triangle, const knBvhRay* ray)
{
    const uint32_t* v = s->triangles[triangle].v;
    knDVec3 a = knToDouble(s->positions[v[0]]), d = knToDouble(ray->direction);
    knDVec3 e = knDSub(knToDouble(s->positions[v[1]]), a);
    knDVec3 f = knDSub(knToDouble(s->positions[v[2]]), a);
    knDVec3 n = knDCross(e, f), w = knDSub(a, knToDouble(ray->origin));
    double t = knDDot(n, w) / knDDot(n, d);
    knDVec3 p = knDSub(knDScale(t, d), w);
    double u = knDDot(knDCross(p, f), n) / knDDot(n, n);
    double q = knDDot(knDCross(e, p), n) / knDDot(n, n);
    bool isInside = u >= -1e-9 && q >= -1e-9 && u + q <= 1.0 + 1e-9;
    return isInside && t >= 0.0 && t <= (double)ray->maxFraction ? t : -1.0;
}

static void RaysHitTheFirstTriangle(void** state)
{
    const Sheet* s = *state;
    knRandom r = knMakeRandom(9);
    int hitCount = 0;
    for (int i = 0; i < 2000; ++i)
    {
        knBox box = {{-2.0f, -2.0f, -3.0f}, {SIDE + 2.0f, SIDE + 2.0f, 3.0f}};
        knBvhRay ray = {knRandom_InBox(&r, box), knScale(5.0f, knRandom_UnitVec3(&r)), 4.0f};
        knBvhRayHit hit;
        assert_int_equal(knBvhScene_CastRay(s->scene, &ray, &hit), kn_success);
        double best = INFINITY;
        for (uint32_t t = 0; t < TRIANGLE_COUNT; ++t)
        {
            double fraction = HitFraction(s, t, &ray);
            best = fraction >= 0.0 && fraction < best ? fraction : best;
        }
        assert_int_equal(hit.triangle != KN_NONE, isfinite(best));
        if (hit.triangle != KN_NONE)
        {
            ASSERT_NEAR(hit.fraction, best, 1e-5);
            ASSERT_NEAR(HitFraction(s, hit.triangle, &ray), best, 1e-9);
            hitCount += 1;
        }
    }
    assert_in_range(hitCount, 500, 1900);
}

// Straight down through every vertex and edge: no ray slips between triangles.
static void NoRaySlipsThrough(void** state)
{
    const Sheet* s = *state;
    for (int i = 0; i <= 4 * SIDE; ++i)
    {
        for (int k = 0; k <= 4 * SIDE; ++k)
        {
            knBvhRay ray = {{0.25f * (float)i, 0.25f * (float)k, 5.0f}, {0.0f, 0.0f, -1.0f}, 10.0f};
            knBvhRayHit hit;
            assert_int_equal(knBvhScene_CastRay(s->scene, &ray, &hit), kn_success);
            assert_int_not_equal(hit.triangle, KN_NONE);
        }
    }
}

static bool BoxMeets(const Sheet* s, uint32_t triangle, knBox box)
{
    knBox own = knEmptyBox();
    for (int c = 0; c < 3; ++c)
    {
        own = knBox_AddPoint(own, s->positions[s->triangles[triangle].v[c]]);
    }
    return knBox_Overlaps(own, box);
}

static void BoxesFindTheirTriangles(void** state)
{
    const Sheet* s = *state;
    knRandom r = knMakeRandom(4);
    for (int i = 0; i < 300; ++i)
    {
        knBox room = {{-1.0f, -1.0f, -1.0f}, {SIDE, SIDE, 1.0f}};
        knVec3 corner = knRandom_InBox(&r, room);
        float size = knRandom_Range(&r, 0.0f, 4.0f);
        knBox box = {corner, knAdd(corner, knMakeVec3(size, size, size))};
        uint32_t ids[TRIANGLE_COUNT], count, expected = 0, few[3];
        assert_int_equal(knBvhScene_FindInBox(s->scene, box, ids, TRIANGLE_COUNT, &count),
                         kn_success);
        for (uint32_t t = 0; t < TRIANGLE_COUNT; ++t)
        {
            if (BoxMeets(s, t, box))
            {
                assert_true(expected < count);
                assert_int_equal(ids[expected++], t);
            }
        }
        assert_int_equal(expected, count);
        // what does not fit is counted all the same
        uint32_t again;
        assert_int_equal(knBvhScene_FindInBox(s->scene, box, few, 3, &again), kn_success);
        assert_int_equal(again, count);
    }
}

typedef struct Taken
{
    knBvhPair pairs[4];
    int count;
} Taken;

static bool TakeTwo(const knBvhPair* pair, void* user)
{
    Taken* taken = user;
    taken->pairs[taken->count++] = *pair;
    return taken->count < 2;
}

// The callback gets the pairs in order, and stops when it says so.
static void CallbackMayStop(void** state)
{
    (void)state;
    const knVec3 positions[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    const knTriangle triangles[4] = {{{0, 1, 2}}, {{0, 1, 3}}, {{0, 2, 3}}, {{1, 2, 3}}};
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhQueryDef queryDef = knDefaultBvhQueryDef();
    knBvhScene* scene = NULL;
    knBvhQuery* query = NULL;
    knCreateBvhScene(&scene, &def, NULL);
    knCreateBvhQuery(&query, NULL);
    knBvhScene_AddVertices(scene, positions, 4, NULL);
    knBvhScene_AddBody(scene, triangles, 4, NULL, NULL);
    knBvhScene_Commit(scene, NULL);
    assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_success);
    size_t count;
    const knBvhPair* pairs = knBvhQuery_Pairs(query, &count);
    assert_int_equal(count, 4);
    Taken taken = {.count = 0};
    knBvhQuery_ForEach(query, TakeTwo, &taken);
    assert_int_equal(taken.count, 2);
    assert_memory_equal(taken.pairs, pairs, 2 * sizeof *pairs);
    knDestroyBvhQuery(query);
    knDestroyBvhScene(scene);
}

static void WrongRaysAreErrors(void** state)
{
    const Sheet* s = *state;
    knBvhRayHit hit;
    knBvhRay still = {{0, 0, 0}, {0, 0, 0}, 1.0f}, broken = {{NAN, 0, 0}, {1, 0, 0}, 1.0f};
    assert_int_equal(knBvhScene_CastRay(s->scene, &still, &hit), kn_errorArgument);
    assert_int_equal(knBvhScene_CastRay(s->scene, &broken, &hit), kn_errorArgument);
    assert_int_equal(knBvhScene_CastRay(NULL, &still, &hit), kn_errorArgument);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RaysHitTheFirstTriangle), cmocka_unit_test(NoRaySlipsThrough),
        cmocka_unit_test(BoxesFindTheirTriangles), cmocka_unit_test(CallbackMayStop),
        cmocka_unit_test(WrongRaysAreErrors),
    };
    return cmocka_run_group_tests(tests, MakeSheet, FreeSheet);
}
