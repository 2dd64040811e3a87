// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

#include "knap/random.h"

uint32_t knCut_CountGroups(const knSplitDef* def)
{
    switch (def->kind)
    {
    case kn_splitLabels:
        return def->groupCount;
    case kn_splitSites:
        return def->siteCount;
    case kn_splitRadial:
        return def->sectorCount * (def->ringCount + 1);
    default:
        return 2;
    }
}

// Any two directions across the axis that depend on it alone.
static void MakeFrame(Sectors* sectors, knVec3 axis)
{
    knVec3 n = knNormalize(axis);
    knVec3 side = fabsf(n.x) < 0.6f ? knMakeVec3(1.0f, 0.0f, 0.0f) : knMakeVec3(0.0f, 1.0f, 0.0f);
    sectors->e1 = knNormalize(knCross(n, side));
    sectors->e2 = knCross(n, sectors->e1);
}

static knResult PrepareSectors(Plan* plan)
{
    const knSplitDef* def = plan->def;
    Sectors* sectors = &plan->sectors;
    sectors->starts = knArena_Allocate(plan->arena, def->sectorCount, sizeof(double[2]));
    sectors->radii = knArena_Allocate(plan->arena, plan->groupCount, sizeof(float));
    if (!sectors->starts || !sectors->radii)
    {
        return kn_errorMemory;
    }
    MakeFrame(sectors, def->axis);
    knRandom random = knMakeRandom(def->seed);
    for (uint32_t s = 0; s < def->sectorCount; ++s)
    {
        double jitter = (double)def->jitter * (2.0 * knRandom_Double(&random) - 1.0);
        double share = ((double)s + jitter) / (double)def->sectorCount;
        knCut_SineCosine((double)def->angle + 6.283185307179586 * share, &sectors->starts[s][1],
                         &sectors->starts[s][0]);
        for (uint32_t r = 0; r < def->ringCount; ++r)
        {
            float step = def->radii[r] - (r > 0 ? def->radii[r - 1] : 0.0f);
            sectors->radii[s * def->ringCount + r] =
                def->radii[r] + step * def->jitter * knRandom_Range(&random, -1.0f, 1.0f);
        }
    }
    return kn_success;
}

// Sectors leave the whole one by one; in each the rings leave from the outside inwards.
static uint32_t RadialParent(const knSplitDef* def, uint32_t group)
{
    if (group < def->sectorCount)
    {
        return 0;
    }
    uint32_t ring = (group - def->sectorCount) % def->ringCount;
    return ring == 0 ? (group - def->sectorCount) / def->ringCount : group - 1;
}

knResult knCut_PrepareGroups(Plan* plan)
{
    plan->groupCount = knCut_CountGroups(plan->def);
    plan->parents = knArena_Allocate(plan->arena, plan->groupCount, sizeof(uint32_t));
    if (!plan->parents)
    {
        return kn_errorMemory;
    }
    for (uint32_t g = 0; g < plan->groupCount; ++g)
    {
        plan->parents[g] = plan->def->kind == kn_splitRadial ? RadialParent(plan->def, g) : 0;
    }
    return plan->def->kind == kn_splitRadial ? PrepareSectors(plan) : kn_success;
}

uint32_t knCut_PartingGroup(const uint32_t* parents, uint32_t a, uint32_t b)
{
    // a parent has the lower number, so the last one replaced left first
    uint32_t last = 0;
    while (a != b)
    {
        if (a > b)
        {
            last = a;
            a = parents[a];
        }
        else
        {
            last = b;
            b = parents[b];
        }
    }
    return last;
}

static float Noise(const knSplitDef* def, knVec3 p, uint32_t group)
{
    if (!(def->roughness > 0.0f))
    {
        return 0.0f;
    }
    uint64_t seed = def->seed + 0xD1B54A32D192ED03u * group;
    return def->roughness * knCut_ValueNoise(knScale(1.0f / def->roughnessSize, p), seed);
}

// Distance to a site, with the noise that makes its cell rough.
static float SiteDistance(const knSplitDef* def, uint32_t site, knVec3 p)
{
    return knDistance(p, def->sites[site]) + 2.0f * Noise(def, p, site);
}

static uint32_t NearestPlainSite(const knSplitDef* def, uint32_t first, knVec3 p)
{
    uint32_t nearest = 0;
    float best = knLengthSquared(knSub(p, def->sites[0]));
    for (uint32_t i = first; i < def->siteCount; ++i)
    {
        float distance2 = knLengthSquared(knSub(p, def->sites[i]));
        nearest = distance2 < best ? i : nearest;
        best = distance2 < best ? distance2 : best;
    }
    return nearest;
}

