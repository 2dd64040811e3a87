// SPDX-License-Identifier: Zlib
#pragma once

// Shared by the files of this folder; tests may look in too.

#include "knap/distfield.h"

#include <string.h>

// ---- exact signs, distfield_predicate.c

// Six times the volume of a, b, c, p as knTetVolume6; the sign of the result is exact.
double knExactVolume6(knVec3 a, knVec3 b, knVec3 c, knVec3 p);

// ---- closest points, distfield_triangles.c

knDVec3 knClosestOnTriangle(knDVec3 p, knDVec3 a, knDVec3 b, knDVec3 c);

typedef struct knTriNode
{
    knVec3 lower;
    uint32_t first; // leaf: first item; inner: right child, the left one follows
    knVec3 upper;
    uint32_t count; // 0 for inner nodes
} knTriNode;

// A box tree over the triangles of the boundary, for cooking.
typedef struct knTriTree
{
    knAllocator allocator;
    const knTetMesh* mesh;
    knTriNode* nodes;
    uint32_t* order;
    size_t nodeCapacity;
    uint32_t nodeCount;
    uint32_t triangleCount;
} knTriTree;

knResult knCreateTriTree(knTriTree* tree, const knTetMesh* mesh, const knAllocator* allocator);
void knDestroyTriTree(knTriTree* tree);

// Distance to the surface, given that it is at most `bound`.
double knTriTree_Distance(const knTriTree* tree, knVec3 p, double bound);

// ---- bytes of the cooked sections

typedef struct knLocatorHeader
{
    uint32_t version;
    uint32_t nodeCount;
    uint32_t referenceCount;
    uint32_t meshNodeCount;
    uint32_t meshTetCount;
    uint32_t shifts[3]; // the lattice has 1 << shift cells along an axis
    uint32_t coverCount;
    uint32_t zero[7];
} knLocatorHeader;

typedef struct knGridHeader
{
    uint32_t version;
    uint32_t bricks[3];
    float origin[3];
    float spacing;
    float step;
    float thickness;
    uint32_t denseCount;
    uint32_t zero[5];
} knGridHeader;

_Static_assert(sizeof(knLocatorHeader) == 64 && sizeof(knGridHeader) == 64, "one cache line");

#define KN_BRICK_SAMPLES  729 // 9^3
#define KN_BRICK_STRIDE   736 // rounds a brick up to whole cache lines
#define KN_MAX_BRICKS     (1u << 24)
#define KN_BAND_CELLS     2.0f // bricks nearer to the surface than this are dense
#define KN_KD_STACK       64
#define KN_KD_LEAF        3u
#define KN_MAX_WALK_STEPS 12
#define KN_LATTICE_BITS   15 // cells of the lattice at most, as a power of two
#define KN_WORD_SIDE      4  // cells of a word along an axis
#define KN_LATTICE_WORDS  9  // words of the lattice at most, as a power of two

// Compile to one instruction each; fmin and fmax are calls because of what is not a number.
static inline double knLower(double a, double b)
{
    return a < b ? a : b;
}

static inline double knHigher(double a, double b)
{
    return a > b ? a : b;
}

static inline float knHigherFloat(float a, float b)
{
    return a > b ? a : b;
}

