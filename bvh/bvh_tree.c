// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

knResult knReserveLeaves(knBvhScene* scene, size_t leafCount)
{
    const knAllocator* allocator = &scene->allocator;
    size_t blocks = scene->blockSlots - scene->freeBlockCount + leafCount;
    // every pair but the root's has two nodes, and a tree of n leaves has n - 1 pairs
    size_t nodes = scene->nodeSlots - 2 * scene->freePairCount + 2 * leafCount + 2;
    blocks = blocks > scene->blockSlots ? blocks : scene->blockSlots;
    nodes = nodes > scene->nodeSlots ? nodes : scene->nodeSlots;
    if (blocks > KN_MAX_MESH_SIZE / 2)
    {
        return knFail(kn_errorLimit, "a scene holds at most %u leaves", KN_MAX_MESH_SIZE / 2);
    }
    knResult result =
        knGrow(allocator, (void**)&scene->nodes, &scene->nodeCapacity, nodes, sizeof *scene->nodes);
    if (result == kn_success)
    {
        result = knGrow(allocator, (void**)&scene->cold, &scene->coldCapacity, nodes,
                        sizeof *scene->cold);
    }
    if (result == kn_success && scene->def.update == kn_bvhUpdateSelective)
    {
        result = knGrow(allocator, (void**)&scene->histories, &scene->historyCapacity, nodes,
                        sizeof *scene->histories);
    }
    if (result == kn_success)
    {
        result = knGrow(allocator, (void**)&scene->order, &scene->orderCapacity, nodes / 2,
                        sizeof *scene->order);
    }
    if (result == kn_success && scene->def.culling != kn_bvhCullNothing)
    {
        result = knReserveContours(scene, nodes, blocks);
    }
    if (result == kn_success && scene->def.culling > kn_bvhCullExact)
    {
        result = knReserveCones(scene, nodes, blocks);
    }
    if (result == kn_success)
    {
        result = knGrow(allocator, (void**)&scene->blocks, &scene->blockCapacity, blocks,
                        sizeof *scene->blocks);
    }
    if (result == kn_success)
    {
        result = knGrow(allocator, (void**)&scene->blockNodes, &scene->blockNodeCapacity, blocks,
                        sizeof *scene->blockNodes);
    }
    return result;
}

static uint32_t AcquirePair(knBvhScene* scene)
{
    uint32_t pair = scene->freePair;
    if (pair != KN_NONE)
    {
        scene->freePair = scene->cold[pair].parent;
        scene->freePairCount -= 1;
    }
    else
    {
        KN_ASSERT(scene->nodeSlots + 2 <= scene->nodeCapacity);
        pair = scene->nodeSlots;
        scene->nodeSlots += 2;
    }
    memset(&scene->nodes[pair], 0, 2 * sizeof *scene->nodes);
    memset(&scene->cold[pair], 0, 2 * sizeof *scene->cold);
    if (scene->histories)
    {
        memset(&scene->histories[pair], 0, 2 * sizeof *scene->histories);
    }
    knInvalidate(scene, pair);
    knInvalidate(scene, pair + 1);
    scene->orderIsValid = false;
    return pair;
}

uint32_t knAcquireChildren(knBvhScene* scene, uint32_t node)
{
    uint32_t pair = AcquirePair(scene);
    for (uint32_t child = pair; child < pair + 2; ++child)
    {
        scene->cold[child].parent = node;
        scene->cold[child].body = scene->cold[node].body;
    }
    scene->nodes[node].child = pair;
    scene->nodes[node].count = 0;
    return pair;
}

void knReleasePair(knBvhScene* scene, uint32_t pair)
{
    scene->cold[pair].parent = scene->freePair;
    scene->freePair = pair;
    scene->freePairCount += 1;
    scene->orderIsValid = false;
}

uint32_t knAcquireBlock(knBvhScene* scene, uint32_t node)
{
    uint32_t block = scene->freeBlock;
    if (block != KN_LAST_FREE)
    {
        scene->freeBlock = scene->blockNodes[block] & ~KN_FREE;
        scene->freeBlockCount -= 1;
    }
    else
    {
        KN_ASSERT(scene->blockSlots < scene->blockCapacity);
        block = scene->blockSlots++;
    }
    scene->blockNodes[block] = node;
    if (scene->boundaryMasks)
    {
        scene->boundaryMasks[block] = KN_STALE_MASK;
    }
    return block;
}

