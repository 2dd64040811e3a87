// SPDX-License-Identifier: Zlib
// The one translation unit that knows Bullet: translations between Bullet's objects and Knap's, no
// more. Headers of its own hold the shapes, the contacts and the joints.
//
// Bullet's own allocations go through btAlignedAlloc and cannot fail gracefully; what Knap makes
// itself comes from the world's allocator.

#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>
#include <LinearMath/btPoolAllocator.h>
#include <btBulletDynamicsCommon.h>

#include "bullet_shim_contacts.h"
#include "bullet_shim_joints.h"

namespace
{

// Every type that can meet a piece, in both orders. Compounds and soft bodies have their own ways,
// which lead here for their parts.
bool IsRegistered(int type)
{
    return type < COMPOUND_SHAPE_PROXYTYPE && type != CONCAVE_SHAPES_START_HERE &&
           type != IMPLICIT_CONVEX_SHAPES_START_HERE && type != EMPTY_SHAPE_PROXYTYPE &&
           type != CONCAVE_SHAPES_END_HERE;
}

void Register(knPort* port)
{
    btCollisionDispatcher* d = port->dispatcher;
    for (int i = 0; i < MAX_BROADPHASE_COLLISION_TYPES; ++i)
    {
        SavedEntry& saved = port->saved[i];
        saved.contact[0] = DispatcherTables::Contact(d, PIECE_TYPE, i);
        saved.contact[1] = DispatcherTables::Contact(d, i, PIECE_TYPE);
        saved.closest[0] = DispatcherTables::Closest(d, PIECE_TYPE, i);
        saved.closest[1] = DispatcherTables::Closest(d, i, PIECE_TYPE);
    }
    for (int i = 0; i < MAX_BROADPHASE_COLLISION_TYPES; ++i)
    {
        if (IsRegistered(i))
        {
            d->registerCollisionCreateFunc(PIECE_TYPE, i, &port->contactFunc);
            d->registerCollisionCreateFunc(i, PIECE_TYPE, &port->contactFunc);
            d->registerClosestPointsCreateFunc(PIECE_TYPE, i, &port->closestFunc);
            d->registerClosestPointsCreateFunc(i, PIECE_TYPE, &port->closestFunc);
        }
    }
    port->isRegistered = true;
}

void Unregister(knPort* port)
{
    btCollisionDispatcher* d = port->dispatcher;
    for (int i = 0; i < MAX_BROADPHASE_COLLISION_TYPES; ++i)
    {
        const SavedEntry& saved = port->saved[i];
        d->registerCollisionCreateFunc(PIECE_TYPE, i, saved.contact[0]);
        d->registerCollisionCreateFunc(i, PIECE_TYPE, saved.contact[1]);
        d->registerClosestPointsCreateFunc(PIECE_TYPE, i, saved.closest[0]);
        d->registerClosestPointsCreateFunc(i, PIECE_TYPE, saved.closest[1]);
    }
}

knResult MakeWorld(knPort* port, const knWorldDef* def)
{
    const knAllocator& allocator = port->allocator;
    port->configuration = Make<btDefaultCollisionConfiguration>(allocator);
    port->broadphase = Make<btDbvtBroadphase>(allocator);
    port->solver = Make<btSequentialImpulseConstraintSolver>(allocator);
    port->ownDispatcher =
        port->configuration ? Make<btCollisionDispatcher>(allocator, port->configuration) : nullptr;
    if (!port->broadphase || !port->solver || !port->ownDispatcher)
    {
        return kn_errorMemory;
    }
    port->ownWorld = Make<btDiscreteDynamicsWorld>(allocator, port->ownDispatcher, port->broadphase,
                                                   port->solver, port->configuration);
    if (!port->ownWorld)
    {
        return kn_errorMemory;
    }
    port->world = port->ownWorld;
    port->world->setGravity(ToBt(def->gravity));
    port->world->getSolverInfo().m_numIterations = def->solverIterations;
    port->world->getSolverInfo().m_linearSlop = def->slop;
    // without it the order of the pairs follows addresses, and no run repeats another
    port->world->getDispatchInfo().m_deterministicOverlappingPairs = true;
    knTuneBullet(port->world);
    return kn_success;
}

knResult CheckBullet(knPort* port)
{
    port->dispatcher = dynamic_cast<btCollisionDispatcher*>(port->world->getDispatcher());
    if (!port->dispatcher)
    {
        return knFail(kn_errorArgument, "the world's dispatcher is no btCollisionDispatcher");
    }
    btPoolAllocator* pool =
        port->dispatcher->getCollisionConfiguration()->getCollisionAlgorithmPool();
    if (pool->getElementSize() < static_cast<int>(sizeof(Algorithm)))
    {
        return knFail(kn_errorArgument,
                      "the pool of collision algorithms has items of %d bytes, Knap needs %zu: "
                      "raise m_customCollisionAlgorithmMaxElementSize",
                      pool->getElementSize(), sizeof(Algorithm));
    }
    if (dynamic_cast<CreateFunc*>(
            DispatcherTables::Contact(port->dispatcher, PIECE_TYPE, PIECE_TYPE)))
    {
        return knFail(kn_errorArgument, "Knap is attached to this world already");
    }
    return kn_success;
}

} // namespace

