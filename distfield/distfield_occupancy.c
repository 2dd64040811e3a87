// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// Section 4.5, with bits that mean "contains": a parent is the OR of its children.

typedef struct Level
{
    uint32_t dims[3];
    uint32_t firstWord;
} Level;

static uint32_t LayLevels(const uint16_t dims[3], Level levels[KN_OCCUPANCY_LEVELS],
                          uint32_t* count)
{
    uint32_t d[3] = {dims[0], dims[1], dims[2]};
    uint32_t word = 0, n = 0;
    while (n < KN_OCCUPANCY_LEVELS)
    {
        levels[n++] = (Level){{d[0], d[1], d[2]}, word};
        word += (d[0] * d[1] * d[2] + 63) / 64;
        if (d[0] == 1 && d[1] == 1 && d[2] == 1)
        {
            break;
        }
        for (int a = 0; a < 3; ++a)
        {
            d[a] = (d[a] + 1) / 2;
        }
    }
    *count = n;
    return word;
}

static uint32_t BitOf(const Level* level, uint32_t x, uint32_t y, uint32_t z)
{
    return (z * level->dims[1] + y) * level->dims[0] + x;
}

static bool TestBit(const uint64_t* words, uint32_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static void SetBit(uint64_t* words, uint32_t bit)
{
    words[bit / 64] |= (uint64_t)1 << (bit % 64);
}

#define CELLS_PER_PART 2.0

// The smallest cubic cells such that all levels fit into a slot and marking them costs no more than
// walking the parts: finer cells than tetrahedra tell little more.
static void PlaceCells(knFragmentRecord* record)
{
    double most = knHigher(512.0, knLower(KN_OCCUPANCY_CELLS, CELLS_PER_PART * record->partCount));
    knVec3 e = knBox_Extent(record->box);
    const float* extent = &e.x;
    float longest = fmaxf(e.x, fmaxf(e.y, e.z));
    float cell = fmaxf(longest / 255.0f, FLT_MIN);
    knOccupancy* o = &record->cells;
    for (;;)
    {
        double total = 1.0;
        for (int a = 0; a < 3; ++a)
        {
            double n = floor((double)extent[a] / (double)cell) + 1.0;
            total *= n;
            o->dims[a] = (uint16_t)knLower(n, 1024.0);
        }
        Level levels[KN_OCCUPANCY_LEVELS];
        uint32_t count = 0;
        if (total <= most && LayLevels(o->dims, levels, &count) <= KN_OCCUPANCY_WORDS)
        {
            o->levelCount = (uint16_t)count;
            break;
        }
        cell *= 1.03f;
    }
    o->cell = cell;
    o->origin = record->box.lower;
}

// A convex part of a tetrahedron in units of cells.
typedef struct Part
{
    knDVec3 vertices[KN_MAX_REGION_VERTICES];
    knDVec3 normals[KN_MAX_REGION_FACES];
    double inverses[KN_MAX_REGION_FACES]; // of normal.x; 0 when the plane runs along the rows
    double offsets[KN_MAX_REGION_FACES];  // no centre of a touching cell has more along the normal
    int vertexCount, planeCount;
} Part;

static void AddPlane(Part* part, knDVec3 normal)
{
    double offset = -DBL_MAX;
    // over all vertices: a rounded face may not cut off what is there
    for (int v = 0; v < part->vertexCount; ++v)
    {
        offset = knHigher(offset, knDDot(normal, part->vertices[v]));
    }
    double size = fabs(normal.x) + fabs(normal.y) + fabs(normal.z);
    bool steep = fabs(normal.x) > 1e-9 * size;
    part->normals[part->planeCount] = normal;
    part->inverses[part->planeCount] = steep ? 1.0 / normal.x : 0.0;
    part->offsets[part->planeCount++] = offset + 0.501 * size;
}

static knDVec3 ToCells(const knOccupancy* o, knVec3 p)
{
    // places of cells' centres are whole numbers
    return knDSub(knDScale(1.0 / (double)o->cell, knDSub(knToDouble(p), knToDouble(o->origin))),
                  knMakeDVec3(0.5, 0.5, 0.5));
}

static void MakeWholePart(Part* part, const knOccupancy* o, const knTetMesh* mesh, uint32_t tet)
{
    part->vertexCount = 4;
    part->planeCount = 0;
    knDVec3* q = part->vertices;
    for (int i = 0; i < 4; ++i)
    {
        q[i] = ToCells(o, mesh->nodes[mesh->tets[tet].v[i]]);
    }
    for (int i = 0; i < 4; ++i)
    {
        const uint8_t* c = knTetFaceCorners[i];
        AddPlane(part, knDCross(knDSub(q[c[1]], q[c[0]]), knDSub(q[c[2]], q[c[0]])));
    }
}

static void MakeCutPart(Part* part, const knOccupancy* o, const knTetRegion* region)
{
    part->vertexCount = region->vertexCount;
    part->planeCount = 0;
    for (int i = 0; i < region->vertexCount; ++i)
    {
        part->vertices[i] = ToCells(o, region->vertices[i].position);
    }
    for (int f = 0; f < region->faceCount; ++f)
    {
        const knRegionFace* face = &region->faces[f];
        knDVec3 a = part->vertices[face->loop[0]];
        knDVec3 n = {0.0, 0.0, 0.0};
        for (int i = 1; i + 1 < face->count; ++i)
        {
            n = knDAdd(n, knDCross(knDSub(part->vertices[face->loop[i]], a),
                                   knDSub(part->vertices[face->loop[i + 1]], a)));
        }
        AddPlane(part, n);
    }
}

// Cells whose closed box the interval may touch; clamped, as the ends of the box itself may round
// to just outside.
static void CellRange(double lower, double upper, uint32_t count, uint32_t range[2])
{
    // conversion cuts off: low is a ceil and high a floor once they are positive
    double low = lower + 0.499, high = upper + 0.501, last = (double)count - 1.0;
    range[0] = (uint32_t)knLower(knHigher(low, 0.0), last);
    range[1] = (uint32_t)knLower(knHigher(high, 0.0), last);
}

// The cells of a row along x that all planes leave.
static bool RowRange(const Part* part, double y, double z, uint32_t x[2])
{
    double low = (double)x[0], high = (double)x[1];
    for (int f = 0; f < part->planeCount; ++f)
    {
        knDVec3 n = part->normals[f];
        double rest = part->offsets[f] - n.y * y - n.z * z;
        double at = rest * part->inverses[f];
        if (n.x > 0.0 && part->inverses[f] != 0.0)
        {
            high = knLower(high, at);
        }
        else if (part->inverses[f] != 0.0)
        {
            low = knHigher(low, at);
        }
        else if (rest < -1e-6 * (fabs(n.y) + fabs(n.z)) * (1.0 + y + z))
        {
            return false;
        }
    }
    // half a thousandth of a cell is far more than rounding
    uint32_t first = (uint32_t)(low + 0.9995);
    if (!(high + 5e-4 >= (double)first))
    {
        return false;
    }
    x[0] = first;
    x[1] = (uint32_t)(high + 5e-4);
    return true;
}

static void SetRun(uint64_t* words, uint32_t first, uint32_t last)
{
    while (first <= last)
    {
        uint32_t bit = first % 64, count = 64 - bit;
        count = count < last - first + 1 ? count : last - first + 1;
        uint64_t ones = count == 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
        words[first / 64] |= ones << bit;
        first += count;
    }
}

static void MarkPart(const Part* part, const knOccupancy* o, uint64_t* words)
{
    knDVec3 low = part->vertices[0], high = low;
    for (int v = 1; v < part->vertexCount; ++v)
    {
        knDVec3 p = part->vertices[v];
        low = knMakeDVec3(knLower(low.x, p.x), knLower(low.y, p.y), knLower(low.z, p.z));
        high = knMakeDVec3(knHigher(high.x, p.x), knHigher(high.y, p.y), knHigher(high.z, p.z));
    }
    uint32_t x[2], y[2], z[2];
    CellRange(low.x, high.x, o->dims[0], x);
    CellRange(low.y, high.y, o->dims[1], y);
    CellRange(low.z, high.z, o->dims[2], z);
    Level level = {{o->dims[0], o->dims[1], o->dims[2]}, 0};
    for (uint32_t k = z[0]; k <= z[1]; ++k)
    {
        for (uint32_t j = y[0]; j <= y[1]; ++j)
        {
            uint32_t row[2] = {x[0], x[1]};
            if (RowRange(part, (double)j, (double)k, row))
            {
                uint32_t start = BitOf(&level, 0, j, k);
                SetRun(words, start + row[0], start + row[1]);
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
        const Level* child = &levels[l];
        const Level* parent = &levels[l + 1];
        uint32_t cells = child->dims[0] * child->dims[1] * child->dims[2];
        for (uint32_t bit = 0; bit < cells; ++bit)
        {
            uint64_t word = words[child->firstWord + bit / 64];
            if (word == 0)
            {
                bit |= 63;
                continue;
            }
            if (word >> (bit % 64) & 1)
            {
                uint32_t x = bit % child->dims[0], y = bit / child->dims[0] % child->dims[1];
                uint32_t z = bit / child->dims[0] / child->dims[1];
                SetBit(words + parent->firstWord, BitOf(parent, x / 2, y / 2, z / 2));
            }
        }
    }
}

static void GrowBox(knFragmentField* field, uint32_t fragment, uint32_t tet, uint8_t mask)
{
    field->records[fragment].partCount += 1;
    if (field->cuts->tetCuts[tet] != KN_NONE)
    {
        knBox* box = &field->records[fragment].box;
        knTetRegion region;
        knCutStore_Region(field->cuts, field->mesh, tet, mask, &region);
        for (int v = 0; v < region.vertexCount; ++v)
        {
            *box = knBox_AddPoint(*box, region.vertices[v].position);
        }
    }
}

static void MarkCells(knFragmentField* field, uint32_t fragment, uint32_t tet, uint8_t mask)
{
    const knFragmentRecord* record = &field->records[fragment];
    Part part;
    if (field->cuts->tetCuts[tet] == KN_NONE)
    {
        MakeWholePart(&part, &record->cells, field->mesh, tet);
    }
    else
    {
        knTetRegion region;
        knCutStore_Region(field->cuts, field->mesh, tet, mask, &region);
        MakeCutPart(&part, &record->cells, &region);
    }
    MarkPart(&part, &record->cells, field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS);
}

typedef void PartFcn(knFragmentField* field, uint32_t fragment, uint32_t tet, uint8_t mask);

// Calls back once for every tetrahedron that has corners of the node's label: at its first one.
static void ForEachPart(knFragmentField* field, const knFractureDelta* delta, PartFcn* call)
{
    const knTetLocator* l = &field->locator;
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        uint32_t node = delta->splitNodes[i], label = field->cuts->labels[node];
        if (label >= field->fragmentCapacity || field->records[label].update != field->updateCount)
        {
            continue;
        }
        knBox* box = &field->records[label].box;
        *box = knBox_AddPoint(*box, field->mesh->nodes[node]);
        for (uint32_t k = l->nodeTetStarts[node]; k < l->nodeTetStarts[node + 1]; ++k)
        {
            uint32_t tet = l->nodeTets[k];
            uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, label);
            int first = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
            if (field->mesh->tets[tet].v[first] == node)
            {
                call(field, label, tet, mask);
            }
        }
    }
}

void knMarkFragments(knFragmentField* field, const knFractureDelta* delta)
{
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        field->records[delta->fragments[i]].partCount = 0;
    }
    ForEachPart(field, delta, GrowBox);
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        knFragmentRecord* record = &field->records[delta->fragments[i]];
        memset(field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS, 0, KN_OCCUPANCY_BYTES);
        // a fragment without nodes has nothing to touch
        if (record->box.lower.x > record->box.upper.x)
        {
            record->cells = (knOccupancy){.cell = 1.0f, .dims = {1, 1, 1}, .levelCount = 1};
            continue;
        }
        PlaceCells(record);
    }
    ForEachPart(field, delta, MarkCells);
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        knFragmentRecord* record = &field->records[delta->fragments[i]];
        FillParents(&record->cells, field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS);
    }
}

