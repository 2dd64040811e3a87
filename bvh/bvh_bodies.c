// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Bodies come, go, split and merge (FASTCD 5.1 and 5.3). A body's triangles fill one subtree and
// nothing else is in it: the way down by cost ends at the roots of bodies, and so a body is deleted
// or replaced in one place.

knResult knCheckTriangles(const knBvhScene* s, const knTriangle* triangles, uint32_t count)
{
    if (!s || (!triangles && count > 0))
    {
        return knFail(kn_errorArgument, "triangles need a scene and an array");
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            if (triangles[i].v[k] >= s->vertexCount)
            {
                return knFail(kn_errorArgument, "triangle %u names vertex %u, but there are %u", i,
                              triangles[i].v[k], s->vertexCount);
            }
        }
    }
    return kn_success;
}

knResult knReserveTriangles(knBvhScene* s, uint32_t count)
{
    uint32_t fresh = count > s->freeTriangleCount ? count - s->freeTriangleCount : 0;
    if (fresh > KN_MAX_MESH_SIZE - s->triangleSlots)
    {
        return knFail(kn_errorLimit, "a scene holds at most %u triangles", KN_MAX_MESH_SIZE);
    }
    knResult result = knGrow(&s->allocator, (void**)&s->places, &s->triangleCapacity,
                             (size_t)s->triangleSlots + fresh, sizeof *s->places);
    return result == kn_success && s->def.culling > kn_bvhCullExact ? knReserveLinks(s, count)
                                                                    : result;
}

// The place comes when its leaf is made.
uint32_t knAcquireTriangle(knBvhScene* s)
{
    uint32_t id = s->freeTriangle;
    if (id != KN_LAST_FREE)
    {
        s->freeTriangle = s->places[id] & ~KN_FREE;
        s->freeTriangleCount -= 1;
    }
    else
    {
        id = s->triangleSlots++;
    }
    s->places[id] = KN_NONE;
    return id;
}

void knReleaseTriangle(knBvhScene* s, uint32_t id)
{
    s->places[id] = s->freeTriangle | KN_FREE;
    s->freeTriangle = id;
    s->freeTriangleCount += 1;
}

static void ClearMarks(knBvhScene* s, const uint32_t* ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        s->places[ids[i]] &= ~KN_MARK;
    }
}

knResult knMarkTriangles(knBvhScene* s, const uint32_t* ids, uint32_t count, uint32_t body)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t id = ids[i];
        uint32_t place = id < s->triangleSlots ? s->places[id] : KN_FREE;
        bool exists = (place & KN_FREE) == 0;
        uint32_t leaf = exists ? s->blockNodes[(place & ~KN_MARK) / KN_LANES] : 0;
        bool isMine = exists && (body == 0 || s->cold[leaf].body == body);
        if (!isMine || (place & KN_MARK))
        {
            ClearMarks(s, ids, i);
            return knFail(kn_errorHandle, "entry %u: triangle %u %s", i, id,
                          !exists   ? "does not exist"
                          : !isMine ? "belongs to another body"
                                    : "is named twice");
        }
        s->places[id] |= KN_MARK;
    }
    ClearMarks(s, ids, count);
    return kn_success;
}

static knResult ReserveBodies(knBvhScene* s, uint32_t count)
{
    uint32_t needed = s->bodies.usedSlots + count;
    uint32_t doubled = 2 * s->bodies.capacity;
    if (needed > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "a scene holds at most %u bodies", KN_MAX_MESH_SIZE);
    }
    knResult result = needed <= s->bodies.capacity
                          ? kn_success
                          : knPool_Reserve(&s->bodies, needed > doubled ? needed : doubled);
    return result == kn_success ? knReserveChanges(s, count) : result;
}

// Room for a build over so many triangles in so many bodies.
static knResult ReserveBuild(knBvhScene* s, size_t triangleCount, size_t bodyCount)
{
    knResult result = knReserveLeaves(s, knLeafBound(s, triangleCount) + 5 * bodyCount);
    return result == kn_success ? knReserveItems(s, triangleCount) : result;
}

static knBvhBody* AcquireBody(knBvhScene* s, knId* id)
{
    void* item = NULL;
    knResult result = knPool_Acquire(&s->bodies, id, &item);
    KN_ASSERT(result == kn_success); // reserved
    (void)result;
    knBvhBody* body = item;
    body->node = KN_NONE;
    knNoteChange(s, kn_bvhBodyBegan, id->index, id->generation);
    s->isCommitted = false;
    return body;
}

static void EndBody(knBvhScene* s, knId id)
{
    knNoteChange(s, kn_bvhBodyEnded, id.index, id.generation);
    knPool_Release(&s->bodies, id);
    s->isCommitted = false;
}

