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
    uint32_t body;   // index of the body that all triangles below belong to; 0 above bodies
    uint32_t triangleCount;
    float interCost; // TCI, Equation 6
    float selfCost;  // TCS, Equation 7
} knBvhCold;

// What selective restructuring remembers of a node; only with it.
typedef struct knBvhHistory
{
    float builtSelfCost; // TCS after the part was last built; 0: to be noted; below 0: the part was
                         // just restructured, and this is what it cost before
    uint32_t restUntil;  // commit before which the part is not restructured again
} knBvhHistory;

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

// A triangle is its place, block * KN_LANES + lane; its vertices stand there alone, and its body is
// that of the leaf. A free one has this bit and the number of the next free one; a free block too.
#define KN_FREE      0x40000000u
#define KN_LAST_FREE 0x3FFFFFFFu

typedef struct knBvhBody
{
    uint32_t node; // KN_NONE while it has no triangles
    uint32_t triangleCount;
} knBvhBody;

// A triangle while a hierarchy is built; what is sorted is kept small.
typedef struct knBuildItem
{
    float center[3];   // of its box
    uint32_t triangle; // its source in knBvhScene.sources; or the number of a part
} knBuildItem;

typedef struct knBuildSource
{
    uint32_t v[3];
    uint32_t triangle;
} knBuildSource;

// Pairs that were found, and what it took.
typedef struct knPairSink
{
    uint64_t* keys; // a, b, flags from the highest bit down
    size_t count;   // goes on past the capacity: what did not fit is only counted
    size_t capacity;
    knBvhFunnel funnel;
    float filterScale; // error of the wide filter in parts of the permanent
    float filterFloor; // and what underflow adds
    float besideScale; // the same for planes upright on a triangle
    float besideFloor;
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

#define KN_MAX_CONTOUR 96   // edges; longer ones are seldom stars and cost much to look at
#define KN_PATCH_SIZE  1024 // triangles of a node with a contour; above it contours are longer

// For each edge of a block, by corner and lane: how many steps up from the leaf the node stands
// below which the edge and its opposite both are. The contour of a node k steps up are the edges
// below it with more than k. Unused lanes have 0.
typedef struct knBvhEdges
{
    uint8_t heights[3][KN_LANES];
} knBvhEdges;

#define KN_FAR_HEIGHT 255 // no opposite in the patch

// How the triangles of a node hang together by edges of two.
typedef enum knBvhParts
{
    kn_partsUnknown,
    kn_partsOne,
    kn_partsMore
} knBvhParts;

// What culling knows of a node.
typedef struct knBvhCullNode
{
    uint8_t restUntil;      // low bits of the commit before which it is not looked at again
    uint8_t failures : 2;   // in a row, at most 3: the rest doubles with each
    uint8_t isValid : 1;    // heights below are those of the triangles now
    uint8_t isHopeless : 1; // contour too long, or none
    uint8_t isCulled : 1;   // nothing below meets itself
    uint8_t parts : 2;      // knBvhParts, with culling by cones
} knBvhCullNode;

// All that is said of a node, while it goes to another slot.
typedef struct knBvhUnit
{
    knBvhNode node;
    knBvhCold cold;
    knBvhHistory history;
    knBvhCullNode cull;
} knBvhUnit;

// Axis and half of the apex angle; a negative angle: holds nothing.
typedef struct knCone
{
    knVec3 axis;
    float angle;
} knCone;

typedef struct knBvhCones
{
    knCone normal, binormal;
} knBvhCones;

// The triangles at an edge; none: an empty entry.
typedef struct knBvhLink
{
    uint32_t low, high; // vertices
    uint32_t count;
    uint32_t triangles; // exclusive or
} knBvhLink;

#define KN_STALE_MASK 0x80000000u // in boundaryMasks

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

    uint32_t* places; // of triangles
    size_t triangleCapacity;
    uint32_t triangleSlots; // ever used
    uint32_t freeTriangle;  // KN_LAST_FREE ends the list
    uint32_t freeTriangleCount;

    knPool bodies;

    knBvhNode* nodes; // slot 0 is the root, slot 1 is not used
    knBvhCold* cold;
    knBvhHistory* histories; // with selective restructuring
    size_t nodeCapacity, coldCapacity, historyCapacity;
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

    uint32_t* order; // inner nodes, children before parents; valid while orderIsValid
    size_t orderCapacity;
    uint32_t orderCount;
    uint32_t height; // of the tree, nodes on the longest way down
    bool orderIsValid;

    knBvhCullNode* cullNodes; // per node, with culling
    size_t cullNodeCapacity;
    knBvhEdges* edges; // per block, with culling
    size_t edgeCapacity;
    knBvhCones* cones; // per node, with culling by cones
    size_t coneCapacity;
    uint32_t* boundaryMasks; // per block: bit 3 lane + corner of an edge that is boundary
    size_t boundaryMaskCapacity;
    knBvhLink* links; // by edge, with culling by cones
    size_t linkCapacity, linkCount;
    bool linksAreStale; // masks and parts of all are to be found anew
    uint32_t* flood;    // scratch: triangles that were reached
    size_t floodCapacity;

    knBuildItem* items; // scratch of a build, given back at a commit when only refits follow
    size_t itemCapacity;
    knBuildSource* sources;
    size_t sourceCapacity;
    knBuildItem* parts; // scratch of a split: a part's number for a triangle's
    size_t partCapacity;
    uint32_t* partStarts;
    size_t partStartCapacity;
    knBvhUnit* units; // scratch of a rebuild above bodies
    size_t unitCapacity;

    knBvhChange* changes; // the closed ones first
    size_t changeCapacity, changeCount;
    uint32_t closedCount;

    bool isCommitted;
    bool hasMoved; // since the last commit
    float padding; // added to extents, so that flat boxes have a volume
    uint32_t brokenCount;
    uint32_t commitCount;
    uint64_t restructureCount;
    double foretold[2], gained[2]; // TCS by restructuring in this commit: within bodies, above them
    double trust[2];               // the part of what is foretold that has come true lately

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

// Gives what was in another slot to this one; those below and the body follow.
knBvhUnit knTakeNode(const knBvhScene* scene, uint32_t from);
void knPutNode(knBvhScene* scene, uint32_t to, const knBvhUnit* unit);
uint32_t knAcquireBlock(knBvhScene* scene, uint32_t node);
void knSetLane(knBvhScene* scene, uint32_t block, uint32_t lane, const knBuildSource* source);
void knClearLane(knBvhScene* scene, uint32_t block, uint32_t lane);

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
    if (scene->cullNodes)
    {
        memset(&scene->cullNodes[node], 0, sizeof *scene->cullNodes);
    }
}

