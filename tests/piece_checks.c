// SPDX-License-Identifier: Zlib
#include "piece_checks.h"

#include <math.h>
#include <stdlib.h>

typedef struct DirectedEdge
{
    uint32_t from, to, triangle;
} DirectedEdge;

// All edges, in runs by the vertex they leave: run v is [starts[v], starts[v + 1]).
typedef struct EdgeTable
{
    DirectedEdge* edges;
    uint32_t* starts;
} EdgeTable;

static const DirectedEdge* FindEdge(const EdgeTable* table, uint32_t from, uint32_t to)
{
    for (uint32_t i = table->starts[from]; i < table->starts[from + 1]; ++i)
    {
        if (table->edges[i].to == to)
        {
            return &table->edges[i];
        }
    }
    return NULL;
}

static uint32_t ThirdVertex(const knTriangle* triangle, uint32_t a, uint32_t b)
{
    const uint32_t* v = triangle->v;
    return v[0] != a && v[0] != b ? v[0] : v[1] != a && v[1] != b ? v[1] : v[2];
}

// Walks around a vertex from one of its triangles to the next; every one must be met.
static bool IsOneRing(PieceView piece, const EdgeTable* table, uint32_t vertex)
{
    const DirectedEdge* first = &table->edges[table->starts[vertex]];
    const uint32_t degree = table->starts[vertex + 1] - table->starts[vertex];
    const DirectedEdge* edge = first;
    uint32_t met = 0;
    do
    {
        uint32_t third = ThirdVertex(&piece.triangles[edge->triangle], vertex, edge->to);
        edge = FindEdge(table, vertex, third);
        met += 1;
    } while (edge && edge != first && met <= degree);
    return edge == first && met == degree;
}

static const char* FindFlawAtVertex(PieceView piece, const EdgeTable* table, uint32_t vertex)
{
    uint32_t start = table->starts[vertex], end = table->starts[vertex + 1];
    for (uint32_t i = start; i < end; ++i)
    {
        const DirectedEdge* e = &table->edges[i];
        if (FindEdge(table, vertex, e->to) != e)
        {
            return "two triangles run along an edge the same way";
        }
        if (!FindEdge(table, e->to, vertex))
        {
            return "an edge has one triangle only";
        }
    }
    return start == end                      ? "a vertex has no triangle"
           : IsOneRing(piece, table, vertex) ? NULL
                                             : "the triangles at a vertex form more than one ring";
}

static knDVec3 At(PieceView piece, uint32_t vertex)
{
    return knToDouble(piece.positions[vertex]);
}

static const char* FindFlatTriangle(PieceView piece)
{
    for (uint32_t t = 0; t < piece.triangleCount; ++t)
    {
        const uint32_t* v = piece.triangles[t].v;
        knDVec3 a = At(piece, v[0]);
        knDVec3 n = knDCross(knDSub(At(piece, v[1]), a), knDSub(At(piece, v[2]), a));
        if (!(knDLength(n) > 0.0))
        {
            return "a triangle has no area";
        }
    }
    return NULL;
}

static void FillTable(PieceView piece, EdgeTable* table)
{
    uint32_t count = 3 * piece.triangleCount;
    for (uint32_t i = 0; i < count; ++i)
    {
        table->starts[piece.triangles[i / 3].v[i % 3] + 2] += 1;
    }
    for (uint32_t v = 0; v < piece.vertexCount; ++v)
    {
        table->starts[v + 2] += table->starts[v + 1];
    }
    // starts[v + 1] is where the run of v is filled, and its end when it is full
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = piece.triangles[i / 3].v;
        table->edges[table->starts[v[i % 3] + 1]++] =
            (DirectedEdge){v[i % 3], v[(i + 1) % 3], i / 3};
    }
}

static const char* FindFlawInEdges(PieceView piece)
{
    EdgeTable table = {malloc(3 * (size_t)piece.triangleCount * sizeof(DirectedEdge)),
                       calloc((size_t)piece.vertexCount + 2, sizeof(uint32_t))};
    if (!table.edges || !table.starts)
    {
        abort();
    }
    FillTable(piece, &table);
    const char* flaw = NULL;
    for (uint32_t v = 0; v < piece.vertexCount && !flaw; ++v)
    {
        flaw = FindFlawAtVertex(piece, &table, v);
    }
    free(table.edges);
    free(table.starts);
    return flaw;
}

const char* FindFlaw(PieceView piece)
{
    if (piece.triangleCount == 0)
    {
        return "there are no triangles";
    }
    for (uint32_t i = 0; i < 3 * piece.triangleCount; ++i)
    {
        if (piece.triangles[i / 3].v[i % 3] >= piece.vertexCount)
        {
            return "a triangle names no vertex";
        }
    }
    const char* flaw = FindFlawInEdges(piece);
    flaw = flaw ? flaw : FindFlatTriangle(piece);
    return flaw ? flaw : SurfaceMass(piece, 1.0).volume > 0.0 ? NULL : "the volume is not positive";
}

