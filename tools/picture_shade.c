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
    c = Clamp01(c);
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

static float SrgbChannel(float c)
{
    c = Clamp01(c);
    return c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1.0f / 2.4f) - 0.055f;
}

knVec3 LinearFromSrgb(knVec3 c)
{
    return knMakeVec3(LinearChannel(c.x), LinearChannel(c.y), LinearChannel(c.z));
}

knVec3 SrgbFromLinear(knVec3 c)
{
    return knMakeVec3(SrgbChannel(c.x), SrgbChannel(c.y), SrgbChannel(c.z));
}

void StorePixel(knPicture* picture, int x, int y, knVec3 linearColor)
{
    // interleaved gradient noise (Jimenez 2014)
    double inner = 0.06711056 * x + 0.00583715 * y;
    double outer = 52.9829189 * (inner - floor(inner));
    float noise = (float)(outer - floor(outer));
    knVec3 c = SrgbFromLinear(linearColor);
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
    float peak = Greatest(c.x, Greatest(c.y, c.z));
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
    TriangleSetup setup;
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
static float EdgeCoverage(const TriangleSetup* s, const double e[3], const knDVec3* h[3],
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
        coverage = Greatest(coverage, Clamp01(half + 0.5f - (float)(e[i] / slope)));
        // the height of the triangle over this edge
        double height = h[i]->z > NEAR_DEPTH ? 1.0 / (s->inverseDet * slope * h[i]->z) : 1.0e9;
        thinnest = Least(thinnest, (float)height);
    }
    // triangles hardly wider than their lines would turn black
    return coverage * Clamp01(thinnest / (8.0f * half + 1.0f));
}

static Patch SamplePatch(const ViewContext* c, TriangleCache* cache, uint32_t triangle, double x,
                         double y)
{
    const Scene* scene = c->scene;
    const uint32_t* v = scene->triangles[triangle].v;
    const knDVec3* h[3] = {&c->bins->corners[v[0]], &c->bins->corners[v[1]],
                           &c->bins->corners[v[2]]};
    if (!cache->isValid || cache->triangle != triangle)
    {
        cache->isValid = SetupTriangle(&cache->setup, h[0], h[1], h[2]);
        cache->triangle = triangle;
    }
    double e[3];
    EdgeValues(&cache->setup, x, y, e);
    double sum = e[0] + e[1] + e[2];
    float w[3] = {(float)(e[0] / sum), (float)(e[1] / sum), (float)(e[2] / sum)};

    uint32_t meshIndex = scene->meshOfTriangle[triangle];
    const knPictureMesh* mesh = &scene->meshes[meshIndex];
    size_t local = triangle - scene->firstTriangles[meshIndex];
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
            normals[i] = knNormalize(
                knRotate(mesh->transform.rotation, mesh->cornerNormals[3 * local + (size_t)i]));
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
    patch->color = LinearFromSrgb(knScale(scale, patch->color));
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
    return Greatest(1.0f, (open * a + b) * open + c);
}

static knVec3 DiffuseLight(const ViewContext* c, const Patch* p, knVec3 sun, const SkyLight* sky)
{
    knVec3 bounced = knMakeVec3(sky->light.x * Interreflect(sky->openness, p->color.x),
                                sky->light.y * Interreflect(sky->openness, p->color.y),
                                sky->light.z * Interreflect(sky->openness, p->color.z));
    (void)c;
    return Multiply(p->color, knAdd(sun, bounced));
}

