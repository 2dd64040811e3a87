// SPDX-License-Identifier: Zlib
#include "shape_internal.h"

knShape knMakeSphereShape(float radius)
{
    return (knShape){.kind = kn_shapeSphere, .radius = radius};
}

knShape knMakeBoxShape(knVec3 halfExtents)
{
    return (knShape){.kind = kn_shapeBox, .half = halfExtents};
}

knShape knMakeCapsuleShape(float radius, float halfHeight)
{
    return (knShape){.kind = kn_shapeCapsule, .radius = radius, .halfHeight = halfHeight};
}

knShape knMakeCylinderShape(float radius, float halfHeight)
{
    return (knShape){.kind = kn_shapeCylinder, .radius = radius, .halfHeight = halfHeight};
}

knShape knMakeConeShape(float radius, float halfHeight)
{
    return (knShape){.kind = kn_shapeCone, .radius = radius, .halfHeight = halfHeight};
}

knShape knMakeHullShape(const knHull* hull)
{
    return (knShape){.kind = hull && hull->radii ? kn_shapeMultiSphere : kn_shapeHull,
                     .hull = hull};
}

knShape knMakePlaneShape(knVec3 normal, float offset)
{
    return (knShape){.kind = kn_shapePlane, .half = normal, .offset = offset};
}

knShape knMakeTriangleShape(knVec3 a, knVec3 b, knVec3 c)
{
    return (knShape){.kind = kn_shapeTriangle, .v = {a, b, c}};
}

static bool IsLength(float x)
{
    return x >= 0.0f && x <= FLT_MAX;
}

knResult knValidateShape(const knShape* shape)
{
    if (!shape || (unsigned)shape->kind >= kn_shapeKindCount)
    {
        return knFail(kn_errorArgument, "shape: null or of no known kind: use knMake...Shape");
    }
    if (!IsLength(shape->margin) || !IsLength(shape->radius) || !IsLength(shape->halfHeight))
    {
        return knFail(kn_errorArgument,
                      "shape: margin is %g, radius %g, halfHeight %g: finite and not negative",
                      (double)shape->margin, (double)shape->radius, (double)shape->halfHeight);
    }
    bool isHull = shape->kind == kn_shapeHull || shape->kind == kn_shapeMultiSphere;
    if (isHull && (!shape->hull || shape->hull->pointCount == 0 ||
                   (shape->kind == kn_shapeMultiSphere && !shape->hull->radii)))
    {
        return knFail(kn_errorArgument, "shape: a hull is missing: make one with knCreateHull");
    }
    if (shape->kind == kn_shapeBox &&
        !(IsLength(shape->half.x) && IsLength(shape->half.y) && IsLength(shape->half.z)))
    {
        return knFail(kn_errorArgument, "shape: half extents of %g, %g, %g: finite, not negative",
                      (double)shape->half.x, (double)shape->half.y, (double)shape->half.z);
    }
    if (shape->kind == kn_shapePlane &&
        !(fabsf(knLength(shape->half) - 1.0f) < 1e-3f && isfinite(shape->offset)))
    {
        return knFail(kn_errorArgument, "shape: a plane needs a unit normal and a finite offset");
    }
    if (shape->kind == kn_shapeTriangle &&
        !(knIsFinite(shape->v[0]) && knIsFinite(shape->v[1]) && knIsFinite(shape->v[2])))
    {
        return knFail(kn_errorArgument, "shape: a corner of the triangle is not finite");
    }
    return kn_success;
}

// The disc of a rim: its furthest point along a direction.
static knVec3 RimSupport(float radius, float y, knVec3 d)
{
    float length = sqrtf(d.x * d.x + d.z * d.z);
    float s = length > FLT_MIN ? radius / length : 0.0f;
    return knMakeVec3(s * d.x, y, s * d.z);
}

static knVec3 ConeSupport(const knShape* shape, knVec3 d)
{
    knVec3 rim = RimSupport(shape->radius, -shape->halfHeight, d);
    knVec3 tip = knMakeVec3(0.0f, shape->halfHeight, 0.0f);
    return knDot(tip, d) >= knDot(rim, d) ? tip : rim;
}

static knVec3 TriangleSupport(const knShape* shape, knVec3 d)
{
    int best = 0;
    for (int i = 1; i < 3; ++i)
    {
        best = knDot(shape->v[i], d) > knDot(shape->v[best], d) ? i : best;
    }
    return shape->v[best];
}

knVec3 knShape_CoreSupport(const knShape* shape, knVec3 d)
{
    switch (shape->kind)
    {
    case kn_shapeBox:
        return knMakeVec3(d.x < 0.0f ? -shape->half.x : shape->half.x,
                          d.y < 0.0f ? -shape->half.y : shape->half.y,
                          d.z < 0.0f ? -shape->half.z : shape->half.z);
    case kn_shapeCapsule:
        return knMakeVec3(0.0f, d.y < 0.0f ? -shape->halfHeight : shape->halfHeight, 0.0f);
    case kn_shapeCylinder:
        return RimSupport(shape->radius, d.y < 0.0f ? -shape->halfHeight : shape->halfHeight, d);
    case kn_shapeCone:
        return ConeSupport(shape, d);
    case kn_shapeHull:
    case kn_shapeMultiSphere:
        return knHull_Support(shape->hull, d);
    case kn_shapePlane:
        return knScale(shape->offset, shape->half);
    case kn_shapeTriangle:
        return TriangleSupport(shape, d);
    default:
        return knMakeVec3(0.0f, 0.0f, 0.0f);
    }
}

float knShapeRounding(const knShape* shape)
{
    bool isRound = shape->kind == kn_shapeSphere || shape->kind == kn_shapeCapsule;
    return shape->margin + (isRound ? shape->radius : 0.0f);
}

knVec3 knShape_Support(const knShape* shape, knVec3 direction)
{
    return knAddScaled(knShape_CoreSupport(shape, direction), knShapeRounding(shape),
                       knNormalize(direction));
}

static bool IsSame(knVec3 a, knVec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// Along one axis of the world.
static void BoundAxis(const knShape* shape, knTransform t, knVec3 axis, float* lower, float* upper)
{
    knVec3 d = knInvRotate(t.rotation, axis);
    float at = knDot(t.position, axis);
    if (shape->kind != kn_shapePlane)
    {
        *upper = at + knDot(knShape_Support(shape, d), d);
        *lower = at + knDot(knShape_Support(shape, knNeg(d)), d);
        return;
    }
    // only a plane at a right angle to the axis ends along it: the least tilt is much, far away
    float foot = at + shape->offset * knDot(shape->half, d);
    *upper = IsSame(shape->half, d) ? foot + shape->margin : FLT_MAX;
    *lower = IsSame(shape->half, knNeg(d)) ? foot - shape->margin : -FLT_MAX;
}

knBox knShape_Box(const knShape* shape, knTransform t)
{
    knBox box;
    BoundAxis(shape, t, knMakeVec3(1.0f, 0.0f, 0.0f), &box.lower.x, &box.upper.x);
    BoundAxis(shape, t, knMakeVec3(0.0f, 1.0f, 0.0f), &box.lower.y, &box.upper.y);
    BoundAxis(shape, t, knMakeVec3(0.0f, 0.0f, 1.0f), &box.lower.z, &box.upper.z);
    return box;
}
