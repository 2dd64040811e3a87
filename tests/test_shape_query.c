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

#define CAPACITY 4096

static knPairContact contacts[CAPACITY];
static TestModel slabModel, bunnyModel;
static knFamily* slab;  // 20 x 4 x 20 cm with its top at y = 0, and points at its corners only
static knFamily* bunny; // in twelve pieces

static int Open(void** state)
{
    (void)state;
    slabModel =
        OpenBoxModel("slab", knMakeVec3(-0.1f, -0.04f, -0.1f), knMakeVec3(0.1f, 0.0f, 0.1f));
    bunnyModel = OpenDemoModel("bunny");
    slab = MakeFamily(&slabModel);
    bunny = MakeFamily(&bunnyModel);
    BreakInto(bunny, 12, 1);
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

static knPairResult QueryWith(const knQueryPiece* piece, const knShape* shape, knTransform t,
                              const knContactLimits* limits)
{
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knQueryShapeBytes(piece), NULL), kn_success);
    knPairState state = {0};
    knPairResult result;
    assert_int_equal(
        knQueryShape(piece, shape, t, limits, &state, &arena, contacts, CAPACITY, &result),
        kn_success);
    assert_int_equal(arena.usedBytes, 0);
    assert_int_equal(arena.wantedBytes, 0);
    knDestroyArena(&arena);
    return result;
}

static knPairResult OnSlab(const knShape* shape, knTransform t)
{
    knQueryPiece piece = {slab, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    return QueryWith(&piece, shape, t, &limits);
}

static knTransform At(float x, float y, float z)
{
    return (knTransform){{x, y, z}, knIdentityQuat()};
}

// From the piece towards the shape, whatever side the contact is on.
static knVec3 TowardsShape(const knPairContact* c)
{
    return c->side == 1 ? c->contact.normal : knNeg(c->contact.normal);
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

static void AllNormalsAreUp(uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        ASSERT_NEAR(TowardsShape(&contacts[i]).y, 1.0f, 1e-3f);
    }
}

// Whether the contacts hold a body: the point lies between them, seen from above.
static bool Surround(uint32_t count, float x, float z)
{
    for (int i = 0; i < 64; ++i)
    {
        float dx = cosf(0.1f * (float)i), dz = sinf(0.1f * (float)i), most = -1.0f;
        for (uint32_t k = 0; k < count; ++k)
        {
            knVec3 p = contacts[k].contact.point;
            most = fmaxf(most, dx * (p.x - x) + dz * (p.z - z));
        }
        if (most <= 0.0f)
        {
            return false;
        }
    }
    return true;
}

static void ABoxRestsOnItsCorners(void** state)
{
    (void)state;
    knShape box = knMakeBoxShape(knMakeVec3(0.02f, 0.02f, 0.02f));
    for (float depth = -0.0003f; depth < 0.004f; depth += 0.0007f)
    {
        knTransform t = At(0.03f, 0.02f - depth, -0.02f);
        t.rotation = knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), 0.4f);
        knPairResult r = OnSlab(&box, t);
        if (depth < 0.0f)
        {
            assert_int_equal(r.count, 0);
            continue;
        }
        assert_true(r.count >= 4);
        AllNormalsAreUp(r.count);
        assert_true(Surround(r.count, 0.03f, -0.02f));
        ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
    }
}

// A ball far from every point of the mesh: the depth is exact, and so is the first touch.
static void ASmallBallIsFoundBetweenThePoints(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(2);
    for (int i = 0; i < 200; ++i)
    {
        float radius = knRandom_Range(&random, 0.0005f, 0.03f);
        float depth = knRandom_Range(&random, -0.5f, 0.9f) * radius;
        knShape ball = knMakeSphereShape(radius);
        knTransform t = At(knRandom_Range(&random, -0.06f, 0.06f), radius - depth,
                           knRandom_Range(&random, -0.06f, 0.06f));
        knPairResult r = OnSlab(&ball, t);
        float margin = 0.002f * radius * 1.7320508f;
        if (depth < -margin * 1.01f)
        {
            assert_int_equal(r.count, 0);
        }
        else if (depth > -margin * 0.99f)
        {
            assert_int_equal(r.count, 1);
            ASSERT_NEAR(contacts[0].contact.distance, -depth, 1e-6f);
            ASSERT_NEAR(contacts[0].contact.point.y, -depth, 1e-6f);
            ASSERT_NEAR(contacts[0].contact.point.x, t.position.x, 1e-5f);
            AllNormalsAreUp(1);
            assert_int_equal(contacts[0].side, 1);
        }
    }
}

