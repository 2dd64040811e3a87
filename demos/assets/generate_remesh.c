// SPDX-License-Identifier: Zlib

// From an implicit surface to well-shaped triangles: surface nets on a grid fine enough to keep
// thin walls apart, then edge collapses, flips and relaxation until edges have the wanted length.

#include "generate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Surface nets

typedef struct Grid
{
    int count[3]; // samples along each axis
    double* values;
    int* vertex; // of the cell above each sample, -1 for none
} Grid;

static int GridIndex(const Grid* grid, const int c[3])
{
    return (c[2] * grid->count[1] + c[1]) * grid->count[0] + c[0];
}

static Vec3 GridPoint(const Surface* surface, const int c[3])
{
    return Add(surface->lower, Scale(surface->cell, (Vec3){c[0], c[1], c[2]}));
}

static Grid SampleGrid(const Surface* surface)
{
    Vec3 size = Scale(1.0 / surface->cell, Sub(surface->upper, surface->lower));
    Grid grid = {.count = {(int)size.x + 2, (int)size.y + 2, (int)size.z + 2}};
    size_t total = (size_t)grid.count[0] * (size_t)grid.count[1] * (size_t)grid.count[2];
    grid.values = Allocate(total, sizeof(double));
    grid.vertex = Allocate(total, sizeof(int));
    memset(grid.vertex, -1, total * sizeof(int));
    int c[3];
    for (c[2] = 0; c[2] < grid.count[2]; ++c[2])
    {
        for (c[1] = 0; c[1] < grid.count[1]; ++c[1])
        {
            for (c[0] = 0; c[0] < grid.count[0]; ++c[0])
            {
                grid.values[GridIndex(&grid, c)] = surface->distance(GridPoint(surface, c));
            }
        }
    }
    return grid;
}

// the mean of the crossings on the twelve edges of a cell; false when there are none
static bool CellVertex(const Grid* grid, const Surface* surface, const int cell[3], Vec3* vertex)
{
    Vec3 sum = {0.0, 0.0, 0.0};
    int crossings = 0;
    for (int edge = 0; edge < 12; ++edge)
    {
        int axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
        int a[3] = {cell[0], cell[1], cell[2]};
        a[u] += edge & 1;
        a[v] += edge >> 1 & 1;
        int b[3] = {a[0], a[1], a[2]};
        b[axis] += 1;
        double fa = grid->values[GridIndex(grid, a)], fb = grid->values[GridIndex(grid, b)];
        if ((fa < 0.0) != (fb < 0.0))
        {
            Vec3 pa = GridPoint(surface, a), pb = GridPoint(surface, b);
            sum = Add(sum, Add(pa, Scale(fa / (fa - fb), Sub(pb, pa))));
            ++crossings;
        }
    }
    *vertex = crossings > 0 ? Scale(1.0 / crossings, sum) : sum;
    return crossings > 0;
}

// one quad around each grid edge that crosses the surface
static void AddCrossingQuads(Mesh* mesh, const Grid* grid, const int c[3])
{
    double here = grid->values[GridIndex(grid, c)];
    for (int axis = 0; axis < 3; ++axis)
    {
        int u = (axis + 1) % 3, v = (axis + 2) % 3;
        int next[3] = {c[0], c[1], c[2]};
        next[axis] += 1;
        if (next[axis] >= grid->count[axis] || c[u] == 0 || c[v] == 0)
        {
            continue;
        }
        bool inside = here < 0.0;
        if (inside == (grid->values[GridIndex(grid, next)] < 0.0))
        {
            continue;
        }
        int quad[4];
        for (int i = 0; i < 4; ++i)
        {
            int cell[3] = {c[0], c[1], c[2]};
            int k = inside ? i : 3 - i;
            cell[u] -= k == 0 || k == 3;
            cell[v] -= k < 2;
            quad[i] = grid->vertex[GridIndex(grid, cell)];
        }
        AddQuad(mesh, quad);
    }
}

void Polygonize(Mesh* mesh, const Surface* surface)
{
    Grid grid = SampleGrid(surface);
    int total = grid.count[0] * grid.count[1] * grid.count[2];
    for (int pass = 0; pass < 2; ++pass)
    {
        for (int i = 0; i < total; ++i)
        {
            int c[3] = {i % grid.count[0], i / grid.count[0] % grid.count[1],
                        i / (grid.count[0] * grid.count[1])};
            bool last =
                c[0] + 1 == grid.count[0] || c[1] + 1 == grid.count[1] || c[2] + 1 == grid.count[2];
            Vec3 p;
            if (pass == 1)
            {
                AddCrossingQuads(mesh, &grid, c);
            }
            else if (!last && CellVertex(&grid, surface, c, &p))
            {
                grid.vertex[i] = AddVertex(mesh, p);
            }
        }
    }
    free(grid.values);
    free(grid.vertex);
}

