// SPDX-License-Identifier: Zlib
#pragma once

// What the files of continuous collision call in each other.

#include "bvh/bvh_internal.h"
#include "knap/bvh_ccd.h"

#define KN_CCD_STEPS     256  // of one test, then it is reported
#define KN_CCD_TOLERANCE 1e-6 // of the time: a part so short that is not free is a contact
#define KN_CCD_LEAF      16   // triangles of a leaf
#define KN_CCD_CONTOUR   128  // half-edges; parts with more are not culled

// Mistakes that tests plant.
typedef enum knCcdSabotage
{
    kn_sabotageCcdBound = 1,   // no error bound
    kn_sabotageCcdOrphans = 2, // no orphans
    kn_sabotageCcdContour = 4, // culling by normals alone
    kn_sabotageCcdFilter = 8,  // no wide filter: every candidate is tested
} knCcdSabotage;

// The corners of the difference of two features: three for vertex and face (v - f_i), four for edge
// and edge (a0 - b0, a1 - b0, a0 - b1, a1 - b1). The features touch when the hull of the corners
// holds the origin.
typedef struct knCcdCorners
{
    double start[4][3], end[4][3];
    double separation;
    double slack; // of each coordinate of a corner
    uint32_t count;
    uint32_t sabotage;
} knCcdCorners;

// The conservative test; the floating-point mode must be the default one. Free before `until` is
// free.
knCcdAnswer knMeetCorners(const knCcdCorners* corners, double until);

// A cubic over [0, 1] by its Bernstein coefficients.
typedef struct knCcdCubic
{
    double c[4];
} knCcdCubic;

// The volume that three corners span with the origin, and how far it may be off.
typedef struct knCcdVolume
{
    knCcdCubic cubic;
    double error;
} knCcdVolume;

knCcdVolume knFindCcdVolume(const knCcdCorners* corners);

// A time until which, from `begin`, features without separation or slack do not touch; `end` at
// most, `begin` when nothing is proved.
double knVolumeFreeUntil(const knCcdVolume* volume, double begin, double end);

// The papers' test, on the points themselves.
knCcdAnswer knMeetCubic(const knCcdTest* test, bool isFiltered);

// A box at the start and one at the end; points that move on straight lines are between them. The
// fourth lanes are zero.
typedef struct knCcdBox
{
    float startLower[4], startUpper[4];
    float endLower[4], endUpper[4];
} knCcdBox;

_Static_assert(sizeof(knCcdBox) == 64, "a cache line");

// The extents of an 18-DOP that a box lacks: along halves of x + y, x - y, x + z, x - z, y + z and
// y - z. The last two lanes are zero.
typedef struct knCcdDop
{
    float startLower[8], startUpper[8];
    float endLower[8], endUpper[8];
} knCcdDop;

typedef struct knCcdLink
{
    uint32_t child; // the first of two that stand side by side, or the leaf
    uint32_t count; // leaf: items; 0: an inner node
    uint32_t parent;
} knCcdLink;

// Eight vertices that move.
typedef struct knCcdMoving
{
    float start[3][KN_LANES], end[3][KN_LANES]; // axis
} knCcdMoving;

// What every block of eight features has.
typedef struct knCcdHead
{
    knCcdBox box;
    uint32_t id[KN_LANES];
    uint32_t lanes; // bits of those in use and finite
    uint32_t count; // in use
} knCcdHead;

typedef struct knCcdVertices
{
    knCcdHead head;
    knCcdMoving v[1];
} knCcdVertices;

typedef struct knCcdEdges
{
    knCcdHead head;
    uint32_t vertex[2][KN_LANES];
    knCcdMoving v[2];
} knCcdEdges;

typedef struct knCcdFaces
{
    knCcdHead head;
    uint32_t vertex[3][KN_LANES];
    knCcdMoving v[3];
} knCcdFaces;

// Blocks of the features that a leaf holds.
typedef struct knCcdLeaf
{
    uint32_t item; // first triangle, in the order of the tree
    uint32_t itemCount;
    uint32_t vertices, edges, faces; // first blocks
    uint32_t vertexBlocks, edgeBlocks, faceBlocks;
    uint32_t loneBlocks; // the last blocks of vertices: those that stand in no triangle
} knCcdLeaf;

typedef struct knCcdFound
{
    uint64_t key; // kind, a, b from the highest bit down
    double time;
} knCcdFound;

#define KN_CCD_FEATURE_BITS 29

static inline uint64_t knCcdKey(knCcdKind kind, uint32_t a, uint32_t b)
{
    uint64_t isFace = kind == kn_ccdVertexFace;
    return isFace << (2 * KN_CCD_FEATURE_BITS) | (uint64_t)a << KN_CCD_FEATURE_BITS | b;
}

