// SPDX-License-Identifier: Zlib
#include "kit.h"

#if defined(KN_TEST_GMP)

#include "bvh/bvh_internal.h"
#include "knap/random.h"
#include "surfaces.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

typedef struct State
{
    Surface surfaces[SURFACE_COUNT];
    TruePairs truths[SURFACE_COUNT];
    knTaskPool* pool;
} State;

static State shared;

static int SetUp(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        shared.surfaces[i] = surfaceMakers[i]();
        shared.truths[i] = FindTruePairs(&shared.surfaces[i]);
    }
    return knCreateTaskPool(&shared.pool, 2, NULL) == kn_success ? 0 : 1;
}

static int TearDown(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        FreeSurface(&shared.surfaces[i]);
        FreeTruePairs(&shared.truths[i]);
    }
    knDestroyTaskPool(shared.pool);
    return 0;
}

static bool IsSupported(knInstructionSet set)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.instructions = set;
    knBvhScene* scene = NULL;
    bool supported = knCreateBvhScene(&scene, &def, NULL) == kn_success;
    knDestroyBvhScene(scene);
    return supported;
}

static void JudgeOptions(const Surface* s, const TruePairs* truth, const knBvhSceneDef* def)
{
    knTaskHooks hooks = knTaskPool_Hooks(shared.pool);
    knBvhScene* scene = MakeScene(s, def);
    for (int i = 0; i < 4; ++i)
    {
        knBvhQueryDef query = knDefaultBvhQueryDef();
        query.skipAdjacent = (i & 1) != 0;
        query.tasks = (i & 2) != 0 ? &hooks : NULL;
        size_t wrong = CountWrongPairs(scene, &query, truth, s);
        if (wrong > 0)
        {
            fail_msg("%s: %zu pairs wrong; build %d culling %d instructions %d query %d", s->name,
                     wrong, (int)def->build, (int)def->culling, (int)def->instructions, i);
        }
    }
    knDestroyBvhScene(scene);
}

// Every combination of the options that promise exactness, on every surface.
static void AllOptionsAgreeWithRationals(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        for (int n = 0; n < kn_bvhBuildCount * 3 * (kn_bvhCullExact + 1); ++n)
        {
            knBvhSceneDef def = knDefaultBvhSceneDef();
            def.build = (knBvhBuild)(n % kn_bvhBuildCount);
            def.instructions = (knInstructionSet)(kn_instructionsScalar + n / 3 % 3);
            def.culling = (knBvhCulling)(n / 9);
            def.gridLimit = 64;
            // the hub has half a million pairs of boxes: every fifth will do
            bool isTurn = shared.surfaces[i].triangleCount < 900 || n % 5 == 0;
            if (isTurn && IsSupported(def.instructions))
            {
                JudgeOptions(&shared.surfaces[i], &shared.truths[i], &def);
            }
        }
    }
}

// The hierarchy of one shape, moved to another, must find the other's pairs.
static void MovedSurfacesAgree(void** state)
{
    (void)state;
    Surface calm = MakeSheet(10, 0.1f, 21);
    for (int n = 0; n < kn_bvhBuildCount * kn_bvhUpdateCount; ++n)
    {
        knBvhSceneDef def = knDefaultBvhSceneDef();
        def.build = (knBvhBuild)(n % kn_bvhBuildCount);
        def.update = (knBvhUpdate)(n / kn_bvhBuildCount);
        knBvhScene* scene = MakeScene(&calm, &def);
        for (uint64_t step = 0; step < 3; ++step)
        {
            Surface moved = MakeSheet(10, 0.4f * (float)(step + 1), 30 + step);
            TruePairs truth = FindTruePairs(&moved);
            knBvhQueryDef query = knDefaultBvhQueryDef();
            assert_int_equal(
                knBvhScene_MoveVertices(scene, 0, moved.positionCount, moved.positions),
                kn_success);
            assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
            assert_int_equal(CountWrongPairs(scene, &query, &truth, &moved), 0);
            FreeTruePairs(&truth);
            FreeSurface(&moved);
        }
        knDestroyBvhScene(scene);
    }
    FreeSurface(&calm);
}

