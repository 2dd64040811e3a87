// SPDX-License-Identifier: Zlib
#include "query_select_internal.h"

#include <float.h>

knSelection knMakeSelection(const knContactLimits* limits, const knPairState* state, float radius)
{
    knSelection s = {.limits = limits};
    s.epsilon = limits->epsilon * radius;
    s.margin = limits->margin * radius;
    s.reach = s.margin + (limits->full ? 0.0f : state->room * radius);
    uint32_t m = state->contacts > limits->contacts ? state->contacts : limits->contacts;
    s.target = m < limits->maxContacts ? m : limits->maxContacts;
    return s;
}

void knSelection_Fit(knSelection* s, uint32_t capacity)
{
    const knContactLimits* limits = s->limits;
    s->capacity = capacity;
    s->target = limits->full || s->target > capacity ? capacity : s->target;
    uint32_t grown = s->target + (limits->full ? 0 : limits->growth);
    grown = grown < limits->maxContacts || limits->full ? grown : limits->maxContacts;
    s->limit = grown < capacity ? grown : capacity;
}

static void Count(knSelection* s, knPairResult* result)
{
    uint32_t count = result->count - result->beyond;
    if (!s->limits->full && !s->isDeep && count >= s->target)
    {
        // enough for the solver; from here on only what it would leave too deep
        s->isDeep = true;
        s->isStopped = s->limit == s->target;
    }
    else
    {
        s->isStopped = count == s->limit;
    }
    result->isFull = s->isDeep || s->isStopped;
}

knPairContact* knSelection_Take(knSelection* s, float distance, knPairResult* result)
{
    if (s->isDeep && !(distance < -s->epsilon))
    {
        return NULL;
    }
    uint32_t count = result->count - result->beyond;
    bool isBeyond = distance > s->margin && s->reach > s->margin;
    // what counts comes first
    uint32_t reserved = isBeyond ? s->limit - count : 0;
    if (result->count + reserved >= s->capacity)
    {
        s->isLost = s->isLost || isBeyond;
        return NULL;
    }
    knPairContact* place = &s->contacts[result->count++];
    result->counters.kept += 1;
    if (isBeyond)
    {
        result->beyond += 1;
    }
    else
    {
        Count(s, result);
    }
    return place;
}

void knSelection_End(const knSelection* s, knPairState* state, knPairResult* result)
{
    // where m can grow no further, the next query would list no more
    bool isSpent = s->isStopped && s->limit == s->limits->maxContacts;
    result->reach = s->isStopped && !isSpent ? -FLT_MAX
                    : s->isDeep || isSpent   ? -s->epsilon
                    : s->isLost              ? s->margin
                                             : s->reach;
    if (s->limits->full)
    {
        return;
    }
    uint32_t count = result->count - result->beyond;
    uint32_t m = s->target;
    state->quiet = count >= m ? 0 : state->quiet + 1;
    m = count > m ? count : m;
    if (state->quiet > s->limits->decay && m > s->limits->contacts)
    {
        m -= 1;
        state->quiet = 0;
    }
    state->contacts = m;
}
