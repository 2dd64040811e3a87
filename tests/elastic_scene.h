// SPDX-License-Identifier: Zlib
#pragma once

// Bars and plates of tetrahedra with supports and loads, and the formulas of the textbooks. Lengths
// in the solver's unit, Young's modulus and density 1.

#include "elastic.h"
#include "kit.h"
#include "modes.h"
#include "tet_shapes.h"

#include <math.h>

#define POISSON KN_DEFAULT_POISSON

typedef struct Solid
{
    TetShape shape;
    knTetMeshStore store;
    knElastic elastic;
    double size[3]; // in units, like all below, or in metres after UseMetres
    double length;  // of what `size` is measured in, in units
    size_t dofs;
    uint8_t* fixed; // per node
    double* forces;
    double* u;
    double* stress; // [6][corner]
} Solid;

static inline void* Zeros(size_t count, size_t size)
{
    void* memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static inline void OpenSolid(Solid* s, double poisson)
{
    const TetShape* t = &s->shape;
    assert_int_equal(knBuildTetMesh(&s->store, t->nodes, t->nodeCount, t->tets, t->tetCount, NULL),
                     kn_success);
    assert_int_equal(knCreateElastic(&s->elastic, &s->store.mesh, poisson, NULL), kn_success);
    knVec3 extent = knBox_Extent(knBoundingBox(t->nodes, t->nodeCount));
    s->size[0] = (double)extent.x / s->elastic.unit;
    s->size[1] = (double)extent.y / s->elastic.unit;
    s->size[2] = (double)extent.z / s->elastic.unit;
    s->length = 1.0;
    s->dofs = 3 * (size_t)s->elastic.nodeCount;
    s->fixed = Zeros(s->elastic.nodeCount, 1);
    s->forces = Zeros(s->dofs, sizeof(double));
    s->u = Zeros(s->dofs, sizeof(double));
    s->stress = Zeros(6 * (size_t)t->nodeCount, sizeof(double));
}

// A box with one corner in the origin.
static inline void MakeBoxSolid(Solid* s, const int cells[3], knVec3 size, double poisson)
{
    s->shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), size);
    OpenSolid(s, poisson);
}

static inline void DestroySolid(Solid* s)
{
    free(s->fixed);
    free(s->forces);
    free(s->u);
    free(s->stress);
    knDestroyElastic(&s->elastic);
    knDestroyTetMeshStore(&s->store);
    DestroyShape(&s->shape);
}

// From here on the solid is measured in metres.
static inline void UseMetres(Solid* s)
{
    s->length = 1.0 / s->elastic.unit;
    for (int i = 0; i < 3; ++i)
    {
        s->size[i] /= s->length;
    }
}

static inline knDVec3 Place(const Solid* s, uint32_t node)
{
    return knDScale(1.0 / s->length, knElastic_Position(&s->elastic, node));
}

static inline double Coordinate(const Solid* s, uint32_t node, int axis)
{
    knDVec3 p = Place(s, node);
    return axis == 0 ? p.x : (axis == 1 ? p.y : p.z);
}

static inline bool IsAt(const Solid* s, uint32_t node, int axis, double value)
{
    return fabs(Coordinate(s, node, axis) - value) < 1e-5;
}

// Axes in the bits of `axes` cannot move on the plane.
static inline void FixPlane(Solid* s, int axis, double value, uint8_t axes)
{
    for (uint32_t n = 0; n < s->elastic.nodeCount; ++n)
    {
        s->fixed[n] |= IsAt(s, n, axis, value) ? axes : 0;
    }
}

typedef struct Face
{
    knTriangle triangle;
    double area; // 0 when not in the range
} Face;

// A boundary triangle if it lies on the plane axes[0] = range[0] with axes[1] from range[1] to
// range[2].
static inline Face FaceInRange(const Solid* s, uint32_t index, const int axes[2],
                               const double range[3])
{
    const knTetMesh* m = &s->store.mesh;
    Face face = {.triangle = knTetMesh_BoundaryTriangle(m, m->boundaryFaces[index])};
    const uint32_t* v = face.triangle.v;
    for (int k = 0; k < 3; ++k)
    {
        double at = Coordinate(s, v[k], axes[1]);
        if (!IsAt(s, v[k], axes[0], range[0]) || at < range[1] - 1e-5 || at > range[2] + 1e-5)
        {
            return face;
        }
    }
    knDVec3 a = knDSub(Place(s, v[1]), Place(s, v[0])), b = knDSub(Place(s, v[2]), Place(s, v[0]));
    face.area = 0.5 * knDLength(knDCross(a, b));
    return face;
}

