// SPDX-License-Identifier: Zlib
// The stored modes at their default number, summed as a game sums them, against textbook theory;
// and the cooking of them.

#include "cook.h"
#include "cooked.h"
#include "elastic_scene.h"
#include "knap/modes.h"
#include "predicates.h"

// A solid with its modes cooked into an asset and read back.
typedef struct Stored
{
    CookParts parts;
    knAssetSection section;
    void* bytes;
    size_t size;
    knAsset* asset;
    knModeSet set;
} Stored;

static void StoreModes(Stored* out, const Solid* s, bool isHeld)
{
    knElasticModes modes;
    knElasticModeOptions options = {.fixed = isHeld ? s->fixed : NULL,
                                    .count = KN_DEFAULT_MODE_COUNT};
    assert_int_equal(knSolveElasticModes(&modes, &s->elastic, &options), kn_success);
    void* bytes = NULL;
    size_t size = 0;
    assert_int_equal(knEncodeElasticModes(&modes, isHeld, NULL, &bytes, &size), kn_success);
    knDestroyElasticModes(&modes);
    uint32_t tag = isHeld ? KN_ANCHORED_MODES_TAG : KN_FREE_MODES_TAG;
    out->section = (knAssetSection){tag, KN_MODES_VERSION, bytes, size};
    out->parts = MakeCookParts(&s->shape);
    out->parts.def.surface = &out->parts.surface;
    out->parts.def.tetMesh = &out->parts.mesh;
    out->parts.def.sections = &out->section;
    out->parts.def.sectionCount = 1;
    assert_int_equal(knEncodeAsset(&out->parts.def, NULL, &out->bytes, &out->size), kn_success);
    assert_int_equal(knCreateAssetInPlace(&out->asset, out->bytes, out->size, NULL), kn_success);
    assert_int_equal(knOpenModes(&out->set, out->asset, isHeld), kn_success);
    assert_int_equal(out->set.modeCount, KN_DEFAULT_MODE_COUNT);
}

static void DestroyStored(Stored* stored)
{
    knDestroyAsset(stored->asset);
    knRelease(NULL, stored->bytes, stored->size, 1);
    knRelease(NULL, (void*)stored->section.data, (size_t)stored->section.size, 1);
    DestroyCookParts(&stored->parts);
}

// Displacement and stress under forces that rest, for E = 1, from the stored integers alone.
static void Sum(const knModeSet* set, const double* forces, double* u, double* stress)
{
    size_t n = set->nodeCount;
    memset(u, 0, 3 * n * sizeof(double));
    memset(stress, 0, 6 * n * sizeof(double));
    for (size_t m = 0; m < set->modeCount; ++m)
    {
        const int16_t* shape = set->shapes + 3 * n * m;
        const int16_t* tension = set->stresses + 6 * n * m;
        double drive = 0.0;
        for (size_t i = 0; i < 3 * n; ++i)
        {
            drive += (double)set->shapeScales[m] * shape[i] * forces[i % n * 3 + i / n];
        }
        double q = drive / (double)set->eigenvalues[m];
        for (size_t i = 0; i < 6 * n; ++i)
        {
            stress[i] += q * (double)set->stressScales[m] * tension[i];
        }
        for (size_t i = 0; i < 3 * n; ++i)
        {
            u[i % n * 3 + i / n] += q * (double)set->shapeScales[m] * shape[i];
        }
    }
}

static const int barCells[2][3] = {{16, 1, 1}, {20, 2, 2}};

static void HeldModesBendACantilever(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(barCells); ++i)
    {
        Solid s;
        Stored stored;
        MakeBoxSolid(&s, barCells[i], knMakeVec3(2.0f, 0.2f, 0.2f), POISSON);
        FixPlane(&s, 0, 0.0, 7);
        StoreModes(&stored, &s, true);
        UseMetres(&s);
        double length = s.size[0], height = s.size[2];
        double x = 0.5 * length, at = x;
        // at the tip
        LoadPlane(&s, (int[2]){0, 2}, (double[3]){length, 0.0, height}, (knDVec3){0, 0, 1.0});
        Sum(&stored.set, s.forces, s.u, s.stress);
        double theory = pow(length, 3.0) / (3.0 * Bending(&s)) + length / Shear(&s);
        uint32_t tip = NearestNode(&s, (knDVec3){length, 0.0, 0.0});
        AssertWithin("deflection under a tip load", s.u[3 * tip + 2], theory, 0.05);
        double stress = StressAcross(&s, s.stress, &at, height);
        AssertWithin("stress under a tip load", stress, (at - length) * 0.5 * height / Bending(&s),
                     0.05);
        // along its whole length
        memset(s.forces, 0, s.dofs * sizeof(double));
        LoadPlane(&s, (int[2]){2, 0}, (double[3]){height, 0.0, length}, (knDVec3){0, 0, 1.0});
        Sum(&stored.set, s.forces, s.u, s.stress);
        theory = pow(length, 3.0) / (8.0 * Bending(&s)) + 0.5 * length / Shear(&s);
        AssertWithin("deflection under an even load", s.u[3 * tip + 2], theory, 0.05);
        double arm = length - x;
        stress = StressAcross(&s, s.stress, &x, height);
        AssertWithin("stress under an even load", stress,
                     -0.5 * arm * arm / length * 0.5 * height / Bending(&s), 0.05);
        DestroyStored(&stored);
        DestroySolid(&s);
    }
}

