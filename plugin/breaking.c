// SPDX-License-Identifier: Zlib
#include "breaking_internal.h"

#include <string.h>

knBreakDef knDefaultBreakDef(void)
{
    return (knBreakDef){.size = sizeof(knBreakDef),
                        .seed = 1,
                        .maxPieces = 200,
                        .pieceCount = 24,
                        .tuning = knDefaultCrackDef()};
}

knResult knCreateBreaker(knBreaker** out, const knAllocator* allocator)
{
    knResult result = out ? knCheckAllocator(allocator)
                          : knFail(kn_errorArgument, "knCreateBreaker: breaker is null");
    if (result != kn_success)
    {
        return result;
    }
    knAllocator a = allocator ? *allocator : knDefaultAllocator();
    knBreaker* b = knAllocate(&a, 1, sizeof(knBreaker));
    if (!b)
    {
        return kn_errorMemory;
    }
    *b = (knBreaker){.allocator = a};
    result = knCreateArena(&b->arena, 0, &a);
    if (result != kn_success)
    {
        knRelease(&a, b, 1, sizeof(knBreaker));
        return result;
    }
    *out = b;
    return kn_success;
}

static void ReleaseLists(knBreaker* b)
{
    knDestroyCracks(b->cracks);
    knRelease(&b->allocator, b->pieces, b->nodeCapacity, sizeof(uint32_t));
    knRelease(&b->allocator, b->isHeld, b->nodeCapacity, sizeof(uint8_t));
    b->cracks = NULL;
    b->pieces = NULL;
    b->isHeld = NULL;
    b->nodeCapacity = 0;
}

void knDestroyBreaker(knBreaker* b)
{
    if (b)
    {
        ReleaseLists(b);
        knDestroyArena(&b->arena);
        knAllocator a = b->allocator;
        knRelease(&a, b, 1, sizeof(knBreaker));
    }
}

static knResult ReserveLists(knBreaker* b, uint32_t nodeCount)
{
    if (nodeCount <= b->nodeCapacity)
    {
        return kn_success;
    }
    ReleaseLists(b);
    b->nodeCapacity = nodeCount;
    b->pieces = knAllocate(&b->allocator, nodeCount, sizeof(uint32_t));
    b->isHeld = knAllocate(&b->allocator, nodeCount, sizeof(uint8_t));
    knResult result = b->pieces && b->isHeld ? kn_success : kn_errorMemory;
    result = result == kn_success ? knCreateCracks(&b->cracks, nodeCount, &b->allocator) : result;
    if (result != kn_success)
    {
        ReleaseLists(b);
    }
    return result;
}

knResult knBreaker_ReserveArena(knBreaker* b, size_t bytes)
{
    knArena_Reset(&b->arena);
    return bytes > b->arena.capacity ? knArena_Reserve(&b->arena, bytes) : kn_success;
}

knResult knBreaker_Reserve(knBreaker* b, const knFamily* family)
{
    if (!b || !family)
    {
        return knFail(kn_errorArgument, "knBreaker_Reserve: an argument is null");
    }
    const knFragmentSet* set = &family->fragments;
    knResult result = ReserveLists(b, set->nodeCount);
    size_t most = 0;
    for (uint32_t i = 0; i < set->fragmentCount; ++i)
    {
        if (set->fragments[i].state != kn_fragmentEnded)
        {
            knSplitDef split = knDefaultSplitDef();
            size_t bytes = knFragmentSet_SplitBytes(set, i, &split);
            most = bytes > most ? bytes : most;
        }
    }
    return result == kn_success ? knBreaker_ReserveArena(b, most) : result;
}

static knResult CheckImpacts(const knBreakDef* def, double* total)
{
    if (!def->impacts || def->impactCount < 1 || def->impactCount > KN_MAX_CRACK_HITS)
    {
        return knFail(kn_errorArgument, "knBreakDef: impactCount %u not in [1, %d], or no impacts",
                      def->impactCount, KN_MAX_CRACK_HITS);
    }
    *total = 0.0;
    for (uint32_t i = 0; i < def->impactCount; ++i)
    {
        const knImpact* hit = &def->impacts[i];
        double size = (double)knLength(hit->impulse);
        if (!knIsFinite(hit->point) || !(size > 0.0 && size < HUGE_VAL))
        {
            return knFail(kn_errorArgument,
                          "knBreakDef: impacts[%u] has no finite point, or no finite impulse", i);
        }
        *total += size;
    }
    return kn_success;
}

static knResult CheckBegin(const knBreaker* b, const knFamily* f, const knBreakDef* def)
{
    if (!b || !f || !def || def->size != sizeof(knBreakDef) || f->isBehind)
    {
        return knFail(kn_errorArgument, "knBreaker_Begin: begin with knDefaultBreakDef and a "
                                        "family whose cuts have been followed");
    }
    if (b->isKeptBack || f->isKeptBack)
    {
        return knFail(kn_errorArgument, "knBreaker_Begin: commit or cancel what is kept back");
    }
    if (def->fragment >= f->fragments.fragmentCount ||
        f->fragments.fragments[def->fragment].state == kn_fragmentEnded)
    {
        return knFail(kn_errorHandle, "knBreaker_Begin: fragment %u has ended or never was",
                      def->fragment);
    }
    if ((unsigned)def->pattern >= kn_patternCount || def->maxPieces < 1)
    {
        return knFail(kn_errorArgument, "knBreakDef: pattern %d is unknown, or maxPieces 0",
                      (int)def->pattern);
    }
    return kn_success;
}

