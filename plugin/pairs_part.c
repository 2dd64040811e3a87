// SPDX-License-Identifier: Zlib
#include "pairs_internal.h"

#include "cast_internal.h"

// Most pairs that a broad phase finds do not touch. A plane between the two says so: by the balls
// around them, by their boxes, by their convex hulls, whichever is the first that does. How far
// they are apart is also how far they may move before anybody needs to look again.

typedef struct Side
{
    knMat3 rotation;
    knVec3 center; // of the box, in the world
    knVec3 half;   // of the box
} Side;

static Side MakeSide(const knPairSide* side)
{
    knBox box = side->mesh->nodes[0].box;
    Side s = {.rotation = knMat3FromQuat(side->motion.start.rotation),
              .half = knScale(0.5f, knBox_Extent(box))};
    s.center = knAdd(knMulMV(s.rotation, knBox_Center(box)), side->motion.start.position);
    return s;
}

static float Reach(const Side* side, knVec3 n)
{
    return fabsf(knDot(n, side->rotation.cx)) * side->half.x +
           fabsf(knDot(n, side->rotation.cy)) * side->half.y +
           fabsf(knDot(n, side->rotation.cz)) * side->half.z;
}

static void TryAxis(knPart* part, float room, knVec3 axis)
{
    if (room > part->room)
    {
        part->room = room;
        part->axis = axis;
    }
}

// Along the sides of both boxes.
static void PartBoxes(const knPairInput* input, knPart* part)
{
    Side a = MakeSide(&input->sides[0]), b = MakeSide(&input->sides[1]);
    knVec3 apart = knSub(a.center, b.center);
    const knVec3 axes[6] = {a.rotation.cx, a.rotation.cy, a.rotation.cz,
                            b.rotation.cx, b.rotation.cy, b.rotation.cz};
    float slack = 1e-5f * (knLength(apart) + knLength(a.half) + knLength(b.half));
    for (int i = 0; i < 6; ++i)
    {
        float along = knDot(axes[i], apart);
        float room = fabsf(along) - Reach(&a, axes[i]) - Reach(&b, axes[i]) - slack;
        TryAxis(part, room, along < 0.0f ? knNeg(axes[i]) : axes[i]);
    }
}

static void PartBalls(const knPairInput* input, knPart* part)
{
    const knPairSide *a = &input->sides[0], *b = &input->sides[1];
    knVec3 apart = knSub(a->motion.start.position, b->motion.start.position);
    float length = knLength(apart);
    float room = length - (a->mesh->radius + b->mesh->radius) * 1.00001f;
    TryAxis(part, room, length > 0.0f ? knScale(1.0f / length, apart) : apart);
}

static knConvex MakeConvex(const knPairSide* side, knVec3 origin)
{
    // relative to one of the two: nothing is lost far from the origin
    knTransform t = side->motion.start;
    t.position = knSub(t.position, origin);
    return side->kind == kn_sidePiece ? knMakeConvexPiece(side->mesh, t)
                                      : knMakeConvexShape(side->shape, t);
}

static float Rounding(const knPairSide* side)
{
    return side->kind == kn_sideShape ? knShapeRounding(side->shape) : 0.0f;
}

static float Size(const knPairSide* side)
{
    return side->kind == kn_sidePiece ? side->mesh->radius : 0.0f;
}

static void PartHulls(const knPairInput* input, float enough, knPart* part)
{
    const knPairSide *a = &input->sides[0], *b = &input->sides[1];
    knVec3 origin = b->motion.start.position;
    knConvex x = MakeConvex(a, origin), y = MakeConvex(b, origin);
    float rounding = Rounding(a) + Rounding(b);
    knGapSearch search = {.guess = part->axis, .enough = (double)(enough + rounding)};
    search.least = (double)rounding;
    if (knLengthSquared(search.guess) == 0.0f)
    {
        search.guess = knSub(a->motion.start.position, origin);
    }
    knGap gap;
    knSearchGap(&x, &y, &search, &gap);
    float far = knLength(knSub(a->motion.start.position, origin)) + Size(a) + Size(b);
    TryAxis(part, (float)gap.bound - rounding - 1e-6f * far, knToFloat(gap.normal));
}

// The furthest point of the piece below the plane.
static void PartPlane(const knPairInput* input, int piece, knPart* part)
{
    const knPairSide *a = &input->sides[piece], *b = &input->sides[1 - piece];
    knVec3 n = b->shape->half;
    knVec3 local =
        knInvRotate(a->motion.start.rotation, knRotate(b->motion.start.rotation, knNeg(n)));
    knVec3 p = knTransformPoint(a->motion.start, knPieceMesh_Support(a->mesh, local));
    knVec3 away = knRotate(b->motion.start.rotation, n);
    float far = knLength(p) + knLength(b->motion.start.position);
    float room = knShape_Distance(b->shape, knInvTransformPoint(b->motion.start, p), &n);
    TryAxis(part, room - 1e-6f * far, piece == 0 ? away : knNeg(away));
}

