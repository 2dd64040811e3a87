// SPDX-License-Identifier: Zlib

// From the triangles of a tile to its pixels: samples of a pixel that lie on one smooth patch are
// shaded once, so edges are antialiased at little more than the price of one sample.

#include "picture_internal.h"

#include <math.h>
#include <string.h>

#define MAX_PATCHES 16 // per pixel

static const knVec3 sunLight = {0.94f, 0.90f, 0.83f}; // irradiance / pi
static const knVec3 rimLight = {0.42f, 0.45f, 0.50f};
static const float roughness = 0.34f;

static knVec3 Multiply(knVec3 a, knVec3 b)
{
    return knMakeVec3(a.x * b.x, a.y * b.y, a.z * b.z);
}

static float LinearChannel(float c)
{
    c = knClamp01(c);
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

static float SrgbChannel(float c)
{
    c = knClamp01(c);
    return c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1.0f / 2.4f) - 0.055f;
}

knVec3 knLinearFromSrgb(knVec3 c)
{
    return knMakeVec3(LinearChannel(c.x), LinearChannel(c.y), LinearChannel(c.z));
}

knVec3 knSrgbFromLinear(knVec3 c)
{
    return knMakeVec3(SrgbChannel(c.x), SrgbChannel(c.y), SrgbChannel(c.z));
}

void knStorePixel(knPicture* picture, int x, int y, knVec3 linearColor)
{
    // interleaved gradient noise (Jimenez 2014)
    double inner = 0.06711056 * x + 0.00583715 * y;
    double outer = 52.9829189 * (inner - floor(inner));
    float noise = (float)(outer - floor(outer));
    knVec3 c = knSrgbFromLinear(linearColor);
    float channels[3] = {c.x, c.y, c.z};
    uint8_t* pixel = picture->pixels + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
    for (int i = 0; i < 3; i++)
    {
        float value = 255.0f * channels[i] + noise;
        pixel[i] = (uint8_t)(value < 255.0f ? value : 255.0f);
    }
}

// Keeps colours as they are and rolls only highlights off, towards white (after Khronos PBR
// Neutral, without its toe: our shadows shall stay open).
static knVec3 ToneMap(knVec3 c)
{
    const float start = 0.72f;
    const float rest = 1.0f - start;
    float peak = knGreatest(c.x, knGreatest(c.y, c.z));
    if (peak < start)
    {
        return c;
    }
    float newPeak = 1.0f - rest * rest / (peak + rest - start);
    c = knScale(newPeak / peak, c);
    float whitening = 1.0f - 1.0f / (0.15f * (peak - newPeak) + 1.0f);
    return knLerp(c, knMakeVec3(newPeak, newPeak, newPeak), whitening);
}

// What the rays through one pixel found: sums over its samples, then means.
typedef struct Patch
{
    uint32_t mesh;
    int count;
    knVec3 point;       // where it is
    knVec3 shadowPoint; // where its smooth surface would be
    knVec3 normal, geometricNormal;
    knVec3 color; // sRGB
    float edge;   // covered by lines
} Patch;

typedef struct TriangleCache
{
    knTriangleSetup setup;
    uint32_t triangle;
    bool isValid;
} TriangleCache;

static knVec3 Mix(const knVec3* corners, const float w[3])
{
    return knAddScaled(knAddScaled(knScale(w[0], corners[0]), w[1], corners[1]), w[2], corners[2]);
}

// Lifts the point to the smooth surface that the normals describe (Hanika 2021): the terminator of
// a coarse mesh then shows no facets.
static knVec3 SmoothPoint(knVec3 point, const knVec3* corners, const knVec3* normals,
                          const float w[3], float side)
{
    knVec3 lifted[3];
    for (int i = 0; i < 3; i++)
    {
        knVec3 n = knScale(side, normals[i]);
        float height = knDot(knSub(point, corners[i]), n);
        lifted[i] = height < 0.0f ? knAddScaled(point, -height, n) : point;
    }
    return Mix(lifted, w);
}

static knVec3 SampleColor(const knPictureMesh* mesh, size_t triangle, const float w[3])
{
    if (mesh->cornerColors)
    {
        return Mix(mesh->cornerColors + 3 * triangle, w);
    }
    return mesh->triangleColors ? mesh->triangleColors[triangle] : mesh->color;
}

