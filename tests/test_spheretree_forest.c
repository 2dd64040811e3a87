// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "knap/spheretree.h"
#include "tet_shapes.h"

#include <math.h>
#include <pthread.h>

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

static void MakeWorld(World* w, TetShape shape, uint32_t maxRoots)
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

static void DestroyWorld(World* w)
{
    knDestroyArena(&w->arena);
    knDestroyCutStore(&w->cuts);
    knDestroySphereForest(&w->forest);
    knRelease(NULL, w->bytes, w->size, 1);
    knDestroyTetMeshStore(&w->store);
    DestroyShape(&w->shape);
    free(w->splitNodes);
}

static TetShape RoughBall(int cells)
{
    TetShape ball = MakeBall(cells, 1.0f, knMakeVec3(0.2f, 0.0f, -0.4f));
    JitterInside(&ball, 0.04f / (float)cells, 9);
    return ball;
}

static double Distance2(knVec3 a, knVec3 b)
{
    double x = (double)a.x - (double)b.x;
    double y = (double)a.y - (double)b.y;
    double z = (double)a.z - (double)b.z;
    return x * x + y * y + z * z;
}

static uint32_t PointCount(const World* w)
{
    return w->mesh.nodeCount + 2 * w->cuts.pointCount;
}

static knVec3 PositionOf(const World* w, uint32_t point)
{
    uint32_t n = w->mesh.nodeCount;
    return point < n ? w->mesh.nodes[point] : w->cuts.points[(point - n) / 2].position;
}

static uint32_t LabelOf(const World* w, uint32_t point)
{
    uint32_t n = w->mesh.nodeCount;
    uint32_t node =
        point < n ? point : w->mesh.edges[w->cuts.points[(point - n) / 2].edge].v[(point - n) % 2];
    return w->cuts.labels[node];
}

static void CutEdges(World* w, const uint8_t* touched)
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
static bool Split(World* w, uint32_t fragment, uint32_t partCount)
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
static bool MustBeThere(const World* w, uint32_t point, bool dropped)
{
    return !dropped || point < w->mesh.surfaceNodeCount || point >= w->mesh.nodeCount;
}

// All points above hold this one, and the radii of a list never grow along it.
static void AssertHeld(const World* w, uint32_t point)
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

static uint32_t CountRoots(const World* w, uint32_t fragment)
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
static void MarkReached(const World* w, uint32_t fragment, uint8_t* reached)
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

static void AssertForest(const World* w, bool dropped)
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
static void AssertWalk(const World* w, uint32_t fragment)
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

static void* Copy(const void* items, size_t size)
{
    void* copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, items, size);
    return copy;
}

static Snapshot TakeSnapshot(const World* w)
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

static void DestroySnapshot(Snapshot* s)
{
    free(s->parent);
    free(s->first);
    free(s->next);
    free(s->reach);
    free(s->level);
    free(s->labels);
}

static void AssertOthersUnchanged(const World* w, const Snapshot* s)
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
static void AssertParents(const World* w, const Snapshot* s)
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

static void Update(World* w)
{
    knArena_Reset(&w->arena);
    assert_int_equal(knSphereForest_Update(&w->forest, &w->delta, &w->cuts, &w->arena), kn_success);
    assert_int_equal(w->arena.usedBytes, 0);
}

static uint32_t LargestFragment(const World* w)
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
static bool SplitSomething(World* w)
{
    uint32_t fragment = knRandom_Below(&w->random, 3)
                            ? LargestFragment(w)
                            : knRandom_Below(&w->random, w->fragmentCount);
    w->endParent = knRandom_Below(&w->random, 2);
    return Split(w, fragment, 2 + knRandom_Below(&w->random, MAX_PARTS - 1));
}

static void ReserveAll(World* w)
{
    assert_int_equal(knSphereForest_Reserve(&w->forest, w->mesh.edgeCount, MAX_FRAGMENTS),
                     kn_success);
}

