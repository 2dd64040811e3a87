// SPDX-License-Identifier: Zlib
#include "bvh/bvh_predicates_internal.h"
#include "bvh/bvh_triangles_internal.h"
#include "kit.h"
#include "knap/bvh.h"
#include "knap/random.h"
#include "pair_oracle.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#if defined(KN_TEST_GMP)

static bool Ours(const knTrianglePair* pair, uint32_t sabotage)
{
    uint64_t exact = 0;
    uint32_t mode = knBeginExact();
    bool meets = knMeetTriangles(pair, sabotage, &exact) != 0;
    knEndExact(mode);
    return meets;
}

static bool Truth(const knTrianglePair* p)
{
    return OracleMeets(p->a, p->aVertices, p->b, p->bVertices);
}

// Six vertices on a small lattice, some of them shared: every kind of touching, coplanar,
// degenerate and adjacent pair turns up within a few thousand.
static knTrianglePair MakeLatticePair(knRandom* r, uint32_t size, float scale)
{
    knTrianglePair p;
    knVec3 points[6];
    for (int i = 0; i < 6; ++i)
    {
        points[i].x = scale * (float)knRandom_Below(r, size);
        points[i].y = scale * (float)knRandom_Below(r, size);
        points[i].z = scale * (float)knRandom_Below(r, size);
    }
    uint32_t pool = 3 + knRandom_Below(r, 4);
    for (int i = 0; i < 3; ++i)
    {
        p.aVertices[i] = knRandom_Below(r, 8) ? (uint32_t)i : knRandom_Below(r, 6);
        p.bVertices[i] = knRandom_Below(r, 2) ? (uint32_t)(i + 3) : knRandom_Below(r, pool);
        p.a[i] = points[p.aVertices[i]];
        p.b[i] = points[p.bVertices[i]];
    }
    return p;
}

typedef struct Tally
{
    int pairCount, meetCount, wrongCount;
} Tally;

static void Judge(Tally* tally, const knTrianglePair* p, uint32_t sabotage)
{
    bool truth = Truth(p);
    tally->pairCount += 1;
    tally->meetCount += truth;
    tally->wrongCount += Ours(p, sabotage) != truth;
    knTrianglePair swapped = {.a = {p->b[1], p->b[2], p->b[0]},
                              .b = {p->a[2], p->a[1], p->a[0]},
                              .aVertices = {p->bVertices[1], p->bVertices[2], p->bVertices[0]},
                              .bVertices = {p->aVertices[2], p->aVertices[1], p->aVertices[0]}};
    tally->wrongCount += Ours(&swapped, sabotage) != truth;
}

// Small lattices of 2, 3 and 5 points a side: touching, coplanar and degenerate is the rule there.
static void LatticePairsAreExact(void** state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 5, 9};
    for (size_t s = 0; s < COUNT_OF(sizes); ++s)
    {
        knRandom r = knMakeRandom(100 + s);
        Tally tally = {0, 0, 0};
        for (int i = 0; i < 4000; ++i)
        {
            knTrianglePair p = MakeLatticePair(&r, sizes[s], 1.0f);
            Judge(&tally, &p, 0);
        }
        assert_int_equal(tally.wrongCount, 0);
        assert_in_range(tally.meetCount, 200, 3900);
    }
}

// A plane through points that floats cannot represent: every sign is a matter of the last bits.
static knTrianglePair MakeNearPlanePair(knRandom* r, float scale)
{
    knTrianglePair p;
    knVec3 u = knRandom_UnitVec3(r), v = knRandom_UnitVec3(r), origin = knRandom_UnitVec3(r);
    for (int i = 0; i < 6; ++i)
    {
        float s = knRandom_Range(r, -1.0f, 1.0f), t = knRandom_Range(r, -1.0f, 1.0f);
        knVec3 x = knAddScaled(knAddScaled(origin, s, u), t, v);
        *(i < 3 ? &p.a[i] : &p.b[i - 3]) = knScale(scale, x);
    }
    for (uint32_t i = 0; i < 3; ++i)
    {
        p.aVertices[i] = i;
        p.bVertices[i] = i + 3;
    }
    uint32_t sharedCount = knRandom_Below(r, 3);
    for (uint32_t i = 0; i < sharedCount; ++i)
    {
        p.b[i] = p.a[i];
        p.bVertices[i] = i;
    }
    return p;
}

static Tally JudgeNearPlane(float scale, int count, uint32_t sabotage)
{
    knRandom r = knMakeRandom(7);
    Tally tally = {0, 0, 0};
    for (int i = 0; i < count; ++i)
    {
        knTrianglePair p = MakeNearPlanePair(&r, scale);
        Judge(&tally, &p, sabotage);
    }
    return tally;
}

static void NearlyCoplanarPairsAreExactAtAllScales(void** state)
{
    (void)state;
    static const float scales[] = {1.0f, 1e30f, 1e-30f, 1e-40f, 1e37f, 3.3e-45f};
    for (size_t i = 0; i < COUNT_OF(scales); ++i)
    {
        Tally tally = JudgeNearPlane(scales[i], 1500, 0);
        assert_int_equal(tally.wrongCount, 0);
        assert_in_range(tally.meetCount, 50, 1500);
    }
}

static knVec3 Stretch(knVec3 p)
{
    return knMakeVec3(1e30f * p.x, p.y, 1e-30f * p.z);
}

