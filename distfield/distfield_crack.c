// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

static bool HitTriangle(knDVec3 p, knDVec3 a, knDVec3 b, knDVec3 c, knFaceHit* hit)
{
    knDVec3 q = knClosestOnTriangle(p, a, b, c);
    knDVec3 d = knDSub(p, q);
    double distance2 = knDDot(d, d);
    if (!(distance2 < hit->distance2))
    {
        return false;
    }
    hit->distance2 = distance2;
    hit->point = q;
    hit->normal = knDCross(knDSub(b, a), knDSub(c, a));
    return true;
}

bool knHitRegion(const knTetMesh* mesh, uint32_t tet, const knTetRegion* region, knDVec3 p,
                 bool original, knFaceHit* hit)
{
    bool found = false;
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        bool isCrack = face->source >= 4;
        if (!isCrack && !(original && mesh->neighbors[tet].t[face->source] == KN_NONE))
        {
            continue;
        }
        knDVec3 a = knToDouble(region->vertices[face->loop[0]].position);
        for (int i = 1; i + 1 < face->count; ++i)
        {
            knDVec3 b = knToDouble(region->vertices[face->loop[i]].position);
            knDVec3 c = knToDouble(region->vertices[face->loop[i + 1]].position);
            if (HitTriangle(p, a, b, c, hit))
            {
                hit->isCrack = isCrack;
                found = true;
            }
        }
    }
    return found;
}

static bool HitWhole(const knTetMesh* mesh, uint32_t tet, knDVec3 p, knFaceHit* hit)
{
    bool found = false;
    for (uint32_t i = 0; i < 4; ++i)
    {
        if (mesh->neighbors[tet].t[i] == KN_NONE)
        {
            knTriangle t = knTetMesh_BoundaryTriangle(mesh, 4 * tet + i);
            if (HitTriangle(p, knToDouble(mesh->nodes[t.v[0]]), knToDouble(mesh->nodes[t.v[1]]),
                            knToDouble(mesh->nodes[t.v[2]]), hit))
            {
                hit->isCrack = false;
                found = true;
            }
        }
    }
    return found;
}

static bool HasBoundary(const knTetMesh* mesh, uint32_t tet)
{
    const uint32_t* t = mesh->neighbors[tet].t;
    return t[0] == KN_NONE || t[1] == KN_NONE || t[2] == KN_NONE || t[3] == KN_NONE;
}

// Whether p is nearer than the root of `limit2` to a plane that bounds the part of the mask: much
// cheaper than the part itself.
static bool NearPlanes(const knTetMesh* mesh, const knTetCut* cut, uint32_t tet, uint8_t mask,
                       knDVec3 p, double limit2)
{
    const uint32_t* v = mesh->tets[tet].v;
    knDVec3 o = knToDouble(mesh->nodes[v[0]]), q = knDSub(p, o);
    knDVec3 e1 = knDSub(knToDouble(mesh->nodes[v[1]]), o);
    knDVec3 e2 = knDSub(knToDouble(mesh->nodes[v[2]]), o);
    knDVec3 e3 = knDSub(knToDouble(mesh->nodes[v[3]]), o);
    knDVec3 n1 = knDCross(e2, e3), n2 = knDCross(e3, e1), n3 = knDCross(e1, e2);
    double volume = knDDot(e1, n1);
    for (int i = 0; i < cut->planeCount; ++i)
    {
        if ((mask & ~cut->region[i]) != 0)
        {
            continue;
        }
        double phi0 = (double)cut->phi[i][0];
        knDVec3 g = knDScale((double)cut->phi[i][1] - phi0, n1);
        g = knDAdd(g, knDScale((double)cut->phi[i][2] - phi0, n2));
        g = knDAdd(g, knDScale((double)cut->phi[i][3] - phi0, n3));
        double value = phi0 * volume + knDDot(g, q);
        if (0.9999 * value * value <= limit2 * knDDot(g, g))
        {
            return true;
        }
    }
    return false;
}

// The nearest point of a convex polygon. Seen from p, which is the origin here; an outside point is
// nearest to an edge that it lies beyond.
static bool HitPolygon(const knCrackFace* face, knDVec3 p, knFaceHit* hit)
{
    knDVec3 q[KN_MAX_REGION_LOOP], n = {0.0, 0.0, 0.0};
    q[0] = knDSub(knToDouble(face->points[0]), p);
    for (int i = 1; i < face->count; ++i)
    {
        q[i] = knDSub(knToDouble(face->points[i]), p);
        n = i > 1 ? knDAdd(n, knDCross(knDSub(q[i - 1], q[0]), knDSub(q[i], q[0]))) : n;
    }
    double nn = knDDot(n, n), h = knDDot(n, q[0]);
    if (h * h >= hit->distance2 * nn && nn > 0.0)
    {
        return false;
    }
    knDVec3 nearest = nn > 0.0 ? knDScale(h / nn, n) : q[0];
    double distance2 = nn > 0.0 ? h * h / nn : DBL_MAX;
    bool beyond = false;
    for (int i = 0; i < face->count; ++i)
    {
        knDVec3 a = q[i], e = knDSub(q[i + 1 < face->count ? i + 1 : 0], a);
        if (nn > 0.0 && knDDot(knDCross(e, n), a) >= 0.0)
        {
            continue;
        }
        double t = -knDDot(a, e), ee = knDDot(e, e);
        t = t > 0.0 && ee > 0.0 ? knLower(t / ee, 1.0) : 0.0;
        knDVec3 c = knDAdd(a, knDScale(t, e));
        double d2 = knDDot(c, c);
        nearest = !beyond || d2 < distance2 ? c : nearest;
        distance2 = !beyond || d2 < distance2 ? d2 : distance2;
        beyond = true;
    }
    if (!(distance2 < hit->distance2))
    {
        return false;
    }
    *hit = (knFaceHit){distance2, knDAdd(p, nearest), n, true};
    return true;
}

bool knHitCracks(const knCrackFaces* cracks, knDVec3 p, knFaceHit* hit)
{
    bool found = false;
    for (uint32_t f = 0; f < cracks->count; ++f)
    {
        found = HitPolygon(&cracks->faces[f], p, hit) || found;
    }
    return found;
}

bool knHitTet(const knFragmentField* field, uint32_t tet, uint32_t fragment, knDVec3 p,
              bool original, knFaceHit* hit)
{
    const knTetMesh* mesh = field->mesh;
    uint8_t mask = knCutStore_Mask(field->cuts, mesh, tet, fragment);
    if (mask == 0)
    {
        return false;
    }
    if (field->cuts->tetCuts[tet] == KN_NONE)
    {
        return original && HitWhole(mesh, tet, p, hit);
    }
    const knTetCut* cut = &field->cuts->cuts[field->cuts->tetCuts[tet]];
    if (!(original && HasBoundary(mesh, tet)))
    {
        // several planes make a part dear: look whether one is near enough first
        if (cut->planeCount > 1 && !NearPlanes(mesh, cut, tet, mask, p, hit->distance2))
        {
            return false;
        }
        knCrackFaces cracks;
        knCutStore_CrackFaces(field->cuts, mesh, tet, mask, &cracks);
        return knHitCracks(&cracks, p, hit);
    }
    knTetRegion region;
    knCutStore_Region(field->cuts, mesh, tet, mask, &region);
    return knHitRegion(mesh, tet, &region, p, original, hit);
}