void knTuneBullet(btDiscreteDynamicsWorld* world)
{
    if (!world)
    {
        return;
    }
    btContactSolverInfo& info = world->getSolverInfo();
    // penetration is pushed out of positions, never turned into speed
    info.m_splitImpulse = 1;
    info.m_splitImpulsePenetrationThreshold = -1e-7f;
    // twice Bullet's share of it in a step: heaps of bricks end a third as deep, and as calm
    info.m_erp2 = 0.4f;
    // turning out counts more than Bullet's tenth of it, or what is wedged turns back in; all of it
    // would turn tumbling pieces far enough to be seen in their energy
    info.m_splitImpulseTurnErp = 0.5f;
    // contacts keep their identity, so all of the last impulse is a good guess: stacks stand
    info.m_warmstartingFactor = 1.0f;
    info.m_solverMode |= SOLVER_USE_WARMSTARTING | SOLVER_USE_2_FRICTION_DIRECTIONS;
}

knResult knCreatePort(knPort** out, const knPortDef* def)
{
    knPort* port = Make<knPort>(*def->allocator, *def);
    if (!port)
    {
        return kn_errorMemory;
    }
    knResult result = knCreateSources(&port->sources, &port->allocator);
    port->world = static_cast<btDiscreteDynamicsWorld*>(def->bullet);
    if (result == kn_success && !port->world)
    {
        result = MakeWorld(port, def->world);
    }
    result = result == kn_success ? CheckBullet(port) : result;
    if (result != kn_success)
    {
        knDestroyPort(port);
        return result;
    }
    Register(port);
    port->world->addAction(&port->action);
    *out = port;
    return kn_success;
}

void knDestroyPort(knPort* port)
{
    if (!port)
    {
        return;
    }
    if (port->isRegistered)
    {
        port->world->removeAction(&port->action);
        Unregister(port);
    }
    knAllocator allocator = port->allocator;
    Unmake(allocator, port->ownWorld);
    Unmake(allocator, port->ownDispatcher);
    Unmake(allocator, port->solver);
    Unmake(allocator, port->broadphase);
    Unmake(allocator, port->configuration);
    knDestroySources(port->sources);
    Unmake(allocator, port);
}

bool knPort_IsOwner(const knPort* port)
{
    return port->ownWorld != nullptr;
}

void knPort_SetGravity(knPort* port, knVec3 gravity)
{
    port->world->setGravity(ToBt(gravity));
}

knVec3 knPort_Gravity(const knPort* port)
{
    return FromBt(port->world->getGravity());
}

void knPort_Step(knPort* port, float dt)
{
    port->world->stepSimulation(dt, 0);
}

