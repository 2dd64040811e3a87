// SPDX-License-Identifier: Zlib
#include "fracture/stress_ritz_internal.h"

void knStress_FactorAvx2(double* matrix, uint32_t n)
{
    Factor(matrix, n);
}

void knStress_BacksolveAvx2(const double* matrix, uint32_t n, double* x)
{
    Backsolve(matrix, n, x);
}
