// SPDX-License-Identifier: Zlib

// Lettering: a stroke font of Knap's own, drawn with a round pen of any size.

#include "picture_internal.h"

#include <math.h>
#include <string.h>

#define LINE_UNITS   20.0f // from line to line
#define BASELINE     4.0f
#define PEN_UNITS    1.5f
#define LETTER_GAP   3.4f
#define SPACE_WIDTH  3.6f
#define CURVE_STEPS  6
#define MAX_SEGMENTS 96 // per glyph
#define FIRST_GLYPH  32
#define GLYPH_COUNT  95

// Strokes are parted by spaces; a point is two digits in base 36, x and y, with y up: descenders
// reach 0, the baseline is 4, small letters reach 12 (c) and capitals 16 (g). A stroke that begins
// with '~' is a quadratic spline through the middles of its inner points.
static const char* const glyphs[GLYPH_COUNT] = {
    "",                                 // space
    "0g08 0404",                        // !
    "0g0d 3g3d",                        // "
    "243g 647g 0c9c 0898",              // #
    "~7d7g0g0a8a840407 4i42",           // $
    "049g ~0e0g4g4c0c0e ~565898945456", // %
    "~842d2g7g6c0a045489",              // &
    "0g0d",                             // '
    "~3i0e0632",                        // (
    "~0i3e3602",                        // )
    "3g3a 0f6b 0b6f",                   // *
    "4c44 0888",                        // +
    "1402",                             // ,
    "0959",                             // -
    "0404",                             // .
    "027h",                             // /
    "~0a0g8g84040a",                    // 0
    "0d3g34",                           // 1
    "~0d0g7g7b04 0474",                 // 2
    "~0e0g7g7a3a ~3a8a840406",          // 3
    "646g0888",                         // 4
    "7g1g0a ~0a2c8c840406",             // 5
    "~7e7g0g08 ~080c8c840408",          // 6
    "0g8g34",                           // 7
    "~1d1g7g7a1a1d ~070a8a840407",      // 8
    "~8c8g0g08888c ~8c840406",          // 9
    "0404 0b0b",                        // :
    "1402 1b1b",                        // ;
    "7d0873",                           // <
    "0a7a 0676",                        // =
    "0d7803",                           // >
    "~0d0g7g7a3a38 3434",               // ?
    "~94040gbgb7878a ~8a8d4d47878a",    // @
    "044g84 1878",                      // A
    "040g ~0g7g7a0a ~0a8a8404",         // B
    "~8d8g0g048487",                    // C
    "040g ~0g9g9404",                   // D
    "7g0g0474 0a6a",                    // E
    "7g0g04 0a6a",                      // F
    "~8d8g0g04848a 5a8a",               // G
    "040g 848g 0a8a",                   // H
    "040g",                             // I
    "~5g58540407",                      // J
    "040g 8g09 3c84",                   // K
    "0g0474",                           // L
    "040g56aga4",                       // M
    "040g848g",                         // N
    "~0a0g9g94040a",                    // O
    "040g ~0g8g8909",                   // P
    "~0a0g9g94040a 6893",               // Q
    "040g ~0g8g8909 4984",              // R
    "~7d7g0g0a8a840407",                // S
    "0g8g 4g44",                        // T
    "~0g090484898g",                    // U
    "0g448g",                           // V
    "0g346d94cg",                       // W
    "0g84 8g04",                        // X
    "0g4a8g 4a44",                      // Y
    "0g8g0484",                         // Z
    "3h0h0232",                         // [
    "0h72",                             // backslash
    "0h3h3202",                         // ]
    "0d3g6d",                           // ^
    "0282",                             // _
    "0g2e",                             // `
    "7c74 ~787c0c047478",               // a
    "0g04 ~080c7c740408",               // b
    "~6a6c0c046466",                    // c
    "7g74 ~787c0c047478",               // d
    "0878 ~787c0c047466",               // e
    "~5g2g2c24 0c5c",                   // f
    "~787c0c047478 ~7c73700002",        // g
    "0g04 ~080c7c7874",                 // h
    "0c04 0g0g",                        // i
    "~3c333000 3g3g",                   // j
    "0g04 6c07 2964",                   // k
    "~0g070434",                        // l
    "0c04 ~080c5c5854 ~585caca8a4",     // m
    "0c04 ~080c7c7874",                 // n
    "~080c7c740408",                    // o
    "0c00 ~080c7c740408",               // p
    "7c70 ~787c0c047478",               // q
    "0c04 ~080c5c",                     // r
    "~6a6c0c0868640406",                // s
    "~2f272454 0c5c",                   // t
    "~0c08047478 7c74",                 // u
    "0c346c",                           // v
    "0c345b74ac",                       // w
    "0c64 6c04",                        // x
    "0c34 6c10",                        // y
    "0c6c0464",                         // z
    "~4i2i2a0a ~0a2a2242",              // {
    "0i02",                             // |
    "~0i2i2a4a ~4a2a2202",              // }
    "~070a4a468689",                    // ~
};

typedef struct Point
{
    float x, y;
} Point;

typedef struct Segment
{
    Point from, to;
} Segment;

typedef struct Glyph
{
    Segment segments[MAX_SEGMENTS];
    int count;
    float width;
} Glyph;

static int Digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

static void AddSegment(Glyph* glyph, Point from, Point to)
{
    if (glyph->count < MAX_SEGMENTS)
    {
        Segment segment = {from, to};
        glyph->segments[glyph->count] = segment;
        glyph->count++;
    }
}

