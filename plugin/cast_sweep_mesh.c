// SPDX-License-Identifier: Zlib
#include "cast_sweep_internal.h"

// Two pieces in one part of their ways. Everything is seen along the axes that b has when the part
// begins: its boxes and triangles need no turning.
//
// Two bounds leave out nearly all: a plane that lies between two things at the start is not crossed
// before the room is used up at the highest speed along it; and balls that pass do not touch.

#define MAX_STACK (4 * KN_TREE_STACK)
#define LIMIT     1.02f // no part is looked at further than that
#define ROUNDING  2e-6f // of the largest length
#define NEVER     2.0f

// A direction in which two things may be parted, from b to a.
typedef struct Plane
{
    knVec3 normal;
    knVec3 sizeA, sizeB;  // of it along the axes of the boxes, without signs
    float swingA, swingB; // how fast a point at a distance of one comes along it by turning
} Plane;

typedef struct View
{
    knSweep* sweep;
    knMat3 turnAxes, sizes; // of a; the same without signs
    knVec3 shift;           // to the centre of a
    knVec3 move;            // of a relative to b
    knVec3 turns[2];        // of a and of b
    knVec3 swings[2];       // of a and of b, along the axes of b
    knVec3 otherSwings[2];  // of a and of b, along the axes of a
    float gain;             // that any speed can have by the end, and on the way on the average
    float rounding;         // m
    Plane guesses[2];
} View;

static knVec3 Abs(knVec3 v)
{
    return knMakeVec3(fabsf(v.x), fabsf(v.y), fabsf(v.z));
}

static knVec3 MulTransposed(const knMat3* m, knVec3 v)
{
    return knMakeVec3(knDot(m->cx, v), knDot(m->cy, v), knDot(m->cz, v));
}

// Of a turn, at a right angle to each axis.
static knVec3 SwingsOf(knVec3 turn)
{
    knVec3 s = knMakeVec3(turn.x * turn.x, turn.y * turn.y, turn.z * turn.z);
    return knMakeVec3(sqrtf(s.y + s.z), sqrtf(s.x + s.z), sqrtf(s.x + s.y));
}

static void TakeGuesses(View* view)
{
    const knSweep* s = view->sweep;
    for (int i = 0; i < 2; ++i)
    {
        Plane* p = &view->guesses[i];
        p->normal = knInvRotate(s->motionB.start.rotation, s->guesses[i]);
        p->sizeA = Abs(MulTransposed(&view->turnAxes, p->normal));
        p->sizeB = Abs(p->normal);
        p->swingA = knLength(knCross(p->normal, view->turns[0]));
        p->swingB = knLength(knCross(p->normal, view->turns[1]));
    }
}

static View MakeView(knSweep* s)
{
    const knMotion *a = &s->motionA, *b = &s->motionB;
    knQuat back = knConjugate(b->start.rotation);
    View view = {.sweep = s,
                 .turnAxes = knMat3FromQuat(knMulQuat(back, a->start.rotation)),
                 .shift = knRotate(back, knSub(a->start.position, b->start.position)),
                 .move = knRotate(back, s->move),
                 .turns = {knRotate(back, a->turn), knRotate(back, b->turn)}};
    const knMat3* m = &view.turnAxes;
    view.sizes = (knMat3){Abs(m->cx), Abs(m->cy), Abs(m->cz)};
    for (int i = 0; i < 2; ++i)
    {
        view.swings[i] = SwingsOf(view.turns[i]);
        view.otherSwings[i] = SwingsOf(MulTransposed(m, view.turns[i]));
    }
    float bend = knLengthSquared(a->turn) * s->a->radius + knLengthSquared(b->turn) * s->b->radius;
    view.gain = 0.5f * LIMIT * bend;
    view.rounding =
        ROUNDING * (knLength(view.shift) + knLength(view.move) + s->a->radius + s->b->radius);
    TakeGuesses(&view);
    return view;
}

