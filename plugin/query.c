// SPDX-License-Identifier: Zlib
#include "query_internal.h"

#include "family_internal.h"

#define LANES KN_SPHERE_LANES

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
    return ItemBytes(a) + ItemBytes(b) + run + knQueryCrossBytes(a) + knQueryCrossBytes(b);
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
void knQueryRun_TakeVisits(knQueryRun* run, const knQueryWalk* walk, const knVisits8* visits,
                           const uint32_t points[8])
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
            knQueryRun_Add(run, walk, p, &contact, points[i], kn_contactPoint);
        }
    }
}

// Eight at a time, also beyond the end: a batch is filled up to whole lanes. Every lane has the
// bits of knQueryWalk_ToOther.
static void LoadLanes(const knQueryRun* run, const knQueryWalk* walk, uint32_t base,
                      knVisits8* visits)
{
    const knMat3* m = &walk->rotation;
    const float *x = walk->batch.x + base, *y = walk->batch.y + base, *z = walk->batch.z + base;
    const float* radius = walk->batch.radius + base;
    const knSelection* selection = &run->selection;
    float more = selection->isDeep ? -selection->epsilon : selection->reach;
    for (int i = 0; i < LANES; ++i)
    {
        float px = x[i] * m->cx.x + y[i] * m->cy.x + z[i] * m->cz.x;
        float py = x[i] * m->cx.y + y[i] * m->cy.y + z[i] * m->cz.y;
        float pz = x[i] * m->cx.z + y[i] * m->cy.z + z[i] * m->cz.z;
        visits->points.x[i] = px + walk->offset.x;
        visits->points.y[i] = py + walk->offset.y;
        visits->points.z[i] = pz + walk->offset.z;
    }
    for (int i = 0; i < LANES; ++i)
    {
        float reach = radius[i] + more;
        reach = reach > 0.0f ? reach : 0.0f;
        // nothing hangs below a point of radius 0
        visits->reach[i] = radius[i] > 0.0f ? reach : -1.0f;
    }
}

// Lanes below which nothing can be deeper than epsilon. Pieces of one object do not overlap where
// they broke, so a point is never deeper in the other than the two have moved against each other:
// what a fresh break leaves to look for once there are contacts enough.
static uint8_t CalmLanes(const knQueryRun* run, const knQueryWalk* walk, uint32_t base,
                         const knVisits8* visits)
{
    const knSphereBatch* batch = &walk->batch;
    uint8_t calm = 0;
    for (int i = 0; i < LANES; ++i)
    {
        float x = visits->points.x[i] - batch->x[base + (uint32_t)i];
        float y = visits->points.y[i] - batch->y[base + (uint32_t)i];
        float z = visits->points.z[i] - batch->z[base + (uint32_t)i];
        float limit =
            0.999f * run->selection.epsilon - walk->turn * batch->radius[base + (uint32_t)i];
        calm |= (uint8_t)((limit > 0.0f && x * x + y * y + z * z < limit * limit) << i);
    }
    return calm;
}

static void TestLanes(knQueryRun* run, knQueryWalk* walk, uint32_t base)
{
    knSphereBatch* batch = &walk->batch;
    const knSelection* selection = &run->selection;
    uint32_t count = batch->count - base < LANES ? batch->count - base : LANES;
    knVisits8 visits;
    visits.mask = 0;
    visits.first = 0;
    visits.margin = selection->isDeep ? 0.0f : selection->reach;
    visits.depth = selection->isDeep ? selection->epsilon : 0.0f;
    LoadLanes(run, walk, base, &visits);
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t k = base + i;
        knVec3 p = {batch->x[k], batch->y[k], batch->z[k]};
        bool isNear = !knQueryWalk_IsBeyond(walk, p, batch->radius[k]);
        visits.mask |= (uint8_t)((isNear ? 1u : 0u) << i);
        visits.first |= (uint8_t)(batch->first[k] << i);
        run->result->counters.points += batch->first[k];
    }
    if (selection->isDeep && walk->turn < 1.0f)
    {
        visits.mask &= (uint8_t)~CalmLanes(run, walk, base, &visits);
    }
    visits.found = visits.descend = 0;
    if (visits.mask)
    {
        knFieldQuery_Visit8(&walk->field, &visits);
    }
    if (visits.found)
    {
        knQueryRun_TakeVisits(run, walk, &visits, batch->point + base);
    }
    run->result->counters.visits += count;
    for (uint32_t i = 0; i < count; ++i)
    {
        batch->descend[base + i] = visits.descend >> i & 1;
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
    // |R - I| = 2 sin(angle / 2), and the vector of the quaternion is the sine
    walk->turn = sampled->family != other->family
                     ? INFINITY
                     : 2.0f * sqrtf(t.rotation.x * t.rotation.x + t.rotation.y * t.rotation.y +
                                    t.rotation.z * t.rotation.z);
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
        knBox own = knBox_Expand(knQueryWalk_BoxInOther(walk), run->selection.reach);
        if (!knBox_Overlaps(own, other))
        {
            return true;
        }
    }
    return false;
}

// Where nothing else holds the two apart: an edge through what has none, and no point nearby.
static void TestEdges(knQueryRun* run, void test(knQueryRun*, knQueryWalk*))
{
    for (int i = 0; i < 2 && run->limits->edgeContacts > 0; ++i)
    {
        if (run->result->count == run->result->beyond && !run->selection.isStopped)
        {
            test(run, &run->walks[i]);
        }
    }
}

static void Walk(knQueryRun* run, knArena* scratch)
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
    knQueryRun_TestCorners(run, &run->walks[0]);
    knQueryRun_TestCorners(run, &run->walks[1]);
    knQueryRun_TestCrossings(run, scratch);
    TestEdges(run, knQueryRun_TestEdges);
}

static void BeginRun(knQueryRun* run, const knPairQuery* query)
{
    *run->result = (knPairResult){0};
    run->result->radius = fminf(PieceRadius(query->pieces[0]), PieceRadius(query->pieces[1]));
    run->selection = knMakeSelection(query->limits, query->state, run->result->radius);
    run->selection.contacts = query->contacts;
    knSelection_Fit(&run->selection, query->capacity);
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
    run->frontRoom = query->frontRoom;
    run->front = query->front;
    BeginRun(run, query);
    BeginWalk(&run->walks[0], a, b, 0, itemsA);
    BeginWalk(&run->walks[1], b, a, 1, itemsB);
    run->boundMargin = run->selection.reach;
    SetBounds(&run->walks[0], query, run->boundMargin);
    SetBounds(&run->walks[1], query, run->boundMargin);
    if (run->front && knQueryRun_TestFront(run))
    {
        knQueryRun_TestCrossings(run, scratch);
        TestEdges(run, knQueryRun_TestFrontEdges);
    }
    else
    {
        // also what did not fit into a front
        BeginRun(run, query);
        Walk(run, scratch);
    }
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
