// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "knap/spheretree.h"
#include "tet_shapes.h"

#include <math.h>

typedef struct Section
{
    void* bytes;
    size_t size;
    knTetMesh mesh; // nodes only
} Section;

static Section Encode(const knVec3* nodes, uint32_t count)
{
    Section s = {.mesh = {.nodes = nodes, .nodeCount = count, .surfaceNodeCount = count}};
    assert_int_equal(knEncodeSphereTree(&s.mesh, NULL, &s.bytes, &s.size), kn_success);
    return s;
}

static void Destroy(Section* s)
{
    knRelease(NULL, s->bytes, s->size, 1);
}

static double Distance2(knVec3 a, knVec3 b)
{
    double x = (double)a.x - (double)b.x;
    double y = (double)a.y - (double)b.y;
    double z = (double)a.z - (double)b.z;
    return x * x + y * y + z * z;
}

// The paper's tree with a node for every point on every level: parents[l][k] is the parent, on
// level l, of rank k of level l + 1; radius2[l][k] the squared radius of rank k on level l.
#define MAX_LEVELS 12
typedef struct Levels
{
    uint32_t count; // of levels
    uint32_t* parents[MAX_LEVELS];
    double* radius2[MAX_LEVELS];
} Levels;

static uint32_t Width(uint32_t level, uint32_t count)
{
    return (1u << level) < count ? 1u << level : count;
}

static uint32_t Closest(const knVec3* nodes, const uint32_t* order, uint32_t width, knVec3 p)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < width; ++k)
    {
        best = Distance2(nodes[order[k]], p) < Distance2(nodes[order[best]], p) ? k : best;
    }
    return best;
}

static Levels MakeLevels(const knVec3* nodes, const uint32_t* order, uint32_t count)
{
    Levels levels = {.count = 1};
    while (1u << (levels.count - 1) < count)
    {
        ++levels.count;
    }
    assert_true(levels.count <= MAX_LEVELS);
    for (uint32_t l = 0; l < levels.count; ++l)
    {
        levels.parents[l] = calloc(count, sizeof(uint32_t));
        levels.radius2[l] = calloc(count, sizeof(double));
        assert_true(levels.parents[l] && levels.radius2[l]);
        for (uint32_t k = 0; l + 1 < levels.count && k < Width(l + 1, count); ++k)
        {
            uint32_t width = Width(l, count);
            levels.parents[l][k] = k < width ? k : Closest(nodes, order, width, nodes[order[k]]);
        }
    }
    for (uint32_t k = 0; k < count; ++k)
    {
        uint32_t ancestor = k;
        for (uint32_t l = levels.count - 1; l-- > 0;)
        {
            ancestor = levels.parents[l][ancestor];
            double d = Distance2(nodes[order[ancestor]], nodes[order[k]]);
            levels.radius2[l][ancestor] = fmax(levels.radius2[l][ancestor], d);
        }
    }
    return levels;
}

static void DestroyLevels(Levels* levels)
{
    for (uint32_t l = 0; l < levels->count; ++l)
    {
        free(levels->parents[l]);
        free(levels->radius2[l]);
    }
}

// The radius of a point at a level: of the first child that enters later.
static float RadiusAt(const knSphereTree* tree, uint32_t node, uint32_t level)
{
    uint32_t c = tree->links.first[node];
    while (c != KN_NONE && tree->links.level[c] <= level)
    {
        c = tree->links.next[c];
    }
    return c == KN_NONE ? 0.0f : tree->links.reach[c];
}

static void AssertRadius(float radius, double distance2)
{
    double r = (double)radius;
    double below = (double)nextafterf(radius, -1.0f);
    assert_true(r * r >= distance2);
    assert_true(radius == 0.0f || below * below < distance2);
}

