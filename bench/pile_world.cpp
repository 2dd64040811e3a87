// SPDX-License-Identifier: Zlib
#include "bench/pile_world.h"

#include "bench/pile_shapes.h"
#include "knap/bullet.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>

#include <map>
#include <vector>

namespace
{

// Bullet's world with a clock around collision: the same for every method.
class TimedWorld : public btDiscreteDynamicsWorld
{
  public:
    using btDiscreteDynamicsWorld::btDiscreteDynamicsWorld;

    void performDiscreteCollisionDetection() override
    {
        double start = Seconds(), processor = ProcessorSeconds();
        btDiscreteDynamicsWorld::performDiscreteCollisionDetection();
        processorSeconds += ProcessorSeconds() - processor;
        collisionSeconds += Seconds() - start;
    }

    double collisionSeconds = 0.0, processorSeconds = 0.0;
};

// A piece: Knap's, or a body of the peer's with its origin in the centre of mass.
struct Piece
{
    knBodyId id;
    btRigidBody* body;
    knVec3 center;
};

} // namespace

struct knPileWorld
{
    knPileWorldDef def;
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    TimedWorld bullet{&dispatcher, &broadphase, &solver, &configuration};
    knWorld* knap = nullptr;
    std::map<const knPileKind*, std::vector<knPileShape>> shapes;
    std::vector<btCollisionShape*> plainShapes;
    std::vector<btRigidBody*> bodies;
    std::vector<Piece> pieces;
    double shapeSeconds = 0.0;
};

static btTransform ToBullet(knTransform t)
{
    return btTransform(btQuaternion(t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w),
                       btVector3(t.position.x, t.position.y, t.position.z));
}

static btRigidBody* AddBody(knPileWorld* w, btCollisionShape* shape, float mass, btVector3 inertia,
                            const btTransform& place)
{
    btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shape, inertia);
    info.m_startWorldTransform = place;
    info.m_friction = 0.5f;
    btRigidBody* body = new btRigidBody(info);
    body->setActivationState(DISABLE_DEACTIVATION);
    w->bullet.addRigidBody(body);
    w->bodies.push_back(body);
    return body;
}

static knResult AttachKnap(knPileWorld* w)
{
    knWorldDef def = knDefaultWorldDef();
    def.limits.full = w->def.fullDetection;
    def.tasks = w->def.tasks;
    return knAttachWorld(&w->knap, &w->bullet, &def, nullptr);
}

knResult knCreatePileWorld(knPileWorld** out, const knPileWorldDef* def)
{
    knPileWorld* w = new knPileWorld;
    w->def = *def;
    btGImpactCollisionAlgorithm::registerAlgorithm(&w->dispatcher);
    w->bullet.setGravity(btVector3(0, -9.81f, 0));
    // shallow overlaps are pushed out without speed, in every method
    w->bullet.getSolverInfo().m_splitImpulsePenetrationThreshold = -1e-5f;
    btCollisionShape* floor = new btStaticPlaneShape(btVector3(0, 1, 0), 0);
    w->plainShapes.push_back(floor);
    AddBody(w, floor, 0.0f, btVector3(0, 0, 0), btTransform::getIdentity());
    knResult result = def->method == kn_pileKnap ? AttachKnap(w) : kn_success;
    if (result != kn_success)
    {
        knDestroyPileWorld(w);
        return result;
    }
    *out = w;
    return kn_success;
}

void knDestroyPileWorld(knPileWorld* w)
{
    if (!w)
    {
        return;
    }
    knDestroyWorld(w->knap);
    for (btRigidBody* body : w->bodies)
    {
        w->bullet.removeRigidBody(body);
        delete body;
    }
    for (auto& kind : w->shapes)
    {
        for (knPileShape& shape : kind.second)
        {
            knDestroyPileShape(&shape);
        }
    }
    for (btCollisionShape* shape : w->plainShapes)
    {
        delete shape;
    }
    delete w;
}

static knResult PlacePiece(knPileWorld* w, const knPileKind* kind, uint32_t index, knBodyId id,
                           knTransform transform)
{
    knVec3 center = kind->meshes[index].center;
    knTransform place = transform;
    place.position = knTransformPoint(transform, center);
    w->pieces.push_back(Piece{id, nullptr, center});
    return knWorld_SetTransform(w->knap, id, place);
}

static knResult AddFamily(knPileWorld* w, const knPileKind* kind, const knTransform* transforms)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform = transforms[0];
    def.friction = 0.5f;
    def.noSleep = true;
    knFamilyDef familyDef = knDefaultFamilyDef();
    familyDef.model = kind->model;
    knFamilyId family;
    knBodyId whole;
    knResult result = knWorld_CreateFamily(w->knap, &def, &familyDef, &family, &whole);
    if (result != kn_success || !kind->isBroken)
    {
        return result == kn_success ? PlacePiece(w, kind, 0, whole, transforms[0]) : result;
    }
    knWorldSplit split;
    result = knWorld_SplitBody(w->knap, whole, &kind->split, &split);
    std::vector<knBodyId> bodies;
    if (result == kn_success)
    {
        bodies.assign(split.bodies, split.bodies + split.bodyCount);
    }
    for (uint32_t i = 0; result == kn_success && i < kind->pieceCount; ++i)
    {
        result = knFail(kn_errorArgument, "a piece is not in the split");
        for (knBodyId id : bodies)
        {
            knBodyPiece piece;
            if (knWorld_BodyPiece(w->knap, id, &piece) == kn_success &&
                piece.fragment == kind->fragments[i])
            {
                result = PlacePiece(w, kind, i, id, transforms[i]);
                break;
            }
        }
    }
    return result;
}