// Any number of breaks: parents by the paper's rule, every point reached once and held by all
// spheres above it, other fragments the same bits.
static void HundredSplitsKeepEveryPromise(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(9), 100000);
    ReserveAll(&w);
    AssertForest(&w, false);
    for (int done = 0; done < 100;)
    {
        Snapshot before = TakeSnapshot(&w);
        if (SplitSomething(&w))
        {
            Update(&w);
            AssertForest(&w, false);
            AssertOthersUnchanged(&w, &before);
            AssertParents(&w, &before);
            for (uint32_t i = 0; i < w.delta.fragmentCount; ++i)
            {
                AssertWalk(&w, w.parts[i]);
            }
            ++done;
        }
        DestroySnapshot(&before);
    }
    assert_true(w.fragmentCount > 100);
    DestroyWorld(&w);
}

// A cap on roots costs parents, not points.
static void RootsStayUnderTheirCap(void** state)
{
    (void)state;
    static const uint32_t caps[] = {2, 5, 16};
    for (uint32_t c = 0; c < COUNT_OF(caps); ++c)
    {
        World w;
        MakeWorld(&w, RoughBall(7), caps[c]);
        ReserveAll(&w);
        for (int done = 0; done < 40;)
        {
            Snapshot before = TakeSnapshot(&w);
            if (SplitSomething(&w))
            {
                Update(&w);
                AssertForest(&w, false);
                AssertOthersUnchanged(&w, &before);
                AssertWalk(&w, w.parts[0]);
                ++done;
            }
            DestroySnapshot(&before);
        }
        assert_true(w.forest.regroupCount > 0);
        DestroyWorld(&w);
    }
}

static void UnbrokenInstancesOwnNoLinks(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(4), 64);
    assert_null(w.forest.memory);
    assert_ptr_equal(w.forest.links.parent, w.tree.links.parent);
    AssertForest(&w, false);
    AssertWalk(&w, 0);
    DestroyWorld(&w);
}

// What does not fit changes nothing and goes through after a reserve.
static void UpdatesWithoutRoomAreDeferred(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    assert_true(Split(&w, 0, 3));
    Snapshot before = TakeSnapshot(&w);
    knResult result = knSphereForest_Update(&w.forest, &w.delta, &w.cuts, &w.arena);
    assert_int_equal(result, kn_errorLimit);
    assert_int_equal(knSphereForest_Reserve(&w.forest, w.cuts.pointCount - 1, 4), kn_success);
    result = knSphereForest_Update(&w.forest, &w.delta, &w.cuts, &w.arena);
    assert_int_equal(result, kn_errorLimit);
    assert_int_equal(knSphereForest_Reserve(&w.forest, w.cuts.pointCount, 4), kn_success);
    knArena tiny;
    assert_int_equal(knCreateArena(&tiny, 64, NULL), kn_success);
    result = knSphereForest_Update(&w.forest, &w.delta, &w.cuts, &tiny);
    assert_int_equal(result, kn_errorLimit);
    assert_true(tiny.wantedBytes > 0);
    w.delta.parent = KN_NONE - 1;
    AssertOthersUnchanged(&w, &before);
    w.delta.parent = 0;
    knDestroyArena(&tiny);
    Update(&w);
    AssertForest(&w, false);
    DestroySnapshot(&before);
    DestroyWorld(&w);
}

static knResult Rebuild(World* w, uint32_t fragment, bool drop)
{
    knSphereRebuild* job = NULL;
    knResult result = knBeginSphereRebuild(&job, &w->forest, &w->cuts, fragment, drop, NULL);
    if (result == kn_success)
    {
        knSphereRebuild_Run(job);
        assert_true(knSphereRebuild_Commit(job, &w->forest));
        // the same result twice is stale: the forest has changed by itself
        assert_false(knSphereRebuild_Commit(job, &w->forest));
        knDestroySphereRebuild(job);
        assert_int_equal(CountRoots(w, fragment), 1);
    }
    return result;
}

