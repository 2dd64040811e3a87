// SPDX-License-Identifier: Zlib

// Light as many shadow maps: a few across the disc of the sun give penumbras that widen with the
// distance, many across the sky give ambient occlusion that reaches into cracks.

#include "picture_internal.h"

#include <math.h>
#include <string.h>

#define GROUND_BOUNCE 0.42f

static const knVec3 warmSky = {0.47f, 0.45f, 0.43f};
static const knVec3 coolSky = {0.31f, 0.335f, 0.37f};
static const knVec3 bounceLight = {0.40f, 0.375f, 0.35f};

// Warm towards the sun, cool away from it, brightest overhead.
static knVec3 SkyRadiance(knVec3 sunDirection, knVec3 direction)
{
    float side = 0.5f + 0.5f * knDot(direction, sunDirection);
    float height = 0.72f + 0.42f * knGreatest(direction.y, 0.0f);
    return knScale(height, knLerp(coolSky, warmSky, side));
}

knVec3 knStudioRadiance(const knPictureLights* lights, knVec3 direction)
{
    knVec3 above = SkyRadiance(lights->sunDirection, direction);
    // a long soft box over the camera, for the sheen of glaze
    float box = knSmoothStep(0.25f, 0.75f, direction.y) * knSmoothStep(1.0f, 0.8f, direction.y);
    above = knScale(1.0f + 1.2f * box, above);
    return knLerp(knScale(GROUND_BOUNCE, bounceLight), above,
                  knSmoothStep(-0.35f, 0.2f, direction.y));
}

static void SetDirection(knLightMap* map, knVec3 direction)
{
    knVec3 helper =
        fabsf(direction.y) < 0.9f ? knMakeVec3(0.0f, 1.0f, 0.0f) : knMakeVec3(1.0f, 0.0f, 0.0f);
    map->direction = direction;
    map->right = knNormalize(knCross(helper, direction));
    map->up = knCross(direction, map->right);
}

static knVec3 OnSphere(const knLightMap* frame, float cosine, float angle)
{
    float sine = sqrtf(knGreatest(0.0f, 1.0f - cosine * cosine));
    knVec3 v = knScale(cosine, frame->direction);
    v = knAddScaled(v, sine * cosf(angle), frame->right);
    return knNormalize(knAddScaled(v, sine * sinf(angle), frame->up));
}

static void PlaceSun(knPictureLights* lights, const knPictureView* view)
{
    knLightMap frame;
    SetDirection(&frame, lights->sunDirection);
    float open = 1.0f - cosf(0.5f * view->sunSize);
    size_t texels = (size_t)lights->sunSize * (size_t)lights->sunSize;
    for (int i = 0; i < lights->sunCount; i++)
    {
        knLightMap* map = &lights->sun[i];
        float part = ((float)i + 0.5f) / (float)lights->sunCount;
        SetDirection(map, OnSphere(&frame, 1.0f - open * part, KN_GOLDEN_ANGLE * (float)i));
        map->upper = lights->sunTexels + (size_t)i * texels;
        map->turnX = cosf(0.7f * KN_GOLDEN_ANGLE * (float)i);
        map->turnY = sinf(0.7f * KN_GOLDEN_ANGLE * (float)i);
    }
}

// Spread over the upper half only: each map serves the lower half with its other end.
static void PlaceSky(knPictureLights* lights, const knPictureScene* scene)
{
    knLightMap frame;
    SetDirection(&frame, knMakeVec3(0.0f, 1.0f, 0.0f));
    size_t texels = (size_t)lights->skySize * (size_t)lights->skySize;
    float below = scene->hasGround ? GROUND_BOUNCE : 0.5f;
    for (int i = 0; i < lights->skyCount; i++)
    {
        knLightMap* map = &lights->sky[i];
        float height = 1.0f - ((float)i + 0.5f) / (float)lights->skyCount;
        SetDirection(map, OnSphere(&frame, height, KN_GOLDEN_ANGLE * (float)i));
        map->upper = lights->skyTexels + (size_t)(2 * i) * texels;
        map->lower = map->upper + texels;
        map->upperLight = SkyRadiance(lights->sunDirection, map->direction);
        map->lowerLight = knScale(below, bounceLight);
    }
}

