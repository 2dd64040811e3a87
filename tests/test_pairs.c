// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/pairs.h"
#include "knap/random.h"
#include "pieces.h"

// What pairs remember may save time and nothing else. The oracle is the query of one pair with full
// detection, which knows nothing of rounds, planes or slabs.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define WALKS 6
#else
#define WALKS 40
#endif
#define STEPS    60
#define LOOKS    40 // fewer pairs have no mean worth a judgement
#define CONTACTS 4096
#define SLOW     0.001f // of the smaller radius, in a step: answers are kept, and fronts
#define FAST     0.01f  // only fronts

static TestModel bunny;
static knFamily* family;
static uint32_t pieces[64];
static uint32_t pieceCount;
static knPieceMesh meshes[64];

static int Open(void** state)
{
    (void)state;
    bunny = OpenDemoModel("bunny");
    family = MakeFamily(&bunny);
    BreakInto(family, 8, 5);
    pieceCount = ListPieces(family, pieces, 64);
    for (uint32_t i = 0; i < pieceCount; ++i)
    {
        assert_int_equal(knCreatePieceMesh(&meshes[i], family, pieces[i], NULL, NULL, NULL),
                         kn_success);
    }
    return 0;
}

static int Close(void** state)
{
    (void)state;
    for (uint32_t i = 0; i < pieceCount; ++i)
    {
        knDestroyPieceMesh(&meshes[i]);
    }
    knDestroyFamily(family);
    CloseModel(&bunny);
    return 0;
}

static knPairs* MakePairs(const knContactLimits* limits, knId* id)
{
    knPairsDef def = knDefaultPairsDef();
    def.limits = *limits;
    knPairs* pairs;
    assert_int_equal(knCreatePairs(&pairs, &def, NULL), kn_success);
    assert_int_equal(knPairs_Add(pairs, id), kn_success);
    return pairs;
}

static knPairSide MakeSide(uint32_t piece, knTransform t)
{
    return (knPairSide){.kind = kn_sidePiece,
                        .family = family,
                        .fragment = pieces[piece],
                        .mesh = &meshes[piece],
                        .motion.start = t};
}

static uint32_t Ask(knPairs* pairs, knId id, const knPairInput* input, const knTouch** touches)
{
    uint32_t count;
    knPairs_Begin(pairs);
    assert_int_equal(knPairs_Submit(pairs, id, input), kn_success);
    knPairs_Run(pairs);
    assert_true(knPairs_Take(pairs, id, input, touches, &count));
    return count;
}

static knQueryPiece AsQuery(const knPairSide* side)
{
    knTransform t = side->motion.start;
    t.position = knSub(t.position, knRotate(t.rotation, side->mesh->center));
    return (knQueryPiece){side->family, side->fragment, t, side->mesh};
}

// Every point within the margin, by full detection.
static uint32_t AskFully(const knPairInput* input, float margin, knPairContact* contacts,
                         float* radius)
{
    static knArena scratch;
    if (scratch.capacity == 0)
    {
        assert_int_equal(knCreateArena(&scratch, (size_t)8 << 20, NULL), kn_success);
    }
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    limits.margin = margin;
    limits.edgeContacts = 0;
    knPairState state = {0};
    knPairResult result;
    knQueryPiece a = AsQuery(&input->sides[0]), b = AsQuery(&input->sides[1]);
    assert_int_equal(knQueryPair(&a, &b, &limits, &state, &scratch, contacts, CONTACTS, &result),
                     kn_success);
    knDestroyArena(&scratch);
    *radius = result.radius;
    return result.count;
}

static bool Lists(const knTouch* touches, uint32_t count, uint32_t feature)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        if (touches[i].feature == feature)
        {
            return true;
        }
    }
    return false;
}

// Two pieces near each other, in some pose.
static knPairInput RandomPair(knRandom* random)
{
    uint32_t a = knRandom_Below(random, pieceCount), b = knRandom_Below(random, pieceCount);
    knTransform t = {{0.0f, 0.0f, 0.0f},
                     knMakeQuat(knRandom_UnitVec3(random), knRandom_Range(random, 0.0f, 3.0f))};
    knPairInput input = {.sides = {MakeSide(a, knIdentityTransform()), MakeSide(b, t)}};
    float apart = knRandom_Range(random, 0.4f, 1.2f) * (meshes[a].radius + meshes[b].radius);
    input.sides[1].motion.start.position = knScale(apart, knRandom_UnitVec3(random));
    return input;
}

