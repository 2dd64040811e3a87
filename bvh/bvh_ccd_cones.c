// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// The papers' culling for a whole step, for comparison. ICCD IV: a connected part is skipped when
// one cone holds its normals of all times (their Bernstein vectors, merged as Provot does), and its
// contour, projected along the axis, does not meet itself at any time. FASTCD 4.3: instead of the
// contour a second cone, of the binormals of the surface's own boundary.

#define HALF_TURN  3.14159265f
#define EMPTY_CONE (-1.0f)

static const knCone emptyCone = {{0.0f, 0.0f, 0.0f}, EMPTY_CONE};
static const knCone allCone = {{0.0f, 0.0f, 1.0f}, HALF_TURN};

static float Angle(knVec3 a, knVec3 b)
{
    float cosine = knDot(a, b);
    return acosf(cosine > 1.0f ? 1.0f : (cosine < -1.0f ? -1.0f : cosine));
}

// A cone around vectors: the axis is the direction of the sum of their directions.
static knCone ConeAround(knVec3* vectors, uint32_t count)
{
    knVec3 sum = knMakeVec3(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < count; ++i)
    {
        float length = knLength(vectors[i]);
        vectors[i] = knScale(1.0f / length, vectors[i]);
        if (!(length > 0.0f) || !knIsFinite(vectors[i]))
        {
            return allCone;
        }
        sum = knAdd(sum, vectors[i]);
    }
    float length = knLength(sum);
    if (count == 0 || !(length > 1e-6f))
    {
        return count == 0 ? emptyCone : allCone;
    }
    knCone cone = {knScale(1.0f / length, sum), 0.0f};
    for (uint32_t i = 0; i < count; ++i)
    {
        cone.angle = fmaxf(cone.angle, Angle(cone.axis, vectors[i]));
    }
    return cone;
}

// Provot's: the axis halfway between, and an angle that is enough for both.
static knCone MergeCones(knCone a, knCone b)
{
    if (a.angle < 0.0f || b.angle < 0.0f)
    {
        return a.angle < 0.0f ? b : a;
    }
    knVec3 sum = knAdd(a.axis, b.axis);
    float length = knLength(sum), angle = 0.5f * Angle(a.axis, b.axis) + fmaxf(a.angle, b.angle);
    return length > 1e-6f && angle < HALF_TURN ? (knCone){knScale(1.0f / length, sum), angle}
                                               : allCone;
}

// Edges from the first corner, at both ends; and the three Bernstein vectors of the normal.
typedef struct Sides
{
    knVec3 u[2], v[2];
    knVec3 normal[3];
} Sides;

static Sides SidesOf(const knCcdStep* s, const uint32_t* v)
{
    Sides sides;
    for (int end = 0; end < 2; ++end)
    {
        const knVec3* p = end ? s->def.end : s->def.start;
        sides.u[end] = knSub(p[v[1]], p[v[0]]);
        sides.v[end] = knSub(p[v[2]], p[v[0]]);
    }
    sides.normal[0] = knCross(sides.u[0], sides.v[0]);
    sides.normal[2] = knCross(sides.u[1], sides.v[1]);
    // (n0 + n1 - delta) / 2 of the CNC theorem
    knVec3 middle = knAdd(knCross(sides.u[0], sides.v[1]), knCross(sides.u[1], sides.v[0]));
    sides.normal[1] = knScale(0.5f, middle);
    return sides;
}

// Edge times normal is a cubic in time: four Bernstein vectors, away from the triangle.
static knCone BinormalCone(const Sides* s, const knVec3 edge[2])
{
    knVec3 a = knScale(2.0f, knCross(edge[0], s->normal[1]));
    knVec3 b = knScale(2.0f, knCross(edge[1], s->normal[1]));
    knVec3 vectors[4] = {knCross(edge[0], s->normal[0]),
                         knScale(1.0f / 3.0f, knAdd(knCross(edge[1], s->normal[0]), a)),
                         knScale(1.0f / 3.0f, knAdd(knCross(edge[0], s->normal[2]), b)),
                         knCross(edge[1], s->normal[2])};
    return ConeAround(vectors, 4);
}

