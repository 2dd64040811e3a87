// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "knap/shape.h"

#define DIRECTIONS 4000

static knVec3 directions[DIRECTIONS];

// Points on a sphere by the golden angle: no two far apart, none crowded.
static int MakeDirections(void** state)
{
    (void)state;
    for (int i = 0; i < DIRECTIONS; ++i)
    {
        double z = 1.0 - (2.0 * i + 1.0) / DIRECTIONS, r = sqrt(1.0 - z * z);
        double a = 2.399963229728653 * i;
        directions[i] = knMakeVec3((float)(r * cos(a)), (float)(r * sin(a)), (float)z);
    }
    return 0;
}

// What the shapes of the tests are made of, known without the code under test: balls around the
// corners of a convex set, here as many points as give the set to `slack`.
typedef struct Cloud
{
    knVec3 points[4096];
    float radii[4096];
    int count;
    float slack; // m
} Cloud;

static Cloud cloud;

static void Put(knVec3 p, float radius)
{
    cloud.radii[cloud.count] = radius;
    cloud.points[cloud.count++] = p;
}

static void PutRim(float radius, float y, float ball)
{
    for (int i = 0; i < 2000; ++i)
    {
        double a = 6.283185307179586 * i / 2000;
        Put(knMakeVec3(radius * (float)cos(a), y, radius * (float)sin(a)), ball);
    }
    cloud.slack = radius * 2e-6f + 1e-6f;
}

#define KINDS 8

static const knVec3 wild[12] = {{0.3f, 0.1f, -0.2f},   {-0.25f, 0.2f, 0.1f},  {0.05f, -0.3f, 0.15f},
                                {0.1f, 0.25f, 0.3f},   {-0.1f, -0.2f, -0.3f}, {0.2f, -0.1f, 0.25f},
                                {-0.3f, -0.05f, 0.2f}, {0.0f, 0.3f, -0.1f},   {0.0f, 0.0f, 0.0f},
                                {0.02f, 0.01f, 0.0f},  {0.1f, 0.1f, 0.05f},   {-0.2f, 0.1f, -0.2f}};
static const float balls[5] = {0.1f, 0.02f, 0.15f, 0.0f, 0.3f};

// Makes shape number `kind` and its cloud. The hull is the caller's to destroy.
static knShape MakeCase(int kind, float margin, knHull* hull)
{
    knShape shape = {0};
    cloud.count = 0;
    cloud.slack = 1e-6f;
    *hull = (knHull){0};
    switch (kind)
    {
    case 0:
        shape = knMakeSphereShape(0.3f);
        Put(knMakeVec3(0.0f, 0.0f, 0.0f), 0.3f + margin);
        break;
    case 1:
        shape = knMakeBoxShape(knMakeVec3(0.3f, 0.2f, 0.1f));
        for (int i = 0; i < 8; ++i)
        {
            Put(knMakeVec3(i & 1 ? 0.3f : -0.3f, i & 2 ? 0.2f : -0.2f, i & 4 ? 0.1f : -0.1f),
                margin);
        }
        break;
    case 2:
        shape = knMakeCapsuleShape(0.1f, 0.25f);
        Put(knMakeVec3(0.0f, 0.25f, 0.0f), 0.1f + margin);
        Put(knMakeVec3(0.0f, -0.25f, 0.0f), 0.1f + margin);
        break;
    case 3:
        shape = knMakeCylinderShape(0.2f, 0.3f);
        PutRim(0.2f, 0.3f, margin);
        PutRim(0.2f, -0.3f, margin);
        break;
    case 4:
        shape = knMakeConeShape(0.2f, 0.3f);
        PutRim(0.2f, -0.3f, margin);
        Put(knMakeVec3(0.0f, 0.3f, 0.0f), margin);
        break;
    case 5:
    case 6:
        assert_int_equal(
            knCreateHull(hull, wild, kind == 6 ? balls : NULL, kind == 6 ? 5 : 12, NULL),
            kn_success);
        shape = knMakeHullShape(hull);
        for (int i = 0; i < (kind == 6 ? 5 : 12); ++i)
        {
            Put(wild[i], margin + (kind == 6 ? balls[i] : 0.0f));
        }
        break;
    default:
        shape = knMakeTriangleShape(wild[0], wild[1], wild[2]);
        for (int i = 0; i < 3; ++i)
        {
            Put(wild[i], margin);
        }
        break;
    }
    shape.margin = margin;
    return shape;
}

