// SPDX-License-Identifier: Zlib
#pragma once

// Eight nodes at once, for the wide and the narrow path: every lane has the bits of the scalar code
// in stress_principal.c.

#include "fracture/stress_internal.h"

#include <simde/x86/avx2.h>

typedef simde__m256 F8;
typedef simde__m256d D4;

typedef struct D4Vec3
{
    D4 x, y, z;
} D4Vec3;

static inline F8 SetF8(float x)
{
    return simde_mm256_set1_ps(x);
}

static inline F8 AddF8(F8 a, F8 b)
{
    return simde_mm256_add_ps(a, b);
}

static inline F8 SubF8(F8 a, F8 b)
{
    return simde_mm256_sub_ps(a, b);
}

static inline F8 MulF8(F8 a, F8 b)
{
    return simde_mm256_mul_ps(a, b);
}

// As RootOfShape.
static inline F8 RootOfShape8(F8 s)
{
    F8 sum = SetF8(knStressShapeTerms[0]);
    for (int i = 1; i < 7; ++i)
    {
        sum = AddF8(MulF8(sum, s), SetF8(knStressShapeTerms[i]));
    }
    return sum;
}

static inline F8 HalfDeterminant8(F8 a, F8 b, F8 c, const F8 off[3])
{
    F8 first = MulF8(a, SubF8(MulF8(b, c), MulF8(off[1], off[1])));
    F8 second = MulF8(off[0], SubF8(MulF8(off[0], c), MulF8(off[1], off[2])));
    F8 third = MulF8(off[2], SubF8(MulF8(off[0], off[1]), MulF8(b, off[2])));
    return MulF8(SetF8(0.5f), AddF8(SubF8(first, second), third));
}

static inline F8 LargestRoot8(const F8 t[6])
{
    F8 mean = MulF8(AddF8(AddF8(t[0], t[1]), t[2]), SetF8(1.0f / 3.0f));
    F8 a = SubF8(t[0], mean);
    F8 b = SubF8(t[1], mean);
    F8 c = SubF8(t[2], mean);
    F8 shear2 = AddF8(AddF8(MulF8(t[3], t[3]), MulF8(t[4], t[4])), MulF8(t[5], t[5]));
    F8 size2 = AddF8(AddF8(MulF8(a, a), MulF8(b, b)), AddF8(MulF8(c, c), AddF8(shear2, shear2)));
    F8 size = simde_mm256_sqrt_ps(MulF8(size2, SetF8(1.0f / 6.0f)));
    F8 inverse = simde_mm256_div_ps(SetF8(1.0f), AddF8(size, SetF8(FLT_MIN)));
    const F8 off[3] = {MulF8(t[3], inverse), MulF8(t[4], inverse), MulF8(t[5], inverse)};
    F8 r = HalfDeterminant8(MulF8(a, inverse), MulF8(b, inverse), MulF8(c, inverse), off);
    F8 s2 = AddF8(SetF8(0.5f), MulF8(SetF8(0.5f), r));
    s2 = simde_mm256_min_ps(simde_mm256_max_ps(s2, SetF8(0.0f)), SetF8(1.0f));
    return AddF8(mean, MulF8(size, RootOfShape8(simde_mm256_sqrt_ps(s2))));
}

static inline D4 AddD4(D4 a, D4 b)
{
    return simde_mm256_add_pd(a, b);
}

static inline D4 SubD4(D4 a, D4 b)
{
    return simde_mm256_sub_pd(a, b);
}

static inline D4 MulD4(D4 a, D4 b)
{
    return simde_mm256_mul_pd(a, b);
}

static inline D4 DotD4(D4Vec3 a, D4Vec3 b)
{
    return AddD4(AddD4(MulD4(a.x, b.x), MulD4(a.y, b.y)), MulD4(a.z, b.z));
}

static inline D4Vec3 CrossD4(D4Vec3 a, D4Vec3 b)
{
    return (D4Vec3){SubD4(MulD4(a.y, b.z), MulD4(a.z, b.y)),
                    SubD4(MulD4(a.z, b.x), MulD4(a.x, b.z)),
                    SubD4(MulD4(a.x, b.y), MulD4(a.y, b.x))};
}

// a where the mask is set.
static inline D4Vec3 ChooseD4(D4 mask, D4Vec3 a, D4Vec3 b)
{
    return (D4Vec3){simde_mm256_blendv_pd(b.x, a.x, mask), simde_mm256_blendv_pd(b.y, a.y, mask),
                    simde_mm256_blendv_pd(b.z, a.z, mask)};
}

static inline D4Vec3 LongestD4(D4Vec3 a, D4Vec3 b, D4Vec3 c)
{
    D4 aa = DotD4(a, a);
    D4 bb = DotD4(b, b);
    D4 cc = DotD4(c, c);
    D4 isFirst = simde_mm256_and_pd(simde_mm256_cmp_pd(aa, bb, SIMDE_CMP_GE_OQ),
                                    simde_mm256_cmp_pd(aa, cc, SIMDE_CMP_GE_OQ));
    return ChooseD4(isFirst, a, ChooseD4(simde_mm256_cmp_pd(bb, cc, SIMDE_CMP_GE_OQ), b, c));
}

