// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

knDVec3 knStress_ToFrame(const PieceFrame* frame, knDVec3 point)
{
    knDVec3 v = knDSub(point, frame->center);
    return knMakeDVec3(knDDot(frame->axes[0], v) / frame->scale[0],
                       knDDot(frame->axes[1], v) / frame->scale[1],
                       knDDot(frame->axes[2], v) / frame->scale[2]);
}

// Annihilates a[p][q] by a rotation and turns the vectors with it.
static void JacobiRotate(double a[3][3], double v[3][3], int p, int q)
{
    if (a[p][q] == 0.0)
    {
        return;
    }
    double theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
    double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0);
    double s = t * c;
    for (int k = 0; k < 3; ++k)
    {
        double x = a[k][p];
        double y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (int k = 0; k < 3; ++k)
    {
        double x = a[p][k];
        double y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
        x = v[k][p];
        y = v[k][q];
        v[k][p] = c * x - s * y;
        v[k][q] = s * x + c * y;
    }
}

// Axes by falling spread of the volume.
static void FindFrame(PieceFrame* frame, const knMassProperties* mass)
{
    const knDSym3* t = &mass->inertia;
    double half = 0.5 * (t->xx + t->yy + t->zz);
    double a[3][3] = {{half - t->xx, -t->xy, -t->xz},
                      {-t->xy, half - t->yy, -t->yz},
                      {-t->xz, -t->yz, half - t->zz}};
    double v[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    for (int sweep = 0; sweep < 8; ++sweep)
    {
        JacobiRotate(a, v, 0, 1);
        JacobiRotate(a, v, 0, 2);
        JacobiRotate(a, v, 1, 2);
    }
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 3; ++i)
    {
        for (int k = i + 1; k < 3; ++k)
        {
            if (a[order[k]][order[k]] > a[order[i]][order[i]])
            {
                int swap = order[i];
                order[i] = order[k];
                order[k] = swap;
            }
        }
    }
    frame->center = mass->center;
    for (int i = 0; i < 3; ++i)
    {
        int o = order[i];
        frame->axes[i] = knMakeDVec3(v[0][o], v[1][o], v[2][o]);
        // a box of half side s spreads by s^2 / 3; the floor keeps a splinter from vanishing
        double spread = 3.0 * a[o][o] / mass->mass;
        double least = i > 0 ? 1e-3 * frame->scale[0] : 1e-30;
        frame->scale[i] = fmax(sqrt(fmax(spread, 0.0)), least);
    }
    // right-handed, so that volumes stay positive
    frame->axes[2] = knDCross(frame->axes[0], frame->axes[1]);
}

void knStress_SetLimits(PolySpace* space, int n0, int n1, int n2)
{
    space->limit[0] = n0;
    space->limit[1] = n1;
    space->limit[2] = n2;
    space->count = 0;
    for (int c = 0; c <= n2; ++c)
    {
        for (int b = 0; b + c <= n1; ++b)
        {
            for (int a = 0; a + b + c <= n0; ++a)
            {
                uint8_t* p = space->powers[space->count++];
                p[0] = (uint8_t)a;
                p[1] = (uint8_t)b;
                p[2] = (uint8_t)c;
            }
        }
    }
}

void knStress_ChooseSpace(Ritz* ritz)
{
    const StressTask* task = ritz->task;
    FindFrame(&ritz->frame, &task->def->set->fragments[task->def->fragment].mass);
    const double* s = ritz->frame.scale;
    bool isBar = s[0] > 3.0 * s[1];
    if (isBar)
    {
        knStress_SetLimits(&ritz->space, 8, 2, 2);
    }
    else if (s[1] > 2.5 * s[2])
    {
        knStress_SetLimits(&ritz->space, 6, 6, 2); // a plate
    }
    else
    {
        knStress_SetLimits(&ritz->space, 5, 5, 5);
    }
    ritz->n = 3 * ritz->space.count;
    for (int a = 0; a < 3; ++a)
    {
        // the higher the degree along an axis, the finer
        ritz->grid.counts[a] = (isBar ? 4 : 3) * ritz->space.limit[a];
        ritz->grid.sizes[a] = 2.0 * GRID_REACH / ritz->grid.counts[a];
    }
}
