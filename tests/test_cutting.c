// SPDX-License-Identifier: Zlib
// Pieces of the demo meshes, judged by the doctor that knows nothing of cutting: closed, oriented,
// 2-manifold, free of self-intersections.
#include "kit.h"
#include "piece_checks.h"

#include "cook.h"
#include "knap/cutting.h"
#include "knap/random.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SLOW 1
#endif
#endif
#ifndef IS_SLOW
#define IS_SLOW 0
#endif

typedef struct Object
{
    const char* name;
    knCooked cooked;
    knAsset* asset;
    const knTetMesh* mesh;
    knCutMesh cutMesh;
    float size; // diagonal of the box
} Object;

static Object objects[] = {
    {.name = "brick"}, {.name = "plate"}, {.name = "bunny"}, {.name = "piggy"}};

typedef struct Family
{
    const Object* object;
    knCutStore store;
    knFragmentSet set;
    knArena arena;
    knRandom random;
} Family;

static int LoadObjects(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects); ++i)
    {
        Object* o = &objects[i];
        char path[512];
        snprintf(path, sizeof path, "%s/demos/assets/%s.obj", KN_SOURCE_DIR, o->name);
        knCookOptions options = knDefaultCookOptions();
        options.modes.count = 0;
        if (knCook(path, &options, NULL, &o->cooked) != kn_success ||
            knCreateAssetInPlace(&o->asset, o->cooked.bytes, o->cooked.size, NULL) != kn_success)
        {
            print_error("%s: %s\n", path, knLastError());
            return 1;
        }
        o->mesh = knAsset_TetMesh(o->asset);
        if (knCreateCutMesh(&o->cutMesh, o->mesh, knAsset_Surface(o->asset), NULL) != kn_success)
        {
            return 1;
        }
        knBox box = knAsset_Info(o->asset)->bounds;
        o->size = knDistance(box.lower, box.upper);
    }
    return 0;
}

static int FreeObjects(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects); ++i)
    {
        knDestroyCutMesh(&objects[i].cutMesh);
        knDestroyAsset(objects[i].asset);
        knDestroyCooked(&objects[i].cooked);
    }
    return 0;
}

static void MakeFamily(Family* family, const Object* object, uint64_t seed)
{
    family->object = object;
    family->random = knMakeRandom(seed);
    assert_int_equal(knCreateCutStore(&family->store, object->mesh, NULL), kn_success);
    assert_int_equal(
        knCreateFragmentSet(&family->set, &object->cutMesh, &family->store, 2500.0, NULL),
        kn_success);
    assert_int_equal(knFragmentSet_Reserve(&family->set, 2000), kn_success);
    assert_int_equal(knCreateArena(&family->arena, (size_t)16 << 20, NULL), kn_success);
}

static void FreeFamily(Family* family)
{
    knDestroyArena(&family->arena);
    knDestroyFragmentSet(&family->set);
    knDestroyCutStore(&family->store);
}

static bool IsLive(const knFragmentSet* set, uint32_t fragment)
{
    return set->fragments[fragment].state != kn_fragmentEnded;
}

static PieceView ViewOf(const knPieceSurface* s)
{
    return (PieceView){s->positions, s->triangles, s->vertexCount, s->triangleCount};
}

static void AskDoctor(const Family* family, uint32_t fragment, const knPieceSurface* surface)
{
    knSoup soup = knMakeSoup(NULL);
    uint32_t index;
    knSoup_AddAttribute(&soup, (knCornerAttribute){.u = 0.0f}, &index);
    for (uint32_t i = 0; i < surface->vertexCount; ++i)
    {
        assert_int_equal(knSoup_AddPosition(&soup, surface->positions[i], &index), kn_success);
    }
    for (uint32_t i = 0; i < surface->triangleCount; ++i)
    {
        const knTriangle corners = {{0, 0, 0}};
        assert_int_equal(knSoup_AddTriangle(&soup, surface->triangles[i], corners, i), kn_success);
    }
    knDoctorOptions options = knDefaultDoctorOptions();
    options.repair = false;
    options.severalComponents = true; // a hollow piece
    knDoctorReport report;
    assert_int_equal(knTreatSoup(&soup, &options, &report), kn_success);
    for (int i = 0; i < kn_defectCount; ++i)
    {
        if (report.defects[i].count > 0 && i != kn_defectSeveralComponents && i != kn_defectScale)
        {
            print_error("%s, fragment %u of %u: %s\n", family->object->name, fragment,
                        family->set.fragmentCount, knDefectName((knDefectKind)i));
            fail();
        }
    }
    knDestroySoup(&soup);
}

