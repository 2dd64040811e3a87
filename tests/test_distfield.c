// SPDX-License-Identifier: Zlib
#include "field_world.h"

// After any number of breaks a point is inside a piece if and only if its surface winds around it.
static void InsideIsTheWindingNumber(void** state)
{
    (void)state;
    for (int index = 0; index < SHAPES; ++index)
    {
        World* w = MakeBroken(index);
        int perPiece = 125000 * EFFORT / (int)CountAlive(w), inside = 0, tests = 0;
        for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
        {
            if (!IsAlive(w, f))
            {
                continue;
            }
            Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
            knFieldQuery query = knMakeFieldQuery(w->field, f);
            knBox box = knBox_Expand(knFragmentField_Box(w->field, f), 0.02f * w->size);
            for (int i = 0; i < perPiece; ++i)
            {
                knVec3 normal, p = knRandom_InBox(&w->random, box);
                if (i % 4 == 0)
                {
                    p = OraclePoint(&o, &w->random, &normal);
                    p = knAddScaled(p, 0.002f * w->size, knRandom_UnitVec3(&w->random));
                }
                bool answer = knFieldQuery_Inside(&query, p);
                if (answer != (OracleWinding(&o, p) == 1))
                {
                    assert_true(OracleDistance(&o, p, false, NULL) < 1e-6 * (double)w->size);
                }
                inside += answer;
                ++tests;
            }
            assert_true(query.counters.insideTests == (uint64_t)perPiece);
            DestroyOracle(&o);
        }
        print_message("shape %d: %d points in %u pieces agree, %d inside\n", index, tests,
                      CountAlive(w), inside);
        assert_true(inside > tests / 20);
        DestroyWorld(w);
    }
}

// A sphere that touches is never culled; of those that do not touch few are kept.
static void TouchingSpheresAreKept(void** state)
{
    (void)state;
    for (int index = 0; index < SHAPES; ++index)
    {
        World* w = MakeBroken(index);
        float edge = MeanEdge(w);
        int apart = 0, kept = 0, touching = 0;
        for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
        {
            if (!IsAlive(w, f))
            {
                continue;
            }
            Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
            knFieldQuery query = knMakeFieldQuery(w->field, f);
            for (int i = 0; i < 300 * EFFORT; ++i)
            {
                // radii as in a sphere tree: each level half of the one above
                float radius = edge * 4.0f / (float)(1 << knRandom_Below(&w->random, 5));
                knVec3 normal, p = OraclePoint(&o, &w->random, &normal);
                p = knAddScaled(p, radius * knRandom_Range(&w->random, 0.0f, 3.0f),
                                knRandom_UnitVec3(&w->random));
                bool answer = knFieldQuery_SphereTest(&query, p, radius);
                bool touches = OracleWinding(&o, p) != 0 ||
                               OracleDistance(&o, p, false, NULL) <= (double)radius;
                assert_true(answer || !touches);
                touching += touches;
                apart += !touches;
                kept += answer && !touches;
            }
            knFieldCounters* c = &query.counters;
            assert_true(c->sphereTests == c->culledByBox + c->culledByGrid + c->culledByCells +
                                              c->culledByFaces + c->spheresKept);
            DestroyOracle(&o);
        }
        print_message("shape %d: %d spheres touch, all kept; %d do not, %.1f %% kept\n", index,
                      touching, apart, 100.0 * kept / apart);
        assert_true(10 * kept <= apart);
        DestroyWorld(w);
    }
}

