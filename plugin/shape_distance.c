// SPDX-License-Identifier: Zlib
#include "shape_internal.h"

knVec3 knPerpendicular(knVec3 v)
{
    knVec3 axis = fabsf(v.x) < 0.6f ? knMakeVec3(1.0f, 0.0f, 0.0f) : knMakeVec3(0.0f, 1.0f, 0.0f);
    return knNormalize(knCross(v, axis));
}

knVec3 knNearestOnSegment(knVec3 p, knVec3 a, knVec3 b)
{
    knVec3 d = knSub(b, a);
    float length2 = knLengthSquared(d);
    float t = length2 > FLT_MIN ? knDot(knSub(p, a), d) / length2 : 0.0f;
    return knAddScaled(a, fminf(fmaxf(t, 0.0f), 1.0f), d);
}

// The nearest of the three sides.
static knVec3 ClosestOnSides(knVec3 p, const knVec3 v[3], float weights[3])
{
    knVec3 best = v[0];
    float distance = FLT_MAX;
    for (int i = 0; i < 3; ++i)
    {
        knVec3 a = v[i], d = knSub(v[(i + 1) % 3], a);
        float length2 = knLengthSquared(d);
        float t = length2 > FLT_MIN ? knDot(knSub(p, a), d) / length2 : 0.0f;
        t = fminf(fmaxf(t, 0.0f), 1.0f);
        knVec3 q = knAddScaled(a, t, d);
        float tried = knLengthSquared(knSub(p, q));
        if (tried < distance)
        {
            distance = tried;
            best = q;
            weights[i] = 1.0f - t;
            weights[(i + 1) % 3] = t;
            weights[(i + 2) % 3] = 0.0f;
        }
    }
    return best;
}

knVec3 knNearestOnTriangle(knVec3 p, const knVec3 v[3], float weights[3])
{
    knVec3 u = knSub(v[1], v[0]), w = knSub(v[2], v[0]), q = knSub(p, v[0]);
    knVec3 n = knCross(u, w);
    float area2 = knLengthSquared(n);
    // slivers have no face to speak of
    if (area2 > 1e-12f * knLengthSquared(u) * knLengthSquared(w))
    {
        float b = knDot(knCross(q, w), n) / area2;
        float c = knDot(knCross(u, q), n) / area2;
        if (b > 0.0f && c > 0.0f && b + c < 1.0f)
        {
            weights[0] = 1.0f - b - c;
            weights[1] = b;
            weights[2] = c;
            return knAddScaled(knAddScaled(v[0], b, u), c, w);
        }
    }
    return ClosestOnSides(p, v, weights);
}

// Away from a point; `otherwise` where the two fall together.
static float Away(knVec3 p, knVec3 from, knVec3 otherwise, knVec3* gradient)
{
    knVec3 d = knSub(p, from);
    float length = knLength(d);
    *gradient = length > FLT_MIN ? knScale(1.0f / length, d) : otherwise;
    return length;
}

static float BoxDistance(knVec3 half, knVec3 p, knVec3* gradient)
{
    float at[3] = {p.x, p.y, p.z}, size[3] = {half.x, half.y, half.z}, out[3];
    float outside2 = 0.0f;
    int axis = 0;
    for (int i = 0; i < 3; ++i)
    {
        out[i] = fabsf(at[i]) - size[i];
        outside2 += out[i] > 0.0f ? out[i] * out[i] : 0.0f;
        axis = out[i] > out[axis] ? i : axis;
    }
    float g[3] = {0.0f, 0.0f, 0.0f};
    if (outside2 <= FLT_MIN)
    {
        g[axis] = at[axis] < 0.0f ? -1.0f : 1.0f;
        *gradient = knMakeVec3(g[0], g[1], g[2]);
        return out[axis];
    }
    float length = sqrtf(outside2);
    for (int i = 0; i < 3; ++i)
    {
        g[i] = out[i] > 0.0f ? (at[i] < 0.0f ? -out[i] : out[i]) / length : 0.0f;
    }
    *gradient = knMakeVec3(g[0], g[1], g[2]);
    return length;
}

// From the plane through the axis and the point back to space.
static knVec3 FromProfile(knVec3 p, float rho, float radial, float along)
{
    knVec3 u =
        rho > FLT_MIN ? knMakeVec3(p.x / rho, 0.0f, p.z / rho) : knMakeVec3(1.0f, 0.0f, 0.0f);
    return knMakeVec3(radial * u.x, along, radial * u.z);
}

