// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

#define PULL       1e-3 // of the way to the middle of the neighbours
#define MAX_ROUNDS 3

// Pairs the half-edges of edges with more than two: each with the next one around the edge through
// the inside of the solid, so that what touches in the edge only can be taken apart.
typedef struct Pairing
{
    knDoctor* doctor;
    const knTopology* topology;
    uint32_t* mates; // per half-edge
    uint32_t* order; // scratch, half-edges around one edge
    double* angles;  // scratch
    bool* bad;       // per triangle: at an edge that cannot be paired
    size_t badEdges;
} Pairing;

static knDVec3 Perpendicular(knDVec3 v, knDVec3 axis)
{
    return knDSub(v, knDScale(knDDot(v, axis) / knDDot(axis, axis), axis));
}

static void SortAround(Pairing* p, const uint32_t* halves, uint32_t count)
{
    const knTopology* t = p->topology;
    const knVec3* positions = p->doctor->soup->positions;
    uint32_t a = knTopology_Origin(t, halves[0]), b = knTopology_Target(t, halves[0]);
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    knDVec3 o = knToDouble(positions[low]);
    knDVec3 axis = knDSub(knToDouble(positions[high]), o), u = {0.0, 0.0, 0.0};
    axis = knDScale(1.0 / knDLength(axis), axis);
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t apex = knTopology_Target(t, knNextHalf(halves[i]));
        knDVec3 arm = Perpendicular(knDSub(knToDouble(positions[apex]), o), axis);
        u = i == 0 ? arm : u;
        double angle = atan2(knDDot(knDCross(u, arm), axis), knDDot(u, arm));
        angle = i == 0 ? 0.0 : angle < 0.0 ? angle + 6.283185307179586 : angle;
        uint32_t k = i;
        for (; k > 0 && p->angles[k - 1] > angle; --k)
        {
            p->angles[k] = p->angles[k - 1];
            p->order[k] = p->order[k - 1];
        }
        p->angles[k] = angle;
        p->order[k] = halves[i];
    }
}

// A triangle that runs from the high end to the low has the solid before it, the other kind behind:
// so one of the first kind goes with the next one, which must be of the second.
static bool PairAround(Pairing* p, uint32_t count)
{
    const knTopology* t = p->topology;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t half = p->order[i], next = p->order[(i + 1) % count];
        bool down = knTopology_Origin(t, half) > knTopology_Target(t, half);
        bool nextDown = knTopology_Origin(t, next) > knTopology_Target(t, next);
        if (down == nextDown)
        {
            return false;
        }
        if (down)
        {
            p->mates[half] = next;
            p->mates[next] = half;
        }
    }
    return true;
}

static void PairEdges(Pairing* p)
{
    const knTopology* t = p->topology;
    p->badEdges = 0;
    memset(p->bad, 0, t->triangleCount * sizeof(bool));
    for (uint32_t h = 0; h < 3 * t->triangleCount; ++h)
    {
        p->mates[h] = knTopology_Mate(t, h);
    }
    for (size_t e = 0; e < t->edgeCount; ++e)
    {
        uint32_t count = knTopology_EdgeSize(t, e);
        if (count <= 2)
        {
            continue;
        }
        const uint32_t* halves = &t->edgeHalves[t->edgeStarts[e]];
        // sorting by insertion is quadratic: an edge of that many triangles is beyond help anyway
        bool paired = count <= 64;
        if (paired)
        {
            SortAround(p, halves, count);
            paired = PairAround(p, count);
        }
        for (uint32_t i = 0; i < count && !paired; ++i)
        {
            p->mates[halves[i]] = KN_NO_HALF;
            p->bad[halves[i] / 3] = true;
        }
        p->badEdges += !paired;
    }
}

static knDVec3 FanCenter(const knSoup* soup, const knTopology* t, uint32_t vertex, uint32_t* fans,
                         uint32_t fan)
{
    knDVec3 sum = {0.0, 0.0, 0.0};
    double weight = 0.0;
    for (uint32_t i = t->cornerStarts[vertex]; i < t->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t half = t->corners[i];
        if (knFindSet(fans, half) == fan)
        {
            uint32_t a = knTopology_Target(t, half);
            uint32_t b = knTopology_Target(t, knNextHalf(half));
            sum =
                knDAdd(sum, knDAdd(knToDouble(soup->positions[a]), knToDouble(soup->positions[b])));
            weight += 2.0;
        }
    }
    return knDScale(1.0 / weight, sum);
}

typedef struct Splitter
{
    knSoup* soup;
    const knTopology* topology;
    uint32_t* fans;
    uint32_t* copies; // per leading corner, the vertex its fan gets; KN_NONE when it keeps its own
    knVec3* moved;    // per vertex, its new place: neighbours must see the old one until the end
    size_t movedCapacity;
} Splitter;

