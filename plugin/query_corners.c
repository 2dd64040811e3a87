// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

// Where two cracks meet inside a tetrahedron or on its face there is a corner that lies on no edge
// of the mesh: the tips of shards, and all of the edge between two crack faces. The sphere tree has
// points of edges and nodes alone, so corners are tested one by one, in groups.

// The group as the other piece sees it; the lanes that may touch stay in the mask.
static void LoadGroup(const knQueryRun* run, const knQueryWalk* walk, const knCornerGroup* group,
                      knVisits8* visits)
{
    const knSelection* selection = &run->selection;
    visits->margin = selection->isDeep ? 0.0f : selection->reach;
    visits->depth = selection->isDeep ? selection->epsilon : 0.0f;
    visits->mask = 0;
    for (uint32_t i = 0; i < KN_CORNER_LANES; ++i)
    {
        knVec3 p = {group->x[i], group->y[i], group->z[i]};
        knVec3 q = knQueryWalk_ToOther(walk, p);
        visits->points.x[i] = q.x;
        visits->points.y[i] = q.y;
        visits->points.z[i] = q.z;
        visits->reach[i] = -1.0f;
        bool isNear = i < group->count && !knQueryWalk_IsBeyond(walk, p, 0.0f);
        visits->mask |= (uint8_t)((isNear ? 1u : 0u) << i);
    }
    visits->first = visits->mask;
    visits->found = visits->descend = 0;
}

void knQueryRun_TestCorners(knQueryRun* run, knQueryWalk* walk)
{
    const knPieceMesh* mesh = walk->sampled->mesh;
    uint32_t groupCount = mesh ? mesh->cornerGroupCount : 0;
    knBox other = knFragmentField_Box(walk->other->family->field, walk->other->fragment);
    for (uint32_t i = 0; i < groupCount && !run->selection.isStopped; ++i)
    {
        const knCornerGroup* group = &mesh->corners[i];
        knVec3 center = knQueryWalk_ToOther(walk, group->center);
        if (knQueryWalk_IsBeyond(walk, group->center, group->radius) ||
            knBox_Distance(other, center) > group->radius + run->selection.reach)
        {
            continue;
        }
        knVisits8 visits;
        LoadGroup(run, walk, group, &visits);
        if (visits.mask == 0)
        {
            continue;
        }
        knFieldQuery_Visit8(&walk->field, &visits);
        run->result->counters.visits += group->count;
        run->result->counters.points += group->count;
        if (visits.found)
        {
            knQueryRun_TakeVisits(run, walk, &visits, group->points);
        }
    }
}
