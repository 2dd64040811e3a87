// SPDX-License-Identifier: Zlib
// The one file that knows Bullet: translations between Bullet's objects and Knap's, no more.
//
// Bullet's own allocations go through btAlignedAlloc and cannot fail gracefully; what Knap makes
// itself comes from the world's allocator.

#include "bullet_port.h"
#include "bullet_sources.h"
#include "knap/bullet.h"

#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>
#include <LinearMath/btPoolAllocator.h>
#include <btBulletDynamicsCommon.h>
#include <chrono>
#include <new>
#include <utility>

namespace
{

const int PIECE_TYPE = FAST_CONCAVE_MESH_PROXYTYPE; // no algorithm of Bullet's casts it
const uint32_t SWEPT_PART = 1u << 20;               // parts of contacts found ahead

knVec3 FromBt(const btVector3& v)
{
    return {v.x(), v.y(), v.z()};
}

btVector3 ToBt(knVec3 v)
{
    return btVector3(v.x, v.y, v.z);
}

knTransform FromBt(const btTransform& t)
{
    btQuaternion q = t.getRotation();
    return {FromBt(t.getOrigin()), {q.x(), q.y(), q.z(), q.w()}};
}

btTransform ToBt(const knTransform& t)
{
    return btTransform(
        btQuaternion(t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w).normalized(),
        ToBt(t.position));
}

// Memory of the world's allocator; null when it has none.
template <class T, class... Arguments>
T* Make(const knAllocator& allocator, Arguments&&... arguments)
{
    void* memory = knAllocate(&allocator, 1, sizeof(T));
    return memory ? ::new (memory) T(std::forward<Arguments>(arguments)...) : nullptr;
}

template <class T> void Unmake(const knAllocator& allocator, T* object)
{
    if (object)
    {
        object->~T();
        knRelease(&allocator, object, 1, sizeof(T));
    }
}

// A piece in the frame of Bullet's body: the axes of inertia about the centre of mass.
class PieceShape final : public btConcaveShape
{
  public:
    PieceShape(const knPortBodyDef& def)
        : family(def.shape->family), fragment(def.shape->fragment), mesh(def.shape->surface),
          box(def.shape->box), toMesh(btQuaternion(def.axes.x, def.axes.y, def.axes.z, def.axes.w))
    {
        m_shapeType = PIECE_TYPE;
        m_collisionMargin = 0.0f;
    }

    void getAabb(const btTransform& t, btVector3& lower, btVector3& upper) const override
    {
        btTransform world = t * toMesh.inverse();
        btVector3 center = world * ToBt(knBox_Center(box));
        btVector3 half = ToBt(knScale(0.5f, knBox_Extent(box)));
        btMatrix3x3 basis = world.getBasis().absolute();
        btVector3 extent(half.dot(basis[0]), half.dot(basis[1]), half.dot(basis[2]));
        lower = center - extent;
        upper = center + extent;
    }

    void processAllTriangles(btTriangleCallback* callback, const btVector3& lower,
                             const btVector3& upper) const override;

    // Bodies are made with the inertia of the tetrahedra; this one is for games that ask the shape.
    void calculateLocalInertia(btScalar mass, btVector3& inertia) const override
    {
        knVec3 e = knBox_Extent(box);
        inertia.setValue(mass / 12.0f * (e.y * e.y + e.z * e.z),
                         mass / 12.0f * (e.x * e.x + e.z * e.z),
                         mass / 12.0f * (e.x * e.x + e.y * e.y));
    }

    void setLocalScaling(const btVector3&) override
    {
        // the field is that of the cooked size
    }

    const btVector3& getLocalScaling() const override
    {
        return one;
    }

    const char* getName() const override
    {
        return "KNAP_PIECE";
    }

