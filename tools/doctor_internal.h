// SPDX-License-Identifier: Zlib
#pragma once

// The mesh doctor inside: what its steps share. Every step takes the doctor, reports what it finds
// and repairs what it may; all order is by index, all memory is the soup's.

#include "doctor.h"

#define KN_NO_HALF    KN_NONE
#define KN_MAX_CHANGE 0.01 // of the volume or the area, by cutting out and filling
#define KN_SHEET_NOTE                                                                              \
    "a sheet has no inside to break: give it a thickness in your modelling tool, or delete it"

typedef struct knDoctor
{
    knSoup* soup;
    const knDoctorOptions* options;
    knDoctorReport* report;
    double scale;    // a power of two: coordinates times scale lie in [-0.5, 0.5], exactly
    float tolerance; // m, for rims
    bool hopeless;   // nothing more can be said: stop
    bool blocked;    // refused: go on looking, but repair no more
    bool filled;     // holes were filled, so a flat component is a sheet
    bool cleaned;    // no triangle has come or changed since duplicates were looked for
    bool rimless;    // no edge is open
} knDoctor;

typedef knResult knDoctorStep(knDoctor* doctor);

// Scratch memory: zeroed, never null but for want of memory, also for a count of 0.
void* knTake(const knAllocator* allocator, size_t count, size_t itemSize);
void knGive(const knAllocator* allocator, void* memory, size_t count, size_t itemSize);

// Reporting. Found counts one and keeps its place; Judge says what is done about a kind that was
// found: a refusal blocks all repairs from there on.
void knDoctor_FoundTriangle(knDoctor* doctor, knDefectKind kind, size_t triangle);
void knDoctor_FoundVertex(knDoctor* doctor, knDefectKind kind, size_t vertex);
void knDoctor_Judge(knDoctor* doctor, knDefectKind kind, knDefectAction action, const char* note,
                    ...) KN_PRINTF_LIKE(4, 5);
bool knDoctor_Has(const knDoctor* doctor, knDefectKind kind);

// Half-edge h = 3 t + i runs from corner i of triangle t to the next; an edge holds all half-edges
// between its two vertices, ascending.
typedef struct knTopology
{
    knAllocator allocator;
    size_t triangleCount, vertexCount, edgeCount;
    const knTriangle* triangles; // of the soup
    uint32_t* edgeStarts;        // edgeCount + 1
    uint32_t* edgeHalves;        // half-edges by edge
    uint32_t* halfEdges;         // per half-edge, its edge
    uint32_t* cornerStarts;      // vertexCount + 1
    uint32_t* corners;           // half-edges by the vertex they leave
} knTopology;

// No triangle may name a vertex twice.
knResult knBuildTopology(knTopology* topology, const knSoup* soup);
void knDestroyTopology(knTopology* topology);

static inline uint32_t knNextHalf(uint32_t half)
{
    return half % 3 == 2 ? half - 2 : half + 1;
}

static inline uint32_t knTopology_Origin(const knTopology* t, uint32_t half)
{
    return t->triangles[half / 3].v[half % 3];
}

static inline uint32_t knTopology_Target(const knTopology* t, uint32_t half)
{
    return knTopology_Origin(t, knNextHalf(half));
}

static inline uint32_t knTopology_EdgeSize(const knTopology* t, size_t edge)
{
    return t->edgeStarts[edge + 1] - t->edgeStarts[edge];
}

static inline bool knTopology_IsOpen(const knTopology* t, uint32_t half)
{
    return knTopology_EdgeSize(t, t->halfEdges[half]) == 1;
}

// The other half-edge of an edge with exactly two; else KN_NO_HALF.
uint32_t knTopology_Mate(const knTopology* topology, uint32_t half);
bool knTopology_HasEdge(const knTopology* topology, uint32_t a, uint32_t b);

// Sets flags[vertex] for the ends of open edges; returns how many edges are open.
size_t knTopology_MarkRim(const knTopology* topology, bool* flags);

// Disjoint sets over indices; the smallest member leads.
uint32_t knFindSet(uint32_t* sets, uint32_t item);
void knJoinSets(uint32_t* sets, uint32_t a, uint32_t b);
void knInitSets(uint32_t* sets, size_t count);

// Corners around a vertex that are joined by edges form a fan. `mates` names the other half-edge
// per half-edge; `fans` gets the leading corner per corner.
void knJoinFans(const knTopology* topology, const uint32_t* mates, uint32_t* fans);

// Vertices whose corners form more than one fan get their flag set; returns how many.
size_t knCountSplitVertices(const knTopology* topology, uint32_t* fans, bool* flags);

// Component per triangle by shared edges, numbered in order of their first triangle.
size_t knNumberComponents(const knTopology* topology, uint32_t* components);

// A balanced tree over boxes that stay the caller's.
typedef struct knBoxTree
{
    knAllocator allocator;
    const knBox* boxes;
    uint32_t* items; // in order along a space-filling curve
    knBox* nodes;    // a heap of 2 leafCount boxes, the root at 1
    size_t itemCount, leafCount;
} knBoxTree;

