// SPDX-License-Identifier: Zlib

// What light reaches a point: lookups in the shadow maps of the sun and the sky.

#include "picture_internal.h"

#include <math.h>

#define LIFT_TEXELS 1.5f // covers bilinear filtering on a plane of any slope
#define BLUR_TAPS   24
#define SUN_TAPS    8 // an eighth turn each, on two rings in turn

// Bilinear over four depth tests. `sign` is 1 from above, -1 from below.
static inline float Visibility(const uint16_t* texels, int size, knVec3 p, float sign)
{
    float limit = (float)(size - 1);
    if (!(p.x >= 0.0f && p.y >= 0.0f && p.x < limit && p.y < limit))
    {
        return 1.0f;
    }
    int x = (int)p.x;
    int y = (int)p.y;
    float fx = p.x - (float)x;
    float fy = p.y - (float)y;
    const uint16_t* t = texels + (size_t)y * (size_t)size + (size_t)x;
    float depth = sign * p.z;
    float a = sign * (float)t[0] <= depth ? 1.0f : 0.0f;
    float b = sign * (float)t[1] <= depth ? 1.0f : 0.0f;
    float c = sign * (float)t[size] <= depth ? 1.0f : 0.0f;
    float d = sign * (float)t[size + 1] <= depth ? 1.0f : 0.0f;
    float upper = a + fx * (b - a);
    return upper + fy * (c + fx * (d - c) - upper);
}

// How far the nearest texel's surface is towards the light, in scene radii; 0 when not hidden.
static inline float BlockerDistance(const uint16_t* texels, int size, knVec3 p)
{
    float limit = (float)(size - 1);
    if (!(p.x >= 0.0f && p.y >= 0.0f && p.x < limit && p.y < limit))
    {
        return 0.0f;
    }
    float texel = (float)texels[(size_t)(p.y + 0.5f) * (size_t)size + (size_t)(p.x + 0.5f)];
    return texel > p.z ? (texel - p.z) * (2.0f / KN_DEPTH_STEPS) : 0.0f;
}

// Taps around each place on the sun, as far apart as the places are: the steps between them close
// to an even penumbra.
static float SpreadVisibility(const knPictureLights* lights, knVec3 lifted, float distance)
{
    float spacing = 0.5f * lights->sunSpread / sqrtf((float)lights->sunCount);
    float radius = spacing * distance * 0.5f * (float)lights->sunSize;
    float sum = 0.0f;
    for (int i = 0; i < lights->sunCount; i++)
    {
        const knLightMap* map = &lights->sun[i];
        knVec3 p = knMapPoint(map, lights->sunSize, lifted);
        float x = radius * map->turnX;
        float y = radius * map->turnY;
        for (int k = 0; k < SUN_TAPS; k++)
        {
            float ring = k % 2 == 0 ? 1.1f : 0.55f;
            knVec3 tap = {p.x + ring * x, p.y + ring * y, p.z};
            sum += Visibility(map->upper, lights->sunSize, tap, 1.0f);
            float turned = 0.70710678f * (x - y);
            y = 0.70710678f * (x + y);
            x = turned;
        }
    }
    // the ends of a penumbra are where steps show: there the curve is flat
    return knSmoothStep(0.0f, 1.0f, sum / (float)(SUN_TAPS * lights->sunCount));
}

float knSunVisibility(const knPictureLights* lights, knVec3 point, knVec3 geometricNormal)
{
    float lift = LIFT_TEXELS * 2.0f / (float)lights->sunSize;
    knVec3 lifted = knAddScaled(point, lift, geometricNormal);
    float sum = 0.0f;
    float distance = 0.0f;
    int hiddenCount = 0;
    for (int i = 0; i < lights->sunCount; i++)
    {
        knVec3 p = knMapPoint(&lights->sun[i], lights->sunSize, lifted);
        sum += Visibility(lights->sun[i].upper, lights->sunSize, p, 1.0f);
        float blocker = BlockerDistance(lights->sun[i].upper, lights->sunSize, p);
        distance += blocker;
        hiddenCount += blocker > 0.0f ? 1 : 0;
    }
    if (hiddenCount == 0 || sum == 0.0f)
    {
        return sum / (float)lights->sunCount;
    }
    return SpreadVisibility(lights, lifted, distance / (float)hiddenCount);
}

knSkyLight knGatherSky(const knPictureLights* lights, const knPictureScene* scene, knVec3 point,
                       knVec3 normal, knVec3 geometricNormal)
{
    float lift = LIFT_TEXELS * 2.0f / (float)lights->skySize;
    knVec3 lifted = knAddScaled(point, lift, geometricNormal);
    // the floor next to the object lies in its shadow and has little light to give
    float height = point.y - scene->groundHeight;
    float bounce = scene->hasGround ? 0.25f + 0.75f * knSmoothStep(0.0f, 0.9f, height) : 1.0f;
    knVec3 light = {0.0f, 0.0f, 0.0f};
    float open = 0.0f;
    float seen = 0.0f;
    for (int i = 0; i < lights->skyCount; i++)
    {
        const knLightMap* map = &lights->sky[i];
        float cosine = knDot(normal, map->direction);
        bool isUpper = cosine > 0.0f;
        float weight = fabsf(cosine);
        knVec3 p = knMapPoint(map, lights->skySize, lifted);
        float visible = isUpper ? Visibility(map->upper, lights->skySize, p, 1.0f)
                                : Visibility(map->lower, lights->skySize, p, -1.0f);
        knVec3 radiance = isUpper ? map->upperLight : knScale(bounce, map->lowerLight);
        light = knAddScaled(light, weight * visible, radiance);
        open += weight;
        seen += weight * visible;
    }
    knSkyLight result = {knScale(2.0f / (float)lights->skyCount, light),
                         open > 0.0f ? seen / open : 1.0f};
    return result;
}

