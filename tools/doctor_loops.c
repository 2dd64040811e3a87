// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#include <string.h>

#define MAX_CHOICE 4096 // corners of a vertex among which a way out is chosen by angle

// What it takes to find, for every open half-edge, the one that follows it around its hole.
typedef struct Tracer
{
    const knTopology* topology;
    const knSoup* soup;
    uint32_t* fans;       // leading corner per corner
    uint32_t* components; // per triangle
    uint32_t* next;       // per half-edge; KN_NO_HALF when not open or not known
    bool* taken;          // per half-edge: it follows some other
} Tracer;

static uint32_t PreviousHalf(uint32_t half)
{
    return half % 3 == 0 ? half + 2 : half - 1;
}

static knDVec3 Direction(const Tracer* t, uint32_t from, uint32_t to)
{
    knDVec3 d = knDSub(knToDouble(t->soup->positions[to]), knToDouble(t->soup->positions[from]));
    double length = knDLength(d);
    return length > 0.0 ? knDScale(1.0 / length, d) : d;
}

// The best open half-edge to leave the vertex by, after arriving in `corner`. A vertex where holes
// meet has several fans; going on in another fan, the nearest by angle, keeps the holes apart and
// makes one fan of all once they are filled. Only the last step comes back to the first fan.
static uint32_t ChooseWayOut(const Tracer* t, uint32_t vertex, uint32_t corner, uint32_t firstFan)
{
    const knTopology* top = t->topology;
    uint32_t component = t->components[corner / 3], best = KN_NO_HALF, home = KN_NO_HALF;
    uint32_t arriving = knTopology_Origin(top, PreviousHalf(corner));
    knDVec3 back = Direction(t, vertex, arriving);
    double bestCosine = -2.0;
    for (uint32_t i = top->cornerStarts[vertex]; i < top->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t out = top->corners[i];
        if (t->taken[out] || !knTopology_IsOpen(top, out) || t->components[out / 3] != component)
        {
            continue;
        }
        if (knFindSet(t->fans, out) == firstFan)
        {
            home = out;
            continue;
        }
        double cosine = knDDot(back, Direction(t, vertex, knTopology_Target(top, out)));
        if (cosine > bestCosine)
        {
            best = out;
            bestCosine = cosine;
        }
    }
    return best != KN_NO_HALF ? best : home;
}

// The corner of a fan where its open half-edge arrives; KN_NO_HALF when there is none.
static uint32_t ArrivalCorner(const Tracer* t, uint32_t vertex, uint32_t fan)
{
    const knTopology* top = t->topology;
    for (uint32_t i = top->cornerStarts[vertex]; i < top->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t in = PreviousHalf(top->corners[i]);
        if (knTopology_IsOpen(top, in) && t->next[in] == KN_NO_HALF &&
            knFindSet(t->fans, top->corners[i]) == fan)
        {
            return top->corners[i];
        }
    }
    return KN_NO_HALF;
}

// The way out of a fan after arriving in `corner`, walking around the vertex.
static uint32_t WalkFan(const knTopology* top, uint32_t vertex, uint32_t corner)
{
    uint32_t most = top->cornerStarts[vertex + 1] - top->cornerStarts[vertex];
    for (uint32_t i = 0; i < most && knTopology_Origin(top, corner) == vertex; ++i)
    {
        if (knTopology_IsOpen(top, corner))
        {
            return corner;
        }
        uint32_t mate = knTopology_Mate(top, corner);
        if (mate == KN_NO_HALF)
        {
            break;
        }
        corner = knNextHalf(mate);
    }
    return KN_NO_HALF;
}

// A hub: choosing would be quadratic, so every fan is closed by itself.
static void LinkHub(Tracer* t, uint32_t vertex)
{
    const knTopology* top = t->topology;
    for (uint32_t i = top->cornerStarts[vertex]; i < top->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t in = PreviousHalf(top->corners[i]);
        if (knTopology_IsOpen(top, in))
        {
            t->next[in] = WalkFan(top, vertex, top->corners[i]);
        }
    }
}

