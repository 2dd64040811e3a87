// SPDX-License-Identifier: Zlib
#pragma once

// Eight floats at a time, in the instructions that the including file names by KN_USE_AVX2 or
// KN_USE_SSE; without either, plain loops. Every operation gives the same bits in all three.

#include <math.h>
#include <stdint.h>

#if defined(KN_USE_AVX2)

#include <immintrin.h>

typedef __m256 Lanes;
typedef __m256 LaneMask;

static inline Lanes Load8(const float* p)
{
    return _mm256_loadu_ps(p);
}

static inline void Store8(float* p, Lanes a)
{
    _mm256_storeu_ps(p, a);
}

static inline Lanes Set8(float x)
{
    return _mm256_set1_ps(x);
}

// The one in four lanes, the other in four.
static inline Lanes Halves8(float low, float high)
{
    return _mm256_set_m128(_mm_set1_ps(high), _mm_set1_ps(low));
}

// Of each four lanes the second, the third, the first, and the second again.
static inline Lanes Turn8(Lanes a)
{
    return _mm256_shuffle_ps(a, a, _MM_SHUFFLE(1, 0, 2, 1));
}

static inline Lanes Add8(Lanes a, Lanes b)
{
    return _mm256_add_ps(a, b);
}

static inline Lanes Sub8(Lanes a, Lanes b)
{
    return _mm256_sub_ps(a, b);
}

static inline Lanes Mul8(Lanes a, Lanes b)
{
    return _mm256_mul_ps(a, b);
}

static inline Lanes Div8(Lanes a, Lanes b)
{
    return _mm256_div_ps(a, b);
}

// a < b ? a : b
static inline Lanes Min8(Lanes a, Lanes b)
{
    return _mm256_min_ps(a, b);
}

static inline Lanes Max8(Lanes a, Lanes b)
{
    return _mm256_max_ps(a, b);
}

static inline Lanes Abs8(Lanes a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

static inline LaneMask Less8(Lanes a, Lanes b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

static inline LaneMask LessEqual8(Lanes a, Lanes b)
{
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}

static inline LaneMask SameVertex8(const uint32_t* p, uint32_t vertex)
{
    __m256i a = _mm256_loadu_si256((const __m256i*)p);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, _mm256_set1_epi32((int)vertex)));
}

static inline LaneMask SameVertices8(const uint32_t* p, const uint32_t* q)
{
    __m256i a = _mm256_loadu_si256((const __m256i*)p), b = _mm256_loadu_si256((const __m256i*)q);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}

static inline LaneMask And8(LaneMask a, LaneMask b)
{
    return _mm256_and_ps(a, b);
}

static inline LaneMask Or8(LaneMask a, LaneMask b)
{
    return _mm256_or_ps(a, b);
}

// mask ? a : b
static inline Lanes Select8(LaneMask mask, Lanes a, Lanes b)
{
    return _mm256_blendv_ps(b, a, mask);
}

static inline uint32_t Bits8(LaneMask mask)
{
    return (uint32_t)_mm256_movemask_ps(mask);
}

#elif defined(KN_USE_SSE)

#include <emmintrin.h>

typedef struct Lanes
{
    __m128 low, high;
} Lanes;

typedef Lanes LaneMask;

static inline Lanes Load8(const float* p)
{
    return (Lanes){_mm_loadu_ps(p), _mm_loadu_ps(p + 4)};
}

static inline void Store8(float* p, Lanes a)
{
    _mm_storeu_ps(p, a.low);
    _mm_storeu_ps(p + 4, a.high);
}

static inline Lanes Set8(float x)
{
    return (Lanes){_mm_set1_ps(x), _mm_set1_ps(x)};
}

static inline Lanes Halves8(float low, float high)
{
    return (Lanes){_mm_set1_ps(low), _mm_set1_ps(high)};
}

static inline Lanes Turn8(Lanes a)
{
    return (Lanes){_mm_shuffle_ps(a.low, a.low, _MM_SHUFFLE(1, 0, 2, 1)),
                   _mm_shuffle_ps(a.high, a.high, _MM_SHUFFLE(1, 0, 2, 1))};
}

static inline Lanes Add8(Lanes a, Lanes b)
{
    return (Lanes){_mm_add_ps(a.low, b.low), _mm_add_ps(a.high, b.high)};
}

static inline Lanes Sub8(Lanes a, Lanes b)
{
    return (Lanes){_mm_sub_ps(a.low, b.low), _mm_sub_ps(a.high, b.high)};
}

static inline Lanes Mul8(Lanes a, Lanes b)
{
    return (Lanes){_mm_mul_ps(a.low, b.low), _mm_mul_ps(a.high, b.high)};
}

static inline Lanes Div8(Lanes a, Lanes b)
{
    return (Lanes){_mm_div_ps(a.low, b.low), _mm_div_ps(a.high, b.high)};
}

static inline Lanes Min8(Lanes a, Lanes b)
{
    return (Lanes){_mm_min_ps(a.low, b.low), _mm_min_ps(a.high, b.high)};
}

static inline Lanes Max8(Lanes a, Lanes b)
{
    return (Lanes){_mm_max_ps(a.low, b.low), _mm_max_ps(a.high, b.high)};
}

static inline Lanes Abs8(Lanes a)
{
    __m128 sign = _mm_set1_ps(-0.0f);
    return (Lanes){_mm_andnot_ps(sign, a.low), _mm_andnot_ps(sign, a.high)};
}

static inline LaneMask Less8(Lanes a, Lanes b)
{
    return (Lanes){_mm_cmplt_ps(a.low, b.low), _mm_cmplt_ps(a.high, b.high)};
}

