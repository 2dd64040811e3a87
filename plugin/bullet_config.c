// SPDX-License-Identifier: Zlib
#include "knap/config.h"
#include "plugin/bullet_internal.h"

#include <string.h>

const knMaterial* knWorld_FindMaterial(const knWorld* w, const char* name)
{
    for (uint32_t i = 0; i < w->materialCount; ++i)
    {
        if (strcmp(w->materials[i].name, name) == 0)
        {
            return &w->materials[i];
        }
    }
    return knFindMaterialPreset(name);
}

static void ApplyMaterials(knWorld* w, const knConfig* config)
{
    memcpy(w->materials, config->materials, sizeof w->materials);
    w->materialCount = config->materialCount;
    for (knId id = knPool_Next(&w->families, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->families, id))
    {
        knWorldFamily* family = knPool_Get(&w->families, id);
        const knMaterial* material = knConfig_Material(config, family->material.name);
        if (material)
        {
            family->material = *material;
            knWorld_RecordMaterial(w, knWorld_Tagged(w, id), material);
        }
    }
    knWorld_RecordMaterials(w);
}

knResult knWorld_ApplyConfig(knWorld* w, const knConfig* config)
{
    knResult result = w ? knValidateConfig(config) : knFail(kn_errorHandle, "no world");
    result = result == kn_success ? knWorld_SetLimits(w, &config->contacts) : result;
    result = result == kn_success ? knWorld_SetBreakLimits(w, &config->breaking) : result;
    if (result == kn_success)
    {
        ApplyMaterials(w, config);
    }
    return result;
}

knResult knWorld_LoadConfig(knWorld* w, const char* path)
{
    if (!w)
    {
        return knFail(kn_errorHandle, "no world");
    }
    // what the file leaves out stays as it is
    knConfig config = knDefaultConfig();
    config.contacts = *knPairs_Limits(w->pairs);
    config.breaking = w->breaks.limits;
    if (w->materialCount > 0)
    {
        memcpy(config.materials, w->materials, sizeof w->materials);
    }
    knResult result = knLoadConfig(&config, path);
    return result == kn_success ? knWorld_ApplyConfig(w, &config) : result;
}
