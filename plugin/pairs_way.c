// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#define DEEP       2.0f  // epsilons: what is less deep goes its own way
#define OPPOSED    -0.3f // cosine; ways that cannot both be gone
#define ALONG      0.2f  // cosine; a contact that pushes along the common way as it is
#define DISTINCT   0.8f  // cosine; ways that are not worth trying both
#define MAX_DEEP   24
#define MAX_INSIDE 32
#define MAX_WAYS   6
#define STEADFAST  1.5f // a way once taken is left for one that is so much shorter

// Where a thin piece has got into another, or into a thin one, some points are nearest to one side
// and some to the other: pushed both ways, the two stay wedged. Then one way is taken for all: the
// one along which the points are out soonest.

typedef struct Wedge
{
    const knPairJob* job;
    const knPairContact* deep[MAX_DEEP];     // they tell the ways
    const knPairContact* inside[MAX_INSIDE]; // all that must come out
    uint32_t deepCount, insideCount;
    float epsilon; // m
    knVec3 apart;  // unit, from the middle of side 1 to that of side 0
} Wedge;

// Which way a contact pushes side 0 of the job.
static knVec3 PushOf(const knPairContact* c)
{
    return c->side == 0 ? c->contact.normal : knNeg(c->contact.normal);
}

// How far a point that is inside the other piece must go along a way of side 0 until it is out.
static float ExitOf(const Wedge* w, const knPairContact* c, knVec3 way)
{
    const knPairSide* other = &w->job->input->sides[1 - c->side];
    float most = 2.0f * other->mesh->radius;
    knVec3 along = c->side == 0 ? way : knNeg(way);
    knVec3 from = knInvTransformPoint(other->motion.start, c->contact.point);
    knVec3 to = knAddScaled(from, most, knInvRotate(other->motion.start.rotation, along));
    knCastHit hit;
    // a point that meets nothing is out but for rounding
    return knCastRay(other->mesh, from, to, &hit) ? most * hit.fraction : -c->contact.distance;
}

static float LongestExit(const Wedge* w, knVec3 way, float enough)
{
    float longest = 0.0f;
    for (uint32_t i = 0; i < w->insideCount && longest < enough; ++i)
    {
        longest = fmaxf(longest, ExitOf(w, w->inside[i], way));
    }
    return longest;
}

// Points that are out already do not show how much of the piece would have to come through: ways
// against the side where most of it is count as longer.
static float PriceOf(const Wedge* w, knVec3 way, float enough)
{
    float factor = 2.0f - knDot(way, w->apart);
    factor *= factor;
    return factor * LongestExit(w, way, enough / factor);
}

static bool IsWedged(const Wedge* w)
{
    for (uint32_t i = 0; i < w->deepCount; ++i)
    {
        for (uint32_t k = 0; k < i; ++k)
        {
            if (knDot(PushOf(w->deep[i]), PushOf(w->deep[k])) < OPPOSED)
            {
                return true;
            }
        }
    }
    return false;
}

// Where they agree; it is how the two came into each other, should they disagree later.
static knVec3 MeanWay(const Wedge* w)
{
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    for (uint32_t i = 0; i < w->deepCount; ++i)
    {
        sum = knAddScaled(sum, -w->deep[i]->contact.distance, PushOf(w->deep[i]));
    }
    return w->deepCount > 0 ? knNormalize(sum) : sum;
}

static void FindDeep(Wedge* w, const knPairContact* contacts, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        float distance = contacts[i].contact.distance;
        if (distance < -DEEP * w->epsilon && w->deepCount < MAX_DEEP)
        {
            w->deep[w->deepCount++] = &contacts[i];
        }
        if (distance < 0.0f && w->insideCount < MAX_INSIDE)
        {
            w->inside[w->insideCount++] = &contacts[i];
        }
    }
}

// Among the ways that the contacts themselves push.
static float FindWay(const Wedge* w, knVec3* best)
{
    knVec3 ways[MAX_WAYS];
    uint32_t count = 0;
    float shortest = FLT_MAX;
    knVec3 last = w->job->cache->way;
    if (knLengthSquared(last) > 0.0f)
    {
        *best = last;
        shortest = PriceOf(w, last, FLT_MAX) / STEADFAST;
    }
    for (uint32_t i = 0; i < w->deepCount && count < MAX_WAYS; ++i)
    {
        knVec3 way = PushOf(w->deep[i]);
        bool isNew = true;
        for (uint32_t k = 0; k < count; ++k)
        {
            isNew = isNew && knDot(way, ways[k]) < DISTINCT;
        }
        if (isNew)
        {
            ways[count++] = way;
            float exit = PriceOf(w, way, shortest);
            *best = exit < shortest ? way : *best;
            shortest = fminf(exit, shortest);
        }
    }
    return LongestExit(w, *best, FLT_MAX);
}

void knPairJob_FindWayOut(const knPairJob* job, knPairContact* contacts, uint32_t count,
                          float radius)
{
    const knPairSide* sides = job->input->sides;
    Wedge wedge = {.job = job, .epsilon = job->limits->epsilon * radius};
    if (sides[0].kind == kn_sidePiece && sides[1].kind == kn_sidePiece)
    {
        wedge.apart =
            knNormalize(knSub(sides[0].motion.start.position, sides[1].motion.start.position));
        FindDeep(&wedge, contacts, count);
    }
    if (wedge.deepCount == 0 || !(job->cache->isWedged || IsWedged(&wedge)))
    {
        job->cache->way = MeanWay(&wedge);
        job->cache->isWedged = false;
        return;
    }
    job->cache->isWedged = true;
    knVec3 way;
    float far = FindWay(&wedge, &way);
    job->cache->way = way;
    for (uint32_t i = 0; i < count; ++i)
    {
        knPairContact* c = &contacts[i];
        if (c->contact.distance >= 0.0f || knDot(PushOf(c), way) > ALONG)
        {
            continue;
        }
        float exit = ExitOf(&wedge, c, way);
        if (exit <= far)
        {
            c->contact.normal = c->side == 0 ? way : knNeg(way);
            c->contact.distance = -exit;
        }
    }
    job->counters->wedged += 1;
}
