// SPDX-License-Identifier: Zlib
#include "field_picture.h"

#include "picture_internal.h"

#include <math.h>
#include <stdio.h>

#define SHADES      256
#define ISO_LINES   10
#define MIN_SPACING 3.0f // pixels from line to line

static const knVec3 paper = {1.0f, 1.0f, 1.0f};
static const knVec3 outside = {0.925f, 0.92f, 0.91f};

// Viridis at every eighth: lightness rises evenly, so brighter reads as deeper.
static const knVec3 viridis[9] = {
    {0.267f, 0.005f, 0.329f}, {0.279f, 0.175f, 0.483f}, {0.230f, 0.322f, 0.546f},
    {0.173f, 0.449f, 0.558f}, {0.128f, 0.567f, 0.551f}, {0.158f, 0.684f, 0.502f},
    {0.369f, 0.789f, 0.383f}, {0.678f, 0.864f, 0.190f}, {0.993f, 0.906f, 0.144f}};

// Linear colours, so that samples can be averaged.
typedef struct Palette
{
    knVec3 shades[SHADES];
    knVec3 lines[SHADES]; // iso-lines: darker where it is bright, brighter where it is dark
    knVec3 outside;
} Palette;

static Palette MakePalette(void)
{
    Palette p = {.outside = knLinearFromSrgb(outside)};
    for (int i = 0; i < SHADES; ++i)
    {
        float place = 8.0f * (float)i / (float)(SHADES - 1);
        int k = place < 7.0f ? (int)place : 7;
        knVec3 color = knLerp(viridis[k], viridis[k + 1], place - (float)k);
        float line = i < SHADES / 2 ? 1.0f : 0.0f;
        p.shades[i] = knLinearFromSrgb(color);
        p.lines[i] = knLinearFromSrgb(knLerp(color, knMakeVec3(line, line, line), 0.6f));
    }
    return p;
}

knFieldLayout knMakeFieldLayout(int width, int height)
{
    float text = fminf((float)height / 28.0f, (float)width / 48.0f);
    int gap = (int)(0.6f * text) + 1;
    int top = (int)(1.5f * text) + 1;
    knFieldLayout l = {.width = width, .height = height, .textSize = text};
    l.barWidth = (int)(0.7f * text) + 1;
    int right = l.barWidth + (int)(3.6f * text);
    int panelWidth = (width - right - 3 * gap) / 2;
    int panelHeight = height / 2 - top - gap / 2;
    l.panelWidth = panelWidth > 1 ? panelWidth : 1;
    l.panelHeight = panelHeight > 1 ? panelHeight : 1;
    for (int i = 0; i < 2; ++i)
    {
        l.panelX[i] = gap + i * (l.panelWidth + gap);
        l.panelY[i] = top + i * (height / 2);
    }
    l.barX = l.panelX[1] + l.panelWidth + gap;
    return l;
}

// One panel of the picture and what it shows.
typedef struct Panel
{
    const knSliceSample* samples;
    int x, y, columns, rows; // columns and rows of samples
    float deepest;           // the bright end
    int lines;               // iso-lines up to it
} Panel;

static int Level(const Panel* panel, const knSliceSample* sample)
{
    return (int)floorf((float)panel->lines * sample->depth / panel->deepest);
}

static knVec3 SampleColor(const Palette* palette, const Panel* panel, int column, int row)
{
    const knSliceSample* s = panel->samples + (size_t)row * (size_t)panel->columns + (size_t)column;
    if (s->piece == KN_NO_PIECE)
    {
        return palette->outside;
    }
    float share = fminf(1.0f, s->depth / panel->deepest);
    int shade = (int)(share * (float)(SHADES - 1) + 0.5f);
    const knSliceSample* right = column + 1 < panel->columns ? s + 1 : s;
    const knSliceSample* below = row + 1 < panel->rows ? s + panel->columns : s;
    // the rim of a piece is no iso-line
    bool isLine = (right->piece == s->piece && Level(panel, right) != Level(panel, s)) ||
                  (below->piece == s->piece && Level(panel, below) != Level(panel, s));
    return isLine ? palette->lines[shade] : palette->shades[shade];
}

