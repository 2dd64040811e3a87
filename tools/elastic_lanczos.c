// SPDX-License-Identifier: Zlib
// The only file that knows ARPACK.
#include "elastic_internal.h"

#include <arpack/arpack.h>
#include <math.h>
#include <string.h>

#define TOLERANCE     1e-7 // of an eigenvalue
#define MAX_RESTARTS  300
#define WORD_CAPACITY 11

// One run of ARPACK in shift-invert mode: the largest eigenvalues of (K + shift M)^-1 M.
typedef struct Lanczos
{
    const knElasticSystem* system;
    a_int size, wanted, width;
    double* start;
    double* vectors; // width columns
    double* spread;  // ARPACK's three columns
    double* small;   // its small matrices
    double* values;
    a_int* selected;
    size_t smallCount;
    uint32_t solveCount;
} Lanczos;

static bool AllocateLanczos(Lanczos* l)
{
    const knAllocator* a = &l->system->elastic->allocator;
    size_t n = (size_t)l->size, width = (size_t)l->width;
    l->smallCount = width * (width + 8);
    l->start = knAllocate(a, n, sizeof(double));
    l->vectors = knAllocate(a, n * width, sizeof(double));
    l->spread = knAllocate(a, 3 * n, sizeof(double));
    l->small = knAllocate(a, l->smallCount, sizeof(double));
    l->values = knAllocate(a, width, sizeof(double));
    l->selected = knAllocate(a, width, sizeof(a_int));
    return l->start && l->vectors && l->spread && l->small && l->values && l->selected;
}

static void FreeLanczos(Lanczos* l)
{
    const knAllocator* a = &l->system->elastic->allocator;
    size_t n = (size_t)l->size, width = (size_t)l->width;
    knRelease(a, l->start, n, sizeof(double));
    knRelease(a, l->vectors, n * width, sizeof(double));
    knRelease(a, l->spread, 3 * n, sizeof(double));
    knRelease(a, l->small, l->smallCount, sizeof(double));
    knRelease(a, l->values, width, sizeof(double));
    knRelease(a, l->selected, width, sizeof(a_int));
}

// Numbers without pattern, the same every time.
static void FillStart(double* start, size_t count)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; ++i)
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        start[i] = (double)(state >> 11) * 0x1p-53 - 0.5;
    }
}

// y = (K + shift M)^-1 b without rigid motion, which rounding would let grow.
static knResult ApplyInverse(Lanczos* l, const double* b, double* y)
{
    ++l->solveCount;
    if (y != b)
    {
        memcpy(y, b, (size_t)l->size * sizeof(double));
    }
    knElasticBasis_RemoveForce(&l->system->rigid, y);
    knResult result = knElasticSolver_Solve(l->system->solver, y, y);
    knElasticBasis_Remove(&l->system->rigid, y);
    return result;
}

static knResult Iterate(Lanczos* l, a_int parameters[WORD_CAPACITY], a_int places[WORD_CAPACITY])
{
    a_int task = 0, info = 1;
    knResult result = kn_success;
    while (result == kn_success)
    {
        dsaupd_c(&task, "G", l->size, "LM", l->wanted, TOLERANCE, l->start, l->width, l->vectors,
                 l->size, parameters, places, l->spread, l->small, (a_int)l->smallCount, &info);
        double* x = l->spread + places[0] - 1;
        double* y = l->spread + places[1] - 1;
        if (task == -1)
        {
            knElastic_MultiplyMass(l->system->elastic, x, y);
            result = ApplyInverse(l, y, y);
        }
        else if (task == 1)
        {
            result = ApplyInverse(l, l->spread + places[2] - 1, y);
        }
        else if (task == 2)
        {
            knElastic_MultiplyMass(l->system->elastic, x, y);
        }
        else
        {
            break;
        }
    }
    if (result == kn_success && info != 0)
    {
        return knFail(kn_errorMesh, "the modes did not converge (ARPACK says %d)", (int)info);
    }
    return result;
}

static knResult RunLanczos(Lanczos* l)
{
    a_int parameters[WORD_CAPACITY] = {1, 0, MAX_RESTARTS, 1, 0, 0, 3};
    a_int places[WORD_CAPACITY] = {0};
    FillStart(l->start, (size_t)l->size);
    memset(l->spread, 0, 3 * (size_t)l->size * sizeof(double));
    knResult result = Iterate(l, parameters, places);
    if (result != kn_success)
    {
        return result;
    }
    a_int info = 0;
    dseupd_c(1, "A", l->selected, l->values, l->vectors, l->size, -l->system->shift, "G", l->size,
             "LM", l->wanted, TOLERANCE, l->start, l->width, l->vectors, l->size, parameters,
             places, l->spread, l->small, (a_int)l->smallCount, &info);
    if (info != 0 || parameters[4] < l->wanted)
    {
        return knFail(kn_errorMesh, "only %d of %d modes were found", (int)parameters[4],
                      (int)l->wanted);
    }
    return kn_success;
}

// In ascending order, which ARPACK does not promise.
static knResult TakeModes(Lanczos* l, knElasticModes* modes)
{
    for (a_int i = 0; i < l->wanted; ++i)
    {
        a_int least = 0;
        for (a_int k = 1; k < l->wanted; ++k)
        {
            least = l->values[k] < l->values[least] ? k : least;
        }
        double value = l->values[least];
        const double* vector = l->vectors + (size_t)least * (size_t)l->size;
        if (!(value > 0.0) || !knElasticBasis_Append(&modes->basis, vector, 0.0))
        {
            return knFail(kn_errorMesh, "mode %d has the eigenvalue %g", (int)i + 1, value);
        }
        modes->eigenvalues[i] = value;
        l->values[least] = INFINITY;
    }
    return kn_success;
}

knResult knFindModes(knElasticModes* modes, const knElasticSystem* system, uint32_t count)
{
    Lanczos l = {.system = system,
                 .size = (a_int)(3 * system->elastic->nodeCount),
                 .wanted = (a_int)count,
                 .width = (a_int)(2 * count + 8)};
    knResult result = AllocateLanczos(&l) ? RunLanczos(&l) : kn_errorMemory;
    result = result == kn_success ? TakeModes(&l, modes) : result;
    modes->solveCount = l.solveCount;
    FreeLanczos(&l);
    return result;
}
