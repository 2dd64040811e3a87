// SPDX-License-Identifier: Zlib
// What a split promises, on meshes whose shape is known beforehand.
#include "fracture_scene.h"

// The plane of a cut through a box is known: volumes on both sides, area, and who is where.
static void APlaneCutsWhereItSays(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 2);
    knSplitDef def = knDefaultSplitDef();
    def.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
    def.offset = 0.5f; // half way through the third layer of cells
    knSplitResult result = Split(&scene, 0, &def);
    assert_int_equal(result.outcome, kn_splitDone);
    assert_int_equal(result.delta.fragmentCount, 2);
    ASSERT_NEAR(result.crackArea, 0.8 * 0.6, 1e-6);
    for (uint32_t i = 0; i < 2; ++i)
    {
        uint32_t f = result.delta.fragments[i];
        ASSERT_NEAR(scene.set.fragments[f].mass.volume, 0.24, 1e-7);
        ASSERT_NEAR(fabs(scene.set.fragments[f].mass.center.x - 0.5), 0.25, 1e-7);
        const uint32_t* nodes = knFragmentSet_Nodes(&scene.set, f);
        bool above = scene.shape.nodes[nodes[0]].x > 0.5f;
        for (uint32_t k = 0; k < scene.set.fragments[f].nodeCount; ++k)
        {
            assert_int_equal(scene.shape.nodes[nodes[k]].x > 0.5f, above);
        }
        knPieceSurface surface = SurfaceOf(&scene, f);
        for (uint32_t t = 0; t < surface.triangleCount; ++t)
        {
            for (int k = 0; surface.sources[t].isCrack && k < 3; ++k)
            {
                ASSERT_NEAR(surface.positions[surface.triangles[t].v[k]].x, 0.5f, 1e-6);
                const knVec3 n = surface.corners[3 * t + (uint32_t)k].normal;
                ASSERT_NEAR(n.x, above ? -1.0 : 1.0, 1e-5);
            }
        }
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

static void ASplitThatPartsNothingChangesNothing(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 3);
    knSplitDef def = knDefaultSplitDef();
    def.offset = 5.0f;
    size_t used = scene.arena.usedBytes;
    knSplitResult result = Split(&scene, 0, &def);
    assert_int_equal(result.outcome, kn_splitNothing);
    assert_int_equal(result.delta.fragmentCount, 0);
    assert_int_equal(scene.set.fragmentCount, 1);
    assert_int_equal(scene.store.pointCount, 0);
    assert_int_equal(scene.arena.usedBytes, used);
    FreeScene(&scene);
}

static void AnAreaAboveTheLimitIsRefusedWithoutATrace(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 4);
    SplitHeaviest(&scene, 3);
    uint32_t fragment = Heaviest(&scene);
    knSplitDef def = RandomPlane(&scene, fragment);
    def.maxArea = 1e-3;
    Snapshot before = TakeSnapshot(&scene.set);
    knSplitResult result = Split(&scene, fragment, &def);
    assert_int_equal(result.outcome, kn_splitTooLarge);
    assert_true(result.crackArea > 1e-3);
    AssertAsBefore(&before, &scene.set);
    FreeSnapshot(&before);
    double area = result.crackArea;
    def.maxArea = 1.001 * area;
    result = Split(&scene, fragment, &def);
    assert_int_equal(result.outcome, kn_splitDone);
    assert_memory_equal(&result.crackArea, &area, sizeof area);
    FreeScene(&scene);
}

static void AssertSplitNodes(const Scene* scene, const knFractureDelta* delta, const uint32_t* old)
{
    const knTetMesh* mesh = &scene->parts.mesh;
    uint32_t changed = 0;
    for (uint32_t n = 0; n < mesh->nodeCount; ++n)
    {
        if (old[n] != scene->store.labels[n])
        {
            assert_int_equal(old[n], delta->parent);
            assert_true(changed < delta->splitNodeCount);
            assert_int_equal(delta->splitNodes[changed], n);
            changed += 1;
        }
    }
    assert_int_equal(changed, delta->splitNodeCount);
}

