// SPDX-License-Identifier: Zlib
#pragma once

// The fragment distance field (section 4 of the paper): is a point inside a piece, how deep and
// which way out, can a sphere touch it.
//
// Two parts. The dense grid holds the distance to the original surface and never changes; the nodes
// of one instance hold the distance to cracks only, infinite until something breaks. The answer is
// the smaller of the two, with the winner's direction. If the nearest original point lies beyond a
// crack, the crack is nearer, so this is right; and it works in a plate of one layer of tetrahedra,
// where every node lies on the surface.
//
// Distances are negative inside, as in a contact; directions point out of the piece. Everything is
// in the object's frame.
//
// What it costs:
//   cooked, shared   grid     1472 bytes per dense brick of 8^3 cells, 8 per brick
//                    locator  16 bytes per tetrahedron for the lists of the nodes, plus the tree:
//                             4 per reference, 8 per tree node; 50 to 130 in all on our objects
//                    and 8 per cell of its lattice, of which there are 32768 at most, and 10 per
//                    word of cells that a tetrahedron covers: 2 to 4 of them in the mean
//   per instance     20.4 bytes per node, 64 per label, 4 per tetrahedron, 72 per cut one
//                    and 236 per part of those with several planes
//                    KN_OCCUPANCY_BYTES + 4 per piece that can live at the same time

#include "knap/asset.h"
#include "knap/region.h"
#include "knap/tasks.h"

#define KN_GRID_TAG        KN_TAG('D', 'G', 'R', 'D')
#define KN_GRID_VERSION    1
#define KN_LOCATOR_TAG     KN_TAG('K', 'D', 'T', 'R')
#define KN_LOCATOR_VERSION 3
#define KN_AT_SURFACE      0x80000000u // in a reference: the tetrahedron has an original face
#define KN_BRICK_CELLS     8           // along an axis
#define KN_OCCUPANCY_WORDS 704         // of 64 bits, for all levels of one fragment
#define KN_OCCUPANCY_BYTES (8 * KN_OCCUPANCY_WORDS)

// A node of the k-d tree. Inner: the left child follows, `link` is right child * 4 + axis and
// `value` the plane. Leaf: `link` is count * 4 + 3 and `value` holds the bits of the first
// reference.
typedef struct knKdNode
{
    uint32_t value;
    uint32_t link;
} knKdNode;

// Finds the tetrahedron that holds a point (section 4.3). A view: the bytes stay the caller's.
typedef struct knTetLocator
{
    const knTetMesh* mesh;
    const knKdNode* nodes;
    const uint32_t* entries;    // per cell of a lattice over the box: the lowest tree node around
    const uint32_t* seeds;      // and a tetrahedron near its middle; KN_NONE in empty cells
    const uint32_t* references; // tetrahedra of the leaves, ascending in each
    const uint32_t* nodeTetStarts; // nodeCount + 1
    const uint32_t* nodeTets;      // the tetrahedra around each node, ascending
    // what each tetrahedron covers of the lattice: words of 4 x 4 x 4 cells, x first, and in each
    // of them the cells that it touches
    const uint32_t* coverStarts; // tetCount + 1
    const uint64_t* coverMasks;
    const uint16_t* coverWords;
    knBox box;
    knVec3 scale;     // cells of the lattice per metre
    knVec3 cell;      // m
    uint32_t dims[3]; // cells of the lattice, powers of two
    float cellSize;   // m, the diagonal of a cell
    float border;     // cells; so near to the side of a cell rounding may take it for the next
    uint32_t nodeCount;
    uint32_t referenceCount;
} knTetLocator;

// Makes the bytes of the section; the same mesh gives the same bytes. Release with
// knRelease(allocator, *bytes, *size, 1).
KN_API knResult knCookTetLocator(const knTetMesh* mesh, const knAllocator* allocator, void** bytes,
                                 size_t* size);

// Checks every index, so that no bytes can make a query read out of bounds or run forever, and that
// the lists of the nodes are complete and every tetrahedron is in some leaf.
KN_API knResult knOpenTetLocator(knTetLocator* locator, const knTetMesh* mesh, const void* bytes,
                                 size_t size, const knAllocator* allocator);

typedef struct knTetPoint
{
    uint32_t tet;     // KN_NONE outside the mesh
    float weights[4]; // barycentric
} knTetPoint;

typedef enum knLocatePath
{
    kn_locateHint, // the hint itself
    kn_locateWalk,
    kn_locateTree,
    kn_locateOutside,
    kn_locatePathCount
} knLocatePath;

// The lowest tetrahedron that holds the point, faces included. Signs are exact, so a point on a
// shared face is in both and never in none. The hint (KN_NONE for none) changes the time, not the
// answer.
KN_API knLocatePath knTetLocator_Find(const knTetLocator* locator, knVec3 p, uint32_t hint,
                                      knTetPoint* point);

