// SPDX-License-Identifier: Zlib
#include "bvh/bvh_triangles_internal.h"

#include "bvh/bvh_predicates_internal.h"
#include "knap/bvh.h"

#include <stdlib.h>
#include <string.h>

// Everything is decided by signs of determinants. Two triangles that are no segments and do not lie
// in one plane meet where an edge of one passes through the other; an edge that lies in the plane
// of the other triangle needs no test of its own, because what it touches is also reached by the
// edges beside it or by the edges of the other triangle.

#define ROUNDING_ERROR 0x1p-53

typedef struct Meet
{
    knDVec3 a[3], b[3]; // shared vertices first
    int aSide[3];       // of a's corners from b's plane
    int bSide[3];
    int sharedCount;
    double errorScale; // in units of ROUNDING_ERROR
    uint64_t exactCount;
} Meet;

static int Sign(double x)
{
    return (x > 0.0) - (x < 0.0);
}

// The signs that float coordinates cannot get wrong: no term under- or overflows, so a permanent of
// zero means that every term is zero.
static int Orient3(Meet* m, knDVec3 a, knDVec3 b, knDVec3 c, knDVec3 d)
{
    knDVec3 u = knDSub(b, a), v = knDSub(c, a), w = knDSub(d, a);
    double xy = u.x * v.y, yx = u.y * v.x;
    double yz = u.y * v.z, zy = u.z * v.y;
    double zx = u.z * v.x, xz = u.x * v.z;
    double value = (yz - zy) * w.x + (zx - xz) * w.y + (xy - yx) * w.z;
    double permanent = (fabs(yz) + fabs(zy)) * fabs(w.x) + (fabs(zx) + fabs(xz)) * fabs(w.y) +
                       (fabs(xy) + fabs(yx)) * fabs(w.z);
    if (fabs(value) > m->errorScale * ROUNDING_ERROR * permanent || permanent == 0.0)
    {
        return Sign(value);
    }
    m->exactCount += 1;
    return knExactOrient3((const knDVec3[4]){a, b, c, d});
}

// Sides of three points from the plane of a triangle.
static void FindSides(Meet* m, const knDVec3 t[3], const knDVec3 p[3], int first, int side[3])
{
    knDVec3 u = knDSub(t[1], t[0]), v = knDSub(t[2], t[0]);
    knDVec3 n = knDCross(u, v);
    knDVec3 most = {fabs(u.y * v.z) + fabs(u.z * v.y), fabs(u.z * v.x) + fabs(u.x * v.z),
                    fabs(u.x * v.y) + fabs(u.y * v.x)};
    for (int i = first; i < 3; ++i)
    {
        knDVec3 w = knDSub(p[i], t[0]);
        double value = knDDot(n, w);
        double permanent = most.x * fabs(w.x) + most.y * fabs(w.y) + most.z * fabs(w.z);
        if (fabs(value) > m->errorScale * ROUNDING_ERROR * permanent || permanent == 0.0)
        {
            side[i] = Sign(value);
        }
        else
        {
            m->exactCount += 1;
            side[i] = knExactOrient3((const knDVec3[4]){t[0], t[1], t[2], p[i]});
        }
    }
}

static knDVec3 Drop(knDVec3 p, int axis)
{
    return axis == 0   ? knMakeDVec3(p.y, p.z, 0.0)
           : axis == 1 ? knMakeDVec3(p.z, p.x, 0.0)
                       : knMakeDVec3(p.x, p.y, 0.0);
}

// Sign of (b - a) x (d - c) without the axis.
static int Cross2(Meet* m, const knDVec3 p[4], int axis)
{
    knDVec3 u = knDSub(Drop(p[1], axis), Drop(p[0], axis));
    knDVec3 v = knDSub(Drop(p[3], axis), Drop(p[2], axis));
    double left = u.x * v.y, right = u.y * v.x;
    double permanent = fabs(left) + fabs(right);
    // four roundings deep; the bound of eight is safe and is seldom what matters
    if (fabs(left - right) > m->errorScale * ROUNDING_ERROR * permanent || permanent == 0.0)
    {
        return Sign(left - right);
    }
    m->exactCount += 1;
    return knExactCross(p, axis);
}

static int Turn(Meet* m, knDVec3 a, knDVec3 b, knDVec3 c, int axis)
{
    return Cross2(m, (const knDVec3[4]){a, b, a, c}, axis);
}

// An axis along which the triangle can be seen with an area; -1 for a segment or a point.
static int FindAxis(Meet* m, const knDVec3 t[3])
{
    for (int axis = 0; axis < 3; ++axis)
    {
        if (Turn(m, t[0], t[1], t[2], axis) != 0)
        {
            return axis;
        }
    }
    return -1;
}