typedef struct Visit
{
    uint16_t level, x, y, z;
} Visit;

static bool CellNear(const knOccupancy* o, const Visit* v, knVec3 p, float radius)
{
    float size = o->cell * (float)(1u << v->level);
    knVec3 lower = {o->origin.x + (float)v->x * size, o->origin.y + (float)v->y * size,
                    o->origin.z + (float)v->z * size};
    knVec3 upper = knAdd(lower, knMakeVec3(size, size, size));
    knVec3 gap = knMax(knMakeVec3(0.0f, 0.0f, 0.0f), knMax(knSub(lower, p), knSub(p, upper)));
    return knLengthSquared(gap) <= radius * radius;
}

// The cells of an axis that [value - reach, value + reach] meets; false for none.
static bool AxisRange(float value, float reach, float size, uint32_t dim, uint16_t range[2])
{
    float low = floorf((value - reach) / size), high = floorf((value + reach) / size);
    if (high < 0.0f || low >= (float)dim)
    {
        return false;
    }
    range[0] = (uint16_t)fmaxf(low, 0.0f);
    range[1] = (uint16_t)fminf(high, (float)(dim - 1));
    return true;
}

// As the paper enters the levels: where cells are larger than the sphere, so that rounding cannot
// make it meet more than two an axis.
static int EnterLevel(const knOccupancy* o, const Level* levels, uint32_t count, knVec3 p,
                      float reach, Visit* stack)
{
    uint32_t level = 0;
    float size = o->cell;
    while (level + 1 < count && size < 2.001f * reach)
    {
        level += 1;
        size *= 2.0f;
    }
    uint16_t x[2], y[2], z[2];
    knVec3 q = knSub(p, o->origin);
    const uint32_t* dims = levels[level].dims;
    if (!AxisRange(q.x, reach, size, dims[0], x) || !AxisRange(q.y, reach, size, dims[1], y) ||
        !AxisRange(q.z, reach, size, dims[2], z))
    {
        return 0;
    }
    int depth = 0;
    for (uint16_t i = 0; i < 8; ++i)
    {
        Visit v = {(uint16_t)level, x[i & 1], y[i >> 1 & 1], z[i >> 2]};
        bool again =
            ((i & 1) && x[0] == x[1]) || ((i & 2) && y[0] == y[1]) || ((i & 4) && z[0] == z[1]);
        if (!again)
        {
            stack[depth++] = v;
        }
    }
    return depth;
}

