// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

// ICCD V: pairs of triangles that share no vertex make the tests of their features, each test by
// one pair, the features' procedural representatives. Pairs of features for which there is no such
// pair of triangles are orphans; they depend on connectivity alone and are updated where it
// changes.

typedef struct Fan
{
    const uint32_t* triangles; // by id
    uint32_t count;
} Fan;

static Fan VertexFan(const knCcdStep* s, uint32_t v)
{
    return (Fan){s->fans + s->fanStarts[v], s->fanStarts[v + 1] - s->fanStarts[v]};
}

static Fan EdgeFan(const knCcdStep* s, uint32_t e)
{
    return (Fan){s->edgeFans + s->edgeFanStarts[e], s->edgeFanStarts[e + 1] - s->edgeFanStarts[e]};
}

static bool HasVertex(const knTriangle* t, uint32_t v)
{
    return t->v[0] == v || t->v[1] == v || t->v[2] == v;
}

static bool AreAdjacent(const knCcdStep* s, uint32_t a, uint32_t b)
{
    return knShareVertex(&s->triangles[a], &s->triangles[b]);
}

// Algorithm 1: the face stands for itself, the vertex is represented by the first triangle around
// it that is not adjacent to the face.
static bool RepresentsVertex(const knCcdStep* s, uint32_t v, uint32_t of, uint32_t face)
{
    Fan fan = VertexFan(s, v);
    for (uint32_t i = 0; i < fan.count; ++i)
    {
        uint32_t t = fan.triangles[i];
        if (!AreAdjacent(s, t, face))
        {
            return t == of;
        }
    }
    return false;
}

// Algorithm 2, over all triangles of an edge, of which there may be more than two.
static bool RepresentEdges(const knCcdStep* s, const uint32_t e[2], const uint32_t of[2])
{
    int low = e[0] < e[1] ? 0 : 1;
    Fan a = EdgeFan(s, e[low]), b = EdgeFan(s, e[1 - low]);
    for (uint32_t i = 0; i < a.count; ++i)
    {
        for (uint32_t k = 0; k < b.count; ++k)
        {
            uint32_t t = a.triangles[i], u = b.triangles[k];
            if (!AreAdjacent(s, t, u))
            {
                return t == of[low] && u == of[1 - low];
            }
        }
    }
    return false;
}

static bool ShareEnd(const knEdge* a, const knEdge* b)
{
    return a->v[0] == b->v[0] || a->v[0] == b->v[1] || a->v[1] == b->v[0] || a->v[1] == b->v[1];
}

static void MeetVertices(const knCcdStep* s, uint32_t t, uint32_t face, knCcdSink* sink)
{
    bool isOnce = s->def.method == kn_ccdTriangles;
    for (int k = 0; k < 3; ++k)
    {
        uint32_t v = s->triangles[t].v[k];
        bool isAgain = (k > 0 && v == s->triangles[t].v[0]) || (k > 1 && v == s->triangles[t].v[1]);
        if (!isAgain && !HasVertex(&s->triangles[face], v) &&
            (!isOnce || RepresentsVertex(s, v, t, face)))
        {
            sink->funnel.faceTests += 1;
            knMeetByNumber(s, kn_ccdVertexFace, v, face, sink);
        }
    }
}

void knMeetTrianglePair(const knCcdStep* s, uint32_t a, uint32_t b, knCcdSink* sink)
{
    bool isOnce = s->def.method == kn_ccdTriangles;
    if (isOnce && AreAdjacent(s, a, b))
    {
        return;
    }
    for (int i = 0; i < 9; ++i)
    {
        uint32_t e[2] = {s->triangleEdges[3 * (size_t)a + (size_t)(i / 3)],
                         s->triangleEdges[3 * (size_t)b + (size_t)(i % 3)]};
        const uint32_t of[2] = {a, b};
        if (e[0] != KN_NONE && e[1] != KN_NONE && !ShareEnd(&s->edges[e[0]], &s->edges[e[1]]) &&
            (!isOnce || RepresentEdges(s, e, of)))
        {
            uint32_t low = e[0] < e[1] ? e[0] : e[1], high = e[0] < e[1] ? e[1] : e[0];
            sink->funnel.edgeTests += 1;
            knMeetByNumber(s, kn_ccdEdgeEdge, low, high, sink);
        }
    }
    MeetVertices(s, a, b, sink);
    MeetVertices(s, b, a, sink);
}