// How much of the sample a line of the triangle's edges covers. Edge values are linear on the
// screen, so their gradients turn them into distances.
static float EdgeCoverage(const knTriangleSetup* s, const double e[3], const knDVec3* h[3],
                          float width, int samples)
{
    float half = 0.5f * width * (float)samples;
    float coverage = 0.0f;
    float thinnest = FLT_MAX;
    for (int i = 0; i < 3; i++)
    {
        double slope = sqrt(s->a[i] * s->a[i] + s->b[i] * s->b[i]);
        if (!(slope > 0.0))
        {
            continue;
        }
        coverage = knGreatest(coverage, knClamp01(half + 0.5f - (float)(e[i] / slope)));
        // the height of the triangle over this edge
        double height = h[i]->z > KN_NEAR_DEPTH ? 1.0 / (s->inverseDet * slope * h[i]->z) : 1.0e9;
        thinnest = knLeast(thinnest, (float)height);
    }
    // triangles hardly wider than their lines would turn black
    return coverage * knClamp01(thinnest / (8.0f * half + 1.0f));
}

static Patch SamplePatch(const knViewContext* c, TriangleCache* cache, uint32_t triangle, double x,
                         double y)
{
    const knPictureScene* scene = c->scene;
    const uint32_t* v = scene->triangles[triangle].v;
    const knDVec3* h[3] = {&c->bins->corners[v[0]], &c->bins->corners[v[1]],
                           &c->bins->corners[v[2]]};
    if (!cache->isValid || cache->triangle != triangle)
    {
        cache->isValid = knSetupTriangle(&cache->setup, h[0], h[1], h[2]);
        cache->triangle = triangle;
    }
    double e[3];
    knEdgeValues(&cache->setup, x, y, e);
    double sum = e[0] + e[1] + e[2];
    float w[3] = {(float)(e[0] / sum), (float)(e[1] / sum), (float)(e[2] / sum)};

    uint32_t meshIndex = scene->meshOfTriangle[triangle];
    const knPictureMesh* mesh = &scene->meshes[meshIndex];
    size_t local = triangle - scene->places[meshIndex].firstTriangle;
    knVec3 corners[3] = {scene->positions[v[0]], scene->positions[v[1]], scene->positions[v[2]]};
    Patch p = {.mesh = meshIndex, .count = 1, .point = Mix(corners, w)};
    p.geometricNormal =
        knNormalize(knCross(knSub(corners[1], corners[0]), knSub(corners[2], corners[0])));
    float side = knDot(p.geometricNormal, knSub(c->camera.eye, p.point)) < 0.0f ? -1.0f : 1.0f;
    p.geometricNormal = knScale(side, p.geometricNormal);
    p.normal = p.geometricNormal;
    p.shadowPoint = p.point;
    if (mesh->cornerNormals)
    {
        knVec3 normals[3];
        for (int i = 0; i < 3; i++)
        {
            normals[i] = knNormalize(knRotate(scene->places[meshIndex].rotation,
                                              mesh->cornerNormals[3 * local + (size_t)i]));
        }
        knVec3 smooth = knNormalize(knScale(side, Mix(normals, w)));
        float agreement = knDot(smooth, p.geometricNormal);
        p.normal = agreement > 0.0f ? smooth : p.geometricNormal;
        p.shadowPoint =
            agreement > 0.0f ? SmoothPoint(p.point, corners, normals, w, side) : p.point;
    }
    p.color = SampleColor(mesh, local, w);
    p.edge = mesh->edgeWidth > 0.0f
                 ? EdgeCoverage(&cache->setup, e, h, mesh->edgeWidth, c->bins->samples)
                 : 0.0f;
    return p;
}

static bool BelongsTo(const Patch* patch, const Patch* sample)
{
    float scale = 1.0f / (float)patch->count;
    knVec3 step = knSub(sample->point, knScale(scale, patch->point));
    float along = scale * knDot(patch->normal, sample->normal);
    float off = fabsf(scale * knDot(step, patch->geometricNormal));
    return patch->mesh == sample->mesh && along > 0.94f && off < 0.02f;
}

static void AddToPatch(Patch* patch, const Patch* s)
{
    patch->count += s->count;
    patch->point = knAdd(patch->point, s->point);
    patch->shadowPoint = knAdd(patch->shadowPoint, s->shadowPoint);
    patch->normal = knAdd(patch->normal, s->normal);
    patch->geometricNormal = knAdd(patch->geometricNormal, s->geometricNormal);
    patch->color = knAdd(patch->color, s->color);
    patch->edge += s->edge;
}

static int AddSample(Patch* patches, int patchCount, const Patch* sample)
{
    for (int i = 0; i < patchCount; i++)
    {
        if (BelongsTo(&patches[i], sample))
        {
            AddToPatch(&patches[i], sample);
            return patchCount;
        }
    }
    if (patchCount == MAX_PATCHES)
    {
        // a pixel this busy is noise anyway
        AddToPatch(&patches[patchCount - 1], sample);
        return patchCount;
    }
    patches[patchCount] = *sample;
    return patchCount + 1;
}

