// SPDX-License-Identifier: Zlib
#pragma once

// A Bullet world as a game makes it, with Knap attached. C++ only.

#include "bullet_scene.h"
#include "knap/bullet.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <btBulletDynamicsCommon.h>
#include <memory>
#include <vector>

// A Bullet world as a game makes it.
struct Game
{
    explicit Game(float gravity = -9.81f)
        : dispatcher(&configuration), world(&dispatcher, &broadphase, &solver, &configuration)
    {
        btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
        world.setGravity(btVector3(0.0f, gravity, 0.0f));
        knTuneBullet(&world);
        knWorldDef def = knDefaultWorldDef();
        assert_int_equal(knAttachWorld(&knap, &world, &def, nullptr), kn_success);
    }
    ~Game()
    {
        knDestroyWorld(knap);
        for (auto& body : bodies)
        {
            world.removeRigidBody(body.get());
        }
    }
    btRigidBody* Add(btCollisionShape* shape, float mass, const btTransform& place)
    {
        btVector3 inertia(0.0f, 0.0f, 0.0f);
        if (mass > 0.0f)
        {
            shape->calculateLocalInertia(mass, inertia);
        }
        btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shape, inertia);
        info.m_startWorldTransform = place;
        bodies.emplace_back(new btRigidBody(info));
        bodies.back()->setActivationState(DISABLE_DEACTIVATION);
        world.addRigidBody(bodies.back().get());
        return bodies.back().get();
    }
    void Step(int count, float dt)
    {
        for (int i = 0; i < count; ++i)
        {
            world.stepSimulation(dt, 0);
        }
    }
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher;
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world;
    knWorld* knap = nullptr;
    std::vector<std::unique_ptr<btRigidBody>> bodies;
};
