// SPDX-License-Identifier: Zlib
#include "doctor_checks.h"

#include "knap/random.h"

static void AnOpenBoxIsClosed(void** state)
{
    (void)state;
    knSoup soup = Box();
    DropFaces(&soup, 10, 12);
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectHole);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectHole].count, 1);
    ASSERT_NEAR(report.volume, 1.0, 1e-12);
    assert_int_equal(soup.sources[11], KN_NONE);
    knDestroySoup(&soup);
}

static void HolesAreRefusedWhereFillingIsNotAllowed(void** state)
{
    (void)state;
    for (int way = 0; way < 3; ++way)
    {
        knSoup soup = Box();
        DropFaces(&soup, 10, 12);
        knDoctorOptions options = knDefaultDoctorOptions();
        options.fillHoles = way != 0;
        options.maxHoleEdges = way == 1 ? 3 : 256;
        options.repair = way != 2;
        knDoctorReport report;
        Must(knTreatSoup(&soup, &options, &report));
        assert_false(report.cookable);
        assert_int_equal(report.defects[kn_defectHole].action, kn_actionRefuse);
        assert_int_equal(soup.triangleCount, 10);
        knDestroySoup(&soup);
    }
}

// Rims of any size, through the optimal filling and the quick one, also where they are not convex.
static void LongRimsAreFilledFlat(void** state)
{
    (void)state;
    for (int sides = 3; sides <= 900; sides += sides < 12 ? 1 : 111)
    {
        knSoup soup = knMakeSoup(NULL);
        Must(AddHub(&soup, sides));
        bool dropped[2048] = {false};
        for (size_t t = 1; t < soup.triangleCount; t += 2)
        {
            dropped[t] = true;
        }
        Must(knSoup_Compact(&soup, dropped));
        double ring = 0.0;
        for (size_t v = 1; v < soup.positionCount; ++v)
        {
            float r = v % 3 == 0 && sides > 8 ? 0.9f : 1.0f;
            soup.positions[v] = knScale(r, soup.positions[v]);
        }
        for (size_t t = 0; t < soup.triangleCount; ++t)
        {
            const uint32_t* v = soup.triangles[t].v;
            knVec3 p = soup.positions[v[1]], q = soup.positions[v[2]];
            ring += 0.5 * ((double)p.x * (double)q.y - (double)p.y * (double)q.x);
        }
        knDoctorOptions options = knDefaultDoctorOptions();
        options.maxHoleEdges = 1000;
        knDoctorReport report;
        Must(knTreatSoup(&soup, &options, &report));
        assert_true(report.cookable);
        // a cone of height 1 over the polygon
        ASSERT_NEAR(report.volume, ring / 3.0, 1e-5);
        AssertClosed(&soup);
        knDestroySoup(&soup);
    }
}

// Two holes that meet in one vertex are two holes.
static void HolesThatMeetInAVertexStayApart(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddTorus(&soup, 1.0f, 0.4f, 16, 12));
    double before = VolumeOf(&soup);
    bool dropped[384] = {false};
    // quads (0, 0) and (1, 1) share vertex (1, 1) only
    dropped[0] = dropped[1] = dropped[2 * 13] = dropped[2 * 13 + 1] = true;
    Must(knSoup_Compact(&soup, dropped));
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectHole);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectHole].count, 2);
    ASSERT_NEAR(report.volume, before, 0.01 * before);
    knDestroySoup(&soup);
}

static void RimsWithinToleranceAreJoined(void** state)
{
    (void)state;
    knSoup soup = Box();
    Must(Unweld(&soup));
    knRandom random = knMakeRandom(3);
    for (size_t v = 0; v < soup.positionCount; ++v)
    {
        soup.positions[v] = knAddScaled(soup.positions[v], 2e-6f, knRandom_UnitVec3(&random));
    }
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectDuplicateVertex);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectDuplicateVertex].count, 28);
    assert_int_equal(report.defects[kn_defectDuplicateVertex].action, kn_actionRepair);
    assert_int_equal(soup.positionCount, 8);
    ASSERT_NEAR(report.volume, 1.0, 1e-4);
    knDestroySoup(&soup);
}

