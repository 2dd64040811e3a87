// SPDX-License-Identifier: Zlib
// The story of an object: every break, split and removal, in order. Going through it again on a
// fresh family gives the same cuts, fields and trees to the bit.
#include "bullet_internal.h"

#include <string.h>

typedef enum Chapter
{
    chapterBreak = 1,
    chapterSlice,
    chapterSplit,
    chapterRemove
} Chapter;

#define MAX_SPLIT_ITEMS (1u << 24)

static knResult Kept(knWorldFamily* family)
{
    knResult result = family->story.result;
    // without its story the object goes on, but cannot be saved
    family->isForgetful = family->isForgetful || result != kn_success;
    family->story.result = kn_success;
    return result;
}

// ---- breaks

static void WriteMaterial(knStream* s, const knMaterial* material)
{
    knStream_Write(s, material->name, sizeof material->name);
    knStream_WriteSettings(s, knMaterialSettings(), material);
}

static void ReadMaterial(knStream* s, knMaterial* material)
{
    memset(material, 0, sizeof *material);
    knStream_Read(s, material->name, sizeof material->name);
    material->name[sizeof material->name - 1] = '\0';
    knStream_ReadSettings(s, knMaterialSettings(), material);
    if (s->result == kn_success && knValidateMaterial(material) != kn_success)
    {
        knStream_Fail(s, "a material makes no sense");
    }
}

void knStream_WriteMaterial(knStream* s, const knMaterial* material)
{
    WriteMaterial(s, material);
}

void knStream_ReadMaterial(knStream* s, knMaterial* material)
{
    ReadMaterial(s, material);
}

void knStream_WriteImpacts(knStream* s, const knImpact* impacts, uint32_t count)
{
    knStream_WriteU32(s, count);
    for (uint32_t i = 0; i < count; ++i)
    {
        knStream_WriteU32(s, (uint32_t)impacts[i].kind);
        knStream_WriteVec3(s, impacts[i].point);
        knStream_WriteVec3(s, impacts[i].impulse);
        knStream_WriteF32(s, impacts[i].duration);
    }
}

uint32_t knStream_ReadImpacts(knStream* s, knImpact impacts[KN_MAX_CRACK_HITS])
{
    uint32_t count = knStream_ReadU32(s);
    if (count > KN_MAX_CRACK_HITS)
    {
        knStream_Fail(s, "too many hits at once");
        return 0;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t kind = knStream_ReadU32(s);
        impacts[i].kind = kind == (uint32_t)kn_loadSteady ? kn_loadSteady : kn_loadImpact;
        impacts[i].point = knStream_ReadVec3(s);
        impacts[i].impulse = knStream_ReadVec3(s);
        impacts[i].duration = knStream_ReadF32(s);
        if (!knIsFinite(impacts[i].point) || !knIsFinite(impacts[i].impulse) ||
            !(impacts[i].duration >= 0.0f && impacts[i].duration <= 1.0f))
        {
            knStream_Fail(s, "a hit is not finite");
        }
    }
    return count;
}

knResult knWorldFamily_TellBreak(knWorldFamily* family, const knBreakDef* def)
{
    knStream* s = &family->story;
    knStream_WriteU32(s, chapterBreak);
    knStream_WriteU32(s, def->fragment);
    knStream_WriteU32(s, def->maxPieces);
    KN_WRITE(s, def->seed);
    KN_WRITE(s, def->lostEnergy);
    KN_WRITE(s, def->tuning.minVolumeShare);
    WriteMaterial(s, def->material);
    knStream_WriteImpacts(s, def->impacts, def->impactCount);
    return Kept(family);
}

void knWorldFamily_TellSlice(knWorldFamily* family, uint64_t slice)
{
    knStream_WriteU32(&family->story, chapterSlice);
    KN_WRITE(&family->story, slice);
    (void)Kept(family);
}

void knWorldFamily_TellRemoval(knWorldFamily* family, uint32_t fragment)
{
    knStream_WriteU32(&family->story, chapterRemove);
    knStream_WriteU32(&family->story, fragment);
    (void)Kept(family);
}

