// SPDX-License-Identifier: Zlib
#include "shape_hull_internal.h"

#include <string.h>

static knResult CheckPoints(const knVec3* points, const float* radii, uint32_t count)
{
    if (!points || count == 0 || count > 16384)
    {
        return knFail(kn_errorArgument, "hull: %u points: from 1 to 16384", count);
    }
    if (radii && count > KN_MAX_ROUND_POINTS)
    {
        return knFail(kn_errorLimit, "hull: %u spheres: at most %d", count, KN_MAX_ROUND_POINTS);
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        if (!knIsFinite(points[i]) || (radii && !(radii[i] >= 0.0f && radii[i] <= FLT_MAX)))
        {
            return knFail(kn_errorArgument, "hull: point %u is not finite or its radius negative",
                          i);
        }
    }
    return kn_success;
}

static knResult Allocate(knHull* h, const knVec3* points, const float* radii, uint32_t count,
                         const knAllocator* allocator)
{
    h->allocator = allocator ? *allocator : knDefaultAllocator();
    h->pointCapacity = count;
    h->faceCapacity = radii ? (size_t)count * count + 8 : 2 * (size_t)count + 8;
    h->points = knAllocate(&h->allocator, count, sizeof(knVec3));
    h->radii = radii ? knAllocate(&h->allocator, count, sizeof(float)) : NULL;
    h->triangles = knAllocate(&h->allocator, h->faceCapacity, sizeof(knTriangle));
    h->planes = knAllocate(&h->allocator, h->faceCapacity, sizeof(knHullPlane));
    h->edges = knAllocate(&h->allocator, 2 * h->faceCapacity, sizeof(knEdge));
    if (!h->points || (radii && !h->radii) || !h->triangles || !h->planes || !h->edges)
    {
        return kn_errorMemory;
    }
    memcpy(h->points, points, count * sizeof(knVec3));
    if (radii)
    {
        memcpy(h->radii, radii, count * sizeof(float));
    }
    h->pointCount = count;
    return kn_success;
}

static void Bound(knHull* h)
{
    h->box = knEmptyBox();
    for (uint32_t i = 0; i < h->pointCount; ++i)
    {
        knBox ball = {h->points[i], h->points[i]};
        h->box = knBox_Union(h->box, knBox_Expand(ball, h->radii ? h->radii[i] : 0.0f));
    }
}

knResult knCreateHull(knHull* hull, const knVec3* points, const float* radii, uint32_t count,
                      const knAllocator* allocator)
{
    knResult result = hull ? CheckPoints(points, radii, count)
                           : knFail(kn_errorArgument, "knCreateHull: the hull is null");
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knHull made = {0};
    result = Allocate(&made, points, radii, count, allocator);
    size_t workCount = 3 * made.faceCapacity;
    knEdge* work =
        result == kn_success ? knAllocate(&made.allocator, workCount, sizeof *work) : NULL;
    if (!work)
    {
        knDestroyHull(&made);
        return kn_errorMemory;
    }
    if (radii)
    {
        knHull_WrapRound(&made);
    }
    else
    {
        knHull_Wrap(&made, work);
    }
    Bound(&made);
    knRelease(&made.allocator, work, workCount, sizeof *work);
    *hull = made;
    return kn_success;
}

void knDestroyHull(knHull* h)
{
    if (h && h->pointCapacity > 0)
    {
        knRelease(&h->allocator, h->points, h->pointCapacity, sizeof(knVec3));
        knRelease(&h->allocator, h->radii, h->pointCapacity, sizeof(float));
        knRelease(&h->allocator, h->triangles, h->faceCapacity, sizeof(knTriangle));
        knRelease(&h->allocator, h->planes, h->faceCapacity, sizeof(knHullPlane));
        knRelease(&h->allocator, h->edges, 2 * h->faceCapacity, sizeof(knEdge));
        *h = (knHull){0};
    }
}

knVec3 knHull_Support(const knHull* hull, knVec3 d)
{
    float length = hull->radii ? knLength(d) : 0.0f;
    uint32_t best = 0;
    float furthest = -FLT_MAX;
    for (uint32_t i = 0; i < hull->pointCount; ++i)
    {
        float tried = knDot(hull->points[i], d) + (hull->radii ? hull->radii[i] * length : 0.0f);
        best = tried > furthest ? i : best;
        furthest = tried > furthest ? tried : furthest;
    }
    float radius = hull->radii ? hull->radii[best] : 0.0f;
    return knAddScaled(hull->points[best], radius, knNormalize(d));
}

