// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/random.h"
#include "knap/vecmath.h"

#define ROUNDS 500

static knVec3 RandomVec3(knRandom* random)
{
    knBox box = {{-4.0f, -4.0f, -4.0f}, {4.0f, 4.0f, 4.0f}};
    return knRandom_InBox(random, box);
}

static knTransform RandomTransform(knRandom* random)
{
    knTransform t = {RandomVec3(random),
                     knMakeQuat(knRandom_UnitVec3(random), knRandom_Range(random, -6.0f, 6.0f))};
    return t;
}

static void AssertVec3Near(knVec3 a, knVec3 b, double tolerance)
{
    ASSERT_NEAR(a.x, b.x, tolerance);
    ASSERT_NEAR(a.y, b.y, tolerance);
    ASSERT_NEAR(a.z, b.z, tolerance);
}

// Rodrigues' formula in double: another road to the same rotation.
static knVec3 RotateAboutAxis(knVec3 axis, double angle, knVec3 v)
{
    const double k[3] = {(double)axis.x, (double)axis.y, (double)axis.z};
    const double p[3] = {(double)v.x, (double)v.y, (double)v.z};
    double dot = k[0] * p[0] + k[1] * p[1] + k[2] * p[2];
    double r[3];
    for (int i = 0; i < 3; ++i)
    {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        double cross = k[j] * p[l] - k[l] * p[j];
        r[i] = p[i] * cos(angle) + cross * sin(angle) + k[i] * dot * (1.0 - cos(angle));
    }
    return knMakeVec3((float)r[0], (float)r[1], (float)r[2]);
}

static void AQuaternionRotatesAboutItsAxis(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(1);
    for (int i = 0; i < ROUNDS; ++i)
    {
        knVec3 axis = knRandom_UnitVec3(&random);
        float angle = knRandom_Range(&random, -6.0f, 6.0f);
        knVec3 v = RandomVec3(&random);
        knVec3 expected = RotateAboutAxis(axis, (double)angle, v);
        knQuat q = knMakeQuat(axis, angle);
        AssertVec3Near(knRotate(q, v), expected, 1e-5);
        AssertVec3Near(knMulMV(knMat3FromQuat(q), v), expected, 1e-5);
        AssertVec3Near(knMulMV(knTranspose(knMat3FromQuat(q)), expected), v, 1e-5);
        AssertVec3Near(knInvRotate(q, expected), v, 1e-5);
    }
    // a quarter turn about z takes x to y: the sense of rotation, once by hand
    knVec3 y = knRotate(knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 1.57079633f),
                        knMakeVec3(1.0f, 0.0f, 0.0f));
    AssertVec3Near(y, knMakeVec3(0.0f, 1.0f, 0.0f), 1e-6);
}

static void TransformsComposeInTheStatedOrder(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(2);
    for (int i = 0; i < ROUNDS; ++i)
    {
        knTransform a = RandomTransform(&random);
        knTransform b = RandomTransform(&random);
        knVec3 p = RandomVec3(&random);
        knVec3 firstBThenA = knTransformPoint(a, knTransformPoint(b, p));
        AssertVec3Near(knTransformPoint(knMulTransforms(a, b), p), firstBThenA, 1e-4);
        AssertVec3Near(knInvTransformPoint(a, knTransformPoint(a, p)), p, 1e-4);
        knVec3 inA = knInvTransformPoint(a, knTransformPoint(b, p));
        AssertVec3Near(knTransformPoint(knInvMulTransforms(a, b), p), inA, 1e-4);
        AssertVec3Near(knTransformPoint(knIdentityTransform(), p), p, 0.0);
        AssertVec3Near(knMulMV(knMulMM(knMat3FromQuat(a.rotation), knMat3FromQuat(b.rotation)), p),
                       knRotate(a.rotation, knRotate(b.rotation, p)), 1e-4);
        knQuat product = knMulQuat(a.rotation, b.rotation);
        AssertVec3Near(knRotate(product, p), knRotate(a.rotation, knRotate(b.rotation, p)), 1e-4);
    }
}

static void DegenerateDirectionsAreSeenNotDivided(void** state)
{
    (void)state;
    AssertVec3Near(knNormalize(knMakeVec3(0.0f, 0.0f, 0.0f)), knMakeVec3(0.0f, 0.0f, 0.0f), 0.0);
    knQuat zero = {0.0f, 0.0f, 0.0f, 0.0f};
    knQuat q = knNormalizeQuat(zero);
    assert_true(q.x == 0.0f && q.y == 0.0f && q.z == 0.0f && q.w == 1.0f);
    knQuat notANumber = {NAN, 0.0f, 0.0f, 0.0f};
    assert_true(knNormalizeQuat(notANumber).w == 1.0f);
    knQuat twice = {0.0f, 0.0f, 0.0f, 2.0f};
    ASSERT_NEAR(knNormalizeQuat(twice).w, 1.0, 1e-7);
    assert_false(knIsFinite(knMakeVec3(NAN, 0.0f, 0.0f)));
    assert_false(knIsFinite(knMakeVec3(0.0f, INFINITY, 0.0f)));
    assert_false(knIsFinite(knMakeVec3(0.0f, 0.0f, -INFINITY)));
    assert_true(knIsFinite(knMakeVec3(FLT_MAX, -FLT_MAX, 0.0f)));
}

