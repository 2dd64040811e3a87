// SPDX-License-Identifier: Zlib
#include "piece_mesh_internal.h"

#include <simde/x86/sse2.h>

#include "shape_internal.h"

#include <string.h>

// What building needs beside the boxes, in room that the nodes do not take.
typedef struct Scratch
{
    uint64_t* keys;  // of the range at hand: place along its axis, then index
    knVec3* middles; // twice the centres of the boxes
} Scratch;

// Numbers in the order of the floats.
static inline uint64_t KeyOf(float at, uint32_t index)
{
    uint32_t bits;
    at += 0.0f; // one zero
    memcpy(&bits, &at, sizeof bits);
    bits ^= bits & 0x80000000u ? 0xFFFFFFFFu : 0x80000000u;
    return (uint64_t)bits << 32 | index;
}

static void Swap(uint64_t* a, uint64_t* b)
{
    uint64_t t = *a;
    *a = *b;
    *b = t;
}

// The middle one of three to the end.
static void ChoosePivot(uint64_t* keys, uint32_t low, uint32_t high)
{
    uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < keys[low])
    {
        Swap(&keys[middle], &keys[low]);
    }
    if (keys[high] < keys[low])
    {
        Swap(&keys[high], &keys[low]);
    }
    if (keys[middle] < keys[high])
    {
        Swap(&keys[middle], &keys[high]);
    }
}

// Puts the key of this rank in its place, smaller ones before it. Which of two is smaller cannot be
// foreseen, so nothing branches on it.
static void Select(uint64_t* keys, uint32_t count, uint32_t rank)
{
    uint32_t low = 0, high = count - 1;
    while (low < high)
    {
        ChoosePivot(keys, low, high);
        uint64_t pivot = keys[high];
        uint32_t place = low;
        for (uint32_t i = low; i < high; ++i)
        {
            uint64_t key = keys[i];
            keys[i] = keys[place];
            keys[place] = key;
            place += key < pivot;
        }
        Swap(&keys[place], &keys[high]);
        if (place == rank)
        {
            return;
        }
        low = place < rank ? place + 1 : low;
        high = place < rank ? high : place - 1;
    }
}
static int LongestAxis(const Scratch* scratch, const uint32_t* order, uint32_t count)
{
    knVec3 low = scratch->middles[order[0]], high = low;
    for (uint32_t i = 1; i < count; ++i)
    {
        low = knMin(low, scratch->middles[order[i]]);
        high = knMax(high, scratch->middles[order[i]]);
    }
    knVec3 e = knSub(high, low);
    return e.x >= e.y && e.x >= e.z ? 0 : e.y >= e.z ? 1 : 2;
}

// The smaller half of a range before the larger.
static void Part(const Scratch* scratch, uint32_t* order, uint32_t count, uint32_t half)
{
    int axis = LongestAxis(scratch, order, count);
    for (uint32_t i = 0; i < count; ++i)
    {
        const knVec3* m = &scratch->middles[order[i]];
        scratch->keys[i] = KeyOf(axis == 0 ? m->x : axis == 1 ? m->y : m->z, order[i]);
    }
    Select(scratch->keys, count, half);
    for (uint32_t i = 0; i < count; ++i)
    {
        order[i] = (uint32_t)scratch->keys[i];
    }
}

static Scratch ScratchOf(knMeshNode* room, uint32_t count)
{
    _Static_assert(sizeof(uint64_t) + sizeof(knVec3) <= sizeof(knMeshNode), "it takes no more");
    Scratch scratch = {.keys = (void*)room};
    scratch.middles = (void*)(scratch.keys + count);
    return scratch;
}

static Scratch MakeScratch(const knBox* boxes, uint32_t count, knMeshNode* room)
{
    Scratch scratch = ScratchOf(room, count);
    for (uint32_t i = 0; i < count; ++i)
    {
        scratch.middles[i] = knAdd(boxes[i].lower, boxes[i].upper);
    }
    return scratch;
}

// By index: how a range was parted leaves no trace.
static void SortLeaf(uint32_t* order, uint32_t count)
{
    for (uint32_t i = 1; i < count; ++i)
    {
        uint32_t item = order[i], k = i;
        for (; k > 0 && order[k - 1] > item; --k)
        {
            order[k] = order[k - 1];
        }
        order[k] = item;
    }
}

// Children lie behind their parents.
static void FillBoxes(const knBox* boxes, knMeshNode* nodes, uint32_t nodeCount,
                      const uint32_t* order)
{
    for (uint32_t n = nodeCount; n > 0; --n)
    {
        knMeshNode* node = &nodes[n - 1];
        node->box = node->count > 0 ? boxes[order[node->first]]
                                    : knBox_Union(nodes[n].box, nodes[node->first].box);
        for (uint32_t i = 1; i < node->count; ++i)
        {
            node->box = knBox_Union(node->box, boxes[order[node->first + i]]);
        }
    }
}

knTreeWork knBeginMeshTree(const knBox* boxes, uint32_t count, knMeshNode* nodes, uint32_t* order)
{
    knTreeWork work = {.boxes = boxes, .nodes = nodes, .order = order, .count = count};
    for (uint32_t i = 0; i < count; ++i)
    {
        order[i] = i;
    }
    if (count > 0)
    {
        // every leaf but a lone one has two boxes or more, so there are fewer nodes than boxes
        (void)MakeScratch(boxes, count, nodes + count);
        work.stack[work.depth++] = (knTreeRange){0, count, KN_NONE};
    }
    return work;
}

