// SPDX-License-Identifier: Zlib
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

static TetShape MakeShape(int index)
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

static void CookSections(Sections* s, const knTetMesh* mesh)
{
    assert_int_equal(knCookTetLocator(mesh, NULL, &s->locatorBytes, &s->locatorSize), kn_success);
    knTetLocator locator;
    assert_int_equal(knOpenTetLocator(&locator, mesh, s->locatorBytes, s->locatorSize, NULL),
                     kn_success);
    knGridDef def = knDefaultGridDef();
    assert_int_equal(knCookDistanceGrid(&def, &locator, NULL, &s->gridBytes, &s->gridSize),
                     kn_success);
}

static int ReleaseSections(void** state)
{
    (void)state;
    for (int i = 0; i < SHAPES; ++i)
    {
        knRelease(NULL, sections[i].locatorBytes, sections[i].locatorSize, 1);
        knRelease(NULL, sections[i].gridBytes, sections[i].gridSize, 1);
    }
    return 0;
}

static World* MakeWorld(int index, knFieldDef def)
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

static void DestroyWorld(World* w)
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

static bool IsAlive(const World* w, uint32_t fragment)
{
    return w->set.fragments[fragment].state != kn_fragmentEnded;
}

// Splits the largest piece through its middle; the delta stays valid until the next split.
static bool SplitLargest(World* w, knSplitResult* result)
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

static void Break(World* w, int splits)
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

static World* MakeBroken(int index)
{
    World* w = MakeWorld(index, knDefaultFieldDef());
    Break(w, SPLITS);
    return w;
}

static uint32_t CountAlive(const World* w)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        count += IsAlive(w, f);
    }
    return count;
}

static float MeanEdge(const World* w)
{
    const knTetMesh* m = &w->store.mesh;
    double sum = 0.0;
    for (uint32_t e = 0; e < m->edgeCount; ++e)
    {
        sum += (double)knDistance(m->nodes[m->edges[e].v[0]], m->nodes[m->edges[e].v[1]]);
    }
    return (float)(sum / m->edgeCount);
}

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
    float margin = 0.05f * w->size;
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

// One piece breaks; not a bit of the others changes.
static void OthersStayBitForBit(void** state)
{
    (void)state;
    World* w = MakeWorld(0, knDefaultFieldDef());
    Break(w, 4);
    knFragmentField* field = w->field;
    size_t nodeSize = w->store.mesh.nodeCount * sizeof(knNodeValue);
    size_t slotSize = (size_t)field->pieceCapacity * KN_OCCUPANCY_BYTES;
    size_t recordSize = field->fragmentCapacity * sizeof(knFragmentRecord);
    knNodeValue* values = malloc(nodeSize);
    unsigned char* slots = malloc(slotSize);
    knFragmentRecord* records = malloc(recordSize);
    uint32_t* labels = malloc(w->store.mesh.nodeCount * sizeof(uint32_t));
    assert_true(values && slots && records && labels);
    for (int i = 0; i < 8; ++i)
    {
        memcpy(values, field->values, nodeSize);
        memcpy(slots, field->slots, slotSize);
        memcpy(records, field->records, recordSize);
        memcpy(labels, w->cuts.labels, w->store.mesh.nodeCount * sizeof(uint32_t));
        knSplitResult result;
        if (!SplitLargest(w, &result))
        {
            continue;
        }
        assert_int_equal(knFragmentField_Update(field, &result.delta), kn_success);
        for (uint32_t n = 0; n < w->store.mesh.nodeCount; ++n)
        {
            if (labels[n] != result.delta.parent)
            {
                assert_memory_equal(&values[n], &field->values[n], sizeof values[n]);
            }
        }
        for (uint32_t f = 0; f < result.delta.fragments[0]; ++f)
        {
            if (f != result.delta.parent && records[f].slot != KN_NONE)
            {
                size_t at = (size_t)records[f].slot * KN_OCCUPANCY_BYTES;
                assert_memory_equal(&records[f], &field->records[f], sizeof records[f]);
                assert_memory_equal(slots + at, (unsigned char*)field->slots + at,
                                    KN_OCCUPANCY_BYTES);
            }
        }
        assert_int_equal(field->records[result.delta.parent].slot, KN_NONE);
    }
    free(values);
    free(slots);
    free(records);
    free(labels);
    DestroyWorld(w);
}

