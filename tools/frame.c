// SPDX-License-Identifier: Zlib
#include "frame.h"

#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

knResult knFrame_AddPosition(knFrame* f, knVec3 position, knDVec3 exact)
{
    if (f->positionCount >= KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "more than %u vertices", KN_MAX_MESH_SIZE);
    }
    knResult result = knGrow(&f->allocator, (void**)&f->positions, &f->positionCapacity,
                             f->positionCount + 1, sizeof *f->positions);
    result = result == kn_success ? knGrow(&f->allocator, (void**)&f->exact, &f->exactCapacity,
                                           f->positionCount + 1, sizeof *f->exact)
                                  : result;
    if (result == kn_success)
    {
        knDVec3 p = knToDouble(position);
        f->isExact = f->isExact && !(p.x < exact.x || p.x > exact.x || p.y < exact.y ||
                                     p.y > exact.y || p.z < exact.z || p.z > exact.z);
        f->exact[f->positionCount] = exact;
        f->positions[f->positionCount++] = position;
    }
    return result;
}

// Before the first face that is not one triangle, numbers agree and nothing is noted.
static knResult NoteFaces(knFrame* f, size_t triangleCount)
{
    if (!f->faceOf && triangleCount == 1)
    {
        return kn_success;
    }
    bool isFirst = !f->faceOf;
    knResult result = knGrow(&f->allocator, (void**)&f->faceOf, &f->faceOfCapacity,
                             f->triangleCount + triangleCount + 1, sizeof *f->faceOf);
    for (size_t i = 0; i < f->triangleCount && isFirst && result == kn_success; ++i)
    {
        f->faceOf[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < triangleCount && result == kn_success; ++i)
    {
        f->faceOf[f->triangleCount + i] = (uint32_t)f->faceCount;
    }
    return result;
}

static knResult CheckCorners(const knFrame* f, const double* corners, size_t cornerCount)
{
    for (size_t i = 0; i < cornerCount; ++i)
    {
        bool isIndex = corners[i] >= 0.0 && corners[i] < (double)KN_MAX_MESH_SIZE;
        if (!isIndex || corners[i] > (double)(uint32_t)corners[i])
        {
            return knFail(kn_errorFormat, "face %zu names vertex %g", f->faceCount, corners[i]);
        }
    }
    return kn_success;
}

// Indices are compared with the vertices when the whole file is read: faces may come before them.
knResult knFrame_AddFace(knFrame* f, const double* corners, size_t cornerCount)
{
    size_t count = cornerCount > 3 ? cornerCount - 2 : cornerCount > 0;
    if (f->triangleCount + count > KN_MAX_MESH_SIZE || f->faceCount >= KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "more than %u triangles", KN_MAX_MESH_SIZE);
    }
    knResult result = CheckCorners(f, corners, cornerCount);
    result = result == kn_success ? NoteFaces(f, count) : result;
    result = result == kn_success
                 ? knGrow(&f->allocator, (void**)&f->triangles, &f->triangleCapacity,
                          f->triangleCount + count, sizeof *f->triangles)
                 : result;
    for (size_t i = 0; i < count && result == kn_success; ++i)
    {
        size_t last = cornerCount - 1, second = i + 1 < last ? i + 1 : last;
        size_t third = i + 2 < last ? i + 2 : last;
        f->triangles[f->triangleCount++] = (knTriangle){
            {(uint32_t)corners[0], (uint32_t)corners[second], (uint32_t)corners[third]}};
    }
    f->faceCount += result == kn_success;
    f->isTriangular = f->isTriangular && cornerCount == 3;
    return result;
}

static knResult CheckIndices(const knFrame* f)
{
    for (size_t i = 0; i < f->triangleCount; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            if (f->triangles[i].v[k] >= f->positionCount)
            {
                return knFail(kn_errorFormat, "face %zu names vertex %u, but there are %zu",
                              f->faceOf ? (size_t)f->faceOf[i] : i, f->triangles[i].v[k],
                              f->positionCount);
            }
        }
    }
    return kn_success;
}

static knResult ReadObjVertex(knFrame* f, const char* text, const char* lineEnd)
{
    float x[3];
    double exact[3];
    for (int i = 0; i < 3; ++i)
    {
        char* end;
        x[i] = strtof(text, NULL); // not by way of a double, which would round twice
        exact[i] = strtod(text, &end);
        if (end == text || end > lineEnd)
        {
            return knFail(kn_errorFormat, "vertex %zu has no three coordinates", f->positionCount);
        }
        text = end;
    }
    return knFrame_AddPosition(f, knMakeVec3(x[0], x[1], x[2]),
                               knMakeDVec3(exact[0], exact[1], exact[2]));
}

