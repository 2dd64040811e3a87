// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

#include <string.h>

#define DEFAULT_MAX_ROOTS 64

knSphereForestDef knDefaultSphereForestDef(void)
{
    return (knSphereForestDef){.maxRoots = DEFAULT_MAX_ROOTS};
}

static knResult GrowFragments(knSphereForest* forest, size_t count)
{
    size_t old = forest->fragmentCapacity;
    void* items = forest->fragments;
    knResult result = knGrow(&forest->allocator, &items, &forest->fragmentCapacity, count,
                             sizeof(knSphereFragment));
    forest->fragments = items;
    for (size_t i = old; i < forest->fragmentCapacity; ++i)
    {
        forest->fragments[i] = (knSphereFragment){.firstRoot = KN_NONE};
    }
    return result;
}

knResult knCreateSphereForest(knSphereForest* forest, const knSphereForestDef* def,
                              const knAllocator* allocator)
{
    if (!forest || !def || !def->tree || !def->mesh || def->tree->nodeCount == 0 ||
        def->tree->nodeCount != def->mesh->nodeCount)
    {
        return knFail(kn_errorArgument, "knCreateSphereForest: a tree and its mesh");
    }
    if (def->maxRoots < 2)
    {
        return knFail(kn_errorArgument, "knCreateSphereForest: maxRoots is %u, 2 or more",
                      def->maxRoots);
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knSphereForest created = {.allocator = allocator ? *allocator : knDefaultAllocator(),
                              .tree = def->tree,
                              .mesh = def->mesh,
                              .links = def->tree->links,
                              .fragmentCount = 1,
                              .maxRoots = def->maxRoots};
    result = GrowFragments(&created, 1);
    if (result != kn_success)
    {
        return result;
    }
    created.fragments[0] = (knSphereFragment){
        .firstRoot = def->tree->order[0], .rootCount = 1, .pointCount = def->tree->nodeCount};
    *forest = created;
    return kn_success;
}

size_t knMutableLinks_Layout(knMutableLinks* links, uint32_t capacity, void* block)
{
    size_t size = 0;
    links->parent = knSphereCarve(block, &size, capacity, sizeof(uint32_t));
    links->first = knSphereCarve(block, &size, capacity, sizeof(uint32_t));
    links->next = knSphereCarve(block, &size, capacity, sizeof(uint32_t));
    links->previous = knSphereCarve(block, &size, capacity, sizeof(uint32_t));
    links->reach = knSphereCarve(block, &size, capacity, sizeof(float));
    links->level = knSphereCarve(block, &size, capacity, 1);
    return size;
}

knMutableLinks knSphereForest_Own(const knSphereForest* forest)
{
    knMutableLinks own;
    knMutableLinks_Layout(&own, forest->pointCapacity, forest->memory);
    return own;
}

void knDestroySphereForest(knSphereForest* forest)
{
    if (!forest)
    {
        return;
    }
    knMutableLinks links;
    size_t size = knMutableLinks_Layout(&links, forest->pointCapacity, NULL);
    knRelease(&forest->allocator, forest->memory, size, 1);
    knRelease(&forest->allocator, forest->fragments, forest->fragmentCapacity,
              sizeof(knSphereFragment));
    *forest = (knSphereForest){0};
}

// The cooked links have no way back; it is needed to take points out.
static void FillPrevious(knMutableLinks* own, uint32_t count)
{
    memset(own->previous, 0xFF, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; ++i)
    {
        if (own->next[i] != KN_NONE)
        {
            own->previous[own->next[i]] = i;
        }
    }
}

static void CopyLinks(const knSphereForest* forest, knMutableLinks* own, uint32_t capacity)
{
    // of the forest's own, all; of the cooked ones, the nodes
    uint32_t count = forest->memory ? forest->pointCapacity : forest->tree->nodeCount;
    memcpy(own->parent, forest->links.parent, count * sizeof(uint32_t));
    memcpy(own->first, forest->links.first, count * sizeof(uint32_t));
    memcpy(own->next, forest->links.next, count * sizeof(uint32_t));
    memcpy(own->reach, forest->links.reach, count * sizeof(float));
    memcpy(own->level, forest->links.level, count);
    FillPrevious(own, count);
    for (uint32_t i = count; i < capacity; ++i)
    {
        own->parent[i] = KN_SPHERE_ABSENT;
        own->first[i] = own->next[i] = own->previous[i] = KN_NONE;
        own->reach[i] = 0.0f;
        own->level[i] = 0;
    }
}

static knResult GrowPoints(knSphereForest* forest, uint32_t capacity)
{
    knMutableLinks own;
    size_t size = knMutableLinks_Layout(&own, capacity, NULL);
    void* block = knAllocate(&forest->allocator, size, 1);
    if (!block)
    {
        return kn_errorMemory;
    }
    knMutableLinks_Layout(&own, capacity, block);
    CopyLinks(forest, &own, capacity);
    knMutableLinks old;
    size_t oldSize = knMutableLinks_Layout(&old, forest->pointCapacity, NULL);
    knRelease(&forest->allocator, forest->memory, oldSize, 1);
    forest->memory = block;
    forest->pointCapacity = capacity;
    forest->links = (knSphereLinks){own.parent, own.first, own.next, own.reach, own.level};
    return kn_success;
}

knResult knSphereForest_Reserve(knSphereForest* forest, uint32_t cutPointCount,
                                uint32_t fragmentCount)
{
    if (!forest || !forest->mesh || fragmentCount >= KN_SPHERE_ROOT - 1 ||
        cutPointCount > (KN_SPHERE_ROOT - forest->mesh->nodeCount) / 2 - 1)
    {
        return knFail(kn_errorArgument, "knSphereForest_Reserve: no forest, or too many points");
    }
    knResult result = GrowFragments(forest, fragmentCount);
    uint32_t capacity = forest->mesh->nodeCount + 2 * cutPointCount;
    if (result != kn_success || capacity <= forest->pointCapacity)
    {
        return result;
    }
    // by half of the cut points at least, so that a row of breaks does not copy everything each
    // time
    uint32_t held = forest->memory ? forest->pointCapacity - forest->mesh->nodeCount : 0;
    uint32_t half = forest->mesh->nodeCount + held / 2 * 3;
    return GrowPoints(forest, capacity > half ? capacity : half);
}

knSphereFragment knSphereForest_Fragment(const knSphereForest* forest, uint32_t fragment)
{
    return fragment < forest->fragmentCount ? forest->fragments[fragment]
                                            : (knSphereFragment){.firstRoot = KN_NONE};
}

uint32_t knSphereForest_NextPoint(const knSphereForest* forest, uint32_t point)
{
    const knSphereLinks* links = &forest->links;
    if (links->first[point] != KN_NONE)
    {
        return links->first[point];
    }
    while (links->next[point] == KN_NONE && !knSphereForest_IsRoot(forest, point))
    {
        point = links->parent[point];
    }
    return links->next[point];
}

static uint32_t* HeadOf(knSphereForest* forest, const knMutableLinks* own, uint32_t point)
{
    uint32_t parent = own->parent[point];
    return parent & KN_SPHERE_ROOT ? &forest->fragments[parent & ~KN_SPHERE_ROOT].firstRoot
                                   : &own->first[parent];
}

void knSphereForest_Unlink(knSphereForest* forest, uint32_t point)
{
    knMutableLinks own = knSphereForest_Own(forest);
    uint32_t previous = own.previous[point];
    uint32_t next = own.next[point];
    *(previous == KN_NONE ? HeadOf(forest, &own, point) : &own.next[previous]) = next;
    if (next != KN_NONE)
    {
        own.previous[next] = previous;
    }
    if (own.parent[point] & KN_SPHERE_ROOT)
    {
        --forest->fragments[own.parent[point] & ~KN_SPHERE_ROOT].rootCount;
    }
    own.parent[point] = KN_SPHERE_ABSENT;
    own.next[point] = own.previous[point] = KN_NONE;
    own.reach[point] = 0.0f;
}

// Behind all that enter at its level or before: the order of points does not depend on the lists of
// others.
static void Insert(knSphereForest* forest, const knMutableLinks* own, uint32_t point)
{
    uint32_t* head = HeadOf(forest, own, point);
    uint32_t level = own->level[point];
    uint32_t previous = KN_NONE;
    uint32_t next = *head;
    while (next != KN_NONE && own->level[next] <= level)
    {
        previous = next;
        next = own->next[next];
    }
    own->previous[point] = previous;
    own->next[point] = next;
    *(previous == KN_NONE ? head : &own->next[previous]) = point;
    if (next != KN_NONE)
    {
        own->previous[next] = point;
    }
}

// The radii of a list never grow along it.
static void RaiseReach(const knMutableLinks* own, uint32_t child, float need)
{
    while (child != KN_NONE && own->reach[child] < need)
    {
        own->reach[child] = need;
        child = own->previous[child];
    }
}

void knSphereForest_LinkChild(knSphereForest* forest, uint32_t point, uint32_t parent, float need)
{
    knMutableLinks own = knSphereForest_Own(forest);
    own.parent[point] = parent;
    Insert(forest, &own, point);
    own.reach[point] = own.next[point] == KN_NONE ? 0.0f : own.reach[own.next[point]];
    RaiseReach(&own, point, need);
}

void knSphereForest_LinkRoot(knSphereForest* forest, uint32_t point, uint32_t fragment)
{
    knMutableLinks own = knSphereForest_Own(forest);
    own.parent[point] = KN_SPHERE_ROOT | fragment;
    own.reach[point] = 0.0f;
    Insert(forest, &own, point);
    ++forest->fragments[fragment].rootCount;
}

void knSphereForest_GrowAbove(knSphereForest* forest, const knCutStore* cuts, uint32_t point,
                              knVec3 position)
{
    knMutableLinks own = knSphereForest_Own(forest);
    uint32_t parent = own.parent[point];
    while (!(parent & KN_SPHERE_ROOT))
    {
        knVec3 center = knSpherePosition(forest->mesh, cuts, parent);
        double distance2 = knSphereDistance2(center, position);
        double reach = (double)own.reach[point];
        // spheres are not nested: one that is large enough says nothing of those above
        if (reach * reach < distance2)
        {
            RaiseReach(&own, point, knRadiusUp(distance2));
        }
        point = parent;
        parent = own.parent[point];
    }
}