static void ABallOnAnEdgeAndACornerIsExact(void** state)
{
    (void)state;
    knShape ball = knMakeSphereShape(0.02f);
    float s = sqrtf(0.5f), c = sqrtf(1.0f / 3.0f);
    OnSlab(&ball, At(0.1f + 0.019f * s, 0.019f * s, 0.0f));
    ASSERT_NEAR(contacts[0].contact.distance, -0.001f, 1e-6f);
    ASSERT_NEAR(knDot(TowardsShape(&contacts[0]), knMakeVec3(s, s, 0.0f)), 1.0f, 1e-5f);
    knPairResult r = OnSlab(&ball, At(0.1f + 0.019f * c, 0.019f * c, 0.1f + 0.019f * c));
    assert_true(r.count >= 1);
    ASSERT_NEAR(Deepest(r.count), -0.001f, 1e-6f);
    ASSERT_NEAR(knDot(TowardsShape(&contacts[0]), knMakeVec3(c, c, c)), 1.0f, 1e-4f);
}

static void TurnedDown(knTransform* t, knVec3 direction)
{
    knVec3 down = {0.0f, -1.0f, 0.0f}, d = knNormalize(direction);
    knVec3 axis = knCross(d, down);
    float length = knLength(axis);
    axis = length > 1e-6f ? knScale(1.0f / length, axis) : knMakeVec3(1.0f, 0.0f, 0.0f);
    t->rotation = knMakeQuat(axis, atan2f(length, knDot(d, down)));
}

// Corner, tip, rim and hull, pushed into the middle of a large face to a known depth.
static void SharpShapesPokeIntoAFace(void** state)
{
    (void)state;
    knVec3 points[4] = {{0.0f, 0.03f, 0.0f},
                        {0.02f, -0.01f, 0.0f},
                        {-0.01f, -0.01f, 0.018f},
                        {-0.01f, -0.01f, -0.018f}};
    knHull hull;
    assert_int_equal(knCreateHull(&hull, points, NULL, 4, NULL), kn_success);
    const struct
    {
        knShape shape;
        knVec3 lowest; // its point that goes down
    } cases[5] = {{knMakeBoxShape(knMakeVec3(0.02f, 0.01f, 0.03f)), {0.02f, 0.01f, 0.03f}},
                  {knMakeConeShape(0.01f, 0.03f), {0.0f, 0.03f, 0.0f}},
                  {knMakeCylinderShape(0.02f, 0.01f), {0.02f, 0.01f, 0.0f}},
                  {knMakeHullShape(&hull), {0.0f, 0.03f, 0.0f}},
                  {knMakeTriangleShape(points[0], points[1], points[2]), {0.0f, 0.03f, 0.0f}}};
    for (int i = 0; i < 5; ++i)
    {
        for (float depth = 0.0002f; depth < 0.004f; depth += 0.0005f)
        {
            knTransform t;
            TurnedDown(&t, cases[i].lowest);
            t.position = knMakeVec3(0.02f, knLength(cases[i].lowest) - depth, 0.01f);
            knPairResult r = OnSlab(&cases[i].shape, t);
            assert_true(r.count > 0);
            AllNormalsAreUp(r.count);
            ASSERT_NEAR(Deepest(r.count), -depth, 2e-5f);
            t.position.y += depth + 0.0005f;
            assert_int_equal(OnSlab(&cases[i].shape, t).count, 0);
        }
    }
    knDestroyHull(&hull);
}

