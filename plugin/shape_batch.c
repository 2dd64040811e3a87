// SPDX-License-Identifier: Zlib
#include "shape_batch_internal.h"

#include <string.h>

#define SHARP_COSINE 0.996f // flatter edges than 5 degrees catch nothing

static size_t RoundUp(size_t bytes)
{
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

static size_t TableSize(uint32_t triangleCount)
{
    size_t size = 16;
    while (size < 6 * (size_t)triangleCount)
    {
        size *= 2;
    }
    return size;
}

size_t knBatchBytes(uint32_t count)
{
    size_t n = count;
    return RoundUp(n * sizeof(knVec3)) + RoundUp(n * sizeof(knTriangle)) +
           RoundUp(3 * n * sizeof(uint32_t)) + RoundUp(n) + RoundUp(3 * n) +
           RoundUp(2 * n * sizeof(knMeshNode)) + RoundUp(n * sizeof(uint32_t)) +
           RoundUp(n * sizeof(knBox)) + RoundUp(TableSize(count) * sizeof(uint32_t));
}

static uint32_t Mix(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9E3779B97F4A7C15u;
    h = (h ^ (h >> 29) ^ c) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)(h >> 32);
}

// Corner number 3 t + i, and the first of those in the same place.
static uint32_t FindPosition(const knMeshTriangle* triangles, uint32_t corner, uint32_t* table,
                             size_t mask)
{
    knVec3 p = triangles[corner / 3].v[corner % 3];
    uint32_t words[3];
    // -0 and 0 are one place
    knVec3 q = knAdd(p, knMakeVec3(0.0f, 0.0f, 0.0f));
    memcpy(words, &q, sizeof words);
    size_t place = Mix(words[0], words[1], words[2]) & mask;
    for (; table[place] != KN_NONE; place = (place + 1) & mask)
    {
        uint32_t other = table[place];
        knVec3 o = triangles[other / 3].v[other % 3];
        if (o.x == p.x && o.y == p.y && o.z == p.z)
        {
            return other;
        }
    }
    table[place] = corner;
    return corner;
}

