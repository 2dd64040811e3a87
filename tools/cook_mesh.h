// SPDX-License-Identifier: Zlib
#pragma once

// Between soups and the meshes of an asset.

#include "import.h"

// The surface of ready-made tetrahedra as a soup, for the doctor to judge. Nodes without tetrahedra
// are dropped and the rest renumbered so that those of the surface come first, in the soup's order.
knResult knSurfaceOfTets(knTetSoup* tets, knSoup* surface);

// The two meshes of an asset, put together from a closed surface and the tetrahedra inside it.
typedef struct knCookedMesh
{
    knTetMeshStore store;
    knSurfaceMesh surface;
    knTriangle* triangles; // as the tetrahedra have them, in the order of the soup
    knTriangle* corners;
    uint32_t* boundaryFaces;
    size_t triangleCount;
    knTetMesh tetMesh;
} knCookedMesh;

// The soup and the tetrahedra must outlive it. kn_errorMesh when the boundary is not the surface.
knResult knMakeCookedMesh(knCookedMesh* mesh, const knSoup* surface, const knTetSoup* tets);
void knDestroyCookedMesh(knCookedMesh* mesh);
