// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "knap/spheretree.h"

#include <math.h>

static double Distance2(knVec3 a, knVec3 b)
{
    double x = (double)a.x - (double)b.x;
    double y = (double)a.y - (double)b.y;
    double z = (double)a.z - (double)b.z;
    return x * x + y * y + z * z;
}

static void FurthestPair(const knVec3* p, uint32_t count, uint32_t pair[2])
{
    double best = -1.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        for (uint32_t j = i + 1; j < count; ++j)
        {
            double d = Distance2(p[i], p[j]);
            if (d > best)
            {
                best = d;
                pair[0] = i;
                pair[1] = j;
            }
        }
    }
}

// The definition, word by word: n^2 for the pair and n for every further point.
static void OrderByDefinition(const knVec3* p, uint32_t count, uint32_t* order)
{
    double* nearest = malloc(count * sizeof(double));
    assert_non_null(nearest);
    uint32_t pair[2] = {0, 0};
    FurthestPair(p, count, pair);
    for (uint32_t i = 0; i < count; ++i)
    {
        nearest[i] = (double)INFINITY;
    }
    for (uint32_t rank = 0; rank < count; ++rank)
    {
        uint32_t chosen = KN_NONE;
        for (uint32_t i = 0; rank >= 2 && i < count; ++i)
        {
            if (nearest[i] >= 0.0 && (chosen == KN_NONE || nearest[i] > nearest[chosen]))
            {
                chosen = i;
            }
        }
        chosen = rank < 2 ? pair[rank] : chosen;
        order[rank] = chosen;
        for (uint32_t i = 0; i < count; ++i)
        {
            double d = Distance2(p[i], p[chosen]);
            nearest[i] = d < nearest[i] ? d : nearest[i];
        }
        nearest[chosen] = -1.0;
    }
    // chosen points stay below zero: a later update only lowers what is above
    free(nearest);
}

static void AssertOrder(const knVec3* p, uint32_t count)
{
    uint32_t* expected = malloc(count * sizeof(uint32_t));
    uint32_t* order = malloc(count * sizeof(uint32_t));
    assert_true(expected && order);
    OrderByDefinition(p, count, expected);
    assert_int_equal(knOrderByMaximumDistance(p, count, order, NULL), kn_success);
    for (uint32_t i = 0; i < count; ++i)
    {
        if (order[i] != expected[i])
        {
            fail_msg("rank %u of %u is %u, not %u", i, count, order[i], expected[i]);
        }
    }
    free(expected);
    free(order);
}

// Any number of points from one to past the first splits of a tree.
static void OrderOfRandomPointsIsTheDefinition(void** state)
{
    (void)state;
    knBox box = {{-1.0f, -2.0f, -0.1f}, {1.0f, 2.0f, 0.1f}};
    knRandom random = knMakeRandom(7);
    knVec3 points[3000];
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = knRandom_InBox(&random, box);
    }
    for (uint32_t count = 1; count < 70; ++count)
    {
        AssertOrder(points, count);
    }
    AssertOrder(points, 1000);
    AssertOrder(points, COUNT_OF(points));
}

static void MakeLattice(knVec3* points, uint32_t side, float step)
{
    for (uint32_t i = 0; i < side * side * side; ++i)
    {
        points[i] = knMakeVec3(step * (float)(i % side), step * (float)(i / side % side),
                               step * (float)(i / side / side));
    }
}

static void Shuffle(knVec3* points, uint32_t count, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    for (uint32_t i = count; i > 1; --i)
    {
        uint32_t j = knRandom_Below(&random, i);
        knVec3 swap = points[i - 1];
        points[i - 1] = points[j];
        points[j] = swap;
    }
}

// On a lattice nearly every choice is a tie, of exact and of rounded distances.
static void TiesGoToTheLowestIndex(void** state)
{
    (void)state;
    static const float steps[] = {1.0f, 0.1f, 1.0f / 3.0f};
    knVec3 points[12 * 12 * 12];
    for (uint32_t i = 0; i < COUNT_OF(steps); ++i)
    {
        MakeLattice(points, 12, steps[i]);
        AssertOrder(points, COUNT_OF(points));
        Shuffle(points, COUNT_OF(points), i);
        AssertOrder(points, COUNT_OF(points));
    }
}

