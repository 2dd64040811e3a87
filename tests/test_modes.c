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

int main(void)
{
    knInitPredicates();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(HeldModesBendACantilever),
        cmocka_unit_test(FreeModesBendAThreePointBar),
        cmocka_unit_test(HeldModesBendASupportedPlate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