// Every piece is sound and has the mass that its surface encloses; together they are the whole.
static void JudgeFamily(Family* family)
{
    const knFragmentSet* set = &family->set;
    knMassProperties sum = {0};
    double surfaceSum = 0.0;
    for (uint32_t f = 0; f < set->fragmentCount; ++f)
    {
        if (!IsLive(set, f))
        {
            continue;
        }
        knArena_Reset(&family->arena);
        knPieceSurface surface;
        assert_int_equal(knFragmentSet_Surface(set, f, NULL, &family->arena, &surface), kn_success);
        const char* flaw = FindFlaw(ViewOf(&surface));
        if (flaw)
        {
            print_error("%s, fragment %u: %s\n", family->object->name, f, flaw);
            fail();
        }
        AskDoctor(family, f, &surface);
        knMassProperties own = SurfaceMass(ViewOf(&surface), set->density);
        const knMassProperties* mass = &set->fragments[f].mass;
        double size = cbrt(mass->volume);
        // the surface is rounded to float, the mass is not: thin splinters show it most
        assert_true(MassDifference(mass, &own, size) < 2e-3);
        sum = AddMass(&sum, mass);
        surfaceSum += own.volume;
    }
    const knMassProperties* whole = &set->fragments[0].mass;
    assert_true(MassDifference(whole, &sum, (double)family->object->size) < 1e-12);
    ASSERT_NEAR(surfaceSum / whole->volume, 1.0, 1e-6);
}

static uint32_t Heaviest(const knFragmentSet* set)
{
    uint32_t best = KN_NONE;
    for (uint32_t f = 0; f < set->fragmentCount; ++f)
    {
        if (IsLive(set, f) &&
            (best == KN_NONE || set->fragments[f].mass.mass > set->fragments[best].mass.mass))
        {
            best = f;
        }
    }
    return best;
}

static uint32_t CountLive(const knFragmentSet* set)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < set->fragmentCount; ++f)
    {
        count += IsLive(set, f);
    }
    return count;
}

// The planes of every tetrahedron part its corners as the labels do, and no edge is cut twice.
static void JudgeStore(const Family* family, float minCutShare)
{
    const knCutStore* store = &family->store;
    const knTetMesh* mesh = family->object->mesh;
    for (uint32_t i = 0; i < store->pointCount; ++i)
    {
        const knCutPoint* p = &store->points[i];
        assert_int_equal(store->edgeCuts[p->edge], i);
        assert_true(p->t > minCutShare - 1e-5f && p->t < 1.0f - minCutShare + 1e-5f);
    }
    for (uint32_t e = 0; e < mesh->edgeCount; ++e)
    {
        const uint32_t* v = mesh->edges[e].v;
        assert_int_equal(store->edgeCuts[e] != KN_NONE, store->labels[v[0]] != store->labels[v[1]]);
    }
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        uint32_t record = store->tetCuts[t];
        for (int i = 0; i < 4; ++i)
        {
            uint32_t label = store->labels[mesh->tets[t].v[i]];
            float weights[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            weights[i] = 1.0f;
            uint8_t expected = 0;
            for (int k = 0; k < 4; ++k)
            {
                expected |= (uint8_t)((store->labels[mesh->tets[t].v[k]] == label) << k);
            }
            uint8_t mask = record == KN_NONE ? 0xF : knTetCut_Region(&store->cuts[record], weights);
            assert_int_equal(mask, expected);
        }
        assert_true(record == KN_NONE || store->cuts[record].planeCount <= KN_MAX_TET_PLANES);
    }
}

static void Split(Family* family, uint32_t fragment, const knSplitDef* def, knSplitResult* result)
{
    knArena_Reset(&family->arena);
    assert_int_equal(knFragmentSet_Split(&family->set, fragment, def, &family->arena, result),
                     kn_success);
}

static knSplitDef PlaneThrough(Family* family, uint32_t fragment)
{
    knSplitDef def = knDefaultSplitDef();
    def.normal = knRandom_UnitVec3(&family->random);
    def.offset = knDot(def.normal, knToFloat(family->set.fragments[fragment].mass.center));
    return def;
}

static void PlanesCutSoundPieces(void** state)
{
    (void)state;
    static const uint32_t counts[] = {2, 10, 50};
    for (size_t i = 0; i < COUNT_OF(objects); ++i)
    {
        for (size_t k = 0; k < COUNT_OF(counts) - IS_SLOW; ++k)
        {
            Family family;
            MakeFamily(&family, &objects[i], 17 * i + k);
            for (int tries = 0; tries < 200 && CountLive(&family.set) < counts[k]; ++tries)
            {
                uint32_t fragment = Heaviest(&family.set);
                knSplitDef def = PlaneThrough(&family, fragment);
                def.roughness = tries % 2 == 0 ? 0.0f : 0.02f * objects[i].size;
                def.roughnessSize = 0.1f * objects[i].size;
                knSplitResult result;
                Split(&family, fragment, &def, &result);
            }
            assert_true(CountLive(&family.set) >= counts[k]);
            JudgeFamily(&family);
            JudgeStore(&family, 0.1f);
            FreeFamily(&family);
        }
    }
}

