// SPDX-License-Identifier: Zlib
#include "kit.h"

#if defined(KN_TEST_GMP)

#include "knap/random.h"
#include "surfaces.h"

#include <math.h>

// Options of scenes and queries that promise exactness, two by two, on surfaces that move; exact
// moves; and the journal.

static Surface surfaces[SURFACE_COUNT];
static TruePairs truths[SURFACE_COUNT];
static knTaskPool* pool;

static int SetUp(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        surfaces[i] = surfaceMakers[i]();
        truths[i] = FindTruePairs(&surfaces[i]);
    }
    return knCreateTaskPool(&pool, 2, NULL) == kn_success ? 0 : 1;
}

static int TearDown(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        FreeSurface(&surfaces[i]);
        FreeTruePairs(&truths[i]);
    }
    knDestroyTaskPool(pool);
    return 0;
}

typedef enum Factor
{
    factorBuild,
    factorUpdate,
    factorCulling,
    factorInstructions,
    factorGridBits,
    factorWorkers,
    factorAdjacent,
    factorBodies,   // one, or several
    factorMaking,   // bodies at once, or triangle by triangle
    factorBreaking, // nothing, or a split and a merge on the way
    FACTOR_COUNT
} Factor;

static const int levelCounts[FACTOR_COUNT] = {
    kn_bvhBuildCount, kn_bvhUpdateCount, 2, 3, 2, 2, 2, 2, 2, 2};

#define MAX_LEVELS 3
#define MAX_ROWS   64

typedef struct Row
{
    int levels[FACTOR_COUNT];
} Row;

typedef struct Coverage
{
    bool isCovered[FACTOR_COUNT][MAX_LEVELS][FACTOR_COUNT][MAX_LEVELS];
    int left;
} Coverage;

// Marks the pairs of levels that the row has; returns how many are new.
static int Cover(Coverage* c, const Row* row)
{
    int fresh = 0;
    for (int i = 0; i < FACTOR_COUNT; ++i)
    {
        for (int k = i + 1; k < FACTOR_COUNT; ++k)
        {
            bool* is = &c->isCovered[i][row->levels[i]][k][row->levels[k]];
            fresh += !*is;
            *is = true;
        }
    }
    c->left -= fresh;
    return fresh;
}

// Random rows, of which those stay that try something new.
static int MakeRows(Row rows[MAX_ROWS])
{
    static Coverage coverage;
    memset(&coverage, 0, sizeof coverage);
    for (int i = 0; i < FACTOR_COUNT; ++i)
    {
        for (int k = i + 1; k < FACTOR_COUNT; ++k)
        {
            coverage.left += levelCounts[i] * levelCounts[k];
        }
    }
    knRandom random = knMakeRandom(5);
    int count = 0;
    for (int tries = 0; tries < 10000 && coverage.left > 0; ++tries)
    {
        for (int i = 0; i < FACTOR_COUNT; ++i)
        {
            rows[count].levels[i] = (int)knRandom_Below(&random, (uint32_t)levelCounts[i]);
        }
        count += Cover(&coverage, &rows[count]) > 0;
        assert_true(count < MAX_ROWS);
    }
    assert_int_equal(coverage.left, 0);
    return count;
}

static bool HasInstructions(knInstructionSet set)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    def.instructions = set;
    knBvhScene* scene = NULL;
    bool has = knCreateBvhScene(&scene, &def, NULL) == kn_success;
    knDestroyBvhScene(scene);
    return has;
}

static knBvhSceneDef DefOf(const Row* row)
{
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knInstructionSet set =
        (knInstructionSet)(kn_instructionsScalar + row->levels[factorInstructions]);
    def.build = (knBvhBuild)row->levels[factorBuild];
    def.update = (knBvhUpdate)row->levels[factorUpdate];
    def.culling = (knBvhCulling)row->levels[factorCulling];
    def.instructions = HasInstructions(set) ? set : kn_instructionsBest;
    def.gridBits = 1 + row->levels[factorGridBits];
    def.gridLimit = 64;
    return def;
}

