// SPDX-License-Identifier: Zlib
// What the pieces of a break promise, on meshes whose shape is known beforehand.
#include "fracture_scene.h"

// Of one break of a box; changes when the cutting means to change.
#define GOLDEN_HASH 0x5C1CE97BE4A38035u

static void AnUncutObjectIsItsOwnSurface(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 1);
    knPieceSurface surface = SurfaceOf(&scene, 0);
    assert_int_equal(surface.triangleCount, scene.parts.surface.triangleCount);
    assert_int_equal(surface.crackTriangleCount, 0);
    assert_int_equal(surface.vertexCount, scene.shape.surfaceNodeCount);
    assert_null(FindFlaw(ViewOf(&surface)));
    AssertPartition(&scene);
    FreeScene(&scene);
}

// What a piece looked like, by value.
typedef struct Portrait
{
    uint32_t fragment, vertexCount, triangleCount;
    knVec3* positions;
    uint32_t* ids;
    knTriangle* triangles;
} Portrait;

static Portrait Paint(Scene* scene, uint32_t fragment)
{
    knArena_Reset(&scene->arena);
    knPieceSurface s = SurfaceOf(scene, fragment);
    Portrait p = {fragment, s.vertexCount, s.triangleCount, NULL, NULL, NULL};
    p.positions = malloc(s.vertexCount * sizeof(knVec3));
    p.ids = malloc(s.vertexCount * sizeof(uint32_t));
    p.triangles = malloc(s.triangleCount * sizeof(knTriangle));
    assert_true(p.positions && p.ids && p.triangles);
    memcpy(p.positions, s.positions, s.vertexCount * sizeof(knVec3));
    memcpy(p.ids, s.pointIds, s.vertexCount * sizeof(uint32_t));
    memcpy(p.triangles, s.triangles, s.triangleCount * sizeof(knTriangle));
    return p;
}

static void AssertSamePortrait(Scene* scene, const Portrait* p)
{
    knArena_Reset(&scene->arena);
    knPieceSurface s = SurfaceOf(scene, p->fragment);
    assert_int_equal(s.vertexCount, p->vertexCount);
    assert_int_equal(s.triangleCount, p->triangleCount);
    assert_memory_equal(s.positions, p->positions, s.vertexCount * sizeof(knVec3));
    assert_memory_equal(s.pointIds, p->ids, s.vertexCount * sizeof(uint32_t));
    assert_memory_equal(s.triangles, p->triangles, s.triangleCount * sizeof(knTriangle));
}

static void OtherPiecesKeepEveryBit(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 6);
    SplitHeaviest(&scene, 4);
    Portrait portraits[16];
    uint32_t count = 0;
    uint32_t broken = Heaviest(&scene);
    for (uint32_t f = 0; f < scene.set.fragmentCount && count < COUNT_OF(portraits); ++f)
    {
        if (IsLive(&scene, f) && f != broken)
        {
            portraits[count++] = Paint(&scene, f);
        }
    }
    assert_true(count >= 4);
    // break one piece to dust beside them
    for (int i = 0; i < 8; ++i)
    {
        knSplitDef def = RandomPlane(&scene, broken);
        knArena_Reset(&scene.arena);
        knSplitResult result = Split(&scene, broken, &def);
        broken = result.outcome == kn_splitDone ? result.delta.fragments[0] : broken;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        AssertSamePortrait(&scene, &portraits[i]);
        free(portraits[i].positions);
        free(portraits[i].ids);
        free(portraits[i].triangles);
    }
    FreeScene(&scene);
}

// A point keeps its id and its place through all later breaks, and two points never share an id.
static void PointIdsLast(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 7);
    const knTetMesh* mesh = &scene.parts.mesh;
    size_t limit = mesh->nodeCount + 2 * (size_t)mesh->edgeCount + 16 * (size_t)mesh->tetCount;
    knVec3* places = malloc(limit * sizeof *places);
    uint32_t* owners = malloc(limit * sizeof *owners);
    bool* known = calloc(limit, sizeof *known);
    assert_true(places && owners && known);
    for (int step = 0; step < 12; ++step)
    {
        SplitHeaviest(&scene, 1);
        memset(owners, 0xFF, limit * sizeof *owners);
        for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
        {
            if (!IsLive(&scene, f))
            {
                continue;
            }
            knArena_Reset(&scene.arena);
            knPieceSurface s = SurfaceOf(&scene, f);
            for (uint32_t i = 0; i < s.vertexCount; ++i)
            {
                uint32_t id = s.pointIds[i];
                assert_true(id < limit);
                assert_int_equal(owners[id], KN_NONE);
                owners[id] = f;
                if (known[id])
                {
                    assert_memory_equal(&places[id], &s.positions[i], sizeof(knVec3));
                }
                known[id] = true;
                places[id] = s.positions[i];
            }
        }
    }
    free(places);
    free(owners);
    free(known);
    FreeScene(&scene);
}

