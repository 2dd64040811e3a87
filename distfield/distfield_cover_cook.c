// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// What each tetrahedron covers of the lattice, for cooking: a break then marks the cells of a piece
// by its tetrahedra, without looking at the tetrahedra of every cell.

static knBox TetBox(const knTetMesh* mesh, uint32_t tet)
{
    const uint32_t* v = mesh->tets[tet].v;
    knBox box = {mesh->nodes[v[0]], mesh->nodes[v[0]]};
    for (int i = 1; i < 4; ++i)
    {
        box = knBox_AddPoint(box, mesh->nodes[v[i]]);
    }
    return box;
}

// Box and face planes; keeps all that touch the closed cell and a few more. The slack is far above
// the rounding of these expressions and far below a cell.
bool knTetTouchesCell(const knTetMesh* mesh, uint32_t tet, knBox cell)
{
    if (!knBox_Overlaps(TetBox(mesh, tet), cell))
    {
        return false;
    }
    const uint32_t* v = mesh->tets[tet].v;
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        knDVec3 a = knToDouble(mesh->nodes[v[c[0]]]);
        knDVec3 n = knDCross(knDSub(knToDouble(mesh->nodes[v[c[1]]]), a),
                             knDSub(knToDouble(mesh->nodes[v[c[2]]]), a));
        knVec3 low = {n.x > 0.0 ? cell.lower.x : cell.upper.x,
                      n.y > 0.0 ? cell.lower.y : cell.upper.y,
                      n.z > 0.0 ? cell.lower.z : cell.upper.z};
        knDVec3 d = knDSub(knToDouble(low), a);
        double size = fabs(n.x * d.x) + fabs(n.y * d.y) + fabs(n.z * d.z);
        if (knDDot(n, d) > 1e-12 * size)
        {
            return false;
        }
    }
    return true;
}

static knResult AddCover(knCovers* covers, uint32_t word, uint64_t mask)
{
    size_t needed = covers->count + 1;
    knResult result = knGrow(&covers->allocator, (void**)&covers->masks, &covers->maskCapacity,
                             needed, sizeof(uint64_t));
    result = result == kn_success ? knGrow(&covers->allocator, (void**)&covers->words,
                                           &covers->wordCapacity, needed, sizeof(uint16_t))
                                  : result;
    if (result == kn_success)
    {
        covers->masks[covers->count] = mask;
        covers->words[covers->count] = (uint16_t)word;
        covers->count += 1;
    }
    return result;
}

// The cells of one word that are in the range and that the tetrahedron touches. Cells are taken a
// little larger, as rounding may take a point near a side for the next cell's.
static uint64_t TouchedCells(const knTetMesh* mesh, uint32_t tet, const knTetLocator* lattice,
                             const knCellRange* range, const int32_t word[3])
{
    uint64_t mask = 0;
    knVec3 size = lattice->cell;
    for (int32_t bit = 0; bit < 64; ++bit)
    {
        int32_t at[3] = {4 * word[0] + (bit & 3), 4 * word[1] + (bit >> 2 & 3),
                         4 * word[2] + (bit >> 4)};
        bool inRange = true;
        for (int a = 0; a < 3; ++a)
        {
            inRange = inRange && at[a] >= range->low[a] && at[a] <= range->high[a];
        }
        knVec3 low = {(float)at[0] * size.x, (float)at[1] * size.y, (float)at[2] * size.z};
        knBox cell = {knAdd(lattice->box.lower, low), knAdd(lattice->box.lower, knAdd(low, size))};
        knVec3 slack = knScale(lattice->border, size);
        cell = (knBox){knSub(cell.lower, slack), knAdd(cell.upper, slack)};
        mask |= (uint64_t)(inRange && knTetTouchesCell(mesh, tet, cell)) << bit;
    }
    return mask;
}

static knResult AddTet(knCovers* covers, const knTetMesh* mesh, uint32_t tet,
                       const knTetLocator* lattice, const uint32_t shifts[3])
{
    knCellRange range = knCellsOfBox(lattice, TetBox(mesh, tet), lattice->border);
    knResult result = kn_success;
    int32_t at[3];
    for (at[2] = range.low[2] / 4; at[2] <= range.high[2] / 4; ++at[2])
    {
        for (at[1] = range.low[1] / 4; at[1] <= range.high[1] / 4; ++at[1])
        {
            for (at[0] = range.low[0] / 4; at[0] <= range.high[0] / 4; ++at[0])
            {
                uint64_t mask = TouchedCells(mesh, tet, lattice, &range, at);
                uint32_t row = ((uint32_t)at[2] << knWordShift(shifts[1])) + (uint32_t)at[1];
                uint32_t word = (row << knWordShift(shifts[0])) + (uint32_t)at[0];
                result = result == kn_success && mask != 0 ? AddCover(covers, word, mask) : result;
            }
        }
    }
    return result;
}

knResult knListCovers(knCovers* covers, const knTetMesh* mesh, const uint32_t shifts[3])
{
    knTetLocator lattice = {.box = knBoundingBox(mesh->nodes, mesh->nodeCount)};
    knPlaceLattice(&lattice, shifts);
    covers->starts = knAllocate(&covers->allocator, (size_t)mesh->tetCount + 1, sizeof(uint32_t));
    knResult result = covers->starts ? kn_success : kn_errorMemory;
    for (uint32_t t = 0; t < mesh->tetCount && result == kn_success; ++t)
    {
        covers->starts[t] = (uint32_t)covers->count;
        result = AddTet(covers, mesh, t, &lattice, shifts);
        if (covers->count >= 1u << 30)
        {
            result = knFail(kn_errorLimit, "the tetrahedra cover too many cells");
        }
    }
    if (result == kn_success)
    {
        covers->starts[mesh->tetCount] = (uint32_t)covers->count;
    }
    return result;
}

void knReleaseCovers(knCovers* covers, uint32_t tetCount)
{
    knRelease(&covers->allocator, covers->starts, (size_t)tetCount + 1, sizeof(uint32_t));
    knRelease(&covers->allocator, covers->masks, covers->maskCapacity, sizeof(uint64_t));
    knRelease(&covers->allocator, covers->words, covers->wordCapacity, sizeof(uint16_t));
}
