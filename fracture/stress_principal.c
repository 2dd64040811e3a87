// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

// Plain loops over lanes: the compiler makes them wide, and every lane has the scalar's bits.

// 2 cos(2/3 acos s) on [0, 1] to 4e-7. With r = det/2 of the deviator of unit size, the largest
// root is 2 cos(acos(r) / 3); in s = sqrt((1 + r) / 2) it is smooth, so no angle is needed.
static float RootOfShape(float s)
{
    return 1.00000037f +
           s * (1.1546638f +
                s * (-0.221610942f +
                     s * (0.102949527f +
                          s * (-0.0527994987f + s * (0.0210035072f - s * 0.00420698202f)))));
}

static float LargestRoot(float xx, float yy, float zz, float xy, float yz, float zx)
{
    float mean = (xx + yy + zz) * (1.0f / 3.0f);
    float a = xx - mean;
    float b = yy - mean;
    float c = zz - mean;
    float size2 = (a * a + b * b + c * c + 2.0f * (xy * xy + yz * yz + zx * zx)) * (1.0f / 6.0f);
    float size = sqrtf(size2);
    // unit size first: the cube of a stress in pascal leaves the range of float
    float inverse = 1.0f / (size + FLT_MIN);
    a *= inverse;
    b *= inverse;
    c *= inverse;
    float d = xy * inverse;
    float e = yz * inverse;
    float f = zx * inverse;
    float r = 0.5f * (a * (b * c - e * e) - d * (d * c - e * f) + f * (d * e - b * f));
    float s2 = 0.5f + 0.5f * r;
    s2 = s2 > 0.0f ? s2 : 0.0f;
    s2 = s2 < 1.0f ? s2 : 1.0f;
    return mean + size * RootOfShape(sqrtf(s2));
}

void knStress_LargestPrincipal(const float (*t)[KN_STRESS_LANES], float* largest)
{
    for (int i = 0; i < KN_STRESS_LANES; ++i)
    {
        largest[i] = LargestRoot(t[0][i], t[1][i], t[2][i], t[3][i], t[4][i], t[5][i]);
    }
}

// Some unit vector across `n`.
static knDVec3 AnyAcross(knDVec3 n)
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
    return length > limit ? knDScale(1.0 / length, v) : AnyAcross(row);
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

static void Keep(const StressTask* task, const StressBlock* block, uint32_t lane, int best,
                 uint32_t node)
{
    knNodeStress* out = &task->out[node];
    for (int c = 0; c < 6; ++c)
    {
        out->tensor[c] = block->s[best][c][lane];
    }
    out->tension = (float)knStress_Direction(out->tensor, (double)out->tension, &out->direction);
    out->time = (float)task->times[best];
}

void knStress_KeepLargest(const StressTask* task, const StressBlock* block, uint32_t firstNode)
{
    float top[KN_STRESS_LANES] = {0};
    int best[KN_STRESS_LANES];
    for (int i = 0; i < KN_STRESS_LANES; ++i)
    {
        best[i] = -1;
    }
    for (int k = 0; k < (int)task->timeCount; ++k)
    {
        float largest[KN_STRESS_LANES];
        knStress_LargestPrincipal(block->s[k], largest);
        for (int i = 0; i < KN_STRESS_LANES; ++i)
        {
            bool isMore = largest[i] > top[i];
            best[i] = isMore ? k : best[i];
            top[i] = isMore ? largest[i] : top[i];
        }
    }
    for (uint32_t i = 0; i < KN_STRESS_LANES && firstNode + i < task->nodeCount; ++i)
    {
        task->out[firstNode + i] = (knNodeStress){.tension = top[i]};
        if (best[i] >= 0)
        {
            Keep(task, block, i, best[i], firstNode + i);
        }
    }
}
