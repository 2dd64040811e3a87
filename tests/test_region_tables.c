// SPDX-License-Identifier: Zlib
// The tables of base/region_internal.h, made again from what they mean: a convex polytope whose
// vertices each belong to a corner is clipped by the corners that stay, face by face.
// `test_region_tables --print` writes them.
#include "kit.h"

#include "base/region_internal.h"

#define STATES 52
#define CLIPS  61

typedef struct Polytope
{
    uint8_t owners[KN_MAX_REGION_VERTICES];
    uint8_t vertexCount;
    uint8_t faceCount;
    knRegionFace faces[KN_MAX_REGION_FACES];
    uint8_t mask;
    int planes; // that made it
} Polytope;

static Polytope WholeTet(void)
{
    Polytope p = {.owners = {0, 1, 2, 3}, .vertexCount = 4, .faceCount = 4, .mask = 0xF};
    for (uint8_t f = 0; f < 4; ++f)
    {
        const uint8_t* c = knTetFaceCorners[f];
        p.faces[f] = (knRegionFace){f, 3, {c[0], c[1], c[2]}};
    }
    return p;
}

// What is left, and how the old vertices become the new ones.
typedef struct Clipping
{
    Polytope after;
    uint8_t kept[KN_MAX_REGION_VERTICES];
    uint8_t keptCount;
    uint8_t made[KN_MAX_REGION_VERTICES][2]; // stays, goes
    uint8_t madeCount;
    uint8_t sources[KN_MAX_REGION_FACES]; // the old face that a new one is left of
    uint8_t next[KN_MAX_REGION_VERTICES]; // around the new face
} Clipping;

static bool Stays(const Polytope* p, uint8_t keep, uint8_t vertex)
{
    return keep >> p->owners[vertex] & 1;
}

// The new vertex between two old ones; numbered when it is first met.
static uint8_t VertexBetween(Clipping* c, const Polytope* p, uint8_t in, uint8_t out)
{
    for (uint8_t i = 0; i < c->madeCount; ++i)
    {
        if (c->made[i][0] == in && c->made[i][1] == out)
        {
            return (uint8_t)(c->keptCount + i);
        }
    }
    uint8_t vertex = (uint8_t)(c->keptCount + c->madeCount);
    c->made[c->madeCount][0] = in;
    c->made[c->madeCount++][1] = out;
    c->after.owners[vertex] = p->owners[in];
    return vertex;
}

static uint8_t NewNumber(const Clipping* c, uint8_t old)
{
    uint8_t i = 0;
    while (c->kept[i] != old)
    {
        i += 1;
    }
    return i;
}

static void ClipFace(Clipping* c, const Polytope* p, uint8_t keep, uint8_t f)
{
    const knRegionFace* face = &p->faces[f];
    knRegionFace left = {.source = f};
    uint8_t enters = 0, leaves = 0;
    bool isCut = false;
    uint8_t last = face->loop[face->count - 1];
    for (int i = 0; i < face->count; ++i)
    {
        uint8_t v = face->loop[i];
        bool now = Stays(p, keep, v);
        if (now != Stays(p, keep, last))
        {
            uint8_t made = VertexBetween(c, p, now ? v : last, now ? last : v);
            enters = now ? made : enters;
            leaves = now ? leaves : made;
            left.loop[left.count++] = made;
            isCut = true;
        }
        if (now)
        {
            left.loop[left.count++] = NewNumber(c, v);
        }
        last = v;
    }
    if (isCut)
    {
        c->next[enters] = leaves;
    }
    if (left.count > 0)
    {
        c->sources[c->after.faceCount] = f;
        c->after.faces[c->after.faceCount++] = left;
    }
}

static Clipping ClipPolytope(const Polytope* p, uint8_t keep)
{
    Clipping c = {.after = {.mask = keep, .planes = p->planes + 1}};
    for (uint8_t v = 0; v < p->vertexCount; ++v)
    {
        if (Stays(p, keep, v))
        {
            c.after.owners[c.keptCount] = p->owners[v];
            c.kept[c.keptCount++] = v;
        }
    }
    for (uint8_t f = 0; f < p->faceCount; ++f)
    {
        ClipFace(&c, p, keep, f);
    }
    knRegionFace plane = {.source = 0};
    uint8_t v = c.keptCount;
    do
    {
        plane.loop[plane.count++] = v;
        v = c.next[v];
    } while (v != c.keptCount);
    c.after.faces[c.after.faceCount++] = plane;
    c.after.vertexCount = (uint8_t)(c.keptCount + c.madeCount);
    return c;
}

typedef struct Tables
{
    knFirstClip first[16];
    uint8_t next[STATES][16];
    knClip clips[CLIPS];
    Polytope states[15 + CLIPS];
} Tables;

