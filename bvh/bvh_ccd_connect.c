// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// ICCD VI: a hierarchy in two levels. Each object, triangles that hang together by edges, has a
// tree that grows from its triangles upwards: in rounds, parts that share an edge are joined in
// pairs, each with the neighbour that gives the smallest and flattest part. Above the objects
// stands a tree by medians, which is built anew where it has lost its quality; those below are
// fitted.

#define ROUNDS 64 // then, or when a round joins few, what is left of an object is cut by medians
#define FEW    32 // one in so many

// A part of an object.
typedef struct Cluster
{
    float lower[3], upper[3]; // at both ends of the step
    float normal[3], area;
    uint32_t count;       // triangles
    uint32_t first, last; // of its chain of items
    uint32_t join;        // where it stands in the tree; KN_NONE: not in it yet
} Cluster;

// A node before it has its place: two below it, or a chain of items.
typedef struct Joint
{
    uint32_t left, right; // KN_NONE: a leaf
    uint32_t first, count;
} Joint;

// Neighbours of each cluster.
typedef struct Graph
{
    uint32_t* starts;
    uint32_t* others;
} Graph;

typedef struct Growing
{
    knCcdStep* s;
    Cluster* clusters;
    uint32_t clusterCount;
    Graph graph, spare;
    uint32_t *partners, *names, *stamps;
    uint32_t stamp;
    uint32_t* next; // item behind each in its chain
    uint32_t* ids;  // of items, as they were
    Joint* joints;
    uint32_t jointCount;
    knBuildItem* roots; // of objects
    uint32_t rootCount;
    uint32_t openCount; // clusters that have a neighbour
} Growing;

// --- memory, in one piece

typedef struct Layout
{
    uint8_t* memory;
    size_t size;
} Layout;

static void* Take(Layout* l, size_t count, size_t size)
{
    void* at = l->memory ? l->memory + l->size : NULL;
    l->size += (count * size + 15) / 16 * 16;
    return at;
}

static size_t Lay(Growing* g, uint8_t* memory)
{
    Layout l = {memory, 0};
    // an edge of k triangles makes k - 1 pairs of neighbours, of which there are less than all
    // corners
    size_t items = g->s->itemCount, links = 6 * (size_t)g->s->triangleCount;
    g->clusters = Take(&l, items, sizeof *g->clusters);
    g->graph.starts = Take(&l, items + 2, sizeof(uint32_t));
    g->spare.starts = Take(&l, items + 2, sizeof(uint32_t));
    g->graph.others = Take(&l, links, sizeof(uint32_t));
    g->spare.others = Take(&l, links, sizeof(uint32_t));
    g->partners = Take(&l, items, sizeof(uint32_t));
    g->names = Take(&l, items > g->s->edgeCount ? items : g->s->edgeCount, sizeof(uint32_t));
    g->stamps = Take(&l, items, sizeof(uint32_t));
    g->next = Take(&l, items, sizeof(uint32_t));
    g->ids = Take(&l, items, sizeof(uint32_t));
    g->joints = Take(&l, 2 * items, sizeof *g->joints);
    g->roots = Take(&l, items, sizeof *g->roots);
    return l.size;
}

// --- the first clusters: triangles, and vertices of none

static void AddCorner(Cluster* c, const knCcdStepDef* def, uint32_t v)
{
    for (int end = 0; end < 2; ++end)
    {
        knVec3 p = end ? def->end[v] : def->start[v];
        const float x[3] = {p.x, p.y, p.z};
        for (int k = 0; k < 3; ++k)
        {
            c->lower[k] = x[k] < c->lower[k] ? x[k] : c->lower[k];
            c->upper[k] = x[k] > c->upper[k] ? x[k] : c->upper[k];
        }
    }
}

