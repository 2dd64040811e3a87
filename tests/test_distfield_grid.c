// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"
#include "field_oracle.h"
#include "kit.h"
#include "tet_shapes.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define EFFORT 1
#else
#define EFFORT 5
#endif

// A mesh with its cooked sections.
typedef struct Solid
{
    TetShape shape;
    knTetMeshStore store;
    knCutStore cuts;
    void* locatorBytes;
    void* gridBytes;
    size_t locatorSize, gridSize;
    knTetLocator locator;
    knDistanceGrid grid;
} Solid;

static Solid* MakeSolid(TetShape shape, const knGridDef* def)
{
    Solid* s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->shape = shape;
    assert_int_equal(
        knBuildTetMesh(&s->store, shape.nodes, shape.nodeCount, shape.tets, shape.tetCount, NULL),
        kn_success);
    const knTetMesh* mesh = &s->store.mesh;
    assert_int_equal(knCreateCutStore(&s->cuts, mesh, NULL), kn_success);
    assert_int_equal(knCookTetLocator(mesh, NULL, &s->locatorBytes, &s->locatorSize), kn_success);
    assert_int_equal(knOpenTetLocator(&s->locator, mesh, s->locatorBytes, s->locatorSize, NULL),
                     kn_success);
    knGridDef standard = knDefaultGridDef();
    assert_int_equal(
        knCookDistanceGrid(def ? def : &standard, &s->locator, NULL, &s->gridBytes, &s->gridSize),
        kn_success);
    assert_int_equal(knOpenDistanceGrid(&s->grid, mesh, s->gridBytes, s->gridSize), kn_success);
    return s;
}

static void DestroySolid(Solid* s)
{
    knRelease(NULL, s->locatorBytes, s->locatorSize, 1);
    knRelease(NULL, s->gridBytes, s->gridSize, 1);
    knDestroyCutStore(&s->cuts);
    knDestroyTetMeshStore(&s->store);
    DestroyShape(&s->shape);
    free(s);
}

static TetShape MakeNotched(void)
{
    // a block with one corner missing, so that walks leave through concave parts
    const int cells[3] = {6, 6, 6};
    TetShape shape =
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
    uint32_t kept = 0;
    for (uint32_t t = 0; t < shape.tetCount; ++t)
    {
        knVec3 sum = {0.0f, 0.0f, 0.0f};
        for (int i = 0; i < 4; ++i)
        {
            sum = knAddScaled(sum, 0.25f, shape.nodes[shape.tets[t].v[i]]);
        }
        if (sum.x < 0.5f || sum.y < 0.5f || sum.z < 0.34f)
        {
            shape.tets[kept++] = shape.tets[t];
        }
    }
    shape.tetCount = kept;
    // unused nodes would be no valid mesh: give them to nobody by compacting
    uint32_t* map = malloc(shape.nodeCount * sizeof(uint32_t));
    assert_non_null(map);
    memset(map, 0xFF, shape.nodeCount * sizeof(uint32_t));
    uint32_t count = 0;
    for (uint32_t n = 0; n < shape.nodeCount; ++n)
    {
        bool used = false;
        for (uint32_t i = 0; i < 4 * kept && !used; ++i)
        {
            used = shape.tets[i / 4].v[i % 4] == n;
        }
        if (used)
        {
            shape.nodes[count] = shape.nodes[n];
            map[n] = count++;
        }
    }
    for (uint32_t i = 0; i < 4 * kept; ++i)
    {
        shape.tets[i / 4].v[i % 4] = map[shape.tets[i / 4].v[i % 4]];
    }
    shape.nodeCount = count;
    free(map);
    return shape;
}

// Cooked once for all tests; released at the end.
static Solid* numbered[3];

static Solid* GetSolid(int index)
{
    if (numbered[index])
    {
        return numbered[index];
    }
    const int slab[3] = {20, 20, 1};
    TetShape shape;
    switch (index)
    {
    case 0:
        shape = MakeBall(8, 0.7f, knMakeVec3(0.1f, -0.2f, 3.0f));
        JitterInside(&shape, 0.003f, 7);
        break;
    case 1:
        shape = MakeLatticeBox(slab, knMakeVec3(-1.0f, -1.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 0.05f));
        break;
    default:
        shape = MakeNotched();
        break;
    }
    numbered[index] = MakeSolid(shape, NULL);
    return numbered[index];
}