static float CylinderDistance(const knShape* shape, knVec3 p, knVec3* gradient)
{
    float rho = sqrtf(p.x * p.x + p.z * p.z);
    float out = rho - shape->radius, up = fabsf(p.y) - shape->halfHeight;
    float sign = p.y < 0.0f ? -1.0f : 1.0f;
    if (out <= 0.0f || up <= 0.0f)
    {
        *gradient = out > up ? FromProfile(p, rho, 1.0f, 0.0f) : knMakeVec3(0.0f, sign, 0.0f);
        return out > up ? out : up;
    }
    float length = sqrtf(out * out + up * up);
    *gradient = FromProfile(p, rho, out / length, sign * up / length);
    return length;
}

static float ConeDistance(const knShape* shape, knVec3 p, knVec3* gradient)
{
    float rho = sqrtf(p.x * p.x + p.z * p.z);
    float r = shape->radius, h = shape->halfHeight;
    // the slanted side has this outward normal in the profile
    float slant = sqrtf(r * r + 4.0f * h * h);
    float nx = slant > FLT_MIN ? 2.0f * h / slant : 1.0f;
    float ny = slant > FLT_MIN ? r / slant : 0.0f;
    float side = nx * rho + ny * (p.y - h);
    float base = -h - p.y;
    if (side <= 0.0f && base <= 0.0f)
    {
        *gradient = side > base ? FromProfile(p, rho, nx, ny) : knMakeVec3(0.0f, -1.0f, 0.0f);
        return side > base ? side : base;
    }
    knVec3 at = {rho, p.y, 0.0f}, tip = {0.0f, h, 0.0f};
    knVec3 rim = {r, -h, 0.0f}, foot = {0.0f, -h, 0.0f};
    knVec3 onSide = knNearestOnSegment(at, tip, rim), onBase = knNearestOnSegment(at, foot, rim);
    bool sideIsNearer = knDistance(at, onSide) < knDistance(at, onBase);
    knVec3 flat;
    knVec3 otherwise = sideIsNearer ? knMakeVec3(nx, ny, 0.0f) : knMakeVec3(0.0f, -1.0f, 0.0f);
    float distance = Away(at, sideIsNearer ? onSide : onBase, otherwise, &flat);
    *gradient = FromProfile(p, rho, flat.x, flat.y);
    return distance;
}

static float TriangleDistance(const knShape* shape, knVec3 p, knVec3* gradient)
{
    float weights[3];
    knVec3 q = knNearestOnTriangle(p, shape->v, weights);
    knVec3 n =
        knNormalize(knCross(knSub(shape->v[1], shape->v[0]), knSub(shape->v[2], shape->v[0])));
    n = knLengthSquared(n) > 0.5f ? n : knMakeVec3(0.0f, 1.0f, 0.0f);
    return Away(p, q, n, gradient);
}

static float CoreDistance(const knShape* shape, knVec3 p, knVec3* gradient)
{
    knVec3 up = {0.0f, 1.0f, 0.0f}, aside = {1.0f, 0.0f, 0.0f};
    switch (shape->kind)
    {
    case kn_shapeSphere:
        return Away(p, knMakeVec3(0.0f, 0.0f, 0.0f), up, gradient) - shape->radius;
    case kn_shapeBox:
        return BoxDistance(shape->half, p, gradient);
    case kn_shapeCapsule:
    {
        float y = fminf(fmaxf(p.y, -shape->halfHeight), shape->halfHeight);
        return Away(p, knMakeVec3(0.0f, y, 0.0f), aside, gradient) - shape->radius;
    }
    case kn_shapeCylinder:
        return CylinderDistance(shape, p, gradient);
    case kn_shapeCone:
        return ConeDistance(shape, p, gradient);
    case kn_shapeHull:
    case kn_shapeMultiSphere:
        return knHull_Distance(shape->hull, p, gradient);
    case kn_shapePlane:
        *gradient = shape->half;
        return knDot(shape->half, p) - shape->offset;
    default:
        return TriangleDistance(shape, p, gradient);
    }
}

float knShape_Distance(const knShape* shape, knVec3 p, knVec3* gradient)
{
    knVec3 unused;
    return CoreDistance(shape, p, gradient ? gradient : &unused) - shape->margin;
}
