// SPDX-License-Identifier: Zlib
#include "field_world.h"

// What a query keeps of the distances it has seen must be bounds of the true ones.

#define POINTS (400 * EFFORT)

// Somewhere around the surface of a piece, on either side.
static knVec3 PointNear(World* w, const Oracle* o, float far)
{
    knVec3 normal, p = OraclePoint(o, &w->random, &normal);
    float share = knRandom_Float(&w->random);
    return knAddScaled(p, far * share * share, knRandom_UnitVec3(&w->random));
}

// Negative inside.
static double SignedDistance(const Oracle* o, knVec3 p)
{
    double distance = OracleDistance(o, p, false, NULL);
    return OracleWinding(o, p) == 0 ? distance : -distance;
}

typedef struct Tally
{
    int asked, shown, tight, inside;
} Tally;

static void AskClearance(World* w, const Oracle* o, uint32_t fragment, Tally* tally)
{
    knFieldQuery query = knMakeFieldQuery(w->field, fragment);
    for (int i = 0; i < POINTS; ++i)
    {
        knVec3 p = PointNear(w, o, 0.2f * w->size);
        float need = 0.05f * w->size * knRandom_Float(&w->random);
        float wish = need + 0.05f * w->size * knRandom_Float(&w->random);
        float clear = knFieldQuery_Clearance(&query, p, need, wish);
        double d = SignedDistance(o, p);
        assert_true((double)clear <= d + 1e-6 * (double)w->size || clear <= 0.0f);
        tally->asked += d > (double)need;
        tally->shown += clear > need;
        tally->tight += clear > 0.9f * (float)fmin(d, (double)wish) && clear > need;
    }
}

// No bound is more than the distance; most of what can be shown is.
static void ClearanceIsABound(void** state)
{
    (void)state;
    Tally tally = {0};
    for (int index = 0; index < SHAPES; ++index)
    {
        World* w = MakeBroken(index);
        for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
        {
            if (IsAlive(w, f))
            {
                Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
                AskClearance(w, &o, f, &tally);
                DestroyOracle(&o);
            }
        }
        DestroyWorld(w);
    }
    print_message("%d of %d balls are shown to be free, %d nearly as wide as they are\n",
                  tally.shown, tally.asked, tally.tight);
    assert_true(tally.shown * 10 > tally.asked * 8 && tally.tight * 2 > tally.shown);
}

// As Penetration and Distance say, with a bound of the distance besides.
static void AskProbe(World* w, const Oracle* o, uint32_t fragment, Tally* tally)
{
    knFieldQuery query = knMakeFieldQuery(w->field, fragment);
    knFieldQuery plain = knMakeFieldQuery(w->field, fragment);
    for (int i = 0; i < POINTS; ++i)
    {
        knVec3 p = PointNear(w, o, 0.05f * w->size);
        knProbeDef def = {.margin = 0.004f * w->size};
        def.wish = def.margin * (1.0f + 3.0f * knRandom_Float(&w->random));
        knFieldContact contact = {0}, other = {0};
        float clear, deepClear;
        bool found = knFieldQuery_Probe(&query, p, &def, &contact, &clear);
        bool isInside = knFieldQuery_Penetration(&plain, p, &other);
        bool isNear = isInside || knFieldQuery_Distance(&plain, p, def.margin, &other);
        double d = SignedDistance(o, p), slack = 1e-5 * (double)w->size;
        // at the very end of the margin rounding decides
        assert_true(found == isNear || fabs(d - (double)def.margin) < slack);
        if (found && isNear)
        {
            ASSERT_NEAR(contact.distance, other.distance, slack);
            ASSERT_NEAR(knDot(contact.normal, other.normal), 1.0, 1e-3);
        }
        assert_true((double)clear <= d + slack && (found || clear > 0.999f * def.margin));
        def.depth = 0.003f * w->size;
        def.margin = def.wish = 0.0f;
        bool isDeep = knFieldQuery_Probe(&query, p, &def, &contact, &deepClear);
        assert_true(isDeep == (isInside && other.distance < -def.depth));
        assert_true((double)deepClear <= d + slack);
        tally->inside += isDeep;
        tally->shown += found && !isInside;
    }
}

static void ProbeIsPenetrationAndDistance(void** state)
{
    (void)state;
    Tally tally = {0};
    World* w = MakeBroken(0);
    for (uint32_t f = 0; f < w->set.fragmentCount; ++f)
    {
        if (IsAlive(w, f))
        {
            Oracle o = MakeOracle(&w->store.mesh, &w->cuts, f);
            AskProbe(w, &o, f, &tally);
            DestroyOracle(&o);
        }
    }
    DestroyWorld(w);
    assert_true(tally.inside > 100 && tally.shown > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ClearanceIsABound),
        cmocka_unit_test(ProbeIsPenetrationAndDistance),
    };
    return cmocka_run_group_tests(tests, NULL, ReleaseSections);
}
