// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

#include <float.h>

#define MAX_PARTS   64 // of one edge that are looked at
#define REFINEMENTS 8
#define STEP        4.0f // epsilons; parts of edges shorter than this are not divided further

// A part of an edge: its middle and half its length, as shares of the edge.
typedef struct Part
{
    float middle;
    float half;
} Part;

// A search along an edge of the sampled piece.
typedef struct EdgeSearch
{
    knQueryWalk* walk;
    knVec3 a, b; // in the other piece's frame
    float step;  // m; shorter parts are not divided
    float room;  // m; bounds of so much are asked for
    float clear; // m, of what was looked at: no point of it is nearer
} EdgeSearch;

// How much room there is around a point of the edge, at least.
static float RoomAt(EdgeSearch* search, knVec3 p, float radius)
{
    return knFieldQuery_Clearance(&search->walk->field, p, radius, radius + search->room);
}

// Looks for a point of the edge inside the other piece, coarse to fine, where spheres around the
// parts touch it. What lies within half the room of the middle needs no further look.
static bool FindInside(EdgeSearch* search, Part* found)
{
    float length = knDistance(search->a, search->b);
    Part stack[16];
    int depth = 0;
    stack[depth++] = (Part){0.5f, 0.5f};
    for (int i = 0; i < MAX_PARTS && depth > 0; ++i)
    {
        Part part = stack[--depth];
        knVec3 p = knLerp(search->a, search->b, part.middle);
        float radius = part.half * length;
        float room = RoomAt(search, p, radius);
        if (room > radius)
        {
            search->clear = fminf(search->clear, room - radius);
            continue;
        }
        if (!(room > 0.0f) && knFieldQuery_Inside(&search->walk->field, p))
        {
            *found = part;
            search->clear = -FLT_MAX;
            return true;
        }
        if (radius > search->step && depth + 2 <= 16)
        {
            float free = room > 0.0f ? 0.5f * room : 0.0f;
            search->clear = fminf(search->clear, free > 0.0f ? free : FLT_MAX);
            float half = 0.5f * (part.half - free / length), away = part.half - half;
            stack[depth++] = (Part){part.middle + away, half};
            stack[depth++] = (Part){part.middle - away, half};
        }
        else
        {
            search->clear = -FLT_MAX;
        }
    }
    search->clear = depth > 0 ? -FLT_MAX : search->clear;
    return false;
}

static float Depth(knQueryWalk* walk, knVec3 p)
{
    knFieldContact contact;
    return knFieldQuery_Penetration(&walk->field, p, &contact) ? -contact.distance : -1.0f;
}

// Towards the deepest point nearby, by halving steps.
static float Deepest(knQueryWalk* walk, knVec3 a, knVec3 b, Part part)
{
    float best = part.middle;
    float depth = Depth(walk, knLerp(a, b, best));
    float step = part.half;
    for (int i = 0; i < REFINEMENTS; ++i)
    {
        for (int sign = -1; sign <= 1; sign += 2)
        {
            float t = fminf(fmaxf(best + (float)sign * step, 0.0f), 1.0f);
            float tried = Depth(walk, knLerp(a, b, t));
            best = tried > depth ? t : best;
            depth = tried > depth ? tried : depth;
        }
        step *= 0.5f;
    }
    return best;
}

// Between two boxes, along the axis that has most.
static float BoxRoom(knBox a, knBox b)
{
    knVec3 v = knMax(knSub(a.lower, b.upper), knSub(b.lower, a.upper));
    return fmaxf(v.x, fmaxf(v.y, v.z));
}

// Adds the contact, if there is one. Returns what the edge may move until there can be one.
static float TestEdge(knQueryRun* run, knQueryWalk* walk, uint32_t index)
{
    const knPieceEdge* known = &walk->sampled->family->edges[walk->sampled->fragment].edges[index];
    knBox box = knFragmentField_Box(walk->other->family->field, walk->other->fragment);
    EdgeSearch search = {.walk = walk,
                         .a = knQueryWalk_ToOther(walk, known->a),
                         .b = knQueryWalk_ToOther(walk, known->b),
                         .step = STEP * run->selection.epsilon,
                         .room = run->frontRoom,
                         .clear = FLT_MAX};
    float room = BoxRoom(box, (knBox){knMin(search.a, search.b), knMax(search.a, search.b)});
    if (room > 0.0f)
    {
        return room;
    }
    run->result->counters.edges += 1;
    Part part;
    // an end inside is a point of the tree, and a contact already
    if (!FindInside(&search, &part) || knFieldQuery_Inside(&walk->field, search.a) ||
        knFieldQuery_Inside(&walk->field, search.b))
    {
        return search.clear;
    }
    knVec3 p = knLerp(search.a, search.b, Deepest(walk, search.a, search.b, part));
    knFieldContact contact;
    if (knFieldQuery_Penetration(&walk->field, p, &contact))
    {
        knQueryRun_Add(run, walk, p, &contact, known->id, kn_contactEdge);
    }
    return search.clear;
}

