// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

// Where sharp edges of both pieces cross. No point of either is near such a contact, and what the
// distance field says there is the way to one of the two faces, not the way out: that is across
// both edges. So edges are tested against edges, before they touch as well, and a contact stays
// where it is while they slide along each other.

#define DEEPEST  0.05f  // of the smaller radius: what is deeper has points inside
#define PARALLEL 0.02f  // sine; edges that hardly cross have no way out of their own
#define ENDS     0.001f // of an edge: where one ends and the next begins nothing may slip through
#define SUPPORT  0.01f  // sine; how far a way out may lean over a face of its edge

// An edge that may cross others, in the frame of piece b.
typedef struct NearEdge
{
    knVec3 a, along, middle;
    float half; // of its length
    const knPieceEdge* known;
} NearEdge;

typedef struct CrossSearch
{
    knQueryRun* run;
    knQueryWalk* walk; // of the edges of piece a
    float far;         // m; lines further apart than this do not matter
    float reach;       // m
} CrossSearch;

static const knPieceEdges* ListOf(const knQueryPiece* piece)
{
    return piece->fragment < piece->family->edgeCapacity ? &piece->family->edges[piece->fragment]
                                                         : NULL;
}

size_t knQueryCrossBytes(const knQueryPiece* piece)
{
    const knPieceEdges* list = ListOf(piece);
    size_t bytes = (list ? list->count : 0) * sizeof(NearEdge);
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

// Those of a piece that come near the other's box.
static uint32_t FindNear(const CrossSearch* search, const knQueryWalk* walk, knBox other,
                         NearEdge* near)
{
    const knPieceEdges* list = ListOf(walk->sampled);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < list->count; ++i)
    {
        const knPieceEdge* edge = &list->edges[i];
        knVec3 middle = knLerp(edge->a, edge->b, 0.5f);
        float half = 0.5f * knDistance(edge->a, edge->b);
        if (knQueryWalk_IsBeyond(walk, middle, half))
        {
            continue;
        }
        bool isOurs = walk == search->walk;
        NearEdge* e = &near[count];
        e->a = isOurs ? knQueryWalk_ToOther(walk, edge->a) : edge->a;
        knVec3 b = isOurs ? knQueryWalk_ToOther(walk, edge->b) : edge->b;
        e->along = knSub(b, e->a);
        e->middle = knLerp(e->a, b, 0.5f);
        e->half = half;
        e->known = edge;
        knBox box = {knMin(e->a, b), knMax(e->a, b)};
        count += knBox_Overlaps(box, other);
    }
    return count;
}

// Whether a plane with this normal through the edge has all of the piece around the edge behind it.
static bool Supports(knVec3 normal, knVec3 along, const knVec3* faces)
{
    bool supports = true;
    for (int i = 0; i < 2; ++i)
    {
        // from the edge into the face
        knVec3 into = knCross(faces[i], along);
        into = knDot(into, faces[1 - i]) > 0.0f ? knNeg(into) : into;
        supports = supports && knDot(normal, into) <= SUPPORT * knLength(into);
    }
    return supports;
}

// The normal from piece b to piece a, if the edges can hold the two apart.
static bool FindNormal(const CrossSearch* search, const NearEdge* a, const NearEdge* b,
                       knVec3* normal)
{
    const knVec3* faces = b->known->normals;
    if (knDot(*normal, knAdd(faces[0], faces[1])) < 0.0f)
    {
        *normal = knNeg(*normal);
    }
    const knMat3* m = &search->walk->rotation;
    knVec3 ours[2] = {knMulMV(*m, a->known->normals[0]), knMulMV(*m, a->known->normals[1])};
    return knDot(*normal, knAdd(ours[0], ours[1])) < 0.0f && Supports(*normal, b->along, faces) &&
           Supports(knNeg(*normal), a->along, ours);
}

// What crosses deeper than epsilon must be inside there, and outside again right across both edges:
// else they only pass each other. The depth itself is no help, as grids round edges off.
static bool IsInside(const CrossSearch* search, knVec3 p, float distance, knVec3 normal)
{
    knFieldQuery* field = &search->walk->field;
    float epsilon = search->run->selection.epsilon;
    return distance > -epsilon ||
           (knFieldQuery_Inside(field, p) &&
            knFieldQuery_Inside(field, knAddScaled(p, -0.5f * distance, normal)) &&
            !knFieldQuery_Inside(field, knAddScaled(p, 0.1f * epsilon - distance, normal)));
}

