// SPDX-License-Identifier: Zlib

// Writes the demo meshes that are the project's own: plate, brick, ball, shelf, piggy bank and
// wall.

#include "generate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

void* Allocate(size_t count, size_t size)
{
    void* memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
    {
        fprintf(stderr, "generate: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void* Grow(void* old, int* capacity, int count, size_t size)
{
    if (count < *capacity)
    {
        return old;
    }
    *capacity = count < 512 ? 1024 : 2 * count;
    void* memory = Allocate((size_t)*capacity, size);
    if (count > 0)
    {
        memcpy(memory, old, (size_t)count * size);
    }
    free(old);
    return memory;
}

// Taylor series, up to an eighth of a turn: the last digit of libm differs between machines.
static Uv SmallTurn(double angle)
{
    Uv sum = {1.0, angle}, term = {1.0, angle};
    for (int i = 1; i < 10; ++i)
    {
        term.u *= -angle * angle / ((2 * i - 1) * (2 * i));
        term.v *= -angle * angle / ((2 * i) * (2 * i + 1));
        sum.u += term.u;
        sum.v += term.v;
    }
    return sum;
}

Uv Turn(int num, int den)
{
    num = ((num % den) + den) % den;
    int quarter = 4 * num / den;
    int rest = 4 * num - quarter * den;
    bool mirrored = 2 * rest > den;
    Uv t = SmallTurn(0.5 * pi * (mirrored ? den - rest : rest) / den);
    if (mirrored)
    {
        t = (Uv){t.v, t.u};
    }
    const Uv turned[4] = {{t.u, t.v}, {-t.v, t.u}, {-t.u, -t.v}, {t.v, -t.u}};
    return turned[quarter];
}

// arc tangent of 0 to 1: two halvings bring the series to its fast part
static double SmallAtan(double x)
{
    for (int i = 0; i < 2; ++i)
    {
        x = x / (1.0 + sqrt(1.0 + x * x));
    }
    double sum = 0.0, power = x;
    for (int i = 1; i < 26; i += 2)
    {
        sum += power / i;
        power *= -x * x;
    }
    return 4.0 * sum;
}

double TurnOf(double x, double y)
{
    double ax = fabs(x), ay = fabs(y);
    if (ax + ay == 0.0)
    {
        return 0.0;
    }
    double angle = ax > ay ? SmallAtan(ay / ax) : 0.5 * pi - SmallAtan(ax / ay);
    angle = x < 0.0 ? pi - angle : angle;
    angle = y < 0.0 ? 2.0 * pi - angle : angle;
    return angle / (2.0 * pi);
}

int AddVertex(Mesh* mesh, Vec3 p)
{
    mesh->vertices = Grow(mesh->vertices, &mesh->vertexCapacity, mesh->vertexCount, sizeof(Vec3));
    mesh->vertices[mesh->vertexCount] = p;
    return mesh->vertexCount++;
}

void AddTriangle(Mesh* mesh, int a, int b, int c)
{
    mesh->triangles =
        Grow(mesh->triangles, &mesh->triangleCapacity, mesh->triangleCount, sizeof(Triangle));
    mesh->triangles[mesh->triangleCount++] = (Triangle){.v = {a, b, c}};
}

void DestroyMesh(Mesh* mesh)
{
    free(mesh->vertices);
    free(mesh->triangles);
    *mesh = (Mesh){0};
}

void AddQuad(Mesh* mesh, const int quad[4])
{
    const Vec3* p = mesh->vertices;
    double first = Distance(p[quad[0]], p[quad[2]]);
    double second = Distance(p[quad[1]], p[quad[3]]);
    // equal diagonals differ in the last bit only: they must not look like a choice
    int k = first <= second * (1.0 + 1e-9) ? 0 : 1;
    AddTriangle(mesh, quad[k], quad[k + 1], quad[k + 2]);
    AddTriangle(mesh, quad[k], quad[k + 2], quad[(k + 3) % 4]);
}

void Stitch(Mesh* mesh, const int* a, int aCount, const int* b, int bCount)
{
    // a ring of one vertex, at an axis, has nowhere to go
    int i = aCount == 1 ? 1 : 0, j = bCount == 1 ? 1 : 0;
    while (i < aCount || j < bCount)
    {
        const Vec3* p = mesh->vertices;
        int a0 = a[i % aCount], a1 = a[(i + 1) % aCount];
        int b0 = b[j % bCount], b1 = b[(j + 1) % bCount];
        bool nearer = Distance(p[a1], p[b0]) <= Distance(p[a0], p[b1]) * (1.0 + 1e-9);
        if (j == bCount || (i < aCount && nearer))
        {
            AddTriangle(mesh, a0, a1, b0);
            ++i;
        }
        else
        {
            AddTriangle(mesh, a0, b1, b0);
            ++j;
        }
    }
}

static double RoundToMicro(double x)
{
    return floor(x * 1e6 + 0.5);
}

void SettleOnGround(Mesh* mesh)
{
    Vec3 lower = {INFINITY, INFINITY, INFINITY}, upper = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        Vec3* p = mesh->vertices + i;
        *p = (Vec3){RoundToMicro(p->x), RoundToMicro(p->y), RoundToMicro(p->z)};
        lower = (Vec3){fmin(lower.x, p->x), fmin(lower.y, p->y), fmin(lower.z, p->z)};
        upper = (Vec3){fmax(upper.x, p->x), fmax(upper.y, p->y), fmax(upper.z, p->z)};
    }
    Vec3 rest = {floor(0.5 * (lower.x + upper.x)), lower.y, floor(0.5 * (lower.z + upper.z))};
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        mesh->vertices[i] = Scale(1e-6, Sub(mesh->vertices[i], rest));
    }
}

Vec3 TriangleNormal(const Mesh* mesh, const Triangle* triangle)
{
    const Vec3* p = mesh->vertices;
    Vec3 a = p[triangle->v[0]], b = p[triangle->v[1]], c = p[triangle->v[2]];
    return Cross(Sub(b, a), Sub(c, a));
}

void MapBox(Mesh* mesh, double repeat)
{
    for (int i = 0; i < mesh->triangleCount; ++i)
    {
        Triangle* triangle = mesh->triangles + i;
        Vec3 n = TriangleNormal(mesh, triangle);
        // the favour makes faces at 45 degrees fall on one side, whatever their last bit
        double ax = 1.01 * fabs(n.x), ay = 1.02 * fabs(n.y), az = fabs(n.z);
        for (int k = 0; k < 3; ++k)
        {
            Vec3 p = Scale(1.0 / repeat, mesh->vertices[triangle->v[k]]);
            Uv along = ay >= ax && ay >= az ? (Uv){p.x, p.z}
                       : ax >= az           ? (Uv){p.z, p.y}
                                            : (Uv){p.x, p.y};
            triangle->uv[k] = along;
        }
    }
}

// from whole micro-units: no locale, no rounding mode, no negative zero
static void PrintMicro(FILE* file, double x)
{
    long long value = (long long)RoundToMicro(x);
    long long size = value < 0 ? -value : value;
    fprintf(file, " %s%lld.%06lld", value < 0 ? "-" : "", size / 1000000, size % 1000000);
}

typedef struct UvTable
{
    int* first; // per vertex, -1 for none
    int* next;  // per entry
    Uv* entries;
    int count;
} UvTable;

static bool SameUv(Uv a, Uv b)
{
    return RoundToMicro(a.u) == RoundToMicro(b.u) && RoundToMicro(a.v) == RoundToMicro(b.v);
}

static int FindOrAddUv(UvTable* table, int vertex, Uv uv)
{
    for (int i = table->first[vertex]; i >= 0; i = table->next[i])
    {
        if (SameUv(table->entries[i], uv))
        {
            return i;
        }
    }
    int added = table->count++;
    table->entries[added] = uv;
    table->next[added] = table->first[vertex];
    table->first[vertex] = added;
    return added;
}

static void PrintFaces(FILE* file, const Mesh* mesh)
{
    size_t cornerCount = 3 * (size_t)mesh->triangleCount;
    UvTable table = {Allocate((size_t)mesh->vertexCount, sizeof(int)),
                     Allocate(cornerCount, sizeof(int)), Allocate(cornerCount, sizeof(Uv)), 0};
    memset(table.first, -1, (size_t)mesh->vertexCount * sizeof(int));
    int* corners = Allocate(cornerCount, sizeof(int));
    for (size_t i = 0; i < cornerCount; ++i)
    {
        const Triangle* triangle = mesh->triangles + i / 3;
        corners[i] = FindOrAddUv(&table, triangle->v[i % 3], triangle->uv[i % 3]);
    }
    for (int i = 0; i < table.count; ++i)
    {
        fprintf(file, "vt");
        PrintMicro(file, table.entries[i].u);
        PrintMicro(file, table.entries[i].v);
        fprintf(file, "\n");
    }
    for (size_t i = 0; i < cornerCount; ++i)
    {
        const char* start = i % 3 == 0 ? "f " : "";
        int vertex = mesh->triangles[i / 3].v[i % 3];
        fprintf(file, "%s%d/%d%s", start, vertex + 1, corners[i] + 1, i % 3 == 2 ? "\n" : " ");
    }
    free(table.first);
    free(table.next);
    free(table.entries);
    free(corners);
}

static bool WriteObj(const char* path, const char* name, const Mesh* mesh)
{
    FILE* file = fopen(path, "wb");
    if (file == NULL)
    {
        return false;
    }
    fprintf(file, "# Knap demo asset, made by generate.c: metres, +Y up. Zlib licence.\no %s\n",
            name);
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        fprintf(file, "v");
        PrintMicro(file, mesh->vertices[i].x);
        PrintMicro(file, mesh->vertices[i].y);
        PrintMicro(file, mesh->vertices[i].z);
        fprintf(file, "\n");
    }
    PrintFaces(file, mesh);
    bool written = ferror(file) == 0;
    // buffered bytes can still fail here
    return fclose(file) == 0 && written;
}

