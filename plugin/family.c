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

// A surface and its edges take megabytes, and breaks are rare: nothing is kept between them.
static void DropScratch(knFamily* f)
{
    knDestroyArena(&f->scratch);
    // an empty arena takes no memory, so this cannot fail
    (void)knCreateArena(&f->scratch, 0, &f->allocator);
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
    result = result == kn_success ? knFamily_FindEdges(f, 0) : result;
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
    for (uint32_t i = 0; i < family->edgeCapacity; ++i)
    {
        knFamily_DropEdges(family, i);
    }
    knRelease(&family->allocator, family->edges, family->edgeCapacity, sizeof(knPieceEdges));
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

static uint32_t GroupCount(const knSplitDef* def)
{
    switch (def->kind)
    {
    case kn_splitLabels:
        return def->groupCount;
    case kn_splitSites:
        return def->siteCount;
    case kn_splitRadial:
        return (def->sectorCount + 1) * (def->ringCount + 1);
    default:
        return 2;
    }
}

// Field and forest for so many more pieces, with every cut that is still possible.
static knResult Reserve(knFamily* f, uint32_t pieceCount)
{
    uint32_t labels = f->fragments.fragmentCount + pieceCount;
    uint32_t live = 0;
    for (uint32_t i = 0; i < f->fragments.fragmentCount; ++i)
    {
        live += f->fragments.fragments[i].state != kn_fragmentEnded;
    }
    knResult result = knFragmentField_Reserve(f->field, labels, live + pieceCount);
    return result == kn_success ? knSphereForest_Reserve(&f->forest, f->cuts.edgeCount, labels)
                                : result;
}

// The forest's update says how much scratch it would have needed.
static knResult UpdateForest(knFamily* f, const knFractureDelta* delta)
{
    for (;;)
    {
        knArena_Reset(&f->scratch);
        knResult result = knSphereForest_Update(&f->forest, delta, &f->cuts, &f->scratch);
        bool tooSmall = result == kn_errorLimit && f->scratch.wantedBytes > 0;
        size_t wanted = 2 * (f->scratch.usedBytes + f->scratch.wantedBytes);
        knArena_Reset(&f->scratch);
        if (!tooSmall)
        {
            return result;
        }
        result = knArena_Reserve(&f->scratch, wanted);
        if (result != kn_success)
        {
            return result;
        }
    }
}

static knResult Follow(knFamily* f, const knFractureDelta* delta)
{
    knResult result = Reserve(f, delta->fragmentCount);
    result = result == kn_success ? knFragmentField_Update(f->field, delta) : result;
    result = result == kn_success ? UpdateForest(f, delta) : result;
    knFamily_DropEdges(f, delta->parent);
    for (uint32_t i = 0; result == kn_success && i < delta->fragmentCount; ++i)
    {
        result = knFamily_FindEdges(f, delta->fragments[i]);
    }
    DropScratch(f);
    return result;
}

knResult knFamily_Split(knFamily* family, uint32_t fragment, const knSplitDef* def, knArena* arena,
                        knSplitResult* result)
{
    if (!family || !def || !arena || !result || family->isSpent)
    {
        return knFail(kn_errorArgument, "knFamily_Split: an argument is null, or memory ran out in "
                                        "an earlier split and the family is spent");
    }
    knResult reserved = Reserve(family, 4 * GroupCount(def) + 64);
    if (reserved != kn_success)
    {
        return reserved;
    }
    knSplitResult split;
    knResult done = knFragmentSet_Split(&family->fragments, fragment, def, arena, &split);
    if (done == kn_success && split.outcome == kn_splitDone)
    {
        done = Follow(family, &split.delta);
        family->isSpent = done != kn_success;
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
