// SPDX-License-Identifier: Zlib
#include "cooked.h"
#include "kit.h"

#include "knap/random.h"

// The file, the checks of the file and nothing more: see knCreateAssetInPlace.
#define MAX_MEMORY_PER_BYTE 2
#define SMALL_OVERHEAD      4096

static Cooked CookCube(int cells)
{
    const int three[3] = {cells, cells, cells};
    TetShape shape =
        MakeLatticeBox(three, knMakeVec3(-1.0f, -1.0f, -1.0f), knMakeVec3(1.0f, 1.0f, 1.0f));
    JitterInside(&shape, 0.1f / (float)cells, 1);
    Cooked cooked = CookShape(&shape);
    DestroyShape(&shape);
    return cooked;
}

static Cooked CookSingleTet(void)
{
    TetShape shape = MakeSingleTet();
    Cooked cooked = CookShape(&shape);
    DestroyShape(&shape);
    return cooked;
}

// Loads what may be anything. What loads must be safe to walk; what does not leaves nothing behind;
// neither may ask for memory out of proportion.
static knResult LoadHostile(Cooked* cooked)
{
    knMemoryTracker tracker;
    knAllocator allocator = knTrackingAllocator(&tracker, NULL);
    knAsset* asset = NULL;
    FixChecksum(cooked);
    knClearLastError();
    knResult result = knCreateAssetInPlace(&asset, cooked->bytes, cooked->size, &allocator);
    if (result == kn_success)
    {
        const char* wrong = WalkEverything(asset);
        if (wrong)
        {
            fail_msg("loaded although this is wrong: %s", wrong);
        }
        knDestroyAsset(asset);
    }
    else
    {
        assert_null(asset);
        assert_true(knLastError()[0] != 0);
    }
    assert_int_equal(tracker.liveCount, 0);
    assert_true(tracker.peakBytes <= MAX_MEMORY_PER_BYTE * cooked->size + SMALL_OVERHEAD);
    return result;
}

static size_t FlipEveryByte(Cooked* cooked, const unsigned char* patterns, size_t patternCount)
{
    size_t loaded = 0;
    for (size_t i = sizeof(KN_ASSET_MAGIC) - 1; i < cooked->size; ++i)
    {
        unsigned char byte = cooked->bytes[i];
        for (size_t p = 0; p < patternCount; ++p)
        {
            cooked->bytes[i] = byte ^ patterns[p];
            loaded += LoadHostile(cooked) == kn_success;
        }
        cooked->bytes[i] = byte;
    }
    assert_int_equal(LoadHostile(cooked), kn_success);
    return loaded;
}

// The checksum is made right after each change, so the checks behind it are all there is.
static void EveryValueOfEveryByteIsSurvived(void** state)
{
    (void)state;
    unsigned char patterns[255];
    for (int i = 0; i < 255; ++i)
    {
        patterns[i] = (unsigned char)(i + 1);
    }
    Cooked cooked = CookSingleTet();
    size_t loaded = FlipEveryByte(&cooked, patterns, COUNT_OF(patterns));
    // names, texture coordinates and last digits are free; everything else is not. The 16 bytes of
    // size and checksum do not count: they are made right again.
    size_t freeBytes = 16 + 64 + 32 + 4 * 20 + 8 * 16;
    assert_true(loaded > 0 && loaded < freeBytes * COUNT_OF(patterns));
    DestroyCooked(&cooked);
}

static void EveryFlippedBitOfALargerFileIsSurvived(void** state)
{
    (void)state;
    const unsigned char patterns[] = {0xFF, 1, 2, 4, 8, 16, 32, 64, 128};
    Cooked cooked = CookCube(2);
    FlipEveryByte(&cooked, patterns, COUNT_OF(patterns));
    DestroyCooked(&cooked);
}

