// SPDX-License-Identifier: Zlib
#include "knap/mesh.h"

// Sums moments about one point near the mesh, not about the frame's origin: a mesh far away would
// lose the inertia in rounding.
typedef struct Moments
{
    double volume;
    knDVec3 first;
    knDSym3 second; // integral of r r^T
} Moments;

// Of a tetrahedron with the corners o + a, o + b, o + c, o + d, relative to o.
static void AddTet(Moments* m, const knDVec3 r[4])
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
    m->second.xx += s * sum.x * sum.x;
    m->second.yy += s * sum.y * sum.y;
    m->second.zz += s * sum.z * sum.z;
    m->second.xy += s * sum.x * sum.y;
    m->second.xz += s * sum.x * sum.z;
    m->second.yz += s * sum.y * sum.z;
    for (int i = 0; i < 4; ++i)
    {
        m->second.xx += s * r[i].x * r[i].x;
        m->second.yy += s * r[i].y * r[i].y;
        m->second.zz += s * r[i].z * r[i].z;
        m->second.xy += s * r[i].x * r[i].y;
        m->second.xz += s * r[i].x * r[i].z;
        m->second.yz += s * r[i].y * r[i].z;
    }
}

static knMassProperties Finish(const Moments* m, knDVec3 origin, double density)
{
    knDVec3 c = m->volume > 0.0 ? knDScale(1.0 / m->volume, m->first) : knMakeDVec3(0.0, 0.0, 0.0);
    double v = m->volume;
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
    Moments m = {0};
    for (uint32_t t = 0; t < mesh->tetCount; ++t)
    {
        knDVec3 r[4];
        for (int i = 0; i < 4; ++i)
        {
            r[i] = knDSub(knToDouble(mesh->nodes[mesh->tets[t].v[i]]), origin);
        }
        AddTet(&m, r);
    }
    return Finish(&m, origin, density);
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
