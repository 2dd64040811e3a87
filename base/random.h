// SPDX-License-Identifier: Zlib
#pragma once

// A seeded generator: the same seed gives the same numbers on every machine.

#include "knap/vecmath.h"

#include <stdint.h>

typedef struct knRandom
{
    uint64_t state;
} knRandom;

static inline knRandom knMakeRandom(uint64_t seed)
{
    knRandom r = {seed};
    return r;
}

// SplitMix64: one add and a mix; passes BigCrush, and any seed is good.
static inline uint64_t knRandom_U64(knRandom* r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint32_t knRandom_U32(knRandom* r)
{
    return (uint32_t)(knRandom_U64(r) >> 32);
}

// In [0, bound), without bias that a 32-bit bound could show; 0 for a bound of 0.
static inline uint32_t knRandom_Below(knRandom* r, uint32_t bound)
{
    return (uint32_t)(((knRandom_U64(r) >> 32) * bound) >> 32);
}

// In [0, 1).
static inline float knRandom_Float(knRandom* r)
{
    return (float)(knRandom_U64(r) >> 40) * 0x1p-24f;
}

// In [0, 1).
static inline double knRandom_Double(knRandom* r)
{
    return (double)(knRandom_U64(r) >> 11) * 0x1p-53;
}

static inline float knRandom_Range(knRandom* r, float low, float high)
{
    return low + (high - low) * knRandom_Float(r);
}

// Uniform on the sphere, by rejection: no trigonometry that differs between C libraries.
static inline knVec3 knRandom_UnitVec3(knRandom* r)
{
    for (;;)
    {
        float x = knRandom_Range(r, -1.0f, 1.0f);
        float y = knRandom_Range(r, -1.0f, 1.0f);
        float z = knRandom_Range(r, -1.0f, 1.0f);
        knVec3 v = {x, y, z};
        float s = knLengthSquared(v);
        if (s > 1e-4f && s <= 1.0f)
        {
            return knNormalize(v);
        }
    }
}

static inline knVec3 knRandom_InBox(knRandom* r, knBox box)
{
    float x = knRandom_Range(r, box.lower.x, box.upper.x);
    float y = knRandom_Range(r, box.lower.y, box.upper.y);
    float z = knRandom_Range(r, box.lower.z, box.upper.z);
    return knMakeVec3(x, y, z);
}
