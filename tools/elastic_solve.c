// SPDX-License-Identifier: Zlib
// The only file that knows CHOLMOD.
#include "elastic_internal.h"

#include <cholmod.h>
#if defined(KN_HAS_OPENMP)
#include <omp.h>
#endif
#include <string.h>

struct knElasticSolver
{
    const knElastic* elastic;
    cholmod_common common;
    cholmod_factor* factor;
    cholmod_dense* right; // reused from solve to solve, like the three below
    cholmod_dense* answer;
    cholmod_dense* work[2];
    uint32_t* places; // of each degree of freedom among the free ones; KN_NONE when fixed
    uint32_t freeCount;
};

// CHOLMOD's loops run on one thread while `levels` is 0; returns what it was.
static int SetThreadLevels(int levels)
{
#if defined(KN_HAS_OPENMP)
    int before = omp_get_max_active_levels();
    omp_set_max_active_levels(levels);
    return before;
#else
    return levels;
#endif
}

static void Silence(int status, const char* file, int line, const char* message)
{
    // failures are told by the status and reported in our own words
    (void)status;
    (void)file;
    (void)line;
    (void)message;
}

static knResult Failure(const knElasticSolver* s, const char* what)
{
    if (s->common.status == CHOLMOD_OUT_OF_MEMORY || s->common.status == CHOLMOD_TOO_LARGE)
    {
        return knFail(kn_errorMemory, "%s of %u unknowns needs more memory than there is", what,
                      s->freeCount);
    }
    return knFail(kn_errorMesh, "%s failed: the tetrahedra are too badly shaped", what);
}

static size_t CountEntries(const knElasticSolver* s)
{
    const knElastic* e = s->elastic;
    size_t count = 0;
    for (uint32_t c = 0; c < e->nodeCount; ++c)
    {
        count += 9 * (e->starts[c + 1] - e->starts[c]) - 3;
    }
    return count;
}

// One column of K + shift M, without fixed rows; the lower triangle.
static int FillColumn(const knElasticSolver* s, uint32_t dof, double shift, int* rows,
                      double* values)
{
    const knElastic* e = s->elastic;
    uint32_t column = dof / 3, axis = dof % 3;
    int count = 0;
    for (size_t k = e->starts[column]; k < e->starts[column + 1]; ++k)
    {
        for (uint32_t r = 0; r < 3; ++r)
        {
            uint32_t row = 3 * e->rows[k] + r;
            if (row >= dof && s->places[row] != KN_NONE)
            {
                rows[count] = (int)s->places[row];
                values[count++] =
                    e->stiffness[9 * k + 3 * r + axis] + (r == axis ? shift * e->mass[k] : 0.0);
            }
        }
    }
    return count;
}

static cholmod_sparse* MakeMatrix(knElasticSolver* s, double shift)
{
    size_t n = s->freeCount, entries = CountEntries(s);
    cholmod_sparse* a = entries < INT32_MAX ? cholmod_allocate_sparse(n, n, entries, 1, 1, -1,
                                                                      CHOLMOD_REAL, &s->common)
                                            : NULL;
    if (!a)
    {
        s->common.status = CHOLMOD_TOO_LARGE;
        return NULL;
    }
    int* starts = a->p;
    starts[0] = 0;
    for (uint32_t dof = 0, place = 0; dof < 3 * s->elastic->nodeCount; ++dof)
    {
        if (s->places[dof] != KN_NONE)
        {
            int at = starts[place];
            starts[++place] = at + FillColumn(s, dof, shift, (int*)a->i + at, (double*)a->x + at);
        }
    }
    return a;
}

static void SetUp(knElasticSolver* s)
{
    cholmod_start(&s->common);
    s->common.error_handler = Silence;
    s->common.print = 0;
    s->common.supernodal = CHOLMOD_SUPERNODAL;
    s->common.nmethods = 1;
    s->common.method[0].ordering = CHOLMOD_METIS;
}