// A power of two is exact: the same pairs at scales where products of three leave the floats.
static void ScalesChangeNothing(void** state)
{
    (void)state;
    static const float scales[] = {0x1p100f, 0x1p-100f, 0x1p20f, 0x1p-20f};
    for (size_t k = 0; k < COUNT_OF(scales); ++k)
    {
        for (int i = 0; i < SURFACE_COUNT; ++i)
        {
            Surface s = surfaceMakers[i]();
            for (uint32_t v = 0; v < s.positionCount; ++v)
            {
                s.positions[v] = knScale(scales[k], s.positions[v]);
            }
            knBvhSceneDef def = knDefaultBvhSceneDef();
            knBvhQueryDef query = knDefaultBvhQueryDef();
            knBvhScene* scene = MakeScene(&s, &def);
            assert_int_equal(CountWrongPairs(scene, &query, &shared.truths[i], &s), 0);
            knDestroyBvhScene(scene);
            FreeSurface(&s);
        }
    }
}

// Turns by right angles and mirrors are exact too.
static void TurnsChangeNothing(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        Surface s = surfaceMakers[i]();
        for (uint32_t v = 0; v < s.positionCount; ++v)
        {
            knVec3 p = s.positions[v];
            s.positions[v] = knMakeVec3(-p.z, p.x, p.y);
        }
        knBvhSceneDef def = knDefaultBvhSceneDef();
        knBvhQueryDef query = knDefaultBvhQueryDef();
        knBvhScene* scene = MakeScene(&s, &def);
        assert_int_equal(CountWrongPairs(scene, &query, &shared.truths[i], &s), 0);
        knDestroyBvhScene(scene);
        FreeSurface(&s);
    }
}

static void Shuffle(uint32_t* order, uint32_t count, uint64_t seed)
{
    knRandom r = knMakeRandom(seed);
    for (uint32_t i = 0; i < count; ++i)
    {
        order[i] = i;
    }
    for (uint32_t i = count; i > 1; --i)
    {
        uint32_t k = knRandom_Below(&r, i), t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
}

// Other numbers for faces and vertices: the same pairs under their new names.
static void PermutationsChangeNothing(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        Surface s = surfaceMakers[i](), old = surfaceMakers[i]();
        uint32_t faces[2048], vertices[2048]; // new number of each
        Shuffle(faces, s.triangleCount, 77);
        Shuffle(vertices, s.positionCount, 78);
        for (uint32_t v = 0; v < s.positionCount; ++v)
        {
            s.positions[vertices[v]] = old.positions[v];
        }
        for (uint32_t f = 0; f < s.triangleCount; ++f)
        {
            const uint32_t* v = old.triangles[f].v;
            s.triangles[faces[f]] = (knTriangle){{vertices[v[2]], vertices[v[0]], vertices[v[1]]}};
        }
        knBvhSceneDef def = knDefaultBvhSceneDef();
        knBvhQueryDef queryDef = knDefaultBvhQueryDef();
        knBvhScene* scene = MakeScene(&s, &def);
        knBvhQuery* query = NULL;
        knCreateBvhQuery(&query, NULL);
        assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_success);
        size_t count, matched = 0;
        const knBvhPair* pairs = knBvhQuery_Pairs(query, &count);
        assert_int_equal(count, shared.truths[i].count);
        for (size_t k = 0; k < count; ++k)
        {
            uint32_t a = faces[shared.truths[i].pairs[k].a];
            uint32_t b = faces[shared.truths[i].pairs[k].b];
            for (size_t n = 0; n < count; ++n)
            {
                matched += pairs[n].a == (a < b ? a : b) && pairs[n].b == (a < b ? b : a);
            }
        }
        assert_int_equal(matched, count);
        knDestroyBvhQuery(query);
        knDestroyBvhScene(scene);
        FreeSurface(&old);
        FreeSurface(&s);
    }
}

static void FlushedDenormalsChangeNothing(void** state)
{
    (void)state;
#if defined(__SSE2__)
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        Surface s = surfaceMakers[i]();
        if (s.triangleCount > 900)
        {
            FreeSurface(&s);
            continue; // all in one plane once rounded: too many pairs for the rationals
        }
        // on the lattice, so that it fits into denormals without rounding
        for (uint32_t v = 0; v < s.positionCount; ++v)
        {
            knVec3 p = s.positions[v];
            s.positions[v] = knScale(
                0x1p-149f, knMakeVec3(rintf(64.0f * p.x), rintf(64.0f * p.y), rintf(64.0f * p.z)));
        }
        TruePairs truth = FindTruePairs(&s);
        uint32_t mode = _mm_getcsr();
        _mm_setcsr(mode | 0x8040u);
        knBvhSceneDef def = knDefaultBvhSceneDef();
        knBvhQueryDef query = knDefaultBvhQueryDef();
        knBvhScene* scene = MakeScene(&s, &def);
        size_t wrong = CountWrongPairs(scene, &query, &truth, &s);
        knDestroyBvhScene(scene);
        _mm_setcsr(mode);
        assert_int_equal(wrong, 0);
        FreeTruePairs(&truth);
        FreeSurface(&s);
    }
