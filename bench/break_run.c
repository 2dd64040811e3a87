// SPDX-License-Identifier: Zlib
#include "bench/break_run.h"

#include <math.h>
#include <time.h>

static double ThreadSeconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- one run

static knResult Follow(knBreakPeer* peer, const knStage* stage, double* seconds)
{
    knBreakBall balls[KN_STAGE_PROPS];
    for (uint32_t i = 0; i < stage->propCount; ++i)
    {
        balls[i] = (knBreakBall){stage->props[i].body, stage->props[i].radius};
    }
    *seconds = 0.0;
    return peer ? knBreakPeer_Follow(peer, stage->world, balls, stage->propCount, seconds)
                : kn_success;
}

static uint32_t ChildCount(const knWorld* world)
{
    uint32_t count;
    (void)knWorld_Children(world, &count);
    return count;
}

// The script is not timed: it makes objects, which is no break.
static knResult StepOnce(knStage* stage, knBreakPeer* peer, knBreakStep* step)
{
    double ignored, peerStep = 0.0;
    *step = (knBreakStep){0};
    knResult result = stage->scene->script ? stage->scene->script(stage) : kn_success;
    result = result == kn_success ? Follow(peer, stage, &ignored) : result;
    if (result == kn_success && peer)
    {
        result = knBreakPeer_Step(peer, stage->scene->dt, &peerStep);
    }
    double start = ThreadSeconds();
    result = result == kn_success ? knWorld_Step(stage->world, stage->scene->dt) : result;
    step->ours = ThreadSeconds() - start;
    stage->step += 1;
    if (result != kn_success)
    {
        return result;
    }
    knWorldProfile p = knWorld_Profile(stage->world);
    step->collision = p.collision;
    step->contacts = p.contacts;
    step->fracture = p.fracture;
    step->update = p.update;
    step->engine = fmax(p.step - p.collision - p.contacts - p.fracture - p.update, 0.0);
    step->pieces = ChildCount(stage->world);
    result = Follow(peer, stage, &step->shapes);
    step->peer = peerStep + step->shapes;
    return result;
}

static void KeepLeast(knBreakStep* kept, const knBreakStep* now, bool isFirst)
{
    if (isFirst)
    {
        *kept = *now;
        return;
    }
    kept->ours = fmin(kept->ours, now->ours);
    kept->collision = fmin(kept->collision, now->collision);
    kept->contacts = fmin(kept->contacts, now->contacts);
    kept->fracture = fmin(kept->fracture, now->fracture);
    kept->update = fmin(kept->update, now->update);
    kept->engine = fmin(kept->engine, now->engine);
    kept->peer = fmin(kept->peer, now->peer);
    kept->shapes = fmin(kept->shapes, now->shapes);
}

knResult knBreakRun_Add(knBreakRun* run, const knStageDef* def, knPileMethod method)
{
    knStage* stage = NULL;
    knBreakPeer* peer = NULL;
    knResult result = knCreateStage(&stage, def);
    if (result == kn_success && method != kn_pileKnap)
    {
        result = knCreateBreakPeer(&peer, method, def->config.world.solverIterations);
    }
    uint32_t count = def->scene->steps < KN_BREAK_STEPS ? def->scene->steps : KN_BREAK_STEPS;
    for (uint32_t i = 0; result == kn_success && i < count; ++i)
    {
        knBreakStep step;
        result = StepOnce(stage, peer, &step);
        KeepLeast(&run->steps[i], &step, run->runCount == 0);
    }
    if (result == kn_success)
    {
        uint64_t hash = knStage_Hash(stage);
        if (run->runCount > 0 && hash != run->hash)
        {
            result = knFail(kn_errorArgument, "%s: two runs did not end in the same state",
                            def->scene->name);
        }
        run->hash = hash;
        run->stepCount = count;
        run->runCount += 1;
        run->pieceCount = knWorld_Counters(stage->world).pieces;
    }
    knDestroyBreakPeer(peer);
    knDestroyStage(stage);
    return result;
}

// ---- what jumps at a break

#define POP_SITES  11
#define POP_STEPS  10
#define POP_DT     0.005f
#define POP_PIECES 64

static knResult BuildPop(knStage* stage)
{
    knBodyDef def = knDefaultBodyDef();
    def.transform.position = knMakeVec3(0.0f, 5.0f, 0.0f);
    return knStage_AddObject(stage, stage->models[0].name, &def, NULL);
}

