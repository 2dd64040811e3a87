// SPDX-License-Identifier: Zlib
#include "shape_internal.h"

#include "family_internal.h"

float knQueryPieceRadius(const knQueryPiece* piece)
{
    knBox box = knFragmentField_Box(piece->family->field, piece->fragment);
    return 0.5f * knLength(knBox_Extent(box));
}

knResult knCheckShapeQuery(const char* name, const knQueryPiece* piece, knTransform transform,
                           const knContactLimits* limits, const void* contacts, uint32_t capacity)
{
    if (!piece || !piece->family || !contacts || capacity == 0)
    {
        return knFail(kn_errorArgument, "%s: the piece, its family or the results are null", name);
    }
    if (piece->family->isBehind)
    {
        return knFail(kn_errorArgument, "%s: the family was cut and not yet followed", name);
    }
    if (!knIsFiniteTransform(transform) || !knIsFiniteTransform(piece->transform))
    {
        return knFail(kn_errorArgument, "%s: a transform is not finite", name);
    }
    return knValidateContactLimits(limits);
}

void knShapeRun_Begin(knShapeRun* run, const knQueryPiece* piece, knTransform transform,
                      float radius, knSphereQueryItem* items)
{
    const knFamily* family = piece->family;
    knTransform t = knInvMulTransforms(transform, piece->transform);
    run->piece = piece;
    run->toWorld = transform;
    run->rotation = knMat3FromQuat(t.rotation);
    run->offset = t.position;
    run->batch.count = 0;
    run->field = knMakeFieldQuery(family->field, piece->fragment);
    run->box = knFragmentField_Box(family->field, piece->fragment);
    run->epsilon = run->limits->epsilon * radius;
    run->margin = run->limits->margin * radius;
    run->nextFeature = 0;
    run->featureCount = 0;
    run->isDeep = false;
    run->isStopped = false;
    run->isWalked = false;
    run->result = (knPairResult){0};
    knSphereQuery_Begin(&run->tree, &family->forest, &family->cuts, piece->fragment, items,
                        knSphereForest_Fragment(&family->forest, piece->fragment).pointCount);
}

void knShapeRun_SetLimits(knShapeRun* run, const knPairState* state, uint32_t capacity)
{
    const knContactLimits* limits = run->limits;
    uint32_t m = state->contacts > limits->contacts ? state->contacts : limits->contacts;
    m = m < limits->maxContacts ? m : limits->maxContacts;
    run->target = limits->full || m > capacity ? capacity : m;
    uint32_t grown = run->target + (limits->full ? 0 : limits->growth);
    grown = grown < limits->maxContacts || limits->full ? grown : limits->maxContacts;
    run->limit = grown < capacity ? grown : capacity;
}

// As between pieces: m goes up at once and down slowly.
void knShapeRun_UpdateState(const knShapeRun* run, knPairState* state)
{
    if (run->limits->full)
    {
        return;
    }
    uint32_t count = run->result.count;
    uint32_t m = run->target;
    state->quiet = count >= m ? 0 : state->quiet + 1;
    m = count > m ? count : m;
    if (state->quiet > run->limits->decay && m > run->limits->contacts)
    {
        m -= 1;
        state->quiet = 0;
    }
    state->contacts = m;
}

static void Add(knShapeRun* run, const knPairContact* contact)
{
    knPairResult* result = &run->result;
    result->counters.found += 1;
    if (run->isDeep && !(contact->contact.distance < -run->epsilon))
    {
        return;
    }
    if (result->count < run->limit)
    {
        run->contacts[result->count++] = *contact;
        result->counters.kept += 1;
    }
    if (!run->limits->full && !run->isDeep && result->count >= run->target)
    {
        // enough for the solver; from here on only what it would leave too deep
        run->isDeep = true;
        run->isStopped = run->limit == run->target;
    }
    else
    {
        run->isStopped = result->count == run->limit;
    }
    result->isFull = run->isDeep || run->isStopped;
}

void knShapeRun_AddPoint(knShapeRun* run, knVec3 p, float distance, knVec3 normal, uint32_t feature,
                         knContactKind kind)
{
    knPairContact c = {.side = 0, .kind = (uint8_t)kind};
    c.contact.point = knTransformPoint(run->piece->transform, p);
    c.contact.normal = knRotate(run->toWorld.rotation, normal);
    c.contact.distance = distance;
    c.contact.feature = feature << 2 | (uint32_t)kind << 1;
    Add(run, &c);
}

void knShapeRun_AddFeature(knShapeRun* run, knVec3 p, const knFieldContact* contact,
                           uint32_t feature, knContactKind kind)
{
    knPairContact c = {.side = 1, .kind = (uint8_t)kind};
    c.contact.point = knTransformPoint(run->piece->transform, p);
    c.contact.normal = knRotate(run->piece->transform.rotation, contact->normal);
    c.contact.distance = contact->distance;
    c.contact.feature = feature << 2 | (uint32_t)kind << 1 | 1u;
    Add(run, &c);
}
