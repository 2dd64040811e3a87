// SPDX-License-Identifier: Zlib
#include "piece_mesh_internal.h"

#include <simde/x86/sse2.h>

#include <string.h>

// The points of the surface in groups that lie together, each in a ball: the furthest point along a
// direction, which is the support of the piece's convex hull, looks into few of them.

static uint32_t GroupCount(uint32_t pointCount)
{
    return (pointCount + KN_GROUP_POINTS - 1) / KN_GROUP_POINTS;
}

static void BoundGroup(knPointGroup* g)
{
    knBox box = knEmptyBox();
    for (int i = 0; i < KN_GROUP_POINTS; ++i)
    {
        box = knBox_AddPoint(box, knMakeVec3(g->x[i], g->y[i], g->z[i]));
    }
    g->center = knBox_Center(box);
    g->radius = 0.0f;
    for (int i = 0; i < KN_GROUP_POINTS; ++i)
    {
        knVec3 p = knMakeVec3(g->x[i], g->y[i], g->z[i]);
        // room for the rounding of the support's own sums
        g->radius = fmaxf(g->radius, knDistance(p, g->center) * 1.00001f);
    }
}

static void AddPoint(knPieceMesh* m, uint32_t* count, knVec3 p)
{
    knPointGroup* g = &m->groups[*count / KN_GROUP_POINTS];
    // the rest of the last group repeats the last point
    for (uint32_t i = *count % KN_GROUP_POINTS; i < KN_GROUP_POINTS; ++i)
    {
        g->x[i] = p.x;
        g->y[i] = p.y;
        g->z[i] = p.z;
    }
    *count += 1;
}

// As much of a table as so many points want: the smaller, the sooner it is emptied and the nearer
// it stays.
static uint32_t FittingMask(uint32_t count, uint32_t mask)
{
    uint32_t size = 16;
    while (size < 2 * count)
    {
        size *= 2;
    }
    return size - 1 < mask ? size - 1 : mask;
}

// Vertices of one point differ in normal and texture alone. True the first time.
static bool IsNew(uint32_t* table, uint32_t mask, uint32_t point)
{
    uint32_t place = (uint32_t)(((uint64_t)point * 0x9E3779B97F4A7C15u) >> 32) & mask;
    while (table[place] != KN_NONE && table[place] != point)
    {
        place = (place + 1) & mask;
    }
    bool isNew = table[place] == KN_NONE;
    table[place] = point;
    return isNew;
}

knResult knPieceMesh_Group(knPieceMesh* m, uint32_t* table, uint32_t mask)
{
    m->groupCount = GroupCount(m->vertexCount);
    m->groupCapacity = m->groupCount;
    m->groups = knAllocate(&m->allocator, m->groupCount, sizeof(knPointGroup));
    if (!m->groups && m->groupCount > 0)
    {
        return kn_errorMemory;
    }
    mask = FittingMask(m->vertexCount, mask);
    memset(table, 0xFF, ((size_t)mask + 1) * sizeof *table);
    uint32_t count = 0;
    // in the order of the tree, so that neighbours share a group
    for (uint32_t i = 0; i < 3 * m->triangleCount; ++i)
    {
        const knMeshVertex* v = &m->vertices[m->triangles[m->order[i / 3]].v[i % 3]];
        if (IsNew(table, mask, v->point))
        {
            AddPoint(m, &count, v->position);
        }
    }
    m->groupCount = GroupCount(count);
    for (uint32_t i = 0; i < m->groupCount; ++i)
    {
        BoundGroup(&m->groups[i]);
    }
    return kn_success;
}

static void AddCorner(knPieceMesh* m, uint32_t count, const knMeshVertex* v)
{
    knCornerGroup* g = &m->corners[count / KN_CORNER_LANES];
    knVec3 p = knAdd(v->position, m->center);
    uint32_t at = count % KN_CORNER_LANES;
    // the rest of the last group repeats the last corner
    for (uint32_t i = at; i < KN_CORNER_LANES; ++i)
    {
        g->x[i] = p.x;
        g->y[i] = p.y;
        g->z[i] = p.z;
        g->points[i] = v->point;
    }
    g->count = at + 1;
}

static void BoundCorners(knCornerGroup* g)
{
    knBox box = knEmptyBox();
    for (int i = 0; i < KN_CORNER_LANES; ++i)
    {
        box = knBox_AddPoint(box, knMakeVec3(g->x[i], g->y[i], g->z[i]));
    }
    g->center = knBox_Center(box);
    g->radius = 0.0f;
    for (int i = 0; i < KN_CORNER_LANES; ++i)
    {
        knVec3 p = knMakeVec3(g->x[i], g->y[i], g->z[i]);
        g->radius = fmaxf(g->radius, knDistance(p, g->center) * 1.00001f);
    }
}

