// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Section 4.5, with bits that mean "contains": a parent is the OR of its children. All fragments
// share the lattice of the locator. A word holds 4 x 4 x 4 cells, and each of its bits one word of
// the level below.

#define SIDE 4 // cells of a word along an axis

typedef struct Level
{
    uint32_t dims[3]; // words
    uint32_t firstWord;
} Level;

// Cells of a level, ends included.
typedef struct Range
{
    int32_t low[3], high[3];
} Range;

static void LayLevels(const uint8_t dims[3], Level levels[KN_OCCUPANCY_LEVELS], uint32_t* count)
{
    uint32_t d[3] = {dims[0], dims[1], dims[2]}, word = 0, n = 0;
    for (;;)
    {
        levels[n++] = (Level){{d[0], d[1], d[2]}, word};
        word += d[0] * d[1] * d[2];
        if (d[0] * d[1] * d[2] == 1)
        {
            break;
        }
        for (int a = 0; a < 3; ++a)
        {
            d[a] = (d[a] + SIDE - 1) / SIDE;
        }
    }
    *count = n;
}

static uint32_t WordAt(const Level* level, uint32_t x, uint32_t y, uint32_t z)
{
    return level->firstWord + (z * level->dims[1] + y) * level->dims[0] + x;
}

static uint32_t BitAt(uint32_t x, uint32_t y, uint32_t z)
{
    return (x & 3u) | (y & 3u) << 2 | (z & 3u) << 4;
}

// The bits of the word at `at` that the range has.
static uint64_t MaskOf(const Range* range, const int32_t at[3])
{
    static const uint8_t runs[SIDE][SIDE] = {
        {1, 3, 7, 15}, {0, 2, 6, 14}, {0, 0, 4, 12}, {0, 0, 0, 8}};
    uint32_t run[3];
    for (int a = 0; a < 3; ++a)
    {
        int32_t low = range->low[a] - SIDE * at[a], high = range->high[a] - SIDE * at[a];
        run[a] = runs[low > 0 ? low : 0][high < SIDE - 1 ? high : SIDE - 1];
    }
    // spread the bits of y to nibbles and those of z to 16 bits, then fill
    static const uint16_t rows[16] = {0x0000, 0x000F, 0x00F0, 0x00FF, 0x0F00, 0x0F0F,
                                      0x0FF0, 0x0FFF, 0xF000, 0xF00F, 0xF0F0, 0xF0FF,
                                      0xFF00, 0xFF0F, 0xFFF0, 0xFFFF};
    uint64_t layer = (uint64_t)(rows[run[1]] & (run[0] * 0x1111u));
    uint64_t lower = (run[2] & 1 ? layer : 0) | (run[2] & 2 ? layer << 16 : 0);
    return lower | (run[2] & 4 ? layer << 32 : 0) | (run[2] & 8 ? layer << 48 : 0);
}

// ---- marking

static bool IsNew(const knFragmentField* field, uint32_t label)
{
    return label < field->fragmentCapacity && field->records[label].update == field->updateCount;
}

static void AddPoint(knFragmentField* field, uint32_t label, knVec3 p)
{
    if (IsNew(field, label))
    {
        knBox* box = &field->records[label].box;
        *box = knBox_AddPoint(*box, p);
    }
}

// Points where planes meet belong to no edge.
static void AddMeetings(knFragmentField* field, uint32_t node, uint32_t label)
{
    const knTetLocator* l = &field->locator;
    const knCutStore* cuts = field->cuts;
    for (uint32_t k = l->nodeTetStarts[node]; k < l->nodeTetStarts[node + 1]; ++k)
    {
        uint32_t tet = l->nodeTets[k], cut = cuts->tetCuts[tet];
        if (cut == KN_NONE || cuts->cuts[cut].planeCount < 2)
        {
            continue;
        }
        uint8_t mask = knCutStore_Mask(cuts, field->mesh, tet, label);
        int first = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
        if (field->mesh->tets[tet].v[first] != node)
        {
            continue;
        }
        knTetRegion region;
        knCutStore_Region(cuts, field->mesh, tet, mask, &region);
        for (int v = 0; v < region.vertexCount; ++v)
        {
            AddPoint(field, label, region.vertices[v].position);
        }
    }
}

// All corners of all parts.
static void GrowBoxes(knFragmentField* field, const knFractureDelta* delta)
{
    const knTetMesh* mesh = field->mesh;
    const knCutStore* cuts = field->cuts;
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        uint32_t node = delta->splitNodes[i], label = cuts->labels[node];
        if (!IsNew(field, label))
        {
            continue;
        }
        AddPoint(field, label, mesh->nodes[node]);
        for (uint32_t k = mesh->nodeEdgeStarts[node]; k < mesh->nodeEdgeStarts[node + 1]; ++k)
        {
            uint32_t cut = cuts->edgeCuts[mesh->nodeEdges[k]];
            if (cut != KN_NONE)
            {
                AddPoint(field, label, cuts->points[cut].position);
            }
        }
        AddMeetings(field, node, label);
    }
}