static void FreeModesBendAThreePointBar(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(barCells); ++i)
    {
        Solid s;
        Stored stored;
        MakeBoxSolid(&s, barCells[i], knMakeVec3(2.0f, 0.2f, 0.2f), POISSON);
        StoreModes(&stored, &s, false);
        UseMetres(&s);
        double length = s.size[0], height = s.size[2];
        double cell = length / barCells[i][0], middle = 0.5 * length;
        LoadPlane(&s, (int[2]){2, 0}, (double[3]){height, middle - cell, middle + cell},
                  (knDVec3){0, 0, -1.0});
        LoadPlane(&s, (int[2]){0, 2}, (double[3]){0.0, 0.0, height}, (knDVec3){0, 0, 0.5});
        LoadPlane(&s, (int[2]){0, 2}, (double[3]){length, 0.0, height}, (knDVec3){0, 0, 0.5});
        Sum(&stored.set, s.forces, s.u, s.stress);
        double x = 0.25 * length, stress = StressAcross(&s, s.stress, &x, 0.0);
        AssertWithin("stress at a quarter", stress, 0.5 * x * 0.5 * height / Bending(&s), 0.05);
        double theory = pow(length, 3.0) / (48.0 * Bending(&s)) + length / (4.0 * Shear(&s));
        theory -= pow(2.0 * cell, 2.0) * length / (96.0 * Bending(&s));
        uint32_t a = NearestNode(&s, (knDVec3){0.0, 0.0, 0.0});
        uint32_t b = NearestNode(&s, (knDVec3){0.5 * length, 0.0, 0.0});
        AssertWithin("deflection", s.u[3 * a + 2] - s.u[3 * b + 2], theory, 0.05);
        DestroyStored(&stored);
        DestroySolid(&s);
    }
}

static void HeldModesBendASupportedPlate(void** state)
{
    (void)state;
    const int cells[2][3] = {{12, 12, 1}, {10, 10, 2}};
    for (size_t i = 0; i < COUNT_OF(cells); ++i)
    {
        Solid s;
        Stored stored;
        MakeBoxSolid(&s, cells[i], knMakeVec3(0.5f, 0.5f, 0.02f), POISSON);
        FixPlane(&s, 0, 0.0, 6);
        FixPlane(&s, 0, s.size[0], 6);
        FixPlane(&s, 1, 0.0, 5);
        FixPlane(&s, 1, s.size[1], 5);
        StoreModes(&stored, &s, true);
        UseMetres(&s);
        double side = s.size[0], thickness = s.size[2];
        LoadPlane(&s, (int[2]){2, 0}, (double[3]){thickness, 0.0, side},
                  (knDVec3){0, 0, -side * side});
        Sum(&stored.set, s.forces, s.u, s.stress);
        PlateTheory theory = Navier(side, thickness, POISSON);
        uint32_t low = NearestNode(&s, (knDVec3){0.5 * side, 0.5 * side, 0.0});
        AssertWithin("deflection", -s.u[3 * low + 2], theory.deflection, 0.05);
        double stress = 6.0 * theory.moment / (thickness * thickness);
        AssertWithin("stress xx", s.stress[low], stress, 0.05);
        AssertWithin("stress yy", s.stress[s.shape.nodeCount + low], stress, 0.05);
        DestroyStored(&stored);
        DestroySolid(&s);
    }
}

