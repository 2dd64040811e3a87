// SPDX-License-Identifier: Zlib
#include "frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The header names elements and their properties; what is not a vertex's place or a face's corners
// is stepped over.

#define MAX_PROPERTIES 128
#define MAX_ELEMENTS   16
#define MAX_LINE       256

typedef enum Type
{
    TYPE_NONE,
    TYPE_INT8,
    TYPE_UINT8,
    TYPE_INT16,
    TYPE_UINT16,
    TYPE_INT32,
    TYPE_UINT32,
    TYPE_FLOAT,
    TYPE_DOUBLE
} Type;

typedef enum Encoding
{
    ENCODING_NONE,
    ENCODING_ASCII,
    ENCODING_LITTLE,
    ENCODING_BIG
} Encoding;

typedef struct Property
{
    Type type;
    Type countType; // TYPE_NONE: no list
    int axis;       // of a vertex: 0 to 2, else -1
    bool isCorners; // of a face
} Property;

typedef struct Element
{
    unsigned long count;
    Property properties[MAX_PROPERTIES];
    int propertyCount;
    bool isVertex, isFace, isStrips;
} Element;

typedef struct Reader
{
    const char* at;
    const char* end;
    Encoding encoding;
    Element elements[MAX_ELEMENTS];
    int elementCount;
    double* corners; // of one face
    size_t cornerCapacity;
} Reader;

static Type ParseType(const char* word)
{
    static const struct
    {
        const char* name;
        Type type;
    } names[] = {{"char", TYPE_INT8},     {"int8", TYPE_INT8},     {"uchar", TYPE_UINT8},
                 {"uint8", TYPE_UINT8},   {"short", TYPE_INT16},   {"int16", TYPE_INT16},
                 {"ushort", TYPE_UINT16}, {"uint16", TYPE_UINT16}, {"int", TYPE_INT32},
                 {"int32", TYPE_INT32},   {"uint", TYPE_UINT32},   {"uint32", TYPE_UINT32},
                 {"float", TYPE_FLOAT},   {"float32", TYPE_FLOAT}, {"double", TYPE_DOUBLE},
                 {"float64", TYPE_DOUBLE}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    {
        if (strcmp(word, names[i].name) == 0)
        {
            return names[i].type;
        }
    }
    return TYPE_NONE;
}

static knResult AddElement(Reader* r, const char* line)
{
    char name[64];
    unsigned long count;
    if (sscanf(line, " element %63s %lu", name, &count) != 2 || r->elementCount == MAX_ELEMENTS)
    {
        return knFail(kn_errorFormat, "PLY header: '%s' cannot be used", line);
    }
    Element* e = &r->elements[r->elementCount++];
    memset(e, 0, sizeof *e);
    e->count = count;
    e->isVertex = strcmp(name, "vertex") == 0;
    e->isFace = strcmp(name, "face") == 0;
    e->isStrips = strcmp(name, "tristrips") == 0;
    return kn_success;
}

static knResult AddProperty(Reader* r, const char* line)
{
    char first[64], second[64], third[64], fourth[64];
    int words = sscanf(line, " property %63s %63s %63s %63s", first, second, third, fourth);
    Element* e = r->elementCount > 0 ? &r->elements[r->elementCount - 1] : NULL;
    bool isList = words == 4 && strcmp(first, "list") == 0;
    Property p = {.axis = -1};
    p.type = isList ? ParseType(third) : (words == 2 ? ParseType(first) : TYPE_NONE);
    p.countType = isList ? ParseType(second) : TYPE_NONE;
    if (!e || p.type == TYPE_NONE || (isList && p.countType == TYPE_NONE) ||
        e->propertyCount == MAX_PROPERTIES)
    {
        return knFail(kn_errorFormat, "PLY header: '%s' cannot be used", line);
    }
    const char* name = isList ? fourth : second;
    bool isCoordinate = e->isVertex && !isList && name[1] == 0 && name[0] >= 'x' && name[0] <= 'z';
    p.axis = isCoordinate ? name[0] - 'x' : -1;
    p.isCorners = e->isFace && isList &&
                  (strcmp(name, "vertex_indices") == 0 || strcmp(name, "vertex_index") == 0);
    e->properties[e->propertyCount++] = p;
    return kn_success;
}

static knResult ReadHeaderLine(Reader* r, const char* line, bool isFirst, bool* isDone)
{
    char word[32] = "", format[32] = "";
    sscanf(line, " %31s %31s", word, format);
    if (isFirst && strcmp(word, "ply") != 0)
    {
        return knFail(kn_errorFormat, "does not begin with 'ply'");
    }
    *isDone = strcmp(word, "end_header") == 0;
    if (strcmp(word, "format") == 0)
    {
        r->encoding = strcmp(format, "ascii") == 0                  ? ENCODING_ASCII
                      : strcmp(format, "binary_little_endian") == 0 ? ENCODING_LITTLE
                      : strcmp(format, "binary_big_endian") == 0    ? ENCODING_BIG
                                                                    : ENCODING_NONE;
    }
    if (strcmp(word, "element") == 0)
    {
        return AddElement(r, line);
    }
    return strcmp(word, "property") == 0 ? AddProperty(r, line) : kn_success;
}

// Lines end as the first one does: data may begin with a byte that looks like the other half.
static knResult ReadHeaderLines(Reader* r)
{
    knResult result = kn_success;
    bool isDone = false, isFirst = true;
    const char* first = r->at + strcspn(r->at, "\r\n");
    char ending = first[0] == '\r' && first[1] != '\n' ? '\r' : '\n';
    while (result == kn_success && !isDone)
    {
        const char* lineEnd = memchr(r->at, ending, (size_t)(r->end - r->at));
        if (!lineEnd)
        {
            return knFail(kn_errorFormat, "PLY header without an end");
        }
        // comments may be longer; what counts is not
        char line[MAX_LINE];
        size_t length = (size_t)(lineEnd - r->at);
        length = length < MAX_LINE ? length : MAX_LINE - 1;
        memcpy(line, r->at, length);
        line[length] = 0;
        r->at = lineEnd + 1;
        result = ReadHeaderLine(r, line, isFirst, &isDone);
        isFirst = false;
    }
    return result;
}

static knResult CheckVertices(const Element* e)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        bool isThere = e->count == 0;
        for (int i = 0; i < e->propertyCount; ++i)
        {
            isThere |= e->properties[i].axis == axis;
        }
        if (!isThere)
        {
            return knFail(kn_errorFormat, "PLY header: vertices without %c", 'x' + axis);
        }
    }
    return kn_success;
}

