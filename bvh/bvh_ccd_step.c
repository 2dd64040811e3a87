// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

#include <math.h>

// A whole step: a hierarchy over the swept boxes of the edges, met with itself, and hierarchies
// over vertices and faces, met with each other. As every feature stands in one leaf, each
// elementary test is made once, orphans included.

#define LEAF_SIZE 4

typedef struct SweptBox
{
    float lower[3], upper[3];
} SweptBox;

// Halves of halves: node n has the children 2 n + 1 and 2 n + 2, and its items follow from n.
typedef struct FeatureTree
{
    knBuildItem* items;
    SweptBox* boxes; // of the features
    SweptBox* nodes;
    size_t itemCapacity, boxCapacity, nodeCapacity;
    uint32_t count;
} FeatureTree;

typedef struct Range
{
    uint32_t node, begin, end;
} Range;

struct knCcdStep
{
    knAllocator allocator;
    knCcdStepDef def;
    knEdge* edges;
    size_t edgeCount, edgeCapacity;
    uint64_t* keys;
    size_t keyCapacity;
    FeatureTree trees[3]; // vertices, edges, faces
    knCcdContact* contacts;
    size_t contactCount, contactCapacity;
    knCcdFunnel funnel;
    knResult result;
};

static Range Left(Range r)
{
    return (Range){2 * r.node + 1, r.begin, r.begin + (r.end - r.begin) / 2};
}

static Range Right(Range r)
{
    return (Range){2 * r.node + 2, r.begin + (r.end - r.begin) / 2, r.end};
}

static bool Overlap(const SweptBox* a, const SweptBox* b)
{
    return a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] &&
           b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

static SweptBox EmptyBox(void)
{
    return (SweptBox){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

static void AddPoint(SweptBox* box, knVec3 p)
{
    float c[3] = {p.x, p.y, p.z};
    for (int k = 0; k < 3; ++k)
    {
        box->lower[k] = c[k] < box->lower[k] ? c[k] : box->lower[k];
        box->upper[k] = c[k] > box->upper[k] ? c[k] : box->upper[k];
    }
}

// Grown by more than the separation; empty when a coordinate is not finite.
static SweptBox BoxOf(const knCcdStepDef* def, const uint32_t* vertices, int count)
{
    SweptBox box = EmptyBox();
    float pad = def->separation > 0.0 ? nextafterf((float)def->separation, INFINITY) : 0.0f;
    for (int i = 0; i < count; ++i)
    {
        knVec3 p = def->start[vertices[i]], q = def->end[vertices[i]];
        if (!knIsFinite(p) || !knIsFinite(q))
        {
            return EmptyBox();
        }
        AddPoint(&box, p);
        AddPoint(&box, q);
    }
    for (int k = 0; k < 3 && pad > 0.0f; ++k)
    {
        box.lower[k] = nextafterf(box.lower[k] - pad, -INFINITY);
        box.upper[k] = nextafterf(box.upper[k] + pad, INFINITY);
    }
    return box;
}

static void JoinBox(SweptBox* box, const SweptBox* other)
{
    for (int k = 0; k < 3; ++k)
    {
        box->lower[k] = fminf(box->lower[k], other->lower[k]);
        box->upper[k] = fmaxf(box->upper[k], other->upper[k]);
    }
}

static void BuildBelow(FeatureTree* t, Range r)
{
    SweptBox* box = &t->nodes[r.node];
    *box = EmptyBox();
    if (r.end - r.begin <= LEAF_SIZE)
    {
        for (uint32_t i = r.begin; i < r.end; ++i)
        {
            JoinBox(box, &t->boxes[t->items[i].triangle]);
        }
        return;
    }
    Range left = Left(r), right = Right(r);
    knSelectItems(t->items, r.begin, r.end, left.end, knLongestAxis(t->items, r.begin, r.end));
    BuildBelow(t, left);
    BuildBelow(t, right);
    *box = t->nodes[left.node];
    JoinBox(box, &t->nodes[right.node]);
}

static knResult ReserveTree(knCcdStep* s, FeatureTree* t, uint32_t count)
{
    size_t nodes = 1;
    for (uint32_t c = count; c > LEAF_SIZE; c = (c + 1) / 2)
    {
        nodes = 2 * nodes + 1;
    }
    t->count = count;
    knResult result =
        knGrow(&s->allocator, (void**)&t->items, &t->itemCapacity, count + 1, sizeof *t->items);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&t->boxes, &t->boxCapacity,
                                           count + 1, sizeof *t->boxes)
                                  : result;
    return result == kn_success
               ? knGrow(&s->allocator, (void**)&t->nodes, &t->nodeCapacity, nodes, sizeof *t->nodes)
               : result;
}

static knResult BuildTree(knCcdStep* s, int kind, uint32_t count)
{
    FeatureTree* t = &s->trees[kind];
    knResult result = ReserveTree(s, t, count);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = kind == 0 ? &i : (kind == 1 ? s->edges[i].v : s->def.triangles[i].v);
        SweptBox box = BoxOf(&s->def, v, kind + 1);
        t->boxes[i] = box;
        t->items[i].triangle = i;
        for (int k = 0; k < 3; ++k)
        {
            float center = 0.5f * box.lower[k] + 0.5f * box.upper[k];
            t->items[i].center[k] = isfinite(center) ? center : 0.0f;
        }
    }
    BuildBelow(t, (Range){0, 0, count});
    return kn_success;
}

