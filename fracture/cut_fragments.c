// SPDX-License-Identifier: Zlib
#include "knap/cutting.h"

#include <string.h>

static knResult AllocateSet(knFragmentSet* set)
{
    void* items = NULL;
    set->nodes = knAllocate(&set->allocator, set->nodeCount, sizeof(uint32_t));
    set->slots = knAllocate(&set->allocator, set->nodeCount, sizeof(uint32_t));
    set->cutCounts = knAllocate(&set->allocator, set->nodeCount, sizeof(uint32_t));
    knResult result =
        knGrow(&set->allocator, &items, &set->fragmentCapacity, 1, sizeof(knFragment));
    set->fragments = items;
    return set->nodes && set->slots && set->cutCounts ? result : kn_errorMemory;
}

static knResult CheckCreation(const knFragmentSet* set, const knCutMesh* cutMesh,
                              const knCutStore* store, double density)
{
    if (!set || !cutMesh || !cutMesh->mesh || !store)
    {
        return knFail(kn_errorArgument, "knCreateFragmentSet: set, mesh or store is null");
    }
    const knTetMesh* mesh = cutMesh->mesh;
    if (store->nodeCount != mesh->nodeCount || store->tetCount != mesh->tetCount ||
        store->edgeCount != mesh->edgeCount || store->pointCount != 0 || store->cutCount != 0)
    {
        return knFail(kn_errorArgument, "knCreateFragmentSet: the store is of another mesh or cut");
    }
    if (!(density > 0.0) || !isfinite(density))
    {
        return knFail(kn_errorArgument, "knCreateFragmentSet: density %g must be positive",
                      density);
    }
    return kn_success;
}

static knMassProperties AtDensity(const knMassProperties* whole, double density)
{
    knMassProperties mass = *whole;
    knDSym3 i = whole->inertia;
    mass.mass = density * whole->volume;
    mass.inertia = (knDSym3){.xx = density * i.xx,
                             .yy = density * i.yy,
                             .zz = density * i.zz,
                             .xy = density * i.xy,
                             .xz = density * i.xz,
                             .yz = density * i.yz};
    return mass;
}

knResult knCreateFragmentSet(knFragmentSet* set, const knCutMesh* cutMesh, knCutStore* store,
                             double density, const knAllocator* allocator)
{
    knResult result = CheckCreation(set, cutMesh, store, density);
    result = result == kn_success ? knCheckAllocator(allocator) : result;
    if (result != kn_success)
    {
        return result;
    }
    knFragmentSet created = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                             .cutMesh = cutMesh,
                             .store = store,
                             .nodeCount = cutMesh->mesh->nodeCount,
                             .density = density};
    result = AllocateSet(&created);
    if (result != kn_success)
    {
        knDestroyFragmentSet(&created);
        return result;
    }
    for (uint32_t i = 0; i < created.nodeCount; ++i)
    {
        created.nodes[i] = i;
        created.slots[i] = i;
        created.cutCounts[i] = 0;
    }
    created.fragments[0] = (knFragment){.nodeCount = created.nodeCount, .parent = KN_NONE};
    created.fragments[0].mass = AtDensity(&cutMesh->whole, density);
    created.fragmentCount = 1;
    *set = created;
    return kn_success;
}

void knDestroyFragmentSet(knFragmentSet* set)
{
    if (!set)
    {
        return;
    }
    knRelease(&set->allocator, set->nodes, set->nodeCount, sizeof(uint32_t));
    knRelease(&set->allocator, set->slots, set->nodeCount, sizeof(uint32_t));
    knRelease(&set->allocator, set->cutCounts, set->nodeCount, sizeof(uint32_t));
    knRelease(&set->allocator, set->fragments, set->fragmentCapacity, sizeof(knFragment));
    *set = (knFragmentSet){0};
}

knResult knCopyFragmentSet(knFragmentSet* copy, const knFragmentSet* set, knCutStore* store)
{
    if (!copy || !set || !set->nodes || !store)
    {
        return knFail(kn_errorArgument, "knCopyFragmentSet: null or empty");
    }
    const knAllocator* a = &set->allocator;
    size_t nodes = set->nodeCount * sizeof(uint32_t);
    knFragmentSet made = *set;
    made.store = store;
    made.fragmentCapacity = set->fragmentCount;
    made.nodes = knAllocate(a, set->nodeCount, sizeof(uint32_t));
    made.slots = knAllocate(a, set->nodeCount, sizeof(uint32_t));
    made.cutCounts = knAllocate(a, set->nodeCount, sizeof(uint32_t));
    made.fragments = knAllocate(a, set->fragmentCount, sizeof(knFragment));
    if (!made.nodes || !made.slots || !made.cutCounts || !made.fragments)
    {
        knDestroyFragmentSet(&made);
        return kn_errorMemory;
    }
    memcpy(made.nodes, set->nodes, nodes);
    memcpy(made.slots, set->slots, nodes);
    memcpy(made.cutCounts, set->cutCounts, nodes);
    memcpy(made.fragments, set->fragments, set->fragmentCount * sizeof(knFragment));
    *copy = made;
    return kn_success;
}

knResult knFragmentSet_Reserve(knFragmentSet* set, uint32_t fragmentCount)
{
    if (!set || !set->nodes)
    {
        return knFail(kn_errorArgument, "knFragmentSet_Reserve: the set is null or empty");
    }
    // every split ends one fragment and begins two or more, each with a node of its own
    size_t most = 2 * (size_t)set->nodeCount;
    size_t needed = (size_t)set->fragmentCount + fragmentCount;
    void* items = set->fragments;
    knResult result = knGrow(&set->allocator, &items, &set->fragmentCapacity,
                             needed < most ? needed : most, sizeof(knFragment));
    set->fragments = items;
    if (result != kn_success)
    {
        return result;
    }
    return knCutStore_Reserve(set->store, set->store->edgeCount, set->store->tetCount);
}
