// SPDX-License-Identifier: Zlib
#pragma once

// Part of the one translation unit that knows Bullet: included by bullet_shim.cpp alone.
// Translations of numbers, the shape of a piece, and what the shim keeps for a world and a body.

#include "bullet_port.h"
#include "bullet_sources.h"
#include "knap/bullet.h"
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

// How a piece moves in this step, and the box in the world that holds it meanwhile. Many pairs ask
// for the same one.
struct Way
{
    btTransform at = btTransform::getIdentity(); // of Bullet's frame, and what else it was made of
    btVector3 velocity = btVector3(0.0f, 0.0f, 0.0f);
    btVector3 spin = btVector3(0.0f, 0.0f, 0.0f);
    btVector3 force = btVector3(0.0f, 0.0f, 0.0f);
    float dt = -1.0f;
    knMotion motion = {};
    knBox box = {};
};

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
    mutable Way way; // the last that was asked for
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

// Numbers of the broad phase are given in order of creation and never again.
uint64_t PairKey(const btCollisionObject* a, const btCollisionObject* b)
{
    uint64_t x = static_cast<uint64_t>(a->getBroadphaseHandle()->m_uniqueId);
    uint64_t y = static_cast<uint64_t>(b->getBroadphaseHandle()->m_uniqueId);
    return x < y ? x << 32 | y : y << 32 | x;
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

// A pair of the broad phase without an algorithm.
struct MissingPair
{
    uint64_t key;
    int pair;
};

// How a body moved at some time.
struct MotionNote
{
    const btCollisionObject* object = nullptr; // not followed: it may be gone
    btVector3 velocity = btVector3(0.0f, 0.0f, 0.0f);
    btVector3 spin = btVector3(0.0f, 0.0f, 0.0f);
    btVector3 center = btVector3(0.0f, 0.0f, 0.0f);
};

struct SavedEntry
{
    btCollisionAlgorithmCreateFunc* contact[2]; // piece first, piece second
    btCollisionAlgorithmCreateFunc* closest[2];
};

} // namespace

// names of this unit only in a struct that others know by name: harmless, there is one unit
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
struct knPort
{
    explicit knPort(const knPortDef& def)
        : allocator(*def.allocator), pairs(def.pairs), contactFunc(this, false),
          closestFunc(this, true), action(this), separationSpeed(def.world->separationSpeed),
          onStep(def.onStep), user(def.user)
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
    void (*onStep)(void* user);
    void* user;

    // by place in the world's array
    btAlignedObjectArray<MotionNote> notes;  // before the last step
    btAlignedObjectArray<MotionNote> starts; // before the first of those that belong together
    bool isFreshStart = true;

    // algorithms of Bullet's pairs, in order of creation
    Algorithm* first = nullptr;
    Algorithm* last = nullptr;
    btAlignedObjectArray<btManifoldPoint> oldPoints;
    btAlignedObjectArray<MissingPair> missing;
    btAlignedObjectArray<const btCollisionObject*> neighbours;
    bool isNewStep = true;
    double queryTime = 0.0, contactTime = 0.0;         // of this step
    double lastQueryTime = 0.0, lastContactTime = 0.0; // of the last one
};

#pragma GCC diagnostic pop

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
    knTriangleMesh meshView;
    knPortShape shapeDef; // what it was made with
    float density;
    btScalar frozenMass; // that it has when it moves again
    btVector3 frozenInertia;
    bool isAdded;
};
