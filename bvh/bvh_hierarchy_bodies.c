// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// Bodies come, go and break, cracks grow. Everything is checked and reserved first; after that
// nothing can fail.

static knResult CheckTriangles(const knHierarchy* h, const knTriangle* triangles, uint32_t count)
{
    if (!h || (!triangles && count > 0))
    {
        return knFail(kn_errorArgument, "triangles need a hierarchy and an array");
    }
    for (uint32_t i = 0; i < 3 * (uint64_t)count; ++i)
    {
        if (triangles[i / 3].v[i % 3] >= h->vertexCount)
        {
            return knFail(kn_errorArgument, "triangle %u names vertex %u, but there are %u", i / 3,
                          triangles[i / 3].v[i % 3], h->vertexCount);
        }
    }
    return kn_success;
}

static knResult ReserveTriangles(knHierarchy* h, uint32_t count)
{
    uint32_t fresh = count > h->freeTriangleCount ? count - h->freeTriangleCount : 0;
    if (fresh > KN_MAX_MESH_SIZE - h->triangleSlots)
    {
        return knFail(kn_errorLimit, "a hierarchy holds at most %u triangles", KN_MAX_MESH_SIZE);
    }
    return knGrow(&h->allocator, (void**)&h->triangles, &h->triangleCapacity,
                  (size_t)h->triangleSlots + fresh, sizeof *h->triangles);
}

static uint32_t AcquireTriangle(knHierarchy* h, knTriangle triangle, uint32_t body)
{
    uint32_t id = h->freeTriangle;
    if (id != KN_NONE)
    {
        h->freeTriangle = h->triangles[id].v[0];
        h->freeTriangleCount -= 1;
    }
    else
    {
        id = h->triangleSlots++;
    }
    h->triangles[id] =
        (knBvhTriangle){{triangle.v[0], triangle.v[1], triangle.v[2]}, body, KN_NONE};
    return id;
}

static void ReleaseTriangle(knHierarchy* h, uint32_t id)
{
    h->triangles[id] = (knBvhTriangle){{h->freeTriangle, 0, 0}, 0, 0};
    h->freeTriangle = id;
    h->freeTriangleCount += 1;
}

static knResult ReserveBodies(knHierarchy* h, uint32_t count)
{
    uint32_t needed = h->bodies.usedSlots + count, doubled = 2 * h->bodies.capacity;
    if (needed > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "a hierarchy holds at most %u bodies", KN_MAX_MESH_SIZE);
    }
    return needed <= h->bodies.capacity
               ? kn_success
               : knPool_Reserve(&h->bodies, needed > doubled ? needed : doubled);
}

static knHierarchyBody* AcquireBody(knHierarchy* h, knId* id)
{
    void* item = NULL;
    knResult result = knPool_Acquire(&h->bodies, id, &item);
    KN_ASSERT(result == kn_success); // reserved
    (void)result;
    knHierarchyBody* body = item;
    body->root = KN_NONE;
    body->slot = id->index;
    body->pose = knIdentityTransform();
    return body;
}

// Room in the structures of the method for so many triangles more.
static knResult ReserveMethod(knHierarchy* h, size_t nodeCount, uint32_t triangleCount)
{
    switch (h->def.method)
    {
    case kn_hierarchyBalanced:
        return knReserveBalanced(h, nodeCount, triangleCount);
    case kn_hierarchyLazy:
        return knReserveSplit(h, h->triangleSlots + (size_t)triangleCount);
    default:
        return knReserveSwiper(h, h->triangleSlots + (size_t)triangleCount);
    }
}

knResult knHierarchy_Reserve(knHierarchy* h, uint32_t vertexCount, uint32_t triangleCount)
{
    if (!h)
    {
        return knFail(kn_errorArgument, "room needs a hierarchy");
    }
    knResult result = knReserveHierarchyVertices(h, vertexCount);
    result = result == kn_success ? ReserveTriangles(h, triangleCount) : result;
    if (result == kn_success)
    {
        result = knGrow(&h->allocator, (void**)&h->changes, &h->changeCapacity,
                        2 * (size_t)triangleCount, sizeof *h->changes);
    }
    return result == kn_success ? ReserveMethod(h, 2 * (size_t)triangleCount, triangleCount)
                                : result;
}