static int ReleaseSolids(void** state)
{
    (void)state;
    for (int i = 0; i < 3; ++i)
    {
        if (numbered[i])
        {
            DestroySolid(numbered[i]);
        }
    }
    return 0;
}

// What the grid says must be the distance to the nearest triangle, within the error that it names,
// and that error at most half a cell's diagonal where the bricks are dense.
static void GridAgreesWithEveryTriangle(void** state)
{
    (void)state;
    for (int index = 0; index < 3; ++index)
    {
        Solid* s = GetSolid(index);
        Oracle o = MakeOracle(&s->store.mesh, &s->cuts, 0);
        knRandom random = knMakeRandom(11);
        float size = (float)o.radius;
        double mean = 0.0, worst = 0.0;
        int count = 2000 * EFFORT;
        for (int i = 0; i < count; ++i)
        {
            knVec3 normal, p = OraclePoint(&o, &random, &normal);
            float reach = i % 2 ? s->grid.spacing * 1.9f : size;
            p = knAddScaled(p, reach * knRandom_Float(&random), knRandom_UnitVec3(&random));
            double d = OracleDistance(&o, p, false, NULL);
            d = OracleWinding(&o, p) ? -d : d;
            knGridSample sample = knDistanceGrid_Sample(&s->grid, p);
            double error = fabs((double)sample.distance - d);
            assert_true(error <= (double)sample.error);
            if (i % 2)
            {
                assert_true(sample.error <= 0.8661f * s->grid.spacing + 0.01f * s->grid.spacing);
                mean += error / (double)s->grid.spacing;
                worst = fmax(worst, error / (double)s->grid.spacing);
            }
        }
        print_message("grid %d: spacing %.4f of thickness %.4f, error mean %.3f worst %.3f cells, "
                      "%zu bytes\n",
                      index, (double)s->grid.spacing, (double)s->grid.thickness,
                      mean / (count / 2.0), worst, s->gridSize);
        DestroyOracle(&o);
    }
}

// Near a flat face the gradient is the normal.
static void GradientPointsOut(void** state)
{
    (void)state;
    Solid* s = GetSolid(1);
    knRandom random = knMakeRandom(3);
    for (int i = 0; i < 1000; ++i)
    {
        knVec3 p = {knRandom_Range(&random, -0.8f, 0.8f), knRandom_Range(&random, -0.8f, 0.8f),
                    knRandom_Range(&random, 0.04f, 0.07f)};
        knVec3 g = knDistanceGrid_Sample(&s->grid, p).gradient;
        ASSERT_NEAR(g.z, 1.0, 1e-2);
        ASSERT_NEAR(knLength(g), 1.0, 1e-2);
    }
}

// A wall gets four cells, unless the budget forbids it.
static void SpacingFollowsWallAndBudget(void** state)
{
    (void)state;
    Solid* s = GetSolid(1);
    ASSERT_NEAR(s->grid.thickness, 0.05, 1e-6);
    assert_true(s->grid.spacing <= 0.25f * s->grid.thickness);
    knGridDef def = knDefaultGridDef();
    def.byteBudget = 100000;
    void* bytes;
    size_t size;
    assert_int_equal(knCookDistanceGrid(&def, &s->locator, NULL, &bytes, &size), kn_success);
    assert_true(size <= def.byteBudget);
    knDistanceGrid grid;
    assert_int_equal(knOpenDistanceGrid(&grid, &s->store.mesh, bytes, size), kn_success);
    assert_true(grid.spacing > s->grid.spacing);
    knRelease(NULL, bytes, size, 1);
}