namespace
{

template <class T, class... Arguments> bool MakeShape(knPortBody* body, Arguments&&... arguments)
{
    body->shape = Make<T>(body->allocator, std::forward<Arguments>(arguments)...);
    body->shapeSize = sizeof(T);
    return body->shape != nullptr;
}

bool MakeHull(knPortBody* body, const knPortShape* s)
{
    if (!MakeShape<btConvexHullShape>(body))
    {
        return false;
    }
    body->positionCount = s->pointCount;
    body->positions =
        static_cast<knVec3*>(knAllocate(&body->allocator, s->pointCount, sizeof(knVec3)));
    if (!body->positions)
    {
        return false;
    }
    memcpy(body->positions, s->points, s->pointCount * sizeof(knVec3));
    btConvexHullShape* hull = static_cast<btConvexHullShape*>(body->shape);
    knBox box = knEmptyBox();
    for (uint32_t i = 0; i < s->pointCount; ++i)
    {
        hull->addPoint(ToBt(s->points[i]), false);
        box = knBox_AddPoint(box, s->points[i]);
    }
    hull->recalcLocalAabb();
    // Bullet thickens hulls by 4 cm; a hundredth of the size keeps its solver happy and looks right
    hull->setMargin(btMin(0.01f * knLength(knBox_Extent(box)), 0.01f));
    hull->optimizeConvexHull();
    return true;
}

bool MakeTriangleMesh(knPortBody* body, const knPortShape* s)
{
    const knTriangleMesh* mesh = s->mesh;
    const knAllocator& a = body->allocator;
    body->positionCount = mesh->positionCount;
    body->triangleCount = mesh->triangleCount;
    body->positions = static_cast<knVec3*>(knAllocate(&a, mesh->positionCount, sizeof(knVec3)));
    body->triangles =
        static_cast<knTriangle*>(knAllocate(&a, mesh->triangleCount, sizeof(knTriangle)));
    if (!body->positions || !body->triangles)
    {
        return false;
    }
    memcpy(body->positions, mesh->positions, mesh->positionCount * sizeof(knVec3));
    memcpy(body->triangles, mesh->triangles, mesh->triangleCount * sizeof(knTriangle));
    body->meshArray = Make<btTriangleIndexVertexArray>(
        a, static_cast<int>(mesh->triangleCount),
        static_cast<int*>(static_cast<void*>(body->triangles)),
        static_cast<int>(sizeof(knTriangle)), static_cast<int>(mesh->positionCount),
        static_cast<btScalar*>(static_cast<void*>(body->positions)),
        static_cast<int>(sizeof(knVec3)));
    if (!body->meshArray || !MakeShape<btBvhTriangleMeshShape>(body, body->meshArray, true))
    {
        return false;
    }
    body->shape->setMargin(0.0f);
    return true;
}

bool MakeAnyShape(knPortBody* body, const knPortBodyDef& def)
{
    const knPortShape* s = def.shape;
    switch (s->kind)
    {
    case kn_portPlane:
        return MakeShape<btStaticPlaneShape>(body, ToBt(s->size), s->length);
    case kn_portBox:
        return MakeShape<btBoxShape>(body, ToBt(s->size));
    case kn_portSphere:
        return MakeShape<btSphereShape>(body, s->radius);
    case kn_portCapsule:
        return MakeShape<btCapsuleShape>(body, s->radius, 2.0f * s->length);
    case kn_portHull:
        return MakeHull(body, s);
    case kn_portMesh:
        return MakeTriangleMesh(body, s);
    default:
        return MakeShape<PieceShape>(body, def);
    }
}

// With pointers to the body's own copies.
void KeepShape(knPortBody* body, const knPortBodyDef& def)
{
    body->density = def.def->density;
    body->shapeDef = *def.shape;
    body->shapeDef.points = body->positions;
    body->meshView = {body->positions, body->triangles, body->positionCount, body->triangleCount};
    body->shapeDef.mesh = def.shape->kind == kn_portMesh ? &body->meshView : nullptr;
}

float ShapeVolume(const knPortShape* s)
{
    switch (s->kind)
    {
    case kn_portBox:
        return 8.0f * s->size.x * s->size.y * s->size.z;
    case kn_portSphere:
        return 4.18879f * s->radius * s->radius * s->radius;
    case kn_portCapsule:
        return 3.14159265f * s->radius * s->radius * (2.0f * s->length + 1.333333f * s->radius);
    default:
        return 0.0f;
    }
}

// A hull's by its box: games that need better give a family.
float BoxVolume(const btCollisionShape* shape)
{
    btVector3 lower, upper;
    shape->getAabb(btTransform::getIdentity(), lower, upper);
    btVector3 e = upper - lower;
    return 0.5f * e.x() * e.y() * e.z();
}

void SetFlags(btRigidBody* body, const knBodyDef* def)
{
    body->setFriction(def->friction);
    body->setRestitution(def->restitution);
    body->setRollingFriction(def->rollingFriction);
    body->setDamping(def->linearDamping, def->angularDamping);
    if (def->kind == kn_bodyKinematic)
    {
        body->setCollisionFlags(body->getCollisionFlags() | btCollisionObject::CF_KINEMATIC_OBJECT);
    }
    if (def->noSleep || def->kind == kn_bodyKinematic)
    {
        body->setActivationState(DISABLE_DEACTIVATION);
    }
}

void MassOf(const knPortBody* body, const knPortBodyDef& def, btScalar* mass, btVector3* inertia)
{
    *mass = 0.0f;
    inertia->setZero();
    if (def.def->kind != kn_bodyDynamic)
    {
        return;
    }
    if (def.shape->kind == kn_portPiece)
    {
        *mass = static_cast<btScalar>(def.mass);
        *inertia = ToBt(def.inertia);
        return;
    }
    float volume = ShapeVolume(def.shape);
    *mass = def.def->density * (volume > 0.0f ? volume : BoxVolume(body->shape));
    body->shape->calculateLocalInertia(*mass, *inertia);
}

} // namespace

