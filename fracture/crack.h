// SPDX-License-Identifier: Zlib
#pragma once

// From stress to cracks: whether a piece breaks, where, and in which order its cracks come.
//
// The order of the cracks depends on the pattern of the stress, the geometry and the seed alone,
// never on the size of the blow. A blow takes the beginning of that list: as far as the tension
// exceeds the strength and the energy pays for the area. So a harder blow gives all the pieces of a
// softer one, broken further. Each crack relieves the stress around it, which spaces the cracks and
// turns the next ones across.

#include "knap/stress.h"

#define KN_MAX_CRACK_HITS 16

typedef struct knCrackHit
{
    knVec3 point;
    knVec3 direction; // unit; where the impulse goes
} knCrackHit;

typedef struct knCrackDef
{
    size_t size; // of this struct
    uint32_t fragment;
    const knNodeStress* stress; // by slot of the fragment, for hits whose sizes sum to 1 N s
    double impulse;             // N s; sum of the sizes of the hits
    double strainEnergy;        // J for 1 N s; grows with the square
    double maxEnergy;           // J that the contact lost; 0 when it is not known
    // what of these many cracks turn into surface, in (0, 1]; a first one may take all it needs
    float energyShare;      // of the strain energy
    float contactShare;     // of what the contact lost
    const knCrackHit* hits; // the strongest first
    uint32_t hitCount;

    double strength;             // Pa, tensile
    double fractureEnergy;       // J/m^2
    double length;               // m; E G / strength^2: how large a flaw must be to run by itself
    const float* strengthFactor; // per node of the mesh, in (0, 100]; null for 1
    float* damage; // per node of the mesh, in [0, 1): by cracks that stopped; kept; may be null

    uint64_t seed;
    float spacing;    // of cracks, as a share of the distance from the hit
    float minSpacing; // m, at the hit; 0: from the material, the object and what the mesh can carry
    float runShare;   // of the strength that is enough once a hard blow's cracks run, in (0, 1]
    float flaws;      // weaker spots, as a share of the strength, in [0, 1]
    float waviness;   // of the crack faces, as a share of their extent
    uint32_t maxPieces;    // no further crack when the fragment has become so many
    double minVolumeShare; // of the whole object; smaller pieces are small
    knSmallPieces small;

    double (*clock)(void* user); // seconds; for the report's cutSeconds; may be null
    void* clockUser;
} knCrackDef;

KN_API knCrackDef knDefaultCrackDef(void);

// Names the field, the value and the range.
KN_API knResult knValidateCrackDef(const knCrackDef* def);

typedef struct knCrackReport
{
    bool breaks;          // the tension exceeds the strength somewhere
    bool isDone;          // no further crack will come
    bool isUnfinished;    // the last crack ran out of energy and left damage
    double breakingShare; // of the impulse that would just break it; above 1 when it holds
    double energy;        // J there was for cracks
    double spentEnergy;   // J
    double crackArea;     // m^2, one side
    uint32_t crackCount;
    uint32_t pieceCount; // that the fragment has become; 1 at first
    uint64_t work;       // units of about 30 ns
    uint32_t tryCount;   // cracks tried, also those that came to nothing
    double cutSeconds;   // in cutting, with the mass of the pieces; 0 without a clock
    knVec3 firstSeed;    // where the first crack began
} knCrackReport;

// The state of one event. It holds no memory of the piece: a game needs one per thread.
typedef struct knCracks knCracks;

// For meshes of so many nodes; no heap call after it.
KN_API knResult knCreateCracks(knCracks** cracks, uint32_t nodeCount, const knAllocator* allocator);
KN_API void knDestroyCracks(knCracks* cracks);

// Decides whether the piece breaks and prepares the list. The definition is copied; what it points
// to is read here alone, but for strengthFactor and damage. The set must outlive the event.
KN_API knResult knCracks_Begin(knCracks* cracks, knFragmentSet* set, const knCrackDef* def);

// A crack that was found and is not cut yet.
typedef struct knCrackPlan
{
    uint32_t fragment;   // that it runs through
    uint32_t pointCount; // of its faces, about
    uint64_t work;       // units that cutting it takes, about
} knCrackPlan;

// Units that trying the next place takes at most; 0 when one is found already.
KN_API uint64_t knCracks_FindWork(const knCracks* cracks);

// Tries the next place. True when a crack was found: knCracks_Next cuts it, and asking again finds
// the same. False when the place came to nothing, or the list is at its end.
KN_API bool knCracks_Find(knCracks* cracks, knCrackPlan* plan);

// Tries the next place, unless a crack is found already, and cuts. `result->outcome` is
// kn_splitDone when a piece was split; another outcome says that this one came to nothing. Call
// until the report says isDone. On failure nothing changed.
KN_API knResult knCracks_Next(knCracks* cracks, knArena* arena, knSplitResult* result);

KN_API const knCrackReport* knCracks_Report(const knCracks* cracks);

// What knCracks_Next takes from an arena at most.
KN_API size_t knCracks_Bytes(const knCracks* cracks);
