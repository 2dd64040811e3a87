// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "pieces.h"
#include "plugin/cast_sweep_internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define EFFORT 1
#else
#define EFFORT 5
#endif

// A model of one piece with its mesh.
typedef struct Thing
{
    TestModel model;
    knFamily* family;
    knPieceMesh mesh;
} Thing;

static Thing plate, shard, brick, rod, ear, stump;
static knPieceMesh third; // beside the stump

static void OpenThing(Thing* t, const char* name, knVec3 half)
{
    t->model = OpenBoxModel(name, knNeg(half), half);
    t->family = MakeFamily(&t->model);
    assert_int_equal(knCreatePieceMesh(&t->mesh, t->family, 0, NULL, NULL, NULL), kn_success);
}

static void CloseThing(Thing* t)
{
    knDestroyPieceMesh(&t->mesh);
    knDestroyFamily(t->family);
    CloseModel(&t->model);
}

static int Open(void** state)
{
    (void)state;
    OpenThing(&plate, "plate", knMakeVec3(0.15f, 0.005f, 0.15f)); // 1 cm thick
    OpenThing(&shard, "shard", knMakeVec3(0.0025f, 0.0008f, 0.002f));
    OpenThing(&brick, "brick", knMakeVec3(0.025f, 0.01f, 0.015f));
    OpenThing(&rod, "rod", knMakeVec3(0.1f, 0.002f, 0.002f));
    ear.model = OpenDemoModel("bunny");
    ear.family = MakeFamily(&ear.model);
    BreakInto(ear.family, 14, 3);
    uint32_t pieces[64];
    ListPieces(ear.family, pieces, 64);
    assert_int_equal(knCreatePieceMesh(&ear.mesh, ear.family, pieces[3], NULL, NULL, NULL),
                     kn_success);
    stump.model = OpenDemoModel("brick");
    stump.family = MakeFamily(&stump.model);
    BreakInto(stump.family, 3, 5);
    ListPieces(stump.family, pieces, 64);
    assert_int_equal(knCreatePieceMesh(&stump.mesh, stump.family, pieces[0], NULL, NULL, NULL),
                     kn_success);
    assert_int_equal(knCreatePieceMesh(&third, stump.family, pieces[1], NULL, NULL, NULL),
                     kn_success);
    return 0;
}

static int Close(void** state)
{
    (void)state;
    CloseThing(&plate);
    CloseThing(&shard);
    CloseThing(&brick);
    CloseThing(&rod);
    knDestroyPieceMesh(&third);
    CloseThing(&stump);
    CloseThing(&ear);
    return 0;
}

// Whether a segment passes through a triangle.
static bool Crosses(knDVec3 a, knDVec3 b, const knDVec3 v[3])
{
    knDVec3 n = knDCross(knDSub(v[1], v[0]), knDSub(v[2], v[0]));
    double da = knDDot(n, knDSub(a, v[0])), db = knDDot(n, knDSub(b, v[0]));
    if ((da > 0.0) == (db > 0.0))
    {
        return false;
    }
    knDVec3 p = knDAdd(a, knDScale(da / (da - db), knDSub(b, a)));
    for (int i = 0; i < 3; ++i)
    {
        if (knDDot(knDCross(knDSub(v[(i + 1) % 3], v[i]), knDSub(p, v[i])), n) < 0.0)
        {
            return false;
        }
    }
    return true;
}

static void Corners(const knPieceMesh* m, knTransform at, uint32_t t, knDVec3 v[3])
{
    knVec3 c[3];
    knPieceMesh_Corners(m, t, c);
    for (int i = 0; i < 3; ++i)
    {
        v[i] = knToDouble(knTransformPoint(at, c[i]));
    }
}

// Surfaces that cross, every edge of the one against every triangle of the other.
static bool Overlap(const knPieceMesh* a, knTransform atA, const knPieceMesh* b, knTransform atB)
{
    for (uint32_t i = 0; i < a->triangleCount; ++i)
    {
        knDVec3 v[3];
        Corners(a, atA, i, v);
        for (uint32_t k = 0; k < b->triangleCount; ++k)
        {
            knDVec3 w[3];
            Corners(b, atB, k, w);
            for (int e = 0; e < 3; ++e)
            {
                if (Crosses(v[e], v[(e + 1) % 3], w) || Crosses(w[e], w[(e + 1) % 3], v))
                {
                    return true;
                }
            }
        }
    }
    return false;
}

