// SPDX-License-Identifier: Zlib
#include "pieces.h"

#include "cook.h"
#include "knap/random.h"
#include "predicates.h"

#include <stdio.h>
#include <stdlib.h>

static void Require(bool condition, const char* what)
{
    if (!condition)
    {
        fprintf(stderr, "%s: %s\n", what, knLastError());
        abort();
    }
}

static TestModel OpenFileWith(const char* path, const knModeOptions* modes)
{
    knInitPredicates();
    knCookOptions options = knDefaultCookOptions();
    options.modes = *modes;
    knCooked cooked;
    TestModel m = {0};
    Require(knCook(path, &options, NULL, &cooked) == kn_success, path);
    m.bytes = cooked.bytes;
    m.size = cooked.size;
    Require(knCreateAssetInPlace(&m.asset, m.bytes, m.size, NULL) == kn_success, path);
    Require(knCreateModel(&m.model, m.asset, NULL) == kn_success, path);
    return m;
}

static TestModel OpenFile(const char* path, uint32_t modeCount)
{
    knModeOptions modes = knDefaultModeOptions();
    modes.count = modeCount;
    return OpenFileWith(path, &modes);
}

TestModel OpenDemoModelWithModes(const char* name, uint32_t modeCount)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/demos/assets/%s.obj", KN_SOURCE_DIR, name);
    return OpenFile(path, modeCount);
}

// What make_models cooked for this run of CTest; false when there is none, as by hand.
static bool OpenShared(const char* name, TestModel* m)
{
    const char* folder = getenv("KN_TEST_MODELS");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.knap", folder ? folder : "", name);
    FILE* file = folder ? fopen(path, "rb") : NULL;
    if (!file)
    {
        return false;
    }
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    Require(size > 0 && fseek(file, 0, SEEK_SET) == 0, path);
    m->size = (size_t)size;
    m->bytes = knAllocate(NULL, m->size, 1);
    Require(m->bytes && fread(m->bytes, 1, m->size, file) == m->size, path);
    fclose(file);
    Require(knCreateAssetInPlace(&m->asset, m->bytes, m->size, NULL) == kn_success, path);
    Require(knCreateModel(&m->model, m->asset, NULL) == kn_success, path);
    return true;
}

TestModel OpenDemoModel(const char* name)
{
    knInitPredicates();
    TestModel shared = {0};
    return OpenShared(name, &shared) ? shared : OpenDemoModelWithModes(name, 0);
}

TestModel OpenOffModel(const char* name, const char* text)
{
    knModeOptions modes = knDefaultModeOptions();
    modes.count = 0;
    return OpenOffModelWith(name, text, &modes);
}

TestModel OpenOffModelWith(const char* name, const char* text, const struct knModeOptions* modes)
{
    char path[256];
    snprintf(path, sizeof path, "%s.off", name);
    FILE* out = fopen(path, "wb");
    Require(out && fputs(text, out) >= 0 && fclose(out) == 0, path);
    return OpenFileWith(path, modes);
}

TestModel OpenBoxModel(const char* name, knVec3 lower, knVec3 upper)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "OFF\n8 6 0\n");
    for (int i = 0; i < 8; ++i)
    {
        length += snprintf(text + length, sizeof text - (size_t)length, "%.9g %.9g %.9g\n",
                           (double)(i & 1 ? upper.x : lower.x), (double)(i & 2 ? upper.y : lower.y),
                           (double)(i & 4 ? upper.z : lower.z));
    }
    snprintf(text + length, sizeof text - (size_t)length,
             "4 0 2 3 1\n4 4 5 7 6\n4 0 1 5 4\n4 2 6 7 3\n4 0 4 6 2\n4 1 3 7 5\n");
    return OpenOffModel(name, text);
}

void CloseModel(TestModel* model)
{
    knDestroyModel(model->model);
    knDestroyAsset(model->asset);
    knRelease(NULL, model->bytes, model->size, 1);
}

knFamily* MakeFamily(const TestModel* model)
{
    knFamilyDef def = knDefaultFamilyDef();
    def.model = model->model;
    knFamily* family = NULL;
    Require(knCreateFamily(&family, &def, NULL) == kn_success, "family");
    return family;
}

bool SplitByPlane(knFamily* family, uint32_t fragment, knVec3 normal)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitPlane;
    def.normal = normal;
    def.offset = knDot(normal, knToFloat(set->fragments[fragment].mass.center));
    knArena arena;
    Require(knCreateArena(&arena, knFragmentSet_SplitBytes(set, fragment, &def), NULL) ==
                kn_success,
            "arena");
    knSplitResult result;
    Require(knFamily_Split(family, fragment, &def, &arena, &result) == kn_success, "split");
    knDestroyArena(&arena);
    return result.outcome == kn_splitDone;
}

uint32_t ListPieces(const knFamily* family, uint32_t* pieces, uint32_t capacity)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->fragmentCount; ++i)
    {
        if (set->fragments[i].state != kn_fragmentEnded && count < capacity)
        {
            pieces[count++] = i;
        }
    }
    return count;
}

void BreakInto(knFamily* family, uint32_t pieceCount, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    uint32_t pieces[4096];
    for (int tries = 0; tries < 10000; ++tries)
    {
        uint32_t count = ListPieces(family, pieces, 4096);
        if (count >= pieceCount)
        {
            return;
        }
        // the heaviest, so that pieces stay of a size
        const knFragment* fragments = knFamily_Fragments(family)->fragments;
        uint32_t heaviest = pieces[0];
        for (uint32_t i = 1; i < count; ++i)
        {
            bool heavier = fragments[pieces[i]].mass.mass > fragments[heaviest].mass.mass;
            heaviest = heavier ? pieces[i] : heaviest;
        }
        SplitByPlane(family, heaviest, knRandom_UnitVec3(&random));
    }
}
