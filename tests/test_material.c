// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/material.h"

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
        cmocka_unit_test(UnknownPresetsAreNull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
