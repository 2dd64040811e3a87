// SPDX-License-Identifier: Zlib
#include "fracture/stress_ritz_internal.h"

// Integral of d(phi_m)/dx_a d(phi_n)/dx_b; -1 for no derivative.
static double Integral(const Ritz* ritz, uint32_t m, uint32_t n, int a, int b)
{
    const double* s = ritz->frame.scale;
    const uint8_t* p = ritz->space.powers[m];
    const uint8_t* q = ritz->space.powers[n];
    int e[3] = {p[0] + q[0], p[1] + q[1], p[2] + q[2]};
    double f = s[0] * s[1] * s[2];
    if (a >= 0)
    {
        f *= p[a] / s[a];
        e[a] -= 1;
    }
    if (b >= 0)
    {
        f *= q[b] / s[b];
        e[b] -= 1;
    }
    return f == 0.0 ? 0.0 : f * ritz->moments->sums[ritz->moments->rows[e[2]][e[1]] + e[0]];
}

// Isotropic elasticity: one 3 x 3 block.
static void AssemblePair(Ritz* ritz, uint32_t m, uint32_t n)
{
    const knMaterial* material = ritz->task->def->material;
    double nu = material->poissonRatio;
    double lambda = material->youngsModulus * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    double mu = material->youngsModulus / (2.0 * (1.0 + nu));
    double g[3][3];
    for (int a = 0; a < 3; ++a)
    {
        for (int b = 0; b < 3; ++b)
        {
            g[a][b] = Integral(ritz, m, n, a, b);
        }
    }
    double trace = g[0][0] + g[1][1] + g[2][2];
    for (uint32_t i = 0; i < 3; ++i)
    {
        for (uint32_t j = 0; j < 3; ++j)
        {
            double k = lambda * g[i][j] + mu * g[j][i] + (i == j ? mu * trace : 0.0);
            ritz->stiffness[(size_t)(3 * m + i) * ritz->n + 3 * n + j] = k;
            ritz->stiffness[(size_t)(3 * n + j) * ritz->n + 3 * m + i] = k;
        }
    }
    ritz->slopes[(size_t)m * ritz->space.count + n] = trace;
    ritz->slopes[(size_t)n * ritz->space.count + m] = trace;
    double mass = ritz->task->def->set->density * Integral(ritz, m, n, -1, -1);
    ritz->mass[(size_t)m * ritz->space.count + n] = mass;
    ritz->mass[(size_t)n * ritz->space.count + m] = mass;
}

void knStress_Assemble(Ritz* ritz)
{
    for (uint32_t m = 0; m < ritz->space.count; ++m)
    {
        for (uint32_t n = m; n < ritz->space.count; ++n)
        {
            AssemblePair(ritz, m, n);
        }
    }
    ritz->task->result.workUnits += 10 * (uint64_t)ritz->space.count * ritz->space.count;
}

void knStress_Monomials(const PolySpace* space, knDVec3 p, double* values)
{
    double powers[3][MAX_DEGREE + 1];
    const double x[3] = {p.x, p.y, p.z};
    for (int a = 0; a < 3; ++a)
    {
        powers[a][0] = 1.0;
        for (int i = 1; i <= MAX_DEGREE; ++i)
        {
            powers[a][i] = powers[a][i - 1] * x[a];
        }
    }
    for (uint32_t m = 0; m < space->count; ++m)
    {
        const uint8_t* e = space->powers[m];
        values[m] = powers[0][e[0]] * powers[1][e[1]] * powers[2][e[2]];
    }
}

// Springs at the held nodes, far stiffer than the piece but not so stiff that digits are lost.
static void AddSpring(Ritz* ritz, uint32_t node, double spring)
{
    double values[MAX_MONOMIALS];
    knDVec3 p = knStress_ToFrame(&ritz->frame, knToDouble(ritz->task->mesh->nodes[node]));
    knStress_Monomials(&ritz->space, p, values);
    for (uint32_t m = 0; m < ritz->space.count; ++m)
    {
        for (uint32_t n = 0; n < ritz->space.count; ++n)
        {
            double k = spring * values[m] * values[n];
            for (uint32_t i = 0; i < 3; ++i)
            {
                ritz->stiffness[(size_t)(3 * m + i) * ritz->n + 3 * n + i] += k;
            }
        }
    }
}

void knStress_AddAnchors(Ritz* ritz)
{
    const knStressDef* def = ritz->task->def;
    const uint32_t* labels = def->set->store->labels;
    uint32_t count = 0;
    for (uint32_t i = 0; i < def->anchorCount; ++i)
    {
        count += labels[def->anchors[i]] == def->fragment;
    }
    double spring = 1e4 * def->material->youngsModulus * ritz->frame.scale[0] / (count + 1);
    for (uint32_t i = 0; i < def->anchorCount; ++i)
    {
        if (labels[def->anchors[i]] == def->fragment)
        {
            AddSpring(ritz, def->anchors[i], spring);
        }
    }
    ritz->task->result.workUnits += 3 * (uint64_t)count * ritz->space.count * ritz->space.count;
}

static bool IsWide(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

void knStress_Factor(double* matrix, uint32_t n)
{
    if (IsWide())
    {
        knStress_FactorAvx2(matrix, n);
    }
    else
    {
        Factor(matrix, n);
    }
}

void knStress_Backsolve(const double* matrix, uint32_t n, double* x)
{
    if (IsWide())
    {
        knStress_BacksolveAvx2(matrix, n, x);
    }
    else
    {
        Backsolve(matrix, n, x);
    }
}
