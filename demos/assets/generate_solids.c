// SPDX-License-Identifier: Zlib

// The assets made from plain geometry: plate, brick, ball and shelf.

#include "generate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum
{
    MAX_RING = 240
};

typedef struct Ring
{
    int v[MAX_RING];
    int count;
} Ring;

static Ring AddRing(Mesh* mesh, Vec3 centre, double radius, int count, bool halfStep)
{
    Ring ring = {.count = count};
    for (int i = 0; i < count; ++i)
    {
        Uv t = Turn(2 * i + (halfStep ? 1 : 0), 2 * count);
        Vec3 p = {centre.x + radius * t.u, centre.y, centre.z + radius * t.v};
        ring.v[i] = AddVertex(mesh, p);
    }
    return ring;
}

// Plate

typedef struct ProfileKnot
{
    double radius, height; // millimetres
    int steps;             // rings from the knot before
} ProfileKnot;

// from the middle of the well over the lip to the middle of the underside
static const ProfileKnot plateProfile[] = {
    {0.0, 6.9, 0},    {70.0, 7.2, 10},  {77.0, 8.3, 1},   {83.2, 10.7, 1},  {89.2, 13.6, 1},
    {95.8, 15.8, 1},  {125.0, 21.6, 4}, {128.7, 22.0, 1}, {130.0, 20.3, 1}, {128.2, 18.4, 1},
    {124.5, 17.2, 1}, {97.0, 11.4, 4},  {90.8, 9.0, 1},   {85.0, 5.9, 1},   {79.6, 3.7, 1},
    {76.8, 2.9, 1},   {75.6, 0.0, 1},   {71.4, 0.0, 1},   {70.2, 2.3, 1},   {66.0, 2.6, 1},
    {0.0, 2.6, 9},
};

static const double plateEdge = 7.0; // millimetres along a ring

static int PlateRingCount(double radius)
{
    int sixth = (int)(2.0 * 3.14159265358979 * radius / (6.0 * plateEdge) + 0.5);
    return sixth < 1 ? 6 : 6 * sixth;
}

static void MapPlate(Mesh* mesh)
{
    for (int i = 0; i < 3 * mesh->triangleCount; ++i)
    {
        Triangle* triangle = mesh->triangles + i / 3;
        Vec3 p = mesh->vertices[triangle->v[i % 3]];
        triangle->uv[i % 3] = (Uv){0.5 + p.x / 0.26, 0.5 - p.z / 0.26};
    }
}

// Rings gain and lose segments with their radius, so that the axis is met by six good triangles.
void MakePlate(Mesh* mesh)
{
    const int knotCount = (int)(sizeof(plateProfile) / sizeof(plateProfile[0]));
    Ring last = {.v = {AddVertex(mesh, (Vec3){0.0, plateProfile[0].height * 1e-3, 0.0})},
                 .count = 1};
    bool halfStep = false;
    for (int i = 1; i < knotCount; ++i)
    {
        ProfileKnot a = plateProfile[i - 1], b = plateProfile[i];
        for (int step = 1; step <= b.steps; ++step)
        {
            double t = (double)step / b.steps;
            double radius = a.radius + t * (b.radius - a.radius);
            Vec3 centre = {0.0, 1e-3 * (a.height + t * (b.height - a.height)), 0.0};
            int count = radius > 0.0 ? PlateRingCount(radius) : 1;
            // equal rings alternate, which gives isosceles triangles
            halfStep = count == last.count ? !halfStep : halfStep;
            Ring ring = AddRing(mesh, centre, 1e-3 * radius, count, halfStep);
            Stitch(mesh, last.v, last.count, ring.v, ring.count);
            last = ring;
        }
    }
    SettleOnGround(mesh);
    MapPlate(mesh);
}

// Brick

enum
{
    BRICK_X = 3, // holes along the brick
    BRICK_Z = 2,
    BRICK_COLUMNS = 2 * BRICK_X, // half cells: long sides are cut once, to keep angles open
    BRICK_OUTLINE = 2 * (BRICK_COLUMNS + BRICK_Z),
    HOLE_SIDES = 10,
    HOLE_LEVELS = 3 // a ring at half height, for the same reason
};

static const Vec3 brickSize = {0.240, 0.071, 0.115};
static const double holeRadius = 0.0170;

typedef struct BrickFace
{
    int grid[BRICK_Z + 1][BRICK_COLUMNS + 1];
} BrickFace;

