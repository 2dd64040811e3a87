// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// A body breaks into parts at once (2007, 4.2). Balanced: the tree is cloned for each part, and
// what is not the part's is deleted from the clone. Lazy: every part begins as one node. SWIPER:
// only the names of bodies change.

static knResult CheckBreak(knHierarchy* h, const knHierarchyBreak* e, const knId* bodies)
{
    if (!h || !e || !bodies || e->partCount == 0 || e->partCount > KN_MAX_MESH_SIZE ||
        (e->triangleCount > 0 && !e->triangles) || (e->triangleCount > 0 && !e->parts) ||
        (e->newCount > 0 && !e->newParts))
    {
        return knFail(kn_errorArgument, "a break needs a hierarchy, triangles with their parts, at "
                                        "least one part and places for the bodies");
    }
    const knHierarchyBody* body = knPool_Get(&h->bodies, e->body);
    if (!body || body->isRigid)
    {
        return knFail(kn_errorHandle, "there is no such body, or it is rigid");
    }
    if (body->triangleCount != e->triangleCount)
    {
        return knFail(kn_errorArgument, "%u triangles are named; the body has %u", e->triangleCount,
                      body->triangleCount);
    }
    for (uint32_t i = 0; i < e->triangleCount + e->newCount; ++i)
    {
        bool isNew = i >= e->triangleCount;
        uint32_t part = isNew ? e->newParts[i - e->triangleCount] : e->parts[i];
        if (part >= e->partCount && (isNew || part != KN_NONE))
        {
            return knFail(kn_errorArgument, "entry %u: part %u, but there are %u", i, part,
                          e->partCount);
        }
    }
    knResult result = knCheckHierarchyTriangles(h, e->newTriangles, e->newCount);
    return result == kn_success
               ? knCheckHierarchyIds(h, e->triangles, e->triangleCount, e->body.index)
               : result;
}

// Scratch of a break, in `changes`.
typedef struct BreakScratch
{
    uint32_t* partOf; // per triangle slot
    uint32_t* slots;  // body of each part
    uint32_t* starts; // of the new triangles of each part, one more than parts
    uint32_t* fresh;  // new triangles by part
} BreakScratch;

static BreakScratch GetBreakScratch(const knHierarchy* h, const knHierarchyBreak* e)
{
    BreakScratch s = {.partOf = h->changes};
    s.slots = s.partOf + h->triangleCapacity;
    s.starts = s.slots + e->partCount;
    s.fresh = s.starts + e->partCount + 1;
    return s;
}

static knResult ReserveBreak(knHierarchy* h, const knHierarchyBreak* e)
{
    knResult result = knReserveHierarchyTriangles(h, e->newCount);
    result = result == kn_success ? knReserveHierarchyBodies(h, e->partCount) : result;
    if (result == kn_success)
    {
        size_t count = h->triangleCapacity + 2 * (size_t)e->partCount + 1 + e->newCount;
        result = knGrow(&h->allocator, (void**)&h->changes, &h->changeCapacity, count,
                        sizeof *h->changes);
    }
    size_t nodes = 2 * ((size_t)e->partCount - 1) * e->triangleCount + 2 * (size_t)e->newCount;
    result = result == kn_success ? knReserveMethod(h, nodes, e->newCount) : result;
    if (result == kn_success && h->def.method == kn_hierarchyLazy)
    {
        result = knReserveLazy(h, e->partCount);
        result = result == kn_success ? knReserveSplit(h, (size_t)e->triangleCount + e->newCount)
                                      : result;
    }
    return result;
}

// Bodies of the parts, and for lazy trees room for their primitives.
static knResult MakeParts(knHierarchy* h, const knHierarchyBreak* e, const BreakScratch* s)
{
    memset(s->starts, 0, (e->partCount + 1) * sizeof *s->starts);
    for (uint32_t i = 0; i < e->newCount; ++i)
    {
        s->starts[e->newParts[i] + 1] += 1;
    }
    for (uint32_t i = 0; i < e->partCount; ++i)
    {
        knId id;
        knHierarchyBody* body = knAcquireHierarchyBody(h, &id);
        s->slots[i] = id.index;
        body->triangleCount = s->starts[i + 1];
        s->starts[i + 1] += s->starts[i];
    }
    for (uint32_t i = 0; i < e->triangleCount; ++i)
    {
        s->partOf[e->triangles[i]] = e->parts[i];
        if (e->parts[i] != KN_NONE)
        {
            knGetHierarchyBody(h, s->slots[e->parts[i]])->triangleCount += 1;
        }
    }
    knResult result = kn_success;
    for (uint32_t i = 0; i < e->partCount && h->def.method == kn_hierarchyLazy; ++i)
    {
        knHierarchyBody* body = knGetHierarchyBody(h, s->slots[i]);
        result = result == kn_success ? knReservePrimitives(h, body, body->triangleCount) : result;
    }
    for (uint32_t i = 0; i < e->partCount && result != kn_success; ++i)
    {
        uint32_t slot = s->slots[i];
        knReleaseLazy(h, knGetHierarchyBody(h, slot));
        knPool_Release(&h->bodies, (knId){slot, h->bodies.generations[slot - 1]});
    }
    return result;
}

