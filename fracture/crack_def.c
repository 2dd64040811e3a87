// SPDX-License-Identifier: Zlib
#include "knap/crack.h"

knCrackDef knDefaultCrackDef(void)
{
    return (knCrackDef){.size = sizeof(knCrackDef),
                        .energyShare = 0.25f,
                        .contactShare = 0.1f,
                        .spacing = 0.4f,
                        .runShare = 0.25f,
                        .flaws = 0.5f,
                        .waviness = 0.08f,
                        .maxPieces = 200,
                        .minVolumeShare = 3e-4,
                        .small = kn_smallMerge};
}

static knResult CheckHits(const knCrackDef* def)
{
    if (!def->hits || def->hitCount < 1 || def->hitCount > KN_MAX_CRACK_HITS)
    {
        return knFail(kn_errorArgument, "knCrackDef: hitCount %u not in [1, %d], or no hits",
                      def->hitCount, KN_MAX_CRACK_HITS);
    }
    for (uint32_t i = 0; i < def->hitCount; ++i)
    {
        if (!knIsFinite(def->hits[i].point) || !knIsFinite(def->hits[i].direction) ||
            !(knLength(def->hits[i].direction) > 0.0f))
        {
            return knFail(kn_errorArgument,
                          "knCrackDef: hits[%u] has a point that is not finite, or no direction",
                          i);
        }
    }
    return kn_success;
}

static knResult CheckAtLeastZero(const char* name, double value)
{
    return value >= 0.0 && value < HUGE_VAL
               ? kn_success
               : knFail(kn_errorArgument, "knCrackDef: %s is %g, not finite or below 0", name,
                        value);
}

static knResult CheckShares(const knCrackDef* def)
{
    if (!(def->spacing >= 0.0f && def->spacing <= 10.0f) ||
        !(def->runShare > 0.0f && def->runShare <= 1.0f) ||
        !(def->energyShare > 0.0f && def->energyShare <= 1.0f) ||
        !(def->contactShare > 0.0f && def->contactShare <= 1.0f) ||
        !(def->flaws >= 0.0f && def->flaws <= 1.0f) ||
        !(def->waviness >= 0.0f && def->waviness <= 1.0f))
    {
        return knFail(
            kn_errorArgument,
            "knCrackDef: spacing %g not in [0, 10], runShare %g, energyShare %g or contactShare %g "
            "not in (0, 1], flaws %g or waviness %g not in [0, 1]",
            (double)def->spacing, (double)def->runShare, (double)def->energyShare,
            (double)def->contactShare, (double)def->flaws, (double)def->waviness);
    }
    if (!(def->minSpacing >= 0.0f && def->minSpacing < FLT_MAX) ||
        !(def->minVolumeShare >= 0.0 && def->minVolumeShare < 1.0) || def->maxPieces < 1 ||
        (unsigned)def->small > kn_smallDebris)
    {
        return knFail(kn_errorArgument,
                      "knCrackDef: minSpacing %g below 0, minVolumeShare %g not in [0, 1), "
                      "maxPieces %u below 1, or small %d unknown",
                      (double)def->minSpacing, def->minVolumeShare, def->maxPieces,
                      (int)def->small);
    }
    return kn_success;
}

knResult knValidateCrackDef(const knCrackDef* def)
{
    if (!def || def->size != sizeof(knCrackDef) || !def->stress)
    {
        return knFail(kn_errorArgument, "knCrackDef: begin with knDefaultCrackDef and a stress");
    }
    if (!(def->strength > 0.0 && def->strength < HUGE_VAL))
    {
        return knFail(kn_errorArgument, "knCrackDef: strength is %g, not finite or not above 0",
                      def->strength);
    }
    knResult result = CheckAtLeastZero("impulse", def->impulse);
    result = result == kn_success ? CheckAtLeastZero("strainEnergy", def->strainEnergy) : result;
    result = result == kn_success ? CheckAtLeastZero("maxEnergy", def->maxEnergy) : result;
    result =
        result == kn_success ? CheckAtLeastZero("fractureEnergy", def->fractureEnergy) : result;
    result = result == kn_success ? CheckAtLeastZero("length", def->length) : result;
    result = result == kn_success ? CheckShares(def) : result;
    return result == kn_success ? CheckHits(def) : result;
}