// Raises the time to that at which `room` is used up.
static inline void RaiseTime(float room, float speed, float* time)
{
    if (room > 0.0f && room > *time * speed)
    {
        *time = room > NEVER * speed ? NEVER : room / speed;
    }
}

// Along one axis: how far a is from b, how fast that grows, what the two take of it, and how fast
// they swing into it.
static inline void TryAxis(const View* view, float apart, float speed, float reach, float swing,
                           float* time)
{
    float closing = apart < 0.0f ? speed : -speed;
    RaiseTime(fabsf(apart) - reach - view->rounding, closing + swing + view->gain, time);
}

static void TryAxes(const View* view, knVec3 apart, knVec3 speed, knVec3 reach, knVec3 swing,
                    float* time)
{
    TryAxis(view, apart.x, speed.x, reach.x, swing.x, time);
    TryAxis(view, apart.y, speed.y, reach.y, swing.y, time);
    TryAxis(view, apart.z, speed.z, reach.z, swing.z, time);
}

// When balls around the two can touch.
static float BallTime(const View* view, knVec3 apart, knVec3 speed, float radius)
{
    radius += LIMIT * view->gain + view->rounding;
    float b = knDot(apart, speed), c = knLengthSquared(apart) - radius * radius;
    if (c <= 0.0f)
    {
        return 0.0f;
    }
    float root = b * b - knLengthSquared(speed) * c * 0.99999f;
    return b >= 0.0f || root < 0.0f ? NEVER : fminf(NEVER, c / (sqrtf(root) - b) * 0.99999f);
}

typedef struct Part
{
    knVec3 center, half;
    float radius;
} Part;

static Part PartOf(const knMeshNode* node)
{
    Part p = {knBox_Center(node->box), knScale(0.5f, knBox_Extent(node->box)), 0.0f};
    p.radius = knLength(p.half) * 1.00001f;
    return p;
}

// No earlier can what is in the two nodes touch.
static float NodeTime(const View* view, const knMeshNode* a, const knMeshNode* b, float enough)
{
    Part x = PartOf(a), y = PartOf(b);
    knVec3 arm = knMulMV(view->turnAxes, x.center);
    knVec3 apart = knSub(knAdd(arm, view->shift), y.center);
    knVec3 speed =
        knAdd(view->move, knSub(knCross(view->turns[0], arm), knCross(view->turns[1], y.center)));
    float time = BallTime(view, apart, speed, x.radius + y.radius);
    for (int i = 0; i < 2 && time < enough; ++i)
    {
        const Plane* p = &view->guesses[i];
        float reach = knDot(p->sizeA, x.half) + knDot(p->sizeB, y.half);
        float swing = p->swingA * x.radius + p->swingB * y.radius;
        float room = knDot(p->normal, apart) - reach - view->rounding;
        RaiseTime(room, swing + view->gain - knDot(p->normal, speed), &time);
    }
    if (time < enough)
    {
        TryAxes(view, apart, speed, knAdd(knMulMV(view->sizes, x.half), y.half),
                knAddScaled(knScale(x.radius, view->swings[0]), y.radius, view->swings[1]), &time);
    }
    if (time < enough)
    {
        const knVec3* swings = view->otherSwings;
        TryAxes(view, MulTransposed(&view->turnAxes, apart), MulTransposed(&view->turnAxes, speed),
                knAdd(MulTransposed(&view->sizes, y.half), x.half),
                knAddScaled(knScale(x.radius, swings[0]), y.radius, swings[1]), &time);
    }
    return time;
}

// The triangles of a leaf: corners and their speeds.
typedef struct Leaf
{
    knVec3 corners[KN_TREE_LEAF][3], speeds[KN_TREE_LEAF][3];
    uint32_t triangles[KN_TREE_LEAF];
    uint32_t count, node;
} Leaf;

