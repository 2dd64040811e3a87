// SPDX-License-Identifier: Zlib

// The rasteriser: homogeneous triangles, sorted into tiles, nearest triangle per sample.

#include "picture_internal.h"

#include <math.h>
#include <string.h>

bool knSetupTriangle(knTriangleSetup* setup, const knDVec3* p, const knDVec3* q, const knDVec3* r)
{
    knDVec3 e[3] = {knDCross(*q, *r), knDCross(*r, *p), knDCross(*p, *q)};
    double det = knDDot(*p, e[0]);
    if (!(fabs(det) > DBL_MIN))
    {
        return false;
    }
    double sign = det > 0.0 ? 1.0 : -1.0;
    for (int i = 0; i < 3; i++)
    {
        setup->a[i] = sign * e[i].x;
        setup->b[i] = sign * e[i].y;
        setup->c[i] = sign * e[i].z;
    }
    setup->inverseDet = 1.0 / fabs(det);
    return true;
}

// A sample on a shared edge belongs to exactly one of the two triangles.
static inline bool IsInside(double a, double b, double row, int x)
{
    double e = a * x + row;
    return e > 0.0 || (e == 0.0 && (a > 0.0 || (a == 0.0 && b > 0.0)));
}

bool knRowSpan(const knTriangleSetup* setup, int y, int* x0, int* x1)
{
    int lower = *x0;
    int upper = *x1;
    for (int i = 0; i < 3 && lower < upper; i++)
    {
        double a = setup->a[i];
        double b = setup->b[i];
        double row = b * y + setup->c[i];
        // rounding is monotone, so the exact test changes once along the row: a long row starts
        // next to the change, a short one is walked
        double cross = a != 0.0 && upper - lower > 6 ? -row / a : (double)NAN;
        if (a > 0.0)
        {
            lower = cross > lower + 2.0 ? (cross < upper ? (int)cross - 1 : upper) : lower;
            while (lower < upper && !IsInside(a, b, row, lower))
            {
                lower++;
            }
        }
        else
        {
            upper = cross < upper - 3.0 ? (cross > lower ? (int)cross + 2 : lower) : upper;
            while (lower < upper && !IsInside(a, b, row, upper - 1))
            {
                upper--;
            }
        }
    }
    *x0 = lower;
    *x1 = upper;
    return lower < upper;
}

typedef struct ProjectContext
{
    const knPictureScene* scene;
    const knPictureEye* camera;
    knPictureBins* bins;
} ProjectContext;

static void ProjectTask(int begin, int end, int worker, void* user)
{
    (void)worker;
    ProjectContext* c = user;
    const knPictureEye* camera = c->camera;
    knDVec3 eye = knToDouble(camera->eye);
    double samples = c->bins->samples;
    for (int i = begin; i < end; i++)
    {
        knDVec3 d = knDSub(knToDouble(c->scene->positions[i]), eye);
        double x = knDDot(d, knToDouble(camera->right));
        double y = knDDot(d, knToDouble(camera->up));
        double w = -knDDot(d, knToDouble(camera->back));
        // sample centres fall on whole numbers
        c->bins->corners[i] =
            knMakeDVec3(samples * (camera->scale * x + camera->centerX * w) - 0.5 * w,
                        samples * (-camera->scale * y + camera->centerY * w) - 0.5 * w, w);
    }
}

typedef struct TileRange
{
    int x0, y0, x1, y1; // inclusive
} TileRange;

static int ClampTile(double sample, int tileSamples, int tileCount)
{
    double tile = floor(sample / tileSamples);
    return (int)fmin(fmax(tile, -1.0), tileCount);
}

