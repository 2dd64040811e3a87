// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"
#include "predicates.h"

static int Sign(double value)
{
    return (value > 0.0) - (value < 0.0);
}

#define TURN_ERROR 3.3306690738754716e-16 // Shewchuk's ccwerrboundA

static int Side(const knPoint* a, const knPoint* b, const knPoint* c, const knPoint* d)
{
    return Sign(knOrient3d(a->c, b->c, c->c, d->c));
}

// The turn of a, b, c in the plane without `axis`. Where rounding might decide, the determinant
// with a point lifted by 1/2 is half the one in the plane, so its exact sign is the one that is
// wanted.
static int Turn(int axis, const knPoint* a, const knPoint* b, const knPoint* c)
{
    int x = (axis + 1) % 3, y = (axis + 2) % 3;
    double left = (b->c[x] - a->c[x]) * (c->c[y] - a->c[y]);
    double right = (b->c[y] - a->c[y]) * (c->c[x] - a->c[x]);
    // two zeros come from equal coordinates, not from rounding: vertices above one another
    bool zeros = left == 0.0 && right == 0.0;
    if (zeros || fabs(left - right) > TURN_ERROR * (fabs(left) + fabs(right)))
    {
        return Sign(left - right);
    }
    const double p[3] = {a->c[x], a->c[y], 0.0};
    const double q[3] = {b->c[x], b->c[y], 0.0};
    const double r[3] = {c->c[x], c->c[y], 0.0};
    const double lifted[3] = {a->c[x], a->c[y], 0.5};
    return Sign(knOrient3d(p, q, r, lifted));
}

// The axis along which a triangle probably looks largest.
static int BestAxis(const knPoint* a, const knPoint* b, const knPoint* c)
{
    double n[3];
    for (int k = 0; k < 3; ++k)
    {
        int x = (k + 1) % 3, y = (k + 2) % 3;
        n[k] = fabs((b->c[x] - a->c[x]) * (c->c[y] - a->c[y]) -
                    (b->c[y] - a->c[y]) * (c->c[x] - a->c[x]));
    }
    return n[0] >= n[1] && n[0] >= n[2] ? 0 : n[1] >= n[2] ? 1 : 2;
}

// An axis along which the triangle has area when seen; -1 when it has none at all. The likeliest is
// asked first: the exact test is quick where it is far from zero.
static int ViewAxis(const knPoint* a, const knPoint* b, const knPoint* c)
{
    int first = BestAxis(a, b, c);
    for (int i = 0; i < 3; ++i)
    {
        if (Turn((first + i) % 3, a, b, c) != 0)
        {
            return (first + i) % 3;
        }
    }
    return -1;
}

bool knIsCollinear(const knPoint* a, const knPoint* b, const knPoint* c)
{
    return ViewAxis(a, b, c) < 0;
}

bool knSoup_IsFlat(const knSoup* soup, double scale, knTriangle triangle)
{
    knPoint p[3];
    for (int k = 0; k < 3; ++k)
    {
        p[k] = knScalePoint(soup->positions[triangle.v[k]], scale);
    }
    return knIsCollinear(&p[0], &p[1], &p[2]);
}

// c is known to lie on the line a b
static bool Between(int axis, const knPoint* a, const knPoint* b, const knPoint* c)
{
    for (int i = 1; i < 3; ++i)
    {
        double s = a->c[(axis + i) % 3], t = b->c[(axis + i) % 3], u = c->c[(axis + i) % 3];
        if ((u < s && u < t) || (u > s && u > t))
        {
            return false;
        }
    }
    return true;
}

static bool SegmentsMeetInPlane(int axis, const knPoint s[2], const knPoint* a, const knPoint* b)
{
    int a0 = Turn(axis, &s[0], &s[1], a), a1 = Turn(axis, &s[0], &s[1], b);
    int b0 = Turn(axis, a, b, &s[0]), b1 = Turn(axis, a, b, &s[1]);
    if (a0 * a1 < 0 && b0 * b1 < 0)
    {
        return true;
    }
    return (a0 == 0 && Between(axis, &s[0], &s[1], a)) ||
           (a1 == 0 && Between(axis, &s[0], &s[1], b)) || (b0 == 0 && Between(axis, a, b, &s[0])) ||
           (b1 == 0 && Between(axis, a, b, &s[1]));
}

static bool InsideInPlane(int axis, const knPoint t[3], const knPoint* p)
{
    int a = Turn(axis, &t[0], &t[1], p), b = Turn(axis, &t[1], &t[2], p);
    int c = Turn(axis, &t[2], &t[0], p);
    return (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0);
}

static bool MeetInPlane(const knPoint s[2], const knPoint t[3])
{
    int axis = ViewAxis(&t[0], &t[1], &t[2]);
    if (axis < 0)
    {
        return true;
    }
    for (int k = 0; k < 3; ++k)
    {
        if (SegmentsMeetInPlane(axis, s, &t[k], &t[(k + 1) % 3]))
        {
            return true;
        }
    }
    return InsideInPlane(axis, t, &s[0]);
}

// Where the line of the segment passes the triangle whose plane it crosses.
static bool LineMeets(const knPoint s[2], const knPoint t[3])
{
    int a = Side(&s[0], &s[1], &t[0], &t[1]);
    int b = Side(&s[0], &s[1], &t[1], &t[2]);
    if (a * b < 0)
    {
        return false;
    }
    int c = Side(&s[0], &s[1], &t[2], &t[0]);
    return a * c >= 0 && b * c >= 0;
}