knResult knPort_CreateBody(knPort* port, const knPortBodyDef* def, knPortBody** out)
{
    knPortBody* body = Make<knPortBody>(port->allocator);
    if (!body)
    {
        return kn_errorMemory;
    }
    body->allocator = port->allocator;
    body->toMesh.setIdentity();
    if (def->shape->kind == kn_portPiece)
    {
        body->toMesh.setRotation(btQuaternion(def->axes.x, def->axes.y, def->axes.z, def->axes.w));
    }
    if (!MakeAnyShape(body, *def))
    {
        knPort_DestroyBody(port, body);
        return kn_errorMemory;
    }
    KeepShape(body, *def);
    btScalar mass;
    btVector3 inertia;
    MassOf(body, *def, &mass, &inertia);
    btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, body->shape, inertia);
    info.m_startWorldTransform = ToBt(def->frame) * body->toMesh;
    body->body = Make<btRigidBody>(port->allocator, info);
    if (!body->body)
    {
        knPort_DestroyBody(port, body);
        return kn_errorMemory;
    }
    SetFlags(body->body, def->def);
    body->body->setUserIndex3(static_cast<int>(def->slot));
    body->body->setLinearVelocity(ToBt(def->def->velocity));
    body->body->setAngularVelocity(ToBt(def->def->spin));
    port->world->addRigidBody(body->body, def->def->group, def->def->mask);
    if (def->startsAsleep && !def->def->noSleep)
    {
        body->body->setActivationState(ISLAND_SLEEPING);
    }
    body->isAdded = true;
    *out = body;
    return kn_success;
}

void knPort_DestroyBody(knPort* port, knPortBody* body)
{
    if (!body)
    {
        return;
    }
    const knAllocator& a = port->allocator;
    if (body->isAdded)
    {
        port->world->removeRigidBody(body->body);
    }
    Unmake(a, body->body);
    if (body->shape)
    {
        body->shape->~btCollisionShape();
        knRelease(&a, body->shape, 1, body->shapeSize);
    }
    Unmake(a, body->meshArray);
    knRelease(&a, body->positions, body->positionCount, sizeof(knVec3));
    knRelease(&a, body->triangles, body->triangleCount, sizeof(knTriangle));
    Unmake(a, body);
}

void* knPortBody_Object(const knPortBody* body)
{
    return body->body;
}

