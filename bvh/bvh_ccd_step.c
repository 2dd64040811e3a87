// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// A whole step: what the connectivity gives is brought up to date, the hierarchy is fitted to both
// ends of the step and met with itself. The work is cut into the same tasks whatever the number of
// workers, each of them writes to a list of its own, and sorting makes one answer of these.

#define TASK_COUNT  256  // at least, where the tree is large enough
#define FIRST_FOUND 4096 // room for contacts of each worker to begin with
#define GROWTH      1.5  // of all boxes together, after which the tree is built anew
#define TOP_GROWTH  1.25 // of those above objects

static void MeetFaceLeaves(const knCcdStep* s, const knCcdLeaf* v, const knCcdLeaf* f,
                           knCcdSink* sink)
{
    // where pairs of triangles make the tests, only vertices of no triangle are left
    bool isFeatures = s->def.method == kn_ccdFeatures;
    for (uint32_t i = isFeatures ? 0 : v->vertexBlocks - v->loneBlocks; i < v->vertexBlocks; ++i)
    {
        for (uint32_t k = 0; k < f->faceBlocks; ++k)
        {
            s->kernels->meetFaces(&s->vertexBlocks[v->vertices + i], &s->faceBlocks[f->faces + k],
                                  sink);
        }
    }
}

static void MeetTriangleBlocks(const knCcdStep* s, const knCcdFaces* a, const knCcdFaces* b,
                               knCcdSink* sink)
{
    uint8_t lanes[KN_LANES];
    s->kernels->overlapFaces(a, b, sink->margin, lanes);
    for (int i = 0; i < KN_LANES; ++i)
    {
        uint32_t others = lanes[i] & (a == b ? 0xFFu << (i + 1) & 0xFFu : 0xFFu);
        for (; others; others &= others - 1)
        {
            uint32_t t = a->head.id[i], u = b->head.id[__builtin_ctz(others)];
            if (s->def.bound == kn_ccdBoxes ||
                knCcdDopsMeet(&s->triangleDops[t], &s->triangleDops[u]))
            {
                sink->funnel.trianglePairs += 1;
                knMeetTrianglePair(s, t, u, sink);
            }
        }
    }
}

static void MeetLeaves(const knCcdStep* s, const knCcdLeaf* a, const knCcdLeaf* b, knCcdSink* sink)
{
    bool isFeatures = s->def.method == kn_ccdFeatures;
    for (uint32_t i = 0; i < a->edgeBlocks && isFeatures; ++i)
    {
        for (uint32_t k = a == b ? i : 0; k < b->edgeBlocks; ++k)
        {
            s->kernels->meetEdges(&s->edgeBlocks[a->edges + i], &s->edgeBlocks[b->edges + k], sink);
        }
    }
    MeetFaceLeaves(s, a, b, sink);
    if (a != b)
    {
        MeetFaceLeaves(s, b, a, sink);
    }
    for (uint32_t i = 0; i < a->faceBlocks && !isFeatures; ++i)
    {
        for (uint32_t k = a == b ? i : 0; k < b->faceBlocks; ++k)
        {
            const knCcdFaces *f = &s->faceBlocks[a->faces + i], *g = &s->faceBlocks[b->faces + k];
            if (f == g || knCcdBoxesMeet(&f->head.box, &g->head.box))
            {
                MeetTriangleBlocks(s, f, g, sink);
            }
        }
    }
}

static bool DoNodesMeet(const knCcdStep* s, uint32_t a, uint32_t b)
{
    return knCcdBoxesMeet(&s->boxes[a], &s->boxes[b]) &&
           (s->def.bound == kn_ccdBoxes || knCcdDopsMeet(&s->dops[a], &s->dops[b]));
}

