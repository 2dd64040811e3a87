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

void knSymmetricEigen(double* a, uint32_t size, double* values, double* vectors)
{
    size_t n = size;
    for (size_t i = 0; i < n * n; ++i)
    {
        vectors[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
    }
    double off = 1.0, whole = Dot(a, a, n * n);
    for (int sweep = 0; sweep < 60 && off > 1e-30 * whole; ++sweep)
    {
        off = 0.0;
        for (size_t p = 0; p < n; ++p)
        {
            for (size_t q = p + 1; q < n; ++q)
            {
                double b = a[p * n + q];
                off += b * b;
                if (b * b <= 1e-36 * whole)
                {
                    continue;
                }
                double t = (a[q * n + q] - a[p * n + p]) / (2.0 * b);
                t = (t >= 0.0 ? 1.0 : -1.0) / (fabs(t) + sqrt(t * t + 1.0));
                double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (size_t k = 0; k < n; ++k)
                {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; ++k)
                {
                    double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                    x = vectors[p * n + k];
                    y = vectors[q * n + k];
                    vectors[p * n + k] = c * x - s * y;
                    vectors[q * n + k] = s * x + c * y;
                }
            }
        }
    }
    for (size_t i = 0; i < n; ++i)
    {
        values[i] = a[i * n + i];
    }
    for (size_t i = 0; i < n; ++i)
    {
        size_t least = i;
        for (size_t k = i + 1; k < n; ++k)
        {
            least = values[k] < values[least] ? k : least;
        }
        double value = values[i];
        values[i] = values[least];
        values[least] = value;
        for (size_t k = 0; least != i && k < n; ++k)
        {
            double x = vectors[i * n + k];
            vectors[i * n + k] = vectors[least * n + k];
            vectors[least * n + k] = x;
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
                          double moved[36])
{
    memset(moved, 0, 36 * sizeof(double));
    for (uint32_t n = 0; fixed && n < elastic->nodeCount; ++n)
    {
        double u[6][3];
        for (int i = 0; fixed[n] && i < 6; ++i)
        {
            RigidMotion(knDSub(knElastic_Position(elastic, n), center), i, u[i]);
        }
        for (int k = 0; fixed[n] && k < 36 * 3; ++k)
        {
            int axis = k / 36, i = k % 36 / 6, j = k % 6;
            moved[6 * i + j] += fixed[n] >> axis & 1 ? u[i][axis] * u[j][axis] : 0.0;
        }
    }
}

knResult knMakeRigidBasis(knElasticBasis* basis, const knElastic* elastic, const uint8_t* fixed)
{
    knBox box = knBoundingBox(elastic->mesh->nodes, elastic->mesh->nodeCount);
    knDVec3 center = knDScale(1.0 / elastic->unit, knToDouble(knBox_Center(box)));
    double moved[36], values[6], combinations[36];
    MotionOfFixed(elastic, fixed, center, moved);
    knSymmetricEigen(moved, 6, values, combinations);
    size_t n = DofCount(elastic);
    double* x = knAllocate(&elastic->allocator, n, sizeof(double));
    knResult result = x ? knCreateElasticBasis(basis, elastic, 6) : kn_errorMemory;
    for (int c = 0; result == kn_success && c < 6 && values[c] < 1e-10; ++c)
    {
        memset(x, 0, n * sizeof(double));
        for (uint32_t node = 0; node < elastic->nodeCount; ++node)
        {
            for (int i = 0; i < 6; ++i)
            {
                double u[3];
                RigidMotion(knDSub(knElastic_Position(elastic, node), center), i, u);
                AddScaled(x + 3 * (size_t)node, combinations[6 * c + i], u, 3);
            }
        }
        knElasticBasis_Remove(basis, x);
        knElasticBasis_Remove(basis, x);
        knElasticBasis_Append(basis, x, 1e-9);
    }
    knRelease(&elastic->allocator, x, n, sizeof(double));
    return result;
}
