// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Section 4.5, with bits that mean "contains": a parent is the OR of its children. All fragments
// share the lattice of the locator. A word holds 4 x 4 x 4 cells, and each of its bits one word of
// the level below.

#define SIDE            4 // cells of a word along an axis
#define MAX_CELL_LABELS 16

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
        knCrackFaces buffer;
        const knCrackFaces* cracks = knFindCracks(field, tet, mask, &buffer);
        for (uint32_t f = 0; f < cracks->count; ++f)
        {
            for (int i = 0; i < cracks->faces[f].count; ++i)
            {
                AddPoint(field, label, cracks->faces[f].points[i]);
            }
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
        float first = (float)(SIDE * record->cells.low[a]) * (&field->locator.cell.x)[a];
        (&record->cells.origin.x)[a] = (&field->locator.box.lower.x)[a] + first;
        (&record->cells.end.x)[a] = (float)(SIDE * record->cells.dims[a]);
    }
}

// Whether a plane keeps the fragment's part of a cut tetrahedron out of the box.
static bool IsCutOff(const knFragmentField* field, uint32_t tet, uint32_t label, knBox box)
{
    uint32_t index = field->cuts->tetCuts[tet];
    const knTetCut* cut = &field->cuts->cuts[index];
    const knCutParts* parts = knFindParts(field, index);
    uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, label);
    for (int i = 0; parts && i < cut->planeCount; ++i)
    {
        if ((mask & ~cut->region[i]) != 0)
        {
            continue;
        }
        float side = (mask & cut->below[i]) != 0 ? -1.0f : 1.0f;
        const knCutPlane* plane = &parts->planes[i];
        knVec3 n = knScale(side, plane->normal);
        knVec3 furthest = {n.x > 0.0f ? box.upper.x : box.lower.x,
                           n.y > 0.0f ? box.upper.y : box.lower.y,
                           n.z > 0.0f ? box.upper.z : box.lower.z};
        if (knDot(n, furthest) - side * plane->offset < -field->grid.slack)
        {
            return true;
        }
    }
    return false;
}

// What a new fragment's cell is marked from: labels that it has already are not asked again.
typedef struct CellMarks
{
    knBox box;
    uint32_t at[3];
    uint32_t labels[MAX_CELL_LABELS];
    uint32_t count;
    uint32_t pair[2]; // the two sides of the last cut, when the cell has both
} CellMarks;

static bool HasLabel(const CellMarks* cell, uint32_t label)
{
    for (uint32_t i = 0; i < cell->count; ++i)
    {
        if (cell->labels[i] == label)
        {
            return true;
        }
    }
    return false;
}

static void MarkCell(knFragmentField* field, CellMarks* cell, uint32_t label)
{
    const knFragmentRecord* record = &field->records[label];
    const knOccupancy* o = &record->cells;
    uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    uint32_t x = cell->at[0] / SIDE - o->low[0], y = cell->at[1] / SIDE - o->low[1];
    uint32_t z = cell->at[2] / SIDE - o->low[2];
    if (cell->count < MAX_CELL_LABELS)
    {
        cell->labels[cell->count++] = label;
    }
    // a tetrahedron is listed a little beyond itself, and so beyond the box of its fragment
    if (x < o->dims[0] && y < o->dims[1] && z < o->dims[2])
    {
        words[(z * o->dims[1] + y) * o->dims[0] + x] |=
            (uint64_t)1 << BitAt(cell->at[0], cell->at[1], cell->at[2]);
    }
}

// One plane: both sides from one look at it.
static void MarkHalves(knFragmentField* field, CellMarks* cell, const knCutParts* parts)
{
    if (cell->pair[0] == parts->labels[0] && cell->pair[1] == parts->labels[1])
    {
        return;
    }
    bool below = !HasLabel(cell, parts->labels[0]) && IsNew(field, parts->labels[0]);
    bool above = !HasLabel(cell, parts->labels[1]) && IsNew(field, parts->labels[1]);
    if (!below && !above)
    {
        cell->pair[0] = parts->labels[0];
        cell->pair[1] = parts->labels[1];
        return;
    }
    const knCutPlane* plane = &parts->planes[0];
    knVec3 half = knScale(0.5f, field->locator.cell), n = plane->normal;
    float middle = knDot(n, knAdd(cell->box.lower, half)) - plane->offset;
    float reach = fabsf(n.x) * half.x + fabsf(n.y) * half.y + fabsf(n.z) * half.z;
    reach += field->grid.slack;
    if (below && middle <= reach)
    {
        MarkCell(field, cell, parts->labels[0]);
    }
    if (above && middle >= -reach)
    {
        MarkCell(field, cell, parts->labels[1]);
    }
}

