// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "knap/shape.h"
#include "pieces.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define EFFORT 1
#else
#define EFFORT 5
#endif

#define CAPACITY 8192

static knPairContact contacts[CAPACITY], others[CAPACITY];
static knMeshTriangle triangles[4096];
static TestModel slabModel, bunnyModel;
static knFamily* slab;  // 20 x 4 x 20 cm with its bottom at y = 0, and points at its corners only
static knFamily* bunny; // in eight pieces

static int Open(void** state)
{
    (void)state;
    slabModel = OpenBoxModel("slab", knMakeVec3(-0.1f, 0.0f, -0.1f), knMakeVec3(0.1f, 0.04f, 0.1f));
    bunnyModel = OpenDemoModel("bunny");
    slab = MakeFamily(&slabModel);
    bunny = MakeFamily(&bunnyModel);
    BreakInto(bunny, 8, 1);
    return 0;
}

static int Close(void** state)
{
    (void)state;
    knDestroyFamily(slab);
    knDestroyFamily(bunny);
    CloseModel(&slabModel);
    CloseModel(&bunnyModel);
    return 0;
}

static knPairResult Query(const knQueryPiece* piece, const knTriangleBatch* batch,
                          const knContactLimits* limits)
{
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knQueryTrianglesBytes(piece, batch->count), NULL),
                     kn_success);
    knPairState state = {0};
    knPairResult result;
    assert_int_equal(
        knQueryTriangles(piece, batch, limits, &state, &arena, contacts, CAPACITY, &result),
        kn_success);
    assert_int_equal(arena.usedBytes, 0);
    assert_int_equal(arena.wantedBytes, 0);
    knDestroyArena(&arena);
    return result;
}

// Two triangles per cell, diagonals at random, corners shaken within the plane: nothing is regular.
static uint32_t MakeFloor(int cells, float size, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    static knVec3 corners[41][41];
    uint32_t count = 0;
    float step = size / (float)cells;
    for (int i = 0; i <= cells; ++i)
    {
        for (int k = 0; k <= cells; ++k)
        {
            corners[i][k] = knMakeVec3(((float)i - 0.5f * (float)cells) * step, 0.0f,
                                       ((float)k - 0.5f * (float)cells) * step);
            corners[i][k].x += knRandom_Range(&random, -0.3f, 0.3f) * step;
            corners[i][k].z += knRandom_Range(&random, -0.3f, 0.3f) * step;
        }
    }
    for (int i = 0; i < cells * cells; ++i)
    {
        int x = i % cells, z = i / cells;
        knVec3 a = corners[x][z], b = corners[x + 1][z], c = corners[x + 1][z + 1],
               d = corners[x][z + 1];
        bool isTurned = knRandom_Below(&random, 2) == 1;
        knMeshTriangle one = {{a, c, b}, count}, two = {{a, d, c}, count + 1};
        knMeshTriangle three = {{a, d, b}, count}, four = {{b, d, c}, count + 1};
        triangles[count++] = isTurned ? three : one;
        triangles[count++] = isTurned ? four : two;
    }
    return count;
}

static float Deepest(uint32_t count)
{
    float deepest = FLT_MAX;
    for (uint32_t i = 0; i < count; ++i)
    {
        deepest = fminf(deepest, contacts[i].contact.distance);
    }
    return deepest;
}

// From the mesh towards the piece.
static knVec3 TowardsPiece(const knPairContact* c)
{
    return c->side == 0 ? c->contact.normal : knNeg(c->contact.normal);
}

// Over a flat floor of many triangles every contact is as over a plane, wherever the piece lies:
// no edge catches.
static void AFlatFloorIsAPlane(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    uint32_t count = MakeFloor(24, 0.6f, 5);
    knContactLimits limits = knDefaultContactLimits();
    for (int i = 0; i < 200; ++i)
    {
        knQuat tilt = knMakeQuat(knMakeVec3(1.0f, 0.0f, 0.0f), i % 3 == 0 ? 0.3f : 0.0f);
        knQueryPiece piece = {slab, 0, knIdentityTransform(), NULL};
        piece.transform.rotation = knMulQuat(
            knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), knRandom_Range(&random, 0.0f, 6.0f)), tilt);
        float lowest = FLT_MAX;
        for (int k = 0; k < 8; ++k)
        {
            knVec3 corner = {k & 1 ? 0.1f : -0.1f, k & 2 ? 0.04f : 0.0f, k & 4 ? 0.1f : -0.1f};
            lowest = fminf(lowest, knRotate(piece.transform.rotation, corner).y);
        }
        float depth = knRandom_Range(&random, 0.0001f, 0.02f);
        piece.transform.position = knMakeVec3(knRandom_Range(&random, -0.1f, 0.1f), -lowest - depth,
                                              knRandom_Range(&random, -0.1f, 0.1f));
        knTriangleBatch batch = {triangles, count, i % 2 == 0, knIdentityTransform(), 0.0f};
        knPairResult r = Query(&piece, &batch, &limits);
        assert_true(r.count >= (i % 3 == 0 ? 2u : 4u));
        ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
        for (uint32_t k = 0; k < r.count; ++k)
        {
            ASSERT_NEAR(TowardsPiece(&contacts[k]).y, 1.0f, 1e-5f);
            ASSERT_NEAR(contacts[k].contact.distance, contacts[k].contact.point.y, 1e-5f);
        }
        piece.transform.position.y += depth + 0.001f;
        assert_int_equal(Query(&piece, &batch, &limits).count, 0);
    }
}

