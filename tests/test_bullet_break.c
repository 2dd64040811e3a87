// SPDX-License-Identifier: Zlib
// Breaking in a running world: momentum, energy, what rests, what flies on.
#include "bullet_scene.h"
#include "knap/world_break.h"

#define DT    0.005f
#define STEPS (KN_TEST_SLOW ? 8 : 40)

static TestModel plate, brick;

// A plate that floats and a ball that flies at it, no gravity.
typedef struct Shot
{
    knWorld* world;
    knBodyId ball;
    knFamilyId family;
} Shot;

#define BALL 0.03f

static Shot MakeShot(float speed)
{
    Shot shot;
    knWorldDef def = knDefaultWorldDef();
    def.gravity = knMakeVec3(0.0f, 0.0f, 0.0f);
    assert_int_equal(knCreateWorld(&shot.world, &def, NULL), kn_success);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.minVolumeShare = 0.0; // debris would take momentum out of the world
    limits.eventPieces = 16;
    assert_int_equal(knWorld_SetBreakLimits(shot.world, &limits), kn_success);
    knBodyDef body = knDefaultBodyDef();
    knFamilyDef family = knDefaultFamilyDef();
    family.model = plate.model;
    knBodyId id;
    assert_int_equal(knWorld_CreateFamily(shot.world, &body, &family, &shot.family, &id),
                     kn_success);
    body.density = 7800.0f;
    body.transform.position = knMakeVec3(0.01f, 0.15f, 0.015f);
    body.velocity = knMakeVec3(0.0f, -speed, 0.0f);
    assert_int_equal(knWorld_CreateSphere(shot.world, &body, BALL, &shot.ball), kn_success);
    return shot;
}

static void BreakingKeepsMomentumAndMakesNoEnergy(void** state)
{
    (void)state;
    Shot shot = MakeShot(8.0f);
    uint32_t events = 0, pieces = 0;
    double worst = 0.0, first = 0.0; // of all breaks, and of ball and plate alone
    for (int i = 0; i < STEPS; ++i)
    {
        Motion before = MotionOf(shot.world, BALL);
        assert_int_equal(knWorld_Step(shot.world, DT), kn_success);
        Motion after = MotionOf(shot.world, BALL);
        uint32_t count;
        const knFractureEvent* e = knWorld_Fractures(shot.world, &count);
        double spent = 0.0;
        for (uint32_t k = 0; k < count; ++k)
        {
            spent += e[k].energy;
            pieces += e[k].childCount;
            assert_true(e[k].share > 0.0f && e[k].share <= 1.0f);
            assert_true(e[k].childCount >= 2);
        }
        events += count;
        double size = knDLength(before.linear), turn = size * 0.13;
        assert_true(knDLength(knDSub(after.linear, before.linear)) < 1e-4 * size);
        // where nothing breaks, Bullet turns each tumbling piece by its spin and not by its
        // momentum
        double lost = knDLength(knDSub(after.angular, before.angular)) / turn;
        worst = fmax(worst, count > 0 ? lost : 0.0);
        first = events == count ? worst : first;
        assert_true(fabs(after.mass - before.mass) < 1e-6 * before.mass);
        assert_true(after.energy + spent <= before.energy * (1.0 + 1e-4));
    }
    print_message("angular momentum: %.1e of the ball's, among tumbling pieces %.1e\n", first,
                  worst);
    assert_true(first < 1e-4 && worst < 1e-3);
    assert_true(events >= 1 && pieces >= 2);
    // the ball went through: on its way still, and slower
    knBodyState ball = StateOf(shot.world, shot.ball);
    assert_true(ball.velocity.y < -0.5f && ball.velocity.y > -8.0f);
    knDestroyWorld(shot.world);
}

static double HeightEnergy(const knWorld* world)
{
    double sum = 0.0;
    for (knBodyId id = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(world, id))
    {
        knBodyState s = StateOf(world, id);
        sum += 9.81 * (double)(s.mass * s.transform.position.y);
    }
    return sum;
}

