// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <simde/x86/sse2.h>
#include <string.h>

static void LayOutMoments(Moments3* m, const PolySpace* space)
{
    memset(m, 0, sizeof *m);
    for (int k = 0; k <= 2 * space->limit[2]; ++k)
    {
        for (int j = 0; j + k <= 2 * space->limit[1]; ++j)
        {
            m->rows[k][j] = (uint16_t)m->count;
            // even lengths: rows are summed in pairs
            m->count += (uint32_t)((2 * space->limit[0] - j - k + 2) & ~1);
        }
    }
}

// Powers of the coordinates of a cell's eight points.
typedef struct CellPoints
{
    double x[8][MAX_POWERS + 1]; // one more: rows are summed in pairs
    double y[MAX_POWERS][8];
    double z[8]; // weight times the power at work
} CellPoints;

static void AddRow(double* row, int count, const double (*x)[MAX_POWERS + 1], const double* yz)
{
    for (int i = 0; i < count; i += 2)
    {
        simde__m128d sum = simde_mm_loadu_pd(row + i);
        for (int p = 0; p < 8; ++p)
        {
            simde__m128d term =
                simde_mm_mul_pd(simde_mm_set1_pd(yz[p]), simde_mm_loadu_pd(x[p] + i));
            sum = simde_mm_add_pd(sum, term);
        }
        simde_mm_storeu_pd(row + i, sum);
    }
}

static void AddPoints(Moments3* m, const PolySpace* space, CellPoints* points,
                      const double (*at)[3])
{
    for (int p = 0; p < 8; ++p)
    {
        points->x[p][0] = 1.0;
        points->y[0][p] = 1.0;
        for (int i = 1; i <= MAX_POWERS; ++i)
        {
            points->x[p][i] = points->x[p][i - 1] * at[p][0];
        }
        for (int i = 1; i <= 2 * space->limit[1]; ++i)
        {
            points->y[i][p] = points->y[i - 1][p] * at[p][1];
        }
    }
    for (int k = 0; k <= 2 * space->limit[2]; ++k)
    {
        for (int j = 0; j + k <= 2 * space->limit[1]; ++j)
        {
            double yz[8];
            for (int p = 0; p < 8; ++p)
            {
                yz[p] = points->y[j][p] * points->z[p];
            }
            AddRow(m->sums + m->rows[k][j], 2 * space->limit[0] - j - k + 1,
                   (const double(*)[MAX_POWERS + 1]) points->x, yz);
        }
        for (int p = 0; p < 8; ++p)
        {
            points->z[p] *= at[p][2];
        }
    }
}

// A matrix L with L L^T = a, for a that may lack a direction.
static void Root(const knDSym3* a, double l[6])
{
    l[0] = sqrt(fmax(a->xx, 0.0));
    l[1] = l[0] > 0.0 ? a->xy / l[0] : 0.0;
    l[2] = l[0] > 0.0 ? a->xz / l[0] : 0.0;
    l[3] = sqrt(fmax(a->yy - l[1] * l[1], 0.0));
    l[4] = l[3] > 0.0 ? (a->yz - l[1] * l[2]) / l[3] : 0.0;
    l[5] = sqrt(fmax(a->zz - l[2] * l[2] - l[4] * l[4], 0.0));
}

// Eight points with the volume, the centre and the spread of the cell's content. All have the same
// share of the volume: whatever is integrated of a square stays a sum of squares.
static void AddCell(Ritz* ritz, const knMoments* cell)
{
    double volume = cell->volume;
    knDVec3 c = knDScale(1.0 / volume, cell->first);
    knDSym3 spread = {cell->second.xx / volume - c.x * c.x, cell->second.yy / volume - c.y * c.y,
                      cell->second.zz / volume - c.z * c.z, cell->second.xy / volume - c.x * c.y,
                      cell->second.xz / volume - c.x * c.z, cell->second.yz / volume - c.y * c.z};
    double l[6];
    Root(&spread, l);
    CellPoints points;
    double at[8][3];
    for (int i = 0; i < 8; ++i)
    {
        double x = i & 1 ? 1.0 : -1.0;
        double y = i & 2 ? 1.0 : -1.0;
        double z = i & 4 ? 1.0 : -1.0;
        at[i][0] = c.x + l[0] * x;
        at[i][1] = c.y + l[1] * x + l[3] * y;
        at[i][2] = c.z + l[2] * x + l[4] * y + l[5] * z;
        points.z[i] = volume / 8.0;
    }
    AddPoints(ritz->moments, &ritz->space, &points, (const double(*)[3])at);
    ritz->task->result.workUnits += 8 * (uint64_t)ritz->moments->count;
}

void knStress_AddMoments(Ritz* ritz)
{
    LayOutMoments(ritz->moments, &ritz->space);
    const int* counts = ritz->grid.counts;
    for (int i = 0; i < counts[0] * counts[1] * counts[2]; ++i)
    {
        if (ritz->grid.cells[i].volume > 0.0)
        {
            AddCell(ritz, &ritz->grid.cells[i]);
        }
    }
}
