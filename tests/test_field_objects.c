// SPDX-License-Identifier: Zlib
// The distance field on the real objects, judged by their pieces' surfaces: parity of rays for
// inside, exact point-triangle distance for spheres.

#include "kit.h"
#include "knap/random.h"
#include "pieces.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define POINT_COUNT  60000
#define SPHERE_COUNT 600
#else
#define POINT_COUNT  1000000
#define SPHERE_COUNT 4000
#endif

#define COLUMNS 64

// Triangles of one piece by columns of the x-y plane, so that a ray along z meets few.
typedef struct RayJudge
{
    const knPieceSurface* surface;
    knBox box;
    uint32_t* starts; // COLUMNS^2 + 1
    uint32_t* triangles;
} RayJudge;

static int ColumnOf(float value, float low, float high)
{
    int column = (int)((float)COLUMNS * (value - low) / (high - low));
    return column < 0 ? 0 : (column >= COLUMNS ? COLUMNS - 1 : column);
}

static knBox TriangleBox(const knPieceSurface* s, uint32_t i)
{
    knBox box = knEmptyBox();
    for (int k = 0; k < 3; ++k)
    {
        box = knBox_AddPoint(box, s->positions[s->triangles[i].v[k]]);
    }
    return box;
}

static void VisitColumns(const RayJudge* j, uint32_t triangle, uint32_t* counts, bool fill)
{
    knBox b = TriangleBox(j->surface, triangle);
    int x0 = ColumnOf(b.lower.x, j->box.lower.x, j->box.upper.x);
    int x1 = ColumnOf(b.upper.x, j->box.lower.x, j->box.upper.x);
    int y0 = ColumnOf(b.lower.y, j->box.lower.y, j->box.upper.y);
    int y1 = ColumnOf(b.upper.y, j->box.lower.y, j->box.upper.y);
    for (int y = y0; y <= y1; ++y)
    {
        for (int x = x0; x <= x1; ++x)
        {
            uint32_t* count = &counts[y * COLUMNS + x];
            if (fill)
            {
                j->triangles[*count] = triangle;
            }
            *count += 1;
        }
    }
}

static RayJudge MakeJudge(const knPieceSurface* s)
{
    RayJudge j = {.surface = s, .box = knBoundingBox(s->positions, s->vertexCount)};
    j.starts = calloc(COLUMNS * COLUMNS + 1, sizeof(uint32_t));
    uint32_t* at = malloc(COLUMNS * COLUMNS * sizeof(uint32_t));
    assert_true(j.starts && at);
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        VisitColumns(&j, i, j.starts + 1, false);
    }
    for (int i = 0; i < COLUMNS * COLUMNS; ++i)
    {
        j.starts[i + 1] += j.starts[i];
        at[i] = j.starts[i];
    }
    j.triangles = malloc((j.starts[COLUMNS * COLUMNS] + 1) * sizeof(uint32_t));
    assert_non_null(j.triangles);
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        VisitColumns(&j, i, at, true);
    }
    free(at);
    return j;
}

static void DestroyJudge(RayJudge* j)
{
    free(j->starts);
    free(j->triangles);
}