// How near a point is to a plane of its tetrahedron, as a share of the function's largest value.
static float NearestPlane(const knTetCut* cut, const float* weights)
{
    float nearest = 1.0f;
    for (int k = 0; k < cut->planeCount; ++k)
    {
        float side = 0.0f;
        float most = 0.0f;
        for (int i = 0; i < 4; ++i)
        {
            side += cut->phi[k][i] * weights[i];
            most = fmaxf(most, fabsf(cut->phi[k][i]));
        }
        nearest = fminf(nearest, fabsf(side) / most);
    }
    return nearest;
}

// Random points: the piece that winds around one must be the piece that the planes and labels name.
static void PointsLieInThePieceThatTheLabelsName(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 8);
    SplitHeaviest(&scene, 12);
    const knTetMesh* mesh = &scene.parts.mesh;
    knPieceSurface surfaces[64];
    uint32_t fragments[64];
    uint32_t count = 0;
    for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
    {
        if (IsLive(&scene, f))
        {
            fragments[count] = f;
            surfaces[count++] = SurfaceOf(&scene, f);
        }
    }
    int tested = 0;
    for (int round = 0; round < 400; ++round)
    {
        uint32_t tet = knRandom_Below(&scene.random, mesh->tetCount);
        uint32_t record = scene.store.tetCuts[tet];
        if (record == KN_NONE && round % 4 != 0)
        {
            continue; // the cut ones are what matters
        }
        float weights[4];
        float sum = 0.0f;
        for (int i = 0; i < 4; ++i)
        {
            weights[i] = knRandom_Range(&scene.random, 0.02f, 1.0f);
            sum += weights[i];
        }
        knVec3 p = {0.0f, 0.0f, 0.0f};
        for (int i = 0; i < 4; ++i)
        {
            weights[i] /= sum;
            p = knAddScaled(p, weights[i], mesh->nodes[mesh->tets[tet].v[i]]);
        }
        const knTetCut* cut = record == KN_NONE ? NULL : &scene.store.cuts[record];
        uint8_t mask = cut ? knTetCut_Region(cut, weights) : 0xF;
        if (cut && NearestPlane(cut, weights) < 1e-3f)
        {
            continue;
        }
        int corner = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
        uint32_t label = scene.store.labels[mesh->tets[tet].v[corner]];
        for (uint32_t i = 0; i < count; ++i)
        {
            double winding = WindingNumber(ViewOf(&surfaces[i]), p);
            ASSERT_NEAR(winding, fragments[i] == label ? 1.0 : 0.0, 1e-3);
        }
        tested += 1;
    }
    assert_true(tested > 100);
    FreeScene(&scene);
}

