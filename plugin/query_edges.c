// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

#define MAX_PARTS   64 // of one edge that are looked at
#define REFINEMENTS 8
#define STEP        4.0f // epsilons; parts of edges shorter than this are not divided further

// A part of an edge: its middle and half its length, as shares of the edge.
typedef struct Part
{
    float middle;
    float half;
} Part;

// Looks for a point of the edge inside the other piece, coarse to fine, where spheres around the
// parts touch it.
static bool FindInside(knQueryWalk* walk, knVec3 a, knVec3 b, float step, Part* found)
{
    float length = knDistance(a, b);
    Part stack[16];
    int depth = 0;
    stack[depth++] = (Part){0.5f, 0.5f};
    for (int i = 0; i < MAX_PARTS && depth > 0; ++i)
    {
        Part part = stack[--depth];
        knVec3 p = knLerp(a, b, part.middle);
        float radius = part.half * length;
        if (!knFieldQuery_SphereTest(&walk->field, p, radius))
        {
            continue;
        }
        if (knFieldQuery_Inside(&walk->field, p))
        {
            *found = part;
            return true;
        }
        if (radius > step && depth + 2 <= 16)
        {
            float half = 0.5f * part.half;
            stack[depth++] = (Part){part.middle + half, half};
            stack[depth++] = (Part){part.middle - half, half};
        }
    }
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

void knQueryRun_TestEdge(knQueryRun* run, knQueryWalk* walk, uint32_t index)
{
    const knPieceEdge* known = &walk->sampled->family->edges[walk->sampled->fragment].edges[index];
    knBox box = knFragmentField_Box(walk->other->family->field, walk->other->fragment);
    knVec3 a = knQueryWalk_ToOther(walk, known->a);
    knVec3 b = knQueryWalk_ToOther(walk, known->b);
    knBox edge = {knMin(a, b), knMax(a, b)};
    if (!knBox_Overlaps(box, edge))
    {
        return;
    }
    run->result->counters.edges += 1;
    Part part;
    // an end inside is a point of the tree, and a contact already
    if (!FindInside(walk, a, b, STEP * run->selection.epsilon, &part) ||
        knFieldQuery_Inside(&walk->field, a) || knFieldQuery_Inside(&walk->field, b))
    {
        return;
    }
    knVec3 p = knLerp(a, b, Deepest(walk, a, b, part));
    knFieldContact contact;
    if (knFieldQuery_Penetration(&walk->field, p, &contact))
    {
        knQueryRun_Add(run, walk, p, &contact, known->id, kn_contactEdge);
    }
}

void knQueryRun_TestEdges(knQueryRun* run, knQueryWalk* walk)
{
    const knFamily* family = walk->sampled->family;
    if (walk->sampled->fragment >= family->edgeCapacity)
    {
        return;
    }
    const knPieceEdges* list = &family->edges[walk->sampled->fragment];
    // first in the frame of the edges: most are far from the other piece
    knBox near = knQueryWalk_BoxInOther(&run->walks[1 - walk->side]);
    for (uint32_t i = 0; i < list->count && !run->selection.isStopped; ++i)
    {
        knBox own = {knMin(list->edges[i].a, list->edges[i].b),
                     knMax(list->edges[i].a, list->edges[i].b)};
        knVec3 middle = knLerp(list->edges[i].a, list->edges[i].b, 0.5f);
        float half = 0.5f * knDistance(list->edges[i].a, list->edges[i].b);
        if (knBox_Overlaps(near, own) && !knQueryWalk_IsBeyond(walk, middle, half))
        {
            knQueryRun_TestEdge(run, walk, i);
        }
    }
}
