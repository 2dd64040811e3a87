// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"
#include "ccd_sheet.h"
#include "kit.h"

#include <math.h>

// Whole steps: every method, culling and number of workers finds what all pairs of features find,
// makes each test once, and follows changes of the connectivity.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHANGES 100
#else
#define CHANGES 1000
#endif

// Moves a corner to another vertex, also to one that was in no triangle.
static void ChangeOne(Sheet* s)
{
    knTriangle* t = &s->triangles[Next(FACES)];
    uint32_t v = Next(VERTICES), corner = Next(3);
    if (v != t->v[0] && v != t->v[1] && v != t->v[2])
    {
        t->v[corner] = v;
    }
}

static void EveryMethodFindsWhatAllPairsFind(void** state)
{
    (void)state;
    static Sheet s;
    knCcdStep* steps[kn_ccdMethodCount];
    for (int m = 0; m < kn_ccdMethodCount; ++m)
    {
        assert_int_equal(knCreateCcdStep(&steps[m], NULL), kn_success);
    }
    for (int round = 0; round < 6; round += ROUND_STEP == 1 ? 1 : 2)
    {
        MakeSheet(&s, round % 3 == 0 ? 0.02f : 0.3f);
        for (int i = 0; i < (round > 2 ? 12 : 0); ++i)
        {
            ChangeOne(&s);
        }
        size_t expectedCount = 0;
        for (int m = 0; m < 8 * kn_ccdMethodCount; ++m)
        {
            knCcdStepDef def = DefOf(&s);
            knCcdStep* step = steps[m / 8];
            def.method = (knCcdMethod)(m / 8);
            def.culling = m % 2 ? kn_ccdCullNone : kn_ccdCullExact;
            def.build = m / 2 % 2 ? kn_ccdByConnectivity : kn_ccdByMedians;
            def.bound = m / 4 % 2 ? kn_ccdDops : kn_ccdBoxes;
            assert_int_equal(knCcdStep_Run(step, &def), kn_success);
            if (m == 0)
            {
                size_t edgeCount;
                const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
                expectedCount = FindAll(&def, edges, edgeCount, expected);
                assert_true(expectedCount > 0 && expectedCount < MOST_CONTACTS);
            }
            assert_int_equal(CountDifferences(step, expectedCount), 0);
        }
    }
    for (int m = 0; m < kn_ccdMethodCount; ++m)
    {
        knDestroyCcdStep(steps[m]);
    }
}

// Vertices of no triangle that fall through the sheet, alone in their leaves or not, and vertices
// that are not finite: their triangles are lost, the other features of these are not.
static void LoneAndBrokenVerticesLoseNothing(void** state)
{
    (void)state;
    static Sheet s;
    for (int round = 0; round < 4; ++round)
    {
        MakeSheet(&s, 0.1f);
        for (uint32_t i = VERTICES - 8; i < VERTICES; ++i)
        {
            float x = 3.0f + Jitter(2.5f), y = 5.0f + Jitter(4.0f);
            s.start[i] = knMakeVec3(x, y, 1.0f);
            s.end[i] = knMakeVec3(x, y, -1.0f);
        }
        for (int i = 0; i < (round % 2 ? 12 : 0); ++i)
        {
            s.end[Next(SIDE * SIDE)].y = i % 2 ? NAN : INFINITY;
        }
        for (int m = 0; m < 2 * kn_ccdMethodCount; ++m)
        {
            knCcdStep* step;
            size_t edgeCount, loneCount = 0;
            assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
            knCcdStepDef def = DefOf(&s);
            def.method = (knCcdMethod)(m / 2);
            def.build = m % 2 ? kn_ccdByConnectivity : kn_ccdByMedians;
            def.bound = m % 2 ? kn_ccdDops : kn_ccdBoxes;
            assert_int_equal(knCcdStep_Run(step, &def), kn_success);
            const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
            size_t count = FindAll(&def, edges, edgeCount, expected);
            for (size_t i = 0; i < count; ++i)
            {
                loneCount += expected[i].kind == kn_ccdVertexFace && expected[i].a >= SIDE * SIDE;
            }
            assert_true(loneCount > 8);
            assert_int_equal(CountDifferences(step, count), 0);
            knDestroyCcdStep(step);
        }
    }
}