static void AssertCrossedTets(const Scene* scene, const knFractureDelta* delta, const uint32_t* old)
{
    const knTetMesh* mesh = &scene->parts.mesh;
    uint32_t crossed = 0;
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        uint32_t first = KN_NONE;
        bool parted = false;
        for (int i = 0; i < 4; ++i)
        {
            uint32_t n = mesh->tets[t].v[i];
            if (old[n] == delta->parent)
            {
                parted |= first != KN_NONE && scene->store.labels[n] != first;
                first = scene->store.labels[n];
            }
        }
        if (parted)
        {
            assert_true(crossed < delta->crossedTetCount);
            assert_int_equal(delta->crossedTets[crossed], t);
            crossed += 1;
        }
    }
    assert_int_equal(crossed, delta->crossedTetCount);
}

// The delta is checked against labels before and after, tetrahedron by tetrahedron.
static void TheDeltaTellsExactlyWhatChanged(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 5);
    const knTetMesh* mesh = &scene.parts.mesh;
    uint32_t* old = malloc(mesh->nodeCount * sizeof *old);
    assert_non_null(old);
    for (int step = 0; step < 12; ++step)
    {
        uint32_t parent = Heaviest(&scene);
        knSplitDef def = RandomPlane(&scene, parent);
        memcpy(old, scene.store.labels, mesh->nodeCount * sizeof *old);
        uint32_t pointCount = scene.store.pointCount;
        knArena_Reset(&scene.arena);
        knSplitResult result = Split(&scene, parent, &def);
        const knFractureDelta* delta = &result.delta;
        assert_int_equal(result.outcome, kn_splitDone);
        assert_int_equal(delta->parent, parent);
        assert_int_equal(delta->firstPoint, pointCount);
        assert_int_equal(delta->firstPoint + delta->pointCount, scene.store.pointCount);
        AssertSplitNodes(&scene, delta, old);
        AssertCrossedTets(&scene, delta, old);
        for (uint32_t i = 0; i + 1 < delta->fragmentCount; ++i)
        {
            const knFragment* f = &scene.set.fragments[delta->fragments[i]];
            assert_true(f->mass.mass >= scene.set.fragments[delta->fragments[i + 1]].mass.mass);
            assert_int_equal(f->parent, parent);
        }
        AssertPartition(&scene);
    }
    AssertSound(&scene);
    free(old);
    FreeScene(&scene);
}

