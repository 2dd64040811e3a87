// SPDX-License-Identifier: Zlib
#include "doctor_checks.h"

#include "knap/random.h"

static void CleanSolidsAreLeftAlone(void** state)
{
    (void)state;
    knSoup soups[5];
    for (int i = 0; i < 5; ++i)
    {
        soups[i] = knMakeSoup(NULL);
    }
    Must(AddBox(&soups[0], zero, one));
    Must(AddSphere(&soups[1], one, 2.0f, 3));
    Must(AddTorus(&soups[2], 1.0f, 0.4f, 40, 20));
    Must(AddHub(&soups[3], 1000));
    Must(AddBox(&soups[4], zero, one));
    DropFaces(&soups[4], 4, 12);
    DropFaces(&soups[4], 1, 4);
    uint32_t apex;
    Must(knSoup_AddPosition(&soups[4], one, &apex));
    Must(AddFace(&soups[4], 1, 0, apex));
    Must(AddFace(&soups[4], 2, 1, apex));
    Must(AddFace(&soups[4], 0, 2, apex));
    for (int i = 0; i < 5; ++i)
    {
        size_t triangles = soups[i].triangleCount;
        knDoctorReport report = Treat(&soups[i]);
        AssertOnly(&report, (const knDefectKind[]){kn_defectCount});
        assert_true(report.cookable);
        assert_int_equal(soups[i].triangleCount, triangles);
        assert_int_equal(report.componentCount, 1);
        assert_int_equal(report.cavityCount, 0);
        knDestroySoup(&soups[i]);
    }
}

static void AnUnweldedSolidIsHealthy(void** state)
{
    (void)state;
    knSoup soup = Box();
    Must(Unweld(&soup));
    soup.positions[0].x = -soup.positions[0].x; // minus zero is zero
    knDoctorOptions options = knDefaultDoctorOptions();
    options.repair = false; // sharing vertices is no repair
    knDoctorReport report;
    Must(knTreatSoup(&soup, &options, &report));
    ASSERT_ONLY(report, kn_defectDuplicateVertex);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectDuplicateVertex].action, kn_actionNone);
    assert_int_equal(soup.positionCount, 8);
    assert_int_equal(soup.attributeCount, 36);
    ASSERT_NEAR(report.volume, 1.0, 1e-12);
    ASSERT_NEAR(report.area, 6.0, 1e-12);
    AssertClosed(&soup);
    knDestroySoup(&soup);
}

static void SheetsAreRefused(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddSheet(&soup, 8, 0.0f));
    AssertRefused(&soup, kn_defectZeroVolume);

    // tilted, so that the vertices lie in the plane up to rounding only
    soup = knMakeSoup(NULL);
    Must(AddSheet(&soup, 9, 0.0f));
    for (size_t v = 0; v < soup.positionCount; ++v)
    {
        knVec3* p = &soup.positions[v];
        *p = knMakeVec3(0.77f * p->x, p->y + 0.11f * p->x, 0.31f * p->x + 0.73f * p->y);
    }
    AssertRefused(&soup, kn_defectZeroVolume);

    soup = knMakeSoup(NULL);
    Must(AddSheet(&soup, 8, 0.0f));
    for (size_t t = 0; t < 128; ++t)
    {
        const uint32_t* v = soup.triangles[t].v;
        Must(AddFace(&soup, v[2], v[1], v[0]));
    }
    AssertRefused(&soup, kn_defectZeroVolume);

    soup = knMakeSoup(NULL);
    Must(AddSheet(&soup, 100, 1.0f)); // too long a rim, and not flat
    AssertRefused(&soup, kn_defectHole);

    soup = Box();
    DropFaces(&soup, 1, 12);
    AssertRefused(&soup, kn_defectZeroVolume);
}

static void OneSidedSurfacesAreRefused(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddMoebius(&soup, 24));
    knDoctorReport report = AssertRefused(&soup, kn_defectNotOrientable);
    assert_int_equal(report.finalTriangleCount, 48);
    soup = knMakeSoup(NULL);
    Must(AddKlein(&soup, 24, 16));
    AssertRefused(&soup, kn_defectNotOrientable);
}