    const knFamily* family;
    uint32_t fragment;
    const knPieceMesh* mesh;
    knBox box;
    btTransform toMesh; // from Bullet's frame to the mesh's
    btVector3 one = btVector3(1.0f, 1.0f, 1.0f);
};

struct TriangleGate
{
    const btTransform* fromMesh;
    btTriangleCallback* callback;
};

bool PassTriangle(const knVec3 corners[3], uint32_t triangle, void* user)
{
    TriangleGate* gate = static_cast<TriangleGate*>(user);
    btVector3 v[3];
    for (int i = 0; i < 3; ++i)
    {
        v[i] = *gate->fromMesh * ToBt(corners[i]);
    }
    gate->callback->processTriangle(v, 0, static_cast<int>(triangle));
    return true;
}

void PieceShape::processAllTriangles(btTriangleCallback* callback, const btVector3& lower,
                                     const btVector3& upper) const
{
    // boxes are of Bullet's frame; one that holds it in the mesh's frame is a little larger
    btVector3 center = toMesh * ((lower + upper) * 0.5f);
    btVector3 half = (upper - lower) * 0.5f;
    btMatrix3x3 basis = toMesh.getBasis().absolute();
    btVector3 extent(half.dot(basis[0]), half.dot(basis[1]), half.dot(basis[2]));
    btTransform fromMesh = toMesh.inverse();
    TriangleGate gate = {&fromMesh, callback};
    knForEachTriangle(mesh, {FromBt(center - extent), FromBt(center + extent)}, PassTriangle,
                      &gate);
}

const PieceShape* AsPiece(const btCollisionShape* shape)
{
    return shape->getShapeType() == PIECE_TYPE ? dynamic_cast<const PieceShape*>(shape) : nullptr;
}

double Now()
{
    using Clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

class Algorithm;

// The tables of Bullet's dispatcher are protected; a name through a derived class reaches them.
struct DispatcherTables : btCollisionDispatcher
{
    using Table = btCollisionAlgorithmCreateFunc* [MAX_BROADPHASE_COLLISION_TYPES]
        [MAX_BROADPHASE_COLLISION_TYPES];
    static btCollisionAlgorithmCreateFunc*& Contact(btCollisionDispatcher* d, int i, int j)
    {
        return (d->*(&DispatcherTables::m_doubleDispatchContactPoints))[i][j];
    }
    static btCollisionAlgorithmCreateFunc*& Closest(btCollisionDispatcher* d, int i, int j)
    {
        return (d->*(&DispatcherTables::m_doubleDispatchClosestPoints))[i][j];
    }
};

struct CreateFunc final : btCollisionAlgorithmCreateFunc
{
    CreateFunc(knPort* owner, bool closest) : port(owner), isClosest(closest)
    {
    }
    btCollisionAlgorithm* CreateCollisionAlgorithm(btCollisionAlgorithmConstructionInfo& info,
                                                   const btCollisionObjectWrapper* a,
                                                   const btCollisionObjectWrapper* b) override;
    knPort* port;
    bool isClosest;
};

// Called once in each internal step, when the impulses are known.
struct StepAction final : btActionInterface
{
    explicit StepAction(knPort* owner) : port(owner)
    {
    }
    void updateAction(btCollisionWorld*, btScalar) override;
    void debugDraw(btIDebugDraw*) override
    {
    }
    knPort* port;
};

struct SavedEntry
{
    btCollisionAlgorithmCreateFunc* contact[2]; // piece first, piece second
    btCollisionAlgorithmCreateFunc* closest[2];
};

} // namespace

struct knPort
{
    explicit knPort(const knPortDef& def)
        : allocator(*def.allocator), pairs(def.pairs), contactFunc(this, false),
          closestFunc(this, true), action(this), separationSpeed(def.world->separationSpeed)
    {
    }

    knAllocator allocator;
    knPairs* pairs;
    knSources* sources = nullptr;
    btDiscreteDynamicsWorld* world = nullptr;
    btCollisionDispatcher* dispatcher = nullptr;

    // of a world of Knap's own
    btDefaultCollisionConfiguration* configuration = nullptr;
    btCollisionDispatcher* ownDispatcher = nullptr;
    btDbvtBroadphase* broadphase = nullptr;
    btSequentialImpulseConstraintSolver* solver = nullptr;
    btDiscreteDynamicsWorld* ownWorld = nullptr;

