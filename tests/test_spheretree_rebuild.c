// SPDX-License-Identifier: Zlib
#include "sphere_world.h"

#include <pthread.h>

static knResult Rebuild(World* w, uint32_t fragment, bool drop)
{
    knSphereRebuild* job = NULL;
    knResult result = knBeginSphereRebuild(&job, &w->forest, &w->cuts, fragment, drop, NULL);
    if (result == kn_success)
    {
        knSphereRebuild_Run(job);
        assert_true(knSphereRebuild_Commit(job, &w->forest));
        // the same result twice is stale: the forest has changed by itself
        assert_false(knSphereRebuild_Commit(job, &w->forest));
        knDestroySphereRebuild(job);
        assert_int_equal(CountRoots(w, fragment), 1);
    }
    return result;
}

static void BreakAndRebuild(bool drop)
{
    World w;
    MakeWorld(&w, RoughBall(7), 16);
    ReserveAll(&w);
    for (int done = 0; done < 60;)
    {
        if (!SplitSomething(&w))
        {
            continue;
        }
        Update(&w);
        AssertForest(&w, drop);
        uint32_t fragment = knRandom_Below(&w.random, w.fragmentCount);
        uint32_t points = knSphereForest_Fragment(&w.forest, fragment).pointCount;
        Snapshot before = TakeSnapshot(&w);
        assert_int_equal(Rebuild(&w, fragment, drop), points > 0 ? kn_success : kn_errorArgument);
        w.delta.parent = fragment;
        AssertOthersUnchanged(&w, &before);
        DestroySnapshot(&before);
        AssertForest(&w, drop);
        AssertWalk(&w, fragment);
        ++done;
    }
    DestroyWorld(&w);
}

static void RebuildsKeepEveryPromise(void** state)
{
    (void)state;
    BreakAndRebuild(false);
}

static void RebuildsWithoutInteriorKeepTheSurface(void** state)
{
    (void)state;
    BreakAndRebuild(true);
}

// The tree of a rebuilt fragment is the cooked tree of its points.
static void ARebuildOfTheWholeIsTheCookedTree(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    ReserveAll(&w);
    Snapshot cooked = TakeSnapshot(&w);
    assert_int_equal(Rebuild(&w, 0, false), kn_success);
    w.delta.parent = KN_NONE - 1;
    AssertOthersUnchanged(&w, &cooked);
    DestroySnapshot(&cooked);
    DestroyWorld(&w);
}

static void StaleRebuildsAreDiscarded(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    ReserveAll(&w);
    assert_true(Split(&w, 0, 3));
    Update(&w);
    uint32_t broken = w.parts[0];
    uint32_t whole = w.parts[1];
    knSphereRebuild* first = NULL;
    knSphereRebuild* second = NULL;
    assert_int_equal(knBeginSphereRebuild(&first, &w.forest, &w.cuts, broken, true, NULL),
                     kn_success);
    assert_int_equal(knBeginSphereRebuild(&second, &w.forest, &w.cuts, whole, true, NULL),
                     kn_success);
    assert_false(knSphereRebuild_Commit(first, &w.forest));
    knSphereRebuild_Run(first);
    // its label lives on with another part: only the generation tells
    w.endParent = false;
    assert_true(Split(&w, broken, 2));
    Update(&w);
    knSphereRebuild_Run(second);
    Snapshot before = TakeSnapshot(&w);
    assert_false(knSphereRebuild_Commit(first, &w.forest));
    w.delta.parent = KN_NONE - 1;
    AssertOthersUnchanged(&w, &before);
    DestroySnapshot(&before);
    assert_true(knSphereRebuild_Commit(second, &w.forest));
    AssertForest(&w, true);
    knDestroySphereRebuild(first);
    knDestroySphereRebuild(second);
    DestroyWorld(&w);
}

