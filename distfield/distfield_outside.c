// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

bool knTetHoldsBall(const knTetMesh* mesh, uint32_t tet, knVec3 p, double radius)
{
    const uint32_t* v = mesh->tets[tet].v;
    double limit = radius * 1.00001;
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

// Squared distance to the box around the tetrahedron, a little less.
static float TetGap2(const knTetMesh* mesh, uint32_t tet, knVec3 p)
{
    const uint32_t* v = mesh->tets[tet].v;
    knVec3 a = mesh->nodes[v[0]], b = mesh->nodes[v[1]];
    knVec3 c = mesh->nodes[v[2]], d = mesh->nodes[v[3]];
    knBox box = {knMin(knMin(a, b), knMin(c, d)), knMax(knMax(a, b), knMax(c, d))};
    float x = box.lower.x - p.x > p.x - box.upper.x ? box.lower.x - p.x : p.x - box.upper.x;
    float y = box.lower.y - p.y > p.y - box.upper.y ? box.lower.y - p.y : p.y - box.upper.y;
    float z = box.lower.z - p.z > p.z - box.upper.z ? box.lower.z - p.z : p.z - box.upper.z;
    x = x > 0.0f ? x : 0.0f;
    y = y > 0.0f ? y : 0.0f;
    z = z > 0.0f ? z : 0.0f;
    return (x * x + y * y + z * z) * 0.9999f;
}

// One search.
typedef struct Search
{
    knFieldQuery* query;
    knFaceHit* hit;
    knVec3 p;
    float reach; // m; no plane further away matters
    knHitKind kind;
} Search;

// The corners of the fragment's part of a cut tetrahedron, and whether a plane that bounds it is
// near enough for its crack faces to matter.
static uint8_t PartNear(const Search* search, uint32_t tet, bool* near)
{
    const knFragmentField* field = search->query->field;
    uint32_t fragment = search->query->fragment, index = field->cuts->tetCuts[tet];
    const knCutParts* parts = knFindParts(field, index);
    const knTetCut* cut = &field->cuts->cuts[index];
    if (!parts || cut->planeCount != 1)
    {
        uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, fragment);
        *near = mask != 0 && knNearPlanes(field, index, mask, search->p, search->reach);
        return mask;
    }
    const knCutPlane* plane = &parts->planes[0];
    *near = fabsf(knDot(plane->normal, search->p) - plane->offset) < search->reach;
    return parts->labels[0] == fragment   ? cut->below[0]
           : parts->labels[1] == fragment ? (uint8_t)(0xF & ~cut->below[0])
                                          : 0;
}

// The faces that the fragment can have in a tetrahedron, as far as the search is for them, and the
// corners of its part.
static int FacesIn(const Search* search, uint32_t reference, uint8_t* mask)
{
    uint32_t tet = reference & ~KN_AT_SURFACE, label = search->query->field->tetLabels[tet];
    bool surface = search->kind != kn_hitCracks && (reference & KN_AT_SURFACE) != 0;
    *mask = 0xF;
    if (label != KN_NONE)
    {
        return surface && label == search->query->fragment ? kn_originalFaces : 0;
    }
    bool near;
    *mask = PartNear(search, tet, &near);
    return *mask == 0 ? 0 : (surface ? kn_originalFaces : 0) | (near ? kn_crackFaces : 0);
}

static bool HitLeaf(Search* search, knKdNode leaf)
{
    const knFragmentField* field = search->query->field;
    const uint32_t* references = field->locator.references + leaf.value;
    bool found = false;
    for (uint32_t i = 0; i < leaf.link >> 2 && !(search->kind == kn_hitAny && found); ++i)
    {
        uint32_t tet = references[i] & ~KN_AT_SURFACE;
        uint8_t mask;
        int faces = FacesIn(search, references[i], &mask);
        if (faces != 0 && (double)TetGap2(field->mesh, tet, search->p) < search->hit->distance2)
        {
            search->query->counters.facesMeasured += 1;
            if (knHitPart(field, tet, mask, knToDouble(search->p), faces, search->hit))
            {
                found = true;
                search->reach = knPlaneReach(field, search->hit);
            }
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
    float radius = (float)sqrt(hit->distance2);
    query->counters.searches += 1;
    Visit stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = (Visit){.node = knTetLocator_Entry(&query->field->locator, p, radius)};
    bool found = false;
    Search search = {.query = query, .hit = hit, .p = p, .kind = kind};
    search.reach = knPlaneReach(query->field, hit);
    while (depth > 0 && !(kind == kn_hitAny && found))
    {
        Visit v = stack[--depth];
        if (Gap2(&v) > hit->distance2)
        {
            continue;
        }
        knKdNode node = nodes[v.node];
        while (!knKdNode_IsLeaf(node))
        {
            uint32_t axis = node.link & 3u;
            float side = knAxis(p, axis) - knBitsToFloat(node.value);
            Visit far = v;
            far.node = side > 0.0f ? v.node + 1 : node.link >> 2;
            far.gap[axis] = fabsf(side) > v.gap[axis] ? fabsf(side) : v.gap[axis];
            if (Gap2(&far) <= hit->distance2)
            {
                stack[depth++] = far;
            }
            v.node = side > 0.0f ? node.link >> 2 : v.node + 1;
            node = nodes[v.node];
        }
        found = HitLeaf(&search, node) || found;
    }
    return found;
}

// The nearest face within the margin. Where the ball stays within the tetrahedron that holds p, no
// other can have one.
static bool HitAround(knFieldQuery* query, const knTetPoint* point, knVec3 p, knFaceHit* hit)
{
    const knFragmentField* field = query->field;
    bool found = false;
    if (point->tet != KN_NONE)
    {
        found = field->cuts->tetCuts[point->tet] != KN_NONE &&
                knHitTet(field, point->tet, query->fragment, knToDouble(p), true, hit);
        if (knTetHoldsBall(field->mesh, point->tet, p, sqrt(hit->distance2)))
        {
            return found;
        }
    }
    return knHitFragment(query, p, kn_hitSurface, hit) || found;
}

bool knQueryDistance(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                     const knTetPoint* point, float margin, knFieldContact* contact)
{
    if (knBoxGap(&record->box, p.x, p.y, p.z) > margin * 1.00001f + query->field->grid.slack)
    {
        return false;
    }
    query->counters.distances += 1;
    if (!knOccupancy_Touches(query, record, p, margin) ||
        knDistanceGrid_LowerBound(&query->field->grid, p) > margin)
    {
        return false;
    }
    knFaceHit hit = {.distance2 = (double)margin * (double)margin};
    if (!HitAround(query, point, p, &hit))
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
