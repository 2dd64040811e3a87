// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#define PROBE_SHARE 0.02f // of the smaller radius: how far a probe goes
#define PULL        0.25f // towards the middle, of a probe's length

// The nearest way out is not always the way back. Where the edge of one face lies on the edge of
// another, as in a stack of bricks, the nearest way out of a point is sideways, and the contact
// would push a body along its own outside instead of into itself. Such a normal shows when the
// point, moved a little along it, leaves its own body. The face that was meant is found from a
// point a little further in.

// Distance and direction at a point of the world; false when it is not near.
static bool Sample(const knPairSide* side, knFieldQuery* field, knVec3 p, float margin,
                   knFieldContact* contact)
{
    if (side->kind == kn_sideShape)
    {
        knVec3 local = knInvTransformPoint(side->motion.start, p);
        contact->distance = knShape_Distance(side->shape, local, &contact->normal);
        contact->normal = knRotate(side->motion.start.rotation, contact->normal);
        return contact->distance <= margin;
    }
    knVec3 local = knAdd(knInvTransformPoint(side->motion.start, p), side->mesh->center);
    if (!knFieldQuery_Penetration(field, local, contact) &&
        !(margin > 0.0f && knFieldQuery_Distance(field, local, margin, contact)))
    {
        return false;
    }
    contact->normal = knRotate(side->motion.start.rotation, contact->normal);
    return true;
}

static bool Holds(const knPairSide* side, knFieldQuery* field, knVec3 p)
{
    knVec3 local = knInvTransformPoint(side->motion.start, p);
    if (side->kind == kn_sideShape)
    {
        return knShape_Distance(side->shape, local, NULL) <= 0.0f;
    }
    return knFieldQuery_Inside(field, knAdd(local, side->mesh->center));
}

// Whether the body of the point lies where the normal points to.
static bool PushesInwards(const knNormalCheck* check, const knPairContact* c, knVec3 normal)
{
    const knPairSide* own = check->sides[c->side];
    knVec3 inwards = knNormalize(knSub(own->motion.start.position, c->contact.point));
    knVec3 way = knAddScaled(normal, PULL, inwards);
    knVec3 p = knAddScaled(c->contact.point, check->probe, way);
    return Holds(own, (knFieldQuery*)&check->fields[c->side], p);
}

knNormalCheck knMakeNormalCheck(const knPairSide* piece, const knPairSide* other, float margin)
{
    knNormalCheck check = {.sides = {piece, other}, .margin = margin};
    float radius = piece->mesh->radius;
    check.fields[0] = knMakeFieldQuery(knFamily_Field(piece->family), piece->fragment);
    if (other->kind == kn_sidePiece)
    {
        radius = fminf(radius, other->mesh->radius);
        check.fields[1] = knMakeFieldQuery(knFamily_Field(other->family), other->fragment);
    }
    check.probe = PROBE_SHARE * radius;
    return check;
}

bool knNormalCheck_Mend(knNormalCheck* check, knPairContact* c)
{
    if (PushesInwards(check, c, c->contact.normal))
    {
        return false;
    }
    const knPairSide* other = check->sides[1 - c->side];
    knVec3 p = knAddScaled(c->contact.point, -check->probe, c->contact.normal);
    knFieldContact found;
    if (!Sample(other, &check->fields[1 - c->side], p, check->margin, &found) ||
        !PushesInwards(check, c, found.normal))
    {
        return false;
    }
    c->contact.normal = found.normal;
    c->contact.distance = found.distance;
    return true;
}