typedef struct knGridDef
{
    size_t size;              // of this struct
    float spacing;            // m; 0 for a quarter of the wall thickness, finer when cheap
    size_t byteBudget;        // the spacing grows until the bytes fit
    const knTaskHooks* tasks; // null for serial; does not change the bytes
} knGridDef;

KN_API knGridDef knDefaultGridDef(void);

// Exact distance to the closed surface of the mesh, on a regular grid in sparse bricks over its box
// and a margin of at least two cells. Release as above.
KN_API knResult knCookDistanceGrid(const knGridDef* def, const knTetLocator* locator,
                                   const knAllocator* allocator, void** bytes, size_t* size);

typedef struct knDistanceGrid
{
    const float* coarse;       // at the corners of all bricks
    const uint32_t* directory; // per brick: its dense samples, or KN_NONE when far from the surface
    const int16_t* samples;    // per dense brick 9^3 and padding, in units of `step`
    knVec3 origin;
    float spacing;   // m
    float step;      // m per unit of a sample
    float thickness; // m, of the walls, as estimated when cooking
    float slack;     // m, covers rounding in a query
    uint32_t bricks[3];
    uint32_t denseCount;
} knDistanceGrid;

// Checks everything a query relies on.
KN_API knResult knOpenDistanceGrid(knDistanceGrid* grid, const knTetMesh* mesh, const void* bytes,
                                   size_t size);

typedef struct knGridSample
{
    float distance;  // negative inside
    float error;     // the true distance differs by at most this
    knVec3 gradient; // of the interpolation; close to unit length away from the medial axis
} knGridSample;

KN_API knGridSample knDistanceGrid_Sample(const knDistanceGrid* grid, knVec3 p);

// How distance spreads from the cracks (section 4.2). The default hands on the crack point that is
// nearest so far: after twelve breaks of a bunny the nodes are off by 0.0001 of the radius in the
// mean and never too near; with the paper's averages 0.019, mostly too near, in twice the time,
// because a front that averages goes on falling. Handing on whole faces gains little and costs
// more.
typedef enum knFrontMode
{
    kn_frontClosestFace,
    kn_frontClosestPoint,
    kn_frontPaper, // Equations 1 and 2
    kn_frontModeCount
} knFrontMode;

typedef struct knFieldDef
{
    size_t size; // of this struct
    const knTetLocator* locator;
    const knDistanceGrid* grid;
    const knCutStore* cuts; // must outlive the field
    knFrontMode front;
    bool paperWeights;         // interpolate with inverse squares (Equation 1), not barycentric
    bool scalar;               // no wide instructions; the answers are the same bits
    bool paperSphereBound;     // cull by propagated distance as well: may cull what touches
    uint32_t fragmentCapacity; // labels below this fit
    uint32_t pieceCapacity;    // fragments that live at the same time
    // where bounds and interpolation end: below these sizes in metres crack faces and triangles
    // nearby are measured one by one; negative for a share of the mean edge of the mesh
    float exactRadius; // spheres that the bounds cannot cull
    float exactDepth;  // penetrations
} knFieldDef;

KN_API knFieldDef knDefaultFieldDef(void);

// What the last update did, and since creation how much.
typedef struct knFrontStats
{
    uint32_t startNodes; // touched by crack faces in their own tetrahedra
    uint32_t levels;
    uint32_t visits;  // nodes looked at, once for each neighbour that hands something on
    uint32_t accepts; // distances that fell
} knFrontStats;

typedef struct knFragmentField knFragmentField;

// The mesh, grid, locator and cuts must outlive the field.
KN_API knResult knCreateFragmentField(knFragmentField** field, const knFieldDef* def,
                                      const knAllocator* allocator);
KN_API void knDestroyFragmentField(knFragmentField* field);

// Room for labels below `fragmentCapacity`, `pieceCapacity` of them at a time; between steps only.
KN_API knResult knFragmentField_Reserve(knFragmentField* field, uint32_t fragmentCapacity,
                                        uint32_t pieceCapacity);

// After each split, when the cut store is up to date: marks the cells of the new fragments and
// spreads the front inside them. No heap call. Touches nothing that belongs to other fragments.
// kn_errorLimit when there is no room; nothing has changed then: reserve and call again.
KN_API knResult knFragmentField_Update(knFragmentField* field, const knFractureDelta* delta);

// The fragment has left the world: its cells are free for others, all queries say no.
KN_API void knFragmentField_Remove(knFragmentField* field, uint32_t fragment);

KN_API knFrontStats knFragmentField_LastFront(const knFragmentField* field);

// The bounds of a live fragment; empty for a label that is not.
KN_API knBox knFragmentField_Box(const knFragmentField* field, uint32_t fragment);

