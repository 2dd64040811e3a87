// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Adds a number to an expansion of numbers that do not overlap (Shewchuk 1997, GROW-EXPANSION).
static int Grow(double* e, int count, double b)
{
    double q = b;
    for (int i = 0; i < count; ++i)
    {
        double sum = q + e[i];
        double bv = sum - q;
        double low = (q - (sum - bv)) + (e[i] - bv);
        q = sum;
        e[i] = low;
    }
    e[count] = q;
    return count + 1;
}

// x, y and z hold 24 bits: x y is exact, and its product with z is a sum of two doubles.
static int AddProduct(double* e, int count, double x, double y, double z)
{
    double xy = x * y;
    double high = xy * z;
    double low = fma(xy, z, -high);
    count = Grow(e, count, low);
    return Grow(e, count, high);
}

static int AddMinor(double* e, int count, double sign, const knVec3 m[3])
{
    static const int turns[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                    {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < 6; ++i)
    {
        double s = i < 3 ? sign : -sign;
        count = AddProduct(e, count, s * (double)m[turns[i][0]].x, (double)m[turns[i][1]].y,
                           (double)m[turns[i][2]].z);
    }
    return count;
}

// All 24 products of the 4 x 4 determinant, summed without rounding.
static double ExactDeterminant(knVec3 a, knVec3 b, knVec3 c, knVec3 p)
{
    double e[96];
    int count = 0;
    count = AddMinor(e, count, 1.0, (const knVec3[3]){b, c, p});
    count = AddMinor(e, count, -1.0, (const knVec3[3]){a, c, p});
    count = AddMinor(e, count, 1.0, (const knVec3[3]){a, b, p});
    count = AddMinor(e, count, -1.0, (const knVec3[3]){a, b, c});
    // the largest component that is not zero comes last and has the sign of the sum
    while (count > 0 && e[count - 1] == 0.0)
    {
        --count;
    }
    return count > 0 ? e[count - 1] : 0.0;
}

double knExactVolume6(knVec3 a, knVec3 b, knVec3 c, knVec3 p)
{
    knDVec3 o = knToDouble(p);
    knDVec3 u = knDSub(knToDouble(a), o);
    knDVec3 v = knDSub(knToDouble(b), o);
    knDVec3 w = knDSub(knToDouble(c), o);
    double vwx = v.y * w.z, wvx = v.z * w.y;
    double vwy = v.z * w.x, wvy = v.x * w.z;
    double vwz = v.x * w.y, wvz = v.y * w.x;
    double det = u.x * (vwx - wvx) + u.y * (vwy - wvy) + u.z * (vwz - wvz);
    double size = fabs(u.x) * (fabs(vwx) + fabs(wvx)) + fabs(u.y) * (fabs(vwy) + fabs(wvy)) +
                  fabs(u.z) * (fabs(vwz) + fabs(wvz));
    // Shewchuk's bound for this expression is (7 + 56 u) u times the size, u = 2^-53
    if (fabs(det) > 8.0 * 0x1p-53 * size)
    {
        return -det;
    }
    return ExactDeterminant(a, b, c, p);
}
