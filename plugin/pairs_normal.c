// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#define PROBE_SHARE 0.02f // of the smaller radius: how far a probe goes
#define PULL        0.25f // towards the middle, of a probe's length

// The nearest way out is not always the way back. Where the edge of one face lies on the edge of
// another, as in a stack of bricks, the nearest way out of a point is sideways, and the contact
// would push a body along its own outside instead of into itself. Such a normal shows when the
// point, moved a little along it, leaves its own body. The face that was meant is found from a
// point a little further in.

// The face next to a point of the world as an endless plane, and how far another point is from it.
// The mesh is exact where the grid rounds edges off.
static bool SampleFace(const knPairSide* side, knVec3 at, knVec3 p, float reach,
                       knFieldContact* contact)
{
    knVec3 local = knInvTransformPoint(side->motion.start, at);
    knVec3 target = knInvTransformPoint(side->motion.start, p);
    if (side->kind == kn_sideShape)
    {
        float distance = knShape_Distance(side->shape, local, &contact->normal);
        contact->distance = distance + knDot(contact->normal, knSub(target, local));
    }
    else
    {
        knClosest closest;
        if (!knClosestToPoint(side->mesh, local, reach, &closest) || closest.triangle == KN_NONE)
        {
            return false;
        }
        knVec3 v[3];
        knPieceMesh_Corners(side->mesh, closest.triangle, v);
        contact->normal = knNormalize(knCross(knSub(v[1], v[0]), knSub(v[2], v[0])));
        contact->distance = knDot(contact->normal, knSub(target, v[0]));
    }
    contact->normal = knRotate(side->motion.start.rotation, contact->normal);
    return fabsf(contact->distance) < reach;
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

knNormalCheck knMakeNormalCheck(const knPairSide* piece, const knPairSide* other, float epsilon)
{
    knNormalCheck check = {.sides = {piece, other}};
    float radius = piece->mesh->radius;
    check.fields[0] = knMakeFieldQuery(knFamily_Field(piece->family), piece->fragment);
    if (other->kind == kn_sidePiece)
    {
        radius = fminf(radius, other->mesh->radius);
        check.fields[1] = knMakeFieldQuery(knFamily_Field(other->family), other->fragment);
    }
    check.probe = PROBE_SHARE * radius;
    check.epsilon = epsilon * radius;
    return check;
}

// Along both bodies, away from the edge: what the two directions to the middles have in common.
static knVec3 AwayFromEdge(const knNormalCheck* check, knVec3 p)
{
    knVec3 a = knNormalize(knSub(check->sides[0]->motion.start.position, p));
    knVec3 b = knNormalize(knSub(check->sides[1]->motion.start.position, p));
    return knNormalize(knAdd(a, b));
}

// Takes the normal of a face further in.
static bool Replace(knNormalCheck* check, knPairContact* c)
{
    knVec3 p = c->contact.point;
    knVec3 q = knAddScaled(p, check->probe, AwayFromEdge(check, p));
    knFieldContact found;
    if (!SampleFace(check->sides[1 - c->side], q, p, check->probe, &found) ||
        !PushesInwards(check, c, found.normal))
    {
        return false;
    }
    c->contact.normal = found.normal;
    c->contact.distance = found.distance;
    return true;
}

knNormalVerdict knNormalCheck_Judge(knNormalCheck* check, knPairContact* c)
{
    if (PushesInwards(check, c, c->contact.normal))
    {
        return kn_normalGood;
    }
    if (Replace(check, c))
    {
        return kn_normalMended;
    }
    // what has no face behind it counts once it is deep: a thin edge may look like this and must
    // not pass
    return c->contact.distance > -check->epsilon ? kn_normalVain : kn_normalGood;
}
