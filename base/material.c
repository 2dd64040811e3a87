// SPDX-License-Identifier: Zlib
#include "knap/material.h"

#include <stddef.h>
#include <string.h>

// docs/materials.md gives the source of each figure
static const knMaterial presets[] = {
    {.name = "ceramic", .density = 2400.0}, {.name = "glass", .density = 2500.0},
    {.name = "stone", .density = 2650.0},   {.name = "brick", .density = 1900.0},
    {.name = "ice", .density = 917.0},      {.name = "plaster", .density = 1150.0},
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
