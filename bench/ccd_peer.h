// SPDX-License-Identifier: Zlib
#pragma once

// FCL's continuous collision of a surface with itself, and the exact answers of two public steps.

#include "bench/bvh_peer.h"
#include "knap/bvh_ccd.h"

#if defined(__cplusplus)
extern "C"
{
#endif

    typedef struct knCcdPeer knCcdPeer;

    knCcdPeer* knCreateCcdPeer(const knPeerMesh* mesh); // null when out of memory
    void knDestroyCcdPeer(knCcdPeer* peer);
    void knCcdPeer_Rest(knCcdPeer* peer); // to the first pose
    // Update to the second pose, search, sort; returns the pairs of triangles.
    size_t knCcdPeer_Run(knCcdPeer* peer);
    bool knCcdPeer_Has(const knCcdPeer* peer, uint32_t a, uint32_t b);

    // Its elementary test, by Newton's method.
    bool knRunPeerTest(const knCcdTest* test);

#if defined(__cplusplus)
}
#endif

// True contacts that are not in the list, and those in the list that are not true; vertices are
// numbered first, then edges, then faces. kn_errorFile when there are no answers.
typedef struct knCcdVerdict
{
    size_t trueCount, missed, extra;
} knCcdVerdict;

knResult knJudgeContacts(const char* folder, int frame, const knCcdStep* step, uint32_t vertexCount,
                         knCcdVerdict* verdict);

// Contacts of the step of which the peer has no pair of triangles that have the features.
knResult knCountPeerMissed(const knCcdPeer* peer, const knPeerMesh* mesh, const knCcdStep* step,
                           size_t* missed);
