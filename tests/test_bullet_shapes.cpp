// SPDX-License-Identifier: Zlib
// Every shape that Bullet has, in a world of the game's own: a piece falls on it, rests, and does
// not pass; and the shape falls on a piece.
#include "bullet_game.h"

#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <cmath>
#include <memory>
#include <vector>

namespace
{

const float DT = 1.0f / 200.0f;
const int REST_STEPS = KN_TEST_SLOW ? 100 : 1000; // 5 s
const int DRIFT_STEPS = KN_TEST_SLOW ? 20 : 200;

TestModel brick, bunny;

// Shapes about half a metre wide with a flat or round top; they must outlive the game.
struct Shapes
{
    Shapes()
        : box(btVector3(0.3f, 0.1f, 0.3f)), sphere(0.3f), capsule(0.15f, 0.6f),
          capsuleX(0.15f, 0.6f), cylinder(btVector3(0.3f, 0.1f, 0.3f)), cone(0.4f, 0.3f),
          plane(btVector3(0.0f, 1.0f, 0.0f), 0.0f)
    {
        for (int i = 0; i < 8; ++i)
        {
            hull.addPoint(
                btVector3(i & 1 ? 0.3f : -0.3f, i & 2 ? 0.1f : -0.1f, i & 4 ? 0.3f : -0.3f));
        }
        hull.setMargin(0.005f);
        cone.setMargin(0.005f);
        btVector3 centers[4] = {btVector3(-0.2f, 0.0f, -0.2f), btVector3(0.2f, 0.0f, -0.2f),
                                btVector3(-0.2f, 0.0f, 0.2f), btVector3(0.2f, 0.0f, 0.2f)};
        btScalar radii[4] = {0.1f, 0.1f, 0.1f, 0.1f};
        spheres.reset(new btMultiSphereShape(centers, radii, 4));
        btTransform part = btTransform::getIdentity();
        part.setOrigin(btVector3(-0.15f, 0.0f, 0.0f));
        compoundBox.reset(new btBoxShape(btVector3(0.15f, 0.1f, 0.3f)));
        compound.addChildShape(part, compoundBox.get());
        part.setOrigin(btVector3(0.15f, 0.0f, 0.0f));
        compound.addChildShape(part, compoundBox.get());
        MakeMeshes();
    }
    void MakeMeshes()
    {
        const int n = 8;
        for (int x = 0; x < n; ++x)
        {
            for (int z = 0; z < n; ++z)
            {
                auto at = [&](int i, int k)
                { return btVector3(0.1f * btScalar(i - n / 2), 0.1f, 0.1f * btScalar(k - n / 2)); };
                floor.addTriangle(at(x, z), at(x + 1, z + 1), at(x + 1, z));
                floor.addTriangle(at(x, z), at(x, z + 1), at(x + 1, z + 1));
            }
        }
        mesh.reset(new btBvhTriangleMeshShape(&floor, true));
        mesh->setMargin(0.0f);
        scaled.reset(new btScaledBvhTriangleMeshShape(mesh.get(), btVector3(1.5f, 1.0f, 1.5f)));
        scaled->setMargin(0.0f);
        heights.assign(81, 0.1f);
        field.reset(new btHeightfieldTerrainShape(9, 9, heights.data(), 1.0f, -0.1f, 0.3f, 1,
                                                  PHY_FLOAT, false));
        field->setLocalScaling(btVector3(0.1f, 1.0f, 0.1f));
        field->setMargin(0.0f);
        static const int faces[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
                                         {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
                                         {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
        for (const auto& f : faces)
        {
            btVector3 v[3];
            for (int k = 0; k < 3; ++k)
            {
                int i = f[k];
                v[k].setValue(i & 1 ? 0.3f : -0.3f, i & 2 ? 0.1f : -0.1f, i & 4 ? 0.3f : -0.3f);
            }
            block.addTriangle(v[0], v[1], v[2]);
        }
        gimpact.reset(new btGImpactMeshShape(&block));
        gimpact->setMargin(0.0f);
        gimpact->updateBound();
    }
    btBoxShape box;
    btSphereShape sphere;
    btCapsuleShape capsule;
    btCapsuleShapeX capsuleX;
    btCylinderShape cylinder;
    btConeShape cone;
    btStaticPlaneShape plane;
    btConvexHullShape hull;
    std::unique_ptr<btMultiSphereShape> spheres;
    std::unique_ptr<btBoxShape> compoundBox;
    btCompoundShape compound;
    btTriangleMesh floor, block;
    std::unique_ptr<btBvhTriangleMeshShape> mesh;
    std::unique_ptr<btScaledBvhTriangleMeshShape> scaled;
    std::vector<float> heights;
    std::unique_ptr<btHeightfieldTerrainShape> field;
    std::unique_ptr<btGImpactMeshShape> gimpact;
};

struct Case
{
    const char* name;
    btCollisionShape* shape;
    float top;   // where it can be rested on
    bool isFlat; // else the brick may slide off, but it must bounce off first
    bool moves;
};

std::vector<Case> Cases(Shapes& s)
{
    return {{"box", &s.box, 0.1f, true, true},
            {"sphere", &s.sphere, 0.3f, false, true},
            {"capsule", &s.capsule, 0.45f, false, true},
            {"capsule x", &s.capsuleX, 0.15f, false, true},
            {"cylinder", &s.cylinder, 0.1f, true, true},
            {"cone", &s.cone, 0.155f, false, true},
            {"hull", &s.hull, 0.105f, true, true},
            {"multi-sphere", s.spheres.get(), 0.1f, true, true},
            {"plane", &s.plane, 0.0f, true, false},
            {"compound", &s.compound, 0.1f, true, true},
            {"triangle mesh", s.mesh.get(), 0.1f, true, false},
            {"scaled mesh", s.scaled.get(), 0.1f, true, false},
            {"height field", s.field.get(), 0.0f, true, false},
            {"GImpact", s.gimpact.get(), 0.1f, true, true}};
}

knBodyId DropBrick(Game& game, float top)
{
    knBox box = knAsset_Info(brick.asset)->bounds;
    return AddObject(game.knap, &brick, knMakeVec3(0.0f, top + 0.02f - box.lower.y, 0.0f),
                     knIdentityQuat());
}

// The lowest point of a piece that can be.
float Lowest(const Game& game, knBodyId id)
{
    knBodyPiece piece;
    assert_int_equal(knWorld_BodyPiece(game.knap, id, &piece), kn_success);
    knTransform t = StateOf(game.knap, id).transform;
    float lowest = FLT_MAX;
    for (uint32_t i = 0; i < piece.mesh->vertexCount; ++i)
    {
        lowest = fminf(lowest, knTransformPoint(t, piece.mesh->vertices[i].position).y);
    }
    return lowest;
}

// What a body still does after it has come to rest: its speed, and how far it gets in a second.
struct Residue
{
    float speed, drift;
};

Residue Watch(Game& game, const btRigidBody* body)
{
    btVector3 before = body->getWorldTransform().getOrigin();
    game.Step(DRIFT_STEPS, DT);
    return {body->getLinearVelocity().length(),
            (body->getWorldTransform().getOrigin() - before).length()};
}

// Bullet's own box of the same size and weight, where the brick falls.
Residue RestOfBox(const Case& c)
{
    Game game;
    game.Add(c.shape, 0.0f, btTransform::getIdentity());
    knVec3 half = knScale(0.5f, knBox_Extent(knAsset_Info(brick.asset)->bounds));
    btBoxShape box(btVector3(half.x, half.y, half.z));
    btTransform place = btTransform::getIdentity();
    place.setOrigin(btVector3(0.0f, c.top + 0.02f + half.y, 0.0f));
    btRigidBody* body = game.Add(&box, float(knAsset_Info(brick.asset)->mass), place);
    game.Step(20 + REST_STEPS, DT);
    return Watch(game, body);
}

void PiecesRestOnEveryShape(void**)
{
    Shapes shapes;
    for (const Case& c : Cases(shapes))
    {
        Game game;
        game.Add(c.shape, 0.0f, btTransform::getIdentity());
        knBodyId id = DropBrick(game, c.top);
        // falls 2 cm in 64 ms
        game.Step(20, DT);
        float early = Lowest(game, id);
        assert_true(early > c.top - 0.004f && early < c.top + 0.03f);
        game.Step(REST_STEPS, DT);
        float low = Lowest(game, id), deepest = DeepestContact(game.knap);
        Residue ours = Watch(game, knWorld_BulletBody(game.knap, id));
        Residue box = RestOfBox(c);
        printf("brick on %-14s lands at %+.5f m, then %+.5f m, deepest %.2e m; speed %.2e m/s and "
               "drift %.2e m (Bullet's box: %.2e and %.2e)\n",
               c.name, double(early - c.top), double(low - c.top), double(deepest),
               double(ours.speed), double(ours.drift), double(box.speed), double(box.drift));
        if (c.isFlat)
        {
            assert_true(fabsf(low - c.top) < 0.002f);
            assert_true(deepest < 0.0005f);
            if (!KN_TEST_SLOW)
            {
                assert_true(ours.speed < 0.001f);
                assert_true(ours.drift < 0.0002f);
            }
        }
    }
}

// The same the other way round: what moves falls on a piece that is fixed. The order of the two
// bodies in Bullet's pairs differs.
void EveryShapeRestsOnPieces(void**)
{
    Shapes shapes;
    for (const Case& c : Cases(shapes))
    {
        if (!c.moves)
        {
            continue;
        }
        Game game;
        btTransform place = btTransform::getIdentity();
        knBox box = knAsset_Info(brick.asset)->bounds;
        // four bricks in a square, so that wide things do not tip over
        for (int i = 0; i < 4; ++i)
        {
            knBodyDef def = knDefaultBodyDef();
            def.kind = kn_bodyStatic;
            def.transform.position =
                knMakeVec3(i & 1 ? 0.13f : -0.13f, -box.upper.y, i & 2 ? 0.06f : -0.06f);
            AddObjectDef(game.knap, &brick, &def);
        }
        place.setOrigin(btVector3(0.0f, 0.02f + c.top, 0.0f));
        btRigidBody* body = game.Add(c.shape, 2.0f, place);
        // as far below the middle as above; Bullet's own boxes count margins twice
        float bottom = -c.top;
        game.Step(REST_STEPS / 2, DT);
        float y = body->getWorldTransform().getOrigin().y();
        printf("%-14s on bricks: lowest point %+.5f m, speed %.2e m/s\n", c.name,
               double(y + bottom), double(body->getLinearVelocity().length()));
        assert_true(!c.isFlat || fabsf(y + bottom) < 0.001f);
        // what is round may have rolled down
        assert_true(y > -0.1f || body->getWorldTransform().getOrigin().length() > 0.3f);
    }
}

void CastsAndContactTestsSeePieces(void**)
{
    Game game;
    knBodyId id = AddObject(game.knap, &bunny, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
    btRigidBody* body = knWorld_BulletBody(game.knap, id);
    assert_non_null(body);
    assert_true(knId_Equals(knWorld_FindBody(game.knap, body), id));
    knVec3 center = StateOf(game.knap, id).transform.position;
    btVector3 c(center.x, center.y, center.z);
    game.world.updateAabbs();

    btVector3 from = c + btVector3(0.0f, 1.0f, 0.0f);
    btCollisionWorld::ClosestRayResultCallback ray(from, c);
    game.world.rayTest(from, c, ray);
    assert_true(ray.hasHit());
    assert_ptr_equal(ray.m_collisionObject, body);
    // against the exact surface
    knBodyPiece piece;
    assert_int_equal(knWorld_BodyPiece(game.knap, id, &piece), kn_success);
    knCastHit exact;
    assert_true(
        knCastRay(piece.mesh, knMakeVec3(0.0f, 1.0f, 0.0f), knMakeVec3(0.0f, 0.0f, 0.0f), &exact));
    ASSERT_NEAR(ray.m_closestHitFraction, exact.fraction, 1e-4);

    btSphereShape ball(0.05f);
    btCollisionWorld::ClosestConvexResultCallback sweep(from, c);
    game.world.convexSweepTest(&ball, btTransform(btQuaternion::getIdentity(), from),
                               btTransform(btQuaternion::getIdentity(), c), sweep);
    assert_true(sweep.hasHit());
    knCastHit exactBall;
    assert_true(knCastSphere(piece.mesh, knMakeVec3(0.0f, 1.0f, 0.0f), knMakeVec3(0.0f, 0.0f, 0.0f),
                             0.05f, &exactBall));
    ASSERT_NEAR(sweep.m_closestHitFraction, exactBall.fraction, 0.01);

    struct Counter : btCollisionWorld::ContactResultCallback
    {
        btScalar addSingleResult(btManifoldPoint&, const btCollisionObjectWrapper*, int, int,
                                 const btCollisionObjectWrapper*, int, int) override
        {
            count += 1;
            return 0.0f;
        }
        int count = 0;
    } counter;
    btCollisionObject probe;
    probe.setCollisionShape(&ball);
    probe.setWorldTransform(btTransform(btQuaternion::getIdentity(), c));
    game.world.contactPairTest(&probe, body, counter);
    assert_true(counter.count > 0);
    counter.count = 0;
    game.world.contactTest(body, counter);
    assert_int_equal(counter.count, 0);
    probe.setWorldTransform(btTransform(btQuaternion::getIdentity(), from));
    game.world.contactPairTest(&probe, body, counter);
    assert_int_equal(counter.count, 0);
}

int addedCount, startedCount, endedCount;

bool CountAdded(btManifoldPoint& point, const btCollisionObjectWrapper*, int, int,
                const btCollisionObjectWrapper*, int, int)
{
    addedCount += 1;
    point.m_combinedFriction = 0.0f;
    return true;
}

void CountStarted(btPersistentManifold* const&)
{
    startedCount += 1;
}

void CountEnded(btPersistentManifold* const&)
{
    endedCount += 1;
}

// Contact callbacks as for Bullet's own shapes: begun once, ended once, and the material is the
// game's.
void CallbacksAreCalled(void**)
{
    btStaticPlaneShape plane(btVector3(0.0f, 1.0f, 0.0f), 0.0f);
    Game game;
    game.Add(&plane, 0.0f, btTransform::getIdentity());
    knBodyId id = DropBrick(game, 0.0f);
    btRigidBody* body = knWorld_BulletBody(game.knap, id);
    body->setCollisionFlags(body->getCollisionFlags() |
                            btCollisionObject::CF_CUSTOM_MATERIAL_CALLBACK);
    addedCount = startedCount = endedCount = 0;
    gContactAddedCallback = CountAdded;
    gContactStartedCallback = CountStarted;
    gContactEndedCallback = CountEnded;
    game.Step(100, DT);
    assert_true(addedCount > 100);
    int started = startedCount;
    assert_in_range(started, 1, 10);
    game.Step(50, DT);
    assert_int_equal(startedCount, started);
    // no friction by the callback: a push makes it slide on
    knVec3 push = {1.0f, 0.0f, 0.0f}, none = {0.0f, 0.0f, 0.0f};
    assert_int_equal(knWorld_SetVelocity(game.knap, id, push, none), kn_success);
    game.Step(100, DT);
    assert_true(StateOf(game.knap, id).velocity.x > 0.95f);
    int ended = endedCount;
    body->translate(btVector3(0.0f, 5.0f, 0.0f));
    game.Step(2, DT);
    assert_true(endedCount > ended);
    gContactAddedCallback = nullptr;
    gContactStartedCallback = nullptr;
    gContactEndedCallback = nullptr;
}

struct TickCount
{
    int pre = 0, post = 0;
};

void PreTick(btDynamicsWorld* world, btScalar)
{
    static_cast<TickCount*>(world->getWorldUserInfo())->pre += 1;
}

void PostTick(btDynamicsWorld* world, btScalar)
{
    static_cast<TickCount*>(world->getWorldUserInfo())->post += 1;
}

// Attaching takes nothing away, detaching leaves nothing behind.
void AttachAndDetachAThousandTimes(void**)
{
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher(&configuration);
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
    btStaticPlaneShape plane(btVector3(0.0f, 1.0f, 0.0f), 0.0f);
    btRigidBody floor(btRigidBody::btRigidBodyConstructionInfo(0.0f, nullptr, &plane));
    world.addRigidBody(&floor);
    TickCount ticks;
    world.setInternalTickCallback(PreTick, &ticks, true);
    world.setInternalTickCallback(PostTick, &ticks, false);
    knMemoryTracker tracker = {};
    knAllocator allocator = knTrackingAllocator(&tracker, nullptr);
    int manifolds = dispatcher.getNumManifolds();
    int count = KN_TEST_SLOW ? 50 : 1000;
    for (int i = 0; i < count; ++i)
    {
        knWorld* knap = nullptr;
        knWorldDef def = knDefaultWorldDef();
        assert_int_equal(knAttachWorld(&knap, &world, &def, &allocator), kn_success);
        knWorld* second = nullptr;
        assert_int_equal(knAttachWorld(&second, &world, &def, &allocator), kn_errorArgument);
        assert_int_equal(knWorld_Step(knap, DT), kn_errorArgument);
        if (i % 50 == 0)
        {
            AddObject(knap, &brick, knMakeVec3(0.0f, 0.0f, 0.0f), knIdentityQuat());
            world.stepSimulation(DT, 0);
            assert_true(dispatcher.getNumManifolds() > manifolds);
        }
        knDestroyWorld(knap);
        assert_int_equal(tracker.liveCount, 0);
    }
    assert_int_equal(dispatcher.getNumManifolds(), manifolds);
    assert_int_equal(world.getNumCollisionObjects(), 1);
    assert_int_equal(ticks.pre, (count + 49) / 50);
    assert_int_equal(ticks.post, ticks.pre);
    assert_ptr_equal(world.getWorldUserInfo(), &ticks);
    world.removeRigidBody(&floor);
}

int OpenModels(void**)
{
    brick = OpenDemoModel("brick");
    bunny = OpenDemoModel("bunny");
    return 0;
}

int CloseModels(void**)
{
    CloseModel(&brick);
    CloseModel(&bunny);
    return 0;
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PiecesRestOnEveryShape), cmocka_unit_test(EveryShapeRestsOnPieces),
        cmocka_unit_test(CastsAndContactTestsSeePieces), cmocka_unit_test(CallbacksAreCalled),
        cmocka_unit_test(AttachAndDetachAThousandTimes)};
    return cmocka_run_group_tests(tests, OpenModels, CloseModels);
}
