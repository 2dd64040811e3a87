// SPDX-License-Identifier: Zlib
// The least that a game with a Bullet world of its own needs: attach, add an object, step as ever.
//
//     c++ minimal.cpp $(pkg-config --cflags --libs knap bullet) -o minimal && ./minimal bunny.knap

#include "knap/bullet.h"
#include "knap/world_break.h"

#include <btBulletDynamicsCommon.h>
#include <cstdio>

static int Fail(const char* what)
{
    std::fprintf(stderr, "%s: %s\n", what, knLastError());
    return 1;
}

int main(int argc, char** argv)
{
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher(&configuration);
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld bullet(&dispatcher, &broadphase, &solver, &configuration);
    btStaticPlaneShape plane(btVector3(0.0f, 1.0f, 0.0f), 0.0f);
    btRigidBody floor(btRigidBody::btRigidBodyConstructionInfo(0.0f, nullptr, &plane));
    bullet.addRigidBody(&floor);

    knAsset* asset = nullptr;
    knModel* model = nullptr;
    knWorld* knap = nullptr;
    knWorldDef worldDef = knDefaultWorldDef();
    if (argc != 2 || knLoadAsset(&asset, argv[1], nullptr) != kn_success)
    {
        return Fail("usage: minimal FILE.knap (made by: knap cook MESH)");
    }
    if (knCreateModel(&model, asset, nullptr) != kn_success ||
        knAttachWorld(&knap, &bullet, &worldDef, nullptr) != kn_success)
    {
        return Fail("attach");
    }
    knTuneBullet(&bullet); // optional: stacks stand better

    knBodyDef def = knDefaultBodyDef();
    def.transform.position.y = 2.0f;
    knFamilyDef familyDef = knDefaultFamilyDef();
    familyDef.model = model;
    knFamilyId family;
    knBodyId body;
    if (knWorld_CreateFamily(knap, &def, &familyDef, &family, &body) != kn_success)
    {
        return Fail("object");
    }
    for (int i = 0; i < 240; ++i)
    {
        bullet.stepSimulation(1.0f / 120.0f, 0);
        knWorld_Break(knap, 1.0f / 120.0f);
    }
    std::printf("%u pieces\n", knWorld_Counters(knap).pieces);
    for (knBodyId id = knWorld_NextBody(knap, knBodyId()); !knId_IsNull(id);
         id = knWorld_NextBody(knap, id))
    {
        btRigidBody* rigid = knWorld_BulletBody(knap, id);
        std::printf("%.3f kg at height %.3f\n", double(1.0f / rigid->getInvMass()),
                    double(rigid->getCenterOfMassPosition().y()));
    }
    knDestroyWorld(knap);
    knDestroyModel(model);
    knDestroyAsset(asset);
    bullet.removeRigidBody(&floor);
    return 0;
}
