// SPDX-License-Identifier: Zlib
#include "shape_hull_internal.h"

#define TOLERANCE  1e-6f   // of the extent; nearer to the hull than that is on it
#define SAME_PLANE 0.9998f // cosine

static knHullPlane PlaneOf(const knHull* h, knTriangle t)
{
    knDVec3 a = knToDouble(h->points[t.v[0]]);
    knDVec3 u = knDSub(knToDouble(h->points[t.v[1]]), a);
    knDVec3 w = knDSub(knToDouble(h->points[t.v[2]]), a);
    knDVec3 n = knDCross(u, w);
    double length = knDLength(n);
    n = length > 0.0 ? knDScale(1.0 / length, n) : n;
    return (knHullPlane){knToFloat(n), (float)knDDot(n, a)};
}

static void AddFace(knHull* h, uint32_t a, uint32_t b, uint32_t c)
{
    if (h->triangleCount < h->faceCapacity)
    {
        knTriangle t = {{a, b, c}};
        h->triangles[h->triangleCount] = t;
        h->planes[h->triangleCount++] = PlaneOf(h, t);
    }
}

static double Height(const knHull* h, uint32_t face, uint32_t point)
{
    knDVec3 n = knToDouble(h->planes[face].normal);
    return knDDot(
        n, knDSub(knToDouble(h->points[point]), knToDouble(h->points[h->triangles[face].v[0]])));
}

// Takes away the faces that see the point and lists their edges.
static uint32_t TakeSeen(knHull* h, uint32_t point, double tolerance, knEdge* edges)
{
    uint32_t edgeCount = 0, kept = 0;
    for (uint32_t f = 0; f < h->triangleCount; ++f)
    {
        knTriangle t = h->triangles[f];
        if (Height(h, f, point) > tolerance)
        {
            for (int i = 0; i < 3; ++i)
            {
                edges[edgeCount++] = (knEdge){{t.v[i], t.v[(i + 1) % 3]}};
            }
            continue;
        }
        h->planes[kept] = h->planes[f];
        h->triangles[kept++] = t;
    }
    h->triangleCount = kept;
    return edgeCount;
}

static bool HasEdge(const knEdge* edges, uint32_t count, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (edges[i].v[0] == a && edges[i].v[1] == b)
        {
            return true;
        }
    }
    return false;
}

static void AddPoint(knHull* h, uint32_t point, double tolerance, knEdge* work)
{
    uint32_t count = TakeSeen(h, point, tolerance, work);
    for (uint32_t i = 0; i < count; ++i)
    {
        // the horizon: edges that only one face that is gone had
        if (!HasEdge(work, count, work[i].v[1], work[i].v[0]))
        {
            AddFace(h, work[i].v[0], work[i].v[1], point);
        }
    }
}

static uint32_t Furthest(const knHull* h, knVec3 from, knVec3 along, bool isPlane)
{
    uint32_t best = 0;
    float distance = -1.0f;
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        knVec3 d = knSub(h->points[i], from);
        float tried =
            isPlane ? fabsf(knDot(d, along)) : knLength(knAddScaled(d, -knDot(d, along), along));
        best = tried > distance ? i : best;
        distance = tried > distance ? tried : distance;
    }
    return best;
}

// Four points that span the set as well as may be; false when it is flat, with the normal of its
// plane or zero.
static bool FirstFour(const knHull* h, float tolerance, uint32_t v[4], knVec3* normal)
{
    knVec3 zero = {0.0f, 0.0f, 0.0f};
    *normal = zero;
    v[0] = Furthest(h, h->points[0], zero, false);
    v[1] = Furthest(h, h->points[v[0]], zero, false);
    knVec3 o = h->points[v[0]], u = knSub(h->points[v[1]], o);
    if (!(knLength(u) > tolerance))
    {
        return false;
    }
    u = knNormalize(u);
    v[2] = Furthest(h, o, u, false);
    knVec3 w = knSub(h->points[v[2]], o);
    w = knAddScaled(w, -knDot(w, u), u);
    if (!(knLength(w) > tolerance))
    {
        return false;
    }
    *normal = knNormalize(knCross(u, w));
    v[3] = Furthest(h, o, *normal, true);
    return fabsf(knDot(*normal, knSub(h->points[v[3]], o))) > tolerance;
}

