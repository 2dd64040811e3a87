// SPDX-License-Identifier: Zlib
#include "bench/break_peer.h"

#include "bench/pile_shapes.h"
#include "knap/bullet.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <ctime>

#include <map>
#include <memory>
#include <utility>

namespace
{

struct Body
{
    knPileShape shape = knPileShape();
    std::unique_ptr<btRigidBody> body;
    bool isThere = false;                 // in the world that is followed, still
    btVector3 start = btVector3(0, 0, 0); // where it was placed

    Body() = default;
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    ~Body()
    {
        body.reset();
        knDestroyPileShape(&shape);
    }
};

using Key = std::pair<uint32_t, uint32_t>;

} // namespace

struct knBreakPeer
{
    knPileMethod method;
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld bullet{&dispatcher, &broadphase, &solver, &configuration};
    btStaticPlaneShape floorShape{btVector3(0, 1, 0), 0};
    btRigidBody floor{btRigidBody::btRigidBodyConstructionInfo(0, nullptr, &floorShape)};
    std::map<Key, Body> bodies;
};

static double ThreadSeconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

knResult knCreateBreakPeer(knBreakPeer** out, knPileMethod method, int solverIterations)
{
    knBreakPeer* peer = new knBreakPeer;
    peer->method = method;
    btGImpactCollisionAlgorithm::registerAlgorithm(&peer->dispatcher);
    peer->bullet.setGravity(btVector3(0, -9.81f, 0));
    if (solverIterations > 0)
    {
        knTuneBullet(&peer->bullet);
        peer->bullet.getSolverInfo().m_numIterations = solverIterations;
    }
    peer->floor.setFriction(0.6f);
    peer->bullet.addRigidBody(&peer->floor);
    *out = peer;
    return kn_success;
}

void knDestroyBreakPeer(knBreakPeer* peer)
{
    if (!peer)
    {
        return;
    }
    for (auto& entry : peer->bodies)
    {
        peer->bullet.removeRigidBody(entry.second.body.get());
    }
    peer->bullet.removeRigidBody(&peer->floor);
    delete peer;
}

// ---- shapes and bodies

static void MakeStaticMesh(knPileShape* shape, const knPieceMesh* mesh)
{
    shape->triangles = new btTriangleMesh;
    for (uint32_t t = 0; t < mesh->triangleCount; ++t)
    {
        knVec3 v[3];
        knPieceMesh_Corners(mesh, t, v);
        shape->triangles->addTriangle(btVector3(v[0].x, v[0].y, v[0].z),
                                      btVector3(v[1].x, v[1].y, v[1].z),
                                      btVector3(v[2].x, v[2].y, v[2].z));
    }
    shape->shape = new btBvhTriangleMeshShape(shape->triangles, true);
}

static knResult MakePiece(knBreakPeer* peer, Body& made, const knBodyPiece& piece, float mass,
                          btVector3* inertia)
{
    if (mass == 0.0f)
    {
        MakeStaticMesh(&made.shape, piece.mesh);
        return kn_success;
    }
    const knMassProperties* m = &knFamily_Fragments(piece.object)->fragments[piece.fragment].mass;
    *inertia = btVector3((btScalar)m->inertia.xx, (btScalar)m->inertia.yy, (btScalar)m->inertia.zz);
    return knMakePileShape(&made.shape, peer->method, piece.mesh, 0.0);
}

static knResult AddBody(knBreakPeer* peer, Body& made, float mass, const btVector3& inertia)
{
    btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, made.shape.shape, inertia);
    info.m_friction = 0.5f;
    made.body = std::make_unique<btRigidBody>(info);
    made.body->setActivationState(DISABLE_DEACTIVATION);
    peer->bullet.addRigidBody(made.body.get());
    return kn_success;
}

