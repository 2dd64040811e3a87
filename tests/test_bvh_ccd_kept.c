// SPDX-License-Identifier: Zlib
#include "ccd_sheet.h"

// What a step keeps from run to run: it follows the triangles, and nothing half done is taken for
// whole.

// The same features touch as in a step that is new.
static size_t AssertAsNew(const knCcdStep* kept, const knCcdStepDef* def)
{
    knCcdStep* fresh;
    size_t keptCount, freshCount;
    assert_int_equal(knCreateCcdStep(&fresh, NULL), kn_success);
    assert_int_equal(knCcdStep_Run(fresh, def), kn_success);
    const knCcdContact* a = knCcdStep_Contacts(kept, &keptCount);
    const knCcdContact* b = knCcdStep_Contacts(fresh, &freshCount);
    assert_int_equal(keptCount, freshCount);
    for (size_t i = 0; i < keptCount; ++i)
    {
        assert_true(a[i].kind == b[i].kind && a[i].a == b[i].a && a[i].b == b[i].b);
    }
    knDestroyCcdStep(fresh);
    return keptCount;
}

// Where memory runs out in a step, the next finds all again: nothing half done is taken for whole.
static void AFailureLosesNothing(void** state)
{
    (void)state;
    static Sheet s;
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    int failures = 0;
    MakeSheet(&s, 0.1f);
    // steps that do not divide the number of methods, so that all have their turn
    for (int i = 0; i < 40 * kn_ccdMethodCount; i += ROUND_STEP == 1 ? 1 : 4)
    {
        knCcdStep* step;
        knCcdStepDef def = DefOf(&s);
        assert_int_equal(knCreateCcdStep(&step, &allocator), kn_success);
        def.method = (knCcdMethod)(i % kn_ccdMethodCount);
        def.triangleCount = FACES / 2;
        def.vertexCount = SIDE * SIDE;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        def.triangleCount = FACES;
        tracker.failAtCall = tracker.callCount + 1 + (size_t)(i / kn_ccdMethodCount);
        bool hasFailed = knCcdStep_Run(step, &def) != kn_success;
        tracker.failAtCall = 0;
        failures += hasFailed;
        assert_int_equal(knCcdStep_Run(step, &def), kn_success);
        assert_true(AssertAsNew(step, &def) > 0);
        knDestroyCcdStep(step);
    }
    assert_true(failures > 20 / ROUND_STEP);
    assert_int_equal(tracker.liveCount, 0);
}

// What is kept of contours follows the triangles: a sheet is culled in parts, and where corners
// change places in it, a kept step finds what a new one finds.
static void ContoursFollowChanges(void** state)
{
    (void)state;
    static Sheet s;
    uint64_t culled = 0, touching = 0;
    knCcdStep* kept;
    assert_int_equal(knCreateCcdStep(&kept, NULL), kn_success);
    for (int change = 0; change < 60 / ROUND_STEP; ++change)
    {
        knCcdStepDef def = DefOf(&s);
        def.vertexCount = SIDE * SIDE;
        if (change % 4 == 0)
        {
            MakeSheet(&s, 0.001f);
            for (uint32_t i = 0; i < SIDE * SIDE; ++i)
            {
                s.start[i].x = s.end[i].x =
                    (float)(i % SIDE) + 0.01f * (float)(i / SIDE); // unfolded
                s.start[i].z = s.end[i].z = Jitter(0.01f);
            }
        }
        for (int c = 0; c < 2; ++c)
        {
            def.culling = c ? kn_ccdCullCones : kn_ccdCullExact;
            assert_int_equal(knCcdStep_Run(kept, &def), kn_success);
            culled += knCcdStep_Funnel(kept).culledNodes;
            touching += AssertAsNew(kept, &def);
        }
        knTriangle* t = &s.triangles[Next(FACES)];
        uint32_t v = Next(SIDE * SIDE), w = t->v[0];
        bool isOther = v != t->v[0] && v != t->v[1] && v != t->v[2];
        t->v[0] = isOther ? v : t->v[1];
        t->v[1] = isOther ? t->v[1] : w; // or it is turned over
    }
    assert_true(culled > 0 && touching > 0);
    knDestroyCcdStep(kept);
}

