// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <string.h>

static void LayOutMoments(Moments3* m, const PolySpace* space)
{
    memset(m, 0, sizeof *m);
    for (int k = 0; k <= 2 * space->limit[2]; ++k)
    {
        for (int j = 0; j + k <= 2 * space->limit[1]; ++j)
        {
            m->rows[k][j] = (uint16_t)m->count;
            m->count += (uint32_t)(2 * space->limit[0] - j - k + 1);
        }
    }
}

static void AddPoint(Moments3* m, const PolySpace* space, knDVec3 p, double weight)
{
    double x[MAX_POWERS];
    double y[MAX_POWERS];
    x[0] = 1.0;
    y[0] = 1.0;
    for (int i = 1; i <= 2 * space->limit[0]; ++i)
    {
        x[i] = x[i - 1] * p.x;
    }
    for (int i = 1; i <= 2 * space->limit[1]; ++i)
    {
        y[i] = y[i - 1] * p.y;
    }
    double z = weight;
    for (int k = 0; k <= 2 * space->limit[2]; ++k)
    {
        for (int j = 0; j + k <= 2 * space->limit[1]; ++j)
        {
            double yz = y[j] * z;
            double* row = m->sums + m->rows[k][j];
            int last = 2 * space->limit[0] - j - k;
            for (int i = 0; i <= last; ++i)
            {
                row[i] += yz * x[i];
            }
        }
        z *= p.z;
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
    for (int i = 0; i < 8; ++i)
    {
        double x = i & 1 ? 1.0 : -1.0;
        double y = i & 2 ? 1.0 : -1.0;
        double z = i & 4 ? 1.0 : -1.0;
        knDVec3 p = {c.x + l[0] * x, c.y + l[1] * x + l[3] * y,
                     c.z + l[2] * x + l[4] * y + l[5] * z};
        AddPoint(ritz->moments, &ritz->space, p, volume / 8.0);
    }
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
