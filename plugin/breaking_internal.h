// SPDX-License-Identifier: Zlib
#pragma once

#include "family_internal.h"
#include "knap/breaking.h"

// Multiply-adds of the stress that take as long as one unit of the cracks' work.
#define KN_STRESS_UNITS 230

// Units that field, forest and edges take to follow: for each piece that was split, each node of
// it, and each new point of its cracks.
#define KN_FOLLOW_UNITS 4500
#define KN_NODE_UNITS   10
#define KN_POINT_UNITS  36

struct knBreaker
{
    knAllocator allocator;
    knFamily* family;
    knBreakDef def;
    knMaterial material;
    knImpact impacts[KN_MAX_CRACK_HITS]; // sizes sum to 1 N s
    knCrackHit hits[KN_MAX_CRACK_HITS];
    knCracks* cracks;
    knCrackReport report;
    knArena arena;
    uint32_t* pieces;
    uint8_t* isHeld;
    uint32_t nodeCapacity;
    uint32_t firstNode; // of the run that the pieces share
    uint32_t nodeCount;
    knFragmentMark mark;
    uint32_t root;      // the piece whose cuts are not followed yet; KN_NONE for none
    uint32_t rootNodes; // how many it had
    bool hasCuts;
    bool isKeptBack;    // they are
    uint64_t keptSlice; // repeats the call that made them
    knCrackPlan plan;   // found and not cut yet
    bool hasPlan;
    bool isFresh;          // begun, and no call since
    double secondsPerUnit; // as the event took so far; 0 without a clock
    double seconds;        // of all calls so far, and their units
    uint64_t allWork;
    uint64_t work; // of the beginning, that the first call tells
    knBreakTimes times;
    bool isActive;
};

// Empties the arena and makes it at least so large.
knResult knBreaker_ReserveArena(knBreaker* breaker, size_t bytes);

// 0 without a clock.
double knBreaker_Now(const knBreakBudget* budget);

// What the split of a pattern takes of an arena.
size_t knBreaker_PatternBytes(const knBreaker* breaker);

// The split of a pattern; its arrays are in the arena.
knResult knBreaker_MakePattern(knBreaker* breaker, knSplitDef* def);
