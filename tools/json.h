// SPDX-License-Identifier: Zlib
#pragma once

// Writes JSON to a stream, two spaces a level. Keys may be null inside arrays.

#include <stdbool.h>
#include <stdio.h>

typedef struct knJson
{
    FILE* out;
    int depth;
    bool hasItem; // something stands before the next item on this level
} knJson;

knJson knMakeJson(FILE* out);

void knJson_BeginObject(knJson* json, const char* key);
void knJson_EndObject(knJson* json);
void knJson_BeginArray(knJson* json, const char* key);
void knJson_EndArray(knJson* json);
void knJson_String(knJson* json, const char* key, const char* text);

// All digits, so that it reads back to the same bits; null when not finite.
void knJson_Number(knJson* json, const char* key, double number);
void knJson_Count(knJson* json, const char* key, unsigned long long count);
void knJson_Bool(knJson* json, const char* key, bool value);
void knJson_Numbers(knJson* json, const char* key, const double* numbers, int count);