// Splits of one piece and its heirs, seen as one: judged by labels before the first and after the
// last.
static void SplitsInARowAreOneDelta(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 21);
    SplitHeaviest(&scene, 2);
    const knTetMesh* mesh = &scene.parts.mesh;
    uint32_t* old = malloc(mesh->nodeCount * sizeof *old);
    assert_non_null(old);
    for (int event = 0; event < 4; ++event)
    {
        uint32_t parent = Heaviest(&scene);
        knFragmentMark mark = knFragmentSet_Mark(&scene.set);
        knFractureDelta delta;
        assert_int_equal(knFragmentSet_DeltaSince(&scene.set, parent, mark, &scene.arena, &delta),
                         kn_errorHandle);
        memcpy(old, scene.store.labels, mesh->nodeCount * sizeof *old);
        uint32_t piece = parent;
        for (int i = 0; i < 4; ++i)
        {
            knSplitDef def = RandomPlane(&scene, piece);
            knArena_Reset(&scene.arena);
            knSplitResult result = Split(&scene, piece, &def);
            assert_int_equal(result.outcome, kn_splitDone);
            piece = result.delta.fragments[i % 2];
        }
        knArena_Reset(&scene.arena);
        assert_int_equal(knFragmentSet_DeltaSince(&scene.set, parent, mark, &scene.arena, &delta),
                         kn_success);
        assert_int_equal(delta.parent, parent);
        assert_int_equal(delta.firstPoint, mark.pointCount);
        assert_int_equal(delta.firstPoint + delta.pointCount, scene.store.pointCount);
        AssertSplitNodes(&scene, &delta, old);
        AssertCrossedTets(&scene, &delta, old);
        uint32_t live = 0;
        for (uint32_t f = mark.fragmentCount; f < scene.set.fragmentCount; ++f)
        {
            if (IsLive(&scene, f))
            {
                assert_true(live < delta.fragmentCount);
                assert_int_equal(delta.fragments[live], f);
                live += 1;
            }
        }
        assert_int_equal(live, delta.fragmentCount);
        // a second piece split since the mark has points in the same run
        knSplitDef def = RandomPlane(&scene, 1);
        uint32_t other = IsLive(&scene, 1) && parent != 1 ? 1 : 2;
        if (IsLive(&scene, other) && Split(&scene, other, &def).outcome == kn_splitDone)
        {
            assert_int_equal(
                knFragmentSet_DeltaSince(&scene.set, parent, mark, &scene.arena, &delta),
                kn_errorArgument);
        }
    }
    knArena tiny;
    assert_int_equal(knCreateArena(&tiny, 64, NULL), kn_success);
    knFractureDelta delta;
    knFragmentMark start = {1, 0};
    assert_int_equal(knFragmentSet_DeltaSince(&scene.set, 0, start, &tiny, &delta), kn_errorMemory);
    knDestroyArena(&tiny);
    free(old);
    FreeScene(&scene);
}

static knResult Refuse(void* context, const knFractureDelta* delta)
{
    uint32_t* calls = context;
    *calls += 1;
    assert_true(delta->fragmentCount >= 2 && delta->crossedTetCount > 0 && delta->pointCount > 0);
    return kn_errorMemory;
}

// Who follows the set can say no, and nothing has happened then.
static void NoRoomForFollowersTakesTheSplitBack(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 3);
    SplitHeaviest(&scene, 3);
    uint32_t calls = 0;
    scene.set.makeRoom = Refuse;
    scene.set.roomContext = &calls;
    uint32_t fragment = Heaviest(&scene);
    knSplitDef def = RandomPlane(&scene, fragment);
    Snapshot before = TakeSnapshot(&scene.set);
    knSplitResult result;
    assert_int_equal(knFragmentSet_Split(&scene.set, fragment, &def, &scene.arena, &result),
                     kn_errorMemory);
    assert_int_equal(calls, 1);
    AssertAsBefore(&before, &scene.set);
    FreeSnapshot(&before);
    scene.set.makeRoom = NULL;
    assert_int_equal(Split(&scene, fragment, &def).outcome, kn_splitDone);
    AssertSound(&scene);
    FreeScene(&scene);
}

static void SmallPiecesAreMergedBeforeAnythingIsKept(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 12);
    SplitHeaviest(&scene, 1);
    uint32_t fragment = Heaviest(&scene);
    uint32_t count = scene.set.fragments[fragment].nodeCount;
    float* phi = malloc(count * sizeof *phi);
    assert_non_null(phi);
    for (uint32_t i = 0; i < count; ++i)
    {
        phi[i] = knRandom_Range(&scene.random, -1.0f, 0.2f); // islands of single nodes
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitNodal;
    def.phi = phi;
    def.small = kn_smallMerge;
    def.minVolume = 0.02;
    knSplitResult result = Split(&scene, fragment, &def);
    assert_true(result.mergedCount > 0);
    for (uint32_t i = 0; i < result.delta.fragmentCount; ++i)
    {
        assert_true(scene.set.fragments[result.delta.fragments[i]].mass.volume >= 0.02);
    }
    AssertPartition(&scene);
    AssertSound(&scene);
    free(phi);
    FreeScene(&scene);
}

