// SPDX-License-Identifier: Zlib
#include "fracture/cutting_internal.h"

static bool FaceHolds(const knRegionFace* face, uint8_t vertex)
{
    bool holds = false;
    for (int i = 0; i < face->count; ++i)
    {
        holds |= face->loop[i] == vertex;
    }
    return holds;
}

void knCut_AddRegionMoments(Moments* m, const knTetRegion* region, const knVec3 corners[4],
                            knDVec3 origin)
{
    // from the weights: the parts of a tetrahedron then fill it to the last bits
    knDVec3 points[KN_MAX_REGION_VERTICES];
    knDVec3 base[4];
    for (int i = 0; i < 4; ++i)
    {
        base[i] = knDSub(knToDouble(corners[i]), origin);
    }
    for (int i = 0; i < region->vertexCount; ++i)
    {
        const double* w = region->vertices[i].weights;
        points[i] = knDAdd(knDAdd(knDScale(w[0], base[0]), knDScale(w[1], base[1])),
                           knDAdd(knDScale(w[2], base[2]), knDScale(w[3], base[3])));
        m->box = knBox_AddPoint(m->box, region->vertices[i].position);
    }
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        for (int i = 1; i + 1 < face->count && !FaceHolds(face, 0); ++i)
        {
            // apex behind the face: positive volume for a face that turns outwards
            const knDVec3 r[4] = {points[0], points[face->loop[0]], points[face->loop[i]],
                                  points[face->loop[i + 1]]};
            knMoments_AddTet(&m->sums, r);
        }
    }
}

knDVec3 knCut_PlanOrigin(const Plan* plan)
{
    return plan->set->fragments[plan->fragment].mass.center;
}

knDVec3 knCut_FaceArea2(const knTetRegion* region, const knRegionFace* face)
{
    knDVec3 a = knToDouble(region->vertices[face->loop[0]].position);
    knDVec3 sum = {0.0, 0.0, 0.0};
    knDVec3 last = knDSub(knToDouble(region->vertices[face->loop[1]].position), a);
    for (int i = 2; i < face->count; ++i)
    {
        knDVec3 next = knDSub(knToDouble(region->vertices[face->loop[i]].position), a);
        sum = knDAdd(sum, knDCross(last, next));
        last = next;
    }
    return sum;
}

static double Larger(double a, double b)
{
    return a > b ? a : b;
}

// Squared, so that no root is needed.
static double TriangleQuality(knDVec3 a, knDVec3 b, knDVec3 c)
{
    knDVec3 u = knDSub(b, a);
    knDVec3 v = knDSub(c, a);
    knDVec3 w = knDSub(c, b);
    double longest = Larger(knDDot(u, u), Larger(knDDot(v, v), knDDot(w, w)));
    knDVec3 n = knDCross(u, v);
    return longest > 0.0 ? knDDot(n, n) / (longest * longest) : 0.0;
}

int knCut_BestFan(const knTetRegion* region, const knRegionFace* face, double* quality)
{
    knDVec3 p[KN_MAX_REGION_LOOP];
    for (int i = 0; i < face->count; ++i)
    {
        p[i] = knToDouble(region->vertices[face->loop[i]].position);
    }
    int best = 0;
    *quality = -1.0;
    // the two fans of a quad repeat, a triangle has one
    int candidateCount = face->count == 3 ? 1 : face->count == 4 ? 2 : face->count;
    for (int apex = 0; apex < candidateCount; ++apex)
    {
        double worst = 1.0;
        for (int i = 1; i + 1 < face->count; ++i)
        {
            double q = TriangleQuality(p[apex], p[(apex + i) % face->count],
                                       p[(apex + i + 1) % face->count]);
            worst = q < worst ? q : worst;
        }
        if (worst > *quality)
        {
            *quality = worst;
            best = apex;
        }
    }
    return best;
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

static void AddCutTet(Plan* plan, uint32_t tet, uint32_t slot, knDVec3 origin)
{
    uint32_t component = plan->components[slot];
    uint8_t mask = knCut_ComponentMask(plan, tet, component);
    const uint32_t* v = plan->mesh->tets[tet].v;
    // once for each part: from its first corner
    uint8_t lowest = (uint8_t)(mask & -mask);
    for (int i = 0; i < 4; ++i)
    {
        if (lowest >> i & 1 && v[i] == plan->nodes[slot])
        {
            const knVec3 corners[4] = {plan->mesh->nodes[v[0]], plan->mesh->nodes[v[1]],
                                       plan->mesh->nodes[v[2]], plan->mesh->nodes[v[3]]};
            knTetRegion region;
            knCutStore_Region(plan->store, plan->mesh, tet, mask, &region);
            knCut_AddRegionMoments(&plan->moments[component], &region, corners, origin);
            JudgeNewFaces(plan, tet, &region);
        }
    }
}

static void AddStar(Plan* plan, uint32_t slot, knDVec3 origin)
{
    const knCutMesh* c = plan->cutMesh;
    const knTetMesh* mesh = plan->mesh;
    uint32_t node = plan->nodes[slot];
    Moments* m = &plan->moments[plan->components[slot]];
    m->box = knBox_AddPoint(m->box, mesh->nodes[node]);
    for (uint32_t k = c->nodeTetStarts[node]; k < c->nodeTetStarts[node + 1]; ++k)
    {
        uint32_t tet = c->nodeTets[k];
        if (plan->store->tetCuts[tet] != KN_NONE)
        {
            AddCutTet(plan, tet, slot, origin);
        }
        else if (mesh->tets[tet].v[0] == node)
        {
            knDVec3 r[4];
            for (int i = 0; i < 4; ++i)
            {
                r[i] = knDSub(knToDouble(mesh->nodes[mesh->tets[tet].v[i]]), origin);
            }
            knMoments_AddTet(&m->sums, r);
        }
    }
}

knResult knCut_MeasureComponents(Plan* plan)
{
    plan->moments = knArena_Allocate(plan->arena, plan->componentCount, sizeof(Moments));
    if (!plan->moments)
    {
        return kn_errorMemory;
    }
    plan->crackArea = 0.0;
    for (uint32_t c = 0; c < plan->componentCount; ++c)
    {
        plan->moments[c] = (Moments){.box = knEmptyBox()};
    }
    for (uint32_t slot = 0; slot < plan->nodeCount; ++slot)
    {
        AddStar(plan, slot, knCut_PlanOrigin(plan));
    }
    return kn_success;
}
