// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

// Temporal coherence: where a walk over the sphere trees ended, seen from a little further off. As
// long as two pieces have moved against each other by less than that, nothing else can touch.

static void Give(knQueryRun* run)
{
    // too much is near: these two lie flat on each other, and are walked in every query
    run->front->reach = -1.0f;
    run->front = NULL;
}

void knQueryRun_AddToFront(knQueryRun* run, knQueryWalk* walk, uint32_t base,
                           const knVisits8* visits)
{
    uint8_t near = visits->first & (visits->found | visits->descend);
    for (uint32_t i = 0; run->front && near >> i != 0; ++i)
    {
        knVec3 q = {visits->points.x[i], visits->points.y[i], visits->points.z[i]};
        knQueryFront* front = run->front;
        uint32_t k = base + i;
        bool isNear = near >> i & 1;
        // the descent of an inner node speaks of its whole sphere
        if (isNear && !(visits->found >> i & 1) && walk->batch.radius[k] > 0.0f)
        {
            isNear = knFieldQuery_SphereTest(&walk->field, q, run->frontReach);
        }
        if (!isNear)
        {
            continue;
        }
        if (front->pointCount == KN_FRONT_POINTS)
        {
            Give(run);
            return;
        }
        front->points[front->pointCount] = walk->batch.point[k];
        front->pointSides[front->pointCount] = walk->side;
        front->positions[front->pointCount++] =
            knMakeVec3(walk->batch.x[k], walk->batch.y[k], walk->batch.z[k]);
    }
}

void knQueryRun_AddCornersToFront(knQueryRun* run, const knQueryWalk* walk,
                                  const knCornerGroup* corners, uint8_t near)
{
    for (uint32_t i = 0; near >> i != 0; ++i)
    {
        knQueryFront* front = run->front;
        if (!(near >> i & 1))
        {
            continue;
        }
        if (front->pointCount == KN_FRONT_POINTS)
        {
            Give(run);
            return;
        }
        front->points[front->pointCount] = corners->points[i];
        front->pointSides[front->pointCount] = walk->side;
        front->positions[front->pointCount++] =
            knMakeVec3(corners->x[i], corners->y[i], corners->z[i]);
    }
}

void knQueryRun_AddEdgesToFront(knQueryRun* run, knQueryWalk* walk)
{
    const knFamily* family = walk->sampled->family;
    if (!run->front || walk->sampled->fragment >= family->edgeCapacity)
    {
        return;
    }
    knQueryFront* front = run->front;
    float reach = run->frontReach;
    const knPieceEdges* list = &family->edges[walk->sampled->fragment];
    knBox near = knBox_Expand(knQueryWalk_BoxInOther(&run->walks[1 - walk->side]), reach);
    for (uint32_t i = 0; i < list->count; ++i)
    {
        const knPieceEdge* edge = &list->edges[i];
        knBox own = {knMin(edge->a, edge->b), knMax(edge->a, edge->b)};
        knVec3 middle = knLerp(edge->a, edge->b, 0.5f);
        float half = 0.5f * knDistance(edge->a, edge->b) + reach;
        if (!knBox_Overlaps(near, own) || knQueryWalk_IsBeyond(walk, middle, half) ||
            !knFieldQuery_SphereTest(&walk->field, knQueryWalk_ToOther(walk, middle), half))
        {
            continue;
        }
        if (front->edgeCount == KN_FRONT_EDGES)
        {
            Give(run);
            return;
        }
        front->edges[front->edgeCount] = i;
        front->edgeSides[front->edgeCount++] = walk->side;
    }
}

// Eight points of one side at a time, from `next` on.
static uint32_t TestPoints(knQueryRun* run, const knQueryFront* front, uint32_t next)
{
    uint8_t side = front->pointSides[next];
    knQueryWalk* walk = &run->walks[side];
    knVisits8 visits = {.margin = run->selection.isDeep ? 0.0f : run->selection.reach,
                        .depth = run->selection.isDeep ? run->selection.epsilon : 0.0f};
    uint32_t points[8], count = 0;
    for (; count < 8 && next < front->pointCount && front->pointSides[next] == side; ++next)
    {
        knVec3 q = knQueryWalk_ToOther(walk, front->positions[next]);
        visits.points.x[count] = q.x;
        visits.points.y[count] = q.y;
        visits.points.z[count] = q.z;
        visits.reach[count] = -1.0f;
        visits.mask |= (uint8_t)(1u << count);
        points[count++] = front->points[next];
    }
    for (uint32_t i = count; i < 8; ++i)
    {
        visits.points.x[i] = visits.points.x[count - 1];
        visits.points.y[i] = visits.points.y[count - 1];
        visits.points.z[i] = visits.points.z[count - 1];
        visits.reach[i] = -1.0f;
    }
    visits.first = visits.mask;
    knFieldQuery_Visit8(&walk->field, &visits);
    knQueryRun_TakeVisits(run, walk, &visits, points);
    run->result->counters.visits += count;
    run->result->counters.points += count;
    return next;
}

void knQueryRun_TestFront(knQueryRun* run, const knQueryFront* front)
{
    uint32_t next = 0;
    while (next < front->pointCount && !run->selection.isStopped)
    {
        next = TestPoints(run, front, next);
    }
    for (uint32_t i = 0; i < front->edgeCount && !run->selection.isStopped; ++i)
    {
        if (run->result->count - run->result->beyond < run->limits->edgeContacts)
        {
            knQueryRun_TestEdge(run, &run->walks[front->edgeSides[i]], front->edges[i]);
        }
    }
}