static knWorld* DropWeakBrick(int i)
{
    knWorld* world = MakeTestWorld();
    knBreakLimits limits = knDefaultBreakLimits();
    limits.minVolumeShare = 0.0;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    AddFloor(world, 0.6f);
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 0.4f + 0.01f * (float)i, 0.0f);
    def.transform.rotation = knMakeQuat(knMakeVec3(0.6f, 0.0f, 0.8f), 0.3f * (float)i);
    def.velocity = knMakeVec3(0.0f, -3.0f - 0.1f * (float)i, 0.0f);
    knFamilyDef family = knDefaultFamilyDef();
    family.model = brick.model;
    knFamilyId id;
    knBodyId body;
    assert_int_equal(knWorld_CreateFamily(world, &def, &family, &id, &body), kn_success);
    // so weak that nearly all of the hit is given back
    knMaterial material = *knFindMaterialPreset("brick");
    material.tensileStrength *= 0.05;
    material.fractureEnergy *= 0.05;
    assert_int_equal(knWorld_SetMaterial(world, id, &material), kn_success);
    return world;
}

// At long steps a hit is seen ahead and the body stopped short of its way: what breaking gives back
// must not be more than it has fallen. What pushes pieces out of each other lifts a heap a little,
// in steps that break nothing too; without a bound some of these bricks got ten times their energy.
static void LandingsThatBreakGainNothing(void** state)
{
    (void)state;
    uint32_t events = 0;
    double worst[2] = {0.0, 0.0};
    for (int i = 0; i < (KN_TEST_SLOW ? 6 : 24); i += 6)
    {
        knWorld* world = DropWeakBrick(i);
        double start = MotionOf(world, BALL).energy + HeightEnergy(world), last = start;
        for (int k = 0; k < 12; ++k)
        {
            uint32_t count;
            assert_int_equal(knWorld_Step(world, 0.03f), kn_success);
            (void)knWorld_Fractures(world, &count);
            events += count;
            double now = MotionOf(world, BALL).energy + HeightEnergy(world);
            worst[count > 0] = fmax(worst[count > 0], (now - last) / start);
            last = now;
        }
        knDestroyWorld(world);
    }
    print_message("%u landings that broke: a step gains at most %.1e of all energy, others %.1e\n",
                  events, worst[1], worst[0]);
    assert_true(events > (KN_TEST_SLOW ? 1 : 10));
    assert_true(worst[1] < 3e-3);
}

// Velocities go from the parent to its parts as v + w x r, and nothing else changes.
static void SplittingAloneKeepsMotion(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    knBodyDef def = knDefaultBodyDef();
    def.velocity = knMakeVec3(1.0f, -2.0f, 0.5f);
    def.spin = knMakeVec3(3.0f, 1.0f, -4.0f);
    knBodyId id = AddObjectDef(world, &plate, &def);
    Motion before = MotionOf(world, BALL);
    knVec3 sites[12];
    for (int i = 0; i < 12; ++i)
    {
        float angle = 2.4f * (float)i, r = 0.03f * sqrtf((float)i + 0.5f);
        sites[i] = knMakeVec3(r * cosf(angle), 0.0f, r * sinf(angle));
    }
    knSplitDef split = knDefaultSplitDef();
    split.kind = kn_splitSites;
    split.sites = sites;
    split.siteCount = COUNT_OF(sites);
    knWorldSplit parts;
    assert_int_equal(knWorld_SplitBody(world, id, &split, &parts), kn_success);
    assert_true(parts.bodyCount >= 8);
    Motion after = MotionOf(world, BALL);
    double turn = knDLength(before.angular), push = knDLength(before.linear);
    assert_true(knDLength(knDSub(after.linear, before.linear)) < 1e-6 * push);
    assert_true(knDLength(knDSub(after.angular, before.angular)) < 1e-6 * turn);
    assert_true(fabs(after.energy - before.energy) < 1e-6 * before.energy);
    assert_true(fabs(after.mass - before.mass) < 1e-6 * before.mass);
    knDestroyWorld(world);
}

static float ExitSpeed(double strength, uint64_t workPerStep)
{
    Shot shot = MakeShot(8.0f);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.minVolumeShare = 0.0;
    limits.eventPieces = 16;
    limits.workPerStep = workPerStep;
    assert_int_equal(knWorld_SetBreakLimits(shot.world, &limits), kn_success);
    knMaterial material = *knFindMaterialPreset("ceramic");
    material.tensileStrength *= strength;
    material.fractureEnergy *= strength;
    assert_int_equal(knWorld_SetMaterial(shot.world, shot.family, &material), kn_success);
    Steps(shot.world, STEPS, DT);
    float speed = -StateOf(shot.world, shot.ball).velocity.y;
    knDestroyWorld(shot.world);
    return speed;
}