void knPortBody_State(const knPortBody* body, knBodyState* state)
{
    const btRigidBody* b = body->body;
    state->transform = FromBt(b->getWorldTransform() * body->toMesh.inverse());
    state->velocity = FromBt(b->getLinearVelocity());
    state->spin = FromBt(b->getAngularVelocity());
    state->mass = b->getInvMass() > 0.0f ? 1.0f / b->getInvMass() : 0.0f;
    state->isAwake = b->isActive();
}

const knPortShape* knPortBody_Shape(const knPortBody* body)
{
    return &body->shapeDef;
}

knPortSleep knPortBody_Sleep(const knPortBody* body)
{
    int state = body->body->getActivationState();
    return {body->body->getDeactivationTime(), state == ISLAND_SLEEPING};
}

void knPortBody_SetSleep(knPortBody* body, knPortSleep sleep)
{
    if (sleep.isAsleep && body->body->getInvMass() > 0.0f)
    {
        body->body->forceActivationState(ISLAND_SLEEPING);
    }
    body->body->setDeactivationTime(sleep.seconds);
}

void knPortBody_Def(const knPortBody* body, knBodyDef* def)
{
    const btRigidBody* b = body->body;
    def->density = body->density;
    def->kind = b->isKinematicObject() ? kn_bodyKinematic
                : b->isStaticObject()  ? kn_bodyStatic
                                       : kn_bodyDynamic;
    def->friction = b->getFriction();
    def->restitution = b->getRestitution();
    def->rollingFriction = b->getRollingFriction();
    def->linearDamping = b->getLinearDamping();
    def->angularDamping = b->getAngularDamping();
    def->group = b->getBroadphaseHandle()->m_collisionFilterGroup;
    def->mask = b->getBroadphaseHandle()->m_collisionFilterMask;
    def->noSleep = b->getActivationState() == DISABLE_DEACTIVATION;
}

// Contacts of the old place must not hold it: Bullet finds new ones in the next step.
void knPortBody_SetTransform(knPort* port, knPortBody* body, knTransform transform)
{
    btTransform t = ToBt(transform) * body->toMesh;
    btRigidBody* b = body->body;
    b->setWorldTransform(t);
    b->setInterpolationWorldTransform(t);
    b->updateInertiaTensor();
    if (!body->isAdded)
    {
        return;
    }
    port->world->updateSingleAabb(b);
    port->world->getBroadphase()->getOverlappingPairCache()->cleanProxyFromPairs(
        b->getBroadphaseHandle(), port->dispatcher);
    b->activate(true);
}

void knPortBody_SetVelocity(knPortBody* body, knVec3 velocity, knVec3 spin)
{
    body->body->setLinearVelocity(ToBt(velocity));
    body->body->setAngularVelocity(ToBt(spin));
    body->body->setInterpolationLinearVelocity(ToBt(velocity));
    body->body->setInterpolationAngularVelocity(ToBt(spin));
    body->body->activate(true);
}

void knPortBody_ApplyImpulse(knPortBody* body, knVec3 impulse, knVec3 point)
{
    btRigidBody* b = body->body;
    b->activate(true);
    b->applyImpulse(ToBt(impulse), ToBt(point) - b->getCenterOfMassPosition());
}

void knPortBody_SetFilter(knPort* port, knPortBody* body, int group, int mask)
{
    btBroadphaseProxy* proxy = body->body->getBroadphaseHandle();
    if (!proxy)
    {
        return;
    }
    proxy->m_collisionFilterGroup = group;
    proxy->m_collisionFilterMask = mask;
    port->world->refreshBroadphaseProxy(body->body);
    body->body->activate(true);
}

void knPortBody_Wake(knPortBody* body)
{
    body->body->activate(true);
}

void knPort_TakeOut(knPort* port, knPortBody* body)
{
    if (body->isAdded)
    {
        port->world->removeRigidBody(body->body);
        body->isAdded = false;
    }
}

bool knPortBody_IsIn(const knPortBody* body)
{
    return body->isAdded;
}

