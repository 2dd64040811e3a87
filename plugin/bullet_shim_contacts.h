// SPDX-License-Identifier: Zlib
#pragma once

// Part of the one translation unit that knows Bullet: included by bullet_shim.cpp alone.
// The collision algorithm: asks Knap, and hands its contacts to Bullet's manifolds.

#include "bullet_shim_motion.h"
#include "bullet_shim_shapes.h"

namespace
{

class Algorithm final : public btCollisionAlgorithm
{
  public:
    Algorithm(knPort* owner, bool closest, const btCollisionAlgorithmConstructionInfo& info,
              const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b);
    ~Algorithm() override;

    void processCollision(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b,
                          const btDispatcherInfo& info, btManifoldResult* out) override;

    btScalar calculateTimeOfImpact(btCollisionObject*, btCollisionObject*, const btDispatcherInfo&,
                                   btManifoldResult*) override
    {
        return 1.0f;
    }

    void getAllContactManifolds(btManifoldArray& array) override
    {
        for (int i = 0; i < manifolds.size(); ++i)
        {
            array.push_back(manifolds[i]);
        }
    }

    bool IsFar(float dt) const;
    bool Prepare(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b);
    bool MakeInput(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b, float dt,
                   knPairInput* input);
    void Submit(float dt);
    bool Answer(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b, float dt,
                const knTouch** touches, uint32_t* count);
    void Fill(const knTouch* touches, uint32_t count, float dt, btManifoldResult* out);
    bool SlidesOn() const;
    void AddPoint(btPersistentManifold* manifold, const knTouch& touch, float dt,
                  btManifoldResult* out);
    void Report(const knTouch* touches, uint32_t count, btManifoldResult* out);
    void SetManifoldCount(int count);
    btManifoldPoint* FindOld(int part, int feature);

