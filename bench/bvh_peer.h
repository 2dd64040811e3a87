// SPDX-License-Identifier: Zlib
#pragma once

// Other libraries that find the pairs of a surface, behind one table; and the surfaces.

#include "bench/bench.h"
#include "knap/mesh.h"

#if defined(__cplusplus)
extern "C"
{
#endif

    // Positions change under a peer between a build and a refit; the rest stays.
    typedef struct knPeerMesh
    {
        const char* name;
        knVec3* positions; // as the structures see them
        knVec3* poses[2];
        knTriangle* triangles;
        uint32_t positionCount, triangleCount;
    } knPeerMesh;

    typedef struct knBvhPeer
    {
        const char* name;
        const char* note;
        int repetitions;                         // at most
        void* (*create)(const knPeerMesh* mesh); // null when out of memory
        void (*destroy)(void* peer);
        void (*build)(void* peer);
        bool hasBuild;             // false: build only fetches positions, and there is no such row
        void (*refit)(void* peer); // null: there is none
        // sorted keys a << 32 | b of the pairs that meet and share no vertex; null: only builds
        size_t (*query)(void* peer, const uint64_t** keys);
    } knBvhPeer;

    extern const knBvhPeer knEmbreePeer;
    extern const knBvhPeer knEmbreeRefitPeer;
    extern const knBvhPeer knFclPeer;
    extern const knBvhPeer knCgalPeer;
    extern const knBvhPeer knCgalTreePeer;

    bool knPeerMesh_AreAdjacent(const knPeerMesh* mesh, uint32_t a, uint32_t b);

    // Sorts, and drops what is there twice.
    size_t knSortPairKeys(uint64_t* keys, size_t count);

#if defined(__cplusplus)
}
#endif

// The same exact test that Knap uses behind its filters: no vertex in common.
bool knPeerMesh_TrianglesMeet(const knPeerMesh* mesh, uint32_t a, uint32_t b);

// A surface of real data by its number, or a generated one; kn_errorFile when it is not there.
typedef enum knPeerScene
{
    kn_peerCloth92,
    kn_peerCloth93,
    kn_peerNBody,
    kn_peerBunny, // 72K triangles, bent until its ears meet its feet
    kn_peerPipe,  // 59K triangles, bent until it meets itself
    kn_peerShell, // 871K triangles, displaced sphere
    kn_peerSceneCount
} knPeerScene;

const char* knPeerSceneName(knPeerScene scene);
knResult knMakePeerMesh(knPeerMesh* mesh, knPeerScene scene);
void knDestroyPeerMesh(knPeerMesh* mesh);
void knPeerMesh_SetPose(knPeerMesh* mesh, int pose);
