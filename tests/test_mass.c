// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "tet_shapes.h"

#include "knap/random.h"

#define PI 3.14159265358979323846

// Moments of the space inside a closed surface by the divergence theorem: only triangles, never a
// tetrahedron, so it shares nothing with the code under test.
typedef struct SurfaceMoments
{
    double volume;
    double first[3];
    double second[3][3];
} SurfaceMoments;

static SurfaceMoments IntegrateSurface(const knTetMesh* m)
{
    SurfaceMoments s = {0};
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        knTriangle triangle = knTetMesh_BoundaryTriangle(m, m->boundaryFaces[i]);
        double p[3][3];
        for (int k = 0; k < 3; ++k)
        {
            knVec3 node = m->nodes[triangle.v[k]];
            p[k][0] = (double)node.x;
            p[k][1] = (double)node.y;
            p[k][2] = (double)node.z;
        }
        // the normal's x times the area is the triangle's shadow on the plane x = 0
        double shadow = 0.5 * ((p[1][1] - p[0][1]) * (p[2][2] - p[0][2]) -
                               (p[1][2] - p[0][2]) * (p[2][1] - p[0][1]));
        // seven points: exact for the fifth degree, and x times the integrand has the third
        static const double weights[7] = {0.225,
                                          0.13239415278850618,
                                          0.13239415278850618,
                                          0.13239415278850618,
                                          0.12593918054482715,
                                          0.12593918054482715,
                                          0.12593918054482715};
        static const double near[2] = {0.05971587178976981, 0.7974269853530872};
        static const double far[2] = {0.4701420641051151, 0.1012865073234563};
        for (int q = 0; q < 7; ++q)
        {
            double r[3];
            for (int c = 0; c < 3; ++c)
            {
                int corner = (q + 2) % 3, group = (q - 1) / 3;
                double rest = p[0][c] + p[1][c] + p[2][c] - p[corner][c];
                r[c] = q == 0 ? (p[corner][c] + rest) / 3.0
                              : near[group] * p[corner][c] + far[group] * rest;
            }
            // the field (x, 0, 0) f has the divergence f + x f_x
            double w = weights[q] * shadow * r[0];
            s.volume += w;
            for (int a = 0; a < 3; ++a)
            {
                s.first[a] += w * r[a] / (a == 0 ? 2.0 : 1.0);
                for (int b = 0; b < 3; ++b)
                {
                    s.second[a][b] += w * r[a] * r[b] / (1.0 + (a == 0) + (b == 0));
                }
            }
        }
    }
    return s;
}

static knTetMeshStore Build(const TetShape* shape)
{
    knTetMeshStore store;
    assert_int_equal(
        knBuildTetMesh(&store, shape->nodes, shape->nodeCount, shape->tets, shape->tetCount, NULL),
        kn_success);
    return store;
}

static void CheckAgainstSurface(const TetShape* shape, double density)
{
    knTetMeshStore store = Build(shape);
    knMassProperties p = knTetMesh_MassProperties(&store.mesh, density);
    SurfaceMoments s = IntegrateSurface(&store.mesh);
    double c[3] = {s.first[0] / s.volume, s.first[1] / s.volume, s.first[2] / s.volume};
    double moment[3][3];
    for (int a = 0; a < 3; ++a)
    {
        for (int b = 0; b < 3; ++b)
        {
            moment[a][b] = density * (s.second[a][b] - s.volume * c[a] * c[b]);
        }
    }
    double trace = moment[0][0] + moment[1][1] + moment[2][2];
    ASSERT_NEAR(p.volume, s.volume, 1e-11 * s.volume);
    ASSERT_NEAR(p.mass, density * s.volume, 1e-11 * density * s.volume);
    ASSERT_NEAR(p.center.x, c[0], 1e-10);
    ASSERT_NEAR(p.center.y, c[1], 1e-10);
    ASSERT_NEAR(p.center.z, c[2], 1e-10);
    ASSERT_NEAR(p.inertia.xx, trace - moment[0][0], 1e-10 * trace);
    ASSERT_NEAR(p.inertia.yy, trace - moment[1][1], 1e-10 * trace);
    ASSERT_NEAR(p.inertia.zz, trace - moment[2][2], 1e-10 * trace);
    ASSERT_NEAR(p.inertia.xy, -moment[0][1], 1e-10 * trace);
    ASSERT_NEAR(p.inertia.xz, -moment[0][2], 1e-10 * trace);
    ASSERT_NEAR(p.inertia.yz, -moment[1][2], 1e-10 * trace);
    knDestroyTetMeshStore(&store);
}

