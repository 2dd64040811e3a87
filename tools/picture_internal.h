// SPDX-License-Identifier: Zlib
#pragma once

// The rooms of the renderer: scene, rasteriser, light maps, shading, text.

#include "picture.h"

#include <stddef.h>

#define KN_TILE_SIZE    32     // pixels per side
#define KN_NEAR_DEPTH   1.0e-4 // in scene radii
#define KN_MAX_SUN_MAPS 12
#define KN_GOLDEN_ANGLE 2.39996323f // radians
#define KN_DEPTH_STEPS  65533.0f    // steps of depth across the scene
#define KN_GROUND_CELLS 384
#define KN_GROUND_REACH 4.0f // scene radii from the centre, where the last shadow has faded

// A triangle in homogeneous coordinates (Olano and Greer 1997): edge i is the cross product of the
// other two corners, so two triangles see exactly opposite values on a shared edge, and corners
// behind the eye need no clipping. Inside means all three edges are positive.
typedef struct knTriangleSetup
{
    double a[3], b[3], c[3];
    double inverseDet;
} knTriangleSetup;

// False for a triangle that is seen edge on.
bool knSetupTriangle(knTriangleSetup* setup, const knDVec3* p, const knDVec3* q, const knDVec3* r);

// Narrows [x0, x1) to the samples of row y inside the triangle; false when there are none.
bool knRowSpan(const knTriangleSetup* setup, int y, int* x0, int* x1);

// The library's fminf and fmaxf mind NaN and are calls.
static inline float knLeast(float a, float b)
{
    return a < b ? a : b;
}

static inline float knGreatest(float a, float b)
{
    return a > b ? a : b;
}

static inline float knClamp01(float x)
{
    return x < 0.0f ? 0.0f : (x > 1.0f ? 1.0f : x);
}

// Rises from 0 to 1 between the two; `lower` may be the greater one.
static inline float knSmoothStep(float lower, float upper, float x)
{
    float t = knClamp01((x - lower) / (upper - lower));
    return t * t * (3.0f - 2.0f * t);
}

// Proportional to the perspective-correct barycentric weights at a sample.
static inline void knEdgeValues(const knTriangleSetup* s, double x, double y, double e[3])
{
    for (int i = 0; i < 3; i++)
    {
        e[i] = s->a[i] * x + (s->b[i] * y + s->c[i]);
    }
}

typedef struct knMeshPlace
{
    size_t firstTriangle;
    knQuat rotation; // of unit length
} knMeshPlace;

// All meshes of a view in one frame: centred and scaled to a radius of 1.
typedef struct knPictureScene
{
    const knAllocator* allocator;
    const knTaskHooks* tasks;
    const knPictureMesh* meshes;
    uint32_t meshCount;
    size_t positionCount;
    size_t triangleCount;
    knVec3* positions;
    knTriangle* triangles;
    uint32_t* meshOfTriangle;
    knMeshPlace* places; // by mesh
    knDVec3 center;      // in the caller's frame
    double radius;
    float groundHeight;
    bool hasGround;
} knPictureScene;

knResult knCheckPictureView(const knPictureView* view, uint32_t index);
knResult knCreatePictureScene(knPictureScene* scene, const knPictureView* view,
                              const knAllocator* allocator, const knTaskHooks* tasks);
void knDestroyPictureScene(knPictureScene* scene);

// The camera in the scene's frame; the view looks along -back.
typedef struct knPictureEye
{
    knVec3 eye, right, up, back;
    double scale; // pixels per tangent
    double centerX, centerY;
} knPictureEye;

// `width` and `height` in pixels.
knPictureEye knMakePictureEye(const knPictureScene* scene, const knPictureView* view, int width,
                              int height);

// Depth along a direction, seen from both ends: one pass serves two opposite lights.
typedef struct knLightMap
{
    knVec3 direction, right, up;
    knVec3 upperLight, lowerLight; // radiance from `direction`, and from the other end
    float turnX, turnY;            // how its filter is turned
    uint16_t* upper;               // greatest depth per texel; 0 where there is nothing
    uint16_t* lower; // least depth; UINT16_MAX where there is nothing; null when not wanted
} knLightMap;