// What one worker has found.
typedef struct knCcdSink
{
    knCcdFound* found;
    size_t count; // goes on past the capacity: what did not fit is only counted
    size_t capacity;
    uint64_t* log; // of every test made, for tests; null
    size_t logCount, logCapacity;
    knCcdFunnel funnel;
    double until;      // later contacts do not matter
    double separation; //
    float margin;      // at least the separation and what rounding to floats takes away
    const knDVec3 *exactStart, *exactEnd;
    knCcdSolver solver;
    uint32_t sabotage;
    bool firstOnly;
} knCcdSink;

// The loops that exist once per instruction set.
typedef struct knCcdKernels
{
    void (*meetEdges)(const knCcdEdges* a, const knCcdEdges* b, knCcdSink* sink);
    void (*meetFaces)(const knCcdVertices* a, const knCcdFaces* b, knCcdSink* sink);
    // lanes of b whose boxes meet that of a lane of a
    void (*overlapFaces)(const knCcdFaces* a, const knCcdFaces* b, float margin,
                         uint8_t lanes[KN_LANES]);
    // finds the box and the lanes in use
    void (*fitBlock)(knCcdHead* head, const knCcdMoving* v, int cornerCount, float margin);
    // directions along which every normal of the block goes for the whole step
    uint32_t (*findNormals)(const knCcdFaces* faces);
} knCcdKernels;

extern const knCcdKernels knScalarCcdKernels;
extern const knCcdKernels knSseCcdKernels;
extern const knCcdKernels knAvx2CcdKernels;

// The half-edges that bound a node's triangles.
typedef struct knCcdContour
{
    uint32_t first;
    uint32_t count;     // KN_NONE: too long to be kept
    uint32_t restUntil; // run before which it is not looked at again
    bool isConnected;   // the triangles hang together by edges
    bool isStale;       // to be found yet
} knCcdContour;

// Half-edges of two directions that meet leave nothing: what is left of a set is its boundary.
#define KN_CCD_TABLE 1024 // a power of two, four times the longest list

typedef struct knCcdCancelling
{
    uint32_t low[KN_CCD_TABLE], high[KN_CCD_TABLE];
    int32_t net[KN_CCD_TABLE]; // times from the lower to the higher vertex, less the other way
    uint32_t stamp[KN_CCD_TABLE];
    uint32_t places[KN_CCD_TABLE]; // in the order in which they came
    uint32_t placeCount;
    uint32_t now;
    bool isFull;
} knCcdCancelling;

// A pair of features that shares no vertex and whose triangles are all adjacent. Edges are named by
// their vertices, as numbers of edges change.
typedef struct knCcdOrphan
{
    uint32_t v[4]; // a0 < a1, b0 < b1, a before b; or v, KN_NONE, face, KN_NONE
    knCcdKind kind;
    uint32_t a, b; // numbers now
    uint32_t next; // of its node's list
} knCcdOrphan;

// The root of what hangs together, or of a few that fit a leaf.
typedef struct knCcdObject
{
    uint32_t node;
    knCcdLink link; // while roots are moved
    knCcdContour contour;
} knCcdObject;

typedef struct knCcdCones
{
    knCone normal, binormal;
} knCcdCones;

// A vertex seen along an axis, at both ends.
typedef struct knCcdFlat
{
    double x[2], y[2];
    uint32_t axis; // the node whose axis it is; KN_NONE
} knCcdFlat;

typedef struct knCcdPair
{
    uint32_t a, b; // equal: a node with itself
} knCcdPair;

struct knCcdStep
{
    knAllocator allocator;
    knCcdStepDef def;
    float margin; // of boxes and filters
    const knCcdKernels* kernels;
    uint32_t sabotage; // for tests

    // connectivity
    bool hasMesh;
    knTriangle* triangles;
    size_t triangleCapacity;
    uint32_t triangleCount, vertexCount;
    knEdge* edges;
    size_t edgeCapacity;
    uint32_t edgeCount;
    uint32_t* triangleEdges; // three of each; KN_NONE where two corners are one
    size_t triangleEdgeCapacity;
    uint32_t* scratch; // of sorting
    size_t scratchCapacity;
    uint32_t* fanStarts; // per vertex, one more
    size_t fanStartCapacity;
    uint32_t* fans; // triangles around each vertex, by id
    size_t fanCapacity;
    uint32_t* edgeFanStarts; // the same of edges
    size_t edgeFanStartCapacity;
    uint32_t* edgeFans;
    size_t edgeFanCapacity;

