// SPDX-License-Identifier: Zlib
// The stress of pieces against beams in closed form. All bars are pieces: cut from a larger block
// by a plane through its tetrahedra.
#include "fracture/stress_ritz_internal.h"
#include "fracture_scene.h"

#include "knap/stress.h"

#define LENGTH 0.3
#define WIDTH  0.025
#define HEIGHT 0.013
#define FORCE  100.0
#define STEP   0.01f

static const double inertia = WIDTH * HEIGHT * HEIGHT * HEIGHT / 12.0;

typedef struct Bar
{
    Scene scene;
    uint32_t fragment;
    knMaterial material;
    knArena arena;
} Bar;

static uint32_t CutBelow(Scene* scene, uint32_t fragment, knVec3 normal, float offset)
{
    knSplitDef def = knDefaultSplitDef();
    def.normal = normal;
    def.offset = offset;
    knSplitResult result = Split(scene, fragment, &def);
    assert_int_equal(result.outcome, kn_splitDone);
    assert_int_equal(result.delta.fragmentCount, 2);
    uint32_t a = result.delta.fragments[0];
    double side = knDDot(scene->set.fragments[a].mass.center, knToDouble(normal));
    return side < (double)offset ? a : result.delta.fragments[1];
}

static void MakeBar(Bar* bar)
{
    const int cells[3] = {24, 3, 2};
    bar->scene.shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f),
                                      knMakeVec3((float)LENGTH, (float)WIDTH, 0.02f));
    StartScene(&bar->scene, 1);
    bar->fragment = CutBelow(&bar->scene, 0, knMakeVec3(0.0f, 0.0f, 1.0f), (float)HEIGHT);
    double volume = bar->scene.set.fragments[bar->fragment].mass.volume;
    ASSERT_NEAR(volume, LENGTH * WIDTH * HEIGHT, 1e-6 * volume);
    bar->material = *knFindMaterialPreset("glass");
    assert_int_equal(knCreateArena(&bar->arena, (size_t)4 << 20, NULL), kn_success);
}

static void FreeBar(Bar* bar)
{
    knDestroyArena(&bar->arena);
    FreeScene(&bar->scene);
}

static knStressResult Solve(Bar* bar, const knImpact* impacts, uint32_t count,
                            const uint32_t* anchors, uint32_t anchorCount)
{
    knStressDef def = knDefaultStressDef();
    def.set = &bar->scene.set;
    def.fragment = bar->fragment;
    def.material = &bar->material;
    def.impacts = impacts;
    def.impactCount = count;
    def.anchors = anchors;
    def.anchorCount = anchorCount;
    def.noContactStress = true;
    knStressResult result;
    knArena_Reset(&bar->arena);
    assert_int_equal(knSolveStress(&def, &bar->arena, &result), kn_success);
    assert_false(result.isModal);
    return result;
}

static knImpact Steady(double x, double z, double force)
{
    return (knImpact){.kind = kn_loadSteady,
                      .point = {(float)x, (float)(0.5 * WIDTH), (float)z},
                      .impulse = {0.0f, 0.0f, (float)(force * (double)STEP)},
                      .duration = STEP};
}

static knVec3 Position(const Bar* bar, uint32_t i)
{
    return bar->scene.parts.mesh.nodes[knFragmentSet_Nodes(&bar->scene.set, bar->fragment)[i]];
}

typedef double MomentFcn(double x);

// Worst difference from bending theory on nodes with x in a range, relative to the largest stress
// of the range.
static double WorstError(const Bar* bar, const knStressResult* r, MomentFcn* moment,
                         const double range[2])
{
    double worst = 0.0;
    double largest = 0.0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < r->nodeCount; ++i)
    {
        knVec3 p = Position(bar, i);
        // the tensor belongs to the time of the largest tension: look where there is some
        if ((double)p.x >= range[0] && (double)p.x <= range[1] && r->nodes[i].tension > 0.0f)
        {
            double theory = moment((double)p.x) * (0.5 * HEIGHT - (double)p.z) / inertia;
            worst = fmax(worst, fabs((double)r->nodes[i].tensor[0] - theory));
            largest = fmax(largest, fabs(theory));
            seen += 1;
        }
    }
    assert_true(seen >= 10);
    return worst / largest;
}

static double CantileverMoment(double x)
{
    return FORCE * (LENGTH - x);
}

static void CantileverBendsAsInTheory(void** state)
{
    (void)state;
    Bar bar;
    MakeBar(&bar);
    uint32_t anchors[64];
    uint32_t count = 0;
    for (uint32_t n = 0; n < bar.scene.parts.mesh.nodeCount; ++n)
    {
        // of the whole block: those of other pieces must not matter
        if (bar.scene.parts.mesh.nodes[n].x < 1e-6f)
        {
            anchors[count++] = n;
        }
    }
    // upwards at the tip: the lower side is pulled
    knImpact tip = Steady(LENGTH, HEIGHT, FORCE);
    knStressResult r = Solve(&bar, &tip, 1, anchors, count);
    double error = WorstError(&bar, &r, CantileverMoment, (double[]){0.03, 0.27});
    double energy =
        FORCE * FORCE * LENGTH * LENGTH * LENGTH / (6.0 * bar.material.youngsModulus * inertia);
    print_message("cantilever: stress within %.1f %%, energy %.4f of theory\n", 100.0 * error,
                  r.strainEnergy / energy);
    assert_true(error < 0.05);
    ASSERT_NEAR(r.strainEnergy, energy, 0.05 * energy);
    FreeBar(&bar);
}

