// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// The traversal: pairs of nodes, from the root with itself down to pairs of leaf blocks. It is cut
// into tasks in the same way whatever the number of workers; each worker writes to a sink of its
// own, and sorting makes one answer of them.

#define TASK_COUNT   256  // at least, where the tree is large enough
#define FIRST_KEYS   4096 // room for pairs of each worker to begin with
#define FILTER_ERROR 8.1f // roundings, each of 2^-24: see FindParted; AreBeside has half

knBvhQueryDef knDefaultBvhQueryDef(void)
{
    return (knBvhQueryDef){.size = sizeof(knBvhQueryDef)};
}

knResult knCreateBvhQuery(knBvhQuery** query, const knAllocator* allocator)
{
    if (!query)
    {
        return knFail(kn_errorArgument, "a query needs a place for its pointer");
    }
    knResult result = knCheckAllocator(allocator);
    if (result != kn_success)
    {
        return result;
    }
    knAllocator a = allocator ? *allocator : knDefaultAllocator();
    knBvhQuery* q = knAllocate(&a, 1, sizeof *q);
    if (!q)
    {
        return kn_errorMemory;
    }
    memset(q, 0, sizeof *q);
    q->allocator = a;
    *query = q;
    return kn_success;
}

void knDestroyBvhQuery(knBvhQuery* q)
{
    if (!q)
    {
        return;
    }
    knAllocator a = q->allocator;
    for (int i = 0; i < KN_MAX_WORKERS; ++i)
    {
        knRelease(&a, q->sinks[i].keys, q->sinks[i].capacity, sizeof(uint64_t));
    }
    knRelease(&a, q->stacks, q->stackCapacity, sizeof *q->stacks);
    knRelease(&a, q->tasks, q->taskCapacity, sizeof *q->tasks);
    knRelease(&a, q->keys, q->keyCapacity, sizeof *q->keys);
    knRelease(&a, q->pairs, q->pairCapacity, sizeof *q->pairs);
    knRelease(&a, q, 1, sizeof *q);
}

static knTrianglePair GatherPair(const knBvhBlock* a, int i, const knBvhBlock* b, int k)
{
    knTrianglePair p;
    for (int corner = 0; corner < 3; ++corner)
    {
        p.a[corner] = knMakeVec3(a->v[corner][0][i], a->v[corner][1][i], a->v[corner][2][i]);
        p.b[corner] = knMakeVec3(b->v[corner][0][k], b->v[corner][1][k], b->v[corner][2][k]);
        p.aVertices[corner] = a->vertex[corner][i];
        p.bVertices[corner] = b->vertex[corner][k];
    }
    return p;
}

void knMeetLanes(const knBvhBlock* a, int aLane, const knBvhBlock* b, int bLane, knPairSink* sink)
{
    sink->funnel.filterPairs += 1;
    knTrianglePair pair = GatherPair(a, aLane, b, bLane);
    uint32_t flags = knMeetTriangles(&pair, sink->sabotage, &sink->funnel.exactSigns);
    if (flags == 0)
    {
        return;
    }
    uint64_t low = a->triangle[aLane], high = b->triangle[bLane];
    if (low > high)
    {
        uint64_t t = low;
        low = high;
        high = t;
    }
    if (sink->count < sink->capacity)
    {
        sink->keys[sink->count] =
            low << (KN_ID_BITS + KN_FLAG_BITS) | high << KN_FLAG_BITS | (flags & ~KN_PAIR_MEETS);
    }
    sink->count += 1;
}

static bool IsWithinSkipped(const knBvhQuery* q, uint32_t node)
{
    return q->def.skipWithin && knIsBodyRoot(q->scene, node);
}

static bool IsCulled(const knBvhQuery* q, uint32_t node)
{
    return knIsCulled(q->scene, node) && !q->def.searchAll;
}

// Appends what the pair leads to, at most four.
static void Expand(const knBvhQuery* q, knNodePair p, knNodePair* out, uint32_t* count,
                   knPairSink* sink)
{
    const knBvhNode* nodes = q->scene->nodes;
    if (p.a == p.b)
    {
        uint32_t child = nodes[p.a].child;
        sink->funnel.nodeTests += 1;
        if (knNodesOverlap(&nodes[child], &nodes[child + 1]))
        {
            out[(*count)++] = (knNodePair){child, child + 1};
        }
        for (uint32_t i = child + 2; i-- > child;)
        {
            bool isCulled = IsCulled(q, i);
            sink->funnel.culledNodes += isCulled;
            if (!isCulled && !IsWithinSkipped(q, i))
            {
                out[(*count)++] = (knNodePair){i, i};
            }
        }
        return;
    }
    bool aLeaf = knIsLeaf(&nodes[p.a]), bLeaf = knIsLeaf(&nodes[p.b]);
    uint32_t a = aLeaf ? p.a : nodes[p.a].child, b = bLeaf ? p.b : nodes[p.b].child;
    for (uint32_t i = a; i <= (aLeaf ? a : a + 1); ++i)
    {
        for (uint32_t k = b; k <= (bLeaf ? b : b + 1); ++k)
        {
            sink->funnel.nodeTests += 1;
            if (knNodesOverlap(&nodes[i], &nodes[k]))
            {
                out[(*count)++] = (knNodePair){i, k};
            }
        }
    }
}

