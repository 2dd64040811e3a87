// SPDX-License-Identifier: Zlib
#include "demos/stage.h"

#include <math.h>

// The scenes of the paper's section 6, and a wall.

static knResult AddFloor(knStage* stage)
{
    knBodyDef def = knDefaultBodyDef();
    def.kind = kn_bodyStatic;
    def.friction = 0.6f;
    knBodyId floor;
    return knWorld_CreatePlane(stage->world, &def, knMakeVec3(0.0f, 1.0f, 0.0f), 0.0f, &floor);
}

static knBodyDef ObjectAt(float x, float y, float z)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(x, y, z);
    def.friction = 0.5f;
    def.noSleep = true; // as in the paper's measurements
    return def;
}

// ---- plates: four on a shelf, balls fall on them

static knResult BuildPlates(knStage* stage)
{
    knBodyDef shelf = ObjectAt(0.0f, 0.0f, 0.0f);
    shelf.kind = kn_bodyStatic;
    knResult result = AddFloor(stage);
    result = result == kn_success ? knStage_AddObject(stage, "shelf", &shelf, NULL) : result;
    for (int i = 0; result == kn_success && i < 4; ++i)
    {
        knBodyDef plate = ObjectAt(-0.435f + 0.29f * (float)i, 0.4705f, 0.0f);
        result = knStage_AddObject(stage, "plate", &plate, NULL);
    }
    return result;
}

static knResult ScriptPlates(knStage* stage)
{
    // one plate after the other, each ball a little off its middle
    if (stage->step % 25 != 10 || stage->step > 240)
    {
        return kn_success;
    }
    uint32_t ball = stage->step / 25;
    float x = -0.435f + 0.29f * (float)(ball % 4) + knRandom_Range(&stage->random, -0.05f, 0.05f);
    float z = knRandom_Range(&stage->random, -0.05f, 0.05f);
    return knStage_AddBall(stage, knMakeVec3(x, 1.0f, z), 0.03f, knMakeVec3(0.0f, -1.0f, 0.0f));
}

static const knScene plates = {
    .name = "plates",
    .title = "four plates on a shelf; balls fall on them",
    .dt = 0.030f,
    .steps = 300,
    .models = {"plate", "shelf"},
    .eye = {0.75f, 1.15f, 1.45f},
    .target = {0.0f, 0.36f, 0.0f},
    .reach = 1.1f,
    .build = BuildPlates,
    .script = ScriptPlates,
};

// ---- bunnies: five to pick up, throw and smash

static knResult BuildBunnies(knStage* stage)
{
    knResult result = AddFloor(stage);
    for (int i = 0; result == kn_success && i < 5; ++i)
    {
        knBodyDef def = ObjectAt(-0.44f + 0.22f * (float)i, 0.001f, i % 2 ? -0.08f : 0.08f);
        def.transform.rotation = knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), 0.4f * (float)(i - 2));
        result = knStage_AddObject(stage, "bunny", &def, NULL);
    }
    return result;
}

// What a player would do: one after the other is lifted and thrown down.
static knResult ScriptBunnies(knStage* stage)
{
    uint32_t turn = stage->step / 80, moment = stage->step % 80;
    float x = -0.44f + 0.22f * (float)turn, z = turn % 2 ? -0.08f : 0.08f;
    if (turn >= 5)
    {
        return kn_success;
    }
    if (moment == 5)
    {
        knBodyId body;
        return knWorld_Pick(stage->world, knMakeVec3(x, 1.0f, z), knMakeVec3(x, 0.0f, z), &body);
    }
    if (moment > 5 && moment < 50)
    {
        float up = fminf((float)(moment - 5) / 30.0f, 1.0f);
        return knWorld_Drag(stage->world, knMakeVec3(x, 0.1f + 0.7f * up, z));
    }
    if (moment >= 50 && moment < 56)
    {
        // down fast, through the floor if it could
        float down = (float)(moment - 49) / 6.0f;
        return knWorld_Drag(stage->world, knMakeVec3(x, 0.8f - 1.6f * down, z));
    }
    return moment == 56 ? knWorld_Drop(stage->world) : kn_success;
}

