// SPDX-License-Identifier: Zlib
#pragma once

// The loops over leaf blocks, written once and compiled for each set of instructions. The wide
// filter drops a pair only when all corners of one triangle, shared ones aside, are certainly on
// one side of the other's plane, or, where none is shared, beside one of its edges; what it cannot
// decide goes to the exact test, so its answers do not depend on the instructions.

#include "bvh/bvh_internal.h"
#include "bvh/bvh_lanes_internal.h"

typedef struct Corners8
{
    Lanes v[3][3]; // corner, axis
} Corners8;

typedef struct Triangles8
{
    Corners8 corners;
    Lanes lower[3], upper[3];
} Triangles8;

// Normals, not unit, and the sum of the absolute values of their two products: what rounding errors
// are measured against.
typedef struct Planes8
{
    Lanes normal[3], most[3];
} Planes8;

static inline void LoadTriangles(const knBvhBlock* block, Triangles8* t)
{
    for (int axis = 0; axis < 3; ++axis)
    {
        Lanes p = Load8(block->v[0][axis]), q = Load8(block->v[1][axis]);
        Lanes r = Load8(block->v[2][axis]);
        t->corners.v[0][axis] = p;
        t->corners.v[1][axis] = q;
        t->corners.v[2][axis] = r;
        t->lower[axis] = Min8(Min8(p, q), r);
        t->upper[axis] = Max8(Max8(p, q), r);
    }
}

static inline void MakePlanes(const Corners8* t, Planes8* p)
{
    const Lanes *o = t->v[0], *u = t->v[1], *v = t->v[2];
    for (int axis = 0; axis < 3; ++axis)
    {
        int y = (axis + 1) % 3, z = (axis + 2) % 3;
        Lanes left = Mul8(Sub8(u[y], o[y]), Sub8(v[z], o[z]));
        Lanes right = Mul8(Sub8(u[z], o[z]), Sub8(v[y], o[y]));
        p->normal[axis] = Sub8(left, right);
        p->most[axis] = Add8(Abs8(left), Abs8(right));
    }
}

static inline void Cross8(const Lanes a[3], const Lanes b[3], Lanes r[3])
{
    for (int axis = 0; axis < 3; ++axis)
    {
        int y = (axis + 1) % 3, z = (axis + 2) % 3;
        r[axis] = Sub8(Mul8(a[y], b[z]), Mul8(a[z], b[y]));
    }
}

static inline Lanes Dot8(const Lanes a[3], const Lanes b[3])
{
    return Add8(Add8(Mul8(a[0], b[0]), Mul8(a[1], b[1])), Mul8(a[2], b[2]));
}

// Lanes in which the corners q are certainly on one side of the plane of the triangle `of`, those
// in `shared` left out.
static inline uint32_t FindParted(const Planes8* plane, const Corners8* of, const Corners8* q,
                                  const LaneMask* shared, const knPairSink* sink)
{
    const Lanes* origin = of->v[0];
    Lanes low = Set8(INFINITY), high = Set8(-INFINITY), far[3];
    for (int corner = 0; corner < 3; ++corner)
    {
        Lanes x = Sub8(q->v[corner][0], origin[0]);
        Lanes y = Sub8(q->v[corner][1], origin[1]);
        Lanes z = Sub8(q->v[corner][2], origin[2]);
        Lanes d = Add8(Add8(Mul8(plane->normal[0], x), Mul8(plane->normal[1], y)),
                       Mul8(plane->normal[2], z));
        low = Min8(low, Select8(shared[corner], Set8(INFINITY), d));
        high = Max8(high, Select8(shared[corner], Set8(-INFINITY), d));
        far[0] = corner == 0 ? Abs8(x) : Max8(far[0], Abs8(x));
        far[1] = corner == 0 ? Abs8(y) : Max8(far[1], Abs8(y));
        far[2] = corner == 0 ? Abs8(z) : Max8(far[2], Abs8(z));
    }
    Lanes permanent = Add8(Add8(Mul8(plane->most[0], far[0]), Mul8(plane->most[1], far[1])),
                           Mul8(plane->most[2], far[2]));
    Lanes error = Add8(Mul8(Set8(sink->filterScale), permanent), Set8(sink->filterFloor));
    return Bits8(Or8(Less8(error, low), Less8(high, Sub8(Set8(0.0f), error))));
}

