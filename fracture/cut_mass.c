// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

static bool FaceHolds(const knRegionFace* face, uint8_t vertex)
{
    bool holds = false;
    for (int i = 0; i < face->count; ++i)
    {
        holds |= face->loop[i] == vertex;
    }
    return holds;
}

void knCut_AddRegionMoments(knMoments* m, const knTetRegion* region, const knVec3 corners[4],
                            knDVec3 origin)
{
    // from the weights: the parts of a tetrahedron then fill it to the last bits
    knDVec3 points[KN_MAX_REGION_VERTICES];
    knDVec3 base[4];
    for (int i = 0; i < 4; ++i)
    {
        base[i] = knDSub(knToDouble(corners[i]), origin);
    }
    for (int i = 0; i < region->vertexCount; ++i)
    {
        const double* w = region->vertices[i].weights;
        points[i] = knDAdd(knDAdd(knDScale(w[0], base[0]), knDScale(w[1], base[1])),
                           knDAdd(knDScale(w[2], base[2]), knDScale(w[3], base[3])));
    }
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        for (int i = 1; i + 1 < face->count && !FaceHolds(face, 0); ++i)
        {
            // apex behind the face: positive volume for a face that turns outwards
            const knDVec3 r[4] = {points[0], points[face->loop[0]], points[face->loop[i]],
                                  points[face->loop[i + 1]]};
            knMoments_AddTet(m, r);
        }
    }
}

knDVec3 knCut_FaceArea2(const knTetRegion* region, const knRegionFace* face)
{
    knDVec3 a = knToDouble(region->vertices[face->loop[0]].position);
    knDVec3 sum = {0.0, 0.0, 0.0};
    knDVec3 last = knDSub(knToDouble(region->vertices[face->loop[1]].position), a);
    for (int i = 2; i < face->count; ++i)
    {
        knDVec3 next = knDSub(knToDouble(region->vertices[face->loop[i]].position), a);
        sum = knDAdd(sum, knDCross(last, next));
        last = next;
    }
    return sum;
}

static double Larger(double a, double b)
{
    return a > b ? a : b;
}

// Squared, so that no root is needed.
static double TriangleQuality(knDVec3 a, knDVec3 b, knDVec3 c)
{
    knDVec3 u = knDSub(b, a);
    knDVec3 v = knDSub(c, a);
    knDVec3 w = knDSub(c, b);
    double longest = Larger(knDDot(u, u), Larger(knDDot(v, v), knDDot(w, w)));
    knDVec3 n = knDCross(u, v);
    return longest > 0.0 ? knDDot(n, n) / (longest * longest) : 0.0;
}

int knCut_BestFan(const knTetRegion* region, const knRegionFace* face, double* quality)
{
    knDVec3 p[KN_MAX_REGION_LOOP];
    for (int i = 0; i < face->count; ++i)
    {
        p[i] = knToDouble(region->vertices[face->loop[i]].position);
    }
    int best = 0;
    *quality = -1.0;
    // the two fans of a quad repeat, a triangle has one
    int candidateCount = face->count == 3 ? 1 : face->count == 4 ? 2 : face->count;
    for (int apex = 0; apex < candidateCount; ++apex)
    {
        double worst = 1.0;
        for (int i = 1; i + 1 < face->count; ++i)
        {
            double q = TriangleQuality(p[apex], p[(apex + i) % face->count],
                                       p[(apex + i + 1) % face->count]);
            worst = q < worst ? q : worst;
        }
        if (worst > *quality)
        {
            *quality = worst;
            best = apex;
        }
    }
    return best;
}
