// SPDX-License-Identifier: Zlib
// Two ways to the same stress that share nothing: cooked modes of quadratic elements, and
// polynomials with moments. On plain bodies they must agree, with theory and with each other.
#include "cooked.h"
#include "elastic.h"
#include "kit.h"
#include "tet_shapes.h"

#include "knap/modes.h"
#include "knap/stress.h"

#define MODE_COUNT 48

typedef struct Body
{
    TetShape shape;
    CookParts parts;
    knAssetSection section;
    void* bytes;
    size_t size;
    knAsset* asset;
    knModeSet modes;
    knCutMesh cutMesh;
    knCutStore store;
    knFragmentSet set;
    knArena arena;
} Body;

static void CookModesOf(Body* body)
{
    knElastic elastic;
    knElasticModes modes;
    knElasticModeOptions options = {.count = MODE_COUNT};
    assert_int_equal(knCreateElastic(&elastic, &body->parts.mesh, 0.22, NULL), kn_success);
    assert_int_equal(knSolveElasticModes(&modes, &elastic, &options), kn_success);
    void* bytes = NULL;
    size_t size = 0;
    assert_int_equal(knEncodeElasticModes(&modes, false, NULL, &bytes, &size), kn_success);
    body->section = (knAssetSection){KN_FREE_MODES_TAG, KN_MODES_VERSION, bytes, size};
    knDestroyElasticModes(&modes);
    knDestroyElastic(&elastic);
}

static void MakeBody(Body* body, const int cells[3], knVec3 size)
{
    body->shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), size);
    body->parts = MakeCookParts(&body->shape);
    CookModesOf(body);
    body->parts.def.surface = &body->parts.surface;
    body->parts.def.tetMesh = &body->parts.mesh;
    body->parts.def.sections = &body->section;
    body->parts.def.sectionCount = 1;
    assert_int_equal(knEncodeAsset(&body->parts.def, NULL, &body->bytes, &body->size), kn_success);
    assert_int_equal(knCreateAssetInPlace(&body->asset, body->bytes, body->size, NULL), kn_success);
    assert_int_equal(knOpenModes(&body->modes, body->asset, false), kn_success);
    const knTetMesh* mesh = knAsset_TetMesh(body->asset);
    assert_int_equal(knCreateCutMesh(&body->cutMesh, mesh, NULL, NULL), kn_success);
    assert_int_equal(knCreateCutStore(&body->store, mesh, NULL), kn_success);
    assert_int_equal(knCreateFragmentSet(&body->set, &body->cutMesh, &body->store, 2500.0, NULL),
                     kn_success);
    assert_int_equal(knCreateArena(&body->arena, (size_t)8 << 20, NULL), kn_success);
}

static void FreeBody(Body* body)
{
    knDestroyArena(&body->arena);
    knDestroyFragmentSet(&body->set);
    knDestroyCutStore(&body->store);
    knDestroyCutMesh(&body->cutMesh);
    knDestroyAsset(body->asset);
    knRelease(NULL, body->bytes, body->size, 1);
    knRelease(NULL, (void*)body->section.data, (size_t)body->section.size, 1);
    DestroyCookParts(&body->parts);
    DestroyShape(&body->shape);
}

static knStressResult Solve(Body* body, const knImpact* impacts, uint32_t count, bool withModes)
{
    knStressDef def = knDefaultStressDef();
    def.set = &body->set;
    def.material = knFindMaterialPreset("glass");
    def.impacts = impacts;
    def.impactCount = count;
    def.modes = withModes ? &body->modes : NULL;
    def.noContactStress = true;
    knStressResult result;
    assert_int_equal(knSolveStress(&def, &body->arena, &result), kn_success);
    assert_int_equal(result.isModal, withModes);
    return result;
}

