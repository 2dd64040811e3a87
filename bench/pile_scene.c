// SPDX-License-Identifier: Zlib
#include "bench/pile_scene.h"

#include <math.h>

#define SCRATCH_BYTES ((size_t)64 << 20)
#define CONTACTS      4096

// Voronoi sites at nodes, each far from those before: cells of about one size.
static void ChooseSites(knPileScene* s, uint32_t count)
{
    const knTetMesh* mesh = knAsset_TetMesh(knModel_Asset(s->kind.model));
    knRandom random = knMakeRandom(5);
    for (uint32_t i = 0; i < count; ++i)
    {
        float best = -1.0f;
        for (int k = 0; k < 8; ++k)
        {
            knVec3 p = mesh->nodes[knRandom_Below(&random, mesh->nodeCount)];
            float nearest = INFINITY;
            for (uint32_t j = 0; j < i; ++j)
            {
                nearest = fminf(nearest, knDistance(p, s->sites[j]));
            }
            if (nearest > best)
            {
                best = nearest;
                s->sites[i] = p;
            }
        }
    }
    s->kind.split = knDefaultSplitDef();
    s->kind.split.kind = kn_splitSites;
    s->kind.split.sites = s->sites;
    s->kind.split.siteCount = count;
}

static knResult Break(knPileScene* s, uint32_t cellCount)
{
    knFamilyDef def = knDefaultFamilyDef();
    def.model = s->kind.model;
    knResult result = knCreateFamily(&s->family, &def, NULL);
    s->fragments[0] = 0;
    s->kind.pieceCount = 1;
    s->kind.isBroken = cellCount > 1;
    if (result != kn_success || cellCount <= 1)
    {
        return result;
    }
    ChooseSites(s, cellCount);
    knSplitResult split;
    result = knFamily_Split(s->family, 0, &s->kind.split, &s->scratch, &split);
    if (result == kn_success && split.delta.fragmentCount > KN_PILE_MAX_PIECES)
    {
        result = knFail(kn_errorLimit, "%u pieces, at most %d", split.delta.fragmentCount,
                        KN_PILE_MAX_PIECES);
    }
    if (result == kn_success)
    {
        s->kind.pieceCount = split.delta.fragmentCount;
        for (uint32_t i = 0; i < split.delta.fragmentCount; ++i)
        {
            s->fragments[i] = split.delta.fragments[i];
        }
    }
    knArena_Reset(&s->scratch);
    return result;
}

static knResult MakeMeshes(knPileScene* s)
{
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < s->kind.pieceCount; ++i)
    {
        result =
            knCreatePieceMesh(&s->meshes[i], s->family, s->fragments[i], NULL, &s->scratch, NULL);
    }
    return result;
}

knResult knCreatePileScene(knPileScene* scene, const knPileSceneDef* def)
{
    *scene = (knPileScene){.name = def->name,
                           .kind.model = def->model,
                           .objectCount = def->objectCount,
                           .columns = def->columns,
                           .spacing = def->spacing,
                           .spread = def->spread,
                           .isTurned = def->isTurned,
                           .ballCount = def->ballCount,
                           .ballRadius = def->ballRadius};
    knResult result = knCreateArena(&scene->scratch, SCRATCH_BYTES, NULL);
    result = result == kn_success ? Break(scene, def->cellCount) : result;
    result = result == kn_success ? MakeMeshes(scene) : result;
    if (result != kn_success)
    {
        knDestroyPileScene(scene);
        return result;
    }
    scene->kind.family = scene->family;
    scene->kind.fragments = scene->fragments;
    scene->kind.meshes = scene->meshes;
    return kn_success;
}

void knDestroyPileScene(knPileScene* scene)
{
    for (uint32_t i = 0; i < KN_PILE_MAX_PIECES; ++i)
    {
        knDestroyPieceMesh(&scene->meshes[i]);
    }
    knDestroyFamily(scene->family);
    knDestroyArena(&scene->scratch);
    *scene = (knPileScene){0};
}

uint32_t knPileScene_PieceCount(const knPileScene* scene)
{
    return scene->objectCount * scene->kind.pieceCount;
}

// The middle of the object, the same for all its pieces.
static knVec3 Middle(const knPileScene* s)
{
    return knBox_Center(knAsset_Info(knModel_Asset(s->kind.model))->bounds);
}

