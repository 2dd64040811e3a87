// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "pieces.h"

#include <math.h>

#define CAPACITY 20000

static knPairContact contacts[CAPACITY];
static knPairContact others[CAPACITY];

static knResult Query(const knQueryPiece* a, const knQueryPiece* b, const knContactLimits* limits,
                      knPairState* state, knPairContact* out, knPairResult* result)
{
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knQueryBytes(a, b), NULL), kn_success);
    knResult done = knQueryPair(a, b, limits, state, &arena, out, CAPACITY, result);
    assert_int_equal(arena.usedBytes, 0);
    assert_int_equal(arena.wantedBytes, 0);
    knDestroyArena(&arena);
    return done;
}

static uint32_t QueryFresh(const knQueryPiece* a, const knQueryPiece* b,
                           const knContactLimits* limits, knPairResult* result)
{
    knPairState state = {0};
    assert_int_equal(Query(a, b, limits, &state, contacts, result), kn_success);
    return result->count;
}

// Every point of a piece against the other, one by one: inside, or outside within the margin.
static uint32_t CountByForce(const knQueryPiece* a, const knQueryPiece* b, float margin)
{
    const knSphereForest* forest = knFamily_Forest(a->family);
    const knTetMesh* mesh = knFamily_Fragments(a->family)->cutMesh->mesh;
    knTransform t = knInvMulTransforms(b->transform, a->transform);
    knMat3 rotation = knMat3FromQuat(t.rotation);
    knFieldQuery query = knMakeFieldQuery(knFamily_Field(b->family), b->fragment);
    uint32_t count = 0;
    const knCutStore* cuts = knFamily_Cuts(a->family);
    uint32_t point = knSphereForest_Fragment(forest, a->fragment).firstRoot;
    for (; point != KN_NONE; point = knSphereForest_NextPoint(forest, point))
    {
        knVec3 p = knSpherePosition(mesh, cuts, point);
        knVec3 q = knAdd(knMulMV(rotation, p), t.position);
        knFieldContact contact;
        count += knFieldQuery_Inside(&query, q) ||
                 (margin > 0.0f && knFieldQuery_Distance(&query, q, margin, &contact));
    }
    return count;
}

static float PieceRadius(const knQueryPiece* piece)
{
    knBox box = knFragmentField_Box(knFamily_Field(piece->family), piece->fragment);
    return 0.5f * knLength(knBox_Extent(box));
}

static knVec3 Middle(const knQueryPiece* piece)
{
    return knBox_Center(knFragmentField_Box(knFamily_Field(piece->family), piece->fragment));
}

// Turned at random, with its middle near the middle of the other piece.
static knTransform RandomPose(knRandom* random, const knQueryPiece* piece,
                              const knQueryPiece* other)
{
    knTransform t = {.rotation =
                         knMakeQuat(knRandom_UnitVec3(random), knRandom_Range(random, 0.0f, 6.0f))};
    knVec3 shift =
        knScale(knRandom_Range(random, 0.0f, 1.2f) * PieceRadius(other), knRandom_UnitVec3(random));
    t.position = knSub(knAdd(Middle(other), shift), knRotate(t.rotation, Middle(piece)));
    return t;
}

static void FullDetectionEqualsBruteForce(void** state)
{
    (void)state;
    TestModel bunny = OpenDemoModel("bunny"), plate = OpenDemoModel("plate");
    knFamily* a = MakeFamily(&bunny);
    knFamily* b = MakeFamily(&plate);
    BreakInto(a, 12, 1);
    BreakInto(b, 7, 2);
    uint32_t piecesA[64], piecesB[64];
    uint32_t countA = ListPieces(a, piecesA, 64), countB = ListPieces(b, piecesB, 64);
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    limits.edgeContacts = 0;
    knRandom random = knMakeRandom(3);
    uint32_t touching = 0;
    for (int i = 0; i < 150; ++i)
    {
        knQueryPiece p = {a, piecesA[knRandom_Below(&random, countA)], knIdentityTransform(), NULL};
        knQueryPiece q = {b, piecesB[knRandom_Below(&random, countB)], knIdentityTransform(), NULL};
        q.transform = RandomPose(&random, &q, &p);
        knPairResult result;
        QueryFresh(&p, &q, &limits, &result);
        float margin = limits.margin * fminf(PieceRadius(&p), PieceRadius(&q));
        uint32_t expected = CountByForce(&p, &q, margin) + CountByForce(&q, &p, margin);
        assert_int_equal(result.count, expected);
        touching += expected > 0;
    }
    // the poses must be worth something
    assert_in_range(touching, 40, 150);
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&bunny);
    CloseModel(&plate);
}

