// SPDX-License-Identifier: Zlib
#pragma once

// The fracturable adaptive sphere tree: all points of an object, coarse to fine, in a tree that
// breaks with it.
//
// Level l of the tree has the first 2^l points of the maximum-distance order; a point of level l +
// 1 hangs below its closest point of level l. In the paper a point has one node on every level from
// its first one down, all in the same place and with shrinking radii. Here that chain is one node:
// its children are sorted by the level they enter at, and the radius of the point at level l covers
// the children that enter after l. So the radii of a whole chain are the suffix maxima over the
// list of children, one float per child, kept with the child (`reach`), and nothing is stored
// twice:
//
//   point a of level 2:    children   b (3)      c (3)      d (5)
//                          reach      r(a, 2)    .          r(a, 3) = r(a, 4)
//
// A point without children below a level has radius 0 there. After a break a point enters at its
// own level, or at that of the branch that led to it when its parent went to another piece: every
// piece is still walked coarse to fine.
//
// Cost: cooked 21 bytes a point; an instance nothing until it first breaks, then 21 bytes a point
// (nodes, and two points per cut edge).

#include "knap/cut.h"

#define KN_TAG_SPHERE_TREE     0x54485053u // 'SPHT', a section of a cooked file
#define KN_SPHERE_TREE_VERSION 1
#define KN_MAX_SPHERE_LEVELS   64
#define KN_SPHERE_ROOT         0x80000000u // in `parent`: a root, the fragment in the lower bits
#define KN_SPHERE_ABSENT       KN_NONE     // in `parent`: a point that a rebuild has left out
#define KN_SPHERE_BATCH        64          // nodes that a query yields at a time
#define KN_SPHERE_LANES        8           // x, y, z and radius are filled up to multiples of this

// Links between points by point id. A list of siblings ascends by level; reach never grows along
// it.
typedef struct knSphereLinks
{
    const uint32_t* parent; // or KN_SPHERE_ROOT | fragment, or KN_SPHERE_ABSENT
    const uint32_t* first;  // child of the lowest level, or KN_NONE
    const uint32_t* next;   // sibling, or next root of the fragment, or KN_NONE
    const float* reach;     // from the parent to the furthest point below this and later siblings
    const uint8_t* level;   // that the point enters at
} knSphereLinks;

// Views into the bytes of a cooked section: immutable and shared by all instances.
typedef struct knSphereTree
{
    knSphereLinks links;
    const uint32_t* order; // node ids, by maximum distance
    uint32_t nodeCount;
    uint32_t levelCount;
    float meanReach; // of all points; what fragments are measured by
} knSphereTree;

// Writes the maximum-distance order of the points: first the two furthest from each other, then
// always the one furthest from its closest predecessor; ties go to the lowest index. Squared
// distances in double from float coordinates. kn_errorArgument when a position is not finite.
KN_API knResult knOrderByMaximumDistance(const knVec3* positions, uint32_t count, uint32_t* order,
                                         const knAllocator* allocator);

// Makes the bytes of the section for all nodes of the mesh. Release with knRelease(allocator,
// *bytes, *size, 1).
KN_API knResult knEncodeSphereTree(const knTetMesh* mesh, const knAllocator* allocator,
                                   void** bytes, size_t* size);

// Checks every link and every radius against the mesh, with scratch memory of the allocator; the
// bytes are then used in place: aligned to KN_CACHE_LINE, kept while the tree is in use.
KN_API knResult knOpenSphereTree(knSphereTree* tree, const void* bytes, size_t size,
                                 const knTetMesh* mesh, const knAllocator* allocator);

// The roots of one fragment are a list like that of siblings.
typedef struct knSphereFragment
{
    uint32_t firstRoot; // or KN_NONE
    uint32_t rootCount;
    uint32_t pointCount; // in the forest, roots included
    uint32_t generation; // rises with every change
} knSphereFragment;

typedef struct knSphereForestDef
{
    const knSphereTree* tree; // both outlive the forest
    const knTetMesh* mesh;
    uint32_t maxRoots; // per fragment; above it roots are hung below one another
} knSphereForestDef;

