// SPDX-License-Identifier: Zlib
#include "bvh/bvh_internal.h"

// Rebuilding: everything, or only the parts that lost their quality (FASTCD 5.4). A part within a
// body is built anew from its triangles; a part above bodies from their roots, which stay whole.
//
// The paper takes it that a rebuilt part costs what it did when it was last built. That is too much
// to hope for where it has bent or turned since, and so what comes true of it is remembered, within
// and above bodies, and less is hoped for the next time.

// Work in nanoseconds of one machine, in round numbers and fixed, so that every machine decides
// alike: what a unit of TCS costs a query, and a triangle a build per halving.
#define SELF_COST_WORK 300.0
#define BUILD_WORK     6.0
#define UNIT_WORK      20.0 // the root of a body instead of a triangle

#define MIN_PART     64   // triangles; smaller ones are not worth a look
#define LITTLE_GAIN  0.05 // of the cost: then the part is left alone
#define REST_COMMITS 16   // for so many commits
#define PERIOD       4    // commits from one try to the next
#define TRUST_RETURN 0.04 // from one try to the next

static uint32_t FirstUnit(const knBvhScene* s, uint32_t node)
{
    while (s->cold[node].body == 0)
    {
        node = s->nodes[node].child;
    }
    return node;
}

static uint32_t NextUnit(const knBvhScene* s, uint32_t node, uint32_t top)
{
    if (node == top)
    {
        return KN_NONE;
    }
    return (node & 1) == 0 ? FirstUnit(s, node + 1) : s->cold[node].parent;
}

// Takes the roots of the bodies below out of the tree and gives back the nodes above them.
static uint32_t TakeUnits(knBvhScene* s, uint32_t top)
{
    uint32_t count = 0;
    for (uint32_t node = FirstUnit(s, top); node != KN_NONE;)
    {
        uint32_t next = NextUnit(s, node, top);
        const knBvhNode* n = &s->nodes[node];
        if (s->cold[node].body != 0)
        {
            s->units[count] = knTakeNode(s, node);
            s->parts[count].triangle = count;
            for (int axis = 0; axis < 3; ++axis)
            {
                float center = 0.5f * n->lower[axis] + 0.5f * n->upper[axis];
                s->parts[count].center[axis] = isfinite(center) ? center : 0.0f;
            }
            count += 1;
        }
        else
        {
            knReleasePair(s, n->child);
        }
        node = next;
    }
    return count;
}

static void BuildUnits(knBvhScene* s, uint32_t node, uint32_t begin, uint32_t end)
{
    if (end - begin == 1)
    {
        knPutNode(s, node, &s->units[s->parts[begin].triangle]);
        return;
    }
    uint32_t middle = begin + (end - begin) / 2;
    knSelectItems(s->parts, begin, end, middle, knLongestAxis(s->parts, begin, end));
    uint32_t pair = knAcquireChildren(s, node);
    BuildUnits(s, pair, begin, middle);
    BuildUnits(s, pair + 1, middle, end);
    knRefitNode(s, node);
    knInvalidate(s, node);
    knForgetHistory(s, node);
}

// All that a rebuild of the whole tree can need.
knResult knReserveRebuild(knBvhScene* s)
{
    size_t triangles = s->triangleSlots - s->freeTriangleCount, bodies = s->bodies.count;
    knResult result = knReserveLeaves(s, knLeafBound(s, triangles) + 5 * bodies);
    result = result == kn_success ? knReserveItems(s, triangles) : result;
    if (result == kn_success)
    {
        result =
            knGrow(&s->allocator, (void**)&s->parts, &s->partCapacity, bodies, sizeof *s->parts);
    }
    if (result == kn_success)
    {
        result =
            knGrow(&s->allocator, (void**)&s->units, &s->unitCapacity, bodies, sizeof *s->units);
    }
    return result;
}

static void RebuildPart(knBvhScene* s, uint32_t node)
{
    uint32_t count = knCollectItems(s, node, 0);
    knReleaseBelow(s, node);
    knBuildBelow(s, node, 0, count);
}

void knRebuildAll(knBvhScene* s)
{
    for (knId id = knPool_Next(&s->bodies, (knId){0, 0}); !knId_IsNull(id);
         id = knPool_Next(&s->bodies, id))
    {
        if (knGetBody(s, id.index)->node != KN_NONE)
        {
            RebuildPart(s, knGetBody(s, id.index)->node);
        }
    }
    if (s->hasRoot && s->cold[0].body == 0)
    {
        BuildUnits(s, 0, 0, TakeUnits(s, 0));
    }
}

static double Halvings(double count)
{
    double halvings = 0.0;
    for (; count > 1.0; count *= 0.5)
    {
        halvings += 1.0;
    }
    return halvings;
}