// What is stronger takes more of the ball's speed, until it takes all that an unbreakable one does.
static void TheBallFliesOnSlowerThroughStrongerPlates(void** state)
{
    (void)state;
    const double strengths[] = {0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 1000.0};
    float last = 8.0f, unbroken = ExitSpeed(1000.0, 0);
    for (size_t i = 0; i < COUNT_OF(strengths); i += KN_TEST_SLOW ? 3 : 1)
    {
        float speed = ExitSpeed(strengths[i], 0);
        print_message("strength x%g: the ball leaves at %.2f m/s\n", strengths[i], (double)speed);
        assert_true(speed < last - 0.01f || speed == unbroken);
        last = speed;
    }
    assert_true(last == unbroken && last < 7.0f);
}

// However long a budget takes over the pieces: the ball has paid for the break once, and meets the
// plate no more; shards in its way that would take a little more of its speed come later.
static void TheBallFliesOnWhileABudgetCuts(void** state)
{
    (void)state;
    const double strengths[] = {0.25, 1.0};
    for (size_t i = 0; i < COUNT_OF(strengths); i += KN_TEST_SLOW ? 2 : 1)
    {
        float atOnce = ExitSpeed(strengths[i], 0), sliced = ExitSpeed(strengths[i], 2000);
        print_message("strength x%g: the ball leaves at %.2f m/s, with a budget at %.2f\n",
                      strengths[i], (double)atOnce, (double)sliced);
        assert_true(sliced > 0.97f * atOnce && sliced < 0.99f * 8.0f);
    }
}

static void RestingWeightBreaksNothing(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    knBreakLimits limits = knDefaultBreakLimits();
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    AddFloor(world, 0.6f);
    int bricks = KN_TEST_SLOW ? 4 : 20;
    for (int i = 0; i < bricks; ++i)
    {
        AddObject(world, &brick, knMakeVec3(0.0f, 0.0001f + 0.0711f * (float)i, 0.0f),
                  knIdentityQuat());
    }
    for (int i = 0; i < (KN_TEST_SLOW ? 20 : 150); ++i)
    {
        uint32_t count;
        assert_int_equal(knWorld_Step(world, 0.01f), kn_success);
        (void)knWorld_Fractures(world, &count);
        assert_int_equal(count, 0);
    }
    assert_int_equal(knWorld_Counters(world).pieces, (uint32_t)bricks);
    knDestroyWorld(world);
}

static void LimitsAreChecked(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 1;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_errorArgument);
    assert_non_null(strstr(knLastError(), "eventPieces is 1"));
    limits = (knBreakLimits){0};
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_errorArgument);
    assert_int_equal(knWorld_SetBreakLimits(NULL, &limits), kn_errorArgument);
    knFamilyId none = {0};
    assert_int_equal(knWorld_SetMaterial(world, none, knMaterialPreset(0)), kn_errorHandle);
    assert_int_equal(knWorld_SetBreakable(world, none, true), kn_errorHandle);
    assert_int_equal(knWorld_Break(world, 0.0f), kn_errorArgument);
    knDestroyWorld(world);
}

static int Open(void** state)
{
    (void)state;
    plate = OpenDemoModel("plate");
    brick = OpenDemoModel("brick");
    return 0;
}

static int Close(void** state)
{
    (void)state;
    CloseModel(&plate);
    CloseModel(&brick);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(BreakingKeepsMomentumAndMakesNoEnergy),
        cmocka_unit_test(LandingsThatBreakGainNothing),
        cmocka_unit_test(SplittingAloneKeepsMotion),
        cmocka_unit_test(TheBallFliesOnSlowerThroughStrongerPlates),
        cmocka_unit_test(TheBallFliesOnWhileABudgetCuts),
        cmocka_unit_test(RestingWeightBreaksNothing),
        cmocka_unit_test(LimitsAreChecked),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