// Empty when x0 > x1 or y0 > y1.
static TileRange TrianglesTiles(const knPictureBins* bins, const knTriangle* triangle)
{
    double lower[2] = {DBL_MAX, DBL_MAX};
    double upper[2] = {-DBL_MAX, -DBL_MAX};
    int behindCount = 0;
    for (int i = 0; i < 3; i++)
    {
        knDVec3 h = bins->corners[triangle->v[i]];
        if (h.z < KN_NEAR_DEPTH)
        {
            behindCount++;
            continue;
        }
        lower[0] = fmin(lower[0], h.x / h.z);
        lower[1] = fmin(lower[1], h.y / h.z);
        upper[0] = fmax(upper[0], h.x / h.z);
        upper[1] = fmax(upper[1], h.y / h.z);
    }
    TileRange none = {0, 0, -1, -1};
    TileRange all = {0, 0, bins->tilesX - 1, bins->tilesY - 1};
    if (behindCount > 0)
    {
        return behindCount == 3 ? none : all;
    }
    int size = KN_TILE_SIZE * bins->samples;
    // a sliver between two rows or columns of samples covers nothing
    if (ceil(lower[0]) > floor(upper[0]) || ceil(lower[1]) > floor(upper[1]))
    {
        return none;
    }
    TileRange range = {
        ClampTile(lower[0], size, bins->tilesX), ClampTile(lower[1], size, bins->tilesY),
        ClampTile(upper[0], size, bins->tilesX), ClampTile(upper[1], size, bins->tilesY)};
    range.x0 = range.x0 > 0 ? range.x0 : 0;
    range.y0 = range.y0 > 0 ? range.y0 : 0;
    range.x1 = range.x1 < bins->tilesX ? range.x1 : bins->tilesX - 1;
    range.y1 = range.y1 < bins->tilesY ? range.y1 : bins->tilesY - 1;
    return range;
}

// Without a list it only counts, into the slot after the tile's own. Ascending by triangle.
static void FillBins(knPictureBins* bins, const knPictureScene* scene)
{
    for (size_t i = 0; i < scene->triangleCount; i++)
    {
        TileRange range = TrianglesTiles(bins, &scene->triangles[i]);
        for (int y = range.y0; y <= range.y1; y++)
        {
            for (int x = range.x0; x <= range.x1; x++)
            {
                size_t tile = (size_t)y * (size_t)bins->tilesX + (size_t)x;
                if (bins->triangles)
                {
                    bins->triangles[bins->tileStarts[tile]] = (uint32_t)i;
                    bins->tileStarts[tile]++;
                }
                else
                {
                    bins->tileStarts[tile + 1]++;
                }
            }
        }
    }
}

static knResult SortIntoTiles(knPictureBins* bins, const knPictureScene* scene)
{
    size_t* starts = bins->tileStarts;
    memset(starts, 0, (bins->tileCount + 1) * sizeof(size_t));
    FillBins(bins, scene);
    for (size_t i = 0; i < bins->tileCount; i++)
    {
        starts[i + 1] += starts[i];
    }
    bins->triangleCount = starts[bins->tileCount];
    if (bins->triangleCount == 0)
    {
        return kn_success;
    }
    bins->triangles = knAllocate(scene->allocator, bins->triangleCount, sizeof(uint32_t));
    if (!bins->triangles)
    {
        return kn_errorMemory;
    }
    FillBins(bins, scene);
    // each start has moved on to the next one
    memmove(starts + 1, starts, bins->tileCount * sizeof(size_t));
    starts[0] = 0;
    return kn_success;
}

knResult knCreatePictureBins(knPictureBins* bins, const knPictureScene* scene,
                             const knPictureEye* camera, int width, int height, int samples)
{
    memset(bins, 0, sizeof(*bins));
    bins->samples = samples;
    bins->tilesX = (width + KN_TILE_SIZE - 1) / KN_TILE_SIZE;
    bins->tilesY = (height + KN_TILE_SIZE - 1) / KN_TILE_SIZE;
    bins->tileCount = (size_t)bins->tilesX * (size_t)bins->tilesY;
    bins->positionCount = scene->positionCount;
    bins->corners = knAllocate(scene->allocator, bins->positionCount, sizeof(knDVec3));
    bins->tileStarts = knAllocate(scene->allocator, bins->tileCount + 1, sizeof(size_t));
    knResult result = kn_errorMemory;
    if (bins->corners && bins->tileStarts)
    {
        ProjectContext context = {scene, camera, bins};
        knParallelFor(scene->tasks, (int)scene->positionCount, 4096, ProjectTask, &context);
        result = SortIntoTiles(bins, scene);
    }
    if (result != kn_success)
    {
        knDestroyPictureBins(bins, scene);
    }
    return result;
}

