// SPDX-License-Identifier: Zlib
#include "knap/mesh.h"

static void AddSquare(knDSym3* m, double s, knDVec3 r)
{
    m->xx += s * r.x * r.x;
    m->yy += s * r.y * r.y;
    m->zz += s * r.z * r.z;
    m->xy += s * r.x * r.y;
    m->xz += s * r.x * r.z;
    m->yz += s * r.y * r.z;
}

void knMoments_AddTet(knMoments* m, const knDVec3 r[4])
{
    knDVec3 u = knDSub(r[1], r[0]);
    knDVec3 v = knDSub(r[2], r[0]);
    knDVec3 w = knDSub(r[3], r[0]);
    double volume = knDDot(knDCross(u, v), w) / 6.0;
    knDVec3 sum = knDAdd(knDAdd(r[0], r[1]), knDAdd(r[2], r[3]));
    m->volume += volume;
    m->first = knDAdd(m->first, knDScale(volume / 4.0, sum));
    // exact for linear shape functions: (sum sum^T + sum of r r^T) / 20
    double s = volume / 20.0;
    AddSquare(&m->second, s, sum);
    for (int i = 0; i < 4; ++i)
    {
        AddSquare(&m->second, s, r[i]);
    }
}

knMassProperties knMoments_Finish(const knMoments* m, knDVec3 origin, double density)
{
    double v = m->volume;
    knDVec3 c = v > 0.0 ? knDScale(1.0 / v, m->first) : knMakeDVec3(0.0, 0.0, 0.0);
    double xx = m->second.xx - v * c.x * c.x;
    double yy = m->second.yy - v * c.y * c.y;
    double zz = m->second.zz - v * c.z * c.z;
    knMassProperties p = {.volume = v, .mass = density * v, .center = knDAdd(origin, c)};
    p.inertia.xx = density * (yy + zz);
    p.inertia.yy = density * (xx + zz);
    p.inertia.zz = density * (xx + yy);
    p.inertia.xy = -density * (m->second.xy - v * c.x * c.y);
    p.inertia.xz = -density * (m->second.xz - v * c.x * c.z);
    p.inertia.yz = -density * (m->second.yz - v * c.y * c.z);
    return p;
}

knMassProperties knTetMesh_MassProperties(const knTetMesh* mesh, double density)
{
    knDVec3 origin = knToDouble(mesh->nodes[0]);
    knMoments m = {0};
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        knDVec3 r[4];
        for (int i = 0; i < 4; ++i)
        {
            r[i] = knDSub(knToDouble(mesh->nodes[mesh->tets[t].v[i]]), origin);
        }
        knMoments_AddTet(&m, r);
    }
    return knMoments_Finish(&m, origin, density);
}

double knSurfaceVolume(const knVec3* positions, const knTriangle* triangles, uint32_t count)
{
    double volume6 = 0.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t* v = triangles[i].v;
        // one corner of the mesh as the apex of all keeps the terms small
        volume6 += knTetVolume6(positions[triangles[0].v[0]], positions[v[0]], positions[v[1]],
                                positions[v[2]]);
    }
    return volume6 / 6.0;
}

double knSurfaceArea(const knVec3* positions, const knTriangle* triangles, uint32_t count)
{
    double area2 = 0.0;
    for (uint32_t i = 0; i < count; ++i)
    {
        knDVec3 a = knToDouble(positions[triangles[i].v[0]]);
        knDVec3 b = knToDouble(positions[triangles[i].v[1]]);
        knDVec3 c = knToDouble(positions[triangles[i].v[2]]);
        area2 += knDLength(knDCross(knDSub(b, a), knDSub(c, a)));
    }
    return 0.5 * area2;
}

knBox knBoundingBox(const knVec3* positions, uint32_t count)
{
    knBox box = knEmptyBox();
    for (uint32_t i = 0; i < count; ++i)
    {
        box = knBox_AddPoint(box, positions[i]);
    }
    return box;
}