#define PATCHES      24
#define PATCH_SIDE   7
#define PATCH_POINTS (PATCH_SIDE * PATCH_SIDE)
#define PATCH_FACES  (2 * (PATCH_SIDE - 1) * (PATCH_SIDE - 1))
#define SCENE_FACES  (PATCHES * PATCH_FACES + 40)
#define SCENE_POINTS (PATCHES * PATCH_POINTS + 120)

typedef struct Patches
{
    knVec3 start[SCENE_POINTS], end[SCENE_POINTS], speed[PATCHES];
    knTriangle triangles[SCENE_FACES];
} Patches;

// Bent patches that fly about, and forty triangles alone.
static void MakePatches(Patches* p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < PATCHES * PATCH_POINTS; ++i)
    {
        float x = (float)(i % PATCH_SIDE), y = (float)(i % PATCH_POINTS / PATCH_SIDE);
        p->start[i] = knMakeVec3(x + Jitter(0.1f), y + Jitter(0.1f), 0.2f * x * y + Jitter(0.1f));
    }
    for (uint32_t i = 0; i < PATCHES * PATCH_POINTS; ++i)
    {
        if (i % PATCH_SIDE + 1 < PATCH_SIDE && i % PATCH_POINTS + PATCH_SIDE < PATCH_POINTS)
        {
            p->triangles[count++] = (knTriangle){{i, i + 1, i + PATCH_SIDE}};
            p->triangles[count++] = (knTriangle){{i + 1, i + PATCH_SIDE + 1, i + PATCH_SIDE}};
        }
    }
    for (uint32_t i = PATCHES * PATCH_POINTS; i < SCENE_POINTS; ++i)
    {
        knVec3 corner = knMakeVec3(Jitter(1.0f), Jitter(1.0f), Jitter(1.0f));
        p->start[i] =
            knAdd(knScale(0.5f * (float)(i / 3 % 40), knMakeVec3(1.0f, 1.0f, 0.1f)), corner);
        p->triangles[count + (i - PATCHES * PATCH_POINTS) / 3].v[i % 3] = i;
    }
    for (int i = 0; i < PATCHES; ++i)
    {
        p->speed[i] = knMakeVec3(Jitter(4.0f), Jitter(4.0f), Jitter(4.0f));
    }
}

static void MovePatches(Patches* p, float scale)
{
    for (uint32_t i = 0; i < SCENE_POINTS; ++i)
    {
        knVec3 v = i < PATCHES * PATCH_POINTS ? p->speed[i / PATCH_POINTS] : p->speed[0];
        p->end[i] = knAdd(p->start[i], knScale(scale, v));
    }
}

// Triangles below a node, and how many of them hang together with the first by edges.
static uint32_t CountBelow(const knCcdStep* s, uint32_t node, uint32_t* triangles)
{
    const knCcdLink* link = &s->links[node];
    if (link->count == 0)
    {
        uint32_t count = CountBelow(s, link->child, triangles);
        return count + CountBelow(s, link->child + 1, triangles + count);
    }
    for (uint32_t i = 0; i < link->count; ++i)
    {
        triangles[i] = s->items[s->leaves[link->child].item + i].triangle;
    }
    return link->count;
}

static uint32_t CountConnected(const knCcdStep* s, uint32_t* triangles, uint32_t count)
{
    uint32_t reached = 1;
    for (uint32_t at = 0; at < reached; ++at)
    {
        for (uint32_t i = reached; i < count; ++i)
        {
            const uint32_t* e = &s->triangleEdges[3 * (size_t)triangles[at]];
            const uint32_t* f = &s->triangleEdges[3 * (size_t)triangles[i]];
            bool isShared = false;
            for (int k = 0; k < 9; ++k)
            {
                isShared = isShared || e[k / 3] == f[k % 3];
            }
            if (isShared)
            {
                uint32_t t = triangles[reached];
                triangles[reached++] = triangles[i];
                triangles[i] = t;
            }
        }
    }
    return reached;
}

static int CompareNumbers(const void* a, const void* b)
{
    uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
    return (x > y) - (x < y);
}

