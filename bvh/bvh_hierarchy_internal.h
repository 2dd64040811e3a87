// SPDX-License-Identifier: Zlib
#pragma once

// The data of a hierarchy and what its files call in each other.

#include "bvh/bvh_internal.h"
#include "knap/bvh_hierarchy.h"

#define KN_BLOCK_CACHE 512 // leaves of a lazy tree whose triangles are at hand

// A node of an AVL tree; its parent and height are in a knBalancedLink.
typedef struct knBalancedNode
{
    float lower[3];
    uint32_t left; // of a leaf: its triangle; of a free node: the next one
    float upper[3];
    uint32_t right; // KN_NONE: a leaf
} knBalancedNode;

typedef struct knBalancedLink
{
    uint32_t parent; // KN_NONE: a root
    uint32_t height;
} knBalancedLink;

// The triangles around a vertex, a list of corners: 3 * triangle + corner.
typedef struct knFanLink
{
    uint32_t next, previous; // KN_NONE ends it; of the first, previous is KN_NONE
} knFanLink;

// Children stand side by side. A node without children covers its primitives itself: a leaf when
// they are few, else invalid, and split when a query comes to it.
typedef struct knLazyNode
{
    knBvhNode box;         // child: the first child; count: children
    uint32_t first, count; // of the body's primitives
    uint32_t activeIn;     // period in which a query last marked it
    uint32_t restUntil;    // period before which its children's volumes do not matter; of a rigid
                           // body, the period for which the box is that of the pose
} knLazyNode;

// A lane of the place where a triangle is, for all methods.
typedef struct knHierarchyBody
{
    uint32_t triangleCount;
    uint32_t root; // KN_NONE while it has no triangles, and with SWIPER
    uint32_t slot; // in the pool of bodies, from 1

    bool isChanged; // balanced: since the last update
    double quality, builtQuality;

    bool isRigid; // lazy
    knTransform pose;
    uint32_t* primitives; // in the order of the tree; KN_NONE: deleted
    size_t primitiveCapacity;
    uint32_t primitiveCount, deadCount;
} knHierarchyBody;

typedef struct knEndpoint
{
    float value;
    uint32_t name; // 2 * triangle, + 1 for the upper end
} knEndpoint;

typedef struct knSweepBox
{
    float lower[3], upper[3]; // lower > upper: not finite
} knSweepBox;

typedef struct knSweepAxis
{
    knEndpoint* endpoints;
    size_t capacity;
    uint64_t overlaps;  // pairs of intervals, while it is sorted
    uint32_t restUntil; // period in which insertion sort is tried again
    bool isSorted;
} knSweepAxis;

typedef struct knSweepEntry
{
    float bounds[4]; // what must not exceed the negated bounds of another on two axes
} knSweepEntry;

// Intervals of all triangles on three axes.
typedef struct knSwiper
{
    knSweepAxis axes[3];
    knSweepBox* boxes; // per triangle
    size_t boxCapacity;
    uint32_t* places; // of a triangle among the open intervals
    size_t placeCapacity;
    knSweepEntry* open; // intervals that the traversal is in
    uint32_t* openNames;
    size_t openCapacity, openNameCapacity;
    uint32_t endpointCount;
    int axis;   // of the traversal
    float size; // no finite coordinate is larger
    bool isChanged;
    knRandom random;
} knSwiper;

typedef struct knBvhTriangle
{
    uint32_t v[3];
    uint32_t body;  // index in the pool; 0: free, and v[0] is the next free one
    uint32_t place; // what the kind of hierarchy needs to find it
} knBvhTriangle;

// A triangle of a node that is split.
typedef struct knSplitItem
{
    float lower[3];
    uint32_t triangle;
    float upper[3];
    uint32_t octant;
} knSplitItem;

struct knHierarchy
{
    knMemoryTracker tracker;
    knAllocator allocator; // through the tracker
    knHierarchyDef def;
    const knBvhKernels* kernels;

    knVec3* positions; // one more than there are, so that four floats can be read at each
    size_t vertexCapacity;
    uint32_t vertexCount;

    knBvhTriangle* triangles; // place: leaf of a balanced tree, or index among the primitives
    size_t triangleCapacity;
    uint32_t triangleSlots;
    uint32_t freeTriangle;
    uint32_t freeTriangleCount;
    knPool bodies;