static void RoundShapesLieAndStand(void** state)
{
    (void)state;
    knVec3 centers[3] = {{-0.03f, 0.0f, -0.02f}, {0.03f, 0.0f, -0.02f}, {0.0f, 0.0f, 0.03f}};
    float radii[3] = {0.01f, 0.01f, 0.01f};
    knHull round;
    assert_int_equal(knCreateHull(&round, centers, radii, 3, NULL), kn_success);
    knShape capsule = knMakeCapsuleShape(0.01f, 0.04f);
    knShape cylinder = knMakeCylinderShape(0.02f, 0.03f);
    knShape cone = knMakeConeShape(0.02f, 0.03f);
    knShape spheres = knMakeHullShape(&round);
    const float depth = 0.0005f;
    knTransform lying = At(0.01f, 0.01f - depth, 0.0f);
    lying.rotation = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 1.5707963f);
    knPairResult r = OnSlab(&capsule, lying);
    assert_true(r.count >= 2);
    AllNormalsAreUp(r.count);
    ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
    float low = FLT_MAX, high = -FLT_MAX;
    for (uint32_t i = 0; i < r.count; ++i)
    {
        low = fminf(low, contacts[i].contact.point.x);
        high = fmaxf(high, contacts[i].contact.point.x);
    }
    ASSERT_NEAR(low, -0.03f, 1e-3f);
    ASSERT_NEAR(high, 0.05f, 1e-3f);
    r = OnSlab(&cylinder, At(0.0f, 0.03f - depth, 0.0f));
    assert_true(r.count >= 3 && Surround(r.count, 0.0f, 0.0f));
    ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
    lying.position.y = 0.02f - depth;
    r = OnSlab(&cylinder, lying);
    assert_true(r.count >= 2);
    ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
    AllNormalsAreUp(r.count);
    r = OnSlab(&cone, At(0.0f, 0.03f - depth, 0.0f));
    assert_true(r.count >= 3 && Surround(r.count, 0.0f, 0.0f));
    ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
    r = OnSlab(&spheres, At(0.0f, 0.01f - depth, 0.0f));
    assert_true(r.count >= 3 && Surround(r.count, 0.0f, 0.0f));
    ASSERT_NEAR(Deepest(r.count), -depth, 1e-5f);
    knDestroyHull(&round);
}

// Long bars across the rim of the slab: no point of either is inside the other.
static void CrossedEdgesAreFound(void** state)
{
    (void)state;
    knShape bars[3] = {knMakeBoxShape(knMakeVec3(0.002f, 0.2f, 0.002f)),
                       knMakeCylinderShape(0.002f, 0.2f), knMakeCapsuleShape(0.002f, 0.2f)};
    knVec3 rim = {0.1f, 0.0f, 0.0f};
    for (int i = 0; i < 3; ++i)
    {
        for (int k = 0; k < 20; ++k)
        {
            // leaning over the rim at 45 degrees, turned about its own axis
            knQuat lean = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 0.7853982f);
            knQuat turn = knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), 0.3f * (float)k);
            float in = 0.0001f * (float)k;
            float s = sqrtf(0.5f);
            knTransform t = {.rotation = knMulQuat(lean, turn)};
            knVec3 out = {s, s, 0.0f};
            // the bar's nearest line is this far from its axis
            float reach = knDot(knShape_Support(&bars[i], knInvRotate(t.rotation, knNeg(out))),
                                knInvRotate(t.rotation, knNeg(out)));
            t.position = knAddScaled(rim, reach - in, out);
            t.position.z = 0.004f * (float)k;
            knPairResult r = OnSlab(&bars[i], t);
            if (k > 0)
            {
                assert_true(r.count > 0);
                assert_true(Deepest(r.count) < -0.5f * in && Deepest(r.count) > -1.5f * in - 1e-5f);
            }
            t.position = knAddScaled(t.position, in + 0.001f, out);
            assert_int_equal(OnSlab(&bars[i], t).count, 0);
        }
    }
}