// The surface of a lattice as an OFF file, for TetGen to fill in its own way.
static void WriteSurface(const char* path, const int cells[3], knVec3 size)
{
    TetShape shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), size);
    knTetMeshStore store;
    assert_int_equal(
        knBuildTetMesh(&store, shape.nodes, shape.nodeCount, shape.tets, shape.tetCount, NULL),
        kn_success);
    const knTetMesh* m = &store.mesh;
    FILE* out = fopen(path, "wb");
    assert_non_null(out);
    fprintf(out, "OFF\n%u %u 0\n", shape.surfaceNodeCount, m->boundaryFaceCount);
    for (uint32_t n = 0; n < shape.surfaceNodeCount; ++n)
    {
        knVec3 p = shape.nodes[n];
        fprintf(out, "%.9g %.9g %.9g\n", (double)p.x, (double)p.y, (double)p.z);
    }
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        knTriangle t = knTetMesh_BoundaryTriangle(m, m->boundaryFaces[i]);
        fprintf(out, "3 %u %u %u\n", t.v[0], t.v[1], t.v[2]);
    }
    assert_int_equal(fclose(out), 0);
    knDestroyTetMeshStore(&store);
    DestroyShape(&shape);
}

static knAsset* CookFile(const char* path, const knCookOptions* options, knCooked* cooked)
{
    knAsset* asset = NULL;
    if (knCook(path, options, NULL, cooked) != kn_success ||
        knCreateAssetInPlace(&asset, cooked->bytes, cooked->size, NULL) != kn_success)
    {
        fail_msg("%s: %s", path, knLastError());
    }
    return asset;
}

// The same mesh once more, for loads and theory.
static void SolidOfAsset(Solid* s, const knAsset* asset)
{
    const knTetMesh* m = knAsset_TetMesh(asset);
    s->shape = (TetShape){.nodeCount = m->nodeCount,
                          .tetCount = m->tetCount,
                          .surfaceNodeCount = m->surfaceNodeCount};
    s->shape.nodes = Zeros(m->nodeCount, sizeof(knVec3));
    s->shape.tets = Zeros(m->tetCount, sizeof(knTet));
    memcpy(s->shape.nodes, m->nodes, m->nodeCount * sizeof(knVec3));
    memcpy(s->shape.tets, m->tets, m->tetCount * sizeof(knTet));
    OpenSolid(s, POISSON);
    UseMetres(s);
}

static void CookedBarOfTetGenBends(void** state)
{
    (void)state;
    WriteSurface("bar.off", (int[3]){24, 2, 2}, knMakeVec3(1.2f, 0.1f, 0.1f));
    knCookOptions options = knDefaultCookOptions();
    options.modes.rules[options.modes.ruleCount++] =
        (knAnchorRule){kn_anchorBox, {-1.0, -1.0, -1.0, 0.001, 1.0, 1.0}};
    knCooked cooked;
    knAsset* asset = CookFile("bar.off", &options, &cooked);
    knAnchors anchors;
    assert_int_equal(knOpenAnchors(&anchors, asset), kn_success);
    // the nodes of one end, all on the surface
    assert_int_equal(anchors.count, 9);
    Solid s;
    knModeSet held, unheld;
    SolidOfAsset(&s, asset);
    assert_int_equal(knOpenModes(&held, asset, true), kn_success);
    assert_int_equal(knOpenModes(&unheld, asset, false), kn_success);
    assert_int_equal(held.modeCount, KN_DEFAULT_MODE_COUNT);
    double length = s.size[0], height = s.size[2], x = 0.5 * length;
    LoadPlane(&s, (int[2]){0, 2}, (double[3]){length, 0.0, height}, (knDVec3){0, 0, 1.0});
    Sum(&held, s.forces, s.u, s.stress);
    double theory = pow(length, 3.0) / (3.0 * Bending(&s)) + length / Shear(&s);
    uint32_t tip = NearestNode(&s, (knDVec3){length, 0.0, 0.0});
    AssertWithin("deflection", s.u[3 * tip + 2], theory, 0.05);
    double stress = StressAcross(&s, s.stress, &x, height);
    AssertWithin("stress", stress, (x - length) * 0.5 * height / Bending(&s), 0.05);
    // the free one vibrates as Euler says: E = 1, so lambda is omega squared
    double beta = 4.730041 / length;
    AssertWithin("frequency", sqrt((double)unheld.eigenvalues[0]),
                 beta * beta * height / sqrt(12.0), 0.03);
    DestroySolid(&s);
    knDestroyAsset(asset);
    knDestroyCooked(&cooked);
}

