// SPDX-License-Identifier: Zlib
// What a step tells of breaks, debris, contacts and joints, and what the limits do to it.
#include "bullet_scene.h"
#include "knap/world_break.h"

#define DT   0.005f
#define BALL 0.03f

static TestModel plate, brick;

// A plate on the floor and a ball above it that breaks it.
typedef struct Scene
{
    knWorld* world;
    knFamilyId family;
    knBodyId plate, ball, floor;
    double mass; // of the plate
} Scene;

static knBreakLimits Limits(void)
{
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 12;
    return limits;
}

static Scene MakeScene(const knBreakLimits* limits)
{
    Scene s;
    knWorldDef def = knDefaultWorldDef();
    assert_int_equal(knCreateWorld(&s.world, &def, NULL), kn_success);
    assert_int_equal(knWorld_SetBreakLimits(s.world, limits), kn_success);
    s.floor = AddFloor(s.world, 0.6f);
    knBodyDef body = knDefaultBodyDef();
    body.transform.position = knMakeVec3(0.0f, 0.02f, 0.0f);
    body.friction = 0.3f;
    body.group = 2;
    body.mask = 7;
    body.user = &plate;
    knFamilyDef family = knDefaultFamilyDef();
    family.model = plate.model;
    assert_int_equal(knWorld_CreateFamily(s.world, &body, &family, &s.family, &s.plate),
                     kn_success);
    s.mass = (double)StateOf(s.world, s.plate).mass;
    body = knDefaultBodyDef();
    body.density = 7800.0f;
    body.transform.position = knMakeVec3(0.02f, 0.16f, 0.01f);
    body.velocity = knMakeVec3(0.0f, -6.0f, 0.0f);
    assert_int_equal(knWorld_CreateSphere(s.world, &body, BALL, &s.ball), kn_success);
    return s;
}

// Steps until something breaks; false when nothing does.
static bool StepToBreak(knWorld* world, int steps)
{
    for (int i = 0; i < steps; ++i)
    {
        uint32_t count;
        assert_int_equal(knWorld_Step(world, DT), kn_success);
        (void)knWorld_Fractures(world, &count);
        if (count > 0)
        {
            return true;
        }
    }
    return false;
}

static double MassOfPiece(const knWorld* world, knBodyId id)
{
    knBodyPiece piece;
    assert_int_equal(knWorld_BodyPiece(world, id, &piece), kn_success);
    return knFamily_Fragments(piece.object)->fragments[piece.fragment].mass.mass;
}

static void FractureEventsTellEverything(void** state)
{
    (void)state;
    knBreakLimits limits = Limits();
    limits.minVolumeShare = 0.02; // so that there is debris
    Scene s = MakeScene(&limits);
    assert_true(StepToBreak(s.world, 40));
    uint32_t count, childCount, debrisCount;
    const knFractureEvent* e = knWorld_Fractures(s.world, &count);
    const knBodyId* children = knWorld_Children(s.world, &childCount);
    const knDebrisEvent* debris = knWorld_Debris(s.world, &debrisCount);
    assert_int_equal(count, 1);
    assert_true(knId_Equals(e->family, s.family) && knId_Equals(e->parent, s.plate));
    assert_true(e->childCount >= 2 && e->childCount == childCount);
    assert_true(e->impulse > 0.0f && e->energy > 0.0 && e->crackArea > 0.0 && !e->mayGoOn);
    assert_true(fabsf(e->place.x - 0.02f) < 0.03f && fabsf(e->place.z - 0.01f) < 0.03f);
    double sum = 0.0, last = 1e9, dust = 0.0;
    for (uint32_t i = 0; i < childCount; ++i)
    {
        double mass = MassOfPiece(s.world, children[i]);
        assert_true(mass <= last);
        assert_ptr_equal(knWorld_User(s.world, children[i]), &plate);
        last = mass;
        sum += mass;
    }
    for (uint32_t i = 0; i < debrisCount; ++i)
    {
        assert_true(debris[i].reason == kn_debrisSmall && debris[i].mass > 0.0);
        assert_true(knIsFinite(debris[i].place) && knIsFinite(debris[i].velocity));
        assert_true(debris[i].place.y > -0.01f && debris[i].place.y < 0.1f);
        dust += debris[i].mass;
    }
    assert_int_equal(e->debrisCount, debrisCount);
    ASSERT_NEAR(e->debrisMass, dust, 1e-12);
    ASSERT_NEAR(sum + dust, s.mass, 1e-5 * s.mass);
    print_message("%u pieces, %u of debris with %.3f of the mass\n", childCount, debrisCount,
                  dust / s.mass);
    // a stale id leads to the heaviest piece; a wrong one to nothing
    knBodyState none;
    assert_int_equal(knWorld_BodyState(s.world, s.plate, &none), kn_errorHandle);
    assert_true(knId_Equals(knWorld_Heir(s.world, s.plate), children[0]));
    assert_true(knId_Equals(knWorld_Heir(s.world, children[1]), children[1]));
    assert_true(knId_IsNull(knWorld_Heir(s.world, (knBodyId){12345, 7})));
    assert_true(knId_IsNull(knWorld_Heir(NULL, s.plate)));
    knDestroyWorld(s.world);
}

