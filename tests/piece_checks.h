// SPDX-License-Identifier: Zlib
#pragma once

// Judges of pieces that share no code with the cutting: they see triangles and labels only.

#include "knap/mesh.h"

// A triangle surface as the judges see it.
typedef struct PieceView
{
    const knVec3* positions;
    const knTriangle* triangles;
    uint32_t vertexCount;
    uint32_t triangleCount;
} PieceView;

// Null when every vertex is used, every directed edge has exactly one partner the other way, the
// triangles around every vertex form one ring, none is without area, and the volume is positive;
// else what is wrong.
const char* FindFlaw(PieceView piece);

// How often the surface winds around the point: 1 inside, 0 outside. By solid angles.
double WindingNumber(PieceView piece, knVec3 p);

// Volume, centre and inertia by the divergence theorem, from the surface alone.
knMassProperties SurfaceMass(PieceView piece, double density);

// The largest difference of two mass properties: volumes and masses relative, centres relative to
// `size`, inertias relative to mass times size squared.
double MassDifference(const knMassProperties* a, const knMassProperties* b, double size);

// Sums pieces by the parallel axis theorem.
knMassProperties AddMass(const knMassProperties* a, const knMassProperties* b);