// Remeshing

// Triangles around each vertex. A pass locks what it changes, so the lists stay true for the rest.
typedef struct Rings
{
    int* start;
    int* triangles;
    bool* locked;
} Rings;

static Rings MakeRings(const Mesh* mesh)
{
    size_t cornerCount = 3 * (size_t)mesh->triangleCount;
    Rings rings = {Allocate((size_t)mesh->vertexCount + 2, sizeof(int)),
                   Allocate(cornerCount, sizeof(int)),
                   Allocate((size_t)mesh->vertexCount, sizeof(bool))};
    for (size_t i = 0; i < cornerCount; ++i)
    {
        ++rings.start[mesh->triangles[i / 3].v[i % 3] + 2];
    }
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        rings.start[i + 2] += rings.start[i + 1];
    }
    for (size_t i = 0; i < cornerCount; ++i)
    {
        rings.triangles[rings.start[mesh->triangles[i / 3].v[i % 3] + 1]++] = (int)(i / 3);
    }
    return rings;
}

static void DestroyRings(Rings* rings)
{
    free(rings->start);
    free(rings->triangles);
    free(rings->locked);
}

static int RingSize(const Rings* rings, int vertex)
{
    return rings->start[vertex + 1] - rings->start[vertex];
}

static Triangle* RingTriangle(const Mesh* mesh, const Rings* rings, int vertex, int i)
{
    return mesh->triangles + rings->triangles[rings->start[vertex] + i];
}

static int CornerOf(const Triangle* triangle, int vertex)
{
    return triangle->v[0] == vertex ? 0 : (triangle->v[1] == vertex ? 1 : 2);
}

// the triangle with the directed edge ab, or null
static Triangle* FindEdge(const Mesh* mesh, const Rings* rings, int a, int b)
{
    for (int i = 0; i < RingSize(rings, a); ++i)
    {
        Triangle* triangle = RingTriangle(mesh, rings, a, i);
        if (triangle->v[(CornerOf(triangle, a) + 1) % 3] == b)
        {
            return triangle;
        }
    }
    return NULL;
}

static Vec3 Gradient(const Surface* surface, Vec3 p)
{
    const double step = 1e-5;
    const Vec3 x = {step, 0.0, 0.0}, y = {0.0, step, 0.0}, z = {0.0, 0.0, step};
    double (*f)(Vec3) = surface->distance;
    Vec3 difference = {f(Add(p, x)) - f(Sub(p, x)), f(Add(p, y)) - f(Sub(p, y)),
                       f(Add(p, z)) - f(Sub(p, z))};
    return Scale(0.5 / step, difference);
}

static Vec3 Project(const Surface* surface, Vec3 p, int steps)
{
    for (int i = 0; i < steps; ++i)
    {
        Vec3 gradient = Gradient(surface, p);
        double slope = Dot(gradient, gradient);
        // a kink has no direction to trust
        if (slope > 0.01)
        {
            double limit = 0.5 * surface->cell / sqrt(slope);
            double step = Clamp(surface->distance(p) / slope, -limit, limit);
            p = Sub(p, Scale(step, gradient));
        }
    }
    return p;
}

// A triangle that turns too far when a corner moves would fold the surface.
static bool Folds(const Mesh* mesh, const Triangle* triangle, int corner, Vec3 moved)
{
    Vec3 before = TriangleNormal(mesh, triangle);
    Vec3 b = mesh->vertices[triangle->v[(corner + 1) % 3]];
    Vec3 c = mesh->vertices[triangle->v[(corner + 2) % 3]];
    Vec3 after = Cross(Sub(b, moved), Sub(c, moved));
    Vec3 bc = Sub(c, b);
    double height = Length(after) / Length(bc);
    double longest = fmax(Length(bc), fmax(Distance(b, moved), Distance(c, moved)));
    return Dot(before, after) < 0.7 * Length(before) * Length(after) || height < 0.25 * longest;
}

// The middle of a triangle shows how far it cuts a corner of the surface.
static bool LeavesSurface(const Mesh* mesh, const Surface* surface, const Triangle* triangle,
                          int corner, Vec3 moved)
{
    Vec3 b = mesh->vertices[triangle->v[(corner + 1) % 3]];
    Vec3 c = mesh->vertices[triangle->v[(corner + 2) % 3]];
    Vec3 middle = Scale(1.0 / 3.0, Add(moved, Add(b, c)));
    return fabs(surface->distance(middle)) > surface->tolerance;
}