// A shell within a solid is a cavity, and a solid in the cavity is a solid again.
static void NestingTellsCavitiesFromSolids(void** state)
{
    (void)state;
    for (unsigned turned = 0; turned < 8; ++turned)
    {
        knSoup soup = knMakeSoup(NULL);
        double volume = 0.0;
        for (unsigned i = 0; i < 3; ++i)
        {
            size_t first = soup.triangleCount;
            float size = 3.0f - (float)i;
            Must(AddBox(&soup, knScale(-size, one), knScale(size, one)));
            volume += (i == 1 ? -8.0 : 8.0) * pow((double)size, 3.0);
            if (turned >> i & 1)
            {
                TurnFaces(&soup, first, soup.triangleCount);
            }
        }
        knDoctorOptions options = knDefaultDoctorOptions();
        options.severalComponents = true;
        knDoctorReport report;
        Must(knTreatSoup(&soup, &options, &report));
        assert_true(report.cookable);
        assert_int_equal(report.componentCount, 3);
        assert_int_equal(report.cavityCount, 1);
        // right are outside, inside, outside
        unsigned wrong = turned ^ 2;
        unsigned count = (wrong & 1) + (wrong >> 1 & 1) + (wrong >> 2 & 1);
        assert_int_equal(report.defects[kn_defectInsideOut].count, count);
        ASSERT_NEAR(report.volume, volume, 1e-9);
        AssertClosed(&soup);
        knDestroySoup(&soup);
    }
}

static void ACavityIsNotASecondSolid(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddSphere(&soup, zero, 2.0f, 2));
    Must(AddSphere(&soup, zero, 1.0f, 2));
    TurnFaces(&soup, 320, 640);
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectSeveralComponents);
    assert_true(report.cookable);
    assert_int_equal(report.cavityCount, 1);
    assert_int_equal(report.defects[kn_defectSeveralComponents].action, kn_actionNone);
    knDestroySoup(&soup);
}

static void SeveralSolidsAreAMatterOfTheOptions(void** state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; ++allowed)
    {
        knSoup soup = knMakeSoup(NULL);
        for (int i = 0; i < 10; ++i)
        {
            knVec3 at = {3.0f * (float)i, 0.0f, 0.0f};
            Must(AddBox(&soup, at, knAdd(at, one)));
        }
        knDoctorOptions options = knDefaultDoctorOptions();
        options.severalComponents = allowed;
        knDoctorReport report;
        Must(knTreatSoup(&soup, &options, &report));
        ASSERT_ONLY(report, kn_defectSeveralComponents);
        assert_int_equal(report.cookable, allowed);
        assert_int_equal(report.componentCount, 10);
        assert_int_equal(report.cavityCount, 0);
        knDestroySoup(&soup);
    }
}

static void SolidsThatCrossAreRefused(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddSphere(&soup, zero, 1.0f, 3));
    Must(AddSphere(&soup, knMakeVec3(1.0f, 0.1f, 0.2f), 1.0f, 3));
    AssertRefused(&soup, kn_defectSelfIntersection);
    soup = knMakeSoup(NULL);
    Must(AddBox(&soup, zero, one));
    Must(AddBox(&soup, knScale(0.5f, one), knScale(1.5f, one)));
    AssertRefused(&soup, kn_defectSelfIntersection);
    // face to face: they touch, though they do not cross
    soup = knMakeSoup(NULL);
    Must(AddBox(&soup, zero, one));
    Must(AddBox(&soup, knMakeVec3(0.25f, 0.25f, 1.0f), knMakeVec3(0.75f, 0.75f, 2.0f)));
    AssertRefused(&soup, kn_defectSelfIntersection);
}

// A wall inside is more than a doctor may decide about.
static void InnerWallsAreRefused(void** state)
{
    (void)state;
    knSoup soup = Box();
    Must(AddFace(&soup, 0, 1, 7));
    Must(AddFace(&soup, 0, 7, 6));
    AssertRefused(&soup, kn_defectNonManifoldEdge);
}

