// SPDX-License-Identifier: Zlib
#include "pair_oracle.h"

#include <gmp.h>
#include <stdlib.h>

// Triangle a is a polygon of rational points that is clipped by what defines triangle b: equations
// of its plane, line or point, and half-spaces of its edges. What is left is the intersection.

#define MAX_POINTS      32
#define MAX_CONSTRAINTS 12

typedef struct Point
{
    mpq_t x[3];
} Point;

typedef struct Polygon
{
    Point points[MAX_POINTS];
    int count;
} Polygon;

// normal . x >= offset
typedef struct Constraint
{
    mpq_t normal[3];
    mpq_t offset;
} Constraint;

typedef struct Constraints
{
    Constraint items[MAX_CONSTRAINTS];
    int count;
} Constraints;

static void InitPoint(Point* p)
{
    for (int i = 0; i < 3; ++i)
    {
        mpq_init(p->x[i]);
    }
}

static void ClearPoint(Point* p)
{
    for (int i = 0; i < 3; ++i)
    {
        mpq_clear(p->x[i]);
    }
}

static void SetPoint(Point* p, knVec3 v)
{
    mpq_set_d(p->x[0], (double)v.x);
    mpq_set_d(p->x[1], (double)v.y);
    mpq_set_d(p->x[2], (double)v.z);
}

static void CopyPoint(Point* to, const Point* from)
{
    for (int i = 0; i < 3; ++i)
    {
        mpq_set(to->x[i], from->x[i]);
    }
}

static bool SamePoint(const Point* a, const Point* b)
{
    return mpq_equal(a->x[0], b->x[0]) && mpq_equal(a->x[1], b->x[1]) &&
           mpq_equal(a->x[2], b->x[2]);
}

static void Subtract(Point* r, const Point* a, const Point* b)
{
    for (int i = 0; i < 3; ++i)
    {
        mpq_sub(r->x[i], a->x[i], b->x[i]);
    }
}

static void Cross(Point* r, const Point* a, const Point* b)
{
    mpq_t s, t;
    mpq_init(s);
    mpq_init(t);
    for (int i = 0; i < 3; ++i)
    {
        int y = (i + 1) % 3, z = (i + 2) % 3;
        mpq_mul(s, a->x[y], b->x[z]);
        mpq_mul(t, a->x[z], b->x[y]);
        mpq_sub(r->x[i], s, t);
    }
    mpq_clear(s);
    mpq_clear(t);
}

static void Dot(mpq_t r, mpq_t a[3], const Point* b)
{
    mpq_t s;
    mpq_init(s);
    mpq_set_ui(r, 0, 1);
    for (int i = 0; i < 3; ++i)
    {
        mpq_mul(s, a[i], b->x[i]);
        mpq_add(r, r, s);
    }
    mpq_clear(s);
}

static bool IsZero(const Point* p)
{
    return mpq_sgn(p->x[0]) == 0 && mpq_sgn(p->x[1]) == 0 && mpq_sgn(p->x[2]) == 0;
}

// normal . (x - through) >= 0, or <= 0 for a sign of -1
static void AddConstraint(Constraints* c, Point* normal, const Point* through, int sign)
{
    Constraint* item = &c->items[c->count++];
    for (int i = 0; i < 3; ++i)
    {
        mpq_init(item->normal[i]);
        sign > 0 ? mpq_set(item->normal[i], normal->x[i]) : mpq_neg(item->normal[i], normal->x[i]);
    }
    mpq_init(item->offset);
    Dot(item->offset, item->normal, through);
}

static void AddEquation(Constraints* c, Point* normal, const Point* through)
{
    AddConstraint(c, normal, through, 1);
    AddConstraint(c, normal, through, -1);
}

static void ConstrainToTriangle(Constraints* c, const Point b[3], Point* normal)
{
    Point edge, inward;
    InitPoint(&edge);
    InitPoint(&inward);
    AddEquation(c, normal, &b[0]);
    for (int i = 0; i < 3; ++i)
    {
        Subtract(&edge, &b[(i + 1) % 3], &b[i]);
        Cross(&inward, normal, &edge);
        AddConstraint(c, &inward, &b[i], 1);
    }
    ClearPoint(&edge);
    ClearPoint(&inward);
}

