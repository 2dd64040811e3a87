// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/cast.h"
#include "knap/random.h"
#include "pieces.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define EFFORT 1
#else
#define EFFORT 5
#endif

#define MAX_PIECES 32

static TestModel bunnyModel;
static knFamily* bunny;
static uint32_t pieces[MAX_PIECES];
static uint32_t pieceCount;
static knPieceMesh meshes[MAX_PIECES];
static knArena arena;

static int Open(void** state)
{
    (void)state;
    bunnyModel = OpenDemoModel("bunny");
    bunny = MakeFamily(&bunnyModel);
    BreakInto(bunny, 10, 5);
    pieceCount = ListPieces(bunny, pieces, MAX_PIECES);
    for (uint32_t i = 0; i < pieceCount; ++i)
    {
        if (knCreatePieceMesh(&meshes[i], bunny, pieces[i], NULL, NULL, NULL) != kn_success)
        {
            return -1;
        }
    }
    return knCreateArena(&arena, (size_t)32 << 20, NULL) == kn_success ? 0 : -1;
}

static int Close(void** state)
{
    (void)state;
    for (uint32_t i = 0; i < pieceCount; ++i)
    {
        knDestroyPieceMesh(&meshes[i]);
    }
    knDestroyArena(&arena);
    knDestroyFamily(bunny);
    CloseModel(&bunnyModel);
    return 0;
}

// The surface as the cutting gives it, in the frame of the asset.
static knPieceSurface Surface(uint32_t piece)
{
    knPieceSurface s;
    knPieceOptions options = knDefaultPieceOptions();
    knArena_Reset(&arena);
    assert_int_equal(knFragmentSet_Surface(knFamily_Fragments(bunny), piece, &options, &arena, &s),
                     kn_success);
    return s;
}

static knDVec3 Corner(const knPieceSurface* s, uint32_t triangle, int i)
{
    return knToDouble(s->positions[s->triangles[triangle].v[i]]);
}

// By volumes: where the line from a to b crosses the plane, and whether between all three edges.
static double RayByForce(const knPieceSurface* s, knDVec3 a, knDVec3 b)
{
    double best = 2.0;
    for (uint32_t t = 0; t < s->triangleCount; ++t)
    {
        knDVec3 v[3] = {Corner(s, t, 0), Corner(s, t, 1), Corner(s, t, 2)};
        knDVec3 n = knDCross(knDSub(v[1], v[0]), knDSub(v[2], v[0]));
        double da = knDDot(n, knDSub(a, v[0])), db = knDDot(n, knDSub(b, v[0]));
        if ((da > 0.0) == (db > 0.0))
        {
            continue;
        }
        double f = da / (da - db);
        knDVec3 p = knDAdd(a, knDScale(f, knDSub(b, a)));
        bool inside = true;
        for (int i = 0; i < 3; ++i)
        {
            knDVec3 edge = knDSub(v[(i + 1) % 3], v[i]);
            inside = inside && knDDot(knDCross(edge, knDSub(p, v[i])), n) >= 0.0;
        }
        best = inside ? fmin(best, f) : best;
    }
    return best;
}

// The mesh is what the cutting made: the same triangles, moved to the centre of mass.
static void TheMeshIsThePiece(void** state)
{
    (void)state;
    for (uint32_t i = 0; i < pieceCount; ++i)
    {
        const knPieceMesh* m = &meshes[i];
        knPieceSurface s = Surface(pieces[i]);
        assert_int_equal(m->triangleCount, s.triangleCount);
        assert_true(m->vertexCount < 3 * m->triangleCount);
        uint32_t interior = 0;
        double volume = 0.0;
        for (uint32_t t = 0; t < m->triangleCount; ++t)
        {
            knVec3 v[3];
            knPieceMesh_Corners(m, t, v);
            for (int k = 0; k < 3; ++k)
            {
                uint32_t at = s.triangles[t].v[k];
                const knMeshVertex* vertex = &m->vertices[m->triangles[t].v[k]];
                ASSERT_NEAR(knDistance(knAdd(v[k], m->center), s.positions[at]), 0.0f, 1e-6f);
                assert_int_equal(vertex->point, s.pointIds[at]);
                ASSERT_NEAR(knDistance(vertex->normal, s.corners[3 * t + (uint32_t)k].normal), 0.0f,
                            1e-6f);
                assert_true(vertex->u == s.corners[3 * t + (uint32_t)k].u);
                assert_true(knLength(v[k]) <= m->radius);
            }
            assert_int_equal(m->sources[t].triangle, s.sources[t].triangle);
            interior += m->sources[t].isInterior;
            volume += knDDot(knToDouble(v[0]), knDCross(knToDouble(v[1]), knToDouble(v[2]))) / 6.0;
        }
        assert_int_equal(interior, s.crackTriangleCount);
        double truth = knFamily_Fragments(bunny)->fragments[pieces[i]].mass.volume;
        ASSERT_NEAR(volume, truth, 1e-4 * truth);
    }
}