    // hierarchy
    bool hasTree;
    knBuildItem* items; // triangles in the order of the leaves; vertices of none come behind
    size_t itemCapacity;
    uint32_t itemCount;
    knCcdBox* boxes;
    size_t boxCapacity;
    knCcdLink* links;
    size_t linkCapacity;
    uint32_t nodeCount;
    uint32_t height;
    knCcdLeaf* leaves;
    size_t leafCapacity;
    uint32_t leafCount;
    uint32_t* leafNodes;
    size_t leafNodeCapacity;
    uint32_t* owners; // leaf of each vertex, then of each edge
    size_t ownerCapacity;
    uint32_t* triangleLeaves;
    size_t triangleLeafCapacity;
    knCcdVertices* vertexBlocks;
    size_t vertexBlockCapacity;
    knCcdEdges* edgeBlocks;
    size_t edgeBlockCapacity;
    knCcdFaces* faceBlocks;
    size_t faceBlockCapacity;
    uint32_t vertexBlockCount, edgeBlockCount, faceBlockCount;
    double builtSize; // of all boxes, after the tree was built
    bool hasWaited;   // it was to be built anew in the run before
    double growth;    // for measure: how much of it makes a tree poor; 0: as it is meant
    knCcdBuild builtBy;
    knCcdObject* objects; // by connectivity
    size_t objectCapacity;
    knBuildItem* objectItems;
    size_t objectItemCapacity;
    uint32_t objectCount;
    uint32_t topCount; // nodes down to the roots of objects
    double topSize;    // of their boxes, after they were built
    knCcdDop* dops;    // per node
    size_t dopCapacity;
    knCcdDop* triangleDops;
    size_t triangleDopCapacity;

    // culling
    bool hasContours;    // of this tree, but for those that are stale
    uint32_t staleUntil; // no node from here on has a contour that is stale
    bool haveLeavesChanged;
    uint8_t* leafChanges; // per leaf: a triangle has changed
    size_t leafChangeCapacity;
    bool isCulling;  // in this run
    uint8_t* culled; // per node: nothing below meets itself
    size_t culledCapacity;
    uint32_t halfEdgeCount;
    knCcdCones* cones; // per node
    size_t coneCapacity;
    knCcdFlat* flat; // per vertex: projections
    size_t flatCapacity;
    uint32_t* failures; // per node: two half-edges of the contour that meet, and the axis' node
    size_t failureCapacity;
    uint8_t* edgeUses; // triangles of each edge, at most 255
    size_t edgeUseCapacity;
    bool isSlow;            // for measure: contour tests without their accelerations
    knCcdContour* contours; // per node
    size_t contourCapacity;
    knHalfEdge* halfEdges;
    size_t halfEdgeCapacity;
    knCcdCancelling* cancelling;
    uint32_t* normals; // per node: directions
    size_t normalCapacity;
    uint32_t runCount;

    // orphans
    bool hasOrphans, hasOrphanLists;
    knCcdOrphan* orphans;
    size_t orphanCapacity;
    uint32_t orphanCount;
    uint32_t* orphanLists; // per node; KN_NONE ends
    size_t orphanListCapacity;
    uint8_t* marks; // per vertex: a triangle around it has changed
    size_t markCapacity;

    // traversal
    knCcdSink sinks[KN_MAX_WORKERS];
    knCcdPair* stacks;
    size_t stackCapacity, stackSize;
    knCcdPair* tasks; // two halves
    size_t taskCapacity;
    uint32_t taskCount;
    knCcdFound* found; // two halves
    size_t foundCapacity;
    knCcdContact* contacts;
    size_t contactCapacity, contactCount;
    knCcdFunnel funnel;
};

// A vertex at an end of the step, as it is meant.
static inline knDVec3 knCcdVertex(const knCcdStepDef* def, uint32_t v, int end)
{
    const knDVec3* exact = end ? def->exactEnd : def->exactStart;
    return exact ? exact[v] : knToDouble(end ? def->end[v] : def->start[v]);
}

// Closed: false only when one axis keeps them apart, on one side, at both ends.
static inline bool knCcdBoxesMeet(const knCcdBox* a, const knCcdBox* b)
{
#if defined(__SSE2__)
    __m128 below =
        _mm_and_ps(_mm_cmplt_ps(_mm_loadu_ps(a->startUpper), _mm_loadu_ps(b->startLower)),
                   _mm_cmplt_ps(_mm_loadu_ps(a->endUpper), _mm_loadu_ps(b->endLower)));
    __m128 above =
        _mm_and_ps(_mm_cmplt_ps(_mm_loadu_ps(b->startUpper), _mm_loadu_ps(a->startLower)),
                   _mm_cmplt_ps(_mm_loadu_ps(b->endUpper), _mm_loadu_ps(a->endLower)));
    return _mm_movemask_ps(_mm_or_ps(below, above)) == 0;
#else
    bool isApart = false;
    for (int k = 0; k < 3; ++k)
    {
        isApart = isApart ||
                  (a->startUpper[k] < b->startLower[k] && a->endUpper[k] < b->endLower[k]) ||
                  (b->startUpper[k] < a->startLower[k] && b->endUpper[k] < a->endLower[k]);
    }
    return !isApart;
#endif
}

