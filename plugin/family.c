// SPDX-License-Identifier: Zlib
#include "family_internal.h"

#include <string.h>

knFamilyDef knDefaultFamilyDef(void)
{
    return (knFamilyDef){.size = sizeof(knFamilyDef),
                         .front = knDefaultFieldDef().front,
                         .edgeDegrees = 30.0f,
                         .pieceCount = 1};
}

static knResult CheckDef(const knFamilyDef* def)
{
    if (!def || def->size != sizeof(knFamilyDef) || !def->model)
    {
        return knFail(kn_errorArgument,
                      "knCreateFamily: begin with knDefaultFamilyDef and a model");
    }
    if (!(def->density >= 0.0 && def->density < 1e9))
    {
        return knFail(kn_errorArgument, "density is %g, from 0 to 1e9 makes sense", def->density);
    }
    if (!(def->edgeDegrees >= 0.0f && def->edgeDegrees <= 180.0f))
    {
        return knFail(kn_errorArgument, "edgeDegrees is %g, from 0 to 180 makes sense",
                      (double)def->edgeDegrees);
    }
    return kn_success;
}

static knResult CreateField(knFamily* f, const knFamilyDef* def)
{
    knFieldDef field = knDefaultFieldDef();
    field.locator = &f->model->locator;
    field.grid = &f->model->grid;
    field.cuts = &f->cuts;
    field.front = def->front;
    // a sphere that the bounds cannot cull is followed: its children cost less than the truth
    field.exactRadius = def->exactSpheres ? field.exactRadius : 0.0f;
    field.scalar = def->scalar;
    field.fragmentCapacity = def->pieceCount + 1;
    field.pieceCapacity = def->pieceCount + 1;
    return knCreateFragmentField(&f->field, &field, &f->allocator);
}

// Breaks are rare: nothing is kept between them.
static void DropScratch(knFamily* f)
{
    knDestroyArena(&f->scratch);
    // an empty arena takes no memory, so this cannot fail
    (void)knCreateArena(&f->scratch, 0, &f->allocator);
}

static knResult CreateDamage(knFamily* f)
{
    uint32_t count = f->model->cutMesh.mesh->nodeCount;
    f->damage = knAllocate(&f->allocator, count, sizeof(float));
    if (!f->damage)
    {
        return kn_errorMemory;
    }
    memset(f->damage, 0, count * sizeof(float));
    return kn_success;
}

static knResult CreateParts(knFamily* f, const knFamilyDef* def)
{
    const knModel* model = f->model;
    double density = def->density > 0.0 ? def->density : knAsset_Info(model->asset)->density;
    knSphereForestDef forest = knDefaultSphereForestDef();
    forest.tree = &model->tree;
    forest.mesh = model->cutMesh.mesh;
    knResult result = knCreateArena(&f->scratch, 0, &f->allocator);
    result = result == kn_success ? knCreateCutStore(&f->cuts, forest.mesh, &f->allocator) : result;
    result = result == kn_success ? knCreateFragmentSet(&f->fragments, &model->cutMesh, &f->cuts,
                                                        density, &f->allocator)
                                  : result;
    result = result == kn_success ? CreateField(f, def) : result;
    result =
        result == kn_success ? knCreateSphereForest(&f->forest, &forest, &f->allocator) : result;
    result = result == kn_success ? knFamily_ListEdges(f) : result;
    result = result == kn_success ? CreateDamage(f) : result;
    f->fragments.makeRoom = knFamily_MakeRoom;
    f->fragments.roomContext = f;
    DropScratch(f);
    return result;
}

knResult knCreateFamily(knFamily** out, const knFamilyDef* def, const knAllocator* allocator)
{
    knResult result = out ? CheckDef(def) : knFail(kn_errorArgument, "knCreateFamily: null");
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knFamily* family = knAllocate(allocator, 1, sizeof(knFamily));
    knMemoryTracker* tracker = knAllocate(allocator, 1, sizeof(knMemoryTracker));
    if (!family || !tracker)
    {
        knRelease(allocator, family, 1, sizeof(knFamily));
        knRelease(allocator, tracker, 1, sizeof(knMemoryTracker));
        return kn_errorMemory;
    }
    *family = (knFamily){.model = def->model, .tracker = tracker};
    family->allocator = knTrackingAllocator(tracker, allocator);
    family->edgeCosine = cosf(def->edgeDegrees * 0.01745329252f);
    result = CreateParts(family, def);
    if (result != kn_success)
    {
        knDestroyFamily(family);
        return result;
    }
    *out = family;
    return kn_success;
}

