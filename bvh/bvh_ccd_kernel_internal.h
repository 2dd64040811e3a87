// SPDX-License-Identifier: Zlib
#pragma once

// The loops over blocks of features, written once and compiled for each set of instructions. One
// feature of a block meets eight of another: first their boxes at both ends of the step, then
// directions that part them for all of it. A direction may be as rough as it likes; what is proved
// with it is proved beyond rounding (docs/ccd.md), so what is dropped does not touch.

#include "bvh/bvh_ccd_internal.h"
#include "bvh/bvh_lanes_internal.h"

#define UNIT  0x1p-24f
#define BOUND 16.0f     // roundings in a lower bound: docs/ccd.md
#define FLOOR 0x1p-140f // more than all that underflow can take from it

typedef struct Vector8
{
    Lanes x, y, z;
} Vector8;

typedef struct Bounds8
{
    Lanes lower[2][3], upper[2][3]; // end of the step, axis
} Bounds8;

// The same of one feature, with the separation.
typedef struct Bounds1
{
    float lower[2][3], upper[2][3];
} Bounds1;

static inline Vector8 LoadVector(const float v[3][KN_LANES])
{
    return (Vector8){Load8(v[0]), Load8(v[1]), Load8(v[2])};
}

static inline Vector8 SetVector(const float v[3][KN_LANES], int lane)
{
    return (Vector8){Set8(v[0][lane]), Set8(v[1][lane]), Set8(v[2][lane])};
}

static inline Vector8 AddVectors(Vector8 a, Vector8 b)
{
    return (Vector8){Add8(a.x, b.x), Add8(a.y, b.y), Add8(a.z, b.z)};
}

static inline Vector8 SubVectors(Vector8 a, Vector8 b)
{
    return (Vector8){Sub8(a.x, b.x), Sub8(a.y, b.y), Sub8(a.z, b.z)};
}

// a - s b
static inline Vector8 SubScaled(Vector8 a, Lanes s, Vector8 b)
{
    return (Vector8){Sub8(a.x, Mul8(s, b.x)), Sub8(a.y, Mul8(s, b.y)), Sub8(a.z, Mul8(s, b.z))};
}

static inline Lanes DotVectors(Vector8 a, Vector8 b)
{
    return Add8(Add8(Mul8(a.x, b.x), Mul8(a.y, b.y)), Mul8(a.z, b.z));
}

static inline Vector8 CrossVectors(Vector8 a, Vector8 b)
{
    return (Vector8){Sub8(Mul8(a.y, b.z), Mul8(a.z, b.y)), Sub8(Mul8(a.z, b.x), Mul8(a.x, b.z)),
                     Sub8(Mul8(a.x, b.y), Mul8(a.y, b.x))};
}

static inline Vector8 SelectVector(LaneMask mask, Vector8 a, Vector8 b)
{
    return (Vector8){Select8(mask, a.x, b.x), Select8(mask, a.y, b.y), Select8(mask, a.z, b.z)};
}

// Of what is no number: 0.
static inline Lanes Clamp8(Lanes x)
{
    return Min8(Max8(x, Set8(0.0f)), Set8(1.0f));
}

static inline void LoadBounds(const knCcdMoving* v, int cornerCount, Bounds8* b)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        for (int end = 0; end < 2; ++end)
        {
            Lanes low = Load8(end ? v[0].end[axis] : v[0].start[axis]), high = low;
            for (int c = 1; c < cornerCount; ++c)
            {
                Lanes x = Load8(end ? v[c].end[axis] : v[c].start[axis]);
                low = Min8(low, x);
                high = Max8(high, x);
            }
            b->lower[end][axis] = low;
            b->upper[end][axis] = high;
        }
    }
}

// Lanes that no axis keeps apart from the one, on one side, at both ends.
static inline uint32_t FindNear(const Bounds8* b, const Bounds1* a)
{
    uint32_t apart = 0;
    for (int axis = 0; axis < 3; ++axis)
    {
        LaneMask above = And8(Less8(Set8(a->upper[0][axis]), b->lower[0][axis]),
                              Less8(Set8(a->upper[1][axis]), b->lower[1][axis]));
        LaneMask below = And8(Less8(b->upper[0][axis], Set8(a->lower[0][axis])),
                              Less8(b->upper[1][axis], Set8(a->lower[1][axis])));
        apart |= Bits8(Or8(above, below));
    }
    return ~apart & 0xFFu;
}