static void MakeCluster(Growing* g, uint32_t i)
{
    const knCcdStepDef* def = &g->s->def;
    Cluster* c = &g->clusters[i];
    *c = (Cluster){.lower = {INFINITY, INFINITY, INFINITY},
                   .upper = {-INFINITY, -INFINITY, -INFINITY},
                   .count = 1,
                   .first = i,
                   .last = i,
                   .join = KN_NONE};
    g->next[i] = KN_NONE;
    if (i >= g->s->triangleCount)
    {
        AddCorner(c, def, g->s->items[i].triangle - g->s->triangleCount);
        return;
    }
    const uint32_t* v = g->s->triangles[i].v;
    for (int k = 0; k < 3; ++k)
    {
        AddCorner(c, def, v[k]);
    }
    knVec3 n = knCross(knSub(def->start[v[1]], def->start[v[0]]),
                       knSub(def->start[v[2]], def->start[v[0]]));
    c->area = knLength(n);
    c->area = isfinite(c->area) ? c->area : 0.0f;
    c->normal[0] = c->area > 0.0f ? n.x : 0.0f;
    c->normal[1] = c->area > 0.0f ? n.y : 0.0f;
    c->normal[2] = c->area > 0.0f ? n.z : 0.0f;
}

// Triangles of an edge, one after the other. First counted, then put in.
static void PairTriangles(Growing* g, bool isCounting)
{
    const knCcdStep* s = g->s;
    uint32_t* last = g->names;
    memset(last, 0xFF, s->edgeCount * sizeof *last);
    for (size_t i = 0; i < 3 * (size_t)s->triangleCount; ++i)
    {
        uint32_t e = s->triangleEdges[i], t = (uint32_t)(i / 3);
        if (e == KN_NONE || last[e] == t)
        {
            continue;
        }
        uint32_t other = last[e];
        last[e] = t;
        if (other != KN_NONE && isCounting)
        {
            g->graph.starts[t + 2] += 1;
            g->graph.starts[other + 2] += 1;
        }
        else if (other != KN_NONE)
        {
            g->graph.others[g->graph.starts[t + 1]++] = other;
            g->graph.others[g->graph.starts[other + 1]++] = t;
        }
    }
}

static void MakeGraph(Growing* g)
{
    uint32_t count = g->s->itemCount, *starts = g->graph.starts;
    memset(starts, 0, (count + (size_t)2) * sizeof *starts);
    PairTriangles(g, true);
    for (uint32_t i = 0; i < count; ++i)
    {
        starts[i + 2] += starts[i + 1];
    }
    // starts[i + 1] is where i begins, and its end after this
    PairTriangles(g, false);
}

// --- joining

// Small and flat is good.
static float CostOf(const Cluster* a, const Cluster* b)
{
    float size = 0.0f, square = 0.0f, area = a->area + b->area;
    for (int k = 0; k < 3; ++k)
    {
        float low = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
        float high = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
        float n = a->normal[k] + b->normal[k];
        size += high - low;
        square += n * n;
    }
    float flat = area > 0.0f ? sqrtf(square) / area : 0.0f;
    return size * (2.0f - flat);
}

static uint32_t FindPartner(const Growing* g, uint32_t i, uint32_t limit)
{
    const Cluster* c = &g->clusters[i];
    uint32_t best = KN_NONE;
    float least = 0.0f;
    for (uint32_t k = g->graph.starts[i]; k < g->graph.starts[i + 1]; ++k)
    {
        uint32_t other = g->graph.others[k];
        if (g->partners[other] != KN_NONE || c->count + g->clusters[other].count > limit)
        {
            continue;
        }
        float cost = CostOf(c, &g->clusters[other]);
        if (best == KN_NONE || cost < least || (cost == least && other < best))
        {
            best = other;
            least = cost;
        }
    }
    return best;
}

// Returns how many pairs there are.
static uint32_t FindPartners(Growing* g, uint32_t limit)
{
    uint32_t count = 0;
    g->openCount = 0;
    memset(g->partners, 0xFF, g->clusterCount * sizeof *g->partners);
    for (uint32_t i = 0; i < g->clusterCount; ++i)
    {
        g->openCount += g->graph.starts[i] != g->graph.starts[i + 1];
        if (g->partners[i] == KN_NONE)
        {
            uint32_t other = FindPartner(g, i, limit);
            if (other != KN_NONE)
            {
                g->partners[i] = other;
                g->partners[other] = i;
                count += 1;
            }
        }
    }
    return count;
}