// Whether all points lie strictly on one side of the line; `outside` limits it to that side.
static bool IsBeyond(Meet* m, const knDVec3 line[2], int outside, const knDVec3* p, int count,
                     int axis)
{
    int first = Turn(m, line[0], line[1], p[0], axis);
    bool beyond = first != 0 && (outside == 0 || first == outside);
    for (int i = 1; i < count && beyond; ++i)
    {
        beyond = Turn(m, line[0], line[1], p[i], axis) == first;
    }
    return beyond;
}

// Convex sets in a plane are apart when the line of an edge parts them; p and q are triangles with
// an area or segments.
static bool AreApart(Meet* m, const knDVec3* p, int pCount, const knDVec3* q, int qCount, int axis)
{
    int turn = pCount == 3 ? Turn(m, p[0], p[1], p[2], axis) : 0;
    for (int i = 0; i < (pCount == 3 ? 3 : 1); ++i)
    {
        const knDVec3 line[2] = {p[i], p[(i + 1) % pCount]};
        if (IsBeyond(m, line, -turn, q, qCount, axis))
        {
            return true;
        }
    }
    return false;
}

static bool OverlapInPlane(Meet* m, const knDVec3* p, int pCount, const knDVec3* q, int axis)
{
    return !AreApart(m, p, pCount, q, 3, axis) && !AreApart(m, q, 3, p, pCount, axis);
}

