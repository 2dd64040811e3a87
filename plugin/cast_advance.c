// SPDX-License-Identifier: Zlib
#include "cast_sweep_internal.h"

#define MAX_ROUNDS   64
#define SHAPE_ROUNDS 6 // bounds of a node against a shape

knTransform knMotion_At(const knMotion* motion, float time)
{
    knTransform t = motion->start;
    t.position = knAddScaled(t.position, time, motion->move);
    float angle = knLength(motion->turn);
    if (angle > 0.0f)
    {
        knQuat turn = knMakeQuat(knScale(1.0f / angle, motion->turn), time * angle);
        t.rotation = knNormalizeQuat(knMulQuat(turn, t.rotation));
    }
    return t;
}

double knTimeToUse(double room, double speed, double growth)
{
    double root = speed * speed + 2.0 * growth * room;
    double below = speed + sqrt(root > 0.0 ? root : 0.0);
    return below > 0.0 ? 2.0 * room / below : 2.0;
}

// Turning bends the way of a point by at most this: what its speed along any direction can gain.
static double Bend(knVec3 turn, double radius)
{
    return (double)knLengthSquared(turn) * radius;
}

// What one pair of convex parts needs at every step.
typedef struct Pair
{
    knSweep* sweep;
    knVec3 a[3];     // in the frame of body a
    const knVec3* b; // in the frame of body b; null for the shape
    double radiusA, radiusB;
} Pair;

double knShapeRadius(const knShape* shape)
{
    knBox box = knShape_Box(shape, knIdentityTransform());
    return (double)knLength(knMax(box.upper, knNeg(box.lower)));
}

// Once there is a touch, another that is earlier by no more than this changes nothing.
double knSweep_Slack(const knSweep* s)
{
    return s->triangleA == KN_NONE ? 0.0 : s->slack;
}

double knSweep_SlackTime(const knSweep* s)
{
    return knSweep_Slack(s) / (s->speed + s->slack);
}

double knSweep_Speed(const knSweep* s)
{
    float turnB = knLength(s->motionB.turn);
    double radiusB = s->b ? (double)s->b->radius : 0.0;
    radiusB = s->shape && turnB > 0.0f ? knShapeRadius(s->shape) : radiusB;
    return (double)knLength(s->move) + (double)knLength(s->motionA.turn) * (double)s->a->radius +
           (double)turnB * radiusB;
}

static Pair MakePair(knSweep* s, uint32_t triangleA, const knVec3* corners)
{
    Pair pair = {.sweep = s, .b = corners};
    knPieceMesh_Corners(s->a, triangleA, pair.a);
    for (int i = 0; i < 3; ++i)
    {
        pair.radiusA = fmax(pair.radiusA, (double)knLength(pair.a[i]));
        pair.radiusB = fmax(pair.radiusB, corners ? (double)knLength(corners[i]) : 0.0);
    }
    bool turns = knLengthSquared(s->motionB.turn) > 0.0f;
    pair.radiusB = corners || !turns ? pair.radiusB : knShapeRadius(s->shape);
    return pair;
}

// A plane has no end for the general method: the lowest corner decides.
static void MeasurePlane(const knShape* plane, knTransform at, const knVec3 a[3], knGap* gap)
{
    knVec3 n = knRotate(at.rotation, plane->half);
    double offset = (double)plane->offset + (double)knDot(n, at.position);
    int lowest = 0;
    for (int i = 1; i < 3; ++i)
    {
        lowest = knDot(n, a[i]) < knDot(n, a[lowest]) ? i : lowest;
    }
    *gap = (knGap){.normal = knToDouble(n), .pointA = knToDouble(a[lowest])};
    gap->bound = knDDot(gap->normal, gap->pointA) - offset;
    gap->distance = fmax(gap->bound, 0.0);
    gap->pointB = knDSub(gap->pointA, knDScale(gap->bound, gap->normal));
}

// A point's speed along a direction by the turning of its body.
static double TurnSpeed(knVec3 turn, knVec3 arm, knDVec3 n)
{
    return knDDot(n, knToDouble(knCross(turn, arm)));
}

// Over all points of the two parts: corners decide.
static double SpeedAlong(const Pair* pair, const knGap* gap, const knVec3* a, const knVec3* b,
                         knTransform atA, knTransform atB)
{
    const knSweep* s = pair->sweep;
    double most = -DBL_MAX, mostB = -DBL_MAX;
    for (int i = 0; i < 3; ++i)
    {
        knVec3 turnA = s->motionA.turn, turnB = s->motionB.turn;
        most = fmax(most, -TurnSpeed(turnA, knSub(a[i], atA.position), gap->normal));
        mostB = b ? fmax(mostB, TurnSpeed(turnB, knSub(b[i], atB.position), gap->normal)) : mostB;
    }
    if (!b)
    {
        mostB = knDLength(knDCross(gap->normal, knToDouble(s->motionB.turn))) * pair->radiusB;
    }
    return most + mostB - knDDot(gap->normal, knToDouble(s->move));
}

