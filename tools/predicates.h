// SPDX-License-Identifier: Zlib
#pragma once

// Exact orientation, by the adaptive predicates that TetGen's library carries; implemented in
// tetgen_shim.cpp, the one file that knows it.

#if defined(__cplusplus)
extern "C"
{
#endif

    // Must be called once before the others.
    void knInitPredicates(void);

    // Six times the volume of a b c d up to rounding, with the exact sign: positive when d sees a,
    // b, c turn counter-clockwise, as knTetVolume6. Exact as long as no product under- or
    // overflows: keep coordinates near 1.
    double knOrient3d(const double a[3], const double b[3], const double c[3], const double d[3]);

#if defined(__cplusplus)
}
#endif
