// SPDX-License-Identifier: Zlib
// Hits in a running world: the same at any step, none missed, and nothing jumps at a break.
#include "break_kit.h"
#include "bullet_scene.h"
#include "knap/world_break.h"

#define BALL 0.02f

static TestModel plate, brick;

static knWorld* MakeWorld(knVec3 gravity, uint32_t eventPieces)
{
    knWorldDef def = knDefaultWorldDef();
    def.gravity = gravity;
    knWorld* world = NULL;
    assert_int_equal(knCreateWorld(&world, &def, NULL), kn_success);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = eventPieces;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    return world;
}

static knBodyId AddBall(knWorld* world, knVec3 place, knVec3 velocity, float radius)
{
    knBodyDef def = knDefaultBodyDef();
    def.density = 7800.0f;
    def.transform.position = place;
    def.velocity = velocity;
    knBodyId id;
    assert_int_equal(knWorld_CreateSphere(world, &def, radius, &id), kn_success);
    return id;
}

static const knVec3 none = {0.0f, 0.0f, 0.0f};

// Pieces that the first break of a floating plate leaves, and how much of its crack area.
static uint32_t HitPlate(float dt, double* area)
{
    knWorld* world = MakeWorld(none, 60);
    (void)AddObject(world, &plate, none, knIdentityQuat());
    (void)AddBall(world, knMakeVec3(0.02f, 0.2f, 0.01f), knMakeVec3(0.0f, -6.0f, 0.0f), BALL);
    uint32_t pieces = 0;
    *area = 0.0;
    for (float t = 0.0f; t < 0.1f && pieces == 0; t += dt)
    {
        Steps(world, 1, dt);
        uint32_t count;
        const knFractureEvent* e = knWorld_Fractures(world, &count);
        for (uint32_t i = 0; i < count; ++i)
        {
            pieces += e[i].childCount + e[i].debrisCount;
            *area += e[i].crackArea;
        }
    }
    knDestroyWorld(world);
    return pieces;
}

// The contact takes as long as the material says, not as long as the step: the same hit gives the
// same pieces. Left is where in the plate the ball is when the step finds it.
static void StepsOfAnyLengthGiveTheSamePieces(void** state)
{
    (void)state;
    const float steps[] = {0.002f, 0.005f, 0.015f, 0.030f};
    double least = 1e9, most = 0.0, fewest = 1e9, many = 0.0;
    for (size_t i = 0; i < COUNT_OF(steps); ++i)
    {
        double area;
        double pieces = (double)HitPlate(steps[i], &area);
        print_message("steps of %g ms: %g pieces, %.1f cm^2 of crack\n", 1e3 * (double)steps[i],
                      pieces, 1e4 * area);
        assert_true(pieces >= 2.0);
        least = fmin(least, area);
        most = fmax(most, area);
        fewest = fmin(fewest, pieces);
        many = fmax(many, pieces);
    }
    assert_true(most <= 1.1 * least && many <= 1.4 * fewest);
}

// What comes out on the other side has broken the plate.
static void FastBallsBreakWhatTheyPass(void** state)
{
    (void)state;
    const float speeds[] = {20.0f, 50.0f, 200.0f};
    for (size_t i = 0; i < COUNT_OF(speeds); ++i)
    {
        for (int k = 0; k < (KN_TEST_SLOW ? 1 : 3); ++k)
        {
            knWorld* world = MakeWorld(none, 8);
            (void)AddObject(world, &plate, none, knIdentityQuat());
            // off the middle, and so that the plate lies anywhere between two places of the ball
            float x = 0.02f + 0.025f * (float)k, above = 0.2f + 0.0137f * (float)k * speeds[i];
            knBodyId ball = AddBall(world, knMakeVec3(x, above, 0.013f),
                                    knMakeVec3(0.0f, -speeds[i], 0.0f), 0.012f);
            uint32_t events = 0, count;
            for (int s = 0; s < 400 && StateOf(world, ball).transform.position.y > -0.1f; ++s)
            {
                Steps(world, 1, 0.005f);
                (void)knWorld_Fractures(world, &count);
                events += count;
            }
            assert_true(events > 0);
            knDestroyWorld(world);
        }
    }
}

// ---- what does not move

static knSplitDef Pattern(knVec3* sites, uint32_t count, knVec3 size)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        float a = 2.39996f * (float)i, r = sqrtf(((float)i + 0.5f) / (float)count);
        sites[i] = knMakeVec3(size.x * r * cosf(a), size.y, size.z * r * sinf(a));
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = count;
    return def;
}

