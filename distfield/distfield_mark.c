// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

#include <simde/x86/sse2.h>

// Marks the cells and boxes of new fragments: tetrahedron by tetrahedron, each with the cells that
// it was found to cover when it was cooked; cut ones with those on the side of each part.

void knPlaceLevels(knFragmentField* field)
{
    uint32_t shifts[3], word = 0, count = 0;
    for (int a = 0; a < 3; ++a)
    {
        shifts[a] = 0;
        while (((uint32_t)KN_WORD_SIDE << shifts[a]) < field->locator.dims[a])
        {
            shifts[a] += 1;
        }
    }
    for (;;)
    {
        uint32_t total = shifts[0] + shifts[1] + shifts[2];
        field->levels[count++] = (knCellLevel){{shifts[0], shifts[1], shifts[2]}, word};
        word += 1u << total;
        if (total == 0)
        {
            break;
        }
        for (int a = 0; a < 3; ++a)
        {
            shifts[a] = knWordShift(shifts[a]);
        }
    }
    field->levelCount = count;
}

static bool IsNew(const knFragmentField* field, uint32_t label)
{
    return label < field->fragmentCapacity && field->records[label].update == field->updateCount;
}

static uint64_t* WordsOf(const knFragmentField* field, uint32_t label)
{
    return field->slots + (size_t)field->records[label].slot * KN_OCCUPANCY_WORDS;
}

// A plane in the lattice: its distance from the middle of cell (x, y, z) is base + step . (x, y, z)
// and the cell reaches so far around its middle.
typedef struct CellPlane
{
    knVec3 step;
    float base, reach;
} CellPlane;