// Pieces that nobody has moved: their cracks touch everywhere, none is inside another.
static void PiecesInPlaceTouchAndDoNotOverlap(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&brick);
    assert_true(SplitByPlane(family, 0, knMakeVec3(1.0f, 0.0f, 0.0f)));
    uint32_t pieces[8];
    assert_int_equal(ListPieces(family, pieces, 8), 2);
    knQueryPiece a = {family, pieces[0], knIdentityTransform(), NULL};
    knQueryPiece b = {family, pieces[1], knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    knPairResult result;
    assert_true(QueryFresh(&a, &b, &limits, &result) >= limits.contacts);
    float radius = fminf(PieceRadius(&a), PieceRadius(&b));
    for (uint32_t i = 0; i < result.count; ++i)
    {
        assert_true(fabsf(contacts[i].contact.distance) < 1e-4f * radius);
    }
    // moved apart by more than the margin, they do not touch
    b.transform.position = knMakeVec3(0.5f, 0.0f, 0.0f);
    assert_int_equal(QueryFresh(&a, &b, &limits, &result), 0);
    knDestroyFamily(family);
    CloseModel(&brick);
}

static void SelectionKeepsAFewAndAdapts(void** state)
{
    (void)state;
    TestModel plate = OpenDemoModel("plate");
    knFamily* a = MakeFamily(&plate);
    knFamily* b = MakeFamily(&plate);
    knQueryPiece p = {a, 0, knIdentityTransform(), NULL};
    knQueryPiece q = {b, 0, knIdentityTransform(), NULL};
    q.transform.position.y = 0.003f; // one plate in another: hundreds of points are inside
    knContactLimits limits = knDefaultContactLimits();
    knPairState pair = {0};
    knPairResult result;
    uint32_t before = limits.contacts;
    for (int i = 0; i < 20; ++i)
    {
        assert_int_equal(Query(&p, &q, &limits, &pair, contacts, &result), kn_success);
        assert_true(result.count <= before + limits.growth);
        assert_true(pair.contacts >= before);
        before = pair.contacts;
    }
    assert_true(pair.contacts > limits.contacts);
    assert_true(pair.contacts <= limits.maxContacts);
    uint64_t visits = result.counters.visits;
    limits.full = true;
    QueryFresh(&p, &q, &limits, &result);
    assert_true(result.count > 10 * before);
    assert_true(visits * 3 < result.counters.visits);
    // apart again: m falls back
    limits.full = false;
    q.transform.position.y = 1.0f;
    for (int i = 0; i < 1200; ++i)
    {
        assert_int_equal(Query(&p, &q, &limits, &pair, contacts, &result), kn_success);
    }
    assert_int_equal(pair.contacts, limits.contacts);
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&plate);
}

// The contacts deeper than epsilon, when every point is looked at, after checking that selection
// finds as many once m has settled.
static uint32_t CheckDeepContacts(const knQueryPiece* p, const knQueryPiece* q, uint32_t growth)
{
    knContactLimits limits = knDefaultContactLimits();
    limits.maxContacts = 4096;
    limits.growth = growth;
    knPairState pair = {0};
    knPairResult result, full;
    uint32_t before = 0;
    do
    {
        before = pair.contacts;
        assert_int_equal(Query(p, q, &limits, &pair, contacts, &result), kn_success);
    } while (pair.contacts != before);
    knContactLimits all = limits;
    all.full = true;
    knPairState fresh = {0};
    assert_int_equal(Query(p, q, &all, &fresh, others, &full), kn_success);
    float epsilon = limits.epsilon * fminf(PieceRadius(p), PieceRadius(q));
    uint32_t deep = 0, found = 0;
    for (uint32_t i = 0; i < full.count; ++i)
    {
        deep += others[i].contact.distance < -epsilon;
    }
    for (uint32_t i = 0; i < result.count; ++i)
    {
        found += contacts[i].contact.distance < -epsilon;
    }
    assert_int_equal(found, deep);
    return deep;
}