static void TJunctionsAreSplit(void** state)
{
    (void)state;
    knSoup soup = Box();
    // the top side again, with a vertex in the middle of the edge 4 5 that only it knows
    DropFaces(&soup, 10, 12);
    uint32_t m;
    Must(knSoup_AddPosition(&soup, knMakeVec3(0.5f, 0.0f, 1.0f), &m));
    Must(AddFace(&soup, 4, m, 6));
    Must(AddFace(&soup, m, 5, 7));
    Must(AddFace(&soup, m, 7, 6));
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectTJunction);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectTJunction].count, 1);
    assert_int_equal(soup.triangleCount, 14);
    ASSERT_NEAR(report.volume, 1.0, 1e-12);
    // the new corners of the side got a texture coordinate between those of its ends
    bool half = false;
    for (size_t i = 0; i < soup.attributeCount; ++i)
    {
        half = half || soup.attributes[i].u == 0.5f || soup.attributes[i].v == 0.5f;
    }
    assert_true(half);
    knDestroySoup(&soup);
}

static void NeedlesAreFlippedAway(void** state)
{
    (void)state;
    knSoup soup = Box();
    // the same top, but closed by a needle along the edge: no gap, and no area
    DropFaces(&soup, 10, 12);
    uint32_t m;
    Must(knSoup_AddPosition(&soup, knMakeVec3(0.5f, 0.0f, 1.0f), &m));
    Must(AddFace(&soup, 4, m, 6));
    Must(AddFace(&soup, m, 5, 7));
    Must(AddFace(&soup, m, 7, 6));
    Must(AddFace(&soup, 4, 5, m));
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectDegenerate);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectDegenerate].count, 1);
    assert_int_equal(soup.triangleCount, 14);
    ASSERT_NEAR(report.volume, 1.0, 1e-12);
    knDestroySoup(&soup);
}

static void TrianglesThatRepeatAVertexAreDropped(void** state)
{
    (void)state;
    knSoup soup = Box();
    Must(AddFace(&soup, 3, 3, 5));
    Must(AddFace(&soup, 1, 1, 1));
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectDegenerate);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectDegenerate].count, 2);
    assert_int_equal(report.defects[kn_defectDegenerate].places[0].index, 12);
    assert_int_equal(soup.triangleCount, 12);
    knDestroySoup(&soup);
}

static void CopiesOfTrianglesAreDropped(void** state)
{
    (void)state;
    knSoup soup = Box();
    const uint32_t* v = soup.triangles[4].v;
    Must(AddFace(&soup, v[1], v[2], v[0]));
    v = soup.triangles[7].v;
    Must(AddFace(&soup, v[2], v[1], v[0])); // back to back, but the box needs one of the two
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectDuplicateTriangle);
    assert_true(report.cookable);
    assert_int_equal(soup.triangleCount, 12);
    knDestroySoup(&soup);

    // a fin of two faces back to back stands on the box
    soup = Box();
    uint32_t tip;
    Must(knSoup_AddPosition(&soup, knMakeVec3(0.5f, 0.5f, 2.0f), &tip));
    Must(AddFace(&soup, 4, 7, tip));
    Must(AddFace(&soup, 7, 4, tip));
    report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectDuplicateTriangle);
    assert_true(report.cookable);
    assert_int_equal(soup.triangleCount, 12);
    knDestroySoup(&soup);
}

// Some exporters write every face from both sides.
static void ADoubleSidedSolidIsOneSolid(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddSphere(&soup, zero, 1.0f, 1));
    for (size_t t = 0; t < 80; ++t)
    {
        const uint32_t* v = soup.triangles[t].v;
        Must(AddFace(&soup, v[2], v[1], v[0]));
    }
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectDuplicateTriangle);
    assert_true(report.cookable);
    assert_int_equal(soup.triangleCount, 80);
    knDestroySoup(&soup);
}

