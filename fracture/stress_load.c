// SPDX-License-Identifier: Zlib
#include "fracture/stress_piece_internal.h"

#include <string.h>

// How far a force is spread, in half sides of the piece's box along its shortest axis.
#define SPREAD 0.2

static uint32_t IndexOf(const PolySpace* space, int x, int y, int z)
{
    uint32_t found = 0;
    for (uint32_t m = 0; m < space->count; ++m)
    {
        const uint8_t* e = space->powers[m];
        found = e[0] == x && e[1] == y && e[2] == z ? m : found;
    }
    return found;
}

// A point force is more than polynomials can show: it would ripple through the whole piece. It is
// spread by w - spread^2 laplace w = point, which keeps its sum; what it does around the point is
// the contact's own field. `values` are the monomials at the point, and then their means under w.
static void Spread(const Ritz* ritz, double* values)
{
    uint32_t count = ritz->space.count;
    double density = ritz->task->def->set->density;
    knStress_Backsolve(ritz->factor, count, values);
    double sums[MAX_MONOMIALS] = {0};
    for (uint32_t m = 0; m < count; ++m)
    {
        for (uint32_t n = 0; n < count; ++n)
        {
            sums[n] += ritz->mass[(size_t)m * count + n] / density * values[m];
        }
    }
    memcpy(values, sums, count * sizeof *values);
}

static void FactorSpread(Ritz* ritz)
{
    uint32_t count = ritz->space.count;
    double density = ritz->task->def->set->density;
    double reach = SPREAD * ritz->frame.scale[2];
    for (size_t i = 0; i < (size_t)count * count; ++i)
    {
        ritz->factor[i] = ritz->mass[i] / density + reach * reach * ritz->slopes[i];
    }
    knStress_Factor(ritz->factor, count);
    ritz->task->result.workUnits += (uint64_t)count * count * count / 6;
}

// What the spread force lacks of the torque about the centre is given back as a turning of the
// whole. All in the piece's frame, where inertia has no mixed terms.
static void GiveTorque(const Ritz* ritz, const double lost[3], double* load)
{
    const PolySpace* space = &ritz->space;
    const double* s = ritz->frame.scale;
    uint32_t count = space->count;
    const uint32_t axis[3] = {IndexOf(space, 1, 0, 0), IndexOf(space, 0, 1, 0),
                              IndexOf(space, 0, 0, 1)};
    double spread[3];
    for (int a = 0; a < 3; ++a)
    {
        spread[a] = s[a] * s[a] * ritz->mass[(size_t)axis[a] * count + axis[a]];
    }
    for (uint32_t a = 0; a < 3; ++a)
    {
        uint32_t b = (a + 1) % 3;
        uint32_t c = (a + 2) % 3;
        double turn = lost[a] / (spread[b] + spread[c]);
        // turning about a moves b by -c and c by b
        for (uint32_t m = 0; m < count; ++m)
        {
            load[3 * m + b] -= turn * s[c] * ritz->mass[(size_t)m * count + axis[c]];
            load[3 * m + c] += turn * s[b] * ritz->mass[(size_t)m * count + axis[b]];
        }
    }
}

static void GatherLoad(const Ritz* ritz, const knImpact* impact, double* load)
{
    const PieceFrame* frame = &ritz->frame;
    const PolySpace* space = &ritz->space;
    double values[MAX_MONOMIALS];
    double along[3];
    double lost[3];
    knDVec3 at = knStress_ToFrame(frame, knToDouble(impact->point));
    knStress_Monomials(space, at, values);
    Spread(ritz, values);
    for (uint32_t i = 0; i < 3; ++i)
    {
        along[i] = knDDot(frame->axes[i], knToDouble(impact->impulse));
    }
    for (uint32_t m = 0; m < space->count; ++m)
    {
        for (uint32_t i = 0; i < 3; ++i)
        {
            load[3 * m + i] = values[m] * along[i];
        }
    }
    const double gap[3] = {frame->scale[0] * (at.x - values[IndexOf(space, 1, 0, 0)]),
                           frame->scale[1] * (at.y - values[IndexOf(space, 0, 1, 0)]),
                           frame->scale[2] * (at.z - values[IndexOf(space, 0, 0, 1)])};
    for (int a = 0; a < 3; ++a)
    {
        lost[a] = gap[(a + 1) % 3] * along[(a + 2) % 3] - gap[(a + 2) % 3] * along[(a + 1) % 3];
    }
    GiveTorque(ritz, lost, load);
}

void knStress_GatherLoads(Ritz* ritz)
{
    const knStressDef* def = ritz->task->def;
    FactorSpread(ritz);
    for (uint32_t k = 0; k < def->impactCount; ++k)
    {
        GatherLoad(ritz, &def->impacts[k], ritz->loads + (size_t)k * ritz->n);
        ritz->task->result.workUnits += 3 * (uint64_t)ritz->space.count * ritz->space.count;
    }
}
