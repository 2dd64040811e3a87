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

// The smallest cubic cells such that all levels fit into a slot.
static void PlaceCells(knFragmentRecord* record)
{
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
            o->dims[a] = (uint16_t)fmin(n, 1024.0);
        }
        Level levels[KN_OCCUPANCY_LEVELS];
        uint32_t count = 0;
        if (total <= KN_OCCUPANCY_CELLS && LayLevels(o->dims, levels, &count) <= KN_OCCUPANCY_WORDS)
        {
            o->levelCount = (uint16_t)count;
            break;
        }
        cell *= 1.03f;
    }
    o->cell = cell;
    o->origin = record->box.lower;
}

typedef struct Marker
{
    const knTetMesh* mesh;
    const knOccupancy* cells;
    const knTetRegion* region;
    Level level;
    uint64_t* words;
    knDVec3 normals[KN_MAX_REGION_FACES];
    double offsets[KN_MAX_REGION_FACES]; // no point of the region has more along the normal
} Marker;

static void SetPlanes(Marker* m)
{
    const knTetRegion* r = m->region;
    for (int f = 0; f < r->faceCount; ++f)
    {
        const knRegionFace* face = &r->faces[f];
        knDVec3 a = knToDouble(r->vertices[face->loop[0]].position);
        knDVec3 n = {0.0, 0.0, 0.0};
        for (int i = 1; i + 1 < face->count; ++i)
        {
            n = knDAdd(n, knDCross(knDSub(knToDouble(r->vertices[face->loop[i]].position), a),
                                   knDSub(knToDouble(r->vertices[face->loop[i + 1]].position), a)));
        }
        m->normals[f] = n;
        // over all vertices: a rounded face may not cut off what is there
        m->offsets[f] = -DBL_MAX;
        for (int v = 0; v < r->vertexCount; ++v)
        {
            m->offsets[f] = fmax(m->offsets[f], knDDot(n, knToDouble(r->vertices[v].position)));
        }
    }
}

static bool CellTouches(const Marker* m, uint32_t x, uint32_t y, uint32_t z)
{
    double cell = (double)m->cells->cell, half = 0.5001 * cell;
    knDVec3 c = {(double)m->cells->origin.x + ((double)x + 0.5) * cell,
                 (double)m->cells->origin.y + ((double)y + 0.5) * cell,
                 (double)m->cells->origin.z + ((double)z + 0.5) * cell};
    for (int f = 0; f < m->region->faceCount; ++f)
    {
        knDVec3 n = m->normals[f];
        double reach = half * (fabs(n.x) + fabs(n.y) + fabs(n.z));
        double size = fabs(n.x * c.x) + fabs(n.y * c.y) + fabs(n.z * c.z);
        if (knDDot(n, c) - reach > m->offsets[f] + 1e-12 * size)
        {
            return false;
        }
    }
    return true;
}

static void CellRange(const knOccupancy* o, float lower, float upper, float origin, int axis,
                      uint32_t range[2])
{
    float low = (lower - origin) / o->cell - 1e-3f, high = (upper - origin) / o->cell + 1e-3f;
    uint32_t last = (uint32_t)o->dims[axis] - 1;
    range[0] = low > 0.0f ? (uint32_t)low : 0;
    range[1] = high > 0.0f ? (uint32_t)high : 0;
    range[0] = range[0] < last ? range[0] : last;
    range[1] = range[1] < last ? range[1] : last;
}

static void MarkRegion(Marker* m)
{
    knBox box = knEmptyBox();
    for (int v = 0; v < m->region->vertexCount; ++v)
    {
        box = knBox_AddPoint(box, m->region->vertices[v].position);
    }
    const knOccupancy* o = m->cells;
    uint32_t x[2], y[2], z[2];
    CellRange(o, box.lower.x, box.upper.x, o->origin.x, 0, x);
    CellRange(o, box.lower.y, box.upper.y, o->origin.y, 1, y);
    CellRange(o, box.lower.z, box.upper.z, o->origin.z, 2, z);
    SetPlanes(m);
    for (uint32_t k = z[0]; k <= z[1]; ++k)
    {
        for (uint32_t j = y[0]; j <= y[1]; ++j)
        {
            for (uint32_t i = x[0]; i <= x[1]; ++i)
            {
                uint32_t bit = BitOf(&m->level, i, j, k);
                if (!TestBit(m->words, bit) && CellTouches(m, i, j, k))
                {
                    SetBit(m->words, bit);
                }
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

// Calls back once for every tetrahedron that has corners of the node's label: at its first one.
typedef void RegionFcn(knFragmentField* field, uint32_t fragment, const knTetRegion* region);

static void ForEachRegion(knFragmentField* field, const knFractureDelta* delta, RegionFcn* call)
{
    const knTetLocator* l = &field->locator;
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        uint32_t node = delta->splitNodes[i], label = field->cuts->labels[node];
        if (label >= field->fragmentCapacity || field->records[label].update != field->updateCount)
        {
            continue;
        }
        for (uint32_t k = l->nodeTetStarts[node]; k < l->nodeTetStarts[node + 1]; ++k)
        {
            uint32_t tet = l->nodeTets[k];
            uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, label);
            int first = mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
            if (field->mesh->tets[tet].v[first] == node)
            {
                knTetRegion region;
                knCutStore_Region(field->cuts, field->mesh, tet, mask, &region);
                call(field, label, &region);
            }
        }
    }
}

static void GrowBox(knFragmentField* field, uint32_t fragment, const knTetRegion* region)
{
    knBox* box = &field->records[fragment].box;
    for (int v = 0; v < region->vertexCount; ++v)
    {
        *box = knBox_AddPoint(*box, region->vertices[v].position);
    }
}

static void MarkCells(knFragmentField* field, uint32_t fragment, const knTetRegion* region)
{
    const knFragmentRecord* record = &field->records[fragment];
    const uint16_t* d = record->cells.dims;
    Marker m = {.mesh = field->mesh,
                .cells = &record->cells,
                .region = region,
                .level = {{d[0], d[1], d[2]}, 0},
                .words = field->slots + (size_t)record->slot * KN_OCCUPANCY_WORDS};
    MarkRegion(&m);
}

void knMarkFragments(knFragmentField* field, const knFractureDelta* delta)
{
    ForEachRegion(field, delta, GrowBox);
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
    ForEachRegion(field, delta, MarkCells);
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
    knBox box = {lower, knAdd(lower, knMakeVec3(size, size, size))};
    return knBox_Distance(box, p) <= radius;
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
    int depth = 0;
    stack[depth++] = (Visit){.level = (uint16_t)(count - 1)};
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