static void EveryPieceOfAPatternBelongsToOneCell(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 9);
    const knVec3 sites[5] = {{0.9f, -0.2f, 0.1f},
                             {-0.4f, 0.0f, 0.4f},
                             {0.3f, 0.6f, -0.3f},
                             {0.2f, -0.9f, 0.0f},
                             {0.3f, -0.2f, 0.9f}};
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = COUNT_OF(sites);
    knSplitResult result = Split(&scene, 0, &def);
    assert_true(result.delta.fragmentCount >= COUNT_OF(sites));
    for (uint32_t f = 1; f < scene.set.fragmentCount; ++f)
    {
        const uint32_t* nodes = knFragmentSet_Nodes(&scene.set, f);
        uint32_t cell = KN_NONE;
        for (uint32_t i = 0; i < scene.set.fragments[f].nodeCount; ++i)
        {
            uint32_t nearest = 0;
            for (uint32_t s = 1; s < COUNT_OF(sites); ++s)
            {
                knVec3 p = scene.shape.nodes[nodes[i]];
                nearest = knDistance(p, sites[s]) < knDistance(p, sites[nearest]) ? s : nearest;
            }
            assert_true(cell == KN_NONE || cell == nearest);
            cell = nearest;
        }
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

static void RadialPiecesStayInTheirSectorAndRing(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 10);
    const float radii[2] = {0.22f, 0.37f};
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitRadial;
    def.center = knMakeVec3(0.47f, 0.41f, 0.0f);
    def.axis = knMakeVec3(0.0f, 0.0f, 2.0f);
    def.sectorCount = 4;
    def.radii = radii;
    def.ringCount = 2;
    knSplitResult result = Split(&scene, 0, &def);
    assert_true(result.delta.fragmentCount >= 8);
    for (uint32_t f = 1; f < scene.set.fragmentCount; ++f)
    {
        const uint32_t* nodes = knFragmentSet_Nodes(&scene.set, f);
        int ring = -1;
        float low = 10.0f;
        float high = -10.0f;
        float first = 0.0f;
        for (uint32_t i = 0; i < scene.set.fragments[f].nodeCount; ++i)
        {
            knVec3 q = knSub(scene.shape.nodes[nodes[i]], def.center);
            float r = sqrtf(q.x * q.x + q.y * q.y);
            int here = r < radii[0] ? 0 : r < radii[1] ? 1 : 2;
            assert_true(ring < 0 || ring == here);
            ring = here;
            float angle = atan2f(q.y, q.x);
            first = i == 0 ? angle : first;
            float turn = angle - first; // from the first node, in (-pi, pi]
            turn += turn > 3.1415927f ? -6.2831853f : turn < -3.1415927f ? 6.2831853f : 0.0f;
            low = fminf(low, turn);
            high = fmaxf(high, turn);
        }
        assert_true(high - low < 1.5707964f + 1e-3f);
    }
    AssertSound(&scene);
    FreeScene(&scene);
}

static void LabelsAreFollowedToTheLetter(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 11);
    uint32_t count = scene.parts.mesh.nodeCount;
    uint32_t* labels = malloc(count * sizeof *labels);
    assert_non_null(labels);
    for (uint32_t i = 0; i < count; ++i)
    {
        labels[i] = knRandom_Below(&scene.random, 6);
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitLabels;
    def.labels = labels;
    def.groupCount = 6;
    def.roughness = 1.0f;
    Split(&scene, 0, &def);
    const knTetMesh* mesh = &scene.parts.mesh;
    for (uint32_t e = 0; e < mesh->edgeCount; ++e)
    {
        const uint32_t* v = mesh->edges[e].v;
        assert_int_equal(labels[v[0]] != labels[v[1]],
                         scene.store.labels[v[0]] != scene.store.labels[v[1]]);
    }
    AssertPartition(&scene);
    AssertSound(&scene);
    free(labels);
    FreeScene(&scene);
}

static void RoughnessIsSeededAndTheRestIsExact(void** state)
{
    (void)state;
    knVec3 sample[3];
    for (int run = 0; run < 3; ++run)
    {
        Scene scene;
        MakeBallScene(&scene, 15);
        knSplitDef def = knDefaultSplitDef();
        def.offset = 0.3f;
        def.roughness = 0.2f;
        def.roughnessSize = 0.4f;
        def.seed = run == 2 ? 99 : 7;
        knSplitResult result = Split(&scene, 0, &def);
        assert_int_equal(result.outcome, kn_splitDone);
        knVec3 sum = {0.0f, 0.0f, 0.0f};
        for (uint32_t i = 0; i < scene.store.pointCount; ++i)
        {
            sum = knAdd(sum, scene.store.points[i].position);
        }
        sample[run] = sum;
        AssertSound(&scene);
        FreeScene(&scene);
    }
    assert_memory_equal(&sample[0], &sample[1], sizeof(knVec3));
    assert_memory_not_equal(&sample[0], &sample[2], sizeof(knVec3));
}

