// SPDX-License-Identifier: Zlib
#include "cast_sweep_internal.h"

#define MAX_ROUNDS   64
#define MAX_STACK    (4 * KN_TREE_STACK)
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

// The time in which a gap is used up at a speed that may itself grow; above 1 for never.
static double TimeToUse(double room, double speed, double growth)
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

static double ShapeRadius(const knShape* shape)
{
    knBox box = knShape_Box(shape, knIdentityTransform());
    return (double)knLength(knMax(box.upper, knNeg(box.lower)));
}

// Once there is a touch, another that is earlier by no more than this changes nothing.
static double Slack(const knSweep* s)
{
    return s->triangleA == KN_NONE ? 0.0 : s->slack;
}

static double SlackTime(const knSweep* s)
{
    return Slack(s) / (s->speed + s->slack);
}

double knSweep_Speed(const knSweep* s)
{
    float turnB = knLength(s->motionB.turn);
    double radiusB = s->b ? (double)s->b->radius : 0.0;
    radiusB = s->shape && turnB > 0.0f ? ShapeRadius(s->shape) : radiusB;
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
    pair.radiusB = corners || !turns ? pair.radiusB : ShapeRadius(s->shape);
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

// Along a direction that parted others: most pairs of two faces are parted by the same one.
static bool IsPairLater(const Pair* pair, double growth)
{
    const knSweep* s = pair->sweep;
    if (!pair->b)
    {
        return false;
    }
    knVec3 a[3], b[3];
    for (int i = 0; i < 3; ++i)
    {
        a[i] = knTransformPoint(s->motionA.start, pair->a[i]);
        b[i] = knTransformPoint(s->motionB.start, pair->b[i]);
    }
    for (int i = 0; i < 2; ++i)
    {
        knGap along = {.normal = knToDouble(s->guesses[i])};
        double room = Separation(s->guesses[i], a, b);
        double speed = SpeedAlong(pair, &along, a, b, s->motionA.start, s->motionB.start);
        if (room > 0.0 && TimeToUse(room + Slack(s), speed, growth) >= s->best)
        {
            return true;
        }
    }
    return false;
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
    if (IsPairLater(&pair, growth))
    {
        return;
    }
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
        t += TimeToUse(fmax(room - 0.5 * s->tolerance, 0.25 * s->tolerance), speed, growth);
    }
}

