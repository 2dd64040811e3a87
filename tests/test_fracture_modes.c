// SPDX-License-Identifier: Zlib
// The cooked modes as the game reads them: values come back, and no bytes can make them unsound.

#include "cooked.h"
#include "kit.h"
#include "knap/modes.h"
#include "knap/random.h"

#include <math.h>

#define MODES 5

// A small box with made-up modes in it.
typedef struct Scene
{
    TetShape shape;
    CookParts parts;
    knAssetSection sections[3];
    uint32_t anchors[4];
    double eigenvalues[MODES];
    double* shapes;
    double* stresses;
    knModeSetDef def;
} Scene;

static void* Section(const knModeSetDef* def, size_t* size)
{
    void* bytes = NULL;
    assert_int_equal(knEncodeModes(def, NULL, &bytes, size), kn_success);
    return bytes;
}

static void FillDef(Scene* s)
{
    knRandom random = knMakeRandom(5);
    size_t n = s->shape.nodeCount;
    s->shapes = calloc(MODES * 3 * n, sizeof(double));
    s->stresses = calloc(MODES * 6 * n, sizeof(double));
    assert_true(s->shapes && s->stresses);
    for (size_t m = 0; m < MODES; ++m)
    {
        s->eigenvalues[m] = 3.0 * (double)(m * m + 1);
        for (size_t i = 0; i < 9 * n; ++i)
        {
            double value = ((double)knRandom_Float(&random) - 0.5) * pow(10.0, (double)m);
            *(i < 3 * n ? &s->shapes[m * 3 * n + i] : &s->stresses[m * 6 * n + i - 3 * n]) = value;
        }
    }
    s->def = (knModeSetDef){.modeCount = MODES,
                            .nodeCount = (uint32_t)n,
                            .poisson = 0.22f,
                            .eigenvalues = s->eigenvalues,
                            .shapes = s->shapes,
                            .stresses = s->stresses};
}

static void MakeScene(Scene* s)
{
    static const int cells[3] = {3, 2, 1};
    *s = (Scene){.anchors = {0, 2, 3, 7}};
    s->shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(3.0f, 2.0f, 1.0f));
    s->parts = MakeCookParts(&s->shape);
    s->parts.def.surface = &s->parts.surface;
    s->parts.def.tetMesh = &s->parts.mesh;
    FillDef(s);
    size_t size = 0;
    void* bytes = Section(&s->def, &size);
    s->sections[0] = (knAssetSection){KN_FREE_MODES_TAG, KN_MODES_VERSION, bytes, size};
    knModeSetDef held = s->def;
    held.isAnchored = true;
    held.modeCount = 2;
    bytes = Section(&held, &size);
    s->sections[1] = (knAssetSection){KN_ANCHORED_MODES_TAG, KN_MODES_VERSION, bytes, size};
    s->sections[2] =
        (knAssetSection){KN_ANCHORS_TAG, KN_ANCHORS_VERSION, s->anchors, sizeof s->anchors};
    s->parts.def.sections = s->sections;
    s->parts.def.sectionCount = 3;
}

static void DestroyScene(Scene* s)
{
    for (int i = 0; i < 2; ++i)
    {
        knRelease(NULL, (void*)s->sections[i].data, (size_t)s->sections[i].size, 1);
    }
    free(s->shapes);
    free(s->stresses);
    DestroyCookParts(&s->parts);
    DestroyShape(&s->shape);
}

typedef struct File
{
    void* bytes;
    size_t size;
    knAsset* asset;
} File;

static File OpenScene(const Scene* s)
{
    File f = {0};
    assert_int_equal(knEncodeAsset(&s->parts.def, NULL, &f.bytes, &f.size), kn_success);
    assert_int_equal(knCreateAssetInPlace(&f.asset, f.bytes, f.size, NULL), kn_success);
    return f;
}

static void CloseFile(File* f)
{
    knDestroyAsset(f->asset);
    knRelease(NULL, f->bytes, f->size, 1);
}

// Stored values differ from the given by no more than half a step of 1/32767 of the largest.
static void CheckValues(const double* given, const int16_t* stored, float scale, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; ++i)
    {
        most = fmax(most, fabs(given[i]));
    }
    for (size_t i = 0; i < count; ++i)
    {
        ASSERT_NEAR((double)scale * stored[i], given[i], 0.5001 * most / 32767.0);
    }
}

static void ValuesComeBack(void** state)
{
    (void)state;
    Scene s;
    MakeScene(&s);
    File f = OpenScene(&s);
    size_t n = s.shape.nodeCount;
    for (int anchored = 0; anchored < 2; ++anchored)
    {
        knModeSet set;
        assert_int_equal(knOpenModes(&set, f.asset, anchored != 0), kn_success);
        assert_int_equal(set.modeCount, anchored ? 2 : MODES);
        assert_int_equal(set.nodeCount, n);
        assert_true(set.isAnchored == (anchored != 0));
        ASSERT_NEAR(set.poisson, 0.22, 1e-7);
        for (size_t m = 0; m < set.modeCount; ++m)
        {
            ASSERT_NEAR(set.eigenvalues[m], s.eigenvalues[m], 1e-6 * s.eigenvalues[m]);
            CheckValues(s.shapes + m * 3 * n, set.shapes + m * 3 * n, set.shapeScales[m], 3 * n);
            CheckValues(s.stresses + m * 6 * n, set.stresses + m * 6 * n, set.stressScales[m],
                        6 * n);
        }
    }
    knAnchors anchors;
    assert_int_equal(knOpenAnchors(&anchors, f.asset), kn_success);
    assert_int_equal(anchors.count, 4);
    assert_memory_equal(anchors.nodes, s.anchors, sizeof s.anchors);
    CloseFile(&f);
    DestroyScene(&s);
}