    bool isUpdated;
    uint32_t period; // updates
    uint32_t epoch;  // updates and changes
    uint32_t brokenCount;
    float padding; // added to extents, so that flat boxes have a volume
    knHierarchyWork work;

    // balanced
    knBalancedNode* nodes;
    knBalancedLink* links;
    size_t nodeCapacity, linkCapacity;
    uint32_t nodeSlots, freeNode, freeNodeCount;
    uint32_t* fanHeads; // per vertex
    size_t fanHeadCapacity;
    knFanLink* fans; // per corner
    size_t fanCapacity;
    uint32_t* queue; // of a search, and leaves to delete
    size_t queueCapacity;
    uint8_t* isPending; // per triangle: to be inserted
    size_t pendingCapacity;

    // lazy
    knLazyNode* lazy;
    size_t lazyCapacity;
    uint32_t lazySlots;
    uint32_t lazyUsed;
    uint32_t freeBlocks[9]; // by size, linked through box.child
    knBox* rigidBoxes;      // per node, in the body's frame; only with rigid bodies
    size_t rigidBoxCapacity;
    uint32_t rigidCount;
    knSplitItem* splitItems;
    size_t splitItemCapacity;
    knBvhBlock* blocks;  // cache
    uint32_t* blockKeys; // node, epoch
    size_t blockCapacity, blockKeyCapacity;

    knSwiper swiper;
    uint32_t* changes; // scratch: ids that come and go, parts of triangles
    size_t changeCapacity;
    knBuildItem* items; // scratch of a build
    size_t itemCapacity;
};

// Pairs of triangles whose boxes overlap, eight at a time through the wide filter.
typedef struct knPairBatch
{
    const knHierarchy* hierarchy;
    knPairSink* sink;
    knBvhBlock a, b;
    int count;
    int limit; // 8, or 1 when the search stops at the first pair
} knPairBatch;

// What a traversal goes by.
typedef struct knHierarchyWalk
{
    knHierarchy* hierarchy;
    knPairSink* sink;
    knBvhQueryDef def;
    uint32_t first, second; // bodies; 0: all
    knResult result;
    knPairBatch batch;
} knHierarchyWalk;

// Closed boxes whose corners are followed by something readable.
static inline bool knBoxesOverlap(const float* aLower, const float* aUpper, const float* bLower,
                                  const float* bUpper)
{
#if defined(__SSE2__)
    __m128 below = _mm_cmple_ps(_mm_loadu_ps(aLower), _mm_loadu_ps(bUpper));
    __m128 above = _mm_cmple_ps(_mm_loadu_ps(bLower), _mm_loadu_ps(aUpper));
    return (_mm_movemask_ps(_mm_and_ps(below, above)) & 7) == 7;
#else
    return aLower[0] <= bUpper[0] && bLower[0] <= aUpper[0] && aLower[1] <= bUpper[1] &&
           bLower[1] <= aUpper[1] && aLower[2] <= bUpper[2] && bLower[2] <= aUpper[2];
#endif
}

#if defined(__SSE2__)
static inline void knStore3(float* to, __m128 from)
{
    _mm_storel_pi((__m64*)to, from);
    _mm_store_ss(to + 2, _mm_movehl_ps(from, from));
}

// False when a coordinate is not finite. Reads four floats at each position.
static inline bool knFindTriangleBounds(const knVec3* positions, const uint32_t v[3], __m128* low,
                                        __m128* high)
{
    __m128 a = _mm_loadu_ps(&positions[v[0]].x), b = _mm_loadu_ps(&positions[v[1]].x);
    __m128 c = _mm_loadu_ps(&positions[v[2]].x);
    __m128 sign = _mm_set1_ps(-0.0f), most = _mm_set1_ps(FLT_MAX);
    __m128 finite = _mm_and_ps(_mm_cmple_ps(_mm_andnot_ps(sign, a), most),
                               _mm_cmple_ps(_mm_andnot_ps(sign, b), most));
    finite = _mm_and_ps(finite, _mm_cmple_ps(_mm_andnot_ps(sign, c), most));
    *low = _mm_min_ps(_mm_min_ps(a, b), c);
    *high = _mm_max_ps(_mm_max_ps(a, b), c);
    return (_mm_movemask_ps(finite) & 7) == 7;
}
#endif

