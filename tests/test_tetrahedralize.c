// SPDX-License-Identifier: Zlib
#include "cook_mesh.h"
#include "kit.h"
#include "predicates.h"
#include "tetrahedralize.h"

// A box of n x n quads a side, welded, outward or inward.
static void AddBox(knSoup* soup, knVec3 lower, knVec3 upper, int n, bool inward)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        for (int side = 0; side < 2; ++side)
        {
            for (int i = 0; i < n * n; ++i)
            {
                uint32_t quad[4];
                for (int c = 0; c < 4; ++c)
                {
                    float u = (float)(i % n + (c == 1 || c == 2)) / (float)n;
                    float v = (float)(i / n + (c >= 2)) / (float)n;
                    float t[3];
                    t[axis] = (float)side;
                    t[(axis + 1) % 3] = u;
                    t[(axis + 2) % 3] = v;
                    knVec3 p = {lower.x + t[0] * (upper.x - lower.x),
                                lower.y + t[1] * (upper.y - lower.y),
                                lower.z + t[2] * (upper.z - lower.z)};
                    quad[c] = KN_NONE;
                    for (uint32_t k = 0; k < soup->positionCount; ++k)
                    {
                        knVec3 q = soup->positions[k];
                        quad[c] = q.x == p.x && q.y == p.y && q.z == p.z ? k : quad[c];
                    }
                    if (quad[c] == KN_NONE)
                    {
                        knSoup_AddPosition(soup, p, &quad[c]);
                    }
                }
                bool turn = (side == 0) != inward;
                knTriangle a = {{quad[0], quad[turn ? 2 : 1], quad[turn ? 1 : 2]}};
                knTriangle b = {{quad[0], quad[turn ? 3 : 2], quad[turn ? 2 : 3]}};
                knSoup_AddTriangle(soup, a, (knTriangle){{0, 0, 0}}, 0);
                knSoup_AddTriangle(soup, b, (knTriangle){{0, 0, 0}}, 0);
            }
        }
    }
}

static knSoup MakeBoxes(int n, bool hollow)
{
    knSoup soup = knMakeSoup(NULL);
    knSoup_AddAttribute(&soup, (knCornerAttribute){.normal = {0, 0, 1}}, NULL);
    AddBox(&soup, knMakeVec3(-1, -1, -1), knMakeVec3(1, 1, 1), n, false);
    if (hollow)
    {
        AddBox(&soup, knMakeVec3(-0.5f, -0.5f, -0.5f), knMakeVec3(0.5f, 0.5f, 0.5f), n, true);
    }
    return soup;
}

// The sum over tetrahedra, written out again.
static double SumVolume(const knTetSoup* tets)
{
    double sum = 0.0;
    for (size_t t = 0; t < tets->tetCount; ++t)
    {
        const knVec3* n = tets->nodes;
        const uint32_t* v = tets->tets[t].v;
        double m[3][3];
        for (int k = 0; k < 3; ++k)
        {
            m[k][0] = (double)n[v[k + 1]].x - (double)n[v[0]].x;
            m[k][1] = (double)n[v[k + 1]].y - (double)n[v[0]].y;
            m[k][2] = (double)n[v[k + 1]].z - (double)n[v[0]].z;
        }
        double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                     m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                     m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
        assert_true(det > 0.0);
        sum += det / 6.0;
    }
    return sum;
}

static double LongestEdge(const knTetSoup* tets)
{
    double longest = 0.0;
    for (size_t t = 0; t < tets->tetCount; ++t)
    {
        for (int a = 0; a < 4; ++a)
        {
            for (int b = 0; b < a; ++b)
            {
                knVec3 p = tets->nodes[tets->tets[t].v[a]], q = tets->nodes[tets->tets[t].v[b]];
                double x = (double)p.x - (double)q.x, y = (double)p.y - (double)q.y;
                double z = (double)p.z - (double)q.z;
                longest = fmax(longest, sqrt(x * x + y * y + z * z));
            }
        }
    }
    return longest;
}

static void TheSurfaceIsKeptBitForBit(void** state)
{
    (void)state;
    knSoup soup = MakeBoxes(4, false);
    knTetOptions options = knDefaultTetOptions();
    knTetSoup tets;
    knTetStats stats;
    assert_int_equal(knTetrahedralize(&soup, false, &options, &tets, &stats), kn_success);
    assert_true(tets.nodeCount >= soup.positionCount);
    assert_memory_equal(tets.nodes, soup.positions, soup.positionCount * sizeof(knVec3));
    ASSERT_NEAR(SumVolume(&tets), 8.0, 1e-6);
    knCookedMesh mesh;
    assert_int_equal(knMakeCookedMesh(&mesh, &soup, &tets), kn_success);
    assert_int_equal(mesh.surface.triangleCount, soup.triangleCount);
    knDestroyCookedMesh(&mesh);
    knDestroyTetSoup(&tets);
    knDestroySoup(&soup);
}

