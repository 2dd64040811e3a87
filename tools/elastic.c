// SPDX-License-Identifier: Zlib
#include "elastic.h"

#include <math.h>
#include <string.h>

#define ELEMENT_NODES 10

// Barycentric coordinates of the four points of Gauss in a tetrahedron.
#define NEAR_WEIGHT 0.58541019662496845
#define FAR_WEIGHT  0.13819660112501052

// A straight-edged quadratic tetrahedron.
typedef struct Element
{
    uint32_t nodes[ELEMENT_NODES]; // corners, then edge middles as in knTetEdgeCorners
    double gradients[4][3];        // of the barycentric coordinates, per unit
    double volume;
} Element;

typedef struct Block
{
    double a[3][3];
} Block;

static void ElementNodes(const knTetMesh* mesh, uint32_t tet, uint32_t nodes[ELEMENT_NODES])
{
    for (int i = 0; i < 4; ++i)
    {
        nodes[i] = mesh->tets[tet].v[i];
    }
    for (int i = 0; i < 6; ++i)
    {
        nodes[4 + i] = mesh->nodeCount + mesh->tetEdges[tet].e[i];
    }
}

static Element MakeElement(const knElastic* elastic, uint32_t tet)
{
    Element e;
    ElementNodes(elastic->mesh, tet, e.nodes);
    knDVec3 p[4];
    for (int i = 0; i < 4; ++i)
    {
        p[i] = knElastic_Position(elastic, e.nodes[i]);
    }
    double volume6 = knDDot(knDSub(p[1], p[0]), knDCross(knDSub(p[2], p[0]), knDSub(p[3], p[0])));
    e.volume = volume6 / 6.0;
    for (int i = 0; i < 4; ++i)
    {
        // the face's area vector points away from the corner, the gradient towards it
        const uint8_t* f = knTetFaceCorners[i];
        knDVec3 area = knDCross(knDSub(p[f[1]], p[f[0]]), knDSub(p[f[2]], p[f[0]]));
        e.gradients[i][0] = -area.x / volume6;
        e.gradients[i][1] = -area.y / volume6;
        e.gradients[i][2] = -area.z / volume6;
    }
    return e;
}

// Gradients of the ten shape functions at a point: L(2L - 1) at corners, 4 L L' on edges.
static void ShapeGradients(const Element* e, const double weights[4],
                           double gradients[ELEMENT_NODES][3])
{
    for (int k = 0; k < 3; ++k)
    {
        for (int i = 0; i < 4; ++i)
        {
            gradients[i][k] = (4.0 * weights[i] - 1.0) * e->gradients[i][k];
        }
        for (int i = 0; i < 6; ++i)
        {
            int a = knTetEdgeCorners[i][0], b = knTetEdgeCorners[i][1];
            gradients[4 + i][k] =
                4.0 * (weights[a] * e->gradients[b][k] + weights[b] * e->gradients[a][k]);
        }
    }
}

typedef struct Lame
{
    double lambda, mu;
} Lame;

static Lame LameOf(double poisson)
{
    return (Lame){poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 / (1.0 + poisson)};
}

// Four points integrate the quadratic integrand exactly.
static void ElementStiffness(const Element* e, Lame lame,
                             Block blocks[ELEMENT_NODES][ELEMENT_NODES])
{
    memset(blocks, 0, sizeof(Block) * ELEMENT_NODES * ELEMENT_NODES);
    for (int point = 0; point < 4; ++point)
    {
        double weights[4] = {FAR_WEIGHT, FAR_WEIGHT, FAR_WEIGHT, FAR_WEIGHT};
        double g[ELEMENT_NODES][3];
        weights[point] = NEAR_WEIGHT;
        ShapeGradients(e, weights, g);
        for (int i = 0; i < ELEMENT_NODES; ++i)
        {
            for (int j = 0; j < ELEMENT_NODES; ++j)
            {
                double dot = g[i][0] * g[j][0] + g[i][1] * g[j][1] + g[i][2] * g[j][2];
                for (int k = 0; k < 9; ++k)
                {
                    int r = k / 3, c = k % 3;
                    double value = lame.lambda * g[i][r] * g[j][c] + lame.mu * g[i][c] * g[j][r] +
                                   (r == c ? lame.mu * dot : 0.0);
                    blocks[i][j].a[r][c] += 0.25 * e->volume * value;
                }
            }
        }
    }
}

