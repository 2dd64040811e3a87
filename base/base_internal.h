// SPDX-License-Identifier: Zlib
#pragma once

// Small helpers shared by the files of this folder.

#include "knap/mesh.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// The next array in a block of several, aligned to a cache line; null while the block is null, so
// that one function can both add up and lay out.
static inline void* knCarve(unsigned char* block, size_t* offset, size_t count, size_t itemSize)
{
    void* array = block ? block + *offset : NULL;
    *offset += (count * itemSize + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
    return array;
}

// Both list their corners counter-clockwise from outside their own tetrahedron, so across a proper
// face the order is reversed.
static inline bool knFacesFaceEachOther(knTriangle p, knTriangle q)
{
    for (int shift = 0; shift < 3; ++shift)
    {
        if (p.v[0] == q.v[shift])
        {
            return p.v[1] == q.v[(shift + 2) % 3] && p.v[2] == q.v[(shift + 1) % 3];
        }
    }
    return false;
}