static void MoveALittle(knRandom* random, knPairInput* input, knVec3 drift, float size)
{
    knTransform* t = &input->sides[1].motion.start;
    knVec3 step = knAddScaled(drift, size, knRandom_UnitVec3(random));
    t->position = knAdd(t->position, step);
    float angle = knRandom_Range(random, 0.0f, size) / input->sides[1].mesh->radius;
    t->rotation =
        knNormalizeQuat(knMulQuat(knMakeQuat(knRandom_UnitVec3(random), angle), t->rotation));
}

typedef struct Tally
{
    uint64_t asked, kept, deep, touching;
} Tally;

// Moves a pair step by step; whatever full detection finds deeper than `share` must be listed.
static void WalkAlong(knRandom* random, const knContactLimits* limits, float share, float pace,
                      Tally* tally)
{
    static knPairContact contacts[CONTACTS];
    knId id;
    knPairs* pairs = MakePairs(limits, &id);
    knPairInput input = RandomPair(random);
    float size = pace * fminf(input.sides[0].mesh->radius, input.sides[1].mesh->radius) *
                 knRandom_Range(random, 0.0f, 2.0f);
    knVec3 drift = knScale(-0.5f * size, knNormalize(input.sides[1].motion.start.position));
    uint64_t mended = 0;
    for (int i = 0; i < STEPS; ++i)
    {
        const knTouch* touches;
        knPairs_ResetCounters(pairs);
        uint32_t count = Ask(pairs, id, &input, &touches);
        knPairsCounters counters = knPairs_Counters(pairs);
        mended = counters.kept > 0 ? mended : counters.mended;
        tally->asked += 1;
        tally->kept += counters.kept;
        uint64_t missing = 0;
        float radius;
        uint32_t truth = AskFully(&input, limits->margin, contacts, &radius);
        for (uint32_t k = 0; k < truth; ++k)
        {
            if (contacts[k].contact.distance < share * radius)
            {
                missing += !Lists(touches, count, contacts[k].contact.feature);
                tally->deep += 1;
            }
        }
        // a normal that was mended has another distance with it, and may stand clear
        assert_true(missing <= mended);
        tally->touching += truth > 0;
        MoveALittle(random, &input, drift, size);
    }
    knDestroyPairs(pairs);
}

// With room for all, nothing within the margin is missed, whether it was asked for or remembered.
static void EveryContactWithinTheMarginIsListed(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(17);
    knContactLimits limits = knDefaultContactLimits();
    limits.contacts = limits.maxContacts = 2048;
    Tally tally = {0};
    for (int i = 0; i < WALKS; ++i)
    {
        // remembered distances are those of planes: a point may stand a little further off
        WalkAlong(&random, &limits, 0.0f, i % 4 == 0 ? FAST : SLOW, &tally);
    }
    printf("%llu of %llu answers remembered, %llu with contacts, %llu contacts checked\n",
           (unsigned long long)tally.kept, (unsigned long long)tally.asked,
           (unsigned long long)tally.touching, (unsigned long long)tally.deep);
    assert_true(tally.kept * 4 > tally.asked && tally.touching * 10 > tally.asked);
}

// With selection, what is deeper than epsilon and the share that motion may use is always listed.
static void WhatIsDeepIsListed(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(23);
    knContactLimits limits = knDefaultContactLimits();
    limits.contacts = 4;
    limits.growth = limits.maxContacts = 2048;
    Tally tally = {0};
    for (int i = 0; i < WALKS; ++i)
    {
        float deep = -(1.0f + limits.coherence) * limits.epsilon;
        WalkAlong(&random, &limits, deep, i % 4 == 0 ? FAST : SLOW, &tally);
    }
    printf("%llu of %llu answers remembered, %llu deep contacts checked\n",
           (unsigned long long)tally.kept, (unsigned long long)tally.asked,
           (unsigned long long)tally.deep);
    assert_true(tally.kept * 4 > tally.asked && tally.deep > 100);
}

