// SPDX-License-Identifier: Zlib
// Saved, loaded, recorded and replayed worlds go on as the live one does, to the last bit.
#include "bullet_scene.h"
#include "knap/world_save.h"
#include "plugin/bullet_internal.h"

#include <xxhash.h>

#define DT 0.005f

static TestModel plate, brick;

static const knModel* FindModel(void* user, const char* name)
{
    (void)user;
    return strcmp(name, "plate.obj") == 0   ? plate.model
           : strcmp(name, "brick.obj") == 0 ? brick.model
                                            : NULL;
}

static knLoadDef LoadDef(const knTaskHooks* tasks)
{
    knLoadDef def = knDefaultLoadDef();
    def.find = FindModel;
    def.tasks = tasks;
    return def;
}

static knBodyId AddBall(knWorld* world, knVec3 place, knVec3 velocity)
{
    knBodyDef def = knDefaultBodyDef();
    def.density = 7800.0f;
    def.transform.position = place;
    def.velocity = velocity;
    knBodyId id;
    assert_int_equal(knWorld_CreateSphere(world, &def, 0.03f, &id), kn_success);
    return id;
}

// A plate on two bricks, a ball that breaks it, one of every shape, joints, and a hole in the ids.
static knWorld* MakeScene(const knTaskHooks* tasks, const knAllocator* allocator, bool hasPlate)
{
    knWorldDef def = knDefaultWorldDef();
    def.tasks = tasks;
    def.tag = 5;
    knWorld* world = NULL;
    assert_int_equal(knCreateWorld(&world, &def, allocator), kn_success);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 10;
    limits.minVolumeShare = 0.01;
    assert_int_equal(knWorld_SetBreakLimits(world, &limits), kn_success);
    (void)AddFloor(world, 0.6f);
    knBodyDef body = knDefaultBodyDef();
    knVec3 corners[5] = {{0.0f, 0.1f, 0.0f},
                         {0.05f, 0.0f, 0.05f},
                         {-0.05f, 0.0f, 0.05f},
                         {0.0f, 0.0f, -0.05f},
                         {0.02f, 0.05f, 0.0f}};
    knTriangle triangles[4] = {{{0, 2, 1}}, {{0, 1, 3}}, {{0, 3, 2}}, {{1, 2, 3}}};
    knTriangleMesh mesh = {corners, triangles, 5, 4};
    knBodyId ids[8];
    body.transform.position = knMakeVec3(0.6f, 0.2f, 0.0f);
    assert_int_equal(knWorld_CreateHull(world, &body, corners, 5, &ids[0]), kn_success);
    body.transform.position = knMakeVec3(0.6f, 0.4f, 0.3f);
    assert_int_equal(knWorld_CreateCapsule(world, &body, 0.03f, 0.05f, &ids[1]), kn_success);
    body.transform.position = knMakeVec3(-0.6f, 0.3f, 0.0f);
    assert_int_equal(knWorld_CreateBox(world, &body, knMakeVec3(0.1f, 0.05f, 0.04f), &ids[2]),
                     kn_success);
    assert_int_equal(knWorld_CreateMesh(world, &body, &mesh, &ids[3]), kn_success);
    knJointId joint;
    assert_int_equal(knWorld_CreateHinge(world, ids[2], (knBodyId){0},
                                         knMakeVec3(-0.5f, 0.3f, 0.0f),
                                         knMakeVec3(0.0f, 0.0f, 1.0f), &joint),
                     kn_success);
    ids[4] = AddObject(world, &brick, knMakeVec3(-0.1f, 0.001f, 0.0f), knIdentityQuat());
    ids[5] = AddObject(world, &brick, knMakeVec3(0.1f, 0.001f, 0.3f), knIdentityQuat());
    if (hasPlate)
    {
        (void)AddObject(world, &plate, knMakeVec3(0.0f, 0.12f, 0.0f), knIdentityQuat());
    }
    (void)AddBall(world, knMakeVec3(hasPlate ? 0.02f : -0.1f, 0.25f, 0.0f),
                  knMakeVec3(0.0f, hasPlate ? -6.0f : -12.0f, 0.0f));
    assert_int_equal(knWorld_DestroyBody(world, ids[1]), kn_success);
    return world;
}

// Throws another ball now and then, so that something goes on breaking.
static void Play(knWorld* world, int from, int to)
{
    for (int i = from; i < to; ++i)
    {
        if (i == 30)
        {
            (void)AddBall(world, knMakeVec3(-0.1f, 0.3f, 0.02f), knMakeVec3(0.0f, -7.0f, 0.0f));
        }
        Steps(world, 1, DT);
    }
}

