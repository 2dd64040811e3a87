// SPDX-License-Identifier: Zlib
#pragma once

// The data of a scene, and what its files call in each other.

#include "bvh/bvh_predicates_internal.h"
#include "bvh/bvh_triangles_internal.h"
#include "knap/bvh.h"
#include "knap/random.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define KN_LANES     8  // triangles to a leaf block
#define KN_FLAG_BITS 12 // of a pair's key, below the ids
#define KN_ID_BITS   26 // KN_MAX_MESH_SIZE

// Two children stand side by side and fill a cache line. `child` is the first of them, or the block
// of a leaf.
typedef struct knBvhNode
{
    float lower[3];
    uint32_t child;
    float upper[3];
    uint32_t count; // triangles of a leaf; 0: an inner node
} knBvhNode;

// What a traversal does not read.
typedef struct knBvhCold
{
    uint32_t parent; // KN_NONE at the root
    uint32_t body;   // index of the body whose root this is, else 0
    uint32_t triangleCount;
    float interCost;     // TCI, Equation 6
    float selfCost;      // TCS, Equation 7
    float builtSelfCost; // TCS after the part was last built; 0: to be noted
    uint32_t restUntil;  // commit before which the part is not restructured again
} knBvhCold;

// Eight triangles in structure of arrays. A lane that is unused, or whose triangle is not finite,
// is NaN throughout: no box comparison holds for it.
typedef struct knBvhBlock
{
    float v[3][3][KN_LANES]; // corner, axis
    uint32_t vertex[3][KN_LANES];
    uint32_t triangle[KN_LANES]; // KN_NONE: unused; used lanes come first
} knBvhBlock;

_Static_assert(sizeof(knBvhNode) == 32, "two nodes fill a cache line");
_Static_assert(sizeof(knBvhBlock) == 416, "52 bytes a triangle");

typedef struct knBvhTriangle
{
    uint32_t v[3];
    uint32_t body;  // index in the pool; 0: free, and v[0] is the next free one
    uint32_t place; // block * KN_LANES + lane
} knBvhTriangle;

typedef struct knBvhBody
{
    uint32_t node; // KN_NONE while it has no triangles
    uint32_t triangleCount;
} knBvhBody;

// A triangle while a hierarchy is built.
typedef struct knBuildItem
{
    float center[3]; // of its box
    uint32_t triangle;
} knBuildItem;

// The root of a body while the tree above is built anew.
typedef struct knBvhUnit
{
    knBvhNode node;
    knBvhCold cold;
} knBvhUnit;

// Pairs that were found, and what it took.
typedef struct knPairSink
{
    uint64_t* keys; // a, b, flags from the highest bit down
    size_t count;   // goes on past the capacity: what did not fit is only counted
    size_t capacity;
    knBvhFunnel funnel;
    float filterScale; // error of the wide filter in parts of the permanent
    float filterFloor; // and what underflow adds
    uint32_t sabotage;
    bool skipAdjacent;
} knPairSink;

// The loops that exist once per instruction set.
typedef struct knBvhKernels
{
    void (*meetBlocks)(const knBvhBlock* a, const knBvhBlock* b, const knBvhNode* aNode,
                       const knBvhNode* bNode, knPairSink* sink);
    void (*meetBlockItself)(const knBvhBlock* a, int count, knPairSink* sink);
    // lane i of the one with lane i of the other, boxes known to overlap
    void (*meetPairs)(const knBvhBlock* a, const knBvhBlock* b, int count, knPairSink* sink);
    // fetches positions and gives the leaf its box; returns how many triangles are not finite
    uint32_t (*refitBlock)(knBvhBlock* block, const knVec3* positions, knBvhNode* leaf);
    // bit mask of the directions along which every normal of the block goes
    uint32_t (*findNormals)(const knBvhBlock* block, float floor);
} knBvhKernels;

extern const knBvhKernels knScalarBvhKernels;
extern const knBvhKernels knSseBvhKernels;
extern const knBvhKernels knAvx2BvhKernels;

// Null when this machine has not what was asked for.
const knBvhKernels* knChooseKernels(knInstructionSet set);

// A directed edge of the boundary of a set of triangles.
typedef struct knHalfEdge
{
    uint32_t from, to;
} knHalfEdge;

// What culling knows of a node's triangles. The list stays with the slot.
typedef struct knBvhContour
{
    uint32_t first; // of the half-edges
    uint32_t count; // more than are kept: too long to be stored
    uint32_t capacity;
    uint32_t restUntil; // commit before which the node is not looked at again
    bool isValid;       // the list is that of the triangles now
} knBvhContour;

// Axis and half of the apex angle; a negative angle: holds nothing.
typedef struct knCone
{
    knVec3 axis;
    float angle;
} knCone;

