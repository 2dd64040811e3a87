// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#define MAX_OPTIMAL_EDGES 300  // above it O(n^3) takes too long
#define SHAPE_WEIGHT      1e-3 // of the squared edges, against slivers where the area is the same
#define FLAT_PENALTY      1e6  // a triangle without area only where nothing else is left
#define FOLD_PENALTY      1e3  // an ear that turns the wrong way, against the plane of the loop

static knDVec3 ToVector(const knPoint* p)
{
    return knMakeDVec3(p->c[0], p->c[1], p->c[2]);
}

static knDVec3 AreaVector(const knPoint* a, const knPoint* b, const knPoint* c)
{
    knDVec3 o = ToVector(a);
    return knDScale(0.5, knDCross(knDSub(ToVector(b), o), knDSub(ToVector(c), o)));
}

static double SquaredEdges(const knPoint* a, const knPoint* b, const knPoint* c)
{
    knDVec3 u = knDSub(ToVector(b), ToVector(a)), v = knDSub(ToVector(c), ToVector(b));
    knDVec3 w = knDSub(ToVector(a), ToVector(c));
    return knDDot(u, u) + knDDot(v, v) + knDDot(w, w);
}

static double TriangleCost(const knPoint* a, const knPoint* b, const knPoint* c)
{
    double area = knDLength(AreaVector(a, b, c)), edges = SquaredEdges(a, b, c);
    // far above rounding there is no need to ask the exact test
    bool flat = area < 1e-12 * edges && knIsCollinear(a, b, c);
    return flat ? FLAT_PENALTY * edges : area + SHAPE_WEIGHT * edges;
}

// Barequet and Sharir: the best triangulation of points[i .. j] from the best of its parts.
static void FillTable(const knPoint* points, size_t n, const bool* forbidden, double* cost,
                      uint32_t* apex)
{
    for (size_t span = 2; span < n; ++span)
    {
        for (size_t i = 0; i + span < n; ++i)
        {
            size_t j = i + span;
            double best = INFINITY;
            bool closed = span == n - 1; // the last edge of the loop itself
            for (size_t k = i + 1; k < j && (closed || !forbidden[i * n + j]); ++k)
            {
                double parts = cost[i * n + k] + cost[k * n + j];
                if (!(parts < best))
                {
                    continue;
                }
                double total = parts + TriangleCost(&points[i], &points[k], &points[j]);
                if (total < best)
                {
                    best = total;
                    apex[i * n + j] = (uint32_t)k;
                }
            }
            cost[i * n + j] = best;
        }
    }
}

static void ReadTable(size_t n, const uint32_t* apex, uint32_t* stack, uint32_t* triangles)
{
    size_t top = 0, count = 0;
    stack[top++] = 0;
    stack[top++] = (uint32_t)(n - 1);
    while (top > 0)
    {
        uint32_t j = stack[--top], i = stack[--top];
        if (j - i < 2)
        {
            continue;
        }
        uint32_t k = apex[i * n + j];
        triangles[count++] = i;
        triangles[count++] = k;
        triangles[count++] = j;
        stack[top++] = i;
        stack[top++] = k;
        stack[top++] = k;
        stack[top++] = j;
    }
}

static knResult FillOptimally(const knAllocator* allocator, const knPoint* points, size_t n,
                              const bool* forbidden, uint32_t* triangles, bool* done)
{
    double* cost = knTake(allocator, n * n, sizeof(double));
    uint32_t* apex = knTake(allocator, n * n, sizeof(uint32_t));
    uint32_t* stack = knTake(allocator, 4 * n, sizeof(uint32_t));
    bool ok = cost && apex && stack;
    if (ok)
    {
        FillTable(points, n, forbidden, cost, apex);
        *done = isfinite(cost[n - 1]);
        if (*done)
        {
            ReadTable(n, apex, stack, triangles);
        }
    }
    knGive(allocator, cost, n * n, sizeof(double));
    knGive(allocator, apex, n * n, sizeof(uint32_t));
    knGive(allocator, stack, 4 * n, sizeof(uint32_t));
    return ok ? kn_success : kn_errorMemory;
}

// A loop that is being cut down ear by ear.
typedef struct EarLoop
{
    const knPoint* points;
    const bool* forbidden;
    size_t count;
    uint32_t* next;
    uint32_t* previous; // itself when cut off
    double* cost;
    knDVec3 normal;
} EarLoop;

