// SPDX-License-Identifier: Zlib
// The elastic elements against textbook theory: bars and plates, still and vibrating.

#include "elastic_scene.h"

static void Solve(Solid* s)
{
    knStaticLoads loads = {s->forces, 1};
    assert_int_equal(knElastic_Static(&s->elastic, s->fixed, &loads, s->u), kn_success);
    assert_int_equal(knElastic_Stress(&s->elastic, s->u, s->stress), kn_success);
}

static const int barCells[3][3] = {{12, 1, 1}, {20, 2, 2}, {30, 3, 3}};

static void CantileverBendsAsTimoshenkoSays(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(barCells); ++i)
    {
        Solid s;
        MakeBoxSolid(&s, barCells[i], knMakeVec3(1.0f, 0.1f, 0.1f), POISSON);
        double length = s.size[0];
        FixPlane(&s, 0, 0.0, 7);
        PushPlane(&s, (int[2]){0, 2}, (double[3]){length, 0.0, s.size[2]}, (knDVec3){0, 0, 1.0});
        Solve(&s);
        double theory = pow(length, 3.0) / (3.0 * Bending(&s)) + length / Shear(&s);
        uint32_t tip = NearestNode(&s, (knDVec3){length, 0.0, 0.0});
        AssertWithin("deflection of the tip", s.u[3 * tip + 2], theory, 0.02);
        double x = 0.5 * length, stress = StressAcross(&s, s.stress, &x, s.size[2]);
        AssertWithin("stress half way", stress, (x - length) * 0.5 * s.size[2] / Bending(&s), 0.05);
        DestroySolid(&s);
    }
}

static void ThreePointBarBendsAsTimoshenkoSays(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(barCells); ++i)
    {
        Solid s;
        MakeBoxSolid(&s, barCells[i], knMakeVec3(1.0f, 0.1f, 0.1f), POISSON);
        double length = s.size[0], height = s.size[2];
        // a free body: three faces' worth of load in balance, the ends' own being the supports
        double cell = length / barCells[i][0], middle = 0.5 * length;
        PushPlane(&s, (int[2]){2, 0}, (double[3]){height, middle - cell, middle + cell},
                  (knDVec3){0, 0, -1.0});
        PushPlane(&s, (int[2]){0, 2}, (double[3]){0.0, 0.0, height}, (knDVec3){0, 0, 0.5});
        PushPlane(&s, (int[2]){0, 2}, (double[3]){length, 0.0, height}, (knDVec3){0, 0, 0.5});
        Solve(&s);
        double x = 0.25 * length, stress = StressAcross(&s, s.stress, &x, 0.0);
        AssertWithin("stress at a quarter", stress, 0.5 * x * 0.5 * height / Bending(&s), 0.05);
        double theory = pow(length, 3.0) / (48.0 * Bending(&s)) + length / (4.0 * Shear(&s));
        // the load is spread over two cells
        theory -= pow(2.0 * cell, 2.0) * length / (96.0 * Bending(&s));
        uint32_t a = NearestNode(&s, (knDVec3){0.0, 0.0, 0.0});
        uint32_t b = NearestNode(&s, (knDVec3){0.5 * length, 0.0, 0.0});
        AssertWithin("deflection", s.u[3 * a + 2] - s.u[3 * b + 2], theory, 0.05);
        DestroySolid(&s);
    }
}

static void SupportedPlateBendsAsNavierSays(void** state)
{
    (void)state;
    const int cells[3][3] = {{12, 12, 1}, {16, 16, 1}, {12, 12, 2}};
    for (size_t i = 0; i < COUNT_OF(cells); ++i)
    {
        Solid s;
        MakeBoxSolid(&s, cells[i], knMakeVec3(1.0f, 1.0f, 0.04f), POISSON);
        double side = s.size[0], thickness = s.size[2];
        // along an edge nothing moves but across it
        FixPlane(&s, 0, 0.0, 6);
        FixPlane(&s, 0, side, 6);
        FixPlane(&s, 1, 0.0, 5);
        FixPlane(&s, 1, side, 5);
        PushPlane(&s, (int[2]){2, 0}, (double[3]){thickness, 0.0, side},
                  (knDVec3){0, 0, -side * side});
        Solve(&s);
        PlateTheory theory = Navier(side, thickness, POISSON);
        uint32_t low = NearestNode(&s, (knDVec3){0.5 * side, 0.5 * side, 0.0});
        AssertWithin("deflection", -s.u[3 * low + 2], theory.deflection, 0.02);
        double stress = 6.0 * theory.moment / (thickness * thickness);
        AssertWithin("stress xx", s.stress[low], stress, 0.05);
        AssertWithin("stress yy", s.stress[s.shape.nodeCount + low], stress, 0.05);
        DestroySolid(&s);
    }
}

// Linear elements are the quadratic ones whose middles must follow the corners: u = P v, with half
// of each end at a middle.
static void Spread(const Solid* s, const double* v, double* u)
{
    const knTetMesh* m = &s->store.mesh;
    for (size_t d = 0; d < s->dofs; ++d)
    {
        size_t n = d / 3;
        const uint32_t* e = n < m->nodeCount ? NULL : m->edges[n - m->nodeCount].v;
        u[d] = e ? 0.5 * (v[3 * e[0] + d % 3] + v[3 * e[1] + d % 3]) : v[d];
    }
}

static void Gather(const Solid* s, const double* f, double* g)
{
    const knTetMesh* m = &s->store.mesh;
    size_t corners = 3 * (size_t)m->nodeCount;
    memcpy(g, f, corners * sizeof(double));
    for (size_t d = corners; d < s->dofs; ++d)
    {
        const uint32_t* e = m->edges[d / 3 - m->nodeCount].v;
        g[3 * e[0] + d % 3] += 0.5 * f[d];
        g[3 * e[1] + d % 3] += 0.5 * f[d];
    }
    for (size_t d = 0; d < corners; ++d)
    {
        g[d] = s->fixed[d / 3] >> (d % 3) & 1 ? 0.0 : g[d];
    }
}