// Vertices lose their last triangle and fall on alone, others get their first one, and new ones
// come to be; the step goes on from what it had.
static void VerticesMayLoseTheirTriangles(void** state)
{
    (void)state;
    static Sheet s;
    knCcdStep* steps[kn_ccdMethodCount];
    for (int m = 0; m < kn_ccdMethodCount; ++m)
    {
        assert_int_equal(knCreateCcdStep(&steps[m], NULL), kn_success);
    }
    MakeSheet(&s, 0.1f);
    for (int round = 0; round < 6; ++round)
    {
        uint32_t gone = Next(SIDE * SIDE), lone = VERTICES - 8 + Next(8);
        s.start[gone] = knMakeVec3(3.0f, 5.0f + Jitter(3.0f), 1.0f);
        s.end[gone] = knMakeVec3(3.0f, s.start[gone].y, -1.0f);
        for (size_t i = 0; i < 3 * FACES && round > 0; ++i)
        {
            uint32_t* v = &s.triangles[i / 3].v[i % 3];
            *v = *v == gone ? lone : *v;
        }
        for (int m = 0; m < kn_ccdMethodCount; ++m)
        {
            size_t edgeCount;
            knCcdStepDef def = DefOf(&s);
            def.method = (knCcdMethod)m;
            def.build = round > 3 ? kn_ccdByConnectivity : kn_ccdByMedians;
            def.bound = round % 3 == 2 ? kn_ccdDops : kn_ccdBoxes;
            def.vertexCount = round > 0 ? VERTICES : SIDE * SIDE;
            assert_int_equal(knCcdStep_Run(steps[m], &def), kn_success);
            const knEdge* edges = knCcdStep_Edges(steps[m], &edgeCount);
            size_t count = FindAll(&def, edges, edgeCount, expected);
            assert_int_equal(CountDifferences(steps[m], count), 0);
        }
    }
    for (int m = 0; m < kn_ccdMethodCount; ++m)
    {
        knDestroyCcdStep(steps[m]);
    }
}

// Positions in double count to their last digit: rounded to floats, all of the sheet is in one
// place.
static void PositionsMayBeDoubles(void** state)
{
    (void)state;
    static Sheet s;
    static knDVec3 exact[2][VERTICES];
    MakeSheet(&s, 0.2f);
    for (int i = 0; i < 2 * VERTICES; ++i)
    {
        knVec3* p = i % 2 ? &s.end[i / 2] : &s.start[i / 2];
        knDVec3 q = knMakeDVec3(1000.0 + 1e-6 * (double)p->x, 1e-6 * (double)p->y - 500.0,
                                700.0 + 1e-6 * (double)p->z);
        exact[i % 2][i / 2] = q;
        *p = knMakeVec3((float)q.x, (float)q.y, (float)q.z);
    }
    for (int m = 0; m < 2 * kn_ccdMethodCount; ++m)
    {
        knCcdStep* step;
        size_t edgeCount;
        assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
        knCcdStepDef def = DefOf(&s);
        def.exactStart = exact[0];
        def.exactEnd = exact[1];
        def.method = (knCcdMethod)(m / 2);
        def.culling = m % 2 ? kn_ccdCullNone : kn_ccdCullExact;
        def.bound = m % 2 ? kn_ccdDops : kn_ccdBoxes;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
        size_t count = FindAll(&def, edges, edgeCount, expected);
        assert_true(count > 0);
        assert_int_equal(CountDifferences(step, count), 0);
        def.exactStart = def.exactEnd = NULL;
        def.triangleCount = 40; // enough to see it, and all meet all
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        assert_true(CountDifferences(step, count) > 0);
        def.exactStart = exact[0];
        assert_int_equal(knCcdStep_Run(step, &def), kn_errorArgument);
        def.exactEnd = exact[1];
        exact[1][3].y += 1e60;
        assert_int_equal(knCcdStep_Run(step, &def), kn_errorArgument);
        exact[1][3].y = exact[1][2].y;
        knDestroyCcdStep(step);
    }
}

// What comes near enough is a contact, by all pairs too.
static void ASeparationIsKept(void** state)
{
    (void)state;
    static Sheet s;
    size_t counts[3];
    MakeSheet(&s, 0.05f);
    for (uint32_t i = 0; i < SIDE * SIDE; ++i)
    {
        s.end[i].z = i % SIDE > 6 ? 0.15f : -0.1f; // so that it stays apart
    }
    for (int m = 0; m < 3 * kn_ccdMethodCount; ++m)
    {
        knCcdStep* step;
        size_t edgeCount;
        assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
        knCcdStepDef def = DefOf(&s);
        def.separation = 0.4 * (m % 3);
        def.method = (knCcdMethod)(m / 3);
        def.bound = m / 3 % 2 ? kn_ccdBoxes : kn_ccdDops;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
        counts[m % 3] = FindAll(&def, edges, edgeCount, expected);
        assert_int_equal(CountDifferences(step, counts[m % 3]), 0);
        knDestroyCcdStep(step);
    }
    assert_true(counts[0] < counts[1] && counts[1] < counts[2]);
}