static knResult Factorize(knElasticSolver* s, double shift)
{
    cholmod_sparse* a = MakeMatrix(s, shift);
    if (!a)
    {
        return Failure(s, "the elastic solve");
    }
    int levels = SetThreadLevels(0);
    s->factor = cholmod_analyze(a, &s->common);
    bool good =
        s->factor && cholmod_factorize(a, s->factor, &s->common) && s->common.status == CHOLMOD_OK;
    SetThreadLevels(levels);
    cholmod_free_sparse(&a, &s->common);
    s->right = cholmod_allocate_dense(s->freeCount, 1, s->freeCount, CHOLMOD_REAL, &s->common);
    return good && s->right ? kn_success : Failure(s, "the elastic solve");
}

static bool NumberFree(knElasticSolver* s, const uint8_t* fixed)
{
    size_t dofs = 3 * (size_t)s->elastic->nodeCount;
    s->places = knAllocate(&s->elastic->allocator, dofs, sizeof(uint32_t));
    for (size_t d = 0; s->places && d < dofs; ++d)
    {
        bool isFixed = fixed && (fixed[d / 3] >> (d % 3) & 1) != 0;
        s->places[d] = isFixed ? KN_NONE : s->freeCount++;
    }
    return s->places != NULL;
}

knResult knCreateElasticSolver(knElasticSolver** out, const knElastic* elastic,
                               const uint8_t* fixed, double shift)
{
    knElasticSolver* s = knAllocate(&elastic->allocator, 1, sizeof(knElasticSolver));
    if (!s)
    {
        return kn_errorMemory;
    }
    *s = (knElasticSolver){.elastic = elastic};
    SetUp(s);
    knResult result = NumberFree(s, fixed) ? kn_success : kn_errorMemory;
    if (result == kn_success && s->freeCount == 0)
    {
        result = knFail(kn_errorArgument, "every node is fixed: nothing can move");
    }
    result = result == kn_success ? Factorize(s, shift) : result;
    if (result != kn_success)
    {
        knDestroyElasticSolver(s);
        return result;
    }
    *out = s;
    return kn_success;
}

void knDestroyElasticSolver(knElasticSolver* s)
{
    if (s)
    {
        knAllocator allocator = s->elastic->allocator;
        cholmod_free_dense(&s->right, &s->common);
        cholmod_free_dense(&s->answer, &s->common);
        cholmod_free_dense(&s->work[0], &s->common);
        cholmod_free_dense(&s->work[1], &s->common);
        cholmod_free_factor(&s->factor, &s->common);
        cholmod_finish(&s->common);
        knRelease(&allocator, s->places, 3 * (size_t)s->elastic->nodeCount, sizeof(uint32_t));
        knRelease(&allocator, s, 1, sizeof(knElasticSolver));
    }
}

knResult knElasticSolver_Solve(knElasticSolver* s, const double* b, double* x)
{
    size_t dofs = 3 * (size_t)s->elastic->nodeCount;
    double* right = s->right->x;
    for (size_t d = 0; d < dofs; ++d)
    {
        if (s->places[d] != KN_NONE)
        {
            right[s->places[d]] = b[d];
        }
    }
    int levels = SetThreadLevels(0);
    bool good = cholmod_solve2(CHOLMOD_A, s->factor, s->right, NULL, &s->answer, NULL, &s->work[0],
                               &s->work[1], &s->common);
    SetThreadLevels(levels);
    if (!good)
    {
        return Failure(s, "an elastic solve");
    }
    const double* answer = s->answer->x;
    for (size_t d = 0; d < dofs; ++d)
    {
        x[d] = s->places[d] != KN_NONE ? answer[s->places[d]] : 0.0;
    }
    return kn_success;
}

uint32_t knElasticSolver_FreeCount(const knElasticSolver* s)
{
    return s->freeCount;
}