// What selection leaves out must be shallow once m has settled: nothing deeper than epsilon is
// missed for ever.
static void NothingDeepIsMissedForEver(void** state)
{
    (void)state;
    TestModel bunny = OpenDemoModel("bunny");
    knFamily* a = MakeFamily(&bunny);
    knFamily* b = MakeFamily(&bunny);
    knQueryPiece p = {a, 0, knIdentityTransform(), NULL};
    knQueryPiece q = {b, 0, knIdentityTransform(), NULL};
    q.transform.position.x = 0.12f;
    assert_true(CheckDeepContacts(&p, &q, 1) > 8);
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&bunny);
}

// Neighbours that have moved by about epsilon against each other: what a query may leave out there,
// as it cannot be deep, is not.
static void NothingDeepIsMissedBetweenNeighbours(void** state)
{
    (void)state;
    TestModel bunny = OpenDemoModel("bunny");
    knFamily* family = MakeFamily(&bunny);
    BreakInto(family, 8, 5);
    uint32_t pieces[16], count = ListPieces(family, pieces, 16), deep = 0;
    knRandom random = knMakeRandom(11);
    for (int i = 0; i < 60; ++i)
    {
        knQueryPiece p = {family, pieces[knRandom_Below(&random, count)], knIdentityTransform(),
                          NULL};
        knQueryPiece q = {family, pieces[knRandom_Below(&random, count)], knIdentityTransform(),
                          NULL};
        const knFragmentField* field = knFamily_Field(family);
        if (p.fragment == q.fragment || !knBox_Overlaps(knFragmentField_Box(field, p.fragment),
                                                        knFragmentField_Box(field, q.fragment)))
        {
            continue;
        }
        float epsilon = 0.002f * fminf(PieceRadius(&p), PieceRadius(&q));
        knVec3 shift =
            knScale(knRandom_Range(&random, 0.0f, 3.0f) * epsilon, knRandom_UnitVec3(&random));
        knQuat turn = knMakeQuat(knRandom_UnitVec3(&random), knRandom_Range(&random, 0.0f, 0.01f));
        knVec3 center = Middle(&q);
        q.transform.rotation = turn;
        q.transform.position = knAdd(knSub(center, knRotate(turn, center)), shift);
        deep += CheckDeepContacts(&p, &q, 500) > 0;
    }
    assert_true(deep >= 5);
    knDestroyFamily(family);
    CloseModel(&bunny);
}

// Vertices only at the ends: no point is ever inside the other rod.
static void CrossedRodsDoNotPass(void** state)
{
    (void)state;
    TestModel rod =
        OpenBoxModel("rod", knMakeVec3(-0.5f, -0.01f, -0.01f), knMakeVec3(0.5f, 0.01f, 0.01f));
    knFamily* a = MakeFamily(&rod);
    knFamily* b = MakeFamily(&rod);
    knContactLimits limits = knDefaultContactLimits();
    knRandom random = knMakeRandom(5);
    for (int i = 0; i < 200; ++i)
    {
        knQueryPiece p = {a, 0, knIdentityTransform(), NULL};
        knQueryPiece q = {b, 0, knIdentityTransform(), NULL};
        q.transform.rotation =
            knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), knRandom_Range(&random, 0.5f, 2.6f));
        q.transform.position = knMakeVec3(knRandom_Range(&random, -0.4f, 0.4f),
                                          knRandom_Range(&random, 0.012f, 0.018f),
                                          knRandom_Range(&random, -0.1f, 0.1f));
        knPairResult result;
        assert_true(QueryFresh(&p, &q, &limits, &result) > 0);
        float deepest = 0.0f;
        for (uint32_t k = 0; k < result.count; ++k)
        {
            deepest = fminf(deepest, contacts[k].contact.distance);
        }
        // they overlap by this much along y, and by no less along any other way out
        float overlap = 0.02f - q.transform.position.y;
        assert_true(deepest < -0.5f * overlap && deepest > -1.2f * overlap - 1e-4f);
        q.transform.position.y = 0.0225f;
        assert_int_equal(QueryFresh(&p, &q, &limits, &result), 0);
    }
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&rod);
}