// Cells along an axis that [low, high] touches, in units of cells; some more when it ends near a
// side.
static void CellRange(float low, float high, float slack, uint32_t dim, int32_t range[2])
{
    float last = (float)(dim - 1);
    low -= slack;
    high += slack;
    range[0] = low > 0.0f ? (int32_t)(low < last ? low : last) : 0;
    range[1] = high > 0.0f ? (int32_t)(high < last ? high : last) : 0;
}

static Range RangeOf(const knTetLocator* l, knBox box, float slack)
{
    Range range;
    for (int a = 0; a < 3; ++a)
    {
        float origin = (&l->box.lower.x)[a], scale = (&l->scale.x)[a];
        float low = ((&box.lower.x)[a] - origin) * scale;
        float high = ((&box.upper.x)[a] - origin) * scale;
        int32_t ends[2];
        CellRange(low, high, slack, l->dims[a], ends);
        range.low[a] = ends[0];
        range.high[a] = ends[1];
    }
    return range;
}

static void PlaceWords(const knFragmentField* field, knFragmentRecord* record)
{
    Range range = RangeOf(&field->locator, record->box, field->locator.border);
    for (int a = 0; a < 3; ++a)
    {
        record->cells.low[a] = (uint8_t)(range.low[a] / SIDE);
        record->cells.dims[a] = (uint8_t)(range.high[a] / SIDE - range.low[a] / SIDE + 1);
    }
}

static void MarkRange(knFragmentField* field, uint32_t label, const Range* leaf)
{
    const knFragmentRecord* record = &field->records[label];
    const knOccupancy* o = &record->cells;
    uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    Level level = {{o->dims[0], o->dims[1], o->dims[2]}, 0};
    Range local, blocks;
    for (int a = 0; a < 3; ++a)
    {
        int32_t first = SIDE * o->low[a], end = SIDE * o->dims[a] - 1;
        local.low[a] = leaf->low[a] - first > 0 ? leaf->low[a] - first : 0;
        local.high[a] = leaf->high[a] - first < end ? leaf->high[a] - first : end;
        if (local.low[a] > local.high[a])
        {
            return;
        }
        blocks.low[a] = local.low[a] / SIDE;
        blocks.high[a] = local.high[a] / SIDE;
    }
    int32_t at[3];
    for (at[2] = blocks.low[2]; at[2] <= blocks.high[2]; ++at[2])
    {
        for (at[1] = blocks.low[1]; at[1] <= blocks.high[1]; ++at[1])
        {
            for (at[0] = blocks.low[0]; at[0] <= blocks.high[0]; ++at[0])
            {
                words[WordAt(&level, (uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2])] |=
                    MaskOf(&local, at);
            }
        }
    }
}

// Whether a plane keeps the fragment's part of a cut tetrahedron out of the box.
static bool IsCutOff(const knFragmentField* field, uint32_t tet, uint32_t label, knBox box)
{
    uint32_t index = field->cuts->tetCuts[tet];
    const knTetCut* cut = &field->cuts->cuts[index];
    const knCutPlane* planes = knFindCutPlanes(field, index);
    uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, label);
    for (int i = 0; planes && i < cut->planeCount; ++i)
    {
        if ((mask & ~cut->region[i]) != 0)
        {
            continue;
        }
        float side = (mask & cut->below[i]) != 0 ? -1.0f : 1.0f;
        knVec3 n = knScale(side, planes[i].normal);
        knVec3 furthest = {n.x > 0.0f ? box.upper.x : box.lower.x,
                           n.y > 0.0f ? box.upper.y : box.lower.y,
                           n.z > 0.0f ? box.upper.z : box.lower.z};
        if (knDot(n, furthest) - side * planes[i].offset < -field->grid.slack)
        {
            return true;
        }
    }
    return false;
}

static void MarkLeaf(knFragmentField* field, knKdNode leaf, knBox cell)
{
    const knCutStore* cuts = field->cuts;
    const uint32_t* references = field->locator.references + leaf.value;
    Range range = RangeOf(&field->locator, cell, -10.0f * field->locator.border);
    uint32_t last = KN_NONE;
    for (uint32_t i = 0; i < leaf.link >> 2; ++i)
    {
        uint32_t tet = references[i] & ~KN_AT_SURFACE;
        const uint32_t* v = field->mesh->tets[tet].v;
        bool whole = cuts->tetCuts[tet] == KN_NONE;
        for (int c = 0; c < (whole ? 1 : 4); ++c)
        {
            uint32_t label = cuts->labels[v[c]];
            if (label != last && IsNew(field, label) &&
                (whole || !IsCutOff(field, tet, label, cell)))
            {
                MarkRange(field, label, &range);
                last = label;
            }
        }
    }
}