static void SetLeafCones(knCcdStep* s, uint32_t node)
{
    const knCcdLeaf* leaf = &s->leaves[s->links[node].child];
    knCcdCones cones = {emptyCone, emptyCone};
    for (uint32_t i = leaf->item; i < leaf->item + leaf->itemCount; ++i)
    {
        uint32_t t = s->items[i].triangle;
        if (t >= s->triangleCount)
        {
            cones.normal = allCone;
            break;
        }
        const uint32_t* v = s->triangles[t].v;
        Sides sides = SidesOf(s, v);
        knVec3 normals[3] = {sides.normal[0], sides.normal[1], sides.normal[2]};
        cones.normal = MergeCones(cones.normal, ConeAround(normals, 3));
        for (int k = 0; k < 3 && s->def.culling == kn_ccdCullDualCones; ++k)
        {
            uint32_t edge = s->triangleEdges[3 * (size_t)t + (size_t)k];
            if (edge != KN_NONE && s->edgeUses[edge] != 2)
            {
                knVec3 along[2] = {knSub(s->def.start[v[(k + 1) % 3]], s->def.start[v[k]]),
                                   knSub(s->def.end[v[(k + 1) % 3]], s->def.end[v[k]])};
                cones.binormal = MergeCones(cones.binormal, BinormalCone(&sides, along));
            }
        }
    }
    s->cones[node] = cones;
}

static knResult CountEdgeUses(knCcdStep* s)
{
    knResult result = knGrow(&s->allocator, (void**)&s->edgeUses, &s->edgeUseCapacity,
                             s->edgeCount + (size_t)1, sizeof *s->edgeUses);
    if (result == kn_success)
    {
        memset(s->edgeUses, 0, s->edgeCount * sizeof *s->edgeUses);
        for (size_t i = 0; i < 3 * (size_t)s->triangleCount; ++i)
        {
            uint32_t e = s->triangleEdges[i];
            if (e != KN_NONE && s->edgeUses[e] < 255)
            {
                s->edgeUses[e] = (uint8_t)(s->edgeUses[e] + 1);
            }
        }
    }
    return result;
}

static knResult ReserveCones(knCcdStep* s)
{
    knResult result =
        knGrow(&s->allocator, (void**)&s->cones, &s->coneCapacity, s->nodeCount, sizeof *s->cones);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->flat, &s->flatCapacity,
                                           s->vertexCount + (size_t)1, sizeof *s->flat)
                                  : result;
    return result == kn_success ? knGrow(&s->allocator, (void**)&s->failures, &s->failureCapacity,
                                         5 * (size_t)s->nodeCount, sizeof *s->failures)
                                : result;
}

knResult knFindCcdCones(knCcdStep* s)
{
    knResult result = ReserveCones(s);
    result = result == kn_success ? CountEdgeUses(s) : result;
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t node = s->nodeCount; node-- > 0;)
    {
        const knCcdLink* link = &s->links[node];
        s->failures[5 * (size_t)node] = KN_NONE;
        if (node == 1)
        {
            continue;
        }
        if (link->count != 0)
        {
            SetLeafCones(s, node);
            continue;
        }
        const knCcdCones* c = &s->cones[link->child];
        s->cones[node] = (knCcdCones){MergeCones(c[0].normal, c[1].normal),
                                      MergeCones(c[0].binormal, c[1].binormal)};
    }
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        s->flat[v].axis = KN_NONE;
    }
    return kn_success;
}

typedef struct Line
{
    const knCcdFlat *a, *b;
} Line;

