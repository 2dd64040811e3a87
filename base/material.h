// SPDX-License-Identifier: Zlib
#pragma once

// Materials by name.

#include "knap/result.h"

#define KN_MAX_NAME 32 // bytes, the terminating zero included

typedef struct knMaterial
{
    char name[KN_MAX_NAME];
    double density; // kg/m^3
} knMaterial;

KN_API int knMaterialPresetCount(void);

// Null when out of range.
KN_API const knMaterial* knMaterialPreset(int index);

// Null when there is none of that name.
KN_API const knMaterial* knFindMaterialPreset(const char* name);