// Return false to stop.
typedef bool knBoxHitFcn(uint32_t item, void* context);
typedef bool knBoxPairFcn(uint32_t a, uint32_t b, void* context);

knResult knBuildBoxTree(knBoxTree* tree, const knBox* boxes, size_t count,
                        const knAllocator* allocator);
void knDestroyBoxTree(knBoxTree* tree);
void knBoxTree_Query(const knBoxTree* tree, knBox box, knBoxHitFcn* hit, void* context);

// Every pair of overlapping boxes once.
void knBoxTree_SelfPairs(const knBoxTree* tree, knBoxPairFcn* pair, void* context);

// Items near the segment, box by box; may report items that miss it.
void knBoxTree_QuerySegment(const knBoxTree* tree, const knVec3 ends[2], float margin,
                            knBoxHitFcn* hit, void* context);

knBox knSoup_TriangleBox(const knSoup* soup, size_t triangle);

// Exact geometry on scaled coordinates.
typedef struct knPoint
{
    double c[3];
} knPoint;

static inline knPoint knScalePoint(knVec3 p, double scale)
{
    knPoint q = {{(double)p.x * scale, (double)p.y * scale, (double)p.z * scale}};
    return q;
}

bool knIsCollinear(const knPoint* a, const knPoint* b, const knPoint* c);
bool knSoup_IsFlat(const knSoup* soup, double scale, knTriangle triangle);

// Do two closed triangles meet in more than the vertices they share? A triangle without area, or
// one with the same vertices, counts as meeting.
bool knTrianglesMeet(const knSoup* soup, double scale, knTriangle s, knTriangle t);

// Closed segment and closed triangle.
bool knSegmentMeetsTriangle(const knPoint segment[2], const knPoint triangle[3]);

// 1 when the segment crosses the inside of the triangle properly, 0 when it misses it, -1 when it
// meets an edge, a vertex or the plane in an end.
int knSegmentCrosses(const knPoint segment[2], const knPoint triangle[3]);

// How many pairs meet of which one at least is triangle `first` or later; `involved` per triangle.
// Gives up counting far beyond what can be repaired.
knResult knFindIntersections(const knSoup* soup, double scale, size_t first, bool* involved,
                             size_t* pairCount);

// May so many triangles be cut out and filled in again?
bool knDoctor_IsFew(const knDoctor* doctor, size_t triangleCount);

// Volume of the triangles by the divergence theorem, about the centre of the box.
double knDoctor_Volume(const knDoctor* doctor);
double knSoup_TriangleArea(const knSoup* soup, size_t triangle);
knResult knSoup_TurnTriangle(knSoup* soup, size_t triangle);

// Loops of open edges: those of at most maxEdges are filled, the others counted in `left`.
typedef struct knHoleJob
{
    size_t maxEdges; // 0: only look
    bool report;     // as kn_defectHole
    size_t filled, left;
} knHoleJob;

knResult knFillHoles(knDoctor* doctor, knHoleJob* job);

// The loops themselves: loop i is halves[starts[i] .. starts[i + 1]), each half-edge beginning
// where the one before ends.
typedef struct knLoops
{
    uint32_t* halves;
    uint32_t* starts;
    size_t loopCount;
    size_t brokenCount; // chains that do not close
} knLoops;

knResult knTraceLoops(knLoops* loops, const knTopology* topology, const knSoup* soup);
void knDestroyLoops(knLoops* loops, const knTopology* topology);

// Triangulates a closed polygon of three or more positions: 3 (count - 2) places in the polygon, or
// nothing when every way would use a forbidden diagonal. `forbidden` has count^2 flags.
knResult knTriangulateLoop(const knAllocator* allocator, const knPoint* points, size_t count,
                           const bool* forbidden, uint32_t* triangles, bool* done);

// Drops flagged triangles; also what is no longer used.
knResult knDoctor_Drop(knDoctor* doctor, const bool* dropped);

// The attribute a part of the way from corner a to corner b of a triangle.
knResult knSoup_MixAttribute(knSoup* soup, uint32_t a, uint32_t b, float t, uint32_t* index);

// Is the soup closed, 2-manifold and consistently oriented?
knResult knSoup_IsManifold(const knSoup* soup, bool* is);

// The steps, in order.
knDoctorStep knDoctor_CheckNumbers;
knDoctorStep knDoctor_Weld;
knDoctorStep knDoctor_CleanTriangles; // repeated vertices and duplicates
knDoctorStep knDoctor_WeldRims;
knDoctorStep knDoctor_FlipNeedles;
knDoctorStep knDoctor_SplitTJunctions;
knDoctorStep knDoctor_Orient;
knDoctorStep knDoctor_SplitNonManifold;
knDoctorStep knDoctor_CloseHoles;
knDoctorStep knDoctor_SplitVertices;
knDoctorStep knDoctor_CheckVolume;
knDoctorStep knDoctor_Uncross;
knDoctorStep knDoctor_Nest;
knDoctorStep knDoctor_Verify;