static void ThreadsCookTheSameBytes(void** state)
{
    (void)state;
    Solid* s = GetSolid(0);
    knTaskPool* pool;
    assert_int_equal(knCreateTaskPool(&pool, 3, NULL), kn_success);
    knTaskHooks hooks = knTaskPool_Hooks(pool);
    knGridDef def = knDefaultGridDef();
    def.tasks = &hooks;
    void* bytes;
    size_t size;
    assert_int_equal(knCookDistanceGrid(&def, &s->locator, NULL, &bytes, &size), kn_success);
    assert_int_equal(size, s->gridSize);
    assert_memory_equal(bytes, s->gridBytes, size);
    knRelease(NULL, bytes, size, 1);
    knDestroyTaskPool(pool);
}

// Exact on dyadic coordinates: the oracle may use rounded arithmetic where it does not round.
static uint32_t LowestHolder(const knTetMesh* mesh, knVec3 p)
{
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        bool holds = true;
        for (int i = 0; i < 4 && holds; ++i)
        {
            knVec3 c[4];
            for (int k = 0; k < 4; ++k)
            {
                c[k] = k == i ? p : mesh->nodes[mesh->tets[t].v[k]];
            }
            holds = knTetVolume6(c[0], c[1], c[2], c[3]) >= 0.0;
        }
        if (holds)
        {
            return t;
        }
    }
    return KN_NONE;
}

// On nodes, edges and faces, where several tetrahedra claim a point, the lowest has it, whatever
// the hint.
static void SharedPointsGoToTheLowest(void** state)
{
    (void)state;
    const int cells[3] = {4, 4, 4};
    Solid* s = MakeSolid(
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f)), NULL);
    const knTetMesh* mesh = &s->store.mesh;
    for (int i = 0; i < 17 * 17 * 17; ++i)
    {
        knVec3 p = {(float)(i % 17) / 16.0f, (float)(i / 17 % 17) / 16.0f,
                    (float)(i / 17 / 17) / 16.0f};
        uint32_t expected = LowestHolder(mesh, p);
        assert_true(expected != KN_NONE);
        uint32_t hints[3] = {KN_NONE, (uint32_t)i % mesh->tetCount, expected};
        for (int k = 0; k < 3; ++k)
        {
            knTetPoint point;
            knTetLocator_Find(&s->locator, p, hints[k], &point);
            assert_int_equal(point.tet, expected);
        }
    }
    DestroySolid(s);
}

// Points on the faces and edges of an irregular mesh, as well as they can be written in floats: the
// mesh has no gaps.
static void NoPointFallsBetweenTetrahedra(void** state)
{
    (void)state;
    TetShape shape = MakeBall(8, 1.0f, knMakeVec3(0.3f, 0.1f, 0.7f));
    JitterInside(&shape, 0.004f, 3);
    Solid* s = MakeSolid(shape, NULL);
    const knTetMesh* mesh = &s->store.mesh;
    knRandom random = knMakeRandom(5);
    for (int i = 0; i < 60000 * EFFORT; ++i)
    {
        uint32_t t = knRandom_Below(&random, mesh->tetCount);
        uint32_t f = knRandom_Below(&random, 4);
        if (mesh->neighbors[t].t[f] == KN_NONE)
        {
            continue;
        }
        const uint8_t* c = knTetFaceCorners[f];
        const uint32_t* v = mesh->tets[t].v;
        float a = knRandom_Float(&random), b = i % 3 ? (1.0f - a) * knRandom_Float(&random) : 0.0f;
        knVec3 p = knAdd(knScale(1.0f - a - b, mesh->nodes[v[c[0]]]),
                         knAdd(knScale(a, mesh->nodes[v[c[1]]]), knScale(b, mesh->nodes[v[c[2]]])));
        // an edge of the outside, and what rounds to beyond it
        if (knLength(knSub(p, knMakeVec3(0.3f, 0.1f, 0.7f))) > 0.95f)
        {
            continue;
        }
        knTetPoint tree, walk;
        knTetLocator_Find(&s->locator, p, KN_NONE, &tree);
        knTetLocator_Find(&s->locator, p, t, &walk);
        assert_true(tree.tet != KN_NONE);
        assert_int_equal(tree.tet, walk.tet);
        float sum = tree.weights[0] + tree.weights[1] + tree.weights[2] + tree.weights[3];
        ASSERT_NEAR(sum, 1.0, 1e-6);
    }
    DestroySolid(s);
}

