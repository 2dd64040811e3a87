// SPDX-License-Identifier: Zlib
#pragma once

// What the distance field is judged by: surfaces of pieces from the region polytopes, distances by
// looking at every triangle, winding numbers by counting crossings. Nothing of distfield/.

#include "knap/random.h"
#include "knap/region.h"

#include <stdlib.h>
#include <string.h>

#define ORACLE_BINS 64

typedef struct OracleTriangle
{
    knDVec3 v[3];
    knDVec3 center;
    double radius;
    bool isCrack;
} OracleTriangle;

// The closed surface of one piece.
typedef struct Oracle
{
    OracleTriangle* triangles;
    size_t count, capacity;
    uint32_t* binned; // triangles by bins of the x-y plane
    uint32_t starts[ORACLE_BINS * ORACLE_BINS + 1];
    knDVec3 lower, upper;
    double radius; // half the diagonal
} Oracle;

static inline void OracleAdd(Oracle* o, const knVec3* a, const knVec3* b, const knVec3* c,
                             bool isCrack)
{
    if (o->count == o->capacity)
    {
        o->capacity = o->capacity ? 2 * o->capacity : 1024;
        o->triangles = realloc(o->triangles, o->capacity * sizeof(OracleTriangle));
        if (!o->triangles)
        {
            abort();
        }
    }
    OracleTriangle t = {
        {knToDouble(*a), knToDouble(*b), knToDouble(*c)}, {0.0, 0.0, 0.0}, 0.0, isCrack};
    t.center = knDScale(1.0 / 3.0, knDAdd(t.v[0], knDAdd(t.v[1], t.v[2])));
    for (int k = 0; k < 3; ++k)
    {
        t.radius = fmax(t.radius, knDLength(knDSub(t.v[k], t.center)));
    }
    o->triangles[o->count++] = t;
}

static inline int OracleBin(double x, double lower, double upper)
{
    double t = (x - lower) / (upper - lower) * ORACLE_BINS;
    return t < 0.0 ? 0 : t >= ORACLE_BINS ? ORACLE_BINS - 1 : (int)t;
}

static inline void OracleBinRange(const Oracle* o, const OracleTriangle* t, int x[2], int y[2])
{
    double ax = fmin(t->v[0].x, fmin(t->v[1].x, t->v[2].x));
    double bx = fmax(t->v[0].x, fmax(t->v[1].x, t->v[2].x));
    double ay = fmin(t->v[0].y, fmin(t->v[1].y, t->v[2].y));
    double by = fmax(t->v[0].y, fmax(t->v[1].y, t->v[2].y));
    x[0] = OracleBin(ax, o->lower.x, o->upper.x);
    x[1] = OracleBin(bx, o->lower.x, o->upper.x);
    y[0] = OracleBin(ay, o->lower.y, o->upper.y);
    y[1] = OracleBin(by, o->lower.y, o->upper.y);
}

static inline void OracleSort(Oracle* o)
{
    o->lower = knMakeDVec3(1e300, 1e300, 1e300);
    o->upper = knMakeDVec3(-1e300, -1e300, -1e300);
    for (size_t i = 0; i < 3 * o->count; ++i)
    {
        knDVec3 p = o->triangles[i / 3].v[i % 3];
        o->lower = knMakeDVec3(fmin(o->lower.x, p.x), fmin(o->lower.y, p.y), fmin(o->lower.z, p.z));
        o->upper = knMakeDVec3(fmax(o->upper.x, p.x), fmax(o->upper.y, p.y), fmax(o->upper.z, p.z));
    }
    o->radius = 0.5 * knDLength(knDSub(o->upper, o->lower));
    for (int pass = 0; pass < 2; ++pass)
    {
        for (size_t i = o->count; i-- > 0;)
        {
            int x[2], y[2];
            OracleBinRange(o, &o->triangles[i], x, y);
            for (int b = y[0]; b <= y[1]; ++b)
            {
                for (int a = x[0]; a <= x[1]; ++a)
                {
                    uint32_t* start = &o->starts[b * ORACLE_BINS + a];
                    if (pass == 0)
                    {
                        *start += 1;
                    }
                    else
                    {
                        o->binned[--*start] = (uint32_t)i;
                    }
                }
            }
        }
        if (pass == 0)
        {
            uint32_t sum = 0;
            for (int b = 0; b < ORACLE_BINS * ORACLE_BINS; ++b)
            {
                sum += o->starts[b];
                o->starts[b] = sum;
            }
            o->starts[ORACLE_BINS * ORACLE_BINS] = sum;
            o->binned = calloc(sum + 1, sizeof(uint32_t));
            if (!o->binned)
            {
                abort();
            }
        }
    }
}

static inline Oracle MakeOracle(const knTetMesh* mesh, const knCutStore* store, uint32_t fragment)
{
    Oracle o = {0};
    for (uint32_t tet = 0; tet < mesh->tetCount; ++tet)
    {
        uint8_t mask = knCutStore_Mask(store, mesh, tet, fragment);
        if (mask == 0)
        {
            continue;
        }
        knTetRegion r;
        knCutStore_Region(store, mesh, tet, mask, &r);
        for (int f = 0; f < r.faceCount; ++f)
        {
            const knRegionFace* face = &r.faces[f];
            bool isCrack = face->source >= 4;
            if (!isCrack && mesh->neighbors[tet].t[face->source] != KN_NONE)
            {
                continue;
            }
            for (int i = 1; i + 1 < face->count; ++i)
            {
                OracleAdd(&o, &r.vertices[face->loop[0]].position,
                          &r.vertices[face->loop[i]].position,
                          &r.vertices[face->loop[i + 1]].position, isCrack);
            }
        }
    }
    OracleSort(&o);
    return o;
}