#else
    skip();
#endif
}

static size_t CountWrongWith(uint32_t sabotage)
{
    size_t wrong = 0;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        knBvhSceneDef def = knDefaultBvhSceneDef();
        knBvhQueryDef query = knDefaultBvhQueryDef();
        const Surface* s = &shared.surfaces[i];
        knBvhScene* scene = NULL;
        assert_int_equal(knCreateBvhScene(&scene, &def, NULL), kn_success);
        scene->sabotage = sabotage;
        knBvhScene_AddVertices(scene, s->positions, s->positionCount, NULL);
        knBvhScene_AddBody(scene, s->triangles, s->triangleCount, NULL, NULL);
        assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
        wrong += CountWrongPairs(scene, &query, &shared.truths[i], &shared.surfaces[i]);
        knDestroyBvhScene(scene);
    }
    return wrong;
}

// The tests see what they should: with a rule taken away they fail.
static void PlantedBugsAreCaught(void** state)
{
    (void)state;
    assert_int_equal(CountWrongWith(0), 0);
    assert_int_not_equal(CountWrongWith(kn_sabotageSharedRule), 0);
    assert_int_not_equal(CountWrongWith(kn_sabotageFloatBound), 0);
    assert_int_not_equal(CountWrongWith(kn_sabotageBesideBound), 0);
    assert_int_not_equal(CountWrongWith(kn_sabotageContour), 0);
}

static size_t CountPairs(const knBvhScene* scene, const knBvhQueryDef* def)
{
    knBvhQuery* query = NULL;
    size_t count;
    knCreateBvhQuery(&query, NULL);
    assert_int_equal(knBvhQuery_Run(query, scene, def), kn_success);
    knBvhQuery_Pairs(query, &count);
    knDestroyBvhQuery(query);
    return count;
}

static knBvhFunnel RunAndKeep(const Surface* s, knBvhCulling culling, knBvhQuery* query)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.culling = culling;
    def.build = (knBvhBuild)(s->positionCount % kn_bvhBuildCount);
    knBvhScene* scene = MakeScene(s, &def);
    knBvhQueryDef queryDef = knDefaultBvhQueryDef();
    assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_success);
    knDestroyBvhScene(scene);
    return knBvhQuery_Funnel(query);
}

// From calm to crumpled: culling finds work to save, and loses no pair.
static void CullingMissesNothing(void** state)
{
    (void)state;
    knBvhQuery *with = NULL, *without = NULL;
    knCreateBvhQuery(&with, NULL);
    knCreateBvhQuery(&without, NULL);
    uint64_t culledCount = 0, pairCount = 0, tests[2] = {0, 0};
    for (uint32_t i = 0; i < 150; ++i)
    {
        Surface s = MakeSheet(14 + i % 7, 0.004f * (float)i, 1000 + i);
        knBvhFunnel f = RunAndKeep(&s, kn_bvhCullExact, with);
        knBvhFunnel g = RunAndKeep(&s, kn_bvhCullNothing, without);
        size_t a, b;
        const knBvhPair* p = knBvhQuery_Pairs(with, &a);
        const knBvhPair* q = knBvhQuery_Pairs(without, &b);
        assert_int_equal(a, b);
        if (a > 0)
        {
            assert_memory_equal(p, q, a * sizeof *p);
        }
        culledCount += f.culledNodes;
        pairCount += a;
        tests[0] += f.boxPairs;
        tests[1] += g.boxPairs;
        FreeSurface(&s);
    }
    assert_true(culledCount > 150);
    assert_true(pairCount > 300);
    assert_true(10 * tests[0] < 9 * tests[1]);
    knDestroyBvhQuery(with);
    knDestroyBvhQuery(without);
}