// The trees of all fragments of one instance.
typedef struct knSphereForest
{
    knAllocator allocator;
    const knSphereTree* tree;
    const knTetMesh* mesh;
    knSphereLinks links;         // the tree's own until the first Reserve
    void* memory;                // null until the first Reserve
    knSphereFragment* fragments; // by label
    size_t fragmentCapacity;
    uint32_t fragmentCount;
    uint32_t pointCapacity; // point ids that fit
    uint32_t maxRoots;
    uint32_t regroupCount; // how often the cap on roots was reached
} knSphereForest;

KN_API knSphereForestDef knDefaultSphereForestDef(void);
KN_API knResult knCreateSphereForest(knSphereForest* forest, const knSphereForestDef* def,
                                     const knAllocator* allocator);
KN_API void knDestroySphereForest(knSphereForest* forest);

// Room for so many cut points and fragments in all, between steps; the first call makes the
// instance's own copy of the links.
KN_API knResult knSphereForest_Reserve(knSphereForest* forest, uint32_t cutPointCount,
                                       uint32_t fragmentCount);

// Follows one split, before the next one changes the labels. Visits the split nodes and their cut
// points, the children and ancestors of both, nothing else. kn_errorLimit, and nothing changed,
// when points or fragments do not fit (reserve more) or the scratch does not (its highWater says
// how much).
KN_API knResult knSphereForest_Update(knSphereForest* forest, const knFractureDelta* delta,
                                      const knCutStore* cuts, knArena* scratch);

// No update of a split of this fragment needs more scratch than this.
KN_API size_t knSphereForest_UpdateBytes(const knSphereForest* forest, uint32_t fragment);

// All zero but firstRoot, which is KN_NONE, for a fragment that is not there.
KN_API knSphereFragment knSphereForest_Fragment(const knSphereForest* forest, uint32_t fragment);

static inline uint32_t knSphereForest_NextRoot(const knSphereForest* forest, uint32_t root)
{
    return forest->links.next[root];
}

static inline bool knSphereForest_IsRoot(const knSphereForest* forest, uint32_t point)
{
    uint32_t parent = forest->links.parent[point];
    return parent != KN_SPHERE_ABSENT && (parent & KN_SPHERE_ROOT) != 0;
}

// Where the point enters; all points below it lie within.
static inline float knSphereForest_Radius(const knSphereForest* forest, uint32_t point)
{
    uint32_t child = forest->links.first[point];
    return child == KN_NONE ? 0.0f : forest->links.reach[child];
}

// The next point of the fragment, depth first; KN_NONE at the end. Start from its first root.
KN_API uint32_t knSphereForest_NextPoint(const knSphereForest* forest, uint32_t point);

// By point id: nodes, then the two sides of each cut point.
static inline knVec3 knSpherePosition(const knTetMesh* mesh, const knCutStore* cuts, uint32_t point)
{
    return point < mesh->nodeCount ? mesh->nodes[point]
                                   : cuts->points[(point - mesh->nodeCount) / 2].position;
}

static inline uint32_t knSphereLabel(const knTetMesh* mesh, const knCutStore* cuts, uint32_t point)
{
    if (point < mesh->nodeCount)
    {
        return cuts->labels[point];
    }
    uint32_t side = point - mesh->nodeCount;
    return cuts->labels[mesh->edges[cuts->points[side / 2].edge].v[side % 2]];
}

// Makes the radii of a fragment as small as its links allow; visits all its points. No allocation.
KN_API void knSphereForest_Shrink(knSphereForest* forest, uint32_t fragment,
                                  const knCutStore* cuts);

// How far a fragment's forest is from what a rebuild would give; visits all its points. A node is
// visited when the sphere above it is hit, so the visits of a query grow with the sum of `reach`.
typedef struct knSphereQuality
{
    uint32_t pointCount;
    uint32_t rootCount;
    uint32_t hiddenCount; // interior nodes, which cannot be the first in contact
    float meanReach;      // of its points
    float freshMeanReach; // what a fresh tree of the same points would have, estimated
} knSphereQuality;

KN_API knSphereQuality knSphereForest_Quality(const knSphereForest* forest, uint32_t fragment);