static CellPlane PlaceInLattice(const knFragmentField* field, const knCutPlane* plane)
{
    const knTetLocator* l = &field->locator;
    knVec3 n = plane->normal;
    knVec3 middle = knAddScaled(l->box.lower, 0.5f, l->cell);
    CellPlane p = {.step = {n.x * l->cell.x, n.y * l->cell.y, n.z * l->cell.z}};
    p.base = knDot(n, middle) - plane->offset;
    p.reach = 0.5f * (fabsf(p.step.x) + fabsf(p.step.y) + fabsf(p.step.z)) + field->grid.slack;
    return p;
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

// The cells of a word that reach below the plane and those that reach above it.
static void SplitCells(const knCellLevel* lattice, const CellPlane* p, uint32_t word, uint64_t mask,
                       uint64_t sides[2])
{
    uint32_t x = word & ((1u << lattice->shifts[0]) - 1), row = word >> lattice->shifts[0];
    uint32_t y = row & ((1u << lattice->shifts[1]) - 1), z = row >> lattice->shifts[1];
    float first =
        p->base + 4.0f * ((float)x * p->step.x + (float)y * p->step.y + (float)z * p->step.z);
    float middle = first + 1.5f * (p->step.x + p->step.y + p->step.z);
    float around = 4.0f * p->reach;
    if (middle > around || middle < -around)
    {
        sides[0] = middle < 0.0f ? mask : 0;
        sides[1] = middle > 0.0f ? mask : 0;
        return;
    }
    sides[0] = sides[1] = 0;
    simde__m128 steps =
        simde_mm_mul_ps(simde_mm_setr_ps(0.0f, 1.0f, 2.0f, 3.0f), simde_mm_set1_ps(p->step.x));
    simde__m128 reach = simde_mm_set1_ps(p->reach), low = simde_mm_set1_ps(-p->reach);
    for (uint64_t rest = mask; rest != 0;)
    {
        // one row along x at a time
        uint32_t line = LowestBit(rest) & ~3u;
        float base = first + (float)(line >> 2 & 3u) * p->step.y + (float)(line >> 4) * p->step.z;
        simde__m128 at = simde_mm_add_ps(simde_mm_set1_ps(base), steps);
        sides[0] |= (uint64_t)simde_mm_movemask_ps(simde_mm_cmple_ps(at, reach)) << line;
        sides[1] |= (uint64_t)simde_mm_movemask_ps(simde_mm_cmpge_ps(at, low)) << line;
        rest &= ~((uint64_t)15 << line);
    }
    sides[0] &= mask;
    sides[1] &= mask;
}

static void MarkWhole(knFragmentField* field, uint32_t tet, uint32_t label)
{
    const knTetLocator* l = &field->locator;
    uint64_t* words = WordsOf(field, label);
    for (uint32_t i = l->coverStarts[tet]; i < l->coverStarts[tet + 1]; ++i)
    {
        words[l->coverWords[i]] |= l->coverMasks[i];
    }
}

static int LowestCorner(uint8_t mask)
{
    return mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
}

// One plane: both sides from one look at it.
static void MarkHalves(knFragmentField* field, uint32_t tet, uint8_t below, knCutParts* parts)
{
    const knTetLocator* l = &field->locator;
    const uint32_t* v = field->mesh->tets[tet].v;
    CellPlane plane = PlaceInLattice(field, &parts->planes[0]);
    uint64_t* words[2];
    for (int side = 0; side < 2; ++side)
    {
        uint8_t mask = side == 0 ? below : (uint8_t)(0xF & ~below);
        uint32_t label = field->cuts->labels[v[LowestCorner(mask)]];
        parts->labels[side] = label;
        words[side] = IsNew(field, label) ? WordsOf(field, label) : NULL;
    }
    for (uint32_t i = l->coverStarts[tet]; i < l->coverStarts[tet + 1]; ++i)
    {
        uint64_t sides[2];
        SplitCells(&field->levels[0], &plane, l->coverWords[i], l->coverMasks[i], sides);
        for (int side = 0; side < 2; ++side)
        {
            if (words[side])
            {
                words[side][l->coverWords[i]] |= sides[side];
            }
        }
    }
}

// The part with the corners of the mask, cell by cell on its side of every plane that bounds it.
static void MarkPart(knFragmentField* field, uint32_t tet, uint8_t mask, const knCutParts* parts)
{
    const knTetLocator* l = &field->locator;
    const knTetCut* cut = &field->cuts->cuts[field->cuts->tetCuts[tet]];
    uint64_t* words =
        WordsOf(field, field->cuts->labels[field->mesh->tets[tet].v[LowestCorner(mask)]]);
    CellPlane planes[KN_MAX_TET_PLANES];
    int count = 0, sides[KN_MAX_TET_PLANES];
    for (int k = 0; parts && k < cut->planeCount; ++k)
    {
        if ((mask & ~cut->region[k]) == 0)
        {
            sides[count] = (mask & cut->below[k]) != 0 ? 0 : 1;
            planes[count++] = PlaceInLattice(field, &parts->planes[k]);
        }
    }
    for (uint32_t i = l->coverStarts[tet]; i < l->coverStarts[tet + 1]; ++i)
    {
        uint64_t cells = l->coverMasks[i];
        for (int k = 0; k < count; ++k)
        {
            uint64_t halves[2];
            SplitCells(&field->levels[0], &planes[k], l->coverWords[i], cells, halves);
            cells = halves[sides[k]];
        }
        words[l->coverWords[i]] |= cells;
    }
}

// Points where planes meet belong to no edge.
static void AddMeetings(knFragmentField* field, uint32_t tet, uint8_t mask, knBox* box)
{
    knCrackFaces buffer;
    const knCrackFaces* cracks = knFindCracks(field, tet, mask, &buffer);
    for (uint32_t f = 0; f < cracks->count; ++f)
    {
        for (int i = 0; i < cracks->faces[f].count; ++i)
        {
            *box = knBox_AddPoint(*box, cracks->faces[f].points[i]);
        }
    }
}

// Called once for every cut tetrahedron with a corner in a new fragment.
static void MarkCutTet(knFragmentField* field, uint32_t tet)
{
    uint32_t index = field->cuts->tetCuts[tet];
    const knTetCut* cut = &field->cuts->cuts[index];
    knCutParts* parts = knFindParts(field, index);
    field->tetLabels[tet] = KN_NONE;
    if (parts && cut->planeCount == 1)
    {
        MarkHalves(field, tet, cut->below[0], parts);
        return;
    }
    uint8_t done = 0;
    for (int c = 0; c < 4; ++c)
    {
        uint32_t label = field->cuts->labels[field->mesh->tets[tet].v[c]];
        if ((done >> c & 1) == 0 && IsNew(field, label))
        {
            uint8_t mask = knCutStore_Mask(field->cuts, field->mesh, tet, label);
            done |= mask;
            MarkPart(field, tet, mask, parts);
            if (cut->planeCount > 1)
            {
                AddMeetings(field, tet, mask, &field->records[label].box);
            }
        }
    }
}

// Called once for every tetrahedron with a corner in a new fragment; `label` is that corner's.
static void MarkTet(knFragmentField* field, uint32_t tet, uint32_t label)
{
    if (field->cuts->tetCuts[tet] != KN_NONE)
    {
        MarkCutTet(field, tet);
        return;
    }
    field->tetLabels[tet] = label;
    MarkWhole(field, tet, label);
}

static void AddPoint(knFragmentField* field, uint32_t label, knVec3 p)
{
    if (IsNew(field, label))
    {
        knBox* box = &field->records[label].box;
        *box = knBox_AddPoint(*box, p);
    }
}

// Whether no corner before this one is in a new fragment.
static bool IsFirstNew(const knFragmentField* field, uint32_t tet, uint32_t node)
{
    const uint32_t* v = field->mesh->tets[tet].v;
    int c = 0;
    while (v[c] != node && !IsNew(field, field->cuts->labels[v[c]]))
    {
        c += 1;
    }
    return v[c] == node;
}

// The tetrahedra and cut points around the nodes that were split.
static void MarkAround(knFragmentField* field, const knFractureDelta* delta)
{
    const knTetLocator* l = &field->locator;
    const knTetMesh* mesh = field->mesh;
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        uint32_t node = delta->splitNodes[i], label = field->cuts->labels[node];
        if (!IsNew(field, label))
        {
            continue;
        }
        for (uint32_t k = l->nodeTetStarts[node]; k < l->nodeTetStarts[node + 1]; ++k)
        {
            if (IsFirstNew(field, l->nodeTets[k], node))
            {
                MarkTet(field, l->nodeTets[k], label);
            }
        }
        for (uint32_t k = mesh->nodeEdgeStarts[node]; k < mesh->nodeEdgeStarts[node + 1]; ++k)
        {
            uint32_t cut = field->cuts->edgeCuts[mesh->nodeEdges[k]];
            if (cut != KN_NONE)
            {
                AddPoint(field, label, field->cuts->points[cut].position);
            }
        }
    }
}

