// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#include <simde/x86/avx2.h>

// Eight lanes of the box distance and of the dense grid, operation by operation as the scalar code,
// so that every lane has its bits. simde turns it into whatever the compiler's target has.

typedef simde__m256 F8;
typedef simde__m256i I8;

static F8 Set(float x)
{
    return simde_mm256_set1_ps(x);
}

static F8 Add(F8 a, F8 b)
{
    return simde_mm256_add_ps(a, b);
}

static F8 Sub(F8 a, F8 b)
{
    return simde_mm256_sub_ps(a, b);
}

static F8 Mul(F8 a, F8 b)
{
    return simde_mm256_mul_ps(a, b);
}

// a > b ? a : b, as the scalar code has it
static F8 Max(F8 a, F8 b)
{
    return simde_mm256_max_ps(a, b);
}

static F8 Length(F8 x, F8 y, F8 z)
{
    return simde_mm256_sqrt_ps(Add(Add(Mul(x, x), Mul(y, y)), Mul(z, z)));
}

typedef struct Points
{
    F8 x, y, z;
} Points;

static Points Load(const knPoints8* points)
{
    return (Points){simde_mm256_loadu_ps(points->x), simde_mm256_loadu_ps(points->y),
                    simde_mm256_loadu_ps(points->z)};
}

static F8 BoxGap8(const knBox* box, Points p)
{
    F8 zero = simde_mm256_setzero_ps();
    F8 x = Max(Sub(Set(box->lower.x), p.x), Sub(p.x, Set(box->upper.x)));
    F8 y = Max(Sub(Set(box->lower.y), p.y), Sub(p.y, Set(box->upper.y)));
    F8 z = Max(Sub(Set(box->lower.z), p.z), Sub(p.z, Set(box->upper.z)));
    return Length(Max(x, zero), Max(y, zero), Max(z, zero));
}

static knVec3 Lane(const knPoints8* points, int lane)
{
    return knMakeVec3(points->x[lane], points->y[lane], points->z[lane]);
}

static uint64_t CountLanes(uint8_t mask)
{
    uint64_t count = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        count += mask >> lane & 1;
    }
    return count;
}

// The lanes whose points are within their reach of the box.
static uint8_t NearBox8(const knFieldQuery* query, const knFragmentRecord* record,
                        const knPoints8* points, const float reach[8])
{
    F8 limit = Add(Mul(simde_mm256_loadu_ps(reach), Set(1.00001f)), Set(query->field->grid.slack));
    F8 far = simde_mm256_cmp_ps(BoxGap8(&record->box, Load(points)), limit, SIMDE_CMP_GT_OQ);
    return (uint8_t)~simde_mm256_movemask_ps(far);
}

static uint8_t NearBoxScalar8(const knFieldQuery* query, const knFragmentRecord* record,
                              const knPoints8* points, const float reach[8])
{
    uint8_t near = 0;
    for (int lane = 0; lane < 8; ++lane)
    {
        float gap = knBoxGap(&record->box, points->x[lane], points->y[lane], points->z[lane]);
        float limit = reach[lane] * 1.00001f + query->field->grid.slack;
        near |= (uint8_t)(!(gap > limit) << lane);
    }
    return near;
}

static uint8_t LanesNearBox(const knFieldQuery* query, const knFragmentRecord* record,
                            const knPoints8* points, const float reach[8])
{
    return query->field->def.scalar ? NearBoxScalar8(query, record, points, reach)
                                    : NearBox8(query, record, points, reach);
}