static void APieceLiesOnAPlane(void** state)
{
    (void)state;
    knShape plane = knMakePlaneShape(knMakeVec3(0.0f, 1.0f, 0.0f), 0.0f);
    knQueryPiece piece = {slab, 0, At(0.0f, 0.04f - 0.001f, 0.0f), NULL};
    knContactLimits limits = knDefaultContactLimits();
    knPairResult r = QueryWith(&piece, &plane, knIdentityTransform(), &limits);
    assert_int_equal(r.count, 4);
    ASSERT_NEAR(Deepest(r.count), -0.001f, 1e-6f);
    for (uint32_t i = 0; i < 4; ++i)
    {
        assert_int_equal(contacts[i].side, 0);
        ASSERT_NEAR(contacts[i].contact.normal.y, 1.0f, 1e-6f);
    }
}

// Far from the foot of the plane the least tilt is much: what lies nearly flat lies on it.
static void APieceLiesOnAPlaneFarAway(void** state)
{
    (void)state;
    knShape plane = knMakePlaneShape(knMakeVec3(0.0f, 1.0f, 0.0f), 0.0f);
    knContactLimits limits = knDefaultContactLimits();
    knQueryPiece piece = {slab, 0, knIdentityTransform(), NULL};
    knBox box = knFragmentField_Box(knFamily_Field(slab), 0);
    for (int i = 0; i < 200; ++i)
    {
        float angle = (float)i;
        knVec3 axis = {cosf(angle), 0.0f, sinf(angle)};
        piece.transform.rotation = knMakeQuat(axis, 5e-5f * (float)i);
        piece.transform.position = knMakeVec3(0.05f * (float)i, 0.0f, -0.03f * (float)i);
        float lowest = FLT_MAX;
        for (int k = 0; k < 8; ++k)
        {
            knVec3 corner = {k & 1 ? box.upper.x : box.lower.x, k & 2 ? box.upper.y : box.lower.y,
                             k & 4 ? box.upper.z : box.lower.z};
            lowest = fminf(lowest, knTransformPoint(piece.transform, corner).y);
        }
        piece.transform.position.y = -0.0005f - lowest;
        knPairResult r = QueryWith(&piece, &plane, knIdentityTransform(), &limits);
        assert_true(r.count > 0);
        ASSERT_NEAR(Deepest(r.count), -0.0005f, 2e-6f);
    }
}

static knShape RandomShape(knRandom* random, float size, knHull* hull)
{
    knVec3 points[8];
    *hull = (knHull){0};
    for (int i = 0; i < 8; ++i)
    {
        points[i] = knScale(size, knRandom_UnitVec3(random));
    }
    float a = knRandom_Range(random, 0.2f, 1.0f) * size,
          b = knRandom_Range(random, 0.2f, 1.0f) * size;
    switch (knRandom_Below(random, 7))
    {
    case 0:
        return knMakeSphereShape(a);
    case 1:
        return knMakeBoxShape(knMakeVec3(a, b, 0.5f * size));
    case 2:
        return knMakeCapsuleShape(a, b);
    case 3:
        return knMakeCylinderShape(a, b);
    case 4:
        return knMakeConeShape(a, b);
    case 5:
        assert_int_equal(knCreateHull(hull, points, NULL, 8, NULL), kn_success);
        return knMakeHullShape(hull);
    default:
    {
        float radii[3] = {0.3f * a, 0.2f * size, 0.5f * b};
        assert_int_equal(knCreateHull(hull, points, radii, 3, NULL), kn_success);
        return knMakeHullShape(hull);
    }
    }
}