static void NoteChange(knHierarchy* h)
{
    h->isUpdated = false;
    h->epoch += 1;
    h->swiper.isChanged = true;
}

static knResult ReserveLazyBody(knHierarchy* h, knHierarchyBody* fresh, uint32_t count)
{
    size_t nodes = h->def.preallocate || fresh->isRigid ? count / 2 + 16 : 1;
    knResult result = knReserveLazy(h, nodes);
    return result == kn_success ? knReservePrimitives(h, fresh, count) : result;
}

static void FillBody(knHierarchy* h, knHierarchyBody* body, const knTriangle* triangles,
                     uint32_t count, uint32_t* ids)
{
    body->triangleCount = count;
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t id = AcquireTriangle(h, triangles[i], body->slot);
        if (ids)
        {
            ids[i] = id;
        }
        switch (h->def.method)
        {
        case kn_hierarchyBalanced:
            knLinkFan(h, id);
            knSetHierarchyItem(h, i, id);
            break;
        case kn_hierarchyLazy:
            body->primitives[body->primitiveCount++] = id;
            break;
        default:
            break;
        }
    }
}

static knResult AddBody(knHierarchy* h, const knTriangle* triangles, uint32_t count, uint32_t* ids,
                        knId* body, bool isRigid)
{
    knHierarchyBody fresh = {.isRigid = isRigid};
    bool isLazy = h && h->def.method == kn_hierarchyLazy;
    knResult result = body ? CheckTriangles(h, triangles, count)
                           : knFail(kn_errorArgument, "a body needs a place for its id");
    if (result == kn_success && isRigid && !isLazy)
    {
        result = knFail(kn_errorArgument, "rigid bodies need kn_hierarchyLazy");
    }
    result = result == kn_success ? ReserveTriangles(h, count) : result;
    result = result == kn_success ? ReserveBodies(h, 1) : result;
    result = result == kn_success ? ReserveMethod(h, 2 * (size_t)count, count) : result;
    result = result == kn_success && isLazy ? ReserveLazyBody(h, &fresh, count) : result;
    if (result != kn_success)
    {
        return result;
    }
    knHierarchyBody* b = AcquireBody(h, body);
    b->isRigid = isRigid;
    b->primitives = fresh.primitives;
    b->primitiveCapacity = fresh.primitiveCapacity;
    FillBody(h, b, triangles, count, ids);
    if (h->def.method == kn_hierarchyBalanced)
    {
        knBuildBalanced(h, b, count);
    }
    else if (isLazy)
    {
        knStartLazy(h, b);
    }
    NoteChange(h);
    return kn_success;
}

knResult knHierarchy_AddBody(knHierarchy* h, const knTriangle* triangles, uint32_t count,
                             uint32_t* ids, knId* body)
{
    return AddBody(h, triangles, count, ids, body, false);
}

knResult knHierarchy_AddRigidBody(knHierarchy* h, const knTriangle* triangles, uint32_t count,
                                  uint32_t* ids, knId* body)
{
    knId added;
    knResult result = body ? AddBody(h, triangles, count, ids, &added, true)
                           : knFail(kn_errorArgument, "a body needs a place for its id");
    if (result == kn_success)
    {
        h->rigidCount += 1;
        uint32_t mode = knBeginExact();
        result = knSplitRigid(h, knGetHierarchyBody(h, added.index));
        knEndExact(mode);
        if (result != kn_success)
        {
            knHierarchy_DeleteBody(h, added);
            return result;
        }
        *body = added;
    }
    return result;
}

