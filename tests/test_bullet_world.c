// SPDX-License-Identifier: Zlib
// The C world: ids, joints, filters, bounces, splits, threads, memory.
#include "bullet_scene.h"

#include <xxhash.h>

#define DT (1.0f / 200.0f)

static TestModel brick, bunny;

static void BadHandlesAreErrors(void** state)
{
    (void)state;
    knWorldDef def = knDefaultWorldDef();
    knWorld *a = MakeTestWorld(), *b = NULL;
    def.tag = 7;
    assert_int_equal(knCreateWorld(&b, &def, NULL), kn_success);
    knBodyId id = AddObject(a, &brick, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
    knBodyId other = AddObject(b, &brick, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
    knBodyId none = {0}, wild = {12345, 1}, stale = id;
    assert_int_equal(knWorld_DestroyBody(a, id), kn_success);
    const knBodyId bad[] = {none, wild, stale, other};
    knVec3 zero = {0.0f, 0.0f, 0.0f};
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        knBodyState body;
        knBodyPiece piece;
        knWorldSplit split;
        knJointId joint;
        knSplitDef splitDef = knDefaultSplitDef();
        assert_int_equal(knWorld_BodyState(a, bad[i], &body), kn_errorHandle);
        assert_int_equal(knWorld_DestroyBody(a, bad[i]), kn_errorHandle);
        assert_int_equal(knWorld_SetVelocity(a, bad[i], zero, zero), kn_errorHandle);
        assert_int_equal(knWorld_SetTransform(a, bad[i], knIdentityTransform()), kn_errorHandle);
        assert_int_equal(knWorld_ApplyImpulse(a, bad[i], zero, zero), kn_errorHandle);
        assert_int_equal(knWorld_SetFilter(a, bad[i], 1, 1), kn_errorHandle);
        assert_int_equal(knWorld_BodyPiece(a, bad[i], &piece), kn_errorHandle);
        assert_int_equal(knWorld_SplitBody(a, bad[i], &splitDef, &split), kn_errorHandle);
        assert_int_equal(knWorld_CreatePointJoint(a, bad[i], none, zero, &joint), kn_errorHandle);
        assert_int_equal(knWorld_DestroyJoint(a, bad[i]), kn_errorHandle);
        assert_int_equal(knWorld_DestroyFamily(a, bad[i].index == stale.index ? none : bad[i]),
                         kn_errorHandle);
        assert_null(knWorld_User(a, bad[i]));
    }
    assert_int_equal(knWorld_Step(NULL, DT), kn_errorArgument);
    assert_int_equal(knWorld_Step(a, 0.0f), kn_errorArgument);
    assert_int_equal(knWorld_Step(a, NAN), kn_errorArgument);
    knBodyDef body = knDefaultBodyDef();
    body.velocity.x = NAN;
    assert_int_equal(knWorld_CreateSphere(a, &body, 1.0f, &id), kn_errorArgument);
    body.velocity.x = 0.0f;
    assert_int_equal(knWorld_CreateSphere(a, &body, -1.0f, &id), kn_errorArgument);
    assert_true(strlen(knLastError()) > 10);
    // the worlds are as sound as before
    Steps(a, 5, DT);
    Steps(b, 5, DT);
    assert_int_equal(knWorld_BodyCount(b), 1);
    knDestroyWorld(a);
    knDestroyWorld(b);
}

// A piece bounces as a sphere of the same restitution does, at steps of different length.
static void BouncesAsASphereDoes(void** state)
{
    (void)state;
    TestModel ball = OpenDemoModel("ball");
    const float dts[] = {1.0f / 60.0f, 1.0f / 200.0f, 1.0f / 500.0f};
    float radius = 0.5f * knBox_Extent(knAsset_Info(ball.asset)->bounds).y;
    for (size_t i = 0; i < (KN_TEST_SLOW ? 1 : COUNT_OF(dts)); ++i)
    {
        knWorld* world = MakeTestWorld();
        knBodyDef def = knDefaultBodyDef();
        def.restitution = 1.0f;
        knBodyId floor, sphere;
        knVec3 up = {0.0f, 1.0f, 0.0f};
        assert_int_equal(knWorld_CreatePlane(world, &def, up, 0.0f, &floor), kn_success);
        def.restitution = 0.6f;
        def.transform.position = knMakeVec3(0.0f, 1.0f + radius, 0.0f);
        knBodyId piece = AddObjectDef(world, &ball, &def);
        def.transform.position = knMakeVec3(3.0f, 1.0f + radius, 0.0f);
        assert_int_equal(knWorld_CreateSphere(world, &def, radius, &sphere), kn_success);
        float best[2] = {0.0f, 0.0f}, fastest[2] = {0.0f, 0.0f};
        for (float t = 0.0f; t < 0.6f; t += dts[i])
        {
            Steps(world, 1, dts[i]);
            const knBodyId ids[2] = {piece, sphere};
            for (int k = 0; k < 2; ++k)
            {
                knBodyState s = StateOf(world, ids[k]);
                fastest[k] = fmaxf(fastest[k], -s.velocity.y);
                best[k] = fmaxf(best[k], s.velocity.y);
            }
        }
        printf("steps of %.1f ms: piece bounces with %.3f of its speed, sphere with %.3f\n",
               1000.0 * (double)dts[i], (double)(best[0] / fastest[0]),
               (double)(best[1] / fastest[1]));
        assert_true(fabsf(best[0] / fastest[0] - 0.6f) < 0.06f);
        knDestroyWorld(world);
    }
    CloseModel(&ball);
}

static void JointsHold(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    knBodyId none = {0};
    knBodyId a = AddObject(world, &brick, knMakeVec3(0.0f, 2.0f, 0.0f), knIdentityQuat());
    knBodyId b = AddObject(world, &brick, knMakeVec3(0.3f, 2.0f, 0.0f), knIdentityQuat());
    knVec3 pivot = {-0.12f, 2.03f, 0.0f}, middle = {0.15f, 2.03f, 0.0f};
    knVec3 axis = {0.0f, 0.0f, 1.0f};
    knJointId hinge, point;
    assert_int_equal(knWorld_CreateHinge(world, a, none, pivot, axis, &hinge), kn_success);
    assert_int_equal(knWorld_CreatePointJoint(world, a, b, middle, &point), kn_success);
    knVec3 localA = knInvTransformPoint(StateOf(world, a).transform, pivot);
    knVec3 meetA = knInvTransformPoint(StateOf(world, a).transform, middle);
    knVec3 meetB = knInvTransformPoint(StateOf(world, b).transform, middle);
    float worst = 0.0f, tilt = 0.0f;
    for (int i = 0; i < 400; ++i)
    {
        Steps(world, 1, DT);
        knTransform ta = StateOf(world, a).transform, tb = StateOf(world, b).transform;
        worst = fmaxf(worst, knDistance(knTransformPoint(ta, localA), pivot));
        worst = fmaxf(worst, knDistance(knTransformPoint(ta, meetA), knTransformPoint(tb, meetB)));
        tilt = fmaxf(tilt, fabsf(knRotate(ta.rotation, axis).x));
    }
    printf("joints open by at most %.2e m\n", (double)worst);
    assert_true(worst < 0.01f && tilt < 0.02f);
    // a body takes its joints along
    assert_int_equal(knWorld_DestroyBody(world, a), kn_success);
    assert_int_equal(knWorld_DestroyJoint(world, hinge), kn_errorHandle);
    assert_int_equal(knWorld_DestroyJoint(world, point), kn_errorHandle);
    float before = StateOf(world, b).transform.position.y;
    Steps(world, 50, DT);
    assert_true(StateOf(world, b).transform.position.y < before);
    knDestroyWorld(world);
}

// A heavy ball on a long cable, let go at 63 degrees, at the step of a game: the cable keeps its
// length and the ball does not swing higher than it was.
static void AHangingBallGainsNothing(void** state)
{
    (void)state;
    const float cable = 1.6f, radius = 0.12f, dt = 0.015f;
    knWorld* world = MakeTestWorld();
    knBodyDef def = knDefaultBodyDef();
    def.density = 7800.0f;
    def.noSleep = true;
    def.transform.position = knMakeVec3(0.0f, -cable * cosf(1.1f), cable * sinf(1.1f));
    float start = def.transform.position.y;
    knBodyId ball;
    knJointId joint;
    assert_int_equal(knWorld_CreateSphere(world, &def, radius, &ball), kn_success);
    assert_int_equal(knWorld_CreatePointJoint(world, ball, (knBodyId){0}, (knVec3){0}, &joint),
                     kn_success);
    float stretch = 0.0f, gain = -cable;
    for (int i = 0; i < 400; ++i)
    {
        Steps(world, 1, dt);
        knBodyState s = StateOf(world, ball);
        stretch = fmaxf(stretch, fabsf(knLength(s.transform.position) - cable));
        // halfway through the step: Bullet moves with the speed of its end
        float v = knLength(s.velocity) * knLength(s.velocity) / (2.0f * 9.81f);
        float spin = 0.2f * radius * radius * knLength(s.spin) * knLength(s.spin) / 9.81f;
        gain = fmaxf(gain, s.transform.position.y - 0.5f * dt * s.velocity.y + v + spin - start);
    }
    printf("a ball on a cable of %.1f m: stretched %.4f m, gains %.4f m of height\n", (double)cable,
           (double)stretch, (double)gain);
    assert_true(stretch < 0.01f && gain < 0.01f);
    knDestroyWorld(world);
}

static void FiltersAndSleepWork(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    AddFloor(world, 0.5f);
    knBodyDef def = knDefaultBodyDef();
    def.transform.position.y = 0.02f;
    knBodyId sleeper = AddObjectDef(world, &brick, &def);
    def.transform.position = knMakeVec3(1.0f, 0.5f, 0.0f);
    def.mask = 0;
    knBodyId ghost = AddObjectDef(world, &brick, &def);
    Steps(world, KN_TEST_SLOW ? 550 : 800, DT);
    assert_false(StateOf(world, sleeper).isAwake);
    assert_true(StateOf(world, ghost).transform.position.y < -1.0f);
    // a hit wakes it
    knVec3 at = StateOf(world, sleeper).transform.position;
    knBodyDef ball = knDefaultBodyDef();
    ball.transform.position = knAdd(at, knMakeVec3(-0.5f, 0.0f, 0.0f));
    ball.velocity = knMakeVec3(5.0f, 0.5f, 0.0f);
    knBodyId id;
    assert_int_equal(knWorld_CreateSphere(world, &ball, 0.03f, &id), kn_success);
    Steps(world, 30, DT);
    assert_true(StateOf(world, sleeper).transform.position.x > at.x + 1e-4f);
    knDestroyWorld(world);
}

static void PickingDragsAlong(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    AddFloor(world, 0.5f);
    knBodyId id = AddObject(world, &brick, knMakeVec3(0.0f, 0.001f, 0.0f), knIdentityQuat());
    Steps(world, 20, DT);
    knBodyId picked;
    knVec3 from = {0.0f, 1.0f, 0.0f}, down = {0.0f, -1.0f, 0.0f}, target = {0.3f, 0.5f, 0.0f};
    knRayHit hit;
    bool isHit;
    assert_int_equal(knWorld_CastRay(world, from, down, -1, &hit, &isHit), kn_success);
    float arm = knDistance(hit.point, StateOf(world, id).transform.position);
    assert_int_equal(knWorld_Pick(world, from, down, &picked), kn_success);
    assert_true(knId_Equals(picked, id));
    assert_int_equal(knWorld_Drag(world, target), kn_success);
    Steps(world, 400, DT);
    assert_true(knDistance(StateOf(world, id).transform.position, target) < 0.2f);
    // the point that is held is near where it is pulled to, and where it was on the body
    knVec3 point, pulled;
    assert_true(knWorld_Held(world, &point, &pulled));
    assert_true(knDistance(pulled, target) == 0.0f && knDistance(point, target) < 0.1f);
    ASSERT_NEAR(knDistance(point, StateOf(world, id).transform.position), arm, 1e-5);
    assert_int_equal(knWorld_Drop(world), kn_success);
    assert_false(knWorld_Held(world, &point, &pulled));
    assert_int_equal(knWorld_Drag(world, target), kn_errorArgument);
    Steps(world, 200, DT);
    assert_true(StateOf(world, id).transform.position.y < 0.15f);
    knVec3 aside = {5.0f, 1.0f, 0.0f}, asideDown = {5.0f, -1.0f, 0.0f};
    assert_int_equal(knWorld_Pick(world, aside, asideDown, &picked), kn_success);
    assert_true(knId_IsNull(picked));
    knDestroyWorld(world);
}

static uint32_t BreakAll(knWorld* world, knBodyId body, uint32_t count)
{
    knVec3 sites[16];
    knBodyPiece piece;
    assert_int_equal(knWorld_BodyPiece(world, body, &piece), kn_success);
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t v = i * piece.mesh->vertexCount / count;
        sites[i] = knAdd(piece.mesh->vertices[v].position, piece.mesh->center);
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = count;
    knWorldSplit split;
    assert_int_equal(knWorld_SplitBody(world, body, &def, &split), kn_success);
    assert_int_equal(split.outcome, kn_splitDone);
    return split.bodyCount;
}

// Momentum goes on through a split; the pieces of a body at rest stay where they are.
static void SplitsGoOnAsTheyWere(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    assert_int_equal(knWorld_SetGravity(world, knMakeVec3(0.0f, 0.0f, 0.0f)), kn_success);
    knBodyId id = AddObject(world, &bunny, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
    knVec3 v = {1.0f, 2.0f, -1.0f}, w = {0.5f, -1.0f, 2.0f};
    assert_int_equal(knWorld_SetVelocity(world, id, v, w), kn_success);
    float mass = StateOf(world, id).mass;
    assert_true(BreakAll(world, id, 8) >= 4);
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    float total = 0.0f;
    knBodyId none = {0};
    for (knBodyId i = knWorld_NextBody(world, none); !knId_IsNull(i);
         i = knWorld_NextBody(world, i))
    {
        knBodyState s = StateOf(world, i);
        sum = knAddScaled(sum, s.mass, s.velocity);
        total += s.mass;
        assert_true(knDistance(s.spin, w) < 1e-5f);
    }
    ASSERT_NEAR(total, mass, 1e-4 * (double)mass);
    assert_true(knDistance(knScale(1.0f / total, sum), v) < 1e-3f);
    knDestroyWorld(world);

    // at rest on the floor
    world = MakeTestWorld();
    AddFloor(world, 0.5f);
    id = AddObject(world, &brick, knMakeVec3(0.0f, 0.0f, 0.0f), knIdentityQuat());
    Steps(world, 100, DT);
    BreakAll(world, id, 6);
    float fastest = 0.0f;
    for (int i = 0; i < 40; ++i)
    {
        Steps(world, 1, DT);
        fastest = fmaxf(fastest, FastestBody(world));
    }
    printf("pieces of a brick broken at rest: fastest %.3f m/s in 0.2 s\n", (double)fastest);
    assert_true(fastest < 0.1f);
    knDestroyWorld(world);
}

static knWorld* MakePile(const knTaskHooks* tasks, const knAllocator* allocator)
{
    knWorldDef def = knDefaultWorldDef();
    def.tasks = tasks;
    knWorld* world = NULL;
    assert_int_equal(knCreateWorld(&world, &def, allocator), kn_success);
    SwitchBreakingOff(world);
    AddFloor(world, 0.5f);
    for (int i = 0; i < 2; ++i)
    {
        knQuat turn = knMakeQuat(knMakeVec3(0.6f, 0.0f, 0.8f), (float)i);
        knVec3 place = {0.05f * (float)i, 0.15f + 0.25f * (float)i, 0.0f};
        BreakAll(world, AddObject(world, &bunny, place, turn), 5);
    }
    return world;
}

static uint64_t HashOf(const knWorld* world)
{
    uint64_t hash = 0;
    knBodyId none = {0};
    for (knBodyId i = knWorld_NextBody(world, none); !knId_IsNull(i);
         i = knWorld_NextBody(world, i))
    {
        knBodyState s = StateOf(world, i);
        hash = XXH3_64bits_withSeed(&s.transform, sizeof s.transform, hash);
        hash = XXH3_64bits_withSeed(&s.velocity, sizeof s.velocity, hash);
    }
    return hash;
}

// The same bits with one, two and three threads, and again.
static void ThreadsChangeNothing(void** state)
{
    (void)state;
    uint64_t hashes[4];
    for (int i = 0; i < 4; ++i)
    {
        knTaskPool* pool = NULL;
        assert_int_equal(knCreateTaskPool(&pool, i == 3 ? 1 : i + 1, NULL), kn_success);
        knTaskHooks hooks = knTaskPool_Hooks(pool);
        knWorld* world = MakePile(&hooks, NULL);
        Steps(world, KN_TEST_SLOW ? 20 : 70, DT);
        hashes[i] = HashOf(world);
        assert_true(knWorld_Counters(world).pairs.contacts > 20);
        knDestroyWorld(world);
        knDestroyTaskPool(pool);
    }
    assert_true(hashes[0] == hashes[1] && hashes[0] == hashes[2] && hashes[0] == hashes[3]);
}

// Two worlds side by side are as each alone.
static void TwoWorldsDoNotMeet(void** state)
{
    (void)state;
    knWorld* alone = MakePile(NULL, NULL);
    Steps(alone, 30, DT);
    knWorld* a = MakePile(NULL, NULL);
    knWorld* b = MakePile(NULL, NULL);
    for (int i = 0; i < 30; ++i)
    {
        Steps(a, 1, DT);
        Steps(b, 1, DT);
    }
    assert_true(HashOf(a) == HashOf(alone) && HashOf(b) == HashOf(alone));
    knDestroyWorld(alone);
    knDestroyWorld(a);
    knDestroyWorld(b);
}

// Once the pile lies, a step asks the heap for nothing; in the end nothing is left.
static void SteadyStepsMakeNoHeapCall(void** state)
{
    (void)state;
    knMemoryTracker tracker = {0};
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knWorld* world = MakePile(NULL, &allocator);
    Steps(world, KN_TEST_SLOW ? 60 : 400, DT);
    size_t calls = tracker.callCount;
    // under sanitizers the pile has no time to settle, and pairs still come and go
    Steps(world, KN_TEST_SLOW ? 1 : 50, DT);
    assert_true(KN_TEST_SLOW || tracker.callCount == calls);
    knDestroyWorld(world);
    assert_int_equal(tracker.liveCount, 0);
    assert_int_equal(tracker.bytes, 0);
}

static int OpenModels(void** state)
{
    (void)state;
    brick = OpenDemoModel("brick");
    bunny = OpenDemoModel(KN_TEST_SLOW ? "brick" : "bunny");
    return 0;
}

static int CloseModels(void** state)
{
    (void)state;
    CloseModel(&brick);
    CloseModel(&bunny);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(BadHandlesAreErrors),  cmocka_unit_test(BouncesAsASphereDoes),
        cmocka_unit_test(JointsHold),           cmocka_unit_test(AHangingBallGainsNothing),
        cmocka_unit_test(FiltersAndSleepWork),  cmocka_unit_test(PickingDragsAlong),
        cmocka_unit_test(SplitsGoOnAsTheyWere), cmocka_unit_test(ThreadsChangeNothing),
        cmocka_unit_test(TwoWorldsDoNotMeet),   cmocka_unit_test(SteadyStepsMakeNoHeapCall)};
    return cmocka_run_group_tests(tests, OpenModels, CloseModels);
}
