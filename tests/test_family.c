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
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&brick);
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
    CloseModel(&brick);
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

static uint32_t CountContacts(knFamily* family, uint32_t a, uint32_t b, knArena* scratch)
{
    const knQueryPiece pieces[2] = {
        {.family = family, .fragment = a, .transform = knIdentityTransform()},
        {.family = family, .fragment = b, .transform = knIdentityTransform()}};
    knContactLimits limits = knDefaultContactLimits();
    knPairContact contacts[64];
    knPairState pair = {0};
    knPairResult found;
    assert_int_equal(
        knQueryPair(&pieces[0], &pieces[1], &limits, &pair, scratch, contacts, 64, &found),
        kn_success);
    return found.count;
}

// Its forest is still there, but neither its points nor its field may answer.
static void ARemovedPieceTouchesNothing(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&brick);
    assert_true(SplitByPlane(family, 0, knMakeVec3(1.0f, 0.0f, 0.0f)));
    uint32_t pieces[8];
    assert_int_equal(ListPieces(family, pieces, 8), 2);
    knArena scratch;
    assert_int_equal(knCreateArena(&scratch, (size_t)1 << 22, NULL), kn_success);
    assert_true(CountContacts(family, pieces[0], pieces[1], &scratch) > 0);
    knFamily_Remove(family, pieces[0]);
    assert_int_equal(CountContacts(family, pieces[0], pieces[1], &scratch), 0);
    assert_int_equal(CountContacts(family, pieces[1], pieces[0], &scratch), 0);
    knDestroyArena(&scratch);
    knDestroyFamily(family);
    CloseModel(&brick);
}

static uint32_t CountPoor(const knFamily* family)
{
    uint32_t pieces[256], poor = 0;
    uint32_t count = ListPieces(family, pieces, 256);
    for (uint32_t i = 0; i < count; ++i)
    {
        knSphereQuality quality = knSphereForest_Quality(knFamily_Forest(family), pieces[i]);
        poor += knSphereQuality_IsPoor(&quality);
    }
    return poor;
}

// Improves until nothing is poor, so many units at a time; returns the number of swaps.
static uint32_t ImproveAll(knFamily* family, uint32_t units, uint64_t* hash)
{
    knImproveReport report;
    uint32_t swaps = 0;
    for (int i = 0; i < 100000; ++i)
    {
        assert_int_equal(knFamily_Improve(family, units, &report), kn_success);
        swaps += report.swapped != KN_NONE;
        if (report.swapped != KN_NONE)
        {
            knSphereFragment f = knSphereForest_Fragment(knFamily_Forest(family), report.swapped);
            assert_int_equal(f.rootCount, 1);
            *hash = 31 * *hash + report.swapped;
        }
        if (report.fragment == KN_NONE)
        {
            assert_int_equal(report.swapped, KN_NONE);
            return swaps;
        }
    }
    fail();
    return 0;
}

// Poor trees are rebuilt in slices; what comes out does not depend on how large they are.
static void PoorTreesAreRebuiltInSlices(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* small = MakeFamily(&brick);
    knFamily* large = MakeFamily(&brick);
    uint64_t hashes[2] = {0, 0};
    assert_int_equal(ImproveAll(small, 100, &hashes[0]), 0);
    BreakInto(small, 40, 3);
    BreakInto(large, 40, 3);
    assert_true(CountPoor(small) > 0);
    uint32_t swaps = ImproveAll(small, 37, &hashes[0]);
    assert_true(swaps > 0);
    assert_int_equal(ImproveAll(large, 1000000, &hashes[1]), swaps);
    assert_true(hashes[0] == hashes[1]);
    // roots at least are cured; a mean of reach is an estimate
    const knSphereForest* a = knFamily_Forest(small);
    const knSphereForest* b = knFamily_Forest(large);
    size_t size = a->mesh->nodeCount * sizeof(uint32_t);
    assert_memory_equal(a->links.parent, b->links.parent, size);
    assert_memory_equal(a->links.first, b->links.first, size);
    assert_memory_equal(a->links.reach, b->links.reach, size);
    uint32_t pieces[256];
    uint32_t count = ListPieces(small, pieces, 256);
    for (uint32_t i = 0; i < count; ++i)
    {
        knSphereFragment f = knSphereForest_Fragment(a, pieces[i]);
        assert_true(f.rootCount <= KN_POOR_ROOTS);
    }
    knDestroyFamily(small);
    knDestroyFamily(large);
    CloseModel(&brick);
}

// A piece that breaks while its tree is being rebuilt keeps what the break gave it.
static void ABreakDiscardsARebuild(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&brick);
    BreakInto(family, 40, 3);
    knImproveReport report;
    do
    {
        assert_int_equal(knFamily_Improve(family, 300, &report), kn_success);
    } while (report.swapped != KN_NONE);
    uint32_t fragment = report.fragment;
    assert_int_not_equal(fragment, KN_NONE);
    assert_true(SplitByPlane(family, fragment, knMakeVec3(0.6f, 0.0f, 0.8f)));
    uint64_t hash = 0;
    ImproveAll(family, 500, &hash);
    assert_int_equal(knSphereForest_Fragment(knFamily_Forest(family), fragment).pointCount, 0);
    uint32_t pieces[256];
    uint32_t count = ListPieces(family, pieces, 256);
    for (uint32_t i = 0; i < count; ++i)
    {
        assert_true(knSphereForest_Fragment(knFamily_Forest(family), pieces[i]).pointCount > 0);
    }
    assert_int_equal(knFamily_Improve(NULL, 1, &report), kn_errorArgument);
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
        cmocka_unit_test(ARemovedPieceTouchesNothing),
        cmocka_unit_test(PoorTreesAreRebuiltInSlices),
        cmocka_unit_test(ABreakDiscardsARebuild),
        cmocka_unit_test(BadDefinitionsAreNamed),
        cmocka_unit_test(EveryAllocationFailureIsSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