static double ThreePointMoment(double x)
{
    return 0.5 * FORCE * (x < 0.5 * LENGTH ? x : LENGTH - x);
}

// A polynomial rounds off the kink under the load: 10 % there, 5 % elsewhere.
static void ThreePointBarBendsAsInTheory(void** state)
{
    (void)state;
    Bar bar;
    MakeBar(&bar);
    const knImpact loads[3] = {Steady(0.0, 0.0, 0.5 * FORCE), Steady(LENGTH, 0.0, 0.5 * FORCE),
                               Steady(0.5 * LENGTH, HEIGHT, -FORCE)};
    knStressResult r = Solve(&bar, loads, 3, NULL, 0);
    double away = WorstError(&bar, &r, ThreePointMoment, (double[]){0.03, 0.12});
    double under = WorstError(&bar, &r, ThreePointMoment, (double[]){0.03, 0.27});
    double energy =
        FORCE * FORCE * LENGTH * LENGTH * LENGTH / (96.0 * bar.material.youngsModulus * inertia);
    print_message("three points: stress within %.1f %%, under the load %.1f %%, energy %.4f\n",
                  100.0 * away, 100.0 * under, r.strainEnergy / energy);
    assert_true(away < 0.05);
    assert_true(under < 0.1);
    ASSERT_NEAR(r.strainEnergy, energy, 0.05 * energy);
    FreeBar(&bar);
}

static double UniformMoment(double x)
{
    return 0.5 * FORCE / LENGTH * x * (LENGTH - x);
}

static void UniformlyLoadedBarBendsAsInTheory(void** state)
{
    (void)state;
    Bar bar;
    MakeBar(&bar);
    knImpact loads[62];
    for (int i = 0; i < 60; ++i)
    {
        loads[i] = Steady((i + 0.5) / 60.0 * LENGTH, HEIGHT, -FORCE / 60.0);
    }
    loads[60] = Steady(0.0, 0.0, 0.5 * FORCE);
    loads[61] = Steady(LENGTH, 0.0, 0.5 * FORCE);
    knStressResult r = Solve(&bar, loads, 62, NULL, 0);
    double error = WorstError(&bar, &r, UniformMoment, (double[]){0.03, 0.27});
    print_message("uniform load: stress within %.1f %%\n", 100.0 * error);
    assert_true(error < 0.05);
    FreeBar(&bar);
}

// Pulled evenly at one end, a free bar carries its own inertia: stress falls evenly to the other.
static void FreePieceCarriesItsInertia(void** state)
{
    (void)state;
    Bar bar;
    MakeBar(&bar);
    knImpact pulls[4];
    for (int i = 0; i < 4; ++i)
    {
        // the points of Gauss: as good as an even pull for anything up to a cube
        double y = 0.5 * WIDTH * (1.0 + (i & 1 ? 1.0 : -1.0) * 0.5773502692);
        double z = 0.5 * HEIGHT * (1.0 + (i & 2 ? 1.0 : -1.0) * 0.5773502692);
        pulls[i] = (knImpact){.kind = kn_loadSteady,
                              .point = {(float)LENGTH, (float)y, (float)z},
                              .impulse = {(float)(0.25 * FORCE * (double)STEP), 0.0f, 0.0f},
                              .duration = STEP};
    }
    knStressResult r = Solve(&bar, pulls, 4, NULL, 0);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < r.nodeCount; ++i)
    {
        knVec3 p = Position(&bar, i);
        if (p.x > 0.1f && p.x < 0.25f)
        {
            double largest = FORCE / (WIDTH * HEIGHT);
            double theory = largest * (double)p.x / LENGTH;
            ASSERT_NEAR(r.nodes[i].tensor[0], theory, 0.01 * largest);
            ASSERT_NEAR(fabsf(r.nodes[i].direction.x), 1.0, 0.01);
            seen += 1;
        }
    }
    assert_true(seen > 20);
    FreeBar(&bar);
}

// Curvature of a free bar's mode and its height at a point; x from 0 to 1.
static double ModeShape(double k, double x, bool curvature)
{
    double s = (cosh(k) - cos(k)) / (sinh(k) - sin(k));
    double sign = curvature ? -1.0 : 1.0;
    double value = cosh(k * x) + sign * cos(k * x) - s * (sinh(k * x) + sign * sin(k * x));
    return curvature ? k * k / (LENGTH * LENGTH) * value : value;
}

