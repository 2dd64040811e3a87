// SPDX-License-Identifier: Zlib
#include "knap/config.h"

#include <stddef.h>
#include <string.h>

static const knSetting runRows[] = {
    {"threads", offsetof(knConfig, threads), kn_settingCount, 1, 1, 64, "",
     "of the task pool that runs the queries; results do not depend on it"},
};
static const knSettingTable runTable = {"run", runRows, 1};

// from where in a config its rows count; null for the config itself
typedef struct Section
{
    const knSettingTable* (*table)(void);
    size_t offset;
} Section;

static const knSettingTable* RunSettings(void)
{
    return &runTable;
}

static const Section sections[] = {{RunSettings, 0},
                                   {knContactSettings, offsetof(knConfig, contacts)},
                                   {knBreakSettings, offsetof(knConfig, breaking)},
                                   {knWorldSettings, offsetof(knConfig, world)}};

#define SECTION_COUNT (sizeof sections / sizeof sections[0])

uint32_t knConfigSectionCount(void)
{
    return SECTION_COUNT;
}

const knSettingTable* knConfigSection(uint32_t index)
{
    return index < SECTION_COUNT ? sections[index].table() : NULL;
}

void* knConfig_Object(knConfig* config, uint32_t section)
{
    return config && section < SECTION_COUNT ? (char*)config + sections[section].offset : NULL;
}

knConfig knDefaultConfig(void)
{
    knConfig config = {.size = sizeof(knConfig)};
    config.contacts.size = sizeof(knContactLimits);
    config.breaking.size = sizeof(knBreakLimits);
    config.world.size = sizeof(knWorldDef);
    for (uint32_t i = 0; i < SECTION_COUNT; ++i)
    {
        knSettings_Reset(knConfigSection(i), knConfig_Object(&config, i));
    }
    for (int i = 0; i < knMaterialPresetCount() && i < KN_CONFIG_MATERIALS; ++i)
    {
        config.materials[config.materialCount++] = *knMaterialPreset(i);
    }
    return config;
}

knResult knValidateConfig(const knConfig* config)
{
    if (!config || config->size != sizeof(knConfig) || config->materialCount > KN_CONFIG_MATERIALS)
    {
        return knFail(kn_errorArgument, "config: begin with knDefaultConfig");
    }
    knResult result = knValidateSettings(&runTable, config);
    result = result == kn_success ? knValidateContactLimits(&config->contacts) : result;
    result = result == kn_success ? knValidateBreakLimits(&config->breaking) : result;
    result = result == kn_success ? knValidateSettings(knWorldSettings(), &config->world) : result;
    for (uint32_t i = 0; result == kn_success && i < config->materialCount; ++i)
    {
        result = knValidateMaterial(&config->materials[i]);
    }
    return result;
}

const knMaterial* knConfig_Material(const knConfig* config, const char* name)
{
    for (uint32_t i = 0; config && name && i < config->materialCount; ++i)
    {
        if (strcmp(config->materials[i].name, name) == 0)
        {
            return &config->materials[i];
        }
    }
    return NULL;
}

void knConfig_FillWorldDef(const knConfig* config, knWorldDef* def)
{
    if (!config || !def)
    {
        return;
    }
    const knSettingTable* table = knWorldSettings();
    def->limits = config->contacts;
    for (uint32_t i = 0; i < table->count; ++i)
    {
        // the values come from a config: a wrong one is told when the world is made
        const knSetting* row = &table->rows[i];
        (void)knSetting_Set(table, def, row->key, knSetting_Value(row, &config->world));
    }
}
