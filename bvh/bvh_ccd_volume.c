// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// Features that touch lie in one plane with each other: the volume that three corners span with the
// origin is zero then. It is a cubic in time; as long as it is surely not zero, nothing touches.
// Directions get slow towards a contact of features that turn; the cubic does not.

#define UNIT   0x1p-53
#define BOUND  256.0     // roundings, of the product of the largest extents; taken off twice
#define SPLITS 5         // of the cubic, to see that it is positive
#define FLOOR  0x1p-1050 // times the largest extent, more than all that underflow can take

static double Determinant(const double a[3], const double b[3], const double c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
}

knCcdVolume knFindCcdVolume(const knCcdCorners* c)
{
    const double(*s)[3] = c->start, (*e)[3] = c->end;
    double size = 1.0, largest = 1.0;
    for (int k = 0; k < 3; ++k)
    {
        double most = 0.0;
        for (int i = 0; i < 3; ++i)
        {
            double x = fabs(s[i][k]), y = fabs(e[i][k]);
            most = x > most ? x : most;
            most = y > most ? y : most;
        }
        size *= most;
        largest = most > largest ? most : largest;
    }
    double b1 = (Determinant(e[0], s[1], s[2]) + Determinant(s[0], e[1], s[2]) +
                 Determinant(s[0], s[1], e[2])) /
                3.0;
    double b2 = (Determinant(s[0], e[1], e[2]) + Determinant(e[0], s[1], e[2]) +
                 Determinant(e[0], e[1], s[2])) /
                3.0;
    return (knCcdVolume){{{Determinant(s[0], s[1], s[2]), b1, b2, Determinant(e[0], e[1], e[2])}},
                         c->sabotage & kn_sabotageCcdBound ? 0.0
                                                           : BOUND * UNIT * size + FLOOR * largest};
}

static double Value(const double p[4], double t)
{
    return ((p[3] * t + p[2]) * t + p[1]) * t + p[0];
}

// The cubic has one root between, of which it is positive at the left end.
static double RootBetween(const double p[4], double left, double right)
{
    double t = 0.5 * (left + right);
    for (int i = 0; i < 60 && right - left > 1e-12; ++i)
    {
        double value = Value(p, t), slope = (3.0 * p[3] * t + 2.0 * p[2]) * t + p[1];
        left = value > 0.0 ? t : left;
        right = value > 0.0 ? right : t;
        double next = t - value / slope;
        bool isClose = fabs(next - t) < 1e-13;
        t = next > left && next < right ? next : 0.5 * (left + right);
        if (isClose)
        {
            break;
        }
    }
    return t;
}

// About where a cubic that is positive at 0 first falls to zero; `until` when it does not.
static double FirstRoot(const double p[4], double until)
{
    double ends[4] = {0.0, until, until, until};
    double a = 3.0 * p[3], b = 2.0 * p[2], square = b * b - 4.0 * a * p[1];
    int count = 1;
    if (square > 0.0)
    {
        double q = -0.5 * (b + copysign(sqrt(square), b)), x = q / a, y = p[1] / q;
        double low = fmin(x, y), high = fmax(x, y);
        if (low > 0.0 && low < until)
        {
            ends[count++] = low;
        }
        if (high > 0.0 && high < until)
        {
            ends[count++] = high;
        }
    }
    ends[count] = until;
    for (int i = 0; i < count; ++i)
    {
        if (!(Value(p, ends[i + 1]) > 0.0))
        {
            return RootBetween(p, ends[i], ends[i + 1]);
        }
    }
    return until;
}

static void SplitCubic(const knCcdCubic* p, double t, knCcdCubic* left, knCcdCubic* right)
{
    const double* c = p->c;
    double s = 1.0 - t;
    double c01 = s * c[0] + t * c[1], c12 = s * c[1] + t * c[2], c23 = s * c[2] + t * c[3];
    double c012 = s * c01 + t * c12, c123 = s * c12 + t * c23, middle = s * c012 + t * c123;
    *left = (knCcdCubic){{c[0], c01, c012, middle}};
    *right = (knCcdCubic){{middle, c123, c23, c[3]}};
}

// True when the coefficients of the parts are above the rounding of computing them.
static bool IsPositive(const knCcdCubic* p, double error, int depth)
{
    const double* c = p->c;
    if (c[0] > error && c[1] > error && c[2] > error && c[3] > error)
    {
        return true;
    }
    if (depth == 0 || !(c[0] > error) || !(c[3] > error))
    {
        return false;
    }
    knCcdCubic left, right;
    SplitCubic(p, 0.5, &left, &right);
    return IsPositive(&left, error, depth - 1) && IsPositive(&right, error, depth - 1);
}

// The cubic over a part of the time.
static knCcdCubic PartOf(const knCcdCubic* all, double begin, double end)
{
    knCcdCubic part = *all, left, right;
    if (begin > 0.0)
    {
        SplitCubic(&part, begin, &left, &right);
        part = right;
    }
    if (end < 1.0)
    {
        SplitCubic(&part, (end - begin) / (1.0 - begin), &left, &right);
        part = left;
    }
    return part;
}

double knVolumeFreeUntil(const knCcdVolume* volume, double begin, double end)
{
    double error = volume->error;
    knCcdCubic part = PartOf(&volume->cubic, begin, end), left, right;
    double* c = part.c;
    if (!(fabs(c[0]) > 2.0 * error) || !(begin < end))
    {
        return begin;
    }
    double sign = c[0] < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < 4; ++i)
    {
        c[i] = sign * c[i] - error;
    }
    if (c[1] > error && c[2] > error && c[3] > error)
    {
        return end;
    }
    double p[4] = {c[0], 3.0 * (c[1] - c[0]), 3.0 * (c[0] - 2.0 * c[1] + c[2]),
                   c[3] - c[0] + 3.0 * (c[1] - c[2])};
    double root = FirstRoot(p, 1.0);
    // a little before it, as the root is rough; twice, as the volume may hardly fall there
    for (double back = 1e-9; back < 1e-6; back *= 100.0)
    {
        double t = root < 1.0 ? root - back : 1.0;
        SplitCubic(&part, t, &left, &right);
        if (t > 0.0 && IsPositive(&left, error, SPLITS))
        {
            return t < 1.0 ? begin + t * (end - begin) * (1.0 - 4.0 * UNIT) : end;
        }
    }
    return begin;
}
