// SPDX-License-Identifier: Zlib
#include "ccd_sheet.h"

// What a step keeps from run to run: it follows the triangles, and nothing half done is taken for
// whole.

// The same features touch as in a step that is new.
static size_t AssertAsNew(const knCcdStep* kept, const knCcdStepDef* def)
{
    knCcdStep* fresh;
    size_t keptCount, freshCount;
    assert_int_equal(knCreateCcdStep(&fresh, NULL), kn_success);
    assert_int_equal(knCcdStep_Run(fresh, def), kn_success);
    const knCcdContact* a = knCcdStep_Contacts(kept, &keptCount);
    const knCcdContact* b = knCcdStep_Contacts(fresh, &freshCount);
    assert_int_equal(keptCount, freshCount);
    for (size_t i = 0; i < keptCount; ++i)
    {
        assert_true(a[i].kind == b[i].kind && a[i].a == b[i].a && a[i].b == b[i].b);
    }
    knDestroyCcdStep(fresh);
    return keptCount;
}

// Where memory runs out in a step, the next finds all again: nothing half done is taken for whole.
static void AFailureLosesNothing(void** state)
{
    (void)state;
    static Sheet s;
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    int failures = 0;
    MakeSheet(&s, 0.1f);
    for (int i = 0; i < 40 * kn_ccdMethodCount; ++i)
    {
        knCcdStep* step;
        knCcdStepDef def = DefOf(&s);
        assert_int_equal(knCreateCcdStep(&step, &allocator), kn_success);
        def.method = (knCcdMethod)(i % kn_ccdMethodCount);
        def.triangleCount = FACES / 2;
        def.vertexCount = SIDE * SIDE;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        def.triangleCount = FACES;
        tracker.failAtCall = tracker.callCount + 1 + (size_t)(i / kn_ccdMethodCount);
        bool hasFailed = knCcdStep_Run(step, &def) != kn_success;
        tracker.failAtCall = 0;
        failures += hasFailed;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        assert_true(AssertAsNew(step, &def) > 0);
        knDestroyCcdStep(step);
    }
    assert_true(failures > 20);
    assert_int_equal(tracker.liveCount, 0);
}

// What is kept of contours follows the triangles: a sheet is culled in parts, and where corners
// change places in it, a kept step finds what a new one finds.
static void ContoursFollowChanges(void** state)
{
    (void)state;
    static Sheet s;
    uint64_t culled = 0, touching = 0;
    knCcdStep* kept;
    assert_int_equal(knCreateCcdStep(&kept, NULL), kn_success);
    for (int change = 0; change < 60; ++change)
    {
        knCcdStepDef def = DefOf(&s);
        def.vertexCount = SIDE * SIDE;
        if (change % 4 == 0)
        {
            MakeSheet(&s, 0.001f);
            for (uint32_t i = 0; i < SIDE * SIDE; ++i)
            {
                s.start[i].x = s.end[i].x =
                    (float)(i % SIDE) + 0.01f * (float)(i / SIDE); // unfolded
                s.start[i].z = s.end[i].z = Jitter(0.01f);
            }
        }
        for (int c = 0; c < 2; ++c)
        {
            def.culling = c ? kn_ccdCullCones : kn_ccdCullExact;
            assert_int_equal(knCcdStep_Run(kept, &def), kn_success);
            culled += knCcdStep_Funnel(kept).culledNodes;
            touching += AssertAsNew(kept, &def);
        }
        knTriangle* t = &s.triangles[Next(FACES)];
        uint32_t v = Next(SIDE * SIDE), w = t->v[0];
        bool isOther = v != t->v[0] && v != t->v[1] && v != t->v[2];
        t->v[0] = isOther ? v : t->v[1];
        t->v[1] = isOther ? t->v[1] : w; // or it is turned over
    }
    assert_true(culled > 0 && touching > 0);
    knDestroyCcdStep(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AFailureLosesNothing),
        cmocka_unit_test(ContoursFollowChanges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
