// SPDX-License-Identifier: Zlib
#pragma once

// Everything that a game tunes, in one text file. docs/config.md lists every key; 'knap config'
// prints a file with all of them, and checks one.
//
//     [contacts]
//     maxContacts = 32
//     [break]
//     debrisLifetime = 10    ; seconds
//     [material glass]
//     tensileStrength = 30e6
//
// A file that has anything wrong in it changes nothing: the message begins with file and line.

#include "knap/world_break.h"

#define KN_CONFIG_MATERIALS 16

typedef struct knConfig
{
    size_t size; // of this struct
    knContactLimits contacts;
    knBreakLimits breaking;
    uint32_t threads; // for a task pool of the game's
    knWorldDef world; // its settings only; limits and the rest of it are not read
    knMaterial materials[KN_CONFIG_MATERIALS]; // the presets, as the file changed them
    uint32_t materialCount;
} knConfig;

KN_API knConfig knDefaultConfig(void);

// Names the section, the key, the value and the range.
KN_API knResult knValidateConfig(const knConfig* config);

// Keys that the file does not have keep the value that they have in `config`.
KN_API knResult knLoadConfig(knConfig* config, const char* path);

// The same from memory; `name` stands in messages for the file.
KN_API knResult knParseConfig(knConfig* config, const char* text, size_t length, const char* name);

// Sections that stand for one struct each, in the order of the file: run, contacts, break, world.
// Materials have a section per preset beside these, with the rows of knMaterialSettings.
KN_API uint32_t knConfigSectionCount(void);
KN_API const knSettingTable* knConfigSection(uint32_t index); // null when out of range
KN_API void* knConfig_Object(knConfig* config, uint32_t section);

// Null when the config has none of that name.
KN_API const knMaterial* knConfig_Material(const knConfig* config, const char* name);

// Into a definition for a new world: contact limits and the settings of a world. The task hooks are
// the game's to set.
KN_API void knConfig_FillWorldDef(const knConfig* config, knWorldDef* def);

// Between steps: contact limits, break limits, and the materials of what there is and what will be.
// An object keeps a material whose name is none of the presets'. Threads and the settings of a
// world count when a world is made.
KN_API knResult knWorld_ApplyConfig(knWorld* world, const knConfig* config);

// Loads and applies, in one call; on failure the world is as it was.
KN_API knResult knWorld_LoadConfig(knWorld* world, const char* path);
