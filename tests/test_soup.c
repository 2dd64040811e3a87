// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "shapes.h"

#include <math.h>

static void Must(knResult result)
{
    assert_int_equal(result, kn_success);
}

static void ACompactedSoupKeepsOrderAndSources(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(knSoup_AddPosition(&soup, knMakeVec3(9, 9, 9), NULL));
    Must(AddBox(&soup, knMakeVec3(0, 0, 0), knMakeVec3(1, 1, 1)));
    bool dropped[12] = {false};
    dropped[0] = dropped[1] = dropped[5] = true;
    knVec3 corner = soup.positions[soup.triangles[2].v[1]];
    Must(knSoup_Compact(&soup, dropped));
    assert_int_equal(soup.triangleCount, 9);
    assert_int_equal(soup.positionCount, 8);
    assert_int_equal(soup.attributeCount, 27);
    static const uint32_t sources[9] = {2, 3, 4, 6, 7, 8, 9, 10, 11};
    assert_memory_equal(soup.sources, sources, sizeof(sources));
    assert_int_equal(soup.vertexSources[0], 1);
    knVec3 after = soup.positions[soup.triangles[0].v[1]];
    assert_memory_equal(&after, &corner, sizeof(corner));
    knDestroySoup(&soup);
    knDestroySoup(&soup);
    knDestroySoup(NULL);
}

static void ACloneIsEqualAndItsOwn(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL), clone;
    Must(AddSphere(&soup, knMakeVec3(0, 0, 0), 1.0f, 1));
    soup.hasUv = true;
    Must(knCloneSoup(&clone, &soup));
    assert_int_equal(clone.triangleCount, soup.triangleCount);
    assert_true(clone.hasUv && !clone.hasNormals);
    assert_memory_equal(clone.positions, soup.positions, soup.positionCount * sizeof(knVec3));
    assert_memory_equal(clone.triangles, soup.triangles, soup.triangleCount * sizeof(knTriangle));
    assert_memory_equal(clone.corners, soup.corners, soup.triangleCount * sizeof(knTriangle));
    assert_ptr_not_equal(clone.positions, soup.positions);
    knDestroySoup(&soup);
    assert_int_equal(clone.triangles[79].v[0] < clone.positionCount, 1);
    knDestroySoup(&clone);
    knSoup empty = knMakeSoup(NULL);
    Must(knCloneSoup(&clone, &empty));
    assert_int_equal(clone.triangleCount, 0);
    knDestroySoup(&clone);
}

static knVec3 NormalOf(const knSoup* soup, size_t triangle, int corner)
{
    return soup->attributes[soup->corners[triangle].v[corner]].normal;
}

// The six sides of a box stand at 90 degrees: a crease of 40 keeps them flat.
static void ABoxKeepsItsCreases(void** state)
{
    (void)state;
    static const float axes[6][3] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                     {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};
    knSoup soup = knMakeSoup(NULL);
    Must(AddBox(&soup, knMakeVec3(0, 0, 0), knMakeVec3(1, 2, 3)));
    Must(knSoup_MakeNormals(&soup, 40.0f));
    for (size_t t = 0; t < 12; ++t)
    {
        for (int k = 0; k < 3; ++k)
        {
            knVec3 n = NormalOf(&soup, t, k);
            ASSERT_NEAR(n.x, axes[t / 2][0], 1e-6);
            ASSERT_NEAR(n.y, axes[t / 2][1], 1e-6);
            ASSERT_NEAR(n.z, axes[t / 2][2], 1e-6);
        }
    }
    knDestroySoup(&soup);
}

static void ASphereBecomesSmooth(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddSphere(&soup, knMakeVec3(0, 0, 0), 1.0f, 3));
    Must(knSoup_MakeNormals(&soup, 40.0f));
    for (size_t t = 0; t < soup.triangleCount; ++t)
    {
        for (int k = 0; k < 3; ++k)
        {
            // on a unit sphere the normal is the place itself
            knVec3 p = soup.positions[soup.triangles[t].v[k]];
            assert_true(knDot(NormalOf(&soup, t, k), p) > 0.999f);
            ASSERT_NEAR(knLength(NormalOf(&soup, t, k)), 1.0, 1e-5);
        }
    }
    knDestroySoup(&soup);
}

static void NormalsOfTheFileAreKept(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddBox(&soup, knMakeVec3(0, 0, 0), knMakeVec3(1, 1, 1)));
    knVec3 own = {0.6f, 0.8f, 0.0f};
    soup.attributes[soup.corners[3].v[1]].normal = own;
    Must(knSoup_MakeNormals(&soup, 40.0f));
    knVec3 after = NormalOf(&soup, 3, 1);
    assert_memory_equal(&after, &own, sizeof(own));
    ASSERT_NEAR(soup.attributes[soup.corners[3].v[1]].u, 1.0, 0.0);
    ASSERT_NEAR(knLength(NormalOf(&soup, 3, 0)), 1.0, 1e-6);
    knDestroySoup(&soup);
}

// A vertex of very many faces must neither take quadratic time nor lose its direction.
static void AHubGetsANormalToo(void** state)
{
    (void)state;
    knSoup soup = knMakeSoup(NULL);
    Must(AddHub(&soup, 20000));
    Must(knSoup_MakeNormals(&soup, 100.0f));
    assert_true(NormalOf(&soup, 0, 0).z > 0.9f);
    knDestroySoup(&soup);
}

static knResult TryNormals(const knAllocator* allocator, void* context)
{
    (void)context;
    knSoup soup = knMakeSoup(allocator), clone;
    knResult result = AddBox(&soup, knMakeVec3(0, 0, 0), knMakeVec3(1, 1, 1));
    result = result == kn_success ? knCloneSoup(&clone, &soup) : result;
    if (result == kn_success)
    {
        result = knSoup_MakeNormals(&clone, 40.0f);
        knDestroySoup(&clone);
    }
    knDestroySoup(&soup);
    return result;
}

static void ASoupSurvivesAllocationFailures(void** state)
{
    (void)state;
    SurviveAllocationFailures(TryNormals, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ACompactedSoupKeepsOrderAndSources),
        cmocka_unit_test(ACloneIsEqualAndItsOwn),
        cmocka_unit_test(ABoxKeepsItsCreases),
        cmocka_unit_test(ASphereBecomesSmooth),
        cmocka_unit_test(NormalsOfTheFileAreKept),
        cmocka_unit_test(AHubGetsANormalToo),
        cmocka_unit_test(ASoupSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
