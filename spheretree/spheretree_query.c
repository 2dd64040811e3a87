// SPDX-License-Identifier: Zlib
#include "spheretree/spheretree_internal.h"

#include <string.h>

// Algorithm 1 of the paper, level by level. An item is a point whose sphere was told to descend; it
// waits in the list of the level at which its next children enter. A point is tested again, with
// the smaller radius of its later children, only where that radius differs: the same question would
// get the same answer.

void knSphereQuery_Begin(knSphereQuery* query, const knSphereForest* forest, const knCutStore* cuts,
                         uint32_t fragment, knSphereQueryItem* items, uint32_t itemCapacity)
{
    *query = (knSphereQuery){.forest = forest,
                             .cuts = cuts,
                             .items = items,
                             .itemCapacity = itemCapacity,
                             .freeItem = KN_NONE,
                             .activeItem = KN_NONE,
                             .nextRoot = knSphereForest_Fragment(forest, fragment).firstRoot};
    memset(query->head, 0xFF, sizeof query->head);
    memset(query->tail, 0xFF, sizeof query->tail);
}

static uint32_t TakeItem(knSphereQuery* query)
{
    uint32_t item = query->freeItem;
    if (item != KN_NONE)
    {
        query->freeItem = query->items[item].next;
        return item;
    }
    return query->itemCount < query->itemCapacity ? query->itemCount++ : KN_NONE;
}

// A child may enter at its parent's level, but the walk does not go back.
static void Wait(knSphereQuery* query, uint32_t item)
{
    uint32_t level = query->forest->links.level[query->items[item].cursor];
    level = level > query->level ? level : query->level;
    query->items[item].next = KN_NONE;
    if (query->head[level] == KN_NONE)
    {
        query->head[level] = item;
    }
    else
    {
        query->items[query->tail[level]].next = item;
    }
    query->tail[level] = item;
}

static void TakeAnswers(knSphereQuery* query, const knSphereBatch* batch)
{
    for (uint32_t i = 0; i < batch->count; ++i)
    {
        if (!batch->descend[i] || batch->cursor[i] == KN_NONE)
        {
            continue;
        }
        uint32_t item = TakeItem(query);
        if (item == KN_NONE)
        {
            ++query->lostCount;
            continue;
        }
        query->items[item] = (knSphereQueryItem){batch->point[i], batch->cursor[i], KN_NONE,
                                                 batch->radius[i], batch->cache[i]};
        Wait(query, item);
    }
}

static void Emit(const knSphereQuery* query, knSphereBatch* batch, uint32_t point, uint32_t cursor)
{
    uint32_t i = batch->count++;
    knVec3 position = knSpherePosition(query->forest->mesh, query->cuts, point);
    batch->x[i] = position.x;
    batch->y[i] = position.y;
    batch->z[i] = position.z;
    batch->radius[i] = cursor == KN_NONE ? 0.0f : query->forest->links.reach[cursor];
    batch->cache[i] = 0.0f;
    batch->point[i] = point;
    batch->cursor[i] = cursor;
    batch->first[i] = 1;
    batch->descend[i] = 0;
}

static bool EntersNow(const knSphereQuery* query, uint32_t point)
{
    return point != KN_NONE && query->forest->links.level[point] <= query->level;
}

// One child, or what is left of the item itself.
static void Expand(knSphereQuery* query, knSphereBatch* batch)
{
    const knSphereLinks* links = &query->forest->links;
    uint32_t index = query->activeItem;
    knSphereQueryItem* item = &query->items[index];
    if (EntersNow(query, item->cursor))
    {
        uint32_t child = item->cursor;
        item->cursor = links->next[child];
        Emit(query, batch, child, links->first[child]);
        return;
    }
    query->activeItem = KN_NONE;
    if (item->cursor != KN_NONE && links->reach[item->cursor] == item->radius)
    {
        Wait(query, index);
        return;
    }
    if (item->cursor != KN_NONE)
    {
        Emit(query, batch, item->point, item->cursor);
        batch->first[batch->count - 1] = 0;
        batch->cache[batch->count - 1] = item->cache;
    }
    item->next = query->freeItem;
    query->freeItem = index;
}

// The lowest level where something waits; KN_NONE when nothing does.
static uint32_t NextLevel(const knSphereQuery* query)
{
    uint32_t root = query->nextRoot;
    uint32_t level = root == KN_NONE ? KN_NONE : query->forest->links.level[root];
    for (uint32_t i = query->level; i < KN_MAX_SPHERE_LEVELS && i < level; ++i)
    {
        level = query->head[i] == KN_NONE ? level : i;
    }
    return level;
}

// Takes one node of the level; false when the level has no more so far.
static bool FillOne(knSphereQuery* query, knSphereBatch* batch)
{
    if (EntersNow(query, query->nextRoot))
    {
        uint32_t root = query->nextRoot;
        query->nextRoot = query->forest->links.next[root];
        Emit(query, batch, root, query->forest->links.first[root]);
        return true;
    }
    if (query->activeItem == KN_NONE)
    {
        query->activeItem = query->head[query->level];
        if (query->activeItem == KN_NONE)
        {
            return false;
        }
        query->head[query->level] = query->items[query->activeItem].next;
    }
    Expand(query, batch);
    return true;
}

// The last node again, up to whole lanes.
static void FillLanes(knSphereBatch* batch)
{
    uint32_t last = batch->count - 1;
    for (uint32_t i = batch->count; i % KN_SPHERE_LANES != 0; ++i)
    {
        batch->x[i] = batch->x[last];
        batch->y[i] = batch->y[last];
        batch->z[i] = batch->z[last];
        batch->radius[i] = batch->radius[last];
    }
}

bool knSphereQuery_Next(knSphereQuery* query, knSphereBatch* batch)
{
    TakeAnswers(query, batch);
    batch->count = 0;
    while (batch->count < KN_SPHERE_BATCH)
    {
        if (FillOne(query, batch))
        {
            continue;
        }
        // the answers may send more to this level or to the next
        uint32_t level = batch->count > 0 ? KN_NONE : NextLevel(query);
        if (level == KN_NONE)
        {
            break;
        }
        query->level = level;
    }
    batch->level = query->level;
    FillLanes(batch);
    return batch->count > 0;
}
