// SPDX-License-Identifier: Zlib
#pragma once

// The rooms of the renderer: scene, rasteriser, light maps, shading, text.

#include "picture.h"

#include <stddef.h>

#define TILE_SIZE     32     // pixels per side
#define NEAR_DEPTH    1.0e-4 // in scene radii
#define NOTHING       UINT32_MAX
#define MAX_SUN_COUNT 16
#define GOLDEN_ANGLE  2.39996323f // radians
#define DEPTH_SCALE   65533.0f    // steps of depth across the scene
#define GROUND_CELLS  384
#define GROUND_REACH  4.0f // scene radii from the centre, where the last shadow has faded

// A triangle in homogeneous coordinates (Olano and Greer 1997): edge i is the cross product of the
// other two corners, so two triangles see exactly opposite values on a shared edge, and corners
// behind the eye need no clipping. Inside means all three edges are positive.
typedef struct TriangleSetup
{
    double a[3], b[3], c[3];
    double inverseDet;
} TriangleSetup;

// False for a triangle that is seen edge on.
bool SetupTriangle(TriangleSetup* setup, const knDVec3* p, const knDVec3* q, const knDVec3* r);

// Narrows [x0, x1) to the samples of row y inside the triangle; false when there are none.
bool RowSpan(const TriangleSetup* setup, int y, int* x0, int* x1);

// The library's fminf and fmaxf mind NaN and are calls.
static inline float Least(float a, float b)
{
    return a < b ? a : b;
}

static inline float Greatest(float a, float b)
{
    return a > b ? a : b;
}

static inline float Clamp01(float x)
{
    return x < 0.0f ? 0.0f : (x > 1.0f ? 1.0f : x);
}

// Rises from 0 to 1 between the two; `lower` may be the greater one.
static inline float Smooth(float lower, float upper, float x)
{
    float t = Clamp01((x - lower) / (upper - lower));
    return t * t * (3.0f - 2.0f * t);
}

// Proportional to the perspective-correct barycentric weights at a sample.
static inline void EdgeValues(const TriangleSetup* s, double x, double y, double e[3])
{
    for (int i = 0; i < 3; i++)
    {
        e[i] = s->a[i] * x + (s->b[i] * y + s->c[i]);
    }
}

// All meshes of a view in one frame: centred and scaled to a radius of 1.
typedef struct Scene
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
    size_t* firstTriangles; // by mesh
    knDVec3 center;         // in the caller's frame
    double radius;
    float groundHeight;
    bool hasGround;
} Scene;

knResult CheckView(const knPictureView* view, uint32_t index);
knResult BuildScene(Scene* scene, const knPictureView* view, const knAllocator* allocator,
                    const knTaskHooks* tasks);
void DestroyScene(Scene* scene);

// The camera in the scene's frame; the view looks along -back.
typedef struct Camera
{
    knVec3 eye, right, up, back;
    double scale; // pixels per tangent
    double centerX, centerY;
} Camera;

// `width` and `height` in pixels.
Camera MakeCamera(const Scene* scene, const knPictureView* view, int width, int height);

// Depth along a direction, seen from both ends: one pass serves two opposite lights.
typedef struct LightMap
{
    knVec3 direction, right, up;
    knVec3 upperLight, lowerLight; // radiance from `direction`, and from the other end
    float turnX, turnY;            // how its filter is turned
    uint16_t* upper;               // greatest depth per texel; 0 where there is nothing
    uint16_t* lower; // least depth; UINT16_MAX where there is nothing; null when not wanted
} LightMap;

// Texel coordinates and depth; whole numbers are texel centres. Depth stays between the two values
// that stand for nothing, also for points outside the scene.
static inline knVec3 MapPoint(const LightMap* map, int size, knVec3 p)
{
    float half = 0.5f * (float)size;
    float depth = (0.5f * knDot(p, map->direction) + 0.5f) * DEPTH_SCALE + 1.0f;
    return knMakeVec3(knDot(p, map->right) * half + (half - 0.5f),
                      knDot(p, map->up) * half + (half - 0.5f),
                      Least(Greatest(depth, 1.0f), 65534.0f));
}

// The sky's light on the floor, on a grid: it is smooth, and blurring it hides that the sky has
// few directions.
typedef struct GroundCell
{
    float openness; // cosine-weighted part of the sky that is seen
    float distance; // mean to what hides the rest
} GroundCell;

typedef struct Lights
{
    LightMap sun[MAX_SUN_COUNT];
    LightMap sky[KN_MAX_SKY_DIRECTIONS];
    int sunCount, skyCount;
    int sunSize, skySize; // texels per side
    uint16_t* sunTexels;
    uint16_t* skyTexels;
    GroundCell* ground; // GROUND_CELLS squared; the floor around the scene
    knVec3 sunDirection;
    float sunSpread; // radians across
} Lights;

knResult CreateLights(Lights* lights, const Scene* scene, const knPictureView* view,
                      int skyDirections, int pixelSize);
void DestroyLights(Lights* lights, const Scene* scene);

// The part of the sun that is seen, in [0, 1]. The normal lifts the point off its own surface; zero
// for points that cast no shadow themselves.
float SunVisibility(const Lights* lights, knVec3 point, knVec3 geometricNormal);

// What a mirror would see of the studio.
knVec3 StudioRadiance(const Lights* lights, knVec3 direction);

typedef struct SkyLight
{
    knVec3 light;   // irradiance / pi
    float openness; // light over what an open sky would give
} SkyLight;

// The point is lifted along the geometric normal, so that a surface does not shade itself.
SkyLight GatherSky(const Lights* lights, const Scene* scene, knVec3 point, knVec3 normal,
                   knVec3 geometricNormal);

// Fills `ground` from the maps of the sky.
knResult CreateGround(Lights* lights, const Scene* scene);

// The part of the sky that a point of the floor sees, in [0, 1].
float GroundOpenness(const Lights* lights, knVec3 point);

// Triangles by tile, and where their corners fall.
typedef struct Bins
{
    knDVec3* corners;   // per position, homogeneous, in samples
    size_t* tileStarts; // tileCount + 1
    uint32_t* triangles;
    size_t positionCount;
    size_t tileCount;
    size_t triangleCount;
    int tilesX, tilesY;
    int samples;
} Bins;

knResult CreateBins(Bins* bins, const Scene* scene, const Camera* camera, int width, int height,
                    int samples);
void DestroyBins(Bins* bins, const Scene* scene);

// Nearest triangle per sample of one tile.
typedef struct TileBuffer
{
    float* depth; // 1 / distance
    uint32_t* triangle;
} TileBuffer;

void RasterTile(const Bins* bins, const Scene* scene, int tile, TileBuffer* buffer);

typedef struct ViewContext
{
    const knPictureDef* def;
    const knPictureView* view;
    const Scene* scene;
    const Lights* lights;
    const Bins* bins;
    Camera camera;
    int x, y, width, height; // pixels
    TileBuffer* buffers;     // by worker
    knPicture* picture;
} ViewContext;

void ShadeTile(const ViewContext* context, int tile, const TileBuffer* buffer);

knVec3 LinearFromSrgb(knVec3 color);
knVec3 SrgbFromLinear(knVec3 color);

// Bytes with half a step of ordered noise, so that soft gradients show no bands.
void StorePixel(knPicture* picture, int x, int y, knVec3 linearColor);

void DrawLabel(knPicture* picture, const knPictureLabel* label);