// Pieces that fly past and into each other and turn: the time is that of dense steps.
static void TheFirstTouchIsThatOfDenseSteps(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(1);
    const knPieceMesh* meshes[4] = {&plate.mesh, &brick.mesh, &rod.mesh, &shard.mesh};
    int hits = 0, misses = 0;
    for (int i = 0; i < EFFORT * 20; ++i)
    {
        const knPieceMesh* a = meshes[1 + knRandom_Below(&random, 3)];
        const knPieceMesh* b = meshes[knRandom_Below(&random, 3)];
        float far = 1.05f * (a->radius + b->radius);
        knMotion ma = {.start.rotation = knMakeQuat(knRandom_UnitVec3(&random), 2.0f)}, mb = ma;
        mb.start.rotation = knMakeQuat(knRandom_UnitVec3(&random), 1.0f);
        mb.start.position = knScale(5.0f, knRandom_UnitVec3(&random));
        knVec3 from = knRandom_UnitVec3(&random);
        knVec3 aim = knScale(0.5f * far, knRandom_UnitVec3(&random));
        ma.start.position = knAddScaled(mb.start.position, far, from);
        ma.move = knScale(1.6f, knSub(aim, knScale(far, from)));
        mb.move = knScale(0.3f * far, knRandom_UnitVec3(&random));
        ma.turn = knScale(knRandom_Range(&random, 0.0f, 0.8f), knRandom_UnitVec3(&random));
        mb.turn = knScale(knRandom_Range(&random, 0.0f, 0.3f), knRandom_UnitVec3(&random));
        knSweepContact contacts[KN_MAX_SWEEP_CONTACTS];
        uint32_t count = knSweepPair(a, &ma, b, &mb, contacts);
        float truth = 2.0f;
        for (int k = 0; k <= 600 && truth > 1.0f; ++k)
        {
            float t = (float)k / 600.0f;
            bool overlaps = Overlap(a, knMotion_At(&ma, t), b, knMotion_At(&mb, t));
            truth = overlaps ? t : truth;
        }
        float found = count > 0 ? contacts[0].time : 2.0f;
        // not after the truth, and before it by a step and the tolerance at most
        assert_true(found <= truth + 1e-4f || truth > 1.0f);
        if (truth <= 1.0f)
        {
            float speed = knLength(knSub(ma.move, mb.move));
            float slack = 1.0f / 600.0f + 0.02f * fminf(a->radius, b->radius) / speed;
            // a touch that only grazes lasts less than a step
            if (found < truth - slack)
            {
                knTransform atA = knMotion_At(&ma, found + 1e-3f);
                bool grazes = Overlap(a, atA, b, knMotion_At(&mb, found + 1e-3f));
                knTransform soon = knMotion_At(&ma, found + 3e-4f);
                grazes = grazes || Overlap(a, soon, b, knMotion_At(&mb, found + 3e-4f));
                assert_true(grazes || truth - found < 0.15f);
            }
            hits += 1;
        }
        else
        {
            misses += 1;
        }
        for (uint32_t k = 0; k < count; ++k)
        {
            assert_true(contacts[k].gap >= 0.0f && contacts[k].time <= 1.0f);
            ASSERT_NEAR(knLength(contacts[k].normal), 1.0f, 1e-4f);
        }
    }
    assert_true(hits > EFFORT * 5 && misses > EFFORT);
}

static knVec3 Middle(const knVec3 v[3])
{
    return knScale(1.0f / 3.0f, knAdd(v[0], knAdd(v[1], v[2])));
}

static float Size(const knVec3 v[3])
{
    knVec3 m = Middle(v);
    return fmaxf(knDistance(m, v[0]), fmaxf(knDistance(m, v[1]), knDistance(m, v[2])));
}

