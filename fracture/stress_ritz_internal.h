// SPDX-License-Identifier: Zlib
#pragma once

// Factor and solution, compiled for the wide and the narrow path: no sum changes its order.

#include "fracture/stress_piece_internal.h"

// One row of U: what adds nothing new is left out, its diagonal becomes 0.
static inline void FinishRow(double* row, uint32_t k, uint32_t n, double diagonal)
{
    bool isNew = row[k] > 1e-11 * diagonal;
    double inverse = isNew ? 1.0 / row[k] : 0.0;
    row[k] = isNew ? row[k] : 0.0;
    for (uint32_t j = k + 1; j < n; ++j)
    {
        row[j] *= inverse;
    }
}

// Takes what four finished rows explain from row i, from column i on.
static inline void Subtract(const double* rows[4], uint32_t first, double* target, uint32_t i,
                            uint32_t n)
{
    double f[4];
    for (uint32_t p = 0; p < 4; ++p)
    {
        f[p] = rows[p][i] * rows[p][first + p];
    }
    for (uint32_t j = i; j < n; ++j)
    {
        target[j] -=
            (f[0] * rows[0][j] + f[1] * rows[1][j]) + (f[2] * rows[2][j] + f[3] * rows[3][j]);
    }
}

// Upper triangle in place: row k holds U with A = U^T D U, D on the diagonal. Four rows at a time,
// so that the rest of the matrix is read and written a quarter as often.
static inline void Factor(double* matrix, uint32_t n)
{
    double diagonal[MAX_UNKNOWNS];
    for (uint32_t k = 0; k < n; ++k)
    {
        diagonal[k] = matrix[(size_t)k * n + k];
    }
    for (uint32_t first = 0; first < n; first += 4)
    {
        const double* rows[4];
        for (uint32_t p = 0; p < 4 && first + p < n; ++p)
        {
            double* row = matrix + (size_t)(first + p) * n;
            for (uint32_t q = 0; q < p; ++q)
            {
                double f = rows[q][first + p] * rows[q][first + q];
                for (uint32_t j = first + p; j < n; ++j)
                {
                    row[j] -= f * rows[q][j];
                }
            }
            FinishRow(row, first + p, n, diagonal[first + p]);
            rows[p] = row;
        }
        for (uint32_t i = first + 4; i < n; ++i)
        {
            Subtract(rows, first, matrix + (size_t)i * n, i, n);
        }
    }
}

// Four sums side by side, always in the same order: one alone would wait for itself.
static inline double Dot(const double* a, const double* b, uint32_t n)
{
    double s[4] = {0.0, 0.0, 0.0, 0.0};
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4)
    {
        for (uint32_t k = 0; k < 4; ++k)
        {
            s[k] += a[i + k] * b[i + k];
        }
    }
    for (; i < n; ++i)
    {
        s[0] += a[i] * b[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static inline void Backsolve(const double* matrix, uint32_t n, double* x)
{
    for (uint32_t k = 0; k < n; ++k)
    {
        const double* row = matrix + (size_t)k * n;
        for (uint32_t j = k + 1; j < n; ++j)
        {
            x[j] -= row[j] * x[k];
        }
    }
    for (uint32_t k = n; k-- > 0;)
    {
        const double* row = matrix + (size_t)k * n;
        double known = Dot(row + k + 1, x + k + 1, n - k - 1);
        x[k] = row[k] > 0.0 ? x[k] / row[k] - known : 0.0;
    }
}
