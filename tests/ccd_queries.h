// SPDX-License-Identifier: Zlib
#pragma once

// Elementary tests by number, easy and nasty, the same on every machine.

#include "knap/bvh_ccd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum QueryKind
{
    queryRandom,   // floats in a cube
    queryNear,     // small features that pass each other
    querySmall,    // whole numbers from -2 to 2: coplanar, parallel, double roots, without area
    queryContact,  // touch at a known time, on the rim too, in whole numbers
    queryGrazing,  // the same off by the last bits
    queryCoplanar, // in one plane all the time
    queryParallel, // edges, or a vertex that slides along a face
    queryShared,   // a point in common, all the time or at an end
    queryStill,    // no motion
    queryDouble,   // the volume nearly has a double root
    queryKindCount
} QueryKind;

typedef struct QuerySource
{
    uint64_t state;
} QuerySource;

static inline double NextWhole(QuerySource* s, int range)
{
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (double)((int64_t)(s->state >> 33) % (2 * range + 1) - range);
}

static inline double NextFloat(QuerySource* s)
{
    return (double)(float)(NextWhole(s, 1 << 24) / 16777216.0);
}

static inline double* Coordinate(knCcdTest* q, int i)
{
    knDVec3* p = i < 12 ? &q->start[i / 3] : &q->end[(i - 12) / 3];
    return i % 3 == 0 ? &p->x : (i % 3 == 1 ? &p->y : &p->z);
}

// The points at k / 64 touch; all motions are multiples of 64.
static inline void MakeTouching(knCcdTest* q, QuerySource* s, int number, double slowest)
{
    double at[12];
    bool isFace = q->kind == kn_ccdVertexFace;
    int range = number % 3 == 0 ? 2 : 1000;
    for (int i = 0; i < 12; ++i)
    {
        at[i] = 8.0 * NextWhole(s, range);
    }
    double u = NextWhole(s, 4) + 4.0, v = fmin(8.0 - u, NextWhole(s, 4) + 4.0);
    double w = NextWhole(s, 4) + 4.0;
    for (int k = 0; k < 3; ++k)
    {
        if (isFace)
        {
            at[k] = (at[3 + k] * (8.0 - u - v) + at[6 + k] * u + at[9 + k] * v) / 8.0;
            continue;
        }
        double a = (at[k] * (8.0 - w) + at[3 + k] * w) / 8.0;
        double b = (at[6 + k] * (8.0 - u) + at[9 + k] * u) / 8.0;
        at[k] += b - a;
        at[3 + k] += b - a;
    }
    double time = (double)(number % 65);
    for (int i = 0; i < 12; ++i)
    {
        double speed = slowest * NextWhole(s, 50);
        *Coordinate(q, i) = at[i] - time * speed;
        *Coordinate(q, i + 12) = at[i] + (64.0 - time) * speed;
    }
}

static inline void ScaleQuery(knCcdTest* q, double factor)
{
    for (int i = 0; i < 24; ++i)
    {
        *Coordinate(q, i) *= factor;
    }
}

static inline void JitterQuery(knCcdTest* q, QuerySource* s)
{
    for (int i = 0; i < 24; ++i)
    {
        double* x = Coordinate(q, i);
        int ulps = (int)NextWhole(s, 2);
        for (int k = 0; k < abs(ulps); ++k)
        {
            *x = nextafter(*x, ulps > 0 ? INFINITY : -INFINITY);
        }
    }
}

static inline void MakeShared(knCcdTest* q, QuerySource* s)
{
    int a = q->kind == kn_ccdVertexFace ? 0 : (int)(NextWhole(s, 1) > 0.0);
    int b = q->kind == kn_ccdVertexFace ? 1 : 2;
    int which = (int)NextWhole(s, 1);
    if (which >= 0)
    {
        q->start[a] = q->start[b];
    }
    if (which <= 0)
    {
        q->end[a] = q->end[b];
    }
}

static inline knCcdTest MakeQuery(QuerySource* s, QueryKind kind, int number)
{
    knCcdTest q = {.kind = number % 2 ? kn_ccdEdgeEdge : kn_ccdVertexFace};
    for (int i = 0; i < 24; ++i)
    {
        double near = 0.25 * NextFloat(s);
        *Coordinate(&q, i) = kind == querySmall ? NextWhole(s, 2) : near;
        *Coordinate(&q, i) = kind == queryRandom ? 4.0 * near : *Coordinate(&q, i);
    }
    if (kind == queryContact || kind == queryGrazing)
    {
        MakeTouching(&q, s, number, number % 7 == 0 ? 0.0 : 1.0);
    }
    for (int i = 0; i < 12; ++i)
    {
        double *x = Coordinate(&q, i), *y = Coordinate(&q, i + 12);
        bool isFirst = i < (q.kind == kn_ccdVertexFace ? 3 : 6);
        if (kind == queryCoplanar && i % 3 == 2)
        {
            *x = *y = 0.5;
        }
        if (kind == queryParallel && i % 3 == 2)
        {
            *x = isFirst ? 0.125 : 0.125 + 0x1p-40 * NextWhole(s, 1);
            *y = *x;
        }
        if (kind == queryStill)
        {
            *x = *y = NextWhole(s, 3);
        }
        // one goes down and turns up again while the other turns: it just touches, or just not
        if (kind == queryDouble)
        {
            double t = i % 3 == 2 && isFirst ? 0x1p-50 * NextWhole(s, 4) : 0.0;
            *x = NextWhole(s, 2) + (isFirst && i % 3 == 2 ? t : 0.0);
            *y = NextWhole(s, 2) + t;
        }
    }
    if (kind == queryShared)
    {
        MakeShared(&q, s);
    }
    if (kind == queryGrazing)
    {
        JitterQuery(&q, s);
    }
    return q;
}

static inline knCcdTest ReversedQuery(const knCcdTest* q)
{
    knCcdTest r = *q;
    memcpy(r.start, q->end, sizeof r.start);
    memcpy(r.end, q->start, sizeof r.end);
    return r;
}
