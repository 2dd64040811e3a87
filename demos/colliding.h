// SPDX-License-Identifier: Zlib
#pragma once

// How many points collide in all, beside those that were selected: the red line of the paper's
// Figure 12. Slow, and outside of what is timed.

#include "demos/stage.h"

// A point of a piece inside another body.
typedef struct knColliding
{
    knVec3 point; // in the world
    float depth;  // m
    float radius; // m, of the smaller piece
} knColliding;

typedef void knCollidingFcn(void* user, const knColliding* colliding);

// Of the pairs that had a contact in the last step: points of either piece inside the other, and
// vertices of a piece below the floor or inside a ball. `visit` may be null.
uint32_t knVisitColliding(const knStage* stage, knCollidingFcn* visit, void* user);