// Rods that stand on their edges, one across the other: a contact before they touch, between the
// edges, with the way out across both.
static void CrossingEdgesMeetBeforeTheyTouch(void** state)
{
    (void)state;
    TestModel rod =
        OpenBoxModel("rod", knMakeVec3(-0.5f, -0.01f, -0.01f), knMakeVec3(0.5f, 0.01f, 0.01f));
    knFamily* a = MakeFamily(&rod);
    knFamily* b = MakeFamily(&rod);
    knContactLimits limits = knDefaultContactLimits();
    knQuat onEdge = knMakeQuat(knMakeVec3(1.0f, 0.0f, 0.0f), 0.7853982f);
    knRandom random = knMakeRandom(6);
    const float half = 0.01f * sqrtf(2.0f);
    for (int i = 0; i < 300; ++i)
    {
        knQueryPiece p = {a, 0, {{0.0f, 0.0f, 0.0f}, onEdge}, NULL};
        knQueryPiece q = p;
        q.family = b;
        // clear of the ends of the mesh's edges, where points touch
        float turn = knRandom_Range(&random, 0.5f, 2.6f);
        float margin = limits.margin * PieceRadius(&p);
        float gap = knRandom_Range(&random, -0.004f, 0.99f * margin);
        q.transform.rotation = knMulQuat(knMakeQuat(knMakeVec3(0.0f, 1.0f, 0.0f), turn), onEdge);
        q.transform.position = knMakeVec3(knRandom_Range(&random, -0.2f, 0.2f), 2.0f * half + gap,
                                          knRandom_Range(&random, -0.1f, 0.1f));
        knPairResult result;
        uint32_t count = QueryFresh(&p, &q, &limits, &result), crossings = 0;
        for (uint32_t k = 0; k < count; ++k)
        {
            const knContact* c = &contacts[k].contact;
            knVec3 up = contacts[k].side == 0 ? knNeg(c->normal) : c->normal;
            crossings += contacts[k].kind == kn_contactEdge && up.y > 0.9999f &&
                         fabsf(c->distance - gap) < 1e-5f;
        }
        assert_int_equal(crossings, 1);
        q.transform.position.y = 2.0f * half + 1.5f * margin;
        assert_int_equal(QueryFresh(&p, &q, &limits, &result), 0);
    }
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&rod);
}

// A comb of six teeth, each a bar with points at its ends only.
static TestModel OpenComb(void)
{
    static char text[16384];
    const float heights[3] = {0.0f, 0.01f, 0.11f};
    static const int sides[6][4][3] = {
        {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0}}, {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}},
        {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1}}, {{0, 1, 0}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}},
        {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}}, {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}};
    static const int steps[6][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {9, 9}, {9, 9}};
    char corners[12288] = "";
    int count = 0, length = 0;
    for (int cell = 0; cell < 22; ++cell)
    {
        int cx = cell % 11, cy = cell / 11;
        for (int side = 0; side < 6 && (cy == 0 || cx % 2 == 0); ++side)
        {
            int nx = cx + steps[side][0], ny = cy + steps[side][1];
            bool filled = nx >= 0 && nx < 11 && (ny == 0 || (ny == 1 && nx % 2 == 0));
            for (int c = 0; c < 4 && !filled; ++c)
            {
                const int* at = sides[side][c];
                length += snprintf(corners + length, sizeof corners - (size_t)length, "%g %g %g\n",
                                   0.01 * (cx + at[0]), (double)heights[cy + at[1]], 0.01 * at[2]);
            }
            count += !filled;
        }
    }
    length = snprintf(text, sizeof text, "OFF\n%d %d 0\n%s", 4 * count, count, corners);
    for (int i = 0; i < count; ++i)
    {
        length += snprintf(text + length, sizeof text - (size_t)length, "4 %d %d %d %d\n", 4 * i,
                           4 * i + 1, 4 * i + 2, 4 * i + 3);
    }
    return OpenOffModel("comb", text);
}

