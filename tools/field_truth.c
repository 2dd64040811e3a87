// SPDX-License-Identifier: Zlib

// What the field is judged by: nothing of it is used here, only the triangles of the pieces.

#include "field_slice.h"

#include <string.h>

#define TILE 16 // samples along a side; one list of triangles serves a tile

static double Component(knDVec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static knTrueTriangle MakeTriangle(const knPieceSurface* surface, uint32_t index)
{
    uint32_t v[3];
    memcpy(v, surface->triangles[index].v, sizeof v);
    for (int i = 0; i < 3; ++i) // three exchanges of neighbours sort three
    {
        uint32_t a = v[i % 2], b = v[i % 2 + 1];
        v[i % 2] = a < b ? a : b;
        v[i % 2 + 1] = a < b ? b : a;
    }
    knTrueTriangle t = {.isCrack = surface->sources[index].isCrack};
    for (int i = 0; i < 3; ++i)
    {
        t.v[i] = knToDouble(surface->positions[v[i]]);
        t.center = knDAdd(t.center, knDScale(1.0 / 3.0, t.v[i]));
    }
    for (int i = 0; i < 3; ++i)
    {
        t.radius = fmax(t.radius, knDLength(knDSub(t.v[i], t.center)));
    }
    knDVec3 n = knDCross(knDSub(t.v[1], t.v[0]), knDSub(t.v[2], t.v[0]));
    double length = knDLength(n);
    t.normal = knDScale(length > 0.0 ? 1.0 / length : 0.0, n);
    return t;
}

// Its size is not known before: the arena grows until it fits.
static knResult GetSurface(const knFragmentSet* set, uint32_t fragment, knArena* arena,
                           knPieceSurface* surface)
{
    knPieceOptions options = knDefaultPieceOptions();
    for (;;)
    {
        knArena_Reset(arena);
        knResult result = knFragmentSet_Surface(set, fragment, &options, arena, surface);
        if (result != kn_errorMemory || arena->wantedBytes == 0)
        {
            return result;
        }
        size_t capacity = 2 * arena->capacity + arena->wantedBytes;
        knArena_Reset(arena);
        result = knArena_Reserve(arena, capacity);
        if (result != kn_success)
        {
            return result;
        }
    }
}

static knResult AddPiece(knTruth* truth, const knFragmentSet* set, uint32_t fragment,
                         knArena* arena)
{
    if (truth->pieceCount == KN_MAX_SLICE_PIECES)
    {
        return knFail(kn_errorLimit, "more than %d pieces", KN_MAX_SLICE_PIECES);
    }
    knPieceSurface surface;
    knResult result = GetSurface(set, fragment, arena, &surface);
    if (result != kn_success)
    {
        return result;
    }
    knTrueTriangle* triangles = knAllocate(NULL, surface.triangleCount, sizeof *triangles);
    if (!triangles)
    {
        return kn_errorMemory;
    }
    for (uint32_t i = 0; i < surface.triangleCount; ++i)
    {
        triangles[i] = MakeTriangle(&surface, i);
    }
    truth->pieces[truth->pieceCount] = (knTruePiece){triangles, surface.triangleCount, fragment};
    truth->pieceCount += 1;
    return kn_success;
}

knResult knCreateTruth(knTruth* truth, const knFamily* family)
{
    const knFragmentSet* set = knFamily_Fragments(family);
    truth->pieceCount = 0;
    knArena arena;
    knResult result = knCreateArena(&arena, 1u << 20, NULL);
    if (result != kn_success)
    {
        return result;
    }
    for (uint32_t i = 0; i < set->fragmentCount && result == kn_success; ++i)
    {
        bool isLive = set->fragments[i].state != kn_fragmentEnded;
        result = isLive ? AddPiece(truth, set, i, &arena) : kn_success;
    }
    knDestroyArena(&arena);
    if (result != kn_success)
    {
        knDestroyTruth(truth);
    }
    return result;
}

void knDestroyTruth(knTruth* truth)
{
    for (uint32_t i = 0; i < truth->pieceCount; ++i)
    {
        knTruePiece* piece = &truth->pieces[i];
        knRelease(NULL, piece->triangles, piece->triangleCount, sizeof(knTrueTriangle));
    }
    truth->pieceCount = 0;
}

typedef struct TruthTask
{
    const knTruth* truth;
    const knSlice* slice;
    knSliceSample* samples;
    const knTrueTriangle** nearby; // most triangles of a piece, by worker
    size_t nearbyCapacity;
} TruthTask;

// Where a row's line crosses the triangle, along the row. Every comparison is half-open and every
// shared edge is cut by the same numbers, so the crossings of a closed surface pair up.
static bool CrossRow(const knTrueTriangle* t, const knSlice* s, knDVec3 row, double* place)
{
    double level = Component(row, s->down), plane = Component(row, s->axis);
    double depth[2], along[2];
    int count = 0;
    for (int k = 0; k < 3; ++k)
    {
        knDVec3 a = t->v[k == 2 ? 1 : 0], b = t->v[k == 0 ? 1 : 2];
        double da = Component(a, s->down), db = Component(b, s->down);
        if ((da <= level) != (db <= level))
        {
            knDVec3 p = knDAdd(a, knDScale((level - da) / (db - da), knDSub(b, a)));
            depth[count] = Component(p, s->axis);
            along[count] = Component(p, s->across);
            count += 1;
        }
    }
    if (count != 2 || (depth[0] <= plane) == (depth[1] <= plane))
    {
        return false;
    }
    double share = (plane - depth[0]) / (depth[1] - depth[0]);
    *place = along[0] + share * (along[1] - along[0]);
    return true;
}

static void LabelRow(const TruthTask* t, int row, uint32_t piece)
{
    const knSlice* s = t->slice;
    const knTruePiece* p = &t->truth->pieces[piece];
    knSliceSample* samples = t->samples + (size_t)row * (size_t)s->columns;
    knDVec3 start = knToDouble(knSlice_Point(s, 0, row));
    for (uint32_t i = 0; i < p->triangleCount; ++i)
    {
        double place = 0.0;
        if (!CrossRow(&p->triangles[i], s, start, &place))
        {
            continue;
        }
        double column = ceil((place - Component(start, s->across)) / (double)s->step);
        if (column < (double)s->columns)
        {
            // a toggle, kept in the depth until the row is done
            knSliceSample* first = &samples[column < 0.0 ? 0 : (int)column];
            first->depth = 1.0f - first->depth;
        }
    }
    bool isInside = false;
    for (int i = 0; i < s->columns; ++i)
    {
        isInside ^= samples[i].depth > 0.5f;
        samples[i].depth = 0.0f;
        samples[i].piece = isInside ? (uint16_t)piece : samples[i].piece;
    }
}

static void LabelRows(int begin, int end, int worker, void* context)
{
    (void)worker;
    const TruthTask* t = context;
    for (int row = begin; row < end; ++row)
    {
        for (int i = 0; i < t->slice->columns; ++i)
        {
            knSliceSample none = {.piece = KN_NO_PIECE};
            t->samples[(size_t)row * (size_t)t->slice->columns + (size_t)i] = none;
        }
        for (uint32_t k = 0; k < t->truth->pieceCount; ++k)
        {
            LabelRow(t, row, k);
        }
    }
}

void knTruth_Label(const knTruth* truth, const knSlice* slice, const knTaskHooks* tasks,
                   knSliceSample* samples)
{
    TruthTask task = {.truth = truth, .slice = slice, .samples = samples};
    knParallelFor(tasks, slice->rows, 4, LabelRows, &task);
}

knResult knTruth_LargestAxis(const knTruth* truth, knBox bounds, const knTaskHooks* tasks,
                             int* axis)
{
    const int side = 128;
    size_t count = (size_t)side * (size_t)side;
    knSliceSample* samples = knAllocate(NULL, count, sizeof *samples);
    if (!samples)
    {
        return kn_errorMemory;
    }
    double largest = -1.0;
    // the front view first: a symmetric object is drawn upright
    for (int k = 2; k >= 0; --k)
    {
        knSlice slice = knMakeSlice(bounds, k, side, side);
        knTruth_Label(truth, &slice, tasks, samples);
        double area = 0.0;
        for (size_t i = 0; i < count; ++i)
        {
            double cell = (double)slice.step * (double)slice.step;
            area += samples[i].piece != KN_NO_PIECE ? cell : 0.0;
        }
        if (area > 1.01 * largest)
        {
            largest = area;
            *axis = k;
        }
    }
    knRelease(NULL, samples, count, sizeof *samples);
    return kn_success;
}

knBox knTruth_SliceBox(const knTruth* truth, knBox bounds, int axis)
{
    double plane = Component(knToDouble(knBox_Center(bounds)), axis);
    knBox box = knEmptyBox();
    for (uint32_t k = 0; k < truth->pieceCount; ++k)
    {
        for (uint32_t i = 0; i < truth->pieces[k].triangleCount; ++i)
        {
            const knDVec3* v = truth->pieces[k].triangles[i].v;
            int below = 0;
            for (int c = 0; c < 3; ++c)
            {
                below += Component(v[c], axis) <= plane;
            }
            for (int c = 0; c < 3 && below % 3 != 0; ++c)
            {
                box = knBox_AddPoint(box, knToFloat(v[c]));
            }
        }
    }
    // the plane itself must stay where it is
    knVec3 middle = knBox_Center(bounds);
    bool isEmpty = box.lower.x > box.upper.x;
    knVec3* ends[2] = {&box.lower, &box.upper};
    for (int e = 0; e < 2; ++e)
    {
        ends[e]->x = axis == 0 ? middle.x : ends[e]->x;
        ends[e]->y = axis == 1 ? middle.y : ends[e]->y;
        ends[e]->z = axis == 2 ? middle.z : ends[e]->z;
    }
    return isEmpty ? bounds : box;
}

// The way from p to the segment.
static knDVec3 WayToSegment(knDVec3 p, knDVec3 a, knDVec3 b)
{
    knDVec3 e = knDSub(b, a), d = knDSub(p, a);
    double length = knDDot(e, e);
    double share = length > 0.0 ? fmin(1.0, fmax(0.0, knDDot(d, e) / length)) : 0.0;
    return knDSub(knDScale(share, e), d);
}

// To the plane when the foot lies in the triangle, else to the nearest of its edges.
static knDVec3 WayToTriangle(knDVec3 p, const knTrueTriangle* t, double height)
{
    bool isOver = knDDot(t->normal, t->normal) > 0.0;
    for (int k = 0; k < 3 && isOver; ++k)
    {
        knDVec3 a = t->v[k], b = t->v[(k + 1) % 3];
        isOver = knDDot(knDCross(t->normal, knDSub(b, a)), knDSub(p, a)) >= 0.0;
    }
    if (isOver)
    {
        return knDScale(-height, t->normal);
    }
    knDVec3 best = WayToSegment(p, t->v[0], t->v[1]);
    for (int k = 1; k < 3; ++k)
    {
        knDVec3 way = WayToSegment(p, t->v[k], t->v[(k + 1) % 3]);
        best = knDDot(way, way) < knDDot(best, best) ? way : best;
    }
    return best;
}

typedef struct Foot
{
    double distance;
    knDVec3 way; // zero when nothing was nearer than the bound
    bool isCrack;
} Foot;

// `bound` is a distance that is surely not exceeded.
static Foot Nearest(knDVec3 p, const knTrueTriangle* const* triangles, size_t count, double bound)
{
    Foot best = {.distance = bound};
    for (size_t i = 0; i < count; ++i)
    {
        const knTrueTriangle* t = triangles[i];
        double height = knDDot(t->normal, knDSub(p, t->v[0]));
        knDVec3 d = knDSub(p, t->center);
        double reach = best.distance + t->radius;
        if (fabs(height) < best.distance && knDDot(d, d) < reach * reach)
        {
            knDVec3 way = WayToTriangle(p, t, height);
            double distance = knDLength(way);
            best = distance < best.distance ? (Foot){distance, way, t->isCrack} : best;
        }
    }
    return best;
}

// If a point is within `half` of the centre c, its distance is at most d(c) + half, so no triangle
// farther than d(c) + 2 half from c can be its nearest.
static size_t ListNearby(const knTruePiece* piece, knDVec3 center, double half,
                         const knTrueTriangle** nearby)
{
    for (uint32_t i = 0; i < piece->triangleCount; ++i)
    {
        nearby[i] = &piece->triangles[i];
    }
    double reach = Nearest(center, nearby, piece->triangleCount, INFINITY).distance + 2.0 * half;
    size_t count = 0;
    for (uint32_t i = 0; i < piece->triangleCount; ++i)
    {
        const knTrueTriangle* t = &piece->triangles[i];
        if (knDLength(knDSub(center, t->center)) - t->radius <= reach)
        {
            nearby[count++] = t;
        }
    }
    return count;
}

typedef struct TileRect
{
    int left, top, right, bottom;
} TileRect;

static bool HoldsPiece(const TruthTask* t, TileRect r, uint32_t piece)
{
    for (int y = r.top; y < r.bottom; ++y)
    {
        for (int x = r.left; x < r.right; ++x)
        {
            if (t->samples[(size_t)y * (size_t)t->slice->columns + (size_t)x].piece == piece)
            {
                return true;
            }
        }
    }
    return false;
}

static void MeasureTile(const TruthTask* t, TileRect r, uint32_t piece,
                        const knTrueTriangle** nearby)
{
    const knSlice* s = t->slice;
    knDVec3 first = knToDouble(knSlice_Point(s, r.left, r.top));
    knDVec3 last = knToDouble(knSlice_Point(s, r.right - 1, r.bottom - 1));
    knDVec3 center = knDScale(0.5, knDAdd(first, last));
    // a step more than half the diagonal covers the rounding of the points
    double half = 0.5 * knDLength(knDSub(last, first)) + (double)s->step;
    size_t count = ListNearby(&t->truth->pieces[piece], center, half, nearby);
    for (int y = r.top; y < r.bottom; ++y)
    {
        double bound = INFINITY;
        for (int x = r.left; x < r.right; ++x)
        {
            knSliceSample* sample = &t->samples[(size_t)y * (size_t)s->columns + (size_t)x];
            if (sample->piece == piece)
            {
                knDVec3 p = knToDouble(knSlice_Point(s, x, y));
                Foot foot = Nearest(p, nearby, count, bound);
                sample->depth = (float)foot.distance;
                sample->way = knNormalize(knToFloat(foot.way));
                sample->atCrack = foot.isCrack;
                // a distance changes by no more than the way; the rest is for rounding
                bound = foot.distance + 1.01 * (double)s->step;
            }
            else
            {
                bound = INFINITY;
            }
        }
    }
}

static void MeasureTiles(int begin, int end, int worker, void* context)
{
    const TruthTask* t = context;
    const knTrueTriangle** nearby = t->nearby + (size_t)worker * t->nearbyCapacity;
    int tilesAcross = (t->slice->columns + TILE - 1) / TILE;
    for (int tile = begin; tile < end; ++tile)
    {
        int left = tile % tilesAcross * TILE, top = tile / tilesAcross * TILE;
        int right = left + TILE, bottom = top + TILE;
        TileRect r = {left, top, right < t->slice->columns ? right : t->slice->columns,
                      bottom < t->slice->rows ? bottom : t->slice->rows};
        for (uint32_t k = 0; k < t->truth->pieceCount; ++k)
        {
            if (HoldsPiece(t, r, k))
            {
                MeasureTile(t, r, k, nearby);
            }
        }
    }
}

knResult knTruth_Measure(const knTruth* truth, const knSlice* slice, const knTaskHooks* tasks,
                         knSliceSample* samples)
{
    TruthTask task = {.truth = truth, .slice = slice, .samples = samples};
    for (uint32_t k = 0; k < truth->pieceCount; ++k)
    {
        size_t count = truth->pieces[k].triangleCount;
        task.nearbyCapacity = count > task.nearbyCapacity ? count : task.nearbyCapacity;
    }
    size_t workers = tasks ? (size_t)tasks->workerCount : 1;
    task.nearby = knAllocate(NULL, workers * task.nearbyCapacity, sizeof *task.nearby);
    if (!task.nearby)
    {
        return kn_errorMemory;
    }
    int across = (slice->columns + TILE - 1) / TILE, down = (slice->rows + TILE - 1) / TILE;
    knParallelFor(tasks, across * down, 1, MeasureTiles, &task);
    knRelease(NULL, task.nearby, workers * task.nearbyCapacity, sizeof *task.nearby);
    return kn_success;
}
