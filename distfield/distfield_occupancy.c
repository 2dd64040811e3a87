// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Section 4.5, with bits that mean "contains": a parent is the OR of its children. All fragments
// share the lattice of the locator. A word holds 4 x 4 x 4 cells, and each of its bits one word of
// the level below. distfield_mark.c sets the bits.

static uint32_t WordAt(const knCellLevel* level, uint32_t x, uint32_t y, uint32_t z)
{
    return level->firstWord + (((z << level->shifts[1]) + y) << level->shifts[0]) + x;
}

// The bits of the word at `at` that the range has.
static uint64_t MaskOf(const knCellRange* range, const int32_t at[3])
{
    static const uint8_t runs[KN_WORD_SIDE][KN_WORD_SIDE] = {
        {1, 3, 7, 15}, {0, 2, 6, 14}, {0, 0, 4, 12}, {0, 0, 0, 8}};
    uint32_t run[3];
    for (int a = 0; a < 3; ++a)
    {
        int32_t low = range->low[a] - KN_WORD_SIDE * at[a],
                high = range->high[a] - KN_WORD_SIDE * at[a];
        run[a] = runs[low > 0 ? low : 0][high < KN_WORD_SIDE - 1 ? high : KN_WORD_SIDE - 1];
    }
    // spread the bits of y to nibbles and those of z to 16 bits, then fill
    static const uint16_t rows[16] = {0x0000, 0x000F, 0x00F0, 0x00FF, 0x0F00, 0x0F0F,
                                      0x0FF0, 0x0FFF, 0xF000, 0xF00F, 0xF0F0, 0xF0FF,
                                      0xFF00, 0xFF0F, 0xFFF0, 0xFFFF};
    uint64_t layer = (uint64_t)(rows[run[1]] & (run[0] * 0x1111u));
    uint64_t lower = (run[2] & 1 ? layer : 0) | (run[2] & 2 ? layer << 16 : 0);
    return lower | (run[2] & 4 ? layer << 32 : 0) | (run[2] & 8 ? layer << 48 : 0);
}

// A ball in the lattice.
typedef struct Ball
{
    const uint64_t* words;
    const knCellLevel* levels;
    const float* size;         // m, of a cell
    float center[3], reach[3]; // cells
    float radius2;             // m^2
    knCellRange ranges[KN_OCCUPANCY_LEVELS];
    uint32_t found[3]; // a cell that it touches
} Ball;

static bool BallRange(const Ball* ball, uint32_t level, knCellRange* range)
{
    float shrink = 1.0f / (float)(1u << (2 * level));
    for (int a = 0; a < 3; ++a)
    {
        float low = (ball->center[a] - ball->reach[a]) * shrink;
        float high = (ball->center[a] + ball->reach[a]) * shrink;
        float end = (float)(KN_WORD_SIDE << ball->levels[level].shifts[a]);
        if (!(high >= 0.0f && low < end))
        {
            return false;
        }
        range->low[a] = low > 0.0f ? (int32_t)low : 0;
        range->high[a] = high < end ? (int32_t)high : (int32_t)end - 1;
    }
    return true;
}

// Squared gaps along an axis between the middle of the ball and the four cells of a word.
static void AxisGaps(const Ball* ball, int axis, int32_t word, float cells, float gaps[4])
{
    float first = (float)(KN_WORD_SIDE * word) * cells - ball->center[axis];
    for (int i = 0; i < KN_WORD_SIDE; ++i)
    {
        float low = first + (float)i * cells, high = -low - cells;
        float gap = low > high ? low : high;
        gap = gap > 0.0f ? gap * ball->size[axis] : 0.0f;
        gaps[i] = gap * gap;
    }
}

static uint32_t LowestBit(uint64_t word)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(word);
#else
    uint32_t i = 0;
    while (!(word >> i & 1))
    {
        ++i;
    }
    return i;
#endif
}

static bool WordTouches(Ball* ball, uint32_t level, const int32_t at[3])
{
    uint64_t bits = ball->words[WordAt(&ball->levels[level], (uint32_t)at[0], (uint32_t)at[1],
                                       (uint32_t)at[2])];
    bits = bits != 0 ? bits & MaskOf(&ball->ranges[level], at) : 0;
    if (bits == 0)
    {
        return false;
    }
    float cells = (float)(1u << (2 * level)), gaps[3][KN_WORD_SIDE];
    AxisGaps(ball, 0, at[0], cells, gaps[0]);
    AxisGaps(ball, 1, at[1], cells, gaps[1]);
    AxisGaps(ball, 2, at[2], cells, gaps[2]);
    for (; bits != 0; bits &= bits - 1)
    {
        uint32_t bit = LowestBit(bits), i = bit & 3u, j = bit >> 2 & 3u, k = bit >> 4;
        if (gaps[0][i] + gaps[1][j] + gaps[2][k] > ball->radius2)
        {
            continue;
        }
        uint32_t x = 4 * (uint32_t)at[0] + i, y = 4 * (uint32_t)at[1] + j;
        uint32_t z = 4 * (uint32_t)at[2] + k;
        const int32_t child[3] = {(int32_t)x, (int32_t)y, (int32_t)z};
        if (level == 0)
        {
            ball->found[0] = x;
            ball->found[1] = y;
            ball->found[2] = z;
            return true;
        }
        if (WordTouches(ball, level - 1, child))
        {
            return true;
        }
    }
    return false;
}