// Appends what the pair leads to, at most four.
static void Expand(knCcdStep* s, knCcdPair p, knCcdPair* out, uint32_t* count, knCcdSink* sink)
{
    if (p.a == p.b)
    {
        uint32_t child = s->links[p.a].child;
        knMeetOrphans(s, p.a, sink);
        sink->funnel.nodeTests += 1;
        if (DoNodesMeet(s, child, child + 1))
        {
            out[(*count)++] = (knCcdPair){child, child + 1};
        }
        for (uint32_t i = child + 2; i-- > child;)
        {
            if (!s->isCulling || !s->culled[i])
            {
                out[(*count)++] = (knCcdPair){i, i};
            }
        }
        return;
    }
    bool aLeaf = s->links[p.a].count != 0, bLeaf = s->links[p.b].count != 0;
    uint32_t a = aLeaf ? p.a : s->links[p.a].child, b = bLeaf ? p.b : s->links[p.b].child;
    for (uint32_t i = a; i <= (aLeaf ? a : a + 1); ++i)
    {
        for (uint32_t k = b; k <= (bLeaf ? b : b + 1); ++k)
        {
            sink->funnel.nodeTests += 1;
            if (DoNodesMeet(s, i, k))
            {
                out[(*count)++] = (knCcdPair){i, k};
            }
        }
    }
}

static void RunPair(knCcdStep* s, knCcdPair p, knCcdPair* stack, uint32_t* count, knCcdSink* sink)
{
    const knCcdLink *a = &s->links[p.a], *b = &s->links[p.b];
    if (a->count != 0 && b->count != 0)
    {
        MeetLeaves(s, &s->leaves[a->child], &s->leaves[b->child], sink);
        if (p.a == p.b)
        {
            knMeetOrphans(s, p.a, sink);
        }
    }
    else
    {
        Expand(s, p, stack, count, sink);
    }
}

static void RunTasks(int begin, int end, int worker, void* context)
{
    knCcdStep* s = context;
    knCcdPair* stack = s->stacks + (size_t)worker * s->stackSize;
    knCcdSink* sink = &s->sinks[worker];
    uint32_t mode = knBeginExact();
    for (int task = begin; task < end; ++task)
    {
        uint32_t count = 1;
        stack[0] = s->tasks[task];
        while (count > 0)
        {
            knCcdPair p = stack[--count];
            RunPair(s, p, stack, &count, sink);
        }
    }
    knEndExact(mode);
}

// Splits the first pairs further until there are enough tasks; leaf pairs stay as they are.
static void SplitTasks(knCcdStep* s)
{
    knCcdPair* next = s->tasks + s->taskCapacity / 2;
    s->tasks[0] = (knCcdPair){0, 0};
    s->taskCount = s->leafCount > 0 && !(s->isCulling && s->culled[0]);
    bool hasSplit = true;
    while (hasSplit && s->taskCount > 0 && s->taskCount < TASK_COUNT)
    {
        uint32_t count = 0;
        hasSplit = false;
        for (uint32_t i = 0; i < s->taskCount; ++i)
        {
            knCcdPair p = s->tasks[i];
            if (s->links[p.a].count != 0 && s->links[p.b].count != 0)
            {
                next[count++] = p;
            }
            else
            {
                Expand(s, p, next, &count, &s->sinks[0]);
                hasSplit = true;
            }
        }
        memcpy(s->tasks, next, count * sizeof *next);
        s->taskCount = count;
    }
}

static void ResetSinks(knCcdStep* s, int workers)
{
    for (int i = 0; i < workers; ++i)
    {
        knCcdSink* sink = &s->sinks[i];
        sink->count = 0;
        memset(&sink->funnel, 0, sizeof sink->funnel);
        sink->until = 1.0;
        sink->separation = s->def.separation;
        sink->margin = s->margin;
        sink->exactStart = s->def.exactStart;
        sink->exactEnd = s->def.exactEnd;
        sink->solver = s->def.solver;
        sink->sabotage = s->sabotage;
        sink->firstOnly = s->def.firstOnly;
    }
}

static knResult ReserveRun(knCcdStep* s, int workers)
{
    s->stackSize = 8 * (size_t)s->height + 16;
    knResult result = knGrow(&s->allocator, (void**)&s->stacks, &s->stackCapacity,
                             s->stackSize * (size_t)workers, sizeof *s->stacks);
    return result == kn_success ? knGrow(&s->allocator, (void**)&s->tasks, &s->taskCapacity,
                                         8 * TASK_COUNT, sizeof *s->tasks)
                                : result;
}

