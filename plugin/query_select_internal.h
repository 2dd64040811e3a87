// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/query.h"

// Which contacts of a pair are kept (section 5.3): the first m, then those deeper than epsilon.
typedef struct knSelection
{
    const knContactLimits* limits;
    knPairContact* contacts;
    uint32_t capacity;
    uint32_t target; // m
    uint32_t limit;  // contacts that count and fit now
    float epsilon;   // m
    float margin;    // m; what is further does not count
    float reach;     // m; nothing further is looked for
    bool isDeep;     // m was reached: only what is deeper than epsilon counts
    bool isStopped;
    bool isLost; // something beyond the margin did not fit
} knSelection;

// `radius` is what shares refer to.
knSelection knMakeSelection(const knContactLimits* limits, const knPairState* state, float radius);
void knSelection_Fit(knSelection* selection, uint32_t capacity);

// A place for a contact at this distance, or null; may stop the query.
knPairContact* knSelection_Take(knSelection* selection, float distance, knPairResult* result);

// m follows what the pair needs: up at once, down slowly.
void knSelection_End(const knSelection* selection, knPairState* state, knPairResult* result);
