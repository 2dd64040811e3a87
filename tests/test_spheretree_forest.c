// SPDX-License-Identifier: Zlib
#include "sphere_world.h"

// Any number of breaks: parents by the paper's rule, every point reached once and held by all
// spheres above it, other fragments the same bits.
static void HundredSplitsKeepEveryPromise(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(9), 100000);
    ReserveAll(&w);
    AssertForest(&w, false);
    for (int done = 0; done < 100;)
    {
        Snapshot before = TakeSnapshot(&w);
        if (SplitSomething(&w))
        {
            Update(&w);
            AssertForest(&w, false);
            AssertOthersUnchanged(&w, &before);
            AssertParents(&w, &before);
            for (uint32_t i = 0; i < w.delta.fragmentCount; ++i)
            {
                AssertWalk(&w, w.parts[i]);
            }
            ++done;
        }
        DestroySnapshot(&before);
    }
    assert_true(w.fragmentCount > 100);
    DestroyWorld(&w);
}

// A cap on roots costs parents, not points.
static void RootsStayUnderTheirCap(void** state)
{
    (void)state;
    static const uint32_t caps[] = {2, 5, 16};
    for (uint32_t c = 0; c < COUNT_OF(caps); ++c)
    {
        World w;
        MakeWorld(&w, RoughBall(7), caps[c]);
        ReserveAll(&w);
        for (int done = 0; done < 40;)
        {
            Snapshot before = TakeSnapshot(&w);
            if (SplitSomething(&w))
            {
                Update(&w);
                AssertForest(&w, false);
                AssertOthersUnchanged(&w, &before);
                AssertWalk(&w, w.parts[0]);
                ++done;
            }
            DestroySnapshot(&before);
        }
        assert_true(w.forest.regroupCount > 0);
        DestroyWorld(&w);
    }
}

static void UnbrokenInstancesOwnNoLinks(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(4), 64);
    assert_null(w.forest.memory);
    assert_ptr_equal(w.forest.links.parent, w.tree.links.parent);
    AssertForest(&w, false);
    AssertWalk(&w, 0);
    DestroyWorld(&w);
}

// What does not fit changes nothing and goes through after a reserve.
static void UpdatesWithoutRoomAreDeferred(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    assert_true(Split(&w, 0, 3));
    Snapshot before = TakeSnapshot(&w);
    knResult result = knSphereForest_Update(&w.forest, &w.delta, &w.cuts, &w.arena);
    assert_int_equal(result, kn_errorLimit);
    assert_int_equal(knSphereForest_Reserve(&w.forest, w.cuts.pointCount - 1, 4), kn_success);
    result = knSphereForest_Update(&w.forest, &w.delta, &w.cuts, &w.arena);
    assert_int_equal(result, kn_errorLimit);
    assert_int_equal(knSphereForest_Reserve(&w.forest, w.cuts.pointCount, 4), kn_success);
    knArena tiny;
    assert_int_equal(knCreateArena(&tiny, 64, NULL), kn_success);
    result = knSphereForest_Update(&w.forest, &w.delta, &w.cuts, &tiny);
    assert_int_equal(result, kn_errorLimit);
    assert_true(tiny.wantedBytes > 0);
    w.delta.parent = KN_NONE - 1;
    AssertOthersUnchanged(&w, &before);
    w.delta.parent = 0;
    knDestroyArena(&tiny);
    Update(&w);
    AssertForest(&w, false);
    DestroySnapshot(&before);
    DestroyWorld(&w);
}

static void ShrinkingMakesRadiiTight(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(7), 16);
    ReserveAll(&w);
    for (int i = 0; i < 20; ++i)
    {
        if (SplitSomething(&w))
        {
            Update(&w);
        }
    }
    for (uint32_t f = 0; f < w.fragmentCount; ++f)
    {
        knSphereQuality before = knSphereForest_Quality(&w.forest, f);
        knSphereForest_Shrink(&w.forest, f, &w.cuts);
        knSphereQuality after = knSphereForest_Quality(&w.forest, f);
        assert_true(after.meanReach <= before.meanReach);
        assert_int_equal(after.pointCount, knSphereForest_Fragment(&w.forest, f).pointCount);
    }
    AssertForest(&w, false);
    // tight: no root can give up a single bit of its radius
    for (uint32_t p = 0; p < w.mesh.nodeCount; ++p)
    {
        if (!knSphereForest_IsRoot(&w.forest, p))
        {
            continue;
        }
        double furthest = 0.0;
        for (uint32_t q = 0; q < PointCount(&w); ++q)
        {
            uint32_t a = q;
            while (a != p && !knSphereForest_IsRoot(&w.forest, a))
            {
                a = w.forest.links.parent[a];
            }
            double d = a == p ? Distance2(PositionOf(&w, p), PositionOf(&w, q)) : 0.0;
            furthest = d > furthest ? d : furthest;
        }
        double below = (double)nextafterf(knSphereForest_Radius(&w.forest, p), -1.0f);
        assert_true(furthest == 0.0 || below * below < furthest);
    }
    DestroyWorld(&w);
}

