// SPDX-License-Identifier: Zlib
// The whole object from its modes, judged by the equations of the modes and plain sums. The modes
// are made up: their stress need not belong to their shape for the sums to be right.
#include "fracture/stress_internal.h"
#include "fracture_scene.h"

#define PI         3.14159265358979323846
#define MODE_COUNT 11
#define SAMPLES    24 // nodes, every fifth

typedef struct World
{
    Scene scene;
    knModeSet modes;
    float eigenvalues[MODE_COUNT];
    float shapeScales[MODE_COUNT];
    float stressScales[MODE_COUNT];
    int16_t* shapes;
    int16_t* stresses;
    knMaterial material;
} World;

static int16_t Smooth(const float wave[4], knVec3 p)
{
    return (int16_t)(32000.0f * sinf(wave[0] * p.x + wave[1] * p.y + wave[2] * p.z + wave[3]));
}

static void FillModes(World* world, knRandom* random)
{
    const knTetMesh* mesh = &world->scene.parts.mesh;
    uint32_t n = mesh->nodeCount;
    for (uint32_t m = 0; m < MODE_COUNT; ++m)
    {
        world->eigenvalues[m] = 3.0f * (float)((m + 1) * (m + 1));
        world->shapeScales[m] = 1e-4f * (1.0f + knRandom_Float(random));
        world->stressScales[m] = 1e-4f * (float)(m + 1) * (1.0f + knRandom_Float(random));
        for (uint32_t c = 0; c < 9; ++c)
        {
            const float wave[4] = {
                knRandom_Range(random, -3.0f, 3.0f), knRandom_Range(random, -3.0f, 3.0f),
                knRandom_Range(random, -3.0f, 3.0f), knRandom_Range(random, -3.0f, 3.0f)};
            for (uint32_t i = 0; i < n; ++i)
            {
                int16_t value = Smooth(wave, mesh->nodes[i]);
                if (c < 3)
                {
                    world->shapes[(size_t)(3 * m + c) * n + i] = value;
                }
                else
                {
                    world->stresses[(size_t)(6 * m + c - 3) * n + i] = value;
                }
            }
        }
    }
}

static void MakeWorld(World* world, uint64_t seed)
{
    MakeBoxScene(&world->scene, seed);
    uint32_t n = world->scene.parts.mesh.nodeCount;
    world->shapes = malloc(3 * sizeof(int16_t) * MODE_COUNT * n);
    world->stresses = malloc(6 * sizeof(int16_t) * MODE_COUNT * n);
    assert_true(world->shapes && world->stresses);
    FillModes(world, &world->scene.random);
    world->modes = (knModeSet){.modeCount = MODE_COUNT,
                               .nodeCount = n,
                               .poisson = 0.22f,
                               .eigenvalues = world->eigenvalues,
                               .shapeScales = world->shapeScales,
                               .shapes = world->shapes,
                               .stressScales = world->stressScales,
                               .stresses = world->stresses};
    world->material = *knFindMaterialPreset("glass");
    world->scene.set.density = world->material.density;
    // only the set's density counts
    world->material.density = 77.0;
}

static void FreeWorld(World* world)
{
    free(world->shapes);
    free(world->stresses);
    FreeScene(&world->scene);
}

static knStressDef DefOf(const World* world, const knImpact* impacts, uint32_t count)
{
    knStressDef def = knDefaultStressDef();
    def.set = &world->scene.set;
    def.modes = &world->modes;
    def.material = &world->material;
    def.impacts = impacts;
    def.impactCount = count;
    def.noContactStress = true;
    return def;
}

// Force on a mode of a push at a node.
static double ForceOn(const World* world, uint32_t mode, uint32_t node, knVec3 v)
{
    uint32_t n = world->modes.nodeCount;
    const int16_t* s = world->shapes + (size_t)3 * mode * n;
    return (double)world->shapeScales[mode] *
           ((double)s[node] * (double)v.x + (double)s[n + node] * (double)v.y +
            (double)s[2 * n + node] * (double)v.z);
}

// rho q'' + E lambda q = f, in small steps.
static double Coordinate(const World* world, uint32_t mode, double impulse, double duration,
                         double until)
{
    const knMaterial* m = &world->material;
    double stiffness = m->youngsModulus * (double)world->eigenvalues[mode];
    double q = 0.0;
    double v = 0.0;
    int steps = 40000;
    double dt = until / steps;
    for (int i = 0; i < steps; ++i)
    {
        double t = (i + 0.5) * dt;
        double f = t < duration ? impulse * PI / (2.0 * duration) * sin(PI * t / duration) : 0.0;
        q += 0.5 * dt * v;
        v += dt * (f - stiffness * q) / world->scene.set.density;
        q += 0.5 * dt * v;
    }
    return q;
}

