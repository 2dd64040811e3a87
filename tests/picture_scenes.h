// SPDX-License-Identifier: Zlib
#pragma once

// Small scenes, and ways to look at their pictures.

#include "kit.h"

#include "picture.h"

#include <math.h>

#define RINGS   48
#define SECTORS 96

static const double pi = 3.14159265358979323846;

typedef struct Ball
{
    knVec3 positions[(RINGS + 1) * SECTORS];
    knTriangle triangles[2 * RINGS * SECTORS];
    knVec3 normals[6 * RINGS * SECTORS];
} Ball;

static inline Ball* MakeBall(void)
{
    Ball* ball = malloc(sizeof(Ball));
    assert_non_null(ball);
    for (uint32_t i = 0; i <= RINGS; ++i)
    {
        for (uint32_t k = 0; k < SECTORS; ++k)
        {
            double theta = pi * i / RINGS;
            double phi = 2.0 * pi * k / SECTORS;
            ball->positions[i * SECTORS + k] = knMakeVec3(
                (float)(sin(theta) * sin(phi)), (float)cos(theta), (float)(sin(theta) * cos(phi)));
        }
    }
    for (uint32_t i = 0; i < RINGS; ++i)
    {
        for (uint32_t k = 0; k < SECTORS; ++k)
        {
            uint32_t a = i * SECTORS + k;
            uint32_t b = i * SECTORS + (k + 1) % SECTORS;
            uint32_t t = 2 * (i * SECTORS + k);
            ball->triangles[t] = (knTriangle){{a, a + SECTORS, b}};
            ball->triangles[t + 1] = (knTriangle){{b, a + SECTORS, b + SECTORS}};
            for (uint32_t c = 0; c < 6; ++c)
            {
                ball->normals[3 * t + c] = ball->positions[ball->triangles[t + c / 3].v[c % 3]];
            }
        }
    }
    return ball;
}

static inline knPictureMesh BallMesh(const Ball* ball)
{
    knPictureMesh mesh = knDefaultPictureMesh();
    mesh.positions = ball->positions;
    mesh.positionCount = COUNT_OF(ball->positions);
    mesh.triangles = ball->triangles;
    mesh.triangleCount = COUNT_OF(ball->triangles);
    mesh.cornerNormals = ball->normals;
    return mesh;
}

static const knVec3 boxPositions[8] = {
    {-1.0f, -1.0f, -1.0f}, {1.0f, -1.0f, -1.0f}, {1.0f, 1.0f, -1.0f}, {-1.0f, 1.0f, -1.0f},
    {-1.0f, -1.0f, 1.0f},  {1.0f, -1.0f, 1.0f},  {1.0f, 1.0f, 1.0f},  {-1.0f, 1.0f, 1.0f}};
static const knTriangle boxTriangles[12] = {{{0, 2, 1}}, {{0, 3, 2}}, {{4, 5, 6}}, {{4, 6, 7}},
                                            {{0, 1, 5}}, {{0, 5, 4}}, {{3, 7, 6}}, {{3, 6, 2}},
                                            {{0, 4, 7}}, {{0, 7, 3}}, {{1, 2, 6}}, {{1, 6, 5}}};
static const knTriangle quadTriangles[2] = {{{0, 1, 2}}, {{0, 2, 3}}};

static inline knPictureMesh BoxMesh(void)
{
    knPictureMesh mesh = knDefaultPictureMesh();
    mesh.positions = boxPositions;
    mesh.positionCount = 8;
    mesh.triangles = boxTriangles;
    mesh.triangleCount = 12;
    return mesh;
}

static inline knPictureMesh QuadMesh(const knVec3* corners)
{
    knPictureMesh mesh = knDefaultPictureMesh();
    mesh.positions = corners;
    mesh.positionCount = 4;
    mesh.triangles = quadTriangles;
    mesh.triangleCount = 2;
    return mesh;
}

// Small and quick; the camera looks along -z from 10 away.
static inline knPictureDef SmallDef(knPictureView* view, const knPictureMesh* meshes,
                                    uint32_t count)
{
    *view = knDefaultPictureView();
    view->meshes = meshes;
    view->meshCount = count;
    view->camera.yaw = 0.0f;
    view->camera.pitch = 0.0f;
    view->camera.distance = 10.0f;
    knPictureDef def = knDefaultPictureDef();
    def.width = 160;
    def.height = 120;
    def.samples = 2;
    def.skyDirections = 8;
    def.views = view;
    def.viewCount = 1;
    return def;
}

// White meshes on black, so that a pixel's light is its coverage.
static inline void MakeMask(knPictureView* view)
{
    view->backgroundTop = knMakeVec3(0.0f, 0.0f, 0.0f);
    view->backgroundBottom = view->backgroundTop;
    view->exposure = 1000.0f;
    view->hasGround = false;
}

static inline knPicture Render(const knPictureDef* def)
{
    knPicture picture;
    assert_int_equal(knRenderPicture(def, NULL, &picture), kn_success);
    assert_int_equal(picture.width, def->width);
    assert_int_equal(picture.height, def->height);
    return picture;
}

static const uint8_t* Pixel(const knPicture* picture, int x, int y)
{
    assert_true(x >= 0 && y >= 0 && x < picture->width && y < picture->height);
    return picture->pixels + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
}

static inline double Light(const knPicture* picture, int x, int y)
{
    double c = Pixel(picture, x, y)[1] / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static inline double TotalLight(const knPicture* picture)
{
    double sum = 0.0;
    for (int y = 0; y < picture->height; ++y)
    {
        for (int x = 0; x < picture->width; ++x)
        {
            sum += Light(picture, x, y);
        }
    }
    return sum;
}

// A pinhole camera, written out once more: pixels from the top left.
static inline void Project(const knPictureCamera* camera, int width, int height, knVec3 p,
                           double out[2])
{
    double yaw = (double)camera->yaw;
    double pitch = (double)camera->pitch;
    double dx = (double)(p.x - camera->target.x);
    double dy = (double)(p.y - camera->target.y);
    double dz = (double)(p.z - camera->target.z);
    double x = cos(yaw) * dx - sin(yaw) * dz;
    double level = sin(yaw) * dx + cos(yaw) * dz;
    double y = cos(pitch) * dy - sin(pitch) * level;
    double depth = (double)camera->distance - (sin(pitch) * dy + cos(pitch) * level);
    double shorter = width < height ? width : height;
    double scale = 0.5 * shorter / tan(0.5 * (double)camera->fieldOfView) / depth;
    out[0] = 0.5 * width + scale * x;
    out[1] = 0.5 * height - scale * y;
}