static int CompareDoubles(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double Degrees(knVec3 direction, knDVec3 way)
{
    double c = knDDot(knToDouble(direction), way) / fmax(knDLength(way), 1e-300);
    return acos(fmax(-1.0, fmin(1.0, c))) * 57.29577951308232;
}

// Depth and direction near crack faces, where contacts of pieces arise.
static void DirectionsNearCracksAreRight(void** state)
{
    (void)state;
    for (int index = 0; index < SHAPES; ++index)
    {
        World* w = MakeBroken(index);
        float edge = MeanEdge(w);
        int capacity = 400 * EFFORT * (int)CountAlive(w), count = 0, points = 0;
        double* angles = calloc((size_t)capacity, sizeof(double));
        assert_non_null(angles);
        double mean = 0.0, worst = 0.0;
        for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
        {
            if (!IsAlive(w, f))
            {
                continue;
            }
            Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
            knFieldQuery query = knMakeFieldQuery(w->field, f);
            for (int i = 0; i < 400 * EFFORT; ++i)
            {
                knVec3 normal, p = OraclePoint(&o, &w->random, &normal);
                p = knAddScaled(p, -edge * knRandom_Float(&w->random), normal);
                knFieldContact contact;
                knDVec3 closest = {0.0, 0.0, 0.0};
                if (!knFieldQuery_Penetration(&query, p, &contact))
                {
                    continue;
                }
                double all = OracleDistance(&o, p, false, &closest);
                double error = fabs(-(double)contact.distance - all);
                assert_true(contact.distance <= 0.0f);
                ASSERT_NEAR(knLength(contact.normal), 1.0, 1e-3);
                mean += error;
                worst = fmax(worst, error);
                ++points;
                double crack = OracleDistance(&o, p, true, NULL);
                if (crack <= all * 1.0001 && all < (double)edge && all > 1e-5 * (double)w->size)
                {
                    angles[count++] = Degrees(contact.normal, knDSub(closest, knToDouble(p)));
                }
            }
            DestroyOracle(&o);
        }
        qsort(angles, (size_t)count, sizeof(double), CompareDoubles);
        print_message("shape %d: depth error mean %.5f worst %.4f of the radius (%d points); angle "
                      "near cracks p50 %.2f p95 %.2f p99 %.2f degrees (%d)\n",
                      index, mean / points / (double)w->size, worst / (double)w->size, points,
                      angles[count / 2], angles[count * 95 / 100], angles[count * 99 / 100], count);
        assert_true(count > 100 && angles[count * 95 / 100] <= 15.0);
        assert_true(worst < 2.0 * (double)w->grid.spacing + 0.5 * (double)edge);
        free(angles);
        DestroyWorld(w);
    }
}

// From a point of the surface straight in, depth should grow until the middle is passed: where the
// exact depth grows by a step and the field's falls, contacts would be pushed the wrong way.
static void DepthMostlyGrowsInwards(void** state)
{
    (void)state;
    for (int index = 0; index < SHAPES; ++index)
    {
        World* w = MakeBroken(index);
        float step = 0.25f * MeanEdge(w);
        int steps = 0, falls = 0;
        double worst = 0.0;
        for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
        {
            if (!IsAlive(w, f))
            {
                continue;
            }
            Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
            knFieldQuery query = knMakeFieldQuery(w->field, f);
            for (int i = 0; i < 25 * EFFORT; ++i)
            {
                knVec3 normal, p = OraclePoint(&o, &w->random, &normal);
                float before = 0.0f;
                double exactBefore = 0.0;
                for (int k = 1; k < 40; ++k)
                {
                    knVec3 q = knAddScaled(p, -step * (float)k, normal);
                    knFieldContact contact;
                    double exact = OracleDistance(&o, q, false, NULL);
                    if (!knFieldQuery_Penetration(&query, q, &contact) ||
                        exact < exactBefore + 0.3 * (double)step)
                    {
                        break;
                    }
                    ++steps;
                    falls += -contact.distance < before;
                    worst = fmax(worst, (double)(before + contact.distance));
                    before = -contact.distance;
                    exactBefore = exact;
                }
            }
            DestroyOracle(&o);
        }
        print_message("shape %d: depth falls at %d of %d steps inwards, by %.4f of the radius at "
                      "worst\n",
                      index, falls, steps, worst / (double)w->size);
        assert_true(steps > 100 && falls <= steps / 50);
        assert_true(worst < 0.5 * (double)MeanEdge(w));
        DestroyWorld(w);
    }
}

typedef struct FrontScore
{
    double mean, worst, angle95;
    int count, below;
} FrontScore;

static FrontScore ScoreFront(World* w)
{
    const knTetMesh* mesh = &w->store.mesh;
    FrontScore s = {0};
    double* angles = calloc(mesh->nodeCount, sizeof(double));
    assert_non_null(angles);
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        if (!IsAlive(w, f))
        {
            continue;
        }
        Oracle o = MakeOracle(mesh, &w->cuts, f);
        const uint32_t* nodes = knFragmentSet_Nodes(&w->set, f);
        for (uint32_t i = 0; i < w->set.fragments[f].nodeCount; ++i)
        {
            knVec3 direction, p = mesh->nodes[nodes[i]];
            double d = (double)knFragmentField_NodeDistance(w->field, nodes[i], &direction);
            knDVec3 closest = {0.0, 0.0, 0.0};
            double exact = OracleDistance(&o, p, true, &closest);
            // only where the crack can win: nodes inside
            if (nodes[i] < w->shape.surfaceNodeCount ||
                exact > 1.0001 * OracleDistance(&o, p, false, NULL))
            {
                continue;
            }
            assert_true(d < 1e30);
            s.mean += fabs(d - exact);
            s.worst = fmax(s.worst, fabs(d - exact));
            s.below += d < exact - 1e-6 * (double)w->size;
            angles[s.count++] = Degrees(direction, knDSub(closest, knToDouble(p)));
        }
        DestroyOracle(&o);
    }
    assert_true(s.count > 10);
    qsort(angles, (size_t)s.count, sizeof(double), CompareDoubles);
    s.angle95 = angles[s.count * 95 / 100];
    s.mean /= s.count * (double)w->size;
    s.worst /= (double)w->size;
    free(angles);
    return s;
}

