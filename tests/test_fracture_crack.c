// SPDX-License-Identifier: Zlib
#include "crack_scene.h"

#include "fracture/crack_internal.h"

#define GOLDEN_HASH 0xDFA32C7389DD806Cu

static const int plateCells[3] = {28, 1, 28};

// Eigenvalues by Jacobi rotations: slow and plain.
static double JacobiLargest(const StressTensor* s)
{
    double a[3][3] = {{(double)s->xx, (double)s->xy, (double)s->xz},
                      {(double)s->xy, (double)s->yy, (double)s->yz},
                      {(double)s->xz, (double)s->yz, (double)s->zz}};
    for (int sweep = 0; sweep < 60; ++sweep)
    {
        int p = sweep % 3;
        int q = (p + 1) % 3;
        double apart = a[q][q] - a[p][p];
        double theta = 0.5 * atan2(2.0 * a[p][q] * (apart < 0.0 ? -1.0 : 1.0), fabs(apart));
        double c = cos(theta);
        double w = sin(theta);
        for (int k = 0; k < 3; ++k)
        {
            double x = a[p][k];
            double y = a[q][k];
            a[p][k] = c * x - w * y;
            a[q][k] = w * x + c * y;
        }
        for (int k = 0; k < 3; ++k)
        {
            double x = a[k][p];
            double y = a[k][q];
            a[k][p] = c * x - w * y;
            a[k][q] = w * x + c * y;
        }
    }
    return fmax(a[0][0], fmax(a[1][1], a[2][2]));
}

static StressTensor RandomTensor(knRandom* r, int kind)
{
    StressTensor s = {knRandom_Range(r, -1.0f, 1.0f), knRandom_Range(r, -1.0f, 1.0f),
                      knRandom_Range(r, -1.0f, 1.0f), knRandom_Range(r, -1.0f, 1.0f),
                      knRandom_Range(r, -1.0f, 1.0f), knRandom_Range(r, -1.0f, 1.0f)};
    if (kind % 4 == 1)
    {
        s.xy = s.xz = s.yz = 0.0f;
    }
    if (kind % 4 == 2)
    {
        s = (StressTensor){1.0f, 1.0f, 0.2f, 0.0f, 0.0f, 0.0f};
    }
    if (kind % 4 == 3)
    {
        s = (StressTensor){0.5f, 0.5f, 0.5f, 0.0f, 0.0f, 0.0f};
    }
    return s;
}

static knVec3 Traction(const StressTensor* s, knVec3 n)
{
    return knMakeVec3(s->xx * n.x + s->xy * n.y + s->xz * n.z,
                      s->xy * n.x + s->yy * n.y + s->yz * n.z,
                      s->xz * n.x + s->yz * n.y + s->zz * n.z);
}

// The direction of the largest tension is an eigenvector, and its value what Jacobi finds.
static void PrincipalTensionIsTheLargest(void** state)
{
    (void)state;
    knRandom r = knMakeRandom(3);
    for (int i = 0; i < 2000; ++i)
    {
        StressTensor s = RandomTensor(&r, i);
        knVec3 d;
        double tension = knCrack_Principal(&s, knMakeVec3(0.6f, 0.0f, 0.8f), &d);
        ASSERT_NEAR(tension, JacobiLargest(&s), 1e-5);
        ASSERT_NEAR(knLength(d), 1.0, 1e-5);
        knVec3 rest = knAddScaled(Traction(&s, d), -(float)tension, d);
        ASSERT_NEAR(knLength(rest), 0.0, 2e-3);
    }
}

// A full crack leaves no traction on its face; a partial one never raises the largest tension.
static void ReliefNeverRaisesTension(void** state)
{
    (void)state;
    knRandom r = knMakeRandom(4);
    for (int i = 0; i < 2000; ++i)
    {
        StressTensor s = RandomTensor(&r, i);
        StressTensor full = s;
        knVec3 n = knRandom_UnitVec3(&r);
        double before = fmax(0.0, JacobiLargest(&s));
        knCrack_Relieve(&full, n, 1.0f);
        ASSERT_NEAR(knLength(Traction(&full, n)), 0.0, 1e-5);
        knCrack_Relieve(&s, n, knRandom_Float(&r));
        assert_true(JacobiLargest(&s) <= before + 1e-6);
    }
}

