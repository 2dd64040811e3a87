// SPDX-License-Identifier: Zlib
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 8192

void knDestroyColumns(knColumns* c)
{
    knRelease(NULL, c->values, c->capacity, sizeof(double));
    *c = (knColumns){0};
}

uint32_t knColumns_Find(const knColumns* c, const char* name)
{
    for (uint32_t i = 0; i < c->columnCount; ++i)
    {
        if (strcmp(c->names[i], name) == 0)
        {
            return i;
        }
    }
    return KN_NONE;
}

static knResult ReadNames(knColumns* c, char* line, const char* path)
{
    for (char* at = line; at; ++c->columnCount)
    {
        char* end = strchr(at, ',');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        if (c->columnCount == KN_MAX_COLUMNS || length >= sizeof c->names[0])
        {
            return knFail(kn_errorFile, "%s:1: at most %d columns with names of 31 letters", path,
                          KN_MAX_COLUMNS);
        }
        memcpy(c->names[c->columnCount], at, length);
        at = end ? end + 1 : NULL;
    }
    return kn_success;
}

static knResult ReadRow(knColumns* c, char* line)
{
    size_t first = (size_t)c->rowCount * c->columnCount;
    knResult result =
        knGrow(NULL, (void**)&c->values, &c->capacity, first + c->columnCount, sizeof(double));
    char* at = line;
    for (uint32_t i = 0; result == kn_success && i < c->columnCount; ++i)
    {
        char* end = at;
        double value = at ? strtod(at, &end) : (double)NAN;
        bool isNumber = at && end != at && (*end == ',' || *end == 0);
        c->values[first + i] = isNumber ? value : (double)NAN;
        at = at ? strchr(at, ',') : NULL;
        at = at ? at + 1 : NULL;
    }
    c->rowCount += result == kn_success;
    return result;
}

knResult knReadColumns(knColumns* columns, const char* path)
{
    FILE* file = fopen(path, "r");
    if (!file)
    {
        return knFail(kn_errorFile, "%s: cannot be read", path);
    }
    static char line[MAX_LINE];
    knColumns c = {0};
    knResult result = kn_success;
    for (unsigned number = 1; result == kn_success && fgets(line, sizeof line, file); ++number)
    {
        size_t length = strcspn(line, "\r\n");
        if (length + 1 >= sizeof line)
        {
            result = knFail(kn_errorFile, "%s:%u: the line is too long", path, number);
            break;
        }
        line[length] = 0;
        result = number == 1 ? ReadNames(&c, line, path) : length > 0 ? ReadRow(&c, line) : result;
    }
    fclose(file);
    if (result == kn_success && c.rowCount == 0)
    {
        result = knFail(kn_errorFile, "%s: no rows of numbers under a line of names", path);
    }
    if (result != kn_success)
    {
        knDestroyColumns(&c);
        return result;
    }
    *columns = c;
    return kn_success;
}
