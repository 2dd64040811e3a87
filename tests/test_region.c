// SPDX-License-Identifier: Zlib
#include "kit.h"

#include "knap/random.h"
#include "knap/region.h"

// A tetrahedron that was cut at random, and the model: the final part of each corner, and the
// planes that made it.
typedef struct Sample
{
    knVec3 corners[4];
    uint32_t nodes[4];
    knTetCut cut;
    uint8_t parts[4];
} Sample;

static knVec3 RandomPoint(knRandom* random)
{
    const knBox box = {{-1.0f, -1.0f, -1.0f}, {1.0f, 1.0f, 1.0f}};
    return knRandom_InBox(random, box);
}

static void MakeCorners(Sample* sample, knRandom* random)
{
    double volume6 = 0.0;
    while (volume6 < 0.05)
    {
        for (int i = 0; i < 4; ++i)
        {
            sample->corners[i] = RandomPoint(random);
        }
        volume6 = knTetVolume6(sample->corners[0], sample->corners[1], sample->corners[2],
                               sample->corners[3]);
    }
    uint32_t base = knRandom_Below(random, 1000);
    uint32_t turn = knRandom_Below(random, 4);
    for (uint32_t i = 0; i < 4; ++i)
    {
        sample->nodes[i] = base + 7 * ((i * 3 + turn) % 4);
    }
}

static void AddPlane(Sample* sample, uint8_t region, uint8_t below, const float phi[4])
{
    knTetCut* cut = &sample->cut;
    for (int i = 0; i < 4; ++i)
    {
        bool own = region >> i & 1;
        bool under = below >> i & 1;
        cut->phi[cut->planeCount][i] = own ? (under ? -phi[i] : phi[i]) : 0.0f;
        if (own)
        {
            sample->parts[i] = under ? below : (uint8_t)(region & ~below);
        }
    }
    cut->region[cut->planeCount] = region;
    cut->below[cut->planeCount] = below;
    cut->planeCount += 1;
}

static Sample MakeSample(knRandom* random, int planeCount)
{
    Sample sample = {.parts = {0xF, 0xF, 0xF, 0xF}};
    MakeCorners(&sample, random);
    while (sample.cut.planeCount < planeCount)
    {
        uint8_t region = sample.parts[knRandom_Below(random, 4)];
        uint8_t below = (uint8_t)(region & knRandom_Below(random, 16));
        if (below == 0 || below == region)
        {
            continue;
        }
        float phi[4];
        for (int i = 0; i < 4; ++i)
        {
            phi[i] = knRandom_Range(random, 0.1f, 1.0f);
        }
        AddPlane(&sample, region, below, phi);
    }
    return sample;
}

static knTetRegion RegionOf(const Sample* sample, int corner)
{
    knTetRegion region;
    knMakeTetRegion(&region, sample->corners, sample->nodes, &sample->cut, sample->parts[corner]);
    return region;
}

static bool IsFirstOfPart(const Sample* sample, int corner)
{
    for (int i = 0; i < corner; ++i)
    {
        if (sample->parts[i] == sample->parts[corner])
        {
            return false;
        }
    }
    return true;
}

// How often the polytope runs along the edge from a to b.
static int CountDirected(const knTetRegion* region, int a, int b)
{
    int count = 0;
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        for (int i = 0; i < face->count; ++i)
        {
            count += face->loop[i] == a && face->loop[(i + 1) % face->count] == b;
        }
    }
    return count;
}

static void AssertClosed(const knTetRegion* region)
{
    int edgeCount = 0;
    for (int a = 0; a < region->vertexCount; ++a)
    {
        int degree = 0;
        for (int b = 0; b < region->vertexCount; ++b)
        {
            int forward = CountDirected(region, a, b);
            assert_true(forward <= 1 && (a != b || forward == 0));
            assert_int_equal(forward, CountDirected(region, b, a));
            degree += forward;
        }
        assert_true(degree >= 3);
        edgeCount += degree;
    }
    assert_int_equal(region->vertexCount - edgeCount / 2 + region->faceCount, 2);
    for (int f = 0; f < region->faceCount; ++f)
    {
        assert_in_range(region->faces[f].count, 3, KN_MAX_REGION_LOOP);
    }
}