// The segment from p to q: equations x parallel to it, and both ends.
static void ConstrainToSegment(Constraints* c, const Point* p, const Point* q)
{
    Point along, axis, normal;
    InitPoint(&along);
    InitPoint(&axis);
    InitPoint(&normal);
    Subtract(&along, q, p);
    for (int i = 0; i < 3; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            mpq_set_ui(axis.x[k], k == i, 1);
        }
        Cross(&normal, &along, &axis);
        AddEquation(c, &normal, p);
    }
    AddConstraint(c, &along, p, 1);
    AddConstraint(c, &along, q, -1);
    ClearPoint(&along);
    ClearPoint(&axis);
    ClearPoint(&normal);
}

static void ConstrainToPoint(Constraints* c, const Point* p)
{
    Point axis;
    InitPoint(&axis);
    for (int i = 0; i < 3; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            mpq_set_ui(axis.x[k], k == i, 1);
        }
        AddEquation(c, &axis, p);
    }
    ClearPoint(&axis);
}

// The corner pair that spans a triangle without area.
static void FindEnds(const Point b[3], int ends[2])
{
    mpq_t length, best, part;
    mpq_init(length);
    mpq_init(best);
    mpq_init(part);
    ends[0] = ends[1] = 0;
    for (int i = 0; i < 3; ++i)
    {
        mpq_set_ui(length, 0, 1);
        for (int k = 0; k < 3; ++k)
        {
            mpq_sub(part, b[i].x[k], b[(i + 1) % 3].x[k]);
            mpq_mul(part, part, part);
            mpq_add(length, length, part);
        }
        if (mpq_cmp(length, best) > 0)
        {
            mpq_set(best, length);
            ends[0] = i;
            ends[1] = (i + 1) % 3;
        }
    }
    mpq_clear(length);
    mpq_clear(best);
    mpq_clear(part);
}

static void Constrain(Constraints* c, const Point b[3])
{
    Point u, v, normal;
    InitPoint(&u);
    InitPoint(&v);
    InitPoint(&normal);
    Subtract(&u, &b[1], &b[0]);
    Subtract(&v, &b[2], &b[0]);
    Cross(&normal, &u, &v);
    int ends[2];
    FindEnds(b, ends);
    if (!IsZero(&normal))
    {
        ConstrainToTriangle(c, b, &normal);
    }
    else if (ends[0] != ends[1])
    {
        ConstrainToSegment(c, &b[ends[0]], &b[ends[1]]);
    }
    else
    {
        ConstrainToPoint(c, &b[0]);
    }
    ClearPoint(&u);
    ClearPoint(&v);
    ClearPoint(&normal);
}

static void AddCrossing(Polygon* out, const Point* p, const Point* q, mpq_t from, mpq_t to)
{
    mpq_t share, part;
    mpq_init(share);
    mpq_init(part);
    mpq_sub(share, from, to);
    mpq_div(share, from, share);
    Point* r = &out->points[out->count++];
    for (int i = 0; i < 3; ++i)
    {
        mpq_sub(part, q->x[i], p->x[i]);
        mpq_mul(part, part, share);
        mpq_add(r->x[i], p->x[i], part);
    }
    mpq_clear(share);
    mpq_clear(part);
}

static void Clip(Polygon* polygon, Polygon* out, Constraint* c)
{
    mpq_t from, to;
    mpq_init(from);
    mpq_init(to);
    out->count = 0;
    for (int i = 0; i < polygon->count; ++i)
    {
        const Point *p = &polygon->points[i], *q = &polygon->points[(i + 1) % polygon->count];
        Dot(from, c->normal, p);
        mpq_sub(from, from, c->offset);
        Dot(to, c->normal, q);
        mpq_sub(to, to, c->offset);
        if (mpq_sgn(from) >= 0)
        {
            CopyPoint(&out->points[out->count++], p);
        }
        if (mpq_sgn(from) * mpq_sgn(to) < 0)
        {
            AddCrossing(out, p, q, from, to);
        }
    }
    mpq_clear(from);
    mpq_clear(to);
}