static void AddBodies(knBvhScene* scene, const Surface* s, const Row* row, knId bodies[3])
{
    uint32_t count = row->levels[factorBodies] ? 3 : 1;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t begin = s->triangleCount * i / count, end = s->triangleCount * (i + 1) / count;
        uint32_t first = row->levels[factorMaking] ? 0 : end - begin;
        assert_int_equal(knBvhScene_AddBody(scene, s->triangles + begin, first, NULL, &bodies[i]),
                         kn_success);
        for (uint32_t k = begin + first; k < end; ++k)
        {
            uint32_t id;
            assert_int_equal(knBvhScene_InsertTriangles(scene, bodies[i], s->triangles + k, 1, &id),
                             kn_success);
            assert_int_equal(id, k);
        }
    }
}

// The first body becomes three, every third triangle to one, and two of them become one again.
static void BreakBody(knBvhScene* scene, const Surface* s, const Row* row, knId body)
{
    uint32_t count = s->triangleCount / (row->levels[factorBodies] ? 3 : 1);
    uint32_t* ids = malloc((count + 1) * sizeof *ids);
    uint32_t* parts = malloc((count + 1) * sizeof *parts);
    for (uint32_t i = 0; i < count; ++i)
    {
        ids[i] = i;
        parts[i] = i % 3;
    }
    knId made[3];
    knBvhSplit split = {body, ids, parts, count, 3};
    assert_int_equal(knBvhScene_SplitBody(scene, &split, made), kn_success);
    assert_int_equal(knBvhScene_MergeBodies(scene, made, 2, NULL), kn_success);
    free(ids);
    free(parts);
}

// Made in another shape, moved, and only then asked.
static size_t CountWrong(const Surface* s, const TruePairs* truth, const Row* row)
{
    knBvhSceneDef def = DefOf(row);
    knBvhScene* scene = NULL;
    knId bodies[3];
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    const knTaskHooks* tasks = row->levels[factorWorkers] ? &hooks : NULL;
    knRandom random = knMakeRandom(9);
    knVec3* start = malloc((s->positionCount + 1) * sizeof *start);
    for (uint32_t i = 0; i < s->positionCount; ++i)
    {
        start[i] = knAddScaled(s->positions[i], 0.4f, knRandom_UnitVec3(&random));
    }
    assert_int_equal(knCreateBvhScene(&scene, &def, NULL), kn_success);
    assert_int_equal(knBvhScene_AddVertices(scene, start, s->positionCount, NULL), kn_success);
    AddBodies(scene, s, row, bodies);
    assert_int_equal(knBvhScene_Commit(scene, tasks), kn_success);
    if (row->levels[factorBreaking])
    {
        BreakBody(scene, s, row, bodies[0]);
    }
    assert_int_equal(knBvhScene_MoveVertices(scene, 0, s->positionCount, s->positions), kn_success);
    assert_int_equal(knBvhScene_Commit(scene, tasks), kn_success);
    knBvhQueryDef query = knDefaultBvhQueryDef();
    query.skipAdjacent = row->levels[factorAdjacent] != 0;
    query.tasks = tasks;
    size_t wrong = CountWrongPairs(scene, &query, truth, s);
    knDestroyBvhScene(scene);
    free(start);
    return wrong;
}

static void EveryPairOfOptionsAgreesWithRationals(void** state)
{
    (void)state;
    Row rows[MAX_ROWS];
    int count = MakeRows(rows);
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        for (int k = 0; k < count; ++k)
        {
            // the hub has half a million pairs of boxes: every fifth will do
            bool isTurn = surfaces[i].triangleCount < 900 || k % 5 == 0;
            size_t wrong = isTurn ? CountWrong(&surfaces[i], &truths[i], &rows[k]) : 0;
            if (wrong > 0)
            {
                fail_msg("%s: %zu pairs wrong with row %d", surfaces[i].name, wrong, k);
            }
        }
    }
}

// On a lattice a move by a multiple of its step is exact: the same pairs far from the origin.
static void TranslationsChangeNothing(void** state)
{
    (void)state;
    for (int i = 0; i < SURFACE_COUNT; ++i)
    {
        Surface s = surfaceMakers[i]();
        bool isLarge = false;
        for (uint32_t v = 0; v < s.positionCount; ++v)
        {
            knVec3 p = knScale(4096.0f, s.positions[v]);
            s.positions[v] =
                knScale(1.0f / 4096.0f, knMakeVec3(rintf(p.x), rintf(p.y), rintf(p.z)));
            isLarge |= fabsf(p.x) > 0x1p20f; // no lattice of floats is left there
        }
        TruePairs truth = isLarge ? (TruePairs){NULL, 0} : FindTruePairs(&s);
        for (uint32_t v = 0; v < s.positionCount; ++v)
        {
            s.positions[v] = knAdd(s.positions[v], knMakeVec3(1024.0f, -512.0f, 2047.0f));
        }
        knBvhSceneDef def = knDefaultBvhSceneDef();
        knBvhQueryDef query = knDefaultBvhQueryDef();
        knBvhScene* scene = MakeScene(&s, &def);
        assert_true(isLarge || CountWrongPairs(scene, &query, &truth, &s) == 0);
        knDestroyBvhScene(scene);
        FreeTruePairs(&truth);
        FreeSurface(&s);
    }
}