static knBvhNode ItemBox(const knBvhScene* s, uint32_t first, uint32_t count)
{
    knBox box = knEmptyBox();
    for (uint32_t i = first; i < first + count; ++i)
    {
        const uint32_t* v = s->sources[s->items[i].triangle].v;
        for (int k = 0; k < 3; ++k)
        {
            box = knBox_AddPoint(box, s->positions[v[k]]);
        }
    }
    return (knBvhNode){
        {box.lower.x, box.lower.y, box.lower.z}, 0, {box.upper.x, box.upper.y, box.upper.z}, 0};
}

static float UnionVolume(const knBvhScene* s, const knBvhNode* a, const knBvhNode* b)
{
    float volume = 1.0f;
    for (int axis = 0; axis < 3; ++axis)
    {
        float low = a->lower[axis] < b->lower[axis] ? a->lower[axis] : b->lower[axis];
        float high = a->upper[axis] > b->upper[axis] ? a->upper[axis] : b->upper[axis];
        volume *= (high > low ? high - low : 0.0f) + s->padding;
    }
    return volume;
}

// The child that a box may join at the lower cost: Equation 6 without what both sides have.
static uint32_t CheaperChild(const knBvhScene* s, uint32_t node, const knBvhNode* box)
{
    uint32_t child = s->nodes[node].child;
    const knBvhNode *left = &s->nodes[child], *right = left + 1;
    float leftCost = s->cold[child].interCost, rightCost = s->cold[child + 1].interCost;
    float intoLeft =
        UnionVolume(s, left, box) * leftCost + UnionVolume(s, right, right) * rightCost;
    float intoRight =
        UnionVolume(s, left, left) * leftCost + UnionVolume(s, right, box) * rightCost;
    return intoRight < intoLeft ? child + 1 : child;
}

uint32_t knPlaceBody(knBvhScene* s, uint32_t body, uint32_t start, uint32_t first, uint32_t count)
{
    uint32_t slot = 0;
    if (!s->hasRoot)
    {
        s->hasRoot = true;
        s->orderIsValid = false;
        memset(&s->nodes[0], 0, sizeof s->nodes[0]);
        memset(&s->cold[0], 0, sizeof s->cold[0]);
        s->cold[0].parent = KN_NONE;
    }
    else
    {
        knBvhNode box = ItemBox(s, first, count);
        uint32_t node = start == KN_NONE ? 0 : start;
        while (s->cold[node].body == 0)
        {
            node = CheaperChild(s, node, &box);
        }
        slot = knInsertBeside(s, node);
    }
    s->cold[slot].body = body;
    knGetBody(s, body)->node = slot;
    return slot;
}

// Finds the place of a body from `start` down and builds its subtree over the first items.
static void PlaceAndBuild(knBvhScene* s, uint32_t body, uint32_t start, uint32_t count)
{
    uint32_t mode = knBeginExact();
    uint32_t slot = knPlaceBody(s, body, start, 0, count);
    knBuildBelow(s, slot, 0, count);
    knRefitAbove(s, slot);
    knEndExact(mode);
}

knResult knBvhScene_AddBody(knBvhScene* s, const knTriangle* triangles, uint32_t count,
                            uint32_t* ids, knId* body)
{
    knResult result = knCheckTriangles(s, triangles, count);
    result = result == kn_success ? knReserveTriangles(s, count) : result;
    result = result == kn_success ? ReserveBuild(s, count, 1) : result;
    result = result == kn_success ? ReserveBodies(s, 1) : result;
    if (result != kn_success)
    {
        return result;
    }
    knId id;
    knBvhBody* b = AcquireBody(s, &id);
    b->triangleCount = count;
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = triangles[i].v;
        knBuildSource source = {{v[0], v[1], v[2]}, knAcquireTriangle(s)};
        knSetItem(s, i, &source);
        knChangeLinks(s, &source, true);
        if (ids)
        {
            ids[i] = source.triangle;
        }
    }
    if (count > 0)
    {
        PlaceAndBuild(s, id.index, KN_NONE, count);
    }
    if (body)
    {
        *body = id;
    }
    return kn_success;
}

static knResult FindBody(const knBvhScene* s, knId id, knBvhBody** body)
{
    *body = s ? knPool_Get(&s->bodies, id) : NULL;
    return *body ? kn_success
                 : knFail(kn_errorHandle, "body {%u, %u} is null, stale or of another scene",
                          id.index, id.generation);
}

// The body's place in the tree and its triangles' places in it are given up.
static void UnplaceBody(knBvhScene* s, const knBvhBody* body)
{
    if (body->node != KN_NONE)
    {
        uint32_t node = body->node, mode = knBeginExact();
        knReleaseBelow(s, node);
        knRemoveNode(s, node);
        knEndExact(mode);
    }
}

