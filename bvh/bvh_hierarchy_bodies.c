// SPDX-License-Identifier: Zlib
#include "bvh/bvh_hierarchy_internal.h"

// Bodies come, go and break, cracks grow. Everything is checked and reserved first; after that
// nothing can fail.

knResult knCheckHierarchyTriangles(const knHierarchy* h, const knTriangle* triangles,
                                   uint32_t count)
{
    if (!h || (!triangles && count > 0))
    {
        return knFail(kn_errorArgument, "triangles need a hierarchy and an array");
    }
    if (count > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "%u triangles; at most %u", count, KN_MAX_MESH_SIZE);
    }
    for (uint32_t i = 0; i < 3 * count; ++i)
    {
        if (triangles[i / 3].v[i % 3] >= h->vertexCount)
        {
            return knFail(kn_errorArgument, "triangle %u names vertex %u, but there are %u", i / 3,
                          triangles[i / 3].v[i % 3], h->vertexCount);
        }
    }
    return kn_success;
}

knResult knReserveHierarchyTriangles(knHierarchy* h, uint32_t count)
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

void knReleaseHierarchyTriangle(knHierarchy* h, uint32_t id)
{
    h->triangles[id] = (knBvhTriangle){{h->freeTriangle, 0, 0}, 0, 0};
    h->freeTriangle = id;
    h->freeTriangleCount += 1;
}

knResult knReserveHierarchyBodies(knHierarchy* h, uint32_t count)
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

knHierarchyBody* knAcquireHierarchyBody(knHierarchy* h, knId* id)
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

knResult knReserveMethod(knHierarchy* h, size_t nodeCount, uint32_t triangleCount)
{
    switch (h->def.method)
    {
    case kn_hierarchyBalanced:
        return knReserveBalanced(h, nodeCount, triangleCount);
    case kn_hierarchyLazy:
        return kn_success; // by body: knReserveSplit
    default:
        return knReserveSwiper(h, h->triangleSlots + (size_t)triangleCount);
    }
}

knResult knHierarchy_Reserve(knHierarchy* h, uint32_t vertexCount, uint32_t triangleCount)
{
    if (!h || triangleCount > KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorArgument, "room needs a hierarchy, and for at most %u triangles",
                      KN_MAX_MESH_SIZE);
    }
    knResult result = knReserveHierarchyVertices(h, vertexCount);
    result = result == kn_success ? knReserveHierarchyTriangles(h, triangleCount) : result;
    if (result == kn_success)
    {
        result = knGrow(&h->allocator, (void**)&h->changes, &h->changeCapacity,
                        2 * (size_t)triangleCount, sizeof *h->changes);
    }
    return result == kn_success ? knReserveMethod(h, 2 * (size_t)triangleCount, triangleCount)
                                : result;
}

void knNoteHierarchyChange(knHierarchy* h)
{
    h->isUpdated = false;
    h->epoch += 1;
    h->swiper.isChanged = true;
}

static knResult ReserveLazyBody(knHierarchy* h, knHierarchyBody* fresh, uint32_t count)
{
    size_t nodes = h->def.preallocate || fresh->isRigid ? count / 2 + 16 : 1;
    knResult result = knReserveLazy(h, nodes);
    result = result == kn_success ? knReserveSplit(h, count) : result;
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
    knResult result = body ? knCheckHierarchyTriangles(h, triangles, count)
                           : knFail(kn_errorArgument, "a body needs a place for its id");
    if (result == kn_success && isRigid && !isLazy)
    {
        result = knFail(kn_errorArgument, "rigid bodies need kn_hierarchyLazy");
    }
    result = result == kn_success ? knReserveHierarchyTriangles(h, count) : result;
    result = result == kn_success ? knReserveHierarchyBodies(h, 1) : result;
    result = result == kn_success ? knReserveMethod(h, 2 * (size_t)count, count) : result;
    result = result == kn_success && isLazy ? ReserveLazyBody(h, &fresh, count) : result;
    if (result != kn_success)
    {
        return result;
    }
    knHierarchyBody* b = knAcquireHierarchyBody(h, body);
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
    knNoteHierarchyChange(h);
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
    float length = pose.rotation.x * pose.rotation.x + pose.rotation.y * pose.rotation.y +
                   pose.rotation.z * pose.rotation.z + pose.rotation.w * pose.rotation.w;
    if (!knIsFinite(pose.position) || !(length > 0.5f && length < 2.0f))
    {
        return knFail(kn_errorArgument, "a pose needs a finite position and a unit rotation");
    }
    // boxes and vertices are turned in different ways, which agree for a unit rotation
    body->pose = (knTransform){pose.position, knNormalizeQuat(pose.rotation)};
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
    knReleaseHierarchyTriangle(h, id);
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
            knReleaseHierarchyTriangle(h, i);
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
    knNoteHierarchyChange(h);
    return kn_success;
}

static void ClearMarks(knHierarchy* h, const uint32_t* ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        h->triangles[ids[i]].place &= ~KN_MARK;
    }
}

knResult knCheckHierarchyIds(knHierarchy* h, const uint32_t* ids, uint32_t count, uint32_t body)
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
    knResult result = knCheckHierarchyTriangles(h, c->pieces, c->pieceCount);
    result = result == kn_success ? knCheckHierarchyTriangles(h, c->faces, c->faceCount) : result;
    return result == kn_success
               ? knCheckHierarchyIds(h, c->oldTriangles, c->oldCount, c->body.index)
               : result;
}

static knResult ReserveCrack(knHierarchy* h, const knHierarchyCrack* c)
{
    uint32_t count = c->pieceCount + c->faceCount;
    knResult result = knReserveHierarchyTriangles(h, count);
    if (result == kn_success)
    {
        result = knGrow(&h->allocator, (void**)&h->changes, &h->changeCapacity,
                        2 * ((size_t)count + c->oldCount), sizeof *h->changes);
    }
    result = result == kn_success ? knReserveMethod(h, 2 * (size_t)count, count) : result;
    if (result == kn_success && h->def.method == kn_hierarchyLazy)
    {
        knHierarchyBody* body = knPool_Get(&h->bodies, c->body);
        size_t size = (size_t)body->primitiveCount + count;
        result = knReservePrimitives(h, body, size);
        result = result == kn_success ? knReserveSplit(h, size) : result;
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

uint32_t knInsertHierarchyTriangle(knHierarchy* h, knHierarchyBody* body, knTriangle triangle)
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
            ids[i] = fresh[freshCount++] = knInsertHierarchyTriangle(h, body, c->pieces[i]);
        }
    }
    for (uint32_t i = 0; i < c->faceCount; ++i)
    {
        ids[c->pieceCount + i] = fresh[freshCount++] =
            knInsertHierarchyTriangle(h, body, c->faces[i]);
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
    knNoteHierarchyChange(h);
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
    knResult result = knCheckHierarchyIds(h, ids, count, 0);
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
    knNoteHierarchyChange(h);
    return kn_success;
}
