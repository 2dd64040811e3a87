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
    knTetRegion region;
    knCutStore_Region(field->cuts, mesh, tet, mask, &region);
    return knHitRegion(mesh, tet, &region, p, original, hit);
}
