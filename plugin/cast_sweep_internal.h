// SPDX-License-Identifier: Zlib
#pragma once

#include "cast_internal.h"

// One sweep: a piece against a second piece or against one shape. Positions are relative to where b
// starts, so that far from the origin nothing is lost.
typedef struct knSweep
{
    const knPieceMesh* a;
    const knPieceMesh* b; // null when it is a shape
    const knShape* shape;
    knMotion motionA, motionB;
    knVec3 move;               // of a relative to b
    const knVec3* facing;      // hits from behind this normal do not count; null for all
    double rounding;           // of the shape
    double tolerance;          // m
    double slack;              // m; touches that are earlier by no more are not looked for
    double speed;              // m in the step, at which anything comes nearer at most
    double best;               // time of the first touch so far; above 1 for none
    uint32_t triangleA, other; // that touch: of a, and of b or the caller's
    uint32_t otherId;          // what `other` becomes
    knGap gap;
    knVec3 guesses[2]; // directions that parted others: of the best touch, of the last miss
} knSweep;

double knSweep_Speed(const knSweep* sweep);

// m, and its share of the step: once there is a touch, one that is earlier by no more than this
// changes nothing.
double knSweep_Slack(const knSweep* sweep);
double knSweep_SlackTime(const knSweep* sweep);

// The time in which a gap is used up at a speed that may itself grow; above 1 for never.
double knTimeToUse(double room, double speed, double growth);

// Of a ball around the origin of the shape that holds it. m
double knShapeRadius(const knShape* shape);

// Before this the two do not touch; above 1 when they never do.
double knSweep_FreeTime(const knSweep* sweep);

// Lowers `best` where the two touch earlier.
void knSweep_RunMeshes(knSweep* sweep);
void knSweep_RunShape(knSweep* sweep);

// One triangle of a against a convex body: a triangle of b, or the shape when `corners` is null.
void knSweep_TryPair(knSweep* sweep, uint32_t triangleA, const knVec3* corners, uint32_t other,
                     double from);
