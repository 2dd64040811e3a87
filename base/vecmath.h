// SPDX-License-Identifier: Zlib
#pragma once

// Vectors, matrices, quaternions, transforms and boxes. Float for what a game moves; double where
// volumes and masses are summed.

#include <float.h>
#include <math.h>
#include <stdbool.h>

typedef struct knVec3
{
    float x, y, z;
} knVec3;

typedef struct knDVec3
{
    double x, y, z;
} knDVec3;

typedef struct knQuat
{
    float x, y, z, w;
} knQuat;

// Columns.
typedef struct knMat3
{
    knVec3 cx, cy, cz;
} knMat3;

// A symmetric matrix: xx, yy, zz on the diagonal.
typedef struct knDSym3
{
    double xx, yy, zz, xy, xz, yz;
} knDSym3;

typedef struct knTransform
{
    knVec3 position;
    knQuat rotation;
} knTransform;

// Empty while lower > upper.
typedef struct knBox
{
    knVec3 lower, upper;
} knBox;

static inline knVec3 knMakeVec3(float x, float y, float z)
{
    knVec3 v = {x, y, z};
    return v;
}

static inline knVec3 knAdd(knVec3 a, knVec3 b)
{
    return knMakeVec3(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline knVec3 knSub(knVec3 a, knVec3 b)
{
    return knMakeVec3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline knVec3 knScale(float s, knVec3 a)
{
    return knMakeVec3(s * a.x, s * a.y, s * a.z);
}

static inline knVec3 knNeg(knVec3 a)
{
    return knMakeVec3(-a.x, -a.y, -a.z);
}

// a + s b
static inline knVec3 knAddScaled(knVec3 a, float s, knVec3 b)
{
    return knMakeVec3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

static inline knVec3 knLerp(knVec3 a, knVec3 b, float t)
{
    return knMakeVec3((1.0f - t) * a.x + t * b.x, (1.0f - t) * a.y + t * b.y,
                      (1.0f - t) * a.z + t * b.z);
}

static inline knVec3 knMin(knVec3 a, knVec3 b)
{
    return knMakeVec3(a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z);
}

static inline knVec3 knMax(knVec3 a, knVec3 b)
{
    return knMakeVec3(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z);
}

static inline float knDot(knVec3 a, knVec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline knVec3 knCross(knVec3 a, knVec3 b)
{
    return knMakeVec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline float knLengthSquared(knVec3 a)
{
    return knDot(a, a);
}

static inline float knLength(knVec3 a)
{
    return sqrtf(knDot(a, a));
}

static inline float knDistance(knVec3 a, knVec3 b)
{
    return knLength(knSub(a, b));
}

// Zero stays zero, so that a degenerate direction can be seen and dealt with.
static inline knVec3 knNormalize(knVec3 a)
{
    float length = knLength(a);
    return length > FLT_MIN ? knScale(1.0f / length, a) : knMakeVec3(0.0f, 0.0f, 0.0f);
}

static inline bool knIsFinite(knVec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

static inline knDVec3 knMakeDVec3(double x, double y, double z)
{
    knDVec3 v = {x, y, z};
    return v;
}

static inline knDVec3 knToDouble(knVec3 a)
{
    return knMakeDVec3((double)a.x, (double)a.y, (double)a.z);
}

static inline knVec3 knToFloat(knDVec3 a)
{
    return knMakeVec3((float)a.x, (float)a.y, (float)a.z);
}

static inline knDVec3 knDAdd(knDVec3 a, knDVec3 b)
{
    return knMakeDVec3(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline knDVec3 knDSub(knDVec3 a, knDVec3 b)
{
    return knMakeDVec3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline knDVec3 knDScale(double s, knDVec3 a)
{
    return knMakeDVec3(s * a.x, s * a.y, s * a.z);
}

static inline double knDDot(knDVec3 a, knDVec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline knDVec3 knDCross(knDVec3 a, knDVec3 b)
{
    return knMakeDVec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline double knDLength(knDVec3 a)
{
    return sqrt(knDDot(a, a));
}

// Six times the signed volume of a tetrahedron; positive when d sees a, b, c turn
// counter-clockwise, which is the orientation of every tetrahedron in Knap.
static inline double knTetVolume6(knVec3 a, knVec3 b, knVec3 c, knVec3 d)
{
    knDVec3 o = knToDouble(a);
    knDVec3 u = knDSub(knToDouble(b), o);
    knDVec3 v = knDSub(knToDouble(c), o);
    knDVec3 w = knDSub(knToDouble(d), o);
    return knDDot(knDCross(u, v), w);
}

static inline knQuat knIdentityQuat(void)
{
    knQuat q = {0.0f, 0.0f, 0.0f, 1.0f};
    return q;
}

// The axis must be a unit vector.
static inline knQuat knMakeQuat(knVec3 axis, float radians)
{
    float s = sinf(0.5f * radians);
    knQuat q = {s * axis.x, s * axis.y, s * axis.z, cosf(0.5f * radians)};
    return q;
}

static inline knQuat knMulQuat(knQuat a, knQuat b)
{
    knQuat q = {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
    return q;
}

static inline knQuat knConjugate(knQuat q)
{
    knQuat c = {-q.x, -q.y, -q.z, q.w};
    return c;
}

static inline knQuat knNormalizeQuat(knQuat q)
{
    float length = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (!(length > FLT_MIN))
    {
        return knIdentityQuat();
    }
    float s = 1.0f / length;
    knQuat n = {s * q.x, s * q.y, s * q.z, s * q.w};
    return n;
}

static inline knVec3 knRotate(knQuat q, knVec3 v)
{
    // v + 2 w (u x v) + 2 u x (u x v)
    knVec3 u = {q.x, q.y, q.z};
    knVec3 t = knScale(2.0f, knCross(u, v));
    return knAdd(knAddScaled(v, q.w, t), knCross(u, t));
}

static inline knVec3 knInvRotate(knQuat q, knVec3 v)
{
    return knRotate(knConjugate(q), v);
}

static inline knMat3 knMat3FromQuat(knQuat q)
{
    knMat3 m = {knRotate(q, knMakeVec3(1.0f, 0.0f, 0.0f)),
                knRotate(q, knMakeVec3(0.0f, 1.0f, 0.0f)),
                knRotate(q, knMakeVec3(0.0f, 0.0f, 1.0f))};
    return m;
}

static inline knVec3 knMulMV(knMat3 m, knVec3 v)
{
    return knAddScaled(knAddScaled(knScale(v.x, m.cx), v.y, m.cy), v.z, m.cz);
}

static inline knMat3 knTranspose(knMat3 m)
{
    knMat3 t = {{m.cx.x, m.cy.x, m.cz.x}, {m.cx.y, m.cy.y, m.cz.y}, {m.cx.z, m.cy.z, m.cz.z}};
    return t;
}

static inline knMat3 knMulMM(knMat3 a, knMat3 b)
{
    knMat3 m = {knMulMV(a, b.cx), knMulMV(a, b.cy), knMulMV(a, b.cz)};
    return m;
}

static inline knTransform knIdentityTransform(void)
{
    knTransform t = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}};
    return t;
}

static inline knVec3 knTransformPoint(knTransform t, knVec3 p)
{
    return knAdd(knRotate(t.rotation, p), t.position);
}

static inline knVec3 knInvTransformPoint(knTransform t, knVec3 p)
{
    return knInvRotate(t.rotation, knSub(p, t.position));
}

// First b, then a.
static inline knTransform knMulTransforms(knTransform a, knTransform b)
{
    knTransform t = {knTransformPoint(a, b.position), knMulQuat(a.rotation, b.rotation)};
    return t;
}

// Takes the frame of b into the frame of a: inverse(a) b.
static inline knTransform knInvMulTransforms(knTransform a, knTransform b)
{
    knTransform t = {knInvTransformPoint(a, b.position),
                     knMulQuat(knConjugate(a.rotation), b.rotation)};
    return t;
}

static inline knBox knEmptyBox(void)
{
    knBox b = {{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};
    return b;
}

static inline knBox knBox_AddPoint(knBox b, knVec3 p)
{
    knBox r = {knMin(b.lower, p), knMax(b.upper, p)};
    return r;
}

static inline knBox knBox_Union(knBox a, knBox b)
{
    knBox r = {knMin(a.lower, b.lower), knMax(a.upper, b.upper)};
    return r;
}

static inline knBox knBox_Expand(knBox b, float margin)
{
    knVec3 m = {margin, margin, margin};
    knBox r = {knSub(b.lower, m), knAdd(b.upper, m)};
    return r;
}

// Closed boxes: touching counts.
static inline bool knBox_Overlaps(knBox a, knBox b)
{
    return a.lower.x <= b.upper.x && b.lower.x <= a.upper.x && a.lower.y <= b.upper.y &&
           b.lower.y <= a.upper.y && a.lower.z <= b.upper.z && b.lower.z <= a.upper.z;
}

static inline bool knBox_Contains(knBox b, knVec3 p)
{
    return b.lower.x <= p.x && p.x <= b.upper.x && b.lower.y <= p.y && p.y <= b.upper.y &&
           b.lower.z <= p.z && p.z <= b.upper.z;
}

static inline knVec3 knBox_Center(knBox b)
{
    return knLerp(b.lower, b.upper, 0.5f);
}

static inline knVec3 knBox_Extent(knBox b)
{
    return knSub(b.upper, b.lower);
}

// Zero inside.
static inline float knBox_Distance(knBox b, knVec3 p)
{
    knVec3 zero = {0.0f, 0.0f, 0.0f};
    return knLength(knMax(zero, knMax(knSub(b.lower, p), knSub(p, b.upper))));
}
