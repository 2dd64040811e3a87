// SPDX-License-Identifier: Zlib
#include "cast_internal.h"

#define MAX_ROUNDS 48

// A corner of the difference of two bodies, and the points it comes from.
typedef struct Corner
{
    knDVec3 w, a, b;
} Corner;

typedef struct Simplex
{
    Corner corners[4];
    double weights[4];
    int count;
} Simplex;

knConvex knMakeConvexPoints(const knVec3* points, int count)
{
    return (knConvex){.points = points, .count = count};
}

knConvex knMakeConvexShape(const knShape* shape, knTransform t)
{
    return (knConvex){
        .shape = shape, .rotation = knMat3FromQuat(t.rotation), .position = t.position};
}

knConvex knMakeConvexPiece(const knPieceMesh* mesh, knTransform t)
{
    return (knConvex){.mesh = mesh, .rotation = knMat3FromQuat(t.rotation), .position = t.position};
}

static knDVec3 Support(const knConvex* c, knDVec3 d)
{
    if (c->shape || c->mesh)
    {
        knVec3 local = knMulMV(knTranspose(c->rotation), knToFloat(d));
        knVec3 p =
            c->shape ? knShape_CoreSupport(c->shape, local) : knPieceMesh_Support(c->mesh, local);
        return knToDouble(knAdd(knMulMV(c->rotation, p), c->position));
    }
    knDVec3 best = knToDouble(c->points[0]);
    for (int i = 1; i < c->count; ++i)
    {
        knDVec3 p = knToDouble(c->points[i]);
        best = knDDot(p, d) > knDDot(best, d) ? p : best;
    }
    return best;
}

static double NearestOnSegment(knDVec3 p, knDVec3 a, knDVec3 b)
{
    knDVec3 d = knDSub(b, a);
    double length2 = knDDot(d, d);
    double t = length2 > 0.0 ? knDDot(knDSub(p, a), d) / length2 : 0.0;
    return fmin(fmax(t, 0.0), 1.0);
}

knDVec3 knDNearestOnTriangle(knDVec3 p, const knDVec3 v[3], double weights[3])
{
    knDVec3 u = knDSub(v[1], v[0]), w = knDSub(v[2], v[0]), q = knDSub(p, v[0]);
    knDVec3 n = knDCross(u, w);
    double area2 = knDDot(n, n);
    if (area2 > 1e-20 * knDDot(u, u) * knDDot(w, w))
    {
        double b = knDDot(knDCross(q, w), n) / area2, c = knDDot(knDCross(u, q), n) / area2;
        if (b > 0.0 && c > 0.0 && b + c < 1.0)
        {
            weights[0] = 1.0 - b - c;
            weights[1] = b;
            weights[2] = c;
            return knDAdd(v[0], knDAdd(knDScale(b, u), knDScale(c, w)));
        }
    }
    knDVec3 best = v[0];
    double nearest = DBL_MAX;
    for (int i = 0; i < 3; ++i)
    {
        knDVec3 a = v[i], d = knDSub(v[(i + 1) % 3], a);
        double t = NearestOnSegment(p, a, v[(i + 1) % 3]);
        knDVec3 x = knDAdd(a, knDScale(t, d)), away = knDSub(p, x);
        if (knDDot(away, away) < nearest)
        {
            nearest = knDDot(away, away);
            best = x;
            weights[i] = 1.0 - t;
            weights[(i + 1) % 3] = t;
            weights[(i + 2) % 3] = 0.0;
        }
    }
    return best;
}

// Keeps the corners that have weight.
static void Reduce(Simplex* s)
{
    int kept = 0;
    for (int i = 0; i < s->count; ++i)
    {
        if (s->weights[i] > 0.0)
        {
            s->corners[kept] = s->corners[i];
            s->weights[kept++] = s->weights[i];
        }
    }
    s->count = kept;
}

static knDVec3 NearestOnThree(const Simplex* s, const int face[3], double weights[3])
{
    knDVec3 v[3] = {s->corners[face[0]].w, s->corners[face[1]].w, s->corners[face[2]].w};
    return knDNearestOnTriangle(knMakeDVec3(0.0, 0.0, 0.0), v, weights);
}