// When two balls whose centres start `apart` and whose radii grow can first touch; above 1 for
// never.
static double BallTime(knVec3 apart, knVec3 move, double radius, double growth)
{
    knDVec3 d = knToDouble(apart), v = knToDouble(move);
    double a = knDDot(v, v) - growth * growth, b = knDDot(d, v) - radius * growth;
    double c = knDDot(d, d) - radius * radius;
    double root = b * b - a * c;
    if (c <= 0.0)
    {
        return 0.0;
    }
    double below = root >= 0.0 ? sqrt(root) - b : 0.0;
    return below > 0.0 ? c / below : 2.0;
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

static double NodeTime(const knSweep* s, const knMeshNode* a, const knMeshNode* b)
{
    Ball x = BallAround(a), y = BallAround(b);
    knVec3 apart = knSub(knTransformPoint(s->motionA.start, x.center),
                         knTransformPoint(s->motionB.start, y.center));
    knVec3 armA = knRotate(s->motionA.start.rotation, x.center);
    knVec3 armB = knRotate(s->motionB.start.rotation, y.center);
    knVec3 move =
        knAdd(s->move, knSub(knCross(s->motionA.turn, armA), knCross(s->motionB.turn, armB)));
    // half of it, for times up to 1
    double growth = 0.5 * (Bend(s->motionA.turn, (double)knLength(x.center)) +
                           Bend(s->motionB.turn, (double)knLength(y.center)));
    return BallTime(apart, move, (double)(x.radius + y.radius) + s->tolerance, growth);
}

// Half of a box's size along a direction of the world.
static float Reach(const knMeshNode* node, knQuat rotation, knVec3 n)
{
    knVec3 d = knInvRotate(rotation, n), e = knBox_Extent(node->box);
    return 0.5f * (fabsf(d.x) * e.x + fabsf(d.y) * e.y + fabsf(d.z) * e.z);
}

// Whether what is in two nodes cannot touch before the best so far, when `room` lies between them
// along the direction at the start.
static bool IsLater(const knSweep* s, const knMeshNode* a, const knMeshNode* b, knVec3 n,
                    float room)
{
    if (!(room > 0.0f))
    {
        return false;
    }
    const knMotion *ma = &s->motionA, *mb = &s->motionB;
    Ball x = BallAround(a), y = BallAround(b);
    knVec3 armA = knRotate(ma->start.rotation, x.center);
    knVec3 armB = knRotate(mb->start.rotation, y.center);
    float speed = -knDot(n, knAdd(s->move, knCross(ma->turn, armA))) +
                  knDot(n, knCross(mb->turn, armB)) + knLength(knCross(n, ma->turn)) * x.radius +
                  knLength(knCross(n, mb->turn)) * y.radius;
    double growth = Bend(ma->turn, (double)(knLength(x.center) + x.radius)) +
                    Bend(mb->turn, (double)(knLength(y.center) + y.radius));
    return TimeToUse((double)room + Slack(s), (double)speed, growth) >= s->best;
}

// Along a direction that parted others, for boxes.
static bool IsParted(const knSweep* s, const knMeshNode* a, const knMeshNode* b, knVec3 n)
{
    const knMotion *ma = &s->motionA, *mb = &s->motionB;
    knVec3 centerA = knTransformPoint(ma->start, knBox_Center(a->box));
    knVec3 centerB = knTransformPoint(mb->start, knBox_Center(b->box));
    float room = knDot(n, knSub(centerA, centerB)) - Reach(a, ma->start.rotation, n) -
                 Reach(b, mb->start.rotation, n);
    return IsLater(s, a, b, n, room);
}

// The furthest corner of a leaf's triangles along a direction of the world.
static float LeafReach(const knPieceMesh* mesh, const knMeshNode* leaf, knTransform at, knVec3 n)
{
    knVec3 d = knInvRotate(at.rotation, n);
    float most = -FLT_MAX;
    for (uint32_t i = 0; i < leaf->count; ++i)
    {
        knVec3 v[3];
        knPieceMesh_Corners(mesh, mesh->order[leaf->first + i], v);
        most = fmaxf(most, fmaxf(knDot(d, v[0]), fmaxf(knDot(d, v[1]), knDot(d, v[2]))));
    }
    return most + knDot(n, at.position);
}

// The same for leaves, by their corners: the box of a slanted face is thick.
static bool IsLeafParted(const knSweep* s, const knMeshNode* a, const knMeshNode* b, knVec3 n)
{
    float room =
        -LeafReach(s->a, a, s->motionA.start, knNeg(n)) - LeafReach(s->b, b, s->motionB.start, n);
    return IsLater(s, a, b, n, room);
}

static void TryLeaves(knSweep* s, const knMeshNode* a, const knMeshNode* b, double from)
{
    if (IsLeafParted(s, a, b, s->guesses[0]) || IsLeafParted(s, a, b, s->guesses[1]))
    {
        return;
    }
    for (uint32_t i = 0; i < a->count; ++i)
    {
        for (uint32_t k = 0; k < b->count; ++k)
        {
            uint32_t other = s->b->order[b->first + k];
            knVec3 corners[3];
            knPieceMesh_Corners(s->b, other, corners);
            knSweep_TryPair(s, s->a->order[a->first + i], corners, other, from);
        }
    }
}

typedef struct Visit
{
    uint32_t a, b;
    double time;
} Visit;

static void PushTwo(const knSweep* s, Visit parent, bool splitsA, Visit* stack, int* depth)
{
    uint32_t at = splitsA ? parent.a : parent.b;
    const knMeshNode* node = splitsA ? &s->a->nodes[at] : &s->b->nodes[at];
    uint32_t child[2] = {at + 1, node->first};
    Visit visits[2];
    for (int i = 0; i < 2; ++i)
    {
        visits[i].a = splitsA ? child[i] : parent.a;
        visits[i].b = splitsA ? parent.b : child[i];
        visits[i].time = NodeTime(s, &s->a->nodes[visits[i].a], &s->b->nodes[visits[i].b]);
    }
    int near = visits[1].time < visits[0].time ? 1 : 0;
    for (int i = 0; i < 2; ++i)
    {
        Visit v = visits[i == 0 ? 1 - near : near];
        if (v.time < s->best && *depth < MAX_STACK)
        {
            stack[(*depth)++] = v;
        }
    }
}

void knSweep_RunMeshes(knSweep* s)
{
    Visit stack[MAX_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0, 0, NodeTime(s, &s->a->nodes[0], &s->b->nodes[0])};
    while (depth > 0)
    {
        Visit v = stack[--depth];
        const knMeshNode *a = &s->a->nodes[v.a], *b = &s->b->nodes[v.b];
        if (v.time >= s->best - SlackTime(s) || IsParted(s, a, b, s->guesses[0]) ||
            IsParted(s, a, b, s->guesses[1]))
        {
            continue;
        }
        if (a->count > 0 && b->count > 0)
        {
            TryLeaves(s, a, b, v.time);
            continue;
        }
        bool isLarger =
            knLengthSquared(knBox_Extent(a->box)) > knLengthSquared(knBox_Extent(b->box));
        PushTwo(s, v, a->count == 0 && (b->count > 0 || isLarger), stack, &depth);
    }
}

// A ball around a node against the shape: the distance to a convex shape bounds how soon it can
// come.
static double ShapeTime(const knSweep* s, const knMeshNode* node)
{
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
        t += TimeToUse(room, speed, Bend(s->motionA.turn, (double)knLength(ball.center)));
    }
    return t;
}

void knSweep_RunShape(knSweep* s)
{
    Visit stack[KN_TREE_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0, 0, ShapeTime(s, &s->a->nodes[0])};
    while (depth > 0)
    {
        Visit v = stack[--depth];
        const knMeshNode* node = &s->a->nodes[v.a];
        if (v.time >= s->best - SlackTime(s))
        {
            continue;
        }
        for (uint32_t i = 0; i < node->count; ++i)
        {
            knSweep_TryPair(s, s->a->order[node->first + i], NULL, s->otherId, v.time);
        }
        if (node->count == 0)
        {
            Visit left = {v.a + 1, 0, ShapeTime(s, &s->a->nodes[v.a + 1])};
            Visit right = {node->first, 0, ShapeTime(s, &s->a->nodes[node->first])};
            stack[depth++] = left.time <= right.time ? right : left;
            stack[depth++] = left.time <= right.time ? left : right;
        }
    }
}