static double Turn(knDVec3 a, knDVec3 b, knDVec3 p)
{
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

typedef enum Verdict
{
    verdictOutside,
    verdictInside,
    verdictUnsure // too near to a triangle, or the ray too near to an edge
} Verdict;

static Verdict Judge(const RayJudge* j, knVec3 point, double band)
{
    knDVec3 p = knToDouble(point);
    int column = ColumnOf(point.y, j->box.lower.y, j->box.upper.y) * COLUMNS +
                 ColumnOf(point.x, j->box.lower.x, j->box.upper.x);
    bool inside = false;
    for (uint32_t i = j->starts[column]; i < j->starts[column + 1]; ++i)
    {
        const uint32_t* v = j->surface->triangles[j->triangles[i]].v;
        knDVec3 a = knToDouble(j->surface->positions[v[0]]);
        knDVec3 b = knToDouble(j->surface->positions[v[1]]);
        knDVec3 c = knToDouble(j->surface->positions[v[2]]);
        double u = Turn(b, c, p), w = Turn(c, a, p), t = Turn(a, b, p);
        double area = u + w + t;
        if (Turn(a, b, c) == 0.0)
        {
            // on edge along the ray: its neighbours decide
            continue;
        }
        double least = band * band;
        if (fabs(u) < least || fabs(w) < least || fabs(t) < least)
        {
            return verdictUnsure;
        }
        if ((u > 0.0) != (w > 0.0) || (w > 0.0) != (t > 0.0))
        {
            continue;
        }
        double z = (u * a.z + w * b.z + t * c.z) / area;
        if (fabs(z - p.z) < band)
        {
            return verdictUnsure;
        }
        inside = z > p.z ? !inside : inside;
    }
    return inside ? verdictInside : verdictOutside;
}

// Surfaces of all pieces in one arena.
typedef struct Broken
{
    TestModel model;
    knFamily* family;
    knArena arena;
    uint32_t pieces[64];
    uint32_t count;
    knPieceSurface surfaces[64];
    RayJudge judges[64];
} Broken;

static void OpenBroken(Broken* b, const char* name, uint32_t pieceCount)
{
    b->model = OpenDemoModel(name);
    knFamilyDef def = knDefaultFamilyDef();
    def.model = b->model.model;
    def.exactSpheres = true;
    b->family = NULL;
    assert_int_equal(knCreateFamily(&b->family, &def, NULL), kn_success);
    BreakInto(b->family, pieceCount, 17);
    b->count = ListPieces(b->family, b->pieces, 64);
    assert_int_equal(knCreateArena(&b->arena, (size_t)256 << 20, NULL), kn_success);
    knPieceOptions options = knDefaultPieceOptions();
    for (uint32_t i = 0; i < b->count; ++i)
    {
        assert_int_equal(knFragmentSet_Surface(knFamily_Fragments(b->family), b->pieces[i],
                                               &options, &b->arena, &b->surfaces[i]),
                         kn_success);
        b->judges[i] = MakeJudge(&b->surfaces[i]);
    }
}

static void CloseBroken(Broken* b)
{
    for (uint32_t i = 0; i < b->count; ++i)
    {
        DestroyJudge(&b->judges[i]);
    }
    knDestroyArena(&b->arena);
    knDestroyFamily(b->family);
    CloseModel(&b->model);
}

static const char* const objects[] = {"bunny", "plate", "brick", "piggy"};

static void InsideIsWhatTheSurfaceSays(void** state)
{
    (void)state;
    static Broken b;
    for (size_t o = 0; o < COUNT_OF(objects); ++o)
    {
        OpenBroken(&b, objects[o], 10);
        float radius = knModel_Radius(b.model.model);
        knRandom random = knMakeRandom(o + 1);
        uint32_t judged = 0, inside = 0, wrong = 0;
        for (uint32_t i = 0; i < POINT_COUNT; ++i)
        {
            uint32_t k = i % b.count;
            knVec3 p = knRandom_InBox(&random, knBox_Expand(b.judges[k].box, 0.02f * radius));
            // cut points are rounded to single precision, and so are the surfaces that judge
            Verdict verdict = Judge(&b.judges[k], p, 1e-6 * (double)radius);
            knFieldQuery query = knMakeFieldQuery(knFamily_Field(b.family), b.pieces[k]);
            bool said = knFieldQuery_Inside(&query, p);
            judged += verdict != verdictUnsure;
            inside += verdict == verdictInside;
            wrong += verdict != verdictUnsure && said != (verdict == verdictInside);
        }
        print_message("%s: %u of %u points judged, %u inside, %u wrong\n", objects[o], judged,
                      (uint32_t)POINT_COUNT, inside, wrong);
        assert_true(judged > POINT_COUNT / 100 * 99);
        assert_true(inside > POINT_COUNT / 50);
        if (wrong > 0)
        {
            fail_msg("%s: %u of %u points", objects[o], wrong, judged);
        }
        CloseBroken(&b);
    }
}

static double SegmentDistance(knDVec3 p, knDVec3 a, knDVec3 b)
{
    knDVec3 d = knDSub(b, a);
    double t = fmin(fmax(knDDot(knDSub(p, a), d) / knDDot(d, d), 0.0), 1.0);
    return knDLength(knDSub(p, knDAdd(a, knDScale(t, d))));
}

static double TriangleDistance(knDVec3 p, const knDVec3 v[3])
{
    knDVec3 n = knDCross(knDSub(v[1], v[0]), knDSub(v[2], v[0]));
    double best = fmin(SegmentDistance(p, v[0], v[1]),
                       fmin(SegmentDistance(p, v[1], v[2]), SegmentDistance(p, v[2], v[0])));
    for (int k = 0; k < 3; ++k)
    {
        if (knDDot(knDCross(knDSub(v[(k + 1) % 3], v[k]), knDSub(p, v[k])), n) < 0.0)
        {
            return best;
        }
    }
    return fabs(knDDot(n, knDSub(p, v[0]))) / knDLength(n);
}

static double SurfaceDistance(const knPieceSurface* s, knVec3 p)
{
    double best = 1e30;
    for (uint32_t i = 0; i < s->triangleCount; ++i)
    {
        if ((double)knBox_Distance(TriangleBox(s, i), p) < best)
        {
            knDVec3 v[3];
            for (int k = 0; k < 3; ++k)
            {
                v[k] = knToDouble(s->positions[s->triangles[i].v[k]]);
            }
            best = fmin(best, TriangleDistance(knToDouble(p), v));
        }
    }
    return best;
}

// No sphere that touches is culled, and nine in ten of those that do not are.
static void SpheresAreCulledRightly(void** state)
{
    (void)state;
    static Broken b;
    for (size_t o = 0; o < COUNT_OF(objects); ++o)
    {
        OpenBroken(&b, objects[o], 10);
        float objectRadius = knModel_Radius(b.model.model);
        knRandom random = knMakeRandom(o + 51);
        uint32_t apart = 0, kept = 0;
        for (uint32_t i = 0; i < SPHERE_COUNT; ++i)
        {
            uint32_t k = i % b.count;
            // radii as in a tree: halved from level to level
            float radius = 0.3f * objectRadius * powf(2.0f, -knRandom_Range(&random, 0.0f, 7.0f));
            knVec3 p = knRandom_InBox(&random, knBox_Expand(b.judges[k].box, 2.0f * radius));
            knFieldQuery query = knMakeFieldQuery(knFamily_Field(b.family), b.pieces[k]);
            bool touch = knFieldQuery_SphereTest(&query, p, radius);
            if (Judge(&b.judges[k], p, 1e-6 * (double)objectRadius) != verdictOutside)
            {
                assert_true(touch || Judge(&b.judges[k], p, 1e-6) == verdictUnsure);
                continue;
            }
            double distance = SurfaceDistance(&b.surfaces[k], p);
            if (distance < (double)radius * (1.0 - 1e-5))
            {
                assert_true(touch);
            }
            else if (distance < 3.0 * (double)radius)
            {
                apart += distance > (double)radius;
                kept += distance > (double)radius && touch;
            }
        }
        assert_true(apart > SPHERE_COUNT / 20);
        if (kept * 10 > apart)
        {
            fail_msg("%s: %u of %u spheres that do not touch were kept", objects[o], kept, apart);
        }
        CloseBroken(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(InsideIsWhatTheSurfaceSays),
        cmocka_unit_test(SpheresAreCulledRightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