// Whether a plane upright on one of the two triangles, through an edge of it, certainly parts them.
// All six at once: lane 0 to 2 for the edges of the one, 4 to 6 for those of the other. Any
// direction for a plane would do, so only the distances along it have errors to allow for. Not
// inline: what the caller holds in registers is to stay there.
static __attribute__((noinline)) bool AreBeside(const knBvhBlock* a, int aLane, const knBvhBlock* b,
                                                int bLane, const knPairSink* sink)
{
    Lanes o[3], along[3], third[3], normal[3], upright[3], far[3], low = Set8(INFINITY);
    for (int axis = 0; axis < 3; ++axis)
    {
        float own[8];
        for (int i = 0; i < 4; ++i)
        {
            own[i] = a->v[i % 3][axis][aLane];
            own[4 + i] = b->v[i % 3][axis][bLane];
        }
        o[axis] = Load8(own);
        Lanes end = Turn8(o[axis]);
        along[axis] = Sub8(end, o[axis]);
        third[axis] = Sub8(Turn8(end), o[axis]);
        far[axis] = Max8(Abs8(along[axis]), Abs8(third[axis]));
    }
    Cross8(along, third, normal);
    Cross8(along, normal, upright);
    Lanes top = Max8(Max8(Dot8(upright, along), Dot8(upright, third)), Set8(0.0f));
    for (int corner = 0; corner < 3; ++corner)
    {
        Lanes x[3];
        for (int axis = 0; axis < 3; ++axis)
        {
            Lanes other = Halves8(b->v[corner][axis][bLane], a->v[corner][axis][aLane]);
            x[axis] = Sub8(other, o[axis]);
            far[axis] = Max8(far[axis], Abs8(x[axis]));
        }
        low = Min8(low, Dot8(upright, x));
    }
    Lanes permanent = Add8(Add8(Mul8(Abs8(upright[0]), far[0]), Mul8(Abs8(upright[1]), far[1])),
                           Mul8(Abs8(upright[2]), far[2]));
    Lanes error = Add8(Mul8(Set8(sink->besideScale), permanent), Set8(sink->besideFloor));
    return Bits8(Less8(Add8(top, Add8(error, error)), low)) != 0;
}

// To the exact test, unless they are beside each other. Those that share a corner touch there, and
// nothing parts them.
static inline void MeetLeft(const knBvhBlock* a, int aLane, const knBvhBlock* b, int bLane,
                            bool isAdjacent, knPairSink* sink)
{
    if (isAdjacent || !AreBeside(a, aLane, b, bLane, sink))
    {
        knMeetLanes(a, aLane, b, bLane, sink);
    }
}

static inline uint32_t FindOverlaps(const Triangles8* t, const float lower[3], const float upper[3])
{
    LaneMask x =
        And8(LessEqual8(t->lower[0], Set8(upper[0])), LessEqual8(Set8(lower[0]), t->upper[0]));
    LaneMask y =
        And8(LessEqual8(t->lower[1], Set8(upper[1])), LessEqual8(Set8(lower[1]), t->upper[1]));
    LaneMask z =
        And8(LessEqual8(t->lower[2], Set8(upper[2])), LessEqual8(Set8(lower[2]), t->upper[2]));
    return Bits8(And8(And8(x, y), z));
}

// One triangle against the lanes of a block.
typedef struct Row
{
    const knBvhBlock* a;
    const knBvhBlock* b;
    int lane; // of a
    Corners8 corners;
    LaneMask aShared[3]; // lanes of b that name the corner of a
    LaneMask bShared[3]; // lanes of b whose corner a names
    uint32_t adjacent;   // lanes of b that name any
} Row;

static inline void FillRow(Row* row)
{
    for (int corner = 0; corner < 3; ++corner)
    {
        for (int axis = 0; axis < 3; ++axis)
        {
            row->corners.v[corner][axis] = Set8(row->a->v[corner][axis][row->lane]);
        }
    }
    LaneMask same[3][3]; // corner of a, of b
    for (int i = 0; i < 3; ++i)
    {
        uint32_t vertex = row->a->vertex[i][row->lane];
        for (int k = 0; k < 3; ++k)
        {
            same[i][k] = SameVertex8(row->b->vertex[k], vertex);
        }
        row->aShared[i] = Or8(Or8(same[i][0], same[i][1]), same[i][2]);
    }
    for (int k = 0; k < 3; ++k)
    {
        row->bShared[k] = Or8(Or8(same[0][k], same[1][k]), same[2][k]);
    }
    row->adjacent = Bits8(Or8(Or8(row->aShared[0], row->aShared[1]), row->aShared[2]));
}

static inline uint32_t FilterRow(const Row* row, uint32_t lanes, const Triangles8* b,
                                 const Planes8* planes, const knPairSink* sink)
{
    // a duplicate has no corner left to be on a side, and must stay
    uint32_t duplicate = Bits8(And8(And8(row->aShared[0], row->aShared[1]), row->aShared[2]));
    uint32_t parted = FindParted(planes, &b->corners, &row->corners, row->aShared, sink);
    uint32_t left = lanes & (~parted | duplicate);
    if (left)
    {
        Planes8 plane;
        MakePlanes(&row->corners, &plane);
        left &= ~FindParted(&plane, &row->corners, &b->corners, row->bShared, sink) | duplicate;
    }
    return left;
}

