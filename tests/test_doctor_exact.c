// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "doctor_internal.h"
#include "knap/random.h"
#include "predicates.h"

#define SCALE (1.0 / 64.0)

// The oracle: integers and fractions on a small lattice, every point of contact written down.
typedef struct Int3
{
    int64_t x, y, z;
} Int3;

// A point (x, y, z) / w with w > 0.
typedef struct Fraction
{
    Int3 p;
    int64_t w;
} Fraction;

static Int3 Minus(Int3 a, Int3 b)
{
    return (Int3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static Int3 Times(int64_t s, Int3 a)
{
    return (Int3){s * a.x, s * a.y, s * a.z};
}

static Int3 Plus(Int3 a, Int3 b)
{
    return (Int3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static Int3 Cross(Int3 a, Int3 b)
{
    return (Int3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static int64_t Dot(Int3 a, Int3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static bool IsZero(Int3 a)
{
    return a.x == 0 && a.y == 0 && a.z == 0;
}

static bool InTriangle(Fraction f, const Int3 t[3])
{
    Int3 n = Cross(Minus(t[1], t[0]), Minus(t[2], t[0]));
    for (int k = 0; k < 3; ++k)
    {
        Int3 toPoint = Minus(f.p, Times(f.w, t[k]));
        Int3 edge = Minus(t[(k + 1) % 3], t[k]);
        if (Dot(n, toPoint) != 0 || Dot(n, Cross(edge, toPoint)) < 0)
        {
            return false;
        }
    }
    return true;
}

// Is the point in what the triangles share: nothing, one vertex, or the edge between two?
static bool InShared(Fraction f, const Int3* shared, int count)
{
    if (count == 0)
    {
        return false;
    }
    Int3 fromFirst = Minus(f.p, Times(f.w, shared[0]));
    if (count == 1)
    {
        return IsZero(fromFirst);
    }
    Int3 edge = Minus(shared[1], shared[0]);
    int64_t along = Dot(edge, fromFirst);
    return IsZero(Cross(edge, fromFirst)) && along >= 0 && along <= f.w * Dot(edge, edge);
}

static bool IsContact(Fraction f, const Int3 s[3], const Int3 t[3], const Int3* shared, int count)
{
    return InTriangle(f, s) && InTriangle(f, t) && !InShared(f, shared, count);
}

// Where the edge p q of one triangle meets the plane of t, or the edges of t in that plane.
static bool EdgeContact(Int3 p, Int3 q, const Int3 s[3], const Int3 t[3], const Int3* shared,
                        int count)
{
    Int3 n = Cross(Minus(t[1], t[0]), Minus(t[2], t[0])), d = Minus(q, p);
    int64_t a = Dot(n, Minus(p, t[0])), b = Dot(n, Minus(q, t[0]));
    if (a != b)
    {
        int64_t w = a - b;
        Fraction f = {Plus(Times(w, p), Times(a, d)), w};
        f = w < 0 ? (Fraction){Times(-1, f.p), -w} : f;
        return IsContact(f, s, t, shared, count);
    }
    for (int k = 0; k < 3 && a == 0; ++k)
    {
        Int3 e = Minus(t[(k + 1) % 3], t[k]), c = Cross(d, e);
        int64_t w = Dot(c, c);
        int64_t along = Dot(Cross(Minus(t[k], p), e), c);
        Fraction f = {Plus(Times(w, p), Times(along, d)), w};
        if (w > 0 && IsContact(f, s, t, shared, count))
        {
            return true;
        }
    }
    return false;
}

static bool OracleMeets(const Int3 s[3], const Int3 t[3], const Int3* shared, int count)
{
    for (int k = 0; k < 3; ++k)
    {
        Fraction a = {s[k], 1}, b = {t[k], 1};
        if (IsContact(a, s, t, shared, count) || IsContact(b, s, t, shared, count) ||
            EdgeContact(s[k], s[(k + 1) % 3], s, t, shared, count) ||
            EdgeContact(t[k], t[(k + 1) % 3], t, s, shared, count))
        {
            return true;
        }
    }
    return count == 3;
}

static Int3 LatticePoint(const knSoup* soup, uint32_t v)
{
    knVec3 p = soup->positions[v];
    return (Int3){(int64_t)p.x, (int64_t)p.y, (int64_t)p.z};
}

static bool OraclePair(const knSoup* soup, knTriangle s, knTriangle t)
{
    Int3 p[3], q[3], shared[3];
    int count = 0;
    for (int i = 0; i < 3; ++i)
    {
        p[i] = LatticePoint(soup, s.v[i]);
        q[i] = LatticePoint(soup, t.v[i]);
        for (int k = 0; k < 3; ++k)
        {
            if (s.v[i] == t.v[k])
            {
                shared[count++] = p[i];
            }
        }
    }
    return OracleMeets(p, q, shared, count);
}

static bool OracleIsFlat(const knSoup* soup, knTriangle t)
{
    Int3 a = LatticePoint(soup, t.v[0]);
    return IsZero(
        Cross(Minus(LatticePoint(soup, t.v[1]), a), Minus(LatticePoint(soup, t.v[2]), a)));
}

// Points of a lattice, no two alike, and triangles with area between them.
static knSoup RandomLattice(knRandom* random, uint32_t size, uint32_t pointCount,
                            uint32_t triangleCount)
{
    knSoup soup = knMakeSoup(NULL);
    knCornerAttribute attribute = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    assert_int_equal(knSoup_AddAttribute(&soup, attribute, NULL), kn_success);
    while (soup.positionCount < pointCount)
    {
        knVec3 p = {(float)knRandom_Below(random, size), (float)knRandom_Below(random, size),
                    (float)knRandom_Below(random, size)};
        bool fresh = true;
        for (size_t i = 0; i < soup.positionCount; ++i)
        {
            fresh = fresh && knDistance(p, soup.positions[i]) > 0.5f;
        }
        if (fresh)
        {
            assert_int_equal(knSoup_AddPosition(&soup, p, NULL), kn_success);
        }
    }
    while (soup.triangleCount < triangleCount)
    {
        knTriangle t = {{knRandom_Below(random, pointCount), knRandom_Below(random, pointCount),
                         knRandom_Below(random, pointCount)}};
        if (!OracleIsFlat(&soup, t))
        {
            knTriangle corners = {{0, 0, 0}};
            assert_int_equal(knSoup_AddTriangle(&soup, t, corners, 0), kn_success);
        }
    }
    return soup;
}

// Small lattices are full of ties: touching, coplanar, folded, collinear.
static void CrossingsAreThoseOfTheLatticeOracle(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(11);
    size_t total = 0;
    for (int round = 0; round < 3000; ++round)
    {
        uint32_t size = 3 + (uint32_t)round % 5, triangles = 4 + (uint32_t)round % 23;
        knSoup soup = RandomLattice(&random, size, 6 + (uint32_t)round % 17, triangles);
        bool expected[64] = {false}, involved[64];
        size_t pairs = 0, expectedPairs = 0;
        for (size_t a = 0; a < triangles; ++a)
        {
            for (size_t b = a + 1; b < triangles; ++b)
            {
                bool meets = OraclePair(&soup, soup.triangles[a], soup.triangles[b]);
                expectedPairs += meets;
                expected[a] = expected[a] || meets;
                expected[b] = expected[b] || meets;
            }
        }
        assert_int_equal(knFindIntersections(&soup, SCALE, 0, involved, &pairs), kn_success);
        assert_int_equal(pairs, expectedPairs);
        assert_memory_equal(involved, expected, triangles * sizeof(bool));
        total += pairs;
        knDestroySoup(&soup);
    }
    assert_true(total > 10000);
}

// Looking only for partners of the later triangles finds just those pairs.
static void PartnersOfNewTrianglesAreFound(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(12);
    for (int round = 0; round < 300; ++round)
    {
        knSoup soup = RandomLattice(&random, 6, 20, 30);
        size_t first = 1 + knRandom_Below(&random, 29), pairs = 0, expected = 0;
        bool involved[30];
        for (size_t b = first; b < 30; ++b)
        {
            for (size_t a = 0; a < b; ++a)
            {
                expected += OraclePair(&soup, soup.triangles[a], soup.triangles[b]);
            }
        }
        assert_int_equal(knFindIntersections(&soup, SCALE, first, involved, &pairs), kn_success);
        assert_int_equal(pairs, expected);
        knDestroySoup(&soup);
    }
}

static void FlatTrianglesAreFoundExactly(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(13);
    knSoup soup = RandomLattice(&random, 8, 60, 0);
    int flat = 0;
    for (int i = 0; i < 20000; ++i)
    {
        knTriangle t = {{knRandom_Below(&random, 60), knRandom_Below(&random, 60),
                         knRandom_Below(&random, 60)}};
        bool expected = OracleIsFlat(&soup, t);
        assert_int_equal(knSoup_IsFlat(&soup, SCALE, t), expected);
        flat += expected;
    }
    assert_true(flat > 100);
    knDestroySoup(&soup);
}

// A third of the way along a slanted edge is not on it in floats: no tie may be invented.
static void RoundingDecidesNothing(void** state)
{
    (void)state;
    const knPoint a = {{0.0, 0.0, 0.0}}, b = {{0.3, 0.1, 0.2}};
    for (int i = 100; i < 1000; ++i)
    {
        double t = (double)i / 1000.0;
        knPoint on = {{t * b.c[0], t * b.c[1], t * b.c[2]}};
        // all bits of a number above 0.01 lie above 2^-60: integers tell the truth about it
        __extension__ typedef __int128 Wide;
        Wide p[3], q[3];
        for (int k = 0; k < 3; ++k)
        {
            p[k] = (Wide)(on.c[k] * 0x1p60);
            q[k] = (Wide)(b.c[k] * 0x1p60);
        }
        bool collinear =
            p[0] * q[1] == p[1] * q[0] && p[1] * q[2] == p[2] * q[1] && p[0] * q[2] == p[2] * q[0];
        assert_int_equal(knIsCollinear(&a, &b, &on), collinear);
    }
}

// Every overlapping pair once, whatever the boxes.
static bool CountPair(uint32_t a, uint32_t b, void* context)
{
    uint8_t* seen = context;
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    seen[low * 200 + high] += 1;
    return true;
}

static void TheTreeFindsEveryPairOnce(void** state)
{
    (void)state;
    static uint8_t seen[200 * 200];
    knRandom random = knMakeRandom(14);
    knAllocator heap = knDefaultAllocator();
    for (uint32_t count = 0; count < 200; count += 7)
    {
        knBox boxes[200];
        for (uint32_t i = 0; i < count; ++i)
        {
            knVec3 p = knRandom_InBox(&random, (knBox){{0, 0, 0}, {1, 1, 0}});
            float size = knRandom_Range(&random, 0.0f, 0.2f);
            boxes[i] = (knBox){p, knAdd(p, knMakeVec3(size, size, 0))};
        }
        knBoxTree tree;
        memset(seen, 0, sizeof(seen));
        assert_int_equal(knBuildBoxTree(&tree, boxes, count, &heap), kn_success);
        knBoxTree_SelfPairs(&tree, CountPair, seen);
        for (uint32_t a = 0; a < count; ++a)
        {
            for (uint32_t b = a + 1; b < count; ++b)
            {
                assert_int_equal(seen[a * 200 + b], knBox_Overlaps(boxes[a], boxes[b]));
            }
        }
        knDestroyBoxTree(&tree);
    }
}

static int InitExact(void** state)
{
    (void)state;
    knInitPredicates();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CrossingsAreThoseOfTheLatticeOracle),
        cmocka_unit_test(PartnersOfNewTrianglesAreFound),
        cmocka_unit_test(FlatTrianglesAreFoundExactly),
        cmocka_unit_test(RoundingDecidesNothing),
        cmocka_unit_test(TheTreeFindsEveryPairOnce),
    };
    return cmocka_run_group_tests(tests, InitExact, NULL);
}
