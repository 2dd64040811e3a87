// SPDX-License-Identifier: Zlib
#pragma once

// The contacts between two pieces: Algorithm 1 of the paper in both directions at once, breadth
// first, with self-adapting selection (section 5.3).
//
// The points of each piece come coarse to fine from its sphere tree and are tested against the
// other's distance field. The first m contacts are kept; when there are that many, the walk goes on
// for points deeper than epsilon alone, and m grows. Nothing is allocated: scratch comes from an
// arena, results go to the caller's array. A query reads its families and writes its pair's state,
// so pairs can run on as many threads as there are.

#include "knap/contact.h"
#include "knap/piece_mesh.h"
#include "knap/setting.h"

// All limits of contact selection. Shares are of the smaller piece's radius. Defaults, ranges and
// meanings stand in one table: knContactSettings.
typedef struct knContactLimits
{
    size_t size;          // of this struct
    uint32_t contacts;    // m at first, the paper's 8; of more, so many go to the solver
    uint32_t maxContacts; // m grows no further
    uint32_t growth;      // of m, per query that reaches it
    uint32_t decay;       // queries that need fewer before m falls by one
    float epsilon;        // share; penetration that the selection may leave: the paper's 0.002
    float margin;         // share; contacts are found this far before they touch
    // sharp edges against shapes are tested when points gave fewer contacts; those of two pieces
    // always, unless this is 0
    uint32_t edgeContacts;
    // what motion may use up before a pair of knPairs is asked again, as a share of epsilon and of
    // twice the margin: its contacts are kept meanwhile and go with their bodies; 0 to ask always
    float coherence;
    bool full; // no selection: every point in contact
} knContactLimits;

KN_API const knSettingTable* knContactSettings(void);
KN_API knContactLimits knDefaultContactLimits(void);

// Names the field, the value and the range.
KN_API knResult knValidateContactLimits(const knContactLimits* limits);

// What a pair remembers from step to step; zero at first.
typedef struct knPairState
{
    uint32_t contacts; // m, 0 for the limit's own
    uint32_t quiet;    // queries in a row that needed fewer
    float room;        // share: points so far beyond the margin are listed too, and do not count
} knPairState;

typedef struct knQueryPiece
{
    const knFamily* family;
    uint32_t fragment;
    knTransform transform; // from the asset's frame to the world
    // with the points where cracks meet, which the sphere tree does not have; may be null
    const knPieceMesh* mesh;
} knQueryPiece;

typedef enum knContactKind
{
    kn_contactPoint,
    kn_contactEdge
} knContactKind;

// In the world's frame. The point belongs to piece `side` (0 or 1); the normal points from the
// other piece towards it.
typedef struct knPairContact
{
    knContact contact;
    uint8_t side;
    uint8_t kind; // knContactKind
} knPairContact;

typedef struct knQueryCounters
{
    uint64_t visits; // nodes of the trees, points that come again included
    uint64_t points; // met for the first time
    uint64_t edges;  // tested beyond their boxes
    uint64_t found;  // contacts, also those that did not fit
    uint64_t kept;
    knFieldCounters fields[2]; // against the field of the other piece, by sampled side
} knQueryCounters;

typedef struct knPairResult
{
    uint32_t count;
    bool isFull;     // stopped because m, or the array, was full
    uint32_t beyond; // of them beyond the margin: the room of the state
    float reach;  // m: points that are not among the contacts are no nearer; negative when inside
    float radius; // m, that the shares of the limits refer to
    knQueryCounters counters;
} knPairResult;

// Scratch that a query between these pieces takes from an arena at most.
KN_API size_t knQueryBytes(const knQueryPiece* a, const knQueryPiece* b);

// Fills at most `capacity` contacts. kn_errorMemory when the arena is too small; it is given back
// what it had.
KN_API knResult knQueryPair(const knQueryPiece* a, const knQueryPiece* b,
                            const knContactLimits* limits, knPairState* state, knArena* scratch,
                            knPairContact* contacts, uint32_t capacity, knPairResult* result);
