// SPDX-License-Identifier: Zlib
#include "demos/overlays.h"

#include "demos/colliding.h"

#include <math.h>

#define MAX_CONTACTS 8192
#define CIRCLE       24
#define SLICE        64 // samples an axis

void knSketch_Line(knSketch* s, knVec3 a, knVec3 b, uint32_t color)
{
    if (s->lineCount < s->lineCapacity)
    {
        s->lines[s->lineCount++] = (knViewLine){a, b, color};
    }
}

void knSketch_Cross(knSketch* s, knVec3 p, float size, uint32_t color)
{
    knVec3 axes[3] = {{size, 0.0f, 0.0f}, {0.0f, size, 0.0f}, {0.0f, 0.0f, size}};
    for (int a = 0; a < 3; ++a)
    {
        knSketch_Line(s, knSub(p, axes[a]), knAdd(p, axes[a]), color);
    }
}

typedef struct Dropped
{
    knSketch* sketch;
    float size;
} Dropped;

static void SketchDropped(void* user, const knColliding* colliding)
{
    Dropped* dropped = user;
    knSketch_Cross(dropped->sketch, colliding->point, dropped->size, 0xE08A1E);
}

void knSketchContacts(knSketch* s, const knStage* stage)
{
    static knWorldContact contacts[MAX_CONTACTS];
    uint32_t count = 0;
    float size = 0.005f * stage->scene->reach;
    // all first: those that were kept are drawn over theirs
    Dropped dropped = {s, 0.4f * size};
    (void)knVisitColliding(stage, SketchDropped, &dropped);
    if (knWorld_Contacts(stage->world, contacts, MAX_CONTACTS, &count) != kn_success)
    {
        return;
    }
    count = count < MAX_CONTACTS ? count : MAX_CONTACTS;
    for (uint32_t i = 0; i < count; ++i)
    {
        const knWorldContact* c = &contacts[i];
        uint32_t color = c->distance < -0.001f ? 0xE03020
                         : c->distance <= 0.0f ? 0x20A040
                                               : 0x3060E0;
        knSketch_Cross(s, c->point, size, color);
        knSketch_Line(s, c->point, knAddScaled(c->point, 4.0f * size, c->normal), color);
    }
}

// Three circles, one an axis.
static void SketchSphere(knSketch* s, knVec3 center, float radius, uint32_t color)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        knVec3 last = center;
        for (int i = 0; i <= CIRCLE; ++i)
        {
            float t = 6.28318531f * (float)i / (float)CIRCLE;
            float o[3] = {0.0f, 0.0f, 0.0f};
            o[(axis + 1) % 3] = radius * cosf(t);
            o[(axis + 2) % 3] = radius * sinf(t);
            knVec3 p = knAdd(center, knMakeVec3(o[0], o[1], o[2]));
            if (i > 0)
            {
                knSketch_Line(s, last, p, color);
            }
            last = p;
        }
    }
}

void knSketchSpheres(knSketch* s, const knBodyPiece* piece, knTransform transform, uint32_t level)
{
    const knSphereForest* forest = knFamily_Forest(piece->object);
    const knCutStore* cuts = knFamily_Cuts(piece->object);
    uint32_t capacity = knSphereForest_Fragment(forest, piece->fragment).pointCount;
    knSphereQueryItem* items = knAllocate(NULL, capacity, sizeof(knSphereQueryItem));
    if (!items)
    {
        return;
    }
    knSphereQuery query;
    static knSphereBatch batch;
    batch.count = 0;
    knSphereQuery_Begin(&query, forest, cuts, piece->fragment, items, capacity);
    while (knSphereQuery_Next(&query, &batch))
    {
        for (uint32_t i = 0; i < batch.count; ++i)
        {
            batch.descend[i] = batch.level < level;
            if (batch.level == level && batch.radius[i] > 0.0f)
            {
                knVec3 p = knMakeVec3(batch.x[i], batch.y[i], batch.z[i]);
                p = knTransformPoint(transform, knSub(p, piece->mesh->center));
                SketchSphere(s, p, batch.radius[i], 0x305090);
            }
        }
    }
    knRelease(NULL, items, capacity, sizeof(knSphereQueryItem));
}

static uint32_t Mix(float t)
{
    static const float ends[2][3] = {{255.0f, 214.0f, 120.0f}, {90.0f, 20.0f, 80.0f}};
    uint32_t color = 0;
    for (int i = 0; i < 3; ++i)
    {
        color = color << 8 | (uint32_t)(ends[0][i] + t * (ends[1][i] - ends[0][i]));
    }
    return color;
}

static void AddTriangle(knSketch* s, knVec3 a, knVec3 b, knVec3 c, uint32_t color)
{
    if (s->triangleCount < s->triangleCapacity)
    {
        s->triangles[s->triangleCount++] = (knViewTriangle){{a, b, c}, color};
    }
}

// Depths over the slice, negative outside; the deepest is the result.
static float Sample(float depths[SLICE][SLICE], const knBodyPiece* piece, knTransform transform,
                    knVec3 corner, float step)
{
    knFieldQuery query = knMakeFieldQuery(knFamily_Field(piece->object), piece->fragment);
    float deepest = 0.0f;
    for (int i = 0; i < SLICE; ++i)
    {
        for (int k = 0; k < SLICE; ++k)
        {
            knVec3 p = {corner.x + ((float)i + 0.5f) * step, corner.y,
                        corner.z + ((float)k + 0.5f) * step};
            knFieldContact contact;
            knVec3 local = knAdd(knInvTransformPoint(transform, p), piece->mesh->center);
            bool isInside = knFieldQuery_Penetration(&query, local, &contact);
            depths[i][k] = isInside ? fmaxf(-contact.distance, 0.0f) : -1.0f;
            deepest = fmaxf(deepest, depths[i][k]);
        }
    }
    return deepest;
}

// Bands of depth, as share of the deepest in the slice: like contours.
void knSketchField(knSketch* s, const knBodyPiece* piece, knTransform transform, float share)
{
    static float depths[SLICE][SLICE];
    const knPieceMesh* mesh = piece->mesh;
    knVec3 low = knMakeVec3(INFINITY, INFINITY, INFINITY), high = knNeg(low);
    for (uint32_t i = 0; i < mesh->vertexCount; ++i)
    {
        knVec3 p = knTransformPoint(transform, mesh->vertices[i].position);
        low = knMin(low, p);
        high = knMax(high, p);
    }
    float y = low.y + share * (high.y - low.y);
    float step = fmaxf(high.x - low.x, high.z - low.z) / SLICE;
    float deepest = Sample(depths, piece, transform, knMakeVec3(low.x, y, low.z), step);
    for (int i = 0; i < SLICE; ++i)
    {
        for (int k = 0; k < SLICE; ++k)
        {
            if (depths[i][k] < 0.0f)
            {
                continue;
            }
            float x = low.x + (float)i * step, z = low.z + (float)k * step;
            float t = deepest > 0.0f ? depths[i][k] / deepest : 0.0f;
            knVec3 a = {x, y, z}, b = {x, y, z + step}, c = {x + step, y, z + step};
            knVec3 d = {x + step, y, z};
            uint32_t color = Mix(floorf(10.0f * t) / 10.0f);
            AddTriangle(s, a, b, c, color);
            AddTriangle(s, a, c, d, color);
        }
    }
}
