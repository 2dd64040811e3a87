// SPDX-License-Identifier: Zlib
// What a game does to a world, call by call, and going through it again.
#include "bullet_internal.h"

#include <string.h>

static bool Begin(knWorld* w, knCall call)
{
    knRecorder* r = &w->recorder;
    if (!r->isOn || r->muted > 0)
    {
        return false;
    }
    knStream_WriteU32(&r->stream, (uint32_t)call);
    return true;
}

void knWorld_RecordBody(knWorld* w, const knBodyDef* def, const knPortShape* shape)
{
    if (Begin(w, kn_callCreateShape))
    {
        knStream_WriteBodyDef(&w->recorder.stream, def);
        knStream_WriteShape(&w->recorder.stream, shape);
    }
}

void knWorld_RecordFamily(knWorld* w, const knBodyDef* def, const knFamilyDef* family)
{
    if (Begin(w, kn_callCreateFamily))
    {
        knStream_WriteBodyDef(&w->recorder.stream, def);
        knStream_WriteFamilyDef(&w->recorder.stream, family);
    }
}

void knWorld_RecordSplit(knWorld* w, knBodyId body, const knSplitDef* def, uint32_t fragment)
{
    if (Begin(w, kn_callSplit))
    {
        const knFragmentSet* set = knFamily_Fragments(
            knWorld_GetFamily(w, knWorld_GetBody(w, body)->piece->family)->family);
        knStream_WriteId(&w->recorder.stream, body);
        (void)knStream_WriteSplit(&w->recorder.stream, def, set->fragments[fragment].nodeCount);
    }
}

void knWorld_RecordIds(knWorld* w, knCall call, const knId* ids, uint32_t count)
{
    if (Begin(w, call))
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            knStream_WriteId(&w->recorder.stream, ids[i]);
        }
    }
}

void knWorld_RecordVectors(knWorld* w, knCall call, knId id, knVec3 a, knVec3 b)
{
    if (Begin(w, call))
    {
        knStream_WriteId(&w->recorder.stream, id);
        knStream_WriteVec3(&w->recorder.stream, a);
        knStream_WriteVec3(&w->recorder.stream, b);
    }
}

void knWorld_RecordTransform(knWorld* w, knId id, knTransform transform)
{
    if (Begin(w, kn_callSetTransform))
    {
        knStream_WriteId(&w->recorder.stream, id);
        knStream_WriteTransform(&w->recorder.stream, transform);
    }
}

void knWorld_RecordWords(knWorld* w, knCall call, knId id, uint32_t a, uint32_t b)
{
    if (Begin(w, call))
    {
        knStream_WriteId(&w->recorder.stream, id);
        knStream_WriteU32(&w->recorder.stream, a);
        knStream_WriteU32(&w->recorder.stream, b);
    }
}

void knWorld_RecordJoint(knWorld* w, const knJoint* joint, knVec3 pivot, knVec3 axis)
{
    if (Begin(w, kn_callCreateJoint))
    {
        knStream_WriteU32(&w->recorder.stream, (uint32_t)joint->kind);
        knStream_WriteId(&w->recorder.stream, joint->bodies[0]);
        knStream_WriteId(&w->recorder.stream, joint->bodies[1]);
        knStream_WriteVec3(&w->recorder.stream, pivot);
        knStream_WriteVec3(&w->recorder.stream, axis);
    }
}

void knWorld_RecordSettings(knWorld* w, knCall call, const knSettingTable* table,
                            const void* object)
{
    if (Begin(w, call))
    {
        knStream_WriteSettings(&w->recorder.stream, table, object);
    }
}

void knWorld_RecordMaterial(knWorld* w, knFamilyId family, const knMaterial* material)
{
    if (Begin(w, kn_callSetMaterial))
    {
        knStream_WriteId(&w->recorder.stream, family);
        knStream_WriteMaterial(&w->recorder.stream, material);
    }
}

void knWorld_RecordMaterials(knWorld* w)
{
    if (Begin(w, kn_callSetMaterials))
    {
        knStream_WriteU32(&w->recorder.stream, w->materialCount);
        for (uint32_t i = 0; i < w->materialCount; ++i)
        {
            knStream_WriteMaterial(&w->recorder.stream, &w->materials[i]);
        }
    }
}

void knWorld_RecordStep(knWorld* w, float dt)
{
    knRecorder* r = &w->recorder;
    if (Begin(w, kn_callStep))
    {
        uint64_t hash = knWorld_Hash(w);
        knStream_WriteF32(&r->stream, dt);
        KN_WRITE(&r->stream, hash);
        knStream_WriteU32(&r->stream, (uint32_t)r->grants.size);
        knStream_Write(&r->stream, r->grants.bytes, r->grants.size);
        r->stream.result = r->stream.result == kn_success ? r->grants.result : r->stream.result;
        r->grants.size = 0;
    }
}

// ---- the clock's answers, so that a budget in seconds repeats itself

bool knWorld_Grant(knWorld* w, bool isGranted)
{
    knRecorder* r = &w->recorder;
    if (r->isReplay)
    {
        return knStream_ReadU32(&r->grants) != 0;
    }
    if (r->isOn)
    {
        knStream_WriteU32(&r->grants, isGranted);
    }
    return isGranted;
}

void knWorld_NoteSlice(knWorld* w, uint64_t slice)
{
    if (w->recorder.isOn && !w->recorder.isReplay)
    {
        KN_WRITE(&w->recorder.grants, slice);
    }
}

bool knWorld_GivenSlice(knWorld* w, uint64_t* slice)
{
    if (w->recorder.isReplay)
    {
        KN_READ(&w->recorder.grants, *slice);
    }
    return w->recorder.isReplay;
}

// ---- beginning and end

void knWorld_DropRecorder(knWorld* w)
{
    knStream_Free(&w->recorder.stream);
    if (!w->recorder.isReplay)
    {
        knStream_Free(&w->recorder.grants);
    }
    w->recorder = (knRecorder){0};
}

knResult knWorld_StartRecording(knWorld* w)
{
    if (!w || !knPort_IsOwner(w->port) || w->recorder.isOn)
    {
        return knFail(kn_errorArgument,
                      "knWorld_StartRecording: a world of Knap's own that is not recorded yet");
    }
    knRecorder recorder = {.stream.allocator = w->allocator, .grants.allocator = w->allocator};
    knResult result = knWorld_WriteSave(w, &recorder.stream, KN_SAVE_RECORDING);
    if (result != kn_success)
    {
        knStream_Free(&recorder.stream);
        return result;
    }
    recorder.isOn = true;
    w->recorder = recorder;
    return kn_success;
}

knResult knWorld_StopRecording(knWorld* w, void** bytes, size_t* size)
{
    if (!w || !bytes || !size || !w->recorder.isOn)
    {
        return knFail(kn_errorArgument, "knWorld_StopRecording: no world, or it is not recorded");
    }
    knStream stream = w->recorder.stream;
    w->recorder.stream = (knStream){.allocator = w->allocator};
    knWorld_DropRecorder(w);
    knStream_Seal(&stream);
    return knStream_GiveAway(&stream, bytes, size);
}