static BrickFace AddBrickGrid(Mesh* mesh, double height)
{
    BrickFace face;
    for (int z = 0; z <= BRICK_Z; ++z)
    {
        for (int x = 0; x <= BRICK_COLUMNS; ++x)
        {
            Vec3 p = {brickSize.x * x / BRICK_COLUMNS, height, brickSize.z * z / BRICK_Z};
            face.grid[z][x] = AddVertex(mesh, p);
        }
    }
    return face;
}

// the ring starts one step round, next to the corner of the cell where the cap starts too
static Ring AddHoleRing(Mesh* mesh, Vec3 centre)
{
    Ring plain = AddRing(mesh, centre, holeRadius, HOLE_SIDES, false), ring = plain;
    for (int i = 0; i < HOLE_SIDES; ++i)
    {
        ring.v[i] = plain.v[(i + 1) % HOLE_SIDES];
    }
    return ring;
}

static void AddBrickHole(Mesh* mesh, const BrickFace faces[2], int x, int z)
{
    Vec3 centre = {brickSize.x * (x + 0.5) / BRICK_X, 0.0, brickSize.z * (z + 0.5) / BRICK_Z};
    Ring rings[HOLE_LEVELS];
    for (int i = 0; i < HOLE_LEVELS; ++i)
    {
        centre.y = brickSize.y * i / (HOLE_LEVELS - 1);
        rings[i] = AddHoleRing(mesh, centre);
        if (i > 0)
        {
            Stitch(mesh, rings[i - 1].v, HOLE_SIDES, rings[i].v, HOLE_SIDES);
        }
    }
    int cells[2][6];
    for (int i = 0; i < 2; ++i)
    {
        const int* near = faces[i].grid[z] + 2 * x;
        const int* far = faces[i].grid[z + 1] + 2 * x;
        const int cell[6] = {far[2], far[1], far[0], near[0], near[1], near[2]};
        memcpy(cells[i], cell, sizeof(cell));
    }
    Stitch(mesh, cells[0], 6, rings[0].v, HOLE_SIDES);
    Stitch(mesh, rings[HOLE_LEVELS - 1].v, HOLE_SIDES, cells[1], 6);
}

