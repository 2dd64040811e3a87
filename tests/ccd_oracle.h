// SPDX-License-Identifier: Zlib
#pragma once

// Whether two features touch while they move on straight lines, in rational arithmetic; it shares
// nothing with the tests that it judges.

#include "knap/bvh_ccd.h"

// True when the features touch at a time in [0, 1].
bool DoFeaturesTouch(const knCcdTest* test);

// True when they touch before the time, which must be in [0, 1].
bool DoFeaturesTouchBefore(const knCcdTest* test, double time);
