// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L

#include "cook.h"
#include "kit.h"
#include "predicates.h"

#include <math.h>

// Table 1 of the paper.
typedef struct PaperObject
{
    const char* name;
    uint32_t triangles, tetrahedra, points;
} PaperObject;

static const PaperObject paperObjects[] = {
    {"bunny", 7940, 18767, 5089}, {"plate", 5392, 8617, 2711},  {"brick", 468, 594, 224},
    {"shelf", 4652, 10200, 2989}, {"piggy", 9722, 20807, 5870},
};

// Modes take most of the time of cooking; test_modes.c judges them.
static knCooked CookObject(const char* name, uint32_t modeCount)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/demos/assets/%s.obj", KN_SOURCE_DIR, name);
    knCookOptions options = knDefaultCookOptions();
    options.modes.count = modeCount;
    knCooked cooked;
    knResult result = knCook(path, &options, NULL, &cooked);
    if (result != kn_success)
    {
        fail_msg("%s: %s", name, knLastError());
    }
    return cooked;
}

static void AssertWithin(uint32_t count, uint32_t wanted, double share)
{
    assert_true(fabs((double)count - (double)wanted) <= share * (double)wanted);
}

// By summed cones from the origin, in long double: another formula than the library's.
static double ConeVolume(const knSurfaceMesh* s)
{
    long double sum = 0.0L;
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 a = s->positions[s->triangles[i].v[0]];
        knVec3 b = s->positions[s->triangles[i].v[1]];
        knVec3 c = s->positions[s->triangles[i].v[2]];
        long double x = (long double)b.y * (long double)c.z - (long double)b.z * (long double)c.y;
        long double y = (long double)b.z * (long double)c.x - (long double)b.x * (long double)c.z;
        long double z = (long double)b.x * (long double)c.y - (long double)b.y * (long double)c.x;
        sum += (long double)a.x * x + (long double)a.y * y + (long double)a.z * z;
    }
    return (double)(sum / 6.0L);
}

static void PaperObjectsHaveThePapersSizes(void** state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(paperObjects); ++i)
    {
        const PaperObject* o = &paperObjects[i];
        knCooked cooked = CookObject(o->name, 0);
        knAsset* asset = NULL;
        assert_int_equal(knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, NULL), kn_success);
        AssertWithin(knAsset_Surface(asset)->triangleCount, o->triangles, 0.25);
        AssertWithin(knAsset_TetMesh(asset)->tetCount, o->tetrahedra, 0.25);
        AssertWithin(knAsset_TetMesh(asset)->nodeCount, o->points, 0.25);
        double volume = ConeVolume(knAsset_Surface(asset));
        ASSERT_NEAR(knAsset_Info(asset)->volume, volume, 1e-6 * volume);
        ASSERT_NEAR(cooked.surfaceVolume, volume, 1e-6 * volume);
        assert_int_equal(cooked.tetStats.overlongEdges, 0);
        knDestroyAsset(asset);
        knDestroyCooked(&cooked);
    }
}

