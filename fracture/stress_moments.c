// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <string.h>

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

static void SetLimits(PolySpace* space, int n0, int n1, int n2)
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
    if (s[0] > 3.0 * s[1])
    {
        SetLimits(&ritz->space, 8, 2, 2); // a bar
    }
    else if (s[1] > 2.5 * s[2])
    {
        SetLimits(&ritz->space, 5, 5, 2); // a plate
    }
    else
    {
        SetLimits(&ritz->space, 4, 4, 4);
    }
    ritz->n = 3 * ritz->space.count;
}

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
    m->pointCount += 1;
}

// Points with one, two or all weights apart from the rest; all shares are positive, so the
// stiffness can never turn negative, however rough the rule is.
typedef struct Orbit
{
    double weights[2]; // of the marked corners, of the others
    double share;      // of the volume, per point
    int marked;        // corners that are marked: 1 or 2
} Orbit;

static void AddOrbit(Ritz* ritz, const knDVec3 r[4], double volume, const Orbit* orbit)
{
    for (int a = 0; a < 4; ++a)
    {
        for (int b = orbit->marked == 2 ? a + 1 : a; b < (orbit->marked == 2 ? 4 : a + 1); ++b)
        {
            knDVec3 p = {0.0, 0.0, 0.0};
            for (int i = 0; i < 4; ++i)
            {
                p = knDAdd(p, knDScale(orbit->weights[!(i == a || i == b)], r[i]));
            }
            AddPoint(ritz->moments, &ritz->space, p, orbit->share * volume);
        }
    }
}

// Exact to degree 2 with 4 points where there are many tetrahedra, to degree 5 with 14 (Walkington)
// where there are few.
static void AddTet(Ritz* ritz, const knDVec3 r[4], bool isFine)
{
    static const Orbit coarse = {{0.5854101966249685, 0.1381966011250105}, 0.25, 1};
    static const Orbit fine[3] = {
        {{0.0673422422100981706, 0.3108859192633006098}, 0.1126879257180158508, 1},
        {{0.7217942490673263208, 0.0927352503108912264}, 0.0734930431163619495, 1},
        {{0.4544962958743503595, 0.0455037041256496405}, 0.0425460207770814664, 2},
    };
    knDVec3 u = knDSub(r[1], r[0]);
    double volume = knDDot(knDCross(u, knDSub(r[2], r[0])), knDSub(r[3], r[0])) / 6.0;
    if (isFine)
    {
        AddOrbit(ritz, r, volume, &fine[0]);
        AddOrbit(ritz, r, volume, &fine[1]);
        AddOrbit(ritz, r, volume, &fine[2]);
    }
    else
    {
        AddOrbit(ritz, r, volume, &coarse);
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

static void AddRegion(Ritz* ritz, uint32_t tet, uint8_t mask, bool isFine)
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
            AddTet(ritz, r, isFine);
        }
    }
}

static void AddStar(Ritz* ritz, uint32_t node, bool isFine)
{
    const knStressDef* def = ritz->task->def;
    const knCutMesh* c = def->set->cutMesh;
    const knTetMesh* mesh = ritz->task->mesh;
    for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
    {
        uint32_t tet = c->nodeTets[k];
        const uint32_t* v = mesh->tets[tet].v;
        uint8_t mask = knCutStore_Mask(def->set->store, mesh, tet, def->fragment);
        int first = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
        // once for each tetrahedron: from the first of its corners that is ours
        if (v[first] == node && mask == 0xF && def->set->store->tetCuts[tet] == KN_NONE)
        {
            knDVec3 r[4];
            for (int i = 0; i < 4; ++i)
            {
                r[i] = knStress_ToFrame(&ritz->frame, knToDouble(mesh->nodes[v[i]]));
            }
            AddTet(ritz, r, isFine);
        }
        else if (v[first] == node)
        {
            AddRegion(ritz, tet, mask, isFine);
        }
    }
}

void knStress_AddMoments(Ritz* ritz)
{
    LayOutMoments(ritz->moments, &ritz->space);
    bool isFine = ritz->task->nodeCount < 150;
    for (uint32_t i = 0; i < ritz->task->nodeCount; ++i)
    {
        AddStar(ritz, ritz->task->nodes[i], isFine);
    }
    ritz->task->result.workUnits += (uint64_t)ritz->moments->pointCount * ritz->moments->count;
}