// A box of a block holds its separation already.
static inline Bounds1 BoxBounds(const knCcdBox* box)
{
    Bounds1 b;
    for (int axis = 0; axis < 3; ++axis)
    {
        b.lower[0][axis] = box->startLower[axis];
        b.lower[1][axis] = box->endLower[axis];
        b.upper[0][axis] = box->startUpper[axis];
        b.upper[1][axis] = box->endUpper[axis];
    }
    return b;
}

// Bounds of each feature of a block, with the separation.
typedef struct BoundsOfEach
{
    float lower[2][3][KN_LANES], upper[2][3][KN_LANES];
} BoundsOfEach;

static inline void StoreBounds(const Bounds8* b, float margin, BoundsOfEach* each)
{
    for (int i = 0; i < 6; ++i)
    {
        Store8(each->lower[i / 3][i % 3], b->lower[i / 3][i % 3]);
        Store8(each->upper[i / 3][i % 3], b->upper[i / 3][i % 3]);
    }
    for (int i = 0; margin > 0.0f && i < 6 * KN_LANES; ++i)
    {
        int end = i / (3 * KN_LANES), axis = i / KN_LANES % 3, lane = i % KN_LANES;
        float *low = &each->lower[end][axis][lane], *high = &each->upper[end][axis][lane];
        *low = nextafterf(*low - margin, -INFINITY);
        *high = nextafterf(*high + margin, INFINITY);
    }
}

static inline Bounds1 LaneBounds(const BoundsOfEach* each, int lane)
{
    Bounds1 b;
    for (int i = 0; i < 6; ++i)
    {
        b.lower[i / 3][i % 3] = each->lower[i / 3][i % 3][lane];
        b.upper[i / 3][i % 3] = each->upper[i / 3][i % 3][lane];
    }
    return b;
}

static inline Lanes AbsDot(Vector8 a, Vector8 b)
{
    return Add8(Add8(Abs8(Mul8(a.x, b.x)), Abs8(Mul8(a.y, b.y))), Abs8(Mul8(a.z, b.z)));
}

// More than the separation along the direction.
static inline Lanes MarginAlong(Vector8 d, float margin)
{
    Lanes size = Add8(Add8(Abs8(d.x), Abs8(d.y)), Abs8(d.z));
    return Add8(Mul8(Set8(margin * (1.0f + 8.0f * UNIT)), size), Set8(FLOOR));
}

// Corners of a difference at one end of the step: base + {0, first} - {0, second} for two edges,
// base - {0, first, second} for a vertex and a face.
typedef struct Corners8
{
    Vector8 base, first, second;
} Corners8;

// How far each corner is ahead along the direction, at least: beyond rounding, and the separation.
typedef struct Ahead8
{
    Lanes corner[4];
    int count;
} Ahead8;

static inline Ahead8 EdgesAhead(const Corners8* c, Vector8 d, Lanes margin)
{
    Lanes r = DotVectors(c->base, d), u = DotVectors(c->first, d), v = DotVectors(c->second, d);
    Lanes size = Add8(Add8(AbsDot(c->base, d), AbsDot(c->first, d)), AbsDot(c->second, d));
    Lanes low = Sub8(r, Add8(Mul8(Set8(BOUND * UNIT), size), margin));
    return (Ahead8){{low, Add8(low, u), Sub8(low, v), Sub8(Add8(low, u), v)}, 4};
}

static inline Ahead8 FaceAhead(const Corners8* c, Vector8 d, Lanes margin)
{
    Lanes r = DotVectors(c->base, d), u = DotVectors(c->first, d), v = DotVectors(c->second, d);
    Lanes size = Add8(AbsDot(c->base, d), Max8(AbsDot(c->first, d), AbsDot(c->second, d)));
    Lanes low = Sub8(r, Add8(Mul8(Set8(BOUND * UNIT), size), margin));
    return (Ahead8){{low, Sub8(low, u), Sub8(low, v), low}, 3};
}