static Point Between(Point a, Point b, float t)
{
    Point p = {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
    return p;
}

static void AddCurve(Glyph* glyph, Point from, Point control, Point to)
{
    Point last = from;
    for (int i = 1; i <= CURVE_STEPS; i++)
    {
        float t = (float)i / CURVE_STEPS;
        Point next = Between(Between(from, control, t), Between(control, to, t), t);
        AddSegment(glyph, last, next);
        last = next;
    }
}

static void AddStroke(Glyph* glyph, const Point* points, int count, bool isCurve)
{
    if (!isCurve || count < 3)
    {
        for (int i = 0; i + 1 < count; i++)
        {
            AddSegment(glyph, points[i], points[i + 1]);
        }
        return;
    }
    Point from = points[0];
    for (int i = 1; i + 1 < count; i++)
    {
        Point to = i + 2 == count ? points[i + 1] : Between(points[i], points[i + 1], 0.5f);
        AddCurve(glyph, from, points[i], to);
        from = to;
    }
}

static Glyph MakeGlyph(char c)
{
    int index = (unsigned char)c - FIRST_GLYPH;
    const char* code = glyphs[index >= 0 && index < GLYPH_COUNT ? index : '?' - FIRST_GLYPH];
    Glyph glyph = {.count = 0, .width = code[0] ? 0.0f : SPACE_WIDTH};
    while (*code)
    {
        Point points[16];
        int count = 0;
        bool isCurve = *code == '~';
        code += isCurve ? 1 : 0;
        for (; code[0] && code[0] != ' ' && code[1] && count < 16; code += 2)
        {
            Point p = {(float)Digit(code[0]), (float)Digit(code[1])};
            points[count] = p;
            count++;
            glyph.width = fmaxf(glyph.width, p.x);
        }
        AddStroke(&glyph, points, count, isCurve);
        code += *code == ' ' ? 1 : 0;
    }
    return glyph;
}

// In units, up to the end of the line.
static float LineUnits(const char* text)
{
    float width = 0.0f;
    for (; *text && *text != '\n'; text++)
    {
        width += MakeGlyph(*text).width + LETTER_GAP;
    }
    return width > 0.0f ? width - LETTER_GAP : 0.0f;
}

float knMeasureText(const char* text, float size)
{
    float widest = 0.0f;
    while (text && *text)
    {
        widest = fmaxf(widest, LineUnits(text));
        const char* end = strchr(text, '\n');
        text = end ? end + 1 : NULL;
    }
    return widest * size / LINE_UNITS;
}

static float SegmentDistance(const Segment* s, Point p)
{
    float dx = s->to.x - s->from.x;
    float dy = s->to.y - s->from.y;
    float length = dx * dx + dy * dy;
    float t = ((p.x - s->from.x) * dx + (p.y - s->from.y) * dy) / (length > 0.0f ? length : 1.0f);
    t = t < 0.0f ? 0.0f : (t > 1.0f ? 1.0f : t);
    float x = p.x - s->from.x - t * dx;
    float y = p.y - s->from.y - t * dy;
    return sqrtf(x * x + y * y);
}

static void BlendPixel(knPicture* picture, int x, int y, knVec3 color, float coverage)
{
    uint8_t* pixel = picture->pixels + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
    knVec3 old = {(float)pixel[0] / 255.0f, (float)pixel[1] / 255.0f, (float)pixel[2] / 255.0f};
    knVec3 mixed = knLerp(knLinearFromSrgb(old), color, coverage);
    knVec3 c = knSrgbFromLinear(mixed);
    pixel[0] = (uint8_t)(255.0f * c.x + 0.5f);
    pixel[1] = (uint8_t)(255.0f * c.y + 0.5f);
    pixel[2] = (uint8_t)(255.0f * c.z + 0.5f);
}

static int ClampInt(float value, int limit)
{
    return (int)fminf(fmaxf(value, 0.0f), (float)limit);
}

// (x, y) is the left end of the baseline in pixels.
static void DrawGlyph(knPicture* picture, const Glyph* glyph, Point at, float scale, knVec3 color)
{
    float pen = fmaxf(0.5f * PEN_UNITS * scale, 0.5f);
    int x0 = ClampInt(at.x - pen - 1.0f, picture->width);
    int x1 = ClampInt(at.x + glyph->width * scale + pen + 2.0f, picture->width);
    int y0 = ClampInt(at.y - (LINE_UNITS - BASELINE) * scale - pen - 1.0f, picture->height);
    int y1 = ClampInt(at.y + BASELINE * scale + pen + 2.0f, picture->height);
    for (int y = y0; y < y1; y++)
    {
        for (int x = x0; x < x1; x++)
        {
            Point p = {((float)x + 0.5f - at.x) / scale,
                       (at.y - (float)y - 0.5f) / scale + BASELINE};
            float distance = FLT_MAX;
            for (int i = 0; i < glyph->count; i++)
            {
                distance = fminf(distance, SegmentDistance(&glyph->segments[i], p));
            }
            float coverage = pen + 0.5f - distance * scale;
            if (coverage > 0.0f)
            {
                BlendPixel(picture, x, y, color, fminf(coverage, 1.0f));
            }
        }
    }
}

void knDrawLabel(knPicture* picture, const knPictureLabel* label)
{
    float scale = label->size / LINE_UNITS;
    knVec3 color = knLinearFromSrgb(label->color);
    const char* text = label->text;
    for (int line = 0; text; line++)
    {
        float shift = label->align == kn_alignLeft ? 0.0f : LineUnits(text) * scale;
        shift *= label->align == kn_alignCenter ? 0.5f : 1.0f;
        Point at = {label->x - shift, label->y + (float)line * label->size};
        for (; *text && *text != '\n'; text++)
        {
            Glyph glyph = MakeGlyph(*text);
            DrawGlyph(picture, &glyph, at, scale, color);
            at.x += (glyph.width + LETTER_GAP) * scale;
        }
        text = *text ? text + 1 : NULL;
    }
}
