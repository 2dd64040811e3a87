// SPDX-License-Identifier: Zlib
#include "modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct
{
    const char* name;
    knAnchorKind kind;
    int count;
} forms[] = {
    {"below=", kn_anchorBelow, 1}, {"above=", kn_anchorAbove, 1}, {"box=", kn_anchorBox, 6}};

static bool ParseNumbers(const char* text, int count, double* values)
{
    for (int i = 0; i < count; ++i)
    {
        char* end = NULL;
        values[i] = strtod(text, &end);
        if (end == text || !isfinite(values[i]) || *end != (i + 1 < count ? ',' : 0))
        {
            return false;
        }
        text = end + 1;
    }
    return true;
}

knResult knParseAnchorRule(const char* text, knAnchorRule* rule)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; ++i)
    {
        size_t length = strlen(forms[i].name);
        knAnchorRule made = {.kind = forms[i].kind};
        if (strncmp(text, forms[i].name, length) == 0 &&
            ParseNumbers(text + length, forms[i].count, made.values))
        {
            *rule = made;
            return kn_success;
        }
    }
    return knFail(kn_errorArgument,
                  "'%s' is no anchor: below=HEIGHT, above=HEIGHT or box=x,y,z,x,y,z is", text);
}

static bool Holds(const knAnchorRule* rule, knVec3 p)
{
    const double at[3] = {(double)p.x, (double)p.y, (double)p.z};
    switch (rule->kind)
    {
    case kn_anchorBelow:
        return at[1] <= rule->values[0];
    case kn_anchorAbove:
        return at[1] >= rule->values[0];
    default:
        for (int i = 0; i < 3; ++i)
        {
            if (at[i] < rule->values[i] || at[i] > rule->values[3 + i])
            {
                return false;
            }
        }
        return true;
    }
}

static knResult Count(const knTetMesh* mesh, const knModeOptions* options, uint8_t* held,
                      size_t* count)
{
    *count = 0;
    memset(held, 0, mesh->nodeCount);
    for (uint32_t r = 0; r < options->ruleCount; ++r)
    {
        size_t own = 0;
        for (uint32_t n = 0; n < mesh->nodeCount; ++n)
        {
            bool holds = Holds(&options->rules[r], mesh->nodes[n]);
            own += holds;
            *count += holds && !held[n];
            held[n] |= holds;
        }
        knBox box = knBoundingBox(mesh->nodes, mesh->nodeCount);
        if (own == 0)
        {
            return knFail(kn_errorArgument,
                          "anchor %u holds no node: the object reaches from (%g, %g, %g) to "
                          "(%g, %g, %g) m, y upwards",
                          r + 1, (double)box.lower.x, (double)box.lower.y, (double)box.lower.z,
                          (double)box.upper.x, (double)box.upper.y, (double)box.upper.z);
        }
    }
    return *count < mesh->nodeCount
               ? kn_success
               : knFail(kn_errorArgument, "the anchors hold every node: nothing can break");
}

knResult knCookAnchors(const knTetMesh* mesh, const knModeOptions* options,
                       const knAllocator* allocator, knAssetSection* section)
{
    *section = (knAssetSection){.tag = KN_ANCHORS_TAG, .version = KN_ANCHORS_VERSION};
    if (options->ruleCount == 0)
    {
        return kn_success;
    }
    size_t count = 0, filled = 0;
    uint8_t* held = knAllocate(allocator, mesh->nodeCount, 1);
    knResult result = held ? Count(mesh, options, held, &count) : kn_errorMemory;
    uint32_t* nodes = result == kn_success ? knAllocate(allocator, count, sizeof(uint32_t)) : NULL;
    result = result == kn_success && !nodes ? kn_errorMemory : result;
    for (uint32_t n = 0; nodes && n < mesh->nodeCount; ++n)
    {
        if (held[n])
        {
            nodes[filled++] = n;
        }
    }
    knRelease(allocator, held, mesh->nodeCount, 1);
    section->data = nodes;
    section->size = count * (nodes ? sizeof(uint32_t) : 0);
    return result;
}