// Filters, friction and the rest go on to the pieces: a ray that must not see them does not.
static void PiecesTakeOverWhatTheParentHad(void** state)
{
    (void)state;
    knBreakLimits limits = Limits();
    Scene s = MakeScene(&limits);
    assert_true(StepToBreak(s.world, 40));
    knBodyId heir = knWorld_Heir(s.world, s.plate);
    knVec3 c = StateOf(s.world, heir).transform.position;
    knVec3 from = knMakeVec3(0.1f, 0.01f, 0.0f), to = knMakeVec3(-0.3f, 0.008f, 0.0f);
    (void)c;
    knRayHit hit;
    bool isHit;
    // the pieces are seen at once, by rays and by sweeps
    from = knMakeVec3(0.3f, 0.012f, 0.0f);
    assert_int_equal(knWorld_CastRay(s.world, from, to, 2, &hit, &isHit), kn_success);
    assert_true(isHit);
    knBodyPiece piece;
    assert_int_equal(knWorld_BodyPiece(s.world, hit.body, &piece), kn_success);
    assert_int_equal(knWorld_CastSphere(s.world, from, to, 0.004f, 2, &hit, &isHit), kn_success);
    assert_true(isHit);
    assert_int_equal(knWorld_BodyPiece(s.world, hit.body, &piece), kn_success);
    assert_int_equal(knWorld_CastRay(s.world, from, to, 8, &hit, &isHit), kn_success);
    assert_false(isHit);
    knDestroyWorld(s.world);
}

// Every contact that begins ends or lasts, and hits are told with what they did.
static void ContactsBeginAndEnd(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    knBodyId floor = AddFloor(world, 0.6f);
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 0.2f, 0.0f);
    def.noSleep = true;
    knBodyId id = AddObjectDef(world, &brick, &def);
    double mass = (double)StateOf(world, id).mass;
    int begun = 0, ended = 0;
    double impulse = 0.0;
    float speed = 0.0f, approach = 0.0f;
    for (int i = 0; i < 120; ++i)
    {
        float before = -StateOf(world, id).velocity.y;
        if (i == 80)
        {
            // thrown up again
            assert_int_equal(knWorld_SetVelocity(world, id, knMakeVec3(0.0f, 2.0f, 0.0f),
                                                 knMakeVec3(0.0f, 0.0f, 0.0f)),
                             kn_success);
        }
        Steps(world, 1, DT);
        uint32_t count;
        const knContactEvent* e = knWorld_ContactEvents(world, &count);
        for (uint32_t k = 0; k < count; ++k)
        {
            bool hasBoth =
                (knId_Equals(e[k].bodies[0], id) && knId_Equals(e[k].bodies[1], floor)) ||
                (knId_Equals(e[k].bodies[1], id) && knId_Equals(e[k].bodies[0], floor));
            assert_true(hasBoth);
            begun += !e[k].isEnd;
            ended += e[k].isEnd;
            if (!e[k].isEnd && begun == 1)
            {
                impulse = (double)e[k].impulse;
                approach = e[k].approach;
                speed = before;
            }
        }
    }
    assert_int_equal(begun - ended, 0);
    assert_true(begun >= 1 && begun <= 3);
    // the first step of the contact takes most of what stops the brick
    assert_true(impulse > 0.3 * mass * (double)speed && impulse < 1.5 * mass * (double)speed);
    assert_true(fabsf(approach - speed) < 0.2f);
    knDestroyWorld(world);
}