static bool SameContact(const knContacts8* a, const knContacts8* b, int lane)
{
    return memcmp(&a->distance[lane], &b->distance[lane], 4) == 0 &&
           memcmp(&a->nx[lane], &b->nx[lane], 4) == 0 &&
           memcmp(&a->ny[lane], &b->ny[lane], 4) == 0 &&
           memcmp(&a->nz[lane], &b->nz[lane], 4) == 0 && a->source[lane] == b->source[lane];
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

static void UpdatesMakeNoHeapCall(void** state)
{
    (void)state;
    World* w = MakeWorld(1, knDefaultFieldDef());
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knFieldDef def = knDefaultFieldDef();
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 2;
    def.pieceCapacity = 1;
    knFragmentField* field;
    assert_int_equal(knCreateFragmentField(&field, &def, &allocator), kn_success);
    knSplitResult result;
    while (!SplitLargest(w, &result))
    {
    }
    // no room: refused, and the object is still whole
    knBox before = knFragmentField_Box(field, 0);
    assert_int_equal(knFragmentField_Update(field, &result.delta), kn_errorLimit);
    assert_true(memcmp(&before, &field->records[0].box, sizeof before) == 0);
    assert_int_equal(knFragmentField_Reserve(field, 300, 100), kn_success);
    size_t calls = tracker.callCount;
    assert_int_equal(knFragmentField_Update(field, &result.delta), kn_success);
    for (int i = 0; i < SPLITS; ++i)
    {
        if (SplitLargest(w, &result))
        {
            assert_int_equal(knFragmentField_Update(field, &result.delta), kn_success);
        }
    }
    assert_int_equal(tracker.callCount, calls);
    print_message("%zu bytes for %u nodes, 300 labels and 100 pieces\n", tracker.bytes,
                  w->store.mesh.nodeCount);
    // the costs that the header names, and a little for rounding to cache lines
    assert_true((double)tracker.bytes <= 20.4 * w->store.mesh.nodeCount + 300.0 * 56.0 +
                                             100.0 * (KN_OCCUPANCY_BYTES + 4) + 2048.0);
    knDestroyFragmentField(field);
    assert_int_equal(tracker.bytes, 0);
    DestroyWorld(w);
}

// A field made after the breaks sees what one that was there all along sees.
static void LateFieldsAgree(void** state)
{
    (void)state;
    World* w = MakeBroken(0);
    knFieldDef def = knDefaultFieldDef();
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 400;
    def.pieceCapacity = 200;
    knFragmentField* late;
    assert_int_equal(knCreateFragmentField(&late, &def, NULL), kn_success);
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        knBox a = knFragmentField_Box(w->field, f), b = knFragmentField_Box(late, f);
        assert_memory_equal(&a, &b, sizeof a);
        knFieldQuery early = knMakeFieldQuery(w->field, f), query = knMakeFieldQuery(late, f);
        for (int i = 0; i < 500 && IsAlive(w, f); ++i)
        {
            knVec3 p = knRandom_InBox(&w->random, a);
            assert_int_equal(knFieldQuery_Inside(&early, p), knFieldQuery_Inside(&query, p));
            assert_int_equal(knFieldQuery_SphereTest(&early, p, 0.02f),
                             knFieldQuery_SphereTest(&query, p, 0.02f));
        }
    }
    knDestroyFragmentField(late);
    DestroyWorld(w);
}

static knResult CreateField(const knAllocator* allocator, void* context)
{
    World* w = context;
    knFieldDef def = knDefaultFieldDef();
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.fragmentCapacity = 300;
    def.pieceCapacity = 100;
    knFragmentField* field = NULL;
    knResult result = knCreateFragmentField(&field, &def, allocator);
    if (result != kn_success)
    {
        assert_null(field);
        return result;
    }
    result = knFragmentField_Reserve(field, 600, 200);
    knFieldQuery query = knMakeFieldQuery(field, w->set.fragmentCount - 1);
    knFieldQuery_Inside(&query, knMakeVec3(0.0f, 0.0f, 0.0f));
    knDestroyFragmentField(field);
    return result;
}

static void CreationSurvivesRefusedMemory(void** state)
{
    (void)state;
    World* w = MakeBroken(1);
    SurviveAllocationFailures(CreateField, w);
    DestroyWorld(w);
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    World* w = MakeWorld(1, knDefaultFieldDef());
    knFragmentField* field = NULL;
    knFieldDef def = knDefaultFieldDef();
    assert_int_equal(knCreateFragmentField(&field, &def, NULL), kn_errorArgument);
    def.locator = &w->locator;
    def.grid = &w->grid;
    def.cuts = &w->cuts;
    def.size = 3;
    assert_int_equal(knCreateFragmentField(&field, &def, NULL), kn_errorVersion);
    def.size = sizeof def;
    def.front = kn_frontModeCount;
    assert_int_equal(knCreateFragmentField(&field, &def, NULL), kn_errorArgument);
    assert_null(field);
    uint32_t tet = w->store.mesh.tetCount, label = 1;
    knFractureDelta delta = {.parent = 0, .fragments = &label, .fragmentCount = 1};
    delta.crossedTets = &tet;
    delta.crossedTetCount = 1;
    assert_int_equal(knFragmentField_Update(w->field, &delta), kn_errorArgument);
    assert_int_equal(knFragmentField_Update(w->field, NULL), kn_errorArgument);
    assert_true(knFindRecord(w->field, 0) != NULL);
    knFieldQuery nobody = knMakeFieldQuery(w->field, 12345678);
    knVec3 p = {0.0f, 0.0f, 0.05f};
    assert_false(knFieldQuery_Inside(&nobody, p));
    assert_false(knFieldQuery_SphereTest(&nobody, p, 1.0f));
    knFieldQuery whole = knMakeFieldQuery(w->field, 0);
    assert_true(knFieldQuery_Inside(&whole, p));
    assert_false(knFieldQuery_Inside(&whole, knMakeVec3(NAN, 0.0f, 0.0f)));
    DestroyWorld(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(InsideIsTheWindingNumber),
        cmocka_unit_test(TouchingSpheresAreKept),
        cmocka_unit_test(DirectionsNearCracksAreRight),
        cmocka_unit_test(TheDefaultFrontIsTheBest),
        cmocka_unit_test(DistanceOutsideIsExact),
        cmocka_unit_test(HolesAreEmpty),
        cmocka_unit_test(OthersStayBitForBit),
        cmocka_unit_test(WideIsScalarBitForBit),
        cmocka_unit_test(ThePapersBoundConfessesItsMisses),
        cmocka_unit_test(UpdatesMakeNoHeapCall),
        cmocka_unit_test(LateFieldsAgree),
        cmocka_unit_test(CreationSurvivesRefusedMemory),
        cmocka_unit_test(BadArgumentsAreRefused),
    };
    return cmocka_run_group_tests(tests, NULL, ReleaseSections);
}