// Distance to cracks at a node (infinite when none was reached) and the unit direction to them.
KN_API float knFragmentField_NodeDistance(const knFragmentField* field, uint32_t node,
                                          knVec3* direction);

typedef struct knFieldCounters
{
    uint64_t insideTests, insideTrue;
    uint64_t located[kn_locatePathCount];
    uint64_t cutTets; // tests that ended in a cut tetrahedron
    uint64_t penetrations, byGrid, byCrackNodes, byCrackFaces, byTriangles;
    uint64_t sphereTests, culledByBox, culledByGrid, culledByCells, culledByFaces, spheresKept;
    uint64_t culledByPaper, falseCulls;          // only with paperSphereBound
    uint64_t distances, searches, facesMeasured; // searches beyond the tetrahedron of the point
} knFieldCounters;

// What one query loop carries along: one per pair and thread. The field itself is only read.
typedef struct knFieldQuery
{
    const knFragmentField* field;
    uint32_t fragment;
    uint32_t hint;  // last tetrahedron
    knVec3 witness; // a point in a cell of the fragment; infinite while none is known
    knFieldCounters counters;
} knFieldQuery;

KN_API knFieldQuery knMakeFieldQuery(const knFragmentField* field, uint32_t fragment);

typedef enum knFieldSource
{
    kn_sourceGrid,       // the original surface, from the dense grid
    kn_sourceCrackNodes, // cracks, interpolated
    kn_sourceCrackFace,  // a crack face, exact
    kn_sourceTriangle    // an original triangle, exact; distances outside only
} knFieldSource;

typedef struct knFieldContact
{
    float distance; // negative inside
    knVec3 normal;  // unit, out of the piece
    knFieldSource source;
} knFieldContact;

KN_API bool knFieldQuery_Inside(knFieldQuery* query, knVec3 p);

// False, and nothing written, when the point is not inside.
KN_API bool knFieldQuery_Penetration(knFieldQuery* query, knVec3 p, knFieldContact* contact);

// False only when the sphere certainly does not touch the fragment.
KN_API bool knFieldQuery_SphereTest(knFieldQuery* query, knVec3 p, float radius);

// For a point outside: exact distance to the fragment's own crack faces and what is left to it of
// the original triangles. False, and nothing written, when that is more than the margin or the
// point is inside.
KN_API bool knFieldQuery_Distance(knFieldQuery* query, knVec3 p, float margin,
                                  knFieldContact* contact);

// A bound of the fragment's distance from p: it is no nearer than the answer. When that is not more
// than `need`, a ball of that radius may touch it. More than `wish` need not be shown, and costs.
// For those who keep the answer and ask again when motion has used it up.
KN_API float knFieldQuery_Clearance(knFieldQuery* query, knVec3 p, float need, float wish);

typedef struct knProbeDef
{
    float margin; // m; a point outside is a contact up to there
    float wish;   // m, at least the margin: bounds of more need not be shown
    float depth;  // m; points that are not deeper are no contacts; 0 for all, as in knVisits8
} knProbeDef;

// Penetration and Distance in one: whether the point is a contact. `clear` is a bound of its signed
// distance, negative inside, and as near to it as the wish.
KN_API bool knFieldQuery_Probe(knFieldQuery* query, knVec3 p, const knProbeDef* def,
                               knFieldContact* contact, float* clear);

// Eight points at once; lanes whose bit in `mask` is 0 are left alone. Returns the lanes for which
// the single form returns true, with the same bits in the same outputs.
typedef struct knPoints8
{
    float x[8], y[8], z[8];
} knPoints8;

typedef struct knContacts8
{
    float distance[8], nx[8], ny[8], nz[8];
    uint8_t source[8];
} knContacts8;

// All that a walk over a sphere tree asks of eight of its nodes.
typedef struct knVisits8
{
    knPoints8 points;
    float reach[8]; // of the spheres; negative when nothing hangs below
    float margin;   // m; 0 for none
    float depth;    // m; points that are not deeper are no contacts; 0 for all
    uint8_t mask;   // lanes in use
    uint8_t first;  // lanes whose point may be a contact
    // answers, by lane
    uint8_t found; // contacts: deep enough inside, or within the margin
    uint8_t descend;
    knContacts8 contacts; // of the lanes found
} knVisits8;

// Answers as Penetration, Distance and SphereTest do, with what they share done once.
KN_API void knFieldQuery_Visit8(knFieldQuery* query, knVisits8* visits);

KN_API uint8_t knFieldQuery_Inside8(knFieldQuery* query, const knPoints8* points, uint8_t mask);
KN_API uint8_t knFieldQuery_Penetration8(knFieldQuery* query, const knPoints8* points, uint8_t mask,
                                         knContacts8* contacts);
KN_API uint8_t knFieldQuery_SphereTest8(knFieldQuery* query, const knPoints8* points,
                                        const float radius[8], uint8_t mask);