// Parts that lie flat are skipped in double too.
static void DoublesAreCulled(void** state)
{
    (void)state;
    static Sheet s;
    static knDVec3 exact[VERTICES];
    knCcdStep* step;
    MakeSheet(&s, 0.0f);
    for (uint32_t i = 0; i < VERTICES; ++i)
    {
        exact[i] = knMakeDVec3(0.1 * (i % SIDE), 0.1 * (double)(i / SIDE), 1e-3 * (i % 5));
        s.start[i] = knMakeVec3((float)exact[i].x, (float)exact[i].y, (float)exact[i].z);
    }
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    knCcdStepDef def = DefOf(&s);
    def.end = s.start;
    def.exactStart = def.exactEnd = exact;
    def.vertexCount = SIDE * SIDE;
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    assert_true(knCcdStep_Funnel(step).culledNodes > 0);
    knDestroyCcdStep(step);
}

static bool IsExpected(const knCcdContact* c, size_t expectedCount)
{
    bool isThere = false;
    for (size_t i = 0; i < expectedCount && !isThere; ++i)
    {
        isThere = c->kind == expected[i].kind && c->a == expected[i].a && c->b == expected[i].b;
    }
    return isThere;
}

// Of all contacts those that a kind of culling has lost; it may make up none.
static size_t CountLost(knCcdStepDef def, knCcdCulling culling, bool isSlow)
{
    knCcdStep* step;
    size_t edgeCount, count;
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    step->isSlow = isSlow;
    def.culling = culling;
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
    size_t all = FindAll(&def, edges, edgeCount, expected);
    const knCcdContact* c = knCcdStep_Contacts(step, &count);
    for (size_t i = 0; i < count; ++i)
    {
        assert_true(IsExpected(&c[i], all));
    }
    knDestroyCcdStep(step);
    return all - count;
}

// A stair that winds up, and is let down: all normals go up, and it meets itself.
static void MakeStair(Sheet* s, float turn)
{
    for (uint32_t i = 0; i < VERTICES; ++i)
    {
        float angle = turn * (float)(i / SIDE), radius = 1.0f + 0.2f * (float)(i % SIDE);
        float height = 0.02f * (float)(i / SIDE);
        s->start[i] = knMakeVec3(radius * cosf(angle), radius * sinf(angle), height);
        s->end[i] = knMakeVec3(radius * cosf(angle), radius * sinf(angle), 0.1f - height);
    }
}

#define RAMP_SQUARES 8 // all in one leaf

// A narrow ramp of more than a turn, tall at the start and flat at the end, where it lies on
// itself.
static knCcdStepDef MakeRamp(Sheet* s, float turn)
{
    for (uint32_t i = 0; i < 2 * (RAMP_SQUARES + 1); ++i)
    {
        float angle = turn * (float)(i / 2), radius = 2.0f + 0.5f * (float)(i % 2);
        knVec3 flat = knMakeVec3(radius * cosf(angle), radius * sinf(angle), 0.0f);
        s->end[i] = s->start[i] = flat;
        s->start[i].z = 0.3f * (float)(i / 2);
    }
    for (uint32_t i = 0; i < RAMP_SQUARES; ++i)
    {
        s->triangles[2 * i] = (knTriangle){{2 * i, 2 * i + 1, 2 * i + 2}};
        s->triangles[2 * i + 1] = (knTriangle){{2 * i + 1, 2 * i + 3, 2 * i + 2}};
    }
    knCcdStepDef def = DefOf(s);
    def.vertexCount = 2 * (RAMP_SQUARES + 1);
    def.triangleCount = 2 * RAMP_SQUARES;
    return def;
}