// Coordinates of very different size: differences of floats are then no doubles.
static void MixedScalesAreExact(void** state)
{
    (void)state;
    knRandom r = knMakeRandom(11);
    Tally tally = {0, 0, 0};
    for (int i = 0; i < 4000; ++i)
    {
        knTrianglePair p = MakeLatticePair(&r, 4, 1.0f);
        uint32_t stretched = knRandom_Below(&r, 64); // a bit per vertex
        for (int k = 0; k < 3; ++k)
        {
            p.a[k] = stretched >> p.aVertices[k] & 1 ? Stretch(p.a[k]) : p.a[k];
            p.b[k] = stretched >> p.bVertices[k] & 1 ? Stretch(p.b[k]) : p.b[k];
        }
        Judge(&tally, &p, 0);
    }
    assert_int_equal(tally.wrongCount, 0);
    assert_in_range(tally.meetCount, 100, 3900);
}

static float RandomInteger(knRandom* r)
{
    return (float)knRandom_Below(r, 1u << 21) - (float)(1 << 20);
}

// A corner of b lies in the middle of a, to the last bit; products of three such integers are far
// longer than a double.
static knTrianglePair MakeTouchingPair(knRandom* r)
{
    knVec3 o = {RandomInteger(r), RandomInteger(r), RandomInteger(r)};
    knVec3 u = {RandomInteger(r), RandomInteger(r), RandomInteger(r)};
    knVec3 v = {RandomInteger(r), RandomInteger(r), RandomInteger(r)};
    knVec3 n = knNormalize(knCross(u, v));
    knVec3 middle = knAdd(o, knAdd(u, v));
    knTrianglePair p = {.a = {o, knAddScaled(o, 4.0f, u), knAddScaled(o, 4.0f, v)},
                        .b = {middle, knAddScaled(middle, 1e5f, n), knAddScaled(u, 2e6f, n)},
                        .aVertices = {0, 1, 2},
                        .bVertices = {3, 4, 5}};
    return p;
}

static Tally JudgeTouching(uint32_t sabotage)
{
    knRandom r = knMakeRandom(3);
    Tally tally = {0, 0, 0};
    for (int i = 0; i < 500; ++i)
    {
        knTrianglePair p = MakeTouchingPair(&r);
        Judge(&tally, &p, sabotage);
    }
    return tally;
}

static void TouchingPairsNeedTheErrorBound(void** state)
{
    (void)state;
    Tally tally = JudgeTouching(0);
    assert_int_equal(tally.wrongCount, 0);
    assert_int_equal(tally.meetCount, tally.pairCount);
    assert_int_not_equal(JudgeTouching(kn_sabotageErrorBound).wrongCount, 0);
}

static void WithoutSharedRulePairsAreWrong(void** state)
{
    (void)state;
    assert_int_not_equal(JudgeNearPlane(1.0f, 100, kn_sabotageSharedRule).wrongCount, 0);
}

// Games flush denormals; coordinates that are denormal must count all the same.
static void FlushedDenormalsChangeNothing(void** state)
{
    (void)state;
#if defined(__SSE2__)
    knRandom r = knMakeRandom(5);
    int wrongCount = 0, meetCount = 0;
    for (int i = 0; i < 1000; ++i)
    {
        knTrianglePair p = MakeLatticePair(&r, 5, 0x1p-149f);
        bool truth = Truth(&p);
        uint32_t before = _mm_getcsr();
        _mm_setcsr(before | 0x8040u);
        bool ours = Ours(&p, 0);
        uint32_t after = _mm_getcsr();
        _mm_setcsr(before);
        // exceptions may be noted, the mode must stay
        assert_int_equal(after & ~0x3Fu, (before | 0x8040u) & ~0x3Fu);
        wrongCount += ours != truth;
        meetCount += truth;
    }
    assert_int_equal(wrongCount, 0);
    assert_in_range(meetCount, 50, 950);
#else
    skip();
#endif
}

static void FlagsSayWhatIsShared(void** state)
{
    (void)state;
    knTrianglePair p = {.a = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}},
                        .b = {{0, 1, 0}, {0, 0, 0}, {1, 0, 0}},
                        .aVertices = {0, 1, 2},
                        .bVertices = {2, 0, 1}};
    uint64_t exact = 0;
    assert_int_equal(knMeetTriangles(&p, 0, &exact), KN_PAIR_MEETS | kn_pairDuplicate);
    p.bVertices[0] = 5;
    assert_int_equal(knMeetTriangles(&p, 0, &exact),
                     KN_PAIR_MEETS | kn_pairSharesEdge | kn_pairCoincident);
    p.bVertices[1] = 6;
    p.bVertices[2] = 7;
    assert_int_equal(knMeetTriangles(&p, 0, &exact), KN_PAIR_MEETS | kn_pairCoincident);
    p.b[0].z = 1.0f;
    assert_int_equal(knMeetTriangles(&p, 0, &exact), KN_PAIR_MEETS);
    p.bVertices[1] = 0;
    p.bVertices[2] = 1;
    assert_int_equal(knMeetTriangles(&p, 0, &exact), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(LatticePairsAreExact),
        cmocka_unit_test(NearlyCoplanarPairsAreExactAtAllScales),
        cmocka_unit_test(MixedScalesAreExact),
        cmocka_unit_test(TouchingPairsNeedTheErrorBound),
        cmocka_unit_test(WithoutSharedRulePairsAreWrong),
        cmocka_unit_test(FlushedDenormalsChangeNothing),
        cmocka_unit_test(FlagsSayWhatIsShared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("skipped: built without GMP, the oracle of this test\n");
    return 0;
}

#endif