static void RepeatBreak(knWorld* w, knWorldFamily* family, knStream* s)
{
    knImpact impacts[KN_MAX_CRACK_HITS];
    knMaterial material;
    knBreakDef def = knDefaultBreakDef();
    def.tuning.small = kn_smallDebris;
    def.fragment = knStream_ReadU32(s);
    def.maxPieces = knStream_ReadU32(s);
    KN_READ(s, def.seed);
    KN_READ(s, def.lostEnergy);
    KN_READ(s, def.tuning.minVolumeShare);
    ReadMaterial(s, &material);
    def.impactCount = knStream_ReadImpacts(s, impacts);
    def.impacts = impacts;
    def.material = &material;
    if (!(def.lostEnergy >= 0.0 && def.lostEnergy < 1e30) || def.maxPieces > 1024 ||
        !(def.tuning.minVolumeShare >= 0.0 && def.tuning.minVolumeShare <= 0.5))
    {
        knStream_Fail(s, "a break makes no sense");
    }
    if (s->result == kn_success)
    {
        knWorldBreaks* b = &w->breaks;
        s->result = b->breaker ? kn_success : knCreateBreaker(&b->breaker, &w->allocator);
        s->result = s->result == kn_success
                        ? knBreaker_Begin(b->breaker, family->family, &def, NULL)
                        : s->result;
    }
}

static void RepeatSlice(knWorld* w, const knWorldFamily* family, knStream* s, bool hasBegun)
{
    knBreakBudget budget = {0};
    knBreakResult result;
    KN_READ(s, budget.slice);
    if (s->result == kn_success && !hasBegun)
    {
        knStream_Fail(s, "a break goes on that has not begun");
    }
    (void)family;
    if (s->result == kn_success)
    {
        s->result = knBreaker_Continue(w->breaks.breaker, &budget, &result);
    }
}

// ---- splits

static uint32_t NodeItems(const knSplitDef* def, uint32_t nodeCount)
{
    return def->kind == kn_splitNodal || def->kind == kn_splitLabels ? nodeCount : 0;
}

knResult knStream_WriteSplit(knStream* s, const knSplitDef* def, uint32_t nodeCount)
{
    knStream_WriteU32(s, (uint32_t)def->kind);
    knStream_WriteVec3(s, def->normal);
    knStream_WriteF32(s, def->offset);
    knStream_WriteVec3(s, def->center);
    knStream_WriteVec3(s, def->axis);
    const uint32_t counts[] = {NodeItems(def, nodeCount), def->groupCount, def->siteCount,
                               def->sectorCount,          def->ringCount,  (uint32_t)def->small};
    knStream_Write(s, counts, sizeof counts);
    const float numbers[] = {def->angle,     def->jitter,        def->minCutShare,
                             def->roughness, def->roughnessSize, def->minSize};
    knStream_Write(s, numbers, sizeof numbers);
    KN_WRITE(s, def->seed);
    KN_WRITE(s, def->minVolume);
    KN_WRITE(s, def->maxArea);
    const void* perNode = def->kind == kn_splitNodal    ? (const void*)def->phi
                          : def->kind == kn_splitLabels ? (const void*)def->labels
                                                        : NULL;
    knStream_Write(s, perNode, counts[0] * sizeof(float));
    knStream_Write(s, def->sites, def->kind == kn_splitSites ? counts[2] * sizeof(knVec3) : 0);
    knStream_Write(s, def->radii, def->kind == kn_splitRadial ? counts[4] * sizeof(float) : 0);
    return s->result;
}

// Arrays of a file need not be aligned, so they are copied into the arena.
static const void* TakeArray(knStream* s, knArena* arena, uint32_t count, size_t itemSize)
{
    const void* from = count < MAX_SPLIT_ITEMS ? knStream_Take(s, count, itemSize) : NULL;
    if (!from)
    {
        knStream_Fail(s, "a list is too long");
        return NULL;
    }
    knArena_Reset(arena);
    void* to = NULL;
    if (knArena_Reserve(arena, count * itemSize + KN_CACHE_LINE) == kn_success)
    {
        to = knArena_Allocate(arena, count > 0 ? count : 1, itemSize);
    }
    if (!to)
    {
        s->result = s->result == kn_success ? kn_errorMemory : s->result;
        return NULL;
    }
    memcpy(to, from, count * itemSize);
    return to;
}