static void FillFirst(Tables* t)
{
    Polytope whole = WholeTet();
    for (uint8_t keep = 1; keep < 15; ++keep)
    {
        Clipping c = ClipPolytope(&whole, keep);
        knFirstClip* first = &t->first[keep];
        first->vertexCount = c.after.vertexCount;
        first->faceCount = c.after.faceCount;
        for (int i = 0; i < c.keptCount; ++i)
        {
            first->ends[i][0] = first->ends[i][1] = c.kept[i];
        }
        memcpy(first->ends + c.keptCount, c.made, c.madeCount * sizeof c.made[0]);
        memcpy(first->faces, c.after.faces, sizeof first->faces);
        first->faces[c.after.faceCount - 1].source = 4;
        t->states[keep] = c.after;
    }
}

// Numbers the clips in the order of the states that they begin from.
static uint32_t FillFurther(Tables* t)
{
    uint32_t count = 1;
    for (uint32_t s = 1; s < 15 + count; ++s)
    {
        const Polytope* p = &t->states[s];
        for (uint8_t keep = 1; keep < p->mask && p->planes < KN_MAX_TET_PLANES; ++keep)
        {
            if ((keep & ~p->mask) != 0)
            {
                continue;
            }
            assert_true(s < STATES && count < CLIPS);
            Clipping c = ClipPolytope(p, keep);
            knClip* clip = &t->clips[count];
            *clip = (knClip){c.keptCount, c.madeCount, c.after.faceCount, {0}, {{0}}, {{0}}};
            assert_true(c.keptCount <= 4 && c.madeCount <= 4 && c.after.faceCount <= 6);
            memcpy(clip->kept, c.kept, sizeof clip->kept);
            memcpy(clip->made, c.made, sizeof clip->made);
            memcpy(clip->faces, c.after.faces, sizeof clip->faces);
            t->next[s][keep] = (uint8_t)count;
            t->states[15 + count] = c.after;
            count += 1;
        }
    }
    return count;
}

static void TablesAreWhatClippingGives(void** state)
{
    (void)state;
    static Tables t;
    FillFirst(&t);
    assert_int_equal(FillFurther(&t), CLIPS);
    assert_int_equal(sizeof knClips / sizeof knClips[0], CLIPS);
    assert_int_equal(sizeof knNextClips / sizeof knNextClips[0], STATES);
    for (int i = 0; i < 16; ++i)
    {
        assert_memory_equal(&t.first[i], &knFirstClips[i], sizeof t.first[i]);
    }
    for (int i = 0; i < CLIPS; ++i)
    {
        assert_memory_equal(&t.clips[i], &knClips[i], sizeof t.clips[i]);
    }
    assert_memory_equal(t.next, knNextClips, sizeof t.next);
}

static void PrintFaces(const knRegionFace* faces, int count)
{
    for (int f = 0; f < count; ++f)
    {
        printf("%s{%d, %d, {", f ? ", " : "", faces[f].source, faces[f].count);
        for (int i = 0; i < faces[f].count; ++i)
        {
            printf("%s%d", i ? ", " : "", faces[f].loop[i]);
        }
        printf("}}");
    }
}

static void PrintPairs(const uint8_t (*pairs)[2], int count)
{
    for (int i = 0; i < count; ++i)
    {
        printf("%s{%d, %d}", i ? ", " : "", pairs[i][0], pairs[i][1]);
    }
}

static void PrintTables(void)
{
    static Tables t;
    FillFirst(&t);
    uint32_t count = FillFurther(&t);
    for (int i = 0; i < 16; ++i)
    {
        printf("{%d, %d, {", t.first[i].vertexCount, t.first[i].faceCount);
        PrintPairs((const uint8_t(*)[2])t.first[i].ends, t.first[i].vertexCount);
        printf("}, {");
        PrintFaces(t.first[i].faces, t.first[i].faceCount);
        printf("}},\n");
    }
    for (int s = 0; s < STATES; ++s)
    {
        for (int k = 0; k < 16; ++k)
        {
            printf("%s%d", k ? ", " : "{", t.next[s][k]);
        }
        printf("},\n");
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        const knClip* c = &t.clips[i];
        printf("{%d, %d, %d, {%d, %d, %d, %d}, {", c->keptCount, c->madeCount, c->faceCount,
               c->kept[0], c->kept[1], c->kept[2], c->kept[3]);
        PrintPairs(c->made, c->madeCount);
        printf("}, {");
        PrintFaces(c->faces, c->faceCount);
        printf("}},\n");
    }
}

int main(int argc, char** argv)
{
    if (argc > 1 && strcmp(argv[1], "--print") == 0)
    {
        PrintTables();
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TablesAreWhatClippingGives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