typedef struct Found
{
    uint8_t seen[20000];
    uint32_t count;
    uint32_t limit;
} Found;

static bool Note(const knVec3 corners[3], uint32_t triangle, void* user)
{
    Found* found = user;
    (void)corners;
    found->seen[triangle] += 1;
    return ++found->count < found->limit;
}

static void EveryTriangleInABoxIsMet(void** state)
{
    (void)state;
    static Found found;
    knRandom random = knMakeRandom(6);
    for (int i = 0; i < 200; ++i)
    {
        const knPieceMesh* m = &meshes[knRandom_Below(&random, pieceCount)];
        knVec3 c = knRandom_InBox(&random, m->nodes[0].box);
        knBox box = knBox_Expand((knBox){c, c}, knRandom_Range(&random, 0.0f, 0.5f) * m->radius);
        memset(&found, 0, sizeof found);
        found.limit = 100000;
        knForEachTriangle(m, box, Note, &found);
        uint32_t expected = 0;
        for (uint32_t t = 0; t < m->triangleCount; ++t)
        {
            knVec3 v[3];
            knPieceMesh_Corners(m, t, v);
            knBox around = knBox_AddPoint(knBox_AddPoint((knBox){v[0], v[0]}, v[1]), v[2]);
            bool overlaps = knBox_Overlaps(around, box);
            assert_int_equal(found.seen[t], overlaps);
            expected += overlaps;
        }
        assert_int_equal(found.count, expected);
        // and it stops when told to
        memset(&found, 0, sizeof found);
        found.limit = 1;
        knForEachTriangle(m, box, Note, &found);
        assert_int_equal(found.count, expected > 0);
    }
}

static bool Agrees(const knPieceMesh* m, double fraction, double truth, double length,
                   double tolerance)
{
    bool isMiss = fraction > 1.0, isTrueMiss = truth > 1.0;
    return isMiss == isTrueMiss &&
           (isMiss || fabs(fraction - truth) * length < tolerance * (double)m->radius);
}

// Ten thousand rays, aimed at the pieces or past them, from outside and from within.
static void RaysEqualBruteForce(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(7);
    int hits = 0, mismatches = 0;
    for (uint32_t i = 0; i < pieceCount; ++i)
    {
        const knPieceMesh* m = &meshes[i];
        knPieceSurface s = Surface(pieces[i]);
        for (int k = 0; k < EFFORT * 2000 / (int)pieceCount + 1; ++k)
        {
            float far = k % 5 == 0 ? 0.5f : 3.0f;
            knVec3 from = knScale(far * m->radius, knRandom_UnitVec3(&random));
            knVec3 to = knScale(knRandom_Range(&random, 0.0f, 1.0f) * m->radius,
                                knRandom_UnitVec3(&random));
            to = knAddScaled(to, 1.0f, knSub(to, from));
            // some along an axis, some through a vertex
            if (k % 7 == 0)
            {
                to = knMakeVec3(from.x, from.y - 6.0f * m->radius, from.z);
            }
            bool atVertex = k % 11 == 0;
            if (atVertex)
            {
                knVec3 v = m->vertices[knRandom_Below(&random, m->vertexCount)].position;
                to = knAddScaled(from, 1.5f, knSub(v, from));
            }
            knCastHit hit;
            bool found = knCastRay(m, from, to, &hit);
            double truth = RayByForce(&s, knToDouble(knAdd(from, m->center)),
                                      knToDouble(knAdd(to, m->center)));
            double length = (double)knDistance(from, to);
            bool same = Agrees(m, found ? (double)hit.fraction : 2.0, truth, length, 1e-5);
            // a ray at a vertex may pass a hair beside it: then the oracle, moved by that, agrees
            for (int side = 0; side < 64 && atVertex && !same; ++side)
            {
                knVec3 shift = knScale(1e-5f * m->radius, knRandom_UnitVec3(&random));
                truth = RayByForce(&s, knToDouble(knAdd(knAdd(from, shift), m->center)),
                                   knToDouble(knAdd(knAdd(to, shift), m->center)));
                same = Agrees(m, found ? (double)hit.fraction : 2.0, truth, length, 2e-4);
            }
            mismatches += !same;
            hits += found;
            if (found)
            {
                ASSERT_NEAR(knLength(hit.normal), 1.0f, 1e-4f);
                ASSERT_NEAR(knDistance(hit.point, knLerp(from, to, hit.fraction)), 0.0f,
                            1e-5f * m->radius * 10.0f);
                assert_int_equal(hit.isInterior, m->sources[hit.triangle].isInterior);
            }
        }
    }
    assert_true(hits > EFFORT * 400 && hits < EFFORT * 1800);
    assert_int_equal(mismatches, 0);
}

