// SPDX-License-Identifier: Zlib
#include "bench/bvh_walls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_LAYERS 5 // a crack's face is finer than the wall's own
#define THICKNESS    0.05f
#define DISTANCE     0.6f // from wall to wall

typedef struct Box
{
    uint32_t n[3]; // squares along the axes
    knVec3 lower, upper;
} Box;

static uint32_t PointCount(const uint32_t n[3])
{
    return (n[0] + 1) * (n[1] + 1) * (n[2] + 1);
}

static uint32_t FaceCount(const uint32_t n[3])
{
    return 4 * (n[0] * n[1] + n[1] * n[2] + n[2] * n[0]);
}

static const uint32_t wallSquares[3] = {WALL_SQUARES, WALL_SQUARES, 1};
static const uint32_t pieceSquares[3] = {PIECE_SQUARES, PIECE_SQUARES, PIECE_LAYERS};

uint32_t PieceVertexCount(void)
{
    return PointCount(pieceSquares);
}

uint32_t PieceTriangleCount(void)
{
    return FaceCount(pieceSquares);
}

uint32_t WallVertexCount(void)
{
    return PointCount(wallSquares);
}

uint32_t WallTriangleCount(void)
{
    return FaceCount(wallSquares);
}

static uint32_t PointAt(const uint32_t n[3], const uint32_t at[3])
{
    return (at[2] * (n[1] + 1) + at[1]) * (n[0] + 1) + at[0];
}

// The surface of a lattice; points within are not used.
static void AddBox(Walls* w, const Box* b, uint32_t body)
{
    const uint32_t* n = b->n;
    uint32_t first = w->vertexCount;
    for (uint32_t i = 0; i < PointCount(n); ++i)
    {
        float x = (float)(i % (n[0] + 1)) / (float)n[0];
        float y = (float)(i / (n[0] + 1) % (n[1] + 1)) / (float)n[1];
        float z = (float)(i / ((n[0] + 1) * (n[1] + 1))) / (float)n[2];
        w->rest[w->vertexCount++] = knMakeVec3(b->lower.x + x * (b->upper.x - b->lower.x),
                                               b->lower.y + y * (b->upper.y - b->lower.y),
                                               b->lower.z + z * (b->upper.z - b->lower.z));
    }
    for (int side = 0; side < 6; ++side)
    {
        int axis = side / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (uint32_t i = 0; i < n[u] * n[v]; ++i)
        {
            uint32_t at[3], corners[4];
            for (uint32_t k = 0; k < 4; ++k)
            {
                at[axis] = side % 2 == 0 ? 0 : n[axis];
                at[u] = i % n[u] + (k == 1 || k == 2);
                at[v] = i / n[u] + (k >= 2);
                corners[side % 2 == 0 ? 3 - k : k] = first + PointAt(n, at);
            }
            for (uint32_t k = 0; k < 2; ++k)
            {
                w->bodies[w->triangleCount] = body;
                w->triangles[w->triangleCount++] =
                    (knTriangle){{corners[0], corners[1 + k], corners[2 + k]}};
            }
        }
    }
}

bool MakeWalls(Walls* w)
{
    memset(w, 0, sizeof *w);
    size_t vertices = WALLS * ((size_t)WallVertexCount() + PIECES * PieceVertexCount());
    size_t triangles = WALLS * ((size_t)WallTriangleCount() + PIECES * PieceTriangleCount());
    w->rest = malloc(vertices * sizeof *w->rest);
    w->positions = malloc(vertices * sizeof *w->positions);
    w->triangles = malloc(triangles * sizeof *w->triangles);
    w->bodies = malloc(triangles * sizeof *w->bodies);
    if (!w->rest || !w->positions || !w->triangles || !w->bodies)
    {
        FreeWalls(w);
        return false;
    }
    for (uint32_t i = 0; i < WALLS; ++i)
    {
        float z = DISTANCE * (float)i;
        Box box = {{WALL_SQUARES, WALL_SQUARES, 1},
                   knMakeVec3(0.0f, 0.0f, z),
                   knMakeVec3(1.0f, 1.0f, z + THICKNESS)};
        AddBox(w, &box, i);
    }
    return true;
}

void FreeWalls(Walls* w)
{
    free(w->rest);
    free(w->positions);
    free(w->triangles);
    free(w->bodies);
    memset(w, 0, sizeof *w);
}

static void DropTriangles(Walls* w, uint32_t body)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->triangleCount; ++i)
    {
        if (w->bodies[i] != body)
        {
            w->bodies[kept] = w->bodies[i];
            w->triangles[kept++] = w->triangles[i];
        }
    }
    w->triangleCount = kept;
}

void BreakWall(Walls* w)
{
    uint32_t wall = (uint32_t)w->brokenCount++, along = WALL_SQUARES / PIECE_SQUARES;
    float z = DISTANCE * (float)wall, size = 1.0f / (float)along, gap = 0.001f * size;
    DropTriangles(w, wall);
    w->pieceFirst[wall] = w->vertexCount;
    for (uint32_t i = 0; i < PIECES; ++i)
    {
        float x = size * (float)(i % along), y = size * (float)(i / along);
        Box box = {{PIECE_SQUARES, PIECE_SQUARES, PIECE_LAYERS},
                   knMakeVec3(x + gap, y + gap, z),
                   knMakeVec3(x + size - gap, y + size - gap, z + THICKNESS)};
        AddBox(w, &box, WALLS + wall * PIECES + i);
    }
}

// A dent that grows until the wall breaks.
static void DentWall(Walls* w, uint32_t wall, float depth)
{
    uint32_t first = wall * WallVertexCount();
    for (uint32_t i = first; i < first + WallVertexCount(); ++i)
    {
        knVec3 p = w->rest[i];
        float x = p.x - 0.5f, y = p.y - 0.5f;
        p.z += depth * expf(-20.0f * (x * x + y * y));
        w->positions[i] = p;
    }
}

// The nearer to the middle, the faster; every piece turns about an axis of its own.
static void ThrowPiece(Walls* w, uint32_t wall, uint32_t piece, float t)
{
    uint32_t first = w->pieceFirst[wall] + piece * PieceVertexCount();
    knVec3 middle = knScale(0.5f, knAdd(w->rest[first], w->rest[first + PieceVertexCount() - 1]));
    float x = middle.x - 0.5f, y = middle.y - 0.5f, near = expf(-6.0f * (x * x + y * y));
    knVec3 axis = knMakeVec3(1.0f + (float)(piece % 3), (float)(piece % 5), (float)(piece % 7));
    knQuat turn = knMakeQuat(knScale(1.0f / knLength(axis), axis), 3.0f * t * near);
    knVec3 away = knMakeVec3(t * x, t * y - 0.5f * t * t, 2.0f * t * near);
    for (uint32_t i = first; i < first + PieceVertexCount(); ++i)
    {
        knVec3 offset = knRotate(turn, knSub(w->rest[i], middle));
        w->positions[i] = knAdd(knAdd(middle, away), offset);
    }
}

void MoveWalls(Walls* w, int frame, int period)
{
    memcpy(w->positions, w->rest, w->vertexCount * sizeof *w->rest);
    for (int wall = 0; wall < WALLS; ++wall)
    {
        int age = frame - wall * period - period / 2;
        if (wall >= w->brokenCount)
        {
            DentWall(w, (uint32_t)wall, age > -4 ? 0.03f * (float)(age + 4) : 0.0f);
        }
        for (uint32_t i = 0; i < PIECES && wall < w->brokenCount; ++i)
        {
            ThrowPiece(w, (uint32_t)wall, i, 0.03f * (float)age);
        }
    }
}