static void SetCorner(knCcdCorners* c, int i, const knVec3* a, const knVec3* b)
{
    c->start[i][0] = (double)a[0].x - (double)b[0].x;
    c->start[i][1] = (double)a[0].y - (double)b[0].y;
    c->start[i][2] = (double)a[0].z - (double)b[0].z;
    c->end[i][0] = (double)a[1].x - (double)b[1].x;
    c->end[i][1] = (double)a[1].y - (double)b[1].y;
    c->end[i][2] = (double)a[1].z - (double)b[1].z;
}

static void Meet(knCcdStep* s, knCcdKind kind, uint32_t a, uint32_t b)
{
    const uint32_t* aVertices = kind == kn_ccdEdgeEdge ? s->edges[a].v : &a;
    const uint32_t* bVertices = kind == kn_ccdEdgeEdge ? s->edges[b].v : s->def.triangles[b].v;
    int aCount = kind == kn_ccdEdgeEdge ? 2 : 1, bCount = kind == kn_ccdEdgeEdge ? 2 : 3;
    knCcdCorners c;
    c.separation = s->def.separation;
    c.slack = 0.0;
    c.sabotage = 0;
    c.count = (uint32_t)(aCount * bCount);
    for (int i = 0; i < (int)c.count; ++i)
    {
        uint32_t v = aVertices[i % aCount], w = bVertices[i / aCount];
        if (v == w)
        {
            return;
        }
        knVec3 p[2] = {s->def.start[v], s->def.end[v]}, q[2] = {s->def.start[w], s->def.end[w]};
        SetCorner(&c, i, p, q);
    }
    *(kind == kn_ccdEdgeEdge ? &s->funnel.edgeTests : &s->funnel.faceTests) += 1;
    knCcdAnswer answer = knMeetCorners(&c, 1.0);
    s->funnel.steps += answer.stepCount;
    s->funnel.cappedTests += answer.isCapped;
    if (!answer.isContact)
    {
        return;
    }
    knResult result = knGrow(&s->allocator, (void**)&s->contacts, &s->contactCapacity,
                             s->contactCount + 1, sizeof *s->contacts);
    if (result != kn_success)
    {
        s->result = result;
        return;
    }
    s->contacts[s->contactCount++] = (knCcdContact){kind, a, b, answer.time};
}

static void MeetLeaves(knCcdStep* s, knCcdKind kind, Range a, Range b)
{
    const FeatureTree* left = &s->trees[kind == kn_ccdEdgeEdge ? 1 : 0];
    const FeatureTree* right = &s->trees[kind == kn_ccdEdgeEdge ? 1 : 2];
    bool isSame = kind == kn_ccdEdgeEdge && a.node == b.node;
    for (uint32_t i = a.begin; i < a.end; ++i)
    {
        for (uint32_t k = isSame ? i + 1 : b.begin; k < b.end; ++k)
        {
            uint32_t x = left->items[i].triangle, y = right->items[k].triangle;
            if (Overlap(&left->boxes[x], &right->boxes[y]) && s->result == kn_success)
            {
                bool isTurned = kind == kn_ccdEdgeEdge && x > y;
                Meet(s, kind, isTurned ? y : x, isTurned ? x : y);
            }
        }
    }
}

// The depth is that of the halves, some 26 at most for each tree.
static void MeetNodes(knCcdStep* s, knCcdKind kind, Range a, Range b)
{
    const FeatureTree* left = &s->trees[kind == kn_ccdEdgeEdge ? 1 : 0];
    const FeatureTree* right = &s->trees[kind == kn_ccdEdgeEdge ? 1 : 2];
    bool aLeaf = a.end - a.begin <= LEAF_SIZE, bLeaf = b.end - b.begin <= LEAF_SIZE;
    s->funnel.nodeTests += 1;
    if (!Overlap(&left->nodes[a.node], &right->nodes[b.node]))
    {
        return;
    }
    if (aLeaf && bLeaf)
    {
        MeetLeaves(s, kind, a, b);
    }
    else if (kind == kn_ccdEdgeEdge && a.node == b.node)
    {
        MeetNodes(s, kind, Left(a), Left(a));
        MeetNodes(s, kind, Left(a), Right(a));
        MeetNodes(s, kind, Right(a), Right(a));
    }
    else if (bLeaf || (!aLeaf && a.end - a.begin >= b.end - b.begin))
    {
        MeetNodes(s, kind, Left(a), b);
        MeetNodes(s, kind, Right(a), b);
    }
    else
    {
        MeetNodes(s, kind, a, Left(b));
        MeetNodes(s, kind, a, Right(b));
    }
}

