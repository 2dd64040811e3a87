// SPDX-License-Identifier: Zlib
#include "shape_internal.h"

static const uint8_t boxEdges[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                        {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};

uint32_t knShape_FeatureCount(const knShape* shape)
{
    switch (shape->kind)
    {
    case kn_shapeSphere:
    case kn_shapeCapsule:
        return 1;
    case kn_shapeBox:
        return 8 + 12;
    case kn_shapeCylinder:
    case kn_shapeCone:
        return 2;
    case kn_shapeHull:
    case kn_shapeMultiSphere:
        return shape->hull->pointCount + shape->hull->edgeCount;
    case kn_shapeTriangle:
        return 6;
    default:
        return 0;
    }
}

static knShapeFeature Ball(knVec3 p, float radius)
{
    return (knShapeFeature){.a = p, .b = p, .radiusA = radius, .radiusB = radius};
}

static knShapeFeature Edge(knVec3 a, knVec3 b, float radius)
{
    return (knShapeFeature){.a = a, .b = b, .radiusA = radius, .radiusB = radius, .isEdge = true};
}

static knShapeFeature Rim(float radius, float y, float margin)
{
    knVec3 start = {radius, y, 0.0f};
    return (knShapeFeature){.a = start,
                            .b = start,
                            .radiusA = margin,
                            .radiusB = margin,
                            .rimCenter = {0.0f, y, 0.0f},
                            .rimRadius = radius};
}

static knVec3 BoxCorner(knVec3 half, uint32_t i)
{
    return knMakeVec3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z);
}

static knShapeFeature HullFeature(const knShape* shape, uint32_t index)
{
    const knHull* hull = shape->hull;
    uint32_t a = index, b = index;
    if (index >= hull->pointCount)
    {
        a = hull->edges[index - hull->pointCount].v[0];
        b = hull->edges[index - hull->pointCount].v[1];
    }
    knShapeFeature f = {.a = hull->points[a], .b = hull->points[b]};
    f.radiusA = shape->margin + (hull->radii ? hull->radii[a] : 0.0f);
    f.radiusB = shape->margin + (hull->radii ? hull->radii[b] : 0.0f);
    // round edges are found like the sides of a capsule
    f.isEdge = a != b && !hull->radii;
    return f;
}

knShapeFeature knShape_Feature(const knShape* shape, uint32_t index)
{
    float h = shape->halfHeight, m = shape->margin;
    switch (shape->kind)
    {
    case kn_shapeCapsule:
    {
        knShapeFeature f =
            Edge(knMakeVec3(0.0f, -h, 0.0f), knMakeVec3(0.0f, h, 0.0f), shape->radius + m);
        f.isEdge = false;
        return f;
    }
    case kn_shapeBox:
        return index < 8 ? Ball(BoxCorner(shape->half, index), m)
                         : Edge(BoxCorner(shape->half, boxEdges[index - 8][0]),
                                BoxCorner(shape->half, boxEdges[index - 8][1]), m);
    case kn_shapeCylinder:
        return Rim(shape->radius, index == 0 ? -h : h, m);
    case kn_shapeCone:
        return index == 0 ? Ball(knMakeVec3(0.0f, h, 0.0f), m) : Rim(shape->radius, -h, m);
    case kn_shapeHull:
    case kn_shapeMultiSphere:
        return HullFeature(shape, index);
    case kn_shapeTriangle:
        return index < 3 ? Ball(shape->v[index], m)
                         : Edge(shape->v[index - 3], shape->v[(index - 2) % 3], m);
    default:
        return Ball(knMakeVec3(0.0f, 0.0f, 0.0f), shape->radius + m);
    }
}