static void SoftHitHoldsAndSaysWhatWouldBreak(void** state)
{
    (void)state;
    CrackScene s;
    MakeCrackScene(&s, plateCells, InPlace());
    Snapshot before = TakeSnapshot(&s.scene.set);
    float most = 0.0f;
    for (uint32_t i = 0; i < s.scene.parts.mesh.nodeCount; ++i)
    {
        most = fmaxf(most, s.stress[i].tension);
    }
    double breaking = 1e7 / (double)most;
    knCrackDef def = DefaultPlateDef(&s, 0.9 * breaking);
    knCrackReport report = RunCracks(&s, &def);
    assert_false(report.breaks);
    ASSERT_NEAR(report.breakingShare * def.impulse, breaking, 1e-4 * breaking);
    AssertAsBefore(&before, &s.scene.set);
    def.impulse = 0.0;
    assert_false(RunCracks(&s, &def).breaks);
    def.impulse = 1.1 * breaking;
    assert_true(RunCracks(&s, &def).breaks);
    FreeSnapshot(&before);
    FreeCrackScene(&s);
}

// What a harder hit makes is what a softer one makes, broken further.
static void HarderHitsRefineSofterOnes(void** state)
{
    (void)state;
    uint32_t last = 1;
    uint32_t* labels = NULL;
    uint32_t first = 0;
    for (int i = 0; i < 30; ++i)
    {
        CrackScene s;
        MakeCrackScene(&s, plateCells, InPlace());
        knCrackDef def = DefaultPlateDef(&s, 8.0 * pow(1.12, i));
        knCrackReport report = RunCracks(&s, &def);
        AssertSound(&s.scene);
        assert_true(report.pieceCount >= last);
        uint32_t count = s.scene.parts.mesh.nodeCount;
        uint32_t* parents = malloc(s.scene.set.fragmentCount * sizeof *parents);
        assert_non_null(parents);
        memset(parents, 0xFF, s.scene.set.fragmentCount * sizeof *parents);
        for (uint32_t n = 0; labels && n < count; ++n)
        {
            uint32_t* parent = &parents[s.scene.store.labels[n]];
            assert_true(*parent == KN_NONE || *parent == labels[n]);
            *parent = labels[n];
        }
        free(parents);
        labels = realloc(labels, count * sizeof *labels);
        memcpy(labels, s.scene.store.labels, count * sizeof *labels);
        last = report.pieceCount;
        first = i == 0 ? last : first;
        FreeCrackScene(&s);
    }
    assert_int_equal(first, 1);
    assert_true(last >= 25);
    free(labels);
}

// Cracks cost their area, and no more than there is.
static void EnergyIsNeverOverspent(void** state)
{
    (void)state;
    for (int i = 0; i < 8; ++i)
    {
        CrackScene s;
        MakeCrackScene(&s, plateCells, InPlace());
        knCrackDef def = DefaultPlateDef(&s, 12.0 + 4.0 * i);
        def.maxEnergy = i % 2 ? 0.02 * i : 0.0;
        def.energyShare = i % 3 ? 1.0f : 0.25f;
        def.contactShare = i % 5 ? 1.0f : 0.5f;
        knCrackReport report = RunCracks(&s, &def);
        double strain = 1e-3 * def.impulse * def.impulse;
        double lost = i % 2 ? def.maxEnergy : strain;
        double energy = fmin(strain, lost);
        // a lone crack may take more than the share of many
        double share = (double)def.energyShare * strain;
        share = i % 2 ? fmin(share, (double)def.contactShare * lost) : share;
        bool isLone = report.crackCount == 1 && report.spentEnergy > share;
        ASSERT_NEAR(report.energy, isLone ? report.spentEnergy : share, 1e-12);
        assert_true(report.spentEnergy <= energy);
        assert_true(report.spentEnergy <= report.energy);
        ASSERT_NEAR(report.spentEnergy, report.crackArea * def.fractureEnergy, 1e-12);
        FreeCrackScene(&s);
    }
}

