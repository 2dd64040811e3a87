// SPDX-License-Identifier: Zlib
#include "bullet_internal.h"

#include <stdlib.h>
#include <string.h>

// ---- who pushed whom

static knId BodyOf(const knWorld* w, const void* object)
{
    knBodyId tagged = knWorld_BodyOf(w, object);
    return knId_IsNull(tagged) ? tagged : knWorld_Untagged(w, tagged);
}

static knVec3 PointVelocity(knVec3 velocity, knVec3 spin, knVec3 center, knVec3 point)
{
    return knAdd(velocity, knCross(spin, knSub(point, center)));
}

// At a point, before the step and after it. What is the game's own counts as any other.
static bool Velocities(const knWorld* w, const void* object, knVec3 point, knVec3* before,
                       knVec3* after)
{
    knVec3 velocity, spin, center;
    knPort_After(object, &velocity, &spin, &center);
    *after = PointVelocity(velocity, spin, center, point);
    knPort_Before(w->port, object, &velocity, &spin);
    *before = PointVelocity(velocity, spin, center, point);
    return knPort_CanMove(object);
}

static bool CanBreak(const knWorld* w, knId id)
{
    const knBody* body = knPool_Get(&w->bodies, id);
    const knWorldFamily* family =
        body && body->piece ? knWorld_GetFamily(w, body->piece->family) : NULL;
    return family && family->isBreakable;
}

static void AddHit(knWorld* w, uint32_t push, uint8_t side)
{
    knWorldBreaks* b = &w->breaks;
    knId body = b->pushes[push].bodies[side];
    if (CanBreak(w, body) && knGrow(&w->allocator, (void**)&b->hits, &b->hitCapacity,
                                    b->hitCount + 1, sizeof(knHit)) == kn_success)
    {
        b->hits[b->hitCount++] =
            (knHit){.body = body,
                    .push = push,
                    .side = side,
                    .size = b->pushes[push].whole * knLength(b->pushes[push].impulse)};
    }
}

static void OnContact(const knPortContact* c, void* user)
{
    knWorld* w = user;
    knWorldBreaks* b = &w->breaks;
    if (!(knLengthSquared(c->impulse) > 0.0f))
    {
        knWorld_NoteContact(w, c, NULL);
        return;
    }
    knResult room = knGrow(&w->allocator, (void**)&b->pushes, &b->pushCapacity, b->pushCount + 1,
                           sizeof(knPush));
    if (room != kn_success)
    {
        knWorld_Notice(w, kn_noticeDropped, room, knWorld_BodyOf(w, c->objects[0]));
        return;
    }
    knPush* push = &b->pushes[b->pushCount];
    *push = (knPush){.objects = {c->objects[0], c->objects[1]},
                     .points = {c->points[0], c->points[1]},
                     .step = b->stepCount,
                     .impulse = c->impulse};
    knVec3 before[2], after[2], way = knNormalize(c->impulse);
    for (int i = 0; i < 2; ++i)
    {
        push->bodies[i] = BodyOf(w, c->objects[i]);
        push->isMoved[i] = Velocities(w, c->objects[i], c->points[i], &before[i], &after[i]);
    }
    push->approach = knDot(knSub(before[1], before[0]), way);
    push->left = knDot(knSub(after[1], after[0]), way);
    push->whole = 1.0f;
    // a gap is left only by what is found ahead
    push->isAhead =
        c->contact.distance > 0.0f && push->left > 0.0f && push->approach > b->limits.minApproach;
    b->pushCount += 1;
    knWorld_NoteContact(w, c, push);
}

#define MOST_STEPS 64 // a game that never calls knWorld_Break wants nothing to break

void knWorld_CollectPushes(void* user)
{
    knWorld* w = user;
    knWorldBreaks* b = &w->breaks;
    if (b->stepCount == 0 || b->stepCount == MOST_STEPS)
    {
        knWorld_ResetEvents(w);
        b->stepCount = b->pushCount = b->touchingCount[0] = 0;
    }
    b->stepCount += 1;
    knPort_EachContact(w->port, OnContact, w);
}

// Between the engine's step and this a game may have taken bodies away.
static void DropStale(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        knPush push = b->pushes[i];
        bool isThere = true;
        for (int k = 0; k < 2; ++k)
        {
            isThere = isThere && (knId_IsNull(push.bodies[k])
                                      ? knPort_FindIndex(w->port, push.objects[k], &push.places[k])
                                      : knPool_Get(&w->bodies, push.bodies[k]) != NULL);
        }
        if (isThere)
        {
            b->pushes[kept++] = push;
        }
    }
    b->pushCount = kept;
}