static uint32_t AddJoint(Growing* g, Joint joint)
{
    g->joints[g->jointCount] = joint;
    return g->jointCount++;
}

static void MergeClusters(Growing* g, Cluster* a, const Cluster* b)
{
    for (int k = 0; k < 3; ++k)
    {
        a->lower[k] = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
        a->upper[k] = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
        a->normal[k] += b->normal[k];
    }
    a->area += b->area;
    a->count += b->count;
    if (a->join == KN_NONE)
    {
        g->next[a->last] = b->first;
        a->last = b->last;
        return;
    }
    a->join = AddJoint(g, (Joint){a->join, b->join, KN_NONE, a->count});
}

static void CopyNeighbours(Growing* g, uint32_t old, uint32_t name, uint32_t* count)
{
    for (uint32_t k = g->graph.starts[old]; k < g->graph.starts[old + 1]; ++k)
    {
        uint32_t other = g->names[g->graph.others[k]];
        if (other != name && g->stamps[other] != g->stamp)
        {
            g->stamps[other] = g->stamp;
            g->spare.others[(*count)++] = other;
        }
    }
}

// Each pair becomes one cluster, under the place of the first.
static void MergePartners(Growing* g)
{
    uint32_t kept = 0, links = 0;
    for (uint32_t i = 0; i < g->clusterCount; ++i)
    {
        uint32_t other = g->partners[i];
        g->names[i] = other != KN_NONE && other < i ? g->names[other] : kept++;
    }
    kept = 0;
    for (uint32_t i = 0; i < g->clusterCount; ++i)
    {
        uint32_t other = g->partners[i];
        if (other != KN_NONE && other < i)
        {
            continue;
        }
        Cluster c = g->clusters[i];
        g->spare.starts[kept] = links;
        g->stamp += 1;
        CopyNeighbours(g, i, kept, &links);
        if (other != KN_NONE)
        {
            CopyNeighbours(g, other, kept, &links);
            MergeClusters(g, &c, &g->clusters[other]);
        }
        g->clusters[kept++] = c;
    }
    g->spare.starts[kept] = links;
    Graph t = g->graph;
    g->graph = g->spare;
    g->spare = t;
    g->clusterCount = kept;
}

// First parts that fill a leaf, then these to trees.
static void JoinClusters(Growing* g)
{
    for (int round = 0; round < ROUNDS && FindPartners(g, KN_CCD_LEAF) > 0; ++round)
    {
        MergePartners(g);
    }
    for (uint32_t i = 0; i < g->clusterCount; ++i)
    {
        Cluster* c = &g->clusters[i];
        c->join = AddJoint(g, (Joint){KN_NONE, KN_NONE, c->first, c->count});
    }
    for (int round = 0; round < ROUNDS; ++round)
    {
        uint32_t count = FindPartners(g, KN_NONE);
        if (FEW * (uint64_t)count < g->openCount || count == 0)
        {
            return;
        }
        MergePartners(g);
    }
}

// --- above the clusters

static void SetCenter(knBuildItem* item, const float lower[3], const float upper[3])
{
    for (int k = 0; k < 3; ++k)
    {
        float center = 0.5f * lower[k] + 0.5f * upper[k];
        item->center[k] = isfinite(center) ? center : 0.0f;
    }
}

static void AppendChain(Growing* g, uint32_t first, uint32_t behind)
{
    while (g->next[first] != KN_NONE)
    {
        first = g->next[first];
    }
    g->next[first] = behind;
}

// Joins roots by medians; those that fit a leaf together become one.
static uint32_t JoinByMedians(Growing* g, uint32_t begin, uint32_t end)
{
    uint32_t first = g->roots[begin].triangle;
    if (end - begin == 1)
    {
        return first;
    }
    uint32_t middle = begin + (end - begin) / 2;
    knSelectItems(g->roots, begin, end, middle, knLongestAxis(g->roots, begin, end));
    uint32_t left = JoinByMedians(g, begin, middle), right = JoinByMedians(g, middle, end);
    Joint *a = &g->joints[left], *b = &g->joints[right];
    uint32_t count = a->count + b->count;
    if (count <= KN_CCD_LEAF && a->left == KN_NONE && b->left == KN_NONE)
    {
        AppendChain(g, a->first, b->first);
        a->count = count;
        return left;
    }
    return AddJoint(g, (Joint){left, right, KN_NONE, count});
}