// The nearest site among 0 and those from `first` on. Noise is costly: only sites that could still
// win have it evaluated.
static uint32_t NearestSite(const knSplitDef* def, uint32_t first, knVec3 p)
{
    if (!(def->roughness > 0.0f))
    {
        return NearestPlainSite(def, first, p);
    }
    float least = knDistance(p, def->sites[0]);
    for (uint32_t i = first; i < def->siteCount; ++i)
    {
        least = fminf(least, knDistance(p, def->sites[i]));
    }
    uint32_t nearest = 0;
    float best = SiteDistance(def, 0, p);
    for (uint32_t i = first; i < def->siteCount; ++i)
    {
        if (knDistance(p, def->sites[i]) <= least + 4.0f * def->roughness)
        {
            float d = SiteDistance(def, i, p);
            nearest = d < best ? i : nearest;
            best = fminf(d, best);
        }
    }
    return nearest;
}

// Distance to the plane between site `group` and the nearest site that is still in the rest.
static float SiteFunction(const knSplitDef* def, uint32_t group, knVec3 p)
{
    uint32_t nearest = NearestSite(def, group + 1, p);
    float own = SiteDistance(def, group, p);
    float other = SiteDistance(def, nearest, p);
    float apart = knDistance(def->sites[group], def->sites[nearest]);
    return apart > 0.0f ? (own * own - other * other) / (2.0f * apart) : 0.0f;
}

// Negative between the two half-planes; a sector of more than half a turn is the union.
static float SectorFunction(const Plan* plan, uint32_t sector, double x, double y)
{
    const double* a = plan->sectors.starts[sector];
    const double* b = plan->sectors.starts[(sector + 1) % plan->def->sectorCount];
    double fromA = a[1] * x - a[0] * y;
    double fromB = b[0] * y - b[1] * x;
    bool reflex = a[0] * b[1] - a[1] * b[0] < 0.0;
    return (float)(reflex ? fmin(fromA, fromB) : fmax(fromA, fromB));
}

static float RadialFunction(const Plan* plan, uint32_t group, knVec3 p)
{
    const knSplitDef* def = plan->def;
    knVec3 q = knSub(p, def->center);
    double x = (double)knDot(q, plan->sectors.e1);
    double y = (double)knDot(q, plan->sectors.e2);
    if (group < def->sectorCount)
    {
        return SectorFunction(plan, group, x, y);
    }
    uint32_t index = group - def->sectorCount;
    uint32_t sector = index / def->ringCount;
    uint32_t ring = def->ringCount - 1 - index % def->ringCount;
    return (float)sqrt(x * x + y * y) - plan->sectors.radii[sector * def->ringCount + ring];
}

float knCut_EvaluateCut(const Plan* plan, uint32_t group, uint32_t slot)
{
    const knSplitDef* def = plan->def;
    knVec3 p = plan->mesh->nodes[plan->nodes[slot]];
    float noise = def->kind == kn_splitSites ? 0.0f : Noise(def, p, group);
    switch (def->kind)
    {
    case kn_splitPlane:
        return knDot(def->normal, p) - def->offset + noise;
    case kn_splitNodal:
        return def->phi[slot] + noise;
    case kn_splitSites:
        return SiteFunction(def, group, p);
    case kn_splitRadial:
        return RadialFunction(plan, group, p) + noise;
    default:
        // labels have no distance: half way, or anywhere between when rough
        return def->roughness > 0.0f ? 1.0f + 0.9f * noise / def->roughness : 1.0f;
    }
}

static uint32_t GroupOf(const Plan* plan, uint32_t slot)
{
    if (plan->def->kind == kn_splitLabels)
    {
        return plan->def->labels[slot];
    }
    if (plan->def->kind == kn_splitSites)
    {
        // O(sites); a walk down the groups would look at all sites in each
        return NearestSite(plan->def, 1, plan->mesh->nodes[plan->nodes[slot]]);
    }
    uint32_t group = 0;
    for (uint32_t g = 1; g < plan->groupCount; ++g)
    {
        if (plan->parents[g] == group && knCut_EvaluateCut(plan, g, slot) < 0.0f)
        {
            group = g;
        }
    }
    return group;
}

void knCut_AssignGroups(Plan* plan)
{
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        plan->groups[i] = GroupOf(plan, i);
    }
}