static float Reach(knVec3 d)
{
    float reach = -FLT_MAX;
    for (int i = 0; i < cloud.count; ++i)
    {
        reach = fmaxf(reach, knDot(d, cloud.points[i]) + cloud.radii[i]);
    }
    return reach;
}

static float reaches[DIRECTIONS];

// The signed distance to a convex set is the largest of d . p - reach(d). Over many directions it
// comes near from below.
static float OracleDistance(knVec3 p, knVec3* at)
{
    float best = -FLT_MAX;
    for (int i = 0; i < DIRECTIONS; ++i)
    {
        float tried = knDot(directions[i], p) - reaches[i];
        *at = tried > best ? directions[i] : *at;
        best = fmaxf(best, tried);
    }
    // closer in around the best direction, by directions that grow finer and never repeat
    knRandom random = knMakeRandom(9);
    for (int i = 0, missed = 0; i < 1000 && missed < 100; ++i, ++missed)
    {
        float step = 0.1f * expf(-10.0f * knRandom_Float(&random));
        knVec3 d = knNormalize(knAddScaled(*at, step, knRandom_UnitVec3(&random)));
        float tried = knDot(d, p) - Reach(d);
        missed = tried > best ? 0 : missed;
        *at = tried > best ? d : *at;
        best = fmaxf(best, tried);
    }
    return best;
}

static void DistancesAreExactInsideAndOutside(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(1);
    for (int kind = 0; kind < KINDS; ++kind)
    {
        knHull hull;
        knShape shape = MakeCase(kind, kind % 2 ? 0.0f : 0.04f, &hull);
        assert_int_equal(knValidateShape(&shape), kn_success);
        for (int i = 0; i < DIRECTIONS; ++i)
        {
            reaches[i] = Reach(directions[i]);
        }
        int inside = 0;
        bool isRimmed = kind == 3 || kind == 4;
        for (int i = 0; i < (isRimmed ? 30 : 120); ++i)
        {
            float size = i % 2 ? 0.25f : 0.9f;
            knBox box = {{-size, -size, -size}, {size, size, size}};
            knVec3 p = knRandom_InBox(&random, box), gradient, at = {0};
            float distance = knShape_Distance(&shape, p, &gradient);
            float truth = OracleDistance(p, &at);
            inside += truth < 0.0f;
            // no direction gives more, and its own gradient gives as much
            assert_true(distance > truth - 1e-5f - cloud.slack);
            ASSERT_NEAR(knLength(gradient), 1.0f, 1e-4f);
            ASSERT_NEAR(distance, knDot(gradient, p) - Reach(gradient), 1e-5f + cloud.slack);
            // a step along the gradient is a step of distance, away from the medial axis
            float ahead = knShape_Distance(&shape, knAddScaled(p, 1e-3f, gradient), NULL);
            ASSERT_NEAR(ahead - distance, 1e-3f, 2e-5f);
        }
        assert_true(kind == 7 || inside > 1);
        knDestroyHull(&hull);
    }
}

static void SupportAndBoundsReachAsFarAsTheShape(void** state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind)
    {
        knHull hull;
        knShape shape = MakeCase(kind, kind % 2 ? 0.05f : 0.0f, &hull);
        for (int i = 0; i < 200; ++i)
        {
            knVec3 d = directions[i * 19];
            knVec3 p = knShape_Support(&shape, knScale(3.0f, d));
            ASSERT_NEAR(knDot(p, d), Reach(d), 1e-5f + cloud.slack);
            ASSERT_NEAR(knShape_Distance(&shape, p, NULL), 0.0f, 2e-5f);
        }
        knTransform t = {.position = {1.0f, -2.0f, 3.0f},
                         .rotation = knMakeQuat(directions[77], 1.1f)};
        knBox box = knShape_Box(&shape, t);
        knVec3 x = {1.0f, 0.0f, 0.0f}, z = {0.0f, 0.0f, -1.0f};
        ASSERT_NEAR(box.upper.x, 1.0f + Reach(knInvRotate(t.rotation, x)), 1e-5f);
        ASSERT_NEAR(box.lower.z, 3.0f - Reach(knInvRotate(t.rotation, z)), 1e-5f);
        knDestroyHull(&hull);
    }
    knShape plane = knMakePlaneShape(knMakeVec3(0.0f, 1.0f, 0.0f), 0.5f);
    knBox box = knShape_Box(&plane, knIdentityTransform());
    ASSERT_NEAR(box.upper.y, 0.5f, 1e-6f);
    assert_true(box.lower.y < -1e30f && box.upper.x > 1e30f);
    ASSERT_NEAR(knShape_Distance(&plane, knMakeVec3(9.0f, 0.75f, 3.0f), NULL), 0.25f, 1e-6f);
}