static void TakeLeaf(const View* view, int side, uint32_t at, Leaf* leaf)
{
    const knSweep* s = view->sweep;
    const knPieceMesh* mesh = side == 0 ? s->a : s->b;
    const knMeshNode* node = &mesh->nodes[at];
    if (leaf->node == at)
    {
        return;
    }
    leaf->node = at;
    leaf->count = node->count;
    for (uint32_t i = 0; i < node->count; ++i)
    {
        leaf->triangles[i] = mesh->order[node->first + i];
        knPieceMesh_Corners(mesh, leaf->triangles[i], leaf->corners[i]);
        for (int k = 0; k < 3; ++k)
        {
            knVec3* p = &leaf->corners[i][k];
            *p = side == 0 ? knMulMV(view->turnAxes, *p) : *p;
            leaf->speeds[i][k] = knCross(view->turns[side], *p);
            if (side == 0)
            {
                leaf->speeds[i][k] = knAdd(leaf->speeds[i][k], view->move);
                *p = knAdd(*p, view->shift);
            }
        }
    }
}

// What triangles span along a direction, and how fast they go along it at least and at most.
typedef struct Span
{
    float low, high, slow, fast;
} Span;

static Span SpanOf(const Leaf* leaf, uint32_t triangle, knVec3 n)
{
    const knVec3 *p = leaf->corners[triangle], *v = leaf->speeds[triangle];
    float at = knDot(n, p[0]), speed = knDot(n, v[0]);
    Span s = {at, at, speed, speed};
    for (int k = 1; k < 3; ++k)
    {
        at = knDot(n, p[k]);
        speed = knDot(n, v[k]);
        s.low = at < s.low ? at : s.low;
        s.high = at > s.high ? at : s.high;
        s.slow = speed < s.slow ? speed : s.slow;
        s.fast = speed > s.fast ? speed : s.fast;
    }
    return s;
}

// By a plane between the two, a on either side of it.
static inline void TrySpans(const View* view, const Span* a, const Span* b, float slack,
                            float* time)
{
    slack -= view->rounding;
    if (a->low > b->high)
    {
        RaiseTime(a->low - b->high + slack, b->fast - a->slow + view->gain, time);
    }
    else if (b->low > a->high)
    {
        RaiseTime(b->low - a->high + slack, a->fast - b->slow + view->gain, time);
    }
}

static Span JoinSpans(const Span* spans, uint32_t count)
{
    Span s = spans[0];
    for (uint32_t i = 1; i < count; ++i)
    {
        s.low = spans[i].low < s.low ? spans[i].low : s.low;
        s.high = spans[i].high > s.high ? spans[i].high : s.high;
        s.slow = spans[i].slow < s.slow ? spans[i].slow : s.slow;
        s.fast = spans[i].fast > s.fast ? spans[i].fast : s.fast;
    }
    return s;
}

// Two leaves, and what their triangles span along the directions that parted others.
typedef struct LeafPair
{
    const Leaf *a, *b;
    Span spansA[2][KN_TREE_LEAF], spansB[2][KN_TREE_LEAF];
} LeafPair;

static void TakeSpans(const View* view, LeafPair* pair)
{
    for (int g = 0; g < 2; ++g)
    {
        knVec3 n = view->guesses[g].normal;
        for (uint32_t i = 0; i < pair->a->count; ++i)
        {
            pair->spansA[g][i] = SpanOf(pair->a, i, n);
        }
        for (uint32_t k = 0; k < pair->b->count; ++k)
        {
            pair->spansB[g][k] = SpanOf(pair->b, k, n);
        }
    }
}

// No earlier can anything in the two leaves touch.
static float LeafTime(const View* view, const LeafPair* pair)
{
    float time = 0.0f, slack = (float)knSweep_Slack(view->sweep);
    for (int g = 0; g < 2; ++g)
    {
        Span a = JoinSpans(pair->spansA[g], pair->a->count);
        Span b = JoinSpans(pair->spansB[g], pair->b->count);
        TrySpans(view, &a, &b, slack, &time);
    }
    return time;
}

