// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Section 4.2: from the nodes of crossed tetrahedra along edges of the same label, level by level
// in the order of ids. A distance only falls, so the front ends.

#define REAL_DECREASE 0.99999f // less than this is rounding, and would keep a front alive

typedef struct Front
{
    knFragmentField* field;
    uint64_t* now; // reached in the last level
    uint64_t* next;
    uint64_t* candidates;
} Front;

static bool HasBit(const uint64_t* words, uint32_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static void AddBit(uint64_t* words, uint32_t bit)
{
    words[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static uint32_t LowestBit(uint64_t word)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(word);
#else
    uint32_t i = 0;
    while (!(word >> i & 1))
    {
        ++i;
    }
    return i;
#endif
}

static bool IsNew(const knFragmentField* field, uint32_t label)
{
    return label < field->fragmentCapacity && field->records[label].slot != KN_NONE &&
           field->records[label].update == field->updateCount;
}

static bool Accept(Front* front, uint32_t node, const knNodeValue* value)
{
    knNodeValue* old = &front->field->values[node];
    if (!(value->distance < REAL_DECREASE * old->distance))
    {
        return false;
    }
    *old = *value;
    AddBit(front->next, node);
    front->field->stats.accepts += 1;
    return true;
}

static knNodeValue ValueOf(knVec3 p, const knFaceHit* hit, uint32_t source)
{
    double length = sqrt(hit->distance2);
    knDVec3 d = knDSub(hit->point, knToDouble(p));
    double size = length;
    if (!(length > 0.0))
    {
        // a node on the crack itself: out through the face
        d = hit->normal;
        size = knDLength(d);
    }
    knVec3 unit = knToFloat(knDScale(size > 0.0 ? 1.0 / size : 0.0, d));
    return (knNodeValue){(float)length, unit, source};
}

static void StartNode(Front* front, uint32_t tet, int corner, const knNearest4* nearest)
{
    knFragmentField* field = front->field;
    uint32_t node = field->mesh->tets[tet].v[corner];
    float distance = sqrtf(nearest->distance2[corner]);
    if (!(distance < REAL_DECREASE * field->values[node].distance))
    {
        return;
    }
    knVec3 way = {nearest->x[corner], nearest->y[corner], nearest->z[corner]};
    // a node on the crack itself: out through the face
    way = distance > 0.0f ? knScale(1.0f / distance, way) : nearest->normal;
    knNodeValue value = {distance, way, tet};
    field->stats.startNodes += Accept(front, node, &value);
}

// The nodes of a crossed tetrahedron, each from the crack faces of its own part.
static void StartTet(Front* front, uint32_t tet)
{
    const knFragmentField* field = front->field;
    const uint32_t* v = field->mesh->tets[tet].v;
    bool onePlane = field->cuts->cuts[field->cuts->tetCuts[tet]].planeCount == 1;
    uint8_t done = 0;
    for (int i = 0; i < 4; ++i)
    {
        uint32_t label = field->cuts->labels[v[i]];
        if (done >> i & 1 || !IsNew(field, label))
        {
            continue;
        }
        uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, label);
        knCrackFaces buffer;
        const knCrackFaces* faces = knFindCracks(field, tet, mask, &buffer);
        for (uint32_t k = 0; k < faces->count; ++k)
        {
            knNearest4 nearest;
            knNearestOnFace4(field->mesh, tet, &faces->faces[k], &nearest);
            for (int c = 0; c < 4; ++c)
            {
                // the two parts of one plane have the same face
                bool other = onePlane && (mask >> c & 1) == 0;
                if (mask >> c & 1 || (other && IsNew(field, field->cuts->labels[v[c]])))
                {
                    StartNode(front, tet, c, &nearest);
                }
            }
        }
        done |= onePlane ? 0xF : mask;
    }
}

static uint32_t OtherEnd(const knTetMesh* mesh, uint32_t edge, uint32_t node)
{
    const uint32_t* v = mesh->edges[edge].v;
    return v[0] == node ? v[1] : v[0];
}

static void AddCandidates(Front* front, uint32_t node)
{
    const knTetMesh* mesh = front->field->mesh;
    const uint32_t* labels = front->field->cuts->labels;
    for (uint32_t i = mesh->nodeEdgeStarts[node]; i < mesh->nodeEdgeStarts[node + 1]; ++i)
    {
        uint32_t other = OtherEnd(mesh, mesh->nodeEdges[i], node);
        if (labels[other] == labels[node])
        {
            AddBit(front->candidates, other);
        }
    }
}

// Equations 1 and 2 over the neighbours reached in the last level.
static void VisitPaper(Front* front, uint32_t node)
{
    const knFragmentField* field = front->field;
    const knTetMesh* mesh = field->mesh;
    knVec3 p = mesh->nodes[node];
    knNodeValue sum = {.source = KN_NONE};
    float weights = 0.0f;
    for (uint32_t i = mesh->nodeEdgeStarts[node]; i < mesh->nodeEdgeStarts[node + 1]; ++i)
    {
        uint32_t j = OtherEnd(mesh, mesh->nodeEdges[i], node);
        if (field->cuts->labels[j] == field->cuts->labels[node] && HasBit(front->now, j))
        {
            knVec3 d = knSub(mesh->nodes[j], p);
            float w = 1.0f / fmaxf(knLengthSquared(d), FLT_MIN);
            sum.distance += w * (field->values[j].distance + knDot(field->values[j].direction, d));
            sum.direction = knAddScaled(sum.direction, w, field->values[j].direction);
            sum.source = field->values[j].source;
            weights += w;
        }
    }
    sum.distance = fmaxf(sum.distance / weights, 0.0f);
    sum.direction = knNormalize(sum.direction);
    Accept(front, node, &sum);
}

// A crack point `d` away from the node, handed on by a neighbour. True when the node took it.
static bool Take(Front* front, uint32_t node, knVec3 d, float distance2, uint32_t source)
{
    knFragmentField* field = front->field;
    knNodeValue* value = &field->values[node];
    float distance = sqrtf(distance2);
    if (!(distance < REAL_DECREASE * value->distance))
    {
        return false;
    }
    field->stats.accepts += 1;
    *value = (knNodeValue){distance, knNormalize(d), source};
    if (field->def.front == kn_frontClosestFace)
    {
        // the face that the point lies on is mostly nearer still
        knVec3 p = field->mesh->nodes[node];
        knFaceHit hit = {.distance2 = (double)distance * (double)distance};
        if (knHitTet(field, source, field->cuts->labels[node], knToDouble(p), false, &hit))
        {
            *value = ValueOf(p, &hit, source);
        }
    }
    return true;
}

// Hands the crack point that a node knows to its neighbours.
static void HandOn(Front* front, uint32_t node)
{
    knFragmentField* field = front->field;
    const knTetMesh* mesh = field->mesh;
    const uint32_t* labels = field->cuts->labels;
    knNodeValue from = field->values[node];
    knVec3 c = knAddScaled(mesh->nodes[node], from.distance, from.direction);
    for (uint32_t i = mesh->nodeEdgeStarts[node]; i < mesh->nodeEdgeStarts[node + 1]; ++i)
    {
        uint32_t other = OtherEnd(mesh, mesh->nodeEdges[i], node);
        if (labels[other] != labels[node])
        {
            continue;
        }
        field->stats.visits += 1;
        knVec3 d = knSub(c, mesh->nodes[other]);
        float distance2 = knLengthSquared(d), known = field->values[other].distance;
        if (distance2 < known * known && Take(front, other, d, distance2, from.source))
        {
            // one that is still to come in this level hands on what it got just now
            bool comes = other > node && HasBit(front->now, other);
            front->next[other / 64] |= (uint64_t)!comes << (other % 64);
        }
    }
}

static void HandOnLevel(Front* front)
{
    for (size_t w = 0; w < front->field->wordCount; ++w)
    {
        for (uint64_t word = front->now[w]; word != 0; word &= word - 1)
        {
            HandOn(front, (uint32_t)(64 * w) + LowestBit(word));
        }
    }
}

static void VisitCandidates(Front* front)
{
    knFragmentField* field = front->field;
    for (size_t w = 0; w < field->wordCount; ++w)
    {
        for (uint64_t word = front->candidates[w]; word != 0; word &= word - 1)
        {
            uint32_t node = (uint32_t)(64 * w) + LowestBit(word);
            field->stats.visits += 1;
            VisitPaper(front, node);
        }
    }
}

// Takes the next front; false when it is empty.
static bool Advance(Front* front)
{
    uint64_t* swap = front->now;
    front->now = front->next;
    front->next = swap;
    memset(front->next, 0, front->field->wordCount * sizeof(uint64_t));
    uint64_t any = 0;
    for (size_t w = 0; w < front->field->wordCount; ++w)
    {
        any |= front->now[w];
    }
    return any != 0;
}

static void CollectCandidates(Front* front)
{
    memset(front->candidates, 0, front->field->wordCount * sizeof(uint64_t));
    for (size_t w = 0; w < front->field->wordCount; ++w)
    {
        for (uint64_t word = front->now[w]; word != 0; word &= word - 1)
        {
            AddCandidates(front, (uint32_t)(64 * w) + LowestBit(word));
        }
    }
}

void knSpreadFront(knFragmentField* field, const knFractureDelta* delta)
{
    field->stats = (knFrontStats){0};
    Front front = {field, field->front, field->front + field->wordCount,
                   field->front + 2 * field->wordCount};
    memset(field->front, 0, 3 * field->wordCount * sizeof(uint64_t));
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        StartTet(&front, delta->crossedTets[i]);
    }
    while (Advance(&front))
    {
        field->stats.levels += 1;
        if (field->def.front == kn_frontPaper)
        {
            CollectCandidates(&front);
            VisitCandidates(&front);
        }
        else
        {
            HandOnLevel(&front);
        }
    }
}
