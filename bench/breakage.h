// SPDX-License-Identifier: Zlib
#pragma once

// Objects for the benches that break things: cooked in the program, broken by seeded Voronoi cells
// or planes, with every part of a break as a call of its own so that it can be timed alone.

#include "knap/family.h"
#include "knap/random.h"

typedef struct knBenchModel
{
    void* bytes;
    size_t size;
    knAsset* asset;
    knModel* model;
} knBenchModel;

// kn_errorArgument when the program was built without the tools. 0 for the cook's own choices.
// Without elastic modes, which take most of a cook's time.
knResult knCookBenchModel(knBenchModel* model, const char* path, uint32_t targetTets,
                          double maxEdge);

// As a game's object is cooked: with its modes.
knResult knCookGameModel(knBenchModel* model, const char* path);
void knDestroyBenchModel(knBenchModel* model);

// A sphere of radius 0.1 m with 8 n^2 triangles, written as OBJ.
knResult knWriteSphereObj(const char* path, uint32_t n);

// One instance and its last break.
typedef struct knBreakage
{
    const knModel* model;
    knFamily* family;
    knArena arena; // the arrays of the split
    knSplitResult split;
    uint64_t seed;
    uint32_t pieceCount; // Voronoi cells
} knBreakage;

// An unbroken instance.
knResult knCreateBreakage(knBreakage* breakage, const knModel* model, uint32_t pieceCount,
                          uint64_t seed);
void knDestroyBreakage(knBreakage* breakage);

// A fresh instance in place of the old one.
knResult knBreakage_Restore(knBreakage* breakage);

// The cut alone. Field, forest and edges are then a step behind, with room for the update.
knResult knBreakage_CutCells(knBreakage* breakage);
// Through the centre of mass of the heaviest piece; tries until something is cut.
knResult knBreakage_CutHeaviest(knBreakage* breakage, knRandom* random);

// What follows a cut, in this order.
knResult knBreakage_UpdateField(knBreakage* breakage);
knResult knBreakage_UpdateForest(knBreakage* breakage);
knResult knBreakage_FindEdges(knBreakage* breakage);

// All three.
knResult knBreakage_Follow(knBreakage* breakage);

// Fresh trees for all pieces, of their surface points alone; swapped in when `commit`.
knResult knBreakage_RebuildTrees(knBreakage* breakage, bool commit);

// The live pieces, ascending.
uint32_t knBreakage_Pieces(const knBreakage* breakage, uint32_t* pieces, uint32_t capacity);

// m, of the cooked distance grid.
float knBreakage_GridSpacing(const knBreakage* breakage);