// Several words at once, of the values that break index arithmetic.
static void RandomWordsAreSurvived(void** state)
{
    (void)state;
    const uint32_t words[] = {0,           1,           3,           4,
                              26,          27,          28,          47,
                              48,          49,          0x7F800000u, 0x7FC00000u,
                              0x80000000u, 0x3FFFFFFFu, 0x40000000u, UINT32_MAX - 1,
                              UINT32_MAX};
    Cooked good = CookCube(2);
    Cooked bad = CopyCooked(&good);
    knRandom random = knMakeRandom(8);
    for (int round = 0; round < 20000; ++round)
    {
        memcpy(bad.bytes, good.bytes, good.size);
        int count = 1 + (int)knRandom_Below(&random, 4);
        for (int i = 0; i < count; ++i)
        {
            size_t place = 2 + knRandom_Below(&random, (uint32_t)(good.size / 4 - 2));
            uint32_t word = words[knRandom_Below(&random, (uint32_t)COUNT_OF(words))];
            memcpy(bad.bytes + 4 * place, &word, 4);
        }
        LoadHostile(&bad);
    }
    DestroyCooked(&bad);
    DestroyCooked(&good);
}

// Arrays swapped, copied over one another and shifted: right values in the wrong place.
static void SwappedWordsAreSurvived(void** state)
{
    (void)state;
    Cooked good = CookCube(1);
    Cooked bad = CopyCooked(&good);
    knRandom random = knMakeRandom(9);
    for (int round = 0; round < 20000; ++round)
    {
        memcpy(bad.bytes, good.bytes, good.size);
        size_t a = 4 * (size_t)(4 + knRandom_Below(&random, (uint32_t)(good.size / 4 - 20)));
        size_t b = 4 * (size_t)(4 + knRandom_Below(&random, (uint32_t)(good.size / 4 - 20)));
        size_t size = 4 * (size_t)(1 + knRandom_Below(&random, 16));
        memcpy(bad.bytes + a, good.bytes + b, size);
        if (round % 2)
        {
            memcpy(bad.bytes + b, good.bytes + a, size);
        }
        LoadHostile(&bad);
    }
    DestroyCooked(&bad);
    DestroyCooked(&good);
}

typedef void SpoilFcn(Cooked* cooked);

static void NanNode(Cooked* c)
{
    ((knVec3*)CookedSection(c, KN_TAG_NODES))[26].y = NAN;
}

static void InfiniteNode(Cooked* c)
{
    ((knVec3*)CookedSection(c, KN_TAG_NODES))[0].z = -INFINITY;
}

static void MovedNode(Cooked* c)
{
    // still a sound mesh, but not the one whose mass is in the file
    ((knVec3*)CookedSection(c, KN_TAG_NODES))[0].x -= 0.25f;
}

static void SwappedTets(Cooked* c)
{
    knTet* tets = CookedSection(c, KN_TAG_TETS);
    knTet tet = tets[3];
    tets[3] = tets[40];
    tets[40] = tet;
}

static void TurnedTet(Cooked* c)
{
    knTet* tets = CookedSection(c, KN_TAG_TETS);
    uint32_t v = tets[3].v[0];
    tets[3].v[0] = tets[3].v[1];
    tets[3].v[1] = v;
}

static void RotatedTet(Cooked* c)
{
    // still positive, but its faces, edges and neighbours are other ones now
    uint32_t* v = ((knTet*)CookedSection(c, KN_TAG_TETS))[3].v;
    uint32_t first = v[0];
    v[0] = v[1];
    v[1] = v[2];
    v[2] = first;
}

static void FlatTet(Cooked* c)
{
    knTet* tets = CookedSection(c, KN_TAG_TETS);
    tets[3].v[0] = tets[3].v[1];
}

static void NodeOutOfRange(Cooked* c)
{
    ((knTet*)CookedSection(c, KN_TAG_TETS))[47].v[3] = 27;
}

static uint32_t* FindNeighbor(Cooked* c, bool boundary)
{
    uint32_t* neighbors = CookedSection(c, KN_TAG_NEIGHBORS);
    while ((*neighbors == KN_NONE) != boundary)
    {
        ++neighbors;
    }
    return neighbors;
}

static void NeighborMissing(Cooked* c)
{
    *FindNeighbor(c, false) = KN_NONE;
}

static void NeighborAtTheBoundary(Cooked* c)
{
    *FindNeighbor(c, true) = 5;
}

static void NeighborIsItself(Cooked* c)
{
    uint32_t* neighbor = FindNeighbor(c, false);
    *neighbor = (uint32_t)((neighbor - (uint32_t*)CookedSection(c, KN_TAG_NEIGHBORS)) / 4);
}

static void NeighborOutOfRange(Cooked* c)
{
    *FindNeighbor(c, false) = 48;
}

static void NeighborFarOutOfRange(Cooked* c)
{
    *FindNeighbor(c, false) = 0x40000000u;
}

