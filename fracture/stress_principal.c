// SPDX-License-Identifier: Zlib
#include "fracture/stress_principal_internal.h"

typedef simde__m128 F4;

static F4 Set(float x)
{
    return simde_mm_set1_ps(x);
}

static F4 Add(F4 a, F4 b)
{
    return simde_mm_add_ps(a, b);
}

static F4 Sub(F4 a, F4 b)
{
    return simde_mm_sub_ps(a, b);
}

static F4 Mul(F4 a, F4 b)
{
    return simde_mm_mul_ps(a, b);
}

// 2 cos(2/3 acos s) on [0, 1] to 4e-7. With r = det/2 of the deviator of unit size, the largest
// root is 2 cos(acos(r) / 3); in s = sqrt((1 + r) / 2) it is smooth, so no angle is needed.
const float knStressShapeTerms[7] = {-0.00420698202f, 0.0210035072f, -0.0527994987f, 0.102949527f,
                                     -0.221610942f,   1.1546638f,    1.00000037f};

static F4 RootOfShape(F4 s)
{
    F4 sum = Set(knStressShapeTerms[0]);
    for (int i = 1; i < 7; ++i)
    {
        sum = Add(Mul(sum, s), Set(knStressShapeTerms[i]));
    }
    return sum;
}

// Half the determinant of the symmetric matrix with a, b, c on its diagonal.
static F4 HalfDeterminant(F4 a, F4 b, F4 c, const F4 off[3])
{
    F4 first = Mul(a, Sub(Mul(b, c), Mul(off[1], off[1])));
    F4 second = Mul(off[0], Sub(Mul(off[0], c), Mul(off[1], off[2])));
    F4 third = Mul(off[2], Sub(Mul(off[0], off[1]), Mul(b, off[2])));
    return Mul(Set(0.5f), Add(Sub(first, second), third));
}

static F4 LargestRoot(const F4 t[6])
{
    F4 mean = Mul(Add(Add(t[0], t[1]), t[2]), Set(1.0f / 3.0f));
    F4 a = Sub(t[0], mean);
    F4 b = Sub(t[1], mean);
    F4 c = Sub(t[2], mean);
    F4 shear2 = Add(Add(Mul(t[3], t[3]), Mul(t[4], t[4])), Mul(t[5], t[5]));
    F4 size2 = Add(Add(Mul(a, a), Mul(b, b)), Add(Mul(c, c), Add(shear2, shear2)));
    F4 size = simde_mm_sqrt_ps(Mul(size2, Set(1.0f / 6.0f)));
    // unit size first: the cube of a stress in pascal leaves the range of float
    F4 inverse = simde_mm_div_ps(Set(1.0f), Add(size, Set(FLT_MIN)));
    const F4 off[3] = {Mul(t[3], inverse), Mul(t[4], inverse), Mul(t[5], inverse)};
    F4 r = HalfDeterminant(Mul(a, inverse), Mul(b, inverse), Mul(c, inverse), off);
    F4 s2 = Add(Set(0.5f), Mul(Set(0.5f), r));
    s2 = simde_mm_min_ps(simde_mm_max_ps(s2, Set(0.0f)), Set(1.0f));
    return Add(mean, Mul(size, RootOfShape(simde_mm_sqrt_ps(s2))));
}

void knStress_LargestPrincipal(const float* tensor, size_t stride, float* largest)
{
    for (int i = 0; i < KN_STRESS_LANES; i += 4)
    {
        F4 lanes[6];
        for (int c = 0; c < 6; ++c)
        {
            lanes[c] = simde_mm_loadu_ps(tensor + (size_t)c * stride + i);
        }
        simde_mm_storeu_ps(largest + i, LargestRoot(lanes));
    }
}

knDVec3 knStress_AnyAcross(knDVec3 n)
{
    double x = fabs(n.x);
    double y = fabs(n.y);
    double z = fabs(n.z);
    knDVec3 axis = x <= y && x <= z ? knMakeDVec3(1.0, 0.0, 0.0)
                   : y <= z         ? knMakeDVec3(0.0, 1.0, 0.0)
                                    : knMakeDVec3(0.0, 0.0, 1.0);
    knDVec3 v = knDCross(n, axis);
    double length = knDLength(v);
    return length > 0.0 ? knDScale(1.0 / length, v) : knMakeDVec3(1.0, 0.0, 0.0);
}

static knDVec3 Longest(knDVec3 a, knDVec3 b, knDVec3 c)
{
    double aa = knDDot(a, a);
    double bb = knDDot(b, b);
    double cc = knDDot(c, c);
    return aa >= bb && aa >= cc ? a : bb >= cc ? b : c;
}

// The null space of t - largest: across two of its rows.
static knDVec3 NullDirection(const double t[6], double largest)
{
    knDVec3 r0 = {t[0] - largest, t[3], t[5]};
    knDVec3 r1 = {t[3], t[1] - largest, t[4]};
    knDVec3 r2 = {t[5], t[4], t[2] - largest};
    knDVec3 v = Longest(knDCross(r0, r1), knDCross(r1, r2), knDCross(r2, r0));
    knDVec3 row = Longest(r0, r1, r2);
    // a double root leaves one row: everything across it is as good
    double limit = 1e-6 * knDDot(row, row);
    double length = knDLength(v);
    return length > limit ? knDScale(1.0 / length, v) : knStress_AnyAcross(row);
}

static knDVec3 Times(const double t[6], knDVec3 v)
{
    return knMakeDVec3(t[0] * v.x + t[3] * v.y + t[5] * v.z, t[3] * v.x + t[1] * v.y + t[4] * v.z,
                       t[5] * v.x + t[4] * v.y + t[2] * v.z);
}

double knStress_Direction(const float tensor[6], double largest, knVec3* direction)
{
    double t[6];
    for (int i = 0; i < 6; ++i)
    {
        t[i] = (double)tensor[i];
    }
    knDVec3 v = NullDirection(t, largest);
    // the quotient is right to the square of the direction's error; once more from there
    largest = knDDot(v, Times(t, v));
    v = NullDirection(t, largest);
    *direction = knToFloat(v);
    return knDDot(v, Times(t, v));
}

void knStress_KeepLargestSse(const StressTask* task, const StressBlock* block, uint32_t firstNode)
{
    KeepLargest(task, block, firstNode);
}

KeepLargestFcn* knStress_ChooseKeep(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") ? knStress_KeepLargestAvx2 : knStress_KeepLargestSse;
#else
    return knStress_KeepLargestSse;
#endif
}