knResult knHierarchy_SetPose(knHierarchy* h, knId id, knTransform pose)
{
    knHierarchyBody* body = h ? knPool_Get(&h->bodies, id) : NULL;
    if (!body || !body->isRigid)
    {
        return knFail(kn_errorHandle, "that is no rigid body of the hierarchy");
    }
    body->pose = pose;
    h->isUpdated = false;
    return kn_success;
}

// Takes a triangle out of the method's structure and ends it.
static void EndTriangle(knHierarchy* h, uint32_t id)
{
    knHierarchyBody* body = knGetHierarchyBody(h, h->triangles[id].body);
    if (h->def.method == kn_hierarchyBalanced)
    {
        knDeleteLeaf(h, body, h->triangles[id].place);
        knUnlinkFan(h, id);
    }
    else if (h->def.method == kn_hierarchyLazy)
    {
        knDeletePrimitive(h, body, id);
    }
    body->triangleCount -= 1;
    ReleaseTriangle(h, id);
}

knResult knHierarchy_DeleteBody(knHierarchy* h, knId id)
{
    knHierarchyBody* body = h ? knPool_Get(&h->bodies, id) : NULL;
    if (!body)
    {
        return knFail(kn_errorHandle, "there is no such body");
    }
    // from the highest id down, so that the lowest is used again first
    for (uint32_t i = h->triangleSlots; i-- > 0 && body->triangleCount > 0;)
    {
        if (h->triangles[i].body == id.index)
        {
            if (h->def.method == kn_hierarchyBalanced)
            {
                knUnlinkFan(h, i);
            }
            ReleaseTriangle(h, i);
            body->triangleCount -= 1;
        }
    }
    if (h->def.method == kn_hierarchyBalanced)
    {
        knReleaseBalanced(h, body->root);
    }
    else if (h->def.method == kn_hierarchyLazy)
    {
        h->rigidCount -= body->isRigid;
        knReleaseLazy(h, body);
    }
    knPool_Release(&h->bodies, id);
    NoteChange(h);
    return kn_success;
}

static void ClearMarks(knHierarchy* h, const uint32_t* ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        h->triangles[ids[i]].place &= ~KN_MARK;
    }
}

// All different, of one body unless `body` is 0, and of none that is rigid.
static knResult CheckIds(knHierarchy* h, const uint32_t* ids, uint32_t count, uint32_t body)
{
    const char* wrong = NULL;
    uint32_t i = 0;
    for (; i < count && !wrong; ++i)
    {
        knBvhTriangle* t = ids[i] < h->triangleSlots ? &h->triangles[ids[i]] : NULL;
        wrong = !t || t->body == 0                                 ? "does not exist"
                : body != 0 && t->body != body                     ? "belongs to another body"
                : knGetHierarchyBody(h, t->body)->isRigid          ? "belongs to a rigid body"
                : t->place != KN_NONE && (t->place & KN_MARK) != 0 ? "is named twice"
                                                                   : NULL;
        if (!wrong)
        {
            t->place = (t->place == KN_NONE ? 0 : t->place) | KN_MARK;
        }
    }
    ClearMarks(h, ids, wrong ? i - 1 : count);
    return wrong ? knFail(kn_errorHandle, "entry %u: triangle %u %s", i - 1, ids[i - 1], wrong)
                 : kn_success;
}

static knResult CheckCrack(knHierarchy* h, const knHierarchyCrack* c)
{
    if (!h || !c || (!c->oldTriangles && c->oldCount > 0) || (!c->pieceOf && c->pieceCount > 0))
    {
        return knFail(kn_errorArgument, "a crack needs a hierarchy, its triangles and pieceOf");
    }
    const knHierarchyBody* body = knPool_Get(&h->bodies, c->body);
    if (!body || body->isRigid)
    {
        return knFail(kn_errorHandle, "there is no such body, or it is rigid");
    }
    for (uint32_t i = 0; i < c->pieceCount; ++i)
    {
        if (c->pieceOf[i] >= c->oldCount)
        {
            return knFail(kn_errorArgument, "piece %u is of triangle %u, but there are %u", i,
                          c->pieceOf[i], c->oldCount);
        }
    }
    knResult result = CheckTriangles(h, c->pieces, c->pieceCount);
    result = result == kn_success ? CheckTriangles(h, c->faces, c->faceCount) : result;
    return result == kn_success ? CheckIds(h, c->oldTriangles, c->oldCount, c->body.index) : result;
}

