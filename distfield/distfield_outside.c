// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Whether a ball around a point of the tetrahedron stays within it.
static bool HoldsBall(const knTetMesh* mesh, uint32_t tet, knVec3 p, float radius)
{
    const uint32_t* v = mesh->tets[tet].v;
    double limit = (double)radius * 1.00001;
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        knDVec3 a = knToDouble(mesh->nodes[v[c[0]]]);
        knDVec3 n = knDCross(knDSub(knToDouble(mesh->nodes[v[c[1]]]), a),
                             knDSub(knToDouble(mesh->nodes[v[c[2]]]), a));
        double height = knDDot(n, knDSub(a, knToDouble(p)));
        if (!(height > 0.0 && height * height > limit * limit * knDDot(n, n)))
        {
            return false;
        }
    }
    return true;
}

// A cell of the k-d tree on the stack, with what is known of its distance along each axis.
typedef struct Visit
{
    uint32_t node;
    float gap[3];
} Visit;

static double TetGap2(const knTetMesh* mesh, uint32_t tet, knVec3 p)
{
    const uint32_t* v = mesh->tets[tet].v;
    knBox box = {mesh->nodes[v[0]], mesh->nodes[v[0]]};
    box = knBox_AddPoint(box, mesh->nodes[v[1]]);
    box = knBox_AddPoint(box, mesh->nodes[v[2]]);
    box = knBox_AddPoint(box, mesh->nodes[v[3]]);
    double gap = (double)knBox_Distance(box, p) * 0.99999;
    return gap * gap;
}

// Whether the tetrahedron can have such a face.
static bool HasFaces(const knFragmentField* field, uint32_t tet, knHitKind kind)
{
    if (kind == kn_hitCracks || field->cuts->tetCuts[tet] != KN_NONE)
    {
        return field->cuts->tetCuts[tet] != KN_NONE;
    }
    const uint32_t* t = field->mesh->neighbors[tet].t;
    return t[0] == KN_NONE || t[1] == KN_NONE || t[2] == KN_NONE || t[3] == KN_NONE;
}

#define SEEN_COUNT 64

// One search. A tetrahedron is in several leaves: a small table remembers most of those seen.
typedef struct Search
{
    knFieldQuery* query;
    knFaceHit* hit;
    knVec3 p;
    knHitKind kind;
    uint32_t seen[SEEN_COUNT];
} Search;

static bool HitLeaf(Search* search, knKdNode leaf)
{
    const knFragmentField* field = search->query->field;
    const uint32_t* references = field->locator.references + leaf.value;
    bool found = false;
    for (uint32_t i = 0; i < leaf.link >> 2 && !(search->kind == kn_hitAny && found); ++i)
    {
        uint32_t tet = references[i];
        uint32_t* seen = &search->seen[tet % SEEN_COUNT];
        if (*seen == tet || !HasFaces(field, tet, search->kind) ||
            knCutStore_Mask(field->cuts, field->mesh, tet, search->query->fragment) == 0)
        {
            continue;
        }
        *seen = tet;
        if (TetGap2(field->mesh, tet, search->p) < search->hit->distance2)
        {
            search->query->counters.facesMeasured += 1;
            found = knHitTet(field, tet, search->query->fragment, knToDouble(search->p),
                             search->kind != kn_hitCracks, search->hit) ||
                    found;
        }
    }
    return found;
}

static double Gap2(const Visit* v)
{
    double x = (double)v->gap[0], y = (double)v->gap[1], z = (double)v->gap[2];
    return (x * x + y * y + z * z) * 0.99999;
}

bool knHitFragment(knFieldQuery* query, knVec3 p, knHitKind kind, knFaceHit* hit)
{
    const knKdNode* nodes = query->field->locator.nodes;
    Visit stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0};
    bool found = false;
    Search search = {.query = query, .hit = hit, .p = p, .kind = kind};
    memset(search.seen, 0xFF, sizeof search.seen);
    while (depth > 0 && !(kind == kn_hitAny && found))
    {
        Visit v = stack[--depth];
        if (Gap2(&v) > hit->distance2)
        {
            continue;
        }
        knKdNode node = nodes[v.node];
        if (knKdNode_IsLeaf(node))
        {
            found = HitLeaf(&search, node) || found;
            continue;
        }
        uint32_t axis = node.link & 3u;
        float side = knAxis(p, axis) - knBitsToFloat(node.value);
        Visit near = v, far = v;
        near.node = side > 0.0f ? node.link >> 2 : v.node + 1;
        far.node = side > 0.0f ? v.node + 1 : node.link >> 2;
        far.gap[axis] = fabsf(side) > v.gap[axis] ? fabsf(side) : v.gap[axis];
        stack[depth++] = far;
        stack[depth++] = near;
    }
    return found;
}

// Whether the ball lies within a whole tetrahedron of another fragment.
static bool IsFarFromFaces(const knFragmentField* field, const knTetPoint* point, knVec3 p,
                           float radius)
{
    if (point->tet == KN_NONE || field->cuts->tetCuts[point->tet] != KN_NONE)
    {
        return false;
    }
    return HoldsBall(field->mesh, point->tet, p, radius);
}

bool knQueryDistance(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                     const knTetPoint* point, float margin, knFieldContact* contact)
{
    if (knBoxGap(&record->box, p.x, p.y, p.z) > margin * 1.00001f + query->field->grid.slack)
    {
        return false;
    }
    query->counters.distances += 1;
    if (!knOccupancy_Touches(query->field, record, p, margin) ||
        knDistanceGrid_LowerBound(&query->field->grid, p) > margin ||
        IsFarFromFaces(query->field, point, p, margin))
    {
        return false;
    }
    knFaceHit hit = {.distance2 = (double)margin * (double)margin};
    if (!knHitFragment(query, p, kn_hitSurface, &hit))
    {
        return false;
    }
    knVec3 normal = knWayOut(p, &hit);
    // on the outside the nearest point lies behind, on the face itself its normal already points
    // out
    bool behind = knDDot(knToDouble(normal), knDSub(knToDouble(p), hit.point)) < 0.0;
    *contact = (knFieldContact){(float)sqrt(hit.distance2), behind ? knNeg(normal) : normal,
                                hit.isCrack ? kn_sourceCrackFace : kn_sourceTriangle};
    return true;
}

bool knFieldQuery_Distance(knFieldQuery* query, knVec3 p, float margin, knFieldContact* contact)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    knTetPoint point;
    return record && margin > 0.0f && !knQueryInside(query, record, p, &point) &&
           knQueryDistance(query, record, p, &point, margin, contact);
}
