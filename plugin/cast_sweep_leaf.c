// SPDX-License-Identifier: Zlib
#include "cast_sweep_view_internal.h"

// Triangles of two leaves, four pairs at a time. A plane that lies between two of them at the start
// is not crossed before the room is used up at the speeds of the corners along it: planes that
// parted others, and those of the triangles themselves.

static void LoadCorners(const knPieceMesh* mesh, const knSweepLeaf* leaf, knLanes3 corners[3])
{
    knVec3 v[KN_LANES][3];
    for (uint32_t i = 0; i < KN_LANES; ++i)
    {
        knPieceMesh_Corners(mesh, leaf->triangles[i], v[i]);
    }
    for (int k = 0; k < 3; ++k)
    {
        corners[k] = (knLanes3){simde_mm_set_ps(v[3][k].x, v[2][k].x, v[1][k].x, v[0][k].x),
                                simde_mm_set_ps(v[3][k].y, v[2][k].y, v[1][k].y, v[0][k].y),
                                simde_mm_set_ps(v[3][k].z, v[2][k].z, v[1][k].z, v[0][k].z)};
    }
}

// What triangles span along directions, and how fast they go along them at least and at most.
typedef struct Spans
{
    knLanes low, high, slow, fast;
} Spans;

static inline Spans SpansOf(const knLanes3 corners[3], const knLanes3 speeds[3], knLanes3 n)
{
    knLanes at = knLanes3_Dot(n, corners[0]), speed = knLanes3_Dot(n, speeds[0]);
    Spans s = {at, at, speed, speed};
    for (int k = 1; k < 3; ++k)
    {
        at = knLanes3_Dot(n, corners[k]);
        speed = knLanes3_Dot(n, speeds[k]);
        s.low = knLanes_Min(s.low, at);
        s.high = knLanes_Max(s.high, at);
        s.slow = knLanes_Min(s.slow, speed);
        s.fast = knLanes_Max(s.fast, speed);
    }
    return s;
}

// Unit normals; zero for triangles without an area.
static knLanes3 NormalsOf(const knLanes3 v[3])
{
    knLanes3 n = knLanes3_Cross(knLanes3_Sub(v[1], v[0]), knLanes3_Sub(v[2], v[0]));
    knLanes length = simde_mm_sqrt_ps(knLanes3_Dot(n, n));
    knLanes scale = simde_mm_div_ps(knLanes_All(1.0f), length);
    scale = simde_mm_and_ps(simde_mm_cmpgt_ps(length, simde_mm_setzero_ps()), scale);
    return knLanes3_Scale(scale, n);
}

void knSweepView_TakeLeaf(const knSweepView* view, int side, uint32_t at, knSweepLeaf* leaf)
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
    for (uint32_t i = 0; i < KN_LANES; ++i)
    {
        // the lanes that are left repeat the last triangle
        leaf->triangles[i] = mesh->order[node->first + (i < node->count ? i : node->count - 1)];
    }
    LoadCorners(mesh, leaf, leaf->corners);
    knLanes3 turn = knLanes3_All(view->turns[side]);
    for (int k = 0; k < 3; ++k)
    {
        knLanes3* p = &leaf->corners[k];
        *p = side == 0 ? knLanes3_MulMV(&view->turnAxes, *p) : *p;
        leaf->speeds[k] = knLanes3_Cross(turn, *p);
        if (side == 0)
        {
            leaf->speeds[k] = knLanes3_Add(leaf->speeds[k], knLanes3_All(view->move));
            *p = knLanes3_Add(*p, knLanes3_All(view->shift));
        }
    }
    leaf->normals = NormalsOf(leaf->corners);
    Spans own = SpansOf(leaf->corners, leaf->speeds, leaf->normals);
    leaf->low = own.low;
    leaf->high = own.high;
    leaf->slow = own.slow;
    leaf->fast = own.fast;
}

// One triangle in all lanes.
typedef struct Single
{
    knLanes3 corners[3], speeds[3], normal;
    Spans own;
} Single;

static inline float LaneOf(knLanes v, uint32_t lane)
{
    float lanes[KN_LANES];
    simde_mm_storeu_ps(lanes, v);
    return lanes[lane];
}

static inline knLanes Broadcast(knLanes v, uint32_t lane)
{
    return knLanes_All(LaneOf(v, lane));
}

static inline knLanes3 Broadcast3(knLanes3 v, uint32_t lane)
{
    return (knLanes3){Broadcast(v.x, lane), Broadcast(v.y, lane), Broadcast(v.z, lane)};
}

static Single SingleOf(const knSweepLeaf* leaf, uint32_t lane)
{
    Single s;
    for (int k = 0; k < 3; ++k)
    {
        s.corners[k] = Broadcast3(leaf->corners[k], lane);
        s.speeds[k] = Broadcast3(leaf->speeds[k], lane);
    }
    s.normal = Broadcast3(leaf->normals, lane);
    s.own = (Spans){Broadcast(leaf->low, lane), Broadcast(leaf->high, lane),
                    Broadcast(leaf->slow, lane), Broadcast(leaf->fast, lane)};
    return s;
}

static inline Spans BroadcastSpans(const Spans* s, uint32_t lane)
{
    return (Spans){Broadcast(s->low, lane), Broadcast(s->high, lane), Broadcast(s->slow, lane),
                   Broadcast(s->fast, lane)};
}