static void AssertTree(const knVec3* nodes, uint32_t count)
{
    Section s = Encode(nodes, count);
    knSphereTree tree;
    assert_int_equal(knOpenSphereTree(&tree, s.bytes, s.size, &s.mesh, NULL), kn_success);
    uint32_t* order = malloc(count * sizeof(uint32_t));
    assert_non_null(order);
    assert_int_equal(knOrderByMaximumDistance(nodes, count, order, NULL), kn_success);
    assert_memory_equal(order, tree.order, count * sizeof(uint32_t));
    Levels levels = MakeLevels(nodes, order, count);
    assert_int_equal(levels.count, tree.levelCount);
    for (uint32_t l = 0; l < levels.count; ++l)
    {
        for (uint32_t k = 0; k < Width(l, count); ++k)
        {
            uint32_t node = order[k];
            AssertRadius(RadiusAt(&tree, node, l), levels.radius2[l][k]);
            bool enters = l > 0 && k >= Width(l - 1, count);
            if (enters)
            {
                assert_int_equal(tree.links.level[node], l);
                assert_int_equal(tree.links.parent[node], order[levels.parents[l - 1][k]]);
            }
        }
    }
    assert_int_equal(tree.links.parent[order[0]], KN_SPHERE_ROOT);
    DestroyLevels(&levels);
    free(order);
    Destroy(&s);
}

// One node per point stands for the paper's chain of nodes: same parents, same radii.
static void LevelsParentsAndRadiiAreThoseOfThePaper(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(21);
    knBox box = {{-1.0f, -1.0f, 0.0f}, {1.0f, 3.0f, 0.5f}};
    knVec3 points[1500];
    for (uint32_t i = 0; i < COUNT_OF(points); ++i)
    {
        points[i] = knRandom_InBox(&random, box);
    }
    for (uint32_t count = 1; count < 40; ++count)
    {
        AssertTree(points, count);
    }
    AssertTree(points, COUNT_OF(points));
    for (uint32_t i = 0; i < 1000; ++i)
    {
        points[i] = knMakeVec3((float)(i % 10), (float)(i / 10 % 10), (float)(i / 100));
    }
    AssertTree(points, 1000);
    for (uint32_t i = 0; i < 700; ++i)
    {
        points[i] = points[knRandom_Below(&random, 1 + i / 3)];
    }
    AssertTree(points, 700);
    TetShape ball = MakeBall(8, 1.0f, knMakeVec3(5.0f, 0.0f, 0.0f));
    AssertTree(ball.nodes, ball.nodeCount);
    DestroyShape(&ball);
}

static float RadiusUp(double distance2)
{
    float r = 0.999f * (float)sqrt(distance2);
    while ((double)r * (double)r < distance2)
    {
        r = nextafterf(r, INFINITY);
    }
    return r;
}

// Algorithm 1 on the tree with a node per point and level: entry[k] is the level that rank k is
// first met at, or KN_NONE. A sphere is hit when it reaches below the plane x = offset.
static void WalkLevels(const Levels* levels, const knVec3* nodes, const uint32_t* order,
                       uint32_t count, float offset, uint32_t* entry)
{
    bool* live = calloc(count, 1);
    assert_non_null(live);
    memset(entry, 0xFF, count * sizeof(uint32_t));
    live[0] = true;
    entry[0] = 0;
    for (uint32_t l = 0; l + 1 < levels->count; ++l)
    {
        bool* hit = calloc(count, 1);
        assert_non_null(hit);
        for (uint32_t k = 0; k < Width(l, count); ++k)
        {
            hit[k] = live[k] && nodes[order[k]].x - offset < RadiusUp(levels->radius2[l][k]);
        }
        for (uint32_t k = 0; k < Width(l + 1, count); ++k)
        {
            live[k] = hit[levels->parents[l][k]];
            entry[k] = live[k] && entry[k] == KN_NONE ? l + 1 : entry[k];
        }
        free(hit);
    }
    free(live);
}

static void WalkTree(const knSphereTree* tree, const knTetMesh* mesh, float offset, uint32_t* entry)
{
    knSphereForestDef def = {.tree = tree, .mesh = mesh, .maxRoots = 2};
    knSphereForest forest;
    assert_int_equal(knCreateSphereForest(&forest, &def, NULL), kn_success);
    knCutStore cuts = {.nodeCount = mesh->nodeCount};
    knSphereQueryItem* items = malloc(mesh->nodeCount * sizeof *items);
    assert_non_null(items);
    knSphereQuery query;
    knSphereBatch batch = {.count = 0};
    knSphereQuery_Begin(&query, &forest, &cuts, 0, items, mesh->nodeCount);
    memset(entry, 0xFF, mesh->nodeCount * sizeof(uint32_t));
    while (knSphereQuery_Next(&query, &batch))
    {
        for (uint32_t i = 0; i < batch.count; ++i)
        {
            batch.descend[i] = batch.x[i] - offset < batch.radius[i];
            assert_true((entry[batch.point[i]] == KN_NONE) == batch.first[i]);
            entry[batch.point[i]] = batch.first[i] ? batch.level : entry[batch.point[i]];
        }
    }
    free(items);
    knDestroySphereForest(&forest);
}