static inline LaneMask LessEqual8(Lanes a, Lanes b)
{
    return (Lanes){_mm_cmple_ps(a.low, b.low), _mm_cmple_ps(a.high, b.high)};
}

static inline LaneMask SameVertex8(const uint32_t* p, uint32_t vertex)
{
    __m128i v = _mm_set1_epi32((int)vertex);
    __m128i low = _mm_loadu_si128((const __m128i*)p);
    __m128i high = _mm_loadu_si128((const __m128i*)(p + 4));
    return (Lanes){_mm_castsi128_ps(_mm_cmpeq_epi32(low, v)),
                   _mm_castsi128_ps(_mm_cmpeq_epi32(high, v))};
}

static inline LaneMask SameVertices8(const uint32_t* p, const uint32_t* q)
{
    __m128i low =
        _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i*)p), _mm_loadu_si128((const __m128i*)q));
    __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i*)(p + 4)),
                                   _mm_loadu_si128((const __m128i*)(q + 4)));
    return (Lanes){_mm_castsi128_ps(low), _mm_castsi128_ps(high)};
}

static inline LaneMask And8(LaneMask a, LaneMask b)
{
    return (Lanes){_mm_and_ps(a.low, b.low), _mm_and_ps(a.high, b.high)};
}

static inline LaneMask Or8(LaneMask a, LaneMask b)
{
    return (Lanes){_mm_or_ps(a.low, b.low), _mm_or_ps(a.high, b.high)};
}

static inline __m128 Select4(__m128 mask, __m128 a, __m128 b)
{
    return _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b));
}

static inline Lanes Select8(LaneMask mask, Lanes a, Lanes b)
{
    return (Lanes){Select4(mask.low, a.low, b.low), Select4(mask.high, a.high, b.high)};
}

static inline uint32_t Bits8(LaneMask mask)
{
    return (uint32_t)_mm_movemask_ps(mask.low) | (uint32_t)_mm_movemask_ps(mask.high) << 4;
}

#else

typedef struct Lanes
{
    float f[8];
} Lanes;

typedef struct LaneMask
{
    uint32_t bits;
} LaneMask;

#define KN_EACH_LANE(expression)                                                                   \
    Lanes r;                                                                                       \
    for (int i = 0; i < 8; ++i)                                                                    \
    {                                                                                              \
        r.f[i] = (expression);                                                                     \
    }                                                                                              \
    return r

#define KN_EACH_BIT(condition)                                                                     \
    LaneMask r = {0};                                                                              \
    for (int i = 0; i < 8; ++i)                                                                    \
    {                                                                                              \
        r.bits |= (condition) ? 1u << i : 0u;                                                      \
    }                                                                                              \
    return r

static inline Lanes Load8(const float* p)
{
    KN_EACH_LANE(p[i]);
}

static inline void Store8(float* p, Lanes a)
{
    for (int i = 0; i < 8; ++i)
    {
        p[i] = a.f[i];
    }
}

static inline Lanes Set8(float x)
{
    KN_EACH_LANE(x);
}

static inline Lanes Halves8(float low, float high)
{
    KN_EACH_LANE(i < 4 ? low : high);
}

static inline Lanes Turn8(Lanes a)
{
    KN_EACH_LANE(a.f[i / 4 * 4 + (i % 4 + 1) % 3]);
}

static inline Lanes Add8(Lanes a, Lanes b)
{
    KN_EACH_LANE(a.f[i] + b.f[i]);
}

static inline Lanes Sub8(Lanes a, Lanes b)
{
    KN_EACH_LANE(a.f[i] - b.f[i]);
}

static inline Lanes Mul8(Lanes a, Lanes b)
{
    KN_EACH_LANE(a.f[i] * b.f[i]);
}

static inline Lanes Div8(Lanes a, Lanes b)
{
    KN_EACH_LANE(a.f[i] / b.f[i]);
}

static inline Lanes Min8(Lanes a, Lanes b)
{
    KN_EACH_LANE(a.f[i] < b.f[i] ? a.f[i] : b.f[i]);
}

static inline Lanes Max8(Lanes a, Lanes b)
{
    KN_EACH_LANE(a.f[i] > b.f[i] ? a.f[i] : b.f[i]);
}

static inline Lanes Abs8(Lanes a)
{
    KN_EACH_LANE(fabsf(a.f[i]));
}

static inline LaneMask Less8(Lanes a, Lanes b)
{
    KN_EACH_BIT(a.f[i] < b.f[i]);
}

static inline LaneMask LessEqual8(Lanes a, Lanes b)
{
    KN_EACH_BIT(a.f[i] <= b.f[i]);
}

static inline LaneMask SameVertex8(const uint32_t* p, uint32_t vertex)
{
    KN_EACH_BIT(p[i] == vertex);
}

static inline LaneMask SameVertices8(const uint32_t* p, const uint32_t* q)
{
    KN_EACH_BIT(p[i] == q[i]);
}

static inline LaneMask And8(LaneMask a, LaneMask b)
{
    return (LaneMask){a.bits & b.bits};
}

static inline LaneMask Or8(LaneMask a, LaneMask b)
{
    return (LaneMask){a.bits | b.bits};
}

static inline Lanes Select8(LaneMask mask, Lanes a, Lanes b)
{
    KN_EACH_LANE(mask.bits >> i & 1 ? a.f[i] : b.f[i]);
}

static inline uint32_t Bits8(LaneMask mask)
{
    return mask.bits;
}

#endif
