// SPDX-License-Identifier: Zlib
#include "fracture/crack_internal.h"

#include "knap/random.h"

// By how much a crack across the direction to the hit is held back.
#define SHELL_DELAY 0.5

float knCrack_NodeRandom(uint64_t seed, uint32_t node)
{
    knRandom random = knMakeRandom(seed + 0x9E3779B97F4A7C15u * ((uint64_t)node + 1));
    return knRandom_Float(&random);
}

// Strength falls by paint and by earlier cracks that stopped here.
double knCrack_Ratio(const knCracks* c, uint32_t node, double tension)
{
    double factor = c->def.strengthFactor ? (double)c->def.strengthFactor[node] : 1.0;
    double damage = c->def.damage ? (double)c->def.damage[node] : 0.0;
    return tension / (factor * (1.0 - damage));
}

// Flaws bring a crack forward; those that go round the hit wait for those that come from it.
float knCrack_Score(const knCracks* c, uint32_t node, double ratio, knVec3 direction)
{
    double flaw = (double)(c->def.flaws * knCrack_NodeRandom(c->def.seed, node));
    knVec3 p = c->set->cutMesh->mesh->nodes[node];
    knVec3 u = knNormalize(knSub(p, knCrack_NearestHit(c, p)->point));
    double cosine = (double)knDot(u, direction);
    double delay = 1.0 - SHELL_DELAY * cosine * cosine;
    return (float)(ratio * delay * (1.0 + flaw) / (1.0 + 0.5 * (double)c->def.flaws));
}

static bool IsBefore(const knCracks* c, uint32_t a, uint32_t b)
{
    return c->scores[a] > c->scores[b] || (c->scores[a] == c->scores[b] && a < b);
}

static void SiftDown(knCracks* c, uint32_t place)
{
    uint32_t node = c->heap[place];
    for (;;)
    {
        uint32_t child = 2 * place + 1;
        if (child >= c->heapCount)
        {
            break;
        }
        if (child + 1 < c->heapCount && IsBefore(c, c->heap[child + 1], c->heap[child]))
        {
            child += 1;
        }
        if (!IsBefore(c, c->heap[child], node))
        {
            break;
        }
        c->heap[place] = c->heap[child];
        place = child;
    }
    c->heap[place] = node;
}

void knCrack_FillHeap(knCracks* c, const uint32_t* nodes, uint32_t count)
{
    c->heapCount = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        if (c->scores[nodes[i]] > 0.0f)
        {
            c->heap[c->heapCount++] = nodes[i];
        }
    }
    for (uint32_t i = c->heapCount / 2; i > 0; --i)
    {
        SiftDown(c, i - 1);
    }
}

uint32_t knCrack_TopNode(knCracks* c, knVec3* direction)
{
    while (c->heapCount > 0)
    {
        uint32_t node = c->heap[0];
        bool wasFresh = c->isFresh[node];
        double tension = knCrack_Principal(&c->stress[node], c->hits[0].e1, direction);
        float score = knCrack_Score(c, node, knCrack_Ratio(c, node, tension), *direction);
        // relief never raises a score, so a stale one is an upper bound
        c->scores[node] = wasFresh ? c->scores[node] : fminf(score, c->scores[node]);
        c->isFresh[node] = 1;
        c->report.work += 1;
        if (c->scores[node] > 0.0f && wasFresh)
        {
            return node;
        }
        if (!(c->scores[node] > 0.0f))
        {
            c->heap[0] = c->heap[--c->heapCount];
        }
        if (c->heapCount > 0)
        {
            SiftDown(c, 0);
        }
    }
    return KN_NONE;
}