static bool CollapseHarms(const Mesh* mesh, const Rings* rings, const Surface* surface,
                          const int edge[2], Vec3 moved)
{
    for (int side = 0; side < 2; ++side)
    {
        int from = edge[side], other = edge[1 - side];
        for (int i = 0; i < RingSize(rings, from); ++i)
        {
            const Triangle* triangle = RingTriangle(mesh, rings, from, i);
            int corner = CornerOf(triangle, from);
            bool vanishes =
                triangle->v[(corner + 1) % 3] == other || triangle->v[(corner + 2) % 3] == other;
            if (!vanishes && (Folds(mesh, triangle, corner, moved) ||
                              LeavesSurface(mesh, surface, triangle, corner, moved)))
            {
                return true;
            }
        }
    }
    return false;
}

// the link condition: only two vertices next to both ends, or the collapse would pinch the surface
static bool CollapsePinches(const Mesh* mesh, const Rings* rings, const int edge[2])
{
    int a = edge[0], b = edge[1], common = 0;
    for (int i = 0; i < RingSize(rings, a); ++i)
    {
        const Triangle* triangle = RingTriangle(mesh, rings, a, i);
        int neighbour = triangle->v[(CornerOf(triangle, a) + 1) % 3];
        bool shared = neighbour != b && FindEdge(mesh, rings, b, neighbour) != NULL;
        // both lose a triangle, and a vertex of two triangles is a fold
        if (shared && RingSize(rings, neighbour) < 5)
        {
            return true;
        }
        common += shared;
    }
    int valence = RingSize(rings, a) + RingSize(rings, b) - 4;
    return common != 2 || valence < 4 || valence > 9;
}

static void LockTriangle(Rings* rings, const Triangle* triangle)
{
    for (int k = 0; k < 3; ++k)
    {
        rings->locked[triangle->v[k]] = true;
    }
}

// the second end goes; triangles that vanish get -1 as their first vertex
static void Collapse(Mesh* mesh, Rings* rings, const int edge[2], Vec3 moved)
{
    for (int i = 0; i < RingSize(rings, edge[0]); ++i)
    {
        LockTriangle(rings, RingTriangle(mesh, rings, edge[0], i));
    }
    for (int i = 0; i < RingSize(rings, edge[1]); ++i)
    {
        Triangle* triangle = RingTriangle(mesh, rings, edge[1], i);
        LockTriangle(rings, triangle);
        int corner = CornerOf(triangle, edge[1]);
        bool vanishes =
            triangle->v[(corner + 1) % 3] == edge[0] || triangle->v[(corner + 2) % 3] == edge[0];
        triangle->v[vanishes ? 0 : corner] = vanishes ? -1 : edge[0];
    }
    mesh->vertices[edge[0]] = moved;
}

static bool TryCollapse(Mesh* mesh, Rings* rings, const Surface* surface, const int edge[2])
{
    Vec3 a = mesh->vertices[edge[0]], b = mesh->vertices[edge[1]];
    Vec3 middle = Scale(0.5, Add(a, b));
    if (Distance(a, b) > 0.8 * surface->edgeLength(middle) || CollapsePinches(mesh, rings, edge))
    {
        return false;
    }
    Vec3 moved = Project(surface, middle, 2);
    if (CollapseHarms(mesh, rings, surface, edge, moved))
    {
        return false;
    }
    Collapse(mesh, rings, edge, moved);
    return true;
}

static void DropUnused(Mesh* mesh)
{
    int* renamed = Allocate((size_t)mesh->vertexCount, sizeof(int));
    int kept = 0, vertexCount = 0;
    for (int i = 0; i < mesh->triangleCount; ++i)
    {
        Triangle triangle = mesh->triangles[i];
        if (triangle.v[0] >= 0)
        {
            mesh->triangles[kept++] = triangle;
            renamed[triangle.v[0]] = renamed[triangle.v[1]] = renamed[triangle.v[2]] = 1;
        }
    }
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        if (renamed[i] != 0)
        {
            mesh->vertices[vertexCount] = mesh->vertices[i];
            renamed[i] = vertexCount++;
        }
    }
    for (int i = 0; i < 3 * kept; ++i)
    {
        int* v = &mesh->triangles[i / 3].v[i % 3];
        *v = renamed[*v];
    }
    mesh->triangleCount = kept;
    mesh->vertexCount = vertexCount;
    free(renamed);
}

static int CollapsePass(Mesh* mesh, const Surface* surface)
{
    Rings rings = MakeRings(mesh);
    int changed = 0;
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
    {
        const Triangle* triangle = mesh->triangles + i / 3;
        const int edge[2] = {triangle->v[i % 3], triangle->v[(i + 1) % 3]};
        bool open = triangle->v[0] >= 0 && !rings.locked[edge[0]] && !rings.locked[edge[1]];
        if (open && edge[0] < edge[1] && TryCollapse(mesh, &rings, surface, edge))
        {
            ++changed;
        }
    }
    DestroyRings(&rings);
    DropUnused(mesh);
    return changed;
}

