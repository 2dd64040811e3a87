// SPDX-License-Identifier: Zlib
#pragma once

// Ways to keep a hierarchy while a scene moves and breaks, frame by frame in turn on the same
// changes: the measurements of FASTCD 6.

#include "bench/bench.h"
#include "knap/bvh.h"

typedef enum knKeepPhase
{
    kn_keepMesh,   // changes of the mesh
    kn_keepUpdate, // the hierarchy
    kn_keepQuery,
    kn_keepPhaseCount
} knKeepPhase;

// One way, and what it took.
typedef struct knKeeper
{
    const char* name;
    knBvhBuild build;
    knBvhUpdate update;
    float volumeRatio; // above 0: restructures by volumes of children
    knBvhScene* scene;
    knBvhQuery* query;
    knId* bodies;                        // the scene's own, for it to use
    double* seconds;                     // per frame
    double phases[2][kn_keepPhaseCount]; // of all frames, of those with a break
    knBvhFunnel sum;
} knKeeper;

typedef struct knKeepScene
{
    const char* name;
    int frameCount;
    size_t bodyCapacity;
    knVec3* positions; // of the frame now
    uint32_t vertexCount;
    knTriangle* triangles; // all that there are now
    uint32_t triangleCount;
    void* data;
    void (*advance)(struct knKeepScene* scene, int frame); // positions, and the new mesh
    knResult (*start)(struct knKeepScene* scene, knKeeper* keeper);
    knResult (*change)(struct knKeepScene* scene, knKeeper* keeper, int frame); // null: none
    bool (*isBreak)(const struct knKeepScene* scene, int frame);                // null: never
    // how many times better the paper's way is, by its own account; 0: it does not say
    double paperVolumeRule, paperHash, paperFastBuild;
} knKeepScene;

// All ways and spatial hashing must find as many pairs.
knResult knMeasureKeeping(knBenchRun* run, knKeepScene* scene);

// The first and the last hundred frames of a long run, each way beside a rebuilt tree.
knResult knMeasureDrift(knBenchRun* run, knKeepScene* scene);

// False without memory, or where the frames are not there.
bool knMakeShell(knKeepScene* scene, bool quick);
bool knMakeBalls(knKeepScene* scene, int frameCount);
bool knMakeCloth(knKeepScene* scene, bool quick);
bool knMakeBreakingWalls(knKeepScene* scene);
void knDestroyShell(knKeepScene* scene);
void knDestroyBalls(knKeepScene* scene);
void knDestroyCloth(knKeepScene* scene);
void knDestroyBreakingWalls(knKeepScene* scene);

// How well the traversal costs foretell the node tests (FASTCD 5.2.1).
knResult knMeasureCorrelations(knBenchRun* run);