static void BreakAndRebuild(bool drop)
{
    World w;
    MakeWorld(&w, RoughBall(7), 16);
    ReserveAll(&w);
    for (int done = 0; done < 60;)
    {
        if (!SplitSomething(&w))
        {
            continue;
        }
        Update(&w);
        AssertForest(&w, drop);
        uint32_t fragment = knRandom_Below(&w.random, w.fragmentCount);
        uint32_t points = knSphereForest_Fragment(&w.forest, fragment).pointCount;
        Snapshot before = TakeSnapshot(&w);
        assert_int_equal(Rebuild(&w, fragment, drop), points > 0 ? kn_success : kn_errorArgument);
        w.delta.parent = fragment;
        AssertOthersUnchanged(&w, &before);
        DestroySnapshot(&before);
        AssertForest(&w, drop);
        AssertWalk(&w, fragment);
        ++done;
    }
    DestroyWorld(&w);
}

static void RebuildsKeepEveryPromise(void** state)
{
    (void)state;
    BreakAndRebuild(false);
}

static void RebuildsWithoutInteriorKeepTheSurface(void** state)
{
    (void)state;
    BreakAndRebuild(true);
}

// The tree of a rebuilt fragment is the cooked tree of its points.
static void ARebuildOfTheWholeIsTheCookedTree(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    ReserveAll(&w);
    Snapshot cooked = TakeSnapshot(&w);
    assert_int_equal(Rebuild(&w, 0, false), kn_success);
    w.delta.parent = KN_NONE - 1;
    AssertOthersUnchanged(&w, &cooked);
    DestroySnapshot(&cooked);
    DestroyWorld(&w);
}

static void StaleRebuildsAreDiscarded(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    ReserveAll(&w);
    assert_true(Split(&w, 0, 3));
    Update(&w);
    uint32_t broken = w.parts[0];
    uint32_t whole = w.parts[1];
    knSphereRebuild* first = NULL;
    knSphereRebuild* second = NULL;
    assert_int_equal(knBeginSphereRebuild(&first, &w.forest, &w.cuts, broken, true, NULL),
                     kn_success);
    assert_int_equal(knBeginSphereRebuild(&second, &w.forest, &w.cuts, whole, true, NULL),
                     kn_success);
    assert_false(knSphereRebuild_Commit(first, &w.forest));
    knSphereRebuild_Run(first);
    // its label lives on with another part: only the generation tells
    w.endParent = false;
    assert_true(Split(&w, broken, 2));
    Update(&w);
    knSphereRebuild_Run(second);
    Snapshot before = TakeSnapshot(&w);
    assert_false(knSphereRebuild_Commit(first, &w.forest));
    w.delta.parent = KN_NONE - 1;
    AssertOthersUnchanged(&w, &before);
    DestroySnapshot(&before);
    assert_true(knSphereRebuild_Commit(second, &w.forest));
    AssertForest(&w, true);
    knDestroySphereRebuild(first);
    knDestroySphereRebuild(second);
    DestroyWorld(&w);
}

static void* RunElsewhere(void* job)
{
    knSphereRebuild_Run(job);
    return NULL;
}

// A job shares nothing with the forest: breaks go on while it runs, and it may end at any time.
static void RebuildsRunBesideBreaks(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(8), 16);
    ReserveAll(&w);
    assert_true(Split(&w, 0, 2));
    Update(&w);
    for (int round = 0; round < 10; ++round)
    {
        uint32_t fragment = LargestFragment(&w);
        uint32_t other = knRandom_Below(&w.random, w.fragmentCount);
        knSphereRebuild* job = NULL;
        assert_int_equal(knBeginSphereRebuild(&job, &w.forest, &w.cuts, fragment, false, NULL),
                         kn_success);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, RunElsewhere, job), 0);
        bool broke = Split(&w, other, 3);
        if (broke)
        {
            Update(&w);
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(knSphereRebuild_Commit(job, &w.forest) == (!broke || other != fragment));
        knDestroySphereRebuild(job);
        AssertForest(&w, false);
    }
    DestroyWorld(&w);
}