static void InterpolationMeetsItsEnds(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    for (int i = 0; i < ROUNDS; ++i)
    {
        knVec3 a = RandomVec3(&random);
        knVec3 b = RandomVec3(&random);
        AssertVec3Near(knLerp(a, b, 0.0f), a, 0.0);
        AssertVec3Near(knLerp(a, b, 1.0f), b, 0.0);
        AssertVec3Near(knLerp(a, b, 0.25f), knAddScaled(a, 0.25f, knSub(b, a)), 1e-5);
    }
}

static void ProductsObeyTheirLaws(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(4);
    for (int i = 0; i < ROUNDS; ++i)
    {
        knVec3 a = RandomVec3(&random);
        knVec3 b = RandomVec3(&random);
        knVec3 c = knCross(a, b);
        ASSERT_NEAR(knDot(c, a), 0.0, 1e-3);
        ASSERT_NEAR(knDot(c, b), 0.0, 1e-3);
        double product = (double)(knLengthSquared(a) * knLengthSquared(b));
        double dot = (double)knDot(a, b);
        ASSERT_NEAR(knLengthSquared(c), product - dot * dot, 1e-4 * (1.0 + product));
        AssertVec3Near(knAdd(knSub(a, b), b), a, 1e-5);
        AssertVec3Near(knNeg(a), knScale(-1.0f, a), 0.0);
        ASSERT_NEAR(knDistance(a, b), knLength(knSub(b, a)), 1e-6);
        knDVec3 d = knDCross(knToDouble(a), knToDouble(b));
        AssertVec3Near(knToFloat(d), c, 1e-5);
        ASSERT_NEAR(knDLength(d), knLength(c), 1e-4);
    }
    AssertVec3Near(knCross(knMakeVec3(1.0f, 0.0f, 0.0f), knMakeVec3(0.0f, 1.0f, 0.0f)),
                   knMakeVec3(0.0f, 0.0f, 1.0f), 0.0);
}

// The sign is the orientation that every tetrahedron of the project must have.
static void AVolumeIsPositiveWhenTheLastCornerSeesTheRestTurnLeft(void** state)
{
    (void)state;
    knVec3 o = {0.0f, 0.0f, 0.0f}, x = {2.0f, 0.0f, 0.0f}, y = {0.0f, 3.0f, 0.0f},
           z = {0.0f, 0.0f, 5.0f};
    ASSERT_NEAR(knTetVolume6(o, x, y, z), 30.0, 0.0);
    ASSERT_NEAR(knTetVolume6(o, y, x, z), -30.0, 0.0);
    ASSERT_NEAR(knTetVolume6(o, x, y, x), 0.0, 0.0);
}

static void BoxesHoldWhatWasPutIn(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(5);
    for (int round = 0; round < 50; ++round)
    {
        knVec3 points[2][10];
        knBox boxes[2] = {knEmptyBox(), knEmptyBox()};
        for (int i = 0; i < 20; ++i)
        {
            points[i / 10][i % 10] = RandomVec3(&random);
            boxes[i / 10] = knBox_AddPoint(boxes[i / 10], points[i / 10][i % 10]);
        }
        knBox both = knBox_Union(boxes[0], boxes[1]);
        for (int i = 0; i < 20; ++i)
        {
            assert_true(knBox_Contains(boxes[i / 10], points[i / 10][i % 10]));
            assert_true(knBox_Contains(both, points[i / 10][i % 10]));
            assert_true(knBox_Distance(both, points[i / 10][i % 10]) == 0.0f);
        }
        assert_true(knBox_Contains(both, knBox_Center(both)));
        knBox grown = knBox_Expand(both, 0.5f);
        AssertVec3Near(knBox_Extent(grown), knAdd(knBox_Extent(both), knMakeVec3(1.0f, 1.0f, 1.0f)),
                       1e-5);
    }
    assert_false(knBox_Contains(knEmptyBox(), knMakeVec3(0.0f, 0.0f, 0.0f)));
}

// A grid of small boxes against interval arithmetic by hand.
static void OverlapIsThatOfClosedIntervals(void** state)
{
    (void)state;
    knBox a = {{0.0f, 0.0f, 0.0f}, {2.0f, 2.0f, 2.0f}};
    for (int i = 0; i < 7 * 7 * 7; ++i)
    {
        int p[3] = {i % 7 - 3, i / 7 % 7 - 3, i / 49 - 3};
        knBox b = {{(float)p[0], (float)p[1], (float)p[2]},
                   {(float)(p[0] + 1), (float)(p[1] + 1), (float)(p[2] + 1)}};
        bool expected = true;
        for (int k = 0; k < 3; ++k)
        {
            expected = expected && p[k] >= -1 && p[k] <= 2;
        }
        assert_int_equal(knBox_Overlaps(a, b), expected);
        assert_int_equal(knBox_Overlaps(b, a), expected);
    }
    ASSERT_NEAR(knBox_Distance(a, knMakeVec3(5.0f, 6.0f, 1.0f)), 5.0, 1e-6);
    ASSERT_NEAR(knBox_Distance(a, knMakeVec3(-3.0f, -4.0f, 2.0f)), 5.0, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AQuaternionRotatesAboutItsAxis),
        cmocka_unit_test(TransformsComposeInTheStatedOrder),
        cmocka_unit_test(DegenerateDirectionsAreSeenNotDivided),
        cmocka_unit_test(InterpolationMeetsItsEnds),
        cmocka_unit_test(ProductsObeyTheirLaws),
        cmocka_unit_test(AVolumeIsPositiveWhenTheLastCornerSeesTheRestTurnLeft),
        cmocka_unit_test(BoxesHoldWhatWasPutIn),
        cmocka_unit_test(OverlapIsThatOfClosedIntervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