static knResult CheckFaces(const Element* e)
{
    bool isThere = e->count == 0;
    for (int i = 0; i < e->propertyCount; ++i)
    {
        isThere |= e->properties[i].isCorners;
    }
    return isThere ? kn_success
                   : knFail(kn_errorFormat, "PLY header: faces without a list vertex_indices");
}

static knResult ReadHeader(Reader* r)
{
    knResult result = ReadHeaderLines(r);
    if (result == kn_success && r->encoding == ENCODING_NONE)
    {
        result = knFail(kn_errorFormat, "PLY header without a known format");
    }
    for (int i = 0; i < r->elementCount && result == kn_success; ++i)
    {
        const Element* e = &r->elements[i];
        result = e->isVertex ? CheckVertices(e) : (e->isFace ? CheckFaces(e) : kn_success);
        if (e->isStrips && e->count > 0)
        {
            result = knFail(kn_errorFormat, "triangle strips are not read; write faces instead");
        }
    }
    return result;
}

static uint64_t ReadBytes(Reader* r, size_t size)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; ++i)
    {
        uint64_t byte = (unsigned char)r->at[i];
        size_t place = r->encoding == ENCODING_LITTLE ? i : size - 1 - i;
        bits |= byte << (8 * place);
    }
    r->at += size;
    return bits;
}