// The last part keeps the tree itself.
static void CloneParts(knHierarchy* h, const knHierarchyBreak* e, const BreakScratch* s)
{
    const knHierarchyBody* whole = knGetHierarchyBody(h, e->body.index);
    uint32_t root = whole->root, last = e->partCount - 1;
    for (uint32_t i = 0; i < last && root != KN_NONE; ++i)
    {
        knHierarchyBody* body = knGetHierarchyBody(h, s->slots[i]);
        uint32_t leafCount = 0;
        body->root = knCloneBalanced(h, root, s->partOf, i, &leafCount);
        body->builtQuality = whole->builtQuality; // what a rebuild may hope for
        h->links[body->root].parent = KN_NONE;
        for (uint32_t k = 0; k < leafCount; ++k)
        {
            knDeleteLeaf(h, body, h->queue[k]);
        }
    }
    knHierarchyBody* body = knGetHierarchyBody(h, s->slots[last]);
    body->root = root;
    body->builtQuality = whole->builtQuality;
    // places of the other parts' triangles are in the clones by now
    uint32_t leafCount = 0;
    knListOtherLeaves(h, root, s->partOf, last, &leafCount);
    for (uint32_t k = 0; k < leafCount; ++k)
    {
        knDeleteLeaf(h, body, h->queue[k]);
    }
}

static void MoveTriangles(knHierarchy* h, const knHierarchyBreak* e, const BreakScratch* s)
{
    for (uint32_t i = 0; i < e->triangleCount; ++i)
    {
        uint32_t id = e->triangles[i], part = e->parts[i];
        if (part == KN_NONE)
        {
            if (h->def.method == kn_hierarchyBalanced)
            {
                knUnlinkFan(h, id);
            }
            knReleaseHierarchyTriangle(h, id);
            continue;
        }
        h->triangles[id].body = s->slots[part];
        if (h->def.method == kn_hierarchyLazy)
        {
            knHierarchyBody* body = knGetHierarchyBody(h, s->slots[part]);
            body->primitives[body->primitiveCount++] = id;
        }
    }
}

static void AddNewTriangles(knHierarchy* h, const knHierarchyBreak* e, const BreakScratch* s,
                            uint32_t* newIds)
{
    for (uint32_t i = 0; i < e->newCount; ++i)
    {
        uint32_t part = e->newParts[i];
        knHierarchyBody* body = knGetHierarchyBody(h, s->slots[part]);
        body->triangleCount -= 1; // counted already
        uint32_t id = knInsertHierarchyTriangle(h, body, e->newTriangles[i]);
        s->fresh[s->starts[part]++] = id;
        if (newIds)
        {
            newIds[i] = id;
        }
    }
    for (uint32_t i = 0; i < e->partCount && h->def.method == kn_hierarchyBalanced; ++i)
    {
        uint32_t begin = i > 0 ? s->starts[i - 1] : 0;
        knInsertPending(h, knGetHierarchyBody(h, s->slots[i]), s->fresh + begin,
                        s->starts[i] - begin, NULL, 0);
    }
}

knResult knHierarchy_Break(knHierarchy* h, const knHierarchyBreak* e, knId* bodies,
                           uint32_t* newIds)
{
    knResult result = CheckBreak(h, e, bodies);
    result = result == kn_success ? ReserveBreak(h, e) : result;
    if (result != kn_success)
    {
        return result;
    }
    BreakScratch s = GetBreakScratch(h, e);
    result = MakeParts(h, e, &s);
    if (result != kn_success)
    {
        return result;
    }
    if (h->def.method == kn_hierarchyBalanced)
    {
        CloneParts(h, e, &s);
    }
    else if (h->def.method == kn_hierarchyLazy)
    {
        knReleaseLazy(h, knGetHierarchyBody(h, e->body.index));
    }
    MoveTriangles(h, e, &s);
    for (uint32_t i = 0; i < e->partCount; ++i)
    {
        bodies[i] = (knId){s.slots[i], h->bodies.generations[s.slots[i] - 1]};
        if (h->def.method == kn_hierarchyLazy)
        {
            knStartLazy(h, knGetHierarchyBody(h, s.slots[i]));
        }
    }
    AddNewTriangles(h, e, &s, newIds);
    knPool_Release(&h->bodies, e->body);
    knNoteHierarchyChange(h);
    return kn_success;
}