// Lanes that have a double root: the scalar way.
static inline D4Vec3 MendAcross(D4Vec3 v, D4Vec3 row, int lanes)
{
    double vs[3][4], rows[3][4];
    simde_mm256_storeu_pd(vs[0], v.x);
    simde_mm256_storeu_pd(vs[1], v.y);
    simde_mm256_storeu_pd(vs[2], v.z);
    simde_mm256_storeu_pd(rows[0], row.x);
    simde_mm256_storeu_pd(rows[1], row.y);
    simde_mm256_storeu_pd(rows[2], row.z);
    for (int i = 0; i < 4; ++i)
    {
        if (!(lanes >> i & 1))
        {
            knDVec3 across = knStress_AnyAcross(knMakeDVec3(rows[0][i], rows[1][i], rows[2][i]));
            vs[0][i] = across.x;
            vs[1][i] = across.y;
            vs[2][i] = across.z;
        }
    }
    return (D4Vec3){simde_mm256_loadu_pd(vs[0]), simde_mm256_loadu_pd(vs[1]),
                    simde_mm256_loadu_pd(vs[2])};
}

static inline D4Vec3 NullDirection4(const D4 t[6], D4 largest)
{
    D4Vec3 r0 = {SubD4(t[0], largest), t[3], t[5]};
    D4Vec3 r1 = {t[3], SubD4(t[1], largest), t[4]};
    D4Vec3 r2 = {t[5], t[4], SubD4(t[2], largest)};
    D4Vec3 v = LongestD4(CrossD4(r0, r1), CrossD4(r1, r2), CrossD4(r2, r0));
    D4Vec3 row = LongestD4(r0, r1, r2);
    D4 limit = MulD4(simde_mm256_set1_pd(1e-6), DotD4(row, row));
    D4 length = simde_mm256_sqrt_pd(DotD4(v, v));
    D4 s = simde_mm256_div_pd(simde_mm256_set1_pd(1.0), length);
    v = (D4Vec3){MulD4(s, v.x), MulD4(s, v.y), MulD4(s, v.z)};
    int isLone = simde_mm256_movemask_pd(simde_mm256_cmp_pd(length, limit, SIMDE_CMP_GT_OQ));
    return isLone == 0xF ? v : MendAcross(v, row, isLone);
}

static inline D4 QuotientD4(const D4 t[6], D4Vec3 v)
{
    D4Vec3 tv = {
        AddD4(AddD4(MulD4(t[0], v.x), MulD4(t[3], v.y)), MulD4(t[5], v.z)),
        AddD4(AddD4(MulD4(t[3], v.x), MulD4(t[1], v.y)), MulD4(t[4], v.z)),
        AddD4(AddD4(MulD4(t[5], v.x), MulD4(t[4], v.y)), MulD4(t[2], v.z)),
    };
    return DotD4(v, tv);
}

// What is kept of eight nodes.
typedef struct Kept
{
    float tensor[6][KN_STRESS_LANES];
    float direction[3][KN_STRESS_LANES];
    float tension[KN_STRESS_LANES];
    float best[KN_STRESS_LANES]; // the time; -1 without tension
} Kept;

static inline void FindDirections(Kept* kept)
{
    for (int i = 0; i < KN_STRESS_LANES; i += 4)
    {
        D4 t[6];
        for (int c = 0; c < 6; ++c)
        {
            t[c] = simde_mm256_cvtps_pd(simde_mm_loadu_ps(kept->tensor[c] + i));
        }
        D4 largest = simde_mm256_cvtps_pd(simde_mm_loadu_ps(kept->tension + i));
        D4Vec3 v = NullDirection4(t, largest);
        v = NullDirection4(t, QuotientD4(t, v));
        simde_mm_storeu_ps(kept->direction[0] + i, simde_mm256_cvtpd_ps(v.x));
        simde_mm_storeu_ps(kept->direction[1] + i, simde_mm256_cvtpd_ps(v.y));
        simde_mm_storeu_ps(kept->direction[2] + i, simde_mm256_cvtpd_ps(v.z));
        simde_mm_storeu_ps(kept->tension + i, simde_mm256_cvtpd_ps(QuotientD4(t, v)));
    }
}

// The time with the largest tension of each lane.
static inline void FindLargest(const StressBlock* block, int timeCount, Kept* kept)
{
    F8 top = SetF8(0.0f), best = SetF8(-1.0f), tensor[6];
    for (int c = 0; c < 6; ++c)
    {
        tensor[c] = SetF8(0.0f);
    }
    for (int k = 0; k < timeCount; ++k)
    {
        F8 t[6];
        for (int c = 0; c < 6; ++c)
        {
            t[c] = simde_mm256_loadu_ps(block->s[c][k]);
        }
        F8 largest = LargestRoot8(t);
        F8 isMore = simde_mm256_cmp_ps(largest, top, SIMDE_CMP_GT_OQ);
        top = simde_mm256_blendv_ps(top, largest, isMore);
        best = simde_mm256_blendv_ps(best, SetF8((float)k), isMore);
        for (int c = 0; c < 6; ++c)
        {
            tensor[c] = simde_mm256_blendv_ps(tensor[c], t[c], isMore);
        }
    }
    for (int c = 0; c < 6; ++c)
    {
        simde_mm256_storeu_ps(kept->tensor[c], tensor[c]);
    }
    simde_mm256_storeu_ps(kept->tension, top);
    simde_mm256_storeu_ps(kept->best, best);
}

static inline void KeepLargest(const StressTask* task, const StressBlock* block, uint32_t firstNode)
{
    Kept kept;
    FindLargest(block, (int)task->timeCount, &kept);
    FindDirections(&kept);
    for (uint32_t i = 0; i < KN_STRESS_LANES && firstNode + i < task->nodeCount; ++i)
    {
        knNodeStress* out = &task->out[firstNode + i];
        *out = (knNodeStress){0};
        if (kept.best[i] >= 0.0f)
        {
            for (int c = 0; c < 6; ++c)
            {
                out->tensor[c] = kept.tensor[c][i];
            }
            out->tension = kept.tension[i];
            out->direction =
                knMakeVec3(kept.direction[0][i], kept.direction[1][i], kept.direction[2][i]);
            out->time = (float)task->times[(int)kept.best[i]];
        }
    }
}