static knGroundCell GatherGround(const knPictureLights* lights, knVec3 point)
{
    float open = 0.0f;
    float seen = 0.0f;
    float distance = 0.0f;
    int hiddenCount = 0;
    for (int i = 0; i < lights->skyCount; i++)
    {
        const knLightMap* map = &lights->sky[i];
        knVec3 p = knMapPoint(map, lights->skySize, point);
        float blocker = BlockerDistance(map->upper, lights->skySize, p);
        open += map->direction.y;
        seen += map->direction.y * Visibility(map->upper, lights->skySize, p, 1.0f);
        distance += blocker;
        hiddenCount += blocker > 0.0f ? 1 : 0;
    }
    knGroundCell cell = {open > 0.0f ? seen / open : 1.0f,
                         hiddenCount > 0 ? distance / (float)hiddenCount : 1.0f};
    return cell;
}

typedef struct GroundContext
{
    knPictureLights* lights;
    knGroundCell* cells; // before the blur
    float height;
    float taps[BLUR_TAPS][2]; // in the unit disc
} GroundContext;

static float CellPlace(int index)
{
    return KN_GROUND_REACH * (2.0f * ((float)index + 0.5f) / KN_GROUND_CELLS - 1.0f);
}

static void GatherGroundTask(int begin, int end, int worker, void* user)
{
    (void)worker;
    GroundContext* c = user;
    for (int z = begin; z < end; z++)
    {
        for (int x = 0; x < KN_GROUND_CELLS; x++)
        {
            knVec3 point = {CellPlace(x), c->height, CellPlace(z)};
            c->cells[z * KN_GROUND_CELLS + x] = GatherGround(c->lights, point);
        }
    }
}

static float CellOpenness(const knGroundCell* cells, float x, float z)
{
    float limit = (float)KN_GROUND_CELLS - 1.001f;
    x = knLeast(knGreatest(x, 0.0f), limit);
    z = knLeast(knGreatest(z, 0.0f), limit);
    const knGroundCell* c = &cells[(int)z * KN_GROUND_CELLS + (int)x];
    float fx = x - (float)(int)x;
    float fz = z - (float)(int)z;
    float upper = c[0].openness + fx * (c[1].openness - c[0].openness);
    c += KN_GROUND_CELLS;
    float lower = c[0].openness + fx * (c[1].openness - c[0].openness);
    return upper + fz * (lower - upper);
}

// As wide as the shadows of two neighbouring directions lie apart.
static void BlurGroundTask(int begin, int end, int worker, void* user)
{
    (void)worker;
    GroundContext* c = user;
    float spacing = sqrtf(2.0f / (float)c->lights->skyCount);
    for (int i = begin * KN_GROUND_CELLS; i < end * KN_GROUND_CELLS; i++)
    {
        float radius =
            1.2f * spacing * c->cells[i].distance * (0.5f * KN_GROUND_CELLS / KN_GROUND_REACH);
        float sum = 0.0f;
        for (int k = 0; k < BLUR_TAPS; k++)
        {
            const float* tap = c->taps[k];
            sum += CellOpenness(c->cells, (float)(i % KN_GROUND_CELLS) + radius * tap[0],
                                (float)(i / KN_GROUND_CELLS) + radius * tap[1]);
        }
        c->lights->ground[i].openness = sum / BLUR_TAPS;
    }
}

knResult knLightGround(knPictureLights* lights, const knPictureScene* scene)
{
    size_t count = (size_t)KN_GROUND_CELLS * KN_GROUND_CELLS;
    knGroundCell* cells = knAllocate(scene->allocator, count, sizeof(knGroundCell));
    lights->ground = knAllocate(scene->allocator, count, sizeof(knGroundCell));
    if (!cells || !lights->ground)
    {
        knRelease(scene->allocator, cells, count, sizeof(knGroundCell));
        return kn_errorMemory;
    }
    GroundContext context = {.lights = lights, .cells = cells, .height = scene->groundHeight};
    for (int k = 0; k < BLUR_TAPS; k++)
    {
        float radius = sqrtf(((float)k + 0.5f) / BLUR_TAPS);
        context.taps[k][0] = radius * cosf(KN_GOLDEN_ANGLE * (float)k);
        context.taps[k][1] = radius * sinf(KN_GOLDEN_ANGLE * (float)k);
    }
    knParallelFor(scene->tasks, KN_GROUND_CELLS, 8, GatherGroundTask, &context);
    knParallelFor(scene->tasks, KN_GROUND_CELLS, 8, BlurGroundTask, &context);
    knRelease(scene->allocator, cells, count, sizeof(knGroundCell));
    return kn_success;
}

float knGroundOpenness(const knPictureLights* lights, knVec3 point)
{
    float scale = 0.5f * KN_GROUND_CELLS / KN_GROUND_REACH;
    return CellOpenness(lights->ground, (point.x + KN_GROUND_REACH) * scale - 0.5f,
                        (point.z + KN_GROUND_REACH) * scale - 0.5f);
}