// --- the orphan set
// -------------------------------------------------------------------------------

static bool IsVertexOrphan(const knCcdStep* s, uint32_t v, uint32_t face)
{
    Fan fan = VertexFan(s, v);
    bool isOrphan = fan.count > 0 && !HasVertex(&s->triangles[face], v);
    for (uint32_t i = 0; i < fan.count && isOrphan; ++i)
    {
        isOrphan = AreAdjacent(s, fan.triangles[i], face);
    }
    return isOrphan;
}

static bool IsEdgeOrphan(const knCcdStep* s, uint32_t e, uint32_t f)
{
    Fan a = EdgeFan(s, e), b = EdgeFan(s, f);
    bool isOrphan = e != f && !ShareEnd(&s->edges[e], &s->edges[f]);
    for (uint32_t i = 0; i < a.count * b.count && isOrphan; ++i)
    {
        isOrphan = AreAdjacent(s, a.triangles[i / b.count], b.triangles[i % b.count]);
    }
    return isOrphan;
}

static void AddOrphan(knCcdStep* s, knCcdKind kind, uint32_t a, uint32_t b, knResult* result)
{
    if (*result == kn_success)
    {
        *result = knGrow(&s->allocator, (void**)&s->orphans, &s->orphanCapacity,
                         (size_t)s->orphanCount + 1, sizeof *s->orphans);
    }
    if (*result != kn_success)
    {
        return;
    }
    bool isEdges = kind == kn_ccdEdgeEdge;
    const uint32_t *p = isEdges ? s->edges[a].v : NULL, *q = isEdges ? s->edges[b].v : NULL;
    s->orphans[s->orphanCount++] =
        isEdges ? (knCcdOrphan){.v = {p[0], p[1], q[0], q[1]}, .kind = kind, .a = a, .b = b}
                : (knCcdOrphan){.v = {a, KN_NONE, b, KN_NONE}, .kind = kind, .a = a, .b = b};
}

static bool IsFaceMarked(const knCcdStep* s, uint32_t t)
{
    const uint32_t* v = s->triangles[t].v;
    return s->marks[v[0]] || s->marks[v[1]] || s->marks[v[2]];
}

static bool IsEdgeMarked(const knCcdStep* s, uint32_t e)
{
    return s->marks[s->edges[e].v[0]] || s->marks[s->edges[e].v[1]];
}

// The corner of t through which it is first adjacent to the other, so that none comes twice.
static bool IsFirstCorner(const knCcdStep* s, uint32_t t, int corner, uint32_t other)
{
    const uint32_t* v = s->triangles[t].v;
    bool isFirst = true;
    for (int i = 0; i < corner; ++i)
    {
        isFirst = isFirst && !HasVertex(&s->triangles[other], v[i]);
    }
    return isFirst;
}

// Faces that are orphans with a vertex: all are adjacent to the first triangle around it.
static void FindFacesOf(knCcdStep* s, uint32_t v, knResult* result)
{
    Fan fan = VertexFan(s, v);
    for (int corner = 0; corner < 3 && fan.count > 0; ++corner)
    {
        Fan around = VertexFan(s, s->triangles[fan.triangles[0]].v[corner]);
        for (uint32_t i = 0; i < around.count; ++i)
        {
            uint32_t face = around.triangles[i];
            if (IsFirstCorner(s, fan.triangles[0], corner, face) && IsVertexOrphan(s, v, face))
            {
                AddOrphan(s, kn_ccdVertexFace, v, face, result);
            }
        }
    }
}