typedef struct DepthPlane
{
    double a, b, c;
    float lower, upper; // of the corners: a plane seen almost edge on extrapolates badly
} DepthPlane;

static inline void StoreDepth(const knLightMap* map, int size, const DepthPlane* plane, int x,
                              int y)
{
    float depth = (float)(plane->a * x + (plane->b * y + plane->c));
    uint16_t texel = (uint16_t)knLeast(knGreatest(depth, plane->lower), plane->upper);
    size_t i = (size_t)y * (size_t)size + (size_t)x;
    map->upper[i] = texel > map->upper[i] ? texel : map->upper[i];
    if (map->lower)
    {
        map->lower[i] = texel < map->lower[i] ? texel : map->lower[i];
    }
}

static inline void StoreShortRow(const knLightMap* map, int size, const knTriangleSetup* s,
                                 const DepthPlane* plane, int x0, int x1, int y)
{
    double row0 = s->b[0] * y + s->c[0];
    double row1 = s->b[1] * y + s->c[1];
    double row2 = s->b[2] * y + s->c[2];
    for (int x = x0; x < x1; x++)
    {
        // a texel on a shared edge may be drawn twice: the depths are the same
        if ((s->a[0] * x + row0 >= 0.0) & (s->a[1] * x + row1 >= 0.0) & (s->a[2] * x + row2 >= 0.0))
        {
            StoreDepth(map, size, plane, x, y);
        }
    }
}

static void RasterRows(const knLightMap* map, int size, const knTriangleSetup* s, knBox box,
                       const knVec3* corners[3])
{
    DepthPlane plane = {0.0, 0.0, 0.0, box.lower.z, box.upper.z};
    for (int i = 0; i < 3; i++)
    {
        double depth = (double)corners[i]->z * s->inverseDet;
        plane.a += depth * s->a[i];
        plane.b += depth * s->b[i];
        plane.c += depth * s->c[i];
    }
    float limit = (float)(size - 1);
    // rounded towards the inside: only texel centres count
    int left = (int)(knGreatest(box.lower.x, -1.0f) + 1.0f);
    int right = (int)knLeast(box.upper.x, limit) + 1;
    int bottom = (int)knLeast(box.upper.y, limit) + 1;
    for (int y = (int)(knGreatest(box.lower.y, -1.0f) + 1.0f); y < bottom; y++)
    {
        int x0 = left;
        int x1 = right;
        if (right - left <= 12)
        {
            StoreShortRow(map, size, s, &plane, x0, x1, y);
        }
        else if (knRowSpan(s, y, &x0, &x1))
        {
            for (int x = x0; x < x1; x++)
            {
                StoreDepth(map, size, &plane, x, y);
            }
        }
    }
}

static void RasterShadow(const knLightMap* map, int size, const knVec3* corners[3])
{
    knBox box = {knMin(*corners[0], knMin(*corners[1], *corners[2])),
                 knMax(*corners[0], knMax(*corners[1], *corners[2]))};
    // most small triangles hold no texel centre and end here; one is added to round down
    if ((int)(box.lower.x + 1.0f) == (int)(box.upper.x + 1.0f) ||
        (int)(box.lower.y + 1.0f) == (int)(box.upper.y + 1.0f))
    {
        return;
    }
    knDVec3 h[3];
    for (int i = 0; i < 3; i++)
    {
        h[i] = knMakeDVec3((double)corners[i]->x, (double)corners[i]->y, 1.0);
    }
    knTriangleSetup setup;
    if (knSetupTriangle(&setup, &h[0], &h[1], &h[2]))
    {
        RasterRows(map, size, &setup, box, corners);
    }
}

static void RenderMap(const knLightMap* map, int size, const knPictureScene* scene, knVec3* points)
{
    size_t texels = (size_t)size * (size_t)size;
    memset(map->upper, 0, texels * sizeof(uint16_t));
    if (map->lower)
    {
        memset(map->lower, 0xff, texels * sizeof(uint16_t));
    }
    for (size_t i = 0; i < scene->positionCount; i++)
    {
        points[i] = knMapPoint(map, size, scene->positions[i]);
    }
    for (size_t i = 0; i < scene->triangleCount; i++)
    {
        if (scene->meshes[scene->meshOfTriangle[i]].castsShadow)
        {
            const uint32_t* v = scene->triangles[i].v;
            const knVec3* corners[3] = {&points[v[0]], &points[v[1]], &points[v[2]]};
            RasterShadow(map, size, corners);
        }
    }
}

