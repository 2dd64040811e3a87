// SPDX-License-Identifier: Zlib
#include "bench/tree_rivals.h"

// The search tree is a treap: balanced by priorities that are a hash of the key.
typedef struct PairNode
{
    uint64_t key; // lower id, higher id
    uint32_t child[2];
} PairNode;

struct Sap
{
    knEndpoint* axes[3];
    knSweepBox* boxes;
    const knBvhTriangle* triangles; // of the frame
    uint32_t count;                 // triangles; 0 before the first frame
    PairNode* nodes;
    size_t capacity;
    uint32_t used, root, freeNode;
    bool hasMemory;
};

Sap* MakeSap(void)
{
    Sap* s = calloc(1, sizeof *s);
    if (s)
    {
        s->root = s->freeNode = KN_NONE;
    }
    return s;
}

void FreeSap(Sap* s)
{
    if (s)
    {
        free(s->axes[0]);
        free(s->axes[1]);
        free(s->axes[2]);
        free(s->boxes);
        free(s->nodes);
        free(s);
    }
}

size_t SapBytes(const Sap* s)
{
    return s->capacity * sizeof *s->nodes +
           s->count * (6 * sizeof(knEndpoint) + sizeof(knSweepBox));
}

static uint64_t Priority(uint64_t key)
{
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
    return key ^ (key >> 31);
}

static uint32_t NewNode(Sap* s, uint64_t key)
{
    uint32_t node = s->freeNode;
    if (node != KN_NONE)
    {
        s->freeNode = s->nodes[node].child[0];
    }
    else
    {
        if (s->used == s->capacity)
        {
            PairNode* grown = realloc(s->nodes, (2 * s->capacity + 1024) * sizeof *grown);
            if (!grown)
            {
                s->hasMemory = false;
                return KN_NONE;
            }
            s->nodes = grown;
            s->capacity = 2 * s->capacity + 1024;
        }
        node = s->used++;
    }
    s->nodes[node] = (PairNode){key, {KN_NONE, KN_NONE}};
    return node;
}

static uint32_t RotateUp(Sap* s, uint32_t node, int side)
{
    uint32_t child = s->nodes[node].child[side];
    s->nodes[node].child[side] = s->nodes[child].child[1 - side];
    s->nodes[child].child[1 - side] = node;
    return child;
}

static uint32_t InsertPair(Sap* s, uint32_t node, uint64_t key)
{
    if (node == KN_NONE)
    {
        return NewNode(s, key);
    }
    if (s->nodes[node].key == key)
    {
        return node;
    }
    int side = key > s->nodes[node].key;
    uint32_t child = InsertPair(s, s->nodes[node].child[side], key);
    s->nodes[node].child[side] = child;
    return child != KN_NONE && Priority(s->nodes[child].key) > Priority(s->nodes[node].key)
               ? RotateUp(s, node, side)
               : node;
}

static uint32_t JoinTrees(Sap* s, uint32_t low, uint32_t high)
{
    if (low == KN_NONE || high == KN_NONE)
    {
        return low == KN_NONE ? high : low;
    }
    if (Priority(s->nodes[low].key) > Priority(s->nodes[high].key))
    {
        s->nodes[low].child[1] = JoinTrees(s, s->nodes[low].child[1], high);
        return low;
    }
    s->nodes[high].child[0] = JoinTrees(s, low, s->nodes[high].child[0]);
    return high;
}

static void RemovePair(Sap* s, uint64_t key)
{
    uint32_t* at = &s->root;
    while (*at != KN_NONE && s->nodes[*at].key != key)
    {
        at = &s->nodes[*at].child[key > s->nodes[*at].key];
    }
    if (*at != KN_NONE)
    {
        uint32_t node = *at;
        *at = JoinTrees(s, s->nodes[node].child[0], s->nodes[node].child[1]);
        s->nodes[node].child[0] = s->freeNode;
        s->freeNode = node;
    }
}