// A crack that ran out of energy weakens what it ran through: hits that would each do nothing to a
// sound plate break this one.
static void UnfinishedCrackIsFinishedByASofterHit(void** state)
{
    (void)state;
    CrackScene s;
    MakeCrackScene(&s, plateCells, InPlace());
    knCrackDef def = DefaultPlateDef(&s, 11.0);
    def.maxEnergy = 0.003; // a third of the way across
    knCrackReport report = RunCracks(&s, &def);
    assert_true(report.breaks && report.isUnfinished);
    assert_int_equal(report.pieceCount, 1);
    double weakest = report.breakingShare * def.impulse;
    def.impulse = 8.0;
    int hits = 0;
    while (report.pieceCount == 1 && hits < 20)
    {
        report = RunCracks(&s, &def);
        hits += 1;
        assert_true(report.breaks);
        assert_true(report.breakingShare * def.impulse < 0.9 * weakest);
    }
    assert_true(report.pieceCount >= 2 && hits >= 1);
    AssertSound(&s.scene);
    FreeCrackScene(&s);
}

// Of a plate whose one half is painted strong, that half stays whole.
static void PaintedStrengthHolds(void** state)
{
    (void)state;
    CrackScene s;
    MakeCrackScene(&s, plateCells, InPlace());
    uint32_t count = s.scene.parts.mesh.nodeCount;
    float* factors = malloc(count * sizeof *factors);
    assert_non_null(factors);
    for (uint32_t i = 0; i < count; ++i)
    {
        factors[i] = s.scene.parts.mesh.nodes[i].x > 0.03f ? 50.0f : 1.0f;
    }
    knCrackDef def = DefaultPlateDef(&s, 40.0);
    def.strengthFactor = factors;
    knCrackReport report = RunCracks(&s, &def);
    assert_true(report.pieceCount > 8);
    // cracks run into the strong side from the other, but none begins there
    uint32_t strong = 0;
    uint32_t weak = 0;
    for (uint32_t f = 0; f < s.scene.set.fragmentCount; ++f)
    {
        const knFragment* fragment = &s.scene.set.fragments[f];
        strong += IsLive(&s.scene, f) && fragment->mass.center.x > 0.03;
        weak += IsLive(&s.scene, f) && fragment->mass.center.x < -0.03;
    }
    assert_true(weak > 2 * strong);
    free(factors);
    FreeCrackScene(&s);
}

static uint64_t HashBytes(uint64_t hash, const void* bytes, size_t size)
{
    for (size_t i = 0; i < size; ++i)
    {
        hash = (hash ^ ((const unsigned char*)bytes)[i]) * 0x100000001B3u;
    }
    return hash;
}

static uint64_t BreakAndHash(uint64_t seed)
{
    CrackScene s;
    MakeCrackScene(&s, plateCells, InPlace());
    knCrackDef def = DefaultPlateDef(&s, 30.0);
    def.seed = seed;
    RunCracks(&s, &def);
    const knCutStore* store = &s.scene.store;
    uint64_t hash = 0xCBF29CE484222325u;
    hash = HashBytes(hash, store->labels, store->nodeCount * sizeof(uint32_t));
    hash = HashBytes(hash, store->points, store->pointCount * sizeof(knCutPoint));
    hash = HashBytes(hash, store->cuts, store->cutCount * sizeof(knTetCut));
    FreeCrackScene(&s);
    return hash;
}