// Gives every fan of the vertex a vertex of its own, pulled a little into the fan: two things in
// one place would still touch.
static knResult SplitVertex(Splitter* s, uint32_t vertex)
{
    knSoup* soup = s->soup;
    const knTopology* t = s->topology;
    for (uint32_t i = t->cornerStarts[vertex]; i < t->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t fan = knFindSet(s->fans, t->corners[i]);
        if (s->copies[fan] != KN_NONE)
        {
            continue;
        }
        bool first = i == t->cornerStarts[vertex];
        uint32_t copy = vertex;
        knResult result =
            first ? kn_success : knSoup_AddPosition(soup, soup->positions[vertex], &copy);
        void* items = s->moved;
        result = result == kn_success ? knGrow(&soup->allocator, &items, &s->movedCapacity,
                                               soup->positionCapacity, sizeof(knVec3))
                                      : result;
        s->moved = items;
        if (result != kn_success)
        {
            return result;
        }
        soup->vertexSources[copy] = soup->vertexSources[vertex];
        knDVec3 p = knToDouble(soup->positions[vertex]);
        knDVec3 way = knDSub(FanCenter(soup, t, vertex, s->fans, fan), p);
        s->moved[copy] = knToFloat(knDAdd(p, knDScale(PULL, way)));
        s->copies[fan] = copy;
    }
    return kn_success;
}

static void ApplyCopies(const Splitter* s)
{
    for (uint32_t c = 0; c < 3 * s->topology->triangleCount; ++c)
    {
        uint32_t copy = s->copies[knFindSet(s->fans, c)];
        if (copy != KN_NONE)
        {
            s->soup->triangles[c / 3].v[c % 3] = copy;
            s->soup->positions[copy] = s->moved[copy];
        }
    }
}

static knResult SplitFlagged(knSoup* soup, const knTopology* t, uint32_t* fans, const bool* flags)
{
    const knAllocator* a = &soup->allocator;
    size_t corners = 3 * t->triangleCount;
    Splitter s = {
        .soup = soup, .topology = t, .fans = fans, .copies = knTake(a, corners, sizeof(uint32_t))};
    knResult result = s.copies ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        memset(s.copies, 0xFF, corners * sizeof(uint32_t));
    }
    for (uint32_t v = 0; v < t->vertexCount && result == kn_success; ++v)
    {
        result = flags[v] ? SplitVertex(&s, v) : kn_success;
    }
    if (result == kn_success)
    {
        ApplyCopies(&s);
    }
    knRelease(a, s.moved, s.movedCapacity, sizeof(knVec3));
    knGive(a, s.copies, corners, sizeof(uint32_t));
    return result;
}

// Only vertices of the edges in question; other vertices have their own step.
static void KeepEdgeVertices(const knTopology* t, bool* flags, bool* atEdge)
{
    for (size_t e = 0; e < t->edgeCount; ++e)
    {
        if (knTopology_EdgeSize(t, e) > 2)
        {
            uint32_t half = t->edgeHalves[t->edgeStarts[e]];
            atEdge[knTopology_Origin(t, half)] = true;
            atEdge[knTopology_Target(t, half)] = true;
        }
    }
    for (size_t v = 0; v < t->vertexCount; ++v)
    {
        flags[v] = flags[v] && atEdge[v];
    }
}

static knResult SplitPaired(Pairing* p)
{
    const knTopology* t = p->topology;
    const knAllocator* a = &t->allocator;
    uint32_t* fans = knTake(a, 3 * t->triangleCount, sizeof(uint32_t));
    bool* flags = knTake(a, t->vertexCount, sizeof(bool));
    bool* atEdge = knTake(a, t->vertexCount, sizeof(bool));
    knResult result = fans && flags && atEdge ? kn_success : kn_errorMemory;
    if (result == kn_success)
    {
        knJoinFans(t, p->mates, fans);
        knCountSplitVertices(t, fans, flags);
        KeepEdgeVertices(t, flags, atEdge);
        result = SplitFlagged(p->doctor->soup, t, fans, flags);
    }
    knGive(a, fans, 3 * t->triangleCount, sizeof(uint32_t));
    knGive(a, flags, t->vertexCount, sizeof(bool));
    knGive(a, atEdge, t->vertexCount, sizeof(bool));
    return result;
}

static size_t ReportBadEdges(knDoctor* doctor, const knTopology* t, bool report)
{
    size_t count = 0;
    for (size_t e = 0; e < t->edgeCount; ++e)
    {
        if (knTopology_EdgeSize(t, e) > 2)
        {
            count += 1;
            if (report)
            {
                knDoctor_FoundTriangle(doctor, kn_defectNonManifoldEdge,
                                       t->edgeHalves[t->edgeStarts[e]] / 3);
            }
        }
    }
    return count;
}