static knResult ReserveCrack(knHierarchy* h, const knHierarchyCrack* c)
{
    uint32_t count = c->pieceCount + c->faceCount;
    knResult result = ReserveTriangles(h, count);
    if (result == kn_success)
    {
        result = knGrow(&h->allocator, (void**)&h->changes, &h->changeCapacity,
                        2 * ((size_t)count + c->oldCount), sizeof *h->changes);
    }
    result = result == kn_success ? ReserveMethod(h, 2 * (size_t)count, count) : result;
    if (result == kn_success && h->def.method == kn_hierarchyLazy)
    {
        knHierarchyBody* body = knPool_Get(&h->bodies, c->body);
        result = knReservePrimitives(h, body, (size_t)body->primitiveCount + count);
        result = result == kn_success ? knReserveLazy(h, 1) : result;
    }
    return result;
}

// The triangle keeps its id and its place.
static void Replace(knHierarchy* h, uint32_t id, knTriangle triangle)
{
    bool isBalanced = h->def.method == kn_hierarchyBalanced;
    if (isBalanced)
    {
        knUnlinkFan(h, id);
    }
    memcpy(h->triangles[id].v, triangle.v, sizeof triangle.v);
    if (isBalanced)
    {
        knLinkFan(h, id);
        knGetHierarchyBody(h, h->triangles[id].body)->isChanged = true;
    }
    h->work.replacements += 1;
}

static uint32_t Insert(knHierarchy* h, knHierarchyBody* body, knTriangle triangle)
{
    uint32_t id = AcquireTriangle(h, triangle, body->slot);
    body->triangleCount += 1;
    if (h->def.method == kn_hierarchyBalanced)
    {
        knLinkFan(h, id);
        h->isPending[id] = 1;
    }
    else if (h->def.method == kn_hierarchyLazy)
    {
        knAppendPrimitive(h, body, id);
    }
    return id;
}

// Fills `ids` with pieces and faces and `fresh` with those that are new; returns their number.
static uint32_t PlacePieces(knHierarchy* h, const knHierarchyCrack* c, uint32_t* ids,
                            uint32_t* fresh)
{
    knHierarchyBody* body = knPool_Get(&h->bodies, c->body);
    uint32_t freshCount = 0;
    for (uint32_t i = 0; i < c->pieceCount; ++i)
    {
        uint32_t old = c->oldTriangles[c->pieceOf[i]];
        if (!(h->triangles[old].place & KN_MARK))
        {
            h->triangles[old].place |= KN_MARK;
            Replace(h, old, c->pieces[i]);
            ids[i] = old;
        }
        else
        {
            ids[i] = fresh[freshCount++] = Insert(h, body, c->pieces[i]);
        }
    }
    for (uint32_t i = 0; i < c->faceCount; ++i)
    {
        ids[c->pieceCount + i] = fresh[freshCount++] = Insert(h, body, c->faces[i]);
    }
    return freshCount;
}

