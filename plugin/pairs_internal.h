// SPDX-License-Identifier: Zlib
#pragma once

#include "knap/pairs.h"

typedef struct knPair
{
    knPairState state;
    knPairInput input;
    uint32_t round; // that the input belongs to
    bool hasAnswer; // and nobody has taken it
} knPair;

// Contacts of one slot of the pool; stays with the slot when pairs come and go.
typedef struct knPairBlock
{
    knTouch* touches;
    uint32_t capacity;
    uint32_t count; // of the last query
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
    knArena* scratch;
    knTouch* touches;
    uint32_t capacity;
    knPairsCounters* counters;
} knPairJob;

size_t knPairBytes(const knPairInput* input, uint32_t capacity);
knResult knPairJob_Run(const knPairJob* job, uint32_t* count);

// Looks ahead of fast motion; returns how many contacts there are then.
uint32_t knPairJob_AddSwept(const knPairJob* job, uint32_t count);

// The first of the two sides that is a piece.
static inline int knPairInput_PieceSide(const knPairInput* input)
{
    return input->sides[0].kind == kn_sidePiece ? 0 : 1;
}

// Looks whether normals push bodies into themselves; piece and shape in the order of the query.
typedef struct knNormalCheck
{
    const knPairSide* sides[2];
    float probe; // m
} knNormalCheck;

knNormalCheck knMakeNormalCheck(const knPairSide* piece, const knPairSide* other);

// True when the contact's normal and distance were replaced.
bool knNormalCheck_Mend(const knNormalCheck* check, knPairContact* contact);