static knVec3 ShadePatch(const ViewContext* c, const Patch* p)
{
    knVec3 eye = knNormalize(knSub(c->camera.eye, p->point));
    knVec3 n = p->normal;
    knVec3 l = c->lights->sunDirection;
    float nv = Greatest(knDot(n, eye), 0.02f);
    float nl = Greatest(knDot(n, l), 0.0f);
    float visible = nl > 0.0f ? SunVisibility(c->lights, p->shadowPoint, p->geometricNormal) : 0.0f;
    SkyLight sky = GatherSky(c->lights, c->scene, p->point, n, p->geometricNormal);
    knVec3 color = DiffuseLight(c, p, knScale(nl * visible, sunLight), &sky);

    knVec3 half = knNormalize(knAdd(eye, l));
    float shine = Specular(nl, nv, Clamp01(knDot(n, half)), Clamp01(knDot(eye, half)));
    color = knAddScaled(color, Least(shine, 4.0f) * visible, sunLight);
    float grazing = Power5(1.0f - Clamp01(nv));
    knVec3 mirror = knSub(knScale(2.0f * knDot(n, eye), n), eye);
    color = knAddScaled(color, (0.035f + 0.4f * grazing) * sky.openness,
                        StudioRadiance(c->lights, mirror));
    // from behind and above: parts dark objects from the backdrop
    knVec3 behind = knNormalize(knAddScaled(knNeg(c->camera.back), 0.9f, c->camera.up));
    float away = 1.0f - Clamp01(nv);
    float rim = away * away * away * Greatest(0.0f, knDot(n, behind)) * sky.openness;
    color = knAddScaled(color, rim, rimLight);
    color = ToneMap(knScale(c->view->exposure, color));
    knVec3 line = LinearFromSrgb(c->scene->meshes[p->mesh].edgeColor);
    return knLerp(color, line, 0.85f * p->edge);
}

static knVec3 Backdrop(const ViewContext* c, double x, double y)
{
    float u = (float)(x / c->width) - 0.5f;
    float v = (float)(y / c->height) - 0.5f;
    knVec3 top = LinearFromSrgb(c->view->backgroundTop);
    knVec3 bottom = LinearFromSrgb(c->view->backgroundBottom);
    float vignette = 1.0f - 0.25f * Smooth(0.25f, 1.0f, sqrtf(u * u + v * v) * 1.25f);
    return knScale(vignette, knLerp(top, bottom, Smooth(-0.5f, 0.5f, v)));
}

// The floor is the backdrop itself: only the shadows on it are drawn, and they fade out.
static knVec3 ShadeBackground(const ViewContext* c, double x, double y)
{
    knVec3 color = Backdrop(c, x, y);
    const Camera* camera = &c->camera;
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
    float fade = 1.0f - Smooth(1.5f, GROUND_REACH, reach);
    if (!(fade > 0.0f))
    {
        return color;
    }
    knVec3 up = {0.0f, 0.0f, 0.0f};
    float sun = SunVisibility(c->lights, point, up);
    float open = GroundOpenness(c->lights, point);
    float lit = 0.42f * sun + 0.58f * open * (0.35f + 0.65f * open);
    return knScale(1.0f - fade * (1.0f - lit), color);
}

static knVec3 ShadePixel(const ViewContext* c, const TileBuffer* buffer, int tile, int px, int py)
{
    int samples = c->bins->samples;
    int size = TILE_SIZE * samples;
    int tileX = (tile % c->bins->tilesX) * size;
    int tileY = (tile / c->bins->tilesX) * size;
    Patch patches[MAX_PATCHES];
    TriangleCache cache = {.isValid = false};
    int patchCount = 0;
    int emptyCount = 0;
    for (int i = 0; i < samples * samples; i++)
    {
        int x = px * samples + i % samples;
        int y = py * samples + i / samples;
        uint32_t triangle = buffer->triangle[y * size + x];
        if (triangle == NOTHING)
        {
            emptyCount++;
            continue;
        }
        Patch sample = SamplePatch(c, &cache, triangle, tileX + x, tileY + y);
        patchCount = AddSample(patches, patchCount, &sample);
    }
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < patchCount; i++)
    {
        FinishPatch(&patches[i]);
        sum = knAddScaled(sum, (float)patches[i].count, ShadePatch(c, &patches[i]));
    }
    if (emptyCount > 0)
    {
        double x = (double)tileX / samples + px + 0.5;
        double y = (double)tileY / samples + py + 0.5;
        sum = knAddScaled(sum, (float)emptyCount, ShadeBackground(c, x, y));
    }
    return knScale(1.0f / (float)(samples * samples), sum);
}

void ShadeTile(const ViewContext* c, int tile, const TileBuffer* buffer)
{
    int left = (tile % c->bins->tilesX) * TILE_SIZE;
    int top = (tile / c->bins->tilesX) * TILE_SIZE;
    for (int y = 0; y < TILE_SIZE && top + y < c->height; y++)
    {
        for (int x = 0; x < TILE_SIZE && left + x < c->width; x++)
        {
            knVec3 color = ShadePixel(c, buffer, tile, x, y);
            StorePixel(c->picture, c->x + left + x, c->y + top + y, color);
        }
    }
}
