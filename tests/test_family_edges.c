// SPDX-License-Identifier: Zlib
// The sharp edges of pieces, judged by their surfaces: every edge of the surface is looked up with
// both its triangles, as the list was once made.
#include "kit.h"
#include "knap/random.h"
#include "pieces.h"
#include "plugin/family_internal.h"

#define MAX_EDGES (1 << 18)

typedef struct SurfaceEdge
{
    uint32_t low, high; // point ids
    uint32_t triangle;
    knVec3 a, b;
} SurfaceEdge;

static int CompareEdges(const void* x, const void* y)
{
    const SurfaceEdge* a = x;
    const SurfaceEdge* b = y;
    if (a->low != b->low)
    {
        return a->low < b->low ? -1 : 1;
    }
    return a->high < b->high ? -1 : a->high > b->high;
}

static int CompareEnds(const void* x, const void* y)
{
    return memcmp(x, y, 2 * sizeof(knVec3));
}

static knVec3 Normal(const knPieceSurface* s, uint32_t triangle)
{
    const uint32_t* v = s->triangles[triangle].v;
    knVec3 o = s->positions[v[0]];
    return knNormalize(knCross(knSub(s->positions[v[1]], o), knSub(s->positions[v[2]], o)));
}

// The height of the second triangle's apex over the first, and the cosine between them.
static float Cosine(const knPieceSurface* s, const SurfaceEdge* a, const SurfaceEdge* b,
                    float* height)
{
    knVec3 n = Normal(s, a->triangle);
    *height = 0.0f;
    for (int k = 0; k < 3; ++k)
    {
        uint32_t v = s->triangles[b->triangle].v[k];
        if (s->pointIds[v] != b->low && s->pointIds[v] != b->high)
        {
            *height = knDot(n, knNormalize(knSub(s->positions[v], b->a)));
        }
    }
    return knDot(n, Normal(s, b->triangle));
}

typedef struct Ends
{
    knVec3 a, b;    // the lesser first, byte by byte
    uint32_t index; // in the list
} Ends;

static Ends Ordered(knVec3 a, knVec3 b)
{
    bool less = memcmp(&a, &b, sizeof a) < 0;
    return less ? (Ends){a, b, 0} : (Ends){b, a, 0};
}

static uint32_t ListSides(const knPieceSurface* s, SurfaceEdge* sides)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3 * s->triangleCount; ++i)
    {
        uint32_t a = s->triangles[i / 3].v[i % 3], b = s->triangles[i / 3].v[(i + 1) % 3];
        bool ordered = s->pointIds[a] < s->pointIds[b];
        uint32_t low = ordered ? a : b, high = ordered ? b : a;
        assert_true(count < MAX_EDGES);
        sides[count++] = (SurfaceEdge){s->pointIds[low], s->pointIds[high], i / 3,
                                       s->positions[low], s->positions[high]};
    }
    qsort(sides, count, sizeof *sides, CompareEdges);
    return count;
}

// The normals of an edge are those of its two triangles, in some order.
static void CheckNormals(const knPieceSurface* s, const knPieceEdge* edge, const SurfaceEdge* sides)
{
    knVec3 x = Normal(s, sides[0].triangle), y = Normal(s, sides[1].triangle);
    const knVec3* n = edge->normals;
    float same = fminf(knDot(n[0], x), knDot(n[1], y));
    float turned = fminf(knDot(n[0], y), knDot(n[1], x));
    assert_true(fmaxf(same, turned) > 0.999f);
}

// Edges far from the limit must be in the list exactly when they are sharp and convex; those at the
// limit may be in it or not. Returns how many are sharp.
static uint32_t CheckPiece(const knFamily* family, uint32_t fragment, knArena* arena)
{
    knPieceSurface s;
    knArena_Reset(arena);
    assert_int_equal(knFragmentSet_Surface(&family->fragments, fragment, NULL, arena, &s),
                     kn_success);
    SurfaceEdge* sides = malloc(MAX_EDGES * sizeof *sides);
    const knPieceEdges* list = &family->edges[fragment];
    Ends* listed = malloc((list->count + 1) * sizeof *listed);
    assert_true(sides && listed);
    for (uint32_t i = 0; i < list->count; ++i)
    {
        listed[i] = Ordered(list->edges[i].a, list->edges[i].b);
        listed[i].index = i;
        assert_int_equal(family->cuts.labels[list->edges[i].node], fragment);
    }
    qsort(listed, list->count, sizeof *listed, CompareEnds);
    uint32_t count = ListSides(&s, sides), sharp = 0, found = 0;
    assert_int_equal(count % 2, 0);
    for (uint32_t i = 0; i < count; i += 2)
    {
        assert_int_equal(CompareEdges(&sides[i], &sides[i + 1]), 0);
        float height;
        float cosine = Cosine(&s, &sides[i], &sides[i + 1], &height);
        Ends ends = Ordered(sides[i].a, sides[i].b);
        const Ends* known = bsearch(&ends, listed, list->count, sizeof *listed, CompareEnds);
        bool isListed = known != NULL;
        found += isListed;
        if (isListed && knDistance(sides[i].a, sides[i].b) > 1e-4f)
        {
            CheckNormals(&s, &list->edges[known->index], &sides[i]);
        }
        if (cosine < family->edgeCosine - 1e-3f && height < -1e-3f)
        {
            assert_true(isListed);
            sharp += 1;
        }
        if (cosine > family->edgeCosine + 1e-3f || height > 1e-3f)
        {
            assert_false(isListed);
        }
    }
    // nothing else, and nothing twice
    assert_int_equal(found, list->count);
    free(sides);
    free(listed);
    return sharp;
}