// Signed distance of a point to the plane of a face, by the longest normal of its corners.
static double FaceDistance(const knTetRegion* region, const knRegionFace* face, knVec3 p)
{
    knDVec3 a = knToDouble(region->vertices[face->loop[0]].position);
    knDVec3 normal = {0.0, 0.0, 0.0};
    for (int i = 1; i + 1 < face->count; ++i)
    {
        knDVec3 b = knToDouble(region->vertices[face->loop[i]].position);
        knDVec3 c = knToDouble(region->vertices[face->loop[i + 1]].position);
        normal = knDAdd(normal, knDCross(knDSub(b, a), knDSub(c, a)));
    }
    return knDDot(normal, knDSub(knToDouble(p), a)) / knDLength(normal);
}

static knVec3 PointFromWeights(const Sample* sample, const float* weights)
{
    knVec3 p = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < 4; ++i)
    {
        p = knAddScaled(p, weights[i], sample->corners[i]);
    }
    return p;
}

static void RandomWeights(knRandom* random, float weights[4])
{
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i)
    {
        weights[i] = -logf(1.0f - knRandom_Float(random));
        sum += weights[i];
    }
    for (int i = 0; i < 4; ++i)
    {
        weights[i] /= sum;
    }
}

static void EveryPartIsAClosedPolytopeAndTheyFillTheWhole(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(3);
    for (int round = 0; round < 20000; ++round)
    {
        Sample sample = MakeSample(&random, round % (KN_MAX_TET_PLANES + 1));
        double sum = 0.0;
        for (int i = 0; i < 4; ++i)
        {
            if (IsFirstOfPart(&sample, i))
            {
                knTetRegion region = RegionOf(&sample, i);
                assert_int_equal(region.mask, sample.parts[i]);
                AssertClosed(&region);
                double volume = knTetRegion_Volume(&region, sample.corners);
                assert_true(volume > 0.0);
                sum += volume;
            }
        }
        double whole = knTetVolume6(sample.corners[0], sample.corners[1], sample.corners[2],
                                    sample.corners[3]) /
                       6.0;
        ASSERT_NEAR(sum, whole, 1e-14 * whole + 1e-15);
    }
}

// knTetCut_Region is written apart from the polytopes: the two must agree on every point.
static void APointLiesInThePolytopeThatTheDotProductsName(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(4);
    int testedCount = 0;
    for (int round = 0; round < 2000; ++round)
    {
        Sample sample = MakeSample(&random, 1 + round % KN_MAX_TET_PLANES);
        knTetRegion regions[4];
        for (int i = 0; i < 4; ++i)
        {
            regions[i] = RegionOf(&sample, i);
        }
        for (int k = 0; k < 50; ++k)
        {
            float weights[4];
            RandomWeights(&random, weights);
            uint8_t named = knTetCut_Region(&sample.cut, weights);
            knVec3 p = PointFromWeights(&sample, weights);
            for (int i = 0; i < 4; ++i)
            {
                double outside = -1.0;
                for (int f = 0; f < regions[i].faceCount; ++f)
                {
                    outside = fmax(outside, FaceDistance(&regions[i], &regions[i].faces[f], p));
                }
                if (fabs(outside) > 1e-5) // else on a face, where rounding decides
                {
                    assert_int_equal(outside < 0.0, named == regions[i].mask);
                    testedCount += 1;
                }
            }
        }
    }
    assert_true(testedCount > 300000);
}

static void AssertOnFeature(const Sample* sample, const knTetRegion* region,
                            const knRegionVertex* v)
{
    uint8_t support = 0;
    double sum = 0.0;
    for (int i = 0; i < 4; ++i)
    {
        assert_true(v->weights[i] >= 0.0);
        support |= (uint8_t)((v->weights[i] > 0.0) << i);
        sum += v->weights[i];
    }
    ASSERT_NEAR(sum, 1.0, 1e-14);
    assert_int_equal(support, v->support);
    assert_true(region->mask >> v->owner & 1);
    uint8_t expected = 0xF;
    if (v->kind == kn_regionNode)
    {
        expected = (uint8_t)(1 << v->feature);
        assert_memory_equal(&v->position, &sample->corners[v->feature], sizeof(knVec3));
    }
    else if (v->kind == kn_regionEdge)
    {
        const uint8_t* ends = knTetEdgeCorners[v->feature];
        expected = (uint8_t)(1 << ends[0] | 1 << ends[1]);
        // an edge is cut only between two parts
        uint8_t other = ends[0] == v->owner ? ends[1] : ends[0];
        assert_false(region->mask >> other & 1);
    }
    else if (v->kind == kn_regionFace)
    {
        expected = (uint8_t)(0xF & ~(1 << v->feature));
    }
    assert_int_equal(support, expected);
}