void knDestroyFamily(knFamily* family)
{
    if (!family)
    {
        return;
    }
    knFamily_DropDraft(family);
    knFamily_ReleaseEdges(family);
    knFamily_DropTrees(family);
    knRelease(&family->allocator, family->damage, family->model->cutMesh.mesh->nodeCount,
              sizeof(float));
    knDestroySphereForest(&family->forest);
    knDestroyFragmentField(family->field);
    knDestroyFragmentSet(&family->fragments);
    knDestroyCutStore(&family->cuts);
    knDestroyArena(&family->scratch);
    knAllocator inner = family->tracker->inner;
    knRelease(&inner, family->tracker, 1, sizeof(knMemoryTracker));
    knRelease(&inner, family, 1, sizeof(knFamily));
}

const knModel* knFamily_Model(const knFamily* family)
{
    return family->model;
}

const knFragmentSet* knFamily_Fragments(const knFamily* family)
{
    return &family->fragments;
}

const knFragmentField* knFamily_Field(const knFamily* family)
{
    return family->field;
}

const knSphereForest* knFamily_Forest(const knFamily* family)
{
    return &family->forest;
}

const knCutStore* knFamily_Cuts(const knFamily* family)
{
    return &family->cuts;
}

size_t knFamily_Bytes(const knFamily* family)
{
    return family->tracker->bytes + sizeof(knFamily) + sizeof(knMemoryTracker);
}

// Called by the fragment set before a split is kept, so that nothing after it can fail.
knResult knFamily_MakeRoom(void* context, const knFractureDelta* delta)
{
    knFamily* f = context;
    uint32_t labels = f->fragments.fragmentCount + delta->fragmentCount;
    uint32_t live = delta->fragmentCount;
    for (uint32_t i = 0; i < f->fragments.fragmentCount; ++i)
    {
        live += f->fragments.fragments[i].state != kn_fragmentEnded;
    }
    knResult result = knFragmentField_Reserve(f->field, labels, live);
    result = result == kn_success ? knSphereForest_Reserve(&f->forest, f->cuts.pointCount, labels)
                                  : result;
    result = result == kn_success ? knFamily_ReserveEdges(f, delta, labels) : result;
    // a piece that an earlier split of the same event made is not in the forest yet
    size_t scratch = knSphereForest_UpdateBytes(&f->forest, delta->parent);
    size_t normals = (f->cuts.cutCount + 16) * sizeof(knVec3); // for the edges
    scratch = scratch > normals ? scratch : normals;
    knArena_Reset(&f->scratch);
    result = result == kn_success ? knArena_Reserve(&f->scratch, scratch) : result;
    f->isBehind = f->isBehind || result == kn_success;
    return result;
}

knFragmentSet* knFamily_Cutting(knFamily* family)
{
    return &family->fragments;
}

knResult knFamily_Follow(knFamily* f, const knFractureDelta* delta)
{
    if (!f || !delta || delta->parent >= f->fragments.fragmentCount)
    {
        return knFail(kn_errorArgument, "knFamily_Follow: family, delta or its parent is wrong");
    }
    knResult result = knFragmentField_Update(f->field, delta);
    if (result != kn_success)
    {
        return result;
    }
    knArena_Reset(&f->scratch);
    result = knSphereForest_Update(&f->forest, delta, &f->cuts, &f->scratch);
    knArena_Reset(&f->scratch);
    knFamily_UpdateEdges(f, delta);
    DropScratch(f);
    if (f->rebuild && knSphereRebuild_Fragment(f->rebuild) == delta->parent)
    {
        knDestroySphereRebuild(f->rebuild);
        f->rebuild = NULL;
    }
    f->mayBePoor = true;
    f->isBehind = result != kn_success;
    return result;
}

knResult knFamily_Split(knFamily* family, uint32_t fragment, const knSplitDef* def, knArena* arena,
                        knSplitResult* result)
{
    if (!family || !def || !arena || !result)
    {
        return knFail(kn_errorArgument, "knFamily_Split: an argument is null");
    }
    if (family->isKeptBack)
    {
        return knFail(kn_errorArgument, "knFamily_Split: a breaker keeps a cut of it back");
    }
    knSplitResult split;
    knResult done = knFragmentSet_Split(&family->fragments, fragment, def, arena, &split);
    if (done == kn_success && split.outcome == kn_splitDone)
    {
        done = knFamily_Follow(family, &split.delta);
    }
    if (done == kn_success)
    {
        *result = split;
    }
    return done;
}

void knFamily_Remove(knFamily* family, uint32_t fragment)
{
    knFragmentField_Remove(family->field, fragment);
    knFamily_DropEdges(family, fragment);
}