// Of one body among all that push one another.
static uint32_t SlotOf(const knWorld* w, const knPush* push, int side)
{
    knId id = push->bodies[side];
    return knId_IsNull(id) ? w->bodies.usedSlots + 1 + push->places[side] : id.index;
}

static uint32_t SlotCount(const knWorld* w)
{
    return w->bodies.usedSlots + 1 + knPort_ObjectCount(w->port);
}

// What is found ahead counts with what will stop the rest of its approach. So many pushes that
// share a body take a part each: together they stop no more than there is, and no energy is made.
static void CountWhole(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    uint32_t slots = SlotCount(w);
    b->aheadCount = 0;
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        knPush* p = &b->pushes[i];
        // in a later step it has come
        p->isAhead = p->isAhead && p->step == b->stepCount;
        b->aheadCount += p->isAhead;
    }
    if (b->aheadCount == 0 || knGrow(&w->allocator, (void**)&b->islands, &b->islandCapacity, slots,
                                     sizeof(uint32_t)) != kn_success)
    {
        return;
    }
    memset(b->islands, 0, slots * sizeof(uint32_t));
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        const knPush* p = &b->pushes[i];
        b->islands[SlotOf(w, p, 0)] += p->isAhead;
        b->islands[SlotOf(w, p, 1)] += p->isAhead;
    }
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        knPush* p = &b->pushes[i];
        if (p->isAhead)
        {
            uint32_t counts[2] = {p->isMoved[0] ? b->islands[SlotOf(w, p, 0)] : 1,
                                  p->isMoved[1] ? b->islands[SlotOf(w, p, 1)] : 1};
            float sharers = (float)(counts[0] > counts[1] ? counts[0] : counts[1]);
            float mass = knPort_EffectiveMass(p->objects, p->points, p->impulse);
            p->whole += p->left * mass / (sharers * knLength(p->impulse));
        }
    }
}

static int CompareBodies(const void* x, const void* y)
{
    uint32_t a = ((const knHit*)x)->body.index, b = ((const knHit*)y)->body.index;
    return a < b ? -1 : a > b;
}

// The body that was hit hardest first, its strongest hit first; equal ones in the engine's order.
static int CompareHits(const void* x, const void* y)
{
    const knHit* a = x;
    const knHit* b = y;
    if (a->total != b->total)
    {
        return a->total > b->total ? -1 : 1;
    }
    if (a->body.index != b->body.index)
    {
        return CompareBodies(a, b);
    }
    if (a->size != b->size)
    {
        return a->size > b->size ? -1 : 1;
    }
    return a->push < b->push ? -1 : a->push > b->push;
}

void knWorld_CollectHits(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    DropStale(w);
    CountWhole(w);
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        AddHit(w, i, 0);
        AddHit(w, i, 1);
    }
    // qsort must not be given a null array
    if (b->hitCount == 0)
    {
        return;
    }
    qsort(b->hits, b->hitCount, sizeof(knHit), CompareBodies);
    for (uint32_t first = 0, end = 0; first < b->hitCount; first = end)
    {
        // the largest, not the sum: a sum would depend on the order
        float total = 0.0f;
        for (end = first; end < b->hitCount && CompareBodies(&b->hits[first], &b->hits[end]) == 0;
             ++end)
        {
            total = fmaxf(total, b->hits[end].size);
        }
        for (uint32_t i = first; i < end; ++i)
        {
            b->hits[i].total = total;
        }
    }
    qsort(b->hits, b->hitCount, sizeof(knHit), CompareHits);
}

// ---- giving back

static uint32_t FindIsland(uint32_t* islands, uint32_t slot)
{
    while (islands[slot] != slot)
    {
        islands[slot] = islands[islands[slot]];
        slot = islands[slot];
    }
    return slot;
}

// Bodies that pushed one another in this step; what cannot move joins none.
static void JoinIslands(const knWorld* w)
{
    const knWorldBreaks* b = &w->breaks;
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        const knPush* p = &b->pushes[i];
        if (p->isMoved[0] && p->isMoved[1])
        {
            uint32_t x = FindIsland(b->islands, SlotOf(w, p, 0));
            uint32_t y = FindIsland(b->islands, SlotOf(w, p, 1));
            b->islands[x > y ? x : y] = x > y ? y : x;
        }
    }
}

// The largest share that a break in the island needs; negative when nothing broke in it.
static double IslandShare(knWorldBreaks* b, uint32_t island)
{
    double share = -1.0;
    for (uint32_t i = 0; i < b->refundCount; ++i)
    {
        if (FindIsland(b->islands, b->refunds[i].slot) == island)
        {
            share = fmax(share, b->refunds[i].share);
        }
    }
    return share;
}

