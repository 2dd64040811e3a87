// SPDX-License-Identifier: Zlib
#include "bench/tree_cut.h"

#include "bench/tree_scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI         3.14159265358979323846
#define PEEL       0.88 // radius of the inside of the peel
#define POLE       0.12 // an apple is open around its stem
#define CORE       0.05 // walls end short of the axis
#define MAX_STRIPS MAX_CUTS

static knDVec3 ShapePoint(CutShape shape, double u, double v)
{
    double around = 2.0 * PI * v, first = shape == cutApple ? POLE / PI : 0.02;
    double polar = PI * (first + (0.98 - first) * u);
    double radius = 1.0, sine = SceneSine(polar);
    if (shape == cutStatic)
    {
        radius += 0.2 * SceneSine(3.0 * polar) + 0.15 * sine * SceneCosine(4.0 * around);
    }
    else if (shape == cutPumpkin)
    {
        radius += 0.06 * sine * SceneCosine(10.0 * around);
    }
    double length = shape == cutStatic ? 1.8 : 1.0;
    return knMakeDVec3(radius * sine * SceneCosine(around), length * radius * SceneCosine(polar),
                       radius * sine * SceneSine(around));
}

static uint32_t AddVertex(CutMesh* m, knDVec3 rest, uint32_t strip)
{
    m->vertices[m->vertexCount] = (CutVertex){rest, strip};
    m->positions[m->vertexCount] = knToFloat(rest);
    return m->vertexCount++;
}

// Strip k lies between cut k and the next one around.
static uint32_t StripOf(const CutMesh* m, knDVec3 p)
{
    uint32_t strip = 0;
    for (int i = 0; i < m->cutCount; ++i)
    {
        const knDVec3 *a = &m->along[i], *b = &m->along[(i + 1) % m->cutCount];
        double left = a->x * p.z - a->z * p.x, right = p.x * b->z - p.z * b->x;
        strip = left >= 0.0 && right > 0.0 ? (uint32_t)i : strip;
    }
    return strip;
}

static void SetCuts(CutMesh* m, int cutCount)
{
    m->cutCount = cutCount;
    for (int i = 0; i < cutCount; ++i)
    {
        // turned a little: no vertex lies on a plane
        double turn = (m->shape == cutApple ? 2.0 : 1.0) * PI * i / cutCount + 0.0213;
        m->along[i] = knMakeDVec3(SceneCosine(turn), 0.0, SceneSine(turn));
        m->normals[i] = knMakeDVec3(-SceneSine(turn), 0.0, SceneCosine(turn));
    }
}

static void FillMesh(CutMesh* m, uint32_t rows, uint32_t columns)
{
    for (uint32_t i = 0; i < (rows + 1) * columns; ++i)
    {
        knDVec3 p =
            ShapePoint(m->shape, (double)(i / columns) / rows, (double)(i % columns) / columns);
        AddVertex(m, p, m->shape == cutApple ? StripOf(m, p) : 0);
    }
    for (uint32_t i = 0; i < rows * columns; ++i)
    {
        uint32_t row = i / columns, column = i % columns, next = (column + 1) % columns;
        uint32_t a = row * columns + column, b = row * columns + next;
        uint32_t c = a + columns, d = b + columns;
        m->triangles[2 * i] = (knTriangle){{a, b, c}};
        m->triangles[2 * i + 1] = (knTriangle){{b, d, c}};
    }
    m->triangleCount = m->originalCount = 2 * rows * columns;
}

bool MakeCutMesh(CutMesh* m, CutShape shape, uint32_t rows, uint32_t columns, int cutCount)
{
    memset(m, 0, sizeof *m);
    m->shape = shape;
    m->capacity = 5 * rows * columns + 4096;
    m->vertices = malloc(m->capacity * sizeof *m->vertices);
    m->positions = malloc(m->capacity * sizeof *m->positions);
    m->triangles = malloc(m->capacity * sizeof *m->triangles);
    m->walls = calloc(m->capacity, sizeof *m->walls);
    m->isCut = calloc(m->capacity, sizeof *m->isCut);
    m->edgeMask = 1;
    while (m->edgeMask < m->capacity)
    {
        m->edgeMask *= 2;
    }
    m->edges = malloc(m->edgeMask * sizeof *m->edges);
    m->step.old = malloc(m->capacity * sizeof *m->step.old);
    m->step.pieces = malloc(m->capacity * sizeof *m->step.pieces);
    m->step.pieceOf = malloc(m->capacity * sizeof *m->step.pieceOf);
    m->step.faces = malloc(m->capacity * sizeof *m->step.faces);
    m->step.faceWalls = malloc(m->capacity * sizeof *m->step.faceWalls);
    if (!m->vertices || !m->positions || !m->triangles || !m->walls || !m->isCut || !m->edges ||
        !m->step.old || !m->step.pieces || !m->step.pieceOf || !m->step.faces || !m->step.faceWalls)
    {
        FreeCutMesh(m);
        return false;
    }
    memset(m->edges, 0xFF, m->edgeMask * sizeof *m->edges);
    m->edgeMask -= 1;
    SetCuts(m, cutCount);
    FillMesh(m, rows, columns);
    return true;
}