#define FIRST  (KN_TEST_SLOW ? 14 : 25)
#define SECOND (KN_TEST_SLOW ? 18 : 40)

static void LoadedWorldsGoOnAsTheLiveOne(void** state)
{
    (void)state;
    knWorld* live = MakeScene(NULL, NULL, true);
    Play(live, 0, FIRST);
    uint32_t pieces = knWorld_Counters(live).pieces;
    assert_true(pieces > 5);
    void* bytes;
    size_t size;
    assert_int_equal(knWorld_Save(live, &bytes, &size), kn_success);
    knTaskPool* pool = NULL;
    assert_int_equal(knCreateTaskPool(&pool, 3, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    knWorld* loaded[2];
    for (int k = 0; k < 2; ++k)
    {
        knLoadDef def = LoadDef(k == 0 ? NULL : &hooks);
        knResult result = knLoadWorld(&loaded[k], bytes, size, &def, NULL);
        if (result != kn_success)
        {
            fail_msg("%s", knLastError());
        }
        assert_true(knWorld_Hash(loaded[k]) == knWorld_Hash(live));
        assert_int_equal(knWorld_BodyCount(loaded[k]), knWorld_BodyCount(live));
    }
    for (int i = FIRST; i < SECOND; ++i)
    {
        Play(live, i, i + 1);
        for (int k = 0; k < 2; ++k)
        {
            Play(loaded[k], i, i + 1);
            assert_true(knWorld_Hash(loaded[k]) == knWorld_Hash(live));
        }
    }
    print_message("%zu bytes for %u pieces; %u pieces at the end\n", size, pieces,
                  knWorld_Counters(live).pieces);
    // a saved world is the same file again
    void* again[2];
    size_t sizes[2];
    assert_int_equal(knWorld_Save(live, &again[0], &sizes[0]), kn_success);
    assert_int_equal(knWorld_Save(loaded[1], &again[1], &sizes[1]), kn_success);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(again[0], again[1], sizes[0]);
    knWorld_FreeBytes(live, bytes, size);
    knWorld_FreeBytes(live, again[0], sizes[0]);
    knWorld_FreeBytes(loaded[1], again[1], sizes[1]);
    knDestroyWorld(live);
    knDestroyWorld(loaded[0]);
    knDestroyWorld(loaded[1]);
    knDestroyTaskPool(pool);
}

// Everything that a game can do, recorded with one thread and replayed with three.
static void Replay(double secondsPerStep)
{
    knWorld* live = MakeScene(NULL, NULL, true);
    knBreakLimits limits = knDefaultBreakLimits();
    limits.eventPieces = 10;
    limits.secondsPerStep = secondsPerStep;
    assert_int_equal(knWorld_StartRecording(live), kn_success);
    assert_int_equal(knWorld_StartRecording(live), kn_errorArgument);
    assert_int_equal(knWorld_SetBreakLimits(live, &limits), kn_success);
    Play(live, 0, FIRST);
    knBodyId picked;
    assert_int_equal(knWorld_Pick(live, knMakeVec3(0.605f, 0.6f, 0.01f),
                                  knMakeVec3(0.605f, 0.0f, 0.01f), &picked),
                     kn_success);
    assert_int_equal(knWorld_Drag(live, knMakeVec3(0.6f, 0.5f, 0.0f)), kn_success);
    assert_int_equal(knWorld_SetGravity(live, knMakeVec3(0.5f, -9.0f, 0.0f)), kn_success);
    knBodyId heavy = {0};
    for (knBodyId id = knWorld_NextBody(live, (knBodyId){0}); !knId_IsNull(id);
         id = knWorld_NextBody(live, id))
    {
        knBodyPiece piece;
        bool isPiece = knWorld_BodyPiece(live, id, &piece) == kn_success;
        bool isHeavier = knId_IsNull(heavy) || StateOf(live, id).mass > StateOf(live, heavy).mass;
        heavy = isPiece && isHeavier ? id : heavy;
    }
    knSplitDef split = knDefaultSplitDef();
    split.kind = kn_splitPlane;
    split.normal = knMakeVec3(0.7f, 0.0f, 0.7f);
    knBodyPiece cut;
    assert_int_equal(knWorld_BodyPiece(live, heavy, &cut), kn_success);
    split.offset = knDot(split.normal, cut.mesh->center);
    knVec3 place = StateOf(live, heavy).transform.position;
    knWorldSplit parts;
    assert_int_equal(knWorld_SplitBody(live, heavy, &split, &parts), kn_success);
    assert_true(parts.bodyCount >= 2);
    heavy = parts.bodies[0];
    // one that misses changes nothing and is not recorded
    split.offset = 100.0f;
    assert_int_equal(knWorld_SplitBody(live, heavy, &split, &parts), kn_success);
    assert_int_equal(parts.outcome, kn_splitNothing);
    assert_int_equal(
        knWorld_ApplyImpulse(live, knWorld_Heir(live, heavy), knMakeVec3(0.1f, 0.0f, 0.0f), place),
        kn_success);
    void* saved;
    size_t savedSize;
    Play(live, FIRST, FIRST + 3);
    // saving is a barrier, also in a recording
    assert_int_equal(knWorld_Save(live, &saved, &savedSize), kn_success);
    Play(live, FIRST + 3, SECOND);
    uint64_t hash = knWorld_Hash(live);
    void* bytes;
    size_t size;
    assert_int_equal(knWorld_StopRecording(live, &bytes, &size), kn_success);
    knTaskPool* pool = NULL;
    assert_int_equal(knCreateTaskPool(&pool, 3, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    knLoadDef def = LoadDef(&hooks);
    knReplayReport report = {0};
    knWorld* again = NULL;
    assert_int_equal(knReplayWorld(&again, bytes, size, &def, NULL, &report), kn_success);
    assert_int_equal(report.steps, SECOND);
    assert_int_equal(report.wrongSteps, 0);
    assert_true(report.hash == hash && knWorld_Hash(again) == hash && report.calls >= 7);
    print_message("recording: %zu bytes, %u steps, %u calls, hash %016llx\n", size, report.steps,
                  report.calls, (unsigned long long)hash);
    // a recording is no save, and the other way round
    assert_int_equal(knLoadWorld(&again, bytes, size, &def, NULL), kn_errorFormat);
    knWorld_FreeBytes(live, bytes, size);
    knWorld_FreeBytes(live, saved, savedSize);
    knDestroyWorld(live);
    knDestroyWorld(again);
    knDestroyTaskPool(pool);
}

static void RecordingsRepeatThemselves(void** state)
{
    (void)state;
    Replay(0.0);
}

// A budget in seconds depends on the machine; its recording does not.
static void BudgetsInSecondsRepeatThemselves(void** state)
{
    (void)state;
    Replay(2e-4);
}

// ---- bytes of strangers

static void Seal(unsigned char* bytes, size_t size)
{
    knSaveHeader header;
    memcpy(&header, bytes, sizeof header);
    header.size = size - sizeof header;
    header.checksum = XXH64(bytes + sizeof header, size - sizeof header, KN_SAVE_VERSION);
    memcpy(bytes, &header, sizeof header);
}

// Loads what may be anything: an error with a message, or a world that can be destroyed.
static bool TryToLoad(const unsigned char* bytes, size_t size)
{
    knLoadDef def = LoadDef(NULL);
    knWorld* world = NULL;
    knResult result = knLoadWorld(&world, bytes, size, &def, NULL);
    assert_true((result == kn_success) == (world != NULL));
    assert_true(result == kn_success || strlen(knLastError()) > 0);
    knDestroyWorld(world);
    return result == kn_success;
}

static void StrangersBytesGiveErrors(void** state)
{
    (void)state;
    knWorld* world = MakeScene(NULL, NULL, false);
    Play(world, 0, 14);
    assert_true(knWorld_Counters(world).pieces > 2);
    void* saved;
    size_t size;
    assert_int_equal(knWorld_Save(world, &saved, &size), kn_success);
    unsigned char* bytes = malloc(size);
    memcpy(bytes, saved, size);
    assert_true(TryToLoad(bytes, size));
    // without the checksum's help: any single bit and any length
    for (size_t i = 0; i < size; i += 1 + size / 97)
    {
        bytes[i] ^= 1;
        assert_false(TryToLoad(bytes, size));
        bytes[i] ^= 1;
        assert_false(TryToLoad(bytes, i));
    }
    assert_false(TryToLoad(NULL, 0));
    // with it: somebody means harm
    int refused = 0, count = 0;
    size_t stride = 1 + size / (KN_TEST_SLOW ? 10 : 60);
    for (size_t i = sizeof(knSaveHeader); i < size; i += stride)
    {
        const unsigned char values[] = {0xff, 0x00, 0x80, 0x7f};
        unsigned char before = bytes[i];
        bytes[i] = values[(i / stride) % 4];
        Seal(bytes, size);
        refused += !TryToLoad(bytes, size);
        count += 1;
        bytes[i] = before;
    }
    print_message("%d of %d changed files refused\n", refused, count);
    for (size_t cut = size - 1; cut > sizeof(knSaveHeader); cut -= 1 + cut / 16)
    {
        Seal(bytes, cut);
        assert_false(TryToLoad(bytes, cut));
    }
    free(bytes);
    knWorld_FreeBytes(world, saved, size);
    knDestroyWorld(world);
}

static knResult LoadOnce(const knAllocator* allocator, void* context)
{
    void** file = context;
    knLoadDef def = LoadDef(NULL);
    knWorld* world = NULL;
    knResult result = knLoadWorld(&world, file[0], *(size_t*)file[1], &def, allocator);
    knDestroyWorld(world);
    return result;
}

// A save that finds no memory leaves the world as it was; a load leaves nothing behind.
static void RefusedMemoryIsSurvived(void** state)
{
    (void)state;
    knMemoryTracker tracker = {0};
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knWorld* world = MakeScene(NULL, &allocator, false);
    void* bytes = NULL;
    size_t size = 0;
    for (size_t n = 1;; n += 1 + n / 4)
    {
        uint64_t hash = knWorld_Hash(world);
        tracker.failAtCall = tracker.callCount + n;
        knResult result = knWorld_Save(world, &bytes, &size);
        bool isOver = tracker.callCount < tracker.failAtCall;
        tracker.failAtCall = 0;
        assert_true(knWorld_Hash(world) == hash);
        if (result == kn_success)
        {
            if (isOver)
            {
                break;
            }
            knWorld_FreeBytes(world, bytes, size);
        }
    }
    Steps(world, 3, DT);
    void* file[2] = {bytes, &size};
    if (!KN_TEST_SLOW)
    {
        for (size_t n = 1; n < 4000; n += 1 + n / 3)
        {
            knMemoryTracker loading = {0};
            knAllocator inner = knTrackingAllocator(&loading, NULL);
            loading.failAtCall = n;
            knResult result = LoadOnce(&inner, file);
            assert_true(result == kn_success || result == kn_errorMemory);
            assert_int_equal(loading.liveCount, 0);
        }
    }
    knWorld_FreeBytes(world, bytes, size);
    knDestroyWorld(world);
    assert_int_equal(tracker.liveCount, 0);
}

static void WrongCallsAreRefused(void** state)
{
    (void)state;
    knWorld* world = MakeTestWorld();
    void* bytes;
    size_t size;
    assert_int_equal(knWorld_Save(NULL, &bytes, &size), kn_errorArgument);
    assert_int_equal(knWorld_Save(world, NULL, &size), kn_errorArgument);
    assert_int_equal(knWorld_StopRecording(world, &bytes, &size), kn_errorArgument);
    (void)AddObject(world, &brick, knMakeVec3(0.0f, 1.0f, 0.0f), knIdentityQuat());
    assert_int_equal(knWorld_Save(world, &bytes, &size), kn_success);
    knLoadDef def = knDefaultLoadDef();
    knWorld* loaded = NULL;
    assert_int_equal(knLoadWorld(&loaded, bytes, size, &def, NULL), kn_errorFormat);
    assert_non_null(strstr(knLastError(), "brick.obj"));
    def = (knLoadDef){0};
    assert_int_equal(knLoadWorld(&loaded, bytes, size, &def, NULL), kn_errorArgument);
    assert_null(loaded);
    knWorld_FreeBytes(world, bytes, size);
    // a world that is destroyed while it is recorded
    assert_int_equal(knWorld_StartRecording(world), kn_success);
    Steps(world, 2, DT);
    knDestroyWorld(world);
}

static int Open(void** state)
{
    (void)state;
    plate = OpenDemoModel("plate");
    brick = OpenDemoModel("brick");
    return 0;
}

static int Close(void** state)
{
    (void)state;
    CloseModel(&plate);
    CloseModel(&brick);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(LoadedWorldsGoOnAsTheLiveOne),
        cmocka_unit_test(RecordingsRepeatThemselves),
        cmocka_unit_test(BudgetsInSecondsRepeatThemselves),
        cmocka_unit_test(StrangersBytesGiveErrors),
        cmocka_unit_test(RefusedMemoryIsSurvived),
        cmocka_unit_test(WrongCallsAreRefused),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