typedef struct RenderContext
{
    knPictureLights* lights;
    const knPictureScene* scene;
    knVec3* points; // positionCount per worker
} RenderContext;

static void RenderMapsTask(int begin, int end, int worker, void* user)
{
    RenderContext* c = user;
    const knPictureLights* lights = c->lights;
    knVec3* points = c->points + (size_t)worker * c->scene->positionCount;
    for (int i = begin; i < end; i++)
    {
        bool isSun = i < lights->sunCount;
        const knLightMap* map = isSun ? &lights->sun[i] : &lights->sky[i - lights->sunCount];
        RenderMap(map, isSun ? lights->sunSize : lights->skySize, c->scene, points);
    }
}

static int ClampSize(int size, int lower, int upper)
{
    return size < lower ? lower : (size > upper ? upper : size);
}

static size_t SunTexelCount(const knPictureLights* lights)
{
    return (size_t)lights->sunCount * (size_t)lights->sunSize * (size_t)lights->sunSize;
}

static size_t SkyTexelCount(const knPictureLights* lights)
{
    return 2 * (size_t)lights->skyCount * (size_t)lights->skySize * (size_t)lights->skySize;
}

static knResult RenderMaps(knPictureLights* lights, const knPictureScene* scene)
{
    size_t workers = scene->tasks ? (size_t)scene->tasks->workerCount : 1;
    size_t count = workers * scene->positionCount;
    RenderContext context = {lights, scene, NULL};
    context.points = knAllocate(scene->allocator, count, sizeof(knVec3));
    if (!context.points)
    {
        return kn_errorMemory;
    }
    knParallelFor(scene->tasks, lights->sunCount + lights->skyCount, 1, RenderMapsTask, &context);
    knRelease(scene->allocator, context.points, count, sizeof(knVec3));
    return kn_success;
}

knResult knCreatePictureLights(knPictureLights* lights, const knPictureScene* scene,
                               const knPictureView* view, int skyDirections, int pixelSize)
{
    memset(lights, 0, sizeof(*lights));
    lights->sunCount = view->sunSize > 0.0f ? KN_MAX_SUN_MAPS : 1;
    lights->sunSpread = view->sunSize;
    lights->skyCount = skyDirections;
    // the scene fills about two thirds of the view: somewhat more than one texel per pixel
    lights->sunSize = ClampSize(4 * pixelSize / 5, 128, 2048);
    lights->skySize = ClampSize(pixelSize / 3, 96, 512);
    knQuat turn = knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), view->camera.yaw);
    lights->sunDirection = knNormalize(knRotate(turn, knNormalize(view->sunDirection)));
    lights->sunTexels = knAllocate(scene->allocator, SunTexelCount(lights), sizeof(uint16_t));
    lights->skyTexels = knAllocate(scene->allocator, SkyTexelCount(lights), sizeof(uint16_t));
    knResult result = kn_errorMemory;
    if (lights->sunTexels && lights->skyTexels)
    {
        PlaceSun(lights, view);
        PlaceSky(lights, scene);
        result = RenderMaps(lights, scene);
    }
    if (result == kn_success && scene->hasGround)
    {
        result = knLightGround(lights, scene);
    }
    if (result != kn_success)
    {
        knDestroyPictureLights(lights, scene);
    }
    return result;
}

void knDestroyPictureLights(knPictureLights* lights, const knPictureScene* scene)
{
    knRelease(scene->allocator, lights->sunTexels, SunTexelCount(lights), sizeof(uint16_t));
    knRelease(scene->allocator, lights->skyTexels, SkyTexelCount(lights), sizeof(uint16_t));
    knRelease(scene->allocator, lights->ground, KN_GROUND_CELLS * KN_GROUND_CELLS,
              sizeof(knGroundCell));
    memset(lights, 0, sizeof(*lights));
}
