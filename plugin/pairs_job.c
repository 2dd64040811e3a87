// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#include "family_internal.h"

#include <string.h>

#define FRONT 0.05f // of the smaller radius: room that a front looks for around its points
#define BRISK 0.01f // the same: what moves further in a step gets less room, but so much
#define AHEAD 2.0f  // steps that this lasts

static knQueryPiece MakePiece(const knPairSide* side)
{
    // the mesh has the asset's axes and its origin in the centre of mass
    knTransform t = side->motion.start;
    t.position = knSub(t.position, knRotate(t.rotation, side->mesh->center));
    return (knQueryPiece){
        .family = side->family, .fragment = side->fragment, .transform = t, .mesh = side->mesh};
}

static size_t Align(size_t bytes)
{
    return (bytes + KN_CACHE_LINE - 1) & ~(size_t)(KN_CACHE_LINE - 1);
}

size_t knPairBytes(const knPairInput* input, uint32_t capacity)
{
    int first = knPairInput_PieceSide(input);
    const knPairSide* other = &input->sides[1 - first];
    knQueryPiece a = MakePiece(&input->sides[first]);
    size_t bytes = Align(capacity * sizeof(knPairContact)) + Align(capacity * sizeof(knChoice));
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

// A look costs the more, the more room it asks for, and what moves has used it up soon.
static float FrontRoom(const knPairInput* input)
{
    float radius = fminf(input->sides[0].mesh->radius, input->sides[1].mesh->radius);
    float moves = knPairInput_Moves(input), most = FRONT * radius, least = BRISK * radius;
    return moves < least ? most : fminf(AHEAD * moves, most);
}

static knResult QueryPieces(const knPairJob* job, knPairContact* contacts, knPairResult* result)
{
    knQueryPiece a = MakePiece(&job->input->sides[0]), b = MakePiece(&job->input->sides[1]);
    if (a.family->isBehind || b.family->isBehind)
    {
        return knFail(kn_errorArgument, "a family was cut and not yet followed");
    }
    knPart part = {0};
    knQueryFront* front = knPairCache_Front(job);
    if (front && front->isKnown)
    {
        knPart_RenewSlabs(&part, job->input, job->cache);
    }
    else if (!job->limits->full)
    {
        knPart_FindSlabs(&part, job->input, job->cache->axis);
        knPart_KeepSlabs(&part, job->input, job->cache);
    }
    knPairQuery query = {.pieces = {&a, &b},
                         .limits = job->limits,
                         .state = job->state,
                         .scratch = job->scratch,
                         .contacts = contacts,
                         .capacity = job->capacity,
                         .front = front,
                         .frontRoom = FrontRoom(job->input),
                         .slabCount = part.slabCount};
    memcpy(query.slabs, part.slabs, sizeof query.slabs);
    return knPairQuery_Run(&query, result);
}

static knResult Query(const knPairJob* job, knPairContact* contacts, knPairResult* result)
{
    int first = knPairInput_PieceSide(job->input);
    const knPairSide* other = &job->input->sides[1 - first];
    knQueryPiece a = MakePiece(&job->input->sides[first]);
    job->state->room = knPairCache_Room(job);
    switch (other->kind)
    {
    case kn_sidePiece:
        return QueryPieces(job, contacts, result);
    case kn_sideShape:
        return knQueryShapeOnMesh(&a, job->input->sides[first].mesh, other->shape,
                                  other->motion.start, job->limits, job->state, job->scratch,
                                  contacts, job->capacity, result);
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

static void MendNormals(const knPairJob* job, knPairContact* contacts, uint32_t count)
{
    int first = knPairInput_PieceSide(job->input);
    const knPairSide* other = &job->input->sides[1 - first];
    if (count == 0 || !HasEdges(other))
    {
        return;
    }
    knNormalCheck check = knMakeNormalCheck(&job->input->sides[first], other);
    for (uint32_t i = 0; i < count; ++i)
    {
        job->counters->mended += knNormalCheck_Mend(&check, &contacts[i]);
    }
}

static knResult RunQuery(const knPairJob* job, uint32_t* count)
{
    knPairContact* contacts = knArena_Allocate(job->scratch, job->capacity, sizeof(knPairContact));
    knChoice* choices = knArena_Allocate(job->scratch, job->capacity, sizeof(knChoice));
    if (!contacts || !choices)
    {
        return kn_errorMemory;
    }
    knPairResult result = {0};
    knResult done = Query(job, contacts, &result);
    if (done != kn_success)
    {
        return done;
    }
    MendNormals(job, contacts, result.count);
    knPairCache_HoldNormals(job, contacts, result.count, result.radius);
    knPairJob_FindWayOut(job, contacts, result.count, result.radius);
    int first = knPairInput_PieceSide(job->input);
    knPairJob_Choose(job, contacts, result.count, result.radius, choices);
    *count = 0;
    for (uint32_t i = 0; i < result.count; ++i)
    {
        if (choices[i].isChosen && choices[i].isWanted)
        {
            job->touches[(*count)++] = MakeTouch(&contacts[i], first);
        }
    }
    if (*count > 0)
    {
        // where the first one is, the two are thinnest
        job->cache->axis = job->touches[0].normal;
    }
    knKeptTouch linger[KN_MAX_LINGER];
    uint32_t lingerCount;
    *count = knPairCache_Linger(job, *count, linger, &lingerCount);
    knPairCache_Keep(job, contacts, choices, &result);
    knPairCache_KeepLinger(job, linger, lingerCount);
    CountQuery(job->counters, &result);
    return kn_success;
}

// Contacts of the moment, and whether the step must be looked at ahead.
static knResult FindNow(const knPairJob* job, uint32_t* count, bool* isFast)
{
    float left;
    *isFast = knPairInput_IsFast(job->input, false);
    if (knPairCache_Answer(job, &left, count) && (*count > 0 || !*isFast))
    {
        job->counters->kept += 1;
        return kn_success;
    }
    *count = 0;
    if (!job->limits->full)
    {
        knPart part = knMakePart(job->input, job->limits, job->cache->axis, *isFast);
        if (part.room > part.margin)
        {
            knKeptTouch linger[KN_MAX_LINGER];
            uint32_t lingerCount;
            *count = knPairCache_Linger(job, 0, linger, &lingerCount);
            knPairCache_KeepApart(job, &part);
            knPairCache_KeepLinger(job, linger, lingerCount);
            *isFast = *isFast && !knPart_IsEnough(&part, job->input, true);
            job->counters->parted += 1;
            return kn_success;
        }
    }
    return RunQuery(job, count);
}

knResult knPairJob_Run(const knPairJob* job, uint32_t* count)
{
    bool isFast;
    uint32_t found;
    knResult done = FindNow(job, &found, &isFast);
    if (done != kn_success)
    {
        return done;
    }
    *count = isFast ? knPairJob_AddSwept(job, found) : found;
    job->counters->pairs += 1;
    job->counters->touching += *count > 0;
    job->counters->contacts += *count;
    return kn_success;
}