// Integrals of products of shape functions over a tetrahedron of volume 420.
static double ElementMass(int i, int j)
{
    if (i > j)
    {
        int swap = i;
        i = j;
        j = swap;
    }
    if (j < 4)
    {
        return i == j ? 6.0 : 1.0;
    }
    const uint8_t* e = knTetEdgeCorners[j - 4];
    if (i < 4)
    {
        return i == e[0] || i == e[1] ? -4.0 : -6.0;
    }
    const uint8_t* f = knTetEdgeCorners[i - 4];
    int shared = (e[0] == f[0]) + (e[0] == f[1]) + (e[1] == f[0]) + (e[1] == f[1]);
    return shared == 2 ? 32.0 : (shared == 1 ? 16.0 : 8.0);
}

knDVec3 knElastic_Position(const knElastic* elastic, uint32_t node)
{
    const knTetMesh* mesh = elastic->mesh;
    knDVec3 p;
    if (node < mesh->nodeCount)
    {
        p = knToDouble(mesh->nodes[node]);
    }
    else
    {
        const knEdge* edge = &mesh->edges[node - mesh->nodeCount];
        p = knDScale(
            0.5, knDAdd(knToDouble(mesh->nodes[edge->v[0]]), knToDouble(mesh->nodes[edge->v[1]])));
    }
    return knDScale(1.0 / elastic->unit, p);
}

// The elements around each node, while the pattern is made.
typedef struct Incidence
{
    uint32_t* starts;
    uint32_t* tets;
} Incidence;

static bool MakeIncidence(const knElastic* elastic, Incidence* in)
{
    const knTetMesh* mesh = elastic->mesh;
    const knAllocator* a = &elastic->allocator;
    uint32_t nodes[ELEMENT_NODES];
    in->starts = knAllocate(a, (size_t)elastic->nodeCount + 2, sizeof(uint32_t));
    in->tets = knAllocate(a, (size_t)ELEMENT_NODES * mesh->tetCount, sizeof(uint32_t));
    if (!in->starts || !in->tets)
    {
        return false;
    }
    // counts stand two places on, so that after the sums filling moves each start into its place
    memset(in->starts, 0, ((size_t)elastic->nodeCount + 2) * sizeof(uint32_t));
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        ElementNodes(mesh, t, nodes);
        for (int i = 0; i < ELEMENT_NODES; ++i)
        {
            ++in->starts[nodes[i] + 2];
        }
    }
    for (uint32_t n = 0; n < elastic->nodeCount; ++n)
    {
        in->starts[n + 2] += in->starts[n + 1];
    }
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        ElementNodes(mesh, t, nodes);
        for (int i = 0; i < ELEMENT_NODES; ++i)
        {
            in->tets[in->starts[nodes[i] + 1]++] = t;
        }
    }
    return true;
}

static void DestroyIncidence(const knElastic* elastic, Incidence* in)
{
    const knAllocator* a = &elastic->allocator;
    knRelease(a, in->starts, (size_t)elastic->nodeCount + 2, sizeof(uint32_t));
    knRelease(a, in->tets, (size_t)ELEMENT_NODES * elastic->mesh->tetCount, sizeof(uint32_t));
}