typedef struct Visit
{
    knBox cell;
    uint32_t node;
} Visit;

// The leaves of the tree within the box. Their sides are those of cells of the lattice, or between
// them.
static void MarkLeaves(knFragmentField* field, knBox box)
{
    const knTetLocator* l = &field->locator;
    Visit stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = (Visit){l->box, 0};
    while (depth > 0)
    {
        Visit v = stack[--depth];
        knKdNode node = l->nodes[v.node];
        if (!knBox_Overlaps(v.cell, box))
        {
            continue;
        }
        if (knKdNode_IsLeaf(node))
        {
            MarkLeaf(field, node, v.cell);
            continue;
        }
        Visit left = {v.cell, v.node + 1}, right = {v.cell, node.link >> 2};
        (&left.cell.upper.x)[node.link & 3u] = knBitsToFloat(node.value);
        (&right.cell.lower.x)[node.link & 3u] = knBitsToFloat(node.value);
        stack[depth++] = right;
        stack[depth++] = left;
    }
}

static void FillParents(const knOccupancy* o, uint64_t* words)
{
    Level levels[KN_OCCUPANCY_LEVELS];
    uint32_t count;
    LayLevels(o->dims, levels, &count);
    for (uint32_t l = 0; l + 1 < count; ++l)
    {
        const uint32_t* dims = levels[l].dims;
        for (uint32_t i = 0; i < dims[0] * dims[1] * dims[2]; ++i)
        {
            if (words[levels[l].firstWord + i] != 0)
            {
                uint32_t x = i % dims[0], y = i / dims[0] % dims[1], z = i / dims[0] / dims[1];
                words[WordAt(&levels[l + 1], x / SIDE, y / SIDE, z / SIDE)] |= (uint64_t)1
                                                                               << BitAt(x, y, z);
            }
        }
    }
}

void knMarkFragments(knFragmentField* field, const knFractureDelta* delta)
{
    GrowBoxes(field, delta);
    knBox all = knEmptyBox();
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        knFragmentRecord* record = &field->records[delta->fragments[i]];
        memset(field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS, 0, KN_OCCUPANCY_BYTES);
        record->cells = (knOccupancy){.dims = {1, 1, 1}};
        // a fragment without nodes has nothing to touch
        if (record->box.lower.x <= record->box.upper.x)
        {
            PlaceWords(field, record);
            all = knBox_AddPoint(knBox_AddPoint(all, record->box.lower), record->box.upper);
        }
    }
    if (all.lower.x <= all.upper.x)
    {
        MarkLeaves(field, all);
    }
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        knFragmentRecord* record = &field->records[delta->fragments[i]];
        FillParents(&record->cells, field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS);
    }
}

// ---- testing

// A ball in the lattice, relative to the first word of the fragment.
typedef struct Ball
{
    const uint64_t* words;
    Level levels[KN_OCCUPANCY_LEVELS];
    float center[3], reach[3], size[3]; // cells, cells, metres per cell
    float radius2;                      // m^2
} Ball;

static bool BallRange(const Ball* ball, uint32_t level, Range* range)
{
    float shrink = 1.0f / (float)(1u << (2 * level));
    for (int a = 0; a < 3; ++a)
    {
        float low = (ball->center[a] - ball->reach[a]) * shrink;
        float high = (ball->center[a] + ball->reach[a]) * shrink;
        float end = (float)(SIDE * ball->levels[level].dims[a]);
        if (!(high >= 0.0f && low < end))
        {
            return false;
        }
        range->low[a] = low > 0.0f ? (int32_t)low : 0;
        range->high[a] = high < end ? (int32_t)high : (int32_t)end - 1;
    }
    return true;
}

