// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// ICCD's volumes, 18-DOPs: beside the boxes the extents along six diagonals, at both ends of the
// step, of nodes and of triangles. Halves of sums, so that nothing overflows.

#define WIDER 0x1p-22f  // of a value: more than the roundings of a sum and of a bound
#define FLOOR 0x1p-147f // what halving takes from denormals

static void AlongDiagonals(knVec3 p, float out[8])
{
    float x = 0.5f * p.x, y = 0.5f * p.y, z = 0.5f * p.z;
    const float values[8] = {x + y, x - y, x + z, x - z, y + z, y - z, 0.0f, 0.0f};
    memcpy(out, values, sizeof values);
}

static void ExtendSide(float lower[8], float upper[8], knVec3 p)
{
    float along[8];
    AlongDiagonals(p, along);
    for (int k = 0; k < 8; ++k)
    {
        lower[k] = along[k] < lower[k] ? along[k] : lower[k];
        upper[k] = along[k] > upper[k] ? along[k] : upper[k];
    }
}

// A vertex that is not finite touches nothing.
static void Extend(knCcdDop* dop, const knCcdStepDef* def, uint32_t v)
{
    if (knIsFinite(def->start[v]) && knIsFinite(def->end[v]))
    {
        ExtendSide(dop->startLower, dop->startUpper, def->start[v]);
        ExtendSide(dop->endLower, dop->endUpper, def->end[v]);
    }
}

static void WidenSide(float lower[8], float upper[8], float margin)
{
    for (int k = 0; k < 6 && lower[k] <= upper[k]; ++k)
    {
        lower[k] = lower[k] - (WIDER * fabsf(lower[k]) + (1.0f + 0x1p-20f) * margin + FLOOR);
        upper[k] = upper[k] + (WIDER * fabsf(upper[k]) + (1.0f + 0x1p-20f) * margin + FLOOR);
    }
}

static void Join(knCcdDop* dop, const knCcdDop* other)
{
    for (int k = 0; k < 8; ++k)
    {
        dop->startLower[k] = fminf(dop->startLower[k], other->startLower[k]);
        dop->startUpper[k] = fmaxf(dop->startUpper[k], other->startUpper[k]);
        dop->endLower[k] = fminf(dop->endLower[k], other->endLower[k]);
        dop->endUpper[k] = fmaxf(dop->endUpper[k], other->endUpper[k]);
    }
}

// The last two lanes never part anything.
static knCcdDop EmptyDop(void)
{
    knCcdDop dop;
    for (int k = 0; k < 8; ++k)
    {
        dop.startLower[k] = dop.endLower[k] = k < 6 ? INFINITY : 0.0f;
        dop.startUpper[k] = dop.endUpper[k] = k < 6 ? -INFINITY : 0.0f;
    }
    return dop;
}

static void FitLeaf(knCcdStep* s, uint32_t index)
{
    const knCcdLeaf* leaf = &s->leaves[index];
    knCcdDop all = EmptyDop();
    for (uint32_t i = leaf->item; i < leaf->item + leaf->itemCount; ++i)
    {
        uint32_t t = s->items[i].triangle;
        bool isVertex = t >= s->triangleCount;
        knCcdDop dop = EmptyDop();
        for (int k = 0; k < (isVertex ? 1 : 3); ++k)
        {
            Extend(&dop, &s->def, isVertex ? t - s->triangleCount : s->triangles[t].v[k]);
        }
        WidenSide(dop.startLower, dop.startUpper, s->margin);
        WidenSide(dop.endLower, dop.endUpper, s->margin);
        Join(&all, &dop);
        if (!isVertex)
        {
            s->triangleDops[t] = dop;
        }
    }
    s->dops[s->leafNodes[index]] = all;
}

static void FitLeaves(int begin, int end, int worker, void* context)
{
    (void)worker;
    uint32_t mode = knBeginExact();
    for (int i = begin; i < end; ++i)
    {
        FitLeaf(context, (uint32_t)i);
    }
    knEndExact(mode);
}

knResult knReserveCcdDops(knCcdStep* s)
{
    knResult result =
        knGrow(&s->allocator, (void**)&s->dops, &s->dopCapacity, s->nodeCount, sizeof *s->dops);
    return result == kn_success
               ? knGrow(&s->allocator, (void**)&s->triangleDops, &s->triangleDopCapacity,
                        s->triangleCount + (size_t)1, sizeof *s->triangleDops)
               : result;
}

void knRefitCcdDops(knCcdStep* s)
{
    knParallelFor(s->def.tasks, (int)s->leafCount, 64, FitLeaves, s);
    for (uint32_t i = s->nodeCount; i-- > 0;)
    {
        if (s->links[i].count == 0 && i != 1 && s->leafCount > 0)
        {
            s->dops[i] = s->dops[s->links[i].child];
            Join(&s->dops[i], &s->dops[s->links[i].child + 1]);
        }
    }
}
