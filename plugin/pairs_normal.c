// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#include "shape_internal.h"

#define PROBE_SHARE 0.02f  // of the smaller radius: faces so near to a point may be meant
#define SLACK_SHARE 0.002f // the same; ways out that differ by less are as good
#define TOUCH_SHARE 1e-4f  // of a radius: triangles so near to a point of their own piece hold it
#define MAX_ALONG   0.3f   // cosine; a contact may push along an own face, not out of it

// The nearest way out is not always the way back. Where the edge of one face lies on the edge of
// another, as in a stack of bricks, the nearest way out of a point is sideways: the contact would
// push a body along its own outside instead of into itself. Such a normal has one of the point's
// own faces in front of it. What is meant then is a face of the other body near the point that has
// none.

typedef struct OwnFaces
{
    const knPieceMesh* mesh;
    knVec3 normal; // of the contact, in the frame of the mesh
    bool isGood;
} OwnFaces;

static knVec3 FaceNormal(const knVec3 v[3])
{
    return knNormalize(knCross(knSub(v[1], v[0]), knSub(v[2], v[0])));
}

static bool TestOwnFace(const knVec3 v[3], uint32_t triangle, void* user)
{
    (void)triangle;
    OwnFaces* own = user;
    own->isGood = knDot(FaceNormal(v), own->normal) <= MAX_ALONG;
    return own->isGood;
}

// Whether the normal, in the world, pushes the piece of the point into itself.
static bool PushesInwards(const knPairSide* side, knVec3 point, knVec3 normal)
{
    OwnFaces own = {.mesh = side->mesh,
                    .normal = knInvRotate(side->motion.start.rotation, normal),
                    .isGood = true};
    knVec3 p = knInvTransformPoint(side->motion.start, point);
    knBox box = knBox_Expand((knBox){p, p}, TOUCH_SHARE * side->mesh->radius);
    knForEachTriangle(side->mesh, box, TestOwnFace, &own);
    return own.isGood;
}

typedef struct FaceSearch
{
    const knPairSide* own;
    const knPairSide* other;
    knVec3 world; // the point
    knVec3 p;     // in the frame of the other's mesh
    float best;   // distance to the face
    float most;   // no way out is shorter than the nearest one: beyond it, only a plane is near
    knFieldContact found;
} FaceSearch;

static bool TryFace(const knVec3 v[3], uint32_t triangle, void* user)
{
    (void)triangle;
    FaceSearch* search = user;
    // the face, not its plane: planes of faces elsewhere pass anywhere
    float weights[3];
    float far = knDistance(search->p, knNearestOnTriangle(search->p, v, weights));
    if (far < search->best)
    {
        knVec3 normal = FaceNormal(v);
        float distance = knDot(normal, knSub(search->p, v[0]));
        knVec3 world = knRotate(search->other->motion.start.rotation, normal);
        if (distance <= search->most && PushesInwards(search->own, search->world, world))
        {
            search->best = far;
            search->found.distance = distance;
            search->found.normal = world;
        }
    }
    return true;
}

static bool FindFace(const knNormalCheck* check, const knPairContact* c, knFieldContact* found)
{
    const knPairSide* other = check->sides[1 - c->side];
    FaceSearch search = {.own = check->sides[c->side],
                         .other = other,
                         .world = c->contact.point,
                         .p = knInvTransformPoint(other->motion.start, c->contact.point),
                         .best = check->probe,
                         .most = c->contact.distance + check->slack};
    knBox box = knBox_Expand((knBox){search.p, search.p}, check->probe);
    knForEachTriangle(other->mesh, box, TryFace, &search);
    *found = search.found;
    return search.best < check->probe;
}

// The same for a shape, from a point away from its edges.
static bool FindShapeFace(const knNormalCheck* check, const knPairContact* c, knFieldContact* found)
{
    const knPairSide* shape = check->sides[1];
    knVec3 p = knInvTransformPoint(shape->motion.start, c->contact.point);
    knVec3 inwards = knNormalize(knNeg(p));
    knVec3 mine = knNormalize(knSub(check->sides[0]->motion.start.position, c->contact.point));
    mine = knInvRotate(shape->motion.start.rotation, mine);
    knVec3 q = knAddScaled(p, check->probe, knNormalize(knAdd(inwards, mine)));
    knVec3 normal;
    float distance = knShape_Distance(shape->shape, q, &normal) + knDot(normal, knSub(p, q));
    found->distance = distance;
    found->normal = knRotate(shape->motion.start.rotation, normal);
    return fabsf(distance) < check->probe &&
           PushesInwards(check->sides[0], c->contact.point, found->normal);
}

knNormalCheck knMakeNormalCheck(const knPairSide* piece, const knPairSide* other)
{
    knNormalCheck check = {.sides = {piece, other}};
    float radius = piece->mesh->radius;
    if (other->kind == kn_sidePiece)
    {
        radius = fminf(radius, other->mesh->radius);
    }
    check.probe = PROBE_SHARE * radius;
    check.slack = SLACK_SHARE * radius;
    return check;
}

bool knNormalCheck_Mend(const knNormalCheck* check, knPairContact* c)
{
    const knPairSide* own = check->sides[c->side];
    // what is deep has no edge nearby, and a shape's own corners know their faces
    if (own->kind != kn_sidePiece || fabsf(c->contact.distance) > check->probe ||
        PushesInwards(own, c->contact.point, c->contact.normal))
    {
        return false;
    }
    knFieldContact found;
    bool isFound = check->sides[1 - c->side]->kind == kn_sidePiece
                       ? FindFace(check, c, &found)
                       : FindShapeFace(check, c, &found);
    if (isFound)
    {
        c->contact.normal = found.normal;
        c->contact.distance = found.distance;
    }
    return isFound;
}
