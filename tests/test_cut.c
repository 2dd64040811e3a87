// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "tet_shapes.h"

#include "knap/cut.h"
#include "knap/random.h"

static knTetMeshStore BuildCube(TetShape* shape)
{
    const int cells[3] = {2, 2, 2};
    *shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
    knTetMeshStore store;
    assert_int_equal(
        knBuildTetMesh(&store, shape->nodes, shape->nodeCount, shape->tets, shape->tetCount, NULL),
        kn_success);
    return store;
}

static void AFreshStoreIsWhole(void** state)
{
    (void)state;
    TetShape shape;
    knTetMeshStore mesh = BuildCube(&shape);
    knCutStore store;
    assert_int_equal(knCreateCutStore(&store, &mesh.mesh, NULL), kn_success);
    for (uint32_t n = 0; n < mesh.mesh.nodeCount; ++n)
    {
        assert_int_equal(store.labels[n], 0);
    }
    for (uint32_t e = 0; e < mesh.mesh.edgeCount; ++e)
    {
        assert_int_equal(store.edgeCuts[e], KN_NONE);
    }
    for (uint32_t t = 0; t < mesh.mesh.tetCount; ++t)
    {
        assert_int_equal(store.tetCuts[t], KN_NONE);
    }
    assert_int_equal(store.pointCount, 0);
    assert_int_equal(store.cutCount, 0);
    knDestroyCutStore(&store);
    knDestroyCutStore(NULL);
    knDestroyTetMeshStore(&mesh);
    DestroyShape(&shape);
}

static void ReservedRoomIsEnoughAndKeepsWhatIsThere(void** state)
{
    (void)state;
    TetShape shape;
    knTetMeshStore mesh = BuildCube(&shape);
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knCutStore store;
    assert_int_equal(knCreateCutStore(&store, &mesh.mesh, &allocator), kn_success);
    // step by step to the last edge and the last tetrahedron
    while (store.pointCount < store.edgeCount || store.cutCount < store.tetCount)
    {
        assert_int_equal(knCutStore_Reserve(&store, 5, 3), kn_success);
        for (int i = 0; i < 5 && store.pointCount < store.edgeCount; ++i)
        {
            assert_true(store.pointCount < store.pointCapacity);
            store.points[store.pointCount] = (knCutPoint){.edge = store.pointCount};
            store.pointCount += 1;
        }
        for (int i = 0; i < 3 && store.cutCount < store.tetCount; ++i)
        {
            assert_true(store.cutCount < store.cutCapacity);
            store.cuts[store.cutCount] = (knTetCut){.region = {(uint8_t)store.cutCount}};
            store.cutCount += 1;
        }
    }
    // no wish can ask for more than every edge and every tetrahedron once
    size_t callCount = tracker.callCount;
    assert_int_equal(knCutStore_Reserve(&store, UINT32_MAX, UINT32_MAX), kn_success);
    assert_int_equal(tracker.callCount, callCount);
    for (uint32_t i = 0; i < store.pointCount; ++i)
    {
        assert_int_equal(store.points[i].edge, i);
    }
    for (uint32_t i = 0; i < store.cutCount; ++i)
    {
        assert_int_equal(store.cuts[i].region[0], i);
    }
    knDestroyCutStore(&store);
    assert_int_equal(tracker.liveCount, 0);
    assert_int_equal(tracker.bytes, 0);
    knDestroyTetMeshStore(&mesh);
    DestroyShape(&shape);
}