static void EdgesOutOfOrder(Cooked* c)
{
    knEdge* edges = CookedSection(c, KN_TAG_EDGES);
    knEdge edge = edges[7];
    edges[7] = edges[8];
    edges[8] = edge;
}

static void EdgeTwice(Cooked* c)
{
    knEdge* edges = CookedSection(c, KN_TAG_EDGES);
    edges[8] = edges[7];
}

static void TetEdgesSwapped(Cooked* c)
{
    uint32_t* e = ((knTetEdges*)CookedSection(c, KN_TAG_TET_EDGES))[9].e;
    uint32_t first = e[0];
    e[0] = e[5];
    e[5] = first;
}

static void TetEdgeOutOfRange(Cooked* c)
{
    ((knTetEdges*)CookedSection(c, KN_TAG_TET_EDGES))[9].e[5] = UINT32_MAX;
}

static void NodeListBackwards(Cooked* c)
{
    uint32_t* starts = CookedSection(c, KN_TAG_NODE_EDGE_STARTS);
    starts[5] = starts[6] + 1;
}

static void NodeListHuge(Cooked* c)
{
    ((uint32_t*)CookedSection(c, KN_TAG_NODE_EDGE_STARTS))[5] = 0x7FFFFFFFu;
}

static void NodeListWrongEdge(Cooked* c)
{
    uint32_t* edges = CookedSection(c, KN_TAG_NODE_EDGES);
    edges[0] = 90;
}

static void NodeListDescends(Cooked* c)
{
    uint32_t* edges = CookedSection(c, KN_TAG_NODE_EDGES);
    uint32_t first = edges[0];
    edges[0] = edges[1];
    edges[1] = first;
}

static void OpenSurface(Cooked* c)
{
    // one triangle gives way to a second copy of another
    uint32_t* faces = CookedSection(c, KN_TAG_BOUNDARY_FACES);
    knTriangle* triangles = CookedSection(c, KN_TAG_TRIANGLES);
    faces[0] = faces[1];
    triangles[0] = triangles[1];
}

static void ShorterSurface(Cooked* c)
{
    // the three surface arrays lose their last item: counts agree, a hole is left
    knFileSection* table = CookedTable(c);
    for (uint32_t i = 0; i < CookedHeader(c)->sectionCount; ++i)
    {
        uint64_t itemSize = table[i].tag == KN_TAG_BOUNDARY_FACES ? 4 : 12;
        if (table[i].tag == KN_TAG_TRIANGLES || table[i].tag == KN_TAG_CORNERS ||
            table[i].tag == KN_TAG_BOUNDARY_FACES)
        {
            table[i].size -= itemSize;
            memset(c->bytes + table[i].offset + table[i].size, 0, itemSize);
        }
    }
}

static void BoundaryFaceOutOfRange(Cooked* c)
{
    ((uint32_t*)CookedSection(c, KN_TAG_BOUNDARY_FACES))[3] = 4 * 48;
}

static void TriangleTurned(Cooked* c)
{
    knTriangle* triangles = CookedSection(c, KN_TAG_TRIANGLES);
    uint32_t v = triangles[3].v[0];
    triangles[3].v[0] = triangles[3].v[1];
    triangles[3].v[1] = v;
}

static void AttributeOutOfRange(Cooked* c)
{
    ((knTriangle*)CookedSection(c, KN_TAG_CORNERS))[3].v[2] = 48;
}

static void AttributeWithoutNormal(Cooked* c)
{
    ((knCornerAttribute*)CookedSection(c, KN_TAG_ATTRIBUTES))[3].normal = (knVec3){0};
}

static void AttributeNotANumber(Cooked* c)
{
    ((knCornerAttribute*)CookedSection(c, KN_TAG_ATTRIBUTES))[3].v = NAN;
}

static knAssetInfo* Info(Cooked* c)
{
    return CookedSection(c, KN_TAG_INFO);
}

static void WrongMass(Cooked* c)
{
    Info(c)->mass *= 1.000001;
}

static void NanMass(Cooked* c)
{
    Info(c)->mass = (double)NAN;
}

static void WrongVolume(Cooked* c)
{
    Info(c)->volume = 0.0;
}

static void WrongCenter(Cooked* c)
{
    Info(c)->center.y += 0.001;
}

