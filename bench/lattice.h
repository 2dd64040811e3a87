// SPDX-License-Identifier: Zlib
#pragma once

// A cube of tetrahedra of any size, and files about it: work for the benches that needs no asset.

#include "knap/mesh.h"

typedef struct knLattice
{
    knVec3* nodes; // those of the surface first
    knTet* tets;
    uint32_t nodeCount;
    uint32_t surfaceNodeCount;
    uint32_t tetCount;
} knLattice;

// 6 cells^3 tetrahedra in the unit cube, six around the diagonal of each cell (Kuhn).
knResult knCreateLattice(knLattice* lattice, uint32_t cells);
void knDestroyLattice(knLattice* lattice);

// Renumbers the nodes and reorders the tetrahedra at random, as no lattice but a bad mesher would.
knResult knLattice_Shuffle(knLattice* lattice, uint64_t seed);

// The bytes of a cooked asset with this mesh; release with knRelease(NULL, *bytes, *size, 1).
knResult knLattice_Encode(const knLattice* lattice, void** bytes, size_t* size);
