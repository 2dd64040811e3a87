// SPDX-License-Identifier: Zlib
#pragma once

// Building on a workspace, links that change, and the distances everything agrees on.

#include "knap/spheretree.h"

#include <math.h>

// The squared distance of all of this folder. Rounding is monotonic, so a bound computed with the
// same operations in the same order is a bound on the computed value.
static inline double knSphereDistance2(knVec3 a, knVec3 b)
{
    double x = (double)a.x - (double)b.x;
    double y = (double)a.y - (double)b.y;
    double z = (double)a.z - (double)b.z;
    return x * x + y * y + z * z;
}

// The smallest float whose square is at least this; products of floats are exact in double.
static inline float knRadiusUp(double distance2)
{
    float r = (float)sqrt(distance2);
    while ((double)r * (double)r < distance2)
    {
        r = nextafterf(r, INFINITY);
    }
    return r;
}

// A float that is at least distance + radius, whatever the root was rounded to.
static inline float knRadiusSumUp(double distance2, float radius)
{
    double sum = (sqrt(distance2) + (double)radius) * (1.0 + 1e-15);
    float r = (float)sum;
    return (double)r < sum ? nextafterf(r, INFINITY) : r;
}

// The level that the point of this rank in the order enters at.
static inline uint32_t knSphereLevel(uint32_t rank)
{
    uint32_t level = 0;
    for (; rank > 0; rank >>= 1)
    {
        ++level;
    }
    return level;
}

// The next array in a block of several; null while the block is null, so that one function can both
// add up and lay out.
static inline void* knSphereCarve(unsigned char* block, size_t* offset, size_t count,
                                  size_t itemSize)
{
    void* array = block ? block + *offset : NULL;
    *offset += (count * itemSize + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
    return array;
}

// A node of the k-d tree over the points that are not chosen yet.
typedef struct knOrderNode
{
    knBox box;
    double best;       // the largest distance2 below it; negative when all are chosen
    uint32_t bestSlot; // of the lowest id that has it
    uint32_t lowestId;
} knOrderNode;

// Workspace and result of one build, arrays in one block. Points are named by rank in the order.
typedef struct knSphereBuild
{
    uint32_t count;
    uint32_t depth;   // of the k-d tree; leaves at this depth
    uint32_t* order;  // rank to index of the input
    uint32_t* parent; // rank to rank; KN_NONE for rank 0
    uint32_t* first;
    uint32_t* next;
    float* reach;
    knOrderNode* nodes; // children of i are 2 i + 1 and 2 i + 2
    knVec3* points;     // by slot, as are the next four
    uint32_t* ids;
    double* distance2;  // to the closest chosen point; negative when chosen
    uint32_t* closest;  // rank of that point
    uint32_t* parentOf; // `closest` when the level that is being chosen began
} knSphereBuild;

// Lays the arrays out in the block and returns the bytes they take; a null block only counts.
size_t knSphereBuild_Layout(knSphereBuild* build, uint32_t count, void* block);

// Fills `order` and `parent`. Positions are finite.
void knSphereBuild_Order(knSphereBuild* build, const knVec3* positions);

// The same in slices: returns the first rank that is still to be chosen; then up to `end`.
uint32_t knSphereBuild_BeginOrder(knSphereBuild* build, const knVec3* positions);
void knSphereBuild_ContinueOrder(knSphereBuild* build, uint32_t rank, uint32_t end);

// Fills `first`, `next` and `reach` from `order` and `parent`.
void knSphereBuild_Link(knSphereBuild* build, const knVec3* positions);

// kn_errorArgument unless all are finite and near enough for radii that are finite floats.
knResult knCheckSpherePositions(const knVec3* positions, uint32_t count);

// The links of a forest that has its own.
typedef struct knMutableLinks
{
    uint32_t* parent;
    uint32_t* first;
    uint32_t* next;
    uint32_t* previous;
    float* reach;
    uint8_t* level;
} knMutableLinks;

// Room for so many points; a null block only counts bytes.
size_t knMutableLinks_Layout(knMutableLinks* links, uint32_t capacity, void* block);

// Of a forest whose memory is not null.
knMutableLinks knSphereForest_Own(const knSphereForest* forest);

// Takes a point out of its siblings or roots; radii before it stay as they are.
void knSphereForest_Unlink(knSphereForest* forest, uint32_t point);

// Hangs the point below a parent, `need` being the distance from the parent to the furthest point
// at or below it. Nothing above the parent is touched.
void knSphereForest_LinkChild(knSphereForest* forest, uint32_t point, uint32_t parent, float need);
void knSphereForest_LinkRoot(knSphereForest* forest, uint32_t point, uint32_t fragment);

// Raises the radii of all ancestors of `point` until they hold the position.
void knSphereForest_GrowAbove(knSphereForest* forest, const knCutStore* cuts, uint32_t point,
                              knVec3 position);
