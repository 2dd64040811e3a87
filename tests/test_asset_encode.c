// SPDX-License-Identifier: Zlib
#include "cooked.h"
#include "kit.h"

// A definition of a small cube that a test may bend.
typedef struct Fixture
{
    TetShape shape;
    CookParts parts;
    knAssetDef* def;
} Fixture;

static Fixture* MakeFixture(void)
{
    const int cells[3] = {2, 2, 2};
    Fixture* f = malloc(sizeof(Fixture));
    f->shape = MakeLatticeBox(cells, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
    f->parts = MakeCookParts(&f->shape);
    f->def = &f->parts.def;
    f->def->surface = &f->parts.surface;
    f->def->tetMesh = &f->parts.mesh;
    return f;
}

static void DestroyFixture(Fixture* f)
{
    DestroyCookParts(&f->parts);
    DestroyShape(&f->shape);
    free(f);
}

static knResult Encode(const knAssetDef* def)
{
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    void* bytes;
    size_t size;
    MarkUntouched(&bytes, sizeof bytes);
    MarkUntouched(&size, sizeof size);
    knResult result = knEncodeAsset(def, &allocator, &bytes, &size);
    if (result == kn_success)
    {
        assert_int_equal(tracker.bytes, size);
        knRelease(&allocator, bytes, size, 1);
    }
    else
    {
        assert_true(IsUntouched(&bytes, sizeof bytes) && IsUntouched(&size, sizeof size));
        assert_true(knLastError()[0] != 0);
    }
    assert_int_equal(tracker.liveCount, 0);
    return result;
}

// Caches and content hashes rely on it: no time, no address, no leftover of the heap in the file.
static void TheSameDefinitionGivesTheSameBytes(void** state)
{
    (void)state;
    void* bytes[2];
    size_t sizes[2];
    for (int i = 0; i < 2; ++i)
    {
        Fixture* f = MakeFixture();
        // another heap, full of other leftovers
        void* dirt = malloc(100000);
        memset(dirt, 0x55 + i, 100000);
        free(dirt);
        assert_int_equal(knEncodeAsset(f->def, NULL, &bytes[i], &sizes[i]), kn_success);
        DestroyFixture(f);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    knRelease(NULL, bytes[0], sizes[0], 1);
    knRelease(NULL, bytes[1], sizes[1], 1);
}

// Cooked on one machine, read on another: the first bytes by hand, not through the structs.
static void TheHeaderIsLittleEndianAndAsDocumented(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    void* memory = NULL;
    size_t size = 0;
    assert_int_equal(knEncodeAsset(f->def, NULL, &memory, &size), kn_success);
    const unsigned char* bytes = memory;
    assert_memory_equal(bytes, "KNAPMESH", 8);
    assert_int_equal(bytes[16] | bytes[17] << 8 | bytes[18] << 16 | bytes[19] << 24, 1);
    assert_int_equal(bytes[20], 12);
    assert_int_equal(bytes[24] | bytes[25] << 8 | bytes[26] << 16 | bytes[27] << 24, size);
    assert_memory_equal(bytes + 64, "INFO", 4);
    assert_int_equal(bytes[72] | bytes[73] << 8, 64 + 12 * 32);
    assert_int_equal(size % 64, 0);
    knRelease(NULL, memory, size, 1);
    DestroyFixture(f);
}

// Newer tools add sections; an older library hands them through untouched.
static void SectionsOfOthersSurvive(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    knAssetSection sections[KN_MAX_SECTIONS - KN_MESH_SECTIONS];
    unsigned char payload[200];
    for (size_t i = 0; i < sizeof payload; ++i)
    {
        payload[i] = (unsigned char)(i * 7 + 1);
    }
    int count = (int)COUNT_OF(sections);
    for (int i = 0; i < count; ++i)
    {
        // sizes 0, 3, 6, ...: none needs to be round, and nothing is a size too
        sections[i] = (knAssetSection){KN_TAG('X', 'X', 'A', i), (uint32_t)(7 * i), payload + i,
                                       (uint64_t)(3 * i % 150)};
    }
    sections[0].data = NULL;
    f->def->sections = sections;
    f->def->sectionCount = count;
    void* bytes = NULL;
    size_t size = 0;
    knAsset* asset = NULL;
    assert_int_equal(knEncodeAsset(f->def, NULL, &bytes, &size), kn_success);
    assert_int_equal(knCreateAssetInPlace(&asset, bytes, size, NULL), kn_success);
    assert_int_equal(knAsset_SectionCount(asset), KN_MAX_SECTIONS);
    for (int i = 0; i < count; ++i)
    {
        knAssetSection s = knAsset_FindSection(asset, sections[i].tag);
        assert_int_equal(s.version, sections[i].version);
        assert_int_equal(s.size, sections[i].size);
        assert_int_equal((uintptr_t)s.data % KN_SECTION_ALIGNMENT, 0);
        assert_int_equal(s.size == 0 ? 0 : memcmp(s.data, sections[i].data, s.size), 0);
    }
    assert_null(WalkEverything(asset));
    knDestroyAsset(asset);
    knRelease(NULL, bytes, size, 1);
    DestroyFixture(f);
}

static void BadSectionsAreRefused(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    const char text[] = "payload";
    knAssetSection sections[KN_MAX_SECTIONS] = {{KN_TAG('A', 'A', 'A', 'A'), 1, text, sizeof text},
                                                {KN_TAG('B', 'B', 'B', 'B'), 1, text, sizeof text}};
    f->def->sections = sections;
    f->def->sectionCount = 2;
    assert_int_equal(Encode(f->def), kn_success);
    sections[1].tag = sections[0].tag;
    assert_int_equal(Encode(f->def), kn_errorFormat);
    sections[1].tag = KN_TAG_NODES;
    assert_int_equal(Encode(f->def), kn_errorFormat);
    sections[1].tag = KN_TAG('B', 'B', 'B', 'B');
    sections[1].data = NULL;
    assert_int_equal(Encode(f->def), kn_errorArgument);
    sections[1].data = text;
    const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - 10000, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
    {
        sections[1].size = sizes[i];
        assert_int_not_equal(Encode(f->def), kn_success);
    }
    sections[1].size = sizeof text;
    f->def->sectionCount = -1;
    assert_int_equal(Encode(f->def), kn_errorArgument);
    f->def->sectionCount = KN_MAX_SECTIONS - KN_MESH_SECTIONS + 1;
    assert_int_equal(Encode(f->def), kn_errorArgument);
    f->def->sectionCount = 1;
    f->def->sections = NULL;
    assert_int_equal(Encode(f->def), kn_errorArgument);
    DestroyFixture(f);
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    void* bytes = NULL;
    size_t size = 0;
    knAllocator half = {0};
    assert_int_equal(knEncodeAsset(NULL, NULL, &bytes, &size), kn_errorArgument);
    assert_int_equal(knEncodeAsset(f->def, NULL, NULL, &size), kn_errorArgument);
    assert_int_equal(knEncodeAsset(f->def, NULL, &bytes, NULL), kn_errorArgument);
    assert_int_equal(knEncodeAsset(f->def, &half, &bytes, &size), kn_errorArgument);
    knAssetDef def = *f->def;
    def.surface = NULL;
    assert_int_equal(Encode(&def), kn_errorArgument);
    def = *f->def;
    def.tetMesh = NULL;
    assert_int_equal(Encode(&def), kn_errorArgument);
    assert_null(bytes);
    DestroyFixture(f);
}

static void BadFiguresAreRefused(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    const double densities[] = {0.0, -1.0, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < COUNT_OF(densities); ++i)
    {
        f->def->density = densities[i];
        assert_int_not_equal(Encode(f->def), kn_success);
    }
    f->def->density = 1.0;
    f->def->componentCount = 0;
    assert_int_not_equal(Encode(f->def), kn_success);
    f->def->componentCount = 1;
    assert_int_equal(Encode(f->def), kn_success);
    DestroyFixture(f);
}

// The caller's arrays are not yet checked when the encoder sums mass and area over them.
static void MeshesWithIndicesOutOfRangeAreRefused(void** state)
{
    (void)state;
    const uint32_t bad[] = {27, 1000000, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); ++i)
    {
        Fixture* f = MakeFixture();
        f->shape.tets[5].v[2] = bad[i];
        assert_int_not_equal(Encode(f->def), kn_success);
        DestroyFixture(f);
        f = MakeFixture();
        f->parts.triangles[5].v[2] = bad[i];
        assert_int_not_equal(Encode(f->def), kn_success);
        DestroyFixture(f);
        f = MakeFixture();
        f->parts.corners[5].v[2] = bad[i] == 27 ? f->parts.surface.attributeCount : bad[i];
        assert_int_not_equal(Encode(f->def), kn_success);
        DestroyFixture(f);
    }
}

static knResult EncodeTets(const knVec3* nodes, uint32_t nodeCount, const knTet* tets,
                           uint32_t tetCount, uint32_t surfaceTriangles)
{
    TetShape shape = {.nodes = (knVec3*)nodes,
                      .tets = (knTet*)tets,
                      .nodeCount = nodeCount,
                      .surfaceNodeCount = nodeCount,
                      .tetCount = tetCount};
    CookParts parts = MakeCookParts(&shape);
    parts.def.surface = &parts.surface;
    parts.def.tetMesh = &parts.mesh;
    if (surfaceTriangles > 0)
    {
        // the first tetrahedron's own faces and nodes; the rest is declared to be inside
        parts.mesh.boundaryFaceCount = surfaceTriangles;
        parts.surface.triangleCount = surfaceTriangles;
        parts.mesh.surfaceNodeCount = 4;
        parts.surface.positionCount = 4;
    }
    knResult result = Encode(&parts.def);
    DestroyCookParts(&parts);
    return result;
}

// The builder takes them, a game's surface cannot: four triangles at one edge.
static void PartsThatTouchInAnEdgeAreRefused(void** state)
{
    (void)state;
    const knVec3 nodes[] = {{0.0f, 0.0f, 0.0f},  {1.0f, 0.0f, 0.0f},  {0.0f, 1.0f, 0.0f},
                            {0.0f, 0.0f, 1.0f},  {0.0f, -1.0f, 0.0f}, {0.0f, 0.0f, -1.0f},
                            {0.0f, -1.0f, -1.0f}};
    const knTet touching[] = {{{0, 1, 2, 3}}, {{0, 1, 4, 5}}};
    assert_int_equal(EncodeTets(nodes, 6, touching, 2, 0), kn_errorFormat);
    // alone, the first of them is sound
    assert_int_equal(EncodeTets(nodes, 4, touching, 1, 0), kn_success);
}

static void APartWithoutItsSurfaceIsRefused(void** state)
{
    (void)state;
    const knVec3 nodes[] = {{0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f},
                            {0.0f, 0.0f, 1.0f}, {5.0f, 0.0f, 0.0f}, {6.0f, 0.0f, 0.0f},
                            {5.0f, 1.0f, 0.0f}, {5.0f, 0.0f, 1.0f}};
    const knTet apart[] = {{{0, 1, 2, 3}}, {{4, 5, 6, 7}}};
    assert_int_equal(EncodeTets(nodes, 8, apart, 2, 0), kn_success);
    assert_int_equal(EncodeTets(nodes, 8, apart, 2, 4), kn_errorFormat);
}

// A list of edges may hold no edge that no tetrahedron has: cracks would cut thin air.
static void AnEdgeOfNoTetrahedronIsRefused(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    knTetMesh* m = &f->parts.mesh;
    uint32_t place = 0;
    while (m->edges[place].v[1] + 1 == m->edges[place + 1].v[1] ||
           m->edges[place].v[0] != m->edges[place + 1].v[0])
    {
        ++place;
    }
    ++place;
    knEdge* edges = calloc(m->edgeCount + 1, sizeof(knEdge));
    knTetEdges* tetEdges = calloc(m->tetCount, sizeof(knTetEdges));
    uint32_t* nodeEdges = calloc(2 * (size_t)m->edgeCount + 2, sizeof(uint32_t));
    for (uint32_t e = 0; e < m->edgeCount; ++e)
    {
        edges[e + (e >= place)] = m->edges[e];
    }
    edges[place] = (knEdge){{edges[place - 1].v[0], edges[place - 1].v[1] + 1}};
    for (uint32_t i = 0; i < 6 * m->tetCount; ++i)
    {
        uint32_t e = m->tetEdges[i / 6].e[i % 6];
        tetEdges[i / 6].e[i % 6] = e + (e >= place);
    }
    m->edges = edges;
    m->tetEdges = tetEdges;
    m->nodeEdges = nodeEdges;
    m->edgeCount += 1;
    assert_int_equal(Encode(f->def), kn_errorFormat);
    assert_non_null(strstr(knLastError(), "no tetrahedron has edge"));
    DestroyFixture(f);
    free(edges);
    free(tetEdges);
    free(nodeEdges);
}

static void MissingArraysAreRefused(void** state)
{
    (void)state;
    for (int i = 0; i < 12; ++i)
    {
        Fixture* f = MakeFixture();
        knTetMesh* m = &f->parts.mesh;
        knSurfaceMesh* s = &f->parts.surface;
        const void** arrays[12] = {(const void**)&m->nodes,
                                   (const void**)&m->tets,
                                   (const void**)&m->neighbors,
                                   (const void**)&m->edges,
                                   (const void**)&m->tetEdges,
                                   (const void**)&m->nodeEdgeStarts,
                                   (const void**)&m->nodeEdges,
                                   (const void**)&m->boundaryFaces,
                                   (const void**)&s->positions,
                                   (const void**)&s->triangles,
                                   (const void**)&s->cornerAttributes,
                                   (const void**)&s->attributes};
        *arrays[i] = NULL;
        assert_int_equal(Encode(f->def), kn_errorArgument);
        DestroyFixture(f);
    }
}

static void CountsThatDisagreeAreRefused(void** state)
{
    (void)state;
    for (int i = 0; i < 8; ++i)
    {
        for (int wish = 0; wish < 2; ++wish)
        {
            Fixture* f = MakeFixture();
            knTetMesh* m = &f->parts.mesh;
            knSurfaceMesh* s = &f->parts.surface;
            uint32_t* counts[8] = {
                &m->nodeCount,     &m->tetCount,      &m->edgeCount,      &m->boundaryFaceCount,
                &s->positionCount, &s->triangleCount, &s->attributeCount, NULL};
            if (counts[i])
            {
                *counts[i] = wish == 0 ? 0 : *counts[i] - 1;
                assert_int_not_equal(Encode(f->def), kn_success);
            }
            DestroyFixture(f);
        }
    }
}

static void LongNamesAreCutAtTheEnd(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    f->def->source = name;
    f->def->material = name;
    void* bytes = NULL;
    size_t size = 0;
    knAsset* asset = NULL;
    assert_int_equal(knEncodeAsset(f->def, NULL, &bytes, &size), kn_success);
    assert_int_equal(knCreateAssetInPlace(&asset, bytes, size, NULL), kn_success);
    assert_int_equal(strlen(knAsset_Info(asset)->source), 63);
    assert_int_equal(strlen(knAsset_Info(asset)->material), KN_MAX_NAME - 1);
    knDestroyAsset(asset);
    knRelease(NULL, bytes, size, 1);
    f->def->source = NULL;
    f->def->material = NULL;
    assert_int_equal(Encode(f->def), kn_success);
    DestroyFixture(f);
}

static knResult AttemptEncode(const knAllocator* allocator, void* context)
{
    void* bytes;
    size_t size;
    MarkUntouched(&bytes, sizeof bytes);
    MarkUntouched(&size, sizeof size);
    knResult result = knEncodeAsset(context, allocator, &bytes, &size);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&bytes, sizeof bytes) && IsUntouched(&size, sizeof size));
        return result;
    }
    knRelease(allocator, bytes, size, 1);
    return result;
}

static void EncodingSurvivesAllocationFailures(void** state)
{
    (void)state;
    Fixture* f = MakeFixture();
    SurviveAllocationFailures(AttemptEncode, f->def);
    DestroyFixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheSameDefinitionGivesTheSameBytes),
        cmocka_unit_test(TheHeaderIsLittleEndianAndAsDocumented),
        cmocka_unit_test(SectionsOfOthersSurvive),
        cmocka_unit_test(BadSectionsAreRefused),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(BadFiguresAreRefused),
        cmocka_unit_test(MeshesWithIndicesOutOfRangeAreRefused),
        cmocka_unit_test(PartsThatTouchInAnEdgeAreRefused),
        cmocka_unit_test(APartWithoutItsSurfaceIsRefused),
        cmocka_unit_test(AnEdgeOfNoTetrahedronIsRefused),
        cmocka_unit_test(MissingArraysAreRefused),
        cmocka_unit_test(CountsThatDisagreeAreRefused),
        cmocka_unit_test(LongNamesAreCutAtTheEnd),
        cmocka_unit_test(EncodingSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
