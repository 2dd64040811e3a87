// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

#include <simde/x86/sse2.h>

typedef simde__m128 F4;

// Four times at once: more sums would not stay in registers.
static void SumFour(const RowSum* sum, uint32_t firstTime, float (*out)[KN_STRESS_LANES])
{
    F4 sums[4][2];
    for (int k = 0; k < 4; ++k)
    {
        sums[k][0] = sums[k][1] = simde_mm_setzero_ps();
    }
    for (uint32_t a = 0; a < sum->count; ++a)
    {
        F4 low = simde_mm_loadu_ps(sum->rows[a]);
        F4 high = simde_mm_loadu_ps(sum->rows[a] + 4);
        F4 four = simde_mm_loadu_ps(sum->factors[a] + firstTime);
        const F4 factors[4] = {
            simde_mm_shuffle_ps(four, four, 0x00), simde_mm_shuffle_ps(four, four, 0x55),
            simde_mm_shuffle_ps(four, four, 0xAA), simde_mm_shuffle_ps(four, four, 0xFF)};
        for (int k = 0; k < 4; ++k)
        {
            sums[k][0] = simde_mm_add_ps(sums[k][0], simde_mm_mul_ps(factors[k], low));
            sums[k][1] = simde_mm_add_ps(sums[k][1], simde_mm_mul_ps(factors[k], high));
        }
    }
    for (int k = 0; k < 4; ++k)
    {
        simde_mm_storeu_ps(out[k], sums[k][0]);
        simde_mm_storeu_ps(out[k] + 4, sums[k][1]);
    }
}

void knStress_SumRowsSse(const RowSum* sum, float (*out)[KN_STRESS_LANES])
{
    for (uint32_t t = 0; t < KN_STRESS_TIMES; t += 4)
    {
        SumFour(sum, t, out + t);
    }
}

SumRowsFcn* knStress_ChooseSum(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") ? knStress_SumRowsAvx2 : knStress_SumRowsSse;
#else
    return knStress_SumRowsSse;
#endif
}
