// SPDX-License-Identifier: Zlib
// The scenes of the demo: the same to the bit on one thread and two, no energy from nothing, and
// what stands untouched stays as it is.
#include "demos/stats.h"
#include "demos/table.h"
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SLOW 1
#else
#define IS_SLOW 0
#endif

static const char* Folder(void)
{
    const char* folder = getenv("KN_TEST_MODELS");
    return folder ? folder : "../models";
}

static knStage* Open(const char* name, const knTaskHooks* tasks)
{
    const knScene* scene = knFindScene(name);
    assert_non_null(scene);
    knStageDef def = {.scene = scene,
                      .assetFolder = Folder(),
                      .seed = 1,
                      .config = knScene_Config(scene),
                      .tasks = tasks};
    knStage* stage = NULL;
    if (knCreateStage(&stage, &def) != kn_success)
    {
        fail_msg("%s: %s", name, knLastError());
    }
    return stage;
}

// Runs two at once, with one thread and with two; tells the hash at the end.
static uint64_t RunBoth(const char* name, int steps, const knTaskHooks* two)
{
    knStage* stages[2] = {Open(name, NULL), Open(name, two)};
    knStats stats;
    knStats_Begin(&stats, stages[0], false);
    for (int i = 0; i < steps; ++i)
    {
        assert_int_equal(knStage_Step(stages[0]), kn_success);
        assert_int_equal(knStage_Step(stages[1]), kn_success);
        knStats_Add(&stats, stages[0]);
        if (knStage_Hash(stages[0]) != knStage_Hash(stages[1]))
        {
            fail_msg("%s: step %d is another on two threads", name, i);
        }
    }
    uint64_t hash = knStage_Hash(stages[0]);
    double available = stats.judge.available + stages[0]->addedEnergy;
    print_message("%s: %u pieces of %u objects, %.3g J of %.3g J too much\n", name, stats.pieces,
                  stats.families, stats.judge.worstExcess, available);
    assert_true(stats.pieces > stats.families); // something broke
    assert_true(stats.judge.worstExcess <= 0.001 * available);
    knDestroyStage(stages[0]);
    knDestroyStage(stages[1]);
    return hash;
}

// tests/run compares the files that the builds leave: debug and release, with and without
// sanitizers, must agree to the bit.
static void ScenesAreTheSameOnTwoThreads(void** state)
{
    (void)state;
    static const struct
    {
        const char* name;
        int steps;
        bool everywhere; // under sanitizers too
    } runs[] = {{"piggy", 40, true},
                {"wall", 50, true},
                {"plates", 22, false},
                {"bricks", 19, false},
                {"drop-bunnies", 46, false}};
    knTaskPool* pool;
    assert_int_equal(knCreateTaskPool(&pool, 2, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    FILE* file = fopen("hashes.txt", "w");
    assert_non_null(file);
    for (size_t i = 0; i < COUNT_OF(runs); ++i)
    {
        if (IS_SLOW && !runs[i].everywhere)
        {
            continue;
        }
        uint64_t hash = RunBoth(runs[i].name, runs[i].steps, &hooks);
        if (runs[i].everywhere)
        {
            fprintf(file, "%s %016llx\n", runs[i].name, (unsigned long long)hash);
        }
    }
    fclose(file);
    knDestroyTaskPool(pool);
}

// At the end of its script everything rests, no deeper than epsilon, and nothing has more energy
// than was there.
static void ScenesEndAtRest(void** state)
{
    (void)state;
    static const char* const rows[] = {"bunnies", "piggy",  "wall",
                                       "plates",  "bricks", "drop-bunnies"};
    for (size_t i = 0; i < COUNT_OF(rows) && !IS_SLOW; ++i)
    {
        knStage* stage = Open(rows[i], NULL);
        knJudge judge;
        knJudge_Begin(&judge, stage);
        for (uint32_t k = 0; k < stage->scene->steps; ++k)
        {
            assert_int_equal(knStage_Step(stage), kn_success);
            knJudge_Step(&judge, stage);
        }
        knJudge_Rest(&judge, stage);
        float depth = judge.deepestShare / stage->config.contacts.epsilon;
        print_message("%s ends at %.4f m/s, %.2f epsilon deep, %.3g J too much\n", rows[i],
                      (double)judge.fastest, (double)depth, judge.worstExcess);
        assert_true(judge.fastest <= KN_REST_SPEED);
        assert_true(depth <= 1.0f);
        double available = judge.available + stage->addedEnergy;
        assert_true(judge.worstExcess <= 0.001 * available);
        knDestroyStage(stage);
    }
}

// Plates on a shelf, before a ball falls: still, and in the board no deeper than epsilon.
static void WhatIsUntouchedRests(void** state)
{
    (void)state;
    knStage* stage = Open("plates", NULL);
    stage->isInteractive = true; // and nobody plays
    for (int i = 0; i < 40; ++i)
    {
        assert_int_equal(knStage_Step(stage), kn_success);
    }
    knJudge judge;
    knJudge_Begin(&judge, stage);
    knJudge_Rest(&judge, stage);
    print_message("plates: %.3g m/s, %.3g of the radius deep\n", (double)judge.fastest,
                  (double)judge.deepestShare);
    assert_true(judge.fastest < KN_REST_SPEED);
    assert_true(judge.deepestShare <= stage->config.contacts.epsilon);
    knDestroyStage(stage);
}

// Table 3: 30, 15, 5, 30, 15 ms.
static void StepsAreThePapers(void** state)
{
    (void)state;
    static const struct
    {
        const char* name;
        float dt;
    } expected[] = {{"plates", 0.030f},
                    {"bunnies", 0.015f},
                    {"drop-bunnies", 0.005f},
                    {"bricks", 0.030f},
                    {"piggy", 0.015f}};
    for (size_t i = 0; i < COUNT_OF(expected); ++i)
    {
        assert_true(knFindScene(expected[i].name)->dt == expected[i].dt);
    }
    for (int i = 0; knScenes[i]; ++i)
    {
        knConfig config = knScene_Config(knScenes[i]);
        assert_int_equal(knValidateConfig(&config), kn_success);
    }
    assert_null(knFindScene("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ScenesAreTheSameOnTwoThreads),
        cmocka_unit_test(ScenesEndAtRest),
        cmocka_unit_test(WhatIsUntouchedRests),
        cmocka_unit_test(StepsAreThePapers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