// A brick that hangs from a joint: when it breaks, the piece with the pivot hangs on.
static void JointsGoToThePieceWithThePivot(void** state)
{
    (void)state;
    for (int isHinge = 0; isHinge < 2; ++isHinge)
    {
        knWorld* world = MakeTestWorld();
        knBodyId id = AddObject(world, &brick, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
        knVec3 center = StateOf(world, id).transform.position;
        knVec3 pivot = knAdd(center, knMakeVec3(0.09f, 0.0f, 0.0f));
        knJointId joint, far;
        knBodyId none = {0};
        assert_int_equal(isHinge ? knWorld_CreateHinge(world, id, none, pivot,
                                                       knMakeVec3(0.0f, 0.0f, 1.0f), &joint)
                                 : knWorld_CreatePointJoint(world, id, none, pivot, &joint),
                         kn_success);
        // one that no piece holds: half a metre away
        knVec3 away = knAdd(center, knMakeVec3(0.0f, 0.5f, 0.0f));
        assert_int_equal(knWorld_CreatePointJoint(world, id, none, away, &far), kn_success);
        knSplitDef split = knDefaultSplitDef();
        split.kind = kn_splitPlane;
        split.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
        split.offset = 0.0f;
        knWorldSplit parts;
        assert_int_equal(knWorld_SplitBody(world, id, &split, &parts), kn_success);
        uint32_t count;
        const knJointEvent* e = knWorld_JointEvents(world, &count);
        assert_int_equal(count, 2);
        assert_true(knId_Equals(e[0].joint, joint) && !e[0].isBroken);
        assert_true(knId_Equals(e[0].from, id));
        assert_true(knId_Equals(e[1].joint, far) && e[1].isBroken && knId_IsNull(e[1].to));
        assert_int_equal(knWorld_Fractures(world, &count)[0].lostJoints, 1);
        knBodyId holder = e[0].to;
        assert_true(StateOf(world, holder).transform.position.x > center.x);
        knVec3 arm = knSub(pivot, StateOf(world, holder).transform.position);
        Steps(world, 60, DT);
        // it swings about the pivot, the other half has fallen
        knBodyState s = StateOf(world, holder);
        knVec3 held = knTransformPoint(s.transform, arm);
        assert_true(knDistance(held, pivot) < 0.01f);
        for (uint32_t i = 0; i < 2; ++i)
        {
            bool isHolder = knId_Equals(parts.bodies[i], holder);
            assert_true(isHolder ||
                        StateOf(world, parts.bodies[i]).transform.position.y < center.y - 0.3f);
        }
        assert_int_equal(knWorld_DestroyJoint(world, joint), kn_success);
        assert_int_equal(knWorld_DestroyJoint(world, far), kn_errorHandle);
        knDestroyWorld(world);
    }
}

// Work in slices: no step does more than its share, and the same pieces come out in the end.
static void SlicesGiveTheSamePieces(void** state)
{
    (void)state;
    uint32_t pieces[2] = {0, 0};
    double area[2] = {0.0, 0.0};
    int steps = 0, notices = 0;
    for (int k = 0; k < 2; ++k)
    {
        knBreakLimits limits = Limits();
        limits.workPerStep = k == 0 ? 0 : 1;
        limits.steadyLoad = 1e9f;
        Scene s = MakeScene(&limits);
        bool isBegun = false, isOver = false;
        double dust = 0.0;
        for (int i = 0; i < 80 && !isOver; ++i)
        {
            Steps(s.world, 1, DT);
            uint32_t count, noticeCount;
            const knFractureEvent* e = knWorld_Fractures(s.world, &count);
            const knNotice* n = knWorld_Notices(s.world, &noticeCount);
            isBegun = isBegun || count > 0;
            isOver = isBegun;
            steps += k == 1 && count > 0;
            for (uint32_t f = 0; f < count; ++f)
            {
                area[k] += e[f].breakId == 1 ? e[f].crackArea : 0.0;
                dust += e[f].debrisMass;
            }
            for (uint32_t f = 0; f < noticeCount; ++f)
            {
                isOver = isOver && n[f].kind != kn_noticeBudget;
                notices += k == 1 && n[f].kind == kn_noticeBudget;
            }
            ASSERT_NEAR(MotionOf(s.world, BALL).pieceMass + dust, s.mass, 1e-5 * s.mass);
            pieces[k] = knWorld_Counters(s.world).pieces;
        }
        assert_true(isOver);
        knDestroyWorld(s.world);
    }
    print_message("%u pieces at once, %u in %d slices\n", pieces[0], pieces[1], steps);
    assert_true(steps >= 3 && notices >= steps - 1);
    assert_int_equal(pieces[0], pieces[1]);
    ASSERT_NEAR(area[0], area[1], 1e-9);
}

static void LimitsHold(void** state)
{
    (void)state;
    knBreakLimits limits = Limits();
    limits.familyPieces = 1;
    Scene s = MakeScene(&limits);
    uint32_t count, told = 0;
    for (int i = 0; i < 40; ++i)
    {
        Steps(s.world, 1, DT);
        const knNotice* n = knWorld_Notices(s.world, &count);
        for (uint32_t k = 0; k < count; ++k)
        {
            told += n[k].kind == kn_noticeLimit && knId_Equals(n[k].body, s.plate);
        }
    }
    assert_true(told > 0);
    assert_int_equal(knWorld_Counters(s.world).pieces, 1);
    knDestroyWorld(s.world);
    // nothing smaller than a quarter of the plate gets a body
    limits = Limits();
    limits.minSize = 0.1f;
    s = MakeScene(&limits);
    assert_true(StepToBreak(s.world, 40));
    const knBodyId* children = knWorld_Children(s.world, &count);
    for (uint32_t i = 0; i < count; ++i)
    {
        knBodyPiece piece;
        assert_int_equal(knWorld_BodyPiece(s.world, children[i], &piece), kn_success);
        knBox box = knFragmentField_Box(knFamily_Field(piece.object), piece.fragment);
        knVec3 e = knBox_Extent(box);
        assert_true(fmaxf(e.x, fmaxf(e.y, e.z)) >= 0.1f);
    }
    double mass = MotionOf(s.world, BALL).pieceMass;
    const knDebrisEvent* debris = knWorld_Debris(s.world, &count);
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; ++i)
    {
        mass += debris[i].mass;
    }
    ASSERT_NEAR(mass, s.mass, 1e-5 * s.mass);
    knDestroyWorld(s.world);
}