static void Weld(knBatch* b, uint32_t* table, size_t mask)
{
    memset(table, 0xFF, (mask + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < 3 * b->source->count; ++i)
    {
        b->welded[i / 3].v[i % 3] = FindPosition(b->source->triangles, i, table, mask);
    }
}

// Sides that run against each other along the same edge are neighbours; of three or more, the first
// two.
static void Join(knBatch* b, uint32_t* table, size_t mask)
{
    memset(table, 0xFF, (mask + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < 3 * b->source->count; ++i)
    {
        uint32_t u = b->welded[i / 3].v[i % 3], w = b->welded[i / 3].v[(i + 1) % 3];
        uint32_t low = u < w ? u : w, high = u < w ? w : u;
        b->neighbors[i] = KN_NONE;
        size_t place = Mix(low, high, 7u) & mask;
        for (; table[place] != KN_NONE; place = (place + 1) & mask)
        {
            uint32_t k = table[place];
            uint32_t x = b->welded[k / 3].v[k % 3], y = b->welded[k / 3].v[(k + 1) % 3];
            bool isSame = (x == u && y == w) || (x == w && y == u);
            if (isSame && b->neighbors[k] == KN_NONE)
            {
                b->neighbors[k] = i / 3;
                b->neighbors[i] = k / 3;
                break;
            }
        }
        if (table[place] == KN_NONE)
        {
            table[place] = i;
        }
    }
}

static bool IsSharpSide(const knBatch* b, uint32_t side)
{
    uint32_t t = side / 3, other = b->neighbors[side];
    if (other == KN_NONE)
    {
        return true;
    }
    // once per edge
    if (other < t || knDot(b->normals[t], b->normals[other]) > SHARP_COSINE)
    {
        return false;
    }
    const knMeshTriangle* triangles = b->source->triangles;
    knVec3 o = triangles[t].v[side % 3];
    float height = 0.0f;
    for (int i = 0; i < 3; ++i)
    {
        float tried = knDot(b->normals[t], knSub(triangles[other].v[i], o));
        height = fabsf(tried) > fabsf(height) ? tried : height;
    }
    // a valley is a ridge from the other side
    return height < 0.0f || !b->source->isOneSided;
}

static void FindSharp(knBatch* b)
{
    memset(b->isSharp, 0, 3 * (size_t)b->source->count);
    memset(b->sharpSides, 0, b->source->count);
    for (uint32_t i = 0; i < 3 * b->source->count; ++i)
    {
        if (IsSharpSide(b, i))
        {
            b->sharpSides[i / 3] |= (uint8_t)(1u << i % 3);
            b->isSharp[b->welded[i / 3].v[i % 3]] = 1;
            b->isSharp[b->welded[i / 3].v[(i + 1) % 3]] = 1;
        }
    }
}

bool knMakeBatch(knBatch* b, const knTriangleBatch* source, knArena* scratch)
{
    uint32_t n = source->count;
    size_t tableSize = TableSize(n);
    b->source = source;
    b->normals = knArena_Allocate(scratch, n, sizeof(knVec3));
    b->welded = knArena_Allocate(scratch, n, sizeof(knTriangle));
    b->neighbors = knArena_Allocate(scratch, 3 * (size_t)n, sizeof(uint32_t));
    b->sharpSides = knArena_Allocate(scratch, n, 1);
    b->isSharp = knArena_Allocate(scratch, 3 * (size_t)n, 1);
    b->nodes = knArena_Allocate(scratch, 2 * (size_t)n, sizeof(knMeshNode));
    b->order = knArena_Allocate(scratch, n, sizeof(uint32_t));
    knBox* boxes = knArena_Allocate(scratch, n, sizeof(knBox));
    uint32_t* table = knArena_Allocate(scratch, tableSize, sizeof(uint32_t));
    if (!b->normals || !b->welded || !b->neighbors || !b->sharpSides || !b->isSharp || !b->nodes ||
        !b->order || !boxes || !table)
    {
        return false;
    }
    for (uint32_t i = 0; i < n; ++i)
    {
        const knVec3* v = source->triangles[i].v;
        b->normals[i] = knTriangleNormal(v);
        boxes[i] = (knBox){knMin(v[0], knMin(v[1], v[2])), knMax(v[0], knMax(v[1], v[2]))};
    }
    Weld(b, table, tableSize - 1);
    Join(b, table, tableSize - 1);
    FindSharp(b);
    b->nodeCount = knBuildMeshTree(boxes, n, b->nodes, b->order);
    return true;
}

typedef struct Search
{
    const knBatch* batch;
    knVec3 p;
    const knVec3* facing;
    float best;
    uint32_t triangle;
    knVec3 point;
    float weights[3];
} Search;

static void SearchLeaf(Search* s, const knMeshNode* node)
{
    for (uint32_t i = 0; i < node->count; ++i)
    {
        uint32_t t = s->batch->order[node->first + i];
        float weights[3];
        knVec3 q = knNearestOnTriangle(s->p, s->batch->source->triangles[t].v, weights);
        float distance = knDistance(s->p, q);
        if (distance < s->best || (distance == s->best && t < s->triangle))
        {
            s->best = distance;
            s->triangle = t;
            s->point = q;
            memcpy(s->weights, weights, sizeof weights);
        }
    }
}

static void FindNearest(Search* s)
{
    const knBatch* b = s->batch;
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &b->nodes[index];
        if (knBox_Distance(node->box, s->p) > s->best)
        {
            continue;
        }
        SearchLeaf(s, node);
        if (node->count == 0)
        {
            bool isLeftFirst = knBox_Distance(b->nodes[index + 1].box, s->p) <=
                               knBox_Distance(b->nodes[node->first].box, s->p);
            stack[depth++] = isLeftFirst ? node->first : index + 1;
            stack[depth++] = isLeftFirst ? index + 1 : node->first;
        }
    }
}

static knVec3 Facing(const Search* s, uint32_t t)
{
    knVec3 n = s->batch->normals[t];
    bool isTurned = s->facing && knDot(n, knSub(*s->facing, s->point)) < 0.0f;
    return isTurned ? knNeg(n) : n;
}

// The angle of the triangle at its corner nearest to the point.
static float AngleAt(const knVec3 v[3], knVec3 p)
{
    int at = 0;
    for (int i = 1; i < 3; ++i)
    {
        at = knDistance(v[i], p) < knDistance(v[at], p) ? i : at;
    }
    knVec3 a = knNormalize(knSub(v[(at + 1) % 3], v[at]));
    knVec3 b = knNormalize(knSub(v[(at + 2) % 3], v[at]));
    return acosf(fminf(fmaxf(knDot(a, b), -1.0f), 1.0f));
}

// Over all faces that have the nearest point: by angle at a corner, equally along an edge. Its sign
// is right where that of a single face is not.
static knVec3 MeanNormal(const Search* s, bool isCorner)
{
    const knBatch* b = s->batch;
    float tolerance = 1e-5f * (s->best + knLength(s->p));
    knBox around = knBox_Expand((knBox){s->point, s->point}, tolerance);
    knVec3 sum = {0.0f, 0.0f, 0.0f};
    uint32_t stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &b->nodes[index];
        if (!knBox_Overlaps(node->box, around))
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            uint32_t t = b->order[node->first + i];
            const knVec3* v = b->source->triangles[t].v;
            float weights[3];
            if (knDistance(knNearestOnTriangle(s->point, v, weights), s->point) <= tolerance)
            {
                sum = knAddScaled(sum, isCorner ? AngleAt(v, s->point) : 1.0f, Facing(s, t));
            }
        }
        if (node->count == 0)
        {
            stack[depth++] = node->first;
            stack[depth++] = index + 1;
        }
    }
    return knNormalize(sum);
}