static double EarliestOfAllPairs(knSweep s)
{
    s.slack = 0.0;
    for (uint32_t i = 0; i < s.a->triangleCount; ++i)
    {
        for (uint32_t k = 0; k < s.b->triangleCount; ++k)
        {
            knVec3 v[3], w[3];
            knPieceMesh_Corners(s.a, i, v);
            knPieceMesh_Corners(s.b, k, w);
            float apart = knDistance(knTransformPoint(s.motionA.start, Middle(v)),
                                     knTransformPoint(s.motionB.start, Middle(w)));
            if ((double)(apart - Size(v) - Size(w)) < s.speed)
            {
                knSweep_TryPair(&s, i, w, k, 0.0);
            }
        }
    }
    return s.best;
}

// What is left out of jagged pieces that fly close by each other does not touch: the earliest touch
// is that of every triangle of the one against every triangle of the other, but for the slack.
static void NothingThatTouchesIsLeftOut(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(9);
    const knPieceMesh *a = &stump.mesh, *b = &third;
    int hits = 0, misses = 0;
    for (int i = 0; i < EFFORT * 8; ++i)
    {
        float near = 0.7f * (a->radius + b->radius);
        knMotion ma = {.start.rotation = knMakeQuat(knRandom_UnitVec3(&random), 2.0f)}, mb = ma;
        mb.start.rotation = knMakeQuat(knRandom_UnitVec3(&random), 1.0f);
        ma.start.position = knScale(near, knRandom_UnitVec3(&random));
        ma.move = knScale(0.2f * near, knRandom_UnitVec3(&random));
        ma.turn = knScale(0.1f, knRandom_UnitVec3(&random));
        mb.turn = knScale(0.1f, knRandom_UnitVec3(&random));
        knSweep s = {.a = a, .b = b, .motionA = ma, .motionB = mb, .move = ma.move, .best = 1.0};
        s.triangleA = KN_NONE;
        s.tolerance = 1e-3 * (double)fminf(a->radius, b->radius);
        s.slack = s.tolerance;
        s.speed = knSweep_Speed(&s);
        double truth = EarliestOfAllPairs(s);
        knSweep_RunMeshes(&s);
        double slack = s.slack / s.speed + 1e-6;
        assert_true(s.best >= truth - slack);
        assert_true(s.best <= truth + 20.0 * slack);
        hits += truth < 1.0;
        misses += truth >= 1.0;
        assert_int_equal(s.triangleA != KN_NONE, truth < 1.0);
    }
    assert_true(hits > 0 && misses > 0);
}

// What flies straight at a plate: gap, time and normal as a child would compute them.
static void TheGapIsTheWayToThePlate(void** state)
{
    (void)state;
    knMotion rest = {.start = knIdentityTransform()};
    knMotion fly = {.start = {{0.02f, 1.0f, -0.03f}, knIdentityQuat()}};
    fly.move = knMakeVec3(0.3f, -6.0f, 0.2f);
    knSweepContact c[KN_MAX_SWEEP_CONTACTS];
    assert_true(knSweepPair(&brick.mesh, &fly, &plate.mesh, &rest, c) >= 2);
    ASSERT_NEAR(c[0].normal.y, 1.0f, 1e-4f);
    ASSERT_NEAR(c[0].gap, 1.0f - 0.015f, 1e-4f);
    ASSERT_NEAR(c[0].time, (1.0f - 0.015f) / 6.0f, 1e-4f);
    ASSERT_NEAR(c[0].pointA.y, 1.0f - 0.01f, 1e-4f);
    ASSERT_NEAR(c[0].pointB.y, 0.005f, 1e-4f);
    assert_true(c[1].isCenter);
    ASSERT_NEAR(c[1].gap, 1.0f - 0.015f, 1e-4f);
    ASSERT_NEAR(knDistance(c[1].pointA, fly.start.position), 0.0f, 1e-6f);
    // away from it, and past it
    fly.move.y = 6.0f;
    assert_int_equal(knSweepPair(&brick.mesh, &fly, &plate.mesh, &rest, c), 0);
    fly.move.y = -6.0f;
    fly.start.position.x = 1.0f;
    assert_int_equal(knSweepPair(&brick.mesh, &fly, &plate.mesh, &rest, c), 0);
}