// False for what is neither piece nor ball: the floor, which is there from the start.
static bool Make(knBreakPeer* peer, const knWorld* world, knBodyId id, float radius, float mass,
                 knResult* result)
{
    Body& made = peer->bodies[Key(id.index, id.generation)];
    btVector3 inertia(0, 0, 0);
    knBodyPiece piece;
    *result = kn_success;
    if (radius > 0.0f)
    {
        made.shape.shape = new btSphereShape(radius);
        made.shape.shape->calculateLocalInertia(mass, inertia);
    }
    else if (knWorld_BodyPiece(world, id, &piece) == kn_success)
    {
        *result = MakePiece(peer, made, piece, mass, &inertia);
    }
    if (!made.shape.shape)
    {
        peer->bodies.erase(Key(id.index, id.generation));
        return false;
    }
    *result = AddBody(peer, made, mass, inertia);
    return true;
}

static void Place(Body& made, const knBodyState& s)
{
    btTransform t(
        btQuaternion(s.transform.rotation.x, s.transform.rotation.y, s.transform.rotation.z,
                     s.transform.rotation.w),
        btVector3(s.transform.position.x, s.transform.position.y, s.transform.position.z));
    made.start = t.getOrigin();
    made.body->setWorldTransform(t);
    made.body->setInterpolationWorldTransform(t);
    made.body->setLinearVelocity(btVector3(s.velocity.x, s.velocity.y, s.velocity.z));
    made.body->setAngularVelocity(btVector3(s.spin.x, s.spin.y, s.spin.z));
    made.body->updateInertiaTensor();
}

static float RadiusOf(const knBreakBall* balls, uint32_t count, knBodyId id)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (knId_Equals(balls[i].body, id))
        {
            return balls[i].radius;
        }
    }
    return 0.0f;
}

static void RemoveGone(knBreakPeer* peer)
{
    for (auto entry = peer->bodies.begin(); entry != peer->bodies.end();)
    {
        if (!entry->second.isThere)
        {
            peer->bullet.removeRigidBody(entry->second.body.get());
            entry = peer->bodies.erase(entry);
        }
        else
        {
            entry->second.isThere = false;
            ++entry;
        }
    }
}

knResult knBreakPeer_Follow(knBreakPeer* peer, const knWorld* world, const knBreakBall* balls,
                            uint32_t ballCount, double* seconds)
{
    knResult result = kn_success;
    *seconds = 0.0;
    for (knBodyId id = knWorld_NextBody(world, knBodyId()); !knId_IsNull(id);
         id = knWorld_NextBody(world, id))
    {
        knBodyState state;
        result = knWorld_BodyState(world, id, &state);
        auto found = peer->bodies.find(Key(id.index, id.generation));
        if (result == kn_success && found == peer->bodies.end())
        {
            float radius = RadiusOf(balls, ballCount, id);
            double start = ThreadSeconds();
            bool isMade = Make(peer, world, id, radius, state.mass, &result);
            *seconds += ThreadSeconds() - start;
            found = isMade ? peer->bodies.find(Key(id.index, id.generation)) : peer->bodies.end();
        }
        if (result != kn_success)
        {
            return result;
        }
        if (found != peer->bodies.end())
        {
            found->second.isThere = true;
            Place(found->second, state);
        }
    }
    double start = ThreadSeconds();
    RemoveGone(peer);
    *seconds += ThreadSeconds() - start;
    return kn_success;
}

knResult knBreakPeer_Step(knBreakPeer* peer, float dt, double* seconds)
{
    double start = ThreadSeconds();
    peer->bullet.stepSimulation(dt, 0, dt);
    *seconds = ThreadSeconds() - start;
    return kn_success;
}

double knBreakPeer_WorstSpeed(const knBreakPeer* peer)
{
    double worst = 0.0;
    for (const auto& entry : peer->bodies)
    {
        double speed = (double)entry.second.body->getLinearVelocity().length();
        worst = speed > worst ? speed : worst;
    }
    return worst;
}

double knBreakPeer_WorstMiss(const knBreakPeer* peer, double fall)
{
    double worst = 0.0;
    for (const auto& entry : peer->bodies)
    {
        btVector3 way = entry.second.body->getWorldTransform().getOrigin() - entry.second.start;
        way.setY(way.y() + (btScalar)fall);
        double miss = (double)way.length();
        worst = miss > worst ? miss : worst;
    }
    return worst;
}