static void ExpectChange(const knBvhScene* scene, uint32_t i, knBvhChange expected)
{
    uint32_t count;
    const knBvhChange* changes = knBvhScene_Journal(scene, &count);
    assert_in_range(i, 0, count - 1);
    assert_int_equal(changes[i].kind, expected.kind);
    assert_int_equal(changes[i].index, expected.index);
    assert_int_equal(changes[i].generation, expected.generation);
}

// In the order of the calls, from one commit to the next, and nothing of a call that failed.
static void TheJournalTellsWhatWasDone(void** state)
{
    (void)state;
    const Surface* s = &surfaces[0];
    knBvhSceneDef def = knDefaultBvhSceneDef();
    knBvhScene* scene = NULL;
    knId a, b, parts[2], merged;
    uint32_t count = 7, id;
    assert_int_equal(knCreateBvhScene(&scene, &def, NULL), kn_success);
    knBvhScene_AddVertices(scene, s->positions, s->positionCount, NULL);
    knBvhScene_AddBody(scene, s->triangles, 2, NULL, &a);
    knBvhScene_AddBody(scene, s->triangles + 2, 40, NULL, &b);
    knBvhScene_Journal(scene, &count);
    assert_int_equal(count, 0); // not yet committed
    assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
    ExpectChange(scene, 0, (knBvhChange){kn_bvhBodyBegan, a.index, a.generation});
    ExpectChange(scene, 1, (knBvhChange){kn_bvhBodyBegan, b.index, b.generation});
    uint32_t ids[2] = {0, 1}, which[2] = {0, 1};
    knBvhSplit split = {a, ids, which, 2, 2};
    assert_int_equal(knBvhScene_SplitBody(scene, &split, parts), kn_success);
    assert_int_equal(knBvhScene_SplitBody(scene, &split, parts), kn_errorHandle);
    assert_int_equal(knBvhScene_InsertTriangles(scene, b, s->triangles + 50, 1, &id), kn_success);
    assert_int_equal(knBvhScene_ReplaceTriangle(scene, 5, s->triangles[60]), kn_success);
    assert_int_equal(knBvhScene_DeleteTriangles(scene, &id, 1), kn_success);
    assert_int_equal(knBvhScene_MergeBodies(scene, parts, 2, &merged), kn_success);
    assert_int_equal(knBvhScene_DeleteBody(scene, b), kn_success);
    assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
    const knBvhChange expected[] = {{kn_bvhBodyBegan, parts[0].index, parts[0].generation},
                                    {kn_bvhBodyBegan, parts[1].index, parts[1].generation},
                                    {kn_bvhBodyEnded, a.index, a.generation},
                                    {kn_bvhTriangleInserted, id, 0},
                                    {kn_bvhTriangleReplaced, 5, 0},
                                    {kn_bvhTriangleDeleted, id, 0},
                                    {kn_bvhBodyEnded, parts[0].index, parts[0].generation},
                                    {kn_bvhBodyEnded, parts[1].index, parts[1].generation},
                                    {kn_bvhBodyBegan, merged.index, merged.generation},
                                    {kn_bvhBodyEnded, b.index, b.generation}};
    knBvhScene_Journal(scene, &count);
    assert_int_equal(count, COUNT_OF(expected));
    for (uint32_t i = 0; i < count; ++i)
    {
        ExpectChange(scene, i, expected[i]);
    }
    assert_int_equal(knBvhScene_Commit(scene, NULL), kn_success);
    knBvhScene_Journal(scene, &count);
    assert_int_equal(count, 0);
    knDestroyBvhScene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryPairOfOptionsAgreesWithRationals),
        cmocka_unit_test(TranslationsChangeNothing),
        cmocka_unit_test(TheJournalTellsWhatWasDone),
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