// One node per point must change nothing: the same points are met, each on the same level.
static void TheWalkIsThatOfThePaper(void** state)
{
    (void)state;
    TetShape ball = MakeBall(9, 1.0f, knMakeVec3(0.0f, 0.0f, 0.0f));
    uint32_t count = ball.nodeCount;
    Section s = Encode(ball.nodes, count);
    knSphereTree tree;
    assert_int_equal(knOpenSphereTree(&tree, s.bytes, s.size, &s.mesh, NULL), kn_success);
    Levels levels = MakeLevels(ball.nodes, tree.order, count);
    uint32_t* expected = malloc(count * sizeof(uint32_t));
    uint32_t* entry = malloc(count * sizeof(uint32_t));
    assert_true(expected && entry);
    for (float offset = -1.2f; offset < 1.2f; offset += 0.07f)
    {
        WalkLevels(&levels, ball.nodes, tree.order, count, offset, expected);
        WalkTree(&tree, &s.mesh, offset, entry);
        for (uint32_t k = 0; k < count; ++k)
        {
            assert_int_equal(entry[tree.order[k]], expected[k]);
        }
    }
    free(expected);
    free(entry);
    DestroyLevels(&levels);
    Destroy(&s);
    DestroyShape(&ball);
}

static void TheSameMeshGivesTheSameBytes(void** state)
{
    (void)state;
    TetShape ball = MakeBall(6, 1.0f, knMakeVec3(0.0f, 0.0f, 0.0f));
    Section a = Encode(ball.nodes, ball.nodeCount);
    Section b = Encode(ball.nodes, ball.nodeCount);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    // 21 bytes a point, a header and five ends of lines
    assert_true(a.size <= 21 * (size_t)ball.nodeCount + 7 * 64);
    Destroy(&a);
    Destroy(&b);
    DestroyShape(&ball);
}

// What passed the checks must be usable: the walk ends and meets every point once.
static void AssertUsable(const knSphereTree* tree, const knTetMesh* mesh)
{
    knSphereForestDef def = knDefaultSphereForestDef();
    def.tree = tree;
    def.mesh = mesh;
    knSphereForest forest;
    assert_int_equal(knCreateSphereForest(&forest, &def, NULL), kn_success);
    knSphereQueryItem items[64];
    knCutStore cuts = {.nodeCount = mesh->nodeCount};
    knSphereQuery query;
    knSphereBatch batch = {.count = 0};
    assert_true(mesh->nodeCount <= COUNT_OF(items));
    knSphereQuery_Begin(&query, &forest, &cuts, 0, items, COUNT_OF(items));
    uint64_t met = 0;
    while (knSphereQuery_Next(&query, &batch))
    {
        for (uint32_t i = 0; i < batch.count; ++i)
        {
            uint64_t bit = (uint64_t)1 << batch.point[i];
            assert_true(batch.first[i] == ((met & bit) == 0));
            met |= bit;
            batch.descend[i] = 1;
        }
    }
    assert_int_equal(query.lostCount, 0);
    assert_true(met == ((uint64_t)1 << mesh->nodeCount) - 1);
    knDestroySphereForest(&forest);
}

// Returns whether the bytes were taken.
static bool TryBytes(const void* bytes, size_t size, const knTetMesh* mesh)
{
    knSphereTree tree;
    MarkUntouched(&tree, sizeof tree);
    knResult result = knOpenSphereTree(&tree, bytes, size, mesh, NULL);
    if (result != kn_success)
    {
        assert_true(result == kn_errorFormat || result == kn_errorVersion);
        assert_true(IsUntouched(&tree, sizeof tree));
        return false;
    }
    AssertUsable(&tree, mesh);
    return true;
}

static TetShape SmallBox(void)
{
    const int cells[3] = {2, 3, 2};
    TetShape box = MakeLatticeBox(cells, knMakeVec3(0, 0, 0), knMakeVec3(1.0f, 2.0f, 0.7f));
    JitterAll(&box, 0.05f, 4);
    return box;
}

