// SPDX-License-Identifier: Zlib
#pragma once

// An object that breaks, with a splitter of its own, and what its sphere forest must keep.

#include "kit.h"
#include "knap/random.h"
#include "knap/spheretree.h"
#include "tet_shapes.h"

#include <math.h>

#define MAX_FRAGMENTS 2048
#define MAX_PARTS     4

// One object with everything that a break needs, and a splitter of its own: it labels the nodes of
// a fragment by their closest site and cuts the edges between.
typedef struct World
{
    TetShape shape;
    knTetMeshStore store;
    knTetMesh mesh;
    void* bytes;
    size_t size;
    knSphereTree tree;
    knSphereForest forest;
    knCutStore cuts;
    knArena arena;
    knRandom random;
    uint32_t fragmentCount;
    bool endParent; // every part gets a new label; else the first keeps the old one
    uint32_t* splitNodes;
    uint32_t parts[MAX_PARTS];
    knFractureDelta delta;
} World;

static inline void MakeWorld(World* w, TetShape shape, uint32_t maxRoots)
{
    *w = (World){.shape = shape, .random = knMakeRandom(1), .fragmentCount = 1, .endParent = true};
    assert_int_equal(
        knBuildTetMesh(&w->store, shape.nodes, shape.nodeCount, shape.tets, shape.tetCount, NULL),
        kn_success);
    w->mesh = w->store.mesh;
    w->mesh.surfaceNodeCount = shape.surfaceNodeCount;
    assert_int_equal(knEncodeSphereTree(&w->mesh, NULL, &w->bytes, &w->size), kn_success);
    assert_int_equal(knOpenSphereTree(&w->tree, w->bytes, w->size, &w->mesh, NULL), kn_success);
    knSphereForestDef def = {.tree = &w->tree, .mesh = &w->mesh, .maxRoots = maxRoots};
    assert_int_equal(knCreateSphereForest(&w->forest, &def, NULL), kn_success);
    assert_int_equal(knCreateCutStore(&w->cuts, &w->mesh, NULL), kn_success);
    assert_int_equal(knCutStore_Reserve(&w->cuts, w->mesh.edgeCount, 0), kn_success);
    assert_int_equal(knCreateArena(&w->arena, 1 << 20, NULL), kn_success);
    w->splitNodes = malloc(w->mesh.nodeCount * sizeof(uint32_t));
    assert_non_null(w->splitNodes);
}

static inline void DestroyWorld(World* w)
{
    knDestroyArena(&w->arena);
    knDestroyCutStore(&w->cuts);
    knDestroySphereForest(&w->forest);
    knRelease(NULL, w->bytes, w->size, 1);
    knDestroyTetMeshStore(&w->store);
    DestroyShape(&w->shape);
    free(w->splitNodes);
}

static inline TetShape RoughBall(int cells)
{
    TetShape ball = MakeBall(cells, 1.0f, knMakeVec3(0.2f, 0.0f, -0.4f));
    JitterInside(&ball, 0.02f / (float)cells, 9);
    return ball;
}

static inline double Distance2(knVec3 a, knVec3 b)
{
    double x = (double)a.x - (double)b.x;
    double y = (double)a.y - (double)b.y;
    double z = (double)a.z - (double)b.z;
    return x * x + y * y + z * z;
}

static inline uint32_t PointCount(const World* w)
{
    return w->mesh.nodeCount + 2 * w->cuts.pointCount;
}

static inline knVec3 PositionOf(const World* w, uint32_t point)
{
    uint32_t n = w->mesh.nodeCount;
    return point < n ? w->mesh.nodes[point] : w->cuts.points[(point - n) / 2].position;
}

static inline uint32_t LabelOf(const World* w, uint32_t point)
{
    uint32_t n = w->mesh.nodeCount;
    uint32_t node =
        point < n ? point : w->mesh.edges[w->cuts.points[(point - n) / 2].edge].v[(point - n) % 2];
    return w->cuts.labels[node];
}