// Half sunk and deeper than half, a solid floor still sends it up.
static void DeepPointsAreNotLost(void** state)
{
    (void)state;
    uint32_t count = MakeFloor(24, 0.8f, 6);
    knContactLimits limits = knDefaultContactLimits();
    for (float depth = 0.01f; depth < 0.1f; depth += 0.01f)
    {
        knQueryPiece piece = {slab, 0, {{0.03f, -depth, -0.02f}, knIdentityQuat()}, NULL};
        knTriangleBatch batch = {triangles, count, true, knIdentityTransform(), 0.0f};
        knPairResult r = Query(&piece, &batch, &limits);
        assert_true(r.count >= 4);
        ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
        for (uint32_t k = 0; k < r.count; ++k)
        {
            ASSERT_NEAR(TowardsPiece(&contacts[k]).y, 1.0f, 1e-4f);
        }
    }
}

// A roof and a spike under the middle of a face: no point of the piece comes near.
static void RidgesAndSpikesPoke(void** state)
{
    (void)state;
    knQueryPiece piece = {slab, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    for (float depth = 0.0003f; depth < 0.006f; depth += 0.0004f)
    {
        knVec3 a = {-0.3f, depth, 0.01f}, b = {0.3f, depth, 0.01f};
        knVec3 c = {0.0f, -0.3f, 0.3f}, d = {0.0f, -0.3f, -0.3f};
        triangles[0] = (knMeshTriangle){{a, c, b}, 0};
        triangles[1] = (knMeshTriangle){{a, b, d}, 1};
        knTriangleBatch roof = {triangles, 2, true, knIdentityTransform(), 0.0f};
        knPairResult r = Query(&piece, &roof, &limits);
        assert_true(r.count >= 2);
        ASSERT_NEAR(Deepest(r.count), -depth, 3e-5f);
        ASSERT_NEAR(TowardsPiece(&contacts[0]).y, 1.0f, 1e-3f);
        knVec3 tip = {0.02f, depth, 0.03f};
        knVec3 foot[3] = {{0.1f, -0.3f, 0.0f}, {-0.05f, -0.3f, 0.1f}, {-0.05f, -0.3f, -0.1f}};
        for (uint32_t i = 0; i < 3; ++i)
        {
            triangles[i] = (knMeshTriangle){{tip, foot[(i + 1) % 3], foot[i]}, i};
        }
        knTriangleBatch spike = {triangles, 3, true, knIdentityTransform(), 0.0f};
        r = Query(&piece, &spike, &limits);
        assert_true(r.count >= 1);
        ASSERT_NEAR(Deepest(r.count), -depth, 3e-5f);
        ASSERT_NEAR(TowardsPiece(&contacts[0]).y, 1.0f, 1e-3f);
        assert_true(knDistance(contacts[0].contact.point, tip) < 1e-4f);
    }
}

static uint32_t MakeBox(knVec3 half)
{
    static const uint8_t faces[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    uint32_t count = 0;
    for (int f = 0; f < 6; ++f)
    {
        knVec3 v[4];
        for (int i = 0; i < 4; ++i)
        {
            uint8_t c = faces[f][i];
            v[i] = knMakeVec3(c & 1 ? half.x : -half.x, c & 2 ? half.y : -half.y,
                              c & 4 ? half.z : -half.z);
        }
        triangles[count] = (knMeshTriangle){{v[0], v[1], v[2]}, count};
        count += 1;
        triangles[count] = (knMeshTriangle){{v[0], v[2], v[3]}, count};
        count += 1;
    }
    return count;
}

static knPairContact* FindContact(knPairContact* list, uint32_t count, const knPairContact* like)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (list[i].side == 0 && list[i].kind == 0 &&
            list[i].contact.feature == like->contact.feature)
        {
            return &list[i];
        }
    }
    return NULL;
}