// Bullet keeps lists of what moves: a body that changes sides is taken out and put back.
void knPort_Freeze(knPort* port, knPortBody* body, bool isFrozen)
{
    btRigidBody* b = body->body;
    int group = b->getBroadphaseHandle()->m_collisionFilterGroup;
    int mask = b->getBroadphaseHandle()->m_collisionFilterMask;
    port->world->removeRigidBody(b);
    if (isFrozen)
    {
        body->frozenMass = 1.0f / b->getInvMass();
        body->frozenInertia = b->getLocalInertia();
        b->clearForces();
        b->setLinearVelocity(btVector3(0.0f, 0.0f, 0.0f));
        b->setAngularVelocity(btVector3(0.0f, 0.0f, 0.0f));
    }
    btVector3 none(0.0f, 0.0f, 0.0f);
    b->setMassProps(isFrozen ? 0.0f : body->frozenMass, isFrozen ? none : body->frozenInertia);
    b->updateInertiaTensor();
    port->world->addRigidBody(b, group, mask);
    if (!isFrozen)
    {
        b->forceActivationState(ACTIVE_TAG);
        b->activate(true);
    }
}

void knPortBody_Ignore(knPortBody* body, const void* object, bool isIgnored)
{
    body->body->setIgnoreCollisionCheck(static_cast<const btCollisionObject*>(object), isIgnored);
}

void knPort_Separate(knPort* port, knPortBody* body, const void* object)
{
    btCollisionObject* other =
        const_cast<btCollisionObject*>(static_cast<const btCollisionObject*>(object));
    body->body->setIgnoreCollisionCheck(other, true);
    if (!body->body->getBroadphaseHandle() || !other->getBroadphaseHandle())
    {
        return; // one is out of the engine
    }
    // it would go on solving what it knows of them
    btOverlappingPairCache* cache = port->world->getBroadphase()->getOverlappingPairCache();
    btBroadphasePair* pair =
        cache->findPair(body->body->getBroadphaseHandle(), other->getBroadphaseHandle());
    if (pair)
    {
        cache->cleanOverlappingPair(*pair, port->dispatcher);
    }
}

bool knPort_Holds(const knPort* port, const void* object)
{
    const btCollisionObjectArray& objects = port->world->getCollisionObjectArray();
    for (int i = 0; i < objects.size(); ++i)
    {
        if (objects[i] == object)
        {
            return true;
        }
    }
    return false;
}

bool knPort_CanMove(const void* object)
{
    return !static_cast<const btCollisionObject*>(object)->isStaticOrKinematicObject();
}

// The callback may change what the engine knows, so they are listed first.
void knPort_EachNeighbour(knPort* port, const knPortBody* body, knPortObjectFcn* callback,
                          void* user)
{
    port->neighbours.resizeNoInitialize(0);
    for (const Algorithm* a = port->first; a; a = a->next)
    {
        if (a->objects[0] == body->body || a->objects[1] == body->body)
        {
            port->neighbours.push_back(a->objects[a->objects[0] == body->body ? 1 : 0]);
        }
    }
    for (int i = 0; i < port->neighbours.size(); ++i)
    {
        callback(port->neighbours[i], user);
    }
}

void knPort_WakeObject(const void* object)
{
    btRigidBody* body = const_cast<btRigidBody*>(
        btRigidBody::upcast(static_cast<const btCollisionObject*>(object)));
    if (body && body->getInvMass() > 0.0f)
    {
        body->activate(true);
    }
}

void knPort_ReleaseConstraints(knPort* port, knPortBody* body,
                               void (*callback)(void* constraint, void* user), void* user)
{
    for (int i = port->world->getNumConstraints() - 1; i >= 0; --i)
    {
        btTypedConstraint* c = port->world->getConstraint(i);
        if (&c->getRigidBodyA() == body->body || &c->getRigidBodyB() == body->body)
        {
            port->world->removeConstraint(c);
            callback(c, user);
        }
    }
}

uint32_t knPort_SlotOf(const void* object)
{
    return static_cast<uint32_t>(static_cast<const btCollisionObject*>(object)->getUserIndex3());
}

