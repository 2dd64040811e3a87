// SPDX-License-Identifier: Zlib
#include "shape_hull_internal.h"

// The two points furthest apart along the set's own line; one when there is no line.
static void WrapLine(knHull* h, float tolerance)
{
    uint32_t ends[2] = {0, 0};
    for (int round = 0; round < 2; ++round)
    {
        for (uint32_t i = 0; i < h->pointCount; ++i)
        {
            knVec3 from = h->points[ends[1 - round]];
            bool further =
                knDistance(from, h->points[i]) > knDistance(from, h->points[ends[round]]);
            ends[round] = further ? i : ends[round];
        }
    }
    knVec3 a = h->points[ends[0]], b = h->points[ends[1]];
    h->points[0] = a;
    h->pointCount = 1;
    if (knDistance(a, b) > tolerance)
    {
        h->points[1] = b;
        h->pointCount = 2;
        h->edges[h->edgeCount++] = (knEdge){{0, 1}};
    }
}

// Counter-clockwise from `at`, the point that leaves all others to its left.
static uint32_t Next(const knHull* h, uint32_t at, knVec3 normal, float tolerance)
{
    uint32_t best = KN_NONE;
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        knVec3 d = knSub(h->points[i], h->points[at]);
        if (!(knLength(d) > tolerance))
        {
            continue;
        }
        if (best == KN_NONE)
        {
            best = i;
            continue;
        }
        knVec3 e = knSub(h->points[best], h->points[at]);
        float side = knDot(normal, knCross(e, d)) / fmaxf(knLength(e), knLength(d));
        bool isRight = side < -tolerance;
        bool isFurther = side <= tolerance && knLength(d) > knLength(e) && knDot(d, e) > 0.0f;
        best = isRight || isFurther ? i : best;
    }
    return best;
}

void knHull_WrapFlat(knHull* h, knVec3 normal, float tolerance, knEdge* work)
{
    if (!(knLengthSquared(normal) > 0.5f))
    {
        WrapLine(h, tolerance);
        return;
    }
    // a corner: the furthest from any point
    uint32_t first = 0;
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        first = knDistance(h->points[i], h->points[0]) > knDistance(h->points[first], h->points[0])
                    ? i
                    : first;
    }
    uint32_t at = first, previous = KN_NONE;
    for (uint32_t steps = 0; steps < h->pointCount; ++steps)
    {
        uint32_t next = Next(h, at, normal, tolerance);
        if (next == KN_NONE)
        {
            break;
        }
        h->edges[h->edgeCount++] = (knEdge){{at, next}};
        if (previous != KN_NONE && next != first)
        {
            h->triangles[h->triangleCount++] = (knTriangle){{first, at, next}};
            h->triangles[h->triangleCount++] = (knTriangle){{first, next, at}};
        }
        previous = at;
        at = next;
        if (at == first)
        {
            break;
        }
    }
    float offset = knDot(normal, h->points[first]);
    for (uint32_t i = 0; i < h->triangleCount; ++i)
    {
        h->planes[i] =
            i % 2 == 0 ? (knHullPlane){normal, offset} : (knHullPlane){knNeg(normal), -offset};
    }
    h->planeCount = h->triangleCount;
    knHull_DropUnused(h, work);
}

// The directions in which three spheres reach equally far: none, or two.
static int TouchesThree(const knHull* h, const uint32_t v[3], knDVec3 d[2])
{
    knDVec3 o = knToDouble(h->points[v[0]]);
    knDVec3 u = knDSub(knToDouble(h->points[v[1]]), o), w = knDSub(knToDouble(h->points[v[2]]), o);
    double a = (double)h->radii[v[0]] - (double)h->radii[v[1]];
    double b = (double)h->radii[v[0]] - (double)h->radii[v[2]];
    knDVec3 n = knDCross(u, w);
    double n2 = knDDot(n, n);
    if (!(n2 > 1e-12 * knDDot(u, u) * knDDot(w, w)))
    {
        return 0;
    }
    // d = x + s n with x in the plane of the centres: x . u = a, x . w = b
    knDVec3 x =
        knDScale(1.0 / n2, knDAdd(knDScale(a, knDCross(w, n)), knDScale(b, knDCross(n, u))));
    double rest = 1.0 - knDDot(x, x);
    if (rest < 0.0)
    {
        return 0;
    }
    double s = sqrt(rest / n2);
    d[0] = knDAdd(x, knDScale(s, n));
    d[1] = knDAdd(x, knDScale(-s, n));
    return 2;
}

static bool IsOutermost(const knHull* h, knDVec3 d, double offset, double tolerance)
{
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        if (knDDot(d, knToDouble(h->points[i])) + (double)h->radii[i] > offset + tolerance)
        {
            return false;
        }
    }
    return true;
}

static void TryTriple(knHull* h, const uint32_t v[3], double tolerance)
{
    knDVec3 d[2];
    int count = TouchesThree(h, v, d);
    for (int i = 0; i < count; ++i)
    {
        double offset = knDDot(d[i], knToDouble(h->points[v[0]])) + (double)h->radii[v[0]];
        if (h->planeCount < h->faceCapacity && IsOutermost(h, d[i], offset, tolerance))
        {
            h->planes[h->planeCount++] = (knHullPlane){knToFloat(d[i]), (float)offset};
        }
    }
}

void knHull_WrapRound(knHull* h)
{
    knBox box = knBoundingBox(h->points, h->pointCount);
    double tolerance = 1e-6 * (double)knLength(knBox_Extent(box));
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        for (uint32_t j = i + 1; j < h->pointCount; ++j)
        {
            h->edges[h->edgeCount++] = (knEdge){{i, j}};
            for (uint32_t k = j + 1; k < h->pointCount; ++k)
            {
                uint32_t v[3] = {i, j, k};
                TryTriple(h, v, tolerance);
            }
        }
    }
}
