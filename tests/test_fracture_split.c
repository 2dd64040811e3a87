// SPDX-License-Identifier: Zlib
// What a split promises, on meshes whose shape is known beforehand.
#include "cooked.h"
#include "kit.h"
#include "piece_checks.h"
#include "tet_shapes.h"

#include "knap/cutting.h"
#include "knap/random.h"

// Of one break of a box; changes when the cutting means to change.
#define GOLDEN_HASH 0x8B7F460AB346F2A2u

typedef struct Scene
{
    TetShape shape;
    CookParts parts;
    knCutMesh cutMesh;
    knCutStore store;
    knFragmentSet set;
    knArena arena;
    knRandom random;
} Scene;

static void StartScene(Scene* scene, uint64_t seed)
{
    scene->random = knMakeRandom(seed);
    scene->parts = MakeCookParts(&scene->shape);
    assert_int_equal(
        knCreateCutMesh(&scene->cutMesh, &scene->parts.mesh, &scene->parts.surface, NULL),
        kn_success);
    assert_int_equal(knCreateCutStore(&scene->store, &scene->parts.mesh, NULL), kn_success);
    assert_int_equal(knCreateFragmentSet(&scene->set, &scene->cutMesh, &scene->store, 1000.0, NULL),
                     kn_success);
    assert_int_equal(knCreateArena(&scene->arena, (size_t)8 << 20, NULL), kn_success);
}

static void MakeBallScene(Scene* scene, uint64_t seed)
{
    scene->shape = MakeBall(6, 1.0f, knMakeVec3(0.3f, -0.2f, 0.1f));
    JitterInside(&scene->shape, 0.01f, seed);
    StartScene(scene, seed);
}

static void MakeBoxScene(Scene* scene, uint64_t seed)
{
    const int cells[3] = {5, 4, 3};
    scene->shape =
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 0.8f, 0.6f));
    StartScene(scene, seed);
}

static void FreeScene(Scene* scene)
{
    knDestroyArena(&scene->arena);
    knDestroyFragmentSet(&scene->set);
    knDestroyCutStore(&scene->store);
    knDestroyCutMesh(&scene->cutMesh);
    DestroyCookParts(&scene->parts);
    DestroyShape(&scene->shape);
}

static bool IsLive(const Scene* scene, uint32_t fragment)
{
    return scene->set.fragments[fragment].state != kn_fragmentEnded;
}

static PieceView ViewOf(const knPieceSurface* s)
{
    return (PieceView){s->positions, s->triangles, s->vertexCount, s->triangleCount};
}

static knPieceSurface SurfaceOf(Scene* scene, uint32_t fragment)
{
    knPieceSurface surface;
    assert_int_equal(knFragmentSet_Surface(&scene->set, fragment, NULL, &scene->arena, &surface),
                     kn_success);
    return surface;
}

static knSplitResult Split(Scene* scene, uint32_t fragment, const knSplitDef* def)
{
    knSplitResult result;
    assert_int_equal(knFragmentSet_Split(&scene->set, fragment, def, &scene->arena, &result),
                     kn_success);
    return result;
}

static uint32_t Heaviest(const Scene* scene)
{
    uint32_t best = KN_NONE;
    for (uint32_t f = 0; f < scene->set.fragmentCount; ++f)
    {
        const knFragment* fragments = scene->set.fragments;
        if (IsLive(scene, f) &&
            (best == KN_NONE || fragments[f].mass.mass > fragments[best].mass.mass))
        {
            best = f;
        }
    }
    return best;
}

static knSplitDef RandomPlane(Scene* scene, uint32_t fragment)
{
    knSplitDef def = knDefaultSplitDef();
    def.normal = knRandom_UnitVec3(&scene->random);
    def.offset = knDot(def.normal, knToFloat(scene->set.fragments[fragment].mass.center));
    return def;
}

static void SplitHeaviest(Scene* scene, int times)
{
    for (int i = 0; i < times; ++i)
    {
        uint32_t fragment = Heaviest(scene);
        knSplitDef def = RandomPlane(scene, fragment);
        knArena_Reset(&scene->arena);
        Split(scene, fragment, &def);
    }
    knArena_Reset(&scene->arena);
}

