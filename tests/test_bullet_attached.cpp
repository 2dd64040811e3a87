// SPDX-License-Identifier: Zlib
// Breaking in a world of the game's own: what hits is a body of the game's, of which Knap knows
// only what Bullet tells. The measure is the same shot in a world of Knap's.
#include "bullet_game.h"
#include "knap/world_break.h"

#include <cmath>

namespace
{

const float DT = 0.005f;
const float BALL = 0.03f; // m
const float DENSITY = 7800.0f;

TestModel plate, brick;

// Of all bodies of the Bullet world that move.
struct Sum
{
    double momentum[3] = {0.0, 0.0, 0.0};
    double kinetic = 0.0, height = 0.0; // J
};

Sum SumOf(const btDiscreteDynamicsWorld& world)
{
    Sum sum;
    for (int i = 0; i < world.getNumCollisionObjects(); ++i)
    {
        const btRigidBody* b = btRigidBody::upcast(world.getCollisionObjectArray()[i]);
        if (!b || !(b->getInvMass() > 0.0f))
        {
            continue;
        }
        double mass = 1.0 / double(b->getInvMass());
        const btVector3& v = b->getLinearVelocity();
        btVector3 w = b->getAngularVelocity() * b->getWorldTransform().getBasis();
        for (int k = 0; k < 3; ++k)
        {
            sum.momentum[k] += mass * double(v[k]);
        }
        sum.kinetic += 0.5 * (mass * double(v.dot(v)) + double((w * w).dot(b->getLocalInertia())));
        sum.height += 9.81 * mass * double(b->getCenterOfMassPosition().y());
    }
    return sum;
}

void KeepAll(knWorld* knap)
{
    knBreakLimits limits = knDefaultBreakLimits();
    limits.minVolumeShare = 0.0; // debris would take momentum out of the world
    limits.eventPieces = 16;
    assert_int_equal(knWorld_SetBreakLimits(knap, &limits), kn_success);
}

void AddPlate(knWorld* knap)
{
    knBodyDef def = knDefaultBodyDef();
    knFamilyDef family = knDefaultFamilyDef();
    family.model = plate.model;
    knFamilyId id;
    knBodyId body;
    assert_int_equal(knWorld_CreateFamily(knap, &def, &family, &id, &body), kn_success);
}

// How a shot went.
struct Shot
{
    float speed = 0.0f;      // m/s, of the ball after it, down
    double firstEnergy = 0;  // J, of the first break
    uint32_t firstCount = 0; // pieces of it
};

double NoteBreaks(const knWorld* knap, Shot* shot)
{
    uint32_t count;
    const knFractureEvent* events = knWorld_Fractures(knap, &count);
    double spent = 0.0;
    for (uint32_t k = 0; k < count; ++k)
    {
        spent += events[k].energy;
        if (shot->firstCount == 0)
        {
            shot->firstEnergy = events[k].energy;
            shot->firstCount = events[k].childCount;
        }
    }
    return spent;
}

// A plate that floats, and a ball that flies at it.
Shot ShootInOwnWorld()
{
    Shot shot;
    knWorldDef def = knDefaultWorldDef();
    def.gravity = knMakeVec3(0.0f, 0.0f, 0.0f);
    knWorld* world;
    assert_int_equal(knCreateWorld(&world, &def, nullptr), kn_success);
    KeepAll(world);
    AddPlate(world);
    knBodyDef ball = knDefaultBodyDef();
    ball.density = DENSITY;
    ball.transform.position = knMakeVec3(0.01f, 0.15f, 0.015f);
    ball.velocity = knMakeVec3(0.0f, -8.0f, 0.0f);
    knBodyId id;
    assert_int_equal(knWorld_CreateSphere(world, &ball, BALL, &id), kn_success);
    for (int i = 0; i < 40; ++i)
    {
        Steps(world, 1, DT);
        (void)NoteBreaks(world, &shot);
    }
    shot.speed = -StateOf(world, id).velocity.y;
    knDestroyWorld(world);
    return shot;
}

void Check(const Sum& before, const Sum& after, double spent)
{
    double lost = 0.0, size = 0.0;
    for (int k = 0; k < 3; ++k)
    {
        lost += (after.momentum[k] - before.momentum[k]) * (after.momentum[k] - before.momentum[k]);
        size += before.momentum[k] * before.momentum[k];
    }
    assert_true(lost <= 1e-8 * size);
    assert_true(after.kinetic + spent <= before.kinetic * (1.0 + 1e-4));
}

// The same with a ball of the game's; so many steps of Bullet's between two calls of Knap.
Shot Shoot(int substeps)
{
    Shot shot;
    btSphereShape sphere(BALL);
    Game game(0.0f);
    KeepAll(game.knap);
    AddPlate(game.knap);
    btTransform place = btTransform::getIdentity();
    place.setOrigin(btVector3(0.01f, 0.15f, 0.015f));
    btRigidBody* ball =
        game.Add(&sphere, DENSITY * 4.0f / 3.0f * SIMD_PI * BALL * BALL * BALL, place);
    ball->setLinearVelocity(btVector3(0.0f, -8.0f, 0.0f));
    for (int i = 0; i < 40; ++i)
    {
        Sum before = SumOf(game.world);
        game.world.stepSimulation(DT, substeps, DT / btScalar(substeps));
        assert_int_equal(knWorld_Break(game.knap, DT), kn_success);
        double spent = NoteBreaks(game.knap, &shot);
        Check(before, SumOf(game.world), spent);
    }
    shot.speed = -ball->getLinearVelocity().y();
    return shot;
}

// The game's ball flies on through the plate, as Knap's own does, and breaks it as Knap's does;
// however often the engine steps between two calls. Later hits of pieces go their own ways.
void TheGamesBallFliesOn(void**)
{
    Shot own = ShootInOwnWorld();
    assert_true(own.firstCount > 2);
    for (int substeps = 1; substeps <= 4; substeps *= 2)
    {
        Shot shot = Shoot(substeps);
        print_message("%d steps a call: first %u pieces for %.3f J, the ball leaves at %.2f m/s; "
                      "in a world of Knap's %u, %.3f J, %.2f m/s\n",
                      substeps, shot.firstCount, shot.firstEnergy, double(shot.speed),
                      own.firstCount, own.firstEnergy, double(own.speed));
        assert_true(std::fabs(shot.firstEnergy - own.firstEnergy) < 0.15 * own.firstEnergy);
        assert_in_range(shot.firstCount, own.firstCount - 3, own.firstCount + 3);
        assert_true(std::fabs(shot.speed - own.speed) < 0.15f * own.speed);
    }
}

// What a game takes away between the engine's step and Knap's is not touched; a game that never
// lets anything break may step as long as it likes.
void WhatIsGoneIsLeftAlone(void**)
{
    btSphereShape sphere(BALL);
    Game game(0.0f);
    KeepAll(game.knap);
    AddPlate(game.knap);
    btTransform place = btTransform::getIdentity();
    place.setOrigin(btVector3(0.01f, 0.06f, 0.015f));
    std::unique_ptr<btRigidBody> ball(new btRigidBody(
        btRigidBody::btRigidBodyConstructionInfo(0.9f, nullptr, &sphere, btVector3(1, 1, 1))));
    ball->setCenterOfMassTransform(place);
    ball->setLinearVelocity(btVector3(0.0f, -8.0f, 0.0f));
    game.world.addRigidBody(ball.get());
    game.Step(6, DT); // it has hit, and nobody was asked
    game.world.removeRigidBody(ball.get());
    ball.reset();
    assert_int_equal(knWorld_Break(game.knap, 6.0f * DT), kn_success);
    uint32_t count;
    (void)knWorld_Fractures(game.knap, &count);
    assert_int_equal(count, 0);
    game.Step(200, DT);
    assert_int_equal(knWorld_Break(game.knap, DT), kn_success);
}

// A brick lies on the game's floor: its contact begins once, and asking again without a step of the
// engine neither ends it nor begins it anew.
void AskingAgainTellsNothing(void**)
{
    btStaticPlaneShape plane(btVector3(0.0f, 1.0f, 0.0f), 0.0f);
    Game game;
    game.Add(&plane, 0.0f, btTransform::getIdentity());
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 0.06f, 0.0f);
    knFamilyDef family = knDefaultFamilyDef();
    family.model = brick.model;
    knFamilyId id;
    knBodyId body;
    assert_int_equal(knWorld_CreateFamily(game.knap, &def, &family, &id, &body), kn_success);
    uint32_t begun = 0, ended = 0;
    for (int i = 0; i < 100; ++i)
    {
        game.Step(i < 60 ? 2 : 1, DT);
        for (int call = 0; call < 2; ++call)
        {
            uint32_t count;
            assert_int_equal(knWorld_Break(game.knap, DT), kn_success);
            const knContactEvent* events = knWorld_ContactEvents(game.knap, &count);
            for (uint32_t k = 0; k < count; ++k)
            {
                begun += !events[k].isEnd;
                ended += events[k].isEnd;
            }
            assert_true(call == 0 || count == 0);
        }
    }
    assert_in_range(begun, 1, 4); // it may bounce
    assert_int_equal(ended, begun - 1);
}