// `lanes` of b whose boxes overlap the triangle's.
static inline void MeetRow(const Row* row, uint32_t lanes, const Triangles8* b,
                           const Planes8* planes, knPairSink* sink)
{
    lanes &= sink->skipAdjacent ? ~row->adjacent : lanes;
    sink->funnel.boxPairs += (uint64_t)__builtin_popcount(lanes);
    uint32_t left = lanes ? FilterRow(row, lanes, b, planes, sink) : 0;
    for (; left; left &= left - 1)
    {
        int lane = __builtin_ctz(left);
        MeetLeft(row->a, row->lane, row->b, lane, row->adjacent >> lane & 1u, sink);
    }
}

static void MeetBlocks(const knBvhBlock* a, const knBvhBlock* b, const knBvhNode* aNode,
                       const knBvhNode* bNode, knPairSink* sink)
{
    Triangles8 ta, tb;
    LoadTriangles(a, &ta);
    LoadTriangles(b, &tb);
    uint32_t aLanes = FindOverlaps(&ta, bNode->lower, bNode->upper);
    uint32_t bLanes = FindOverlaps(&tb, aNode->lower, aNode->upper);
    if (!aLanes || !bLanes)
    {
        return;
    }
    Planes8 planes;
    MakePlanes(&tb.corners, &planes);
    float boxes[6][KN_LANES];
    for (int axis = 0; axis < 3; ++axis)
    {
        Store8(boxes[axis], ta.lower[axis]);
        Store8(boxes[axis + 3], ta.upper[axis]);
    }
    for (; aLanes; aLanes &= aLanes - 1)
    {
        int i = __builtin_ctz(aLanes);
        const float lower[3] = {boxes[0][i], boxes[1][i], boxes[2][i]};
        const float upper[3] = {boxes[3][i], boxes[4][i], boxes[5][i]};
        uint32_t lanes = bLanes & FindOverlaps(&tb, lower, upper);
        if (lanes)
        {
            Row row = {.a = a, .b = b, .lane = i};
            FillRow(&row);
            MeetRow(&row, lanes, &tb, &planes, sink);
        }
    }
}

static void MeetBlockItself(const knBvhBlock* a, int count, knPairSink* sink)
{
    Triangles8 t;
    Planes8 planes;
    LoadTriangles(a, &t);
    MakePlanes(&t.corners, &planes);
    float boxes[6][KN_LANES];
    for (int axis = 0; axis < 3; ++axis)
    {
        Store8(boxes[axis], t.lower[axis]);
        Store8(boxes[axis + 3], t.upper[axis]);
    }
    for (int i = 0; i + 1 < count; ++i)
    {
        const float lower[3] = {boxes[0][i], boxes[1][i], boxes[2][i]};
        const float upper[3] = {boxes[3][i], boxes[4][i], boxes[5][i]};
        uint32_t lanes = FindOverlaps(&t, lower, upper) & (0xFFu << (i + 1) & 0xFFu);
        if (lanes)
        {
            Row row = {.a = a, .b = a, .lane = i};
            FillRow(&row);
            MeetRow(&row, lanes, &t, &planes, sink);
        }
    }
}

// Corners that both triangles of a lane name.
static inline void FindSharedCorners(const knBvhBlock* a, const knBvhBlock* b, LaneMask aShared[3],
                                     LaneMask bShared[3])
{
    LaneMask same[3][3]; // corner of a, of b
    for (int i = 0; i < 3; ++i)
    {
        for (int k = 0; k < 3; ++k)
        {
            same[i][k] = SameVertices8(a->vertex[i], b->vertex[k]);
        }
        aShared[i] = Or8(Or8(same[i][0], same[i][1]), same[i][2]);
    }
    for (int k = 0; k < 3; ++k)
    {
        bShared[k] = Or8(Or8(same[0][k], same[1][k]), same[2][k]);
    }
}