// Texel coordinates and depth; whole numbers are texel centres. Depth stays between the two values
// that stand for nothing, also for points outside the scene.
static inline knVec3 knMapPoint(const knLightMap* map, int size, knVec3 p)
{
    float half = 0.5f * (float)size;
    float depth = (0.5f * knDot(p, map->direction) + 0.5f) * KN_DEPTH_STEPS + 1.0f;
    return knMakeVec3(knDot(p, map->right) * half + (half - 0.5f),
                      knDot(p, map->up) * half + (half - 0.5f),
                      knLeast(knGreatest(depth, 1.0f), 65534.0f));
}

// The sky's light on the floor, on a grid: it is smooth, and blurring it hides that the sky has
// few directions.
typedef struct knGroundCell
{
    float openness; // cosine-weighted part of the sky that is seen
    float distance; // mean to what hides the rest
} knGroundCell;

typedef struct knPictureLights
{
    knLightMap sun[KN_MAX_SUN_MAPS];
    knLightMap sky[KN_MAX_SKY_DIRECTIONS];
    int sunCount, skyCount;
    int sunSize, skySize; // texels per side
    uint16_t* sunTexels;
    uint16_t* skyTexels;
    knGroundCell* ground; // KN_GROUND_CELLS squared; the floor around the scene
    knVec3 sunDirection;
    float sunSpread; // radians across
} knPictureLights;

knResult knCreatePictureLights(knPictureLights* lights, const knPictureScene* scene,
                               const knPictureView* view, int skyDirections, int pixelSize);
void knDestroyPictureLights(knPictureLights* lights, const knPictureScene* scene);

// The part of the sun that is seen, in [0, 1]. The normal lifts the point off its own surface; zero
// for points that cast no shadow themselves.
float knSunVisibility(const knPictureLights* lights, knVec3 point, knVec3 geometricNormal);

// What a mirror would see of the studio.
knVec3 knStudioRadiance(const knPictureLights* lights, knVec3 direction);

typedef struct knSkyLight
{
    knVec3 light;   // irradiance / pi
    float openness; // light over what an open sky would give
} knSkyLight;

// The point is lifted along the geometric normal, so that a surface does not shade itself.
knSkyLight knGatherSky(const knPictureLights* lights, const knPictureScene* scene, knVec3 point,
                       knVec3 normal, knVec3 geometricNormal);

// Fills `ground` from the maps of the sky.
knResult knLightGround(knPictureLights* lights, const knPictureScene* scene);

// The part of the sky that a point of the floor sees, in [0, 1].
float knGroundOpenness(const knPictureLights* lights, knVec3 point);

// Triangles by tile, and where their corners fall.
typedef struct knPictureBins
{
    knDVec3* corners;   // per position, homogeneous, in samples
    size_t* tileStarts; // tileCount + 1
    uint32_t* triangles;
    size_t positionCount;
    size_t tileCount;
    size_t triangleCount;
    int tilesX, tilesY;
    int samples;
} knPictureBins;

knResult knCreatePictureBins(knPictureBins* bins, const knPictureScene* scene,
                             const knPictureEye* camera, int width, int height, int samples);
void knDestroyPictureBins(knPictureBins* bins, const knPictureScene* scene);

// Nearest triangle per sample of one tile.
typedef struct knTileBuffer
{
    float* depth; // 1 / distance
    uint32_t* triangle;
} knTileBuffer;

void knRasterTile(const knPictureBins* bins, const knPictureScene* scene, int tile,
                  knTileBuffer* buffer);

typedef struct knViewContext
{
    const knPictureDef* def;
    const knPictureView* view;
    const knPictureScene* scene;
    const knPictureLights* lights;
    const knPictureBins* bins;
    knPictureEye camera;
    int x, y, width, height; // pixels
    knTileBuffer* buffers;   // by worker
    knPicture* picture;
} knViewContext;

void knShadeTile(const knViewContext* context, int tile, const knTileBuffer* buffer);

knVec3 knLinearFromSrgb(knVec3 color);
knVec3 knSrgbFromLinear(knVec3 color);

// Bytes with half a step of ordered noise, so that soft gradients show no bands.
void knStorePixel(knPicture* picture, int x, int y, knVec3 linearColor);

void knDrawLabel(knPicture* picture, const knPictureLabel* label);