// Debris fades and goes, and its mass is told.
static void DebrisGrowsOld(void** state)
{
    (void)state;
    knBreakLimits limits = Limits();
    limits.debrisShare = 0.2;
    limits.debrisLifetime = 0.3f;
    limits.debrisFade = 0.2f;
    Scene s = MakeScene(&limits);
    assert_true(StepToBreak(s.world, 40));
    uint32_t before = knWorld_Counters(s.world).pieces, count, old = 0;
    double gone = 0.0;
    float faintest = 1.0f;
    const knDebrisEvent* d = knWorld_Debris(s.world, &count);
    for (uint32_t k = 0; k < count; ++k)
    {
        gone += d[k].mass;
    }
    for (int i = 0; i < 120; ++i)
    {
        for (knBodyId id = knWorld_NextBody(s.world, (knBodyId){0}); !knId_IsNull(id);
             id = knWorld_NextBody(s.world, id))
        {
            float fade = knWorld_Fade(s.world, id);
            assert_true(fade >= 0.0f && fade <= 1.0f);
            faintest = fminf(faintest, fade);
        }
        Steps(s.world, 1, DT);
        d = knWorld_Debris(s.world, &count);
        for (uint32_t k = 0; k < count; ++k)
        {
            gone += d[k].mass;
            old += d[k].reason == kn_debrisOld;
        }
    }
    assert_true(old >= 1 && knWorld_Counters(s.world).pieces < before + 20);
    assert_true(faintest < 0.1f);
    ASSERT_NEAR(MotionOf(s.world, BALL).pieceMass + gone, s.mass, 1e-5 * s.mass);
    knDestroyWorld(s.world);
}