static knResult ReserveSinks(knCcdStep* s, int workers, size_t count)
{
    knResult result = kn_success;
    for (int i = 0; i < workers && result == kn_success; ++i)
    {
        knCcdSink* sink = &s->sinks[i];
        result = knGrow(&s->allocator, (void**)&sink->found, &sink->capacity, count,
                        sizeof *sink->found);
    }
    return result;
}

static void AddFunnel(knCcdFunnel* sum, const knCcdFunnel* f)
{
    sum->nodeTests += f->nodeTests;
    sum->culledNodes += f->culledNodes;
    sum->contourTests += f->contourTests;
    sum->trianglePairs += f->trianglePairs;
    sum->edgeTests += f->edgeTests;
    sum->faceTests += f->faceTests;
    sum->exactTests += f->exactTests;
    sum->orphanTests += f->orphanTests;
    sum->steps += f->steps;
    sum->cappedTests += f->cappedTests;
}

static void SetContacts(knCcdStep* s, const knCcdFound* found, size_t count)
{
    const uint64_t mask = ((uint64_t)1 << KN_CCD_FEATURE_BITS) - 1;
    s->contactCount = 0;
    for (size_t i = 0; i < count; ++i)
    {
        if (i > 0 && found[i].key == found[i - 1].key)
        {
            continue; // the paper's base makes tests twice
        }
        bool isFace = found[i].key >> (2 * KN_CCD_FEATURE_BITS) != 0;
        s->contacts[s->contactCount++] =
            (knCcdContact){isFace ? kn_ccdVertexFace : kn_ccdEdgeEdge,
                           (uint32_t)(found[i].key >> KN_CCD_FEATURE_BITS & mask),
                           (uint32_t)(found[i].key & mask), found[i].time};
    }
}

static knResult Finish(knCcdStep* s, int workers, size_t count)
{
    knResult result = knGrow(&s->allocator, (void**)&s->found, &s->foundCapacity, 2 * count + 2,
                             sizeof *s->found);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->contacts, &s->contactCapacity,
                                           count + 1, sizeof *s->contacts)
                                  : result;
    if (result != kn_success)
    {
        return result;
    }
    count = 0;
    for (int i = 0; i < workers; ++i)
    {
        knCcdSink* sink = &s->sinks[i];
        if (sink->count > 0)
        {
            memcpy(s->found + count, sink->found, sink->count * sizeof *s->found);
        }
        count += sink->count;
        AddFunnel(&s->funnel, &sink->funnel);
    }
    SetContacts(s, knSortFound(s->found, s->found + s->foundCapacity / 2, count), count);
    return kn_success;
}

// What does not fit is counted, and the run is done again with room for all: memory is asked for
// on the calling thread only.
static knResult Traverse(knCcdStep* s)
{
    knTaskHooks serial = knSerialTasks();
    const knTaskHooks* hooks = s->def.tasks ? s->def.tasks : &serial;
    int workers = hooks->workerCount;
    knResult result = ReserveRun(s, workers);
    size_t most = FIRST_FOUND + 2 * (size_t)s->triangleCount, count = 0;
    for (bool fits = false; !fits && result == kn_success;)
    {
        result = ReserveSinks(s, workers, most);
        if (result != kn_success)
        {
            break;
        }
        ResetSinks(s, workers);
        SplitTasks(s);
        knParallelFor(hooks, (int)s->taskCount, 1, RunTasks, s);
        fits = true;
        count = 0;
        for (int i = 0; i < workers; ++i)
        {
            count += s->sinks[i].count;
            fits = fits && s->sinks[i].count <= s->sinks[i].capacity;
        }
        most = count;
    }
    return result == kn_success ? Finish(s, workers, count) : result;
}

static void Fit(knCcdStep* s)
{
    knRefitCcdTree(s);
    if (s->def.bound == kn_ccdDops)
    {
        knRefitCcdDops(s);
    }
}