// A box of twelve triangles and a box in closed form: the same points, depths and directions.
static void AMeshOfABoxIsABox(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(8);
    uint32_t pieces[32];
    uint32_t pieceCount = ListPieces(bunny, pieces, 32);
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    uint32_t total = 0;
    for (int i = 0; i < EFFORT * 20; ++i)
    {
        knQueryPiece piece = {bunny, pieces[knRandom_Below(&random, pieceCount)],
                              knIdentityTransform(), NULL};
        knBox box = knFragmentField_Box(knFamily_Field(bunny), piece.fragment);
        float radius = 0.5f * knLength(knBox_Extent(box));
        knVec3 half = {0.2f, 0.15f, 0.25f};
        knVec3 out = knRandom_UnitVec3(&random);
        knTransform t = {.rotation = knMakeQuat(knRandom_UnitVec3(&random), 2.0f)};
        t.position = knAddScaled(knBox_Center(box), 0.25f + 0.3f * radius, out);
        knShape shape = knMakeBoxShape(half);
        knTriangleBatch batch = {triangles, MakeBox(half), true, t, 0.0f};
        knPairResult r = Query(&piece, &batch, &limits);
        knPairState s = {0};
        knPairResult truth;
        knArena arena;
        assert_int_equal(knCreateArena(&arena, knQueryShapeBytes(&piece), NULL), kn_success);
        assert_int_equal(
            knQueryShape(&piece, &shape, t, &limits, &s, &arena, others, CAPACITY, &truth),
            kn_success);
        knDestroyArena(&arena);
        float size = fminf(radius, knLength(half)), margin = limits.margin * size;
        for (uint32_t k = 0; k < truth.count; ++k)
        {
            const knPairContact* want = &others[k];
            float distance = want->contact.distance;
            if (want->side == 0 && want->kind == 0 && distance < 0.9f * margin &&
                distance > -0.9f * radius)
            {
                const knPairContact* got = FindContact(contacts, r.count, want);
                assert_non_null(got);
                ASSERT_NEAR(got->contact.distance, distance, 2e-6f);
                total += 1;
            }
        }
        for (uint32_t k = 0; k < r.count; ++k)
        {
            if (contacts[k].side == 0 && contacts[k].contact.distance < -0.001f * radius)
            {
                assert_non_null(FindContact(others, truth.count, &contacts[k]));
            }
        }
    }
    assert_true(total > EFFORT * 600);
}

// A sheet pushes to the side that the piece comes from, and its rim pulls nothing up or down.
static void ASheetHasTwoSides(void** state)
{
    (void)state;
    uint32_t count = MakeFloor(10, 0.3f, 9);
    knContactLimits limits = knDefaultContactLimits();
    knTriangleBatch batch = {triangles, count, false, knIdentityTransform(), 0.0f};
    knQueryPiece above = {slab, 0, {{0.0f, -0.004f, 0.0f}, knIdentityQuat()}, NULL};
    knQueryPiece below = {slab, 0, {{0.0f, -0.036f, 0.0f}, knIdentityQuat()}, NULL};
    knPairResult r = Query(&above, &batch, &limits);
    assert_true(r.count >= 4);
    for (uint32_t i = 0; i < r.count; ++i)
    {
        ASSERT_NEAR(TowardsPiece(&contacts[i]).y, 1.0f, 1e-4f);
        ASSERT_NEAR(contacts[i].contact.distance, -0.004f, 1e-5f);
    }
    r = Query(&below, &batch, &limits);
    assert_true(r.count >= 4);
    for (uint32_t i = 0; i < r.count; ++i)
    {
        ASSERT_NEAR(TowardsPiece(&contacts[i]).y, -1.0f, 1e-4f);
        ASSERT_NEAR(contacts[i].contact.distance, -0.004f, 1e-5f);
    }
    // tipping over the rim: what hangs beyond it is free
    knQueryPiece tipping = {slab, 0, {{0.17f, -0.01f, 0.0f}, knIdentityQuat()}, NULL};
    tipping.transform.rotation = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), -0.3f);
    r = Query(&tipping, &batch, &limits);
    assert_true(r.count > 0);
    for (uint32_t i = 0; i < r.count; ++i)
    {
        assert_true(contacts[i].contact.point.x < 0.17f);
        assert_true(TowardsPiece(&contacts[i]).y > 0.9f);
    }
}

static void BadBatchesAreNamed(void** state)
{
    (void)state;
    knQueryPiece piece = {slab, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    knPairState pair = {0};
    knPairResult result;
    knArena arena;
    assert_int_equal(knCreateArena(&arena, 64, NULL), kn_success);
    triangles[0] = (knMeshTriangle){.v = {{NAN, 0.0f, 0.0f}}};
    knTriangleBatch batch = {triangles, 1, true, knIdentityTransform(), 0.0f};
    MarkUntouched(&result, sizeof result);
    assert_int_equal(knQueryTriangles(&piece, &batch, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorArgument);
    triangles[0] = (knMeshTriangle){0};
    assert_int_equal(knQueryTriangles(&piece, &batch, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorMemory);
    batch.triangles = NULL;
    assert_int_equal(knQueryTriangles(&piece, &batch, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorArgument);
    assert_true(IsUntouched(&result, sizeof result));
    knDestroyArena(&arena);
    // none, and some without extent, are no errors
    batch.count = 0;
    assert_int_equal(Query(&piece, &batch, &limits).count, 0);
    memset(triangles, 0, sizeof triangles);
    batch.triangles = triangles;
    batch.count = 20;
    Query(&piece, &batch, &limits);
    knBox box = knQueryTriangles_Box(&piece, &limits);
    assert_true(box.lower.y < -0.1f && box.upper.x > 0.2f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AFlatFloorIsAPlane),  cmocka_unit_test(DeepPointsAreNotLost),
        cmocka_unit_test(RidgesAndSpikesPoke), cmocka_unit_test(AMeshOfABoxIsABox),
        cmocka_unit_test(ASheetHasTwoSides),   cmocka_unit_test(BadBatchesAreNamed),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