// Vertices without a mark that are orphans with a face: each stands in a triangle adjacent to it,
// the first of its own fan among others.
static void FindVerticesOf(knCcdStep* s, uint32_t face, knResult* result)
{
    for (int corner = 0; corner < 3; ++corner)
    {
        Fan around = VertexFan(s, s->triangles[face].v[corner]);
        for (uint32_t i = 0; i < 3 * around.count; ++i)
        {
            uint32_t t = around.triangles[i / 3], v = s->triangles[t].v[i % 3];
            bool isAgain = (i % 3 > 0 && v == s->triangles[t].v[0]) ||
                           (i % 3 > 1 && v == s->triangles[t].v[1]);
            if (!isAgain && !s->marks[v] && VertexFan(s, v).triangles[0] == t &&
                IsFirstCorner(s, face, corner, t) && IsVertexOrphan(s, v, face))
            {
                AddOrphan(s, kn_ccdVertexFace, v, face, result);
            }
        }
    }
}

static void FindEdgesOf(knCcdStep* s, uint32_t e, knResult* result)
{
    uint32_t first = EdgeFan(s, e).triangles[0];
    for (int corner = 0; corner < 3; ++corner)
    {
        Fan around = VertexFan(s, s->triangles[first].v[corner]);
        for (uint32_t i = 0; i < around.count; ++i)
        {
            uint32_t t = around.triangles[i];
            if (!IsFirstCorner(s, first, corner, t))
            {
                continue;
            }
            for (int k = 0; k < 3; ++k)
            {
                uint32_t f = s->triangleEdges[3 * (size_t)t + (size_t)k];
                // a marked one finds this pair itself
                if (f != KN_NONE && EdgeFan(s, f).triangles[0] == t &&
                    (e < f || !IsEdgeMarked(s, f)) && IsEdgeOrphan(s, e, f))
                {
                    AddOrphan(s, kn_ccdEdgeEdge, e < f ? e : f, e < f ? f : e, result);
                }
            }
        }
    }
}

static bool IsKept(const knCcdStep* s, const knCcdOrphan* o)
{
    if (o->kind == kn_ccdVertexFace)
    {
        return !s->marks[o->v[0]] && o->v[2] < s->triangleCount && !IsFaceMarked(s, o->v[2]);
    }
    return !s->marks[o->v[0]] && !s->marks[o->v[1]] && !s->marks[o->v[2]] && !s->marks[o->v[3]];
}

// Numbers of edges may have changed.
static void DropMarked(knCcdStep* s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->orphanCount; ++i)
    {
        knCcdOrphan o = s->orphans[i];
        if (!IsKept(s, &o))
        {
            continue;
        }
        if (o.kind == kn_ccdEdgeEdge)
        {
            uint32_t a = knFindCcdEdge(s, o.v[0], o.v[1]), b = knFindCcdEdge(s, o.v[2], o.v[3]);
            o.a = a < b ? a : b;
            o.b = a < b ? b : a;
        }
        s->orphans[kept++] = o;
    }
    s->orphanCount = kept;
}