// Projected along the axis of a node, which the nodes below it share: their normals are within its
// cone too.
static const knCcdFlat* Project(knCcdStep* s, uint32_t vertex, uint32_t axisNode)
{
    knCcdFlat* flat = &s->flat[vertex];
    if (flat->axis == axisNode && !s->isSlow)
    {
        return flat;
    }
    knVec3 axis = s->cones[axisNode].normal.axis;
    knVec3 aside =
        fabsf(axis.x) < 0.6f ? knMakeVec3(1.0f, 0.0f, 0.0f) : knMakeVec3(0.0f, 1.0f, 0.0f);
    knVec3 x = knCross(axis, aside), y = knCross(axis, x);
    for (int end = 0; end < 2; ++end)
    {
        knVec3 p = end ? s->def.end[vertex] : s->def.start[vertex];
        flat->x[end] =
            (double)p.x * (double)x.x + (double)p.y * (double)x.y + (double)p.z * (double)x.z;
        flat->y[end] =
            (double)p.x * (double)y.x + (double)p.y * (double)y.y + (double)p.z * (double)y.z;
    }
    flat->axis = axisNode;
    return flat;
}

// Four numbers along one axis are all beyond four others.
static bool AreApart(const double* a, const double* b, const double* c, const double* d)
{
    double low = fmin(fmin(a[0], a[1]), fmin(b[0], b[1]));
    double high = fmax(fmax(a[0], a[1]), fmax(b[0], b[1]));
    return fmax(fmax(c[0], c[1]), fmax(d[0], d[1])) < low ||
           high < fmin(fmin(c[0], c[1]), fmin(d[0], d[1]));
}

static double TurnAt(const knCcdFlat* a, const knCcdFlat* b, const knCcdFlat* c, int end)
{
    return (b->x[end] - a->x[end]) * (c->y[end] - a->y[end]) -
           (b->y[end] - a->y[end]) * (c->x[end] - a->x[end]);
}

// At the start, and touching counts.
static bool DoLinesCross(const Line* p, const Line* q)
{
    double a = TurnAt(p->a, p->b, q->a, 0), b = TurnAt(p->a, p->b, q->b, 0);
    double c = TurnAt(q->a, q->b, p->a, 0), d = TurnAt(q->a, q->b, p->b, 0);
    return !((a > 0.0 && b > 0.0) || (a < 0.0 && b < 0.0) || (c > 0.0 && d > 0.0) ||
             (c < 0.0 && d < 0.0));
}

static double At(const double x[2], double t)
{
    return x[0] + t * (x[1] - x[0]);
}

static bool IsBetween(const knCcdFlat* v, const Line* e, double t)
{
    double ax = At(e->a->x, t) - At(v->x, t), ay = At(e->a->y, t) - At(v->y, t);
    double bx = At(e->b->x, t) - At(v->x, t), by = At(e->b->y, t) - At(v->y, t);
    return ax * bx + ay * by <= 0.0;
}

// Equation 1: the times at which a vertex is on the line of an edge, by a quadratic.
static bool DoesVertexMeetLine(const knCcdFlat* v, const Line* e)
{
    double px = v->x[0] - e->b->x[0], py = v->y[0] - e->b->y[0];
    double qx = e->a->x[0] - e->b->x[0], qy = e->a->y[0] - e->b->y[0];
    double pu = v->x[1] - e->b->x[1] - px, pv = v->y[1] - e->b->y[1] - py;
    double qu = e->a->x[1] - e->b->x[1] - qx, qv = e->a->y[1] - e->b->y[1] - qy;
    double c = px * qy - py * qx, b = pu * qy - pv * qx + px * qv - py * qu;
    double a = pu * qv - pv * qu, roots[2];
    double square = b * b - 4.0 * a * c;
    if (square < 0.0)
    {
        return false;
    }
    double half = -0.5 * (b + copysign(sqrt(square), b));
    roots[0] = half / a;
    roots[1] = c / half;
    bool isMeeting = false;
    for (int i = 0; i < 2; ++i)
    {
        isMeeting = isMeeting || (roots[i] >= 0.0 && roots[i] <= 1.0 && IsBetween(v, e, roots[i]));
    }
    return isMeeting;
}