static uint64_t KeptInNextRound(knPairs* pairs, knId id, const knPairInput* input)
{
    const knTouch* touches;
    knPairs_ResetCounters(pairs);
    (void)Ask(pairs, id, input, &touches);
    return knPairs_Counters(pairs).kept;
}

// Limits, a break, another piece and a call end what pairs remember.
static void MemoryEnds(void** state)
{
    (void)state;
    knContactLimits limits = knDefaultContactLimits();
    knId id;
    knPairs* pairs = MakePairs(&limits, &id);
    TestModel box =
        OpenBoxModel("box", knMakeVec3(-0.1f, -0.1f, -0.1f), knMakeVec3(0.1f, 0.1f, 0.1f));
    knFamily* other = MakeFamily(&box);
    knPieceMesh mesh;
    assert_int_equal(knCreatePieceMesh(&mesh, other, 0, NULL, NULL, NULL), kn_success);
    knPairInput input = {.sides = {MakeSide(0, knIdentityTransform()), {.kind = kn_sidePiece}}};
    input.sides[1].family = other;
    input.sides[1].mesh = &mesh;
    input.sides[1].motion.start = knIdentityTransform();
    input.sides[1].motion.start.position.y = 0.5f;
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 1);
    knPairs_Forget(pairs);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 1);
    assert_int_equal(knPairs_SetLimits(pairs, &limits), kn_success);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    assert_true(SplitByPlane(other, 0, knMakeVec3(1.0f, 0.0f, 0.0f)));
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 1);
    input.sides[0] = MakeSide(1, knIdentityTransform());
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    limits.full = true;
    assert_int_equal(knPairs_SetLimits(pairs, &limits), kn_success);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    assert_int_equal(KeptInNextRound(pairs, id, &input), 0);
    knDestroyPairs(pairs);
    knDestroyPieceMesh(&mesh);
    knDestroyFamily(other);
    CloseModel(&box);
}

static knPairsCounters AskCounted(knPairs* pairs, knId id, const knPairInput* input)
{
    const knTouch* touches;
    knPairs_ResetCounters(pairs);
    (void)Ask(pairs, id, input, &touches);
    return knPairs_Counters(pairs);
}

// When two that touch have moved a little, little is looked at again.
static void AQueryLooksAtWhatHasComeNear(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(29);
    knContactLimits limits = knDefaultContactLimits();
    uint64_t first = 0, later = 0, firstCount = 0, laterCount = 0;
    for (int i = 0; i < LOOKS; ++i)
    {
        knId id;
        knPairs* pairs = MakePairs(&limits, &id);
        knPairInput input = RandomPair(&random);
        float size = 0.004f * fminf(input.sides[0].mesh->radius, input.sides[1].mesh->radius);
        for (int k = 0; k < 20; ++k)
        {
            knPairsCounters c = AskCounted(pairs, id, &input);
            bool isAsked = c.kept + c.parted == 0;
            // the first queries find out how much room a front needs
            first += k == 0 ? c.query.visits + c.query.points : 0;
            firstCount += k == 0 && isAsked;
            later += k >= 10 ? c.query.visits + c.query.points : 0;
            laterCount += k >= 10 && isAsked;
            MoveALittle(&random, &input, knMakeVec3(0.0f, 0.0f, 0.0f), size);
        }
        knDestroyPairs(pairs);
    }
    assert_true(firstCount > 0 && laterCount > 0);
    double before = (double)first / (double)firstCount, after = (double)later / (double)laterCount;
    printf("%.0f nodes and points looked at first, %.0f later\n", before, after);
    assert_true(after < 0.25 * before);
}

// The support of a piece's hull is that of all its vertices.
static void SupportIsTheFurthestVertex(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    for (int i = 0; i < 1000; ++i)
    {
        const knPieceMesh* mesh = &meshes[knRandom_Below(&random, pieceCount)];
        knVec3 d = knRandom_UnitVec3(&random);
        float most = -INFINITY;
        for (uint32_t k = 0; k < mesh->vertexCount; ++k)
        {
            most = fmaxf(most, knDot(d, mesh->vertices[k].position));
        }
        assert_float_equal(knDot(d, knPieceMesh_Support(mesh, d)), most, 1e-6f);
    }
}