double WindingNumber(PieceView piece, knVec3 p)
{
    // Van Oosterom and Strackee
    double sum = 0.0;
    for (uint32_t t = 0; t < piece.triangleCount; ++t)
    {
        knDVec3 r[3];
        double l[3];
        for (int i = 0; i < 3; ++i)
        {
            r[i] = knDSub(At(piece, piece.triangles[t].v[i]), knToDouble(p));
            l[i] = knDLength(r[i]);
        }
        double top = knDDot(r[0], knDCross(r[1], r[2]));
        double bottom = l[0] * l[1] * l[2] + knDDot(r[0], r[1]) * l[2] + knDDot(r[0], r[2]) * l[1] +
                        knDDot(r[1], r[2]) * l[0];
        sum += 2.0 * atan2(top, bottom);
    }
    return sum / (4.0 * 3.14159265358979323846);
}

// Integral of the product of two coordinates over the cone from the origin to a triangle.
static double PairIntegral(double volume, const double* a, const double* b)
{
    double sumA = a[0] + a[1] + a[2];
    double sumB = b[0] + b[1] + b[2];
    double both = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    return volume * (sumA * sumB + both) / 20.0;
}

knMassProperties SurfaceMass(PieceView piece, double density)
{
    knDVec3 origin = At(piece, piece.triangles[0].v[0]);
    double volume = 0.0, first[3] = {0.0}, second[3][3] = {{0.0}};
    for (uint32_t t = 0; t < piece.triangleCount; ++t)
    {
        double c[3][3]; // by axis, then corner
        knDVec3 r[3];
        for (int i = 0; i < 3; ++i)
        {
            r[i] = knDSub(At(piece, piece.triangles[t].v[i]), origin);
            c[0][i] = r[i].x;
            c[1][i] = r[i].y;
            c[2][i] = r[i].z;
        }
        double v = knDDot(r[0], knDCross(r[1], r[2])) / 6.0;
        volume += v;
        for (int i = 0; i < 3; ++i)
        {
            first[i] += v * (c[i][0] + c[i][1] + c[i][2]) / 4.0;
            for (int k = 0; k < 3; ++k)
            {
                second[i][k] += PairIntegral(v, c[i], c[k]);
            }
        }
    }
    for (int i = 0; i < 3; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            second[i][k] = density * (second[i][k] - first[i] * first[k] / volume);
        }
    }
    knMassProperties m = {.volume = volume, .mass = density * volume};
    m.center = knDAdd(origin, knDScale(1.0 / volume, knMakeDVec3(first[0], first[1], first[2])));
    m.inertia = (knDSym3){second[1][1] + second[2][2],
                          second[0][0] + second[2][2],
                          second[0][0] + second[1][1],
                          -second[0][1],
                          -second[0][2],
                          -second[1][2]};
    return m;
}

double MassDifference(const knMassProperties* a, const knMassProperties* b, double size)
{
    double scale = a->mass * size * size;
    const double differences[] = {(a->volume - b->volume) / a->volume,
                                  (a->mass - b->mass) / a->mass,
                                  knDLength(knDSub(a->center, b->center)) / size,
                                  (a->inertia.xx - b->inertia.xx) / scale,
                                  (a->inertia.yy - b->inertia.yy) / scale,
                                  (a->inertia.zz - b->inertia.zz) / scale,
                                  (a->inertia.xy - b->inertia.xy) / scale,
                                  (a->inertia.xz - b->inertia.xz) / scale,
                                  (a->inertia.yz - b->inertia.yz) / scale};
    double most = 0.0;
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; ++i)
    {
        most = isfinite(differences[i]) ? fmax(most, fabs(differences[i])) : (double)INFINITY;
    }
    return most;
}

static knDSym3 Shifted(const knMassProperties* m, knDVec3 to)
{
    knDVec3 d = knDSub(m->center, to);
    knDSym3 s = m->inertia;
    s.xx += m->mass * (d.y * d.y + d.z * d.z);
    s.yy += m->mass * (d.x * d.x + d.z * d.z);
    s.zz += m->mass * (d.x * d.x + d.y * d.y);
    s.xy -= m->mass * d.x * d.y;
    s.xz -= m->mass * d.x * d.z;
    s.yz -= m->mass * d.y * d.z;
    return s;
}

knMassProperties AddMass(const knMassProperties* a, const knMassProperties* b)
{
    knMassProperties m = {.volume = a->volume + b->volume, .mass = a->mass + b->mass};
    if (m.mass == 0.0)
    {
        return m;
    }
    m.center =
        knDScale(1.0 / m.mass, knDAdd(knDScale(a->mass, a->center), knDScale(b->mass, b->center)));
    knDSym3 x = Shifted(a, m.center);
    knDSym3 y = Shifted(b, m.center);
    m.inertia =
        (knDSym3){x.xx + y.xx, x.yy + y.yy, x.zz + y.zz, x.xy + y.xy, x.xz + y.xz, x.yz + y.yz};
    return m;
}