static float AxisGap(const Ball* ball, int axis, uint32_t cell, float cells)
{
    float low = (float)cell * cells - ball->center[axis];
    float high = -low - cells;
    float gap = low > high ? low : high;
    return gap > 0.0f ? gap * ball->size[axis] : 0.0f;
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

static bool WordTouches(const Ball* ball, uint32_t level, const int32_t at[3])
{
    Range range;
    if (!BallRange(ball, level, &range))
    {
        return false;
    }
    uint64_t bits = ball->words[WordAt(&ball->levels[level], (uint32_t)at[0], (uint32_t)at[1],
                                       (uint32_t)at[2])] &
                    MaskOf(&range, at);
    float cells = (float)(1u << (2 * level));
    for (; bits != 0; bits &= bits - 1)
    {
        uint32_t bit = LowestBit(bits);
        uint32_t x = 4 * (uint32_t)at[0] + (bit & 3u), y = 4 * (uint32_t)at[1] + (bit >> 2 & 3u);
        uint32_t z = 4 * (uint32_t)at[2] + (bit >> 4);
        float gx = AxisGap(ball, 0, x, cells), gy = AxisGap(ball, 1, y, cells);
        float gz = AxisGap(ball, 2, z, cells);
        if (gx * gx + gy * gy + gz * gz > ball->radius2)
        {
            continue;
        }
        const int32_t child[3] = {(int32_t)x, (int32_t)y, (int32_t)z};
        if (level == 0 || WordTouches(ball, level - 1, child))
        {
            return true;
        }
    }
    return false;
}

// Most spheres that touch have their middle in a cell of the fragment.
static bool IsOwnCellSet(const knFragmentField* field, const knFragmentRecord* record, knVec3 p)
{
    const knOccupancy* o = &record->cells;
    const knTetLocator* l = &field->locator;
    float x = (p.x - l->box.lower.x) * l->scale.x - (float)(SIDE * o->low[0]);
    float y = (p.y - l->box.lower.y) * l->scale.y - (float)(SIDE * o->low[1]);
    float z = (p.z - l->box.lower.z) * l->scale.z - (float)(SIDE * o->low[2]);
    if (!(x >= 0.0f && y >= 0.0f && z >= 0.0f && x < (float)(SIDE * o->dims[0]) &&
          y < (float)(SIDE * o->dims[1]) && z < (float)(SIDE * o->dims[2])))
    {
        return false;
    }
    uint32_t i = (uint32_t)x, j = (uint32_t)y, k = (uint32_t)z;
    const uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    uint32_t word = (k / SIDE * o->dims[1] + j / SIDE) * o->dims[0] + i / SIDE;
    return words[word] >> BitAt(i, j, k) & 1;
}

bool knOccupancy_MayHold(const knFragmentField* field, const knFragmentRecord* record, knVec3 p)
{
    const knOccupancy* o = &record->cells;
    const knTetLocator* l = &field->locator;
    uint32_t cell[3];
    for (int a = 0; a < 3; ++a)
    {
        float at = ((&p.x)[a] - (&l->box.lower.x)[a]) * (&l->scale.x)[a];
        at -= (float)(SIDE * o->low[a]);
        float end = (float)(SIDE * o->dims[a]);
        // rounding may have put it out of the words of its own box
        at = at > 0.0f ? at : 0.0f;
        cell[a] = (uint32_t)(at < end ? at : end - 1.0f);
        float part = at - (float)cell[a];
        if (part < l->border || part > 1.0f - l->border)
        {
            return true;
        }
    }
    Level level = {{o->dims[0], o->dims[1], o->dims[2]}, 0};
    const uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    uint64_t word = words[WordAt(&level, cell[0] / SIDE, cell[1] / SIDE, cell[2] / SIDE)];
    return word >> BitAt(cell[0], cell[1], cell[2]) & 1;
}

bool knOccupancy_Touches(const knFragmentField* field, const knFragmentRecord* record, knVec3 p,
                         float radius)
{
    const knOccupancy* o = &record->cells;
    const knTetLocator* l = &field->locator;
    if (IsOwnCellSet(field, record, p))
    {
        return true;
    }
    Ball ball = {.words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS};
    uint32_t count, level = 0;
    LayLevels(o->dims, ball.levels, &count);
    float reach = radius * 1.00001f + field->grid.slack, widest = 0.0f;
    for (int a = 0; a < 3; ++a)
    {
        float scale = (&l->scale.x)[a];
        ball.center[a] = ((&p.x)[a] - (&l->box.lower.x)[a]) * scale - (float)(SIDE * o->low[a]);
        ball.reach[a] = reach * scale + l->border;
        ball.size[a] = 1.0f / scale;
        reach = reach > 0.0f ? reach : 0.0f;
        widest = ball.reach[a] > widest ? ball.reach[a] : widest;
    }
    float margin = reach + l->border * fmaxf(ball.size[0], fmaxf(ball.size[1], ball.size[2]));
    ball.radius2 = margin * margin;
    // as the paper enters the levels: where words are as large as the ball
    float side = (float)SIDE;
    while (level + 1 < count && side < 2.0f * widest)
    {
        level += 1;
        side *= (float)SIDE;
    }
    Range range;
    if (!BallRange(&ball, level, &range))
    {
        return false;
    }
    int32_t at[3];
    for (at[2] = range.low[2] / SIDE; at[2] <= range.high[2] / SIDE; ++at[2])
    {
        for (at[1] = range.low[1] / SIDE; at[1] <= range.high[1] / SIDE; ++at[1])
        {
            for (at[0] = range.low[0] / SIDE; at[0] <= range.high[0] / SIDE; ++at[0])
            {
                if (WordTouches(&ball, level, at))
                {
                    return true;
                }
            }
        }
    }
    return false;
}
