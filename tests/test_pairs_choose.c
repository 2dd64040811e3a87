// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "knap/random.h"
#include "plugin/pairs_internal.h"

// A choice is judged by what it is for: few, spread, the deep ones all, and hardly another one in
// the next step.

#define MOST   64
#define RADIUS 0.1f // m
#define ROUNDS 400

typedef struct Case
{
    knContactLimits limits;
    knPairInput input;
    knPieceMesh meshes[2];
    knPairCache cache;
    knKeptTouch kept[MOST];
    knPairContact contacts[MOST];
    knChoice choices[MOST];
    uint32_t count;
} Case;

// Contacts of a piece on another: on a plate, or all around a ball.
static void MakeCase(Case* c, knRandom* random)
{
    *c = (Case){.limits = knDefaultContactLimits(), .count = 1 + knRandom_Below(random, MOST)};
    for (int i = 0; i < 2; ++i)
    {
        c->meshes[i].radius = RADIUS;
        c->input.sides[i] = (knPairSide){.kind = kn_sidePiece, .mesh = &c->meshes[i]};
    }
    bool isFlat = knRandom_Below(random, 2) > 0;
    float deepest = knRandom_Below(random, 2) ? -0.5f : -3.0f; // epsilons
    for (uint32_t i = 0; i < c->count; ++i)
    {
        knVec3 out = knRandom_UnitVec3(random);
        knVec3 up = {0.0f, 1.0f, 0.0f};
        knVec3 place = isFlat ? (knVec3){out.x, 0.0f, out.z} : out;
        c->contacts[i].side = (uint8_t)knRandom_Below(random, 2);
        knVec3 normal = isFlat ? up : out;
        c->contacts[i].contact = (knContact){.point = knScale(RADIUS, place),
                                             .normal = c->contacts[i].side ? knNeg(normal) : normal,
                                             .distance = knRandom_Range(random, deepest, 1.5f) *
                                                         c->limits.epsilon * RADIUS,
                                             .feature = 100 + i};
    }
}

static void Choose(Case* c)
{
    knPairJob job = {.limits = &c->limits, .input = &c->input, .cache = &c->cache, .kept = c->kept};
    knPairJob_Choose(&job, c->contacts, c->count, RADIUS, c->choices);
}

static bool IsWithin(const Case* c, uint32_t i, float share)
{
    return c->contacts[i].contact.distance <= share * RADIUS;
}

// Of two contacts in the same pair: apart, or of other ways.
static double Apart(const knPairContact* a, const knPairContact* b)
{
    knVec3 n = a->side == b->side ? b->contact.normal : knNeg(b->contact.normal);
    double turned = (double)knDistance(a->contact.normal, n) * (double)RADIUS;
    double far = (double)knDistance(a->contact.point, b->contact.point);
    return sqrt(turned * turned + far * far);
}

// Those that were not chosen are no further from one that was than the chosen are from each other:
// nothing wide is left open.
static void CheckSpread(const Case* c, double slack)
{
    double closest = INFINITY, widest = 0.0;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        double nearest = INFINITY;
        for (uint32_t k = 0; k < c->count; ++k)
        {
            if (k != i && c->choices[k].isChosen && !IsWithin(c, k, -c->limits.epsilon))
            {
                nearest = fmin(nearest, Apart(&c->contacts[i], &c->contacts[k]));
            }
        }
        bool isChosen = c->choices[i].isChosen;
        if (isChosen && !IsWithin(c, i, -c->limits.epsilon))
        {
            closest = fmin(closest, nearest);
        }
        widest = isChosen || !IsWithin(c, i, c->limits.margin) ? widest : fmax(widest, nearest);
    }
    assert_true(widest <= slack * closest + 1e-6);
}

static void FewAreChosenAndAllThatAreDeep(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(5);
    static Case c;
    int many = 0;
    for (int round = 0; round < ROUNDS; ++round)
    {
        MakeCase(&c, &random);
        Choose(&c);
        uint32_t wanted = 0, chosen = 0, deep = 0;
        bool hasDeepest = false;
        float least = INFINITY;
        for (uint32_t i = 0; i < c.count; ++i)
        {
            bool isWanted = IsWithin(&c, i, c.limits.margin);
            bool isDeep = IsWithin(&c, i, -c.limits.epsilon);
            bool isChosen = c.choices[i].isChosen && c.choices[i].isWanted;
            assert_int_equal(c.choices[i].isWanted, isWanted);
            wanted += isWanted;
            deep += isDeep;
            chosen += isChosen;
            assert_true(isChosen || !isDeep);
            hasDeepest = c.contacts[i].contact.distance < least ? isChosen : hasDeepest;
            least = fminf(least, c.contacts[i].contact.distance);
        }
        uint32_t few = wanted < c.limits.contacts ? wanted : c.limits.contacts;
        assert_in_range(chosen, few, few + deep);
        assert_true(hasDeepest || wanted == 0);
        if (wanted > c.limits.contacts && deep == 0)
        {
            CheckSpread(&c, 1.0);
            many += 1;
        }
    }
    assert_true(many > ROUNDS / 10);
}

static void KeepChoices(Case* c)
{
    c->cache.count = c->count;
    for (uint32_t i = 0; i < c->count; ++i)
    {
        c->kept[i] = (knKeptTouch){.feature = c->contacts[i].contact.feature,
                                   .side = c->contacts[i].side,
                                   .isChosen = c->choices[i].isChosen};
    }
}

// Gaps that change from step to step, as they do at rest, change no choice; and it stays spread.
static void AChoiceStays(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(9);
    static Case c;
    uint32_t chosen = 0, changed = 0;
    for (int round = 0; round < ROUNDS; ++round)
    {
        MakeCase(&c, &random);
        Choose(&c);
        for (int step = 0; step < 5; ++step)
        {
            bool before[MOST];
            KeepChoices(&c);
            for (uint32_t i = 0; i < c.count; ++i)
            {
                float noise = knRandom_Range(&random, -0.1f, 0.1f);
                before[i] = c.choices[i].isChosen;
                c.contacts[i].contact.distance =
                    fminf(c.contacts[i].contact.distance, 0.0f) + noise * c.limits.epsilon * RADIUS;
            }
            Choose(&c);
            for (uint32_t i = 0; i < c.count; ++i)
            {
                chosen += c.choices[i].isChosen;
                changed += before[i] && !c.choices[i].isChosen;
            }
        }
    }
    print_message("%u of %u choices changed\n", changed, chosen);
    assert_true(changed * 20 < chosen);
}

static void WithFullDetectionAllAreChosen(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    static Case c;
    MakeCase(&c, &random);
    c.limits.full = true;
    Choose(&c);
    for (uint32_t i = 0; i < c.count; ++i)
    {
        assert_true(c.choices[i].isChosen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(FewAreChosenAndAllThatAreDeep),
        cmocka_unit_test(AChoiceStays),
        cmocka_unit_test(WithFullDetectionAllAreChosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
