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
    run->nextFeature = 0;
    run->featureCount = 0;
    run->isWalked = false;
    run->result = (knPairResult){.radius = radius};
    knSphereQuery_Begin(&run->tree, &family->forest, &family->cuts, piece->fragment, items,
                        knSphereForest_Fragment(&family->forest, piece->fragment).pointCount);
}

static void Add(knShapeRun* run, const knPairContact* contact)
{
    run->result.counters.found += 1;
    knPairContact* place =
        knSelection_Take(&run->selection, contact->contact.distance, &run->result);
    if (place)
    {
        *place = *contact;
    }
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
