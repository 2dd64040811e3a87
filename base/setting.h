// SPDX-License-Identifier: Zlib
#pragma once

// A table of settings: one row per field of a struct, with key, default, range and meaning. The
// same rows serve the parser of config files, the validator, the docs and the viewer's panel.

#include "knap/result.h"

#include <stddef.h>
#include <stdint.h>

typedef enum knSettingType
{
    kn_settingSwitch, // bool
    kn_settingCount,  // uint32_t
    kn_settingWhole,  // uint64_t, up to 2^53 through a double
    kn_settingFloat,
    kn_settingDouble
} knSettingType;

typedef struct knSetting
{
    const char* key;
    size_t offset; // of the field in its struct
    knSettingType type;
    double standard, lowest, highest; // both ends belong to the range
    const char* unit;                 // empty for none
    const char* meaning;              // one line
} knSetting;

typedef struct knSettingTable
{
    const char* name; // of the group, for messages and sections of a file
    const knSetting* rows;
    uint32_t count;
} knSettingTable;

KN_API double knSetting_Value(const knSetting* setting, const void* object);

// Null when no row has the key.
KN_API const knSetting* knFindSetting(const knSettingTable* table, const char* key);

// Names the key, the value and the range; the object is untouched then. A switch takes 0 and 1,
// counts take whole numbers only.
KN_API knResult knSetting_Set(const knSettingTable* table, void* object, const char* key,
                              double value);

// Every row's default.
KN_API void knSettings_Reset(const knSettingTable* table, void* object);

// The first row whose value is out of its range.
KN_API knResult knValidateSettings(const knSettingTable* table, const void* object);
