// SPDX-License-Identifier: Zlib
#pragma once

// The hierarchies of two papers over surfaces that deform and break, picked by option. They share
// the exact pairs, the kernels, the query object and the funnel of bvh.h; the nodes are their own.
//
// balanced  (Otaduy et al. 2007) An AVL tree per body, a triangle to a leaf. Cracks insert, delete
//           and replace leaves; breaking clones the tree and deletes. Data: two nodes of 40 bytes a
//           triangle and fans around vertices. Cost: O(log n) a triangle that comes or goes, O(n)
//           an update, O(n) a part of a breaking body.
// lazy      (Larsson, Akenine-Moeller 2006) A tree per body with two to eight children to a node
//           that exists only where queries go. Updates fit what the last queries visited; queries
//           split nodes, so they write to the hierarchy. Data: the order of the primitives and
//           nodes of 48 bytes where the tree is. Cost: O(n) an update, splits where they are
//           needed.
// swiper    (2006 too) No hierarchy: sorted intervals on three axes over all bodies. Cost: the
//           changes of order, and the overlaps on the best axis.
//
// All memory belongs to the hierarchy and comes from its allocator. A step that moves vertices,
// updates and asks makes no call to it once it has seen its like. Everything runs on the calling
// thread; one thread at a time. A call that fails has changed nothing.

#include "knap/bvh.h"

typedef enum knHierarchyMethod
{
    kn_hierarchyBalanced = 0,
    kn_hierarchyLazy,
    kn_hierarchySwiper,
    kn_hierarchyMethodCount
} knHierarchyMethod;

typedef struct knHierarchyDef
{
    size_t size; // of this struct, set by knDefaultHierarchyDef
    knHierarchyMethod method;
    knInstructionSet instructions; // all give the same answers

    // balanced
    bool optimize;        // permutes grandchildren after a change (2007, 4.3)
    float rebuildQuality; // Q above which a changed body is built anew; 0: never (5.3: 2.3)

    // lazy
    float invalidRatio;  // R: children with more volume than 1 / R of their parent's are dropped
    float crowdedShare;  // most of the primitives that one child may get
    uint32_t leafSize;   // primitives that are not split any more, 1 to 8
    uint32_t restFrames; // updates for which a node that splitting did not mend keeps its children
    bool preallocate;    // room for a whole tree from the start

    // swiper
    float sortLimit;     // k: insertion sort ends after k n log n moves
    uint32_t sortFrames; // m: updates for which the list then is not sorted by insertion
    uint64_t seed;       // of the list that is taken when all have failed
} knHierarchyDef;

typedef struct knHierarchy knHierarchy;

// Work since it was last taken. The first six are the numbers of Equations 2 to 5 of the 2006
// paper: T = Np Cp + Nb Cb + Ng Cg + Nu Cu + Ns Cs + Nd Cd.
typedef struct knHierarchyWork
{
    uint64_t primitiveTests;  // Np, pairs of triangles whose boxes overlap
    uint64_t boxTests;        // Nb; of SWIPER, overlaps on the axis of the traversal
    uint64_t fitPrimitives;   // Ng, triangles whose boxes were found
    uint64_t mergedBoxes;     // Nu, children's boxes that went into a parent's
    uint64_t splitPrimitives; // Ns, triangles dealt out to children
    uint64_t foldPrimitives;  // Nd, triangles of nodes that were dropped

    // balanced
    uint64_t insertions, deletions, replacements;
    uint64_t rotations, permutations, rebuilds;
    uint64_t greedyInsertions; // of insertions, those without a neighbour in the tree
    uint64_t clonedNodes;

    // lazy
    uint64_t splits, invalidations, rescues, medianRescues, rests;

    // swiper
    uint64_t sortMoves, quicksorts, failedSorts;
} knHierarchyWork;

typedef struct knHierarchyInfo
{
    uint32_t vertexCount;
    uint32_t triangleCount;
    uint32_t bodyCount;
    uint32_t nodeCount;
    uint32_t activeCount; // lazy: nodes that queries have marked since the last update
    uint32_t height;      // of the highest tree; a leaf alone has 0
    uint32_t brokenCount; // triangles with a coordinate that is not finite, at the last update
    double quality;       // balanced: the largest Q of a body (Equation 4 of 2007)
    uint64_t overlaps[3]; // swiper: per axis; UINT64_MAX while an axis is not sorted
    int axis;             // swiper: of the traversal
    size_t bytes;         // held from the allocator
} knHierarchyInfo;

KN_API knHierarchyDef knDefaultHierarchyDef(void);
KN_API knResult knCreateHierarchy(knHierarchy** hierarchy, const knHierarchyDef* def,
                                  const knAllocator* allocator);
KN_API void knDestroyHierarchy(knHierarchy* hierarchy);

