// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// The papers' elementary test in floating point: four points are coplanar at the roots of a cubic;
// at each root the features either touch or do not. It is here to be compared with: rounding can
// hide a root, and features that stay in one plane have none.

#define INSIDE 1e-10 // parts of an edge or triangle that a contact may lie outside of it

typedef struct Moving
{
    knDVec3 at, by; // at time 0, and until 1
} Moving;

static knDVec3 Sub(knDVec3 a, knDVec3 b)
{
    return knMakeDVec3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static double Dot(knDVec3 a, knDVec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static knDVec3 Cross(knDVec3 a, knDVec3 b)
{
    return knMakeDVec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static Moving Difference(const knCcdTest* test, int a, int b)
{
    knDVec3 start = Sub(test->start[a], test->start[b]);
    return (Moving){start, Sub(Sub(test->end[a], test->end[b]), start)};
}

static knDVec3 At(Moving m, double t)
{
    return knMakeDVec3(m.at.x + t * m.by.x, m.at.y + t * m.by.y, m.at.z + t * m.by.z);
}

// Coefficients of u . (v x w), the constant first.
static void Coplanarity(Moving u, Moving v, Moving w, double c[4])
{
    knDVec3 n0 = Cross(v.at, w.at), n2 = Cross(v.by, w.by);
    knDVec3 a = Cross(v.at, w.by), b = Cross(v.by, w.at);
    knDVec3 n1 = knMakeDVec3(a.x + b.x, a.y + b.y, a.z + b.z);
    c[0] = Dot(u.at, n0);
    c[1] = Dot(u.at, n1) + Dot(u.by, n0);
    c[2] = Dot(u.at, n2) + Dot(u.by, n1);
    c[3] = Dot(u.by, n2);
}

static double Value(const double c[4], double t)
{
    return ((c[3] * t + c[2]) * t + c[1]) * t + c[0];
}

// Bernstein coefficients of one sign: the points are never coplanar.
static bool IsFiltered(const double c[4])
{
    double b1 = c[0] + c[1] / 3.0, b2 = c[0] + (2.0 * c[1] + c[2]) / 3.0;
    double b3 = c[0] + c[1] + c[2] + c[3];
    return (c[0] > 0.0 && b1 > 0.0 && b2 > 0.0 && b3 > 0.0) ||
           (c[0] < 0.0 && b1 < 0.0 && b2 < 0.0 && b3 < 0.0);
}

// Times within (0, 1) at which the cubic turns, in order.
static int Turns(const double c[4], double turns[2])
{
    double a = 3.0 * c[3], b = 2.0 * c[2], roots[2];
    int count = 0;
    double square = b * b - 4.0 * a * c[1];
    if (square > 0.0 && a != 0.0)
    {
        double q = -0.5 * (b + copysign(sqrt(square), b));
        roots[count++] = q / a;
        if (q != 0.0)
        {
            roots[count++] = c[1] / q;
        }
    }
    else if (a == 0.0 && b != 0.0)
    {
        roots[count++] = -c[1] / b;
    }
    int kept = 0;
    for (int i = 0; i < count; ++i)
    {
        if (roots[i] > 0.0 && roots[i] < 1.0)
        {
            turns[kept++] = roots[i];
        }
    }
    if (kept == 2 && turns[0] > turns[1])
    {
        double t = turns[0];
        turns[0] = turns[1];
        turns[1] = t;
    }
    return kept;
}

static double Bisect(const double c[4], double a, double b)
{
    double left = Value(c, a);
    for (int i = 0; i < 52 && b - a > 1e-15; ++i)
    {
        double middle = 0.5 * (a + b), value = Value(c, middle);
        if ((value > 0.0) == (left > 0.0))
        {
            a = middle;
        }
        else
        {
            b = middle;
        }
    }
    return b;
}

static int Roots(const double c[4], double roots[3])
{
    double ends[4] = {0.0}, turns[2];
    int turnCount = Turns(c, turns), count = 0;
    for (int i = 0; i < turnCount; ++i)
    {
        ends[i + 1] = turns[i];
    }
    ends[turnCount + 1] = 1.0;
    for (int i = 0; i <= turnCount; ++i)
    {
        double left = Value(c, ends[i]), right = Value(c, ends[i + 1]);
        if (left == 0.0 && i == 0)
        {
            roots[count++] = ends[i];
        }
        else if ((left > 0.0) != (right > 0.0) || right == 0.0)
        {
            roots[count++] = Bisect(c, ends[i], ends[i + 1]);
        }
    }
    return count;
}

static bool IsInFace(const knCcdTest* test, double t)
{
    knDVec3 u = At(Difference(test, 2, 1), t), v = At(Difference(test, 3, 1), t);
    knDVec3 p = At(Difference(test, 0, 1), t), n = Cross(u, v);
    double area = Dot(n, n);
    double b = Dot(Cross(p, v), n) / area, c = Dot(Cross(u, p), n) / area;
    return b >= -INSIDE && c >= -INSIDE && b + c <= 1.0 + INSIDE;
}

static bool IsOnEdges(const knCcdTest* test, double t)
{
    knDVec3 u = At(Difference(test, 1, 0), t), v = At(Difference(test, 3, 2), t);
    knDVec3 r = At(Difference(test, 2, 0), t), n = Cross(u, v);
    double area = Dot(n, n);
    double a = Dot(Cross(r, v), n) / area, b = Dot(Cross(r, u), n) / area;
    return a >= -INSIDE && a <= 1.0 + INSIDE && b >= -INSIDE && b <= 1.0 + INSIDE;
}

knCcdAnswer knMeetCubic(const knCcdTest* test, bool isFiltered)
{
    knCcdAnswer answer = {.time = 1.0};
    double c[4], roots[3];
    if (test->kind == kn_ccdVertexFace)
    {
        Coplanarity(Difference(test, 0, 1), Difference(test, 2, 1), Difference(test, 3, 1), c);
    }
    else
    {
        Coplanarity(Difference(test, 2, 0), Difference(test, 1, 0), Difference(test, 3, 2), c);
    }
    if (isFiltered && IsFiltered(c))
    {
        return answer;
    }
    int count = Roots(c, roots);
    for (int i = 0; i < count && !answer.isContact; ++i)
    {
        answer.stepCount += 1;
        answer.isContact =
            test->kind == kn_ccdVertexFace ? IsInFace(test, roots[i]) : IsOnEdges(test, roots[i]);
        answer.time = answer.isContact ? roots[i] : 1.0;
        answer.isAtStart = answer.isContact && roots[i] == 0.0;
    }
    return answer;
}
