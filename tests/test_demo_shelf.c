// SPDX-License-Identifier: Zlib
// Plates are smashed on a board: what leaves it goes over its edge, nothing passes through.
#include "demos/stage.h"
#include "kit.h"

#include <math.h>

#define STEPS 150

#define MAX_BODIES 1024

// m: the middle of the upper board, its half length and half depth; see demos/assets
#define BOARD_HEIGHT 0.44f
#define BOARD_LENGTH 0.58f
#define BOARD_DEPTH  0.16f

typedef struct Track
{
    knBodyId ids[MAX_BODIES];
    knVec3 places[MAX_BODIES]; // where they were a step ago
    uint32_t over, through;
} Track;

static bool IsOverBoard(float x, float z)
{
    return fabsf(x) < BOARD_LENGTH && fabsf(z) < BOARD_DEPTH;
}

// By where the centre of mass crosses the height of the board. What a break makes is made above.
static void Follow(Track* track, knBodyId id, knVec3 p)
{
    assert_true(id.index < MAX_BODIES);
    knVec3 q = track->places[id.index];
    if (!knId_Equals(track->ids[id.index], id))
    {
        track->through += p.y < BOARD_HEIGHT && IsOverBoard(p.x, p.z);
    }
    else if ((q.y > BOARD_HEIGHT) != (p.y > BOARD_HEIGHT))
    {
        float t = (q.y - BOARD_HEIGHT) / (q.y - p.y);
        bool isThrough = IsOverBoard(q.x + t * (p.x - q.x), q.z + t * (p.z - q.z));
        track->through += isThrough;
        track->over += !isThrough;
    }
    track->ids[id.index] = id;
    track->places[id.index] = p;
}

static void TheWatchTellsThroughFromOver(void** state)
{
    (void)state;
    static Track track;
    knBodyId a = {1, 1}, b = {2, 1}, c = {3, 1};
    Follow(&track, a, knMakeVec3(0.2f, 0.5f, 0.1f));
    Follow(&track, b, knMakeVec3(0.2f, 0.5f, 0.15f));
    Follow(&track, a, knMakeVec3(0.2f, 0.3f, 0.1f));
    assert_true(track.through == 1 && track.over == 0);
    Follow(&track, b, knMakeVec3(0.2f, 0.3f, 0.19f));
    assert_true(track.through == 1 && track.over == 1);
    Follow(&track, c, knMakeVec3(0.2f, 0.3f, 0.1f));
    assert_true(track.through == 2);
}

static void NothingPassesThroughTheBoard(void** state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); // minutes, and no other code than in the other scenes
#endif
    static Track track;
    const char* folder = getenv("KN_TEST_MODELS");
    const knScene* scene = knFindScene("plates");
    knStageDef def = {.scene = scene,
                      .assetFolder = folder ? folder : "../models",
                      .seed = 6,
                      .config = knScene_Config(scene)};
    knStage* stage = NULL;
    assert_int_equal(knCreateStage(&stage, &def), kn_success);
    for (int i = 0; i < STEPS; ++i)
    {
        assert_int_equal(knStage_Step(stage), kn_success);
        for (knBodyId id = knWorld_NextBody(stage->world, (knBodyId){0}); !knId_IsNull(id);
             id = knWorld_NextBody(stage->world, id))
        {
            knBodyState s;
            if (knWorld_BodyState(stage->world, id, &s) == kn_success && s.mass > 0.0f)
            {
                Follow(&track, id, s.transform.position);
            }
        }
    }
    print_message("%u pieces: %u went over the edge, %u through the board\n",
                  knWorld_Counters(stage->world).pieces, track.over, track.through);
    assert_true(knWorld_Counters(stage->world).pieces > 10);
    assert_int_equal(track.through, 0);
    knDestroyStage(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheWatchTellsThroughFromOver),
        cmocka_unit_test(NothingPassesThroughTheBoard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
