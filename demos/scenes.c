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
    def.rollingFriction = 5e-4f; // m; a splinter would roll for ever
    def.angularDamping = 0.2f;
    def.linearDamping = 0.02f;
    def.noSleep = true; // as in the paper's measurements
    return def;
}

// How finely things break, about as in the paper: an object ends in a handful of pieces, splinters
// below a share of it are not worth a body, and what only bumps does not break on.
static void Coarsen(knConfig* config, uint32_t eventPieces, uint32_t familyPieces, double share)
{
    config->breaking.eventPieces = eventPieces;
    config->breaking.familyPieces = familyPieces;
    config->breaking.minVolumeShare = share;
    config->breaking.minApproach = 1.0f;
    config->world.solverIterations = 40; // heaps of shards come to rest with 40, not with 10
}

// At steps of 30 ms what lies in a heap falls 9 mm before anything holds it.
static void Settle(knConfig* config)
{
    config->world.solverIterations = 80;
}

// ---- plates: four on a shelf, balls fall on them

#define PLATE_Z 0.012f // m; clear of the rail behind them

static knResult BuildPlates(knStage* stage)
{
    knBodyDef shelf = ObjectAt(0.0f, 0.0f, 0.0f);
    shelf.kind = kn_bodyStatic;
    knResult result = AddFloor(stage);
    result = result == kn_success ? knStage_AddObject(stage, "shelf", &shelf, NULL) : result;
    for (int i = 0; result == kn_success && i < 4; ++i)
    {
        knBodyDef plate = ObjectAt(-0.435f + 0.29f * (float)i, 0.4702f, PLATE_Z);
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
    return knStage_AddBall(stage, knMakeVec3(x, 1.0f, z), 0.03f, knMakeVec3(0.0f, -1.0f, 0.0f),
                           NULL);
}

static void TunePlates(knConfig* config)
{
    Coarsen(config, 8, 10, 5e-3);
    Settle(config);
    config->breaking.breaksPerStep = 1;
}

static const knScene plates = {
    .name = "plates",
    .title = "four plates on a shelf; balls fall on them",
    .dt = 0.030f,
    .steps = 400,
    .models = {{"plate", "ceramic"}, {"shelf", NULL}},
    .eye = {0.46f, 1.06f, 1.26f},
    .target = {0.0f, 0.38f, 0.0f},
    .reach = 1.1f,
    .tune = TunePlates,
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

// A player takes what is still whole: the heaviest piece.
static bool HeaviestPlace(const knStage* stage, knVec3* place)
{
    float most = 0.0f;
    for (knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(stage->world, id))
    {
        knBodyState state;
        if (knWorld_BodyState(stage->world, id, &state) == kn_success && state.mass > most)
        {
            most = state.mass;
            *place = state.transform.position;
        }
    }
    return most > 0.0f;
}

static knResult TakeHeaviest(knStage* stage)
{
    knVec3 p;
    knBodyId body = {0};
    knResult result = kn_success;
    if (HeaviestPlace(stage, &p))
    {
        result = knWorld_Pick(stage->world, knMakeVec3(p.x, p.y + 0.5f, p.z), p, &body);
    }
    stage->isHandled = true;
    stage->isHeld = !knId_IsNull(body);
    stage->hand = p;
    return result;
}

// What a player would do: one after the other is lifted and thrown down.
static knResult ScriptBunnies(knStage* stage)
{
    uint32_t turn = stage->step / 80, moment = stage->step % 80;
    if (turn < 5 && moment == 5)
    {
        return TakeHeaviest(stage);
    }
    if (!stage->isHeld || turn >= 5)
    {
        return kn_success;
    }
    knVec3 hand = stage->hand;
    if (moment < 50)
    {
        hand.y = 0.1f + 0.7f * fminf((float)(moment - 5) / 30.0f, 1.0f);
    }
    else if (moment < 56)
    {
        // down fast, through the floor if it could
        hand.y = 0.8f - 0.9f * (float)(moment - 49) / 6.0f;
    }
    else
    {
        stage->isHeld = false;
        return knWorld_Drop(stage->world);
    }
    // what breaks in the hand may be gone
    stage->isHeld = knWorld_Drag(stage->world, hand) == kn_success;
    return kn_success;
}

static void TuneBunnies(knConfig* config)
{
    Coarsen(config, 3, 4, 1e-2);
}

static const knScene bunnies = {
    .name = "bunnies",
    .title = "five bunnies to pick up, throw and smash",
    .dt = 0.015f,
    .steps = 700,
    .models = {{"bunny", "ceramic"}},
    .eye = {0.3f, 0.5f, 0.95f},
    .target = {0.03f, 0.1f, 0.0f},
    .reach = 0.9f,
    .tune = TuneBunnies,
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

static void TuneDrop(knConfig* config)
{
    Coarsen(config, 5, 5, 1e-2);
}

static const knScene dropBunnies = {
    .name = "drop-bunnies",
    .title = "27 bunnies fall in three batches",
    .dt = 0.005f,
    .steps = 1200,
    .models = {{"bunny", "ceramic"}},
    .eye = {0.64f, 0.64f, 0.92f},
    .target = {0.0f, 0.12f, 0.0f},
    .reach = 1.0f,
    .tune = TuneDrop,
    .build = BuildDrop,
    .script = ScriptDrop,
};

// ---- bricks: 32 crash on the ground

static knResult BuildBricks(knStage* stage)
{
    return AddFloor(stage);
}

// Four at a time, one after the other on the heap.
static knResult ScriptBricks(knStage* stage)
{
    knResult result = kn_success;
    bool isTime = stage->step % 12 == 0 && stage->step < 8 * 12;
    for (int k = 0; isTime && result == kn_success && k < 4; ++k)
    {
        knBodyDef def =
            ObjectAt(-0.2f + 0.4f * (float)(k % 2), 0.9f, -0.2f + 0.4f * (float)(k / 2));
        def.transform.rotation = knMakeQuat(knRandom_UnitVec3(&stage->random),
                                            knRandom_Range(&stage->random, 0.0f, 6.0f));
        def.velocity = knMakeVec3(0.0f, -2.0f, 0.0f);
        result = knStage_AddObject(stage, "brick", &def, NULL);
    }
    return result;
}

static void TuneBricks(knConfig* config)
{
    Coarsen(config, 3, 4, 1e-2);
    Settle(config);
}

static const knScene bricks = {
    .name = "bricks",
    .title = "32 bricks crash on the ground",
    .dt = 0.030f,
    .steps = 330,
    .models = {{"brick", "brick"}},
    .eye = {1.1f, 0.98f, 1.58f},
    .target = {0.0f, 0.13f, 0.0f},
    .reach = 1.8f,
    .tune = TuneBricks,
    .build = BuildBricks,
    .script = ScriptBricks,
};

// ---- piggy: a piggy bank falls

static knResult BuildPiggy(knStage* stage)
{
    knResult result = AddFloor(stage);
    knBodyDef def = ObjectAt(0.0f, 1.2f, 0.0f);
    def.transform.rotation = knMakeQuat(knMakeVec3(0.3f, 0.1f, 0.9487f), 0.5f);
    return result == kn_success ? knStage_AddObject(stage, "piggy", &def, NULL) : result;
}

static void TunePiggy(knConfig* config)
{
    Coarsen(config, 8, 10, 5e-3);
}

static const knScene piggy = {
    .name = "piggy",
    .title = "a piggy bank falls",
    .dt = 0.015f,
    .steps = 200,
    .models = {{"piggy", "ceramic"}},
    .eye = {0.24f, 0.29f, 0.41f},
    .target = {0.0f, 0.05f, 0.0f},
    .reach = 0.7f,
    .tune = TunePiggy,
    .build = BuildPiggy,
};

// ---- wall: held by its foot, and a wrecking ball on a cable

#define BALL_LENGTH 1.6f // m of cable

static knResult BuildWall(knStage* stage)
{
    knResult result = AddFloor(stage);
    knBodyDef wall = ObjectAt(0.0f, 0.0f, 0.0f);
    wall.kind = kn_bodyStatic; // its foot is anchored; what breaks off falls
    result = result == kn_success ? knStage_AddObject(stage, "wall", &wall, NULL) : result;
    // drawn back, and let go
    const float angle = 1.1f;
    knVec3 pivot = {0.15f, 0.55f + BALL_LENGTH, 0.22f};
    knVec3 ball = {pivot.x, pivot.y - BALL_LENGTH * cosf(angle),
                   pivot.z + BALL_LENGTH * sinf(angle)};
    knVec3 still = {0.0f, 0.0f, 0.0f};
    result = result == kn_success ? knStage_AddBall(stage, ball, 0.12f, still, NULL) : result;
    return result == kn_success ? knStage_HangBall(stage, pivot) : result;
}

static void TuneWall(knConfig* config)
{
    Coarsen(config, 16, 40, 2e-3);
}

static const knScene wall = {
    .name = "wall",
    .title = "a wall and a wrecking ball",
    .dt = 0.015f,
    .steps = 500,
    .models = {{"wall", "brick"}},
    .eye = {2.55f, 1.45f, 2.6f},
    .target = {0.3f, 0.5f, 0.5f},
    .reach = 2.0f,
    .tune = TuneWall,
    .build = BuildWall,
};

const knScene* const knScenes[] = {&plates, &bunnies, &dropBunnies, &bricks, &piggy, &wall, NULL};