// Between the nearest points of two edges, towards the first.
static inline Vector8 EdgeDirection(const Corners8* c)
{
    Vector8 u = c->first, v = c->second, r = c->base;
    Lanes uu = DotVectors(u, u), vv = DotVectors(v, v), uv = DotVectors(u, v);
    Lanes ur = DotVectors(u, r), vr = DotVectors(v, r);
    Lanes det = Sub8(Mul8(uu, vv), Mul8(uv, uv));
    Lanes s = Clamp8(Div8(Sub8(Mul8(uv, vr), Mul8(ur, vv)), det));
    Lanes t = Clamp8(Div8(Add8(Mul8(uv, s), vr), vv));
    s = Clamp8(Div8(Sub8(Mul8(uv, t), ur), uu));
    return SubScaled(SubScaled(r, t, v), Sub8(Set8(0.0f), s), u);
}

// From the nearest point of a face to the vertex.
static inline Vector8 FaceDirection(const Corners8* c)
{
    Vector8 r = c->base, u = c->first, v = c->second, w = SubVectors(v, u);
    Lanes ur = DotVectors(u, r), vr = DotVectors(v, r);
    Lanes uu = DotVectors(u, u), uv = DotVectors(u, v), vv = DotVectors(v, v);
    Lanes det = Sub8(Mul8(uu, vv), Mul8(uv, uv)), zero = Set8(0.0f);
    Lanes s = Div8(Sub8(Mul8(vv, ur), Mul8(uv, vr)), det);
    Lanes t = Div8(Sub8(Mul8(uu, vr), Mul8(uv, ur)), det);
    LaneMask inside =
        And8(And8(LessEqual8(zero, s), LessEqual8(zero, t)), LessEqual8(Add8(s, t), Set8(1.0f)));
    Vector8 best = SubScaled(r, Clamp8(Div8(ur, uu)), u);
    Vector8 other = SubScaled(r, Clamp8(Div8(vr, vv)), v);
    best = SelectVector(Less8(DotVectors(other, other), DotVectors(best, best)), other, best);
    Lanes along = Div8(Add8(Sub8(vr, ur), Sub8(uu, uv)), DotVectors(w, w));
    other = SubScaled(SubVectors(r, u), Clamp8(along), w);
    best = SelectVector(Less8(DotVectors(other, other), DotVectors(best, best)), other, best);
    return SelectVector(inside, SubScaled(SubScaled(r, s, u), t, v), best);
}

static inline Vector8 MixVectors(Vector8 a, Vector8 b, Lanes t)
{
    return SubScaled(a, t, SubVectors(a, b));
}

static inline Corners8 CornersAt(const Corners8 c[2], Lanes t)
{
    return (Corners8){MixVectors(c[0].base, c[1].base, t), MixVectors(c[0].first, c[1].first, t),
                      MixVectors(c[0].second, c[1].second, t)};
}

// What is left to be proved free, in each lane.
typedef struct Times8
{
    Lanes begin, end;
} Times8;

// A lower bound that is `first` at 0 and `last` at 1 and linear between, at a time; less what
// rounding may add to it.
static inline Lanes BoundAt(Lanes first, Lanes last, Lanes t)
{
    Lanes x = Mul8(Sub8(Set8(1.0f), t), first), y = Mul8(t, last);
    return Sub8(Add8(x, y), Mul8(Set8(8.0f * UNIT), Add8(Abs8(x), Abs8(y))));
}

// Takes off the times that the bounds prove free, from one side; lanes that are free then.
static inline uint32_t ShortenTimes(Times8* left, const Ahead8* first, const Ahead8* last)
{
    Lanes zero = Set8(0.0f), begin = left->begin, end = left->end, until = end, from = begin;
    LaneMask atBegin = LessEqual8(zero, zero), atEnd = atBegin;
    for (int i = 0; i < first->count; ++i)
    {
        Lanes p = first->corner[i], q = last->corner[i];
        atBegin = And8(atBegin, Less8(Set8(FLOOR), BoundAt(p, q, begin)));
        atEnd = And8(atEnd, Less8(Set8(FLOOR), BoundAt(p, q, end)));
        // where the bound falls to nothing, or rises from it
        Lanes ratio = Div8(p, Sub8(p, q));
        Lanes falls = Mul8(ratio, Set8(1.0f - 16.0f * UNIT));
        Lanes rises = Add8(Mul8(ratio, Set8(1.0f + 16.0f * UNIT)), Set8(FLOOR));
        until = Min8(Select8(Less8(q, zero), falls, until), until);
        from = Max8(Select8(Less8(p, zero), rises, from), from);
    }
    left->begin = Select8(atBegin, Max8(until, begin), begin);
    left->end = Select8(atEnd, Min8(from, end), end);
    return Bits8(And8(atBegin, atEnd));
}