static int CompareKeys(const void* a, const void* b)
{
    uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

static int CompareContacts(const void* a, const void* b)
{
    const knCcdContact *x = a, *y = b;
    int kind = (x->kind == kn_ccdVertexFace) - (y->kind == kn_ccdVertexFace);
    int first = (x->a > y->a) - (x->a < y->a), second = (x->b > y->b) - (x->b < y->b);
    return kind != 0 ? kind : (first != 0 ? first : second);
}

static knResult FindEdges(knCcdStep* s)
{
    size_t most = 3 * (size_t)s->def.triangleCount, count = 0;
    knResult result =
        knGrow(&s->allocator, (void**)&s->keys, &s->keyCapacity, most + 1, sizeof *s->keys);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->edges, &s->edgeCapacity,
                                           most + 1, sizeof *s->edges)
                                  : result;
    if (result != kn_success)
    {
        return result;
    }
    for (size_t i = 0; i < most; ++i)
    {
        const uint32_t* v = s->def.triangles[i / 3].v;
        uint64_t a = v[i % 3], b = v[(i + 1) % 3];
        if (a != b)
        {
            s->keys[count++] = a > b ? a << 32 | b : b << 32 | a;
        }
    }
    qsort(s->keys, count, sizeof *s->keys, CompareKeys);
    for (size_t i = 0; i < count; ++i)
    {
        if (i == 0 || s->keys[i] != s->keys[i - 1])
        {
            s->edges[s->edgeCount++] =
                (knEdge){{(uint32_t)s->keys[i], (uint32_t)(s->keys[i] >> 32)}};
        }
    }
    return kn_success;
}

static knResult RunStep(knCcdStep* s)
{
    knResult result = FindEdges(s);
    uint32_t counts[3] = {s->def.vertexCount, (uint32_t)s->edgeCount, s->def.triangleCount};
    for (int kind = 0; kind < 3 && result == kn_success; ++kind)
    {
        result = BuildTree(s, kind, counts[kind]);
    }
    if (result != kn_success)
    {
        return result;
    }
    Range edges = {0, 0, counts[1]};
    MeetNodes(s, kn_ccdEdgeEdge, edges, edges);
    MeetNodes(s, kn_ccdVertexFace, (Range){0, 0, counts[0]}, (Range){0, 0, counts[2]});
    if (s->contactCount > 0)
    {
        qsort(s->contacts, s->contactCount, sizeof *s->contacts, CompareContacts);
    }
    return s->result;
}

static knResult CheckDef(const knCcdStepDef* def)
{
    if (!def || def->size != sizeof *def || (def->vertexCount > 0 && (!def->start || !def->end)) ||
        (def->triangleCount > 0 && !def->triangles))
    {
        return knFail(kn_errorArgument, "a step needs positions at both ends and triangles, in a "
                                        "definition from knDefaultCcdStepDef");
    }
    if (!isfinite(def->separation) || def->separation < 0.0)
    {
        return knFail(kn_errorArgument, "the separation must be finite and not negative");
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

knCcdStepDef knDefaultCcdStepDef(void)
{
    return (knCcdStepDef){.size = sizeof(knCcdStepDef)};
}

knResult knRunCcdStep(knCcdStep** step, const knCcdStepDef* def, const knAllocator* allocator)
{
    knResult result = step ? knCheckAllocator(allocator)
                           : knFail(kn_errorArgument, "a step needs a place for its pointer");
    result = result == kn_success ? CheckDef(def) : result;
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
    s->def = *def;
    uint32_t mode = knBeginExact();
    result = RunStep(s);
    knEndExact(mode);
    if (result != kn_success)
    {
        knDestroyCcdStep(s);
        return result;
    }
    *step = s;
    return kn_success;
}

void knDestroyCcdStep(knCcdStep* s)
{
    if (!s)
    {
        return;
    }
    knAllocator a = s->allocator;
    for (int i = 0; i < 3; ++i)
    {
        FeatureTree* t = &s->trees[i];
        knRelease(&a, t->items, t->itemCapacity, sizeof *t->items);
        knRelease(&a, t->boxes, t->boxCapacity, sizeof *t->boxes);
        knRelease(&a, t->nodes, t->nodeCapacity, sizeof *t->nodes);
    }
    knRelease(&a, s->edges, s->edgeCapacity, sizeof *s->edges);
    knRelease(&a, s->keys, s->keyCapacity, sizeof *s->keys);
    knRelease(&a, s->contacts, s->contactCapacity, sizeof *s->contacts);
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