// Closed, outside all points, and with the corners that a box has.
static void HullsAreClosedAndConvex(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(4);
    for (int round = 0; round < 60; ++round)
    {
        knVec3 points[300];
        uint32_t count = 4 + knRandom_Below(&random, 296);
        for (uint32_t i = 0; i < count; ++i)
        {
            knBox box = {{-1.0f, -0.5f, -0.1f}, {1.0f, 0.5f, 0.1f}};
            points[i] = round % 3 == 0 ? knRandom_UnitVec3(&random) : knRandom_InBox(&random, box);
            // a grid: many points in one plane
            if (round % 3 == 2)
            {
                points[i] =
                    knMakeVec3((float)(int)(points[i].x * 4.0f), (float)(int)(points[i].y * 8.0f),
                               (float)(int)(points[i].z * 30.0f));
            }
            points[i] = knAdd(points[i], knMakeVec3(3.0f, -2.0f, 1.0f));
        }
        knHull hull;
        assert_int_equal(knCreateHull(&hull, points, NULL, count, NULL), kn_success);
        for (uint32_t f = 0; f < hull.triangleCount; ++f)
        {
            for (uint32_t i = 0; i < count; ++i)
            {
                assert_true(knDot(hull.planes[f].normal, points[i]) - hull.planes[f].offset <
                            1e-5f);
            }
        }
        // Euler, on a closed surface of triangles
        assert_int_equal(2 * hull.pointCount, 4 + hull.triangleCount);
        for (uint32_t f = 0; f < 3 * hull.triangleCount; ++f)
        {
            uint32_t a = hull.triangles[f / 3].v[f % 3];
            uint32_t partners = 0;
            uint32_t b = hull.triangles[f / 3].v[(f % 3 + 1) % 3];
            for (uint32_t g = 0; g < 3 * hull.triangleCount; ++g)
            {
                partners += hull.triangles[g / 3].v[g % 3] == b &&
                            hull.triangles[g / 3].v[(g % 3 + 1) % 3] == a;
            }
            assert_int_equal(partners, 1);
        }
        knDestroyHull(&hull);
    }
}

static void ABoxOfPointsIsABox(void** state)
{
    (void)state;
    knVec3 points[27];
    for (int i = 0; i < 27; ++i)
    {
        points[i] =
            knMakeVec3(0.1f * (float)(i % 3), 0.2f * (float)(i / 3 % 3), 0.3f * (float)(i / 9));
    }
    knHull hull;
    assert_int_equal(knCreateHull(&hull, points, NULL, 27, NULL), kn_success);
    assert_int_equal(hull.pointCount, 8);
    assert_int_equal(hull.edgeCount, 12);
    assert_int_equal(hull.triangleCount, 12);
    knDestroyHull(&hull);
}