// Empty, and false, when a coordinate is not finite.
static inline bool knFindTriangleBox(const knVec3* positions, const uint32_t v[3], float lower[3],
                                     float upper[3])
{
#if defined(__SSE2__)
    __m128 low, high;
    bool isFinite = knFindTriangleBounds(positions, v, &low, &high);
    knStore3(lower, isFinite ? low : _mm_set1_ps(INFINITY));
    knStore3(upper, isFinite ? high : _mm_set1_ps(-INFINITY));
#else
    knVec3 a = positions[v[0]], b = positions[v[1]], c = positions[v[2]];
    knVec3 low = knMin(knMin(a, b), c), high = knMax(knMax(a, b), c);
    bool isFinite = knIsFinite(a) && knIsFinite(b) && knIsFinite(c);
    const float bounds[6] = {low.x, low.y, low.z, high.x, high.y, high.z};
    for (int axis = 0; axis < 3; ++axis)
    {
        lower[axis] = isFinite ? bounds[axis] : INFINITY;
        upper[axis] = isFinite ? bounds[axis + 3] : -INFINITY;
    }
#endif
    return isFinite;
}

static inline void knGrowBox(float lower[3], float upper[3], const float* otherLower,
                             const float* otherUpper)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        lower[axis] = otherLower[axis] < lower[axis] ? otherLower[axis] : lower[axis];
        upper[axis] = otherUpper[axis] > upper[axis] ? otherUpper[axis] : upper[axis];
    }
}

// 0 for an empty box. In double, as squares of volumes leave the floats.
static inline double knPaddedVolume(const float lower[3], const float upper[3], float padding)
{
    double x = (double)upper[0] - (double)lower[0] + (double)padding;
    double y = (double)upper[1] - (double)lower[1] + (double)padding;
    double z = (double)upper[2] - (double)lower[2] + (double)padding;
    return lower[0] <= upper[0] ? x * y * z : 0.0;
}

// For the choice which node to descend.
static inline float knBoxSpan(const float lower[3], const float upper[3])
{
    return upper[0] - lower[0] + (upper[1] - lower[1]) + (upper[2] - lower[2]);
}

static inline knHierarchyBody* knGetHierarchyBody(const knHierarchy* h, uint32_t slot)
{
    return (knHierarchyBody*)(h->bodies.items + (size_t)(slot - 1) * h->bodies.itemSize);
}

// Slots of bodies in their order: from 0, and 0 at the end.
static inline uint32_t knNextBody(const knHierarchy* h, uint32_t slot)
{
    knId id = {slot, slot ? h->bodies.generations[slot - 1] : 0};
    return knPool_Next(&h->bodies, id).index;
}

// bvh_hierarchy_query.c

void knPairBatch_Add(knPairBatch* batch, uint32_t a, uint32_t b);
void knPairBatch_Flush(knPairBatch* batch);

static inline bool knIsDone(const knHierarchyWalk* w)
{
    return w->result != kn_success || (w->def.anyOnly && w->sink->count > 0);
}

// What is asked for of two bodies, or of one with itself.
bool knWantsBodies(const knHierarchyWalk* w, uint32_t a, uint32_t b);

// bvh_hierarchy.c

knResult knReserveHierarchyVertices(knHierarchy* h, uint32_t count);

// A hundredth of the median edge, from a sample.
void knSetHierarchyPadding(knHierarchy* h);

// bvh_hierarchy_bodies.c: the parts of a change. Everything is checked and reserved first.

knResult knCheckHierarchyTriangles(const knHierarchy* h, const knTriangle* triangles,
                                   uint32_t count);

// All different, of one body unless `body` is 0, and of none that is rigid.
knResult knCheckHierarchyIds(knHierarchy* h, const uint32_t* ids, uint32_t count, uint32_t body);
knResult knReserveHierarchyTriangles(knHierarchy* h, uint32_t count);
knResult knReserveHierarchyBodies(knHierarchy* h, uint32_t count);

// Room in the structures of the method for so many triangles more.
knResult knReserveMethod(knHierarchy* h, size_t nodeCount, uint32_t triangleCount);
knHierarchyBody* knAcquireHierarchyBody(knHierarchy* h, knId* id);

// With balanced trees the new triangle is pending: see knInsertPending.
uint32_t knInsertHierarchyTriangle(knHierarchy* h, knHierarchyBody* body, knTriangle triangle);
void knReleaseHierarchyTriangle(knHierarchy* h, uint32_t id);
void knNoteHierarchyChange(knHierarchy* h);

