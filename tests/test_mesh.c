// SPDX-License-Identifier: Zlib
#include "kit.h"
#include "tet_shapes.h"

#include "knap/random.h"

static bool SameCorners(const uint32_t* a, int skippedA, const uint32_t* b, int skippedB)
{
    int shared = 0;
    for (int i = 0; i < 16; ++i)
    {
        shared += i / 4 != skippedA && i % 4 != skippedB && a[i / 4] == b[i % 4];
    }
    return shared == 3;
}

// Every face against every other: quadratic, and too plain to be wrong.
static void CheckNeighbors(const knTetMesh* m)
{
    uint32_t boundaryCount = 0;
    for (uint32_t face = 0; face < 4 * m->tetCount; ++face)
    {
        uint32_t expected = KN_NONE;
        for (uint32_t other = 0; other < 4 * m->tetCount; ++other)
        {
            if (other / 4 != face / 4 && SameCorners(m->tets[face / 4].v, (int)(face % 4),
                                                     m->tets[other / 4].v, (int)(other % 4)))
            {
                assert_int_equal(expected, KN_NONE);
                expected = other / 4;
            }
        }
        assert_int_equal(m->neighbors[face / 4].t[face % 4], expected);
        if (expected == KN_NONE)
        {
            // in the order of (tetrahedron, face)
            assert_true(boundaryCount < m->boundaryFaceCount);
            assert_int_equal(m->boundaryFaces[boundaryCount], face);
            boundaryCount += 1;
        }
    }
    assert_int_equal(boundaryCount, m->boundaryFaceCount);
}

// From outside, so the corner that is not in the triangle lies behind it.
static void CheckOrientation(const knTetMesh* m)
{
    for (uint32_t i = 0; i < m->boundaryFaceCount; ++i)
    {
        uint32_t face = m->boundaryFaces[i];
        knTriangle triangle = knTetMesh_BoundaryTriangle(m, face);
        knDVec3 a = knToDouble(m->nodes[triangle.v[0]]);
        knDVec3 b = knToDouble(m->nodes[triangle.v[1]]);
        knDVec3 c = knToDouble(m->nodes[triangle.v[2]]);
        knDVec3 behind = knToDouble(m->nodes[m->tets[face / 4].v[face % 4]]);
        knDVec3 normal = knDCross(knDSub(b, a), knDSub(c, a));
        assert_true(knDDot(normal, knDSub(behind, a)) < 0.0);
    }
}

static void CheckEdges(const knTetMesh* m)
{
    // joined[a * n + b]: some tetrahedron has both
    size_t n = m->nodeCount;
    bool* joined = calloc(n * n, sizeof(bool));
    for (uint32_t i = 0; i < 16 * m->tetCount; ++i)
    {
        const uint32_t* v = m->tets[i / 16].v;
        joined[v[i / 4 % 4] * n + v[i % 4]] = true;
    }
    uint32_t edge = 0;
    for (uint32_t a = 0; a < n; ++a)
    {
        for (uint32_t b = a + 1; b < n; ++b)
        {
            uint32_t expected = KN_NONE;
            if (joined[a * n + b])
            {
                assert_true(edge < m->edgeCount);
                assert_true(m->edges[edge].v[0] == a && m->edges[edge].v[1] == b);
                expected = edge++;
            }
            assert_int_equal(knTetMesh_FindEdge(m, a, b), expected);
            assert_int_equal(knTetMesh_FindEdge(m, b, a), expected);
        }
    }
    assert_int_equal(edge, m->edgeCount);
    assert_int_equal(knTetMesh_FindEdge(m, 0, 0), KN_NONE);
    assert_int_equal(knTetMesh_FindEdge(m, 0, KN_NONE), KN_NONE);
    free(joined);
}

static void CheckEdgeLists(const knTetMesh* m)
{
    for (uint32_t i = 0; i < 6 * m->tetCount; ++i)
    {
        const uint32_t* v = m->tets[i / 6].v;
        uint32_t a = v[knTetEdgeCorners[i % 6][0]];
        uint32_t b = v[knTetEdgeCorners[i % 6][1]];
        const uint32_t* ends = m->edges[m->tetEdges[i / 6].e[i % 6]].v;
        assert_true(ends[0] == (a < b ? a : b) && ends[1] == (a < b ? b : a));
    }
    uint32_t next = 0;
    for (uint32_t n = 0; n < m->nodeCount; ++n)
    {
        assert_int_equal(m->nodeEdgeStarts[n], next);
        for (uint32_t e = 0; e < m->edgeCount; ++e)
        {
            if (m->edges[e].v[0] == n || m->edges[e].v[1] == n)
            {
                assert_int_equal(m->nodeEdges[next], e);
                next += 1;
            }
        }
    }
    assert_int_equal(m->nodeEdgeStarts[m->nodeCount], next);
    assert_int_equal(next, 2 * m->edgeCount);
}

