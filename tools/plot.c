// SPDX-License-Identifier: Zlib
#include "plot.h"

#include "picture_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_TICKS  16
#define MAX_LABELS (2 * MAX_TICKS + KN_MAX_CURVES + 4)

// sRGB; blue, red, green and black as in the paper's Figure 12
static const knVec3 palette[KN_MAX_CURVES] = {{0.16f, 0.40f, 0.72f}, {0.80f, 0.24f, 0.18f},
                                              {0.20f, 0.58f, 0.30f}, {0.20f, 0.20f, 0.22f},
                                              {0.58f, 0.36f, 0.66f}, {0.87f, 0.58f, 0.12f}};
static const knVec3 ink = {0.25f, 0.26f, 0.28f};
static const knVec3 gridColor = {0.88f, 0.89f, 0.90f};

typedef struct Axis
{
    double low, high, step;
    int from, to; // pixels
} Axis;

typedef struct Plot
{
    const knPlotDef* def;
    Axis x, y;
    float textSize;
    knPicture* picture;
    knPictureLabel labels[MAX_LABELS];
    char texts[MAX_LABELS][32];
    uint32_t labelCount;
} Plot;

static double Value(const Plot* p, uint32_t row, uint32_t column)
{
    return p->def->columns->values[(size_t)row * p->def->columns->columnCount + column];
}

// Steps of 1, 2 or 5 times a power of ten, about `count` of them.
static void Divide(Axis* axis, int count)
{
    double span = axis->high > axis->low ? axis->high - axis->low : 1.0;
    double raw = span / count, power = pow(10.0, floor(log10(raw))), share = raw / power;
    axis->step = power * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
    axis->high = axis->step * ceil(axis->high / axis->step - 1e-9);
    axis->low = axis->step * floor(axis->low / axis->step + 1e-9);
    axis->high = axis->high > axis->low ? axis->high : axis->low + axis->step;
}

static void Measure(Plot* p)
{
    p->x.low = INFINITY;
    p->x.high = -INFINITY;
    for (uint32_t row = 0; row < p->def->columns->rowCount; ++row)
    {
        double x = Value(p, row, p->def->x);
        p->x.low = isfinite(x) ? fmin(p->x.low, x) : p->x.low;
        p->x.high = isfinite(x) ? fmax(p->x.high, x) : p->x.high;
        for (uint32_t c = 0; c < p->def->curveCount; ++c)
        {
            double y = Value(p, row, p->def->curves[c]);
            p->y.high = isfinite(y) ? fmax(p->y.high, y) : p->y.high;
            p->y.low = isfinite(y) ? fmin(p->y.low, y) : p->y.low; // zero is always shown
        }
    }
    if (!isfinite(p->x.low))
    {
        p->x.low = p->x.high = 0.0;
    }
    Divide(&p->x, 8);
    Divide(&p->y, 6);
}

static double Place(const Axis* axis, double value)
{
    return axis->from + (axis->to - axis->from) * (value - axis->low) / (axis->high - axis->low);
}

static void AddLabel(Plot* p, float x, float y, const char* text, knPictureAlign align,
                     knVec3 color)
{
    if (p->labelCount < MAX_LABELS)
    {
        char* copy = p->texts[p->labelCount];
        snprintf(copy, sizeof p->texts[0], "%s", text);
        p->labels[p->labelCount++] = (knPictureLabel){x, y, copy, p->textSize, color, align};
    }
}

static int TickCount(const Axis* axis)
{
    int count = (int)floor((axis->high - axis->low) / axis->step + 1.5);
    return count < MAX_TICKS ? count : MAX_TICKS;
}

static void AddLabels(Plot* p)
{
    const float size = p->textSize;
    char text[32];
    for (int i = 0; i < TickCount(&p->x); ++i)
    {
        double v = p->x.low + i * p->x.step;
        snprintf(text, sizeof text, "%g", fabs(v) < 1e-9 * p->x.step ? 0.0 : v);
        AddLabel(p, (float)Place(&p->x, v), (float)p->y.from + 1.1f * size, text, kn_alignCenter,
                 ink);
    }
    for (int i = 0; i < TickCount(&p->y); ++i)
    {
        double v = p->y.low + i * p->y.step;
        snprintf(text, sizeof text, "%g", fabs(v) < 1e-9 * p->y.step ? 0.0 : v);
        AddLabel(p, (float)p->x.from - 0.4f * size, (float)Place(&p->y, v) + 0.3f * size, text,
                 kn_alignRight, ink);
    }
    AddLabel(p, (float)p->x.to, (float)p->y.from + 2.3f * size, p->def->columns->names[p->def->x],
             kn_alignRight, ink);
    AddLabel(p, (float)p->x.from, 1.2f * size, p->def->title ? p->def->title : "", kn_alignLeft,
             ink);
    float right = (float)p->x.to;
    for (uint32_t c = p->def->curveCount; c-- > 0;)
    {
        const char* name = p->def->columns->names[p->def->curves[c]];
        AddLabel(p, right, 2.3f * size, name, kn_alignRight, palette[c]);
        right -= knMeasureText(name, size) + 1.2f * size;
    }
}