// The same along the diagonals.
static inline bool knCcdDopsMeet(const knCcdDop* a, const knCcdDop* b)
{
    bool isApart = false;
    for (int half = 0; half < 8; half += 4)
    {
#if defined(__SSE2__)
        __m128 below = _mm_and_ps(
            _mm_cmplt_ps(_mm_loadu_ps(a->startUpper + half), _mm_loadu_ps(b->startLower + half)),
            _mm_cmplt_ps(_mm_loadu_ps(a->endUpper + half), _mm_loadu_ps(b->endLower + half)));
        __m128 above = _mm_and_ps(
            _mm_cmplt_ps(_mm_loadu_ps(b->startUpper + half), _mm_loadu_ps(a->startLower + half)),
            _mm_cmplt_ps(_mm_loadu_ps(b->endUpper + half), _mm_loadu_ps(a->endLower + half)));
        isApart = isApart || _mm_movemask_ps(_mm_or_ps(below, above)) != 0;
#else
        for (int k = half; k < half + 4; ++k)
        {
            isApart = isApart ||
                      (a->startUpper[k] < b->startLower[k] && a->endUpper[k] < b->endLower[k]) ||
                      (b->startUpper[k] < a->startLower[k] && b->endUpper[k] < a->endLower[k]);
        }
#endif
    }
    return !isApart;
}

static inline bool knShareVertex(const knTriangle* a, const knTriangle* b)
{
    bool isShared = false;
    for (int i = 0; i < 9; ++i)
    {
        isShared = isShared || a->v[i / 3] == b->v[i % 3];
    }
    return isShared;
}

// Breaks add vertices and edges: with some more room these do not ask for memory at once.
static inline size_t knCcdWithSlack(size_t count, size_t capacity)
{
    return count > capacity ? count + count / 8 : count;
}

// bvh_ccd_mesh.c: takes over the connectivity; *changed tells whether it is another than before.
knResult knTakeCcdMesh(knCcdStep* step, bool* changed);
knResult knFindFans(knCcdStep* step);
uint32_t knFindCcdEdge(const knCcdStep* step, uint32_t v, uint32_t w); // KN_NONE: there is none

// bvh_ccd_tree.c
knResult knBuildCcdTree(knCcdStep* step);
knResult knReserveCcdNodes(knCcdStep* step, size_t leafCount);
void knStartCcdTree(knCcdStep* step);
void knMakeCcdLeaf(knCcdStep* step, uint32_t node, uint32_t begin, uint32_t end);
uint32_t knFindCcdHeight(const knCcdStep* step);

// After the tree or the connectivity has changed. Not whole: the tree lacks a vertex that has lost
// its last triangle, or is new, and must be built.
knResult knFillCcdLeaves(knCcdStep* step, bool* isWhole);
void knRefitCcdTree(knCcdStep* step);
double knCcdTreeSize(const knCcdStep* step);
bool knIsCcdBroken(const knCcdStep* step); // a face that is fitted is not finite

// bvh_ccd_connect.c: from items, which it puts in order
knResult knBuildConnectedCcdTree(knCcdStep* step);
double knCcdTopSize(const knCcdStep* step);
void knRestructureCcdTop(knCcdStep* step); // the tree must be fitted again then

// bvh_ccd_dops.c: after boxes
knResult knReserveCcdDops(knCcdStep* step);
void knRefitCcdDops(knCcdStep* step);

// bvh_ccd_pair.c: elementary tests of lanes that the filter left, and of pairs by number.
void knMeetEdgeLanes(const knCcdEdges* a, int i, const knCcdEdges* b, int k, knCcdSink* sink);
void knMeetFaceLanes(const knCcdVertices* a, int i, const knCcdFaces* b, int k, knCcdSink* sink);
void knMeetByNumber(const knCcdStep* step, knCcdKind kind, uint32_t a, uint32_t b, knCcdSink* sink);

// By key; returns the half that has them.
const knCcdFound* knSortFound(knCcdFound* found, knCcdFound* other, size_t count);

// bvh_ccd_cull.c
knResult knFindCcdContours(knCcdStep* step);
knResult knCullCcd(knCcdStep* step);

// bvh_ccd_cones.c
knResult knFindCcdCones(knCcdStep* step);
bool knIsWithinCones(knCcdStep* step, uint32_t node);

// bvh_ccd_orphans.c

// All tests of a pair of triangles that it is to make.
void knMeetTrianglePair(const knCcdStep* step, uint32_t a, uint32_t b, knCcdSink* sink);

// Finds the orphans that have a marked vertex anew; the others stay.
knResult knUpdateOrphans(knCcdStep* step);
knResult knListOrphans(knCcdStep* step); // by nodes of the tree
void knMeetOrphans(const knCcdStep* step, uint32_t node, knCcdSink* sink);
