// SPDX-License-Identifier: Zlib
#pragma once

// Small surfaces for tests of the tools. Each is added to what the soup holds, outward unless said
// otherwise, and fails only for want of memory.

#include "soup.h"

// One triangle of vertices that are there already, with an attribute of its own per corner.
knResult AddFace(knSoup* soup, uint32_t a, uint32_t b, uint32_t c);

// Vertex 4 z + 2 y + x is the corner at upper where x, y, z are 1; 12 triangles, two per side, in
// the order -x, +x, -y, +y, -z, +z.
knResult AddBox(knSoup* soup, knVec3 lower, knVec3 upper);

// 20 4^level triangles.
knResult AddSphere(knSoup* soup, knVec3 center, float radius, int level);

// Around z; 2 * around * across triangles.
knResult AddTorus(knSoup* soup, float radius, float thickness, int around, int across);

// An open sheet of size 1 in the plane z = 0, bent upwards by `bend`; 2 cells^2 triangles.
knResult AddSheet(knSoup* soup, int cells, float bend);

// A strip with a half turn: open and one-sided.
knResult AddMoebius(knSoup* soup, int segments);

// A torus whose tube comes back mirrored: closed and one-sided; it crosses itself, as it must.
knResult AddKlein(knSoup* soup, int around, int across);

// Two cones base to base, each around one vertex of valence `sides`.
knResult AddHub(knSoup* soup, int sides);

// Every triangle gets vertices of its own, as in an STL file.
knResult Unweld(knSoup* soup);

// Turns the triangles [first, end) the other way.
void TurnFaces(knSoup* soup, size_t first, size_t end);
void MoveSoup(knSoup* soup, float scale, knVec3 offset);