static void AddBrickSides(Mesh* mesh, const BrickFace faces[2])
{
    static const int directions[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    int low[BRICK_OUTLINE], high[BRICK_OUTLINE];
    int count = 0, x = 0, z = 0;
    for (int side = 0; side < 4; ++side)
    {
        int steps = side % 2 == 0 ? BRICK_COLUMNS : BRICK_Z;
        for (int i = 0; i < steps; ++i)
        {
            low[count] = faces[0].grid[z][x];
            high[count++] = faces[1].grid[z][x];
            x += directions[side][0];
            z += directions[side][1];
        }
    }
    for (int i = 0; i < BRICK_OUTLINE; ++i)
    {
        int next = (i + 1) % BRICK_OUTLINE;
        AddQuad(mesh, (int[]){low[i], high[i], high[next], low[next]});
    }
}

void MakeBrick(Mesh* mesh)
{
    const BrickFace faces[2] = {AddBrickGrid(mesh, 0.0), AddBrickGrid(mesh, brickSize.y)};
    for (int i = 0; i < BRICK_X * BRICK_Z; ++i)
    {
        AddBrickHole(mesh, faces, i % BRICK_X, i / BRICK_X);
    }
    AddBrickSides(mesh, faces);
    SettleOnGround(mesh);
    MapBox(mesh, 0.25);
}

// Ball

static const double ballRadius = 0.06;

static void AddIcosahedron(Mesh* mesh)
{
    const double height = 1.0 / sqrt(5.0);
    int north = AddVertex(mesh, (Vec3){0.0, 1.0, 0.0});
    Ring upper = AddRing(mesh, (Vec3){0.0, height, 0.0}, 2.0 * height, 5, false);
    Ring lower = AddRing(mesh, (Vec3){0.0, -height, 0.0}, 2.0 * height, 5, true);
    int south = AddVertex(mesh, (Vec3){0.0, -1.0, 0.0});
    Stitch(mesh, &north, 1, upper.v, 5);
    Stitch(mesh, upper.v, 5, lower.v, 5);
    Stitch(mesh, lower.v, 5, &south, 1);
}

// the sum of two points does not depend on their order, so shared midpoints are equal to the bit
static int FindOrAddMidpoint(Mesh* mesh, int a, int b)
{
    Vec3 middle = Add(mesh->vertices[a], mesh->vertices[b]);
    middle = Scale(1.0 / Length(middle), middle);
    for (int i = mesh->vertexCount - 1; i >= 0; --i)
    {
        Vec3 p = mesh->vertices[i];
        if (p.x == middle.x && p.y == middle.y && p.z == middle.z)
        {
            return i;
        }
    }
    return AddVertex(mesh, middle);
}

static void Subdivide(Mesh* mesh)
{
    Mesh coarse = *mesh;
    mesh->triangles = NULL;
    mesh->triangleCount = mesh->triangleCapacity = 0;
    for (int i = 0; i < coarse.triangleCount; ++i)
    {
        const int* v = coarse.triangles[i].v;
        int ab = FindOrAddMidpoint(mesh, v[0], v[1]);
        int bc = FindOrAddMidpoint(mesh, v[1], v[2]);
        int ca = FindOrAddMidpoint(mesh, v[2], v[0]);
        AddTriangle(mesh, v[0], ab, ca);
        AddTriangle(mesh, ab, v[1], bc);
        AddTriangle(mesh, ca, bc, v[2]);
        AddTriangle(mesh, ab, bc, ca);
    }
    free(coarse.triangles);
}

// longitude and latitude; the triangles across the seam run past 1, those at a pole share it out
static void MapSphere(Triangle* triangle, const Vec3* unit)
{
    double u[3], largest = 0.0, sum = 0.0;
    for (int k = 0; k < 3; ++k)
    {
        u[k] = TurnOf(unit[k].x, -unit[k].z);
        largest = fmax(largest, u[k]);
    }
    for (int k = 0; k < 3; ++k)
    {
        bool pole = fabs(unit[k].y) > 0.999999;
        u[k] += !pole && largest - u[k] > 0.5 ? 1.0 : 0.0;
        sum += pole ? 0.0 : u[k];
    }
    for (int k = 0; k < 3; ++k)
    {
        double level = sqrt(unit[k].x * unit[k].x + unit[k].z * unit[k].z);
        double latitude = TurnOf(level, fabs(unit[k].y));
        bool pole = fabs(unit[k].y) > 0.999999;
        triangle->uv[k].u = pole ? 0.5 * sum : u[k];
        triangle->uv[k].v = 0.5 + 2.0 * (unit[k].y < 0.0 ? -latitude : latitude);
    }
}

void MakeBall(Mesh* mesh)
{
    AddIcosahedron(mesh);
    for (int i = 0; i < 3; ++i)
    {
        Subdivide(mesh);
    }
    for (int i = 0; i < mesh->triangleCount; ++i)
    {
        const int* v = mesh->triangles[i].v;
        const Vec3 unit[3] = {mesh->vertices[v[0]], mesh->vertices[v[1]], mesh->vertices[v[2]]};
        MapSphere(mesh->triangles + i, unit);
    }
    for (int i = 0; i < mesh->vertexCount; ++i)
    {
        mesh->vertices[i] = Scale(ballRadius, mesh->vertices[i]);
    }
    SettleOnGround(mesh);
}

// Shelf

// a run of equal cells along one axis
typedef struct Run
{
    int count;
    double length; // of the whole run, metres
} Run;

typedef struct Box
{
    int lower[3], upper[3]; // in runs of each axis
} Box;

enum
{
    SHELF_RUNS = 5,
    SHELF_CELLS = 32
};

// Every plane of a board is a plane of the lattice, and every board is one cell thick. Cells are
// narrow in depth: against the thickness that asks TetGen for points inside the boards as well.
static const Run shelfRuns[3][SHELF_RUNS] = {
    {{1, 0.060}, {22, 1.160}, {1, 0.060}},
    {{1, 0.050}, {1, 0.060}, {6, 0.300}, {1, 0.060}, {2, 0.080}},
    {{2, 0.038}, {15, 0.282}},
};

static const Box shelfBoxes[] = {
    {{0, 0, 0}, {1, 5, 2}},                         // uprights
    {{2, 0, 0}, {3, 5, 2}}, {{1, 1, 0}, {2, 2, 2}}, // boards
    {{1, 3, 0}, {2, 4, 2}}, {{1, 4, 0}, {2, 5, 1}}, // back rail, on the upper board
};

typedef struct Lattice
{
    int count[3];                     // cells
    int start[3][SHELF_RUNS + 1];     // first cell of each run
    double plane[3][SHELF_CELLS + 1]; // metres
    bool solid[SHELF_CELLS][SHELF_CELLS][SHELF_CELLS];
    int vertex[SHELF_CELLS + 1][SHELF_CELLS + 1][SHELF_CELLS + 1]; // plus one; 0 is none
} Lattice;

static void LayLattice(Lattice* lattice)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        int cell = 0;
        for (int run = 0; run < SHELF_RUNS; ++run)
        {
            Run r = shelfRuns[axis][run];
            lattice->start[axis][run] = cell;
            for (int i = 1; i <= r.count; ++i)
            {
                double base = lattice->plane[axis][lattice->start[axis][run]];
                lattice->plane[axis][++cell] = base + r.length * i / r.count;
            }
        }
        lattice->start[axis][SHELF_RUNS] = cell;
        lattice->count[axis] = cell;
    }
}