static void WrongInertia(Cooked* c)
{
    Info(c)->inertia.xy = (double)INFINITY;
}

static void WrongBounds(Cooked* c)
{
    Info(c)->bounds.upper.x += 0.5f;
}

static void WrongArea(Cooked* c)
{
    Info(c)->area = -Info(c)->area;
}

static void NegativeDensity(Cooked* c)
{
    Info(c)->density = -Info(c)->density;
    Info(c)->mass = -Info(c)->mass;
}

static void NameWithoutEnd(Cooked* c)
{
    memset(Info(c)->source, 'x', sizeof Info(c)->source);
}

static void MaterialWithoutEnd(Cooked* c)
{
    memset(Info(c)->material, 'x', sizeof Info(c)->material);
}

static void MoreSurfaceNodes(Cooked* c)
{
    Info(c)->surfaceNodeCount += 1;
}

static void FewerSurfaceNodes(Cooked* c)
{
    Info(c)->surfaceNodeCount -= 1;
}

static void HugeSurfaceNodes(Cooked* c)
{
    Info(c)->surfaceNodeCount = UINT32_MAX;
}

static void NoComponents(Cooked* c)
{
    Info(c)->componentCount = 0;
}

static void DirtyPadding(Cooked* c)
{
    // the info section is 240 bytes, the next one starts at 256
    ((unsigned char*)Info(c))[255] = 1;
}

static void DirtyHeader(Cooked* c)
{
    CookedHeader(c)->zero[31] = 1;
}

#define SPOIL(function)                                                                            \
    {                                                                                              \
#function, function                                                                        \
    }

static void EachLieIsFound(void** state)
{
    (void)state;
    static const struct
    {
        const char* name;
        SpoilFcn* spoil;
    } lies[] = {
        SPOIL(NanNode),
        SPOIL(InfiniteNode),
        SPOIL(MovedNode),
        SPOIL(SwappedTets),
        SPOIL(TurnedTet),
        SPOIL(RotatedTet),
        SPOIL(FlatTet),
        SPOIL(NodeOutOfRange),
        SPOIL(NeighborMissing),
        SPOIL(NeighborAtTheBoundary),
        SPOIL(NeighborIsItself),
        SPOIL(NeighborOutOfRange),
        SPOIL(NeighborFarOutOfRange),
        SPOIL(EdgesOutOfOrder),
        SPOIL(EdgeTwice),
        SPOIL(TetEdgesSwapped),
        SPOIL(TetEdgeOutOfRange),
        SPOIL(NodeListBackwards),
        SPOIL(NodeListHuge),
        SPOIL(NodeListWrongEdge),
        SPOIL(NodeListDescends),
        SPOIL(OpenSurface),
        SPOIL(ShorterSurface),
        SPOIL(BoundaryFaceOutOfRange),
        SPOIL(TriangleTurned),
        SPOIL(AttributeOutOfRange),
        SPOIL(AttributeWithoutNormal),
        SPOIL(AttributeNotANumber),
        SPOIL(WrongMass),
        SPOIL(NanMass),
        SPOIL(WrongVolume),
        SPOIL(WrongCenter),
        SPOIL(WrongInertia),
        SPOIL(WrongBounds),
        SPOIL(WrongArea),
        SPOIL(NegativeDensity),
        SPOIL(NameWithoutEnd),
        SPOIL(MaterialWithoutEnd),
        SPOIL(MoreSurfaceNodes),
        SPOIL(FewerSurfaceNodes),
        SPOIL(HugeSurfaceNodes),
        SPOIL(NoComponents),
        SPOIL(DirtyPadding),
        SPOIL(DirtyHeader),
    };
    Cooked good = CookCube(2);
    for (size_t i = 0; i < COUNT_OF(lies); ++i)
    {
        Cooked bad = CopyCooked(&good);
        lies[i].spoil(&bad);
        knResult result = LoadHostile(&bad);
        if (result != kn_errorFormat)
        {
            fail_msg("%s: %s", lies[i].name, knResultName(result));
        }
        DestroyCooked(&bad);
    }
    DestroyCooked(&good);
}

