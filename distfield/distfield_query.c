// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

knFieldQuery knMakeFieldQuery(const knFragmentField* field, uint32_t fragment)
{
    return (knFieldQuery){
        .field = field, .fragment = fragment, .hint = KN_NONE, .witness = {INFINITY, 0.0f, 0.0f}};
}

// The fragment that owns the point: the label of any corner of the part that it lies in.
static uint32_t LabelAt(const knFragmentField* field, const knTetPoint* point)
{
    const uint32_t* v = field->mesh->tets[point->tet].v;
    const uint32_t* labels = field->cuts->labels;
    uint32_t cut = field->cuts->tetCuts[point->tet];
    if (cut == KN_NONE)
    {
        return labels[v[0]];
    }
    uint8_t region = knTetCut_Region(&field->cuts->cuts[cut], point->weights);
    return labels[v[region & 1 ? 0 : region & 2 ? 1 : region & 4 ? 2 : 3]];
}

bool knQueryInside(knFieldQuery* query, const knFragmentRecord* record, knVec3 p, knTetPoint* point)
{
    const knFragmentField* field = query->field;
    point->tet = KN_NONE;
    query->counters.insideTests += 1;
    if (!knBox_Contains(record->box, p))
    {
        return false;
    }
    // cells and grid know most without a search
    if (!knOccupancy_MayHold(field, record, p))
    {
        query->counters.located[kn_locateOutside] += 1;
        return false;
    }
    knLocatePath path = knTetLocator_Find(&field->locator, p, query->hint, point);
    query->counters.located[path] += 1;
    if (point->tet == KN_NONE)
    {
        return false;
    }
    query->hint = point->tet;
    query->counters.cutTets += field->cuts->tetCuts[point->tet] != KN_NONE;
    bool inside = LabelAt(field, point) == query->fragment;
    query->counters.insideTrue += inside;
    return inside;
}

bool knFieldQuery_Inside(knFieldQuery* query, knVec3 p)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    knTetPoint point;
    return record && knQueryInside(query, record, p, &point);
}

typedef struct CrackValue
{
    float distance;
    knVec3 direction;
} CrackValue;

static CrackValue Barycentric(const knFragmentField* field, const knTetPoint* point)
{
    CrackValue c = {0.0f, {0.0f, 0.0f, 0.0f}};
    const uint32_t* v = field->mesh->tets[point->tet].v;
    for (int i = 0; i < 4; ++i)
    {
        const knNodeValue* n = &field->values[v[i]];
        c.distance += point->weights[i] * n->distance;
        c.direction = knAddScaled(c.direction, point->weights[i], n->direction);
    }
    return c;
}

// Equations 1 and 2 with the four corners as neighbours.
static CrackValue InverseSquares(const knFragmentField* field, const knTetPoint* point, knVec3 p)
{
    CrackValue c = {0.0f, {0.0f, 0.0f, 0.0f}};
    float weights = 0.0f;
    const uint32_t* v = field->mesh->tets[point->tet].v;
    for (int i = 0; i < 4; ++i)
    {
        const knNodeValue* n = &field->values[v[i]];
        knVec3 d = knSub(field->mesh->nodes[v[i]], p);
        float w = 1.0f / fmaxf(knLengthSquared(d), 1e-30f);
        c.distance += w * (n->distance + knDot(n->direction, d));
        c.direction = knAddScaled(c.direction, w, n->direction);
        weights += w;
    }
    c.distance = fmaxf(c.distance / weights, 0.0f);
    return c;
}

// Infinite until a front has reached all four corners.
static CrackValue CrackAtNodes(const knFragmentField* field, const knTetPoint* point, knVec3 p)
{
    const uint32_t* v = field->mesh->tets[point->tet].v;
    for (int i = 0; i < 4; ++i)
    {
        if (!(field->values[v[i]].distance < INFINITY))
        {
            return (CrackValue){INFINITY, {0.0f, 0.0f, 0.0f}};
        }
    }
    CrackValue c =
        field->def.paperWeights ? InverseSquares(field, point, p) : Barycentric(field, point);
    c.direction = knNormalize(c.direction);
    return c;
}

knVec3 knWayOut(knVec3 p, const knFaceHit* hit)
{
    knDVec3 d = knDSub(hit->point, knToDouble(p));
    // nearly on the face: its own normal has more digits
    double size = fabs(hit->point.x) + fabs(hit->point.y) + fabs(hit->point.z);
    d = knDLength(d) > 1e-6 * size ? d : hit->normal;
    return knNormalize(knToFloat(knDScale(1.0 / knHigher(knDLength(d), DBL_MIN), d)));
}

