// SPDX-License-Identifier: Zlib
#include "fracture/stress_internal.h"
#include "fracture_scene.h"

#define PI 3.14159265358979323846

// Eigenvalues by Jacobi's rotations, ascending.
static void Eigenvalues(const float t[6], double values[3])
{
    double a[3][3] = {{(double)t[0], (double)t[3], (double)t[5]},
                      {(double)t[3], (double)t[1], (double)t[4]},
                      {(double)t[5], (double)t[4], (double)t[2]}};
    for (int sweep = 0; sweep < 30; ++sweep)
    {
        for (int p = 0; p < 2; ++p)
        {
            for (int q = p + 1; q < 3; ++q)
            {
                double angle = 0.5 * atan2(2.0 * a[p][q], a[q][q] - a[p][p]);
                double c = cos(angle);
                double s = sin(angle);
                for (int k = 0; k < 3; ++k)
                {
                    double x = a[k][p];
                    double y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; ++k)
                {
                    double x = a[p][k];
                    double y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                }
            }
        }
    }
    for (int i = 0; i < 3; ++i)
    {
        values[i] = a[i][i];
    }
    for (int i = 0; i < 3; ++i)
    {
        for (int k = i + 1; k < 3; ++k)
        {
            double low = fmin(values[i], values[k]);
            values[k] = fmax(values[i], values[k]);
            values[i] = low;
        }
    }
}

// What is left of A v - lambda v.
static double Residual(const float t[6], double lambda, knVec3 v)
{
    double x = (double)v.x;
    double y = (double)v.y;
    double z = (double)v.z;
    knDVec3 r = {((double)t[0] - lambda) * x + (double)t[3] * y + (double)t[5] * z,
                 (double)t[3] * x + ((double)t[1] - lambda) * y + (double)t[4] * z,
                 (double)t[5] * x + (double)t[4] * y + ((double)t[2] - lambda) * z};
    return knDLength(r);
}

static void CheckTensor(const float t[6])
{
    float lanes[6][KN_STRESS_LANES];
    float largest[KN_STRESS_LANES];
    double size = 0.0;
    for (int c = 0; c < 6; ++c)
    {
        for (int i = 0; i < KN_STRESS_LANES; ++i)
        {
            lanes[c][i] = t[c];
        }
        size = fmax(size, fabs((double)t[c]));
    }
    double values[3];
    Eigenvalues(t, values);
    knStress_LargestPrincipal(lanes[0], KN_STRESS_LANES, largest);
    // near a double root the quick answer loses half of its digits
    ASSERT_NEAR(largest[0], values[2], 2e-3 * size);
    knVec3 v;
    double exact = knStress_Direction(t, (double)largest[0], &v);
    ASSERT_NEAR(exact, values[2], 1e-5 * size);
    ASSERT_NEAR(knLength(v), 1.0, 1e-5);
    assert_true(Residual(t, exact, v) <= 2e-3 * size);
    for (int i = 1; i < KN_STRESS_LANES; ++i)
    {
        assert_true(largest[i] == largest[0]);
    }
}

static void PrincipalStressIsThatOfJacobi(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(7);
    static const float scales[] = {1e-9f, 1.0f, 1e6f, 1e12f};
    for (int k = 0; k < 20000; ++k)
    {
        float t[6];
        float scale = scales[k % 4];
        for (int c = 0; c < 6; ++c)
        {
            t[c] = scale * (2.0f * knRandom_Float(&random) - 1.0f);
            // many have few entries: double and triple roots, pure tension, pure shear
            t[c] = knRandom_Float(&random) < (k % 3 == 0 ? 0.5f : 0.0f) ? 0.0f : t[c];
        }
        t[1] = k % 5 == 0 ? t[0] : t[1];
        t[2] = k % 7 == 0 ? t[0] : t[2];
        CheckTensor(t);
    }
    CheckTensor((const float[6]){0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f});
    CheckTensor((const float[6]){5.0f, 5.0f, 5.0f, 0.0f, 0.0f, 0.0f});
    CheckTensor((const float[6]){5.0f, 5.0f, -3.0f, 0.0f, 0.0f, 0.0f});
    CheckTensor((const float[6]){-5.0f, -5.0f, -5.0f, 0.0f, 0.0f, 0.0f});
}

