// SPDX-License-Identifier: Zlib
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "cook.h"

#include "cook_mesh.h"
#include "file.h"
#include "knap/distfield.h"
#include "knap/spheretree.h"

#include <stdio.h>
#include <time.h>

// What stands where among the sections; those without bytes are not written.
enum
{
    treeSection,
    locatorSection,
    gridSection,
    anchorSection,
    freeSection,
    heldSection,
    SECTION_COUNT
};

// The parts of one run; whatever happens, all of them are destroyed at its end.
typedef struct Kitchen
{
    const char* path;
    const knCookOptions* options;
    knCooked* cooked;
    knSoup surface;
    knTetSoup tets;
    knCookedMesh mesh;
    knAssetSection sections[SECTION_COUNT]; // their bytes are the allocator's
} Kitchen;

knCookOptions knDefaultCookOptions(void)
{
    knCookOptions options = {
        .import = {.scale = 1.0, .limits = {.seconds = 120.0, .megabytes = 8192}},
        .doctor = knDefaultDoctorOptions(),
        .tet = knDefaultTetOptions(),
        .modes = knDefaultModeOptions(),
        .material = *knFindMaterialPreset("ceramic"),
        .creaseDegrees = 60.0f,
    };
    options.doctor.severalComponents = true;
    return options;
}

const char* knCookStageName(knCookStage stage)
{
    static const char* const names[kn_stageCount] = {"import", "diagnose", "tetrahedralize",
                                                     "modes",  "encode",   "write"};
    return (unsigned)stage < kn_stageCount ? names[stage] : "unknown stage";
}

static double Now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void EnterStage(Kitchen* k, knCookStage stage)
{
    k->cooked->stage = stage;
    if (k->options->progress)
    {
        k->options->progress(stage, k->options->progressUser);
    }
}

static void MoveToOrigin(knVec3* positions, size_t count)
{
    knVec3 center = knBox_Center(knBoundingBox(positions, (uint32_t)count));
    for (size_t i = 0; knIsFinite(center) && i < count; ++i)
    {
        positions[i] = knSub(positions[i], center);
    }
}

static knResult Refuse(const Kitchen* k)
{
    char reason[KN_MAX_MESSAGE];
    knDescribeRefusal(&k->cooked->report, reason, sizeof reason);
    return knFail(kn_errorMesh, "%s: %s", k->path, reason);
}

// From a file of triangles: doctor, then TetGen.
static knResult CookSurface(Kitchen* k)
{
    const knCookOptions* o = k->options;
    EnterStage(k, kn_stageImport);
    knResult result = knImportSurface(k->path, &o->import, &k->surface);
    if (result != kn_success)
    {
        return result;
    }
    EnterStage(k, kn_stageDiagnose);
    if (o->recenter)
    {
        MoveToOrigin(k->surface.positions, k->surface.positionCount);
    }
    result = knTreatSoup(&k->surface, &o->doctor, &k->cooked->report);
    if (result != kn_success || !k->cooked->report.cookable)
    {
        return result == kn_success ? Refuse(k) : result;
    }
    EnterStage(k, kn_stageTetrahedralize);
    result = knTetrahedralize(&k->surface, k->cooked->report.cavityCount > 0, &o->tet, &k->tets,
                              &k->cooked->tetStats);
    if (result != kn_success)
    {
        char reason[KN_MAX_MESSAGE];
        snprintf(reason, sizeof reason, "%s", knLastError());
        return knFail(result, "%s: %s", k->path, reason);
    }
    return kn_success;
}

// From ready-made tetrahedra: the doctor only judges their surface, for a repair would tear it off.
static knResult CookTets(Kitchen* k)
{
    const knCookOptions* o = k->options;
    EnterStage(k, kn_stageImport);
    knResult result = knImportTets(k->path, o->import.scale, &k->surface.allocator, &k->tets);
    if (result != kn_success)
    {
        return result;
    }
    EnterStage(k, kn_stageDiagnose);
    if (o->recenter)
    {
        MoveToOrigin(k->tets.nodes, k->tets.nodeCount);
    }
    result = knSurfaceOfTets(&k->tets, &k->surface);
    knDoctorOptions judge = o->doctor;
    judge.repair = false;
    result = result == kn_success ? knTreatSoup(&k->surface, &judge, &k->cooked->report) : result;
    return result == kn_success && !k->cooked->report.cookable ? Refuse(k) : result;
}

static knResult CookTree(Kitchen* k)
{
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knEncodeSphereTree(&k->mesh.tetMesh, &k->cooked->allocator, &bytes, &size);
    k->sections[treeSection] =
        (knAssetSection){KN_TAG_SPHERE_TREE, KN_SPHERE_TREE_VERSION, bytes, size};
    return result;
}