static void FinishPatch(Patch* patch)
{
    float scale = 1.0f / (float)patch->count;
    patch->point = knScale(scale, patch->point);
    patch->shadowPoint = knScale(scale, patch->shadowPoint);
    patch->normal = knNormalize(patch->normal);
    patch->geometricNormal = knNormalize(patch->geometricNormal);
    patch->color = knLinearFromSrgb(knScale(scale, patch->color));
    patch->edge *= scale;
}

static float Power5(float x)
{
    return x * x * x * x * x;
}

// GGX with the usual approximations; returns the part of the irradiance / pi that is mirrored.
static float Specular(float nl, float nv, float nh, float vh)
{
    float a2 = roughness * roughness * roughness * roughness;
    float d = nh * nh * (a2 - 1.0f) + 1.0f;
    float k = 0.5f * roughness * roughness;
    float visibility = 0.25f / ((nl * (1.0f - k) + k) * (nv * (1.0f - k) + k));
    float fresnel = 0.04f + 0.96f * Power5(1.0f - vh);
    return a2 / (d * d) * visibility * fresnel * nl;
}

// Light that bounces between bright walls brightens and tints crevices (Jimenez 2016).
static float Interreflect(float open, float albedo)
{
    float a = 2.0404f * albedo - 0.3324f;
    float b = -4.7951f * albedo + 0.6417f;
    float c = 2.7552f * albedo + 0.6903f;
    return knGreatest(1.0f, (open * a + b) * open + c);
}

static knVec3 DiffuseLight(const Patch* p, knVec3 sun, const knSkyLight* sky)
{
    knVec3 bounced = knMakeVec3(sky->light.x * Interreflect(sky->openness, p->color.x),
                                sky->light.y * Interreflect(sky->openness, p->color.y),
                                sky->light.z * Interreflect(sky->openness, p->color.z));
    return Multiply(p->color, knAdd(sun, bounced));
}

static knVec3 ShadePatch(const knViewContext* c, const Patch* p)
{
    knVec3 eye = knNormalize(knSub(c->camera.eye, p->point));
    knVec3 n = p->normal;
    knVec3 l = c->lights->sunDirection;
    float nv = knGreatest(knDot(n, eye), 0.02f);
    float nl = knGreatest(knDot(n, l), 0.0f);
    float visible =
        nl > 0.0f ? knSunVisibility(c->lights, p->shadowPoint, p->geometricNormal) : 0.0f;
    knSkyLight sky = knGatherSky(c->lights, c->scene, p->point, n, p->geometricNormal);
    knVec3 color = DiffuseLight(p, knScale(nl * visible, sunLight), &sky);

    knVec3 half = knNormalize(knAdd(eye, l));
    float shine = Specular(nl, nv, knClamp01(knDot(n, half)), knClamp01(knDot(eye, half)));
    color = knAddScaled(color, knLeast(shine, 4.0f) * visible, sunLight);
    float grazing = Power5(1.0f - knClamp01(nv));
    knVec3 mirror = knSub(knScale(2.0f * knDot(n, eye), n), eye);
    color = knAddScaled(color, (0.035f + 0.4f * grazing) * sky.openness,
                        knStudioRadiance(c->lights, mirror));
    // from behind and above: parts dark objects from the backdrop
    knVec3 behind = knNormalize(knAddScaled(knNeg(c->camera.back), 0.9f, c->camera.up));
    float away = 1.0f - knClamp01(nv);
    float rim = away * away * away * knGreatest(0.0f, knDot(n, behind)) * sky.openness;
    color = knAddScaled(color, rim, rimLight);
    color = ToneMap(knScale(c->view->exposure, color));
    knVec3 line = knLinearFromSrgb(c->scene->meshes[p->mesh].edgeColor);
    return knLerp(color, line, 0.85f * p->edge);
}

static knVec3 Backdrop(const knViewContext* c, double x, double y)
{
    float u = (float)(x / c->width) - 0.5f;
    float v = (float)(y / c->height) - 0.5f;
    knVec3 top = knLinearFromSrgb(c->view->backgroundTop);
    knVec3 bottom = knLinearFromSrgb(c->view->backgroundBottom);
    float vignette = 1.0f - 0.25f * knSmoothStep(0.25f, 1.0f, sqrtf(u * u + v * v) * 1.25f);
    return knScale(vignette, knLerp(top, bottom, knSmoothStep(-0.5f, 0.5f, v)));
}