static void MarkCutTet(knFragmentField* field, CellMarks* cell, uint32_t tet)
{
    uint32_t index = field->cuts->tetCuts[tet];
    const knCutParts* parts = knFindParts(field, index);
    if (parts && field->cuts->cuts[index].planeCount == 1)
    {
        MarkHalves(field, cell, parts);
        return;
    }
    const uint32_t* v = field->mesh->tets[tet].v;
    for (int c = 0; c < 4; ++c)
    {
        uint32_t label = field->cuts->labels[v[c]];
        if (!HasLabel(cell, label) && IsNew(field, label) &&
            !IsCutOff(field, tet, label, cell->box))
        {
            MarkCell(field, cell, label);
        }
    }
}

static void MarkLeaf(knFragmentField* field, knKdNode leaf, CellMarks* cell)
{
    const uint32_t* references = field->locator.references + leaf.value;
    uint32_t last = KN_NONE, cutCount = 0;
    for (uint32_t i = 0; i < leaf.link >> 2; ++i)
    {
        uint32_t label = field->tetLabels[references[i] & ~KN_AT_SURFACE];
        cutCount += label == KN_NONE;
        if (label != last && label != KN_NONE)
        {
            last = label;
            if (IsNew(field, label) && !HasLabel(cell, label))
            {
                MarkCell(field, cell, label);
            }
        }
    }
    for (uint32_t i = 0; cutCount > 0; ++i)
    {
        uint32_t tet = references[i] & ~KN_AT_SURFACE;
        if (field->tetLabels[tet] == KN_NONE)
        {
            MarkCutTet(field, cell, tet);
            cutCount -= 1;
        }
    }
}

// All leaves below the entry of a cell, mostly one.
static void MarkBelow(knFragmentField* field, uint32_t entry, CellMarks* cell)
{
    const knKdNode* nodes = field->locator.nodes;
    uint32_t stack[KN_KD_STACK];
    int depth = 0;
    stack[depth++] = entry;
    while (depth > 0)
    {
        uint32_t index = stack[--depth];
        if (knKdNode_IsLeaf(nodes[index]))
        {
            MarkLeaf(field, nodes[index], cell);
            continue;
        }
        uint32_t axis = nodes[index].link & 3u;
        float plane = knBitsToFloat(nodes[index].value);
        if ((&cell->box.upper.x)[axis] >= plane)
        {
            stack[depth++] = nodes[index].link >> 2;
        }
        if ((&cell->box.lower.x)[axis] <= plane)
        {
            stack[depth++] = index + 1;
        }
    }
}

// The cells that new fragments may have, each from the tetrahedra that touch it.
static void MarkCells(knFragmentField* field, knBox box)
{
    const knTetLocator* l = &field->locator;
    Range range = RangeOf(l, box, l->border);
    knVec3 size = l->cell;
    CellMarks cell;
    for (int32_t z = range.low[2]; z <= range.high[2]; ++z)
    {
        for (int32_t y = range.low[1]; y <= range.high[1]; ++y)
        {
            uint32_t row = ((uint32_t)z * l->dims[1] + (uint32_t)y) * l->dims[0];
            for (int32_t x = range.low[0]; x <= range.high[0]; ++x)
            {
                uint32_t i = row + (uint32_t)x;
                if (l->seeds[i] == KN_NONE)
                {
                    continue;
                }
                cell.count = 0;
                cell.pair[0] = cell.pair[1] = KN_NONE;
                cell.at[0] = (uint32_t)x;
                cell.at[1] = (uint32_t)y;
                cell.at[2] = (uint32_t)z;
                knVec3 low = {(float)x * size.x, (float)y * size.y, (float)z * size.z};
                cell.box.lower = knAdd(l->box.lower, low);
                cell.box.upper = knAdd(cell.box.lower, size);
                MarkBelow(field, l->entries[i], &cell);
            }
        }
    }
}