static void MeetPairs(const knBvhBlock* a, const knBvhBlock* b, int count, knPairSink* sink)
{
    LaneMask aShared[3], bShared[3];
    FindSharedCorners(a, b, aShared, bShared);
    uint32_t lanes = (1u << count) - 1;
    uint32_t adjacent = Bits8(Or8(Or8(aShared[0], aShared[1]), aShared[2]));
    lanes &= sink->skipAdjacent ? ~adjacent : lanes;
    sink->funnel.boxPairs += (uint64_t)__builtin_popcount(lanes);
    if (!lanes)
    {
        return;
    }
    Triangles8 ta, tb;
    Planes8 planes;
    LoadTriangles(a, &ta);
    LoadTriangles(b, &tb);
    uint32_t duplicate = Bits8(And8(And8(aShared[0], aShared[1]), aShared[2]));
    MakePlanes(&tb.corners, &planes);
    uint32_t parted = FindParted(&planes, &tb.corners, &ta.corners, aShared, sink);
    MakePlanes(&ta.corners, &planes);
    parted |= FindParted(&planes, &ta.corners, &tb.corners, bShared, sink);
    for (uint32_t left = lanes & (~parted | duplicate); left; left &= left - 1)
    {
        int lane = __builtin_ctz(left);
        MeetLeft(a, lane, b, lane, adjacent >> lane & 1u, sink);
    }
}

static void GatherLanes(knBvhBlock* block, const knVec3* positions, int count)
{
    for (int corner = 0; corner < 3; ++corner)
    {
        for (int lane = 0; lane < count; ++lane)
        {
            knVec3 p = positions[block->vertex[corner][lane]];
            block->v[corner][0][lane] = p.x;
            block->v[corner][1][lane] = p.y;
            block->v[corner][2][lane] = p.z;
        }
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

// Whole lanes of NaN for what is not finite: nothing overlaps them.
static uint32_t BlankBrokenLanes(knBvhBlock* block, uint32_t finite)
{
    for (uint32_t broken = ~finite & 0xFFu; broken; broken &= broken - 1)
    {
        int lane = __builtin_ctz(broken);
        for (int i = 0; i < 9; ++i)
        {
            block->v[i / 3][i % 3][lane] = NAN;
        }
    }
    return (uint32_t)__builtin_popcount(~finite & 0xFFu);
}

static uint32_t RefitBlock(knBvhBlock* block, const knVec3* positions, knBvhNode* leaf)
{
    GatherLanes(block, positions, (int)leaf->count);
    LaneMask finite = LessEqual8(Set8(0.0f), Set8(0.0f));
    Lanes lower[3], upper[3];
    for (int axis = 0; axis < 3; ++axis)
    {
        Lanes p = Load8(block->v[0][axis]), q = Load8(block->v[1][axis]);
        Lanes r = Load8(block->v[2][axis]);
        lower[axis] = Min8(Min8(p, q), r);
        upper[axis] = Max8(Max8(p, q), r);
        LaneMask fine =
            And8(LessEqual8(Abs8(p), Set8(FLT_MAX)), LessEqual8(Abs8(q), Set8(FLT_MAX)));
        finite = And8(finite, And8(fine, LessEqual8(Abs8(r), Set8(FLT_MAX))));
    }
    for (int axis = 0; axis < 3; ++axis)
    {
        leaf->lower[axis] = Lowest(Select8(finite, lower[axis], Set8(INFINITY)));
        leaf->upper[axis] = -Lowest(Select8(finite, Sub8(Set8(0.0f), upper[axis]), Set8(INFINITY)));
    }
    uint32_t bits = Bits8(finite);
    return bits == 0xFFu ? 0 : BlankBrokenLanes(block, bits) - (KN_LANES - leaf->count);
}

// The 26 directions to the faces, edges and corners of a cube, as sums of components.
static uint32_t FindNormals(const knBvhBlock* block, float floor)
{
    Triangles8 t;
    Planes8 p;
    LoadTriangles(block, &t);
    MakePlanes(&t.corners, &p);
    // four roundings to a component, two more to the sum of three
    Lanes error =
        Add8(Mul8(Set8(8.0f * 0x1p-24f), Add8(Add8(p.most[0], p.most[1]), p.most[2])), Set8(floor));
    Lanes x = p.normal[0], y = p.normal[1], z = p.normal[2];
    Lanes xy = Add8(x, y), yx = Sub8(x, y);
    const Lanes along[13] = {x,           y,           z,          xy,         yx,
                             Add8(x, z),  Sub8(x, z),  Add8(y, z), Sub8(y, z), Add8(xy, z),
                             Sub8(xy, z), Add8(yx, z), Sub8(yx, z)};
    uint32_t used = ~Bits8(SameVertex8(block->triangle, KN_NONE)) & 0xFFu, directions = 0;
    for (int i = 0; i < 13; ++i)
    {
        uint32_t ahead = Bits8(Less8(error, along[i]));
        uint32_t behind = Bits8(Less8(along[i], Sub8(Set8(0.0f), error)));
        directions |= (uint32_t)((ahead & used) == used) << (2 * i);
        directions |= (uint32_t)((behind & used) == used) << (2 * i + 1);
    }
    return directions;
}
