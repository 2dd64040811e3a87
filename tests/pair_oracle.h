// SPDX-License-Identifier: Zlib
#pragma once

// The pair rules of knap/bvh.h in rational arithmetic, by clipping: slow, and nothing shared with
// the code that it judges.

#include "knap/mesh.h"

#include <stdbool.h>

// Whether the two have more in common than their shared vertices and what lies between those.
bool OracleMeets(const knVec3 a[3], const uint32_t aVertices[3], const knVec3 b[3],
                 const uint32_t bVertices[3]);