static inline size_t knRoundLine(size_t size)
{
    return (size + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

static inline float knBitsToFloat(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t knFloatToBits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline bool knKdNode_IsLeaf(knKdNode node)
{
    return (node.link & 3u) == KN_KD_LEAF;
}

static inline float knAxis(knVec3 p, uint32_t axis)
{
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

// ---- location, distfield_locate.c

// The lattice that all fragments and the entries share: the halvings of the k-d tree, so that its
// cells lie within cells of the tree.
void knPlaceLattice(knTetLocator* locator, const uint32_t shifts[3]);

// The words along an axis of 1 << shift cells, as a power of two.
static inline uint32_t knWordShift(uint32_t shift)
{
    return shift > 2 ? shift - 2 : 0;
}

static inline uint32_t knLatticeWords(const uint32_t shifts[3])
{
    return knWordShift(shifts[0]) + knWordShift(shifts[1]) + knWordShift(shifts[2]);
}

// The bit of a cell in its word.
static inline uint32_t knCellBit(uint32_t x, uint32_t y, uint32_t z)
{
    return (x & 3u) | (y & 3u) << 2 | (z & 3u) << 4;
}

// Cells of a level, ends included.
typedef struct knCellRange
{
    int32_t low[3], high[3];
} knCellRange;

// The cells that touch the box, some more where it ends within `slack` cells of a side.
knCellRange knCellsOfBox(const knTetLocator* locator, knBox box, float slack);

// The lowest node of the tree that is known to hold the ball.
uint32_t knTetLocator_Entry(const knTetLocator* locator, knVec3 p, float radius);

// ---- covered cells, distfield_cover_cook.c

// Box and face planes; keeps all that touch the closed cell and a few more.
bool knTetTouchesCell(const knTetMesh* mesh, uint32_t tet, knBox cell);

typedef struct knCovers
{
    knAllocator allocator;
    uint32_t* starts; // tetCount + 1
    uint64_t* masks;
    uint16_t* words;
    size_t maskCapacity, wordCapacity, count;
} knCovers;

// To be released also when it fails.
knResult knListCovers(knCovers* covers, const knTetMesh* mesh, const uint32_t shifts[3]);
void knReleaseCovers(knCovers* covers, uint32_t tetCount);

// ---- grid, distfield_grid.c

typedef struct knGridCell
{
    float v[8]; // corner i: bit 0 is x, bit 1 y, bit 2 z
    float u[3]; // place in the cell, 0 to 1
    float spacing;
    float error; // of the values
} knGridCell;

// The cell around q, a place in units of cells, inside the grid.
void knDistanceGrid_LoadCell(const knDistanceGrid* grid, const float q[3], knGridCell* cell);

// The distance to the original surface is at least this, negative inside: from the nearest sample.
float knDistanceGrid_LowerBound(const knDistanceGrid* grid, knVec3 p);

// ---- one instance

#define KN_OCCUPANCY_LEVELS 6

// A level of the bits in a slot, the lattice itself first: one bit for each word below.
typedef struct knCellLevel
{
    uint32_t shifts[3]; // words along the axes, as powers of two
    uint32_t firstWord;
} knCellLevel;

typedef struct knFragmentRecord
{
    knBox box;       // empty while not alive
    uint32_t slot;   // of the bitmap, or KN_NONE while not alive
    uint32_t update; // that began it
} knFragmentRecord;

// normal . x - offset is the distance from a plane of a cut, positive where phi is.
typedef struct knCutPlane
{
    knVec3 normal;
    float offset;
} knCutPlane;

// What is kept of a cut of the store.
typedef struct knCutParts
{
    knCutPlane planes[KN_MAX_TET_PLANES];
    uint32_t labels[2]; // below and above the plane, when it is the only one
    uint32_t cracks[4]; // by the lowest corner of a part, into the field's cracks; or KN_NONE
} knCutParts;

// The crack faces of a part that several planes bound.
typedef struct knPartCracks
{
    knCrackFaces faces;
    uint8_t mask; // of its corners
} knPartCracks;

typedef struct knNodeValue
{
    float distance;
    knVec3 direction;
    uint32_t source; // tetrahedron whose crack face is nearest
} knNodeValue;

struct knFragmentField
{
    knAllocator allocator;
    knFieldDef def;
    knTetLocator locator;
    knDistanceGrid grid;
    const knTetMesh* mesh;
    const knCutStore* cuts;
    knNodeValue* values;
    uint32_t* tetLabels; // per tetrahedron: its fragment, KN_NONE when it is cut
    uint64_t* front;     // three bit sets of wordCount words: front, next front, candidates
    knFragmentRecord* records;
    uint64_t* slots;      // KN_OCCUPANCY_WORDS each
    uint32_t* freeSlots;  // a stack
    knCutParts* parts;    // per cut of the store, as far as there is room
    knPartCracks* cracks; // of parts, as far as there is room
    knCellLevel levels[KN_OCCUPANCY_LEVELS];
    uint32_t levelCount;
    size_t wordCount, partCapacity, crackCapacity;
    uint32_t crackCount;
    uint32_t fragmentCapacity, pieceCapacity, freeSlotCount;
    uint32_t updateCount;
    knFrontStats stats;
};

// ---- cracks, distfield_crack.c

typedef struct knFaceHit
{
    double distance2;
    knDVec3 point;
    knDVec3 normal; // outward of the face that was hit, not unit
    bool isCrack;
    bool isFound; // else distance2 is only how far to look
} knFaceHit;

// Replaces the hit by a nearer one on the crack faces of the region, and on its original faces when
// asked to. True when it did.
bool knHitRegion(const knTetMesh* mesh, uint32_t tet, const knTetRegion* region, knDVec3 p,
                 bool original, knFaceHit* hit);

// A crack face made ready for several points.
typedef struct knPolygon
{
    knDVec3 points[KN_MAX_REGION_LOOP];
    knDVec3 normal; // twice the area long
    double size2;   // of the normal, squared
    int count;
} knPolygon;

void knPreparePolygon(knPolygon* polygon, const knCrackFace* face);
bool knHitPolygon(const knPolygon* polygon, knDVec3 p, knFaceHit* hit);

// The nearest points of a crack face from the four corners of its tetrahedron, relative to them,
// and the unit normal of the face; distfield_front_start.c.
typedef struct knNearest4
{
    float x[4], y[4], z[4], distance2[4];
    knVec3 normal;
} knNearest4;

void knNearestOnFace4(const knTetMesh* mesh, uint32_t tet, const knCrackFace* face,
                      knNearest4* nearest);

// The same for crack faces alone.
bool knHitCracks(const knCrackFaces* cracks, knDVec3 p, knFaceHit* hit);

enum
{
    kn_originalFaces = 1,
    kn_crackFaces = 2
};

// The same for the part that holds the corners of the mask.
bool knHitPart(const knFragmentField* field, uint32_t tet, uint8_t mask, knDVec3 p, int faces,
               knFaceHit* hit);

// Whether p is nearer than `reach` to a plane that bounds the part of a cut: much cheaper than the
// part itself.
bool knNearPlanes(const knFragmentField* field, uint32_t cut, uint8_t mask, knVec3 p, float reach);

// How near a plane must be. The faces around a point mostly lie in one plane, so what rounding
// alone could make nearer is left out.
static inline float knPlaneReach(const knFragmentField* field, const knFaceHit* hit)
{
    float slack = field->grid.slack;
    return (float)sqrt(hit->distance2) + (hit->isFound ? -slack : slack);
}

// The same for the part of a tetrahedron that belongs to the fragment.
bool knHitTet(const knFragmentField* field, uint32_t tet, uint32_t fragment, knDVec3 p,
              bool original, knFaceHit* hit);

// ---- parts of cut tetrahedra, distfield_parts.c

// Room for the cuts that the store has by now. Later ones are done without: slower, not otherwise.
knResult knReserveParts(knFragmentField* field);
void knReleaseParts(knFragmentField* field);

void knKeepParts(knFragmentField* field, const knFractureDelta* delta);

// Null when there was no room.
static inline knCutParts* knFindParts(const knFragmentField* field, uint32_t cut)
{
    return cut < field->partCapacity ? &field->parts[cut] : 0;
}

// As knCutStore_CrackFaces; the buffer is used when they are not kept.
const knCrackFaces* knFindCracks(const knFragmentField* field, uint32_t tet, uint8_t mask,
                                 knCrackFaces* buffer);

// ---- occupancy, distfield_mark.c and distfield_occupancy.c

// Lays out the levels of all slots.
void knPlaceLevels(knFragmentField* field);

// Marks the cells of all new fragments from the nodes that got their labels.
void knMarkFragments(knFragmentField* field, const knFractureDelta* delta);

// False when p, which is in the box of the fragment, is in none of its cells.
bool knOccupancy_MayHold(const knFragmentField* field, const knFragmentRecord* record, knVec3 p);

// False when no cell of the fragment is within the radius.
bool knOccupancy_Touches(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                         float radius);

// ---- front, distfield_front.c

void knSpreadFront(knFragmentField* field, const knFractureDelta* delta);

// ---- queries

static inline const knFragmentRecord* knFindRecord(const knFragmentField* field, uint32_t fragment)
{
    const knFragmentRecord* r = fragment < field->fragmentCapacity ? &field->records[fragment] : 0;
    return r && r->slot != KN_NONE ? r : 0;
}

typedef enum knHitKind
{
    kn_hitCracks,  // nearest crack face
    kn_hitSurface, // nearest crack face or original triangle
    kn_hitAny      // any of those
} knHitKind;

#define KN_BALL_BEYOND 16u

// The faces of the tetrahedron, as bits, beyond whose planes the ball reaches, and perhaps more;
// KN_BALL_BEYOND when the ball is surely outside of one. distfield_locate.c.
uint32_t knTetBallFaces(const knTetMesh* mesh, uint32_t tet, knVec3 p, float radius);

// A face of the fragment within sqrt(hit->distance2). distfield_outside.c.
bool knHitFragment(knFieldQuery* query, knVec3 p, knHitKind kind, knFaceHit* hit);

// The same for a point of a tetrahedron: from there outwards as far as the ball reaches, which is
// mostly not far. Not for kn_hitAny.
bool knHitAround(knFieldQuery* query, uint32_t tet, knVec3 p, knHitKind kind, knFaceHit* hit);

// As a contact of p, which is outside.
knFieldContact knContactOfHit(knVec3 p, const knFaceHit* hit);

// Unit direction from the piece's inside at p to the face; out of the face when p lies on it.
knVec3 knWayOut(knVec3 p, const knFaceHit* hit);

// The steps of the single queries, shared with the batches; distfield_query.c. `point` is where p
// was found, also in another fragment; its tet is KN_NONE when that is not known.
bool knQueryInside(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                   knTetPoint* point);
// Below `least` the depth need not be exact: it is then not more than that, and that is all.
void knQueryPenetration(knFieldQuery* query, knVec3 p, const knTetPoint* point,
                        const knGridSample* sample, float least, knFieldContact* contact);
// The grid rounds edges off: there its slope is not one, and near the surface it may not even know
// the side; on the surface itself a twentieth of a cell decides between resting and sinking. How
// deep the point can be all the same; 0 where the grid is good enough.
static inline float knVagueDepth(const knGridSample* sample)
{
    float slope2 = knLengthSquared(sample->gradient), most = sample->error - sample->distance;
    bool isFlat = slope2 > 0.98f && slope2 < 1.005f && sample->distance < -0.1f * sample->error;
    return !isFlat && sample->distance > -sample->error && most > 0.0f ? most : 0.0f;
}

// Beyond the box of the fragment.
bool knQuerySphere(knFieldQuery* query, const knFragmentRecord* record, knVec3 p, float radius);
// The distance of a point that is not inside; distfield_outside.c.
bool knQueryDistance(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                     const knTetPoint* point, float margin, knFieldContact* contact);

// As knBox_Distance, in the order of operations that distfield_batch.c has too.
static inline float knBoxGap(const knBox* box, float px, float py, float pz)
{
    float x0 = box->lower.x - px, x1 = px - box->upper.x, y0 = box->lower.y - py;
    float y1 = py - box->upper.y, z0 = box->lower.z - pz, z1 = pz - box->upper.z;
    float x = x0 > x1 ? x0 : x1, y = y0 > y1 ? y0 : y1, z = z0 > z1 ? z0 : z1;
    x = x > 0.0f ? x : 0.0f;
    y = y > 0.0f ? y : 0.0f;
    z = z > 0.0f ? z : 0.0f;
    return sqrtf((x * x + y * y) + z * z);
}