static void AddEdges(knHull* h)
{
    h->edgeCount = 0;
    for (uint32_t f = 0; f < h->triangleCount; ++f)
    {
        for (int i = 0; i < 3; ++i)
        {
            uint32_t a = h->triangles[f].v[i], b = h->triangles[f].v[(i + 1) % 3];
            for (uint32_t g = 0; g < h->triangleCount && a < b; ++g)
            {
                const uint32_t* v = h->triangles[g].v;
                bool shares = (v[0] == b && v[1] == a) || (v[1] == b && v[2] == a) ||
                              (v[2] == b && v[0] == a);
                if (shares && knDot(h->planes[f].normal, h->planes[g].normal) < SAME_PLANE &&
                    h->edgeCount < 2 * h->faceCapacity)
                {
                    h->edges[h->edgeCount++] = (knEdge){{a, b}};
                }
            }
        }
    }
}

void knHull_DropUnused(knHull* h, knEdge* work)
{
    uint32_t* map = work->v;
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        map[i] = KN_NONE;
    }
    for (uint32_t i = 0; i < 3 * h->triangleCount; ++i)
    {
        map[h->triangles[i / 3].v[i % 3]] = 0;
    }
    for (uint32_t i = 0; i < 2 * h->edgeCount; ++i)
    {
        map[h->edges[i / 2].v[i % 2]] = 0;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        if (map[i] == 0)
        {
            h->points[kept] = h->points[i];
            map[i] = kept++;
        }
    }
    h->pointCount = kept > 0 ? kept : 1;
    for (uint32_t i = 0; i < 3 * h->triangleCount; ++i)
    {
        h->triangles[i / 3].v[i % 3] = map[h->triangles[i / 3].v[i % 3]];
    }
    for (uint32_t i = 0; i < 2 * h->edgeCount; ++i)
    {
        h->edges[i / 2].v[i % 2] = map[h->edges[i / 2].v[i % 2]];
    }
}

// The corners of a box come first, so that what lies in its faces and edges is never one.
static void AddExtremes(knHull* h, double tolerance, knEdge* work)
{
    for (int i = 0; i < 27; ++i)
    {
        knVec3 d = {(float)(i % 3 - 1), 1.01f * (float)(i / 3 % 3 - 1), 1.02f * (float)(i / 9 - 1)};
        uint32_t best = 0;
        for (uint32_t k = 1; k < h->pointCount; ++k)
        {
            best = knDot(d, h->points[k]) > knDot(d, h->points[best]) ? k : best;
        }
        AddPoint(h, best, tolerance, work);
    }
}

void knHull_Wrap(knHull* h, knEdge* work)
{
    knBox box = knBoundingBox(h->points, h->pointCount);
    float tolerance = TOLERANCE * (knLength(knBox_Extent(box)) +
                                   0.1f * knLength(knMax(box.upper, knNeg(box.lower))));
    uint32_t v[4];
    knVec3 normal;
    if (!FirstFour(h, tolerance, v, &normal))
    {
        knHull_WrapFlat(h, normal, tolerance, work);
        return;
    }
    bool above = knDot(normal, knSub(h->points[v[3]], h->points[v[0]])) > 0.0f;
    uint32_t b = above ? v[2] : v[1], c = above ? v[1] : v[2];
    AddFace(h, v[0], b, c);
    AddFace(h, v[0], v[3], b);
    AddFace(h, b, v[3], c);
    AddFace(h, c, v[3], v[0]);
    AddExtremes(h, (double)tolerance, work);
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        AddPoint(h, i, (double)tolerance, work);
    }
    h->planeCount = h->triangleCount;
    AddEdges(h);
    knHull_DropUnused(h, work);
}