// Corners of one face after the other, in room that grows.
typedef struct Corners
{
    double* items;
    size_t count, capacity;
} Corners;

// "7", "7/2", "7//3" or "-1"; negative ones count back from the last vertex.
static knResult ReadObjFace(knFrame* f, Corners* c, const char* text, const char* lineEnd)
{
    knResult result = kn_success;
    c->count = 0;
    for (text += strspn(text, " \t\r"); text < lineEnd && *text != '#' && result == kn_success;
         text += strspn(text, " \t\r"))
    {
        char* end;
        long index = strtol(text, &end, 10);
        if (end == text || index == 0 || !strchr("/ \t\r\n", *end))
        {
            return knFail(kn_errorFormat, "face %zu: '%.*s' is no vertex", f->faceCount,
                          (int)strcspn(text, " \t\r\n"), text);
        }
        result =
            knGrow(&f->allocator, (void**)&c->items, &c->capacity, c->count + 1, sizeof *c->items);
        if (result == kn_success)
        {
            c->items[c->count++] =
                index < 0 ? (double)f->positionCount + (double)index : (double)index - 1;
        }
        text = end + strcspn(end, " \t\r\n");
    }
    return result == kn_success ? knFrame_AddFace(f, c->items, c->count) : result;
}

// A statement goes on behind a backslash at the end of its line.
static char* FindEnd(char* text)
{
    char* end = text + strcspn(text, "\n");
    while (*end && end > text)
    {
        char* last = end - 1 - (end[-1] == '\r' && end - 1 > text);
        if (*last != '\\')
        {
            break;
        }
        memset(last, ' ', (size_t)(end - last) + 1);
        end += strcspn(end, "\n");
    }
    return end;
}

static knResult ReadObj(knFrame* f, char* text)
{
    knResult result = kn_success;
    Corners corners = {NULL, 0, 0};
    while (*text && result == kn_success)
    {
        text += strspn(text, " \t");
        bool isTaken = (text[0] == 'v' || text[0] == 'f') && (text[1] == ' ' || text[1] == '\t');
        char* end = isTaken ? FindEnd(text) : text + strcspn(text, "\n");
        if (isTaken)
        {
            result = text[0] == 'v' ? ReadObjVertex(f, text + 1, end)
                                    : ReadObjFace(f, &corners, text + 1, end);
        }
        text = *end ? end + 1 : end;
    }
    knRelease(&f->allocator, corners.items, corners.capacity, sizeof *corners.items);
    return result;
}

knResult knReadFrame(knFrame* frame, const char* path, const knAllocator* allocator)
{
    knAllocator a = allocator ? *allocator : knDefaultAllocator();
    char* text;
    size_t size;
    bool isPly = knHasEnding(path, ".ply");
    if (!isPly && !knHasEnding(path, ".obj"))
    {
        return knFail(kn_errorFormat, "%s: neither .ply nor .obj", path);
    }
    knResult result = knReadText(path, &a, &text, &size);
    if (result != kn_success)
    {
        return result;
    }
    knFrame f = {.allocator = a, .isExact = true, .isTriangular = true};
    result = isPly ? knReadPly(&f, text, size) : ReadObj(&f, text);
    result = result == kn_success ? CheckIndices(&f) : result;
    knRelease(&a, text, size + 1, 1);
    if (result != kn_success)
    {
        char reason[KN_MAX_MESSAGE];
        snprintf(reason, sizeof reason, "%s", knLastError());
        knDestroyFrame(&f);
        return knFail(result, "%s: %s", path, reason);
    }
    *frame = f;
    return kn_success;
}

void knDestroyFrame(knFrame* f)
{
    knRelease(&f->allocator, f->positions, f->positionCapacity, sizeof *f->positions);
    knRelease(&f->allocator, f->exact, f->exactCapacity, sizeof *f->exact);
    knRelease(&f->allocator, f->triangles, f->triangleCapacity, sizeof *f->triangles);
    knRelease(&f->allocator, f->faceOf, f->faceOfCapacity, sizeof *f->faceOf);
    memset(f, 0, sizeof *f);
}
