// SPDX-License-Identifier: Zlib
#pragma once

// A scene of the demos, run once with a peer that follows it, step by step.

#include "bench/break_peer.h"
#include "demos/stage.h"

#define KN_BREAK_STEPS 640 // at most

typedef struct knBreakStep
{
    double ours;                                          // s of the processor
    double collision, contacts, fracture, update, engine; // s by the clock, of ours
    double peer;                                          // s of the processor, step and shapes
    double shapes;                                        // s of it for the shapes
    uint32_t pieces;                                      // made in the step
} knBreakStep;

typedef struct knBreakRun
{
    knBreakStep steps[KN_BREAK_STEPS]; // the least of all runs so far
    uint32_t stepCount;
    uint32_t runCount;
    uint64_t hash; // of the end; the same in every run
    uint32_t pieceCount;
} knBreakRun;

// Adds a run. `method` is kn_pileKnap for none beside ours.
knResult knBreakRun_Add(knBreakRun* run, const knStageDef* def, knPileMethod method);

// The stage of one object in free fall, broken by a pattern where it is; 50 ms later.
typedef struct knPop
{
    uint32_t pieceCount;
    double ours, peer;         // m/s of the fastest piece; the peer's with Bullet's own solver
    double oursMiss, peerMiss; // m that a piece is beside its fall; the peer's solver set as ours
} knPop;

knResult knMeasurePop(const char* model, const char* assetFolder, knPileMethod method, knPop* pop);
