// SPDX-License-Identifier: Zlib
#pragma once

// The stress of a piece from polynomials of its own. Displacement is a polynomial in the piece's
// principal frame; mass and stiffness follow from its volume moments.

#include "fracture/stress_internal.h"

#define MAX_DEGREE     8
#define MAX_MONOMIALS  64
#define MAX_UNKNOWNS   (3 * MAX_MONOMIALS)
#define MAX_POWERS     (2 * MAX_DEGREE + 1)
#define MAX_STEPS      24
#define MAX_MOMENTS    512
#define MAX_CELLS      3375
#define GRID_REACH     2.4 // of the grid, in half sides of the piece's box
#define MOTION_VECTORS 9

// The space of polynomials: x^a y^b z^c with a + b + c <= limit[0], b + c <= limit[1] and
// c <= limit[2]. x is the longest axis: a bar needs its degree along, a plate across two. The
// shape keeps with every deflection w(x) the rotation y w'(x), without which bending would lock.
typedef struct PolySpace
{
    int limit[3];
    uint32_t count;
    uint8_t powers[MAX_MONOMIALS][3];
} PolySpace;

typedef struct PieceFrame
{
    knDVec3 center;
    knDVec3 axes[3]; // unit, longest first
    double scale[3]; // m: half the sides of a box with the same moments
} PieceFrame;

typedef struct Moments3
{
    uint16_t rows[MAX_POWERS][MAX_POWERS]; // [k][j]: where x^0 y^j z^k stands
    double sums[MAX_MOMENTS];
    uint32_t count;
} Moments3;

// The volume by cells of a grid over the frame: what the tetrahedra of a cell sum up to. Every
// moment then costs by cells and not by tetrahedra.
typedef struct CellGrid
{
    int counts[3];
    double sizes[3];
    double inverses[3]; // of the sizes, for bounds
    knMoments* cells;
    uint32_t partCount; // tetrahedra that were added
} CellGrid;

typedef struct Ritz
{
    StressTask* task;
    PieceFrame frame;
    PolySpace space;
    knDVec3* places; // of the nodes, in the frame
    uint32_t firstSlot;
    Moments3* moments;
    CellGrid grid;
    uint32_t n;        // unknowns: three per monomial
    double* stiffness; // n x n, with what the anchors hold
    double* slopes;    // count x count: integrals of products of gradients
    double* mass;      // count x count
    double* factor;    // n x n
    double* states;    // [MAX_STEPS][n]
    double times[MAX_STEPS];
    double energies[MAX_STEPS];
    uint32_t stepCount;
    double* loads;       // [impact][n]: impulse on each unknown
    double* steady;      // [n]: answer to the steady loads
    double* steadyForce; // [n]: stiffness times it
    double* scratch;     // MOTION_VECTORS n
} Ritz;

// Frame and polynomials: stress_frame.c
void knStress_SetLimits(PolySpace* space, int n0, int n1, int n2);
void knStress_ChooseSpace(Ritz* ritz);
knDVec3 knStress_ToFrame(const PieceFrame* frame, knDVec3 point);

// Cells: stress_cells.c
void knStress_FillCells(Ritz* ritz);

// Moments: stress_moments.c
void knStress_AddMoments(Ritz* ritz);

// Matrices: stress_ritz.c
void knStress_Assemble(Ritz* ritz);
void knStress_AddAnchors(Ritz* ritz);
void knStress_Factor(double* matrix, uint32_t n);
void knStress_Backsolve(const double* matrix, uint32_t n, double* x);

// The same with wider instructions: stress_ritz_avx2.c
void knStress_FactorAvx2(double* matrix, uint32_t n);
void knStress_BacksolveAvx2(const double* matrix, uint32_t n, double* x);
void knStress_Monomials(const PolySpace* space, knDVec3 p, double* values);

// Loads: stress_load.c
void knStress_GatherLoads(Ritz* ritz);

// Time steps: stress_steps.c
void knStress_RunSteps(Ritz* ritz);