// Debris at rest becomes static, and moves again when what it lies on goes.
static void SettledDebrisIsFrozen(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    knBreakLimits limits = knDefaultBreakLimits();
    limits.isOff = true;
    limits.debrisShare = 1.0;
    limits.freezeAfter = 0.2f;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    (void)AddFloor(world, 0.6f);
    knBodyId low = AddObject(world, &brick, knMakeVec3(0.0f, 0.0f, 0.0f), knIdentityQuat());
    float height = 2.0f * StateOf(world, low).transform.position.y;
    knBodyId top =
        AddObject(world, &brick, knMakeVec3(0.0f, height + 0.0005f, 0.0f), knIdentityQuat());
    knSplitDef split = knDefaultSplitDef();
    split.kind = kn_splitPlane;
    split.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
    knWorldSplit parts;
    assert_int_equal(knWorld_SplitBody(world, top, &split, &parts), kn_success);
    assert_int_equal(parts.bodyCount, 2);
    knBodyId half = parts.bodies[0];
    Steps(world, 200, DT);
    assert_true(StateOf(world, half).mass == 0.0f);
    assert_true(StateOf(world, low).mass > 0.0f);
    float y = StateOf(world, half).transform.position.y;
    assert_int_equal(knWorld_DestroyBody(world, low), kn_success);
    assert_true(StateOf(world, half).mass > 0.0f);
    Steps(world, 100, DT);
    assert_true(StateOf(world, half).transform.position.y < y - 0.5f * height);
    knDestroyWorld(world);
}

// Bodies in slices can be taken away, families too, whatever still waits.
static void BreaksInSlicesCanBeInterrupted(void** state)
{
    (void)state;
    for (int k = 0; k < 3; ++k)
    {
        knBreakLimits limits = Limits();
        limits.workPerStep = 1;
        Scene s = MakeScene(&limits);
        assert_true(StepToBreak(s.world, 40));
        uint32_t count;
        const knBodyId* children = knWorld_Children(s.world, &count);
        assert_true(count >= 2);
        knBodyId first = children[0];
        knSplitDef split = knDefaultSplitDef();
        split.kind = kn_splitPlane;
        split.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
        knWorldSplit parts;
        if (knWorld_Fractures(s.world, &count)[0].mayGoOn)
        {
            assert_int_equal(knWorld_SplitBody(s.world, first, &split, &parts), kn_errorArgument);
        }
        if (k == 0)
        {
            assert_int_equal(knWorld_DestroyBody(s.world, first), kn_success);
        }
        if (k == 1)
        {
            assert_int_equal(knWorld_DestroyFamily(s.world, s.family), kn_success);
        }
        if (k < 2)
        {
            Steps(s.world, 40, DT);
        }
        knDestroyWorld(s.world);
    }
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
        cmocka_unit_test(FractureEventsTellEverything),
        cmocka_unit_test(PiecesTakeOverWhatTheParentHad),
        cmocka_unit_test(ContactsBeginAndEnd),
        cmocka_unit_test(JointsGoToThePieceWithThePivot),
        cmocka_unit_test(SlicesGiveTheSamePieces),
        cmocka_unit_test(LimitsHold),
        cmocka_unit_test(DebrisGrowsOld),
        cmocka_unit_test(SettledDebrisIsFrozen),
        cmocka_unit_test(BreaksInSlicesCanBeInterrupted),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