static void AssertSound(Scene* scene)
{
    knMassProperties sum = {0};
    for (uint32_t f = 0; f < scene->set.fragmentCount; ++f)
    {
        if (IsLive(scene, f))
        {
            knArena_Reset(&scene->arena);
            knPieceSurface surface = SurfaceOf(scene, f);
            const char* flaw = FindFlaw(ViewOf(&surface));
            if (flaw)
            {
                print_error("fragment %u: %s\n", f, flaw);
                fail();
            }
            const knMassProperties* mass = &scene->set.fragments[f].mass;
            knMassProperties own = SurfaceMass(ViewOf(&surface), scene->set.density);
            assert_true(MassDifference(mass, &own, cbrt(mass->volume)) < 1e-4);
            sum = AddMass(&sum, mass);
        }
    }
    assert_true(MassDifference(&scene->set.fragments[0].mass, &sum, 1.0) < 1e-12);
    knArena_Reset(&scene->arena);
}

// Nodes and labels name the same fragments, and every fragment hangs together along edges.
static void AssertPartition(const Scene* scene)
{
    const knTetMesh* mesh = &scene->parts.mesh;
    uint32_t* reached = malloc(mesh->nodeCount * sizeof *reached);
    uint32_t* stack = malloc(mesh->nodeCount * sizeof *stack);
    assert_true(reached && stack);
    memset(reached, 0, mesh->nodeCount * sizeof *reached);
    uint32_t total = 0;
    for (uint32_t f = 0; f < scene->set.fragmentCount; ++f)
    {
        const knFragment* fragment = &scene->set.fragments[f];
        const uint32_t* nodes = knFragmentSet_Nodes(&scene->set, f);
        assert_int_equal(fragment->nodeCount > 0, IsLive(scene, f));
        uint32_t depth = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < fragment->nodeCount; ++i)
        {
            assert_int_equal(scene->store.labels[nodes[i]], f);
            assert_true(i == 0 || nodes[i] > nodes[i - 1]);
        }
        if (fragment->nodeCount > 0)
        {
            stack[depth++] = nodes[0];
            reached[nodes[0]] = 1;
        }
        while (depth > 0)
        {
            uint32_t n = stack[--depth];
            count += 1;
            for (uint32_t k = mesh->nodeEdgeStarts[n]; k < mesh->nodeEdgeStarts[n + 1]; ++k)
            {
                const uint32_t* v = mesh->edges[mesh->nodeEdges[k]].v;
                uint32_t other = v[0] == n ? v[1] : v[0];
                if (!reached[other] && scene->store.labels[other] == f)
                {
                    reached[other] = 1;
                    stack[depth++] = other;
                }
            }
        }
        assert_int_equal(count, fragment->nodeCount);
        total += count;
    }
    assert_int_equal(total, mesh->nodeCount);
    free(reached);
    free(stack);
}

static void AnUncutObjectIsItsOwnSurface(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 1);
    knPieceSurface surface = SurfaceOf(&scene, 0);
    assert_int_equal(surface.triangleCount, scene.parts.surface.triangleCount);
    assert_int_equal(surface.crackTriangleCount, 0);
    assert_int_equal(surface.vertexCount, scene.shape.surfaceNodeCount);
    assert_null(FindFlaw(ViewOf(&surface)));
    AssertPartition(&scene);
    FreeScene(&scene);
}

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

// Plain copies of everything that a split may write.
typedef struct Snapshot
{
    uint32_t* numbers; // labels, edge cuts, tetrahedron cuts, nodes, slots
    size_t size;
    knCutPoint* points;
    knTetCut* cuts;
    uint32_t pointCount, cutCount, fragmentCount;
} Snapshot;

static void Copy(Snapshot* snapshot, const uint32_t* items, size_t count)
{
    memcpy(snapshot->numbers + snapshot->size, items, count * sizeof *items);
    snapshot->size += count;
}

static Snapshot TakeSnapshot(const knFragmentSet* set)
{
    const knCutStore* store = set->store;
    Snapshot s = {.pointCount = store->pointCount,
                  .cutCount = store->cutCount,
                  .fragmentCount = set->fragmentCount};
    size_t total = 3 * (size_t)store->nodeCount + store->edgeCount + store->tetCount;
    s.numbers = malloc(total * sizeof *s.numbers);
    s.points = malloc(((size_t)s.pointCount + 1) * sizeof *s.points);
    s.cuts = malloc(((size_t)s.cutCount + 1) * sizeof *s.cuts);
    assert_true(s.numbers && s.points && s.cuts);
    Copy(&s, store->labels, store->nodeCount);
    Copy(&s, store->edgeCuts, store->edgeCount);
    Copy(&s, store->tetCuts, store->tetCount);
    Copy(&s, set->nodes, set->nodeCount);
    Copy(&s, set->slots, set->nodeCount);
    if (s.pointCount > 0)
    {
        memcpy(s.points, store->points, s.pointCount * sizeof *s.points);
        memcpy(s.cuts, store->cuts, s.cutCount * sizeof *s.cuts);
    }
    return s;
}