    knPort* port;
    Algorithm* next = nullptr;
    Algorithm* previous = nullptr;
    const btCollisionObject* objects[2];
    const PieceShape* pieces[2];    // or null
    knPairSource* source = nullptr; // null between pieces
    knId pair = {0, 0};
    btManifoldArray manifolds;
    btQuaternion turn = btQuaternion::getIdentity(); // from Knap's frame of the shape to Bullet's
    int oldCursor = 0;
    bool isClosest;
    bool isTop; // a pair of Bullet's cache, not of parts of a compound
    bool isListed = false;
};

Algorithm::Algorithm(knPort* owner, bool closest, const btCollisionAlgorithmConstructionInfo& info,
                     const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b)
    : btCollisionAlgorithm(info),
      port(owner), objects{a->getCollisionObject(), b->getCollisionObject()},
      pieces{AsPiece(a->getCollisionShape()), AsPiece(b->getCollisionShape())}, isClosest(closest),
      isTop(!a->m_parent && !b->m_parent)
{
    (void)Prepare(a, b);
    if (!isClosest)
    {
        previous = port->last;
        (port->last ? port->last->next : port->first) = this;
        port->last = this;
        isListed = true;
    }
}

// The pair and what stands on its other side. Tried again at the next call when there was no
// memory.
bool Algorithm::Prepare(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b)
{
    if (!knId_IsNull(pair))
    {
        return true;
    }
    knId id;
    if (knPairs_Add(port->pairs, &id) != kn_success)
    {
        return false;
    }
    if (!pieces[0] != !pieces[1])
    {
        const btCollisionShape* shape = (pieces[0] ? b : a)->getCollisionShape();
        knResult result = knSources_Take(port->sources, id.index, &source);
        if (result == kn_success && !IsMesh(shape->getShapeType()))
        {
            result = TranslateConvex(port, shape, source, &turn);
        }
        if (result != kn_success)
        {
            source = nullptr;
            knPairs_Remove(port->pairs, id);
            return false;
        }
    }
    pair = id;
    return true;
}

Algorithm::~Algorithm()
{
    for (int i = 0; i < manifolds.size(); ++i)
    {
        m_dispatcher->releaseManifold(manifolds[i]);
    }
    if (source)
    {
        knSources_Drop(port->sources, source);
    }
    knPairs_Remove(port->pairs, pair);
    if (isListed)
    {
        (previous ? previous->next : port->first) = next;
        (next ? next->previous : port->last) = previous;
    }
}

bool MakePieceSide(const PieceShape* piece, const btCollisionObjectWrapper* wrapper, float dt,
                   knPairSide* side)
{
    if (piece)
    {
        side->kind = kn_sidePiece;
        side->family = piece->family;
        side->fragment = piece->fragment;
        side->mesh = piece->mesh;
        side->motion =
            WayOf(piece, wrapper->getCollisionObject(), wrapper->getWorldTransform(), dt).motion;
    }
    return piece != nullptr;
}

// Two pieces whose boxes do not meet in this step, however they go: Bullet's are much wider. A
// margin so large that the ways do not hold it makes all pairs near.
bool Algorithm::IsFar(float dt) const
{
    if (!isTop || !pieces[0] || !pieces[1])
    {
        return false;
    }
    const Way& a = WayOf(pieces[0], objects[0], objects[0]->getWorldTransform(), dt);
    const Way& b = WayOf(pieces[1], objects[1], objects[1]->getWorldTransform(), dt);
    return !knBox_Overlaps(a.box, b.box) && knPairs_Limits(port->pairs)->margin <= WAY_MARGIN;
}

bool Algorithm::MakeInput(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b,
                          float dt, knPairInput* input)
{
    const btCollisionObjectWrapper* wrappers[2] = {a, b};
    *input = knPairInput();
    bool isPiece[2];
    for (int i = 0; i < 2; ++i)
    {
        isPiece[i] = MakePieceSide(pieces[i], wrappers[i], dt, &input->sides[i]);
    }
    if (isPiece[0] == isPiece[1])
    {
        return isPiece[0] && !source;
    }
    int other = isPiece[0] ? 1 : 0;
    knPairSide* side = &input->sides[other];
    if (!source)
    {
        return false;
    }
    const btTransform& transform = wrappers[other]->getWorldTransform();
    side->motion =
        MakeMotion(wrappers[other]->getCollisionObject(), transform * btTransform(turn), dt);
    if (!IsMesh(wrappers[other]->getCollisionShape()->getShapeType()))
    {
        side->kind = kn_sideShape;
        side->shape = &source->shape;
        return true;
    }
    side->kind = kn_sideTriangles;
    side->batch = &source->batch;
    knResult result = GatherTriangles(port, input->sides[1 - other], wrappers[other], source);
    // what moves may deform as well
    bool rests = wrappers[other]->getCollisionObject()->isStaticObject();
    side->serial = rests ? source->serial : 0;
    return result == kn_success;
}

void Algorithm::Submit(float dt)
{
    btCollisionObjectWrapper a(nullptr, objects[0]->getCollisionShape(), objects[0],
                               objects[0]->getWorldTransform(), -1, -1);
    btCollisionObjectWrapper b(nullptr, objects[1]->getCollisionShape(), objects[1],
                               objects[1]->getWorldTransform(), -1, -1);
    knPairInput input;
    if (Prepare(&a, &b) && MakeInput(&a, &b, dt, &input))
    {
        (void)knPairs_Submit(port->pairs, pair, &input);
    }
}

bool IsOurs(const btCollisionObject* a, const btCollisionObject* b)
{
    const btCollisionShape* shapes[2] = {a->getCollisionShape(), b->getCollisionShape()};
    return (AsPiece(shapes[0]) && !shapes[1]->isCompound()) ||
           (AsPiece(shapes[1]) && !shapes[0]->isCompound());
}

bool IsMissing(const knPort* port, const btBroadphasePair& pair)
{
    const btCollisionObject* a = static_cast<btCollisionObject*>(pair.m_pProxy0->m_clientObject);
    const btCollisionObject* b = static_cast<btCollisionObject*>(pair.m_pProxy1->m_clientObject);
    return !pair.m_algorithm && IsOurs(a, b) && port->dispatcher->needsCollision(a, b);
}

void MakeOne(knPort* port, btBroadphasePair& pair)
{
    btCollisionObject* a = static_cast<btCollisionObject*>(pair.m_pProxy0->m_clientObject);
    btCollisionObject* b = static_cast<btCollisionObject*>(pair.m_pProxy1->m_clientObject);
    btCollisionObjectWrapper wa(nullptr, a->getCollisionShape(), a, a->getWorldTransform(), -1, -1);
    btCollisionObjectWrapper wb(nullptr, b->getCollisionShape(), b, b->getWorldTransform(), -1, -1);
    pair.m_algorithm =
        port->dispatcher->findAlgorithm(&wa, &wb, nullptr, BT_CONTACT_POINT_ALGORITHMS);
}

// Pairs that the broad phase has just found have no algorithm yet; Bullet would make it now. The
// cache's own order follows addresses, so they are made in order of their bodies.
void MakeMissing(knPort* port)
{
    btOverlappingPairCache* cache = port->world->getBroadphase()->getOverlappingPairCache();
    btBroadphasePair* pairs = cache->getOverlappingPairArrayPtr();
    btAlignedObjectArray<MissingPair>& missing = port->missing;
    missing.resizeNoInitialize(0);
    for (int i = 0; i < cache->getNumOverlappingPairs(); ++i)
    {
        if (IsMissing(port, pairs[i]))
        {
            missing.push_back(
                {PairKey(static_cast<btCollisionObject*>(pairs[i].m_pProxy0->m_clientObject),
                         static_cast<btCollisionObject*>(pairs[i].m_pProxy1->m_clientObject)),
                 i});
        }
    }
    missing.quickSort([](const MissingPair& x, const MissingPair& y) { return x.key < y.key; });
    for (int i = 0; i < missing.size(); ++i)
    {
        MakeOne(port, pairs[missing[i].pair]);
    }
}

// All pairs at once: the first one that Bullet asks for pays for all.
void RunRound(knPort* port, float dt)
{
    double start = Now();
    if (port->isNewStep)
    {
        knPairs_ResetCounters(port->pairs);
        NoteMotions(port);
        port->isNewStep = false;
    }
    MakeMissing(port);
    knPairs_Begin(port->pairs);
    for (Algorithm* a = port->first; a; a = a->next)
    {
        if (a->isTop && !a->IsFar(dt) &&
            port->dispatcher->needsCollision(a->objects[0], a->objects[1]))
        {
            a->Submit(dt);
        }
    }
    knPairs_Run(port->pairs);
    port->queryTime += Now() - start;
}

bool Algorithm::Answer(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b,
                       float dt, const knTouch** touches, uint32_t* count)
{
    knPairInput input;
    if (!Prepare(a, b) || !MakeInput(a, b, dt, &input))
    {
        return false;
    }
    if (isTop && !isClosest)
    {
        if (knPairs_Take(port->pairs, pair, &input, touches, count))
        {
            return true;
        }
        RunRound(port, dt);
        if (knPairs_Take(port->pairs, pair, &input, touches, count))
        {
            return true;
        }
    }
    return knPairs_QueryNow(port->pairs, pair, &input, touches, count) == kn_success;
}

void Algorithm::SetManifoldCount(int count)
{
    while (manifolds.size() < count)
    {
        manifolds.push_back(m_dispatcher->getNewManifold(objects[0], objects[1]));
    }
    // a few spare ones, so that a pair that comes and goes does not ask the pool each time
    while (manifolds.size() > count + 2)
    {
        m_dispatcher->releaseManifold(manifolds[manifolds.size() - 1]);
        manifolds.pop_back();
    }
}

// Contacts mostly come in the order of the last step, so the search goes on where it stopped.
btManifoldPoint* Algorithm::FindOld(int part, int feature)
{
    int count = port->oldPoints.size();
    for (int i = 0; i < count; ++i)
    {
        int k = (oldCursor + i) % count;
        if (port->oldPoints[k].m_index0 == feature && port->oldPoints[k].m_partId0 == part)
        {
            oldCursor = k + 1;
            return &port->oldPoints[k];
        }
    }
    return nullptr;
}

void KeepImpulses(btManifoldPoint& point, btManifoldPoint& old)
{
    point.m_appliedImpulse = old.m_appliedImpulse;
    point.m_prevRHS = old.m_prevRHS;
    point.m_appliedImpulseLateral1 = old.m_appliedImpulseLateral1;
    point.m_appliedImpulseLateral2 = old.m_appliedImpulseLateral2;
    point.m_lifeTime = old.m_lifeTime + 1;
    if (!point.m_userPersistentData)
    {
        point.m_userPersistentData = old.m_userPersistentData;
        old.m_userPersistentData = nullptr;
    }
}

float ApproachSpeed(const btManifoldPoint& point, const btCollisionObject* const objects[2])
{
    btVector3 v(0.0f, 0.0f, 0.0f);
    for (int i = 0; i < 2; ++i)
    {
        const btRigidBody* body = btRigidBody::upcast(objects[i]);
        if (body)
        {
            const btVector3& at = i == 0 ? point.m_positionWorldOnA : point.m_positionWorldOnB;
            btVector3 u = body->getVelocityInLocalPoint(at - body->getCenterOfMassPosition());
            v += i == 0 ? -u : u;
        }
    }
    return v.dot(point.m_normalWorldOnB);
}

// A point that is reached in this step bounces now, or it would be stopped by its gap and bounce
// with what is left. One that is not reached must not bounce at all.
void SetRestitution(btManifoldPoint& point, const btCollisionObject* const objects[2], float dt)
{
    if (point.m_distance1 <= 0.0f || point.m_combinedRestitution <= 0.0f)
    {
        return;
    }
    if (ApproachSpeed(point, objects) * dt > point.m_distance1)
    {
        point.m_distance1 = 0.0f;
    }
    else
    {
        point.m_combinedRestitution = 0.0f;
    }
}

// How fast an impulse of 1 N s with this moment turns a body.
float TurnOf(const btCollisionObject* object, const btVector3& moment)
{
    const btRigidBody* body = btRigidBody::upcast(object);
    return body ? (body->getInvInertiaTensorWorld() * moment).length() : 0.0f;
}

// Both bodies get the impulse at one place, or spin would come from nothing. What is found ahead
// has two that may be far apart: the one counts that belongs to the body which spins up faster.
void ActAtOnePlace(btManifoldPoint& point, const btCollisionObject* const objects[2])
{
    btVector3 between = point.m_positionWorldOnA - point.m_positionWorldOnB;
    const btVector3& normal = point.m_normalWorldOnB;
    btVector3 aside = between - normal * between.dot(normal);
    btVector3 moment = aside.cross(normal);
    bool isA = TurnOf(objects[0], moment) >= TurnOf(objects[1], moment);
    btVector3 place = isA ? point.m_positionWorldOnA - 0.5f * (between - aside)
                          : point.m_positionWorldOnB + 0.5f * (between - aside);
    point.m_positionWorldOnA = place;
    point.m_positionWorldOnB = place;
}

// The pair touched in the last step too, and one of the two cannot be spun.
bool Algorithm::SlidesOn() const
{
    return port->oldPoints.size() > 0 &&
           (objects[0]->isStaticOrKinematicObject() || objects[1]->isStaticOrKinematicObject());
}

void Algorithm::AddPoint(btPersistentManifold* manifold, const knTouch& touch, float dt,
                         btManifoldResult* out)
{
    // the threshold also merges points nearer than itself, and one above another is near on a
    // floor: every point comes as one that touches, and is told its gap when it is in
    float gap = btMin(touch.distance, 0.0f);
    manifold->setContactBreakingThreshold(0.0f);
    int part = static_cast<int>(touch.isSwept ? SWEPT_PART : 0);
    int feature = static_cast<int>(touch.feature);
    out->setShapeIdentifiersA(part, feature);
    out->setShapeIdentifiersB(-1, -1);
    int before = manifold->getNumContacts();
    const btScalar erp = port->world->getSolverInfo().m_erp2;
    float deepest = erp > 0.0f ? -port->separationSpeed * dt / erp : -FLT_MAX;
    out->addContactPoint(ToBt(touch.normal), ToBt(touch.points[1]), btMax(gap, deepest));
    if (manifold->getNumContacts() == before)
    {
        return;
    }
    btManifoldPoint& point = manifold->getContactPoint(before);
    if (touch.distance > 0.0f)
    {
        point.m_positionWorldOnA = ToBt(touch.points[0]);
        point.m_localPointA = objects[0]->getWorldTransform().invXform(point.m_positionWorldOnA);
        point.m_distance1 = touch.distance;
    }
    if (touch.isSwept)
    {
        // they do not touch yet, and lateral impulses at two places would make spin from nothing;
        // but what slides fast along a floor meets it in every step anew, with another point
        point.m_combinedFriction *= SlidesOn() ? 1.0f : 0.0f;
        ActAtOnePlace(point, objects);
    }
    SetRestitution(point, objects, dt);
    btManifoldPoint* old = FindOld(part, feature);
    if (old)
    {
        KeepImpulses(point, *old);
    }
}

// Old points are set aside and found again by their feature, new ones go through Bullet's own door,
// so that callbacks, friction and restitution are as for any shape.
void Algorithm::Fill(const knTouch* touches, uint32_t count, float dt, btManifoldResult* out)
{
    const int perManifold = MANIFOLD_CACHE_SIZE;
    int needed = (static_cast<int>(count) + perManifold - 1) / perManifold;
    port->oldPoints.resizeNoInitialize(0);
    oldCursor = 0;
    for (int i = 0; i < manifolds.size(); ++i)
    {
        for (int k = 0; k < manifolds[i]->getNumContacts(); ++k)
        {
            port->oldPoints.push_back(manifolds[i]->getContactPoint(k));
            manifolds[i]->getContactPoint(k).m_userPersistentData = nullptr;
        }
    }
    bool hadContacts = port->oldPoints.size() > 0;
    for (int i = 0; i < manifolds.size(); ++i)
    {
        // not clearManifold: the contact has not ended
        manifolds[i]->setNumContacts(0);
    }
    SetManifoldCount(needed);
    ContactStartedCallback started = gContactStartedCallback;
    for (int i = 0; i < static_cast<int>(count); ++i)
    {
        gContactStartedCallback = hadContacts || i > 0 ? nullptr : started;
        out->setPersistentManifold(manifolds[i / perManifold]);
        AddPoint(manifolds[i / perManifold], touches[i], dt, out);
    }
    gContactStartedCallback = started;
    for (int i = 0; i < port->oldPoints.size(); ++i)
    {
        if (port->oldPoints[i].m_userPersistentData && gContactDestroyedCallback)
        {
            (*gContactDestroyedCallback)(port->oldPoints[i].m_userPersistentData);
        }
    }
    if (hadContacts && count == 0 && gContactEndedCallback)
    {
        gContactEndedCallback(manifolds[0]);
    }
}

// For contact tests of the game's: nothing is kept.
void Algorithm::Report(const knTouch* touches, uint32_t count, btManifoldResult* out)
{
    SetManifoldCount(1);
    out->setPersistentManifold(manifolds[0]);
    for (uint32_t i = 0; i < count; ++i)
    {
        if (!touches[i].isSwept)
        {
            manifolds[0]->setContactBreakingThreshold(btMax(touches[i].distance, 0.0f));
            out->setShapeIdentifiersA(0, static_cast<int>(touches[i].feature));
            out->addContactPoint(ToBt(touches[i].normal), ToBt(touches[i].points[1]),
                                 touches[i].distance);
        }
    }
}

void Algorithm::processCollision(const btCollisionObjectWrapper* a,
                                 const btCollisionObjectWrapper* b, const btDispatcherInfo& info,
                                 btManifoldResult* out)
{
    const knTouch* touches = nullptr;
    uint32_t count = 0;
    float dt = isClosest ? 0.0f : info.m_timeStep;
    if (!IsFar(dt) && !Answer(a, b, dt, &touches, &count))
    {
        return;
    }
    if (count == 0 && manifolds.size() == 0)
    {
        return;
    }
    double start = Now();
    if (isClosest)
    {
        Report(touches, count, out);
    }
    else
    {
        Fill(touches, count, info.m_timeStep, out);
    }
    port->contactTime += Now() - start;
}

btCollisionAlgorithm*
CreateFunc::CreateCollisionAlgorithm(btCollisionAlgorithmConstructionInfo& info,
                                     const btCollisionObjectWrapper* a,
                                     const btCollisionObjectWrapper* b)
{
    void* memory = info.m_dispatcher1->allocateCollisionAlgorithm(sizeof(Algorithm));
    return ::new (memory) Algorithm(port, isClosest, info, a, b);
}

void StepAction::updateAction(btCollisionWorld*, btScalar)
{
    port->lastQueryTime = port->queryTime;
    port->lastContactTime = port->contactTime;
    port->isNewStep = true;
    port->queryTime = 0.0;
    port->contactTime = 0.0;
    port->onStep(port->user);
}

} // namespace
