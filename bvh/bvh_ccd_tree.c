// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// The hierarchy of a step: a binary tree over the triangles, whose leaves hold features in blocks
// of eight. A vertex or an edge stands in the first leaf that has a triangle of it. The tree is
// kept from run to run and fitted to the positions.

knResult knReserveCcdNodes(knCcdStep* s, size_t leafCount)
{
    size_t nodes = 2 * leafCount + 2;
    knResult result =
        knGrow(&s->allocator, (void**)&s->boxes, &s->boxCapacity, nodes, sizeof *s->boxes);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->links, &s->linkCapacity,
                                           nodes, sizeof *s->links)
                                  : result;
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->leaves, &s->leafCapacity,
                                           leafCount + 1, sizeof *s->leaves)
                                  : result;
    result = result == kn_success
                 ? knGrow(&s->allocator, (void**)&s->leafNodes, &s->leafNodeCapacity, leafCount + 1,
                          sizeof *s->leafNodes)
                 : result;
    return result == kn_success
               ? knGrow(&s->allocator, (void**)&s->leafChanges, &s->leafChangeCapacity,
                        leafCount + 1, sizeof *s->leafChanges)
               : result;
}

static void SetItem(knCcdStep* s, uint32_t i, uint32_t id, const uint32_t* v, int count)
{
    float lower[3] = {INFINITY, INFINITY, INFINITY};
    float upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int c = 0; c < 2 * count; ++c)
    {
        knVec3 p = c % 2 ? s->def.end[v[c / 2]] : s->def.start[v[c / 2]];
        const float x[3] = {p.x, p.y, p.z};
        for (int k = 0; k < 3; ++k)
        {
            lower[k] = x[k] < lower[k] ? x[k] : lower[k];
            upper[k] = x[k] > upper[k] ? x[k] : upper[k];
        }
    }
    s->items[i].triangle = id;
    for (int k = 0; k < 3; ++k)
    {
        float center = 0.5f * lower[k] + 0.5f * upper[k];
        s->items[i].center[k] = isfinite(center) ? center : 0.0f;
    }
}

// In the scratch: 1 for vertices that stand in a triangle.
static knResult FindUsedVertices(knCcdStep* s)
{
    knResult result = knGrow(&s->allocator, (void**)&s->scratch, &s->scratchCapacity,
                             s->vertexCount + (size_t)1, sizeof *s->scratch);
    if (result != kn_success)
    {
        return result;
    }
    memset(s->scratch, 0, (s->vertexCount + (size_t)1) * sizeof *s->scratch);
    for (uint32_t t = 0; t < s->triangleCount; ++t)
    {
        const uint32_t* v = s->triangles[t].v;
        s->scratch[v[0]] = s->scratch[v[1]] = s->scratch[v[2]] = 1;
    }
    return kn_success;
}

// Triangles, then the vertices that stand in none.
static knResult SetItems(knCcdStep* s)
{
    size_t most = (size_t)s->triangleCount + s->vertexCount;
    knResult result =
        knGrow(&s->allocator, (void**)&s->items, &s->itemCapacity, most + 1, sizeof *s->items);
    result = result == kn_success ? FindUsedVertices(s) : result;
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t t = 0; t < s->triangleCount; ++t)
    {
        SetItem(s, t, t, s->triangles[t].v, 3);
    }
    s->itemCount = s->triangleCount;
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        if (!s->scratch[v])
        {
            SetItem(s, s->itemCount++, s->triangleCount + v, &v, 1);
        }
    }
    return kn_success;
}

void knMakeCcdLeaf(knCcdStep* s, uint32_t node, uint32_t begin, uint32_t end)
{
    s->links[node].child = s->leafCount;
    s->links[node].count = end - begin;
    s->leafNodes[s->leafCount] = node;
    s->leafChanges[s->leafCount] = 0;
    s->leaves[s->leafCount++] = (knCcdLeaf){.item = begin, .itemCount = end - begin};
}

// Medians at multiples of the leaf size, so that leaves are full. The depth is that of halves.
static void BuildBelow(knCcdStep* s, uint32_t node, uint32_t begin, uint32_t end)
{
    uint32_t count = end - begin;
    if (count <= KN_CCD_LEAF)
    {
        // blocks are tighter when what is near stands together
        for (uint32_t half = 8; half < count; half += 8)
        {
            knSelectItems(s->items, begin, end, begin + half, knLongestAxis(s->items, begin, end));
        }
        knMakeCcdLeaf(s, node, begin, end);
        return;
    }
    uint32_t half = (count / 2 + KN_CCD_LEAF - 1) / KN_CCD_LEAF * KN_CCD_LEAF;
    uint32_t child = s->nodeCount;
    knSelectItems(s->items, begin, end, begin + half, knLongestAxis(s->items, begin, end));
    s->nodeCount += 2;
    s->links[node] = (knCcdLink){child, 0, s->links[node].parent};
    s->links[child].parent = s->links[child + 1].parent = node;
    BuildBelow(s, child, begin, begin + half);
    BuildBelow(s, child + 1, begin + half, end);
}