static uint8_t InsideLanes(knFieldQuery* query, const knPoints8* points, uint8_t mask,
                           knTetPoint tets[8])
{
    static const float none[8];
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    uint8_t near = record ? LanesNearBox(query, record, points, none) & mask : 0, result = 0;
    query->counters.insideTests += CountLanes((uint8_t)(mask & ~near));
    for (int lane = 0; lane < 8; ++lane)
    {
        if (near >> lane & 1 && knQueryInside(query, record, Lane(points, lane), &tets[lane]))
        {
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}

uint8_t knFieldQuery_Inside8(knFieldQuery* query, const knPoints8* points, uint8_t mask)
{
    knTetPoint tets[8];
    return InsideLanes(query, points, mask, tets);
}

static void StoreContact(knContacts8* contacts, int lane, const knFieldContact* c)
{
    contacts->distance[lane] = c->distance;
    contacts->nx[lane] = c->normal.x;
    contacts->ny[lane] = c->normal.y;
    contacts->nz[lane] = c->normal.z;
    contacts->source[lane] = (uint8_t)c->source;
}

uint8_t knFieldQuery_Penetration8(knFieldQuery* query, const knPoints8* points, uint8_t mask,
                                  knContacts8* contacts)
{
    knTetPoint tets[8];
    uint8_t inside = InsideLanes(query, points, mask, tets);
    for (int lane = 0; lane < 8; ++lane)
    {
        if (inside >> lane & 1)
        {
            knVec3 p = Lane(points, lane);
            knGridSample sample = knDistanceGrid_Sample(&query->field->grid, p);
            knFieldContact c;
            knQueryPenetration(query, p, &tets[lane], &sample, 0.0f, &c);
            StoreContact(contacts, lane, &c);
        }
    }
    return inside;
}

uint8_t knFieldQuery_SphereTest8(knFieldQuery* query, const knPoints8* points,
                                 const float radius[8], uint8_t mask)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    uint8_t near = record ? LanesNearBox(query, record, points, radius) & mask : 0, result = 0;
    query->counters.sphereTests += CountLanes(mask);
    query->counters.culledByBox += CountLanes((uint8_t)(mask & ~near));
    for (int lane = 0; lane < 8; ++lane)
    {
        if (near >> lane & 1 && knQuerySphere(query, record, Lane(points, lane), radius[lane]))
        {
            result |= (uint8_t)(1 << lane);
        }
    }
    return result;
}

// Whether the point is a contact of the piece; `near` when it is outside.
static bool FindContact(knFieldQuery* query, const knFragmentRecord* record, const knVisits8* v,
                        knVec3 p, knFieldContact* contact)
{
    const knDistanceGrid* grid = &query->field->grid;
    knGridSample sample;
    if (knBoxGap(&record->box, p.x, p.y, p.z) > v->margin * 1.00001f + grid->slack)
    {
        query->counters.insideTests += 1;
        return false;
    }
    if (v->depth > 0.0f)
    {
        if (!knOccupancy_MayHold(query->field, record, p))
        {
            return false;
        }
        // never deeper than the grid says: most points of a crack's rim need no search
        sample = knDistanceGrid_Sample(grid, p);
        if (sample.distance >= -v->depth && knVagueDepth(&sample) <= v->depth)
        {
            return false;
        }
    }
    knTetPoint point;
    if (knQueryInside(query, record, p, &point))
    {
        sample = v->depth > 0.0f ? sample : knDistanceGrid_Sample(grid, p);
        knQueryPenetration(query, p, &point, &sample, v->depth, contact);
        return contact->distance < -v->depth || v->depth == 0.0f;
    }
    return v->margin > 0.0f && knQueryDistance(query, record, p, &point, v->margin, contact);
}

static void VisitLane(knFieldQuery* query, const knFragmentRecord* record, knVisits8* v, int lane)
{
    knVec3 p = Lane(&v->points, lane);
    uint8_t bit = (uint8_t)(1 << lane);
    knFieldContact contact;
    // the points of a tree lie scattered: the last tetrahedron would not help
    query->hint = KN_NONE;
    if (v->first & bit && FindContact(query, record, v, p, &contact))
    {
        StoreContact(&v->contacts, lane, &contact);
        v->found |= bit;
    }
    if (v->reach[lane] >= 0.0f)
    {
        query->counters.sphereTests += 1;
        v->descend |= knQuerySphere(query, record, p, v->reach[lane]) ? bit : 0;
    }
}

void knFieldQuery_Visit8(knFieldQuery* query, knVisits8* visits)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    visits->found = visits->descend = 0;
    if (!record)
    {
        return;
    }
    float reach[8];
    for (int lane = 0; lane < 8; ++lane)
    {
        float margin = visits->margin;
        reach[lane] = visits->reach[lane] > margin ? visits->reach[lane] : margin;
    }
    uint8_t near = LanesNearBox(query, record, &visits->points, reach) & visits->mask;
    uint8_t far = (uint8_t)(visits->mask & ~near);
    query->counters.insideTests += CountLanes((uint8_t)(far & visits->first));
    query->counters.sphereTests += CountLanes(far);
    query->counters.culledByBox += CountLanes(far);
    for (int lane = 0; near >> lane != 0; ++lane)
    {
        if (near >> lane & 1)
        {
            VisitLane(query, record, visits, lane);
        }
    }
}
