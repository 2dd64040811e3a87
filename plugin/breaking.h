// SPDX-License-Identifier: Zlib
#pragma once

// Breaking a piece of a family: hits give stress, stress gives cracks, cracks give pieces, and
// field, forest and edges follow.
//
// An event begins once and continues until it is done; each call does no more than its budget
// allows, in an order that depends on nothing else. Art direction takes the same way: a pattern
// replaces the cracks, paint changes the strength.

#include "knap/crack.h"
#include "knap/family.h"
#include "knap/modes.h"

typedef enum knBreakPattern
{
    kn_patternStress, // cracks where the stress says
    kn_patternSites,  // Voronoi cells, small at the hit and large away from it
    kn_patternRadial, // sectors and rings around the first hit
    kn_patternPlane,  // one plane through the first hit, along its direction
    kn_patternLabels, // a group given per node
    kn_patternCount
} knBreakPattern;

typedef struct knBreakDef
{
    size_t size; // of this struct
    uint32_t fragment;
    const knMaterial* material;  // null for the asset's
    const knImpact* impacts;     // the strongest first
    uint32_t impactCount;        // 1 to KN_MAX_CRACK_HITS
    double lostEnergy;           // J that the contacts lost; 0 when it is not known
    const float* strengthFactor; // per node of the mesh, in (0, 100]; null for 1
    uint64_t seed;
    uint32_t maxPieces; // about

    knBreakPattern pattern;
    bool always;            // a pattern breaks it however soft the hit
    uint32_t pieceCount;    // sites, or sectors times rings
    const uint32_t* labels; // by slot of the fragment
    uint32_t labelCount;

    knCrackDef tuning; // spacing, flaws, waviness, small pieces; the rest of it is not read
} knBreakDef;

KN_API knBreakDef knDefaultBreakDef(void);

// One call's share of the work. It ends before what would not fit. A time limit needs a clock. The
// result tells a number that, given as `slice`, repeats the call whatever the clock says. A unit is
// about 30 ns.
typedef struct knBreakBudget
{
    uint64_t maxWork;            // units; 0 for no limit
    double maxSeconds;           // 0 for no limit
    double (*clock)(void* user); // seconds; may be null
    void* user;
    uint64_t slice; // above 0: as a result told it, and no other limit counts
    bool keepsBack; // what the call cuts is kept back until knBreaker_Commit
} knBreakBudget;

// Seconds by phase, zero without a clock: deciding, finding and cutting cracks, following with
// field, forest and edges.
typedef struct knBreakTimes
{
    double stress, cut, update;
} knBreakTimes;

// The arrays are the breaker's, until the next call.
typedef struct knBreakResult
{
    bool isDone;
    bool breaks;
    bool isKeptBack;        // the object is as it was, knFamily_Coming tells of the pieces
    double breakingShare;   // of the impulses that would just break it; above 1 when it holds
    knCrackReport cracks;   // of the pattern that stress makes
    const uint32_t* pieces; // what the fragment has become so far, itself when it is whole
    const uint8_t* isHeld;  // per piece: it has an anchored node and stays
    uint32_t pieceCount;
    uint64_t work;  // units of this call
    uint64_t slice; // repeats this call; 0 when it went to the end
    knBreakTimes times;
} knBreakResult;

// The state of one event at a time; a game needs one per thread.
typedef struct knBreaker knBreaker;

KN_API knResult knCreateBreaker(knBreaker** breaker, const knAllocator* allocator);
KN_API void knDestroyBreaker(knBreaker* breaker);

// Room for any event of the family, so that none needs more.
KN_API knResult knBreaker_Reserve(knBreaker* breaker, const knFamily* family);

// Between steps: finds the stress and decides. What the definition points to must last until the
// event is done. The family must outlive it.
KN_API knResult knBreaker_Begin(knBreaker* breaker, knFamily* family, const knBreakDef* def,
                                const knBreakBudget* budget);

// Between steps: cracks, cuts and updates as far as the budget goes; null for no limit.
// Until what an earlier call kept back is committed a call does nothing but tell it again.
KN_API knResult knBreaker_Continue(knBreaker* breaker, const knBreakBudget* budget,
                                   knBreakResult* result);

// Between steps: what was kept back happens. A game makes ready what it needs of the pieces first,
// over as many steps as it likes, while the object goes on whole. Times are of the event so far,
// units of this call.
KN_API knResult knBreaker_Commit(knBreaker* breaker, const knBreakBudget* budget,
                                 knBreakTimes* times, uint64_t* work);

// Ends the event; what is kept back never happens.
KN_API void knBreaker_Cancel(knBreaker* breaker);