// The planar (E,E) test: crossing at the start, or one of four vertices comes to the other edge.
static bool DoLinesMeet(const knCcdStep* s, const Line* p, const Line* q)
{
    if (!s->isSlow && (AreApart(p->a->x, p->b->x, q->a->x, q->b->x) ||
                       AreApart(p->a->y, p->b->y, q->a->y, q->b->y)))
    {
        return false;
    }
    return DoLinesCross(p, q) || DoesVertexMeetLine(p->a, q) || DoesVertexMeetLine(p->b, q) ||
           DoesVertexMeetLine(q->a, p) || DoesVertexMeetLine(q->b, p);
}

static bool HasHalfEdge(const knCcdStep* s, const knCcdContour* c, uint32_t from, uint32_t to)
{
    bool has = false;
    for (uint32_t i = 0; i < c->count && !has; ++i)
    {
        knHalfEdge e = s->halfEdges[c->first + i];
        has = e.from == from && e.to == to;
    }
    return has;
}

// Two edges that meet in the contour of a node above are in this one's too.
static bool IsFailureInherited(knCcdStep* s, uint32_t node)
{
    uint32_t parent = s->links[node].parent;
    const uint32_t* f = parent == KN_NONE ? NULL : &s->failures[5 * (size_t)parent];
    if (!f || f[0] == KN_NONE || s->isSlow || !HasHalfEdge(s, &s->contours[node], f[0], f[1]) ||
        !HasHalfEdge(s, &s->contours[node], f[2], f[3]))
    {
        return false;
    }
    memcpy(&s->failures[5 * (size_t)node], f, 5 * sizeof *f);
    return true;
}

static uint32_t AxisNode(const knCcdStep* s, uint32_t node)
{
    uint32_t parent = s->links[node].parent;
    bool isShared = parent != KN_NONE && s->failures[5 * (size_t)parent] != KN_NONE && !s->isSlow;
    return isShared ? s->failures[5 * (size_t)parent + 4] : node;
}

static bool IsOwnBoundary(const knCcdStep* s, knHalfEdge e)
{
    uint32_t edge = knFindCcdEdge(s, e.from, e.to);
    return edge == KN_NONE || s->edgeUses[edge] != 2;
}

static bool DoesContourMeetItself(knCcdStep* s, uint32_t node)
{
    const knCcdContour* c = &s->contours[node];
    uint32_t axis = AxisNode(s, node);
    bool ownOnly = s->def.culling == kn_ccdCullBoundary;
    s->funnel.contourTests += 1;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        knHalfEdge e = s->halfEdges[c->first + i];
        if (ownOnly && !IsOwnBoundary(s, e))
        {
            continue;
        }
        Line p = {Project(s, e.from, axis), Project(s, e.to, axis)};
        for (uint32_t k = i + 1; k < c->count; ++k)
        {
            knHalfEdge f = s->halfEdges[c->first + k];
            bool isShared = e.from == f.from || e.from == f.to || e.to == f.from || e.to == f.to;
            if (isShared || (ownOnly && !IsOwnBoundary(s, f)))
            {
                continue;
            }
            Line q = {Project(s, f.from, axis), Project(s, f.to, axis)};
            if (DoLinesMeet(s, &p, &q))
            {
                uint32_t failure[5] = {e.from, e.to, f.from, f.to, axis};
                memcpy(&s->failures[5 * (size_t)node], failure, sizeof failure);
                return true;
            }
        }
    }
    return false;
}

static bool PassesDualCones(const knCcdCones* c)
{
    float along = fabsf(knDot(c->normal.axis, c->binormal.axis));
    return c->binormal.angle < 0.0f ||
           (c->binormal.angle < 0.5f * HALF_TURN && along < cosf(c->binormal.angle));
}

bool knIsWithinCones(knCcdStep* s, uint32_t node)
{
    const knCcdContour* contour = &s->contours[node];
    const knCcdCones* cones = &s->cones[node];
    if (!contour->isConnected || !(cones->normal.angle < 0.5f * HALF_TURN))
    {
        return false;
    }
    switch (s->def.culling)
    {
    case kn_ccdCullConesOnly:
        return true;
    case kn_ccdCullDualCones:
        return PassesDualCones(cones);
    default:
        return !IsFailureInherited(s, node) && !DoesContourMeetItself(s, node);
    }
}
