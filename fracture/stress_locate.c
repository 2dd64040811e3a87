// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

static float Clamp01(float x)
{
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

// Share of the way from a to b that is nearest to p.
static float NearestShare(knVec3 p, knVec3 a, knVec3 b)
{
    knVec3 u = knSub(b, a);
    float length2 = knLengthSquared(u);
    return length2 > 0.0f ? Clamp01(knDot(knSub(p, a), u) / length2) : 0.0f;
}

static knVec3 Blend(const knVec3 c[3], const float w[3])
{
    return knAddScaled(knAddScaled(knScale(w[0], c[0]), w[1], c[1]), w[2], c[2]);
}

// Weights of the point inside, when there is one.
static bool InsideWeights(knVec3 p, const knVec3 c[3], float w[3])
{
    knVec3 n = knCross(knSub(c[1], c[0]), knSub(c[2], c[0]));
    float nn = knLengthSquared(n);
    if (!(nn > 0.0f))
    {
        return false;
    }
    w[0] = knDot(n, knCross(knSub(c[2], c[1]), knSub(p, c[1]))) / nn;
    w[1] = knDot(n, knCross(knSub(c[0], c[2]), knSub(p, c[2]))) / nn;
    w[2] = 1.0f - w[0] - w[1];
    return w[0] >= 0.0f && w[1] >= 0.0f && w[2] >= 0.0f;
}

static float NearestOnTriangle(knVec3 p, const knVec3 c[3], float w[3])
{
    if (InsideWeights(p, c, w))
    {
        return knDistance(p, Blend(c, w));
    }
    float best = FLT_MAX;
    for (int i = 0; i < 3; ++i)
    {
        int k = (i + 1) % 3;
        float share = NearestShare(p, c[i], c[k]);
        float distance = knDistance(p, knLerp(c[i], c[k], share));
        if (distance < best)
        {
            best = distance;
            w[i] = 1.0f - share;
            w[k] = share;
            w[3 - i - k] = 0.0f;
        }
    }
    return best;
}

SurfacePoint knStress_Locate(const knTetMesh* mesh, knVec3 point)
{
    SurfacePoint found = {{mesh->tets[0].v[0], mesh->tets[0].v[1], mesh->tets[0].v[2]},
                          {1.0f, 0.0f, 0.0f}};
    float best = FLT_MAX;
    for (uint32_t i = 0; i < mesh->boundaryFaceCount; ++i)
    {
        knTriangle t = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[i]);
        const knVec3 c[3] = {mesh->nodes[t.v[0]], mesh->nodes[t.v[1]], mesh->nodes[t.v[2]]};
        knBox box = {knMin(c[0], knMin(c[1], c[2])), knMax(c[0], knMax(c[1], c[2]))};
        float w[3];
        float distance = knBox_Distance(box, point) < best ? NearestOnTriangle(point, c, w) : best;
        if (distance < best)
        {
            best = distance;
            found =
                (SurfacePoint){.nodes = {t.v[0], t.v[1], t.v[2]}, .weights = {w[0], w[1], w[2]}};
        }
    }
    return found;
}