// the larger the better: sine of the smallest angle, zero or less when turned from the normal
static double Quality(const Mesh* mesh, const int v[3], Vec3 normal)
{
    const Vec3* p = mesh->vertices;
    double a = Distance(p[v[0]], p[v[1]]), b = Distance(p[v[1]], p[v[2]]);
    double c = Distance(p[v[2]], p[v[0]]);
    Vec3 n = Cross(Sub(p[v[1]], p[v[0]]), Sub(p[v[2]], p[v[0]]));
    double smallest = fmin(a, fmin(b, c));
    double area = Length(n);
    bool turned = Dot(n, normal) < 0.8 * area * Length(normal);
    // the sine of the angle between the two longest sides
    return turned ? -1.0 : area * smallest / (a * b * c);
}

static double EdgeError(const Mesh* mesh, const Surface* surface, int a, int b)
{
    return fabs(surface->distance(Scale(0.5, Add(mesh->vertices[a], mesh->vertices[b]))));
}

static bool TryFlip(Mesh* mesh, Rings* rings, const Surface* surface, Triangle* first, int corner)
{
    int a = first->v[corner], b = first->v[(corner + 1) % 3], c = first->v[(corner + 2) % 3];
    Triangle* second = FindEdge(mesh, rings, b, a);
    int d = second->v[(CornerOf(second, a) + 1) % 3];
    if (rings->locked[c] || rings->locked[d] || FindEdge(mesh, rings, c, d) != NULL ||
        RingSize(rings, a) < 5 || RingSize(rings, b) < 5)
    {
        return false;
    }
    Vec3 normal = Add(TriangleNormal(mesh, first), TriangleNormal(mesh, second));
    const int flipped[2][3] = {{a, d, c}, {d, b, c}};
    double before = fmin(Quality(mesh, first->v, normal), Quality(mesh, second->v, normal));
    double after = fmin(Quality(mesh, flipped[0], normal), Quality(mesh, flipped[1], normal));
    double allowed = fmax(surface->tolerance, EdgeError(mesh, surface, a, b));
    if (after < before + 1e-3 || EdgeError(mesh, surface, c, d) > allowed)
    {
        return false;
    }
    LockTriangle(rings, first);
    LockTriangle(rings, second);
    memcpy(first->v, flipped[0], sizeof(first->v));
    memcpy(second->v, flipped[1], sizeof(second->v));
    return true;
}

static void FlipPass(Mesh* mesh, const Surface* surface)
{
    Rings rings = MakeRings(mesh);
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
    {
        Triangle* triangle = mesh->triangles + i / 3;
        int a = triangle->v[i % 3], b = triangle->v[(i + 1) % 3];
        if (a < b && !rings.locked[a] && !rings.locked[b])
        {
            TryFlip(mesh, &rings, surface, triangle, i % 3);
        }
    }
    DestroyRings(&rings);
}

// each vertex goes halfway to the middle of its neighbours, along the surface only
static void RelaxPass(Mesh* mesh, const Surface* surface, int steps)
{
    Rings rings = MakeRings(mesh);
    Vec3* moved = Allocate((size_t)mesh->vertexCapacity, sizeof(Vec3));
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        Vec3 sum = {0.0, 0.0, 0.0};
        for (int k = 0; k < RingSize(&rings, i); ++k)
        {
            const Triangle* triangle = RingTriangle(mesh, &rings, i, k);
            sum = Add(sum, mesh->vertices[triangle->v[(CornerOf(triangle, i) + 1) % 3]]);
        }
        Vec3 p = mesh->vertices[i], n = Gradient(surface, p);
        Vec3 shift = Sub(Scale(1.0 / RingSize(&rings, i), sum), p);
        shift = Sub(shift, Scale(Dot(shift, n) / fmax(Dot(n, n), 0.01), n));
        moved[i] = Project(surface, Add(p, Scale(0.5, shift)), steps);
    }
    free(mesh->vertices);
    mesh->vertices = moved;
    DestroyRings(&rings);
}

void Remesh(Mesh* mesh, const Surface* surface)
{
    for (int pass = 0; pass < 40; ++pass)
    {
        int changed = CollapsePass(mesh, surface);
        FlipPass(mesh, surface);
        RelaxPass(mesh, surface, 1);
        if (changed == 0)
        {
            break;
        }
    }
    for (int pass = 0; pass < 12; ++pass)
    {
        FlipPass(mesh, surface);
        RelaxPass(mesh, surface, 3);
    }
}