static void InsideIsWhereTheFieldSaysSo(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(8);
    int inside = 0;
    for (int i = 0; i < EFFORT * 4000; ++i)
    {
        uint32_t k = knRandom_Below(&random, pieceCount);
        knVec3 p = knRandom_InBox(&random, meshes[k].nodes[0].box);
        knFieldQuery query = knMakeFieldQuery(knFamily_Field(bunny), pieces[k]);
        bool truth = knFieldQuery_Inside(&query, knAdd(p, meshes[k].center));
        bool answer = knPieceMesh_Contains(&meshes[k], p);
        inside += truth;
        if (answer != truth)
        {
            // rounding of the centre's shift, and no more
            knClosest closest;
            assert_true(knClosestToPoint(&meshes[k], p, 1e-5f, &closest));
        }
    }
    assert_true(inside > EFFORT * 600);
}

// Nearest point of a triangle: the plane's foot or the nearest of a fine row of points on each
// side.
static double PointToTriangle(knDVec3 p, const knDVec3 v[3])
{
    knDVec3 n = knDCross(knDSub(v[1], v[0]), knDSub(v[2], v[0]));
    double length = knDLength(n), best = DBL_MAX;
    bool inside = length > 0.0;
    double height = inside ? knDDot(n, knDSub(p, v[0])) / length : 0.0;
    for (int i = 0; i < 3; ++i)
    {
        knDVec3 d = knDSub(v[(i + 1) % 3], v[i]), q = knDSub(p, v[i]);
        inside = inside && knDDot(knDCross(d, q), n) >= 0.0;
        double t = fmin(fmax(knDDot(q, d) / fmax(knDDot(d, d), 1e-300), 0.0), 1.0);
        best = fmin(best, knDLength(knDSub(q, knDScale(t, d))));
    }
    return inside ? fabs(height) : best;
}

static double DistanceByForce(const knPieceMesh* m, knVec3 p)
{
    double best = DBL_MAX;
    for (uint32_t t = 0; t < m->triangleCount; ++t)
    {
        knVec3 v[3];
        knPieceMesh_Corners(m, t, v);
        knDVec3 d[3] = {knToDouble(v[0]), knToDouble(v[1]), knToDouble(v[2])};
        best = fmin(best, PointToTriangle(knToDouble(p), d));
    }
    return best;
}

static void ClosestPointsAreTheNearest(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(9);
    for (int i = 0; i < 300; ++i)
    {
        const knPieceMesh* m = &meshes[knRandom_Below(&random, pieceCount)];
        knVec3 p = knRandom_InBox(&random, knBox_Expand(m->nodes[0].box, 0.5f * m->radius));
        knClosest closest;
        bool found = knClosestToPoint(m, p, 10.0f, &closest);
        assert_true(found);
        if (knPieceMesh_Contains(m, p))
        {
            ASSERT_NEAR(closest.distance, 0.0f, 0.0f);
            ASSERT_NEAR(knPieceMesh_Depth(m, p), DistanceByForce(m, p), 1e-6);
            continue;
        }
        ASSERT_NEAR(knPieceMesh_Depth(m, p), 0.0f, 0.0f);
        double truth = DistanceByForce(m, p);
        ASSERT_NEAR(closest.distance, truth, 1e-6);
        ASSERT_NEAR(knDistance(closest.pointOnMesh, p), truth, 1e-6);
        assert_false(knClosestToPoint(m, p, (float)truth * 0.999f, &closest));
    }
}