// Builds what is to be built, and fits it. Below objects a tree by connectivity is only fitted.
static knResult BuildAndFit(knCcdStep* s, bool isBuilt, bool changed)
{
    knResult result = isBuilt ? knBuildCcdTree(s) : kn_success;
    if (result == kn_success && (isBuilt || changed))
    {
        bool isWhole = true;
        s->hasTree = s->hasOrphanLists = false;
        result = knFillCcdLeaves(s, &isWhole);
        if (result == kn_success && !isWhole && !isBuilt)
        {
            return BuildAndFit(s, true, changed);
        }
        s->hasTree = result == kn_success;
    }
    result = result == kn_success && s->def.bound == kn_ccdDops ? knReserveCcdDops(s) : result;
    if (result != kn_success)
    {
        return result;
    }
    Fit(s);
    double size = knCcdTreeSize(s), topSize = knCcdTopSize(s);
    if (!isBuilt && topSize > TOP_GROWTH * s->topSize)
    {
        knRestructureCcdTop(s);
        Fit(s);
        topSize = s->topSize = knCcdTopSize(s);
    }
    s->topSize = isBuilt ? topSize : s->topSize;
    s->builtSize = isBuilt ? size : s->builtSize;
    // a step in which triangles change has enough to do: a poor tree may wait for the next
    double most = (s->growth > 0.0 ? s->growth : GROWTH) * s->builtSize;
    bool isPoor = s->def.build == kn_ccdByMedians && size > most;
    bool isWaiting = isPoor && changed && !s->hasWaited;
    s->hasWaited = isWaiting;
    return isPoor && !isWaiting ? BuildAndFit(s, true, changed) : kn_success;
}

// The tree stays while the number of triangles does and its boxes have not grown too much; vertices
// may be added.
static knResult Update(knCcdStep* s)
{
    bool changed = false;
    uint32_t triangleCount = s->triangleCount, vertexCount = s->vertexCount;
    knResult result = knTakeCcdMesh(s, &changed);
    if (result != kn_success)
    {
        s->hasTree = false; // it may be one of other triangles by now
        return result;
    }
    bool isOther = changed && (triangleCount != s->triangleCount || vertexCount > s->vertexCount ||
                               s->def.build == kn_ccdByConnectivity);
    bool isBuilt = !s->hasTree || isOther || s->def.rebuild || s->builtBy != s->def.build;
    result = BuildAndFit(s, isBuilt, changed);
    // a triangle that is not finite represents nothing, though features of it may be finite
    if (result == kn_success && s->def.method != kn_ccdFeatures && knIsCcdBroken(s))
    {
        s->def.method = kn_ccdFeatures;
    }
    if (result == kn_success && s->def.method == kn_ccdTriangles && !s->hasOrphanLists)
    {
        result = knListOrphans(s);
        s->hasOrphanLists = result == kn_success;
    }
    return result;
}

static knResult CheckArrays(const knCcdStepDef* def)
{
    if (!def || def->size != sizeof *def || (def->vertexCount > 0 && (!def->start || !def->end)) ||
        (def->triangleCount > 0 && !def->triangles) || !def->exactStart != !def->exactEnd)
    {
        return knFail(kn_errorArgument, "a step needs positions at both ends and triangles, in a "
                                        "definition from knDefaultCcdStepDef");
    }
    if (def->triangleCount > KN_MAX_MESH_SIZE || def->vertexCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "at most %u vertices and triangles", KN_MAX_MESH_SIZE);
    }
    for (size_t i = 0; i < 3 * (size_t)def->triangleCount; ++i)
    {
        if (def->triangles[i / 3].v[i % 3] >= def->vertexCount)
        {
            return knFail(kn_errorMesh, "triangle %zu has a vertex that does not exist", i / 3);
        }
    }
    return kn_success;
}

