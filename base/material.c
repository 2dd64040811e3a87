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

typedef struct Field
{
    const char* name;
    size_t offset;
    double lower, upper;
} Field;

static const Field fields[] = {
    {"density", offsetof(knMaterial, density), 1.0, 1e5},
    {"youngsModulus", offsetof(knMaterial, youngsModulus), 1e3, 1e13},
    {"poissonRatio", offsetof(knMaterial, poissonRatio), 0.0, 0.49},
    {"tensileStrength", offsetof(knMaterial, tensileStrength), 1.0, 1e12},
    {"fractureEnergy", offsetof(knMaterial, fractureEnergy), 1e-6, 1e9},
    {"contactTime", offsetof(knMaterial, contactTime), 1e-6, 1.0},
    {"friction", offsetof(knMaterial, friction), 0.0, 10.0},
    {"restitution", offsetof(knMaterial, restitution), 0.0, 1.0},
};

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
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
    {
        double value;
        memcpy(&value, (const char*)material + fields[i].offset, sizeof value);
        if (!(value >= fields[i].lower && value <= fields[i].upper))
        {
            return knFail(kn_errorArgument, "material.%s is %g: it must be from %g to %g",
                          fields[i].name, value, fields[i].lower, fields[i].upper);
        }
    }
    return kn_success;
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
