// SPDX-License-Identifier: Zlib
#pragma once

// What the parts of the asset generator share: vectors, exact turns, a growing triangle mesh.

#include <float.h>
#include <math.h>
#include <stddef.h>

// The same bytes must come out on every machine. Only + - * / and sqrt are used on the way, which
// IEEE 754 rounds exactly, so nothing may be fused or kept in wider registers. GCC keeps to this
// with -std=c17 and has no pragma for it.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "doubles must be evaluated as doubles: on x86 use SSE2"
#endif

typedef struct Vec3
{
    double x, y, z;
} Vec3;

typedef struct Uv
{
    double u, v;
} Uv;

// Texture coordinates belong to corners, so that seams never split a position.
typedef struct Triangle
{
    int v[3];
    Uv uv[3];
} Triangle;

typedef struct Mesh
{
    Vec3* vertices; // metres
    Triangle* triangles;
    int vertexCount, vertexCapacity;
    int triangleCount, triangleCapacity;
} Mesh;

static inline Vec3 Add(Vec3 a, Vec3 b)
{
    return (Vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline Vec3 Sub(Vec3 a, Vec3 b)
{
    return (Vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline Vec3 Scale(double s, Vec3 a)
{
    return (Vec3){s * a.x, s * a.y, s * a.z};
}

static inline double Dot(Vec3 a, Vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline Vec3 Cross(Vec3 a, Vec3 b)
{
    return (Vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double Length(Vec3 a)
{
    return sqrt(Dot(a, a));
}

static inline double Distance(Vec3 a, Vec3 b)
{
    return Length(Sub(a, b));
}

static inline double Clamp(double x, double low, double high)
{
    return x < low ? low : (x > high ? high : x);
}

// zero-filled, never null: the tool reports and exits when memory runs out
void* Allocate(size_t count, size_t size);

// cosine (u) and sine (v) of num/den turns
Uv Turn(int num, int den);

// angle of (x, y) in turns, 0 to 1
double TurnOf(double x, double y);

int AddVertex(Mesh* mesh, Vec3 p);
void AddTriangle(Mesh* mesh, int a, int b, int c);
void DestroyMesh(Mesh* mesh);

// two triangles, cut along the shorter diagonal
void AddQuad(Mesh* mesh, const int quad[4]);

// Fills the band between two closed rings that run the same way, with a[0] near b[0]. It faces the
// side from which the rings run clockwise when a is the inner one; swap the rings to turn it.
void Stitch(Mesh* mesh, const int* a, int aCount, const int* b, int bCount);

// rounds to micrometres, centres in x and z, and rests the mesh on y = 0
void SettleOnGround(Mesh* mesh);

// each triangle is mapped along its dominant axis; repeat is in metres
void MapBox(Mesh* mesh, double repeat);

Vec3 TriangleNormal(const Mesh* mesh, const Triangle* triangle); // length is twice the area

// A closed surface: where distance is 0, negative inside.
typedef struct Surface
{
    double (*distance)(Vec3 p);
    double (*edgeLength)(Vec3 p); // wanted there, metres
    Vec3 lower, upper;            // box around it
    double cell;                  // sampling step, metres; thinner walls would be lost
    double tolerance;             // how far a triangle may cut a corner, metres
} Surface;

// surface nets, then remeshing to the wanted edge length
void Polygonize(Mesh* mesh, const Surface* surface);
void Remesh(Mesh* mesh, const Surface* surface);

void MakePlate(Mesh* mesh);
void MakeBrick(Mesh* mesh);
void MakeBall(Mesh* mesh);
void MakeShelf(Mesh* mesh);
void MakePiggy(Mesh* mesh);
void MakeWall(Mesh* mesh);