// The same in every build: debug, release and under sanitizers.
static void SameSeedGivesTheSameBytes(void** state)
{
    (void)state;
    uint64_t hash = BreakAndHash(5);
    assert_true(hash == BreakAndHash(5));
    assert_true(hash != BreakAndHash(6));
    if (hash != GOLDEN_HASH)
    {
        print_error("the hash is 0x%016llX\n", (unsigned long long)hash);
    }
    assert_true(hash == GOLDEN_HASH);
}

// Share of the nodes that are in another piece than their like in the first plate.
static double Difference(const Scene* a, const Scene* b)
{
    uint32_t count = a->parts.mesh.nodeCount;
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        others += a->store.labels[i] != b->store.labels[i];
    }
    return others / (double)count;
}

// Where a copy stands, how it is turned and how large it is does not matter. Rounding decides for
// nodes that lie on a crack.
static void CopiesBreakAlike(void** state)
{
    (void)state;
    const Placing placings[] = {
        {knIdentityQuat(), {0.3f, -0.2f, 0.1f}, 1.0f},
        {knNormalizeQuat((knQuat){0.3f, 0.5f, -0.2f, 0.7f}), {0.0f, 0.0f, 0.0f}, 1.0f},
        {knIdentityQuat(), {0.0f, 0.0f, 0.0f}, 3.0f},
        {knNormalizeQuat((knQuat){-0.6f, 0.1f, 0.2f, 0.3f}), {0.05f, 0.1f, 0.2f}, 0.4f}};
    CrackScene first;
    MakeCrackScene(&first, plateCells, InPlace());
    knCrackDef def = DefaultPlateDef(&first, 25.0);
    knCrackReport report = RunCracks(&first, &def);
    assert_true(report.pieceCount > 10);
    for (size_t i = 0; i < COUNT_OF(placings); ++i)
    {
        CrackScene copy;
        MakeCrackScene(&copy, plateCells, placings[i]);
        def = DefaultPlateDef(&copy, 25.0);
        // the same tension and the same energy per area
        double scale = (double)placings[i].scale;
        def.strainEnergy *= scale * scale;
        knCrackReport other = RunCracks(&copy, &def);
        assert_int_equal(other.pieceCount, report.pieceCount);
        ASSERT_NEAR(other.crackArea / (scale * scale), report.crackArea, 0.01 * report.crackArea);
        assert_true(Difference(&first.scene, &copy.scene) < 0.01);
        FreeCrackScene(&copy);
    }
    FreeCrackScene(&first);
}

static void SmallArenaChangesNothing(void** state)
{
    (void)state;
    CrackScene s;
    MakeCrackScene(&s, plateCells, InPlace());
    knCrackDef def = DefaultPlateDef(&s, 25.0);
    assert_int_equal(knCracks_Begin(s.cracks, &s.scene.set, &def), kn_success);
    Snapshot before = TakeSnapshot(&s.scene.set);
    knArena small;
    assert_int_equal(knCreateArena(&small, 1024, NULL), kn_success);
    knSplitResult result;
    assert_int_equal(knCracks_Next(s.cracks, &small, &result), kn_errorMemory);
    AssertAsBefore(&before, &s.scene.set);
    assert_false(knCracks_Report(s.cracks)->isDone);
    knArena_Reset(&small);
    assert_int_equal(knArena_Reserve(&small, knCracks_Bytes(s.cracks)), kn_success);
    assert_int_equal(knCracks_Next(s.cracks, &small, &result), kn_success);
    assert_int_equal(result.outcome, kn_splitDone);
    knDestroyArena(&small);
    FreeSnapshot(&before);
    FreeCrackScene(&s);
}

