// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"
#include "kit.h"

#include <math.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_COUNT 2000
#else
#define TEST_COUNT 20000
#endif

static uint64_t seed = 0x9E3779B97F4A7C15u;

// From -range to range.
static double Whole(int range)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)((int64_t)(seed >> 33) % (2 * range + 1) - range);
}

static void SetPoint(knDVec3* p, double x, double y, double z)
{
    *p = knMakeDVec3(x, y, z);
}

// Contact at time k / 64 by construction, in whole numbers: the points at that time are chosen to
// touch, motions are multiples of 64 over the whole step, and so every coordinate is exact.
static knCcdTest MakeContact(int round)
{
    knCcdTest test = {.kind = round % 2 ? kn_ccdEdgeEdge : kn_ccdVertexFace};
    int range = round % 3 == 0 ? 2 : 1000; // small ones are parallel, coplanar, without area
    knDVec3 at[4];
    for (int i = 0; i < 4; ++i)
    {
        SetPoint(&at[i], 8.0 * Whole(range), 8.0 * Whole(range), 8.0 * Whole(range));
    }
    // weights in eighths, the ends included
    double s = (double)(int)(Whole(4) + 4.0), t = 8.0 - s > 0.0 ? (double)(round % 5) : 0.0;
    t = t > 8.0 - s ? 8.0 - s : t;
    double c[3];
    for (int k = 0; k < 3; ++k)
    {
        double p[4] = {(&at[0].x)[k], (&at[1].x)[k], (&at[2].x)[k], (&at[3].x)[k]};
        c[k] = test.kind == kn_ccdVertexFace
                   ? (p[1] * (8.0 - s - t) + p[2] * s + p[3] * t) / 8.0
                   : (p[2] * (8.0 - s) + p[3] * s) / 8.0 - (p[0] * (8.0 - t) + p[1] * t) / 8.0;
    }
    for (int i = 0; i < (test.kind == kn_ccdVertexFace ? 1 : 2); ++i)
    {
        bool isVertex = test.kind == kn_ccdVertexFace;
        SetPoint(&at[i], c[0] + (isVertex ? 0.0 : at[i].x), c[1] + (isVertex ? 0.0 : at[i].y),
                 c[2] + (isVertex ? 0.0 : at[i].z));
    }
    double time = (double)(round % 65);
    for (int i = 0; i < 4; ++i)
    {
        int speed = round % 7 == 0 ? 0 : 50;
        double v[3] = {Whole(speed), Whole(speed), Whole(speed)};
        SetPoint(&test.start[i], at[i].x - time * v[0], at[i].y - time * v[1],
                 at[i].z - time * v[2]);
        SetPoint(&test.end[i], test.start[i].x + 64.0 * v[0], test.start[i].y + 64.0 * v[1],
                 test.start[i].z + 64.0 * v[2]);
    }
    return test;
}

static knCcdTest Reversed(const knCcdTest* test)
{
    knCcdTest r = *test;
    memcpy(r.start, test->end, sizeof r.start);
    memcpy(r.end, test->start, sizeof r.end);
    return r;
}

static knCcdTest Scaled(const knCcdTest* test, double factor)
{
    knCcdTest r = *test;
    for (int i = 0; i < 4; ++i)
    {
        SetPoint(&r.start[i], factor * test->start[i].x, factor * test->start[i].y,
                 factor * test->start[i].z);
        SetPoint(&r.end[i], factor * test->end[i].x, factor * test->end[i].y,
                 factor * test->end[i].z);
    }
    return r;
}

// A touch that was put there is found, not after it happens, at every scale, and backwards.
static void NoContactIsMissed(void** state)
{
    (void)state;
    static const double scales[4] = {1.0, 0x1p100, 0x1p-100, 0x1p-1000};
    for (int i = 0; i < TEST_COUNT; ++i)
    {
        knCcdTest test = MakeContact(i);
        knCcdAnswer answer, back;
        knCcdTest scaled = Scaled(&test, scales[i % 4]), reversed = Reversed(&scaled);
        assert_int_equal(knRunCcdTest(&scaled, kn_ccdConservative, &answer), kn_success);
        assert_int_equal(knRunCcdTest(&reversed, kn_ccdConservative, &back), kn_success);
        assert_true(answer.isContact);
        assert_true(back.isContact);
        assert_true(answer.time <= (double)(i % 65) / 64.0);
        assert_true(back.time <= 1.0 - (double)(i % 65) / 64.0);
    }
}