// Cones with the contour test lose nothing here, with its accelerations or without; without the
// contour the stair is taken for flat. The other two are the papers' own, and only counted.
static void ConesLoseWhatTheyAreKnownToLose(void** state)
{
    (void)state;
    static Sheet s;
    size_t lost[kn_ccdCullingCount] = {0};
    for (int round = 0; round < 6; ++round)
    {
        MakeSheet(&s, round < 2 ? 0.02f : 0.3f);
        knCcdStepDef def = DefOf(&s);
        def.vertexCount = SIDE * SIDE; // vertices of no triangle forbid culling
        def = round < 4 ? def : MakeRamp(&s, 0.9f + 0.1f * (float)(round - 4));
        for (int c = kn_ccdCullCones; c < kn_ccdCullingCount; ++c)
        {
            lost[c] += CountLost(def, (knCcdCulling)c, false);
        }
        lost[kn_ccdCullCones] += CountLost(def, kn_ccdCullCones, true);
    }
    print_message("lost by cones %zu, without contours %zu, by the own boundary %zu, by dual cones "
                  "%zu\n",
                  lost[kn_ccdCullCones], lost[kn_ccdCullConesOnly], lost[kn_ccdCullBoundary],
                  lost[kn_ccdCullDualCones]);
    assert_int_equal(lost[kn_ccdCullCones], 0);
    assert_true(lost[kn_ccdCullConesOnly] > 0);
}

static int CompareKeys(const void* a, const void* b)
{
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

static void NoTestIsMadeTwice(void** state)
{
    (void)state;
    static Sheet s;
    MakeSheet(&s, 0.3f);
    for (int m = kn_ccdFeatures; m <= kn_ccdTriangles; ++m)
    {
        knCcdStep* step;
        assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
        knCcdSink* sink = &step->sinks[0];
        knAllocator a = knDefaultAllocator();
        sink->logCapacity = 1000000;
        sink->log = knAllocate(&a, sink->logCapacity, sizeof *sink->log);
        assert_non_null(sink->log);
        step->sabotage = kn_sabotageCcdFilter;
        knCcdStepDef def = DefOf(&s);
        def.method = (knCcdMethod)m;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        assert_true(sink->logCount > 1000 && sink->logCount < sink->logCapacity);
        assert_int_equal(sink->logCount, knCcdStep_Funnel(step).exactTests);
        qsort(sink->log, sink->logCount, sizeof *sink->log, CompareKeys);
        for (size_t i = 1; i < sink->logCount; ++i)
        {
            assert_true(sink->log[i - 1] != sink->log[i]);
        }
        knDestroyCcdStep(step);
    }
}

// By its definition, over all pairs: no two triangles, one of each feature, are without a vertex in
// common. Without triangles there is no orphan.
static bool HasCommon(const knTriangle* t, const knTriangle* u)
{
    for (int i = 0; i < 9; ++i)
    {
        if (t->v[i / 3] == u->v[i % 3])
        {
            return true;
        }
    }
    return false;
}

static bool HoldsAll(const knTriangle* t, const uint32_t* v, int count)
{
    bool holds = true;
    for (int i = 0; i < count; ++i)
    {
        holds = holds && (t->v[0] == v[i] || t->v[1] == v[i] || t->v[2] == v[i]);
    }
    return holds;
}

static bool IsOrphan(const knTriangle* triangles, uint32_t count, const uint32_t* a, int aCount,
                     const uint32_t* b, int bCount)
{
    bool isOrphan = false;
    for (uint32_t i = 0; i < count; ++i)
    {
        for (uint32_t k = 0; k < count && HoldsAll(&triangles[i], a, aCount); ++k)
        {
            if (HoldsAll(&triangles[k], b, bCount))
            {
                if (!HasCommon(&triangles[i], &triangles[k]))
                {
                    return false;
                }
                isOrphan = true;
            }
        }
    }
    return isOrphan;
}

static bool HasOrphan(const knCcdStep* s, knCcdKind kind, uint32_t a, uint32_t b)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < s->orphanCount; ++i)
    {
        const knCcdOrphan* o = &s->orphans[i];
        found += o->kind == kind && o->a == a && o->b == b;
    }
    assert_true(found <= 1);
    return found == 1;
}