// A crack that was found waits, is found again, and costs about what was said.
static void PlansTellWhatCutsTake(void** state)
{
    (void)state;
    CrackScene s;
    MakeCrackScene(&s, plateCells, InPlace());
    knCrackDef def = DefaultPlateDef(&s, 25.0);
    assert_int_equal(knCracks_Begin(s.cracks, &s.scene.set, &def), kn_success);
    assert_int_equal(knArena_Reserve(&s.scene.arena, knCracks_Bytes(s.cracks)), kn_success);
    double planned = 0.0, made = 0.0;
    while (!knCracks_Report(s.cracks)->isDone)
    {
        knCrackPlan plan, again;
        if (!knCracks_Find(s.cracks, &plan))
        {
            continue;
        }
        uint32_t tries = knCracks_Report(s.cracks)->tryCount;
        assert_true(knCracks_Find(s.cracks, &again) && knCracks_FindWork(s.cracks) == 0);
        assert_int_equal(again.fragment, plan.fragment);
        assert_int_equal(again.work, plan.work);
        knSplitResult result;
        knArena_Reset(&s.scene.arena);
        assert_int_equal(knCracks_Next(s.cracks, &s.scene.arena, &result), kn_success);
        assert_int_equal(knCracks_Report(s.cracks)->tryCount, tries);
        bool isDone = result.outcome == kn_splitDone;
        assert_true(!isDone || result.delta.parent == plan.fragment);
        planned += isDone ? plan.pointCount : 0.0;
        made += isDone ? result.delta.pointCount : 0.0;
    }
    print_message("points planned %.0f, made %.0f\n", planned, made);
    assert_true(made > 100.0 && planned > 0.8 * made && planned < 2.5 * made);
    FreeCrackScene(&s);
}

static knResult CreateOnly(const knAllocator* allocator, void* context)
{
    (void)context;
    knCracks* cracks = NULL;
    knResult result = knCreateCracks(&cracks, 100, allocator);
    assert_int_equal(result == kn_success, cracks != NULL);
    knDestroyCracks(cracks);
    return result;
}

static void BadArgumentsAreNamed(void** state)
{
    (void)state;
    SurviveAllocationFailures(CreateOnly, NULL);
    CrackScene s;
    MakeCrackScene(&s, (int[3]){4, 1, 4}, InPlace());
    knCrackDef good = DefaultPlateDef(&s, 20.0);
    knCrackDef bad[12];
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        bad[i] = good;
    }
    bad[0].size = 3;
    bad[1].stress = NULL;
    bad[2].strength = 0.0;
    bad[3].impulse = NAN;
    bad[4].hitCount = KN_MAX_CRACK_HITS + 1;
    bad[5].fragment = 9;
    bad[6].flaws = 2.0f;
    bad[7].fractureEnergy = -1.0;
    bad[8].maxPieces = 0;
    knCrackHit hit = {s.hit.point, {0.0f, 0.0f, 0.0f}};
    bad[9].hits = &hit;
    bad[10].energyShare = 0.0f;
    bad[11].contactShare = 1.5f;
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        assert_true(knCracks_Begin(s.cracks, &s.scene.set, &bad[i]) != kn_success);
        assert_true(strlen(knLastError()) > 10);
    }
    s.stress[3].tensor[2] = NAN;
    assert_int_equal(knCracks_Begin(s.cracks, &s.scene.set, &good), kn_errorArgument);
    assert_true(knCracks_Begin(NULL, &s.scene.set, &good) != kn_success);
    knSplitResult result;
    assert_true(knCracks_Next(s.cracks, NULL, &result) != kn_success);
    FreeCrackScene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PrincipalTensionIsTheLargest),
        cmocka_unit_test(ReliefNeverRaisesTension),
        cmocka_unit_test(SoftHitHoldsAndSaysWhatWouldBreak),
        cmocka_unit_test(HarderHitsRefineSofterOnes),
        cmocka_unit_test(EnergyIsNeverOverspent),
        cmocka_unit_test(UnfinishedCrackIsFinishedByASofterHit),
        cmocka_unit_test(PaintedStrengthHolds),
        cmocka_unit_test(SameSeedGivesTheSameBytes),
        cmocka_unit_test(CopiesBreakAlike),
        cmocka_unit_test(SmallArenaChangesNothing),
        cmocka_unit_test(PlansTellWhatCutsTake),
        cmocka_unit_test(BadArgumentsAreNamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
