// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

// Volume, box and new crack area of the components. Most of a fragment is uncut tetrahedra, and
// most cut ones have one plane: both have closed forms. The component with the most nodes is what
// the others leave of the fragment.

// A cut tetrahedron, its corners from the origin of all moments.
typedef struct CutTet
{
    const knTetCut* cut;
    const uint32_t* v;
    knDVec3 r[4];
    uint32_t tet;
} CutTet;

static CutTet LoadTet(const Plan* plan, uint32_t tet)
{
    uint32_t record = plan->store->tetCuts[tet];
    CutTet t = {.cut = record == KN_NONE ? NULL : &plan->store->cuts[record],
                .v = plan->mesh->tets[tet].v,
                .tet = tet};
    for (int i = 0; i < 4; ++i)
    {
        t.r[i] = knDSub(knToDouble(plan->mesh->nodes[t.v[i]]), plan->cutMesh->origin);
    }
    return t;
}

// The component of a corner, or KN_NONE when it belongs to another fragment.
static uint32_t ComponentOf(const Plan* plan, uint32_t node)
{
    uint32_t slot = SlotOf(plan, node);
    return slot < plan->nodeCount ? plan->components[slot] : KN_NONE;
}

static void AddRegion(Plan* plan, const CutTet* t, uint8_t mask, uint32_t component,
                      knTetRegion* region)
{
    const knVec3 corners[4] = {plan->mesh->nodes[t->v[0]], plan->mesh->nodes[t->v[1]],
                               plan->mesh->nodes[t->v[2]], plan->mesh->nodes[t->v[3]]};
    knMakeTetRegion(region, corners, t->v, t->cut, mask);
    if (component != plan->largest)
    {
        knCut_AddRegionMoments(&plan->moments[component].sums, region, corners,
                               plan->cutMesh->origin);
    }
}

// No float left between two points, or a face without area: no sound surface can be made. Every
// corner of a convex face is looked at with its neighbours; a fan needs no more to be sound.
static bool IsTooFine(const knTetRegion* region)
{
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        uint8_t a = face->loop[face->count - 2];
        uint8_t b = face->loop[face->count - 1];
        for (int i = 0; i < (face->count == 3 ? 1 : face->count); ++i)
        {
            uint8_t c = face->loop[i];
            knDVec3 p = knToDouble(region->vertices[b].position);
            knDVec3 u = knDSub(knToDouble(region->vertices[a].position), p);
            knDVec3 v = knDSub(knToDouble(region->vertices[c].position), p);
            knDVec3 n = knDCross(u, v);
            if (!(knDDot(n, n) > 0.0))
            {
                return true;
            }
            a = b;
            b = c;
        }
    }
    return false;
}

static bool AllOwn(const Plan* plan, uint32_t tet, uint8_t mask)
{
    const uint32_t* v = plan->mesh->tets[tet].v;
    bool all = true;
    for (int i = 0; i < 4; ++i)
    {
        all &= !(mask >> i & 1) || IsOwn(plan, v[i]);
    }
    return all;
}

// A plane of this split parts nodes of the fragment only; seen from below, the parts that later
// planes made of its face add up to the whole.
static void JudgeNewFaces(Plan* plan, uint32_t tet, const knTetRegion* region)
{
    const knTetCut* cut = &plan->store->cuts[plan->store->tetCuts[tet]];
    bool isNew = false;
    for (int f = 0; f < region->faceCount; ++f)
    {
        int p = region->faces[f].source - 4;
        if (p >= 0 && AllOwn(plan, tet, cut->region[p]))
        {
            isNew = true;
            bool below = (region->mask & cut->below[p]) != 0;
            plan->crackArea +=
                below ? 0.5 * knDLength(knCut_FaceArea2(region, &region->faces[f])) : 0.0;
        }
    }
    plan->tooFine |= isNew && IsTooFine(region);
}

// Every part of the fragment in a tetrahedron of several planes.
static void MeasureParts(Plan* plan, const CutTet* t)
{
    uint8_t done = 0;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t component = done >> i & 1 ? KN_NONE : ComponentOf(plan, t->v[i]);
        if (component != KN_NONE)
        {
            uint8_t mask = knCut_ComponentMask(plan, t->tet, component);
            done |= mask;
            knTetRegion region;
            AddRegion(plan, t, mask, component, &region);
            JudgeNewFaces(plan, t->tet, &region);
        }
    }
}

