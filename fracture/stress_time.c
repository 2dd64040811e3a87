// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"

#define PI 3.14159265358979323846

double knStress_Duration(const knStressDef* def, const knImpact* impact)
{
    return impact->duration > 0.0f ? (double)impact->duration : def->material->contactTime;
}

// Answer to a sine that began at 0 and never ends.
static double SineAnswer(double omega, double drive, double t)
{
    double gap = omega * omega - drive * drive;
    return t > 0.0 ? (sin(drive * t) - drive / omega * sin(omega * t)) / gap : 0.0;
}

double knStress_HalfSine(double omega, double duration, double t)
{
    double drive = PI / duration;
    // beside the resonance, where the limit is 0/0: the shift changes the answer by as little
    if (fabs(omega - drive) < 1e-5 * drive)
    {
        omega = drive * (1.0 + 1e-5);
    }
    // a second sine, half a period later, ends the first
    double q = SineAnswer(omega, drive, t) + SineAnswer(omega, drive, t - duration);
    return 0.5 * drive * q;
}

double knStress_LongestHit(const knStressDef* def)
{
    double longest = 0.0;
    for (uint32_t k = 0; k < def->impactCount; ++k)
    {
        bool isHit = def->impacts[k].kind == kn_loadImpact;
        longest = isHit ? fmax(longest, knStress_Duration(def, &def->impacts[k])) : longest;
    }
    return longest;
}

uint32_t knStress_PickTimes(const double* energies, uint32_t count, uint32_t* picks)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < count; ++k)
    {
        best = energies[k] > energies[best] ? k : best;
    }
    uint32_t wanted = count < KN_STRESS_TIMES ? count : KN_STRESS_TIMES;
    uint32_t found = 0;
    for (uint32_t k = 0; k < wanted; ++k)
    {
        uint32_t first = k * count / wanted;
        uint32_t end = (k + 1) * count / wanted;
        uint32_t pick = best >= first && best < end ? best : (first + end) / 2;
        // a seventh of the stress of the best moment is no peak anywhere
        if (energies[pick] >= 0.02 * energies[best])
        {
            picks[found++] = pick;
        }
    }
    return found;
}
