// SPDX-License-Identifier: Zlib
#pragma once

// What `knap break` needs besides the library: where a hit lands, and the pieces as files.

#include "knap/breaking.h"
#include "picture.h"

// A place on the surface and the direction into it.
typedef struct knSurfacePlace
{
    knVec3 point;
    knVec3 inwards;
    float distance; // from the point that was asked for
} knSurfacePlace;

knSurfacePlace knNearestPlace(const knAsset* asset, knVec3 p);

// High up, and near the line through the centre of mass.
knSurfacePlace knTopPlace(const knAsset* asset);

// The surfaces of some pieces, in place.
typedef struct knBrokenView
{
    knArena arena;
    knPieceSurface* surfaces;
    uint32_t count;
} knBrokenView;

knResult knCreateBrokenView(knBrokenView* view, const knFamily* family, const uint32_t* pieces,
                            uint32_t count);
void knDestroyBrokenView(knBrokenView* view);

// One object per piece, with normals and texture coordinates; the outside and the crack faces are
// groups of a material each. All or nothing.
knResult knWriteBrokenObj(const knBrokenView* view, const char* path);

typedef struct knBrokenPicture
{
    int width, height; // pixels
    double yaw, pitch; // degrees
    double explode;    // how far pieces are moved from the middle, as a share of where they are
    knVec3 center;
    const char* material; // name: gives the colours
} knBrokenPicture;

knResult knDrawBroken(const knBrokenView* view, const knBrokenPicture* how, knPicture* picture);