// Nothing that a game can build makes a query fall over.
static void FlatAndTinyShapesAreShapes(void** state)
{
    (void)state;
    knVec3 flat[6] = {{0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 1.0f},
                      {0.0f, 0.0f, 1.0f}, {0.5f, 0.0f, 0.5f}, {0.5f, 0.0f, 0.0f}};
    knVec3 line[3] = {{0.0f, 0.0f, 0.0f}, {0.5f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}};
    knVec3 p = {0.5f, 2.0f, 0.5f}, gradient;
    knHull hull;
    assert_int_equal(knCreateHull(&hull, flat, NULL, 6, NULL), kn_success);
    assert_int_equal(hull.pointCount, 4);
    knShape shape = knMakeHullShape(&hull);
    ASSERT_NEAR(knShape_Distance(&shape, p, &gradient), 2.0f, 1e-6f);
    ASSERT_NEAR(gradient.y, 1.0f, 1e-6f);
    ASSERT_NEAR(knShape_Distance(&shape, knMakeVec3(2.0f, 0.0f, 0.5f), NULL), 1.0f, 1e-6f);
    knDestroyHull(&hull);
    assert_int_equal(knCreateHull(&hull, line, NULL, 3, NULL), kn_success);
    assert_int_equal(hull.pointCount, 2);
    shape = knMakeHullShape(&hull);
    ASSERT_NEAR(knShape_Distance(&shape, knMakeVec3(0.3f, 3.0f, 4.0f), NULL), 5.0f, 1e-6f);
    knDestroyHull(&hull);
    assert_int_equal(knCreateHull(&hull, line, NULL, 1, NULL), kn_success);
    shape = knMakeHullShape(&hull);
    ASSERT_NEAR(knShape_Distance(&shape, knMakeVec3(0.0f, 3.0f, 4.0f), NULL), 5.0f, 1e-6f);
    knDestroyHull(&hull);
    knVec3 zero = {0.0f, 0.0f, 0.0f};
    knShape none[6] = {knMakeSphereShape(0.0f),        knMakeBoxShape(zero),
                       knMakeCapsuleShape(0.0f, 0.0f), knMakeCylinderShape(0.0f, 0.0f),
                       knMakeConeShape(0.0f, 0.0f),    knMakeTriangleShape(zero, zero, zero)};
    for (int i = 0; i < 6; ++i)
    {
        assert_int_equal(knValidateShape(&none[i]), kn_success);
        ASSERT_NEAR(knShape_Distance(&none[i], knMakeVec3(0.0f, 3.0f, 4.0f), &gradient), 5.0f,
                    1e-5f);
        ASSERT_NEAR(knShape_Distance(&none[i], zero, &gradient), 0.0f, 1e-6f);
        ASSERT_NEAR(knLength(gradient), 1.0f, 1e-4f);
    }
}

static void BadShapesAreNamed(void** state)
{
    (void)state;
    knShape shape = knMakeSphereShape(NAN);
    assert_int_equal(knValidateShape(&shape), kn_errorArgument);
    shape = knMakeBoxShape(knMakeVec3(1.0f, -1.0f, 1.0f));
    assert_int_equal(knValidateShape(&shape), kn_errorArgument);
    shape = knMakePlaneShape(knMakeVec3(0.0f, 2.0f, 0.0f), 0.0f);
    assert_int_equal(knValidateShape(&shape), kn_errorArgument);
    shape = knMakeHullShape(NULL);
    assert_int_equal(knValidateShape(&shape), kn_errorArgument);
    assert_int_equal(knValidateShape(NULL), kn_errorArgument);
    knVec3 bad = {INFINITY, 0.0f, 0.0f};
    knHull hull;
    MarkUntouched(&hull, sizeof hull);
    assert_int_equal(knCreateHull(&hull, &bad, NULL, 1, NULL), kn_errorArgument);
    assert_int_equal(knCreateHull(&hull, &bad, NULL, 0, NULL), kn_errorArgument);
    assert_true(IsUntouched(&hull, sizeof hull));
}

static knResult MakeAHull(const knAllocator* allocator, void* context)
{
    knHull hull;
    (void)context;
    knResult result = knCreateHull(&hull, wild, balls, 5, allocator);
    if (result == kn_success)
    {
        knDestroyHull(&hull);
    }
    return result;
}

static void HullsSurviveAllocationFailures(void** state)
{
    (void)state;
    SurviveAllocationFailures(MakeAHull, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DistancesAreExactInsideAndOutside),
        cmocka_unit_test(SupportAndBoundsReachAsFarAsTheShape),
        cmocka_unit_test(HullsAreClosedAndConvex),
        cmocka_unit_test(ABoxOfPointsIsABox),
        cmocka_unit_test(FlatAndTinyShapesAreShapes),
        cmocka_unit_test(BadShapesAreNamed),
        cmocka_unit_test(HullsSurviveAllocationFailures),
    };
    return cmocka_run_group_tests(tests, MakeDirections, NULL);
}
