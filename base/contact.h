// SPDX-License-Identifier: Zlib
#pragma once

// A contact constraint between two pieces, as the solver of an engine needs it (section 3).

#include "knap/vecmath.h"

#include <stdint.h>

typedef struct knContact
{
    knVec3 point;     // on the piece that was sampled
    float distance;   // to the surface of the other piece; negative when inside it
    knVec3 normal;    // unit, from the other piece towards the sampled one
    uint32_t feature; // the same feature has the same id in the next step: warm starting
} knContact;