static inline void DestroyOracle(Oracle* o)
{
    free(o->triangles);
    free(o->binned);
    *o = (Oracle){0};
}

static inline double OracleTurn(knDVec3 a, knDVec3 b, knDVec3 p)
{
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

// How often a ray straight up leaves the piece, minus how often it enters.
static inline int OracleWinding(const Oracle* o, knVec3 point)
{
    knDVec3 p = knToDouble(point);
    // beside the edges that points of a lattice would hit
    p.x += 3.1e-9 * o->radius;
    p.y += 1.7e-9 * o->radius;
    if (p.x < o->lower.x || p.x > o->upper.x || p.y < o->lower.y || p.y > o->upper.y)
    {
        return 0;
    }
    int bin = OracleBin(p.y, o->lower.y, o->upper.y) * ORACLE_BINS +
              OracleBin(p.x, o->lower.x, o->upper.x);
    int winding = 0;
    for (uint32_t i = o->starts[bin]; i < o->starts[bin + 1]; ++i)
    {
        const knDVec3* v = o->triangles[o->binned[i]].v;
        double a = OracleTurn(v[1], v[2], p), b = OracleTurn(v[2], v[0], p);
        double c = OracleTurn(v[0], v[1], p);
        bool up = a > 0.0 && b > 0.0 && c > 0.0, down = a < 0.0 && b < 0.0 && c < 0.0;
        if ((up || down) && (a * v[0].z + b * v[1].z + c * v[2].z) / (a + b + c) > p.z)
        {
            winding += up ? 1 : -1;
        }
    }
    return winding;
}

static inline double OracleSegment(knDVec3 p, knDVec3 a, knDVec3 b, knDVec3* q)
{
    knDVec3 d = knDSub(b, a);
    double length2 = knDDot(d, d);
    double t = length2 > 0.0 ? knDDot(knDSub(p, a), d) / length2 : 0.0;
    *q = knDAdd(a, knDScale(t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t, d));
    return knDLength(knDSub(p, *q));
}

// The foot of the perpendicular when it is inside, else the nearest edge.
static inline double OraclePointTriangle(knDVec3 p, const knDVec3 v[3], knDVec3* q)
{
    knDVec3 n = knDCross(knDSub(v[1], v[0]), knDSub(v[2], v[0]));
    double n2 = knDDot(n, n);
    bool inside = n2 > 0.0;
    for (int k = 0; k < 3 && inside; ++k)
    {
        inside = knDDot(n, knDCross(knDSub(v[(k + 1) % 3], v[k]), knDSub(p, v[k]))) >= 0.0;
    }
    if (inside)
    {
        double t = knDDot(n, knDSub(p, v[0])) / n2;
        *q = knDSub(p, knDScale(t, n));
        return fabs(t) * sqrt(n2);
    }
    double best = 1e300;
    *q = v[0];
    for (int k = 0; k < 3; ++k)
    {
        knDVec3 c;
        double d = OracleSegment(p, v[k], v[(k + 1) % 3], &c);
        if (d < best)
        {
            best = d;
            *q = c;
        }
    }
    return best;
}

// Distance to the surface, or to its cracks only; `closest` may be null.
static inline double OracleDistance(const Oracle* o, knVec3 point, bool cracksOnly,
                                    knDVec3* closest)
{
    knDVec3 p = knToDouble(point);
    double best = 1e300;
    if (closest)
    {
        *closest = p;
    }
    for (size_t i = 0; i < o->count; ++i)
    {
        const OracleTriangle* t = &o->triangles[i];
        knDVec3 d = knDSub(p, t->center);
        double limit = best + t->radius;
        if ((cracksOnly && !t->isCrack) || knDDot(d, d) > limit * limit)
        {
            continue;
        }
        knDVec3 q = p;
        double distance = OraclePointTriangle(p, t->v, &q);
        if (distance < best)
        {
            best = distance;
            if (closest)
            {
                *closest = q;
            }
        }
    }
    return best;
}

// A point of the surface, more often on large triangles; `normal` points out.
static inline knVec3 OraclePoint(const Oracle* o, knRandom* random, knVec3* normal)
{
    const OracleTriangle* t = &o->triangles[0];
    for (int i = 0; i < 4; ++i)
    {
        const OracleTriangle* other = &o->triangles[knRandom_Below(random, (uint32_t)o->count)];
        t = i == 0 || other->radius > t->radius * knRandom_Double(random) * 2.0 ? other : t;
    }
    double a = knRandom_Double(random), b = knRandom_Double(random);
    if (a + b > 1.0)
    {
        a = 1.0 - a;
        b = 1.0 - b;
    }
    knDVec3 u = knDSub(t->v[1], t->v[0]), v = knDSub(t->v[2], t->v[0]);
    knDVec3 n = knDCross(u, v);
    *normal = knToFloat(knDScale(1.0 / fmax(knDLength(n), 1e-300), n));
    return knToFloat(knDAdd(t->v[0], knDAdd(knDScale(a, u), knDScale(b, v))));
}