static inline void CutEdges(World* w, const uint8_t* touched)
{
    w->delta.firstPoint = w->cuts.pointCount;
    for (uint32_t e = 0; e < w->mesh.edgeCount; ++e)
    {
        const uint32_t* v = w->mesh.edges[e].v;
        bool both = touched[v[0]] && touched[v[1]];
        if (both && w->cuts.labels[v[0]] != w->cuts.labels[v[1]])
        {
            float t = knRandom_Range(&w->random, 0.15f, 0.85f);
            assert_int_equal(w->cuts.edgeCuts[e], KN_NONE);
            w->cuts.edgeCuts[e] = w->cuts.pointCount;
            w->cuts.points[w->cuts.pointCount++] =
                (knCutPoint){e, t, knLerp(w->mesh.nodes[v[0]], w->mesh.nodes[v[1]], t)};
        }
    }
    w->delta.pointCount = w->cuts.pointCount - w->delta.firstPoint;
}

// Labels and delta of one split; false when the fragment is a single node.
static inline bool Split(World* w, uint32_t fragment, uint32_t partCount)
{
    uint8_t* touched = calloc(w->mesh.nodeCount, 1);
    uint32_t* nodes = malloc(w->mesh.nodeCount * sizeof(uint32_t));
    assert_true(touched && nodes);
    uint32_t count = 0;
    for (uint32_t n = 0; n < w->mesh.nodeCount; ++n)
    {
        touched[n] = w->cuts.labels[n] == fragment;
        nodes[count] = n;
        count += touched[n];
    }
    partCount = partCount < count ? partCount : count;
    knVec3 sites[MAX_PARTS];
    for (uint32_t i = 0; count > 1 && i < partCount; ++i)
    {
        w->parts[i] = i == 0 && !w->endParent ? fragment : w->fragmentCount++;
        sites[i] = w->mesh.nodes[nodes[knRandom_Below(&w->random, count)]];
    }
    w->delta = (knFractureDelta){.parent = fragment,
                                 .fragments = w->parts,
                                 .fragmentCount = partCount,
                                 .splitNodes = w->splitNodes};
    for (uint32_t i = 0; count > 1 && i < count; ++i)
    {
        uint32_t best = 0;
        for (uint32_t k = 1; k < partCount; ++k)
        {
            knVec3 p = w->mesh.nodes[nodes[i]];
            best = Distance2(sites[k], p) < Distance2(sites[best], p) ? k : best;
        }
        w->cuts.labels[nodes[i]] = w->parts[best];
        w->splitNodes[w->delta.splitNodeCount] = nodes[i];
        w->delta.splitNodeCount += w->parts[best] != fragment;
    }
    if (count > 1)
    {
        CutEdges(w, touched);
    }
    free(touched);
    free(nodes);
    return count > 1;
}

// A point is in the forest unless a rebuild may have left it out.
static inline bool MustBeThere(const World* w, uint32_t point, bool dropped)
{
    return !dropped || point < w->mesh.surfaceNodeCount || point >= w->mesh.nodeCount;
}

// All points above hold this one, and the radii of a list never grow along it.
static inline void AssertHeld(const World* w, uint32_t point)
{
    const knSphereLinks* l = &w->forest.links;
    knVec3 position = PositionOf(w, point);
    uint32_t child = point;
    uint32_t steps = 0;
    for (uint32_t p = l->parent[point]; !(p & KN_SPHERE_ROOT); p = l->parent[p])
    {
        double reach = (double)l->reach[child];
        assert_true(reach * reach >= Distance2(PositionOf(w, p), position));
        child = p;
        assert_true(++steps < PointCount(w));
    }
    assert_int_equal(l->parent[child], KN_SPHERE_ROOT | LabelOf(w, point));
    uint32_t next = l->next[point];
    bool isRoot = child == point;
    assert_true(next == KN_NONE ||
                (l->level[next] >= l->level[point] && l->parent[next] == l->parent[point]));
    assert_true(isRoot || next == KN_NONE || l->reach[next] <= l->reach[point]);
}