static void EveryVertexSaysWhereItComesFrom(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(5);
    int kinds[4] = {0};
    for (int round = 0; round < 4000; ++round)
    {
        Sample sample = MakeSample(&random, round % (KN_MAX_TET_PLANES + 1));
        for (int i = 0; i < 4; ++i)
        {
            knTetRegion region = RegionOf(&sample, i);
            for (int k = 0; k < region.vertexCount; ++k)
            {
                AssertOnFeature(&sample, &region, &region.vertices[k]);
                kinds[region.vertices[k].kind] += 1;
            }
        }
    }
    for (int i = 0; i < 4; ++i)
    {
        assert_true(kinds[i] > 100);
    }
}

// The same tetrahedron with its corners in another (even) order.
static Sample Turned(const Sample* sample, const uint8_t order[4])
{
    Sample turned = {.cut = {.planeCount = sample->cut.planeCount}};
    for (int i = 0; i < 4; ++i)
    {
        uint8_t from = order[i];
        turned.corners[i] = sample->corners[from];
        turned.nodes[i] = sample->nodes[from];
        for (int p = 0; p < sample->cut.planeCount; ++p)
        {
            turned.cut.phi[p][i] = sample->cut.phi[p][from];
            turned.cut.region[p] |= (uint8_t)((sample->cut.region[p] >> from & 1) << i);
            turned.cut.below[p] |= (uint8_t)((sample->cut.below[p] >> from & 1) << i);
        }
        for (int k = 0; k < 4; ++k)
        {
            turned.parts[i] |= (uint8_t)((sample->parts[from] >> order[k] & 1) << k);
        }
    }
    return turned;
}

// A tetrahedron on the other side of face 0 with a tip of its own; planes agree on the face.
static Sample Neighbor(const Sample* sample, knRandom* random)
{
    const uint8_t order[4] = {0, 2, 1, 3};
    Sample other = Turned(sample, order);
    other.corners[0] = knAddScaled(sample->corners[0], -2.0f, sample->corners[1]);
    other.nodes[0] = knRandom_Below(random, 2000);
    for (int p = 0; p < other.cut.planeCount; ++p)
    {
        // the tip stays on its side, at another distance
        other.cut.phi[p][0] *= knRandom_Range(random, 0.5f, 2.0f);
    }
    return other;
}

static bool HasPosition(const knTetRegion* region, uint8_t face, knVec3 position)
{
    for (int i = 0; i < region->vertexCount; ++i)
    {
        if (!(region->vertices[i].support >> face & 1) &&
            memcmp(&region->vertices[i].position, &position, sizeof position) == 0)
        {
            return true;
        }
    }
    return false;
}

static int CountOnFace(const knTetRegion* region, uint8_t face)
{
    int count = 0;
    for (int i = 0; i < region->vertexCount; ++i)
    {
        count += !(region->vertices[i].support >> face & 1);
    }
    return count;
}

static void AssertSameOnFace(const knTetRegion* a, const knTetRegion* b, uint8_t face)
{
    assert_int_equal(CountOnFace(a, face), CountOnFace(b, face));
    for (int i = 0; i < a->vertexCount; ++i)
    {
        if (!(a->vertices[i].support >> face & 1))
        {
            assert_true(HasPosition(b, face, a->vertices[i].position));
        }
    }
}

static void NeighboursAgreeBitForBitOnTheirFace(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(6);
    for (int round = 0; round < 20000; ++round)
    {
        Sample sample = MakeSample(&random, 1 + round % KN_MAX_TET_PLANES);
        Sample other = Neighbor(&sample, &random);
        const uint8_t order[4] = {0, 2, 1, 3};
        for (int i = 1; i < 4; ++i)
        {
            knTetRegion here = RegionOf(&sample, order[i]);
            knTetRegion there = RegionOf(&other, i);
            AssertSameOnFace(&here, &there, 0);
        }
    }
}