// How deep the two overlap, by dense points of the shape's box that are in both: a point is as deep
// as it is in the shallower of the two.
static float OverlapByForce(knFieldQuery* field, const knShape* shape, knTransform toPiece,
                            knRandom* random)
{
    knBox box = knShape_Box(shape, knIdentityTransform());
    float deepest = -1.0f;
    for (int i = 0; i < 4000; ++i)
    {
        knVec3 p = knRandom_InBox(random, box);
        float inShape = -knShape_Distance(shape, p, NULL);
        knFieldContact contact;
        if (inShape > deepest && inShape > 0.0f &&
            knFieldQuery_Penetration(field, knTransformPoint(toPiece, p), &contact))
        {
            deepest = fmaxf(deepest, fminf(inShape, -contact.distance));
        }
    }
    return deepest;
}

// Shapes of all kinds and sizes in and around the pieces of a bunny.
static void NoOverlapIsMissedAndNoneInvented(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(31);
    uint32_t pieces[64];
    uint32_t count = ListPieces(bunny, pieces, 64);
    knContactLimits limits = knDefaultContactLimits();
    int overlaps = 0, apart = 0;
    for (int i = 0; i < EFFORT * 80; ++i)
    {
        knQueryPiece piece = {bunny, pieces[knRandom_Below(&random, count)], knIdentityTransform(),
                              NULL};
        knBox box = knFragmentField_Box(knFamily_Field(bunny), piece.fragment);
        float radius = 0.5f * knLength(knBox_Extent(box));
        piece.transform.rotation = knMakeQuat(knRandom_UnitVec3(&random), 2.0f);
        piece.transform.position = knScale(3.0f, knRandom_UnitVec3(&random));
        limits.full = i % 2 == 0;
        knHull hull;
        knShape shape = RandomShape(&random, radius * knRandom_Range(&random, 0.05f, 1.0f), &hull);
        knTransform local = {
            knRandom_InBox(&random, knBox_Expand(box, 0.3f * radius)),
            knMakeQuat(knRandom_UnitVec3(&random), 5.0f * knRandom_Float(&random))};
        knTransform t = knMulTransforms(piece.transform, local);
        knPairResult r = QueryWith(&piece, &shape, t, &limits);
        knFieldQuery field = knMakeFieldQuery(knFamily_Field(bunny), piece.fragment);
        float overlap = OverlapByForce(&field, &shape, local, &random);
        knBox shapeBox = knShape_Box(&shape, knIdentityTransform());
        float size = fminf(radius, 0.5f * knLength(knBox_Extent(shapeBox)));
        if (overlap > 0.01f * size)
        {
            assert_true(r.count > 0);
            // selection may leave the deepest for the next step; an inner point can be deeper than
            // any corner
            assert_true(!limits.full || Deepest(r.count) < -0.25f * overlap);
            overlaps += 1;
        }
        apart += r.count == 0;
        for (uint32_t k = 0; k < r.count; ++k)
        {
            // the point is the shape's or in it, and the foot of the normal on the piece
            const knContact* contact = &contacts[k].contact;
            knVec3 p = knInvTransformPoint(t, contact->point);
            float inShape = knShape_Distance(&shape, p, NULL);
            assert_true(inShape < 0.0021f * size + 1e-6f);
            knVec3 foot = contacts[k].side == 0
                              ? contact->point
                              : knAddScaled(contact->point, -contact->distance, contact->normal);
            knVec3 q = knInvTransformPoint(piece.transform, foot);
            knFieldContact c;
            assert_true(knFieldQuery_Inside(&field, q) ||
                        knFieldQuery_Distance(&field, q, 0.02f * size, &c));
            ASSERT_NEAR(knLength(contacts[k].contact.normal), 1.0f, 1e-3f);
        }
        knDestroyHull(&hull);
    }
    assert_true(overlaps > EFFORT * 20 && apart > EFFORT * 6);
}