// No earlier can pairs touch, and no earlier by so much that it matters.
typedef struct Times
{
    knLanes start, counts;
} Times;

// By a plane between the two, a on either side of it.
static inline void TrySpans(const knSweepView* view, const Spans* a, const Spans* b, float slack,
                            Times* times)
{
    knLanes above = knLanes_Sub(a->low, b->high), below = knLanes_Sub(b->low, a->high);
    knLanes isAbove = simde_mm_cmpgt_ps(above, below);
    knLanes speed =
        knLanes_Select(isAbove, knLanes_Sub(b->fast, a->slow), knLanes_Sub(a->fast, b->slow));
    speed = knLanes_Add(speed, knLanes_All(view->gain));
    knLanes apart = knLanes_Max(above, below);
    knLanes room = knLanes_Sub(apart, knLanes_All(view->rounding));
    // to half the tolerance: at the touch itself there is no direction
    knLanes before = knLanes_Sub(room, knLanes_All(0.5f * (float)view->sweep->tolerance));
    times->start = knLanes_RaiseTime(before, speed, times->start);
    // what touches from the start stays
    room = knLanes_Add(room, knLanes_All(slack));
    room = simde_mm_and_ps(simde_mm_cmpgt_ps(apart, simde_mm_setzero_ps()), room);
    times->counts = knLanes_RaiseTime(room, speed, times->counts);
}

// Two leaves with the times of all their pairs, by triangles of a.
typedef struct LeafPair
{
    const knSweepLeaf *a, *b;
    Times times[KN_LANES];
    uint32_t open; // pairs that were not tried yet and may count, as bits 4 i + k
} LeafPair;

static void Close(LeafPair* pair, uint32_t i, float best)
{
    knLanes late = simde_mm_cmpge_ps(pair->times[i].counts, knLanes_All(best));
    pair->open &= ~((uint32_t)simde_mm_movemask_ps(late) << KN_LANES * i);
}

static bool IsOpen(const LeafPair* pair, uint32_t i)
{
    return (pair->open >> KN_LANES * i & 0xF) != 0;
}

static void TryGuesses(const knSweepView* view, LeafPair* pair, float slack)
{
    float best = (float)view->sweep->best;
    for (int g = 0; g < 2 && pair->open; ++g)
    {
        knLanes3 n = knLanes3_All(view->guesses[g].normal);
        Spans a = SpansOf(pair->a->corners, pair->a->speeds, n);
        Spans b = SpansOf(pair->b->corners, pair->b->speeds, n);
        for (uint32_t i = 0; i < pair->a->count; ++i)
        {
            Spans one = BroadcastSpans(&a, i);
            TrySpans(view, &one, &b, slack, &pair->times[i]);
            Close(pair, i, best);
        }
    }
}

static void TryNormals(const knSweepView* view, LeafPair* pair, float slack)
{
    float best = (float)view->sweep->best;
    const knSweepLeaf* b = pair->b;
    Spans ownB = {b->low, b->high, b->slow, b->fast};
    for (uint32_t i = 0; i < pair->a->count; ++i)
    {
        if (IsOpen(pair, i))
        {
            Single a = SingleOf(pair->a, i);
            Spans spansA = SpansOf(a.corners, a.speeds, b->normals);
            TrySpans(view, &spansA, &ownB, slack, &pair->times[i]);
            Spans spansB = SpansOf(b->corners, b->speeds, a.normal);
            TrySpans(view, &a.own, &spansB, slack, &pair->times[i]);
            Close(pair, i, best);
        }
    }
}

// The open pair that can touch first, and when.
static uint32_t FirstOpen(const LeafPair* pair, float* start)
{
    uint32_t first = KN_NONE;
    *start = FLT_MAX;
    for (uint32_t i = 0; i < pair->a->count; ++i)
    {
        float times[KN_LANES];
        simde_mm_storeu_ps(times, pair->times[i].start);
        for (uint32_t k = 0; k < pair->b->count; ++k)
        {
            uint32_t bit = KN_LANES * i + k;
            if (pair->open >> bit & 1 && times[k] < *start)
            {
                *start = times[k];
                first = bit;
            }
        }
    }
    return first;
}

void knSweepView_TryLeaves(knSweepView* view, const knSweepLeaf* a, const knSweepLeaf* b,
                           float from)
{
    knSweep* s = view->sweep;
    LeafPair pair;
    pair.a = a;
    pair.b = b;
    pair.open = 0;
    knLanes none = simde_mm_setzero_ps();
    for (uint32_t i = 0; i < a->count; ++i)
    {
        pair.times[i] = (Times){none, none};
        pair.open |= ((1u << b->count) - 1) << KN_LANES * i;
    }
    while (pair.open)
    {
        float slack = (float)knSweep_Slack(s), start;
        TryGuesses(view, &pair, slack);
        TryNormals(view, &pair, slack);
        uint32_t first = FirstOpen(&pair, &start);
        if (first == KN_NONE)
        {
            return;
        }
        uint32_t i = first / KN_LANES, k = first % KN_LANES;
        knVec3 corners[3];
        knPieceMesh_Corners(s->b, b->triangles[k], corners);
        knSweep_TryPair(s, a->triangles[i], corners, b->triangles[k], (double)fmaxf(from, start));
        pair.open &= ~(1u << first);
        knSweepView_TakeGuesses(view);
    }
}
