// SPDX-License-Identifier: Zlib
#include "file.h"
#include "import.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATH 4096

// Numbers separated by white space, '#' starting a comment, as TetGen's manual describes.
typedef struct Scanner
{
    const char* path;
    const char* at;
    const char* end;
    int line;
} Scanner;

static void SkipBlank(Scanner* s)
{
    bool comment = false;
    for (; s->at < s->end; ++s->at)
    {
        char c = *s->at;
        comment = c == '#' || (comment && c != '\n');
        s->line += c == '\n';
        if (!comment && !isspace((unsigned char)c))
        {
            return;
        }
    }
}

static void SkipLine(Scanner* s)
{
    while (s->at < s->end && *s->at != '\n')
    {
        ++s->at;
    }
}

static knResult ScanNumber(Scanner* s, double* number)
{
    SkipBlank(s);
    char* behind = NULL;
    double value = strtod(s->at, &behind);
    if (behind == s->at || !isfinite(value))
    {
        return knFail(kn_errorFormat, "%s:%d: a finite number was expected", s->path, s->line);
    }
    s->at = behind;
    *number = value;
    return kn_success;
}

static knResult ScanCount(Scanner* s, const char* what, double most, uint32_t* count)
{
    double value = 0.0;
    knResult result = ScanNumber(s, &value);
    if (result != kn_success)
    {
        return result;
    }
    if (value < 0.0 || value > most || value != floor(value))
    {
        return knFail(kn_errorFormat, "%s:%d: %s is %g, at most %g make sense here", s->path,
                      s->line, what, value, most);
    }
    *count = (uint32_t)value;
    return kn_success;
}

// The first line gives a count and how many numbers follow on a line; the bytes bound the count.
static knResult ScanHeader(Scanner* s, uint32_t* count, uint32_t* width)
{
    double bytes = (double)(s->end - s->at);
    double most = bytes < KN_MAX_MESH_SIZE ? bytes : KN_MAX_MESH_SIZE;
    knResult result = ScanCount(s, "the count", most, count);
    result = result == kn_success ? ScanCount(s, "the size", 10.0, width) : result;
    SkipLine(s);
    return result;
}

static knResult ScanNodes(Scanner* s, double scale, knTetSoup* tets, uint32_t* firstIndex)
{
    uint32_t count = 0, dimension = 0;
    knResult result = ScanHeader(s, &count, &dimension);
    if (result == kn_success && (dimension != 3 || count < 4))
    {
        result = knFail(kn_errorFormat, "%s: at least 4 nodes in 3 dimensions are needed", s->path);
    }
    if (result == kn_success)
    {
        tets->nodes = knAllocate(&tets->allocator, count, sizeof(knVec3));
        tets->nodeCapacity = tets->nodes ? count : 0;
        result = tets->nodes ? kn_success : kn_errorMemory;
    }
    for (uint32_t i = 0; result == kn_success && i < count; ++i)
    {
        uint32_t index = 0;
        double p[3] = {0.0, 0.0, 0.0};
        result = ScanCount(s, "a node's number", KN_MAX_MESH_SIZE, &index);
        for (int k = 0; result == kn_success && k < 3; ++k)
        {
            result = ScanNumber(s, &p[k]);
        }
        SkipLine(s);
        *firstIndex = i == 0 ? index : *firstIndex;
        if (result == kn_success && (*firstIndex > 1 || index != *firstIndex + i))
        {
            result = knFail(kn_errorFormat, "%s:%d: nodes must be numbered in order from 0 or 1",
                            s->path, s->line);
        }
        knDVec3 scaled = knDScale(scale, knMakeDVec3(p[0], p[1], p[2]));
        tets->nodes[i] = knToFloat(scaled);
        tets->nodeCount = i + 1;
    }
    return result;
}

