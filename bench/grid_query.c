// SPDX-License-Identifier: Zlib
#include "bench/grid_query.h"

#include <math.h>

typedef struct GridWalk
{
    const knQueryPiece* other;
    const knPieceGrid* grid;
    knBox box;       // of the other
    knMat3 rotation; // from the sampled piece to the other
    knVec3 offset;
    float turn; // as in the query of pieces
    knSphereQuery tree;
    knSphereBatch batch;
    uint8_t side;
    bool isDone;
} GridWalk;

typedef struct GridRun
{
    GridWalk walks[2];
    float epsilon, margin;
    uint32_t target, limit;
    bool isDeep, isStopped;
    knPairContact* contacts;
    knPairResult* result;
} GridRun;

static void AddContact(GridRun* run, const GridWalk* walk, knVec3 p, const knPieceSample* s,
                       uint32_t feature)
{
    knPairResult* result = run->result;
    result->counters.found += 1;
    if (run->isDeep && !(s->distance < -run->epsilon))
    {
        return;
    }
    knPairContact* kept = &run->contacts[result->count++];
    kept->contact.point = knTransformPoint(walk->other->transform, p);
    kept->contact.normal = knRotate(walk->other->transform.rotation, knNormalize(s->gradient));
    kept->contact.distance = s->distance;
    kept->contact.feature = feature << 2 | walk->side;
    kept->side = walk->side;
    kept->kind = kn_contactPoint;
    result->counters.kept += 1;
    run->isDeep = result->count >= run->target;
    run->isStopped = result->count == run->limit;
}

// One sample answers all three questions: inside, how deep, can the sphere touch. It is not taken
// from the cache: reading it again costs no more.
static void TestNode(GridRun* run, GridWalk* walk, uint32_t i)
{
    knSphereBatch* batch = &walk->batch;
    knVec3 p = {batch->x[i], batch->y[i], batch->z[i]};
    knVec3 q = knAdd(knMulMV(walk->rotation, p), walk->offset);
    float margin = run->isDeep ? 0.0f : run->margin;
    float radius = batch->radius[i];
    float reach = run->isDeep ? fmaxf(radius - run->epsilon, 0.0f) : radius + run->margin;
    run->result->counters.points += batch->first[i];
    // pieces of one object: nothing is deeper than it has moved
    float calm = 0.999f * run->epsilon - walk->turn * radius;
    if (run->isDeep && calm > 0.0f && knLengthSquared(knSub(q, p)) < calm * calm)
    {
        batch->descend[i] = 0;
        return;
    }
    // most spheres end at the box, which is nearer than where the grid begins
    if (knBox_Distance(walk->box, q) > fmaxf(reach, margin))
    {
        batch->descend[i] = 0;
        return;
    }
    knPieceSample s = knPieceGrid_Sample(walk->grid, q);
    if (batch->first[i] && s.distance < margin)
    {
        AddContact(run, walk, q, &s, batch->point[i]);
    }
    bool inside = s.distance < 0.0f;
    batch->descend[i] = inside || (radius > 0.0f && s.distance - s.error <= reach);
    batch->cache[i] = s.distance;
}

static void StepWalk(GridRun* run, GridWalk* walk)
{
    if (walk->isDone)
    {
        return;
    }
    walk->isDone = !knSphereQuery_Next(&walk->tree, &walk->batch);
    for (uint32_t i = 0; !walk->isDone && !run->isStopped && i < walk->batch.count; ++i)
    {
        TestNode(run, walk, i);
        run->result->counters.visits += 1;
    }
}

static bool BeginWalk(GridWalk* walk, const knQueryPiece pieces[2], const knPieceGrid* grid,
                      uint8_t side, knArena* scratch)
{
    const knQueryPiece *sampled = &pieces[side], *other = &pieces[1 - side];
    const knSphereForest* forest = knFamily_Forest(sampled->family);
    uint32_t points = knSphereForest_Fragment(forest, sampled->fragment).pointCount;
    knSphereQueryItem* items = knArena_Allocate(scratch, points, sizeof *items);
    knTransform t = knInvMulTransforms(other->transform, sampled->transform);
    walk->other = other;
    walk->grid = grid;
    walk->box = knFragmentField_Box(knFamily_Field(other->family), other->fragment);
    walk->rotation = knMat3FromQuat(t.rotation);
    walk->offset = t.position;
    knVec3 axis = {t.rotation.x, t.rotation.y, t.rotation.z};
    walk->turn = sampled->family == other->family ? 2.0f * knLength(axis) : INFINITY;
    walk->side = side;
    walk->isDone = false;
    walk->batch.count = 0;
    if (items)
    {
        knSphereQuery_Begin(&walk->tree, forest, knFamily_Cuts(sampled->family), sampled->fragment,
                            items, points);
    }
    return items != NULL;
}

static float PieceRadius(const knQueryPiece* piece)
{
    knBox box = knFragmentField_Box(knFamily_Field(piece->family), piece->fragment);
    return 0.5f * knLength(knBox_Extent(box));
}

knResult knQueryGridPair(const knQueryPiece pieces[2], const knPieceGrid* const grids[2],
                         const knContactLimits* limits, knArena* scratch, knPairContact* contacts,
                         uint32_t capacity, knPairResult* result)
{
    size_t mark = knArena_Mark(scratch);
    GridRun* run = knArena_Allocate(scratch, 1, sizeof(GridRun));
    bool fits = run && BeginWalk(&run->walks[0], pieces, grids[1], 0, scratch) &&
                BeginWalk(&run->walks[1], pieces, grids[0], 1, scratch);
    if (!fits || capacity < limits->contacts + limits->growth)
    {
        knArena_Rewind(scratch, mark);
        return knFail(kn_errorMemory, "the arena or the array of contacts is too small");
    }
    float radius = fminf(PieceRadius(&pieces[0]), PieceRadius(&pieces[1]));
    *result = (knPairResult){0};
    run->epsilon = limits->epsilon * radius;
    run->margin = limits->margin * radius;
    run->target = limits->contacts;
    run->limit = limits->contacts + limits->growth;
    run->isDeep = false;
    run->isStopped = false;
    run->contacts = contacts;
    run->result = result;
    while (!run->isStopped && !(run->walks[0].isDone && run->walks[1].isDone))
    {
        StepWalk(run, &run->walks[0]);
        if (!run->isStopped)
        {
            StepWalk(run, &run->walks[1]);
        }
    }
    result->isFull = run->isDeep;
    knArena_Rewind(scratch, mark);
    return kn_success;
}
