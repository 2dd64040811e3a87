// SPDX-License-Identifier: Zlib
#pragma once

// A broken object with its field, for the tests of distfield/.

#include "distfield/distfield_internal.h"
#include "field_oracle.h"
#include "kit.h"
#include "knap/cutting.h"
#include "tet_shapes.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define EFFORT 1
#else
#define EFFORT 8 // a million points per object
#endif
#define SPLITS 12
#define SHAPES 2

// A broken object with its field.
typedef struct World
{
    TetShape shape;
    knTetMeshStore store;
    knTetLocator locator;
    knDistanceGrid grid;
    knCutMesh cutMesh;
    knCutStore cuts;
    knFragmentSet set;
    knArena arena;
    knFragmentField* field;
    knRandom random;
    float size; // half the diagonal
} World;

static inline TetShape MakeShape(int index)
{
    const int slab[3] = {22, 22, 1}, block[3] = {9, 8, 7};
    if (index == 0)
    {
        TetShape shape =
            MakeLatticeBox(block, knMakeVec3(-1.0f, -0.8f, 0.0f), knMakeVec3(1.0f, 0.8f, 1.4f));
        JitterInside(&shape, 0.04f, 7);
        return shape;
    }
    return MakeLatticeBox(slab, knMakeVec3(-1.0f, -1.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 0.09f));
}

// The sections of a shape are the same bytes each time: cooked once, released at the end.
typedef struct Sections
{
    void* locatorBytes;
    void* gridBytes;
    size_t locatorSize, gridSize;
} Sections;

static Sections sections[SHAPES];

static inline void CookSections(Sections* s, const knTetMesh* mesh)
{
    assert_int_equal(knCookTetLocator(mesh, NULL, &s->locatorBytes, &s->locatorSize), kn_success);
    knTetLocator locator;
    assert_int_equal(knOpenTetLocator(&locator, mesh, s->locatorBytes, s->locatorSize, NULL),
                     kn_success);
    knGridDef def = knDefaultGridDef();
    assert_int_equal(knCookDistanceGrid(&def, &locator, NULL, &s->gridBytes, &s->gridSize),
                     kn_success);
}

static inline int ReleaseSections(void** state)
{
    (void)state;
    for (int i = 0; i < SHAPES; ++i)
    {
        knRelease(NULL, sections[i].locatorBytes, sections[i].locatorSize, 1);
        knRelease(NULL, sections[i].gridBytes, sections[i].gridSize, 1);
    }
    return 0;
}

static inline World* MakeWorld(int index, knFieldDef def)
{
    World* w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->shape = MakeShape(index);
    assert_int_equal(knBuildTetMesh(&w->store, w->shape.nodes, w->shape.nodeCount, w->shape.tets,
                                    w->shape.tetCount, NULL),
                     kn_success);
    const knTetMesh* mesh = &w->store.mesh;
    Sections* cooked = &sections[index];
    if (!cooked->gridBytes)
    {
        CookSections(cooked, mesh);
    }
    assert_int_equal(
        knOpenTetLocator(&w->locator, mesh, cooked->locatorBytes, cooked->locatorSize, NULL),
        kn_success);
    assert_int_equal(knOpenDistanceGrid(&w->grid, mesh, cooked->gridBytes, cooked->gridSize),
                     kn_success);
    assert_int_equal(knCreateCutMesh(&w->cutMesh, mesh, NULL, NULL), kn_success);
    assert_int_equal(knCreateCutStore(&w->cuts, mesh, NULL), kn_success);
    assert_int_equal(knCreateFragmentSet(&w->set, &w->cutMesh, &w->cuts, 1000.0, NULL), kn_success);
    assert_int_equal(knFragmentSet_Reserve(&w->set, 400), kn_success);
    assert_int_equal(knCreateArena(&w->arena, (size_t)16 << 20, NULL), kn_success);
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 400;
    def.pieceCapacity = 200;
    assert_int_equal(knCreateFragmentField(&w->field, &def, NULL), kn_success);
    w->random = knMakeRandom(3 + (uint64_t)index);
    w->size = 0.5f * knLength(knBox_Extent(w->locator.box));
    return w;
}

static inline void DestroyWorld(World* w)
{
    knDestroyFragmentField(w->field);
    knDestroyArena(&w->arena);
    knDestroyFragmentSet(&w->set);
    knDestroyCutStore(&w->cuts);
    knDestroyCutMesh(&w->cutMesh);
    knDestroyTetMeshStore(&w->store);
    DestroyShape(&w->shape);
    free(w);
}

static inline bool IsAlive(const World* w, uint32_t fragment)
{
    return w->set.fragments[fragment].state != kn_fragmentEnded;
}

// Splits the largest piece through its middle; the delta stays valid until the next split.
static inline bool SplitLargest(World* w, knSplitResult* result)
{
    uint32_t largest = 0;
    double volume = -1.0;
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        if (IsAlive(w, f) && w->set.fragments[f].mass.volume > volume)
        {
            volume = w->set.fragments[f].mass.volume;
            largest = f;
        }
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitPlane;
    def.normal = knRandom_UnitVec3(&w->random);
    def.offset = knDot(def.normal, knToFloat(w->set.fragments[largest].mass.center));
    def.roughness = 0.03f * w->size;
    def.roughnessSize = 0.4f * w->size;
    def.seed = knRandom_U64(&w->random);
    knArena_Reset(&w->arena);
    assert_int_equal(knFragmentSet_Split(&w->set, largest, &def, &w->arena, result), kn_success);
    return result->outcome == kn_splitDone;
}

static inline void Break(World* w, int splits)
{
    for (int i = 0; i < splits; ++i)
    {
        knSplitResult result;
        if (SplitLargest(w, &result))
        {
            assert_int_equal(knFragmentField_Update(w->field, &result.delta), kn_success);
        }
    }
    assert_true(splits == 0 || w->set.fragmentCount > (uint32_t)splits);
}

static inline World* MakeBroken(int index)
{
    World* w = MakeWorld(index, knDefaultFieldDef());
    Break(w, SPLITS);
    return w;
}

static inline uint32_t CountAlive(const World* w)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        count += IsAlive(w, f);
    }
    return count;
}

static inline float MeanEdge(const World* w)
{
    const knTetMesh* m = &w->store.mesh;
    double sum = 0.0;
    for (uint32_t e = 0; e < m->edgeCount; ++e)
    {
        sum += (double)knDistance(m->nodes[m->edges[e].v[0]], m->nodes[m->edges[e].v[1]]);
    }
    return (float)(sum / m->edgeCount);
}