// Whether p lies in the hull of the shared vertices.
static bool IsShared(const Point* p, const Point* shared, int count)
{
    if (count < 2 || SamePoint(&shared[0], &shared[1]))
    {
        return count > 0 && SamePoint(p, &shared[0]);
    }
    Constraints c = {.count = 0};
    ConstrainToSegment(&c, &shared[0], &shared[1]);
    mpq_t value;
    mpq_init(value);
    bool inside = true;
    for (int i = 0; i < c.count; ++i)
    {
        Dot(value, c.items[i].normal, p);
        inside = inside && mpq_cmp(value, c.items[i].offset) >= 0;
        for (int k = 0; k < 3; ++k)
        {
            mpq_clear(c.items[i].normal[k]);
        }
        mpq_clear(c.items[i].offset);
    }
    mpq_clear(value);
    return inside;
}

static int GatherShared(const Point a[3], const uint32_t aVertices[3], const uint32_t bVertices[3],
                        const Point* shared[3])
{
    int count = 0;
    for (int i = 0; i < 3; ++i)
    {
        bool isNew = true, inB = false;
        for (int k = 0; k < 3; ++k)
        {
            isNew = isNew && !(k < i && aVertices[k] == aVertices[i]);
            inB = inB || bVertices[k] == aVertices[i];
        }
        if (isNew && inB)
        {
            shared[count++] = &a[i];
        }
    }
    return count;
}

static bool ClipAndJudge(Polygon polygons[2], Constraints* c, const Point* shared, int sharedCount)
{
    int current = 0;
    for (int i = 0; i < c->count && polygons[current].count > 0; ++i)
    {
        Clip(&polygons[current], &polygons[1 - current], &c->items[i]);
        current = 1 - current;
    }
    bool meets = false;
    for (int i = 0; i < polygons[current].count; ++i)
    {
        meets = meets || !IsShared(&polygons[current].points[i], shared, sharedCount);
    }
    return meets;
}

// Numbers that last from call to call: making and freeing them would take most of the time.
typedef struct Workspace
{
    Polygon polygons[2];
    Point corners[3], shared[2];
    bool isReady;
} Workspace;

static Workspace* GetWorkspace(void)
{
    static Workspace w;
    for (int i = 0; i < MAX_POINTS && !w.isReady; ++i)
    {
        InitPoint(&w.polygons[0].points[i]);
        InitPoint(&w.polygons[1].points[i]);
        if (i < 5)
        {
            InitPoint(i < 3 ? &w.corners[i] : &w.shared[i - 3]);
        }
    }
    w.isReady = true;
    return &w;
}

bool OracleMeets(const knVec3 a[3], const uint32_t aVertices[3], const knVec3 b[3],
                 const uint32_t bVertices[3])
{
    Workspace* w = GetWorkspace();
    for (int i = 0; i < 3; ++i)
    {
        SetPoint(&w->corners[i], b[i]);
        SetPoint(&w->polygons[0].points[i], a[i]);
    }
    w->polygons[0].count = 3;
    const Point* sharedPoints[3];
    int sharedCount = GatherShared(w->polygons[0].points, aVertices, bVertices, sharedPoints);
    for (int i = 0; i < sharedCount && i < 2; ++i)
    {
        CopyPoint(&w->shared[i], sharedPoints[i]);
    }
    Constraints c = {.count = 0};
    Constrain(&c, w->corners);
    bool meets = sharedCount == 3 || ClipAndJudge(w->polygons, &c, w->shared, sharedCount);
    for (int i = 0; i < c.count; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            mpq_clear(c.items[i].normal[k]);
        }
        mpq_clear(c.items[i].offset);
    }
    return meets;
}
