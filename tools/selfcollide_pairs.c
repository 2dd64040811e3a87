// SPDX-License-Identifier: Zlib
#include "selfcollide_pairs.h"

#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ComparePairs(const void* x, const void* y)
{
    const knFacePair *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

// The triangles of a face stand side by side.
static size_t FirstOfFace(const knFrame* f, size_t triangle)
{
    while (triangle > 0 && f->faceOf[triangle - 1] == f->faceOf[triangle])
    {
        triangle -= 1;
    }
    return triangle;
}

static bool ShareVertex(const knTriangle* s, const knTriangle* t)
{
    for (int i = 0; i < 9; ++i)
    {
        if (s->v[i / 3] == t->v[i % 3])
        {
            return true;
        }
    }
    return false;
}

static bool AreAdjacent(const knFrame* f, size_t a, size_t b)
{
    size_t first = FirstOfFace(f, b);
    for (size_t i = FirstOfFace(f, a); i < f->triangleCount && f->faceOf[i] == f->faceOf[a]; ++i)
    {
        for (size_t k = first; k < f->triangleCount && f->faceOf[k] == f->faceOf[b]; ++k)
        {
            if (ShareVertex(&f->triangles[i], &f->triangles[k]))
            {
                return true;
            }
        }
    }
    return false;
}

// Of faces that meet in many triangles one pair stays.
static void DropCopies(knFacePairs* p)
{
    size_t kept = 0;
    qsort(p->items, p->count, sizeof *p->items, ComparePairs);
    for (size_t i = 0; i < p->count; ++i)
    {
        if (i == 0 || ComparePairs(&p->items[i], &p->items[kept - 1]) != 0)
        {
            p->items[kept++] = p->items[i];
        }
    }
    p->count = kept;
}

knResult knGatherFacePairs(knFacePairs* p, const knBvhQuery* query, const knFrame* f,
                           bool skipAdjacent)
{
    size_t count;
    const knBvhPair* pairs = knBvhQuery_Pairs(query, &count);
    knResult result =
        knGrow(&p->allocator, (void**)&p->items, &p->capacity, count + 1, sizeof *p->items);
    p->count = 0;
    for (size_t i = 0; i < count && result == kn_success; ++i)
    {
        knFacePair pair = {pairs[i].a, pairs[i].b};
        if (f->faceOf)
        {
            // faces stand in the order of their triangles, so a stays the lower one
            pair = (knFacePair){f->faceOf[pairs[i].a], f->faceOf[pairs[i].b]};
            bool isSkipped = skipAdjacent && AreAdjacent(f, pairs[i].a, pairs[i].b);
            if (pair.a == pair.b || isSkipped)
            {
                continue;
            }
        }
        p->items[p->count++] = pair;
    }
    if (f->faceOf && result == kn_success)
    {
        DropCopies(p);
    }
    return result;
}

void knDestroyFacePairs(knFacePairs* p)
{
    knRelease(&p->allocator, p->items, p->capacity, sizeof *p->items);
    p->items = NULL;
    p->count = p->capacity = 0;
}

static char* AppendNumber(char* at, uint32_t number)
{
    char digits[10];
    int count = 0;
    do
    {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0)
    {
        *at++ = digits[--count];
    }
    return at;
}

// 22 bytes a line are enough for two ids of 32 bits.
knResult knWriteFacePairs(const knFacePairs* p, const char* path)
{
    char* text = knAllocate(&p->allocator, 22 * p->count + 1, 1);
    if (!text)
    {
        return kn_errorMemory;
    }
    char* at = text;
    for (size_t i = 0; i < p->count; ++i)
    {
        at = AppendNumber(at, p->items[i].a);
        *at++ = ' ';
        at = AppendNumber(at, p->items[i].b);
        *at++ = '\n';
    }
    size_t size = (size_t)(at - text);
    knResult result = kn_success;
    if (path)
    {
        result = knWriteFile(path, text, size);
    }
    else if (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0)
    {
        result = knFail(kn_errorFile, "the pairs cannot be written to standard output");
    }
    knRelease(&p->allocator, text, 22 * p->count + 1, 1);
    return result;
}
