// SPDX-License-Identifier: Zlib
#include "cooked.h"
#include "kit.h"

static TetShape MakeCube(int cells)
{
    const int three[3] = {cells, cells, cells};
    TetShape shape =
        MakeLatticeBox(three, knMakeVec3(0.0f, 0.0f, 0.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
    JitterInside(&shape, 0.1f / (float)cells, 1);
    return shape;
}

static void WriteBytes(const char* path, const void* bytes, size_t size)
{
    FILE* file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static knResult LoadInPlace(const Cooked* cooked)
{
    knAsset* asset = NULL;
    knResult result = knCreateAssetInPlace(&asset, cooked->bytes, cooked->size, NULL);
    if (result == kn_success)
    {
        assert_null(WalkEverything(asset));
        knDestroyAsset(asset);
    }
    else
    {
        assert_null(asset);
        assert_true(knLastError()[0] != 0);
    }
    return result;
}

static void ComparesToShape(const knAsset* asset, const TetShape* shape)
{
    const knTetMesh* m = knAsset_TetMesh(asset);
    const knSurfaceMesh* s = knAsset_Surface(asset);
    const knAssetInfo* info = knAsset_Info(asset);
    CookParts parts = MakeCookParts(shape);
    assert_int_equal(m->nodeCount, shape->nodeCount);
    assert_int_equal(m->tetCount, shape->tetCount);
    assert_int_equal(m->surfaceNodeCount, shape->surfaceNodeCount);
    assert_memory_equal(m->nodes, shape->nodes, shape->nodeCount * sizeof(knVec3));
    assert_memory_equal(m->tets, shape->tets, shape->tetCount * sizeof(knTet));
    assert_memory_equal(m->neighbors, parts.mesh.neighbors, m->tetCount * sizeof(knTetNeighbors));
    assert_int_equal(m->edgeCount, parts.mesh.edgeCount);
    assert_memory_equal(m->edges, parts.mesh.edges, m->edgeCount * sizeof(knEdge));
    assert_memory_equal(m->tetEdges, parts.mesh.tetEdges, m->tetCount * sizeof(knTetEdges));
    assert_memory_equal(m->nodeEdgeStarts, parts.mesh.nodeEdgeStarts, (m->nodeCount + 1) * 4);
    assert_memory_equal(m->nodeEdges, parts.mesh.nodeEdges, m->edgeCount * 8);
    assert_int_equal(s->positionCount, shape->surfaceNodeCount);
    assert_int_equal(s->triangleCount, parts.surface.triangleCount);
    assert_int_equal(s->attributeCount, parts.surface.attributeCount);
    assert_memory_equal(s->triangles, parts.triangles, s->triangleCount * sizeof(knTriangle));
    assert_memory_equal(s->cornerAttributes, parts.corners, s->triangleCount * sizeof(knTriangle));
    assert_memory_equal(s->attributes, parts.attributes, s->attributeCount * 20);
    assert_true(s->hasUv);
    assert_string_equal(info->source, "shape.obj");
    assert_string_equal(info->material, "glass");
    DestroyCookParts(&parts);
}

// What goes in comes out, through memory and through a file.
static void AnAssetComesBackAsItWas(void** state)
{
    (void)state;
    TetShape shape = MakeCube(3);
    Cooked cooked = CookShape(&shape);
    const char* path = KN_TEST_DIR "/cube.knap";
    WriteBytes(path, cooked.bytes, cooked.size);
    for (int fromFile = 0; fromFile < 2; ++fromFile)
    {
        knAsset* asset = NULL;
        knResult result = fromFile ? knLoadAsset(&asset, path, NULL)
                                   : knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, NULL);
        assert_int_equal(result, kn_success);
        ComparesToShape(asset, &shape);
        assert_null(WalkEverything(asset));
        const knAssetInfo* info = knAsset_Info(asset);
        ASSERT_NEAR(info->volume, 1.0, 1e-6);
        ASSERT_NEAR(info->mass, 2500.0, 1e-2);
        ASSERT_NEAR(info->area, 6.0, 1e-6);
        ASSERT_NEAR(info->center.x, 0.5, 1e-6);
        ASSERT_NEAR(info->inertia.zz, 2500.0 / 6.0, 1e-2);
        assert_true(info->bounds.lower.x == 0.0f && info->bounds.upper.z == 1.0f);
        knDestroyAsset(asset);
    }
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

// In place means in place: the views lie inside the caller's bytes.
static void TheBytesAreNotCopied(void** state)
{
    (void)state;
    TetShape shape = MakeCube(2);
    Cooked cooked = CookShape(&shape);
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knAsset* asset = NULL;
    assert_int_equal(knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, &allocator),
                     kn_success);
    const unsigned char* nodes = (const unsigned char*)knAsset_TetMesh(asset)->nodes;
    assert_true(nodes > cooked.bytes && nodes < cooked.bytes + cooked.size);
    assert_int_equal((uintptr_t)nodes % KN_SECTION_ALIGNMENT, 0);
    assert_int_equal(tracker.bytes, sizeof(knAsset));
    assert_true(tracker.peakBytes < cooked.size);
    knDestroyAsset(asset);
    assert_int_equal(tracker.liveCount, 0);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

static void MisalignedBytesAreRefused(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    unsigned char* room = aligned_alloc(64, (size_t)knAlignSection(cooked.size + 64));
    for (size_t shift = 1; shift < 64; ++shift)
    {
        memcpy(room + shift, cooked.bytes, cooked.size);
        knAsset* asset = NULL;
        assert_int_equal(knCreateAssetInPlace(&asset, room + shift, cooked.size, NULL),
                         kn_errorArgument);
        assert_null(asset);
    }
    free(room);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

static void BadArgumentsAreRefused(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    knAllocator half = {0};
    knAsset* asset = NULL;
    assert_int_equal(knCreateAssetInPlace(NULL, cooked.bytes, cooked.size, NULL), kn_errorArgument);
    assert_int_equal(knCreateAssetInPlace(&asset, NULL, cooked.size, NULL), kn_errorArgument);
    assert_int_equal(knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, &half),
                     kn_errorArgument);
    assert_int_equal(knLoadAsset(NULL, "x", NULL), kn_errorArgument);
    assert_int_equal(knLoadAsset(&asset, NULL, NULL), kn_errorArgument);
    assert_int_equal(knLoadAsset(&asset, "x", &half), kn_errorArgument);
    assert_null(asset);
    knDestroyAsset(NULL);
    assert_null(knAsset_Info(NULL));
    assert_null(knAsset_Surface(NULL));
    assert_null(knAsset_TetMesh(NULL));
    assert_int_equal(knAsset_SectionCount(NULL), 0);
    assert_null(knAsset_Section(NULL, 0).data);
    assert_null(knAsset_FindSection(NULL, KN_TAG_INFO).data);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

// The message names the file, whatever is wrong with it.
static void FilesThatCannotBeReadAreNamed(void** state)
{
    (void)state;
    const char* paths[] = {KN_TEST_DIR "/missing.knap", KN_TEST_DIR,
                           KN_TEST_DIR "/empty.knap",   KN_TEST_DIR "/short.knap",
                           KN_TEST_DIR "/text.knap",    "/dev/null"};
    const knResult results[] = {kn_errorFile,   kn_errorFile,   kn_errorFormat,
                                kn_errorFormat, kn_errorFormat, kn_errorFile};
    (void)remove(paths[0]);
    WriteBytes(paths[2], "", 0);
    WriteBytes(paths[3], KN_ASSET_MAGIC, 8);
    char text[4096];
    memset(text, 'v', sizeof text);
    WriteBytes(paths[4], text, sizeof text);
    for (size_t i = 0; i < COUNT_OF(paths); ++i)
    {
        knMemoryTracker tracker;
        knAllocator allocator = knTrackingAllocator(&tracker, NULL);
        knAsset* asset = NULL;
        assert_int_equal(knLoadAsset(&asset, paths[i], &allocator), results[i]);
        assert_null(asset);
        assert_int_equal(tracker.liveCount, 0);
        assert_non_null(strstr(knLastError(), paths[i]));
    }
}

static void AnotherVersionIsToldApart(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    const uint32_t versions[] = {0, KN_ASSET_VERSION + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(versions); ++i)
    {
        CookedHeader(&cooked)->version = versions[i];
        FixChecksum(&cooked);
        assert_int_equal(LoadInPlace(&cooked), kn_errorVersion);
        // a version of tomorrow may use another checksum: the version is told first
        CookedHeader(&cooked)->checksum ^= 1;
        assert_int_equal(LoadInPlace(&cooked), kn_errorVersion);
    }
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

static void DamageIsToldFromAForeignFile(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    cooked.bytes[cooked.size - 100] ^= 4;
    assert_int_equal(LoadInPlace(&cooked), kn_errorChecksum);
    cooked.bytes[0] ^= 4;
    assert_int_equal(LoadInPlace(&cooked), kn_errorFormat);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

// A download that stopped: every length, as it is and with a header that covers it up.
static void AFileCutAtAnyLengthIsRefused(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    for (size_t size = 0; size < cooked.size; ++size)
    {
        // a block of its own, so that a read past its end is seen
        Cooked cut = {aligned_alloc(64, (size_t)knAlignSection(size + 1)), size};
        memcpy(cut.bytes, cooked.bytes, size);
        assert_int_not_equal(LoadInPlace(&cut), kn_success);
        if (size >= sizeof(knFileHeader))
        {
            FixChecksum(&cut);
            assert_int_equal(LoadInPlace(&cut), kn_errorFormat);
        }
        DestroyCooked(&cut);
    }
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

static void AFileWithATailIsRefused(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    for (size_t tail = 1; tail <= 128; ++tail)
    {
        Cooked longer = {aligned_alloc(64, (size_t)knAlignSection(cooked.size + tail)),
                         cooked.size + tail};
        memcpy(longer.bytes, cooked.bytes, cooked.size);
        memset(longer.bytes + cooked.size, 0, tail);
        assert_int_equal(LoadInPlace(&longer), kn_errorFormat);
        FixChecksum(&longer);
        assert_int_equal(LoadInPlace(&longer), kn_errorFormat);
        DestroyCooked(&longer);
    }
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

// The checksum covers every byte behind itself, and itself and the magic are compared.
static void EveryFlippedBitIsNoticed(void** state)
{
    (void)state;
    TetShape shape = MakeCube(2);
    Cooked cooked = CookShape(&shape);
    for (size_t i = 0; i < 8 * cooked.size; ++i)
    {
        cooked.bytes[i / 8] ^= (unsigned char)(1u << (i % 8));
        assert_int_not_equal(LoadInPlace(&cooked), kn_success);
        cooked.bytes[i / 8] ^= (unsigned char)(1u << (i % 8));
    }
    assert_int_equal(LoadInPlace(&cooked), kn_success);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

// One entry of the table is spoilt at a time, the checksum made right again.
static void ATableThatLiesIsRefused(void** state)
{
    (void)state;
    const uint64_t lies[] = {0,
                             1,
                             63,
                             64,
                             128,
                             1u << 20,
                             UINT32_MAX,
                             (uint64_t)1 << 32,
                             (uint64_t)1 << 62,
                             (uint64_t)1 << 63,
                             UINT64_MAX - 63,
                             UINT64_MAX - 1,
                             UINT64_MAX};
    TetShape shape = MakeSingleTet();
    Cooked good = CookShape(&shape);
    for (uint32_t s = 0; s < CookedHeader(&good)->sectionCount; ++s)
    {
        for (size_t i = 0; i < COUNT_OF(lies); ++i)
        {
            for (int relative = 0; relative < 2; ++relative)
            {
                Cooked bad = CopyCooked(&good);
                uint64_t lie = lies[i] + (relative ? CookedTable(&good)[s].offset : 0);
                CookedTable(&bad)[s].offset = lie;
                FixChecksum(&bad);
                bool same = lie == CookedTable(&good)[s].offset;
                assert_int_equal(LoadInPlace(&bad), same ? kn_success : kn_errorFormat);
                memcpy(bad.bytes, good.bytes, good.size);
                lie = lies[i] + (relative ? CookedTable(&good)[s].size : 0);
                CookedTable(&bad)[s].size = lie;
                FixChecksum(&bad);
                same = lie == CookedTable(&good)[s].size;
                assert_int_equal(LoadInPlace(&bad), same ? kn_success : kn_errorFormat);
                DestroyCooked(&bad);
            }
        }
    }
    DestroyCooked(&good);
    DestroyShape(&shape);
}

// A file of the mesh and so many empty sections behind it, the table laid out by hand.
static Cooked CookWithEmptySections(uint32_t extraCount)
{
    TetShape shape = MakeSingleTet();
    Cooked good = CookShape(&shape);
    uint32_t count = KN_MESH_SECTIONS + extraCount;
    uint64_t oldStart = CookedTable(&good)[0].offset;
    uint64_t newStart = knAlignSection(sizeof(knFileHeader) + count * sizeof(knFileSection));
    size_t size = (size_t)(good.size - oldStart + newStart);
    Cooked cooked = {aligned_alloc(64, size), size};
    memset(cooked.bytes, 0, size);
    memcpy(cooked.bytes, good.bytes, sizeof(knFileHeader));
    memcpy(cooked.bytes + newStart, good.bytes + oldStart, good.size - oldStart);
    CookedHeader(&cooked)->sectionCount = count;
    for (uint32_t i = 0; i < count; ++i)
    {
        knFileSection* s = &CookedTable(&cooked)[i];
        *s = (knFileSection){.tag = KN_TAG('X', 'X', i & 0xFF, i >> 8), .offset = size};
        if (i < KN_MESH_SECTIONS)
        {
            *s = CookedTable(&good)[i];
            s->offset += newStart - oldStart;
        }
    }
    FixChecksum(&cooked);
    DestroyCooked(&good);
    DestroyShape(&shape);
    return cooked;
}

static void MoreSectionsThanTheLimitAreRefused(void** state)
{
    (void)state;
    for (uint32_t extraCount = 0; extraCount < 200; ++extraCount)
    {
        Cooked cooked = CookWithEmptySections(extraCount);
        bool fits = KN_MESH_SECTIONS + extraCount <= KN_MAX_SECTIONS;
        assert_int_equal(LoadInPlace(&cooked), fits ? kn_success : kn_errorFormat);
        DestroyCooked(&cooked);
    }
}

// A size near 2^64 wraps to a place before the section, where the next one then lies as if nothing
// had happened.
static void SectionsThatRunBackwardsAreRefused(void** state)
{
    (void)state;
    for (uint64_t back = 64; back <= 1024; back += 64)
    {
        Cooked cooked = CookWithEmptySections(2);
        knFileSection* s = CookedTable(&cooked) + KN_MESH_SECTIONS;
        s[0].size = 0 - back;
        s[1].offset = s[0].offset - back;
        s[1].size = back;
        FixChecksum(&cooked);
        assert_int_equal(LoadInPlace(&cooked), kn_errorFormat);
        // also without the wrap two sections may not share bytes
        s[0].size = 0;
        FixChecksum(&cooked);
        assert_int_equal(LoadInPlace(&cooked), kn_errorFormat);
        DestroyCooked(&cooked);
    }
}

static void CountsOfSectionsThatLieAreRefused(void** state)
{
    (void)state;
    const uint32_t counts[] = {0, 1, 11, 13, 64, 65, 1u << 27, 1u << 31, UINT32_MAX};
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    for (size_t i = 0; i < COUNT_OF(counts); ++i)
    {
        CookedHeader(&cooked)->sectionCount = counts[i];
        FixChecksum(&cooked);
        assert_int_equal(LoadInPlace(&cooked), kn_errorFormat);
    }
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

static void ATagTwiceIsRefused(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked good = CookShape(&shape);
    for (uint32_t a = 0; a < CookedHeader(&good)->sectionCount; ++a)
    {
        for (uint32_t b = 0; b < a; ++b)
        {
            Cooked bad = CopyCooked(&good);
            CookedTable(&bad)[a].tag = CookedTable(&bad)[b].tag;
            FixChecksum(&bad);
            assert_int_equal(LoadInPlace(&bad), kn_errorFormat);
            DestroyCooked(&bad);
        }
    }
    DestroyCooked(&good);
    DestroyShape(&shape);
}

static void EverySectionOfTheMeshIsNeededInItsVersion(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    for (uint32_t s = 0; s < CookedHeader(&cooked)->sectionCount; ++s)
    {
        uint32_t tag = CookedTable(&cooked)[s].tag;
        CookedTable(&cooked)[s].tag = KN_TAG('N', 'O', 'N', 'E');
        FixChecksum(&cooked);
        assert_int_equal(LoadInPlace(&cooked), kn_errorFormat);
        CookedTable(&cooked)[s].tag = tag;
        CookedTable(&cooked)[s].version += 1;
        FixChecksum(&cooked);
        assert_int_equal(LoadInPlace(&cooked), kn_errorFormat);
        CookedTable(&cooked)[s].version -= 1;
    }
    FixChecksum(&cooked);
    assert_int_equal(LoadInPlace(&cooked), kn_success);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

// Sections of the tables of others are reached by index and by tag, and nothing else is.
static void SectionsAreFoundByIndexAndByTag(void** state)
{
    (void)state;
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    knAsset* asset = NULL;
    assert_int_equal(knCreateAssetInPlace(&asset, cooked.bytes, cooked.size, NULL), kn_success);
    int count = knAsset_SectionCount(asset);
    assert_int_equal(count, KN_MESH_SECTIONS);
    const int outside[] = {-1, count, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(outside); ++i)
    {
        knAssetSection s = knAsset_Section(asset, outside[i]);
        assert_true(!s.data && s.size == 0 && s.tag == 0 && s.version == 0);
    }
    assert_null(knAsset_FindSection(asset, KN_TAG('N', 'O', 'N', 'E')).data);
    assert_ptr_equal(knAsset_FindSection(asset, KN_TAG_NODES).data, knAsset_TetMesh(asset)->nodes);
    knDestroyAsset(asset);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

typedef struct Loading
{
    const char* path;
    const Cooked* cooked;
} Loading;

static knResult AttemptLoad(const knAllocator* allocator, void* context)
{
    const Loading* loading = context;
    knAsset* asset;
    MarkUntouched(&asset, sizeof asset);
    knResult result = loading->path ? knLoadAsset(&asset, loading->path, allocator)
                                    : knCreateAssetInPlace(&asset, loading->cooked->bytes,
                                                           loading->cooked->size, allocator);
    if (result != kn_success)
    {
        assert_true(IsUntouched(&asset, sizeof asset));
        return result;
    }
    knDestroyAsset(asset);
    return result;
}

static void LoadingSurvivesAllocationFailures(void** state)
{
    (void)state;
    TetShape shape = MakeCube(2);
    Cooked cooked = CookShape(&shape);
    Loading inPlace = {NULL, &cooked};
    SurviveAllocationFailures(AttemptLoad, &inPlace);
    Loading fromFile = {KN_TEST_DIR "/failures.knap", NULL};
    WriteBytes(fromFile.path, cooked.bytes, cooked.size);
    SurviveAllocationFailures(AttemptLoad, &fromFile);
    DestroyCooked(&cooked);
    DestroyShape(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AnAssetComesBackAsItWas),
        cmocka_unit_test(TheBytesAreNotCopied),
        cmocka_unit_test(MisalignedBytesAreRefused),
        cmocka_unit_test(BadArgumentsAreRefused),
        cmocka_unit_test(FilesThatCannotBeReadAreNamed),
        cmocka_unit_test(AnotherVersionIsToldApart),
        cmocka_unit_test(DamageIsToldFromAForeignFile),
        cmocka_unit_test(AFileCutAtAnyLengthIsRefused),
        cmocka_unit_test(AFileWithATailIsRefused),
        cmocka_unit_test(EveryFlippedBitIsNoticed),
        cmocka_unit_test(ATableThatLiesIsRefused),
        cmocka_unit_test(MoreSectionsThanTheLimitAreRefused),
        cmocka_unit_test(SectionsThatRunBackwardsAreRefused),
        cmocka_unit_test(CountsOfSectionsThatLieAreRefused),
        cmocka_unit_test(ATagTwiceIsRefused),
        cmocka_unit_test(EverySectionOfTheMeshIsNeededInItsVersion),
        cmocka_unit_test(SectionsAreFoundByIndexAndByTag),
        cmocka_unit_test(LoadingSurvivesAllocationFailures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