static void AHollowStaysHollow(void** state)
{
    (void)state;
    knSoup soup = MakeBoxes(3, true);
    knTetOptions options = knDefaultTetOptions();
    knTetSoup tets;
    knTetStats stats;
    assert_int_equal(knTetrahedralize(&soup, true, &options, &tets, &stats), kn_success);
    ASSERT_NEAR(SumVolume(&tets), 7.0, 1e-6);
    knDestroyTetSoup(&tets);
    knDestroySoup(&soup);
}

// The paper's rule: interior edges at most twice the longest edge of the surface.
static void EdgesInsideKeepTheLimit(void** state)
{
    (void)state;
    knSoup soup = MakeBoxes(10, false);
    knTetOptions options = knDefaultTetOptions();
    knTetSoup tets;
    knTetStats stats;
    assert_int_equal(knTetrahedralize(&soup, false, &options, &tets, &stats), kn_success);
    double surface = 0.2 * sqrt(2.0);
    ASSERT_NEAR(stats.longestSurface, surface, 1e-6);
    assert_true(LongestEdge(&tets) <= 2.0 * surface * (1.0 + 1e-5));
    assert_int_equal(stats.overlongEdges, 0);
    knDestroyTetSoup(&tets);
    options.maxEdge = 0.4;
    assert_int_equal(knTetrahedralize(&soup, false, &options, &tets, &stats), kn_success);
    assert_true(LongestEdge(&tets) <= 0.4 * (1.0 + 1e-5));
    size_t count = tets.tetCount;
    knDestroyTetSoup(&tets);
    // below what the surface has: its own edges stay, and what is left is owned up to
    options.maxEdge = 0.15;
    assert_int_equal(knTetrahedralize(&soup, false, &options, &tets, &stats), kn_success);
    assert_true(tets.tetCount > 2 * count);
    assert_true(stats.overlongEdges > 0 && stats.longestInterior > 0.15);
    assert_memory_equal(tets.nodes, soup.positions, soup.positionCount * sizeof(knVec3));
    knDestroyTetSoup(&tets);
    knDestroySoup(&soup);
}

static void ATargetIsMetWithinATenth(void** state)
{
    (void)state;
    knSoup soup = MakeBoxes(6, false);
    knTetOptions options = knDefaultTetOptions();
    options.targetTets = 6000;
    knTetSoup tets;
    knTetStats stats;
    assert_int_equal(knTetrahedralize(&soup, false, &options, &tets, &stats), kn_success);
    assert_in_range(tets.tetCount, 5400, 6600);
    knDestroyTetSoup(&tets);
    knDestroySoup(&soup);
}

static void WhatKillsTetgenIsAnError(void** state)
{
    (void)state;
    knSoup soup = MakeBoxes(1, false);
    AddBox(&soup, knMakeVec3(0, 0, 0), knMakeVec3(2, 2, 2), 1, false);
    knTetOptions options = knDefaultTetOptions();
    options.limits.seconds = 20.0;
    knTetSoup tets;
    MarkUntouched(&tets, sizeof tets);
    knTetStats stats;
    assert_int_not_equal(knTetrahedralize(&soup, false, &options, &tets, &stats), kn_success);
    assert_true(IsUntouched(&tets, sizeof tets));
    assert_non_null(strstr(knLastError(), "tetrahedralization failed"));
    knDestroySoup(&soup);
}

static void TheSameSurfaceGivesTheSameTetrahedra(void** state)
{
    (void)state;
    knSoup soup = MakeBoxes(5, true);
    knTetOptions options = knDefaultTetOptions();
    knTetSoup a, b;
    knTetStats stats;
    assert_int_equal(knTetrahedralize(&soup, true, &options, &a, &stats), kn_success);
    assert_int_equal(knTetrahedralize(&soup, true, &options, &b, &stats), kn_success);
    assert_int_equal(a.nodeCount, b.nodeCount);
    assert_int_equal(a.tetCount, b.tetCount);
    assert_memory_equal(a.nodes, b.nodes, a.nodeCount * sizeof(knVec3));
    assert_memory_equal(a.tets, b.tets, a.tetCount * sizeof(knTet));
    knDestroyTetSoup(&a);
    knDestroyTetSoup(&b);
    knDestroySoup(&soup);
}

int main(void)
{
    knInitPredicates();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheSurfaceIsKeptBitForBit),
        cmocka_unit_test(AHollowStaysHollow),
        cmocka_unit_test(EdgesInsideKeepTheLimit),
        cmocka_unit_test(ATargetIsMetWithinATenth),
        cmocka_unit_test(WhatKillsTetgenIsAnError),
        cmocka_unit_test(TheSameSurfaceGivesTheSameTetrahedra),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