// The crack points that the fragment's own corners know.
static bool HitCornerPoints(const knFieldQuery* query, uint32_t tet, knDVec3 p, knFaceHit* hit)
{
    const knFragmentField* field = query->field;
    bool found = false;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t node = field->mesh->tets[tet].v[i];
        const knNodeValue* n = &field->values[node];
        if (field->cuts->labels[node] != query->fragment || !(n->distance < INFINITY))
        {
            continue;
        }
        knDVec3 c = knToDouble(knAddScaled(field->mesh->nodes[node], n->distance, n->direction));
        double distance2 = knDDot(knDSub(c, p), knDSub(c, p));
        if (distance2 < hit->distance2)
        {
            *hit = (knFaceHit){distance2, c, knToDouble(n->direction), true, true};
            found = true;
        }
    }
    return found;
}

// In a cut tetrahedron: exact to the crack faces of this part and of its neighbours; near the
// surface to all.
static bool CrackInCutTet(knFieldQuery* query, uint32_t tet, knVec3 p, float least, knFaceHit* hit)
{
    const knFragmentField* field = query->field;
    knDVec3 q = knToDouble(p);
    bool found = knHitTet(field, tet, query->fragment, q, false, hit);
    double exact = (double)field->def.exactDepth;
    double nearest = sqrt(hit->distance2);
    if (nearest <= (double)least)
    {
        return found;
    }
    if (hit->distance2 <= exact * exact)
    {
        return knHitAround(query, tet, p, kn_hitCracks, hit) || found;
    }
    for (int i = 0; i < 4; ++i)
    {
        uint32_t other = field->mesh->neighbors[tet].t[i];
        if (other != KN_NONE && field->cuts->tetCuts[other] != KN_NONE)
        {
            found = knHitTet(field, other, query->fragment, q, false, hit) || found;
        }
    }
    return HitCornerPoints(query, tet, q, hit) || found;
}

// What the crack points of the corners say about the crack's distance from p.
static void CrackBounds(const knFragmentField* field, uint32_t tet, knVec3 p, float* lower,
                        float* upper)
{
    *lower = 0.0f;
    *upper = INFINITY;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t node = field->mesh->tets[tet].v[i];
        const knNodeValue* n = &field->values[node];
        knVec3 c = knAddScaled(field->mesh->nodes[node], n->distance, n->direction);
        float at = n->distance < INFINITY ? knDistance(c, p) : INFINITY;
        float least = n->distance - knDistance(field->mesh->nodes[node], p);
        *upper = at < *upper ? at : *upper;
        *lower = least > *lower ? least : *lower;
    }
}

// The faces that the corners know: mostly the nearest is among them, and the search has little
// left.
static bool HitSources(const knFieldQuery* query, uint32_t tet, knVec3 p, knFaceHit* hit)
{
    const knFragmentField* field = query->field;
    const uint32_t* v = field->mesh->tets[tet].v;
    bool found = false;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t source = field->values[v[i]].source;
        bool again = i > 0 && source == field->values[v[i - 1]].source;
        if (source != KN_NONE && !again)
        {
            found = knHitTet(field, source, query->fragment, knToDouble(p), false, hit) || found;
        }
    }
    return found;
}

static void CrackInWholeTet(knFieldQuery* query, const knTetPoint* point, knVec3 p, float least,
                            knFieldContact* contact)
{
    const knFragmentField* field = query->field;
    float depth = -contact->distance, lower, upper;
    CrackBounds(field, point->tet, p, &lower, &upper);
    upper = upper < depth ? upper : depth;
    if (upper <= least)
    {
        contact->distance = -upper;
    }
    if (lower > depth || upper <= least)
    {
        return;
    }
    if (upper <= field->def.exactDepth)
    {
        double reach = (double)upper * 1.00001;
        knFaceHit hit = {.distance2 = reach * reach};
        bool found = HitSources(query, point->tet, p, &hit);
        if (knHitAround(query, point->tet, p, kn_hitCracks, &hit) || found)
        {
            *contact = (knFieldContact){-(float)sqrt(hit.distance2), knWayOut(p, &hit),
                                        kn_sourceCrackFace};
        }
        return;
    }
    CrackValue crack = CrackAtNodes(field, point, p);
    if (crack.distance < depth)
    {
        *contact = (knFieldContact){-crack.distance, crack.direction, kn_sourceCrackNodes};
    }
}

// Exact to triangles and cracks, no further than `most`.
static bool SurfaceNear(knFieldQuery* query, uint32_t tet, knVec3 p, float most,
                        knFieldContact* contact)
{
    double reach = (double)most * 1.00001;
    knFaceHit hit = {.distance2 = reach * reach};
    bool found = HitSources(query, tet, p, &hit);
    if (knHitAround(query, tet, p, kn_hitSurface, &hit) || found)
    {
        *contact = (knFieldContact){-(float)sqrt(hit.distance2), knWayOut(p, &hit),
                                    hit.isCrack ? kn_sourceCrackFace : kn_sourceTriangle};
        return true;
    }
    return false;
}