static void SetCost(EarLoop* e, uint32_t i)
{
    uint32_t a = e->previous[i], b = e->next[i];
    const knPoint *p = &e->points[a], *q = &e->points[i], *r = &e->points[b];
    double cost = TriangleCost(p, q, r);
    if (knDDot(AreaVector(p, q, r), e->normal) < 0.0)
    {
        cost += FOLD_PENALTY * SquaredEdges(p, q, r);
    }
    e->cost[i] = e->forbidden[a * e->count + b] ? (double)INFINITY : cost;
}

// Is another point of the loop over the ear, seen along the normal?
static bool EarIsCovered(const EarLoop* e, uint32_t i)
{
    uint32_t a = e->previous[i], b = e->next[i];
    for (uint32_t p = e->next[b]; p != a; p = e->next[p])
    {
        const knPoint* x = &e->points[p];
        if (knDDot(AreaVector(&e->points[a], &e->points[i], x), e->normal) > 0.0 &&
            knDDot(AreaVector(&e->points[i], &e->points[b], x), e->normal) > 0.0 &&
            knDDot(AreaVector(&e->points[b], &e->points[a], x), e->normal) > 0.0)
        {
            return true;
        }
    }
    return false;
}

static uint32_t CheapestEar(EarLoop* e)
{
    for (;;)
    {
        uint32_t best = KN_NONE;
        for (uint32_t i = 0; i < e->count; ++i)
        {
            bool there = e->next[i] != i && isfinite(e->cost[i]);
            if (there && (best == KN_NONE || e->cost[i] < e->cost[best]))
            {
                best = i;
            }
        }
        double penalty = best == KN_NONE ? 0.0 : FOLD_PENALTY;
        // a covered ear pays once and waits for its turn
        if (best == KN_NONE || e->cost[best] >= penalty || !EarIsCovered(e, best))
        {
            return best;
        }
        e->cost[best] += FOLD_PENALTY;
    }
}

static bool CutEars(EarLoop* e, uint32_t* triangles)
{
    size_t left = e->count, count = 0;
    while (left > 2)
    {
        uint32_t i = CheapestEar(e);
        if (i == KN_NONE)
        {
            return false;
        }
        uint32_t a = e->previous[i], b = e->next[i];
        // ascending up to rotation, as the loop runs
        triangles[count++] = a;
        triangles[count++] = i;
        triangles[count++] = b;
        e->next[a] = b;
        e->previous[b] = a;
        e->next[i] = i;
        left -= 1;
        // the last triangle's diagonal is an edge of the loop
        if (left > 3)
        {
            SetCost(e, a);
            SetCost(e, b);
        }
        else
        {
            e->cost[a] = e->cost[b] = e->cost[e->next[b]] = 0.0;
        }
    }
    return true;
}

static void InitEars(EarLoop* e)
{
    uint32_t n = (uint32_t)e->count;
    for (uint32_t i = 0; i < n; ++i)
    {
        e->next[i] = (i + 1) % n;
        e->previous[i] = (i + n - 1) % n;
        e->normal =
            knDAdd(e->normal, AreaVector(&e->points[0], &e->points[i], &e->points[(i + 1) % n]));
    }
    for (uint32_t i = 0; i < n; ++i)
    {
        SetCost(e, i);
    }
}

static knResult FillByEars(const knAllocator* allocator, const knPoint* points, size_t n,
                           const bool* forbidden, uint32_t* triangles, bool* done)
{
    EarLoop e = {.points = points,
                 .forbidden = forbidden,
                 .count = n,
                 .next = knTake(allocator, n, sizeof(uint32_t)),
                 .previous = knTake(allocator, n, sizeof(uint32_t)),
                 .cost = knTake(allocator, n, sizeof(double))};
    bool ok = e.next && e.previous && e.cost;
    if (ok)
    {
        InitEars(&e);
        *done = CutEars(&e, triangles);
    }
    knGive(allocator, e.next, n, sizeof(uint32_t));
    knGive(allocator, e.previous, n, sizeof(uint32_t));
    knGive(allocator, e.cost, n, sizeof(double));
    return ok ? kn_success : kn_errorMemory;
}

knResult knTriangulateLoop(const knAllocator* allocator, const knPoint* points, size_t count,
                           const bool* forbidden, uint32_t* triangles, bool* done)
{
    return count <= MAX_OPTIMAL_EDGES
               ? FillOptimally(allocator, points, count, forbidden, triangles, done)
               : FillByEars(allocator, points, count, forbidden, triangles, done);
}