// The equation of the oscillator, step by step (Runge and Kutta).
static double Integrate(double omega, double duration, double until)
{
    double q = 0.0;
    double v = 0.0;
    int steps = 20000;
    double dt = until / steps;
    for (int i = 0; i < steps; ++i)
    {
        double dq[4];
        double dv[4];
        static const double at[4] = {0.0, 0.5, 0.5, 1.0};
        for (int s = 0; s < 4; ++s)
        {
            double h = s > 0 ? at[s] * dt : 0.0;
            double t = i * dt + h;
            double f = t < duration ? PI / (2.0 * duration) * sin(PI * t / duration) : 0.0;
            dq[s] = v + (s > 0 ? h * dv[s - 1] : 0.0);
            dv[s] = f - omega * omega * (q + (s > 0 ? h * dq[s - 1] : 0.0));
        }
        q += dt / 6.0 * (dq[0] + 2.0 * dq[1] + 2.0 * dq[2] + dq[3]);
        v += dt / 6.0 * (dv[0] + 2.0 * dv[1] + 2.0 * dv[2] + dv[3]);
    }
    return q;
}

static void HalfSineAnswerFollowsItsEquation(void** state)
{
    (void)state;
    const double duration = 1.3e-4;
    const double drive = PI / duration;
    const double ratios[] = {0.01, 0.3, 0.99, 1.0, 1.0000001, 1.01, 2.0, 5.0};
    const double times[] = {0.1, 0.5, 0.99, 1.0, 1.5, 4.0};
    for (size_t i = 0; i < COUNT_OF(ratios); ++i)
    {
        for (size_t k = 0; k < COUNT_OF(times); ++k)
        {
            double omega = ratios[i] * drive;
            double expected = Integrate(omega, duration, times[k] * duration);
            double q = knStress_HalfSine(omega, duration, times[k] * duration);
            ASSERT_NEAR(q, expected, 1e-4 / (omega + drive));
        }
    }
}

static knStressDef DefFor(const Scene* scene, uint32_t fragment, const knImpact* impact)
{
    knStressDef def = knDefaultStressDef();
    def.set = &scene->set;
    def.fragment = fragment;
    def.material = knFindMaterialPreset("glass");
    def.impacts = impact;
    def.impactCount = 1;
    return def;
}

static knStressResult MustSolve(Scene* scene, const knStressDef* def)
{
    knStressResult result;
    assert_int_equal(knSolveStress(def, &scene->arena, &result), kn_success);
    return result;
}

static void TwiceTheImpulseIsTwiceTheStress(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 3);
    SplitHeaviest(&scene, 3);
    knImpact impact = {kn_loadImpact, {0.5f, 0.4f, 0.6f}, {0.1f, 0.2f, -1.0f}, 0.0f};
    knStressDef def = DefFor(&scene, Heaviest(&scene), &impact);
    knStressResult one = MustSolve(&scene, &def);
    impact.impulse = knScale(2.0f, impact.impulse);
    knStressResult two = MustSolve(&scene, &def);
    ASSERT_NEAR(two.strainEnergy, 4.0 * one.strainEnergy, 1e-5 * two.strainEnergy);
    for (uint32_t i = 0; i < one.nodeCount; ++i)
    {
        ASSERT_NEAR(two.nodes[i].tension, 2.0f * one.nodes[i].tension, 1e-4f * two.peakTension);
    }
    FreeScene(&scene);
}

typedef struct Copy3
{
    knQuat rotation;
    knVec3 shift;
    float scale;
} Copy3;

static knVec3 Moved(const Copy3* copy, knVec3 p)
{
    return knAdd(knRotate(copy->rotation, knScale(copy->scale, p)), copy->shift);
}