static void FoundMeansInside(void** state)
{
    (void)state;
    for (int index = 0; index < 3; ++index)
    {
        Solid* s = GetSolid(index);
        Oracle o = MakeOracle(&s->store.mesh, &s->cuts, 0);
        knRandom random = knMakeRandom(9);
        knBox box = knBox_Expand(s->locator.box, 0.05f);
        uint32_t hint = KN_NONE;
        for (int i = 0; i < 50000 * EFFORT; ++i)
        {
            knVec3 p = knRandom_InBox(&random, box);
            knTetPoint point;
            knTetLocator_Find(&s->locator, p, hint, &point);
            hint = point.tet != KN_NONE ? point.tet : hint;
            if ((point.tet != KN_NONE) != (OracleWinding(&o, p) != 0))
            {
                assert_true(OracleDistance(&o, p, false, NULL) < 1e-6 * o.radius);
            }
        }
        DestroyOracle(&o);
    }
}

static void NotANumberIsOutside(void** state)
{
    (void)state;
    Solid* s = GetSolid(0);
    knVec3 bad[3] = {{NAN, 0.0f, 3.0f}, {0.0f, INFINITY, 3.0f}, {-INFINITY, NAN, NAN}};
    for (int i = 0; i < 3; ++i)
    {
        knTetPoint point;
        assert_int_equal(knTetLocator_Find(&s->locator, bad[i], 3, &point), kn_locateOutside);
        assert_int_equal(point.tet, KN_NONE);
        knDistanceGrid_Sample(&s->grid, bad[i]);
    }
}

static void Query(const Solid* s, const knTetLocator* locator, const knDistanceGrid* grid)
{
    knRandom random = knMakeRandom(1);
    for (int i = 0; i < 50; ++i)
    {
        knVec3 p = knRandom_InBox(&random, knBox_Expand(s->locator.box, 0.1f));
        knTetPoint point;
        knTetLocator_Find(locator, p, (uint32_t)i, &point);
        knDistanceGrid_Sample(grid, p);
    }
}

// Any byte may be wrong: either it is refused with a message, or every query stays in bounds.
static void HostileBytesDoNoHarm(void** state)
{
    (void)state;
    const int cells[3] = {2, 2, 1};
    Solid* s = MakeSolid(
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 0.5f)), NULL);
    knRandom random = knMakeRandom(21);
    int refused = 0;
    for (int kind = 0; kind < 2; ++kind)
    {
        const void* bytes = kind ? s->gridBytes : s->locatorBytes;
        size_t size = kind ? s->gridSize : s->locatorSize;
        unsigned char* copy = knAllocate(NULL, size, 1);
        assert_non_null(copy);
        for (int i = 0; i < 4000; ++i)
        {
            memcpy(copy, bytes, size);
            size_t length = i % 7 == 0 ? knRandom_Below(&random, (uint32_t)size) : size;
            size_t reach = i % 2 || size < 4096 ? (size < 400 ? size : 400) : size;
            for (uint32_t k = 0; k < 1 + knRandom_Below(&random, 3); ++k)
            {
                size_t at = knRandom_Below(&random, (uint32_t)reach);
                copy[at] = (unsigned char)(i % 3 ? knRandom_U32(&random) : 0xFF);
            }
            knTetLocator locator = s->locator;
            knDistanceGrid grid = s->grid;
            knClearLastError();
            knResult result = kind ? knOpenDistanceGrid(&grid, &s->store.mesh, copy, length)
                                   : knOpenTetLocator(&locator, &s->store.mesh, copy, length, NULL);
            refused += result != kn_success;
            assert_true(result == kn_success || knLastError()[0] != 0);
            assert_true(length == size || result != kn_success);
            Query(s, &locator, &grid);
        }
        knRelease(NULL, copy, size, 1);
    }
    assert_true(refused > 2000);
    DestroySolid(s);
}