// The island of a push, and the share of its impulses that stays; negative when nothing broke in
// it.
static double ShareOf(knWorld* w, const knPush* p, uint32_t* island)
{
    knWorldBreaks* b = &w->breaks;
    *island = FindIsland(b->islands, SlotOf(w, p, p->isMoved[0] ? 0 : 1));
    return IslandShare(b, *island);
}

// Gives back so much of what is to be given back, or takes it again.
static void GiveBack(knWorld* w, double part, bool isRest)
{
    knWorldBreaks* b = &w->breaks;
    for (uint32_t i = 0; i < b->pushCount; ++i)
    {
        uint32_t island;
        const knPush* p = &b->pushes[i];
        double share = ShareOf(w, p, &island);
        double given = isRest ? part * b->energies[island].taken : part;
        if (share >= 0.0 && given != 0.0)
        {
            // of a hit that was only begun, breaking may need more than it has given
            double whole = 1.0 - share * (double)p->whole;
            knVec3 impulse = knScale((float)(given * whole), p->impulse);
            knPort_Push(p->objects[0], knNeg(impulse), p->points[0]);
            knPort_Push(p->objects[1], impulse, p->points[1]);
        }
    }
}

typedef struct EnergySum
{
    knWorld* world;
    int which;
} EnergySum;

static void AddMover(const knPortMover* mover, void* user)
{
    const EnergySum* sum = user;
    knWorldBreaks* b = &sum->world->breaks;
    knPush side = {.bodies = {BodyOf(sum->world, mover->object)}, .places = {mover->index}};
    knIslandEnergy* e = &b->energies[FindIsland(b->islands, SlotOf(sum->world, &side, 0))];
    e->found[sum->which] += mover->energy;
    e->allowed += sum->which == 0 ? mover->available : 0.0;
}

static void MeasureEnergies(knWorld* w, int which)
{
    EnergySum sum = {w, which};
    knPort_EachMover(w->port, AddMover, &sum);
}

// What the cracks take is no longer there to be given back.
static void ChargeCracks(knWorldBreaks* b)
{
    for (uint32_t i = 0; i < b->refundCount; ++i)
    {
        b->energies[FindIsland(b->islands, b->refunds[i].slot)].allowed -= b->refunds[i].energy;
    }
}

// What to take again of all that was given back. Where a hit was seen ahead, the
// engine has stopped a body short of its way: it has not fallen as far as its speed says, and all
// of that speed would be energy from nothing. In what is given back the energy is a parabola.
static void FindExcess(knIslandEnergy* e)
{
    double none = e->found[0], half = e->found[1], all = e->found[2];
    double a = 2.0 * (all + none - 2.0 * half), slope = all - none - a;
    if (all <= fmax(e->allowed, none) || !(a > 0.0))
    {
        return;
    }
    double root = slope * slope - 4.0 * a * (none - fmax(e->allowed, none));
    double given = (sqrt(fmax(root, 0.0)) - slope) / (2.0 * a);
    e->taken = 1.0 - fmin(fmax(given, 0.0), 1.0);
}

static knResult PrepareIslands(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    const knAllocator* a = &w->allocator;
    uint32_t slots = SlotCount(w);
    knResult result = knGrow(a, (void**)&b->islands, &b->islandCapacity, slots, sizeof(uint32_t));
    result = result == kn_success ? knGrow(a, (void**)&b->energies, &b->energyCapacity, slots,
                                           sizeof(knIslandEnergy))
                                  : result;
    for (uint32_t i = 0; result == kn_success && i < slots; ++i)
    {
        b->islands[i] = i;
        b->energies[i] = (knIslandEnergy){0};
    }
    return result;
}

// Impulses were found together, so all of an island are scaled alike: between none of them and all
// of them the kinetic energy is convex, and nothing is gained. A part of them could lift what
// another part held down.
knResult knWorld_Refund(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    knResult result = b->refundCount > 0 ? PrepareIslands(w) : kn_success;
    if (result != kn_success || b->refundCount == 0)
    {
        return result;
    }
    JoinIslands(w);
    MeasureEnergies(w, 0);
    ChargeCracks(b);
    GiveBack(w, 0.5, false);
    MeasureEnergies(w, 1);
    GiveBack(w, 0.5, false);
    MeasureEnergies(w, 2);
    for (uint32_t i = 0; i < SlotCount(w); ++i)
    {
        FindExcess(&b->energies[i]);
    }
    GiveBack(w, -1.0, true);
    return kn_success;
}