// bvh_balanced.c: the AVL tree. Nodes must have been reserved.

knResult knReserveBalanced(knHierarchy* h, size_t nodeCount, size_t triangleCount);
void knBuildBalanced(knHierarchy* h, knHierarchyBody* body, uint32_t itemCount);
void knInsertLeaf(knHierarchy* h, knHierarchyBody* body, uint32_t triangle, uint32_t beside);
void knDeleteLeaf(knHierarchy* h, knHierarchyBody* body, uint32_t leaf);
void knReleaseBalanced(knHierarchy* h, uint32_t node);

// Copies a tree. Leaves of the part's triangles become the triangles' places; the others are
// appended to the queue. Returns the root.
uint32_t knCloneBalanced(knHierarchy* h, uint32_t node, const uint32_t* partOf, uint32_t part,
                         uint32_t* queueCount);

// Appends the leaves of all other parts' triangles to the queue.
void knListOtherLeaves(knHierarchy* h, uint32_t node, const uint32_t* partOf, uint32_t part,
                       uint32_t* queueCount);

static inline bool knIsBalancedLeaf(const knBalancedNode* node)
{
    return node->right == KN_NONE;
}

// bvh_balanced_fit.c

// Boxes from the leaves up; returns how many triangles are not finite.
uint32_t knRefitBalanced(knHierarchy* h, uint32_t node);
void knOptimizeBalanced(knHierarchy* h, uint32_t node);
double knBalancedQuality(const knHierarchy* h, uint32_t root);
knResult knUpdateBalanced(knHierarchy* h);

// Items of all triangles of the tree; returns their number.
uint32_t knCollectBalanced(knHierarchy* h, uint32_t node, uint32_t itemCount);
void knSetHierarchyItem(knHierarchy* h, uint32_t item, uint32_t triangle);

// bvh_balanced_crack.c

void knLinkFan(knHierarchy* h, uint32_t triangle);
void knUnlinkFan(knHierarchy* h, uint32_t triangle);

// Inserts the pending triangles of the body, named in `ids`; `seeds` are in the tree already.
void knInsertPending(knHierarchy* h, knHierarchyBody* body, const uint32_t* ids, uint32_t count,
                     const uint32_t* seeds, uint32_t seedCount);

// bvh_balanced_query.c

void knWalkBalanced(knHierarchyWalk* w);

// bvh_lazy.c

knResult knReserveLazy(knHierarchy* h, size_t nodeCount);
knResult knReservePrimitives(knHierarchy* h, knHierarchyBody* body, size_t count);
knResult knReserveSplit(knHierarchy* h, size_t count); // primitives of the largest body
void knStartLazy(knHierarchy* h, knHierarchyBody* body);
uint32_t knAcquireLazy(knHierarchy* h, uint32_t count); // reserved
void knAppendPrimitive(knHierarchy* h, knHierarchyBody* body, uint32_t triangle);
void knDeletePrimitive(knHierarchy* h, knHierarchyBody* body, uint32_t triangle);
void knFoldLazy(knHierarchy* h, uint32_t node);
void knReleaseLazy(knHierarchy* h, knHierarchyBody* body);
void knLocatePrimitives(knHierarchy* h, const knHierarchyBody* body); // sets their places
knResult knUpdateLazy(knHierarchy* h);
void knFitLazy(knHierarchy* h, const knHierarchyBody* body, uint32_t node);

// Equation 1 of an inner node; infinite when the children have no volume.
double knLazyRatio(const knHierarchy* h, uint32_t node);

static inline bool knIsLazyLeaf(const knHierarchy* h, const knLazyNode* node)
{
    return node->count <= h->def.leafSize;
}

// bvh_lazy_split.c

knResult knSplitLazy(knHierarchy* h, const knHierarchyBody* body, uint32_t node);
knResult knSplitRigid(knHierarchy* h, const knHierarchyBody* body); // all of it

// bvh_lazy_query.c

void knWalkLazy(knHierarchyWalk* w);

// bvh_swiper.c

knResult knReserveSwiper(knHierarchy* h, size_t triangleCount);
knResult knUpdateSwiper(knHierarchy* h);
void knWalkSwiper(knHierarchyWalk* w);