// Rows of a column, ascending, into `rows` unless null; `seen` holds the last column of each node.
static size_t ColumnRows(const knElastic* elastic, const Incidence* in, uint32_t column,
                         uint32_t* seen, uint32_t* rows)
{
    size_t count = 0;
    uint32_t nodes[ELEMENT_NODES];
    for (uint32_t k = in->starts[column]; k < in->starts[column + 1]; ++k)
    {
        ElementNodes(elastic->mesh, in->tets[k], nodes);
        for (int i = 0; i < ELEMENT_NODES; ++i)
        {
            if (nodes[i] < column || seen[nodes[i]] == column)
            {
                continue;
            }
            seen[nodes[i]] = column;
            size_t at = count++;
            for (; rows && at > 0 && rows[at - 1] > nodes[i]; --at)
            {
                rows[at] = rows[at - 1];
            }
            if (rows)
            {
                rows[at] = nodes[i];
            }
        }
    }
    return count;
}

static bool MakePattern(knElastic* elastic, const Incidence* in, uint32_t* seen)
{
    const knAllocator* a = &elastic->allocator;
    uint32_t n = elastic->nodeCount;
    elastic->starts = knAllocate(a, (size_t)n + 1, sizeof(size_t));
    if (!elastic->starts)
    {
        return false;
    }
    memset(elastic->starts, 0, ((size_t)n + 1) * sizeof(size_t));
    memset(seen, 0xFF, n * sizeof(uint32_t));
    for (uint32_t c = 0; c < n; ++c)
    {
        elastic->starts[c + 1] = elastic->starts[c] + ColumnRows(elastic, in, c, seen, NULL);
    }
    size_t count = elastic->starts[n];
    elastic->rows = knAllocate(a, count, sizeof(uint32_t));
    elastic->stiffness = knAllocate(a, 9 * count, sizeof(double));
    elastic->mass = knAllocate(a, count, sizeof(double));
    if (!elastic->rows || !elastic->stiffness || !elastic->mass)
    {
        return false;
    }
    memset(elastic->stiffness, 0, 9 * count * sizeof(double));
    memset(elastic->mass, 0, count * sizeof(double));
    memset(seen, 0xFF, n * sizeof(uint32_t));
    for (uint32_t c = 0; c < n; ++c)
    {
        ColumnRows(elastic, in, c, seen, elastic->rows + elastic->starts[c]);
    }
    return true;
}

static size_t FindEntry(const knElastic* elastic, uint32_t row, uint32_t column)
{
    size_t low = elastic->starts[column], high = elastic->starts[column + 1];
    while (low + 1 < high)
    {
        size_t middle = low + (high - low) / 2;
        *(elastic->rows[middle] <= row ? &low : &high) = middle;
    }
    return low;
}

static void AddElement(knElastic* elastic, const Element* e, Lame lame)
{
    Block blocks[ELEMENT_NODES][ELEMENT_NODES];
    ElementStiffness(e, lame, blocks);
    for (int i = 0; i < ELEMENT_NODES; ++i)
    {
        for (int j = 0; j < ELEMENT_NODES; ++j)
        {
            if (e->nodes[i] < e->nodes[j])
            {
                continue;
            }
            size_t entry = FindEntry(elastic, e->nodes[i], e->nodes[j]);
            elastic->mass[entry] += e->volume / 420.0 * ElementMass(i, j);
            for (int k = 0; k < 9; ++k)
            {
                elastic->stiffness[9 * entry + (size_t)k] += blocks[i][j].a[k / 3][k % 3];
            }
        }
    }
}

static knResult Assemble(knElastic* elastic)
{
    Incidence in = {0};
    uint32_t* seen = knAllocate(&elastic->allocator, elastic->nodeCount, sizeof(uint32_t));
    bool good = seen && MakeIncidence(elastic, &in) && MakePattern(elastic, &in, seen);
    DestroyIncidence(elastic, &in);
    knRelease(&elastic->allocator, seen, elastic->nodeCount, sizeof(uint32_t));
    for (uint32_t t = 0; good && t < elastic->mesh->tetCount; ++t)
    {
        Element e = MakeElement(elastic, t);
        AddElement(elastic, &e, LameOf(elastic->poisson));
    }
    return good ? kn_success : kn_errorMemory;
}