static const knScene bunnies = {
    .name = "bunnies",
    .title = "five bunnies to pick up, throw and smash",
    .dt = 0.015f,
    .steps = 500,
    .models = {"bunny"},
    .eye = {0.35f, 0.55f, 1.1f},
    .target = {0.0f, 0.12f, 0.0f},
    .reach = 0.9f,
    .build = BuildBunnies,
    .script = ScriptBunnies,
};

// ---- drop-bunnies: 27 in three batches

static knResult DropBatch(knStage* stage, float speed)
{
    knResult result = kn_success;
    for (int i = 0; result == kn_success && i < 9; ++i)
    {
        knBodyDef def =
            ObjectAt(-0.2f + 0.2f * (float)(i % 3), 0.9f, -0.2f + 0.2f * (float)(i / 3));
        def.transform.rotation = knMakeQuat(knRandom_UnitVec3(&stage->random),
                                            knRandom_Range(&stage->random, 0.0f, 6.0f));
        def.velocity = knMakeVec3(0.0f, -speed, 0.0f);
        result = knStage_AddObject(stage, "bunny", &def, NULL);
    }
    return result;
}

static knResult BuildDrop(knStage* stage)
{
    knResult result = AddFloor(stage);
    return result == kn_success ? DropBatch(stage, 3.0f) : result;
}

static knResult ScriptDrop(knStage* stage)
{
    bool drop = stage->step == 160 || stage->step == 320;
    return drop ? DropBatch(stage, 3.0f) : kn_success;
}

static const knScene dropBunnies = {
    .name = "drop-bunnies",
    .title = "27 bunnies fall in three batches",
    .dt = 0.005f,
    .steps = 600,
    .models = {"bunny"},
    .eye = {0.8f, 0.75f, 1.15f},
    .target = {0.0f, 0.12f, 0.0f},
    .reach = 1.0f,
    .build = BuildDrop,
    .script = ScriptDrop,
};

// ---- bricks: 32 crash on the ground

static knResult BuildBricks(knStage* stage)
{
    knResult result = AddFloor(stage);
    for (int i = 0; result == kn_success && i < 32; ++i)
    {
        int layer = i / 4, k = i % 4;
        knBodyDef def = ObjectAt(-0.2f + 0.4f * (float)(k % 2), 1.6f + 0.25f * (float)layer,
                                 -0.2f + 0.4f * (float)(k / 2));
        def.transform.rotation = knMakeQuat(knRandom_UnitVec3(&stage->random),
                                            knRandom_Range(&stage->random, 0.0f, 6.0f));
        result = knStage_AddObject(stage, "brick", &def, NULL);
    }
    return result;
}

static const knScene bricks = {
    .name = "bricks",
    .title = "32 bricks crash on the ground",
    .dt = 0.030f,
    .steps = 150,
    .models = {"brick"},
    .eye = {1.5f, 1.2f, 2.1f},
    .target = {0.0f, 0.3f, 0.0f},
    .reach = 1.8f,
    .build = BuildBricks,
};

// ---- piggy: a piggy bank falls

static knResult BuildPiggy(knStage* stage)
{
    knResult result = AddFloor(stage);
    knBodyDef def = ObjectAt(0.0f, 1.2f, 0.0f);
    def.transform.rotation = knMakeQuat(knMakeVec3(0.3f, 0.1f, 0.9487f), 0.5f);
    return result == kn_success ? knStage_AddObject(stage, "piggy", &def, NULL) : result;
}

static const knScene piggy = {
    .name = "piggy",
    .title = "a piggy bank falls",
    .dt = 0.015f,
    .steps = 200,
    .models = {"piggy"},
    .eye = {0.45f, 0.5f, 0.75f},
    .target = {0.0f, 0.08f, 0.0f},
    .reach = 0.7f,
    .build = BuildPiggy,
};

const knScene* const knScenes[] = {&plates, &bunnies, &dropBunnies, &bricks, &piggy, NULL};