static bool IsEqual(knDVec3 a, knDVec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// Points of a line in their order along it.
static int Compare(knDVec3 a, knDVec3 b)
{
    int x = Sign(a.x - b.x), y = Sign(a.y - b.y);
    return x != 0 ? x : (y != 0 ? y : Sign(a.z - b.z));
}

typedef struct Segment
{
    knDVec3 end[2]; // in order
} Segment;

// A triangle without area is the segment between its outermost corners.
static Segment MakeSegment(const knDVec3 t[3])
{
    Segment s = {{t[0], t[0]}};
    for (int i = 1; i < 3; ++i)
    {
        s.end[0] = Compare(t[i], s.end[0]) < 0 ? t[i] : s.end[0];
        s.end[1] = Compare(t[i], s.end[1]) > 0 ? t[i] : s.end[1];
    }
    return s;
}

static bool AreCollinear(Meet* m, knDVec3 a, knDVec3 b, knDVec3 c)
{
    return FindAxis(m, (const knDVec3[3]){a, b, c}) < 0;
}

// A segment or point and a triangle with an area.
static bool SegmentMeetsTriangle(Meet* m, const Segment* s, const knDVec3 t[3], int axis)
{
    int from = Orient3(m, t[0], t[1], t[2], s->end[0]);
    int to = Orient3(m, t[0], t[1], t[2], s->end[1]);
    if (from == 0 && to == 0)
    {
        return OverlapInPlane(m, s->end, 2, t, axis);
    }
    bool left = false, right = false;
    for (int i = 0; i < 3 && from * to <= 0; ++i)
    {
        int side = Orient3(m, s->end[0], s->end[1], t[i], t[(i + 1) % 3]);
        left |= side > 0;
        right |= side < 0;
    }
    return from * to <= 0 && !(left && right);
}

static bool PointOnSegment(Meet* m, knDVec3 p, const Segment* s)
{
    return Compare(s->end[0], p) <= 0 && Compare(p, s->end[1]) <= 0 &&
           AreCollinear(m, s->end[0], s->end[1], p);
}

static bool SegmentsMeet(Meet* m, const Segment* s, const Segment* t)
{
    if (PointOnSegment(m, s->end[0], t) || PointOnSegment(m, s->end[1], t) ||
        PointOnSegment(m, t->end[0], s) || PointOnSegment(m, t->end[1], s))
    {
        return true;
    }
    if (Orient3(m, s->end[0], s->end[1], t->end[0], t->end[1]) != 0)
    {
        return false;
    }
    for (int axis = 0; axis < 3; ++axis)
    {
        if (Cross2(m, (const knDVec3[4]){s->end[0], s->end[1], t->end[0], t->end[1]}, axis) != 0)
        {
            return !AreApart(m, s->end, 2, t->end, 2, axis) &&
                   !AreApart(m, t->end, 2, s->end, 2, axis);
        }
    }
    return false; // parallel, and no end on the other
}

// Whether the segment goes on from t[0] into the triangle, of which t[0] is a corner.
static bool SegmentEntersCorner(Meet* m, const Segment* s, const knDVec3 t[3], int axis)
{
    int turn = Turn(m, t[0], t[1], t[2], axis);
    for (int i = 0; i < 2; ++i)
    {
        knDVec3 end = s->end[i];
        if (!IsEqual(end, t[0]) && Orient3(m, t[0], t[1], t[2], end) == 0 &&
            Turn(m, t[0], t[1], end, axis) * turn >= 0 &&
            Turn(m, t[0], end, t[2], axis) * turn >= 0)
        {
            return true;
        }
    }
    return false;
}

// Whether both go on from `corner` in the same direction.
static bool SegmentsAlign(Meet* m, const Segment* s, const Segment* t, knDVec3 corner)
{
    for (int i = 0; i < 4; ++i)
    {
        knDVec3 p = s->end[i & 1], q = t->end[i >> 1];
        int order = Compare(p, corner);
        if (order != 0 && order == Compare(q, corner) && AreCollinear(m, corner, p, q))
        {
            return true;
        }
    }
    return false;
}

// Both lie on the line of the shared edge: more than the edge in common?
static bool SegmentsPassEdge(const Meet* m, const Segment* s, const Segment* t)
{
    knDVec3 low = m->a[0], high = m->a[1];
    if (Compare(low, high) > 0)
    {
        low = m->a[1];
        high = m->a[0];
    }
    return (Compare(s->end[0], low) < 0 && Compare(t->end[0], low) < 0) ||
           (Compare(s->end[1], high) > 0 && Compare(t->end[1], high) > 0);
}

// At least one of the two is a segment or a point. An axis of -1 says which.
static bool MeetDegenerate(Meet* m, int aAxis, int bAxis)
{
    Segment s = MakeSegment(m->a), t = MakeSegment(m->b);
    bool both = aAxis < 0 && bAxis < 0;
    if (m->sharedCount == 0)
    {
        return both ? SegmentsMeet(m, &s, &t)
                    : (aAxis < 0 ? SegmentMeetsTriangle(m, &s, m->b, bAxis)
                                 : SegmentMeetsTriangle(m, &t, m->a, aAxis));
    }
    if (m->sharedCount == 2 && !IsEqual(m->a[0], m->a[1]))
    {
        // the line of the edge leaves the other triangle at the edge's ends
        return both && SegmentsPassEdge(m, &s, &t);
    }
    return both ? SegmentsAlign(m, &s, &t, m->a[0])
                : (aAxis < 0 ? SegmentEntersCorner(m, &s, m->b, bAxis)
                             : SegmentEntersCorner(m, &t, m->a, aAxis));
}

// In one plane, or degenerate.
static bool MeetFlat(Meet* m)
{
    int aAxis = FindAxis(m, m->a), bAxis = FindAxis(m, m->b);
    if (aAxis < 0 || bAxis < 0)
    {
        return MeetDegenerate(m, aAxis, bAxis);
    }
    switch (m->sharedCount)
    {
    case 0:
        return OverlapInPlane(m, m->a, 3, m->b, aAxis);
    case 1:
        // what is common to both reaches the edge opposite the shared corner of one of them
        return OverlapInPlane(m, m->a + 1, 2, m->b, aAxis) ||
               OverlapInPlane(m, m->b + 1, 2, m->a, aAxis);
    default:
        return Turn(m, m->a[0], m->a[1], m->a[2], aAxis) ==
               Turn(m, m->a[0], m->a[1], m->b[2], aAxis);
    }
}

static bool EdgePasses(Meet* m, const knDVec3 edge[2], const int side[2], const knDVec3 t[3])
{
    if (side[0] * side[1] > 0 || (side[0] == 0 && side[1] == 0))
    {
        return false;
    }
    bool left = false, right = false;
    for (int i = 0; i < 3 && !(left && right); ++i)
    {
        int turn = Orient3(m, edge[0], edge[1], t[i], t[(i + 1) % 3]);
        left |= turn > 0;
        right |= turn < 0;
    }
    return !(left && right);
}

// Which corner stands alone on its side; all sides are nonzero and not all equal.
static int FindLone(const int side[3])
{
    return side[1] == side[2] ? 0 : (side[0] == side[2] ? 1 : 2);
}

// No corner lies in the other's plane: both cross the line in which the planes meet, and two signs
// tell whether the stretches overlap.
static bool MeetGeneral(Meet* m)
{
    int i = FindLone(m->aSide), k = FindLone(m->bSide);
    bool flipA = m->bSide[k] < 0, flipB = m->aSide[i] < 0;
    knDVec3 a0 = m->a[i], a1 = m->a[(i + (flipA ? 2 : 1)) % 3];
    knDVec3 a2 = m->a[(i + (flipA ? 1 : 2)) % 3];
    knDVec3 b0 = m->b[k], b1 = m->b[(k + (flipB ? 2 : 1)) % 3];
    knDVec3 b2 = m->b[(k + (flipB ? 1 : 2)) % 3];
    return Orient3(m, a0, a1, b0, b1) <= 0 && Orient3(m, a0, a2, b2, b0) <= 0;
}

static bool MeetApart(Meet* m)
{
    const int *s = m->aSide, *t = m->bSide;
    if (s[0] * s[1] * s[2] != 0 && t[0] * t[1] * t[2] != 0)
    {
        return MeetGeneral(m);
    }
    for (int i = 0; i < 3; ++i)
    {
        int k = (i + 1) % 3;
        if (EdgePasses(m, (const knDVec3[2]){m->a[i], m->a[k]}, (const int[2]){s[i], s[k]}, m->b) ||
            EdgePasses(m, (const knDVec3[2]){m->b[i], m->b[k]}, (const int[2]){t[i], t[k]}, m->a))
        {
            return true;
        }
    }
    return false;
}

static bool IsOneSided(const int side[3], int first)
{
    int sum = 0;
    for (int i = first; i < 3; ++i)
    {
        sum += side[i];
    }
    return abs(sum) == 3 - first;
}

static bool IsFlat(const int side[3])
{
    return side[0] == 0 && side[1] == 0 && side[2] == 0;
}

static bool DoMeet(Meet* m)
{
    int first = m->sharedCount;
    FindSides(m, m->b, m->a, first, m->aSide);
    if (IsOneSided(m->aSide, first))
    {
        return false;
    }
    FindSides(m, m->a, m->b, first, m->bSide);
    if (IsOneSided(m->bSide, first))
    {
        return false;
    }
    if (IsFlat(m->aSide) || IsFlat(m->bSide))
    {
        return MeetFlat(m);
    }
    // one shared corner here: with two, one free corner each, the sides were zero or one-sided
    return first == 0 ? MeetApart(m)
                      : EdgePasses(m, m->a + 1, m->aSide + 1, m->b) ||
                            EdgePasses(m, m->b + 1, m->bSide + 1, m->a);
}

static void SwapCorners(Meet* m, knTrianglePair* p, int aFrom, int bFrom)
{
    int to = m->sharedCount;
    knVec3 point = p->a[to];
    uint32_t vertex = p->aVertices[to];
    p->a[to] = p->a[aFrom];
    p->aVertices[to] = p->aVertices[aFrom];
    p->a[aFrom] = point;
    p->aVertices[aFrom] = vertex;
    point = p->b[to];
    vertex = p->bVertices[to];
    p->b[to] = p->b[bFrom];
    p->bVertices[to] = p->bVertices[bFrom];
    p->b[bFrom] = point;
    p->bVertices[bFrom] = vertex;
    m->sharedCount += 1;
}

// Brings the vertices that both name to the front; each counts once.
static void GatherShared(Meet* m, knTrianglePair* p)
{
    for (int i = 0; i < 3; ++i)
    {
        bool seen = false;
        for (int k = 0; k < m->sharedCount; ++k)
        {
            seen |= p->aVertices[k] == p->aVertices[i];
        }
        for (int k = m->sharedCount; k < 3 && i >= m->sharedCount && !seen; ++k)
        {
            if (p->aVertices[i] == p->bVertices[k])
            {
                SwapCorners(m, p, i, k);
                break;
            }
        }
    }
}

static bool AreCoincident(const Meet* m)
{
    bool same = true;
    for (int i = 0; i < 3; ++i)
    {
        same = same && (IsEqual(m->a[i], m->b[0]) || IsEqual(m->a[i], m->b[1]) ||
                        IsEqual(m->a[i], m->b[2]));
        same = same && (IsEqual(m->b[i], m->a[0]) || IsEqual(m->b[i], m->a[1]) ||
                        IsEqual(m->b[i], m->a[2]));
    }
    return same;
}

static uint32_t PairFlags(const Meet* m)
{
    static const uint32_t flags[4] = {0, kn_pairSharesVertex, kn_pairSharesEdge, kn_pairDuplicate};
    return KN_PAIR_MEETS | flags[m->sharedCount] |
           (m->sharedCount < 3 && AreCoincident(m) ? kn_pairCoincident : 0u);
}

uint32_t knMeetTriangles(const knTrianglePair* pair, uint32_t sabotage, uint64_t* exactCount)
{
    Meet m;
    memset(&m, 0, sizeof m);
    m.errorScale = sabotage & kn_sabotageErrorBound ? 0.0 : KN_ORIENT_ERROR;
    knTrianglePair sorted = *pair;
    if (!(sabotage & kn_sabotageSharedRule))
    {
        GatherShared(&m, &sorted);
    }
    for (int i = 0; i < 3; ++i)
    {
        m.a[i] = knToDouble(sorted.a[i]);
        m.b[i] = knToDouble(sorted.b[i]);
    }
    bool meets = m.sharedCount == 3 || DoMeet(&m);
    *exactCount += m.exactCount;
    return meets ? PairFlags(&m) : 0u;
}