static void AMergeOfEverythingLeavesNoTrace(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 13);
    SplitHeaviest(&scene, 3);
    uint32_t fragment = Heaviest(&scene);
    knSplitDef def = RandomPlane(&scene, fragment);
    def.small = kn_smallMerge;
    def.minSize = 100.0f;
    Snapshot before = TakeSnapshot(&scene.set);
    knSplitResult result = Split(&scene, fragment, &def);
    assert_int_equal(result.outcome, kn_splitNothing);
    AssertAsBefore(&before, &scene.set);
    FreeSnapshot(&before);
    FreeScene(&scene);
}

// Debris is reported, never silently lost.
static void DebrisIsListedWithItsMass(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 14);
    knSplitDef def = knDefaultSplitDef();
    def.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
    def.offset = 1.1f; // a small cap of the ball at x = 1.3
    def.small = kn_smallDebris;
    def.minVolume = 0.5;
    knSplitResult result = Split(&scene, 0, &def);
    assert_int_equal(result.outcome, kn_splitDone);
    assert_true(result.debrisCount >= 1);
    assert_int_equal(result.debrisCount + 1, result.delta.fragmentCount);
    for (uint32_t i = 0; i < result.debrisCount; ++i)
    {
        const knDebris* debris = &result.debris[i];
        const knFragment* f = &scene.set.fragments[debris->fragment];
        assert_int_equal(f->state, kn_fragmentDebris);
        ASSERT_NEAR(debris->mass, f->mass.mass, 0.0);
        assert_true(debris->center.x > 1.0);
        ASSERT_NEAR(knLength(debris->direction), 1.0, 1e-5);
        assert_true(debris->direction.x > 0.5f);
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

// Two steps of a float per cell leave no room for points between nodes: such a mesh stays whole.
static void AMeshTooFineForItsCoordinatesIsNotCut(void** state)
{
    (void)state;
    const int cells[3] = {2, 2, 2};
    Scene scene = {.shape = MakeLatticeBox(cells, knMakeVec3(1e6f, 1e6f, 1e6f),
                                           knMakeVec3(1e6f + 0.25f, 1e6f + 0.25f, 1e6f + 0.25f))};
    StartScene(&scene, 26);
    Snapshot before = TakeSnapshot(&scene.set);
    knSplitDef def = RandomPlane(&scene, 0);
    knSplitResult result = Split(&scene, 0, &def);
    assert_int_equal(result.outcome, kn_splitTooFine);
    assert_int_equal(result.delta.fragmentCount, 0);
    AssertAsBefore(&before, &scene.set);
    FreeSnapshot(&before);
    FreeScene(&scene);
}

// A mesh in two parts is one fragment until the first split, which parts them without a crack.
static void LoosePartsBecomePiecesOfTheirOwn(void** state)
{
    (void)state;
    const int cells[3] = {2, 1, 1};
    Scene scene = {0};
    TetShape box =
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(2.0f, 1.0f, 1.0f));
    TetShape two = {.nodeCount = 2 * box.nodeCount, .tetCount = 2 * box.tetCount};
    two.surfaceNodeCount = two.nodeCount;
    two.nodes = malloc(two.nodeCount * sizeof *two.nodes);
    two.tets = malloc(two.tetCount * sizeof *two.tets);
    assert_true(two.nodes && two.tets);
    for (uint32_t i = 0; i < two.nodeCount; ++i)
    {
        float shift = i < box.nodeCount ? 0.0f : 5.0f;
        two.nodes[i] = knAdd(box.nodes[i % box.nodeCount], knMakeVec3(0.0f, shift, 0.0f));
    }
    for (uint32_t i = 0; i < 4 * two.tetCount; ++i)
    {
        uint32_t shift = i / 4 < box.tetCount ? 0 : box.nodeCount;
        two.tets[i / 4].v[i % 4] = box.tets[i / 4 % box.tetCount].v[i % 4] + shift;
    }
    DestroyShape(&box);
    scene.shape = two;
    StartScene(&scene, 19);
    knSplitDef def = knDefaultSplitDef();
    def.offset = 100.0f;
    knSplitResult result = Split(&scene, 0, &def);
    assert_int_equal(result.outcome, kn_splitDone);
    assert_int_equal(result.delta.fragmentCount, 2);
    assert_int_equal(result.delta.crossedTetCount, 0);
    ASSERT_NEAR(result.crackArea, 0.0, 0.0);
    AssertPartition(&scene);
    AssertSound(&scene);
    FreeScene(&scene);
}