// Whether the bit of the cell around p is set; -1 beyond the lattice. `at` is the
// place of p in cells.
static int CellBit(const knFragmentField* field, const knFragmentRecord* record, knVec3 p,
                   float at[3])
{
    const knTetLocator* l = &field->locator;
    at[0] = (p.x - l->box.lower.x) * l->scale.x;
    at[1] = (p.y - l->box.lower.y) * l->scale.y;
    at[2] = (p.z - l->box.lower.z) * l->scale.z;
    if (!(at[0] >= 0.0f && at[1] >= 0.0f && at[2] >= 0.0f && at[0] < (float)l->dims[0] &&
          at[1] < (float)l->dims[1] && at[2] < (float)l->dims[2]))
    {
        return -1;
    }
    uint32_t x = (uint32_t)at[0], y = (uint32_t)at[1], z = (uint32_t)at[2];
    const uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    return (int)(words[WordAt(&field->levels[0], x / 4, y / 4, z / 4)] >> knCellBit(x, y, z) & 1);
}

// Whether [at - reach, at + reach] is within one cell.
static bool IsInOneCell(float at, float reach)
{
    float part = at - (float)(int32_t)at;
    return part >= reach && part < 1.0f - reach;
}

bool knOccupancy_MayHold(const knFragmentField* field, const knFragmentRecord* record, knVec3 p)
{
    float at[3], border = field->locator.border;
    // near the side of a cell rounding may have taken it for the next
    return CellBit(field, record, p, at) != 0 ||
           !(IsInOneCell(at[0], border) && IsInOneCell(at[1], border) &&
             IsInOneCell(at[2], border));
}

// Through the levels, from where words are as large as the ball, as the paper enters them.
static bool TouchesBelow(Ball* ball, uint32_t count)
{
    uint32_t level = 0;
    float widest = ball->reach[0] > ball->reach[1] ? ball->reach[0] : ball->reach[1];
    widest = ball->reach[2] > widest ? ball->reach[2] : widest;
    for (float side = KN_WORD_SIDE; level + 1 < count && side < 2.0f * widest; side *= KN_WORD_SIDE)
    {
        level += 1;
    }
    for (uint32_t i = 0; i <= level; ++i)
    {
        if (!BallRange(ball, i, &ball->ranges[i]))
        {
            return false;
        }
    }
    const knCellRange* range = &ball->ranges[level];
    int32_t at[3];
    for (at[2] = range->low[2] / KN_WORD_SIDE; at[2] <= range->high[2] / KN_WORD_SIDE; ++at[2])
    {
        for (at[1] = range->low[1] / KN_WORD_SIDE; at[1] <= range->high[1] / KN_WORD_SIDE; ++at[1])
        {
            for (at[0] = range->low[0] / KN_WORD_SIDE; at[0] <= range->high[0] / KN_WORD_SIDE;
                 ++at[0])
            {
                if (WordTouches(ball, level, at))
                {
                    return true;
                }
            }
        }
    }
    return false;
}

// Guesses that are mostly right: the nearest point of the fragment's box, and for large spheres
// the point as far as they reach towards its middle.
static bool GuessTouches(knFieldQuery* query, const knFragmentRecord* record, knVec3 p, float reach)
{
    float at[3];
    knVec3 q = knMin(knMax(p, record->box.lower), record->box.upper);
    bool found = !knBox_Contains(record->box, p) && CellBit(query->field, record, q, at) == 1;
    if (!found && reach > query->field->locator.cellSize)
    {
        knVec3 way = knSub(knBox_Center(record->box), p);
        float length = knLength(way);
        q = knAddScaled(p, length > reach ? reach / length : 1.0f, way);
        found = CellBit(query->field, record, q, at) == 1;
    }
    query->witness = found ? q : query->witness;
    return found;
}

bool knOccupancy_Touches(knFieldQuery* query, const knFragmentRecord* record, knVec3 p,
                         float radius)
{
    const knFragmentField* field = query->field;
    const knTetLocator* l = &field->locator;
    // what one sphere was found to touch, those around it touch as well
    if (knLengthSquared(knSub(query->witness, p)) <= radius * radius)
    {
        return true;
    }
    Ball ball;
    int bit = CellBit(field, record, p, ball.center);
    // most of the others have their middle in a cell of the fragment
    if (bit == 1)
    {
        return true;
    }
    float reach = radius * 1.00001f + field->grid.slack;
    ball.reach[0] = reach * l->scale.x + l->border;
    ball.reach[1] = reach * l->scale.y + l->border;
    ball.reach[2] = reach * l->scale.z + l->border;
    if (bit == 0 && IsInOneCell(ball.center[0], ball.reach[0]) &&
        IsInOneCell(ball.center[1], ball.reach[1]) && IsInOneCell(ball.center[2], ball.reach[2]))
    {
        return false;
    }
    if (GuessTouches(query, record, p, reach))
    {
        return true;
    }
    float margin = reach + l->border * l->cellSize;
    ball.words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    ball.radius2 = margin * margin;
    ball.size = &l->cell.x;
    ball.levels = field->levels;
    if (!TouchesBelow(&ball, field->levelCount))
    {
        return false;
    }
    query->witness.x = l->box.lower.x + ((float)ball.found[0] + 0.5f) * l->cell.x;
    query->witness.y = l->box.lower.y + ((float)ball.found[1] + 0.5f) * l->cell.y;
    query->witness.z = l->box.lower.z + ((float)ball.found[2] + 0.5f) * l->cell.z;
    return true;
}