// Pairs of a scene as culled, and of the same scene searched in full.
static void CountFound(const Surface* s, const knBvhSceneDef* def, size_t found[2],
                       uint64_t* culled)
{
    knBvhScene* scene = MakeScene(s, def);
    knBvhQuery* query = NULL;
    knCreateBvhQuery(&query, NULL);
    for (int all = 0; all < 2; ++all)
    {
        knBvhQueryDef queryDef = knDefaultBvhQueryDef();
        queryDef.searchAll = all != 0;
        assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_success);
        knBvhQuery_Pairs(query, &found[all]);
        *culled += knBvhQuery_Funnel(query).culledNodes;
    }
    knDestroyBvhQuery(query);
    knDestroyBvhScene(scene);
}

static bool IsBelow(const knBvhScene* s, uint32_t triangle, uint32_t top)
{
    uint32_t node = knLeafOf(s, triangle);
    while (node != top && node != KN_NONE)
    {
        node = s->cold[node].parent;
    }
    return node == top;
}

static bool HasEdge(knTriangle t, uint32_t a, uint32_t b)
{
    bool hasA = t.v[0] == a || t.v[1] == a || t.v[2] == a;
    return hasA && (t.v[0] == b || t.v[1] == b || t.v[2] == b);
}

static uint32_t CountSides(knTriangle t, uint32_t a, uint32_t b)
{
    uint32_t count = 0;
    for (int k = 0; k < 3; ++k)
    {
        uint32_t from = t.v[k], to = t.v[(k + 1) % 3];
        count += (from == a && to == b) || (from == b && to == a);
    }
    return count;
}

// Do the two share an edge that no third one has?
static bool HangTogether(const Surface* s, uint32_t i, uint32_t k)
{
    for (int c = 0; c < 3; ++c)
    {
        uint32_t a = s->triangles[i].v[c], b = s->triangles[i].v[(c + 1) % 3], count = 0;
        for (uint32_t n = 0; n < s->triangleCount && HasEdge(s->triangles[k], a, b); ++n)
        {
            count += CountSides(s->triangles[n], a, b);
        }
        if (count == 2)
        {
            return true;
        }
    }
    return false;
}

// By flooding from the triangles not yet reached.
static uint32_t CountParts(const knBvhScene* scene, const Surface* s, uint32_t node)
{
    bool isReached[128] = {false};
    uint32_t stack[128], parts = 0;
    for (uint32_t first = 0; first < s->triangleCount; ++first)
    {
        uint32_t count = 0;
        if (!isReached[first] && IsBelow(scene, first, node))
        {
            isReached[first] = true;
            stack[count++] = first;
            parts += 1;
        }
        while (count > 0)
        {
            uint32_t i = stack[--count];
            for (uint32_t k = 0; k < s->triangleCount; ++k)
            {
                if (!isReached[k] && IsBelow(scene, k, node) && HangTogether(s, i, k))
                {
                    isReached[k] = true;
                    stack[count++] = k;
                }
            }
        }
    }
    return parts;
}

static void ConesKnowWhatHangsTogether(void** state)
{
    (void)state;
    uint32_t nodeCount = 0;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        const Surface* s = &shared.surfaces[i];
        // flooding asks every pair of triangles at every node
        if (s->triangleCount == 0 || s->triangleCount > 120)
        {
            continue;
        }
        knBvhSceneDef def = knDefaultBvhSceneDef();
        def.culling = kn_bvhCullDualCones;
        knBvhScene* scene = MakeScene(s, &def);
        for (uint32_t node = 0; node < scene->nodeSlots; node += node == 0 ? 2 : 1)
        {
            assert_int_equal(knIsOnePart(scene, node), CountParts(scene, s, node) == 1);
            nodeCount += 1;
        }
        knDestroyBvhScene(scene);
    }
    assert_true(nodeCount > 40);
}

// What cones cull they may lose, but never add to; a full search of their scene is exact.
static void ConesSkipAndTheFullSearchTellsWhatTheyMiss(void** state)
{
    (void)state;
    uint64_t culled[2] = {0, 0};
    for (int culling = kn_bvhCullDualCones; culling < kn_bvhCullCount; ++culling)
    {
        for (int i = 0; i < SURFACE_COUNT; ++i)
        {
            knBvhSceneDef def = knDefaultBvhSceneDef();
            def.culling = (knBvhCulling)culling;
            size_t found[2];
            CountFound(&shared.surfaces[i], &def, found, &culled[culling - kn_bvhCullDualCones]);
            assert_int_equal(found[1], shared.truths[i].count);
            assert_true(found[0] <= found[1]);
        }
    }
    assert_true(culled[0] > 20);
    assert_true(culled[1] > 20);
}

