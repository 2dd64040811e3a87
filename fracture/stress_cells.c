// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <string.h>

#define MAX_HALVINGS 9

static int CellAlong(const CellGrid* grid, int axis, double x)
{
    // what reaches beyond the grid, however far, counts in the outermost cell at its right place
    double at = (x + GRID_REACH) / grid->sizes[axis], last = grid->counts[axis] - 1;
    return at < last ? (int)fmax(at, 0.0) : (int)last;
}

static void AddPart(CellGrid* grid, const knDVec3 r[4])
{
    knDVec3 c = knDScale(0.25, knDAdd(knDAdd(r[0], r[1]), knDAdd(r[2], r[3])));
    int x = CellAlong(grid, 0, c.x);
    int y = CellAlong(grid, 1, c.y);
    int z = CellAlong(grid, 2, c.z);
    knMoments_AddTet(&grid->cells[(z * grid->counts[1] + y) * grid->counts[0] + x], r);
    grid->partCount += 1;
}

// The edge that is longest, counted in cells.
static double LongestEdge(const CellGrid* grid, const knDVec3 r[4], int ends[2])
{
    double longest = 0.0;
    for (int e = 0; e < 6; ++e)
    {
        knDVec3 v = knDSub(r[knTetEdgeCorners[e][1]], r[knTetEdgeCorners[e][0]]);
        double x = v.x / grid->sizes[0];
        double y = v.y / grid->sizes[1];
        double z = v.z / grid->sizes[2];
        double length2 = x * x + y * y + z * z;
        if (length2 > longest)
        {
            longest = length2;
            ends[0] = knTetEdgeCorners[e][0];
            ends[1] = knTetEdgeCorners[e][1];
        }
    }
    return longest;
}

#define LONGEST (3.0 * 3.0) // squared, in cells

// True only where LongestEdge is below the limit: products for its quotients are off by a few bits.
static bool IsSurelySmall(const CellGrid* grid, const knDVec3 r[4])
{
    double longest = 0.0;
    for (int e = 0; e < 6; ++e)
    {
        knDVec3 v = knDSub(r[knTetEdgeCorners[e][1]], r[knTetEdgeCorners[e][0]]);
        double x = v.x * grid->inverses[0];
        double y = v.y * grid->inverses[1];
        double z = v.z * grid->inverses[2];
        double length2 = x * x + y * y + z * z;
        longest = length2 > longest ? length2 : longest;
    }
    return longest < LONGEST * (1.0 - 1e-9);
}

// Large tetrahedra are halved until they are about as small as the cells.
static void AddTet(CellGrid* grid, const knDVec3 r[4], int depth)
{
    int ends[2] = {0, 1};
    if (depth >= MAX_HALVINGS || IsSurelySmall(grid, r) || LongestEdge(grid, r, ends) < LONGEST)
    {
        AddPart(grid, r);
        return;
    }
    knDVec3 middle = knDScale(0.5, knDAdd(r[ends[0]], r[ends[1]]));
    for (int side = 0; side < 2; ++side)
    {
        knDVec3 half[4] = {r[0], r[1], r[2], r[3]};
        half[ends[side]] = middle;
        AddTet(grid, half, depth + 1);
    }
}

static bool HoldsFirst(const knRegionFace* face)
{
    bool holds = false;
    for (int i = 0; i < face->count; ++i)
    {
        holds |= face->loop[i] == 0;
    }
    return holds;
}

static void AddRegion(Ritz* ritz, uint32_t tet, uint8_t mask)
{
    knTetRegion region;
    knCutStore_Region(ritz->task->def->set->store, ritz->task->mesh, tet, mask, &region);
    knDVec3 points[KN_MAX_REGION_VERTICES];
    for (int i = 0; i < region.vertexCount; ++i)
    {
        points[i] = knStress_ToFrame(&ritz->frame, knToDouble(region.vertices[i].position));
    }
    for (int f = 0; f < region.faceCount; ++f)
    {
        const knRegionFace* face = &region.faces[f];
        for (int i = 1; i + 1 < face->count && !HoldsFirst(face); ++i)
        {
            const knDVec3 r[4] = {points[0], points[face->loop[0]], points[face->loop[i]],
                                  points[face->loop[i + 1]]};
            AddTet(&ritz->grid, r, 0);
        }
    }
}

static void AddWhole(Ritz* ritz, const uint32_t v[4])
{
    const uint32_t* slots = ritz->task->def->set->slots;
    knDVec3 r[4];
    for (int i = 0; i < 4; ++i)
    {
        r[i] = ritz->places[slots[v[i]] - ritz->firstSlot];
    }
    AddTet(&ritz->grid, r, 0);
}

static void AddStar(Ritz* ritz, uint32_t node)
{
    const knStressDef* def = ritz->task->def;
    const knCutMesh* c = def->set->cutMesh;
    const knTetMesh* mesh = ritz->task->mesh;
    for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
    {
        uint32_t tet = c->nodeTets[k];
        const uint32_t* v = mesh->tets[tet].v;
        // once for each tetrahedron: from the first of its corners that is ours; all are where
        // nothing is cut
        if (def->set->store->tetCuts[tet] == KN_NONE)
        {
            if (v[0] == node)
            {
                AddWhole(ritz, v);
            }
            continue;
        }
        uint8_t mask = knCutStore_Mask(def->set->store, mesh, tet, def->fragment);
        int first = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
        if (v[first] == node)
        {
            AddRegion(ritz, tet, mask);
        }
    }
}

// Every node in the frame: tetrahedra ask for each of them two dozen times.
static void PlaceNodes(Ritz* ritz)
{
    const StressTask* task = ritz->task;
    ritz->firstSlot = task->def->set->fragments[task->def->fragment].firstNode;
    for (uint32_t i = 0; i < task->nodeCount; ++i)
    {
        knDVec3 p = knToDouble(task->mesh->nodes[task->nodes[i]]);
        ritz->places[i] = knStress_ToFrame(&ritz->frame, p);
    }
}

void knStress_FillCells(Ritz* ritz)
{
    CellGrid* grid = &ritz->grid;
    size_t count = (size_t)(grid->counts[0] * grid->counts[1] * grid->counts[2]);
    memset(grid->cells, 0, count * sizeof *grid->cells);
    PlaceNodes(ritz);
    for (int a = 0; a < 3; ++a)
    {
        grid->inverses[a] = 1.0 / grid->sizes[a];
    }
    for (uint32_t i = 0; i < ritz->task->nodeCount; ++i)
    {
        AddStar(ritz, ritz->task->nodes[i]);
    }
    ritz->task->result.workUnits += 64 * (uint64_t)grid->partCount;
}
