// SPDX-License-Identifier: Zlib
#include "family_edges_internal.h"

static knVec3 CrackNormal(const knCrackFace* face)
{
    knVec3 a = face->points[0], sum = {0.0f, 0.0f, 0.0f};
    for (int i = 1; i + 1 < face->count; ++i)
    {
        sum = knAdd(sum, knCross(knSub(face->points[i], a), knSub(face->points[i + 1], a)));
    }
    return knNormalize(sum);
}

static knVec3 FaceNormal(const knTetMesh* mesh, uint32_t tet, uint32_t face)
{
    knTriangle t = knTetMesh_BoundaryTriangle(mesh, 4 * tet + face);
    knVec3 o = mesh->nodes[t.v[0]];
    return knNormalize(knCross(knSub(mesh->nodes[t.v[1]], o), knSub(mesh->nodes[t.v[2]], o)));
}

// One side of a crack face, as it is looked at.
typedef struct Side
{
    const knCrackFace* face;
    const knCrackRim* rim;
    knVec3 normal;
    knVec3 beyond; // normal of the face that it meets
    uint32_t tet;
    int i, next; // its ends
} Side;

// Out of the part that holds the corner, from the plane's function: no part need be made for it.
static knVec3 PlaneNormalAt(const Edges* e, uint32_t tet, int plane, int corner)
{
    const uint32_t* v = e->mesh->tets[tet].v;
    const knTetCut* cut = &e->cuts->cuts[e->cuts->tetCuts[tet]];
    const float* phi = cut->phi[plane];
    knDVec3 o = knToDouble(e->mesh->nodes[v[0]]);
    knDVec3 e1 = knDSub(knToDouble(e->mesh->nodes[v[1]]), o);
    knDVec3 e2 = knDSub(knToDouble(e->mesh->nodes[v[2]]), o);
    knDVec3 e3 = knDSub(knToDouble(e->mesh->nodes[v[3]]), o);
    knDVec3 g = knDScale((double)phi[1] - (double)phi[0], knDCross(e2, e3));
    g = knDAdd(g, knDScale((double)phi[2] - (double)phi[0], knDCross(e3, e1)));
    g = knDAdd(g, knDScale((double)phi[3] - (double)phi[0], knDCross(e1, e2)));
    double length = knDLength(g);
    double sign = cut->below[plane] >> corner & 1 ? 1.0 : -1.0;
    return knToFloat(knDScale(length > 0.0 ? sign / length : 0.0, g));
}

// Whether the crack goes on in the next tetrahedron at a sharp and convex angle. One end of the
// side at least is the cut point of an edge, and the plane that cut it there is the one that goes
// on.
static bool TurnsSharply(const Edges* e, Side* side, uint32_t face, uint32_t other)
{
    uint32_t id = side->rim->ids[side->i];
    uint32_t end = e->cuts->nodeCount + 2 * e->cuts->pointCount;
    id = id < end ? id : side->rim->ids[side->next];
    KN_ASSERT(id >= e->cuts->nodeCount && id < end);
    uint32_t edge = e->cuts->points[(id - e->cuts->nodeCount) / 2].edge;
    uint32_t node = e->mesh->edges[edge].v[(id - e->cuts->nodeCount) % 2];
    const knTetCut* cut = &e->cuts->cuts[e->cuts->tetCuts[other]];
    int k = 0;
    while (k < 5 && e->mesh->tetEdges[other].e[k] != edge)
    {
        k += 1;
    }
    const uint8_t* ends = knTetEdgeCorners[k];
    int plane = 0;
    while (plane + 1 < cut->planeCount &&
           !(cut->region[plane] >> ends[0] & cut->region[plane] >> ends[1] &
             (cut->below[plane] >> ends[0] ^ cut->below[plane] >> ends[1]) & 1))
    {
        plane += 1;
    }
    int corner = e->mesh->tets[other].v[ends[0]] == node ? ends[0] : ends[1];
    knVec3 normal = PlaneNormalAt(e, other, plane, corner);
    side->beyond = normal;
    if (knDot(side->normal, normal) >= e->family->edgeCosine)
    {
        return false;
    }
    // along the other crack, away from the side and into the other tetrahedron
    knVec3 along = knSub(side->face->points[side->next], side->face->points[side->i]);
    knVec3 away = knCross(normal, along);
    bool into = knDot(away, FaceNormal(e->mesh, side->tet, face)) > 0.0f;
    float height = knDot(side->normal, away);
    return into ? height < 0.0f : height > 0.0f;
}

static void AddSide(Edges* e, const Side* side, uint8_t mask, uint32_t face)
{
    const uint32_t* v = e->mesh->tets[side->tet].v;
    int corner = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
    AddEdge(e, (knPieceEdge){.a = side->face->points[side->i],
                             .b = side->face->points[side->next],
                             .normals = {side->normal, side->beyond},
                             .id = EdgeId(side->rim->ids[side->i], side->rim->ids[side->next]),
                             .node = v[corner],
                             .source = 8 * side->tet + face});
}

