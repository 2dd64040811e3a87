// SPDX-License-Identifier: Zlib
// Points inside that keep the edges of the tetrahedra short.
#include "tetgen_job.h"

static knDVec3 RawPoint(const knRawTets* raw, int index)
{
    const double* p = raw->points + 3 * (size_t)index;
    return knMakeDVec3(p[0], p[1], p[2]);
}

static bool IsFarFromAdded(const knTetJob* job, size_t firstAdded, knDVec3 p, double distance)
{
    for (size_t i = firstAdded; i < job->pointCount; ++i)
    {
        const double* q = job->points + 3 * i;
        if (knDLength(knDSub(p, knMakeDVec3(q[0], q[1], q[2]))) < distance)
        {
            return false;
        }
    }
    return true;
}

// The edges of a tetrahedron inside that are too long, as a bit mask; measures on the way.
static unsigned OverlongEdges(knTetJob* job, const knRawTets* raw, size_t tet, double limit)
{
    unsigned mask = 0;
    for (int e = 0; e < 6; ++e)
    {
        int a = raw->tets[4 * tet + knTetEdgeCorners[e][0]];
        int b = raw->tets[4 * tet + knTetEdgeCorners[e][1]];
        double length = knDLength(knDSub(RawPoint(raw, a), RawPoint(raw, b)));
        bool counts = length > job->stats->longestInterior * job->scale || length > limit;
        if (!counts || knTetJob_IsSurfaceEdge(job, a, b))
        {
            continue;
        }
        job->stats->longestInterior = fmax(job->stats->longestInterior, length / job->scale);
        // rounding must not make an edge of exactly the limit too long
        mask |= length > limit * (1.0 + 1e-6) ? 1u << e : 0u;
    }
    return mask;
}

// Points are put inside only for edges longer than the surface's own: shorter ones are a matter of
// the volume bound, and points for them would crowd the surface.
static double RefineLimit(const knTetJob* job)
{
    return fmax(job->stats->maxEdge, job->stats->longestSurface) * job->scale;
}

uint32_t knTetJob_MeasureEdges(knTetJob* job, const knRawTets* raw)
{
    job->stats->longestInterior = 0.0;
    job->stats->overlongEdges = 0;
    uint32_t tetCount = 0;
    for (size_t t = 0; t < raw->tetCount; ++t)
    {
        unsigned mask = OverlongEdges(job, raw, t, job->stats->maxEdge * job->scale);
        tetCount += mask != 0;
        for (; mask != 0; mask &= mask - 1)
        {
            job->stats->overlongEdges += 1;
        }
    }
    return tetCount;
}

// Inside the tetrahedron, off its corners by a third and off the surface by a quarter of the
// spacing. A face between three surface points may be one of the surface's.
static bool IsWellInside(const knTetJob* job, const int corners[4], const knDVec3 p[4], knDVec3 q,
                         double spacing)
{
    int surfaceCount = (int)job->surface->positionCount;
    for (int f = 0; f < 4; ++f)
    {
        const uint8_t* c = knTetFaceCorners[f];
        knDVec3 n = knDCross(knDSub(p[c[1]], p[c[0]]), knDSub(p[c[2]], p[c[0]]));
        double side = knDDot(n, knDSub(p[f], p[c[0]]));
        double height = knDDot(n, knDSub(q, p[c[0]])) / knDLength(n);
        height = side < 0.0 ? -height : height;
        bool outer = corners[c[0]] < surfaceCount && corners[c[1]] < surfaceCount &&
                     corners[c[2]] < surfaceCount;
        if (!(height > (outer ? 0.25 * spacing : 0.0)) ||
            knDLength(knDSub(q, p[f])) < 0.33 * spacing)
        {
            return false;
        }
    }
    return true;
}

// Points of a body-centred lattice inside one tetrahedron.
static knResult FillTet(knTetJob* job, const knRawTets* raw, size_t tet, double spacing)
{
    knDVec3 p[4];
    knDVec3 low = RawPoint(raw, raw->tets[4 * tet]), high = low;
    for (int k = 0; k < 4; ++k)
    {
        p[k] = RawPoint(raw, raw->tets[4 * tet + (size_t)k]);
        low = knMakeDVec3(fmin(low.x, p[k].x), fmin(low.y, p[k].y), fmin(low.z, p[k].z));
        high = knMakeDVec3(fmax(high.x, p[k].x), fmax(high.y, p[k].y), fmax(high.z, p[k].z));
    }
    knResult result = kn_success;
    double h = 0.5 * spacing;
    for (double z = ceil(low.z / h); result == kn_success && z * h <= high.z; z += 1.0)
    {
        for (double y = ceil(low.y / h); result == kn_success && y * h <= high.y; y += 1.0)
        {
            for (double x = ceil(low.x / h); result == kn_success && x * h <= high.x; x += 1.0)
            {
                // all three even or all three odd: the corners and the centres of the cells
                bool onLattice = fmod(x + y, 2.0) == 0.0 && fmod(y + z, 2.0) == 0.0;
                knDVec3 q = knMakeDVec3(x * h, y * h, z * h);
                if (onLattice && IsWellInside(job, raw->tets + 4 * tet, p, q, spacing))
                {
                    result = knTetJob_AddPoint(job, q);
                }
            }
        }
    }
    return result;
}

// Fills tetrahedra with edges that are too long with a lattice of such a spacing that its own edges
// are not.
knResult knTetJob_AddLattice(knTetJob* job, const knRawTets* raw)
{
    double limit = RefineLimit(job);
    knResult result = kn_success;
    for (size_t t = 0; result == kn_success && t < raw->tetCount; ++t)
    {
        if (OverlongEdges(job, raw, t, limit) != 0)
        {
            result = FillTet(job, raw, t, 0.75 * limit);
        }
    }
    return result;
}

// Puts points in the middle of edges that are too long, not closer to one another than half the
// limit.
knResult knTetJob_AddMiddles(knTetJob* job, const knRawTets* raw)
{
    double limit = RefineLimit(job);
    size_t firstAdded = job->pointCount;
    knResult result = kn_success;
    for (size_t t = 0; result == kn_success && t < raw->tetCount; ++t)
    {
        unsigned mask = OverlongEdges(job, raw, t, limit);
        for (int e = 0; result == kn_success && e < 6; ++e)
        {
            knDVec3 a = RawPoint(raw, raw->tets[4 * t + knTetEdgeCorners[e][0]]);
            knDVec3 b = RawPoint(raw, raw->tets[4 * t + knTetEdgeCorners[e][1]]);
            knDVec3 middle = knDScale(0.5, knDAdd(a, b));
            if ((mask & 1u << e) && IsFarFromAdded(job, firstAdded, middle, 0.5 * limit))
            {
                result = knTetJob_AddPoint(job, middle);
            }
        }
    }
    return result;
}
