// SPDX-License-Identifier: Zlib
// What lies still must lie still: rest, stacks, and what Bullet's own shapes do beside them.
#include "bullet_scene.h"

#define DT      (1.0f / 200.0f)
#define SECONDS (KN_TEST_SLOW ? 1 : 5)
#define STACK   (KN_TEST_SLOW ? 1 : 10) // s

static float Radius(const TestModel* model)
{
    return 0.5f * knLength(knBox_Extent(knAsset_Info(model->asset)->bounds));
}

// Falls from a small height, rests, and stays where it came to rest.
static void DropAndRest(const char* name, knQuat rotation)
{
    TestModel model = OpenDemoModel(name);
    float radius = Radius(&model);
    knWorld* world = MakeTestWorld();
    AddFloor(world, 0.5f);
    knBodyId id = AddObject(world, &model, knMakeVec3(0.0f, 1.2f * radius, 0.0f), rotation);
    Steps(world, 200 * SECONDS, DT);
    knBodyState before = StateOf(world, id);
    Steps(world, 100, DT);
    knBodyState after = StateOf(world, id);
    float drift = knDistance(before.transform.position, after.transform.position);
    printf("%s: speed %.2e m/s, drift %.2e m in 0.5 s, deepest %.2e of the radius\n", name,
           (double)FastestBody(world), (double)drift, (double)(DeepestContact(world) / radius));
    assert_true(DeepestContact(world) < 0.005f * radius);
    // a ball of flat faces and a plate on its rim rock a while longer
    if (!KN_TEST_SLOW)
    {
        assert_true(FastestBody(world) < 0.005f);
        assert_true(drift < 0.001f);
    }
    assert_true(after.transform.position.y > 0.0f);
    knDestroyWorld(world);
    CloseModel(&model);
}

static void ObjectsComeToRest(void** state)
{
    (void)state;
    DropAndRest("brick", knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 0.4f));
    if (!KN_TEST_SLOW)
    {
        DropAndRest("bunny", knIdentityQuat());
        DropAndRest("plate", knMakeQuat(knMakeVec3(1.0f, 0.0f, 0.0f), 0.2f));
        DropAndRest("piggy", knIdentityQuat());
    }
}

static float StackSpeed(knWorld* world, knBodyId top, float height, const char* name)
{
    Steps(world, 200 * STACK, DT);
    knBodyState state = StateOf(world, top);
    printf("%s: fastest %.2e m/s after %d s, top at %.4f of %.4f m, aside %.2e m\n", name,
           (double)FastestBody(world), STACK, (double)state.transform.position.y, (double)height,
           (double)hypotf(state.transform.position.x, state.transform.position.z));
    return FastestBody(world);
}

static void TenBricksStand(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knBox box = knAsset_Info(brick.asset)->bounds;
    float height = knBox_Extent(box).y;
    knWorld* world = MakeTestWorld();
    AddFloor(world, 0.5f);
    knBodyId top = {0};
    for (int i = 0; i < 10; ++i)
    {
        float y = height * (float)i - box.lower.y;
        top = AddObject(world, &brick, knMakeVec3(0.0f, y, 0.0f), knIdentityQuat());
    }
    float start = StateOf(world, top).transform.position.y;
    float speed = StackSpeed(world, top, start, "bricks");
    knBodyState end = StateOf(world, top);
    assert_true(speed < 0.02f);
    assert_true(fabsf(end.transform.position.y - start) < 0.002f);
    assert_true(hypotf(end.transform.position.x, end.transform.position.z) < 0.01f);
    assert_true(DeepestContact(world) < 0.001f);
    knDestroyWorld(world);
    CloseModel(&brick);
}

// No judgement: what Bullet makes of boxes of the same size and weight in the same world.
static void BoxesBesideThem(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    AddFloor(world, 0.5f);
    knBodyId top = {0};
    knBodyDef def = knDefaultBodyDef();
    def.noSleep = true;
    def.density = 1900.0f;
    for (int i = 0; i < 10; ++i)
    {
        def.transform.position = knMakeVec3(0.0f, 0.071f * ((float)i + 0.5f), 0.0f);
        knVec3 half = {0.12f, 0.0355f, 0.0575f};
        assert_int_equal(knWorld_CreateBox(world, &def, half, &top), kn_success);
    }
    StackSpeed(world, top, 0.071f * 9.5f, "Bullet's boxes");
    knDestroyWorld(world);
}

