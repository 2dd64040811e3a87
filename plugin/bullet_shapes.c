// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#define MAX_SIZE 1e6f // m

static bool IsLength(float length)
{
    return length > 0.0f && length < MAX_SIZE;
}

static knResult CheckCall(const knWorld* w, const knBodyDef* def, const knBodyId* id)
{
    if (!w || !id)
    {
        return knFail(kn_errorArgument, "a body needs a world and a place for its id");
    }
    return knWorld_CheckBodyDef(def);
}

knResult knWorld_CreatePlane(knWorld* w, const knBodyDef* def, knVec3 normal, float offset,
                             knBodyId* id)
{
    knResult result = CheckCall(w, def, id);
    if (result != kn_success)
    {
        return result;
    }
    if (!knIsFinite(normal) || !isfinite(offset) || !(knLength(normal) > FLT_MIN))
    {
        return knFail(kn_errorArgument, "a plane needs a normal that is not 0 and finite numbers");
    }
    float length = knLength(normal);
    knBodyDef plane = *def;
    plane.kind = kn_bodyStatic;
    knPortShape shape = {
        .kind = kn_portPlane, .size = knScale(1.0f / length, normal), .length = offset / length};
    return knWorld_AddBody(w, &plane, &shape, id);
}

knResult knWorld_CreateBox(knWorld* w, const knBodyDef* def, knVec3 half, knBodyId* id)
{
    knResult result = CheckCall(w, def, id);
    if (result != kn_success)
    {
        return result;
    }
    if (!IsLength(half.x) || !IsLength(half.y) || !IsLength(half.z))
    {
        return knFail(kn_errorArgument, "a box has half extents above 0, got %g %g %g",
                      (double)half.x, (double)half.y, (double)half.z);
    }
    knPortShape shape = {.kind = kn_portBox, .size = half};
    return knWorld_AddBody(w, def, &shape, id);
}

knResult knWorld_CreateSphere(knWorld* w, const knBodyDef* def, float radius, knBodyId* id)
{
    knResult result = CheckCall(w, def, id);
    if (result != kn_success)
    {
        return result;
    }
    if (!IsLength(radius))
    {
        return knFail(kn_errorArgument, "a sphere has a radius above 0, got %g", (double)radius);
    }
    knPortShape shape = {.kind = kn_portSphere, .radius = radius};
    return knWorld_AddBody(w, def, &shape, id);
}

knResult knWorld_CreateCapsule(knWorld* w, const knBodyDef* def, float radius, float halfHeight,
                               knBodyId* id)
{
    knResult result = CheckCall(w, def, id);
    if (result != kn_success)
    {
        return result;
    }
    if (!IsLength(radius) || !IsLength(halfHeight))
    {
        return knFail(kn_errorArgument, "a capsule has a radius and a height above 0, got %g, %g",
                      (double)radius, (double)halfHeight);
    }
    knPortShape shape = {.kind = kn_portCapsule, .radius = radius, .length = halfHeight};
    return knWorld_AddBody(w, def, &shape, id);
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

knResult knWorld_CreateHull(knWorld* w, const knBodyDef* def, const knVec3* points, uint32_t count,
                            knBodyId* id)
{
    knResult result = CheckCall(w, def, id);
    if (result != kn_success)
    {
        return result;
    }
    if (!points || count < 4 || count > KN_MAX_MESH_SIZE || !AreFinite(points, count))
    {
        return knFail(kn_errorArgument, "a hull needs at least 4 finite points, got %u", count);
    }
    knPortShape shape = {.kind = kn_portHull, .points = points, .pointCount = count};
    return knWorld_AddBody(w, def, &shape, id);
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

knResult knWorld_CreateMesh(knWorld* w, const knBodyDef* def, const knTriangleMesh* mesh,
                            knBodyId* id)
{
    knResult result = CheckCall(w, def, id);
    result = result == kn_success ? CheckMesh(mesh) : result;
    if (result != kn_success)
    {
        return result;
    }
    knBodyDef fixed = *def;
    fixed.kind = kn_bodyStatic;
    knPortShape shape = {.kind = kn_portMesh, .mesh = mesh};
    return knWorld_AddBody(w, &fixed, &shape, id);
}
