// SPDX-License-Identifier: Zlib

// Checks what the caller gave and brings all meshes of a view into one frame.

#include "picture_internal.h"

#include <math.h>
#include <string.h>

#define MAX_COORDINATE 1.0e15 // squares still fit in a float

static knResult CheckFinite(const knVec3* values, size_t count, const char* name, uint32_t mesh)
{
    for (size_t i = 0; values && i < count; i++)
    {
        if (!knIsFinite(values[i]))
        {
            return knFail(kn_errorArgument, "picture: mesh %u: %s[%zu] is not finite", mesh, name,
                          i);
        }
    }
    return kn_success;
}

static knResult CheckTriangles(const knPictureMesh* mesh, uint32_t index)
{
    for (uint32_t i = 0; i < mesh->triangleCount; i++)
    {
        for (int k = 0; k < 3; k++)
        {
            if (mesh->triangles[i].v[k] >= mesh->positionCount)
            {
                return knFail(kn_errorArgument,
                              "picture: mesh %u: triangle %u names position %u of %u", index, i,
                              mesh->triangles[i].v[k], mesh->positionCount);
            }
        }
    }
    return kn_success;
}

static bool IsFiniteTransform(knTransform t)
{
    knVec3 axis = {t.rotation.x, t.rotation.y, t.rotation.z};
    float length = knLengthSquared(axis) + t.rotation.w * t.rotation.w;
    return knIsFinite(t.position) && length > FLT_MIN && isfinite(length);
}

static knResult CheckMesh(const knPictureMesh* mesh, uint32_t index)
{
    if ((!mesh->positions && mesh->positionCount > 0) ||
        (!mesh->triangles && mesh->triangleCount > 0))
    {
        return knFail(kn_errorArgument, "picture: mesh %u: positions or triangles are null", index);
    }
    if (mesh->positionCount > KN_MAX_MESH_SIZE || mesh->triangleCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "picture: mesh %u: more than %u positions or triangles", index,
                      KN_MAX_MESH_SIZE);
    }
    if (!IsFiniteTransform(mesh->transform) || !knIsFinite(mesh->color) ||
        !knIsFinite(mesh->edgeColor) || !(mesh->edgeWidth >= 0.0f && mesh->edgeWidth < 1.0e6f))
    {
        return knFail(kn_errorArgument,
                      "picture: mesh %u: the transform, color, edgeColor or edgeWidth (%g) is bad",
                      index, (double)mesh->edgeWidth);
    }
    size_t corners = 3 * (size_t)mesh->triangleCount;
    knResult results[] = {
        CheckFinite(mesh->positions, mesh->positionCount, "positions", index),
        CheckFinite(mesh->cornerNormals, corners, "cornerNormals", index),
        CheckFinite(mesh->cornerColors, corners, "cornerColors", index),
        CheckFinite(mesh->triangleColors, mesh->triangleCount, "triangleColors", index),
        CheckTriangles(mesh, index),
    };
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
    {
        if (results[i] != kn_success)
        {
            return results[i];
        }
    }
    return kn_success;
}

static knResult CheckCamera(const knPictureCamera* c, uint32_t index)
{
    if (!knIsFinite(c->target) || !isfinite(c->yaw) || !(fabsf(c->pitch) <= 1.5708f))
    {
        return knFail(kn_errorArgument,
                      "picture: view %u: camera target, yaw (%g) or pitch (%g) is bad", index,
                      (double)c->yaw, (double)c->pitch);
    }
    if (!(c->distance >= 0.0f && (double)c->distance <= MAX_COORDINATE))
    {
        return knFail(kn_errorArgument, "picture: view %u: camera distance %g is not in [0, 1e15]",
                      index, (double)c->distance);
    }
    if (!(c->fieldOfView >= 0.001f && c->fieldOfView <= 3.0f) ||
        !(c->margin >= 0.0f && c->margin <= 0.9f))
    {
        return knFail(kn_errorArgument,
                      "picture: view %u: fieldOfView %g is not in [0.001, 3] or margin %g not in "
                      "[0, 0.9]",
                      index, (double)c->fieldOfView, (double)c->margin);
    }
    return kn_success;
}