static void FillBox(Lattice* lattice, const Box* box)
{
    int low[3], high[3];
    for (int axis = 0; axis < 3; ++axis)
    {
        low[axis] = lattice->start[axis][box->lower[axis]];
        high[axis] = lattice->start[axis][box->upper[axis]];
    }
    for (int x = low[0]; x < high[0]; ++x)
    {
        for (int y = low[1]; y < high[1]; ++y)
        {
            for (int z = low[2]; z < high[2]; ++z)
            {
                lattice->solid[x][y][z] = true;
            }
        }
    }
}

static bool IsSolid(const Lattice* lattice, const int c[3])
{
    for (int axis = 0; axis < 3; ++axis)
    {
        if (c[axis] < 0 || c[axis] >= lattice->count[axis])
        {
            return false;
        }
    }
    return lattice->solid[c[0]][c[1]][c[2]];
}

static int LatticeVertex(Mesh* mesh, Lattice* lattice, const int c[3])
{
    int* slot = &lattice->vertex[c[0]][c[1]][c[2]];
    if (*slot == 0)
    {
        Vec3 p = {lattice->plane[0][c[0]], lattice->plane[1][c[1]], lattice->plane[2][c[2]]};
        *slot = AddVertex(mesh, p) + 1;
    }
    return *slot - 1;
}

// the face of a cell towards its neighbour on one side of one axis
static void AddLatticeFace(Mesh* mesh, Lattice* lattice, const int cell[3], int axis, int side)
{
    int u = (axis + 1) % 3, v = (axis + 2) % 3, quad[4];
    for (int i = 0; i < 4; ++i)
    {
        int c[3] = {cell[0], cell[1], cell[2]};
        int k = side == 1 ? i : 3 - i;
        c[axis] += side;
        c[u] += k == 1 || k == 2;
        c[v] += k >= 2;
        quad[i] = LatticeVertex(mesh, lattice, c);
    }
    // diagonals alternate like a chequerboard: no direction is favoured to crack
    int odd = (cell[0] + cell[1] + cell[2]) & 1;
    AddTriangle(mesh, quad[odd], quad[odd + 1], quad[odd + 2]);
    AddTriangle(mesh, quad[odd], quad[odd + 2], quad[(odd + 3) % 4]);
}

static void AddCellFaces(Mesh* mesh, Lattice* lattice, const int cell[3])
{
    for (int i = 0; i < 6; ++i)
    {
        int axis = i / 2, side = i % 2;
        int other[3] = {cell[0], cell[1], cell[2]};
        other[axis] += side == 1 ? 1 : -1;
        if (!IsSolid(lattice, other))
        {
            AddLatticeFace(mesh, lattice, cell, axis, side);
        }
    }
}

void MakeShelf(Mesh* mesh)
{
    Lattice* lattice = Allocate(1, sizeof(Lattice));
    LayLattice(lattice);
    for (size_t i = 0; i < sizeof(shelfBoxes) / sizeof(shelfBoxes[0]); ++i)
    {
        FillBox(lattice, shelfBoxes + i);
    }
    const int cellCount = SHELF_CELLS * SHELF_CELLS * SHELF_CELLS;
    for (int i = 0; i < cellCount; ++i)
    {
        int cell[3] = {i / (SHELF_CELLS * SHELF_CELLS), i / SHELF_CELLS % SHELF_CELLS,
                       i % SHELF_CELLS};
        if (IsSolid(lattice, cell))
        {
            AddCellFaces(mesh, lattice, cell);
        }
    }
    free(lattice);
    SettleOnGround(mesh);
    MapBox(mesh, 0.5);
}