knResult knCreateElastic(knElastic* elastic, const knTetMesh* mesh, double poisson,
                         const knAllocator* allocator)
{
    if (!(poisson >= 0.0 && poisson <= 0.45))
    {
        return knFail(kn_errorArgument, "Poisson's ratio %g is not from 0 to 0.45", poisson);
    }
    knBox box = knBoundingBox(mesh->nodes, mesh->nodeCount);
    knElastic made = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                      .mesh = mesh,
                      .poisson = poisson,
                      .unit = 0.5 * (double)knLength(knBox_Extent(box)),
                      .nodeCount = mesh->nodeCount + mesh->edgeCount};
    knResult result = Assemble(&made);
    if (result != kn_success)
    {
        knDestroyElastic(&made);
        return result;
    }
    *elastic = made;
    return kn_success;
}

void knDestroyElastic(knElastic* elastic)
{
    const knAllocator* a = &elastic->allocator;
    size_t count = elastic->starts ? elastic->starts[elastic->nodeCount] : 0;
    knRelease(a, elastic->rows, count, sizeof(uint32_t));
    knRelease(a, elastic->stiffness, 9 * count, sizeof(double));
    knRelease(a, elastic->mass, count, sizeof(double));
    knRelease(a, elastic->starts, (size_t)elastic->nodeCount + 1, sizeof(size_t));
    *elastic = (knElastic){.allocator = elastic->allocator};
}

void knElastic_MultiplyStiffness(const knElastic* elastic, const double* x, double* y)
{
    memset(y, 0, 3 * (size_t)elastic->nodeCount * sizeof(double));
    for (uint32_t c = 0; c < elastic->nodeCount; ++c)
    {
        const double* xc = x + 3 * (size_t)c;
        double* yc = y + 3 * (size_t)c;
        for (size_t k = elastic->starts[c]; k < elastic->starts[c + 1]; ++k)
        {
            const double* a = elastic->stiffness + 9 * k;
            const double* xr = x + 3 * (size_t)elastic->rows[k];
            double* yr = y + 3 * (size_t)elastic->rows[k];
            for (int i = 0; i < 3; ++i)
            {
                yr[i] += a[3 * i] * xc[0] + a[3 * i + 1] * xc[1] + a[3 * i + 2] * xc[2];
            }
            for (int i = 0; yr != yc && i < 3; ++i)
            {
                yc[i] += a[i] * xr[0] + a[i + 3] * xr[1] + a[i + 6] * xr[2];
            }
        }
    }
}

void knElastic_MultiplyMass(const knElastic* elastic, const double* x, double* y)
{
    memset(y, 0, 3 * (size_t)elastic->nodeCount * sizeof(double));
    for (uint32_t c = 0; c < elastic->nodeCount; ++c)
    {
        const double* xc = x + 3 * (size_t)c;
        double* yc = y + 3 * (size_t)c;
        for (size_t k = elastic->starts[c]; k < elastic->starts[c + 1]; ++k)
        {
            double m = elastic->mass[k];
            const double* xr = x + 3 * (size_t)elastic->rows[k];
            double* yr = y + 3 * (size_t)elastic->rows[k];
            for (int i = 0; i < 3; ++i)
            {
                yr[i] += m * xc[i];
            }
            for (int i = 0; yr != yc && i < 3; ++i)
            {
                yc[i] += m * xr[i];
            }
        }
    }
}