static void ShrinkingMakesRadiiTight(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(7), 16);
    ReserveAll(&w);
    for (int i = 0; i < 20; ++i)
    {
        if (SplitSomething(&w))
        {
            Update(&w);
        }
    }
    for (uint32_t f = 0; f < w.fragmentCount; ++f)
    {
        knSphereQuality before = knSphereForest_Quality(&w.forest, f);
        knSphereForest_Shrink(&w.forest, f, &w.cuts);
        knSphereQuality after = knSphereForest_Quality(&w.forest, f);
        assert_true(after.meanRadius <= before.meanRadius);
        assert_int_equal(after.pointCount, knSphereForest_Fragment(&w.forest, f).pointCount);
    }
    AssertForest(&w, false);
    // tight: no root can give up a single bit of its radius
    for (uint32_t p = 0; p < w.mesh.nodeCount; ++p)
    {
        if (!knSphereForest_IsRoot(&w.forest, p))
        {
            continue;
        }
        double furthest = 0.0;
        for (uint32_t q = 0; q < PointCount(&w); ++q)
        {
            uint32_t a = q;
            while (a != p && !knSphereForest_IsRoot(&w.forest, a))
            {
                a = w.forest.links.parent[a];
            }
            double d = a == p ? Distance2(PositionOf(&w, p), PositionOf(&w, q)) : 0.0;
            furthest = d > furthest ? d : furthest;
        }
        double below = (double)nextafterf(knSphereForest_Radius(&w.forest, p), -1.0f);
        assert_true(furthest == 0.0 || below * below < furthest);
    }
    DestroyWorld(&w);
}

// A walk that prunes by a plane meets every point below it, and nothing twice.
static void WalksThatPruneMissNothing(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(8), 16);
    ReserveAll(&w);
    knSphereQueryItem* items = malloc(PointCount(&w) * 16 * sizeof *items);
    uint8_t* met = malloc(16 * PointCount(&w));
    assert_true(items && met);
    uint32_t visits = 0;
    uint32_t points = 0;
    for (int round = 0; round < 40; ++round)
    {
        uint32_t fragment = LargestFragment(&w);
        knVec3 normal = knRandom_UnitVec3(&w.random);
        float offset = knRandom_Range(&w.random, -0.9f, 0.5f);
        memset(met, 0, PointCount(&w));
        knSphereQuery query;
        knSphereBatch batch = {.count = 0};
        knSphereQuery_Begin(&query, &w.forest, &w.cuts, fragment, items, PointCount(&w));
        while (knSphereQuery_Next(&query, &batch))
        {
            for (uint32_t i = 0; i < batch.count; ++i)
            {
                knVec3 p = knMakeVec3(batch.x[i], batch.y[i], batch.z[i]);
                batch.cache[i] = batch.first[i] ? knDot(normal, p) - offset : batch.cache[i];
                batch.descend[i] = batch.cache[i] < batch.radius[i] + 1e-5f;
                met[batch.point[i]] = 1;
                ++visits;
            }
        }
        for (uint32_t p = 0; p < PointCount(&w); ++p)
        {
            bool below = knDot(normal, PositionOf(&w, p)) < offset;
            assert_true(met[p] || !below || LabelOf(&w, p) != fragment);
            points += LabelOf(&w, p) == fragment;
        }
        if (round % 4 == 3 && Split(&w, fragment, 2))
        {
            Update(&w);
        }
    }
    // and it does prune
    assert_true(visits < points);
    free(items);
    free(met);
    DestroyWorld(&w);
}

// Too few items lose points, never memory, and the count tells.
static void TooFewItemsAreCounted(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(6), 64);
    knSphereQueryItem items[8];
    knSphereQuery query;
    knSphereBatch batch = {.count = 0};
    knSphereQuery_Begin(&query, &w.forest, &w.cuts, 0, items, COUNT_OF(items));
    while (knSphereQuery_Next(&query, &batch))
    {
        memset(batch.descend, 1, sizeof batch.descend);
    }
    assert_true(query.lostCount > 0);
    knSphereQuery_Begin(&query, &w.forest, &w.cuts, 77, items, COUNT_OF(items));
    batch.count = 0;
    assert_false(knSphereQuery_Next(&query, &batch));
    DestroyWorld(&w);
}