// along the two turns; the skirt has a multiple of eight triangles, so that the tree takes it apart
// from the ring
#define STEPS 51

// Two turns of a ring that cross each other, every edge of its rim in a skirt that ends far below:
// as in Figure 4 of FASTCD, the tree cuts the ring out along edges that are no boundary.
static Surface MakeSkirtedRing(void)
{
    Surface s = {.name = "ring in a skirt", .positionCount = 2 * STEPS + 3};
    s.positions = calloc(s.positionCount, sizeof *s.positions);
    s.triangles = calloc(6 * STEPS, sizeof *s.triangles);
    for (uint32_t i = 0; i < 2 * STEPS + 2; ++i)
    {
        float turn = 12.5663706f * (float)(i / 2) / STEPS, radius = i % 2 == 0 ? 0.5f : 1.0f;
        s.positions[i] = knMakeVec3(radius * cosf(turn), radius * sinf(turn),
                                    0.05f * sinf(0.75f * turn) + 0.01f * turn);
    }
    uint32_t apex = 2 * STEPS + 2;
    s.positions[apex] = knMakeVec3(0.0f, 0.0f, -100.0f);
    for (uint32_t i = 0; i < STEPS; ++i)
    {
        uint32_t a = 2 * i, b = a + 1, c = a + 2, d = a + 3;
        s.triangles[s.triangleCount++] = (knTriangle){{a, b, c}};
        s.triangles[s.triangleCount++] = (knTriangle){{b, d, c}};
        s.triangles[s.triangleCount++] = (knTriangle){{a, c, apex}};
        s.triangles[s.triangleCount++] = (knTriangle){{d, b, apex}};
    }
    s.triangles[s.triangleCount++] = (knTriangle){{1, 0, apex}};
    s.triangles[s.triangleCount++] = (knTriangle){{2 * STEPS, 2 * STEPS + 1, apex}};
    return s;
}

// Dual cones lose pairs where the tree makes a boundary, and it is counted; the others do not.
static void DualConesMissWhereTheTreeCuts(void** state)
{
    (void)state;
    Surface s = MakeSkirtedRing();
    TruePairs truth = FindTruePairs(&s);
    for (int culling = kn_bvhCullNothing; culling < kn_bvhCullCount; ++culling)
    {
        knBvhSceneDef def = knDefaultBvhSceneDef();
        def.culling = (knBvhCulling)culling;
        size_t found[2];
        uint64_t culled = 0;
        CountFound(&s, &def, found, &culled);
        assert_int_equal(found[1], truth.count);
        assert_int_equal(found[0] < found[1], culling == kn_bvhCullDualCones);
    }
    FreeTruePairs(&truth);
    FreeSurface(&s);
}

// The parts of the answer that a caller may leave out add up to the whole.
static void PartsOfTheAnswerAddUp(void** state)
{
    (void)state;
    const Surface* s = &shared.surfaces[0];
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhScene* scene = NULL;
    knId bodies[4];
    assert_int_equal(knCreateBvhScene(&scene, &def, NULL), kn_success);
    knBvhScene_AddVertices(scene, s->positions, s->positionCount, NULL);
    for (uint32_t i = 0; i < 4; ++i)
    {
        uint32_t begin = s->triangleCount * i / 4, end = s->triangleCount * (i + 1) / 4;
        knBvhScene_AddBody(scene, s->triangles + begin, end - begin, NULL, &bodies[i]);
    }
    knBvhScene_Commit(scene, NULL);
    knBvhQueryDef query = knDefaultBvhQueryDef();
    size_t all = CountPairs(scene, &query);
    assert_int_equal(all, shared.truths[0].count);
    query.skipWithin = true;
    size_t between = CountPairs(scene, &query);
    query.skipWithin = false;
    query.skipBetween = true;
    assert_int_equal(CountPairs(scene, &query) + between, all);
    query = knDefaultBvhQueryDef();
    query.anyOnly = true;
    assert_int_equal(CountPairs(scene, &query), 1);
    size_t sum = 0;
    knBvhQuery* pair = NULL;
    knCreateBvhQuery(&pair, NULL);
    query.anyOnly = false;
    for (int i = 0; i < 16; ++i)
    {
        size_t count = 0;
        if (i / 4 < i % 4)
        {
            assert_int_equal(
                knBvhQuery_RunBodies(pair, scene, bodies[i / 4], bodies[i % 4], &query),
                kn_success);
            knBvhQuery_Pairs(pair, &count);
        }
        sum += count;
    }
    assert_int_equal(sum, between);
    knDestroyBvhQuery(pair);
    knDestroyBvhScene(scene);
}