static inline bool knIsCulled(const knBvhScene* scene, uint32_t node)
{
    return scene->cullNodes && scene->cullNodes[node].isCulled;
}

static inline bool knIsBodyRoot(const knBvhScene* scene, uint32_t node)
{
    const knBvhCold* c = &scene->cold[node];
    return c->body != 0 && (c->parent == KN_NONE || scene->cold[c->parent].body == 0);
}

static inline bool knIsBlockFree(const knBvhScene* scene, uint32_t block)
{
    return (scene->blockNodes[block] & KN_FREE) != 0;
}

static inline uint32_t knLeafOf(const knBvhScene* scene, uint32_t triangle)
{
    return scene->blockNodes[scene->places[triangle] / KN_LANES];
}

// The costs of a node built anew are to be noted.
static inline void knForgetHistory(knBvhScene* scene, uint32_t node)
{
    if (scene->histories)
    {
        scene->histories[node].builtSelfCost = 0.0f;
    }
}

// bvh_contour.c

knResult knReserveContours(knBvhScene* scene, size_t nodeCount, size_t blockCount);

// Finds the opposites of edges in patches that have changed.
void knUpdateContours(knBvhScene* scene);

static inline bool knHasContour(const knBvhScene* scene, uint32_t node)
{
    return scene->cold[node].body != 0 && scene->cold[node].triangleCount <= KN_PATCH_SIZE;
}

// Writes at most KN_MAX_CONTOUR edges; one more is returned for a longer contour.
uint32_t knGatherContour(const knBvhScene* scene, uint32_t node, knHalfEdge* out);

// bvh_cull.c

void knUpdateCulling(knBvhScene* scene);

// bvh_edges.c

knResult knReserveLinks(knBvhScene* scene, size_t triangleCount);

// The triangle comes or goes.
void knChangeLinks(knBvhScene* scene, const knBuildSource* triangle, bool isNew);

// The other triangle at an edge of two; KN_NONE at every other one.
uint32_t knNeighbour(const knBvhScene* scene, uint32_t triangle, uint32_t from, uint32_t to);

// bvh_parts.c

// Brings up to date which edges are boundary, in blocks that have changed.
void knUpdateBoundary(knBvhScene* scene);
bool knIsOnePart(knBvhScene* scene, uint32_t node);

// bvh_cones.c

knResult knReserveCones(knBvhScene* scene, size_t nodeCount, size_t blockCount);
void knUpdateCones(knBvhScene* scene);

// bvh_build.c

// An upper bound of the leaves that a build of so many triangles makes.
size_t knLeafBound(const knBvhScene* scene, size_t triangleCount);
knResult knReserveItems(knBvhScene* scene, size_t count);

// Builds the hierarchy over so many items below the node and fits it. Leaves must have been
// reserved.
void knBuildBelow(knBvhScene* scene, uint32_t node, uint32_t first, uint32_t count);

// Brings the items that come first along the axis to [begin, middle).
void knSelectItems(knBuildItem* items, uint32_t begin, uint32_t end, uint32_t middle, int axis);
int knLongestAxis(const knBuildItem* items, uint32_t begin, uint32_t end);

// Item and source of the same number.
void knSetItem(knBvhScene* scene, uint32_t item, const knBuildSource* source);
knBuildSource knSourceAt(const knBvhScene* scene, uint32_t place);

// Appends the triangles below the node to the items and returns their number.
uint32_t knCollectItems(knBvhScene* scene, uint32_t node, uint32_t itemCount);

// bvh_bodies.c

// A vertex that does not exist, or null arguments, fail.
knResult knCheckTriangles(const knBvhScene* scene, const knTriangle* triangles, uint32_t count);
knResult knReserveTriangles(knBvhScene* scene, uint32_t count);
uint32_t knAcquireTriangle(knBvhScene* scene);
void knReleaseTriangle(knBvhScene* scene, uint32_t id);

// Marks the triangles, all different and all of one body unless `body` is 0; fails otherwise.
#define KN_MARK 0x80000000u // in a place
knResult knMarkTriangles(knBvhScene* scene, const uint32_t* ids, uint32_t count, uint32_t body);

// The slot of a new node for the body's items, found by cost from `start` down; KN_NONE starts at
// the root.
uint32_t knPlaceBody(knBvhScene* scene, uint32_t body, uint32_t start, uint32_t first,
                     uint32_t count);

// bvh_journal.c

knResult knReserveChanges(knBvhScene* scene, size_t count);
void knNoteChange(knBvhScene* scene, knBvhChangeKind kind, uint32_t index, uint32_t generation);
void knCloseJournal(knBvhScene* scene);

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
    size_t mostKeys; // of all runs
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