// Clusters of one object that were not joined: they are found by their neighbours.
static uint32_t CollectObject(Growing* g, uint32_t seed)
{
    uint32_t count = 0, *stack = g->partners;
    stack[0] = seed;
    g->stamps[seed] = g->stamp;
    for (uint32_t size = 1; size > 0;)
    {
        uint32_t i = stack[--size];
        const Cluster* c = &g->clusters[i];
        g->roots[g->rootCount + count].triangle = c->join;
        SetCenter(&g->roots[g->rootCount + count++], c->lower, c->upper);
        for (uint32_t k = g->graph.starts[i]; k < g->graph.starts[i + 1]; ++k)
        {
            uint32_t other = g->graph.others[k];
            if (g->stamps[other] != g->stamp)
            {
                g->stamps[other] = g->stamp;
                stack[size++] = other;
            }
        }
    }
    return count;
}

static void FindRoots(Growing* g)
{
    g->stamp += 1;
    for (uint32_t i = 0; i < g->clusterCount; ++i)
    {
        if (g->stamps[i] == g->stamp)
        {
            continue;
        }
        uint32_t count = CollectObject(g, i), first = g->rootCount;
        knBuildItem root = g->roots[first];
        if (count > 1)
        {
            root.triangle = JoinByMedians(g, first, first + count);
        }
        g->roots[g->rootCount++] = root;
    }
}

// Objects that fit a leaf together share it; returns where the next goes.
static uint32_t GroupRoots(Growing* g, uint32_t begin, uint32_t end, uint32_t out)
{
    uint64_t sum = 0;
    bool areSmall = true;
    for (uint32_t i = begin; i < end && areSmall; ++i)
    {
        const Joint* joint = &g->joints[g->roots[i].triangle];
        sum += joint->count;
        areSmall = joint->left == KN_NONE && sum <= KN_CCD_LEAF;
    }
    if (end - begin == 1 || areSmall)
    {
        knBuildItem root = g->roots[begin];
        root.triangle = JoinByMedians(g, begin, end);
        g->roots[out] = root;
        return out + 1;
    }
    uint32_t middle = begin + (end - begin) / 2;
    knSelectItems(g->roots, begin, end, middle, knLongestAxis(g->roots, begin, end));
    out = GroupRoots(g, begin, middle, out);
    return GroupRoots(g, middle, end, out);
}

// --- places in the tree

// The tree above the objects, from the node downwards.
static void PlaceObjects(knCcdStep* s, uint32_t node, uint32_t begin, uint32_t end)
{
    if (end - begin == 1)
    {
        s->objects[s->objectItems[begin].triangle].node = node;
        return;
    }
    uint32_t middle = begin + (end - begin) / 2, child = s->nodeCount;
    knSelectItems(s->objectItems, begin, end, middle, knLongestAxis(s->objectItems, begin, end));
    s->nodeCount += 2;
    s->links[node] = (knCcdLink){child, 0, s->links[node].parent};
    s->links[child].parent = s->links[child + 1].parent = node;
    PlaceObjects(s, child, begin, middle);
    PlaceObjects(s, child + 1, middle, end);
}

static void PlaceJoint(Growing* g, uint32_t joint, uint32_t node, uint32_t* itemCount)
{
    knCcdStep* s = g->s;
    const Joint* j = &g->joints[joint];
    if (j->left == KN_NONE)
    {
        uint32_t begin = *itemCount;
        for (uint32_t i = j->first; i != KN_NONE; i = g->next[i])
        {
            s->items[(*itemCount)++].triangle = g->ids[i];
        }
        knMakeCcdLeaf(s, node, begin, *itemCount);
        return;
    }
    uint32_t child = s->nodeCount;
    s->nodeCount += 2;
    s->links[node] = (knCcdLink){child, 0, s->links[node].parent};
    s->links[child].parent = s->links[child + 1].parent = node;
    PlaceJoint(g, j->left, child, itemCount);
    PlaceJoint(g, j->right, child + 1, itemCount);
}

