// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

// A pair keeps all contacts that its queries found, and the solver gets the few of them that hold
// the two in the same way: spread as widely as they are, with the deepest first. What lies deeper
// than epsilon all the same is always among them, so nothing stays there that the selection would
// not have left.

#define STEADY 2.0f // as far, squared, counts what was chosen before: impulses go from step to step

// Of two contacts, squared: places that are apart, and ways that are.
static float Spread(const knPairContact* a, const knPairContact* b, float radius)
{
    bool isSame = a->side == b->side;
    knVec3 n = isSame ? b->contact.normal : knNeg(b->contact.normal);
    return knLengthSquared(knSub(a->contact.point, b->contact.point)) +
           radius * radius * knLengthSquared(knSub(a->contact.normal, n));
}

static bool WasChosen(const knPairJob* job, const knPairContact* c)
{
    int first = knPairInput_PieceSide(job->input);
    for (uint32_t i = 0; i < job->cache->count; ++i)
    {
        const knKeptTouch* kept = &job->kept[i];
        if (kept->feature == c->contact.feature && kept->side == (c->side ^ first))
        {
            return kept->isChosen;
        }
    }
    return false;
}

typedef struct Chooser
{
    const knPairContact* contacts;
    knChoice* choices;
    uint32_t count;
    float radius;
} Chooser;

static void Take(const Chooser* c, uint32_t taken)
{
    c->choices[taken].isChosen = true;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        float far = Spread(&c->contacts[i], &c->contacts[taken], c->radius);
        c->choices[i].far = fminf(c->choices[i].far, far);
    }
}

static uint32_t FindFurthest(const Chooser* c)
{
    uint32_t best = KN_NONE;
    float most = -1.0f;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        const knChoice* choice = &c->choices[i];
        float far = choice->far * (choice->wasChosen ? STEADY : 1.0f);
        if (choice->isWanted && !choice->isChosen && far > most)
        {
            best = i;
            most = far;
        }
    }
    return best;
}

// Which contacts count, and the deepest of them; returns how many.
static uint32_t Begin(const knPairJob* job, const Chooser* c, uint32_t* deepest)
{
    float margin = job->limits->margin * c->radius, least = FLT_MAX;
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        float distance = c->contacts[i].contact.distance;
        c->choices[i] = (knChoice){.far = FLT_MAX, .isWanted = distance <= margin};
        wanted += c->choices[i].isWanted;
        *deepest = distance < least ? i : *deepest;
        least = fminf(least, distance);
    }
    return wanted;
}

void knPairJob_Choose(const knPairJob* job, const knPairContact* contacts, uint32_t count,
                      float radius, knChoice* choices)
{
    Chooser chooser = {contacts, choices, count, radius};
    uint32_t deepest = 0, most = job->limits->contacts;
    bool isAll = Begin(job, &chooser, &deepest) <= most || job->limits->full;
    for (uint32_t i = 0; i < count; ++i)
    {
        // also what is not there yet
        choices[i].isChosen = isAll;
        choices[i].wasChosen = !isAll && WasChosen(job, &contacts[i]);
    }
    for (uint32_t k = 0; !isAll && k < most; ++k)
    {
        Take(&chooser, k == 0 ? deepest : FindFurthest(&chooser));
    }
    float epsilon = job->limits->epsilon * radius;
    for (uint32_t i = 0; i < count; ++i)
    {
        choices[i].isChosen = choices[i].isChosen || contacts[i].contact.distance < -epsilon;
    }
}