// The bound is needed: without it contacts get lost.
static void WithoutItsBoundItMisses(void** state)
{
    (void)state;
    size_t missed = 0;
    for (int i = 0; i < TEST_COUNT; ++i)
    {
        knCcdTest t = MakeContact(i);
        knCcdCorners c = {.sabotage = kn_sabotageCcdBound};
        c.count = t.kind == kn_ccdVertexFace ? 3 : 4;
        for (uint32_t k = 0; k < c.count; ++k)
        {
            uint32_t a = c.count == 3 ? 0 : k % 2, b = c.count == 3 ? k + 1 : 2 + k / 2;
            double shift = 0.1; // no longer exact
            for (int x = 0; x < 3; ++x)
            {
                c.start[k][x] = shift * ((&t.start[a].x)[x] - (&t.start[b].x)[x]);
                c.end[k][x] = shift * ((&t.end[a].x)[x] - (&t.end[b].x)[x]);
            }
        }
        missed += !knMeetCorners(&c, 1.0).isContact;
    }
    assert_true(missed > 0);
}

// Features that a plane keeps apart for the whole step by 1e-9 of their size are never reported.
static void WhatIsApartIsNotReported(void** state)
{
    (void)state;
    for (int i = 0; i < TEST_COUNT; ++i)
    {
        knCcdTest test = {.kind = i % 2 ? kn_ccdEdgeEdge : kn_ccdVertexFace};
        for (int k = 0; k < 8; ++k)
        {
            bool isBelow = k % 4 < (test.kind == kn_ccdEdgeEdge ? 2 : 1);
            double z = isBelow ? -fabs(Whole(9)) : fabs(Whole(9)) + 1e-8;
            SetPoint(k < 4 ? &test.start[k] : &test.end[k - 4], Whole(9), Whole(9), z);
        }
        knCcdAnswer answer;
        assert_int_equal(knRunCcdTest(&test, kn_ccdConservative, &answer), kn_success);
        assert_false(answer.isContact);
        test.separation = 100.0;
        assert_int_equal(knRunCcdTest(&test, kn_ccdConservative, &answer), kn_success);
        assert_true(answer.isContact && answer.isAtStart);
    }
}

// A vertex goes down to a face, or an edge to another, along z while both slide: how far they are
// apart at each time is known, and so is when they are as near as the separation.
static void ASeparationIsWhatItSays(void** state)
{
    (void)state;
    for (int i = 0; i < TEST_COUNT / 4; ++i)
    {
        knCcdTest test = {.kind = i % 2 ? kn_ccdEdgeEdge : kn_ccdVertexFace};
        bool isFace = test.kind == kn_ccdVertexFace;
        double size = i % 3 == 0 ? 1e-6 : (i % 3 == 1 ? 1.0 : 1e6), height = 5.0 + Whole(3);
        double low = 1.0 + 0.25 * Whole(3), x = 0.25 * Whole(4), y = 0.25 * Whole(4);
        for (int end = 0; end < 2; ++end)
        {
            knDVec3* p = end ? test.end : test.start;
            double z = end ? low : height, slide = end ? 0.0 : 1.0;
            SetPoint(&p[0], size * (x + slide - (isFace ? 0.0 : 9.0)), size * y, size * z);
            SetPoint(&p[1], size * (isFace ? -9.0 : x + 9.0), size * (isFace ? -9.0 : y), 0.0);
            p[1].z = isFace ? 0.0 : size * z;
            SetPoint(&p[2], size * (isFace ? 9.0 : 0.5), size * -9.0, 0.0);
            SetPoint(&p[3], size * (isFace ? 0.0 : 0.5), size * 9.0, 0.0);
        }
        knCcdAnswer answer;
        test.separation = size * low * (1.0 - 1e-6);
        assert_int_equal(knRunCcdTest(&test, kn_ccdConservative, &answer), kn_success);
        assert_false(answer.isContact);
        test.separation = size * low * (1.0 + 1e-6);
        assert_int_equal(knRunCcdTest(&test, kn_ccdConservative, &answer), kn_success);
        assert_true(answer.isContact);
        test.separation = size * 0.5 * (low + height); // in the middle of the step
        assert_int_equal(knRunCcdTest(&test, kn_ccdConservative, &answer), kn_success);
        assert_true(answer.isContact);
        assert_true(height <= low || (answer.time <= 0.5 && answer.time > 0.5 - 1e-5));
    }
}

