// SPDX-License-Identifier: Zlib
#include "fracture/surface_internal.h"

#include <string.h>

// Seen from outside, u to the right: the other side of a crack is not a mirror image.
static void PlanarCoordinates(knVec3 normal, knVec3 p, float scale, knCornerAttribute* corner)
{
    float x = fabsf(normal.x);
    float y = fabsf(normal.y);
    float z = fabsf(normal.z);
    if (x >= y && x >= z)
    {
        corner->u = scale * (normal.x < 0.0f ? -p.y : p.y);
        corner->v = scale * p.z;
    }
    else if (y >= z)
    {
        corner->u = scale * (normal.y < 0.0f ? -p.z : p.z);
        corner->v = scale * p.x;
    }
    else
    {
        corner->u = scale * (normal.z < 0.0f ? -p.x : p.x);
        corner->v = scale * p.y;
    }
}

// Blends what the corners of an original triangle carry, by the weights of a point on it.
static void Interpolate(const Build* build, const Polygon* polygon, const knRegionVertex* v,
                        knCornerAttribute* corner)
{
    const knSurfaceMesh* surface = build->cutMesh->surface;
    const uint32_t* nodes = build->cutMesh->mesh->tets[polygon->tet].v;
    knCornerAttribute sum = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    for (int k = 0; k < 3; ++k)
    {
        uint32_t node = surface->triangles[polygon->triangle].v[k];
        const knCornerAttribute* a =
            &surface->attributes[surface->cornerAttributes[polygon->triangle].v[k]];
        for (int i = 0; i < 4; ++i)
        {
            if (nodes[i] == node && v->weights[i] > 0.0)
            {
                float w = (float)v->weights[i];
                sum.normal = knAddScaled(sum.normal, w, a->normal);
                sum.u += w * a->u;
                sum.v += w * a->v;
            }
        }
    }
    knVec3 normal = knNormalize(sum.normal);
    // a corner keeps its own bits; only what is blended needs a unit length again
    sum.normal = v->kind == kn_regionNode ? sum.normal : normal;
    sum.normal = knLengthSquared(normal) > 0.0f ? sum.normal : corner->normal;
    *corner = sum;
}

void knCut_MakeCorners(const Build* build, const Polygon* polygon, knCornerAttribute* corners)
{
    const knRegionFace* face = polygon->face;
    knDVec3 area = knCut_FaceArea2(polygon->region, face);
    double length = knDLength(area);
    knVec3 normal = length > 0.0 ? knToFloat(knDScale(1.0 / length, area)) : (knVec3){0};
    bool hasAttributes = face->source < 4 && polygon->triangle != KN_NONE &&
                         build->cutMesh->surface && build->cutMesh->surface->attributes;
    for (int i = 0; i < face->count; ++i)
    {
        const knRegionVertex* v = &polygon->region->vertices[face->loop[i]];
        corners[i].normal = normal;
        if (hasAttributes)
        {
            Interpolate(build, polygon, v, &corners[i]);
        }
        else
        {
            PlanarCoordinates(normal, v->position, build->options.textureScale, &corners[i]);
        }
    }
}

// What the triangle's corner at this node carries, with the bits that blending gives it.
static knCornerAttribute AttributeAt(const knSurfaceMesh* surface, uint32_t triangle, uint32_t node)
{
    knCornerAttribute sum = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    for (int k = 0; k < 3; ++k)
    {
        if (surface->triangles[triangle].v[k] == node)
        {
            const knCornerAttribute* a =
                &surface->attributes[surface->cornerAttributes[triangle].v[k]];
            sum.normal = knAdd(sum.normal, a->normal);
            sum.u += a->u;
            sum.v += a->v;
        }
    }
    return sum;
}

static knVec3 NormalOf(const knVec3 p[3])
{
    knDVec3 a = knToDouble(p[0]);
    knDVec3 area = knDCross(knDSub(knToDouble(p[1]), a), knDSub(knToDouble(p[2]), a));
    double length = knDLength(area);
    return length > 0.0 ? knToFloat(knDScale(1.0 / length, area)) : (knVec3){0};
}

void knCut_MakeWholeCorners(const Build* build, const uint32_t nodes[3], uint32_t triangle,
                            knCornerAttribute corners[3])
{
    const knSurfaceMesh* surface = build->cutMesh->surface;
    const knVec3* places = build->cutMesh->mesh->nodes;
    knVec3 p[3] = {places[nodes[0]], places[nodes[1]], places[nodes[2]]};
    for (int i = 0; i < 3; ++i)
    {
        if (surface && surface->attributes)
        {
            corners[i] = AttributeAt(surface, triangle, nodes[i]);
            bool hasNormal = knLength(corners[i].normal) > FLT_MIN;
            corners[i].normal = hasNormal ? corners[i].normal : NormalOf(p);
        }
        else
        {
            corners[i].normal = NormalOf(p);
            PlanarCoordinates(corners[i].normal, p[i], build->options.textureScale, &corners[i]);
        }
    }
}

// Weighted by area: the sum of cross products does it.
knResult knCut_SmoothCracks(Build* build)
{
    knVec3* sums = knArena_Allocate(build->arena, build->vertexCount, sizeof(knVec3));
    if (!sums)
    {
        return kn_errorMemory;
    }
    memset(sums, 0, build->vertexCount * sizeof(knVec3));
    for (uint32_t t = 0; t < build->triangleCount; ++t)
    {
        const uint32_t* v = build->triangles[t].v;
        knVec3 a = build->positions[v[0]];
        knVec3 area = knCross(knSub(build->positions[v[1]], a), knSub(build->positions[v[2]], a));
        for (int k = 0; build->sources[t].isCrack && k < 3; ++k)
        {
            sums[v[k]] = knAdd(sums[v[k]], area);
        }
    }
    for (uint32_t i = 0; i < 3 * build->triangleCount; ++i)
    {
        knVec3 normal = knNormalize(sums[build->triangles[i / 3].v[i % 3]]);
        if (build->sources[i / 3].isCrack && knLengthSquared(normal) > 0.0f)
        {
            build->corners[i].normal = normal;
        }
    }
    return kn_success;
}