// Labels of the sides of cut tetrahedra, for marking.
static void LabelSide(knFragmentField* field, uint32_t tet, uint32_t node)
{
    uint32_t index = field->cuts->tetCuts[tet];
    knCutParts* parts = knFindParts(field, index);
    const uint32_t* v = field->mesh->tets[tet].v;
    uint8_t corner = (uint8_t)((v[1] == node) << 1 | (v[2] == node) << 2 | (v[3] == node) << 3);
    corner = corner ? corner : 1;
    if (parts)
    {
        bool below = (field->cuts->cuts[index].below[0] & corner) != 0;
        parts->labels[below ? 0 : 1] = field->cuts->labels[node];
    }
}

// The label of every whole tetrahedron that changed, KN_NONE for cut ones.
static void LabelTets(knFragmentField* field, const knFractureDelta* delta)
{
    const knTetLocator* l = &field->locator;
    const knCutStore* cuts = field->cuts;
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        uint32_t node = delta->splitNodes[i];
        for (uint32_t k = l->nodeTetStarts[node]; k < l->nodeTetStarts[node + 1]; ++k)
        {
            uint32_t tet = l->nodeTets[k];
            bool isWhole = cuts->tetCuts[tet] == KN_NONE;
            field->tetLabels[tet] = isWhole ? cuts->labels[node] : KN_NONE;
            if (!isWhole)
            {
                LabelSide(field, tet, node);
            }
        }
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
        LabelTets(field, delta);
        MarkCells(field, all);
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
    const float* size;         // m, of a cell
    float center[3], reach[3]; // cells
    float radius2;             // m^2
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

// Whether the bit of the cell around p is set; -1 beyond the words of the fragment. `at` is the
// place of p in cells.
static int CellBit(const knFragmentField* field, const knFragmentRecord* record, knVec3 p,
                   float at[3])
{
    const knOccupancy* o = &record->cells;
    const knTetLocator* l = &field->locator;
    at[0] = (p.x - o->origin.x) * l->scale.x;
    at[1] = (p.y - o->origin.y) * l->scale.y;
    at[2] = (p.z - o->origin.z) * l->scale.z;
    if (!(at[0] >= 0.0f && at[1] >= 0.0f && at[2] >= 0.0f && at[0] < o->end.x && at[1] < o->end.y &&
          at[2] < o->end.z))
    {
        return -1;
    }
    uint32_t x = (uint32_t)at[0], y = (uint32_t)at[1], z = (uint32_t)at[2];
    const uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    uint32_t word = (z / SIDE * o->dims[1] + y / SIDE) * o->dims[0] + x / SIDE;
    return (int)(words[word] >> BitAt(x, y, z) & 1);
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
static bool TouchesBelow(const Ball* ball, uint32_t count)
{
    uint32_t level = 0;
    float widest = fmaxf(ball->reach[0], fmaxf(ball->reach[1], ball->reach[2]));
    for (float side = (float)SIDE; level + 1 < count && side < 2.0f * widest; side *= (float)SIDE)
    {
        level += 1;
    }
    Range range;
    if (!BallRange(ball, level, &range))
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
                if (WordTouches(ball, level, at))
                {
                    return true;
                }
            }
        }
    }
    return false;
}

// A guess that is mostly right for large spheres: the cell as far as they reach towards the middle
// of the fragment.
static bool TouchesTowards(const knFragmentField* field, const knFragmentRecord* record, knVec3 p,
                           float reach)
{
    knVec3 way = knSub(knBox_Center(record->box), p);
    float length = knLength(way);
    knVec3 q = knAddScaled(p, length > reach ? reach / length : 1.0f, way);
    float at[3];
    return CellBit(field, record, q, at) == 1;
}

bool knOccupancy_Touches(const knFragmentField* field, const knFragmentRecord* record, knVec3 p,
                         float radius)
{
    const knTetLocator* l = &field->locator;
    Ball ball;
    int bit = CellBit(field, record, p, ball.center);
    // most spheres that touch have their middle in a cell of the fragment
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
    if (reach > l->cellSize && TouchesTowards(field, record, p, reach))
    {
        return true;
    }
    float margin = reach + l->border * l->cellSize;
    ball.words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    ball.radius2 = margin * margin;
    ball.size = &l->cell.x;
    uint32_t count;
    LayLevels(record->cells.dims, ball.levels, &count);
    return TouchesBelow(&ball, count);
}
