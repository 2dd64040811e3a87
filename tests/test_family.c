// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "pieces.h"

// Every node belongs to one live piece, and forest and field know the same pieces as the set.
static void CheckFamily(const knFamily* family)
{
    uint32_t pieces[256];
    uint32_t count = ListPieces(family, pieces, 256);
    const knFragmentSet* set = knFamily_Fragments(family);
    const knCutStore* cuts = knFamily_Cuts(family);
    uint32_t nodes = 0;
    double mass = 0.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        const knFragment* f = &set->fragments[pieces[i]];
        const uint32_t* list = knFragmentSet_Nodes(set, pieces[i]);
        knFieldQuery query = knMakeFieldQuery(knFamily_Field(family), pieces[i]);
        for (uint32_t n = 0; n < f->nodeCount; ++n)
        {
            assert_int_equal(cuts->labels[list[n]], pieces[i]);
        }
        // a sphere around one of its nodes touches it, and the tree has all of them
        assert_true(knSphereForest_Fragment(knFamily_Forest(family), pieces[i]).pointCount >=
                    f->nodeCount);
        assert_true(knFieldQuery_SphereTest(&query, set->cutMesh->mesh->nodes[list[0]], 0.001f));
        nodes += f->nodeCount;
        mass += f->mass.mass;
    }
    assert_int_equal(nodes, set->nodeCount);
    const knAssetInfo* info = knAsset_Info(knModel_Asset(knFamily_Model(family)));
    ASSERT_NEAR(mass, info->mass, 1e-6 * info->mass);
}

static void ASplitReachesEveryPart(void** state)
{
    (void)state;
    TestModel piggy = OpenDemoModel("piggy");
    knFamily* family = MakeFamily(&piggy);
    CheckFamily(family);
    size_t before = knFamily_Bytes(family);
    for (uint32_t count = 2; count <= 20; count += 6)
    {
        BreakInto(family, count, count);
        CheckFamily(family);
    }
    assert_true(knFamily_Bytes(family) > before);
    knDestroyFamily(family);
    CloseModel(&piggy);
}

// An event of several splits that is followed once.
static void AnEventIsFollowedOnce(void** state)
{
    (void)state;
    TestModel piggy = OpenDemoModel("piggy");
    knFamily* family = MakeFamily(&piggy);
    BreakInto(family, 3, 5);
    knFragmentSet* set = knFamily_Cutting(family);
    knRandom random = knMakeRandom(8);
    knArena arena;
    assert_int_equal(knCreateArena(&arena, 8 << 20, NULL), kn_success);
    for (int event = 0; event < 3; ++event)
    {
        uint32_t pieces[256];
        ListPieces(family, pieces, 256);
        knFragmentMark mark = knFragmentSet_Mark(set);
        uint32_t piece = pieces[0];
        for (int i = 0; i < 6; ++i)
        {
            knSplitDef def = knDefaultSplitDef();
            def.normal = knRandom_UnitVec3(&random);
            def.offset = knDot(def.normal, knToFloat(set->fragments[piece].mass.center));
            knArena_Reset(&arena);
            knSplitResult result;
            assert_int_equal(knFragmentSet_Split(set, piece, &def, &arena, &result), kn_success);
            piece = result.outcome == kn_splitDone ? result.delta.fragments[0] : piece;
        }
        knArena_Reset(&arena);
        knFractureDelta delta;
        assert_int_equal(knFragmentSet_DeltaSince(set, pieces[0], mark, &arena, &delta),
                         kn_success);
        assert_true(delta.fragmentCount > 3);
        assert_int_equal(knFamily_Follow(family, &delta), kn_success);
        CheckFamily(family);
    }
    knDestroyArena(&arena);
    knDestroyFamily(family);
    CloseModel(&piggy);
}