static knResult CheckStudio(const knPictureView* view, uint32_t index)
{
    if (!knIsFinite(view->backgroundTop) || !knIsFinite(view->backgroundBottom) ||
        !isfinite(view->groundHeight))
    {
        return knFail(kn_errorArgument, "picture: view %u: the background or ground is not finite",
                      index);
    }
    float length = knLengthSquared(view->sunDirection);
    if (!(length > 1.0e-30f && isfinite(length)))
    {
        return knFail(kn_errorArgument, "picture: view %u: the sun has no direction", index);
    }
    if (!(view->sunSize >= 0.0f && view->sunSize <= 3.0f) ||
        !(view->exposure >= 0.0f && view->exposure <= 1000.0f))
    {
        return knFail(kn_errorArgument,
                      "picture: view %u: sunSize %g is not in [0, 3] or exposure %g not in "
                      "[0, 1000]",
                      index, (double)view->sunSize, (double)view->exposure);
    }
    return kn_success;
}

knResult knCheckPictureView(const knPictureView* view, uint32_t index)
{
    if (!view->meshes || view->meshCount == 0)
    {
        return knFail(kn_errorArgument, "picture: view %u has no meshes", index);
    }
    size_t positions = 0;
    size_t triangles = 0;
    for (uint32_t i = 0; i < view->meshCount; i++)
    {
        knResult result = CheckMesh(&view->meshes[i], i);
        if (result != kn_success)
        {
            return result;
        }
        positions += view->meshes[i].positionCount;
        triangles += view->meshes[i].triangleCount;
    }
    if (triangles == 0)
    {
        return knFail(kn_errorArgument, "picture: view %u has no triangles", index);
    }
    if (positions > 8 * (size_t)KN_MAX_MESH_SIZE || triangles > 8 * (size_t)KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "picture: view %u is too large to draw", index);
    }
    knResult result = CheckCamera(&view->camera, index);
    return result == kn_success ? CheckStudio(view, index) : result;
}

static knDVec3 PlacePoint(const knPictureMesh* mesh, knVec3 point)
{
    // in double, so that a small piece far from the origin keeps its shape
    knQuat q = knNormalizeQuat(mesh->transform.rotation);
    knDVec3 u = knMakeDVec3((double)q.x, (double)q.y, (double)q.z);
    knDVec3 v = knToDouble(point);
    knDVec3 t = knDScale(2.0, knDCross(u, v));
    knDVec3 r = knDAdd(knDAdd(v, knDScale((double)q.w, t)), knDCross(u, t));
    return knDAdd(r, knToDouble(mesh->transform.position));
}

// Calls for every corner of every triangle, so that unused positions do not count.
typedef void VisitFcn(knDVec3 point, void* user);

static void VisitCorners(const knPictureMesh* meshes, uint32_t meshCount, VisitFcn* visit,
                         void* user)
{
    for (uint32_t m = 0; m < meshCount; m++)
    {
        const knPictureMesh* mesh = &meshes[m];
        for (uint32_t i = 0; i < mesh->triangleCount; i++)
        {
            for (int k = 0; k < 3; k++)
            {
                visit(PlacePoint(mesh, mesh->positions[mesh->triangles[i].v[k]]), user);
            }
        }
    }
}

typedef struct Extent
{
    knDVec3 lower, upper;
    knDVec3 center;
    double radiusSquared;
} Extent;

static void GrowBox(knDVec3 p, void* user)
{
    Extent* e = user;
    e->lower = knMakeDVec3(fmin(e->lower.x, p.x), fmin(e->lower.y, p.y), fmin(e->lower.z, p.z));
    e->upper = knMakeDVec3(fmax(e->upper.x, p.x), fmax(e->upper.y, p.y), fmax(e->upper.z, p.z));
}

static void GrowRadius(knDVec3 p, void* user)
{
    Extent* e = user;
    knDVec3 d = knDSub(p, e->center);
    e->radiusSquared = fmax(e->radiusSquared, knDDot(d, d));
}