// True when the pair was one of leaves and is done.
static bool MeetLeaves(const knBvhQuery* q, knNodePair p, knPairSink* sink)
{
    const knBvhScene* s = q->scene;
    const knBvhNode *a = &s->nodes[p.a], *b = &s->nodes[p.b];
    if (!knIsLeaf(a) || !knIsLeaf(b))
    {
        return false;
    }
    sink->funnel.leafPairs += 1;
    if (p.a == p.b)
    {
        s->kernels->meetBlockItself(&s->blocks[a->child], (int)a->count, sink);
    }
    else
    {
        s->kernels->meetBlocks(&s->blocks[a->child], &s->blocks[b->child], a, b, sink);
    }
    return true;
}

static void RunTasks(int begin, int end, int worker, void* context)
{
    knBvhQuery* q = context;
    knNodePair* stack = q->stacks + (size_t)worker * q->stackSize;
    knPairSink* sink = &q->sinks[worker];
    uint32_t mode = knBeginExact();
    for (int task = begin; task < end; ++task)
    {
        uint32_t count = 1;
        stack[0] = q->tasks[task];
        while (count > 0 && !(q->def.anyOnly && sink->count > 0))
        {
            knNodePair p = stack[--count];
            if (!MeetLeaves(q, p, sink))
            {
                Expand(q, p, stack, &count, sink);
            }
        }
    }
    knEndExact(mode);
}

// Splits the first pairs further until there are enough tasks; leaf pairs stay as they are.
static void SplitTasks(knBvhQuery* q)
{
    knNodePair* next = q->tasks + q->taskCapacity / 2;
    bool hasSplit = true;
    while (hasSplit && q->taskCount > 0 && q->taskCount < TASK_COUNT)
    {
        uint32_t count = 0;
        hasSplit = false;
        for (uint32_t i = 0; i < q->taskCount; ++i)
        {
            knNodePair p = q->tasks[i];
            bool isLeaf = knIsLeaf(&q->scene->nodes[p.a]) && knIsLeaf(&q->scene->nodes[p.b]);
            if (isLeaf)
            {
                next[count++] = p;
            }
            else
            {
                Expand(q, p, next, &count, &q->sinks[0]);
                hasSplit = true;
            }
        }
        memcpy(q->tasks, next, count * sizeof *next);
        q->taskCount = count;
    }
}

void knResetSink(knPairSink* sink, float size, uint32_t sabotage, bool skipAdjacent)
{
    bool isSabotaged = (sabotage & kn_sabotageFloatBound) != 0;
    sink->count = 0;
    memset(&sink->funnel, 0, sizeof sink->funnel);
    sink->filterScale = isSabotaged ? 0.0f : FILTER_ERROR * 0x1p-24f;
    // a product that underflows is off by 2^-150 at most, times a distance of twice the size
    sink->filterFloor = isSabotaged ? 0.0f : 0x1p-120f * (1.0f + 2.0f * size);
    bool isBesideSabotaged = (sabotage & kn_sabotageBesideBound) != 0;
    sink->besideScale = isBesideSabotaged ? 0.0f : FILTER_ERROR * 0x1p-24f;
    sink->besideFloor = isBesideSabotaged ? 0.0f : 0x1p-120f;
    sink->sabotage = sabotage;
    sink->skipAdjacent = skipAdjacent;
}

static void ResetSinks(knBvhQuery* q, int workerCount)
{
    const knBvhScene* s = q->scene;
    const knBvhNode* root = &s->nodes[0];
    float size = 0.0f;
    for (int axis = 0; axis < 3; ++axis)
    {
        size = fmaxf(size, fmaxf(fabsf(root->lower[axis]), fabsf(root->upper[axis])));
    }
    for (int i = 0; i < workerCount; ++i)
    {
        knResetSink(&q->sinks[i], size, s->sabotage, q->def.skipAdjacent);
    }
}

static knResult ReserveSinks(knBvhQuery* q, int workerCount, size_t keyCount)
{
    knResult result = kn_success;
    for (int i = 0; i < workerCount && result == kn_success; ++i)
    {
        knPairSink* sink = &q->sinks[i];
        result = knGrow(&q->allocator, (void**)&sink->keys, &sink->capacity, keyCount,
                        sizeof *sink->keys);
    }
    return result;
}

static size_t CountKeys(const knBvhQuery* q, int workerCount, bool* fits)
{
    size_t count = 0;
    *fits = true;
    for (int i = 0; i < workerCount; ++i)
    {
        count += q->sinks[i].count;
        *fits = *fits && q->sinks[i].count <= q->sinks[i].capacity;
    }
    return count;
}