// Where the plane crosses the edge between two corners, and the smallest share met so far.
static knDVec3 Crossing(const CutTet* t, int a, int b, double* least)
{
    bool ordered = t->v[a] < t->v[b];
    int low = ordered ? a : b, high = ordered ? b : a;
    double share = knCutShare((double)t->cut->phi[0][low], (double)t->cut->phi[0][high]);
    *least = share < *least ? share : *least;
    *least = 1.0 - share < *least ? 1.0 - share : *least;
    return knDAdd(knDScale(1.0 - share, t->r[low]), knDScale(share, t->r[high]));
}

static void AddTet(knMoments* m, knDVec3 a, knDVec3 b, knDVec3 c, knDVec3 d)
{
    const knDVec3 r[4] = {a, b, c, d};
    knMoments_AddTet(m, r);
}

// Area of a plane quadrilateral, or of a triangle whose last corner comes twice.
static double QuadArea(knDVec3 a, knDVec3 b, knDVec3 c, knDVec3 d)
{
    return 0.5 * knDLength(knDCross(knDSub(c, a), knDSub(d, b)));
}

// What one plane cuts off a tetrahedron.
typedef struct PlanePart
{
    knMoments moments;
    double area;  // m^2, of the plane's face
    double least; // smallest share of an edge
    uint8_t mask; // its corners
} PlanePart;

// The part below a single plane, or above it when that has one corner.
static PlanePart SmallPart(const CutTet* t)
{
    // even permutations that begin with the part's corners keep the volume positive
    static const uint8_t orders[16][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2}, {0, 1, 2, 3},
                                          {2, 3, 0, 1}, {0, 2, 3, 1}, {1, 2, 0, 3}, {0, 1, 2, 3},
                                          {3, 2, 1, 0}, {0, 3, 1, 2}, {1, 3, 2, 0}, {0, 1, 2, 3},
                                          {2, 3, 0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}};
    PlanePart part = {.least = 0.5};
    knMoments* m = &part.moments;
    double* least = &part.least;
    uint8_t mask = t->cut->below[0];
    uint8_t rest = (uint8_t)(0xF & ~mask);
    part.mask = (rest & (rest - 1)) == 0 ? rest : mask;
    const uint8_t* o = orders[part.mask];
    if ((part.mask & (part.mask - 1)) == 0)
    {
        knDVec3 p = Crossing(t, o[0], o[1], least), q = Crossing(t, o[0], o[2], least);
        knDVec3 r = Crossing(t, o[0], o[3], least);
        AddTet(m, t->r[o[0]], p, q, r);
        part.area = QuadArea(p, q, r, r);
        return part;
    }
    // a wedge between the triangles a, ac, ad and b, bc, bd
    knDVec3 a = t->r[o[0]], b = t->r[o[1]];
    knDVec3 ac = Crossing(t, o[0], o[2], least), ad = Crossing(t, o[0], o[3], least);
    knDVec3 bc = Crossing(t, o[1], o[2], least), bd = Crossing(t, o[1], o[3], least);
    AddTet(m, a, b, ac, ad);
    AddTet(m, b, bc, ac, ad);
    AddTet(m, b, bc, ad, bd);
    part.area = QuadArea(ac, ad, bd, bc);
    return part;
}

static void AddScaled(knMoments* m, double s, const knMoments* other)
{
    m->volume += s * other->volume;
    m->first = knDAdd(m->first, knDScale(s, other->first));
    m->second.xx += s * other->second.xx;
    m->second.yy += s * other->second.yy;
    m->second.zz += s * other->second.zz;
    m->second.xy += s * other->second.xy;
    m->second.xz += s * other->second.xz;
    m->second.yz += s * other->second.yz;
}

