// SPDX-License-Identifier: Zlib
// Refused memory: at creation it is an error that leaves nothing behind, in a step a delay.
#include "bullet_scene.h"
#include "knap/world_events.h"

#define DT (1.0f / 200.0f)

static TestModel brick;

static knResult MakeAndDrop(const knAllocator* allocator, void* context)
{
    (void)context;
    knWorldDef def = knDefaultWorldDef();
    knWorld* world = NULL;
    knResult result = knCreateWorld(&world, &def, allocator);
    if (result != kn_success)
    {
        assert_null(world);
        return result;
    }
    knBodyDef bodyDef = knDefaultBodyDef();
    knFamilyDef familyDef = knDefaultFamilyDef();
    familyDef.model = brick.model;
    knBodyId id, other;
    knFamilyId family;
    knJointId joint;
    knVec3 up = {0.0f, 1.0f, 0.0f}, half = {0.1f, 0.1f, 0.1f};
    result = knWorld_CreatePlane(world, &bodyDef, up, 0.0f, &id);
    result = result == kn_success ? knWorld_CreateFamily(world, &bodyDef, &familyDef, &family, &id)
                                  : result;
    bodyDef.transform.position.x = 1.0f;
    result = result == kn_success ? knWorld_CreateBox(world, &bodyDef, half, &other) : result;
    result = result == kn_success ? knWorld_CreatePointJoint(world, id, other, up, &joint) : result;
    knDestroyWorld(world);
    return result;
}

static void EveryFailureOfCreationIsClean(void** state)
{
    (void)state;
    SurviveAllocationFailures(MakeAndDrop, NULL);
}

// The n-th call after the bodies are there fails: the step goes on, and in the end they rest.
static void StepsSurviveEveryFailure(void** state)
{
    (void)state;
    for (size_t n = 1; n <= 12; ++n)
    {
        knMemoryTracker tracker = {0};
        knAllocator allocator = knTrackingAllocator(&tracker, NULL);
        knWorldDef def = knDefaultWorldDef();
        def.pairCapacity = 1;
        knWorld* world = NULL;
        assert_int_equal(knCreateWorld(&world, &def, &allocator), kn_success);
        SwitchBreakingOff(world);
        AddFloor(world, 0.5f);
        float height = knBox_Extent(knAsset_Info(brick.asset)->bounds).y;
        knBodyId top = {0};
        for (int i = 0; i < 3; ++i)
        {
            top = AddObject(world, &brick, knMakeVec3(0.0f, (height + 0.001f) * (float)i, 0.0f),
                            knIdentityQuat());
        }
        tracker.failAtCall = tracker.callCount + n;
        Steps(world, 100, DT);
        tracker.failAtCall = 0;
        Steps(world, 50, DT);
        knBodyState s = StateOf(world, top);
        assert_true(fabsf(s.transform.position.y - 2.5f * height) < 0.005f);
        assert_true(FastestBody(world) < 0.05f);
        knDestroyWorld(world);
        assert_int_equal(tracker.liveCount, 0);
    }
}

// A split that finds no memory leaves the body as it was, or is done.
static void SplitsSurviveEveryFailure(void** state)
{
    (void)state;
    for (size_t n = 1; n <= 400; n += n < 12 ? 1 : 19)
    {
        knMemoryTracker tracker = {0};
        knAllocator allocator = knTrackingAllocator(&tracker, NULL);
        knWorldDef def = knDefaultWorldDef();
        knWorld* world = NULL;
        assert_int_equal(knCreateWorld(&world, &def, &allocator), kn_success);
        SwitchBreakingOff(world);
        knBodyId id = AddObject(world, &brick, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
        float mass = StateOf(world, id).mass;
        knSplitDef split = knDefaultSplitDef();
        split.kind = kn_splitPlane;
        split.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
        split.offset = 0.01f;
        knWorldSplit parts;
        tracker.failAtCall = tracker.callCount + n;
        knResult result = knWorld_SplitBody(world, id, &split, &parts);
        bool isOver = tracker.callCount < tracker.failAtCall;
        tracker.failAtCall = 0;
        if (result != kn_success)
        {
            assert_int_equal(result, kn_errorMemory);
            ASSERT_NEAR(StateOf(world, id).mass, mass, 0.0);
            assert_int_equal(knWorld_SplitBody(world, id, &split, &parts), kn_success);
        }
        if (parts.bodyCount == 0)
        {
            // cut, but no memory for bodies: the next step makes them, and until then it waits
            uint32_t count;
            assert_int_equal(knWorld_Notices(world, &count)[0].kind, kn_noticeDeferred);
            assert_int_equal(knWorld_BodyCount(world), 1);
            Steps(world, 1, DT);
            assert_int_equal(knWorld_Fractures(world, &count)[0].childCount, 2);
            assert_int_equal(count, 1);
        }
        double sum = 0.0;
        for (knBodyId k = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(k);
             k = knWorld_NextBody(world, k))
        {
            sum += (double)StateOf(world, k).mass;
        }
        ASSERT_NEAR(sum, mass, 1e-4);
        Steps(world, 2, DT);
        knDestroyWorld(world);
        assert_int_equal(tracker.liveCount, 0);
        if (isOver)
        {
            return;
        }
    }
    fail_msg("the split never came to its end");
}

static int OpenModels(void** state)
{
    (void)state;
    brick = OpenDemoModel("brick");
    return 0;
}

static int CloseModels(void** state)
{
    (void)state;
    CloseModel(&brick);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(EveryFailureOfCreationIsClean),
                                       cmocka_unit_test(StepsSurviveEveryFailure),
                                       cmocka_unit_test(SplitsSurviveEveryFailure)};
    return cmocka_run_group_tests(tests, OpenModels, CloseModels);
}
