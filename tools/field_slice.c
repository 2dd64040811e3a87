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
            knSliceSample none = {0.0f, KN_NO_PIECE};
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

knSliceErrors knCompareSlices(const knSliceSample* exact, const knSliceSample* ours, size_t count)
{
    knSliceErrors errors = {0};
    double sum = 0.0;
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
    return errors;
}
