// SPDX-License-Identifier: Zlib
#pragma once

// What a run measured, step by step, and the columns of the paper's Tables 2 and 3.

#include "demos/judge.h"

#include <stdio.h>

#define KN_STATS_HISTORY 240

typedef struct knStepStats
{
    uint32_t pieces;
    uint32_t pairs;     // of pieces that were queried
    uint32_t contacts;  // that reached the solver
    uint32_t colliding; // points that collide in all; 0 unless counted
    double total;       // ms
    double collision;
    double physics;
    double update; // of field, tree and edges; only when something broke
    double fracture;
} knStepStats;

// What the panel draws over time.
typedef enum knGraph
{
    kn_graphTotal,
    kn_graphCollision,
    kn_graphPhysics,
    kn_graphUpdate,
    kn_graphFracture,
    kn_graphContacts,
    kn_graphPairs,
    kn_graphPieces,
    kn_graphCount
} knGraph;

typedef struct knStats
{
    uint32_t stepCount;
    uint32_t trianglesBefore, trianglesNow;
    uint32_t families, pieces;
    uint32_t fragments; // pieces that can move
    bool countsAll;
    knJudge judge;
    knStepStats sum, worst, last;
    float history[kn_graphCount][KN_STATS_HISTORY]; // rings
    uint32_t historyAt;
} knStats;

// `countsAll` counts colliding points too.
void knStats_Begin(knStats* stats, const knStage* stage, bool countsAll);

// After each step.
void knStats_Add(knStats* stats, const knStage* stage);

void knWriteStatsHeader(FILE* csv);
void knWriteStatsRow(FILE* csv, const knStats* stats);
void knWriteStatsJson(FILE* json, const knStats* stats, const knStage* stage, uint64_t seed,
                      int threads);