static inline uint32_t CountRoots(const World* w, uint32_t fragment)
{
    uint32_t count = 0;
    uint32_t root = knSphereForest_Fragment(&w->forest, fragment).firstRoot;
    for (; root != KN_NONE; root = knSphereForest_NextRoot(&w->forest, root))
    {
        assert_true(knSphereForest_IsRoot(&w->forest, root));
        ++count;
    }
    return count;
}

// Marks what hangs below the roots of a fragment, through lists only.
static inline void MarkReached(const World* w, uint32_t fragment, uint8_t* reached)
{
    const knSphereLinks* l = &w->forest.links;
    uint32_t* stack = malloc((PointCount(w) + 1) * sizeof(uint32_t));
    assert_non_null(stack);
    uint32_t depth = 0;
    stack[depth++] = knSphereForest_Fragment(&w->forest, fragment).firstRoot;
    uint32_t count = 0;
    while (depth > 0)
    {
        uint32_t point = stack[--depth];
        for (; point != KN_NONE; point = l->next[point])
        {
            assert_true(point < PointCount(w) && !reached[point]);
            assert_int_equal(LabelOf(w, point), fragment);
            reached[point] = 1;
            ++count;
            if (l->first[point] != KN_NONE)
            {
                stack[depth++] = l->first[point];
            }
        }
    }
    free(stack);
    assert_int_equal(count, knSphereForest_Fragment(&w->forest, fragment).pointCount);
}

static inline void AssertForest(const World* w, bool dropped)
{
    uint8_t* reached = calloc(PointCount(w), 1);
    assert_non_null(reached);
    for (uint32_t f = 0; f < w->fragmentCount; ++f)
    {
        knSphereFragment fragment = knSphereForest_Fragment(&w->forest, f);
        MarkReached(w, f, reached);
        assert_int_equal(CountRoots(w, f), fragment.rootCount);
        assert_true(fragment.rootCount <= w->forest.maxRoots);
    }
    for (uint32_t p = 0; p < PointCount(w); ++p)
    {
        assert_true(reached[p] || !MustBeThere(w, p, dropped));
        assert_true(reached[p] == (w->forest.links.parent[p] != KN_SPHERE_ABSENT));
        if (reached[p])
        {
            AssertHeld(w, p);
        }
    }
    free(reached);
}

// A walk that always descends meets every point of the fragment once, levels in order.
static inline void AssertWalk(const World* w, uint32_t fragment)
{
    uint32_t expected = knSphereForest_Fragment(&w->forest, fragment).pointCount;
    knSphereQueryItem* items = malloc((expected + 1) * sizeof *items);
    uint8_t* met = calloc(PointCount(w), 1);
    assert_true(items && met);
    knSphereQuery query;
    knSphereBatch batch = {.count = 0};
    knSphereQuery_Begin(&query, &w->forest, &w->cuts, fragment, items, expected);
    uint32_t count = 0;
    uint32_t level = 0;
    while (knSphereQuery_Next(&query, &batch))
    {
        assert_true(batch.level >= level);
        level = batch.level;
        for (uint32_t i = 0; i < batch.count; ++i)
        {
            uint32_t p = batch.point[i];
            knVec3 position = PositionOf(w, p);
            assert_int_equal(LabelOf(w, p), fragment);
            assert_true(batch.first[i] == !met[p]);
            assert_true(batch.x[i] == position.x && batch.y[i] == position.y &&
                        batch.z[i] == position.z);
            assert_true(batch.first[i] || batch.cache[i] == (float)p);
            batch.cache[i] = (float)p;
            batch.descend[i] = 1;
            count += !met[p];
            met[p] = 1;
        }
    }
    assert_int_equal(count, expected);
    assert_int_equal(query.lostCount, 0);
    free(items);
    free(met);
}

// What the forest was before a break, to tell what changed.
typedef struct Snapshot
{
    uint32_t count;
    uint32_t *parent, *first, *next, *labels;
    float* reach;
    uint8_t* level;
} Snapshot;

static inline void* Copy(const void* items, size_t size)
{
    void* copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, items, size);
    return copy;
}

