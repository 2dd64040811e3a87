// SPDX-License-Identifier: Zlib
// Breaks that a budget spreads over steps: they repeat themselves to the bit, and nothing falls
// through the floor meanwhile.
#include "bullet_scene.h"
#include "knap/random.h"
#include "knap/world_events.h"
#include "knap/world_save.h"

#define DT     0.015f
#define BRICKS (KN_TEST_SLOW ? 3 : 6)
#define STEPS  (KN_TEST_SLOW ? 20 : 50)

static TestModel brick;

static const knModel* FindModel(void* user, const char* name)
{
    (void)user;
    return strcmp(name, "brick.obj") == 0 ? brick.model : NULL;
}

typedef struct Budget
{
    uint64_t work;
    double seconds;
    uint32_t bodies;
} Budget;

// A tower of bricks that comes down: what strikes is broken itself before its own blow is done.
static knWorld* MakeTower(int bricks, Budget budget)
{
    knWorldDef def = knDefaultWorldDef();
    knWorld* world = NULL;
    assert_int_equal(knCreateWorld(&world, &def, NULL), kn_success);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 10;
    limits.workPerStep = budget.work;
    limits.secondsPerStep = budget.seconds;
    limits.bodiesPerStep = budget.bodies;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    (void)AddFloor(world, 0.6f);
    for (int i = 0; i < bricks; ++i)
    {
        knVec3 place = {0.02f * (float)(i & 1), 0.3f + 0.15f * (float)i, 0.03f * (float)(i & 2)};
        knBodyId id = AddObject(world, &brick, place, knIdentityQuat());
        knVec3 velocity = {0.0f, -10.0f, 0.0f}, spin = {0.3f * (float)i, 0.0f, 1.0f};
        assert_int_equal(knWorld_SetVelocity(world, id, velocity, spin), kn_success);
    }
    return world;
}