// Also the highest speed at which the two come nearer along the normal, at this time.
static double MeasureAt(const Pair* pair, double t, knGap* gap)
{
    const knSweep* s = pair->sweep;
    knTransform atA = knMotion_At(&s->motionA, (float)t), atB = knMotion_At(&s->motionB, (float)t);
    knVec3 a[3], b[3];
    for (int i = 0; i < 3; ++i)
    {
        a[i] = knTransformPoint(atA, pair->a[i]);
        b[i] = pair->b ? knTransformPoint(atB, pair->b[i]) : a[i];
    }
    if (!pair->b && s->shape->kind == kn_shapePlane)
    {
        MeasurePlane(s->shape, atB, a, gap);
        return SpeedAlong(pair, gap, a, NULL, atA, atB);
    }
    knConvex partA = knMakeConvexPoints(a, 3);
    knConvex partB = pair->b ? knMakeConvexPoints(b, 3) : knMakeConvexShape(s->shape, atB);
    knMeasureGap(&partA, &partB, gap);
    return SpeedAlong(pair, gap, a, pair->b ? b : NULL, atA, atB);
}

static bool IsApproaching(const Pair* pair, const knGap* gap, double t)
{
    const knSweep* s = pair->sweep;
    knTransform atA = knMotion_At(&s->motionA, (float)t), atB = knMotion_At(&s->motionB, (float)t);
    knVec3 armA = knSub(knToFloat(gap->pointA), atA.position);
    knVec3 armB = knSub(knToFloat(gap->pointB), atB.position);
    knVec3 v =
        knAdd(s->move, knSub(knCross(s->motionA.turn, armA), knCross(s->motionB.turn, armB)));
    return knDDot(gap->normal, knToDouble(v)) < 0.0;
}

static bool IsFromBehind(const knSweep* s, const knGap* gap)
{
    return s->facing && knDDot(gap->normal, knToDouble(*s->facing)) < 0.0;
}

// The least height of points over a plane through one of the others.
static double Separation(knVec3 n, const knVec3 above[3], const knVec3 below[3])
{
    float low = FLT_MAX, high = -FLT_MAX;
    for (int i = 0; i < 3; ++i)
    {
        low = fminf(low, knDot(n, above[i]));
        high = fmaxf(high, knDot(n, below[i]));
    }
    return (double)low - (double)high;
}

// At a touch the way between two points is mostly rounding, and beside an edge inside a flat face
// it leans: the normal of a face that parts the two as well is better.
static void PreferFace(const Pair* pair, double t, knGap* gap)
{
    const knSweep* s = pair->sweep;
    const knVec3* corners = pair->b;
    if (!corners && s->shape->kind != kn_shapeTriangle)
    {
        return;
    }
    knTransform atA = knMotion_At(&s->motionA, (float)t), atB = knMotion_At(&s->motionB, (float)t);
    knVec3 a[3], b[3];
    for (int i = 0; i < 3; ++i)
    {
        a[i] = knTransformPoint(atA, pair->a[i]);
        b[i] = knTransformPoint(atB, corners ? corners[i] : s->shape->v[i]);
    }
    knVec3 n = knToFloat(gap->normal), candidates[2] = {knTriangleNormal(b), knTriangleNormal(a)};
    float most = 0.5f;
    for (int i = 0; i < 2; ++i)
    {
        float along = knDot(candidates[i], n);
        knVec3 c = along < 0.0f ? knNeg(candidates[i]) : candidates[i];
        if (fabsf(along) > most && Separation(c, a, b) - s->rounding > -s->tolerance)
        {
            most = fabsf(along);
            gap->normal = knToDouble(c);
        }
    }
}

// Conservative advancement: the plane between the two parts cannot be crossed before the gap is
// used up at the highest speed along its normal.
void knSweep_TryPair(knSweep* s, uint32_t triangleA, const knVec3* corners, uint32_t other,
                     double from)
{
    Pair pair = MakePair(s, triangleA, corners);
    double growth = Bend(s->motionA.turn, pair.radiusA) + Bend(s->motionB.turn, pair.radiusB);
    double t = from;
    for (int i = 0; i < MAX_ROUNDS && t < s->best; ++i)
    {
        knGap gap;
        double speed = MeasureAt(&pair, t, &gap);
        double room = gap.bound - s->rounding;
        if (gap.distance <= 0.0 || (room < -s->tolerance && t <= 0.0))
        {
            return; // they overlap from the start: the ordinary query has them
        }
        bool isClose = room <= s->tolerance;
        if ((isClose && IsApproaching(&pair, &gap, t)) || i == MAX_ROUNDS - 1)
        {
            if (!IsFromBehind(s, &gap))
            {
                PreferFace(&pair, t, &gap);
                s->guesses[0] = knToFloat(gap.normal);
                s->best = t;
                s->gap = gap;
                s->triangleA = triangleA;
                s->other = other;
            }
            return;
        }
        s->guesses[1] = knToFloat(gap.normal);
        // to half the tolerance: at the touch itself there is no direction
        t += knTimeToUse(fmax(room - 0.5 * s->tolerance, 0.25 * s->tolerance), speed, growth);
    }
}

