// SPDX-License-Identifier: Zlib
#include "distfield/distfield_internal.h"

// The planes of cut tetrahedra in the object's frame: what marking and queries ask first.

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

void knPlaceCutPlanes(knFragmentField* field, const knFractureDelta* delta)
{
    const knCutStore* cuts = field->cuts;
    for (uint32_t i = 0; i < delta->crossedTetCount; ++i)
    {
        uint32_t tet = delta->crossedTets[i], index = cuts->tetCuts[tet];
        if (index >= field->planeCapacity)
        {
            continue;
        }
        const knTetCut* cut = &cuts->cuts[index];
        for (int k = 0; k < cut->planeCount; ++k)
        {
            field->planes[KN_MAX_TET_PLANES * (size_t)index + (size_t)k] =
                PlaneOf(field->mesh, tet, cut->phi[k]);
        }
    }
}