// Stress inside an element.
static void StressAt(const Element* e, const double weights[4], Lame lame, const double* u,
                     double stress[6])
{
    double g[ELEMENT_NODES][3], d[3][3] = {{0}};
    ShapeGradients(e, weights, g);
    for (int i = 0; i < ELEMENT_NODES; ++i)
    {
        for (int k = 0; k < 9; ++k)
        {
            d[k / 3][k % 3] += u[3 * (size_t)e->nodes[i] + (size_t)(k / 3)] * g[i][k % 3];
        }
    }
    double pressure = lame.lambda * (d[0][0] + d[1][1] + d[2][2]);
    for (int k = 0; k < 3; ++k)
    {
        int next = (k + 1) % 3;
        stress[k] = pressure + 2.0 * lame.mu * d[k][k];
        stress[3 + k] = lame.mu * (d[k][next] + d[next][k]);
    }
}

#define FIT_SIZE 4 // a constant and a slope along each axis

// Sums of a least-squares fit around one node.
typedef struct Fit
{
    double matrix[FIT_SIZE][FIT_SIZE];
    double right[FIT_SIZE][6];
} Fit;

static void AddToFit(Fit* fit, knDVec3 offset, double weight, const double stress[6])
{
    const double p[FIT_SIZE] = {1.0, offset.x, offset.y, offset.z};
    for (int i = 0; i < FIT_SIZE; ++i)
    {
        for (int j = 0; j < FIT_SIZE; ++j)
        {
            fit->matrix[i][j] += weight * p[i] * p[j];
        }
        for (int k = 0; k < 6; ++k)
        {
            fit->right[i][k] += weight * p[i] * stress[k];
        }
    }
}

// Elimination from the last slope to the constant, which is all that is asked for. The points of
// one tetrahedron already span space, so no pivot is zero.
static void FinishFit(Fit* fit, double stress[6])
{
    for (int i = FIT_SIZE - 1; i > 0; --i)
    {
        for (int r = 0; r < i; ++r)
        {
            double factor = fit->matrix[r][i] / fit->matrix[i][i];
            for (int c = 0; c < i; ++c)
            {
                fit->matrix[r][c] -= factor * fit->matrix[i][c];
            }
            for (int k = 0; k < 6; ++k)
            {
                fit->right[r][k] -= factor * fit->right[i][k];
            }
        }
    }
    for (int k = 0; k < 6; ++k)
    {
        stress[k] = fit->right[0][k] / fit->matrix[0][0];
    }
}

static void AddElementToFits(const knElastic* elastic, uint32_t tet, const double* u, Fit* fits)
{
    Element e = MakeElement(elastic, tet);
    for (int point = 0; point < 4; ++point)
    {
        double weights[4], stress[6];
        knDVec3 place = {0};
        for (int i = 0; i < 4; ++i)
        {
            weights[i] = i == point ? NEAR_WEIGHT : FAR_WEIGHT;
            place = knDAdd(place, knDScale(weights[i], knElastic_Position(elastic, e.nodes[i])));
        }
        StressAt(&e, weights, LameOf(elastic->poisson), u, stress);
        for (int i = 0; i < 4; ++i)
        {
            knDVec3 offset = knDSub(place, knElastic_Position(elastic, e.nodes[i]));
            AddToFit(&fits[e.nodes[i]], offset, e.volume, stress);
        }
    }
}

knResult knElastic_Stress(const knElastic* elastic, const double* u, double* stress)
{
    size_t n = elastic->mesh->nodeCount;
    Fit* fits = knAllocate(&elastic->allocator, n, sizeof(Fit));
    if (!fits)
    {
        return kn_errorMemory;
    }
    memset(fits, 0, n * sizeof(Fit));
    for (uint32_t t = 0; t < elastic->mesh->tetCount; ++t)
    {
        AddElementToFits(elastic, t, u, fits);
    }
    for (size_t i = 0; i < n; ++i)
    {
        double at[6];
        FinishFit(&fits[i], at);
        for (size_t k = 0; k < 6; ++k)
        {
            stress[k * n + i] = at[k];
        }
    }
    knRelease(&elastic->allocator, fits, n, sizeof(Fit));
    return kn_success;
}
