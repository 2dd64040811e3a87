// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// How much room there is around a point, for those who keep the answer and ask again only when the
// room is used up. Bounds that are cheap come first; all of them are bounds of the true distance.
// What spreads from the cracks is not among them: it is no bound.

#define NEARLY     0.99999f // rounding of a distance
#define MOST_TRIES 3        // each four times as far as the one before

// By box and grid, which cost least.
static float CheapClearance(const knFieldQuery* query, const knFragmentRecord* record, knVec3 p)
{
    float gap = knBoxGap(&record->box, p.x, p.y, p.z);
    float box = gap * NEARLY - query->field->grid.slack;
    return knHigherFloat(box, knDistanceGrid_LowerBound(&query->field->grid, p));
}

// The radius of a ball that is free of the fragment's cells; `clear` when the smallest that is of
// use touches them. As the answer is kept, more is tried for as long as it is free.
static float CellClearance(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                           float need, float room, float clear)
{
    if (clear > need + room)
    {
        return clear;
    }
    if (clear <= need)
    {
        if (knOccupancy_Touches(query, record, p, need))
        {
            return clear;
        }
        clear = need;
    }
    for (int i = 0; i < MOST_TRIES; ++i)
    {
        if (knOccupancy_Touches(query, record, p, need + room))
        {
            break;
        }
        clear = need + room;
        room *= 4.0f;
    }
    return clear;
}

static bool HitWithin(knFieldQuery* query, uint32_t tet, knVec3 p, knFaceHit* hit)
{
    return tet != KN_NONE ? knHitAround(query, tet, p, kn_hitSurface, hit)
                          : knHitFragment(query, p, kn_hitSurface, hit);
}

// By the faces of the fragment. Negative when p is inside.
static float FaceClearance(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                           float wish)
{
    knTetPoint point;
    if (knQueryInside(query, record, p, &point))
    {
        return -1.0f;
    }
    knFaceHit hit = {.distance2 = (double)wish * (double)wish};
    if (HitWithin(query, point.tet, p, &hit))
    {
        return (float)sqrt(hit.distance2) * NEARLY - query->field->grid.slack;
    }
    return wish;
}

float knFieldQuery_Clearance(knFieldQuery* query, knVec3 p, float need, float wish)
{
    const knFragmentField* field = query->field;
    const knFragmentRecord* record = knFindRecord(field, query->fragment);
    if (!record)
    {
        return INFINITY;
    }
    query->counters.sphereTests += 1;
    query->hint = KN_NONE;
    float clear = CheapClearance(query, record, p);
    clear = CellClearance(query, record, p, need, wish - need, clear);
    if (clear > need)
    {
        query->counters.culledByCells += 1;
        return clear;
    }
    if (need > field->def.exactRadius)
    {
        query->counters.spheresKept += 1;
        return clear;
    }
    float most = need + field->def.exactRadius;
    clear = FaceClearance(query, record, p, wish < most ? wish : most);
    query->counters.culledByFaces += clear > need;
    query->counters.spheresKept += !(clear > need);
    return clear;
}

// Only what is deeper than `depth` matters.
static bool ProbeDepth(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                       const knProbeDef* def, knFieldContact* contact, float* clear)
{
    const knFragmentField* field = query->field;
    if (!knBox_Contains(record->box, p) || !knOccupancy_MayHold(field, record, p))
    {
        *clear = knHigherFloat(CheapClearance(query, record, p), -field->grid.slack);
        return false;
    }
    // never deeper than below the original surface
    knGridSample sample = knDistanceGrid_Sample(&field->grid, p);
    *clear = sample.distance - sample.error;
    if (sample.distance >= -def->depth && knVagueDepth(&sample) <= def->depth)
    {
        return false;
    }
    knTetPoint point;
    if (!knQueryInside(query, record, p, &point))
    {
        *clear = -field->grid.slack;
        return false;
    }
    knQueryPenetration(query, p, &point, &sample, def->depth, contact);
    return contact->distance < -def->depth;
}

// Outside: the nearest face as far as the wish.
static bool ProbeGap(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                     const knTetPoint* point, const knProbeDef* def, knFieldContact* contact,
                     float* clear)
{
    const knFragmentField* field = query->field;
    query->counters.distances += 1;
    *clear = CellClearance(query, record, p, def->margin, def->wish - def->margin, *clear);
    if (*clear > def->margin)
    {
        return false;
    }
    knFaceHit hit = {.distance2 = (double)def->wish * (double)def->wish};
    if (!HitWithin(query, point->tet, p, &hit))
    {
        *clear = def->wish;
        return false;
    }
    float distance = (float)sqrt(hit.distance2);
    *clear = distance * NEARLY - field->grid.slack;
    if (distance > def->margin)
    {
        return false;
    }
    *contact = knContactOfHit(p, &hit);
    return true;
}

bool knFieldQuery_Probe(knFieldQuery* query, knVec3 p, const knProbeDef* def,
                        knFieldContact* contact, float* clear)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    if (!record)
    {
        *clear = INFINITY;
        return false;
    }
    query->hint = KN_NONE;
    if (def->depth > 0.0f)
    {
        return ProbeDepth(query, record, p, def, contact, clear);
    }
    *clear = CheapClearance(query, record, p);
    if (*clear > def->wish)
    {
        query->counters.insideTests += 1;
        return false;
    }
    knTetPoint point;
    if (!knQueryInside(query, record, p, &point))
    {
        return ProbeGap(query, record, p, &point, def, contact, clear);
    }
    knGridSample sample = knDistanceGrid_Sample(&query->field->grid, p);
    knQueryPenetration(query, p, &point, &sample, 0.0f, contact);
    *clear = sample.distance - sample.error;
    return true;
}