static void CookedPlateOfTetGenBendsUnderItsEdges(void** state)
{
    (void)state;
    // one layer of tetrahedra: no point lies inside
    WriteSurface("plate.off", (int[3]){14, 14, 1}, knMakeVec3(0.5f, 0.5f, 0.02f));
    knCookOptions options = knDefaultCookOptions();
    options.modes.count = 0;
    knCooked cooked;
    knAsset* asset = CookFile("plate.off", &options, &cooked);
    Solid s;
    SolidOfAsset(&s, asset);
    assert_int_equal(s.shape.surfaceNodeCount, s.shape.nodeCount);
    double side = s.size[0], thickness = s.size[2];
    FixPlane(&s, 0, 0.0, 6);
    FixPlane(&s, 0, side, 6);
    FixPlane(&s, 1, 0.0, 5);
    FixPlane(&s, 1, side, 5);
    Stored stored;
    StoreModes(&stored, &s, true);
    LoadPlane(&s, (int[2]){2, 0}, (double[3]){thickness, 0.0, side}, (knDVec3){0, 0, -side * side});
    Sum(&stored.set, s.forces, s.u, s.stress);
    PlateTheory theory = Navier(side, thickness, POISSON);
    uint32_t low = NearestNode(&s, (knDVec3){0.5 * side, 0.5 * side, 0.0});
    AssertWithin("deflection", -s.u[3 * low + 2], theory.deflection, 0.05);
    double stress = 6.0 * theory.moment / (thickness * thickness);
    AssertWithin("stress xx", s.stress[low], stress, 0.05);
    AssertWithin("stress yy", s.stress[s.shape.nodeCount + low], stress, 0.05);
    DestroyStored(&stored);
    DestroySolid(&s);
    knDestroyAsset(asset);
    knDestroyCooked(&cooked);
}

// Eigenvalues are those of a material of E = rho = 1 in metres, so they go with one over the size
// squared; place and size change nothing else.
static void SizeAndPlaceOnlyScaleTheModes(void** state)
{
    (void)state;
    const int cells[3] = {5, 3, 2};
    const float scale = 0.015625f;
    double values[2][6];
    for (int i = 0; i < 2; ++i)
    {
        float f = i ? scale : 1.0f;
        Solid s;
        s.shape = MakeLatticeBox(cells, knMakeVec3(-7.0f * f, 3.0f * f, 0.0f),
                                 knMakeVec3(-5.0f * f, 4.0f * f, 0.5f * f));
        OpenSolid(&s, POISSON);
        Stored stored;
        StoreModes(&stored, &s, false);
        for (int m = 0; m < 6; ++m)
        {
            values[i][m] = (double)stored.set.eigenvalues[m];
        }
        DestroyStored(&stored);
        DestroySolid(&s);
    }
    for (int m = 0; m < 6; ++m)
    {
        double back = values[1][m] * (double)(scale * scale);
        ASSERT_NEAR(back, values[0][m], 1e-5 * values[0][m]);
    }
}

// A single held node lets the object swing; swinging is no mode.
static void OneHeldNodeLeavesRotationsOut(void** state)
{
    (void)state;
    Solid s;
    MakeBoxSolid(&s, (int[3]){4, 3, 2}, knMakeVec3(1.0f, 0.7f, 0.5f), POISSON);
    knElasticBasis rigid;
    const uint32_t left[4] = {6, 3, 1, 0};
    for (int held = 0; held < 4; ++held)
    {
        s.fixed[0] = held > 0 ? 7 : 0;
        s.fixed[1] = held > 1 ? 7 : 0;
        s.fixed[20] = held > 2 ? 7 : 0;
        assert_int_equal(knMakeRigidBasis(&rigid, &s.elastic, s.fixed), kn_success);
        assert_int_equal(rigid.count, left[held]);
        knDestroyElasticBasis(&rigid);
        knElasticModes modes;
        knElasticModeOptions options = {.fixed = s.fixed, .count = 8};
        assert_int_equal(knSolveElasticModes(&modes, &s.elastic, &options), kn_success);
        assert_true(modes.eigenvalues[0] > 1e-3);
        knDestroyElasticModes(&modes);
    }
    DestroySolid(&s);
}

static void WhatHasNoModesIsCookedWithoutAndSaysSo(void** state)
{
    (void)state;
    FILE* out = fopen("two.off", "wb");
    assert_non_null(out);
    fprintf(out, "OFF\n8 8 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n5 0 0\n6 0 0\n5 1 0\n5 0 1\n"
                 "3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n3 4 6 5\n3 4 5 7\n3 5 6 7\n3 4 7 6\n");
    assert_int_equal(fclose(out), 0);
    knCookOptions options = knDefaultCookOptions();
    knCooked cooked;
    knAsset* asset = CookFile("two.off", &options, &cooked);
    knModeSet set;
    assert_int_equal(knOpenModes(&set, asset, false), kn_success);
    assert_int_equal(set.modeCount, 0);
    assert_non_null(strstr(cooked.modeNote, "parts"));
    knDestroyAsset(asset);
    knDestroyCooked(&cooked);

    Solid s;
    MakeBoxSolid(&s, (int[3]){8, 8, 8}, knMakeVec3(1.0f, 1.0f, 1.0f), POISSON);
    knModeJob job = {.mesh = &s.store.mesh,
                     .options = &options.modes,
                     .limits = {.seconds = 0.01, .megabytes = 8192}};
    knAssetSection section;
    char note[KN_MAX_MESSAGE];
    assert_int_equal(knCookModes(&job, NULL, &section, note), kn_success);
    assert_null(section.data);
    assert_non_null(strstr(note, "seconds"));
    DestroySolid(&s);
}

