// SPDX-License-Identifier: Zlib
#pragma once

// The steps of a split. Indices into a fragment's nodes are called slots.

#include "knap/cutting.h"

#include <simde/x86/sse.h>

// Tetrahedra around a crack lie all over the mesh's arrays: they are asked for so many before their
// turn.
#define KN_CUT_AHEAD 8

static inline void Fetch(const void* address)
{
    simde_mm_prefetch((const char*)address, SIMDE_MM_HINT_T0);
}

// One edge that a split cuts: which function cuts it, and its values at the ends.
typedef struct EdgeCut
{
    uint32_t edge;
    uint32_t group; // the one whose leaving cut it
    float phi[2];   // at the edge's v[0] and v[1]
} EdgeCut;

typedef struct Moments
{
    knMoments sums;
    knBox box; // when a size is asked for; grown to all of the piece when it may be too small
} Moments;

// Direction and angle of a sector, in the plane across the axis.
typedef struct Sectors
{
    knVec3 e1, e2;
    double (*starts)[2]; // cosine and sine, per sector
    float* radii;        // per sector and ring, jittered
} Sectors;

// Groups form a tree: group g > 0 leaves group parents[g] where its function is negative, in the
// order of their numbers.
typedef struct Plan
{
    knFragmentSet* set;
    knCutStore* store;
    const knCutMesh* cutMesh;
    const knTetMesh* mesh;
    const knSplitDef* def;
    knArena* arena;
    uint32_t fragment;
    const uint32_t* nodes; // by slot
    uint32_t firstNode;    // where they begin in the set's
    uint32_t nodeCount;
    uint32_t* splitNodes; // first in the arena: it stays
    uint32_t* parents;
    uint32_t groupCount;
    Sectors sectors;
    uint32_t* groups;     // by slot
    uint32_t* components; // by slot
    float* phi;           // by slot, of the function at work
    uint32_t* stamps;     // by slot, the last group that set phi
    uint32_t componentCount;
    uint32_t edgeLimit, tetLimit; // no more edges are cut, tetrahedra crossed
    uint32_t* partedEdges;        // between groups
    uint32_t partedCount;
    // what was written to the store
    EdgeCut* edgeCuts;
    uint32_t edgeCutCount;
    uint32_t* crossedTets; // ascending
    uint8_t* addedPlanes;  // per crossed tetrahedron
    uint32_t crossedCount;
    uint32_t firstPoint;
    uint32_t firstCut;
    bool tooFine;
    double crackArea; // m^2, one side
    double farthest;  // largest coordinate of a node, by size
    // per component
    Moments* moments;
    uint32_t largest; // by nodes
    uint32_t* order;  // slots by component, ascending in each
    uint32_t* starts; // componentCount + 1
    size_t roundMark; // arena, before what a round of merging makes again
} Plan;

// Not below nodeCount when the node belongs to another fragment.
static inline uint32_t SlotOf(const Plan* plan, uint32_t node)
{
    return plan->set->slots[node] - plan->firstNode;
}

static inline bool IsOwn(const Plan* plan, uint32_t node)
{
    return SlotOf(plan, node) < plan->nodeCount;
}

// Functions: cut_function.c
uint32_t knCut_CountGroups(const knSplitDef* def);
knResult knCut_PrepareGroups(Plan* plan);
void knCut_AssignGroups(Plan* plan);
float knCut_EvaluateCut(const Plan* plan, uint32_t group, uint32_t slot);

// Which group's leaving parts two different groups.
uint32_t knCut_PartingGroup(const uint32_t* parents, uint32_t a, uint32_t b);

// Noise of amplitude 1 and wavelength 1: cut_noise.c
float knCut_ValueNoise(knVec3 p, uint64_t seed);
void knCut_SineCosine(double radians, double* sine, double* cosine);

// Writing to the store and taking it back: cut_apply.c, cut_edges.c
knResult knCut_CollectCutEdges(Plan* plan);
void knCut_ClampAndPlacePoints(Plan* plan);
knResult knCut_ApplyCuts(Plan* plan);
void knCut_RollBack(Plan* plan);

// Sorts numbers of at most 32 bits; `scratch` has as much room.
void knCut_SortNumbers(uint32_t* numbers, uint32_t count, uint32_t* scratch);

// Components: cut_components.c
knResult knCut_FindComponents(Plan* plan);

// The corners of a tetrahedron that belong to one component of the plan.
uint8_t knCut_ComponentMask(const Plan* plan, uint32_t tet, uint32_t component);

static inline int FirstCorner(uint8_t mask)
{
    return mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
}

// Mass: cut_mass.c, cut_measure.c
void knCut_AddRegionMoments(knMoments* m, const knTetRegion* region, const knVec3 corners[4],
                            knDVec3 origin);
knResult knCut_MeasureComponents(Plan* plan);

// Twice the vector area of a face, outwards.
knDVec3 knCut_FaceArea2(const knTetRegion* region, const knRegionFace* face);

// The corner of the loop whose fan has the best worst triangle, by area over the square of the
// longest side; `quality` is that, squared and times four.
int knCut_BestFan(const knTetRegion* region, const knRegionFace* face, double* quality);

// Small pieces: cut_small.c
float knCut_BoxSize(const Plan* plan, uint32_t component);
bool knCut_IsSmall(const Plan* plan, uint32_t component);
uint32_t knCut_MergeSmall(Plan* plan);
knVec3 knCut_DebrisDirection(const Plan* plan, uint32_t component);
