// SPDX-License-Identifier: Zlib
#pragma once

// Draws a scene with OpenGL 3.3: light with soft shadows, a floor, antialiasing, lines for
// overlays.
//
// Works in whatever context is current when it is made: a window's or one off screen. Nothing here
// knows about physics; meshes and their places come from the caller.

#include "knap/result.h"
#include "knap/vecmath.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct knView knView;

// One corner of a triangle.
typedef struct knViewVertex
{
    knVec3 position;
    knVec3 normal;
    float interior; // 1 on a crack face
} knViewVertex;

typedef struct knCamera
{
    knVec3 eye;
    knVec3 target;
    float fieldOfView; // of the height, radians
    float shift;       // of the target from the middle, to the right: 1 is the edge
} knCamera;

typedef struct knInstance
{
    uint32_t mesh;
    knTransform transform;
    knVec3 color; // linear, of the outside
    knVec3 insideColor;
    float gloss;   // 0 for chalk, 1 for glaze
    float opacity; // below 1 while it fades
    knVec3 scale;  // of the mesh, before it is placed
} knInstance;

typedef struct knViewLine
{
    knVec3 a, b;
    uint32_t color; // 0xRRGGBB
} knViewLine;

// Not lit; both sides.
typedef struct knViewTriangle
{
    knVec3 v[3];
    uint32_t color;
} knViewTriangle;

#define KN_VIEW_LINES     65536 // at most in a frame
#define KN_VIEW_TRIANGLES 65536

typedef struct knFrame
{
    knCamera camera;
    knVec3 focus; // shadows are cast within `reach` of it
    float reach;  // m
    const knInstance* instances;
    uint32_t instanceCount;
    const knViewLine* lines;
    uint32_t lineCount;
    const knViewTriangle* triangles;
    uint32_t triangleCount;
    bool isWireframe;
    bool isXray;  // surfaces faint, so that overlays inside show
    bool isShown; // also in the window; otherwise only for knView_ReadPixels
} knFrame;

knResult knCreateView(knView** view, int width, int height);
void knDestroyView(knView* view);
knResult knView_Resize(knView* view, int width, int height);

// Three vertices a triangle; copied to the card. 0 is no mesh.
knResult knView_AddMesh(knView* view, const knViewVertex* vertices, uint32_t count, uint32_t* mesh);
void knView_RemoveMesh(knView* view, uint32_t mesh);

// The framebuffer that is bound when it is called gets the picture when the frame is to be shown.
void knView_Draw(knView* view, const knFrame* frame);

// The picture last drawn, rows from the top, three bytes a pixel: width * height * 3 of them.
void knView_ReadPixels(knView* view, uint8_t* rgb);

// The ray through a pixel, from the eye.
void knCamera_Ray(const knCamera* camera, float x, float y, float width, float height, knVec3* from,
                  knVec3* direction);