static double DecodeNumber(Type type, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    switch (type)
    {
    case TYPE_INT8:
        return (double)(int8_t)low;
    case TYPE_INT16:
        return (double)(int16_t)low;
    case TYPE_INT32:
        return (double)(int32_t)low;
    case TYPE_FLOAT:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case TYPE_DOUBLE:
        memcpy(&d, &bits, sizeof d);
        return d;
    default:
        return (double)bits;
    }
}

static bool ReadAsciiNumber(Reader* r, Type type, double* number)
{
    char* end;
    // a decimal that stands for a float must not be rounded twice
    *number = type == TYPE_FLOAT ? (double)strtof(r->at, &end) : strtod(r->at, &end);
    bool good = end != r->at && end <= r->end;
    r->at = end;
    return good;
}

static bool ReadNumber(Reader* r, Type type, double* number)
{
    static const size_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 8};
    if (r->encoding == ENCODING_ASCII)
    {
        return ReadAsciiNumber(r, type, number);
    }
    if ((size_t)(r->end - r->at) < sizes[type])
    {
        return false;
    }
    *number = DecodeNumber(type, ReadBytes(r, sizes[type]));
    return true;
}

static bool ReadListCount(Reader* r, Type type, size_t* count)
{
    double number = 0.0;
    bool good = ReadNumber(r, type, &number) && number >= 0.0 && number <= (double)KN_MAX_MESH_SIZE;
    *count = good ? (size_t)number : 0;
    return good;
}

static knResult Spoilt(void)
{
    return knFail(kn_errorFormat, "the data ends early or is not numbers");
}

// A number, or all of a list; the corners of a face are kept.
static knResult ReadProperty(Reader* r, knFrame* f, const Property* p, double* value,
                             size_t* cornerCount)
{
    size_t count = 1;
    if (p->countType != TYPE_NONE && !ReadListCount(r, p->countType, &count))
    {
        return Spoilt();
    }
    for (size_t i = 0; i < count; ++i)
    {
        if (!ReadNumber(r, p->type, value))
        {
            return Spoilt();
        }
        if (p->isCorners && knGrow(&f->allocator, (void**)&r->corners, &r->cornerCapacity, i + 1,
                                   sizeof *r->corners) != kn_success)
        {
            return kn_errorMemory;
        }
        if (p->isCorners)
        {
            r->corners[i] = *value;
        }
    }
    *cornerCount = p->isCorners ? count : *cornerCount;
    return kn_success;
}

static knResult TakeVertex(knFrame* f, const double position[3])
{
    float x[3];
    for (int axis = 0; axis < 3; ++axis)
    {
        x[axis] = (float)position[axis];
        f->roundedCount += (double)x[axis] != position[axis] && position[axis] == position[axis];
    }
    return knFrame_AddPosition(f, knMakeVec3(x[0], x[1], x[2]),
                               knMakeDVec3(position[0], position[1], position[2]));
}

static knResult ReadItem(Reader* r, knFrame* f, const Element* e)
{
    double position[3] = {0.0, 0.0, 0.0}, value = 0.0;
    size_t cornerCount = 0;
    for (int i = 0; i < e->propertyCount; ++i)
    {
        const Property* p = &e->properties[i];
        knResult result = ReadProperty(r, f, p, &value, &cornerCount);
        if (result != kn_success)
        {
            return result;
        }
        if (p->axis >= 0)
        {
            position[p->axis] = value;
        }
    }
    if (e->isFace)
    {
        return knFrame_AddFace(f, r->corners, cornerCount);
    }
    return e->isVertex ? TakeVertex(f, position) : kn_success;
}

knResult knReadPly(knFrame* frame, const char* bytes, size_t size)
{
    Reader r = {.at = bytes, .end = bytes + size};
    knResult result = ReadHeader(&r);
    for (int i = 0; i < r.elementCount && result == kn_success; ++i)
    {
        const Element* e = &r.elements[i];
        // an element without properties has no bytes, and any count would do
        for (unsigned long k = 0; k < e->count && e->propertyCount > 0 && result == kn_success; ++k)
        {
            result = ReadItem(&r, frame, e);
        }
    }
    knRelease(&frame->allocator, r.corners, r.cornerCapacity, sizeof *r.corners);
    return result;
}