// Whether rounding to floats could take the area of a face: no face that one plane leaves has less
// doubled area than share^3 * volume6 / longest, and moving its corners by d changes that by at
// most 4 d * longest.
static bool MayBeTooFine(const Plan* plan, const CutTet* t, double least)
{
    double longest2 = 0.0;
    for (int k = 0; k < 6; ++k)
    {
        knDVec3 e = knDSub(t->r[knTetEdgeCorners[k][1]], t->r[knTetEdgeCorners[k][0]]);
        double length2 = knDDot(e, e);
        longest2 = length2 > longest2 ? length2 : longest2;
    }
    knDVec3 n = knDCross(knDSub(t->r[1], t->r[0]), knDSub(t->r[2], t->r[0]));
    double volume6 = knDDot(n, knDSub(t->r[3], t->r[0]));
    return !(least * least * least * volume6 > 1e-6 * plan->farthest * longest2);
}

static void MeasureOnePlane(Plan* plan, const CutTet* t)
{
    PlanePart small = SmallPart(t);
    uint8_t mask = small.mask;
    uint8_t rest = (uint8_t)(0xF & ~mask);
    uint32_t inside = ComponentOf(plan, t->v[FirstCorner(mask)]);
    uint32_t outside = ComponentOf(plan, t->v[FirstCorner(rest)]);
    if (inside != plan->largest)
    {
        AddScaled(&plan->moments[inside].sums, 1.0, &small.moments);
    }
    if (outside != plan->largest)
    {
        knMoments* m = &plan->moments[outside].sums;
        AddScaled(m, 1.0, &plan->cutMesh->tetMoments[t->tet]);
        AddScaled(m, -1.0, &small.moments);
    }
    plan->crackArea += small.area;
    if (MayBeTooFine(plan, t, small.least))
    {
        knTetRegion region;
        knCutStore_Region(plan->store, plan->mesh, t->tet, mask, &region);
        plan->tooFine |= IsTooFine(&region);
        knCutStore_Region(plan->store, plan->mesh, t->tet, rest, &region);
        plan->tooFine |= IsTooFine(&region);
    }
}

static void MeasureCrossed(Plan* plan)
{
    for (uint32_t i = 0; i < plan->crossedCount; ++i)
    {
        if (i + KN_CUT_AHEAD < plan->crossedCount)
        {
            uint32_t later = plan->crossedTets[i + KN_CUT_AHEAD];
            Fetch(&plan->mesh->tets[later]);
            Fetch(&plan->cutMesh->tetMoments[later]);
        }
        CutTet t = LoadTet(plan, plan->crossedTets[i]);
        if (t.cut->planeCount == 1)
        {
            MeasureOnePlane(plan, &t);
        }
        else
        {
            MeasureParts(plan, &t);
        }
    }
}

// A part that earlier breaks left and this one does not cross, from its first corner.
static void AddOldPart(Plan* plan, uint32_t tet, uint32_t slot)
{
    const uint32_t* v = plan->mesh->tets[tet].v;
    uint32_t component = plan->components[slot];
    uint8_t mask = 0;
    bool crossed = false;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t other = ComponentOf(plan, v[i]);
        mask |= (uint8_t)((other == component) << i);
        crossed |= other != component && other != KN_NONE;
    }
    if (crossed || v[FirstCorner(mask)] != plan->nodes[slot])
    {
        return;
    }
    CutTet t = LoadTet(plan, tet);
    if (t.cut->planeCount > 1)
    {
        knTetRegion region;
        AddRegion(plan, &t, mask, component, &region);
        return;
    }
    PlanePart small = SmallPart(&t);
    bool isSmall = small.mask == mask;
    AddScaled(&plan->moments[component].sums, isSmall ? 1.0 : -1.0, &small.moments);
    if (!isSmall)
    {
        AddScaled(&plan->moments[component].sums, 1.0, &plan->cutMesh->tetMoments[tet]);
    }
}

// The tetrahedra around a node that no plane of this split crosses.
static void AddStar(Plan* plan, uint32_t slot)
{
    const knCutMesh* c = plan->cutMesh;
    uint32_t node = plan->nodes[slot];
    knMoments* m = &plan->moments[plan->components[slot]].sums;
    if (plan->set->cutCounts[node] == 0)
    {
        AddScaled(m, 1.0, &c->nodeMoments[node]);
        return;
    }
    for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
    {
        uint32_t tet = c->nodeTets[k];
        uint32_t record = plan->store->tetCuts[tet];
        if (record == KN_NONE)
        {
            if (plan->mesh->tets[tet].v[0] == node)
            {
                AddScaled(m, 1.0, &c->tetMoments[tet]);
            }
        }
        else if (record < plan->firstCut)
        {
            AddOldPart(plan, tet, slot);
        }
    }
}