static void EveryFlippedBitIsCaughtOrHarmless(void** state)
{
    (void)state;
    TetShape box = SmallBox();
    Section s = Encode(box.nodes, box.nodeCount);
    unsigned char* bytes = s.bytes;
    assert_true(TryBytes(bytes, s.size, &s.mesh));
    uint32_t taken = 0;
    for (size_t i = 0; i < 8 * s.size; ++i)
    {
        bytes[i / 8] ^= (unsigned char)(1u << (i % 8));
        taken += TryBytes(bytes, s.size, &s.mesh);
        bytes[i / 8] ^= (unsigned char)(1u << (i % 8));
    }
    // a radius may grow without harm where no mean is touched, hardly anything else
    assert_true(taken < s.size / 4);
    for (uint32_t i = 0; i < s.size; ++i)
    {
        for (unsigned value = 0; value < 256; value += 51)
        {
            unsigned char old = bytes[i];
            bytes[i] = (unsigned char)value;
            TryBytes(bytes, s.size, &s.mesh);
            bytes[i] = old;
        }
    }
    Destroy(&s);
    DestroyShape(&box);
}

// Several wrong words at once: links that agree with one another but lead in circles.
static void ManyWrongWordsAreCaughtOrHarmless(void** state)
{
    (void)state;
    TetShape box = SmallBox();
    Section s = Encode(box.nodes, box.nodeCount);
    Section copy = Encode(box.nodes, box.nodeCount);
    knRandom random = knMakeRandom(99);
    uint32_t* words = s.bytes;
    for (int round = 0; round < 30000; ++round)
    {
        uint32_t changes = 1 + knRandom_Below(&random, 4);
        for (uint32_t i = 0; i < changes; ++i)
        {
            uint32_t at = 1 + knRandom_Below(&random, (uint32_t)(s.size / 4) - 1);
            words[at] = knRandom_Below(&random, 4) ? knRandom_Below(&random, box.nodeCount)
                                                   : words[knRandom_Below(&random, at)];
        }
        TryBytes(s.bytes, s.size, &s.mesh);
        memcpy(s.bytes, copy.bytes, s.size);
    }
    Destroy(&s);
    Destroy(&copy);
    DestroyShape(&box);
}

static void WrongLengthsAndMeshesAreRefused(void** state)
{
    (void)state;
    TetShape box = SmallBox();
    Section s = Encode(box.nodes, box.nodeCount);
    for (size_t size = 0; size < s.size; ++size)
    {
        // memory of hardly more than that size, so that a sanitizer sees a read past it
        unsigned char* shorter = aligned_alloc(64, (size + 64) & ~(size_t)63);
        assert_non_null(shorter);
        memcpy(shorter, s.bytes, size);
        assert_false(TryBytes(shorter, size, &s.mesh));
        free(shorter);
    }
    knTetMesh other = s.mesh;
    other.nodeCount -= 1;
    assert_false(TryBytes(s.bytes, s.size, &other));
    knVec3* moved = malloc(box.nodeCount * sizeof(knVec3));
    assert_non_null(moved);
    memcpy(moved, box.nodes, box.nodeCount * sizeof(knVec3));
    moved[5].x += 10.0f;
    other = s.mesh;
    other.nodes = moved;
    assert_false(TryBytes(s.bytes, s.size, &other));
    free(moved);
    Destroy(&s);
    DestroyShape(&box);
}

static knResult Attempt(const knAllocator* allocator, void* context)
{
    const TetShape* shape = context;
    knTetMesh mesh = {.nodes = shape->nodes, .nodeCount = shape->nodeCount};
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knEncodeSphereTree(&mesh, allocator, &bytes, &size);
    if (result != kn_success)
    {
        assert_true(!bytes && size == 0);
        return result;
    }
    knSphereTree tree;
    result = knOpenSphereTree(&tree, bytes, size, &mesh, allocator);
    knRelease(allocator, bytes, size, 1);
    return result;
}

static void FailedAllocationsAreSurvived(void** state)
{
    (void)state;
    TetShape box = SmallBox();
    SurviveAllocationFailures(Attempt, &box);
    DestroyShape(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(LevelsParentsAndRadiiAreThoseOfThePaper),
        cmocka_unit_test(TheWalkIsThatOfThePaper),
        cmocka_unit_test(TheSameMeshGivesTheSameBytes),
        cmocka_unit_test(EveryFlippedBitIsCaughtOrHarmless),
        cmocka_unit_test(ManyWrongWordsAreCaughtOrHarmless),
        cmocka_unit_test(WrongLengthsAndMeshesAreRefused),
        cmocka_unit_test(FailedAllocationsAreSurvived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
