// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Single triangles of a body: what a crack that grows needs.

static float CenterDistance(const knBvhNode* n, const knBuildItem* item)
{
    float distance = 0.0f;
    for (int axis = 0; axis < 3; ++axis)
    {
        distance += fabsf(0.5f * n->lower[axis] + 0.5f * n->upper[axis] - item->center[axis]);
    }
    return distance;
}

// The leaf whose box is nearest on the way down.
static uint32_t FindLeaf(const knBvhScene* s, uint32_t node, const knBuildItem* item)
{
    while (!knIsLeaf(&s->nodes[node]))
    {
        uint32_t child = s->nodes[node].child;
        bool right =
            CenterDistance(&s->nodes[child + 1], item) < CenterDistance(&s->nodes[child], item);
        node = right ? child + 1 : child;
    }
    return node;
}

// A full leaf and one triangle more become two leaves.
static void SplitLeaf(knBvhScene* s, uint32_t leaf, const knBuildSource* source)
{
    uint32_t count = knCollectItems(s, leaf, 0);
    knSetItem(s, count, source);
    knReleaseBelow(s, leaf);
    knBuildBelow(s, leaf, 0, count + 1);
}

static void Place(knBvhScene* s, uint32_t index, const knBuildSource* source)
{
    uint32_t root = knGetBody(s, index)->node;
    knSetItem(s, 0, source);
    if (root == KN_NONE)
    {
        uint32_t slot = knPlaceBody(s, index, KN_NONE, 0, 1);
        knBuildBelow(s, slot, 0, 1);
        knRefitAbove(s, slot);
        return;
    }
    uint32_t leaf = FindLeaf(s, root, &s->items[0]);
    knBvhNode* n = &s->nodes[leaf];
    if (n->count == KN_LANES)
    {
        SplitLeaf(s, leaf, source);
    }
    else
    {
        knSetLane(s, n->child, n->count, source);
        n->count += 1;
        knRefitNode(s, leaf);
    }
    knRefitAbove(s, leaf);
}

static void Unplace(knBvhScene* s, uint32_t triangle)
{
    uint32_t place = s->places[triangle];
    uint32_t block = place / KN_LANES, lane = place % KN_LANES, leaf = s->blockNodes[block];
    knBvhNode* n = &s->nodes[leaf];
    if (n->count == 1)
    {
        if (knIsBodyRoot(s, leaf))
        {
            knGetBody(s, s->cold[leaf].body)->node = KN_NONE;
        }
        knReleaseBelow(s, leaf);
        knRemoveNode(s, leaf);
        return;
    }
    n->count -= 1;
    knBuildSource last = knSourceAt(s, block * KN_LANES + n->count);
    knSetLane(s, block, lane, &last);
    knClearLane(s, block, n->count);
    knRefitNode(s, leaf);
    knRefitAbove(s, leaf);
}

// Room for one more leaf per triangle and for what splits one.
static knResult ReservePatch(knBvhScene* s, uint32_t count)
{
    knResult result = knReserveLeaves(s, (size_t)count + 8);
    result = result == kn_success ? knReserveChanges(s, count) : result;
    return result == kn_success ? knReserveItems(s, KN_LANES + 1) : result;
}

knResult knBvhScene_InsertTriangles(knBvhScene* s, knId body, const knTriangle* triangles,
                                    uint32_t count, uint32_t* ids)
{
    knResult result = knCheckTriangles(s, triangles, count);
    knBvhBody* b = s ? knPool_Get(&s->bodies, body) : NULL;
    if (result == kn_success && !b)
    {
        result = knFail(kn_errorHandle, "body {%u, %u} is null, stale or of another scene",
                        body.index, body.generation);
    }
    result = result == kn_success ? knReserveTriangles(s, count) : result;
    result = result == kn_success ? ReservePatch(s, count) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t mode = knBeginExact();
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = triangles[i].v;
        knBuildSource source = {{v[0], v[1], v[2]}, knAcquireTriangle(s)};
        knChangeLinks(s, &source, true);
        knNoteChange(s, kn_bvhTriangleInserted, source.triangle, 0);
        Place(s, body.index, &source);
        b->triangleCount += 1;
        s->isCommitted = false;
        if (ids)
        {
            ids[i] = source.triangle;
        }
    }
    knEndExact(mode);
    return kn_success;
}

knResult knBvhScene_DeleteTriangles(knBvhScene* s, const uint32_t* ids, uint32_t count)
{
    if (!s || (!ids && count > 0))
    {
        return knFail(kn_errorArgument, "a deletion needs a scene and ids");
    }
    knResult result = knMarkTriangles(s, ids, count, 0);
    result = result == kn_success ? knReserveChanges(s, count) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t mode = knBeginExact();
    for (uint32_t i = 0; i < count; ++i)
    {
        knGetBody(s, s->cold[knLeafOf(s, ids[i])].body)->triangleCount -= 1;
        knBuildSource source = knSourceAt(s, s->places[ids[i]]);
        knChangeLinks(s, &source, false);
        Unplace(s, ids[i]);
        knNoteChange(s, kn_bvhTriangleDeleted, ids[i], 0);
        knReleaseTriangle(s, ids[i]);
        s->isCommitted = false;
    }
    knEndExact(mode);
    return kn_success;
}

knResult knBvhScene_ReplaceTriangle(knBvhScene* s, uint32_t id, knTriangle triangle)
{
    knResult result = knCheckTriangles(s, &triangle, 1);
    result = result == kn_success ? knMarkTriangles(s, &id, 1, 0) : result;
    result = result == kn_success ? ReservePatch(s, 1) : result;
    result = result == kn_success ? knReserveTriangles(s, 1) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t mode = knBeginExact();
    knBuildSource source = {{triangle.v[0], triangle.v[1], triangle.v[2]}, id};
    knBuildSource old = knSourceAt(s, s->places[id]);
    uint32_t body = s->cold[knLeafOf(s, id)].body;
    knChangeLinks(s, &old, false);
    Unplace(s, id);
    knChangeLinks(s, &source, true);
    Place(s, body, &source);
    knNoteChange(s, kn_bvhTriangleReplaced, id, 0);
    knEndExact(mode);
    s->isCommitted = false;
    return kn_success;
}