// A falling object that cracks goes on falling: worst speed of any piece after 50 ms against free
// fall.
static void NothingPopsAtABreak(void** state)
{
    (void)state;
    const TestModel* models[] = {&plate, &brick};
    for (size_t m = 0; m < COUNT_OF(models); ++m)
    {
        knWorld* world = MakeTestWorld();
        knBodyId id = AddObject(world, models[m], knMakeVec3(0.0f, 5.0f, 0.0f), knIdentityQuat());
        knVec3 sites[11];
        knVec3 e = knBox_Extent(knAsset_Info(models[m]->asset)->bounds);
        knSplitDef def = Pattern(sites, COUNT_OF(sites), knScale(0.5f, e));
        knWorldSplit parts;
        assert_int_equal(knWorld_SplitBody(world, id, &def, &parts), kn_success);
        assert_true(parts.bodyCount >= 4);
        uint32_t pieces = parts.bodyCount;
        Steps(world, 10, 0.005f);
        float fastest = 0.0f, fall = 9.81f * 0.05f;
        for (knBodyId b = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(b);
             b = knWorld_NextBody(world, b))
        {
            fastest = fmaxf(fastest, knLength(StateOf(world, b).velocity));
        }
        print_message("%u pieces in free fall after 50 ms: worst %.4f m/s, free fall %.4f\n",
                      pieces, (double)fastest, (double)fall);
        assert_true(fastest < 1.05f * fall);
        knDestroyWorld(world);
    }
}

// Broken where it lies it stays where it lies.
static void PatternsAtRestMoveNothing(void** state)
{
    (void)state;
    // a dish in pieces falls apart, as it should; a brick and a slab have no reason to
    TestModel slab =
        OpenBoxModel("slab", knMakeVec3(-0.2f, 0.0f, -0.15f), knMakeVec3(0.2f, 0.03f, 0.15f));
    const TestModel* models[] = {&slab, &brick};
    for (size_t m = 0; m < COUNT_OF(models); ++m)
    {
        knWorld* world = MakeTestWorld();
        (void)AddFloor(world, 0.6f);
        knBodyId id =
            AddObject(world, models[m], knMakeVec3(0.0f, 0.0002f, 0.0f), knIdentityQuat());
        Steps(world, KN_TEST_SLOW ? 20 : 100, 0.005f);
        knVec3 sites[9], before[64];
        knVec3 e = knBox_Extent(knAsset_Info(models[m]->asset)->bounds);
        knSplitDef def = Pattern(sites, COUNT_OF(sites), knScale(0.5f, e));
        knWorldSplit parts;
        assert_int_equal(knWorld_SplitBody(world, id, &def, &parts), kn_success);
        assert_true(parts.bodyCount >= 4 && parts.bodyCount <= 64);
        knBodyId ids[64];
        uint32_t pieces = parts.bodyCount;
        for (uint32_t i = 0; i < pieces; ++i)
        {
            ids[i] = parts.bodies[i];
            before[i] = StateOf(world, ids[i]).transform.position;
        }
        Steps(world, KN_TEST_SLOW ? 20 : 100, 0.005f);
        float furthest = 0.0f;
        for (uint32_t i = 0; i < pieces; ++i)
        {
            float way = knDistance(before[i], StateOf(world, ids[i]).transform.position);
            furthest = fmaxf(furthest, way);
        }
        float size = knLength(e);
        print_message("%u pieces at rest for half a second: at most %.2f mm of %.0f\n", pieces,
                      1e3 * (double)furthest, 1e3 * (double)size);
        assert_true(furthest < 0.005f * size);
        knDestroyWorld(world);
    }
    CloseModel(&slab);
}

// ---- the wall

static uint32_t CountKinds(const knWorld* world, float below, uint32_t* statics)
{
    uint32_t low = 0;
    *statics = 0;
    for (knBodyId b = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(b);
         b = knWorld_NextBody(world, b))
    {
        knBodyPiece piece;
        if (knWorld_BodyPiece(world, b, &piece) == kn_success)
        {
            knBodyState s = StateOf(world, b);
            *statics += s.mass == 0.0f;
            low += s.transform.position.y < below;
        }
    }
    return low;
}