// The floor is the backdrop itself: only the shadows on it are drawn, and they fade out.
static knVec3 ShadeBackground(const knViewContext* c, double x, double y)
{
    knVec3 color = Backdrop(c, x, y);
    const knPictureEye* camera = &c->camera;
    float height = camera->eye.y - c->scene->groundHeight;
    knVec3 ray = knAddScaled(knScale((float)((x - camera->centerX) / camera->scale), camera->right),
                             (float)((camera->centerY - y) / camera->scale), camera->up);
    ray = knSub(ray, camera->back);
    if (!c->scene->hasGround || height <= 0.0f || ray.y >= 0.0f)
    {
        return color;
    }
    knVec3 point = knAddScaled(camera->eye, height / -ray.y, ray);
    float reach = sqrtf(point.x * point.x + point.z * point.z);
    float fade = 1.0f - knSmoothStep(1.5f, KN_GROUND_REACH, reach);
    if (!(fade > 0.0f))
    {
        return color;
    }
    knVec3 up = {0.0f, 0.0f, 0.0f};
    float sun = knSunVisibility(c->lights, point, up);
    float open = knGroundOpenness(c->lights, point);
    float lit = 0.42f * sun + 0.58f * open * (0.35f + 0.65f * open);
    return knScale(1.0f - fade * (1.0f - lit), color);
}

// The samples of one pixel.
typedef struct PixelSamples
{
    const uint32_t* triangles; // the first one
    int stride;                // from row to row
    int count;                 // per axis
    int x, y;                  // of the first one in the view
} PixelSamples;

// Most pixels lie in one triangle: their centre speaks for all samples, unless lines cross them.
static bool IsUniform(const knPictureScene* scene, const PixelSamples* s)
{
    uint32_t first = s->triangles[0];
    for (int i = 1; i < s->count * s->count; i++)
    {
        if (s->triangles[i / s->count * s->stride + i % s->count] != first)
        {
            return false;
        }
    }
    return first != KN_NONE && !(scene->meshes[scene->meshOfTriangle[first]].edgeWidth > 0.0f);
}

// Returns how many patches there are; the samples that hit nothing are counted.
static int GatherPatches(const knViewContext* c, const PixelSamples* s, Patch* patches,
                         int* emptyCount)
{
    TriangleCache cache = {.isValid = false};
    int patchCount = 0;
    for (int i = 0; i < s->count * s->count; i++)
    {
        int x = i % s->count;
        int y = i / s->count;
        uint32_t triangle = s->triangles[y * s->stride + x];
        if (triangle == KN_NONE)
        {
            *emptyCount += 1;
            continue;
        }
        Patch sample = SamplePatch(c, &cache, triangle, s->x + x, s->y + y);
        patchCount = AddSample(patches, patchCount, &sample);
    }
    return patchCount;
}

static knVec3 ShadePixel(const knViewContext* c, const PixelSamples* s)
{
    double middle = 0.5 * (s->count - 1);
    if (IsUniform(c->scene, s))
    {
        TriangleCache cache = {.isValid = false};
        Patch patch = SamplePatch(c, &cache, s->triangles[0], s->x + middle, s->y + middle);
        FinishPatch(&patch);
        return ShadePatch(c, &patch);
    }
    Patch patches[MAX_PATCHES];
    int emptyCount = 0;
    int patchCount = GatherPatches(c, s, patches, &emptyCount);
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < patchCount; i++)
    {
        FinishPatch(&patches[i]);
        sum = knAddScaled(sum, (float)patches[i].count, ShadePatch(c, &patches[i]));
    }
    if (emptyCount > 0)
    {
        double x = (s->x + middle + 0.5) / s->count;
        double y = (s->y + middle + 0.5) / s->count;
        sum = knAddScaled(sum, (float)emptyCount, ShadeBackground(c, x, y));
    }
    return knScale(1.0f / (float)(s->count * s->count), sum);
}

void knShadeTile(const knViewContext* c, int tile, const knTileBuffer* buffer)
{
    int left = (tile % c->bins->tilesX) * KN_TILE_SIZE;
    int top = (tile / c->bins->tilesX) * KN_TILE_SIZE;
    int samples = c->bins->samples;
    int stride = KN_TILE_SIZE * samples;
    for (int y = 0; y < KN_TILE_SIZE && top + y < c->height; y++)
    {
        for (int x = 0; x < KN_TILE_SIZE && left + x < c->width; x++)
        {
            PixelSamples s = {buffer->triangle + samples * (y * stride + x), stride, samples,
                              samples * (left + x), samples * (top + y)};
            knStorePixel(c->picture, c->x + left + x, c->y + top + y, ShadePixel(c, &s));
        }
    }
}