void FreeCutMesh(CutMesh* m)
{
    free(m->vertices);
    free(m->positions);
    free(m->triangles);
    free(m->walls);
    free(m->isCut);
    free(m->edges);
    free(m->step.old);
    free(m->step.pieces);
    free(m->step.pieceOf);
    free(m->step.faces);
    free(m->step.faceWalls);
    memset(m, 0, sizeof *m);
}

void ClearStep(CutMesh* m)
{
    m->step.oldCount = m->step.pieceCount = m->step.faceCount = 0;
}

static double SideOf(const CutMesh* m, int cut, knDVec3 p)
{
    return knDDot(m->normals[cut], p);
}

static knDVec3 InsideOf(const CutMesh* m, knDVec3 p)
{
    return m->shape == cutApple ? knDScale(PEEL, p) : knMakeDVec3(CORE * p.x, p.y, CORE * p.z);
}

// The four vertices where the plane cuts the edge.
static const CutEdge* GetEdge(CutMesh* m, int cut, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint32_t slot = (low * 73856093u ^ high * 19349663u ^ (uint32_t)cut * 83492791u) & m->edgeMask;
    for (;; slot = (slot + 1) & m->edgeMask)
    {
        CutEdge* e = &m->edges[slot];
        if (e->low == low && e->high == high && e->cut == (uint32_t)cut)
        {
            return e;
        }
        if (e->low == KN_NONE)
        {
            knDVec3 p = m->vertices[low].rest, q = m->vertices[high].rest;
            double s = SideOf(m, cut, p), t = SideOf(m, cut, q);
            knDVec3 x = knDAdd(p, knDScale(s / (s - t), knDSub(q, p)));
            uint32_t before = (uint32_t)((cut + m->cutCount - 1) % m->cutCount);
            *e = (CutEdge){low, high, (uint32_t)cut, {{0, 0}, {0, 0}}};
            for (int side = 0; side < 2; ++side)
            {
                uint32_t strip = side == 1 ? (uint32_t)cut : before;
                e->made[side][0] = AddVertex(m, x, strip);
                e->made[side][1] = AddVertex(m, InsideOf(m, x), strip);
            }
            return e;
        }
    }
}

static void AddPiece(CutMesh* m, knTriangle piece)
{
    CutStep* s = &m->step;
    s->pieceOf[s->pieceCount] = s->oldCount - 1;
    s->pieces[s->pieceCount++] = piece;
}

static void AddFace(CutMesh* m, knTriangle face, uint32_t wall)
{
    m->step.faceWalls[m->step.faceCount] = wall;
    m->step.faces[m->step.faceCount++] = face;
}

// Corner `lone` is on one side, the other two on the other.
static void CutTriangle(CutMesh* m, int cut, uint32_t id, int lone, int side)
{
    knTriangle t = m->triangles[id];
    uint32_t a = t.v[lone], b = t.v[(lone + 1) % 3], c = t.v[(lone + 2) % 3];
    const CutEdge ab = *GetEdge(m, cut, a, b), ac = *GetEdge(m, cut, a, c);
    int other = 1 - side;
    m->step.old[m->step.oldCount++] = id;
    AddPiece(m, (knTriangle){{a, ab.made[side][0], ac.made[side][0]}});
    AddPiece(m, (knTriangle){{ab.made[other][0], b, c}});
    AddPiece(m, (knTriangle){{ab.made[other][0], c, ac.made[other][0]}});
    for (int i = 0; i < 2; ++i)
    {
        // seen from outside the wall of the other side turns the other way
        const CutEdge *p = i == side ? &ab : &ac, *q = i == side ? &ac : &ab;
        uint32_t wall = 1 + 2 * (uint32_t)cut + (uint32_t)i;
        AddFace(m, (knTriangle){{q->made[i][0], p->made[i][0], p->made[i][1]}}, wall);
        AddFace(m, (knTriangle){{q->made[i][0], p->made[i][1], q->made[i][1]}}, wall);
    }
}

static bool IsReached(const CutMesh* m, int cut, uint32_t id, double low, double high)
{
    knDVec3 middle = knMakeDVec3(0.0, 0.0, 0.0);
    double nearest = -1.0; // cosine of the angle from the pole
    for (int k = 0; k < 3; ++k)
    {
        knDVec3 p = m->vertices[m->triangles[id].v[k]].rest;
        middle = knDAdd(middle, knDScale(1.0 / 3.0, p));
        nearest = fmax(nearest, p.y / knDLength(p));
    }
    if (m->shape == cutApple)
    {
        return knDDot(m->along[cut], middle) > 0.0 && nearest > SceneCosine(high);
    }
    return middle.y >= low && middle.y < high;
}