// A body that turns on the spot: its ends move though it does not.
static void WhatOnlyTurnsIsFound(void** state)
{
    (void)state;
    const float height = 0.03f, turn = 1.2f;
    knVec3 half = knScale(0.5f, knBox_Extent(rod.mesh.nodes[0].box));
    float angle = 0.0f;
    while (half.x * sinf(angle) + half.y * cosf(angle) < height - 0.005f)
    {
        angle += 1e-5f;
    }
    knMotion rest = {.start = knIdentityTransform()};
    knMotion spin = {.start = {{0.0f, height, 0.0f}, knIdentityQuat()}, .turn = {0.0f, 0.0f, turn}};
    knSweepContact c[KN_MAX_SWEEP_CONTACTS];
    knShape box = knMakeBoxShape(knMakeVec3(0.15f, 0.005f, 0.15f));
    assert_true(knSweepPair(&rod.mesh, &spin, &plate.mesh, &rest, c) >= 2);
    ASSERT_NEAR(c[0].time, angle / turn, 0.01f);
    ASSERT_NEAR(c[0].normal.y, 1.0f, 1e-3f);
    assert_true(knSweepShape(&rod.mesh, &spin, &box, &rest, c) >= 2);
    ASSERT_NEAR(c[0].time, angle / turn, 0.01f);
}

// The same plate as a shape, as triangles and as a piece gives the same first touch.
static void ShapesAndTrianglesStopAsPiecesDo(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(5);
    knShape box = knMakeBoxShape(knMakeVec3(0.15f, 0.005f, 0.15f));
    knShape plane = knMakePlaneShape(knMakeVec3(0.0f, 1.0f, 0.0f), 0.005f);
    knMeshTriangle triangles[64];
    for (uint32_t i = 0; i < plate.mesh.triangleCount; ++i)
    {
        knPieceMesh_Corners(&plate.mesh, i, triangles[i].v);
        triangles[i].id = i;
    }
    knTriangleBatch batch = {triangles, plate.mesh.triangleCount, true, knIdentityTransform(),
                             0.0f};
    int hits = 0;
    for (int i = 0; i < EFFORT * 20; ++i)
    {
        const knPieceMesh* a = i % 2 ? &brick.mesh : &ear.mesh;
        knMotion rest = {.start = knIdentityTransform()}, fly = rest;
        fly.start.position = knMakeVec3(knRandom_Range(&random, -0.1f, 0.1f), 0.1f,
                                        knRandom_Range(&random, -0.1f, 0.1f));
        fly.start.rotation = knMakeQuat(knRandom_UnitVec3(&random), 3.0f);
        fly.move = knMakeVec3(knRandom_Range(&random, -0.05f, 0.05f),
                              knRandom_Range(&random, -0.5f, 0.0f), 0.0f);
        fly.turn = knScale(0.5f, knRandom_UnitVec3(&random));
        knSweepContact c[4][KN_MAX_SWEEP_CONTACTS];
        uint32_t counts[4] = {knSweepPair(a, &fly, &plate.mesh, &rest, c[0]),
                              knSweepShape(a, &fly, &box, &rest, c[1]),
                              knSweepTriangles(a, &fly, &batch, c[2]),
                              knSweepShape(a, &fly, &plane, &rest, c[3])};
        for (int k = 1; k < 4; ++k)
        {
            assert_int_equal(counts[k] > 0, counts[0] > 0);
            if (counts[0] > 0)
            {
                float slack = 2e-3f * a->radius / fabsf(fly.move.y) + 1e-5f;
                ASSERT_NEAR(c[k][0].time, c[0][0].time, slack);
            }
        }
        hits += counts[0] > 0;
    }
    assert_true(hits > EFFORT * 8 && hits < EFFORT * 20);
}