    CreateFunc contactFunc, closestFunc;
    StepAction action;
    SavedEntry saved[MAX_BROADPHASE_COLLISION_TYPES];
    bool isRegistered = false;
    float separationSpeed;

    // algorithms of Bullet's pairs, in order of creation
    Algorithm* first = nullptr;
    Algorithm* last = nullptr;
    btAlignedObjectArray<btManifoldPoint> oldPoints;
    double queryTime = 0.0, contactTime = 0.0;         // of this step
    double lastQueryTime = 0.0, lastContactTime = 0.0; // of the last one
};

struct knPortBody
{
    knAllocator allocator;
    btRigidBody* body;
    btCollisionShape* shape;
    size_t shapeSize;
    btTransform toMesh; // from Bullet's frame of the body to Knap's
    btTriangleIndexVertexArray* meshArray;
    knVec3* positions;
    knTriangle* triangles;
    uint32_t positionCount, triangleCount;
    bool isAdded;
};

namespace
{

bool IsMesh(int type)
{
    return type == TRIANGLE_MESH_SHAPE_PROXYTYPE || type == SCALED_TRIANGLE_MESH_SHAPE_PROXYTYPE ||
           type == TERRAIN_SHAPE_PROXYTYPE || type == GIMPACT_SHAPE_PROXYTYPE ||
           type == MULTIMATERIAL_TRIANGLE_MESH_PROXYTYPE || type == FAST_CONCAVE_MESH_PROXYTYPE ||
           type == SDF_SHAPE_PROXYTYPE;
}

// Knap's shapes stand along y.
btQuaternion UpAxis(int axis)
{
    return axis == 0   ? btQuaternion(btVector3(0.0f, 0.0f, 1.0f), -SIMD_HALF_PI)
           : axis == 2 ? btQuaternion(btVector3(1.0f, 0.0f, 0.0f), SIMD_HALF_PI)
                       : btQuaternion::getIdentity();
}

const int SUPPORT_COUNT = 162;

// Directions spread evenly over the sphere, on a spiral.
btVector3 SpiralDirection(int i)
{
    btScalar y = 1.0f - 2.0f * (btScalar(i) + 0.5f) / btScalar(SUPPORT_COUNT);
    btScalar r = btSqrt(btMax(btScalar(0.0f), 1.0f - y * y));
    btScalar turn = btScalar(i) * 2.39996323f;
    return btVector3(r * btCos(turn), y, r * btSin(turn));
}

knResult UseHull(knPort* port, knPairSource* source, const knVec3* points, const float* radii,
                 int count)
{
    knResult result = knSources_FindHull(port->sources, points, radii, static_cast<uint32_t>(count),
                                         &source->hull);
    if (result == kn_success)
    {
        source->shape = knMakeHullShape(&source->hull->hull);
        source->shape.kind = radii ? kn_shapeMultiSphere : kn_shapeHull;
    }
    return result;
}

struct PointBuffer
{
    PointBuffer(const knAllocator& a, int n)
        : allocator(a), count(n),
          points(
              static_cast<knVec3*>(knAllocate(&allocator, static_cast<size_t>(n), sizeof(knVec3)))),
          radii(static_cast<float*>(knAllocate(&allocator, static_cast<size_t>(n), sizeof(float))))
    {
    }
    ~PointBuffer()
    {
        knRelease(&allocator, points, static_cast<size_t>(count), sizeof(knVec3));
        knRelease(&allocator, radii, static_cast<size_t>(count), sizeof(float));
    }
    PointBuffer(const PointBuffer&) = delete;
    PointBuffer& operator=(const PointBuffer&) = delete;
    bool IsGood() const
    {
        return points && radii;
    }
    knAllocator allocator;
    int count;
    knVec3* points;
    float* radii;
};

// Any convex shape by its furthest points in many directions.
knResult TranslateByDirections(knPort* port, const btConvexShape* shape, knPairSource* source)
{
    PointBuffer buffer(port->allocator, SUPPORT_COUNT);
    if (!buffer.IsGood())
    {
        return kn_errorMemory;
    }
    for (int i = 0; i < SUPPORT_COUNT; ++i)
    {
        buffer.points[i] = FromBt(shape->localGetSupportingVertexWithoutMargin(SpiralDirection(i)));
    }
    knResult result = UseHull(port, source, buffer.points, nullptr, SUPPORT_COUNT);
    source->shape.margin = shape->getMargin();
    return result;
}

knResult TranslatePoints(knPort* port, const btPolyhedralConvexShape* shape, knPairSource* source)
{
    PointBuffer buffer(port->allocator, shape->getNumVertices());
    if (!buffer.IsGood())
    {
        return shape->getNumVertices() > 0 ? kn_errorMemory
                                           : TranslateByDirections(port, shape, source);
    }
    for (int i = 0; i < buffer.count; ++i)
    {
        btVector3 v;
        shape->getVertex(i, v);
        buffer.points[i] = FromBt(v);
    }
    knResult result = UseHull(port, source, buffer.points, nullptr, buffer.count);
    source->shape.margin = shape->getMargin();
    return result;
}

knResult TranslateSpheres(knPort* port, const btMultiSphereShape* shape, knPairSource* source)
{
    PointBuffer buffer(port->allocator, shape->getSphereCount());
    if (!buffer.IsGood())
    {
        return kn_errorMemory;
    }
    for (int i = 0; i < buffer.count; ++i)
    {
        buffer.points[i] = FromBt(shape->getSpherePosition(i) * shape->getLocalScaling());
        buffer.radii[i] = shape->getSphereRadius(i) * shape->getLocalScaling().x();
    }
    return UseHull(port, source, buffer.points, buffer.radii, buffer.count);
}

knResult TranslateConvex(knPort* port, const btCollisionShape* shape, knPairSource* source,
                         btQuaternion* turn)
{
    switch (shape->getShapeType())
    {
    case SPHERE_SHAPE_PROXYTYPE:
        source->shape = knMakeSphereShape(static_cast<const btSphereShape*>(shape)->getRadius());
        return kn_success;
    case BOX_SHAPE_PROXYTYPE:
        source->shape = knMakeBoxShape(
            FromBt(static_cast<const btBoxShape*>(shape)->getHalfExtentsWithMargin()));
        return kn_success;
    case CAPSULE_SHAPE_PROXYTYPE:
    {
        const btCapsuleShape* capsule = static_cast<const btCapsuleShape*>(shape);
        *turn = UpAxis(capsule->getUpAxis());
        source->shape = knMakeCapsuleShape(capsule->getRadius(), capsule->getHalfHeight());
        return kn_success;
    }
    case CYLINDER_SHAPE_PROXYTYPE:
    {
        const btCylinderShape* cylinder = static_cast<const btCylinderShape*>(shape);
        int up = cylinder->getUpAxis();
        *turn = UpAxis(up);
        source->shape =
            knMakeCylinderShape(cylinder->getRadius(), cylinder->getHalfExtentsWithMargin()[up]);
        return kn_success;
    }
    case CONE_SHAPE_PROXYTYPE:
    {
        const btConeShape* cone = static_cast<const btConeShape*>(shape);
        *turn = UpAxis(cone->getConeUpIndex());
        source->shape = knMakeConeShape(cone->getRadius(), 0.5f * cone->getHeight());
        source->shape.margin = cone->getMargin();
        return kn_success;
    }
    case STATIC_PLANE_PROXYTYPE:
    {
        const btStaticPlaneShape* plane = static_cast<const btStaticPlaneShape*>(shape);
        source->shape =
            knMakePlaneShape(FromBt(plane->getPlaneNormal()), plane->getPlaneConstant());
        return kn_success;
    }
    case MULTI_SPHERE_SHAPE_PROXYTYPE:
        return TranslateSpheres(port, static_cast<const btMultiSphereShape*>(shape), source);
    default:
        return shape->isPolyhedral()
                   ? TranslatePoints(port, static_cast<const btPolyhedralConvexShape*>(shape),
                                     source)
                   : TranslateByDirections(port, static_cast<const btConvexShape*>(shape), source);
    }
}

struct Gatherer final : btTriangleCallback
{
    void processTriangle(btVector3* triangle, int part, int index) override
    {
        knVec3 v[3] = {FromBt(triangle[0]), FromBt(triangle[1]), FromBt(triangle[2])};
        if (up >= 0)
        {
            // a height field is solid below, whichever way its triangles turn
            btVector3 n = (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
            if (n[up] < 0.0f)
            {
                std::swap(v[1], v[2]);
            }
        }
        uint32_t id = static_cast<uint32_t>(index) ^ static_cast<uint32_t>(part) << 22;
        isWhole = knSources_AddTriangle(sources, source, v, id) && isWhole;
    }
    knSources* sources = nullptr;
    knPairSource* source = nullptr;
    int up = -1;
    bool isWhole = true;
};

// Which way a height field looks is protected too; its box tells: probe a triangle instead.
struct HeightField : btHeightfieldTerrainShape
{
    static int Up(const btHeightfieldTerrainShape* shape)
    {
        return shape->*(&HeightField::m_upAxis);
    }
};

bool Holds(const knBox& outer, const knBox& inner)
{
    return knBox_Contains(outer, inner.lower) && knBox_Contains(outer, inner.upper);
}

knBox TransformBox(const knBox& box, const btTransform& t)
{
    btVector3 center = t * ToBt(knBox_Center(box));
    btVector3 half = ToBt(knScale(0.5f, knBox_Extent(box)));
    btMatrix3x3 basis = t.getBasis().absolute();
    btVector3 extent(half.dot(basis[0]), half.dot(basis[1]), half.dot(basis[2]));
    return {FromBt(center - extent), FromBt(center + extent)};
}

// Where the piece is and where it is going.
knBox WayBox(const knPairSide& piece, const knBox& now)
{
    return knBox_Union(now,
                       {knAdd(now.lower, piece.motion.move), knAdd(now.upper, piece.motion.move)});
}

// Triangles around the piece; kept while it stays in the box that was searched.
knResult GatherTriangles(knPort* port, const knPairSide& piece,
                         const btCollisionObjectWrapper* other, knPairSource* source)
{
    const btConcaveShape* shape = static_cast<const btConcaveShape*>(other->getCollisionShape());
    knTransform asset = piece.motion.start;
    asset.position = knSub(asset.position, knRotate(asset.rotation, piece.mesh->center));
    knQueryPiece query = {piece.family, piece.fragment, asset};
    knBox wanted = WayBox(piece, knQueryTriangles_Box(&query, knPairs_Limits(port->pairs)));
    knBox local = TransformBox(wanted, other->getWorldTransform().inverse());
    source->batch.transform = FromBt(other->getWorldTransform());
    bool moves = !other->getCollisionObject()->isStaticObject();
    if (source->isGathered && !moves && Holds(source->gathered, local))
    {
        return kn_success;
    }
    int type = shape->getShapeType();
    source->gathered = knBox_Expand(local, 0.25f * knLength(knBox_Extent(local)));
    source->batch.count = 0;
    source->batch.margin = shape->getMargin();
    source->batch.isOneSided =
        type == TERRAIN_SHAPE_PROXYTYPE || type == GIMPACT_SHAPE_PROXYTYPE || AsPiece(shape);
    Gatherer gatherer;
    gatherer.sources = port->sources;
    gatherer.source = source;
    gatherer.up = type == TERRAIN_SHAPE_PROXYTYPE
                      ? HeightField::Up(static_cast<const btHeightfieldTerrainShape*>(shape))
                      : -1;
    shape->processAllTriangles(&gatherer, ToBt(source->gathered.lower),
                               ToBt(source->gathered.upper));
    source->batch.triangles = source->triangles;
    source->isGathered = gatherer.isWhole;
    return gatherer.isWhole ? kn_success : kn_errorMemory;
}

// How the frame at `start` moves in this step if nothing stops it, forces included.
knMotion MakeMotion(const btCollisionObject* object, const btTransform& start, float dt)
{
    knMotion motion = {FromBt(start), {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}};
    const btRigidBody* body = btRigidBody::upcast(object);
    if (!body || object->isStaticObject())
    {
        return motion;
    }
    btVector3 v = body->getLinearVelocity();
    btVector3 w = body->getAngularVelocity();
    if (!object->isKinematicObject())
    {
        v += body->getTotalForce() * body->getInvMass() * dt;
    }
    v += w.cross(start.getOrigin() - body->getCenterOfMassPosition());
    motion.move = FromBt(v * dt);
    motion.turn = FromBt(w * dt);
    float turn = knLength(motion.turn);
    if (turn > 1.5f)
    {
        motion.turn = knScale(1.5f / turn, motion.turn);
    }
    return motion;
}

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