static knVec3 Place(const knPileScene* s, uint32_t index)
{
    uint32_t layer = index / (s->columns * s->columns), cell = index % (s->columns * s->columns);
    float half = 0.5f * (float)(s->columns - 1);
    float radius = knModel_Radius(s->kind.model);
    return knMakeVec3(((float)(cell % s->columns) - half) * s->spacing.x,
                      1.2f * radius * s->spread + (float)layer * s->spacing.y,
                      ((float)(cell / s->columns) - half) * s->spacing.z);
}

knResult knPileScene_Fill(const knPileScene* s, knPileWorld* world)
{
    knRandom random = knMakeRandom(11);
    knVec3 middle = Middle(s);
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < s->objectCount; ++i)
    {
        knTransform transforms[KN_PILE_MAX_PIECES];
        knVec3 axis = knRandom_UnitVec3(&random);
        knQuat turn = knMakeQuat(axis, s->isTurned ? knRandom_Range(&random, 0.0f, 6.0f) : 0.0f);
        knVec3 place = Place(s, i);
        for (uint32_t k = 0; k < s->kind.pieceCount; ++k)
        {
            knVec3 away = knScale(s->spread - 1.0f, knSub(s->meshes[k].center, middle));
            knVec3 origin = knSub(away, middle);
            transforms[k] = (knTransform){knAdd(place, knRotate(turn, origin)), turn};
        }
        result = knPileWorld_AddObject(world, &s->kind, transforms);
    }
    for (uint32_t i = 0; result == kn_success && i < s->ballCount; ++i)
    {
        float x = knRandom_Range(&random, -0.06f, 0.06f),
              z = knRandom_Range(&random, -0.06f, 0.06f);
        float top = Place(s, s->objectCount - 1).y + 0.1f;
        result = knPileWorld_AddBall(world, knMakeVec3(x, top + 0.1f * (float)i, z), s->ballRadius,
                                     2500.0f);
    }
    return result;
}

static knResult PairDepth(knPileScene* s, const knQueryPiece* a, const knQueryPiece* b,
                          double* depth)
{
    static knPairContact contacts[CONTACTS];
    knContactLimits limits = knDefaultContactLimits();
    limits.full = true;
    limits.margin = 0.0f;
    limits.edgeContacts = 0;
    knPairState state = {0};
    knPairResult pair;
    knResult result = knQueryPair(a, b, &limits, &state, &s->scratch, contacts, CONTACTS, &pair);
    for (uint32_t i = 0; result == kn_success && i < pair.count; ++i)
    {
        *depth = fmax(*depth, -(double)contacts[i].contact.distance);
    }
    return result;
}

static double FloorDepth(const knPieceMesh* mesh, knTransform transform)
{
    double depth = 0.0;
    for (uint32_t i = 0; i < mesh->vertexCount; ++i)
    {
        knVec3 p = knAdd(mesh->vertices[i].position, mesh->center);
        depth = fmax(depth, -(double)knTransformPoint(transform, p).y);
    }
    return depth;
}

knResult knPileScene_Penetration(knPileScene* s, const knTransform* transforms, double* depth)
{
    uint32_t count = knPileScene_PieceCount(s), per = s->kind.pieceCount;
    *depth = 0.0;
    knResult result = kn_success;
    for (uint32_t i = 0; result == kn_success && i < count; ++i)
    {
        const knPieceMesh* mesh = &s->meshes[i % per];
        knQueryPiece a = {s->family, s->fragments[i % per], transforms[i], NULL};
        knVec3 center = knTransformPoint(transforms[i], mesh->center);
        *depth = fmax(*depth, FloorDepth(mesh, transforms[i]));
        for (uint32_t k = 0; result == kn_success && k < i; ++k)
        {
            const knPieceMesh* other = &s->meshes[k % per];
            knVec3 otherCenter = knTransformPoint(transforms[k], other->center);
            if (knDistance(center, otherCenter) < mesh->radius + other->radius)
            {
                knQueryPiece b = {s->family, s->fragments[k % per], transforms[k], NULL};
                result = PairDepth(s, &a, &b, depth);
            }
        }
    }
    return result;
}
