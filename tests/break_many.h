// SPDX-License-Identifier: Zlib
#pragma once

// Seeded hits by the hundred on the demo objects, each followed by hits on what is left: every
// promise of the pieces holds after every event.

#include "break_kit.h"

#include "cook.h"

// Instances take one to five of them each until so many have fallen.
#define HITS (IS_SLOW ? 6 : 200)

// The doctor's search for self-intersections takes longest: one instance in so many.
#define DOCTOR_EVERY (IS_SLOW ? 3 : 17)

typedef struct Tally
{
    uint32_t events, broken, pieces, most;
} Tally;

static knBreaker* breaker;
static knArena arena;

static inline int SetUp(void** state)
{
    (void)state;
    return knCreateBreaker(&breaker, NULL) != kn_success ||
           knCreateArena(&arena, (size_t)4 << 20, NULL) != kn_success;
}

static inline int TearDown(void** state)
{
    (void)state;
    knDestroyBreaker(breaker);
    knDestroyArena(&arena);
    return 0;
}

// Somewhere on the piece's surface, inwards within a cone.
static inline knImpact RandomHit(const knFamily* family, uint32_t piece, knRandom* random)
{
    knArena_Reset(&arena);
    knPieceSurface s = SurfaceOfPiece(family, piece, &arena);
    const uint32_t* v = s.triangles[knRandom_Below(random, s.triangleCount)].v;
    knVec3 a = s.positions[v[0]], b = s.positions[v[1]], c = s.positions[v[2]];
    knVec3 inwards = knNormalize(knCross(knSub(c, a), knSub(b, a)));
    knVec3 direction = knNormalize(knAddScaled(inwards, 0.5f, knRandom_UnitVec3(random)));
    return MakeHit(knScale(1.0f / 3.0f, knAdd(a, knAdd(b, c))), direction);
}

static inline uint32_t HeaviestPiece(const knFamily* family)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    uint32_t best = KN_NONE;
    for (uint32_t i = 0; i < set->fragmentCount; ++i)
    {
        const knFragment* f = &set->fragments[i];
        if (f->state != kn_fragmentEnded &&
            (best == KN_NONE || f->mass.mass > set->fragments[best].mass.mass))
        {
            best = i;
        }
    }
    return best;
}

// Hard enough for some pieces: the energy pays for cracks of a share of the object's surface.
static inline void HitPiece(knFamily* family, uint32_t piece, knRandom* random, Tally* tally)
{
    const knAssetInfo* info = knAsset_Info(knModel_Asset(knFamily_Model(family)));
    knImpact hit = RandomHit(family, piece, random);
    knBreakDef def = knDefaultBreakDef();
    def.fragment = piece;
    def.impacts = &hit;
    def.impactCount = 1;
    def.seed = knRandom_U64(random);
    def.maxPieces = 40;
    // found with so soft a hit that nothing breaks
    knVec3 direction = hit.impulse;
    hit.impulse = knScale(1e-6f, direction);
    knBreakResult result = BreakPiece(breaker, family, &def);
    assert_int_equal(result.pieceCount, 1);
    double wanted = 0.4 * info->area * knFindMaterialPreset("ceramic")->fractureEnergy;
    double impulse = 1e-6 * sqrt(wanted / fmax(result.cracks.energy, 1e-30));
    impulse = fmax(impulse, 2.4e-6 * result.breakingShare);
    impulse *= (double)knRandom_Range(random, 0.5f, 1.5f);
    hit.impulse = knScale((float)fmin(impulse, 1e6), direction);
    result = BreakPiece(breaker, family, &def);
    tally->events += 1;
    tally->broken += result.pieceCount > 1;
    tally->pieces += result.pieceCount;
    tally->most = result.pieceCount > tally->most ? result.pieceCount : tally->most;
}

// Self-intersections and all else the doctor knows of.
static inline void AskDoctor(const knPieceSurface* surface)
{
    knSoup soup = knMakeSoup(NULL);
    uint32_t index;
    assert_int_equal(knSoup_AddAttribute(&soup, (knCornerAttribute){.u = 0.0f}, &index),
                     kn_success);
    for (uint32_t i = 0; i < surface->vertexCount; ++i)
    {
        assert_int_equal(knSoup_AddPosition(&soup, surface->positions[i], &index), kn_success);
    }
    for (uint32_t i = 0; i < surface->triangleCount; ++i)
    {
        const knTriangle corners = {{0, 0, 0}};
        assert_int_equal(knSoup_AddTriangle(&soup, surface->triangles[i], corners, i), kn_success);
    }
    knDoctorOptions options = knDefaultDoctorOptions();
    options.repair = false;
    options.severalComponents = true; // a hollow piece
    knDoctorReport report;
    assert_int_equal(knTreatSoup(&soup, &options, &report), kn_success);
    for (int i = 0; i < kn_defectCount; ++i)
    {
        if (report.defects[i].count > 0 && i != kn_defectSeveralComponents && i != kn_defectScale)
        {
            print_error("a piece has %s\n", knDefectName((knDefectKind)i));
            fail();
        }
    }
    knDestroySoup(&soup);
}

static inline void AskDoctorOfAll(const knFamily* family)
{
    uint32_t pieces[1024];
    uint32_t count = ListPieces(family, pieces, 1024);
    for (uint32_t i = 0; i < count; ++i)
    {
        knArena_Reset(&arena);
        knPieceSurface surface = SurfaceOfPiece(family, pieces[i], &arena);
        AskDoctor(&surface);
    }
}

static inline void BreakInstance(const TestModel* model, uint64_t seed, bool doctor, Tally* tally)
{
    knRandom random = knMakeRandom(seed);
    knFamily* family = MakeFamily(model);
    uint32_t breaks = 1 + knRandom_Below(&random, 5);
    for (uint32_t i = 0; i < breaks; ++i)
    {
        HitPiece(family, HeaviestPiece(family), &random, tally);
    }
    AssertPiecesSound(family, &arena);
    // an edge is cut at most once in all breaks together
    const knCutStore* cuts = knFamily_Cuts(family);
    for (uint32_t i = 0; i < cuts->pointCount; ++i)
    {
        assert_int_equal(cuts->edgeCuts[cuts->points[i].edge], i);
    }
    if (doctor)
    {
        AskDoctorOfAll(family);
    }
    knDestroyFamily(family);
}

static inline void BreakMany(const char* name)
{
    TestModel model = OpenDemoModel(name);
    Tally tally = {0};
    for (int i = 0; tally.events < HITS; ++i)
    {
        BreakInstance(&model, 1000 + (uint64_t)i, i % DOCTOR_EVERY == 0, &tally);
    }
    print_message("%s: %u events, %u broke, %.1f pieces each, %u at most\n", name, tally.events,
                  tally.broken, (double)tally.pieces / tally.events, tally.most);
    assert_true(tally.broken * 2 > tally.events);
    CloseModel(&model);
}