// Faces are taken as they are: two triangles of the same corners are two faces.
static void CheckOrphans(const knCcdStep* s, const knTriangle* triangles, uint32_t count)
{
    uint32_t orphans = 0;
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        for (uint32_t f = 0; f < count; ++f)
        {
            bool isOrphan = !HoldsAll(&triangles[f], &v, 1), isAlone = true;
            for (uint32_t t = 0; t < count; ++t)
            {
                if (HoldsAll(&triangles[t], &v, 1))
                {
                    isAlone = false;
                    isOrphan = isOrphan && HasCommon(&triangles[t], &triangles[f]);
                }
            }
            isOrphan = isOrphan && !isAlone;
            assert_int_equal(HasOrphan(s, kn_ccdVertexFace, v, f), isOrphan);
            orphans += isOrphan;
        }
    }
    for (uint32_t e = 0; e < s->edgeCount; ++e)
    {
        for (uint32_t f = e + 1; f < s->edgeCount; ++f)
        {
            const uint32_t *p = s->edges[e].v, *q = s->edges[f].v;
            bool isApart = p[0] != q[0] && p[0] != q[1] && p[1] != q[0] && p[1] != q[1];
            bool isOrphan = isApart && IsOrphan(triangles, count, p, 2, q, 2);
            assert_int_equal(HasOrphan(s, kn_ccdEdgeEdge, e, f), isOrphan);
            orphans += isOrphan;
        }
    }
    assert_int_equal(orphans, s->orphanCount);
}

static void RunShape(knCcdStep* step, const knTriangle* triangles, uint32_t count,
                     uint32_t vertexCount)
{
    static knVec3 points[VERTICES];
    knCcdStepDef def = knDefaultCcdStepDef();
    for (uint32_t i = 0; i < vertexCount; ++i)
    {
        points[i] = knMakeVec3((float)i, (float)(i * i), 0.0f);
    }
    def.start = def.end = points;
    def.vertexCount = vertexCount;
    def.triangles = triangles;
    def.triangleCount = count;
    def.method = kn_ccdTriangles;
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    CheckOrphans(step, triangles, count);
}

static void OrphansAreThoseOfTheDefinition(void** state)
{
    (void)state;
    static const knTriangle tetrahedron[4] = {{{0, 2, 1}}, {{0, 1, 3}}, {{1, 2, 3}}, {{2, 0, 3}}};
    static const knTriangle pyramid[6] = {{{0, 1, 4}}, {{1, 2, 4}}, {{2, 3, 4}},
                                          {{3, 0, 4}}, {{0, 2, 1}}, {{0, 3, 2}}};
    static const knTriangle ring[6] = {{{0, 1, 3}}, {{1, 4, 3}}, {{1, 2, 4}},
                                       {{2, 5, 4}}, {{2, 0, 5}}, {{0, 3, 5}}};
    static const knTriangle fin[4] = {{{0, 1, 2}}, {{1, 0, 3}}, {{0, 1, 4}}, {{1, 2, 5}}};
    knCcdStep* step;
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    RunShape(step, tetrahedron, 4, 4);
    RunShape(step, pyramid, 6, 5);
    RunShape(step, ring, 6, 6);
    RunShape(step, fin, 4, 6);
    RunShape(step, tetrahedron, 4, 4);
    knDestroyCcdStep(step);
}

// After each local change the set is the one of the definition.
static void OrphansFollowChanges(void** state)
{
    (void)state;
    enum
    {
        count = 18,
        vertexCount = 18
    };
    knTriangle triangles[count];
    knCcdStep* step;
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    for (uint32_t i = 0, t = 0; i < 12; ++i)
    {
        if (i % 4 != 3)
        {
            triangles[t++] = (knTriangle){{i, i + 1, i + 4}};
            triangles[t++] = (knTriangle){{i + 1, i + 5, i + 4}};
        }
    }
    for (int change = 0; change < CHANGES; ++change)
    {
        uint32_t v = Next(vertexCount), corner = Next(3);
        knTriangle* t = &triangles[Next(count)];
        if (v != t->v[0] && v != t->v[1] && v != t->v[2])
        {
            t->v[corner] = v;
        }
        // the number of triangles changes too
        RunShape(step, triangles, change % 5 == 4 ? count - 3 : count, vertexCount);
    }
    knDestroyCcdStep(step);
}

static size_t DifferencesWith(uint32_t sabotage, const Sheet* s, knCcdMethod method)
{
    knCcdStep* step;
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    knCcdStepDef def = DefOf(s);
    def.method = method;
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    size_t count, edgeCount;
    const knEdge* edges = knCcdStep_Edges(step, &edgeCount);
    count = FindAll(&def, edges, edgeCount, expected);
    assert_int_equal(CountDifferences(step, count), 0);
    step->sabotage = sabotage;
    def.rebuild = true;
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    size_t differences = CountDifferences(step, count);
    knDestroyCcdStep(step);
    return differences;
}