static void MakeCopy(Scene* scene, const Copy3* copy)
{
    const int cells[3] = {6, 4, 3};
    scene->shape =
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 0.7f, 0.4f));
    for (uint32_t n = 0; n < scene->shape.nodeCount; ++n)
    {
        scene->shape.nodes[n] = Moved(copy, scene->shape.nodes[n]);
    }
    StartScene(scene, 5);
    knSplitDef def = knDefaultSplitDef();
    def.normal = knRotate(copy->rotation, knNormalize(knMakeVec3(1.0f, 0.3f, 0.2f)));
    def.offset = knDot(def.normal, Moved(copy, knMakeVec3(0.52f, 0.3f, 0.2f)));
    assert_int_equal(Split(scene, 0, &def).outcome, kn_splitDone);
    knArena_Reset(&scene->arena);
}

// Sizes times s, times times s, impulses times s^3: every stress stays.
static void MovedTurnedAndScaledPiecesFeelTheSame(void** state)
{
    (void)state;
    const Copy3 copies[3] = {
        {knIdentityQuat(), {0.0f, 0.0f, 0.0f}, 1.0f},
        {knMakeQuat(knNormalize(knMakeVec3(1.0f, 2.0f, -1.0f)), 1.1f), {3.0f, -2.0f, 1.0f}, 1.0f},
        {knMakeQuat(knNormalize(knMakeVec3(-1.0f, 0.5f, 2.0f)), 2.3f), {0.1f, 0.2f, 0.0f}, 0.25f},
    };
    knNodeStress* first = NULL;
    double energy = 0.0;
    float peak = 0.0f;
    for (int k = 0; k < 3; ++k)
    {
        Scene scene;
        MakeCopy(&scene, &copies[k]);
        float s = copies[k].scale;
        knImpact impact = {.point = Moved(&copies[k], knMakeVec3(0.1f, 0.35f, 0.4f)),
                           .impulse = knScale(s * s * s, knRotate(copies[k].rotation,
                                                                  knMakeVec3(0.2f, 0.3f, -1.0f))),
                           .duration = 1e-4f * s};
        knStressDef def = DefFor(&scene, 1, &impact);
        // the critical distance is a length of the material, which does not scale
        def.noContactStress = true;
        knStressResult r = MustSolve(&scene, &def);
        if (k == 0)
        {
            energy = r.strainEnergy;
            peak = r.peakTension;
            first = malloc(r.nodeCount * sizeof *first);
            assert_non_null(first);
            memcpy(first, r.nodes, r.nodeCount * sizeof *first);
        }
        ASSERT_NEAR(r.strainEnergy, energy * pow((double)s, 3.0), 1e-3 * r.strainEnergy);
        for (uint32_t i = 0; i < r.nodeCount; ++i)
        {
            ASSERT_NEAR(r.nodes[i].tension, first[i].tension, 2e-3f * peak);
        }
        FreeScene(&scene);
    }
    free(first);
}

static void AssertSane(const knStressResult* r)
{
    assert_true(isfinite(r->strainEnergy) && r->strainEnergy >= 0.0);
    assert_true(isfinite(r->peakTension) && r->peakNode < r->nodeCount);
    for (uint32_t i = 0; i < r->nodeCount; ++i)
    {
        const knNodeStress* n = &r->nodes[i];
        assert_true(isfinite(n->tension) && n->tension >= 0.0f && n->tension <= r->peakTension);
        if (n->tension > 0.0f)
        {
            double values[3];
            Eigenvalues(n->tensor, values);
            double size = fmax(fabs(values[0]), fabs(values[2]));
            ASSERT_NEAR(n->tension, values[2], 1e-4 * size);
            ASSERT_NEAR(knLength(n->direction), 1.0, 1e-5);
        }
    }
}