static void ABoxHasTheInertiaOfTheTextbook(void** state)
{
    (void)state;
    const int cells[3] = {3, 4, 2};
    knVec3 lower = {1.0f, -2.0f, 0.5f}, upper = {3.0f, 1.0f, 4.5f};
    TetShape shape = MakeLatticeBox(cells, lower, upper);
    JitterInside(&shape, 0.1f, 1);
    knTetMeshStore store = Build(&shape);
    knMassProperties p = knTetMesh_MassProperties(&store.mesh, 10.0);
    double mass = 10.0 * 2.0 * 3.0 * 4.0;
    ASSERT_NEAR(p.volume, 24.0, 1e-5);
    ASSERT_NEAR(p.mass, mass, 1e-4);
    ASSERT_NEAR(p.center.x, 2.0, 1e-6);
    ASSERT_NEAR(p.center.y, -0.5, 1e-6);
    ASSERT_NEAR(p.center.z, 2.5, 1e-6);
    ASSERT_NEAR(p.inertia.xx, mass / 12.0 * (9.0 + 16.0), 1e-3);
    ASSERT_NEAR(p.inertia.yy, mass / 12.0 * (4.0 + 16.0), 1e-3);
    ASSERT_NEAR(p.inertia.zz, mass / 12.0 * (4.0 + 9.0), 1e-3);
    ASSERT_NEAR(p.inertia.xy, 0.0, 1e-3);
    ASSERT_NEAR(p.inertia.xz, 0.0, 1e-3);
    ASSERT_NEAR(p.inertia.yz, 0.0, 1e-3);
    knDestroyTetMeshStore(&store);
    DestroyShape(&shape);
}

static void ATetrahedronHasTheInertiaOfTheTextbook(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    knTetMeshStore store = Build(&shape);
    knMassProperties p = knTetMesh_MassProperties(&store.mesh, 6.0);
    ASSERT_NEAR(p.volume, 1.0 / 6.0, 1e-15);
    ASSERT_NEAR(p.mass, 1.0, 1e-15);
    ASSERT_NEAR(p.center.x, 0.25, 1e-15);
    ASSERT_NEAR(p.center.y, 0.25, 1e-15);
    ASSERT_NEAR(p.center.z, 0.25, 1e-15);
    // integrals of x^2 and x y over the corner tetrahedron are 1/60 and 1/120
    ASSERT_NEAR(p.inertia.xx, 6.0 / 80.0, 1e-15);
    ASSERT_NEAR(p.inertia.yy, 6.0 / 80.0, 1e-15);
    ASSERT_NEAR(p.inertia.zz, 6.0 / 80.0, 1e-15);
    ASSERT_NEAR(p.inertia.xy, 6.0 / 480.0, 1e-15);
    ASSERT_NEAR(p.inertia.xz, 6.0 / 480.0, 1e-15);
    ASSERT_NEAR(p.inertia.yz, 6.0 / 480.0, 1e-15);
    knDestroyTetMeshStore(&store);
    DestroyShape(&shape);
}

static void ABallComesCloseToTheTrueBall(void** state)
{
    (void)state;
    TetShape shape = MakeBall(16, 2.0f, knMakeVec3(5.0f, 6.0f, 7.0f));
    knTetMeshStore store = Build(&shape);
    knMassProperties p = knTetMesh_MassProperties(&store.mesh, 3.0);
    double volume = 4.0 / 3.0 * PI * 8.0;
    double inertia = 0.4 * 3.0 * volume * 4.0;
    // the mesh is inscribed, so all of it is a little less
    assert_true(p.volume < volume && p.volume > 0.98 * volume);
    assert_true(p.inertia.xx < inertia && p.inertia.xx > 0.97 * inertia);
    assert_true(p.inertia.yy < inertia && p.inertia.yy > 0.97 * inertia);
    assert_true(p.inertia.zz < inertia && p.inertia.zz > 0.97 * inertia);
    ASSERT_NEAR(p.center.x, 5.0, 1e-5);
    ASSERT_NEAR(p.center.y, 6.0, 1e-5);
    ASSERT_NEAR(p.center.z, 7.0, 1e-5);
    knDestroyTetMeshStore(&store);
    DestroyShape(&shape);
}

