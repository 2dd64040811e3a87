// SPDX-License-Identifier: Zlib
#include "bench/field_scene.h"

#include <math.h>
#include <string.h>

#define SURFACE_BYTES ((size_t)256 << 20) // untouched pages cost nothing
#define SCRATCH_BYTES ((size_t)16 << 20)
#define CONTACTS      64
#define CHECK_SAMPLES 40 // per piece

static knResult MakeBroken(knBreakage* b, const knModel* model, uint32_t pieceCount, uint64_t seed)
{
    knResult result = knCreateBreakage(b, model, pieceCount, seed);
    result = result == kn_success ? knBreakage_CutCells(b) : result;
    return result == kn_success ? knBreakage_Follow(b) : result;
}

static knResult MakeSurfaces(knFieldScene* s)
{
    const knFragmentSet* set = knFamily_Fragments(s->kept.family);
    knPieceOptions options = knDefaultPieceOptions();
    s->pieceCount = knBreakage_Pieces(&s->kept, s->pieces, KN_SCENE_PIECES);
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < s->pieceCount; ++i)
    {
        result = knFragmentSet_Surface(set, s->pieces[i], &options, &s->arena, &s->surfaces[i]);
    }
    return result;
}

static knResult MakeBrick(knFieldScene* s, const knModel* brick)
{
    knPieceOptions options = knDefaultPieceOptions();
    knPieceSurface surface;
    knResult result = knCreateBreakage(&s->brick, brick, 1, 0);
    result = result == kn_success ? knFragmentSet_Surface(knFamily_Fragments(s->brick.family), 0,
                                                          &options, &s->arena, &surface)
                                  : result;
    return result == kn_success ? knPieceGrid_Build(&s->brickGrid, &s->work, &surface,
                                                    knBreakage_GridSpacing(&s->brick))
                                : result;
}

knResult knCreateFieldScene(knFieldScene* scene, const knModel* model, const knModel* brick,
                            uint32_t pieceCount, uint64_t seed)
{
    *scene = (knFieldScene){0};
    knResult result = knCreateArena(&scene->arena, SURFACE_BYTES, NULL);
    result = result == kn_success ? knCreateArena(&scene->scratch, SCRATCH_BYTES, NULL) : result;
    result = result == kn_success ? MakeBroken(&scene->fresh, model, pieceCount, seed) : result;
    result = result == kn_success ? MakeBroken(&scene->kept, model, pieceCount, seed) : result;
    result = result == kn_success ? MakeBroken(&scene->rebuilt, model, pieceCount, seed) : result;
    result = result == kn_success ? knBreakage_RebuildTrees(&scene->rebuilt, true) : result;
    result = result == kn_success ? MakeSurfaces(scene) : result;
    result = result == kn_success ? knFieldScene_RecomputeFields(scene) : result;
    result = result == kn_success ? MakeBrick(scene, brick) : result;
    if (result != kn_success)
    {
        knDestroyFieldScene(scene);
    }
    return result;
}

void knDestroyFieldScene(knFieldScene* scene)
{
    for (uint32_t i = 0; i < scene->pieceCount; ++i)
    {
        knDestroyPieceGrid(&scene->grids[i]);
    }
    knDestroyPieceGrid(&scene->brickGrid);
    knDestroyPieceGridWork(&scene->work);
    knDestroyBreakage(&scene->fresh);
    knDestroyBreakage(&scene->kept);
    knDestroyBreakage(&scene->rebuilt);
    knDestroyBreakage(&scene->brick);
    knDestroyArena(&scene->arena);
    knDestroyArena(&scene->scratch);
    *scene = (knFieldScene){0};
}

knResult knFieldScene_RecomputeFields(knFieldScene* scene)
{
    float spacing = knBreakage_GridSpacing(&scene->kept);
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < scene->pieceCount; ++i)
    {
        result = knPieceGrid_Build(&scene->grids[i], &scene->work, &scene->surfaces[i], spacing);
    }
    return result;
}

