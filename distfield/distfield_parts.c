// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// What is kept of cut tetrahedra so that marking and queries need not make their parts again:
// planes in the object's frame, and the crack faces of the parts that several planes bound.

static knCutPlane PlaneOf(const knTetMesh* mesh, uint32_t tet, const float phi[4])
{
    const uint32_t* v = mesh->tets[tet].v;
    knDVec3 o = knToDouble(mesh->nodes[v[0]]);
    knDVec3 a = knDSub(knToDouble(mesh->nodes[v[1]]), o);
    knDVec3 b = knDSub(knToDouble(mesh->nodes[v[2]]), o);
    knDVec3 c = knDSub(knToDouble(mesh->nodes[v[3]]), o);
    knDVec3 bc = knDCross(b, c), ca = knDCross(c, a), ab = knDCross(a, b);
    double base = (double)phi[0], volume = knDDot(a, bc);
    knDVec3 g = knDScale((double)phi[1] - base, bc);
    g = knDAdd(g, knDScale((double)phi[2] - base, ca));
    g = knDAdd(g, knDScale((double)phi[3] - base, ab));
    double inverse = 1.0 / knHigher(knDLength(g), DBL_MIN);
    double offset = (knDDot(g, o) - base * volume) * inverse;
    return (knCutPlane){knToFloat(knDScale(inverse, g)), (float)offset};
}

// A part that the first plane alone bounds: its face is quickly had from the cut points.
static bool IsSimple(const knTetCut* cut, uint8_t mask)
{
    return cut->region[0] == 0xF && (mask == cut->below[0] || mask == (0xF & ~cut->below[0]));
}

static int LowestCorner(uint8_t mask)
{
    return mask & 1 ? 0 : mask & 2 ? 1 : mask & 4 ? 2 : 3;
}

const knCrackFaces* knFindCracks(const knFragmentField* field, uint32_t tet, uint8_t mask,
                                 knCrackFaces* buffer)
{
    uint32_t index = field->cuts->tetCuts[tet];
    if (mask != 0 && index < field->partCapacity && !IsSimple(&field->cuts->cuts[index], mask))
    {
        uint32_t cracks = field->parts[index].cracks[LowestCorner(mask)];
        if (cracks != KN_NONE && field->cracks[cracks].mask == mask)
        {
            return &field->cracks[cracks].faces;
        }
    }
    knCutStore_CrackFaces(field->cuts, field->mesh, tet, mask, buffer);
    return buffer;
}

// The parts of a cut, as masks of their corners.
static int ListParts(const knTetCut* cut, uint8_t masks[KN_MAX_TET_PLANES + 1])
{
    int count = 1;
    masks[0] = 0xF;
    for (int i = 0; i < cut->planeCount; ++i)
    {
        for (int k = 0; k < count; ++k)
        {
            if (masks[k] == cut->region[i])
            {
                masks[count++] = (uint8_t)(masks[k] & ~cut->below[i]);
                masks[k] = cut->below[i];
                break;
            }
        }
    }
    return count;
}

static void KeepCracks(knFragmentField* field, uint32_t tet, knCutParts* parts)
{
    uint8_t masks[KN_MAX_TET_PLANES + 1];
    const knTetCut* cut = &field->cuts->cuts[field->cuts->tetCuts[tet]];
    int count = ListParts(cut, masks);
    for (int i = 0; i < count; ++i)
    {
        uint32_t* at = &parts->cracks[LowestCorner(masks[i])];
        if (IsSimple(cut, masks[i]) ||
            (*at == KN_NONE && field->crackCount == field->crackCapacity))
        {
            continue;
        }
        *at = *at == KN_NONE ? field->crackCount++ : *at;
        knPartCracks* cracks = &field->cracks[*at];
        cracks->mask = masks[i];
        knCutStore_CrackFaces(field->cuts, field->mesh, tet, masks[i], &cracks->faces);
    }
}

void knKeepParts(knFragmentField* field, const knFractureDelta* delta)
{
    const knCutStore* cuts = field->cuts;
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        uint32_t tet = delta->crossedTets[i], index = cuts->tetCuts[tet];
        if (index >= field->partCapacity)
        {
            continue;
        }
        const knTetCut* cut = &cuts->cuts[index];
        knCutParts* parts = &field->parts[index];
        for (int k = 0; k < cut->planeCount; ++k)
        {
            parts->planes[k] = PlaneOf(field->mesh, tet, cut->phi[k]);
        }
        if (cut->planeCount > 1)
        {
            KeepCracks(field, tet, parts);
        }
    }
}

// The parts whose crack faces are kept. Later planes only part these further, so each keeps its
// place.
static size_t CountKept(const knTetCut* cut)
{
    uint8_t masks[KN_MAX_TET_PLANES + 1];
    int count = cut->planeCount > 1 ? ListParts(cut, masks) : 0;
    size_t kept = 0;
    for (int i = 0; i < count; ++i)
    {
        kept += !IsSimple(cut, masks[i]);
    }
    return kept;
}

knResult knReserveParts(knFragmentField* field)
{
    const knCutStore* cuts = field->cuts;
    size_t known = field->partCapacity, wanted = 0;
    knResult result = knGrow(&field->allocator, (void**)&field->parts, &field->partCapacity,
                             cuts->cutCount, sizeof(knCutParts));
    for (size_t i = known; i < field->partCapacity; ++i)
    {
        memset(field->parts[i].cracks, 0xFF, sizeof field->parts[i].cracks);
    }
    for (uint32_t i = 0; i < cuts->cutCount; ++i)
    {
        wanted += CountKept(&cuts->cuts[i]);
    }
    return result == kn_success ? knGrow(&field->allocator, (void**)&field->cracks,
                                         &field->crackCapacity, wanted, sizeof(knPartCracks))
                                : result;
}

void knReleaseParts(knFragmentField* field)
{
    knRelease(&field->allocator, field->parts, field->partCapacity, sizeof(knCutParts));
    knRelease(&field->allocator, field->cracks, field->crackCapacity, sizeof(knPartCracks));
}
