// SPDX-License-Identifier: Zlib
#pragma once

#include "fracture/cutting_internal.h"
#include "knap/crack.h"

#define KN_CRACK_LATTICE 4096 // 16 cells along each side
#define KN_CRACK_PAD     4    // nodes are looked at by fours, past the last

// What the work takes, in units of about 30 ns, set above a fit to what knap-bench fracture cuts so
// that slices keep to their budget: for each place that is tried and each cut, for each node of its
// piece, and each point of the new faces.
#define KN_TRY_UNITS       200
#define KN_CUT_UNITS       1000
#define KN_CUT_NODE_UNITS  2
#define KN_CUT_POINT_UNITS 34
#define KN_NODES_A_UNIT    8 // that are judged

// Points of a face for each node of a layer along it as thick as a tetrahedron: what nine of ten
// faces of solid objects stay below; in plates and shelves a few more exceed it.
#define KN_LAYER_POINTS 3.0

// Over the largest tension of the piece.
typedef struct StressTensor
{
    float xx, yy, zz, xy, xz, yz;
} StressTensor;

// Any direction gets the same numbers in a turned copy: points are seen from the hit, along its
// direction and towards a node chosen by its number.
typedef struct HitFrame
{
    knVec3 point;
    knVec3 axis, e1, e2;
} HitFrame;

// phi = normal . (p - seed) + curvature |p - seed|^2 / 2, with a kink behind the hit and waves.
typedef struct CrackFace
{
    knVec3 seed;
    knVec3 normal;
    float curvature; // 1/m; the centre lies against the normal
    const HitFrame* hit;
    bool isRadial;               // passes through the hit
    knVec3 outwards;             // radial: from the hit to the seed, across the normal
    float kink;                  // radial: slope behind the hit
    float amplitude, wavelength; // of the waves, m
    float seedWave;
    const float* lattice;
    knVec3 noisePlace; // where in the noise this face looks
    uint64_t turnSeed;
} CrackFace;

// The face through a node.
typedef struct Candidate
{
    CrackFace face;
    uint32_t fragment;
    uint32_t node;
    float extent;     // m, from the seed to the furthest node
    double paidShare; // of its area that is to be paid for; earlier cracks have paid the rest
    double layer;     // nodes in a layer along it as thick as the spacing at the hit
    bool isRefused;   // leaves a sliver, nothing on one side, or is too strong
    bool isClosed;    // goes round the hit
} Candidate;

struct knCracks
{
    knAllocator allocator;
    uint32_t nodeCapacity;
    knFragmentSet* set;
    knCrackDef def;
    HitFrame hits[KN_MAX_CRACK_HITS];
    knCrackReport report;
    double scale;       // Pa of tension that a score of 1 stands for, at the given impulse
    double wholeEnergy; // J; the report has the share that many cracks get of it
    double minVolume;   // m^3
    float minSpacing;   // m
    double edge;        // m, of the mean tetrahedron: finer than that nothing can be cut
    // by node of the mesh
    StressTensor* stress; // over the largest tension, as far as it is not relieved
    float* scores;        // over strength; an upper bound while not fresh
    float* spacings;      // m, of cracks there
    uint8_t* isFresh;
    // a heap of the nodes, the highest score first
    uint32_t* heap;
    uint32_t heapCount;
    Candidate found; // not cut yet
    bool hasFound;
    float* phi; // by slot of the piece at work
    // positions in the order of the set's nodes, from the first of the piece that was hit on
    uint32_t firstNode;
    float* places[3];
    float* placeBlock;
    float lattice[KN_CRACK_LATTICE]; // of noise
};

// crack_stress.c
// The largest principal value and its direction; `fallback` when all directions are alike.
double knCrack_Principal(const StressTensor* s, knVec3 fallback, knVec3* direction);

// Takes the traction on a face of this normal away, wholly for a weight of 1.
void knCrack_Relieve(StressTensor* s, knVec3 normal, float weight);

// crack_order.c: the nodes by score
void knCrack_FillHeap(knCracks* cracks, const uint32_t* nodes, uint32_t count);

// The node with the highest score, which is then exact; KN_NONE when none is left.
uint32_t knCrack_TopNode(knCracks* cracks, knVec3* direction);

// Tension over strength; both are over the largest tension there is.
double knCrack_Ratio(const knCracks* cracks, uint32_t node, double tension);

// What orders the cracks.
float knCrack_Score(const knCracks* cracks, uint32_t node, double ratio, knVec3 direction);

// crack_face.c
// Still without waves.
CrackFace knCrack_MakeFace(const knCracks* cracks, uint32_t node, knVec3 direction);

// The face through the same seed that contains the direction of the hit.
void knCrack_TurnThroughHit(CrackFace* face);

// Waves of this length; their height is a share of it.
void knCrack_SetWaves(CrackFace* face, float wavelength, float share);

// What they add to the signed distance; nothing at the seed.
float knCrack_Waves(const CrackFace* face, knVec3 p);

// Unit, of the face that passes through the point.
knVec3 knCrack_FaceNormal(const CrackFace* face, knVec3 p);
void knCrack_FillNoise(float* lattice, uint64_t seed);
float knCrack_Spacing(const knCracks* cracks, knVec3 p);
const HitFrame* knCrack_NearestHit(const knCracks* cracks, knVec3 p);
HitFrame knCrack_MakeHitFrame(const knCrackHit* hit, const knTetMesh* mesh, const uint32_t* nodes,
                              uint32_t count);

// crack_try.c: one candidate and the nodes of its piece
// Positions of a run of the set's nodes.
void knCrack_LoadPlaces(knCracks* cracks, uint32_t firstNode, uint32_t count);

// Fills phi without waves, and says what the face would do.
void knCrack_Judge(knCracks* cracks, Candidate* candidate);

// Adds the waves to phi, and says what is to be paid.
void knCrack_Roughen(knCracks* cracks, Candidate* candidate);

// Nodes within the spacing of the new faces lose the tension across them. `nodes` in the order of
// phi.
void knCrack_RelieveAround(knCracks* cracks, const CrackFace* face, const uint32_t* nodes,
                           uint32_t count);

// The seed could not be used: neither can those right beside it.
void knCrack_GiveUp(knCracks* cracks, const Candidate* candidate);

// As far as the energy reached, nearest to the seed first.
void knCrack_LeaveDamage(knCracks* cracks, const Candidate* candidate, double share);

// In [0, 1), by node and seed.
float knCrack_NodeRandom(uint64_t seed, uint32_t node);