void FinishStep(CutMesh* m)
{
    const CutStep* s = &m->step;
    for (uint32_t i = 0; i < s->pieceCount; ++i)
    {
        bool isFirst = i == 0 || s->pieceOf[i] != s->pieceOf[i - 1];
        uint32_t id = isFirst ? s->old[s->pieceOf[i]] : m->triangleCount++;
        m->triangles[id] = s->pieces[i];
        m->isCut[id] = true;
    }
    for (uint32_t i = 0; i < s->faceCount; ++i)
    {
        m->walls[m->triangleCount] = s->faceWalls[i];
        m->isCut[m->triangleCount] = true;
        m->triangles[m->triangleCount++] = s->faces[i];
    }
}

// Which corners are above the plane, and whether both sides are there for more than rounding:
// corners that this plane has made lie on it.
static bool Crosses(const CutMesh* m, int cut, uint32_t id, int side[3])
{
    double reach[2] = {0.0, 0.0};
    for (int k = 0; k < 3; ++k)
    {
        double s = SideOf(m, cut, m->vertices[m->triangles[id].v[k]].rest);
        side[k] = s >= 0.0;
        reach[side[k]] = fmax(reach[side[k]], fabs(s));
    }
    return reach[0] > 1e-9 && reach[1] > 1e-9;
}

void CutByPlane(CutMesh* m, int cut, double low, double high)
{
    for (uint32_t id = 0; id < m->triangleCount; ++id)
    {
        int side[3];
        // planes meet at the axis, where no wall goes
        if (m->walls[id] == 0 && Crosses(m, cut, id, side) && IsReached(m, cut, id, low, high))
        {
            int loneSide = side[0] + side[1] + side[2] == 1;
            int lone = side[0] == loneSide ? 0 : (side[1] == loneSide ? 1 : 2);
            CutTriangle(m, cut, id, lone, loneSide);
        }
    }
}

// By Newton's method; away from the poles.
static double ArcCosine(double x)
{
    double angle = 0.5 * PI - x;
    for (int i = 0; i < 8; ++i)
    {
        angle = fmin(fmax(angle, 0.02), PI - 0.02);
        angle += (SceneCosine(angle) - x) / SceneSine(angle);
    }
    return angle;
}

void CurlStrips(CutMesh* m, double curl)
{
    double sine = SceneSine(m->depth), cosine = SceneCosine(m->depth);
    for (uint32_t i = 0; i < m->vertexCount; ++i)
    {
        knDVec3 p = m->vertices[i].rest;
        double radius = knDLength(p), polar = ArcCosine(p.y / radius);
        double s = m->depth - polar;
        if (s <= 0.0)
        {
            m->positions[i] = knToFloat(p);
            continue;
        }
        // in the plane through the middle of the strip: a curve that turns away from the apple
        const knDVec3* a = &m->along[m->vertices[i].strip];
        const knDVec3* b = &m->along[(m->vertices[i].strip + 1) % (uint32_t)m->cutCount];
        knDVec3 out = knDAdd(*a, *b);
        out = knDScale(1.0 / knDLength(out), out);
        knDVec3 aside = knMakeDVec3(-out.z, 0.0, out.x);
        double turn = curl * s, c = SceneCosine(turn), t = SceneSine(turn);
        double along = t / curl, away = (1.0 - c) / curl, thick = radius - 1.0 + 0.015 * s;
        // the tangent at the hinge is (-cosine, sine), the normal (sine, cosine)
        double x = sine - cosine * along + sine * away + thick * (c * sine + t * cosine);
        double y = cosine + sine * along + cosine * away + thick * (c * cosine - t * sine);
        double z = knDDot(aside, p);
        m->positions[i] =
            knToFloat(knMakeDVec3(x * out.x + z * aside.x, y, x * out.z + z * aside.z));
    }
}

uint32_t FindSectors(const CutMesh* m, uint32_t* parts)
{
    uint32_t masks[2 * MAX_CUTS], count = 0;
    for (uint32_t id = 0; id < m->triangleCount; ++id)
    {
        knDVec3 middle = knMakeDVec3(0.0, 0.0, 0.0);
        uint32_t mask = 0, part = 0;
        for (int k = 0; k < 3; ++k)
        {
            middle = knDAdd(middle, m->vertices[m->triangles[id].v[k]].rest);
        }
        for (int cut = 0; cut < m->cutCount; ++cut)
        {
            bool isWall = m->walls[id] != 0 && (int)(m->walls[id] - 1) / 2 == cut;
            bool above = isWall ? (m->walls[id] - 1) % 2 != 0
                                : SideOf(m, cut, knDScale(1.0 / 3.0, middle)) >= 0.0;
            mask |= (uint32_t)above << cut;
        }
        while (part < count && masks[part] != mask)
        {
            ++part;
        }
        if (part == count && count < 2 * MAX_CUTS)
        {
            masks[count++] = mask;
        }
        parts[id] = part;
    }
    return count;
}
