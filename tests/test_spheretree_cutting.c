// SPDX-License-Identifier: Zlib
#include "sphere_world.h"

#include "knap/cutting.h"

// The forest behind the real cutting: its deltas, its labels, its cut points.

typedef struct Cutter
{
    knCutMesh mesh;
    knFragmentSet set;
    knArena arena;
} Cutter;

static void MakeCutter(Cutter* c, World* w)
{
    assert_int_equal(knCreateCutMesh(&c->mesh, &w->mesh, NULL, NULL), kn_success);
    assert_int_equal(knCreateFragmentSet(&c->set, &c->mesh, &w->cuts, 2500.0, NULL), kn_success);
    assert_int_equal(knFragmentSet_Reserve(&c->set, MAX_FRAGMENTS), kn_success);
    assert_int_equal(knCreateArena(&c->arena, (size_t)64 << 20, NULL), kn_success);
}

static void DestroyCutter(Cutter* c)
{
    knDestroyArena(&c->arena);
    knDestroyFragmentSet(&c->set);
    knDestroyCutMesh(&c->mesh);
}

static knSplitDef RandomDef(World* w, uint32_t fragment, knVec3 sites[4])
{
    knSplitDef def = knDefaultSplitDef();
    uint32_t node = 0;
    for (uint32_t i = 0; i < 4; ++i)
    {
        do
        {
            node = knRandom_Below(&w->random, w->mesh.nodeCount);
        } while (w->cuts.labels[node] != fragment);
        sites[i] = knAddScaled(w->mesh.nodes[node], 0.01f, knRandom_UnitVec3(&w->random));
    }
    def.normal = knRandom_UnitVec3(&w->random);
    def.offset = knDot(def.normal, sites[0]);
    def.kind = knRandom_U32(&w->random) & 1 ? kn_splitPlane : kn_splitSites;
    def.sites = sites;
    def.siteCount = 4;
    def.roughness = 0.01f;
    def.roughnessSize = 0.2f;
    def.seed = knRandom_U64(&w->random);
    return def;
}

// Splits the largest piece; false when the cutter found nothing to do.
static bool CutLargest(World* w, Cutter* c)
{
    knVec3 sites[4];
    uint32_t fragment = LargestFragment(w);
    knSplitDef def = RandomDef(w, fragment, sites);
    knSplitResult result;
    knArena_Reset(&c->arena);
    assert_int_equal(knFragmentSet_Split(&c->set, fragment, &def, &c->arena, &result), kn_success);
    w->delta = result.delta;
    w->fragmentCount = c->set.fragmentCount;
    return result.outcome == kn_splitDone;
}

static void CutBalls(bool rebuild, uint32_t maxRoots)
{
    World w;
    Cutter c;
    MakeWorld(&w, RoughBall(9), maxRoots);
    MakeCutter(&c, &w);
    ReserveAll(&w);
    uint32_t done = 0;
    for (uint32_t i = 0; i < 60; ++i)
    {
        Snapshot before = TakeSnapshot(&w);
        if (CutLargest(&w, &c))
        {
            Update(&w);
            AssertForest(&w, rebuild);
            AssertOthersUnchanged(&w, &before);
            if (!rebuild)
            {
                AssertParents(&w, &before);
            }
            AssertWalk(&w, w.delta.fragments[0]);
            ++done;
        }
        if (rebuild)
        {
            knSphereRebuild* job = NULL;
            knResult result = knBeginSphereRebuild(&job, &w.forest, &w.cuts, LargestFragment(&w),
                                                   i % 2 == 0, NULL);
            assert_int_equal(result, kn_success);
            knSphereRebuild_Run(job);
            assert_true(knSphereRebuild_Commit(job, &w.forest));
            knDestroySphereRebuild(job);
            AssertForest(&w, true);
        }
        DestroySnapshot(&before);
    }
    assert_true(done > 30);
    DestroyCutter(&c);
    DestroyWorld(&w);
}

static void ForestsFollowTheCutting(void** state)
{
    (void)state;
    CutBalls(false, 100000);
}

static void RebuiltForestsFollowTheCutting(void** state)
{
    (void)state;
    CutBalls(true, 8);
}

// Every vertex of a piece that is a node or a cut point is in the piece's trees.
static void PiecesFindTheirVerticesInTheirTrees(void** state)
{
    (void)state;
    World w;
    Cutter c;
    MakeWorld(&w, RoughBall(7), 64);
    MakeCutter(&c, &w);
    ReserveAll(&w);
    for (uint32_t i = 0; i < 12; ++i)
    {
        if (CutLargest(&w, &c))
        {
            Update(&w);
        }
    }
    uint32_t found = 0;
    knPieceOptions options = knDefaultPieceOptions();
    for (uint32_t f = 0; f < c.set.fragmentCount; ++f)
    {
        knPieceSurface surface;
        knArena_Reset(&c.arena);
        if (c.set.fragments[f].state == kn_fragmentEnded)
        {
            assert_int_equal(knSphereForest_Fragment(&w.forest, f).pointCount, 0);
            continue;
        }
        assert_int_equal(knFragmentSet_Surface(&c.set, f, &options, &c.arena, &surface),
                         kn_success);
        for (uint32_t i = 0; i < surface.vertexCount; ++i)
        {
            uint32_t p = surface.pointIds[i];
            if (p < PointCount(&w))
            {
                knVec3 q = knSpherePosition(&w.mesh, &w.cuts, p);
                assert_true(q.x == surface.positions[i].x && q.y == surface.positions[i].y &&
                            q.z == surface.positions[i].z);
                assert_int_equal(knSphereLabel(&w.mesh, &w.cuts, p), f);
                assert_int_not_equal(w.forest.links.parent[p], KN_SPHERE_ABSENT);
                ++found;
            }
        }
    }
    assert_true(found > 500);
    DestroyCutter(&c);
    DestroyWorld(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ForestsFollowTheCutting),
        cmocka_unit_test(RebuiltForestsFollowTheCutting),
        cmocka_unit_test(PiecesFindTheirVerticesInTheirTrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
