// SPDX-License-Identifier: Zlib
#include "break.h"

static knVec3 OnSegment(knVec3 p, knVec3 a, knVec3 b)
{
    knVec3 ab = knSub(b, a);
    float length = knLengthSquared(ab);
    float t = length > 0.0f ? knDot(knSub(p, a), ab) / length : 0.0f;
    return knLerp(a, b, fminf(fmaxf(t, 0.0f), 1.0f));
}

static knVec3 OnTriangle(knVec3 p, const knVec3 v[3])
{
    knVec3 normal = knCross(knSub(v[1], v[0]), knSub(v[2], v[0]));
    float size = knLengthSquared(normal);
    bool inside = size > 0.0f;
    knVec3 best = v[0];
    float least = FLT_MAX;
    for (int i = 0; i < 3; ++i)
    {
        knVec3 a = v[i];
        knVec3 b = v[(i + 1) % 3];
        inside &= knDot(knCross(knSub(b, a), knSub(p, a)), normal) >= 0.0f;
        knVec3 q = OnSegment(p, a, b);
        float d = knLengthSquared(knSub(p, q));
        best = d < least ? q : best;
        least = fminf(d, least);
    }
    return inside ? knAddScaled(p, -knDot(knSub(p, v[0]), normal) / size, normal) : best;
}

static void Corners(const knSurfaceMesh* s, uint32_t triangle, knVec3 v[3])
{
    for (int k = 0; k < 3; ++k)
    {
        v[k] = s->positions[s->triangles[triangle].v[k]];
    }
}

static knVec3 Inwards(const knVec3 v[3])
{
    return knNormalize(knCross(knSub(v[2], v[0]), knSub(v[1], v[0])));
}

knSurfacePlace knNearestPlace(const knAsset* asset, knVec3 p)
{
    const knSurfaceMesh* s = knAsset_Surface(asset);
    knSurfacePlace best = {.distance = FLT_MAX};
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 v[3];
        Corners(s, i, v);
        knVec3 q = OnTriangle(p, v);
        float d = knDistance(p, q);
        if (d < best.distance)
        {
            best = (knSurfacePlace){q, Inwards(v), d};
        }
    }
    return best;
}

// Whether the vertical line through p meets the triangle, and how high.
static bool IsAbove(knVec3 p, const knVec3 v[3], float* height)
{
    float total = 0.0f;
    float sum = 0.0f;
    bool positive = true;
    bool negative = true;
    for (int i = 0; i < 3; ++i)
    {
        knVec3 a = knSub(v[(i + 1) % 3], p);
        knVec3 b = knSub(v[(i + 2) % 3], p);
        float weight = a.x * b.z - a.z * b.x;
        positive &= weight >= 0.0f;
        negative &= weight <= 0.0f;
        total += weight;
        sum += weight * v[i].y;
    }
    *height = total != 0.0f ? sum / total : 0.0f;
    return (positive || negative) && total != 0.0f;
}

// A point counts less the further it is from the line through the centre of mass.
static float TopScore(knVec3 p, knVec3 center)
{
    float x = p.x - center.x;
    float z = p.z - center.z;
    return p.y - 4.0f * sqrtf(x * x + z * z);
}

knSurfacePlace knTopPlace(const knAsset* asset)
{
    const knSurfaceMesh* s = knAsset_Surface(asset);
    knVec3 center = knToFloat(knAsset_Info(asset)->center);
    knVec3 best = s->positions[0];
    for (uint32_t i = 0; i < s->positionCount; ++i)
    {
        best = TopScore(s->positions[i], center) > TopScore(best, center) ? s->positions[i] : best;
    }
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 v[3];
        Corners(s, i, v);
        knVec3 p = center;
        if (IsAbove(center, v, &p.y) && p.y > TopScore(best, center))
        {
            best = p;
        }
    }
    knSurfacePlace place = knNearestPlace(asset, best);
    place.distance = 0.0f;
    return place;
}