// With the mesh or with the field alone: the same contacts, in the same places.
static void TheMeshChangesTheTimeAlone(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(41);
    uint32_t pieces[64];
    uint32_t count = ListPieces(bunny, pieces, 64);
    knContactLimits limits = knDefaultContactLimits();
    uint32_t total = 0;
    for (int i = 0; i < EFFORT * 30; ++i)
    {
        knQueryPiece piece = {bunny, pieces[knRandom_Below(&random, count)], knIdentityTransform(),
                              NULL};
        knPieceMesh mesh;
        assert_int_equal(knCreatePieceMesh(&mesh, bunny, piece.fragment, NULL, NULL, NULL),
                         kn_success);
        knHull hull;
        knShape shape = RandomShape(&random, 0.5f * mesh.radius, &hull);
        knTransform t = {knAddScaled(mesh.center, 0.9f * mesh.radius, knRandom_UnitVec3(&random)),
                         knMakeQuat(knRandom_UnitVec3(&random), 2.0f)};
        knPairResult one = QueryWith(&piece, &shape, t, &limits), two;
        knArena arena;
        knPairState pair = {0};
        static knPairContact others[CAPACITY];
        assert_int_equal(knCreateArena(&arena, knQueryShapeBytes(&piece), NULL), kn_success);
        assert_int_equal(knQueryShapeOnMesh(&piece, &mesh, &shape, t, &limits, &pair, &arena,
                                            others, CAPACITY, &two),
                         kn_success);
        knDestroyArena(&arena);
        assert_int_equal(one.count, two.count);
        for (uint32_t k = 0; k < one.count; ++k)
        {
            const knContact *a = &contacts[k].contact, *b = &others[k].contact;
            assert_int_equal(a->feature, b->feature);
            ASSERT_NEAR(a->distance, b->distance, 1e-5f * mesh.radius + 1e-7f);
            total += 1;
        }
        knDestroyPieceMesh(&mesh);
        knDestroyHull(&hull);
    }
    assert_true(total > EFFORT * 20);
}

// The piece turned at random and its lowest vertex `depth` under the top of the slab, y = 0.
static knTransform PutDown(const knPieceMesh* mesh, knRandom* random, float depth)
{
    knQuat turn = knMakeQuat(knRandom_UnitVec3(random), knRandom_Range(random, 0.0f, 6.0f));
    knVec3 place = {0.0f, FLT_MAX, 0.0f};
    for (uint32_t i = 0; i < mesh->vertexCount; ++i)
    {
        place.y = fminf(place.y, knRotate(turn, mesh->vertices[i].position).y);
    }
    place.y = -place.y - depth;
    return (knTransform){knSub(place, knRotate(turn, mesh->center)), turn};
}