double knBreaker_Now(const knBreakBudget* budget)
{
    return budget && budget->clock ? budget->clock(budget->user) : 0.0;
}

// The same hits with sizes that sum to one: the list of cracks cannot depend on their size.
static void NormalizeHits(knBreaker* b, const knBreakDef* def, double total)
{
    for (uint32_t i = 0; i < def->impactCount; ++i)
    {
        b->impacts[i] = def->impacts[i];
        b->impacts[i].impulse = knScale((float)(1.0 / total), def->impacts[i].impulse);
        b->hits[i] = (knCrackHit){def->impacts[i].point, knNormalize(def->impacts[i].impulse)};
    }
}

static knResult SolveStress(knBreaker* b, knStressResult* stress)
{
    const knAsset* asset = b->family->model->asset;
    knModeSet modes;
    knAnchors anchors;
    knResult result = knOpenAnchors(&anchors, asset);
    result = result == kn_success ? knOpenModes(&modes, asset, anchors.count > 0) : result;
    if (result != kn_success)
    {
        return result;
    }
    knStressDef def = knDefaultStressDef();
    def.set = &b->family->fragments;
    def.fragment = b->def.fragment;
    def.modes = &modes;
    def.anchors = anchors.nodes;
    def.anchorCount = anchors.count;
    def.material = &b->material;
    def.impacts = b->impacts;
    def.impactCount = b->def.impactCount;
    result = knBreaker_ReserveArena(b, knStressBytes(&def));
    return result == kn_success ? knSolveStress(&def, &b->arena, stress) : result;
}

// A body that yields is hit more softly than the contact time says: it cannot hold more strain
// energy than the contacts lost. Both grow with the square of the blow, so the factor does not.
static double SoftenedImpulse(double total, double energyOfOne, double lostEnergy)
{
    double strain = energyOfOne * total * total;
    bool isSoft = lostEnergy > 0.0 && strain > lostEnergy;
    return isSoft ? total * sqrt(lostEnergy / strain) : total;
}

static knResult BeginCracks(knBreaker* b, double total)
{
    knStressResult stress;
    knResult result = SolveStress(b, &stress);
    if (result != kn_success)
    {
        return result;
    }
    b->work += stress.workUnits / KN_STRESS_UNITS;
    const knMaterial* m = &b->material;
    knCrackDef def = b->def.tuning;
    def.size = sizeof(knCrackDef);
    def.fragment = b->def.fragment;
    def.stress = stress.nodes;
    def.impulse = SoftenedImpulse(total, stress.strainEnergy, b->def.lostEnergy);
    def.strainEnergy = stress.strainEnergy;
    def.maxEnergy = b->def.lostEnergy;
    def.hits = b->hits;
    def.hitCount = b->def.impactCount;
    def.strength = m->tensileStrength;
    def.fractureEnergy = m->fractureEnergy;
    def.length = m->youngsModulus * m->fractureEnergy / (m->tensileStrength * m->tensileStrength);
    def.strengthFactor = b->def.strengthFactor;
    def.damage = b->family->damage;
    def.seed = b->def.seed;
    def.maxPieces = b->def.maxPieces;
    return knCracks_Begin(b->cracks, &b->family->fragments, &def);
}

static knResult ChooseMaterial(knBreaker* b)
{
    const knAssetInfo* info = knAsset_Info(b->family->model->asset);
    const knMaterial* material =
        b->def.material ? b->def.material : knFindMaterialPreset(info->material);
    if (!material)
    {
        return knFail(kn_errorArgument,
                      "knBreakDef: no material, and the asset's '%s' is no preset", info->material);
    }
    b->material = *material;
    return knValidateMaterial(material);
}

knResult knBreaker_Begin(knBreaker* b, knFamily* family, const knBreakDef* def,
                         const knBreakBudget* budget)
{
    double total = 0.0;
    knResult result = CheckBegin(b, family, def);
    result = result == kn_success ? CheckImpacts(def, &total) : result;
    result = result == kn_success ? knBreaker_Reserve(b, family) : result;
    if (result != kn_success)
    {
        return result;
    }
    b->family = family;
    b->def = *def;
    b->work = 0;
    b->isActive = false;
    b->hasCuts = false;
    b->hasPlan = false;
    b->root = KN_NONE;
    b->firstNode = family->fragments.fragments[def->fragment].firstNode;
    b->nodeCount = family->fragments.fragments[def->fragment].nodeCount;
    b->times = (knBreakTimes){0};
    NormalizeHits(b, def, total);
    double start = knBreaker_Now(budget);
    bool needsStress = def->pattern == kn_patternStress || !def->always;
    result = ChooseMaterial(b);
    result = result == kn_success && needsStress ? BeginCracks(b, total) : result;
    b->times.stress = knBreaker_Now(budget) - start;
    if (result != kn_success)
    {
        return result;
    }
    b->report = needsStress ? *knCracks_Report(b->cracks)
                            : (knCrackReport){.breaks = true, .pieceCount = 1};
    b->isActive = b->report.breaks;
    b->isFresh = true;
    b->work += b->report.work;
    b->seconds = b->times.stress;
    b->allWork = b->work;
    b->secondsPerUnit = b->work > 0 ? b->seconds / (double)b->work : 0.0;
    return kn_success;
}