static void ReleaseBlock(knBvhScene* scene, uint32_t block)
{
    scene->blockNodes[block] = scene->freeBlock | KN_FREE;
    scene->freeBlock = block;
    scene->freeBlockCount += 1;
}

// Positions come with the next fit.
void knSetLane(knBvhScene* scene, uint32_t block, uint32_t lane, const knBuildSource* source)
{
    knBvhBlock* b = &scene->blocks[block];
    if (scene->boundaryMasks)
    {
        scene->boundaryMasks[block] = KN_STALE_MASK;
    }
    b->triangle[lane] = source->triangle;
    scene->places[source->triangle] = block * KN_LANES + lane;
    for (int corner = 0; corner < 3; ++corner)
    {
        b->vertex[corner][lane] = source->v[corner];
    }
}

void knClearLane(knBvhScene* scene, uint32_t block, uint32_t lane)
{
    knBvhBlock* b = &scene->blocks[block];
    b->triangle[lane] = KN_NONE;
    for (int corner = 0; corner < 3; ++corner)
    {
        b->vertex[corner][lane] = KN_NONE;
        for (int axis = 0; axis < 3; ++axis)
        {
            b->v[corner][axis][lane] = NAN;
        }
    }
}

// The first node below in a walk that needs no stack, and the next; KN_NONE at the end.
static uint32_t FirstBelow(const knBvhScene* scene, uint32_t node)
{
    while (!knIsLeaf(&scene->nodes[node]))
    {
        node = scene->nodes[node].child;
    }
    return node;
}

static uint32_t NextBelow(const knBvhScene* scene, uint32_t node, uint32_t top)
{
    if (node == top)
    {
        return KN_NONE;
    }
    // slots are even for the first of two
    return (node & 1) == 0 ? FirstBelow(scene, node + 1) : scene->cold[node].parent;
}

void knReleaseBelow(knBvhScene* scene, uint32_t top)
{
    uint32_t node = FirstBelow(scene, top);
    while (node != KN_NONE)
    {
        uint32_t next = NextBelow(scene, node, top);
        if (knIsLeaf(&scene->nodes[node]))
        {
            ReleaseBlock(scene, scene->nodes[node].child);
        }
        else
        {
            knReleasePair(scene, scene->nodes[node].child);
        }
        node = next;
    }
}

knBuildSource knSourceAt(const knBvhScene* scene, uint32_t place)
{
    const knBvhBlock* b = &scene->blocks[place / KN_LANES];
    uint32_t lane = place % KN_LANES;
    return (knBuildSource){{b->vertex[0][lane], b->vertex[1][lane], b->vertex[2][lane]},
                           b->triangle[lane]};
}

uint32_t knCollectItems(knBvhScene* scene, uint32_t top, uint32_t itemCount)
{
    for (uint32_t node = FirstBelow(scene, top); node != KN_NONE;
         node = NextBelow(scene, node, top))
    {
        const knBvhNode* n = &scene->nodes[node];
        for (uint32_t lane = 0; lane < n->count; ++lane)
        {
            knBuildSource source = knSourceAt(scene, n->child * KN_LANES + lane);
            knSetItem(scene, itemCount++, &source);
        }
    }
    return itemCount;
}

knBvhUnit knTakeNode(const knBvhScene* scene, uint32_t from)
{
    knBvhUnit unit = {.node = scene->nodes[from], .cold = scene->cold[from]};
    if (scene->histories)
    {
        unit.history = scene->histories[from];
    }
    if (scene->cullNodes)
    {
        unit.cull = scene->cullNodes[from];
    }
    return unit;
}

void knPutNode(knBvhScene* scene, uint32_t to, const knBvhUnit* unit)
{
    const knBvhNode* node = &unit->node;
    uint32_t parent = scene->cold[to].parent;
    scene->nodes[to] = *node;
    scene->cold[to] = unit->cold;
    scene->cold[to].parent = parent;
    if (scene->histories)
    {
        scene->histories[to] = unit->history;
    }
    if (scene->cullNodes)
    {
        scene->cullNodes[to] = unit->cull; // heights below count from the leaves and still hold
    }
    if (knIsLeaf(node))
    {
        scene->blockNodes[node->child] = to;
    }
    else
    {
        scene->cold[node->child].parent = to;
        scene->cold[node->child + 1].parent = to;
    }
    if (knIsBodyRoot(scene, to))
    {
        knGetBody(scene, unit->cold.body)->node = to;
    }
    scene->orderIsValid = false;
}