// Workers change neither the pairs nor the counts on the way to them.
static void WorkersChangeNothing(void** state)
{
    (void)state;
    Surface s = MakeSheet(60, 0.9f, 5);
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhScene* scene = MakeScene(&s, &def);
    knTaskHooks hooks = knTaskPool_Hooks(shared.pool);
    knBvhQuery *one = NULL, *two = NULL;
    knCreateBvhQuery(&one, NULL);
    knCreateBvhQuery(&two, NULL);
    knBvhQueryDef query = knDefaultBvhQueryDef();
    assert_int_equal(knBvhQuery_Run(one, scene, &query), kn_success);
    query.tasks = &hooks;
    for (int i = 0; i < 5; ++i)
    {
        assert_int_equal(knBvhScene_MoveVertices(scene, 0, s.positionCount, s.positions),
                         kn_success);
        assert_int_equal(knBvhScene_Commit(scene, &hooks), kn_success);
        assert_int_equal(knBvhQuery_Run(two, scene, &query), kn_success);
        size_t oneCount, twoCount;
        const knBvhPair* a = knBvhQuery_Pairs(one, &oneCount);
        const knBvhPair* b = knBvhQuery_Pairs(two, &twoCount);
        assert_int_equal(oneCount, twoCount);
        assert_true(oneCount > 1000);
        assert_memory_equal(a, b, oneCount * sizeof *a);
        knBvhFunnel f = knBvhQuery_Funnel(one), g = knBvhQuery_Funnel(two);
        assert_memory_equal(&f, &g, sizeof f);
    }
    knDestroyBvhQuery(one);
    knDestroyBvhQuery(two);
    knDestroyBvhScene(scene);
    FreeSurface(&s);
}

// A step that only moves must not call the heap.
static void SteadyStepsDoNotAllocate(void** state)
{
    (void)state;
    Surface s = MakeSheet(60, 0.9f, 6);
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knBvhScene* scene = NULL;
    knBvhQuery* query = NULL;
    for (int update = 0; update < kn_bvhUpdateCount; ++update)
    {
        knBvhSceneDef def = knDefaultBvhSceneDef();
        def.update = (knBvhUpdate)update;
        assert_int_equal(knCreateBvhScene(&scene, &def, &allocator), kn_success);
        assert_int_equal(knCreateBvhQuery(&query, &allocator), kn_success);
        knBvhScene_AddVertices(scene, s.positions, s.positionCount, NULL);
        knBvhScene_AddBody(scene, s.triangles, s.triangleCount, NULL, NULL);
        size_t calls = 0;
        for (int step = 0; step < 5; ++step)
        {
            knTaskHooks hooks = knTaskPool_Hooks(shared.pool);
            knBvhQueryDef queryDef = knDefaultBvhQueryDef();
            queryDef.tasks = &hooks;
            knBvhScene_MoveVertices(scene, 0, s.positionCount, s.positions);
            assert_int_equal(knBvhScene_Commit(scene, &hooks), kn_success);
            assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_success);
            if (step >= 2)
            {
                assert_int_equal(tracker.callCount, calls);
            }
            calls = tracker.callCount;
        }
        knDestroyBvhScene(scene);
        knDestroyBvhQuery(query);
        assert_int_equal(tracker.bytes, 0);
    }
    FreeSurface(&s);
}