static void NoModesAndNoAnchorsAreNoFailure(void** state)
{
    (void)state;
    Scene s;
    MakeScene(&s);
    s.parts.def.sectionCount = 0;
    File f = OpenScene(&s);
    knModeSet set;
    knAnchors anchors;
    memset(&set, 1, sizeof set);
    memset(&anchors, 1, sizeof anchors);
    assert_int_equal(knOpenModes(&set, f.asset, false), kn_success);
    assert_int_equal(knOpenAnchors(&anchors, f.asset), kn_success);
    assert_int_equal(set.modeCount, 0);
    assert_null(set.shapes);
    assert_int_equal(anchors.count, 0);
    CloseFile(&f);
    DestroyScene(&s);
}

// Sums everything, so that a sanitizer sees each access.
static double Touch(const knModeSet* set)
{
    double sum = 0.0;
    size_t n = set->nodeCount;
    for (size_t m = 0; m < set->modeCount; ++m)
    {
        sum += (double)set->eigenvalues[m];
        for (size_t i = 0; i < 9 * n; ++i)
        {
            sum += (double)(i < 3 * n ? set->shapeScales[m] * set->shapes[m * 3 * n + i]
                                      : set->stressScales[m] * set->stresses[(m * 6 - 3) * n + i]);
        }
    }
    return sum;
}

// One spoilt byte: in the header, in the numbers, or anywhere.
static void HostileBytesAreRefusedOrHarmless(void** state)
{
    (void)state;
    Scene s;
    MakeScene(&s);
    knRandom random = knMakeRandom(77);
    int refused = 0;
    for (int i = 0; i < 3000; ++i)
    {
        knAssetSection* section = &s.sections[i % 3];
        knAssetSection good = *section;
        size_t size = (size_t)good.size;
        unsigned char* copy = knAllocate(NULL, size, 1);
        assert_non_null(copy);
        memcpy(copy, good.data, size);
        size_t reach = i % 2 && size > 300 ? 300 : size;
        copy[knRandom_Below(&random, (uint32_t)reach)] =
            (unsigned char)(i % 5 ? knRandom_U32(&random) : 0xFF);
        section->data = copy;
        section->size = i % 11 ? size : knRandom_Below(&random, (uint32_t)size);
        File f = OpenScene(&s);
        knModeSet set = {0};
        knAnchors anchors = {0};
        knResult result =
            i % 3 < 2 ? knOpenModes(&set, f.asset, i % 3 == 1) : knOpenAnchors(&anchors, f.asset);
        refused += result != kn_success;
        assert_true(result == kn_success || (!set.shapes && !anchors.nodes));
        assert_true(isfinite(Touch(&set)));
        for (uint32_t k = 0; k < anchors.count; ++k)
        {
            assert_true(anchors.nodes[k] < s.shape.nodeCount);
        }
        CloseFile(&f);
        *section = good;
        knRelease(NULL, copy, size, 1);
    }
    assert_true(refused > 800);
    DestroyScene(&s);
}

static void AnotherVersionIsRefused(void** state)
{
    (void)state;
    Scene s;
    MakeScene(&s);
    for (int i = 0; i < 3; ++i)
    {
        s.sections[i].version = 9;
    }
    File f = OpenScene(&s);
    knModeSet set;
    knAnchors anchors;
    assert_int_equal(knOpenModes(&set, f.asset, true), kn_errorVersion);
    assert_int_equal(knOpenAnchors(&anchors, f.asset), kn_errorVersion);
    CloseFile(&f);
    DestroyScene(&s);
}

static void BadDefinitionsAreNamed(void** state)
{
    (void)state;
    Scene s;
    MakeScene(&s);
    void* bytes = &s;
    size_t size = 3;
    knModeSetDef def = s.def;
    def.modeCount = 0;
    assert_int_equal(knEncodeModes(&def, NULL, &bytes, &size), kn_errorArgument);
    def = s.def;
    def.poisson = 0.5f;
    assert_int_equal(knEncodeModes(&def, NULL, &bytes, &size), kn_errorArgument);
    const double bad[3] = {-1.0, NAN, 1.0};
    for (int i = 0; i < 3; ++i)
    {
        double kept = s.eigenvalues[2];
        s.eigenvalues[2] = bad[i];
        assert_int_equal(knEncodeModes(&s.def, NULL, &bytes, &size), kn_errorArgument);
        s.eigenvalues[2] = kept;
    }
    s.stresses[11] = INFINITY;
    assert_int_equal(knEncodeModes(&s.def, NULL, &bytes, &size), kn_errorArgument);
    assert_true(bytes == &s && size == 3);
    assert_int_equal(knOpenModes(NULL, NULL, false), kn_errorArgument);
    assert_int_equal(knOpenAnchors(NULL, NULL), kn_errorArgument);
    DestroyScene(&s);
}

static knResult EncodeOnce(const knAllocator* allocator, void* context)
{
    const Scene* s = context;
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knEncodeModes(&s->def, allocator, &bytes, &size);
    knRelease(allocator, bytes, size, 1);
    return result;
}

static void AllocationFailuresAreSurvived(void** state)
{
    (void)state;
    Scene s;
    MakeScene(&s);
    SurviveAllocationFailures(EncodeOnce, &s);
    DestroyScene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ValuesComeBack),
        cmocka_unit_test(NoModesAndNoAnchorsAreNoFailure),
        cmocka_unit_test(HostileBytesAreRefusedOrHarmless),
        cmocka_unit_test(AnotherVersionIsRefused),
        cmocka_unit_test(BadDefinitionsAreNamed),
        cmocka_unit_test(AllocationFailuresAreSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