// Above bodies their roots are sorted and nothing below: about as many as its share of all.
static double BuildWork(const knBvhScene* s, uint32_t node)
{
    double count = (double)s->cold[node].triangleCount;
    if (s->cold[node].body == 0)
    {
        double roots = count * s->bodies.count / (double)s->cold[0].triangleCount;
        return UNIT_WORK * roots * Halvings(roots);
    }
    return BUILD_WORK * count * Halvings(count);
}

// What the step is expected to cost apart from restructuring.
static double StepWork(const knBvhScene* s)
{
    return SELF_COST_WORK * (double)s->cold[0].selfCost;
}

// What came of it is seen when culling has looked at the new part.
static void Restructure(knBvhScene* s, uint32_t node)
{
    float before = s->cold[node].selfCost;
    s->foretold[s->cold[node].body == 0] +=
        (double)before - (double)s->histories[node].builtSelfCost;
    if (s->cold[node].body == 0)
    {
        BuildUnits(s, node, 0, TakeUnits(s, node));
    }
    else
    {
        RebuildPart(s, node);
    }
    knRefitAbove(s, node);
    s->histories[node].builtSelfCost = -before;
    s->restructureCount += 1;
}

// The rival of FASTCD 6.2, after Larsson and Akenine-Moeller: the children together are larger than
// their parent by this ratio.
static bool AreChildrenLarge(const knBvhScene* s, uint32_t node)
{
    double volumes[3];
    uint32_t child = s->nodes[node].child;
    for (uint32_t i = 0; i < 3; ++i)
    {
        const knBvhNode* n = &s->nodes[i == 0 ? node : child + i - 1];
        volumes[i] = 1.0;
        for (int axis = 0; axis < 3; ++axis)
        {
            volumes[i] *= (double)n->upper[axis] - (double)n->lower[axis] + (double)s->padding;
        }
    }
    return volumes[0] < (double)s->volumeRatio * (volumes[1] + volumes[2]);
}

// Both conditions: more to gain than to lose, and not more to lose than the share of a step.
static bool IsWorthIt(const knBvhScene* s, uint32_t node, double budget)
{
    const knBvhHistory* h = &s->histories[node];
    if (s->volumeRatio > 0.0f)
    {
        return s->commitCount >= h->restUntil && AreChildrenLarge(s, node);
    }
    double gain = SELF_COST_WORK * s->trust[s->cold[node].body == 0] *
                  ((double)s->cold[node].selfCost - (double)h->builtSelfCost);
    double loss = BuildWork(s, node);
    return h->builtSelfCost > 0.0f && s->commitCount >= h->restUntil && gain > loss &&
           loss <= budget;
}

void knRestructureSelected(knBvhScene* s)
{
    // quality is lost slowly, and the tree as a whole is put in order again afterwards
    if (s->commitCount % PERIOD != 0)
    {
        return;
    }
    for (int i = 0; i < 2; ++i)
    {
        // comes back slowly, to try again
        s->trust[i] = s->trust[i] + TRUST_RETURN < 1.0 ? s->trust[i] + TRUST_RETURN : 1.0;
    }
    double budget = (double)s->def.restructureShare * StepWork(s);
    for (uint32_t node = s->hasRoot ? 0 : KN_NONE; node != KN_NONE;)
    {
        bool isSmall = s->cold[node].triangleCount < MIN_PART || knIsLeaf(&s->nodes[node]);
        bool isDone = isSmall;
        if (!isSmall && IsWorthIt(s, node, budget))
        {
            budget -= BuildWork(s, node);
            Restructure(s, node);
            isDone = true;
        }
        node = isDone ? knNextAside(s, node) : s->nodes[node].child;
    }
}

static void NoteGain(knBvhScene* s, uint32_t node, float before)
{
    float gain = before - s->cold[node].selfCost;
    s->gained[s->cold[node].body == 0] += (double)gain;
    s->histories[node].restUntil =
        gain > (float)LITTLE_GAIN * before ? 0 : s->commitCount + REST_COMMITS;
}

// Half of it is what has been seen now.
static void UpdateTrust(knBvhScene* s)
{
    for (int i = 0; i < 2; ++i)
    {
        if (s->foretold[i] > 0.0)
        {
            double seen = s->gained[i] > 0.0 ? s->gained[i] / s->foretold[i] : 0.0;
            s->trust[i] = 0.5 * s->trust[i] + 0.5 * (seen < 1.0 ? seen : 1.0);
        }
        s->foretold[i] = s->gained[i] = 0.0;
    }
}

// Costs that a later commit is compared with; those of parts that were not built since stay. To be
// called when parts were built.
void knRememberCosts(knBvhScene* s)
{
    for (uint32_t i = 0; i < s->orderCount; ++i)
    {
        knBvhHistory* h = &s->histories[s->order[i]];
        if (h->builtSelfCost < 0.0f)
        {
            NoteGain(s, s->order[i], -h->builtSelfCost);
        }
        bool isKnown = h->builtSelfCost > 0.0f;
        h->builtSelfCost = isKnown ? h->builtSelfCost : s->cold[s->order[i]].selfCost;
    }
    UpdateTrust(s);
}