knResult knBvhScene_DeleteBody(knBvhScene* s, knId id)
{
    knBvhBody* body;
    knResult result = FindBody(s, id, &body);
    result = result == kn_success ? knReserveItems(s, body->triangleCount) : result;
    result = result == kn_success ? knReserveChanges(s, 1) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t count = body->node != KN_NONE ? knCollectItems(s, body->node, 0) : 0;
    UnplaceBody(s, body);
    // backwards, so that the places are used again in the same order
    for (uint32_t i = count; i > 0; --i)
    {
        knChangeLinks(s, &s->sources[i - 1], false);
        knReleaseTriangle(s, s->sources[i - 1].triangle);
    }
    EndBody(s, id);
    return kn_success;
}

static knResult CheckSplit(knBvhScene* s, const knBvhSplit* split, const knId* bodies,
                           knBvhBody** body)
{
    if (!s || !split || !bodies || split->partCount == 0 || !split->triangles || !split->parts)
    {
        return knFail(kn_errorArgument,
                      "a split needs a scene, triangles, their parts, and room for the bodies");
    }
    knResult result = FindBody(s, split->body, body);
    if (result != kn_success)
    {
        return result;
    }
    if (split->triangleCount != (*body)->triangleCount)
    {
        return knFail(kn_errorArgument, "%u triangles are named, but the body has %u",
                      split->triangleCount, (*body)->triangleCount);
    }
    for (uint32_t i = 0; i < split->triangleCount; ++i)
    {
        if (split->parts[i] >= split->partCount)
        {
            return knFail(kn_errorArgument, "entry %u: part %u of %u", i, split->parts[i],
                          split->partCount);
        }
    }
    return knMarkTriangles(s, split->triangles, split->triangleCount, split->body.index);
}

static knResult ReserveSplit(knBvhScene* s, const knBvhSplit* split)
{
    knResult result = ReserveBuild(s, split->triangleCount, split->partCount);
    result = result == kn_success ? ReserveBodies(s, split->partCount) : result;
    result = result == kn_success ? knReserveChanges(s, (size_t)split->partCount + 1) : result;
    if (result == kn_success)
    {
        result = knGrow(&s->allocator, (void**)&s->parts, &s->partCapacity, split->partCount,
                        sizeof *s->parts);
    }
    if (result == kn_success)
    {
        result = knGrow(&s->allocator, (void**)&s->partStarts, &s->partStartCapacity,
                        (size_t)split->partCount + 1, sizeof *s->partStarts);
    }
    return result;
}

// Items in the order of their parts; partStarts has the first of each.
static void GroupByPart(knBvhScene* s, const knBvhSplit* split, const knId* bodies)
{
    uint32_t* starts = s->partStarts;
    memset(starts, 0, (split->partCount + 1) * sizeof *starts);
    for (uint32_t i = 0; i < split->triangleCount; ++i)
    {
        starts[split->parts[i] + 1] += 1;
    }
    for (uint32_t i = 0; i < split->partCount; ++i)
    {
        knGetBody(s, bodies[i].index)->triangleCount = starts[i + 1];
        starts[i + 1] += starts[i];
    }
    for (uint32_t i = 0; i < split->triangleCount; ++i)
    {
        knBuildSource source = knSourceAt(s, s->places[split->triangles[i]]);
        knSetItem(s, starts[split->parts[i]]++, &source);
    }
    memmove(starts + 1, starts, split->partCount * sizeof *starts);
    starts[0] = 0;
}

// Parts that have triangles, each with the middle of its centres.
static uint32_t GatherParts(knBvhScene* s, uint32_t partCount)
{
    uint32_t count = 0;
    for (uint32_t part = 0; part < partCount; ++part)
    {
        uint32_t begin = s->partStarts[part], end = s->partStarts[part + 1];
        if (begin == end)
        {
            continue;
        }
        double sum[3] = {0.0, 0.0, 0.0};
        for (uint32_t i = begin; i < end; ++i)
        {
            for (int axis = 0; axis < 3; ++axis)
            {
                sum[axis] += (double)s->items[i].center[axis];
            }
        }
        knBuildItem* item = &s->parts[count++];
        item->triangle = part;
        for (int axis = 0; axis < 3; ++axis)
        {
            item->center[axis] = (float)(sum[axis] / (end - begin));
        }
    }
    return count;
}