// Harmless differences must not make a file useless.
static void FreeTextMayChange(void** state)
{
    (void)state;
    Cooked cooked = CookCube(2);
    strcpy(Info(&cooked)->source, "other name.ply");
    strcpy(Info(&cooked)->material, "no preset");
    knCornerAttribute* attributes = CookedSection(&cooked, KN_TAG_ATTRIBUTES);
    attributes[0].u = -17.5f;
    attributes[1].normal = knMakeVec3(0.0f, 0.6f, 0.8f);
    assert_int_equal(LoadHostile(&cooked), kn_success);
    DestroyCooked(&cooked);
}

// Tiny, huge, far away: whatever the builder takes and the encoder writes, the loader reads.
static void SizesOfManyMagnitudesLoad(void** state)
{
    (void)state;
    const float sizes[] = {1e-9f, 1e-3f, 1.0f, 1e3f, 1e9f};
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
    {
        const int cells[3] = {2, 2, 2};
        float s = sizes[i];
        TetShape shape =
            MakeLatticeBox(cells, knMakeVec3(10.0f * s, 0.0f, -s), knMakeVec3(11.0f * s, s, s));
        Cooked cooked = CookShape(&shape);
        assert_int_equal(LoadHostile(&cooked), kn_success);
        DestroyCooked(&cooked);
        DestroyShape(&shape);
    }
    TetShape ball = MakeBall(6, 0.5f, knMakeVec3(0.0f, 100.0f, 0.0f));
    Cooked cooked = CookShape(&ball);
    assert_int_equal(LoadHostile(&cooked), kn_success);
    DestroyCooked(&cooked);
    DestroyShape(&ball);
}

// Two tetrahedra that deny the face between them leave a bubble without thickness, closed and
// manifold as far as edges tell.
static void AFaceDisownedByBothSidesIsFound(void** state)
{
    (void)state;
    const int cells[3] = {1, 1, 1};
    TetShape shape = MakeLatticeBox(cells, knMakeVec3(0, 0, 0), knMakeVec3(1, 1, 1));
    CookParts parts = MakeCookParts(&shape);
    knTetNeighbors neighbors[6];
    uint32_t faces[32];
    knTriangle triangles[32], corners[32];
    uint32_t count = parts.mesh.boundaryFaceCount;
    assert_int_equal(shape.tetCount, 6);
    memcpy(neighbors, parts.mesh.neighbors, sizeof neighbors);
    memcpy(faces, parts.mesh.boundaryFaces, count * sizeof faces[0]);
    memcpy(triangles, parts.triangles, count * sizeof triangles[0]);
    memcpy(corners, parts.corners, count * sizeof corners[0]);
    uint32_t other = KN_NONE;
    for (uint32_t f = 0; f < 24; ++f)
    {
        bool first = other == KN_NONE && neighbors[f / 4].t[f % 4] != KN_NONE;
        bool second = other == f / 4 && neighbors[f / 4].t[f % 4] == 0;
        if ((first && f < 4) || second)
        {
            other = first ? neighbors[f / 4].t[f % 4] : other;
            neighbors[f / 4].t[f % 4] = KN_NONE;
            faces[count] = f;
            triangles[count] = knTetMesh_BoundaryTriangle(&parts.mesh, f);
            corners[count] = corners[0];
            count += 1;
        }
    }
    assert_int_equal(count, parts.mesh.boundaryFaceCount + 2);
    parts.mesh.neighbors = neighbors;
    parts.mesh.boundaryFaces = faces;
    parts.mesh.boundaryFaceCount = count;
    parts.surface.triangles = triangles;
    parts.surface.cornerAttributes = corners;
    parts.surface.triangleCount = count;
    parts.def.surface = &parts.surface;
    parts.def.tetMesh = &parts.mesh;
    void* bytes = NULL;
    size_t size = 0;
    assert_int_equal(knEncodeAsset(&parts.def, NULL, &bytes, &size), kn_errorFormat);
    assert_non_null(strstr(knLastError(), "edge of triangle"));
    DestroyCookParts(&parts);
    DestroyShape(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryValueOfEveryByteIsSurvived),
        cmocka_unit_test(EveryFlippedBitOfALargerFileIsSurvived),
        cmocka_unit_test(RandomWordsAreSurvived),
        cmocka_unit_test(SwappedWordsAreSurvived),
        cmocka_unit_test(EachLieIsFound),
        cmocka_unit_test(AFaceDisownedByBothSidesIsFound),
        cmocka_unit_test(FreeTextMayChange),
        cmocka_unit_test(SizesOfManyMagnitudesLoad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