static uint64_t KeyOf(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

// Only pairs of one body are asked for.
static bool Overlap(const Sap* s, uint32_t first, uint32_t second)
{
    const knSweepBox *a = &s->boxes[first], *b = &s->boxes[second];
    return s->triangles[first].body == s->triangles[second].body && a->lower[0] <= b->upper[0] &&
           b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] && b->lower[1] <= a->upper[1] &&
           a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

static bool Before(knEndpoint a, knEndpoint b)
{
    return a.value < b.value || (a.value == b.value && (a.name & 1) < (b.name & 1));
}

static void SetValues(Sap* s, int axis)
{
    for (uint32_t i = 0; i < 2 * s->count; ++i)
    {
        const knSweepBox* b = &s->boxes[s->axes[axis][i].name / 2];
        s->axes[axis][i].value = s->axes[axis][i].name & 1 ? b->upper[axis] : b->lower[axis];
    }
}

static void SortAxis(Sap* s, int axis)
{
    knEndpoint* e = s->axes[axis];
    for (uint32_t i = 1; i < 2 * s->count; ++i)
    {
        knEndpoint here = e[i];
        uint32_t k = i;
        for (; k > 0 && Before(here, e[k - 1]); --k)
        {
            uint32_t a = here.name / 2, b = e[k - 1].name / 2;
            bool begins = (here.name & 1) < (e[k - 1].name & 1);
            bool ends = (here.name & 1) > (e[k - 1].name & 1);
            if (begins && Overlap(s, a, b))
            {
                s->root = InsertPair(s, s->root, KeyOf(a, b));
            }
            else if (ends)
            {
                RemovePair(s, KeyOf(a, b));
            }
            e[k] = e[k - 1];
        }
        e[k] = here;
    }
}

static int CompareEndpoints(const void* a, const void* b)
{
    const knEndpoint *p = a, *q = b;
    return Before(*p, *q) ? -1 : Before(*q, *p);
}

// Sorted by the C library and swept once: no part of a step.
static bool Start(Sap* s, uint32_t count)
{
    uint32_t* open = malloc(count * sizeof *open);
    uint32_t openCount = 0;
    s->count = count;
    for (int axis = 0; axis < 3; ++axis)
    {
        s->axes[axis] = malloc(2 * (size_t)count * sizeof(knEndpoint));
    }
    if (!open || !s->axes[0] || !s->axes[1] || !s->axes[2])
    {
        free(open);
        return false;
    }
    for (int axis = 0; axis < 3; ++axis)
    {
        for (uint32_t i = 0; i < 2 * count; ++i)
        {
            s->axes[axis][i].name = i;
        }
        SetValues(s, axis);
        qsort(s->axes[axis], 2 * (size_t)count, sizeof(knEndpoint), CompareEndpoints);
    }
    for (uint32_t i = 0; i < 2 * count; ++i)
    {
        uint32_t id = s->axes[0][i].name / 2, kept = 0;
        bool isEnd = (s->axes[0][i].name & 1) != 0;
        for (uint32_t k = 0; k < openCount; ++k)
        {
            if (!isEnd && Overlap(s, open[k], id))
            {
                s->root = InsertPair(s, s->root, KeyOf(open[k], id));
            }
            open[kept] = open[k];
            kept += !isEnd || open[k] != id;
        }
        openCount = kept;
        if (!isEnd)
        {
            open[openCount++] = id;
        }
    }
    free(open);
    return true;
}

static void TestPairs(const Sap* s, uint32_t node, knPairBatch* batch)
{
    if (node != KN_NONE)
    {
        TestPairs(s, s->nodes[node].child[0], batch);
        knPairBatch_Add(batch, (uint32_t)(s->nodes[node].key >> 32), (uint32_t)s->nodes[node].key);
        TestPairs(s, s->nodes[node].child[1], batch);
    }
}

bool MeetBySap(Sap* s, const knHierarchy* g, knPairSink* sink)
{
    s->hasMemory = true;
    s->triangles = g->triangles;
    s->boxes = s->boxes ? s->boxes : malloc(g->triangleSlots * sizeof *s->boxes);
    if (!s->boxes)
    {
        return false;
    }
    for (uint32_t i = 0; i < g->triangleSlots; ++i)
    {
        knFindTriangleBox(g->positions, g->triangles[i].v, s->boxes[i].lower, s->boxes[i].upper);
    }
    if (s->count == 0)
    {
        s->hasMemory = Start(s, g->triangleSlots);
    }
    for (int axis = 0; axis < 3 && s->hasMemory; ++axis)
    {
        SetValues(s, axis);
        SortAxis(s, axis);
    }
    knPairBatch batch = {.hierarchy = g, .sink = sink, .limit = KN_LANES};
    TestPairs(s, s->root, &batch);
    knPairBatch_Flush(&batch);
    return s->hasMemory;
}