uint32_t knFindCcdHeight(const knCcdStep* s)
{
    uint32_t height = 1;
    for (uint32_t leaf = 0; leaf < s->leafCount; ++leaf)
    {
        uint32_t depth = 0;
        for (uint32_t node = s->leafNodes[leaf]; node != KN_NONE; node = s->links[node].parent)
        {
            depth += 1;
        }
        height = depth > height ? depth : height;
    }
    return height;
}

void knStartCcdTree(knCcdStep* s)
{
    s->leafCount = 0;
    s->nodeCount = 2; // slot 1 is not used, so that children stand at even places
    s->links[0] = s->links[1] = (knCcdLink){0, 0, KN_NONE};
    memset(&s->boxes[1], 0, sizeof s->boxes[1]);
}

static knResult BuildByMedians(knCcdStep* s)
{
    knResult result = knReserveCcdNodes(s, s->itemCount / KN_CCD_LEAF + 2);
    if (result != kn_success)
    {
        return result;
    }
    knStartCcdTree(s);
    s->objectCount = s->topCount = 0;
    if (s->itemCount > 0)
    {
        BuildBelow(s, 0, 0, s->itemCount);
    }
    return kn_success;
}

knResult knBuildCcdTree(knCcdStep* s)
{
    s->hasTree = s->hasContours = false;
    knResult result = SetItems(s);
    if (result != kn_success)
    {
        return result;
    }
    bool isConnected = s->def.build == kn_ccdByConnectivity && s->itemCount > 0;
    result = isConnected ? knBuildConnectedCcdTree(s) : BuildByMedians(s);
    if (result != kn_success)
    {
        return result;
    }
    s->height = knFindCcdHeight(s);
    s->builtSize = 0.0;
    s->builtBy = s->def.build;
    s->hasTree = true;
    return kn_success;
}

// Counts what a leaf holds and gives it blocks.
typedef struct Filling
{
    uint32_t vertexCount, edgeCount, faceCount; // of the leaf
    uint32_t* vertexOwners;
    uint32_t* edgeOwners;
} Filling;

static void ClearBlock(knCcdHead* head)
{
    head->lanes = head->count = 0;
    for (int i = 0; i < KN_LANES; ++i)
    {
        head->id[i] = KN_NONE;
    }
}

static void PutVertex(knCcdStep* s, knCcdLeaf* leaf, Filling* f, uint32_t v, uint32_t index)
{
    if (f->vertexOwners[v] != KN_NONE)
    {
        return;
    }
    f->vertexOwners[v] = index;
    uint32_t lane = f->vertexCount++ % KN_LANES;
    if (lane == 0)
    {
        ClearBlock(&s->vertexBlocks[s->vertexBlockCount++].head);
        leaf->vertexBlocks += 1;
    }
    knCcdHead* head = &s->vertexBlocks[s->vertexBlockCount - 1].head;
    head->id[lane] = v;
    head->count = lane + 1;
}

static void PutEdge(knCcdStep* s, knCcdLeaf* leaf, Filling* f, uint32_t e, uint32_t index)
{
    if (e == KN_NONE || f->edgeOwners[e] != KN_NONE)
    {
        return;
    }
    f->edgeOwners[e] = index;
    uint32_t lane = f->edgeCount++ % KN_LANES;
    if (lane == 0)
    {
        ClearBlock(&s->edgeBlocks[s->edgeBlockCount++].head);
        leaf->edgeBlocks += 1;
    }
    knCcdEdges* block = &s->edgeBlocks[s->edgeBlockCount - 1];
    block->head.id[lane] = e;
    block->head.count = lane + 1;
    block->vertex[0][lane] = s->edges[e].v[0];
    block->vertex[1][lane] = s->edges[e].v[1];
}

static void PutFace(knCcdStep* s, knCcdLeaf* leaf, Filling* f, uint32_t t)
{
    uint32_t lane = f->faceCount++ % KN_LANES;
    if (lane == 0)
    {
        ClearBlock(&s->faceBlocks[s->faceBlockCount++].head);
        leaf->faceBlocks += 1;
    }
    knCcdFaces* block = &s->faceBlocks[s->faceBlockCount - 1];
    block->head.id[lane] = t;
    block->head.count = lane + 1;
    for (int c = 0; c < 3; ++c)
    {
        block->vertex[c][lane] = s->triangles[t].v[c];
    }
}