// Splinters, single nodes, slivers: any piece has a finite stress, found in bounded work.
static void EveryPieceHasAStress(void** state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; ++seed)
    {
        Scene scene;
        MakeBallScene(&scene, seed);
        SplitHeaviest(&scene, 36);
        uint32_t smallest = UINT32_MAX;
        for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
        {
            if (!IsLive(&scene, f))
            {
                continue;
            }
            const knFragment* fragment = &scene.set.fragments[f];
            knVec3 at = knAddScaled(knToFloat(fragment->mass.center), 0.2f,
                                    knRandom_UnitVec3(&scene.random));
            knImpact impact = {f % 3 == 0 ? kn_loadSteady : kn_loadImpact, at,
                               knRandom_UnitVec3(&scene.random), f % 2 == 0 ? 1e-4f : 1e-2f};
            knStressDef def = DefFor(&scene, f, &impact);
            knArena_Reset(&scene.arena);
            knStressResult r = MustSolve(&scene, &def);
            AssertSane(&r);
            assert_int_equal(r.nodeCount, fragment->nodeCount);
            assert_true(r.workUnits < 8000000u + (uint64_t)fragment->nodeCount * 12000);
            smallest = fragment->nodeCount < smallest ? fragment->nodeCount : smallest;
        }
        assert_true(smallest < 8);
        FreeScene(&scene);
    }
}

static void SameHitSameBytes(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 11);
    SplitHeaviest(&scene, 5);
    knImpact impact = {kn_loadImpact, {0.3f, 0.8f, 0.1f}, {0.0f, -1.0f, 0.3f}, 0.0f};
    knStressDef def = DefFor(&scene, Heaviest(&scene), &impact);
    knStressResult a = MustSolve(&scene, &def);
    knStressResult b = MustSolve(&scene, &def);
    assert_memory_equal(a.nodes, b.nodes, a.nodeCount * sizeof *a.nodes);
    assert_int_equal(a.workUnits, b.workUnits);
    FreeScene(&scene);
}

// Around the point of a hit the surface is pulled along the radius, by the inverse square of it.
static void ContactPullsAlongTheRadius(void** state)
{
    (void)state;
    Scene scene;
    const int cells[3] = {16, 16, 4};
    scene.shape =
        MakeLatticeBox(cells, knMakeVec3(-1.0f, -1.0f, -0.5f), knMakeVec3(1.0f, 1.0f, 0.0f));
    StartScene(&scene, 1);
    knDestroyArena(&scene.arena);
    assert_int_equal(knCreateArena(&scene.arena, (size_t)16 << 20, NULL), kn_success);
    knImpact impact = {kn_loadImpact, {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, -1.0f}, 1e-5f};
    knStressDef def = DefFor(&scene, 0, &impact);
    knStressResult with = MustSolve(&scene, &def);
    def.noContactStress = true;
    knStressResult without = MustSolve(&scene, &def);
    double force = PI / 2.0 / 1e-5;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < with.nodeCount; ++i)
    {
        knVec3 p = scene.parts.mesh.nodes[scene.set.nodes[i]];
        double r = sqrt((double)(p.x * p.x + p.y * p.y));
        double theory = (1.0 - 2.0 * 0.22) * force / (2.0 * PI * r * r);
        assert_true(with.nodes[i].tension >= without.nodes[i].tension);
        if (p.z == 0.0f && r > 0.3 && theory > 1.05 * (double)without.nodes[i].tension)
        {
            ASSERT_NEAR(with.nodes[i].tension, theory, 0.06 * theory);
            knVec3 radial = knNormalize(p);
            ASSERT_NEAR(fabsf(knDot(radial, with.nodes[i].direction)), 1.0, 1e-3);
            seen += 1;
        }
    }
    assert_true(seen > 0);
    impact.kind = kn_loadSteady;
    def.noContactStress = false;
    float steady = MustSolve(&scene, &def).peakTension;
    def.noContactStress = true;
    // what rests has no such field
    assert_true(steady == MustSolve(&scene, &def).peakTension);
    FreeScene(&scene);
}