// Every triangle stands in one leaf, parents know their children, and below the root of an object
// all that is below a node hangs together.
static void CheckObjects(const knCcdStep* s)
{
    static uint32_t triangles[SCENE_FACES];
    assert_int_equal(CountBelow(s, 0, triangles), SCENE_FACES);
    qsort(triangles, SCENE_FACES, sizeof *triangles, CompareNumbers);
    for (uint32_t i = 0; i < SCENE_FACES; ++i)
    {
        assert_int_equal(triangles[i], i);
    }
    uint32_t connected = 0;
    for (uint32_t node = 2; node < s->nodeCount; ++node)
    {
        const knCcdLink* link = &s->links[node];
        const knCcdLink* parent = &s->links[link->parent];
        assert_true(parent->count == 0 && parent->child == (node & ~1u));
        uint32_t count = CountBelow(s, node, triangles);
        bool isWhole = CountConnected(s, triangles, count) == count;
        assert_true(isWhole || node < s->topCount);
        connected += isWhole;
    }
    assert_true(connected >= 2 * PATCHES);
    assert_int_equal(s->topCount, 2 * s->objectCount);
}

// The trees of objects stay, the one above is built anew as they go apart, and what is found is
// what a new step finds that goes by medians.
static void ObjectsKeepTheirTrees(void** state)
{
    (void)state;
    static Patches p;
    knCcdStep* kept;
    uint32_t restructured = 0, placeOfFirst = 0;
    size_t touching = 0;
    assert_int_equal(knCreateCcdStep(&kept, NULL), kn_success);
    MakePatches(&p);
    for (int i = 0; i < 12; ++i)
    {
        MovePatches(&p, 0.3f);
        knCcdStepDef def = knDefaultCcdStepDef();
        def.start = p.start;
        def.end = p.end;
        def.vertexCount = SCENE_POINTS;
        def.triangles = p.triangles;
        def.triangleCount = SCENE_FACES;
        def.build = kn_ccdByConnectivity;
        def.bound = i % 2 ? kn_ccdDops : kn_ccdBoxes;
        def.method = i % 3 ? kn_ccdTriangles : kn_ccdFeatures;
        assert_int_equal(knCcdStep_Run(kept, &def), kn_success);
        CheckObjects(kept);
        // the same leaf, at another place
        restructured += i > 0 && kept->objects[0].node != placeOfFirst;
        placeOfFirst = kept->objects[0].node;
        assert_int_equal(kept->leaves[0].item, 0);
        def.build = kn_ccdByMedians;
        def.bound = kn_ccdBoxes;
        touching += AssertAsNew(kept, &def);
        memcpy(p.start, p.end, sizeof p.start);
    }
    assert_true(restructured > 0 && restructured < 11);
    knCcdStepDef none = knDefaultCcdStepDef();
    none.build = kn_ccdBuildCount;
    assert_int_equal(knCcdStep_Run(kept, &none), kn_errorArgument);
    none = knDefaultCcdStepDef();
    none.bound = kn_ccdBoundCount;
    assert_int_equal(knCcdStep_Run(kept, &none), kn_errorArgument);
    assert_true(touching > 0);
    knDestroyCcdStep(kept);
}

// Diagonals leave fewer pairs than boxes, and lose nothing at the ends of what floats can hold.
static void DopsCullMoreAndLoseNothing(void** state)
{
    (void)state;
    static Sheet s;
    static const float scales[3] = {1.0f, 0x1p122f, 0x1p-140f};
    for (int i = 0; i < 3; ++i)
    {
        MakeSheet(&s, 0.1f);
        for (int k = 0; k < 2 * VERTICES; ++k)
        {
            knVec3* v = k % 2 ? &s.end[k / 2] : &s.start[k / 2];
            *v = knScale(scales[i], *v);
        }
        uint64_t pairs[2];
        for (int bound = 0; bound < 2; ++bound)
        {
            knCcdStep* step;
            knCcdStepDef def = DefOf(&s);
            def.method = kn_ccdTriangles;
            def.bound = (knCcdBound)bound;
            assert_int_equal(knCreateCcdStep(&step, NULL), kn_success);
            assert_int_equal(knCcdStep_Run(step, &def), kn_success);
            pairs[bound] = knCcdStep_Funnel(step).trianglePairs;
            def.bound = kn_ccdBoxes;
            assert_true(AssertAsNew(step, &def) > 0);
            knDestroyCcdStep(step);
        }
        assert_true(pairs[1] < pairs[0] || i == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AFailureLosesNothing),
        cmocka_unit_test(ContoursFollowChanges),
        cmocka_unit_test(ObjectsKeepTheirTrees),
        cmocka_unit_test(DopsCullMoreAndLoseNothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