static void SetFirstTasks(knBvhQuery* q, knNodePair first)
{
    const knBvhScene* s = q->scene;
    q->taskCount = 0;
    if (first.a != first.b)
    {
        q->sinks[0].funnel.nodeTests += 1;
        if (knNodesOverlap(&s->nodes[first.a], &s->nodes[first.b]))
        {
            q->tasks[q->taskCount++] = first;
        }
    }
    else if (q->def.skipBetween)
    {
        for (knId id = knPool_Next(&s->bodies, (knId){0, 0}); !knId_IsNull(id);
             id = knPool_Next(&s->bodies, id))
        {
            uint32_t node = knGetBody(s, id.index)->node;
            if (node != KN_NONE && !q->def.skipWithin && !IsCulled(q, node))
            {
                q->tasks[q->taskCount++] = (knNodePair){node, node};
            }
        }
    }
    else if (!IsWithinSkipped(q, first.a) && !IsCulled(q, first.a))
    {
        q->tasks[q->taskCount++] = first;
    }
}

// What does not fit is counted, and the run is done again with room for all: memory is asked for
// on the calling thread only.
static knResult RunFrom(knBvhQuery* q, knNodePair first)
{
    knTaskHooks serial = knSerialTasks();
    // one answer of "any", whatever the number of workers
    const knTaskHooks* hooks = q->def.tasks && !q->def.anyOnly ? q->def.tasks : &serial;
    int workers = hooks->workerCount;
    // which worker finds what is a matter of luck: each has room for as many as there ever were
    size_t keyCount = q->mostKeys > FIRST_KEYS ? q->mostKeys : FIRST_KEYS;
    for (bool fits = false; !fits;)
    {
        knResult result = ReserveSinks(q, workers, keyCount);
        if (result != kn_success)
        {
            return result;
        }
        ResetSinks(q, workers);
        SetFirstTasks(q, first);
        SplitTasks(q);
        knParallelFor(hooks, (int)q->taskCount, 1, RunTasks, q);
        keyCount = CountKeys(q, workers, &fits);
        q->mostKeys = keyCount > q->mostKeys ? keyCount : q->mostKeys;
    }
    return knFinishPairs(q, workers, keyCount);
}

static knResult ReserveRun(knBvhQuery* q)
{
    int workers = q->def.tasks ? q->def.tasks->workerCount : 1;
    size_t bodies = q->scene->bodies.count;
    // a round makes at most four of each of fewer than TASK_COUNT
    size_t tasks = bodies > 4 * TASK_COUNT ? bodies : 4 * TASK_COUNT;
    q->stackSize = 8 * (size_t)q->scene->height + 16;
    knResult result = knGrow(&q->allocator, (void**)&q->stacks, &q->stackCapacity,
                             q->stackSize * (size_t)workers, sizeof *q->stacks);
    return result == kn_success ? knGrow(&q->allocator, (void**)&q->tasks, &q->taskCapacity,
                                         2 * tasks, sizeof *q->tasks)
                                : result;
}

static knResult CheckRun(const knBvhQuery* q, const knBvhScene* scene, const knBvhQueryDef* def)
{
    if (!q || !scene || !def || def->size != sizeof *def)
    {
        return knFail(kn_errorArgument,
                      "a run needs a query, a scene and a definition from knDefaultBvhQueryDef");
    }
    if (!scene->isCommitted)
    {
        return knFail(kn_errorArgument, "the scene has changed: call knBvhScene_Commit first");
    }
    knResult result = knCheckTaskHooks(def->tasks);
    if (result == kn_success && def->tasks && def->tasks->workerCount > KN_MAX_WORKERS)
    {
        result = knFail(kn_errorLimit, "%d workers; at most %d", def->tasks->workerCount,
                        KN_MAX_WORKERS);
    }
    return result;
}

static knResult Run(knBvhQuery* q, const knBvhScene* scene, const knBvhQueryDef* def,
                    knNodePair first)
{
    q->scene = scene;
    q->def = *def;
    knResult result = ReserveRun(q);
    uint32_t mode = knBeginExact();
    result = result == kn_success ? RunFrom(q, first) : result;
    knEndExact(mode);
    q->scene = NULL;
    return result;
}

static void Forget(knBvhQuery* q)
{
    q->pairCount = 0;
    memset(&q->funnel, 0, sizeof q->funnel);
}

knResult knBvhQuery_Run(knBvhQuery* q, const knBvhScene* scene, const knBvhQueryDef* def)
{
    knResult result = CheckRun(q, scene, def);
    if (result != kn_success)
    {
        return result;
    }
    Forget(q);
    return scene->hasRoot ? Run(q, scene, def, (knNodePair){0, 0}) : kn_success;
}

knResult knBvhQuery_RunBodies(knBvhQuery* q, const knBvhScene* scene, knId first, knId second,
                              const knBvhQueryDef* def)
{
    knResult result = CheckRun(q, scene, def);
    if (result != kn_success)
    {
        return result;
    }
    const knBvhBody* a = knPool_Get(&scene->bodies, first);
    const knBvhBody* b = knPool_Get(&scene->bodies, second);
    if (!a || !b || a == b)
    {
        return knFail(kn_errorHandle, "two different bodies of the scene are needed");
    }
    Forget(q);
    bool isEmpty = a->node == KN_NONE || b->node == KN_NONE;
    return isEmpty ? kn_success : Run(q, scene, def, (knNodePair){a->node, b->node});
}
