// SPDX-License-Identifier: Zlib
#include "elastic.h"

#include <math.h>
#include <string.h>

static size_t DofCount(const knElastic* elastic)
{
    return 3 * (size_t)elastic->nodeCount;
}

static double Dot(const double* a, const double* b, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i)
    {
        sum += a[i] * b[i];
    }
    return sum;
}

static void AddScaled(double* x, double factor, const double* y, size_t count)
{
    for (size_t i = 0; i < count; ++i)
    {
        x[i] += factor * y[i];
    }
}

knResult knCreateElasticBasis(knElasticBasis* basis, const knElastic* elastic, uint32_t capacity)
{
    const knAllocator* a = &elastic->allocator;
    size_t count = capacity * DofCount(elastic);
    knElasticBasis made = {.elastic = elastic, .capacity = capacity};
    made.vectors = knAllocate(a, count, sizeof(double));
    made.massVectors = knAllocate(a, count, sizeof(double));
    if (!made.vectors || !made.massVectors)
    {
        knDestroyElasticBasis(&made);
        return kn_errorMemory;
    }
    *basis = made;
    return kn_success;
}

void knDestroyElasticBasis(knElasticBasis* basis)
{
    if (basis->elastic)
    {
        const knAllocator* a = &basis->elastic->allocator;
        size_t count = basis->capacity * DofCount(basis->elastic);
        knRelease(a, basis->vectors, count, sizeof(double));
        knRelease(a, basis->massVectors, count, sizeof(double));
    }
    *basis = (knElasticBasis){0};
}

double* knElasticBasis_Vector(const knElasticBasis* basis, uint32_t index)
{
    return basis->vectors + index * DofCount(basis->elastic);
}

void knElasticBasis_Remove(const knElasticBasis* basis, double* x)
{
    size_t n = basis->count > 0 ? DofCount(basis->elastic) : 0;
    for (uint32_t i = 0; i < basis->count; ++i)
    {
        AddScaled(x, -Dot(basis->massVectors + i * n, x, n), basis->vectors + i * n, n);
    }
}

void knElasticBasis_RemoveForce(const knElasticBasis* basis, double* force)
{
    size_t n = basis->count > 0 ? DofCount(basis->elastic) : 0;
    for (uint32_t i = 0; i < basis->count; ++i)
    {
        AddScaled(force, -Dot(basis->vectors + i * n, force, n), basis->massVectors + i * n, n);
    }
}

bool knElasticBasis_Append(knElasticBasis* basis, const double* x, double least)
{
    size_t n = DofCount(basis->elastic);
    double* v = basis->vectors + basis->count * n;
    double* mv = basis->massVectors + basis->count * n;
    memmove(v, x, n * sizeof(double));
    knElastic_MultiplyMass(basis->elastic, v, mv);
    double norm = sqrt(Dot(v, mv, n));
    if (!(norm > least) || basis->count == basis->capacity)
    {
        return false;
    }
    for (size_t i = 0; i < n; ++i)
    {
        v[i] /= norm;
        mv[i] /= norm;
    }
    ++basis->count;
    return true;
}

#define MOTIONS 6 // of a rigid body

typedef struct Motions
{
    double matrix[MOTIONS][MOTIONS]; // symmetric
    double vectors[MOTIONS][MOTIONS];
} Motions;