// Sliding along the floor of a corner: the wall is found behind the floor.
static void TheWallBehindTheFloorIsFound(void** state)
{
    (void)state;
    knMeshTriangle triangles[4] = {
        {{{-5.0f, 0.0f, -5.0f}, {-5.0f, 0.0f, 5.0f}, {5.0f, 0.0f, 5.0f}}, 0},
        {{{-5.0f, 0.0f, -5.0f}, {5.0f, 0.0f, 5.0f}, {5.0f, 0.0f, -5.0f}}, 1},
        {{{1.0f, -1.0f, -5.0f}, {1.0f, -1.0f, 5.0f}, {1.0f, 5.0f, 5.0f}}, 2},
        {{{1.0f, -1.0f, -5.0f}, {1.0f, 5.0f, 5.0f}, {1.0f, 5.0f, -5.0f}}, 3}};
    knTriangleBatch batch = {triangles, 4, false, knIdentityTransform(), 0.0f};
    knMotion slide = {.start = {{0.0f, 0.01f + 1e-4f, 0.0f}, knIdentityQuat()}};
    slide.move = knMakeVec3(3.0f, -0.3f, 0.0f);
    knSweepContact c[KN_MAX_SWEEP_CONTACTS];
    uint32_t count = knSweepTriangles(&brick.mesh, &slide, &batch, c);
    assert_int_equal(count, 4);
    ASSERT_NEAR(c[0].normal.y, 1.0f, 1e-3f);
    ASSERT_NEAR(c[2].normal.x, -1.0f, 1e-3f);
    ASSERT_NEAR(c[2].gap, 1.0f - 0.025f, 1e-3f);
}

typedef struct Flyer
{
    knTransform at;
    knVec3 velocity, spin;
    float inverseMass;
    knVec3 inverseInertia; // along the body's axes
} Flyer;

static knVec3 ApplyInverseInertia(const Flyer* f, knVec3 v)
{
    knVec3 local = knInvRotate(f->at.rotation, v);
    local = knMakeVec3(local.x * f->inverseInertia.x, local.y * f->inverseInertia.y,
                       local.z * f->inverseInertia.z);
    return knRotate(f->at.rotation, local);
}

// A solver's row: the point's speed along the normal is to be at least -gap / dt.
static void SolveRow(Flyer* f, knVec3 point, knVec3 n, float speed, float* impulse)
{
    knVec3 arm = knSub(point, f->at.position), turn = knCross(arm, n);
    float k = f->inverseMass + knDot(turn, ApplyInverseInertia(f, turn));
    float v = knDot(n, knAdd(f->velocity, knCross(f->spin, arm)));
    float before = *impulse;
    *impulse = fmaxf(0.0f, before + (speed - v) / k);
    float change = *impulse - before;
    f->velocity = knAddScaled(f->velocity, change * f->inverseMass, n);
    f->spin = knAddScaled(f->spin, change, ApplyInverseInertia(f, turn));
}

static Flyer MakeFlyer(const Thing* t)
{
    const knMassProperties* mass = &knFamily_Fragments(t->family)->fragments[0].mass;
    return (Flyer){.inverseMass = (float)(1.0 / mass->mass),
                   .inverseInertia = {(float)(1.0 / mass->inertia.xx),
                                      (float)(1.0 / mass->inertia.yy),
                                      (float)(1.0 / mass->inertia.zz)}};
}

static knVec3 Clamp(knVec3 v, float most)
{
    float length = knLength(v);
    return length > most ? knScale(most / length, v) : v;
}

// One step as an engine makes it: contacts at the start, solver, then the pose.
static void Step(Flyer* f, const Thing* thing, float dt)
{
    knMotion rest = {.start = knIdentityTransform()}, motion = {.start = f->at};
    motion.move = knScale(dt, f->velocity);
    motion.turn = knScale(dt, f->spin);
    knSweepContact c[KN_MAX_SWEEP_CONTACTS];
    uint32_t count = knMotion_IsFast(&motion, &thing->mesh)
                         ? knSweepPair(&thing->mesh, &motion, &plate.mesh, &rest, c)
                         : 0;
    knQueryPiece a = {thing->family, 0, f->at, NULL},
                 b = {plate.family, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    knPairState state = {0};
    knPairContact touching[64];
    knPairResult result;
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knQueryBytes(&a, &b), NULL), kn_success);
    assert_int_equal(knQueryPair(&a, &b, &limits, &state, &arena, touching, 64, &result),
                     kn_success);
    knDestroyArena(&arena);
    float impulses[KN_MAX_SWEEP_CONTACTS + 64] = {0.0f};
    for (int round = 0; round < 30; ++round)
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            SolveRow(f, c[i].pointA, c[i].normal, -c[i].gap / dt, &impulses[i]);
        }
        for (uint32_t i = 0; i < result.count; ++i)
        {
            const knContact* k = &touching[i].contact;
            knVec3 n = touching[i].side == 0 ? k->normal : knNeg(k->normal);
            // pushed out by a fifth of the depth per step
            float speed =
                k->distance < 0.0f ? fminf(-0.2f * k->distance / dt, 1.0f) : -k->distance / dt;
            SolveRow(f, k->point, n, speed, &impulses[count + i]);
        }
    }
    motion.move = knScale(dt, f->velocity);
    f->spin = Clamp(f->spin, 0.7853982f / dt); // as Bullet does
    motion.turn = knScale(dt, f->spin);
    f->at = knMotion_At(&motion, 1.0f);
}