// A first threshold, on roots and on the ratio of reach. Bunny and plate after 1 to 30 plane
// splits, against half-spaces 2 % deep: 0 to 55 % more visits than fresh trees, 15 to 24 % in the
// median.
#define KN_POOR_ROOTS                                                                              \
    24 // more than these; a fresh tree has one, and each is a visit in every query
#define KN_POOR_REACH 1.6f // times the fresh mean
KN_API bool knSphereQuality_IsPoor(const knSphereQuality* quality);

// A fresh tree for one fragment. Begin copies what it needs, Run may then work on any thread while
// the forest lives on, Commit swaps the result in at a moment of the caller's choice.
typedef struct knSphereRebuild knSphereRebuild;

// Without interior nodes the tree is smaller: they come back one by one when cracks reach them.
KN_API knResult knBeginSphereRebuild(knSphereRebuild** rebuild, const knSphereForest* forest,
                                     const knCutStore* cuts, uint32_t fragment, bool dropInterior,
                                     const knAllocator* allocator);
KN_API void knDestroySphereRebuild(knSphereRebuild* rebuild);

// Makes no allocation and touches nothing but the job.
KN_API void knSphereRebuild_Run(knSphereRebuild* rebuild);

// The same in slices: at most so many points get their place, or one of two steps that cannot be
// divided is done, at the start and at the end, each a few operations per point. True when nothing
// is left to do. The result does not depend on the slices.
KN_API bool knSphereRebuild_Step(knSphereRebuild* rebuild, uint32_t points);

KN_API uint32_t knSphereRebuild_Fragment(const knSphereRebuild* rebuild);

// False, and nothing changed, when the fragment has changed since Begin or Run was not called.
KN_API bool knSphereRebuild_Commit(const knSphereRebuild* rebuild, knSphereForest* forest);

// A point that waits in a query for the level of its next child.
typedef struct knSphereQueryItem
{
    uint32_t point;
    uint32_t cursor; // the child it goes on with
    uint32_t next;
    float radius; // that it was last tested with
    float cache;
} knSphereQueryItem;

// A breadth-first walk over the trees of a fragment: level by level, all roots, each at its level.
typedef struct knSphereQuery
{
    const knSphereForest* forest;
    const knCutStore* cuts;
    knSphereQueryItem* items;
    uint32_t itemCount; // handed out so far
    uint32_t itemCapacity;
    uint32_t freeItem;
    uint32_t activeItem; // being expanded
    uint32_t nextRoot;
    uint32_t level;
    uint32_t lostCount; // descents that found no free item: 0 when there is one per point
    uint32_t head[KN_MAX_SPHERE_LEVELS];
    uint32_t tail[KN_MAX_SPHERE_LEVELS];
} knSphereQuery;

// Nodes of one level, to be answered in any order or all at once. The caller sets `descend`, and
// `cache` when `first` is set: it comes back with the same point on deeper levels, so that inside
// or outside, or the distance, is computed once.
typedef struct knSphereBatch
{
    float x[KN_SPHERE_BATCH];
    float y[KN_SPHERE_BATCH];
    float z[KN_SPHERE_BATCH];
    float radius[KN_SPHERE_BATCH];
    float cache[KN_SPHERE_BATCH];
    uint32_t point[KN_SPHERE_BATCH];
    uint32_t cursor[KN_SPHERE_BATCH]; // of the query
    uint8_t first[KN_SPHERE_BATCH];   // 1 when the query meets the point for the first time
    uint8_t descend[KN_SPHERE_BATCH]; // the answer: 1 to go on below
    uint32_t count;
    uint32_t level;
} knSphereBatch;

// Items are the caller's; as many as the fragment has points are always enough. The forest and the
// cuts stay as they are while the query lasts.
KN_API void knSphereQuery_Begin(knSphereQuery* query, const knSphereForest* forest,
                                const knCutStore* cuts, uint32_t fragment, knSphereQueryItem* items,
                                uint32_t itemCapacity);

// Takes the answers in the batch that it filled last and fills it with the next nodes; start with a
// batch whose count is 0. False when there are no more.
KN_API bool knSphereQuery_Next(knSphereQuery* query, knSphereBatch* batch);