// One rotation of Jacobi: makes matrix[p][q] zero.
static void Rotate(Motions* m, int p, int q)
{
    double b = m->matrix[p][q];
    double t = (m->matrix[q][q] - m->matrix[p][p]) / (2.0 * b);
    t = (t >= 0.0 ? 1.0 : -1.0) / (fabs(t) + sqrt(t * t + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < MOTIONS; ++k)
    {
        double x = m->matrix[k][p], y = m->matrix[k][q];
        m->matrix[k][p] = c * x - s * y;
        m->matrix[k][q] = s * x + c * y;
    }
    for (int k = 0; k < MOTIONS; ++k)
    {
        double x = m->matrix[p][k], y = m->matrix[q][k];
        m->matrix[p][k] = c * x - s * y;
        m->matrix[q][k] = s * x + c * y;
        x = m->vectors[p][k];
        y = m->vectors[q][k];
        m->vectors[p][k] = c * x - s * y;
        m->vectors[q][k] = s * x + c * y;
    }
}

// Leaves the eigenvalues on the diagonal, each with its row of `vectors`.
static void Diagonalize(Motions* m)
{
    double whole = Dot(&m->matrix[0][0], &m->matrix[0][0], MOTIONS * MOTIONS);
    for (int i = 0; i < MOTIONS * MOTIONS; ++i)
    {
        m->vectors[i / MOTIONS][i % MOTIONS] = i % (MOTIONS + 1) == 0 ? 1.0 : 0.0;
    }
    for (int sweep = 0; sweep < 30; ++sweep)
    {
        for (int p = 0; p < MOTIONS; ++p)
        {
            for (int q = p + 1; q < MOTIONS; ++q)
            {
                if (m->matrix[p][q] * m->matrix[p][q] > 1e-32 * whole)
                {
                    Rotate(m, p, q);
                }
            }
        }
    }
}

static void RigidMotion(knDVec3 p, int motion, double u[3])
{
    const double position[3] = {p.x, p.y, p.z};
    int axis = motion % 3;
    u[0] = u[1] = u[2] = 0.0;
    if (motion < 3)
    {
        u[axis] = 1.0;
    }
    else
    {
        u[(axis + 1) % 3] = -position[(axis + 2) % 3];
        u[(axis + 2) % 3] = position[(axis + 1) % 3];
    }
}

// How much each combination of the six motions moves fixed degrees of freedom, squared.
static void MotionOfFixed(const knElastic* elastic, const uint8_t* fixed, knDVec3 center,
                          Motions* motions)
{
    memset(motions, 0, sizeof *motions);
    for (uint32_t n = 0; fixed && n < elastic->nodeCount; ++n)
    {
        double u[MOTIONS][3];
        for (int i = 0; fixed[n] && i < MOTIONS; ++i)
        {
            RigidMotion(knDSub(knElastic_Position(elastic, n), center), i, u[i]);
        }
        for (int k = 0; fixed[n] && k < MOTIONS * MOTIONS * 3; ++k)
        {
            int axis = k / (MOTIONS * MOTIONS), i = k / MOTIONS % MOTIONS, j = k % MOTIONS;
            motions->matrix[i][j] += fixed[n] >> axis & 1 ? u[i][axis] * u[j][axis] : 0.0;
        }
    }
}

static void FillMotion(const knElastic* elastic, knDVec3 center, const double shares[MOTIONS],
                       double* x)
{
    memset(x, 0, DofCount(elastic) * sizeof(double));
    for (uint32_t n = 0; n < elastic->nodeCount; ++n)
    {
        for (int i = 0; i < MOTIONS; ++i)
        {
            double u[3];
            RigidMotion(knDSub(knElastic_Position(elastic, n), center), i, u);
            AddScaled(x + 3 * (size_t)n, shares[i], u, 3);
        }
    }
}

knResult knMakeRigidBasis(knElasticBasis* basis, const knElastic* elastic, const uint8_t* fixed)
{
    knBox box = knBoundingBox(elastic->mesh->nodes, elastic->mesh->nodeCount);
    knDVec3 center = knDScale(1.0 / elastic->unit, knToDouble(knBox_Center(box)));
    Motions motions;
    MotionOfFixed(elastic, fixed, center, &motions);
    Diagonalize(&motions);
    size_t n = DofCount(elastic);
    double* x = knAllocate(&elastic->allocator, n, sizeof(double));
    knResult result = x ? knCreateElasticBasis(basis, elastic, MOTIONS) : kn_errorMemory;
    for (int i = 0; result == kn_success && i < MOTIONS; ++i)
    {
        // positions are floats: what is fixed on a line is so to about 1e-7
        if (motions.matrix[i][i] < 1e-10)
        {
            FillMotion(elastic, center, motions.vectors[i], x);
            knElasticBasis_Remove(basis, x);
            knElasticBasis_Remove(basis, x);
            knElasticBasis_Append(basis, x, 1e-9);
        }
    }
    knRelease(&elastic->allocator, x, n, sizeof(double));
    return result;
}
