// SPDX-License-Identifier: Zlib
#pragma once

// How many points collide in all, beside those that were selected: the red line of the paper's
// Figure 12. Slow, and outside of what is timed.

#include "demos/stage.h"

// Called for each colliding point, in the world.
typedef void knCollidingFcn(void* user, knVec3 point);

// Of the pairs that had a contact in the last step: points of either piece inside the other, and
// vertices of a piece below the floor or inside a ball. `visit` may be null.
uint32_t knVisitColliding(const knStage* stage, knCollidingFcn* visit, void* user);
