// SPDX-License-Identifier: Zlib
#pragma once

// Signs of small determinants, exact for coordinates that came from floats: no product of three
// differences of floats leaves the range of doubles, so nothing here under- or overflows. Needs
// round-to-nearest and denormals (see knBeginExact).

#include "knap/vecmath.h"

#include <stdint.h>

// How much of the permanent an orientation in double can be wrong by, eight roundings deep; a test
// sets it to zero to see that the bound is needed.
#define KN_ORIENT_ERROR 8.1 // in units of the rounding error 2^-53

// Sign of ((b - a) x (c - a)) . (d - a).
int knExactOrient3(const knDVec3 p[4]);

// Sign of the cross product (b - a) x (d - c) of the two coordinates that stay when `axis` is
// dropped.
int knExactCross(const knDVec3 p[4], int axis);

// The floating-point mode that exact signs need: games flush denormals to zero.
uint32_t knBeginExact(void);
void knEndExact(uint32_t mode);