static void NoCutComesNearerToANodeThanAllowed(void** state)
{
    (void)state;
    static const float shares[] = {0.02f, 0.1f, 0.25f, 0.45f};
    for (size_t k = 0; k < COUNT_OF(shares); ++k)
    {
        Scene scene;
        MakeBoxScene(&scene, 16);
        for (int i = 0; i < 6; ++i)
        {
            uint32_t fragment = Heaviest(&scene);
            knSplitDef def = RandomPlane(&scene, fragment);
            def.minCutShare = shares[k];
            if (i == 0)
            {
                // through a layer of nodes, where every value is zero
                def.normal = knMakeVec3(1.0f, 0.0f, 0.0f);
                def.offset = 0.4f;
            }
            knArena_Reset(&scene.arena);
            Split(&scene, fragment, &def);
        }
        assert_true(scene.store.pointCount > 50);
        for (uint32_t i = 0; i < scene.store.pointCount; ++i)
        {
            float t = scene.store.points[i].t;
            assert_true(t > shares[k] - 1e-5f && t < 1.0f - shares[k] + 1e-5f);
        }
        AssertSound(&scene);
        FreeScene(&scene);
    }
}

// A linear function of position on the corners stays that function on every clipped triangle.
static void OriginalCornersAreInterpolated(void** state)
{
    (void)state;
    Scene scene = {.shape = MakeBall(5, 1.0f, knMakeVec3(0.0f, 0.0f, 0.0f))};
    StartScene(&scene, 17);
    const knTetMesh* mesh = &scene.parts.mesh;
    uint32_t count = scene.parts.surface.positionCount;
    knCornerAttribute* attributes = calloc(count, sizeof *attributes);
    assert_non_null(attributes);
    for (uint32_t i = 0; i < count; ++i)
    {
        knVec3 p = mesh->nodes[i];
        attributes[i] = (knCornerAttribute){knNormalize(p), p.x + 2.0f * p.y, p.z - p.x};
    }
    scene.parts.surface.attributes = attributes;
    scene.parts.surface.attributeCount = count;
    memcpy(scene.parts.corners, scene.parts.triangles,
           scene.parts.surface.triangleCount * sizeof(knTriangle));
    SplitHeaviest(&scene, 8);
    for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
    {
        if (!IsLive(&scene, f))
        {
            continue;
        }
        knArena_Reset(&scene.arena);
        knPieceSurface s = SurfaceOf(&scene, f);
        for (uint32_t i = 0; i < 3 * s.triangleCount; ++i)
        {
            const knCornerAttribute* c = &s.corners[i];
            knVec3 p = s.positions[s.triangles[i / 3].v[i % 3]];
            ASSERT_NEAR(knLength(c->normal), 1.0, 1e-5);
            if (!s.sources[i / 3].isCrack)
            {
                ASSERT_NEAR(c->u, p.x + 2.0f * p.y, 1e-5);
                ASSERT_NEAR(c->v, p.z - p.x, 1e-5);
                assert_true(knDot(c->normal, knNormalize(p)) > 0.95f);
                assert_true(s.sources[i / 3].triangle < scene.parts.surface.triangleCount);
            }
        }
    }
    free(attributes);
    FreeScene(&scene);
}

static void SmoothCrackNormalsAgreeAtAVertex(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 18);
    SplitHeaviest(&scene, 2);
    uint32_t f = Heaviest(&scene);
    const knPieceOptions options = {.smoothCracks = true, .textureScale = 2.0f};
    knPieceSurface s;
    assert_int_equal(knFragmentSet_Surface(&scene.set, f, &options, &scene.arena, &s), kn_success);
    knVec3* normals = calloc(s.vertexCount, sizeof *normals);
    assert_non_null(normals);
    for (uint32_t i = 0; i < 3 * s.triangleCount; ++i)
    {
        if (s.sources[i / 3].isCrack)
        {
            knVec3* n = &normals[s.triangles[i / 3].v[i % 3]];
            if (knLengthSquared(*n) > 0.0f)
            {
                assert_memory_equal(n, &s.corners[i].normal, sizeof *n);
            }
            *n = s.corners[i].normal;
        }
    }
    assert_true(s.crackTriangleCount > 0);
    free(normals);
    FreeScene(&scene);
}

// FNV-1a.
static uint64_t Hash(uint64_t hash, const void* data, size_t size)
{
    const unsigned char* bytes = data;
    for (size_t i = 0; i < size; ++i)
    {
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    }
    return hash;
}