static void SitesCutSoundPieces(void** state)
{
    (void)state;
    static const uint32_t counts[] = {2, 10, 50};
    for (size_t i = 0; i < COUNT_OF(objects); ++i)
    {
        for (size_t k = 0; k < COUNT_OF(counts) - IS_SLOW; ++k)
        {
            Family family;
            MakeFamily(&family, &objects[i], 100 + 17 * i + k);
            knVec3 sites[50];
            for (uint32_t s = 0; s < counts[k]; ++s)
            {
                uint32_t node = knRandom_Below(&family.random, objects[i].mesh->nodeCount);
                sites[s] = objects[i].mesh->nodes[node];
            }
            knSplitDef def = knDefaultSplitDef();
            def.kind = kn_splitSites;
            def.sites = sites;
            def.siteCount = counts[k];
            def.roughness = k == 1 ? 0.02f * objects[i].size : 0.0f;
            def.roughnessSize = 0.1f * objects[i].size;
            knSplitResult result;
            Split(&family, 0, &def, &result);
            assert_int_equal(result.outcome, kn_splitDone);
            JudgeFamily(&family);
            JudgeStore(&family, 0.1f);
            FreeFamily(&family);
        }
    }
}

static void RadialPatternsCutSoundPieces(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects); ++i)
    {
        Family family;
        MakeFamily(&family, &objects[i], 200 + i);
        float size = objects[i].size;
        const float radii[3] = {0.1f * size, 0.2f * size, 0.3f * size};
        knSplitDef def = knDefaultSplitDef();
        def.kind = kn_splitRadial;
        def.center = knToFloat(family.set.fragments[0].mass.center);
        def.sectorCount = 7;
        def.ringCount = 3;
        def.radii = radii;
        def.jitter = 0.3f;
        def.seed = i;
        def.roughness = 0.01f * size;
        def.roughnessSize = 0.05f * size;
        knSplitResult result;
        Split(&family, 0, &def, &result);
        assert_true(result.delta.fragmentCount >= 10);
        JudgeFamily(&family);
        JudgeStore(&family, 0.1f);
        FreeFamily(&family);
    }
}

// The worst that can be asked: neighbours know nothing of one another, most tetrahedra get planes.
static void RandomLabelsCutSoundPieces(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects) - 2 * IS_SLOW; ++i)
    {
        Family family;
        MakeFamily(&family, &objects[i], 300 + i);
        uint32_t count = objects[i].mesh->nodeCount;
        uint32_t* labels = malloc(count * sizeof *labels);
        assert_non_null(labels);
        for (uint32_t n = 0; n < count; ++n)
        {
            labels[n] = knRandom_Below(&family.random, 3);
        }
        knSplitDef def = knDefaultSplitDef();
        def.kind = kn_splitLabels;
        def.labels = labels;
        def.groupCount = 3;
        def.roughness = 1.0f;
        def.roughnessSize = 0.05f * objects[i].size;
        knSplitResult result;
        Split(&family, 0, &def, &result);
        assert_int_equal(result.outcome, kn_splitDone);
        JudgeFamily(&family);
        JudgeStore(&family, 0.1f);
        free(labels);
        FreeFamily(&family);
    }
}

// Twelve breaks in a row, each of every kind in turn, each of a piece chosen at random.
static void PiecesBreakAgainAndAgain(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(objects) - 2 * IS_SLOW; ++i)
    {
        Family family;
        MakeFamily(&family, &objects[i], 400 + i);
        for (int step = 0; step < 12; ++step)
        {
            uint32_t fragment = Heaviest(&family.set);
            knSplitDef def = PlaneThrough(&family, fragment);
            knVec3 sites[4];
            const uint32_t* nodes = knFragmentSet_Nodes(&family.set, fragment);
            uint32_t count = family.set.fragments[fragment].nodeCount;
            for (int s = 0; s < 4; ++s)
            {
                sites[s] = objects[i].mesh->nodes[nodes[knRandom_Below(&family.random, count)]];
            }
            const float radius = 0.1f * objects[i].size;
            def.kind = step % 3 == 0   ? kn_splitPlane
                       : step % 3 == 1 ? kn_splitSites
                                       : kn_splitRadial;
            def.sites = sites;
            def.siteCount = 4;
            def.center = sites[0];
            def.axis = def.normal;
            def.sectorCount = 3;
            def.radii = &radius;
            def.ringCount = 1;
            def.minCutShare = 0.15f;
            knSplitResult result;
            Split(&family, fragment, &def, &result);
        }
        assert_true(CountLive(&family.set) > 12);
        JudgeFamily(&family);
        JudgeStore(&family, 0.15f);
        FreeFamily(&family);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PlanesCutSoundPieces),
        cmocka_unit_test(SitesCutSoundPieces),
        cmocka_unit_test(RadialPatternsCutSoundPieces),
        cmocka_unit_test(RandomLabelsCutSoundPieces),
        cmocka_unit_test(PiecesBreakAgainAndAgain),
    };
    return cmocka_run_group_tests(tests, LoadObjects, FreeObjects);
}