static void ASplitInReservedRoomMakesNoHeapCall(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 20);
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knCutStore store;
    knFragmentSet set;
    assert_int_equal(knCreateCutStore(&store, &scene.parts.mesh, &allocator), kn_success);
    assert_int_equal(knCreateFragmentSet(&set, &scene.cutMesh, &store, 1.0, &allocator),
                     kn_success);
    assert_int_equal(knFragmentSet_Reserve(&set, 200), kn_success);
    knSplitDef def = knDefaultSplitDef();
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knFragmentSet_SplitBytes(&set, 0, &def), &allocator),
                     kn_success);
    size_t callCount = tracker.callCount;
    for (uint32_t f = 0; f < set.fragmentCount && set.fragmentCount < 100; ++f)
    {
        def.normal = knRandom_UnitVec3(&scene.random);
        def.offset = knDot(def.normal, knToFloat(set.fragments[f].mass.center));
        knArena_Reset(&arena);
        knSplitResult result;
        assert_int_equal(knFragmentSet_Split(&set, f, &def, &arena, &result), kn_success);
    }
    assert_true(set.fragmentCount >= 100);
    assert_int_equal(tracker.callCount, callCount);
    assert_int_equal(arena.wantedBytes, 0);
    knDestroyArena(&arena);
    knDestroyFragmentSet(&set);
    knDestroyCutStore(&store);
    assert_int_equal(tracker.liveCount, 0);
    FreeScene(&scene);
}

// The stated bound holds for the worst: every node a piece of its own, with merging.
static void TheArenaBoundHolds(void** state)
{
    (void)state;
    for (int small = 0; small < 3; ++small)
    {
        Scene scene;
        MakeBoxScene(&scene, 21);
        uint32_t count = scene.parts.mesh.nodeCount;
        uint32_t* labels = malloc(count * sizeof *labels);
        assert_non_null(labels);
        for (uint32_t i = 0; i < count; ++i)
        {
            labels[i] = i;
        }
        knSplitDef def = knDefaultSplitDef();
        def.kind = kn_splitLabels;
        def.labels = labels;
        def.groupCount = count;
        def.small = (knSmallPieces)small;
        def.minVolume = small == kn_smallMerge ? 1e-3 : 1.0;
        knArena arena;
        size_t bytes = knFragmentSet_SplitBytes(&scene.set, 0, &def);
        assert_int_equal(knCreateArena(&arena, bytes, NULL), kn_success);
        knSplitResult result;
        assert_int_equal(knFragmentSet_Split(&scene.set, 0, &def, &arena, &result), kn_success);
        assert_int_equal(result.outcome, kn_splitDone);
        assert_true(small == kn_smallMerge || result.delta.fragmentCount == count);
        AssertSound(&scene);
        knDestroyArena(&arena);
        free(labels);
        FreeScene(&scene);
    }
}