// One comb lies across the other, teeth over teeth.
static void CrossedCombsDoNotPass(void** state)
{
    (void)state;
    TestModel comb = OpenComb();
    ASSERT_NEAR(knAsset_Info(comb.asset)->volume, 0.11 * 0.01 * 0.01 + 6 * 0.1 * 0.01 * 0.01, 1e-9);
    knFamily* a = MakeFamily(&comb);
    knFamily* b = MakeFamily(&comb);
    knContactLimits limits = knDefaultContactLimits();
    knRandom random = knMakeRandom(7);
    for (int i = 0; i < 100; ++i)
    {
        knQueryPiece p = {a, 0, knIdentityTransform(), NULL};
        knQueryPiece q = {b, 0, knIdentityTransform(), NULL};
        q.transform.rotation = knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 1.5707963f);
        q.transform.position = knMakeVec3(0.11f + knRandom_Range(&random, -0.03f, 0.03f),
                                          knRandom_Range(&random, -0.03f, 0.03f),
                                          knRandom_Range(&random, 0.004f, 0.009f));
        knPairResult result;
        assert_true(QueryFresh(&p, &q, &limits, &result) > 0);
        q.transform.position.z = 0.0125f;
        assert_int_equal(QueryFresh(&p, &q, &limits, &result), 0);
    }
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&comb);
}

static knDVec3 ClosestOnSegment(knDVec3 p, knDVec3 a, knDVec3 b)
{
    knDVec3 d = knDSub(b, a);
    double t = knDDot(knDSub(p, a), d) / knDDot(d, d);
    return knDAdd(a, knDScale(fmin(fmax(t, 0.0), 1.0), d));
}

// The foot of the perpendicular where it falls inside, else the nearest of the three sides.
static knVec3 ClosestOnTriangle(knVec3 point, const knVec3 corners[3])
{
    knDVec3 p = knToDouble(point), v[3];
    for (int k = 0; k < 3; ++k)
    {
        v[k] = knToDouble(corners[k]);
    }
    knDVec3 n = knDCross(knDSub(v[1], v[0]), knDSub(v[2], v[0]));
    knDVec3 foot = knDSub(p, knDScale(knDDot(n, knDSub(p, v[0])) / knDDot(n, n), n));
    bool inside = true;
    knDVec3 best = v[0];
    for (int k = 0; k < 3; ++k)
    {
        knDVec3 edge = knDSub(v[(k + 1) % 3], v[k]);
        inside = inside && knDDot(knDCross(edge, knDSub(foot, v[k])), n) >= 0.0;
        knDVec3 q = ClosestOnSegment(p, v[k], v[(k + 1) % 3]);
        best = knDLength(knDSub(q, p)) < knDLength(knDSub(best, p)) ? q : best;
    }
    return knToFloat(inside ? foot : best);
}

// The unit vector from a point inside to the nearest point of the piece's surface.
static knVec3 WayOut(const knPieceSurface* s, knVec3 p)
{
    knVec3 best = {1e9f, 0.0f, 0.0f};
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        knVec3 v[3];
        knBox box = knEmptyBox();
        for (int k = 0; k < 3; ++k)
        {
            v[k] = s->positions[s->triangles[i].v[k]];
            box = knBox_AddPoint(box, v[k]);
        }
        if (knBox_Distance(box, p) < knDistance(p, best))
        {
            knVec3 q = ClosestOnTriangle(p, v);
            best = knDistance(p, q) < knDistance(p, best) ? q : best;
        }
    }
    return knNormalize(knSub(best, p));
}