static void CheckTopology(const TetShape* shape)
{
    knTetMeshStore store;
    assert_int_equal(
        knBuildTetMesh(&store, shape->nodes, shape->nodeCount, shape->tets, shape->tetCount, NULL),
        kn_success);
    const knTetMesh* m = &store.mesh;
    assert_int_equal(m->nodeCount, shape->nodeCount);
    assert_int_equal(m->surfaceNodeCount, shape->nodeCount);
    assert_int_equal(m->tetCount, shape->tetCount);
    assert_ptr_equal(m->nodes, shape->nodes);
    assert_ptr_equal(m->tets, shape->tets);
    CheckNeighbors(m);
    CheckOrientation(m);
    CheckEdges(m);
    CheckEdgeLists(m);
    knDestroyTetMeshStore(&store);
    assert_null(store.memory);
}

static TetShape MakeCube(int cells)
{
    const int three[3] = {cells, cells, cells};
    return MakeLatticeBox(three, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
}

static void ASingleTetrahedronIsAllBoundary(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    CheckTopology(&shape);
    DestroyShape(&shape);
}

static void LatticesHaveTheTopologyOfBruteForce(void** state)
{
    (void)state;
    const int sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 2}, {3, 2, 4}, {1, 1, 7}};
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
    {
        TetShape shape =
            MakeLatticeBox(sizes[i], knMakeVec3(-1.0f, 0.0f, 2.0f), knMakeVec3(1.0f, 5.0f, 3.0f));
        CheckTopology(&shape);
        ShuffleShape(&shape, i);
        CheckTopology(&shape);
        DestroyShape(&shape);
    }
    TetShape ball = MakeBall(4, 2.0f, knMakeVec3(10.0f, 0.0f, 0.0f));
    CheckTopology(&ball);
    DestroyShape(&ball);
}

// Cavities, several parts, edges and vertices that only touch, nodes that nobody uses.
static void RaggedMeshesHaveTheTopologyOfBruteForce(void** state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; ++seed)
    {
        TetShape shape = MakeCube(3);
        JitterAll(&shape, 0.04f, seed);
        ShuffleShape(&shape, seed);
        DropTets(&shape, 0.08f * (float)seed, seed);
        CheckTopology(&shape);
        DestroyShape(&shape);
    }
}

// The size of the boundary is known beforehand: two triangles per square on six sides.
static void ALargerBoxClosesUp(void** state)
{
    (void)state;
    TetShape shape = MakeCube(20);
    JitterInside(&shape, 0.005f, 1);
    knTetMeshStore store;
    assert_int_equal(
        knBuildTetMesh(&store, shape.nodes, shape.nodeCount, shape.tets, shape.tetCount, NULL),
        kn_success);
    assert_int_equal(store.mesh.boundaryFaceCount, 6 * 20 * 20 * 2);
    // Euler: nodes - edges + faces - tetrahedra of a ball is 1
    int64_t faceCount = (4 * (int64_t)shape.tetCount + store.mesh.boundaryFaceCount) / 2;
    assert_int_equal((int64_t)shape.nodeCount - store.mesh.edgeCount + faceCount - shape.tetCount,
                     1);
    knDestroyTetMeshStore(&store);
    DestroyShape(&shape);
}

static void ExpectMeshError(const TetShape* shape, const char* word)
{
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knTetMeshStore store;
    MarkUntouched(&store, sizeof store);
    assert_int_equal(knBuildTetMesh(&store, shape->nodes, shape->nodeCount, shape->tets,
                                    shape->tetCount, &allocator),
                     kn_errorMesh);
    if (!strstr(knLastError(), word))
    {
        fail_msg("'%s' does not say '%s'", knLastError(), word);
    }
    assert_true(IsUntouched(&store, sizeof store));
    assert_int_equal(tracker.liveCount, 0);
}