static void DrawPanel(knPicture* picture, const Palette* palette, const Panel* panel)
{
    const int n = KN_FIELD_SAMPLES;
    for (int y = 0; y < panel->rows / n; ++y)
    {
        for (int x = 0; x < panel->columns / n; ++x)
        {
            knVec3 sum = {0.0f, 0.0f, 0.0f};
            for (int k = 0; k < n * n; ++k)
            {
                sum = knAdd(sum, SampleColor(palette, panel, n * x + k % n, n * y + k / n));
            }
            knStorePixel(picture, panel->x + x, panel->y + y, knScale(1.0f / (float)(n * n), sum));
        }
    }
}

static void DrawBar(knPicture* picture, const Palette* palette, const knFieldLayout* l, int row,
                    int lines)
{
    int last = 0;
    for (int y = 0; y < l->panelHeight; ++y)
    {
        // the top pixel is 1
        float share = 1.0f - ((float)y + 0.5f) / (float)l->panelHeight;
        int shade = (int)(share * (float)(SHADES - 1) + 0.5f);
        int level = (int)(share * (float)lines);
        bool isLine = y > 0 && level != last;
        last = level;
        for (int x = l->barX; x < l->barX + l->barWidth && x < l->width; ++x)
        {
            knStorePixel(picture, x, l->panelY[row] + y,
                         isLine ? palette->lines[shade] : palette->shades[shade]);
        }
    }
}

// Every tenth, or where walls are so thin that lines would run together, every fifth or half.
static int CountLines(double deepest, float step)
{
    int lines = ISO_LINES;
    float pixels = (float)deepest / ((float)KN_FIELD_SAMPLES * step);
    while (lines > 2 && pixels < MIN_SPACING * (float)lines)
    {
        lines /= 2;
    }
    return lines;
}

static void DrawText(knPicture* picture, float x, float y, float size, const char* text)
{
    knPictureLabel label = knDefaultPictureLabel();
    label.x = x;
    label.y = y;
    label.size = size;
    label.text = text;
    knDrawLabel(picture, &label);
}

static void DrawLabels(knPicture* picture, const knFieldLayout* l, const knFieldRow* row, int index,
                       double radius)
{
    float size = l->textSize;
    float y = (float)l->panelY[index] - 0.45f * size;
    char text[128];
    snprintf(text, sizeof text, index == 0 ? "before: exact" : "after %u pieces: exact",
             row->pieceCount);
    DrawText(picture, (float)l->panelX[0], y, size, text);
    snprintf(text, sizeof text, "%s: ours   (mean error %.5f R, worst %.3f R)",
             index == 0 ? "before" : "after", row->errors.mean / radius,
             row->errors.worst / radius);
    DrawText(picture, (float)l->panelX[1], y, size, text);
    float x = (float)(l->barX + l->barWidth) + 0.3f * size;
    float top = (float)l->panelY[index];
    snprintf(text, sizeof text, "%.2g R", row->errors.deepest / radius);
    DrawText(picture, x, top + 0.55f * size, 0.8f * size, text);
    DrawText(picture, x, top + (float)l->panelHeight, 0.8f * size, "0");
}

knResult knDrawField(const knFieldLayout* layout, const knFieldRow rows[2], double radius,
                     knPicture* picture)
{
    knPicture made = {knDefaultAllocator(), layout->width, layout->height, NULL};
    made.pixels = knAllocate(&made.allocator, 3 * (size_t)layout->width, (size_t)layout->height);
    if (!made.pixels)
    {
        return kn_errorMemory;
    }
    Palette palette = MakePalette();
    knVec3 background = knLinearFromSrgb(paper);
    for (int i = 0; i < layout->width * layout->height; ++i)
    {
        knStorePixel(&made, i % layout->width, i / layout->width, background);
    }
    for (int i = 0; i < 4; ++i)
    {
        const knFieldRow* row = &rows[i / 2];
        Panel panel = {.samples = i % 2 == 0 ? row->exact : row->ours,
                       .x = layout->panelX[i % 2],
                       .y = layout->panelY[i / 2],
                       .columns = KN_FIELD_SAMPLES * layout->panelWidth,
                       .rows = KN_FIELD_SAMPLES * layout->panelHeight,
                       .deepest = (float)fmax(row->errors.deepest, 1e-12 * radius),
                       .lines = CountLines(row->errors.deepest, row->step)};
        DrawPanel(&made, &palette, &panel);
    }
    for (int i = 0; i < 2; ++i)
    {
        DrawBar(&made, &palette, layout, i, CountLines(rows[i].errors.deepest, rows[i].step));
        DrawLabels(&made, layout, &rows[i], i, radius);
    }
    *picture = made;
    return kn_success;
}