// A ball that moves: before the hit it touches nothing, at the hit it does.
static void BallsStopWhereTheyTouch(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(10);
    int hits = 0;
    for (int i = 0; i < EFFORT * 20; ++i)
    {
        const knPieceMesh* m = &meshes[knRandom_Below(&random, pieceCount)];
        float radius = knRandom_Range(&random, 0.01f, 0.6f) * m->radius;
        knVec3 from = knScale(2.5f * m->radius, knRandom_UnitVec3(&random));
        knVec3 to =
            knAddScaled(from, 2.0f, knSub(knScale(m->radius, knRandom_UnitVec3(&random)), from));
        knCastHit hit;
        bool found = knCastSphere(m, from, to, radius, &hit);
        hits += found;
        float end = found ? hit.fraction : 1.0f;
        float length = knDistance(from, to);
        // conservative steps over the whole way by the oracle's distance alone
        double t = 0.0;
        while (t < (double)end)
        {
            double room = DistanceByForce(m, knLerp(from, to, (float)t)) - (double)radius;
            if (room < 2e-4 * (double)m->radius)
            {
                break;
            }
            t += room / (double)length;
        }
        if (found)
        {
            double room = DistanceByForce(m, knLerp(from, to, end)) - (double)radius;
            ASSERT_NEAR(room, 0.0, 2e-5 * (double)m->radius);
            // slow steps end up to where the way is flat along the surface
            assert_true(t <= (double)end + 1e-3);
            double before = DistanceByForce(m, knLerp(from, to, 0.98f * end)) - (double)radius;
            assert_true(before > -1e-5 * (double)m->radius);
        }
        else
        {
            assert_true(t >= 1.0 ||
                        DistanceByForce(m, knLerp(from, to, (float)t)) - (double)radius > -1e-7);
        }
    }
    assert_true(hits > EFFORT * 5 && hits < EFFORT * 20);
}

// The least distance of a shape's surface to the mesh, by points of the mesh's triangles.
static float ShapeByForce(const knPieceMesh* m, const knShape* shape, knTransform at)
{
    float best = FLT_MAX;
    for (uint32_t t = 0; t < m->triangleCount; ++t)
    {
        knVec3 v[3];
        knPieceMesh_Corners(m, t, v);
        for (int k = 0; k < 3; ++k)
        {
            v[k] = knInvTransformPoint(at, v[k]);
        }
        float size = knDistance(v[0], v[1]) + knDistance(v[1], v[2]);
        if (knShape_Distance(shape, v[0], NULL) - size > best)
        {
            continue;
        }
        for (int i = 0; i <= 12; ++i)
        {
            for (int k = 0; i + k <= 12; ++k)
            {
                float a = (float)i / 12.0f, b = (float)k / 12.0f;
                knVec3 p =
                    knAdd(knScale(1.0f - a - b, v[0]), knAdd(knScale(a, v[1]), knScale(b, v[2])));
                best = fminf(best, knShape_Distance(shape, p, NULL));
            }
        }
    }
    return best;
}

static void ShapesStopBeforeTheyEnter(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(11);
    knVec3 points[6];
    for (int i = 0; i < 6; ++i)
    {
        points[i] = knScale(0.02f, knRandom_UnitVec3(&random));
    }
    float radii[3] = {0.004f, 0.01f, 0.002f};
    knHull hull, round;
    assert_int_equal(knCreateHull(&hull, points, NULL, 6, NULL), kn_success);
    assert_int_equal(knCreateHull(&round, points, radii, 3, NULL), kn_success);
    knShape shapes[6] = {knMakeBoxShape(knMakeVec3(0.02f, 0.01f, 0.015f)),
                         knMakeCapsuleShape(0.01f, 0.02f),
                         knMakeCylinderShape(0.015f, 0.02f),
                         knMakeConeShape(0.015f, 0.02f),
                         knMakeHullShape(&hull),
                         knMakeHullShape(&round)};
    int hits = 0;
    for (int i = 0; i < EFFORT * 12; ++i)
    {
        const knPieceMesh* m = &meshes[knRandom_Below(&random, pieceCount)];
        const knShape* shape = &shapes[i % 6];
        knVec3 from = knScale(m->radius + 0.06f, knRandom_UnitVec3(&random));
        knVec3 to = knAddScaled(from, 2.0f,
                                knSub(knScale(0.7f * m->radius, knRandom_UnitVec3(&random)), from));
        knTransform at = {from, knMakeQuat(knRandom_UnitVec3(&random), 2.0f)};
        knCastHit hit;
        bool found = knCastShape(m, shape, at, knSub(to, from), &hit);
        hits += found;
        float end = found ? hit.fraction : 1.0f;
        float slack = 1e-4f * m->radius;
        for (int k = 0; k <= 20; ++k)
        {
            at.position = knLerp(from, to, end * (float)k / 20.0f);
            assert_true(ShapeByForce(m, shape, at) > -slack);
        }
        if (found)
        {
            // it touches at the hit: the point is on the shape and on the mesh
            ASSERT_NEAR(knShape_Distance(shape, knInvTransformPoint(at, hit.point), NULL), 0.0f,
                        slack);
            ASSERT_NEAR(DistanceByForce(m, hit.point), 0.0, 1e-5);
            knClosest closest;
            assert_true(knClosestToShape(m, shape, at, slack, &closest));
            assert_true(knDot(hit.normal, knSub(to, from)) < 1e-3f * knDistance(from, to));
        }
    }
    assert_true(hits > EFFORT * 4 && hits < EFFORT * 12);
    knDestroyHull(&hull);
    knDestroyHull(&round);
}