    bool MakeInput(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b, float dt,
                   knPairInput* input);
    void Submit(float dt);
    bool Answer(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b, float dt,
                const knTouch** touches, uint32_t* count);
    void Fill(const knTouch* touches, uint32_t count, float dt, btManifoldResult* out);
    void AddPoint(btPersistentManifold* manifold, const knTouch& touch, float dt,
                  btManifoldResult* out);
    void Report(const knTouch* touches, uint32_t count, btManifoldResult* out);
    void SetManifoldCount(int count);
    btManifoldPoint* FindOld(int part, int feature);

    knPort* port;
    Algorithm* next = nullptr;
    Algorithm* previous = nullptr;
    const btCollisionObject* objects[2];
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
      port(owner), objects{a->getCollisionObject(), b->getCollisionObject()}, isClosest(closest),
      isTop(!a->m_parent && !b->m_parent)
{
    if (knPairs_Add(port->pairs, &pair) != kn_success)
    {
        return;
    }
    const PieceShape* pieces[2] = {AsPiece(a->getCollisionShape()),
                                   AsPiece(b->getCollisionShape())};
    if (!pieces[0] != !pieces[1])
    {
        const btCollisionShape* shape = (pieces[0] ? b : a)->getCollisionShape();
        knResult result = knSources_Take(port->sources, pair.index, &source);
        if (result == kn_success && !IsMesh(shape->getShapeType()))
        {
            result = TranslateConvex(port, shape, source, &turn);
        }
        if (result != kn_success)
        {
            knPairs_Remove(port->pairs, pair);
            pair = {0, 0};
        }
    }
    if (!isClosest)
    {
        previous = port->last;
        (port->last ? port->last->next : port->first) = this;
        port->last = this;
        isListed = true;
    }
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

bool MakePieceSide(const btCollisionObjectWrapper* wrapper, float dt, knPairSide* side)
{
    const PieceShape* piece = AsPiece(wrapper->getCollisionShape());
    if (piece)
    {
        side->kind = kn_sidePiece;
        side->family = piece->family;
        side->fragment = piece->fragment;
        side->mesh = piece->mesh;
        side->motion = MakeMotion(wrapper->getCollisionObject(),
                                  wrapper->getWorldTransform() * piece->toMesh.inverse(), dt);
    }
    return piece != nullptr;
}

bool Algorithm::MakeInput(const btCollisionObjectWrapper* a, const btCollisionObjectWrapper* b,
                          float dt, knPairInput* input)
{
    const btCollisionObjectWrapper* wrappers[2] = {a, b};
    *input = knPairInput();
    bool isPiece[2];
    for (int i = 0; i < 2; ++i)
    {
        isPiece[i] = MakePieceSide(wrappers[i], dt, &input->sides[i]);
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
    return GatherTriangles(port, input->sides[1 - other], wrappers[other], source) == kn_success;
}

void Algorithm::Submit(float dt)
{
    btCollisionObjectWrapper a(nullptr, objects[0]->getCollisionShape(), objects[0],
                               objects[0]->getWorldTransform(), -1, -1);
    btCollisionObjectWrapper b(nullptr, objects[1]->getCollisionShape(), objects[1],
                               objects[1]->getWorldTransform(), -1, -1);
    knPairInput input;
    if (MakeInput(&a, &b, dt, &input))
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

// Pairs that the broad phase has just found have no algorithm yet; Bullet would make it now.
void MakeMissing(knPort* port)
{
    btOverlappingPairCache* cache = port->world->getBroadphase()->getOverlappingPairCache();
    btBroadphasePair* pairs = cache->getOverlappingPairArrayPtr();
    for (int i = 0; i < cache->getNumOverlappingPairs(); ++i)
    {
        btCollisionObject* a = static_cast<btCollisionObject*>(pairs[i].m_pProxy0->m_clientObject);
        btCollisionObject* b = static_cast<btCollisionObject*>(pairs[i].m_pProxy1->m_clientObject);
        if (pairs[i].m_algorithm || !IsOurs(a, b) || !port->dispatcher->needsCollision(a, b))
        {
            continue;
        }
        btCollisionObjectWrapper wa(nullptr, a->getCollisionShape(), a, a->getWorldTransform(), -1,
                                    -1);
        btCollisionObjectWrapper wb(nullptr, b->getCollisionShape(), b, b->getWorldTransform(), -1,
                                    -1);
        pairs[i].m_algorithm =
            port->dispatcher->findAlgorithm(&wa, &wb, nullptr, BT_CONTACT_POINT_ALGORITHMS);
    }
}

// All pairs at once: the first one that Bullet asks for pays for all.
void RunRound(knPort* port, float dt)
{
    double start = Now();
    MakeMissing(port);
    knPairs_Begin(port->pairs);
    for (Algorithm* a = port->first; a; a = a->next)
    {
        if (a->isTop && port->dispatcher->needsCollision(a->objects[0], a->objects[1]))
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
    if (knId_IsNull(pair) || !MakeInput(a, b, dt, &input))
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

void Algorithm::AddPoint(btPersistentManifold* manifold, const knTouch& touch, float dt,
                         btManifoldResult* out)
{
    // the threshold also merges points nearer than itself, so it is no larger than the gap
    float gap = touch.isSwept ? 0.0f : touch.distance;
    manifold->setContactBreakingThreshold(btMax(gap, 0.0f));
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
    if (touch.isSwept)
    {
        point.m_positionWorldOnA = ToBt(touch.points[0]);
        point.m_localPointA = objects[0]->getWorldTransform().invXform(point.m_positionWorldOnA);
        point.m_distance1 = touch.distance;
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
    if (!Answer(a, b, isClosest ? 0.0f : info.m_timeStep, &touches, &count))
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
    port->queryTime = 0.0;
    port->contactTime = 0.0;
}

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

void knPortBody_Def(const knPortBody* body, knBodyDef* def)
{
    const btRigidBody* b = body->body;
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
    proxy->m_collisionFilterGroup = group;
    proxy->m_collisionFilterMask = mask;
    port->world->refreshBroadphaseProxy(body->body);
    body->body->activate(true);
}

void knPortBody_Wake(knPortBody* body)
{
    body->body->activate(true);
}

uint32_t knPort_SlotOf(const void* object)
{
    return static_cast<uint32_t>(static_cast<const btCollisionObject*>(object)->getUserIndex3());
}

struct knPortJoint
{
    btTypedConstraint* constraint;
    knPortJointKind kind;
    size_t size;
    btRigidBody* bodies[2];
};

namespace
{

btVector3 LocalAxis(const btRigidBody* body, knVec3 axis)
{
    return body->getWorldTransform().getBasis().transpose() * ToBt(axis);
}

btVector3 LocalPoint(const btRigidBody* body, knVec3 p)
{
    return body->getWorldTransform().invXform(ToBt(p));
}

btTypedConstraint* MakePoint(knPort* port, const knPortJointDef* def)
{
    btRigidBody* a = def->a->body;
    btPoint2PointConstraint* joint =
        def->b ? Make<btPoint2PointConstraint>(port->allocator, *a, *def->b->body,
                                               LocalPoint(a, def->pivot),
                                               LocalPoint(def->b->body, def->pivot))
               : Make<btPoint2PointConstraint>(port->allocator, *a, LocalPoint(a, def->pivot));
    if (joint && def->kind == kn_portDrag)
    {
        // a hand: strong enough to lift it ten times over, too soft to throw it out of the world
        joint->m_setting.m_impulseClamp = 1.0f / a->getInvMass();
        joint->m_setting.m_tau = 0.02f;
    }
    return joint;
}

btTypedConstraint* MakeHinge(knPort* port, const knPortJointDef* def)
{
    btRigidBody* a = def->a->body;
    if (!def->b)
    {
        return Make<btHingeConstraint>(port->allocator, *a, LocalPoint(a, def->pivot),
                                       LocalAxis(a, def->axis));
    }
    btRigidBody* b = def->b->body;
    return Make<btHingeConstraint>(port->allocator, *a, *b, LocalPoint(a, def->pivot),
                                   LocalPoint(b, def->pivot), LocalAxis(a, def->axis),
                                   LocalAxis(b, def->axis));
}

} // namespace

knResult knPort_CreateJoint(knPort* port, const knPortJointDef* def, knPortJoint** out)
{
    knPortJoint* joint = Make<knPortJoint>(port->allocator);
    if (!joint)
    {
        return kn_errorMemory;
    }
    joint->kind = def->kind;
    joint->bodies[0] = def->a->body;
    joint->bodies[1] = def->b ? def->b->body : nullptr;
    bool isHinge = def->kind == kn_portHinge;
    joint->size = isHinge ? sizeof(btHingeConstraint) : sizeof(btPoint2PointConstraint);
    joint->constraint = isHinge ? MakeHinge(port, def) : MakePoint(port, def);
    if (!joint->constraint)
    {
        Unmake(port->allocator, joint);
        return kn_errorMemory;
    }
    port->world->addConstraint(joint->constraint, def->kind != kn_portDrag);
    joint->bodies[0]->activate(true);
    *out = joint;
    return kn_success;
}

void knPort_DestroyJoint(knPort* port, knPortJoint* joint)
{
    if (!joint)
    {
        return;
    }
    port->world->removeConstraint(joint->constraint);
    for (int i = 0; i < 2; ++i)
    {
        if (joint->bodies[i])
        {
            joint->bodies[i]->activate(true);
        }
    }
    joint->constraint->~btTypedConstraint();
    knRelease(&port->allocator, joint->constraint, 1, joint->size);
    Unmake(port->allocator, joint);
}

void knPortJoint_SetTarget(knPortJoint* joint, knVec3 target)
{
    static_cast<btPoint2PointConstraint*>(joint->constraint)->setPivotB(ToBt(target));
    joint->bodies[0]->activate(true);
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

void knPort_EachContact(const knPort* port, knPortContactFcn* callback, void* user)
{
    for (const Algorithm* a = port->first; a; a = a->next)
    {
        for (int i = 0; i < a->manifolds.size(); ++i)
        {
            const btPersistentManifold* m = a->manifolds[i];
            for (int k = 0; k < m->getNumContacts(); ++k)
            {
                const btManifoldPoint& p = m->getContactPoint(k);
                knPortContact c = {{a->objects[0], a->objects[1]}, {}};
                c.contact.point = FromBt(p.m_positionWorldOnB);
                c.contact.normal = FromBt(p.m_normalWorldOnB);
                c.contact.distance = p.m_distance1;
                c.contact.impulse = p.m_appliedImpulse;
                c.contact.friction =
                    btSqrt(p.m_appliedImpulseLateral1 * p.m_appliedImpulseLateral1 +
                           p.m_appliedImpulseLateral2 * p.m_appliedImpulseLateral2);
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