static double DotOf(const double* a, const double* b, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i)
    {
        sum += a[i] * b[i];
    }
    return sum;
}

// Conjugate gradients on P^T K P, in place of a second element.
static void SolveLinear(Solid* s)
{
    size_t n = 3 * (size_t)s->store.mesh.nodeCount;
    double* memory = Zeros(4 * n + 2 * s->dofs, sizeof(double));
    double *x = memory, *r = x + n, *p = r + n, *q = p + n, *u = q + n, *f = u + s->dofs;
    Gather(s, s->forces, r);
    memcpy(p, r, n * sizeof(double));
    double rr = DotOf(r, r, n), first = rr;
    for (int i = 0; i < 5000 && rr > 1e-16 * first; ++i)
    {
        Spread(s, p, u);
        knElastic_MultiplyStiffness(&s->elastic, u, f);
        Gather(s, f, q);
        double step = rr / DotOf(p, q, n), before = rr;
        for (size_t k = 0; k < n; ++k)
        {
            x[k] += step * p[k];
            r[k] -= step * q[k];
        }
        rr = DotOf(r, r, n);
        for (size_t k = 0; k < n; ++k)
        {
            p[k] = r[k] + rr / before * p[k];
        }
    }
    Spread(s, x, s->u);
    free(memory);
}

// Why the elements are quadratic: the same bar in linear ones bends a fraction of what it should.
static void LinearElementsLock(void** state)
{
    (void)state;
    Solid s;
    MakeBoxSolid(&s, barCells[0], knMakeVec3(1.0f, 0.1f, 0.1f), POISSON);
    double length = s.size[0];
    FixPlane(&s, 0, 0.0, 7);
    PushPlane(&s, (int[2]){0, 2}, (double[3]){length, 0.0, s.size[2]}, (knDVec3){0, 0, 1.0});
    double theory = pow(length, 3.0) / (3.0 * Bending(&s)) + length / Shear(&s);
    uint32_t tip = NearestNode(&s, (knDVec3){length, 0.0, 0.0});
    SolveLinear(&s);
    double linear = s.u[3 * tip + 2] / theory;
    Solve(&s);
    double quadratic = s.u[3 * tip + 2] / theory;
    print_message("a cantilever of one layer bends %.2f of theory in linear elements, %.3f in "
                  "quadratic ones\n",
                  linear, quadratic);
    assert_true(linear < 0.5);
    ASSERT_NEAR(quadratic, 1.0, 0.02);
    DestroySolid(&s);
}

static knElasticModes Vibrate(const Solid* s, uint32_t count)
{
    knElasticModes modes;
    knElasticModeOptions options = {.count = count};
    assert_int_equal(knSolveElasticModes(&modes, &s->elastic, &options), kn_success);
    assert_int_equal(modes.basis.count, count);
    return modes;
}

// Flat bar: bends about one axis first, then about the other.
static void FreeBarVibratesAsEulerSays(void** state)
{
    (void)state;
    const int cells[2][3] = {{24, 1, 1}, {32, 2, 2}};
    for (size_t i = 0; i < COUNT_OF(cells); ++i)
    {
        Solid s;
        MakeBoxSolid(&s, cells[i], knMakeVec3(1.0f, 0.05f, 0.03f), POISSON);
        knElasticModes modes = Vibrate(&s, 4);
        const double roots[2] = {4.730041, 7.853205};
        const struct
        {
            int mode, root, axis;
        } expected[3] = {{0, 0, 2}, {1, 0, 1}, {2, 1, 2}};
        for (int k = 0; k < 3; ++k)
        {
            double thickness = s.size[expected[k].axis];
            double beta = roots[expected[k].root] / s.size[0];
            double omega = beta * beta * thickness / sqrt(12.0);
            AssertWithin("frequency", sqrt(modes.eigenvalues[expected[k].mode]), omega, 0.03);
        }
        knDestroyElasticModes(&modes);
        DestroySolid(&s);
    }
}

// Leissa, Vibration of plates: omega a^2 sqrt(rho h / D) of a square with four free edges and
// Poisson's ratio 0.3.
static void FreePlateVibratesAsLeissaSays(void** state)
{
    (void)state;
    const int cells[2][3] = {{12, 12, 1}, {14, 14, 2}};
    for (size_t i = 0; i < COUNT_OF(cells); ++i)
    {
        Solid s;
        MakeBoxSolid(&s, cells[i], knMakeVec3(1.0f, 1.0f, 0.02f), 0.3);
        knElasticModes modes = Vibrate(&s, 5);
        const double leissa[5] = {13.489, 19.789, 24.432, 35.024, 35.024};
        double rigidity = s.size[2] * s.size[2] / (12.0 * (1.0 - 0.09));
        for (int k = 0; k < 5; ++k)
        {
            double omega = leissa[k] * sqrt(rigidity) / (s.size[0] * s.size[0]);
            AssertWithin("frequency", sqrt(modes.eigenvalues[k]), omega, 0.03);
        }
        knDestroyElasticModes(&modes);
        DestroySolid(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CantileverBendsAsTimoshenkoSays),
        cmocka_unit_test(ThreePointBarBendsAsTimoshenkoSays),
        cmocka_unit_test(SupportedPlateBendsAsNavierSays),
        cmocka_unit_test(LinearElementsLock),
        cmocka_unit_test(FreeBarVibratesAsEulerSays),
        cmocka_unit_test(FreePlateVibratesAsLeissaSays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
