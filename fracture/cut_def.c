// SPDX-License-Identifier: Zlib
#include "knap/cutting.h"

knSplitDef knDefaultSplitDef(void)
{
    knSplitDef def = {.kind = kn_splitPlane,
                      .normal = {1.0f, 0.0f, 0.0f},
                      .axis = {0.0f, 1.0f, 0.0f},
                      .sectorCount = 1,
                      .minCutShare = 0.1f,
                      .roughnessSize = 0.1f};
    return def;
}

knPieceOptions knDefaultPieceOptions(void)
{
    knPieceOptions options = {.smoothCracks = false, .textureScale = 1.0f};
    return options;
}

static knResult CheckRadial(const knSplitDef* def)
{
    if (!knIsFinite(def->center) || !knIsFinite(def->axis) || !(knLength(def->axis) > 0.0f))
    {
        return knFail(kn_errorArgument, "knSplitDef: center or axis is not finite, or zero");
    }
    if (def->sectorCount < 1 || def->sectorCount > KN_MAX_SPLIT_GROUPS ||
        def->ringCount > KN_MAX_SPLIT_GROUPS ||
        def->sectorCount * (def->ringCount + 1) > KN_MAX_SPLIT_GROUPS)
    {
        return knFail(kn_errorArgument, "knSplitDef: %u sectors of %u rings, not 1 to %d groups",
                      def->sectorCount, def->ringCount, KN_MAX_SPLIT_GROUPS);
    }
    if (def->ringCount > 0 && !def->radii)
    {
        return knFail(kn_errorArgument, "knSplitDef: radii is null");
    }
    for (uint32_t i = 0; i < def->ringCount; ++i)
    {
        if (!(def->radii[i] > (i > 0 ? def->radii[i - 1] : 0.0f)) || !isfinite(def->radii[i]))
        {
            return knFail(kn_errorArgument, "knSplitDef: radii[%u] = %g does not ascend from 0", i,
                          (double)def->radii[i]);
        }
    }
    if (!isfinite(def->angle) || !(def->jitter >= 0.0f && def->jitter < 0.5f))
    {
        return knFail(kn_errorArgument, "knSplitDef: jitter %g not in [0, 0.5), or angle %g",
                      (double)def->jitter, (double)def->angle);
    }
    return kn_success;
}

static knResult CheckSites(const knSplitDef* def)
{
    if (!def->sites || def->siteCount < 1 || def->siteCount > KN_MAX_SPLIT_GROUPS)
    {
        return knFail(kn_errorArgument, "knSplitDef: siteCount %u not in [1, %d], or no sites",
                      def->siteCount, KN_MAX_SPLIT_GROUPS);
    }
    for (uint32_t i = 0; i < def->siteCount; ++i)
    {
        if (!knIsFinite(def->sites[i]))
        {
            return knFail(kn_errorArgument, "knSplitDef: sites[%u] is not finite", i);
        }
    }
    return kn_success;
}

static knResult CheckKind(const knSplitDef* def)
{
    switch (def->kind)
    {
    case kn_splitPlane:
        if (!knIsFinite(def->normal) || !isfinite(def->offset) || !(knLength(def->normal) > 0.0f))
        {
            return knFail(kn_errorArgument, "knSplitDef: normal or offset not finite, or zero");
        }
        return kn_success;
    case kn_splitNodal:
        return def->phi ? kn_success : knFail(kn_errorArgument, "knSplitDef: phi is null");
    case kn_splitLabels:
        if (!def->labels || def->groupCount < 1 || def->groupCount > KN_MAX_SPLIT_GROUPS)
        {
            return knFail(kn_errorArgument, "knSplitDef: groupCount %u not in [1, %d], or labels",
                          def->groupCount, KN_MAX_SPLIT_GROUPS);
        }
        return kn_success;
    case kn_splitSites:
        return CheckSites(def);
    case kn_splitRadial:
        return CheckRadial(def);
    default:
        return knFail(kn_errorArgument, "knSplitDef: kind %d is unknown", (int)def->kind);
    }
}

knResult knValidateSplitDef(const knSplitDef* def)
{
    if (!def)
    {
        return knFail(kn_errorArgument, "knSplitDef is null");
    }
    if (!(def->minCutShare > 0.0f && def->minCutShare < 0.5f))
    {
        return knFail(kn_errorArgument, "knSplitDef: minCutShare %g not in (0, 0.5)",
                      (double)def->minCutShare);
    }
    if (!(def->roughness >= 0.0f && def->roughness < FLT_MAX) ||
        (def->roughness > 0.0f && !(def->roughnessSize > 0.0f)))
    {
        return knFail(kn_errorArgument, "knSplitDef: roughness %g below 0, or of size %g",
                      (double)def->roughness, (double)def->roughnessSize);
    }
    if ((unsigned)def->small > kn_smallDebris || !(def->minVolume >= 0.0) ||
        !(def->minSize >= 0.0f) || !(def->maxArea >= 0.0))
    {
        return knFail(kn_errorArgument,
                      "knSplitDef: small %d, minVolume %g, minSize %g or maxArea %g", def->small,
                      def->minVolume, (double)def->minSize, def->maxArea);
    }
    return CheckKind(def);
}
