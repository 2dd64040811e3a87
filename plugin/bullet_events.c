// SPDX-License-Identifier: Zlib
// What a step tells: arrays that grow and are emptied, never lost memory.
#include "bullet_internal.h"

#include <stdlib.h>
#include <string.h>

#define READ(w, array, number, count)                                                              \
    do                                                                                             \
    {                                                                                              \
        if (count)                                                                                 \
        {                                                                                          \
            *(count) = (w) ? (w)->breaks.number : 0;                                               \
        }                                                                                          \
        return (w) ? (w)->breaks.array : NULL;                                                     \
    } while (0)

const knFractureEvent* knWorld_Fractures(const knWorld* w, uint32_t* count)
{
    READ(w, fractures, fractureCount, count);
}

const knBodyId* knWorld_Children(const knWorld* w, uint32_t* count)
{
    READ(w, children, childCount, count);
}

const knDebrisEvent* knWorld_Debris(const knWorld* w, uint32_t* count)
{
    READ(w, debris, debrisCount, count);
}

const knContactEvent* knWorld_ContactEvents(const knWorld* w, uint32_t* count)
{
    READ(w, contacts, contactCount, count);
}

const knJointEvent* knWorld_JointEvents(const knWorld* w, uint32_t* count)
{
    READ(w, joints, jointCount, count);
}

const knNotice* knWorld_Notices(const knWorld* w, uint32_t* count)
{
    READ(w, notices, noticeCount, count);
}

void knWorld_ResetEvents(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    b->fractureCount = b->childCount = b->debrisCount = b->jointCount = 0;
    b->contactCount = b->noticeCount = 0;
}

void knWorld_Notice(knWorld* w, knNoticeKind kind, knResult result, knBodyId body)
{
    knWorldBreaks* b = &w->breaks;
    for (uint32_t i = 0; i < b->noticeCount; ++i)
    {
        if (b->notices[i].kind == kind && b->notices[i].result == result)
        {
            b->notices[i].count += 1;
            return;
        }
    }
    if (b->noticeCount < KN_MAX_NOTICES)
    {
        b->notices[b->noticeCount++] = (knNotice){kind, result, body, 1};
    }
}

void knWorld_AddJointEvent(knWorld* w, const knJointEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    knResult room = knGrow(&w->allocator, (void**)&b->joints, &b->jointCapacity, b->jointCount + 1,
                           sizeof(knJointEvent));
    if (room != kn_success)
    {
        knWorld_Notice(w, kn_noticeDropped, room, event->from);
        return;
    }
    b->joints[b->jointCount++] = *event;
}

void knWorld_AddDebrisEvent(knWorld* w, const knDebrisEvent* event)
{
    knWorldBreaks* b = &w->breaks;
    knResult room = knGrow(&w->allocator, (void**)&b->debris, &b->debrisCapacity,
                           b->debrisCount + 1, sizeof(knDebrisEvent));
    if (room != kn_success)
    {
        knWorld_Notice(w, kn_noticeDropped, room, event->body);
        return;
    }
    b->debris[b->debrisCount++] = *event;
}

// ---- contacts that begin and end

// Points of a pair come one after the other, but for parts of compounds.
void knWorld_NoteContact(knWorld* w, const knPortContact* c, const knPush* push)
{
    knWorldBreaks* b = &w->breaks;
    knTouching* last = b->touchingCount[0] > 0 ? &b->touching[0][b->touchingCount[0] - 1] : NULL;
    if (!last || last->key != c->key)
    {
        knResult room = knGrow(&w->allocator, (void**)&b->touching[0], &b->touchingCapacity[0],
                               b->touchingCount[0] + 1, sizeof(knTouching));
        if (room != kn_success)
        {
            knWorld_Notice(w, kn_noticeDropped, room, (knBodyId){0});
            return;
        }
        last = &b->touching[0][b->touchingCount[0]++];
        memset(last, 0, sizeof *last);
        last->key = c->key;
        last->strongest = -1.0f;
        for (int i = 0; i < 2; ++i)
        {
            last->event.bodies[i] = knWorld_BodyOf(w, c->objects[i]);
            last->event.objects[i] = c->objects[i];
        }
    }
    float size = push ? knLength(push->impulse) : 0.0f;
    last->touches = last->touches || size > 0.0f || c->contact.distance <= 0.0f;
    last->event.impulse += size;
    last->event.contactCount += 1;
    if (push)
    {
        last->event.approach = fmaxf(last->event.approach, push->approach);
    }
    if (size > last->strongest)
    {
        last->strongest = size;
        last->event.point = c->contact.point;
        last->event.normal = c->contact.normal;
    }
}

static int CompareKeys(const void* x, const void* y)
{
    uint64_t a = ((const knTouching*)x)->key, b = ((const knTouching*)y)->key;
    return a < b ? -1 : a > b;
}

// Sorts the pairs of this step and joins what compounds gave in parts.
static void SortTouching(knWorldBreaks* b)
{
    uint32_t count = b->touchingCount[0], kept = 0;
    knTouching* list = b->touching[0];
    if (count == 0)
    {
        return;
    }
    qsort(list, count, sizeof(knTouching), CompareKeys);
    for (uint32_t i = 0; i < count; ++i)
    {
        if (kept > 0 && list[kept - 1].key == list[i].key)
        {
            knTouching* to = &list[kept - 1];
            to->event.impulse += list[i].event.impulse;
            to->event.contactCount += list[i].event.contactCount;
            to->event.approach = fmaxf(to->event.approach, list[i].event.approach);
            to->touches = to->touches || list[i].touches;
        }
        else
        {
            list[kept++] = list[i];
        }
    }
    b->touchingCount[0] = kept;
}