void knPort_Cast(const knPort* port, knVec3 from, knVec3 to, float radius, int mask, knPortHit* hit)
{
    *hit = knPortHit();
    if (radius > 0.0f)
    {
        btCollisionWorld::ClosestConvexResultCallback found(ToBt(from), ToBt(to));
        found.m_collisionFilterGroup = btBroadphaseProxy::AllFilter;
        found.m_collisionFilterMask = mask;
        btSphereShape ball(radius);
        port->world->convexSweepTest(&ball, btTransform(btQuaternion::getIdentity(), ToBt(from)),
                                     btTransform(btQuaternion::getIdentity(), ToBt(to)), found);
        *hit = {found.m_hitCollisionObject, FromBt(found.m_hitPointWorld),
                FromBt(found.m_hitNormalWorld), found.m_closestHitFraction};
        return;
    }
    btCollisionWorld::ClosestRayResultCallback found(ToBt(from), ToBt(to));
    found.m_collisionFilterGroup = btBroadphaseProxy::AllFilter;
    found.m_collisionFilterMask = mask;
    port->world->rayTest(ToBt(from), ToBt(to), found);
    *hit = {found.m_collisionObject, FromBt(found.m_hitPointWorld), FromBt(found.m_hitNormalWorld),
            found.m_closestHitFraction};
}

void knPort_Push(const void* object, knVec3 impulse, knVec3 point)
{
    btRigidBody* body = const_cast<btRigidBody*>(
        btRigidBody::upcast(static_cast<const btCollisionObject*>(object)));
    if (body && body->getInvMass() > 0.0f)
    {
        body->activate(true);
        body->applyImpulse(ToBt(impulse), ToBt(point) - body->getCenterOfMassPosition());
    }
}

float knPort_EffectiveMass(const void* const objects[2], const knVec3 points[2], knVec3 way)
{
    btVector3 normal = ToBt(knNormalize(way));
    btScalar inverse = 0.0f;
    for (int i = 0; i < 2; ++i)
    {
        const btRigidBody* body =
            btRigidBody::upcast(static_cast<const btCollisionObject*>(objects[i]));
        inverse += body ? body->computeImpulseDenominator(ToBt(points[i]), normal) : 0.0f;
    }
    return inverse > 0.0f ? 1.0f / inverse : FLT_MAX;
}

void knPort_EachContact(const knPort* port, knPortContactFcn* callback, void* user)
{
    for (const Algorithm* a = port->first; a; a = a->next)
    {
        uint64_t key = a->manifolds.size() > 0 ? PairKey(a->objects[0], a->objects[1]) : 0;
        for (int i = 0; i < a->manifolds.size(); ++i)
        {
            const btPersistentManifold* m = a->manifolds[i];
            for (int k = 0; k < m->getNumContacts(); ++k)
            {
                const btManifoldPoint& p = m->getContactPoint(k);
                knPortContact c = {{a->objects[0], a->objects[1]}, key, {}, {}, {}};
                c.contact.point = FromBt(p.m_positionWorldOnB);
                c.contact.normal = FromBt(p.m_normalWorldOnB);
                c.contact.distance = p.m_distance1;
                c.contact.impulse = p.m_appliedImpulse;
                c.contact.friction =
                    btSqrt(p.m_appliedImpulseLateral1 * p.m_appliedImpulseLateral1 +
                           p.m_appliedImpulseLateral2 * p.m_appliedImpulseLateral2);
                c.points[0] = FromBt(p.m_positionWorldOnA);
                c.points[1] = FromBt(p.m_positionWorldOnB);
                c.impulse = FromBt(p.m_appliedImpulse * p.m_normalWorldOnB +
                                   p.m_appliedImpulseLateral1 * p.m_lateralFrictionDir1 +
                                   p.m_appliedImpulseLateral2 * p.m_lateralFrictionDir2);
                callback(&c, user);
            }
        }
    }
}

void knPort_Times(const knPort* port, double* query, double* contacts)
{
    *query = port->lastQueryTime;
    *contacts = port->lastContactTime;
}

double knPort_Now(void)
{
    return Now();
}
