// SPDX-License-Identifier: Zlib
#pragma once

// Part of the one translation unit that knows Bullet: included by bullet_shim.cpp alone.
// Bullet's shapes, triangles and motions as Knap's.

#include "bullet_shim_port.h"

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
    knQueryPiece query = {piece.family, piece.fragment, asset, piece.mesh};
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
    source->serial += 1;
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

const float WAY_MARGIN = 0.01f; // share of the radius

bool IsSameWay(const Way& way, const btCollisionObject* object, const btTransform& at, float dt)
{
    const btRigidBody* body = btRigidBody::upcast(object);
    return way.dt == dt && way.at == at &&
           (!body ||
            (way.velocity == body->getLinearVelocity() && way.spin == body->getAngularVelocity() &&
             way.force == body->getTotalForce()));
}

const Way& WayOf(const PieceShape* piece, const btCollisionObject* object, const btTransform& at,
                 float dt)
{
    Way& way = piece->way;
    if (IsSameWay(way, object, at, dt))
    {
        return way;
    }
    const btRigidBody* body = btRigidBody::upcast(object);
    way.at = at;
    way.dt = dt;
    if (body)
    {
        way.velocity = body->getLinearVelocity();
        way.spin = body->getAngularVelocity();
        way.force = body->getTotalForce();
    }
    way.motion = MakeMotion(object, at * piece->toMesh.inverse(), dt);
    btVector3 lower, upper;
    piece->getAabb(at, lower, upper);
    knBox now = {FromBt(lower), FromBt(upper)};
    knVec3 move = way.motion.move;
    // the margin of contacts, and what turning adds
    float more = knLength(way.motion.turn) * piece->mesh->radius + WAY_MARGIN * piece->mesh->radius;
    knBox then = {knAdd(now.lower, move), knAdd(now.upper, move)};
    way.box = knBox_Expand(knBox_Union(now, then), more);
    return way;
}

} // namespace