static void PointsOnALineAndInAPlaneAreOrdered(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    knVec3 points[1500];
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = knMakeVec3(0.0f, (float)(i * 7 % 1500), 0.0f);
    }
    AssertOrder(points, COUNT_OF(points));
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        float t = knRandom_Float(&random);
        points[i] = knMakeVec3(t, 2.0f * t, -3.0f * t);
    }
    AssertOrder(points, COUNT_OF(points));
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = knMakeVec3((float)(i % 50), 5.0f, (float)(i / 50));
    }
    AssertOrder(points, COUNT_OF(points));
}

// Copies come last, in the order of their indices; also when there is nothing but copies.
static void DuplicatedPointsAreOrdered(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(11);
    knVec3 points[1200];
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = knMakeVec3(1.0f, 2.0f, 3.0f);
    }
    AssertOrder(points, 1);
    AssertOrder(points, 2);
    AssertOrder(points, COUNT_OF(points));
    // two heaps of copies: a quarter of all pairs tie for the furthest
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i].x = knRandom_U32(&random) & 1 ? 1.0f : 4.0f;
    }
    AssertOrder(points, COUNT_OF(points));
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = i < 400 ? knRandom_UnitVec3(&random) : points[knRandom_Below(&random, 400)];
    }
    AssertOrder(points, COUNT_OF(points));
}

// Nearly all pairs of opposite points are nearly furthest: the search for the pair has little to
// prune.
static void PointsOnABallAreOrdered(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(5);
    knVec3 points[2500];
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = knRandom_UnitVec3(&random);
    }
    AssertOrder(points, COUNT_OF(points));
}

static uint32_t ReadVertices(const char* path, knVec3* points, uint32_t capacity)
{
    FILE* file = fopen(path, "r");
    assert_non_null(file);
    char line[256];
    uint32_t count = 0;
    while (count < capacity && fgets(line, sizeof line, file))
    {
        char* end = line + 1;
        if (line[0] == 'v' && line[1] == ' ')
        {
            float x = strtof(end, &end);
            float y = strtof(end, &end);
            float z = strtof(end, &end);
            points[count++] = knMakeVec3(x, y, z);
        }
    }
    fclose(file);
    return count;
}

static void TheBunnyIsOrdered(void** state)
{
    (void)state;
    static knVec3 points[8192];
    uint32_t count = ReadVertices(KN_SOURCE_DIR "/demos/assets/bunny.obj", points, 8192);
    assert_true(count > 1000);
    AssertOrder(points, count);
}

static void BadPointsAreRefused(void** state)
{
    (void)state;
    knVec3 points[3] = {{0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {0.0f, NAN, 0.0f}};
    uint32_t order[3];
    MarkUntouched(order, sizeof order);
    assert_int_equal(knOrderByMaximumDistance(points, 3, order, NULL), kn_errorArgument);
    points[2].y = -3e38f;
    points[1].y = 3e38f;
    assert_int_equal(knOrderByMaximumDistance(points, 3, order, NULL), kn_errorArgument);
    assert_int_equal(knOrderByMaximumDistance(points, 0, order, NULL), kn_errorArgument);
    assert_int_equal(knOrderByMaximumDistance(NULL, 3, order, NULL), kn_errorArgument);
    assert_true(IsUntouched(order, sizeof order));
}

static knResult Attempt(const knAllocator* allocator, void* context)
{
    const knVec3* points = context;
    uint32_t order[100];
    return knOrderByMaximumDistance(points, 100, order, allocator);
}

static void FailedAllocationsAreSurvived(void** state)
{
    (void)state;
    knVec3 points[125];
    MakeLattice(points, 5, 1.0f);
    SurviveAllocationFailures(Attempt, points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(OrderOfRandomPointsIsTheDefinition),
        cmocka_unit_test(TiesGoToTheLowestIndex),
        cmocka_unit_test(PointsOnALineAndInAPlaneAreOrdered),
        cmocka_unit_test(DuplicatedPointsAreOrdered),
        cmocka_unit_test(PointsOnABallAreOrdered),
        cmocka_unit_test(TheBunnyIsOrdered),
        cmocka_unit_test(BadPointsAreRefused),
        cmocka_unit_test(FailedAllocationsAreSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
