// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// Two trees are descended together; invalid nodes are split as they are met, and whatever overlaps
// is marked as active for the next update.

#define POSE_ERROR 4e-6f // of a turned box, in parts of the coordinates

typedef struct Side
{
    const knHierarchyBody* body;
    uint32_t node;
} Side;

// The box of a rigid body's node where the pose takes it, wide enough for the rounding of vertices.
static void PoseBox(knHierarchy* h, const knHierarchyBody* body, uint32_t node)
{
    const knBox* local = &h->rigidBoxes[node];
    knBvhNode* box = &h->lazy[node].box;
    if (local->lower.x > local->upper.x)
    {
        return; // empty as it is
    }
    knMat3 m = knMat3FromQuat(body->pose.rotation);
    knVec3 center = knTransformPoint(body->pose, knBox_Center(*local));
    knVec3 extent = knScale(0.5f, knSub(local->upper, local->lower));
    knVec3 axes[3] = {knMulMV(m, knMakeVec3(extent.x, 0.0f, 0.0f)),
                      knMulMV(m, knMakeVec3(0.0f, extent.y, 0.0f)),
                      knMulMV(m, knMakeVec3(0.0f, 0.0f, extent.z))};
    knVec3 most = knMax(knNeg(local->lower), knMax(local->upper, knMakeVec3(0.0f, 0.0f, 0.0f)));
    float error = POSE_ERROR * (knLength(body->pose.position) +
                                knLength(knMax(most, knMax(knNeg(local->upper), local->lower))));
    const float c[3] = {center.x, center.y, center.z};
    const float e[3] = {fabsf(axes[0].x) + fabsf(axes[1].x) + fabsf(axes[2].x) + error,
                        fabsf(axes[0].y) + fabsf(axes[1].y) + fabsf(axes[2].y) + error,
                        fabsf(axes[0].z) + fabsf(axes[1].z) + fabsf(axes[2].z) + error};
    for (int axis = 0; axis < 3; ++axis)
    {
        box->lower[axis] = c[axis] - e[axis];
        box->upper[axis] = c[axis] + e[axis];
    }
}

static const knLazyNode* Fetch(knHierarchy* h, Side s)
{
    knLazyNode* n = &h->lazy[s.node];
    if (s.body->isRigid && n->restUntil != h->period)
    {
        PoseBox(h, s.body, s.node);
        n->restUntil = h->period;
    }
    return n;
}

static bool TestSides(knHierarchyWalk* w, Side a, Side b)
{
    const knLazyNode *p = Fetch(w->hierarchy, a), *q = Fetch(w->hierarchy, b);
    w->sink->funnel.nodeTests += 1;
    return knNodesOverlap(&p->box, &q->box);
}

static void SetRigidLane(const knHierarchy* h, const knHierarchyBody* body, knBvhBlock* block,
                         int lane)
{
    const uint32_t* v = h->triangles[block->triangle[lane]].v;
    knVec3 p[3];
    bool isFinite = true;
    for (int corner = 0; corner < 3; ++corner)
    {
        p[corner] = knTransformPoint(body->pose, h->positions[v[corner]]);
        isFinite = isFinite && knIsFinite(p[corner]);
    }
    for (int corner = 0; corner < 3; ++corner)
    {
        block->v[corner][0][lane] = isFinite ? p[corner].x : NAN;
        block->v[corner][1][lane] = isFinite ? p[corner].y : NAN;
        block->v[corner][2][lane] = isFinite ? p[corner].z : NAN;
    }
}

static void FillBlock(const knHierarchy* h, Side s, knBvhBlock* block)
{
    const knLazyNode* n = &h->lazy[s.node];
    knBvhNode leaf = {.count = 0};
    memset(block->v, 0xFF, sizeof block->v); // not a number
    memset(block->vertex, 0xFF, sizeof block->vertex);
    memset(block->triangle, 0xFF, sizeof block->triangle);
    for (uint32_t i = n->first; i < n->first + n->count; ++i)
    {
        uint32_t id = s.body->primitives[i], lane = leaf.count;
        if (id != KN_NONE)
        {
            block->triangle[lane] = id;
            block->vertex[0][lane] = h->triangles[id].v[0];
            block->vertex[1][lane] = h->triangles[id].v[1];
            block->vertex[2][lane] = h->triangles[id].v[2];
            leaf.count += 1;
        }
    }
    if (!s.body->isRigid)
    {
        h->kernels->refitBlock(block, h->positions, &leaf);
        return;
    }
    for (int lane = 0; lane < (int)leaf.count; ++lane)
    {
        SetRigidLane(h, s.body, block, lane);
    }
}