bool knOccupancy_Touches(const knFragmentField* field, const knFragmentRecord* record, knVec3 p,
                         float radius)
{
    const knOccupancy* o = &record->cells;
    const uint64_t* words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS;
    Level levels[KN_OCCUPANCY_LEVELS];
    uint32_t count;
    LayLevels(o->dims, levels, &count);
    float reach = radius * 1.00001f + field->grid.slack + 1e-4f * o->cell;
    Visit stack[8 * KN_OCCUPANCY_LEVELS];
    int depth = EnterLevel(o, levels, count, p, reach, stack);
    while (depth > 0)
    {
        Visit v = stack[--depth];
        const Level* level = &levels[v.level];
        if (!TestBit(words + level->firstWord, BitOf(level, v.x, v.y, v.z)) ||
            !CellNear(o, &v, p, reach))
        {
            continue;
        }
        if (v.level == 0)
        {
            return true;
        }
        const Level* child = &levels[v.level - 1];
        for (uint16_t i = 0; i < 8; ++i)
        {
            Visit c = {(uint16_t)(v.level - 1), (uint16_t)(2 * v.x + (i & 1)),
                       (uint16_t)(2 * v.y + (i >> 1 & 1)), (uint16_t)(2 * v.z + (i >> 2))};
            if (c.x < child->dims[0] && c.y < child->dims[1] && c.z < child->dims[2])
            {
                stack[depth++] = c;
            }
        }
    }
    return false;
}