static void AnArenaOfAnySizeLeavesSetAndStoreWhole(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 22);
    SplitHeaviest(&scene, 2);
    uint32_t fragment = Heaviest(&scene);
    knSplitDef def = RandomPlane(&scene, fragment);
    def.small = kn_smallMerge;
    def.minVolume = 1e-4;
    Snapshot before = TakeSnapshot(&scene.set);
    knResult result = kn_errorMemory;
    for (size_t size = 64; result != kn_success; size += 64)
    {
        knArena arena;
        knSplitResult split;
        MarkUntouched(&split, sizeof split);
        assert_int_equal(knCreateArena(&arena, size, NULL), kn_success);
        result = knFragmentSet_Split(&scene.set, fragment, &def, &arena, &split);
        if (result != kn_success)
        {
            assert_int_equal(result, kn_errorMemory);
            assert_true(arena.wantedBytes > 0);
            assert_int_equal(arena.usedBytes, 0);
            assert_true(IsUntouched(&split, sizeof split));
            AssertAsBefore(&before, &scene.set);
        }
        knDestroyArena(&arena);
        assert_true(size < (size_t)1 << 20);
    }
    FreeSnapshot(&before);
    result = kn_errorMemory;
    fragment = Heaviest(&scene);
    for (size_t size = 64; result != kn_success; size += 192)
    {
        knArena arena;
        knPieceSurface surface;
        MarkUntouched(&surface, sizeof surface);
        assert_int_equal(knCreateArena(&arena, size, NULL), kn_success);
        const knPieceOptions options = {.smoothCracks = true};
        result = knFragmentSet_Surface(&scene.set, fragment, &options, &arena, &surface);
        assert_true(result == kn_success || IsUntouched(&surface, sizeof surface));
        knDestroyArena(&arena);
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

static knResult AttemptBreaks(const knAllocator* allocator, void* context)
{
    Scene* scene = context;
    knCutMesh cutMesh;
    knCutStore store;
    knFragmentSet set;
    MarkUntouched(&cutMesh, sizeof cutMesh);
    MarkUntouched(&set, sizeof set);
    knResult result = knCreateCutMesh(&cutMesh, &scene->parts.mesh, NULL, allocator);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&cutMesh, sizeof cutMesh));
        return result;
    }
    result = knCreateCutStore(&store, &scene->parts.mesh, allocator);
    if (result == kn_success)
    {
        result = knCreateFragmentSet(&set, &cutMesh, &store, 1.0, allocator);
        assert_true(result == kn_success || IsUntouched(&set, sizeof set));
        for (int i = 0; result == kn_success && i < 4; ++i)
        {
            knSplitDef def = knDefaultSplitDef();
            def.normal = knMakeVec3(1.0f, 0.3f * (float)i, -0.2f);
            uint32_t fragment = set.fragmentCount - (i > 0 ? 2 : 1);
            def.offset = knDot(def.normal, knToFloat(set.fragments[fragment].mass.center));
            Snapshot before = TakeSnapshot(&set);
            knArena_Reset(&scene->arena);
            knSplitResult split;
            result = knFragmentSet_Split(&set, fragment, &def, &scene->arena, &split);
            if (result != kn_success)
            {
                AssertAsBefore(&before, &set);
            }
            FreeSnapshot(&before);
        }
        knDestroyFragmentSet(result == kn_success || !IsUntouched(&set, sizeof set) ? &set : NULL);
        knDestroyCutStore(&store);
    }
    knDestroyCutMesh(&cutMesh);
    return result;
}

static void BreaksSurviveAllocationFailures(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 23);
    SurviveAllocationFailures(AttemptBreaks, &scene);
    FreeScene(&scene);
}