// Blocks of all sizes, half of them given back: another run finds its memory at other places.
static void Litter(knRandom* random, void* blocks[256])
{
    for (int i = 0; i < 256; ++i)
    {
        free(blocks[i]);
        blocks[i] = malloc(16 + knRandom_Below(random, 4000));
    }
    for (int i = 0; i < 256; i += 2)
    {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static bool IsSliced(const knWorld* world)
{
    uint32_t count;
    const knFractureEvent* events = knWorld_Fractures(world, &count);
    for (uint32_t i = 0; i < count; ++i)
    {
        if (events[i].mayGoOn)
        {
            return true;
        }
    }
    return false;
}

static void RunTwice(Budget budget)
{
    uint64_t hashes[STEPS];
    void* blocks[256] = {0};
    knRandom random = knMakeRandom(7);
    int slices = 0;
    uint32_t pieces = 0;
    for (int k = 0; k < 3; ++k)
    {
        knWorld* world = MakeTower(BRICKS, budget);
        for (int i = 0; i < STEPS; ++i)
        {
            Steps(world, 1, DT);
            slices += k == 0 && IsSliced(world);
            uint64_t hash = knWorld_Hash(world);
            hashes[i] = k == 0 ? hash : hashes[i];
            if (hash != hashes[i])
            {
                fail_msg("run %d parts from the first in step %d", k, i);
            }
            if (k > 0)
            {
                Litter(&random, blocks);
            }
        }
        pieces = knWorld_Counters(world).pieces;
        knDestroyWorld(world);
    }
    for (int i = 0; i < 256; ++i)
    {
        free(blocks[i]);
    }
    print_message("%u pieces, %d steps that left a break half done\n", pieces, slices);
    assert_true(slices > 0 && pieces > (uint32_t)BRICKS);
}

static void BudgetsOfWorkRepeatThemselves(void** state)
{
    (void)state;
    RunTwice((Budget){.work = 20000});
    RunTwice((Budget){.bodies = 3});
}

static void BudgetsInSecondsRepeatThemselves(void** state)
{
    (void)state;
    for (int k = 1; k <= (KN_TEST_SLOW ? 1 : 3); ++k)
    {
        knWorld* live = MakeTower(BRICKS, (Budget){.seconds = (KN_TEST_SLOW ? 1e-3 : 1e-4) * k});
        assert_int_equal(knWorld_StartRecording(live), kn_success);
        Steps(live, STEPS, DT);
        void* bytes;
        size_t size;
        assert_int_equal(knWorld_StopRecording(live, &bytes, &size), kn_success);
        knLoadDef def = knDefaultLoadDef();
        def.find = FindModel;
        knReplayReport report = {0};
        knWorld* again = NULL;
        assert_int_equal(knReplayWorld(&again, bytes, size, &def, NULL, &report), kn_success);
        print_message("%u pieces after %u steps\n", knWorld_Counters(again).pieces, report.steps);
        assert_int_equal(report.steps, STEPS);
        assert_int_equal(report.wrongSteps, 0);
        knWorld_FreeBytes(live, bytes, size);
        knDestroyWorld(again);
        knDestroyWorld(live);
    }
}

// What is loaded from a save of the world is the same to the bit, now and in each of the next
// steps.
static void AssertLoadedGoesOnTheSame(knWorld* live, int steps)
{
    void* bytes;
    size_t size;
    assert_int_equal(knWorld_Save(live, &bytes, &size), kn_success);
    knLoadDef def = knDefaultLoadDef();
    def.find = FindModel;
    knWorld* loaded = NULL;
    assert_int_equal(knLoadWorld(&loaded, bytes, size, &def, NULL), kn_success);
    assert_true(knWorld_Hash(live) == knWorld_Hash(loaded));
    for (int i = 0; i < steps; ++i)
    {
        Steps(live, 1, DT);
        Steps(loaded, 1, DT);
        assert_true(knWorld_Hash(live) == knWorld_Hash(loaded));
    }
    knWorld_FreeBytes(live, bytes, size);
    knDestroyWorld(loaded);
}

// Blows that wait are saved with what struck: the loaded world goes on as the live one.
static void WaitingBlowsAreSaved(void** state)
{
    (void)state;
    knWorld* live = MakeTower(BRICKS, (Budget){.work = 2000});
    int step = 0;
    uint32_t waiting = 0;
    while (waiting == 0 && step < STEPS)
    {
        Steps(live, 1, DT);
        step += 1;
        uint32_t count;
        const knNotice* notices = knWorld_Notices(live, &count);
        for (uint32_t i = 0; i < count; ++i)
        {
            waiting += notices[i].kind == kn_noticeBudget;
        }
    }
    assert_true(waiting > 0);
    AssertLoadedGoesOnTheSame(live, 15);
    knDestroyWorld(live);
}

// What is breaking, over more than this step.
static knBodyId BreakingBody(const knWorld* world)
{
    uint32_t count;
    const knNotice* notices = knWorld_Notices(world, &count);
    for (uint32_t i = 0; i < count; ++i)
    {
        if (notices[i].kind == kn_noticeBudget)
        {
            return notices[i].body;
        }
    }
    return (knBodyId){0};
}

// Splits all pieces in the middle that are not breaking themselves; returns how many.
static int SplitPieces(knWorld* world)
{
    int count = 0, bodyCount = 0;
    knBodyId bodies[64];
    for (knBodyId id = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(id) && bodyCount < 64;
         id = knWorld_NextBody(world, id))
    {
        bodies[bodyCount++] = id;
    }
    for (int i = 0; i < bodyCount; ++i)
    {
        knBodyPiece piece;
        if (knWorld_BodyPiece(world, bodies[i], &piece) != kn_success)
        {
            continue;
        }
        knSplitDef split = knDefaultSplitDef();
        split.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
        split.offset = piece.mesh->center.x;
        knWorldSplit parts;
        knResult result = knWorld_SplitBody(world, bodies[i], &split, &parts);
        // it breaks itself, or the one before has made it break
        assert_true(result == kn_success || result == kn_errorArgument || result == kn_errorHandle);
        count += result == kn_success && parts.outcome == kn_splitDone;
    }
    return count;
}

// While the pieces of a body are made ready it can be taken away, others of the same object can be
// split, all of it can go; and what is told of it for a file is what happened.
static void WhatIsMadeReadyCanBeInterrupted(void** state)
{
    (void)state;
    int splits = 0, interrupted = 0;
    for (int k = 0; k < (KN_TEST_SLOW ? 6 : 30); ++k)
    {
        knWorld* world = MakeTower(3, (Budget){.work = 1});
        // halves of one object, of which one may be broken while the other is split
        assert_true(k % 3 != 0 || SplitPieces(world) == 3);
        int left = 1 + k / 3;
        knBodyId breaking = {0};
        for (int i = 0; i < STEPS && left > 0; ++i)
        {
            Steps(world, 1, DT);
            breaking = BreakingBody(world);
            left -= !knId_IsNull(breaking);
        }
        knBodyPiece piece;
        bool isWhole = knWorld_BodyPiece(world, breaking, &piece) == kn_success;
        interrupted += isWhole && k % 3 != 0;
        splits += k % 3 == 0 ? SplitPieces(world) : 0;
        if (isWhole && k % 3 == 1)
        {
            assert_int_equal(knWorld_DestroyBody(world, breaking), kn_success);
        }
        if (isWhole && k % 3 == 2)
        {
            assert_int_equal(knWorld_DestroyFamily(world, piece.family), kn_success);
        }
        Steps(world, k % 5, DT);
        AssertLoadedGoesOnTheSame(world, 5);
        knDestroyWorld(world);
    }
    print_message("%d interrupted, %d split meanwhile\n", interrupted, splits);
    assert_true(interrupted >= 3 && (KN_TEST_SLOW || splits > 0));
}

// A floor has paid nothing and goes on holding the pieces of what fell on it.
static void FloorsHoldWhatIsHalfBroken(void** state)
{
    (void)state;
    knWorld* world = MakeTower(1, (Budget){.work = 1});
    int slices = 0;
    float lowest = 0.0f;
    for (int i = 0; i < STEPS; ++i)
    {
        Steps(world, 1, DT);
        slices += IsSliced(world);
        for (knBodyId id = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(id);
             id = knWorld_NextBody(world, id))
        {
            knBodyState s = StateOf(world, id);
            lowest = s.mass > 0.0f ? fminf(lowest, s.transform.position.y) : lowest;
        }
    }
    print_message("%d steps left a break half done, lowest %.4f m\n", slices, (double)lowest);
    assert_true(slices > 2);
    assert_true(lowest > -0.005f);
    knDestroyWorld(world);
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
        cmocka_unit_test(BudgetsOfWorkRepeatThemselves),
        cmocka_unit_test(BudgetsInSecondsRepeatThemselves),
        cmocka_unit_test(WaitingBlowsAreSaved),
        cmocka_unit_test(WhatIsMadeReadyCanBeInterrupted),
        cmocka_unit_test(FloorsHoldWhatIsHalfBroken),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