void knStream_ReadSplit(knStream* s, knArena* arena, uint32_t nodeCount, knSplitDef* def)
{
    *def = knDefaultSplitDef();
    uint32_t kind = knStream_ReadU32(s), counts[6];
    float numbers[6];
    def->kind = kind < kn_splitKindCount ? (knSplitKind)kind : kn_splitPlane;
    def->normal = knStream_ReadVec3(s);
    def->offset = knStream_ReadF32(s);
    def->center = knStream_ReadVec3(s);
    def->axis = knStream_ReadVec3(s);
    KN_READ(s, counts);
    KN_READ(s, numbers);
    KN_READ(s, def->seed);
    KN_READ(s, def->minVolume);
    KN_READ(s, def->maxArea);
    def->groupCount = counts[1];
    def->siteCount = counts[2];
    def->sectorCount = counts[3];
    def->ringCount = counts[4];
    def->small = counts[5] <= kn_smallDebris ? (knSmallPieces)counts[5] : kn_smallKeep;
    def->angle = numbers[0];
    def->jitter = numbers[1];
    def->minCutShare = numbers[2];
    def->roughness = numbers[3];
    def->roughnessSize = numbers[4];
    def->minSize = numbers[5];
    if (kind >= kn_splitKindCount || counts[0] != NodeItems(def, nodeCount))
    {
        knStream_Fail(s, "a split does not fit its piece");
        return;
    }
    switch (def->kind)
    {
    case kn_splitNodal:
        def->phi = TakeArray(s, arena, counts[0], sizeof(float));
        break;
    case kn_splitLabels:
        def->labels = TakeArray(s, arena, counts[0], sizeof(uint32_t));
        break;
    case kn_splitSites:
        def->sites = TakeArray(s, arena, counts[2], sizeof(knVec3));
        break;
    case kn_splitRadial:
        def->radii = TakeArray(s, arena, counts[4], sizeof(float));
        break;
    default:
        break;
    }
    if (s->result == kn_success && knValidateSplitDef(def) != kn_success)
    {
        knStream_Fail(s, "a split makes no sense");
    }
}

void knWorldFamily_TellSplit(knWorldFamily* family, uint32_t fragment, const knSplitDef* def)
{
    const knFragmentSet* set = knFamily_Fragments(family->family);
    knStream_WriteU32(&family->story, chapterSplit);
    knStream_WriteU32(&family->story, fragment);
    (void)knStream_WriteSplit(&family->story, def, set->fragments[fragment].nodeCount);
    (void)Kept(family);
}

static void RepeatSplit(knWorld* w, knWorldFamily* family, knStream* s)
{
    const knFragmentSet* set = knFamily_Fragments(family->family);
    uint32_t fragment = knStream_ReadU32(s);
    if (fragment >= set->fragmentCount || set->fragments[fragment].state == kn_fragmentEnded)
    {
        knStream_Fail(s, "a split of a piece that is not there");
        return;
    }
    knSplitDef def;
    knStream_ReadSplit(s, &w->scratch, set->fragments[fragment].nodeCount, &def);
    knSplitResult result;
    if (s->result == kn_success)
    {
        s->result = knWorld_SplitFamily(w, family->family, fragment, &def, &result);
    }
}

static void RepeatRemoval(knWorldFamily* family, knStream* s)
{
    uint32_t fragment = knStream_ReadU32(s);
    if (fragment >= knFamily_Fragments(family->family)->fragmentCount)
    {
        knStream_Fail(s, "a piece goes that was never there");
        return;
    }
    knFamily_Remove(family->family, fragment);
}

knResult knWorld_Relive(knWorld* w, knWorldFamily* family, const void* story, size_t size)
{
    knStream s = knMakeReader(story, size);
    bool hasBegun = false;
    while (s.result == kn_success && s.at < s.size)
    {
        uint32_t chapter = knStream_ReadU32(&s);
        switch (chapter)
        {
        case chapterBreak:
            RepeatBreak(w, family, &s);
            break;
        case chapterSlice:
            RepeatSlice(w, family, &s, hasBegun);
            break;
        case chapterSplit:
            RepeatSplit(w, family, &s);
            break;
        case chapterRemove:
            RepeatRemoval(family, &s);
            break;
        default:
            knStream_Fail(&s, "a story has an unknown chapter");
        }
        // a piece may go while another of the same object breaks
        hasBegun = hasBegun || chapter == chapterBreak;
    }
    // what no sound file can ask for is refused by the fracture module itself
    return s.result == kn_success || s.result == kn_errorMemory
               ? s.result
               : knFail(kn_errorFormat, "the story of an object does not fit it: %s",
                        knLastError());
}