static void TestCrossing(CrossSearch* search, const NearEdge* a, const NearEdge* b)
{
    knVec3 u = a->along, v = b->along, w = knSub(a->a, b->a), n = knCross(u, v);
    float nn = knLengthSquared(n), uv = a->half * b->half * 4.0f;
    if (nn < PARALLEL * PARALLEL * uv * uv)
    {
        return;
    }
    float s = -knDot(w, knCross(v, n)), t = -knDot(w, knCross(u, n));
    float low = -ENDS * nn, high = (1.0f + ENDS) * nn;
    if (s < low || s > high || t < low || t > high)
    {
        return;
    }
    knVec3 normal = knScale(1.0f / sqrtf(nn), n);
    if (fabsf(knDot(w, normal)) > search->far || !FindNormal(search, a, b, &normal))
    {
        return;
    }
    knFieldContact contact = {.distance = knDot(w, normal), .normal = normal};
    knVec3 p = knAddScaled(a->a, s / nn, u);
    if (contact.distance > search->reach || !IsInside(search, p, contact.distance, normal))
    {
        return;
    }
    uint64_t id = ((uint64_t)a->known->id << 32 | b->known->id) * 0x9E3779B97F4A7C15u;
    knQueryRun_Add(search->run, search->walk, p, &contact, (uint32_t)(id >> 32), kn_contactEdge);
}

static void TestAll(CrossSearch* search, const NearEdge* as, uint32_t countA, const NearEdge* bs,
                    uint32_t countB)
{
    for (uint32_t i = 0; i < countA; ++i)
    {
        const NearEdge* a = &as[i];
        for (uint32_t k = 0; k < countB && !search->run->selection.isStopped; ++k)
        {
            const NearEdge* b = &bs[k];
            float most = a->half + b->half + search->far;
            if (knLengthSquared(knSub(a->middle, b->middle)) < most * most)
            {
                search->run->result->counters.edges += 1;
                TestCrossing(search, a, b);
            }
        }
    }
}

// Pieces of one object do not overlap where they broke, so nothing is deeper than they have moved.
static bool IsCalm(const knQueryRun* run)
{
    const knQueryWalk* walk = &run->walks[0];
    if (!run->selection.isDeep || !(walk->turn < 1.0f))
    {
        return false;
    }
    knBox box = knFragmentField_Box(walk->sampled->family->field, walk->sampled->fragment);
    knVec3 middle = knBox_Center(box);
    float moved = knDistance(middle, knQueryWalk_ToOther(walk, middle)) +
                  walk->turn * 0.5f * knLength(knBox_Extent(box));
    return moved < 0.999f * run->selection.epsilon;
}

void knQueryRun_TestCrossings(knQueryRun* run, knArena* scratch)
{
    const knQueryPiece *a = run->walks[0].sampled, *b = run->walks[1].sampled;
    if (run->limits->edgeContacts == 0 || run->selection.isStopped || IsCalm(run))
    {
        return;
    }
    CrossSearch search = {.run = run, .walk = &run->walks[0]};
    search.reach = run->selection.isDeep ? -run->selection.epsilon : run->selection.reach;
    search.far = fmaxf(run->selection.reach, DEEPEST * run->result->radius);
    const knPieceEdges *listA = ListOf(a), *listB = ListOf(b);
    size_t mark = knArena_Mark(scratch);
    NearEdge* nearA = knArena_Allocate(scratch, listA ? listA->count : 0, sizeof *nearA);
    NearEdge* nearB = knArena_Allocate(scratch, listB ? listB->count : 0, sizeof *nearB);
    if (nearA && nearB)
    {
        float more = search.far;
        knBox boxA = knBox_Expand(knQueryWalk_BoxInOther(&run->walks[0]), more);
        knBox boxB = knBox_Expand(knFragmentField_Box(b->family->field, b->fragment), more);
        uint32_t countB = FindNear(&search, &run->walks[1], boxA, nearB);
        uint32_t countA = countB > 0 ? FindNear(&search, &run->walks[0], boxB, nearA) : 0;
        TestAll(&search, nearA, countA, nearB, countB);
    }
    knArena_Rewind(scratch, mark);
}