// A bar on two points, pushed down in the middle, in one layer of tetrahedra.
static void ModesBendARestingBar(void** state)
{
    (void)state;
    Body body;
    MakeBody(&body, (const int[3]){20, 1, 1}, knMakeVec3(0.3f, 0.02f, 0.015f));
    const float dt = 0.01f;
    const knImpact loads[3] = {
        {kn_loadSteady, {0.0f, 0.01f, 0.0f}, {0.0f, 0.0f, 50.0f * dt}, dt},
        {kn_loadSteady, {0.3f, 0.01f, 0.0f}, {0.0f, 0.0f, 50.0f * dt}, dt},
        {kn_loadSteady, {0.15f, 0.01f, 0.015f}, {0.0f, 0.0f, -100.0f * dt}, dt}};
    for (int withModes = 0; withModes < 2; ++withModes)
    {
        knStressResult r = Solve(&body, loads, 3, withModes);
        double worst = 0.0;
        double largest = 0.5 * 100.0 * 0.15 * 6.0 / (0.02 * 0.015 * 0.015);
        for (uint32_t i = 0; i < r.nodeCount; ++i)
        {
            knVec3 p = body.parts.mesh.nodes[i];
            double x = fmin((double)p.x, 0.3 - (double)p.x);
            if (p.z == 0.0f && x > 0.03 && x < 0.125)
            {
                double theory = largest * x / 0.15;
                worst = fmax(worst, fabs((double)r.nodes[i].tension - theory));
            }
        }
        print_message("resting bar by %s: within %.1f %% of the largest stress\n",
                      withModes ? "modes" : "polynomials", 100.0 * worst / largest);
        assert_true(worst < 0.05 * largest);
    }
    FreeBody(&body);
}

typedef struct Case
{
    const char* name;
    int cells[3];
    knVec3 size;
    double tension[2], energy[2]; // what is allowed: polynomials over modes
    double correlation;
} Case;

// Root mean square of the tension, and energy, over hits at many places and of many lengths.
static void BothWaysAgree(void** state)
{
    (void)state;
    static const Case cases[] = {
        {"bar", {20, 2, 2}, {0.3f, 0.02f, 0.015f}, {0.85, 1.1}, {0.8, 1.1}, 0.95},
        {"plate", {12, 12, 1}, {0.2f, 0.16f, 0.006f}, {0.85, 1.1}, {0.8, 1.1}, 0.9},
        {"block", {6, 5, 4}, {0.12f, 0.1f, 0.08f}, {0.8, 1.7}, {0.7, 1.2}, 0.7},
    };
    for (size_t c = 0; c < COUNT_OF(cases); ++c)
    {
        Body body;
        MakeBody(&body, cases[c].cells, cases[c].size);
        double sums[2] = {0.0, 0.0};
        double energy = 0.0;
        double product = 0.0;
        for (int k = 0; k < 12; ++k)
        {
            knVec3 s = cases[c].size;
            knImpact hit = {
                .point = {s.x * (float)(k % 4 + 1) * 0.2f, s.y * (float)(k % 3 + 1) * 0.25f, s.z},
                .impulse = {0.0f, 0.0f, -1.0f},
                .duration = k < 6 ? 2e-4f : 1e-3f};
            knArena_Reset(&body.arena);
            knStressResult poly = Solve(&body, &hit, 1, false);
            knStressResult modal = Solve(&body, &hit, 1, true);
            for (uint32_t i = 0; i < poly.nodeCount; ++i)
            {
                // right under a point force neither way converges
                bool isNear = knDistance(body.parts.mesh.nodes[i], hit.point) < 0.35f * s.x;
                double scale = isNear ? 0.0 : 1.0 / (double)modal.peakTension;
                double a = scale * (double)poly.nodes[i].tension;
                double b = scale * (double)modal.nodes[i].tension;
                sums[0] += a * a;
                sums[1] += b * b;
                product += a * b;
            }
            energy += poly.strainEnergy / modal.strainEnergy / 12.0;
        }
        double ratio = sqrt(sums[0] / sums[1]);
        double correlation = product / sqrt(sums[0] * sums[1]);
        print_message("%s: tension %.3f, energy %.3f of the modes', correlation %.3f\n",
                      cases[c].name, ratio, energy, correlation);
        assert_true(ratio > cases[c].tension[0] && ratio < cases[c].tension[1]);
        assert_true(energy > cases[c].energy[0] && energy < cases[c].energy[1]);
        assert_true(correlation > cases[c].correlation);
        FreeBody(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ModesBendARestingBar),
        cmocka_unit_test(BothWaysAgree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
