// SPDX-License-Identifier: Zlib
#pragma once

// A stage is a running scene: a world, the models in it, and what is drawn that is no piece.
//
// Scenes are shared by the demo, the tests and the benchmarks: build() fills the stage, script()
// plays the user's part when there is none. Everything random comes from the stage's own seed.

#include "knap/random.h"
#include "knap/world.h"

#define KN_STAGE_MODELS 8
#define KN_STAGE_PROPS  256

// A ball.
typedef struct knProp
{
    knBodyId body;
    float radius; // m
    knVec3 color;
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
    char name[16]; // bunny for bunny.knap
    knAsset* asset;
    knModel* model;
    knLook look;
} knStageModel;

typedef struct knStage knStage;

typedef struct knScene
{
    const char* name;
    const char* title; // one line for the help
    float dt;          // s; the paper's Table 3
    uint32_t steps;    // scripted length
    const char* models[4];
    knVec3 eye, target; // of the camera at first
    float reach;        // m; shadows are cast this far from the target
    knResult (*build)(knStage* stage);
    knResult (*script)(knStage* stage); // before each step; may be null
} knScene;

// Null-terminated.
extern const knScene* const knScenes[];
const knScene* knFindScene(const char* name);

typedef struct knStageDef
{
    const knScene* scene;
    const char* assetFolder; // of the cooked files
    uint64_t seed;
    knWorldDef world;
} knStageDef;

struct knStage
{
    const knScene* scene;
    knWorld* world;
    knRandom random;
    uint32_t step;      // taken so far
    bool isInteractive; // somebody plays: no script
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
knResult knStage_AddBall(knStage* stage, knVec3 center, float radius, knVec3 velocity);

// The look of a piece; a plain one when its family is not of the stage.
knLook knStage_Look(const knStage* stage, const knFamily* family);