static void LinkVertex(Tracer* t, uint32_t vertex)
{
    const knTopology* top = t->topology;
    if (top->cornerStarts[vertex + 1] - top->cornerStarts[vertex] > MAX_CHOICE)
    {
        LinkHub(t, vertex);
        return;
    }
    for (uint32_t i = top->cornerStarts[vertex]; i < top->cornerStarts[vertex + 1]; ++i)
    {
        uint32_t corner = top->corners[i];
        uint32_t in = PreviousHalf(corner);
        if (!knTopology_IsOpen(top, in) || t->next[in] != KN_NO_HALF)
        {
            continue;
        }
        uint32_t firstFan = knFindSet(t->fans, corner), fan = KN_NONE;
        while (corner != KN_NO_HALF && fan != firstFan)
        {
            uint32_t out = ChooseWayOut(t, vertex, corner, firstFan);
            if (out == KN_NO_HALF)
            {
                break;
            }
            t->next[PreviousHalf(corner)] = out;
            t->taken[out] = true;
            fan = knFindSet(t->fans, out);
            corner = ArrivalCorner(t, vertex, fan);
        }
    }
}

static void CollectLoops(const Tracer* t, knLoops* loops, bool* seen)
{
    size_t count = 0;
    for (uint32_t h = 0; h < 3 * t->topology->triangleCount; ++h)
    {
        if (seen[h] || !knTopology_IsOpen(t->topology, h))
        {
            continue;
        }
        size_t first = count;
        uint32_t at = h;
        while (at != KN_NO_HALF && !seen[at])
        {
            seen[at] = true;
            loops->halves[count++] = at;
            at = t->next[at];
        }
        if (at != h || count - first < 3)
        {
            loops->brokenCount += 1;
            count = first;
            continue;
        }
        loops->starts[++loops->loopCount] = (uint32_t)count;
    }
}

static knResult Trace(Tracer* t, knLoops* loops, bool* onRim)
{
    const knTopology* top = t->topology;
    size_t halves = 3 * top->triangleCount;
    knJoinFans(top, NULL, t->fans);
    knNumberComponents(top, t->components);
    memset(t->next, 0xFF, halves * sizeof(uint32_t));
    knTopology_MarkRim(top, onRim);
    for (uint32_t v = 0; v < top->vertexCount; ++v)
    {
        if (onRim[v])
        {
            LinkVertex(t, v);
        }
    }
    bool* seen = knTake(&top->allocator, halves, sizeof(bool));
    if (seen)
    {
        CollectLoops(t, loops, seen);
    }
    knGive(&top->allocator, seen, halves, sizeof(bool));
    return seen ? kn_success : kn_errorMemory;
}

knResult knTraceLoops(knLoops* loops, const knTopology* topology, const knSoup* soup)
{
    const knAllocator* a = &topology->allocator;
    size_t halves = 3 * topology->triangleCount;
    knLoops traced = {.halves = knTake(a, halves, sizeof(uint32_t)),
                      .starts = knTake(a, halves, sizeof(uint32_t))};
    Tracer t = {.topology = topology,
                .soup = soup,
                .fans = knTake(a, halves, sizeof(uint32_t)),
                .components = knTake(a, topology->triangleCount, sizeof(uint32_t)),
                .next = knTake(a, halves, sizeof(uint32_t)),
                .taken = knTake(a, halves, sizeof(bool))};
    bool* onRim = knTake(a, topology->vertexCount, sizeof(bool));
    bool ok =
        traced.halves && traced.starts && t.fans && t.components && t.next && t.taken && onRim;
    knResult result = ok ? Trace(&t, &traced, onRim) : kn_errorMemory;
    knGive(a, t.fans, halves, sizeof(uint32_t));
    knGive(a, t.components, topology->triangleCount, sizeof(uint32_t));
    knGive(a, t.next, halves, sizeof(uint32_t));
    knGive(a, t.taken, halves, sizeof(bool));
    knGive(a, onRim, topology->vertexCount, sizeof(bool));
    if (result == kn_success)
    {
        *loops = traced;
    }
    else
    {
        knDestroyLoops(&traced, topology);
    }
    return result;
}

void knDestroyLoops(knLoops* loops, const knTopology* topology)
{
    size_t halves = 3 * topology->triangleCount;
    knGive(&topology->allocator, loops->halves, halves, sizeof(uint32_t));
    knGive(&topology->allocator, loops->starts, halves, sizeof(uint32_t));
    *loops = (knLoops){0};
}