static void PlainTensor(const World* world, const double* q, uint32_t node, double t[6])
{
    uint32_t n = world->modes.nodeCount;
    for (uint32_t c = 0; c < 6; ++c)
    {
        t[c] = 0.0;
        for (uint32_t m = 0; m < MODE_COUNT; ++m)
        {
            t[c] += world->material.youngsModulus * q[m] * (double)world->stressScales[m] *
                    (double)world->stresses[(size_t)(6 * m + c) * n + node];
        }
    }
}

static double LargestOf(const double t[6])
{
    // the largest quotient of many directions: from below, and near enough to compare
    double largest = -DBL_MAX;
    for (int i = 0; i <= 40; ++i)
    {
        for (int k = 0; k < 80; ++k)
        {
            double a = PI * i / 40.0;
            double b = PI * k / 40.0;
            double x = sin(a) * cos(b);
            double y = sin(a) * sin(b);
            double z = cos(a);
            double value = t[0] * x * x + t[1] * y * y + t[2] * z * z +
                           2.0 * (t[3] * x * y + t[4] * y * z + t[5] * z * x);
            largest = fmax(largest, value);
        }
    }
    return largest;
}

// At the times that were looked at, every node has the tensor that plain sums give.
static void StressIsTheSumOverTheModes(void** state)
{
    (void)state;
    World world;
    MakeWorld(&world, 2);
    const knTetMesh* mesh = &world.scene.parts.mesh;
    knImpact hit = {kn_loadImpact, mesh->nodes[3], {0.3f, -0.5f, 1.0f}, 1e-4f};
    knStressDef def = DefOf(&world, &hit, 1);
    knStressResult r;
    assert_int_equal(knSolveStress(&def, &world.scene.arena, &r), kn_success);
    assert_true(r.isModal);
    assert_int_equal(r.nodeCount, mesh->nodeCount);
    float lastTime = -1.0f;
    double q[MODE_COUNT];
    double energy = 0.0;
    for (uint32_t i = 0; i < r.nodeCount; ++i)
    {
        const knNodeStress* n = &r.nodes[i];
        for (uint32_t m = 0; m < MODE_COUNT && n->time != lastTime; ++m)
        {
            q[m] = Coordinate(&world, m, ForceOn(&world, m, 3, hit.impulse), 1e-4, (double)n->time);
        }
        lastTime = n->time;
        double t[6];
        PlainTensor(&world, q, i, t);
        for (int c = 0; c < 6; ++c)
        {
            ASSERT_NEAR(n->tensor[c], t[c], 2e-3 * (double)r.peakTension);
        }
        double largest = LargestOf(t);
        ASSERT_NEAR(n->tension, largest, 5e-3 * (double)r.peakTension);
        double sum = 0.0;
        for (uint32_t m = 0; m < MODE_COUNT; ++m)
        {
            sum += 0.5 * world.material.youngsModulus * (double)world.eigenvalues[m] * q[m] * q[m];
        }
        energy = fmax(energy, sum);
    }
    // the most energetic time is among those that were looked at
    assert_true(r.strainEnergy >= 0.999 * energy);
    FreeWorld(&world);
}

// No node that matters is pulled much more at any other time of the first swing.
static void FewTimesCatchTheLargestTension(void** state)
{
    (void)state;
    for (uint64_t seed = 3; seed < 6; ++seed)
    {
        World world;
        MakeWorld(&world, seed);
        const knTetMesh* mesh = &world.scene.parts.mesh;
        knImpact hit = {kn_loadImpact,
                        mesh->nodes[7],
                        {0.3f, -0.5f, 1.0f},
                        seed == 3   ? 3e-5f
                        : seed == 4 ? 3e-4f
                                    : 3e-3f};
        knStressDef def = DefOf(&world, &hit, 1);
        knStressResult r;
        assert_int_equal(knSolveStress(&def, &world.scene.arena, &r), kn_success);
        const knMaterial* m = &world.material;
        double period = 2.0 * PI / sqrt(m->youngsModulus / world.scene.set.density * 3.0);
        double dense[SAMPLES] = {0};
        for (int k = 1; k <= 60; ++k)
        {
            double t = k / 60.0 * ((double)hit.duration + 0.3 * period);
            double q[MODE_COUNT];
            for (uint32_t i = 0; i < MODE_COUNT; ++i)
            {
                q[i] = Coordinate(&world, i, ForceOn(&world, i, 7, hit.impulse),
                                  (double)hit.duration, t);
            }
            for (uint32_t i = 0; i < SAMPLES; ++i)
            {
                double tensor[6];
                PlainTensor(&world, q, 5 * i, tensor);
                dense[i] = fmax(dense[i], LargestOf(tensor));
            }
        }
        double largest = 0.0;
        for (uint32_t i = 0; i < SAMPLES; ++i)
        {
            largest = fmax(largest, dense[i]);
        }
        double worst = 1.0;
        double sum = 0.0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < SAMPLES; ++i)
        {
            // where it is pulled as much as to matter
            if (dense[i] > 0.25 * largest)
            {
                double ratio = (double)r.nodes[5 * i].tension / dense[i];
                worst = fmin(worst, ratio);
                sum += ratio;
                count += 1;
            }
        }
        sum /= count;
        print_message("hit of %g s: %.3f of the tension of 60 times, at worst %.3f\n",
                      (double)hit.duration, sum, worst);
        assert_true(sum > 0.95 && sum < 1.05);
        assert_true(worst > 0.8);
        FreeWorld(&world);
    }
}