static void BadNumbersAreRefused(void** state)
{
    (void)state;
    knSoup soup = Box();
    soup.positions[3].y = NAN;
    soup.positions[5].z = NAN;
    knDoctorReport report = AssertRefused(&soup, kn_defectNotFinite);
    assert_int_equal(report.defects[kn_defectNotFinite].count, 2);
    assert_int_equal(report.defects[kn_defectNotFinite].places[0].index, 3);
    soup = Box();
    soup.positions[0].x = INFINITY;
    AssertRefused(&soup, kn_defectNotFinite);
    soup = Box();
    soup.triangles[5].v[1] = 8;
    report = AssertRefused(&soup, kn_defectBadIndex);
    assert_int_equal(report.defects[kn_defectBadIndex].places[0].index, 5);
    soup = Box();
    soup.corners[6].v[2] = KN_NONE;
    AssertRefused(&soup, kn_defectBadIndex);
    soup = knMakeSoup(NULL);
    AssertRefused(&soup, kn_defectEmpty);
}

static void VerticesWithoutTrianglesAreLeftOut(void** state)
{
    (void)state;
    knSoup soup = Box();
    for (int i = 0; i < 3; ++i)
    {
        Must(knSoup_AddPosition(&soup, knMakeVec3(NAN, 1e30f, 0.0f), NULL));
    }
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectUnreferenced);
    assert_int_equal(report.defects[kn_defectUnreferenced].count, 3);
    assert_int_equal(report.defects[kn_defectUnreferenced].action, kn_actionNone);
    assert_true(report.cookable);
    assert_int_equal(soup.positionCount, 8);
    knDestroySoup(&soup);
}

static void OtherUnitsThanMetresAreSuspected(void** state)
{
    (void)state;
    static const float bad[] = {1e-9f, 1e9f, 1e-30f, 1e30f};
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        knSoup soup = Box();
        MoveSoup(&soup, bad[i], zero);
        knDoctorReport report = AssertRefused(&soup, kn_defectScale);
        assert_non_null(strstr(report.defects[kn_defectScale].note, "--scale"));
    }
    static const float good[] = {2e-6f, 1e-3f, 77.7f, 1e5f};
    for (size_t i = 0; i < COUNT_OF(good); ++i)
    {
        knSoup soup = knMakeSoup(NULL);
        Must(AddSphere(&soup, zero, 1.0f, 2));
        MoveSoup(&soup, good[i], zero);
        knDoctorReport report = Treat(&soup);
        AssertOnly(&report, (const knDefectKind[]){kn_defectCount});
        assert_true(report.cookable);
        knDestroySoup(&soup);
    }
}

// One of everything that can be repaired.
static knResult AddPatient(knSoup* soup)
{
    knResult result = AddSphere(soup, zero, 2.0f, 2);
    size_t outer = soup->triangleCount;
    result = result == kn_success ? AddSphere(soup, knMakeVec3(0.2f, 0.0f, 0.0f), 0.5f, 1) : result;
    result = result == kn_success ? AddBox(soup, knMakeVec3(3, 0, 0), knMakeVec3(4, 1, 1)) : result;
    result = result == kn_success ? AddBox(soup, knMakeVec3(4, 1, 1), knMakeVec3(5, 2, 2)) : result;
    result = result == kn_success ? AddBox(soup, knMakeVec3(3, 5, 0), knMakeVec3(4, 6, 1)) : result;
    result = result == kn_success ? AddBox(soup, knMakeVec3(4, 6, 0), knMakeVec3(5, 7, 1)) : result;
    result = result == kn_success ? AddTorus(soup, 12.0f, 0.9f, 40, 24) : result;
    if (result != kn_success)
    {
        return result;
    }
    // a hole, flipped faces, a copy, a needle and its T-junction, a dent
    TurnFaces(soup, 3, 6);
    bool* dropped = calloc(soup->triangleCount, sizeof(bool));
    dropped[20] = dropped[21] = true;
    result = knSoup_Compact(soup, dropped);
    free(dropped);
    const uint32_t* v = soup->triangles[outer].v;
    uint32_t a = v[0], b = v[1], c = v[2], m = 0;
    soup->positions[soup->positionCount - 40] = knLerp(
        soup->positions[soup->positionCount - 40], soup->positions[soup->positionCount - 38], 1.3f);
    knVec3 middle = knLerp(soup->positions[a], soup->positions[b], 0.5f);
    knTriangle other = soup->triangles[outer + 5];
    result = result == kn_success ? AddFace(soup, other.v[1], other.v[2], other.v[0]) : result;
    result = result == kn_success ? knSoup_AddPosition(soup, middle, &m) : result;
    result = result == kn_success ? AddFace(soup, a, b, b) : result;
    soup->triangles[outer].v[1] = result == kn_success ? m : b;
    return result == kn_success ? AddFace(soup, m, b, c) : result;
}