// Directions from the middle of what is left, so often.
#define ROUNDS 3

static inline uint32_t FilterEdges(const Corners8 c[2], uint32_t lanes, float separation)
{
    Times8 left = {Set8(0.0f), Set8(1.0f)};
    for (int round = 0; round < ROUNDS && lanes; ++round)
    {
        Corners8 middle = CornersAt(c, Mul8(Set8(0.5f), Add8(left.begin, left.end)));
        Vector8 d = EdgeDirection(&middle);
        Lanes margin = MarginAlong(d, separation);
        Ahead8 first = EdgesAhead(&c[0], d, margin), last = EdgesAhead(&c[1], d, margin);
        lanes &= ~ShortenTimes(&left, &first, &last);
    }
    return lanes;
}

static inline uint32_t FilterFaces(const Corners8 c[2], uint32_t lanes, float separation)
{
    Times8 left = {Set8(0.0f), Set8(1.0f)};
    for (int round = 0; round < ROUNDS && lanes; ++round)
    {
        Corners8 middle = CornersAt(c, Mul8(Set8(0.5f), Add8(left.begin, left.end)));
        Vector8 d = FaceDirection(&middle);
        Lanes margin = MarginAlong(d, separation);
        Ahead8 first = FaceAhead(&c[0], d, margin), last = FaceAhead(&c[1], d, margin);
        lanes &= ~ShortenTimes(&left, &first, &last);
    }
    return lanes;
}

static inline uint32_t SharedLanes(const knCcdEdges* b, uint32_t v, uint32_t w)
{
    LaneMask first = Or8(SameVertex8(b->vertex[0], v), SameVertex8(b->vertex[1], v));
    LaneMask second = Or8(SameVertex8(b->vertex[0], w), SameVertex8(b->vertex[1], w));
    return Bits8(Or8(first, second));
}

static inline void MeetEdgeRow(const knCcdEdges* a, int lane, const knCcdEdges* b, uint32_t lanes,
                               knCcdSink* sink)
{
    lanes &= ~SharedLanes(b, a->vertex[0][lane], a->vertex[1][lane]);
    if (!lanes)
    {
        return;
    }
    sink->funnel.edgeTests += (uint64_t)__builtin_popcount(lanes);
    if (!(sink->sabotage & kn_sabotageCcdFilter))
    {
        Corners8 c[2];
        for (int end = 0; end < 2; ++end)
        {
            Vector8 a0 = SetVector(end ? a->v[0].end : a->v[0].start, lane);
            Vector8 a1 = SetVector(end ? a->v[1].end : a->v[1].start, lane);
            Vector8 b0 = LoadVector(end ? b->v[0].end : b->v[0].start);
            Vector8 b1 = LoadVector(end ? b->v[1].end : b->v[1].start);
            c[end] = (Corners8){SubVectors(a0, b0), SubVectors(a1, a0), SubVectors(b1, b0)};
        }
        lanes = FilterEdges(c, lanes, sink->margin);
    }
    for (; lanes; lanes &= lanes - 1)
    {
        knMeetEdgeLanes(a, lane, b, __builtin_ctz(lanes), sink);
    }
}

static void MeetEdges(const knCcdEdges* a, const knCcdEdges* b, knCcdSink* sink)
{
    if (a != b && !knCcdBoxesMeet(&a->head.box, &b->head.box))
    {
        return;
    }
    Bounds8 bounds, aBounds;
    Bounds1 aBox = BoxBounds(&a->head.box), bBox = BoxBounds(&b->head.box);
    LoadBounds(b->v, 2, &bounds);
    LoadBounds(a->v, 2, &aBounds);
    uint32_t bLanes = b->head.lanes & (a == b ? 0xFFu : FindNear(&bounds, &aBox));
    uint32_t aLanes = a->head.lanes & (a == b ? 0xFFu : FindNear(&aBounds, &bBox));
    if (!aLanes || !bLanes)
    {
        return;
    }
    BoundsOfEach each;
    StoreBounds(&aBounds, sink->margin, &each);
    for (; aLanes; aLanes &= aLanes - 1)
    {
        int lane = __builtin_ctz(aLanes);
        Bounds1 one = LaneBounds(&each, lane);
        uint32_t lanes = bLanes & FindNear(&bounds, &one);
        lanes &= a == b ? 0xFFu << (lane + 1) & 0xFFu : 0xFFu;
        if (lanes)
        {
            MeetEdgeRow(a, lane, b, lanes, sink);
        }
    }
}

