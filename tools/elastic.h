// SPDX-License-Identifier: Zlib
#pragma once

// Linear elasticity on a tetrahedral mesh with quadratic elements: each tetrahedron has a node at
// every corner and in the middle of every edge. Linear elements are several times too stiff in
// bending; these bend rightly even in a single layer.
//
// Unit Young's modulus, unit density, and lengths divided by `unit`, so that all numbers stay near
// one whatever the size of the object. A degree of freedom is 3 * node + axis.

#include "knap/mesh.h"

#include <stdint.h>

typedef struct knElastic
{
    knAllocator allocator;
    const knTetMesh* mesh;
    double poisson;
    double unit;        // metres; half the diagonal of the bounds
    uint32_t nodeCount; // corners as in the mesh, then the middle of each edge
    // the lower triangle, one column per node; the diagonal comes first, rows ascend
    size_t* starts;    // nodeCount + 1
    uint32_t* rows;    // starts[nodeCount]
    double* stiffness; // a block of 3 x 3 per entry, row by row
    double* mass;      // one number per entry: the same for the three axes
} knElastic;

// The mesh must outlive it.
knResult knCreateElastic(knElastic* elastic, const knTetMesh* mesh, double poisson,
                         const knAllocator* allocator);
void knDestroyElastic(knElastic* elastic);

// y = K x and y = M x; 3 * nodeCount numbers each.
void knElastic_MultiplyStiffness(const knElastic* elastic, const double* x, double* y);
void knElastic_MultiplyMass(const knElastic* elastic, const double* x, double* y);

// Where a node stands, in units.
knDVec3 knElastic_Position(const knElastic* elastic, uint32_t node);

// Stress at the corners of the mesh, [6][mesh->nodeCount]: xx yy zz xy yz zx. The linear stress of
// each element is taken at its corners and averaged over the elements around a node, weighed by
// volume.
knResult knElastic_Stress(const knElastic* elastic, const double* u, double* stress);

// A factorised K + shift M without the fixed degrees of freedom.
typedef struct knElasticSolver knElasticSolver;

// `fixed` has a byte per node, bit k set when axis k cannot move; null when all is free. A free
// object needs a positive shift.
knResult knCreateElasticSolver(knElasticSolver** solver, const knElastic* elastic,
                               const uint8_t* fixed, double shift);
void knDestroyElasticSolver(knElasticSolver* solver);

// Fixed entries of x are zero. x and b may be the same.
knResult knElasticSolver_Solve(knElasticSolver* solver, const double* b, double* x);

// Forces on all nodes, one load behind the other.
typedef struct knStaticLoads
{
    const double* forces; // 3 * nodeCount per load
    size_t count;
} knStaticLoads;

// Displacements under forces that do not depend on time, in units, one behind the other. What would
// only push the body about is left out: forces are balanced by uniform acceleration, rigid motion
// is taken away.
knResult knElastic_Static(const knElastic* elastic, const uint8_t* fixed,
                          const knStaticLoads* loads, double* u);

// Vectors of 3 * nodeCount numbers each, orthonormal in M, with their products with M.
typedef struct knElasticBasis
{
    const knElastic* elastic;
    uint32_t count;
    uint32_t capacity;
    double* vectors;
    double* massVectors;
} knElasticBasis;

knResult knCreateElasticBasis(knElasticBasis* basis, const knElastic* elastic, uint32_t capacity);
void knDestroyElasticBasis(knElasticBasis* basis);
double* knElasticBasis_Vector(const knElasticBasis* basis, uint32_t index);

// x -= the part of x in the span; and the same for a force, which loses what would move the span.
void knElasticBasis_Remove(const knElasticBasis* basis, double* x);
void knElasticBasis_RemoveForce(const knElasticBasis* basis, double* force);

// Normalises x, which must be orthogonal to the others, and takes it in. False, and nothing is
// taken, when less than `least` is left of it.
bool knElasticBasis_Append(knElasticBasis* basis, const double* x, double least);

// The rigid motions that the fixed degrees of freedom allow: six of a free body.
knResult knMakeRigidBasis(knElasticBasis* basis, const knElastic* elastic, const uint8_t* fixed);

typedef struct knElasticModeOptions
{
    const uint8_t* fixed; // as in knCreateElasticSolver
    uint32_t count;       // of modes; fewer where the mesh is too coarse to have them
} knElasticModeOptions;

// Modes without the rigid ones, eigenvalues in 1/unit^2.
typedef struct knElasticModes
{
    knElasticBasis basis;
    double* eigenvalues;
    uint32_t capacity; // of the two above
    uint32_t solveCount;
} knElasticModes;

knResult knSolveElasticModes(knElasticModes* modes, const knElastic* elastic,
                             const knElasticModeOptions* options);
void knDestroyElasticModes(knElasticModes* modes);

// The section of a cooked file: shapes and stresses at the corners of the mesh, in metres.
knResult knEncodeElasticModes(const knElasticModes* modes, bool isAnchored,
                              const knAllocator* allocator, void** bytes, size_t* size);
