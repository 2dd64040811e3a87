// SPDX-License-Identifier: Zlib
#include "kit.h"

#if defined(KN_TEST_GMP)

#include "ccd_oracle.h"
#include "ccd_queries.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QUERY_COUNT 2000
#else
#define QUERY_COUNT 20000
#endif

// 1e30 and 1e-30 and beyond, with denormals in the last.
static const double scales[4] = {1.0, 0x1p100, 0x1p-100, 0x1p-1040};

static knCcdTest QueryOf(QuerySource* source, int i)
{
    knCcdTest q = MakeQuery(source, (QueryKind)(i % queryKindCount), i / queryKindCount);
    ScaleQuery(&q, scales[i / 7 % 4]);
    return q;
}

// In the mode that games run in: what is denormal counts as zero.
static knCcdAnswer RunFlushed(const knCcdTest* q)
{
    knCcdAnswer answer;
#if defined(__SSE2__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u);
    knResult result = knRunCcdTest(q, kn_ccdConservative, &answer);
    _mm_setcsr(mode);
#else
    knResult result = knRunCcdTest(q, kn_ccdConservative, &answer);
#endif
    assert_int_equal(result, kn_success);
    return answer;
}

// No contact is missed and none is reported after it happens, by exact arithmetic; backwards too.
static void ExactArithmeticFindsNothingMore(void** state)
{
    (void)state;
    QuerySource source = {1};
    size_t touching = 0, extra = 0, capped = 0, differences = 0, easy = 0, easyExtra = 0;
    for (int i = 0; i < QUERY_COUNT; ++i)
    {
        knCcdTest q = QueryOf(&source, i), back = ReversedQuery(&q);
        bool isTouch = DoFeaturesTouch(&q);
        knCcdAnswer answer = RunFlushed(&q), reversed = RunFlushed(&back);
        bool isEasy = i % queryKindCount <= queryNear;
        assert_true(answer.isContact || !isTouch);
        assert_true(reversed.isContact || !isTouch);
        if (answer.isContact && isTouch)
        {
            assert_false(DoFeaturesTouchBefore(&q, answer.time));
        }
        touching += isTouch;
        extra += answer.isContact && !isTouch;
        easy += isEasy;
        easyExtra += isEasy && answer.isContact && !isTouch;
        capped += answer.isCapped;
        differences += answer.isContact != reversed.isContact;
    }
    assert_true(touching > QUERY_COUNT / 5);
    assert_true(touching < QUERY_COUNT * 4 / 5);
    // an answer changes with the direction of time only where it is within rounding of a contact
    assert_true(differences <= extra);
    assert_true(100 * easyExtra < easy);
    assert_true(100 * capped < QUERY_COUNT);
    print_message("%d queries: %zu touch, %zu extra, %zu extra of %zu easy ones, %zu capped, %zu "
                  "other backwards\n",
                  QUERY_COUNT, touching, extra, easyExtra, easy, capped, differences);
}

// A step and its two halves find the same; midpoints of whole numbers are exact.
static void TwoHalvesMakeAWhole(void** state)
{
    (void)state;
    static const QueryKind kinds[3] = {querySmall, queryContact, queryDouble};
    QuerySource source = {2};
    int differences = 0;
    for (int i = 0; i < QUERY_COUNT / 2; ++i)
    {
        knCcdTest q = MakeQuery(&source, kinds[i % 3], i / 3), first = q, second = q;
        for (int k = 0; k < 12; ++k)
        {
            double middle = 0.5 * *Coordinate(&q, k) + 0.5 * *Coordinate(&q, k + 12);
            *Coordinate(&first, k + 12) = *Coordinate(&second, k) = middle;
        }
        knCcdAnswer whole = RunFlushed(&q), left = RunFlushed(&first);
        knCcdAnswer right = RunFlushed(&second);
        if (whole.isContact != (left.isContact || right.isContact))
        {
            // within rounding of a contact, and none
            differences += 1;
            assert_false(DoFeaturesTouch(&q));
        }
    }
    assert_true(100 * differences < QUERY_COUNT / 2);
}

// The judge itself knows what was built to touch.
static void TheJudgeKnowsContacts(void** state)
{
    (void)state;
    QuerySource source = {3};
    for (int i = 0; i < QUERY_COUNT / 20; ++i)
    {
        knCcdTest q = MakeQuery(&source, queryContact, i);
        double time = (double)(i % 65) / 64.0;
        assert_true(DoFeaturesTouch(&q));
        assert_true(i % 7 == 0 || time == 1.0 || DoFeaturesTouchBefore(&q, time + 0x1p-20));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheJudgeKnowsContacts),
        cmocka_unit_test(ExactArithmeticFindsNothingMore),
        cmocka_unit_test(TwoHalvesMakeAWhole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    puts("no GMP: continuous tests are not judged by exact arithmetic");
    return 0;
}

#endif