static void ExpectFailure(const knStressDef* def, knArena* arena, knResult expected,
                          const char* word)
{
    knStressResult result;
    MarkUntouched(&result, sizeof result);
    knClearLastError();
    assert_int_equal(knSolveStress(def, arena, &result), expected);
    assert_true(IsUntouched(&result, sizeof result));
    if (!strstr(knLastError(), word))
    {
        print_error("'%s' does not say '%s'\n", knLastError(), word);
        fail();
    }
}

static void BadDefinitionsAreNamed(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 1);
    knImpact impact = {kn_loadImpact, {0.5f, 0.4f, 0.6f}, {0.0f, 0.0f, -1.0f}, 0.0f};
    const knStressDef good = DefFor(&scene, 0, &impact);
    knArena* arena = &scene.arena;
    ExpectFailure(NULL, arena, kn_errorArgument, "definition");
    knStressDef def = good;
    def.fragment = 1;
    ExpectFailure(&def, arena, kn_errorHandle, "fragment 1");
    def = good;
    def.material = NULL;
    ExpectFailure(&def, arena, kn_errorArgument, "material");
    def = good;
    def.impactCount = 0;
    ExpectFailure(&def, arena, kn_errorArgument, "impact");
    knImpact bad = impact;
    bad.point.x = NAN;
    def = good;
    def.impacts = &bad;
    ExpectFailure(&def, arena, kn_errorArgument, "impacts[0]");
    bad = impact;
    bad.kind = kn_loadSteady;
    ExpectFailure(&def, arena, kn_errorArgument, "duration");
    bad = impact;
    bad.kind = kn_loadKindCount;
    ExpectFailure(&def, arena, kn_errorArgument, "kind");
    const uint32_t anchors[2] = {5, 5};
    def = good;
    def.anchors = anchors;
    def.anchorCount = 2;
    ExpectFailure(&def, arena, kn_errorArgument, "anchors[1]");
    knModeSet modes = {.modeCount = 1, .nodeCount = 3};
    def = good;
    def.modes = &modes;
    ExpectFailure(&def, arena, kn_errorArgument, "3 nodes");
    ExpectFailure(&good, NULL, kn_errorArgument, "arena");
    FreeScene(&scene);
}

static void StatedBytesAreEnough(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 2);
    SplitHeaviest(&scene, 2);
    knImpact impact = {kn_loadImpact, {0.5f, 0.4f, 0.6f}, {0.0f, 0.0f, -1.0f}, 0.0f};
    const uint32_t anchors[2] = {0, 1};
    knStressDef def = DefFor(&scene, Heaviest(&scene), &impact);
    def.anchors = anchors;
    def.anchorCount = 2;
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knStressBytes(&def), NULL), kn_success);
    knStressResult result;
    assert_int_equal(knSolveStress(&def, &arena, &result), kn_success);
    // only the result stays
    assert_true(arena.usedBytes <= result.nodeCount * sizeof(knNodeStress) + KN_CACHE_LINE);
    knDestroyArena(&arena);
    assert_int_equal(knCreateArena(&arena, 5000, NULL), kn_success);
    ExpectFailure(&def, &arena, kn_errorMemory, "knStressBytes");
    assert_int_equal(arena.usedBytes, 0);
    assert_true(arena.wantedBytes > 0);
    knDestroyArena(&arena);
    FreeScene(&scene);
}

// Every instruction set has the bits of a plain loop.
static void WideSumsAreThePlainSum(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(8);
    float rows[67][KN_STRESS_LANES], factors[67][KN_STRESS_TIMES];
    float plain[KN_STRESS_TIMES][KN_STRESS_LANES] = {0};
    for (uint32_t a = 0; a < COUNT_OF(rows); ++a)
    {
        for (uint32_t i = 0; i < KN_STRESS_LANES; ++i)
        {
            rows[a][i] = knRandom_Range(&random, -3e4f, 3e4f);
            factors[a][i % KN_STRESS_TIMES] = knRandom_Range(&random, -1e3f, 1e3f);
        }
        for (uint32_t i = 0; i < KN_STRESS_TIMES * KN_STRESS_LANES; ++i)
        {
            uint32_t k = i / KN_STRESS_LANES, lane = i % KN_STRESS_LANES;
            plain[k][lane] += factors[a][k] * rows[a][lane];
        }
    }
    RowSum sum = {(const float(*)[KN_STRESS_LANES])rows, (const float(*)[KN_STRESS_TIMES])factors,
                  COUNT_OF(rows)};
    float out[KN_STRESS_TIMES][KN_STRESS_LANES];
    knStress_SumRowsSse(&sum, out);
    assert_memory_equal(out, plain, sizeof plain);
    memset(out, 0, sizeof out);
    knStress_ChooseSum()(&sum, out);
    assert_memory_equal(out, plain, sizeof plain);
}

