// SPDX-License-Identifier: Zlib
#pragma once

// Pictures of triangle meshes, drawn by the processor alone: the same bytes on every run and for
// every number of workers.

#include "knap/mesh.h"
#include "knap/tasks.h"

#define KN_MAX_PICTURE_SIZE    16384 // pixels per side
#define KN_MAX_PICTURE_SAMPLES 8     // per pixel and axis
#define KN_MAX_SKY_DIRECTIONS  256

// Colours are sRGB in [0, 1], as a colour picker shows them.
typedef struct knPictureMesh
{
    const knVec3* positions;
    const knTriangle* triangles;  // both sides are drawn
    const knVec3* cornerNormals;  // three per triangle; null for flat shading
    const knVec3* cornerColors;   // three per triangle; null for the colours below
    const knVec3* triangleColors; // one per triangle; null for `color`
    uint32_t positionCount;
    uint32_t triangleCount;
    knVec3 color;
    knTransform transform;
    float edgeWidth; // pixels; 0 draws no triangle edges
    knVec3 edgeColor;
    bool castsShadow;
} knPictureMesh;

// Looks at `target` from `distance` along yaw (about y, 0 looks along -z) and pitch (from above).
typedef struct knPictureCamera
{
    knVec3 target;
    float distance;    // 0: target and distance are fitted to the meshes
    float yaw;         // radians
    float pitch;       // radians, in [-pi/2, pi/2]
    float fieldOfView; // radians, of the shorter side
    float margin;      // free part of each side when fitted, in [0, 0.9]
} knPictureCamera;

// One panel of the picture: its own meshes, camera and light.
typedef struct knPictureView
{
    int x, y, width, height; // pixels from the top left; a width of 0 fills the picture
    const knPictureMesh* meshes;
    uint32_t meshCount;
    knPictureCamera camera;
    knVec3 backgroundTop;
    knVec3 backgroundBottom;
    knVec3 sunDirection; // from the scene to the sun, turned by the camera's yaw
    float sunSize;       // radians across; wider is softer
    float exposure;      // 1 keeps a lit colour about as it is given
    bool hasGround;      // catches shadows at the lowest point
    bool hasGroundHeight;
    float groundHeight; // used with hasGroundHeight, for a series that shares one floor
} knPictureView;

typedef enum knPictureAlign
{
    kn_alignLeft,
    kn_alignCenter,
    kn_alignRight
} knPictureAlign;

// Printable ASCII; a line feed starts a new line, anything else is drawn as '?'.
typedef struct knPictureLabel
{
    float x, y; // pixels; the baseline of the first line
    const char* text;
    float size; // pixels from line to line; capitals have 6/10 of it
    knVec3 color;
    knPictureAlign align;
} knPictureLabel;

typedef struct knPictureDef
{
    int width, height; // pixels
    int samples;       // per pixel and axis
    int skyDirections; // shadow maps for the light of the sky: time and memory against smoothness
    const knPictureView* views;
    uint32_t viewCount;
    const knPictureLabel* labels;
    uint32_t labelCount;
    knVec3 background;        // where no view is
    const knTaskHooks* tasks; // null: serial
} knPictureDef;

typedef struct knPicture
{
    knAllocator allocator;
    int width, height;
    uint8_t* pixels; // rows from the top, three bytes each: red, green, blue
} knPicture;

KN_API knPictureMesh knDefaultPictureMesh(void);
KN_API knPictureView knDefaultPictureView(void);
KN_API knPictureLabel knDefaultPictureLabel(void);
KN_API knPictureDef knDefaultPictureDef(void);

// The camera that a view of this size would fit to its meshes, with the distance filled in, so
// that a series of pictures can share it. `aspect` is width / height.
KN_API knResult knFitPictureCamera(const knPictureView* view, float aspect,
                                   knPictureCamera* camera);

// Pixels from the first letter to the end of the longest line.
KN_API float knMeasureText(const char* text, float size);

// `allocator` may be null. `picture` is untouched on failure.
KN_API knResult knRenderPicture(const knPictureDef* def, const knAllocator* allocator,
                                knPicture* picture);
KN_API void knDestroyPicture(knPicture* picture);

// Overwrites the file; a half-written file is left behind on failure.
KN_API knResult knSavePng(const knPicture* picture, const char* path);