static knResult CheckDef(const knCcdStepDef* def)
{
    knResult result = CheckArrays(def);
    if (result != kn_success)
    {
        return result;
    }
    if (!isfinite(def->separation) || def->separation < 0.0 || def->separation > 1e38)
    {
        return knFail(kn_errorArgument, "the separation must be finite and not negative");
    }
    if ((unsigned)def->solver >= kn_ccdSolverCount || (unsigned)def->method >= kn_ccdMethodCount ||
        (unsigned)def->culling >= kn_ccdCullingCount || (unsigned)def->build >= kn_ccdBuildCount ||
        (unsigned)def->bound >= kn_ccdBoundCount ||
        (unsigned)def->instructions >= kn_instructionsCount)
    {
        return knFail(kn_errorArgument,
                      "solver %d, method %d, culling %d, build %d, bound %d or instructions %d is "
                      "none that there is",
                      (int)def->solver, (int)def->method, (int)def->culling, (int)def->build,
                      (int)def->bound, (int)def->instructions);
    }
    result = knCheckTaskHooks(def->tasks);
    if (result == kn_success && def->tasks && def->tasks->workerCount > KN_MAX_WORKERS)
    {
        result = knFail(kn_errorLimit, "%d workers; at most %d", def->tasks->workerCount,
                        KN_MAX_WORKERS);
    }
    return result;
}

// How far a coordinate is from what it is rounded from; infinite where only one of them is finite.
static double RoundedBy(double exact, float rounded)
{
    if (!isfinite(exact) || !isfinite(rounded))
    {
        return isfinite(exact) || isfinite(rounded) ? (double)INFINITY : 0.0;
    }
    return fabs(exact - (double)rounded);
}

// Boxes and filters see floats. A corner of a difference is off by twice what one of these is.
static knResult SetMargin(knCcdStep* s)
{
    double most = 0.0;
    for (uint32_t i = 0; i < s->def.vertexCount && s->def.exactStart; ++i)
    {
        const knDVec3 *a = &s->def.exactStart[i], *b = &s->def.exactEnd[i];
        const knVec3 *p = &s->def.start[i], *q = &s->def.end[i];
        const double off[6] = {RoundedBy(a->x, p->x), RoundedBy(a->y, p->y), RoundedBy(a->z, p->z),
                               RoundedBy(b->x, q->x), RoundedBy(b->y, q->y), RoundedBy(b->z, q->z)};
        for (int k = 0; k < 6; ++k)
        {
            most = off[k] > most ? off[k] : most;
        }
    }
    double margin = (s->def.separation + 2.0 * most) * (1.0 + 0x1p-20);
    if (margin > 1e38)
    {
        return knFail(
            kn_errorArgument,
            "exact positions must be those that are given rounded, and within the range of floats");
    }
    s->margin = margin > 0.0 ? nextafterf((float)margin, INFINITY) : 0.0f;
    return kn_success;
}

// Null when this machine has not what was asked for.
static const knCcdKernels* ChooseKernels(knInstructionSet set)
{
    const knCcdKernels* best = &knScalarCcdKernels;
#if defined(__SSE2__)
    bool hasAvx2 = __builtin_cpu_supports("avx2");
    best = hasAvx2 ? &knAvx2CcdKernels : &knSseCcdKernels;
    if (set == kn_instructionsSse)
    {
        return &knSseCcdKernels;
    }
    if (set == kn_instructionsAvx2)
    {
        return hasAvx2 ? &knAvx2CcdKernels : NULL;
    }
#else
    if (set == kn_instructionsSse || set == kn_instructionsAvx2)
    {
        return NULL;
    }
#endif
    return set == kn_instructionsScalar ? &knScalarCcdKernels : best;
}

knCcdStepDef knDefaultCcdStepDef(void)
{
    return (knCcdStepDef){.size = sizeof(knCcdStepDef)};
}

knResult knCcdStep_Run(knCcdStep* s, const knCcdStepDef* def)
{
    knResult result = s ? CheckDef(def) : knFail(kn_errorArgument, "there is no step to run");
    if (result != kn_success)
    {
        return result;
    }
    s->contactCount = 0;
    memset(&s->funnel, 0, sizeof s->funnel);
    s->kernels = ChooseKernels(def->instructions);
    if (!s->kernels)
    {
        return knFail(kn_errorArgument, "this processor lacks the instructions asked for; use "
                                        "kn_instructionsBest");
    }
    s->def = *def;
    s->runCount += 1;
    uint32_t mode = knBeginExact();
    result = SetMargin(s);
    result = result == kn_success ? Update(s) : result;
    result = result == kn_success ? knCullCcd(s) : result;
    result = result == kn_success ? Traverse(s) : result;
    knEndExact(mode);
    s->contactCount = result == kn_success ? s->contactCount : 0;
    return result;
}