// A 5 mm shard and a 5 cm brick at 5, 50 and 200 m/s, at steps up to 30 ms, against 1 cm.
static void FastBodiesDoNotPassAPlate(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(77);
    const Thing* things[2] = {&shard, &brick};
    const float speeds[3] = {5.0f, 50.0f, 200.0f}, steps[4] = {0.002f, 0.005f, 0.015f, 0.03f};
    int passed = 0, touched = 0;
    for (int i = 0; i < EFFORT * 240; ++i)
    {
        const Thing* thing = things[i % 2];
        float speed = speeds[i / 2 % 3], dt = steps[i / 6 % 4];
        Flyer f = MakeFlyer(thing);
        f.at.rotation = knMakeQuat(knRandom_UnitVec3(&random), 6.0f * knRandom_Float(&random));
        f.at.position =
            knMakeVec3(knRandom_Range(&random, -0.05f, 0.05f), knRandom_Range(&random, 0.05f, 0.4f),
                       knRandom_Range(&random, -0.05f, 0.05f));
        knVec3 target = {knRandom_Range(&random, -0.08f, 0.08f), 0.0f,
                         knRandom_Range(&random, -0.08f, 0.08f)};
        f.velocity = knScale(speed, knNormalize(knSub(target, f.at.position)));
        f.spin = knScale(knRandom_Range(&random, 0.0f, 0.5f) / dt, knRandom_UnitVec3(&random));
        float time = 0.0f;
        bool isBelow = false;
        while (time < 4.0f * 0.5f / speed + 4.0f * dt && !isBelow)
        {
            Step(&f, thing, dt);
            time += dt;
            isBelow = f.at.position.y < 0.0f && fabsf(f.at.position.x) < 0.14f &&
                      fabsf(f.at.position.z) < 0.14f;
        }
        passed += isBelow;
        touched += f.velocity.y > -0.9f * speed;
    }
    assert_int_equal(passed, 0);
    assert_true(touched > EFFORT * 236);
}

static void NonsenseSweepsNothing(void** state)
{
    (void)state;
    knMotion rest = {.start = knIdentityTransform()}, bad = rest, far = rest;
    bad.move.x = NAN;
    far.start.position.x = 1e30f;
    far.move.x = -1e30f;
    knSweepContact c[KN_MAX_SWEEP_CONTACTS];
    knShape ball = knMakeSphereShape(NAN);
    assert_int_equal(knSweepPair(&brick.mesh, &bad, &plate.mesh, &rest, c), 0);
    assert_int_equal(knSweepPair(NULL, &rest, &plate.mesh, &rest, c), 0);
    assert_int_equal(knSweepShape(&brick.mesh, &rest, &ball, &rest, c), 0);
    assert_int_equal(knSweepTriangles(&brick.mesh, &rest, NULL, c), 0);
    knSweepPair(&brick.mesh, &far, &plate.mesh, &rest, c);
    assert_false(knMotion_IsFast(&rest, &brick.mesh));
    assert_true(knMotion_IsFast(&far, &brick.mesh));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheFirstTouchIsThatOfDenseSteps),
        cmocka_unit_test(NothingThatTouchesIsLeftOut),
        cmocka_unit_test(TheGapIsTheWayToThePlate),
        cmocka_unit_test(WhatOnlyTurnsIsFound),
        cmocka_unit_test(ShapesAndTrianglesStopAsPiecesDo),
        cmocka_unit_test(TheWallBehindTheFloorIsFound),
        cmocka_unit_test(FastBodiesDoNotPassAPlate),
        cmocka_unit_test(NonsenseSweepsNothing),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