static void AddContactEvent(knWorld* w, const knTouching* touching, bool isEnd)
{
    knWorldBreaks* b = &w->breaks;
    knResult room = knGrow(&w->allocator, (void**)&b->contacts, &b->contactCapacity,
                           b->contactCount + 1, sizeof(knContactEvent));
    if (room != kn_success)
    {
        knWorld_Notice(w, kn_noticeDropped, room, (knBodyId){0});
        return;
    }
    knContactEvent* event = &b->contacts[b->contactCount++];
    *event = touching->event;
    event->isEnd = isEnd;
    if (isEnd)
    {
        event->point = event->normal = (knVec3){0.0f, 0.0f, 0.0f};
        event->impulse = event->approach = 0.0f;
        event->contactCount = 0;
    }
}

// A contact begins when it touches and ends when not even a near point is left, so that resting
// bodies do not chatter.
void knWorld_CompareContacts(knWorld* w)
{
    knWorldBreaks* b = &w->breaks;
    SortTouching(b);
    uint32_t i = 0, k = 0, kept = 0;
    while (i < b->touchingCount[0] || k < b->touchingCount[1])
    {
        knTouching* now = i < b->touchingCount[0] ? &b->touching[0][i] : NULL;
        const knTouching* old = k < b->touchingCount[1] ? &b->touching[1][k] : NULL;
        bool isOld = old && (!now || old->key <= now->key);
        bool isNow = now && (!old || now->key <= old->key);
        if (isNow && !isOld && now->touches && !b->isQuiet)
        {
            AddContactEvent(w, now, false);
        }
        if (isOld && !isNow)
        {
            AddContactEvent(w, old, true);
        }
        if (isNow && (isOld || now->touches))
        {
            b->touching[0][kept++] = *now;
        }
        i += isNow;
        k += isOld;
    }
    b->isQuiet = false;
    knTouching* list = b->touching[0];
    size_t capacity = b->touchingCapacity[0];
    b->touching[0] = b->touching[1];
    b->touchingCapacity[0] = b->touchingCapacity[1];
    b->touching[1] = list;
    b->touchingCapacity[1] = capacity;
    b->touchingCount[1] = kept;
    b->touchingCount[0] = 0;
}

// ---- heirs

static uint32_t HashId(knBodyId id)
{
    return (id.index * 2654435761u ^ id.generation * 40503u) % KN_HEIR_LISTS;
}

static knResult MakeHeirs(knWorld* w)
{
    knHeirs* h = &w->breaks.heirs;
    if (h->parents)
    {
        return kn_success;
    }
    knBodyId* ids = knAllocate(&w->allocator, 2 * KN_HEIR_COUNT, sizeof(knBodyId));
    uint32_t* nexts = knAllocate(&w->allocator, KN_HEIR_COUNT, sizeof(uint32_t));
    if (!ids || !nexts)
    {
        knRelease(&w->allocator, ids, 2 * KN_HEIR_COUNT, sizeof(knBodyId));
        knRelease(&w->allocator, nexts, KN_HEIR_COUNT, sizeof(uint32_t));
        return kn_errorMemory;
    }
    h->parents = ids;
    h->children = ids + KN_HEIR_COUNT;
    h->nexts = nexts;
    return kn_success;
}

// The oldest entry leaves its list: it is the last there, as lists begin with the youngest.
static void ForgetOldest(knHeirs* h, uint32_t slot)
{
    uint32_t* at = &h->lists[HashId(h->parents[slot])];
    while (*at != slot + 1)
    {
        at = &h->nexts[*at - 1];
    }
    *at = h->nexts[slot];
}

void knWorld_NoteHeir(knWorld* w, knBodyId parent, knBodyId heir)
{
    knHeirs* h = &w->breaks.heirs;
    knResult room = MakeHeirs(w);
    if (room != kn_success)
    {
        knWorld_Notice(w, kn_noticeDropped, room, parent);
        return;
    }
    uint32_t slot = h->count % KN_HEIR_COUNT;
    if (h->count >= KN_HEIR_COUNT)
    {
        ForgetOldest(h, slot);
    }
    uint32_t* list = &h->lists[HashId(parent)];
    h->parents[slot] = parent;
    h->children[slot] = heir;
    h->nexts[slot] = *list;
    *list = slot + 1;
    h->count += 1;
}

static knBodyId FindHeir(const knHeirs* h, knBodyId id)
{
    for (uint32_t at = h->lists[HashId(id)]; at != 0; at = h->nexts[at - 1])
    {
        if (knId_Equals(h->parents[at - 1], id))
        {
            return h->children[at - 1];
        }
    }
    return (knBodyId){0};
}

knBodyId knWorld_Heir(const knWorld* w, knBodyId id)
{
    if (!w)
    {
        return (knBodyId){0};
    }
    // a child is always made after its parent, so this ends
    while (!knId_IsNull(id) && !knPool_Get(&w->bodies, knWorld_Untagged(w, id)))
    {
        id = w->breaks.heirs.parents ? FindHeir(&w->breaks.heirs, id) : (knBodyId){0};
    }
    return id;
}