static void BadTetrahedraAreNamed(void** state)
{
    (void)state;
    TetShape shape = MakeCube(2);
    knTet good = shape.tets[17];
    shape.tets[17] = (knTet){{good.v[1], good.v[0], good.v[2], good.v[3]}};
    ExpectMeshError(&shape, "tetrahedron 17 ");
    shape.tets[17] = (knTet){{good.v[0], good.v[0], good.v[2], good.v[3]}};
    ExpectMeshError(&shape, "tetrahedron 17 ");
    shape.tets[17] = (knTet){{good.v[0], good.v[1], good.v[2], shape.nodeCount}};
    ExpectMeshError(&shape, "tetrahedron 17:");
    shape.tets[17] = (knTet){{good.v[0], good.v[1], good.v[2], UINT32_MAX}};
    ExpectMeshError(&shape, "tetrahedron 17:");
    shape.tets[17] = good;
    knVec3 node = shape.nodes[26];
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        shape.nodes[26].y = bad[i];
        ExpectMeshError(&shape, "26");
    }
    shape.nodes[26] = node;
    CheckTopology(&shape);
    DestroyShape(&shape);
}

static void AFaceHasAtMostTwoSides(void** state)
{
    (void)state;
    knVec3 nodes[] = {{0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f},  {0.0f, 1.0f, 0.0f},
                      {0.0f, 0.0f, 1.0f}, {0.3f, 0.3f, -1.0f}, {0.3f, 0.3f, 2.0f},
                      {0.5f, 0.5f, -2.0f}};
    knTet tets[] = {{{0, 1, 2, 3}}, {{0, 2, 1, 4}}, {{0, 2, 1, 6}}};
    TetShape shape = {.nodes = nodes, .tets = tets, .nodeCount = 7, .tetCount = 2};
    CheckTopology(&shape);
    shape.tetCount = 3;
    ExpectMeshError(&shape, "share the face 0 1 2");
    // both above the same face
    shape.tetCount = 2;
    tets[1] = (knTet){{0, 1, 2, 5}};
    ExpectMeshError(&shape, "overlap");
    tets[1] = tets[0];
    ExpectMeshError(&shape, "overlap");
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    TetShape s = MakeSingleTet();
    knTetMeshStore store;
    knAllocator half = {0};
    MarkUntouched(&store, sizeof store);
    assert_int_equal(knBuildTetMesh(NULL, s.nodes, 4, s.tets, 1, NULL), kn_errorArgument);
    assert_int_equal(knBuildTetMesh(&store, NULL, 4, s.tets, 1, NULL), kn_errorArgument);
    assert_int_equal(knBuildTetMesh(&store, s.nodes, 0, s.tets, 1, NULL), kn_errorArgument);
    assert_int_equal(knBuildTetMesh(&store, s.nodes, 4, NULL, 1, NULL), kn_errorArgument);
    assert_int_equal(knBuildTetMesh(&store, s.nodes, 4, s.tets, 0, NULL), kn_errorArgument);
    assert_int_equal(knBuildTetMesh(&store, s.nodes, 4, s.tets, 1, &half), kn_errorArgument);
    assert_int_equal(knBuildTetMesh(&store, s.nodes, UINT32_MAX, s.tets, 1, NULL), kn_errorLimit);
    assert_int_equal(knBuildTetMesh(&store, s.nodes, 4, s.tets, KN_MAX_MESH_SIZE + 1, NULL),
                     kn_errorLimit);
    assert_true(IsUntouched(&store, sizeof store));
    knDestroyTetMeshStore(NULL);
    DestroyShape(&s);
}

static knResult AttemptBuild(const knAllocator* allocator, void* context)
{
    const TetShape* shape = context;
    knTetMeshStore store;
    MarkUntouched(&store, sizeof store);
    knResult result = knBuildTetMesh(&store, shape->nodes, shape->nodeCount, shape->tets,
                                     shape->tetCount, allocator);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&store, sizeof store));
        return result;
    }
    knDestroyTetMeshStore(&store);
    return result;
}

static void BuildingSurvivesAllocationFailures(void** state)
{
    (void)state;
    TetShape shape = MakeCube(2);
    SurviveAllocationFailures(AttemptBuild, &shape);
    DestroyShape(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ASingleTetrahedronIsAllBoundary),
        cmocka_unit_test(LatticesHaveTheTopologyOfBruteForce),
        cmocka_unit_test(RaggedMeshesHaveTheTopologyOfBruteForce),
        cmocka_unit_test(ALargerBoxClosesUp),
        cmocka_unit_test(BadTetrahedraAreNamed),
        cmocka_unit_test(AFaceHasAtMostTwoSides),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(BuildingSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