// The default is chosen by this table: crack points that exist can only be too far, never too near.
static void TheDefaultFrontIsTheBest(void** state)
{
    (void)state;
    static const char* const names[kn_frontModeCount] = {"closest face", "closest point", "paper"};
    FrontScore scores[kn_frontModeCount];
    for (int mode = 0; mode < kn_frontModeCount; ++mode)
    {
        knFieldDef def = knDefaultFieldDef();
        def.front = (knFrontMode)mode;
        World* w = MakeWorld(0, def);
        Break(w, SPLITS);
        scores[mode] = ScoreFront(w);
        print_message(
            "front %-13s: mean %.5f worst %.4f of the radius, angle p95 %.1f, too near at "
            "%d of %d nodes\n",
            names[mode], scores[mode].mean, scores[mode].worst, scores[mode].angle95,
            scores[mode].below, scores[mode].count);
        DestroyWorld(w);
    }
    const FrontScore* best = &scores[knDefaultFieldDef().front];
    assert_int_equal(best->below, 0);
    assert_true(best->mean < scores[kn_frontPaper].mean && best->angle95 <= 15.0);
}

// Distance outside: exact within the margin, nothing beyond it.
static void DistanceOutsideIsExact(void** state)
{
    (void)state;
    World* w = MakeBroken(0);
    // wider than a tetrahedron, and as narrow as contacts have it
    static const float margins[3] = {0.05f, 0.012f, 0.003f};
    int near = 0;
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        if (!IsAlive(w, f))
        {
            continue;
        }
        Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
        knFieldQuery query = knMakeFieldQuery(w->field, f);
        for (int i = 0; i < 200 * EFFORT; ++i)
        {
            float margin = margins[i % 3] * w->size;
            knVec3 normal, p = OraclePoint(&o, &w->random, &normal);
            p = knAddScaled(p, 2.0f * margin * knRandom_Float(&w->random), normal);
            knDVec3 closest = {0.0, 0.0, 0.0};
            double d = OracleDistance(&o, p, false, &closest);
            if (fabs(d - (double)margin) < 1e-5 || d < 1e-5)
            {
                continue;
            }
            knFieldContact contact;
            bool found = knFieldQuery_Distance(&query, p, margin, &contact);
            assert_int_equal(found, d < (double)margin && OracleWinding(&o, p) == 0);
            if (found)
            {
                ASSERT_NEAR(contact.distance, d, 1e-5 * (double)w->size);
                assert_true(Degrees(contact.normal, knDSub(knToDouble(p), closest)) < 1.0 ||
                            d < 1e-3 * (double)w->size);
                ++near;
            }
        }
        DestroyOracle(&o);
    }
    assert_true(near > 200);
    DestroyWorld(w);
}

