// SPDX-License-Identifier: Zlib
#include "bench/breakage.h"

// a break is timed part by part, while the family does it all in one call
#include "plugin/family_internal.h"

#ifdef KN_BENCH_TOOLS
#include "tools/cook.h"
#include "tools/predicates.h"
#endif

#include <math.h>
#include <stdio.h>

#define MAX_SITES  256
#define MAX_PIECES 4096
#define MAX_TRIES  1000

#ifdef KN_BENCH_TOOLS
static knResult Cook(knBenchModel* model, const char* path, const knCookOptions* options)
{
    knInitPredicates();
    knCooked cooked;
    knResult result = knCook(path, options, NULL, &cooked);
    if (result != kn_success)
    {
        return result;
    }
    *model = (knBenchModel){.bytes = cooked.bytes, .size = cooked.size};
    result = knCreateAssetInPlace(&model->asset, model->bytes, model->size, NULL);
    result = result == kn_success ? knCreateModel(&model->model, model->asset, NULL) : result;
    if (result != kn_success)
    {
        knDestroyBenchModel(model);
    }
    return result;
}

knResult knCookBenchModel(knBenchModel* model, const char* path, uint32_t targetTets,
                          double maxEdge)
{
    knCookOptions options = knDefaultCookOptions();
    options.tet.targetTets = targetTets;
    options.tet.maxEdge = maxEdge;
    options.modes.count = 0;
    return Cook(model, path, &options);
}

knResult knCookGameModel(knBenchModel* model, const char* path)
{
    knCookOptions options = knDefaultCookOptions();
    return Cook(model, path, &options);
}
#else
knResult knCookBenchModel(knBenchModel* model, const char* path, uint32_t targetTets,
                          double maxEdge)
{
    (void)model;
    (void)path;
    (void)targetTets;
    (void)maxEdge;
    return knFail(kn_errorArgument, "knap-bench was built without the tools");
}

knResult knCookGameModel(knBenchModel* model, const char* path)
{
    return knCookBenchModel(model, path, 0, 0.0);
}
#endif

void knDestroyBenchModel(knBenchModel* model)
{
    knDestroyModel(model->model);
    knDestroyAsset(model->asset);
    knRelease(NULL, model->bytes, model->size, 1);
    *model = (knBenchModel){0};
}

// A point of the octahedron |a| + |b| + |c| = n, pushed out to the sphere: whoever names the same
// integers writes the same text.
static void WritePoint(FILE* file, const int corner[3], const int sign[3])
{
    double p[3], length = 0.0;
    for (int k = 0; k < 3; ++k)
    {
        p[k] = (double)(sign[k] * corner[k]);
        length += p[k] * p[k];
    }
    double scale = 0.1 / sqrt(length);
    fprintf(file, "v %.7f %.7f %.7f\n", scale * p[0], scale * p[1], scale * p[2]);
}

static void WriteTriangle(FILE* file, int corners[3][3], const int sign[3])
{
    // an odd number of mirrors turns the triangle around
    bool turned = sign[0] * sign[1] * sign[2] < 0;
    for (int k = 0; k < 3; ++k)
    {
        WritePoint(file, corners[turned ? 2 - k : k], sign);
    }
    fputs("f -3 -2 -1\n", file);
}

static void WriteOctant(FILE* file, int n, const int sign[3])
{
    for (int i = 0; i < n; ++i)
    {
        for (int j = 0; i + j < n; ++j)
        {
            int k = n - i - j;
            WriteTriangle(file, (int[3][3]){{i, j, k}, {i + 1, j, k - 1}, {i, j + 1, k - 1}}, sign);
            if (i + j < n - 1)
            {
                int other[3][3] = {{i + 1, j, k - 1}, {i + 1, j + 1, k - 2}, {i, j + 1, k - 1}};
                WriteTriangle(file, other, sign);
            }
        }
    }
}

knResult knWriteSphereObj(const char* path, uint32_t n)
{
    FILE* file = fopen(path, "w");
    if (!file)
    {
        return knFail(kn_errorFile, "%s: cannot be written", path);
    }
    for (int octant = 0; octant < 8; ++octant)
    {
        const int sign[3] = {octant & 1 ? -1 : 1, octant & 2 ? -1 : 1, octant & 4 ? -1 : 1};
        WriteOctant(file, (int)n, sign);
    }
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    return good ? kn_success : knFail(kn_errorFile, "%s: cannot be written", path);
}

static knResult MakeFamily(knBreakage* b)
{
    knFamilyDef def = knDefaultFamilyDef();
    def.model = b->model;
    return knCreateFamily(&b->family, &def, NULL);
}

knResult knCreateBreakage(knBreakage* breakage, const knModel* model, uint32_t pieceCount,
                          uint64_t seed)
{
    *breakage = (knBreakage){.model = model, .seed = seed, .pieceCount = pieceCount};
    knResult result =
        pieceCount <= MAX_SITES ? kn_success : knFail(kn_errorArgument, "too many cells");
    result = result == kn_success ? knCreateArena(&breakage->arena, 1 << 20, NULL) : result;
    return result == kn_success ? MakeFamily(breakage) : result;
}

void knDestroyBreakage(knBreakage* breakage)
{
    knDestroyFamily(breakage->family);
    knDestroyArena(&breakage->arena);
    *breakage = (knBreakage){0};
}