// A piece on a floor that is lifted by a hair: what it rested on is listed as long as it may fall
// back on it in a step, and no longer.
static void ATouchOutlastsALittleLift(void** state)
{
    (void)state;
    knContactLimits limits = knDefaultContactLimits();
    knId id;
    knPairs* pairs = MakePairs(&limits, &id);
    const knTouch* touches;
    knShape plane = knMakePlaneShape(knMakeVec3(0.0f, 1.0f, 0.0f), 0.0f);
    float radius = meshes[0].radius;
    knVec3 low = knPieceMesh_Support(&meshes[0], knMakeVec3(0.0f, -1.0f, 0.0f));
    knPairInput input = {
        .sides = {MakeSide(0, knIdentityTransform()),
                  {.kind = kn_sideShape, .shape = &plane, .motion.start = knIdentityTransform()}}};
    float* height = &input.sides[0].motion.start.position.y;
    knVec3* move = &input.sides[0].motion.move;
    *height = -low.y;
    uint32_t resting = Ask(pairs, id, &input, &touches);
    assert_true(resting > 0);
    // it falls by more than it was lifted, and by less
    *height = -low.y + 0.01f * radius;
    move->y = -0.04f * radius;
    uint32_t count = Ask(pairs, id, &input, &touches);
    assert_true(count > 0 && count <= resting);
    float nearest = FLT_MAX;
    for (uint32_t i = 0; i < count; ++i)
    {
        nearest = fminf(nearest, touches[i].distance);
    }
    ASSERT_NEAR(nearest, 0.01f * radius, 0.001f * radius);
    move->y = -0.005f * radius;
    assert_int_equal(Ask(pairs, id, &input, &touches), 0);
    // what was given up does not come back by itself
    move->y = -0.04f * radius;
    assert_int_equal(Ask(pairs, id, &input, &touches), 0);
    knDestroyPairs(pairs);
}

// A small box and a large one, each a piece of its own.
typedef struct Boxes
{
    TestModel models[2];
    knFamily* families[2];
    knPieceMesh meshes[2];
    knPairInput input;
    knContactLimits limits;
    float epsilon; // m
    knId ids[2];
    knPairs* pairs[2]; // one that remembers, and one that is made to forget
} Boxes;

static void OpenBoxes(Boxes* b)
{
    *b = (Boxes){.limits = knDefaultContactLimits()};
    b->models[0] =
        OpenBoxModel("tip", knMakeVec3(-0.02f, -0.02f, -0.02f), knMakeVec3(0.02f, 0.02f, 0.02f));
    b->models[1] =
        OpenBoxModel("box", knMakeVec3(-0.1f, -0.1f, -0.1f), knMakeVec3(0.1f, 0.1f, 0.1f));
    for (int i = 0; i < 2; ++i)
    {
        b->families[i] = MakeFamily(&b->models[i]);
        assert_int_equal(knCreatePieceMesh(&b->meshes[i], b->families[i], 0, NULL, NULL, NULL),
                         kn_success);
        b->input.sides[i] = (knPairSide){.kind = kn_sidePiece,
                                         .family = b->families[i],
                                         .mesh = &b->meshes[i],
                                         .motion.start = knIdentityTransform()};
        b->pairs[i] = MakePairs(&b->limits, &b->ids[i]);
    }
    b->epsilon = b->limits.epsilon * b->meshes[0].radius;
}

static void CloseBoxes(Boxes* b)
{
    for (int i = 0; i < 2; ++i)
    {
        knDestroyPairs(b->pairs[i]);
        knDestroyPieceMesh(&b->meshes[i]);
        knDestroyFamily(b->families[i]);
        CloseModel(&b->models[i]);
    }
}

// A corner of the small box, which points at the upper rim of the large one from outside and above:
// so far under the top, and so far away from the side, inwards. Neither way out is along the small
// box's own faces.
static void PutOnRim(Boxes* b, float in, float aside)
{
    const float middle = 0.02f * sqrtf(1.5f);
    knTransform* t = &b->input.sides[0].motion.start;
    knQuat down = knMulQuat(knMakeQuat(knMakeVec3(1.0f, 0.0f, 0.0f), 0.6154797f),
                            knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), 0.7853982f));
    t->rotation = knMulQuat(knMakeQuat(knMakeVec3(0.0f, 0.0f, 1.0f), -0.7853982f), down);
    t->position = knMakeVec3(0.1f - aside + middle, 0.1f - in + middle, 0.0f);
}