// Corners by their order in the tree; `add` false only counts them.
static uint32_t EachCorner(knPieceMesh* m, uint32_t first, uint32_t* table, uint32_t mask, bool add)
{
    uint32_t count = 0;
    memset(table, 0xFF, ((size_t)mask + 1) * sizeof *table);
    for (uint32_t i = 0; i < 3 * m->triangleCount; ++i)
    {
        const knMeshVertex* v = &m->vertices[m->triangles[m->order[i / 3]].v[i % 3]];
        if (v->point >= first && IsNew(table, mask, v->point))
        {
            if (add)
            {
                AddCorner(m, count, v);
            }
            count += 1;
        }
    }
    return count;
}

knResult knPieceMesh_GroupCorners(knPieceMesh* m, uint32_t first, uint32_t* table, uint32_t mask)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < m->vertexCount; ++i)
    {
        most += m->vertices[i].point >= first;
    }
    mask = FittingMask(most, mask);
    uint32_t count = most > 0 ? EachCorner(m, first, table, mask, false) : 0;
    if (count == 0)
    {
        return kn_success;
    }
    uint32_t groups = (count + KN_CORNER_LANES - 1) / KN_CORNER_LANES;
    m->corners = knAllocate(&m->allocator, groups, sizeof(knCornerGroup));
    if (!m->corners)
    {
        return kn_errorMemory;
    }
    m->cornerGroupCount = groups;
    (void)EachCorner(m, first, table, mask, true);
    for (uint32_t i = 0; i < groups; ++i)
    {
        BoundCorners(&m->corners[i]);
    }
    return kn_success;
}

// The largest of d . p over a group, and which point it is, where that is more than `least`.
static float GroupSupport(const knPointGroup* g, knVec3 d, float least, int* point)
{
    float dots[KN_GROUP_POINTS];
    simde__m128 x = simde_mm_set1_ps(d.x), y = simde_mm_set1_ps(d.y), z = simde_mm_set1_ps(d.z);
    simde__m128 most = simde_mm_set1_ps(least);
    for (int i = 0; i < KN_GROUP_POINTS; i += 4)
    {
        simde__m128 sum = simde_mm_mul_ps(x, simde_mm_loadu_ps(g->x + i));
        sum = simde_mm_add_ps(sum, simde_mm_mul_ps(y, simde_mm_loadu_ps(g->y + i)));
        sum = simde_mm_add_ps(sum, simde_mm_mul_ps(z, simde_mm_loadu_ps(g->z + i)));
        simde_mm_storeu_ps(dots + i, sum);
        most = simde_mm_max_ps(most, sum);
    }
    if (simde_mm_movemask_ps(simde_mm_cmpgt_ps(most, simde_mm_set1_ps(least))) == 0)
    {
        return least;
    }
    int best = 0;
    for (int i = 1; i < KN_GROUP_POINTS; ++i)
    {
        best = dots[i] > dots[best] ? i : best;
    }
    *point = best;
    return dots[best];
}

knVec3 knPieceMesh_Support(const knPieceMesh* m, knVec3 d)
{
    float length = knLength(d), best = -FLT_MAX;
    uint32_t first = 0;
    // the group whose middle lies furthest mostly has the point, and spares the others
    for (uint32_t i = 0; i < m->groupCount; ++i)
    {
        float along = knDot(d, m->groups[i].center);
        first = along > best ? i : first;
        best = along > best ? along : best;
    }
    int point = 0;
    uint32_t group = first;
    best = m->groupCount > 0 ? GroupSupport(&m->groups[first], d, -FLT_MAX, &point) : 0.0f;
    for (uint32_t i = 0; i < m->groupCount; ++i)
    {
        const knPointGroup* g = &m->groups[i];
        if (i != first && knDot(d, g->center) + length * g->radius > best)
        {
            int at = 0;
            float along = GroupSupport(g, d, best, &at);
            group = along > best ? i : group;
            point = along > best ? at : point;
            best = along > best ? along : best;
        }
    }
    const knPointGroup* g = &m->groups[group];
    return m->groupCount > 0 ? knMakeVec3(g->x[point], g->y[point], g->z[point])
                             : knMakeVec3(0.0f, 0.0f, 0.0f);
}
