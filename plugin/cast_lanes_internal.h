// SPDX-License-Identifier: Zlib
#pragma once

// Four numbers at a time: what sweeps ask of nodes and triangles. Every lane has the bits of a
// scalar computation in the same order.

#include "knap/vecmath.h"

#include <simde/x86/sse2.h>

#define KN_LANES 4

typedef simde__m128 knLanes;

typedef struct knLanes3
{
    knLanes x, y, z;
} knLanes3;

static inline knLanes knLanes_All(float v)
{
    return simde_mm_set1_ps(v);
}

static inline knLanes knLanes_Add(knLanes a, knLanes b)
{
    return simde_mm_add_ps(a, b);
}

static inline knLanes knLanes_Sub(knLanes a, knLanes b)
{
    return simde_mm_sub_ps(a, b);
}

static inline knLanes knLanes_Mul(knLanes a, knLanes b)
{
    return simde_mm_mul_ps(a, b);
}

static inline knLanes knLanes_Min(knLanes a, knLanes b)
{
    return simde_mm_min_ps(a, b);
}

static inline knLanes knLanes_Max(knLanes a, knLanes b)
{
    return simde_mm_max_ps(a, b);
}

static inline knLanes knLanes_Abs(knLanes a)
{
    return simde_mm_andnot_ps(simde_mm_set1_ps(-0.0f), a);
}

// a where the mask is set, else b.
static inline knLanes knLanes_Select(knLanes mask, knLanes a, knLanes b)
{
    return simde_mm_or_ps(simde_mm_and_ps(mask, a), simde_mm_andnot_ps(mask, b));
}

static inline knLanes3 knLanes3_All(knVec3 v)
{
    return (knLanes3){knLanes_All(v.x), knLanes_All(v.y), knLanes_All(v.z)};
}

static inline knLanes3 knLanes3_Add(knLanes3 a, knLanes3 b)
{
    return (knLanes3){knLanes_Add(a.x, b.x), knLanes_Add(a.y, b.y), knLanes_Add(a.z, b.z)};
}

static inline knLanes3 knLanes3_Sub(knLanes3 a, knLanes3 b)
{
    return (knLanes3){knLanes_Sub(a.x, b.x), knLanes_Sub(a.y, b.y), knLanes_Sub(a.z, b.z)};
}

static inline knLanes3 knLanes3_Scale(knLanes s, knLanes3 v)
{
    return (knLanes3){knLanes_Mul(s, v.x), knLanes_Mul(s, v.y), knLanes_Mul(s, v.z)};
}

static inline knLanes knLanes3_Dot(knLanes3 a, knLanes3 b)
{
    knLanes sum = knLanes_Add(knLanes_Mul(a.x, b.x), knLanes_Mul(a.y, b.y));
    return knLanes_Add(sum, knLanes_Mul(a.z, b.z));
}

static inline knLanes3 knLanes3_Cross(knLanes3 a, knLanes3 b)
{
    return (knLanes3){knLanes_Sub(knLanes_Mul(a.y, b.z), knLanes_Mul(a.z, b.y)),
                      knLanes_Sub(knLanes_Mul(a.z, b.x), knLanes_Mul(a.x, b.z)),
                      knLanes_Sub(knLanes_Mul(a.x, b.y), knLanes_Mul(a.y, b.x))};
}

static inline knLanes3 knLanes3_MulMV(const knMat3* m, knLanes3 v)
{
    knLanes3 sum = knLanes3_Add(knLanes3_Scale(v.x, knLanes3_All(m->cx)),
                                knLanes3_Scale(v.y, knLanes3_All(m->cy)));
    return knLanes3_Add(sum, knLanes3_Scale(v.z, knLanes3_All(m->cz)));
}

static inline knLanes3 knLanes3_MulTransposed(const knMat3* m, knLanes3 v)
{
    return (knLanes3){knLanes3_Dot(knLanes3_All(m->cx), v), knLanes3_Dot(knLanes3_All(m->cy), v),
                      knLanes3_Dot(knLanes3_All(m->cz), v)};
}

#define KN_NEVER 2.0f

// Raises the time to that at which `room` is used up: with no room it stays, and without speed
// that is never.
static inline knLanes knLanes_RaiseTime(knLanes room, knLanes speed, knLanes time)
{
    knLanes zero = simde_mm_setzero_ps(), never = knLanes_All(KN_NEVER);
    knLanes used = knLanes_Min(simde_mm_div_ps(room, speed), never);
    used = knLanes_Select(simde_mm_cmpgt_ps(speed, zero), used, never);
    return knLanes_Max(simde_mm_and_ps(simde_mm_cmpgt_ps(room, zero), used), time);
}
