// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

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

// Whether the tetrahedron can have a face of a fragment's surface.
static bool HasFaces(const knFragmentField* field, uint32_t tet)
{
    const uint32_t* t = field->mesh->neighbors[tet].t;
    return field->cuts->tetCuts[tet] != KN_NONE || t[0] == KN_NONE || t[1] == KN_NONE ||
           t[2] == KN_NONE || t[3] == KN_NONE;
}

static bool HitLeaf(knFieldQuery* query, knKdNode leaf, knVec3 p, bool any, knFaceHit* hit)
{
    const knFragmentField* field = query->field;
    const uint32_t* references = field->locator.references + leaf.value;
    bool found = false;
    for (uint32_t i = 0; i < leaf.link >> 2 && !(any && found); ++i)
    {
        uint32_t tet = references[i];
        if (HasFaces(field, tet) && TetGap2(field->mesh, tet, p) < hit->distance2)
        {
            query->counters.facesMeasured += 1;
            found = knHitTet(field, tet, query->fragment, knToDouble(p), true, hit) || found;
        }
    }
    return found;
}

static double Gap2(const Visit* v)
{
    double x = (double)v->gap[0], y = (double)v->gap[1], z = (double)v->gap[2];
    return (x * x + y * y + z * z) * 0.99999;
}

bool knHitFragment(knFieldQuery* query, knVec3 p, bool any, knFaceHit* hit)
{
    const knKdNode* nodes = query->field->locator.nodes;
    Visit stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0};
    bool found = false;
    while (depth > 0 && !(any && found))
    {
        Visit v = stack[--depth];
        if (Gap2(&v) > hit->distance2)
        {
            continue;
        }
        knKdNode node = nodes[v.node];
        if (knKdNode_IsLeaf(node))
        {
            found = HitLeaf(query, node, p, any, hit) || found;
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

bool knFieldQuery_Distance(knFieldQuery* query, knVec3 p, float margin, knFieldContact* contact)
{
    const knFragmentField* field = query->field;
    const knFragmentRecord* record = knFindRecord(field, query->fragment);
    query->counters.distances += 1;
    if (!record || !(margin > 0.0f) || !knOccupancy_Touches(field, record, p, margin))
    {
        return false;
    }
    knTetPoint point;
    knFaceHit hit = {.distance2 = (double)margin * (double)margin};
    if (knQueryInside(query, p, &point) || !knHitFragment(query, p, false, &hit))
    {
        return false;
    }
    knDVec3 d = knDSub(knToDouble(p), hit.point);
    double length = sqrt(hit.distance2);
    double size = fabs(hit.point.x) + fabs(hit.point.y) + fabs(hit.point.z);
    // nearly on the face: its own normal has more digits
    d = length > 1e-6 * size ? d : hit.normal;
    *contact = (knFieldContact){
        (float)length, knNormalize(knToFloat(knDScale(1.0 / fmax(knDLength(d), DBL_MIN), d))),
        hit.isCrack ? kn_sourceCrackFace : kn_sourceTriangle};
    return true;
}
