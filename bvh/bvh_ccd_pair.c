// SPDX-License-Identifier: Zlib
#include "bvh/bvh_ccd_internal.h"

// Elementary tests of a step, one pair at a time, and the list of what was found.

typedef struct Point
{
    double start[3], end[3];
} Point;

static void AddFound(knCcdSink* sink, uint64_t key, const knCcdAnswer* answer)
{
    sink->funnel.exactTests += 1;
    sink->funnel.steps += answer->stepCount;
    sink->funnel.cappedTests += answer->isCapped;
    if (sink->log && sink->logCount < sink->logCapacity)
    {
        sink->log[sink->logCount++] = key;
    }
    if (!answer->isContact)
    {
        return;
    }
    if (sink->firstOnly)
    {
        bool isFirst = sink->count == 0 || answer->time < sink->found[0].time ||
                       (answer->time == sink->found[0].time && key < sink->found[0].key);
        sink->found[0] = isFirst ? (knCcdFound){key, answer->time} : sink->found[0];
        sink->until = sink->found[0].time;
        sink->count = 1;
        return;
    }
    if (sink->count < sink->capacity)
    {
        sink->found[sink->count] = (knCcdFound){key, answer->time};
    }
    sink->count += 1;
}

// By directions; pairs of points are those of the features: a with every b.
static knCcdAnswer MeetConservative(const knCcdSink* sink, const Point* p, knCcdKind kind)
{
    knCcdCorners c;
    c.separation = sink->separation;
    c.slack = 0.0;
    c.sabotage = sink->sabotage;
    uint32_t aCount = kind == kn_ccdEdgeEdge ? 2 : 1;
    c.count = kind == kn_ccdEdgeEdge ? 4 : 3;
    for (uint32_t i = 0; i < c.count; ++i)
    {
        const Point *a = &p[i % aCount], *b = &p[aCount + i / aCount];
        for (int k = 0; k < 3; ++k)
        {
            c.start[i][k] = a->start[k] - b->start[k];
            c.end[i][k] = a->end[k] - b->end[k];
        }
    }
    return knMeetCorners(&c, sink->until);
}

static void MeetPoints(knCcdSink* sink, const Point p[4], uint64_t key, knCcdKind kind)
{
    knCcdAnswer answer;
    if (sink->solver == kn_ccdConservative)
    {
        answer = MeetConservative(sink, p, kind);
    }
    else
    {
        knCcdTest test = {.kind = kind};
        for (int i = 0; i < 4; ++i)
        {
            test.start[i] = knMakeDVec3(p[i].start[0], p[i].start[1], p[i].start[2]);
            test.end[i] = knMakeDVec3(p[i].end[0], p[i].end[1], p[i].end[2]);
        }
        answer = knMeetCubic(&test, sink->solver == kn_ccdFiltered);
    }
    AddFound(sink, key, &answer);
}

static Point PointAt(knDVec3 a, knDVec3 b)
{
    return (Point){{a.x, a.y, a.z}, {b.x, b.y, b.z}};
}

static void TakeLane(Point* p, const knCcdMoving* v, int lane)
{
    for (int k = 0; k < 3; ++k)
    {
        p->start[k] = (double)v->start[k][lane];
        p->end[k] = (double)v->end[k][lane];
    }
}

void knMeetEdgeLanes(const knCcdEdges* a, int i, const knCcdEdges* b, int k, knCcdSink* sink)
{
    // the lower edge comes first, so that the answer does not depend on the tree
    bool isTurned = a->head.id[i] > b->head.id[k];
    const knCcdEdges *first = isTurned ? b : a, *second = isTurned ? a : b;
    int x = isTurned ? k : i, y = isTurned ? i : k;
    Point p[4];
    for (int c = 0; c < 4; ++c)
    {
        const knCcdEdges* e = c < 2 ? first : second;
        int lane = c < 2 ? x : y;
        uint32_t v = e->vertex[c % 2][lane];
        if (sink->exactStart)
        {
            p[c] = PointAt(sink->exactStart[v], sink->exactEnd[v]);
            continue;
        }
        TakeLane(&p[c], &e->v[c % 2], lane);
    }
    uint64_t key = knCcdKey(kn_ccdEdgeEdge, first->head.id[x], second->head.id[y]);
    MeetPoints(sink, p, key, kn_ccdEdgeEdge);
}

void knMeetFaceLanes(const knCcdVertices* a, int i, const knCcdFaces* b, int k, knCcdSink* sink)
{
    Point p[4];
    TakeLane(&p[0], a->v, i);
    for (int c = 0; c < 3; ++c)
    {
        TakeLane(&p[c + 1], &b->v[c], k);
    }
    for (int c = 0; c < 4 && sink->exactStart; ++c)
    {
        uint32_t v = c == 0 ? a->head.id[i] : b->vertex[c - 1][k];
        p[c] = PointAt(sink->exactStart[v], sink->exactEnd[v]);
    }
    uint64_t key = knCcdKey(kn_ccdVertexFace, a->head.id[i], b->head.id[k]);
    MeetPoints(sink, p, key, kn_ccdVertexFace);
}

static void TakeVertex(Point* p, const knCcdStepDef* def, uint32_t v)
{
    *p = PointAt(knCcdVertex(def, v, 0), knCcdVertex(def, v, 1));
}

void knMeetByNumber(const knCcdStep* s, knCcdKind kind, uint32_t a, uint32_t b, knCcdSink* sink)
{
    Point p[4];
    bool isEdges = kind == kn_ccdEdgeEdge;
    for (int i = 0; i < 2; ++i)
    {
        TakeVertex(&p[i], &s->def, isEdges ? s->edges[a].v[i] : (i ? s->triangles[b].v[0] : a));
        TakeVertex(&p[i + 2], &s->def, isEdges ? s->edges[b].v[i] : s->triangles[b].v[i + 1]);
    }
    MeetPoints(sink, p, knCcdKey(kind, a, b), kind);
}

#define DIGIT_BITS  11
#define DIGIT_COUNT (1 << DIGIT_BITS)

// One pass of a radix sort; false when all digits are equal and nothing had to move.
static bool SortDigit(const knCcdFound* from, knCcdFound* to, size_t count, int shift)
{
    size_t starts[DIGIT_COUNT] = {0};
    for (size_t i = 0; i < count; ++i)
    {
        starts[from[i].key >> shift & (DIGIT_COUNT - 1)] += 1;
    }
    if (count == 0 || starts[from[0].key >> shift & (DIGIT_COUNT - 1)] == count)
    {
        return false;
    }
    size_t sum = 0;
    for (int i = 0; i < DIGIT_COUNT; ++i)
    {
        size_t here = starts[i];
        starts[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; ++i)
    {
        to[starts[from[i].key >> shift & (DIGIT_COUNT - 1)]++] = from[i];
    }
    return true;
}

const knCcdFound* knSortFound(knCcdFound* found, knCcdFound* other, size_t count)
{
    for (int shift = 0; shift < 2 * KN_CCD_FEATURE_BITS + 1; shift += DIGIT_BITS)
    {
        if (SortDigit(found, other, count, shift))
        {
            knCcdFound* t = found;
            found = other;
            other = t;
        }
    }
    return found;
}