// A walk that prunes by a plane meets every point below it, and nothing twice.
static void WalksThatPruneMissNothing(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(8), 16);
    ReserveAll(&w);
    knSphereQueryItem* items = malloc(PointCount(&w) * 16 * sizeof *items);
    uint8_t* met = malloc(16 * PointCount(&w));
    assert_true(items && met);
    uint32_t visits = 0;
    uint32_t points = 0;
    for (int round = 0; round < 40; ++round)
    {
        uint32_t fragment = LargestFragment(&w);
        knVec3 normal = knRandom_UnitVec3(&w.random);
        float offset = knRandom_Range(&w.random, -0.9f, 0.5f);
        memset(met, 0, PointCount(&w));
        knSphereQuery query;
        knSphereBatch batch = {.count = 0};
        knSphereQuery_Begin(&query, &w.forest, &w.cuts, fragment, items, PointCount(&w));
        while (knSphereQuery_Next(&query, &batch))
        {
            for (uint32_t i = 0; i < batch.count; ++i)
            {
                knVec3 p = knMakeVec3(batch.x[i], batch.y[i], batch.z[i]);
                batch.cache[i] = batch.first[i] ? knDot(normal, p) - offset : batch.cache[i];
                batch.descend[i] = batch.cache[i] < batch.radius[i] + 1e-5f;
                met[batch.point[i]] = 1;
                ++visits;
            }
        }
        for (uint32_t p = 0; p < PointCount(&w); ++p)
        {
            bool below = knDot(normal, PositionOf(&w, p)) < offset;
            assert_true(met[p] || !below || LabelOf(&w, p) != fragment);
            points += LabelOf(&w, p) == fragment;
        }
        if (round % 4 == 3 && Split(&w, fragment, 2))
        {
            Update(&w);
        }
    }
    // and it does prune
    assert_true(visits < points);
    free(items);
    free(met);
    DestroyWorld(&w);
}

// Too few items lose points, never memory, and the count tells.
static void TooFewItemsAreCounted(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    knSphereQueryItem items[8];
    knSphereQuery query;
    knSphereBatch batch = {.count = 0};
    knSphereQuery_Begin(&query, &w.forest, &w.cuts, 0, items, COUNT_OF(items));
    while (knSphereQuery_Next(&query, &batch))
    {
        memset(batch.descend, 1, sizeof batch.descend);
    }
    assert_true(query.lostCount > 0);
    knSphereQuery_Begin(&query, &w.forest, &w.cuts, 77, items, COUNT_OF(items));
    batch.count = 0;
    assert_false(knSphereQuery_Next(&query, &batch));
    DestroyWorld(&w);
}

static knResult Attempt(const knAllocator* allocator, void* context)
{
    World* w = context;
    knSphereForestDef def = knDefaultSphereForestDef();
    def.tree = &w->tree;
    def.mesh = &w->mesh;
    knSphereForest forest;
    knResult result = knCreateSphereForest(&forest, &def, allocator);
    if (result != kn_success)
    {
        return result;
    }
    result = knSphereForest_Reserve(&forest, 10, 100);
    result = result == kn_success ? knSphereForest_Reserve(&forest, 1000, 1000) : result;
    knSphereRebuild* job = NULL;
    result = result == kn_success
                 ? knBeginSphereRebuild(&job, &forest, &w->cuts, 0, true, allocator)
                 : result;
    assert_true((result == kn_success) == (job != NULL));
    if (job)
    {
        knSphereRebuild_Run(job);
        assert_true(knSphereRebuild_Commit(job, &forest));
    }
    // a failure leaves a forest that still works
    assert_int_equal(knSphereForest_Fragment(&forest, 0).rootCount, 1);
    assert_true(knSphereForest_NextPoint(&forest, forest.fragments[0].firstRoot) != KN_NONE);
    knDestroySphereRebuild(job);
    knDestroySphereForest(&forest);
    return result;
}

static void FailedAllocationsAreSurvived(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(4), 64);
    SurviveAllocationFailures(Attempt, &w);
    DestroyWorld(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(HundredSplitsKeepEveryPromise),
        cmocka_unit_test(RootsStayUnderTheirCap),
        cmocka_unit_test(UnbrokenInstancesOwnNoLinks),
        cmocka_unit_test(UpdatesWithoutRoomAreDeferred),
        cmocka_unit_test(ShrinkingMakesRadiiTight),
        cmocka_unit_test(WalksThatPruneMissNothing),
        cmocka_unit_test(TooFewItemsAreCounted),
        cmocka_unit_test(FailedAllocationsAreSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
