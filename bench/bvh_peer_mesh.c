// SPDX-License-Identifier: Zlib
#include "bench/bvh_peer.h"

#include "bench/files.h"
#include "bvh/bvh_predicates_internal.h"
#include "bvh/bvh_triangles_internal.h"
#include "frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool knPeerMesh_AreAdjacent(const knPeerMesh* m, uint32_t a, uint32_t b)
{
    const uint32_t *v = m->triangles[a].v, *w = m->triangles[b].v;
    for (int i = 0; i < 3; ++i)
    {
        if (v[i] == w[0] || v[i] == w[1] || v[i] == w[2])
        {
            return true;
        }
    }
    return false;
}

bool knPeerMesh_TrianglesMeet(const knPeerMesh* m, uint32_t a, uint32_t b)
{
    knTrianglePair pair;
    for (int i = 0; i < 3; ++i)
    {
        pair.aVertices[i] = m->triangles[a].v[i];
        pair.bVertices[i] = m->triangles[b].v[i];
        pair.a[i] = m->positions[pair.aVertices[i]];
        pair.b[i] = m->positions[pair.bVertices[i]];
    }
    uint64_t exactCount = 0;
    return knMeetTriangles(&pair, 0, &exactCount) != 0;
}

static int CompareKeys(const void* a, const void* b)
{
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

size_t knSortPairKeys(uint64_t* keys, size_t count)
{
    qsort(keys, count, sizeof *keys, CompareKeys);
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i)
    {
        if (kept == 0 || keys[kept - 1] != keys[i])
        {
            keys[kept++] = keys[i];
        }
    }
    return kept;
}

static knResult Reserve(knPeerMesh* m, size_t positionCount, size_t triangleCount)
{
    m->positionCount = (uint32_t)positionCount;
    m->triangleCount = (uint32_t)triangleCount;
    m->positions = malloc(positionCount * sizeof *m->positions);
    m->poses[0] = malloc(positionCount * sizeof *m->positions);
    m->poses[1] = malloc(positionCount * sizeof *m->positions);
    m->triangles = malloc(triangleCount * sizeof *m->triangles);
    if (!m->positions || !m->poses[0] || !m->poses[1] || !m->triangles)
    {
        knDestroyPeerMesh(m);
        return knFail(kn_errorMemory, "no memory for a surface of %zu triangles", triangleCount);
    }
    return kn_success;
}

void knDestroyPeerMesh(knPeerMesh* m)
{
    free(m->positions);
    free(m->poses[0]);
    free(m->poses[1]);
    free(m->triangles);
    memset(m, 0, sizeof *m);
}

void knPeerMesh_SetPose(knPeerMesh* m, int pose)
{
    memcpy(m->positions, m->poses[pose], m->positionCount * sizeof *m->positions);
}

// Of the folder that KN_SHARED_DATA names, or shared/data above the program.
static knResult FindFrame(char path[PATH_MAX], const char* name)
{
    char relative[256];
    const char* folder = getenv("KN_SHARED_DATA");
    snprintf(relative, sizeof relative, "shared/data/%s", name);
    return folder ? knJoinPath(path, folder, name) : knFindUpwards(path, relative);
}

static knResult ReadFrames(knPeerMesh* m, const char* first, const char* second)
{
    char path[PATH_MAX];
    const char* names[2] = {first, second};
    for (int i = 0; i < 2; ++i)
    {
        knFrame frame;
        knResult result = FindFrame(path, names[i]);
        result = result == kn_success ? knReadFrame(&frame, path, NULL) : result;
        if (result == kn_success && i == 0)
        {
            result = Reserve(m, frame.positionCount, frame.triangleCount);
        }
        if (result != kn_success)
        {
            return result;
        }
        if (frame.positionCount != m->positionCount || frame.triangleCount != m->triangleCount)
        {
            result = knFail(kn_errorFormat, "%s: not the faces of %s", second, first);
        }
        else
        {
            memcpy(m->poses[i], frame.positions, frame.positionCount * sizeof *frame.positions);
            memcpy(m->triangles, frame.triangles, frame.triangleCount * sizeof *frame.triangles);
        }
        knDestroyFrame(&frame);
        if (result != kn_success)
        {
            return result;
        }
    }
    return kn_success;
}

// A point of a generated surface: u along, v around, both from 0 to 1.
typedef knVec3 PlaceFcn(double u, double v, int pose);

static knVec3 PlaceOnPipe(double u, double v, int pose)
{
    const double turn = 6.283185307179586;
    double along = 1.12 * turn * u, around = turn * v;
    double ripple = 0.02 * sin(40.0 * along + 9.0 * around + 0.3 * pose);
    double thickness = 0.5 + ripple, radius = 2.0 + 0.02 * pose + thickness * cos(around);
    return knMakeVec3((float)(radius * cos(along)), (float)(radius * sin(along)),
                      (float)(0.25 * u + thickness * sin(around)));
}

static knVec3 PlaceOnShell(double u, double v, int pose)
{
    const double turn = 6.283185307179586;
    double polar = 0.5 * turn * (0.002 + 0.996 * u), around = turn * v;
    double radius = 1.0 + 0.05 * sin(13.0 * polar + 0.2 * pose) * sin(17.0 * around) +
                    0.004 * sin(211.0 * polar) * sin(193.0 * around + 0.3 * pose);
    return knMakeVec3((float)(radius * sin(polar) * cos(around)),
                      (float)(radius * sin(polar) * sin(around)), (float)(radius * cos(polar)));
}

// Open along u, closed around v.
static knResult MakeTube(knPeerMesh* m, uint32_t columns, uint32_t rows, PlaceFcn* place)
{
    knResult result = Reserve(m, (size_t)(columns + 1) * rows, 2 * (size_t)columns * rows);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t i = 0; i < (columns + 1) * rows; ++i)
    {
        for (int pose = 0; pose < 2; ++pose)
        {
            m->poses[pose][i] =
                place((double)(i / rows) / columns, (double)(i % rows) / rows, pose);
        }
    }
    for (uint32_t i = 0; i < columns * rows; ++i)
    {
        uint32_t a = i, b = i / rows * rows + (i + 1) % rows;
        m->triangles[2 * i] = (knTriangle){{a, a + rows, b}};
        m->triangles[2 * i + 1] = (knTriangle){{a + rows, b + rows, b}};
    }
    return kn_success;
}

knResult knMakePeerMesh(knPeerMesh* mesh, knPeerScene scene)
{
    static const char* const names[kn_peerSceneCount] = {
        "cloth 92, 92K", "cloth 93, 92K", "n-body 18, 146K", "bent pipe, 59K", "shell, 871K"};
    knPeerMesh m = {.name = names[scene]};
    const char* cloth[2] = {"cloth-ball/cloth_ball92.ply", "cloth-ball/cloth_ball93.ply"};
    knResult result = scene == kn_peerCloth92   ? ReadFrames(&m, cloth[0], cloth[1])
                      : scene == kn_peerCloth93 ? ReadFrames(&m, cloth[1], cloth[0])
                      : scene == kn_peerNBody
                          ? ReadFrames(&m, "n-body/balls16_18.ply", "n-body/balls16_19.ply")
                      : scene == kn_peerPipe ? MakeTube(&m, 295, 100, PlaceOnPipe)
                                             : MakeTube(&m, 660, 660, PlaceOnShell);
    if (result != kn_success)
    {
        knDestroyPeerMesh(&m);
        return result;
    }
    knPeerMesh_SetPose(&m, 0);
    *mesh = m;
    return kn_success;
}