// A balanced tree over the parts [begin, end), each with its own below. The depth is the logarithm
// of the number of parts.
static void BuildParts(knBvhScene* s, uint32_t node, uint32_t begin, uint32_t end,
                       const knId* bodies)
{
    if (end - begin == 1)
    {
        uint32_t part = s->parts[begin].triangle;
        uint32_t first = s->partStarts[part];
        s->cold[node].body = bodies[part].index;
        knGetBody(s, bodies[part].index)->node = node;
        knBuildBelow(s, node, first, s->partStarts[part + 1] - first);
        return;
    }
    uint32_t middle = begin + (end - begin) / 2;
    knSelectItems(s->parts, begin, end, middle, knLongestAxis(s->parts, begin, end));
    s->cold[node].body = 0;
    uint32_t pair = knAcquireChildren(s, node);
    BuildParts(s, pair, begin, middle, bodies);
    BuildParts(s, pair + 1, middle, end, bodies);
    knRefitNode(s, node);
    knForgetHistory(s, node);
}

knResult knBvhScene_SplitBody(knBvhScene* s, const knBvhSplit* split, knId* bodies)
{
    knBvhBody* body;
    knResult result = CheckSplit(s, split, bodies, &body);
    result = result == kn_success ? ReserveSplit(s, split) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t node = knGetBody(s, split->body.index)->node;
    for (uint32_t i = 0; i < split->partCount; ++i)
    {
        AcquireBody(s, &bodies[i]);
    }
    if (node != KN_NONE)
    {
        uint32_t mode = knBeginExact();
        GroupByPart(s, split, bodies);
        knReleaseBelow(s, node);
        BuildParts(s, node, 0, GatherParts(s, split->partCount), bodies);
        knRefitAbove(s, node);
        knEndExact(mode);
    }
    EndBody(s, split->body);
    return kn_success;
}

static uint32_t Depth(const knBvhScene* s, uint32_t node)
{
    uint32_t depth = 0;
    for (; s->cold[node].parent != KN_NONE; node = s->cold[node].parent)
    {
        depth += 1;
    }
    return depth;
}

static uint32_t CommonAncestor(const knBvhScene* s, uint32_t a, uint32_t b)
{
    uint32_t aDepth = Depth(s, a), bDepth = Depth(s, b);
    for (; aDepth > bDepth; --aDepth)
    {
        a = s->cold[a].parent;
    }
    for (; bDepth > aDepth; --bDepth)
    {
        b = s->cold[b].parent;
    }
    while (a != b)
    {
        a = s->cold[a].parent;
        b = s->cold[b].parent;
    }
    return a;
}

static knResult CheckMerge(knBvhScene* s, const knId* bodies, uint32_t count, uint32_t* total)
{
    if (!s || !bodies || count == 0)
    {
        return knFail(kn_errorArgument, "a merge needs a scene and at least one body");
    }
    *total = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        knBvhBody* body;
        knResult result = FindBody(s, bodies[i], &body);
        for (uint32_t k = 0; result == kn_success && k < i; ++k)
        {
            if (knId_Equals(bodies[i], bodies[k]))
            {
                result = knFail(kn_errorHandle, "body {%u, %u} is named twice", bodies[i].index,
                                bodies[i].generation);
            }
        }
        if (result != kn_success)
        {
            return result;
        }
        *total += body->triangleCount;
    }
    knResult result = ReserveBuild(s, *total, 1);
    result = result == kn_success ? ReserveBodies(s, 1) : result;
    return result == kn_success ? knReserveChanges(s, (size_t)count + 1) : result;
}

// Takes the bodies out of the tree and returns where to put what they become: the lowest common
// ancestor, or KN_NONE when nothing else was below it.
static uint32_t TakeOut(knBvhScene* s, const knId* bodies, uint32_t count, uint32_t total)
{
    uint32_t ancestor = KN_NONE, items = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t node = knGetBody(s, bodies[i].index)->node;
        if (node != KN_NONE)
        {
            ancestor = ancestor == KN_NONE ? node : CommonAncestor(s, ancestor, node);
            items = knCollectItems(s, node, items);
        }
    }
    if (ancestor != KN_NONE && s->cold[ancestor].triangleCount == total)
    {
        // nothing else below: its place is free as a whole
        uint32_t start = s->cold[ancestor].parent, mode = knBeginExact();
        knReleaseBelow(s, ancestor);
        knRemoveNode(s, ancestor);
        knEndExact(mode);
        return start;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        UnplaceBody(s, knGetBody(s, bodies[i].index));
    }
    return ancestor;
}

knResult knBvhScene_MergeBodies(knBvhScene* s, const knId* bodies, uint32_t count, knId* merged)
{
    uint32_t total = 0;
    knResult result = CheckMerge(s, bodies, count, &total);
    if (result != kn_success)
    {
        return result;
    }
    uint32_t start = TakeOut(s, bodies, count, total);
    for (uint32_t i = 0; i < count; ++i)
    {
        EndBody(s, bodies[i]);
    }
    knId id;
    AcquireBody(s, &id)->triangleCount = total;
    if (total > 0)
    {
        PlaceAndBuild(s, id.index, start, total);
    }
    if (merged)
    {
        *merged = id;
    }
    return kn_success;
}