static const knTetCut* CutOf(const Edges* e, uint32_t tet)
{
    return &e->cuts->cuts[e->cuts->tetCuts[tet]];
}

// Which of two crossed tetrahedra adds what lies between them: the one with more planes, whose
// parts are dear and then made once, else the lower one.
static bool IsMine(const Edges* e, uint32_t tet, uint32_t other)
{
    int planes = CutOf(e, tet)->planeCount, more = CutOf(e, other)->planeCount;
    bool first = (planes > 1) == (more > 1) ? tet < other : planes > 1;
    return first || !IsCrossed(e, other);
}

// The sides of a part's crack faces that lie on some of the tetrahedron's faces (bits 0 to 3) or on
// another of its cracks (bit 4).
static void AddPart(Edges* e, uint32_t tet, uint8_t mask, uint8_t which)
{

    knCrackFaces cracks;
    knCrackRim rims[KN_MAX_TET_PLANES];
    knVec3 normals[KN_MAX_TET_PLANES];
    knCutStore_CrackRims(e->cuts, e->mesh, tet, mask, &cracks, rims);
    for (uint32_t f = 0; f < cracks.count; ++f)
    {
        normals[f] = CrackNormal(&cracks.faces[f]);
    }
    for (uint32_t f = 0; f < cracks.count; ++f)
    {
        const knCrackFace* face = &cracks.faces[f];
        for (int i = 0; i < face->count; ++i)
        {
            Side side = {.face = face,
                         .rim = &rims[f],
                         .normal = normals[f],
                         .tet = tet,
                         .i = i,
                         .next = i + 1 < face->count ? i + 1 : 0};
            uint8_t across = rims[f].across[i];
            if (!(which >> (across < 4 ? across : 4) & 1))
            {
                continue;
            }
            uint32_t other = across < 4 ? e->mesh->neighbors[tet].t[across] : KN_NONE;
            if (other != KN_NONE)
            {
                if (IsMine(e, tet, other) && TurnsSharply(e, &side, across, other))
                {
                    AddSide(e, &side, mask, across);
                }
                continue;
            }
            // two faces of one convex part: always convex
            knVec3 normal = across < 4 ? FaceNormal(e->mesh, tet, across) : side.normal;
            for (uint32_t g = 0; g < cracks.count; ++g)
            {
                // from the later of two planes
                bool isOther = across == 4 + cracks.faces[g].plane && g < f;
                normal = isOther ? normals[g] : normal;
            }
            if (knDot(side.normal, normal) < e->family->edgeCosine)
            {
                side.beyond = normal;
                AddSide(e, &side, mask, INSIDE);
            }
        }
    }
}

// Where a single plane crosses a face: it cuts one corner off.
typedef struct Trace
{
    uint32_t edges[2]; // of the mesh, from that corner
    uint8_t lone;
    uint8_t ends[2]; // the other corners
} Trace;

static bool FindTrace(const Edges* e, uint32_t tet, uint8_t below, uint32_t face, Trace* trace)
{
    static const uint8_t edgeOf[4][4] = {{0, 0, 1, 2}, {0, 0, 3, 4}, {1, 3, 0, 5}, {2, 4, 5, 0}};
    const uint8_t* c = knTetFaceCorners[face];
    int s0 = below >> c[0] & 1, s1 = below >> c[1] & 1, s2 = below >> c[2] & 1;
    if (s0 == s1 && s1 == s2)
    {
        return false;
    }
    int lone = s0 == s1 ? 2 : s0 == s2 ? 1 : 0;
    trace->lone = c[lone];
    for (int k = 0; k < 2; ++k)
    {
        trace->ends[k] = c[(lone + 1 + k) % 3];
        trace->edges[k] = e->mesh->tetEdges[tet].e[edgeOf[trace->lone][trace->ends[k]]];
    }
    return true;
}

static void AddTrace(Edges* e, uint32_t tet, const Trace* trace, const knVec3 normals[2],
                     bool withLone, uint32_t face)
{
    const uint32_t* v = e->mesh->tets[tet].v;
    knVec3 positions[2];
    uint32_t ids[2];
    for (int k = 0; k < 2; ++k)
    {
        uint32_t node = v[withLone ? trace->lone : trace->ends[k]];
        uint32_t edge = trace->edges[k], point = e->cuts->edgeCuts[edge];
        positions[k] = e->cuts->points[point].position;
        ids[k] = knCutStore_PointId(e->cuts, point, e->mesh->edges[edge].v[1] == node);
    }
    AddEdge(e, (knPieceEdge){.a = positions[0],
                             .b = positions[1],
                             .normals = {normals[0], normals[1]},
                             .id = EdgeId(ids[0], ids[1]),
                             .node = v[withLone ? trace->lone : trace->ends[0]],
                             .source = 8 * tet + face});
}

static knVec3 PlaneNormal(const Edges* e, uint32_t tet)
{
    knCrackFaces cracks;
    uint8_t below = e->cuts->cuts[e->cuts->tetCuts[tet]].below[0];
    knCutStore_CrackFaces(e->cuts, e->mesh, tet, below, &cracks);
    return CrackNormal(&cracks.faces[0]);
}