knResult knHierarchy_Crack(knHierarchy* h, const knHierarchyCrack* c, uint32_t* outIds)
{
    knResult result = CheckCrack(h, c);
    result = result == kn_success ? ReserveCrack(h, c) : result;
    if (result != kn_success)
    {
        return result;
    }
    uint32_t count = c->pieceCount + c->faceCount, endedCount = 0;
    uint32_t *ids = h->changes, *fresh = ids + count, *ended = fresh + count;
    if (h->def.method == kn_hierarchyLazy)
    {
        knLocatePrimitives(h, knPool_Get(&h->bodies, c->body));
    }
    uint32_t freshCount = PlacePieces(h, c, ids, fresh);
    for (uint32_t i = 0; i < c->oldCount; ++i)
    {
        uint32_t id = c->oldTriangles[i];
        ended[endedCount] = id;
        endedCount += (h->triangles[id].place & KN_MARK) == 0;
        h->triangles[id].place &= ~KN_MARK;
    }
    if (h->def.method == kn_hierarchyBalanced)
    {
        knInsertPending(h, knPool_Get(&h->bodies, c->body), fresh, freshCount, c->oldTriangles,
                        c->oldCount);
    }
    for (uint32_t i = 0; i < endedCount; ++i)
    {
        EndTriangle(h, ended[i]);
    }
    if (outIds && count > 0)
    {
        memcpy(outIds, ids, count * sizeof *ids);
    }
    NoteChange(h);
    return kn_success;
}

knResult knHierarchy_InsertTriangles(knHierarchy* h, knId body, const knTriangle* triangles,
                                     uint32_t count, uint32_t* ids)
{
    knHierarchyCrack crack = {.body = body, .faces = triangles, .faceCount = count};
    return knHierarchy_Crack(h, &crack, ids);
}

knResult knHierarchy_ReplaceTriangle(knHierarchy* h, uint32_t id, knTriangle triangle)
{
    uint32_t zero = 0;
    knHierarchyCrack crack = {.body = knHierarchy_TriangleBody(h, id),
                              .oldTriangles = &id,
                              .oldCount = 1,
                              .pieces = &triangle,
                              .pieceOf = &zero,
                              .pieceCount = 1};
    return knHierarchy_Crack(h, &crack, NULL);
}

knResult knHierarchy_DeleteTriangles(knHierarchy* h, const uint32_t* ids, uint32_t count)
{
    if (!h || (!ids && count > 0))
    {
        return knFail(kn_errorArgument, "a deletion needs a hierarchy and ids");
    }
    knResult result = CheckIds(h, ids, count, 0);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t slot = knNextBody(h, 0); slot && h->def.method == kn_hierarchyLazy;
         slot = knNextBody(h, slot))
    {
        knLocatePrimitives(h, knGetHierarchyBody(h, slot));
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        EndTriangle(h, ids[i]);
    }
    NoteChange(h);
    return kn_success;
}

static knResult CheckBreak(knHierarchy* h, const knHierarchyBreak* e, const knId* bodies)
{
    if (!h || !e || !bodies || e->partCount == 0 || (e->triangleCount > 0 && !e->triangles) ||
        (e->triangleCount > 0 && !e->parts) || (e->newCount > 0 && !e->newParts))
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
    knResult result = CheckTriangles(h, e->newTriangles, e->newCount);
    return result == kn_success ? CheckIds(h, e->triangles, e->triangleCount, e->body.index)
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
    knResult result = ReserveTriangles(h, e->newCount);
    result = result == kn_success ? ReserveBodies(h, e->partCount) : result;
    if (result == kn_success)
    {
        size_t count = h->triangleCapacity + 2 * (size_t)e->partCount + 1 + e->newCount;
        result = knGrow(&h->allocator, (void**)&h->changes, &h->changeCapacity, count,
                        sizeof *h->changes);
    }
    size_t nodes = 2 * ((size_t)e->partCount - 1) * e->triangleCount + 2 * (size_t)e->newCount;
    result = result == kn_success ? ReserveMethod(h, nodes, e->newCount) : result;
    return result == kn_success && h->def.method == kn_hierarchyLazy
               ? knReserveLazy(h, e->partCount)
               : result;
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
        knHierarchyBody* body = AcquireBody(h, &id);
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
            ReleaseTriangle(h, id);
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
        uint32_t id = Insert(h, body, e->newTriangles[i]);
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
    NoteChange(h);
    return kn_success;
}
