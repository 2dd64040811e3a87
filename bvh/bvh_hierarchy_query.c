// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

#define FIRST_KEYS 4096 // room for pairs to begin with

static void SetBatchLane(const knHierarchy* h, knBvhBlock* block, int lane, uint32_t triangle)
{
    const uint32_t* v = h->triangles[triangle].v;
    for (int corner = 0; corner < 3; ++corner)
    {
        knVec3 p = h->positions[v[corner]];
        block->v[corner][0][lane] = p.x;
        block->v[corner][1][lane] = p.y;
        block->v[corner][2][lane] = p.z;
        block->vertex[corner][lane] = v[corner];
    }
    block->triangle[lane] = triangle;
}

void knPairBatch_Add(knPairBatch* b, uint32_t first, uint32_t second)
{
    SetBatchLane(b->hierarchy, &b->a, b->count, first);
    SetBatchLane(b->hierarchy, &b->b, b->count, second);
    b->count += 1;
    if (b->count == b->limit)
    {
        knPairBatch_Flush(b);
    }
}

void knPairBatch_Flush(knPairBatch* b)
{
    if (b->count > 0)
    {
        b->hierarchy->kernels->meetPairs(&b->a, &b->b, b->count, b->sink);
        b->count = 0;
    }
}

bool knWantsBodies(const knHierarchyWalk* w, uint32_t a, uint32_t b)
{
    if (w->first != 0)
    {
        return (a == w->first && b == w->second) || (a == w->second && b == w->first);
    }
    return a == b ? !w->def.skipWithin : !w->def.skipBetween;
}

static float BoxSize(const float lower[3], const float upper[3])
{
    float size = 0.0f;
    for (int axis = 0; axis < 3 && lower[0] <= upper[0]; ++axis)
    {
        size = fmaxf(size, fmaxf(fabsf(lower[axis]), fabsf(upper[axis])));
    }
    return size;
}

static float RigidSize(const knHierarchy* h, const knHierarchyBody* body)
{
    knBox box = h->rigidBoxes[body->root];
    const float lower[3] = {box.lower.x, box.lower.y, box.lower.z};
    const float upper[3] = {box.upper.x, box.upper.y, box.upper.z};
    // the longest way to a corner from the origin, turned, and the way of the pose
    return 1.75f * BoxSize(lower, upper) + knLength(body->pose.position);
}

// No coordinate is larger.
static float FindSize(const knHierarchy* h)
{
    float size = h->swiper.size;
    for (uint32_t slot = knNextBody(h, 0); slot; slot = knNextBody(h, slot))
    {
        const knHierarchyBody* body = knGetHierarchyBody(h, slot);
        float here = 0.0f;
        if (body->root != KN_NONE && h->def.method == kn_hierarchyBalanced)
        {
            here = BoxSize(h->nodes[body->root].lower, h->nodes[body->root].upper);
        }
        else if (body->root != KN_NONE)
        {
            const knBvhNode* box = &h->lazy[body->root].box;
            here = body->isRigid ? RigidSize(h, body) : BoxSize(box->lower, box->upper);
        }
        size = here > size ? here : size;
    }
    return size;
}

static void Walk(knHierarchyWalk* w)
{
    switch (w->hierarchy->def.method)
    {
    case kn_hierarchyBalanced:
        knWalkBalanced(w);
        break;
    case kn_hierarchyLazy:
        knWalkLazy(w);
        break;
    default:
        knWalkSwiper(w);
        break;
    }
    knPairBatch_Flush(&w->batch);
}

// What does not fit is counted, and the run is done again with room for all.
static knResult RunWalk(knBvhQuery* q, knHierarchyWalk* w)
{
    size_t keyCount = FIRST_KEYS;
    float size = FindSize(w->hierarchy);
    knPairSink* sink = &q->sinks[0];
    for (bool fits = false; !fits;)
    {
        knResult result = knGrow(&q->allocator, (void**)&sink->keys, &sink->capacity, keyCount,
                                 sizeof *sink->keys);
        if (result != kn_success)
        {
            return result;
        }
        knResetSink(sink, size, 0, w->def.skipAdjacent);
        Walk(w);
        if (w->result != kn_success)
        {
            return w->result;
        }
        keyCount = sink->count;
        fits = keyCount <= sink->capacity;
    }
    return knFinishPairs(q, 1, keyCount);
}

static knResult Run(knBvhQuery* q, knHierarchy* h, const knBvhQueryDef* def,
                    const uint32_t bodies[2])
{
    knHierarchyWalk* w = &(knHierarchyWalk){
        .hierarchy = h, .sink = &q->sinks[0], .def = *def, .first = bodies[0], .second = bodies[1]};
    w->batch.hierarchy = h;
    w->batch.sink = w->sink;
    w->batch.limit = def->anyOnly ? 1 : KN_LANES;
    q->def = *def;
    q->pairCount = 0;
    memset(&q->funnel, 0, sizeof q->funnel);
    uint32_t mode = knBeginExact();
    knResult result = RunWalk(q, w);
    knEndExact(mode);
    h->work.primitiveTests += q->funnel.boxPairs;
    h->work.boxTests += q->funnel.nodeTests;
    return result;
}

static knResult CheckRun(const knBvhQuery* q, const knHierarchy* h, const knBvhQueryDef* def)
{
    if (!q || !h || !def || def->size != sizeof *def)
    {
        return knFail(
            kn_errorArgument,
            "a run needs a query, a hierarchy and a definition from knDefaultBvhQueryDef");
    }
    return h->isUpdated ? kn_success
                        : knFail(kn_errorArgument,
                                 "the hierarchy has changed: call knHierarchy_Update first");
}

knResult knBvhQuery_RunHierarchy(knBvhQuery* q, knHierarchy* h, const knBvhQueryDef* def)
{
    knResult result = CheckRun(q, h, def);
    return result == kn_success ? Run(q, h, def, (const uint32_t[2]){0, 0}) : result;
}

knResult knBvhQuery_RunHierarchyBodies(knBvhQuery* q, knHierarchy* h, knId first, knId second,
                                       const knBvhQueryDef* def)
{
    knResult result = CheckRun(q, h, def);
    if (result != kn_success)
    {
        return result;
    }
    if (!knPool_Get(&h->bodies, first) || !knPool_Get(&h->bodies, second) ||
        first.index == second.index)
    {
        return knFail(kn_errorHandle, "two different bodies of the hierarchy are needed");
    }
    return Run(q, h, def, (const uint32_t[2]){first.index, second.index});
}