// The same by going over the whole mesh, which is cheaper where most of it was split.
static void MarkAll(knFragmentField* field)
{
    const knTetMesh* mesh = field->mesh;
    const knCutStore* cuts = field->cuts;
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        for (int c = 0; c < 4; ++c)
        {
            uint32_t label = cuts->labels[mesh->tets[t].v[c]];
            if (IsNew(field, label))
            {
                MarkTet(field, t, label);
                break;
            }
        }
    }
    for (uint32_t i = 0; i < cuts->pointCount; ++i)
    {
        const uint32_t* v = mesh->edges[cuts->points[i].edge].v;
        AddPoint(field, cuts->labels[v[0]], cuts->points[i].position);
        AddPoint(field, cuts->labels[v[1]], cuts->points[i].position);
    }
}

static void FillParents(const knFragmentField* field, uint64_t* words)
{
    for (uint32_t i = 0; i + 1 < field->levelCount; ++i)
    {
        const knCellLevel *level = &field->levels[i], *above = level + 1;
        const uint32_t* shifts = level->shifts;
        for (uint32_t w = 0; w < 1u << (shifts[0] + shifts[1] + shifts[2]); ++w)
        {
            if (words[level->firstWord + w] != 0)
            {
                uint32_t x = w & ((1u << shifts[0]) - 1), row = w >> shifts[0];
                uint32_t y = row & ((1u << shifts[1]) - 1), z = row >> shifts[1];
                uint32_t parent = (((z / 4 << above->shifts[1]) + y / 4) << above->shifts[0]);
                words[above->firstWord + parent + x / 4] |= (uint64_t)1 << knCellBit(x, y, z);
            }
        }
    }
}

void knMarkFragments(knFragmentField* field, const knFractureDelta* delta)
{
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        memset(WordsOf(field, delta->fragments[i]), 0, KN_OCCUPANCY_BYTES);
    }
    for (uint32_t i = 0; i < delta->splitNodeCount; ++i)
    {
        uint32_t node = delta->splitNodes[i];
        AddPoint(field, field->cuts->labels[node], field->mesh->nodes[node]);
    }
    if (delta->splitNodeCount > field->mesh->nodeCount / 4)
    {
        MarkAll(field);
    }
    else
    {
        MarkAround(field, delta);
    }
    for (uint32_t i = 0; i < delta->fragmentCount; ++i)
    {
        FillParents(field, WordsOf(field, delta->fragments[i]));
    }
}