static knResult ScanTet(Scanner* s, uint32_t firstIndex, const knTetSoup* tets, knTet* tet)
{
    uint32_t ignored = 0;
    knResult result = ScanCount(s, "a tetrahedron's number", KN_MAX_MESH_SIZE, &ignored);
    for (int k = 0; result == kn_success && k < 4; ++k)
    {
        uint32_t index = 0;
        result = ScanCount(s, "a node", (double)(tets->nodeCount - 1 + firstIndex), &index);
        if (result == kn_success && index < firstIndex)
        {
            result = knFail(kn_errorFormat, "%s:%d: node 0 in a file that counts from 1", s->path,
                            s->line);
        }
        tet->v[k] = index - firstIndex;
    }
    SkipLine(s);
    return result;
}

static void TurnOutward(const knVec3* nodes, knTet* tet)
{
    uint32_t* v = tet->v;
    if (knTetVolume6(nodes[v[0]], nodes[v[1]], nodes[v[2]], nodes[v[3]]) < 0.0)
    {
        uint32_t swapped = v[0];
        v[0] = v[1];
        v[1] = swapped;
    }
}

static knResult ScanTets(Scanner* s, uint32_t firstIndex, knTetSoup* tets)
{
    uint32_t count = 0, width = 0;
    knResult result = ScanHeader(s, &count, &width);
    if (result == kn_success && ((width != 4 && width != 10) || count == 0))
    {
        result = knFail(kn_errorFormat, "%s: tetrahedra of 4 or 10 nodes are needed", s->path);
    }
    if (result == kn_success)
    {
        tets->tets = knAllocate(&tets->allocator, count, sizeof(knTet));
        tets->tetCapacity = tets->tets ? count : 0;
        result = tets->tets ? kn_success : kn_errorMemory;
    }
    for (uint32_t i = 0; result == kn_success && i < count; ++i)
    {
        result = ScanTet(s, firstIndex, tets, &tets->tets[i]);
        if (result == kn_success)
        {
            TurnOutward(tets->nodes, &tets->tets[i]);
            tets->tetCount = i + 1;
        }
    }
    return result;
}

// Reads one file of the pair and hands it to one of the two scans.
static knResult ScanFile(const char* base, const char* ending, double scale, knTetSoup* tets,
                         uint32_t* firstIndex)
{
    char path[MAX_PATH];
    int length = snprintf(path, sizeof path, "%s%s", base, ending);
    if (length < 0 || (size_t)length >= sizeof path)
    {
        return knFail(kn_errorFile, "%s: the name is too long", base);
    }
    char* text = NULL;
    size_t size = 0;
    knResult result = knReadText(path, &tets->allocator, &text, &size);
    if (result != kn_success)
    {
        return result;
    }
    Scanner s = {path, text, text + size, 1};
    result = strcmp(ending, ".node") == 0 ? ScanNodes(&s, scale, tets, firstIndex)
                                          : ScanTets(&s, *firstIndex, tets);
    knRelease(&tets->allocator, text, size + 1, 1);
    return result;
}

bool knIsTetFile(const char* path)
{
    return knHasEnding(path, ".node") || knHasEnding(path, ".ele");
}

knResult knImportTets(const char* path, double scale, const knAllocator* allocator, knTetSoup* tets)
{
    char base[MAX_PATH];
    snprintf(base, sizeof base, "%s", path);
    char* dot = strrchr(base, '.');
    if (dot)
    {
        *dot = 0;
    }
    knTetSoup read = {.allocator = allocator ? *allocator : knDefaultAllocator()};
    uint32_t firstIndex = 0;
    knResult result = ScanFile(base, ".node", scale, &read, &firstIndex);
    result = result == kn_success ? ScanFile(base, ".ele", scale, &read, &firstIndex) : result;
    if (result != kn_success)
    {
        knDestroyTetSoup(&read);
        return result;
    }
    *tets = read;
    return kn_success;
}

void knDestroyTetSoup(knTetSoup* tets)
{
    if (tets)
    {
        knRelease(&tets->allocator, tets->nodes, tets->nodeCapacity, sizeof(knVec3));
        knRelease(&tets->allocator, tets->tets, tets->tetCapacity, sizeof(knTet));
        *tets = (knTetSoup){0};
    }
}