knResult knBreakage_Restore(knBreakage* breakage)
{
    knDestroyFamily(breakage->family);
    breakage->family = NULL;
    return MakeFamily(breakage);
}

uint32_t knBreakage_Pieces(const knBreakage* breakage, uint32_t* pieces, uint32_t capacity)
{
    const knFragmentSet* set = &breakage->family->fragments;
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->fragmentCount; ++i)
    {
        if (set->fragments[i].state != kn_fragmentEnded && count < capacity)
        {
            pieces[count++] = i;
        }
    }
    return count;
}

// Room for the update is made in here, by the family.
static knResult Cut(knBreakage* b, uint32_t fragment, const knSplitDef* def)
{
    knFamily* f = b->family;
    knArena_Reset(&b->arena);
    knResult result =
        knArena_Reserve(&b->arena, knFragmentSet_SplitBytes(&f->fragments, fragment, def));
    result = result == kn_success
                 ? knFragmentSet_Split(&f->fragments, fragment, def, &b->arena, &b->split)
                 : result;
    return result;
}

knResult knBreakage_CutCells(knBreakage* breakage)
{
    const knTetMesh* mesh = breakage->model->cutMesh.mesh;
    knRandom random = knMakeRandom(breakage->seed);
    knVec3 sites[MAX_SITES];
    for (uint32_t i = 0; i < breakage->pieceCount; ++i)
    {
        // nodes are spread like the object's own detail, and never outside
        sites[i] = mesh->nodes[knRandom_Below(&random, mesh->nodeCount)];
    }
    knSplitDef def = knDefaultSplitDef();
    def.kind = kn_splitSites;
    def.sites = sites;
    def.siteCount = breakage->pieceCount;
    def.small = kn_smallMerge;
    def.minVolume = 1e-4 * breakage->family->fragments.fragments[0].mass.volume;
    knResult result = Cut(breakage, 0, &def);
    bool done = result == kn_success && breakage->split.outcome == kn_splitDone;
    return done || result != kn_success ? result : knFail(kn_errorMesh, "nothing was cut");
}

static uint32_t Heaviest(const knBreakage* b)
{
    uint32_t pieces[MAX_PIECES] = {0};
    uint32_t count = knBreakage_Pieces(b, pieces, MAX_PIECES);
    const knFragment* fragments = b->family->fragments.fragments;
    uint32_t heaviest = pieces[0];
    for (uint32_t i = 1; i < count; ++i)
    {
        bool heavier = fragments[pieces[i]].mass.mass > fragments[heaviest].mass.mass;
        heaviest = heavier ? pieces[i] : heaviest;
    }
    return heaviest;
}

knResult knBreakage_CutHeaviest(knBreakage* breakage, knRandom* random)
{
    uint32_t piece = Heaviest(breakage);
    for (int i = 0; i < MAX_TRIES; ++i)
    {
        knSplitDef def = knDefaultSplitDef();
        def.kind = kn_splitPlane;
        def.normal = knRandom_UnitVec3(random);
        knDVec3 center = breakage->family->fragments.fragments[piece].mass.center;
        def.offset = knDot(def.normal, knToFloat(center));
        knResult result = Cut(breakage, piece, &def);
        if (result != kn_success || breakage->split.outcome == kn_splitDone)
        {
            return result;
        }
    }
    return knFail(kn_errorMesh, "the heaviest piece has too few nodes to be cut");
}

knResult knBreakage_UpdateField(knBreakage* breakage)
{
    return knFragmentField_Update(breakage->family->field, &breakage->split.delta);
}

knResult knBreakage_UpdateForest(knBreakage* breakage)
{
    knFamily* f = breakage->family;
    return knSphereForest_Update(&f->forest, &breakage->split.delta, &f->cuts, &f->scratch);
}

knResult knBreakage_FindEdges(knBreakage* breakage)
{
    knArena_Reset(&breakage->family->scratch);
    knFamily_UpdateEdges(breakage->family, &breakage->split.delta);
    breakage->family->isBehind = false;
    return kn_success;
}

knResult knBreakage_Follow(knBreakage* breakage)
{
    knResult result = knBreakage_UpdateField(breakage);
    result = result == kn_success ? knBreakage_UpdateForest(breakage) : result;
    return result == kn_success ? knBreakage_FindEdges(breakage) : result;
}

static knResult RebuildTree(knFamily* f, uint32_t fragment, bool commit)
{
    knSphereRebuild* rebuild = NULL;
    knResult result = knBeginSphereRebuild(&rebuild, &f->forest, &f->cuts, fragment, true, NULL);
    if (result == kn_success)
    {
        knSphereRebuild_Run(rebuild);
        if (commit && !knSphereRebuild_Commit(rebuild, &f->forest))
        {
            result = knFail(kn_errorArgument, "a tree was not swapped in");
        }
        knDestroySphereRebuild(rebuild);
    }
    return result;
}

knResult knBreakage_RebuildTrees(knBreakage* breakage, bool commit)
{
    uint32_t pieces[MAX_PIECES];
    uint32_t count = knBreakage_Pieces(breakage, pieces, MAX_PIECES);
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < count; ++i)
    {
        result = RebuildTree(breakage->family, pieces[i], commit);
    }
    return result;
}

float knBreakage_GridSpacing(const knBreakage* breakage)
{
    return breakage->model->grid.spacing;
}