typedef struct knBvhCones
{
    knCone normal, binormal;
    uint32_t componentCount; // parts that hang together by edges
} knBvhCones;

struct knBvhScene
{
    knMemoryTracker tracker;
    knAllocator allocator; // through the tracker
    knBvhSceneDef def;
    const knBvhKernels* kernels;
    uint32_t sabotage; // knBvhSabotage, for tests

    knVec3* positions;
    size_t vertexCapacity;
    uint32_t vertexCount;

    knBvhTriangle* triangles;
    size_t triangleCapacity;
    uint32_t triangleSlots; // ever used
    uint32_t freeTriangle;  // KN_NONE ends the list
    uint32_t freeTriangleCount;

    knPool bodies;

    knBvhNode* nodes; // slot 0 is the root, slot 1 is not used
    knBvhCold* cold;
    size_t nodeCapacity, coldCapacity;
    uint32_t nodeSlots;
    uint32_t freePair; // linked through cold.parent
    uint32_t freePairCount;
    bool hasRoot;

    knBvhBlock* blocks;
    uint32_t* blockNodes; // the leaf of each block; the next free one of a free block
    size_t blockCapacity, blockNodeCapacity;
    uint32_t blockSlots;
    uint32_t freeBlock;
    uint32_t freeBlockCount;

    uint32_t* order; // nodes, children before parents; valid while orderIsValid
    size_t orderCapacity;
    uint32_t orderCount;
    uint32_t height; // of the tree, nodes on the longest way down
    bool orderIsValid;

    knBvhContour* contours; // per node, with culling
    size_t contourCapacity;
    uint8_t* culled; // per node: nothing below meets itself
    size_t culledCapacity;
    knHalfEdge* halfEdges;
    size_t halfEdgeCapacity;
    uint32_t halfEdgeCount, halfEdgeUsed;
    knBvhCones* cones; // per node, with culling by cones
    size_t coneCapacity;
    uint32_t* boundaryMasks; // per block: bit 3 lane + corner of an edge that is boundary
    size_t boundaryMaskCapacity;
    bool conesAreValid; // connectivity and masks are those of the structure now

    knBuildItem* items; // scratch of a build
    size_t itemCapacity;
    knBuildItem* parts; // scratch of a split: a part's number for a triangle's
    size_t partCapacity;
    uint32_t* partStarts;
    size_t partStartCapacity;
    knBvhUnit* units; // scratch of a rebuild above bodies
    size_t unitCapacity;

    bool isCommitted;
    bool hasMoved; // since the last commit
    float padding; // added to extents, so that flat boxes have a volume
    uint32_t brokenCount;
    uint32_t commitCount;
    uint64_t restructureCount;

    // for measure only
    float volumeRatio;    // above 0: parts are restructured by volumes of children, not by cost
    knRandom* randomness; // not null: builds split at random planes
};

static inline bool knIsLeaf(const knBvhNode* node)
{
    return node->count != 0;
}

// Closed boxes. The fourth lane holds integers and is masked out.
static inline bool knNodesOverlap(const knBvhNode* a, const knBvhNode* b)
{
#if defined(__SSE2__)
    __m128 below = _mm_cmple_ps(_mm_loadu_ps(a->lower), _mm_loadu_ps(b->upper));
    __m128 above = _mm_cmple_ps(_mm_loadu_ps(b->lower), _mm_loadu_ps(a->upper));
    return (_mm_movemask_ps(_mm_and_ps(below, above)) & 7) == 7;
#else
    return a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] &&
           b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
#endif
}

static inline knBvhBody* knGetBody(const knBvhScene* scene, uint32_t index)
{
    return (knBvhBody*)(scene->bodies.items + (size_t)(index - 1) * scene->bodies.itemSize);
}

// bvh_tree.c: slots of the hierarchy and local changes to it.

// Room for so many leaves more, with the nodes above them: after it nothing here can fail.
knResult knReserveLeaves(knBvhScene* scene, size_t leafCount);
uint32_t knAcquireChildren(knBvhScene* scene, uint32_t node); // makes it an inner node
void knReleasePair(knBvhScene* scene, uint32_t pair);

// Gives the content to a slot; those below and the body follow.
void knPutNode(knBvhScene* scene, uint32_t to, const knBvhNode* node, const knBvhCold* cold);
uint32_t knAcquireBlock(knBvhScene* scene, uint32_t node);
void knSetLane(knBvhScene* scene, uint32_t block, uint32_t lane, uint32_t triangle);

// Gives back everything below the node; the node itself is left without a meaning.
void knReleaseBelow(knBvhScene* scene, uint32_t node);

// Takes the node out; its sibling takes the place of their parent.
void knRemoveNode(knBvhScene* scene, uint32_t node);