void AddWeakBrick(knWorld* knap, int i)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 0.4f + 0.01f * float(i), 0.0f);
    def.transform.rotation = knMakeQuat(knMakeVec3(0.6f, 0.0f, 0.8f), 0.3f * float(i));
    def.velocity = knMakeVec3(0.0f, -3.0f - 0.1f * float(i), 0.0f);
    knFamilyDef family = knDefaultFamilyDef();
    family.model = brick.model;
    knFamilyId id;
    knBodyId body;
    assert_int_equal(knWorld_CreateFamily(knap, &def, &family, &id, &body), kn_success);
    knMaterial material = *knFindMaterialPreset("brick");
    material.tensileStrength *= 0.05;
    material.fractureEnergy *= 0.05;
    assert_int_equal(knWorld_SetMaterial(knap, id, &material), kn_success);
}

// On a floor of the game's, with a ball of the game's that falls on it: at long steps hits are seen
// ahead, and what breaking gives back must not be more than what was there.
void LandingsGainNothing(void**)
{
    uint32_t events = 0;
    double worst = 0.0;
    btStaticPlaneShape plane(btVector3(0.0f, 1.0f, 0.0f), 0.0f);
    btSphereShape sphere(BALL);
    for (int i = 0; i < (KN_TEST_SLOW ? 6 : 24); i += 6)
    {
        Game game;
        KeepAll(game.knap);
        game.Add(&plane, 0.0f, btTransform::getIdentity());
        AddWeakBrick(game.knap, i);
        btTransform place = btTransform::getIdentity();
        place.setOrigin(btVector3(0.02f, 0.7f, 0.0f));
        btRigidBody* ball = game.Add(&sphere, 0.9f, place);
        ball->setLinearVelocity(btVector3(0.0f, -4.0f, 0.0f));
        Sum start = SumOf(game.world);
        double last = start.kinetic + start.height, all = last;
        for (int k = 0; k < 15; ++k)
        {
            uint32_t count;
            game.Step(1, 0.03f);
            assert_int_equal(knWorld_Break(game.knap, 0.03f), kn_success);
            (void)knWorld_Fractures(game.knap, &count);
            events += count;
            Sum now = SumOf(game.world);
            worst = std::fmax(worst, (now.kinetic + now.height - last) / all);
            last = now.kinetic + now.height;
        }
    }
    print_message("%u landings that broke: a step gains at most %.1e of all energy\n", events,
                  worst);
    assert_true(events > 10);
    assert_true(worst < 3e-3);
}

int OpenModels(void**)
{
    plate = OpenDemoModel("plate");
    brick = OpenDemoModel("brick");
    return 0;
}

int CloseModels(void**)
{
    CloseModel(&plate);
    CloseModel(&brick);
    return 0;
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheGamesBallFliesOn), cmocka_unit_test(WhatIsGoneIsLeftAlone),
        cmocka_unit_test(AskingAgainTellsNothing), cmocka_unit_test(LandingsGainNothing)};
    return cmocka_run_group_tests(tests, OpenModels, CloseModels);
}
