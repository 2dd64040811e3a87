// SPDX-License-Identifier: Zlib
#pragma once

// Scenes that the tests of splits and pieces share: a ball or a box to break, what must hold after
// every break, and copies of all that a break may write.

#include "cooked.h"
#include "kit.h"
#include "piece_checks.h"
#include "tet_shapes.h"

#include "knap/cutting.h"
#include "knap/random.h"

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

static inline void StartScene(Scene* scene, uint64_t seed)
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

static inline void MakeBallScene(Scene* scene, uint64_t seed)
{
    scene->shape = MakeBall(6, 1.0f, knMakeVec3(0.3f, -0.2f, 0.1f));
    JitterInside(&scene->shape, 0.01f, seed);
    StartScene(scene, seed);
}

static inline void MakeBoxScene(Scene* scene, uint64_t seed)
{
    const int cells[3] = {5, 4, 3};
    scene->shape =
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 0.8f, 0.6f));
    StartScene(scene, seed);
}

static inline void FreeScene(Scene* scene)
{
    knDestroyArena(&scene->arena);
    knDestroyFragmentSet(&scene->set);
    knDestroyCutStore(&scene->store);
    knDestroyCutMesh(&scene->cutMesh);
    DestroyCookParts(&scene->parts);
    DestroyShape(&scene->shape);
}

static inline bool IsLive(const Scene* scene, uint32_t fragment)
{
    return scene->set.fragments[fragment].state != kn_fragmentEnded;
}

static inline PieceView ViewOf(const knPieceSurface* s)
{
    return (PieceView){s->positions, s->triangles, s->vertexCount, s->triangleCount};
}

static inline knPieceSurface SurfaceOf(Scene* scene, uint32_t fragment)
{
    knPieceSurface surface;
    assert_int_equal(knFragmentSet_Surface(&scene->set, fragment, NULL, &scene->arena, &surface),
                     kn_success);
    return surface;
}

static inline knSplitResult Split(Scene* scene, uint32_t fragment, const knSplitDef* def)
{
    knSplitResult result;
    assert_int_equal(knFragmentSet_Split(&scene->set, fragment, def, &scene->arena, &result),
                     kn_success);
    return result;
}

static inline uint32_t Heaviest(const Scene* scene)
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

static inline knSplitDef RandomPlane(Scene* scene, uint32_t fragment)
{
    knSplitDef def = knDefaultSplitDef();
    def.normal = knRandom_UnitVec3(&scene->random);
    def.offset = knDot(def.normal, knToFloat(scene->set.fragments[fragment].mass.center));
    return def;
}

static inline void SplitHeaviest(Scene* scene, int times)
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

static inline void AssertSound(Scene* scene)
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
static inline void AssertPartition(const Scene* scene)
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

// Plain copies of everything that a split may write.
typedef struct Snapshot
{
    uint32_t* numbers; // labels, edge cuts, tetrahedron cuts, nodes, slots
    size_t size;
    knCutPoint* points;
    knTetCut* cuts;
    uint32_t pointCount, cutCount, fragmentCount;
} Snapshot;

static inline void Copy(Snapshot* snapshot, const uint32_t* items, size_t count)
{
    memcpy(snapshot->numbers + snapshot->size, items, count * sizeof *items);
    snapshot->size += count;
}

static inline Snapshot TakeSnapshot(const knFragmentSet* set)
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

static inline void FreeSnapshot(Snapshot* s)
{
    free(s->numbers);
    free(s->points);
    free(s->cuts);
}

static inline void AssertAsBefore(const Snapshot* before, const knFragmentSet* set)
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
