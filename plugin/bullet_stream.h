// SPDX-License-Identifier: Zlib
#pragma once

// Bytes of saves, recordings and stories: written field by field, read with a check of every
// length. Little-endian, as all of Knap's files.

#include "knap/memory.h"
#include "knap/setting.h"
#include "knap/vecmath.h"

#include <stdbool.h>

// For writing it owns its bytes; for reading it looks at those of others.
typedef struct knStream
{
    knAllocator allocator;
    unsigned char* bytes;
    size_t capacity;
    size_t size;
    size_t at;       // where the next read begins
    knResult result; // the first failure; nothing is written or read after it
} knStream;

knStream knMakeReader(const void* bytes, size_t size);
void knStream_Free(knStream* stream);

void knStream_Write(knStream* stream, const void* data, size_t size);

// Zeros when there is not so much left: the stream has failed then.
void knStream_Read(knStream* stream, void* data, size_t size);

// The bytes themselves, not copied; null when there is not so much left.
const void* knStream_Take(knStream* stream, size_t count, size_t itemSize);

#define KN_WRITE(stream, value) knStream_Write((stream), &(value), sizeof(value))
#define KN_READ(stream, value)  knStream_Read((stream), &(value), sizeof(value))

void knStream_WriteU32(knStream* stream, uint32_t value);
uint32_t knStream_ReadU32(knStream* stream);
void knStream_WriteF32(knStream* stream, float value);
float knStream_ReadF32(knStream* stream);
void knStream_WriteVec3(knStream* stream, knVec3 v);
knVec3 knStream_ReadVec3(knStream* stream);

// Every row of a table, as a double.
void knStream_WriteSettings(knStream* stream, const knSettingTable* table, const void* object);
void knStream_ReadSettings(knStream* stream, const knSettingTable* table, void* object);

// Fails the stream with a message about the file.
void knStream_Fail(knStream* stream, const char* what);
