// SPDX-License-Identifier: Zlib
#include "demos/stage.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

// Outside and inside of what the demos break. Linear colours.
static const struct
{
    const char* model;
    knLook look;
} looks[] = {
    {"plate", {{0.62f, 0.63f, 0.62f}, {0.66f, 0.50f, 0.38f}, 1.0f}},
    {"bunny", {{0.52f, 0.45f, 0.36f}, {0.62f, 0.36f, 0.24f}, 0.7f}},
    {"brick", {{0.36f, 0.12f, 0.07f}, {0.46f, 0.20f, 0.12f}, 0.05f}},
    {"piggy", {{0.66f, 0.29f, 0.30f}, {0.70f, 0.58f, 0.46f}, 0.9f}},
    {"shelf", {{0.26f, 0.16f, 0.09f}, {0.40f, 0.28f, 0.16f}, 0.25f}},
    {"wall", {{0.42f, 0.38f, 0.33f}, {0.52f, 0.46f, 0.38f}, 0.05f}},
    {"ball", {{0.20f, 0.24f, 0.30f}, {0.30f, 0.30f, 0.30f}, 0.6f}},
};

static knLook FindLook(const char* model)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; ++i)
    {
        if (strcmp(looks[i].model, model) == 0)
        {
            return looks[i].look;
        }
    }
    return (knLook){{0.5f, 0.5f, 0.5f}, {0.6f, 0.55f, 0.5f}, 0.3f};
}

const knScene* knFindScene(const char* name)
{
    for (int i = 0; knScenes[i]; ++i)
    {
        if (strcmp(knScenes[i]->name, name) == 0)
        {
            return knScenes[i];
        }
    }
    return NULL;
}

static knResult LoadModel(knStage* stage, const char* folder, const char* name)
{
    knStageModel* m = &stage->models[stage->modelCount];
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s.knap", folder, name);
    if (length < 0 || length >= (int)sizeof path)
    {
        return knFail(kn_errorFile, "%s: the path is too long", name);
    }
    snprintf(m->name, sizeof m->name, "%s", name);
    m->look = FindLook(name);
    stage->modelCount += 1; // whatever fails now is released with the stage
    knResult result = knLoadAsset(&m->asset, path, NULL);
    return result == kn_success ? knCreateModel(&m->model, m->asset, NULL) : result;
}

static knResult FillStage(knStage* stage, const knStageDef* def)
{
    const knScene* scene = def->scene;
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < 4 && scene->models[i]; ++i)
    {
        result = LoadModel(stage, def->assetFolder, scene->models[i]);
    }
    result = result == kn_success ? knCreateWorld(&stage->world, &def->world, NULL) : result;
    return result == kn_success ? scene->build(stage) : result;
}

knResult knCreateStage(knStage** out, const knStageDef* def)
{
    knStage* stage = knAllocate(NULL, 1, sizeof(knStage));
    if (!stage)
    {
        return kn_errorMemory;
    }
    *stage = (knStage){.scene = def->scene, .random = knMakeRandom(def->seed)};
    knResult result = FillStage(stage, def);
    if (result != kn_success)
    {
        knDestroyStage(stage);
        return result;
    }
    *out = stage;
    return kn_success;
}

void knDestroyStage(knStage* stage)
{
    if (!stage)
    {
        return;
    }
    knDestroyWorld(stage->world);
    for (uint32_t i = 0; i < stage->modelCount; ++i)
    {
        knDestroyModel(stage->models[i].model);
        knDestroyAsset(stage->models[i].asset);
    }
    knRelease(NULL, stage, 1, sizeof(knStage));
}

knResult knStage_Step(knStage* stage)
{
    knResult result = kn_success;
    if (stage->scene->script && !stage->isInteractive)
    {
        result = stage->scene->script(stage);
    }
    result = result == kn_success ? knWorld_Step(stage->world, stage->scene->dt) : result;
    stage->step += result == kn_success;
    return result;
}

knResult knStage_AddObject(knStage* stage, const char* model, const knBodyDef* def, knBodyId* body)
{
    for (uint32_t i = 0; i < stage->modelCount; ++i)
    {
        if (strcmp(stage->models[i].name, model) == 0)
        {
            knFamilyDef family = knDefaultFamilyDef();
            family.model = stage->models[i].model;
            knFamilyId id;
            knBodyId unwanted;
            return knWorld_CreateFamily(stage->world, def, &family, &id, body ? body : &unwanted);
        }
    }
    return knFail(kn_errorArgument, "the scene has no model '%s'", model);
}

static knResult AddProp(knStage* stage, knProp prop)
{
    if (stage->propCount == KN_STAGE_PROPS)
    {
        return knFail(kn_errorLimit, "a stage has room for %d balls", KN_STAGE_PROPS);
    }
    stage->props[stage->propCount++] = prop;
    return kn_success;
}

knResult knStage_AddBall(knStage* stage, knVec3 center, float radius, knVec3 velocity)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = center;
    def.velocity = velocity;
    def.density = 7800.0f; // steel
    def.noSleep = true;
    knBodyId body;
    knResult result = knWorld_CreateSphere(stage->world, &def, radius, &body);
    knProp prop = {body, radius, {0.10f, 0.13f, 0.18f}};
    return result == kn_success ? AddProp(stage, prop) : result;
}

knLook knStage_Look(const knStage* stage, const knFamily* family)
{
    for (uint32_t i = 0; family && i < stage->modelCount; ++i)
    {
        if (stage->models[i].model == knFamily_Model(family))
        {
            return stage->models[i].look;
        }
    }
    return FindLook("");
}