static void FlippedFacesAreTurned(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddSphere(&soup, zero, 1.0f, 2));
    for (size_t i = 0; i < soup.attributeCount; ++i)
    {
        soup.attributes[i].normal = knMakeVec3(0.0f, 0.0f, 1.0f);
    }
    double volume = VolumeOf(&soup);
    TurnFaces(&soup, 10, 17);
    TurnFaces(&soup, 100, 101);
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectFlipped);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectFlipped].count, 8);
    assert_int_equal(report.defects[kn_defectFlipped].places[7].index, 100);
    ASSERT_NEAR(report.volume, volume, 1e-9);
    knDestroySoup(&soup);
}

static void ASolidInsideOutIsTurned(void** state)
{
    (void)state;
    knSoup soup = Box();
    TurnFaces(&soup, 0, 12);
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectInsideOut);
    assert_true(report.cookable);
    ASSERT_NEAR(report.volume, 1.0, 1e-12);
    knDestroySoup(&soup);
}

// A dent that goes through the other side of a thin fold is cut out; the rest must stay.
static void AFewCrossingsAreCutOut(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddTorus(&soup, 1.0f, 0.4f, 40, 24));
    double volume = VolumeOf(&soup);
    // one vertex is pulled through its neighbours
    knVec3 p = soup.positions[100], q = soup.positions[102];
    soup.positions[100] = knLerp(p, q, 1.3f);
    knDoctorReport report = Treat(&soup);
    ASSERT_ONLY(report, kn_defectSelfIntersection);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectSelfIntersection].action, kn_actionRepair);
    ASSERT_NEAR(report.volume, volume, 0.01 * volume);
    assert_true(soup.triangleCount > 1800);
    knDestroySoup(&soup);
}

static void PartsThatTouchInAVertexArePulledApart(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddBox(&soup, zero, one));
    Must(AddBox(&soup, one, knScale(2.0f, one)));
    knDoctorOptions options = knDefaultDoctorOptions();
    options.severalComponents = true;
    knDoctorReport report;
    Must(knTreatSoup(&soup, &options, &report));
    ASSERT_ONLY(report, kn_defectDuplicateVertex, kn_defectNonManifoldVertex,
                kn_defectSeveralComponents);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectNonManifoldVertex].count, 1);
    assert_int_equal(soup.positionCount, 16);
    ASSERT_NEAR(report.volume, 2.0, 0.01);
    AssertClosed(&soup);
    knDestroySoup(&soup);
}

static void PartsThatShareAnEdgeArePulledApart(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddBox(&soup, zero, one));
    Must(AddBox(&soup, knMakeVec3(1.0f, 1.0f, 0.0f), knMakeVec3(2.0f, 2.0f, 1.0f)));
    knDoctorOptions options = knDefaultDoctorOptions();
    options.severalComponents = true;
    knDoctorReport report;
    Must(knTreatSoup(&soup, &options, &report));
    ASSERT_ONLY(report, kn_defectDuplicateVertex, kn_defectNonManifoldEdge,
                kn_defectSeveralComponents);
    assert_true(report.cookable);
    assert_int_equal(report.defects[kn_defectNonManifoldEdge].count, 1);
    assert_int_equal(report.componentCount, 2);
    ASSERT_NEAR(report.volume, 2.0, 0.01);
    AssertClosed(&soup);
    knDestroySoup(&soup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AnOpenBoxIsClosed),
        cmocka_unit_test(HolesAreRefusedWhereFillingIsNotAllowed),
        cmocka_unit_test(LongRimsAreFilledFlat),
        cmocka_unit_test(HolesThatMeetInAVertexStayApart),
        cmocka_unit_test(RimsWithinToleranceAreJoined),
        cmocka_unit_test(TJunctionsAreSplit),
        cmocka_unit_test(NeedlesAreFlippedAway),
        cmocka_unit_test(TrianglesThatRepeatAVertexAreDropped),
        cmocka_unit_test(CopiesOfTrianglesAreDropped),
        cmocka_unit_test(ADoubleSidedSolidIsOneSolid),
        cmocka_unit_test(FlippedFacesAreTurned),
        cmocka_unit_test(ASolidInsideOutIsTurned),
        cmocka_unit_test(AFewCrossingsAreCutOut),
        cmocka_unit_test(PartsThatTouchInAVertexArePulledApart),
        cmocka_unit_test(PartsThatShareAnEdgeArePulledApart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