static void BadArgumentsAreNamed(void** state)
{
    (void)state;
    Solid* s = GetSolid(0);
    void* bytes = s;
    size_t size = 7;
    knGridDef def = knDefaultGridDef();
    def.spacing = -1.0f;
    assert_int_equal(knCookDistanceGrid(&def, &s->locator, NULL, &bytes, &size), kn_errorArgument);
    assert_non_null(strstr(knLastError(), "spacing"));
    def = knDefaultGridDef();
    def.size = 1;
    assert_int_equal(knCookDistanceGrid(&def, &s->locator, NULL, &bytes, &size), kn_errorVersion);
    def = knDefaultGridDef();
    def.byteBudget = 10;
    assert_int_equal(knCookDistanceGrid(&def, &s->locator, NULL, &bytes, &size), kn_errorArgument);
    assert_int_equal(knCookTetLocator(NULL, NULL, &bytes, &size), kn_errorArgument);
    assert_int_equal(knOpenTetLocator(NULL, NULL, NULL, 0, NULL), kn_errorArgument);
    assert_int_equal(knOpenDistanceGrid(NULL, NULL, NULL, 0), kn_errorArgument);
    assert_true(bytes == s && size == 7);
}

static knResult CookBoth(const knAllocator* allocator, void* context)
{
    const Solid* s = context;
    void* bytes = NULL;
    size_t size = 0;
    knResult result = knCookTetLocator(&s->store.mesh, allocator, &bytes, &size);
    if (result != kn_success)
    {
        return result;
    }
    knTetLocator locator;
    result = knOpenTetLocator(&locator, &s->store.mesh, bytes, size, allocator);
    if (result == kn_success)
    {
        knGridDef def = knDefaultGridDef();
        def.spacing = 0.25f;
        void* gridBytes = NULL;
        size_t gridSize = 0;
        result = knCookDistanceGrid(&def, &locator, allocator, &gridBytes, &gridSize);
        knRelease(allocator, gridBytes, gridSize, 1);
    }
    knRelease(allocator, bytes, size, 1);
    return result;
}

static void CookingSurvivesRefusedMemory(void** state)
{
    (void)state;
    const int cells[3] = {2, 2, 2};
    Solid* s = MakeSolid(
        MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f)), NULL);
    SurviveAllocationFailures(CookBoth, s);
    DestroySolid(s);
}

// Random and nearly flat: the sign must agree with arithmetic in whole numbers.
static void SignsOfVolumesAreExact(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(2);
    for (int i = 0; i < 100000; ++i)
    {
        long long c[4][3];
        knVec3 p[4];
        for (int k = 0; k < 4; ++k)
        {
            for (int a = 0; a < 3; ++a)
            {
                c[k][a] = (long long)knRandom_Below(&random, i % 2 ? 9 : 1 << 20);
            }
            // the last point nearly on the plane of the others
            if (k == 3 && i % 4 > 1)
            {
                for (int a = 0; a < 3; ++a)
                {
                    c[3][a] = c[0][a] + (c[1][a] - c[0][a]) / 2 + (c[2][a] - c[0][a]) / 4;
                }
            }
            p[k] = knMakeVec3((float)c[k][0], (float)c[k][1], (float)c[k][2]);
        }
        long long u[3], v[3], w[3];
        for (int a = 0; a < 3; ++a)
        {
            u[a] = c[1][a] - c[0][a];
            v[a] = c[2][a] - c[0][a];
            w[a] = c[3][a] - c[0][a];
        }
        long long exact = (u[1] * v[2] - u[2] * v[1]) * w[0] + (u[2] * v[0] - u[0] * v[2]) * w[1] +
                          (u[0] * v[1] - u[1] * v[0]) * w[2];
        double sign = knExactVolume6(p[0], p[1], p[2], p[3]);
        assert_int_equal((sign > 0.0) - (sign < 0.0), (exact > 0) - (exact < 0));
    }
}