static uint32_t CheckAll(const knFamily* family, knArena* arena)
{
    uint32_t pieces[512];
    uint32_t count = ListPieces(family, pieces, 512), sharp = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        sharp += CheckPiece(family, pieces[i], arena);
    }
    return sharp;
}

static void BreakSites(knFamily* family, uint32_t fragment, uint32_t count, knRandom* random,
                       knArena* arena)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    knVec3 sites[32];
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t n = knRandom_Below(random, set->fragments[fragment].nodeCount);
        sites[i] = set->cutMesh->mesh->nodes[knFragmentSet_Nodes(set, fragment)[n]];
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = count;
    def.roughness = 0.002f;
    def.roughnessSize = 0.02f;
    knSplitResult result;
    knArena_Reset(arena);
    assert_int_equal(knFamily_Split(family, fragment, &def, arena, &result), kn_success);
}

static void SharpEdgesAreThoseOfTheSurface(void** state)
{
    (void)state;
    static const char* const names[] = {"brick", "bunny"};
    knArena arena;
    assert_int_equal(knCreateArena(&arena, (size_t)32 << 20, NULL), kn_success);
    for (int i = 0; i < 2; ++i)
    {
        TestModel model = OpenDemoModel(names[i]);
        knFamily* family = MakeFamily(&model);
        knRandom random = knMakeRandom((uint64_t)i + 1);
        uint32_t whole = CheckAll(family, &arena);
        BreakSites(family, 0, 8, &random, &arena);
        uint32_t broken = CheckAll(family, &arena);
        assert_true(broken > whole);
        // pieces that break again: old cracks are cut, dropped and handed on
        BreakInto(family, 24, (uint64_t)i + 7);
        assert_true(CheckAll(family, &arena) > broken);
        uint32_t pieces[512];
        ListPieces(family, pieces, 512);
        BreakSites(family, pieces[0], 5, &random, &arena);
        CheckAll(family, &arena);
        knDestroyFamily(family);
        CloseModel(&model);
    }
    knDestroyArena(&arena);
}

// Several splits, followed once.
static void AnEventOfManySplitsHandsEdgesOnAsWell(void** state)
{
    (void)state;
    TestModel model = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&model);
    knFragmentSet* set = knFamily_Cutting(family);
    knRandom random = knMakeRandom(77);
    knArena arena;
    assert_int_equal(knCreateArena(&arena, (size_t)32 << 20, NULL), kn_success);
    for (int event = 0; event < 4; ++event)
    {
        uint32_t pieces[512];
        ListPieces(family, pieces, 512);
        knFragmentMark mark = knFragmentSet_Mark(set);
        uint32_t piece = pieces[0];
        for (int i = 0; i < 5; ++i)
        {
            knSplitDef def = knDefaultSplitDef();
            def.normal = knRandom_UnitVec3(&random);
            def.offset = knDot(def.normal, knToFloat(set->fragments[piece].mass.center));
            knSplitResult result;
            knArena_Reset(&arena);
            assert_int_equal(knFragmentSet_Split(set, piece, &def, &arena, &result), kn_success);
            piece = result.outcome == kn_splitDone ? result.delta.fragments[0] : piece;
        }
        knFractureDelta delta;
        knArena_Reset(&arena);
        assert_int_equal(knFragmentSet_DeltaSince(set, pieces[0], mark, &arena, &delta),
                         kn_success);
        assert_int_equal(knFamily_Follow(family, &delta), kn_success);
        CheckAll(family, &arena);
    }
    knDestroyArena(&arena);
    knDestroyFamily(family);
    CloseModel(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(SharpEdgesAreThoseOfTheSurface),
        cmocka_unit_test(AnEventOfManySplitsHandsEdgesOnAsWell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