// One node of a block, time by time.
static knNodeStress LargestOf(const StressBlock* block, const StressTask* task, int lane)
{
    knNodeStress kept = {0};
    for (uint32_t k = 0; k < task->timeCount; ++k)
    {
        float largest[KN_STRESS_LANES];
        knStress_LargestPrincipal(block->s[0][k], KN_STRESS_TIMES * KN_STRESS_LANES, largest);
        if (largest[lane] > kept.tension)
        {
            kept.tension = largest[lane];
            kept.time = (float)task->times[k];
            for (int c = 0; c < 6; ++c)
            {
                kept.tensor[c] = block->s[c][k][lane];
            }
        }
    }
    if (kept.tension > 0.0f)
    {
        kept.tension =
            (float)knStress_Direction(kept.tensor, (double)kept.tension, &kept.direction);
    }
    return kept;
}

// Both wide ways keep of eight nodes what the plain one keeps of each, to the bit: double roots,
// pure pressure and nodes without stress among them.
static void WideTensionIsThePlainTension(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(29);
    KeepLargestFcn* const ways[] = {knStress_KeepLargestSse, knStress_ChooseKeep()};
    for (int round = 0; round < 3000; ++round)
    {
        knNodeStress out[KN_STRESS_LANES];
        StressBlock block;
        StressTask task = {.out = out, .nodeCount = KN_STRESS_LANES};
        task.timeCount = 1 + (uint32_t)round % KN_STRESS_TIMES;
        for (int k = 0; k < KN_STRESS_TIMES; ++k)
        {
            task.times[k] = 0.001 * k;
        }
        float* numbers = block.s[0][0];
        for (size_t i = 0; i < sizeof block / sizeof *numbers; ++i)
        {
            bool isZero = knRandom_Float(&random) < 0.1f * (float)(round % 11);
            numbers[i] = isZero ? 0.0f : 1e6f * (2.0f * knRandom_Float(&random) - 1.0f);
        }
        for (int k = 0; round % 7 == 0 && k < KN_STRESS_TIMES; ++k)
        {
            memcpy(block.s[1][k], block.s[0][k], sizeof block.s[0][k]);
        }
        for (int way = 0; way < 2; ++way)
        {
            memset(out, 0xFF, sizeof out);
            ways[way](&task, &block, 0);
            for (int i = 0; i < KN_STRESS_LANES; ++i)
            {
                knNodeStress plain = LargestOf(&block, &task, i);
                assert_memory_equal(&out[i], &plain, sizeof plain);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PrincipalStressIsThatOfJacobi),
        cmocka_unit_test(HalfSineAnswerFollowsItsEquation),
        cmocka_unit_test(TwiceTheImpulseIsTwiceTheStress),
        cmocka_unit_test(MovedTurnedAndScaledPiecesFeelTheSame),
        cmocka_unit_test(EveryPieceHasAStress),
        cmocka_unit_test(SameHitSameBytes),
        cmocka_unit_test(ContactPullsAlongTheRadius),
        cmocka_unit_test(BadDefinitionsAreNamed),
        cmocka_unit_test(StatedBytesAreEnough),
        cmocka_unit_test(WideSumsAreThePlainSum),
        cmocka_unit_test(WideTensionIsThePlainTension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