static knResult CookField(Kitchen* k)
{
    const knAllocator* a = &k->cooked->allocator;
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knCookTetLocator(&k->mesh.tetMesh, a, &bytes, &size);
    k->sections[locatorSection] = (knAssetSection){KN_LOCATOR_TAG, KN_LOCATOR_VERSION, bytes, size};
    knTetLocator locator;
    result = result == kn_success ? knOpenTetLocator(&locator, &k->mesh.tetMesh, bytes, size, a)
                                  : result;
    if (result != kn_success)
    {
        return result;
    }
    knTaskPool* pool = NULL;
    result = knCreateTaskPool(&pool, 0, a);
    if (result != kn_success)
    {
        return result;
    }
    knTaskHooks tasks = knTaskPool_Hooks(pool);
    knGridDef grid = knDefaultGridDef();
    grid.tasks = &tasks;
    result = knCookDistanceGrid(&grid, &locator, a, &bytes, &size);
    knDestroyTaskPool(pool);
    if (result == kn_success)
    {
        k->sections[gridSection] = (knAssetSection){KN_GRID_TAG, KN_GRID_VERSION, bytes, size};
    }
    return result;
}

// Free modes, and the held ones where something holds the object.
static knResult CookModes(Kitchen* k)
{
    const knModeOptions* o = &k->options->modes;
    const knAllocator* a = &k->cooked->allocator;
    double start = Now();
    EnterStage(k, kn_stageModes);
    knAssetSection* anchors = &k->sections[anchorSection];
    knResult result = knCookAnchors(&k->mesh.tetMesh, o, a, anchors);
    for (int held = 0; result == kn_success && o->count > 0 && held <= (anchors->size > 0); ++held)
    {
        knModeJob job = {.mesh = &k->mesh.tetMesh,
                         .options = o,
                         .anchors = held ? anchors : NULL,
                         .limits = k->options->import.limits};
        result = knCookModes(&job, a, &k->sections[held ? heldSection : freeSection],
                             k->cooked->modeNote);
    }
    k->cooked->modeSeconds = Now() - start;
    return result;
}

static knResult CookSections(Kitchen* k)
{
    EnterStage(k, kn_stageEncode);
    knResult result = knSoup_MakeNormals(&k->surface, k->options->creaseDegrees);
    result = result == kn_success ? knMakeCookedMesh(&k->mesh, &k->surface, &k->tets) : result;
    result = result == kn_success ? CookTree(k) : result;
    result = result == kn_success ? CookField(k) : result;
    return result == kn_success ? CookModes(k) : result;
}

// The modes came from another process: read the file as a game does.
static knResult CheckModes(const Kitchen* k)
{
    knAsset* asset = NULL;
    knResult result =
        knCreateAssetInPlace(&asset, k->cooked->bytes, k->cooked->size, &k->cooked->allocator);
    knModeSet set;
    result = result == kn_success ? knOpenModes(&set, asset, false) : result;
    result = result == kn_success ? knOpenModes(&set, asset, true) : result;
    knDestroyAsset(asset);
    return result;
}

static knResult Encode(Kitchen* k)
{
    const knCookOptions* o = k->options;
    EnterStage(k, kn_stageEncode);
    k->cooked->surfaceVolume = knSurfaceVolume(k->surface.positions, k->surface.triangles,
                                               (uint32_t)k->surface.triangleCount);
    knAssetSection sections[SECTION_COUNT];
    int count = 0;
    for (int i = 0; i < SECTION_COUNT; ++i)
    {
        if (k->sections[i].size > 0)
        {
            sections[count++] = k->sections[i];
        }
    }
    knAssetDef def = {.source = knFileName(k->path),
                      .material = o->material.name,
                      .density = o->material.density,
                      .surface = &k->mesh.surface,
                      .tetMesh = &k->mesh.tetMesh,
                      .componentCount = k->cooked->report.componentCount,
                      .sections = sections,
                      .sectionCount = count};
    knResult result =
        knEncodeAsset(&def, &k->cooked->allocator, &k->cooked->bytes, &k->cooked->size);
    bool hasModes = k->sections[freeSection].size > 0 || k->sections[heldSection].size > 0;
    return result == kn_success && hasModes ? CheckModes(k) : result;
}

knResult knCook(const char* path, const knCookOptions* options, const knAllocator* allocator,
                knCooked* cooked)
{
    double start = Now();
    *cooked = (knCooked){.allocator = allocator ? *allocator : knDefaultAllocator()};
    Kitchen k = {.path = path, .options = options, .cooked = cooked};
    k.surface = knMakeSoup(&cooked->allocator);
    knResult result = knIsTetFile(path) ? CookTets(&k) : CookSurface(&k);
    result = result == kn_success ? CookSections(&k) : result;
    result = result == kn_success ? Encode(&k) : result;
    for (int i = 0; i < SECTION_COUNT; ++i)
    {
        knRelease(&cooked->allocator, (void*)k.sections[i].data, (size_t)k.sections[i].size, 1);
    }
    knDestroyCookedMesh(&k.mesh);
    knDestroyTetSoup(&k.tets);
    knDestroySoup(&k.surface);
    cooked->seconds = Now() - start;
    return result;
}

void knDestroyCooked(knCooked* cooked)
{
    knRelease(&cooked->allocator, cooked->bytes, cooked->size, 1);
    *cooked = (knCooked){.allocator = cooked->allocator};
}
