// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

#define LANES 8

static uint32_t PointCount(const knQueryPiece* piece)
{
    return knSphereForest_Fragment(&piece->family->forest, piece->fragment).pointCount;
}

static size_t ItemBytes(const knQueryPiece* piece)
{
    size_t bytes = PointCount(piece) * sizeof(knSphereQueryItem);
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

size_t knQueryBytes(const knQueryPiece* a, const knQueryPiece* b)
{
    size_t run = (sizeof(knQueryRun) + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
    return ItemBytes(a) + ItemBytes(b) + run;
}

static float PieceRadius(const knQueryPiece* piece)
{
    knBox box = knFragmentField_Box(piece->family->field, piece->fragment);
    return 0.5f * knLength(knBox_Extent(box));
}

void knQueryRun_Add(knQueryRun* run, const knQueryWalk* walk, knVec3 p,
                    const knFieldContact* contact, uint32_t feature, knContactKind kind)
{
    knPairResult* result = run->result;
    result->counters.found += 1;
    knPairContact* kept = knSelection_Take(&run->selection, contact->distance, result);
    if (kept)
    {
        kept->contact.point = knTransformPoint(walk->other->transform, p);
        kept->contact.normal = knRotate(walk->other->transform.rotation, contact->normal);
        kept->contact.distance = contact->distance;
        kept->contact.feature = feature << 2 | (uint32_t)kind << 1 | walk->side;
        kept->side = walk->side;
        kept->kind = (uint8_t)kind;
    }
}

// In order of the lanes, so that where it stops does not depend on how many are tested at once.
static void TakeContacts(knQueryRun* run, const knQueryWalk* walk, const knVisits8* visits,
                         uint32_t base)
{
    uint8_t found = visits->found;
    for (uint32_t i = 0; found >> i != 0 && !run->selection.isStopped; ++i)
    {
        if (found >> i & 1)
        {
            const knContacts8* c = &visits->contacts;
            knVec3 p = {visits->points.x[i], visits->points.y[i], visits->points.z[i]};
            knFieldContact contact = {.distance = c->distance[i],
                                      .normal = {c->nx[i], c->ny[i], c->nz[i]}};
            knQueryRun_Add(run, walk, p, &contact, walk->batch.point[base + i], kn_contactPoint);
        }
    }
}

static void TestLanes(knQueryRun* run, knQueryWalk* walk, uint32_t base)
{
    knSphereBatch* batch = &walk->batch;
    uint32_t count = batch->count - base < LANES ? batch->count - base : LANES;
    knVisits8 visits;
    visits.mask = 0;
    visits.first = 0;
    visits.margin = run->selection.isDeep ? 0.0f : run->selection.reach;
    visits.depth = run->selection.isDeep ? run->selection.epsilon : 0.0f;
    for (uint32_t i = 0; i < LANES; ++i)
    {
        // lanes that are not in use repeat the last one
        uint32_t k = base + (i < count ? i : count - 1);
        knVec3 p = {batch->x[k], batch->y[k], batch->z[k]};
        bool isNear = i < count && !knQueryWalk_IsBeyond(walk, p, batch->radius[k]);
        visits.mask |= (uint8_t)((isNear ? 1u : 0u) << i);
        knVec3 q = knQueryWalk_ToOther(walk, p);
        visits.points.x[i] = q.x;
        visits.points.y[i] = q.y;
        visits.points.z[i] = q.z;
        visits.first |= (uint8_t)(batch->first[k] << i);
        float radius = batch->radius[k];
        float reach =
            run->selection.isDeep ? radius - run->selection.epsilon : radius + run->selection.reach;
        // nothing hangs below a point of radius 0
        visits.reach[i] = radius > 0.0f ? (reach > 0.0f ? reach : 0.0f) : -1.0f;
    }
    visits.found = visits.descend = 0;
    if (visits.mask)
    {
        knFieldQuery_Visit8(&walk->field, &visits);
    }
    if (visits.found)
    {
        TakeContacts(run, walk, &visits, base);
    }
    run->result->counters.visits += count;
    for (uint32_t i = 0; i < count; ++i)
    {
        batch->descend[base + i] = visits.descend >> i & 1;
        run->result->counters.points += visits.first >> i & 1;
    }
}

static void StepWalk(knQueryRun* run, knQueryWalk* walk)
{
    if (walk->isDone)
    {
        return;
    }
    walk->isDone = !knSphereQuery_Next(&walk->tree, &walk->batch);
    for (uint32_t base = 0; !walk->isDone && !run->selection.isStopped && base < walk->batch.count;
         base += LANES)
    {
        TestLanes(run, walk, base);
    }
}

static void BeginWalk(knQueryWalk* walk, const knQueryPiece* sampled, const knQueryPiece* other,
                      uint8_t side, knSphereQueryItem* items)
{
    knTransform t = knInvMulTransforms(other->transform, sampled->transform);
    walk->sampled = sampled;
    walk->other = other;
    walk->rotation = knMat3FromQuat(t.rotation);
    walk->offset = t.position;
    walk->side = side;
    walk->isDone = false;
    walk->batch.count = 0;
    walk->field = knMakeFieldQuery(other->family->field, other->fragment);
    knSphereQuery_Begin(&walk->tree, &sampled->family->forest, &sampled->family->cuts,
                        sampled->fragment, items, PointCount(sampled));
}

// The half-spaces of the slabs as the walk sees them, a margin and rounding further out.
static void SetBounds(knQueryWalk* walk, const knPairQuery* query, float margin)
{
    knTransform t = walk->sampled->transform;
    walk->boundCount = query->slabCount;
    for (uint32_t i = 0; i < query->slabCount; ++i)
    {
        const knQuerySlab* slab = &query->slabs[i];
        knVec3 n = walk->side == 0 ? slab->axis : knNeg(slab->axis);
        float end = walk->side == 0 ? slab->b : -slab->a;
        float slack = margin + 1e-6f * (fabsf(end) + knLength(t.position));
        walk->bounds[i].normal = knInvRotate(t.rotation, n);
        walk->bounds[i].limit = end - knDot(n, t.position) + slack;
    }
}

static knResult CheckArguments(const knQueryPiece* a, const knQueryPiece* b,
                               const knContactLimits* limits, const void* contacts,
                               uint32_t capacity)
{
    if (!a || !b || !a->family || !b->family || !contacts || capacity == 0)
    {
        return knFail(kn_errorArgument, "knQueryPair: a piece, a family or the results are null");
    }
    if (a->family->isBehind || b->family->isBehind)
    {
        return knFail(kn_errorArgument,
                      "knQueryPair: a family was cut and not yet followed: call knFamily_Follow");
    }
    return knValidateContactLimits(limits);
}

// Each in the other's frame: most pairs that a broad phase finds end here.
static bool AreApart(const knQueryRun* run)
{
    for (int i = 0; i < 2; ++i)
    {
        const knQueryWalk* walk = &run->walks[i];
        knBox other = knFragmentField_Box(walk->other->family->field, walk->other->fragment);
        if (!knBox_Overlaps(knBox_Expand(knQueryWalk_BoxInOther(walk), run->selection.reach),
                            other))
        {
            return true;
        }
    }
    return false;
}

static void Walk(knQueryRun* run)
{
    if (AreApart(run))
    {
        return;
    }
    // both directions in turn, level by level: neither may use up all contacts
    while (!run->selection.isStopped && !(run->walks[0].isDone && run->walks[1].isDone))
    {
        StepWalk(run, &run->walks[0]);
        if (!run->selection.isStopped)
        {
            StepWalk(run, &run->walks[1]);
        }
    }
    for (int i = 0; i < 2; ++i)
    {
        if (run->result->count - run->result->beyond < run->limits->edgeContacts &&
            !run->selection.isStopped)
        {
            knQueryRun_TestEdges(run, &run->walks[i]);
        }
    }
}

knResult knPairQuery_Run(const knPairQuery* query, knPairResult* result)
{
    const knQueryPiece *a = query->pieces[0], *b = query->pieces[1];
    knArena* scratch = query->scratch;
    size_t mark = knArena_Mark(scratch);
    knQueryRun* run = knArena_Allocate(scratch, 1, sizeof(knQueryRun));
    knSphereQueryItem* itemsA = knArena_Allocate(scratch, PointCount(a), sizeof *itemsA);
    knSphereQueryItem* itemsB = knArena_Allocate(scratch, PointCount(b), sizeof *itemsB);
    if (!run || (!itemsA && PointCount(a) > 0) || (!itemsB && PointCount(b) > 0))
    {
        knArena_Rewind(scratch, mark);
        return knFail(kn_errorMemory, "the arena is too small for a query of %u and %u points",
                      PointCount(a), PointCount(b));
    }
    knPairResult found = {0};
    run->limits = query->limits;
    run->result = &found;
    found.radius = fminf(PieceRadius(a), PieceRadius(b));
    run->selection = knMakeSelection(query->limits, query->state, found.radius);
    run->selection.contacts = query->contacts;
    knSelection_Fit(&run->selection, query->capacity);
    BeginWalk(&run->walks[0], a, b, 0, itemsA);
    BeginWalk(&run->walks[1], b, a, 1, itemsB);
    SetBounds(&run->walks[0], query, run->selection.reach);
    SetBounds(&run->walks[1], query, run->selection.reach);
    Walk(run);
    knSelection_End(&run->selection, query->state, &found);
    found.counters.fields[0] = run->walks[0].field.counters;
    found.counters.fields[1] = run->walks[1].field.counters;
    *result = found;
    knArena_Rewind(scratch, mark);
    return kn_success;
}

knResult knQueryPair(const knQueryPiece* a, const knQueryPiece* b, const knContactLimits* limits,
                     knPairState* state, knArena* scratch, knPairContact* contacts,
                     uint32_t capacity, knPairResult* result)
{
    knResult checked = state && scratch && result
                           ? CheckArguments(a, b, limits, contacts, capacity)
                           : knFail(kn_errorArgument, "knQueryPair: an argument is null");
    if (checked != kn_success)
    {
        return checked;
    }
    knPairQuery query = {.pieces = {a, b},
                         .limits = limits,
                         .state = state,
                         .scratch = scratch,
                         .contacts = contacts,
                         .capacity = capacity};
    return knPairQuery_Run(&query, result);
}