// Each is wrong in one field.
static void AssertBadDefsAreRefused(Scene* scene, knSplitResult* result)
{
    const float radii[2] = {0.2f, 0.1f};
    const knVec3 nowhere = {NAN, 0.0f, 0.0f};
    knSplitDef bad[12];
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        bad[i] = knDefaultSplitDef();
    }
    bad[0].kind = kn_splitKindCount;
    bad[1].normal = knMakeVec3(0.0f, 0.0f, 0.0f);
    bad[2].kind = kn_splitNodal;
    bad[3].kind = kn_splitLabels;
    bad[4].kind = kn_splitSites;
    bad[5].kind = kn_splitSites;
    bad[5].sites = &nowhere;
    bad[5].siteCount = 1;
    bad[6].kind = kn_splitRadial;
    bad[6].radii = radii;
    bad[6].ringCount = 2;
    bad[7].minCutShare = 0.5f;
    bad[8].roughness = -1.0f;
    bad[9].minVolume = (double)NAN;
    bad[10].kind = kn_splitRadial;
    bad[10].sectorCount = UINT32_MAX;
    bad[11].kind = kn_splitRadial;
    bad[11].jitter = 0.5f;
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        knResult status = knFragmentSet_Split(&scene->set, 0, &bad[i], &scene->arena, result);
        assert_int_equal(status, kn_errorArgument);
        assert_true(knLastError()[0] != 0);
    }
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 24);
    knSplitResult result;
    MarkUntouched(&result, sizeof result);
    AssertBadDefsAreRefused(&scene, &result);
    knSplitDef def = knDefaultSplitDef();
    assert_int_equal(knFragmentSet_Split(NULL, 0, &def, &scene.arena, &result), kn_errorArgument);
    assert_int_equal(knFragmentSet_Split(&scene.set, 9, &def, &scene.arena, &result),
                     kn_errorHandle);
    assert_int_equal(knFragmentSet_Split(&scene.set, 0, NULL, &scene.arena, &result),
                     kn_errorArgument);
    assert_int_equal(knFragmentSet_Split(&scene.set, 0, &def, NULL, &result), kn_errorArgument);
    assert_int_equal(knFragmentSet_Split(&scene.set, 0, &def, &scene.arena, NULL),
                     kn_errorArgument);
    assert_true(IsUntouched(&result, sizeof result));
    def.offset = 0.5f;
    Split(&scene, 0, &def);
    knPieceSurface surface;
    assert_int_equal(knFragmentSet_Split(&scene.set, 0, &def, &scene.arena, &result),
                     kn_errorHandle);
    assert_int_equal(knFragmentSet_Surface(&scene.set, 0, NULL, &scene.arena, &surface),
                     kn_errorHandle);
    assert_int_equal(knFragmentSet_Surface(&scene.set, 1, NULL, NULL, &surface), kn_errorArgument);
    knSurfaceMesh wrong = scene.parts.surface;
    wrong.triangleCount -= 1;
    knCutMesh cutMesh;
    assert_int_equal(knCreateCutMesh(&cutMesh, &scene.parts.mesh, &wrong, NULL), kn_errorMesh);
    assert_int_equal(knCreateCutMesh(&cutMesh, NULL, NULL, NULL), kn_errorArgument);
    knFragmentSet set;
    assert_int_equal(knCreateFragmentSet(&set, &scene.cutMesh, &scene.store, 1.0, NULL),
                     kn_errorArgument); // a store that is cut
    FreeScene(&scene);
}

static void NothingInTheLibraryFoundItselfWrong(void** state)
{
    (void)state;
    assert_int_equal(knAssertFailureCount(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(APlaneCutsWhereItSays),
        cmocka_unit_test(ASplitThatPartsNothingChangesNothing),
        cmocka_unit_test(AnAreaAboveTheLimitIsRefusedWithoutATrace),
        cmocka_unit_test(TheDeltaTellsExactlyWhatChanged),
        cmocka_unit_test(SplitsInARowAreOneDelta),
        cmocka_unit_test(NoRoomForFollowersTakesTheSplitBack),
        cmocka_unit_test(SmallPiecesAreMergedBeforeAnythingIsKept),
        cmocka_unit_test(AMergeOfEverythingLeavesNoTrace),
        cmocka_unit_test(DebrisIsListedWithItsMass),
        cmocka_unit_test(AMeshTooFineForItsCoordinatesIsNotCut),
        cmocka_unit_test(LoosePartsBecomePiecesOfTheirOwn),
        cmocka_unit_test(ASplitInReservedRoomMakesNoHeapCall),
        cmocka_unit_test(TheArenaBoundHolds),
        cmocka_unit_test(AnArenaOfAnySizeLeavesSetAndStoreWhole),
        cmocka_unit_test(BreaksSurviveAllocationFailures),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(NothingInTheLibraryFoundItselfWrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
