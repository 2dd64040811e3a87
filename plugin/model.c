// SPDX-License-Identifier: Zlib
#include "family_internal.h"

static knResult FindSection(const knAsset* asset, uint32_t tag, uint32_t version,
                            knAssetSection* section)
{
    *section = knAsset_FindSection(asset, tag);
    if (!section->data || section->version != version)
    {
        return knFail(kn_errorFormat,
                      "section %c%c%c%c is missing or of another version: cook the "
                      "mesh again",
                      tag & 0xFF, (tag >> 8) & 0xFF, (tag >> 16) & 0xFF, tag >> 24);
    }
    return kn_success;
}

static knResult Open(knModel* model)
{
    const knTetMesh* mesh = knAsset_TetMesh(model->asset);
    knAssetSection locator, grid, tree;
    knResult result = FindSection(model->asset, KN_LOCATOR_TAG, KN_LOCATOR_VERSION, &locator);
    result = result == kn_success ? FindSection(model->asset, KN_GRID_TAG, KN_GRID_VERSION, &grid)
                                  : result;
    result = result == kn_success
                 ? FindSection(model->asset, KN_TAG_SPHERE_TREE, KN_SPHERE_TREE_VERSION, &tree)
                 : result;
    if (result != kn_success)
    {
        return result;
    }
    const knAllocator* a = &model->allocator;
    result = knOpenTetLocator(&model->locator, mesh, locator.data, (size_t)locator.size, a);
    result = result == kn_success
                 ? knOpenDistanceGrid(&model->grid, mesh, grid.data, (size_t)grid.size)
                 : result;
    result = result == kn_success
                 ? knOpenSphereTree(&model->tree, tree.data, (size_t)tree.size, mesh, a)
                 : result;
    result = result == kn_success
                 ? knCreateCutMesh(&model->cutMesh, mesh, knAsset_Surface(model->asset), a)
                 : result;
    return result == kn_success ? knModelEdges_Find(&model->edges, mesh, a) : result;
}

knResult knCreateModel(knModel** out, const knAsset* asset, const knAllocator* allocator)
{
    if (!out || !asset)
    {
        return knFail(kn_errorArgument, "knCreateModel: model or asset is null");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knModel* model = knAllocate(allocator, 1, sizeof(knModel));
    if (!model)
    {
        return kn_errorMemory;
    }
    *model = (knModel){.allocator = allocator ? *allocator : knDefaultAllocator(), .asset = asset};
    model->radius = 0.5f * knLength(knBox_Extent(knAsset_Info(asset)->bounds));
    result = Open(model);
    if (result != kn_success)
    {
        knDestroyModel(model);
        return result;
    }
    *out = model;
    return kn_success;
}

void knDestroyModel(knModel* model)
{
    if (model)
    {
        knAllocator allocator = model->allocator;
        knModelEdges_Drop(&model->edges, &allocator);
        knDestroyCutMesh(&model->cutMesh);
        knRelease(&allocator, model, 1, sizeof(knModel));
    }
}

const knAsset* knModel_Asset(const knModel* model)
{
    return model->asset;
}

float knModel_Radius(const knModel* model)
{
    return model->radius;
}
