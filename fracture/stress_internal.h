// SPDX-License-Identifier: Zlib
#pragma once

// The steps of a stress solution. Both ways, cooked modes and a piece's own polynomials, give the
// stress of eight nodes at a few times; what is kept of it is the same.

#include "knap/modes.h"
#include "knap/stress.h"

#define KN_STRESS_LANES 8
#define KN_STRESS_TIMES 8  // at which the stress of every node is looked at
#define KN_STRESS_SCAN  48 // at which only the energy is

typedef struct StressTask
{
    const knStressDef* def;
    const knTetMesh* mesh;
    const uint32_t* nodes; // of the fragment
    uint32_t nodeCount;
    knArena* arena;
    knNodeStress* out;
    double times[KN_STRESS_TIMES];
    uint32_t timeCount;
    knStressResult result;
} StressTask;

// Stress of some nodes: xx yy zz xy yz zx, Pa, each at all times.
typedef struct StressBlock
{
    float s[6][KN_STRESS_TIMES][KN_STRESS_LANES];
} StressBlock;

// Sums over modes or monomials, for eight nodes and all times: stress_sum.c
typedef struct RowSum
{
    const float (*rows)[KN_STRESS_LANES];
    const float (*factors)[KN_STRESS_TIMES];
    uint32_t count;
} RowSum;

// out[time][lane]; whichever it is, every sum has the bits of a plain loop over the rows.
typedef void SumRowsFcn(const RowSum* sum, float (*out)[KN_STRESS_LANES]);
void knStress_SumRowsSse(const RowSum* sum, float (*out)[KN_STRESS_LANES]);
void knStress_SumRowsAvx2(const RowSum* sum, float (*out)[KN_STRESS_LANES]);

// The widest that this machine has.
SumRowsFcn* knStress_ChooseSum(void);

// Modes: stress_modal.c
bool knStress_HasModes(const knStressDef* def);
knResult knStress_SolveModal(StressTask* task);
size_t knStress_ModalBytes(const knStressDef* def);

// The piece's own polynomials: stress_piece.c
knResult knStress_SolvePiece(StressTask* task);
size_t knStress_PieceBytes(const knStressDef* def);

// The field around the point of a hit: stress_contact.c
void knStress_AddContacts(StressTask* task);

// Where a hit lands on the surface of the whole object: stress_locate.c
typedef struct SurfacePoint
{
    uint32_t nodes[3];
    float weights[3];
} SurfacePoint;

SurfacePoint knStress_Locate(const knTetMesh* mesh, knVec3 point);

// Time: stress_time.c
double knStress_Duration(const knStressDef* def, const knImpact* impact);

// Coordinate of an oscillator of unit mass at time t that got a unit impulse as half a sine.
double knStress_HalfSine(double omega, double duration, double t);

// Longest contact time; 0 when nothing hits.
double knStress_LongestHit(const knStressDef* def);

// At most KN_STRESS_TIMES of `count` moments, ascending, the one with the most energy among them;
// returns how many.
uint32_t knStress_PickTimes(const double* energies, uint32_t count, uint32_t* picks);

// Principal stress: stress_principal.c
// Writes the largest tension of the block's times; whichever it is, the bits are the same.
typedef void KeepLargestFcn(const StressTask* task, const StressBlock* block, uint32_t firstNode);
void knStress_KeepLargestSse(const StressTask* task, const StressBlock* block, uint32_t firstNode);
void knStress_KeepLargestAvx2(const StressTask* task, const StressBlock* block, uint32_t firstNode);
KeepLargestFcn* knStress_ChooseKeep(void);

// Of the polynomial that stands for a cosine of a third of an angle.
extern const float knStressShapeTerms[7];

// Some unit vector across `n`.
knDVec3 knStress_AnyAcross(knDVec3 n);

// The largest principal stresses of eight tensors, whose components are so many floats apart.
void knStress_LargestPrincipal(const float* tensor, size_t stride, float* largest);

// Unit eigenvector of the largest eigenvalue, which is returned to the last bits.
double knStress_Direction(const float tensor[6], double largest, knVec3* direction);
