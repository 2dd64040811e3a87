// SPDX-License-Identifier: Zlib
#include "cast_sweep_internal.h"

#define ROUNDS 16

// Before their convex hulls touch, two pieces do not. That time is found in few steps, whatever
// the number of triangles; most sweeps end there, and the others begin there, with the plane that
// parts the hulls.

// How fast a piece comes along a direction by turning: (w x r) n = r (n x w).
static double TurnReach(const knPieceMesh* mesh, const knConvex* hull, knVec3 way)
{
    knVec3 local = knMulMV(knTranspose(hull->rotation), way);
    if (knLengthSquared(local) == 0.0f)
    {
        return 0.0;
    }
    float reach = knDot(local, knPieceMesh_Support(mesh, local));
    return (double)reach + 1e-6 * (double)(mesh->radius * knLength(local));
}

static double SpeedAlong(const knSweep* s, const knConvex* a, const knConvex* b, knVec3 n)
{
    return TurnReach(s->a, a, knCross(s->motionA.turn, n)) +
           TurnReach(s->b, b, knCross(n, s->motionB.turn)) - (double)knDot(n, s->move);
}

double knSweep_FreeTime(knSweep* s)
{
    double growth = (double)knLengthSquared(s->motionA.turn) * (double)s->a->radius +
                    (double)knLengthSquared(s->motionB.turn) * (double)s->b->radius;
    knGapSearch search = {.guess = s->guesses[0], .enough = s->tolerance};
    double t = 0.0;
    for (int i = 0; i < ROUNDS && t <= 1.0; ++i)
    {
        knTransform atA = knMotion_At(&s->motionA, (float)t);
        knTransform atB = knMotion_At(&s->motionB, (float)t);
        knConvex a = knMakeConvexPiece(s->a, atA), b = knMakeConvexPiece(s->b, atB);
        if (knLengthSquared(search.guess) == 0.0f)
        {
            search.guess = knSub(atA.position, atB.position);
        }
        knGap gap;
        knSearchGap(&a, &b, &search, &gap);
        // nearer than the tolerance is a touch
        if (gap.bound <= 2.0 * s->tolerance)
        {
            break;
        }
        search.guess = s->guesses[0] = knToFloat(gap.normal);
        double speed = SpeedAlong(s, &a, &b, search.guess);
        t += knTimeToUse(gap.bound - s->tolerance, speed, growth);
    }
    return t;
}
