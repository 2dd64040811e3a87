// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#include <string.h>

static knQueryPiece MakePiece(const knPairSide* side)
{
    // the mesh has the asset's axes and its origin in the centre of mass
    knTransform t = side->motion.start;
    t.position = knSub(t.position, knRotate(t.rotation, side->mesh->center));
    return (knQueryPiece){.family = side->family, .fragment = side->fragment, .transform = t};
}

static size_t Align(size_t bytes)
{
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

static int PieceSide(const knPairInput* input)
{
    return input->sides[0].kind == kn_sidePiece ? 0 : 1;
}

size_t knPairBytes(const knPairInput* input, uint32_t capacity)
{
    int first = PieceSide(input);
    const knPairSide* other = &input->sides[1 - first];
    knQueryPiece a = MakePiece(&input->sides[first]);
    size_t bytes = Align(capacity * sizeof(knPairContact));
    switch (other->kind)
    {
    case kn_sidePiece:
    {
        knQueryPiece b = MakePiece(other);
        return bytes + knQueryBytes(&a, &b);
    }
    case kn_sideShape:
        return bytes + knQueryShapeBytes(&a);
    default:
        return bytes + knQueryTrianglesBytes(&a, other->batch->count);
    }
}

static knResult Query(const knPairJob* job, knPairContact* contacts, knPairResult* result)
{
    int first = PieceSide(job->input);
    const knPairSide* other = &job->input->sides[1 - first];
    knQueryPiece a = MakePiece(&job->input->sides[first]);
    switch (other->kind)
    {
    case kn_sidePiece:
    {
        knQueryPiece b = MakePiece(other);
        return knQueryPair(&a, &b, job->limits, job->state, job->scratch, contacts, job->capacity,
                           result);
    }
    case kn_sideShape:
        return knQueryShape(&a, other->shape, other->motion.start, job->limits, job->state,
                            job->scratch, contacts, job->capacity, result);
    default:
        return knQueryTriangles(&a, other->batch, job->limits, job->state, job->scratch, contacts,
                                job->capacity, result);
    }
}

// `first` is the engine's side of what the query calls 0.
static knTouch MakeTouch(const knPairContact* c, int first)
{
    int side = c->side ^ first;
    knVec3 normal = side == 0 ? c->contact.normal : knNeg(c->contact.normal);
    knTouch touch = {
        .normal = normal, .distance = c->contact.distance, .feature = c->contact.feature};
    touch.points[side] = c->contact.point;
    touch.points[1 - side] =
        knAddScaled(c->contact.point, side == 0 ? -touch.distance : touch.distance, normal);
    return touch;
}

static uint32_t Sweep(const knPairInput* input, knSweepContact* contacts)
{
    int first = PieceSide(input);
    const knPairSide* a = &input->sides[first];
    const knPairSide* b = &input->sides[1 - first];
    switch (b->kind)
    {
    case kn_sidePiece:
        return knSweepPair(a->mesh, &a->motion, b->mesh, &b->motion, contacts);
    case kn_sideShape:
        return knSweepShape(a->mesh, &a->motion, b->shape, &b->motion, contacts);
    default:
        return knSweepTriangles(a->mesh, &a->motion, b->batch, contacts);
    }
}

// Motion of one side as the other sees it, at the distance of the larger: nothing moves nearer by
// more.
static bool IsFast(const knPairInput* input)
{
    const knPairSide* a = &input->sides[PieceSide(input)];
    const knPairSide* b = &input->sides[1 - PieceSide(input)];
    knMotion relative = a->motion;
    relative.move = knSub(a->motion.move, b->motion.move);
    bool isFast = knMotion_IsFast(&relative, a->mesh);
    if (b->kind == kn_sidePiece)
    {
        relative.turn = b->motion.turn;
        isFast = isFast || knMotion_IsFast(&relative, b->mesh);
    }
    return isFast;
}

static uint32_t AddSwept(const knPairJob* job, uint32_t count)
{
    knSweepContact swept[KN_MAX_SWEEP_CONTACTS];
    uint32_t found = Sweep(job->input, swept);
    int first = PieceSide(job->input);
    for (uint32_t i = 0; i < found && count < job->capacity; ++i)
    {
        const knSweepContact* s = &swept[i];
        knTouch touch = {.normal = first == 0 ? s->normal : knNeg(s->normal),
                         .distance = s->gap,
                         .feature = s->feature,
                         .isSwept = true};
        touch.points[first] = s->pointA;
        touch.points[1 - first] = s->pointB;
        job->touches[count++] = touch;
    }
    job->counters->swept += 1;
    return count;
}

static void CountQuery(knPairsCounters* counters, const knPairResult* result)
{
    knQueryCounters* sum = &counters->query;
    const knQueryCounters* one = &result->counters;
    sum->visits += one->visits;
    sum->points += one->points;
    sum->edges += one->edges;
    sum->found += one->found;
    sum->kept += one->kept;
}

// Round shapes and planes have no edges that a point could leave sideways.
static bool HasEdges(const knPairSide* side)
{
    return side->kind == kn_sidePiece ||
           (side->kind == kn_sideShape && side->shape->kind != kn_shapeSphere &&
            side->shape->kind != kn_shapeCapsule && side->shape->kind != kn_shapePlane);
}

static uint32_t MendNormals(const knPairJob* job, knPairContact* contacts, uint32_t count)
{
    int first = PieceSide(job->input);
    const knPairSide* piece = &job->input->sides[first];
    const knPairSide* other = &job->input->sides[1 - first];
    if (count == 0 || !HasEdges(other))
    {
        return count;
    }
    knNormalCheck check = knMakeNormalCheck(piece, other, job->limits->epsilon);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
    {
        knNormalVerdict verdict = knNormalCheck_Judge(&check, &contacts[i]);
        job->counters->mended += verdict != kn_normalGood;
        contacts[kept] = contacts[i];
        kept += verdict != kn_normalVain;
    }
    return kept;
}

knResult knPairJob_Run(const knPairJob* job, uint32_t* count)
{
    knPairContact* contacts = knArena_Allocate(job->scratch, job->capacity, sizeof(knPairContact));
    if (!contacts)
    {
        return kn_errorMemory;
    }
    knPairResult result = {0};
    knResult done = Query(job, contacts, &result);
    if (done != kn_success)
    {
        return done;
    }
    result.count = MendNormals(job, contacts, result.count);
    int first = PieceSide(job->input);
    for (uint32_t i = 0; i < result.count; ++i)
    {
        job->touches[i] = MakeTouch(&contacts[i], first);
    }
    *count = IsFast(job->input) ? AddSwept(job, result.count) : result.count;
    CountQuery(job->counters, &result);
    job->counters->pairs += 1;
    job->counters->touching += *count > 0;
    job->counters->contacts += *count;
    return kn_success;
}
