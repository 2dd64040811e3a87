// SPDX-License-Identifier: Zlib
#include "cast_sweep_internal.h"

#define ROUNDS 16

// Before their convex hulls touch, two pieces do not, nor do a piece and a shape. That time is
// found in few steps, whatever the number of triangles: most sweeps end there, and of the others
// those parts of the way that come before are left out. Only whole parts: a search that began right
// at the touch gave contacts that landings gained energy from.

// How fast a piece comes along a direction by turning: (w x r) n = r (n x w).
static double TurnReach(const knPieceMesh* mesh, const knMat3* rotation, knVec3 way)
{
    knVec3 local = knMulMV(knTranspose(*rotation), way);
    if (knLengthSquared(local) == 0.0f)
    {
        return 0.0;
    }
    float reach = knDot(local, knPieceMesh_Support(mesh, local));
    return (double)reach + 1e-6 * (double)(mesh->radius * knLength(local));
}

static double ShapeReach(const knSweep* s, knVec3 n)
{
    float turn = knLength(knCross(n, s->motionB.turn));
    return turn > 0.0f ? (double)turn * knShapeRadius(s->shape) : 0.0;
}

static double SpeedAlong(const knSweep* s, const knMat3* a, const knMat3* b, knVec3 n)
{
    double other = s->b ? TurnReach(s->b, b, knCross(n, s->motionB.turn)) : ShapeReach(s, n);
    return TurnReach(s->a, a, knCross(s->motionA.turn, n)) + other - (double)knDot(n, s->move);
}

// The lowest point decides.
static void MeasurePlane(const knSweep* s, const knConvex* a, knTransform atB, knGap* gap)
{
    knVec3 n = knRotate(atB.rotation, s->shape->half);
    knVec3 low = knPieceMesh_Support(s->a, knMulMV(knTranspose(a->rotation), knNeg(n)));
    low = knAdd(knMulMV(a->rotation, low), a->position);
    *gap = (knGap){.normal = knToDouble(n)};
    gap->bound = (double)knDot(n, knSub(low, atB.position)) - (double)s->shape->offset;
}

static void Measure(const knSweep* s, const knConvex* a, knTransform atB, knGapSearch* search,
                    knGap* gap)
{
    if (s->shape && s->shape->kind == kn_shapePlane)
    {
        MeasurePlane(s, a, atB, gap);
        return;
    }
    knConvex b = s->b ? knMakeConvexPiece(s->b, atB) : knMakeConvexShape(s->shape, atB);
    if (knLengthSquared(search->guess) == 0.0f)
    {
        search->guess = knSub(a->position, atB.position);
    }
    knSearchGap(a, &b, search, gap);
}

double knSweep_FreeTime(const knSweep* s)
{
    knVec3 turnB = s->motionB.turn;
    double radiusB = s->b ? (double)s->b->radius : 0.0;
    if (!s->b && knLengthSquared(turnB) > 0.0f)
    {
        radiusB = knShapeRadius(s->shape);
    }
    double growth = (double)knLengthSquared(s->motionA.turn) * (double)s->a->radius +
                    (double)knLengthSquared(turnB) * radiusB;
    knGapSearch search = {.guess = s->guesses[0], .enough = s->tolerance + s->rounding};
    double t = 0.0;
    for (int i = 0; i < ROUNDS && t <= 1.0; ++i)
    {
        knTransform atB = knMotion_At(&s->motionB, (float)t);
        knConvex a = knMakeConvexPiece(s->a, knMotion_At(&s->motionA, (float)t));
        knGap gap;
        Measure(s, &a, atB, &search, &gap);
        double room = gap.bound - s->rounding;
        // nearer than the tolerance is a touch
        if (room <= 2.0 * s->tolerance)
        {
            break;
        }
        search.guess = knToFloat(gap.normal);
        knMat3 rotationB = knMat3FromQuat(atB.rotation);
        double speed = SpeedAlong(s, &a.rotation, &rotationB, search.guess);
        t += knTimeToUse(room - s->tolerance, speed, growth);
    }
    return t;
}
