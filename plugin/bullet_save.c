// SPDX-License-Identifier: Zlib
// Writing a world. The reader is in bullet_load.c, field by field in the same order.
#include "bullet_internal.h"

#include <string.h>
#include <xxhash.h>

void knStream_WriteTransform(knStream* s, knTransform t)
{
    knStream_WriteVec3(s, t.position);
    KN_WRITE(s, t.rotation.x);
    KN_WRITE(s, t.rotation.y);
    KN_WRITE(s, t.rotation.z);
    KN_WRITE(s, t.rotation.w);
}

void knStream_WriteId(knStream* s, knId id)
{
    knStream_WriteU32(s, id.index);
    knStream_WriteU32(s, id.generation);
}

void knStream_WriteBodyDef(knStream* s, const knBodyDef* def)
{
    knStream_WriteU32(s, (uint32_t)def->kind);
    knStream_WriteTransform(s, def->transform);
    knStream_WriteVec3(s, def->velocity);
    knStream_WriteVec3(s, def->spin);
    const float numbers[] = {def->density,         def->friction,      def->restitution,
                             def->rollingFriction, def->linearDamping, def->angularDamping};
    knStream_Write(s, numbers, sizeof numbers);
    const int32_t filter[] = {def->group, def->mask, def->noSleep};
    knStream_Write(s, filter, sizeof filter);
}

void knStream_WriteShape(knStream* s, const knPortShape* shape)
{
    knStream_WriteU32(s, (uint32_t)shape->kind);
    knStream_WriteVec3(s, shape->size);
    knStream_WriteF32(s, shape->radius);
    knStream_WriteF32(s, shape->length);
    uint32_t points = shape->kind == kn_portHull   ? shape->pointCount
                      : shape->kind == kn_portMesh ? shape->mesh->positionCount
                                                   : 0;
    uint32_t triangles = shape->kind == kn_portMesh ? shape->mesh->triangleCount : 0;
    knStream_WriteU32(s, points);
    knStream_WriteU32(s, triangles);
    const knVec3* positions = shape->kind == kn_portMesh ? shape->mesh->positions : shape->points;
    knStream_Write(s, positions, points * sizeof(knVec3));
    knStream_Write(s, triangles > 0 ? shape->mesh->triangles : NULL,
                   triangles * sizeof(knTriangle));
}

void knStream_WriteFamilyDef(knStream* s, const knFamilyDef* def)
{
    const knAsset* asset = knModel_Asset(def->model);
    const knAssetInfo* info = knAsset_Info(asset);
    uint64_t hash = knAsset_Fingerprint(asset);
    knStream_Write(s, info->source, sizeof info->source);
    KN_WRITE(s, hash);
    KN_WRITE(s, def->density);
    KN_WRITE(s, def->edgeDegrees);
    const uint32_t words[] = {(uint32_t)def->front, def->scalar, def->exactSpheres,
                              def->pieceCount};
    knStream_Write(s, words, sizeof words);
}

// The mesh decides what a story means; the rest of the file is cooked from it.
uint64_t knAsset_Fingerprint(const knAsset* asset)
{
    const knTetMesh* mesh = knAsset_TetMesh(asset);
    uint64_t hash = XXH64(mesh->nodes, mesh->nodeCount * sizeof(mesh->nodes[0]), 0);
    return XXH64(mesh->tets, mesh->tetCount * sizeof(mesh->tets[0]), hash);
}

static void WriteHead(knStream* s, const knWorld* w)
{
    knWorldDef def = w->def;
    def.gravity = knPort_Gravity(w->port);
    knStream_WriteU32(s, def.tag);
    knStream_WriteVec3(s, def.gravity);
    knStream_WriteSettings(s, knWorldSettings(), &def);
    knStream_WriteSettings(s, knContactSettings(), knPairs_Limits(w->pairs));
    knStream_WriteSettings(s, knBreakSettings(), &w->breaks.limits);
    knStream_WriteU32(s, w->breaks.lastId);
    knStream_WriteU32(s, w->materialCount);
    for (uint32_t i = 0; i < w->materialCount; ++i)
    {
        knStream_WriteMaterial(s, &w->materials[i]);
    }
}

static void WriteSlots(knStream* s, const knPool* pool)
{
    knStream_WriteU32(s, pool->usedSlots);
    knStream_Write(s, pool->generations, pool->usedSlots * sizeof(uint32_t));
}

static void WriteFamilies(knStream* s, const knWorld* w)
{
    WriteSlots(s, &w->families);
    for (knId id = knPool_Next(&w->families, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->families, id))
    {
        const knWorldFamily* family = knPool_Get(&w->families, id);
        if (family->isForgetful && s->result == kn_success)
        {
            s->result = knFail(kn_errorMemory, "an object has lost its story for want of memory "
                                               "and cannot be saved: destroy its family");
        }
        knStream_WriteFamilyDef(s, &family->def);
        knStream_WriteMaterial(s, &family->material);
        knStream_WriteU32(s, family->isBreakable);
        knStream_WriteU32(s, (uint32_t)family->story.size);
        knStream_Write(s, family->story.bytes, family->story.size);
    }
}

static void WriteBodies(knStream* s, const knWorld* w)
{
    WriteSlots(s, &w->bodies);
    for (knId id = knPool_Next(&w->bodies, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->bodies, id))
    {
        knBodyRecord record = knWorld_CaptureBody(w, id);
        knStream_WriteBodyDef(s, &record.def);
        knStream_WriteId(s, record.family);
        knStream_WriteU32(s, record.fragment);
        if (knId_IsNull(record.family))
        {
            knStream_WriteShape(s, record.shape);
        }
        KN_WRITE(s, record.enduredImpulse);
        KN_WRITE(s, record.age);
        KN_WRITE(s, record.rest);
        KN_WRITE(s, record.sleep.seconds);
        const uint32_t flags[] = {record.sleep.isAsleep, record.isFrozen};
        knStream_Write(s, flags, sizeof flags);
    }
}

