// SPDX-License-Identifier: Zlib
#include "json.h"

#include <math.h>
#include <stdlib.h>

knJson knMakeJson(FILE* out)
{
    return (knJson){.out = out};
}

// The length of the UTF-8 character that begins here, 0 when it is none.
static int CharacterLength(const unsigned char* c)
{
    int length = c[0] < 0x80 ? 1 : (c[0] >= 0xC2 && c[0] < 0xE0 ? 2 : (c[0] < 0xF0 ? 3 : 4));
    bool good = c[0] < 0x80 || (c[0] >= 0xC2 && c[0] <= 0xF4);
    for (int i = 1; good && i < length; ++i)
    {
        good = (c[i] & 0xC0) == 0x80;
    }
    // no longer than needed, no surrogates, nothing past the last character
    good = good && !(c[0] == 0xE0 && c[1] < 0xA0) && !(c[0] == 0xED && c[1] > 0x9F) &&
           !(c[0] == 0xF0 && c[1] < 0x90) && !(c[0] == 0xF4 && c[1] > 0x8F);
    return good ? length : 0;
}

static void PutString(FILE* out, const char* text)
{
    fputc('"', out);
    for (const unsigned char* c = (const unsigned char*)text; *c; ++c)
    {
        int length = CharacterLength(c);
        if (length > 1)
        {
            fwrite(c, 1, (size_t)length, out);
            c += length - 1;
            continue;
        }
        if (*c == '"' || *c == '\\')
        {
            fprintf(out, "\\%c", *c);
        }
        else if (*c < ' ' || *c > '~')
        {
            // control characters, and bytes that are no UTF-8: valid JSON, if not readable
            fprintf(out, "\\u%04x", *c);
        }
        else
        {
            fputc(*c, out);
        }
    }
    fputc('"', out);
}

static void PutNumber(FILE* out, double number)
{
    if (!isfinite(number))
    {
        fputs("null", out);
        return;
    }
    // the shortest form that reads back to the same bits
    char text[40];
    for (int digits = 6; digits <= 17; ++digits)
    {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
        {
            break;
        }
    }
    fputs(text, out);
}

static void NewLine(knJson* json)
{
    fprintf(json->out, "\n%*s", 2 * json->depth, "");
}

static void BeginItem(knJson* json, const char* key)
{
    if (json->hasItem)
    {
        fputc(',', json->out);
    }
    if (json->depth > 0)
    {
        NewLine(json);
    }
    if (key)
    {
        PutString(json->out, key);
        fputs(": ", json->out);
    }
    json->hasItem = true;
}

static void Begin(knJson* json, const char* key, char bracket)
{
    BeginItem(json, key);
    fputc(bracket, json->out);
    json->depth += 1;
    json->hasItem = false;
}

static void End(knJson* json, char bracket)
{
    json->depth -= 1;
    if (json->hasItem)
    {
        NewLine(json);
    }
    fputc(bracket, json->out);
    json->hasItem = true;
    if (json->depth == 0)
    {
        fputc('\n', json->out);
    }
}

void knJson_BeginObject(knJson* json, const char* key)
{
    Begin(json, key, '{');
}

void knJson_EndObject(knJson* json)
{
    End(json, '}');
}

void knJson_BeginArray(knJson* json, const char* key)
{
    Begin(json, key, '[');
}

void knJson_EndArray(knJson* json)
{
    End(json, ']');
}

void knJson_String(knJson* json, const char* key, const char* text)
{
    BeginItem(json, key);
    PutString(json->out, text);
}

void knJson_Number(knJson* json, const char* key, double number)
{
    BeginItem(json, key);
    PutNumber(json->out, number);
}

void knJson_Count(knJson* json, const char* key, unsigned long long count)
{
    BeginItem(json, key);
    fprintf(json->out, "%llu", count);
}

void knJson_Bool(knJson* json, const char* key, bool value)
{
    BeginItem(json, key);
    fputs(value ? "true" : "false", json->out);
}

void knJson_Numbers(knJson* json, const char* key, const double* numbers, int count)
{
    BeginItem(json, key);
    fputc('[', json->out);
    for (int i = 0; i < count; ++i)
    {
        fputs(i > 0 ? ", " : "", json->out);
        PutNumber(json->out, numbers[i]);
    }
    fputc(']', json->out);
}