bool knBatch_Nearest(const knBatch* b, knVec3 p, float limit, const knVec3* facing,
                     knBatchPoint* nearest)
{
    Search s = {.batch = b, .p = p, .facing = facing, .best = limit, .triangle = KN_NONE};
    if (b->nodeCount > 0)
    {
        FindNearest(&s);
    }
    if (s.triangle == KN_NONE)
    {
        return false;
    }
    int zeros = 0;
    bool isAtEnd = false;
    for (int i = 0; i < 3; ++i)
    {
        // side i lies between corners i and i + 1
        bool isOnSide = s.weights[(i + 2) % 3] < 1e-5f;
        zeros += isOnSide;
        isAtEnd = isAtEnd || (isOnSide && b->neighbors[3 * s.triangle + (uint32_t)i] == KN_NONE);
    }
    knVec3 normal = zeros > 0 ? MeanNormal(&s, zeros > 1) : Facing(&s, s.triangle);
    normal = knLengthSquared(normal) > 0.5f ? normal : Facing(&s, s.triangle);
    *nearest = (knBatchPoint){s.best, s.point, normal, isAtEnd};
    return true;
}

uint32_t knBatch_Between(const knBatch* b, knVec3 from, knVec3 to, knVec3* point)
{
    knRay ray;
    uint32_t found = KN_NONE, stack[KN_TREE_STACK];
    double best = 1.0, entry, fraction;
    int depth = 0;
    if (b->nodeCount > 0 && knMakeRay(&ray, from, to))
    {
        stack[depth++] = 0;
    }
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        const knMeshNode* node = &b->nodes[index];
        if (!knRay_HitBox(&ray, &node->box, best, &entry))
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            uint32_t t = b->order[node->first + i];
            if (knRay_HitTriangle(&ray, b->source->triangles[t].v, &fraction) &&
                (fraction < best || (fraction == best && t < found)))
            {
                best = fraction;
                found = t;
            }
        }
        if (node->count == 0)
        {
            stack[depth++] = node->first;
            stack[depth++] = index + 1;
        }
    }
    *point = knLerp(from, to, (float)best);
    return found;
}