static knResult TryTreatment(const knAllocator* allocator, void* context)
{
    const bool* repair = context;
    knSoup soup = knMakeSoup(allocator);
    knDoctorOptions options = knDefaultDoctorOptions();
    options.severalComponents = true;
    options.repair = *repair;
    knDoctorReport report;
    MarkUntouched(&report, sizeof(report));
    knResult result = AddPatient(&soup);
    result = result == kn_success ? knTreatSoup(&soup, &options, &report) : result;
    if (result != kn_success)
    {
        assert_true(IsUntouched(&report, sizeof(report)));
    }
    else
    {
        assert_int_equal(report.cookable, *repair);
    }
    knDestroySoup(&soup);
    return result;
}

static void TheDoctorSurvivesAllocationFailures(void** state)
{
    (void)state;
    bool repair = true;
    SurviveAllocationFailures(TryTreatment, &repair);
    repair = false;
    SurviveAllocationFailures(TryTreatment, &repair);
}

static void WithoutRepairTheMeshStaysAsItIs(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL), before;
    Must(AddPatient(&soup));
    Must(knCloneSoup(&before, &soup));
    knDoctorOptions options = knDefaultDoctorOptions();
    options.repair = false;
    options.severalComponents = true;
    knDoctorReport report;
    Must(knTreatSoup(&soup, &options, &report));
    assert_false(report.cookable);
    for (int i = 0; i < kn_defectCount; ++i)
    {
        assert_int_not_equal(report.defects[i].action, kn_actionRepair);
    }
    assert_int_equal(soup.positionCount, before.positionCount);
    assert_int_equal(soup.triangleCount, before.triangleCount);
    assert_memory_equal(soup.positions, before.positions, soup.positionCount * sizeof(knVec3));
    assert_memory_equal(soup.triangles, before.triangles, soup.triangleCount * sizeof(knTriangle));
    assert_memory_equal(soup.corners, before.corners, soup.triangleCount * sizeof(knTriangle));
    knDestroySoup(&soup);
    knDestroySoup(&before);
}

static void ATreatedMeshIsHealthy(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddPatient(&soup));
    knDoctorOptions options = knDefaultDoctorOptions();
    options.severalComponents = true;
    knDoctorReport report;
    Must(knTreatSoup(&soup, &options, &report));
    assert_true(report.cookable);
    AssertClosed(&soup);
    size_t triangles = soup.triangleCount;
    Must(knTreatSoup(&soup, &options, &report));
    ASSERT_ONLY(report, kn_defectSeveralComponents);
    assert_int_equal(soup.triangleCount, triangles);
    knDestroySoup(&soup);
}

static void Shuffle(knSoup* soup, knRandom* random)
{
    for (size_t i = soup->triangleCount; i > 1; --i)
    {
        size_t k = knRandom_Below(random, (uint32_t)i);
        knTriangle t = soup->triangles[k], c = soup->corners[k];
        soup->triangles[k] = soup->triangles[i - 1];
        soup->corners[k] = soup->corners[i - 1];
        soup->triangles[i - 1] = t;
        soup->corners[i - 1] = c;
    }
    for (size_t i = soup->positionCount; i > 1; --i)
    {
        uint32_t k = knRandom_Below(random, (uint32_t)i), last = (uint32_t)i - 1;
        knVec3 p = soup->positions[k];
        soup->positions[k] = soup->positions[last];
        soup->positions[last] = p;
        for (size_t c = 0; c < 3 * soup->triangleCount; ++c)
        {
            uint32_t* v = &soup->triangles[c / 3].v[c % 3];
            *v = *v == k ? last : *v == last ? k : *v;
        }
    }
}