knResult knCreateCcdStep(knCcdStep** step, const knAllocator* allocator)
{
    knResult result = step ? knCheckAllocator(allocator)
                           : knFail(kn_errorArgument, "a step needs a place for its pointer");
    if (result != kn_success)
    {
        return result;
    }
    knAllocator a = allocator ? *allocator : knDefaultAllocator();
    knCcdStep* s = knAllocate(&a, 1, sizeof *s);
    if (!s)
    {
        return kn_errorMemory;
    }
    memset(s, 0, sizeof *s);
    s->allocator = a;
    *step = s;
    return kn_success;
}

#define RELEASE(array, capacity) knRelease(&a, s->array, s->capacity, sizeof *s->array)

static void ReleaseTree(knCcdStep* s, knAllocator a)
{
    RELEASE(items, itemCapacity);
    RELEASE(boxes, boxCapacity);
    RELEASE(links, linkCapacity);
    RELEASE(leaves, leafCapacity);
    RELEASE(leafNodes, leafNodeCapacity);
    RELEASE(objects, objectCapacity);
    RELEASE(objectItems, objectItemCapacity);
    RELEASE(dops, dopCapacity);
    RELEASE(triangleDops, triangleDopCapacity);
    RELEASE(owners, ownerCapacity);
    RELEASE(triangleLeaves, triangleLeafCapacity);
    RELEASE(vertexBlocks, vertexBlockCapacity);
    RELEASE(edgeBlocks, edgeBlockCapacity);
    RELEASE(faceBlocks, faceBlockCapacity);
    RELEASE(leafChanges, leafChangeCapacity);
    RELEASE(contours, contourCapacity);
    RELEASE(halfEdges, halfEdgeCapacity);
    knRelease(&a, s->cancelling, s->cancelling ? 1 : 0, sizeof *s->cancelling);
    RELEASE(normals, normalCapacity);
    RELEASE(culled, culledCapacity);
    RELEASE(cones, coneCapacity);
    RELEASE(flat, flatCapacity);
    RELEASE(failures, failureCapacity);
    RELEASE(edgeUses, edgeUseCapacity);
    RELEASE(orphanLists, orphanListCapacity);
}

void knDestroyCcdStep(knCcdStep* s)
{
    if (!s)
    {
        return;
    }
    knAllocator a = s->allocator;
    ReleaseTree(s, a);
    for (int i = 0; i < KN_MAX_WORKERS; ++i)
    {
        RELEASE(sinks[i].found, sinks[i].capacity);
        RELEASE(sinks[i].log, sinks[i].logCapacity);
    }
    RELEASE(triangles, triangleCapacity);
    RELEASE(edges, edgeCapacity);
    RELEASE(triangleEdges, triangleEdgeCapacity);
    RELEASE(scratch, scratchCapacity);
    RELEASE(fanStarts, fanStartCapacity);
    RELEASE(fans, fanCapacity);
    RELEASE(edgeFanStarts, edgeFanStartCapacity);
    RELEASE(edgeFans, edgeFanCapacity);
    RELEASE(orphans, orphanCapacity);
    RELEASE(marks, markCapacity);
    RELEASE(stacks, stackCapacity);
    RELEASE(tasks, taskCapacity);
    RELEASE(found, foundCapacity);
    RELEASE(contacts, contactCapacity);
    knRelease(&a, s, 1, sizeof *s);
}

const knCcdContact* knCcdStep_Contacts(const knCcdStep* step, size_t* count)
{
    *count = step->contactCount;
    return step->contacts;
}

const knEdge* knCcdStep_Edges(const knCcdStep* step, size_t* count)
{
    *count = step->edgeCount;
    return step->edges;
}

knCcdFunnel knCcdStep_Funnel(const knCcdStep* step)
{
    return step->funnel;
}