// Where a shard's corner looks into the triangle: its diagonal points out along the normal.
static knTransform PushInto(const knPieceSurface* surface, uint32_t triangle)
{
    const uint32_t* v = surface->triangles[triangle].v;
    knVec3 o = surface->positions[v[0]];
    knVec3 u = knSub(surface->positions[v[1]], o), w = knSub(surface->positions[v[2]], o);
    knVec3 normal = knNormalize(knCross(u, w));
    knVec3 center = knAdd(o, knScale(1.0f / 3.0f, knAdd(u, w)));
    knVec3 diagonal = knNormalize(knMakeVec3(0.0006f, 0.01f, 0.01f));
    knVec3 axis = knCross(diagonal, normal);
    float angle = atan2f(knLength(axis), knDot(diagonal, normal));
    knTransform t = {.rotation = knMakeQuat(knNormalize(axis), angle)};
    t.position = knAddScaled(center, -0.0003f, normal);
    return t;
}

// A shard's corner pushed into a crack face is sent back out of it.
static void AShardInACrackGetsTheRightNormal(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("piggy");
    TestModel shard =
        OpenBoxModel("shard", knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(0.0006f, 0.01f, 0.01f));
    knFamily* broken = MakeFamily(&brick);
    knFamily* thin = MakeFamily(&shard);
    BreakInto(broken, 4, 11);
    uint32_t pieces[16];
    ListPieces(broken, pieces, 16);
    knArena arena;
    assert_int_equal(knCreateArena(&arena, 64 << 20, NULL), kn_success);
    knPieceSurface surface;
    knPieceOptions options = knDefaultPieceOptions();
    assert_int_equal(
        knFragmentSet_Surface(knFamily_Fragments(broken), pieces[0], &options, &arena, &surface),
        kn_success);
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    limits.margin = 0.0f;
    knRandom random = knMakeRandom(13);
    int total = 0, wrong = 0;
    for (int i = 0; i < 4000 && total < 400; ++i)
    {
        uint32_t t = knRandom_Below(&random, surface.triangleCount);
        if (!surface.sources[t].isCrack)
        {
            continue;
        }
        knQueryPiece q = {thin, 0, PushInto(&surface, t), NULL};
        knQueryPiece p = {broken, pieces[0], knIdentityTransform(), NULL};
        knPairResult result;
        QueryFresh(&p, &q, &limits, &result);
        for (uint32_t k = 0; k < result.count; ++k)
        {
            if (contacts[k].side == 1)
            {
                knVec3 truth = WayOut(&surface, contacts[k].contact.point);
                wrong += knDot(truth, contacts[k].contact.normal) < 0.9659f;
                total += 1;
            }
        }
    }
    assert_true(total >= 200);
    if (wrong * 50 > total)
    {
        fail_msg("%d of %d normals are off by more than 15 degrees", wrong, total);
    }
    knDestroyArena(&arena);
    knDestroyFamily(broken);
    knDestroyFamily(thin);
    CloseModel(&brick);
    CloseModel(&shard);
}