static uint64_t HashForest(const World* w)
{
    const knSphereLinks* l = &w->forest.links;
    uint64_t hash = 1469598103934665603u;
    for (uint32_t p = 0; p < PointCount(w); ++p)
    {
        uint32_t bits = 0;
        memcpy(&bits, &l->reach[p], 4);
        const uint32_t words[] = {l->parent[p], l->first[p], l->next[p], bits, l->level[p]};
        for (uint32_t i = 0; i < COUNT_OF(words); ++i)
        {
            hash = (hash ^ words[i]) * 1099511628211u;
        }
    }
    return hash;
}

static uint64_t RunOnce(void)
{
    World w;
    MakeWorld(&w, RoughBall(6), 8);
    ReserveAll(&w);
    for (int i = 0; i < 30; ++i)
    {
        if (SplitSomething(&w))
        {
            Update(&w);
        }
        if (i % 10 == 9)
        {
            assert_int_equal(Rebuild(&w, LargestFragment(&w), true), kn_success);
        }
    }
    uint64_t hash = HashForest(&w);
    DestroyWorld(&w);
    return hash;
}

static void TheSameBreaksGiveTheSameForest(void** state)
{
    (void)state;
    assert_true(RunOnce() == RunOnce());
}

static knResult Attempt(const knAllocator* allocator, void* context)
{
    World* w = context;
    knSphereForestDef def = knDefaultSphereForestDef();
    def.tree = &w->tree;
    def.mesh = &w->mesh;
    knSphereForest forest;
    knResult result = knCreateSphereForest(&forest, &def, allocator);
    if (result != kn_success)
    {
        return result;
    }
    result = knSphereForest_Reserve(&forest, 10, 100);
    result = result == kn_success ? knSphereForest_Reserve(&forest, 1000, 1000) : result;
    knSphereRebuild* job = NULL;
    result = result == kn_success
                 ? knBeginSphereRebuild(&job, &forest, &w->cuts, 0, true, allocator)
                 : result;
    assert_true((result == kn_success) == (job != NULL));
    if (job)
    {
        knSphereRebuild_Run(job);
        assert_true(knSphereRebuild_Commit(job, &forest));
    }
    // a failure leaves a forest that still works
    assert_int_equal(knSphereForest_Fragment(&forest, 0).rootCount, 1);
    assert_true(knSphereForest_NextPoint(&forest, forest.fragments[0].firstRoot) != KN_NONE);
    knDestroySphereRebuild(job);
    knDestroySphereForest(&forest);
    return result;
}

static void FailedAllocationsAreSurvived(void** state)
{
    (void)state;
    World w;
    MakeWorld(&w, RoughBall(4), 64);
    SurviveAllocationFailures(Attempt, &w);
    DestroyWorld(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(HundredSplitsKeepEveryPromise),
        cmocka_unit_test(RootsStayUnderTheirCap),
        cmocka_unit_test(UnbrokenInstancesOwnNoLinks),
        cmocka_unit_test(UpdatesWithoutRoomAreDeferred),
        cmocka_unit_test(RebuildsKeepEveryPromise),
        cmocka_unit_test(RebuildsWithoutInteriorKeepTheSurface),
        cmocka_unit_test(ARebuildOfTheWholeIsTheCookedTree),
        cmocka_unit_test(StaleRebuildsAreDiscarded),
        cmocka_unit_test(RebuildsRunBesideBreaks),
        cmocka_unit_test(ShrinkingMakesRadiiTight),
        cmocka_unit_test(WalksThatPruneMissNothing),
        cmocka_unit_test(TooFewItemsAreCounted),
        cmocka_unit_test(TheSameBreaksGiveTheSameForest),
        cmocka_unit_test(FailedAllocationsAreSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