// Vertices of no triangle have blocks of their own: pairs of triangles do not find them.
static void PutLoneVertices(knCcdStep* s, knCcdLeaf* leaf, Filling* f, uint32_t index)
{
    uint32_t before = leaf->vertexBlocks;
    f->vertexCount = 0;
    for (uint32_t i = leaf->item; i < leaf->item + leaf->itemCount; ++i)
    {
        uint32_t t = s->items[i].triangle;
        // since the tree was built it may have got a triangle
        if (t >= s->triangleCount && !s->scratch[t - s->triangleCount])
        {
            PutVertex(s, leaf, f, t - s->triangleCount, index);
        }
    }
    leaf->loneBlocks = leaf->vertexBlocks - before;
}

static void FillLeaf(knCcdStep* s, uint32_t index, Filling* f)
{
    knCcdLeaf* leaf = &s->leaves[index];
    leaf->vertices = s->vertexBlockCount;
    leaf->edges = s->edgeBlockCount;
    leaf->faces = s->faceBlockCount;
    leaf->vertexBlocks = leaf->edgeBlocks = leaf->faceBlocks = 0;
    f->vertexCount = f->edgeCount = f->faceCount = 0;
    for (uint32_t i = leaf->item; i < leaf->item + leaf->itemCount; ++i)
    {
        uint32_t t = s->items[i].triangle;
        if (t >= s->triangleCount)
        {
            continue;
        }
        s->triangleLeaves[t] = index;
        PutFace(s, leaf, f, t);
        for (int c = 0; c < 3; ++c)
        {
            PutVertex(s, leaf, f, s->triangles[t].v[c], index);
            PutEdge(s, leaf, f, s->triangleEdges[3 * (size_t)t + (size_t)c], index);
        }
    }
    PutLoneVertices(s, leaf, f, index);
}

static knResult ReserveBlocks(knCcdStep* s)
{
    // a leaf leaves at most one block of each kind half empty, and one of lone vertices
    size_t vertices = s->vertexCount / KN_LANES + 2 * (size_t)s->leafCount + 1;
    size_t edges = s->edgeCount / KN_LANES + (size_t)s->leafCount + 1;
    size_t owners = (size_t)s->vertexCount + s->edgeCount + 1;
    vertices = knCcdWithSlack(vertices, s->vertexBlockCapacity);
    edges = knCcdWithSlack(edges, s->edgeBlockCapacity);
    size_t faces = s->triangleCount / KN_LANES + (size_t)s->leafCount + 1;
    knResult result = knGrow(&s->allocator, (void**)&s->vertexBlocks, &s->vertexBlockCapacity,
                             vertices, sizeof *s->vertexBlocks);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->edgeBlocks,
                                           &s->edgeBlockCapacity, edges, sizeof *s->edgeBlocks)
                                  : result;
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->faceBlocks,
                                           &s->faceBlockCapacity, faces, sizeof *s->faceBlocks)
                                  : result;
    result = result == kn_success
                 ? knGrow(&s->allocator, (void**)&s->triangleLeaves, &s->triangleLeafCapacity,
                          s->triangleCount + (size_t)1, sizeof *s->triangleLeaves)
                 : result;
    return result == kn_success
               ? knGrow(&s->allocator, (void**)&s->owners, &s->ownerCapacity,
                        knCcdWithSlack(owners, s->ownerCapacity), sizeof *s->owners)
               : result;
}

knResult knFillCcdLeaves(knCcdStep* s, bool* isWhole)
{
    knResult result = ReserveBlocks(s);
    result = result == kn_success ? FindUsedVertices(s) : result;
    if (result != kn_success)
    {
        return result;
    }
    s->vertexBlockCount = s->edgeBlockCount = s->faceBlockCount = 0;
    Filling f = {.vertexOwners = s->owners, .edgeOwners = s->owners + s->vertexCount};
    memset(s->owners, 0xFF, ((size_t)s->vertexCount + s->edgeCount) * sizeof *s->owners);
    for (uint32_t i = 0; i < s->leafCount; ++i)
    {
        FillLeaf(s, i, &f);
    }
    *isWhole = true;
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        *isWhole = *isWhole && s->owners[v] != KN_NONE;
    }
    return kn_success;
}