static inline Snapshot TakeSnapshot(const World* w)
{
    const knSphereLinks* l = &w->forest.links;
    // an unbroken forest has links of nodes only
    Snapshot s = {.count = w->forest.memory ? PointCount(w) : w->mesh.nodeCount};
    s.parent = Copy(l->parent, 4 * s.count);
    s.first = Copy(l->first, 4 * s.count);
    s.next = Copy(l->next, 4 * s.count);
    s.reach = Copy(l->reach, 4 * s.count);
    s.level = Copy(l->level, s.count);
    s.labels = malloc(4 * s.count);
    assert_non_null(s.labels);
    for (uint32_t p = 0; p < s.count; ++p)
    {
        s.labels[p] = LabelOf(w, p);
    }
    return s;
}

static inline void DestroySnapshot(Snapshot* s)
{
    free(s->parent);
    free(s->first);
    free(s->next);
    free(s->reach);
    free(s->level);
    free(s->labels);
}

static inline void AssertOthersUnchanged(const World* w, const Snapshot* s)
{
    const knSphereLinks* l = &w->forest.links;
    for (uint32_t p = 0; p < s->count; ++p)
    {
        if (s->labels[p] != w->delta.parent)
        {
            assert_int_equal(l->parent[p], s->parent[p]);
            assert_int_equal(l->first[p], s->first[p]);
            assert_int_equal(l->next[p], s->next[p]);
            assert_memory_equal(&l->reach[p], &s->reach[p], 4);
            assert_int_equal(l->level[p], s->level[p]);
        }
    }
}

// Section 5.2 by its words: the closest ancestor of the own fragment, else a root; a new point
// below the node at its end of the edge.
static inline void AssertParents(const World* w, const Snapshot* s)
{
    for (uint32_t p = 0; p < PointCount(w); ++p)
    {
        uint32_t expected = 0;
        uint32_t level = 0;
        if (p >= s->count)
        {
            uint32_t side = p - w->mesh.nodeCount;
            expected = w->mesh.edges[w->cuts.points[side / 2].edge].v[side % 2];
            level = w->forest.links.level[expected] + 1u;
        }
        else
        {
            uint32_t via = p;
            expected = s->parent[p];
            while (!(expected & KN_SPHERE_ROOT) && LabelOf(w, expected) != LabelOf(w, p))
            {
                via = expected;
                expected = s->parent[expected];
            }
            level = expected & KN_SPHERE_ROOT ? s->level[p] : s->level[via];
            expected = expected & KN_SPHERE_ROOT ? KN_SPHERE_ROOT | LabelOf(w, p) : expected;
        }
        assert_int_equal(w->forest.links.parent[p], expected);
        assert_int_equal(w->forest.links.level[p], level);
    }
}

static inline void Update(World* w)
{
    knArena_Reset(&w->arena);
    assert_int_equal(knSphereForest_Update(&w->forest, &w->delta, &w->cuts, &w->arena), kn_success);
    assert_int_equal(w->arena.usedBytes, 0);
}

static inline uint32_t LargestFragment(const World* w)
{
    uint32_t best = 0;
    for (uint32_t f = 1; f < w->fragmentCount; ++f)
    {
        uint32_t count = knSphereForest_Fragment(&w->forest, f).pointCount;
        best = count > knSphereForest_Fragment(&w->forest, best).pointCount ? f : best;
    }
    return best;
}

// Mostly the largest, so that there are many points to split, and sometimes any.
static inline bool SplitSomething(World* w)
{
    uint32_t fragment = knRandom_Below(&w->random, 3)
                            ? LargestFragment(w)
                            : knRandom_Below(&w->random, w->fragmentCount);
    w->endParent = knRandom_Below(&w->random, 2);
    return Split(w, fragment, 2 + knRandom_Below(&w->random, MAX_PARTS - 1));
}

static inline void ReserveAll(World* w)
{
    assert_int_equal(knSphereForest_Reserve(&w->forest, w->mesh.edgeCount, MAX_FRAGMENTS),
                     kn_success);
}