// Room for so many vertices and triangles more, so that cracks up to there make no call to the
// allocator. Lazy trees grow with the body that cracks, at least doubling.
KN_API knResult knHierarchy_Reserve(knHierarchy* hierarchy, uint32_t vertexCount,
                                    uint32_t triangleCount);

// Vertices are numbered in the order they come and stay.
KN_API knResult knHierarchy_AddVertices(knHierarchy* hierarchy, const knVec3* positions,
                                        uint32_t count, uint32_t* first);
KN_API knResult knHierarchy_MoveVertices(knHierarchy* hierarchy, uint32_t first, uint32_t count,
                                         const knVec3* positions);

// In a hierarchy without deletions triangles are numbered in the order they come; the places of
// deleted ones are used again, the last freed first. `ids` may be null.
KN_API knResult knHierarchy_AddBody(knHierarchy* hierarchy, const knTriangle* triangles,
                                    uint32_t count, uint32_t* ids, knId* body);

// A body whose vertices stay and that moves by its pose, with a tree made once; lazy only. Where a
// vertex is: knHierarchy_Position. Its vertices should be no other body's.
KN_API knResult knHierarchy_AddRigidBody(knHierarchy* hierarchy, const knTriangle* triangles,
                                         uint32_t count, uint32_t* ids, knId* body);
// The rotation is made unit length.
KN_API knResult knHierarchy_SetPose(knHierarchy* hierarchy, knId body, knTransform pose);

KN_API knResult knHierarchy_DeleteBody(knHierarchy* hierarchy, knId body);

// A crack that grows (2007, 4.1). Each old triangle ends; the first of its pieces takes its place
// and its id, the others and the crack's faces are inserted beside neighbours that share their
// vertices. Old triangles without pieces are deleted.
typedef struct knHierarchyCrack
{
    knId body;
    const uint32_t* oldTriangles;
    uint32_t oldCount;
    const knTriangle* pieces;
    const uint32_t* pieceOf; // for each piece, the index of its old triangle
    uint32_t pieceCount;
    const knTriangle* faces;
    uint32_t faceCount;
} knHierarchyCrack;

// `ids` gets those of the pieces, then of the faces; may be null.
KN_API knResult knHierarchy_Crack(knHierarchy* hierarchy, const knHierarchyCrack* crack,
                                  uint32_t* ids);

// Single triangles; insertion finds neighbours as a crack does.
KN_API knResult knHierarchy_InsertTriangles(knHierarchy* hierarchy, knId body,
                                            const knTriangle* triangles, uint32_t count,
                                            uint32_t* ids);
KN_API knResult knHierarchy_DeleteTriangles(knHierarchy* hierarchy, const uint32_t* ids,
                                            uint32_t count);
KN_API knResult knHierarchy_ReplaceTriangle(knHierarchy* hierarchy, uint32_t id,
                                            knTriangle triangle);

// A body ends and `partCount` begin (2007, 4.2). Every triangle of the body is named once and goes
// to its part, or breaks (KN_NONE); new triangles come to the parts.
typedef struct knHierarchyBreak
{
    knId body;
    const uint32_t* triangles;
    const uint32_t* parts;
    uint32_t triangleCount;
    const knTriangle* newTriangles;
    const uint32_t* newParts;
    uint32_t newCount;
    uint32_t partCount;
} knHierarchyBreak;

// `newIds` may be null.
KN_API knResult knHierarchy_Break(knHierarchy* hierarchy, const knHierarchyBreak* event,
                                  knId* bodies, uint32_t* newIds);

// Brings everything to the positions as they are now; before a query, after a change.
KN_API knResult knHierarchy_Update(knHierarchy* hierarchy);

KN_API void knHierarchy_Info(const knHierarchy* hierarchy, knHierarchyInfo* info);

// The counters, which begin again from zero.
KN_API knHierarchyWork knHierarchy_TakeWork(knHierarchy* hierarchy);

// KN_NONE in all corners when there is no such triangle.
KN_API knTriangle knHierarchy_Triangle(const knHierarchy* hierarchy, uint32_t id);
KN_API knId knHierarchy_TriangleBody(const knHierarchy* hierarchy, uint32_t id);

// Where a vertex is as a corner of the triangle: for a rigid body, moved by its pose.
KN_API knVec3 knHierarchy_Position(const knHierarchy* hierarchy, uint32_t triangle, int corner);

// As knBvhQuery_Run, with the same pairs in the same order. `tasks` and `searchAll` of the
// definition change nothing here.
KN_API knResult knBvhQuery_RunHierarchy(knBvhQuery* query, knHierarchy* hierarchy,
                                        const knBvhQueryDef* def);

// The pairs of two bodies with each other; with SWIPER as dear as a whole query.
KN_API knResult knBvhQuery_RunHierarchyBodies(knBvhQuery* query, knHierarchy* hierarchy, knId first,
                                              knId second, const knBvhQueryDef* def);