// A resting weight bends the object as its stiffness says, whatever the simulation's step.
static void SteadyLoadIsForceOverStiffness(void** state)
{
    (void)state;
    World world;
    MakeWorld(&world, 6);
    const knTetMesh* mesh = &world.scene.parts.mesh;
    const float steps[3] = {0.002f, 0.01f, 0.03f};
    float peak = 0.0f;
    for (int k = 0; k < 3; ++k)
    {
        // the impulse of 50 N in one step
        knImpact load = {kn_loadSteady, mesh->nodes[9], {0.0f, 0.0f, -50.0f * steps[k]}, steps[k]};
        knStressDef def = DefOf(&world, &load, 1);
        knStressResult r;
        assert_int_equal(knSolveStress(&def, &world.scene.arena, &r), kn_success);
        assert_int_equal(r.timeCount, 1);
        double q[MODE_COUNT];
        for (uint32_t m = 0; m < MODE_COUNT; ++m)
        {
            double force = ForceOn(&world, m, 9, knMakeVec3(0.0f, 0.0f, -50.0f));
            q[m] = force / (world.material.youngsModulus * (double)world.eigenvalues[m]);
        }
        double t[6];
        PlainTensor(&world, q, r.peakNode, t);
        ASSERT_NEAR(r.peakTension, LargestOf(t), 5e-3 * (double)r.peakTension);
        ASSERT_NEAR(r.peakTension, k == 0 ? r.peakTension : peak, 1e-4f * r.peakTension);
        peak = r.peakTension;
    }
    FreeWorld(&world);
}

// Between nodes the push is shared by their distance, and a point off the surface counts at the
// nearest place of it.
static void HitBetweenNodesIsShared(void** state)
{
    (void)state;
    World world;
    MakeWorld(&world, 8);
    const knTetMesh* mesh = &world.scene.parts.mesh;
    knTriangle t = knTetMesh_BoundaryTriangle(mesh, mesh->boundaryFaces[17]);
    const knVec3 c[3] = {mesh->nodes[t.v[0]], mesh->nodes[t.v[1]], mesh->nodes[t.v[2]]};
    knVec3 inside = knAddScaled(knAddScaled(knScale(0.2f, c[0]), 0.3f, c[1]), 0.5f, c[2]);
    knVec3 normal = knNormalize(knCross(knSub(c[1], c[0]), knSub(c[2], c[0])));
    SurfacePoint at = knStress_Locate(mesh, knAddScaled(inside, 0.05f, normal));
    knVec3 found = {0.0f, 0.0f, 0.0f};
    float sum = 0.0f;
    for (int i = 0; i < 3; ++i)
    {
        found = knAddScaled(found, at.weights[i], mesh->nodes[at.nodes[i]]);
        sum += at.weights[i];
    }
    ASSERT_NEAR(sum, 1.0, 1e-5);
    assert_true(knDistance(found, inside) < 1e-5f);
    // a corner of the box, from far away
    at = knStress_Locate(mesh, knMakeVec3(9.0f, 9.0f, 9.0f));
    for (int i = 0; i < 3; ++i)
    {
        assert_true(at.weights[i] < 1e-6f ||
                    knDistance(mesh->nodes[at.nodes[i]], knMakeVec3(1.0f, 0.8f, 0.6f)) < 1e-6f);
    }
    FreeWorld(&world);
}

// Modes of the whole are of no use to a piece, nor free modes to a held object.
static void ModesServeTheWholeAlone(void** state)
{
    (void)state;
    World world;
    MakeWorld(&world, 9);
    const uint32_t anchors[4] = {0, 1, 2, 3};
    knImpact hit = {kn_loadImpact, {0.5f, 0.4f, 0.6f}, {0.0f, 0.0f, -1.0f}, 0.0f};
    knStressDef def = DefOf(&world, &hit, 1);
    def.anchors = anchors;
    def.anchorCount = 4;
    knStressResult r;
    assert_int_equal(knSolveStress(&def, &world.scene.arena, &r), kn_success);
    assert_false(r.isModal);
    world.modes.isAnchored = true;
    assert_int_equal(knSolveStress(&def, &world.scene.arena, &r), kn_success);
    assert_true(r.isModal);
    SplitHeaviest(&world.scene, 1);
    def.fragment = 1;
    assert_int_equal(knSolveStress(&def, &world.scene.arena, &r), kn_success);
    assert_false(r.isModal);
    FreeWorld(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(StressIsTheSumOverTheModes),
        cmocka_unit_test(FewTimesCatchTheLargestTension),
        cmocka_unit_test(SteadyLoadIsForceOverStiffness),
        cmocka_unit_test(HitBetweenNodesIsShared),
        cmocka_unit_test(ModesServeTheWholeAlone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