// Makes room for a new node beside an old one and returns its slot; the old one moves.
uint32_t knInsertBeside(knBvhScene* scene, uint32_t node);

// Boxes, counts and costs of a node from its children, or of a leaf from its block.
void knRefitNode(knBvhScene* scene, uint32_t node);
void knRefitAbove(knBvhScene* scene, uint32_t node); // its ancestors

// Equation 7, of an inner node.
void knSetSelfCost(knBvhScene* scene, uint32_t node);
void knOrderNodes(knBvhScene* scene);

// The next node that is not below this one, first parts first; KN_NONE at the end.
static inline uint32_t knNextAside(const knBvhScene* scene, uint32_t node)
{
    while (node != KN_NONE && (node == 0 || (node & 1) != 0))
    {
        node = scene->cold[node].parent;
    }
    return node == KN_NONE ? KN_NONE : node + 1;
}

// The node's triangles have changed.
static inline void knInvalidate(knBvhScene* scene, uint32_t node)
{
    scene->conesAreValid = false;
    if (scene->contours)
    {
        scene->contours[node].isValid = false;
        scene->culled[node] = 0;
    }
}

// bvh_cull.c

knResult knReserveContours(knBvhScene* scene, size_t nodeCount);
knResult knUpdateContours(knBvhScene* scene);
void knUpdateCulling(knBvhScene* scene);

// bvh_cones.c

knResult knReserveCones(knBvhScene* scene, size_t nodeCount, size_t blockCount);
knResult knUpdateCones(knBvhScene* scene);

// bvh_build.c

// An upper bound of the leaves that a build of so many triangles makes.
size_t knLeafBound(size_t triangleCount);
knResult knReserveItems(knBvhScene* scene, size_t count);

// Builds the hierarchy over so many items below the node and fits it. Leaves must have been
// reserved.
void knBuildBelow(knBvhScene* scene, uint32_t node, uint32_t first, uint32_t count);

// Brings the items that come first along the axis to [begin, middle).
void knSelectItems(knBuildItem* items, uint32_t begin, uint32_t end, uint32_t middle, int axis);
int knLongestAxis(const knBuildItem* items, uint32_t begin, uint32_t end);
void knSetItem(knBvhScene* scene, uint32_t item, uint32_t triangle);

// Appends the triangles below the node to the items and returns their number.
uint32_t knCollectItems(knBvhScene* scene, uint32_t node, uint32_t itemCount);

// bvh_bodies.c

// A vertex that does not exist, or null arguments, fail.
knResult knCheckTriangles(const knBvhScene* scene, const knTriangle* triangles, uint32_t count);
knResult knReserveTriangles(knBvhScene* scene, uint32_t count);
uint32_t knAcquireTriangle(knBvhScene* scene, knTriangle triangle, uint32_t body);
void knReleaseTriangle(knBvhScene* scene, uint32_t id);

// Marks the triangles, all different and all of one body unless `body` is 0; fails otherwise.
#define KN_MARK 0x80000000u // in knBvhTriangle.place
knResult knMarkTriangles(knBvhScene* scene, const uint32_t* ids, uint32_t count, uint32_t body);

// The slot of a new node for the body's items, found by cost from `start` down; KN_NONE starts at
// the root.
uint32_t knPlaceBody(knBvhScene* scene, uint32_t body, uint32_t start, uint32_t first,
                     uint32_t count);

// bvh_restructure.c

knResult knReserveRebuild(knBvhScene* scene);
void knRebuildAll(knBvhScene* scene);
void knRestructureSelected(knBvhScene* scene);
void knRememberCosts(knBvhScene* scene);

// bvh_query.c and bvh_pairs.c

typedef struct knNodePair
{
    uint32_t a, b; // equal: a node with itself
} knNodePair;

struct knBvhQuery
{
    knAllocator allocator;
    knPairSink sinks[KN_MAX_WORKERS];
    knNodePair* stacks; // one after the other, stackSize for each worker
    size_t stackCapacity;
    size_t stackSize;
    knNodePair* tasks; // two halves
    size_t taskCapacity;
    uint32_t taskCount;
    uint64_t* keys; // two halves
    size_t keyCapacity;
    knBvhPair* pairs;
    size_t pairCapacity;
    size_t pairCount;
    knBvhFunnel funnel;
    const knBvhScene* scene; // while it runs
    knBvhQueryDef def;
};

// An empty sink for coordinates of at most that size.
void knResetSink(knPairSink* sink, float size, uint32_t sabotage, bool skipAdjacent);

// The exact test, and the key when the pair is to be reported.
void knMeetLanes(const knBvhBlock* a, int aLane, const knBvhBlock* b, int bLane, knPairSink* sink);

// Joins what the workers found, sorts it and makes the pairs.
knResult knFinishPairs(knBvhQuery* query, int workerCount, size_t keyCount);
