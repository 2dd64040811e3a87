// SPDX-License-Identifier: Zlib
#pragma once

// All pairs of one world that may touch, and their queries of a step, run together on the task
// hooks.
//
// An engine adds a pair when its broad phase finds it and removes it when it is lost. In each round
// it submits the pairs that it is about to ask for, runs them, and takes the contacts in whatever
// order it likes. A pair's state is written by its own job only, so results do not depend on the
// number of threads. Memory comes from arenas that grow between rounds; a steady round makes no
// heap call.

#include "knap/cast.h"
#include "knap/pool.h"
#include "knap/tasks.h"

typedef struct knPairs knPairs;

typedef struct knPairsDef
{
    size_t size; // of this struct
    knContactLimits limits;
    const knTaskHooks* tasks; // copied; null for serial
    uint32_t pairCapacity;    // room at first
} knPairsDef;

KN_API knPairsDef knDefaultPairsDef(void);

KN_API knResult knCreatePairs(knPairs** pairs, const knPairsDef* def, const knAllocator* allocator);
KN_API void knDestroyPairs(knPairs* pairs);

// From the next round on; what pairs remember is forgotten.
KN_API knResult knPairs_SetLimits(knPairs* pairs, const knContactLimits* limits);
KN_API const knContactLimits* knPairs_Limits(const knPairs* pairs);

// Drops what pairs remember from earlier rounds but for the number of contacts they need: the next
// answers depend on the poses alone. Whoever saves a world calls it, and so does whoever loads one.
KN_API void knPairs_Forget(knPairs* pairs);

// Makes room by doubling when there is none.
KN_API knResult knPairs_Add(knPairs* pairs, knId* id);
KN_API void knPairs_Remove(knPairs* pairs, knId id);

typedef enum knSideKind
{
    kn_sidePiece,
    kn_sideShape,
    kn_sideTriangles
} knSideKind;

// One side of a pair as it is in this round; at least one of the two is a piece. What it points to
// must stay until the contacts are taken.
typedef struct knPairSide
{
    knSideKind kind;
    const knFamily* family; // piece
    uint32_t fragment;
    const knPieceMesh* mesh;
    const knShape* shape;
    const knTriangleBatch* batch; // triangles; they rest
    uint32_t serial;              // another when the triangles are others; 0 when nobody counts
    knMotion motion;              // of the mesh's or the shape's frame in this step
} knPairSide;

typedef struct knPairInput
{
    knPairSide sides[2];
} knPairInput;

// A contact as a solver takes it. Points are in the world as it is now.
typedef struct knTouch
{
    knVec3 points[2];
    knVec3 normal;    // unit, from side 1 to side 0
    float distance;   // along the normal, what the points may come nearer; negative when inside
    uint32_t feature; // the same in the next step: warm starting
    bool isSwept;     // found ahead on the way; the points may be far apart
} knTouch;

typedef struct knPairsCounters
{
    uint64_t pairs;    // asked for
    uint64_t kept;     // of them answered from what was known
    uint64_t parted;   // of them ended by a plane between the two
    uint64_t touching; // with at least one contact
    uint64_t contacts;
    uint64_t deferred; // for want of memory; they keep what they had and are asked again
    uint64_t late;     // queried one by one, after the round
    uint64_t mended;   // normals that pushed a body along its own outside
    uint64_t wedged;   // pairs that were given one way out of each other
    uint64_t swept;    // pairs fast enough to be looked at ahead of their way
    knQueryCounters query;
} knPairsCounters;

// Drops what was submitted and not taken.
KN_API void knPairs_Begin(knPairs* pairs);

// Queues a pair; kn_errorHandle when the id names none.
KN_API knResult knPairs_Submit(knPairs* pairs, knId id, const knPairInput* input);
KN_API void knPairs_Run(knPairs* pairs);

// The contacts of this round, once: false when the pair was not queried for this very input. They
// stay until the round after the next begins.
KN_API bool knPairs_Take(knPairs* pairs, knId id, const knPairInput* input, const knTouch** touches,
                         uint32_t* count);

// Queries one pair at once, on the calling thread.
KN_API knResult knPairs_QueryNow(knPairs* pairs, knId id, const knPairInput* input,
                                 const knTouch** touches, uint32_t* count);

// Since the last reset.
KN_API knPairsCounters knPairs_Counters(const knPairs* pairs);
KN_API void knPairs_ResetCounters(knPairs* pairs);