knGridCheck knFieldScene_CheckFields(const knFieldScene* scene)
{
    knGridCheck check = {0};
    knRandom random = knMakeRandom(7);
    uint32_t count = 0, compared = 0, other = 0;
    for (uint32_t i = 0; i < scene->pieceCount; ++i)
    {
        const knPieceGrid* g = &scene->grids[i];
        knFieldQuery query = knMakeFieldQuery(knFamily_Field(scene->kept.family), scene->pieces[i]);
        for (uint32_t k = 0; k < CHECK_SAMPLES; ++k)
        {
            uint32_t x = knRandom_Below(&random, g->size[0]);
            uint32_t y = knRandom_Below(&random, g->size[1]);
            uint32_t z = knRandom_Below(&random, g->size[2]);
            knVec3 p = knAddScaled(g->origin, g->spacing, knMakeVec3((float)x, (float)y, (float)z));
            double d = (double)g->distances[((size_t)z * g->size[1] + y) * g->size[0] + x];
            double exact = knSurfaceDistance(&scene->surfaces[i], p);
            double error = fabs(fabs(d) - exact) / (double)g->spacing;
            check.worstError = fmax(check.worstError, error);
            check.meanError += error;
            count += 1;
            if (exact > 0.01 * (double)g->spacing)
            {
                compared += 1;
                other += knFieldQuery_Inside(&query, p) != (d < 0.0);
            }
        }
    }
    check.meanError /= fmax(count, 1.0);
    check.otherSigns = other / fmax(compared, 1.0);
    return check;
}

static knBox PieceBox(const knFieldScene* s, uint32_t piece)
{
    return knFragmentField_Box(knFamily_Field(s->kept.family), s->pieces[piece]);
}

static knQuat RandomTurn(knRandom* random, float radians)
{
    knVec3 axis = knRandom_UnitVec3(random);
    return knMakeQuat(axis, knRandom_Range(random, 0.0f, radians));
}

// Two pieces that broke apart, one of them moved a little: some parts overlap, some gape.
static void PoseNeighbors(knFieldScene* s, uint32_t a, uint32_t b, knRandom* random)
{
    knBox box = PieceBox(s, b);
    knVec3 center = knBox_Center(box);
    float radius = 0.5f * knLength(knBox_Extent(box));
    knQuat turn = RandomTurn(random, 0.01f);
    knVec3 shift =
        knScale(knRandom_Range(random, 0.0f, 0.005f * radius), knRandom_UnitVec3(random));
    knScenePose* pose = &s->poses[s->poseCount++];
    pose->fragments[0] = s->pieces[a];
    pose->fragments[1] = s->pieces[b];
    pose->transforms[0] = knIdentityTransform();
    pose->transforms[1] = knIdentityTransform();
    pose->transforms[1].rotation = turn;
    pose->transforms[1].position = knAdd(knSub(center, knRotate(turn, center)), shift);
}

static knQueryPiece MakePiece(const knFieldScene* s, const knBreakage* object,
                              const knScenePose* pose, int side)
{
    bool isBrick = pose->fragments[side] == KN_NONE;
    return (knQueryPiece){.family = isBrick ? s->brick.family : object->family,
                          .fragment = isBrick ? 0 : pose->fragments[side],
                          .transform = pose->transforms[side]};
}

static const knPieceGrid* FindGrid(const knFieldScene* s, uint32_t fragment)
{
    const knPieceGrid* grid = &s->brickGrid;
    for (uint32_t i = 0; i < s->pieceCount; ++i)
    {
        grid = s->pieces[i] == fragment ? &s->grids[i] : grid;
    }
    return grid;
}

static knResult QueryPose(knFieldScene* s, const knScenePose* pose, knSceneQuery how,
                          knPairResult* found)
{
    const knBreakage* object = how.rebuiltTrees ? &s->rebuilt : &s->kept;
    const knQueryPiece pieces[2] = {MakePiece(s, object, pose, 0), MakePiece(s, object, pose, 1)};
    knContactLimits limits = knDefaultContactLimits();
    limits.edgeContacts = how.edges ? limits.edgeContacts : 0;
    knPairContact contacts[CONTACTS];
    knPairState state = {0};
    if (!how.recomputedFields)
    {
        return knQueryPair(&pieces[0], &pieces[1], &limits, &state, &s->scratch, contacts, CONTACTS,
                           found);
    }
    const knPieceGrid* grids[2] = {FindGrid(s, pose->fragments[0]),
                                   FindGrid(s, pose->fragments[1])};
    return knQueryGridPair(pieces, grids, &limits, &s->scratch, contacts, CONTACTS, found);
}