static knResult FindExtent(Extent* extent, const knPictureView* view)
{
    extent->lower = knMakeDVec3(DBL_MAX, DBL_MAX, DBL_MAX);
    extent->upper = knMakeDVec3(-DBL_MAX, -DBL_MAX, -DBL_MAX);
    extent->radiusSquared = 0.0;
    VisitCorners(view->meshes, view->meshCount, GrowBox, extent);
    extent->center = knDScale(0.5, knDAdd(extent->lower, extent->upper));
    VisitCorners(view->meshes, view->meshCount, GrowRadius, extent);
    double reach = knDLength(extent->center) + sqrt(extent->radiusSquared);
    if (!(extent->radiusSquared > 1.0e-30) || !(reach <= MAX_COORDINATE))
    {
        return knFail(kn_errorArgument,
                      "picture: the meshes reach %g and have a radius of %g; they must lie within "
                      "1e15 and be larger than 1e-15",
                      reach, sqrt(extent->radiusSquared));
    }
    return kn_success;
}

static void FillScene(knPictureScene* scene, const knPictureView* view)
{
    uint32_t firstPosition = 0;
    size_t firstTriangle = 0;
    for (uint32_t m = 0; m < view->meshCount; m++)
    {
        const knPictureMesh* mesh = &view->meshes[m];
        scene->places[m].firstTriangle = firstTriangle;
        scene->places[m].rotation = knNormalizeQuat(mesh->transform.rotation);
        for (uint32_t i = 0; i < mesh->positionCount; i++)
        {
            knDVec3 p = knDSub(PlacePoint(mesh, mesh->positions[i]), scene->center);
            scene->positions[firstPosition + i] = knToFloat(knDScale(1.0 / scene->radius, p));
        }
        for (uint32_t i = 0; i < mesh->triangleCount; i++)
        {
            const uint32_t* v = mesh->triangles[i].v;
            knTriangle t = {{firstPosition + v[0], firstPosition + v[1], firstPosition + v[2]}};
            scene->triangles[firstTriangle + i] = t;
            scene->meshOfTriangle[firstTriangle + i] = m;
        }
        firstPosition += mesh->positionCount;
        firstTriangle += mesh->triangleCount;
    }
}

knResult knCreatePictureScene(knPictureScene* scene, const knPictureView* view,
                              const knAllocator* allocator, const knTaskHooks* tasks)
{
    memset(scene, 0, sizeof(*scene));
    Extent extent;
    knResult result = FindExtent(&extent, view);
    if (result != kn_success)
    {
        return result;
    }
    scene->allocator = allocator;
    scene->tasks = tasks;
    scene->meshes = view->meshes;
    scene->meshCount = view->meshCount;
    scene->center = extent.center;
    scene->radius = sqrt(extent.radiusSquared);
    double ground = view->hasGroundHeight ? (double)view->groundHeight : extent.lower.y;
    scene->groundHeight = (float)((ground - extent.center.y) / scene->radius);
    scene->hasGround = view->hasGround;
    for (uint32_t m = 0; m < view->meshCount; m++)
    {
        scene->positionCount += view->meshes[m].positionCount;
        scene->triangleCount += view->meshes[m].triangleCount;
    }
    scene->positions = knAllocate(allocator, scene->positionCount, sizeof(knVec3));
    scene->triangles = knAllocate(allocator, scene->triangleCount, sizeof(knTriangle));
    scene->meshOfTriangle = knAllocate(allocator, scene->triangleCount, sizeof(uint32_t));
    scene->places = knAllocate(allocator, scene->meshCount, sizeof(knMeshPlace));
    if (!scene->positions || !scene->triangles || !scene->meshOfTriangle || !scene->places)
    {
        knDestroyPictureScene(scene);
        return kn_errorMemory;
    }
    FillScene(scene, view);
    return kn_success;
}