// The sharp edges of the sampled piece; null when nobody has listed them.
static const knPieceEdges* ListOf(const knQueryWalk* walk)
{
    const knFamily* family = walk->sampled->family;
    uint32_t fragment = walk->sampled->fragment;
    return fragment < family->edgeCapacity ? &family->edges[fragment] : NULL;
}

void knQueryRun_TestEdges(knQueryRun* run, knQueryWalk* walk)
{
    const knPieceEdges* list = ListOf(walk);
    // first in the frame of the edges: most are far from the other piece
    knBox near = knQueryWalk_BoxInOther(&run->walks[1 - walk->side]);
    for (uint32_t i = 0; list && i < list->count && !run->selection.isStopped; ++i)
    {
        knBox own = {knMin(list->edges[i].a, list->edges[i].b),
                     knMax(list->edges[i].a, list->edges[i].b)};
        knVec3 middle = knLerp(list->edges[i].a, list->edges[i].b, 0.5f);
        float half = 0.5f * knDistance(list->edges[i].a, list->edges[i].b);
        if (knBox_Overlaps(near, own) && !knQueryWalk_IsBeyond(walk, middle, half))
        {
            (void)TestEdge(run, walk, i);
        }
    }
}

// The bounds of all edges as they are now.
static void ShrinkEdgeBounds(const knQueryWalk* walk, const knPieceEdges* list, knFrontSide* side)
{
    knFrontMove m = knMakeFrontMove(walk, &side->edgePose);
    for (uint32_t i = 0; i < list->count; ++i)
    {
        // all of it moves no more than the end that moves most
        const knPieceEdge* edge = &list->edges[i];
        float a = knLengthSquared(knAdd(knMulMV(m.turn, edge->a), m.shift));
        float b = knLengthSquared(knAdd(knMulMV(m.turn, edge->b), m.shift));
        side->edgeBounds[i] -= sqrtf(a > b ? a : b) * 1.00001f + m.slack;
    }
}

// And lifts those that half-spaces know to be far.
static void LiftEdgeBounds(const knQueryRun* run, const knQueryWalk* walk, const knPieceEdges* list,
                           knFrontSide* side)
{
    for (uint32_t k = 0; k < walk->boundCount; ++k)
    {
        knVec3 n = walk->bounds[k].normal;
        float limit = walk->bounds[k].limit - run->boundMargin;
        for (uint32_t i = 0; i < list->count; ++i)
        {
            float a = knDot(n, list->edges[i].a), b = knDot(n, list->edges[i].b);
            float beyond = (a < b ? a : b) - limit;
            side->edgeBounds[i] = beyond > side->edgeBounds[i] ? beyond : side->edgeBounds[i];
        }
    }
}

static void BeginEdges(const knQueryRun* run, const knQueryWalk* walk, const knPieceEdges* list,
                       knFrontSide* side)
{
    if (side->edgeCount > 0)
    {
        ShrinkEdgeBounds(walk, list, side);
    }
    for (uint32_t i = side->edgeCount; i < list->count; ++i)
    {
        side->edgeBounds[i] = 0.0f;
    }
    side->edgeCount = list->count;
    side->edgePose = (knFrontPose){walk->rotation, walk->offset};
    LiftEdgeBounds(run, walk, list, side);
}

void knQueryRun_TestFrontEdges(knQueryRun* run, knQueryWalk* walk)
{
    const knPieceEdges* list = ListOf(walk);
    knFrontSide* side = &run->front->sides[walk->side];
    if (!list || list->count == 0)
    {
        return;
    }
    if (list->count > side->edgeCapacity)
    {
        side->edgesWanted = list->count;
        knQueryRun_TestEdges(run, walk);
        return;
    }
    BeginEdges(run, walk, list, side);
    for (uint32_t i = 0; i < list->count && !run->selection.isStopped; ++i)
    {
        if (!(side->edgeBounds[i] > 0.0f))
        {
            side->edgeBounds[i] = TestEdge(run, walk, i);
        }
    }
}