void knDestroyPictureBins(knPictureBins* bins, const knPictureScene* scene)
{
    knRelease(scene->allocator, bins->corners, bins->positionCount, sizeof(knDVec3));
    knRelease(scene->allocator, bins->tileStarts, bins->tileCount + 1, sizeof(size_t));
    knRelease(scene->allocator, bins->triangles, bins->triangleCount, sizeof(uint32_t));
    memset(bins, 0, sizeof(*bins));
}

typedef struct Bounds
{
    int x0, y0, x1, y1; // half-open, samples
    float depthLower, depthUpper;
} Bounds;

// What of the tile the triangle can touch, and between which depths.
static Bounds TriangleBounds(const knDVec3* corners[3], Bounds bounds)
{
    double lower[3] = {DBL_MAX, DBL_MAX, DBL_MAX};
    double upper[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
    for (int i = 0; i < 3; i++)
    {
        if (corners[i]->z < KN_NEAR_DEPTH)
        {
            return bounds;
        }
        double inverse = 1.0 / corners[i]->z;
        double value[3] = {corners[i]->x * inverse, corners[i]->y * inverse, inverse};
        for (int k = 0; k < 3; k++)
        {
            lower[k] = fmin(lower[k], value[k]);
            upper[k] = fmax(upper[k], value[k]);
        }
    }
    // one sample wider than exact: the edges decide
    bounds.x0 = (int)fmax(bounds.x0, fmin(floor(lower[0]), bounds.x1));
    bounds.y0 = (int)fmax(bounds.y0, fmin(floor(lower[1]), bounds.y1));
    bounds.x1 = (int)fmin(bounds.x1, fmax(ceil(upper[0]) + 1.0, bounds.x0));
    bounds.y1 = (int)fmin(bounds.y1, fmax(ceil(upper[1]) + 1.0, bounds.y0));
    bounds.depthLower = (float)lower[2];
    bounds.depthUpper = (float)upper[2];
    return bounds;
}

static void RasterTriangle(knTileBuffer* buffer, const knTriangleSetup* s, uint32_t triangle,
                           Bounds tile, Bounds bounds)
{
    double a = (s->a[0] + s->a[1] + s->a[2]) * s->inverseDet;
    double b = (s->b[0] + s->b[1] + s->b[2]) * s->inverseDet;
    double c = (s->c[0] + s->c[1] + s->c[2]) * s->inverseDet;
    for (int y = bounds.y0; y < bounds.y1; y++)
    {
        int x0 = bounds.x0;
        int x1 = bounds.x1;
        if (!knRowSpan(s, y, &x0, &x1))
        {
            continue;
        }
        size_t row = (size_t)(y - tile.y0) * (size_t)(tile.x1 - tile.x0);
        double depthRow = b * y + c;
        for (int x = x0; x < x1; x++)
        {
            float depth = (float)(a * x + depthRow);
            // triangles seen almost edge on extrapolate badly
            depth = depth < bounds.depthLower ? bounds.depthLower : depth;
            depth = depth > bounds.depthUpper ? bounds.depthUpper : depth;
            size_t i = row + (size_t)(x - tile.x0);
            if (depth > buffer->depth[i])
            {
                buffer->depth[i] = depth;
                buffer->triangle[i] = triangle;
            }
        }
    }
}

void knRasterTile(const knPictureBins* bins, const knPictureScene* scene, int tile,
                  knTileBuffer* buffer)
{
    int size = KN_TILE_SIZE * bins->samples;
    int x = (tile % bins->tilesX) * size;
    int y = (tile / bins->tilesX) * size;
    Bounds all = {x, y, x + size, y + size, 0.0f, (float)(1.0 / KN_NEAR_DEPTH)};
    for (int i = 0; i < size * size; i++)
    {
        buffer->depth[i] = 0.0f;
        buffer->triangle[i] = KN_NONE;
    }
    for (size_t i = bins->tileStarts[tile]; i < bins->tileStarts[tile + 1]; i++)
    {
        uint32_t index = bins->triangles[i];
        const uint32_t* v = scene->triangles[index].v;
        const knDVec3* corners[3] = {&bins->corners[v[0]], &bins->corners[v[1]],
                                     &bins->corners[v[2]]};
        knTriangleSetup setup;
        if (knSetupTriangle(&setup, corners[0], corners[1], corners[2]))
        {
            RasterTriangle(buffer, &setup, index, all, TriangleBounds(corners, all));
        }
    }
}
