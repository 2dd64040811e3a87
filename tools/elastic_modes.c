// SPDX-License-Identifier: Zlib
#include "elastic_internal.h"

#include <math.h>

// The largest number is positive: a sign that does not depend on how the solver came there.
static void FixSigns(knElasticModes* modes)
{
    size_t n = 3 * (size_t)modes->basis.elastic->nodeCount;
    for (uint32_t m = 0; m < modes->basis.count; ++m)
    {
        double* x = knElasticBasis_Vector(&modes->basis, m);
        size_t most = 0;
        for (size_t i = 1; i < n; ++i)
        {
            most = fabs(x[i]) > fabs(x[most]) ? i : most;
        }
        // the mass vector is not needed any more and keeps its sign
        double sign = x[most] < 0.0 ? -1.0 : 1.0;
        for (size_t i = 0; i < n; ++i)
        {
            x[i] *= sign;
        }
    }
}

knResult knSolveElasticModes(knElasticModes* out, const knElastic* elastic,
                             const knElasticModeOptions* options)
{
    knElasticSystem system = {0};
    knElasticModes modes = {0};
    knResult result = knCreateElasticSystem(&system, elastic, options->fixed);
    if (result != kn_success)
    {
        return result;
    }
    // the highest modes of a mesh are those of its elements, not of the object
    uint32_t most = knElasticSolver_FreeCount(system.solver) / 4;
    modes.capacity = options->count < most ? options->count : most;
    modes.eigenvalues = knAllocate(&elastic->allocator, modes.capacity, sizeof(double));
    result = modes.eigenvalues ? knCreateElasticBasis(&modes.basis, elastic, modes.capacity)
                               : kn_errorMemory;
    result = result == kn_success ? knFindModes(&modes, &system, modes.capacity) : result;
    knDestroyElasticSystem(&system);
    if (result != kn_success)
    {
        knDestroyElasticBasis(&modes.basis);
        knRelease(&elastic->allocator, modes.eigenvalues, modes.capacity, sizeof(double));
        return result;
    }
    FixSigns(&modes);
    *out = modes;
    return kn_success;
}

void knDestroyElasticModes(knElasticModes* modes)
{
    if (modes->basis.elastic)
    {
        knRelease(&modes->basis.elastic->allocator, modes->eigenvalues, modes->capacity,
                  sizeof(double));
        knDestroyElasticBasis(&modes->basis);
    }
    *modes = (knElasticModes){0};
}