static void ARemovedPieceIsNotThere(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&brick);
    assert_true(SplitByPlane(family, 0, knMakeVec3(1.0f, 0.0f, 0.0f)));
    uint32_t pieces[8];
    ListPieces(family, pieces, 8);
    const knFragmentSet* set = knFamily_Fragments(family);
    knVec3 node = set->cutMesh->mesh->nodes[knFragmentSet_Nodes(set, pieces[0])[0]];
    knFieldQuery query = knMakeFieldQuery(knFamily_Field(family), pieces[0]);
    assert_true(knFieldQuery_SphereTest(&query, node, 0.01f));
    knFamily_Remove(family, pieces[0]);
    query = knMakeFieldQuery(knFamily_Field(family), pieces[0]);
    assert_false(knFieldQuery_SphereTest(&query, node, 0.01f));
    knDestroyFamily(family);
    CloseModel(&brick);
}

static void BadDefinitionsAreNamed(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = NULL;
    knFamilyDef def = knDefaultFamilyDef();
    assert_int_equal(knCreateFamily(&family, &def, NULL), kn_errorArgument);
    def.model = brick.model;
    def.density = -1.0;
    assert_int_equal(knCreateFamily(&family, &def, NULL), kn_errorArgument);
    assert_non_null(strstr(knLastError(), "density"));
    def = knDefaultFamilyDef();
    def.model = brick.model;
    def.size = 4;
    assert_int_equal(knCreateFamily(&family, &def, NULL), kn_errorArgument);
    assert_null(family);
    CloseModel(&brick);
}

static knResult TryModel(const knAllocator* allocator, void* context)
{
    const TestModel* test = context;
    knModel* model = NULL;
    knResult result = knCreateModel(&model, test->asset, allocator);
    assert_int_equal(result == kn_success, model != NULL);
    knDestroyModel(model);
    return result;
}

static knResult TryFamily(const knAllocator* allocator, void* context)
{
    const TestModel* test = context;
    knFamilyDef def = knDefaultFamilyDef();
    def.model = test->model;
    knFamily* family = NULL;
    knResult result = knCreateFamily(&family, &def, allocator);
    assert_int_equal(result == kn_success, family != NULL);
    knDestroyFamily(family);
    return result;
}

// A refused allocation in a split leaves the family whole: never half cut.
static void EveryAllocationFailureIsSurvived(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    SurviveAllocationFailures(TryModel, &brick);
    SurviveAllocationFailures(TryFamily, &brick);
    knArena arena;
    assert_int_equal(knCreateArena(&arena, 8 << 20, NULL), kn_success);
    for (size_t n = 1;; ++n)
    {
        knMemoryTracker tracker;
        knAllocator allocator = knTrackingAllocator(&tracker, NULL);
        knFamilyDef def = knDefaultFamilyDef();
        def.model = brick.model;
        knFamily* family = NULL;
        assert_int_equal(knCreateFamily(&family, &def, &allocator), kn_success);
        tracker.failAtCall = tracker.callCount + n;
        knSplitDef split = knDefaultSplitDef();
        split.kind = kn_splitPlane;
        split.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
        knSplitResult result;
        knArena_Reset(&arena);
        knResult done = knFamily_Split(family, 0, &split, &arena, &result);
        tracker.failAtCall = 0;
        if (done != kn_success)
        {
            // nothing was cut: it works the next time
            assert_int_equal(knFamily_Fragments(family)->fragmentCount, 1);
            assert_int_equal(knFamily_Cuts(family)->pointCount, 0);
            CheckFamily(family);
            knArena_Reset(&arena);
            assert_int_equal(knFamily_Split(family, 0, &split, &arena, &result), kn_success);
            CheckFamily(family);
        }
        knDestroyFamily(family);
        assert_int_equal(tracker.liveCount, 0);
        if (done == kn_success)
        {
            assert_true(n > 3);
            break;
        }
        assert_int_equal(done, kn_errorMemory);
    }
    knDestroyArena(&arena);
    CloseModel(&brick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ASplitReachesEveryPart),
        cmocka_unit_test(AnEventIsFollowedOnce),
        cmocka_unit_test(ARemovedPieceIsNotThere),
        cmocka_unit_test(BadDefinitionsAreNamed),
        cmocka_unit_test(EveryAllocationFailureIsSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