typedef struct Ball
{
    knVec3 center; // in the body's frame
    float radius;
} Ball;

static Ball BallAround(const knMeshNode* node)
{
    knVec3 center = knBox_Center(node->box);
    return (Ball){center, 0.5f * knLength(knBox_Extent(node->box)) * 1.00001f};
}

// A box around a node against a plane: what lies flat on it is told from what lies above.
static double PlaneTime(const knSweep* s, const knMeshNode* node)
{
    Ball ball = BallAround(node);
    knVec3 half = knScale(0.5f, knBox_Extent(node->box));
    double growth = Bend(s->motionA.turn, (double)(knLength(ball.center) + ball.radius));
    double t = 0.0;
    for (int i = 0; i < SHAPE_ROUNDS && t < s->best; ++i)
    {
        knTransform atA = knMotion_At(&s->motionA, (float)t);
        knVec3 n = knRotate(s->motionB.start.rotation, s->shape->half);
        knVec3 local = knInvRotate(atA.rotation, n);
        float reach = fabsf(local.x) * half.x + fabsf(local.y) * half.y + fabsf(local.z) * half.z;
        knVec3 p = knTransformPoint(atA, ball.center);
        knVec3 away = knSub(p, knMotion_At(&s->motionB, (float)t).position);
        double room = (double)(knDot(n, away) - s->shape->offset - reach) - s->rounding -
                      s->tolerance - 1e-6 * (double)(knLength(away) + fabsf(s->shape->offset));
        if (room <= 0.0)
        {
            return t;
        }
        knVec3 arm = knSub(p, atA.position);
        float speed = knLength(knCross(n, s->motionA.turn)) * ball.radius -
                      knDot(n, knAdd(s->move, knCross(s->motionA.turn, arm)));
        t += knTimeToUse(room, (double)speed, growth);
    }
    return t;
}

// A ball around a node against the shape: the distance to a convex shape bounds how soon it can
// come.
static double ShapeTime(const knSweep* s, const knMeshNode* node)
{
    if (s->shape->kind == kn_shapePlane && knLengthSquared(s->motionB.turn) == 0.0f)
    {
        return PlaneTime(s, node);
    }
    Ball ball = BallAround(node);
    double t = 0.0;
    for (int i = 0; i < SHAPE_ROUNDS && t < s->best; ++i)
    {
        knTransform atB = knMotion_At(&s->motionB, (float)t);
        knTransform atA = knMotion_At(&s->motionA, (float)t);
        knVec3 p = knTransformPoint(atA, ball.center), gradient;
        double room = (double)knShape_Distance(s->shape, knInvTransformPoint(atB, p), &gradient) -
                      (double)ball.radius - s->tolerance;
        if (room <= 0.0)
        {
            return t;
        }
        knDVec3 n = knToDouble(knRotate(atB.rotation, gradient));
        double far = (double)(knDistance(p, atB.position) + knLength(s->move));
        knVec3 arm = knSub(p, atA.position);
        double speed = -knDDot(n, knToDouble(knAdd(s->move, knCross(s->motionA.turn, arm)))) +
                       (double)knLength(s->motionB.turn) * far;
        t += knTimeToUse(room, speed, Bend(s->motionA.turn, (double)knLength(ball.center)));
    }
    return t;
}

typedef struct Visit
{
    uint32_t node;
    double time;
} Visit;

void knSweep_RunShape(knSweep* s)
{
    Visit stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0, ShapeTime(s, &s->a->nodes[0])};
    while (depth > 0)
    {
        Visit v = stack[--depth];
        const knMeshNode* node = &s->a->nodes[v.node];
        if (v.time >= s->best - knSweep_SlackTime(s))
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            knSweep_TryPair(s, s->a->order[node->first + i], NULL, s->otherId, v.time);
        }
        if (node->count == 0)
        {
            Visit left = {v.node + 1, ShapeTime(s, &s->a->nodes[v.node + 1])};
            Visit right = {node->first, ShapeTime(s, &s->a->nodes[node->first])};
            stack[depth++] = left.time <= right.time ? right : left;
            stack[depth++] = left.time <= right.time ? left : right;
        }
    }
}