static void TheSameInputGivesTheSameBytes(void** state)
{
    (void)state;
    knCooked a = CookObject("brick", KN_DEFAULT_MODE_COUNT);
    knCooked b = CookObject("brick", KN_DEFAULT_MODE_COUNT);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    knDestroyCooked(&a);
    knDestroyCooked(&b);
    a = CookObject("plate", 0);
    b = CookObject("plate", 0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    knDestroyCooked(&a);
    knDestroyCooked(&b);
}

static knCooked CookText(const char* name, const char* text, const knCookOptions* options)
{
    FILE* out = fopen(name, "wb");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    knCooked cooked;
    knResult result = knCook(name, options, NULL, &cooked);
    if (result != kn_success)
    {
        fail_msg("%s: %s", name, knLastError());
    }
    return cooked;
}

#define CUBE_OFF                                                                                   \
    "OFF\n8 6 12\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n"                        \
    "4 0 3 2 1\n4 4 5 6 7\n4 0 1 5 4\n4 1 2 6 5\n4 2 3 7 6\n4 3 0 4 7\n"
#define CUBE_PLY                                                                                   \
    "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\n"                \
    "property float z\nelement face 6\nproperty list uchar int vertex_indices\nend_header\n"       \
    "0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n"                                     \
    "4 0 3 2 1\n4 4 5 6 7\n4 0 1 5 4\n4 1 2 6 5\n4 2 3 7 6\n4 3 0 4 7\n"
// a tetrahedron of 1/6 m^3, doubled along x and mirrored along z by its node: 1/3 m^3
#define TET_GLTF                                                                                   \
    "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],"                   \
    "\"nodes\":[{\"mesh\":0,\"scale\":[2,1,-1]}],"                                                 \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":1},\"indices\":0}]}],"             \
    "\"buffers\":[{\"byteLength\":72,\"uri\":\"data:application/octet-stream;base64,"              \
    "AAACAAEAAAABAAMAAAADAAIAAQACAAMAAAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAA"     \
    "AAAAAIA/\"}],\"bufferViews\":[{\"buffer\":0,\"byteOffset\":0,\"byteLength\":24},"             \
    "{\"buffer\":0,\"byteOffset\":24,\"byteLength\":48}],\"accessors\":[{\"bufferView\":0,"        \
    "\"componentType\":5123,\"count\":12,\"type\":\"SCALAR\"},{\"bufferView\":1,"                  \
    "\"componentType\":5126,\"count\":4,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[1,1,1]}]}"

static void EveryFormatGivesTheSameSolid(void** state)
{
    (void)state;
    const struct
    {
        const char* name;
        const char* text;
        double volume;
    } files[] = {{"cube.off", CUBE_OFF, 1.0},
                 {"cube.ply", CUBE_PLY, 1.0},
                 {"tet.gltf", TET_GLTF, 1.0 / 3.0}};
    knCookOptions options = knDefaultCookOptions();
    for (size_t i = 0; i < COUNT_OF(files); ++i)
    {
        knCooked cooked = CookText(files[i].name, files[i].text, &options);
        ASSERT_NEAR(cooked.surfaceVolume, files[i].volume, 1e-6);
        assert_int_equal(cooked.report.defects[kn_defectInsideOut].count, 0);
        knDestroyCooked(&cooked);
    }
}

static void ScaleAndMaterialGiveTheMass(void** state)
{
    (void)state;
    knCookOptions options = knDefaultCookOptions();
    options.import.scale = 0.01;
    options.material = *knFindMaterialPreset("glass");
    options.recenter = true;
    knCooked cooked = CookText("cube.off", CUBE_OFF, &options);
    knAsset* asset = NULL;
    assert_int_equal(knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, NULL), kn_success);
    const knAssetInfo* info = knAsset_Info(asset);
    ASSERT_NEAR(info->mass, 2500.0 * 1e-6, 1e-9);
    ASSERT_NEAR(info->center.x, 0.0, 1e-8);
    // a cube of mass m and side a: m a^2 / 6
    ASSERT_NEAR(info->inertia.xx, 2500.0 * 1e-6 * 1e-4 / 6.0, 1e-13);
    assert_string_equal(info->material, "glass");
    assert_string_equal(info->source, "cube.off");
    knDestroyAsset(asset);
    knDestroyCooked(&cooked);
}

static void TextureCoordinatesAndNormalsSurvive(void** state)
{
    (void)state;
    knCooked cooked = CookObject("brick", 0);
    knAsset* asset = NULL;
    assert_int_equal(knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, NULL), kn_success);
    const knSurfaceMesh* s = knAsset_Surface(asset);
    assert_true(s->hasUv);
    float low = 1e9f, high = -1e9f;
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 p[3];
        for (int k = 0; k < 3; ++k)
        {
            p[k] = s->positions[s->triangles[i].v[k]];
        }
        knVec3 face = knCross(knSub(p[1], p[0]), knSub(p[2], p[0]));
        for (int k = 0; k < 3; ++k)
        {
            const knCornerAttribute* a = &s->attributes[s->cornerAttributes[i].v[k]];
            low = fminf(low, a->u);
            high = fmaxf(high, a->u);
            // corners got the attribute of their own vertex: the normal looks along the face's
            assert_true(knDot(face, a->normal) > 0.3f * knLength(face));
        }
    }
    assert_true(high > low);
    knDestroyAsset(asset);
    knDestroyCooked(&cooked);
}

static void EveryAllocationFailureIsSurvived(void** state)
{
    (void)state;
    FILE* out = fopen("oom.off", "wb");
    fputs(CUBE_OFF, out);
    fclose(out);
    knCookOptions options = knDefaultCookOptions();
    options.modes.count = 2;
    options.modes.rules[options.modes.ruleCount++] = (knAnchorRule){kn_anchorBelow, {0.1}};
    for (size_t n = 1;; ++n)
    {
        knMemoryTracker tracker;
        knAllocator allocator = knTrackingAllocator(&tracker, NULL);
        tracker.failAtCall = n;
        knCooked cooked;
        knResult result = knCook("oom.off", &options, &allocator, &cooked);
        knDestroyCooked(&cooked);
        assert_int_equal(tracker.liveCount, 0);
        if (result == kn_success)
        {
            // some repairs and refinements are optional, but the file itself is not
            assert_true(n > 20);
            break;
        }
        assert_int_equal(result, kn_errorMemory);
    }
}

int main(void)
{
    knInitPredicates();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PaperObjectsHaveThePapersSizes),
        cmocka_unit_test(TheSameInputGivesTheSameBytes),
        cmocka_unit_test(EveryFormatGivesTheSameSolid),
        cmocka_unit_test(ScaleAndMaterialGiveTheMass),
        cmocka_unit_test(TextureCoordinatesAndNormalsSurvive),
        cmocka_unit_test(EveryAllocationFailureIsSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
