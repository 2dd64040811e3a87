// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#define MAX_SPREAD 32 // tetrahedra; beyond these the k-d tree is faster

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

static bool HitReference(Search* search, uint32_t reference)
{
    const knFragmentField* field = search->query->field;
    uint32_t tet = reference & ~KN_AT_SURFACE;
    uint8_t mask;
    int faces = FacesIn(search, reference, &mask);
    if (faces == 0 || !((double)TetGap2(field->mesh, tet, search->p) < search->hit->distance2))
    {
        return false;
    }
    search->query->counters.facesMeasured += 1;
    bool found = knHitPart(field, tet, mask, knToDouble(search->p), faces, search->hit);
    search->reach = found ? knPlaneReach(field, search->hit) : search->reach;
    return found;
}

static bool IsEnough(const Search* search, bool found)
{
    return found && search->kind == kn_hitAny;
}

#define CHUNK 16u

// Those of a leaf's references that can have faces of the fragment: few do, and which is no guess
// that a processor could make.
static uint32_t ChooseReferences(const Search* search, const uint32_t* references, uint32_t count,
                                 uint32_t chosen[CHUNK])
{
    const uint32_t* labels = search->query->field->tetLabels;
    uint32_t fragment = search->query->fragment, chosenCount = 0;
    uint32_t surface = search->kind != kn_hitCracks ? KN_AT_SURFACE : 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t label = labels[references[i] & ~KN_AT_SURFACE];
        chosen[chosenCount] = references[i];
        chosenCount += (uint32_t)(label == KN_NONE) |
                       ((uint32_t)(label == fragment) & (uint32_t)((references[i] & surface) != 0));
    }
    return chosenCount;
}

static bool HitLeaf(Search* search, knKdNode leaf)
{
    const uint32_t* references = search->query->field->locator.references + leaf.value;
    uint32_t count = leaf.link >> 2, chosen[CHUNK];
    bool found = false;
    for (uint32_t first = 0; first < count; first += CHUNK)
    {
        uint32_t some = count - first < CHUNK ? count - first : CHUNK;
        some = ChooseReferences(search, references + first, some, chosen);
        for (uint32_t i = 0; i < some && !IsEnough(search, found); ++i)
        {
            found = HitReference(search, chosen[i]) || found;
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
    while (depth > 0 && !IsEnough(&search, found))
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

// The tetrahedra that a ball touches, from the one that holds its middle.
typedef struct Spread
{
    uint32_t tets[MAX_SPREAD];
    uint32_t count;
} Spread;

// False at the surface of the object, where the ball may leave it and enter it again, and when
// there are too many.
static bool AddNeighbors(Spread* spread, const knTetMesh* mesh, uint32_t tet, uint32_t faces)
{
    for (uint32_t i = 0; i < 4; ++i)
    {
        if (!(faces >> i & 1))
        {
            continue;
        }
        uint32_t k = 0, other = mesh->neighbors[tet].t[i];
        while (k < spread->count && spread->tets[k] != other)
        {
            ++k;
        }
        if (other == KN_NONE || k == MAX_SPREAD)
        {
            return false;
        }
        spread->tets[k] = other;
        spread->count += k == spread->count;
    }
    return true;
}

bool knHitAround(knFieldQuery* query, uint32_t tet, knVec3 p, knHitKind kind, knFaceHit* hit)
{
    const knFragmentField* field = query->field;
    Search search = {.query = query, .hit = hit, .p = p, .kind = kind};
    search.reach = knPlaneReach(field, hit);
    Spread spread;
    spread.tets[0] = tet;
    spread.count = 1;
    bool found = false, isWhole = true;
    for (uint32_t i = 0; isWhole && i < spread.count && !IsEnough(&search, found); ++i)
    {
        // a straight way from the middle to any point of the ball goes through faces it touches
        float radius = (float)sqrt(hit->distance2) * 1.00001f + field->grid.slack;
        uint32_t faces = knTetBallFaces(field->mesh, spread.tets[i], p, radius);
        if (faces != KN_BALL_BEYOND)
        {
            found = HitReference(&search, spread.tets[i]) || found;
            isWhole = AddNeighbors(&spread, field->mesh, spread.tets[i], faces);
        }
    }
    return isWhole || IsEnough(&search, found) ? found
                                               : knHitFragment(query, p, kind, hit) || found;
}

// The nearest face within the margin.
static bool HitWithin(knFieldQuery* query, const knTetPoint* point, knVec3 p, knFaceHit* hit)
{
    return point->tet != KN_NONE ? knHitAround(query, point->tet, p, kn_hitSurface, hit)
                                 : knHitFragment(query, p, kn_hitSurface, hit);
}

knFieldContact knContactOfHit(knVec3 p, const knFaceHit* hit)
{
    knVec3 normal = knWayOut(p, hit);
    // on the outside the nearest point lies behind, on the face itself its normal already points
    // out
    bool behind = knDDot(knToDouble(normal), knDSub(knToDouble(p), hit->point)) < 0.0;
    return (knFieldContact){(float)sqrt(hit->distance2), behind ? knNeg(normal) : normal,
                            hit->isCrack ? kn_sourceCrackFace : kn_sourceTriangle};
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
    if (!HitWithin(query, point, p, &hit))
    {
        return false;
    }
    *contact = knContactOfHit(p, &hit);
    return true;
}

bool knFieldQuery_Distance(knFieldQuery* query, knVec3 p, float margin, knFieldContact* contact)
{
    const knFragmentRecord* record = knFindRecord(query->field, query->fragment);
    knTetPoint point;
    return record && margin > 0.0f && !knQueryInside(query, record, p, &point) &&
           knQueryDistance(query, record, p, &point, margin, contact);
}