// The estimate of what a rebuild would give is near what it does give.
static void QualityTellsWhatARebuildWouldGive(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(10), 64);
    ReserveAll(&w);
    for (int i = 0; i < 8; ++i)
    {
        assert_true(Split(&w, LargestFragment(&w), 3));
        Update(&w);
    }
    uint32_t poor = 0;
    for (uint32_t f = 0; f < w.fragmentCount; ++f)
    {
        knSphereQuality before = knSphereForest_Quality(&w.forest, f);
        if (before.pointCount < 100)
        {
            continue;
        }
        poor += knSphereQuality_IsPoor(&before);
        assert_int_equal(Rebuild(&w, f, false), kn_success);
        knSphereQuality after = knSphereForest_Quality(&w.forest, f);
        assert_int_equal(after.pointCount, before.pointCount);
        assert_int_equal(after.rootCount, 1);
        assert_false(knSphereQuality_IsPoor(&after));
        assert_true(after.meanReach > 0.6f * before.freshMeanReach);
        assert_true(after.meanReach < 1.4f * before.freshMeanReach);
    }
    assert_true(poor > 0);
    DestroyWorld(&w);
}

static void* RunElsewhere(void* job)
{
    knSphereRebuild_Run(job);
    return NULL;
}

// A job shares nothing with the forest: breaks go on while it runs, and it may end at any time.
static void RebuildsRunBesideBreaks(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(8), 16);
    ReserveAll(&w);
    assert_true(Split(&w, 0, 2));
    Update(&w);
    for (int round = 0; round < 10; ++round)
    {
        uint32_t fragment = LargestFragment(&w);
        uint32_t other = knRandom_Below(&w.random, w.fragmentCount);
        knSphereRebuild* job = NULL;
        assert_int_equal(knBeginSphereRebuild(&job, &w.forest, &w.cuts, fragment, false, NULL),
                         kn_success);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, RunElsewhere, job), 0);
        bool broke = Split(&w, other, 3);
        if (broke)
        {
            Update(&w);
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(knSphereRebuild_Commit(job, &w.forest) == (!broke || other != fragment));
        knDestroySphereRebuild(job);
        AssertForest(&w, false);
    }
    DestroyWorld(&w);
}

static uint64_t HashForest(const World* w)
{
    const knSphereLinks* l = &w->forest.links;
    uint64_t hash = 1469598103934665603u;
    for (uint32_t p = 0; p < PointCount(w); ++p)
    {
        uint32_t bits = 0;
        memcpy(&bits, &l->reach[p], 4);
        const uint32_t words[] = {l->parent[p], l->first[p], l->next[p], bits, l->level[p]};
        for (uint32_t i = 0; i < COUNT_OF(words); ++i)
        {
            hash = (hash ^ words[i]) * 1099511628211u;
        }
    }
    return hash;
}

static uint64_t RunOnce(void)
{
    World w;
    MakeWorld(&w, RoughBall(6), 8);
    ReserveAll(&w);
    for (int i = 0; i < 30; ++i)
    {
        if (SplitSomething(&w))
        {
            Update(&w);
        }
        if (i % 10 == 9)
        {
            assert_int_equal(Rebuild(&w, LargestFragment(&w), true), kn_success);
        }
    }
    uint64_t hash = HashForest(&w);
    DestroyWorld(&w);
    return hash;
}

static void TheSameBreaksGiveTheSameForest(void** state)
{
    (void)state;
    assert_true(RunOnce() == RunOnce());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RebuildsKeepEveryPromise),
        cmocka_unit_test(RebuildsWithoutInteriorKeepTheSurface),
        cmocka_unit_test(ARebuildOfTheWholeIsTheCookedTree),
        cmocka_unit_test(StaleRebuildsAreDiscarded),
        cmocka_unit_test(QualityTellsWhatARebuildWouldGive),
        cmocka_unit_test(RebuildsRunBesideBreaks),
        cmocka_unit_test(TheSameBreaksGiveTheSameForest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