// Eighty bytes a triangle with all that a scene holds, and it says how many.
static void TrianglesTakeFewBytes(void** state)
{
    (void)state;
    Surface s = MakeSheet(150, 0.3f, 7);
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhSceneInfo info;
    knBvhScene* scene = NULL;
    assert_int_equal(knCreateBvhScene(&scene, &def, &allocator), kn_success);
    knBvhScene_AddVertices(scene, s.positions, s.positionCount, NULL);
    knBvhScene_AddBody(scene, s.triangles, s.triangleCount, NULL, NULL);
    assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
    knBvhScene_Info(scene, &info);
    assert_int_equal(info.bytes, tracker.bytes);
    assert_true(info.bytes <= 80 * (size_t)s.triangleCount);
    knDestroyBvhScene(scene);
    FreeSurface(&s);
}

static knResult AttemptScene(const knAllocator* allocator, void* context)
{
    const Surface* s = context;
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhQueryDef queryDef = knDefaultBvhQueryDef();
    knBvhScene* scene = NULL;
    knBvhQuery* query = NULL;
    knResult result = knCreateBvhScene(&scene, &def, allocator);
    result = result == kn_success ? knCreateBvhQuery(&query, allocator) : result;
    result = result == kn_success
                 ? knBvhScene_AddVertices(scene, s->positions, s->positionCount, NULL)
                 : result;
    result = result == kn_success
                 ? knBvhScene_AddBody(scene, s->triangles, s->triangleCount, NULL, NULL)
                 : result;
    result = result == kn_success ? knBvhScene_Commit(scene, NULL) : result;
    result = result == kn_success ? knBvhQuery_Run(query, scene, &queryDef) : result;
    knDestroyBvhQuery(query);
    knDestroyBvhScene(scene);
    return result;
}

static void NoMemoryIsAnError(void** state)
{
    (void)state;
    SurviveAllocationFailures(AttemptScene, &shared.surfaces[0]);
}

static void WrongArgumentsAreErrors(void** state)
{
    (void)state;
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhScene* scene = NULL;
    def.gridBits = 3;
    assert_int_equal(knCreateBvhScene(&scene, &def, NULL), kn_errorArgument);
    def.gridBits = 1;
    def.size = 0;
    assert_int_equal(knCreateBvhScene(&scene, &def, NULL), kn_errorArgument);
    assert_null(scene);
    knBvhQuery* query = NULL;
    def = knDefaultBvhSceneDef();
    scene = MakeScene(&shared.surfaces[0], &def);
    knBvhQueryDef queryDef = knDefaultBvhQueryDef();
    knCreateBvhQuery(&query, NULL);
    knTriangle beyond = {{0, 1, 1000000}};
    assert_int_equal(knBvhScene_AddBody(scene, &beyond, 1, NULL, NULL), kn_errorArgument);
    knVec3 p = {0, 0, 0};
    assert_int_equal(knBvhScene_MoveVertices(scene, 1000000, 1, &p), kn_errorArgument);
    assert_int_equal(knBvhScene_MoveVertices(scene, 0, 1, &p), kn_success);
    assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_errorArgument);
    assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
    assert_int_equal(knBvhQuery_Run(query, scene, &queryDef), kn_success);
    assert_int_equal(knBvhScene_DeleteBody(scene, (knId){7, 1}), kn_errorHandle);
    knDestroyBvhQuery(query);
    knDestroyBvhScene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AllOptionsAgreeWithRationals),
        cmocka_unit_test(MovedSurfacesAgree),
        cmocka_unit_test(ScalesChangeNothing),
        cmocka_unit_test(TurnsChangeNothing),
        cmocka_unit_test(PermutationsChangeNothing),
        cmocka_unit_test(FlushedDenormalsChangeNothing),
        cmocka_unit_test(PlantedBugsAreCaught),
        cmocka_unit_test(CullingMissesNothing),
        cmocka_unit_test(ConesSkipAndTheFullSearchTellsWhatTheyMiss),
        cmocka_unit_test(ConesKnowWhatHangsTogether),
        cmocka_unit_test(DualConesMissWhereTheTreeCuts),
        cmocka_unit_test(PartsOfTheAnswerAddUp),
        cmocka_unit_test(WorkersChangeNothing),
        cmocka_unit_test(SteadyStepsDoNotAllocate),
        cmocka_unit_test(TrianglesTakeFewBytes),
        cmocka_unit_test(NoMemoryIsAnError),
        cmocka_unit_test(WrongArgumentsAreErrors),
    };
    return cmocka_run_group_tests(tests, SetUp, TearDown);
}

#else

int main(void)
{
    printf("skipped: built without GMP, the oracle of this test\n");
    return 0;
}

#endif