// Whether the cell of a point, found in double precision, is among those that a tetrahedron covers.
static bool IsCovered(const knTetLocator* l, uint32_t tet, const double p[3])
{
    uint32_t cell[3], words[3];
    for (int a = 0; a < 3; ++a)
    {
        double low = (double)(&l->box.lower.x)[a], high = (double)(&l->box.upper.x)[a];
        double at = (p[a] - low) / (high - low) * l->dims[a];
        cell[a] = at > 0.0 ? (uint32_t)at : 0;
        cell[a] = cell[a] < l->dims[a] ? cell[a] : l->dims[a] - 1;
        words[a] = (l->dims[a] + 3) / 4;
    }
    uint32_t word = (cell[2] / 4 * words[1] + cell[1] / 4) * words[0] + cell[0] / 4;
    uint32_t bit = cell[0] % 4 + 4 * (cell[1] % 4) + 16 * (cell[2] % 4);
    for (uint32_t i = l->coverStarts[tet]; i < l->coverStarts[tet + 1]; ++i)
    {
        if (l->coverWords[i] == word)
        {
            return l->coverMasks[i] >> bit & 1;
        }
    }
    return false;
}

static void SamplesAreCovered(const knTetLocator* l, uint32_t tet, knRandom* random)
{
    for (int k = 0; k < 20; ++k)
    {
        double w[4], sum = 0.0, p[3] = {0.0, 0.0, 0.0};
        for (int c = 0; c < 4; ++c)
        {
            w[c] = -log(1e-9 + (double)knRandom_Range(random, 0.0f, 1.0f));
            sum += w[c];
        }
        for (int c = 0; c < 4; ++c)
        {
            const knVec3* n = &l->mesh->nodes[l->mesh->tets[tet].v[c]];
            p[0] += w[c] / sum * (double)n->x;
            p[1] += w[c] / sum * (double)n->y;
            p[2] += w[c] / sum * (double)n->z;
        }
        assert_true(IsCovered(l, tet, p));
    }
}

// A break marks the cells that tetrahedra were cooked with: none may be missing. Rods and sheets
// fill their words badly: the lattice must still fit into a fragment's bits.
static void CoversHoldTheirTetrahedra(void** state)
{
    (void)state;
    const int rod[3] = {1400, 1, 1}, sheet[3] = {40, 40, 1};
    TetShape shapes[3] = {
        MakeNotched(),
        MakeLatticeBox(rod, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(140.0f, 0.1f, 0.1f)),
        MakeLatticeBox(sheet, knMakeVec3(-1.0f, -1.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 0.002f))};
    for (int i = 0; i < 3; ++i)
    {
        knTetMeshStore store;
        void* bytes;
        size_t size;
        knTetLocator l;
        assert_int_equal(knBuildTetMesh(&store, shapes[i].nodes, shapes[i].nodeCount,
                                        shapes[i].tets, shapes[i].tetCount, NULL),
                         kn_success);
        assert_int_equal(knCookTetLocator(&store.mesh, NULL, &bytes, &size), kn_success);
        assert_int_equal(knOpenTetLocator(&l, &store.mesh, bytes, size, NULL), kn_success);
        uint32_t words = (l.dims[0] + 3) / 4 * ((l.dims[1] + 3) / 4) * ((l.dims[2] + 3) / 4);
        assert_in_range(words, 1, 512);
        knRandom random = knMakeRandom(5);
        for (uint32_t t = 0; t < store.mesh.tetCount; ++t)
        {
            SamplesAreCovered(&l, t, &random);
        }
        knRelease(NULL, bytes, size, 1);
        knDestroyTetMeshStore(&store);
        DestroyShape(&shapes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CoversHoldTheirTetrahedra),
        cmocka_unit_test(SignsOfVolumesAreExact),
        cmocka_unit_test(GridAgreesWithEveryTriangle),
        cmocka_unit_test(GradientPointsOut),
        cmocka_unit_test(SpacingFollowsWallAndBudget),
        cmocka_unit_test(ThreadsCookTheSameBytes),
        cmocka_unit_test(SharedPointsGoToTheLowest),
        cmocka_unit_test(NoPointFallsBetweenTetrahedra),
        cmocka_unit_test(FoundMeansInside),
        cmocka_unit_test(NotANumberIsOutside),
        cmocka_unit_test(HostileBytesDoNoHarm),
        cmocka_unit_test(BadArgumentsAreNamed),
        cmocka_unit_test(CookingSurvivesRefusedMemory),
    };
    return cmocka_run_group_tests(tests, NULL, ReleaseSolids);
}
