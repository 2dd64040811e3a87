// SPDX-License-Identifier: Zlib
// Many breaks in one world with limits on: bounded memory, no lost mass, no invalid number; and
// every refused allocation in a breaking step. KN_SOAK_BREAKS sets how many; 10,000 take minutes.
#include "bullet_scene.h"
#include "knap/tasks.h"
#include "knap/world_break.h"

#include <time.h>

#define DT 0.005f

static TestModel brick;

// ---- the soak

typedef struct Soak
{
    knWorld* world;
    knMemoryTracker tracker;
    knFamilyId families[6];
    uint32_t familyCount, next;
    double added, gone; // kg
    uint32_t breaks, steps;
} Soak;

static knBreakLimits SoakLimits(void)
{
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 6;
    limits.familyPieces = 12;
    limits.worldPieces = 60;
    limits.minVolumeShare = 0.02;
    limits.debrisShare = 0.2;
    limits.debrisLifetime = 0.25f;
    limits.debrisFade = 0.1f;
    limits.freezeAfter = 0.1f;
    limits.workPerStep = 4000;
    return limits;
}

static double FamilyMass(const Soak* s, knFamilyId family)
{
    double mass = 0.0;
    for (knBodyId id = knWorld_NextBody(s->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(s->world, id))
    {
        knBodyPiece piece;
        if (knWorld_BodyPiece(s->world, id, &piece) == kn_success &&
            knId_Equals(piece.family, family))
        {
            mass += knFamily_Fragments(piece.object)->fragments[piece.fragment].mass.mass;
        }
    }
    return mass;
}

// A fresh brick thrown at the floor; the oldest object goes.
static void Throw(Soak* s)
{
    if (s->familyCount == COUNT_OF(s->families))
    {
        s->gone += FamilyMass(s, s->families[s->next]);
        assert_int_equal(knWorld_DestroyFamily(s->world, s->families[s->next]), kn_success);
    }
    knBodyDef def = knDefaultBodyDef();
    float turn = 0.7f * (float)(s->steps % 97);
    def.transform.position = knMakeVec3(0.3f * sinf(turn), 0.35f, 0.3f * cosf(turn));
    def.transform.rotation = knMakeQuat(knNormalize(knMakeVec3(1.0f, turn, 0.3f)), turn);
    def.velocity = knMakeVec3(0.0f, -9.0f, 0.0f);
    def.spin = knMakeVec3(3.0f, 0.0f, 5.0f);
    knFamilyDef family = knDefaultFamilyDef();
    family.model = brick.model;
    knBodyId body;
    assert_int_equal(knWorld_CreateFamily(s->world, &def, &family, &s->families[s->next], &body),
                     kn_success);
    s->added += (double)StateOf(s->world, body).mass;
    s->next = (s->next + 1) % COUNT_OF(s->families);
    s->familyCount += s->familyCount < COUNT_OF(s->families);
}

static void StepSoak(Soak* s)
{
    if (s->steps % 12 == 0)
    {
        Throw(s);
    }
    assert_int_equal(knWorld_Step(s->world, DT), kn_success);
    uint32_t count;
    (void)knWorld_Fractures(s->world, &count);
    s->breaks += count;
    const knDebrisEvent* debris = knWorld_Debris(s->world, &count);
    for (uint32_t i = 0; i < count; ++i)
    {
        s->gone += debris[i].mass;
    }
    s->steps += 1;
}

static void CheckSoak(const Soak* s, float floorAt)
{
    Motion m = MotionOf(s->world, 0.0f); // fails the test for what is not finite
    ASSERT_NEAR(m.pieceMass + s->gone, s->added, 1e-5 * s->added);
    assert_true(knWorld_Counters(s->world).pieces <= 60 + 16 * 8);
    for (knBodyId id = knWorld_NextBody(s->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(s->world, id))
    {
        assert_true(StateOf(s->world, id).transform.position.y > floorAt);
    }
}

static void Soaking(void** state)
{
    (void)state;
    const char* wanted = getenv("KN_SOAK_BREAKS");
    uint32_t breaks = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : KN_TEST_SLOW ? 20 : 120;
    knTaskPool* pool = NULL;
    assert_int_equal(knCreateTaskPool(&pool, 2, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    Soak s = {0};
    knAllocator allocator = knTrackingAllocator(&s.tracker, NULL);
    knWorldDef def = knDefaultWorldDef();
    def.tasks = &hooks;
    assert_int_equal(knCreateWorld(&s.world, &def, &allocator), kn_success);
    knBreakLimits limits = SoakLimits();
    assert_int_equal(knWorld_SetBreakLimits(s.world, &limits), kn_success);
    (void)AddFloor(s.world, 0.5f);
    size_t early = 0, most = 0;
    double seconds[4] = {0.0}; // of the processor, by quarter
    uint32_t steps[4] = {0};
    while (s.breaks < breaks)
    {
        uint32_t quarter = 4 * s.breaks / breaks;
        clock_t start = clock();
        StepSoak(&s);
        seconds[quarter] += (double)(clock() - start) / (double)CLOCKS_PER_SEC;
        steps[quarter] += 1;
        most = s.tracker.bytes > most ? s.tracker.bytes : most;
        // a short run fills its ring of objects in the first quarter: it counts from the second
        // ring
        bool isEarly = s.breaks < breaks / 4 || s.steps < 2 * 12 * COUNT_OF(s.families);
        early = isEarly ? most : early;
        if (s.steps % 50 == 0)
        {
            CheckSoak(&s, -0.2f);
        }
        assert_true(s.steps < 40 * breaks + 1000);
    }
    CheckSoak(&s, -0.2f);
    print_message("%u breaks in %u steps: %.1f kg in, %.1f kg gone, %.2f MB at most, %.2f in the "
                  "first quarter\n",
                  s.breaks, s.steps, s.added, s.gone, (double)most / 1e6, (double)early / 1e6);
    print_message(
        "a step took %.2f, %.2f, %.2f and %.2f ms of the processors, quarter by quarter\n",
        1e3 * seconds[0] / steps[0], 1e3 * seconds[1] / steps[1], 1e3 * seconds[2] / steps[2],
        1e3 * seconds[3] / steps[3]);
    // what the first quarter needed is about what all of it needs
    assert_true(breaks < 100 || (double)most < 1.3 * (double)early);
    knDestroyWorld(s.world);
    assert_int_equal(s.tracker.liveCount, 0);
    knDestroyTaskPool(pool);
}

// ---- refused memory

// Steps through a break with one allocation refused; true when the refusal came too late.
static bool BreakWithout(size_t n, uint64_t workPerStep, double* pieces)
{
    knMemoryTracker tracker = {0};
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knWorldDef def = knDefaultWorldDef();
    knWorld* world = NULL;
    assert_int_equal(knCreateWorld(&world, &def, &allocator), kn_success);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 6;
    limits.minVolumeShare = 0.02;
    limits.workPerStep = workPerStep;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    (void)AddFloor(world, 0.5f);
    knBodyDef body = knDefaultBodyDef();
    body.transform.position = knMakeVec3(0.0f, 0.05f, 0.0f);
    body.transform.rotation = knMakeQuat(knNormalize(knMakeVec3(1.0f, 0.2f, 0.3f)), 0.7f);
    body.velocity = knMakeVec3(0.0f, -9.0f, 0.0f);
    double mass = (double)StateOf(world, AddObjectDef(world, &brick, &body)).mass, gone = 0.0;
    uint32_t deferred = 0, broken = 0, count;
    tracker.failAtCall = tracker.callCount + n;
    bool isOver = true;
    for (int i = 0; i < 30; ++i)
    {
        assert_int_equal(knWorld_Step(world, DT), kn_success);
        bool isHit = tracker.failAtCall > 0 && tracker.callCount >= tracker.failAtCall;
        isOver = isOver && !isHit;
        tracker.failAtCall = isHit ? 0 : tracker.failAtCall;
        const knNotice* notices = knWorld_Notices(world, &count);
        for (uint32_t k = 0; k < count; ++k)
        {
            deferred += notices[k].kind == kn_noticeDeferred;
            assert_true(notices[k].kind != kn_noticeError);
        }
        const knFractureEvent* fractures = knWorld_Fractures(world, &count);
        for (uint32_t k = 0; k < count; ++k)
        {
            gone += fractures[k].debrisMass;
        }
        broken += count;
    }
    // it broke, at once or later, and nothing of it is lost
    if (broken == 0)
    {
        fail_msg("nothing broke after call %zu was refused", n);
    }
    ASSERT_NEAR(MotionOf(world, 0.0f).pieceMass + gone, mass, 1e-5 * mass);
    *pieces += deferred;
    knDestroyWorld(world);
    assert_int_equal(tracker.liveCount, 0);
    return isOver;
}

// Every one of them where that takes seconds.
static void RefuseEach(uint64_t workPerStep)
{
    double deferred = 0.0;
    int runs = 0;
    bool isAll = !KN_TEST_SLOW || getenv("KN_SOAK_BREAKS") != NULL;
    for (size_t n = 1; n < 2000; n += isAll ? 1 : 1 + n / 4)
    {
        runs += 1;
        if (BreakWithout(n, workPerStep, &deferred))
        {
            break;
        }
    }
    print_message("%d runs with one refusal each, %.0f times something was put off\n", runs,
                  deferred);
    assert_true(deferred >= 3.0);
}

static void EveryRefusalInABreakIsSurvived(void** state)
{
    (void)state;
    RefuseEach(0);
}

static void EveryRefusalWithABudgetIsSurvived(void** state)
{
    (void)state;
    RefuseEach(2000);
}

static int Open(void** state)
{
    (void)state;
    brick = OpenDemoModel("brick");
    return 0;
}

static int Close(void** state)
{
    (void)state;
    CloseModel(&brick);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(Soaking),
        cmocka_unit_test(EveryRefusalInABreakIsSurvived),
        cmocka_unit_test(EveryRefusalWithABudgetIsSurvived),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