static TestModel OpenWall(void)
{
    float x[17], lower[17], upper[17];
    for (int i = 0; i <= 16; ++i)
    {
        x[i] = 0.05f * (float)i - 0.4f;
        lower[i] = 0.0f;
        upper[i] = 0.5f;
    }
    Profile profile = {x, lower, upper, 17, 10, 0.04f, 1};
    knModeOptions modes = {.count = 0, .poisson = 0.2, .ruleCount = 1};
    modes.rules[0] = (knAnchorRule){kn_anchorBelow, {0.001}};
    return OpenProfile("wall", &profile, &modes);
}

// A ball through the middle leaves a hole and the rest standing; without its foot it falls.
static void TheAnchoredWallStandsAroundItsHole(void** state)
{
    (void)state;
    TestModel wall = OpenWall();
    knWorld* world = MakeWorld(knMakeVec3(0.0f, -9.81f, 0.0f), 24);
    (void)AddFloor(world, 0.6f);
    knBodyDef def = knDefaultBodyDef();
    def.kind = kn_bodyStatic;
    (void)AddObjectDef(world, &wall, &def);
    (void)AddBall(world, knMakeVec3(0.0f, 0.32f, 0.4f), knMakeVec3(0.0f, 0.0f, -14.0f), 0.04f);
    Steps(world, KN_TEST_SLOW ? 30 : 150, 0.01f);
    uint32_t held, pieces = knWorld_Counters(world).pieces;
    uint32_t low = CountKinds(world, 0.1f, &held);
    print_message("the wall: %u pieces, %u held, %u on the floor\n", pieces, held, low);
    assert_true(pieces >= 4 && held >= 1 && held < pieces);
    // where the ball went nothing is left standing
    knRayHit hit;
    bool isHit;
    knVec3 from = {0.0f, 0.32f, 1.0f}, to = {0.0f, 0.32f, -1.0f};
    assert_int_equal(knWorld_CastRay(world, from, to, -1, &hit, &isHit), kn_success);
    assert_true(!isHit || StateOf(world, hit.body).mass > 0.0f);
    // what is held still reaches up beside the hole
    from = knMakeVec3(-0.35f, 0.2f, 1.0f);
    to = knMakeVec3(-0.35f, 0.2f, -1.0f);
    assert_int_equal(knWorld_CastRay(world, from, to, -1, &hit, &isHit), kn_success);
    assert_true(isHit && StateOf(world, hit.body).mass == 0.0f);
    knBodyId standing = hit.body;
    // its foot is cut off: the plane leaves the anchored nodes below
    knSplitDef split = knDefaultSplitDef();
    split.kind = kn_splitPlane;
    split.normal = knMakeVec3(0.0f, 1.0f, 0.0f);
    split.offset = 0.06f;
    knWorldSplit parts;
    assert_int_equal(knWorld_SplitBody(world, standing, &split, &parts), kn_success);
    assert_true(parts.bodyCount >= 2);
    knBodyId loose = {0}, foot = {0};
    for (uint32_t i = 0; i < parts.bodyCount; ++i)
    {
        knBodyState s = StateOf(world, parts.bodies[i]);
        foot = s.mass == 0.0f ? parts.bodies[i] : foot;
        bool isHigher = knId_IsNull(loose) || s.mass > StateOf(world, loose).mass;
        loose = s.mass > 0.0f && isHigher ? parts.bodies[i] : loose;
    }
    assert_false(knId_IsNull(foot) || knId_IsNull(loose));
    float height = StateOf(world, loose).transform.position.y;
    assert_int_equal(knWorld_DestroyBody(world, foot), kn_success);
    Steps(world, KN_TEST_SLOW ? 80 : 150, 0.01f); // it slides down along its neighbours
    knBodyId heir = knWorld_Heir(world, loose);
    assert_false(knId_IsNull(heir));
    print_message("without its foot it falls by %.0f mm\n",
                  1e3 * (double)(height - StateOf(world, heir).transform.position.y));
    assert_true(StateOf(world, heir).transform.position.y < height - 0.02f);
    knDestroyWorld(world);
    CloseModel(&wall);
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
        cmocka_unit_test(StepsOfAnyLengthGiveTheSamePieces),
        cmocka_unit_test(FastBallsBreakWhatTheyPass),
        cmocka_unit_test(NothingPopsAtABreak),
        cmocka_unit_test(PatternsAtRestMoveNothing),
        cmocka_unit_test(TheAnchoredWallStandsAroundItsHole),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
