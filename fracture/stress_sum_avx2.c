// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

#if defined(__AVX2__)

#include <immintrin.h>

// The order of the rows and of every addition is that of the narrow sum: the same bits.
void knStress_SumRowsAvx2(const RowSum* sum, float (*out)[KN_STRESS_LANES])
{
    __m256 sums[KN_STRESS_TIMES];
    for (int k = 0; k < KN_STRESS_TIMES; ++k)
    {
        sums[k] = _mm256_setzero_ps();
    }
    for (uint32_t a = 0; a < sum->count; ++a)
    {
        __m256 row = _mm256_loadu_ps(sum->rows[a]);
        for (int k = 0; k < KN_STRESS_TIMES; ++k)
        {
            __m256 factor = _mm256_broadcast_ss(&sum->factors[a][k]);
            sums[k] = _mm256_add_ps(sums[k], _mm256_mul_ps(factor, row));
        }
    }
    for (int k = 0; k < KN_STRESS_TIMES; ++k)
    {
        _mm256_storeu_ps(out[k], sums[k]);
    }
}

#else

void knStress_SumRowsAvx2(const RowSum* sum, float (*out)[KN_STRESS_LANES])
{
    knStress_SumRowsSse(sum, out);
}

#endif