// What the two can come nearer along the axis in this step.
static float Approach(const knPairInput* input, knVec3 axis)
{
    const knMotion *a = &input->sides[0].motion, *b = &input->sides[1].motion;
    float turn = 0.0f, reach = knDistance(a->start.position, b->start.position) +
                               knLength(knSub(a->move, b->move));
    for (int i = 0; i < 2; ++i)
    {
        // of what turns only as much matters as the other piece can reach
        const knPairSide *side = &input->sides[i], *other = &input->sides[1 - i];
        float arm = side->kind == kn_sidePiece ? side->mesh->radius : reach + Size(other);
        turn += knLength(side->motion.turn) * arm;
    }
    return fmaxf(0.0f, -knDot(axis, knSub(a->move, b->move))) + turn;
}

// Where the pieces end along an axis.
static knQuerySlab MakeSlab(const knPairInput* input, knVec3 axis)
{
    knVec3 ends[2];
    for (int i = 0; i < 2; ++i)
    {
        knTransform t = input->sides[i].motion.start;
        knVec3 local = knInvRotate(t.rotation, i == 0 ? knNeg(axis) : axis);
        ends[i] = knTransformPoint(t, knPieceMesh_Support(input->sides[i].mesh, local));
    }
    return (knQuerySlab){.axis = axis, .a = knDot(axis, ends[0]), .b = knDot(axis, ends[1])};
}

static float Thickness(const knQuerySlab* slab)
{
    return slab->b - slab->a;
}

// The thinnest first.
static void KeepSlab(knPart* part, knQuerySlab slab)
{
    for (uint32_t i = 0; i < part->slabCount; ++i)
    {
        if (Thickness(&slab) < Thickness(&part->slabs[i]))
        {
            knQuerySlab next = part->slabs[i];
            part->slabs[i] = slab;
            slab = next;
        }
    }
    if (part->slabCount < KN_MAX_SLABS)
    {
        part->slabs[part->slabCount++] = slab;
    }
}

void knPart_FindSlabs(knPart* part, const knPairInput* input, knVec3 guess)
{
    const knMotion *a = &input->sides[0].motion, *b = &input->sides[1].motion;
    knMat3 x = knMat3FromQuat(a->start.rotation), y = knMat3FromQuat(b->start.rotation);
    knVec3 apart = knSub(a->start.position, b->start.position);
    knVec3 axes[8] = {x.cx, x.cy, x.cz, y.cx, y.cy, y.cz, knNormalize(apart), guess};
    int count = knLengthSquared(guess) > 0.0f ? 8 : 7;
    for (int i = 0; i < count; ++i)
    {
        bool isTurned = i < 7 && knDot(axes[i], apart) < 0.0f;
        KeepSlab(part, MakeSlab(input, isTurned ? knNeg(axes[i]) : axes[i]));
    }
}

void knPart_KeepSlabs(const knPart* part, const knPairInput* input, knPairCache* cache)
{
    cache->slabCount = part->slabCount;
    for (uint32_t i = 0; i < part->slabCount; ++i)
    {
        cache->slabAxes[i] =
            knInvRotate(input->sides[1].motion.start.rotation, part->slabs[i].axis);
    }
}

void knPart_RenewSlabs(knPart* part, const knPairInput* input, const knPairCache* cache)
{
    for (uint32_t i = 0; i < cache->slabCount; ++i)
    {
        knVec3 axis = knRotate(input->sides[1].motion.start.rotation, cache->slabAxes[i]);
        KeepSlab(part, MakeSlab(input, axis));
    }
}

bool knPart_IsEnough(const knPart* part, const knPairInput* input, bool isFast)
{
    float used = isFast ? Approach(input, part->axis) : 0.0f;
    return part->room > part->margin + used;
}

knPart knMakePart(const knPairInput* input, const knContactLimits* limits, knVec3 guess,
                  bool isFast)
{
    knPart part = {.room = -FLT_MAX};
    int piece = knPairInput_PieceSide(input);
    const knPairSide *a = &input->sides[piece], *b = &input->sides[1 - piece];
    float radius = a->mesh->radius;
    bool isPair = b->kind == kn_sidePiece;
    radius = isPair ? fminf(radius, b->mesh->radius) : radius;
    part.margin = limits->margin * radius;
    if (a->mesh->nodeCount == 0 || b->kind == kn_sideTriangles ||
        (isPair && b->mesh->nodeCount == 0))
    {
        return part;
    }
    if (isPair)
    {
        PartBalls(input, &part);
        if (!knPart_IsEnough(&part, input, isFast))
        {
            PartBoxes(input, &part);
        }
    }
    if (knPart_IsEnough(&part, input, isFast))
    {
        return part;
    }
    if (b->kind == kn_sideShape && b->shape->kind == kn_shapePlane)
    {
        PartPlane(input, piece, &part);
        return part;
    }
    part.axis = knLengthSquared(guess) > 0.0f ? guess : part.axis;
    float used = isFast ? Approach(input, part.axis) : 0.0f;
    PartHulls(input, part.margin + used, &part);
    return part;
}
