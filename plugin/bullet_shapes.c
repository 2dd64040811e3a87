// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#define MAX_SIZE 1e6f // m

static bool IsLength(float length)
{
    return length > 0.0f && length < MAX_SIZE;
}

static bool AreFinite(const knVec3* points, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (!knIsFinite(points[i]))
        {
            return false;
        }
    }
    return true;
}

static knResult CheckMesh(const knTriangleMesh* mesh)
{
    if (!mesh || !mesh->positions || !mesh->triangles || mesh->triangleCount == 0 ||
        mesh->triangleCount > KN_MAX_MESH_SIZE || mesh->positionCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "a mesh needs positions and triangles");
    }
    for (uint32_t i = 0; i < mesh->triangleCount; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            if (mesh->triangles[i].v[k] >= mesh->positionCount)
            {
                return knFail(kn_errorArgument, "triangle %u names vertex %u of %u", i,
                              mesh->triangles[i].v[k], mesh->positionCount);
            }
        }
    }
    return AreFinite(mesh->positions, mesh->positionCount)
               ? kn_success
               : knFail(kn_errorArgument, "a position of the mesh is not finite");
}

static knResult CheckRound(const knPortShape* shape)
{
    if (shape->kind == kn_portSphere)
    {
        return IsLength(shape->radius)
                   ? kn_success
                   : knFail(kn_errorArgument, "a sphere has a radius above 0, got %g",
                            (double)shape->radius);
    }
    return IsLength(shape->radius) && IsLength(shape->length)
               ? kn_success
               : knFail(kn_errorArgument, "a capsule has a radius and a height above 0, got %g, %g",
                        (double)shape->radius, (double)shape->length);
}

static knResult CheckShape(const knPortShape* shape)
{
    knVec3 size = shape->size;
    switch (shape->kind)
    {
    case kn_portPlane:
        return knIsFinite(size) && isfinite(shape->length) && knLength(size) > FLT_MIN
                   ? kn_success
                   : knFail(kn_errorArgument,
                            "a plane needs a normal that is not 0 and finite numbers");
    case kn_portBox:
        return IsLength(size.x) && IsLength(size.y) && IsLength(size.z)
                   ? kn_success
                   : knFail(kn_errorArgument, "a box has half extents above 0, got %g %g %g",
                            (double)size.x, (double)size.y, (double)size.z);
    case kn_portSphere:
    case kn_portCapsule:
        return CheckRound(shape);
    case kn_portHull:
        return shape->points && shape->pointCount >= 4 && shape->pointCount <= KN_MAX_MESH_SIZE &&
                       AreFinite(shape->points, shape->pointCount)
                   ? kn_success
                   : knFail(kn_errorArgument, "a hull needs at least 4 finite points, got %u",
                            shape->pointCount);
    case kn_portMesh:
        return CheckMesh(shape->mesh);
    default:
        return knFail(kn_errorArgument, "no shape has the kind %d", (int)shape->kind);
    }
}

knResult knWorld_CheckShape(knBodyDef* def, knPortShape* shape)
{
    knResult result = knWorld_CheckBodyDef(def);
    result = result == kn_success ? CheckShape(shape) : result;
    if (result != kn_success)
    {
        return result;
    }
    if (shape->kind == kn_portPlane)
    {
        float length = knLength(shape->size);
        shape->size = knScale(1.0f / length, shape->size);
        shape->length /= length;
    }
    if (shape->kind == kn_portPlane || shape->kind == kn_portMesh)
    {
        def->kind = kn_bodyStatic;
    }
    return kn_success;
}

static knResult Create(knWorld* w, const knBodyDef* def, knPortShape shape, knBodyId* id)
{
    if (!w || !id || !def)
    {
        return knFail(kn_errorArgument,
                      "a body needs a world, a definition and a place for its id");
    }
    knBodyDef checked = *def;
    knPortShape given = shape;
    knResult result = knWorld_CheckShape(&checked, &shape);
    result = result == kn_success ? knWorld_AddBody(w, &checked, &shape, id) : result;
    if (result == kn_success)
    {
        knWorld_RecordBody(w, def, &given);
    }
    return result;
}

knResult knWorld_CreateShape(knWorld* w, const knBodyDef* def, const knPortShape* shape,
                             knBodyId* id)
{
    return Create(w, def, *shape, id);
}

knResult knWorld_CreatePlane(knWorld* w, const knBodyDef* def, knVec3 normal, float offset,
                             knBodyId* id)
{
    knPortShape shape = {.kind = kn_portPlane, .size = normal, .length = offset};
    return Create(w, def, shape, id);
}

knResult knWorld_CreateBox(knWorld* w, const knBodyDef* def, knVec3 half, knBodyId* id)
{
    knPortShape shape = {.kind = kn_portBox, .size = half};
    return Create(w, def, shape, id);
}

knResult knWorld_CreateSphere(knWorld* w, const knBodyDef* def, float radius, knBodyId* id)
{
    knPortShape shape = {.kind = kn_portSphere, .radius = radius};
    return Create(w, def, shape, id);
}

knResult knWorld_CreateCapsule(knWorld* w, const knBodyDef* def, float radius, float halfHeight,
                               knBodyId* id)
{
    knPortShape shape = {.kind = kn_portCapsule, .radius = radius, .length = halfHeight};
    return Create(w, def, shape, id);
}

knResult knWorld_CreateHull(knWorld* w, const knBodyDef* def, const knVec3* points, uint32_t count,
                            knBodyId* id)
{
    knPortShape shape = {.kind = kn_portHull, .points = points, .pointCount = count};
    return Create(w, def, shape, id);
}

knResult knWorld_CreateMesh(knWorld* w, const knBodyDef* def, const knTriangleMesh* mesh,
                            knBodyId* id)
{
    knPortShape shape = {.kind = kn_portMesh, .mesh = mesh};
    return Create(w, def, shape, id);
}