static void TheOrderOfCornersDoesNotMatter(void** state)
{
    (void)state;
    static const uint8_t orders[3][4] = {{1, 2, 0, 3}, {3, 1, 0, 2}, {2, 3, 0, 1}};
    knRandom random = knMakeRandom(7);
    for (int round = 0; round < 3000; ++round)
    {
        Sample sample = MakeSample(&random, 1 + round % KN_MAX_TET_PLANES);
        const uint8_t* order = orders[round % 3];
        Sample turned = Turned(&sample, order);
        for (int i = 0; i < 4; ++i)
        {
            knTetRegion a = RegionOf(&sample, order[i]);
            knTetRegion b = RegionOf(&turned, i);
            assert_int_equal(a.vertexCount, b.vertexCount);
            for (uint8_t face = 0; face < 4; ++face)
            {
                for (int k = 0; k < a.vertexCount; ++k)
                {
                    bool found = false;
                    for (int m = 0; m < b.vertexCount; ++m)
                    {
                        found |= memcmp(&a.vertices[k].position, &b.vertices[m].position,
                                        sizeof(knVec3)) == 0;
                    }
                    // where three planes meet inside, corner order may show in the last bit
                    assert_true(found || a.vertices[k].kind == kn_regionInterior);
                }
            }
        }
    }
}

// What happens to one side later must not move a bit on the other.
static void LaterPlanesElsewhereChangeNothing(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(8);
    for (int round = 0; round < 3000; ++round)
    {
        Sample late = MakeSample(&random, 2 + round % 2);
        Sample early = late;
        early.cut.planeCount -= 1;
        uint8_t touched = late.cut.region[early.cut.planeCount];
        for (int i = 0; i < 4; ++i)
        {
            if (!(touched >> i & 1))
            {
                knTetRegion before, after;
                memset(&before, 0, sizeof before);
                memset(&after, 0, sizeof after);
                knMakeTetRegion(&before, early.corners, early.nodes, &early.cut, late.parts[i]);
                knMakeTetRegion(&after, late.corners, late.nodes, &late.cut, late.parts[i]);
                assert_int_equal(before.vertexCount, after.vertexCount);
                for (int k = 0; k < before.vertexCount; ++k)
                {
                    assert_memory_equal(&before.vertices[k].position, &after.vertices[k].position,
                                        sizeof(knVec3));
                }
            }
        }
    }
}

static void AnEdgePointIsWhereTheEdgeFunctionPutsIt(void** state)
{
    (void)state;
    knRandom random = knMakeRandom(9);
    for (int round = 0; round < 3000; ++round)
    {
        Sample sample = MakeSample(&random, 1);
        for (int i = 0; i < 4; ++i)
        {
            knTetRegion region = RegionOf(&sample, i);
            for (int k = 0; k < region.vertexCount; ++k)
            {
                const knRegionVertex* v = &region.vertices[k];
                if (v->kind == kn_regionEdge)
                {
                    uint8_t a = knTetEdgeCorners[v->feature][0];
                    uint8_t b = knTetEdgeCorners[v->feature][1];
                    uint8_t low = sample.nodes[a] < sample.nodes[b] ? a : b;
                    uint8_t high = low == a ? b : a;
                    double share =
                        knCutShare((double)sample.cut.phi[0][low], (double)sample.cut.phi[0][high]);
                    knVec3 p = knCutPosition(sample.corners[low], sample.corners[high], share);
                    assert_memory_equal(&p, &v->position, sizeof p);
                }
            }
        }
    }
}

static void AnUncutTetrahedronIsWhole(void** state)
{
    (void)state;
    const knVec3 corners[4] = {
        {0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
    const uint32_t nodes[4] = {4, 2, 9, 1};
    knTetRegion region;
    knMakeTetRegion(&region, corners, nodes, NULL, 0xF);
    assert_int_equal(region.vertexCount, 4);
    assert_int_equal(region.faceCount, 4);
    ASSERT_NEAR(knTetRegion_Volume(&region, corners), 1.0 / 6.0, 1e-16);
    knMakeTetRegion(&region, corners, nodes, NULL, 0);
    assert_int_equal(region.vertexCount, 0);
    assert_int_equal(region.faceCount, 0);
    ASSERT_NEAR(knTetRegion_Volume(&region, corners), 0.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryPartIsAClosedPolytopeAndTheyFillTheWhole),
        cmocka_unit_test(APointLiesInThePolytopeThatTheDotProductsName),
        cmocka_unit_test(EveryVertexSaysWhereItComesFrom),
        cmocka_unit_test(NeighboursAgreeBitForBitOnTheirFace),
        cmocka_unit_test(TheOrderOfCornersDoesNotMatter),
        cmocka_unit_test(LaterPlanesElsewhereChangeNothing),
        cmocka_unit_test(AnEdgePointIsWhereTheEdgeFunctionPutsIt),
        cmocka_unit_test(AnUncutTetrahedronIsWhole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