// Moments by plain small steps through the equation of each mode.
static double LargestMoment(const Bar* bar, double duration, double x)
{
    static const double k[4] = {4.730040745, 10.995607838, 17.278759657, 23.561944902};
    double q[4] = {0};
    double v[4] = {0};
    const knMaterial* m = &bar->material;
    double perLength = bar->scene.set.density * WIDTH * HEIGHT;
    double dt = 2e-8;
    double largest = 0.0;
    for (double t = 0.0; t < 1.2e-3; t += dt)
    {
        double force = t < duration ? 1.5707963 / duration * sin(3.14159265 * t / duration) : 0.0;
        double moment = 0.0;
        for (int i = 0; i < 4; ++i)
        {
            double omega2 = pow(k[i] / LENGTH, 4.0) * m->youngsModulus * inertia / perLength;
            v[i] +=
                dt * (force * ModeShape(k[i], 0.5, false) / (perLength * LENGTH) - omega2 * q[i]);
            q[i] += dt * v[i];
            moment += m->youngsModulus * inertia * ModeShape(k[i], x, true) * q[i];
        }
        largest = fmax(largest, fabs(moment));
    }
    return largest;
}

// A short hit makes a bar swing: far from the slow answer, and as the beam's own modes say.
static void HitBarSwingsAsItsModes(void** state)
{
    (void)state;
    Bar bar;
    MakeBar(&bar);
    bar.scene.set.density = 2500.0;
    const double durations[2] = {2e-4, 6e-4};
    for (int d = 0; d < 2; ++d)
    {
        knImpact hit = {.kind = kn_loadImpact,
                        .point = {(float)(0.5 * LENGTH), (float)(0.5 * WIDTH), (float)HEIGHT},
                        .impulse = {0.0f, 0.0f, -1.0f},
                        .duration = (float)durations[d]};
        knStressResult r = Solve(&bar, &hit, 1, NULL, 0);
        double theory = LargestMoment(&bar, durations[d], 0.375) * 0.5 * HEIGHT / inertia;
        double found = 0.0;
        for (uint32_t i = 0; i < r.nodeCount; ++i)
        {
            knVec3 p = Position(&bar, i);
            bool isThere = fabs((double)p.x - 0.375 * LENGTH) < 1e-5 && p.z < 1e-6f;
            found = isThere ? fmax(found, (double)r.nodes[i].tension) : found;
        }
        print_message("hit of %g s: %.3f of the modes' stress\n", durations[d], found / theory);
        ASSERT_NEAR(found, theory, 0.1 * theory);
    }
    FreeBar(&bar);
}

// Anchors of other pieces do not hold this one.
static void ForeignAnchorsHoldNothing(void** state)
{
    (void)state;
    Bar bar;
    MakeBar(&bar);
    uint32_t foreign[1];
    for (uint32_t n = 0; n < bar.scene.parts.mesh.nodeCount; ++n)
    {
        foreign[0] = bar.scene.store.labels[n] != bar.fragment ? n : foreign[0];
    }
    knImpact push = Steady(LENGTH, HEIGHT, FORCE);
    knStressResult with = Solve(&bar, &push, 1, foreign, 1);
    float peak = with.peakTension;
    knStressResult without = Solve(&bar, &push, 1, NULL, 0);
    assert_true(peak == without.peakTension);
    assert_true(with.strainEnergy == without.strainEnergy);
    FreeBar(&bar);
}

// The matrix is factored and solved for the same bits whichever instructions there are, with
// unknowns in it that add nothing.
static void WideSolutionIsTheNarrowOne(void** state)
{
    (void)state;
    enum
    {
        COUNT = 39
    };
    static double a[COUNT * COUNT], narrow[COUNT * COUNT], wide[COUNT * COUNT];
    double b[COUNT], x[COUNT], y[COUNT], rows[COUNT][COUNT];
    knRandom random = knMakeRandom(3);
    for (uint32_t n = 1; n <= COUNT; ++n)
    {
        for (uint32_t i = 0; i < n; ++i)
        {
            b[i] = knRandom_Double(&random) - 0.5;
            for (uint32_t k = 0; k < n; ++k)
            {
                // every seventh is the one before it again
                rows[i][k] = i % 7 == 6 ? rows[i - 1][k] : knRandom_Double(&random) - 0.5;
            }
        }
        for (uint32_t i = 0; i < n * n; ++i)
        {
            a[i] = 0.0;
            for (uint32_t k = 0; k < n; ++k)
            {
                a[i] += rows[i / n][k] * rows[i % n][k];
            }
        }
        memcpy(narrow, a, sizeof a);
        memcpy(wide, a, sizeof a);
        memcpy(x, b, sizeof b);
        memcpy(y, b, sizeof b);
        Factor(narrow, n);
        knStress_Factor(wide, n);
        assert_memory_equal(narrow, wide, n * n * sizeof *narrow);
        Backsolve(narrow, n, x);
        knStress_Backsolve(wide, n, y);
        assert_memory_equal(x, y, n * sizeof *x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CantileverBendsAsInTheory),
        cmocka_unit_test(ThreePointBarBendsAsInTheory),
        cmocka_unit_test(UniformlyLoadedBarBendsAsInTheory),
        cmocka_unit_test(FreePieceCarriesItsInertia),
        cmocka_unit_test(HitBarSwingsAsItsModes),
        cmocka_unit_test(ForeignAnchorsHoldNothing),
        cmocka_unit_test(WideSolutionIsTheNarrowOne),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