static knResult ReservePlaces(Growing* g, uint32_t objectCount)
{
    knCcdStep* s = g->s;
    size_t leaves = 0;
    for (uint32_t i = 0; i < g->jointCount; ++i)
    {
        leaves += g->joints[i].left == KN_NONE;
    }
    knResult result = knReserveCcdNodes(s, leaves);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->objects, &s->objectCapacity,
                                           objectCount, sizeof *s->objects)
                                  : result;
    return result == kn_success
               ? knGrow(&s->allocator, (void**)&s->objectItems, &s->objectItemCapacity, objectCount,
                        sizeof *s->objectItems)
               : result;
}

static knResult Grow(Growing* g)
{
    knCcdStep* s = g->s;
    g->clusterCount = s->itemCount;
    memset(g->stamps, 0, s->itemCount * sizeof *g->stamps);
    for (uint32_t i = 0; i < s->itemCount; ++i)
    {
        g->ids[i] = s->items[i].triangle;
        MakeCluster(g, i);
    }
    MakeGraph(g);
    JoinClusters(g);
    FindRoots(g);
    uint32_t objectCount = GroupRoots(g, 0, g->rootCount, 0), itemCount = 0;
    knResult result = ReservePlaces(g, objectCount);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t i = 0; i < objectCount; ++i)
    {
        s->objectItems[i] = g->roots[i];
        s->objectItems[i].triangle = i;
    }
    s->objectCount = objectCount;
    knStartCcdTree(s);
    PlaceObjects(s, 0, 0, objectCount);
    s->topCount = s->nodeCount;
    for (uint32_t i = 0; i < objectCount; ++i)
    {
        PlaceJoint(g, g->roots[i].triangle, s->objects[i].node, &itemCount);
    }
    return kn_success;
}

knResult knBuildConnectedCcdTree(knCcdStep* s)
{
    Growing g = {.s = s};
    size_t size = Lay(&g, NULL);
    uint8_t* memory = knAllocate(&s->allocator, size, 1);
    if (!memory)
    {
        return kn_errorMemory;
    }
    Lay(&g, memory);
    knResult result = Grow(&g);
    knRelease(&s->allocator, memory, size, 1);
    return result;
}

double knCcdTopSize(const knCcdStep* s)
{
    double sum = 0.0;
    for (uint32_t i = 2; i < s->topCount; ++i)
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

// An object's tree goes where its root goes; what stood at the root goes with it.
static void MoveObject(knCcdStep* s, const knCcdObject* o)
{
    knCcdLink link = o->link;
    link.parent = s->links[o->node].parent;
    s->links[o->node] = link;
    if (link.count != 0)
    {
        s->leafNodes[link.child] = o->node;
    }
    else
    {
        s->links[link.child].parent = s->links[link.child + 1].parent = o->node;
    }
    if (s->hasContours)
    {
        s->contours[o->node] = o->contour;
    }
}

void knRestructureCcdTop(knCcdStep* s)
{
    uint32_t nodeCount = s->nodeCount;
    for (uint32_t i = 0; i < s->objectCount; ++i)
    {
        knCcdObject* o = &s->objects[i];
        const knCcdBox* b = &s->boxes[o->node];
        o->link = s->links[o->node];
        o->contour = s->hasContours ? s->contours[o->node] : (knCcdContour){.count = KN_NONE};
        SetCenter(&s->objectItems[i], b->startLower, b->startUpper);
        s->objectItems[i].triangle = i;
    }
    // no part of a surface stands above the objects
    for (uint32_t i = 0; i < s->topCount && s->hasContours; ++i)
    {
        s->contours[i] = (knCcdContour){.count = KN_NONE};
    }
    s->nodeCount = 2;
    s->links[0].parent = KN_NONE;
    PlaceObjects(s, 0, 0, s->objectCount);
    s->nodeCount = nodeCount;
    for (uint32_t i = 0; i < s->objectCount; ++i)
    {
        MoveObject(s, &s->objects[i]);
    }
    s->height = knFindCcdHeight(s);
    s->hasOrphanLists = false;
}
