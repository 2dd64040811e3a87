// SPDX-License-Identifier: Zlib
#include "bullet_stream.h"

#include <string.h>

knStream knMakeReader(const void* bytes, size_t size)
{
    // never written through: readers have no allocator to grow with
    knStream s = {.size = size};
    memcpy(&s.bytes, &bytes, sizeof s.bytes);
    return s;
}

void knStream_Free(knStream* s)
{
    knRelease(&s->allocator, s->bytes, s->capacity, 1);
    knAllocator allocator = s->allocator;
    *s = (knStream){.allocator = allocator};
}

void knStream_Fail(knStream* s, const char* what)
{
    if (s->result == kn_success)
    {
        s->result = knFail(kn_errorFormat, "this is no sound file of a world: %s", what);
    }
}

void knStream_Write(knStream* s, const void* data, size_t size)
{
    if (s->result == kn_success)
    {
        s->result = knGrow(&s->allocator, (void**)&s->bytes, &s->capacity, s->size + size, 1);
    }
    if (s->result == kn_success && size > 0)
    {
        memcpy(s->bytes + s->size, data, size);
        s->size += size;
    }
}

const void* knStream_Take(knStream* s, size_t count, size_t itemSize)
{
    if (s->result == kn_success && count > (s->size - s->at) / itemSize)
    {
        knStream_Fail(s, "it ends too early");
    }
    if (s->result != kn_success)
    {
        return NULL;
    }
    const void* at = s->bytes + s->at;
    s->at += count * itemSize;
    return at;
}

void knStream_Read(knStream* s, void* data, size_t size)
{
    const void* from = knStream_Take(s, size, 1);
    if (from)
    {
        memcpy(data, from, size);
    }
    else
    {
        memset(data, 0, size);
    }
}

void knStream_WriteU32(knStream* s, uint32_t value)
{
    KN_WRITE(s, value);
}

uint32_t knStream_ReadU32(knStream* s)
{
    uint32_t value;
    KN_READ(s, value);
    return value;
}

void knStream_WriteF32(knStream* s, float value)
{
    KN_WRITE(s, value);
}

float knStream_ReadF32(knStream* s)
{
    float value;
    KN_READ(s, value);
    return value;
}

void knStream_WriteVec3(knStream* s, knVec3 v)
{
    KN_WRITE(s, v.x);
    KN_WRITE(s, v.y);
    KN_WRITE(s, v.z);
}

knVec3 knStream_ReadVec3(knStream* s)
{
    knVec3 v;
    KN_READ(s, v.x);
    KN_READ(s, v.y);
    KN_READ(s, v.z);
    return v;
}

void knStream_WriteSettings(knStream* s, const knSettingTable* table, const void* object)
{
    for (uint32_t i = 0; i < table->count; ++i)
    {
        double value = knSetting_Value(&table->rows[i], object);
        KN_WRITE(s, value);
    }
}

void knStream_ReadSettings(knStream* s, const knSettingTable* table, void* object)
{
    for (uint32_t i = 0; i < table->count; ++i)
    {
        double value;
        KN_READ(s, value);
        if (s->result == kn_success &&
            knSetting_Set(table, object, table->rows[i].key, value) != kn_success)
        {
            knStream_Fail(s, "a setting is out of its range");
        }
    }
}