static void AnchorRulesAreReadAndMustHoldSomething(void** state)
{
    (void)state;
    knAnchorRule rule;
    assert_int_equal(knParseAnchorRule("below=-0.5", &rule), kn_success);
    assert_true(rule.kind == kn_anchorBelow && rule.values[0] == -0.5);
    assert_int_equal(knParseAnchorRule("box=0,1,2,3,4,5e1", &rule), kn_success);
    assert_true(rule.kind == kn_anchorBox && rule.values[5] == 50.0);
    const char* const bad[] = {
        "",        "below", "below=", "below=1x", "box=1,2,3", "above=nan", "box=0,1,2,3,4,5,6",
        "beside=3"};
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        assert_int_equal(knParseAnchorRule(bad[i], &rule), kn_errorArgument);
    }
    Solid s;
    MakeBoxSolid(&s, (int[3]){2, 2, 2}, knMakeVec3(1.0f, 1.0f, 1.0f), POISSON);
    knModeOptions options = knDefaultModeOptions();
    knAssetSection section;
    options.ruleCount = 2;
    options.rules[0] = (knAnchorRule){kn_anchorBelow, {0.1}};
    options.rules[1] = (knAnchorRule){kn_anchorAbove, {0.9}};
    assert_int_equal(knCookAnchors(&s.store.mesh, &options, NULL, &section), kn_success);
    assert_int_equal(section.size, 18 * sizeof(uint32_t));
    for (size_t i = 0; i < 18; ++i)
    {
        float y = s.shape.nodes[((const uint32_t*)section.data)[i]].y;
        assert_true(y == 0.0f || y == 1.0f);
    }
    knRelease(NULL, (void*)section.data, (size_t)section.size, 1);
    options.rules[1].values[0] = 2.0;
    assert_int_equal(knCookAnchors(&s.store.mesh, &options, NULL, &section), kn_errorArgument);
    options.rules[1].values[0] = -2.0;
    assert_int_equal(knCookAnchors(&s.store.mesh, &options, NULL, &section), kn_errorArgument);
    DestroySolid(&s);
}

static void InfoShowsModes(void** state)
{
    (void)state;
    WriteSurface("box.off", (int[3]){3, 2, 2}, knMakeVec3(0.3f, 0.2f, 0.2f));
    assert_int_equal(system(KN_COMMAND " cook box.off -o box.knap --modes 7 --poisson 0.3 "
                                       "--anchor below=0.01 --material glass --quiet >cook.txt"),
                     0);
    assert_int_equal(system(KN_COMMAND " info box.knap >info.txt"), 0);
    assert_int_equal(system("grep -q 'anchors  *12 ' info.txt && grep -q '^  modes  *7 ' info.txt "
                            "&& grep -q 'held modes  *7 .*Hz' info.txt"),
                     0);
    assert_int_equal(system(KN_COMMAND
                            " cook box.off -o none.knap --modes 0 --quiet >cook.txt && " KN_COMMAND
                            " info none.knap >info.txt && ! grep -q modes info.txt"),
                     0);
    assert_int_not_equal(
        system(KN_COMMAND " cook box.off -o bad.knap --anchor below=-9 2>error.txt"), 0);
    assert_int_equal(system("grep -q 'holds no node' error.txt && ! test -e bad.knap"), 0);
}

int main(void)
{
    knInitPredicates();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(HeldModesBendACantilever),
        cmocka_unit_test(FreeModesBendAThreePointBar),
        cmocka_unit_test(HeldModesBendASupportedPlate),
        cmocka_unit_test(CookedBarOfTetGenBends),
        cmocka_unit_test(CookedPlateOfTetGenBendsUnderItsEdges),
        cmocka_unit_test(SizeAndPlaceOnlyScaleTheModes),
        cmocka_unit_test(OneHeldNodeLeavesRotationsOut),
        cmocka_unit_test(WhatHasNoModesIsCookedWithoutAndSaysSo),
        cmocka_unit_test(AnchorRulesAreReadAndMustHoldSomething),
        cmocka_unit_test(InfoShowsModes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
