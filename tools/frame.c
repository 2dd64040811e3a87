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

// Indices are checked when the whole file is read: faces may come before vertices.
knResult knFrame_AddTriangle(knFrame* f, const double* corners, size_t cornerCount)
{
    if (cornerCount != 3)
    {
        return knFail(kn_errorFormat, "face %zu has %zu corners; only triangles are taken",
                      f->triangleCount, cornerCount);
    }
    if (f->triangleCount >= KN_MAX_MESH_SIZE)
    {
        return knFail(kn_errorLimit, "more than %u triangles", KN_MAX_MESH_SIZE);
    }
    knTriangle triangle;
    for (int i = 0; i < 3; ++i)
    {
        if (!(corners[i] >= 0.0 && corners[i] < (double)KN_MAX_MESH_SIZE))
        {
            return knFail(kn_errorFormat, "face %zu names vertex %.0f", f->triangleCount,
                          corners[i]);
        }
        triangle.v[i] = (uint32_t)corners[i];
    }
    knResult result = knGrow(&f->allocator, (void**)&f->triangles, &f->triangleCapacity,
                             f->triangleCount + 1, sizeof *f->triangles);
    if (result == kn_success)
    {
        f->triangles[f->triangleCount++] = triangle;
    }
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
                return knFail(kn_errorFormat, "face %zu names vertex %u, but there are %zu", i,
                              f->triangles[i].v[k], f->positionCount);
            }
        }
    }
    return kn_success;
}

static knResult ReadObjVertex(knFrame* f, const char* text)
{
    float x[3];
    double exact[3];
    for (int i = 0; i < 3; ++i)
    {
        char* end;
        x[i] = strtof(text, NULL); // not by way of a double, which would round twice
        exact[i] = strtod(text, &end);
        if (end == text)
        {
            return knFail(kn_errorFormat, "vertex %zu has no three coordinates", f->positionCount);
        }
        text = end;
    }
    return knFrame_AddPosition(f, knMakeVec3(x[0], x[1], x[2]),
                               knMakeDVec3(exact[0], exact[1], exact[2]));
}

// "7", "7/2", "7//3" or "-1"; negative ones count back from the last vertex.
static knResult ReadObjFace(knFrame* f, const char* text, const char* lineEnd)
{
    double corners[4];
    size_t count = 0;
    while (count < 4)
    {
        char* end;
        long index = strtol(text, &end, 10);
        if (end == text || end > lineEnd)
        {
            break;
        }
        corners[count++] = index < 0 ? (double)f->positionCount + (double)index : (double)index - 1;
        text = end + strcspn(end, " \t\r\n");
    }
    return knFrame_AddTriangle(f, corners, count);
}

static knResult ReadObj(knFrame* f, const char* text)
{
    knResult result = kn_success;
    while (*text && result == kn_success)
    {
        const char* lineEnd = text + strcspn(text, "\n");
        text += strspn(text, " \t");
        if (text[0] == 'v' && (text[1] == ' ' || text[1] == '\t'))
        {
            result = ReadObjVertex(f, text + 1);
        }
        else if (text[0] == 'f' && (text[1] == ' ' || text[1] == '\t'))
        {
            result = ReadObjFace(f, text + 1, lineEnd);
        }
        text = *lineEnd ? lineEnd + 1 : lineEnd;
    }
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
    knFrame f = {.allocator = a, .isExact = true};
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
    memset(f, 0, sizeof *f);
}
