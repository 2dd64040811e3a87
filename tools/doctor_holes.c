// SPDX-License-Identifier: Zlib
#include "doctor_internal.h"

#define MAX_RIM_EDGES 8192 // whatever the options say: the table of diagonals is quadratic

// What a loop is filled with; appended to the soup when all loops are done, because the topology
// looks at the soup's triangles.
typedef struct Patch
{
    knTriangle* triangles;
    knTriangle* corners;
    size_t triangleCapacity, cornerCapacity, count;
} Patch;

typedef struct Filler
{
    knDoctor* doctor;
    const knTopology* topology;
    Patch patch;
    uint32_t* slots; // per vertex: 1 + its place in the present loop, or 0
} Filler;

static knResult AddToPatch(Filler* f, knTriangle triangle, knTriangle corners)
{
    const knAllocator* a = &f->doctor->soup->allocator;
    Patch* p = &f->patch;
    void* triangles = p->triangles;
    void* cornerItems = p->corners;
    knResult result = knGrow(a, &triangles, &p->triangleCapacity, p->count + 1, sizeof(knTriangle));
    p->triangles = triangles;
    if (result == kn_success)
    {
        result = knGrow(a, &cornerItems, &p->cornerCapacity, p->count + 1, sizeof(knTriangle));
        p->corners = cornerItems;
    }
    if (result == kn_success)
    {
        p->triangles[p->count] = triangle;
        p->corners[p->count++] = corners;
    }
    return result;
}

static void MarkNeighbors(const Filler* f, const uint32_t* vertices, size_t i, size_t n,
                          bool* forbidden)
{
    const knTopology* t = f->topology;
    uint32_t v = vertices[i];
    for (uint32_t c = t->cornerStarts[v]; c < t->cornerStarts[v + 1]; ++c)
    {
        uint32_t half = knNextHalf(t->corners[c]);
        const uint32_t ends[2] = {knTopology_Origin(t, half), knTopology_Target(t, half)};
        for (int k = 0; k < 2; ++k)
        {
            if (f->slots[ends[k]] != 0)
            {
                size_t j = f->slots[ends[k]] - 1;
                forbidden[i * n + j] = true;
                forbidden[j * n + i] = true;
            }
        }
    }
}

// A diagonal that is an edge already would get a third triangle; a vertex that comes twice cannot
// be joined with itself.
static void MarkForbidden(Filler* f, const uint32_t* vertices, size_t n, bool* forbidden)
{
    for (size_t i = 0; i < n; ++i)
    {
        uint32_t earlier = f->slots[vertices[i]];
        if (earlier != 0)
        {
            forbidden[(earlier - 1) * n + i] = forbidden[i * n + earlier - 1] = true;
        }
        else
        {
            f->slots[vertices[i]] = (uint32_t)i + 1;
        }
    }
    for (size_t i = 0; i < n; ++i)
    {
        MarkNeighbors(f, vertices, i, n, forbidden);
    }
    for (size_t i = 0; i < n; ++i)
    {
        f->slots[vertices[i]] = 0;
    }
}

// Rim vertices and an attribute for each: the texture coordinate goes on, the normal does not.
static knResult ReadLoop(Filler* f, const uint32_t* halves, size_t n, uint32_t* vertices,
                         uint32_t* corners, knPoint* points)
{
    knSoup* soup = f->doctor->soup;
    knResult result = kn_success;
    for (size_t i = 0; i < n && result == kn_success; ++i)
    {
        vertices[i] = knTopology_Origin(f->topology, halves[i]);
        points[i] = knScalePoint(soup->positions[vertices[i]], f->doctor->scale);
        knCornerAttribute attribute =
            soup->attributes[soup->corners[halves[i] / 3].v[halves[i] % 3]];
        attribute.normal = knMakeVec3(0.0f, 0.0f, 0.0f);
        result = knSoup_AddAttribute(soup, attribute, &corners[i]);
    }
    return result;
}

// A new vertex in the middle, joined with every rim edge: always possible.
static knResult FillWithCenter(Filler* f, const uint32_t* vertices, const uint32_t* corners,
                               size_t n)
{
    knSoup* soup = f->doctor->soup;
    knDVec3 sum = {0.0, 0.0, 0.0};
    knCornerAttribute attribute = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    for (size_t i = 0; i < n; ++i)
    {
        sum = knDAdd(sum, knToDouble(soup->positions[vertices[i]]));
        attribute.u += soup->attributes[corners[i]].u / (float)n;
        attribute.v += soup->attributes[corners[i]].v / (float)n;
    }
    uint32_t center = KN_NONE, corner = KN_NONE;
    knResult result = knSoup_AddPosition(soup, knToFloat(knDScale(1.0 / (double)n, sum)), &center);
    result = result == kn_success ? knSoup_AddAttribute(soup, attribute, &corner) : result;
    if (result != kn_success)
    {
        return result;
    }
    soup->vertexSources[center] = KN_NONE;
    for (size_t i = 0; i < n && result == kn_success; ++i)
    {
        size_t j = (i + 1) % n;
        knTriangle triangle = {{vertices[j], vertices[i], center}};
        knTriangle attributes = {{corners[j], corners[i], corner}};
        result = AddToPatch(f, triangle, attributes);
    }
    return result;
}