void knDestroyPictureScene(knPictureScene* scene)
{
    knRelease(scene->allocator, scene->positions, scene->positionCount, sizeof(knVec3));
    knRelease(scene->allocator, scene->triangles, scene->triangleCount, sizeof(knTriangle));
    knRelease(scene->allocator, scene->meshOfTriangle, scene->triangleCount, sizeof(uint32_t));
    knRelease(scene->allocator, scene->places, scene->meshCount, sizeof(knMeshPlace));
    memset(scene, 0, sizeof(*scene));
}

typedef struct Frame
{
    knDVec3 right, up, back;
} Frame;

static Frame CameraFrame(const knPictureCamera* camera)
{
    double sy = sin((double)camera->yaw);
    double cy = cos((double)camera->yaw);
    double sp = sin((double)camera->pitch);
    double cp = cos((double)camera->pitch);
    Frame frame = {{cy, 0.0, -sy}, {-sy * sp, cp, -cy * sp}, {sy * cp, sp, cy * cp}};
    return frame;
}

// The most that the meshes reach across each side plane of a camera at the origin.
typedef struct FitContext
{
    Frame frame;
    double tangentX, tangentY;
    double right, left, top, bottom;
    double nearest;
} FitContext;

static void FitPoint(knDVec3 p, void* user)
{
    FitContext* c = user;
    double x = knDDot(p, c->frame.right);
    double y = knDDot(p, c->frame.up);
    double z = knDDot(p, c->frame.back);
    c->right = fmax(c->right, x + z * c->tangentX);
    c->left = fmax(c->left, -x + z * c->tangentX);
    c->top = fmax(c->top, y + z * c->tangentY);
    c->bottom = fmax(c->bottom, -y + z * c->tangentY);
    c->nearest = fmax(c->nearest, z);
}

knResult knFitPictureCamera(const knPictureView* view, float aspect, knPictureCamera* camera)
{
    if (!view || !camera || !(aspect > 1.0e-5f && aspect < 1.0e5f))
    {
        return knFail(kn_errorArgument, "picture: the view or camera is null or the aspect bad");
    }
    knResult result = knCheckPictureView(view, 0);
    Extent extent;
    result = result == kn_success ? FindExtent(&extent, view) : result;
    if (result != kn_success)
    {
        return result;
    }
    double tangent =
        tan(0.5 * (double)view->camera.fieldOfView) * (1.0 - (double)view->camera.margin);
    double lowest = -DBL_MAX;
    FitContext c = {CameraFrame(&view->camera),
                    tangent * fmax(1.0, (double)aspect),
                    tangent / fmin(1.0, (double)aspect),
                    lowest,
                    lowest,
                    lowest,
                    lowest,
                    lowest};
    VisitCorners(view->meshes, view->meshCount, FitPoint, &c);
    // the two planes of each axis meet where they just hold everything; the farther axis decides
    double x = 0.5 * (c.right - c.left);
    double y = 0.5 * (c.top - c.bottom);
    double z =
        fmax((c.right + c.left) / (2.0 * c.tangentX), (c.top + c.bottom) / (2.0 * c.tangentY));
    double target = knDDot(extent.center, c.frame.back);
    z = fmax(z, c.nearest + 1.0e-3 * sqrt(extent.radiusSquared));
    *camera = view->camera;
    camera->target = knToFloat(knDAdd(knDAdd(knDScale(x, c.frame.right), knDScale(y, c.frame.up)),
                                      knDScale(target, c.frame.back)));
    camera->distance = (float)(z - target);
    return kn_success;
}

knPictureEye knMakePictureEye(const knPictureScene* scene, const knPictureView* view, int width,
                              int height)
{
    const knPictureCamera* source = &view->camera;
    Frame frame = CameraFrame(source);
    knDVec3 eye =
        knDAdd(knToDouble(source->target), knDScale((double)source->distance, frame.back));
    eye = knDScale(1.0 / scene->radius, knDSub(eye, scene->center));
    double shorter = width < height ? width : height;
    knPictureEye camera = {knToFloat(eye),
                           knToFloat(frame.right),
                           knToFloat(frame.up),
                           knToFloat(frame.back),
                           0.5 * shorter / tan(0.5 * (double)source->fieldOfView),
                           0.5 * width,
                           0.5 * height};
    return camera;
}