// In the hole that a piece left behind there is nothing: no inside, no distance, no sphere.
static void HolesAreEmpty(void** state)
{
    (void)state;
    for (int index = 0; index < SHAPES; ++index)
    {
        World* w = MakeBroken(index);
        uint32_t gone = w->set.fragmentCount - 1;
        while (!IsAlive(w, gone))
        {
            --gone;
        }
        Oracle o = MakeOracle(&w->store.mesh, &w->cuts, gone);
        knBox box = knFragmentField_Box(w->field, gone);
        knFragmentField_Remove(w->field, gone);
        int deep = 0;
        for (int i = 0; i < 20000 && deep < 200; ++i)
        {
            knVec3 p = knRandom_InBox(&w->random, box);
            double depth = OracleDistance(&o, p, false, NULL);
            if (OracleWinding(&o, p) != 1 || depth < 0.01 * (double)w->size)
            {
                continue;
            }
            ++deep;
            for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
            {
                knFieldQuery query = knMakeFieldQuery(w->field, f);
                knFieldContact contact;
                float margin = 0.9f * (float)depth;
                assert_false(knFieldQuery_Inside(&query, p));
                assert_false(knFieldQuery_Penetration(&query, p, &contact));
                assert_false(knFieldQuery_Distance(&query, p, margin, &contact));
                if (margin < MeanEdge(w))
                {
                    assert_false(knFieldQuery_SphereTest(&query, p, margin));
                }
            }
        }
        assert_true(deep > 5);
        DestroyOracle(&o);
        DestroyWorld(w);
    }
}

static bool SameContact(const knContacts8* a, const knContacts8* b, int lane)
{
    return memcmp(&a->distance[lane], &b->distance[lane], 4) == 0 &&
           memcmp(&a->nx[lane], &b->nx[lane], 4) == 0 &&
           memcmp(&a->ny[lane], &b->ny[lane], 4) == 0 &&
           memcmp(&a->nz[lane], &b->nz[lane], 4) == 0 && a->source[lane] == b->source[lane];
}

// What a visit answers is what the single questions answer.
static void CheckVisits(const knFragmentField* wide, const knFragmentField* narrow, uint32_t f,
                        const knPoints8* points, const float radius[8])
{
    knFieldQuery a = knMakeFieldQuery(wide, f), b = knMakeFieldQuery(narrow, f);
    knFieldQuery one = knMakeFieldQuery(wide, f);
    float margin = 0.3f * radius[0], depth = radius[1] > radius[2] ? 0.2f * radius[1] : 0.0f;
    knVisits8 v = {.points = *points, .margin = depth > 0.0f ? 0.0f : margin, .depth = depth};
    v.mask = 0xFF;
    v.first = 0x7F;
    memcpy(v.reach, radius, sizeof v.reach);
    v.reach[3] = -1.0f;
    knVisits8 u = v;
    knFieldQuery_Visit8(&a, &v);
    knFieldQuery_Visit8(&b, &u);
    assert_int_equal(v.found, u.found);
    assert_int_equal(v.descend, u.descend);
    for (int lane = 0; lane < 8; ++lane)
    {
        knVec3 p = {points->x[lane], points->y[lane], points->z[lane]};
        knFieldContact c;
        bool found = lane < 7 && knFieldQuery_Penetration(&one, p, &c) &&
                     (depth == 0.0f || c.distance < -depth);
        found =
            found || (lane < 7 && v.margin > 0.0f && knFieldQuery_Distance(&one, p, v.margin, &c));
        assert_int_equal(v.found >> lane & 1, found);
        assert_true(!found || memcmp(&c.distance, &v.contacts.distance[lane], 4) == 0);
        assert_true(!found ||
                    memcmp(&u.contacts.distance[lane], &v.contacts.distance[lane], 4) == 0);
        bool descend = lane != 3 && knFieldQuery_SphereTest(&one, p, radius[lane]);
        assert_int_equal(v.descend >> lane & 1, descend);
    }
}