static float DeepestOn(const knQueryPiece* piece, int ground)
{
    static const knVec3 v[4] = {
        {-1.0f, 0.0f, -1.0f}, {-1.0f, 0.0f, 1.0f}, {1.0f, 0.0f, 1.0f}, {1.0f, 0.0f, -1.0f}};
    const knMeshTriangle triangles[2] = {{.v = {v[0], v[1], v[2]}, .id = 0},
                                         {.v = {v[0], v[2], v[3]}, .id = 1}};
    knTriangleBatch batch = {
        .triangles = triangles, .count = 2, .transform = knIdentityTransform(), .isOneSided = true};
    knShape plane = knMakePlaneShape(knMakeVec3(0.0f, 1.0f, 0.0f), 0.0f);
    knQueryPiece other = {slab, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    knPairState state = {0};
    knPairResult r = {0};
    knArena arena;
    size_t bytes = knQueryBytes(piece, &other) + knQueryTrianglesBytes(piece, 2);
    assert_int_equal(knCreateArena(&arena, bytes, NULL), kn_success);
    knTransform still = knIdentityTransform();
    knResult done =
        ground == 0
            ? knQueryShape(piece, &plane, still, &limits, &state, &arena, contacts, CAPACITY, &r)
        : ground == 1
            ? knQueryPair(piece, &other, &limits, &state, &arena, contacts, CAPACITY, &r)
            : knQueryTriangles(piece, &batch, &limits, &state, &arena, contacts, CAPACITY, &r);
    assert_int_equal(done, kn_success);
    knDestroyArena(&arena);
    return r.count > 0 ? Deepest(r.count) : 0.0f;
}

// A shard lands on its tip, and tips are where cracks meet: points that no edge of the mesh has.
// The oracle is what is drawn.
static void TipsOfShardsTouchFirst(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(43);
    uint32_t pieces[64], missed = 0;
    uint32_t count = ListPieces(bunny, pieces, 64);
    for (uint32_t i = 0; i < count; ++i)
    {
        knPieceMesh mesh;
        assert_int_equal(knCreatePieceMesh(&mesh, bunny, pieces[i], NULL, NULL, NULL), kn_success);
        for (int k = 0; k < EFFORT * 10; ++k)
        {
            float depth = 1e-3f * mesh.radius;
            knQueryPiece piece = {bunny, pieces[i], PutDown(&mesh, &random, depth), &mesh};
            for (int ground = 0; ground < 3; ++ground)
            {
                ASSERT_NEAR(DeepestOn(&piece, ground), -depth, 0.05f * depth);
            }
            piece.mesh = NULL;
            missed += DeepestOn(&piece, 0) > -0.9f * depth;
        }
        knDestroyPieceMesh(&mesh);
    }
    print_message("of %u landings on one point, %u are on one where cracks meet\n",
                  count * EFFORT * 10, missed);
    assert_true(missed > 0);
}

// A shape's contacts keep their ids while it hardly moves.
static void FeaturesLast(void** state)
{
    (void)state;
    knShape box = knMakeBoxShape(knMakeVec3(0.02f, 0.02f, 0.02f));
    knPairResult one = OnSlab(&box, At(0.0f, 0.0195f, 0.0f));
    uint32_t ids[64];
    for (uint32_t i = 0; i < one.count; ++i)
    {
        ids[i] = contacts[i].contact.feature;
        for (uint32_t k = 0; k < i; ++k)
        {
            assert_int_not_equal(ids[i], ids[k]);
        }
    }
    knPairResult two = OnSlab(&box, At(0.0003f, 0.0194f, 0.0002f));
    assert_int_equal(one.count, two.count);
    for (uint32_t i = 0; i < two.count; ++i)
    {
        assert_int_equal(ids[i], contacts[i].contact.feature);
    }
}

static void BadArgumentsAreNamed(void** state)
{
    (void)state;
    knQueryPiece piece = {slab, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    knShape ball = knMakeSphereShape(0.1f), bad = knMakeSphereShape(NAN);
    knPairState pair = {0};
    knPairResult result;
    MarkUntouched(&result, sizeof result);
    knArena arena;
    assert_int_equal(knCreateArena(&arena, 64, NULL), kn_success);
    knTransform t = knIdentityTransform();
    assert_int_equal(knQueryShape(&piece, &bad, t, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorArgument);
    assert_int_equal(knQueryShape(NULL, &ball, t, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorArgument);
    assert_int_equal(knQueryShape(&piece, &ball, t, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorMemory);
    t.position.x = NAN;
    assert_int_equal(knQueryShape(&piece, &ball, t, &limits, &pair, &arena, contacts, 8, &result),
                     kn_errorArgument);
    assert_true(IsUntouched(&result, sizeof result));
    knDestroyArena(&arena);
    // far away is not an error
    t.position.x = 1e30f;
    assert_int_equal(OnSlab(&ball, t).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ABoxRestsOnItsCorners),
        cmocka_unit_test(ASmallBallIsFoundBetweenThePoints),
        cmocka_unit_test(ABallOnAnEdgeAndACornerIsExact),
        cmocka_unit_test(SharpShapesPokeIntoAFace),
        cmocka_unit_test(RoundShapesLieAndStand),
        cmocka_unit_test(CrossedEdgesAreFound),
        cmocka_unit_test(APieceLiesOnAPlane),
        cmocka_unit_test(APieceLiesOnAPlaneFarAway),
        cmocka_unit_test(NoOverlapIsMissedAndNoneInvented),
        cmocka_unit_test(TheMeshChangesTheTimeAlone),
        cmocka_unit_test(TipsOfShardsTouchFirst),
        cmocka_unit_test(FeaturesLast),
        cmocka_unit_test(BadArgumentsAreNamed),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