static void Blend(Plot* p, int x, int y, knVec3 color, float share)
{
    knPicture* picture = p->picture;
    if (x < 0 || y < 0 || x >= picture->width || y >= picture->height || !(share > 0.0f))
    {
        return;
    }
    uint8_t* pixel = picture->pixels + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
    const float channels[3] = {color.x, color.y, color.z};
    share = share < 1.0f ? share : 1.0f;
    for (int i = 0; i < 3; ++i)
    {
        float now = (float)pixel[i];
        pixel[i] = (uint8_t)(now + share * (255.0f * channels[i] - now) + 0.5f);
    }
}

// A stroke with round ends: a pixel is covered by how near its middle is.
static void Stroke(Plot* p, const double a[2], const double b[2], double radius, knVec3 color)
{
    int x0 = (int)floor(fmin(a[0], b[0]) - radius - 1.0);
    int x1 = (int)ceil(fmax(a[0], b[0]) + radius + 1.0);
    int y0 = (int)floor(fmin(a[1], b[1]) - radius - 1.0);
    int y1 = (int)ceil(fmax(a[1], b[1]) + radius + 1.0);
    double dx = b[0] - a[0], dy = b[1] - a[1], square = dx * dx + dy * dy;
    for (int y = y0; y <= y1; ++y)
    {
        for (int x = x0; x <= x1; ++x)
        {
            double px = x + 0.5 - a[0], py = y + 0.5 - a[1];
            double t = square > 0.0 ? fmin(fmax((px * dx + py * dy) / square, 0.0), 1.0) : 0.0;
            double distance = hypot(px - t * dx, py - t * dy);
            Blend(p, x, y, color, (float)(radius + 0.5 - distance));
        }
    }
}

static void DrawGrid(Plot* p)
{
    for (int i = 0; i < TickCount(&p->y); ++i)
    {
        double y = Place(&p->y, p->y.low + i * p->y.step);
        Stroke(p, (double[2]){p->x.from, y}, (double[2]){p->x.to, y}, 0.4, gridColor);
    }
    for (int i = 0; i < TickCount(&p->x); ++i)
    {
        double x = Place(&p->x, p->x.low + i * p->x.step);
        Stroke(p, (double[2]){x, p->y.from}, (double[2]){x, p->y.to}, 0.4, gridColor);
    }
    double zero = Place(&p->y, fmax(p->y.low, 0.0));
    Stroke(p, (double[2]){p->x.from, zero}, (double[2]){p->x.to, zero}, 0.6, ink);
    Stroke(p, (double[2]){p->x.from, p->y.from}, (double[2]){p->x.from, p->y.to}, 0.6, ink);
}

static void DrawCurve(Plot* p, uint32_t curve)
{
    double last[2] = {NAN, NAN};
    for (uint32_t row = 0; row < p->def->columns->rowCount; ++row)
    {
        double now[2] = {Place(&p->x, Value(p, row, p->def->x)),
                         Place(&p->y, Value(p, row, p->def->curves[curve]))};
        bool isHere = isfinite(now[0]) && isfinite(now[1]);
        if (isHere && isfinite(last[0]))
        {
            Stroke(p, last, now, 0.07 * (double)p->textSize, palette[curve]);
        }
        if (isHere && p->def->hasDots)
        {
            Stroke(p, now, now, 0.2 * (double)p->textSize, palette[curve]);
        }
        last[0] = isHere ? now[0] : (double)NAN;
        last[1] = now[1];
    }
}

knResult knDrawPlot(const knPlotDef* def, knPicture* picture)
{
    static Plot plot; // too large for a stack
    plot = (Plot){.def = def, .textSize = fmaxf(0.045f * (float)def->height, 12.0f)};
    Plot* p = &plot;
    p->x.from = (int)(4.2f * p->textSize);
    p->x.to = def->width - (int)(1.2f * p->textSize);
    p->y.from = def->height - (int)(2.8f * p->textSize);
    p->y.to = (int)(3.2f * p->textSize);
    Measure(p);
    AddLabels(p);
    size_t bytes = 3 * (size_t)def->width * (size_t)def->height;
    *picture = (knPicture){knDefaultAllocator(), def->width, def->height, NULL};
    picture->pixels = knAllocate(NULL, bytes, 1);
    if (!picture->pixels)
    {
        return kn_errorMemory;
    }
    memset(picture->pixels, 255, bytes);
    p->picture = picture;
    DrawGrid(p);
    for (uint32_t c = 0; c < def->curveCount; ++c)
    {
        DrawCurve(p, c);
    }
    for (uint32_t i = 0; i < p->labelCount; ++i)
    {
        knDrawLabel(picture, &p->labels[i]);
    }
    return kn_success;
}