// No earlier can two triangles touch: by planes that parted others, and by their own.
static float PairTime(const View* view, const LeafPair* pair, uint32_t i, uint32_t k, float slack)
{
    float time = 0.0f, enough = (float)view->sweep->best;
    for (int g = 0; g < 2; ++g)
    {
        TrySpans(view, &pair->spansA[g][i], &pair->spansB[g][k], slack, &time);
    }
    for (int c = 0; c < 2 && time < enough; ++c)
    {
        knVec3 n = knTriangleNormal(c == 0 ? pair->b->corners[k] : pair->a->corners[i]);
        Span a = SpanOf(pair->a, i, n), b = SpanOf(pair->b, k, n);
        TrySpans(view, &a, &b, slack, &time);
    }
    return time;
}

static void TryLeaves(View* view, const Leaf* a, const Leaf* b, float from)
{
    knSweep* s = view->sweep;
    LeafPair pair;
    pair.a = a;
    pair.b = b;
    TakeSpans(view, &pair);
    if (LeafTime(view, &pair) >= (float)s->best)
    {
        return;
    }
    for (uint32_t i = 0; i < a->count; ++i)
    {
        for (uint32_t k = 0; k < b->count; ++k)
        {
            float slack = (float)knSweep_Slack(s);
            float start = PairTime(view, &pair, i, k, slack);
            if (start >= (float)s->best)
            {
                continue;
            }
            knVec3 corners[3];
            knPieceMesh_Corners(s->b, b->triangles[k], corners);
            // what was added for slack is no time to skip
            start = fmaxf(from, slack > 0.0f ? 0.0f : start);
            knSweep_TryPair(s, a->triangles[i], corners, b->triangles[k], (double)start);
            TakeGuesses(view);
            TakeSpans(view, &pair);
        }
    }
}

typedef struct Visit
{
    uint32_t a, b;
    float time;
} Visit;

static void PushTwo(const View* view, Visit parent, bool splitsA, Visit* stack, int* depth)
{
    const knSweep* s = view->sweep;
    uint32_t at = splitsA ? parent.a : parent.b;
    const knMeshNode* node = splitsA ? &s->a->nodes[at] : &s->b->nodes[at];
    uint32_t child[2] = {at + 1, node->first};
    float enough = (float)(s->best - knSweep_SlackTime(s));
    Visit visits[2];
    for (int i = 0; i < 2; ++i)
    {
        visits[i].a = splitsA ? child[i] : parent.a;
        visits[i].b = splitsA ? parent.b : child[i];
        visits[i].time =
            NodeTime(view, &s->a->nodes[visits[i].a], &s->b->nodes[visits[i].b], enough);
    }
    int near = visits[1].time < visits[0].time ? 1 : 0;
    for (int i = 0; i < 2; ++i)
    {
        Visit v = visits[i == 0 ? 1 - near : near];
        if (v.time < enough && *depth < MAX_STACK)
        {
            stack[(*depth)++] = v;
        }
    }
}

void knSweep_RunMeshes(knSweep* s)
{
    View view = MakeView(s);
    Leaf leafA, leafB;
    leafA.node = leafB.node = KN_NONE;
    Visit stack[MAX_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0, 0, NodeTime(&view, &s->a->nodes[0], &s->b->nodes[0], NEVER)};
    while (depth > 0)
    {
        Visit v = stack[--depth];
        const knMeshNode *a = &s->a->nodes[v.a], *b = &s->b->nodes[v.b];
        if ((double)v.time >= s->best - knSweep_SlackTime(s))
        {
            continue;
        }
        if (a->count > 0 && b->count > 0)
        {
            TakeLeaf(&view, 0, v.a, &leafA);
            TakeLeaf(&view, 1, v.b, &leafB);
            TryLeaves(&view, &leafA, &leafB, v.time);
            continue;
        }
        bool isLarger =
            knLengthSquared(knBox_Extent(a->box)) > knLengthSquared(knBox_Extent(b->box));
        PushTwo(&view, v, a->count == 0 && (b->count > 0 || isLarger), stack, &depth);
    }
}
