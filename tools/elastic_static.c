// SPDX-License-Identifier: Zlib
// Answers to loads that do not change: directly, and as vectors that complete a set of modes.
#include "elastic_internal.h"

#include <math.h>
#include <string.h>

// Well below the first eigenvalue of anything solid (a rod 200 times as long as thick: 3e-4), well
// above rounding; it keeps the matrix of a free body definite.
#define FREE_SHIFT 1e-5

#define REFINEMENTS 8

knResult knCreateElasticSystem(knElasticSystem* system, const knElastic* elastic,
                               const uint8_t* fixed)
{
    knElasticSystem made = {.elastic = elastic};
    knResult result = knMakeRigidBasis(&made.rigid, elastic, fixed);
    made.shift = made.rigid.count > 0 ? FREE_SHIFT : 0.0;
    result = result == kn_success ? knCreateElasticSolver(&made.solver, elastic, fixed, made.shift)
                                  : result;
    if (result != kn_success)
    {
        knDestroyElasticSystem(&made);
        return result;
    }
    *system = made;
    return kn_success;
}

void knDestroyElasticSystem(knElasticSystem* system)
{
    knDestroyElasticSolver(system->solver);
    knDestroyElasticBasis(&system->rigid);
    *system = (knElasticSystem){0};
}

// The shift makes the body a little too stiff; refining takes it out again.
static knResult Refine(const knElasticSystem* s, const double* forces, double* u, double* work)
{
    size_t n = 3 * (size_t)s->elastic->nodeCount;
    knResult result = knElasticSolver_Solve(s->solver, forces, u);
    knElasticBasis_Remove(&s->rigid, u);
    for (int i = 0; result == kn_success && s->shift > 0.0 && i < REFINEMENTS; ++i)
    {
        knElastic_MultiplyStiffness(s->elastic, u, work);
        for (size_t k = 0; k < n; ++k)
        {
            work[k] = forces[k] - work[k];
        }
        knElasticBasis_RemoveForce(&s->rigid, work);
        result = knElasticSolver_Solve(s->solver, work, work);
        knElasticBasis_Remove(&s->rigid, work);
        for (size_t k = 0; k < n; ++k)
        {
            u[k] += work[k];
        }
    }
    return result;
}

knResult knElastic_Static(const knElastic* elastic, const uint8_t* fixed,
                          const knStaticLoads* loads, double* u)
{
    const knAllocator* a = &elastic->allocator;
    size_t n = 3 * (size_t)elastic->nodeCount;
    knElasticSystem system = {0};
    double* work = knAllocate(a, 2 * n, sizeof(double));
    knResult result = work ? knCreateElasticSystem(&system, elastic, fixed) : kn_errorMemory;
    for (size_t i = 0; result == kn_success && i < loads->count; ++i)
    {
        double* balanced = work + n;
        memcpy(balanced, loads->forces + i * n, n * sizeof(double));
        knElasticBasis_RemoveForce(&system.rigid, balanced);
        result = Refine(&system, balanced, u + i * n, work);
    }
    knDestroyElasticSystem(&system);
    knRelease(a, work, 2 * n, sizeof(double));
    return result;
}