static knResult FindEdgeFans(knCcdStep* s)
{
    size_t most = 3 * (size_t)s->triangleCount;
    knResult result = knGrow(&s->allocator, (void**)&s->edgeFanStarts, &s->edgeFanStartCapacity,
                             s->edgeCount + (size_t)3, sizeof *s->edgeFanStarts);
    result = result == kn_success ? knGrow(&s->allocator, (void**)&s->edgeFans, &s->edgeFanCapacity,
                                           most + 1, sizeof *s->edgeFans)
                                  : result;
    if (result != kn_success)
    {
        return result;
    }
    memset(s->edgeFanStarts, 0, (s->edgeCount + (size_t)3) * sizeof *s->edgeFanStarts);
    for (size_t i = 0; i < most; ++i)
    {
        const uint32_t* e = &s->triangleEdges[i - i % 3];
        // of a triangle that is a segment two edges are one
        bool isAgain = (i % 3 > 0 && e[i % 3] == e[0]) || (i % 3 > 1 && e[i % 3] == e[1]);
        if (s->triangleEdges[i] != KN_NONE && !isAgain)
        {
            s->edgeFanStarts[s->triangleEdges[i] + 2] += 1;
        }
    }
    for (uint32_t e = 0; e < s->edgeCount; ++e)
    {
        s->edgeFanStarts[e + 2] += s->edgeFanStarts[e + 1];
    }
    for (size_t i = 0; i < most; ++i)
    {
        const uint32_t* e = &s->triangleEdges[i - i % 3];
        bool isAgain = (i % 3 > 0 && e[i % 3] == e[0]) || (i % 3 > 1 && e[i % 3] == e[1]);
        if (s->triangleEdges[i] != KN_NONE && !isAgain)
        {
            s->edgeFans[s->edgeFanStarts[s->triangleEdges[i] + 1]++] = (uint32_t)(i / 3);
        }
    }
    return kn_success;
}

knResult knUpdateOrphans(knCcdStep* s)
{
    knResult result = knFindFans(s);
    result = result == kn_success ? FindEdgeFans(s) : result;
    if (result != kn_success)
    {
        return result;
    }
    DropMarked(s);
    for (uint32_t v = 0; v < s->vertexCount; ++v)
    {
        if (s->marks[v])
        {
            FindFacesOf(s, v, &result);
        }
    }
    for (uint32_t t = 0; t < s->triangleCount; ++t)
    {
        if (IsFaceMarked(s, t))
        {
            FindVerticesOf(s, t, &result);
        }
    }
    for (uint32_t e = 0; e < s->edgeCount; ++e)
    {
        if (IsEdgeMarked(s, e))
        {
            FindEdgesOf(s, e, &result);
        }
    }
    return result;
}

static uint32_t CommonNode(const knCcdStep* s, uint32_t a, uint32_t b)
{
    // a parent stands before its children
    while (a != b)
    {
        if (a > b)
        {
            a = s->links[a].parent;
        }
        else
        {
            b = s->links[b].parent;
        }
    }
    return a;
}

knResult knListOrphans(knCcdStep* s)
{
    knResult result = knGrow(&s->allocator, (void**)&s->orphanLists, &s->orphanListCapacity,
                             s->nodeCount, sizeof *s->orphanLists);
    if (result != kn_success)
    {
        return result;
    }
    memset(s->orphanLists, 0xFF, s->nodeCount * sizeof *s->orphanLists);
    for (uint32_t i = 0; i < s->orphanCount; ++i)
    {
        knCcdOrphan* o = &s->orphans[i];
        bool isEdges = o->kind == kn_ccdEdgeEdge;
        uint32_t a = s->owners[isEdges ? s->vertexCount + o->a : o->a];
        uint32_t b = isEdges ? s->owners[s->vertexCount + o->b] : s->triangleLeaves[o->b];
        uint32_t node = CommonNode(s, s->leafNodes[a], s->leafNodes[b]);
        o->next = s->orphanLists[node];
        s->orphanLists[node] = i;
    }
    return kn_success;
}

void knMeetOrphans(const knCcdStep* s, uint32_t node, knCcdSink* sink)
{
    if (s->def.method != kn_ccdTriangles || (s->sabotage & kn_sabotageCcdOrphans))
    {
        return;
    }
    for (uint32_t i = s->orphanLists[node]; i != KN_NONE; i = s->orphans[i].next)
    {
        const knCcdOrphan* o = &s->orphans[i];
        sink->funnel.orphanTests += 1;
        knMeetByNumber(s, o->kind, o->a, o->b, sink);
    }
}
