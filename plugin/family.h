// SPDX-License-Identifier: Zlib
#pragma once

// A model is a cooked asset opened for breaking; a family is one instance of it with all its
// pieces.
//
// The family owns the cuts, the fragments, the distance field and the sphere forest of its instance
// and keeps the three in step: a split reaches all of them or none. All geometry is in the frame of
// the asset; every piece of a family shares it.

#include "knap/asset.h"
#include "knap/cutting.h"
#include "knap/distfield.h"
#include "knap/spheretree.h"

typedef struct knModel knModel;
typedef struct knFamily knFamily;

// The asset must outlive the model, the model its families. kn_errorFormat when the file was cooked
// without field or tree.
KN_API knResult knCreateModel(knModel** model, const knAsset* asset, const knAllocator* allocator);
KN_API void knDestroyModel(knModel* model);

KN_API const knAsset* knModel_Asset(const knModel* model);

// Half the diagonal of the bounds: what tolerances are shares of. m
KN_API float knModel_Radius(const knModel* model);

typedef struct knFamilyDef
{
    size_t size; // of this struct
    const knModel* model;
    double density;    // kg/m^3; 0 for the asset's
    knFrontMode front; // how crack distance spreads
    bool scalar;       // no wide instructions; the answers are the same
    bool exactSpheres; // spheres that the bounds cannot cull are measured: fewer visits, more time
    float edgeDegrees; // surface edges sharper than this are tested against other pieces
    uint32_t pieceCount; // pieces to make room for at creation
} knFamilyDef;

KN_API knFamilyDef knDefaultFamilyDef(void);

KN_API knResult knCreateFamily(knFamily** family, const knFamilyDef* def,
                               const knAllocator* allocator);
KN_API void knDestroyFamily(knFamily* family);

KN_API const knModel* knFamily_Model(const knFamily* family);
KN_API const knFragmentSet* knFamily_Fragments(const knFamily* family);
KN_API const knFragmentField* knFamily_Field(const knFamily* family);
KN_API const knSphereForest* knFamily_Forest(const knFamily* family);
KN_API const knCutStore* knFamily_Cuts(const knFamily* family);

// Between steps. Splits a piece and brings field, forest and edges up to date. The arrays of the
// result live in the arena. Room for all that follows is made before the split is kept, so a
// failure leaves everything as it was.
KN_API knResult knFamily_Split(knFamily* family, uint32_t fragment, const knSplitDef* def,
                               knArena* arena, knSplitResult* result);

// An event of several splits, updated once:
//
//   knFragmentSet* set = knFamily_Cutting(family);
//   knFragmentMark mark = knFragmentSet_Mark(set);
//   ... knFragmentSet_Split(set, parent, ...), then what came from it ...
//   knFragmentSet_DeltaSince(set, parent, mark, arena, &delta);
//   knFamily_Follow(family, &delta);
//
// Splits of the set make room in the family before they are kept. Between the first split and
// Follow the family answers no queries. One piece and its descendants at a time.
KN_API knFragmentSet* knFamily_Cutting(knFamily* family);
KN_API knResult knFamily_Follow(knFamily* family, const knFractureDelta* delta);

// The fragments as they will be while a breaker keeps a cut back, else as they are.
KN_API const knFragmentSet* knFamily_Coming(const knFamily* family);

// The piece has left the world.
KN_API void knFamily_Remove(knFamily* family, uint32_t fragment);

typedef struct knImproveReport
{
    uint32_t fragment; // that is being rebuilt, or KN_NONE: no tree is poor
    uint32_t swapped;  // that got its fresh tree in this call, or KN_NONE
    uint32_t units;    // spent
} knImproveReport;

// Between steps, as often as there is time: gives pieces whose trees have grown poor fresh ones,
// the poorest first, one at a time. A unit is a point that finds its place in a tree, about a
// microsecond; the start and the end of a rebuild cannot be divided and count less than they take
// in a large piece. What happens depends on the calls and their units alone, so it is the same on
// every machine. May allocate; a piece that breaks meanwhile keeps the tree that it has.
KN_API knResult knFamily_Improve(knFamily* family, uint32_t units, knImproveReport* report);

// Bytes of the instance, without what the model shares.
KN_API size_t knFamily_Bytes(const knFamily* family);
