// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#include <simde/x86/sse2.h>

// Where a front starts: the four corners of a crossed tetrahedron against its crack face at once.

typedef simde__m128 F4;

static F4 Set(float x)
{
    return simde_mm_set1_ps(x);
}

static F4 Add(F4 a, F4 b)
{
    return simde_mm_add_ps(a, b);
}

static F4 Mul(F4 a, F4 b)
{
    return simde_mm_mul_ps(a, b);
}

static F4 Choose(F4 mask, F4 yes, F4 no)
{
    return simde_mm_or_ps(simde_mm_and_ps(mask, yes), simde_mm_andnot_ps(mask, no));
}

typedef struct V4
{
    F4 x, y, z;
} V4;

static F4 DotBy(V4 a, knVec3 b)
{
    return Add(Add(Mul(a.x, Set(b.x)), Mul(a.y, Set(b.y))), Mul(a.z, Set(b.z)));
}

// The point as seen from the four corners.
static V4 Seen(const V4* corners, knVec3 p)
{
    return (V4){simde_mm_sub_ps(Set(p.x), corners->x), simde_mm_sub_ps(Set(p.y), corners->y),
                simde_mm_sub_ps(Set(p.z), corners->z)};
}

// The nearest points so far.
typedef struct Best
{
    V4 at;
    F4 distance2;
    F4 beyond; // lanes whose foot lies outside the face
} Best;

static void HitEdge(Best* best, const V4* corners, knVec3 a, knVec3 b, knVec3 normal)
{
    knVec3 e = knSub(b, a);
    float ee = knLengthSquared(e);
    V4 q = Seen(corners, a);
    F4 side = DotBy(q, knCross(e, normal));
    F4 t = Mul(DotBy(q, e), Set(ee > 0.0f ? -1.0f / ee : 0.0f));
    t = simde_mm_min_ps(simde_mm_max_ps(t, simde_mm_setzero_ps()), Set(1.0f));
    V4 c = {Add(q.x, Mul(t, Set(e.x))), Add(q.y, Mul(t, Set(e.y))), Add(q.z, Mul(t, Set(e.z)))};
    F4 d2 = Add(Add(Mul(c.x, c.x), Mul(c.y, c.y)), Mul(c.z, c.z));
    F4 nearer = simde_mm_cmplt_ps(d2, best->distance2);
    best->at.x = Choose(nearer, c.x, best->at.x);
    best->at.y = Choose(nearer, c.y, best->at.y);
    best->at.z = Choose(nearer, c.z, best->at.z);
    best->distance2 = simde_mm_min_ps(d2, best->distance2);
    best->beyond = simde_mm_or_ps(best->beyond, simde_mm_cmplt_ps(side, simde_mm_setzero_ps()));
}

// Where the foot lies within the face, it is nearest.
static void HitPlane(Best* best, const V4* corners, knVec3 a, knVec3 normal)
{
    F4 h = DotBy(Seen(corners, a), normal);
    best->at.x = Choose(best->beyond, best->at.x, Mul(h, Set(normal.x)));
    best->at.y = Choose(best->beyond, best->at.y, Mul(h, Set(normal.y)));
    best->at.z = Choose(best->beyond, best->at.z, Mul(h, Set(normal.z)));
    best->distance2 = Choose(best->beyond, best->distance2, Mul(h, h));
}

void knNearestOnFace4(const knTetMesh* mesh, uint32_t tet, const knCrackFace* face,
                      knNearest4* nearest)
{
    const uint32_t* v = mesh->tets[tet].v;
    const knVec3 *n0 = &mesh->nodes[v[0]], *n1 = &mesh->nodes[v[1]];
    const knVec3 *n2 = &mesh->nodes[v[2]], *n3 = &mesh->nodes[v[3]];
    V4 corners = {simde_mm_setr_ps(n0->x, n1->x, n2->x, n3->x),
                  simde_mm_setr_ps(n0->y, n1->y, n2->y, n3->y),
                  simde_mm_setr_ps(n0->z, n1->z, n2->z, n3->z)};
    knPolygon polygon;
    knPreparePolygon(&polygon, face);
    bool flat = !(polygon.size2 > 0.0);
    double scale = flat ? 0.0 : 1.0 / sqrt(polygon.size2);
    knVec3 normal = knToFloat(knDScale(scale, polygon.normal));
    F4 zero = simde_mm_setzero_ps();
    // a face without area is its edges
    Best best = {{zero, zero, zero}, Set(INFINITY), flat ? simde_mm_cmpeq_ps(zero, zero) : zero};
    for (int i = 0; i < face->count; ++i)
    {
        int next = i + 1 < face->count ? i + 1 : 0;
        HitEdge(&best, &corners, face->points[i], face->points[next], normal);
    }
    HitPlane(&best, &corners, face->points[0], normal);
    simde_mm_storeu_ps(nearest->x, best.at.x);
    simde_mm_storeu_ps(nearest->y, best.at.y);
    simde_mm_storeu_ps(nearest->z, best.at.z);
    simde_mm_storeu_ps(nearest->distance2, best.distance2);
    nearest->normal = normal;
}