// Eight at once are the same bits as one at a time.
static void WideIsScalarBitForBit(void** state)
{
    (void)state;
    knFieldDef scalarDef = knDefaultFieldDef();
    scalarDef.scalar = true;
    World* wide = MakeBroken(0);
    World* narrow = MakeWorld(0, scalarDef);
    Break(narrow, SPLITS);
    knRandom random = knMakeRandom(77);
    for (int i = 0; i < 20000 * EFFORT / 8; ++i)
    {
        uint32_t f = knRandom_Below(&random, wide->set.fragmentCount);
        knFieldQuery a = knMakeFieldQuery(wide->field, f), b = knMakeFieldQuery(narrow->field, f);
        knPoints8 points;
        float radius[8];
        // a piece that ended has an empty box: look around the whole
        knBox box = IsAlive(wide, f) ? knFragmentField_Box(wide->field, f) : wide->locator.box;
        box = knBox_Expand(box, i % 4 ? 0.05f * wide->size : 3.0f * wide->size);
        for (int lane = 0; lane < 8; ++lane)
        {
            knVec3 p = knRandom_InBox(&random, box);
            points.x[lane] = p.x;
            points.y[lane] = p.y;
            points.z[lane] = p.z;
            radius[lane] = 0.1f * wide->size * knRandom_Float(&random);
        }
        uint8_t mask = (uint8_t)(i % 3 ? 0xFF : knRandom_U32(&random));
        knContacts8 ca, cb;
        memset(&ca, 0, sizeof ca);
        memset(&cb, 0, sizeof cb);
        assert_int_equal(knFieldQuery_Inside8(&a, &points, mask),
                         knFieldQuery_Inside8(&b, &points, mask));
        uint8_t hit = knFieldQuery_Penetration8(&a, &points, mask, &ca);
        assert_int_equal(hit, knFieldQuery_Penetration8(&b, &points, mask, &cb));
        assert_int_equal(hit & ~mask, 0);
        assert_int_equal(knFieldQuery_SphereTest8(&a, &points, radius, mask),
                         knFieldQuery_SphereTest8(&b, &points, radius, mask));
        for (int lane = 0; lane < 8; ++lane)
        {
            assert_true(SameContact(&ca, &cb, lane));
            knVec3 p = {points.x[lane], points.y[lane], points.z[lane]};
            knFieldQuery one = knMakeFieldQuery(wide->field, f);
            knFieldContact contact;
            if (hit >> lane & 1)
            {
                assert_true(knFieldQuery_Penetration(&one, p, &contact));
                assert_memory_equal(&contact.distance, &ca.distance[lane], 4);
            }
        }
        assert_memory_equal(&a.counters, &b.counters, sizeof a.counters);
        CheckVisits(wide->field, narrow->field, f, &points, radius);
    }
    DestroyWorld(wide);
    DestroyWorld(narrow);
}

// The paper's bound may cull what touches; it says how often.
static void ThePapersBoundConfessesItsMisses(void** state)
{
    (void)state;
    knFieldDef def = knDefaultFieldDef();
    def.paperSphereBound = true;
    def.front = kn_frontPaper;
    World* w = MakeWorld(0, def);
    Break(w, SPLITS);
    uint64_t culled = 0, missed = 0, wrong = 0;
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        if (!IsAlive(w, f))
        {
            continue;
        }
        Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
        knFieldQuery query = knMakeFieldQuery(w->field, f);
        for (int i = 0; i < 500; ++i)
        {
            knVec3 normal, p = OraclePoint(&o, &w->random, &normal);
            float radius = 0.1f * w->size * knRandom_Float(&w->random);
            p = knAddScaled(p, 2.0f * radius * knRandom_Float(&w->random), normal);
            bool touches = OracleWinding(&o, p) != 0 ||
                           OracleDistance(&o, p, false, NULL) < 0.9999 * (double)radius;
            bool kept = knFieldQuery_SphereTest(&query, p, radius);
            wrong += touches && !kept;
        }
        culled += query.counters.culledByPaper;
        missed += query.counters.falseCulls;
        DestroyOracle(&o);
    }
    print_message("paper's bound: %d culled, %d of them touch\n", (int)culled, (int)missed);
    assert_true(culled > 0 && missed <= culled && wrong <= missed);
    DestroyWorld(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(InsideIsTheWindingNumber),
        cmocka_unit_test(TouchingSpheresAreKept),
        cmocka_unit_test(DirectionsNearCracksAreRight),
        cmocka_unit_test(DepthMostlyGrowsInwards),
        cmocka_unit_test(TheDefaultFrontIsTheBest),
        cmocka_unit_test(DistanceOutsideIsExact),
        cmocka_unit_test(HolesAreEmpty),
        cmocka_unit_test(WideIsScalarBitForBit),
        cmocka_unit_test(ThePapersBoundConfessesItsMisses),
    };
    return cmocka_run_group_tests(tests, NULL, ReleaseSections);
}
