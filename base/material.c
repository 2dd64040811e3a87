// SPDX-License-Identifier: Zlib
#include "knap/material.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// docs/materials.md gives the source of each figure
static const knMaterial presets[] = {
    {"ceramic", 2400.0, 65e9, 0.22, 50e6, 22.0, 1.2e-4, 0.5, 0.3},
    {"glass", 2500.0, 70e9, 0.22, 45e6, 8.0, 1.2e-4, 0.4, 0.4},
    {"stone", 2650.0, 50e9, 0.25, 10e6, 45.0, 1.4e-4, 0.6, 0.3},
    {"brick", 1900.0, 10e9, 0.18, 2.5e6, 60.0, 2.6e-4, 0.65, 0.2},
    {"ice", 917.0, 9.3e9, 0.33, 1e6, 1.1, 2.6e-4, 0.05, 0.2},
    {"plaster", 1150.0, 4.5e9, 0.22, 3e6, 5.0, 3.6e-4, 0.6, 0.15},
};

#define ROW(key, standard, lowest, highest, unit, meaning)                                         \
    {                                                                                              \
#key, offsetof(knMaterial, key), kn_settingDouble, standard, lowest, highest, unit,        \
            meaning                                                                                \
    }

// the defaults are those of ceramic, the first preset
static const knSetting rows[] = {
    ROW(density, 2400, 1, 1e5, "kg/m^3", "of the uncooked mesh; a cooked one has its mass"),
    ROW(youngsModulus, 65e9, 1e3, 1e13, "Pa", "stiffness: stiffer things crack at shorter hits"),
    ROW(poissonRatio, 0.22, 0, 0.49, "", "sideways share of a strain"),
    ROW(tensileStrength, 50e6, 1, 1e12, "Pa", "largest tension that it bears"),
    ROW(fractureEnergy, 22, 1e-6, 1e9, "J/m^2", "of crack, both faces: more of it, fewer pieces"),
    ROW(contactTime, 1.2e-4, 1e-6, 1, "s", "that a hit lasts, where the impact does not say"),
    ROW(friction, 0.5, 0, 10, "", "for definitions of bodies; a body has its own"),
    ROW(restitution, 0.3, 0, 1, "", "the same"),
};

const knSettingTable* knMaterialSettings(void)
{
    static const knSettingTable table = {"material", rows, sizeof rows / sizeof rows[0]};
    return &table;
}

int knMaterialPresetCount(void)
{
    return (int)(sizeof presets / sizeof presets[0]);
}

const knMaterial* knMaterialPreset(int index)
{
    return index >= 0 && index < knMaterialPresetCount() ? &presets[index] : NULL;
}

const knMaterial* knFindMaterialPreset(const char* name)
{
    for (int i = 0; name && i < knMaterialPresetCount(); ++i)
    {
        if (strcmp(presets[i].name, name) == 0)
        {
            return &presets[i];
        }
    }
    return NULL;
}

knResult knValidateMaterial(const knMaterial* material)
{
    if (!material)
    {
        return knFail(kn_errorArgument, "the material is null: take a preset");
    }
    return knValidateSettings(knMaterialSettings(), material);
}

double knHertzContactTime(const knMaterial* a, const knMaterial* b, double mass, double radius,
                          double speed)
{
    if (!a || !b || !(mass > 0.0) || !(radius > 0.0) || !(speed > 0.0))
    {
        return 0.0;
    }
    double compliance = (1.0 - a->poissonRatio * a->poissonRatio) / a->youngsModulus +
                        (1.0 - b->poissonRatio * b->poissonRatio) / b->youngsModulus;
    double ratio = mass * mass * compliance * compliance / (radius * speed);
    // 2.87 (m^2 / (R E*^2 v))^(1/5): Johnson, Contact Mechanics, section 11.4
    return 2.87 * pow(ratio, 0.2);
}
