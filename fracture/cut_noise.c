// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include "knap/random.h"

static float Lattice(int64_t x, int64_t y, int64_t z, uint64_t seed)
{
    knRandom r =
        knMakeRandom(seed ^ (uint64_t)x * 0x9E3779B97F4A7C15u ^ (uint64_t)y * 0xC2B2AE3D27D4EB4Fu ^
                     (uint64_t)z * 0x165667B19E3779F9u);
    return knRandom_Range(&r, -1.0f, 1.0f);
}

static float Ease(float t)
{
    return t * t * (3.0f - 2.0f * t);
}

float knCut_ValueNoise(knVec3 p, uint64_t seed)
{
    const float xyz[3] = {p.x, p.y, p.z};
    int64_t cell[3];
    float share[3];
    for (int i = 0; i < 3; ++i)
    {
        float low = floorf(xyz[i]);
        // beyond this a float has no fraction left anyway
        low = fminf(fmaxf(low, -0x1p30f), 0x1p30f);
        cell[i] = (int64_t)low;
        share[i] = Ease(fminf(fmaxf(xyz[i] - low, 0.0f), 1.0f));
    }
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i)
    {
        float weight = 1.0f;
        for (int k = 0; k < 3; ++k)
        {
            weight *= i >> k & 1 ? share[k] : 1.0f - share[k];
        }
        sum +=
            weight * Lattice(cell[0] + (i & 1), cell[1] + (i >> 1 & 1), cell[2] + (i >> 2), seed);
    }
    return sum;
}

// C libraries differ in the last bit; a break must not.
void knCut_SineCosine(double radians, double* sine, double* cosine)
{
    const double turn = 6.283185307179586;
    double x = radians - turn * floor(radians / turn + 0.5);
    double s = 0.0;
    double c = 0.0;
    double term = 1.0;
    // |x| <= pi: the last term is below 1e-20
    for (int i = 0; i < 34; ++i)
    {
        switch (i % 4)
        {
        case 0:
            c += term;
            break;
        case 1:
            s += term;
            break;
        case 2:
            c -= term;
            break;
        default:
            s -= term;
            break;
        }
        term *= x / (i + 1);
    }
    *sine = s;
    *cosine = c;
}