void knQueryPenetration(knFieldQuery* query, knVec3 p, const knTetPoint* point,
                        const knGridSample* sample, float least, knFieldContact* contact)
{
    float depth = sample->distance < 0.0f ? -sample->distance : 0.0f;
    float vague = knVagueDepth(sample);
    *contact = (knFieldContact){-depth, knNormalize(sample->gradient), kn_sourceGrid};
    query->counters.penetrations += 1;
    if (vague > least && SurfaceNear(query, point->tet, p, vague, contact))
    {
        query->counters.byCrackFaces += contact->source == kn_sourceCrackFace;
        query->counters.byTriangles += contact->source == kn_sourceTriangle;
        return;
    }
    if (query->field->cuts->tetCuts[point->tet] == KN_NONE)
    {
        CrackInWholeTet(query, point, p, least, contact);
    }
    else
    {
        knFaceHit hit = {.distance2 = (double)depth * (double)depth};
        if (CrackInCutTet(query, point->tet, p, least, &hit))
        {
            *contact = (knFieldContact){-(float)sqrt(hit.distance2), knWayOut(p, &hit),
                                        kn_sourceCrackFace};
        }
    }
    query->counters.byGrid += contact->source == kn_sourceGrid;
    query->counters.byCrackNodes += contact->source == kn_sourceCrackNodes;
    query->counters.byCrackFaces += contact->source == kn_sourceCrackFace;
}

bool knFieldQuery_Penetration(knFieldQuery* query, knVec3 p, knFieldContact* contact)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    knTetPoint point;
    if (!record || !knQueryInside(query, record, p, &point))
    {
        return false;
    }
    knGridSample sample = knDistanceGrid_Sample(&query->field->grid, p);
    knQueryPenetration(query, p, &point, &sample, 0.0f, contact);
    return true;
}

// The paper's bound: distance to the surface of whatever fragment the point is in. It is
// propagated, so it can be too large; those cases are counted.
static bool PaperCull(knFieldQuery* query, knVec3 p, const knTetPoint* point, float radius)
{
    const knFragmentField* field = query->field;
    if (point->tet == KN_NONE || field->cuts->tetCuts[point->tet] != KN_NONE)
    {
        return false;
    }
    knGridSample sample = knDistanceGrid_Sample(&field->grid, p);
    CrackValue crack = CrackAtNodes(field, point, p);
    if (!(fminf(-sample.distance, crack.distance) > radius))
    {
        return false;
    }
    query->counters.culledByPaper += 1;
    knFaceHit hit = {.distance2 = (double)radius * (double)radius};
    query->counters.falseCulls += knHitFragment(query, p, kn_hitAny, &hit);
    return true;
}

static bool SphereBeyond(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                         float radius)
{
    const knFragmentField* field = query->field;
    bool paper = field->def.paperSphereBound;
    knTetPoint point;
    bool inside = knQueryInside(query, record, p, &point);
    if (!inside && paper && PaperCull(query, p, &point, radius))
    {
        return true;
    }
    if (inside || radius > field->def.exactRadius)
    {
        return false;
    }
    // closed sets: a sphere that just touches is kept, so a little more
    double reach = (double)radius * 1.00001 + (double)field->grid.slack;
    knFaceHit hit = {.distance2 = reach * reach};
    bool beyond = !knHitFragment(query, p, kn_hitAny, &hit);
    query->counters.culledByFaces += beyond;
    return beyond;
}

bool knQuerySphere(knFieldQuery* query, const knFragmentRecord* record, knVec3 p, float radius)
{
    const knFragmentField* field = query->field;
    if (!knOccupancy_Touches(query, record, p, radius))
    {
        query->counters.culledByCells += 1;
        return false;
    }
    if (radius < field->locator.cellSize && knDistanceGrid_LowerBound(&field->grid, p) > radius)
    {
        query->counters.culledByGrid += 1;
        return false;
    }
    bool exact = radius <= field->def.exactRadius || field->def.paperSphereBound;
    if (exact && SphereBeyond(query, record, p, radius))
    {
        return false;
    }
    query->counters.spheresKept += 1;
    return true;
}

bool knFieldQuery_SphereTest(knFieldQuery* query, knVec3 p, float radius)
{
    const knFragmentField* field = query->field;
    const knFragmentRecord* record = knFindRecord(field, query->fragment);
    query->counters.sphereTests += 1;
    if (!record || knBoxGap(&record->box, p.x, p.y, p.z) > radius * 1.00001f + field->grid.slack)
    {
        query->counters.culledByBox += 1;
        return false;
    }
    return knQuerySphere(query, record, p, radius);
}