// The nearest point of the hull's surface, or of what there is of it.
static knVec3 ClosestOnHull(const knHull* hull, knVec3 p)
{
    knVec3 best = hull->points[0];
    float distance = FLT_MAX;
    for (uint32_t i = 0; i < hull->triangleCount; ++i)
    {
        // an unseen face is behind a nearer one
        const knHullPlane* plane = &hull->planes[i];
        float height = knDot(plane->normal, p) - plane->offset;
        if (height < 0.0f || height >= distance)
        {
            continue;
        }
        const uint32_t* v = hull->triangles[i].v;
        knVec3 corners[3] = {hull->points[v[0]], hull->points[v[1]], hull->points[v[2]]};
        float weights[3];
        knVec3 q = knNearestOnTriangle(p, corners, weights);
        float tried = knDistance(p, q);
        best = tried < distance ? q : best;
        distance = tried < distance ? tried : distance;
    }
    for (uint32_t i = 0; i < hull->edgeCount && hull->triangleCount == 0; ++i)
    {
        const uint32_t* v = hull->edges[i].v;
        best = knNearestOnSegment(p, hull->points[v[0]], hull->points[v[1]]);
    }
    return best;
}

static float SharpDistance(const knHull* hull, knVec3 p, knVec3* gradient)
{
    float inside = -FLT_MAX;
    knVec3 normal = {0.0f, 1.0f, 0.0f};
    for (uint32_t i = 0; i < hull->planeCount; ++i)
    {
        float height = knDot(hull->planes[i].normal, p) - hull->planes[i].offset;
        normal = height > inside ? hull->planes[i].normal : normal;
        inside = height > inside ? height : inside;
    }
    *gradient = normal;
    if (inside < 0.0f && hull->planeCount > 0)
    {
        return inside;
    }
    knVec3 d = knSub(p, ClosestOnHull(hull, p));
    float length = knLength(d);
    if (length > FLT_MIN)
    {
        *gradient = knScale(1.0f / length, d);
    }
    return length;
}

// How far a point lies outside the plane at a right angle to d that touches the hull.
static void Try(const knHull* hull, knVec3 p, knVec3 d, float* best, knVec3* gradient)
{
    float nearest = FLT_MAX;
    for (uint32_t i = 0; i < hull->pointCount; ++i)
    {
        nearest = fminf(nearest, knDot(d, knSub(p, hull->points[i])) - hull->radii[i]);
    }
    *gradient = nearest > *best ? d : *gradient;
    *best = nearest > *best ? nearest : *best;
}

// Along the cone of directions in which two spheres reach equally far, the one nearest to p.
static bool TouchesBoth(const knHull* hull, uint32_t i, uint32_t k, knVec3 p, knVec3* d)
{
    knVec3 axis = knSub(hull->points[k], hull->points[i]);
    float length = knLength(axis), difference = hull->radii[i] - hull->radii[k];
    if (!(length > fabsf(difference)))
    {
        return false;
    }
    knVec3 u = knScale(1.0f / length, axis), q = knSub(p, hull->points[i]);
    knVec3 aside = knNormalize(knAddScaled(q, -knDot(q, u), u));
    aside = knLengthSquared(aside) > 0.5f ? aside : knPerpendicular(u);
    float a = difference / length;
    *d = knAddScaled(knScale(a, u), sqrtf(1.0f - a * a), aside);
    return true;
}

// The signed distance to a convex set is the largest over directions d of d . p minus the set's
// reach along d. Where it is largest, one, two or three spheres reach furthest: so few directions
// have to be tried.
static float RoundDistance(const knHull* hull, knVec3 p, knVec3* gradient)
{
    float best = -FLT_MAX;
    *gradient = knMakeVec3(0.0f, 1.0f, 0.0f);
    for (uint32_t i = 0; i < hull->pointCount; ++i)
    {
        knVec3 d = knNormalize(knSub(p, hull->points[i]));
        Try(hull, p, knLengthSquared(d) > 0.5f ? d : *gradient, &best, gradient);
    }
    for (uint32_t i = 0; i < hull->edgeCount; ++i)
    {
        knVec3 d;
        if (TouchesBoth(hull, hull->edges[i].v[0], hull->edges[i].v[1], p, &d))
        {
            Try(hull, p, d, &best, gradient);
        }
    }
    for (uint32_t i = 0; i < hull->planeCount; ++i)
    {
        float height = knDot(hull->planes[i].normal, p) - hull->planes[i].offset;
        *gradient = height > best ? hull->planes[i].normal : *gradient;
        best = height > best ? height : best;
    }
    return best;
}

float knHull_Distance(const knHull* hull, knVec3 p, knVec3* gradient)
{
    return hull->radii ? RoundDistance(hull, p, gradient) : SharpDistance(hull, p, gradient);
}
