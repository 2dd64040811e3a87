// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/pairs.h"

#include "query_internal.h"

// One side as an answer knew it.
typedef struct knPairKey
{
    const void* what; // family, shape or triangles
    uint32_t fragment;
    uint32_t stamp;      // other when it has changed
    uint32_t generation; // of its trees; 0 where they do not matter
} knPairKey;

// The last answer of a pair, and how long it holds.
typedef struct knPairCache
{
    knTransform pose; // of side 0 as side 1 sees it, when it was found
    knPairKey keys[2];
    float slack;            // m that the two may move against each other; 0 for no answer
    float margin, epsilon;  // m
    knPairKey frontKeys[2]; // what the front is of
    uint32_t slabCount;
    knVec3 slabAxes[KN_MAX_SLABS]; // in the frame of side 1, of the walk that made the front
    uint32_t count;                // of contacts kept
    uint32_t age;                  // steps that it has been used
    knVec3 axis;                   // that parted the two last, in the world; zero for none
    knVec3 way;    // that side 0 takes out of side 1 while they are deep; zero for none
    bool isWedged; // and all contacts take it
} knPairCache;

// A contact that goes with its bodies.
typedef struct knKeptTouch
{
    knVec3 point;  // in the frame of its own side
    knVec3 normal; // of a plane in the frame of the other
    float offset;
    uint32_t feature;
    uint8_t side;
    bool touched;  // not only near
    bool isChosen; // the solver gets it
    uint8_t grace; // queries in a row that no longer found it
} knKeptTouch;

typedef struct knPair
{
    knPairState state;
    knPairCache cache;
    knPairInput input;
    uint32_t round; // that the input belongs to
    bool hasAnswer; // and nobody has taken it
} knPair;

// Contacts of one slot of the pool; stays with the slot when pairs come and go.
typedef struct knPairBlock
{
    knTouch* touches;
    knKeptTouch* kept;
    knQueryFront front; // its arrays grow when a query has asked for more
    uint32_t capacity;  // of touches and kept
    uint32_t count;     // of the last query
} knPairBlock;

// Padded by the arena's size: each worker writes its own only.
typedef struct knPairWorker
{
    knArena scratch;
    knPairsCounters counters;
    char padding[KN_CACHE_LINE];
} knPairWorker;

struct knPairs
{
    knAllocator allocator;
    knContactLimits limits;
    knTaskHooks tasks;
    knPool pool; // of knPair
    knPairBlock* blocks;
    size_t blockCapacity;
    uint32_t* queue; // slots, counted from 1
    size_t queueCapacity;
    uint32_t queueCount;
    uint32_t round;
    size_t scratchBytes; // most that a queued pair needs
    knPairWorker* workers;
    knPairsCounters counters; // of the calling thread
};

// One query with all that it reads and writes.
typedef struct knPairJob
{
    const knContactLimits* limits;
    const knPairInput* input;
    knPairState* state;
    knPairCache* cache;
    knArena* scratch;
    knTouch* touches;
    knKeptTouch* kept;
    knQueryFront* front;
    uint32_t capacity;
    knPairsCounters* counters;
} knPairJob;

size_t knPairBytes(const knPairInput* input, uint32_t capacity);
knResult knPairJob_Run(const knPairJob* job, uint32_t* count);

// Room for a front, as its last query wished; what it knew is then lost. Without memory it stays.
void knQueryFront_Reserve(knQueryFront* front, const knAllocator* allocator);
void knQueryFront_Release(knQueryFront* front, const knAllocator* allocator);

// Whether one of the two moves so far in this step that it could pass through the other.
bool knPairInput_IsFast(const knPairInput* input, bool isTouching);

// One way out for all contacts of two wedged pieces, in the order of the job's sides; `radius` is
// what shares refer to.
void knPairJob_FindWayOut(const knPairJob* job, knPairContact* contacts, uint32_t count,
                          float radius);

// What is told of each contact of a query.
typedef struct knChoice
{
    float far;     // squared; from what is chosen
    bool isWanted; // within the margin
    bool isChosen; // the solver gets it
    bool wasChosen;
} knChoice;

// Chooses `limits->contacts` of them, and what is deeper than epsilon besides; all when there are
// no more, and with full detection.
void knPairJob_Choose(const knPairJob* job, const knPairContact* contacts, uint32_t count,
                      float radius, knChoice* choices);

// Looks ahead of fast motion; returns how many contacts there are then.
uint32_t knPairJob_AddSwept(const knPairJob* job, uint32_t count);

// A plane between the two.
typedef struct knPart
{
    float room;   // m, between them along the axis; negative when no plane was found
    float margin; // m, that contacts are looked for ahead
    knVec3 axis;  // unit, from side 1 to side 0, in the world
    uint32_t slabCount;
    knQuerySlab slabs[KN_MAX_SLABS]; // that hold what two pieces have in common
} knPart;

// `guess` is an axis that may do, or zero.
knPart knMakePart(const knPairInput* input, const knContactLimits* limits, knVec3 guess,
                  bool isFast);

// The axes of slabs go with side 1, for later queries with the same front.
void knPart_KeepSlabs(const knPart* part, const knPairInput* input, knPairCache* cache);
void knPart_RenewSlabs(knPart* part, const knPairInput* input, const knPairCache* cache);

// Between pieces; side 0 is piece a.
void knPart_FindSlabs(knPart* part, const knPairInput* input, knVec3 guess);

// Whether nothing touches: at the start, and when it is fast, in all of the step.
bool knPart_IsEnough(const knPart* part, const knPairInput* input, bool isFast);

// The contacts of the last query as they are now, and how much further the two may move; false when
// a query is due.
bool knPairCache_Answer(const knPairJob* job, float* left, uint32_t* count);

// So far beyond the margin points are looked for, so that the answer lasts. A share of the radius.
float knPairCache_Room(const knPairJob* job);

#define KN_MAX_LINGER 8

// Touches that the last answer had and that have come a little apart since, in place of those that
// the new one has not found; behind `count` touches. Returns how many there are then.
uint32_t knPairCache_Linger(const knPairJob* job, uint32_t count, knKeptTouch* linger,
                            uint32_t* lingerCount);
void knPairCache_KeepLinger(const knPairJob* job, const knKeptTouch* linger, uint32_t count);

// Contacts that the last answer had as well keep their normals where the new ones are hardly
// better; `radius` is what shares refer to.
void knPairCache_HoldNormals(const knPairJob* job, knPairContact* contacts, uint32_t count,
                             float radius);

// How far two pieces may come nearer to each other in this step, at most, m.
float knPairInput_Moves(const knPairInput* input);

// Readies the front for a query between pieces: what it knows of others is forgotten. Null for
// none.
knQueryFront* knPairCache_Front(const knPairJob* job);
void knPairCache_Keep(const knPairJob* job, const knPairContact* contacts, const knChoice* choices,
                      const knPairResult* result);
void knPairCache_KeepApart(const knPairJob* job, const knPart* part);

// The first of the two sides that is a piece.
static inline int knPairInput_PieceSide(const knPairInput* input)
{
    return input->sides[0].kind == kn_sidePiece ? 0 : 1;
}

// Looks whether normals push bodies into themselves; piece and shape in the order of the query.
typedef struct knNormalCheck
{
    const knPairSide* sides[2];
    float probe, slack; // m
} knNormalCheck;

knNormalCheck knMakeNormalCheck(const knPairSide* piece, const knPairSide* other);

// True when the contact's normal and distance were replaced.
bool knNormalCheck_Mend(const knNormalCheck* check, knPairContact* contact);