static void FreeSnapshot(Snapshot* s)
{
    free(s->numbers);
    free(s->points);
    free(s->cuts);
}

static void AssertAsBefore(const Snapshot* before, const knFragmentSet* set)
{
    Snapshot now = TakeSnapshot(set);
    assert_int_equal(before->pointCount, now.pointCount);
    assert_int_equal(before->cutCount, now.cutCount);
    assert_int_equal(before->fragmentCount, now.fragmentCount);
    assert_memory_equal(before->numbers, now.numbers, now.size * sizeof *now.numbers);
    assert_memory_equal(before->points, now.points, now.pointCount * sizeof *now.points);
    assert_memory_equal(before->cuts, now.cuts, now.cutCount * sizeof *now.cuts);
    FreeSnapshot(&now);
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
        uint32_t changed = 0;
        for (uint32_t n = 0; n < mesh->nodeCount; ++n)
        {
            if (old[n] != scene.store.labels[n])
            {
                assert_int_equal(old[n], parent);
                assert_true(changed < delta->splitNodeCount);
                assert_int_equal(delta->splitNodes[changed], n);
                changed += 1;
            }
        }
        assert_int_equal(changed, delta->splitNodeCount);
        uint32_t crossed = 0;
        for (uint32_t t = 0; t < mesh->tetCount; ++t)
        {
            uint32_t first = KN_NONE;
            bool parted = false;
            for (int i = 0; i < 4; ++i)
            {
                uint32_t n = mesh->tets[t].v[i];
                if (old[n] == parent)
                {
                    parted |= first != KN_NONE && scene.store.labels[n] != first;
                    first = scene.store.labels[n];
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

// What a piece looked like, by value.
typedef struct Portrait
{
    uint32_t fragment, vertexCount, triangleCount;
    knVec3* positions;
    uint32_t* ids;
    knTriangle* triangles;
} Portrait;

static Portrait Paint(Scene* scene, uint32_t fragment)
{
    knArena_Reset(&scene->arena);
    knPieceSurface s = SurfaceOf(scene, fragment);
    Portrait p = {fragment, s.vertexCount, s.triangleCount, NULL, NULL, NULL};
    p.positions = malloc(s.vertexCount * sizeof(knVec3));
    p.ids = malloc(s.vertexCount * sizeof(uint32_t));
    p.triangles = malloc(s.triangleCount * sizeof(knTriangle));
    assert_true(p.positions && p.ids && p.triangles);
    memcpy(p.positions, s.positions, s.vertexCount * sizeof(knVec3));
    memcpy(p.ids, s.pointIds, s.vertexCount * sizeof(uint32_t));
    memcpy(p.triangles, s.triangles, s.triangleCount * sizeof(knTriangle));
    return p;
}

static void AssertSamePortrait(Scene* scene, const Portrait* p)
{
    knArena_Reset(&scene->arena);
    knPieceSurface s = SurfaceOf(scene, p->fragment);
    assert_int_equal(s.vertexCount, p->vertexCount);
    assert_int_equal(s.triangleCount, p->triangleCount);
    assert_memory_equal(s.positions, p->positions, s.vertexCount * sizeof(knVec3));
    assert_memory_equal(s.pointIds, p->ids, s.vertexCount * sizeof(uint32_t));
    assert_memory_equal(s.triangles, p->triangles, s.triangleCount * sizeof(knTriangle));
}

static void OtherPiecesKeepEveryBit(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 6);
    SplitHeaviest(&scene, 4);
    Portrait portraits[16];
    uint32_t count = 0;
    uint32_t broken = Heaviest(&scene);
    for (uint32_t f = 0; f < scene.set.fragmentCount && count < COUNT_OF(portraits); ++f)
    {
        if (IsLive(&scene, f) && f != broken)
        {
            portraits[count++] = Paint(&scene, f);
        }
    }
    assert_true(count >= 4);
    // break one piece to dust beside them
    for (int i = 0; i < 8; ++i)
    {
        knSplitDef def = RandomPlane(&scene, broken);
        knArena_Reset(&scene.arena);
        knSplitResult result = Split(&scene, broken, &def);
        broken = result.outcome == kn_splitDone ? result.delta.fragments[0] : broken;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        AssertSamePortrait(&scene, &portraits[i]);
        free(portraits[i].positions);
        free(portraits[i].ids);
        free(portraits[i].triangles);
    }
    FreeScene(&scene);
}

// A point keeps its id and its place through all later breaks, and two points never share an id.
static void PointIdsLast(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 7);
    const knTetMesh* mesh = &scene.parts.mesh;
    size_t limit = mesh->nodeCount + 2 * (size_t)mesh->edgeCount + 16 * (size_t)mesh->tetCount;
    knVec3* places = malloc(limit * sizeof *places);
    uint32_t* owners = malloc(limit * sizeof *owners);
    bool* known = calloc(limit, sizeof *known);
    assert_true(places && owners && known);
    for (int step = 0; step < 12; ++step)
    {
        SplitHeaviest(&scene, 1);
        memset(owners, 0xFF, limit * sizeof *owners);
        for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
        {
            if (!IsLive(&scene, f))
            {
                continue;
            }
            knArena_Reset(&scene.arena);
            knPieceSurface s = SurfaceOf(&scene, f);
            for (uint32_t i = 0; i < s.vertexCount; ++i)
            {
                uint32_t id = s.pointIds[i];
                assert_true(id < limit);
                assert_int_equal(owners[id], KN_NONE);
                owners[id] = f;
                if (known[id])
                {
                    assert_memory_equal(&places[id], &s.positions[i], sizeof(knVec3));
                }
                known[id] = true;
                places[id] = s.positions[i];
            }
        }
    }
    free(places);
    free(owners);
    free(known);
    FreeScene(&scene);
}

// Random points: the piece that winds around one must be the piece that the planes and labels name.
static void PointsLieInThePieceThatTheLabelsName(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 8);
    SplitHeaviest(&scene, 12);
    const knTetMesh* mesh = &scene.parts.mesh;
    knPieceSurface surfaces[64];
    uint32_t fragments[64];
    uint32_t count = 0;
    for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
    {
        if (IsLive(&scene, f))
        {
            fragments[count] = f;
            surfaces[count++] = SurfaceOf(&scene, f);
        }
    }
    int tested = 0;
    for (int round = 0; round < 400; ++round)
    {
        uint32_t tet = knRandom_Below(&scene.random, mesh->tetCount);
        uint32_t record = scene.store.tetCuts[tet];
        if (record == KN_NONE && round % 4 != 0)
        {
            continue; // the cut ones are what matters
        }
        float weights[4];
        float sum = 0.0f;
        for (int i = 0; i < 4; ++i)
        {
            weights[i] = knRandom_Range(&scene.random, 0.02f, 1.0f);
            sum += weights[i];
        }
        knVec3 p = {0.0f, 0.0f, 0.0f};
        float nearest = 1.0f;
        for (int i = 0; i < 4; ++i)
        {
            weights[i] /= sum;
            p = knAddScaled(p, weights[i], mesh->nodes[mesh->tets[tet].v[i]]);
        }
        uint8_t mask = 0xF;
        if (record != KN_NONE)
        {
            const knTetCut* cut = &scene.store.cuts[record];
            mask = knTetCut_Region(cut, weights);
            for (int k = 0; k < cut->planeCount; ++k)
            {
                float side = 0.0f;
                float most = 0.0f;
                for (int i = 0; i < 4; ++i)
                {
                    side += cut->phi[k][i] * weights[i];
                    most = fmaxf(most, fabsf(cut->phi[k][i]));
                }
                nearest = fminf(nearest, fabsf(side) / most);
            }
        }
        if (nearest < 1e-3f)
        {
            continue;
        }
        int corner = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
        uint32_t label = scene.store.labels[mesh->tets[tet].v[corner]];
        for (uint32_t i = 0; i < count; ++i)
        {
            double winding = WindingNumber(ViewOf(&surfaces[i]), p);
            ASSERT_NEAR(winding, fragments[i] == label ? 1.0 : 0.0, 1e-3);
        }
        tested += 1;
    }
    assert_true(tested > 100);
    FreeScene(&scene);
}

static void EveryPieceOfAPatternBelongsToOneCell(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 9);
    const knVec3 sites[5] = {{0.9f, -0.2f, 0.1f},
                             {-0.4f, 0.0f, 0.4f},
                             {0.3f, 0.6f, -0.3f},
                             {0.2f, -0.9f, 0.0f},
                             {0.3f, -0.2f, 0.9f}};
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = COUNT_OF(sites);
    knSplitResult result = Split(&scene, 0, &def);
    assert_true(result.delta.fragmentCount >= COUNT_OF(sites));
    for (uint32_t f = 1; f < scene.set.fragmentCount; ++f)
    {
        const uint32_t* nodes = knFragmentSet_Nodes(&scene.set, f);
        uint32_t cell = KN_NONE;
        for (uint32_t i = 0; i < scene.set.fragments[f].nodeCount; ++i)
        {
            uint32_t nearest = 0;
            for (uint32_t s = 1; s < COUNT_OF(sites); ++s)
            {
                knVec3 p = scene.shape.nodes[nodes[i]];
                nearest = knDistance(p, sites[s]) < knDistance(p, sites[nearest]) ? s : nearest;
            }
            assert_true(cell == KN_NONE || cell == nearest);
            cell = nearest;
        }
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

static void RadialPiecesStayInTheirSectorAndRing(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 10);
    const float radii[2] = {0.22f, 0.37f};
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitRadial;
    def.center = knMakeVec3(0.47f, 0.41f, 0.0f);
    def.axis = knMakeVec3(0.0f, 0.0f, 2.0f);
    def.sectorCount = 4;
    def.radii = radii;
    def.ringCount = 2;
    knSplitResult result = Split(&scene, 0, &def);
    assert_true(result.delta.fragmentCount >= 8);
    for (uint32_t f = 1; f < scene.set.fragmentCount; ++f)
    {
        const uint32_t* nodes = knFragmentSet_Nodes(&scene.set, f);
        int ring = -1;
        float low = 10.0f;
        float high = -10.0f;
        float first = 0.0f;
        for (uint32_t i = 0; i < scene.set.fragments[f].nodeCount; ++i)
        {
            knVec3 q = knSub(scene.shape.nodes[nodes[i]], def.center);
            float r = sqrtf(q.x * q.x + q.y * q.y);
            int here = r < radii[0] ? 0 : r < radii[1] ? 1 : 2;
            assert_true(ring < 0 || ring == here);
            ring = here;
            float angle = atan2f(q.y, q.x);
            first = i == 0 ? angle : first;
            float turn = angle - first; // from the first node, in (-pi, pi]
            turn += turn > 3.1415927f ? -6.2831853f : turn < -3.1415927f ? 6.2831853f : 0.0f;
            low = fminf(low, turn);
            high = fmaxf(high, turn);
        }
        assert_true(high - low < 1.5707964f + 1e-3f);
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

static void LabelsAreFollowedToTheLetter(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 11);
    uint32_t count = scene.parts.mesh.nodeCount;
    uint32_t* labels = malloc(count * sizeof *labels);
    assert_non_null(labels);
    for (uint32_t i = 0; i < count; ++i)
    {
        labels[i] = knRandom_Below(&scene.random, 6);
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitLabels;
    def.labels = labels;
    def.groupCount = 6;
    def.roughness = 1.0f;
    Split(&scene, 0, &def);
    const knTetMesh* mesh = &scene.parts.mesh;
    for (uint32_t e = 0; e < mesh->edgeCount; ++e)
    {
        const uint32_t* v = mesh->edges[e].v;
        assert_int_equal(labels[v[0]] != labels[v[1]],
                         scene.store.labels[v[0]] != scene.store.labels[v[1]]);
    }
    AssertPartition(&scene);
    AssertSound(&scene);
    free(labels);
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

static void RoughnessIsSeededAndTheRestIsExact(void** state)
{
    (void)state;
    knVec3 sample[3];
    for (int run = 0; run < 3; ++run)
    {
        Scene scene;
        MakeBallScene(&scene, 15);
        knSplitDef def = knDefaultSplitDef();
        def.offset = 0.3f;
        def.roughness = 0.2f;
        def.roughnessSize = 0.4f;
        def.seed = run == 2 ? 99 : 7;
        knSplitResult result = Split(&scene, 0, &def);
        assert_int_equal(result.outcome, kn_splitDone);
        knVec3 sum = {0.0f, 0.0f, 0.0f};
        for (uint32_t i = 0; i < scene.store.pointCount; ++i)
        {
            sum = knAdd(sum, scene.store.points[i].position);
        }
        sample[run] = sum;
        AssertSound(&scene);
        FreeScene(&scene);
    }
    assert_memory_equal(&sample[0], &sample[1], sizeof(knVec3));
    assert_memory_not_equal(&sample[0], &sample[2], sizeof(knVec3));
}

static void NoCutComesNearerToANodeThanAllowed(void** state)
{
    (void)state;
    static const float shares[] = {0.02f, 0.1f, 0.25f, 0.45f};
    for (size_t k = 0; k < COUNT_OF(shares); ++k)
    {
        Scene scene;
        MakeBoxScene(&scene, 16);
        for (int i = 0; i < 6; ++i)
        {
            uint32_t fragment = Heaviest(&scene);
            knSplitDef def = RandomPlane(&scene, fragment);
            def.minCutShare = shares[k];
            if (i == 0)
            {
                // through a layer of nodes, where every value is zero
                def.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
                def.offset = 0.4f;
            }
            knArena_Reset(&scene.arena);
            Split(&scene, fragment, &def);
        }
        assert_true(scene.store.pointCount > 50);
        for (uint32_t i = 0; i < scene.store.pointCount; ++i)
        {
            float t = scene.store.points[i].t;
            assert_true(t > shares[k] - 1e-5f && t < 1.0f - shares[k] + 1e-5f);
        }
        AssertSound(&scene);
        FreeScene(&scene);
    }
}

// A linear function of position on the corners stays that function on every clipped triangle.
static void OriginalCornersAreInterpolated(void** state)
{
    (void)state;
    Scene scene = {.shape = MakeBall(5, 1.0f, knMakeVec3(0.0f, 0.0f, 0.0f))};
    StartScene(&scene, 17);
    const knTetMesh* mesh = &scene.parts.mesh;
    uint32_t count = scene.parts.surface.positionCount;
    knCornerAttribute* attributes = calloc(count, sizeof *attributes);
    assert_non_null(attributes);
    for (uint32_t i = 0; i < count; ++i)
    {
        knVec3 p = mesh->nodes[i];
        attributes[i] = (knCornerAttribute){knNormalize(p), p.x + 2.0f * p.y, p.z - p.x};
    }
    scene.parts.surface.attributes = attributes;
    scene.parts.surface.attributeCount = count;
    memcpy(scene.parts.corners, scene.parts.triangles,
           scene.parts.surface.triangleCount * sizeof(knTriangle));
    SplitHeaviest(&scene, 8);
    for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
    {
        if (!IsLive(&scene, f))
        {
            continue;
        }
        knArena_Reset(&scene.arena);
        knPieceSurface s = SurfaceOf(&scene, f);
        for (uint32_t i = 0; i < 3 * s.triangleCount; ++i)
        {
            const knCornerAttribute* c = &s.corners[i];
            knVec3 p = s.positions[s.triangles[i / 3].v[i % 3]];
            ASSERT_NEAR(knLength(c->normal), 1.0, 1e-5);
            if (!s.sources[i / 3].isCrack)
            {
                ASSERT_NEAR(c->u, p.x + 2.0f * p.y, 1e-5);
                ASSERT_NEAR(c->v, p.z - p.x, 1e-5);
                assert_true(knDot(c->normal, knNormalize(p)) > 0.95f);
                assert_true(s.sources[i / 3].triangle < scene.parts.surface.triangleCount);
            }
        }
    }
    free(attributes);
    FreeScene(&scene);
}

static void SmoothCrackNormalsAgreeAtAVertex(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 18);
    SplitHeaviest(&scene, 2);
    uint32_t f = Heaviest(&scene);
    const knPieceOptions options = {.smoothCracks = true, .textureScale = 2.0f};
    knPieceSurface s;
    assert_int_equal(knFragmentSet_Surface(&scene.set, f, &options, &scene.arena, &s), kn_success);
    knVec3* normals = calloc(s.vertexCount, sizeof *normals);
    assert_non_null(normals);
    for (uint32_t i = 0; i < 3 * s.triangleCount; ++i)
    {
        if (s.sources[i / 3].isCrack)
        {
            knVec3* n = &normals[s.triangles[i / 3].v[i % 3]];
            if (knLengthSquared(*n) > 0.0f)
            {
                assert_memory_equal(n, &s.corners[i].normal, sizeof *n);
            }
            *n = s.corners[i].normal;
        }
    }
    assert_true(s.crackTriangleCount > 0);
    free(normals);
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

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 24);
    knSplitResult result;
    MarkUntouched(&result, sizeof result);
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
        knResult status = knFragmentSet_Split(&scene.set, 0, &bad[i], &scene.arena, &result);
        assert_int_equal(status, kn_errorArgument);
        assert_true(knLastError()[0] != 0);
    }
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

// FNV-1a.
static uint64_t Hash(uint64_t hash, const void* data, size_t size)
{
    const unsigned char* bytes = data;
    for (size_t i = 0; i < size; ++i)
    {
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    }
    return hash;
}

// Debug and release, with and without sanitizers: one break, one result.
static void TheSameBitsEverywhere(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 25);
    const float radii[1] = {0.3f};
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitRadial;
    def.center = knMakeVec3(0.5f, 0.4f, 0.3f);
    def.axis = knMakeVec3(0.2f, 0.1f, 1.0f);
    def.sectorCount = 5;
    def.radii = radii;
    def.ringCount = 1;
    def.jitter = 0.4f;
    def.roughness = 0.05f;
    Split(&scene, 0, &def);
    SplitHeaviest(&scene, 6);
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
    {
        if (IsLive(&scene, f))
        {
            knArena_Reset(&scene.arena);
            knPieceSurface s = SurfaceOf(&scene, f);
            hash = Hash(hash, s.positions, s.vertexCount * sizeof(knVec3));
            hash = Hash(hash, s.pointIds, s.vertexCount * sizeof(uint32_t));
            hash = Hash(hash, s.triangles, s.triangleCount * sizeof(knTriangle));
            hash = Hash(hash, s.corners, 3 * s.triangleCount * sizeof(knCornerAttribute));
            hash = Hash(hash, &scene.set.fragments[f].mass, sizeof(knMassProperties));
        }
    }
    if (hash != GOLDEN_HASH)
    {
        print_error("the hash is 0x%016llX\n", (unsigned long long)hash);
        fail();
    }
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
        cmocka_unit_test(AnUncutObjectIsItsOwnSurface),
        cmocka_unit_test(APlaneCutsWhereItSays),
        cmocka_unit_test(ASplitThatPartsNothingChangesNothing),
        cmocka_unit_test(AnAreaAboveTheLimitIsRefusedWithoutATrace),
        cmocka_unit_test(TheDeltaTellsExactlyWhatChanged),
        cmocka_unit_test(OtherPiecesKeepEveryBit),
        cmocka_unit_test(PointIdsLast),
        cmocka_unit_test(PointsLieInThePieceThatTheLabelsName),
        cmocka_unit_test(EveryPieceOfAPatternBelongsToOneCell),
        cmocka_unit_test(RadialPiecesStayInTheirSectorAndRing),
        cmocka_unit_test(LabelsAreFollowedToTheLetter),
        cmocka_unit_test(SmallPiecesAreMergedBeforeAnythingIsKept),
        cmocka_unit_test(AMergeOfEverythingLeavesNoTrace),
        cmocka_unit_test(DebrisIsListedWithItsMass),
        cmocka_unit_test(RoughnessIsSeededAndTheRestIsExact),
        cmocka_unit_test(NoCutComesNearerToANodeThanAllowed),
        cmocka_unit_test(OriginalCornersAreInterpolated),
        cmocka_unit_test(SmoothCrackNormalsAgreeAtAVertex),
        cmocka_unit_test(LoosePartsBecomePiecesOfTheirOwn),
        cmocka_unit_test(ASplitInReservedRoomMakesNoHeapCall),
        cmocka_unit_test(TheArenaBoundHolds),
        cmocka_unit_test(AnArenaOfAnySizeLeavesSetAndStoreWhole),
        cmocka_unit_test(BreaksSurviveAllocationFailures),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(TheSameBitsEverywhere),
        cmocka_unit_test(NothingInTheLibraryFoundItselfWrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