static void TheOrderInTheFileDoesNotMatter(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(5);
    knDoctorReport first = {0};
    for (int round = 0; round < 12; ++round)
    {
        knSoup soup = knMakeSoup(NULL);
        Must(AddPatient(&soup));
        if (round > 0)
        {
            Shuffle(&soup, &random);
        }
        knDoctorOptions options = knDefaultDoctorOptions();
        options.severalComponents = true;
        knDoctorReport report;
        Must(knTreatSoup(&soup, &options, &report));
        assert_true(report.cookable);
        first = round == 0 ? report : first;
        for (int i = 0; i < kn_defectCount; ++i)
        {
            assert_int_equal(report.defects[i].count, first.defects[i].count);
            assert_int_equal(report.defects[i].action, first.defects[i].action);
        }
        assert_int_equal(report.finalTriangleCount, first.finalTriangleCount);
        assert_int_equal(report.cavityCount, first.cavityCount);
        ASSERT_NEAR(report.volume, first.volume, 1e-3 * first.volume);
        knDestroySoup(&soup);
    }
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    knSoup soup = Box();
    knDoctorOptions options = knDefaultDoctorOptions();
    knDoctorReport report;
    assert_int_equal(knTreatSoup(NULL, &options, &report), kn_errorArgument);
    assert_int_equal(knTreatSoup(&soup, NULL, &report), kn_errorArgument);
    assert_int_equal(knTreatSoup(&soup, &options, NULL), kn_errorArgument);
    options.weldTolerance = NAN;
    assert_int_equal(knTreatSoup(&soup, &options, &report), kn_errorArgument);
    options = knDefaultDoctorOptions();
    options.maxHoleEdges = -1;
    assert_int_equal(knTreatSoup(&soup, &options, &report), kn_errorArgument);
    assert_string_equal(knDefectName(kn_defectSelfIntersection), "self-intersection");
    assert_string_equal(knDefectName((knDefectKind)99), "unknown");
    for (int i = 0; i < kn_defectCount; ++i)
    {
        assert_true(strlen(knDefectName((knDefectKind)i)) > 3);
    }
    knDestroySoup(&soup);
}

// Whatever comes: no crash, and what is called cookable is.
static void RandomTrianglesDoNoHarm(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(77);
    for (int round = 0; round < 1500; ++round)
    {
        knSoup soup = knMakeSoup(NULL);
        uint32_t points = 4 + knRandom_Below(&random, 12), size = 2 + knRandom_Below(&random, 4);
        for (uint32_t i = 0; i < points; ++i)
        {
            knVec3 p = {(float)knRandom_Below(&random, size), (float)knRandom_Below(&random, size),
                        (float)knRandom_Below(&random, size)};
            Must(knSoup_AddPosition(&soup, p, NULL));
        }
        for (uint32_t i = knRandom_Below(&random, 40); i > 0; --i)
        {
            Must(AddFace(&soup, knRandom_Below(&random, points), knRandom_Below(&random, points),
                         knRandom_Below(&random, points)));
        }
        Treat(&soup);
        knDestroySoup(&soup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CleanSolidsAreLeftAlone),
        cmocka_unit_test(AnUnweldedSolidIsHealthy),
        cmocka_unit_test(SheetsAreRefused),
        cmocka_unit_test(OneSidedSurfacesAreRefused),
        cmocka_unit_test(NestingTellsCavitiesFromSolids),
        cmocka_unit_test(ACavityIsNotASecondSolid),
        cmocka_unit_test(SeveralSolidsAreAMatterOfTheOptions),
        cmocka_unit_test(SolidsThatCrossAreRefused),
        cmocka_unit_test(InnerWallsAreRefused),
        cmocka_unit_test(BadNumbersAreRefused),
        cmocka_unit_test(VerticesWithoutTrianglesAreLeftOut),
        cmocka_unit_test(OtherUnitsThanMetresAreSuspected),
        cmocka_unit_test(TheDoctorSurvivesAllocationFailures),
        cmocka_unit_test(WithoutRepairTheMeshStaysAsItIs),
        cmocka_unit_test(ATreatedMeshIsHealthy),
        cmocka_unit_test(TheOrderInTheFileDoesNotMatter),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(RandomTrianglesDoNoHarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
