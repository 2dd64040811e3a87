// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/random.h"

// Published output of the reference SplitMix64 for the seed 1234567.
static void TheNumbersAreThoseOfTheReference(void** state)
{
    (void)state;
    const uint64_t reference[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u};
    knRandom random = knMakeRandom(1234567);
    for (size_t i = 0; i < COUNT_OF(reference); ++i)
    {
        assert_true(knRandom_U64(&random) == reference[i]);
    }
}

static void BoundsAreKeptAndEveryValueIsMet(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(1);
    assert_int_equal(knRandom_Below(&random, 0), 0);
    assert_int_equal(knRandom_Below(&random, 1), 0);
    int counts[10] = {0};
    const int rolls = 100000;
    for (int i = 0; i < rolls; ++i)
    {
        uint32_t value = knRandom_Below(&random, 10);
        assert_true(value < 10);
        counts[value] += 1;
        assert_true(knRandom_Below(&random, UINT32_MAX) < UINT32_MAX);
    }
    double chiSquared = 0.0;
    for (int i = 0; i < 10; ++i)
    {
        double difference = counts[i] - rolls / 10.0;
        chiSquared += difference * difference / (rolls / 10.0);
    }
    // nine degrees of freedom: beyond 34 is one chance in ten thousand, and the seed is fixed
    assert_true(chiSquared < 34.0);
}

static void FractionsStayBelowOne(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(2);
    double floatSum = 0.0, doubleSum = 0.0;
    const int rolls = 200000;
    for (int i = 0; i < rolls; ++i)
    {
        float f = knRandom_Float(&random);
        double d = knRandom_Double(&random);
        assert_true(f >= 0.0f && f < 1.0f && d >= 0.0 && d < 1.0);
        floatSum += (double)f;
        doubleSum += d;
        float r = knRandom_Range(&random, -3.0f, 5.0f);
        assert_true(r >= -3.0f && r <= 5.0f);
    }
    ASSERT_NEAR(floatSum / rolls, 0.5, 0.005);
    ASSERT_NEAR(doubleSum / rolls, 0.5, 0.005);
}

static void DirectionsHaveLengthOneAndNoPreference(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    double mean[3] = {0.0}, square[3] = {0.0};
    const int rolls = 50000;
    for (int i = 0; i < rolls; ++i)
    {
        knVec3 v = knRandom_UnitVec3(&random);
        const double c[3] = {(double)v.x, (double)v.y, (double)v.z};
        ASSERT_NEAR(c[0] * c[0] + c[1] * c[1] + c[2] * c[2], 1.0, 1e-6);
        for (int k = 0; k < 3; ++k)
        {
            mean[k] += c[k] / rolls;
            square[k] += c[k] * c[k] / rolls;
        }
    }
    for (int k = 0; k < 3; ++k)
    {
        ASSERT_NEAR(mean[k], 0.0, 0.01);
        ASSERT_NEAR(square[k], 1.0 / 3.0, 0.01);
    }
}

static void PointsStayInTheirBox(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(4);
    knBox box = {{-1.0f, 2.0f, 10.0f}, {1.0f, 2.5f, 10.0f}};
    for (int i = 0; i < 1000; ++i)
    {
        knVec3 p = knRandom_InBox(&random, box);
        assert_true(p.x >= -1.0f && p.x <= 1.0f && p.y >= 2.0f && p.y <= 2.5f && p.z == 10.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheNumbersAreThoseOfTheReference),
        cmocka_unit_test(BoundsAreKeptAndEveryValueIsMet),
        cmocka_unit_test(FractionsStayBelowOne),
        cmocka_unit_test(DirectionsHaveLengthOneAndNoPreference),
        cmocka_unit_test(PointsStayInTheirBox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