// One range of the stack: a leaf, or two ranges instead of it.
static uint32_t TakeRange(knTreeWork* work, const Scratch* scratch)
{
    knTreeRange range = work->stack[--work->depth];
    knMeshNode* nodes = work->nodes;
    uint32_t index = work->nodeCount++, *own = work->order + range.first;
    if (range.parent != KN_NONE)
    {
        nodes[range.parent].first = index;
    }
    nodes[index] = (knMeshNode){.first = range.first, .count = range.count};
    if (range.count > KN_TREE_LEAF)
    {
        uint32_t half = range.count / 2;
        Part(scratch, own, range.count, half);
        nodes[index].count = 0;
        work->stack[work->depth++] = (knTreeRange){range.first + half, range.count - half, index};
        work->stack[work->depth++] = (knTreeRange){range.first, half, KN_NONE};
    }
    else
    {
        SortLeaf(own, range.count);
    }
    return range.count;
}

bool knMeshTree_Step(knTreeWork* work, uint64_t count, uint64_t* parted)
{
    Scratch scratch = ScratchOf(work->nodes + work->count, work->count);
    *parted = 0;
    do
    {
        *parted += work->depth > 0 ? TakeRange(work, &scratch) : 0;
    } while (work->depth > 0 && *parted < count);
    return work->depth == 0;
}

uint32_t knMeshTree_End(knTreeWork* work)
{
    FillBoxes(work->boxes, work->nodes, work->nodeCount, work->order);
    return work->nodeCount;
}

uint32_t knBuildMeshTree(const knBox* boxes, uint32_t count, knMeshNode* nodes, uint32_t* order)
{
    uint64_t parted;
    knTreeWork work = knBeginMeshTree(boxes, count, nodes, order);
    (void)knMeshTree_Step(&work, UINT64_MAX, &parted);
    return knMeshTree_End(&work);
}

// False when the callback has asked to stop.
static bool VisitLeaf(const knPieceMesh* mesh, const knMeshNode* node, knBox box,
                      knTriangleFcn* callback, void* user)
{
    for (uint32_t i = 0; i < node->count; ++i)
    {
        uint32_t triangle = mesh->order[node->first + i];
        knVec3 v[3];
        knPieceMesh_Corners(mesh, triangle, v);
        knBox around = {knMin(v[0], knMin(v[1], v[2])), knMax(v[0], knMax(v[1], v[2]))};
        if (knBox_Overlaps(around, box) && !callback(v, triangle, user))
        {
            return false;
        }
    }
    return true;
}

// Where a box must begin and end at least, in the order of a node's six numbers.
typedef struct Limits
{
    simde__m128 lowest, highest;
} Limits;

static Limits LimitsOf(knBox box)
{
    return (Limits){simde_mm_set_ps(box.lower.z, box.lower.y, box.lower.x, -INFINITY),
                    simde_mm_set_ps(INFINITY, box.upper.z, box.upper.y, box.upper.x)};
}

// knBox_Overlaps with one branch: which of the six sides parts the two is no guess that a processor
// could make.
static inline bool Overlaps(const Limits* limits, const knMeshNode* node)
{
    const knBox* b = &node->box;
    simde__m128 lower = simde_mm_set_ps(b->upper.x, b->lower.z, b->lower.y, b->lower.x);
    simde__m128 upper = simde_mm_set_ps(b->upper.z, b->upper.y, b->upper.x, b->lower.z);
    simde__m128 isNear = simde_mm_and_ps(simde_mm_cmple_ps(lower, limits->highest),
                                         simde_mm_cmpge_ps(upper, limits->lowest));
    return simde_mm_movemask_ps(isNear) == 0xF;
}

void knForEachTriangle(const knPieceMesh* mesh, knBox box, knTriangleFcn* callback, void* user)
{
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    Limits limits = LimitsOf(box);
    if (mesh && callback && mesh->nodeCount > 0 && Overlaps(&limits, &mesh->nodes[0]))
    {
        stack[depth++] = 0;
    }
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        if (node->count > 0)
        {
            if (!VisitLeaf(mesh, node, box, callback, user))
            {
                return;
            }
            continue;
        }
        stack[depth] = node->first;
        depth += Overlaps(&limits, &mesh->nodes[node->first]);
        stack[depth] = index + 1;
        depth += Overlaps(&limits, &mesh->nodes[index + 1]);
    }
}

bool knPieceMesh_Nearest(const knPieceMesh* mesh, knVec3 p, float limit, knVec3* point,
                         uint32_t* triangle)
{
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    bool found = false;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &mesh->nodes[index];
        if (knBox_Distance(node->box, p) > limit)
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            knVec3 v[3];
            float weights[3];
            knPieceMesh_Corners(mesh, mesh->order[node->first + i], v);
            knVec3 q = knNearestOnTriangle(p, v, weights);
            if (knDistance(p, q) < limit)
            {
                found = true;
                limit = knDistance(p, q);
                *point = q;
                *triangle = mesh->order[node->first + i];
            }
        }
        if (node->count == 0)
        {
            bool isLeftFirst = knBox_Distance(mesh->nodes[index + 1].box, p) <=
                               knBox_Distance(mesh->nodes[node->first].box, p);
            stack[depth++] = isLeftFirst ? node->first : index + 1;
            stack[depth++] = isLeftFirst ? index + 1 : node->first;
        }
    }
    return found;
}