// A plate driven edge first through the middle of another: its points are nearest to either side.
// Both must come apart.
static void WedgedPlatesComeOut(void** state)
{
    (void)state;
    TestModel plate = OpenDemoModel("plate");
    const float dt = 0.015f;
    knBox box = knAsset_Info(plate.asset)->bounds;
    float rim = 0.5f * knBox_Extent(box).x * sinf(1.3f);
    for (int i = 0; i < (KN_TEST_SLOW ? 1 : 4); ++i)
    {
        knWorld* world = MakeTestWorld();
        knWorld_SetGravity(world, (knVec3){0.0f, 0.0f, 0.0f});
        AddObject(world, &plate, (knVec3){0.0f, 0.0f, 0.0f}, knIdentityQuat());
        // upright, its rim so far below the other one's middle
        float below = 0.004f * (float)(i + 1);
        knQuat turn = knMakeQuat(knMakeVec3(1.0f, 0.0f, 0.0f), 1.3f);
        AddObject(world, &plate, knMakeVec3(0.02f, box.lower.y + rim + 0.004f - below, 0.0f), turn);
        Steps(world, 1, dt);
        float before = DeepestContact(world), fastest = 0.0f;
        for (int k = 0; k < 150; ++k)
        {
            Steps(world, 1, dt);
            fastest = fmaxf(fastest, FastestBody(world));
        }
        float after = DeepestContact(world);
        printf("wedged by %.5f m: %.5f m after 2 s, fastest %.4f m/s\n", (double)before,
               (double)after, (double)fastest);
        // out, by their places alone: nothing gains speed
        assert_true(before > 0.001f && after < 0.0002f && fastest < 0.001f);
        knDestroyWorld(world);
    }
    CloseModel(&plate);
}

// Friction holds a piece on a ramp as it holds a box, and lets it slip as it lets a box.
static void RampsHoldAndLetSlip(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    for (int steep = 0; steep < 2; ++steep)
    {
        // 0.5 x 0.5 = the friction of the two together
        float angle = atanf(steep ? 0.5f : 0.15f);
        knWorld* world = MakeTestWorld();
        knBodyDef def = knDefaultBodyDef();
        knVec3 normal = {-sinf(angle), cosf(angle), 0.0f};
        knBodyId floor, box;
        assert_int_equal(knWorld_CreatePlane(world, &def, normal, 0.0f, &floor), kn_success);
        def.transform.rotation = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), angle);
        def.noSleep = true;
        knVec3 half = {0.12f, 0.0355f, 0.0575f};
        knVec3 aside = {0.0f, 0.0f, 0.5f};
        def.transform.position = knAdd(knScale(0.0356f, normal), aside);
        assert_int_equal(knWorld_CreateBox(world, &def, half, &box), kn_success);
        float lift = 0.0001f - knAsset_Info(brick.asset)->bounds.lower.y;
        def.transform.position = knScale(lift, normal);
        knBodyId piece = AddObjectDef(world, &brick, &def);
        knVec3 pieceStart = StateOf(world, piece).transform.position;
        knVec3 boxStart = StateOf(world, box).transform.position;
        Steps(world, 200, DT);
        float pieceWay = knDistance(StateOf(world, piece).transform.position, pieceStart);
        float boxWay = knDistance(StateOf(world, box).transform.position, boxStart);
        printf("ramp of %.2f: piece slips %.4f m, box %.4f m\n", (double)tanf(angle),
               (double)pieceWay, (double)boxWay);
        if (steep)
        {
            // g (sin - mu cos) / 2 in one second
            float ideal = 0.5f * 9.81f * (sinf(angle) - 0.25f * cosf(angle));
            assert_true(fabsf(pieceWay - ideal) < 0.1f * ideal);
        }
        else
        {
            assert_true(pieceWay < 0.001f);
        }
        knDestroyWorld(world);
    }
    CloseModel(&brick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ObjectsComeToRest), cmocka_unit_test(TenBricksStand),
        cmocka_unit_test(BoxesBesideThem), cmocka_unit_test(RampsHoldAndLetSlip),
        cmocka_unit_test(WedgedPlatesComeOut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