// Few triangles and little area: then filling the gap cannot change the shape much.
static bool MayCut(const knDoctor* doctor, const bool* flags)
{
    const knSoup* soup = doctor->soup;
    size_t count = 0;
    double part = 0.0, whole = 0.0;
    for (size_t t = 0; t < soup->triangleCount; ++t)
    {
        double area = knSoup_TriangleArea(soup, t);
        count += flags[t];
        whole += area;
        part += flags[t] ? area : 0.0;
    }
    return knDoctor_IsFew(doctor, count) && part <= KN_MAX_CHANGE * whole;
}

// Split what pairs up; cut out what does not, if it is little: the holes are filled later.
static knResult TreatEdges(Pairing* p, bool* cut)
{
    knDoctor* doctor = p->doctor;
    PairEdges(p);
    if (p->badEdges == 0)
    {
        return SplitPaired(p);
    }
    if (!MayCut(doctor, p->bad))
    {
        knDoctor_Judge(doctor, kn_defectNonManifoldEdge, kn_actionRefuse,
                       "too many to repair: separate the parts that share an edge, or delete inner "
                       "faces, in your modelling tool");
        return kn_success;
    }
    *cut = true;
    return kn_success;
}

static knResult EdgeRound(knDoctor* doctor, bool report, bool* again)
{
    const knAllocator* a = &doctor->soup->allocator;
    knTopology topology;
    *again = false;
    knResult result = knBuildTopology(&topology, doctor->soup);
    if (result != kn_success || ReportBadEdges(doctor, &topology, report) == 0)
    {
        result == kn_success ? knDestroyTopology(&topology) : (void)0;
        return result;
    }
    size_t triangles = topology.triangleCount, halves = 3 * triangles;
    Pairing p = {.doctor = doctor,
                 .topology = &topology,
                 .mates = knTake(a, halves, sizeof(uint32_t)),
                 .order = knTake(a, halves, sizeof(uint32_t)),
                 .angles = knTake(a, halves, sizeof(double)),
                 .bad = knTake(a, triangles, sizeof(bool))};
    bool cut = false;
    result = p.mates && p.order && p.angles && p.bad ? kn_success : kn_errorMemory;
    result = result == kn_success && !doctor->blocked ? TreatEdges(&p, &cut) : result;
    knDestroyTopology(&topology);
    if (result == kn_success && cut)
    {
        result = knDoctor_Drop(doctor, p.bad);
    }
    *again = result == kn_success && !doctor->blocked;
    knGive(a, p.mates, halves, sizeof(uint32_t));
    knGive(a, p.order, halves, sizeof(uint32_t));
    knGive(a, p.angles, halves, sizeof(double));
    knGive(a, p.bad, triangles, sizeof(bool));
    return result;
}

knResult knDoctor_SplitNonManifold(knDoctor* doctor)
{
    bool again = true;
    knResult result = kn_success;
    for (int round = 0; again && round < MAX_ROUNDS && result == kn_success; ++round)
    {
        result = EdgeRound(doctor, round == 0, &again);
    }
    if (doctor->report->defects[kn_defectNonManifoldEdge].action == kn_actionRefuse)
    {
        return result;
    }
    if (again || doctor->blocked)
    {
        knDoctor_Judge(doctor, kn_defectNonManifoldEdge, kn_actionRefuse,
                       "separate the parts that share an edge, or delete inner faces, in your "
                       "modelling tool");
        return result;
    }
    knDoctor_Judge(doctor, kn_defectNonManifoldEdge, kn_actionRepair,
                   "parts that touch in an edge are pulled apart a little, inner faces cut out");
    return result;
}

knResult knDoctor_SplitVertices(knDoctor* doctor)
{
    knTopology t;
    knResult result = knBuildTopology(&t, doctor->soup);
    if (result != kn_success)
    {
        return result;
    }
    const knAllocator* a = &doctor->soup->allocator;
    uint32_t* fans = knTake(a, 3 * t.triangleCount, sizeof(uint32_t));
    bool* flags = knTake(a, t.vertexCount, sizeof(bool));
    result = fans && flags ? kn_success : kn_errorMemory;
    size_t found = 0;
    if (result == kn_success)
    {
        knJoinFans(&t, NULL, fans);
        found = knCountSplitVertices(&t, fans, flags);
    }
    for (size_t v = 0; found > 0 && v < t.vertexCount; ++v)
    {
        if (flags[v])
        {
            knDoctor_FoundVertex(doctor, kn_defectNonManifoldVertex, v);
        }
    }
    if (found > 0 && !doctor->blocked)
    {
        result = SplitFlagged(doctor->soup, &t, fans, flags);
    }
    knDoctor_Judge(doctor, kn_defectNonManifoldVertex,
                   doctor->blocked ? kn_actionRefuse : kn_actionRepair,
                   "parts that touch in a vertex are pulled apart by a thousandth of their edges");
    knGive(a, fans, 3 * t.triangleCount, sizeof(uint32_t));
    knGive(a, flags, t.vertexCount, sizeof(bool));
    knDestroyTopology(&t);
    return result;
}