bool knSegmentMeetsTriangle(const knPoint segment[2], const knPoint triangle[3])
{
    int a = Side(&triangle[0], &triangle[1], &triangle[2], &segment[0]);
    int b = Side(&triangle[0], &triangle[1], &triangle[2], &segment[1]);
    if (a * b > 0)
    {
        return false;
    }
    return a == 0 && b == 0 ? MeetInPlane(segment, triangle) : LineMeets(segment, triangle);
}

int knSegmentCrosses(const knPoint segment[2], const knPoint triangle[3])
{
    const knPoint* s = segment;
    const knPoint* t = triangle;
    int a = Side(&t[0], &t[1], &t[2], &s[0]), b = Side(&t[0], &t[1], &t[2], &s[1]);
    if (a * b > 0)
    {
        return 0;
    }
    int e[3];
    for (int k = 0; k < 3; ++k)
    {
        e[k] = Side(&s[0], &s[1], &t[k], &t[(k + 1) % 3]);
    }
    bool low = e[0] < 0 || e[1] < 0 || e[2]<0, high = e[0]> 0 || e[1] > 0 || e[2] > 0;
    if (low && high)
    {
        return 0;
    }
    return a != 0 && b != 0 && e[0] != 0 && e[1] != 0 && e[2] != 0 ? 1 : -1;
}

// All points strictly on one side of the triangle's plane.
static bool AllOnOneSide(const knPoint t[3], const knPoint* p, int count)
{
    int first = Side(&t[0], &t[1], &t[2], &p[0]);
    for (int k = 1; k < count && first != 0; ++k)
    {
        if (Side(&t[0], &t[1], &t[2], &p[k]) != first)
        {
            return false;
        }
    }
    return first != 0;
}

// Seen along the axis, does an edge of s (one at the shared vertex, if there is one) have s on one
// side and the rest of t strictly on the other? Then they meet in what they share at most. This is
// quick where the tests in space are slowest: for neighbours in almost one plane.
static bool EdgeSeparates(int axis, const knPoint s[3], const knPoint t[3], int shared)
{
    static const int edges[3][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
    for (int e = 0; e < 3 - shared; ++e)
    {
        const knPoint *p = &s[edges[e][0]], *q = &s[edges[e][1]];
        int side = Turn(axis, p, q, &s[edges[e][2]]);
        bool separates = side != 0;
        for (int k = shared; k < 3 && separates; ++k)
        {
            separates = Turn(axis, p, q, &t[k]) == -side;
        }
        if (separates)
        {
            return true;
        }
    }
    return false;
}

static bool AreSeparated(const knPoint s[3], const knPoint t[3], int shared)
{
    int axis = BestAxis(&s[0], &s[1], &s[2]);
    return EdgeSeparates(axis, s, t, shared) || EdgeSeparates(axis, t, s, shared);
}

static bool ApartMeet(const knPoint s[3], const knPoint t[3])
{
    if (AreSeparated(s, t, 0) || AllOnOneSide(s, t, 3) || AllOnOneSide(t, s, 3))
    {
        return false;
    }
    for (int k = 0; k < 3; ++k)
    {
        const knPoint a[2] = {s[k], s[(k + 1) % 3]}, b[2] = {t[k], t[(k + 1) % 3]};
        if (knSegmentMeetsTriangle(a, t) || knSegmentMeetsTriangle(b, s))
        {
            return true;
        }
    }
    return false;
}

// s[0] == t[0]: an overlap is convex and holds that vertex, so it reaches an opposite edge.
static bool VertexMeet(const knPoint s[3], const knPoint t[3])
{
    if (AreSeparated(s, t, 1) || AllOnOneSide(s, &t[1], 2) || AllOnOneSide(t, &s[1], 2))
    {
        return false;
    }
    return knSegmentMeetsTriangle(&s[1], t) || knSegmentMeetsTriangle(&t[1], s);
}

// s[0], s[1] are t's too: they meet elsewhere only when one is folded onto the other. Whether the
// apices lie on one side of the edge is asked first: of good neighbours they do not, and most often
// that is far from a tie, while good neighbours in one plane are a tie for the other question.
static bool EdgeMeet(const knPoint s[3], const knPoint* apex)
{
    int axis = ViewAxis(&s[0], &s[1], &s[2]);
    if (axis >= 0 && Turn(axis, &s[0], &s[1], apex) * Turn(axis, &s[0], &s[1], &s[2]) < 0)
    {
        return false;
    }
    return Side(&s[0], &s[1], &s[2], apex) == 0;
}

// Brings shared vertices to the front of both; returns how many.
static int AlignShared(uint32_t s[3], uint32_t t[3])
{
    int shared = 0;
    for (int i = 0; i < 3; ++i)
    {
        for (int k = shared; k < 3; ++k)
        {
            if (s[i] == t[k])
            {
                uint32_t u = s[i], w = t[k];
                s[i] = s[shared], s[shared] = u;
                t[k] = t[shared], t[shared] = w;
                shared += 1;
                break;
            }
        }
    }
    return shared;
}

bool knTrianglesMeet(const knSoup* soup, double scale, knTriangle s, knTriangle t)
{
    knPoint p[3], q[3];
    int shared = AlignShared(s.v, t.v);
    for (int k = 0; k < 3; ++k)
    {
        p[k] = knScalePoint(soup->positions[s.v[k]], scale);
        q[k] = knScalePoint(soup->positions[t.v[k]], scale);
    }
    switch (shared)
    {
    case 0:
        return ApartMeet(p, q);
    case 1:
        return VertexMeet(p, q);
    case 2:
        return EdgeMeet(p, &q[2]);
    default:
        return true;
    }
}