// The triangles of a leaf, in the place of the cache that is not `taken`.
static const knBvhBlock* GetBlock(knHierarchy* h, Side s)
{
    uint32_t place = s.node % KN_BLOCK_CACHE;
    uint32_t* key = &h->blockKeys[2 * (size_t)place];
    if (key[0] != s.node || key[1] != h->epoch)
    {
        key[0] = s.node;
        key[1] = h->epoch;
        FillBlock(h, s, &h->blocks[place]);
    }
    return &h->blocks[place];
}

static int CountLanes(const knBvhBlock* block)
{
    int count = 0;
    while (count < KN_LANES && block->triangle[count] != KN_NONE)
    {
        ++count;
    }
    return count;
}

static void MeetLeaves(knHierarchyWalk* w, Side a, Side b)
{
    knHierarchy* h = w->hierarchy;
    const knBvhBlock* first = GetBlock(h, a);
    knBvhBlock copy;
    w->sink->funnel.leafPairs += 1;
    if (a.node % KN_BLOCK_CACHE == b.node % KN_BLOCK_CACHE)
    {
        copy = *first; // the other takes its place
        first = &copy;
    }
    const knBvhBlock* second = GetBlock(h, b);
    h->kernels->meetBlocks(first, second, &h->lazy[a.node].box, &h->lazy[b.node].box, w->sink);
}

// False when the node has no children that could be descended.
static bool Open(knHierarchyWalk* w, Side s)
{
    if (w->hierarchy->lazy[s.node].box.count == 0)
    {
        w->result = knSplitLazy(w->hierarchy, s.body, s.node);
    }
    return w->result == kn_success;
}

// Boxes overlap. Which is descended: the larger, of what is no leaf.
static void MeetNodes(knHierarchyWalk* w, Side a, Side b)
{
    knHierarchy* h = w->hierarchy;
    knLazyNode *p = &h->lazy[a.node], *q = &h->lazy[b.node];
    p->activeIn = q->activeIn = h->period;
    bool aLeaf = knIsLazyLeaf(h, p), bLeaf = knIsLazyLeaf(h, q);
    if (knIsDone(w))
    {
        return;
    }
    if (aLeaf && bLeaf)
    {
        MeetLeaves(w, a, b);
        return;
    }
    bool descendA = bLeaf || (!aLeaf && knBoxSpan(p->box.lower, p->box.upper) >=
                                            knBoxSpan(q->box.lower, q->box.upper));
    Side down = descendA ? a : b, whole = descendA ? b : a;
    if (Open(w, down))
    {
        knBvhNode box = h->lazy[down.node].box;
        for (uint32_t i = box.child; i < box.child + box.count; ++i)
        {
            Side child = {down.body, i};
            if (TestSides(w, child, whole))
            {
                MeetNodes(w, child, whole);
            }
        }
    }
}

static void MeetItself(knHierarchyWalk* w, Side s)
{
    knHierarchy* h = w->hierarchy;
    h->lazy[s.node].activeIn = h->period;
    if (knIsDone(w))
    {
        return;
    }
    if (knIsLazyLeaf(h, &h->lazy[s.node]))
    {
        const knBvhBlock* block = GetBlock(h, s);
        w->sink->funnel.leafPairs += 1;
        h->kernels->meetBlockItself(block, CountLanes(block), w->sink);
        return;
    }
    if (!Open(w, s))
    {
        return;
    }
    knBvhNode box = h->lazy[s.node].box;
    for (uint32_t i = box.child; i < box.child + box.count; ++i)
    {
        MeetItself(w, (Side){s.body, i});
        for (uint32_t k = i + 1; k < box.child + box.count; ++k)
        {
            Side a = {s.body, i}, b = {s.body, k};
            if (TestSides(w, a, b))
            {
                MeetNodes(w, a, b);
            }
        }
    }
}

void knWalkLazy(knHierarchyWalk* w)
{
    knHierarchy* h = w->hierarchy;
    for (uint32_t i = knNextBody(h, 0); i; i = knNextBody(h, i))
    {
        Side a = {knGetHierarchyBody(h, i), knGetHierarchyBody(h, i)->root};
        if (a.node != KN_NONE && knWantsBodies(w, i, i))
        {
            MeetItself(w, a);
        }
        for (uint32_t k = a.node == KN_NONE ? 0 : knNextBody(h, i); k; k = knNextBody(h, k))
        {
            Side b = {knGetHierarchyBody(h, k), knGetHierarchyBody(h, k)->root};
            if (b.node != KN_NONE && knWantsBodies(w, i, k) && TestSides(w, a, b))
            {
                MeetNodes(w, a, b);
            }
        }
    }
}