// All pairs of features, one by one.
static size_t CountAllPairs(const knCcdStepDef* def, const knEdge* edges, size_t edgeCount)
{
    size_t count = 0;
    for (size_t i = 0; i < edgeCount; ++i)
    {
        for (size_t k = i + 1; k < edgeCount; ++k)
        {
            const uint32_t v[4] = {edges[i].v[0], edges[i].v[1], edges[k].v[0], edges[k].v[1]};
            knCcdTest test = {.kind = kn_ccdEdgeEdge};
            knCcdAnswer answer = {0};
            for (int c = 0; c < 4; ++c)
            {
                test.start[c] = knToDouble(def->start[v[c]]);
                test.end[c] = knToDouble(def->end[v[c]]);
            }
            knRunCcdTest(&test, kn_ccdConservative, &answer);
            count +=
                answer.isContact && v[0] != v[2] && v[0] != v[3] && v[1] != v[2] && v[1] != v[3];
        }
    }
    for (uint32_t i = 0; i < def->vertexCount * def->triangleCount; ++i)
    {
        const uint32_t* f = def->triangles[i % def->triangleCount].v;
        const uint32_t v[4] = {i / def->triangleCount, f[0], f[1], f[2]};
        knCcdTest test = {.kind = kn_ccdVertexFace};
        knCcdAnswer answer = {0};
        for (int c = 0; c < 4; ++c)
        {
            test.start[c] = knToDouble(def->start[v[c]]);
            test.end[c] = knToDouble(def->end[v[c]]);
        }
        knRunCcdTest(&test, kn_ccdConservative, &answer);
        count += answer.isContact && v[0] != v[1] && v[0] != v[2] && v[0] != v[3];
    }
    return count;
}

#define VERTICES  40
#define TRIANGLES 60

static void AStepFindsWhatAllPairsFind(void** state)
{
    (void)state;
    for (int round = 0; round < 20; ++round)
    {
        knVec3 points[2 * VERTICES];
        knTriangle triangles[TRIANGLES];
        for (int i = 0; i < 2 * VERTICES; ++i)
        {
            points[i] = knMakeVec3((float)Whole(900), (float)Whole(900), (float)Whole(900));
        }
        for (int i = 0; i < 3 * TRIANGLES; ++i)
        {
            triangles[i / 3].v[i % 3] = (uint32_t)(Whole(VERTICES / 2 - 1) + VERTICES / 2);
        }
        knCcdStepDef def = knDefaultCcdStepDef();
        def.start = points;
        def.end = points + VERTICES;
        def.vertexCount = VERTICES;
        def.triangles = triangles;
        def.triangleCount = TRIANGLES;
        knCcdStep* step = NULL;
        assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        size_t count, edgeCount;
        knCcdStep_Contacts(step, &count);
        const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
        assert_true(count > 0);
        assert_int_equal(count, CountAllPairs(&def, edges, edgeCount));
        knDestroyCcdStep(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(NoContactIsMissed),          cmocka_unit_test(WithoutItsBoundItMisses),
        cmocka_unit_test(WhatIsApartIsNotReported),   cmocka_unit_test(ASeparationIsWhatItSays),
        cmocka_unit_test(AStepFindsWhatAllPairsFind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