// Of the faces that see the origin, the nearest; false when none does: it is inside.
static bool NearestOnFour(Simplex* s, knDVec3* nearest)
{
    static const int faces[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
    double best = DBL_MAX, size = 0.0, kept[4] = {0.0, 0.0, 0.0, 0.0};
    for (int i = 0; i < 4; ++i)
    {
        size = fmax(size, knDLength(s->corners[i].w));
    }
    for (int f = 0; f < 4; ++f)
    {
        knDVec3 a = s->corners[faces[f][0]].w;
        knDVec3 n =
            knDCross(knDSub(s->corners[faces[f][1]].w, a), knDSub(s->corners[faces[f][2]].w, a));
        double apex = knDDot(n, knDSub(s->corners[faces[f][3]].w, a)), origin = -knDDot(n, a);
        // a flat tetrahedron has no inside: all its faces are looked at
        bool isFlat = fabs(apex) <= 1e-6 * knDLength(n) * size;
        if (apex * origin > 0.0 && !isFlat)
        {
            continue;
        }
        double weights[3];
        knDVec3 p = NearestOnThree(s, faces[f], weights);
        if (knDDot(p, p) < best)
        {
            best = knDDot(p, p);
            *nearest = p;
            kept[faces[f][3]] = 0.0;
            for (int i = 0; i < 3; ++i)
            {
                kept[faces[f][i]] = weights[i];
            }
        }
    }
    for (int i = 0; i < 4; ++i)
    {
        s->weights[i] = kept[i];
    }
    return best < DBL_MAX;
}

// The point of the simplex nearest to the origin; false when the origin is inside.
static bool Nearest(Simplex* s, knDVec3* nearest)
{
    static const int all[3] = {0, 1, 2};
    bool isOutside = true;
    if (s->count == 1)
    {
        s->weights[0] = 1.0;
        *nearest = s->corners[0].w;
    }
    else if (s->count == 2)
    {
        knDVec3 a = s->corners[0].w, b = s->corners[1].w;
        double t = NearestOnSegment(knMakeDVec3(0.0, 0.0, 0.0), a, b);
        s->weights[0] = 1.0 - t;
        s->weights[1] = t;
        *nearest = knDAdd(a, knDScale(t, knDSub(b, a)));
    }
    else if (s->count == 3)
    {
        *nearest = NearestOnThree(s, all, s->weights);
    }
    else
    {
        isOutside = NearestOnFour(s, nearest);
    }
    Reduce(s);
    return isOutside;
}

static void Finish(const Simplex* s, knDVec3 v, knGap* gap)
{
    gap->distance = knDLength(v);
    gap->normal = knDScale(1.0 / gap->distance, v);
    gap->pointA = gap->pointB = knMakeDVec3(0.0, 0.0, 0.0);
    for (int i = 0; i < s->count; ++i)
    {
        gap->pointA = knDAdd(gap->pointA, knDScale(s->weights[i], s->corners[i].a));
        gap->pointB = knDAdd(gap->pointB, knDScale(s->weights[i], s->corners[i].b));
    }
}

static Corner CornerAlong(const knConvex* a, const knConvex* b, knDVec3 d)
{
    Corner c = {.a = Support(a, d), .b = Support(b, knDScale(-1.0, d))};
    c.w = knDSub(c.a, c.b);
    return c;
}

static bool IsKnown(const Simplex* s, knDVec3 w)
{
    for (int i = 0; i < s->count; ++i)
    {
        const knDVec3* k = &s->corners[i].w;
        if (k->x == w.x && k->y == w.y && k->z == w.z)
        {
            return true;
        }
    }
    return false;
}

void knMeasureGap(const knConvex* a, const knConvex* b, knGap* gap)
{
    knGapSearch search = {.guess = {-1.0f, 0.0f, 0.0f}, .enough = DBL_MAX};
    knSearchGap(a, b, &search, gap);
}

// Gilbert, Johnson and Keerthi: the point nearest to the origin of the difference of the two.
void knSearchGap(const knConvex* a, const knConvex* b, const knGapSearch* search, knGap* gap)
{
    Simplex s = {.count = 1};
    *gap = (knGap){0};
    s.corners[0] = CornerAlong(a, b, knDScale(-1.0, knToDouble(search->guess)));
    knDVec3 v = s.corners[0].w;
    double scale2 = knDDot(v, v);
    s.weights[0] = 1.0;
    for (int i = 0; i < MAX_ROUNDS; ++i)
    {
        double v2 = knDDot(v, v);
        if (v2 <= 1e-24 * scale2 || v2 == 0.0)
        {
            *gap = (knGap){0};
            return;
        }
        Corner c = CornerAlong(a, b, knDScale(-1.0, v));
        scale2 = fmax(scale2, knDDot(c.w, c.w));
        double along = knDDot(v, c.w);
        Finish(&s, v, gap);
        // the plane through this corner at a right angle to v parts the two
        gap->bound = along / sqrt(v2);
        if ((gap->bound > search->enough && gap->bound > 0.5 * gap->distance) ||
            gap->distance < search->least)
        {
            return;
        }
        if (v2 - along <= 1e-10 * v2 + 1e-7 * sqrt(scale2 * v2) || IsKnown(&s, c.w))
        {
            return;
        }
        s.corners[s.count++] = c;
        knDVec3 next = v;
        if (!Nearest(&s, &next))
        {
            *gap = (knGap){0};
            return;
        }
        if (knDDot(next, next) >= v2)
        {
            return; // no more digits
        }
        v = next;
    }
}
