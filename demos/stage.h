// SPDX-License-Identifier: Zlib
#pragma once

// A stage is a running scene: a world, the models in it, and what is drawn that is no piece.
//
// Scenes are shared by the demo, the tests and the benchmarks: build() fills the stage, script()
// plays the user's part when there is none. Everything random comes from the stage's own seed.

#include "knap/config.h"
#include "knap/random.h"

#define KN_STAGE_MODELS 8
#define KN_STAGE_PROPS  256

// A ball.
typedef struct knProp
{
    knBodyId body;
    float radius; // m
    knVec3 color;
    bool hangs;   // on a cable
    knVec3 pivot; // from where
} knProp;

// How the pieces of a family look.
typedef struct knLook
{
    knVec3 color;
    knVec3 insideColor;
    float gloss;
} knLook;

typedef struct knStageModel
{
    char name[16];
    const char* material;
    knAsset* asset;
    knModel* model;
    knLook look;
} knStageModel;

typedef struct knStage knStage;

typedef struct knSceneModel
{
    const char* name;     // bunny for bunny.knap
    const char* material; // preset, for weight and strength; null for the asset's own
} knSceneModel;

typedef struct knScene
{
    const char* name;
    const char* title; // one line for the help
    float dt;          // s; the paper's Table 3
    uint32_t steps;    // scripted length
    knSceneModel models[4];
    knVec3 eye, target;             // of the camera at first
    float reach;                    // m; shadows are cast this far from the target
    void (*tune)(knConfig* config); // what the scene changes of the defaults; may be null
    knResult (*build)(knStage* stage);
    knResult (*script)(knStage* stage); // before each step; may be null
} knScene;

// Null-terminated.
extern const knScene* const knScenes[];
const knScene* knFindScene(const char* name);

// The defaults with what the scene changes of them.
knConfig knScene_Config(const knScene* scene);

typedef struct knStageDef
{
    const knScene* scene;
    const char* assetFolder; // of the cooked files
    uint64_t seed;
    knConfig config;
    const knTaskHooks* tasks; // null for one thread
} knStageDef;

struct knStage
{
    const knScene* scene;
    knConfig config;
    knWorld* world;
    knRandom random;
    uint32_t step;          // taken so far
    bool isBuilt;           // what comes now comes from the script or the user
    bool isHandled;         // a hand did work that nobody counts
    bool isHeld;            // by the script's hand
    knVec3 hand;            // where it took hold
    double addedEnergy;     // J: of what came after the start
    uint32_t triangleCount; // of all objects that were added, whole
    bool isInteractive;     // somebody plays: no script
    knStageModel models[KN_STAGE_MODELS];
    uint32_t modelCount;
    knProp props[KN_STAGE_PROPS];
    uint32_t propCount;
};

knResult knCreateStage(knStage** stage, const knStageDef* def);
void knDestroyStage(knStage* stage);

knResult knStage_Step(knStage* stage);

// For scenes. The model must be named in the scene.
knResult knStage_AddObject(knStage* stage, const char* model, const knBodyDef* def, knBodyId* body);

// Of steel. `body` may be null.
knResult knStage_AddBall(knStage* stage, knVec3 center, float radius, knVec3 velocity,
                         knBodyId* body);

// Hangs the last ball that was added on a cable.
knResult knStage_HangBall(knStage* stage, knVec3 pivot);

// Of all bodies' places and velocities, to the bit.
uint64_t knStage_Hash(const knStage* stage);

// The look of a piece; a plain one when its family is not of the stage.
knLook knStage_Look(const knStage* stage, const knFamily* family);