typedef struct Asset
{
    const char* name;
    void (*make)(Mesh* mesh);
} Asset;

static bool WriteAsset(const char* directory, const Asset* asset)
{
    Mesh mesh = {0};
    asset->make(&mesh);
    size_t size = strlen(directory) + strlen(asset->name) + sizeof("/.obj");
    char* path = Allocate(size, 1);
    snprintf(path, size, "%s/%s.obj", directory, asset->name);
    bool written = WriteObj(path, asset->name, &mesh);
    if (written)
    {
        printf("%s: %d vertices, %d triangles\n", path, mesh.vertexCount, mesh.triangleCount);
    }
    else
    {
        fprintf(stderr, "generate: cannot write %s\n", path);
    }
    free(path);
    DestroyMesh(&mesh);
    return written;
}

int main(int argc, char** argv)
{
    static const Asset assets[] = {{"plate", MakePlate}, {"brick", MakeBrick}, {"ball", MakeBall},
                                   {"shelf", MakeShelf}, {"piggy", MakePiggy}, {"wall", MakeWall}};
    if (argc != 2 || argv[1][0] == '-')
    {
        fprintf(
            stderr,
            "usage: generate DIRECTORY\nwrites plate, brick, ball, shelf, piggy and wall .obj\n");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); ++i)
    {
        if (!WriteAsset(argv[1], assets + i))
        {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
