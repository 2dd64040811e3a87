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
    {"wall", {{0.46f, 0.43f, 0.38f}, {0.42f, 0.17f, 0.10f}, 0.05f}},
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

knConfig knScene_Config(const knScene* scene)
{
    knConfig config = knDefaultConfig();
    if (scene->tune)
    {
        scene->tune(&config);
    }
    return config;
}

static knResult LoadModel(knStage* stage, const char* folder, const knSceneModel* model)
{
    const char* name = model->name;
    knStageModel* m = &stage->models[stage->modelCount];
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s.knap", folder, name);
    if (length < 0 || length >= (int)sizeof path)
    {
        return knFail(kn_errorFile, "%s: the path is too long", name);
    }
    snprintf(m->name, sizeof m->name, "%s", name);
    m->material = model->material;
    m->look = FindLook(name);
    stage->modelCount += 1; // whatever fails now is released with the stage
    knResult result = knLoadAsset(&m->asset, path, NULL);
    if (result == kn_errorFile)
    {
        return knFail(result, "%s; ./demos/run %s cooks it", knLastError(), stage->scene->name);
    }
    return result == kn_success ? knCreateModel(&m->model, m->asset, NULL) : result;
}

static knResult FillStage(knStage* stage, const knStageDef* def)
{
    const knScene* scene = def->scene;
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < 4 && scene->models[i].name; ++i)
    {
        result = LoadModel(stage, def->assetFolder, &scene->models[i]);
    }
    knWorldDef world = knDefaultWorldDef();
    knConfig_FillWorldDef(&def->config, &world);
    world.tasks = def->tasks;
    result = result == kn_success ? knCreateWorld(&stage->world, &world, NULL) : result;
    result = result == kn_success ? knWorld_ApplyConfig(stage->world, &def->config) : result;
    result = result == kn_success ? scene->build(stage) : result;
    stage->isBuilt = true;
    return result;
}

knResult knCreateStage(knStage** out, const knStageDef* def)
{
    knStage* stage = knAllocate(NULL, 1, sizeof(knStage));
    if (!stage)
    {
        return kn_errorMemory;
    }
    *stage =
        (knStage){.scene = def->scene, .config = def->config, .random = knMakeRandom(def->seed)};
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

// The energy of a body that comes after the start.
static void Account(knStage* stage, knBodyId body)
{
    knBodyState s;
    if (stage->isBuilt && knWorld_BodyState(stage->world, body, &s) == kn_success)
    {
        double v = (double)knLength(s.velocity), height = (double)s.transform.position.y;
        stage->addedEnergy += (double)s.mass * (9.81 * height + 0.5 * v * v);
    }
}

static const knStageModel* FindModel(const knStage* stage, const char* name)
{
    for (uint32_t i = 0; i < stage->modelCount; ++i)
    {
        if (strcmp(stage->models[i].name, name) == 0)
        {
            return &stage->models[i];
        }
    }
    return NULL;
}

knResult knStage_AddObject(knStage* stage, const char* name, const knBodyDef* def, knBodyId* body)
{
    const knStageModel* model = FindModel(stage, name);
    if (!model)
    {
        return knFail(kn_errorArgument, "the scene has no model '%s'", name);
    }
    const knMaterial* material = knConfig_Material(&stage->config, model->material);
    knFamilyDef family = knDefaultFamilyDef();
    family.model = model->model;
    family.density = material ? material->density : 0.0;
    knFamilyId id;
    knBodyId made;
    knResult result = knWorld_CreateFamily(stage->world, def, &family, &id, &made);
    if (result == kn_success && material)
    {
        result = knWorld_SetMaterial(stage->world, id, material);
    }
    knBodyPiece piece;
    if (result == kn_success && knWorld_BodyPiece(stage->world, made, &piece) == kn_success)
    {
        stage->triangleCount += piece.mesh->triangleCount;
        Account(stage, made);
    }
    if (result == kn_success && body)
    {
        *body = made;
    }
    return result;
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

knResult knStage_AddBall(knStage* stage, knVec3 center, float radius, knVec3 velocity,
                         knBodyId* body)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = center;
    def.velocity = velocity;
    def.density = 7800.0f; // steel
    def.noSleep = true;
    def.rollingFriction = 0.02f * radius; // a length in Bullet
    def.angularDamping = 0.3f;
    knBodyId made;
    knResult result = knWorld_CreateSphere(stage->world, &def, radius, &made);
    if (result == kn_success && body)
    {
        *body = made;
    }
    knProp prop = {.body = made, .radius = radius, .color = {0.10f, 0.13f, 0.18f}};
    if (result == kn_success)
    {
        Account(stage, made);
        result = AddProp(stage, prop);
    }
    return result;
}

knResult knStage_HangBall(knStage* stage, knVec3 pivot)
{
    if (stage->propCount == 0)
    {
        return knFail(kn_errorArgument, "there is no ball to hang");
    }
    knProp* prop = &stage->props[stage->propCount - 1];
    prop->hangs = true;
    prop->pivot = pivot;
    knJointId joint;
    return knWorld_CreatePointJoint(stage->world, prop->body, (knBodyId){0}, pivot, &joint);
}

static uint64_t HashBytes(uint64_t hash, const void* bytes, size_t size)
{
    const unsigned char* at = bytes;
    for (size_t i = 0; i < size; ++i)
    {
        hash = (hash ^ at[i]) * 0x100000001B3u; // FNV-1a
    }
    return hash;
}

uint64_t knStage_Hash(const knStage* stage)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(stage->world, id))
    {
        knBodyState state;
        if (knWorld_BodyState(stage->world, id, &state) == kn_success)
        {
            hash = HashBytes(hash, &state.transform.position, sizeof(knVec3));
            hash = HashBytes(hash, &state.transform.rotation, sizeof(knQuat));
            hash = HashBytes(hash, &state.velocity, sizeof(knVec3));
            hash = HashBytes(hash, &state.spin, sizeof(knVec3));
        }
    }
    return hash;
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
