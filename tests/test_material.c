// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/material.h"

#include <math.h>

static void EveryPresetIsFoundByItsName(void** state)
{
    (void)state;
    assert_true(knMaterialPresetCount() > 0);
    for (int i = 0; i < knMaterialPresetCount(); ++i)
    {
        const knMaterial* preset = knMaterialPreset(i);
        assert_non_null(preset);
        assert_non_null(memchr(preset->name, 0, sizeof preset->name));
        assert_true(preset->name[0] != 0);
        // a name twice would hide the second
        assert_ptr_equal(knFindMaterialPreset(preset->name), preset);
    }
}

// Nothing that breaks like stone is lighter than pumice or heavier than steel.
static void DensitiesArePhysical(void** state)
{
    (void)state;
    for (int i = 0; i < knMaterialPresetCount(); ++i)
    {
        double density = knMaterialPreset(i)->density;
        assert_true(density > 250.0 && density < 8000.0);
    }
    const knMaterial* ice = knFindMaterialPreset("ice");
    const knMaterial* glass = knFindMaterialPreset("glass");
    assert_non_null(ice);
    assert_non_null(glass);
    // ice floats, glass sinks
    assert_true(ice->density < 1000.0 && glass->density > 1000.0);
}

// Each preset is a brittle solid: stiff, weak in tension, and its crack is small beside an object.
static void PresetsAreBrittleSolids(void** state)
{
    (void)state;
    for (int i = 0; i < knMaterialPresetCount(); ++i)
    {
        const knMaterial* m = knMaterialPreset(i);
        assert_int_equal(knValidateMaterial(m), kn_success);
        // breaks at a strain of a thousandth or less: no rubber, no metal
        double strain = m->tensileStrength / m->youngsModulus;
        assert_true(strain > 2e-5 && strain < 1.5e-3);
        // toughness sqrt(E G) of brittle solids: 0.05 to 3 MPa sqrt(m)
        double toughness = sqrt(m->youngsModulus * m->fractureEnergy);
        assert_true(toughness > 5e4 && toughness < 3e6);
    }
    // EN 572-1 gives glass 70 GPa and 45 MPa; its toughness is about 0.75 MPa sqrt(m)
    const knMaterial* glass = knFindMaterialPreset("glass");
    ASSERT_NEAR(glass->youngsModulus, 70e9, 1.0);
    ASSERT_NEAR(sqrt(glass->youngsModulus * glass->fractureEnergy), 0.75e6, 0.02e6);
}

// The time of a hit by a ball of 0.1 kg and 20 mm at 3 m/s, both of the material.
static void ContactTimesAreThoseOfHertz(void** state)
{
    (void)state;
    for (int i = 0; i < knMaterialPresetCount(); ++i)
    {
        const knMaterial* m = knMaterialPreset(i);
        double hertz = knHertzContactTime(m, m, 0.1, 0.02, 3.0);
        ASSERT_NEAR(m->contactTime, hertz, 0.05 * hertz);
    }
}

// The force law of Hertz, integrated step by step until the bodies part.
static void HertzAgreesWithItsForceLaw(void** state)
{
    (void)state;
    const knMaterial* glass = knFindMaterialPreset("glass");
    const knMaterial* brick = knFindMaterialPreset("brick");
    double mass = 0.3;
    double radius = 0.05;
    double speed = 1.7;
    double e1 = glass->youngsModulus / (1.0 - glass->poissonRatio * glass->poissonRatio);
    double e2 = brick->youngsModulus / (1.0 - brick->poissonRatio * brick->poissonRatio);
    double k = 4.0 / 3.0 * sqrt(radius) / (1.0 / e1 + 1.0 / e2);
    double x = 0.0;
    double v = speed;
    double t = 0.0;
    double dt = 1e-9;
    do
    {
        v -= dt * k * x * sqrt(x) / mass;
        x += dt * v;
        t += dt;
    } while (x > 0.0);
    ASSERT_NEAR(knHertzContactTime(glass, brick, mass, radius, speed), t, 0.01 * t);
    assert_true(knHertzContactTime(NULL, brick, mass, radius, speed) == 0.0);
    assert_true(knHertzContactTime(glass, brick, 0.0, radius, speed) == 0.0);
    assert_true(knHertzContactTime(glass, brick, mass, radius, -1.0) == 0.0);
}

static void BadMaterialsAreNamed(void** state)
{
    (void)state;
    assert_int_equal(knValidateMaterial(NULL), kn_errorArgument);
    static const struct
    {
        const char* name;
        size_t offset;
        double bad[2];
    } fields[] = {
        {"density", offsetof(knMaterial, density), {0.0, 1e6}},
        {"youngsModulus", offsetof(knMaterial, youngsModulus), {0.0, 1e14}},
        {"poissonRatio", offsetof(knMaterial, poissonRatio), {-0.1, 0.5}},
        {"tensileStrength", offsetof(knMaterial, tensileStrength), {0.0, 1e13}},
        {"fractureEnergy", offsetof(knMaterial, fractureEnergy), {0.0, 1e10}},
        {"contactTime", offsetof(knMaterial, contactTime), {0.0, 2.0}},
        {"friction", offsetof(knMaterial, friction), {-0.1, 11.0}},
        {"restitution", offsetof(knMaterial, restitution), {-0.1, 1.1}},
    };
    for (size_t i = 0; i < COUNT_OF(fields); ++i)
    {
        const double values[3] = {fields[i].bad[0], fields[i].bad[1], (double)NAN};
        for (int k = 0; k < 3; ++k)
        {
            knMaterial m = *knFindMaterialPreset("stone");
            memcpy((char*)&m + fields[i].offset, &values[k], sizeof values[k]);
            assert_int_equal(knValidateMaterial(&m), kn_errorArgument);
            assert_non_null(strstr(knLastError(), fields[i].name));
        }
    }
}

static void UnknownPresetsAreNull(void** state)
{
    (void)state;
    assert_null(knMaterialPreset(-1));
    assert_null(knMaterialPreset(knMaterialPresetCount()));
    assert_null(knFindMaterialPreset(NULL));
    assert_null(knFindMaterialPreset(""));
    assert_null(knFindMaterialPreset("unobtainium"));
    assert_null(knFindMaterialPreset("glas"));
    assert_null(knFindMaterialPreset("glass "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryPresetIsFoundByItsName),
        cmocka_unit_test(DensitiesArePhysical),
        cmocka_unit_test(PresetsAreBrittleSolids),
        cmocka_unit_test(ContactTimesAreThoseOfHertz),
        cmocka_unit_test(HertzAgreesWithItsForceLaw),
        cmocka_unit_test(BadMaterialsAreNamed),
        cmocka_unit_test(UnknownPresetsAreNull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
