// SPDX-License-Identifier: Zlib
#pragma once

// The contacts between two pieces as in knap/query.h, with grids of the pieces' own in place of
// their fragment fields: Algorithm 1 in both directions with the same selection, without edges.

#include "bench/piece_grid.h"
#include "knap/query.h"

// Both grids are of the pieces' surfaces in the frames of their assets.
knResult knQueryGridPair(const knQueryPiece pieces[2], const knPieceGrid* const grids[2],
                         const knContactLimits* limits, knArena* scratch, knPairContact* contacts,
                         uint32_t capacity, knPairResult* result);
