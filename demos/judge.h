// SPDX-License-Identifier: Zlib
#pragma once

// Whether a run was sound: no energy from nothing, no penetration left at rest, rest at the end.

#include "demos/stage.h"

// Rest, as promised at the end of a scene: nothing is faster, and no point deeper than epsilon.
#define KN_REST_SPEED 0.02f // m/s, of a centre or a rim

typedef struct knJudge
{
    double available;   // J: of everything that was there at first
    double energy;      // J: now, motion and height above the floor
    double worstExcess; // J: most that there was more than available, over the run
    float fastest;      // m/s now: of a piece's centre, or of its rim by spin
    float deepest;      // m now: of any colliding point
    float deepestShare; // the same by the radius of the smaller piece
} knJudge;

void knJudge_Begin(knJudge* judge, const knStage* stage);

// After each step.
void knJudge_Step(knJudge* judge, const knStage* stage);

// Penetration and speed as they are now; slow.
void knJudge_Rest(knJudge* judge, const knStage* stage);