static knResult MakeShapes(knPileWorld* w, const knPileKind* kind)
{
    std::vector<knPileShape>& shapes = w->shapes[kind];
    w->shapeSeconds = 0.0;
    for (uint32_t i = 0; i < kind->pieceCount; ++i)
    {
        knPileShape shape;
        knResult result =
            knMakePileShape(&shape, w->def.method, &kind->meshes[i], w->def.shapeSeconds);
        if (result != kn_success)
        {
            return result;
        }
        shapes.push_back(shape);
        w->shapeSeconds += shape.seconds;
    }
    return kn_success;
}

static knResult AddPeers(knPileWorld* w, const knPileKind* kind, const knTransform* transforms)
{
    if (w->shapes.find(kind) == w->shapes.end())
    {
        knResult result = MakeShapes(w, kind);
        if (result != kn_success)
        {
            return result;
        }
    }
    for (uint32_t i = 0; i < kind->pieceCount; ++i)
    {
        const knMassProperties* mass =
            &knFamily_Fragments(kind->family)->fragments[kind->fragments[i]].mass;
        knVec3 center = kind->meshes[i].center;
        knTransform place = transforms[i];
        place.position = knTransformPoint(transforms[i], center);
        btVector3 inertia((btScalar)mass->inertia.xx, (btScalar)mass->inertia.yy,
                          (btScalar)mass->inertia.zz);
        btRigidBody* body =
            AddBody(w, w->shapes[kind][i].shape, (float)mass->mass, inertia, ToBullet(place));
        w->pieces.push_back(Piece{knBodyId(), body, center});
    }
    return kn_success;
}

knResult knPileWorld_AddObject(knPileWorld* w, const knPileKind* kind,
                               const knTransform* transforms)
{
    return w->knap ? AddFamily(w, kind, transforms) : AddPeers(w, kind, transforms);
}

knResult knPileWorld_AddBall(knPileWorld* w, knVec3 center, float radius, float density)
{
    btCollisionShape* shape = new btSphereShape(radius);
    w->plainShapes.push_back(shape);
    float mass = density * 4.18879f * radius * radius * radius;
    btVector3 inertia;
    shape->calculateLocalInertia(mass, inertia);
    knTransform place = knIdentityTransform();
    place.position = center;
    AddBody(w, shape, mass, inertia, ToBullet(place));
    return kn_success;
}

static uint32_t CountContacts(const btCollisionDispatcher* dispatcher)
{
    uint32_t count = 0;
    for (int i = 0; i < dispatcher->getNumManifolds(); ++i)
    {
        const btPersistentManifold* m =
            const_cast<btCollisionDispatcher*>(dispatcher)->getManifoldByIndexInternal(i);
        for (int k = 0; k < m->getNumContacts(); ++k)
        {
            count += m->getContactPoint(k).getDistance() <= 0.0f;
        }
    }
    return count;
}

knResult knPileWorld_Step(knPileWorld* w, float dt, knPileStep* step)
{
    w->bullet.collisionSeconds = 0.0;
    w->bullet.processorSeconds = 0.0;
    double start = Seconds();
    w->bullet.stepSimulation(dt, 0, dt);
    step->total = Seconds() - start;
    step->collision = w->bullet.collisionSeconds;
    step->processor = w->bullet.processorSeconds;
    step->contacts = CountContacts(&w->dispatcher);
    return kn_success;
}

void knPileWorld_Transforms(const knPileWorld* w, knTransform* transforms)
{
    for (size_t i = 0; i < w->pieces.size(); ++i)
    {
        const Piece& piece = w->pieces[i];
        knTransform place = knIdentityTransform();
        if (w->knap)
        {
            knBodyState state;
            if (knWorld_BodyState(w->knap, piece.id, &state) == kn_success)
            {
                place = state.transform;
            }
        }
        else
        {
            const btTransform& t = piece.body->getWorldTransform();
            btQuaternion q = t.getRotation();
            place.position = knMakeVec3(t.getOrigin().x(), t.getOrigin().y(), t.getOrigin().z());
            place.rotation = knQuat{q.x(), q.y(), q.z(), q.w()};
        }
        knVec3 offset = knRotate(place.rotation, piece.center);
        place.position = knSub(place.position, offset);
        transforms[i] = place;
    }
}

double knPileWorld_ShapeSeconds(const knPileWorld* w)
{
    return w->shapeSeconds;
}