static void GatherVertices(const knCcdStep* s, knCcdMoving* v, const uint32_t* ids, uint32_t count)
{
    for (uint32_t lane = 0; lane < count; ++lane)
    {
        knVec3 p = s->def.start[ids[lane]], q = s->def.end[ids[lane]];
        v->start[0][lane] = p.x;
        v->start[1][lane] = p.y;
        v->start[2][lane] = p.z;
        v->end[0][lane] = q.x;
        v->end[1][lane] = q.y;
        v->end[2][lane] = q.z;
    }
    for (uint32_t lane = count; lane < KN_LANES; ++lane)
    {
        for (int k = 0; k < 3; ++k)
        {
            v->start[k][lane] = v->end[k][lane] = NAN;
        }
    }
}

static void JoinBoxes(knCcdBox* box, const knCcdBox* other)
{
    for (int k = 0; k < 3; ++k)
    {
        box->startLower[k] = fminf(box->startLower[k], other->startLower[k]);
        box->startUpper[k] = fmaxf(box->startUpper[k], other->startUpper[k]);
        box->endLower[k] = fminf(box->endLower[k], other->endLower[k]);
        box->endUpper[k] = fmaxf(box->endUpper[k], other->endUpper[k]);
    }
}

static knCcdBox EmptyBox(void)
{
    return (knCcdBox){{INFINITY, INFINITY, INFINITY, 0.0f},
                      {-INFINITY, -INFINITY, -INFINITY, 0.0f},
                      {INFINITY, INFINITY, INFINITY, 0.0f},
                      {-INFINITY, -INFINITY, -INFINITY, 0.0f}};
}

static void FitLeaf(knCcdStep* s, const knCcdLeaf* leaf, float margin)
{
    knCcdBox box = EmptyBox();
    for (uint32_t i = leaf->vertices; i < leaf->vertices + leaf->vertexBlocks; ++i)
    {
        knCcdVertices* b = &s->vertexBlocks[i];
        GatherVertices(s, b->v, b->head.id, b->head.count);
        s->kernels->fitBlock(&b->head, b->v, 1, margin);
        JoinBoxes(&box, &b->head.box);
    }
    for (uint32_t i = leaf->edges; i < leaf->edges + leaf->edgeBlocks; ++i)
    {
        knCcdEdges* b = &s->edgeBlocks[i];
        GatherVertices(s, &b->v[0], b->vertex[0], b->head.count);
        GatherVertices(s, &b->v[1], b->vertex[1], b->head.count);
        s->kernels->fitBlock(&b->head, b->v, 2, margin);
        JoinBoxes(&box, &b->head.box); // of a triangle that is broken, an edge may not be
    }
    for (uint32_t i = leaf->faces; i < leaf->faces + leaf->faceBlocks; ++i)
    {
        knCcdFaces* b = &s->faceBlocks[i];
        for (int c = 0; c < 3; ++c)
        {
            GatherVertices(s, &b->v[c], b->vertex[c], b->head.count);
        }
        s->kernels->fitBlock(&b->head, b->v, 3, margin);
        JoinBoxes(&box, &b->head.box);
    }
    s->boxes[s->leafNodes[leaf - s->leaves]] = box;
}

static void FitLeaves(int begin, int end, int worker, void* context)
{
    (void)worker;
    knCcdStep* s = context;
    uint32_t mode = knBeginExact();
    for (int i = begin; i < end; ++i)
    {
        FitLeaf(s, &s->leaves[i], s->margin);
    }
    knEndExact(mode);
}

void knRefitCcdTree(knCcdStep* s)
{
    knParallelFor(s->def.tasks, (int)s->leafCount, 64, FitLeaves, s);
    for (uint32_t i = s->nodeCount; i-- > 0;)
    {
        if (s->links[i].count == 0 && i != 1 && s->leafCount > 0)
        {
            s->boxes[i] = s->boxes[s->links[i].child];
            JoinBoxes(&s->boxes[i], &s->boxes[s->links[i].child + 1]);
        }
    }
}

double knCcdTreeSize(const knCcdStep* s)
{
    double sum = 0.0;
    for (uint32_t i = 2; i < s->nodeCount; ++i)
    {
        const knCcdBox* b = &s->boxes[i];
        for (int k = 0; k < 3; ++k)
        {
            double size = (double)b->startUpper[k] - (double)b->startLower[k];
            sum += size > 0.0 && isfinite(size) ? size : 0.0;
        }
    }
    return sum;
}

bool knIsCcdBroken(const knCcdStep* s)
{
    bool isBroken = false;
    for (uint32_t i = 0; i < s->faceBlockCount && !isBroken; ++i)
    {
        const knCcdHead* head = &s->faceBlocks[i].head;
        isBroken = head->lanes != (1u << head->count) - 1;
    }
    return isBroken;
}