// The part that holds a corner must contain that corner, whatever the planes before it.
static void EachCornerLiesInItsOwnPart(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(1);
    for (int round = 0; round < 2000; ++round)
    {
        knTetCut cut = {.planeCount = 0};
        uint8_t parts[4] = {0xF, 0xF, 0xF, 0xF}; // the model: the part of each corner
        int planeCount = (int)knRandom_Below(&random, KN_MAX_TET_PLANES + 1);
        for (int p = 0; p < planeCount; ++p)
        {
            uint8_t region = parts[knRandom_Below(&random, 4)];
            uint8_t below = (uint8_t)(region & knRandom_Below(&random, 16));
            if (below == 0 || below == region)
            {
                continue;
            }
            for (int i = 0; i < 4; ++i)
            {
                // zero at the nodes of other fragments
                float size = knRandom_Range(&random, 0.1f, 1.0f);
                float sign = below >> i & 1 ? -1.0f : 1.0f;
                cut.phi[cut.planeCount][i] = region >> i & 1 ? sign * size : 0.0f;
                if (region >> i & 1)
                {
                    parts[i] = below >> i & 1 ? below : (uint8_t)(region & ~below);
                }
            }
            cut.region[cut.planeCount] = region;
            cut.below[cut.planeCount] = below;
            cut.planeCount += 1;
        }
        for (int i = 0; i < 4; ++i)
        {
            float weights[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            weights[i] = 1.0f;
            assert_int_equal(knTetCut_Region(&cut, weights), parts[i]);
        }
    }
}

static void APointOnACutEdgeChangesSidesAtTheCut(void** state)
{
    (void)state;
    // corner 0 apart from the rest, the edge to corner 1 is cut at 0.25
    knTetCut cut = {.phi = {{-1.0f, 3.0f, 1.0f, 1.0f}}, .region = {0xF}, .below = {0x1}};
    cut.planeCount = 1;
    for (int i = 0; i <= 100; ++i)
    {
        float t = (float)i / 100.0f;
        const float weights[4] = {1.0f - t, t, 0.0f, 0.0f};
        if (i != 25)
        {
            assert_int_equal(knTetCut_Region(&cut, weights), i < 25 ? 0x1 : 0xE);
        }
    }
}

static void IdsOfPointsNeverMeet(void** state)
{
    (void)state;
    knCutStore store = {.nodeCount = 27};
    uint32_t expected = 27;
    for (uint32_t point = 0; point < 10; ++point)
    {
        for (uint32_t side = 0; side < 2; ++side)
        {
            assert_int_equal(knCutStore_PointId(&store, point, side), expected);
            expected += 1;
        }
    }
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    TetShape shape;
    knTetMeshStore mesh = BuildCube(&shape);
    knCutStore store;
    knAllocator half = {0};
    MarkUntouched(&store, sizeof store);
    assert_int_equal(knCreateCutStore(NULL, &mesh.mesh, NULL), kn_errorArgument);
    assert_int_equal(knCreateCutStore(&store, NULL, NULL), kn_errorArgument);
    assert_int_equal(knCreateCutStore(&store, &mesh.mesh, &half), kn_errorArgument);
    const knTetMesh noNodes = {.edgeCount = 6, .tetCount = 1};
    const knTetMesh noTets = {.nodeCount = 4, .edgeCount = 6};
    const knTetMesh noEdges = {.nodeCount = 4, .tetCount = 1};
    assert_int_equal(knCreateCutStore(&store, &noNodes, NULL), kn_errorArgument);
    assert_int_equal(knCreateCutStore(&store, &noTets, NULL), kn_errorArgument);
    assert_int_equal(knCreateCutStore(&store, &noEdges, NULL), kn_errorArgument);
    assert_true(IsUntouched(&store, sizeof store));
    knDestroyTetMeshStore(&mesh);
    DestroyShape(&shape);
}

static knResult AttemptStore(const knAllocator* allocator, void* context)
{
    knCutStore store;
    MarkUntouched(&store, sizeof store);
    knResult result = knCreateCutStore(&store, context, allocator);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&store, sizeof store));
        return result;
    }
    result = knCutStore_Reserve(&store, 4, 4);
    if (result == kn_success)
    {
        store.pointCount = 4;
        store.cutCount = 4;
        store.points[3].edge = 99;
        store.cuts[3].region[0] = 15;
        result = knCutStore_Reserve(&store, 40, 40);
        assert_int_equal(store.points[3].edge, 99);
        assert_int_equal(store.cuts[3].region[0], 15);
    }
    knDestroyCutStore(&store);
    return result;
}

static void ACutStoreSurvivesAllocationFailures(void** state)
{
    (void)state;
    TetShape shape;
    knTetMeshStore mesh = BuildCube(&shape);
    SurviveAllocationFailures(AttemptStore, &mesh.mesh);
    knDestroyTetMeshStore(&mesh);
    DestroyShape(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AFreshStoreIsWhole),
        cmocka_unit_test(ReservedRoomIsEnoughAndKeepsWhatIsThere),
        cmocka_unit_test(EachCornerLiesInItsOwnPart),
        cmocka_unit_test(APointOnACutEdgeChangesSidesAtTheCut),
        cmocka_unit_test(IdsOfPointsNeverMeet),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(ACutStoreSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
