// SPDX-License-Identifier: Zlib

// A wall: one block, gridded finely enough to crack anywhere.

#include "generate.h"

#include <stdlib.h>

enum
{
    WALL_X = 26,
    WALL_Y = 18,
    WALL_Z = 2
};

static const Vec3 wallSize = {1.30, 0.90, 0.10};

typedef struct WallGrid
{
    int vertex[WALL_X + 1][WALL_Y + 1][WALL_Z + 1]; // plus one, 0 while there is none
} WallGrid;

static int GridVertex(Mesh* mesh, WallGrid* grid, const int c[3])
{
    int* slot = &grid->vertex[c[0]][c[1]][c[2]];
    if (*slot == 0)
    {
        Vec3 p = {wallSize.x * c[0] / WALL_X, wallSize.y * c[1] / WALL_Y,
                  wallSize.z * c[2] / WALL_Z};
        *slot = AddVertex(mesh, p) + 1;
    }
    return *slot - 1;
}

static void AddWallCell(Mesh* mesh, WallGrid* grid, const int low[3], int axis, int side)
{
    int u = (axis + 1) % 3, v = (axis + 2) % 3, quad[4];
    for (int i = 0; i < 4; ++i)
    {
        int c[3] = {low[0], low[1], low[2]};
        int k = side ? i : 3 - i;
        c[u] += k == 1 || k == 2;
        c[v] += k >= 2;
        quad[i] = GridVertex(mesh, grid, c);
    }
    // diagonals alternate like a chequerboard: no direction is favoured to crack
    int odd = (low[0] + low[1] + low[2]) & 1;
    AddTriangle(mesh, quad[odd], quad[odd + 1], quad[odd + 2]);
    AddTriangle(mesh, quad[odd], quad[odd + 2], quad[(odd + 3) % 4]);
}

void MakeWall(Mesh* mesh)
{
    static const int counts[3] = {WALL_X, WALL_Y, WALL_Z};
    WallGrid* grid = Allocate(1, sizeof(WallGrid));
    for (int face = 0; face < 6; ++face)
    {
        int axis = face / 2, side = face % 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (int i = 0; i < counts[u] * counts[v]; ++i)
        {
            int low[3];
            low[axis] = side ? counts[axis] : 0;
            low[u] = i % counts[u];
            low[v] = i / counts[u];
            AddWallCell(mesh, grid, low, axis, side);
        }
    }
    free(grid);
    SettleOnGround(mesh);
    MapBox(mesh, 0.5);
}