static inline void MeetFaceRow(const knCcdVertices* a, int lane, const knCcdFaces* b,
                               uint32_t lanes, knCcdSink* sink)
{
    uint32_t v = a->head.id[lane];
    lanes &= ~Bits8(Or8(Or8(SameVertex8(b->vertex[0], v), SameVertex8(b->vertex[1], v)),
                        SameVertex8(b->vertex[2], v)));
    if (!lanes)
    {
        return;
    }
    sink->funnel.faceTests += (uint64_t)__builtin_popcount(lanes);
    if (!(sink->sabotage & kn_sabotageCcdFilter))
    {
        Corners8 c[2];
        for (int end = 0; end < 2; ++end)
        {
            Vector8 p = SetVector(end ? a->v[0].end : a->v[0].start, lane);
            Vector8 f0 = LoadVector(end ? b->v[0].end : b->v[0].start);
            Vector8 f1 = LoadVector(end ? b->v[1].end : b->v[1].start);
            Vector8 f2 = LoadVector(end ? b->v[2].end : b->v[2].start);
            c[end] = (Corners8){SubVectors(p, f0), SubVectors(f1, f0), SubVectors(f2, f0)};
        }
        lanes = FilterFaces(c, lanes, sink->margin);
    }
    for (; lanes; lanes &= lanes - 1)
    {
        knMeetFaceLanes(a, lane, b, __builtin_ctz(lanes), sink);
    }
}

static void MeetFaces(const knCcdVertices* a, const knCcdFaces* b, knCcdSink* sink)
{
    if (!knCcdBoxesMeet(&a->head.box, &b->head.box))
    {
        return;
    }
    Bounds8 bounds, aBounds;
    Bounds1 aBox = BoxBounds(&a->head.box), bBox = BoxBounds(&b->head.box);
    LoadBounds(b->v, 3, &bounds);
    LoadBounds(a->v, 1, &aBounds);
    uint32_t bLanes = b->head.lanes & FindNear(&bounds, &aBox);
    uint32_t aLanes = a->head.lanes & FindNear(&aBounds, &bBox);
    if (!aLanes || !bLanes)
    {
        return;
    }
    BoundsOfEach each;
    StoreBounds(&aBounds, sink->margin, &each);
    for (; aLanes; aLanes &= aLanes - 1)
    {
        int lane = __builtin_ctz(aLanes);
        Bounds1 one = LaneBounds(&each, lane);
        uint32_t lanes = bLanes & FindNear(&bounds, &one);
        if (lanes)
        {
            MeetFaceRow(a, lane, b, lanes, sink);
        }
    }
}

static void OverlapFaces(const knCcdFaces* a, const knCcdFaces* b, float margin,
                         uint8_t lanes[KN_LANES])
{
    Bounds8 bounds, aBounds;
    BoundsOfEach each;
    LoadBounds(b->v, 3, &bounds);
    LoadBounds(a->v, 3, &aBounds);
    StoreBounds(&aBounds, margin, &each);
    for (int lane = 0; lane < KN_LANES; ++lane)
    {
        uint32_t near = 0;
        if (a->head.lanes >> lane & 1)
        {
            Bounds1 one = LaneBounds(&each, lane);
            near = b->head.lanes & FindNear(&bounds, &one);
        }
        lanes[lane] = (uint8_t)near;
    }
}

static float Lowest(Lanes a)
{
    float f[KN_LANES];
    Store8(f, a);
    for (int step = KN_LANES / 2; step > 0; step /= 2)
    {
        for (int i = 0; i < step; ++i)
        {
            f[i] = f[i] < f[i + step] ? f[i] : f[i + step];
        }
    }
    return f[0];
}

static void SetSide(float lower[4], float upper[4], int axis, float low, float high, float margin)
{
    lower[axis] = margin > 0.0f ? nextafterf(low - margin, -INFINITY) : low;
    upper[axis] = margin > 0.0f ? nextafterf(high + margin, INFINITY) : high;
}

