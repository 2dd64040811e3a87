// SPDX-License-Identifier: Zlib
#pragma once

// A folded sheet that falls onto itself, and all its pairs of features, one by one.

#include "bvh/bvh_ccd_internal.h"
#include "kit.h"

// Of rounds that are many, how many under a sanitizer are one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUND_STEP 3
#else
#define ROUND_STEP 1
#endif

#define SIDE     12 // vertices of a sheet
#define VERTICES (SIDE * SIDE + 8)
#define FACES    (2 * (SIDE - 1) * (SIDE - 1))

typedef struct Sheet
{
    knVec3 start[VERTICES], end[VERTICES];
    knTriangle triangles[FACES];
} Sheet;

static uint64_t seed = 7;

static inline uint32_t Next(uint32_t range)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % range;
}

static inline float Jitter(float size)
{
    return size * ((float)Next(2001) / 1000.0f - 1.0f);
}

// Folded over once, so that it meets itself when it falls; eight vertices are left for changes.
static inline void MakeSheet(Sheet* s, float roughness)
{
    for (uint32_t i = 0; i < VERTICES; ++i)
    {
        float x = (float)(i % SIDE), y = (float)(i / SIDE);
        bool isOver = x > 6.0f;
        float folded = isOver ? 12.0f - x : x, height = isOver ? 0.6f : 0.0f;
        s->start[i] = knMakeVec3(folded + Jitter(roughness), y + Jitter(roughness),
                                 height + Jitter(roughness));
        s->end[i] = knMakeVec3(folded + Jitter(roughness), y + Jitter(roughness),
                               (isOver ? -0.1f : 0.1f) + Jitter(roughness));
    }
    for (uint32_t i = 0, t = 0; i < SIDE * (SIDE - 1); ++i)
    {
        if (i % SIDE + 1 < SIDE)
        {
            s->triangles[t++] = (knTriangle){{i, i + 1, i + SIDE}};
            s->triangles[t++] = (knTriangle){{i + 1, i + SIDE + 1, i + SIDE}};
        }
    }
}

static inline knCcdStepDef DefOf(const Sheet* s)
{
    knCcdStepDef def = knDefaultCcdStepDef();
    def.start = s->start;
    def.end = s->end;
    def.triangles = s->triangles;
    def.vertexCount = VERTICES;
    def.triangleCount = FACES;
    return def;
}

static inline bool Touch(const knCcdStepDef* def, knCcdKind kind, const uint32_t v[4])
{
    knCcdTest test = {.kind = kind, .separation = def->separation};
    knCcdAnswer answer = {0};
    for (int c = 0; c < 4; ++c)
    {
        test.start[c] = knCcdVertex(def, v[c], 0);
        test.end[c] = knCcdVertex(def, v[c], 1);
        if (!knIsFinite(def->start[v[c]]) || !knIsFinite(def->end[v[c]]))
        {
            return false;
        }
    }
    assert_int_equal(knRunCcdTest(&test, kn_ccdConservative, &answer), kn_success);
    return answer.isContact;
}

// Sorted as a step has them; returns how many.
static inline size_t FindAll(const knCcdStepDef* def, const knEdge* edges, size_t edgeCount,
                             knCcdContact* out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < edgeCount; ++i)
    {
        for (uint32_t k = i + 1; k < edgeCount; ++k)
        {
            const uint32_t v[4] = {edges[i].v[0], edges[i].v[1], edges[k].v[0], edges[k].v[1]};
            if (v[0] != v[2] && v[0] != v[3] && v[1] != v[2] && v[1] != v[3] &&
                Touch(def, kn_ccdEdgeEdge, v))
            {
                out[count++] = (knCcdContact){kn_ccdEdgeEdge, i, k, 0.0};
            }
        }
    }
    for (uint32_t p = 0; p < def->vertexCount; ++p)
    {
        for (uint32_t f = 0; f < def->triangleCount; ++f)
        {
            const uint32_t* t = def->triangles[f].v;
            const uint32_t v[4] = {p, t[0], t[1], t[2]};
            if (p != t[0] && p != t[1] && p != t[2] && Touch(def, kn_ccdVertexFace, v))
            {
                out[count++] = (knCcdContact){kn_ccdVertexFace, p, f, 0.0};
            }
        }
    }
    return count;
}

#define MOST_CONTACTS 20000
static knCcdContact expected[MOST_CONTACTS];

static inline size_t CountDifferences(const knCcdStep* step, size_t expectedCount)
{
    size_t count, differences = 0;
    const knCcdContact* c = knCcdStep_Contacts(step, &count);
    for (size_t i = 0; i < count && i < expectedCount; ++i)
    {
        differences +=
            c[i].kind != expected[i].kind || c[i].a != expected[i].a || c[i].b != expected[i].b;
    }
    return differences + (count > expectedCount ? count - expectedCount : expectedCount - count);
}