// What both answer; their first touches.
static void AskBoth(Boxes* b, const knTouch* firsts[2], uint32_t counts[2])
{
    knPairs_Forget(b->pairs[1]);
    for (int i = 0; i < 2; ++i)
    {
        counts[i] = Ask(b->pairs[i], b->ids[i], &b->input, &firsts[i]);
    }
}

// A point near an edge has two ways out that are nearly as good. What rests keeps its own while it
// moves along, where a pair that remembers nothing changes it; until the other is clearly shorter.
static void ATouchKeepsItsWayOut(void** state)
{
    (void)state;
    Boxes b;
    OpenBoxes(&b);
    const knTouch* touches[2];
    uint32_t counts[2], held = 0;
    for (int i = 0; i <= 120; ++i)
    {
        PutOnRim(&b, b.epsilon, 0.02f * b.epsilon * (float)(130 - i));
        AskBoth(&b, touches, counts);
        assert_true(counts[0] > 0 && counts[1] > 0);
        held += touches[1][0].normal.y < 0.9f && touches[0][0].normal.y > 0.99f;
        // no way out is kept that is longer by more than epsilon
        assert_true(touches[0][0].distance > touches[1][0].distance - 1.1f * b.epsilon);
    }
    assert_true(held > 20);
    // what is deep takes what is shortest
    PutOnRim(&b, 6.0f * b.epsilon, 4.0f * b.epsilon);
    AskBoth(&b, touches, counts);
    assert_true(counts[0] > 0 && counts[1] > 0);
    assert_true(knDot(touches[0][0].normal, touches[1][0].normal) > 0.999f);
    CloseBoxes(&b);
}

static uint32_t CountUp(const knTouch* touches, uint32_t count, float* deepest)
{
    uint32_t up = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        up += touches[i].normal.y > 0.99f;
        *deepest = touches[i].normal.y > 0.99f ? fminf(*deepest, touches[i].distance) : *deepest;
    }
    return up;
}

// A point that has just left the face it rested on still holds, for a moment, and is not pushed.
static void ATouchThatIsMissedHoldsForAMoment(void** state)
{
    (void)state;
    Boxes b;
    OpenBoxes(&b);
    const knTouch* touches[2];
    uint32_t counts[2];
    PutOnRim(&b, 0.5f * b.epsilon, 20.0f * b.epsilon);
    AskBoth(&b, touches, counts);
    float deepest = 0.0f;
    assert_true(CountUp(touches[0], counts[0], &deepest) > 0);
    int held = 0;
    bool isOver = false;
    for (int i = 0; i < 10; ++i)
    {
        // beyond the rim, and each time further than an answer is kept
        PutOnRim(&b, 0.5f * b.epsilon, -(6.0f + 6.0f * (float)i) * b.epsilon);
        AskBoth(&b, touches, counts);
        deepest = 0.0f;
        assert_int_equal(CountUp(touches[1], counts[1], &deepest), 0);
        bool isHeld = CountUp(touches[0], counts[0], &deepest) > 0;
        assert_true(deepest == 0.0f);
        assert_false(isHeld && isOver);
        isOver = !isHeld;
        held += isHeld;
    }
    assert_in_range(held, 1, 3);
    CloseBoxes(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryContactWithinTheMarginIsListed),
        cmocka_unit_test(WhatIsDeepIsListed),
        cmocka_unit_test(AQueryLooksAtWhatHasComeNear),
        cmocka_unit_test(MemoryEnds),
        cmocka_unit_test(ATouchOutlastsALittleLift),
        cmocka_unit_test(ATouchKeepsItsWayOut),
        cmocka_unit_test(ATouchThatIsMissedHoldsForAMoment),
        cmocka_unit_test(SupportIsTheFurthestVertex),
    };
    return cmocka_run_group_tests(tests, Open, Close);
}