static void WhatStartsInsideStopsAtOnce(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(12);
    int tried = 0;
    for (int i = 0; i < 500; ++i)
    {
        const knPieceMesh* m = &meshes[knRandom_Below(&random, pieceCount)];
        knVec3 p = knRandom_InBox(&random, m->nodes[0].box), to = {9.0f, 0.0f, 0.0f};
        knCastHit hit;
        if (knPieceMesh_Contains(m, p))
        {
            assert_true(knCastSphere(m, p, to, 1e-5f, &hit));
            ASSERT_NEAR(hit.fraction, 0.0f, 0.0f);
            // a ray from within comes out
            assert_true(knCastRay(m, p, to, &hit));
            tried += 1;
        }
    }
    assert_true(tried > 50);
}

static void NonsenseHitsNothing(void** state)
{
    (void)state;
    knVec3 nan = {NAN, 0.0f, 0.0f}, zero = {0.0f, 0.0f, 0.0f}, far = {1e30f, 1e30f, 1e30f};
    knCastHit hit;
    MarkUntouched(&hit, sizeof hit);
    assert_false(knCastRay(&meshes[0], nan, zero, &hit));
    assert_false(knCastRay(&meshes[0], zero, zero, &hit));
    assert_false(knCastRay(NULL, zero, far, &hit));
    assert_false(knCastSphere(&meshes[0], nan, zero, 1.0f, &hit));
    assert_false(knCastSphere(&meshes[0], far, knScale(1.1f, far), 1.0f, &hit));
    assert_false(knCastRay(&meshes[0], far, knScale(1.1f, far), &hit));
    assert_true(IsUntouched(&hit, sizeof hit));
    knPieceMesh mesh;
    MarkUntouched(&mesh, sizeof mesh);
    assert_int_equal(knCreatePieceMesh(&mesh, bunny, 0, NULL, NULL, NULL), kn_errorArgument);
    knArena tiny;
    assert_int_equal(knCreateArena(&tiny, 256, NULL), kn_success);
    assert_int_equal(knCreatePieceMesh(&mesh, bunny, pieces[0], NULL, &tiny, NULL), kn_errorMemory);
    assert_true(IsUntouched(&mesh, sizeof mesh));
    knDestroyArena(&tiny);
}

static knResult MakeAMesh(const knAllocator* allocator, void* context)
{
    (void)context;
    knPieceMesh mesh;
    knResult result = knCreatePieceMesh(&mesh, bunny, pieces[0], NULL, NULL, allocator);
    if (result == kn_success)
    {
        knDestroyPieceMesh(&mesh);
    }
    return result;
}

static void MeshesSurviveAllocationFailures(void** state)
{
    (void)state;
    SurviveAllocationFailures(MakeAMesh, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheMeshIsThePiece),
        cmocka_unit_test(EveryTriangleInABoxIsMet),
        cmocka_unit_test(RaysEqualBruteForce),
        cmocka_unit_test(InsideIsWhereTheFieldSaysSo),
        cmocka_unit_test(ClosestPointsAreTheNearest),
        cmocka_unit_test(BallsStopWhereTheyTouch),
        cmocka_unit_test(ShapesStopBeforeTheyEnter),
        cmocka_unit_test(WhatStartsInsideStopsAtOnce),
        cmocka_unit_test(NonsenseHitsNothing),
        cmocka_unit_test(MeshesSurviveAllocationFailures),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
