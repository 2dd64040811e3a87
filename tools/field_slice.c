// SPDX-License-Identifier: Zlib
#include "field_slice.h"

static float Component(knVec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static knVec3 WithComponent(knVec3 v, int axis, float value)
{
    knVec3 w = {axis == 0 ? value : v.x, axis == 1 ? value : v.y, axis == 2 ? value : v.z};
    return w;
}

knSlice knMakeSlice(knBox bounds, int axis, int columns, int rows)
{
    const float margin = 1.04f;
    knVec3 extent = knBox_Extent(bounds);
    knVec3 middle = knBox_Center(bounds);
    knSlice s = {.axis = axis, .columns = columns, .rows = rows};
    s.across = axis == 0 ? 2 : 0;
    s.down = axis == 1 ? 2 : 1;
    s.step = margin * fmaxf(Component(extent, s.across) / (float)columns,
                            Component(extent, s.down) / (float)rows);
    // y is up in the picture; seen from above, z comes down
    s.downStep = s.down == 1 ? -s.step : s.step;
    float left = Component(middle, s.across) - 0.5f * s.step * (float)(columns - 1);
    float top = Component(middle, s.down) - 0.5f * s.downStep * (float)(rows - 1);
    s.corner = WithComponent(WithComponent(middle, s.across, left), s.down, top);
    return s;
}

knVec3 knSlice_Point(const knSlice* s, int column, int row)
{
    float across = Component(s->corner, s->across) + s->step * (float)column;
    float down = Component(s->corner, s->down) + s->downStep * (float)row;
    return WithComponent(WithComponent(s->corner, s->across, across), s->down, down);
}

typedef struct AskTask
{
    const knFragmentField* field;
    const knTruth* truth;
    const knSlice* slice;
    knSliceSample* samples;
} AskTask;

static void AskRow(const AskTask* t, int row, uint32_t piece)
{
    uint32_t fragment = t->truth->pieces[piece].fragment;
    knBox box = knFragmentField_Box(t->field, fragment);
    knFieldQuery query = knMakeFieldQuery(t->field, fragment);
    knSliceSample* samples = t->samples + (size_t)row * (size_t)t->slice->columns;
    for (int i = 0; i < t->slice->columns; ++i)
    {
        knVec3 p = knSlice_Point(t->slice, i, row);
        knFieldContact contact;
        if (samples[i].piece == KN_NO_PIECE && knBox_Contains(box, p) &&
            knFieldQuery_Penetration(&query, p, &contact))
        {
            samples[i].depth = -contact.distance;
            samples[i].way = contact.normal;
            samples[i].piece = (uint16_t)piece;
        }
    }
}

static void AskRows(int begin, int end, int worker, void* context)
{
    (void)worker;
    const AskTask* t = context;
    for (int row = begin; row < end; ++row)
    {
        for (int i = 0; i < t->slice->columns; ++i)
        {
            knSliceSample none = {.piece = KN_NO_PIECE};
            t->samples[(size_t)row * (size_t)t->slice->columns + (size_t)i] = none;
        }
        for (uint32_t k = 0; k < t->truth->pieceCount; ++k)
        {
            AskRow(t, row, k);
        }
    }
}

void knAskField(const knFragmentField* field, const knTruth* truth, const knSlice* slice,
                const knTaskHooks* tasks, knSliceSample* samples)
{
    AskTask task = {field, truth, slice, samples};
    knParallelFor(tasks, slice->rows, 4, AskRows, &task);
}

// Angles of 180 degrees in tenths: percentiles without a sort.
typedef struct Angles
{
    uint64_t bins[1801];
    uint64_t count;
} Angles;

static void Angles_Add(Angles* angles, knVec3 a, knVec3 b)
{
    // the tangent of half the angle keeps its digits for small ones
    double half = atan2((double)knLength(knSub(a, b)), (double)knLength(knAdd(a, b)));
    angles->bins[(int)(2.0 * half * 1800.0 / 3.14159265358979324)] += 1;
    angles->count += 1;
}

// The upper end of the bin that 95 of 100 are not above.
static double Angles_Most(const Angles* angles)
{
    uint64_t sum = 0;
    for (int i = 0; i < 1801; ++i)
    {
        sum += angles->bins[i];
        if (angles->count > 0 && 100 * sum >= 95 * angles->count)
        {
            return 0.1 * (double)(i + 1);
        }
    }
    return 0.0;
}

// Where the truth goes deeper from one sample to its neighbour in the same piece, by half of the
// step at least, the field must not rise: a contact would be pushed the wrong way.
static void CountFall(const knSlice* slice, const knSliceSample* exact[2],
                      const knSliceSample* ours[2], knSliceErrors* errors)
{
    if (exact[0]->piece == KN_NO_PIECE || exact[0]->piece != exact[1]->piece ||
        ours[0]->piece != exact[0]->piece || ours[1]->piece != exact[0]->piece)
    {
        return;
    }
    float grows = exact[1]->depth - exact[0]->depth;
    if (fabsf(grows) < 0.5f * slice->step)
    {
        return;
    }
    float fall = grows > 0.0f ? ours[0]->depth - ours[1]->depth : ours[1]->depth - ours[0]->depth;
    errors->steps += 1;
    errors->falls += fall > 0.0f;
    errors->worstFall = fmax(errors->worstFall, (double)fall);
}

static void CountFalls(const knSlice* slice, const knSliceSample* exact, const knSliceSample* ours,
                       knSliceErrors* errors)
{
    size_t columns = (size_t)slice->columns;
    for (int row = 0; row < slice->rows; ++row)
    {
        for (int column = 0; column < slice->columns; ++column)
        {
            size_t i = (size_t)row * columns + (size_t)column;
            const size_t next[2] = {column + 1 < slice->columns ? i + 1 : i,
                                    row + 1 < slice->rows ? i + columns : i};
            for (int k = 0; k < 2; ++k)
            {
                const knSliceSample* e[2] = {&exact[i], &exact[next[k]]};
                const knSliceSample* o[2] = {&ours[i], &ours[next[k]]};
                CountFall(slice, e, o, errors);
            }
        }
    }
}

static void CompareWays(const knSlice* slice, const knSliceSample* exact, const knSliceSample* ours,
                        float near, knSliceErrors* errors)
{
    Angles all = {.count = 0}, cracks = {.count = 0};
    size_t count = (size_t)slice->columns * (size_t)slice->rows;
    for (size_t i = 0; i < count; ++i)
    {
        bool isKnown = knLengthSquared(exact[i].way) > 0.5f && knLengthSquared(ours[i].way) > 0.5f;
        if (isKnown && exact[i].piece == ours[i].piece && exact[i].piece != KN_NO_PIECE)
        {
            Angles_Add(&all, exact[i].way, ours[i].way);
            if (exact[i].atCrack && exact[i].depth <= near)
            {
                Angles_Add(&cracks, exact[i].way, ours[i].way);
            }
        }
    }
    errors->angle = Angles_Most(&all);
    errors->crackAngle = Angles_Most(&cracks);
    errors->crackCount = cracks.count;
}

knSliceErrors knCompareSlices(const knSlice* slice, const knSliceSample* exact,
                              const knSliceSample* ours, float near)
{
    knSliceErrors errors = {0};
    double sum = 0.0;
    size_t count = (size_t)slice->columns * (size_t)slice->rows;
    for (size_t i = 0; i < count; ++i)
    {
        if (exact[i].piece == KN_NO_PIECE && ours[i].piece == KN_NO_PIECE)
        {
            continue;
        }
        bool isAstray = exact[i].piece != ours[i].piece;
        double a = (double)exact[i].depth, b = (double)ours[i].depth;
        double error = isAstray ? fmax(a, b) : fabs(a - b);
        sum += error;
        errors.worst = fmax(errors.worst, error);
        errors.deepest = fmax(errors.deepest, a);
        errors.count += 1;
        errors.astray += isAstray;
    }
    errors.mean = errors.count > 0 ? sum / (double)errors.count : 0.0;
    CountFalls(slice, exact, ours, &errors);
    CompareWays(slice, exact, ours, near, &errors);
    return errors;
}
