// SPDX-License-Identifier: Zlib
#include "cast_sweep_view_internal.h"

// Two pieces in one part of their ways. Everything is seen along the axes that b has when the part
// begins: its boxes and triangles need no turning.
//
// Two bounds leave out nearly all: a plane that lies between two things at the start is not crossed
// before the room is used up at the highest speed along it; and balls that pass do not touch. Four
// pairs of nodes are looked at together.

#define MAX_STACK (4 * KN_TREE_STACK)
#define LIMIT     1.02f // no part is looked at further than that
#define ROUNDING  2e-6f // of the largest length
#define LARGER    4.0f  // squared; a node that is so much larger is divided twice

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

void knSweepView_TakeGuesses(knSweepView* view)
{
    const knSweep* s = view->sweep;
    for (int i = 0; i < 2; ++i)
    {
        knSweepPlane* p = &view->guesses[i];
        p->normal = knInvRotate(s->motionB.start.rotation, s->guesses[i]);
        p->sizeA = Abs(MulTransposed(&view->turnAxes, p->normal));
        p->sizeB = Abs(p->normal);
        p->swingA = knLength(knCross(p->normal, view->turns[0]));
        p->swingB = knLength(knCross(p->normal, view->turns[1]));
    }
}

static knSweepView MakeView(knSweep* s)
{
    const knMotion *a = &s->motionA, *b = &s->motionB;
    knQuat back = knConjugate(b->start.rotation);
    knSweepView view = {.sweep = s,
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
    knSweepView_TakeGuesses(&view);
    return view;
}

// Along one axis: how far a is from b, how fast that grows, what the two take of it, and how fast
// they swing into it.
static inline knLanes TryAxis(const knSweepView* view, knLanes apart, knLanes speed, knLanes reach,
                              knLanes swing, knLanes time)
{
    // against the sign of what lies between
    knLanes sign = simde_mm_andnot_ps(apart, knLanes_All(-0.0f));
    knLanes closing = simde_mm_xor_ps(speed, sign);
    knLanes room = knLanes_Sub(knLanes_Sub(knLanes_Abs(apart), reach), knLanes_All(view->rounding));
    closing = knLanes_Add(knLanes_Add(closing, swing), knLanes_All(view->gain));
    return knLanes_RaiseTime(room, closing, time);
}

static inline knLanes TryAxes(const knSweepView* view, knLanes3 apart, knLanes3 speed,
                              knLanes3 reach, knLanes3 swing, knLanes time)
{
    time = TryAxis(view, apart.x, speed.x, reach.x, swing.x, time);
    time = TryAxis(view, apart.y, speed.y, reach.y, swing.y, time);
    return TryAxis(view, apart.z, speed.z, reach.z, swing.z, time);
}

// When balls around the two can touch.
static inline knLanes BallTime(const knSweepView* view, knLanes3 apart, knLanes3 speed,
                               knLanes radius)
{
    knLanes zero = simde_mm_setzero_ps(), never = knLanes_All(KN_NEVER);
    radius = knLanes_Add(radius, knLanes_All(LIMIT * view->gain + view->rounding));
    knLanes b = knLanes3_Dot(apart, speed);
    knLanes c = knLanes_Sub(knLanes3_Dot(apart, apart), knLanes_Mul(radius, radius));
    knLanes ac = knLanes_Mul(knLanes3_Dot(speed, speed), c);
    knLanes root = knLanes_Sub(knLanes_Mul(b, b), knLanes_Mul(ac, knLanes_All(0.99999f)));
    knLanes misses = simde_mm_or_ps(simde_mm_cmpge_ps(b, zero), simde_mm_cmplt_ps(root, zero));
    knLanes below = knLanes_Sub(simde_mm_sqrt_ps(knLanes_Max(root, zero)), b);
    knLanes time = knLanes_Mul(simde_mm_div_ps(c, below), knLanes_All(0.99999f));
    time = knLanes_Select(misses, never, knLanes_Min(time, never));
    return simde_mm_and_ps(simde_mm_cmpgt_ps(c, zero), time);
}

// Four boxes.
typedef struct Parts
{
    knLanes3 center, half;
    knLanes radius;
} Parts;

static inline Parts PartsOf(const knMeshNode* nodes, const uint32_t at[KN_LANES])
{
    simde__m128 first[KN_LANES], second[KN_LANES];
    for (int i = 0; i < KN_LANES; ++i)
    {
        const knBox* box = &nodes[at[i]].box;
        first[i] = simde_mm_set_ps(box->upper.x, box->lower.z, box->lower.y, box->lower.x);
        second[i] = simde_mm_set_ps(0.0f, 0.0f, box->upper.z, box->upper.y);
    }
    SIMDE_MM_TRANSPOSE4_PS(first[0], first[1], first[2], first[3]);
    SIMDE_MM_TRANSPOSE4_PS(second[0], second[1], second[2], second[3]);
    knLanes3 lower = {first[0], first[1], first[2]}, upper = {first[3], second[0], second[1]};
    knLanes scale = knLanes_All(0.5f);
    Parts p = {.center = knLanes3_Scale(scale, knLanes3_Add(lower, upper)),
               .half = knLanes3_Scale(scale, knLanes3_Sub(upper, lower))};
    p.radius = simde_mm_sqrt_ps(knLanes3_Dot(p.half, p.half));
    p.radius = knLanes_Mul(p.radius, knLanes_All(1.00001f));
    return p;
}

static inline bool AreAllLate(knLanes time, float enough)
{
    return simde_mm_movemask_ps(simde_mm_cmplt_ps(time, knLanes_All(enough))) == 0;
}

static inline knLanes TryGuess(const knSweepView* view, const knSweepPlane* p, const Parts* x,
                               const Parts* y, const knLanes3 apartAndSpeed[2], knLanes time)
{
    knLanes3 n = knLanes3_All(p->normal);
    knLanes reach = knLanes_Add(knLanes3_Dot(knLanes3_All(p->sizeA), x->half),
                                knLanes3_Dot(knLanes3_All(p->sizeB), y->half));
    knLanes swing = knLanes_Add(knLanes_Mul(knLanes_All(p->swingA), x->radius),
                                knLanes_Mul(knLanes_All(p->swingB), y->radius));
    knLanes room = knLanes_Sub(knLanes3_Dot(n, apartAndSpeed[0]), reach);
    room = knLanes_Sub(room, knLanes_All(view->rounding));
    swing = knLanes_Add(swing, knLanes_All(view->gain));
    return knLanes_RaiseTime(room, knLanes_Sub(swing, knLanes3_Dot(n, apartAndSpeed[1])), time);
}

// Pairs of nodes, and no earlier can what is in them touch.
typedef struct Visits
{
    uint32_t a[KN_LANES], b[KN_LANES];
    float times[KN_LANES];
    int count;
} Visits;

static void FindTimes(const knSweepView* view, Visits* visits, float enough)
{
    const knSweep* s = view->sweep;
    Parts x = PartsOf(s->a->nodes, visits->a), y = PartsOf(s->b->nodes, visits->b);
    const knMat3* m = &view->turnAxes;
    knLanes3 arm = knLanes3_MulMV(m, x.center);
    knLanes3 apart = knLanes3_Sub(knLanes3_Add(arm, knLanes3_All(view->shift)), y.center);
    knLanes3 turnA = knLanes3_Cross(knLanes3_All(view->turns[0]), arm);
    knLanes3 turnB = knLanes3_Cross(knLanes3_All(view->turns[1]), y.center);
    knLanes3 speed = knLanes3_Add(knLanes3_All(view->move), knLanes3_Sub(turnA, turnB));
    knLanes3 both[2] = {apart, speed};
    knLanes time = BallTime(view, apart, speed, knLanes_Add(x.radius, y.radius));
    time = TryGuess(view, &view->guesses[0], &x, &y, both, time);
    time = TryGuess(view, &view->guesses[1], &x, &y, both, time);
    if (!AreAllLate(time, enough))
    {
        knLanes3 reach = knLanes3_Add(knLanes3_MulMV(&view->sizes, x.half), y.half);
        knLanes3 swing = knLanes3_Add(knLanes3_Scale(x.radius, knLanes3_All(view->swings[0])),
                                      knLanes3_Scale(y.radius, knLanes3_All(view->swings[1])));
        time = TryAxes(view, apart, speed, reach, swing, time);
    }
    if (!AreAllLate(time, enough))
    {
        knLanes3 reach = knLanes3_Add(knLanes3_MulTransposed(&view->sizes, y.half), x.half);
        knLanes3 swing = knLanes3_Add(knLanes3_Scale(x.radius, knLanes3_All(view->otherSwings[0])),
                                      knLanes3_Scale(y.radius, knLanes3_All(view->otherSwings[1])));
        time = TryAxes(view, knLanes3_MulTransposed(m, apart), knLanes3_MulTransposed(m, speed),
                       reach, swing, time);
    }
    simde_mm_storeu_ps(visits->times, time);
}

typedef struct Visit
{
    uint32_t a, b;
    float time;
} Visit;

// The children of a node, or it alone.
static int Children(const knMeshNode* nodes, uint32_t at, uint32_t child[2])
{
    const knMeshNode* node = &nodes[at];
    child[0] = node->count > 0 ? at : at + 1;
    child[1] = node->first;
    return node->count > 0 ? 1 : 2;
}

// All that is two levels below.
static int Grandchildren(const knMeshNode* nodes, uint32_t at, uint32_t child[KN_LANES])
{
    uint32_t first[2];
    int count = 0, firstCount = Children(nodes, at, first);
    for (int i = 0; i < firstCount; ++i)
    {
        count += Children(nodes, first[i], child + count);
    }
    return count;
}

// Both are divided, or the one twice that is much larger or alone can be.
static Visits Divide(const knSweep* s, Visit v)
{
    const knMeshNode *a = &s->a->nodes[v.a], *b = &s->b->nodes[v.b];
    float sizeA = knLengthSquared(knBox_Extent(a->box));
    float sizeB = knLengthSquared(knBox_Extent(b->box));
    uint32_t as[KN_LANES] = {v.a}, bs[KN_LANES] = {v.b};
    int countA = 1, countB = 1;
    if (b->count > 0 || (a->count == 0 && sizeA > LARGER * sizeB))
    {
        countA = Grandchildren(s->a->nodes, v.a, as);
    }
    else if (a->count > 0 || sizeB > LARGER * sizeA)
    {
        countB = Grandchildren(s->b->nodes, v.b, bs);
    }
    else
    {
        countA = Children(s->a->nodes, v.a, as);
        countB = Children(s->b->nodes, v.b, bs);
    }
    Visits visits = {.count = countA * countB};
    for (int i = 0; i < KN_LANES; ++i)
    {
        int k = i < visits.count ? i : 0;
        visits.a[i] = as[k / countB];
        visits.b[i] = bs[k % countB];
    }
    return visits;
}

// The nearest comes on top.
static void Push(const Visits* visits, float enough, Visit* stack, int* depth)
{
    int first = *depth;
    for (int i = 0; i < visits->count; ++i)
    {
        Visit v = {visits->a[i], visits->b[i], visits->times[i]};
        if (v.time < enough && *depth < MAX_STACK)
        {
            int place = (*depth)++;
            for (; place > first && stack[place - 1].time < v.time; --place)
            {
                stack[place] = stack[place - 1];
            }
            stack[place] = v;
        }
    }
}

void knSweep_RunMeshes(knSweep* s)
{
    knSweepView view = MakeView(s);
    knSweepLeaf leafA, leafB;
    leafA.node = leafB.node = KN_NONE;
    Visit stack[MAX_STACK];
    int depth = 0;
    stack[depth++] = (Visit){0, 0, 0.0f};
    while (depth > 0)
    {
        Visit v = stack[--depth];
        float enough = (float)(s->best - knSweep_SlackTime(s));
        if (v.time >= enough)
        {
            continue;
        }
        if (s->a->nodes[v.a].count > 0 && s->b->nodes[v.b].count > 0)
        {
            knSweepView_TakeLeaf(&view, 0, v.a, &leafA);
            knSweepView_TakeLeaf(&view, 1, v.b, &leafB);
            knSweepView_TryLeaves(&view, &leafA, &leafB, v.time);
            continue;
        }
        Visits visits = Divide(s, v);
        FindTimes(&view, &visits, enough);
        Push(&visits, enough, stack, &depth);
    }
}