// Without orphans, or culled by normals alone, contacts are lost, and this is seen.
static void PlantedMistakesAreSeen(void** state)
{
    (void)state;
    static Sheet s;
    MakeSheet(&s, 1.0f); // crumpled, at its rim too
    assert_true(DifferencesWith(kn_sabotageCcdOrphans, &s, kn_ccdTriangles) > 0);
    MakeStair(&s, 0.8f);
    assert_true(DifferencesWith(kn_sabotageCcdContour, &s, kn_ccdFeatures) > 0);
}

static void WorkersAndInstructionsChangeNothing(void** state)
{
    (void)state;
    static Sheet s;
    MakeSheet(&s, 0.3f);
    knCcdStep *step, *other;
    knTaskPool* pool;
    assert_int_equal(knCreateTaskPool(&pool, 3, NULL), kn_success);
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    assert_int_equal(knCreateCcdStep(&other, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    for (int i = 0; i < 2 * kn_instructionsSse; ++i)
    {
        knCcdStepDef def = DefOf(&s);
        def.build = i % 2 ? kn_ccdByConnectivity : kn_ccdByMedians;
        def.bound = i % 2 ? kn_ccdDops : kn_ccdBoxes;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        def.tasks = &hooks;
        def.instructions = (knInstructionSet)(kn_instructionsScalar + i / 2);
        if (knCcdStep_Run(other, &def) != kn_success)
        {
            continue; // not on this machine
        }
        size_t count, otherCount;
        const knCcdContact* a = knCcdStep_Contacts(step, &count);
        const knCcdContact* b = knCcdStep_Contacts(other, &otherCount);
        knCcdFunnel f = knCcdStep_Funnel(step), g = knCcdStep_Funnel(other);
        assert_int_equal(count, otherCount);
        for (size_t k = 0; k < count; ++k)
        {
            assert_true(a[k].kind == b[k].kind && a[k].a == b[k].a && a[k].b == b[k].b &&
                        a[k].time == b[k].time);
        }
        assert_int_equal(f.exactTests, g.exactTests);
        assert_int_equal(f.edgeTests, g.edgeTests);
    }
    knDestroyCcdStep(step);
    knDestroyCcdStep(other);
    knDestroyTaskPool(pool);
}

// The first contact is the first of all, within what a time may be early.
static void TheFirstIsTheFirst(void** state)
{
    (void)state;
    static Sheet s;
    MakeSheet(&s, 0.02f);
    knCcdStep* step;
    assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
    knCcdStepDef def = DefOf(&s);
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    size_t count;
    const knCcdContact* c = knCcdStep_Contacts(step, &count);
    double first = 1.0;
    for (size_t i = 0; i < count; ++i)
    {
        first = c[i].time < first ? c[i].time : first;
    }
    def.firstOnly = true;
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    c = knCcdStep_Contacts(step, &count);
    assert_int_equal(count, 1);
    assert_true(c[0].time > first - 2e-6 && c[0].time < first + 2e-6);
    knDestroyCcdStep(step);
}

// A step whose connectivity stays makes no call to the allocator.
static void ASteadyStepAsksForNoMemory(void** state)
{
    (void)state;
    static Sheet s;
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knCcdStep* step;
    MakeSheet(&s, 0.02f);
    assert_int_equal(knCreateCcdStep(&step, &allocator), kn_success);
    knCcdStepDef def = DefOf(&s);
    assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    size_t calls = tracker.callCount;
    for (int i = 0; i < 5; ++i)
    {
        s.end[i].z += 0.01f;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
    }
    assert_int_equal(tracker.callCount, calls);
    knDestroyCcdStep(step);
    assert_int_equal(tracker.liveCount, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryMethodFindsWhatAllPairsFind),
        cmocka_unit_test(LoneAndBrokenVerticesLoseNothing),
        cmocka_unit_test(VerticesMayLoseTheirTriangles),
        cmocka_unit_test(PositionsMayBeDoubles),
        cmocka_unit_test(ASeparationIsKept),
        cmocka_unit_test(DoublesAreCulled),
        cmocka_unit_test(ConesLoseWhatTheyAreKnownToLose),
        cmocka_unit_test(NoTestIsMadeTwice),
        cmocka_unit_test(OrphansAreThoseOfTheDefinition),
        cmocka_unit_test(OrphansFollowChanges),
        cmocka_unit_test(PlantedMistakesAreSeen),
        cmocka_unit_test(WorkersAndInstructionsChangeNothing),
        cmocka_unit_test(TheFirstIsTheFirst),
        cmocka_unit_test(ASteadyStepAsksForNoMemory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