static knVec3 KnownNormal(const Edges* e, uint32_t tet, bool isCrossed)
{
    return isCrossed && e->normals ? e->normals[e->cuts->tetCuts[tet]] : PlaneNormal(e, tet);
}

// A point of the crack of tetrahedron `other` that is not on the face it shares with `tet`.
static knVec3 ApexOf(const Edges* e, uint32_t other, uint32_t tet)
{
    int opposite = 0;
    while (opposite < 3 && e->mesh->neighbors[other].t[opposite] != tet)
    {
        opposite += 1;
    }
    uint32_t point = 0;
    for (int k = 0; k < 6; ++k)
    {
        const uint8_t* ends = knTetEdgeCorners[k];
        uint32_t cut = e->cuts->edgeCuts[e->mesh->tetEdges[other].e[k]];
        bool at = ends[0] == opposite || ends[1] == opposite;
        point = at && cut != KN_NONE ? cut : point;
    }
    return e->cuts->points[point].position;
}

// Two tetrahedra with one plane each: the same angle on both sides, convex on one.
static void AddTurn(Edges* e, uint32_t tet, const Trace* trace, knVec3 normal, uint32_t other)
{
    uint32_t node = e->mesh->tets[tet].v[trace->lone];
    bool below = CutOf(e, tet)->below[0] >> trace->lone & 1;
    const uint32_t* v = e->mesh->tets[other].v;
    int corner = v[0] == node ? 0 : v[1] == node ? 1 : v[2] == node ? 2 : 3;
    bool otherBelow = CutOf(e, other)->below[0] >> corner & 1;
    knVec3 next = KnownNormal(e, other, IsCrossed(e, other));
    float cosine = knDot(normal, next);
    if ((below == otherBelow ? cosine : -cosine) >= e->family->edgeCosine)
    {
        return;
    }
    knVec3 start = e->cuts->points[e->cuts->edgeCuts[trace->edges[0]]].position;
    float height = knDot(normal, knSub(ApexOf(e, other, tet), start));
    uint32_t face = 6u - trace->lone - trace->ends[0] - trace->ends[1];
    if (height != 0.0f)
    {
        // out of the part where the angle is convex
        bool withLone = (height < 0.0f) == below, isBelow = withLone == below;
        bool isNextBelow = withLone == otherBelow;
        knVec3 normals[2] = {isBelow ? normal : knNeg(normal), isNextBelow ? next : knNeg(next)};
        AddTrace(e, tet, trace, normals, withLone, face);
    }
}

static void AddOnePlane(Edges* e, uint32_t tet)
{
    uint8_t below = CutOf(e, tet)->below[0];
    knVec3 normal = KnownNormal(e, tet, true);
    float limit = e->family->edgeCosine;
    for (uint8_t face = 0; face < 4; ++face)
    {
        Trace trace;
        uint32_t other = e->mesh->neighbors[tet].t[face];
        if (!FindTrace(e, tet, below, face, &trace))
        {
            continue;
        }
        bool loneBelow = below >> trace.lone & 1;
        if (other == KN_NONE)
        {
            knVec3 surface = FaceNormal(e->mesh, tet, face);
            float cosine = knDot(normal, surface);
            for (int side = 0; side < 2; ++side)
            {
                // the part below, then the one above
                if ((side == 0 ? cosine : -cosine) < limit)
                {
                    knVec3 normals[2] = {side == 0 ? normal : knNeg(normal), surface};
                    AddTrace(e, tet, &trace, normals, loneBelow == (side == 0), INSIDE);
                }
            }
        }
        else if (IsMine(e, tet, other) && CutOf(e, other)->planeCount == 1)
        {
            AddTurn(e, tet, &trace, normal, other);
        }
        else if (IsMine(e, tet, other))
        {
            AddPart(e, tet, below, (uint8_t)(1 << face));
            AddPart(e, tet, (uint8_t)(0xF & ~below), (uint8_t)(1 << face));
        }
    }
}

void knEdges_FindNormals(Edges* e)
{
    e->normals = knArena_Allocate(&e->family->scratch, e->cuts->cutCount, sizeof(knVec3));
    for (uint32_t i = 0; e->normals && i < e->delta->crossedTetCount; ++i)
    {
        uint32_t tet = e->delta->crossedTets[i];
        if (CutOf(e, tet)->planeCount == 1)
        {
            e->normals[e->cuts->tetCuts[tet]] = PlaneNormal(e, tet);
        }
    }
}

void knEdges_AddCrossed(Edges* e, uint32_t tet)
{
    if (CutOf(e, tet)->planeCount == 1)
    {
        AddOnePlane(e, tet);
        return;
    }
    const uint32_t* v = e->mesh->tets[tet].v;
    uint8_t done = 0;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t label = e->cuts->labels[v[i]];
        if (!(done >> i & 1) && e->family->edges[label].isNew)
        {
            uint8_t mask = knCutStore_Mask(e->cuts, e->mesh, tet, label);
            done |= mask;
            AddPart(e, tet, mask, 0x1F);
        }
    }
}