// Moves a piece towards the middle of the brick until it touches, and a little further.
static knResult PoseOnBrick(knFieldScene* s, uint32_t piece, knRandom* random)
{
    knBox box = PieceBox(s, piece);
    knBox brickBox = knFragmentField_Box(knFamily_Field(s->brick.family), 0);
    float radius = 0.5f * knLength(knBox_Extent(box));
    knVec3 direction = knRandom_UnitVec3(random);
    knScenePose pose = {.fragments = {s->pieces[piece], KN_NONE},
                        .transforms = {knIdentityTransform(), knIdentityTransform()}};
    pose.transforms[0].rotation = RandomTurn(random, 3.0f);
    knVec3 turned = knRotate(pose.transforms[0].rotation, knBox_Center(box));
    knVec3 start = knSub(knBox_Center(brickBox), turned);
    float near = 0.0f, far = radius + 0.5f * knLength(knBox_Extent(brickBox));
    for (int i = 0; i < 24; ++i)
    {
        float middle = 0.5f * (near + far);
        pose.transforms[0].position = knAddScaled(start, middle, direction);
        knPairResult found;
        knResult result = QueryPose(s, &pose, (knSceneQuery){.edges = true}, &found);
        if (result != kn_success)
        {
            return result;
        }
        near = found.count > 0 ? middle : near;
        far = found.count > 0 ? far : middle;
    }
    float depth = knRandom_Range(random, 0.0f, 0.005f * radius);
    pose.transforms[0].position = knAddScaled(start, near - depth, direction);
    s->poses[s->poseCount++] = pose;
    return kn_success;
}

knResult knFieldScene_PoseNeighbors(knFieldScene* scene, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    scene->poseCount = 0;
    for (uint32_t a = 0; a < scene->pieceCount; ++a)
    {
        for (uint32_t b = a + 1; b < scene->pieceCount && scene->poseCount < KN_SCENE_POSES; ++b)
        {
            if (knBox_Overlaps(PieceBox(scene, a), PieceBox(scene, b)))
            {
                PoseNeighbors(scene, a, b, &random);
            }
        }
    }
    return scene->poseCount > 0 ? kn_success : knFail(kn_errorMesh, "no two pieces are neighbours");
}

knResult knFieldScene_PosePairs(knFieldScene* scene, uint32_t count, uint64_t seed)
{
    knRandom random = knMakeRandom(seed);
    knResult result = kn_success;
    scene->poseCount = 0;
    for (uint32_t tries = 0; scene->poseCount < count / 2 && tries < 100 * count; ++tries)
    {
        uint32_t a = knRandom_Below(&random, scene->pieceCount);
        uint32_t b = knRandom_Below(&random, scene->pieceCount);
        if (a != b && knBox_Overlaps(PieceBox(scene, a), PieceBox(scene, b)))
        {
            PoseNeighbors(scene, a, b, &random);
        }
    }
    while (result == kn_success && scene->poseCount < count)
    {
        result = PoseOnBrick(scene, knRandom_Below(&random, scene->pieceCount), &random);
    }
    return result;
}

static void AddFields(knQueryCounters* sum, const knQueryCounters* found)
{
    enum
    {
        count = sizeof(knFieldCounters) / sizeof(uint64_t)
    };
    for (int side = 0; side < 2; ++side)
    {
        uint64_t to[count], from[count];
        memcpy(to, &sum->fields[side], sizeof to);
        memcpy(from, &found->fields[side], sizeof from);
        for (int i = 0; i < count; ++i)
        {
            to[i] += from[i];
        }
        memcpy(&sum->fields[side], to, sizeof to);
    }
}

knResult knFieldScene_Query(knFieldScene* scene, knSceneQuery how, knQueryCounters* counters)
{
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < scene->poseCount; ++i)
    {
        knPairResult found;
        result = QueryPose(scene, &scene->poses[i], how, &found);
        if (result == kn_success && counters)
        {
            counters->visits += found.counters.visits;
            counters->points += found.counters.points;
            counters->found += found.counters.found;
            counters->kept += found.counters.kept;
            AddFields(counters, &found.counters);
        }
    }
    return result;
}