void knRemoveNode(knBvhScene* scene, uint32_t node)
{
    uint32_t parent = scene->cold[node].parent;
    if (parent == KN_NONE)
    {
        scene->hasRoot = false;
        scene->orderIsValid = false;
        return;
    }
    uint32_t pair = scene->nodes[parent].child;
    knBvhUnit sibling = knTakeNode(scene, node ^ 1u);
    knPutNode(scene, parent, &sibling);
    knReleasePair(scene, pair);
    knRefitAbove(scene, parent);
}

uint32_t knInsertBeside(knBvhScene* scene, uint32_t node)
{
    knBvhUnit old = knTakeNode(scene, node);
    scene->cold[node].body = 0; // above two bodies now
    uint32_t pair = knAcquireChildren(scene, node);
    knPutNode(scene, pair, &old);
    knForgetHistory(scene, node);
    return pair + 1;
}

static float PaddedVolume(const knBvhScene* scene, const knBvhNode* n)
{
    float volume = 1.0f;
    for (int axis = 0; axis < 3; ++axis)
    {
        float extent = n->upper[axis] - n->lower[axis];
        volume *= (extent > 0.0f ? extent : 0.0f) + scene->padding;
    }
    return volume;
}

// A share of two volumes; boxes too small or too large for floats count as equal.
static float Share(float part, float whole)
{
    float share = part / whole;
    return share >= 0.0f && share <= 1.0f ? share : 1.0f;
}

void knSetSelfCost(knBvhScene* scene, uint32_t node)
{
    uint32_t child = scene->nodes[node].child;
    const knBvhCold *left = &scene->cold[child], *right = left + 1;
    float cost = left->interCost + right->interCost;
    // what is culled costs nothing within
    cost += knIsCulled(scene, child) ? 0.0f : left->selfCost;
    cost += knIsCulled(scene, child + 1) ? 0.0f : right->selfCost;
    scene->cold[node].selfCost = cost;
}

static void SetCosts(knBvhScene* scene, uint32_t node)
{
    const knBvhNode* n = &scene->nodes[node];
    const knBvhCold *left = &scene->cold[n->child], *right = left + 1;
    knBvhCold* c = &scene->cold[node];
    float whole = PaddedVolume(scene, n);
    c->interCost =
        1.0f + Share(PaddedVolume(scene, &scene->nodes[n->child]), whole) * left->interCost +
        Share(PaddedVolume(scene, &scene->nodes[n->child + 1]), whole) * right->interCost;
    knSetSelfCost(scene, node);
    c->triangleCount = left->triangleCount + right->triangleCount;
}

void knRefitNode(knBvhScene* scene, uint32_t node)
{
    knBvhNode* n = &scene->nodes[node];
    if (knIsLeaf(n))
    {
        scene->kernels->refitBlock(&scene->blocks[n->child], scene->positions, n);
        scene->cold[node].triangleCount = n->count;
        scene->cold[node].interCost = 1.0f;
        scene->cold[node].selfCost = 0.0f;
        return;
    }
    const knBvhNode *left = &scene->nodes[n->child], *right = left + 1;
    for (int axis = 0; axis < 3; ++axis)
    {
        n->lower[axis] =
            left->lower[axis] < right->lower[axis] ? left->lower[axis] : right->lower[axis];
        n->upper[axis] =
            left->upper[axis] > right->upper[axis] ? left->upper[axis] : right->upper[axis];
    }
    SetCosts(scene, node);
}

void knRefitAbove(knBvhScene* scene, uint32_t node)
{
    knInvalidate(scene, node);
    for (uint32_t n = scene->cold[node].parent; n != KN_NONE; n = scene->cold[n].parent)
    {
        knInvalidate(scene, n);
        knRefitNode(scene, n);
    }
}

void knOrderNodes(knBvhScene* scene)
{
    scene->orderCount = 0;
    scene->height = 0;
    uint32_t depth = 0;
    for (uint32_t node = scene->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        // down to the first leaf
        for (depth += 1; !knIsLeaf(&scene->nodes[node]); ++depth)
        {
            node = scene->nodes[node].child;
        }
        scene->height = depth > scene->height ? depth : scene->height;
        // up while the second of two is done
        while (node != KN_NONE && (node == 0 || (node & 1) != 0))
        {
            node = scene->cold[node].parent;
            depth -= 1;
            if (node != KN_NONE)
            {
                scene->order[scene->orderCount++] = node;
            }
        }
        if (node != KN_NONE)
        {
            node += 1;
            depth -= 1;
        }
    }
    scene->orderIsValid = true;
}
