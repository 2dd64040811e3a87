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
    hit->isFound = true;
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

void knPreparePolygon(knPolygon* polygon, const knCrackFace* face)
{
    polygon->count = face->count;
    knDVec3 n = {0.0, 0.0, 0.0}, o = knToDouble(face->points[0]);
    polygon->points[0] = o;
    for (int i = 1; i < face->count; ++i)
    {
        knDVec3* q = polygon->points + i;
        *q = knToDouble(face->points[i]);
        n = i > 1 ? knDAdd(n, knDCross(knDSub(q[-1], o), knDSub(*q, o))) : n;
    }
    polygon->normal = n;
    polygon->size2 = knDDot(n, n);
}

// A point whose foot lies outside is nearest to an edge that it lies beyond.
bool knHitPolygon(const knPolygon* polygon, knDVec3 p, knFaceHit* hit)
{
    knDVec3 n = polygon->normal, q = knDSub(polygon->points[0], p);
    double size2 = polygon->size2, h = knDDot(n, q);
    if (h * h >= hit->distance2 * size2 && size2 > 0.0)
    {
        return false;
    }
    bool beyond = !(size2 > 0.0);
    knDVec3 nearest = beyond ? q : knDScale(h / size2, n);
    double distance2 = beyond ? DBL_MAX : h * h / size2;
    bool found = false;
    for (int i = 0; i < polygon->count; ++i)
    {
        knDVec3 a = knDSub(polygon->points[i], p);
        knDVec3 e = knDSub(polygon->points[i + 1 < polygon->count ? i + 1 : 0], polygon->points[i]);
        if (!beyond && knDDot(knDCross(e, n), a) >= 0.0)
        {
            continue;
        }
        double t = -knDDot(a, e), ee = knDDot(e, e);
        t = t > 0.0 && ee > 0.0 ? knLower(t / ee, 1.0) : 0.0;
        knDVec3 c = knDAdd(a, knDScale(t, e));
        double d2 = knDDot(c, c);
        nearest = !found || d2 < distance2 ? c : nearest;
        distance2 = !found || d2 < distance2 ? d2 : distance2;
        found = true;
    }
    if (!(distance2 < hit->distance2))
    {
        return false;
    }
    *hit = (knFaceHit){distance2, knDAdd(p, nearest), n, true, true};
    return true;
}

static bool HitPolygon(const knCrackFace* face, knDVec3 p, knFaceHit* hit)
{
    knPolygon polygon;
    knPreparePolygon(&polygon, face);
    return knHitPolygon(&polygon, p, hit);
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

bool knNearPlanes(const knFragmentField* field, uint32_t index, uint8_t mask, knVec3 p, float reach)
{
    const knTetCut* cut = &field->cuts->cuts[index];
    const knCutParts* parts = knFindParts(field, index);
    bool near = !parts;
    for (int i = 0; parts && i < cut->planeCount; ++i)
    {
        const knCutPlane* plane = &parts->planes[i];
        float distance = fabsf(knDot(plane->normal, p) - plane->offset);
        near = near || ((mask & ~cut->region[i]) == 0 && distance < reach);
    }
    return near;
}

// The part of a cut tetrahedron that a point on its face belongs to.
static uint8_t RegionOnFace(const knTetMesh* mesh, const knTetCut* cut, uint32_t tet, uint32_t face,
                            knDVec3 p)
{
    const uint32_t* v = mesh->tets[tet].v;
    const uint8_t* c = knTetFaceCorners[face];
    knDVec3 a = knDSub(knToDouble(mesh->nodes[v[c[0]]]), p);
    knDVec3 b = knDSub(knToDouble(mesh->nodes[v[c[1]]]), p);
    knDVec3 d = knDSub(knToDouble(mesh->nodes[v[c[2]]]), p);
    knDVec3 n = knDCross(knDSub(b, a), knDSub(d, a));
    float weights[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    // times twice the area, which does not change the side
    weights[c[0]] = (float)knDDot(n, knDCross(b, d));
    weights[c[1]] = (float)knDDot(n, knDCross(d, a));
    weights[c[2]] = (float)knDDot(n, knDCross(a, b));
    return knTetCut_Region(cut, weights);
}

// The original faces of a tetrahedron, as far as they belong to the part of the mask. Where the
// nearest point of a face belongs to another part, the rim of a crack face is nearest.
static bool HitOriginal(const knFragmentField* field, uint32_t tet, uint8_t mask, knDVec3 p,
                        knFaceHit* hit)
{
    const knTetMesh* mesh = field->mesh;
    uint32_t cut = field->cuts->tetCuts[tet];
    bool found = false;
    for (uint32_t i = 0; i < 4; ++i)
    {
        if (mesh->neighbors[tet].t[i] != KN_NONE)
        {
            continue;
        }
        knTriangle t = knTetMesh_BoundaryTriangle(mesh, 4 * tet + i);
        knCrackFace face = {
            .points = {mesh->nodes[t.v[0]], mesh->nodes[t.v[1]], mesh->nodes[t.v[2]]}, .count = 3};
        knFaceHit nearer = *hit;
        if (HitPolygon(&face, p, &nearer) &&
            (cut == KN_NONE ||
             RegionOnFace(mesh, &field->cuts->cuts[cut], tet, i, nearer.point) == mask))
        {
            *hit = nearer;
            hit->isCrack = false;
            found = true;
        }
    }
    return found;
}

bool knHitPart(const knFragmentField* field, uint32_t tet, uint8_t mask, knDVec3 p, int faces,
               knFaceHit* hit)
{
    bool found = (faces & kn_originalFaces) != 0 && HitOriginal(field, tet, mask, p, hit);
    if ((faces & kn_crackFaces) != 0)
    {
        knCrackFaces buffer;
        found = knHitCracks(knFindCracks(field, tet, mask, &buffer), p, hit) || found;
    }
    return found;
}

bool knHitTet(const knFragmentField* field, uint32_t tet, uint32_t fragment, knDVec3 p,
              bool original, knFaceHit* hit)
{
    uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, fragment);
    uint32_t cut = field->cuts->tetCuts[tet];
    bool near = mask != 0 && cut != KN_NONE &&
                knNearPlanes(field, cut, mask, knToFloat(p), knPlaneReach(field, hit));
    int faces = (original ? kn_originalFaces : 0) | (near ? kn_crackFaces : 0);
    return mask != 0 && knHitPart(field, tet, mask, p, faces, hit);
}