// Cuts a disc out of the middle of the plate. Returns the rest; the disc is still there.
static uint32_t PunchDisc(knFamily* plate, float radius, uint32_t* disc)
{
    const knFragmentSet* set = knFamily_Fragments(plate);
    const knTetMesh* mesh = set->cutMesh->mesh;
    float* phi = knAllocate(NULL, mesh->nodeCount, sizeof(float));
    assert_non_null(phi);
    for (uint32_t i = 0; i < mesh->nodeCount; ++i)
    {
        knVec3 p = mesh->nodes[i];
        phi[i] = sqrtf(p.x * p.x + p.z * p.z) - radius;
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitNodal;
    def.phi = phi;
    knArena arena;
    assert_int_equal(knCreateArena(&arena, knFragmentSet_SplitBytes(set, 0, &def), NULL),
                     kn_success);
    knSplitResult result;
    assert_int_equal(knFamily_Split(plate, 0, &def, &arena, &result), kn_success);
    knDestroyArena(&arena);
    knRelease(NULL, phi, mesh->nodeCount, sizeof(float));
    uint32_t pieces[16];
    assert_int_equal(ListPieces(plate, pieces, 16), 2);
    knBox first = knFragmentField_Box(knFamily_Field(plate), pieces[0]);
    bool isDisc = first.upper.x < 1.2f * radius;
    *disc = pieces[isDisc ? 0 : 1];
    return pieces[isDisc ? 1 : 0];
}

// Heights, of 81 on the way through the plate, at which the ball touches the piece.
static int CountTouches(const knFamily* plate, uint32_t piece, const knFamily* ball, float x)
{
    knContactLimits limits = knDefaultContactLimits();
    knQueryPiece p = {plate, piece, knIdentityTransform(), NULL};
    int touches = 0;
    for (int i = -40; i <= 40; ++i)
    {
        knQueryPiece q = {ball, 0, knIdentityTransform(), NULL};
        q.transform.position = knMakeVec3(x, 0.005f * (float)i - 0.06f, 0.0f);
        knPairResult result;
        touches += QueryFresh(&p, &q, &limits, &result) > 0;
    }
    return touches;
}

// The way through a punched hole is free for a ball that fits, its rim is not, and a ball that is
// too large is stopped.
static void ABallPassesThroughAHole(void** state)
{
    (void)state;
    TestModel ballModel = OpenDemoModel("ball"); // radius 0.06
    TestModel plateModel = OpenDemoModel("plate");
    knFamily* ball = MakeFamily(&ballModel);
    knFamily* wide = MakeFamily(&plateModel);
    knFamily* narrow = MakeFamily(&plateModel);
    uint32_t disc, plug;
    uint32_t ring = PunchDisc(wide, 0.075f, &disc);
    uint32_t collar = PunchDisc(narrow, 0.045f, &plug);
    // in the way until it is removed
    assert_true(CountTouches(wide, disc, ball, 0.0f) > 20);
    knFamily_Remove(wide, disc);
    knFamily_Remove(narrow, plug);
    assert_int_equal(CountTouches(wide, ring, ball, 0.0f), 0);
    assert_true(CountTouches(wide, ring, ball, 0.04f) > 10);
    assert_true(CountTouches(narrow, collar, ball, 0.0f) > 10);
    knDestroyFamily(ball);
    knDestroyFamily(wide);
    knDestroyFamily(narrow);
    CloseModel(&ballModel);
    CloseModel(&plateModel);
}

static void SwappingThePiecesSwapsTheSides(void** state)
{
    (void)state;
    TestModel bunny = OpenDemoModel("bunny");
    knFamily* a = MakeFamily(&bunny);
    knFamily* b = MakeFamily(&bunny);
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    knQueryPiece p = {a, 0, knIdentityTransform(), NULL};
    knQueryPiece q = {b, 0, knIdentityTransform(), NULL};
    q.transform.position = knMakeVec3(0.12f, 0.02f, 0.0f);
    knPairResult one, two;
    knPairState s = {0}, t = {0};
    assert_int_equal(Query(&p, &q, &limits, &s, contacts, &one), kn_success);
    assert_int_equal(Query(&q, &p, &limits, &t, others, &two), kn_success);
    assert_int_equal(one.count, two.count);
    uint32_t sides[2] = {0, 0};
    for (uint32_t i = 0; i < one.count; ++i)
    {
        sides[contacts[i].side] += 1;
        sides[1 - others[i].side] -= 1;
        ASSERT_NEAR(knLength(contacts[i].contact.normal), 1.0f, 1e-3f);
    }
    assert_int_equal(sides[0], 0);
    assert_int_equal(sides[1], 0);
    knDestroyFamily(a);
    knDestroyFamily(b);
    CloseModel(&bunny);
}

// One at a time or eight at once: the same contacts, to the bit.
static void WideInstructionsChangeNothing(void** state)
{
    (void)state;
    TestModel bunny = OpenDemoModel("bunny");
    knFamily* wide = MakeFamily(&bunny);
    knFamilyDef def = knDefaultFamilyDef();
    def.model = bunny.model;
    def.scalar = true;
    knFamily* scalar = NULL;
    assert_int_equal(knCreateFamily(&scalar, &def, NULL), kn_success);
    BreakInto(wide, 10, 21);
    BreakInto(scalar, 10, 21);
    uint32_t pieces[64];
    uint32_t count = ListPieces(wide, pieces, 64);
    knContactLimits limits = knDefaultContactLimits();
    knRandom random = knMakeRandom(22);
    uint32_t total = 0;
    for (int i = 0; i < 200; ++i)
    {
        limits.full = i % 4 == 0;
        uint32_t a = pieces[knRandom_Below(&random, count)];
        uint32_t b = pieces[knRandom_Below(&random, count)];
        knQueryPiece p = {wide, a, knIdentityTransform(), NULL},
                     q = {wide, b, knIdentityTransform(), NULL};
        q.transform = RandomPose(&random, &q, &p);
        knPairResult one, two;
        knPairState s = {0}, t = {0};
        assert_int_equal(Query(&p, &q, &limits, &s, contacts, &one), kn_success);
        p.family = scalar;
        q.family = scalar;
        assert_int_equal(Query(&p, &q, &limits, &t, others, &two), kn_success);
        assert_int_equal(one.count, two.count);
        for (uint32_t k = 0; k < one.count; ++k)
        {
            assert_memory_equal(&contacts[k].contact, &others[k].contact, sizeof(knContact));
        }
        total += one.count;
    }
    assert_true(total > 500);
    knDestroyFamily(wide);
    knDestroyFamily(scalar);
    CloseModel(&bunny);
}

static void BadArgumentsAreNamed(void** state)
{
    (void)state;
    TestModel brick = OpenDemoModel("brick");
    knFamily* family = MakeFamily(&brick);
    knQueryPiece p = {family, 0, knIdentityTransform(), NULL};
    knQueryPiece none = {NULL, 0, knIdentityTransform(), NULL};
    knContactLimits limits = knDefaultContactLimits();
    knPairState pair = {0};
    knPairResult result;
    MarkUntouched(&result, sizeof result);
    assert_int_equal(Query(&p, &p, NULL, &pair, contacts, &result), kn_errorArgument);
    knArena tiny;
    assert_int_equal(knCreateArena(&tiny, 64, NULL), kn_success);
    assert_int_equal(knQueryPair(&p, &none, &limits, &pair, &tiny, contacts, 10, &result),
                     kn_errorArgument);
    assert_int_equal(knQueryPair(&p, &p, &limits, &pair, &tiny, contacts, 10, &result),
                     kn_errorMemory);
    limits.epsilon = -1.0f;
    assert_int_equal(knQueryPair(&p, &p, &limits, &pair, &tiny, contacts, 10, &result),
                     kn_errorArgument);
    assert_non_null(strstr(knLastError(), "epsilon"));
    assert_true(IsUntouched(&result, sizeof result));
    knDestroyArena(&tiny);
    knDestroyFamily(family);
    CloseModel(&brick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(FullDetectionEqualsBruteForce),
        cmocka_unit_test(PiecesInPlaceTouchAndDoNotOverlap),
        cmocka_unit_test(SelectionKeepsAFewAndAdapts),
        cmocka_unit_test(NothingDeepIsMissedForEver),
        cmocka_unit_test(NothingDeepIsMissedBetweenNeighbours),
        cmocka_unit_test(CrossedRodsDoNotPass),
        cmocka_unit_test(CrossingEdgesMeetBeforeTheyTouch),
        cmocka_unit_test(CrossedCombsDoNotPass),
        cmocka_unit_test(AShardInACrackGetsTheRightNormal),
        cmocka_unit_test(ABallPassesThroughAHole),
        cmocka_unit_test(SwappingThePiecesSwapsTheSides),
        cmocka_unit_test(WideInstructionsChangeNothing),
        cmocka_unit_test(BadArgumentsAreNamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