static void WriteJoints(knStream* s, const knWorld* w)
{
    WriteSlots(s, &w->joints);
    for (knId id = knPool_Next(&w->joints, (knId){0}); !knId_IsNull(id);
         id = knPool_Next(&w->joints, id))
    {
        const knJoint* joint = knPool_Get(&w->joints, id);
        knStream_WriteU32(s, (uint32_t)joint->kind);
        for (int i = 0; i < 2; ++i)
        {
            knStream_WriteId(s, joint->bodies[i]);
            knStream_WriteVec3(s, joint->pivots[i]);
            knStream_WriteVec3(s, joint->axes[i]);
        }
    }
    knStream_WriteId(s, w->dragged);
    knStream_WriteVec3(s, w->dragPivot);
    knStream_WriteVec3(s, w->dragTarget);
}

static void WriteWaiting(knStream* s, const knWorldBreaks* b)
{
    knStream_WriteU32(s, b->pendingCount);
    for (uint32_t i = 0; i < b->pendingCount; ++i)
    {
        const knBlow* blow = &b->pending[i];
        knStream_WriteId(s, blow->body);
        knStream_WriteImpacts(s, blow->impacts, blow->impactCount);
        KN_WRITE(s, blow->impulse);
        KN_WRITE(s, blow->energy);
        knStream_WriteU32(s, blow->isImpact);
        knStream_WriteVec3(s, blow->place);
        knStream_WriteU32(s, blow->strikerCount);
        for (uint32_t k = 0; k < blow->strikerCount; ++k)
        {
            knStream_WriteId(s, blow->strikers[k].body);
        }
    }
    const knHeirs* h = &b->heirs;
    uint32_t count = h->count < KN_HEIR_COUNT ? h->count : KN_HEIR_COUNT;
    knStream_WriteU32(s, count);
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t slot = (h->count - count + i) % KN_HEIR_COUNT;
        knStream_WriteId(s, h->parents[slot]);
        knStream_WriteId(s, h->children[slot]);
    }
}

// What is going on ends now, whatever the budget: half a break cannot be saved.
static knResult FinishBreaks(knWorld* w)
{
    knBreakLimits limits = w->breaks.limits;
    w->breaks.limits.workPerStep = 0;
    w->breaks.limits.secondsPerStep = 0.0;
    w->breaks.limits.bodiesPerStep = 0;
    knWorld_FinishEvents(w);
    w->breaks.limits = limits;
    return w->breaks.liveCount == 0 && w->breaks.looseJoints == 0 ? kn_success : kn_errorMemory;
}

void knStream_Seal(knStream* s)
{
    if (s->result == kn_success)
    {
        knSaveHeader header;
        memcpy(&header, s->bytes, sizeof header);
        header.size = s->size - sizeof header;
        header.checksum = XXH64(s->bytes + sizeof header, header.size, KN_SAVE_VERSION);
        memcpy(s->bytes, &header, sizeof header);
    }
}

knResult knWorld_Barrier(knWorld* w)
{
    knResult result = FinishBreaks(w);
    return result == kn_success ? knWorld_Rebuild(w) : result;
}

knResult knWorld_WriteSave(knWorld* w, knStream* s, uint32_t kind)
{
    knResult result = FinishBreaks(w);
    if (result != kn_success)
    {
        return result;
    }
    knSaveHeader header = {.version = KN_SAVE_VERSION, .kind = kind};
    memcpy(header.magic, KN_SAVE_MAGIC, sizeof header.magic);
    KN_WRITE(s, header);
    WriteHead(s, w);
    WriteFamilies(s, w);
    WriteBodies(s, w);
    WriteJoints(s, w);
    WriteWaiting(s, &w->breaks);
    // last: the new engine is built from the very numbers that were written
    return s->result == kn_success ? knWorld_Rebuild(w) : s->result;
}

// The bytes leave the stream at their own size, so that they can be given back by it.
knResult knStream_GiveAway(knStream* s, void** bytes, size_t* size)
{
    void* exact = s->result == kn_success ? knAllocate(&s->allocator, s->size, 1) : NULL;
    knResult result = s->result == kn_success && !exact ? kn_errorMemory : s->result;
    if (result == kn_success)
    {
        memcpy(exact, s->bytes, s->size);
        *bytes = exact;
        *size = s->size;
    }
    knStream_Free(s);
    return result;
}

knResult knWorld_Save(knWorld* w, void** bytes, size_t* size)
{
    if (!w || !bytes || !size || !knPort_IsOwner(w->port))
    {
        return knFail(kn_errorArgument, "knWorld_Save: a world of Knap's own, and places for the "
                                        "bytes and their number");
    }
    knStream s = {.allocator = w->allocator};
    knResult result = knWorld_WriteSave(w, &s, KN_SAVE_WORLD);
    s.result = s.result == kn_success ? result : s.result;
    knStream_Seal(&s);
    knWorld_RecordIds(w, kn_callBarrier, NULL, 0);
    return knStream_GiveAway(&s, bytes, size);
}

void knWorld_FreeBytes(const knWorld* w, void* bytes, size_t size)
{
    if (w)
    {
        knRelease(&w->allocator, bytes, size, 1);
    }
}