static inline void AddForce(Solid* s, uint32_t node, double share, knDVec3 force)
{
    double* f = s->forces + 3 * (size_t)node;
    f[0] += share * force.x;
    f[1] += share * force.y;
    f[2] += share * force.z;
}

// Spreads a force evenly over part of a boundary plane. Under constant pressure the middles of a
// quadratic triangle's edges bear a third each; a game knows the corners only, and loads those.
static inline void SpreadForce(Solid* s, const int axes[2], const double range[3], knDVec3 force,
                               bool onCorners)
{
    const knTetMesh* m = &s->store.mesh;
    double whole = 0.0;
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        whole += FaceInRange(s, i, axes, range).area;
    }
    assert_true(whole > 0.0);
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        Face face = FaceInRange(s, i, axes, range);
        const uint32_t* v = face.triangle.v;
        for (int k = 0; face.area > 0.0 && k < 3; ++k)
        {
            uint32_t middle = m->nodeCount + knTetMesh_FindEdge(m, v[k], v[(k + 1) % 3]);
            AddForce(s, onCorners ? v[k] : middle, face.area / (3.0 * whole), force);
        }
    }
}

static inline void PushPlane(Solid* s, const int axes[2], const double range[3], knDVec3 force)
{
    SpreadForce(s, axes, range, force, false);
}

static inline void LoadPlane(Solid* s, const int axes[2], const double range[3], knDVec3 force)
{
    SpreadForce(s, axes, range, force, true);
}

// The corner nearest to a point, in units.
static inline uint32_t NearestNode(const Solid* s, knDVec3 p)
{
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t n = 0; n < s->shape.nodeCount; ++n)
    {
        double d = knDLength(knDSub(Place(s, n), p));
        best = d < least ? n : best;
        least = fmin(d, least);
    }
    return best;
}

// Stress along x, averaged over the corners on the line across the bar that is nearest to (x, z):
// in theory it is the same all along the line. *x becomes where the line is.
static inline double StressAcross(const Solid* s, const double* stress, double* x, double z)
{
    uint32_t n = NearestNode(s, (knDVec3){*x, 0.0, z});
    double sum = 0.0;
    int count = 0;
    *x = Coordinate(s, n, 0);
    for (uint32_t i = 0; i < s->shape.nodeCount; ++i)
    {
        if (IsAt(s, i, 0, *x) && IsAt(s, i, 2, z))
        {
            sum += stress[i];
            ++count;
        }
    }
    return sum / count;
}

static inline double Bending(const Solid* s)
{
    return s->size[1] * pow(s->size[2], 3.0) / 12.0;
}

static inline double Shear(const Solid* s)
{
    return 5.0 / 6.0 * s->size[1] * s->size[2] * 0.5 / (1.0 + s->elastic.poisson);
}

// Navier's series for a simply supported square plate under unit pressure, at its middle, with the
// shear term of thick plates.
typedef struct PlateTheory
{
    double deflection;
    double moment;
} PlateTheory;

static inline PlateTheory Navier(double side, double thickness, double poisson)
{
    double rigidity = pow(thickness, 3.0) / (12.0 * (1.0 - poisson * poisson));
    double shear = 5.0 / 6.0 * thickness * 0.5 / (1.0 + poisson);
    double w = 0.0, both = 0.0, moment = 0.0;
    for (int m = 1; m < 200; m += 2)
    {
        for (int n = 1; n < 200; n += 2)
        {
            double sign = (m + n) / 2 % 2 ? 1.0 : -1.0, mm = m * m, nn = n * n, sum = mm + nn;
            w += sign / (m * n * sum * sum);
            both += sign / (m * n * sum);
            moment += sign * (mm + poisson * nn) / (m * n * sum * sum);
        }
    }
    const double pi2 = pow(acos(-1.0), 2.0);
    double a2 = 16.0 * side * side / (pi2 * pi2);
    return (PlateTheory){a2 * side * side / (pi2 * rigidity) * w + a2 * both / shear, a2 * moment};
}

// Prints how far off it is, for docs/modes.md.
static inline void AssertWithin(const char* what, double got, double expected, double share)
{
    double off = 100.0 * (got / expected - 1.0);
    print_message("    %s: %+.1f %% of theory\n", what, off);
    if (!(fabs(got - expected) <= share * fabs(expected)))
    {
        fail_msg("%s: %g, theory says %g (%+.1f %%)", what, got, expected, off);
    }
}
