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

#define CUTS 3 // parts of an edge; a face becomes CUTS^2

// A point of a face by its distance from two corners, in parts. Points on an edge come from both of
// its faces and are made only once, by their numbers.
typedef struct CutPoint
{
    uint64_t edge; // its ends, the lower first; or the face
    uint32_t step; // along it
    uint32_t index;
} CutPoint;

static int CompareCutPoints(const void* a, const void* b)
{
    const CutPoint *p = a, *q = b;
    return p->edge != q->edge ? (p->edge < q->edge ? -1 : 1)
                              : (p->step > q->step) - (p->step < q->step);
}

static CutPoint NameCutPoint(const knFrame* f, uint32_t face, uint32_t i, uint32_t k)
{
    const uint32_t* v = f->triangles[face].v;
    const uint32_t weights[3] = {CUTS - i - k, i, k};
    for (uint32_t c = 0; c < 3; ++c)
    {
        uint32_t d = (c + 1) % 3, low = v[c] < v[d] ? c : d, high = low == c ? d : c;
        if (weights[c] == CUTS)
        {
            return (CutPoint){(uint64_t)v[c] << 32 | v[c], 0, 0};
        }
        if (weights[(c + 2) % 3] == 0 && weights[c] > 0 && weights[d] > 0)
        {
            return (CutPoint){(uint64_t)v[low] << 32 | v[high], weights[high], 0};
        }
    }
    return (CutPoint){UINT64_MAX, face, 0};
}

static knVec3 PlaceCutPoint(const knFrame* f, uint32_t face, uint32_t i, uint32_t k)
{
    const uint32_t* v = f->triangles[face].v;
    knVec3 p = f->positions[v[0]], q = f->positions[v[1]], r = f->positions[v[2]];
    knVec3 along = knScale(1.0f / CUTS, knSub(q, p)), across = knScale(1.0f / CUTS, knSub(r, p));
    return knAddScaled(knAddScaled(p, (float)i, along), (float)k, across);
}

// Around a line below the feet, so far that the ears come to the feet.
static knVec3 Bend(knVec3 p, knBox box, int pose)
{
    float height = box.upper.y - box.lower.y, angle = (7.2f + 0.02f * (float)pose) / height;
    float turn = angle * (p.y - box.lower.y), radius = 1.0f / angle + p.x - box.lower.x;
    return knMakeVec3(radius * cosf(turn), radius * sinf(turn), p.z);
}

#define CUT_POINTS ((CUTS + 1) * (CUTS + 2) / 2)

// The points of all faces, each one once; `numbers` are those of a face's points, row by row.
static uint32_t NumberCutPoints(const knFrame* f, CutPoint* points, uint32_t* numbers,
                                knVec3* places)
{
    uint32_t total = (uint32_t)f->triangleCount * CUT_POINTS, count = 0;
    for (uint32_t face = 0, at = 0; face < f->triangleCount; ++face)
    {
        for (uint32_t n = 0, i = 0, k = 0; n < CUT_POINTS; ++n, ++at)
        {
            points[at] = NameCutPoint(f, face, i, k);
            points[at].index = at;
            places[at] = PlaceCutPoint(f, face, i, k);
            k = i + k == CUTS ? 0 : k + 1;
            i += k == 0;
        }
    }
    qsort(points, total, sizeof *points, CompareCutPoints);
    for (uint32_t i = 0; i < total; ++i)
    {
        count += i == 0 || CompareCutPoints(&points[i - 1], &points[i]) != 0;
        numbers[points[i].index] = count - 1;
    }
    return count;
}

static void CutFaces(knPeerMesh* m, uint32_t faceCount, const uint32_t* numbers)
{
    uint32_t count = 0;
    for (uint32_t face = 0; face < faceCount; ++face)
    {
        const uint32_t* n = numbers + face * CUT_POINTS;
        for (uint32_t i = 0, row = 0; i < CUTS; row += CUTS + 1 - i, ++i)
        {
            uint32_t next = row + CUTS + 1 - i;
            for (uint32_t k = 0; i + k < CUTS; ++k)
            {
                m->triangles[count++] = (knTriangle){{n[row + k], n[next + k], n[row + k + 1]}};
                if (i + k + 1 < CUTS)
                {
                    m->triangles[count++] =
                        (knTriangle){{n[next + k], n[next + k + 1], n[row + k + 1]}};
                }
            }
        }
    }
}

static knResult FillBunny(knPeerMesh* m, const knFrame* f)
{
    size_t total = f->triangleCount * CUT_POINTS;
    CutPoint* points = malloc(total * sizeof *points);
    uint32_t* numbers = malloc(total * sizeof *numbers);
    knVec3* places = malloc(total * sizeof *places);
    knResult result = points && numbers && places ? kn_success : kn_errorMemory;
    uint32_t count = result == kn_success ? NumberCutPoints(f, points, numbers, places) : 0;
    result = result == kn_success ? Reserve(m, count, f->triangleCount * CUTS * CUTS) : result;
    knBox box = knEmptyBox();
    for (size_t i = 0; i < f->positionCount; ++i)
    {
        box = knBox_AddPoint(box, f->positions[i]);
    }
    for (size_t i = 0; i < 2 * total && result == kn_success; ++i)
    {
        m->poses[i % 2][numbers[i / 2]] = Bend(places[i / 2], box, (int)(i % 2));
    }
    if (result == kn_success)
    {
        CutFaces(m, (uint32_t)f->triangleCount, numbers);
    }
    free(points);
    free(numbers);
    free(places);
    return result;
}

static knResult MakeBunny(knPeerMesh* m)
{
    char path[PATH_MAX];
    knFrame frame;
    knResult result = knFindUpwards(path, "demos/assets/bunny.obj");
    result = result == kn_success ? knReadFrame(&frame, path, NULL) : result;
    if (result == kn_success)
    {
        result = FillBunny(m, &frame);
        knDestroyFrame(&frame);
    }
    return result;
}

const char* knPeerSceneName(knPeerScene scene)
{
    static const char* const names[kn_peerSceneCount] = {"cloth 92, 92K",   "cloth 93, 92K",
                                                         "n-body 18, 146K", "bent bunny, 72K",
                                                         "bent pipe, 59K",  "shell, 871K"};
    return names[scene];
}

knResult knMakePeerMesh(knPeerMesh* mesh, knPeerScene scene)
{
    knPeerMesh m = {.name = knPeerSceneName(scene)};
    const char* cloth[2] = {"cloth-ball/cloth_ball92.ply", "cloth-ball/cloth_ball93.ply"};
    knResult result = scene == kn_peerCloth92   ? ReadFrames(&m, cloth[0], cloth[1])
                      : scene == kn_peerCloth93 ? ReadFrames(&m, cloth[1], cloth[0])
                      : scene == kn_peerNBody
                          ? ReadFrames(&m, "n-body/balls16_18.ply", "n-body/balls16_19.ply")
                      : scene == kn_peerBunny ? MakeBunny(&m)
                      : scene == kn_peerPipe  ? MakeTube(&m, 295, 100, PlaceOnPipe)
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