static void LopsidedMeshesAgreeWithTheSurfaceIntegral(void** state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; ++seed)
    {
        const int cells[3] = {3, 2, 3};
        TetShape shape =
            MakeLatticeBox(cells, knMakeVec3(-0.5f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
        JitterAll(&shape, 0.06f, seed);
        DropTets(&shape, 0.04f * (float)seed, seed);
        CheckAgainstSurface(&shape, 2500.0);
        DestroyShape(&shape);
    }
}

// A game may place its meshes far from the origin: the inertia is about the centre and must not
// drown in the distance.
static void ADistantMeshKeepsItsInertia(void** state)
{
    (void)state;
    const int cells[3] = {2, 2, 2};
    // steps of 1/4 are exact in float at this distance
    knVec3 near = {0.0f, 0.0f, 0.0f}, far = {65536.0f, -65536.0f, 32768.0f};
    knVec3 one = {1.0f, 1.0f, 1.0f};
    TetShape a = MakeLatticeBox(cells, near, one);
    TetShape b = MakeLatticeBox(cells, far, knAdd(far, one));
    knTetMeshStore storeA = Build(&a);
    knTetMeshStore storeB = Build(&b);
    knMassProperties p = knTetMesh_MassProperties(&storeA.mesh, 1.0);
    knMassProperties q = knTetMesh_MassProperties(&storeB.mesh, 1.0);
    ASSERT_NEAR(p.inertia.xx, 1.0 / 6.0, 1e-14);
    ASSERT_NEAR(q.inertia.xx, p.inertia.xx, 1e-14);
    ASSERT_NEAR(q.inertia.xy, p.inertia.xy, 1e-14);
    ASSERT_NEAR(q.center.x, 65536.5, 1e-9);
    knDestroyTetMeshStore(&storeA);
    knDestroyTetMeshStore(&storeB);
    DestroyShape(&a);
    DestroyShape(&b);
}

static void ASurfaceHasTheVolumeAndAreaOfItsBox(void** state)
{
    (void)state;
    const int cells[3] = {2, 3, 1};
    TetShape shape =
        MakeLatticeBox(cells, knMakeVec3(100.0f, 0.0f, -1.0f), knMakeVec3(102.0f, 3.0f, 4.0f));
    knTetMeshStore store = Build(&shape);
    const knTetMesh* m = &store.mesh;
    knTriangle* triangles = calloc(m->boundaryFaceCount, sizeof(knTriangle));
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        triangles[i] = knTetMesh_BoundaryTriangle(m, m->boundaryFaces[i]);
    }
    ASSERT_NEAR(knSurfaceVolume(m->nodes, triangles, m->boundaryFaceCount), 30.0, 1e-4);
    ASSERT_NEAR(knSurfaceArea(m->nodes, triangles, m->boundaryFaceCount), 62.0, 1e-4);
    ASSERT_NEAR(knSurfaceVolume(m->nodes, triangles, 0), 0.0, 0.0);
    ASSERT_NEAR(knSurfaceArea(m->nodes, triangles, 0), 0.0, 0.0);
    knBox box = knBoundingBox(m->nodes, m->nodeCount);
    assert_true(box.lower.x == 100.0f && box.lower.y == 0.0f && box.lower.z == -1.0f);
    assert_true(box.upper.x == 102.0f && box.upper.y == 3.0f && box.upper.z == 4.0f);
    box = knBoundingBox(m->nodes, 0);
    assert_true(box.lower.x > box.upper.x);
    free(triangles);
    knDestroyTetMeshStore(&store);
    DestroyShape(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ABoxHasTheInertiaOfTheTextbook),
        cmocka_unit_test(ATetrahedronHasTheInertiaOfTheTextbook),
        cmocka_unit_test(ABallComesCloseToTheTrueBall),
        cmocka_unit_test(LopsidedMeshesAgreeWithTheSurfaceIntegral),
        cmocka_unit_test(ADistantMeshKeepsItsInertia),
        cmocka_unit_test(ASurfaceHasTheVolumeAndAreaOfItsBox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
