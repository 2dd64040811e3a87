// SPDX-License-Identifier: Zlib
#pragma once

// What hits do to a piece: the largest tension at each of its nodes over the first moments, and the
// strain energy. docs/stress.md tells how.
//
// Everything is linear in the impulses: twice the impulse is twice the stress and four times the
// energy. Nothing depends on the simulation's time step: a hit lasts the contact time, and what
// rests is no hit but a steady load.
//
// A piece that yields makes a hit longer than its material alone would, and the true stress
// smaller. Whoever knows the energy that the contact lost can tell: where `strainEnergy` is more
// than that, every stress is to be multiplied by sqrt(lost / strainEnergy).

#include "knap/cutting.h"
#include "knap/material.h"

struct knModeSet;

typedef enum knLoadKind
{
    kn_loadImpact, // a new hit: half a sine over the contact time, and the vibrations after it
    kn_loadSteady, // a contact that was there before: impulse / duration, slowly applied
    kn_loadKindCount
} knLoadKind;

typedef struct knImpact
{
    knLoadKind kind;
    knVec3 point;   // on or near the piece, in the frame of the mesh
    knVec3 impulse; // on the piece, N s
    float duration; // s. Impact: contact time, 0 for the material's. Steady: the simulation's step
} knImpact;

typedef struct knNodeStress
{
    float tension;    // largest principal stress over the times, Pa; 0 where nothing ever pulls
    knVec3 direction; // of it, unit: a crack opens across it; zero where nothing ever pulls
    float tensor[6];  // the stress at that time: xx yy zz xy yz zx, Pa
    float time;       // s after the hit began
} knNodeStress;

typedef struct knStressDef
{
    const knFragmentSet* set;
    uint32_t fragment;
    const struct knModeSet* modes; // for the whole object while it is whole; may be null or empty
    const uint32_t* anchors;       // nodes that are held, ascending; may be null
    uint32_t anchorCount;
    const knMaterial* material; // but its density: that of the set counts
    const knImpact* impacts;
    uint32_t impactCount;
    bool noContactStress; // leave out the field around the point of a hit
} knStressDef;

typedef struct knStressResult
{
    const knNodeStress* nodes; // in the order of the fragment's nodes, in the arena
    uint32_t nodeCount;
    uint32_t peakNode;   // index into `nodes`
    float peakTension;   // Pa
    double strainEnergy; // J, at its largest; of the piece's motion, without the contact's own
    bool isModal;        // from the cooked modes; otherwise from the piece's own polynomials
    uint32_t modeCount;  // modes that moved, or polynomials
    uint32_t timeCount;  // times at which stress was looked at
    uint64_t workUnits;  // multiply-adds, counted and not timed: the same on every machine
} knStressResult;

KN_API knStressDef knDefaultStressDef(void);

// kn_errorMemory when the arena is too small: arena->wantedBytes grew. What stays in the arena is
// the nodes' stress; on failure the arena is as before.
KN_API knResult knSolveStress(const knStressDef* def, knArena* arena, knStressResult* result);

// No call with this definition needs more of an arena than this.
KN_API size_t knStressBytes(const knStressDef* def);