// Cells around sites on a spiral: as cracks from a hit in the middle.
static knResult SplitAll(knStage* stage, uint32_t* pieceCount)
{
    knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0});
    knBox bounds = knAsset_Info(stage->models[0].asset)->bounds;
    knVec3 half = knScale(0.5f, knBox_Extent(bounds));
    knVec3 middle = knScale(0.5f, knAdd(bounds.lower, bounds.upper));
    knVec3 sites[POP_SITES];
    for (int i = 0; i < POP_SITES; ++i)
    {
        float a = 2.39996f * (float)i, r = sqrtf(((float)i + 0.5f) / POP_SITES);
        float y = half.y * (i % 2 ? 0.5f : -0.5f);
        sites[i] = knAdd(middle, knMakeVec3(half.x * r * cosf(a), y, half.z * r * sinf(a)));
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = POP_SITES;
    knWorldSplit parts;
    knResult result = knWorld_SplitBody(stage->world, id, &def, &parts);
    *pieceCount = result == kn_success ? parts.bodyCount : 0;
    return result;
}

// What has fallen alone after the steps, as the engine counts it.
static double Fall(void)
{
    return 9.81 * (double)POP_DT * (double)POP_DT * 0.5 * POP_STEPS * (POP_STEPS + 1);
}

// Places of all bodies, in order of their ids.
static uint32_t ListPlaces(const knWorld* world, knVec3* places, uint32_t capacity)
{
    uint32_t count = 0;
    for (knBodyId id = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(id) && count < capacity;
         id = knWorld_NextBody(world, id))
    {
        knBodyState state;
        if (knWorld_BodyState(world, id, &state) == kn_success)
        {
            places[count++] = state.transform.position;
        }
    }
    return count;
}

static void MeasureOurs(const knWorld* world, const knVec3* places, uint32_t count, knPop* pop)
{
    knVec3 now[POP_PIECES];
    (void)ListPlaces(world, now, count);
    for (uint32_t i = 0; i < count; ++i)
    {
        knVec3 way = knSub(now[i], places[i]);
        way.y += (float)Fall();
        pop->oursMiss = fmax(pop->oursMiss, (double)knLength(way));
    }
    for (knBodyId id = knWorld_NextBody(world, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(world, id))
    {
        knBodyState state;
        if (knWorld_BodyState(world, id, &state) == kn_success)
        {
            pop->ours = fmax(pop->ours, (double)knLength(state.velocity));
        }
    }
}

// The same pieces in the peer's world.
static knResult MeasurePeer(const knStage* stage, knPileMethod method, int iterations, knPop* pop)
{
    knBreakPeer* peer = NULL;
    double ignored;
    knResult result = knCreateBreakPeer(&peer, method, iterations);
    result = result == kn_success ? Follow(peer, stage, &ignored) : result;
    for (int i = 0; result == kn_success && i < POP_STEPS; ++i)
    {
        result = knBreakPeer_Step(peer, POP_DT, &ignored);
    }
    if (result == kn_success && iterations > 0)
    {
        pop->peerMiss = knBreakPeer_WorstMiss(peer, Fall());
    }
    else if (result == kn_success)
    {
        pop->peer = knBreakPeer_WorstSpeed(peer);
    }
    knDestroyBreakPeer(peer);
    return result;
}

knResult knMeasurePop(const char* model, const char* assetFolder, knPileMethod method, knPop* pop)
{
    knScene scene = {.name = "pop", .dt = POP_DT, .models = {{model, "ceramic"}}};
    scene.build = BuildPop;
    knStageDef def = {.scene = &scene, .assetFolder = assetFolder, .seed = 1};
    def.config = knScene_Config(&scene);
    knStage* stage = NULL;
    *pop = (knPop){0};
    knResult result = knCreateStage(&stage, &def);
    result = result == kn_success ? SplitAll(stage, &pop->pieceCount) : result;
    if (result == kn_success)
    {
        result = MeasurePeer(stage, method, 0, pop);
    }
    if (result == kn_success)
    {
        result = MeasurePeer(stage, method, def.config.world.solverIterations, pop);
    }
    knVec3 places[POP_PIECES];
    uint32_t count = result == kn_success ? ListPlaces(stage->world, places, POP_PIECES) : 0;
    for (int i = 0; result == kn_success && i < POP_STEPS; ++i)
    {
        result = knWorld_Step(stage->world, POP_DT);
    }
    if (result == kn_success)
    {
        MeasureOurs(stage->world, places, count, pop);
    }
    knDestroyStage(stage);
    return result;
}