static knResult FillWithDiagonals(Filler* f, const uint32_t* vertices, const uint32_t* corners,
                                  const uint32_t* places, size_t n)
{
    knResult result = kn_success;
    for (size_t i = 0; i + 2 < n && result == kn_success; ++i)
    {
        const uint32_t* p = &places[3 * i];
        // backwards: the other side of each rim edge
        knTriangle triangle = {{vertices[p[2]], vertices[p[1]], vertices[p[0]]}};
        knTriangle attributes = {{corners[p[2]], corners[p[1]], corners[p[0]]}};
        result = AddToPatch(f, triangle, attributes);
    }
    return result;
}

static knResult FillLoop(Filler* f, const uint32_t* halves, size_t n)
{
    const knAllocator* a = &f->doctor->soup->allocator;
    uint32_t* vertices = knTake(a, n, sizeof(uint32_t));
    uint32_t* corners = knTake(a, n, sizeof(uint32_t));
    uint32_t* places = knTake(a, 3 * n, sizeof(uint32_t));
    knPoint* points = knTake(a, n, sizeof(knPoint));
    bool* forbidden = knTake(a, n * n, sizeof(bool));
    bool done = false;
    knResult result =
        vertices && corners && places && points && forbidden ? kn_success : kn_errorMemory;
    result = result == kn_success ? ReadLoop(f, halves, n, vertices, corners, points) : result;
    if (result == kn_success)
    {
        MarkForbidden(f, vertices, n, forbidden);
        result = knTriangulateLoop(a, points, n, forbidden, places, &done);
    }
    if (result == kn_success)
    {
        result = done ? FillWithDiagonals(f, vertices, corners, places, n)
                      : FillWithCenter(f, vertices, corners, n);
    }
    knGive(a, vertices, n, sizeof(uint32_t));
    knGive(a, corners, n, sizeof(uint32_t));
    knGive(a, places, 3 * n, sizeof(uint32_t));
    knGive(a, points, n, sizeof(knPoint));
    knGive(a, forbidden, n * n, sizeof(bool));
    return result;
}

static knResult FillLoops(Filler* f, const knLoops* loops, knHoleJob* job)
{
    size_t most = job->maxEdges < MAX_RIM_EDGES ? job->maxEdges : MAX_RIM_EDGES;
    knResult result = kn_success;
    for (size_t i = 0; i < loops->loopCount && result == kn_success; ++i)
    {
        const uint32_t* halves = &loops->halves[loops->starts[i]];
        size_t n = loops->starts[i + 1] - loops->starts[i];
        if (job->report)
        {
            knDoctor_FoundTriangle(f->doctor, kn_defectHole, halves[0] / 3);
        }
        bool fits = n <= most;
        job->filled += fits;
        job->left += !fits;
        result = fits ? FillLoop(f, halves, n) : kn_success;
    }
    job->left += loops->brokenCount;
    if (job->report)
    {
        f->doctor->report->defects[kn_defectHole].count += loops->brokenCount;
    }
    return result;
}

static knResult AppendPatch(Filler* f)
{
    knResult result = kn_success;
    for (size_t i = 0; i < f->patch.count && result == kn_success; ++i)
    {
        result = knSoup_AddTriangle(f->doctor->soup, f->patch.triangles[i], f->patch.corners[i],
                                    KN_NONE);
    }
    return result;
}

knResult knFillHoles(knDoctor* doctor, knHoleJob* job)
{
    knSoup* soup = doctor->soup;
    const knAllocator* a = &soup->allocator;
    size_t vertices = soup->positionCount;
    knTopology topology;
    knLoops loops;
    knResult result = knBuildTopology(&topology, soup);
    if (result != kn_success)
    {
        return result;
    }
    Filler f = {
        .doctor = doctor, .topology = &topology, .slots = knTake(a, vertices, sizeof(uint32_t))};
    result = f.slots ? knTraceLoops(&loops, &topology, soup) : kn_errorMemory;
    if (result == kn_success)
    {
        result = FillLoops(&f, &loops, job);
        knDestroyLoops(&loops, &topology);
    }
    knDestroyTopology(&topology);
    result = result == kn_success ? AppendPatch(&f) : result;
    knGive(a, f.slots, vertices, sizeof(uint32_t));
    knRelease(a, f.patch.triangles, f.patch.triangleCapacity, sizeof(knTriangle));
    knRelease(a, f.patch.corners, f.patch.cornerCapacity, sizeof(knTriangle));
    return result;
}

knResult knDoctor_CloseHoles(knDoctor* doctor)
{
    const knDoctorOptions* o = doctor->options;
    bool may = o->fillHoles && !doctor->blocked && o->maxHoleEdges > 0;
    knHoleJob job = {.maxEdges = may ? (size_t)o->maxHoleEdges : 0, .report = true};
    knResult result = knFillHoles(doctor, &job);
    if (result != kn_success)
    {
        return result;
    }
    doctor->filled = job.filled > 0;
    if (job.left == 0)
    {
        knDoctor_Judge(doctor, kn_defectHole, kn_actionRepair, "holes are filled");
    }
    else if (!o->fillHoles)
    {
        knDoctor_Judge(doctor, kn_defectHole, kn_actionRefuse,
                       "the surface must be closed: allow filling holes, or close them in your "
                       "modelling tool");
    }
    else
    {
        knDoctor_Judge(doctor, kn_defectHole, kn_actionRefuse,
                       "the surface must be closed, and only clean rims of at most %d edges are "
                       "filled: close it in your modelling tool",
                       o->maxHoleEdges);
    }
    return kn_success;
}