// The fragment's own moments, from what is known of it.
static knMoments FragmentMoments(const Plan* plan)
{
    const knMassProperties* p = &plan->set->fragments[plan->fragment].mass;
    double s = 1.0 / plan->set->density, v = p->volume;
    knDSym3 i = p->inertia;
    knDVec3 c = knDSub(p->center, plan->cutMesh->origin);
    knMoments m = {.volume = v, .first = knDScale(v, c)};
    m.second = (knDSym3){.xx = 0.5 * s * (i.yy + i.zz - i.xx) + v * c.x * c.x,
                         .yy = 0.5 * s * (i.xx + i.zz - i.yy) + v * c.y * c.y,
                         .zz = 0.5 * s * (i.xx + i.yy - i.zz) + v * c.z * c.z,
                         .xy = v * c.x * c.y - s * i.xy,
                         .xz = v * c.x * c.z - s * i.xz,
                         .yz = v * c.y * c.z - s * i.yz};
    return m;
}

// Nodes first; what is smaller than the limit by them gets the vertices of all its parts as well.
static void MeasureBox(Plan* plan, uint32_t component)
{
    const knCutMesh* c = plan->cutMesh;
    knBox box = knEmptyBox();
    uint32_t first = plan->starts[component], end = plan->starts[component + 1];
    for (uint32_t i = first; i < end; ++i)
    {
        box = knBox_AddPoint(box, plan->mesh->nodes[plan->nodes[plan->order[i]]]);
    }
    plan->moments[component].box = box;
    if (!(knCut_BoxSize(plan, component) < plan->def->minSize))
    {
        return;
    }
    for (uint32_t i = first; i < end; ++i)
    {
        uint32_t node = plan->nodes[plan->order[i]];
        for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
        {
            uint32_t tet = c->nodeTets[k];
            knTetRegion region;
            knCutStore_Region(plan->store, plan->mesh, tet,
                              knCut_ComponentMask(plan, tet, component), &region);
            for (int v = 0; v < region.vertexCount; ++v)
            {
                box = knBox_AddPoint(box, region.vertices[v].position);
            }
        }
    }
    plan->moments[component].box = box;
}

static void StartMeasure(Plan* plan)
{
    plan->crackArea = 0.0;
    plan->largest = 0;
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        plan->moments[c] = (Moments){.box = knEmptyBox()};
        uint32_t most = plan->starts[plan->largest + 1] - plan->starts[plan->largest];
        plan->largest = plan->starts[c + 1] - plan->starts[c] > most ? c : plan->largest;
    }
    float farthest = 0.0f;
    for (uint32_t i = 0; i < plan->nodeCount; ++i)
    {
        knVec3 p = plan->mesh->nodes[plan->nodes[i]];
        farthest = fmaxf(farthest, fmaxf(fabsf(p.x), fmaxf(fabsf(p.y), fabsf(p.z))));
    }
    plan->farthest = (double)farthest;
}

knResult knCut_MeasureComponents(Plan* plan)
{
    plan->moments = knArena_Allocate(plan->arena, plan->componentCount, sizeof(Moments));
    if (!plan->moments)
    {
        return kn_errorMemory;
    }
    StartMeasure(plan);
    MeasureCrossed(plan);
    knMoments rest = FragmentMoments(plan);
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        for (uint32_t i = plan->starts[c]; c != plan->largest && i < plan->starts[c + 1]; ++i)
        {
            AddStar(plan, plan->order[i]);
        }
        if (c != plan->largest)
        {
            AddScaled(&rest, -1.0, &plan->moments[c].sums);
        }
        if (plan->def->minSize > 0.0f)
        {
            MeasureBox(plan, c);
        }
    }
    plan->moments[plan->largest].sums = rest;
    return kn_success;
}