// Debug and release, with and without sanitizers: one break, one result.
static void TheSameBitsEverywhere(void** state)
{
    (void)state;
    Scene scene;
    MakeBoxScene(&scene, 25);
    const float radii[1] = {0.3f};
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitRadial;
    def.center = knMakeVec3(0.5f, 0.4f, 0.3f);
    def.axis = knMakeVec3(0.2f, 0.1f, 1.0f);
    def.sectorCount = 5;
    def.radii = radii;
    def.ringCount = 1;
    def.jitter = 0.4f;
    def.roughness = 0.05f;
    Split(&scene, 0, &def);
    SplitHeaviest(&scene, 6);
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t f = 0; f < scene.set.fragmentCount; ++f)
    {
        if (IsLive(&scene, f))
        {
            knArena_Reset(&scene.arena);
            knPieceSurface s = SurfaceOf(&scene, f);
            hash = Hash(hash, s.positions, s.vertexCount * sizeof(knVec3));
            hash = Hash(hash, s.pointIds, s.vertexCount * sizeof(uint32_t));
            hash = Hash(hash, s.triangles, s.triangleCount * sizeof(knTriangle));
            hash = Hash(hash, s.corners, 3 * s.triangleCount * sizeof(knCornerAttribute));
            hash = Hash(hash, &scene.set.fragments[f].mass, sizeof(knMassProperties));
        }
    }
    if (hash != GOLDEN_HASH)
    {
        print_error("the hash is 0x%016llX\n", (unsigned long long)hash);
        fail();
    }
    FreeScene(&scene);
}

// Asked for alone, the crack faces of a part are bit for bit those of its polytope.
static void CrackFacesAloneAreThoseOfThePart(void** state)
{
    (void)state;
    Scene scene;
    MakeBallScene(&scene, 17);
    SplitHeaviest(&scene, 12);
    const knTetMesh* mesh = &scene.parts.mesh;
    uint32_t counts[KN_MAX_TET_PLANES + 1] = {0};
    for (uint32_t i = 0; i < 4 * mesh->tetCount; ++i)
    {
        uint32_t label = scene.store.labels[mesh->tets[i / 4].v[i % 4]];
        uint8_t mask = knCutStore_Mask(&scene.store, mesh, i / 4, label);
        knTetRegion region;
        knCutStore_Region(&scene.store, mesh, i / 4, mask, &region);
        knCrackFaces cracks;
        knCutStore_CrackFaces(&scene.store, mesh, i / 4, mask, &cracks);
        uint32_t count = 0;
        for (int f = 0; f < region.faceCount; ++f)
        {
            const knRegionFace* face = &region.faces[f];
            if (face->source < 4)
            {
                continue;
            }
            assert_true(count < cracks.count);
            const knCrackFace* crack = &cracks.faces[count++];
            assert_int_equal(crack->plane, face->source - 4);
            assert_int_equal(crack->count, face->count);
            for (int k = 0; k < face->count; ++k)
            {
                const knVec3* position = &region.vertices[face->loop[k]].position;
                assert_memory_equal(&crack->points[k], position, sizeof(knVec3));
            }
        }
        assert_int_equal(count, cracks.count);
        counts[count] += 1;
    }
    assert_true(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
    knCrackFaces cracks;
    knCutStore_CrackFaces(&scene.store, mesh, 0, 0, &cracks);
    assert_int_equal(cracks.count, 0);
    FreeScene(&scene);
}

static void NothingInTheLibraryFoundItselfWrong(void** state)
{
    (void)state;
    assert_int_equal(knAssertFailureCount(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AnUncutObjectIsItsOwnSurface),
        cmocka_unit_test(OtherPiecesKeepEveryBit),
        cmocka_unit_test(PointIdsLast),
        cmocka_unit_test(PointsLieInThePieceThatTheLabelsName),
        cmocka_unit_test(EveryPieceOfAPatternBelongsToOneCell),
        cmocka_unit_test(RadialPiecesStayInTheirSectorAndRing),
        cmocka_unit_test(LabelsAreFollowedToTheLetter),
        cmocka_unit_test(RoughnessIsSeededAndTheRestIsExact),
        cmocka_unit_test(NoCutComesNearerToANodeThanAllowed),
        cmocka_unit_test(OriginalCornersAreInterpolated),
        cmocka_unit_test(SmoothCrackNormalsAgreeAtAVertex),
        cmocka_unit_test(TheSameBitsEverywhere),
        cmocka_unit_test(CrackFacesAloneAreThoseOfThePart),
        cmocka_unit_test(NothingInTheLibraryFoundItselfWrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
