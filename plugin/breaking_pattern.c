// SPDX-License-Identifier: Zlib
#include "breaking_internal.h"

#include "knap/random.h"

// The furthest node from the first hit, across its direction.
static float Reach(const knBreaker* b)
{
    const knFragmentSet* set = &b->family->fragments;
    const uint32_t* nodes = knFragmentSet_Nodes(set, b->def.fragment);
    float most = 0.0f;
    for (uint32_t i = 0; i < b->nodeCount; ++i)
    {
        knVec3 r = knSub(set->cutMesh->mesh->nodes[nodes[i]], b->hits[0].point);
        r = knAddScaled(r, -knDot(r, b->hits[0].direction), b->hits[0].direction);
        most = fmaxf(most, knLengthSquared(r));
    }
    return sqrtf(most);
}

// Nodes drawn without replacement: the closer to the hit the likelier, as pieces are to be as large
// as they are far away.
static knResult ChooseSites(knBreaker* b, knSplitDef* def)
{
    const knFragmentSet* set = &b->family->fragments;
    const uint32_t* nodes = knFragmentSet_Nodes(set, b->def.fragment);
    uint32_t count = b->def.pieceCount < b->nodeCount ? b->def.pieceCount : b->nodeCount;
    count = count < KN_MAX_SPLIT_GROUPS ? count : KN_MAX_SPLIT_GROUPS;
    double* keys = knArena_Allocate(&b->arena, b->nodeCount, sizeof(double));
    knVec3* sites = knArena_Allocate(&b->arena, count, sizeof(knVec3));
    if (!keys || !sites)
    {
        return kn_errorMemory;
    }
    double near = 0.15 * (double)Reach(b);
    knRandom random = knMakeRandom(b->def.seed);
    for (uint32_t i = 0; i < b->nodeCount; ++i)
    {
        knVec3 p = set->cutMesh->mesh->nodes[nodes[i]];
        double d = (double)knDistance(p, b->hits[0].point) + near;
        // a chain of uniform draws is at the first success after about 1 / share of them
        keys[i] = d * d * d * -log(1.0 - knRandom_Double(&random));
    }
    for (uint32_t k = 0; k < count; ++k)
    {
        uint32_t best = 0;
        for (uint32_t i = 1; i < b->nodeCount; ++i)
        {
            best = keys[i] < keys[best] ? i : best;
        }
        keys[best] = HUGE_VAL;
        sites[k] = set->cutMesh->mesh->nodes[nodes[best]];
    }
    def->kind = kn_splitSites;
    def->sites = sites;
    def->siteCount = count;
    return kn_success;
}

// Rings at distances that double, as many sectors as make up the number asked for.
static knResult ChooseSectors(knBreaker* b, knSplitDef* def)
{
    uint32_t rings = b->def.pieceCount >= 24 ? 3 : b->def.pieceCount >= 10 ? 2 : 1;
    uint32_t sectors = b->def.pieceCount / (rings + 1);
    float* radii = knArena_Allocate(&b->arena, rings, sizeof(float));
    if (!radii)
    {
        return kn_errorMemory;
    }
    float radius = Reach(b);
    for (uint32_t i = rings; i > 0; --i)
    {
        radius *= 0.5f;
        radii[i - 1] = radius;
    }
    def->kind = kn_splitRadial;
    def->center = b->hits[0].point;
    def->axis = b->hits[0].direction;
    def->sectorCount = sectors > 3 ? sectors : 3;
    def->radii = radii;
    def->ringCount = rings;
    def->jitter = 0.35f;
    return kn_success;
}

static void ChoosePlane(const knBreaker* b, knSplitDef* def)
{
    knRandom random = knMakeRandom(b->def.seed);
    knVec3 normal = {0.0f, 0.0f, 0.0f};
    while (!(knLength(normal) > 0.1f))
    {
        normal = knCross(b->hits[0].direction, knRandom_UnitVec3(&random));
    }
    def->kind = kn_splitPlane;
    def->normal = knNormalize(normal);
    def->offset = knDot(def->normal, b->hits[0].point);
}

size_t knBreaker_PatternBytes(const knBreaker* b)
{
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitLabels;
    // sectors and rings round up
    def.groupCount = 2 * b->def.pieceCount + b->def.labelCount + 16;
    size_t own = b->nodeCount * sizeof(double) + b->def.pieceCount * sizeof(knVec3);
    return knFragmentSet_SplitBytes(&b->family->fragments, b->def.fragment, &def) + own +
           8 * KN_CACHE_LINE;
}

knResult knBreaker_MakePattern(knBreaker* b, knSplitDef* def)
{
    *def = knDefaultSplitDef();
    double volume = b->family->fragments.fragments[0].mass.volume;
    float size = (float)cbrt(volume);
    def->seed = b->def.seed;
    def->small = b->def.tuning.small;
    def->minVolume = b->def.tuning.minVolumeShare * volume;
    def->roughness = 0.2f * b->def.tuning.waviness * size;
    def->roughnessSize = 0.25f * size;
    switch (b->def.pattern)
    {
    case kn_patternSites:
        return ChooseSites(b, def);
    case kn_patternRadial:
        return ChooseSectors(b, def);
    case kn_patternPlane:
        ChoosePlane(b, def);
        return kn_success;
    default:
        def->kind = kn_splitLabels;
        def->labels = b->def.labels;
        def->groupCount = b->def.labelCount;
        return kn_success;
    }
}