static void FitBlock(knCcdHead* head, const knCcdMoving* v, int cornerCount, float margin)
{
    Bounds8 b;
    LoadBounds(v, cornerCount, &b);
    LaneMask finite = LessEqual8(Set8(0.0f), Set8(0.0f));
    for (int c = 0; c < 3 * cornerCount; ++c)
    {
        Lanes p = Load8(v[c / 3].start[c % 3]), q = Load8(v[c / 3].end[c % 3]);
        finite = And8(finite,
                      And8(LessEqual8(Abs8(p), Set8(FLT_MAX)), LessEqual8(Abs8(q), Set8(FLT_MAX))));
    }
    head->lanes = Bits8(finite);
    Lanes most = Set8(INFINITY), zero = Set8(0.0f);
    for (int axis = 0; axis < 3; ++axis)
    {
        float low[2], high[2];
        for (int end = 0; end < 2; ++end)
        {
            low[end] = Lowest(Select8(finite, b.lower[end][axis], most));
            high[end] = -Lowest(Select8(finite, Sub8(zero, b.upper[end][axis]), most));
        }
        SetSide(head->box.startLower, head->box.startUpper, axis, low[0], high[0], margin);
        SetSide(head->box.endLower, head->box.endUpper, axis, low[1], high[1], margin);
    }
    head->box.startLower[3] = head->box.startUpper[3] = 0.0f;
    head->box.endLower[3] = head->box.endUpper[3] = 0.0f;
}

// A Bernstein vector of the normal along the 26 directions to the faces, edges and corners of a
// cube: bits of those along which it goes in every used lane.
static inline uint32_t DirectionsOf(Vector8 n, Lanes error, uint32_t used)
{
    Lanes xy = Add8(n.x, n.y), yx = Sub8(n.x, n.y);
    const Lanes along[13] = {n.x,
                             n.y,
                             n.z,
                             xy,
                             yx,
                             Add8(n.x, n.z),
                             Sub8(n.x, n.z),
                             Add8(n.y, n.z),
                             Sub8(n.y, n.z),
                             Add8(xy, n.z),
                             Sub8(xy, n.z),
                             Add8(yx, n.z),
                             Sub8(yx, n.z)};
    uint32_t directions = 0;
    for (int i = 0; i < 13; ++i)
    {
        uint32_t ahead = Bits8(Less8(error, along[i]));
        uint32_t behind = Bits8(Less8(along[i], Sub8(Set8(0.0f), error)));
        directions |= (uint32_t)((ahead & used) == used) << (2 * i);
        directions |= (uint32_t)((behind & used) == used) << (2 * i + 1);
    }
    return directions;
}

// The sum of all products of absolute values in a cross product: what errors are measured against.
static inline Lanes CrossSize(Vector8 a, Vector8 b)
{
    Lanes x = Abs8(a.x), y = Abs8(a.y), z = Abs8(a.z);
    Lanes u = Abs8(b.x), v = Abs8(b.y), w = Abs8(b.z);
    return Add8(Add8(Mul8(x, Add8(v, w)), Mul8(y, Add8(u, w))), Mul8(z, Add8(u, v)));
}

static uint32_t FindNormals(const knCcdFaces* f)
{
    Vector8 u[2], v[2];
    for (int end = 0; end < 2; ++end)
    {
        Vector8 o = LoadVector(end ? f->v[0].end : f->v[0].start);
        u[end] = SubVectors(LoadVector(end ? f->v[1].end : f->v[1].start), o);
        v[end] = SubVectors(LoadVector(end ? f->v[2].end : f->v[2].start), o);
    }
    uint32_t used = (1u << f->head.count) - 1, directions = f->head.lanes == used ? ~0u : 0u;
    // up to four roundings to a product of differences, four more to sums of six
    for (int end = 0; end < 2 && directions; ++end)
    {
        Lanes error = Add8(Mul8(Set8(16.0f * UNIT), CrossSize(u[end], v[end])), Set8(FLOOR));
        directions &= DirectionsOf(CrossVectors(u[end], v[end]), error, used);
    }
    if (directions)
    {
        Vector8 n = AddVectors(CrossVectors(u[0], v[1]), CrossVectors(u[1], v[0]));
        Lanes size = Add8(CrossSize(u[0], v[1]), CrossSize(u[1], v[0]));
        directions &= DirectionsOf(n, Add8(Mul8(Set8(16.0f * UNIT), size), Set8(FLOOR)), used);
    }
    return directions;
}
